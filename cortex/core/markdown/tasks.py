"""Tasks that people tick in any editor, and the action records that they stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cortex.core.markdown.scan import Scanned
from cortex.core.model.relation import relations_in, target_in
from cortex.core.notes.note import Note
from cortex.core.text.strings import one_line, slug

_CHILD = re.compile(
    r"(.+)-[a-z2-7]{6}"
)  # of `core/model/record.py`: the slug of what is to be done, and a hash
_LINKED = re.compile(r"\[\[[^\[\]]{1,400}\]\]")
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+")
_BLOCK = re.compile(r"#{1,6}\s|```|~~~|>|\|")
_MOST_LINES = 20  # of a task that are read: a slug is made of its beginning


def ticked(note: Note, scanned: Scanned, *, current: bool = True) -> tuple[str, ...]:
    """The ids of the actions that a note's ticked tasks say are done: a meeting's actions, each known by its words, an action
    itself when all its own tasks are ticked, and, in a `current` note, whatever action a task is a link to and nothing else. Of
    tasks with the same words, or the same link, all must be."""
    if not any(task.done for task in scanned.tasks):
        return ()
    return tuple(
        dict.fromkeys((*_of_words(note, scanned), *(_of_links(scanned) if current else ())))
    )


def _of_links(scanned: Scanned) -> list[str]:
    """The notes that tasks are links to; whether they are actions, the catalogue knows."""
    linked = [(task, task.text) for task in scanned.tasks if "[[" in task.text]
    if not linked:
        return []
    from cortex.core.extract.task_parser import plain  # noqa: PLC0415  as below

    marks: dict[str, bool] = {}
    for task, text in linked:
        if found := _LINKED.fullmatch(plain(text)):
            id_ = target_in(found[0]).rpartition("/")[2].removesuffix(".md")
            marks[id_] = marks.get(id_, True) and task.done
    return [id_ for id_, done in marks.items() if done and id_]


def _of_words(note: Note, scanned: Scanned) -> tuple[str, ...]:
    type_ = note.get("type").strip().lower() if scanned.tasks else ""
    if type_ == "action":
        return (
            (note.get("id"),) if note.get("id") and all(task.done for task in scanned.tasks) else ()
        )
    if type_ != "meeting" or not any(task.done for task in scanned.tasks):
        return ()
    children: dict[str, list[str]] = {}
    for kind, text in relations_in(note.fields.get("relations")):
        if kind == "source_of" and (head := _CHILD.fullmatch(target_in(text))):
            children.setdefault(head[1], []).append(head[0])
    return (
        tuple(id_ for head in _done(note, scanned, children) for id_ in children[head])
        if children
        else ()
    )


def _done(note: Note, scanned: Scanned, heads: dict[str, list[str]]) -> list[str]:
    """The heads of ids whose tasks are all ticked."""
    # A dozen patterns that no other note needs.
    from cortex.core.extract.task_parser import LABEL, readings  # noqa: PLC0415

    lines = note.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = note.body_line
    marks: dict[str, bool] = {}
    for task in scanned.tasks:
        texts = [task.text, *_below(lines, task.line - first)]
        label = LABEL.match(texts[0])
        texts[0] = texts[0][label.end() if label else 0 :]
        texts = [texts[0] + texts[1], *texts[2:]]
        head = next(
            (head for text in readings(texts) if (head := slug(one_line(text))) in heads), ""
        )
        if head:
            marks[head] = marks.get(head, True) and task.done
    return [head for head, done in marks.items() if done]


def _below(lines: Sequence[str], at: int) -> list[str]:
    """What belongs to the task on a line: how its own text goes on, then the text of each item nested in it."""
    texts = [""]
    indent = _indent(lines[at])
    blank = False
    for line in lines[at + 1 : at + 1 + _MOST_LINES]:
        text = line.strip()
        inside = _indent(line) > indent
        marker = _ITEM.match(text)
        if not text:
            blank = True
            continue
        if not inside and (blank or marker or _BLOCK.match(text)):
            break
        blank = False
        if marker and inside:
            texts.append(re.sub(r"^\[[ xX-]\](?:[ \t]+|$)", "", text[marker.end() :]))
        else:
            texts[-1] += f" {text}"
    return texts


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))
