"""Tasks that people tick in any editor, and the action records that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cortex.core.extract.own_items import linked_id
from cortex.core.markdown.blocks import Task
from cortex.core.markdown.scan import MarkdownScan
from cortex.core.model.relation import parse_link_target, relations_of
from cortex.core.notes.note import Note
from cortex.core.text.strings import one_line, slugify

# Of `core/model/record.py`: the slug of what is to be done, and a hash.
_RECORD_ID_RE = re.compile(r"(.+)-[a-z2-7]{6}")
_TICK_RE = re.compile(r"(?m)((?:^|\r)[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+)\[[xX-]\](?=[ \t])")


def done_action_ids(note: Note, scanned: MarkdownScan, *, current: bool = True) -> tuple[str, ...]:
    """The ids of the actions that a note's ticked tasks mark as done: actions of a meeting, by
    their text; an action whose own tasks are all ticked; and, in a `current` note, the targets of
    tasks that are nothing but a link. Of tasks with the same text or link, all must be ticked."""
    if not any(map(_is_closed, scanned.tasks)):
        return ()
    by_link = _done_by_link(scanned) if current else []
    return tuple(dict.fromkeys((*_done_by_words(note, scanned), *by_link)))


def _is_closed(task: Task) -> bool:
    """True of a task that is ticked, or that was given up (`[-]`)."""
    return task.done or task.mark == "-"


def _done_by_link(scanned: MarkdownScan) -> list[str]:
    """The notes that tasks are links to; whether they are actions, the catalogue knows."""
    linked = [task for task in scanned.tasks if "[[" in task.text]
    if not linked:
        return []
    # A dozen patterns (6 ms) that few notes need.
    from cortex.core.minutes.cues import LABEL_RE  # noqa: PLC0415
    from cortex.core.minutes.task_parser import parse_own_task  # noqa: PLC0415

    marks = []
    for task in linked:
        label = LABEL_RE.match(task.text)
        text = task.text[label.end() :] if label else task.text
        marks.append((linked_id(parse_own_task(text)[0]), task.done))
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
    minutes = parse_meeting(_TICK_RE.sub(r"\1[ ]", note.text))
    slug_by_line = {one.line: slugify(one_line(one.text)) for one in minutes.actions}
    # A repeated line is an action once.
    slug_by_text = {
        task.text: slug
        for task in scanned.tasks
        if (slug := slug_by_line.get(task.line - note.body_start_line + 1))
    }
    marks = ((slug_by_text.get(task.text, ""), _is_closed(task)) for task in scanned.tasks)
    return tuple(id_ for slug in _fully_ticked(marks) for id_ in children.get(slug, ()))


def child_slugs(meeting: Note) -> dict[str, list[str]]:
    """The slug of a line -> the ids of the records that came of it: the one in the id, or where the
    line was edited since, that of the link's alias."""
    children: dict[str, list[str]] = {}
    for kind, text in relations_of(meeting.fields):
        if kind == "source_of" and (head := _RECORD_ID_RE.fullmatch(parse_link_target(text))):
            alias = text.partition("|")[2].strip("[]\"' ")
            children.setdefault(slugify(alias) if alias else head[1], []).append(head[0])
    return children
