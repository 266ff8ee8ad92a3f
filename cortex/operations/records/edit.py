"""Edit a note by hand."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import NoteName
from cortex.operations.find.open import Launch, OpenedNote, open_note
from cortex.vault.locate import Vault


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
