"""What import and export answer, as lines for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from cortex.core.text.strings import format_count, shorten
from cortex.importers import SOURCES
from cortex.interfaces.cli.text import (
    bold,
    dim,
    format_counts,
    format_day,
    format_time,
    hint,
    problem_lines,
    short_path,
    yellow,
)
from cortex.interfaces.escape_terminal import escape

_NOTHING_NEW = "nothing new"
_LEFT_ALONE = (
    "of other projects (--all takes them, each as its own), ended before --since,"
    " or in folders with a .cortex-off file"
)
_MAX_SESSIONS, _MAX_UNREAD_TRANSCRIPTS, _MAX_TITLE_CHARS = 40, 5, 70
# What became of the items of a source, in words.
_OUTCOMES = (
    ("new", "new"), ("known", "imported before"), ("same", "told by another source already"),
    ("changed", "changed there since, and kept here as they are"), ("left", "left alone"),
    ("missed", "not kept: the same command goes on from here"),
)  # fmt: skip


def import_(answer: Any) -> Iterable[str]:
    if not answer.hosts:
        yield from _found_place_lines(answer)
        return
    for source in answer.sources:
        yield from _source_lines(source)
    changed = [session for session in answer.sessions if session.outcome != _NOTHING_NEW]
    changed.sort(key=lambda session: (session.first, session.id))
    for session in changed[:_MAX_SESSIONS]:
        yield from _session_lines(session, with_host=len(answer.hosts) > 1)
    if len(changed) > _MAX_SESSIONS:
        yield dim(f"and {len(changed) - _MAX_SESSIONS:,} more: --json names all")
    if changed or answer.sources:
        yield ""
    yield from _total_lines(answer, changed)
    if answer.records:
        yield dim(hint("cortex brief says what is known of this project now"))
    for number, what in (
        (len(answer.sessions) - len(changed), "had nothing new"),
        (answer.left_alone, f"left alone: {_LEFT_ALONE}"),
    ):
        if number:
            yield dim(f"{format_count(number, 'session')} {what}")
    for transcript in answer.unread[:_MAX_UNREAD_TRANSCRIPTS]:
        yield f"{_unreadable(transcript.lines)} in {escape(short_path(transcript.path))}"
    if len(answer.unread) > _MAX_UNREAD_TRANSCRIPTS:
        transcripts = f"{len(answer.unread):,} transcripts"
        yield f"{_unreadable(sum(transcript.lines for transcript in answer.unread))} in {transcripts}: --json names all"
    yield from problem_lines(answer.problems)


def export(answer: Any) -> Iterable[str]:
    if not answer.notes:
        yield "nothing to export: no note is of this type, project and time"
    elif answer.path:
        counts = ((number, kind) for kind, number in answer.notes.items())
        yield f"exported {format_counts(*counts)} to {escape(short_path(answer.path))}"
    yield from problem_lines(answer.problems) if answer.path else ()


def _found_place_lines(answer: Any) -> Iterable[str]:
    """What there is to import on this machine."""
    for place in answer.places:
        yield f"{bold(f'{place.source:16}')} {escape(short_path(place.path))}"
    if answer.places:
        yield dim(
            hint("cortex import NAME --dry-run says what it holds; without --dry-run it is kept")
        )
    else:
        yield "nothing to import was found on this machine"
    others = sorted({*SOURCES} - {place.source for place in answer.places})
    yield f"from a file or folder that you name: {', '.join(others)}"
    yield dim(hint("cortex import FILE takes an export; docs/import.md says more"))
    yield from problem_lines(answer.problems)


def _source_lines(source: Any) -> Iterable[str]:
    """What a source holds: each kind with its numbers, and some of what is new."""
    yield f"{bold(source.source)}  {dim(escape(short_path(source.path)))}"
    for items in source.items:
        numbers = ((getattr(items, name), what) for name, what in _OUTCOMES)
        parts = [f"{number:,} {what}" for number, what in numbers if number]
        yield f"  {format_count(items.found, items.kind)}: {', '.join(parts)}"
        for sample in source.samples:
            if sample.kind == items.kind:
                title = shorten(sample.title, _MAX_TITLE_CHARS)
                words = filter(None, (format_day(sample.at), sample.type, title))
                yield dim(f"    {escape('  '.join(words))}")


def _total_lines(answer: Any, changed: list[Any]) -> Iterable[str]:
    """What was taken over of sources, and what was captured of transcripts."""
    taken, missed = Counter[str](), 0
    for items in (items for source in answer.sources for items in source.items):
        taken[items.kind] += items.new
        missed += items.missed
    what = [format_counts(*((number, kind) for kind, number in taken.items() if number))]
    if changed:
        messages = format_count(sum(session.messages for session in changed), "message")
        events = format_count(sum(session.events for session in changed), "event")
        what.append(f"{messages} of {format_count(len(changed), 'session')} in {events}")
    names = " and ".join(filter(None, what))
    number = answer.records + taken["file"]
    is_update = not number and not missed
    notes = "notes were brought up to date" if is_update else format_count(number, "new note")
    if answer.stopped:
        kept = "nothing captured yet"
        if answer.events and not answer.dry_run:
            kept = f"{format_count(answer.events, 'event')} captured, and kept"
        yield f"{yellow('stopped')}: {kept}; the same command goes on from here"
    elif names and answer.dry_run:
        yield f"would capture {names}; without --dry-run it does"
    elif names:
        yield f"captured {names}; {notes}"
    elif missed:
        yield "nothing was captured"
    elif answer.found:
        yield f"nothing {'new' if answer.sessions or taken else 'to import'} in {_places(answer)}"
    elif not answer.problems:
        yield f"nothing to import: nothing in {_places(answer)}"


def _places(answer: Any) -> str:
    return escape(", ".join(map(short_path, answer.folders)))


def _unreadable(lines: int) -> str:
    return yellow(f"{format_count(lines, 'line')} could not be read")


def _session_lines(session: Any, *, with_host: bool) -> Iterable[str]:
    title = escape(session.title) or f"session {escape(session.id)[:8]}"
    title = f"{title[: _MAX_TITLE_CHARS - 1]}…" if len(title) > _MAX_TITLE_CHARS else title
    names = [escape(session.host)] if with_host else []
    names.append(escape(session.project or "no project"))
    yield "  ".join([_format_time_range(session.first, session.last), *names, bold(title)])
    agents = [(session.agents, "subagent")] if session.agents else []
    counts = (session.messages, "message"), *agents, (session.events, "event")
    yield f"  {dim(format_counts(*counts))}  {dim(session.id)}"


def _format_time_range(first: str, last: str) -> str:
    """From when to when, the day once."""
    begin, end = format_time(first), format_time(last)
    if not begin or begin == end:
        return begin or end or "no time"
    return f"{begin} – {end[11:] if end[:10] == begin[:10] else end}"
