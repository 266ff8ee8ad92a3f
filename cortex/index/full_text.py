"""The full-text engines: a literal table, which of them is used, and a search by it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from cortex.core.text.lazy_re import lazy_re
from cortex.vault import overrides

if TYPE_CHECKING:
    from cortex.core.ranking.query import Query
    from cortex.core.ranking.relevance import RelevantNotes
    from cortex.index.engines.engine import FoundNotes, FulltextEngine


def _whoosh() -> FulltextEngine:
    # 30 ms, and most commands look for no words.
    from cortex.index.engines.whoosh import whoosh_index  # noqa: PLC0415

    return whoosh_index


def _tantivy() -> FulltextEngine:
    from cortex.index.engines.tantivy import tantivy_index  # noqa: PLC0415  as above

    return tantivy_index


ENGINES: dict[str, Callable[[], FulltextEngine]] = {"whoosh": _whoosh, "tantivy": _tantivy}
_TANTIVY_RE = lazy_re(r"tantivy-(?:0\.(?:2[7-9]|[3-9]\d)|[1-9])[\d.]*\.dist-info")


def asked_engine(setting: str) -> str:
    """The engine that is asked for: auto, whoosh or tantivy."""
    return os.environ.get("CORTEX_ENGINE") or overrides.said("index").get("engine") or setting


def choose_engine(setting: str) -> str:
    """The engine of `[index] engine`: tantivy where it is installed, unless Whoosh is asked for.
    Imports neither."""
    if asked_engine(setting) == "whoosh":
        return "whoosh"
    spec = PathFinder.find_spec("tantivy")
    if not (spec and spec.origin):
        return "whoosh"
    # `importlib.metadata` takes 10 ms.
    beside = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
    return "tantivy" if any(map(_TANTIVY_RE.fullmatch, beside)) else "whoosh"


def engine_of(folder: str) -> str:
    """The name of the engine that wrote the index in a folder."""
    return "tantivy" if os.path.exists(os.path.join(folder, "meta.json")) else "whoosh"


def load_engine(folder: str) -> FulltextEngine:
    """Import the engine that wrote the index in a folder."""
    return ENGINES[engine_of(folder)]()


def search(
    folder: str,
    query: Query,
    limit: int,
    tiers: Sequence[int],
    *,
    allowed: set[int] | None = None,
    without: Iterable[int] = (),
) -> FoundNotes:
    """The best notes and what is best of those set aside, at least `limit` of each where there are
    so many, with every one that scores as the last of them. Only notes of `tiers`, only `allowed`
    ones, none of `without`. `IndexDamaged` when the index cannot be read."""
    # As above; so is what bears on a prompt, which a search need not import.
    from cortex.index.engines.engine import FoundNotes  # noqa: PLC0415
    from cortex.index.engines.passage_search import PassageSearch  # noqa: PLC0415

    with load_engine(folder).open_reader(folder) as reader:
        if not reader.note_count or allowed == set():
            return FoundNotes([], {}, {})
        return PassageSearch(reader, query).best(limit, set(tiers), allowed, set(without))


def search_relevant(folder: str, prompt: str, least_share: float) -> RelevantNotes:
    """What bears on a prompt: what covers at least this share of what its words tell.
    `IndexDamaged` when the index cannot be read."""
    from cortex.index.engines.relevance_search import find_relevant  # noqa: PLC0415

    with load_engine(folder).open_reader(folder) as reader:
        return find_relevant(reader, prompt, least_share)
