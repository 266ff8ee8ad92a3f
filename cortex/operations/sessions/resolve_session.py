"""Which session somebody means: by its name, the id of its note, the beginning of one, or as the only one that lives."""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.model import session_note as sessions
from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, NotFoundError
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.operations.find.project_context import resolve_project
from cortex.operations.sessions.live_sessions import IS_SESSION_SQL, list_live_sessions
from cortex.vault.locate import Vault

_MAX_SUGGESTIONS = 3


def find_only_live_session(
    vault: Vault, caller: Caller, catalogue: Catalogue, project: str = ""
) -> NoteRow:
    """The one live session of the project, by default of the caller's."""
    project = project or resolve_project(vault, caller, "")
    held = [
        one.row for one in list_live_sessions(catalogue, caller.now) if one.row.project == project
    ]
    if not held:
        raise NotFoundError(
            f"no session is going on in {project or 'this folder'}",
            "name it: cortex session list shows all",
        )
    if len(held) > 1:
        names = ", ".join(session_names(catalogue, held[:5]).values())
        raise ConflictError(
            f"{len(held)} sessions are going on in {project or 'this folder'}: {names}",
            "name the one that is over: cortex session end NAME",
        )
    return held[0]


def find_session(catalogue: Catalogue, name: str) -> NoteRow:
    """The session with this name, id, or path, or whose name or id alone begins so. `NotFoundError` offers the closest."""
    held = [
        (str(session_), str(id_), int(number))
        for session_, id_, number in catalogue.select(
            f"SELECT session, id, number FROM note WHERE {IS_SESSION_SQL}"
        )
    ]
    path = name.removesuffix(".md")
    for matches in (
        [
            number
            for session_, id_, number in held
            if name in (session_, id_)
            or id_ == path.rpartition("/")[2]
            or id_ == sessions.session_note_id(name)
        ],
        [
            number
            for session_, id_, number in held
            if len(name) >= 4 and (session_.startswith(name) or id_.startswith(name))
        ],
    ):
        if len(matches) > 1:
            names = ", ".join(
                session_names(catalogue, catalogue.rows_by_number(matches[:5]).values()).values()
            )
            raise ConflictError(
                f"{name!r} names {len(matches)} sessions: {names}", "give the whole name"
            )
        if matches:
            return catalogue.rows_by_number(matches)[matches[0]]
    from difflib import get_close_matches  # noqa: PLC0415  only where somebody mistyped

    near = get_close_matches(
        name,
        list(dict.fromkeys(one for session_, id_, _ in held for one in (session_, id_) if one)),
        _MAX_SUGGESTIONS,
        0.6,
    )
    raise NotFoundError(
        f"there is no session {name!r}",
        f"did you mean {', '.join(near)}?" if near else "cortex session list shows which there are",
    )


def session_names(catalogue: Catalogue, rows: Iterable[NoteRow]) -> dict[int, str]:
    """The names of sessions by the numbers of their notes; where events came without one, the first event's id."""
    found = {}
    for row in rows:
        named = next(catalogue.select("SELECT session FROM note WHERE number = ?", (row.number,)))[
            0
        ]
        found[row.number] = str(named) or (min(row.events) if row.events else row.id)
    return found
