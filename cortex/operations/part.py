"""What is new of a session: the next part of its transcript, with the last message where it has not come there yet."""

from __future__ import annotations

from cortex.core.stretch import Stretch, together
from cortex.core.value import NamedTuple
from cortex.vault import cursor as cursors
from cortex.vault.cursor import Cursor, Said, said

MOST_READ = 512_000  # bytes of new transcript that are read at once; a hook leaves the rest to `gather`
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
    from cortex.importers.transcripts import READERS  # noqa: PLC0415  not every host has transcripts

    return host in READERS


def part(known: Cursor, source: Source, message: str, *, afresh: bool = False, longest: int = 0) -> Part:
    """The next part. `afresh`: the message belongs to another turn than what was captured last. A line of more than
    `MOST_READ` bytes is left where it is, or read up to `longest` bytes where that is given."""
    new, letters, skipped = Stretch(), "", 0
    has_transcript = reads(known.host, source.path)
    if has_transcript:
        new, known, letters, skipped = _read(known, source, longest)
    last = said(message)
    if last.size and (afresh or last not in known.last) and last not in known.ahead and "".join(message.split()) not in letters:
        new = new._replace(said=together([*([new.said] if new.said else []), message]).strip())
        known = cursors.with_ahead(known._replace(last=_recent(known, last)), last) if has_transcript else known._replace(last=(last,))
    return Part(new, known, skipped)


def _read(known: Cursor, source: Source, longest: int) -> tuple[Stretch, Cursor, str, int]:
    """What the transcript tells, how the session stands then, all letters of what was said, and how many lines were passed over."""
    from cortex.importers.transcripts import read  # noqa: PLC0415  as above
    from cortex.importers.transcripts.tail import GONE, START, UNREADABLE, Position, tail  # noqa: PLC0415

    start = Position(known.offset, known.head)
    looked = tail(source.path, start, MOST_READ)
    anew = bool(looked.fault) and looked.fault not in (GONE, UNREADABLE)
    if looked.skipped and longest:
        looked = tail(source.path, START if anew else start, longest)
    elif looked.skipped and known.transcript:  # somebody with more time reads it
        looked = looked._replace(lines=[], position=START if anew else start, left=1, skipped=0)
    if anew:
        known = known._replace(floor=max(known.floor, known.since))  # another file, or the old one written anew: what was read is passed over
    at = looked.position
    known = known._replace(offset=at.offset, head=at.head, behind=looked.left > 0 and bool(known.transcript))
    if not looked.lines:
        return Stretch(), known, "", looked.skipped
    told = read(known.host, looked.lines, source.root, known.floor)
    every = [one.text for one in told.messages if one.role == "assistant"]
    texts, ahead, letters = _new_only(every, known.ahead)
    asked = tuple(line for line in told.stretch.asked if said(line) not in known.ahead)
    ahead = tuple(one for one in ahead if one not in {said(line) for line in told.stretch.asked})
    new = told.stretch._replace(said=together(texts), asked=asked)
    known = known._replace(since=max(known.since, told.last), ahead=ahead, last=_recent(known, *_last(every)))
    return new, known, letters, looked.skipped


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
