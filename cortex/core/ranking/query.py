"""What a person types into search, as values: words, phrases, prefixes, and the filters among them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

from cortex.core.model.problem import InvalidInputError

FILTER_KEYS = ("type", "tag", "project", "branch", "status", "path", "after", "before")
MAX_TERMS = 64  # of a query; the rest of a pasted page would only make it slow

_TERM_RE = re.compile(
    r"(?P<minus>-)?(?:(?P<key>[a-z]{2,7}):(?=\S))?(?:\"(?P<phrase>[^\"]*)\"?|(?P<word>[^\s\"]+))",
    re.IGNORECASE,
)
_SPAN_RE = re.compile(r"(\d{1,4})([dwmy])")
_DATE_RE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_CONTROL_RE = re.compile("[\x00-\x1f\x7f]")
_DAYS_PER_UNIT = {"d": 1, "w": 7, "m": 30, "y": 365}


class QueryTerm(NamedTuple):
    """Something the text of a note must hold, may hold, or (negated) must not."""

    kind: str  # word, phrase or prefix
    text: str
    negated: bool = False


class QueryFilter(NamedTuple):
    """A field and the values of which a note must have one (or, negated, none)."""

    key: str
    values: tuple[str, ...]
    negated: bool = False


class Query(NamedTuple):
    """A parsed query. `after` and `before` are seconds since the epoch, None where not asked for."""

    terms: tuple[QueryTerm, ...]
    filters: tuple[QueryFilter, ...]
    after: int | None = None
    before: int | None = None
    is_truncated: bool = False  # not all of the query is asked


def parse(text: str, now: str) -> Query:
    """Read a query; `now` (ISO, with zone) is what `7d` counts back from. Raises `InvalidInputError` for a date that is none
    and for a query in which there is nothing to look for. Unknown `key:value` pairs are words like others."""
    pieces: list[QueryTerm] = []
    filters: list[QueryFilter] = []
    bounds: dict[str, int | None] = {"after": None, "before": None}
    most = 200 * MAX_TERMS
    found = list(_TERM_RE.finditer(_CONTROL_RE.sub(" ", text[:most])))
    for match in found[:MAX_TERMS]:
        key, negated = (match["key"] or "").lower(), bool(match["minus"])
        value = match["phrase"] if match["phrase"] is not None else match["word"]
        if key in bounds:
            opposite = {"after": "before", "before": "after"}[
                key
            ]  # what is not after a moment is before it
            bounds[opposite if negated else key] = _bound_seconds(key, value, now)
        elif key in FILTER_KEYS:
            # A path, and what somebody put in quotes, may hold commas.
            whole = key == "path" or match["phrase"] is not None
            values = (value,) if whole else tuple(part for part in value.split(",") if part)
            filters.append(QueryFilter(key, values, negated))
        else:
            pieces += _parse_terms(
                f"{match['key']}:{value}" if key else value, match["phrase"] is not None, negated
            )
    if not pieces and not filters and bounds == {"after": None, "before": None}:
        raise InvalidInputError(
            "there is nothing to search for",
            'cortex search "how do we merge briefings", or type:decision after:2w',
        )
    return Query(
        tuple(pieces),
        tuple(filters),
        bounds["after"],
        bounds["before"],
        len(found) > MAX_TERMS or len(text) > most,
    )


def _parse_terms(value: str, quoted: bool, negated: bool) -> list[QueryTerm]:
    if not any(c.isalnum() for c in value):
        return []
    if quoted:
        return [QueryTerm("phrase", value, negated)]
    if value.endswith("*"):
        return [QueryTerm("prefix", value.rstrip("*"), negated)]
    return [QueryTerm("word", value, negated)]


def _bound_seconds(key: str, value: str, now: str) -> int:
    """The moment that `7d`, `2026`, `2026-11` or `2026-11-20` means for a bound, in UTC. `before:2026` is what was
    before that year began; `after:2026-11-20` includes the day."""
    if span := _SPAN_RE.fullmatch(value.lower()):
        return (
            int(datetime.fromisoformat(now).timestamp())
            - int(span[1]) * _DAYS_PER_UNIT[span[2]] * 24 * 3600
        )
    if date := _DATE_RE.fullmatch(value):
        try:
            return int(
                datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1), tzinfo=UTC).timestamp()
            )
        except ValueError:
            pass  # a 13th month: told below, like any other text that is no date
    raise InvalidInputError(
        f"{key}:{value} is not a date",
        f"write {key}:2026-11-20, {key}:2026-11, or a span such as {key}:7d, {key}:2w, {key}:3m",
    )
