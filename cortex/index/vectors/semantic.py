"""Find notes by meaning: what search asks of vectors. Without vectors it costs a look into a folder,
and what fails becomes a problem to tell: words alone answer then."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple, ParamSpec

from cortex.core.model.caller import no_progress
from cortex.core.model.problem import ConflictError, CortexError, Problem, problem_of
from cortex.index.catalogue import Catalogue
from cortex.index.refresh import IndexSession
from cortex.index.vectors import FOLDER
from cortex.index.vectors.embedders import (
    INSTALL_HINT,
    EmbedderFailed,
    choose_embedder,
    load_embedder,
)
from cortex.index.vectors.embedding import embed_missing, make_plan, split_keys
from cortex.index.vectors.vector_file import VectorFile, newest_vector_file
from cortex.vault.locate import Vault

if TYPE_CHECKING:
    from cortex.index.vectors.nearest import NearPassage

_Asked = ParamSpec("_Asked")
_QUERY_SECONDS = 4.0  # that a search waits for a remote model
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
            hint = INSTALL_HINT if isinstance(error, ImportError) else "cortex embed"
            return NearNotes([], problem_of("semantic", error, hint, "meaning is left out: "))

    return told


@_tells_what_fails
def nearest(
    vault: Vault, now: IndexSession, text: str, limit: int, allowed: set[int] | None = None
) -> NearNotes:
    """At least `limit` notes of those allowed where there are so many, and all that are as near as
    the last. Loads a model. A few passages that lack a vector get theirs first."""
    if not os.path.isdir(os.path.join(now.catalogue.folder, FOLDER)):
        return NearNotes([])
    chosen, problem = choose_embedder(vault.root)
    if chosen.embedder == "off":
        return NearNotes([], problem)
    if not newest_vector_file(now.catalogue.folder):
        raise EmbedderFailed("the vectors cannot be read", "cortex embed")
    if not chosen.embedder:
        raise EmbedderFailed("no embedder is installed", INSTALL_HINT)
    embedder = load_embedder(chosen)
    embedder.patience = _QUERY_SECONDS
    file = VectorFile(now.catalogue.folder, embedder.model)
    count, dimension = file.shape()
    if not count:
        raise EmbedderFailed(f"no passage has a vector of {embedder.model}", "cortex embed")
    from cortex.index.vectors.nearest import load_vectors  # noqa: PLC0415

    passages = load_vectors(now.catalogue, file, allowed)
    if 0 < passages.missing <= _MAX_EMBEDDED_NOW and not embedder.is_remote:
        with suppress(ConflictError), file.writing():  # else somebody is embedding them
            plan = make_plan(vault, now, file.keys())
            if len(plan.missing) <= _MAX_EMBEDDED_NOW:
                embed_missing(vault.root, plan, embedder, file, no_progress)
        passages = load_vectors(now.catalogue, file, allowed)
    query = embedder.embed([text])
    if query.shape != (1, dimension) or not (abs(query) <= 2).all():
        raise EmbedderFailed(f"{embedder.model} gave no vector of {dimension} numbers")
    if not problem and passages.missing and not embedder.is_remote:
        message = f"{passages.missing:,} passages have no vector yet"
        problem = Problem("semantic", message, "cortex embed")
    return NearNotes(passages.nearest(query, limit), problem)


@_tells_what_fails
def similar_to(
    now: IndexSession, number: int, limit: int, allowed: set[int] | None = None
) -> NearNotes:
    """The notes nearest to a note, without it, by vectors that there are: no model is loaded."""
    if not (file := newest_vector_file(now.catalogue.folder)):
        return NearNotes([])
    from cortex.index.vectors.nearest import load_vectors, vectors_of_note  # noqa: PLC0415

    wanted = None if allowed is None else allowed | {number}
    passages = load_vectors(now.catalogue, file, wanted)
    queries = vectors_of_note(passages, number)
    found = passages.nearest(queries, limit + 1) if len(queries) else []
    return NearNotes([one for one in found if one.number != number])


def alike_pairs(now: IndexSession, numbers: set[int], least: float) -> list[tuple[int, int, float]]:
    """The pairs of these notes of which the vectors have at least this cosine; none without
    vectors."""
    if not (file := newest_vector_file(now.catalogue.folder)):
        return []
    try:
        from cortex.index.vectors.nearest import load_vectors  # noqa: PLC0415

        return load_vectors(now.catalogue, file, numbers).alike(least)
    except (CortexError, OSError, ImportError, ValueError, MemoryError):
        return []  # words compare them; search tells what is wrong


def count_embedded(catalogue: Catalogue) -> tuple[int, int] | None:
    """How many passages have a vector of the model that was last used, and how many could; None
    when there are no vectors. Needs no NumPy."""
    if not (file := newest_vector_file(catalogue.folder)):
        return None
    known = set(file.keys())
    wanted = [key for _, joined in catalogue.passage_keys() for key in split_keys(joined)]
    return sum(key in known for key in wanted), len(wanted)
