"""Say of each line of a briefing why it is there, in plain words, and what it costs."""

from __future__ import annotations

from functools import partial

from cortex.core.briefing import compose
from cortex.core.briefing.compose import BriefingLine, BriefingSection
from cortex.core.briefing.injected import BriefResult
from cortex.core.model.caller import Caller
from cortex.core.ranking.importance import total_score
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.token_count import count_tokens
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT, TRAIL, NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.project_context import project_names
from cortex.operations.find.actions import is_overdue
from cortex.operations.find.note_ranks import signals_of_notes
from cortex.vault.git.branches import DEFAULT_BRANCHES
from cortex.vault.locate import Vault

_LAST_SESSIONS, _LAST_EVENTS, _MAX_FILES = 5, 60, 2  # as a briefing looks at; files that are named
_RANKED = (compose.DECISIONS, compose.TRAPS, compose.KNOWLEDGE)
_REASONS = {
    compose.PINNED: "pinned", compose.RUNS: "of the last seven days", compose.RULES: "your rule", compose.AT_HAND: "at hand",
    compose.OPEN: "open, without a date", compose.PLAN: "a plan that goes on",
    compose.SESSIONS: "one of the last sessions",
}  # fmt: skip


def explain_sections(
    vault: Vault, caller: Caller, brief: BriefResult
) -> tuple[BriefingSection, ...]:
    """The sections of a briefing, each line with its tokens and why it is there."""
    projects = project_names(vault, brief.project)
    ids = {line.id for part in brief.sections for line in part.lines}
    sessions = CURRENT._replace(types=("session",), projects=projects)
    branch = "" if brief.branch in DEFAULT_BRANCHES else brief.branch

    def look(
        index: IndexSession,
    ) -> tuple[dict[str, NoteRow], dict[int, list[str]], dict[int, float]]:
        find, find_files = index.catalogue.find, partial(index.catalogue.entities_of, kind="file")
        rows = {row.id: row for row in find(NoteFilter(ids=ids))}
        last = find(sessions, "-date", _LAST_SESSIONS)
        of_last = TRAIL._replace(sessions={row.session for row in last})
        numbers = [row.number for row in (*last, *find(of_last, "-id", _LAST_EVENTS))]
        touched = {key for some in find_files(numbers).values() for _, _, key, _ in some}
        named = find_files([row.number for row in rows.values()]).items()
        files = {at: [name for _, name, key, _ in some if key in touched] for at, some in named}
        moment = epoch_seconds(caller.now)
        signals = signals_of_notes(vault, index, rows.values(), brief.branch).items()
        return rows, files, {at: total_score(one, moment) for at, one in signals}

    rows, files, scores = query_index(vault, caller.progress, look)

    def explain(part: BriefingSection, place: int, line: BriefingLine) -> BriefingLine:
        row = rows.get(line.id)
        if line.id.partition(":")[0].endswith(".md"):
            kind = f"a {line.type} of " if line.type not in ("", "note") else ""
            why = f"{kind}a note of your own"
        elif part.kind in _RANKED:
            score = f", score {scores[row.number]:.1f} of 5" if row else ""
            why = f"{part.title}: number {place} of {len(part.lines) + part.more} by worth{score}"
        elif part.kind == compose.AT_HAND and row and files.get(row.number):
            named = dict.fromkeys(files[row.number][:_MAX_FILES])
            why = f"names {', '.join(named)}, which the last sessions touched"
        elif part.kind == compose.OPEN and row and row.due:
            why = (
                f"{'overdue since' if is_overdue(row.due, caller.today) else 'open, due'} {row.due}"
            )
        elif part.kind == compose.PLAN and line.text.startswith("  "):
            why = "a step of the plan that is left"
        else:
            is_shared = row and row.scope == "global"
            why = _REASONS.get(part.kind, "of every project" if is_shared else "yours alone")
        if row is None and not why.endswith("of your own"):
            why = f"{why}, in your own vault"
        elif row and branch == row.branch != "":
            why = f"{why}, of this branch ({branch})"
        return line._replace(tokens=count_tokens(f"{line.text}\n"), why=why)

    return tuple(
        part._replace(lines=tuple(explain(part, *pair) for pair in enumerate(part.lines, 1)))
        for part in brief.sections
    )
