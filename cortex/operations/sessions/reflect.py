"""Gather what some days of work were about, for whoever writes a reflection, and keep that text.

The same notes give the same answer; no model is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Since, Time
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.session_asks import is_own_prompt, subjects_of
from cortex.core.model.turn_summary import USER, TurnSummary, parse_turn_summary, utterances
from cortex.core.text.days import clock
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import format_time, one_line, shorten
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT, TRAIL
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import project_names, resolve_project
from cortex.operations.find.resolve_session import IS_SESSION, session_name
from cortex.operations.find.show import read_note
from cortex.operations.records.change_record import is_editable
from cortex.operations.records.save import SaveResult, save as save_record
from cortex.operations.sessions.session_list import event_text, summary_hit
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault

_WEEK_SECONDS = 7 * 86_400
_MAX_SESSIONS, _MAX_EVENTS = 50, 1000  # the newest
_MAX_CHARS = 200
_ITEMS_OF_STYLE = {"brief": 3, "": 8, "full": 50}  # in each section
_DISCOVERIES = ("decision", "learning", "discovery", "bugfix", "preference", "architecture")
_FRICTION = ("gotcha", "rejection")
_MIN_SESSIONS_OF_FILE = 2
_HEADING_RE = lazy_re(r"^#+\s+")
_SENTENCE_END_RE = lazy_re(r"(?<=[.!?])\s+|\n")


class Finding(NamedTuple):
    """One line of a section, and the note that says it."""

    text: str
    id: str
    date: Time


class ReflectResult(NamedTuple):
    """Raw material, oldest first, the last of it where there is more than the style shows."""

    project: str  # empty: of all
    since: Time
    sessions: int
    opening_intent: tuple[Finding, ...]  # what each session began with
    questions: tuple[Finding, ...]  # that the person asked
    journey: tuple[Finding, ...]  # the sessions and what came of them
    discoveries: tuple[Finding, ...]  # decisions and what was learned
    friction: tuple[Finding, ...]  # commands that failed, gotchas, what was rejected
    patterns: tuple[Finding, ...]  # patterns, and files that several sessions changed
    more: dict[str, int]  # section -> older lines than those that are shown
    saved: SaveResult | None
    problems: tuple[Problem, ...]


def reflect(
    vault: Vault,
    caller: Caller,
    *,
    scope: str = "project",
    since: Since | None = None,
    style: Literal["", "brief", "full"] = "",
    save: str = "",
) -> ReflectResult:
    """Gather what some days were about, or keep a reflection.

    What sessions began with, what was asked, how it went, what was found out, what went wrong, what
    comes again. With --save a text that somebody made of it is kept as a record of the type reflect,
    with the ids of the sessions and records that it was made from.

    scope: project (that of the working directory), all, or the name of a project
    since: only since then; by default for a week
    style: brief, for three lines a section, or full, for up to fifty; else eight
    save: the reflection, its first line the title, or found for these sections as they are; a single - reads standard input

    Example: cortex reflect --since 2w
    Example: cortex reflect --scope all --save - < reflection.md
    """
    named = "" if scope == "project" else scope
    project = "" if scope == "all" else resolve_project(vault, caller, named)
    start = epoch_seconds(caller.now) - _WEEK_SECONDS if since is None else since
    if save and not save.strip():
        raise InvalidInputError("the reflection is empty", "cortex reflect --save 'TEXT'")
    sections, count, sources, problems = _gather(vault, caller, project, start)
    most = _ITEMS_OF_STYLE[style]
    if save == "found":
        lines = (f"- {one.text} [[{one.id}]]" if one else f"\n## {name.replace('_', ' ').capitalize()}\n" for name, some in sections.items() if some for one in (None, *some[-most:]))  # fmt: skip
        save = "\n".join((f"Reflection since {clock(format_time(start), caller.zone)[:10]}", *lines)) if any(sections.values()) else ""  # fmt: skip
    ids = dict.fromkeys(one.id for some in sections.values() for one in some)
    of = [id_ for id_ in ids if id_ in sources]
    saved = _keep(vault, caller, project, save, of) if save else None
    return ReflectResult(
        project, format_time(start), count, **{name: tuple(some[-most:]) for name, some in sections.items()},
        more={name: len(some) - most for name, some in sections.items() if len(some) > most},
        saved=saved, problems=tuple(problems),
    )  # fmt: skip


def _keep(
    vault: Vault, caller: Caller, project: str, text: str, sources: Iterable[str]
) -> SaveResult:
    title, _, body = text.strip().partition("\n")
    return save_record(
        vault, caller, _HEADING_RE.sub("", title), type="+reflect", body=body.strip() or title,
        project=project, derived_from=tuple(sources),
    )  # fmt: skip


def _gather(
    vault: Vault, caller: Caller, project: str, start: int
) -> tuple[dict[str, list[Finding]], int, set[str], list[Problem]]:
    """The sections, how many sessions they are of, the ids of their notes that name one note each,
    and what is wrong."""
    names = project_names(vault, project) if project else None
    is_session = IS_SESSION._replace(projects=names, changed_since=start)
    is_record = CURRENT._replace(projects=names, changed_since=start, has_id=True)

    def find(index: IndexSession) -> tuple[list[NoteRow], list[NoteRow], list[NoteRow]]:
        sessions = index.catalogue.find(is_session, "-date", _MAX_SESSIONS)
        wanted = TRAIL._replace(sessions=[session_name(row) for row in sessions])
        turns = index.catalogue.find(wanted, "-id", _MAX_EVENTS) if sessions else []
        return sessions, turns, index.catalogue.find(is_record, "date")

    (sessions, turns, records), problems = query_fresh(vault, caller, find)
    turns = [row for row in reversed(turns) if epoch_seconds(_time_of(row)) >= start]
    summaries = [(row, parse_turn_summary(event_text(vault, row.path))) for row in turns]
    said = [(row, text) for row, turn in summaries for text in _said(row, turn)]
    begun = [(row, intent) for row, text in said if (intent := _intent(text))]
    first = {row.session: (row, intent) for row, intent in reversed(begun)}
    sections = {
        "opening_intent": [_finding(row, intent) for row, intent in reversed(first.values())],
        "questions": [
            _finding(row, sentence)
            for row, text in said
            if is_own_prompt(text)
            for sentence in _SENTENCE_END_RE.split(text)
            if sentence.endswith("?")
        ],
        "journey": [_journey(vault, row) for row in reversed(sessions)],
        "discoveries": [_finding(row, row.title) for row in records if row.type in _DISCOVERIES],
        "friction": [
            *(
                _finding(row, f"{run.line}: {run.outcome}")
                for row, turn in summaries
                for run in turn.commands
                if run.outcome != "ok"
            ),
            *(_finding(row, row.title) for row in records if row.type in _FRICTION),
        ],
        "patterns": [
            *_often_changed(summaries),
            *(_finding(row, row.title) for row in records if row.type == "pattern"),
        ],
    }
    for name, some in sections.items():  # each thing once, in its order
        once = {one.text: one for one in some}
        sections[name] = sorted(once.values(), key=lambda one: one.date)
    of_path = {row.path: row for row in (*sessions, *records)}
    named = Counter(row.id for row in of_path.values() if is_editable(row))
    sources = {id_ for id_, count in named.items() if count == 1}
    return sections, len(sessions), sources, problems


def _said(row: NoteRow, turn: TurnSummary) -> list[str]:
    """The person's utterances in a turn; of a prompt's event the whole text first."""
    whole = [turn.message] if row.type == "prompt" else []
    said = utterances(turn.message)
    return [*whole, *(one.text for one in said if one.role == USER and not one.about)]


def _intent(text: str) -> str:
    """What a prompt asks for: the prompt itself, or the titles of a plan that was pasted."""
    return text if is_own_prompt(text) else "; ".join(subjects_of(text))


def _often_changed(summaries: Iterable[tuple[NoteRow, TurnSummary]]) -> Iterator[Finding]:
    """The files that several sessions changed."""
    changed = {(file, row.session): row for row, turn in summaries for file in turn.changed_files}
    last = {file: row for (file, _), row in changed.items()}
    for file, count in Counter(file for file, _ in changed).items():
        if count >= _MIN_SESSIONS_OF_FILE:
            yield _finding(last[file], f"{file} was changed in {count} sessions")


def _journey(vault: Vault, row: NoteRow) -> Finding:
    outcome = summary_hit(vault, row, read_note(vault, row.path)).snippet
    return _finding(row, f"{row.title}: {outcome}" if outcome else row.title)


def _finding(row: NoteRow, text: str) -> Finding:
    return Finding(shorten(one_line(text), _MAX_CHARS), row.id, _time_of(row))


def _time_of(row: NoteRow) -> str:
    return events.time_of_id(row.id) if events.is_event_id(row.id) else row.when
