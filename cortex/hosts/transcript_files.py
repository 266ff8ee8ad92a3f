"""The transcripts that lie on this disk, and a first glance at each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cortex.hosts import reader
from cortex.hosts.tail import START, last_lines, tail

# host -> the variable that names its folder, the folder below the home directory, and those below with transcripts
_FOLDERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", ("projects",)),
    "codex": ("CODEX_HOME", ".codex", ("sessions", "archived_sessions")),
    "copilot": ("COPILOT_HOME", ".copilot", ("session-state",)),
}
HOSTS = tuple(_FOLDERS)
_GLANCE = 1 << 16  # bytes at each end of a transcript
_MOST_GLANCE = 1 << 22  # where the first line is longer: it may hold the instructions of the host
_SUBAGENTS, _AGENT = "subagents", "agent-"
_UUID = 36


class Glance(NamedTuple):
    """What the ends of a transcript say. A file that says nothing at all has no session."""

    host: str
    path: str
    size: int
    session: str = ""
    agent: str = ""  # the subagent of the session whose work it tells; empty for the session itself
    cwd: str = ""
    branch: str = ""
    first: str = ""
    last: str = ""
    fault: str = ""  # why it cannot be read


def folders_of(host: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where a host keeps its transcripts."""
    variable, hidden, below = _FOLDERS[host]
    home = environ.get(variable) or os.path.join(os.path.expanduser("~"), hidden)
    return tuple(os.path.join(home, name) for name in below)


def transcripts(host: str, path: str) -> Iterator[str]:
    """The transcripts below a folder, or the one that is named, in the order of their names."""
    if not os.path.isdir(path):
        if os.path.lexists(path):
            yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".jsonl") and _is_transcript(host, folder, name):
                yield os.path.join(folder, name)


def glance(host: str, path: str) -> Glance:
    """What the ends of a transcript say of its session; empty texts for what they don't."""
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        return Glance(host, path, 0, fault="gone")
    most = _GLANCE
    look = tail(path, START, most)
    while not look.lines and look.left and most < _MOST_GLANCE:
        most *= 8
        look = tail(path, START, most)
    begin, end = reader(host), reader(host)
    head = look.lines or last_lines(path)
    begin.glance(head)
    cwd = branch = ""
    told = False
    for line in head:
        told = bool(begin.feed([line])) or told
        cwd, branch = cwd or begin.cwd, branch or begin.branch
    told = bool(end.feed(last_lines(path))) or told
    session, agent = _named(
        host, path, begin.parent if begin.aside else "", begin.agent, begin.session or end.session
    )
    if not (told or begin.session or end.session or cwd or begin.first or end.first):
        session = ""
    last = max(begin.last, end.last)
    return Glance(
        host,
        path,
        size,
        session,
        agent,
        cwd or end.cwd,
        branch or end.branch,
        begin.first or end.first,
        last,
        look.fault,
    )


def _is_transcript(host: str, folder: str, name: str) -> bool:
    if host == "codex":
        return name.startswith("rollout-")
    if host == "copilot":
        return name == "events.jsonl" or len(name) == _UUID + len(".jsonl")
    return name.startswith(_AGENT) or _SUBAGENTS not in folder.split(os.sep)


def _named(host: str, path: str, parent: str, agent: str, session: str) -> tuple[str, str]:
    """The session that a transcript tells of, and its subagent. Claude Code says so by the names of files and folders: in the
    lines of a session that was resumed stand the names of the one before."""
    stem = os.path.basename(path).removesuffix(".jsonl")
    folders = os.path.dirname(os.path.abspath(path)).split(os.sep)
    if host == "copilot":
        return session or (folders[-1] if stem == "events" else stem), ""
    if host == "codex":
        return parent or session or stem, agent
    if stem.startswith(_AGENT) or agent:
        at = folders.index(_SUBAGENTS) - 1 if _SUBAGENTS in folders else -1
        within = folders[at] if at >= 0 and len(folders[at]) == _UUID else ""
        return within or session or stem, stem.removeprefix(_AGENT) if stem.startswith(
            _AGENT
        ) else agent
    return stem if len(stem) == _UUID else session or stem, ""
