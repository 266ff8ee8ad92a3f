"""What an import of transcripts answers, as lines for a person."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, format_count, problem_lines
from cortex.interfaces.escape_terminal import escape

_NOTHING_NEW = "nothing new"
_MAX_SESSIONS, _MAX_UNREAD_TRANSCRIPTS = (
    40,
    5,
)  # sessions that are named, and transcripts with lines that could not be read
_MAX_TITLE_CHARS = 70
_EXIT_INTERRUPTED = 130  # as a shell counts a program that Ctrl-C ended


def import_lines(answer: Any) -> Iterable[str]:
    told = sorted(
        (one for one in answer.sessions if one.outcome != _NOTHING_NEW),
        key=lambda one: (one.first, one.id),
    )
    for one in told[:_MAX_SESSIONS]:
        yield from _session_lines(one, with_host=len(answer.hosts) > 1)
    if len(told) > _MAX_SESSIONS:
        yield f"{DIM}and {len(told) - _MAX_SESSIONS:,} more: --json names all{OFF}"
    if told:
        yield ""
    yield _format_total(answer, told)
    yield from _skipped_lines(answer)
    for one in answer.unread[:_MAX_UNREAD_TRANSCRIPTS]:
        yield f"{YELLOW}{format_count(one.lines, 'line')} could not be read{OFF} in {_home_relative_path(one.path)}"
    if len(answer.unread) > _MAX_UNREAD_TRANSCRIPTS:
        yield f"{YELLOW}{format_count(sum(one.lines for one in answer.unread), 'line')} could not be read{OFF} in {len(answer.unread):,} transcripts: --json names all"
    yield from problem_lines(answer.problems)


def _session_lines(one: Any, *, with_host: bool) -> Iterable[str]:
    title = escape(one.title)
    title = f"{title[: _MAX_TITLE_CHARS - 1]}…" if len(title) > _MAX_TITLE_CHARS else title
    host = f"{escape(one.host)}  " if with_host else ""
    yield f"{_format_time_range(one.first, one.last)}  {host}{escape(one.project or 'no project')}  {BOLD}{title or f'session {escape(one.id)[:8]}'}{OFF}"
    parts = [
        format_count(one.messages, "message"),
        *([format_count(one.agents, "subagent")] if one.agents else []),
        format_count(one.events, "event"),
    ]
    yield f"  {DIM}{', '.join(parts)}  {escape(one.id)}{OFF}"


def _format_total(answer: Any, told: list[Any]) -> str:
    messages, sessions, events = (
        sum(one.messages for one in told),
        format_count(len(told), "session"),
        format_count(answer.events, "event"),
    )
    if answer.stopped:
        kept = (
            f"{events} captured, and kept"
            if answer.events and not answer.dry_run
            else "nothing captured yet"
        )
        return f"{YELLOW}stopped{OFF}: {kept}; the same command goes on from here"
    if told and answer.dry_run:
        return f"would capture {format_count(messages, 'message')} of {sessions} in {events}; without --dry-run it does"
    if told:
        return f"captured {format_count(messages, 'message')} of {sessions} in {events}; {format_count(answer.records, 'new note')}"
    places = ", ".join(_home_relative_path(path) for path in answer.folders)
    if not answer.transcripts:
        return f"nothing to import: no transcripts in {places}"
    return f"nothing {'new' if answer.sessions else 'to import'} in {places}"


def _skipped_lines(answer: Any) -> Iterable[str]:
    """What was left alone, and how to have it."""
    if answer.records:
        yield f"{DIM}cortex brief says what is known of this project now{OFF}"
    if known := sum(one.outcome == _NOTHING_NEW for one in answer.sessions):
        yield f"{DIM}{format_count(known, 'session')} had nothing new{OFF}"
    if answer.left_alone:
        yield (
            f"{DIM}{format_count(answer.left_alone, 'session')} left alone: of other projects (--all takes them, each as its own),"
            f" ended before --since, or in folders with a .cortex-off file{OFF}"
        )


def _format_time_range(first: str, last: str) -> str:
    """From when to when, the day once."""
    begin, end = first[:16].replace("T", " "), last[:16].replace("T", " ")
    if not begin or begin == end:
        return begin or end or "no time"
    return f"{begin} – {end[11:] if end[:10] == begin[:10] else end}"


def _home_relative_path(path: str) -> str:
    """A path with `~` for the home directory."""
    home = os.path.expanduser("~").rstrip("/")
    return escape(f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {"import": import_lines}
NO: dict[str, Callable[[Any], int]] = {
    "import": lambda answer: _EXIT_INTERRUPTED if answer.stopped else bool(answer.problems)
}
