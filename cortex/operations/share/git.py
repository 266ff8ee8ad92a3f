"""Git's merge drivers: put in, taken out, looked at."""

from __future__ import annotations

from typing import Literal

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, NotFoundError, Problem
from cortex.core.text.value import NamedTuple
from cortex.vault import foreign_settings, settings
from cortex.vault.git import checkout, drivers
from cortex.vault.locate import Vault


class GitDriversResult(NamedTuple):
    """How git merges the notes of this vault, after what was asked has been done."""

    action: str
    changed: bool
    removed: bool  # a person has taken the drivers out, and they stay out
    drivers: tuple[str, ...]  # as git's configuration has them: `merge.cortex-record.driver = …`
    attributes: str  # ok, or why git would merge without our drivers
    problems: tuple[Problem, ...]


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
