"""The sentences of a note that show best why a search found it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from cortex.core.markdown.passages import iter_passages, split_session_title
from cortex.core.model.note_status import MATCH_END, MATCH_START
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tokenizer import fold_accents
from cortex.core.text.value import NamedTuple

MAX_CHARS = 400  # characters: two or three sentences, enough to read the answer
_MAX_SENTENCES, _MAX_WINDOW = 1000, 12  # that are looked at; that are weighed together
_MAX_LINE_CHARS = 300  # of a line that shows how a note begins
_FRONTMATTER_RE = lazy_re(r"---[ \t]*\r?\n(?:[^\n]*\n){0,1000}?---[ \t]*(?:\r?\n|$)")
_CALLOUT_RE = lazy_re(r"^(?:> ?)+(?:\[!\w+\][ \t]?)?")
_LINK_RE = lazy_re(r"\[\[([^\[\]|\n]{1,400})(?:\|([^\[\]|\n]{1,400}))?\]\]")
_BOLD_RE = lazy_re(r"\*\*(?=\S)([^*\n]{1,400}?)(?<=\S)\*\*")
_LABEL_RE = lazy_re(r"^\*\*([^*.:]{1,40})\.\*\*(?= )")
_NO_PROSE = ("#", "<!--", "<<<<<<< ", "||||||| ", ">>>>>>> ")  # headings, marks, conflicts
_SENTENCE_END_RE = lazy_re(r"(?<=[^\d\s][.!?])\s+(?=\S)")
_CONTROL_CHARS_RE = lazy_re("[\x00-\x1f\ue000\ue001]")


class Snippet(NamedTuple):
    """Text on one line, matches between `MATCH_START` and `MATCH_END`; its first line's number."""

    line: int
    text: str


class Wanted(NamedTuple):
    """A pattern of words that begin with a stem, and of phrases; and what each stem weighs."""

    pattern: re.Pattern[str]
    weights: Mapping[str, float]

    def found_in(self, text: str) -> dict[str, float]:
        """The stems and phrases that a text holds, and their weights."""
        found = {}
        for match in self.pattern.finditer(text):
            word = fold_accents(match[0]).lower()
            stem = max((one for one in self.weights if word.startswith(one)), key=len, default=word)
            found[stem] = self.weights.get(stem, 1.0)
        return found


def looked_for(weights: Mapping[str, float], phrases: Sequence[str] = ()) -> Wanted | None:
    """Stems with their weights, and phrases, to look for in a note; None without either."""
    words = sorted({re.escape(stem) for stem in weights if stem}, key=len, reverse=True)
    whole = [r"\W+".join(map(re.escape, phrase.split())) for phrase in phrases if phrase.split()]
    parts = [*whole, rf"(?<![^\W_])(?:{'|'.join(words)})\w*" if words else ""]
    source = "|".join(part for part in parts if part)
    return Wanted(re.compile(source, re.IGNORECASE), weights) if source else None


def best_excerpt(
    text: str, wanted: Wanted | None, part: int = -1, most: int = MAX_CHARS
) -> Snippet:
    """The sentences of a note that hold most of what is looked for, of passage `part` alone if
    there is one; its first line of prose if none holds any or nothing is looked for."""
    head = _FRONTMATTER_RE.match(text)
    start = head.end() if head else 0
    first = text.count("\n", 0, start) + 1
    _, body = split_session_title(text[start:])
    lines = body.split("\n")
    begin, end = 0, len(lines)
    if wanted and part >= 0:
        places = [one.line for one in islice(iter_passages(body), part + 2)]
        if part < len(places):
            begin = places[part]
            end = max(begin + 1, (*places, end)[part + 1])
    units = list(
        islice(_sentences(lines[begin:end], first + begin), _MAX_SENTENCES if wanted else 1)
    )
    if not units:
        return Snippet(first, "")
    if wanted is None:
        number, line = units[0].line, lines[units[0].line - first]
        return Snippet(number, _shorten_around(_plain_line(line), None, _MAX_LINE_CHARS))
    best, begin, end = _best_window(units, wanted, most)
    shown = _shorten_around(" ".join(one.text for one in units[begin:end]), wanted.pattern, most)
    marked = wanted.pattern.sub(lambda found: f"{MATCH_START}{found[0]}{MATCH_END}", shown)
    return Snippet(units[best].line, marked)


def _sentences(lines: Sequence[str], first: int) -> Iterator[Snippet]:
    """The sentences of some lines, headings and marks left out."""
    for number, line in enumerate(lines, first):
        plain = _plain_line(line)
        if any(map(str.isalnum, plain)) and not line.startswith(_NO_PROSE):
            yield from (Snippet(number, one) for one in _SENTENCE_END_RE.split(plain) if one)


def _plain_line(line: str) -> str:
    """A line without what makes it a callout or bold, with links as they read."""
    plain = _CONTROL_CHARS_RE.sub(" ", _CALLOUT_RE.sub("", line)).strip()
    if "**" in plain:  # `**Why.** It is small` reads `Why: It is small`
        plain = _BOLD_RE.sub(r"\1", _LABEL_RE.sub(r"\1:", plain))
    return links_as_read(plain)


def links_as_read(text: str) -> str:
    """A text with the label of each wikilink in its place, or else with what it leads to."""
    return _LINK_RE.sub(lambda found: found[2] or found[1], text) if "[[" in text else text


def _best_window(units: Sequence[Snippet], wanted: Wanted, limit: int) -> tuple[int, int, int]:
    """The first of the units in a row that hold most and fit; the range of these with as many
    behind and before as fit too."""
    weights_by_unit = [wanted.found_in(one.text) for one in units]
    best, most = (0, 1), (0.0, 0)
    for begin in range(len(units)):
        if not weights_by_unit[begin]:
            continue
        size, seen = 0, dict[str, float]()
        for end in range(begin, min(begin + _MAX_WINDOW, len(units))):
            size += len(units[end].text) + 1
            if end > begin and size > limit:
                break
            seen |= weights_by_unit[end]
            if (value := (round(sum(seen.values()), 6), -size)) > most and seen:
                best, most = (begin, end + 1), value
    first, end = best
    begin = first
    size = sum(len(one.text) + 1 for one in units[begin:end])
    while end < len(units) and size + len(units[end].text) < limit:
        size, end = size + len(units[end].text) + 1, end + 1
    while begin and size + len(units[begin - 1].text) < limit:
        size, begin = size + len(units[begin - 1].text) + 1, begin - 1
    return first, begin, end


def _shorten_around(line: str, pattern: re.Pattern[str] | None, most: int) -> str:
    """At most so many characters of a line, around the first match."""
    if len(line) <= most:
        return line
    match = pattern.search(line) if pattern else None
    start = max(0, match.start() - most // 3) if match else 0
    if start:
        start = line.rfind(" ", 0, start) + 1
    ending = "…" if start + most < len(line) else ""
    return ("…" if start else "") + line[start : start + most].rstrip() + ending
