"""What the verbs about sessions answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from cortex.core.text.strings import cortex_command, format_count, one_line, option_words, shorten
from cortex.interfaces.cli.text import (
    MAX_PROBLEMS,
    bold,
    dim,
    first,
    format_counts,
    format_day,
    format_time,
    hint,
    list_end_lines,
    note_row,
    path,
    problem_lines,
    section,
    yellow,
)
from cortex.interfaces.cli.view import BOLD, DIM, LONG_LINE_MARK, OFF
from cortex.interfaces.escape_terminal import escape

_MAX_OTHER_PROJECTS, _MAX_LIVE, _MAX_MATCHES = 5, 5, 20
_REFLECT_SECTIONS = (
    "opening_intent", "questions", "journey", "discoveries", "friction", "patterns",
)  # fmt: skip
_MAX_REPLAYED = 20  # notes of one kind that are shown
_REPLAY_HEADINGS = {
    "comes": "new records", "goes": "to the archive", "session": "sessions written anew",
    "undone": "as before",
}  # fmt: skip
_SOURCE_TEXTS = {"model": "by the model", "learnings": "below a heading for learnings"}


def session(answer: Any) -> Iterable[str]:
    if answer.session:
        yield from _session_details_lines(answer)
    elif not answer.id:
        yield from chain.from_iterable(map(_session_lines, answer.hits))
        yield from list_end_lines(answer, "sessions")
        return
    elif answer.outcome in ("started", "resumed"):
        yield escape(answer.name)
        if answer.outcome == "resumed":
            yield dim(f"it goes on in {answer.path}")
        if answer.live:
            yield dim(f"also going on: {', '.join(answer.live[:_MAX_LIVE])}")
    else:
        yield f"{answer.outcome}: {escape(answer.name)}  {dim(path(answer.path))}"
    if answer.note:
        yield f"  {yellow(hint(answer.note))}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _session_lines(row: Any) -> Iterable[str]:
    note = row.hit
    state = "done" if row.state == "done" else yellow(row.state)
    end = f" to {format_time(row.ended)}" if row.ended else ""
    closed_reason = f"  {dim(row.closed)}" if row.closed else ""
    yield f"{format_time(row.started)}{end}  {bold(note.title)}  {state}{closed_reason}"
    if note.snippet:
        yield f"{LONG_LINE_MARK}  {escape(note.snippet)}"
    counts = (row.events, "event"), (row.prompts, "prompt"), (row.records, "record")
    figures = format_counts(*(count for count in counts if count[0]))
    yield f"  {dim(note.project, figures, row.name)}"


def _session_details_lines(answer: Any) -> Iterable[str]:
    yield from _session_lines(answer.session)
    yield f"  {dim(path(answer.session.hit.file))}"
    for text in filter(None, (answer.summary, answer.overview)):
        yield from ("", escape(text, lines=True))
    yield from section("\nprompts", map(_prompt_row, answer.prompts))
    yield from section("\nevents", (f"  {escape(event)}" for event in answer.events))
    yield from section("\nrecords", map(_record_row, answer.records.hits))
    if more := answer.more + answer.records.total - len(answer.records.hits):
        yield f"{more:,} more are not shown"


def _prompt_row(prompt: Any) -> str:
    return f"  {format_time(prompt.at)}  {escape(prompt.text)}"


def _record_row(note: Any) -> str:
    return note_row(note, "", note.type, path(note.id))


def transcript(answer: Any) -> Iterable[str]:
    yield bold(answer.title)
    ended = f" to {format_time(answer.ended)}" if answer.ended else ""
    yield f"  {dim(answer.host, answer.project)}  {format_time(answer.started)}{ended}"
    yield from ((f"  {dim(hint(f'go on: {answer.resume}'))}",) if answer.resume else ())
    matches = set(answer.matches)
    for turn in answer.turns:
        yield ""
        mark = f"  {yellow('found')}" if turn.number in matches else ""
        about = f"  {dim(turn.about)}" if turn.about else ""
        yield f"{turn.number}  {bold(turn.who)}  {dim(format_time(turn.at))}{about}{mark}"
        yield from (escape(turn.text, lines=True),) if turn.text else ()
        yield from (yellow("cut here"),) if turn.cut else ()
        for tool in turn.tools:
            failed = f"  {yellow('failed')}" if tool.failed else ""
            yield f"  {dim(tool.name, tool.summary)}{failed}"
    yield ""
    if matches:
        yield f"found in: {first([*map(str, answer.matches)], _MAX_MATCHES)}"
    if left := answer.total - len(answer.turns):
        yield f"{left:,} more of {answer.total:,} turns{hint(': --from, --number')}"
    yield from section("subagents", (f"  {escape(name)}" for name in answer.subagents))
    for word, one in (("before", answer.earlier), ("after", answer.later)):
        if one:
            yield f"{word}: {escape(one.title)}  {dim(one.id)}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def origin(answer: Any) -> Iterable[str]:
    yield f"{bold(answer.title)}  {dim(path(answer.file))}"
    for one in answer.sources:
        yield f"  {format_time(one.at)}  {escape(one.type)}  {dim(*filter(None, (one.session or one.run, path(one.path or one.event))))}"
        told = f" (transcript {one.transcript}: as it was captured)" if one.session else ""
        where = f", turn {one.turn}" if one.turn > 0 else told
        yield f"    {dim(f'{one.who}{where}')}"
        yield f"{LONG_LINE_MARK}      {BOLD}{escape(one_line(one.sentence))}{OFF}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def context(answer: Any) -> Iterable[str]:
    where = f" on {escape(answer.branch)}" if answer.branch else ""
    yield f"{bold(answer.project or 'all projects')}{where}"
    yield from section("sessions", map(_recent_session_row, answer.sessions.hits))
    yield from section("prompts", map(_prompt_row, answer.prompts.hits))
    yield from section("what matters most", map(_record_row, answer.records.hits))
    figures = answer.figures
    known = (figures.records, "record"), (figures.sessions, "session"), (figures.prompts, "prompt")
    yield format_counts(*known, (figures.open_actions, "open action"))
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _recent_session_row(note: Any) -> str:
    snippet = f": {escape(note.snippet)}" if note.snippet else ""
    return f"  {format_day(note.date)}  {escape(note.title)}{snippet}  {dim(note.status, path(note.id))}"


def brief(answer: Any) -> Iterable[str]:
    if answer.print:
        if text := "\n\n".join(filter(None, (answer.text, answer.contract))):
            yield escape(text, lines=True)
        return
    if answer.into:
        gone = answer.into == "none"
        done = "taken away" if gone else "written"
        yield from (f"{done}: {escape(file)}" for file in answer.written)
        if not answer.written and gone:
            yield "nothing of cortex was there"
        elif not answer.written:
            yield "nothing written: the briefing is there as it is now"
        yield from problem_lines(answer.problems, MAX_PROBLEMS)
        return
    yield from _briefing_header_lines(answer)
    for part in answer.sections:
        yield from ("", bold(part.title))
        for line in part.lines:
            yield _format_item(line)
            if line.why:
                yield f"    {dim(f'{line.why}; {line.tokens} tokens')}"
        if part.more:
            command = hint(f": {part.command}") if part.command else ""
            noun = "more" if part.lines else "in all"
            yield f"  {DIM}{part.more:,} {noun}{command}{OFF}"
    if answer.left_out:
        yield ""
        yield f"{answer.left_out:,} of other branches left out{hint(': cortex brief --all-branches')}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _briefing_header_lines(answer: Any) -> Iterable[str]:
    where = f" on {escape(answer.branch)}" if answer.branch else ""
    yield f"{bold(answer.project or 'no project')}{where}"
    if answer.others:
        named = ", ".join(map(escape, answer.others[:_MAX_OTHER_PROJECTS]))
        others = " and others" if len(answer.others) > _MAX_OTHER_PROJECTS else ""
        yield f"this vault has records of {named}{others}, and none of"
        yield f"{'this project' if answer.project else 'no project'}{hint(': cortex project list')}"
    elif not answer.text:
        command = cortex_command("save", *option_words("project", answer.project))
        yield f"nothing is kept here yet{hint(f': {command} keeps something')}"
    if not answer.text:
        return
    newest = f", newest of {answer.newest}" if answer.newest else ""
    doubts = f", {len(answer.doubts)} in doubt" if answer.doubts else ""
    tokens = f"{answer.tokens:,} of {answer.budget:,} tokens"
    yield f"{dim(tokens + newest + doubts)}{dim(hint('; cortex show HANDLE prints a note'))}"


def _format_item(item: Any) -> str:
    """A line of a briefing: a sign for doubt in front, the handle dim at the end."""
    text = escape(item.text)
    indent = "    " if text.startswith("  ") else "  "
    text = text.lstrip().removeprefix("- ")
    content, _, handle = text.removesuffix("]").rpartition(" [")
    if text.endswith("]") and escape(item.id).endswith(handle):
        text = f"{content}  {DIM}{handle}{OFF}"
    if item.doubt and text.startswith("⚠"):
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
        lines = (f"- {escape(row.text)}  {dim(format_day(row.date), path(row.id))}" for row in rows)
        more = f", and {answer.more[heading]} before these" if heading in answer.more else ""
        yield from section(f"{heading.replace('_', ' ').capitalize()}{dim(more)}", lines)
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def distill(answer: Any) -> Iterable[str]:
    if answer.prompt:
        yield from map(escape, answer.prompt.splitlines())
        return
    for session in answer.sessions:
        yield f"{bold(session.outcome)} {escape(session.title)}  {dim(escape(session.session))}"
        if session.left:
            left = format_count(session.left, "part")
            yield f"  {dim(left + ' to go')}{dim(hint(f': cortex distill --print-prompt {session.session}'))}"
        if answer.dry_run and session.parts:
            size = f"{format_count(session.parts, 'prompt')}, about {session.tokens:,} tokens"
            yield f"  {dim(size)}"
            yield from (f"  {escape(id_)}" for id_ in session.originals)
        for id_ in session.records:
            yield f"  {escape(id_)}"
        for id_, command in session.staying:
            yield f"  {dim(f'stays, as it is not named: {escape(id_)}')}{dim(hint(f': {command}'))}"
        for why, count in session.dropped:
            yield f"  {yellow(f'{count} left out: {why}')}"
        yield from (f"    {dim(escape(shorten(one, 100)))}" for one in session.refused)
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
    for candidate in answer.found:
        if candidate.event != event and len(answer.events) > 1:
            yield dim(candidate.event)
        event = candidate.event
        marks = [*(["pinned"] if candidate.pinned else []), *(f"#{tag}" for tag in candidate.tags)]
        figures = f"{candidate.confidence:.2f} {candidate.layer:10} {escape(candidate.type):10}"
        weight = BOLD if candidate.record else DIM
        yield " ".join([f"{weight}{figures}{OFF}", escape(candidate.text), *map(dim, marks)])
        if candidate.reason:
            yield f"     {dim('because')} {escape(candidate.reason)}"
        line = candidate.line
        source = f"line {line}" if line else _SOURCE_TEXTS.get(candidate.layer, "")
        yield f"     {dim(source + ('' if candidate.record else ', no record'))}"
    for id_ in answer.kept:
        yield f"saved {escape(id_)}"
    records = format_count(sum(candidate.record for candidate in answer.found), "record")
    found = f"{format_count(len(answer.found), 'find')}, {records}"
    yield found if answer.found else "nothing found"
    yield from problem_lines(answer.problems)


def _replayed(answer: Any) -> Iterable[str]:
    """What a replay changes, by kind; of many the first."""
    for change, heading in _REPLAY_HEADINGS.items():
        some = [note for note in answer.notes if note.change == change]
        if some:
            yield bold(f"{heading}: {format_count(len(some), 'note')}")
        for note in some[:_MAX_REPLAYED]:
            yield f"  {escape(note.type):10} {escape(note.title)}  {dim(path(note.path))}"
        if len(some) > _MAX_REPLAYED:
            yield dim(f"  and {len(some) - _MAX_REPLAYED:,} more: --json names all")
    if answer.shared:
        yield yellow("teammates share this vault: whether they use what goes is not known here")
    if not answer.notes:
        yield "nothing differs from what today's rules make"
    elif not answer.applied:
        yield f"nothing is changed yet{hint(': cortex extract --replay --apply does it')}"
    elif answer.undo:
        yield dim(hint(f"undo: {answer.undo}"))
    yield from problem_lines(answer.problems)
