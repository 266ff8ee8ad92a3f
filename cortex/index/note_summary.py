"""What the catalogue and the full-text index keep of a note, read when the note has changed."""

from __future__ import annotations

from cortex.core.briefing.item_lines import ItemSource, item_lines_of
from cortex.core.extract.named_entities import find_entities
from cortex.core.markdown.blocks import Task
from cortex.core.markdown.bound import minutes_part, structured_part
from cortex.core.markdown.scan import MarkdownScan, conflict_marker_line, scan, title_of
from cortex.core.minutes.note_items import (
    MEETING,
    attendee_items,
    done_action_ids,
    due_of,
    has_placeholders,
    is_own,
    own_items,
)
from cortex.core.model.event import DISTILLED, is_event_id, raw_content
from cortex.core.model.layout import BRIEFINGS_FOLDER, inbox_status, is_among_briefings
from cortex.core.model.note_form import NESTED, NoteForm
from cortex.core.model.note_status import (
    CODE_TYPES,
    RAW_CODE,
    SET_ASIDE_STATUSES,
    TEMPLATE,
    TIER_CURRENT,
    TIER_SET_ASIDE,
    TIER_TRAIL,
)
from cortex.core.model.problem import Problem
from cortex.core.model.record import content_digest, default_scope
from cortex.core.model.relation import link_names_of, title_keys_of
from cortex.core.model.session_asks import as_title, subjects_of
from cortex.core.model.turn_summary import USER, parse_turn_summary, utterances
from cortex.core.notes import edit, note as notes
from cortex.core.notes.note import scope_of_one_person
from cortex.core.notes.relations import edges_of, is_replaced_by_distillation
from cortex.core.ranking.text_similarity import pack_sketch, token_set
from cortex.core.runs.run_event import without_json
from cortex.core.runs.run_note import is_run_id
from cortex.core.text import iso_time
from cortex.core.text.days import UTC, Zone, clock
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command, format_time, one_line, shorten
from cortex.index.catalogue import NoteRow, NoteSummary

_TITLE_CHARS = 100  # of an event, which has no title of its own
_DATE_KEYS = ("updated", "modified", "created", "date", "at")
# The ids of a Zettelkasten are times: 202611031405.
_STAMP_IN_NAME_RE = lazy_re(r"(?:^|/)(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(?:\d\d)?(?!\d)[^/]*$")
_DATE_IN_NAME_RE = lazy_re(r"(?:^|[/_ -])(\d{4}-\d{2}-\d{2})(?=[_ .-]|$)")
# They are about one day or one stretch of work; what they say alike is their form.
_TYPES_NOT_COMPARED = ("session", "meeting", "briefing")


def _digest_of_minutes(body: str, type_: str, tier: int) -> str:
    """Of a meeting's event, the digest that its record has until somebody edits that."""
    text = raw_content(body) if type_ == "meeting" and tier == TIER_TRAIL else None
    return content_digest("", text) if text is not None else ""


def summarize_note(
    path: str,
    data: bytes,
    mtime: int,
    zone: Zone = UTC,
    form: NoteForm = NESTED,
    *,
    is_template: bool = False,
) -> NoteSummary:
    """The summary of a note, from its first megabyte and the mtime of its file in seconds. `zone` is
    that of its days in briefings, `form` that of its vault."""
    note = notes.read(data, path)
    summary, scanned = _summarize(note, path, mtime, zone, form)
    row = summary.row
    if row.tier == TIER_TRAIL:
        return summary
    # What minutes say that no event has is told where it stands, though they have an id.
    is_unread = row.type == MEETING and not row.events
    if not (is_own(note) or is_unread):
        names = note.get_list("attendees") if row.type == MEETING else ()
        return summary._replace(own_items=attendee_items(names))
    if is_own(note) and (is_template or has_placeholders(note)):
        # Search finds it, behind the notes that are some.
        row = row._replace(id=path, status=TEMPLATE, tier=TIER_SET_ASIDE)
        return summary._replace(row=row, problems=())
    kind, items = own_items(note, scanned, path, row.title)
    day = items[0].day if kind == MEETING else ""
    if row.id == path:
        created = day or row.created or note.get("date").strip("[]")
        row = row._replace(type=row.type or kind, created=created)
    if at := day and (iso_time.read_time(note.get("date")) or iso_time.read_time(day)):
        row = row._replace(date=at[0], written=at[1])  # as of a record of minutes
    return summary._replace(row=row, own_items=items)


