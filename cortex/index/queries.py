"""Named queries of single verbs that `NoteFilter` cannot express."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from cortex.core.model.note_status import TEMPLATE, TIER_CURRENT
from cortex.core.model.relation import title_key
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.filters import (
    CREATED_SECONDS_SQL,
    HAS_ID_SQL,
    IS_CROSS_PROJECT_SQL,
    KNOWLEDGE,
    NoteFilter,
    encode_text,
    escape_like,
    sql_condition,
    sql_in,
)

_DATE_GLOB = "[0-9][0-9][0-9][0-9]-*"  # how a date begins
# When a record was last said, as text (mostly a time): what begins with a digit. No file times.
_LAST_SAID_SQL = (
    "CASE WHEN updated > '0' AND updated < ':' THEN updated"
    " WHEN created > '0' AND created < ':' THEN created ELSE '' END"
)
_END = "\U0010ffff"  # behind every other character
# Notes whose change makes a cached briefing stale at once; of others the next scan tells.
_MAX_DEPENDENCY_NOTES = 1000


# Notes that clash or say what cannot be.


def duplicate_ids(catalogue: Catalogue) -> dict[str, list[NoteRow]]:
    """The notes that share an id (or path without one), events left out, by id and path."""
    found: dict[str, list[NoteRow]] = {}
    shared = "SELECT id FROM note WHERE tier < 2 GROUP BY id HAVING count(*) > 1"
    for row in catalogue.rows(f"tier < 2 AND id IN ({shared}) ORDER BY id, path"):
        found.setdefault(row.id, []).append(row)
    return found


def all_ids(catalogue: Catalogue) -> set[str]:
    """The ids of all notes (or paths without one)."""
    return {id_ for (id_,) in catalogue.select("SELECT id FROM note")}


def duplicate_topics(catalogue: Catalogue, limit: int) -> list[tuple[str, str, str, str]]:
    """Current records of a topic that has another: path, id, first record's id, topic; by path."""
    query = (
        "SELECT path, id, first, topic FROM note JOIN (SELECT project, scope, topic, min(id) AS first FROM note"
        f" WHERE topic != '' AND tier = 0 AND {HAS_ID_SQL} GROUP BY 1, 2, 3 HAVING count(DISTINCT id) > 1)"
        " USING (project, scope, topic) WHERE tier = 0 AND id NOT IN (first, CAST(path AS TEXT)) ORDER BY path LIMIT ?"
    )
    return [(os.fsdecode(path), *texts) for path, *texts in catalogue.select(query, (limit,))]


def misdated_notes(catalogue: Catalogue, latest: int, limit: int) -> list[NoteRow]:
    """Records with a time after `latest` (seconds since the epoch), or an invalid one, by path.
    What people plan may lie ahead."""
    clauses = [
        f"(CASE WHEN {field} GLOB '{_DATE_GLOB}' THEN CAST(strftime('%s', {field}) AS INTEGER) END > ?)"
        f" OR ({field} != '' AND {field} NOT GLOB '{_DATE_GLOB}')"
        for field in ("created", "updated")
    ]
    where = f"tier < 2 AND {HAS_ID_SQL} AND ({' OR '.join(clauses)}) ORDER BY path LIMIT ?"
    return list(catalogue.rows(where, (latest, latest, limit)))


def numbers_with_problems(catalogue: Catalogue) -> set[int]:
    """The notes with a problem of their own."""
    return {number for (number,) in catalogue.select("SELECT DISTINCT number FROM problem")}


# What people's own notes say.


class OwnItemRow(NamedTuple):
    """An item of a person's own note, with the number and path of the note."""

    number: int
    path: str
    kind: str
    line: int
    text: str
    person: str
    day: str


def own_items(
    catalogue: Catalogue,
    kind: str,
    projects: Collection[str] | None = None,
    order: Literal["changed", "day", "-day"] = "changed",
    limit: int = -1,
) -> tuple[list[OwnItemRow], int]:
    """Items of this kind in current notes of some projects, or (None) of all, and their total: by
    day, those without one last; then by path, or with `changed` the last changed notes first."""
    where, values = sql_condition(NoteFilter(tiers=(TIER_CURRENT,), projects=projects))
    direction, then = "DESC" if order == "-day" else "", "date DESC," if order == "changed" else ""
    of_kind = f"FROM own_item JOIN note USING (number) WHERE kind = ? AND {where}"
    query = (
        f"SELECT number, path, kind, line, own_item.text, person, day {of_kind}"
        f" ORDER BY day = '', day {direction}, {then} path, line LIMIT ?"
    )
    rows = catalogue.select(query, (kind, *values, limit))
    found = [OwnItemRow(number, os.fsdecode(path), *rest) for number, path, *rest in rows]
    if len(found) != limit:
        return found, len(found)
    ((total,),) = catalogue.select(f"SELECT count(*) {of_kind}", (kind, *values))
    return found, int(total)


