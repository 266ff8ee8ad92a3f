"""Capture what hooks left behind: unread transcripts, and events for which there was no room."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import suppress

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError, NotFoundError, Problem
from cortex.hosts import has_transcripts
from cortex.vault import files
from cortex.vault.locate import Vault
from cortex.vault.state import hook_log, session_state as cursors, spool

# Parts of transcripts that one call takes; a part is half a megabyte.
_MAX_CHUNKS, _MAX_CHUNKS_IN_HOOK = 24, 4
_MAX_LINE_BYTES = 4_000_000  # of a transcript
_IDLE_SECONDS = 600  # without a change; then a transcript is checked no more
# The same while a turn goes on: read in its middle, a command is parted from how it ended.
_IDLE_SECONDS_IN_TURN = 120
_MTIME_TOLERANCE_SECONDS = 10  # within which a check and a change may be taken for one another


def has_spooled_work(vault: Vault, *, at_once: bool = False) -> bool:
    """True if hooks left anything, of which `at_once` what need not be waited for; False if the
    state folder cannot be read."""
    try:
        entries = spool.list_entries(vault)
    except (CortexError, OSError):
        return False
    return any(entries._replace(recent_sessions=()) if at_once else entries)


def drain_spool(vault: Vault, caller: Caller) -> list[Problem]:
    """Capture what hooks left behind, a dozen megabytes of transcripts at most; skip sessions that
    a hook has locked."""
    work = _SpoolDrain(vault, caller)
    entries = spool.list_entries(vault)
    problems = publish_unsent_events(vault, entries.unsent_events)
    for key in entries.unread_sessions:
        work.capture_session(key)
    for key in entries.recent_sessions:
        work.check_transcript(key)
    if entries.unread_sessions:
        cursors.evict_old(vault)
    # Without the folder nobody looks into it. It stays while something is left in it.
    with suppress(OSError):
        os.rmdir(spool.spool_folder(vault))
    return problems + work.problems


def publish_unsent_events(vault: Vault, ids: tuple[str, ...] | None = None) -> list[Problem]:
    """Put spooled events, by default all, into the inbox; a problem for each that finds no room."""
    problems: list[Problem] = []
    for id_ in spool.list_entries(vault).unsent_events if ids is None else ids:
        try:
            folder = spool.spool_folder(vault)
            data = files.read(folder, id_ + spool.UNSENT_SUFFIX)
            if not cursors.is_event_captured(vault, id_, elsewhere=False):
                files.create(vault.root, vault.layout().pending(id_), data)
            os.unlink(os.path.join(folder, id_ + spool.UNSENT_SUFFIX))
        except (NotFoundError, FileNotFoundError, FileExistsError):
            continue  # somebody else was at it
        except (CortexError, OSError) as error:
            message = f"an event that found no room has none yet: {error}"
            problems.append(Problem("hooks", message, "make room, then cortex normalize"))
    return problems


def capture_passed_over(vault: Vault, caller: Caller, paths: Collection[str]) -> int:
    """Capture, of these transcripts, the lines of other sessions that were passed over, as theirs;
    return how many events that made."""
    # As in `_SpoolDrain.capture_session`.
    from cortex.operations.capture import hook_capture  # noqa: PLC0415

    count = 0
    for known, other in list(cursors.passed_over(vault, "")):
        if known.transcript not in paths:
            continue
        key = cursors.session_key(known.host, other)
        # A hook that holds the session takes its lines itself.
        with suppress(ConflictError), cursors.lock_session(vault, key) as locked:
            theirs = hook_capture.refresh_cursor(locked.cursor, known._replace(session=other))
            locked.save(theirs._replace(offset=0, head="", floor=theirs.since))
            for _ in range(_MAX_CHUNKS):
                new = hook_capture.capture_next_chunk(vault, caller, locked, _MAX_LINE_BYTES)
                count += bool(new.content)
                if not new.cursor.behind:
                    break
    return count


class _SpoolDrain:
    """One call: how much it may read still, and what went wrong."""

    def __init__(self, vault: Vault, caller: Caller) -> None:
        self.vault, self.caller = vault, caller
        self.chunks_left = _MAX_CHUNKS_IN_HOOK if caller.source == "hook" else _MAX_CHUNKS
        self.problems: list[Problem] = []
        self.now = time.time()  # compared with times of files

    def capture_session(self, key: str) -> bool:
        """Capture what is new of a session; True if that was possible."""
        # A search imports this module, and hooks seldom leave anything.
        from cortex.operations.capture.hook_capture import capture_next_chunk  # noqa: PLC0415

        try:
            with cursors.lock_session(self.vault, key, wait=0.0) as locked:
                while self.chunks_left > 0:
                    self.chunks_left -= 1
                    new = capture_next_chunk(self.vault, self.caller, locked, _MAX_LINE_BYTES)
                    if new.skipped_lines:
                        self._log_skipped_lines(new.cursor.host, new.skipped_lines)
                    if not new.cursor.behind:
                        return True
        except ConflictError:
            return False
        except (CortexError, OSError, ValueError) as error:
            message = f"what a hook left behind was not captured: {error}"
            self.problems.append(Problem("hooks", message, "cortex doctor"))
        return False

    def check_transcript(self, key: str) -> None:
        """Capture what a transcript got after the last hook, as when a terminal was closed."""
        mark = spool.mark_path(self.vault, key, spool.RECENT_SUFFIX)
        try:
            checked = os.stat(mark).st_mtime
            known = cursors.load_cursor(self.vault, key)
            if not (known.transcript and has_transcripts(known.host)):
                spool.remove_mark(self.vault, key, spool.RECENT_SUFFIX)
                return
            size, idle = _size_and_idle_seconds(known.transcript, self.now)
            is_later = self.now - idle + _MTIME_TOLERANCE_SECONDS >= checked
            has_grown = size not in (0, known.offset) and is_later
            may_read = idle > _IDLE_SECONDS_IN_TURN or not known.busy
            if has_grown and may_read and not self.capture_session(key):
                return
            if (idle if size else self.now - checked) > _IDLE_SECONDS:
                spool.remove_mark(self.vault, key, spool.RECENT_SUFFIX)
            elif has_grown:
                os.utime(mark, (self.now, self.now))
        except (FileNotFoundError, NotFoundError):
            return  # somebody else was at it
        except (CortexError, OSError, ValueError) as error:
            message = f"a transcript was not looked at: {error}"
            self.problems.append(Problem("hooks", message, "cortex doctor"))

    def _log_skipped_lines(self, host: str, lines: int) -> None:
        size = f"{_MAX_LINE_BYTES // 1_000_000} MB"
        message = f"{lines} line of more than {size} in a transcript was left out"
        hint = "cortex capture keeps what mattered in it"
        event = hook_log.TRANSCRIPT_EVENT
        hook_log.append(self.vault, self.caller.now, host, event, 0, message, hint)


def _size_and_idle_seconds(path: str, now: float) -> tuple[int, float]:
    """The size of a transcript and the seconds since it changed; zeros when it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0.0
    return status.st_size, now - status.st_mtime