def _summarize(
    note: notes.Note, path: str, mtime: int, zone: Zone, form: NoteForm
) -> tuple[NoteSummary, MarkdownScan]:
    """The summary of a note, whosever it is, and what its text holds."""
    body = without_json(note.text) if _is_run(note, path) else note.text
    problems = (*note.problems, *merge_problems(note, path, body))
    scanned = scan(body, note.body_start_line)
    status, tier = _status_and_tier(note, path)
    tasks = scanned.tasks
    if _is_page(note, path) or (tier == TIER_TRAIL and note.get("type") == DISTILLED):
        body, scanned = "", scan("")  # what it says is found where it came from
    is_trail = tier == TIER_TRAIL
    from_events, _ = note.provenance()
    status = status or ("active" if from_events else "")
    title = one_line(note.title or _event_title(note, tier) or title_of(scanned, path))
    aliases = (*note.get_list("aliases"), *note.get_list("alias"))
    own_text = note.text_below_title if from_events and body else body
    ticked = () if is_trail else done_action_ids(note, scanned, current=tier == TIER_CURRENT)
    row = _note_row(note, path, mtime, form)
    if from_events:
        digest = content_digest(title, own_text)
    else:
        digest = _digest_of_minutes(body, row.type, tier)
    tags = _tags(note, scanned)
    row = row._replace(title=title, status=status, tier=tier, tags=tags, digest=digest)
    source = _item_source(note, row, own_text, tasks, form)
    source = source._replace(created=clock(source.created, zone))
    if (status, row.type) == ("open", "action") and row.id in ticked:
        # A person ticked the last of its own tasks.
        source = source._replace(row=row._replace(status="done"))
    summary = NoteSummary(
        row,
        body,
        aliases=tuple(one for one in aliases if one_line(one) != title or not from_events),
        when=one_line(note.get("date")),
        problems=(*problems, *_long_problems(note, path, body)),
        briefing_items=()
        if is_trail or is_replaced_by_distillation(note) or row.type in CODE_TYPES
        else tuple(item_lines_of(source)),
        link_names=link_names_of(row.id, path),
        title_keys=() if is_trail else title_keys_of(title, path, aliases),
        edges=() if is_trail else edges_of(note, scanned),
        entities=() if is_trail else find_entities(body, scanned, note.body_start_line),
        own_items=(),
        done_action_ids=ticked,
        sketch=_sketch(row.type, tier, title, own_text),
        is_raw_code=RAW_CODE in (row.type, note.get("record")),
    )
    return summary, scanned


def _note_row(note: notes.Note, path: str, mtime: int, form: NoteForm) -> NoteRow:
    """The row of a note by its frontmatter, without what its text, folder and tags add."""
    created, updated, changed, written = _times_of(note, path, mtime)
    project, events = one_line(note.get_in("project", form)), note.provenance()[0]
    return NoteRow(
        number=0,
        path=path,
        id=note.get("id") or path,
        type=shorten(note.get("type"), 40).lower(),
        title="",
        status="",
        project=project,
        branch=one_line(note.get_in("branch", form)),
        scope=one_line(note.get("scope")).lower() or (default_scope(project) if events else ""),
        topic=one_line(note.get("topic")),
        session=_session_of(note),
        date=changed,
        written=written,
        tier=TIER_CURRENT,
        created=created,
        updated=updated,
        due=due_of(note),
        owner=one_line(note.get("owner")),
        confidence=_clamp_confidence(note.get("confidence")),
        priority=_clamp_priority(note.get("priority")),
        digest="",
        pinned=note.fields.get("pinned") is True,
        tags=(),
        events=events,
    )


def _item_source(
    note: notes.Note, row: NoteRow, text: str, tasks: tuple[Task, ...], form: NoteForm
) -> ItemSource:
    """What the note's lines in briefings are made of."""
    is_among_records = row.path.startswith("records/") or f"/records/{row.type}/" in row.path
    return ItemSource(
        row,
        created=note.get("date") or note.get("created"),  # of the day on which it took place
        body=_first_names(note.get_list("attendees")) if row.type == "meeting" else text,
        tasks=tasks,
        is_record=bool(row.id != row.path and row.type and (row.events or is_among_records)),
        has_conflict=bool(note.fields.get("merge_conflicts")),
        is_personal=scope_of_one_person(note) == "personal",
        has_boxes=form.is_flat,
    )


