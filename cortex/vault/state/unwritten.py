"""Which sessions of this machine have ended and no model has written up: what the agent of the next session
is asked for where `[distill] by = "agent"`. Hooks read it, so it needs the standard library alone.

Who writes at the same time as another may lose an entry: then a session is asked for later, or never.
"""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.text.days import clock
from cortex.core.text.strings import parse_time
from cortex.core.text.value import Any, NamedTuple
from cortex.vault.locate import Vault
from cortex.vault.state.json_store import JsonStore

_MAX_AGE_SECONDS = 2 * 24 * 3600
_MAX_SESSIONS = 50  # the latest


class UnwrittenSession(NamedTuple):
    """A session that waits."""

    project: str
    last: str  # when its last turn was
    asked: str = ""  # the day on which an agent was last asked for it


def _parse(table: dict[str, Any]) -> dict[str, UnwrittenSession]:
    read = {name: UnwrittenSession(*map(str, fields)) for name, fields in table.items()}
    return {name: one for name, one in read.items() if parse_time(one.last)}


_STORE = JsonStore("unwritten.json", _parse, dict[str, UnwrittenSession](), most=100_000)


def add(vault: Vault, session: str, project: str, last: str) -> None:
    """Have a session asked for whose last turn was then. Raises `OSError`, `CortexError`."""
    waiting = {**_STORE.read(vault), session: UnwrittenSession(project, last)}
    kept = sorted(waiting, key=lambda name: waiting[name].last)[-_MAX_SESSIONS:]
    _STORE.write(vault, {name: waiting[name] for name in kept})


def forget(vault: Vault, session: str) -> None:
    """Ask for a session no more: it is written up."""
    waiting = dict(_STORE.read(vault))
    if waiting.pop(session, None):
        _STORE.write(vault, waiting)


def next_to_ask(vault: Vault, caller: Caller, project: str, but: str) -> tuple[str, str] | None:
    """The latest session of a project within two days that nobody was asked for today, not `but`, and its
    day. None for none."""
    now, today = parse_time(caller.now) or 0, caller.today
    due = [
        (one.last, name)
        for name, one in _STORE.read(vault).items()
        if one.project == project and name != but and one.asked != today
        and now - (parse_time(one.last) or 0) <= _MAX_AGE_SECONDS
    ]  # fmt: skip
    last, name = max(due, default=("", ""))
    return (name, clock(last, caller.zone)[:10]) if name else None


def mark_asked(vault: Vault, caller: Caller, session: str) -> None:
    """Note that an agent was asked for a session today. Raises `OSError`, `CortexError`."""
    waiting = dict(_STORE.read(vault))
    if one := waiting.get(session):
        _STORE.write(vault, {**waiting, session: one._replace(asked=caller.today)})
