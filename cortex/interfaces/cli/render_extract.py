"""What extraction found, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.interfaces.cli.style import BOLD, DIM, OFF, count, problem_lines
from cortex.interfaces.escape_terminal import visible

_ELSEWHERE = {"model": "by the model", "learnings": "below a heading for learnings"}


def extract(answer: Any) -> Iterable[str]:
    event = ""
    for one in answer.found:
        if one.event != event and len(answer.events) > 1:
            yield f"{DIM}{visible(one.event)}{OFF}"
        event = one.event
        marks = "".join(
            [
                f" {DIM}pinned{OFF}" if one.pinned else "",
                *(f" {DIM}#{visible(tag)}{OFF}" for tag in one.tags),
            ]
        )
        yield f"{BOLD if one.record else DIM}{one.confidence:.2f} {one.layer:10} {visible(one.type):10}{OFF} {visible(one.text)}{marks}"
        if one.reason:
            yield f"     {DIM}because{OFF} {visible(one.reason)}"
        yield f"     {DIM}{f'line {one.line}' if one.line else _ELSEWHERE.get(one.layer, '')}{'' if one.record else ', no record'}{OFF}"
    for id_ in answer.kept:
        yield f"saved {visible(id_)}"
    records = sum(one.record for one in answer.found)
    yield (
        f"{count(len(answer.found), 'find')}, {count(records, 'record')}"
        if answer.found
        else "nothing found"
    )
    yield from problem_lines(answer.problems)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {"extract": extract}
NO: dict[str, Callable[[Any], bool]] = {"extract": lambda answer: not answer.found}
