"""Where the words of a record stand in a text: in the event that it came of, or in a turn of a session.

Words alone are compared, in any case: markup, white space and quotation marks do not count.
"""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.text.lazy_re import lazy_re

_WORD_RE = lazy_re(r"[^\W_]+")
_PIECE_END_RE = lazy_re(r"\[REDACTED:[a-z-]+\]|…|\n")  # where words were taken out
_SENTENCE_END_RE = lazy_re(r"(?<=[.!?])[\"”')*_]{0,3}\s+|(?<=[。！？])\s*|\n+")
_MARKS_RE = lazy_re(r"(?:[>#*+|-]|\d{1,4}[.)] |\[[ x]\]|\[!(?:user|answer)\]|\s)+")
_MIN_HALF_WORDS = 5
_MAX_SENTENCE_CHARS = 600

Span = tuple[int, int]


def word_line(text: str) -> str:
    """The words of a text between single blanks, to look in for those of `phrases_of`."""
    return f" {' '.join(_WORD_RE.findall(text.casefold()))} "


def phrases_of(texts: Iterable[str]) -> list[str]:
    """The word lines by which texts are looked for: each whole, then its halves, as texts are joined
    and begun elsewhere."""
    pieces = (max(_PIECE_END_RE.split(text.strip()), key=len) for text in texts)
    lines = [words for piece in pieces if (words := word_line(piece).split())]
    halves = [half for one in lines for half in (one[len(one) // 2 :], one[: len(one) // 2])]
    longer = (half for half in halves if len(half) >= _MIN_HALF_WORDS)
    return [f" {' '.join(one)} " for one in (*lines, *longer)]


def find_sentence(text: str, phrase: str) -> Span:
    """Where the sentences begin and end in which a phrase stands; an empty span for none."""
    words = list(_WORD_RE.finditer(text))
    line = f" {' '.join(word[0].casefold() for word in words)} "
    if not phrase or (at := line.find(phrase)) < 0:
        return 0, 0
    first = line.count(" ", 0, at)
    start, stop = words[first].start(), words[first + phrase.count(" ") - 2].end()
    ends = [one.end() for one in _SENTENCE_END_RE.finditer(text)]
    begin = max((end for end in ends if end <= start), default=0)
    end = min((end for end in ends if end >= stop), default=len(text))
    begin += len(marks[0]) if (marks := _MARKS_RE.match(text, begin, end)) else 0
    return begin, min(begin + len(text[begin:end].rstrip()), begin + _MAX_SENTENCE_CHARS)
