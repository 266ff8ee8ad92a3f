"""A session's one note: the same bytes in whichever order its events come.

The only inputs are the note and the new event: the lines below `## Events` name the earlier ones,
and the last line of a summary holds the id of its event and a hash of its text, which shows
whether a person changed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from cortex.core.model import event as events, turn_summary
from cortex.core.model.distillation import parse_distillation
from cortex.core.model.event import Event, session_note_id
from cortex.core.model.generated_text import (
    EVENTS_HEADING,
    NOTHING_SAID,
    SUMMARY_HEADING,
    SUMMARY_MARK_RE,
    EventLine,
    event_lines,
    find_marked_text,
    parse_event_line,
    untitled,
)
from cortex.core.model.note_form import NESTED, NoteForm
from cortex.core.model.note_status import SUMMARY_MARK
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import Record, compose_untitled_record, default_scope
from cortex.core.model.turn_summary import TurnSummary
from cortex.core.notes import note as notes
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import format_count, one_line, short_hash, shorten, slugify

START_TYPE, END_TYPE = "session_start", "session_end"
NO_GOAL, NO_SUMMARY = events.PLACEHOLDER_TEXTS[START_TYPE], events.PLACEHOLDER_TEXTS[END_TYPE]
NO_END_REASON = "no end was captured"  # why a session without an end is closed
# The parts of a summary, as options and as headings.
SUMMARY_PARTS = {
    "goal": "Goal", "instructions": "Instructions", "discoveries": "Discoveries",
    "accomplished": "Accomplished", "next_steps": "Next steps", "files": "Relevant files",
}  # fmt: skip
MAX_EXCERPT_CHARS = 240
_MAX_ACTIVITY_CHARS = 130  # of these, for files and failures
_MAX_READ_CHARS = 4000  # characters of what was said from which its gist is made

# Quote and heading marks, bullets, emphasis, brackets of links.
MARKDOWN_DECORATION_RE = lazy_re(r"^[#>\s]+|^[-*+]\s+(?:\[.\]\s+)?|\*\*|`|\[\[|\]\]")
_ANY_EVENT_LINE_RE = lazy_re(rb"- .*\[\[([0-9tz]{16}-[a-z2-7]{10})\]\]\s*")
_FENCE_RE = lazy_re(r" {0,3}(`{3,}|~{3,})")


def note_path(event: Event, title: str = "") -> str:
    """Where the note lies that this event begins: below its month, by its day and title."""
    name = event.session or event.id
    day = (event.clock or event.at)[:10]
    return (
        f"sessions/{day[:4]}/{day[5:7]}/{day}-{slugify(title or 'session')}-{short_hash(name)}.md"
    )


def compose_note(event: Event, form: NoteForm = NESTED) -> str:
    """The note of a session of which this is the first event that is known."""
    name = event.session or event.id
    record = Record(
        id=session_note_id(name), type="session", title=untitled(name),
        body=f"{EVENTS_HEADING}\n\n{_format_event_line(event)}", created=event.at,
        events=(event.id,), status=status_of([EventLine(event.id, event.type, "")]),
        session=event.session, project=event.project, branch=event.branch,
        tags=tuple(sorted(set(event.tags))),
    )  # fmt: skip
    text = compose_untitled_record(record._replace(scope=""), form)
    note = with_fields(notes.read(text.encode()), {"scope": ""})
    return notes.write(_with_summary(_with_start_and_end(note, event), event)).decode()


def append_event(note: Note, event: Event, form: NoteForm = NESTED) -> Note:
    """The note with one more event, whose id its provenance names already. Scope, project and
    branch are those of the earliest event; tags are those of all."""
    before = _status_before(note, event)
    if note.provenance()[0][:1] == (event.id,):
        own = form if note.is_flat else NESTED
        place = {**own.stated(project=event.project, branch=event.branch), "created": event.at}
        if note.is_flat and note.updated > event.at:
            place["updated"] = note.updated  # it no longer goes without saying
        if "scope" in note.fields:  # as earlier versions wrote it
            place["scope"] = default_scope(event.project)
        note = with_fields(note, place)
    if more := set(event.tags) - set(note.get_list("tags")):
        tags = tuple(sorted({*note.get_list("tags"), *more}))
        note = with_fields(note, {"tags": tags})
    note = notes.insert_body_line(note, _format_event_line(event), _insertion_line(note, event.id))
    note = _with_start_and_end(note, event)
    return _with_summary(_with_status(note, event, before) if before else note, event)


def _status_before(note: Note, event: Event) -> str:
    """The status that the note's events give it; empty where one more cannot change what stands
    there, since reading all lines for each turn of a long session takes its time."""
    may_change = event.type in (START_TYPE, END_TYPE) or note.get("closed")
    return status_of(event_lines(note.text)) if may_change or note.get("status") == "open" else ""


def status_of(lines: Iterable[EventLine]) -> str:
    """`open` from a start until an end, by the seconds of their ids. Without either, `done` after
    a stop (hosts stop after every turn), else `open`."""
    last: dict[str, str] = {}
    for turn in lines:
        last[turn.type] = max(last.get(turn.type, ""), turn.id[:16])
    if START_TYPE in last or END_TYPE in last:
        return "done" if last.get(END_TYPE, "") >= last.get(START_TYPE, "") else "open"
    return "done" if "stop" in last else "open"


def excerpt(text: str, limit: int) -> str:
    """A text of several paragraphs on one line, without headings and ornaments."""
    lines = (
        "" if line.startswith("#") else MARKDOWN_DECORATION_RE.sub("", line)
        for line in text.splitlines()
    )
    groups = groupby(lines, key=lambda line: bool(line.strip()))
    return shorten(" · ".join(" ".join(group) for has_text, group in groups if has_text), limit)


def compose_summary(parts: dict[str, str]) -> str:
    """A summary in markdown from its parts (keys of `SUMMARY_PARTS`); empty ones are left out."""
    files = [name.strip() for name in re.split(r"[,\n]", parts.get("files", ""))]
    texts = parts | {"files": "\n".join(f"- {name}" for name in files if name)}
    return "\n\n".join(
        f"### {heading}\n\n{texts[key].strip()}"
        for key, heading in SUMMARY_PARTS.items()
        if texts.get(key, "").strip()
    )


def _format_event_line(event: Event) -> str:
    """One line for one event; it ends with the event's id, by which the lines are ordered."""
    time = (event.clock or event.at)[:16].replace("T", " ")
    return f"- {time} {event.type}: {_event_excerpt(event)} [[{event.id}]]"


