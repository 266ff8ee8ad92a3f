"""What a prompt is about, in the words of an index, and which notes bear on it.

A prompt is a sentence, or a page of pasted log. Its telling words are chosen by how and where they
are said: names of files and identifiers above prose, the message of an error above its stack trace,
words with which anybody asks for anything least. A note bears on the prompt when it covers enough
of what these words tell; else nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set as AbstractSet

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import truncate_prompt
from cortex.core.text.tables import read_sections
from cortex.core.text.tokenizer import STOP_WORDS, Stemmer, split_chunks, tokenize_chunk
from cortex.core.text.value import NamedTuple

MAX_TERMS = 48  # words that are looked up
# Weights by where a word stands; `GENERIC_WEIGHT` is of words that ask for anything: they count
# beside others only.
PROSE_WEIGHT, CODE_WEIGHT, GENERIC_WEIGHT = 1.0, 0.35, 0.8
NAME_WEIGHT = 1.5  # of a file name or an identifier, beside where it stands
_MAX_ERROR_LINES = 5  # lines with the message of an error that weigh like prose
# Of more only the beginning is read, and nothing of a chunk (base64).
_MAX_LINE_CHARACTERS, _MAX_CHUNK_CHARACTERS = 2_000, 200

# The floor, set on the prompts of `benchmarks/reminders.py`. A share is of what the heaviest words
# of the prompt weigh.
HEAVIEST_TERMS = 5  # words that a share is taken of
MIN_SCORE = 1.2  # whatever the share: about two informative words, or a rare one in the title
UNKNOWN_TERM_WEIGHT = 0.7  # factor of a word that no note holds
RARITY_EXPONENT = 0.6  # of a word's idf: words of a question are seldom rare in a vault on it
# The share that an action has to cover: it is worded like what anybody asks for.
MIN_ACTION_SHARE = 0.9
MIN_SHARE_OF_BEST = 0.85  # of the score of the best; what covers less is not told beside it
COMMON_TERM_SHARE = 0.6  # share of the notes; a word that more of them hold tells nothing
MIN_COLLECTION_SIZE = 60  # notes; a smaller vault counts as one of this size
_RARE_NAME_SHARE = 0.06  # the same; a name that so few notes hold tells enough by itself
# Of a match in the title, in a short text, in an endless one; terms halfway between these.
_HEAD_MATCH_WEIGHT, _BODY_MATCH_WEIGHT, _LONG_BODY_MATCH_WEIGHT = 1.5, 1.0, 0.4
_HALFWAY_BODY_TERMS = 100.0
_MIN_NAME_MATCH_WEIGHT = 0.8  # the least of a name in any text: nobody writes one by chance

_CODE_FENCE_RE = lazy_re(r"\s{0,3}(?:```|~~~)")
_LOG_LINE_RE = lazy_re(
    r"\s*(?:at [\w$.<]+[(:]|File \"|Traceback |Caused by:|\.\.\. \d+ more|#\d+ |goroutine \d"
    r"|[+-]{3} |@@ |[$>%] |\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d\d:\d\d:\d\d|\d+ \|"
    r"|(?:DEBUG|INFO|WARN|WARNING|TRACE|ERROR|FATAL)\b)"
)
_ERROR_MESSAGE_RE = lazy_re(
    r"(?:Error|Exception|Panic|Failure)\b"
    r"|\b(?:error|fatal|panicked|panic|failed|cannot|could not|refused|denied)\b"
)
_IDENTIFIER_SEAM_RE = lazy_re(
    r"[_/.]|::|[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}|[A-Za-z]{2}[0-9]|[0-9][A-Za-z]{2}"
)
_SLASH_COMMAND_RE = lazy_re(r"\s*/[\w:-]+(?=\s|$)")

# Words with which people ask for any work at all.
_GENERIC_WORDS = frozenset(" ".join(read_sections(__file__)["generic words"]).split())


class PromptTerm(NamedTuple):
    """A word of a prompt, as the index may have it: any of `terms`, or `phrase` in a row."""

    terms: tuple[str, ...]
    phrase: tuple[str, ...]
    weight: float
    is_name: bool  # a file name or an identifier
    is_informative: bool  # says what the prompt is about


class TermPostings(NamedTuple):
    """Where an index has a word: how many notes hold it; which do so in title or tags, and which in
    their text."""

    document_count: int
    head_documents: AbstractSet[int]
    body_documents: AbstractSet[int]


class _WeightedTerm(NamedTuple):
    """A word with where the index has it and what it weighs."""

    term: PromptTerm
    postings: TermPostings
    weight: float


class RelevantNote(NamedTuple):
    """A note that bears on a prompt."""

    score: float
    number: int
    # Of what the heaviest words of the prompt weigh; a title counts for more than it says.
    prompt_share: float = 1.0
    part: int = 0  # its passage that does


class RelevantNotes(NamedTuple):
    """What bears on a prompt, best first, and the prompt's words that found it, weighed."""

    notes: list[RelevantNote]
    events: list[RelevantNote]  # each by its best passage
    weights: dict[str, float]


