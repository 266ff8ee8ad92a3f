"""What hooks left behind: transcripts with more than one hook may read or that grew after the last hook, events that found no
room, runs that were killed."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, CortexError, NotFound, Problem
from cortex.vault import files, layout
from cortex.vault.locate import Vault
from cortex.vault.state import session_state as cursors, spool

_ROUNDS, _ROUNDS_OF_A_HOOK = (
    24,
    4,
)  # parts of transcripts that one call takes; a part is half a megabyte
_LONGEST_LINE = 4_000_000  # bytes of a line of a transcript
_MOST_LOOKS = 50  # transcripts that one call looks at
_QUIET = 600  # seconds without a change after which a transcript is looked at no more
_AT_WORK = (
    120  # the same while a turn goes on: read in its middle, a command is parted from how it ended
)
_GRAIN = 10  # seconds within which a look and a change may be taken for one another


def due(vault: Vault) -> bool:
    """Whether there may be anything to do."""
    try:
        return any(spool.waiting(vault))
    except (CortexError, OSError):  # the state folder is not ours: told by others
        return False


def is_behind(vault: Vault) -> bool:
    """Whether there is more to do at once."""
    try:
        return bool(cursors.behind(vault))
    except (CortexError, OSError):  # as above
        return False


def gather(vault: Vault, caller: Caller) -> list[Problem]:
    """Capture what hooks have left. A session that a hook is at work on is that hook's. Of long transcripts each call takes
    a dozen megabytes."""
    work = _Work(vault, caller)
    found = spool.waiting(vault)
    problems = send(vault, found.unsent)
    for key in found.behind:
        work.session(key)
    for key in _least_seen_first(vault, found.recent)[:_MOST_LOOKS]:
        work.look(key)
    if found.behind:
        cursors.forget_old(vault)
    with suppress(
        OSError
    ):  # something waits still; while the folder is not there, nobody looks into it
        os.rmdir(spool.folder_of(vault.state()))
    return problems + work.problems


def send(vault: Vault, ids: tuple[str, ...] | None = None) -> list[Problem]:
    """Put the events that found no room where they belong, as far as there is room now."""
    problems: list[Problem] = []
    for id_ in spool.waiting(vault).unsent if ids is None else ids:
        try:
            _send(vault, id_)
        except (NotFound, FileNotFoundError, FileExistsError):
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


class _Work:
    """One call: how much it may read still, and what went wrong."""

    def __init__(self, vault: Vault, caller: Caller) -> None:
        self.vault, self.caller = vault, caller
        self.rounds = _ROUNDS_OF_A_HOOK if caller.source == "hook" else _ROUNDS
        self.problems: list[Problem] = []
        self.now = time.time()  # compared with times of files

    def session(self, key: str) -> bool:
        """Capture what is new of a session; whether that was possible."""
        from cortex.operations.capture.hook_capture import rest  # noqa: PLC0415  mostly nothing is behind

        try:
            with cursors.held(self.vault, key, wait=0.0) as held:
                while self.rounds > 0:
                    self.rounds -= 1
                    new = rest(self.vault, self.caller, held, _LONGEST_LINE)
                    if new.skipped:
                        self._say_skipped(new.cursor.host, new.skipped)
                    if not new.cursor.behind:
                        return True
        except Conflict:
            return False
        except (CortexError, OSError, ValueError) as error:
            self.problems.append(
                Problem(
                    "hooks", f"what a hook left behind was not captured: {error}", "cortex doctor"
                )
            )
        return False

    def look(self, key: str) -> None:
        """Capture what a transcript got after the last hook: hosts write it when it suits them, and terminals are closed."""
        state = self.vault.state()
        mark = spool.path_of(state, key, spool.RECENT)
        try:
            seen = os.stat(mark).st_mtime
            known = cursors.peek(self.vault, key)
            if not known.transcript or not _reads(known):
                spool.unmark(state, key, spool.RECENT)
                return
            size, quiet = _stands(known.transcript, self.now)
            grown = size not in (0, known.offset) and self.now - quiet + _GRAIN >= seen
            if grown and (quiet > _AT_WORK or not known.busy) and not self.session(key):
                return
            if (quiet if size else self.now - seen) > _QUIET:
                spool.unmark(state, key, spool.RECENT)
            elif grown:
                os.utime(mark, (self.now, self.now))
        except (FileNotFoundError, NotFound):
            return  # somebody else was at it
        except (CortexError, OSError, ValueError) as error:
            self.problems.append(
                Problem("hooks", f"a transcript was not looked at: {error}", "cortex doctor")
            )

    def _say_skipped(self, host: str, lines: int) -> None:
        from cortex.vault.state import hook_log  # noqa: PLC0415  hardly ever

        message = f"{lines} line of more than {_LONGEST_LINE // 1_000_000} MB in a transcript was left out"
        hook_log.note(
            self.vault,
            self.caller.now,
            host,
            hook_log.TRANSCRIPT,
            0,
            message,
            "cortex capture keeps what mattered in it",
        )


def _reads(known: cursors.Cursor) -> bool:
    from cortex.operations.capture.transcript_chunk import reads  # noqa: PLC0415  as above

    return reads(known.host, known.transcript)


def _stands(path: str, now: float) -> tuple[int, float]:
    """The size of a transcript and the seconds since it changed; zeros when it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0.0
    return status.st_size, now - status.st_mtime


def _least_seen_first(vault: Vault, keys: tuple[str, ...]) -> list[str]:
    """Those nobody has looked at for long come first, where there are more than one call looks at."""
    if len(keys) <= _MOST_LOOKS:
        return list(keys)
    state = vault.state()

    def seen(key: str) -> float:
        try:
            return os.stat(spool.path_of(state, key, spool.RECENT)).st_mtime
        except OSError:
            return 0.0

    return sorted(keys, key=seen)


def _send(vault: Vault, id_: str) -> None:
    folder = spool.folder_of(vault.state())
    data = files.read(folder, id_ + spool.UNSENT)
    if not cursors.there(vault, id_, elsewhere=False):
        files.publish(vault.root, layout.pending(id_), data)
    os.unlink(os.path.join(folder, id_ + spool.UNSENT))
