"""Who calls a verb: the clock, the chance and the place that verbs may not look up themselves."""

from __future__ import annotations

from _collections_abc import Callable, Iterator, Sequence

from cortex.core.text.days import UTC, Zone, clock
from cortex.core.text.value import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

# Called with what is being done, how much of it is done, and how much there is: -1 if nobody knows.
ProgressCallback: TypeAlias = "Callable[[str, int, int], None]"


class Caller(NamedTuple):
    """The surroundings of one call."""

    cwd: str  # absolute path of the working directory
    now: str  # UTC, `2026-11-20T16:45:12Z`
    random: Callable[[int], bytes]
    source: str  # the interface: cli, hook, mcp
    progress: ProgressCallback
    wants_outcome: bool = False  # of a capture what came of it, too; a pipe reads its id alone
    zone: Zone = UTC  # the reader's, in which days are cut

    @property
    def today(self) -> str:
        """The reader's day, `2026-11-20`."""
        return clock(self.now, self.zone)[:10]

    def each(self, items: Sequence[T], what: str) -> Iterator[T]:
        """The items one by one, of which progress says how many are done."""
        for done, item in enumerate(items):
            self.progress(what, done, len(items))
            yield item
        self.progress(what, len(items), len(items))


def no_progress(_what: str, _done: int, _total: int) -> None:
    """Progress for callers that show none."""