# Figures.


class ProjectTotals(NamedTuple):
    """How much a project has; `last_change` is in seconds since the epoch."""

    name: str
    notes: int  # without sessions
    to_do: int
    sessions: int
    last_change: int


def project_totals(catalogue: Catalogue, project: str = "") -> list[ProjectTotals]:
    """The figures of one project, or of every project that a note names, the last changed first."""
    to_do, _ = sql_condition(NoteFilter(state="to_do"))
    query = (
        f"SELECT project, sum(type != 'session'), sum({to_do}), sum(type = 'session'), max(date) FROM note"
        f" WHERE tier < 2 AND project {'=' if project else '!='} ? GROUP BY project ORDER BY 5 DESC, 1"
    )
    return [ProjectTotals(*one) for one in catalogue.select(query, (project,))]


def branch_totals(catalogue: Catalogue, project: str, limit: int) -> list[tuple[str, int, int]]:
    """The branches of a project: name, notes and last change in seconds, the last changed first."""
    query = (
        "SELECT branch, count(*), max(date) FROM note WHERE tier < 2 AND project = ? AND branch != ''"
        " GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT ?"
    )
    return list(catalogue.select(query, (project, limit)))


def count_topics(catalogue: Catalogue) -> int:
    """How many topics current records have, each counted once for a project and scope."""
    key = "project || char(10) || scope || char(10) || topic"
    query = f"SELECT count(DISTINCT {key}) FROM note WHERE tier = 0 AND topic != ''"
    return int(next(catalogue.select(query))[0])


def count_started_sessions(catalogue: Catalogue) -> int:
    """How many sessions have ended or have a prompt; one with only a compaction does not count."""
    started = "SELECT session FROM note WHERE type IN ('session_start', 'prompt')"
    where = f"tier < 2 AND type = 'session' AND (status != 'open' OR session IN ({started}))"
    return int(next(catalogue.select(f"SELECT count(*) FROM note WHERE {where}"))[0])


# Neighbours, ids and events.


def neighbours_in_time(
    catalogue: Catalogue, row: NoteRow, limit: int, project: str | None = None
) -> tuple[list[NoteRow], list[NoteRow]]:
    """The notes made before one and those made after it, of a project or (None) of all, templates
    left out, each nearest `limit`, oldest first; those of one moment in the order of their ids."""
    projects = None if project is None else (project,)
    where, values = sql_condition(KNOWLEDGE._replace(projects=projects))
    moment = f"(SELECT {CREATED_SECONDS_SQL} FROM note WHERE number = {row.number})"
    others = f"{where} AND status != '{TEMPLATE}' AND number != {row.number}"
    clauses = (
        f"{others} AND ({CREATED_SECONDS_SQL}, id) {sign} ({moment}, ?)"
        f" ORDER BY {CREATED_SECONDS_SQL} {direction}, id {direction} LIMIT ?"
        for sign, direction in (("<", "DESC"), (">", "ASC"))
    )
    before, after = (list(catalogue.rows(one, (*values, row.id, limit))) for one in clauses)
    return before[::-1], after


def known_names(catalogue: Catalogue, limit: int) -> list[str]:
    """Ids of notes and folded titles, events left out, that are short enough to be compared with
    what somebody typed."""
    query = (
        "SELECT DISTINCT id FROM note WHERE tier < 2 AND length(id) < 120 UNION"
        " SELECT key FROM title_key WHERE rank = 0 AND length(key) < 120 LIMIT ?"
    )
    return [name for (name,) in catalogue.select(query, (limit,))]


def notes_named_from(catalogue: Catalogue, begin: str, limit: int) -> list[tuple[str, str, str]]:
    """Id, path and title of the notes of which one of these begins so, in any case, or the file name,
    or the hash at the end of the id; events left out, the last changed first."""
    clauses = ("id LIKE ?", "id LIKE ?", "title LIKE ?", "place LIKE ?", "place LIKE ?")
    text = escape_like(encode_text(begin))
    patterns = [f"{text}%", f"%-{text}%", f"{text}%", f"{text}%", f"%/{text}%"]
    where = " OR ".join(f"{one} ESCAPE '\\'" for one in clauses)
    query = (
        "SELECT id, path, title FROM (SELECT *, CAST(path AS TEXT) AS place FROM note)"
        f" WHERE tier < 2 AND ({where}) ORDER BY date DESC, place LIMIT ?"
    )
    found = catalogue.select(query, (*patterns, limit))
    return [(id_, os.fsdecode(path), title) for id_, path, title in found]


