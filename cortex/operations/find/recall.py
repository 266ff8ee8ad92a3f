"""Find again what matters: records alone, by importance, or by words and importance together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from cortex.core.markdown import snippet as snippets
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_CURRENT, TIER_SET_ASIDE, TIER_TRAIL
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError, Problem
from cortex.core.ranking import query as queries
from cortex.core.ranking.query import Query, QueryFilter
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.shell_command import cortex_command
from cortex.index import filters
from cortex.index.catalogue import CREATED_SECONDS_SQL, NoteMetadata
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.find.note_ranks import rank_notes, select_for_ranking
from cortex.operations.find.project_context import canonical_project, resolve_project
from cortex.operations.find.spans import check_number, parse_since
from cortex.operations.plan.actions import IS_OPEN_SQL, due_sort_key
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MAX_RECORDS = 200
SCOPES = ("project", "area", "area:NAME", "meetings", "meeting:ID", "recent", "open")
# How much words and rank weigh in one number; seed 000 blends the same three (words, recency, use) and leaves the
# weights to settings. Words come first: who asks for something has said what it is.
WORD_WEIGHT, RANK_WEIGHT = 0.7, 0.3
_WORD_CANDIDATES = 50  # found by words before the ranks are looked at
_IS_RECORD_SQL = "id != CAST(path AS TEXT) AND type NOT IN ('session', 'briefing')"
_SCOPE_RE = re.compile(r"(?:project|area|meetings|recent|open|(?:area|meeting):\S+)?")
_SET_ASIDE_DATE_RE = re.compile(
    r"^(?:superseded|archived|deleted)_at:[ \t]+[\"']?(\d{4}-\d{2}-\d{2}[^\s\"']*)", re.MULTILINE
)
_DATE_RE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HEAD_BYTES = 64 * 1024  # bytes of a note that hold its frontmatter


class RecallResult(NamedTuple):
    """Records, the one that matters most first. Each `snippet` is a preview of at most 300 characters."""

    query: str
    scope: str
    records: tuple[Hit, ...]
    more: int  # records of the scope that are not among these; of a query, those that were found beside them
    problems: tuple[Problem, ...]
    hint: str = ""


class _RecallRequest(NamedTuple):
    """What is to be recalled, and for whom."""

    vault: Vault
    caller: Caller
    query: Query
    scope: str
    project: str
    as_of: str  # the last second that counts, ISO; empty for now
    branch: str
    limit: int
    include_all: bool


def recall(
    vault: Vault, caller: Caller, query: str = "", *,
    scope: str = "", project: str = "", since: str = "", as_of: str = "", type: str = "", number: int = 10, all: bool = False,
) -> RecallResult:  # fmt: skip
    """Recall what matters most: current records, each with a preview.

    Without a query they come by their rank (cortex score explains it). With one, records that hold all words come before
    those that hold some, and among these the words count for seven tenths and the rank for three. Then cortex timeline ID shows
    what stood around one in time, and cortex show ID the whole of it.

    query: words as in cortex search, filters included; without any, what matters most
    scope: project, area (what belongs to no project), area:NAME (a tag area/NAME, in all projects), meetings, meeting:ID, recent or open
    project: only this project; with --scope project, which one
    since: only what changed since then: 7d, 2w, 3m or a date
    as_of: what held on that day, as far as the notes tell: 2026-05-01, or a span such as 3m ago; the text is today's
    type: only these types of record, comma-separated
    number: how many at the most
    all: people's own notes, sessions and what is set aside too

    Example: cortex recall --scope project
    Example: cortex recall how do we publish files --type decision,gotcha --since 3m
    Example: cortex recall --scope open --number 20
    Example: cortex recall --as-of 2026-05-01 --project cortex
    """
    check_number(number, MAX_RECORDS, "cortex recall -n 20 …")
    parsed = queries.parse(query, caller.now) if query.strip() else Query((), ())
    if type.strip():
        parsed = parsed._replace(
            filters=(
                *parsed.filters,
                QueryFilter(
                    "type", tuple(part.strip() for part in type.split(",") if part.strip())
                ),
            )
        )
    if since:
        parsed = parsed._replace(after=parse_since(since, caller.now))
    asked = _RecallRequest(
        vault,
        caller,
        parsed,
        scope,
        _project_filter(vault, scope, project, caller),
        _end_of_day(as_of, caller.now),
        checkout.branch_of(caller.cwd),
        number,
        all,
    )
    problems = ensure_fresh(vault, caller)
    chosen, more, terms = query_index(
        vault, caller.progress, lambda now: _select_records(now, asked)
    )
    pattern = snippets.match_pattern(
        terms,
        [piece.text for piece in parsed.terms if piece.kind == "phrase" and not piece.negated],
    )
    records = tuple(build_hit(vault, row, score, pattern) for row, score in chosen)
    access_log.append(vault, caller, "recall", [one.id for one in records])
    return RecallResult(
        query, scope, records, more, tuple(problems), "" if records else _empty_result_hint(asked)
    )


def _project_filter(vault: Vault, scope: str, project: str, caller: Caller) -> str:
    """The one project that is asked for; empty for all."""
    if not _SCOPE_RE.fullmatch(scope):
        raise InvalidInputError(f"there is no scope {scope!r}", f"use one of: {', '.join(SCOPES)}")
    named = (
        resolve_project(vault, caller, project)
        if scope == "project"
        else canonical_project(vault, project)
    )
    if scope == "project" and not named:
        raise InvalidInputError(
            "this folder belongs to no project",
            "name one: cortex recall --scope project --project NAME",
        )
    return named


def _end_of_day(as_of: str, now: str) -> str:
    """The last second of the day that `as_of` names, or the moment of a span."""
    if not as_of:
        return ""
    moment = parse_since(as_of, now)
    from datetime import UTC, datetime  # noqa: PLC0415  1 ms, and this is asked rarely

    return (
        f"{as_of.strip()}T23:59:59Z"
        if _DATE_RE.fullmatch(as_of.strip())
        else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    )


def _select_records(
    now: IndexSession, asked: _RecallRequest
) -> tuple[list[tuple[NoteMetadata, float]], int, list[str]]:
    """The records with their scores, how many more there are, and the words that were looked for."""
    where, values = _where_clause(now, asked)
    if asked.as_of:
        where, values = _as_of_clause(now, asked, where, values)
    if asked.query.terms:
        return _select_by_words(now, asked, where, values)
    if asked.scope in ("meetings", "recent") or asked.scope.startswith("meeting:"):
        latest = f"min(date, {epoch_seconds(asked.caller.now)}) DESC, path"  # a date that lies in the future counts as now
        order = (
            "(type = 'meeting') DESC, (type = 'decision') DESC, id"
            if asked.scope.startswith("meeting:")
            else latest
        )
        listed = [
            (one, 0.0)
            for one in now.catalogue.metadata_rows(
                f"{where} ORDER BY {order} LIMIT ?", (*values, asked.limit)
            )
        ]
        return listed, _count_where(now, where, values) - len(listed), []
    if asked.scope == "open":
        left = sorted(
            now.catalogue.metadata_rows(where, values),
            key=lambda one: (*due_sort_key(one.due, asked.caller.now), -one.date, one.path),
        )
        return _take_first([(one, 0.0) for one in left], asked.limit)
    total = _count_where(now, where, values)
    listed, _, _ = _take_first(
        _rank_rows(now, asked, select_for_ranking(asked.vault, now, where, values, total)),
        asked.limit,
    )
    return listed, total - len(listed), []


def _select_by_words(
    now: IndexSession, asked: _RecallRequest, where: str, values: list[object]
) -> tuple[list[tuple[NoteMetadata, float]], int, list[str]]:
    from cortex.index.engines.whoosh import whoosh_index  # noqa: PLC0415  only words need Whoosh

    allowed = {
        row[0] for row in now.catalogue.select(f"SELECT number FROM note WHERE {where}", values)
    }
    tiers = (TIER_CURRENT, TIER_SET_ASIDE) if asked.include_all or asked.as_of else (TIER_CURRENT,)
    if not allowed:
        return [], 0, []
    found, terms = whoosh_index.search(
        now.fulltext_folder, asked.query, max(_WORD_CANDIDATES, asked.limit), tiers, allowed=allowed
    )
    if not found:
        return [], 0, terms
    best = max(one.score for one in found) or 1.0
    by_number = {one.number: one for one in found}
    marks = ",".join("?" * min(len(by_number), 900))
    standings = now.catalogue.metadata_rows(f"number IN ({marks})", list(by_number)[:900])
    scored = []
    for one, rank in _rank_rows(now, asked, standings):
        words = by_number[one.number]
        # What held then is not behind what holds now.
        scored.append(
            (
                words.group % 2 if asked.as_of else words.group,
                WORD_WEIGHT * words.score / best + RANK_WEIGHT * rank,
                one,
            )
        )
    scored.sort(key=lambda each: (each[0], -each[1], each[2].path))
    listed, more, _ = _take_first([(one, score) for _, score, one in scored], asked.limit)
    return listed, more, terms


def _rank_rows(
    now: IndexSession, asked: _RecallRequest, standings: Iterable[NoteMetadata]
) -> list[tuple[NoteMetadata, float]]:
    return rank_notes(asked.vault, now, asked.caller, standings, asked.branch)


def _where_clause(now: IndexSession, asked: _RecallRequest) -> tuple[str, list[object]]:
    """The records that are asked for, as an SQL condition."""
    query, scope = asked.query, asked.scope
    if scope.startswith("area:"):
        query = query._replace(
            filters=(
                *query.filters,
                QueryFilter("tag", (f"area/{scope.partition(':')[2].removeprefix('area/')}",)),
            )
        )
    where, values = filters.sql_condition(query)
    clauses = [
        where,
        f"tier < {TIER_TRAIL}" if asked.include_all or asked.as_of else f"tier = {TIER_CURRENT}",
    ]
    if not asked.include_all and not any(
        "session" in one.values for one in query.filters if one.key == "type"
    ):
        clauses.append(_IS_RECORD_SQL)
    if asked.project:
        clauses.append("project = ?")
        values.append(asked.project)
    if scope == "area":
        clauses.append("(scope IN ('personal', 'global') OR (scope = '' AND project = ''))")
    elif scope == "meetings":
        clauses.append("type = 'meeting'")
    elif scope == "open":
        clauses.append(IS_OPEN_SQL)
    elif scope.startswith("meeting:"):
        numbers = _numbers_of_meeting(now, scope.partition(":")[2])
        clauses.append(f"number IN ({','.join(map(str, numbers))})")
    return " AND ".join(clauses), values


def _numbers_of_meeting(now: IndexSession, name: str) -> list[int]:
    """A meeting and the notes that came from it."""
    row = resolve_note.find_one(now.catalogue, name)
    if row.type != "meeting":
        raise NotFoundError(
            f"{row.id} is no meeting but {row.type or 'a note'}", "cortex meetings lists them"
        )
    edges = LinkGraph(now.catalogue).edges_touching([row.number], ("derived_from",))
    return [row.number, *(edge.source for edge in edges if edge.target == row.number)]


def _as_of_clause(
    now: IndexSession, asked: _RecallRequest, where: str, values: list[object]
) -> tuple[str, list[object]]:
    """The condition for what was there at the end of a day and was set aside later, or never. When a note was set aside,
    its frontmatter tells, else its last change; only those are read that changed since."""
    day, seconds = asked.as_of, epoch_seconds(asked.as_of)
    where, values = f"{where} AND {CREATED_SECONDS_SQL} <= ?", [*values, seconds]
    later = []
    for one in now.catalogue.metadata_rows(
        f"{where} AND tier = {TIER_SET_ASIDE} AND date > ?", (*values, seconds)
    ):
        try:
            head = files.read(asked.vault.root, one.path, _HEAD_BYTES).decode("utf-8", "replace")
        except (CortexError, OSError):
            continue  # deleted just now
        at = min(_SET_ASIDE_DATE_RE.findall(head), default=one.updated)
        if not at or at > day[: len(at)]:
            later.append(one.number)
    return f"{where} AND (tier = {TIER_CURRENT} OR number IN ({','.join(map(str, later))}))", values


def _count_where(now: IndexSession, where: str, values: list[object]) -> int:
    return int(next(now.catalogue.select(f"SELECT count(*) FROM note WHERE {where}", values))[0])


def _take_first(
    scored: list[tuple[NoteMetadata, float]], number: int
) -> tuple[list[tuple[NoteMetadata, float]], int, list[str]]:
    return scored[:number], max(0, len(scored) - number), []


def _empty_result_hint(asked: _RecallRequest) -> str:
    if asked.query.terms:
        return "cortex search looks in events and in people's own notes too"
    if asked.as_of:
        return f"no record was there by then: {cortex_command('recall', '--as-of', asked.caller.now[:10])} shows what holds today"
    return (
        "cortex status shows which projects and types there are"
        if asked.scope or asked.project
        else "cortex save or cortex capture keeps something"
    )
