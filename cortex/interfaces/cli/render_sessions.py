"""What the verbs about sessions answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.text.shell_command import cortex_command, option_words
from cortex.core.text.strings import format_count
from cortex.interfaces.cli.terminal.view import BOLD, DIM, LONG_LINE, OFF
from cortex.interfaces.cli.text import (
    MAX_PROBLEMS,
    bold,
    dim,
    format_time,
    list_end_lines,
    note_row,
    path,
    problem_lines,
    section,
    short_path,
    yellow,
)
from cortex.interfaces.escape_terminal import escape

_MAX_OTHER_PROJECTS, _MAX_LIVE = 5, 5
_REFLECT_SECTIONS = (
    "opening_intent", "questions", "journey", "discoveries", "friction", "patterns",
)  # fmt: skip
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


def session(answer: Any) -> Iterable[str]:
    if hasattr(answer, "session"):
        yield from _session_details_lines(answer)
    elif hasattr(answer, "hits"):
        for one in answer.hits:
            yield from _session_lines(one)
        yield from list_end_lines(answer, "sessions")
        return
    elif hasattr(answer, "live"):
        yield escape(answer.name)
        if answer.outcome == "resumed":
            yield dim(f"it goes on in {answer.path}")
        if answer.live:
            yield dim(f"also going on: {', '.join(answer.live[:_MAX_LIVE])}")
    else:
        yield f"{answer.outcome}: {escape(answer.name)}  {dim(path(answer.path))}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _session_lines(one: Any) -> Iterable[str]:
    note = one.hit
    state = "done" if one.state == "done" else yellow(one.state)
    end = f" to {format_time(one.ended)}" if one.ended else ""
    closed = f"  {dim(one.closed)}" if one.closed else ""
    yield f"{format_time(one.started)}{end}  {bold(note.title)}  {state}{closed}"
    if note.snippet:
        yield f"{LONG_LINE}  {escape(note.snippet)}"
    counts = (one.events, "event"), (one.prompts, "prompt"), (one.records, "record")
    figures = ", ".join(format_count(number, noun) for number, noun in counts if number)
    yield f"  {dim(note.project, figures, one.name)}"


def _session_details_lines(answer: Any) -> Iterable[str]:
    yield from _session_lines(answer.session)
    yield f"  {dim(path(answer.session.hit.file))}"
    for text in filter(None, (answer.summary, answer.overview)):
        yield from ("", escape(text, lines=True))
    prompts = (f"  {format_time(one.at)}  {escape(one.text)}" for one in answer.prompts)
    events = (f"  {escape(one)}" for one in answer.events)
    records = (note_row(one, "", one.type, one.id) for one in answer.records.hits)
    yield from section("\nprompts", prompts)
    yield from section("\nevents", events)
    yield from section("\nrecords", records)
    if more := answer.more + answer.records.total - len(answer.records.hits):
        yield f"{more:,} more are not shown"


def context(answer: Any) -> Iterable[str]:
    where = f" on {escape(answer.branch)}" if answer.branch else ""
    yield f"{bold(answer.project or 'all projects')}{where}"
    yield from section("sessions", map(_recent_session_row, answer.sessions.hits))
    prompts = (f"  {format_time(one.at)}  {escape(one.text)}" for one in answer.prompts.hits)
    yield from section("prompts", prompts)
    records = (note_row(one, "", one.type, one.id) for one in answer.records.hits)
    yield from section("what matters most", records)
    one = answer.figures
    known = (one.records, "record"), (one.sessions, "session"), (one.prompts, "prompt")
    counts = (*known, (one.open_actions, "open action"))
    yield ", ".join(format_count(number, noun) for number, noun in counts)
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _recent_session_row(one: Any) -> str:
    snippet = f": {escape(one.snippet)}" if one.snippet else ""
    return f"  {escape(one.date[:10])}  {escape(one.title)}{snippet}  {dim(one.status, one.id)}"


def brief(answer: Any) -> Iterable[str]:
    if answer.print:
        if text := "\n\n".join(filter(None, (answer.text, answer.contract))):
            yield escape(text, lines=True)
        return
    if answer.into:
        gone = answer.into == "none"
        done = "taken away" if gone else "written"
        yield from (f"{done}: {escape(one)}" for one in answer.written)  # of the working directory
        if not answer.written and gone:
            yield "nothing of cortex was there"
        elif not answer.written:
            yield "nothing written: the briefing is there as it is now"
        yield from problem_lines(answer.problems, MAX_PROBLEMS)
        return
    yield from _briefing_header_lines(answer)
    for one in answer.sections:
        yield from ("", bold(one.title), *map(_format_item, one.lines))
        if one.more:
            command = f": {one.command}" if one.command else ""
            noun = "more" if one.lines else "in all"
            yield f"  {dim(f'{one.more:,} {noun}{command}')}"
    if answer.left_out:
        yield ""
        yield f"{answer.left_out:,} of other branches left out: cortex brief --all-branches"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _briefing_header_lines(answer: Any) -> Iterable[str]:
    where = f" on {escape(answer.branch)}" if answer.branch else ""
    yield f"{bold(answer.project or 'no project')}{where}"
    if answer.others:
        named = ", ".join(map(escape, answer.others[:_MAX_OTHER_PROJECTS]))
        others = " and others" if len(answer.others) > _MAX_OTHER_PROJECTS else ""
        yield f"this vault has records of {named}{others}, and none of"
        yield f"{'this project' if answer.project else 'no project'}: cortex project list"
    elif not answer.text:
        command = cortex_command("save", *option_words("project", answer.project))
        yield f"nothing is kept here yet: {command} keeps something"
    if not answer.text:
        return
    newest = f", newest of {answer.newest}" if answer.newest else ""
    doubts = f", {len(answer.doubts)} in doubt" if answer.doubts else ""
    tokens = f"{answer.tokens:,} of {answer.budget:,} tokens"
    yield dim(f"{tokens}{newest}{doubts}; cortex show HANDLE prints a note")


def _format_item(one: Any) -> str:
    """A line of a briefing: a sign for doubt in front, the handle dim at the end."""
    text = escape(one.text)
    indent = "    " if text.startswith("  ") else "  "
    text = text.lstrip().removeprefix("- ")
    told, _, handle = text.removesuffix("]").rpartition(" [")
    if text.endswith("]") and escape(one.id).endswith(handle):
        text = f"{told}  {DIM}{handle}{OFF}"
    if one.doubt and text.startswith("⚠"):
        text = yellow("⚠") + text[1:]
    return indent + text


def reflect(answer: Any) -> Iterable[str]:
    if answer.saved:
        yield f"{answer.saved.outcome}: {escape(answer.saved.id)}  {dim(path(answer.saved.path))}"
        return
    of = escape(answer.project) or "all projects"
    yield bold(
        f"{of} since {format_time(answer.since)}: {format_count(answer.sessions, 'session')}"
    )
    for heading in _REFLECT_SECTIONS:
        rows = getattr(answer, heading)
        lines = (f"- {escape(one.text)}  {dim(one.date[:10], one.id)}" for one in rows)
        more = f", and {answer.more[heading]} before these" if heading in answer.more else ""
        yield from section(f"{heading.replace('_', ' ').capitalize()}{dim(more)}", lines)
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def distill(answer: Any) -> Iterable[str]:
    if answer.prompt:
        yield from map(escape, answer.prompt.splitlines())
        return
    for one in answer.sessions:
        yield f"{bold(one.outcome)} {escape(one.title)}  {dim(escape(one.session))}"
        if one.left:
            left = format_count(one.left, "part")
            yield f"  {dim(f'{left} to go: cortex distill --print-prompt {escape(one.session)}')}"
        if answer.dry_run and one.parts:
            size = f"{format_count(one.parts, 'prompt')}, about {one.tokens:,} tokens"
            yield f"  {dim(size)}"
        for id_ in one.records:
            yield f"  {escape(id_)}"
        for why, count in one.dropped:
            yield f"  {yellow(f'{count} left out: {why}')}"
    if not answer.sessions:
        yield "nothing to distill"
    if answer.dollars:
        yield dim(f"it cost {answer.dollars:.2f} dollars")
    yield from problem_lines(answer.problems)


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
        yield f"{_unreadable(one.lines)} in {escape(short_path(one.path))}"
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
    places = escape(", ".join(map(short_path, answer.folders)))
    if not answer.transcripts:
        return f"nothing to import: no transcripts in {places}"
    return f"nothing {'new' if answer.sessions else 'to import'} in {places}"


def _format_time_range(first: str, last: str) -> str:
    """From when to when, the day once."""
    begin, end = format_time(first), format_time(last)
    if not begin or begin == end:
        return begin or end or "no time"
    return f"{begin} – {end[11:] if end[:10] == begin[:10] else end}"
