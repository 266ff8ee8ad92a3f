"""Open a note: in Obsidian where it lies in an Obsidian vault, else in the person's editor."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from urllib.parse import quote

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import NoteName
from cortex.core.model.problem import CortexError, InvalidInputError
from cortex.core.text.strings import cortex_command
from cortex.core.text.value import NamedTuple
from cortex.operations.find.show import find_in_vaults
from cortex.vault import files, foreign_settings
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

# Runs a program in the person's terminal and returns its exit code. None where there is none.
Launch = Callable[[Sequence[str]], int] | None
_EDITOR_HINT = "name one: export EDITOR=vi; --print shows where the note is"
_URL_OPENER = "open" if sys.platform == "darwin" else "xdg-open"


class OpenedNote(NamedTuple):
    """A note, where it is, and whether a program was started for it."""

    id: str
    file: str  # absolute path
    url: str  # for Obsidian; empty for the editor
    opened: bool


def open(  # noqa: A001  the verb's name
    vault: Vault, caller: Caller, note: NoteName, *, launch: Launch, print: bool = False
) -> OpenedNote:
    """Open a note in Obsidian, else in your editor.

    The editor is $VISUAL, else $EDITOR. Into a pipe nothing is opened: the URL or path is printed.

    note: an id, path, file name or title, as cortex show takes it
    print: only print the URL or path

    Example: cortex open "Keep carts for a day"
    """
    return open_note(vault, caller, note, None if print else launch, in_editor=False)


def edit(
    vault: Vault, caller: Caller, note: NoteName, *, launch: Launch, print: bool = False
) -> OpenedNote:
    """Open a note in your editor: $VISUAL, else $EDITOR.

    Into a pipe nothing is opened: the path is printed.

    note: an id, path, file name or title, as cortex show takes it
    print: only print the path

    Example: cortex edit keep-carts-for-a-day-icham6
    """
    return open_note(vault, caller, note, None if print else launch, in_editor=True)


def open_note(
    vault: Vault, caller: Caller, name: str, launch: Launch, *, in_editor: bool
) -> OpenedNote:
    """As `open`; with `in_editor` always in the editor. Raises `CortexError` if the program cannot
    be started or fails."""
    vault, row = find_in_vaults(vault, caller, name)
    file = vault.file(row.path)
    files.size(vault.root, row.path)  # raises where it is gone, or a folder became a link
    url = ""
    if not in_editor and foreign_settings.find_obsidian_root(vault.root):
        url = f"obsidian://open?path={quote(os.fsencode(file), safe='')}"
    if launch is None:
        return OpenedNote(row.id, file, url, opened=False)
    # An absolute path or a URL: no name in a vault can become an option.
    words = [_URL_OPENER, url] if url else [*editor_words(), file]
    hint = f"{cortex_command('edit', row.id)} takes your editor" if url else _EDITOR_HINT
    try:
        code = launch(words)
    except OSError as error:
        raise CortexError(f"{words[0]} cannot be started: {error.strerror}", hint) from error
    if code:
        raise CortexError(f"{words[0]} ended with exit code {code}", hint)
    access_log.append(vault, caller, "show", [row.id])
    return OpenedNote(row.id, file, url, opened=True)


def editor_words() -> list[str]:
    """The editor that the person names, with its own options."""
    try:
        variable = "VISUAL" if os.environ.get("VISUAL") else "EDITOR"
        words = shlex.split(os.environ.get(variable, ""))
    except ValueError as error:
        raise InvalidInputError(f"your editor cannot be read: {error}", _EDITOR_HINT) from None
    if not words:
        raise InvalidInputError("no editor is named: $VISUAL and $EDITOR are empty", _EDITOR_HINT)
    if not shutil.which(words[0]):
        raise InvalidInputError(
            f"${variable} names no program: {words[0]}", f"export {variable}=nano"
        )
    return words
