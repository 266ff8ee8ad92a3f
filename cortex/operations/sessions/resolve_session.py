"""Which session somebody means: by its name, the id of its note, the beginning of one, or as the only one that lives."""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.model import session as sessions
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, NotFound
from cortex.index.catalogue import Catalogue, Row
from cortex.operations.find.project_context import project_here
from cortex.operations.sessions.live_sessions import SESSION, live
from cortex.vault.locate import Vault

_OFFERED = 3


def only_live(vault: Vault, caller: Caller, catalogue: Catalogue, project: str = "") -> Row:
    """The one live session of the project, by default of the caller's."""
    project = project or project_here(vault, caller, "")
    held = [one.row for one in live(catalogue, caller.now) if one.row.project == project]
    if not held:
        raise NotFound(
            f"no session is going on in {project or 'this folder'}",
            "name it: cortex session list shows all",
        )
    if len(held) > 1:
        names = ", ".join(names_of(catalogue, held[:5]).values())
        raise Conflict(
            f"{len(held)} sessions are going on in {project or 'this folder'}: {names}",
            "name the one that is over: cortex session end NAME",
        )
    return held[0]


def one_session(catalogue: Catalogue, name: str) -> Row:
    """The session with this name, id, or path, or whose name or id alone begins so. `NotFound` offers the closest."""
    held = [
        (str(session_), str(id_), int(number))
        for session_, id_, number in catalogue.asked(
            f"SELECT session, id, number FROM note WHERE {SESSION}"
        )
    ]
    path = name.removesuffix(".md")
    for matches in (
        [
            number
            for session_, id_, number in held
            if name in (session_, id_)
            or id_ == path.rpartition("/")[2]
            or id_ == sessions.id_of(name)
        ],
        [
            number
            for session_, id_, number in held
            if len(name) >= 4 and (session_.startswith(name) or id_.startswith(name))
        ],
    ):
        if len(matches) > 1:
            names = ", ".join(
                names_of(catalogue, catalogue.numbered(matches[:5]).values()).values()
            )
            raise Conflict(
                f"{name!r} names {len(matches)} sessions: {names}", "give the whole name"
            )
        if matches:
            return catalogue.numbered(matches)[matches[0]]
    from difflib import get_close_matches  # noqa: PLC0415  only where somebody mistyped

    near = get_close_matches(
        name,
        list(dict.fromkeys(one for session_, id_, _ in held for one in (session_, id_) if one)),
        _OFFERED,
        0.6,
    )
    raise NotFound(
        f"there is no session {name!r}",
        f"did you mean {', '.join(near)}?" if near else "cortex session list shows which there are",
    )


def names_of(catalogue: Catalogue, rows: Iterable[Row]) -> dict[int, str]:
    """The names of sessions by the numbers of their notes; where events came without one, the first event's id."""
    found = {}
    for row in rows:
        named = next(catalogue.asked("SELECT session FROM note WHERE number = ?", (row.number,)))[0]
        found[row.number] = str(named) or (min(row.events) if row.events else row.id)
    return found
