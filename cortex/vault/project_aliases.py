"""The aliases of merged projects in `cortex.toml`, a person's file: one line is put in or taken
out, and only where reading the result gives just that change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from cortex.core.model.problem import InvalidInputError
from cortex.vault import settings_text
from cortex.vault.layout import SETTINGS_FILE

_SECTION_HEADER_RE = re.compile(
    r"[ \t]*\[[ \t]*projects[ \t]*\.[ \t]*aliases[ \t]*\][ \t]*(?:#.*)?"
)


def read_all(root: str) -> dict[str, str]:
    """The aliases as written, one step each. Raises `InvalidInputError` for unreadable settings."""
    section = settings_text.read(root)[1].get("projects", {})
    if not isinstance(section, dict) or not isinstance(section.get("aliases", {}), dict):
        message = f"[projects] aliases in {SETTINGS_FILE} is no table of names"
        hint = 'write [projects.aliases] and below it "old" = "new"'
        raise InvalidInputError(message, hint)
    aliases = section.get("aliases", {})
    return {old: new for old, new in aliases.items() if isinstance(new, str)}


def format_line(old: str, new: str) -> str:
    return f"{json.dumps(old, ensure_ascii=False)} = {json.dumps(new, ensure_ascii=False)}"


def add(root: str, old: str, new: str) -> bool:
    """Write that `old` is part of `new` from now on; False when it says so already."""
    line = format_line(old, new)
    read_all(root)  # raises where aliases are no table

    def change(table: dict[str, Any]) -> None:
        table.setdefault("projects", {}).setdefault("aliases", {})[old] = new

    by_hand = f"write {line} below [projects.aliases] yourself"
    return settings_text.edit(root, change, lambda text: _texts_with_line(text, line), by_hand)


def remove(root: str, old: str) -> bool:
    """Take the alias of `old` out; False when there is none."""
    if old not in read_all(root):
        return False

    def change(table: dict[str, Any]) -> None:
        del table["projects"]["aliases"][old]

    by_hand = f"take the alias of {old!r} out yourself"
    return settings_text.edit(root, change, lambda text: _texts_without_alias(text, old), by_hand)


def _texts_with_line(text: str, line: str) -> Iterator[str]:
    """The text with one more alias: below the others, or in a section of its own at the end."""
    eol = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    for at, one in enumerate(lines):
        if _SECTION_HEADER_RE.fullmatch(one.rstrip("\r\n")):
            end = at + 1
            while end < len(lines) and lines[end].lstrip()[:1] not in ("", "[", "#"):
                end += 1
            before = "".join(lines[:end])
            gap = "" if before.endswith("\n") else eol
            yield f"{before}{gap}{line}{eol}{''.join(lines[end:])}"
    gap = "" if not text else eol if text.endswith("\n") else eol * 2
    yield f"{text}{gap}[projects.aliases]{eol}{line}{eol}"


def _texts_without_alias(text: str, old: str) -> Iterator[str]:
    """The text without the line of an alias."""
    forms = (json.dumps(old, ensure_ascii=False), f"'{old}'", old)
    key_re = re.compile(rf"[ \t]*(?:{'|'.join(map(re.escape, forms))})[ \t]*=")
    lines = text.splitlines(keepends=True)
    for at, one in enumerate(lines):
        if key_re.match(one):
            yield "".join(lines[:at] + lines[at + 1 :])
