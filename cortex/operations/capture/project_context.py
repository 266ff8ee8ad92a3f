"""Resolve the project of a verb: the named one, or that of the working directory."""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.model.caller import Caller
from cortex.core.model.event import project_slug
from cortex.core.ranking.query import Query, QueryFilter
from cortex.core.redact.secrets import sanitize_text
from cortex.vault import settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault


def resolve_project(vault: Vault, caller: Caller, named: str) -> str:
    """The project `named`, else the working directory's, under its current name after merges;
    empty for none."""
    name = _normalize_name(named) or checkout.project_of(caller.cwd)
    return settings.load(vault.root).resolve_project(name)


def canonical_project(vault: Vault, named: str) -> str:
    """The current name of the project `named`, after merges; empty when none was named."""
    name = _normalize_name(named)
    return settings.load(vault.root).resolve_project(name) if name else ""


def only_project(vault: Vault, named: str) -> tuple[str] | None:
    """The project `named` as a filter takes it; None, for all, when none was named."""
    return (name,) if (name := canonical_project(vault, named)) else None


def project_names(vault: Vault, project: str) -> list[str]:
    """A project and those that were merged into it: events keep the name under which they were
    captured."""
    return [project, *(old for old, new in settings.load(vault.root).aliases if new == project)]


def with_project_names(vault: Vault, query: Query) -> Query:
    """The query whose filters of projects take, beside a name as it stands, that which captures have."""

    def names_of(value: str) -> list[str]:
        name = canonical_project(vault, value)
        return [value] if name in ("", value.lower()) else [value, name]

    return query._replace(
        filters=tuple(
            one._replace(values=tuple(name for value in one.values for name in names_of(value)))
            if one.key == "project"
            else one
            for one in query.filters
        )
    )


def named_branches(caller: Caller, named: Sequence[str]) -> tuple[str, ...]:
    """The branches that are named; none for all of them, which `*` asks for. `.` is the one that is
    checked out in the working directory, with what belongs to no branch."""
    if "*" in named:
        return ()
    here = (checkout.branch_of(caller.cwd), "") if "." in named else ()
    return tuple(dict.fromkeys((*here, *(one for one in named if one != "."))))


def branch_filter(caller: Caller, named: Sequence[str]) -> Query | None:
    """A condition on the branch of a note, as `named_branches` reads it."""
    branches = named_branches(caller, named)
    return Query((), (QueryFilter("branch", branches),)) if branches else None


def _normalize_name(named: str) -> str:
    """A project's name as captures write it."""
    return project_slug(sanitize_text(named)) if named.strip() else ""
