"""Edit one setting in the text of `cortex.toml`, a person's file: a line is put in or taken out, and
only where reading the result gives just that change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.text import toml
from cortex.vault import files, settings
from cortex.vault.layout import SETTINGS_FILE

_LAYOUT_HEADER_RE = re.compile(r"[ \t]*\[[ \t]*layout[ \t]*\][ \t]*(?:#.*)?")
_FOLDER_LINE_RE = re.compile(r"[ \t]*folder[ \t]*=")


def plan_layout_folder(root: str, folder: str) -> tuple[bytes, bytes]:
    """The settings as they are, and with `folder` (none if empty) as that of Cortex's folders."""

    def change(table: dict[str, Any]) -> None:
        if folder:
            table.setdefault("layout", {})["folder"] = folder
        elif "layout" in table and not (table["layout"].pop("folder", "") and table["layout"]):
            del table["layout"]

    line = f"folder = {json.dumps(folder, ensure_ascii=False)}" if folder else ""
    by_hand = f"write {line} below [layout] yourself" if folder else "take [layout] out yourself"
    return _plan(root, change, lambda text: _texts_with_folder(text, line), by_hand)


def _texts_with_folder(text: str, line: str) -> Iterator[str]:
    """The text with this line in `[layout]`, without any if it is empty."""
    eol = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    for at, one in enumerate(lines):
        if not _LAYOUT_HEADER_RE.fullmatch(one.rstrip("\r\n")):
            continue
        for end in range(at + 1, len(lines)):
            if _FOLDER_LINE_RE.match(lines[end]):
                new = [line + eol] if line else []
                yield "".join([*lines[:end], *new, *lines[end + 1 :]])
        if line:
            yield "".join([*lines[: at + 1], line + eol, *lines[at + 1 :]])
            continue
        start = at - (at > 0 and not lines[at - 1].strip())
        yield "".join([*lines[:start], *lines[at + 2 :]])
    gap = "" if not text else eol if text.endswith("\n") else eol * 2
    if line:
        yield f"{text}{gap}[layout]{eol}{line}{eol}"


def edit(
    root: str,
    change: Callable[[dict[str, Any]], None],
    candidates: Callable[[str], Iterator[str]],
    by_hand: str,
) -> bool:
    """Write the first candidate that reads as the changed table; False if nothing changes."""
    before, after = _plan(root, change, candidates, by_hand)
    if after != before:
        files.replace(root, SETTINGS_FILE, after, before)
    return after != before


def _plan(
    root: str,
    change: Callable[[dict[str, Any]], None],
    candidates: Callable[[str], Iterator[str]],
    by_hand: str,
) -> tuple[bytes, bytes]:
    """The settings, and the first candidate that reads as the changed table."""
    text, table = read(root)
    settings.check_writable(root)
    wanted = deepcopy(table)
    change(wanted)
    for candidate in (text, *candidates(text)):
        with suppress(ValueError):
            if toml.parse(candidate) == wanted:
                return text.encode(), candidate.encode()
    message = f"{SETTINGS_FILE} is written in a way in which this one line cannot be changed alone"
    raise InvalidInputError(message, f"{by_hand}, then run the command again")


def read(root: str) -> tuple[str, dict[str, Any]]:
    """The text of the settings, and its table. Raises `InvalidInputError` if they cannot be read."""
    try:
        text = settings.read_text(root)
        table = toml.parse(text)
    except (OSError, NotFoundError, ValueError) as error:
        message = f"{SETTINGS_FILE} cannot be read: {error}"
        raise InvalidInputError(message, "mend it, then run the command again") from error
    return text, table
