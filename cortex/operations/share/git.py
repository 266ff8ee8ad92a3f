"""Git's merge drivers: put in, taken out, looked at; and a record merged by hand, as they would."""

from __future__ import annotations

import os
import stat
from typing import Annotated, Literal

from cortex.core.merge.merge_record import merge_record
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import OUTSIDE_PATH
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError, Problem
from cortex.core.text.value import NamedTuple
from cortex.vault import foreign_settings, settings
from cortex.vault.git import checkout, drivers
from cortex.vault.locate import Vault

MAX_BYTES = 4 * 1024 * 1024  # of each version, as for the driver


class GitDriversResult(NamedTuple):
    """How git merges the notes of this vault, after what was asked has been done."""

    action: str
    changed: bool
    removed: bool  # a person has taken the drivers out, and they stay out
    drivers: tuple[str, ...]  # as git's configuration has them: `merge.cortex-record.driver = …`
    attributes: str  # ok, or why git would merge without our drivers
    problems: tuple[Problem, ...]


class MergeResult(NamedTuple):
    """What three versions of a note come to."""

    text: str
    clean: bool
    decisions: tuple[str, ...]
    explain: bool  # show the decisions instead of the note


def git(
    vault: Vault, caller: Caller, action: Literal["install", "remove", "status"]
) -> GitDriversResult:
    """Register git's merge drivers here, remove or show them.

    Cortex registers them by itself; once removed they stay out until install or doctor --fix. No
    git hook is installed.

    action: install, remove or status

    Example: cortex git status
    """
    del caller
    place = checkout.find_repository(vault.root)
    if place is None:
        hint = f"git init {vault.root} makes it one"
        raise NotFoundError(f"{vault.root} is in no git repository", hint)
    changed = False
    if action == "install":
        changed = drivers.register(vault.root, again=True)
    elif action == "remove":
        changed = drivers.unregister(vault.root)
    found = drivers.read_config(place[2])
    commands = sorted(found.commands.items())
    lines = tuple(f"merge.{name}.driver = {command}" for name, command in commands)
    problems = drivers.problems(vault.root)
    attributes = next((one.message for one in problems if one.where == ".gitattributes"), "ok")
    return GitDriversResult(action, changed, found.is_removed, lines, attributes, tuple(problems))


def set_up_clone(vault: Vault) -> list[str]:
    """Register our merge drivers in a fresh clone: git copies no configuration. The lines that say so
    to a person; none where they are registered, or cannot be: then `cortex doctor` names what is
    missing."""
    if settings.load(vault.root).refusal:
        return []  # records of a newer format are not ours to merge
    try:
        if not drivers.register(vault.root):
            return []
        names = foreign_settings.list_agent_settings(vault.root)
    except (CortexError, OSError):
        return []
    registered = (
        "in this clone git now merges Cortex's notes field by field; cortex git remove undoes that"
    )
    return [registered, *([foreign_settings.agent_settings_notice(names)] if names else [])]


def merge(
    caller: Caller,
    base: Annotated[str, OUTSIDE_PATH],
    ours: Annotated[str, OUTSIDE_PATH],
    theirs: Annotated[str, OUTSIDE_PATH],
    *,
    explain: bool = False,
) -> MergeResult:
    """Merge three versions of a record as git would with Cortex.

    The note is printed. No file is changed.

    base: the file of the version that both sides began from; an empty file when both added the note
    ours: the file of one side
    theirs: the file of the other
    explain: print what was decided and which values lost, instead of the note

    Example: cortex merge --explain base.md ours.md theirs.md
    """
    first, one, other = (_read_version(caller.cwd, name) for name in (base, ours, theirs))
    merged = merge_record(first, one, other)
    text = merged.data.decode("utf-8", "replace")
    return MergeResult(text, merged.is_clean, merged.decisions, explain)


def _read_version(cwd: str, name: str) -> bytes:
    """The bytes of a regular file, or of a process substitution of the shell."""
    path = os.path.join(cwd, name)
    shown = name if len(name) <= 200 else f"{name[:200]}…"
    hint = "cortex merge --explain BASE OURS THEIRS takes the paths of three files"
    try:
        mode = os.stat(path).st_mode
        is_process_output = stat.S_ISFIFO(mode) and path.startswith("/dev/fd/")  # <(git show …)
        if not (stat.S_ISREG(mode) or is_process_output):
            raise InvalidInputError(f"{shown!r} is not a file", hint)
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFoundError(f"there is no file {shown!r}", hint) from None
    except OSError as error:
        raise InvalidInputError(f"{shown!r} cannot be read: {error.strerror}", hint) from error
    if len(data) > MAX_BYTES:
        message = f"{shown!r} is larger than {MAX_BYTES // 1024 // 1024} MB"
        raise InvalidInputError(message, "git merge-file merges texts of any size")
    return data
