"""Find notes by their words, always in the notes as they are now."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core import query as queries, snippet as snippets
from cortex.core.answer import CURRENT, SET_ASIDE, TRAIL
from cortex.core.caller import Caller
from cortex.core.problem import Invalid, Problem
from cortex.core.query import Query
from cortex.operations.freshen import freshen
from cortex.operations.hits import Hit, hit
from cortex.projections import filters
from cortex.projections.catalogue import Row, Scored
from cortex.projections.refresh import Views, look
from cortex.vault.find import Vault

MOST = 1000


class Found(NamedTuple):
    """The answer to a query. `problems` are the vault's: a note with a problem is still searched."""

    query: str
    hits: tuple[Hit, ...]
    problems: tuple[Problem, ...]
    hint: str = ""  # what to try when there is no hit


def search(vault: Vault, caller: Caller, query: str, *, number: int = 10) -> Found:
    """Find notes by their words, best first.

    Notes that hold all words come first, then, when these are few, notes that hold some. Superseded and archived
    records come behind the others, events behind all. Beside words: "a phrase", pre*, -not, and the filters type: tag: project: branch: status:
    path: after: before: (a date, or 7d, 2w, 3m).

    query: what to look for; a single - reads standard input
    number: how many hits at the most

    Example: cortex search how do we merge briefings
    Example: cortex search 'type:decision,gotcha after:3m "power cut" -windows'
    """
    if not 1 <= number <= MOST:
        raise Invalid(f"-n {number} is not between 1 and {MOST}", "cortex search -n 20 …")
    asked = queries.parse(query, caller.now)
    problems = freshen(vault, caller)
    kept, terms, known = look(vault, caller.progress, lambda now: (*_best(now, asked, number), now.problems))
    problems += known
    phrases = [piece.text for piece in asked.pieces if piece.kind == "phrase" and not piece.negated]
    pattern = snippets.pattern_of(terms, phrases)
    hits = tuple(hit(vault, row, score, pattern) for row, score in kept)
    if asked.cut:
        problems.insert(0, Problem("query", f"only its first {queries.MOST_PIECES} words are searched", "ask with fewer words"))
    return Found(query, hits, tuple(problems), "" if hits else _hint(asked, terms))


def _best(now: Views, asked: Query, limit: int) -> tuple[list[tuple[Row, float]], list[str]]:
    """The best notes with their scores, and the terms that were looked for. Events come last, without those whose
    records are among the notes before them."""
    scored, terms = _scored(now, asked, limit, (CURRENT, SET_ASIDE), set())
    kept = _in_order(now, scored)[:limit]
    if len(kept) < limit:
        told = now.catalogue.events({event for row, _ in kept for event in row.events})
        scored, more_terms = _scored(now, asked, limit - len(kept), (TRAIL,), told)
        kept += _in_order(now, scored)[: limit - len(kept)]
        terms = terms or more_terms
    return kept, terms


def _scored(now: Views, asked: Query, limit: int, tiers: tuple[int, ...], without: set[int]) -> tuple[list[Scored], list[str]]:
    where, values = filters.condition(asked)
    if not asked.pieces:
        marks = ",".join(map(str, tiers))
        order = "ORDER BY tier, date DESC, path LIMIT ?"
        newest = now.catalogue.rows(f"{where} AND tier IN ({marks}) {order}", (*values, limit + len(without)))
        return [Scored(place, 0.0, row.number) for place, row in enumerate(newest) if row.number not in without], []
    from cortex.projections import index  # noqa: PLC0415  a query of filters alone needs no Whoosh

    allowed = None if where == "1" else {row.number for row in now.catalogue.rows(where, values)}
    return index.search(now.words, asked, limit, tiers, allowed=allowed, without=without)


def _in_order(now: Views, scored: list[Scored]) -> list[tuple[Row, float]]:
    rows = now.catalogue.numbered(one.number for one in scored)
    ordered = sorted(scored, key=lambda one: (one.group, -one.score, rows[one.number].path))
    return [(rows[one.number], one.score) for one in ordered]


def _hint(asked: Query, terms: list[str]) -> str:
    if asked.pieces and not terms:
        return "its words are too common to be looked for; add one that is not"
    if asked.filters or asked.after is not None or asked.before is not None:
        return "try it without the filters, or cortex status to see which types and projects there are"
    return "try other words, or the beginning of one: cortex search 'merg*'"
