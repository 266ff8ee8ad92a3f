"""The transcripts that lie on this disk: a first glance at each, and the whole of one as segments, each an
event: a turn of one project, up to a size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from cortex.core.text.value import NamedTuple
from cortex.hosts import load_host, new_reader
from cortex.hosts.tail import (
    FILE_START,
    FilePosition,
    read_last_lines,
    read_new_lines,
    read_partial_line,
)
from cortex.hosts.transcript_item import AGENT_TEXT, PROMPT, SUMMARY, TranscriptItem
from cortex.hosts.transcript_reader import TranscriptReader, parse_json_object

_END_BYTES = 1 << 16  # bytes at each end of a transcript
_MAX_HEAD_BYTES = 1 << 22  # for a longer first line: it may hold the instructions of the host
MAX_SEGMENT_CHARS = 64_000  # of what was said in one segment; one longer message stands alone
_MAX_BUFFERED_CHARS = 8 * MAX_SEGMENT_CHARS  # of a session and the side chains in its file
_CHUNK_BYTES = 1 << 22  # that are read at once
ProjectAndBranch = tuple[str, str]  # project and branch


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


def transcript_folders(name: str, environ: Mapping[str, str]) -> list[str]:
    """The folders in which a host keeps its transcripts; they may not exist."""
    host = load_host(name)
    home = host.user_folder(environ)
    return [os.path.join(home, folder) for folder in host.transcript_folders]


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


class TranscriptSegment(NamedTuple):
    """A part of a session, or of a side chain in its file. Everything before `end_offset` is in
    this segment or an earlier one. The last one is empty and has the end of the transcript."""

    project_branch: ProjectAndBranch
    items: tuple[TranscriptItem, ...]
    end_offset: int
    sidechain: str = ""

    @property
    def is_summary(self) -> bool:
        return self.items[:1] != () and self.items[0].kind == SUMMARY


class _SegmentBuilder:
    """The segment that is being put together."""

    def __init__(self) -> None:
        self.items: list[TranscriptItem] = []
        self.text_chars = 0
        self.project_branch: ProjectAndBranch = ("", "")

    def accepts(
        self, place: ProjectAndBranch, new: list[TranscriptItem], *, is_aside: bool
    ) -> bool:
        """Whether the items of one line belong to it. Of a side chain no prompt is a person's."""
        if not self.items:
            return True
        kinds = {self.items[0].kind, *(item.kind for item in new)}
        if place != self.project_branch or SUMMARY in kinds:
            return False
        if self.text_chars and self.text_chars + _count_chars(new) > MAX_SEGMENT_CHARS:
            return False
        begins_turn = new[0].kind == PROMPT and not is_aside
        return not begins_turn or all(item.kind == PROMPT for item in self.items)

    def add(self, place: ProjectAndBranch, new: list[TranscriptItem]) -> None:
        self.project_branch = place
        self.items += new
        self.text_chars += _count_chars(new)


def _count_chars(items: list[TranscriptItem]) -> int:
    """The characters that the agent said."""
    return sum(len(item.text) for item in items if item.kind == AGENT_TEXT)


def iter_segments(
    path: str,
    reader: TranscriptReader,
    start: FilePosition,
    place_of: Callable[[TranscriptItem], ProjectAndBranch],
) -> Iterator[TranscriptSegment]:
    """The segments behind `start`; earlier lines are read for session, folder and branch. Memory
    holds one chunk of the transcript and the open segments."""
    for lines, _ in _iter_chunks(path):
        reader.prescan([line for line, _ in lines])
    opened: dict[str, _SegmentBuilder] = {}  # by side chain; the session's own is empty
    before = behind = end = start.offset
    for lines, at in _iter_chunks(path):
        end = at
        for line, after in lines:
            new = reader.feed([line])
            if after <= start.offset or not new:
                continue
            place, chain = place_of(new[0]), new[0].sidechain
            full = sum(one.text_chars for one in opened.values()) > _MAX_BUFFERED_CHARS
            begun = opened.get(chain)
            if full or (begun and not begun.accepts(place, new, is_aside=bool(chain))):
                # All at once: an offset must be behind every segment that began before it.
                yield from _finish_segments(opened, before, behind)
                opened, before = {}, behind
            opened.setdefault(chain, _SegmentBuilder()).add(place, new)
            behind = after
    for item in reader.flush():
        builder = opened.get(item.sidechain)
        if builder and (not start.offset or place_of(item) == builder.project_branch):
            builder.add(builder.project_branch, [item])
        elif not start.offset:
            opened.setdefault(item.sidechain, _SegmentBuilder()).add(place_of(item), [item])
    place = opened[""].project_branch if "" in opened else ("", "")
    yield from _finish_segments(opened, before, end)
    yield TranscriptSegment(place, (), end)


def _finish_segments(
    opened: dict[str, _SegmentBuilder], before: int, end: int
) -> Iterator[TranscriptSegment]:
    """The open segments; only the last one ends at `end`, the others at `before`."""
    for left, (chain, one) in enumerate(opened.items(), 1 - len(opened)):
        offset = before if left else end
        yield TranscriptSegment(one.project_branch, tuple(one.items), offset, chain)


def _iter_chunks(path: str) -> Iterator[tuple[list[tuple[bytes, int]], int]]:
    """Chunks of a transcript: lines, each with the offset behind it, and where the chunk ends. A
    complete last line without a line end is included."""
    at = FILE_START
    while True:
        look = read_new_lines(path, at, _CHUNK_BYTES)
        moved = look.position != at and not look.fault
        at = look.position
        lines = list(zip(look.lines, look.line_ends, strict=True))
        if not look.bytes_left or not moved:
            last = read_partial_line(path, at)
            if last.strip() and parse_json_object(last) is not None:
                lines.append((last, at.offset + len(last)))
            yield lines, lines[-1][1] if lines and lines[-1][1] > at.offset else at.offset
            return
        yield lines, at.offset
