"""A whole transcript as segments, each an event: a turn of one project, up to a size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cortex.hosts.tail import FILE_START, FilePosition, read_new_lines, read_partial_line
from cortex.hosts.transcript_item import AGENT_TEXT, PROMPT, SUMMARY, TranscriptItem
from cortex.hosts.transcript_reader import TranscriptReader, parse_json_object

MAX_SEGMENT_CHARS = 64_000  # of what was said in one segment; one longer message stands alone
_MAX_BUFFERED_CHARS = 8 * MAX_SEGMENT_CHARS  # of a session and the side chains in its file
_CHUNK_BYTES = 1 << 22  # that are read at once
ProjectAndBranch = tuple[str, str]  # project and branch


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
