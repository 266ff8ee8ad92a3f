"""Tokenize text for search: folded, stemmed, identifiers split into parts, no stop words.

A text becomes a sequence of positions. A plain word is one term at one position. An identifier
(`merge_driver`, `mergeDriver`, `merge-driver`, `core/merge/merge_record.py`) has its parts at
consecutive positions, so that the phrase "merge driver" finds every spelling of it; its whole
spellings are further terms at the position of its first part. A run of a script without spaces
becomes overlapping pairs of characters. Stop words take no position, in texts and in queries.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from unicodedata import normalize

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

Stemmer = Callable[[str], str]

MAX_TERM_CHARS = 64
"""Characters of the longest term; the rest of a longer one (base64) is not searchable."""

STOP_WORDS = frozenset(
    """a about am an and any are as at be because been being but by can could did do does doing for
    from had has have having he her here hers him his how i if in into is it its just me might must
    my no nor not of on or our ours shall she should so some such than that the their theirs them
    then there these they this those to too us very was we were what when where which who whom whose
    why will with would you your yours""".split()  # noqa: SIM905
)
"""English function and question words, without `may` (a month), `up`, `out`, `all` and code
words."""

# Marks that Python does not count as letters: words of Hindi, Thai or Hebrew need them.
_COMBINING_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c2\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u0900-\u0963\u0971-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece"
    "\u102b-\u103e\u17b4-\u17d3"
)
# Kana, Han, Hangul, and the scripts of South East Asia.
_UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u318f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# Behind a word: C++, C# and F# are other words than C and F.
_SIGN_PATTERN = r"(?:\+\+|\#)?"
_ASCII_CHUNK_RE = lazy_re(rf"[0-9A-Za-z_]+(?:(?:[-./']|::)[0-9A-Za-z_]+)*{_SIGN_PATTERN}")
_DOTNET_PATTERN = r"(?<![\w.)\]])\.net\b(?![-.(])"
_SIGNED_NAME_RE = lazy_re(r"(?:.*[-./:'])?(?P<name>[A-Za-z]\+\+|[CFJcfj]\#|\.net)", re.IGNORECASE)
# Compiled on first use: large classes take milliseconds, and few searches need them.
_CHUNK_PATTERN = (
    rf"[\w{_COMBINING_MARKS}]+(?:(?:[-./'\u2019]|::)[\w{_COMBINING_MARKS}]+)*{_SIGN_PATTERN}"
)
_UNSPACED_RUN_PATTERN = rf"([{_UNSPACED_SCRIPTS}]+)"
_JOINT_RE = lazy_re(r"[-_./:]+")
_SUBWORD_RE = lazy_re(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_HEX_RE = lazy_re(r"[0-9a-f]{4,}")
_ACCENTS_RE = lazy_re("[\u0300-\u036f]+")
_UNDECOMPOSED_LETTERS = str.maketrans("øØłŁđĐı", "oOlLdDi") | {
    ord(letter): pair for letter, pair in zip("æÆœŒ", ("ae", "Ae", "oe", "Oe"), strict=True)
}
_CONTRACTION_ENDINGS = frozenset(["s", "t", "d", "m", "ll", "re", "ve"])
_CONTRACTION_RE = lazy_re("'(?:s|t|d|m|ll|re|ve)$", re.IGNORECASE)


class TokenizedWord(NamedTuple):
    """The terms of a word: whole ones at its first position, parts at consecutive positions.

    A word takes as many positions as it has parts, which is at least one.
    """

    whole_terms: tuple[str, ...]
    part_terms: tuple[str, ...]


def fold_accents(text: str) -> str:
    """The text without accents and compatibility forms: `é` is `e`, `Ａ` is `A`. Case stays."""
    if text.isascii():
        return text
    bare = _ACCENTS_RE.sub("", normalize("NFKD", text)).translate(_UNDECOMPOSED_LETTERS)
    return normalize("NFKC", bare)


def split_chunks(text: str) -> list[str]:
    """The chunks for `tokenize_chunk`: words with inner punctuation, as written."""
    if ".net" in text.lower():
        pattern = f"{_DOTNET_PATTERN}|{_CHUNK_PATTERN}"
        return re.findall(pattern, normalize("NFC", text), re.IGNORECASE)
    if text.isascii():
        return _ASCII_CHUNK_RE.findall(text)
    return re.findall(_CHUNK_PATTERN, normalize("NFC", text))


def tokenize_chunk(chunk: str, stem: Stemmer) -> tuple[TokenizedWord, ...]:
    """The words of one chunk; none if it holds only stop words or no letter."""
    if chunk[-1] in "+#" or chunk[0] == ".":
        bare = chunk.rstrip("+#")
        if not (signed := _SIGNED_NAME_RE.fullmatch(chunk)):
            return tokenize_chunk(bare, stem)
        before = chunk[: signed.start("name")].rstrip("-./:'")
        name = TokenizedWord((), (signed["name"].casefold(),))
        return (*(tokenize_chunk(before, stem) if before else ()), name)
    if chunk.isascii():
        word = _tokenize_spaced(chunk, stem)
        return (word,) if word else ()
    words: list[TokenizedWord] = []
    for folded in re.findall(_CHUNK_PATTERN, fold_accents(chunk)):
        # Split on a group: every second run is one without spaces.
        for place, run in enumerate(re.split(_UNSPACED_RUN_PATTERN, folded)):
            if place % 2:
                pairs = tuple(map("".join, pairwise(run)))
                words.append(TokenizedWord((), pairs or (run,)))
            else:
                pieces = re.findall(_CHUNK_PATTERN, run)
                words += filter(None, (_tokenize_spaced(piece, stem) for piece in pieces))
    return tuple(words)


def tokenize_query(text: str, stem: Stemmer) -> list[TokenizedWord]:
    """The words of a query, in order, by the same rules as those of a text."""
    return [word for chunk in split_chunks(text) for word in tokenize_chunk(chunk, stem)]


def _tokenize_spaced(chunk: str, stem: Stemmer) -> TokenizedWord | None:
    """One word of a script with spaces, or None for stop words and for bare punctuation."""
    if chunk.isalpha() and (chunk[1:].islower() or len(chunk) == 1):
        lowered = chunk.casefold()
        return None if lowered in STOP_WORDS else TokenizedWord((), (_stem_term(lowered, stem),))
    pieces = [piece for piece in _JOINT_RE.split(chunk) if piece]
    bare = [part for piece in pieces for part in _strip_contraction(piece)]
    if not bare:
        return None
    parts = [
        part.casefold()
        for piece in bare
        for part in _split_subwords(piece, len(chunk) > MAX_TERM_CHARS)
    ]
    kept = tuple(_stem_term(part, stem) for part in parts if part not in STOP_WORDS)
    joined = len(pieces) > 1 or len(parts) != len(bare)
    if not joined:
        return TokenizedWord((), kept) if kept else None
    return _tokenize_identifier(chunk, parts, kept, stem)


def _tokenize_identifier(
    chunk: str, parts: list[str], kept: tuple[str, ...], stem: Stemmer
) -> TokenizedWord:
    whole = _CONTRACTION_RE.sub("", chunk.strip("_").replace("\u2019", "'"))
    wholes = [whole.casefold()[:MAX_TERM_CHARS]]
    # `front-end` and `YouTube` are often written as one word of prose: that is a term too.
    if len(parts) in (2, 3) and all(map(str.isalpha, parts)) and not re.search("[./:]", chunk):
        wholes.append(_stem_term("".join(parts), stem))
    return TokenizedWord(tuple(dict.fromkeys(wholes)), kept or tuple(wholes[:1]))


def _strip_contraction(piece: str) -> list[str]:
    """The piece without contraction or possessive: `user's` is `user`, `don't` is nothing."""
    head, *tails = re.split("['\u2019]", piece)
    ending = tails.pop() if tails and tails[-1].casefold() in _CONTRACTION_ENDINGS else ""
    if ending.casefold() == "t" and head.endswith(("n", "N")):
        return []
    return [part for part in (head, *tails) if part]


def _split_subwords(piece: str, in_long: bool) -> list[str]:
    """The parts of a piece, at changes of case and between letters and digits; not of a digest."""
    if not piece.isascii():
        return [piece]
    parts: list[str] = _SUBWORD_RE.findall(piece)
    many_short = len(parts) > 3 and 5 * len(parts) > 2 * len(piece)
    if not many_short and not (len(parts) > 1 and _HEX_RE.fullmatch(piece)):
        return parts
    return [] if in_long and len(piece) > 16 else [piece]


def _stem_term(word: str, stem: Stemmer) -> str:
    short = word[:MAX_TERM_CHARS]
    return stem(short) if short.isascii() and short.isalpha() else short
