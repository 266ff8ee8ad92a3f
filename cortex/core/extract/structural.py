"""What an agent did, as its host told it: the plan and its steps, files, commands that failed. Nothing here is guessed."""

from __future__ import annotations

from cortex.core.extract.candidate import STRUCTURAL_LAYER, Candidate
from cortex.core.model import turn_summary as stretches
from cortex.core.model.session_note import has_failed
from cortex.core.model.turn_summary import ACTIVITY_MARK


def find_done_work(text: str) -> list[Candidate]:
    """What the lists below the mark of an event's text tell. Only the plan is worth a record: the rest is in its session's note."""
    if ACTIVITY_MARK not in text:
        return []
    told = stretches.parse_turn_summary(text)
    lines = _line_numbers(text)
    found = []
    if told.plan:
        steps = "; ".join(f"[{'x' if step.done else ' '}] {step.text}" for step in told.plan)
        found.append(_new_candidate("plan", steps, lines.get("Plan:", 1)))
    found += [
        _new_candidate("progress", f"done: {step.text}", lines.get(f"- [x] {step.text}", 1))
        for step in told.plan
        if step.done
    ]
    found += [
        _new_candidate("progress", f"changed {name}", lines.get(f"- {name}", 1))
        for name in told.changed_files
    ]
    failures = [one for one in told.commands if has_failed(one)]
    return [
        *found,
        *(
            _new_candidate(
                "progress",
                f"failed: {one.line}: {one.outcome}",
                lines.get(f"- `{one.line}` {one.outcome}", 1),
            )
            for one in failures
        ),
    ]


def tagged_prompt_lines(text: str) -> list[tuple[int, str]]:
    """The lines of the user's own in which a memory tag stands, each with the number of its line."""
    lines = _line_numbers(text)
    return [
        (lines.get(f"- {one}", 1), one) for one in stretches.parse_turn_summary(text).tagged_lines
    ]


def _line_numbers(text: str) -> dict[str, int]:
    first = text.count("\n", 0, text.index(ACTIVITY_MARK))
    return {
        line: number
        for number, line in reversed(
            list(enumerate(text[text.index(ACTIVITY_MARK) :].split("\n"), start=first + 1))
        )
    }


def _new_candidate(type_: str, text: str, line: int) -> Candidate:
    return Candidate(STRUCTURAL_LAYER, type_, " ".join(text.split()), 1.0, line)
