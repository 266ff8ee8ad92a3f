"""Transcripts of agent hosts, read into what was said and done. Standard library only: hooks read them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from cortex.core.value import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex.importers.transcripts.piece import Read, Reader

# host -> (module below cortex, its `read`). A host without one has no transcript that Cortex can read.
READERS: dict[str, tuple[str, str]] = {
    "claude": ("importers.transcripts.claude", "read"),
    "codex": ("importers.transcripts.codex", "read"),
    "copilot": ("importers.transcripts.copilot", "read"),
    "cursor": ("importers.transcripts.cursor", "read"),
}


def read(host: str, lines: list[bytes], root: str, since: str = "") -> Read:
    """What some lines of a host's transcript tell; see the `read` of the host's module. `KeyError` for a host without one."""
    module, function = READERS[host]
    answer: Callable[[list[bytes], str, str], Read] = getattr(import_module(f"cortex.{module}"), function)
    return answer(lines, root, since)


def reader(host: str) -> Reader:
    """A reader for a whole transcript of `host`, which is fed part by part."""
    made: Reader = import_module(f"cortex.{READERS[host][0]}").reader()
    return made
