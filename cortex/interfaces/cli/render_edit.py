"""What became of records that somebody changed, put away, brought back or merged, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, format_count, problem_lines
from cortex.interfaces.escape_terminal import escape


def change_lines(answer: Any) -> Iterable[str]:
    yield from _outcome_lines(answer)
    yield from problem_lines(answer.problems)


def restore_lines(answer: Any) -> Iterable[str]:
    for one in answer.records:
        yield from _outcome_lines(one)
    yield from problem_lines(answer.problems)


def forget_lines(answer: Any) -> Iterable[str]:
    if answer.id:
        yield from _outcome_lines(answer)
    elif answer.records:
        yield "which of these?"
    for hit in answer.records:
        yield f"  {escape(hit.id)}  {BOLD}{escape(hit.title)}{OFF}  {DIM}{escape(hit.path)}{OFF}"
    if answer.hint and not answer.id:
        yield f"  {DIM}{escape(answer.hint)}{OFF}"
    yield from problem_lines(answer.problems)


def consolidate_lines(answer: Any) -> Iterable[str]:
    if answer.id:
        yield f"{answer.outcome}: {escape(answer.path)}, from {', '.join(map(escape, answer.originals))}"
        if answer.undo:
            yield f"  {DIM}undo: {escape(answer.undo)}{OFF}"
    for pair in answer.pairs:
        strength = f"  {YELLOW}strong{OFF}" if pair.strong else ""
        yield f"{BOLD}{pair.similarity:.2f}{OFF}{strength}"
        for hit, words in zip(pair.records, pair.only, strict=True):
            yield f"  {escape(hit.title)}  {DIM}{escape(hit.path)}{OFF}"
            if words:
                yield f"    {DIM}only here: {escape(', '.join(words))}{OFF}"
        yield f"  {DIM}{escape(pair.merge)}{OFF}"
    if not answer.id and not answer.pairs:
        yield f"no two of {format_count(answer.compared, 'record')} are alike enough; --least shows pairs that are less so"
    if answer.more:
        yield f"{YELLOW}{format_count(answer.more, 'more pair')}{OFF}: --number shows them"
    yield from problem_lines(answer.problems)


def _outcome_lines(answer: Any) -> Iterable[str]:
    yield f"{answer.outcome}: {escape(answer.path or answer.id)}"
    hint = getattr(answer, "hint", "")
    if hint:
        yield f"  {DIM}{escape(hint)}{OFF}"
    for path in getattr(answer, "links", ()):
        yield f"  {YELLOW}links to it{OFF}: {escape(path)}"
    if answer.undo:
        yield f"  {DIM}undo: {escape(answer.undo)}{OFF}"


_ONE_RECORD_VERBS = ("update", "archive", "delete", "supersede", "pin", "unpin", "done")
TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    **dict.fromkeys(_ONE_RECORD_VERBS, change_lines), "restore": restore_lines, "forget": forget_lines, "consolidate": consolidate_lines,
}  # fmt: skip
NO: dict[str, Callable[[Any], bool]] = {
    "forget": lambda answer: answer.outcome in ("unclear", "none"),
    "restore": lambda answer: any(one.outcome == "refused" for one in answer.records),
}
