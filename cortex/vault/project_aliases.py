"""The aliases of merged projects in `cortex.toml`. That is a person's file: one line is put in or taken out, and only where
reading the result gives just that and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from cortex.core.model.problem import Invalid, NotFound
from cortex.core.text import toml
from cortex.vault import files
from cortex.vault.layout import SETTINGS

_HEADER = re.compile(r"[ \t]*\[[ \t]*projects[ \t]*\.[ \t]*aliases[ \t]*\][ \t]*(?:#.*)?")
_INLINE = re.compile(r"(?:projects[ \t]*\.[ \t]*)?aliases[ \t]*=[ \t]*\{[ \t]*")


def held(root: str) -> dict[str, str]:
    """The aliases as they are written, one step each. Raises `Invalid` when the settings cannot be read."""
    table = _aliases(_read(root)[1])
    return {old: new for old, new in table.items() if isinstance(new, str)}


def line_of(old: str, new: str) -> str:
    return f"{json.dumps(old, ensure_ascii=False)} = {json.dumps(new, ensure_ascii=False)}"


def put(root: str, old: str, new: str) -> bool:
    """Write that `old` is part of `new` from now on; False when it says so already."""

    def change(table: dict[str, Any]) -> None:
        table.setdefault("projects", {}).setdefault("aliases", {})[old] = new

    return _write(
        root,
        change,
        lambda text: _with_line(text, line_of(old, new)),
        f"write {line_of(old, new)} below [projects.aliases] yourself",
    )


def drop(root: str, old: str) -> bool:
    """Take the alias of `old` out; False when there is none."""
    if old not in held(root):
        return False

    def change(table: dict[str, Any]) -> None:
        del table["projects"]["aliases"][old]

    return _write(
        root, change, lambda text: _without(text, old), f"take the alias of {old!r} out yourself"
    )


def _write(
    root: str,
    change: Callable[[dict[str, Any]], None],
    candidates: Callable[[str], Iterator[str]],
    otherwise: str,
) -> bool:
    text, table = _read(root)
    _aliases(table)
    wanted = deepcopy(table)
    change(wanted)
    if wanted == table:
        return False
    for candidate in candidates(text):
        try:
            right = toml.parsed(candidate) == wanted
        except ValueError:
            continue
        if right:
            files.replace(root, SETTINGS, candidate.encode(), text.encode())
            return True
    raise Invalid(
        f"{SETTINGS} is written in a way in which this one line cannot be changed alone",
        f"{otherwise}, then run the command again",
    )


def _read(root: str) -> tuple[str, dict[str, Any]]:
    try:
        text = files.read(root, SETTINGS).decode()
        return text, toml.parsed(text)
    except (OSError, NotFound, ValueError) as error:
        raise Invalid(
            f"{SETTINGS} cannot be read: {error}", "mend it, then run the command again"
        ) from error


def _aliases(table: dict[str, Any]) -> dict[str, Any]:
    section = table.get("projects", {})
    found = section.get("aliases", {}) if isinstance(section, dict) else None
    if not isinstance(found, dict):
        raise Invalid(
            f"[projects] aliases in {SETTINGS} is no table of names",
            'write [projects.aliases] and below it "old" = "new"',
        )
    return found


def _with_line(text: str, line: str) -> Iterator[str]:
    """The text with one more alias: below the others, in their braces, or in a section of its own at the end."""
    eol = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    for at, one in enumerate(lines):
        if _HEADER.fullmatch(one.rstrip("\r\n")):
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
    for found in _INLINE.finditer(text):
        rest = text[found.end() :]
        yield f"{text[: found.end()]}{line}{'' if rest.startswith('}') else ', '}{rest}"
    gap = "" if not text else eol if text.endswith("\n") else eol * 2
    yield f"{text}{gap}[projects.aliases]{eol}{line}{eol}"


def _without(text: str, old: str) -> Iterator[str]:
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
