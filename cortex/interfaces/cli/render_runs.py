"""Runs of agents, agents, and what they cost, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.runs.agent_note import Agent
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


def agents(answer: Any) -> Iterable[str]:
    if sent := answer.sent:
        why = f", not started: {sent.skipped}" if sent.skipped else ""
        yield dim(f"to {sent.provider}, {sent.model}{why}")
        texts = sent.system_instruction, sent.extra_context, sent.user_instruction
        yield from (f"\n{escape(text, lines=True)}" for text in texts if text)
    for agent, state, file, _ in () if sent else answer.agents:
        about = agent.title, agent.schedule or "by hand", agent.tier
        yield f"{bold(agent.name)}  {state}  {dim(' · '.join(filter(None, about)))}"
        if answer.whole:
            yield f"  {dim(path(file))}"
            said = agent._replace(name="", title="", prompt="")._asdict().items()
            usual = Agent("")._asdict()
            yield from (f"  {key}: {escape(str(one))}" for key, one in said if one != usual[key])
            yield from ("", escape(agent.prompt, lines=True))
    if not (answer.agents or answer.problems or sent):
        yield f"no agents{hint(': a note agents/NAME.md is one')}"
    yield from problem_lines(answer.problems)


def trust(answer: Any) -> Iterable[str]:
    for one in answer.agents:
        yield f"{bold(one.agent.name)}  {one.state}"
        yield from (f"  {escape(line)}" for line in one.diff.splitlines()[2:])
    yield from problem_lines(answer.problems)
    if untrusted := [one.agent.name for one in answer.agents if one.diff]:
        yield hint(f"cortex trust {' '.join(untrusted)} once you have read it")