def _event_excerpt(event: Event) -> str:
    """What was said, in short, then what was done."""
    if event.type == events.DISTILLED:
        return _distilled_excerpt(event)
    if event.type == END_TYPE:
        summary = event.text.partition(turn_summary.ACTIVITY_MARK)[0]
        return excerpt(summary.replace("<!--", "<!- -"), MAX_EXCERPT_CHARS)
    said, done = event.text, ""
    if turn_summary.ACTIVITY_MARK in said:
        turn = turn_summary.parse_turn_summary(said)
        said, done = turn.message or " ".join(turn.tagged_lines), _format_activity(turn)
    if "> [!" in said:
        said = _what_was_asked(said)
    lines = [MARKDOWN_DECORATION_RE.sub("", line) for line in said[:_MAX_READ_CHARS].splitlines()]
    line = " ".join(line for line in lines if line.strip()).replace("<!--", "<!- -")
    line = shorten(line, MAX_EXCERPT_CHARS - len(done) - 3 * bool(done))
    return " · ".join(part for part in (line, done) if part) or NOTHING_SAID


def _distilled_excerpt(event: Event) -> str:
    try:
        one = parse_distillation(event.text)
    except InvalidInputError:
        return NOTHING_SAID
    by = f" ({one.model})" if one.model else ""
    line = f"{one.title}: {format_count(len(one.records), 'record')}{by}"
    return shorten(line.replace("<!--", "<!- -").replace("[[", "["), MAX_EXCERPT_CHARS)


def _what_was_asked(said: str) -> str:
    """The person's words of a turn, else what the agent said."""
    spoken = turn_summary.utterances(said)
    prompts = " ".join(one.text for one in spoken if one.role == turn_summary.USER)
    return prompts or " ".join(one.text for one in spoken)


def _format_activity(turn: TurnSummary) -> str:
    """Files (in backticks without a folder, to tell them from words) and failures; more counted."""
    names = [one.replace("`", "'").replace("[[", "[") for one in turn.changed_files]
    names = [name if "/" in name else f"`{name}`" for name in names]
    failed = (run for run in turn.commands if run.outcome.lower().startswith("fail"))
    failures = list(dict.fromkeys(f"{_shorten_command(run.line)} failed" for run in failed))
    limit = _MAX_ACTIVITY_CHARS - (40 if failures else 0)
    files = _join_within_limit("changed ", names, " files", limit)
    limit = _MAX_ACTIVITY_CHARS - len(files) - 3
    failed_text = _join_within_limit("", failures, " commands failed", limit)
    return " · ".join(part for part in (files, failed_text) if part)


def _join_within_limit(head: str, names: list[str], otherwise: str, limit: int) -> str:
    """The names that fit and how many more there are; if none fits, the number and `otherwise`."""
    shown, length = 0, len(head)
    for place, name in enumerate(names, start=1):
        length += len(name) + 2
        if length - 2 + (len(f" and {len(names)} more") if place < len(names) else 0) > limit:
            break
        shown = place
    if not shown:
        return f"{head}{len(names)}{otherwise}" if names else ""
    more = f" and {len(names) - shown} more" if shown < len(names) else ""
    return head + ", ".join(names[:shown]) + more


