"""What the verbs that save answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.text.shell_command import quoted
from cortex.interfaces.cli.style import DIM, OFF, YELLOW, count, problem_lines
from cortex.interfaces.escape_terminal import visible


def save(saved: Any) -> Iterable[str]:
    yield f"{saved.outcome} {visible(saved.id)}"
    yield f"  {DIM}{visible(saved.path)}{OFF}"
    if saved.suggested_topic:
        yield f"  {DIM}a topic for it: --topic {visible(quoted(saved.suggested_topic))}{OFF}"
    if saved.note:
        yield f"  {YELLOW}{visible(saved.note)}{OFF}"
    for one in saved.similar:
        yield f"  looks like {visible(one.id)} ({one.similarity:.2f}): {visible(one.title)}"
    yield from problem_lines(saved.problems)


def topic(answer: Any) -> Iterable[str]:
    if answer.suggested:
        yield visible(answer.suggested)
        if answer.records:
            yield "there is already"
    for one in answer.records:
        status = "" if one.status == "active" else f"  {YELLOW}{visible(one.status)}{OFF}"
        project = f"  {DIM}{visible(one.project or one.scope)}{OFF}"
        yield f"{'  ' if answer.suggested else ''}{visible(one.topic)}  {count(one.texts, 'text')}{project}{status}"
        yield f"  {'  ' if answer.suggested else ''}{DIM}{visible(one.id)}{OFF}  {visible(one.title)}"
    if not answer.records and not answer.suggested:
        yield 'no topics yet: cortex save "What it is" --topic decision/what-it-is'
    yield from problem_lines(answer.problems)


def passive(kept: Any) -> Iterable[str]:
    for one in kept.records:
        yield f"{one.outcome} {visible(one.id)}  {DIM}{visible(one.title)}{OFF}"
    yield from problem_lines(kept.problems)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {"save": save, "topic": topic, "passive": passive}
NO: dict[str, Callable[[Any], bool]] = {}
