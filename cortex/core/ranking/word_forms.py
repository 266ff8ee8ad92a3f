"""Other forms of a query's word: corrections of one that occurs nowhere, German plurals and
compounds.

What a vault's notes hold is asked through a `Vocabulary`, term by term; nothing is read from a
dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Protocol

from cortex.core.text.strings import close_matches, likeness
from cortex.core.text.tokenizer import STOP_WORDS, Stemmer, fold_accents

# Of a shorter word, another one is as likely as the one that is meant; a longer one is no word.
_MIN_CHARS, _MAX_CHARS = 4, 32
_LEAST_LIKENESS = 0.86  # of a word with more than one wrong letter, as difflib has it
_MIN_HALF_CHARS = 3
_MIN_GERMAN_BASE_CHARS, _MIN_COMPOUND_PART_CHARS = 4, 5
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LINKING_LETTERS = ("", "s", "es", "n", "en")  # between the parts of a German compound
# Endings of German nouns and adjectives, the longest first. Umlauts are folded: `häuser` is `haus`
# and `er`.
_GERMAN_ENDINGS = ("innen", "nen", "ern", "en", "er", "es", "em", "in", "e", "n", "s")
_GERMAN_ENDINGS_RE = "|".join(_GERMAN_ENDINGS)
# A vault has German notes when more than this share, or so many, of its notes hold one of these.
GERMAN_WORDS = ("und", "nicht", "wird", "eine", "fur", "der", "das", "ist", "sind", "werden")
GERMAN_SHARE, GERMAN_NOTES = 0.05, 3


class Vocabulary(Protocol):
    """The terms of an index. A term of a deleted note may still be told; it has no notes."""

    def starting(self, start: str) -> Iterable[str]:
        """The terms that begin so."""

    def holding(self, part: str) -> Iterable[str]:
        """The terms that hold this part, each once at least."""

    def among(self, words: Collection[str]) -> Iterable[str]:
        """Those of the words that may be terms: others are none."""

    def has(self, term: str) -> bool: ...

    def count_notes(self, term: str) -> int:
        """How many live notes hold a term."""

    def count_rows(self, terms: tuple[str, ...]) -> int:
        """How many live notes hold these terms one after the other."""


def correct(
    word: str, stem: Stemmer, known: Vocabulary, *, is_question: bool = False
) -> tuple[str, ...]:
    """The terms that a word means which no note holds: the likest with one letter other, else its
    two halves where they stand side by side (or anywhere, for a question), else the likest with
    the same first letter; none of a short word."""
    if not _MIN_CHARS <= len(word) <= _MAX_CHARS or any(map(str.isdigit, word)):
        return ()
    counted = {term: known.count_notes(term) for term in one_edit_away(word, stem, known)}
    likely = [term for term, count in counted.items() if count]
    if likely:
        likely.sort(key=lambda term: (round(likeness(word, term), 1), counted[term], term))
        return (likely[-1],)
    halves = _halves(word, stem, known)
    if halves and (is_question or known.count_rows(halves)):
        return halves
    if word.isalpha() and len(word) > _MIN_CHARS + 1:
        near = [term for term in known.starting(word[0]) if abs(len(term) - len(word)) < 4]
        likely = close_matches(stem(word), near, 5, _LEAST_LIKENESS)
        return next(((term,) for term in likely if known.count_notes(term)), ())
    return ()


def one_edit_away(word: str, stem: Stemmer, known: Vocabulary) -> list[str]:
    """The terms of words with one letter other than `word`: added, left out, replaced or exchanged
    with the next; the first letter is the same."""
    cuts = [(word[:end], word[end:]) for end in range(1, min(len(word), _MAX_CHARS) + 1)]
    others = [
        *(head + tail[1:] for head, tail in cuts if tail),
        *(head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1),
        *(head + letter + tail[1:] for head, tail in cuts if tail for letter in _LETTERS),
        *(head + letter + tail for head, tail in cuts for letter in _LETTERS),
    ]
    terms = dict.fromkeys(stem(one) if one.isascii() and one.isalpha() else one for one in others)
    likely = set(known.among(terms))
    return [term for term in terms if len(term) > 1 and term in likely and known.has(term)]


def _halves(word: str, stem: Stemmer, known: Vocabulary) -> tuple[str, ...]:
    """The parts of a compound that stand side by side in the most notes, else that most hold."""
    best: tuple[int, int, tuple[str, ...]] = (0, 0, ())
    for cut in range(_MIN_HALF_CHARS, len(word) - _MIN_HALF_CHARS + 1):
        head, tail = word[:cut], word[cut:]
        if tail in STOP_WORDS or not tail.isalpha():
            continue
        for link in _LINKING_LETTERS:
            first = head.removesuffix(link) if link else head
            if head.endswith(link) and len(first) >= _MIN_HALF_CHARS and first not in STOP_WORDS:
                terms = (stem(first), stem(tail))
                if all(map(known.has, terms)):
                    fewest = min(map(known.count_notes, terms))
                    best = max(best, (known.count_rows(terms), fewest, terms))
    return best[2]


def is_german(known: Vocabulary, live: int) -> bool:
    """Whether enough of the `live` notes are German."""
    most = max(map(known.count_notes, GERMAN_WORDS))
    return most >= GERMAN_NOTES or most > GERMAN_SHARE * live


def german_forms(term: str, known: Vocabulary) -> list[str]:
    """The terms that are the same German word in another case or number."""
    base = _german_base(term)
    if len(base) < _MIN_GERMAN_BASE_CHARS:
        return []
    form = re.compile(f"{re.escape(base)}(?:{_GERMAN_ENDINGS_RE})?")
    return [one for one in known.starting(base) if form.fullmatch(one) and one != term]


def german_compounds(term: str, known: Vocabulary) -> list[str]:
    """The terms that are compounds with a German word as their first or last part."""
    base = _german_base(term)
    if len(base) < _MIN_COMPOUND_PART_CHARS:
        return []
    most = re.escape(base)
    part = re.compile(rf"{most}\w{{3,}}|\w{{3,}}{most}(?:{_GERMAN_ENDINGS_RE})?")
    return sorted({one for one in known.holding(base) if part.fullmatch(one)})


def _german_base(term: str) -> str:
    kept = len(term) - _MIN_GERMAN_BASE_CHARS
    for ending in _GERMAN_ENDINGS:
        if len(ending) <= kept and term.endswith(ending):
            return term.removesuffix(ending)
    return term


def spelling(text: str) -> str:
    """A word of a query as it may be corrected; empty for what is no single word."""
    word = fold_accents(text).casefold().strip("\"'`.,;:!?()[]{}<>_-")
    return word if re.fullmatch(r"\w+(?:[-._]\w+)*", word) else ""


def shown_word(term: str, texts: Iterable[str]) -> str:
    """The word of these texts that a stemmed term stands for, or the term itself."""
    pattern = re.compile(rf"(?<![^\W_]){re.escape(term)}\w*", re.IGNORECASE)
    plain = (text if text.isascii() else fold_accents(text) for text in texts)
    found = (match[0] for text in plain for match in pattern.finditer(text))
    return min(found, key=len, default=term)
