"""Edit one setting in the text of `cortex.toml`, a person's file: a line is put in or taken out, and
only where reading the result gives just that change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.text.tables import parse_toml
from cortex.vault import files, settings
from cortex.vault.layout import SETTINGS_FILE


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
    for candidate in (text, *candidates(text)):
        with suppress(ValueError):
            if parse_toml(candidate) == wanted:
                if candidate != text:
                    files.replace(root, SETTINGS_FILE, candidate.encode(), text.encode())
                return candidate != text
    message = f"{SETTINGS_FILE} is written in a way in which this one line cannot be changed alone"
    raise InvalidInputError(message, f"{by_hand}, then run the command again")


def read(root: str) -> tuple[str, dict[str, Any]]:
    """The text of the settings, and its table. Raises `InvalidInputError` if they cannot be read."""
    try:
        text = settings.read_text(root)
        table = parse_toml(text)
    except (OSError, NotFoundError, ValueError) as error:
        message = f"{SETTINGS_FILE} cannot be read: {error}"
        raise InvalidInputError(message, "mend it, then run the command again") from error
    return text, table
