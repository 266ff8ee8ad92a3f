"""The watcher's loop: sleep until something may have changed, look what has, bring everything up to it, commit.

Events, timers and git's own files only say that it is time; the scan is the truth. No step that fails ends the loop or
keeps another one from its turn: it is told, and tried again later and later.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NamedTuple

from cortex import __version__
from cortex.core.model.caller import Caller, silent
from cortex.core.model.problem import CortexError
from cortex.index.refresh import Views, look, render, stamp_of
from cortex.operations.capture.collect_pending import due, gather, is_behind
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.layout import PENDING, SETTINGS
from cortex.vault.locate import Vault
from cortex.watcher.debounce import Trigger
from cortex.watcher.file_events import Blind, Hints
from cortex.watcher.watch_status import Standing

_TICK = 1.0  # seconds; so often git's files and the vault itself are looked at
_FULL = 30.0  # seconds after which a scan is due without any hint
_POLL, _POLL_SHARE = (
    2.0,
    20,
)  # seconds between scans where there are no events; a scan takes at most a twentieth of the time
_LOCK_PATIENCE = 5.0  # seconds that git may take for what it has begun
_ABSENCE = 3.0  # seconds that a vault may be away: somebody may be putting another one in its place
_OLDEST = 60.0  # seconds after which a change is committed though others keep coming
_MOST_BACKOFF = 60.0
_YOUNG_RETRY, _GATE_RETRY = 1.0, 10.0
_MOST_HELD = 20  # notes that are named

Say = Callable[[str], None]


class Trouble(NamedTuple):
    """A step that failed: how often in a row, and when it is tried again (monotonic seconds)."""

    times: int
    again: float
    message: str


class Loop:
    """One watcher at work."""

    def __init__(self, vault: Vault, caller: Caller, say: Say, *, quiet: float, poll: bool) -> None:
        self.vault = vault
        self.caller = caller._replace(progress=silent)
        self.say = say
        self.quiet = quiet
        self.since = caller.now
        self.why = (
            "asked for with --poll" if poll else ""
        )  # no events are used; empty while they are
        self.trigger = Trigger()
        self.hints = Hints(vault.root, self.trigger.hint, self._fault)
        self.fault = ""  # the last error that ended a thread
        self.ending = False
        self.answered = 0
        self.troubles: dict[str, Trouble] = {}
        self.held: tuple[str, ...] = ()
        self.notes = self.passes = 0
        self.last_pass = ""
        self._stamps = b""  # a digest of the notes' stamps at the last look
        self._healed: tuple[bytes, str] = (b"", "")  # notes and git as of the last heal
        self._git = self._left_lock = ""
        self._scanned = self._took = 0.0  # when the last pass ended and how long it took
        self._root = _identity(vault.root)
        self._missing_since = 0.0
        self._changed = self._first_change = 0.0  # monotonic; 0 when nothing waits to be committed
        self._commit_again = 0.0

    def run(self, stands: Callable[[], bool]) -> str:
        """Work until asked to end, or until there is nothing left to watch. `stands` says whether lock and socket are
        still there. Answers why it ended; empty when it was asked to."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end)
        self._begin()
        while not self.ending:
            self.trigger.wait(self._pause())
            if (gone := self._gone()) or not stands():
                self.hints.stop()
                return gone or "its lock or its socket was removed"
            if not self.ending and not self._missing_since and self._due():
                self._pass()
            if not self.ending and not self._missing_since and self._commit_due():
                self._step("commit", self._commit)
        self.hints.stop()
        if self._changed:
            self._step("commit", self._commit)
        return ""

    def end(self) -> None:
        """Finish the step under way, commit what is ready, and end. Callable from any thread and from a signal."""
        self.ending = True
        self.trigger.wake()

    def standing(self) -> Standing:
        """Called by other threads: every value is read once."""
        autocommit, waiting = self._commits()
        problems = [one.message for one in list(self.troubles.values())]
        return Standing(
            os.getpid(), __version__, self.since, "polling" if self.why else "events", self.why, self.last_pass, self.passes, self.notes,
            self.answered, autocommit, waiting, self.held, tuple([*problems, self.fault] if self.fault else problems),
        )  # fmt: skip

    def _begin(self) -> None:
        if not self.why:
            try:
                self.hints.start()
            except Blind as blind:
                self._poll_because(str(blind))
        self._git = self._git_stamps()
        self._note_change()
        self.trigger.hint()

    def _fault(self, message: str) -> None:
        self.fault = f"a thread ended: {message}"

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self.end()

    def _pause(self) -> float:
        """How long to sleep at the most."""
        now = time.monotonic()
        times = [_TICK]
        if (due := self.trigger.due()) is not None:
            times.append(due - now)
        if self._changed:
            times.append(self._commit_time() - now)
        return max(min(times), 0.02)

    def _due(self) -> bool:
        """Whether a pass is: after a hint and a little quiet, after git was at work, and after a while anyway."""
        now = time.monotonic()
        if (stamps := self._git_stamps()) != self._git:
            self._git, self._commit_again = stamps, 0.0
            self.trigger.hint()
            self._note_change()
        due = self.trigger.due()
        pause = max(_POLL, self._took * _POLL_SHARE) if self.why else _FULL
        again = any(one.again <= now for name, one in self.troubles.items() if name != "commit")
        return (due is not None and due <= now) or now - self._scanned > pause or again

    def _commit_time(self) -> float:
        trouble = self.troubles.get("commit")
        due = min(self._changed + self.quiet, self._first_change + _OLDEST)
        return max(due, self._commit_again, trouble.again if trouble else 0.0)

    def _commit_due(self) -> bool:
        return (
            bool(self._changed)
            and time.monotonic() >= self._commit_time()
            and self.trigger.due() is None
        )

    def _note_change(self) -> None:
        self._changed = time.monotonic()
        self._first_change = self._first_change or self._changed

    def _gone(self) -> str:
        """Why there is nothing left to watch; empty while there is. A vault in whose place another one was put is
        watched on as that one."""
        root = self.vault.root
        identity = _identity(root)
        if not identity or not os.path.isfile(os.path.join(root, SETTINGS)):
            now = time.monotonic()
            self._missing_since = self._missing_since or now
            if now - self._missing_since < _ABSENCE:
                return ""
            return (
                f"{root} is no vault any more: it has no {SETTINGS}"
                if identity
                else f"the vault {root} is gone"
            )
        if identity != self._root or (self._missing_since and not self.why):
            self.hints.renew()
            self.trigger.hint()
        if identity != self._root:
            self.say(f"another vault was put in the place of {root}: going on with that one")
        self._root, self._missing_since = identity, 0.0
        return ""

    def _git_stamps(self) -> str:
        """Stamps of what git changes whenever it moves HEAD or the work tree."""
        around = checkout.git_folder(self.vault.root)
        stamps = []
        for name in ("HEAD", "index", "logs/HEAD") if around else ():
            with suppress(OSError):  # a repository without commits has not all of them
                status = os.lstat(os.path.join(around[1] if around else "", name))
                stamps.append(f"{name} {status.st_mtime_ns} {status.st_size} {status.st_ino}")
        return "\n".join(stamps) + checkout.under_way(self.vault.root)

    def _pass(self) -> None:
        started = time.monotonic()
        self._await_git()
        self.trigger.take()
        if not self.why:
            try:
                self.hints.follow()
            except Blind as blind:
                self._poll_because(str(blind))
            except OSError:
                self.trigger.hint()  # the vault is being replaced
        self._step("drivers", self._register, needed=not checkout.has_drivers(self.vault.root))
        busy = checkout.under_way(self.vault.root)
        self._step("gather", self._gather, needed=due(self.vault))
        self._step(
            "normalize",
            self._normalize,
            needed=not busy and bool(files.notes_in(self.vault.root, PENDING)),
        )
        self._step("look", self._look)
        self._step(
            "heal",
            self._heal,
            needed=not busy and self._healed != (self._stamps, self._git_stamps()),
        )
        self.passes += 1
        self.last_pass = _now()
        self._scanned = time.monotonic()
        self._took = self._scanned - started

    def _await_git(self) -> None:
        """Wait while git writes its index: in the middle of a checkout there is nothing to be learnt. A lock that a
        killed git has left is waited for once."""
        around = checkout.git_folder(self.vault.root)
        deadline = time.monotonic() + _LOCK_PATIENCE
        while (
            around
            and not self.ending
            and (lock := stamp_of(os.path.join(around[1], "index.lock")))
            and lock != self._left_lock
        ):
            if time.monotonic() > deadline:
                self._left_lock = lock
            time.sleep(0.05)

    def _register(self) -> None:
        """A clone that took the place of the vault does not know our merge drivers yet."""
        from cortex.vault.git import drivers  # noqa: PLC0415  once for each clone

        drivers.register(self.vault.root)

    def _gather(self) -> None:
        problems = gather(self.vault, self._now())
        if problems:
            raise CortexError(problems[0].message)
        if is_behind(self.vault):
            self.trigger.hint()  # a long transcript is taken bit by bit

    def _normalize(self) -> None:
        from cortex.operations.capture.normalize import normalize  # noqa: PLC0415  25 ms, and most passes need none

        normalize(self.vault, self._now())

    def _look(self) -> None:
        def seen(now: Views) -> tuple[bytes, int]:
            rules = "".join(
                stamp_of(os.path.join(self.vault.root, name))
                for name in (SETTINGS, ".gitattributes")
            )
            return hashlib.blake2b(render(now.snapshot) + rules.encode()).digest(), len(
                now.snapshot.stamps
            )

        stamps, self.notes = look(self.vault, self.caller.progress, seen)
        if stamps != self._stamps:
            self._stamps = stamps
            self._note_change()

    def _heal(self) -> None:
        from cortex.operations.share.heal import heal  # noqa: PLC0415  as above

        before = (self._stamps, self._git_stamps())
        healed = heal(self.vault, self._now())
        self._healed = before
        if healed.written or healed.removed:
            self.trigger.hint()  # what was written is looked at like anybody's change, and so is what git did meanwhile

    def _commit(self) -> None:
        from cortex.operations.share.resolve_conflicts import recover  # noqa: PLC0415
        from cortex.vault.git import commit  # noqa: PLC0415  as above
        from cortex.watcher import autocommit  # noqa: PLC0415

        root = self.vault.root
        if not autocommit.wanted(root):
            self._changed = self._first_change = 0.0
            return
        if commit.gate(root):
            self._commit_again = time.monotonic() + _GATE_RETRY
            return
        recover(root)
        done = autocommit.sort(root, commit.changes(root), time.time())
        self.held = tuple(f"{one.where}: {one.message}" for one in done.held[:_MOST_HELD])
        if done.young and not self.ending and time.monotonic() < self._first_change + _OLDEST:
            self._commit_again = time.monotonic() + _YOUNG_RETRY
            return  # what belongs together is committed together
        kept = commit.keep(root, done.ready)
        self.held = (*self.held, *(f"{one.where}: {one.message}" for one in kept.problems))[
            :_MOST_HELD
        ]
        self._changed = self._first_change = time.monotonic() if done.young else 0.0

    def _commits(self) -> tuple[str, int]:
        """Whether commits are made, and how many changes wait for one."""
        from cortex.vault.git import commit  # noqa: PLC0415  as above
        from cortex.watcher import autocommit  # noqa: PLC0415

        try:
            if not autocommit.wanted(self.vault.root):
                return "off", 0
            return commit.gate(self.vault.root) or "on", len(commit.changes(self.vault.root))
        except (CortexError, OSError) as error:
            return str(error), 0

    def _step(self, name: str, action: Callable[[], None], *, needed: bool = True) -> None:
        """Do it, unless it failed a moment ago. The one place where any error at all is survived: the watcher's loop."""
        if not needed:
            self.troubles.pop(name, None)
            return
        trouble = self.troubles.get(name)
        if trouble and time.monotonic() < trouble.again and not self.ending:
            return
        try:
            action()
        except Exception as error:  # noqa: BLE001
            message = (
                "; ".join(filter(None, (error.message, error.hint)))
                if isinstance(error, CortexError)
                else f"{type(error).__name__}: {error}"
            )
            times = trouble.times + 1 if trouble else 1
            self.troubles[name] = Trouble(
                times, time.monotonic() + min(2.0**times, _MOST_BACKOFF), f"{name}: {message}"
            )
            if not trouble or trouble.message != self.troubles[name].message:
                self.say(f"{name} failed and will be tried again: {message}")
        else:
            if self.troubles.pop(name, None):
                self.say(f"{name} works again")

    def _poll_because(self, why: str) -> None:
        self.why = why
        self.hints.stop()
        self.say(f"no events: {why}. Looking for changes every {_POLL:g} seconds instead")

    def _now(self) -> Caller:
        return self.caller._replace(now=_now())


def _identity(root: str) -> tuple[int, int] | None:
    try:
        status = os.stat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
