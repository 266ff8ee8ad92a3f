"""Search queries as values: words, phrases, prefixes and filters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.days import UTC, Zone
from cortex.core.text.iso_time import MOMENT_EXAMPLES, parse_moment, parse_period
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import close_matches
from cortex.core.text.tokenizer import STOP_WORDS
from cortex.core.text.value import Any, NamedTuple

FILTER_KEYS = (
    "type", "tag", "project", "branch", "status", "scope", "topic", "session", "path", "after", "before", "on",
)  # fmt: skip
# What people write who know another tool.
_FILTER_SYNONYMS = {
    "types": "type", "kind": "type", "tags": "tag", "state": "status", "topics": "topic",
    "file": "path", "folder": "path", "since": "after", "until": "before",
}  # fmt: skip
# Fields of a note that no filter takes -> what to do instead.
_FIELD_HINTS = {
    "owner": "cortex actions --owner NAME",
    "due": "cortex actions lists what is due",
    **dict.fromkeys(("title", "name", "alias"), "the title alone finds it first"),
    **dict.fromkeys(("id", "event"), "cortex show ID"),
    **dict.fromkeys(("date", "created", "updated", "modified"), "write after: and before:"),
    **dict.fromkeys(("confidence", "priority", "score"), "cortex show --why NOTE"),
}
_LEAST_LIKENESS = 0.8  # of a mistyped filter to the one that was meant, as difflib has it
MAX_TERMS = 64  # of a query; the rest of a pasted page would only make it slow
# Words of a query up to which a note that lacks one loses most of its score: more make a question,
# of which no note has to hold each word.
MAX_KEYWORDS = 3

_TERM_RE = lazy_re(
    r"(?P<minus>-(?!-))?(?:(?P<key>[a-z]{2,12}):(?=\S))?(?:\"(?P<phrase>[^\"]*)\"?|(?P<word>[^\s\"]+))",
    re.IGNORECASE,
)
_CONTROL_RE = lazy_re("[\x00-\x1f\x7f]")


class QueryTerm(NamedTuple):
    """Something the text of a note must hold, may hold, or (negated) must not."""

    kind: str  # word, similar (`~word`), phrase or prefix
    text: str
    negated: bool = False


class QueryFilter(NamedTuple):
    """A field and the values of which a note must have one (or, negated, none)."""

    key: str
    values: tuple[str, ...]
    negated: bool = False


class Query(NamedTuple):
    """A parsed query. `after` and `before` are seconds since the epoch, None if not given, by the
    clocks of a zone."""

    terms: tuple[QueryTerm, ...]
    filters: tuple[QueryFilter, ...]
    after: int | None = None
    before: int | None = None
    is_truncated: bool = False  # not all of the query is asked
    text: str = ""  # without the filters
    unknown: tuple[str, ...] = ()  # words such as `foo:`, which look like a filter and are none
    zone: Zone = UTC

    @property
    def is_question(self) -> bool:
        """True if so many words are asked for that few notes hold all of them."""
        words = (one for one in self.terms if not one.negated and one.kind != "phrase")
        return len({one.text.casefold() for one in words} - STOP_WORDS) > MAX_KEYWORDS

    @property
    def phrases(self) -> list[str]:
        """The phrases that are looked for."""
        return [one.text for one in self.terms if one.kind == "phrase" and not one.negated]

    def narrowed(
        self,
        chosen: Mapping[str, tuple[str, ...]],
        after: int | None = None,
        before: int | None = None,
    ) -> Query:
        """The query with further filters, by their keys, where they have values, and dates."""
        filters = (QueryFilter(key, values) for key, values in chosen.items() if values)
        return self._replace(
            filters=(*self.filters, *filters),
            after=max((at for at in (after, self.after) if at is not None), default=None),
            before=min((at for at in (before, self.before) if at is not None), default=None),
        )


def parse(text: str, now: str, zone: Zone = UTC) -> Query:
    """Parse a query. `7d` counts back from `now` (ISO), and days are those of a zone.
    `InvalidInputError` for a bad date, a mistyped filter, or if there is nothing to search for."""
    pieces: list[QueryTerm] = []
    words: list[str] = []
    unknown: list[str] = []
    filters: list[QueryFilter] = []
    bounds: dict[str, int | None] = {"after": None, "before": None}
    most = 200 * MAX_TERMS
    found = list(_TERM_RE.finditer(_CONTROL_RE.sub(" ", text[:most])))
    for match in found[:MAX_TERMS]:
        key, negated = (match["key"] or "").lower(), bool(match["minus"])
        key = _FILTER_SYNONYMS.get(key, key)
        value = match["phrase"] if match["phrase"] is not None else match["word"]
        if key in bounds:
            is_after = (key == "after") != negated  # what is not after a moment is before it
            moment = _checked(key, value, parse_moment(value, now, zone))
            bounds["after" if is_after else "before"] = moment
        elif key == "on":
            period = _checked(key, value, None if negated else parse_period(value, now, zone))
            bounds["after"], bounds["before"] = period
        elif key in FILTER_KEYS:
            # A path, and what somebody put in quotes, may hold commas.
            whole = key == "path" or match["phrase"] is not None
            values = (value,) if whole else tuple(part for part in value.split(",") if part)
            filters.append(QueryFilter(key, values, negated))
        else:
            if key and value[:1].isalnum():
                _refuse_mistyped(key, value)
                unknown += [f"{key}:"] if value[0].isalpha() else []
            text = f"{match['key']}:{value}" if key else value
            pieces += _parse_terms(text, match["phrase"] is not None, negated)
            words.append(match[0])
    if not pieces and not filters and bounds == {"after": None, "before": None}:
        raise InvalidInputError(
            "there is nothing to search for",
            'cortex search "how do we merge briefings", or type:decision after:2w',
        )
    is_truncated = len(found) > MAX_TERMS or len(text) > most
    return Query(
        tuple(pieces), tuple(filters), **bounds, is_truncated=is_truncated,
        text=" ".join(words), unknown=tuple(dict.fromkeys(unknown)), zone=zone,
    )  # fmt: skip


def _refuse_mistyped(key: str, value: str) -> None:
    """Raise `InvalidInputError` for a filter that somebody seems to have meant."""
    close = close_matches(key, [*FILTER_KEYS, *_FILTER_SYNONYMS], 1, _LEAST_LIKENESS)
    close = close or [one for one in FILTER_KEYS if sorted(one) == sorted(key)]
    if close:
        meant = f"did you mean {_FILTER_SYNONYMS.get(close[0], close[0])}:{value}?"
    elif key in _FIELD_HINTS:
        meant = f"{_FIELD_HINTS[key]};"
    else:
        return
    listed = " ".join(f"{one}:" for one in FILTER_KEYS)
    quoted = f'"{key}:{value}" in quotes is searched as words'
    raise InvalidInputError(f"there is no filter {key}:", f"{meant} filters: {listed}; {quoted}")


def _parse_terms(value: str, quoted: bool, negated: bool) -> list[QueryTerm]:
    kind = "phrase" if quoted else "prefix" if value.endswith("*") else "word"
    if kind == "word" and value.startswith("~"):
        kind, value = "similar", value.lstrip("~")
    term = QueryTerm(kind, value.rstrip("*") if kind == "prefix" else value, negated)
    return [term] if any(map(str.isalnum, value)) else []


def _checked(key: str, value: str, found: Any) -> Any:
    """The time of a bound: `before:2026` ends before that year; `after:2026-11-20` includes it."""
    if found is None:
        raise InvalidInputError(f"{key}:{value} is not a date", f"write {key}:{MOMENT_EXAMPLES}")
    return found
