"""Say of each line of a briefing why it is there, in plain words, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cortex.core.briefing.compose import (
    AT_HAND,
    DECISIONS,
    KNOWLEDGE,
    OPEN,
    PINNED,
    PLAN,
    RULES,
    SESSIONS,
    TRAPS,
    BriefingLine,
    BriefingSection,
)
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.ranking.importance import Signals, total_score
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.token_count import count_tokens
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
_REASONS = {
    PINNED: "pinned", RULES: "your rule", AT_HAND: "at hand", OPEN: "open, without a date",
    PLAN: "a plan that goes on", SESSIONS: "one of the last sessions",
}  # fmt: skip


def explain_sections(
    vault: Vault,
    caller: Caller,
    branch: str,
    selection: BriefingSelection,
    sections: Sequence[BriefingSection],
) -> tuple[BriefingSection, ...]:
    """The sections, each line with its tokens and why it is there."""
    rows = {row.id: row for some in selection.parts.values() for row in some}
    lines = (line for part in sections for line in part.lines)
    own = [row for line in lines if (row := rows.get(line.id)) and row.number >= 0]
    last = [row for row in selection.parts.get(SESSIONS, ()) if row.number >= 0][:RECENT_SESSIONS]
    of_last = NoteFilter(tiers=(TIER_TRAIL,), sessions={row.session for row in last})

    def look(index: IndexSession) -> tuple[dict[int, list[str]], dict[int, Signals]]:
        find_files = partial(index.catalogue.entities_of, kind="file")
        events = index.catalogue.find(of_last, "-id", RECENT_EVENTS)
        numbers = [row.number for row in (*last, *events)]
        touched = {key for some in find_files(numbers).values() for _, _, key, _ in some}
        files = {
            number: [name for _, name, key, _ in some if key in touched]
            for number, some in find_files([row.number for row in own]).items()
        }
        return files, signals_of_notes(vault, index, own, branch)

    files, signals = query_index(vault, caller.progress, look)
    moment, shown_branch = epoch_seconds(caller.now), "" if branch in DEFAULT_BRANCHES else branch

    def explain(part: BriefingSection, place: int, line: BriefingLine) -> BriefingLine:
        row = rows.get(line.id)
        if row is None:
            kind = f"a {line.type} of " if line.type not in ("", "note") else ""
            why = f"{kind}a note of your own"
        elif part.kind in (DECISIONS, TRAPS, KNOWLEDGE):
            why = f"{part.title}: number {place} of {len(part.lines) + part.more} by worth"
            if known := signals.get(row.number):
                why = f"{why}, score {total_score(known, moment):.1f} of 5"
        else:
            is_step = line.text.startswith("  ")
            why = _reason(part.kind, row, files.get(row.number, []), caller.now, is_step=is_step)
        if row and shown_branch == row.branch != "":
            why = f"{why}, of this branch ({branch})"
        whose = ", in your own vault" if row and row.number < 0 else ""
        return line._replace(tokens=count_tokens(f"{line.text}\n"), why=why + whose)

    return tuple(
        part._replace(lines=tuple(explain(part, *pair) for pair in enumerate(part.lines, 1)))
        for part in sections
    )


def _reason(kind: str, row: NoteRow, files: Sequence[str], now: str, *, is_step: bool) -> str:
    """Why a note stands in a part that is not ranked."""
    if kind == AT_HAND and files:
        named = ", ".join(dict.fromkeys(files[:_MAX_FILES]))
        return f"names {named}, which the last sessions touched"
    if kind == OPEN and row.due:
        return f"{'overdue since' if is_overdue(row.due, now) else 'open, due'} {row.due}"
    if kind == PLAN and is_step:
        return "a step of the plan that is left"
    return _REASONS.get(kind, "of every project" if row.scope == "global" else "yours alone")
