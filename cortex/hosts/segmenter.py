"""A whole transcript as stretches that are worth an event each: turns together, up to a size, never two projects in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cortex.hosts.tail import START, Position, tail, unended
from cortex.hosts.transcript_item import PROMPT, SAID, SUMMARY, Piece, Reader
from cortex.hosts.transcript_reader import object_of

MOST_SAID = 64_000  # characters of what was said in one stretch; one longer message stands alone
_ENOUGH = 32_000  # from which a stretch ends with the turn
_PAUSE = 4 * 3600  # seconds without a line; what comes after is another sitting
_MOST_OPEN = 8 * MOST_SAID  # characters, of a session and the side chains in its file together
_PART = 1 << 22  # bytes that are read at once
Place = tuple[str, str]  # project and branch


class Told(NamedTuple):
    """A stretch of a session, or of a side chain in its file. `end`: the offset in the transcript up to which everything is
    told. The last one holds nothing and says where the transcript ends."""

    place: Place
    pieces: tuple[Piece, ...]
    end: int
    chain: str = ""

    @property
    def is_summary(self) -> bool:
        return self.pieces[:1] != () and self.pieces[0].kind == SUMMARY


class _Open:
    """The stretch that is being put together."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.size = 0
        self.place: Place = ("", "")

    def takes(self, place: Place, new: list[Piece]) -> bool:
        """Whether the pieces of one line belong to it."""
        if not self.pieces:
            return True
        said = sum(len(piece.text) for piece in new if piece.kind == SAID)
        if (
            place != self.place
            or self.pieces[0].kind == SUMMARY
            or any(piece.kind == SUMMARY for piece in new)
        ):
            return False
        if self.size and self.size + said > MOST_SAID:
            return False
        return not (
            new[0].kind == PROMPT
            and (self.size >= _ENOUGH or _apart(self.pieces[-1].at, new[0].at))
        )

    def take(self, place: Place, new: list[Piece]) -> None:
        self.place = place
        self.pieces += new
        self.size += sum(len(piece.text) for piece in new if piece.kind == SAID)


def stretches(
    path: str, reader: Reader, start: Position, place_of: Callable[[Piece], Place]
) -> Iterator[Told]:
    """The stretches behind `start`. What stands before it is read for what it says of the rest. In memory there is one part
    of the transcript and one stretch at a time, however long it is."""
    for lines, _ in _parts(path):
        reader.glance([line for line, _ in lines])
    opened: dict[str, _Open] = {}  # by the name of the side chain; the session's own is empty
    before = behind = end = start.offset
    for lines, at in _parts(path):
        end = at
        for line, after in lines:
            new = reader.feed([line])
            if after <= start.offset or not new:
                continue
            place, chain = place_of(new[0]), new[0].chain
            full = sum(one.size for one in opened.values()) > _MOST_OPEN
            if full or (chain in opened and not opened[chain].takes(place, new)):
                # All at once: a place in the file is behind every stretch that began before it.
                yield from _closed(opened, before, behind)
                opened, before = {}, behind
            opened.setdefault(chain, _Open()).take(place, new)
            behind = after
    for piece in reader.rest():
        if piece.chain in opened and (
            not start.offset or place_of(piece) == opened[piece.chain].place
        ):
            opened[piece.chain].take(opened[piece.chain].place, [piece])
        elif not start.offset:
            opened.setdefault(piece.chain, _Open()).take(place_of(piece), [piece])
    place = opened[""].place if "" in opened else ("", "")
    yield from _closed(opened, before, end)
    yield Told(place, (), end)


def _closed(opened: dict[str, _Open], before: int, end: int) -> Iterator[Told]:
    """The stretches that were put together; only the last one says that everything up to `end` is told."""
    for left, (chain, one) in enumerate(opened.items(), 1 - len(opened)):
        yield Told(one.place, tuple(one.pieces), before if left else end, chain)


def _parts(path: str) -> Iterator[tuple[list[tuple[bytes, int]], int]]:
    """The lines of a transcript with the offsets behind them, part by part, and where the part ends. A last line that only
    lacks its end is one of them."""
    at = START
    while True:
        look = tail(path, at, _PART)
        moved = look.position != at and not look.fault
        at = look.position
        lines = list(zip(look.lines, look.ends, strict=True))
        if not look.left or not moved:
            last = unended(path, at)
            if last.strip() and object_of(last) is not None:
                lines.append((last, at.offset + len(last)))
            yield lines, lines[-1][1] if lines and lines[-1][1] > at.offset else at.offset
            return
        yield lines, at.offset


def _apart(before: str, after: str) -> bool:
    """Whether two times lie so far apart that nobody sat there meanwhile."""
    if before[:10] == after[:10] and before[:13] == after[:13]:
        return False
    from datetime import datetime  # noqa: PLC0415

    try:
        return (
            datetime.fromisoformat(after) - datetime.fromisoformat(before)
        ).total_seconds() >= _PAUSE
    except ValueError:
        return False
