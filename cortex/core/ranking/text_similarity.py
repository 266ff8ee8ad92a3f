"""How alike two texts are, by the words they share, and which of many texts are alike: exact, not
sampled.

The measure is Jaccard's: words in both over words in either. To find all pairs, each text counts
the words that it shares with every text before it at once: a word is one number with a bit for each
text that has it, and adding such numbers up as columns of carry-save adders counts all texts in a
few operations a word. Texts come in the order of their size, so that what a pair must share is
known from its longer text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, product
from math import ceil
from struct import pack, unpack
from typing import TypeVar
from zlib import crc32

from cortex.core.model.caller import ProgressCallback, no_progress
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tokenizer import STOP_WORDS, split_chunks, tokenize_chunk
from cortex.core.text.value import NamedTuple

# Similarity from which two records may say the same, and from which they most likely do: seed 003.
SIMILAR_THRESHOLD, DUPLICATE_THRESHOLD = 0.4, 0.6
MAX_TOKENS = 4_000  # different words of a text that are compared, the first ones

_PROGRESS_INTERVAL = 256  # texts between two reports of progress
_MIN_WORD_LETTERS = 3  # letters of a word
_ASCII_RUN_RE = lazy_re(r"[a-z0-9]+")
_LETTERS_RE = lazy_re(r"[a-z]{3,}")
# A number stands alone, or behind a word or a v: step 2, phase2, v2. Not within an id: k3f7q2.
_NUMBER_RE = lazy_re(r"(?:v|[a-z]{3,})?([0-9]+)")
_PUNCTUATION = dict.fromkeys(map(ord, "…–—“”„‚«»‹›•·→←↔’‘×"), " ")
# Mostly written without blanks. Compiling it takes 2.5 ms, which most texts have no use for.
_UNSPACED_SCRIPTS_PATTERN = "[\u0e00-\u109f\u1780-\u17ff\u2e80-\U0003ffff]"
_WORD_JOINTS_RE = lazy_re(r"[-_./'’:0-9]+")
_ROUNDING_TOLERANCE = 1e-9  # a bound that is a whole number must not be rounded up past it
_MAX_BITS = 500_000_000  # in the numbers of all words together
_MIN_COMPARED = 256  # texts, whatever the number of words
_SKETCH_SIZE, _MAX_HASH = 256, 2**32 - 1

_Token = TypeVar("_Token", str, int)
TokenSet = frozenset[str]


class LikenessBand(NamedTuple):
    """What a likeness says of two texts, and how strong an edge it makes between them, 0 to 1."""

    name: str
    strength: float


class TokenSketch(NamedTuple):
    """The smallest hashes of a text's tokens: a random choice that is the same for all texts."""

    hashes: frozenset[int]
    limit: int  # there are no others up to this one


def pack_sketch(tokens: TokenSet) -> bytes:
    """The sketch of these tokens: sorted hashes of 32 bits, little-endian, those of numbers odd."""
    hashes = {crc32(word.encode("utf-8", "surrogatepass")) & ~1 | word.isdigit() for word in tokens}
    smallest = sorted(hashes)[:_SKETCH_SIZE]
    return pack(f"<{len(smallest)}I", *smallest)


def read_sketch(packed: bytes) -> TokenSketch:
    hashes = unpack(f"<{len(packed) // 4}I", packed)
    limit = hashes[-1] if len(hashes) >= _SKETCH_SIZE else _MAX_HASH
    return TokenSketch(frozenset(hashes), limit)


def sketch_band(a: TokenSketch, b: TokenSketch) -> LikenessBand | None:
    """How alike two texts are, None if hardly: exact for up to 256 words, else estimated (standard
    error 0.03). The five bands are those of seed 003."""
    limit = min(a.limit, b.limit)
    left, right = a.hashes, b.hashes
    if limit != _MAX_HASH:
        left, right = (
            frozenset(hash_ for hash_ in hashes if hash_ <= limit) for hashes in (left, right)
        )
    likeness = jaccard(left, right)
    if likeness < 0.1:
        return None
    if likeness < SIMILAR_THRESHOLD:
        return LikenessBand("related", likeness)
    if likeness < 0.5:
        return LikenessBand("suggested", likeness)
    # Texts whose numbers differ are never near-equal: step 2 is not step 6. Their hashes are odd.
    if likeness < DUPLICATE_THRESHOLD or any(hash_ & 1 for hash_ in left ^ right):
        return LikenessBand("to consolidate", min(likeness, DUPLICATE_THRESHOLD))
    return LikenessBand("near-equal", 0.9)


def token_set(text: str) -> TokenSet:
    """The words that a text is compared by: of three letters and more, case aside, without English
    stop words (in scripts without blanks, pairs of characters); its numbers. `MAX_TOKENS` each."""
    lowered = text.casefold()
    if not lowered.isascii():
        lowered = lowered.translate(_PUNCTUATION)  # most other texts are ASCII apart from these
    runs = dict.fromkeys(_ASCII_RUN_RE.findall(lowered))
    words = _ascii_words(runs) if lowered.isascii() else dict.fromkeys(_iter_words(lowered))
    content_words = [word for word in words if word not in STOP_WORDS]
    numbers = [found[1] for run in runs if (found := _NUMBER_RE.fullmatch(run))]
    return frozenset((*content_words[:MAX_TOKENS], *numbers[:MAX_TOKENS]))


