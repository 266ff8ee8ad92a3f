"""The transcripts that lie on this disk, and a first glance at each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cortex.hosts import new_reader
from cortex.hosts.tail import FILE_START, read_last_lines, read_new_lines

# host -> the variable that names its folder, the folder below the home directory, and those below with transcripts
_TRANSCRIPT_FOLDERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", ("projects",)),
    "codex": ("CODEX_HOME", ".codex", ("sessions", "archived_sessions")),
    "copilot": ("COPILOT_HOME", ".copilot", ("session-state",)),
}
IMPORTABLE_HOSTS = tuple(_TRANSCRIPT_FOLDERS)
_END_BYTES = 1 << 16  # bytes at each end of a transcript
_MAX_HEAD_BYTES = (
    1 << 22
)  # where the first line is longer: it may hold the instructions of the host
_SUBAGENTS_FOLDER, _SUBAGENT_PREFIX = "subagents", "agent-"
_UUID_CHARS = 36


class TranscriptInfo(NamedTuple):
    """What the ends of a transcript say. A file that says nothing at all has no session."""

    host: str
    path: str
    size: int
    session: str = ""
    subagent: str = (
        ""  # the subagent of the session whose work it tells; empty for the session itself
    )
    cwd: str = ""
    branch: str = ""
    first_time: str = ""
    last_time: str = ""
    fault: str = ""  # why it cannot be read


def folders_of(host: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where a host keeps its transcripts."""
    variable, hidden, below = _TRANSCRIPT_FOLDERS[host]
    home = environ.get(variable) or os.path.join(os.path.expanduser("~"), hidden)
    return tuple(os.path.join(home, name) for name in below)


def list_paths(host: str, path: str) -> Iterator[str]:
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


def read_info(host: str, path: str) -> TranscriptInfo:
    """What the ends of a transcript say of its session; empty texts for what they don't."""
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        return TranscriptInfo(host, path, 0, fault="gone")
    most = _END_BYTES
    look = read_new_lines(path, FILE_START, most)
    while not look.lines and look.bytes_left and most < _MAX_HEAD_BYTES:
        most *= 8
        look = read_new_lines(path, FILE_START, most)
    begin, end = new_reader(host), new_reader(host)
    head = look.lines or read_last_lines(path)
    begin.prescan(head)
    cwd = branch = ""
    told = False
    for line in head:
        told = bool(begin.feed([line])) or told
        cwd, branch = cwd or begin.cwd, branch or begin.branch
    told = bool(end.feed(read_last_lines(path))) or told
    session, agent = _session_and_subagent(
        host,
        path,
        begin.parent_session if begin.is_sidechain else "",
        begin.subagent,
        begin.session or end.session,
    )
    if not (told or begin.session or end.session or cwd or begin.first_time or end.first_time):
        session = ""
    last = max(begin.last_time, end.last_time)
    return TranscriptInfo(
        host,
        path,
        size,
        session,
        agent,
        cwd or end.cwd,
        branch or end.branch,
        begin.first_time or end.first_time,
        last,
        look.fault,
    )


def _is_transcript(host: str, folder: str, name: str) -> bool:
    if host == "codex":
        return name.startswith("rollout-")
    if host == "copilot":
        return name == "events.jsonl" or len(name) == _UUID_CHARS + len(".jsonl")
    return name.startswith(_SUBAGENT_PREFIX) or _SUBAGENTS_FOLDER not in folder.split(os.sep)


def _session_and_subagent(
    host: str, path: str, parent: str, agent: str, session: str
) -> tuple[str, str]:
    """The session that a transcript tells of, and its subagent. Claude Code says so by the names of files and folders: in the
    lines of a session that was resumed stand the names of the one before."""
    stem = os.path.basename(path).removesuffix(".jsonl")
    folders = os.path.dirname(os.path.abspath(path)).split(os.sep)
    if host == "copilot":
        return session or (folders[-1] if stem == "events" else stem), ""
    if host == "codex":
        return parent or session or stem, agent
    if stem.startswith(_SUBAGENT_PREFIX) or agent:
        at = folders.index(_SUBAGENTS_FOLDER) - 1 if _SUBAGENTS_FOLDER in folders else -1
        within = folders[at] if at >= 0 and len(folders[at]) == _UUID_CHARS else ""
        return within or session or stem, stem.removeprefix(_SUBAGENT_PREFIX) if stem.startswith(
            _SUBAGENT_PREFIX
        ) else agent
    return stem if len(stem) == _UUID_CHARS else session or stem, ""
