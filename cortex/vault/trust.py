"""Which notes of agents this user has read and trusts: a copy of each lies in the state folder of the
vault, and a note is trusted while it says the same to the byte. What a pull brings is not."""

from __future__ import annotations

import os

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.runs import agent_note
from cortex.core.runs.agent_note import BASE_NAME, DEFAULT_NAME, MAX_AGENT_BYTES
from cortex.vault import files, private
from cortex.vault.locate import Vault

_PINS = "trust"


def agent_path(vault: Vault, name: str) -> str:
    """Where the note of an agent lies, vault-relative. Raises `InvalidInputError` for what names none."""
    if name != BASE_NAME and not agent_note.is_agent_name(name):
        raise InvalidInputError(f"{name[:80]!r} is no name of an agent", agent_note.NAME_HINT)
    return vault.layout().path(f"{agent_note.FOLDER}/{name}.md")


def list_agents(vault: Vault) -> list[str]:
    """The names of the notes of agents, sorted, whatever they are called; not of the shared base."""
    names = files.list_notes(vault.root, vault.layout().path(agent_note.FOLDER))
    return [name[:-3] for name in names if name != f"{BASE_NAME}.md"]


def read_agent_file(vault: Vault, name: str) -> bytes:
    """The bytes of a note, at the most one more than it may have. Raises `NotFoundError`,
    `InvalidInputError` for a link or a name that is none."""
    try:
        return files.read(vault.root, agent_path(vault, name), MAX_AGENT_BYTES + 1)
    except NotFoundError as error:
        hint = "cortex agents lists those that there are; cortex agents add NAME puts one there"
        raise NotFoundError(error.message, hint) from None


def trusted_text(vault: Vault, name: str) -> bytes:
    """What a note said when it was trusted last; empty if it never was."""
    agent_path(vault, name)
    return private.read(os.path.join(vault.state_folder(), _PINS, f"{name}.md"), MAX_AGENT_BYTES)


def read(vault: Vault, name: str) -> tuple[bytes, bytes, bool]:
    """The bytes of an agent's note (the default one has none) and of the shared base (empty: there is
    none), and whether both are as they were trusted. Raises `NotFoundError`, `InvalidInputError`."""
    data, base = b"", read_base(vault)
    if name != DEFAULT_NAME:
        data = read_agent_file(vault, name)
    is_own = name == DEFAULT_NAME or (data != b"" and data == trusted_text(vault, name))
    return data, base, is_own and base in (b"", trusted_text(vault, BASE_NAME))


def is_trusted(vault: Vault, name: str) -> bool:
    """Whether an agent may run; not one that is missing or cannot be read."""
    try:
        return read(vault, name)[2]
    except (NotFoundError, InvalidInputError):
        return False


def read_base(vault: Vault) -> bytes:
    """The bytes of the shared base prompt; empty if the vault has none. Raises `InvalidInputError`."""
    try:
        return read_agent_file(vault, BASE_NAME)
    except NotFoundError:
        return b""


def pin(vault: Vault, name: str, data: bytes) -> None:
    """Trust a note as these bytes are. Raises `OSError`, `InvalidInputError`."""
    agent_path(vault, name)
    if not data or len(data) > MAX_AGENT_BYTES:
        message = f"{name} is {'larger than it may be' if data else 'empty'}"
        raise InvalidInputError(message, "edit the note")
    folder = private.ensure_folder(os.path.join(vault.state_folder(), _PINS))
    private.replace(os.path.join(folder, f"{name}.md"), data, durable=True)
