"""Notes by meaning: what search asks of vectors, and how passages that have none get theirs.

Without vectors it costs a look into a folder, and what fails becomes a problem to tell: words alone
answer then. Passages are embedded in batches, each appended at once, so that a run that was ended
goes on where it stood.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, ParamSpec

from cortex.core.model.caller import ProgressCallback, no_progress
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import ConflictError, CortexError, Problem, problem_of
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import IndexSession
from cortex.index.vectors import FOLDER
from cortex.index.vectors.embedders import (
    Embedder,
    EmbedderFailed,
    choose_embedder,
    load_embedder,
)
from cortex.index.vectors.vector_file import (
    KEY_BYTES,
    VectorFile,
    newest_vector_file,
    split_keys,
    text_key,
)
from cortex.vault import locate
from cortex.vault.extra import SEMANTIC, install_command
from cortex.vault.locate import Vault

if TYPE_CHECKING:
    from cortex.index.vectors.nearest import NearPassage, PassageVectors

_Asked = ParamSpec("_Asked")
_QUERY_SECONDS = 4.0  # that a search waits for a remote model
_BATCH_TEXTS = 64  # that are lost at the most when a run is killed
_MAX_REFUSED = 3  # texts in a row that an embedder may refuse before it is given up
_SAID_BY_PEOPLE = ("manual", "meeting")  # events that are no turn and no tool of an agent
_MAX_EMBEDDED_NOW = 16  # passages that a search embeds itself; more wait for `cortex embed`


class NearNotes(NamedTuple):
    """The notes nearest to a text, best first, each by its best passage."""

    found: list[NearPassage]
    problem: Problem | None = None  # why vectors do not answer


def _tells_what_fails(find: Callable[_Asked, NearNotes]) -> Callable[_Asked, NearNotes]:
    """What goes wrong with vectors or a model becomes a problem."""

    @wraps(find)
    def told(*args: _Asked.args, **named: _Asked.kwargs) -> NearNotes:
        try:
            return find(*args, **named)
        except (CortexError, OSError, ImportError, ValueError, MemoryError) as error:
            hint = install_command(SEMANTIC) if isinstance(error, ImportError) else "cortex embed"
            return NearNotes([], problem_of("semantic", error, hint, "meaning is left out: "))

    return told


@_tells_what_fails
def nearest(
    vault: Vault, index: IndexSession, text: str, limit: int, allowed: set[int] | None = None
) -> NearNotes:
    """At least `limit` notes of those allowed where there are so many, and all that are as near as
    the last. Loads a model. A few passages that lack a vector get theirs first."""
    if not os.path.isdir(os.path.join(index.catalogue.folder, FOLDER)):
        return NearNotes([])
    chosen, problem = choose_embedder(vault.root)
    if chosen.embedder == "off":
        return NearNotes([], problem)
    if not newest_vector_file(index.catalogue.folder):
        raise EmbedderFailed("the vectors cannot be read", "cortex embed")
    if not chosen.embedder:
        raise EmbedderFailed("no embedder is installed", install_command(SEMANTIC))
    embedder = load_embedder(chosen)
    embedder.patience = _QUERY_SECONDS
    file = VectorFile(index.catalogue.folder, embedder.model)
    count, dimension = file.shape()
    if not count:
        raise EmbedderFailed(f"no passage has a vector of {embedder.model}", "cortex embed")
    passages = _load_vectors(index.catalogue, file, allowed)
    if 0 < passages.missing <= _MAX_EMBEDDED_NOW and not embedder.is_remote:
        with suppress(ConflictError), file.writing():  # else somebody is embedding them
            plan = make_plan(vault, index, file.keys())
            if len(plan.missing) <= _MAX_EMBEDDED_NOW:
                embed_missing(vault.root, plan, embedder, file, no_progress)
        passages = _load_vectors(index.catalogue, file, allowed)
    query = embedder.embed([text])
    if query.shape != (1, dimension) or not (abs(query) <= 2).all():
        raise EmbedderFailed(f"{embedder.model} gave no vector of {dimension} numbers")
    if not problem and passages.missing and not embedder.is_remote:
        message = f"{passages.missing:,} passages have no vector yet"
        problem = Problem("semantic", message, "cortex embed")
    return NearNotes(passages.nearest(query, limit), problem)


@_tells_what_fails
def similar_to(index: IndexSession, number: int, limit: int, allowed: set[int]) -> NearNotes:
    """The notes nearest to a note, without it, by vectors that there are: no model is loaded."""
    if not (file := newest_vector_file(index.catalogue.folder)):
        return NearNotes([])
    passages = _load_vectors(index.catalogue, file, allowed | {number})
    queries = passages.of_note(number)
    found = passages.nearest(queries, limit + 1) if len(queries) else []
    return NearNotes([one for one in found if one.number != number])


def alike_pairs(
    index: IndexSession, numbers: set[int], least: float
) -> list[tuple[int, int, float]]:
    """The pairs of these notes of which the vectors have at least this cosine; none without
    vectors."""
    if not (file := newest_vector_file(index.catalogue.folder)):
        return []
    try:
        return _load_vectors(index.catalogue, file, numbers).alike(least)
    except (CortexError, OSError, ImportError, ValueError, MemoryError):
        return []  # words compare them; search tells what is wrong


def _load_vectors(
    catalogue: Catalogue, file: VectorFile, numbers: Collection[int] | None
) -> PassageVectors:
    """The passages of these notes, or of all, each with its vector."""
    # NumPy, 100 ms and more; most searches ask no vectors.
    from cortex.index.vectors.nearest import load_vectors  # noqa: PLC0415

    return load_vectors(catalogue.passage_keys(numbers), file)


def count_embedded(catalogue: Catalogue) -> tuple[int, int] | None:
    """How many passages have a vector of the model that was last used, and how many could; None
    when there are no vectors. Needs no NumPy."""
    if not (file := newest_vector_file(catalogue.folder)):
        return None
    known = set(file.keys())
    wanted = [key for _, joined in catalogue.passage_keys() for key in split_keys(joined)]
    return sum(key in known for key in wanted), len(wanted)


class EmbedPlan(NamedTuple):
    """What a run has to do."""

    paths: dict[str, str]  # notes with passages to embed, each with its stamp
    missing: set[bytes]  # keys of texts to embed
    present: int  # passages that have a vector
    withheld: dict[str, int]  # passages that a remote model is not told, by what they are
    used: set[bytes]  # every key of the vault


def make_plan(
    vault: Vault, index: IndexSession, known: Iterable[bytes], *, withholds: bool = False
) -> EmbedPlan:
    """What is to be embedded beside the `known` keys. With `withholds` nothing of what agents did,
    and no personal note."""
    embedded = set(known)
    of_notes = {number: split_keys(joined) for number, joined in index.catalogue.passage_keys()}
    lacking = [number for number, keys in of_notes.items() if not embedded.issuperset(keys)]
    paths, missing, withheld = dict[str, str](), set[bytes](), Counter[str]()
    is_own = withholds and locate.is_own(vault)
    for row in index.catalogue.find(NoteFilter(numbers=lacking), "path"):
        keys = set(of_notes[row.number]) - embedded
        if withholds and row.tier == TIER_TRAIL and row.type not in _SAID_BY_PEOPLE:
            withheld["events of agents"] += len(keys)
        elif is_own or (withholds and row.scope == "personal"):
            withheld["personal notes"] += len(keys)
        else:
            paths[row.path] = index.snapshot.stamps[row.path]
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
    from cortex.index.reindex import load_note, passage_texts  # noqa: PLC0415

    left = set(plan.missing)
    for path, stamp in plan.paths.items():
        note = load_note(root, path, stamp)
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
