"""What a person types into search, as values: words, phrases, prefixes, and the filters among them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

from cortex.core.model.problem import Invalid

FILTERS = ("type", "tag", "project", "branch", "status", "path", "after", "before")
MOST_PIECES = 64  # of a query; the rest of a pasted page would only make it slow

_PIECE = re.compile(
    r"(?P<minus>-)?(?:(?P<key>[a-z]{2,7}):(?=\S))?(?:\"(?P<phrase>[^\"]*)\"?|(?P<word>[^\s\"]+))",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d{1,4})([dwmy])")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


class Piece(NamedTuple):
    """Something the text of a note must hold, may hold, or (negated) must not."""

    kind: str  # word, phrase or prefix
    text: str
    negated: bool = False


class Filter(NamedTuple):
    """A field and the values of which a note must have one (or, negated, none)."""

    key: str
    values: tuple[str, ...]
    negated: bool = False


class Query(NamedTuple):
    """A parsed query. `after` and `before` are seconds since the epoch, None where not asked for."""

    pieces: tuple[Piece, ...]
    filters: tuple[Filter, ...]
    after: int | None = None
    before: int | None = None
    cut: bool = False  # not all of the query is asked


def parse(text: str, now: str) -> Query:
    """Read a query; `now` (ISO, with zone) is what `7d` counts back from. Raises `Invalid` for a date that is none
    and for a query in which there is nothing to look for. Unknown `key:value` pairs are words like others."""
    pieces: list[Piece] = []
    filters: list[Filter] = []
    bounds: dict[str, int | None] = {"after": None, "before": None}
    most = 200 * MOST_PIECES
    found = list(_PIECE.finditer(_CONTROL.sub(" ", text[:most])))
    for match in found[:MOST_PIECES]:
        key, negated = (match["key"] or "").lower(), bool(match["minus"])
        value = match["phrase"] if match["phrase"] is not None else match["word"]
        if key in bounds:
            opposite = {"after": "before", "before": "after"}[
                key
            ]  # what is not after a moment is before it
            bounds[opposite if negated else key] = _seconds(key, value, now)
        elif key in FILTERS:
            # A path, and what somebody put in quotes, may hold commas.
            whole = key == "path" or match["phrase"] is not None
            values = (value,) if whole else tuple(part for part in value.split(",") if part)
            filters.append(Filter(key, values, negated))
        else:
            pieces += _pieces(
                f"{match['key']}:{value}" if key else value, match["phrase"] is not None, negated
            )
    if not pieces and not filters and bounds == {"after": None, "before": None}:
        raise Invalid(
            "there is nothing to search for",
            'cortex search "how do we merge briefings", or type:decision after:2w',
        )
    return Query(
        tuple(pieces),
        tuple(filters),
        bounds["after"],
        bounds["before"],
        len(found) > MOST_PIECES or len(text) > most,
    )


def _pieces(value: str, quoted: bool, negated: bool) -> list[Piece]:
    if not any(c.isalnum() for c in value):
        return []
    if quoted:
        return [Piece("phrase", value, negated)]
    if value.endswith("*"):
        return [Piece("prefix", value.rstrip("*"), negated)]
    return [Piece("word", value, negated)]


def _seconds(key: str, value: str, now: str) -> int:
    """The moment that `7d`, `2026`, `2026-11` or `2026-11-20` means for a bound, in UTC. `before:2026` is what was
    before that year began; `after:2026-11-20` includes the day."""
    if span := _SPAN.fullmatch(value.lower()):
        return (
            int(datetime.fromisoformat(now).timestamp()) - int(span[1]) * _DAYS[span[2]] * 24 * 3600
        )
    if date := _DATE.fullmatch(value):
        try:
            return int(
                datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1), tzinfo=UTC).timestamp()
            )
        except ValueError:
            pass  # a 13th month: told below, like any other text that is no date
    raise Invalid(
        f"{key}:{value} is not a date",
        f"write {key}:2026-11-20, {key}:2026-11, or a span such as {key}:7d, {key}:2w, {key}:3m",
    )
