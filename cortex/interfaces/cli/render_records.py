"""What the verbs that change records answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.text.strings import format_count
from cortex.interfaces.cli.text import (
    MAX_PROBLEMS,
    bold,
    dim,
    hint_lines,
    outcome_lines,
    path,
    problem_lines,
    undo_lines,
    yellow,
)
from cortex.interfaces.escape_terminal import escape


def edit(answer: Any) -> Iterable[str]:
    yield f"edited: {path(answer.file)}" if answer.opened else escape(answer.file)


def restore(answer: Any) -> Iterable[str]:
    for one in answer.hits:
        yield from outcome_lines(one)
    yield from problem_lines(answer.problems)


def forget(answer: Any) -> Iterable[str]:
    if answer.id:
        yield from outcome_lines(answer)
    elif answer.hits:
        yield "which of these?"
    for hit in answer.hits:
        yield f"  {escape(hit.id)}  {bold(hit.title)}  {dim(path(hit.file))}"
    if not answer.id:
        yield from hint_lines(answer)
    yield from problem_lines(answer.problems)


def relate(answer: Any) -> Iterable[str]:
    outcome = {"created": "", "unchanged": "unchanged: ", "removed": "removed: "}[answer.outcome]
    yield f"{outcome}{escape(answer.from_)} {escape(answer.kind)} {escape(answer.to)}"
    yield from hint_lines(answer)
    yield from undo_lines(answer)
    yield from problem_lines(answer.problems)


def consolidate(answer: Any) -> Iterable[str]:
    if answer.id:
        yield f"{answer.outcome}: {path(answer.path)}, from {', '.join(map(escape, answer.originals))}"
        yield from undo_lines(answer)
    for pair in answer.pairs:
        yield bold(f"{pair.similarity:.2f}") + (f"  {yellow('strong')}" if pair.strong else "")
        for hit, words in zip(pair.hits, pair.only, strict=True):
            yield f"  {escape(hit.title)}  {dim(path(hit.file))}"
            if words:
                yield f"    {dim('only here: ' + ', '.join(words))}"
        yield f"  {dim(pair.merge)}"
    if not answer.id and not answer.pairs:
        compared = format_count(answer.compared, "record")
        yield f"no two of {compared} are alike enough; --least shows pairs that are less so"
    if more := answer.total - len(answer.pairs):
        yield f"{yellow(format_count(more, 'more pair'))}: --number shows them"
    yield from problem_lines(answer.problems)


def topic(answer: Any) -> Iterable[str]:
    indent = "  " if answer.suggested else ""
    if answer.suggested:
        yield escape(answer.suggested)
        if answer.hits:
            yield "there is already"
    for one in answer.hits:
        note = one.hit
        status = "" if note.status == "active" else f"  {yellow(note.status)}"
        texts = format_count(one.texts, "text")
        yield f"{indent}{escape(one.topic)}  {texts}  {dim(note.project or one.scope)}{status}"
        yield f"  {indent}{dim(note.id)}  {escape(note.title)}"
    if not answer.hits and not answer.suggested:
        yield 'no topics yet: cortex save "What it is" --topic decision/what-it-is'
    yield from problem_lines(answer.problems)


def lifecycle(answer: Any) -> Iterable[str]:
    hits = answer.hits
    yield from _judged_note_lines(hits)
    done = "would be archived" if answer.dry_run else "archived"
    archived = f"{format_count(len(hits), 'record')} {done}"
    yield archived if hits else "nothing has lost its importance"
    if hits and not answer.dry_run:
        yield f"  {dim('cortex restore ID brings one back')}"
    if remaining := answer.total - len(hits):
        yield f"{yellow(f'{remaining:,} more')}: {escape(answer.hint)}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def prune(answer: Any) -> Iterable[str]:
    hits = answer.hits
    yield from _judged_note_lines(hits)
    if hits:
        yield f"{format_count(len(hits), 'record')} {'pruned' if answer.done else 'to prune'}"
    else:
        yield "nothing has been archived for 90 days"
    yield from hint_lines(answer)
    if remaining := answer.total - len(hits):
        yield f"{yellow(f'{remaining:,} more')}: run the command again"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _judged_note_lines(hits: Any) -> Iterable[str]:
    for one in hits:
        note = one.hit
        yield bold(note.title)
        yield f"  {dim(note.type or 'note', path(note.file))}"
        yield f"  {escape(one.why)}"
