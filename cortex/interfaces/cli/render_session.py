"""What sessions and the state of the vault answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.text.shell_command import line
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, count, day, problem_lines
from cortex.interfaces.escape_terminal import visible

_PROBLEMS_NAMED = 3


def _session(answer: Any) -> Iterable[str]:
    if hasattr(answer, "session"):
        yield from _shown(answer)
    elif hasattr(answer, "records"):
        for one in answer.records:
            yield from _line(one)
        if not answer.records:
            yield "no such sessions"
        if getattr(answer, "more", 0):
            yield f"{answer.more:,} more: --number"
    elif hasattr(answer, "live"):
        yield visible(answer.name)
        if answer.outcome == "resumed":
            yield f"{DIM}it goes on in {visible(answer.path)}{OFF}"
        if answer.live:
            yield f"{DIM}also going on: {', '.join(visible(name) for name in answer.live[:5])}{OFF}"
    else:
        yield f"{answer.outcome}: {visible(answer.name)}  {DIM}{visible(answer.path)}{OFF}"
    yield from problem_lines(answer.problems, _PROBLEMS_NAMED)


def _line(one: Any) -> Iterable[str]:
    state = f"{YELLOW}{one.state}{OFF}" if one.state != "done" else "done"
    when = f"{one.started[:16].replace('T', ' ')}" + (
        f" to {one.ended[:16].replace('T', ' ')}" if one.ended else ""
    )
    yield f"{BOLD}{visible(one.name)}{OFF}  {state}  {visible(when)}" + (
        f"  {DIM}{visible(one.closed)}{OFF}" if one.closed else ""
    )
    counts = f"{count(one.events, 'event')}, {count(one.prompts, 'prompt')}, {count(one.records, 'record')}"
    yield f"  {DIM}{visible(one.project)}  {counts}{OFF}" + (
        f"  {visible(one.snippet)}" if one.snippet else ""
    )


def _shown(answer: Any) -> Iterable[str]:
    yield from _line(answer.session)
    yield f"  {DIM}{visible(answer.session.path)}{OFF}"
    if answer.summary:
        yield ""
        yield visible(answer.summary, lines=True)
    for heading, lines in (
        (
            "prompts",
            [
                f"{visible(one.at[:16].replace('T', ' '))}  {visible(one.text)}"
                for one in answer.prompts
            ],
        ),
        ("events", [visible(one) for one in answer.events]),
        (
            "records",
            [
                f"{visible(one.title)}  {DIM}{visible(one.type)}  {visible(one.id)}{OFF}"
                for one in answer.records
            ],
        ),
    ):
        if lines:
            yield ""
            yield heading
            yield from (f"  {one}" for one in lines)
    if answer.more:
        yield f"{answer.more:,} more are not shown"


def _status(status: Any) -> Iterable[str]:
    branch = f"  on {visible(status.branch)}" if status.branch else ""
    yield f"{BOLD}{visible(status.vault)}{OFF}{branch}"
    topics = f", {count(status.topics, 'topic')}" if status.topics else ""
    yield f"  {count(status.notes, 'note')}, {count(status.sessions, 'session')}, {count(status.open_actions, 'open action')}{topics}"
    yield f"  {status.pending} waiting in the inbox, {len(status.failed) + status.more.get('failed', 0)} failed, {status.set_aside} set aside"
    for name, counts in (
        ("", status.types),
        ("projects: ", status.projects),
        ("status: ", status.statuses),
        ("open: ", status.open),
    ):
        if len(counts) > (name not in ("", "open: ")):
            more = (
                status.more.get(name.removesuffix(": ") or "types", 0)
                if name != "status: "
                else status.more.get("statuses", 0)
            )
            yield (
                f"  {name}"
                + ", ".join(f"{visible(key)} {number}" for key, number in counts.items())
                + (f", {more} more" if more else "")
            )
    for name in ("overdue", "stale", "recent"):
        notes = getattr(status, name)
        if notes:
            more = f"  {DIM}and {status.more[name]} more{OFF}" if name in status.more else ""
            yield f"{name if name == 'recent' else f'{YELLOW}{name}{OFF}'}{more}"
        for note in notes:
            when = visible(note.due[:10]) if name == "overdue" else day(note.date)
            yield f"  {when}  {visible(note.title)}  {DIM}{visible(note.path)}{OFF}"
    for name, hint in (("live", ""), ("orphans", "  cortex session end --orphans")):
        if ids := getattr(status, name):
            yield (
                f"{name if name == 'live' else f'{YELLOW}{name}{OFF}'}: {', '.join(visible(id_) for id_ in ids)}"
                + (f" and {status.more[name]} more" if name in status.more else "")
                + hint
            )
    for event in status.failed[:_PROBLEMS_NAMED]:
        yield f"{YELLOW}failed: {visible(event)}{OFF}  {visible(line('retry', event))}"
    if status.problems:
        yield f"{YELLOW}{count(status.problems, 'problem')}{OFF}: cortex doctor"


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {"session": _session, "status": _status}
NO: dict[str, Callable[[Any], bool]] = {
    "session": lambda answer: getattr(answer, "outcome", "") == "captured"
}
