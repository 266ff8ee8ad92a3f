"""What is new of a session: the next part of its transcript, with the last message where it has not come there yet."""

from __future__ import annotations

from cortex.core.model.turn_summary import TurnSummary, join_messages
from cortex.core.text.value import TYPE_CHECKING, NamedTuple
from cortex.operations.capture.sanitize import sanitize_name
from cortex.vault.state import session_state as cursors
from cortex.vault.state.session_state import SessionCursor, TextFingerprint, text_fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_READ_BYTES = 512_000  # bytes of new transcript that are read at once; a hook leaves the rest to `drain_spool`
_MAX_RECENT_TEXTS = 40  # texts that are known again when a payload tells them late


class TranscriptSource(NamedTuple):
    """A transcript and the folder to which its paths are relative: as the host names them, which may be more than is kept."""

    path: str
    root: str


class TranscriptChunk(NamedTuple):
    """What is new of a session, and how far its transcript was read."""

    content: TurnSummary
    cursor: SessionCursor
    skipped_lines: int = 0  # lines that were too long and are passed over for good


def is_readable_transcript(host: str, path: str) -> bool:
    """Whether this is a transcript that Cortex can read."""
    if not path:
        return False
    from cortex.hosts import has_transcripts  # noqa: PLC0415  not every host has transcripts

    return has_transcripts(host)


def next_chunk(
    known: SessionCursor,
    source: TranscriptSource,
    message: str,
    others: Callable[[str], str],
    *,
    afresh: bool = False,
    longest: int = 0,
) -> TranscriptChunk:
    """The next part. `others` gives the time up to which lines of another session, by its name, were captured as that one's.
    `afresh`: the message belongs to another turn than what was captured last. A line of more than `MAX_READ_BYTES` bytes is left where
    it is, or read up to `longest` bytes where that is given."""
    new, letters, skipped = TurnSummary(), "", 0
    has_transcript = is_readable_transcript(known.host, source.path)
    if has_transcript:
        new, known, letters, skipped = _read_transcript(known, source, longest, others)
    last = text_fingerprint(message)
    if (
        last.size
        and (afresh or last not in known.last)
        and last not in known.ahead
        and "".join(message.split()) not in letters
    ):
        new = new._replace(
            message=join_messages([*([new.message] if new.message else []), message]).strip()
        )
        known = (
            cursors.add_expected_texts(known._replace(last=_append_recent(known, last)), last)
            if has_transcript
            else known._replace(last=(last,))
        )
    return TranscriptChunk(new, known, skipped)


def _read_transcript(
    known: SessionCursor, source: TranscriptSource, longest: int, others: Callable[[str], str]
) -> tuple[TurnSummary, SessionCursor, str, int]:
    """What the transcript tells, how the session stands then, all letters of what was said, and how many lines were passed over."""
    from cortex.hosts import new_reader  # noqa: PLC0415  as above
    from cortex.hosts.tail import FILE_START, GONE, UNREADABLE, FilePosition, read_new_lines  # noqa: PLC0415

    start = FilePosition(known.offset, known.head)
    looked = read_new_lines(source.path, start, MAX_READ_BYTES)
    anew = bool(looked.fault) and looked.fault not in (GONE, UNREADABLE)
    if looked.skipped_lines and longest:
        looked = read_new_lines(source.path, FILE_START if anew else start, longest)
    elif looked.skipped_lines and known.transcript:  # somebody with more time reads it
        looked = looked._replace(
            lines=[], position=FILE_START if anew else start, bytes_left=1, skipped_lines=0
        )
    if anew:
        known = known._replace(
            floor=max(known.floor, known.since)
        )  # another file, or the old one written anew: what was read is passed over
    at = looked.position
    if anew or not known.offset:
        known = known._replace(of="")
    lines, known = _lines_of_session(known, looked.lines, others)
    known = known._replace(
        offset=at.offset, head=at.checksum, behind=looked.bytes_left > 0 and bool(known.transcript)
    )
    if not lines:
        return TurnSummary(), known, "", looked.skipped_lines
    told = new_reader(known.host).parse(lines, source.root, known.floor)
    every = [one.text for one in told.messages if one.role == "assistant"]
    texts, ahead, letters = _drop_captured_texts(every, known.ahead)
    asked = tuple(
        line for line in told.turn_summary.tagged_lines if text_fingerprint(line) not in known.ahead
    )
    ahead = tuple(
        one
        for one in ahead
        if one not in {text_fingerprint(line) for line in told.turn_summary.tagged_lines}
    )
    new = told.turn_summary._replace(message=join_messages(texts), tagged_lines=asked)
    known = known._replace(
        since=max(known.since, told.reader.last_time),
        ahead=ahead,
        last=_append_recent(known, *_digests_of_last_texts(every)),
    )
    return new, known, letters, looked.skipped_lines


def _lines_of_session(
    known: SessionCursor, lines: list[bytes], others: Callable[[str], str]
) -> tuple[list[bytes], SessionCursor]:
    """The lines that are the session's, and what is known then of whose lines the file holds.

    A path may be used again by another session, and a session that was resumed or forked begins with lines of an older one. So lines
    that name another session are left out when lines of this one came before them, or when they were captured as the other one's."""
    if not known.session:
        return lines, known
    from cortex.hosts import new_reader  # noqa: PLC0415  as above

    session_of = new_reader(known.host).session_of
    own: list[bytes] = []
    of, named = known.of, known.named
    until: dict[str, str | None] = {
        "": None,
        known.session: None,
    }  # session -> the time up to which its lines are its own; None for this one
    for line in lines:
        of = session_of(line, of, known.session)
        if of not in until:
            until[of] = None if sanitize_name(of) == known.session else others(of)
        captured = until[of]
        if captured is None:
            named = named or bool(of)
        elif named or (captured and _line_time(line) <= captured):
            continue
        own.append(line)
    return own, known._replace(of=sanitize_name(of), named=named)


def _line_time(line: bytes) -> str:
    """The time of a transcript line in our form (`normalize_timestamp`); empty if it has none."""
    from cortex.hosts.transcript_item import normalize_timestamp  # noqa: PLC0415  only of lines of another session
    from cortex.hosts.transcript_reader import parse_json_object  # noqa: PLC0415

    told = parse_json_object(line)
    return normalize_timestamp(told.get("timestamp")) if told else ""


def _drop_captured_texts(
    texts: list[str], ahead: tuple[TextFingerprint, ...]
) -> tuple[list[str], tuple[TextFingerprint, ...], str]:
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
            if size == 0 and text_fingerprint("".join(own for _, own in kept[-taken:])) == one:
                del kept[-taken:]
                left.remove(one)
                break
    return [text for text, _ in kept], tuple(left), "".join(letters)


def _digests_of_last_texts(texts: list[str]) -> tuple[TextFingerprint, ...]:
    """What was said last: as the last few texts, which a host may tell as one, and each by itself, of which a hook may be late."""
    several = (
        text_fingerprint("".join(texts[-count:])) for count in range(2, min(len(texts), 4) + 1)
    )
    return (*several, *(text_fingerprint(text) for text in texts[-_MAX_RECENT_TEXTS:]))


def _append_recent(known: SessionCursor, *last: TextFingerprint) -> tuple[TextFingerprint, ...]:
    return tuple(dict.fromkeys((*known.last, *last)))[-_MAX_RECENT_TEXTS:]
