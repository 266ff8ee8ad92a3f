"""Things with a name that a note mentions: files, addresses, packages, symbols and the like."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.scan import Scanned


class Entity(NamedTuple):
    """A named thing, where it is first mentioned; `key` is the name as it is compared."""

    kind: str
    name: str
    key: str
    line: int


def entities_of(body: str, scanned: Scanned) -> tuple[Entity, ...]:
    """What a note's text mentions, each thing once."""
    del body, scanned
    return ()
