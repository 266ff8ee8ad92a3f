"""What the verbs that recall answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.model.status import ASIDE, DONE, MARK, UNMARK
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, count, day, problem_lines
from cortex.interfaces.escape_terminal import visible

_PROBLEMS_NAMED = 3


def record_lines(one: Any) -> Iterable[str]:
    """A record with its preview: title, what it is, where it lies."""
    status = f"  {YELLOW}{visible(one.status)}{OFF}" if one.status in ASIDE else ""
    yield f"{BOLD}{visible(one.title)}{OFF}{status}"
    yield f"  {DIM}{visible(one.type) or 'note'}  {day(one.date)}  {visible(one.id)}{OFF}"
    if one.snippet:
        yield "  " + visible(one.snippet).replace(MARK, YELLOW).replace(UNMARK, OFF)


def _recall(answer: Any) -> Iterable[str]:
    for number, one in enumerate(answer.records):
        if number:
            yield ""
        yield from record_lines(one)
    if not answer.records:
        yield "nothing is recalled" + (f" for {visible(answer.query)}" if answer.query else "")
        yield f"  {DIM}{visible(answer.hint)}{OFF}"
    elif answer.more:
        yield ""
        yield f"{answer.more:,} more: --number; cortex timeline ID shows what stood around one, cortex show ID the whole of it"
    yield from problem_lines(answer.problems, _PROBLEMS_NAMED)


def _timeline(answer: Any) -> Iterable[str]:
    for one in answer.records:
        status = f" {visible(one.status)}" if one.status in ASIDE else ""
        if one.id == answer.focus:
            yield f"{BOLD}> {day(one.date)}  {visible(one.title)}{OFF}{YELLOW}{status}{OFF}  {DIM}{visible(one.type) or 'note'}  {visible(one.id)}{OFF}"
            yield f"    {visible(one.snippet)}"
        else:
            yield f"  {day(one.date)}  {visible(one.title)}{YELLOW}{status}{OFF}  {DIM}{visible(one.type) or 'note'}  {visible(one.id)}{OFF}"
    yield from problem_lines(answer.problems, _PROBLEMS_NAMED)


def _context(answer: Any) -> Iterable[str]:
    where = f" on {visible(answer.branch)}" if answer.branch else ""
    yield f"{BOLD}{visible(answer.project) or 'all projects'}{OFF}{where}"
    if answer.sessions:
        yield "sessions"
    for one in answer.sessions:
        yield f"  {visible(one.at[:10])}  {visible(one.summary or one.title)}  {DIM}{visible(one.status)}  {visible(one.id)}{OFF}"
    if answer.prompts:
        yield "prompts"
    for one in answer.prompts:
        yield f"  {visible(one.at[:16].replace('T', ' '))}  {visible(one.text)}"
    if answer.records:
        yield "what matters most"
    for one in answer.records:
        yield f"  {visible(one.title)}  {DIM}{visible(one.type)}  {visible(one.id)}{OFF}"
    figures = answer.figures
    yield (
        f"{count(figures.records, 'record')}, {count(figures.sessions, 'session')}, {count(figures.prompts, 'prompt')},"
        f" {count(figures.open_actions, 'open action')}"
    )
    yield from problem_lines(answer.problems, _PROBLEMS_NAMED)


def _actions(answer: Any) -> Iterable[str]:
    for one in answer.records:
        due = (
            f"{YELLOW}overdue since {visible(one.due)}{OFF}"
            if one.overdue
            else f"due {visible(one.due)}"
            if one.due
            else "no date"
        )
        if one.status in DONE:
            due = visible(one.status) + (" (its task is ticked)" if one.ticked else "")
        owner = f"  {visible(one.owner)}" if one.owner else ""
        yield f"{due}  {BOLD}{visible(one.title)}{OFF}{owner}  {DIM}{visible(one.project)}  {visible(one.id)}{OFF}"
    if not answer.records:
        yield "no such actions"
    if answer.more:
        yield f"{answer.more:,} more: --number"
    yield from problem_lines(answer.problems, _PROBLEMS_NAMED)


def _meetings(answer: Any) -> Iterable[str]:
    for one in answer.records:
        came = f"{count(one.open_actions, 'open action')}, {one.done_actions} done, {count(one.decisions, 'decision')}"
        yield f"{day(one.date)}  {BOLD}{visible(one.title)}{OFF}  {came}  {DIM}{visible(one.id)}{OFF}"
    if not answer.records:
        yield "no such meetings"
    if answer.more:
        yield f"{answer.more:,} more: --number"
    yield from problem_lines(answer.problems, _PROBLEMS_NAMED)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "recall": _recall,
    "timeline": _timeline,
    "context": _context,
    "actions": _actions,
    "meetings": _meetings,
}
NO: dict[str, Callable[[Any], bool]] = {"recall": lambda answer: not answer.records}
