"""What is new of a session: the next part of its transcript, and the last message if that is ahead
of the transcript."""

from __future__ import annotations

from _collections_abc import Callable

from cortex.core.model.problem import CortexError
from cortex.core.model.turn_summary import TurnSummary, append_message
from cortex.core.text.light import suppress
from cortex.core.text.value import NamedTuple
from cortex.hosts import has_transcripts, new_reader
from cortex.hosts.tail import FILE_START, GONE, UNREADABLE, FilePosition, read_new_lines
from cortex.hosts.transcript_item import AGENT_TEXT
from cortex.operations.capture.sanitize import sanitize_name
from cortex.vault.state import session_state as cursors
from cortex.vault.state.session_homes import earlier_transcripts
from cortex.vault.state.session_state import SessionCursor, TextFingerprint, text_fingerprint

# Of new transcript that are read at once; a hook leaves the rest to `drain_spool`.
MAX_READ_BYTES = 512_000
_MAX_PARENT_BYTES = 64_000_000  # of a transcript from which another one was forked
_MAX_RECENT_TEXTS = 40  # texts that are known again when a payload tells them late


class TranscriptSource(NamedTuple):
    """A transcript, and the folder to which its paths are relative."""

    path: str
    root: str


class TranscriptChunk(NamedTuple):
    """What is new of a session, and how far its transcript was read."""

    content: TurnSummary
    cursor: SessionCursor
    skipped_lines: int = 0  # lines that were too long and are passed over for good


def is_readable_transcript(host: str, path: str) -> bool:
    """Whether this is a transcript that Cortex can read."""
    return bool(path) and has_transcripts(host)


def next_chunk(
    known: SessionCursor,
    source: TranscriptSource,
    message: str,
    captured_until: Callable[[str], str],
    *,
    prompts: str,
    is_new_turn: bool = False,
    max_line_bytes: int = 0,
) -> TranscriptChunk:
    """What is new of a session.

    `captured_until` gives the time up to which lines of another session, by its name, were captured
    as that one's; `prompts`: what is kept of a person's words; `is_new_turn`: the message belongs
    to another turn than what was captured last.
    A line of more than `MAX_READ_BYTES` is left where it is, or read up to `max_line_bytes`.
    """
    new, letters, skipped = TurnSummary(), "", 0
    has_transcript = is_readable_transcript(known.host, source.path)
    if has_transcript:
        new, known, letters, skipped = _read_transcript(
            known, source, max_line_bytes, captured_until, prompts
        )
    last = text_fingerprint(message)
    is_new = (is_new_turn or last not in known.last) and last not in known.ahead
    if last.size and is_new and "".join(message.split()) not in letters:
        new = new._replace(message=append_message(new.message, message).strip())
        recent = _append_recent(known, last) if has_transcript else (last,)
        known = known._replace(last=recent)
        if has_transcript:
            known = cursors.add_expected_texts(known, last)
    return TranscriptChunk(new, known, skipped)


def _read_transcript(
    known: SessionCursor,
    source: TranscriptSource,
    max_line_bytes: int,
    captured_until: Callable[[str], str],
    prompts: str,
) -> tuple[TurnSummary, SessionCursor, str, int]:
    """What is new in the transcript, the cursor behind it, all letters of it, and skipped lines."""
    start = FilePosition(known.offset, known.head)
    chunk = read_new_lines(source.path, start, MAX_READ_BYTES)
    # Another file, or the old one rewritten: lines that were read are skipped by their times.
    is_other_file = bool(chunk.fault) and chunk.fault not in (GONE, UNREADABLE)
    if is_other_file:
        start = FILE_START
        known = known._replace(floor=max(known.floor, known.since))
    if chunk.skipped_lines and max_line_bytes:
        chunk = read_new_lines(source.path, start, max_line_bytes)
    elif chunk.skipped_lines and known.transcript:  # somebody with more time reads it
        chunk = chunk._replace(lines=[], position=start, bytes_left=1, skipped_lines=0)
    if is_other_file or not known.offset:
        known = known._replace(of="")
    lines, known = _lines_of_session(known, chunk.lines, captured_until)
    known = known._replace(
        offset=chunk.position.offset,
        head=chunk.position.checksum,
        behind=chunk.bytes_left > 0 and bool(known.transcript),
    )
    if not lines:
        return TurnSummary(), known, "", chunk.skipped_lines
    reader = new_reader(known.host)
    if not start.offset or known.copied:
        known, reader.copied = _find_copies(known, source.path, lines)
    parsed = reader.parse(lines, known.floor)
    said = [one.text for one in parsed.items if one.kind == AGENT_TEXT]
    captured, ahead, letters = _find_captured_texts(said, known.ahead)
    left = iter(captured)
    items = tuple(one for one in parsed.items if one.kind != AGENT_TEXT or not next(left))
    parsed = parsed._replace(items=items)
    new = parsed.turn_summary(source.root, prompts)
    tagged = [(text_fingerprint(line), line) for line in new.tagged_lines]
    left_lines = tuple(line for one, line in tagged if one not in known.ahead)
    new = new._replace(tagged_lines=left_lines)
    known = known._replace(
        since=max(known.since, parsed.reader.last_time),
        headless=known.headless or parsed.reader.is_headless,
        ahead=tuple(one for one in ahead if one not in {mark for mark, _ in tagged}),
        last=_append_recent(known, *_digests_of_last_texts(said)),
    )
    return new, known, letters, chunk.skipped_lines


