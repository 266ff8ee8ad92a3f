"""What an agent did, as its host told it: the plan and its steps, files, commands that failed. Nothing here is guessed."""

from __future__ import annotations

from cortex.core.extract.candidate import STRUCTURAL, Candidate
from cortex.core.model import turn_summary as stretches
from cortex.core.model.session import failed
from cortex.core.model.turn_summary import MARK


def done(text: str) -> list[Candidate]:
    """What the lists below the mark of an event's text tell. Only the plan is worth a record: the rest is in its session's note."""
    if MARK not in text:
        return []
    told = stretches.read(text)
    lines = _lines(text)
    found = []
    if told.plan:
        steps = "; ".join(f"[{'x' if step.done else ' '}] {step.text}" for step in told.plan)
        found.append(_one("plan", steps, lines.get("Plan:", 1)))
    found += [
        _one("progress", f"done: {step.text}", lines.get(f"- [x] {step.text}", 1))
        for step in told.plan
        if step.done
    ]
    found += [
        _one("progress", f"changed {name}", lines.get(f"- {name}", 1)) for name in told.changed
    ]
    failures = [one for one in told.ran if failed(one)]
    return [
        *found,
        *(
            _one(
                "progress",
                f"failed: {one.line}: {one.outcome}",
                lines.get(f"- `{one.line}` {one.outcome}", 1),
            )
            for one in failures
        ),
    ]


def asked(text: str) -> list[tuple[int, str]]:
    """The lines of the user's own in which a memory tag stands, each with the number of its line."""
    lines = _lines(text)
    return [(lines.get(f"- {one}", 1), one) for one in stretches.read(text).asked]


def _lines(text: str) -> dict[str, int]:
    first = text.count("\n", 0, text.index(MARK))
    return {
        line: number
        for number, line in reversed(
            list(enumerate(text[text.index(MARK) :].split("\n"), start=first + 1))
        )
    }


def _one(type_: str, text: str, line: int) -> Candidate:
    return Candidate(STRUCTURAL, type_, " ".join(text.split()), 1.0, line)
