"""Recall records by importance, or by words and importance together."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Literal

from cortex.core.markdown import snippet as snippets
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import CODE_TYPES, TIER_CURRENT, TIER_SET_ASIDE
from cortex.core.model.parameters import Between, QueryText, Since
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError, Problem
from cortex.core.model.relation import RELATION_KINDS, kind_of_inverse
from cortex.core.ranking import importance, query as queries
from cortex.core.ranking.note_score import Fusion
from cortex.core.ranking.query import Query, QueryFilter
from cortex.core.text.days import Zone, first_moment
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command, format_time, one_of, shorten
from cortex.core.text.value import NamedTuple
from cortex.index import full_text
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE, KNOWLEDGE_TIERS, MEETING_TYPES, NoteFilter
from cortex.index.links import LinkGraph
from cortex.index.note_search import search_notes
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import (
    canonical_project,
    named_branches,
    resolve_project,
    with_project_names,
)
from cortex.operations.find import resolve_note
from cortex.operations.find.actions import due_sort_key, notes_from
from cortex.operations.find.graph import RelatedHit, find_related
from cortex.operations.find.hits import MAX_ECHOED_CHARS, Hit, Hits, build_hit, expand
from cortex.operations.find.note_ranks import rank_best, rank_notes
from cortex.operations.find.resolve_note import command
from cortex.operations.find.verify_claims import find_doubts
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MAX_RECORDS = 200
SCOPES = ("project", "area", "area:NAME", "meetings", "meeting:ID", "recent", "open")
# How much words and rank weigh in one number; seed 000 blends the same three (words, recency, use)
# and leaves the weights to settings. Words come first: who asks for something has said what it is.
WORD_WEIGHT, RANK_WEIGHT = 0.7, 0.3
_WORD_CANDIDATES = 50  # found by words before the ranks are looked at
_SCOPE_RE = lazy_re(r"(?:project|area|meetings|recent|open|(?:area|meeting):\S+)?")
_SET_ASIDE_DATE_RE = lazy_re(
    r"^(?:superseded|archived|pruned|deleted)_at:[ \t]+[\"']?(\d{4}-\d{2}-\d{2}[^\s\"']*)",
    re.MULTILINE,
)
_DAY_SECONDS = 86_400
_MAX_ARCHIVED = 5  # archived records that are named
_LEAST_SHARE_OF_BEST = 0.5  # of the best one's score that an answer to a question has
_HEAD_BYTES = 64 * 1024  # bytes of a note that hold its frontmatter


class ArchivedRecord(NamedTuple):
    """A record in the archive that holds the words."""

    id: str
    title: str
    command: str  # which restores it


class RecallResult(NamedTuple):
    """Records, most important first. Each `snippet` is a preview of at most 400 characters."""

    query: str
    scope: str
    hits: tuple[Hit, ...]
    total: int  # records of the scope; of a query, those that were found
    problems: tuple[Problem, ...]
    hint: str = ""
    related: Hits[RelatedHit] = Hits([], 0)  # of a query: what it did not find, two steps away
    archived: tuple[ArchivedRecord, ...] = ()  # of a query: what the archive has of it, best first


class _RecallRequest(NamedTuple):
    """The arguments of a recall, parsed."""

    query: Query
    scope: str
    project: str
    as_of: int | None  # the last second that counts; None for now
    limit: int
    include_all: bool
    relation: str = ""
    order: str = ""
    with_own: bool = False  # people's own notes, whatever they are about


class _Selected(NamedTuple):
    """The records that are asked for, at least as many as are shown."""

    scored: list[tuple[NoteRow, float]]
    total: int
    terms: dict[str, float] = {}  # noqa: RUF012  of the query, with their weights
    problems: Sequence[Problem] = ()  # why meaning was not asked
    related: Sequence[RelatedHit] = ()
    archived: Sequence[NoteRow] = ()


def recall(
    vault: Vault,
    caller: Caller,
    query: QueryText = "",
    *,
    scope: str = "",
    project: str = "",
    since: Since | None = None,
    as_of: Since | None = None,
    type: tuple[str, ...] = (),
    number: Annotated[int, Between(1, MAX_RECORDS)] = 10,
    all: bool = False,
    relation: str = "",
    branch: tuple[str, ...] = (),
    by: Literal["", "rank", "salience", "date"] = "",
) -> RecallResult:
    """Recall what matters most: current records with a preview.

    Meetings and decisions in people's own notes (type: meeting, #decision) count as records; where
    no record answers at all, every note of theirs does, but for templates. Without a query they
    come by their rank (cortex show --why explains it). With one, words count for seven tenths, rank
    for three; of up to three words, lacking one costs most of the seven. Below them stands what is
    connected to the best (relations, links, what both share), and what the archive has of the words,
    with the command that restores it. cortex timeline ID goes on from there.

    query: words as in cortex search, filters included; without any, what matters most
    scope: project, area, area:NAME (tag area/NAME), meetings, meeting:ID, recent or open
    project: only this one, `.` that of the working directory; with --scope project, which one
    since: only what changed since then: 7d, 2w, 3m or a date
    as_of: what held then, as far as notes tell: 2026-05-01, or 3m for three months ago
    type: only these types of record, comma-separated
    number: how many at the most
    all: people's own notes, sessions and what is set aside too
    relation: only what says it: a kind, as supersedes, or a note: any:ID, contradicts:ID
    branch: only of these; `.` is the one that is checked out, with what belongs to none
    by: without a query: rank, salience or date; by default what suits the scope

    Example: cortex recall --scope project
    Example: cortex recall how do we publish files --type decision,gotcha --since 3m
    Example: cortex recall --as-of 2026-05-01 --project cortex
    """
    parsed = queries.parse(query, caller.now, caller.zone) if query.strip() else Query((), (), zone=caller.zone)  # fmt: skip
    parsed = with_project_names(vault, parsed)
    chosen = {"type": type, "branch": named_branches(caller, branch)}
    of = _project_filter(vault, scope, project, caller)
    request = _RecallRequest(
        parsed.narrowed(chosen, since),
        scope,
        of,
        _last_second(as_of, caller.zone),
        number,
        all,
        relation,
        by,
    )
    return _recall(vault, caller, query, request)


def _recall(vault: Vault, caller: Caller, query: str, request: _RecallRequest) -> RecallResult:
    selected, problems = query_fresh(
        vault, caller, _select_with_own, vault, caller, request, words=True
    )
    hits = _build_hits(vault, caller, request, selected)
    shown = [row.id for row, _ in selected.scored[: request.limit]]
    access_log.append(vault, caller, "recall", shown)
    archive = selected.archived
    return RecallResult(
        query=shorten(query, MAX_ECHOED_CHARS),
        scope=request.scope,
        hits=hits[: request.limit],
        total=max(selected.total, len(hits)),
        problems=(*problems, *selected.problems),
        hint="" if hits else _empty_result_hint(caller, request),
        related=Hits([*selected.related], len(selected.related)),
        archived=tuple(
            ArchivedRecord(row.id, row.title, command("restore", row)) for row in archive
        ),
    )


def _last_second(as_of: int | None, zone: Zone) -> int | None:
    """The moment, of a day its last second."""
    shown = 1 if as_of is None else as_of + zone.offset(as_of)
    return as_of if shown % _DAY_SECONDS else first_moment(shown + _DAY_SECONDS, zone) - 1


def _build_hits(
    vault: Vault, caller: Caller, request: _RecallRequest, selected: _Selected
) -> tuple[Hit, ...]:
    wanted = snippets.looked_for(selected.terms, request.query.phrases)
    decided = wanted or snippets.looked_for({"#decision": 1.0})  # of a page without a type
    shown = selected.scored[: request.limit]
    hits = [build_hit(vault, row, score, wanted if row.type else decided) for row, score in shown]
    doubts = find_doubts(vault, caller, [row for row, _ in shown])
    hits = [one._replace(doubt=doubts.get(one.id, "")) for one in hits]
    return tuple(expand(vault, caller, request.query, hits, wanted))


def _project_filter(vault: Vault, scope: str, project: str, caller: Caller) -> str:
    """The one project that is asked for; empty for all."""
    if not _SCOPE_RE.fullmatch(scope):
        raise InvalidInputError(f"there is no scope {scope!r}", one_of(scope, SCOPES))
    if scope != "project":
        here = project == "."
        return resolve_project(vault, caller, "") if here else canonical_project(vault, project)
    if named := resolve_project(vault, caller, project):
        return named
    hint = "name one: cortex recall --scope project --project NAME"
    raise InvalidInputError("this folder belongs to no project", hint)


def _select_with_own(
    index: IndexSession, vault: Vault, caller: Caller, request: _RecallRequest
) -> _Selected:
    """The records that are asked for, else people's own notes; of a query with what is connected to
    them, and what the archive has of it."""
    selected = _select(vault, caller, index, request)
    if not (selected.total or request.include_all):
        selected = _select(vault, caller, index, request._replace(with_own=True))
    if not request.query.terms or request.as_of is not None:  # edges and archive are today's
        return selected
    shown = [row for row, _ in selected.scored[: request.limit]]
    wanted = _note_filter(index, request)
    related = find_related(vault, index, shown, wanted) if shown else []
    archived = [] if request.include_all else _find_archived(index, request.query, wanted)
    return selected._replace(related=related, archived=archived)


def _find_archived(index: IndexSession, query: Query, wanted: NoteFilter) -> list[NoteRow]:
    """The archived records that hold the words of a query; of a question, most of them."""
    archive = wanted._replace(tiers=(TIER_SET_ASIDE,), statuses=("archived",), has_id=True)
    allowed = index.catalogue.numbers(archive)
    if not allowed:
        return []
    found = full_text.search(
        index.fulltext_folder, query, _MAX_ARCHIVED, (TIER_SET_ASIDE,), allowed=allowed
    ).notes
    least = _LEAST_SHARE_OF_BEST * max((one.score for one in found), default=0.0)
    scores = {
        one.number: one.score
        for one in found
        if one.is_whole or (query.is_question and one.score >= least)
    }
    rows = index.catalogue.rows_by_number(scores).values()
    return sorted(rows, key=lambda row: (-scores[row.number], row.path))[:_MAX_ARCHIVED]


def _select(
    vault: Vault, caller: Caller, index: IndexSession, request: _RecallRequest
) -> _Selected:
    """The records that are asked for, without what stands near them."""
    wanted = _note_filter(index, request)
    if request.as_of is not None:
        wanted = _held_then(vault, index, wanted, request.as_of)
    if request.query.terms:
        return _select_by_words(vault, caller, index, request, wanted)
    order = _order_of_scope(caller, request)
    if order:
        rows = sorted(index.catalogue.find(wanted, "path"), key=order)
        return _Selected([(row, 0.0) for row in rows], len(rows))
    rank = importance.salience if request.order == "salience" else importance.rank
    branch = checkout.branch_of(caller.cwd)
    ranked = rank_best(vault, index, caller, wanted, branch, rank=rank)
    return _Selected(ranked, index.catalogue.count(wanted))


def _order_of_scope(
    caller: Caller, request: _RecallRequest
) -> Callable[[NoteRow], tuple[object, ...]] | None:
    """The sort key of a scope whose records are not ranked (ties by path); None for the others."""
    scope = "recent" if request.order == "date" else "" if request.order else request.scope
    if scope in ("meetings", "recent"):
        moment = epoch_seconds(caller.now)  # a date that lies in the future counts as now
        return lambda row: (-min(row.date, moment),)
    if scope.startswith("meeting:"):
        return lambda row: (row.type != "meeting", row.type != "decision", row.id)
    if scope == "open":
        return lambda row: (*due_sort_key(row.due, caller.today), -row.date)
    return None


def _select_by_words(
    vault: Vault, caller: Caller, index: IndexSession, request: _RecallRequest, wanted: NoteFilter
) -> _Selected:
    allowed = index.catalogue.numbers(wanted)
    if not allowed:
        return _Selected([], 0)
    tiers = KNOWLEDGE_TIERS if request.include_all or request.as_of is not None else (TIER_CURRENT,)
    most = max(_WORD_CANDIDATES, request.limit)
    (found, terms, *_), *_, problems = search_notes(
        vault, index, request.query, most, tiers, allowed=allowed, fusion=Fusion()
    )
    best = max((one.score for one in found), default=0.0) or 1.0
    by_number = {one.number: one for one in found}
    rows = index.catalogue.rows_by_number(by_number).values()
    scored = []
    for row, rank in rank_notes(vault, index, caller, rows, checkout.branch_of(caller.cwd)):
        # What held then is not behind what holds now.
        is_behind = row.tier == TIER_SET_ASIDE and request.as_of is None
        score = WORD_WEIGHT * by_number[row.number].score / best + RANK_WEIGHT * rank
        scored.append((is_behind, -score, row.path, row, score))
    scored.sort()
    return _Selected([(row, score) for *_, row, score in scored], len(scored), terms, problems)


def _note_filter(index: IndexSession, request: _RecallRequest) -> NoteFilter:
    """The filter of the records, at any time."""
    query, scope = request.query, request.scope
    kind, _, name = scope.partition(":")
    if kind == "area" and name:
        area = QueryFilter("tag", (f"area/{name.removeprefix('area/')}",))
        query = query._replace(filters=(*query.filters, area))
    everything = request.include_all or request.as_of is not None
    of_sessions = any("session" in one.values for one in query.filters if one.key == "type")
    is_record = not request.include_all and not of_sessions
    return NoteFilter(
        tiers=KNOWLEDGE_TIERS if everything else (TIER_CURRENT,),
        is_told=is_record and not request.with_own,
        not_types=("session", "briefing", *CODE_TYPES) if is_record else CODE_TYPES[:1],
        projects=(request.project,) if request.project else None,
        is_cross_project=scope == "area",
        types=MEETING_TYPES if scope == "meetings" else None,
        state="open" if scope == "open" else "",
        numbers=_numbers_of_meeting(index, name) if kind == "meeting" else _related(index, request),
        query=query,
        zone=query.zone,
    )


def _related(index: IndexSession, request: _RecallRequest) -> Collection[int] | None:
    """The notes at the ends of a relation: of those of a kind that are stated, or of one note."""
    if not request.relation:
        return None
    kind, _, name = request.relation.partition(":")
    if kind not in (*RELATION_KINDS, "any") and not kind_of_inverse(kind):
        hint = one_of(kind, [*RELATION_KINDS, "any:NOTE"])
        raise InvalidInputError(f"there is no relation {kind!r}", hint)
    kinds = [*RELATION_KINDS] if kind == "any" else [kind_of_inverse(kind) or kind]
    if not name:
        return set(index.catalogue.edges_of(KNOWLEDGE, kinds))
    row = resolve_note.find_one(index.catalogue, name)
    edges = LinkGraph(index.catalogue).edges_touching([row.number], kinds)
    ends = {edge.source for edge in edges} | {edge.target for edge in edges}
    return ends - {row.number}


def _numbers_of_meeting(index: IndexSession, name: str) -> set[int]:
    """A meeting and the notes that came from it."""
    row = resolve_note.find_one(index.catalogue, name)
    if row.type != "meeting":
        hint = "cortex meetings lists them"
        raise NotFoundError(f"{row.id} is no meeting but {row.type or 'a note'}", hint)
    return {row.number, *notes_from(index.catalogue, [row.number])[row.number]}


def _held_then(vault: Vault, index: IndexSession, wanted: NoteFilter, moment: int) -> NoteFilter:
    """What existed at a moment and was set aside later, or never. Its frontmatter says when,
    else its last change; only notes that changed since are read."""
    wanted, then = wanted._replace(created_until=moment), format_time(moment)
    existing = index.catalogue.numbers(wanted._replace(tiers=(TIER_CURRENT,)))
    changed = wanted._replace(tiers=(TIER_SET_ASIDE,), changed_since=moment + 1)
    for row in index.catalogue.find(changed):
        try:
            head = files.read(vault.root, row.path, _HEAD_BYTES).decode("utf-8", "replace")
        except (CortexError, OSError):
            continue  # deleted just now
        at = min(_SET_ASIDE_DATE_RE.findall(head), default=row.updated)
        if not at or at > then[: len(at)]:
            existing.add(row.number)
    return wanted._replace(numbers=existing)


def _empty_result_hint(caller: Caller, request: _RecallRequest) -> str:
    if request.query.terms:
        return "cortex search looks in events and in people's own notes too"
    if request.as_of is not None:
        return f"no record was there by then: {cortex_command('recall', '--as-of', caller.today)} shows what holds today"
    if request.scope or request.project:
        return "cortex status shows which projects and types there are"
    return "cortex save or cortex capture keeps something"
