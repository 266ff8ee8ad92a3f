"""Give vectors to the passages that have none: in batches, each appended at once, so that a run that
was ended goes on where it stood."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from cortex.core.model.caller import ProgressCallback
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import Problem
from cortex.index.filters import NoteFilter
from cortex.index.refresh import IndexSession
from cortex.index.vectors.embedders import Embedder, EmbedderFailed
from cortex.index.vectors.passage_text import KEY_BYTES, NO_KEY, passage_texts, text_key
from cortex.index.vectors.vector_file import VectorFile
from cortex.vault import locate
from cortex.vault.locate import Vault

_BATCH_TEXTS = 64  # that are lost at the most when a run is killed
_MAX_REFUSED = 3  # texts in a row that an embedder may refuse before it is given up
_SAID_BY_PEOPLE = ("manual", "meeting")  # events that are no turn and no tool of an agent


class EmbedPlan(NamedTuple):
    """What a run has to do."""

    paths: dict[str, str]  # notes with passages to embed, each with its stamp
    missing: set[bytes]  # keys of texts to embed
    present: int  # passages that have a vector
    withheld: dict[str, int]  # passages that a remote model is not told, by what they are
    used: set[bytes]  # every key of the vault


def split_keys(joined: bytes) -> list[bytes]:
    """The keys of a note's passages, without those that say nothing."""
    keys = (joined[at : at + KEY_BYTES] for at in range(0, len(joined), KEY_BYTES))
    return [key for key in keys if key != NO_KEY]


def make_plan(
    vault: Vault, now: IndexSession, known: Iterable[bytes], *, withholds: bool = False
) -> EmbedPlan:
    """What is to be embedded beside the `known` keys. With `withholds` nothing of what agents did,
    and no personal note."""
    embedded = set(known)
    of_notes = {number: split_keys(joined) for number, joined in now.catalogue.passage_keys()}
    lacking = [number for number, keys in of_notes.items() if not embedded.issuperset(keys)]
    paths, missing, withheld = dict[str, str](), set[bytes](), Counter[str]()
    is_own = withholds and locate.is_own(vault)
    for row in now.catalogue.find(NoteFilter(numbers=lacking), "path"):
        keys = set(of_notes[row.number]) - embedded
        if withholds and row.tier == TIER_TRAIL and row.type not in _SAID_BY_PEOPLE:
            withheld["events of agents"] += len(keys)
        elif is_own or (withholds and row.scope == "personal"):
            withheld["personal notes"] += len(keys)
        else:
            paths[row.path] = now.snapshot.stamps[row.path]
            missing |= keys
    every_key = [key for keys in of_notes.values() for key in keys]
    present = sum(key in embedded for key in every_key)
    return EmbedPlan(paths, missing, present, dict(withheld), set(every_key))


def embed_missing(
    root: str, plan: EmbedPlan, embedder: Embedder, file: VectorFile, progress: ProgressCallback
) -> list[Problem]:
    """Embed what a plan lacks, inside `file.writing`; the texts that the embedder gave no good vector
    for. Raises `EmbedderFailed`; what was embedded until then is kept."""
    refused, done, in_a_row = list[Problem](), 0, 0
    texts = _iter_missing(root, plan)
    while batch := list(islice(texts, _BATCH_TEXTS)):
        try:
            append_vectors(embedder, file, [text for _, text in batch])
        except EmbedderFailed as error:
            if not error.of_texts:
                raise
            for path, text in batch:  # one of them may be to blame
                try:
                    append_vectors(embedder, file, [text])
                except EmbedderFailed as fault:
                    refused.append(Problem(path, fault.message, "cortex embed asks again"))
                    in_a_row += 1
                    if not fault.of_texts or in_a_row == _MAX_REFUSED:
                        raise
                else:
                    in_a_row = 0
        done += len(batch)
        progress("embedding", done, len(plan.missing))
    return refused


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


def append_vectors(embedder: Embedder, file: VectorFile, texts: list[str]) -> None:
    """Embed texts and append their vectors to a file. Raises `EmbedderFailed`."""
    import numpy as np  # noqa: PLC0415  only where it is installed

    vectors = embedder.embed(texts)
    dimension, kept = vectors.shape[-1], file.shape()[1]
    if vectors.shape != (len(texts), dimension) or not np.isfinite(vectors).all():
        raise EmbedderFailed(f"{embedder.model} gave no vectors of numbers", of_texts=True)
    if kept not in (0, dimension):
        message = f"{embedder.model} gave vectors of {dimension} numbers, not of {kept}"
        raise EmbedderFailed(message, f"if that is right now: rm {file.path}", of_texts=True)
    rows = np.zeros(len(texts), [("key", f"S{KEY_BYTES}"), ("vector", "<f2", (dimension,))])
    rows["key"] = [text_key(text) for text in texts]
    rows["vector"] = vectors
    file.append(dimension, rows.tobytes())