def ticked_ids(catalogue: Catalogue) -> frozenset[str]:
    """The ids of actions whose tasks are ticked in any note."""
    return frozenset(id_ for (id_,) in catalogue.select("SELECT id FROM tick"))


class EventOrigin(NamedTuple):
    """What an event says of the record that it makes."""

    id: str
    type: str
    project: str
    scope: str
    topic: str
    session: str


def event_origins(catalogue: Catalogue, limit: int = -1) -> list[EventOrigin]:
    """What events say of their records, the newest first."""
    query = (
        "SELECT id, type, project, scope, topic, session FROM note WHERE tier = 2 AND type != 'briefing'"
        " ORDER BY id DESC LIMIT ?"
    )
    return [EventOrigin(*one) for one in catalogue.select(query, (limit,))]


def removal_event(catalogue: Catalogue, suffix: str) -> tuple[str, str] | None:
    """Path and id of the latest event whose id ends, after its time, in `suffix`."""
    where = "tier = 2 AND substr(id, 18) = ? ORDER BY id DESC LIMIT 1"
    found = next(catalogue.select(f"SELECT path, id FROM note WHERE {where}", (suffix,)), None)
    return (os.fsdecode(found[0]), found[1]) if found else None


# Briefings.


def pages_with_lines_of(catalogue: Catalogue, numbers: Iterable[int]) -> set[tuple[str, str]]:
    """Kind and branch of the briefing pages on which these notes have lines."""
    some = ",".join(map(str, numbers))
    return set(catalogue.select(f"SELECT DISTINCT kind, branch FROM item WHERE number IN ({some})"))


def briefing_candidates(
    catalogue: Catalogue, names: Sequence[str], *, with_personal: bool
) -> list[tuple[Any, ...]]:
    """The current records of a project with these names, and those of every project's briefing;
    `with_personal` says whether also those that are somebody's alone. As tuples, since ten thousand
    are sorted: number, id, type, status, branch, last said, pinned, confidence, priority, due, is
    the project's."""
    clause, values = sql_in("project", names)
    weighty = "pinned = 1 OR type = 'preference' OR scope = 'global'"
    personal = "1" if with_personal else "NOT (scope = 'personal' AND project != '')"
    query = (
        f"SELECT number, id, type, status, branch, {_LAST_SAID_SQL}, pinned, confidence, priority, due, {clause} FROM note"
        f" WHERE tier = 0 AND {HAS_ID_SQL} AND type != 'briefing'"
        f" AND {personal} AND ({clause} OR ({IS_CROSS_PROJECT_SQL} AND ({weighty})))"
    )
    return list(catalogue.select(query, (*values, *values)))


def briefing_dependencies(catalogue: Catalogue, names: Sequence[str]) -> list[str]:
    """The paths of the notes whose edit could change a project's briefing: the last changed of
    the project, set aside ones too, and those of every project's briefing."""
    clause, values = sql_in("project", names)
    # `+date`: through the index of `date` SQLite would fetch notes one by one, in twice the time.
    query = (
        f"SELECT path FROM note WHERE tier < 2 AND ({clause} OR scope IN ('personal', 'global'))"
        " ORDER BY +date DESC, path LIMIT ?"
    )
    held = catalogue.select(query, (*values, _MAX_DEPENDENCY_NOTES))
    return [os.fsdecode(path) for (path,) in held]


def notes_naming_files_of(
    catalogue: Catalogue, sessions: Sequence[int], max_events: int
) -> frozenset[int]:
    """The notes that name a file which these sessions name, in their notes or last events."""
    numbers = ",".join(map(str, sessions))
    names = f"SELECT session FROM note WHERE number IN ({numbers})"
    of_sessions = (
        f"SELECT number FROM note WHERE session != '' AND session IN ({names}) AND tier = 2"
        " ORDER BY id DESC LIMIT ?"
    )
    events = [number for (number,) in catalogue.select(of_sessions, (max_events,))]
    both = ",".join(map(str, (*sessions, *events)))
    keys = f"SELECT key FROM entity WHERE kind = 'file' AND number IN ({both})"
    query = f"SELECT DISTINCT number FROM entity WHERE key IN ({keys}) AND kind = 'file'"
    return frozenset(number for (number,) in catalogue.select(query))


# Edges and names.


def edges_of_kinds(
    catalogue: Catalogue, kinds: Collection[str], wanted: NoteFilter
) -> list[tuple[int, str, str]]:
    """The edges of these kinds that notes of a filter state: number, kind, target; by number."""
    kind, values = sql_in("kind", kinds)
    where, more = sql_condition(wanted)
    notes = f"number IN (SELECT number FROM note WHERE {where})"
    query = f"SELECT number, kind, target FROM edge WHERE {kind} AND {notes} ORDER BY number, rowid"
    return list(catalogue.select(query, (*values, *more)))


