"""Transcripts of agent hosts, read into what was said and done. Standard library only: hooks read them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from cortex.core.text.value import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex.hosts.transcript_item import ParsedLines, ReaderProtocol

# host -> (module below cortex, its `read`). A host without one has no transcript that Cortex can read.
READER_MODULES: dict[str, tuple[str, str]] = {
    "claude": ("hosts.claude", "read"),
    "codex": ("hosts.codex", "read"),
    "copilot": ("hosts.copilot", "read"),
    "cursor": ("hosts.cursor", "read"),
}


def parse_lines(host: str, lines: list[bytes], root: str, since: str = "") -> ParsedLines:
    """What some lines of a host's transcript tell; see the `read` of the host's module. `KeyError` for a host without one."""
    module, function = READER_MODULES[host]
    answer: Callable[[list[bytes], str, str], ParsedLines] = getattr(
        import_module(f"cortex.{module}"), function
    )
    return answer(lines, root, since)


def session_of_line(host: str, line: bytes, before: str, expected: str) -> str:
    """The session that a line of a host's transcript is of, `before` being that of the line before, empty for none. A line whose bytes
    seem to name another session than the `expected` one is parsed. Empty where a host's lines name no session."""
    function: Callable[[bytes, str, str], str] | None = getattr(
        import_module(f"cortex.{READER_MODULES[host][0]}"), "session_of", None
    )
    return function(line, before, expected) if function else ""


def new_reader(host: str) -> ReaderProtocol:
    """A reader for a whole transcript of `host`, which is fed part by part."""
    made: ReaderProtocol = import_module(f"cortex.{READER_MODULES[host][0]}").reader()
    return made
