"""What the verbs that capture and save answer, as lines for a person."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from cortex.core.text.shell_command import shell_quote
from cortex.core.text.strings import format_count
from cortex.interfaces.cli.terminal.view import BOLD, DIM, OFF
from cortex.interfaces.cli.text import (
    bold,
    dim,
    format_time,
    path,
    path_lines,
    problem_lines,
    yellow,
)
from cortex.interfaces.escape_terminal import escape

_NOTHING_NEW = "nothing new"
_LEFT_ALONE = (
    "of other projects (--all takes them, each as its own), ended before --since,"
    " or in folders with a .cortex-off file"
)
_MAX_SESSIONS, _MAX_UNREAD_TRANSCRIPTS, _MAX_TITLE_CHARS = 40, 5, 70
_MAX_REPLAYED = 20  # notes of one kind that are shown
_REPLAY_HEADINGS = {
    "comes": "new records", "goes": "to the archive", "session": "sessions written anew",
    "undone": "as before",
}  # fmt: skip
_SOURCE_TEXTS = {"model": "by the model", "learnings": "below a heading for learnings"}


def capture(answer: Any) -> Iterable[str]:
    yield answer.id


def new(answer: Any) -> Iterable[str]:
    yield escape(answer.file)  # whole, for an editor that is started anywhere


def retry(answer: Any) -> Iterable[str]:
    yield f"{path(answer.path)}: waiting again; cortex normalize"


def save(answer: Any) -> Iterable[str]:
    yield f"{answer.outcome} {escape(answer.id)}"
    yield f"  {dim(path(answer.file))}"
    if answer.suggested_topic:
        yield f"  {dim(f'a topic for it: --topic {shell_quote(answer.suggested_topic)}')}"
    if answer.note:
        yield f"  {yellow(answer.note)}"
    for one in answer.similar:
        yield f"  looks like {escape(one.id)} ({one.similarity:.2f}): {escape(one.title)}"
    yield from problem_lines(answer.problems)


def passive(answer: Any) -> Iterable[str]:
    for one in answer.hits:
        yield f"{one.outcome} {escape(one.id)}  {dim(one.title)}"
    yield from problem_lines(answer.problems)


def normalize(answer: Any) -> Iterable[str]:
    if answer.dry_run:
        yield from path_lines(**{"would be made": answer.created, "would change": answer.changed})
    else:
        yield from path_lines(made=answer.created, changed=answer.changed)
    yield from problem_lines((*answer.failed, *answer.problems))
    counts = f"{format_count(len(answer.events), 'event')}, {format_count(len(answer.created), 'new note')}"
    failed = f", {len(answer.failed)} failed" if answer.failed else ""
    yield f"{counts}, {len(answer.changed)} changed{failed}"


def extract(answer: Any) -> Iterable[str]:
    if answer.replay:
        yield from _replayed(answer.replay)
        return
    event = ""
    for one in answer.found:
        if one.event != event and len(answer.events) > 1:
            yield dim(one.event)
        event = one.event
        marks = [*(["pinned"] if one.pinned else []), *(f"#{tag}" for tag in one.tags)]
        figures = f"{one.confidence:.2f} {one.layer:10} {escape(one.type):10}"
        words = [f"{BOLD if one.record else DIM}{figures}{OFF}", escape(one.text), *map(dim, marks)]
        yield " ".join(words)
        if one.reason:
            yield f"     {dim('because')} {escape(one.reason)}"
        source = f"line {one.line}" if one.line else _SOURCE_TEXTS.get(one.layer, "")
        yield f"     {dim(source + ('' if one.record else ', no record'))}"
    for id_ in answer.kept:
        yield f"saved {escape(id_)}"
    records = format_count(sum(one.record for one in answer.found), "record")
    found = f"{format_count(len(answer.found), 'find')}, {records}"
    yield found if answer.found else "nothing found"
    yield from problem_lines(answer.problems)


def _replayed(answer: Any) -> Iterable[str]:
    """What a replay changes, by kind; of many the first."""
    for change, heading in _REPLAY_HEADINGS.items():
        some = [one for one in answer.notes if one.change == change]
        if some:
            yield bold(f"{heading}: {format_count(len(some), 'note')}")
        for one in some[:_MAX_REPLAYED]:
            yield f"  {escape(one.type):10} {escape(one.title)}  {dim(path(one.path))}"
        if len(some) > _MAX_REPLAYED:
            yield dim(f"  and {len(some) - _MAX_REPLAYED:,} more: --json names all")
    if not answer.notes:
        yield "nothing differs from what today's rules make"
    elif not answer.applied:
        yield "nothing is changed yet: cortex extract --replay --apply does it"
    elif answer.undo:
        yield dim(f"undo: {answer.undo}")
    yield from problem_lines(answer.problems)


def import_(answer: Any) -> Iterable[str]:
    changed = [one for one in answer.sessions if one.outcome != _NOTHING_NEW]
    changed.sort(key=lambda one: (one.first, one.id))
    for one in changed[:_MAX_SESSIONS]:
        yield from _imported_session_lines(one, with_host=len(answer.hosts) > 1)
    if len(changed) > _MAX_SESSIONS:
        yield dim(f"and {len(changed) - _MAX_SESSIONS:,} more: --json names all")
    if changed:
        yield ""
    yield _import_total(answer, changed)
    if answer.records:
        yield dim("cortex brief says what is known of this project now")
    for number, what in (
        (len(answer.sessions) - len(changed), "had nothing new"),
        (answer.left_alone, f"left alone: {_LEFT_ALONE}"),
    ):
        if number:
            yield dim(f"{format_count(number, 'session')} {what}")
    for one in answer.unread[:_MAX_UNREAD_TRANSCRIPTS]:
        yield f"{_unreadable(one.lines)} in {_home_relative_path(one.path)}"
    if len(answer.unread) > _MAX_UNREAD_TRANSCRIPTS:
        transcripts = f"{len(answer.unread):,} transcripts"
        yield f"{_unreadable(sum(one.lines for one in answer.unread))} in {transcripts}: --json names all"
    yield from problem_lines(answer.problems)


def _unreadable(lines: int) -> str:
    return yellow(f"{format_count(lines, 'line')} could not be read")


def _imported_session_lines(one: Any, *, with_host: bool) -> Iterable[str]:
    title = escape(one.title) or f"session {escape(one.id)[:8]}"
    title = f"{title[: _MAX_TITLE_CHARS - 1]}…" if len(title) > _MAX_TITLE_CHARS else title
    names = [escape(one.host)] if with_host else []
    names.append(escape(one.project or "no project"))
    yield "  ".join([_format_time_range(one.first, one.last), *names, bold(title)])
    agents = [format_count(one.agents, "subagent")] if one.agents else []
    counts = [format_count(one.messages, "message"), *agents, format_count(one.events, "event")]
    yield f"  {dim(', '.join(counts))}  {dim(one.id)}"


def _import_total(answer: Any, changed: list[Any]) -> str:
    events = format_count(answer.events, "event")
    messages = format_count(sum(one.messages for one in changed), "message")
    what = f"{messages} of {format_count(len(changed), 'session')} in {events}"
    if answer.stopped:
        is_kept = answer.events and not answer.dry_run
        kept = f"{events} captured, and kept" if is_kept else "nothing captured yet"
        return f"{yellow('stopped')}: {kept}; the same command goes on from here"
    if changed and answer.dry_run:
        return f"would capture {what}; without --dry-run it does"
    if changed:
        return f"captured {what}; {format_count(answer.records, 'new note')}"
    places = ", ".join(map(_home_relative_path, answer.folders))
    if not answer.transcripts:
        return f"nothing to import: no transcripts in {places}"
    return f"nothing {'new' if answer.sessions else 'to import'} in {places}"


def _format_time_range(first: str, last: str) -> str:
    """From when to when, the day once."""
    begin, end = format_time(first), format_time(last)
    if not begin or begin == end:
        return begin or end or "no time"
    return f"{begin} – {end[11:] if end[:10] == begin[:10] else end}"


def _home_relative_path(path: str) -> str:
    """A path with `~` for the home directory."""
    home = os.path.expanduser("~").rstrip("/")
    return escape(f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path)
