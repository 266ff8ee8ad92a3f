"""Which sessions are distilled without being asked for."""

from __future__ import annotations

from cortex.core.distill.prompt import SessionPart
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.token_count import count_tokens
from cortex.hosts import HOST_NAMES
from cortex.index.catalogue import NoteRow
from cortex.operations.find.live_sessions import last_event_time
from cortex.operations.find.resolve_session import read_note, session_name
from cortex.vault.locate import Vault
from cortex.vault.state import distill_log, session_state
from cortex.vault.user_settings import DistillSettings

_RECENT_SECONDS, _QUIET_SECONDS = 2 * 24 * 3600, 600
_MIN_TOKENS = 300  # of what a model is asked about by itself
_MAX_FAILURES = 2  # of one session in a day


def due_rows(vault: Vault, rows: list[NoteRow], now: str) -> list[NoteRow]:
    """The sessions of this machine that went on within two days and that have ended, or that were
    quiet for ten minutes."""
    found = []
    for row in rows:
        age = epoch_seconds(now) - epoch_seconds(last_event_time(row) or row.created)
        if age <= _RECENT_SECONDS and _is_of_this_machine(vault, session_name(row)):
            note = read_note(vault, row.path)
            if age >= _QUIET_SECONDS or (note and note.get("ended")):
                found.append(row)
    return found


def _is_of_this_machine(vault: Vault, session: str) -> bool:
    """Whether hooks or an import captured a session here: others' are for their own models."""
    keys = (session_state.session_key(host, session) for host in HOST_NAMES)
    return any(session_state.load_cursor(vault, key).session for key in keys)


def is_within_limits(settings: DistillSettings, part: SessionPart, row: NoteRow, now: str) -> bool:
    """Whether a part of a session may be asked about by itself: it says enough, and runs and costs
    of this day are within the limits."""
    today = [run for run in distill_log.read_runs() if run.at[:10] == now[:10] and run.auto]
    failures = sum(run.session == session_name(row) and bool(run.problem) for run in today)
    return (
        failures < _MAX_FAILURES
        and len(today) < settings.runs_per_day
        and sum(run.dollars for run in today) < settings.dollars_per_day
        and count_tokens(part.text) >= _MIN_TOKENS
    )
