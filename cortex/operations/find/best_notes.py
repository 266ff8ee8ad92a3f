"""The best notes of one vault for a query: by words and meaning, those called so first, events
beneath the records made of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from cortex.core.model import event as events
from cortex.core.model.note_status import (
    HIDDEN_STATUSES,
    TIER_CURRENT,
    TIER_SET_ASIDE,
    TIER_TRAIL,
    WITHDRAWN_STATUSES,
)
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.ranking import query as queries
from cortex.core.ranking.note_score import Fusion
from cortex.core.ranking.query import Query, QueryTerm
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE_TIERS, SET_ASIDE, TRAIL, NoteFilter
from cortex.index.note_search import search_notes
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.vault.locate import Vault

_CANDIDATES = 200  # notes that are ranked, among which events are compared with their records
_SET_ASIDE_GROUP, _LAST_GROUP = 1, 2
_CALLED_GROUPS = 3  # before all others: called so by title, file name, alias
_SAID = ("observation", "manual", "meeting")  # events of which each makes a record


class RankedNote(NamedTuple):
    """A note of an answer. A lower group comes first, whatever the score: what is called like the
    query (below zero), then what is current, what is set aside, pages that Cortex writes."""

    group: int
    row: NoteRow
    score: float
    part: int = -1  # the passage that answers
    is_whole: bool = True  # holds every word of the query
    why: Mapping[str, float] = {}
    others: tuple[NoteRow, ...] = ()  # that tell the same matter, and answer less well


class SearchRequest(NamedTuple):
    """The arguments of a search, parsed."""

    query: Query
    text: str  # the query as it was written
    limit: int
    every: bool  # superseded, pruned and deleted notes too
    fusion: Fusion
    similar_to: str  # a note, or empty
    explain: bool


class RankedNotes(NamedTuple):
    """The best notes of a vault's index."""

    rows: list[RankedNote]
    total: int  # how many were found
    terms: dict[str, float] = {}  # noqa: RUF012  that were looked for, with what each weighs
    corrected: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  words -> terms in their place
    dropped_count: int = 0  # of the best, superseded, pruned or deleted ones
    problems: Sequence[Problem] = ()  # why meaning was not asked


def find_best(vault: Vault, index: IndexSession, request: SearchRequest) -> RankedNotes:
    """The best notes, without superseded, pruned and deleted ones unless they are asked for."""
    limit = request.limit
    if request.similar_to:
        ranked = _rank_similar(vault, index, request)
    else:
        ranked = _rank_notes(vault, index, request, set())
    rows = ranked.rows
    if not (request.every or request.query.filters):
        left_over = [one for one in rows[: 2 * limit] if _is_of_removed(vault, index, one.row)]
        rows = [one for one in rows if one not in left_over]
        ranked = ranked._replace(total=ranked.total - len(left_over))
    dropped = 0 if request.every else sum(map(_is_dropped, rows[:limit]))
    if not dropped:
        return ranked._replace(rows=rows[:limit])
    kept = [one for one in rows if not _is_dropped(one)]
    total = ranked.total - len(rows) + len(kept)
    is_cut = not request.query.terms or len(rows) >= _CANDIDATES
    if len(kept) < limit and is_cut and not request.similar_to:
        # They may have kept others out: asked again without them.
        gone = index.catalogue.find(SET_ASIDE._replace(statuses=HIDDEN_STATUSES))
        events_of_gone = [event for row in gone for event in row.events]
        trail = index.catalogue.numbers(TRAIL._replace(ids=events_of_gone))
        again = _rank_notes(vault, index, request, {row.number for row in gone} | trail)
        kept, total = again.rows, again.total
    return ranked._replace(rows=kept[:limit], total=total, dropped_count=dropped)


def _nest_events_under_records(ranked: list[RankedNote]) -> list[RankedNote]:
    """Nest each event under the best-ranked record made of it, or under its session's note. Returns
    the top-level hits in order, each with those nested under it.

    A turn that answers better than its records stands by itself; they and the session are nested
    under it.
    """
    holders: dict[str, RankedNote] = {}
    for hit in ranked:
        for event in hit.row.events:
            known = holders.get(event)
            if not known or (known.row.type == "session" != hit.row.type):
                holders[event] = hit
    turns: dict[str, int] = {}  # ids of turns that stand by themselves -> their numbers
    above: dict[int, int] = {}  # number of a note -> of the one that it is nested under
    for hit in ranked:
        row, holder = hit.row, holders.get(hit.row.id)
        if row.tier == TIER_TRAIL and holder:
            is_better = holder.row.type == "session" or hit.score > holder.score
            is_withdrawn = holder.row.status in WITHDRAWN_STATUSES  # no hit in its place
            if row.type in events.TURN_TYPES and is_better and not is_withdrawn:
                turns[row.id] = row.number
            else:
                above[row.number] = holder.row.number
        elif turn := next((turns[event] for event in row.events if event in turns), None):
            above[row.number] = turn
    beneath: defaultdict[int, list[NoteRow]] = defaultdict(list)
    for hit in ranked:
        if (number := above.get(hit.row.number)) is not None:
            beneath[above.get(number, number)].append(hit.row)
    return [
        hit._replace(others=tuple(beneath[hit.row.number]))
        for hit in ranked
        if hit.row.number not in above
    ]


