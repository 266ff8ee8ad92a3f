"""Edit one setting in the text of `cortex.toml`, a person's file: a line is put in or taken out, and
only where reading the result gives just that change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

from cortex.core.model.note_form import FLAT_FORMAT
from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tables import parse_toml
from cortex.vault import files, settings
from cortex.vault.layout import SETTINGS_FILE

_FORMAT_LINE_RE = lazy_re(r"(?m)^format[ \t]*=[ \t]*1[ \t]*(?=\r?$)")
_SECTION_HEADER_RE = lazy_re(r"[ \t]*\[[ \t]*projects[ \t]*\.[ \t]*aliases[ \t]*\][ \t]*(?:#.*)?")


def edit(
    root: str,
    change: Callable[[dict[str, Any]], None],
    candidates: Callable[[str], Iterator[str]],
    by_hand: str,
) -> bool:
    """Write the first candidate that reads as the changed table; False if nothing changes."""
    text, table = read(root)
    settings.check_writable(root)
    wanted = deepcopy(table)
    change(wanted)
    hint = f"{by_hand}, then run the command again"
    new = _choose((text, *candidates(text)), wanted, "this one line", hint)
    if new != text:
        files.replace(root, SETTINGS_FILE, new.encode(), text.encode())
    return new != text


def _choose(candidates: Iterable[str], wanted: dict[str, Any], what: str, hint: str) -> str:
    """The first text that reads as wanted. Raises `InvalidInputError` if none does."""
    for candidate in candidates:
        with suppress(ValueError):
            if parse_toml(candidate) == wanted:
                return candidate
    message = f"{SETTINGS_FILE} is written in a way in which {what} cannot be changed alone"
    raise InvalidInputError(message, hint)


def read(root: str) -> tuple[str, dict[str, Any]]:
    """The text of the settings, and its table. Raises `InvalidInputError` if they cannot be read."""
    try:
        text = settings.read_text(root)
        table = parse_toml(text)
    except (OSError, NotFoundError, ValueError) as error:
        message = f"{SETTINGS_FILE} cannot be read: {error}"
        raise InvalidInputError(message, "mend it, then run the command again") from error
    return text, table


def read_aliases(root: str) -> dict[str, str]:
    """The aliases as written, one step each. Raises `InvalidInputError` for unreadable settings."""
    section = read(root)[1].get("projects", {})
    if not isinstance(section, dict) or not isinstance(section.get("aliases", {}), dict):
        message = f"[projects] aliases in {SETTINGS_FILE} is no table of names"
        hint = 'write [projects.aliases] and below it "old" = "new"'
        raise InvalidInputError(message, hint)
    aliases = section.get("aliases", {})
    return {old: new for old, new in aliases.items() if isinstance(new, str)}


def format_alias(old: str, new: str) -> str:
    return f"{json.dumps(old, ensure_ascii=False)} = {json.dumps(new, ensure_ascii=False)}"


def add_alias(root: str, old: str, new: str) -> bool:
    """Add to the settings that the name `old` means the project `new`; False if they say so already."""
    line = format_alias(old, new)
    read_aliases(root)  # raises where aliases are no table

    def change(table: dict[str, Any]) -> None:
        table.setdefault("projects", {}).setdefault("aliases", {})[old] = new

    manual_hint = f"write {line} below [projects.aliases] yourself"
    return edit(root, change, lambda text: _texts_with_line(text, line), manual_hint)


def remove_alias(root: str, old: str) -> bool:
    """Take the alias of `old` out; False when there is none."""
    if old not in read_aliases(root):
        return False

    def change(table: dict[str, Any]) -> None:
        del table["projects"]["aliases"][old]

    by_hand = f"take the alias of {old!r} out yourself"
    return edit(root, change, lambda text: _texts_without_alias(text, old), by_hand)


def in_flat_format(text: str, project: str) -> str:
    """The text of settings with `format = 2`, and with the project that records need not name.
    Raises `InvalidInputError` where these lines cannot be changed alone."""
    eol = "\r\n" if "\r\n" in text else "\n"
    wanted = parse_toml(text)
    lines = [f"format = {FLAT_FORMAT}"]
    if project and "project" not in wanted:
        lines.append(f"project = {json.dumps(project)}")
        wanted["project"] = project
    wanted["format"] = FLAT_FORMAT
    new = eol.join(lines)
    candidates = (_FORMAT_LINE_RE.sub(lambda _: new, text, count=1), f"{new}{eol}{text}")
    hint = f"write {new!r} at its beginning, then cortex upgrade"
    return _choose(candidates, wanted, "its format", hint)


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
