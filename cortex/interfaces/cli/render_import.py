"""What an import of transcripts answers, as lines for a person."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, count, problem_lines
from cortex.interfaces.escape_terminal import visible

_NOTHING = "nothing new"
_MOST, _MOST_UNREAD = (
    40,
    5,
)  # sessions that are named, and transcripts with lines that could not be read
_LONGEST_TITLE = 70
_INTERRUPTED = 130  # as a shell counts a program that Ctrl-C ended


def import_(answer: Any) -> Iterable[str]:
    told = sorted(
        (one for one in answer.sessions if one.outcome != _NOTHING),
        key=lambda one: (one.first, one.id),
    )
    for one in told[:_MOST]:
        yield from _session(one, with_host=len(answer.hosts) > 1)
    if len(told) > _MOST:
        yield f"{DIM}and {len(told) - _MOST:,} more: --json names all{OFF}"
    if told:
        yield ""
    yield _sum(answer, told)
    yield from _left(answer)
    for one in answer.unread[:_MOST_UNREAD]:
        yield f"{YELLOW}{count(one.lines, 'line')} could not be read{OFF} in {_short(one.path)}"
    if len(answer.unread) > _MOST_UNREAD:
        yield f"{YELLOW}{count(answer.skipped, 'line')} could not be read{OFF} in {len(answer.unread):,} transcripts: --json names all"
    yield from problem_lines(answer.problems)


def _session(one: Any, *, with_host: bool) -> Iterable[str]:
    title = visible(one.title)
    title = f"{title[: _LONGEST_TITLE - 1]}…" if len(title) > _LONGEST_TITLE else title
    host = f"{visible(one.host)}  " if with_host else ""
    yield f"{_when(one.first, one.last)}  {host}{visible(one.project or 'no project')}  {BOLD}{title or f'session {visible(one.id)[:8]}'}{OFF}"
    parts = [
        count(one.messages, "message"),
        *([count(one.agents, "subagent")] if one.agents else []),
        count(one.events, "event"),
    ]
    yield f"  {DIM}{', '.join(parts)}  {visible(one.id)}{OFF}"


def _sum(answer: Any, told: list[Any]) -> str:
    messages, sessions, events = (
        sum(one.messages for one in told),
        count(len(told), "session"),
        count(answer.events, "event"),
    )
    if answer.stopped:
        kept = (
            f"{events} captured, and kept"
            if answer.events and not answer.dry_run
            else "nothing captured yet"
        )
        return f"{YELLOW}stopped{OFF}: {kept}; the same command goes on from here"
    if told and answer.dry_run:
        return f"would capture {count(messages, 'message')} of {sessions} in {events}; without --dry-run it does"
    if told:
        return f"captured {count(messages, 'message')} of {sessions} in {events}; {count(answer.records, 'new note')}"
    places = ", ".join(_short(one.path) for one in answer.looked)
    if not any(one.transcripts for one in answer.looked):
        return f"nothing to import: no transcripts in {places}"
    return f"nothing {'new' if answer.sessions else 'to import'} in {places}"


def _left(answer: Any) -> Iterable[str]:
    """What was left alone, and how to have it."""
    if answer.records:
        yield f"{DIM}cortex brief says what is known of this project now{OFF}"
    if known := sum(one.outcome == _NOTHING for one in answer.sessions):
        yield f"{DIM}{count(known, 'session')} had nothing new{OFF}"
    if answer.older:
        yield f"{DIM}{count(answer.older, 'session')} ended before --since{OFF}"
    if answer.others:
        yield f"{DIM}{count(answer.others, 'session')} of other projects: --all takes them, each as its own{OFF}"
    if answer.off:
        yield f"{DIM}{count(answer.off, 'session')} in folders with a .cortex-off file{OFF}"


def _when(first: str, last: str) -> str:
    """From when to when, the day once."""
    begin, end = first[:16].replace("T", " "), last[:16].replace("T", " ")
    if not begin or begin == end:
        return begin or end or "no time"
    return f"{begin} – {end[11:] if end[:10] == begin[:10] else end}"


def _short(path: str) -> str:
    """A path with `~` for the home directory."""
    home = os.path.expanduser("~").rstrip("/")
    return visible(f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {"import": import_}
NO: dict[str, Callable[[Any], int]] = {
    "import": lambda answer: _INTERRUPTED if answer.stopped else bool(answer.problems)
}
