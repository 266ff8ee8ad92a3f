"""The agent's plan, and prompts with memory tags, from the structure of an event's text."""

from __future__ import annotations

from cortex.core.extract.candidate import STRUCTURAL_LAYER, Candidate
from cortex.core.model.turn_summary import ACTIVITY_MARK, parse_turn_summary


def find_plan(text: str) -> list[Candidate]:
    """The plan in the activity section of an event's text, as at most one candidate."""
    plan = parse_turn_summary(text).plan if ACTIVITY_MARK in text else ()
    if not plan:
        return []
    steps = "; ".join(f"[{'x' if step.done else ' '}] {step.text}" for step in plan)
    line = _line_numbers(text).get("Plan:", 1)
    return [Candidate(STRUCTURAL_LAYER, "plan", " ".join(steps.split()), 1.0, line)]


def tagged_prompt_lines(text: str) -> list[tuple[int, str]]:
    """The lines of the user's prompts with a memory tag, each with its line number."""
    numbers = _line_numbers(text)
    return [(numbers.get(f"- {line}", 1), line) for line in parse_turn_summary(text).tagged_lines]


def _line_numbers(text: str) -> dict[str, int]:
    """The lines below the mark, each with the number of the first that reads so."""
    before, mark, after = text.partition(ACTIVITY_MARK)
    lines = list(enumerate(f"{mark}{after}".split("\n"), before.count("\n") + 1))
    return {line: number for number, line in reversed(lines)}
