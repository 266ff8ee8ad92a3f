"""Full-text engines: a literal table. An engine is a module with the functions of `FulltextEngine`;
it keeps words in a folder of the user's cache, by the numbers that the catalogue gives to notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from cortex.core.ranking.query import Query
    from cortex.core.ranking.relevance import RelevantNotes
    from cortex.index.catalogue import FoundNotes

# A passage of a note for an engine: number, tier, part (its place in the note), body (its text),
# around (what stands around it, or None); of the first one also head (title, aliases, tags),
# context (words of `note_context`, or None) and series (its key, or 0).
Document: TypeAlias = Mapping[str, object]
_Aside = TypeVar("_Aside")
# How many indexes a process may keep open for its next query. A watcher answers many.
kept_indexes = 0


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

    def search(
        self, folder: str, asked: Query, limit: int, tiers: Sequence[int],
        *, allowed: set[int] | None = None, without: Iterable[int] = (),
    ) -> FoundNotes:  # fmt: skip
        """The best notes and what is best of those set aside, at least `limit` of each where there
        are so many, with every one that scores as the last of them. Only notes of `tiers`, only
        `allowed` ones, none of `without`."""

    def search_relevant(self, folder: str, prompt: str, least_share: float) -> RelevantNotes:
        """What bears on a prompt: what covers at least this share of what its words tell."""


def _whoosh() -> FulltextEngine:
    # 30 ms, and most commands look for no words.
    from cortex.index.engines.whoosh import whoosh_index  # noqa: PLC0415

    return whoosh_index


ENGINES: dict[str, Callable[[], FulltextEngine]] = {"whoosh": _whoosh}


def load_engine(name: str = "whoosh") -> FulltextEngine:
    """Import an engine."""
    return ENGINES[name]()