def _ascii_words(runs: Iterable[str]) -> dict[str, None]:
    """The words of three letters and more in these runs of letters and digits, in order."""
    words: dict[str, None] = {}
    for run in runs:
        if not run.isalpha():
            words.update(dict.fromkeys(_LETTERS_RE.findall(run)))
        elif len(run) >= _MIN_WORD_LETTERS:
            words[run] = None
    return words


def has_same_numbers(a: TokenSet, b: TokenSet) -> bool:
    """True if the numbers in `a` are those in `b`. Steps 2 and 6 are alike in all else."""
    return not any(map(str.isdigit, a ^ b))


def similarity(a: str, b: str) -> float:
    """How alike two texts are, from 0 to 1; 0 when one of them has no words."""
    return jaccard(token_set(a), token_set(b))


def jaccard(a: frozenset[_Token], b: frozenset[_Token]) -> float:
    """As `similarity`, of tokens."""
    both = len(a & b)
    return both / (len(a) + len(b) - both) if both else 0.0


def similar_pairs(
    texts: Sequence[str], least: float = SIMILAR_THRESHOLD, progress: ProgressCallback = no_progress
) -> Iterator[tuple[int, int, float]]:
    """Every pair of texts that are alike by `least` (above 0) or more, as their places (the lower
    one first) and how alike they are, in no order."""
    assert 0 < least <= 1
    copies: dict[TokenSet, list[int]] = {}
    for place, text in enumerate(texts):
        if not place % _PROGRESS_INTERVAL:
            progress("reading words", place, len(texts))
        copies.setdefault(token_set(text), []).append(place)
    copies.pop(frozenset(), None)
    for places in copies.values():  # what is copied a thousand times is compared once
        yield from ((one, other, 1.0) for one, other in combinations(places, 2))
    sets = sorted(copies, key=len)
    for one, other, alike in _similar_set_pairs(sets, least, progress):
        yield from (
            (min(pair), max(pair), alike)
            for pair in product(copies[sets[one]], copies[sets[other]])
        )


def _iter_words(text: str) -> Iterator[str]:
    for chunk in split_chunks(text):
        if not chunk.isascii() and re.search(_UNSPACED_SCRIPTS_PATTERN, chunk):
            parts = (part for word in tokenize_chunk(chunk, str) for part in word.part_terms)
            yield from (part for part in parts if len(part) > 1)
        else:
            words = _WORD_JOINTS_RE.split(chunk)
            yield from (word for word in words if len(word) >= _MIN_WORD_LETTERS)


def _similar_set_pairs(
    sets: Sequence[TokenSet], least: float, progress: ProgressCallback
) -> Iterator[tuple[int, int, float]]:
    """The pairs of different sets, which are sorted by size, and how alike they are. Each set is
    compared with as many of those before it at once as the memory for their words allows."""
    sizes = [len(words) for words in sets]
    frequency = Counter(chain.from_iterable(sets))
    shared_words = [word for word, count in frequency.items() if count > 1]
    step = max(_MIN_COMPARED, _MAX_BITS // (len(shared_words) + 1))
    for start in range(0, len(sets), step):
        bits = dict.fromkeys(shared_words, 0)
        for place in range(start, len(sets)):
            if not place % _PROGRESS_INTERVAL:
                progress("comparing", place, len(sets))
            words, size = sets[place], sizes[place]
            first = bisect_left(sizes, ceil(least * size - _ROUNDING_TOLERANCE), start)
            if first >= start + step:
                break
            columns = _bit_sums([number for word in words if (number := bits.get(word))])
            # From both / (size + other - both) >= least.
            bound = ceil(least / (1 + least) * (size + sizes[first]) - _ROUNDING_TOLERANCE)
            near = f"{_positions_at_least(columns, bound):b}"[::-1]
            digits = [f"{column:b}"[::-1] for column in columns] if "1" in near else []
            at = near.find("1", first - start)
            while at >= 0:
                both = sum(1 << n for n, digit in enumerate(digits) if digit[at : at + 1] == "1")
                if (alike := both / (size + sizes[start + at] - both)) >= least:
                    yield start + at, place, alike
                at = near.find("1", at + 1)
            if place < start + step:
                for word in words:
                    if word in bits:
                        bits[word] |= 1 << (place - start)


def _bit_sums(numbers: list[int]) -> list[int]:
    """The sums of the numbers' bits at each place, as binary columns, lowest digit first."""
    columns = []
    while numbers:
        carried = []
        while len(numbers) > 2:
            one, two, three = numbers.pop(), numbers.pop(), numbers.pop()
            odd = one ^ two
            numbers.append(odd ^ three)
            carried.append(one & two | odd & three)
        if len(numbers) == 2:
            one, two = numbers
            numbers = [one ^ two]
            carried.append(one & two)
        columns.append(numbers[0])
        numbers = carried
    return columns


def _positions_at_least(columns: Sequence[int], bound: int) -> int:
    """A bit for every place whose sum is `bound`, which is above 0, or more."""
    if bound.bit_length() > len(columns):
        return 0
    reached = -1
    for digit, column in enumerate(columns):
        reached = column & reached if bound >> digit & 1 else column | reached
    return reached
