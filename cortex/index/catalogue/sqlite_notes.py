"""The table of notes in SQLite: how it is opened, and a `NoteFilter` and its orders as SQL."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cortex.core.model.note_status import DONE_STATUSES, TIER_CURRENT
from cortex.core.text.days import Zone, clock
from cortex.core.text.strings import format_time
from cortex.index.catalogue import IndexDamaged, NoteRow
from cortex.index.catalogue.filters import EVENTS, KNOWLEDGE, LINE_TYPES, NoteFilter, Order
from cortex.vault.state.briefing_cache import file_stamp

if TYPE_CHECKING:
    from cortex.core.ranking.query import Query, QueryFilter

FILE_NAME = "catalogue.sqlite"
ROW_COLUMNS = ", ".join(NoteRow._fields)
# When a note says that it was made, in seconds since the epoch, else its last change. SQLite takes
# a bare number for a day, so what does not begin like a date is not parsed.
CREATED_SECONDS_SQL = (
    "CAST(coalesce(CASE WHEN created GLOB '[0-9][0-9][0-9][0-9]-*' THEN strftime('%s', created) END,"
    " date) AS INTEGER)"
)
# What a note has written in place of a moment in UTC; empty where it says one, or nothing.
CREATED_WRITTEN_SQL = "CASE WHEN created GLOB '[0-9][0-9][0-9][0-9]-*' AND created NOT GLOB '*[Zz]' THEN created ELSE '' END"
# The note has an id of its own: it is no page of a person's.
HAS_ID_SQL = "id != CAST(path AS TEXT)"
IS_CROSS_PROJECT_SQL = "(scope IN ('personal', 'global') OR (scope = '' AND project = ''))"
_MAX_SQL_VALUES = 900  # SQLite takes 999 values in one query everywhere
_IS_DONE_SQL = f"(status IN {DONE_STATUSES} OR (type = 'action' AND id IN (SELECT id FROM tick)))"
_SQL_BY_STATE = {
    # An action is open until it is done, whatever word a hand has written there.
    "open": f"((status = 'open' AND type != 'session') OR type = 'action') AND NOT {_IS_DONE_SQL}",
    "to_do": f"type = 'action' AND tier = {TIER_CURRENT} AND NOT {_IS_DONE_SQL}",
    "done": f"type = 'action' AND {_IS_DONE_SQL}",
}
# How a field becomes SQL: a column with one of its values; a clause if True; a clause with a value.
_COLUMN_BY_FIELD = {
    "tiers": "tier", "ids": "id", "types": "type", "statuses": "status", "projects": "project",
    "sessions": "session", "topics": "topic", "digests": "digest",
}  # fmt: skip
_CLAUSE_BY_FLAG = {
    "has_id": HAS_ID_SQL,
    "is_told": f"({HAS_ID_SQL} OR number IN (SELECT number FROM own_item WHERE kind IN ('decision', 'meeting')))",
    "has_topic": "topic != ''",
    "is_cross_project": IS_CROSS_PROJECT_SQL,
    "is_rated": "(confidence IS NOT NULL OR priority IS NOT NULL)",
    "has_problem": "number IN (SELECT number FROM problem)",
    "has_lost_text": "number IN (SELECT number FROM problem WHERE instr(hint, ' --reviewed '))",
}
_CLAUSE_BY_FIELD = {
    "event": "instr(char(10) || events || char(10), char(10) || ? || char(10))",
    "link_name": "number IN (SELECT number FROM name WHERE key = ?)",
}
_CHANGED, _CREATED = ("date", "written"), (CREATED_SECONDS_SQL, CREATED_WRITTEN_SQL)
_BOUND_BY_FIELD = {
    "changed_since": (_CHANGED, ">="), "changed_before": (_CHANGED, "<"), "created_until": (_CREATED, "<="),
}  # fmt: skip

ORDER_SQL: dict[Order, str] = {
    "": "",
    "path": "ORDER BY path",  # by its bytes
    "id": "ORDER BY id, path",
    "-id": "ORDER BY id DESC, path",
    "date": "ORDER BY date, path",
    "-date": "ORDER BY date DESC, path",
    "tier": "ORDER BY tier, date DESC, path",
    "due": "ORDER BY due = '', due, path",
    "-created": f"ORDER BY {CREATED_SECONDS_SQL} DESC, date DESC, path",
    "-pinned": "ORDER BY pinned DESC, date DESC, path",
}


def sql_condition(wanted: NoteFilter) -> tuple[str, list[object]]:
    """An SQL condition over `note` and its values."""
    parts: list[tuple[str, list[object]]] = [("1", [])]
    for field, column in _COLUMN_BY_FIELD.items():
        if (chosen := getattr(wanted, field)) is not None:
            parts.append(sql_in(column, chosen))
            if column in ("session", "topic") and "" not in chosen:
                parts.append((f"{column} != ''", []))  # so that its partial index answers
    parts += [(clause, []) for field, clause in _CLAUSE_BY_FLAG.items() if getattr(wanted, field)]
    for field, clause in _CLAUSE_BY_FIELD.items():
        if (value := getattr(wanted, field)) not in (None, ""):
            parts.append((clause, [value]))
    parts += [
        _bound_condition(*bound, moment, wanted.zone)
        for field, bound in _BOUND_BY_FIELD.items()
        if (moment := getattr(wanted, field)) is not None
    ]
    if wanted.numbers is not None:
        parts.append((f"number IN ({','.join(map(str, wanted.numbers))})", []))
    if wanted.not_types:
        clause, values = sql_in("type", wanted.not_types)
        parts.append((f"NOT {clause}", values))
    if wanted.enduring_types:
        clause, values = sql_in("type", wanted.enduring_types)
        parts.append((f"(pinned = 1 OR {clause})", values))
    if wanted.state:
        parts.append((f"({_SQL_BY_STATE[wanted.state]})", []))
    if wanted.id_prefix:
        parts.append((r"id LIKE ? ESCAPE '\'", [escape_like(wanted.id_prefix) + "%"]))
    if wanted.id_end:
        parts.append((r"id LIKE ? ESCAPE '\'", [f"%-{escape_like(wanted.id_end)}"]))
    if wanted.title_words:
        any_word = " OR ".join("instr(lower(title), ?)" for _ in wanted.title_words)
        parts.append((f"({any_word})", [*wanted.title_words]))
    if wanted.query is not None:
        parts.append(query_condition(wanted.query))
    return " AND ".join(clause for clause, _ in parts), [one for _, some in parts for one in some]


def sql_in(column: str, chosen: Collection[object]) -> tuple[str, list[object]]:
    """A condition that a column has one of any number of values, and the values for it."""
    if len(chosen) <= _MAX_SQL_VALUES:
        return f"{column} IN ({','.join('?' * len(chosen))})", [*chosen]
    texts = [encode_text(one) if isinstance(one, str) else one for one in chosen]
    return f"{column} IN (SELECT value FROM json_each(?))", [json.dumps(texts)]


def query_condition(query: Query) -> tuple[str, list[object]]:
    """A condition for the filters of a search, and its values; `("1", [])` without filters."""
    clauses: list[str] = []
    values: list[object] = []
    for one in query.filters:
        parts = [_filter_clause(one, value) for value in one.values]
        any_of_them = f"({' OR '.join(clause for clause, _ in parts) or '0'})"
        clauses.append(f"NOT {any_of_them}" if one.negated else any_of_them)
        values += [value for _, of_clause in parts for value in of_clause]
    for bound, operator in ((query.after, ">="), (query.before, "<")):
        if bound is not None:
            clause, moments = _bound_condition(_CHANGED, operator, bound, query.zone)
            clauses.append(clause)
            values += moments
    return " AND ".join(clauses) or "1", values


def _bound_condition(
    columns: tuple[str, str], operator: str, moment: int, zone: Zone
) -> tuple[str, list[object]]:
    """The condition that a moment is within a bound. A day, or a clock, that a note has written is compared
    with what the clocks of the zone show then."""
    seconds, written = columns
    shown = clock(format_time(moment), zone).removesuffix("T00:00:00")
    condition = (
        f"CASE {written} WHEN '' THEN {seconds} {operator} ? ELSE {written} {operator} ? END"
    )
    return condition, [moment, shown]


def _filter_clause(filter_: QueryFilter, value: str) -> tuple[str, list[object]]:
    """The condition in SQL that a note meets one value of a filter, and its parameters."""
    if filter_.key == "tag":
        # `area` finds `area/db` too, as in Obsidian. Tags are kept in lower case, one to a line.
        tag = escape_like(value.lstrip("#").lower())
        return (
            r"(char(10) || tags || char(10) LIKE ? ESCAPE '\' OR char(10) || tags LIKE ? ESCAPE '\')",
            [f"%\n{tag}\n%", f"%\n{tag}/%"],
        )
    if filter_.key == "path":
        if "*" in value or "?" in value:
            return "folded(path) GLOB ?", [value.casefold()]
        return r"folded(path) LIKE ? ESCAPE '\'", [f"%{escape_like(value.casefold())}%"]
    if filter_.key == "session":
        return r"session LIKE ? ESCAPE '\'", [f"{escape_like(value)}%"]
    if filter_.key == "type" and value.lower() == "note":
        return "(type = 'note' OR type = '')", []  # what people write without saying its type
    clause, folded = f"folded({filter_.key}) = ?", value.casefold()
    if filter_.key == "type" and folded in LINE_TYPES and not filter_.negated:
        clause = f"({clause} OR number IN (SELECT number FROM own_item WHERE kind = '{folded}'))"
    return clause, [folded]


def encode_text(text: str) -> str:
    """`text` as SQLite can store it: surrogates, from names that are not UTF-8, become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def escape_like(text: str) -> str:
    """`text` for a pattern of LIKE, whose escape is a backslash."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


@contextmanager
def damage_raised() -> Iterator[None]:
    """Raise `IndexDamaged` for what SQLite raises on a file that is damaged or cannot be written."""
    try:
        yield
    except sqlite3.Error as error:
        raise IndexDamaged(str(error)) from error


class SqliteNotes:
    """An open catalogue: the notes of a filter, each method as `Catalogue` declares it."""

    def __init__(self, folder: str, *, writable: bool) -> None:
        self.folder = folder
        self.path = os.path.join(folder, FILE_NAME)
        with damage_raised():
            if writable:
                self.database = sqlite3.connect(self.path, isolation_level="DEFERRED")
                # Derived data: the seal shows an interrupted write, and everything is rebuilt.
                # By the journal a killed process leaves its change feed whole.
                self.database.executescript(
                    "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;"
                )
            else:
                quoted = self.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
                address = f"file:{quoted}?mode=ro&immutable=1"
                self.database = sqlite3.connect(address, uri=True)
            # SQLite's own lower() knows ASCII only.
            self.database.create_function("folded", 1, _fold, deterministic=True)

    @property
    def version(self) -> str:
        return file_stamp(self.path)

    def select(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """The rows, as tuples, of an SQL query without user text; `values` may be any."""
        return list(self.each(query, values))

    def each(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """As `select`, row by row: in half the time where there are ten thousand."""
        with damage_raised():
            yield from self.database.execute(query, [sql_value(one) for one in values])

    def select_in(self, query: str, column: str, chosen: Collection[object]) -> list[Any]:
        """As `select`; the query's `{}` becomes a condition that `column` is one of `chosen`."""
        clause, values = sql_in(column, chosen)
        return self.select(query.format(clause), values)

    def rows(self, where: str = "1", values: Sequence[object] = ()) -> list[NoteRow]:
        """The notes for which an SQL condition without user text holds."""
        query = f"SELECT {ROW_COLUMNS} FROM note WHERE {where}"
        found = []
        for number, path, *plain, pinned, tags, events in self.each(query, values):
            lists = (tuple(text.split("\n")) if text else () for text in (tags, events))
            found.append(NoteRow._make((number, os.fsdecode(path), *plain, bool(pinned), *lists)))
        return found

    # Notes.

    def find(self, wanted: NoteFilter, order: Order = "", limit: int = -1) -> list[NoteRow]:
        where, values = sql_condition(wanted)
        return self.rows(f"{where} {ORDER_SQL[order]} LIMIT ?", (*values, limit))

    def numbers(self, wanted: NoteFilter) -> set[int]:
        where, values = sql_condition(wanted)
        return {
            number for (number,) in self.select(f"SELECT number FROM note WHERE {where}", values)
        }

    def count(self, wanted: NoteFilter) -> int:
        where, values = sql_condition(wanted)
        ((count,),) = self.select(f"SELECT count(*) FROM note WHERE {where}", values)
        return int(count)

    def count_notes(self) -> int:
        return self.count(KNOWLEDGE) + self.count(EVENTS)

    def count_by(self, column: str, wanted: NoteFilter = KNOWLEDGE) -> dict[str, int]:
        assert column in NoteRow._fields
        where, values = sql_condition(wanted)
        query = f"SELECT {column}, count(*) FROM note WHERE {where} GROUP BY 1 ORDER BY 2 DESC, 1"
        return dict(self.select(query, values))

    def rows_by_number(self, numbers: Iterable[int]) -> dict[int, NoteRow]:
        return {row.number: row for row in self.find(NoteFilter(numbers=list(numbers)))}

    def row_at(self, path: str) -> NoteRow | None:
        return next(iter(self.rows("path = ?", (os.fsencode(path),))), None)


def sql_value(value: object) -> object:
    """A value as SQLite can store it."""
    return encode_text(value) if isinstance(value, str) and not value.isascii() else value


def _fold(value: object) -> str:
    """A text, or a path as the catalogue has it, in folded case."""
    text = encode_text(os.fsdecode(value)) if isinstance(value, bytes) else str(value)
    return text.casefold()
