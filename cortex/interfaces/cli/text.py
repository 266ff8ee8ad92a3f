"""Answers as lines for a terminal: what the verbs share.

`bold`, `dim` and `yellow` escape the text they colour.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from cortex.core.model.note_status import MATCH_END, MATCH_START, SET_ASIDE_STATUSES, TEMPLATE
from cortex.core.model.problem import Problem
from cortex.core.text.days import Zone, clock
from cortex.core.text.strings import format_count
from cortex.interfaces.cli import view
from cortex.interfaces.escape_terminal import escape
from cortex.vault import zones

# The zone in which days are shown; None: that of this process. The watcher answers for others.
READER: ContextVar[Zone | None] = ContextVar("reader", default=None)
MAX_PROBLEMS = 3  # shown below an answer about something else; `cortex doctor` names all


class Marked(str):
    """Text that is escaped already, with marks for `view.finish`."""

    __slots__ = ()


def path(place: str) -> Marked:
    """A path of the vault, or an absolute one, perhaps with `:line`, to be shown as it opens."""
    if not place.isprintable():
        return Marked(escape(place))
    return Marked(f"{view.PATH_START}{place}{view.PATH_END}")


def hint(words: str) -> Marked:
    """What to do next, perhaps with commands, to be worded for its reader."""
    return Marked(f"{view.HINT_MARK}{escape(words)}{view.HINT_MARK}")


def lead(note: Any) -> str:
    """The name of a note in front of its line, for a model; a person finds it behind the title."""
    return f"{view.LEAD_MARK}{escape(note.id)}{view.LEAD_MARK}"


def short_path(file: str) -> str:
    """A path of this machine from the working directory, else with `~` for the home directory."""
    for folder, name in ((os.getcwd(), ""), (os.path.expanduser("~"), "~/")):
        if file.startswith(f"{folder.rstrip('/')}/"):
            return name + file[len(folder.rstrip("/")) + 1 :]
    return file


def name_of(note: Any) -> str:
    """The id of a note, or the path of one that has none."""
    return path(note.file if note.id == note.path else note.id)


def bold(text: str) -> str:
    return f"{view.BOLD}{_escaped(text)}{view.OFF}"


def dim(*words: str) -> str:
    return f"{view.DIM}{'  '.join(map(_escaped, words))}{view.OFF}"


def yellow(text: str) -> str:
    return f"{view.YELLOW}{_escaped(text)}{view.OFF}"


def _escaped(text: str) -> str:
    return text if isinstance(text, Marked) else escape(text)


def change_lines(answer: Any) -> Iterable[str]:
    """An answer about one record: what became of it, and how to take that back."""
    yield from outcome_lines(answer)
    yield from problem_lines(answer.problems)


def outcome_lines(answer: Any) -> Iterable[str]:
    is_line = answer.id.startswith(f"{answer.path}:")  # of a task
    yield f"{answer.outcome}: {path(answer.id if is_line else answer.path or answer.id)}"
    yield from hint_lines(answer)
    for link in getattr(answer, "links", ()):
        yield f"  {yellow('links to it')}: {path(link)}"
    yield from undo_lines(answer)


def hint_lines(answer: Any) -> Iterable[str]:
    if words := getattr(answer, "hint", ""):
        yield f"  {dim(hint(words))}"


def undo_lines(answer: Any) -> Iterable[str]:
    if answer.undo:
        yield f"  {dim(hint(f'undo: {answer.undo}'))}"


def note_lines(note: Any, *words: str) -> Iterable[str]:
    """A note in two or three lines: title, status; type, `words`; the snippet with its marks."""
    yield lead(note) + bold(note.title) + status_mark(note.status)
    task = who_and_when(note) if note.type == "action" else ""
    yield f"  {dim(note.type or 'note', *filter(None, [task]), *words)}"
    if note.snippet:
        shown = escape(note.snippet).replace(MATCH_START, view.YELLOW).replace(MATCH_END, view.OFF)
        yield f"{view.LONG_LINE_MARK}  {shown}"


def who_and_when(task: Any) -> str:
    """Owner and due, such as `for Ana, due 2026-12-01`; empty for neither."""
    due = f"due {task.due}" if task.due else ""
    return ", ".join(filter(None, [f"for {task.owner}" if task.owner else "", due]))


def note_row(note: Any, start: str, *words: str) -> str:
    """A note in one line: `start`, the title, then what is said of it."""
    begin = f"  {escape(start)}" if start else ""
    return f"{lead(note)}{begin}  {escape(note.title)}  {dim(*words)}"


def status_mark(status: str) -> str:
    """The status of a note that is not in force, else nothing."""
    return f"  {yellow(status)}" if status in (*SET_ASIDE_STATUSES, TEMPLATE, "failed") else ""


def blocks(groups: Iterable[Iterable[str]]) -> Iterable[str]:
    """The lines of each group, with an empty line between two."""
    for number, lines in enumerate(groups):
        yield from ("",) if number else ()
        yield from lines


def section(heading: str, rows: Iterable[str]) -> Iterable[str]:
    """The rows below their heading; nothing for no rows."""
    if rows := list(rows):
        yield from (heading, *rows)


def path_lines(**paths: Iterable[str]) -> Iterable[str]:
    """`written: a.md`, one line a path."""
    for done, each in paths.items():
        yield from (f"{done}: {path(file)}" for file in each)


def list_end_lines(answer: Any, noun: str) -> Iterable[str]:
    """What stands below a list: that it is empty, how many more there are, and the problems."""
    if not answer.hits:
        yield f"no such {noun}"
    if more := answer.total - len(answer.hits):
        yield f"{more:,} more{hint(': --number')}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def problem_lines(problems: Sequence[Problem], most: int | None = None) -> Iterable[str]:
    """Each problem with its next command; where they are more than `most`, the first alone."""
    shown = problems if most is None or len(problems) <= most else problems[:1]
    for problem in shown:
        yield f"{yellow(path(problem.where))}: {escape(problem.message)}"
        yield from hint_lines(problem)
    if len(problems) > len(shown):
        yield f"{yellow(f'{len(problems) - len(shown)} more problems')}{hint(': cortex doctor')}"


def first(items: Sequence[str], most: int) -> str:
    """`a, b and 3 more`."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return f"{', '.join(map(_escaped, items[:most]))}{more}"


def format_time(iso: str) -> str:
    """`2026-11-20 16:45` of an ISO time, in UTC or as a note has written it, for the reader."""
    return escape(clock(iso, READER.get() or zones.local())[:16].replace("T", " "))


def format_counts(*counts: tuple[int, str]) -> str:
    """`2 notes, 1 session` of what there is a number of."""
    return ", ".join(format_count(number, noun) for number, noun in counts)


def format_day(iso: str) -> str:
    return format_time(iso)[:10] or "no date"
