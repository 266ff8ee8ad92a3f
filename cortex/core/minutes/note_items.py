"""Tasks, decisions and meetings that notes tell of: what people's own notes say that is to be done, was
decided, or is a meeting; their templates; and tasks that people tick in any editor, with the action
records that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from cortex.core.markdown.blocks import Task
from cortex.core.markdown.bound import minutes_part
from cortex.core.markdown.scan import MarkdownScan, parse_blocks
from cortex.core.model.note_status import decode_text
from cortex.core.model.record import RECORD_TYPES
from cortex.core.notes.relations import parse_link_target, relations_of
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, shorten, slugify
from cortex.core.text.value import NamedTuple

if TYPE_CHECKING:
    from cortex.core.notes.note import Note

TASK, DECISION, MEETING = "task", "decision", "meeting"
# What minutes have beside those: an action that is done, an open question, who was there.
DONE, QUESTION, ATTENDEE = "done", "question", "attendee"
# What a note is by its type or a tag in its frontmatter.
_KIND_BY_WORD = {
    "decision": DECISION, "decisions": DECISION, "adr": DECISION,
    "meeting": MEETING, "meetings": MEETING, "minutes": MEETING,
}  # fmt: skip
# What the path or the title of minutes says; that alone makes none of a note.
_MEETING_NAME_RE = lazy_re(
    r"(?i)\b(?:meetings?|minutes|sitzung\w*|protokolle?|besprechung\w*|r[eé]unions?|compte.rendu"
    r"|reuni[oóãõ]\w*|actas?|riunion[ei]|verbal[ei]|vergadering\w*|notulen|jour.fixe|stand-?up)\b"
)
_DECISION_TAG_RE = lazy_re(r"(?<!\S)#(?:decisions?|adr)(?:/[\w/-]+)?(?![\w-])", re.IGNORECASE)
_TAG_RE = lazy_re(r"#[^\s#]+")
_WIKILINK_RE = lazy_re(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]")
_DAY_RE = lazy_re(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)")
_DUE_DAY_RE = lazy_re(r"(?:\[\[(?:[^\[\]|#]*/)?)?(\d{4}-\d\d-\d\d)(?:$|[T\]|#]|[ ]\d|\.md)")
_DAY_IN_NAME_RE = lazy_re(r"(?:^|[/_ -])(\d{4}-\d\d-\d\d)(?=[_ .-]|$)")
# Placeholders of Obsidian's templates and of Templater. They stand in code where they are explained.
_PLACEHOLDER_RE = lazy_re(rb"\{\{(?:title|date|time)(?::[^{}\n]*)?\}\}|<%[-_*+]?[ \t]*(?:tp\b|\*)")
_CODE_RE = lazy_re(rb"^(`{3,}+|~{3,}+).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
# Of `core/model/record.py`: the slug of what is to be done, and a hash.
_RECORD_ID_RE = lazy_re(r"(.+)-[a-z2-7]{6}")
_TICK_RE = lazy_re(r"(?m)((?:^|\r)[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+)\[[xX-]\](?=[ \t])")
_TYPES_OF_OURS = (*RECORD_TYPES, "session")  # of notes with an id
_CLOSED_MARKS = "xX-"  # of a task; every other one is open: `/` is begun, `>` put off
_MAX_TEXT_CHARS, _MAX_ITEMS = 200, 500  # of an item; of a note


class OwnItem(NamedTuple):
    """Something that a person's own note says."""

    kind: str  # task, decision, meeting, done, question or attendee
    line: int
    text: str
    person: str  # who has to do it
    day: str  # when it is due, was decided or took place; ISO, or empty


def is_own(note: Note) -> bool:
    """Whether a person wrote the note: no event, and no id and type as Cortex gives them."""
    is_record = note.get("type").lower() in _TYPES_OF_OURS and re.match(r"[^{<]", note.get("id"))
    return not note.provenance()[0] and not is_record


def has_placeholders(note: Note) -> bool:
    """Whether a note has placeholders that a template fills in, outside of code."""
    if not _PLACEHOLDER_RE.search(note.frontmatter) and not _PLACEHOLDER_RE.search(note.body):
        return False
    return bool(_PLACEHOLDER_RE.search(note.frontmatter + b"\n" + _CODE_RE.sub(b"", note.body)))


def _own_kind(note: Note) -> str:
    """Decision or meeting, as the note's type or else a tag in its frontmatter says; or empty."""
    if type_ := note.get("type").strip().lower():
        return _KIND_BY_WORD.get(type_, "")
    tags = (tag.lstrip("#").lower() for tag in (*note.get_list("tags"), *note.get_list("tag")))
    words = (tag.partition("/")[0] for tag in tags)  # `meeting/club`
    return next((_KIND_BY_WORD[word] for word in words if word in _KIND_BY_WORD), "")


