"""Frontmatter as lines, without a YAML parser: a block is a row of chunks, one for each top-level
key.

The merge driver runs where only the standard library is. What is understood here is a subset of
YAML, on purpose: a value that `read` gives is YAML for every parser; what it refuses may be YAML
too, and is then moved as it stands or not at all. No pattern is compiled on the way: that alone
would cost a fifth of a merge.
"""

from __future__ import annotations

import re

from cortex.core.text.value import NamedTuple

BOM = b"\xef\xbb\xbf"
# Lines that name events come on top: a topic gets one with every save, a session with every prompt.
MAX_BYTES_WITHOUT_EVENTS = 64 * 1024
MAX_LINES_WITHOUT_EVENTS = 1000
MAX_FRONTMATTER_BYTES = MAX_BYTES_WITHOUT_EVENTS + 20_000 * 35
TAIL_KEY = "\0tail"  # the key of what stands below the last key: comments, blank lines
UNCLOSED, TOO_MANY_LINES = "unclosed", "too many lines"  # values of `NoteParts.error`

_EVENT_LINE_PATTERN = (
    rb"(?m)^[ \t]+- (?:\"\[\[)?[0-9]{8}t[0-9]{6}z-[a-z2-7]{10}(?:\]\]\")?[ \t]*\r?\n"
)
_FIRST_KEY_PATTERN = r"[A-Za-z_\"'][^\n:#]{0,100}\s*:(?:\s|$)"
_LINE_ENDS = (b"\n", b"\r")
CONFLICT_MARKERS = ("<<<<<<< ", "|||||||", "=======", ">>>>>>> ")


class FieldText(NamedTuple):
    """A top-level key with its lines, every byte of them."""

    comments_above: str  # the comment and blank lines above it
    text: str  # its own line and the lines that belong to it


class NoteParts(NamedTuple):
    """A file taken apart; the four parts in a row are its bytes."""

    opening_fence: bytes  # empty when the file has no frontmatter that is read
    frontmatter: bytes
    closing_fence: bytes
    body: bytes
    error: str = ""  # why frontmatter that was meant as such is not read; else empty


def split_note(data: bytes) -> NoteParts:
    """The fences, the block between them and the body, for bytes without a byte order mark."""
    without = NoteParts(b"", b"", b"", data)
    start = _fence_end(data, 0)
    if data[start - 1 : start] not in _LINE_ENDS:
        return without
    closing, end = _find_closing_fence(data, start)
    block = own = data[start:closing]
    if closing and (
        end - start > MAX_BYTES_WITHOUT_EVENTS or block.count(b"\n") > MAX_LINES_WITHOUT_EVENTS
    ):
        own = re.sub(_EVENT_LINE_PATTERN, b"", block)
        if len(own) + end - closing > MAX_BYTES_WITHOUT_EVENTS:
            closing = 0
    head = block if closing else data[start : start + 4096]
    lines = head.decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    if not closing:
        return without._replace(error=UNCLOSED) if _is_first_key(first) else without
    if first and not lines[0].strip() and not _is_first_key(first):
        return without  # a thematic break at the top of a note that has no frontmatter
    if own.count(b"\n") + own.count(b"\r") - own.count(b"\r\n") > MAX_LINES_WITHOUT_EVENTS:
        return without._replace(error=TOO_MANY_LINES)
    return NoteParts(data[:start], block, data[closing:end], data[end:])


def _find_closing_fence(data: bytes, start: int) -> tuple[int, int]:
    """Where the next line of three dashes begins and ends; (0, 0) if there is none."""
    at = start - 3
    while (at := data.find(b"---", at + 3, start + MAX_FRONTMATTER_BYTES)) >= 0:
        if data[at - 1 : at] in _LINE_ENDS and (end := _fence_end(data, at)):
            return at, end
    return 0, 0


def _fence_end(data: bytes, at: int) -> int:
    """Where a line of three dashes ends that begins at `at`; 0 if it is no such line."""
    end = at + 3
    if data[at:end] != b"---":
        return 0
    while data[end : end + 1] in (b" ", b"\t"):
        end += 1
    if data[end : end + 2] == b"\r\n":
        return end + 2
    return end + 1 if data[end : end + 1] in _LINE_ENDS else end if end == len(data) else 0


def _is_first_key(line: str) -> bool:
    return bool(re.match(_FIRST_KEY_PATTERN, line))


def split_lines(text: str) -> list[str]:
    """The lines, each with its line end; only a line feed ends a line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def split_fields(block: str) -> dict[str, FieldText] | None:
    """The block's text by top-level key, in order; None if a line does not tell where its key
    begins (`{a: b}`, `? key`). A repeated key and a conflict marker stand under a made-up key with
    a NUL."""
    fields: dict[str, FieldText] = {}
    pending = comments = ""
    current: list[str] = []
    key = ""

    def close() -> None:
        if key:
            fields[_unique_key(key, fields)] = FieldText(comments, "".join(current))

    for line in split_lines(block):
        if not line.strip(" \t\r\n") or line.startswith("#"):
            pending += line
        elif line.startswith(CONFLICT_MARKERS) or (line[0] not in " \t-?" and parse_key(line)):
            close()
            key = f"\0{line.strip()}" if line.startswith(CONFLICT_MARKERS) else parse_key(line)
            comments, pending, current = pending, "", [line]
        elif not key or line.startswith(("? ", "?\n")):
            return None
        else:
            current += [pending, line]
            pending = ""
    close()
    if pending:
        fields[TAIL_KEY] = FieldText("", pending)
    return fields


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
    """`key`, with a NUL and a number if it is taken."""
    numbered = (f"{key}\0{number}" for number in range(2, len(found) + 3))
    return key if key not in found else next(name for name in numbered if name not in found)
