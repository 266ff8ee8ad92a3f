"""What `hooks` answers, as lines for a person."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, problem_lines
from cortex.interfaces.escape_terminal import escape

_COMMAND_TEXTS = {"cortex": "runs cortex from the PATH", "": "runs nothing"}
_OUTCOME_TEXTS = {
    "wired": "wired in",
    "updated": "brought up to date in",
    "unchanged": "is wired already in",
    "taken out": "taken out of",
    "removed": "taken out, and with it the file",
    "not there": "is not in",
}


def hooks_lines(answer: Any) -> Iterable[str]:
    absent = [change for change in answer.changed if change.outcome == "not there"]
    folded = absent if len(absent) > 1 else []  # of one it is worth saying where it was looked for
    for change in answer.changed:
        if change not in folded:
            yield f"{_format_host(change)}{_format_outcome(change, dry=answer.dry_run)} {escape(_shorten_path(change.file))}"
        if change.diff:
            yield escape(change.diff, lines=True)
    if folded:
        yield f"{DIM}not wired: {', '.join(change.host for change in folded)}{OFF}"
    if answer.action == "status":
        yield from _status_lines(answer)
    if answer.search_index == "built":  # the rest is nothing to wonder about
        yield "the search index was built"
    for line in answer.next:
        yield f"next: {escape(line)}"
    for why in answer.off:
        yield f"{YELLOW}switched off{OFF}: {escape(why)}"
    yield from problem_lines(answer.problems)


def _format_host(one: Any) -> str:
    return f"{BOLD}{one.host:<9}{OFF} "


def _format_outcome(change: Any, *, dry: bool) -> str:
    said = _OUTCOME_TEXTS[change.outcome]
    return f"would be {said}" if dry and change.outcome not in ("unchanged", "not there") else said


def _status_lines(answer: Any) -> Iterable[str]:
    every = [hook for one in answer.hosts for hook in one.hooks]
    fresh = bool(every) and not any(hook.at or hook.fault for hook in every)  # then it is said once
    width = max((len(_shorten_path(hook.file)) for hook in every), default=0)
    for one in answer.hosts:
        if one.plugin:
            yield f"{_format_host(one)}plugin, switched on in {escape(_shorten_path(one.plugin))}"
        places: dict[tuple[str, str, str], list[Any]] = {}
        for hook in one.hooks:
            places.setdefault((hook.scope, hook.file, hook.runs), []).append(hook)
        for (scope, file, runs), there in places.items():
            yield f"{_format_host(one)}{scope:<6}  {escape(_shorten_path(file)):<{width}}  {DIM}{_COMMAND_TEXTS.get(runs) or escape(_shorten_path(runs))}{OFF}"
            yield from () if fresh else _last_run_lines(there)
    if without := [one.host for one in answer.hosts if not one.wired]:
        yield f"{DIM}not wired: {', '.join(without)}{OFF}"
    if fresh:
        yield "no hook has run here yet"


def _last_run_lines(there: Iterable[Any]) -> Iterable[str]:
    """When the hooks of one file ran last, each event once, though a host may have two of it."""
    events = {hook.event or hook.name: hook for hook in there}
    able = {event: hook for event, hook in events.items() if not hook.fault}
    if not able:
        yield f"  {YELLOW}cannot run{OFF}"
        return
    for event, hook in able.items():
        if hook.at:
            wrong = f"  {YELLOW}{escape(hook.problem)}{OFF}" if hook.problem else ""
            yield f"  {escape(event):<20}{escape(hook.at)}  {hook.ms} ms{wrong}"
    never = [event for event, hook in able.items() if not hook.at]
    if len(never) == len(able):
        yield f"  {DIM}no hook has run here yet{OFF}"
    elif never:
        yield f"  {DIM}never ran: {escape(', '.join(never))}{OFF}"
    if faulty := [event for event in events if event not in able]:
        yield f"  {YELLOW}cannot run{OFF}: {escape(', '.join(faulty))}"


def _shorten_path(path: str) -> str:
    for folder, name in ((os.getcwd(), ""), (os.path.expanduser("~"), "~/")):
        if path.startswith(f"{folder}/"):
            return name + path[len(folder) + 1 :]
    return path


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {"hooks": hooks_lines}
NO: dict[str, Callable[[Any], bool]] = {
    "hooks": lambda answer: bool(answer.action == "status" and answer.problems)
}
