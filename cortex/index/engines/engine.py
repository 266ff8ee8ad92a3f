"""What a full-text engine is: a module with the functions of `FulltextEngine`, and the open index
that its readers give.

An index holds documents, each a passage of a note, and where words stand. What `PassageSearch` and
`relevance_search` ask of it they ask of an `IndexReader`. Counts are those of live notes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Protocol, TypeAlias, TypeVar

from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import CortexError
from cortex.core.ranking.note_score import SeriesOrder
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import IndexDamaged

FIELDS = ("body", "head", "context", "around")
# A passage of a note for an engine: number, tier, part (its place in the note), body (its text),
# around (what stands around it, or None); of the first one also head (title, aliases, tags),
# context (words of `context_words`, or None) and series (its key, or 0).
Document: TypeAlias = Mapping[str, object]
_Aside = TypeVar("_Aside")
# How many indexes a process may keep open for its next query. A watcher answers many.
kept_indexes = 0


class ScoredNote(NamedTuple):
    """A note that a search found."""

    number: int
    score: float
    part: int = 0  # its passage that answers best
    is_whole: bool = True  # holds every word of the query


class FoundNotes(NamedTuple):
    """The answer of a full-text engine."""

    notes: list[ScoredNote]
    terms: dict[str, float]  # the notes were found by, with what each weighs
    # Words of the query that no note holds -> the terms that were looked for in their place.
    corrected: dict[str, tuple[str, ...]]
    series: SeriesOrder | None = None


class Alternatives(NamedTuple):
    """What finds a word of a query in a field: any of `terms`, or `row`, one after the other."""

    terms: tuple[str, ...]
    row: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()  # how the words begin that are found
    written: str = ""  # the word of the query, where it may be corrected


class WantedNotes(NamedTuple):
    """Which notes a search may find."""

    most: int  # of each group, with all that score as the last of them
    groups: Sequence[Collection[int]]  # of tiers
    allowed: set[int] | None = None  # only these
    hidden: Collection[int] = ()  # none of these
    required: int = 0  # so many of the words, from the first, have to be in each


class IndexReader:
    """What it reads and counts stands for as long as the index is not changed."""

    numbers: Sequence[int]  # of all documents: the number of the note
    tiers: Sequence[int]
    parts: Sequence[int]  # the place in the note
    deleted: Collection[int] = frozenset()  # documents
    note_count: int
    mean_length: float  # of a note's text in terms
    series_keys: Sequence[tuple[int, int]]  # number and series key of each live note of a series

    # How many terms a field of a document has, text or head.
    length: Callable[[str, int], int]
    # How many terms the texts of notes have, by number: at least of those that have these documents.
    note_lengths: Callable[[Collection[int]], Mapping[int, int]]
    # Which live documents hold a word in a field, and how often its most frequent alternative.
    frequencies: Callable[[str, Alternatives], Collection[tuple[int, float]]]
    terms_from: Callable[[str, str], Iterable[str]]  # those of a field that begin so
    # At least those of texts and titles that hold a part; that are among these words.
    terms_holding: Callable[[str], Iterable[str]]
    terms_among: Callable[[Collection[str]], Iterable[str]]
    # How many documents hold a term in a field, with those that are deleted.
    document_frequency: Callable[[str, str], int]
    # How many notes hold a word in title or text, and how many of the trail; asked where
    # `candidates` are not all.
    count_relevant: Callable[[Alternatives], tuple[int, int]]

    def candidates(
        self,
        words: Iterable[tuple[Alternatives, float]],  # noqa: ARG002  all are candidates
        wanted: WantedNotes,  # noqa: ARG002
    ) -> IndexReader:
        """The documents of the notes that may be the best for some words, weighed, with their
        neighbours: here of all."""
        return self

    def numbers_with(self, one: Alternatives) -> set[int]:
        """The notes that hold a word in any field."""
        found = [self.frequencies(field, one) for field in FIELDS]
        return {self.numbers[place] for postings in found for place, _ in postings}

    def count(self, one: Alternatives) -> int:
        """How many notes do."""
        return len(self.numbers_with(one))

    @cached_property
    def series(self) -> SeriesOrder:
        return SeriesOrder(self.series_keys)

    @cached_property
    def places(self) -> dict[int, int]:
        """The first document of each note, by its number."""
        documents = range(len(self.numbers))
        return dict(zip(reversed(self.numbers), reversed(documents), strict=True))

    @cached_property
    def trail(self) -> set[int]:
        """The documents of the trail that are not deleted."""
        found = {place for place, one in enumerate(self.tiers) if one == TIER_TRAIL}
        return found.difference(self.deleted)

    def passages_with(self, document: int) -> range:
        """All passages of a note, by one of them; they lie in a row."""
        begin = end = document - self.parts[document]
        number = self.numbers[document]
        while end < len(self.numbers) and self.numbers[end] == number:
            end += 1
        return range(begin, end)


@contextmanager
def damage_raised() -> Iterator[None]:
    """Raise `IndexDamaged` for what an engine raises on an index that is damaged, or of a format
    that it does not know: Whoosh anything at all, and a panic of tantivy is no Exception."""
    try:
        yield
    except (CortexError, IndexDamaged):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise IndexDamaged(f"{type(error).__name__}: {error}") from error


class FulltextEngine(Protocol):
    """What an engine can do. Each raises `IndexDamaged` when the index cannot be read or made."""

    def build(
        self, folder: str, paths: Sequence[str], load: Callable[[str], tuple[Sequence[Document], _Aside]],
        noted: Callable[[str, _Aside], None], *, cores: int,
    ) -> None:  # fmt: skip
        """Write an index into an empty folder, in up to `cores` processes. `load` gives a path's
        documents and anything else, which `noted` gets in this process. `load` is a function of a
        module, or a `partial` of one."""

    def update(self, folder: str, dropped: Iterable[int], added: Iterable[Document]) -> None:
        """Forget the notes of some numbers and add others, in one commit."""

    def open_reader(self, folder: str) -> AbstractContextManager[IndexReader]:
        """The index, to be asked. What cannot be read inside raises `IndexDamaged`, too."""
