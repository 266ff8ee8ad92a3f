"""What the verbs about sessions answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.text.shell_command import cortex_command, option_words
from cortex.core.text.strings import format_count
from cortex.interfaces.cli.terminal.view import DIM, LONG_LINE, OFF
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
    yellow,
)
from cortex.interfaces.escape_terminal import escape

_MAX_OTHER_PROJECTS, _MAX_LIVE = 5, 5
_REFLECT_SECTIONS = (
    "opening_intent", "questions", "journey", "discoveries", "friction", "patterns",
)  # fmt: skip


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
