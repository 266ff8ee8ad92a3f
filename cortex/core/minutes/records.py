"""The records that minutes become: the meeting, and what came of it."""

from __future__ import annotations

from cortex.core.extract.candidate import TITLE_LIMIT, make_title
from cortex.core.markdown.bound import MAX_RECORDS
from cortex.core.minutes.dates import iter_dates
from cortex.core.minutes.meeting import MeetingMinutes, parse_meeting
from cortex.core.minutes.outcomes import ActionItem, DecisionItem, Outcome
from cortex.core.model.record import Record, record_id
from cortex.core.text.strings import one_line, shorten


def outcomes_in_order(meeting: MeetingMinutes) -> list[Outcome]:
    """Decisions, actions and questions by their line; the first `MAX_RECORDS`."""
    some: tuple[Outcome, ...] = (*meeting.actions, *meeting.decisions, *meeting.questions)
    return sorted(some, key=lambda one: one.line)[:MAX_RECORDS]


def meeting_title(meeting: MeetingMinutes) -> str:
    return shorten(meeting.title, TITLE_LIMIT) or "Meeting"


def records_of_minutes(base: Record) -> list[Record]:
    """The meeting's record, then those of its outcomes, from the text and the event of `base`."""
    meeting = parse_meeting(base.body)
    title = meeting_title(meeting)
    (event,) = base.events
    name = f"{meeting.date} {_without_dates(title)}" if meeting.date else title
    own_id = record_id(name, event)
    children = [
        outcome_record(base, one, record_id(one_line(one.text), event, at), own_id, meeting)
        for at, one in enumerate(outcomes_in_order(meeting), start=1)
    ]
    record = base._replace(
        id=own_id, type="meeting", title=title, date=meeting.date, attendees=meeting.attendees,
        relations=tuple(("source_of", child.id) for child in children),
    )  # fmt: skip
    return [record, *children]


def _without_dates(title: str) -> str:
    for found in reversed(list(iter_dates(title, day_first=True))):
        title = title[: found.start] + title[found.end :]
    return title


def outcome_record(
    base: Record, one: Outcome, id_: str, meeting_id: str, meeting: MeetingMinutes
) -> Record:
    """The record of one outcome of the meeting with this id: what was said, as a quote."""
    title = meeting_title(meeting)
    text = one_line(one.text)
    alias = title.replace("|", "-").replace("]", ")").replace("[", "(")
    source = f"From [[{meeting_id}|{alias}]]."
    child = base._replace(
        date=one.day or meeting.date, id=id_, title=make_title(text), relations=(("derived_from", meeting_id),),
        type="question", body=f"> {text}\n\n{source}",
    )  # fmt: skip
    if isinstance(one, ActionItem):
        status = "done" if one.done else "open"
        return child._replace(type="action", status=status, owner=one.owner, due=one.due)
    if isinstance(one, DecisionItem):
        why = f"**Why.** {one_line(one.reason)}\n\n" if one.reason else ""
        return child._replace(type="decision", body=f"> {text}\n\n{why}{source}")
    return child
