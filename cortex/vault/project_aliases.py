"""The aliases of merged projects in `cortex.toml`. That is a person's file: one line is put in or taken out, and only where
reading the result gives just that and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.text import toml
from cortex.vault import files
from cortex.vault.layout import SETTINGS_FILE

_SECTION_HEADER_RE = re.compile(
    r"[ \t]*\[[ \t]*projects[ \t]*\.[ \t]*aliases[ \t]*\][ \t]*(?:#.*)?"
)
_INLINE_TABLE_RE = re.compile(r"(?:projects[ \t]*\.[ \t]*)?aliases[ \t]*=[ \t]*\{[ \t]*")


def read_all(root: str) -> dict[str, str]:
    """The aliases as they are written, one step each. Raises `InvalidInputError` when the settings cannot be read."""
    table = _aliases_table(_read_settings(root)[1])
    return {old: new for old, new in table.items() if isinstance(new, str)}


def format_line(old: str, new: str) -> str:
    return f"{json.dumps(old, ensure_ascii=False)} = {json.dumps(new, ensure_ascii=False)}"


def add(root: str, old: str, new: str) -> bool:
    """Write that `old` is part of `new` from now on; False when it says so already."""

    def change(table: dict[str, Any]) -> None:
        table.setdefault("projects", {}).setdefault("aliases", {})[old] = new

    return _edit_settings(
        root,
        change,
        lambda text: _texts_with_line(text, format_line(old, new)),
        f"write {format_line(old, new)} below [projects.aliases] yourself",
    )


def remove(root: str, old: str) -> bool:
    """Take the alias of `old` out; False when there is none."""
    if old not in read_all(root):
        return False

    def change(table: dict[str, Any]) -> None:
        del table["projects"]["aliases"][old]

    return _edit_settings(
        root,
        change,
        lambda text: _texts_without_alias(text, old),
        f"take the alias of {old!r} out yourself",
    )


def _edit_settings(
    root: str,
    change: Callable[[dict[str, Any]], None],
    candidates: Callable[[str], Iterator[str]],
    otherwise: str,
) -> bool:
    text, table = _read_settings(root)
    _aliases_table(table)
    wanted = deepcopy(table)
    change(wanted)
    if wanted == table:
        return False
    for candidate in candidates(text):
        try:
            right = toml.parse(candidate) == wanted
        except ValueError:
            continue
        if right:
            files.replace(root, SETTINGS_FILE, candidate.encode(), text.encode())
            return True
    raise InvalidInputError(
        f"{SETTINGS_FILE} is written in a way in which this one line cannot be changed alone",
        f"{otherwise}, then run the command again",
    )


def _read_settings(root: str) -> tuple[str, dict[str, Any]]:
    try:
        text = files.read(root, SETTINGS_FILE).decode()
        return text, toml.parse(text)
    except (OSError, NotFoundError, ValueError) as error:
        raise InvalidInputError(
            f"{SETTINGS_FILE} cannot be read: {error}", "mend it, then run the command again"
        ) from error


def _aliases_table(table: dict[str, Any]) -> dict[str, Any]:
    section = table.get("projects", {})
    found = section.get("aliases", {}) if isinstance(section, dict) else None
    if not isinstance(found, dict):
        raise InvalidInputError(
            f"[projects] aliases in {SETTINGS_FILE} is no table of names",
            'write [projects.aliases] and below it "old" = "new"',
        )
    return found


def _texts_with_line(text: str, line: str) -> Iterator[str]:
    """The text with one more alias: below the others, in their braces, or in a section of its own at the end."""
    eol = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    for at, one in enumerate(lines):
        if _SECTION_HEADER_RE.fullmatch(one.rstrip("\r\n")):
            end = at + 1
            while (
                end < len(lines)
                and lines[end].strip()
                and not lines[end].lstrip().startswith(("[", "#"))
            ):
                end += 1
            before = "".join(lines[:end])
            yield (
                before + ("" if before.endswith("\n") else eol) + line + eol + "".join(lines[end:])
            )
    for found in _INLINE_TABLE_RE.finditer(text):
        rest = text[found.end() :]
        yield f"{text[: found.end()]}{line}{'' if rest.startswith('}') else ', '}{rest}"
    gap = "" if not text else eol if text.endswith("\n") else eol * 2
    yield f"{text}{gap}[projects.aliases]{eol}{line}{eol}"


def _texts_without_alias(text: str, old: str) -> Iterator[str]:
    """The text without the alias of a project: without its line, or without its part of a line."""
    names = "|".join(
        re.escape(form) for form in (json.dumps(old, ensure_ascii=False), f"'{old}'", old)
    )
    whole = re.compile(rf"[ \t]*(?:{names})[ \t]*=")
    lines = text.splitlines(keepends=True)
    for at, one in enumerate(lines):
        if whole.match(one):
            yield "".join(lines[:at] + lines[at + 1 :])
    for part in re.finditer(rf"(?:{names})[ \t]*=[ \t]*(?:\"[^\"\n]*\"|'[^'\n]*')", text):
        before, rest = text[: part.start()], text[part.end() :]
        if rest.lstrip(" \t").startswith(","):
            yield before + rest.lstrip(" \t")[1:].lstrip(" \t")
        yield before.rstrip(" \t").removesuffix(",") + rest