def _first_names(names: tuple[str, ...]) -> str:
    """The first three names, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(one_line(name) for name in names[:3]) + more


def _sketch(type_: str, tier: int, title: str, body: str) -> bytes:
    if tier == TIER_TRAIL or type_ in _TYPES_NOT_COMPARED:
        return b""
    return pack_sketch(token_set(f"{title}\n{body}"))


def _status_and_tier(note: notes.Note, path: str) -> tuple[str, int]:
    """The status that a note says, or that its folder gives it; and its tier in search."""
    of_event = inbox_status(path)
    is_event = note.get("id") or is_event_id(path.rpartition("/")[2][:-3])
    # What else lies in `events/` or `inbox/` is a person's own note.
    if of_event and (is_event or of_event != "normalized"):
        return of_event, TIER_TRAIL
    status = one_line(note.get("status")).lower()
    if path.startswith(f"{BRIEFINGS_FOLDER}/") or _is_page(note, path) or _is_run(note, path):
        return status, TIER_TRAIL
    is_aside = status in SET_ASIDE_STATUSES or note.get("type") in CODE_TYPES
    return status, TIER_SET_ASIDE if is_aside else TIER_CURRENT


def _is_page(note: notes.Note, path: str) -> bool:
    return is_among_briefings(path) and note.get("type") == "briefing"


def _is_run(note: notes.Note, path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return note.get("type") == "run" and is_run_id(name[:-3]) and "/runs/" in f"/{folder}/"


def _event_title(note: notes.Note, tier: int) -> str:
    """What a person asked in the turn of an event, else the first words that it says, or what it
    did; empty for a note of another kind."""
    if tier != TIER_TRAIL:
        return ""
    turn = parse_turn_summary(structured_part(raw_content(note.text) or ""))
    said = utterances(turn.message)
    prompts = [one.text for one in said if one.role == USER and not one.about]
    for subject in (subject for text in prompts for subject in subjects_of(text)):
        return as_title(subject)
    did = [turn.title, *turn.changed_files, *(run.line for run in turn.commands)]
    lines = "\n".join([*prompts, *(one.text for one in said), *did]).splitlines()
    plain = (line.strip("#>*-_` \t") for line in lines)
    return shorten(next((line for line in plain if any(map(str.isalpha, line))), ""), _TITLE_CHARS)


def _tags(note: notes.Note, scanned: MarkdownScan) -> tuple[str, ...]:
    tags = (*note.get_list("tags"), *note.get_list("tag"), *scanned.tags)
    return tuple(dict.fromkeys(tag.lstrip("#").lower() for tag in tags if tag.strip("# ")))


def merge_problems(note: notes.Note, path: str, body: str) -> list[Problem]:
    """What a merge left in a note for a person to look at."""
    if line := conflict_marker_line(body):
        where = f"{path}:{line + note.body_start_line - 1}"
        message = "conflict markers: git could not merge the two versions"
        return [Problem(where, message, "keep the lines you want, delete the markers")]
    if entries := note.fields.get("merge_conflicts"):
        listed = entries if isinstance(entries, list) else [entries]
        if all(map(edit.lost_field, listed)):
            message = "was kept twice with two texts, of which it has one"
            if values := "; ".join(one for one in listed if isinstance(one, str) and ":" in one):
                message = f"a merge left out {shorten(one_line(values), _TITLE_CHARS)}"
            id_ = note.get("id") or path
            reviewed = cortex_command("revise", id_, "--reviewed")
            hint = f"{cortex_command('history', id_)} shows both; {reviewed} when you have looked"
            return [Problem(path, message, hint)]
        message = "a merge left a choice to a person: see merge_conflicts in its frontmatter"
        return [Problem(path, message, "choose, then delete the lines of merge_conflicts")]
    return []


def _long_problems(note: notes.Note, path: str, text: str) -> list[Problem]:
    """The problem of a text of which not all is read for what it says."""
    part = minutes_part(text) if note.get("type") == "meeting" else structured_part(text)
    if len(part) == len(text) or _is_page(note, path) or _is_run(note, path):
        return []
    where = f"{path}:{note.body_start_line + part.count(chr(10))}"
    message = "is too long: from here on it is searched, but not read for links, tasks and records"
    return [Problem(where, message, "split the note, or save what matters of it")]


def _session_of(note: notes.Note) -> str:
    session = note.provenance()[1].get("session")
    return one_line(session if isinstance(session, str) else note.get("session"))


def _clamp_confidence(text: str) -> float | None:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return None


def _clamp_priority(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) < 4
    return min(max(int(text), 1), 10) if is_number else None


def _times_of(note: notes.Note, path: str, mtime: int) -> tuple[str, str, int, str]:
    """When the note was made and changed, as it says; its last change in seconds since the epoch, and as
    written if not in UTC. A record of minutes was made on the day of the meeting, and the meeting itself
    changes no more."""
    created, changed = note.get("created"), _last_change(note, path, mtime)
    if note.provenance()[0] and (day := iso_time.read_time(note.get("date"))):
        created = day[1] or format_time(day[0])
        is_later = note.get("updated") and note.get("type").lower() != "meeting"
        changed = changed if is_later else day
    return created, note.get("updated") or created, *changed


def _last_change(note: notes.Note, path: str, mtime: int) -> tuple[int, str]:
    named, stamp = _DATE_IN_NAME_RE.search(path), _STAMP_IN_NAME_RE.search(path)
    in_name = named[1] if named else stamp and "{}-{}-{}T{}:{}".format(*stamp.groups())
    texts = (*(note.get(key) for key in _DATE_KEYS), in_name)
    times = (iso_time.read_time(text.strip(" []")) for text in texts if text)  # also of a link
    return next((one for one in times if one is not None), (mtime, ""))
