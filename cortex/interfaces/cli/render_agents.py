"""Agents as text: which there are, what they would be sent, what has changed in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.runs.agent_note import Agent
from cortex.interfaces.cli.text import bold, dim, hint, path, problem_lines
from cortex.interfaces.escape_terminal import escape


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
