"""What the verbs that recall answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.model.note_status import DONE_STATUSES, MATCH_END, MATCH_START, SET_ASIDE_STATUSES
from cortex.interfaces.cli.style import (
    BOLD,
    DIM,
    OFF,
    YELLOW,
    format_count,
    problem_lines,
)
from cortex.interfaces.escape_terminal import escape

_MAX_PROBLEMS = 3


def _hit_lines(one: Any) -> Iterable[str]:
    """A record with its preview: title, what it is, where it lies."""
    status = f"  {YELLOW}{escape(one.status)}{OFF}" if one.status in SET_ASIDE_STATUSES else ""
    yield f"{BOLD}{escape(one.title)}{OFF}{status}"
    yield f"  {DIM}{escape(one.type) or 'note'}  {one.date[:10] or 'no date'}  {escape(one.id)}{OFF}"
    if one.snippet:
        yield "  " + escape(one.snippet).replace(MATCH_START, YELLOW).replace(MATCH_END, OFF)


def _recall_lines(answer: Any) -> Iterable[str]:
    for number, one in enumerate(answer.records):
        if number:
            yield ""
        yield from _hit_lines(one)
    if not answer.records:
        yield "nothing is recalled" + (f" for {escape(answer.query)}" if answer.query else "")
        yield f"  {DIM}{escape(answer.hint)}{OFF}"
    elif answer.more:
        yield ""
        yield f"{answer.more:,} more: --number; cortex timeline ID shows what stood around one, cortex show ID the whole of it"
    yield from problem_lines(answer.problems, _MAX_PROBLEMS)


def _timeline_lines(answer: Any) -> Iterable[str]:
    for one in answer.records:
        status = f" {escape(one.status)}" if one.status in SET_ASIDE_STATUSES else ""
        if one.id == answer.focus:
            yield f"{BOLD}> {one.date[:10] or 'no date'}  {escape(one.title)}{OFF}{YELLOW}{status}{OFF}  {DIM}{escape(one.type) or 'note'}  {escape(one.id)}{OFF}"
            yield f"    {escape(one.snippet)}"
        else:
            yield f"  {one.date[:10] or 'no date'}  {escape(one.title)}{YELLOW}{status}{OFF}  {DIM}{escape(one.type) or 'note'}  {escape(one.id)}{OFF}"
    yield from problem_lines(answer.problems, _MAX_PROBLEMS)


def _context_lines(answer: Any) -> Iterable[str]:
    where = f" on {escape(answer.branch)}" if answer.branch else ""
    yield f"{BOLD}{escape(answer.project) or 'all projects'}{OFF}{where}"
    if answer.sessions:
        yield "sessions"
    for one in answer.sessions:
        yield f"  {escape(one.at[:10])}  {escape(one.summary or one.title)}  {DIM}{escape(one.status)}  {escape(one.id)}{OFF}"
    if answer.prompts:
        yield "prompts"
    for one in answer.prompts:
        yield f"  {escape(one.at[:16].replace('T', ' '))}  {escape(one.text)}"
    if answer.records:
        yield "what matters most"
    for one in answer.records:
        yield f"  {escape(one.title)}  {DIM}{escape(one.type)}  {escape(one.id)}{OFF}"
    figures = answer.figures
    yield (
        f"{format_count(figures.records, 'record')}, {format_count(figures.sessions, 'session')}, {format_count(figures.prompts, 'prompt')},"
        f" {format_count(figures.open_actions, 'open action')}"
    )
    yield from problem_lines(answer.problems, _MAX_PROBLEMS)


def _actions_lines(answer: Any) -> Iterable[str]:
    for one in answer.records:
        due = (
            f"{YELLOW}overdue since {escape(one.due)}{OFF}"
            if one.overdue
            else f"due {escape(one.due)}"
            if one.due
            else "no date"
        )
        if one.status in DONE_STATUSES:
            due = escape(one.status) + (" (its task is ticked)" if one.ticked else "")
        owner = f"  {escape(one.owner)}" if one.owner else ""
        yield f"{due}  {BOLD}{escape(one.title)}{OFF}{owner}  {DIM}{escape(one.project)}  {escape(one.id)}{OFF}"
    if not answer.records:
        yield "no such actions"
    if answer.more:
        yield f"{answer.more:,} more: --number"
    yield from problem_lines(answer.problems, _MAX_PROBLEMS)


def _meetings_lines(answer: Any) -> Iterable[str]:
    for one in answer.records:
        came = f"{format_count(one.open_actions, 'open action')}, {one.done_actions} done, {format_count(one.decisions, 'decision')}"
        yield f"{one.date[:10] or 'no date'}  {BOLD}{escape(one.title)}{OFF}  {came}  {DIM}{escape(one.id)}{OFF}"
    if not answer.records:
        yield "no such meetings"
    if answer.more:
        yield f"{answer.more:,} more: --number"
    yield from problem_lines(answer.problems, _MAX_PROBLEMS)


def remind_lines(answer: Any) -> Iterable[str]:
    if answer.text:
        yield escape(answer.text, lines=True)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "remind": remind_lines,
    "recall": _recall_lines,
    "timeline": _timeline_lines,
    "context": _context_lines,
    "actions": _actions_lines,
    "meetings": _meetings_lines,
}
NO: dict[str, Callable[[Any], bool]] = {
    "remind": lambda answer: not answer.lines,
    "recall": lambda answer: not answer.records,
}
