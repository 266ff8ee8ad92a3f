"""What is new of a session: the next part of its transcript, with the last message where it has not come there yet."""

from __future__ import annotations

from cortex.core.model.turn_summary import Stretch, together
from cortex.core.text.value import TYPE_CHECKING, NamedTuple
from cortex.operations.capture.sanitize import one_word
from cortex.vault.state import session_state as cursors
from cortex.vault.state.session_state import Cursor, Said, said

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_READ = (
    512_000  # bytes of new transcript that are read at once; a hook leaves the rest to `gather`
)
_MOST_RECENT = 40  # texts that are known again when a payload tells them late


class Source(NamedTuple):
    """A transcript and the folder to which its paths are relative: as the host names them, which may be more than is kept."""

    path: str
    root: str


class Part(NamedTuple):
    """What is new of a session, and how far its transcript was read."""

    stretch: Stretch
    cursor: Cursor
    skipped: int = 0  # lines that were too long and are passed over for good


def reads(host: str, path: str) -> bool:
    """Whether this is a transcript that Cortex can read."""
    if not path:
        return False
    from cortex.hosts import READERS  # noqa: PLC0415  not every host has transcripts

    return host in READERS


def part(
    known: Cursor,
    source: Source,
    message: str,
    others: Callable[[str], str],
    *,
    afresh: bool = False,
    longest: int = 0,
) -> Part:
    """The next part. `others` gives the time up to which lines of another session, by its name, were captured as that one's.
    `afresh`: the message belongs to another turn than what was captured last. A line of more than `MOST_READ` bytes is left where
    it is, or read up to `longest` bytes where that is given."""
    new, letters, skipped = Stretch(), "", 0
    has_transcript = reads(known.host, source.path)
    if has_transcript:
        new, known, letters, skipped = _read(known, source, longest, others)
    last = said(message)
    if (
        last.size
        and (afresh or last not in known.last)
        and last not in known.ahead
        and "".join(message.split()) not in letters
    ):
        new = new._replace(said=together([*([new.said] if new.said else []), message]).strip())
        known = (
            cursors.with_ahead(known._replace(last=_recent(known, last)), last)
            if has_transcript
            else known._replace(last=(last,))
        )
    return Part(new, known, skipped)


def _read(
    known: Cursor, source: Source, longest: int, others: Callable[[str], str]
) -> tuple[Stretch, Cursor, str, int]:
    """What the transcript tells, how the session stands then, all letters of what was said, and how many lines were passed over."""
    from cortex.hosts import read  # noqa: PLC0415  as above
    from cortex.hosts.tail import GONE, START, UNREADABLE, Position, tail  # noqa: PLC0415

    start = Position(known.offset, known.head)
    looked = tail(source.path, start, MOST_READ)
    anew = bool(looked.fault) and looked.fault not in (GONE, UNREADABLE)
    if looked.skipped and longest:
        looked = tail(source.path, START if anew else start, longest)
    elif looked.skipped and known.transcript:  # somebody with more time reads it
        looked = looked._replace(lines=[], position=START if anew else start, left=1, skipped=0)
    if anew:
        known = known._replace(
            floor=max(known.floor, known.since)
        )  # another file, or the old one written anew: what was read is passed over
    at = looked.position
    if anew or not known.offset:
        known = known._replace(of="")
    lines, known = _own(known, looked.lines, others)
    known = known._replace(
        offset=at.offset, head=at.head, behind=looked.left > 0 and bool(known.transcript)
    )
    if not lines:
        return Stretch(), known, "", looked.skipped
    told = read(known.host, lines, source.root, known.floor)
    every = [one.text for one in told.messages if one.role == "assistant"]
    texts, ahead, letters = _new_only(every, known.ahead)
    asked = tuple(line for line in told.stretch.asked if said(line) not in known.ahead)
    ahead = tuple(one for one in ahead if one not in {said(line) for line in told.stretch.asked})
    new = told.stretch._replace(said=together(texts), asked=asked)
    known = known._replace(
        since=max(known.since, told.last), ahead=ahead, last=_recent(known, *_last(every))
    )
    return new, known, letters, looked.skipped


def _own(
    known: Cursor, lines: list[bytes], others: Callable[[str], str]
) -> tuple[list[bytes], Cursor]:
    """The lines that are the session's, and what is known then of whose lines the file holds.

    A path may be used again by another session, and a session that was resumed or forked begins with lines of an older one. So lines
    that name another session are left out when lines of this one came before them, or when they were captured as the other one's."""
    if not known.session:
        return lines, known
    from cortex.hosts import session_of  # noqa: PLC0415  as above

    own: list[bytes] = []
    of, named = known.of, known.named
    until: dict[str, str | None] = {
        "": None,
        known.session: None,
    }  # session -> the time up to which its lines are its own; None for this one
    for line in lines:
        of = session_of(known.host, line, of, known.session)
        if of not in until:
            until[of] = None if one_word(of) == known.session else others(of)
        captured = until[of]
        if captured is None:
            named = named or bool(of)
        elif named or (captured and _time_of(line) <= captured):
            continue
        own.append(line)
    return own, known._replace(of=one_word(of), named=named)


def _time_of(line: bytes) -> str:
    """The time of a line, as `piece.time_of`; empty when it has none."""
    from cortex.hosts.transcript_item import time_of  # noqa: PLC0415  only of lines of another session
    from cortex.hosts.transcript_reader import object_of  # noqa: PLC0415

    told = object_of(line)
    return time_of(told.get("timestamp")) if told else ""


def _new_only(texts: list[str], ahead: tuple[Said, ...]) -> tuple[list[str], tuple[Said, ...], str]:
    """The texts without those that were captured from a payload before, what of these is still to come, and all letters of
    the texts. A host may tell in one payload what its transcript has as several texts."""
    letters = ["".join(text.split()) for text in texts]
    left = list(ahead)
    kept: list[tuple[str, str]] = []
    for text, own in zip(texts, letters, strict=True):
        kept.append((text, own))
        for one in left:
            taken, size = 0, one.size
            while size > 0 and taken < len(kept):
                taken += 1
                size -= len(kept[-taken][1])
            if size == 0 and said("".join(own for _, own in kept[-taken:])) == one:
                del kept[-taken:]
                left.remove(one)
                break
    return [text for text, _ in kept], tuple(left), "".join(letters)


def _last(texts: list[str]) -> tuple[Said, ...]:
    """What was said last: as the last few texts, which a host may tell as one, and each by itself, of which a hook may be late."""
    several = (said("".join(texts[-count:])) for count in range(2, min(len(texts), 4) + 1))
    return (*several, *(said(text) for text in texts[-_MOST_RECENT:]))


def _recent(known: Cursor, *last: Said) -> tuple[Said, ...]:
    return tuple(dict.fromkeys((*known.last, *last)))[-_MOST_RECENT:]
