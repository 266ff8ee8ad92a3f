"""Exact search among vectors: the cosine of a query with every passage, in blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cortex.core.text.value import NamedTuple
from cortex.index.vectors.vector_file import HEADER_BYTES, KEY_BYTES, NO_KEY, VectorFile
from cortex.vault import private

_BLOCK_ROWS = 8192  # of which copies are made at once
_COMPARED_ROWS = 512  # notes that are compared with all others at once
_DIGITS = 4  # of a cosine: beyond them the order of a sum shows
_MAX_PARTS = 32  # of a note that is compared with others


class NearPassage(NamedTuple):
    """The best passage of a note."""

    number: int  # of the note
    part: int  # its place in the note, as the full-text index counts
    cosine: float


class PassageVectors(NamedTuple):
    """Every passage of some notes, and the row of a vector file that it has."""

    numbers: NDArray[np.int64]
    parts: NDArray[np.int64]
    rows: NDArray[np.int64]  # -1 where there is no vector
    vectors: NDArray[np.float16]
    missing: int  # passages that should have one and have none

    def nearest(self, queries: NDArray[np.float32], limit: int) -> list[NearPassage]:
        """The notes with the passages nearest to any of the queries, best first; and those that are
        as near as the last."""
        has_row = np.flatnonzero(self.rows >= 0)
        rows = self.rows[has_row]
        cosines = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = self.vectors[rows[start : start + _BLOCK_ROWS]].astype(np.float32)
            cosines[start : start + len(block)] = (block @ queries.T).max(1)
        cosines = cosines.round(_DIGITS)
        numbers, parts = self.numbers[has_row], self.parts[has_row]
        best_first = np.lexsort((parts, numbers, -cosines))
        _, first = np.unique(numbers[best_first], return_index=True)
        places = best_first[np.sort(first)]
        if 0 < limit < len(places):
            places = places[cosines[places] >= cosines[places[limit - 1]]]
        found = (numbers[places], parts[places], cosines[places].astype(float).round(_DIGITS))
        return [NearPassage(*one) for one in zip(*(some.tolist() for some in found), strict=True)]

    def of_note(self, number: int) -> NDArray[np.float32]:
        """The vectors of a note's first passages, one row each."""
        rows = self.rows[(self.numbers == number) & (self.rows >= 0)][:_MAX_PARTS]
        found: NDArray[np.float32] = self.vectors[rows].astype(np.float32)
        return found

    def alike(self, least: float) -> list[tuple[int, int, float]]:
        """Pairs of notes whose mean vectors have a cosine of at least `least`, with the cosine."""
        has_row = self.rows >= 0
        numbers, places = np.unique(self.numbers[has_row], return_inverse=True)
        means = np.zeros((len(numbers), self.vectors.shape[1]), np.float32)
        np.add.at(means, places, self.vectors[self.rows[has_row]].astype(np.float32))
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
        pairs = []
        for start in range(0, len(numbers), _COMPARED_ROWS):
            cosines = np.triu(means[start : start + _COMPARED_ROWS] @ means.T, start + 1)
            for i, j in np.argwhere(cosines >= least).tolist():
                pair = int(numbers[start + i]), int(numbers[j])
                pairs.append((*pair, round(float(cosines[i, j]), _DIGITS)))
        return pairs


def load_vectors(keys_by_note: Iterable[tuple[int, bytes]], file: VectorFile) -> PassageVectors:
    """The passages of some notes, given by number and joined keys, each with its vector."""
    notes = list(keys_by_note)
    keys = np.frombuffer(b"".join(joined for _, joined in notes), f"S{KEY_BYTES}")
    counts = np.array([len(joined) // KEY_BYTES for _, joined in notes], np.int64)
    numbers = np.repeat(np.array([number for number, _ in notes], np.int64), counts)
    parts = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = _map_rows(file)
    stored = np.ascontiguousarray(table["key"])
    order = np.argsort(stored, kind="stable")
    rows = np.full(len(keys), -1)
    if len(stored):
        places = order[np.minimum(np.searchsorted(stored, keys, sorter=order), len(stored) - 1)]
        rows = np.where((stored[places] == keys) & (keys != NO_KEY), places, -1)
    missing = int(((rows < 0) & (keys != NO_KEY)).sum())
    return PassageVectors(numbers, parts, rows, table["vector"], missing)


def _map_rows(file: VectorFile) -> NDArray[np.void]:
    """The whole rows of a file as they are now."""
    count, dimension = file.shape()
    kind = np.dtype([("key", f"S{KEY_BYTES}"), ("vector", "<f2", (dimension,))])
    if not count:
        return np.empty(0, kind)
    with open(private.open_private(file.path), "rb") as opened:
        return np.memmap(opened, kind, "r", HEADER_BYTES, (count,))
