"""Frontmatter as lines, without a YAML parser: a block is a row of chunks, one for each top-level key.

The merge driver runs where only the standard library is. What is understood here is a subset of YAML, on purpose: a
value that `read` gives is YAML for every parser; what it refuses may be YAML too, and is then moved as it stands or
not at all. No pattern is compiled on the way: that alone would cost a fifth of a merge.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_BYTES = 64 * 1024  # of a block; `core/notes/note.py` reads no more
MAX_LINES = 1000
TAIL = "\0tail"  # the key of what stands below the last key: comments, blank lines

_FIRST_KEY = r"[A-Za-z_\"'][^\n:#]{0,100}\s*:(?:\s|$)"
_MARKER = ("<<<<<<< ", "|||||||", "=======", ">>>>>>> ")


class Chunk(NamedTuple):
    """A top-level key with its lines, every byte of them."""

    lead: str  # the comment and blank lines above it
    text: str  # its own line and the lines that belong to it


class Parts(NamedTuple):
    """A file taken apart; the parts in a row are its bytes."""

    opening: bytes
    block: bytes
    closing: bytes
    body: bytes


def split(data: bytes) -> Parts:
    """The same parts that `note.read` finds, for bytes without a byte order mark."""
    nothing = Parts(b"", b"", b"", data)
    if not data.startswith(b"---"):
        return nothing
    lines = data[: MAX_BYTES + 1000].splitlines(keepends=True)
    if not _is_fence(lines[0]) or lines[0][-1:] not in (b"\n", b"\r"):
        return nothing
    closing = next(
        (number for number, line in enumerate(lines[1 : MAX_LINES + 2], 1) if _is_fence(line)), 0
    )
    start = len(lines[0])
    end = start + sum(map(len, lines[1:closing]))
    if not closing or end + len(lines[closing]) > start + MAX_BYTES:
        return nothing
    if closing > 1 and not lines[1].strip():
        first = next(
            (
                line
                for line in data[start:end].decode("utf-8", "replace").splitlines()
                if line.strip() and not line.startswith("#")
            ),
            "",
        )
        if first and not re.match(_FIRST_KEY, first):
            return nothing  # a thematic break at the top of a note
    after = end + len(lines[closing])
    return Parts(data[:start], data[start:end], data[end:after], data[after:])


def _is_fence(line: bytes) -> bool:
    return line.startswith(b"---") and line.rstrip(b"\r\n").rstrip(b" \t") == b"---"


def lines_of(text: str) -> list[str]:
    """The lines with their ends. Only a line feed ends one: what else Python takes for a line end may stand in a value."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def chunks(block: str) -> dict[str, Chunk] | None:
    """The block's chunks by key, in their order; None when lines do not tell where a key begins (`{a: b}`, `? key`).
    A key that stands again, and a conflict marker, get a key with a NUL in it."""
    found: dict[str, Chunk] = {}
    waiting = lead = ""
    current: list[str] = []
    key = ""

    def close() -> None:
        if key:
            found[_free(key, found)] = Chunk(lead, "".join(current))

    for line in lines_of(block):
        if not line.strip(" \t\r\n") or line.startswith("#"):
            waiting += line
        elif line.startswith(_MARKER) or (line[0] not in " \t-?" and key_of(line)):
            close()
            key = f"\0{line.strip()}" if line.startswith(_MARKER) else key_of(line)
            lead, waiting, current = waiting, "", [line]
        elif not key or line.startswith(("? ", "?\n")):
            return None
        else:
            current += [waiting, line]
            waiting = ""
    close()
    if waiting:
        found[TAIL] = Chunk("", waiting)
    return found


def key_of(line: str) -> str:
    """The key that a line begins with, without its quotes; empty when it begins with none."""
    if line[:1] in ('"', "'"):
        end = line.find(line[0], 1)
        return line[1:end] if end > 1 and _colon(line[end + 1 :].lstrip(" \t")) == 0 else ""
    key = line[: max(0, _colon(line))].rstrip()
    return "" if not key or key[0] in "#&*!|>%@`[]{}," or " #" in key else key


def _colon(line: str) -> int:
    """Where the colon stands that ends a key; below 0 when there is none."""
    at = line.find(":")
    while at >= 0 and line[at + 1 : at + 2].strip():
        at = line.find(":", at + 1)
    return at


def _free(key: str, found: dict[str, Chunk]) -> str:
    """`key`, or where that is taken a key of its own."""
    if key not in found:
        return key
    return next(
        name
        for name in (f"{key}\0{number}" for number in range(2, len(found) + 3))
        if name not in found
    )