def _is_of_removed(vault: Vault, index: IndexSession, row: NoteRow) -> bool:
    """Whether an event made records, and the vault has none of them any more. Of a turn nothing
    tells: rules of extraction change."""
    if row.type not in _SAID or vault.layout().own_folder(row.path) != "events":
        return False
    if index.catalogue.find(NoteFilter(event=row.id, not_types=("session",))):
        return False
    from cortex.core.normalize.handlers import records_from_event  # noqa: PLC0415  of few hits
    from cortex.operations.upkeep.preserve_text import load_event  # noqa: PLC0415

    event = load_event(vault, row.path)
    return bool(event and records_from_event(event))


def _is_dropped(one: RankedNote) -> bool:
    return one.row.tier == TIER_SET_ASIDE and one.row.status in HIDDEN_STATUSES


def _rank_notes(
    vault: Vault, index: IndexSession, request: SearchRequest, without: set[int]
) -> RankedNotes:
    """At least the `limit` best notes, or newest without words."""
    query, limit = request.query, request.limit
    wanted = NoteFilter(query=query)
    filters_nothing = not query.filters and query.after is None and query.before is None
    if not query.terms:
        newest: list[NoteRow] = []
        # Events and pages are listed when a filter asks for them.
        tiers = KNOWLEDGE_TIERS if filters_nothing else (*KNOWLEDGE_TIERS, TIER_TRAIL)
        wanted = wanted._replace(tiers=tiers)
        for tier in tiers:
            most = limit - len(newest) + len(without)
            of_tier = index.catalogue.find(wanted._replace(tiers=(tier,)), "-date", most)
            newest += [row for row in of_tier if row.number not in without]
        total = len(index.catalogue.numbers(wanted) - without)
        ranked = [RankedNote(row.tier, row, 0.0) for row in newest]
        left = _nest_events_under_records(ranked)
        return RankedNotes(left, total - len(ranked) + len(left))
    fused = search_notes(
        vault,
        index,
        query,
        max(_CANDIDATES, 2 * limit),
        (TIER_CURRENT, TIER_SET_ASIDE, TIER_TRAIL),
        allowed=None if filters_nothing else index.catalogue.numbers(wanted),
        without=without,
        fusion=request.fusion,
    )
    rows = index.catalogue.rows_by_number(one.number for one in fused.found.notes)
    ranked = []
    for one in fused.found.notes:
        row = rows[one.number]
        # Pages that Cortex writes itself, and what is no event, come last.
        is_last = row.tier == TIER_TRAIL and (row.type == "briefing" or row.status == "failed")
        group = _LAST_GROUP if is_last else _SET_ASIDE_GROUP * (row.tier == TIER_SET_ASIDE)
        why = {"words": fused.words.get(one.number, 0.0)}
        if fused.cosines:
            why["meaning"] = fused.cosines[one.number]
        ranked.append(RankedNote(group, row, one.score, one.part, one.is_whole, why))
    ranked = _called_first(index, query, ranked, without)
    ranked.sort(key=lambda one: (one.group, -one.score, one.row.path))
    left = _nest_events_under_records(ranked)
    return RankedNotes(
        left, len(left), fused.found.terms, fused.found.corrected, problems=fused.problems
    )


def _rank_similar(vault: Vault, index: IndexSession, request: SearchRequest) -> RankedNotes:
    """The notes nearest in meaning to one; without vectors, those with the words of its title."""
    from cortex.index import semantic  # noqa: PLC0415  20 ms

    if request.query.terms:
        hint = "cortex search --similar-to NOTE; filters may stand beside it"
        raise InvalidInputError("a note to compare with takes no words beside it", hint)
    query, like = request.query, resolve_note.find_one(index.catalogue, request.similar_to)
    wanted = NoteFilter(query=query, tiers=KNOWLEDGE_TIERS)
    allowed = index.catalogue.numbers(wanted) - {like.number}
    near = semantic.similar_to(index, like.number, max(_CANDIDATES, 2 * request.limit), allowed)
    if near.found:
        rows = index.catalogue.rows_by_number(one.number for one in near.found)
        ranked = []
        for one in near.found:
            group = _SET_ASIDE_GROUP * (rows[one.number].tier == TIER_SET_ASIDE)
            why = {"meaning": one.cosine}
            ranked.append(RankedNote(group, rows[one.number], one.cosine, one.part, why=why))
        ranked.sort(key=lambda one: (one.group, -one.score, one.row.path))
        return RankedNotes(ranked, len(ranked))
    words = tuple(QueryTerm("word", word) for word in like.title.split()[: queries.MAX_TERMS])
    by_words = request._replace(query=query._replace(terms=words, text=like.title))
    trail = index.catalogue.numbers(TRAIL._replace(ids=like.events))
    answer = _rank_notes(vault, index, by_words, {like.number} | trail)
    message = f"no vectors to compare {like.id} with: compared by the words of its title"
    problem = near.problem or Problem("semantic", message, "cortex embed")
    return answer._replace(problems=[problem])


def _called_first(
    index: IndexSession, query: Query, ranked: list[RankedNote], without: set[int]
) -> list[RankedNote]:
    """The notes, those called like the query first: by title, then file name, then alias."""
    if any(one.negated for one in query.terms):
        return ranked
    called = index.catalogue.notes_called(query.text)
    numbers = called.keys() - without
    if not numbers:
        return ranked
    found = {one.row.number: one for one in ranked}
    wanted = NoteFilter(query=query, numbers=numbers, tiers=KNOWLEDGE_TIERS)
    for row in index.catalogue.find(wanted):
        one = found.get(row.number, RankedNote(0, row, 0.0))
        if row.status not in HIDDEN_STATUSES:
            found[row.number] = one._replace(group=called[row.number] - _CALLED_GROUPS)
    return [*found.values()]