def is_uninformative(prompt: str) -> bool:
    """True if no word of a prompt is informative. Needs no stemmer, and so no index."""
    terms = prompt_terms(prompt, lambda word: word.removesuffix("s"))
    return not any(one.is_informative for one in terms)


def prompt_terms(prompt: str, stem: Stemmer) -> tuple[PromptTerm, ...]:
    """The words of a prompt, the most informative first."""
    generic = {stem(word.replace("'", "")) for word in _GENERIC_WORDS} | _GENERIC_WORDS
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], PromptTerm] = {}
    for line, weight in _weighted_lines(truncate_prompt(prompt)):
        for chunk in split_chunks(line):
            if len(chunk) > _MAX_CHUNK_CHARACTERS:
                continue
            for one in _chunk_terms(chunk, stem, weight, generic):
                key = (one.terms, one.phrase)
                if key not in found or found[key].weight < one.weight:
                    found[key] = one
    return tuple(sorted(found.values(), key=lambda one: -one.weight)[:MAX_TERMS])


def normalized_idf(holding: int, live: int) -> float:
    """BM25's idf of a word that `holding` of `live` notes hold, scaled to 0 to 1."""
    most = math.log(1 + (live - 0.5) / 1.5) if live > 1 else 1.0
    return min(1.0, max(0.0, math.log(1 + max(0.0, live - holding + 0.5) / (holding + 0.5)) / most))


def find_relevant_notes(
    words: Sequence[PromptTerm],
    postings: Sequence[TermPostings],
    live: int,
    length: Callable[[int], int],
    least_share: float,
) -> list[RelevantNote]:
    """The notes that bear on what was said, best first. `postings` tells where each word stands,
    `length` how many words a note has, `least_share` how much of the prompt it has to cover."""
    live = max(live, MIN_COLLECTION_SIZE)
    weighed = [
        _WeightedTerm(word, where, _term_weight(word, where, live))
        for word, where in zip(words, postings, strict=True)
    ]
    whole = sum(sorted((one.weight for one in weighed), reverse=True)[:HEAVIEST_TERMS])
    covering: dict[int, list[int]] = {}
    for place, one in enumerate(weighed):
        if one.postings.document_count <= COMMON_TERM_SHARE * live:
            for number in one.postings.head_documents | one.postings.body_documents:
                covering.setdefault(number, []).append(place)
    rare = _RARE_NAME_SHARE * live
    floor = max(MIN_SCORE, least_share * whole)
    scored = (
        _score_note(number, weighed, places, length(number), rare)
        for number, places in covering.items()
        if _highest_score(number, weighed, places) >= floor  # lengths cost most
    )
    good = (one for one in scored if one and one.score >= floor)
    shared = (one._replace(prompt_share=one.score / whole) for one in good)
    return sorted(shared, key=lambda one: (-one.score, one.number))


def score_cutoff(scores: Iterable[float]) -> float:
    """What a note has to score at least to be told beside the best of those that may be told."""
    return MIN_SHARE_OF_BEST * max(scores, default=0.0)


def _highest_score(number: int, weighed: Sequence[_WeightedTerm], places: Iterable[int]) -> float:
    """What a note would score that had hardly any text."""
    score = 0.0
    for place in places:
        _, where, weight = weighed[place]
        in_head = number in where.head_documents
        score += weight * (_HEAD_MATCH_WEIGHT if in_head else _BODY_MATCH_WEIGHT)
    return score


