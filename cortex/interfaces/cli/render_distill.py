"""What `cortex distill` answers, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.text.strings import format_count
from cortex.interfaces.cli.text import bold, dim, problem_lines, yellow
from cortex.interfaces.escape_terminal import escape


def distill(answer: Any) -> Iterable[str]:
    if answer.prompt:
        yield from map(escape, answer.prompt.splitlines())
        return
    for one in answer.sessions:
        yield f"{bold(one.outcome)} {escape(one.title)}  {dim(escape(one.session))}"
        if one.left:
            left = format_count(one.left, "part")
            yield f"  {dim(f'{left} to go: cortex distill --print-prompt {escape(one.session)}')}"
        if answer.dry_run and one.parts:
            size = f"{format_count(one.parts, 'prompt')}, about {one.tokens:,} tokens"
            yield f"  {dim(size)}"
        for id_ in one.records:
            yield f"  {escape(id_)}"
        for why, count in one.dropped:
            yield f"  {yellow(f'{count} left out: {why}')}"
    if not answer.sessions:
        yield "nothing to distill"
    if answer.dollars:
        yield dim(f"it cost {answer.dollars:.2f} dollars")
    yield from problem_lines(answer.problems)
