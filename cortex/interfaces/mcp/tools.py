"""Which tools there are, and in which profile: literal tables. A tool has no logic of its own.

The names and arguments of the tools are those that agents know from three earlier systems.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.strings import close_matches, did_you_mean
from cortex.core.text.value import NamedTuple
from cortex.operations import VERBS


class Tool(NamedTuple):
    """A verb as a tool."""

    verb: str
    description: str = ""  # for a model; by default the verb's summary
    # Its argument -> the verb's parameter, or that and what it means in place of the verb's words.
    # Empty: all of the verb's, by their own names.
    arguments: Mapping[str, str | tuple[str, str]] = {}
    required: tuple[str, ...] = ()  # beside what the verb requires
    fixed: Mapping[str, object] = {}  # parameters that are always so
    defaults: Mapping[str, object] = {}  # parameters that are so unless they are given
    preview: int = 0  # characters of a hit's snippet; 0: as the verb gives it


_LIMIT = ("number", "")
_PROJECT = ("project", "default: the working directory's")
_BRANCH = ("branch", "default: the checked-out one and what belongs to none; * for all branches")
_ID = ("note", "id, path or title")
_RECORD = ("id", "id, path or title")
_SESSION = ("session", "")

TOOLS: dict[str, Tool] = {
    "capture": Tool(
        "capture",
        "Keep a text as an event; returns its id. For what was said or happened as it was. A line"
        " that begins with `Decision:`, `Gotcha:`, `Learned:` or `[MEMORY: decision]` becomes a record."
        ' Not for reading. Example: {"content": "Decision: files over SQLite, since git merges them"}',
        {
            "content": ("text", ""),
            "type": ("type", "manual (default), meeting, stop, pre_compact, prompt"),
            "session": _SESSION,
            "project": _PROJECT,
            "tags": ("tags", "a record type among them decides the type"),
        },
    ),
    "recall": Tool(
        "recall",
        "What holds now and matters: decisions, gotchas, patterns, open work, ranked, with previews."
        " Before you decide, or to find where work stood. Not for exact words or raw events: that is search."
        ' Example: {"query": "how do we merge briefings", "since": "3m"}',
        {
            "query": ("query", "none: what matters most"),
            "scope": ("scope", "project, area:NAME, meetings, meeting:ID, recent, open"),
            "relation": ("relation", "a kind (supersedes) or kind:ID, any:ID"),
            "limit": _LIMIT,
            "since": ("since", "7d, 2w, 3m or a date"),
        },
    ),
    "search": Tool(
        "search",
        "Find any note by words and meaning, events and people's own notes too; each hit has id, line"
        ' and snippet. show gives the whole. Takes "a phrase", pre*, -not, type:decision, after:3m.'
        ' Not for "what matters": that is recall. Example: {"query": "type:gotcha flock"}',
        {"query": ("query", ""), "type": ("type", ""), "project": ("project", ""), "limit": _LIMIT},
    ),
    "show": Tool(
        "show",
        "One note whole. After search or recall named it; not to browse."
        ' Example: {"id": "use-files-p2r6wq"}',
        {"id": _ID},
    ),
    "reflect": Tool(
        "reflect",
        "Raw material of the last days: intents, questions, journey, discoveries, friction, patterns."
        " Without save it changes nothing; write your text from it, then call with save to keep it."
        ' Not to look one thing up. Example: {"since": "2w", "style": "brief"}',
        {
            "scope": ("scope", "project (default), all, or a project"),
            "since": ("since", "default 7d"),
            "style": ("style", ""),
            "save": ("save", "your text, its first line the title"),
        },
    ),
    "status": Tool(
        "status",
        "What the memory holds: counts, open, overdue and stale work, live sessions, problems."
        " Not for contents.",
        {"branch": ("branch", "")},
    ),
    "supersede": Tool(
        "supersede",
        "Say that a record no longer holds, and which one does. Use it when memory is wrong or"
        " outdated; keep the new one first. Links to the old one go on. Not to delete."
        ' Example: {"record_id": "use-sqlite-k3f7q2", "replacement": "use-files-p2r6wq", "reason": "too slow"}',
        {
            "record_id": ("old", "id, path or title"),
            "replacement": ("by", "the record that holds instead; none: none does"),
            "reason": ("reason", ""),
        },
    ),
    "mem_save": Tool(
        "save",
        "Save what was learned as a record, at once: after a decision, a fixed bug, a discovery, a"
        " convention. One thing each. With a topic_key the same record is updated instead of doubled;"
        " mem_suggest_topic_key proposes one. Not for summaries of sessions. Example:"
        ' {"title": "Keep the index outside git", "type": "decision", "content": "**What**: …'
        '\\n**Why**: it is a cache\\n**Where**: index/\\n**Learned**: …", "topic_key": "decision/index"}',
        {
            "title": ("title", "what it is, in a line"),
            "type": ("type", "decision, architecture, bugfix, pattern, config, discovery, learning"),
            "content": ("body", "**What**, **Why**, **Where**, **Learned**"),
            "topic_key": ("topic", "a stable key such as architecture/auth-model"),
            "project": _PROJECT,
            "scope": ("scope", "project is shared, personal goes to your own vault"),
            "session_id": _SESSION,
        },
    ),
    "mem_search": Tool(
        "search",
        "Find memories by words and meaning: titles and previews of 300 characters. Then mem_timeline"
        " for what stood around one, mem_get_observation for the whole. Search before you save"
        ' or decide again. Example: {"query": "session expiry", "type": "decision,bugfix"}',
        {
            "query": ("query", ""),
            "type": ("type", ""),
            "project": ("project", ""),
            "scope": ("whose", "project, personal or both"),
            "limit": _LIMIT,
        },
        required=("query",),
        preview=300,
    ),
    "mem_context": Tool(
        "brief",
        "Where work stood: last sessions, last prompts, the records that matter most. At the start of"
        " a session or after a compaction; not for one question, which is mem_search.",
        {"project": _PROJECT, "limit": _LIMIT},
        fixed={"context": True},
    ),
    "mem_session_summary": Tool(
        "session",
        "Keep the summary of a session before it ends, as markdown with the headings ## Goal,"
        " ## Instructions, ## Discoveries, ## Accomplished, ## Relevant Files. Once a session; for one"
        ' fact use mem_save. Example: {"session_id": "s1", "content": "## Goal\\nShip the merge driver"}',
        {
            "content": ("summary", "the markdown"),
            "session_id": ("name", "default: the one that is live"),
            "project": _PROJECT,
        },
        required=("content",),
        fixed={"action": "end"},
    ),
    "mem_get_observation": Tool(
        "show", "One memory whole, by the id that mem_search gave.", {"id": _ID}
    ),
    "mem_save_prompt": Tool(
        "capture",
        "Keep what the person asked, so that later sessions know the intent. Not what you answered.",
        {"content": ("text", "the prompt"), "session_id": _SESSION, "project": _PROJECT},
        fixed={"type": "prompt"},
    ),
    "mem_update": Tool(
        "update",
        "Change fields or the text of one record by its id. When it no longer holds, supersede or save"
        ' under its topic_key instead. Example: {"id": "use-files-p2r6wq", "title": "Use files"}',
        {
            "id": _RECORD,
            "title": ("title", ""),
            "content": ("body", "the new text"),
            "project": ("project", ""),
            "scope": ("scope", ""),
        },
    ),
    "mem_suggest_topic_key": Tool(
        "topic",
        "Propose a stable topic_key for mem_save. Before saving what will change one day."
        ' Example: {"title": "JWT auth model", "type": "architecture"}',
        {"title": ("title", ""), "type": ("type", "")},
        required=("title",),
    ),
    "mem_session_start": Tool(
        "session",
        "Begin a session, or go on with it. Once, at its start; hosts with hooks do it themselves.",
        {
            "id": ("name", "the session's name"),
            "project": _PROJECT,
            "goal": ("goal", ""),
        },
        fixed={"action": "start"},
    ),
    "mem_session_end": Tool(
        "session",
        "End a session. Give the summary here, or by mem_session_summary before.",
        {"id": ("name", "default: the one that is live"), "summary": ("summary", "markdown")},
        fixed={"action": "end"},
    ),
    "mem_capture_passive": Tool(
        "save",
        "Keep each learning in a text: the items below its last heading `## Key Learnings`. For the"
        ' answer of a subagent; for one thing use mem_save. Example: {"content": "## Key Learnings\\n1. …"}',
        {
            "content": ("title", "a text with that heading"),
            "session_id": _SESSION,
            "project": _PROJECT,
            "source": ("source", ""),
        },
        fixed={"learnings": True},
    ),
    "mem_relate": Tool(
        "relate",
        "Say how one record relates to another note. Not for text links, which are found by themselves."
        ' Example: {"from_id": "a-k3f7q2", "relation_type": "contradicts", "to_id": "b-p2r6wq"}',
        {
            "from_id": ("record", "id or path"),
            "to_id": ("other", "id or path"),
            "relation_type": ("kind", ""),
        },
    ),
    "mem_graph": Tool(
        "graph",
        "What a note is connected to, step by step: relations, links, what both mention.",
        {"id": _ID, "depth": ("depth", ""), "limit": _LIMIT},
    ),
    "mem_score": Tool(
        "show",
        "How much a note matters now, 0 to 5, and by which numbers.",
        {"id": _ID},
        fixed={"why": True},
    ),
    "mem_search_hybrid": Tool(
        "search",
        "As mem_search, with the weight of meaning beside words to choose. When words alone miss.",
        {
            "query": ("query", ""),
            "alpha": ("alpha", ""),
            "type": ("type", ""),
            "project": ("project", ""),
            "limit": _LIMIT,
        },
        required=("query",),
        preview=300,
    ),
    "mem_delete": Tool(
        "delete",
        "Delete a record: it is hidden and can come back. Only when a person asks; what no longer"
        " holds is superseded.",
        {"id": _RECORD, "hard_delete": ("hard", "remove the file for good")},
        fixed={"yes": True},
    ),
    "mem_stats": Tool("status", "The memory in figures.", {"branch": ("branch", "")}),
    "mem_timeline": Tool(
        "timeline",
        "What was noted just before and just after a note, a line each. Between mem_search and"
        " mem_get_observation.",
        {"id": _ID, "limit": ("number", "before it, and as many after it")},
    ),
    "mem_archive": Tool(
        "archive",
        "Set a record aside: found last, never briefed. Only when a person asks.",
        {"id": _RECORD, "reason": ("reason", "")},
    ),
    "cortex_search": Tool(
        "search",
        "Find notes of this branch by words and meaning.",
        {"query": ("query", ""), "type": ("type", ""), "limit": _LIMIT, "branch": _BRANCH},
        required=("query",),
        defaults={"branch": "."},
    ),
    "cortex_search_decisions": Tool(
        "search",
        "Find what was decided and what was rejected, of this branch. Before deciding anew.",
        {"query": ("query", "none: the newest"), "limit": _LIMIT, "branch": _BRANCH},
        fixed={"type": ["decision", "rejection"]},
        defaults={"branch": "."},
    ),
    "cortex_get_plan": Tool(
        "plan",
        "The plan of this branch, with the steps that are done.",
        {"project": _PROJECT, "branch": _BRANCH},
    ),
    "cortex_get_recent": Tool(
        "recall",
        "What stands out now on this branch, by salience: kind, use and age.",
        {"limit": _LIMIT, "project": ("project", ""), "branch": _BRANCH},
        fixed={"by": "salience"},
        defaults={"branch": "."},
    ),
    "cortex_get_status": Tool(
        "status",
        "Project, tier, counts, passages with vectors, last capture, size of the index.",
        {"branch": ("branch", "of which notes are counted; default: the checked-out one")},
    ),
}  # fmt: skip
DEFAULT_TOOLS = ("capture", "recall", "search", "show", "reflect", "status", "supersede")
# What stays on the command line -> why.
VERBS_WITHOUT_TOOL = {
    "completion": "a script for a shell",
    "edit": "starts a person's editor",
    "open": "starts a person's editor or Obsidian",
    "hooks": "changes the settings of the host that runs the agent: a person decides that",
    "mcp": "is this server",
    "watch": "runs until it is ended",
}
# Tools that change no note.
READING_TOOLS = frozenset({
    "recall", "search", "show", "status", "mem_search", "mem_context", "mem_get_observation",
    "mem_suggest_topic_key", "mem_graph", "mem_score", "mem_search_hybrid", "mem_stats",
    "mem_timeline", "cortex_search", "cortex_search_decisions", "cortex_get_plan",
    "cortex_get_recent", "cortex_get_status", "actions", "entities", "graph", "history", "meetings",
    "plan", "remind", "schema", "timeline", "topic",
})  # fmt: skip
DESTRUCTIVE_TOOLS = frozenset({"mem_delete", "delete", "prune", "layout"})
_ADMIN_TOOLS = ("mem_delete", "mem_stats", "mem_timeline", "mem_archive")
PROFILES: dict[str, tuple[str, ...]] = {
    "default": DEFAULT_TOOLS,
    "agent": tuple(name for name in TOOLS if name[:4] == "mem_" and name not in _ADMIN_TOOLS),
    "admin": _ADMIN_TOOLS,
    "briefing": tuple(name for name in TOOLS if name.startswith("cortex_")),
    "all": (*TOOLS, *(verb for verb in VERBS if verb not in {*TOOLS, *VERBS_WITHOUT_TOOL})),
}


def select_tools(wanted: Iterable[str]) -> dict[str, Tool]:
    """The tools of these profiles and names. `InvalidInputError` for one that there is not."""
    chosen: dict[str, Tool] = {}
    for word in wanted:
        names = PROFILES.get(word) or ((word,) if word in PROFILES["all"] else ())
        if not names:
            hint = did_you_mean(
                close_matches(word, [*PROFILES, *PROFILES["all"]]),
                f"profiles: {', '.join(PROFILES)}",
            )
            raise InvalidInputError(f"there is no tool and no profile {word!r}", hint)
        chosen |= {name: TOOLS.get(name) or Tool(name) for name in names}
    return chosen