def _score_note(
    number: int, weighed: Sequence[_WeightedTerm], places: Sequence[int], length: int, rare: float
) -> RelevantNote | None:
    """The score of a note; None if it covers a single word that is not enough alone."""
    body = _LONG_BODY_MATCH_WEIGHT + (_BODY_MATCH_WEIGHT - _LONG_BODY_MATCH_WEIGHT) / (
        1 + length / _HALFWAY_BODY_TERMS
    )
    score, telling, alone = 0.0, 0, False
    for place in places:
        word, where, weight = weighed[place]
        in_head = number in where.head_documents
        in_body = max(body, _MIN_NAME_MATCH_WEIGHT) if word.is_name else body
        score += weight * (_HEAD_MATCH_WEIGHT if in_head else in_body)
        telling += word.is_informative
        alone = alone or (
            word.is_informative and (in_head or (word.is_name and where.document_count <= rare))
        )
    return RelevantNote(round(score, 6), number) if alone or telling > 1 else None


def _term_weight(word: PromptTerm, where: TermPostings, live: int) -> float:
    holding = where.document_count
    if holding:
        return word.weight * math.pow(normalized_idf(holding, live), RARITY_EXPONENT)
    if not word.is_informative:
        return 0.0  # what people say to ask for anything is about nothing else
    # Nor does a name tell more that was never heard of here.
    return UNKNOWN_TERM_WEIGHT * word.weight / (NAME_WEIGHT if word.is_name else 1.0)


def _weighted_lines(text: str) -> Iterator[tuple[str, float]]:
    """The lines of a prompt with what a word in each weighs."""
    lines = text.splitlines()
    if lines and (command := _SLASH_COMMAND_RE.match(lines[0])):
        lines[0] = lines[0][command.end() :]
    fenced, errors = False, 0
    for raw in lines:
        line = raw[:_MAX_LINE_CHARACTERS]
        if _CODE_FENCE_RE.match(line):
            fenced = not fenced
            continue
        is_code = fenced or line.startswith(("    ", "\t"))
        is_code = bool(is_code or _LOG_LINE_RE.match(line) or _is_mostly_symbols(line))
        if is_code and errors < _MAX_ERROR_LINES and _ERROR_MESSAGE_RE.search(line):
            is_code, errors = False, errors + 1
        yield line, CODE_WEIGHT if is_code else PROSE_WEIGHT


def _is_mostly_symbols(line: str) -> bool:
    """Whether a line has too few letters to be a sentence."""
    return len(line) > 20 and 10 * sum(map(str.isalpha, line)) < 6 * len(line.replace(" ", ""))


def _chunk_terms(
    chunk: str, stem: Stemmer, weight: float, generic: AbstractSet[str]
) -> Iterator[PromptTerm]:
    named = _is_code_name(chunk)
    lowered = chunk.casefold()
    for word in tokenize_chunk(chunk, stem):
        parts = tuple(part for part in word.part_terms if len(part) > 1 and not part.isdecimal())
        if not parts or lowered in STOP_WORDS:
            continue
        if not word.whole_terms:  # of a script without spaces a run is many words
            telling = any(part not in generic for part in parts) and lowered not in generic
            share = weight if telling else GENERIC_WEIGHT * weight
            share /= len(parts) ** 0.5
            yield from (PromptTerm((part,), (), share, False, telling) for part in parts)
        elif "/" in chunk or "." in chunk:
            yield from _path_terms(chunk, stem, weight * (NAME_WEIGHT if named else 1.0), named)
        else:
            telling = any(part not in generic for part in parts)
            heavy = weight * (NAME_WEIGHT if named else 1.0) if telling else GENERIC_WEIGHT * weight
            phrase = word.part_terms if len(word.part_terms) > 1 else ()
            yield PromptTerm(word.whole_terms, phrase, heavy, named, telling)


def _path_terms(chunk: str, stem: Stemmer, weight: float, named: bool) -> Iterator[PromptTerm]:
    """The term of a path, known by any of its ends: from the root, the project, or its name."""
    steps = [step for step in chunk.split("/") if step]
    ends = ["/".join(steps[at:]) for at in range(max(0, len(steps) - 6), len(steps))]
    words = (word for end in ends for word in tokenize_chunk(end, stem))
    terms = tuple(dict.fromkeys(whole for word in words for whole in word.whole_terms))
    last = tokenize_chunk(steps[-1], stem) if steps else ()
    row = last[0].part_terms if len(last) == 1 and len(last[0].part_terms) > 1 else ()
    if terms or row:
        yield PromptTerm(terms, row, weight, named, is_informative=True)


def _is_code_name(chunk: str) -> bool:
    """Whether this names something in code: a file, a function, a class, an option."""
    letters = sum(map(str.isalpha, chunk))
    return letters > 3 and bool(_IDENTIFIER_SEAM_RE.search(chunk))
