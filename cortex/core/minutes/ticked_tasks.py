"""Tasks that people tick in any editor, and the action records that they stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType

from cortex.core.markdown.scan import MarkdownScan
from cortex.core.model.relation import parse_link_target, relations_of
from cortex.core.notes.note import Note
from cortex.core.text.strings import one_line, slugify

# Of `core/model/record.py`: the slug of what is to be done, and a hash.
_RECORD_ID_RE = re.compile(r"(.+)-[a-z2-7]{6}")
_WIKILINK_ONLY_RE = re.compile(r"\[\[[^\[\]]{1,400}\]\]")
_LIST_MARKER_RE = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+")
_BLOCK_START_RE = re.compile(r"#{1,6}\s|```|~~~|>|\|")
_MAX_LINES_PER_TASK = 20  # of a task that are read: a slug is made of its beginning


def done_action_ids(note: Note, scanned: MarkdownScan, *, current: bool = True) -> tuple[str, ...]:
    """The ids of the actions that a note's ticked tasks mark as done: actions of a meeting, by
    their text; an action whose own tasks are all ticked; and, in a `current` note, the targets of
    tasks that are nothing but a link. Of tasks with the same text or link, all must be ticked."""
    if not any(task.done for task in scanned.tasks):
        return ()
    by_link = _done_by_link(scanned) if current else []
    return tuple(dict.fromkeys((*_done_by_words(note, scanned), *by_link)))


def _done_by_link(scanned: MarkdownScan) -> list[str]:
    """The notes that tasks are links to; whether they are actions, the catalogue knows."""
    linked = [task for task in scanned.tasks if "[[" in task.text]
    if not linked:
        return []
    marks: dict[str, bool] = {}
    for task in linked:
        if link := _WIKILINK_ONLY_RE.fullmatch(_task_parser().strip_task_marks(task.text)):
            id_ = parse_link_target(link[0]).rpartition("/")[2].removesuffix(".md")
            marks[id_] = marks.get(id_, True) and task.done
    return [id_ for id_, done in marks.items() if done and id_]


def _done_by_words(note: Note, scanned: MarkdownScan) -> tuple[str, ...]:
    type_ = note.get("type").strip().lower() if scanned.tasks else ""
    if type_ == "action":
        is_done = note.get("id") and all(task.done for task in scanned.tasks)
        return (note.get("id"),) if is_done else ()
    if type_ != "meeting":
        return ()
    children = child_slugs(note)
    heads = _fully_ticked_slugs(note, scanned, children) if children else []
    return tuple(id_ for head in heads for id_ in children[head])


def child_slugs(meeting: Note) -> dict[str, list[str]]:
    """The slug of a line -> the ids of the records that came of it: the one in the id, or where the
    line was edited since, that of the link's alias."""
    children: dict[str, list[str]] = {}
    for kind, text in relations_of(meeting.fields):
        if kind == "source_of" and (head := _RECORD_ID_RE.fullmatch(parse_link_target(text))):
            alias = text.partition("|")[2].strip("[]\"' ")
            children.setdefault(slugify(alias) if alias else head[1], []).append(head[0])
    return children


def _fully_ticked_slugs(
    note: Note, scanned: MarkdownScan, heads: dict[str, list[str]]
) -> list[str]:
    """The heads of ids whose tasks are all ticked."""
    parser = _task_parser()
    lines = note.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = note.body_start_line
    marks: dict[str, bool] = {}
    by_line: dict[int, str] | None = None
    for task in scanned.tasks:
        texts = [task.text, *_texts_of_task(lines, task.line - first)]
        label = parser.LABEL_RE.match(texts[0])
        texts[0] = texts[0][label.end() if label else 0 :]
        texts = [texts[0] + texts[1], *texts[2:]]
        slugs = (slugify(one_line(text)) for text in parser.possible_task_texts(texts))
        head = next((slug for slug in slugs if slug in heads), "")
        if not head:
            by_line = _slugs_by_line(note.text) if by_line is None else by_line
            head = by_line.get(task.line - first + 1, "")
        if head in heads:
            marks[head] = marks.get(head, True) and task.done
    return [head for head, done in marks.items() if done]


def _slugs_by_line(text: str) -> dict[int, str]:
    """The slugs of the actions in minutes, by their line."""
    # It imports markdown-it-py (40 ms), for what the quick reading does not understand.
    from cortex.core.minutes.meeting import parse_meeting  # noqa: PLC0415

    return {one.line: slugify(one_line(one.text)) for one in parse_meeting(text).actions}


def _texts_of_task(lines: Sequence[str], at: int) -> list[str]:
    """The continuation of the task on a line, then the text of each item nested in it."""
    texts = [""]
    indent = _indent_width(lines[at])
    blank = False
    for line in lines[at + 1 : at + 1 + _MAX_LINES_PER_TASK]:
        text = line.strip()
        inside = _indent_width(line) > indent
        marker = _LIST_MARKER_RE.match(text)
        if not text:
            blank = True
            continue
        if not inside and (blank or marker or _BLOCK_START_RE.match(text)):
            break
        blank = False
        if marker and inside:
            texts.append(re.sub(r"^\[[ xX-]\](?:[ \t]+|$)", "", text[marker.end() :]))
        else:
            texts[-1] += f" {text}"
    return texts


def _indent_width(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))


def _task_parser() -> ModuleType:
    # A dozen patterns (6 ms) that few notes need.
    from cortex.core.minutes import task_parser  # noqa: PLC0415

    return task_parser
