"""Archive what somebody can describe but not name."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.ranking import query as queries
from cortex.core.ranking.text_similarity import DUPLICATE_THRESHOLD, jaccard, token_set
from cortex.core.text.shell_command import cortex_command
from cortex.index import full_text
from cortex.index.catalogue import NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import query_fresh
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.records.archive import archive_record
from cortex.operations.records.change_record import check_editable, command
from cortex.vault.locate import Vault

_MAX_CANDIDATES = 10


class ForgetResult(NamedTuple):
    """The record that was archived, or those that may be meant."""

    id: str = ""  # empty when none was archived
    path: str = ""
    outcome: str = "none"  # archived, unclear or none
    undo: str = ""
    hits: tuple[Hit, ...] = ()  # the candidates, best first
    total: int = 0
    hint: str = ""
    problems: tuple[Problem, ...] = ()
    file: str = ""  # absolute path


_WORD_WITH_DIGIT_RE = re.compile(r"\b[^\W\d]*\d\w*")


class _ForgetCandidate(NamedTuple):
    row: NoteRow
    score: float  # of the search
    similarity: float  # of query and title
    has_all_words: bool  # the title holds all words


def archive_by_words(
    vault: Vault, caller: Caller, query: str, *, reason: str = "", yes: bool = False
) -> ForgetResult:
    """Archive the one record that `query`, an id or words, clearly means; with `yes` the best."""
    if not query.strip():
        raise InvalidInputError("there is nothing to look for", "cortex archive --words WORDS")
    found, problems = query_fresh(vault, caller, lambda now: _candidates(now, query, caller.now))
    if not found:
        again = cortex_command("search", *query.split()[:8])
        hint = f"no current record holds these words: {again}"
        return ForgetResult(hint=hint, problems=tuple(problems))
    best = found[0] if yes else _unambiguous_candidate(found)
    if best is None:
        hits = tuple(build_hit(vault, one.row, one.score) for one in found)
        hint = f"{command('archive', found[0].row)}, or archive --words … --yes for the first"
        return ForgetResult(
            outcome="unclear", hits=hits, total=len(hits), hint=hint, problems=tuple(problems)
        )
    done = archive_record(vault, caller, best.row.path, reason)
    answer = ForgetResult(done.id, done.path, done.outcome, done.undo, file=done.file)
    return answer._replace(problems=(*problems, *done.problems))


def _candidates(now: IndexSession, query: str, at: str) -> list[_ForgetCandidate]:
    """The current record of that id, or those with most of the words, likest titles first."""
    named = [
        row
        for row in resolve_note.find_all(now.catalogue, query.strip())
        if row.tier == TIER_CURRENT and row.id != row.path
    ]
    if len(named) == 1:
        return [_ForgetCandidate(check_editable(named[0]), 0.0, 1.0, has_all_words=True)]
    asked = queries.parse(query, at)
    if not asked.terms:
        return []
    allowed = now.catalogue.numbers(NoteFilter(tiers=(TIER_CURRENT,), has_id=True))
    scored, *_ = full_text.search(
        now.fulltext_folder, asked, _MAX_CANDIDATES, (TIER_CURRENT,), allowed=allowed, without=set()
    )
    rows = now.catalogue.rows_by_number(one.number for one in scored)
    words, all_words = token_set(query), _words_of_title(query)
    found = []
    for one in scored:
        row = rows[one.number]
        alike = jaccard(words, token_set(row.title))
        has_all = bool(all_words) and all_words <= _words_of_title(row.title)
        found.append(_ForgetCandidate(row, one.score, alike, has_all))
    found.sort(key=lambda one: (-one.has_all_words, -one.similarity, -one.score, one.row.path))
    return found


def _words_of_title(text: str) -> set[str]:
    """The tokens of a text, and its shorter words with a digit: K9, v2."""
    return {*token_set(text), *_WORD_WITH_DIGIT_RE.findall(text.casefold())}


def _unambiguous_candidate(found: list[_ForgetCandidate]) -> _ForgetCandidate | None:
    """The one candidate that is meant beyond doubt."""
    if [one.has_all_words for one in found].count(True) == 1:
        return found[0]
    best, second = found[0].similarity, found[1].similarity if found[1:] else 0.0
    return found[0] if best >= DUPLICATE_THRESHOLD and second < best / 2 else None
