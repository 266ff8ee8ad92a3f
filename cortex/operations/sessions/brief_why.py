"""Say of each line of a briefing why it is there, in plain words, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.briefing.compose import (
    AT_HAND,
    EVERYWHERE,
    OPEN,
    PINNED,
    PLAN,
    RULES,
    SESSIONS,
    BriefingLine,
    BriefingSection,
)
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.ranking.importance import total_score
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.token_count import count_tokens
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.actions import is_overdue
from cortex.operations.find.note_ranks import signals_of_notes
from cortex.operations.sessions.brief_select import (
    RECENT_EVENTS,
    RECENT_SESSIONS,
    BriefingSelection,
)
from cortex.vault.git.branches import DEFAULT_BRANCHES
from cortex.vault.locate import Vault

_MAX_FILES = 2  # that are named


class _Known(NamedTuple):
    files: dict[int, list[str]]  # of a note: what it names and the last sessions touched
    scores: dict[int, float]  # of notes of this vault, 0 to 5


def explain_sections(
    vault: Vault,
    caller: Caller,
    branch: str,
    selection: BriefingSelection,
    sections: Sequence[BriefingSection],
) -> tuple[BriefingSection, ...]:
    """The sections, each line with its tokens and why it is there."""
    rows = {row.id: row for some in selection.parts.values() for row in some}
    shown = [rows[line.id] for each in sections for line in each.lines if line.id in rows]
    last = [row for row in selection.parts.get(SESSIONS, ()) if row.number >= 0][:RECENT_SESSIONS]

    def look(index: IndexSession) -> _Known:
        of_sessions = NoteFilter(tiers=(TIER_TRAIL,), sessions={row.session for row in last})
        events = index.catalogue.find(of_sessions, "-id", RECENT_EVENTS)
        both = [row.number for row in (*last, *events)]
        found = index.catalogue.entities_of(both, "file").values()
        touched = {key for some in found for _, _, key, _ in some}
        own = [row for row in shown if row.number >= 0]
        named = index.catalogue.entities_of([row.number for row in own], "file")
        files = {
            number: [name for _, name, key, _ in some if key in touched]
            for number, some in named.items()
        }
        moment = epoch_seconds(caller.now)
        signals = signals_of_notes(vault, index, own, branch).items()
        return _Known(files, {number: total_score(one, moment) for number, one in signals})

    known = query_index(vault, caller.progress, look)

    def explain(part: BriefingSection, place: int, line: BriefingLine) -> BriefingLine:
        why = _why(part, place, line, rows.get(line.id), known, branch=branch, now=caller.now)
        return line._replace(tokens=count_tokens(f"{line.text}\n"), why=why)

    return tuple(
        part._replace(lines=tuple(explain(part, *pair) for pair in enumerate(part.lines, 1)))
        for part in sections
    )


def _why(
    part: BriefingSection,
    place: int,
    line: BriefingLine,
    row: NoteRow | None,
    known: _Known,
    *,
    branch: str,
    now: str,
) -> str:
    if row is None:
        return (
            f"a {line.type} of a note of your own"
            if line.type not in ("", "note")
            else "a note of your own"
        )
    is_theirs = branch not in ("", *DEFAULT_BRANCHES) and row.branch == branch
    is_here = f", of this branch ({branch})" if is_theirs else ""
    whose = ", in your own vault" if row.number < 0 else ""
    if files := part.kind == AT_HAND and known.files.get(row.number):
        return (
            f"names {', '.join(dict.fromkeys(files[:_MAX_FILES]))}, which the last sessions touched"
        )
    if part.kind == PLAN:
        first = "the plan that goes on" if place == 1 else "another plan"
        return f"{'a step of it that is left' if line.text.startswith('  ') else first}{is_here}"
    if part.kind == OPEN and row.due:
        return f"{'overdue since' if is_overdue(row.due, now) else 'open, due'} {row.due}"
    fixed = {
        PINNED: f"pinned{whose}",
        RULES: f"your rule{whose}",
        AT_HAND: is_here.removeprefix(", ") or "of these files",
        OPEN: f"open, without a date{is_here}",
        SESSIONS: f"one of the last sessions{is_here}",
        EVERYWHERE: f"{'yours alone' if row.scope == 'personal' else 'of every project'}{whose}",
    }
    if part.kind in fixed:
        return fixed[part.kind]
    total = len(part.lines) + part.more
    score = f", score {known.scores[row.number]:.1f} of 5" if row.number in known.scores else ""
    return f"number {place} of {total} {part.title.lower()} by worth{score}{whose}{is_here}"
