"""What search needs beside the notes: the index, thrown away and built anew, and a vector for every
passage, so that it finds by meaning."""

from __future__ import annotations

from typing import Annotated

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between
from cortex.core.model.problem import InvalidInputError, NotFoundError, Problem
from cortex.core.text.value import NamedTuple
from cortex.index.refresh import IndexSession, open_index, query_index
from cortex.index.semantic import EmbedPlan, embed_missing, make_plan
from cortex.index.vectors import embedders
from cortex.index.vectors.vector_file import VectorFile
from cortex.operations.upkeep.bring_up_to_date import heal_if_stale
from cortex.vault.extra import SEMANTIC, install_command
from cortex.vault.locate import Vault

_RUN_SECONDS = 120.0  # that a remote model has for all tries of a request
# About, on two cores; a remote model says itself what it grants.
_TEXTS_PER_SECOND = {"static": 3000}
_OTHER_TEXTS_PER_SECOND = 40


class RebuildResult(NamedTuple):
    """What the new index holds."""

    notes: int
    problems: int


class EmbedResult(NamedTuple):
    """What was embedded."""

    model: str
    is_remote: bool  # passages are sent to it
    embedded: int  # passages that got a vector; with --dry-run, that would get one
    present: int  # passages that had one
    withheld: dict[str, int]  # passages that are not sent to a remote model, by what they are
    removed: int  # vectors that no passage has any more
    seconds: int  # about how long it takes; with --dry-run
    dry_run: bool
    problems: tuple[Problem, ...]


def rebuild(
    vault: Vault, caller: Caller, *, cores: Annotated[int, Between(0, 64)] = 0
) -> RebuildResult:
    """Build the search index anew from the notes.

    Search keeps it fresh by itself.

    cores: how many to use; by default all, up to four

    Example: cortex rebuild --cores 1
    """
    with open_index(vault, caller.progress, rebuild=True, cores=cores) as index:
        return RebuildResult(index.catalogue.count_notes(), len(index.problems))


def embed(vault: Vault, caller: Caller, *, dry_run: bool = False) -> EmbedResult:
    """Give passages vectors, to find notes by meaning.

    Search then knows notes that say the same in other words. Each passage is embedded once: what is
    moved, renamed or unchanged costs nothing, and a run that was ended goes on where it stood. The
    model runs on this machine, and where it is missing the command that installs it is named, unless [semantic] of your own settings, or $CORTEX_EMBEDDER, names another:
    minilm, folder, static, sentence-transformers, openai, gemini, or off. To a remote model neither
    what agents did nor personal notes are sent, unless send = "all" is written there.

    dry_run: only say how many passages it would embed, and about how long that takes

    Example: cortex embed --dry-run
    Example: CORTEX_EMBEDDER=openai cortex embed
    """
    chosen, problem = embedders.choose_embedder(vault.root)
    if chosen.embedder == "off":
        why = problem or Problem("", "[semantic] embedder is off", "take that out of the settings")
        raise InvalidInputError(why.message, why.hint)
    if not chosen.embedder:
        raise NotFoundError("no embedder is installed", install_command(SEMANTIC))
    embedder = embedders.load_embedder(chosen)
    embedder.patience = _RUN_SECONDS
    if not dry_run:
        heal_if_stale(vault, caller)
    file = VectorFile(vault.cache_folder(), embedder.model)
    withholds = embedder.is_remote and chosen.send != "all"

    def plan(index: IndexSession) -> EmbedPlan:
        return make_plan(vault, index, file.keys(), withholds=withholds)

    refused, removed, seconds = list[Problem](), 0, 0
    if dry_run:
        planned = query_index(vault, caller.progress, plan)
        speed = _TEXTS_PER_SECOND.get(chosen.embedder, _OTHER_TEXTS_PER_SECOND)
        seconds = -(-len(planned.missing) // speed)
    else:
        with file.writing():  # before it is looked up what is missing: each text is embedded once
            planned = query_index(vault, caller.progress, plan)
            refused = embed_missing(vault.root, planned, embedder, file, caller.progress)
            removed = file.compact(planned.used)
    problems = (*([problem] if problem else []), *refused)
    embedded = len(planned.missing) - len(refused)
    return EmbedResult(
        embedder.model, embedder.is_remote, embedded, planned.present, planned.withheld, removed,
        seconds, dry_run, problems,
    )  # fmt: skip
