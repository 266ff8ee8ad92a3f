"""What the verbs that save answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.text.shell_command import shell_quote
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, format_count, problem_lines
from cortex.interfaces.escape_terminal import escape


def save_lines(saved: Any) -> Iterable[str]:
    yield f"{saved.outcome} {escape(saved.id)}"
    yield f"  {DIM}{escape(saved.path)}{OFF}"
    if saved.suggested_topic:
        yield f"  {DIM}a topic for it: --topic {escape(shell_quote(saved.suggested_topic))}{OFF}"
    if saved.note:
        yield f"  {YELLOW}{escape(saved.note)}{OFF}"
    for one in saved.similar:
        yield f"  looks like {escape(one.id)} ({one.similarity:.2f}): {escape(one.title)}"
    yield from problem_lines(saved.problems)


def topic_lines(answer: Any) -> Iterable[str]:
    if answer.suggested:
        yield escape(answer.suggested)
        if answer.records:
            yield "there is already"
    for one in answer.records:
        status = "" if one.status == "active" else f"  {YELLOW}{escape(one.status)}{OFF}"
        project = f"  {DIM}{escape(one.project or one.scope)}{OFF}"
        yield f"{'  ' if answer.suggested else ''}{escape(one.topic)}  {format_count(one.texts, 'text')}{project}{status}"
        yield f"  {'  ' if answer.suggested else ''}{DIM}{escape(one.id)}{OFF}  {escape(one.title)}"
    if not answer.records and not answer.suggested:
        yield 'no topics yet: cortex save "What it is" --topic decision/what-it-is'
    yield from problem_lines(answer.problems)


def passive_lines(kept: Any) -> Iterable[str]:
    for one in kept.records:
        yield f"{one.outcome} {escape(one.id)}  {DIM}{escape(one.title)}{OFF}"
    yield from problem_lines(kept.problems)


_SOURCE_TEXTS = {"model": "by the model", "learnings": "below a heading for learnings"}


def extract_lines(answer: Any) -> Iterable[str]:
    event = ""
    for one in answer.found:
        if one.event != event and len(answer.events) > 1:
            yield f"{DIM}{escape(one.event)}{OFF}"
        event = one.event
        marks = "".join(
            [
                f" {DIM}pinned{OFF}" if one.pinned else "",
                *(f" {DIM}#{escape(tag)}{OFF}" for tag in one.tags),
            ]
        )
        yield f"{BOLD if one.record else DIM}{one.confidence:.2f} {one.layer:10} {escape(one.type):10}{OFF} {escape(one.text)}{marks}"
        if one.reason:
            yield f"     {DIM}because{OFF} {escape(one.reason)}"
        yield f"     {DIM}{f'line {one.line}' if one.line else _SOURCE_TEXTS.get(one.layer, '')}{'' if one.record else ', no record'}{OFF}"
    for id_ in answer.kept:
        yield f"saved {escape(id_)}"
    records = sum(one.record for one in answer.found)
    yield (
        f"{format_count(len(answer.found), 'find')}, {format_count(records, 'record')}"
        if answer.found
        else "nothing found"
    )
    yield from problem_lines(answer.problems)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "extract": extract_lines,
    "save": save_lines,
    "topic": topic_lines,
    "passive": passive_lines,
}
NO: dict[str, Callable[[Any], bool]] = {"extract": lambda answer: not answer.found}