def notes_with_lost_text(catalogue: Catalogue) -> set[int]:
    """The numbers of the notes of which a merge kept one of two texts, unseen by anybody."""
    query = "SELECT number FROM problem WHERE instr(hint, ' --reviewed ')"
    return {number for (number,) in catalogue.select(query)}


def has_edge_kind(catalogue: Catalogue, kind: str) -> bool:
    """Whether any note says a relation of this kind."""
    found = catalogue.select("SELECT 1 FROM edge WHERE kind = ? LIMIT 1", (kind,))
    return found.fetchone() is not None


def edge_targets(catalogue: Catalogue, number: int) -> dict[str, str]:
    """The targets of a note's edges as they are written, by their keys."""
    query = "SELECT key, target FROM edge WHERE number = ? ORDER BY rowid"
    return dict(catalogue.select(query, (number,)))


def notes_called(catalogue: Catalogue, name: str) -> dict[int, int]:
    """The notes, without events, that people call so: number -> 0 title, 1 file name, 2 alias."""
    query = "SELECT number, min(rank) FROM title_key WHERE key = ? GROUP BY number"
    key = title_key(name)
    return dict(catalogue.select(query, (key,))) if key else {}


def has_name(catalogue: Catalogue, key: str) -> bool:
    """Whether a link with this key leads to any note."""
    found = catalogue.select("SELECT 1 FROM name WHERE key = ? LIMIT 1", (key,))
    return found.fetchone() is not None


def name_keys_from(catalogue: Catalogue, begin: str, limit: int) -> list[str]:
    """Keys of names, paths left out, that begin so."""
    query = "SELECT DISTINCT key FROM name WHERE key >= ? AND key < ? AND rank != 1 LIMIT ?"
    return [key for (key,) in catalogue.select(query, (begin, begin + _END, limit))]


# Entities.


def entities_of(
    catalogue: Catalogue, number: int, kind: str = ""
) -> list[tuple[str, str, int, str]]:
    """The entities that a note names, by line: kind, name, line and key."""
    query = "SELECT kind, name, line, key FROM entity WHERE number = ? AND (? = '' OR kind = ?) ORDER BY line, rowid"
    return list(catalogue.select(query, (number, kind, kind)))


def mentions_of(
    catalogue: Catalogue, name: str, folded: str, kind: str = ""
) -> list[tuple[int, str, str, str]]:
    """Where a thing is named: number of the note, kind, name and key. `name` finds a symbol, with
    or without `()`; `folded` finds any other thing by its whole key, of a file, url or package by
    its last parts too, of a version without its `v`."""
    last_parts = f"%/{escape_like(folded)}"
    query = (
        "SELECT number, kind, name, key FROM entity WHERE ((kind != 'symbol' AND (key = ?"
        r" OR (kind IN ('file', 'url', 'package') AND key LIKE ? ESCAPE '\') OR (kind = 'version' AND key = ?)))"
        " OR (kind = 'symbol' AND key = ?)) AND (? = '' OR kind = ?)"
    )
    symbol = name.removesuffix("()")
    values = (folded, last_parts, folded.removeprefix("v"), symbol, kind, kind)
    return list(catalogue.select(query, values))


def entity_counts(catalogue: Catalogue, keys: Collection[str]) -> dict[tuple[str, str], int]:
    """In how many current notes each thing with one of these keys is named, by kind and key."""
    clause, values = sql_in("entity.key", keys)
    query = f"SELECT kind, entity.key, count(*) FROM entity JOIN note USING (number) WHERE {clause} AND tier = 0 GROUP BY 1, 2"
    return {(kind, key): count for kind, key, count in catalogue.select(query, values)}


def most_mentioned(catalogue: Catalogue, kind: str = "") -> list[tuple[str, str, int]]:
    """Every thing that current notes name: kind, name, number of notes; the most named first."""
    query = (
        "SELECT kind, min(name), count(*) AS notes FROM entity JOIN note USING (number) WHERE tier = 0"
        " AND (? = '' OR kind = ?) GROUP BY kind, entity.key ORDER BY notes DESC, kind, entity.key"
    )
    return list(catalogue.select(query, (kind, kind)))


def entity_keys_from(catalogue: Catalogue, begin: str, limit: int) -> list[str]:
    """Keys of things that begin so."""
    query = "SELECT DISTINCT key FROM entity WHERE key >= ? AND key < ? LIMIT ?"
    return [key for (key,) in catalogue.select(query, (begin, begin + _END, limit))]