def own_items(
    note: Note, scanned: MarkdownScan, path: str, title: str
) -> tuple[str, tuple[OwnItem, ...]]:
    """Whether a person's own note is a decision or a meeting, or else empty, and what it says: itself
    first, if it is one, decisions and open tasks; of a meeting all that its minutes tell."""
    kind, day = _own_kind(note), day_of(note, path)
    items = [OwnItem(kind, 1, title, "", day)] if kind else []
    is_named = not (kind or note.get("type")) and _MEETING_NAME_RE.search(f"{path}\n{title}")
    if is_named or kind == MEETING:
        minutes = [*_items_of_minutes(note, path, title)]
        if kind == MEETING or (minutes[0].day and _has_form_of_minutes(minutes, scanned)):
            kind, items = MEETING, minutes
    told = {one.line for one in items} - {1}
    if kind != DECISION and any(_DECISION_TAG_RE.match(f"#{tag}") for tag in scanned.tags):
        tagged = _tagged_lines(note, scanned, title, day)
        items += (one for one in tagged if one.line not in told)
    # Of minutes the tasks behind what is read of them.
    last = minutes_part(note.text).count("\n") + note.body_start_line if kind == MEETING else 0
    items += (task for task in _iter_tasks(scanned) if task.line > last)
    return kind, _shortened(items)


def _items_of_minutes(note: Note, path: str, title: str) -> Iterator[OwnItem]:
    """The meeting, who was there, and what came of it; lines count from the first of the file."""
    from cortex.core.minutes.dates import without_due  # noqa: PLC0415  40 ms, for minutes alone
    from cortex.core.minutes.meeting import parse_meeting  # noqa: PLC0415  the same

    data = note.opening_fence + note.frontmatter + note.closing_fence + note.body
    said = _DAY_RE.match(note.get("date").strip(" ["))
    text = decode_text(data).replace("\r\n", "\n")
    minutes = parse_meeting(text, date=said[0] if said else "", otherwise=day_of(note, path))
    yield OwnItem(MEETING, 1, title, "", minutes.date)
    yield from attendee_items(minutes.attendees)
    for one in minutes.actions:
        kind = DONE if one.done else TASK
        text = _shown_task(without_due(one.text) if one.due else one.text)
        yield OwnItem(kind, one.line, text, plain_text(one.owner), one.due)
    for kind, some in ((DECISION, minutes.decisions), (QUESTION, minutes.questions)):
        for each in some:
            day = each.day or minutes.date
            yield OwnItem(kind, each.line, plain_text(one_line(each.text)), "", day)


def _has_form_of_minutes(items: Iterable[OwnItem], scanned: MarkdownScan) -> bool:
    """Whether a note that is called one tells of people, decisions or actions as minutes do."""
    from cortex.core.minutes import cues  # noqa: PLC0415  6 ms

    kinds = {cues.section_kind(heading.text) for heading in scanned.headings}
    kinds.update(one.kind for one in items)
    return not kinds.isdisjoint((ATTENDEE, cues.ATTENDEES, cues.ACTION, DECISION))


def attendee_items(names: Iterable[str]) -> tuple[OwnItem, ...]:
    """Who was at a meeting."""
    return _shortened(OwnItem(ATTENDEE, 1, plain_text(name), "", "") for name in names)


def _shortened(items: Iterable[OwnItem]) -> tuple[OwnItem, ...]:
    some = islice(items, _MAX_ITEMS)
    return tuple(one._replace(text=shorten(one.text, _MAX_TEXT_CHARS)) for one in some)


def day_of(note: Note, path: str) -> str:
    """The day that a note is about: its `date`, when it was made, or the one in its name."""
    named = _DAY_IN_NAME_RE.search(path)
    said = (note.get("date"), note.get("created"), named[1] if named else "")
    return next((found[0] for one in said if (found := _DAY_RE.match(one.strip(" [")))), "")


def due_of(note: Note) -> str:
    """The day in the field `due`, or in its first entry; the text as it stands if it has none."""
    said = one_line(note.get("due") or next(iter(note.get_list("due")), ""))
    return found[1] if (found := _DUE_DAY_RE.match(said)) else said


def _tagged_lines(note: Note, scanned: MarkdownScan, title: str, day: str) -> Iterator[OwnItem]:
    """The lines with the tag, each a decision; the title for a line of tags alone."""
    tasks = {task.line for task in scanned.tasks if not is_closed(task)}
    for paragraph, first in parse_blocks(note.text, note.body_start_line).texts:
        for number, line in enumerate(paragraph.split("\n"), first):
            if number not in tasks and _DECISION_TAG_RE.search(line):
                text = _DECISION_TAG_RE.sub("", _without_outer_tags(line))
                text = plain_text(one_line(text).lstrip("#"))
                yield OwnItem(DECISION, number, text or title, "", day)


def _without_outer_tags(line: str) -> str:
    """A line without the tags that begin or end it; a tag among the words is one of them."""
    words = line.split()
    begin = next((at for at, word in enumerate(words[:-1]) if not _TAG_RE.fullmatch(word)), -1)
    words = words[begin:]
    while len(words) > 1 and _TAG_RE.fullmatch(words[-1]):
        words.pop()
    return " ".join(words)


