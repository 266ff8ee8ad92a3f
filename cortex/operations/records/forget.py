"""Archive what somebody can describe but not name."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Invalid, Problem
from cortex.core.model.status import CURRENT
from cortex.core.ranking import query as queries
from cortex.core.ranking.text_similarity import STRONG, of_tokens, tokens
from cortex.core.text.shell_command import line
from cortex.index.catalogue import Row
from cortex.index.refresh import Views, look
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.hits import Hit, hit
from cortex.operations.records import change_record
from cortex.operations.records.archive import archive
from cortex.vault.locate import Vault

_CANDIDATES = 10


class Forgotten(NamedTuple):
    """The record that was archived, or those that may be meant."""

    id: str  # empty when none was archived
    path: str
    outcome: str  # archived, unclear or none
    undo: str
    records: tuple[Hit, ...]  # the candidates, best first
    hint: str
    problems: tuple[Problem, ...]


class _Candidate(NamedTuple):
    row: Row
    score: float  # of the search
    likeness: float  # of query and title
    whole: bool  # the title holds all words


def forget(vault: Vault, caller: Caller, query: str, *, yes: bool = False) -> Forgotten:
    """Archive the one record that some words describe.

    Only one that is clearly meant: the only one whose title holds all words, or whose title is much like them and no other's is half as
    much. Otherwise the candidates are listed, with exit code 1. `cortex restore ID` brings it back.

    query: an id, or words of the record's title or text
    yes: archive the best candidate though others may be meant

    Example: cortex forget "the old deploy script"
    """
    if not query.strip():
        raise Invalid("there is nothing to look for", "cortex forget WORDS")
    problems = freshen(vault, caller)
    found = look(vault, caller.progress, lambda now: _candidates(now, query, caller.now))
    if not found:
        hint = f"no current record holds these words: {line('search', *query.split()[:8])}"
        return Forgotten("", "", "none", "", (), hint, tuple(problems))
    best = found[0] if yes else _clear(found)
    if best is None:
        records = tuple(hit(vault, one.row, one.score) for one in found)
        hint = f"{line('archive', change_record.word(found[0].row.id, found[0].row.path))}, or forget … --yes for the first"
        return Forgotten("", "", "unclear", "", records, hint, tuple(problems))
    done = archive(vault, caller, best.row.path)
    return Forgotten(
        done.id, done.path, done.outcome, done.undo, (), "", (*problems, *done.problems)
    )


def _candidates(now: Views, query: str, at: str) -> list[_Candidate]:
    """The current records that may be meant: the one of that id, or those with most of the words, likest titles first."""
    named = [
        row
        for row in resolve_note.matches(now.catalogue, query.strip())
        if row.tier == CURRENT and row.id != row.path
    ]
    if len(named) == 1:
        return [_Candidate(change_record.record(named[0]), 0.0, 1.0, whole=True)]
    asked = queries.parse(query, at)
    if not asked.pieces:
        return []
    from cortex.index.engines.whoosh import index  # noqa: PLC0415  an id needs no Whoosh

    allowed = {row.number for row in now.catalogue.rows("tier = 0 AND id != CAST(path AS TEXT)")}
    scored, _ = index.search(
        now.words, asked, _CANDIDATES, (CURRENT,), allowed=allowed, without=set()
    )
    rows = now.catalogue.numbered(one.number for one in scored)
    words = tokens(query)
    found = []
    for one in scored:
        row = rows[one.number]
        title = tokens(row.title)
        found.append(
            _Candidate(
                row, one.score, of_tokens(words, title), whole=bool(words) and words <= title
            )
        )
    return sorted(found, key=lambda one: (-one.whole, -one.likeness, -one.score, one.row.path))


def _clear(found: list[_Candidate]) -> _Candidate | None:
    """The one candidate that is meant beyond doubt."""
    if [one.whole for one in found].count(True) == 1:
        return found[0]
    second = found[1].likeness if len(found) > 1 else 0.0
    return found[0] if found[0].likeness >= STRONG and second < found[0].likeness / 2 else None