def _find_copies(
    known: SessionCursor, path: str, lines: list[bytes]
) -> tuple[SessionCursor, set[str]]:
    """The lines that are copies of earlier ones, by their keys, and the cursor, which says whether
    more of them may come."""
    keys = filter(None, map(new_reader(known.host).copy_key, lines))
    first = known.copied or next(keys, "")
    copied = find_copied_lines(known.host, path, first)
    is_inside = bool(copied) and copied.issuperset(keys)
    return known._replace(copied=first if is_inside else ""), copied


def find_copied_lines(host: str, path: str, first: str = "") -> set[str]:
    """The keys of all lines in transcripts that begin with the same line as this one, which has the
    key `first`, and were read earlier: a fork begins with a copy of what it was forked from."""
    if not first:
        lines = read_new_lines(path, most=MAX_READ_BYTES).lines
        first = next(filter(None, map(new_reader(host).copy_key, lines)), "")
    keys: set[str] = set()
    with suppress(OSError, CortexError):  # then copies are captured once more
        for other in earlier_transcripts(host, first, path) if first else ():
            lines = read_new_lines(other, most=_MAX_PARENT_BYTES).lines
            keys.update(map(new_reader(host).copy_key, lines))
    return keys - {""}


def _lines_of_session(
    known: SessionCursor, lines: list[bytes], captured_until: Callable[[str], str]
) -> tuple[list[bytes], SessionCursor]:
    """The lines that are the session's, and the cursor with whose lines the file holds.

    Another session may use the path again, and a resumed or forked session begins with lines of an
    older one. So lines that name another session are left out when lines of this one came before
    them, or when they were captured as the other one's."""
    if not known.session:
        return lines, known
    reader = new_reader(known.host)
    own: list[bytes] = []
    of, named, passed = known.of, known.named, ("", b"")
    # Session -> the time up to which its lines are its own; None for this one.
    until: dict[str, str | None] = {"": None, known.session: None}
    for line in lines:
        of = reader.session_of(line, of, known.session)
        if of not in until:
            until[of] = None if sanitize_name(of) == known.session else captured_until(of)
        captured = until[of]
        if captured is None:
            named = named or bool(of)
        elif named or (captured and reader.line_time(line) <= captured):
            passed = (of, line) if named else passed
            continue
        own.append(line)
    known = known._replace(of=sanitize_name(of), named=named)
    if passed[0]:
        at = reader.line_time(passed[1]) or known.since
        known = known._replace(passed=f"{sanitize_name(passed[0])} {at}")
    return own, known


def _find_captured_texts(
    texts: list[str], ahead: tuple[TextFingerprint, ...]
) -> tuple[list[bool], tuple[TextFingerprint, ...], str]:
    """Of each text whether it was captured from a payload before; which of these are still to
    come, and all letters of the texts. One payload may hold several texts of the transcript."""
    letters = ["".join(text.split()) for text in texts]
    left = list(ahead)
    kept: list[int] = []
    for number in range(len(texts)):
        kept.append(number)
        for one in left:
            taken, size = 0, one.size
            while size > 0 and taken < len(kept):
                taken += 1
                size -= len(letters[kept[-taken]])
            joined = "".join(letters[at] for at in kept[-taken:])
            if size == 0 and text_fingerprint(joined) == one:
                del kept[-taken:]
                left.remove(one)
                break
    stays = set(kept)
    return [number not in stays for number in range(len(texts))], tuple(left), "".join(letters)


def _digests_of_last_texts(texts: list[str]) -> tuple[TextFingerprint, ...]:
    """Fingerprints of the last texts, each and joined: a host may send several as one, or late."""
    counts = range(2, min(len(texts), 4) + 1)
    several = (text_fingerprint("".join(texts[-count:])) for count in counts)
    return (*several, *(text_fingerprint(text) for text in texts[-_MAX_RECENT_TEXTS:]))


def _append_recent(known: SessionCursor, *last: TextFingerprint) -> tuple[TextFingerprint, ...]:
    return tuple(dict.fromkeys((*known.last, *last)))[-_MAX_RECENT_TEXTS:]
