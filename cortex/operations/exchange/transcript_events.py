"""The events that a stretch of a transcript makes."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.core.model import event as events, turn_summary
from cortex.core.model.event import Event
from cortex.core.normalize.handlers import MAX_SAVED_TITLE_CHARS
from cortex.core.redact.person_words import NONE
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import hash_bytes, one_line
from cortex.hosts.transcript_files import TranscriptInfo, TranscriptSegment
from cortex.hosts.transcript_item import TranscriptItem, summarize_items
from cortex.operations.capture.sanitize import sanitize_name

_MAX_TEXT_CHARS = 500_000  # of one event; what is longer goes into several


def build_events(
    one: TranscriptInfo,
    segment: TranscriptSegment,
    pieces: list[TranscriptItem],
    root: str,
    title: str,
    *,
    prompts: str,
    now: str,
) -> list[Event]:
    """The events that a stretch of a transcript makes; `pieces`: what of it is new, `prompts`: what
    is kept of a person's words. Their ids depend on the transcript alone, or on `now` where it says
    no time."""
    is_aside = bool(one.subagent or segment.sidechain)
    if segment.is_summary:
        texts = [("post_compact", piece, piece.text) for piece in pieces]
    else:
        kept_prompts = NONE if is_aside else prompts  # no person asks a subagent
        summary = summarize_items(pieces, root, kept_prompts)._replace(title=title)
        type_ = "subagent_stop" if is_aside else "stop"
        texts = [(type_, pieces[0], turn_summary.compose_text(summary))]
    at, made = one.first_time, []
    project, branch = segment.project_branch
    for type_, piece, text in texts:
        at = piece.at or at
        for number, part in enumerate(split_text(sanitize_text(text))):
            id_ = _event_id(one, type_, piece, (at, now), number)
            session = sanitize_name(one.session)
            event = Event(id_, type_, events.time_of_id(id_), part, session, project, branch)
            made.append(event._replace(host=one.host, source="import"))
    return made


def _event_id(
    one: TranscriptInfo, type_: str, piece: TranscriptItem, times: tuple[str, ...], number: int
) -> str:
    """An id at the first of the times that makes one. Copies of a message have the same id."""
    fields = (one.session, one.subagent, piece.sidechain, piece.at, piece.kind, piece.text)
    named = piece.id or "\0".join((*fields, _as_in_earlier_ids(piece)))
    chance = hash_bytes("\0".join((one.host, type_, named, str(number))), 7)
    ids = (
        events.make_id(f"{moment[:19]}Z".replace("-", "").replace(":", "").lower(), chance)
        for moment in times
    )
    return next(filter(events.is_event_id, ids))


def _as_in_earlier_ids(piece: TranscriptItem) -> str:
    """A command and a plan as they stand in the ids of imported events, which must not change."""
    ran = piece.command
    command = ran and f"Command(line={ran.line!r}, outcome={ran.outcome!r})"
    steps = [f"Step(text={one.text!r}, done={one.done!r})" for one in piece.plan]
    plan = f"({', '.join(steps)}{',' if len(steps) == 1 else ''})"
    return f"{command}\0{plan}"


def clean_title(title: str) -> str:
    """A host's title of a session without secrets, in a line."""
    return one_line(sanitize_text(title))[:MAX_SAVED_TITLE_CHARS]


def split_text(text: str) -> Iterator[str]:
    """A text in parts that an event can hold, cut between lines where that is possible."""
    while len(text) > _MAX_TEXT_CHARS or len(text) * 4 > events.MAX_CONTENT_BYTES < len(
        text.encode("utf-8", "replace")
    ):
        most = _MAX_TEXT_CHARS if text.isascii() else _MAX_TEXT_CHARS // 2
        cut = text.rfind("\n", most // 2, most) + 1 or most
        yield text[:cut]
        text = text[cut:]
    if text.strip():
        yield text
