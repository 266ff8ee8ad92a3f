"""What waits for a person's look: what was kept for them, and what is doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Annotated

from cortex.core.extract.candidate import JUDGED_LAYER, TAG_LAYER
from cortex.core.model.caller import Caller
from cortex.core.model.event import latest_event_id
from cortex.core.model.parameters import Between, Time
from cortex.core.model.problem import Problem
from cortex.core.model.relation import SIMILAR
from cortex.core.ranking.text_similarity import DUPLICATE_THRESHOLD
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command, option_words
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import CURRENT
from cortex.index.computed_edges import computed_edges
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.care.status import find_contradictions, find_stale
from cortex.operations.care.vault_checks import secret_problems
from cortex.operations.find.hits import Hits
from cortex.operations.find.note_ranks import find_faded
from cortex.operations.find.resolve_note import command
from cortex.operations.find.show import read_note
from cortex.operations.records.consolidate import related_pairs
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date
from cortex.vault.git.publish_check import SECRET_WORDS
from cortex.vault.locate import Vault

_MONTH_SECONDS = 30 * 24 * 3600
_REVIEWED = " --reviewed "  # in the hint of a problem that this ends
_LINE_RE = lazy_re(r":[0-9]+$")
_MAX_LOOKED_AT, _MAX_SHOWN = 500, 1000  # records that changed lately; entries of a group
# By the layer of a record, of whatever a session said; else by the source of its last event.
_MADE_BY = {
    "distilled": "a model made it of a session",
    JUDGED_LAYER: "rules found it in a session",
    TAG_LAYER: "an agent marked it",
}
_MADE_OVER = {
    "mcp": "an agent saved it", "hook": "it was said in a session", "import": "it was said in a session",
    "python": "a program saved it", "http": "a program saved it",
}  # fmt: skip


class ReviewEntry(NamedTuple):
    """A note to look at, and the commands that end that."""

    id: str
    title: str
    type: str
    path: str  # relative to the vault
    file: str  # absolute path
    date: Time  # of its last change
    why: str
    other: str = ""  # the id of the other note, of two that do not go together
    keep: str = ""  # it is right as it is; empty where no command of Cortex says so
    fix: str = ""
    drop: str = ""


class ReviewResult(NamedTuple):
    """What waits, by its kind: the newest entries, and how many there are."""

    kept: Hits[ReviewEntry]
    contradictions: Hits[ReviewEntry]
    duplicates: Hits[ReviewEntry]
    conflicts: Hits[ReviewEntry]
    secrets: Hits[ReviewEntry]
    stale: Hits[ReviewEntry]
    faded: Hits[ReviewEntry]
    problems: tuple[Problem, ...]


def review(
    vault: Vault, caller: Caller, *, number: Annotated[int, Between(1, _MAX_SHOWN)] = 20
) -> ReviewResult:
    """List what waits for a person's look.

    Records that rules, a model or an agent made in the last 30 days and that nobody has looked at since
    their last change; records that contradict each other or may be the same; what a merge left open;
    what looks like a secret and is not published yet; what is stale or faded, as in cortex status.
    cortex revise ID --reviewed says that one is right as it is.

    number: how many of each kind at the most

    Example: cortex review
    Example: cortex review --json
    """
    since = epoch_seconds(caller.now) - _MONTH_SECONDS
    lately = CURRENT._replace(has_id=True, changed_since=since)
    problems = bring_up_to_date(vault, caller)
    secrets = secret_problems(vault.root)

    def look(index: IndexSession) -> tuple[list[ReviewEntry], ...]:
        catalogue, entry = index.catalogue, partial(_entry, vault)
        rows = catalogue.find(lately._replace(not_types=("session",)), "-date", _MAX_LOOKED_AT)
        opposite = _unseen(vault, find_contradictions(catalogue))
        alike = _unseen(vault, _alike_pairs(index, rows))
        stale, done = "open, and unchanged for 30 days", ("--status", "done")
        merged = filter(_is_of_merge, catalogue.problems())
        return (
            [entry(row, why) for row in rows if (why := _who_made(vault, row))],
            [
                entry(new, "say opposite things", old, command("supersede", old, "--by", new))
                for new, old in opposite
            ],
            [
                entry(new, "say nearly the same", old, command("consolidate", new, old))
                for new, old in alike
                if (new, old) not in opposite
            ],
            [_of_problem(vault, catalogue, one) for one in merged],
            [_of_problem(vault, catalogue, one) for one in secrets],
            [
                entry(row, stale, fix=command("revise", row, *done))
                for row in find_stale(catalogue, caller.now)
            ],
            [entry(one.row, one.why) for one in find_faded(index, vault, caller.now)[0]],
        )

    groups = query_index(vault, caller.progress, look)
    hits = (Hits(some[:number], len(some)) for some in groups)
    return ReviewResult._make((*hits, tuple(problems)))


def _entry(
    vault: Vault, row: NoteRow, why: str, other: NoteRow | None = None, fix: str = ""
) -> ReviewEntry:
    """The entry of a note; in one of a person's own Cortex writes nothing."""
    about = row.id, row.title, row.type, row.path, vault.file(row.path), row.when, why
    ours = (
        command("revise", row, "--reviewed"),
        fix or command("edit", row),
        command("archive", row),
    )
    commands = ours if row.id != row.path else ("", ours[1], "")
    return ReviewEntry(*about, other.id if other else "", *commands)


