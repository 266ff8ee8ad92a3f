"""Runs of agents, agents, and what they cost, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.runs.run_event import event_line
from cortex.core.text.strings import format_count, shorten
from cortex.interfaces.cli.text import bold, dim, format_time, hint, path, problem_lines, yellow
from cortex.interfaces.escape_terminal import escape

_MAX_PROMPT = 60  # characters of it in a list
_SIGNS = {"finished": "✓", "failed": "✗", "stopped": "✗", "skipped": "–", "running": "…"}


def run(answer: Any) -> Iterable[str]:
    for one in answer.runs:
        yield from _run_lines(one)
    if not answer.runs and not answer.outcome:
        yield "no runs"
    if answer.prompt:
        yield from ("", bold("prompt"), escape(answer.prompt, lines=True))
    if answer.events and answer.outcome != "ended":
        yield from ("", bold("log"), *(escape(event_line(one)) for one in answer.events))
    if answer.result:
        yield from ("", bold("result"), escape(answer.result, lines=True))
    if answer.outcome == "waiting":
        yield dim("the same request waits already")
    if answer.hint:
        yield f"  {hint(answer.hint)}"
    yield from problem_lines(answer.problems)


def _run_lines(one: Any) -> Iterable[str]:
    is_well = one.status in ("finished", "running", "requested")
    status = one.status if is_well else yellow(one.status)
    about = "  ".join(filter(None, (one.facet, one.period, shorten(one.prompt, _MAX_PROMPT))))
    at = format_time(one.created)
    yield f"{_SIGNS.get(one.status, '·')} {at}  {bold(one.agent)}  {status}{'  ' * bool(about)}{escape(about)}"
    tokens = f"{one.tokens_in}+{one.tokens_out} tokens" if one.tokens_in or one.tokens_out else ""
    cost = "" if one.cost_usd is None else _dollars(one.cost_usd)
    took = f"{one.seconds:g} s" if one.seconds else ""
    running = f"running {', '.join(one.running_tools)}" if one.running_tools else ""
    figures = (one.model or one.provider, tokens, cost, took, running, one.id)
    yield f"  {dim(*filter(None, figures))}"
    if one.error:
        yield f"  {yellow(one.error)}"
    if one.output:
        yield f"  {dim('to')} {path(one.output)}"


def costs(answer: Any) -> Iterable[str]:
    for one in (*answer.costs, *([answer.total] if len(answer.costs) > 1 else [])):
        unknown = f", {one.unknown} of unknown cost" if one.unknown else ""
        failed = f", {one.failed} failed" if one.failed else ""
        yield f"{bold(one.key)}  {_dollars(one.cost_usd)}{unknown}"
        yield f"  {dim(format_count(one.runs, 'run') + failed, f'{one.tokens_in:,}+{one.tokens_out:,} tokens', f'{one.seconds:g} s')}"
    if not answer.costs:
        yield "no runs"


def tick(answer: Any) -> Iterable[str]:
    for one in answer.runs:
        yield from _run_lines(one)
    for one in answer.due:
        about = "  ".join(filter(None, (one.facet, one.period)))
        yield f"due  {bold(one.agent)}  {escape(about)}"
    for one in answer.skipped:
        about = "  ".join(filter(None, (one.facet, one.period)))
        yield f"– {bold(one.agent)}  {escape(about)}  {yellow(one.reason)}"
    if not (answer.runs or answer.due or answer.skipped):
        yield "nothing is due"
    yield from problem_lines(answer.problems)


def _dollars(amount: float) -> str:
    """An amount with four digits behind the point, or as many as a small one needs."""
    return f"${amount:.4f}" if amount >= 0.001 or not amount else f"${amount:.6f}"
