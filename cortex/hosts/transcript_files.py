"""The transcripts that lie on this disk, and a first glance at each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from cortex.hosts import new_reader
from cortex.hosts.tail import FILE_START, read_last_lines, read_new_lines

_END_BYTES = 1 << 16  # bytes at each end of a transcript
_MAX_HEAD_BYTES = 1 << 22  # for a longer first line: it may hold the instructions of the host


class TranscriptInfo(NamedTuple):
    """What the ends of a transcript say. A file that says nothing at all has no session."""

    host: str
    path: str
    size: int
    session: str = ""
    subagent: str = ""  # whose work it holds; empty for the session itself
    cwd: str = ""
    branch: str = ""
    first_time: str = ""
    last_time: str = ""
    fault: str = ""  # why it cannot be read


def list_paths(host: str, path: str) -> Iterator[str]:
    """The transcripts below a folder, or the one that is named, in the order of their names."""
    if not os.path.isdir(path):
        if os.path.lexists(path):
            yield path
        return
    is_transcript = new_reader(host).is_transcript
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".jsonl") and is_transcript(folder, name):
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
    has_items = False
    for line in head:
        has_items = bool(begin.feed([line])) or has_items
        cwd, branch = cwd or begin.cwd, branch or begin.branch
    has_items = bool(end.feed(read_last_lines(path))) or has_items
    named = begin.session or end.session
    session, subagent = begin.identify(path, named)
    first_time = begin.first_time or end.first_time
    if not (has_items or named or cwd or first_time):
        session = ""
    times = first_time, max(begin.last_time, end.last_time)
    cwd, branch = cwd or end.cwd, branch or end.branch
    return TranscriptInfo(host, path, size, session, subagent, cwd, branch, *times, look.fault)
