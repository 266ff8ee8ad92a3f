"""What became of records that somebody changed, put away, brought back or merged, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, count, problem_lines
from cortex.interfaces.escape_terminal import visible


def changed(answer: Any) -> Iterable[str]:
    yield from _one(answer)
    yield from problem_lines(answer.problems)


def restored(answer: Any) -> Iterable[str]:
    for one in answer.records:
        yield from _one(one)
    yield from problem_lines(answer.problems)


def forgotten(answer: Any) -> Iterable[str]:
    if answer.id:
        yield from _one(answer)
    elif answer.records:
        yield "which of these?"
    for hit in answer.records:
        yield f"  {visible(hit.id)}  {BOLD}{visible(hit.title)}{OFF}  {DIM}{visible(hit.path)}{OFF}"
    if answer.hint and not answer.id:
        yield f"  {DIM}{visible(answer.hint)}{OFF}"
    yield from problem_lines(answer.problems)


def consolidated(answer: Any) -> Iterable[str]:
    if answer.id:
        yield f"{answer.outcome}: {visible(answer.path)}, from {', '.join(map(visible, answer.originals))}"
        if answer.undo:
            yield f"  {DIM}undo: {visible(answer.undo)}{OFF}"
    for pair in answer.pairs:
        strength = f"  {YELLOW}strong{OFF}" if pair.strong else ""
        yield f"{BOLD}{pair.similarity:.2f}{OFF}{strength}"
        for hit, words in zip(pair.records, pair.only, strict=True):
            yield f"  {visible(hit.title)}  {DIM}{visible(hit.path)}{OFF}"
            if words:
                yield f"    {DIM}only here: {visible(', '.join(words))}{OFF}"
        yield f"  {DIM}{visible(pair.merge)}{OFF}"
    if not answer.id and not answer.pairs:
        yield f"no two of {count(answer.compared, 'record')} are alike enough; --least shows pairs that are less so"
    if answer.more:
        yield f"{YELLOW}{count(answer.more, 'more pair')}{OFF}: --number shows them"
    yield from problem_lines(answer.problems)


def _one(answer: Any) -> Iterable[str]:
    yield f"{answer.outcome}: {visible(answer.path or answer.id)}"
    hint = getattr(answer, "hint", "")
    if hint:
        yield f"  {DIM}{visible(hint)}{OFF}"
    for path in getattr(answer, "links", ()):
        yield f"  {YELLOW}links to it{OFF}: {visible(path)}"
    if answer.undo:
        yield f"  {DIM}undo: {visible(answer.undo)}{OFF}"


_SINGLE = ("update", "archive", "delete", "supersede", "pin", "unpin", "done")
TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    **dict.fromkeys(_SINGLE, changed), "restore": restored, "forget": forgotten, "consolidate": consolidated,
}  # fmt: skip
NO: dict[str, Callable[[Any], bool]] = {
    "forget": lambda answer: answer.outcome in ("unclear", "none"),
    "restore": lambda answer: any(one.outcome == "refused" for one in answer.records),
}
