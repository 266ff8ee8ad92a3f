"""Find opposite instructions: `always squash` and `never squash`, tabs over spaces and spaces over tabs.
It prefers to miss one: both must have the same words but for polarity, sides and function words."""

from __future__ import annotations

import re

from cortex.core.model.record import split_leading_word
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tables import read_sections
from cortex.core.text.value import NamedTuple

_MAX_CHARS = 200  # of a statement that are read
_WORDS = {
    name: frozenset(" ".join(lines).split()) for name, lines in read_sections(__file__).items()
}
_NEGATIONS, _MARKERS = _WORDS["negations"], _WORDS["markers"]
_SMALL_WORDS = _WORDS["small"] | _MARKERS
_BEFORE_WHAT = _WORDS["leading"] | _MARKERS | _NEGATIONS
_REASON_RE = lazy_re(
    r"(?i)[.;:(–—]( |$)|,? (?:because|since|so that|due to)\b|, (?:use|prefer)\b|, (?:as|it|they|that|this|which|we|i|our|the)\b| - "
)
_ASIDE_RE, _USER_RE = lazy_re(r" \([\w.+#-]+\)"), lazy_re(r"(?i)^(?:the )?user prefers: ")
_LEADING_PLACE_RE = lazy_re(r"(?i)((?:in|for|on|with|when) [^,]{1,40}), (.+)")
_SIDES_RE = lazy_re(
    r"(?i)\b(?:over|instead of|rather than)\b|,? (?:and |but )?\b(?:not|never) (?:to )?"
)
# Where the first clause of a claim ends.
_CLAUSE_END_RE = lazy_re(r"(?i)[,;] | (?:and|but) (?:not|never) | (?:over|instead of|rather than) ")
_MIN_CLAIM_WORDS = 2
_WORD_RE = lazy_re(r"[^\W_](?:[\w'.+#/-]*[\w+#])?")


class _Directive(NamedTuple):
    """What a statement wants and does not want, as words."""

    wanted: frozenset[str]
    unwanted: frozenset[str]
    has_marker: bool  # `use`, `always`: without one it may be the name of a thing
    is_order: bool  # a negation stands right before what is not to be done
    is_sided: bool  # `this, not that`, rather than `this is not that`


def contradicts(one: str, other: str) -> bool:
    """True if one statement wants what the other refuses."""
    first, second = _read(one), _read(other)
    if first is None or second is None:
        return False
    if first.wanted and first.unwanted and second.wanted and second.unwanted:
        common = first.wanted & second.wanted
        mine, theirs = first.wanted - common, second.wanted - common
        are_swapped = mine and theirs and mine <= second.unwanted and theirs <= first.unwanted
        return bool(are_swapped) and first.unwanted - theirs == second.unwanted - mine
    return any(_refuses(a, b) or _refuses_part(a, b) for a, b in ((first, second), (second, first)))


def says_same(one: str, other: str) -> bool:
    """True if both statements want the same rather than the same."""
    first, second = _read(one), _read(other)
    return bool(first and first.unwanted and second and first[:2] == second[:2])


def denies(statement: str, quote: str) -> bool:
    """True if the first clause of a statement negates that of the quote given for it, or the other way
    round: one of them has a negation, and the shorter one no other word that the longer one lacks."""
    (said, is_negated), (shown, is_other_negated) = map(_claim, (statement, quote))
    common, least = len(said & shown), min(len(said), len(shown))
    return common == least >= _MIN_CLAIM_WORDS and is_negated != is_other_negated


def _claim(text: str) -> tuple[frozenset[str], bool]:
    """The words of a text's first clause, and whether an odd number of others negates it."""
    said = _ASIDE_RE.sub("", text[:_MAX_CHARS].replace("’", "'"))
    for pattern in (_REASON_RE, _CLAUSE_END_RE):
        said = pattern.split(said, maxsplit=1)[0]
    words = [match[0].lower() for match in _WORD_RE.finditer(said)]
    negations = [word for word in words if word in _NEGATIONS or word.endswith("n't")]
    kept = _content(" ".join(word for word in words if word not in negations))
    return (kept or frozenset()) - _BEFORE_WHAT, len(negations) % 2 == 1


def directive_words(text: str) -> tuple[str, ...]:
    """The words of a statement of what to do, by which an opposite is looked for; else none."""
    read = _read(text)
    return tuple(sorted(read.wanted | read.unwanted)) if read else ()


def _refuses(one: _Directive, other: _Directive) -> bool:
    """Whether `one` refuses all that `other` wants, and that alone."""
    if not one.unwanted or one.unwanted != other.wanted:
        return False
    is_said = other.has_marker and (one.has_marker or not one.wanted)
    return is_said or (one.is_order and not other.unwanted and len(other.wanted) > 1)


def _refuses_part(one: _Directive, other: _Directive) -> bool:
    """Whether `one` says of the same that it is not so, or is something else: `a is not b`, `a is c, not
    b` against `a is b`."""
    rest = other.wanted - one.unwanted
    is_part = one.unwanted and not other.unwanted and one.unwanted < other.wanted
    return bool(is_part) and (rest <= one.wanted if one.is_sided else rest == one.wanted)


def _read(text: str) -> _Directive | None:
    """What a statement wants; None for a question, a description, and what is negated twice."""
    said = split_leading_word(text[:_MAX_CHARS].replace("’", "'").strip())[1]
    if said.rstrip(" )\"'").endswith("?"):
        return None
    said = _ASIDE_RE.sub("", _USER_RE.sub("", said))
    if place := _LEADING_PLACE_RE.match(said):
        said = f"{place[2]} {place[1]}"
    reason = _REASON_RE.search(said)
    said = said[: reason.start()] if reason else said
    found = list(_WORD_RE.finditer(said))
    words = [match[0].lower() for match in found]
    at, negations, has_marker, is_order = 0, 0, False, False
    while at < len(words) and words[at] in _BEFORE_WHAT:
        is_order = words[at] in _NEGATIONS and words[at] != "no"  # `no ghost files` only describes
        if words[at] == "not" and not at:
            return None  # `not every test`
        negations += words[at] in _NEGATIONS
        has_marker = has_marker or words[at] in _MARKERS
        at += 1
    if negations > 1 or at == len(words):
        return None
    rest = said[found[at].start() :]
    sides = _SIDES_RE.search(rest)
    if not sides and has_marker and "prefer" in " ".join(words[:at]):
        sides = re.search(r" to ", rest)
    kept = _content(rest[: sides.start()] if sides else rest)
    refused = _content(rest[sides.end() :] if sides else "")
    if kept is None or refused is None:
        return None
    between = sides[0] if sides else ""
    is_sided = between.startswith(",") or between.isalpha() or "of" in between or "than" in between
    if negations:
        kept, refused = refused, kept
    return _Directive(kept, refused, has_marker, is_order, is_sided)


def _content(text: str) -> frozenset[str] | None:
    """The words that count, without a plural's end; None if one of them negates."""
    words = [match[0].lower() for match in _WORD_RE.finditer(text)]
    if any(word in _NEGATIONS or word.endswith("n't") for word in words):
        return None
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in words
        if word not in _SMALL_WORDS
    )
