"""Other systems whose memory Cortex can take over, one module a source, each with two functions:

`accepts(path)`: whether a file or folder is one of the source, by what it holds; cheap.
`read(path)`: its items, one after another, in bounded memory. It changes nothing of the source, and
yields a `Problem` that names the thing for what it cannot read. What is no such file at all raises
`InvalidInputError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from cortex.core.text.value import NamedTuple
from cortex.importers.item import ForeignItem


class Source(NamedTuple):
    """A system, and what is taken of it."""

    module: str  # below this package: `chats.chatgpt`
    what: str  # for the list of sources: what becomes what
    places: tuple[str, ...] = ()  # where it lies by default, with `~`, `$NAME` and `*`


class Importer(NamedTuple):
    """The functions of a source's module."""

    accepts: Callable[[str], bool]
    read: Callable[[str], Iterator[ForeignItem]]


_CLAUDE_PLACES = "$CLAUDE_CONFIG_DIR/projects", "~/.claude/projects"
_CLAUDE_MEM_PLACES = "$CLAUDE_MEM_DATA_DIR/claude-mem.db", "~/.claude-mem/claude-mem.db"
_CODEX_PLACES = "$CODEX_HOME/memories", "~/.codex/memories"
_TALKED = "observations → records, prompts and summaries → sessions"
# In the order in which an unnamed file is offered to them: the most particular first.
SOURCES: dict[str, Source] = {
    "cortex-export": Source("earlier.cortex_export", "what cortex export wrote → the same notes"),
    "cortex-inbox": Source("earlier.cortex_inbox", "records, inbox → records", ("~/.cortex",)),
    "logseq": Source("notes.logseq", "journals, pages → notes/"),
    "cortex-runs": Source("earlier.cortex_runs", "runs → runs/, talents → agents/"),
    "adr": Source(
        "notes.adr", "ADRs → decisions", ("doc*/adr*", "doc*/decisions", "doc*/*/decisions")
    ),
    "meetings": Source("notes.meetings", "transcripts → meetings", ("~/Documents/Zoom",)),
    "claude-mem": Source("memories.claude_mem", _TALKED, _CLAUDE_MEM_PLACES),
    "cortex-memory": Source("memories.cortex_memory", _TALKED, ("~/.cortex/cortex.db",)),
    "engram": Source("memories.engram", _TALKED, ("$ENGRAM_DATA_DIR", "~/.engram")),
    "claude-memory": Source("memories.claude_memory", "files → records", _CLAUDE_PLACES),
    "codex-memory": Source("memories.codex_memory", "files → records and sessions", _CODEX_PLACES),
    "mcp-memory": Source("memories.mcp_memory", "entities of MCP's memory server → records"),
    "basic-memory": Source("memories.basic_memory", "notes → records", ("~/basic-memory",)),
    "cortex-events": Source("earlier.cortex_events", "events → records", ("~/.cortex/projects",)),
    "cortex-ranked": Source(
        "earlier.cortex_ranked", "memories → records", (".memory", "~/.claude/memory")
    ),
    "okf": Source("notes.okf", "concepts of a bundle → records"),
    "specstory": Source(
        "chats.specstory", "sessions of any agent → sessions", (".specstory/history",)
    ),
    "gemini": Source("chats.gemini", "chats of Gemini CLI → sessions", ("~/.gemini/tmp",)),
    "chatgpt": Source("chats.chatgpt", "conversations, of each the branch shown last → sessions"),
    "claude-ai": Source(
        "chats.claude_ai", "conversations → sessions, projects' documents and memories → records"
    ),
    "opencode": Source(
        "chats.opencode",
        "sessions, also of subagents → sessions",
        ("$XDG_DATA_HOME/opencode", "~/.local/share/opencode"),
    ),
    # Any folder of notes is one: it comes last.
    "markdown": Source("notes.markdown", "a folder of notes, a vault of Obsidian → notes/"),
}


def load_importer(name: str) -> Importer:
    """The functions of one of the `SOURCES`; no other module is loaded."""
    module = import_module(f"cortex.importers.{SOURCES[name].module}")
    return Importer(module.accepts, module.read)
