"""Which sessions wait for their judgement (`operations/upkeep/judge.py`): those whose turns this user's
commands have normalized, each with the id of its last turn, behind an end with a `.`."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.event import PAUSE_SECONDS, time_of_id
from cortex.core.text.strings import parse_time
from cortex.core.text.value import Any
from cortex.vault.state.json_store import JsonStore

END = "."
_START_IDLE_SECONDS = 120  # instead of a pause when a hook asks, at the start of another session


def _parse(table: dict[str, Any]) -> dict[str, str]:
    return {name: str(last) for name, last in table.items() if parse_time(time_of_id(str(last)))}


WAITING = JsonStore("unjudged.json", _parse, dict[str, str](), most=4_000_000)


def list_due(waiting: dict[str, str], caller: Caller) -> list[str]:
    """The names of the sessions that have ended."""
    idle = _START_IDLE_SECONDS if caller.source == "hook" else PAUSE_SECONDS
    latest = (parse_time(caller.now) or 0) - idle
    return [
        name
        for name, last in waiting.items()
        if last.endswith(END) or (parse_time(time_of_id(last)) or 0) <= latest
    ]
