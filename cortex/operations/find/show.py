"""One note, whole."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import MAX_NOTE_BYTES
from cortex.core.model.parameters import NoteName
from cortex.core.model.problem import ConflictError, CortexError, NotFoundError, Problem
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.text.strings import sha256_digest
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import query_index
from cortex.operations.find.resolve_note import find_one
from cortex.operations.find.verify_claims import find_code_doubt
from cortex.operations.upkeep.bring_up_to_date import heal_if_stale
from cortex.vault import files
from cortex.vault.locate import Vault, find_personal_vault
from cortex.vault.state import access_log

MAX_SHOWN_BYTES = 4 * 1024 * 1024  # bytes


class ShownNote(NamedTuple):
    """A note as its file has it; with `why` how much it matters, and no text."""

    id: str
    path: str
    title: str
    type: str
    status: str
    text: str
    problems: tuple[Problem, ...]
    cut: bool  # the file is longer than `MAX_SHOWN_BYTES`
    vault: str = "project"  # or personal: whose vault it lies in
    file: str = ""  # the note's absolute path
    score: float = 0.0  # with `why`, as are those that follow: 0 to 5
    parts: dict[str, float] = {}  # noqa: RUF012  the numbers that it is made of; nothing changes it
    uses: int = 0
    last_use: str = ""  # UTC; empty when it was never used here
    lifecycle: str = ""  # what a pass would do with it, and why
    version: str = ""  # of the text; `revise` with it changes no other
    doubt: str = ""  # of code: why it may not hold any more


def show(
    vault: Vault, caller: Caller, note: NoteName, *, why: bool = False, branch: str = ""
) -> ShownNote:
    """Show a note whole, or explain how much it matters.

    It is found by its id, the beginning or end of its id, its path, file name or title.
    A name that nothing answers to here is looked for in your own vault (cortex init --default),
    unless --vault or $CORTEX_VAULT names this one. On a terminal what would act on it is made
    visible; into a pipe or a file the note goes byte for byte.

    --why explains its score, 0 to 5, which orders lists, by every number that it is made of; the
    rank, 0 to 1, orders what a session is given; the effective confidence decides what is archived.
    Nothing of it is stored in the note: it follows from the note, from the links to it, and from its
    use on this machine. What is put before a session unasked does not count as use.

    note: an id or path, as search shows it, a title, or the handle in a briefing; `path:line` will do
    why: explain its score instead
    branch: of --why: the branch that counts as current; by default the one that is checked out

    Example: cortex show decision-save-lookup
    Example: cortex show decision-save-lookup --why
    """
    if why:
        from cortex.operations.find.note_ranks import explain_score  # noqa: PLC0415  5 ms

        row, score, faults = explain_score(vault, caller, note, branch)
        answer = _shown(vault, row, "", tuple(faults))
        return answer._replace(**score._asdict())
    project, (vault, row) = vault, find_in_vaults(vault, caller, note)
    data = files.read(vault.root, row.path, MAX_SHOWN_BYTES + 1)
    cut, data = len(data) > MAX_SHOWN_BYTES, data[:MAX_SHOWN_BYTES]
    access_log.append(vault, caller, "show", [row.id])
    text = data.removeprefix(notes.BOM).decode("utf-8", "replace")
    answer = _shown(vault, row, text, notes.read(data, row.path).problems)
    return answer._replace(
        cut=cut, vault="project" if vault is project else "personal",
        version="" if cut else version_of(data), doubt=find_code_doubt(vault, caller, row),
    )  # fmt: skip


def _shown(vault: Vault, row: NoteRow, text: str, problems: tuple[Problem, ...]) -> ShownNote:
    named, file = (row.id, row.path, row.title, row.type, row.status), vault.file(row.path)
    return ShownNote(*named, text, problems, cut=False, file=file)


def version_of(data: bytes) -> str:
    """What tells one text of a note from any other: 16 hex digits."""
    return sha256_digest(data)[:8].hex()


def find_in_vaults(vault: Vault, caller: Caller, note: str) -> tuple[Vault, NoteRow]:
    """The note of this name and its vault: this one, else the person's own. Raises
    `NotFoundError`, `ConflictError`."""
    heal_if_stale(vault, caller)
    try:
        return vault, _find_row(vault, caller, note)
    except NotFoundError as missing:
        own = None if vault.is_explicit else find_personal_vault(vault)
        if own is None:
            raise
        try:
            heal_if_stale(own, caller)
            return own, _find_row(own, caller, note)
        except NotFoundError:
            raise missing from None
        except ConflictError:
            raise
        except (CortexError, OSError) as error:
            hint = f"{missing.hint}; your own vault could not be looked in: {error}"
            raise NotFoundError(missing.message, hint) from error


def _find_row(vault: Vault, caller: Caller, note: str) -> NoteRow:
    return query_index(vault, caller.progress, lambda index: find_one(index.catalogue, note))


def read_note(vault: Vault, path: str) -> Note | None:
    """The note at a path of the index; None if it was deleted since the index was refreshed."""
    try:
        return notes.read(files.read(vault.root, path, MAX_NOTE_BYTES), path)
    except (CortexError, OSError):
        return None