def _unseen(
    vault: Vault, pairs: Iterable[tuple[NoteRow, NoteRow]]
) -> list[tuple[NoteRow, NoteRow]]:
    """The pairs that nobody has reviewed since both were changed, the newer note first."""
    found = list[tuple[NoteRow, NoteRow]]()
    for pair in pairs:
        new, old = sorted(pair, key=lambda row: (-row.date, row.path))
        if max(_reviewed(vault, new), _reviewed(vault, old)) < max(new.updated, old.updated):
            found.append((new, old))
    return sorted(found, key=lambda pair: -pair[0].date)


def _alike_pairs(index: IndexSession, rows: Sequence[NoteRow]) -> Iterator[tuple[NoteRow, NoteRow]]:
    """The records of one project that may be the same as one of these, and are not related."""
    numbers = [row.number for row in rows]
    edges = computed_edges(index.catalogue, numbers, (SIMILAR,), DUPLICATE_THRESHOLD)
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    found, related = index.catalogue.rows_by_number(ends), related_pairs(index, ends)
    for edge in edges:
        one, other = found[edge.source], found[edge.target]
        # Where numbers in them differ they are no more alike than that.
        is_strong = edge.strength > DUPLICATE_THRESHOLD and one.project == other.project
        if is_strong and other.id != other.path and {edge.source, edge.target} not in related:
            yield one, other


def _who_made(vault: Vault, row: NoteRow) -> str:
    """What made a record that no person has typed nor looked at since; else empty."""
    note = read_note(vault, row.path) if row.events else None
    if note is None or note.get("reviewed_at") >= row.updated:
        return ""
    if why := _MADE_BY.get(str(note.provenance()[1].get("layer", ""))):
        return why
    event = read_note(vault, vault.layout().event(latest_event_id(row.events)))
    return _MADE_OVER.get(event.get("source"), "") if event else ""


def _reviewed(vault: Vault, row: NoteRow) -> str:
    note = read_note(vault, row.path)
    return note.get("reviewed_at") if note else ""


def _is_of_merge(problem: Problem) -> bool:
    return "conflict" in f"{problem.message} {problem.hint}" or _REVIEWED in problem.hint


def _of_problem(vault: Vault, catalogue: Catalogue, problem: Problem) -> ReviewEntry:
    """The entry of a note or file of which something is to be decided."""
    path, is_secret = _LINE_RE.sub("", problem.where), SECRET_WORDS in problem.message
    share = cortex_command("sync", *option_words("publish", path)) if is_secret else ""
    if row := catalogue.row_at(path):
        entry = _entry(vault, row, problem.message)
        keep = share or (entry.keep if _REVIEWED in problem.hint else "")
        drop = command("erase", row) if is_secret and entry.drop else ""
        return entry._replace(keep=keep, drop=drop)
    return ReviewEntry(path, path, "", path, vault.file(path), "", problem.message, keep=share)
