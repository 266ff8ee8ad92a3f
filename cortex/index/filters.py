"""The filters of a query as one SQL condition over the catalogue: exact, and answered without Whoosh."""

from __future__ import annotations

from cortex.core.ranking.query import Query, QueryFilter


def sql_condition(query: Query) -> tuple[str, list[object]]:
    """A condition and its values; `("1", [])` when the query filters nothing."""
    clauses: list[str] = []
    values: list[object] = []
    for one in query.filters:
        parts = []
        for value in one.values:
            part, given = _filter_clause(one, value)
            parts.append(part)
            values += given
        together = f"({' OR '.join(parts) or '0'})"
        clauses.append(f"NOT {together}" if one.negated else together)
    for bound, operator in ((query.after, ">="), (query.before, "<")):
        if bound is not None:
            clauses.append(f"date {operator} ?")
            values.append(bound)
    return " AND ".join(clauses) or "1", values


def _filter_clause(one: QueryFilter, value: str) -> tuple[str, list[object]]:
    if one.key == "tag":
        # `area` finds `area/db` too, as in Obsidian. Tags are kept in lower case, one to a line.
        tag = _escape_like(value.lstrip("#").lower())
        return (
            r"(char(10) || tags || char(10) LIKE ? ESCAPE '\' OR char(10) || tags LIKE ? ESCAPE '\')",
            [f"%\n{tag}\n%", f"%\n{tag}/%"],
        )
    if one.key == "path":
        if "*" in value or "?" in value:
            return "folded(CAST(path AS TEXT)) GLOB ?", [value.casefold()]
        return r"CAST(path AS TEXT) LIKE ? ESCAPE '\'", [f"%{_escape_like(value)}%"]
    if one.key == "type" and value.lower() == "note":
        return "(type = 'note' OR type = '')", []  # what people write without saying its type
    return f"folded({one.key}) = ?", [value.casefold()]


def _escape_like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
