"""What hooks left behind: transcripts with more than one hook may read or that grew after the last hook, events that found no
room, runs that were killed."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError, NotFoundError, Problem
from cortex.vault import files, layout
from cortex.vault.locate import Vault
from cortex.vault.state import session_state as cursors, spool

_MAX_CHUNKS, _MAX_CHUNKS_IN_HOOK = (
    24,
    4,
)  # parts of transcripts that one call takes; a part is half a megabyte
_MAX_LINE_BYTES = 4_000_000  # bytes of a line of a transcript
_MAX_TRANSCRIPTS_CHECKED = 50  # transcripts that one call looks at
_IDLE_SECONDS = 600  # seconds without a change after which a transcript is looked at no more
_IDLE_SECONDS_IN_TURN = (
    120  # the same while a turn goes on: read in its middle, a command is parted from how it ended
)
_MTIME_TOLERANCE_SECONDS = (
    10  # seconds within which a look and a change may be taken for one another
)


def has_spooled_work(vault: Vault) -> bool:
    """Whether there may be anything to do."""
    try:
        return any(spool.list_entries(vault))
    except (CortexError, OSError):  # the state folder is not ours: told by others
        return False


def has_unread_transcripts(vault: Vault) -> bool:
    """Whether there is more to do at once."""
    try:
        entries = spool.list_entries(vault)
        return bool(entries.unread_sessions or entries.unsent_events)
    except (CortexError, OSError):  # as above
        return False


def drain_spool(vault: Vault, caller: Caller) -> list[Problem]:
    """Capture what hooks have left. A session that a hook is at work on is that hook's. Of long transcripts each call takes
    a dozen megabytes."""
    work = _SpoolDrain(vault, caller)
    found = spool.list_entries(vault)
    problems = publish_unsent_events(vault, found.unsent_events)
    for key in found.unread_sessions:
        work.capture_session(key)
    for key in _longest_unchecked_first(vault, found.recent_sessions)[:_MAX_TRANSCRIPTS_CHECKED]:
        work.check_transcript(key)
    if found.unread_sessions:
        cursors.evict_old(vault)
    with suppress(
        OSError
    ):  # something waits still; while the folder is not there, nobody looks into it
        os.rmdir(spool.spool_folder(vault))
    return problems + work.problems


def publish_unsent_events(vault: Vault, ids: tuple[str, ...] | None = None) -> list[Problem]:
    """Put the events that found no room where they belong, as far as there is room now."""
    problems: list[Problem] = []
    for id_ in spool.list_entries(vault).unsent_events if ids is None else ids:
        try:
            _publish_unsent_event(vault, id_)
        except (NotFoundError, FileNotFoundError, FileExistsError):
            continue  # somebody else was at it
        except (CortexError, OSError) as error:
            problems.append(
                Problem(
                    "hooks",
                    f"an event that found no room has none yet: {error}",
                    "make room, then cortex normalize",
                )
            )
    return problems


class _SpoolDrain:
    """One call: how much it may read still, and what went wrong."""

    def __init__(self, vault: Vault, caller: Caller) -> None:
        self.vault, self.caller = vault, caller
        self.chunks_left = _MAX_CHUNKS_IN_HOOK if caller.source == "hook" else _MAX_CHUNKS
        self.problems: list[Problem] = []
        self.now = time.time()  # compared with times of files

    def capture_session(self, key: str) -> bool:
        """Capture what is new of a session; whether that was possible."""
        from cortex.operations.capture.hook_capture import capture_next_chunk  # noqa: PLC0415  mostly nothing is behind

        try:
            with cursors.lock_session(self.vault, key, wait=0.0) as held:
                while self.chunks_left > 0:
                    self.chunks_left -= 1
                    new = capture_next_chunk(self.vault, self.caller, held, _MAX_LINE_BYTES)
                    if new.skipped_lines:
                        self._log_skipped_lines(new.cursor.host, new.skipped_lines)
                    if not new.cursor.behind:
                        return True
        except ConflictError:
            return False
        except (CortexError, OSError, ValueError) as error:
            self.problems.append(
                Problem(
                    "hooks", f"what a hook left behind was not captured: {error}", "cortex doctor"
                )
            )
        return False

    def check_transcript(self, key: str) -> None:
        """Capture what a transcript got after the last hook: hosts write it when it suits them, and terminals are closed."""
        mark = spool.mark_path(self.vault, key, spool.RECENT_SUFFIX)
        try:
            seen = os.stat(mark).st_mtime
            known = cursors.load_cursor(self.vault, key)
            if not known.transcript or not _has_readable_transcript(known):
                spool.remove_mark(self.vault, key, spool.RECENT_SUFFIX)
                return
            size, quiet = _size_and_idle_seconds(known.transcript, self.now)
            grown = (
                size not in (0, known.offset)
                and self.now - quiet + _MTIME_TOLERANCE_SECONDS >= seen
            )
            if (
                grown
                and (quiet > _IDLE_SECONDS_IN_TURN or not known.busy)
                and not self.capture_session(key)
            ):
                return
            if (quiet if size else self.now - seen) > _IDLE_SECONDS:
                spool.remove_mark(self.vault, key, spool.RECENT_SUFFIX)
            elif grown:
                os.utime(mark, (self.now, self.now))
        except (FileNotFoundError, NotFoundError):
            return  # somebody else was at it
        except (CortexError, OSError, ValueError) as error:
            self.problems.append(
                Problem("hooks", f"a transcript was not looked at: {error}", "cortex doctor")
            )

    def _log_skipped_lines(self, host: str, lines: int) -> None:
        from cortex.vault.state import hook_log  # noqa: PLC0415  hardly ever

        message = f"{lines} line of more than {_MAX_LINE_BYTES // 1_000_000} MB in a transcript was left out"
        hook_log.append(
            self.vault,
            self.caller.now,
            host,
            hook_log.TRANSCRIPT_EVENT,
            0,
            message,
            "cortex capture keeps what mattered in it",
        )


def _has_readable_transcript(known: cursors.SessionCursor) -> bool:
    from cortex.operations.capture.transcript_chunk import is_readable_transcript  # noqa: PLC0415  as above

    return is_readable_transcript(known.host, known.transcript)


def _size_and_idle_seconds(path: str, now: float) -> tuple[int, float]:
    """The size of a transcript and the seconds since it changed; zeros when it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0.0
    return status.st_size, now - status.st_mtime


def _longest_unchecked_first(vault: Vault, keys: tuple[str, ...]) -> list[str]:
    """Those nobody has looked at for long come first, where there are more than one call looks at."""
    if len(keys) <= _MAX_TRANSCRIPTS_CHECKED:
        return list(keys)

    def seen(key: str) -> float:
        try:
            return os.stat(spool.mark_path(vault, key, spool.RECENT_SUFFIX)).st_mtime
        except OSError:
            return 0.0

    return sorted(keys, key=seen)


def _publish_unsent_event(vault: Vault, id_: str) -> None:
    folder = spool.spool_folder(vault)
    data = files.read(folder, id_ + spool.UNSENT_SUFFIX)
    if not cursors.is_event_captured(vault, id_, elsewhere=False):
        files.create(vault.root, layout.pending_path(id_), data)
    os.unlink(os.path.join(folder, id_ + spool.UNSENT_SUFFIX))
