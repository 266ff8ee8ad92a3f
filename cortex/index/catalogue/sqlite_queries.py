"""What an SQLite catalogue answers, each method as `Catalogue` declares it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Literal

from cortex.core.model.note_status import TEMPLATE, TIER_CURRENT, TIER_TRAIL
from cortex.core.model.problem import Problem
from cortex.core.model.relation import LINK_KIND, Edge, LinkCandidate, title_key
from cortex.core.text.days import clock
from cortex.core.text.strings import format_time
from cortex.index.catalogue import IndexDamaged, NoteChange, NoteRow, OwnItemRow, ProjectTotals
from cortex.index.catalogue.filters import CURRENT, KNOWLEDGE, NoteFilter
from cortex.index.catalogue.sqlite_notes import (
    CREATED_SECONDS_SQL,
    CREATED_WRITTEN_SQL,
    HAS_ID_SQL,
    IS_CROSS_PROJECT_SQL,
    SqliteNotes,
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
_TICKED_SECONDS_SQL = (
    "(SELECT max(told.date) FROM tick JOIN note AS told USING (number) WHERE tick.id = note.id)"
)
_MOMENT_SQL = {
    "created": CREATED_SECONDS_SQL,
    "changed": "date",
    "done": f"max(date, coalesce({_TICKED_SECONDS_SQL}, 0))",
}
_END = "\U0010ffff"  # behind every other character
# Notes whose change makes a cached briefing stale at once; of others the next scan tells.
_MAX_DEPENDENCY_NOTES = 1000


class SqliteQueries(SqliteNotes):
    """All other queries."""

    def changes(self, since: str) -> tuple[list[NoteChange] | None, str]:
        ((origin, now),) = self.select("SELECT origin, now FROM clock")
        given, _, moment = since.rpartition("-")
        cursor = f"{origin}-{now}"
        # No number that is asked for has more digits than the one of now.
        is_number = moment.isascii() and moment.isdecimal() and len(moment) <= len(f"{now}")
        if given != origin or not is_number or int(moment) > now:
            return None, cursor
        query = """
            SELECT id, path, type, CASE WHEN is_gone THEN 'gone' WHEN was_there THEN 'changed' ELSE 'added' END
            FROM (SELECT *, came < ?1 AND NOT (went < ?1 AND ?1 <= back) AS was_there FROM change WHERE changed >= ?1)
            WHERE was_there OR NOT is_gone ORDER BY changed, path"""
        rows = self.select(query, (int(moment),))
        return [NoteChange(id_, os.fsdecode(path), *kind) for id_, path, *kind in rows], cursor

    def number_and_hash(self, path: str) -> tuple[int, bytes] | None:
        found = self.select("SELECT number, hash FROM note WHERE path = ?", (os.fsencode(path),))
        return next(((number, content_hash) for number, content_hash in found), None)

    def passage_keys(self, numbers: Iterable[int] | None = None) -> list[tuple[int, bytes]]:
        where, values = sql_condition(NoteFilter(numbers=None if numbers is None else [*numbers]))
        of_notes = f"FROM note WHERE passages != x'' AND {where}"
        return self.select(f"SELECT number, passages {of_notes} ORDER BY number", values)

    def neighbours_in_time(
        self, row: NoteRow, limit: int, project: str | None = None
    ) -> tuple[list[NoteRow], list[NoteRow]]:
        projects = None if project is None else (project,)
        where, values = sql_condition(KNOWLEDGE._replace(projects=projects))
        moment = f"(SELECT {CREATED_SECONDS_SQL} FROM note WHERE number = {row.number})"
        others = f"{where} AND status != '{TEMPLATE}' AND number != {row.number}"
        clauses = (
            f"{others} AND ({CREATED_SECONDS_SQL}, id) {sign} ({moment}, ?)"
            f" ORDER BY {CREATED_SECONDS_SQL} {direction}, id {direction} LIMIT ?"
            for sign, direction in (("<", "DESC"), (">", "ASC"))
        )
        before, after = (self.rows(one, (*values, row.id, limit)) for one in clauses)
        return before[::-1], after

    def nearest_in_session(self, row: NoteRow, limit: int) -> list[int]:
        query = (
            f"SELECT number FROM note WHERE session = ? AND session != '' AND tier = {TIER_CURRENT}"
            " AND number != ? ORDER BY abs(date - ?), path LIMIT ?"
        )
        values = (row.session, row.number, row.date, limit)
        return [number for (number,) in self.select(query, values)]

    # What is wrong.

    def problems(self) -> list[Problem]:
        # Crossed, so that few problems are read before many notes.
        query = "SELECT place, message, hint FROM problem CROSS JOIN note USING (number) ORDER BY path, problem.rowid"
        return [Problem(*row) for row in self.select(query)]

    def unreadable_paths(self) -> list[str]:
        found = self.select("SELECT path FROM note WHERE hash = x'' ORDER BY path")
        return [os.fsdecode(path) for (path,) in found]

    def duplicate_ids(self) -> dict[str, list[NoteRow]]:
        found: dict[str, list[NoteRow]] = {}
        shared = "SELECT id FROM note WHERE tier < 2 GROUP BY id HAVING count(*) > 1"
        for row in self.rows(f"tier < 2 AND id IN ({shared}) ORDER BY id, path"):
            found.setdefault(row.id, []).append(row)
        return found

    def duplicate_topics(self, limit: int) -> list[tuple[str, str, str, str]]:
        query = (
            "SELECT path, id, first, topic FROM note JOIN (SELECT project, scope, topic, min(id) AS first FROM note"
            f" WHERE topic != '' AND tier = 0 AND {HAS_ID_SQL} GROUP BY 1, 2, 3 HAVING count(DISTINCT id) > 1)"
            " USING (project, scope, topic) WHERE tier = 0 AND id NOT IN (first, CAST(path AS TEXT)) ORDER BY path LIMIT ?"
        )
        return [(os.fsdecode(path), *texts) for path, *texts in self.select(query, (limit,))]

    def misdated_notes(self, latest: int, limit: int) -> list[NoteRow]:
        clauses = [
            f"(CASE WHEN {field} GLOB '{_DATE_GLOB}' THEN CAST(strftime('%s', {field}) AS INTEGER) END > ?)"
            f" OR ({field} != '' AND {field} NOT GLOB '{_DATE_GLOB}')"
            for field in ("created", "updated")
        ]
        where = f"tier < 2 AND {HAS_ID_SQL} AND ({' OR '.join(clauses)}) ORDER BY path LIMIT ?"
        return self.rows(where, (latest, latest, limit))

    def check_integrity(self) -> None:
        if self.select("PRAGMA quick_check(1)") != [("ok",)]:
            raise IndexDamaged("the catalogue is damaged")

    # What people's own notes say.

    def own_items(
        self,
        kind: str,
        projects: Collection[str] | None = None,
        order: Literal["changed", "day", "-day"] = "changed",
        limit: int = -1,
    ) -> tuple[list[OwnItemRow], int]:
        where, values = sql_condition(CURRENT._replace(projects=projects))
        direction = "DESC" if order == "-day" else ""
        then_by = "date DESC," if order == "changed" else ""
        source = f"FROM own_item JOIN note USING (number) WHERE kind = ? AND {where}"
        query = (
            f"SELECT number, path, kind, line, own_item.text, person, day {source}"
            f" ORDER BY day = '', day {direction}, {then_by} path, line LIMIT ?"
        )
        rows = self.select(query, (kind, *values, limit))
        items = [OwnItemRow(number, os.fsdecode(path), *rest) for number, path, *rest in rows]
        if len(items) != limit:
            return items, len(items)
        ((total,),) = self.select(f"SELECT count(*) {source}", (kind, *values))
        return items, int(total)

    def ticked_actions(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for id_, path in self.select("SELECT tick.id, path FROM tick JOIN note USING (number)"):
            found.setdefault(id_, []).append(os.fsdecode(path))
        return found

    # Figures.

    def count_by_day(
        self, wanted: NoteFilter, moment: Literal["created", "changed", "done"]
    ) -> dict[str, int]:
        where, values = sql_condition(wanted)
        written = CREATED_WRITTEN_SQL if moment == "created" else "written"
        # No zone has other steps than quarters of an hour.
        query = f"SELECT {_MOMENT_SQL[moment]} / 900, substr({written}, 1, 10), count(*) FROM note WHERE {where} AND status != '{TEMPLATE}' GROUP BY 1, 2"
        counts = Counter[str]()
        for quarter, day, count in self.select(query, values):
            counts[day or clock(format_time(quarter * 900), wanted.zone)[:10]] += count
        return counts

    def project_totals(self, project: str = "") -> list[ProjectTotals]:
        to_do, _ = sql_condition(NoteFilter(state="to_do"))
        query = (
            f"SELECT project, sum(type != 'session'), sum({to_do}), sum(type = 'session'), max(date) FROM note"
            f" WHERE tier < 2 AND project {'=' if project else '!='} ? GROUP BY project ORDER BY 5 DESC, 1"
        )
        return [ProjectTotals(*one) for one in self.select(query, (project,))]

    def branch_totals(self, project: str, limit: int) -> list[tuple[str, int, int]]:
        query = (
            "SELECT branch, count(*), max(date) FROM note WHERE tier < 2 AND project = ? AND branch != ''"
            " GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT ?"
        )
        return self.select(query, (project, limit))

    def count_topics(self) -> int:
        key = "project || char(10) || scope || char(10) || topic"
        query = f"SELECT count(DISTINCT {key}) FROM note WHERE tier = 0 AND topic != ''"
        return int(self.select(query)[0][0])

    def count_started_sessions(self) -> int:
        started = "SELECT session FROM note WHERE type IN ('session_start', 'prompt')"
        where = f"tier < 2 AND type = 'session' AND (status != 'open' OR session IN ({started}))"
        return int(self.select(f"SELECT count(*) FROM note WHERE {where}")[0][0])

    # Briefings.

    def briefing_lines(self) -> Iterator[tuple[str, str, str, str, str, str, str, str, bool]]:
        query = (
            "SELECT kind, item.project, item.branch, item.id, section, place, text, path,"
            " scope = 'global' AND tier < 2 FROM item JOIN note USING (number)"
        )
        for *line, path, is_global in self.each(query):
            yield (*line, os.fsdecode(path), bool(is_global))

    def briefing_candidates(
        self, names: Sequence[str], *, with_personal: bool
    ) -> list[tuple[Any, ...]]:
        clause, values = sql_in("project", names)
        weighty = "pinned = 1 OR type = 'preference' OR scope = 'global'"
        personal = "1" if with_personal else "NOT (scope = 'personal' AND project != '')"
        query = (
            f"SELECT number, id, type, status, branch, {_LAST_SAID_SQL}, pinned, confidence, priority, due, {clause} FROM note"
            f" WHERE tier = 0 AND {HAS_ID_SQL} AND type != 'briefing'"
            f" AND {personal} AND ({clause} OR ({IS_CROSS_PROJECT_SQL} AND ({weighty})))"
        )
        return self.select(query, (*values, *values))

    def briefing_dependencies(self, names: Sequence[str]) -> list[str]:
        clause, values = sql_in("project", names)
        # `+date`: through the index of `date` SQLite would fetch notes one by one, in twice the time.
        query = (
            f"SELECT path FROM note WHERE tier < 2 AND ({clause} OR scope IN ('personal', 'global'))"
            " ORDER BY +date DESC, path LIMIT ?"
        )
        rows = self.select(query, (*values, _MAX_DEPENDENCY_NOTES))
        return [os.fsdecode(path) for (path,) in rows]

    def notes_naming_files_of(self, sessions: Sequence[int], max_events: int) -> frozenset[int]:
        numbers = ",".join(map(str, sessions))
        names = f"SELECT session FROM note WHERE number IN ({numbers})"
        of_sessions = (
            f"SELECT number FROM note WHERE session != '' AND session IN ({names}) AND tier = 2"
            " ORDER BY id DESC LIMIT ?"
        )
        events = [number for (number,) in self.select(of_sessions, (max_events,))]
        both = ",".join(map(str, (*sessions, *events)))
        keys = f"SELECT key FROM entity WHERE kind = 'file' AND number IN ({both})"
        query = f"SELECT DISTINCT number FROM entity WHERE key IN ({keys}) AND kind = 'file'"
        return frozenset(number for (number,) in self.select(query))

    # Edges and names.

    def edges_of(
        self, wanted: NoteFilter, kinds: Collection[str] | None = None
    ) -> dict[int, list[Edge]]:
        where, values = sql_condition(wanted)
        kind, more = sql_in("kind", kinds) if kinds is not None else ("1", [])
        query = (
            "SELECT number, kind, target, key, line FROM edge"
            f" WHERE number IN (SELECT number FROM note WHERE {where}) AND {kind} ORDER BY number, rowid"
        )
        found: dict[int, list[Edge]] = {}
        for number, *edge in self.each(query, (*values, *more)):
            found.setdefault(number, []).append(Edge(*edge))
        return found

    def edges_to(self, keys: Collection[str]) -> list[tuple[int, Edge]]:
        query = "SELECT number, kind, target, key, line FROM edge WHERE {} ORDER BY rowid"
        return [(number, Edge(*edge)) for number, *edge in self.select_in(query, "key", keys)]

    def unnamed_edges(self) -> list[tuple[int, Edge]]:
        query = (
            "SELECT edge.number, kind, target, edge.key, line FROM edge JOIN note USING (number)"
            f" WHERE tier < {TIER_TRAIL} AND (kind != ? OR tier = {TIER_CURRENT})"
            " AND (instr(target, '/') OR NOT EXISTS (SELECT 1 FROM name WHERE name.key = edge.key AND rank != 1))"
            " ORDER BY path, line, edge.rowid"
        )
        return [(number, Edge(*edge)) for number, *edge in self.select(query, (LINK_KIND,))]

    def has_edge_kind(self, kind: str) -> bool:
        return bool(self.select("SELECT 1 FROM edge WHERE kind = ? LIMIT 1", (kind,)))

    def notes_named(self, keys: Collection[str]) -> dict[str, list[LinkCandidate]]:
        query = "SELECT key, number, path, id FROM name JOIN note USING (number) WHERE {}"
        found: dict[str, list[LinkCandidate]] = {}
        for key, number, path, id_ in self.select_in(query, "key", keys):
            found.setdefault(key, []).append(LinkCandidate(number, os.fsdecode(path), id_))
        return found

    def targets(self) -> Iterator[tuple[int, str, str]]:
        current = f"SELECT number FROM note WHERE tier = {TIER_CURRENT}"
        query = f"SELECT number, target, key FROM edge WHERE number IN ({current})"
        return self.each(query)

    def names(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for key, number in self.each("SELECT key, number FROM name WHERE rank != 1"):
            found[key] = number if found.setdefault(key, number) == number else -1
        return found

    def keys_from(self, of: Literal["name", "entity"], begin: str, limit: int) -> list[str]:
        only = " AND rank != 1" if of == "name" else ""
        query = f"SELECT DISTINCT key FROM {of} WHERE key >= ? AND key < ?{only} LIMIT ?"
        return [key for (key,) in self.select(query, (begin, begin + _END, limit))]

    def notes_called(self, name: str) -> dict[int, int]:
        query = "SELECT number, min(rank) FROM title_key WHERE key = ? GROUP BY number"
        key = title_key(name)
        return dict(self.select(query, (key,))) if key else {}

    def known_names(self, limit: int) -> list[str]:
        query = (
            "SELECT DISTINCT id FROM note WHERE tier < 2 AND length(id) < 120 UNION"
            " SELECT key FROM title_key WHERE rank = 0 AND length(key) < 120 LIMIT ?"
        )
        return [name for (name,) in self.select(query, (limit,))]

    def notes_named_from(self, begin: str, limit: int) -> list[NoteRow]:
        place = "CAST(path AS TEXT)"
        clauses = ("id LIKE ?", "id LIKE ?", "title LIKE ?", f"{place} LIKE ?", f"{place} LIKE ?")
        text = escape_like(encode_text(begin))
        patterns = [f"{text}%", f"%-{text}%", f"{text}%", f"{text}%", f"%/{text}%"]
        where = " OR ".join(f"{one} ESCAPE '\\'" for one in clauses)
        condition = f"tier < 2 AND ({where}) ORDER BY date DESC, {place} LIMIT ?"
        return self.rows(condition, (*patterns, limit))

    # Entities.

    def entities_of(
        self, numbers: Collection[int], kind: str = ""
    ) -> dict[int, list[tuple[str, str, str, int]]]:
        query = (
            "SELECT number, kind, name, key, line FROM entity WHERE {} ORDER BY number, line, rowid"
        )
        found: dict[int, list[tuple[str, str, str, int]]] = {}
        for number, of_kind, name, key, line in self.select_in(query, "number", numbers):
            if kind in ("", of_kind):
                found.setdefault(number, []).append((of_kind, name, key, line))
        return found

    def mentions_of(
        self, name: str, folded: str, kind: str = ""
    ) -> list[tuple[int, str, str, str]]:
        last_parts = f"%/{escape_like(folded)}"
        query = (
            "SELECT number, kind, name, key FROM entity WHERE ((kind != 'symbol' AND (key = ?"
            r" OR (kind IN ('file', 'url', 'package') AND key LIKE ? ESCAPE '\') OR (kind = 'version' AND key = ?)))"
            " OR (kind = 'symbol' AND key = ?)) AND (? = '' OR kind = ?)"
        )
        symbol = name.removesuffix("()")
        values = (folded, last_parts, folded.removeprefix("v"), symbol, kind, kind)
        return self.select(query, values)

    def notes_naming(self, kind: str, key: str, limit: int) -> list[int]:
        query = (
            "SELECT DISTINCT number FROM entity JOIN note USING (number)"
            f" WHERE key = ? AND kind = ? AND tier = {TIER_CURRENT} LIMIT ?"
        )
        return [number for (number,) in self.select(query, (key, kind, limit))]

    def entity_counts(self, keys: Collection[str]) -> dict[tuple[str, str], int]:
        query = (
            "SELECT kind, entity.key, count(*) FROM entity JOIN note USING (number)"
            " WHERE {} AND tier = 0 GROUP BY 1, 2"
        )
        rows = self.select_in(query, "entity.key", keys)
        return {(kind, key): count for kind, key, count in rows}

    def most_mentioned(self, kind: str = "") -> list[tuple[str, str, int]]:
        query = (
            "SELECT kind, min(name), count(*) AS notes FROM entity JOIN note USING (number) WHERE tier = 0"
            " AND (? = '' OR kind = ?) GROUP BY kind, entity.key ORDER BY notes DESC, kind, entity.key"
        )
        return self.select(query, (kind, kind))

    # Likeness.

    def sketches(self, numbers: Collection[int]) -> dict[int, bytes]:
        return dict(self.select_in("SELECT number, hashes FROM sketch WHERE {}", "number", numbers))

    def notes_with_sketch_keys(self, keys: Iterable[int], most: int) -> dict[int, list[int]]:
        query = f"SELECT number FROM sketch_key WHERE key = ? LIMIT {most}"
        return {key: [number for (number,) in self.select(query, (key,))] for key in keys}

    # The full-text index, which may be behind.

    def read_backlog(self) -> tuple[list[int], list[tuple[int, str]]]:
        removed = self.select("SELECT number FROM backlog WHERE gone ORDER BY number")
        added = self.select(
            "SELECT number, path FROM backlog JOIN note USING (number) WHERE NOT gone ORDER BY number"
        )
        return [one for (one,) in removed], [(one, os.fsdecode(path)) for one, path in added]