def _iter_tasks(scanned: MarkdownScan) -> Iterator[OwnItem]:
    tasks = [task for task in scanned.tasks if not is_closed(task)]
    if not tasks:
        return
    # Its patterns take 6 ms to compile, and few notes have tasks.
    from cortex.core.minutes import task_parser  # noqa: PLC0415

    for task in tasks:
        text, owner, due = task_parser.parse_own_task(one_line(task.text))
        if any(map(str.isalnum, text)):
            yield OwnItem(TASK, task.line, _shown_task(text), owner, due)


def _shown_task(text: str) -> str:
    text = one_line(text)
    return text if linked_id(text) else plain_text(text)


def linked_id(text: str) -> str:
    """The file name that a text is a link to, if it is a link and nothing else; else empty."""
    if not _WIKILINK_RE.fullmatch(text):
        return ""
    return parse_link_target(text).rpartition("/")[2].removesuffix(".md")


def plain_text(text: str) -> str:
    """The text with the words of its wikilinks in their place."""
    return _WIKILINK_RE.sub(r"\1", text).strip(" -:–—")


def done_action_ids(note: Note, scanned: MarkdownScan, *, current: bool = True) -> tuple[str, ...]:
    """The ids of the actions that a note's ticked tasks mark as done: actions of a meeting, by
    their text; an action whose own tasks are all ticked; and, in a `current` note, the targets of
    tasks that are nothing but a link. Of tasks with the same text or link, all must be ticked that
    are not one action."""
    if not any(map(is_closed, scanned.tasks)):
        return ()
    by_link = _done_by_link(scanned) if current else []
    return tuple(dict.fromkeys((*_done_by_words(note, scanned), *by_link)))


def is_closed(task: Task) -> bool:
    """True of a task that is ticked, or that was given up (`[-]`)."""
    return task.mark in _CLOSED_MARKS


def _done_by_link(scanned: MarkdownScan) -> list[str]:
    """The notes that tasks are links to; whether they are actions, the catalogue knows."""
    linked = [task for task in scanned.tasks if "[[" in task.text]
    if not linked:
        return []
    from cortex.core.minutes import cues, task_parser  # noqa: PLC0415  6 ms, as above

    marks = []
    for task in linked:
        label = cues.LABEL_RE.match(task.text)
        text = task.text[label.end() :] if label else task.text
        marks.append((linked_id(task_parser.parse_own_task(text)[0]), task.done))
    return [id_ for id_ in _fully_ticked(marks) if id_]


def _fully_ticked(marks: Iterable[tuple[str, bool]]) -> list[str]:
    """The keys, in order, of which all marks are ticked."""
    ticked: dict[str, bool] = {}
    for key, done in marks:
        ticked[key] = ticked.get(key, True) and done
    return [key for key, done in ticked.items() if done]


def _done_by_words(note: Note, scanned: MarkdownScan) -> tuple[str, ...]:
    type_ = note.get("type").strip().lower() if scanned.tasks else ""
    if type_ == "action":
        is_done = note.get("id") and all(task.done for task in scanned.tasks)
        return (note.get("id"),) if is_done else ()
    if type_ != "meeting":
        return ()
    children = child_slugs(note)
    if not children:
        return ()
    # It imports markdown-it-py (40 ms), for meetings with ticked tasks alone.
    from cortex.core.minutes.meeting import parse_meeting  # noqa: PLC0415

    # Ticked, a task may seem to be a topic that was dealt with.
    people = note.get_list("attendees")
    minutes = parse_meeting(_TICK_RE.sub(r"\1[ ]", note.text), people=people)
    slug_by_line = {one.line: slugify(one_line(one.text)) for one in minutes.actions}
    # A repeated line is an action once.
    slug_by_text = {
        task.text: slug
        for task in scanned.tasks
        if (slug := slug_by_line.get(task.line - note.body_start_line + 1))
    }
    marks = [(slug_by_text.get(task.text, ""), is_closed(task)) for task in scanned.tasks]
    alone = {slug for slug, ids in children.items() if len(ids) == 1}  # though named twice
    done = {*_fully_ticked(marks), *(slug for slug, ticked in marks if ticked and slug in alone)}
    return tuple(id_ for slug, ids in children.items() if slug in done for id_ in ids)


def child_slugs(meeting: Note) -> dict[str, list[str]]:
    """The slug of a line -> the ids of the records that came of it: the one in the id, or where the
    line was edited since, that of the link's alias."""
    children: dict[str, list[str]] = {}
    for kind, text in relations_of(meeting.fields):
        if kind == "source_of" and (head := _RECORD_ID_RE.fullmatch(parse_link_target(text))):
            alias = text.partition("|")[2].strip("[]\"' ")
            children.setdefault(slugify(alias) if alias else head[1], []).append(head[0])
    return children
