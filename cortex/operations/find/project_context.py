"""The project that a verb is about: the one that was named, or the one of the working directory."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.vault import settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault


def project_here(vault: Vault, caller: Caller, named: str) -> str:
    """The project `named`, else the working directory's, under the name that it has since it was merged; empty for none."""
    return settings.load(vault.root).project(_written(named) or checkout.project_of(caller.cwd))


def project_named(vault: Vault, named: str) -> str:
    """The project `named`, under the name that it has since it was merged; empty when none was named."""
    name = _written(named)
    return settings.load(vault.root).project(name) if name else ""


def names_of(vault: Vault, project: str) -> list[str]:
    """A project and those that were merged into it: events keep the name under which they were captured."""
    return [project, *(old for old, new in settings.load(vault.root).aliases if new == project)]


def _written(named: str) -> str:
    """A project's name as captures write it."""
    if not named.strip():
        return ""
    from cortex.core.redact.secrets import clean  # noqa: PLC0415  its patterns cost 8 ms, and most commands name no project

    return clean(named).strip().lower()
