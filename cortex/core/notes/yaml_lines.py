"""Frontmatter as lines, without a YAML parser: a block is a row of chunks, one for each top-level key.

The merge driver runs where only the standard library is. What is understood here is a subset of YAML, on purpose: a
value that `read` gives is YAML for every parser; what it refuses may be YAML too, and is then moved as it stands or
not at all. No pattern is compiled on the way: that alone would cost a fifth of a merge.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_BLOCK_BYTES = 64 * 1024  # of a block; `core/notes/note.py` reads no more
MAX_BLOCK_LINES = 1000
TAIL_KEY = "\0tail"  # the key of what stands below the last key: comments, blank lines

_FIRST_KEY_PATTERN = r"[A-Za-z_\"'][^\n:#]{0,100}\s*:(?:\s|$)"
_CONFLICT_MARKERS = ("<<<<<<< ", "|||||||", "=======", ">>>>>>> ")


class FieldText(NamedTuple):
    """A top-level key with its lines, every byte of them."""

    comments_above: str  # the comment and blank lines above it
    text: str  # its own line and the lines that belong to it


class NoteParts(NamedTuple):
    """A file taken apart; the parts in a row are its bytes."""

    opening_fence: bytes
    frontmatter: bytes
    closing_fence: bytes
    body: bytes


def split_note(data: bytes) -> NoteParts:
    """The same parts that `note.read` finds, for bytes without a byte order mark."""
    nothing = NoteParts(b"", b"", b"", data)
    if not data.startswith(b"---"):
        return nothing
    lines = data[: MAX_BLOCK_BYTES + 1000].splitlines(keepends=True)
    if not _is_fence(lines[0]) or lines[0][-1:] not in (b"\n", b"\r"):
        return nothing
    closing = next(
        (
            number
            for number, line in enumerate(lines[1 : MAX_BLOCK_LINES + 2], 1)
            if _is_fence(line)
        ),
        0,
    )
    start = len(lines[0])
    end = start + sum(map(len, lines[1:closing]))
    if not closing or end + len(lines[closing]) > start + MAX_BLOCK_BYTES:
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
        if first and not re.match(_FIRST_KEY_PATTERN, first):
            return nothing  # a thematic break at the top of a note
    after = end + len(lines[closing])
    return NoteParts(data[:start], data[start:end], data[end:after], data[after:])


def _is_fence(line: bytes) -> bool:
    return line.startswith(b"---") and line.rstrip(b"\r\n").rstrip(b" \t") == b"---"


def split_lines(text: str) -> list[str]:
    """The lines with their ends. Only a line feed ends one: what else Python takes for a line end may stand in a value."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def split_fields(block: str) -> dict[str, FieldText] | None:
    """The block's chunks by key, in their order; None when lines do not tell where a key begins (`{a: b}`, `? key`).
    A key that stands again, and a conflict marker, get a key with a NUL in it."""
    found: dict[str, FieldText] = {}
    waiting = lead = ""
    current: list[str] = []
    key = ""

    def close() -> None:
        if key:
            found[_unique_key(key, found)] = FieldText(lead, "".join(current))

    for line in split_lines(block):
        if not line.strip(" \t\r\n") or line.startswith("#"):
            waiting += line
        elif line.startswith(_CONFLICT_MARKERS) or (line[0] not in " \t-?" and parse_key(line)):
            close()
            key = f"\0{line.strip()}" if line.startswith(_CONFLICT_MARKERS) else parse_key(line)
            lead, waiting, current = waiting, "", [line]
        elif not key or line.startswith(("? ", "?\n")):
            return None
        else:
            current += [waiting, line]
            waiting = ""
    close()
    if waiting:
        found[TAIL_KEY] = FieldText("", waiting)
    return found


def parse_key(line: str) -> str:
    """The key that a line begins with, without its quotes; empty when it begins with none."""
    if line[:1] in ('"', "'"):
        end = line.find(line[0], 1)
        return line[1:end] if end > 1 and _key_end(line[end + 1 :].lstrip(" \t")) == 0 else ""
    key = line[: max(0, _key_end(line))].rstrip()
    return "" if not key or key[0] in "#&*!|>%@`[]{}," or " #" in key else key


def _key_end(line: str) -> int:
    """Where the colon stands that ends a key; below 0 when there is none."""
    at = line.find(":")
    while at >= 0 and line[at + 1 : at + 2].strip():
        at = line.find(":", at + 1)
    return at


def _unique_key(key: str, found: dict[str, FieldText]) -> str:
    """`key`, or where that is taken a key of its own."""
    if key not in found:
        return key
    return next(
        name
        for name in (f"{key}\0{number}" for number in range(2, len(found) + 3))
        if name not in found
    )