def _shorten_command(command: str) -> str:
    line = one_line(command[:200].replace("`", "'").replace("[[", "[").replace("<!--", "<!- -"))
    return line if len(line) <= 40 else f"{line[:39].rstrip()}…"


def _insertion_line(note: Note, event_id: str) -> int:
    """The body line before which an event's line belongs; they are ordered by id."""
    lines = note.body.splitlines()
    start = _find_events_heading(lines) or 0
    after = 0
    for number, line in enumerate(lines[start:], start=start):
        if found := _ANY_EVENT_LINE_RE.fullmatch(line):
            if found[1].decode() > event_id:
                return number
            after = number + 1
        elif not after and line.rstrip() == EVENTS_HEADING.encode():
            after = number + 2
    return after or len(lines)


def _find_events_heading(lines: list[bytes]) -> int | None:
    """The line of the heading above the events; None when a person has taken it out."""
    heading = EVENTS_HEADING.encode()
    return next((n for n, line in enumerate(lines) if line.rstrip() == heading), None)


def _with_start_and_end(note: Note, event: Event) -> Note:
    """The note with `started`, the first start, and `ended`, the last end once it is done."""
    if event.type not in (START_TYPE, END_TYPE):
        return note
    lines = list(event_lines(note.text))
    starts = [line.id for line in lines if line.type == START_TYPE]
    ends = [line.id for line in lines if line.type == END_TYPE]
    started = events.time_of_id(min(starts)) if starts else note.get("started")
    ended = events.time_of_id(max(ends)) if ends and status_of(lines) == "done" else ""
    return with_fields(note, {"started": started, "ended": ended, "closed": ""})


def _with_status(note: Note, event: Event, before: str) -> Note:
    """The note with the status that its events give it. One that a person set stays until the
    session is started or ended again; a session closed without an end is reopened by an event."""
    status = note.get("status")
    is_later = event.type != events.DISTILLED and event.at > note.get("ended")
    if goes_on := bool(note.get("closed")) and is_later:
        note = with_fields(note, {"ended": "", "closed": ""})
    after = status_of(event_lines(note.text))
    set_by_person = status not in ("open", "done") or (
        status != before and not goes_on and event.type not in (START_TYPE, END_TYPE)
    )
    return note if set_by_person or status == after else with_fields(note, {"status": after})


def _with_summary(note: Note, event: Event) -> Note:
    """The note with the summary of this event if no end says more; of equal ones the latest counts. It
    replaces the other one, or, if it is later, is put below it and a rule if a person changed that."""
    summary = event.text.partition(turn_summary.ACTIVITY_MARK)[0]
    wanted = list(_iter_summary_lines(summary)) if event.type == END_TYPE else []
    if not wanted:
        return note
    wanted.append("")
    digest = short_hash("\n".join(wanted), 10)
    marked = [*wanted, f"{SUMMARY_MARK}{event.id} {len(wanted)} {digest} -->"]
    lines = note.body.splitlines(keepends=True)
    texts = [line.decode("utf-8", "replace").rstrip("\r\n") for line in lines]
    end = _find_events_heading(lines)
    if end is None:
        places = (n for n, line in enumerate(texts) if parse_event_line(line))
        end = next(places, len(lines))
    mark = find_marked_text(lines[:end], SUMMARY_MARK_RE)
    if mark and mark.is_untouched:
        size = len("\n".join(wanted).encode("utf-8", "surrogatepass"))
        if (size, event.id) > (len(mark.text), mark.mark[0].decode()):
            lines[mark.start : mark.end + 1] = encode_lines(note, marked)
        return note._replace(body=b"".join(lines))
    if mark and event.id <= mark.mark[0].decode():
        return note
    place = mark.end if mark else end
    head = [SUMMARY_HEADING, ""]
    if SUMMARY_HEADING in texts[:place]:
        above = texts[texts.index(SUMMARY_HEADING) + 1 : place]
        head = ["", "---", ""] if any(line.strip() for line in above) else []
    below = [""] if place == end else []
    lines[place : place + bool(mark)] = encode_lines(note, [*head, *marked, *below])
    return note._replace(body=b"".join(lines))


def encode_lines(note: Note, lines: Iterable[str]) -> list[bytes]:
    """Lines as they stand in the note's body."""
    return [f"{line}{note.eol}".encode("utf-8", "surrogatepass") for line in lines]


def _iter_summary_lines(text: str) -> Iterator[str]:
    """The lines of an end's text, with its headings below `## Summary` and none that reads like
    the heading of the events. No lines for the placeholder."""
    if text.strip().startswith(NO_SUMMARY):
        return
    fence = ""
    for line in text.strip("\n").rstrip().splitlines():
        found = _FENCE_RE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not line.strip(" `~"):
            fence = ""
        if line.rstrip() in (EVENTS_HEADING, SUMMARY_HEADING) and fence:
            yield f" {line}"
        elif not fence and line.startswith(("# ", "## ")):
            yield f"###{line.lstrip('#')}"
        else:
            yield line
