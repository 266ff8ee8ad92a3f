"""What sessions and the state of the vault answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.text.shell_command import cortex_command
from cortex.interfaces.cli.style import (
    BOLD,
    DIM,
    OFF,
    YELLOW,
    format_count,
    format_day,
    problem_lines,
)
from cortex.interfaces.escape_terminal import escape

_MAX_PROBLEMS = 3


def _session_lines(answer: Any) -> Iterable[str]:
    if hasattr(answer, "session"):
        yield from _session_details_lines(answer)
    elif hasattr(answer, "hits"):
        for one in answer.hits:
            yield from _session_hit_lines(one)
        if not answer.hits:
            yield "no such sessions"
        if answer.total > len(answer.hits):
            yield f"{answer.total - len(answer.hits):,} more: --number"
    elif hasattr(answer, "live"):
        yield escape(answer.name)
        if answer.outcome == "resumed":
            yield f"{DIM}it goes on in {escape(answer.path)}{OFF}"
        if answer.live:
            yield f"{DIM}also going on: {', '.join(escape(name) for name in answer.live[:5])}{OFF}"
    else:
        yield f"{answer.outcome}: {escape(answer.name)}  {DIM}{escape(answer.path)}{OFF}"
    yield from problem_lines(answer.problems, _MAX_PROBLEMS)


def _session_hit_lines(one: Any) -> Iterable[str]:
    state = f"{YELLOW}{one.state}{OFF}" if one.state != "done" else "done"
    when = f"{one.started[:16].replace('T', ' ')}" + (
        f" to {one.ended[:16].replace('T', ' ')}" if one.ended else ""
    )
    yield f"{BOLD}{escape(one.name)}{OFF}  {state}  {escape(when)}" + (
        f"  {DIM}{escape(one.closed)}{OFF}" if one.closed else ""
    )
    counts = f"{format_count(one.events, 'event')}, {format_count(one.prompts, 'prompt')}, {format_count(one.records, 'record')}"
    yield f"  {DIM}{escape(one.hit.project)}  {counts}{OFF}" + (
        f"  {escape(one.hit.snippet)}" if one.hit.snippet else ""
    )


def _session_details_lines(answer: Any) -> Iterable[str]:
    yield from _session_hit_lines(answer.session)
    yield f"  {DIM}{escape(answer.session.hit.path)}{OFF}"
    if answer.summary:
        yield ""
        yield escape(answer.summary, lines=True)
    for heading, lines in (
        (
            "prompts",
            [
                f"{escape(one.at[:16].replace('T', ' '))}  {escape(one.text)}"
                for one in answer.prompts
            ],
        ),
        ("events", [escape(one) for one in answer.events]),
        (
            "records",
            [
                f"{escape(one.title)}  {DIM}{escape(one.type)}  {escape(one.id)}{OFF}"
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


def _status_lines(status: Any) -> Iterable[str]:
    branch = f"  on {escape(status.branch)}" if status.branch else ""
    yield f"{BOLD}{escape(status.vault)}{OFF}{branch}"
    topics = f", {format_count(status.topics, 'topic')}" if status.topics else ""
    yield f"  {format_count(status.notes, 'note')}, {format_count(status.sessions, 'session')}, {format_count(status.open_actions, 'open action')}{topics}"
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
                + ", ".join(f"{escape(key)} {number}" for key, number in counts.items())
                + (f", {more} more" if more else "")
            )
    for name in ("overdue", "stale", "recent"):
        notes = getattr(status, name)
        if notes:
            more = f"  {DIM}and {status.more[name]} more{OFF}" if name in status.more else ""
            yield f"{name if name == 'recent' else f'{YELLOW}{name}{OFF}'}{more}"
        for note in notes:
            when = escape(note.due[:10]) if name == "overdue" else format_day(note.date)
            yield f"  {when}  {escape(note.title)}  {DIM}{escape(note.path)}{OFF}"
    for name, hint in (("live", ""), ("orphans", "  cortex session end --orphans")):
        if ids := getattr(status, name):
            yield (
                f"{name if name == 'live' else f'{YELLOW}{name}{OFF}'}: {', '.join(escape(id_) for id_ in ids)}"
                + (f" and {status.more[name]} more" if name in status.more else "")
                + hint
            )
    for event in status.failed[:_MAX_PROBLEMS]:
        yield f"{YELLOW}failed: {escape(event)}{OFF}  {escape(cortex_command('retry', event))}"
    if status.problems:
        yield f"{YELLOW}{format_count(status.problems, 'problem')}{OFF}: cortex doctor"


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "session": _session_lines,
    "status": _status_lines,
}
NO: dict[str, Callable[[Any], bool]] = {
    "session": lambda answer: getattr(answer, "outcome", "") == "captured"
}
