"""Give vectors to the passages that have none: in batches, each appended at once, so that a run that
was ended goes on where it stood."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import Problem
from cortex.index.filters import NoteFilter
from cortex.index.refresh import IndexSession
from cortex.index.vectors.embedder_failed import EmbedderFailed
from cortex.index.vectors.passage_text import KEY_BYTES, NO_KEY, passage_texts, text_key
from cortex.vault.locate import Vault, default_vault_root

if TYPE_CHECKING:
    from cortex.core.model.caller import ProgressCallback
    from cortex.index.vectors.embedders import Embedder
    from cortex.index.vectors.vector_file import VectorFile

_BATCH_TEXTS = 64  # that are lost at the most when a run is killed
_MAX_REFUSED = 3  # texts that an embedder may refuse one by one before it is given up
_SAID_BY_PEOPLE = ("manual", "meeting")  # events that are no turn and no tool of an agent
RAW, PERSONAL = "events of agents", "personal notes"  # what is not sent unasked


class EmbedPlan(NamedTuple):
    """What a run has to do."""

    paths: dict[str, str]  # notes with passages to embed, each with its stamp
    missing: set[bytes]  # keys of texts to embed
    present: int  # passages that have a vector
    withheld: dict[str, int]  # passages that a remote model is not told, by what they are
    used: set[bytes]  # every key of the vault


class EmbedOutcome(NamedTuple):
    """What a run has done."""

    embedded: int
    refused: tuple[Problem, ...]  # texts that the embedder gave no good vector for


def split_keys(joined: bytes) -> list[bytes]:
    """The keys of a note's passages."""
    return [joined[at : at + KEY_BYTES] for at in range(0, len(joined), KEY_BYTES)]


def make_plan(
    vault: Vault, now: IndexSession, known: Iterable[bytes], *, is_told_little: bool
) -> EmbedPlan:
    """What is to be embedded beside the `known` keys. With `is_told_little`, nothing of what agents
    did, and no personal note."""
    present_keys = {*known, NO_KEY}
    of_notes = {number: split_keys(joined) for number, joined in now.catalogue.passage_keys()}
    lacking = [one for one, keys in of_notes.items() if not present_keys.issuperset(keys)]
    paths, missing, withheld = dict[str, str](), set[bytes](), Counter[str]()
    for row in now.catalogue.find(NoteFilter(numbers=lacking), "path"):
        keys = set(of_notes[row.number]) - present_keys
        kind = ""
        if is_told_little and row.tier == TIER_TRAIL and row.type not in _SAID_BY_PEOPLE:
            kind = RAW
        elif is_told_little and (row.scope == "personal" or _is_own(vault)):
            kind = PERSONAL
        if kind:
            withheld[kind] += len(keys)
        else:
            paths[row.path] = now.snapshot.stamps[row.path]
            missing |= keys
    used = set(chain.from_iterable(of_notes.values()))
    with_vector = sum(key in present_keys and key != NO_KEY for keys in of_notes.values() for key in keys)  # fmt: skip
    return EmbedPlan(paths, missing, with_vector, dict(withheld), used)


def _is_own(vault: Vault) -> bool:
    """Whether this is the vault that the person named as their own."""
    named = default_vault_root() if vault.default_root is None else vault.default_root
    return bool(named) and os.path.realpath(named) == vault.root


def embed_missing(
    root: str, plan: EmbedPlan, embedder: Embedder, file: VectorFile, progress: ProgressCallback
) -> EmbedOutcome:
    """Embed what a plan lacks, inside `file.writing`. Raises `EmbedderFailed`; what was embedded
    until then is kept."""
    refused, done = list[Problem](), 0
    for batch in _iter_batches(_iter_missing(root, plan)):
        for part, fault in _embed_in_parts(embedder, file, batch):
            done += len(part)
            refused += [
                Problem(path, fault, "cortex embed asks again") for path, _ in part if fault
            ]
            if len(refused) >= _MAX_REFUSED and len(refused) == done:
                raise EmbedderFailed(refused[-1].message)
        progress("embedding", done, len(plan.missing))
    return EmbedOutcome(done - len(refused), tuple(refused))


def _iter_missing(root: str, plan: EmbedPlan) -> Iterator[tuple[str, str]]:
    """Path and text of each passage to embed, each text once."""
    # YAML and more, 40 ms; most searches find nothing to embed.
    from cortex.index.reindex import load_summary  # noqa: PLC0415

    left = set(plan.missing)
    for path, stamp in plan.paths.items():
        note, _ = load_summary(root, path, stamp)
        for text in passage_texts(note) if note else ():
            # A note that was changed meanwhile has its turn in the next run.
            if (key := text_key(text)) in left:
                left.discard(key)
                yield path, text


def _iter_batches(texts: Iterator[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    batch: list[tuple[str, str]] = []
    for one in texts:
        batch.append(one)
        if len(batch) == _BATCH_TEXTS:
            yield batch
            batch = []
    if batch:
        yield batch


def _embed_in_parts(
    embedder: Embedder, file: VectorFile, batch: list[tuple[str, str]]
) -> Iterator[tuple[list[tuple[str, str]], str]]:
    """Embed a batch and keep its vectors; in halves, down to single texts, where the embedder gave
    no good answer. Gives each part, with the fault of a text that has no vector."""
    try:
        append_vectors(embedder, file, [text for _, text in batch])
    except EmbedderFailed as error:
        if not error.of_texts:
            raise
        if len(batch) == 1:
            yield batch, error.message
            return
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            yield from _embed_in_parts(embedder, file, half)
    else:
        yield batch, ""


def append_vectors(embedder: Embedder, file: VectorFile, texts: list[str]) -> None:
    """Embed texts and append their vectors to a file. Raises `EmbedderFailed`."""
    import numpy as np  # noqa: PLC0415  only where it is installed

    vectors = embedder.embed(texts)
    if vectors.shape != (len(texts), vectors.shape[-1]) or not np.isfinite(vectors).all():
        raise EmbedderFailed(f"{embedder.model} gave no vectors of numbers", of_texts=True)
    dimension = vectors.shape[1]
    if (kept := file.dimension()) not in (0, dimension):
        message = f"{embedder.model} gave vectors of {dimension} numbers, not of {kept}"
        raise EmbedderFailed(message, f"if that is right now: rm {file.path}", of_texts=True)
    rows = np.zeros(len(texts), [("key", f"S{KEY_BYTES}"), ("vector", "<f2", (dimension,))])
    rows["key"] = [text_key(text) for text in texts]
    rows["vector"] = vectors
    file.append(dimension, rows.tobytes())
