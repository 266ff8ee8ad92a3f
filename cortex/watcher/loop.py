"""The watcher's loop: sleep until something may have changed, then normalize, index, heal, commit.

Events, timers and git's own files only start a pass; the scan finds what has changed. A step that
fails is reported and retried with growing pauses; the loop and the other steps go on.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from cortex.core import __version__
from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import CortexError
from cortex.core.text.strings import blake2b_digest
from cortex.core.text.value import NamedTuple
from cortex.index.refresh import query_index
from cortex.index.semantic import count_embedded
from cortex.index.state_file import encode_stamps
from cortex.index.vectors.embedders import REMOTE_EMBEDDERS, choose_embedder
from cortex.index.vectors.vector_file import newest_vector_file
from cortex.operations.records.lifecycle import archive_by_itself
from cortex.operations.share.resolve_conflicts import recover_interrupted_merge
from cortex.operations.share.sync_checks import RemovalLimit
from cortex.operations.upkeep.bring_up_to_date import recover_left_runs
from cortex.operations.upkeep.detached import start_detached
from cortex.operations.upkeep.drain_spool import (
    drain_spool,
    has_spooled_work,
)
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import agent_settings, files, private, settings, trust
from cortex.vault.git import changes, checkout, commit, drivers
from cortex.vault.layout import SETTINGS_FILE
from cortex.vault.locate import Vault
from cortex.vault.runs import run_state
from cortex.vault.state.briefing_cache import file_stamp
from cortex.vault.state.change_marker import git_stamp
from cortex.watcher import autocommit
from cortex.watcher.file_events import Debouncer, EventsUnavailable, FileWatcher, QuietPeriod
from cortex.watcher.running_watcher import WatcherStatus
from cortex.watcher.scan_memory import ScanMemory, device_and_inode

_TICK_SECONDS = 1.0  # so often the vault and git's files are checked
_FULL_SCAN_SECONDS = 30.0  # after which a scan is due without any hint
# Seconds between scans where there are no events; a scan takes at most a twentieth of the time.
_POLL_SECONDS, _POLL_PAUSE_FACTOR = 2.0, 20
_GIT_LOCK_WAIT_SECONDS = 5.0
_MISSING_VAULT_SECONDS = 3.0  # that a vault may be away: somebody may be replacing it
_MAX_COMMIT_DELAY_SECONDS = 60.0  # after which a change is committed though others keep coming
_MAX_BACKOFF_SECONDS = 60.0
_RECENT_RETRY_SECONDS, _GATE_RETRY_SECONDS = 1.0, 10.0
_MAX_BLOCKED_SHOWN = 20  # notes that are named

PrintLine = Callable[[str], None]


class StepFailure(NamedTuple):
    """A step that failed: how often in a row, and when it is tried again (monotonic seconds)."""

    attempts: int
    retry_at: float
    message: str


class WatcherLoop:
    """One watcher at work."""

    def __init__(
        self, vault: Vault, caller: Caller, say: PrintLine, memory: ScanMemory, *, quiet: float, poll: bool
    ) -> None:  # fmt: skip
        self.vault = vault
        self.caller = caller._replace(progress=no_progress)
        self.say = say
        self.memory = memory
        self.quiet = quiet
        self.since = caller.now
        # Why no events are used; empty while they are.
        self.polling_reason = "asked for with --poll" if poll else ""
        self.debouncer = Debouncer()
        self.file_watcher = FileWatcher(vault.root, self.debouncer.notify, self._on_thread_fault)
        self.thread_fault = ""  # the last error that ended a thread
        self.is_ending = False
        self.answer_count = 0
        self.failures: dict[str, StepFailure] = {}
        self.blocked: tuple[str, ...] = ()
        self.note_count = self.pass_count = 0
        self.last_pass = ""
        self._stamps_digest = b""  # a digest of the notes' stamps at the last look
        self._embedded_digest = b""  # the same when passages were last embedded
        self._healed_state: tuple[bytes, str] = (b"", "")  # notes and git as of the last heal
        self._git_state = self._abandoned_lock = ""
        self._last_pass_end = self._pass_seconds = 0.0
        self._root_identity = device_and_inode(vault.root)
        self._missing_since = 0.0
        self._uncommitted = QuietPeriod(quiet, _MAX_COMMIT_DELAY_SECONDS)
        self._commit_retry_at = 0.0
        self._minute = 0  # of the clock, in which schedules were looked at: also after midnight
        self._ticked_at = ""  # UTC, when `cortex tick` was last started
        self._archived_on = ""  # the day on which faded records were last archived

    def run(self, has_lock_and_socket: Callable[[], bool]) -> str:
        """Work until asked to end, or until the vault, the lock or the socket is gone. Returns why
        it ended; an empty text if it was asked to."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self.end())
        self._start()
        while not self.is_ending:
            self.debouncer.wait(self._sleep_seconds())
            if (gone := self._check_vault_gone()) or not has_lock_and_socket():
                self.file_watcher.stop()
                return gone or "its lock or its socket was removed"
            if not self.is_ending and not self._missing_since and self._is_pass_due():
                self._run_pass()
            if not self.is_ending and not self._missing_since and self._is_commit_due():
                self._run_step("commit", self._commit)
            is_due = self._minute != int(time.time()) // 60 or "schedules" in self.failures
            if not self.is_ending and not self._missing_since and is_due:
                self._run_step("schedules", self._run_schedules)
        self.file_watcher.stop()
        if self._uncommitted.due_at() is not None:
            self._run_step("commit", self._commit)
        return ""

    def end(self) -> None:
        """Finish the current step, commit what is ready, and end. Callable from threads and
        signals."""
        self.is_ending = True
        self.debouncer.wake()

    def status(self) -> WatcherStatus:
        """The state of the watcher. Other threads call this, so every value is read once."""
        autocommit, waiting = self._commit_status()
        problems = [failure.message for failure in list(self.failures.values())]
        return WatcherStatus(
            pid=os.getpid(), version=__version__, since=self.since,
            how="polling" if self.polling_reason else "events", why=self.polling_reason,
            last_pass=self.last_pass, passes=self.pass_count, notes=self.note_count,
            answered=self.answer_count, scans_skipped=self.memory.skipped_count, autocommit=autocommit, waiting=waiting, held=self.blocked,
            problems=tuple(filter(None, (*problems, self.thread_fault))),
        )  # fmt: skip

    def _start(self) -> None:
        if not self.polling_reason:
            try:
                self.file_watcher.start()
            except EventsUnavailable as blind:
                self._switch_to_polling(str(blind))
        self._git_state = self._git_stamps()
        self._uncommitted.notify()
        self.debouncer.notify()

    def _on_thread_fault(self, message: str) -> None:
        self.thread_fault = f"a thread ended: {message}"

    def _sleep_seconds(self) -> float:
        """How long to sleep at the most."""
        now = time.monotonic()
        due = (self.debouncer.due_at(), self._commit_time())
        return max(min([_TICK_SECONDS, *(at - now for at in due if at is not None)]), 0.02)

    def _is_pass_due(self) -> bool:
        """True after a hint and some quiet, after git changed something, and at intervals."""
        now = time.monotonic()
        if (stamps := self._git_stamps()) != self._git_state:
            self._git_state, self._commit_retry_at = stamps, 0.0
            self.debouncer.notify()
            self._uncommitted.notify()
        due = self.debouncer.due_at()
        pause = _FULL_SCAN_SECONDS
        if self.polling_reason:
            pause = max(_POLL_SECONDS, self._pass_seconds * _POLL_PAUSE_FACTOR)
        again = any(one.retry_at <= now for name, one in self.failures.items() if name != "commit")
        return (due is not None and due <= now) or now - self._last_pass_end > pause or again

    def _commit_time(self) -> float | None:
        """When to commit; None when nothing waits for it."""
        if (due := self._uncommitted.due_at()) is None:
            return None
        trouble = self.failures.get("commit")
        return max(due, self._commit_retry_at, trouble.retry_at if trouble else 0.0)

    def _is_commit_due(self) -> bool:
        due = self._commit_time()
        return due is not None and time.monotonic() >= due and self.debouncer.due_at() is None

    def _check_vault_gone(self) -> str:
        """Why nothing is left to watch; else empty. A vault that was replaced is watched on."""
        root = self.vault.root
        identity = device_and_inode(root)
        if not identity or not os.path.isfile(os.path.join(root, SETTINGS_FILE)):
            now = time.monotonic()
            self._missing_since = self._missing_since or now
            if now - self._missing_since < _MISSING_VAULT_SECONDS:
                return ""
            gone = f"{root} is no vault any more: it has no {SETTINGS_FILE}"
            return gone if identity else f"the vault {root} is gone"
        if identity != self._root_identity or (self._missing_since and not self.polling_reason):
            self.file_watcher.discard_watches()
            self.debouncer.notify()
        if identity != self._root_identity:
            self.say(f"another vault was put in the place of {root}: going on with that one")
        self._root_identity, self._missing_since = identity, 0.0
        return ""

    def _git_stamps(self) -> str:
        """What git changes whenever it moves HEAD or the work tree."""
        return git_stamp(self.vault) + checkout.operation_in_progress(self.vault.root)

    def _run_pass(self) -> None:
        started = time.monotonic()
        self._await_git()
        self.debouncer.clear()
        if not self.polling_reason:
            try:
                self.file_watcher.update_watches()
            except EventsUnavailable as blind:
                self._switch_to_polling(str(blind))
            except OSError:
                self.debouncer.notify()  # the vault is being replaced
        # A clone that took the place of the vault does not know our merge drivers yet.
        unregistered = not checkout.has_merge_drivers(self.vault.root)
        self._run_step("drivers", self._register_drivers, needed=unregistered)
        busy = checkout.operation_in_progress(self.vault.root)
        self._run_step("runs", self._recover_runs)
        self._run_step("gather", self._drain_spool, needed=has_spooled_work(self.vault))
        pending = not busy and bool(
            files.list_notes(self.vault.root, self.vault.layout().pending())
        )
        caller = self._current_caller()
        self._run_step("normalize", lambda: normalize(self.vault, caller), needed=pending)
        self._run_step("look", self._refresh_index)
        self._run_step("embed", self._embed, needed=self._embedded_digest != self._stamps_digest)
        self._run_step("archive", self._archive_faded, needed=not busy)
        stale = self._healed_state != (self._stamps_digest, self._git_stamps())
        self._run_step("heal", self._heal, needed=not busy and stale)
        self.pass_count += 1
        self.last_pass = _utc_now()
        self._last_pass_end = time.monotonic()
        self._pass_seconds = self._last_pass_end - started

    def _register_drivers(self) -> None:
        settings.check_writable(self.vault.root)
        drivers.register(self.vault.root)

    def _await_git(self) -> None:
        """Wait while git writes its index. A lock that a killed git left is waited for once."""
        around = checkout.find_repository(self.vault.root)
        deadline = time.monotonic() + _GIT_LOCK_WAIT_SECONDS
        while (
            around
            and not self.is_ending
            and (lock := file_stamp(os.path.join(around[1], "index.lock")))
            and lock != self._abandoned_lock
        ):
            if time.monotonic() > deadline:
                self._abandoned_lock = lock
            time.sleep(0.05)

    def _run_schedules(self) -> None:
        """Start `cortex tick`, where schedules run, unless one runs. Raises how the last one failed."""
        self._minute = int(time.time()) // 60
        if not (agent_settings.load_agents()[0].schedules and trust.list_agents(self.vault)):
            return
        at, fault = run_state.TICK.read(self.vault)
        if not private.is_locked(os.path.join(run_state.folder(self.vault), run_state.TICK_LOCK)):
            fault = fault or "the last one did not come to its end" * (at < self._ticked_at)
            self._ticked_at = _utc_now()
            start_detached(self.vault, "tick")
        if fault:
            raise CortexError(f"cortex tick: {fault}")

    def _recover_runs(self) -> None:
        for problem in recover_left_runs(self.vault, self._current_caller()):
            raise CortexError(f"{problem.where}: {problem.message}")

    def _drain_spool(self) -> None:
        problems = drain_spool(self.vault, self._current_caller())
        if problems:
            raise CortexError(problems[0].message)
        if has_spooled_work(self.vault, at_once=True):
            self.debouncer.notify()  # a long transcript is taken bit by bit

    def _refresh_index(self) -> None:
        self.memory.forget()  # not everything that changes a file makes an event
        snapshot = query_index(
            self.vault, self.caller.progress, lambda index: index.snapshot, words=True
        )
        rule_files = SETTINGS_FILE, ".gitattributes"
        rules = "".join(file_stamp(os.path.join(self.vault.root, name)) for name in rule_files)
        digest = blake2b_digest(encode_stamps(snapshot) + rules.encode(), 16)
        self.note_count = len(snapshot.stamps)
        if digest != self._stamps_digest:
            self._stamps_digest = digest
            self._uncommitted.notify()

    def _embed(self) -> None:
        """Where there are vectors and a model on this machine, embed what is new in another
        process: a model takes memory, and its time."""
        self._embedded_digest = self._stamps_digest
        if newest_vector_file(self.vault.cache_folder()) is None:
            return
        if choose_embedder(self.vault.root)[0].embedder in ("", "off", *REMOTE_EMBEDDERS):
            return
        progress = self.caller.progress
        counted = query_index(self.vault, progress, lambda index: count_embedded(index.catalogue))
        if counted and counted[0] < counted[1]:
            start_detached(self.vault, "embed")

    def _archive_faded(self) -> None:
        """Once a day, where the settings ask for it."""
        today = _utc_now()[:10]
        if self._archived_on != today:
            archive_by_itself(self.vault, self._current_caller())
            self._archived_on = today

    def _heal(self) -> None:
        before = (self._stamps_digest, self._git_stamps())
        healed = heal(self.vault, self._current_caller())
        self._healed_state = before
        if healed.written or healed.removed:
            self.debouncer.notify()  # the next pass scans what was written

    def _commit(self) -> None:
        root = self.vault.root
        if not commit.is_automatic(root):
            self._uncommitted.clear()
            return
        if commit.why_blocked(root):
            self._commit_retry_at = time.monotonic() + _GATE_RETRY_SECONDS
            return
        recover_interrupted_merge(root)
        ready, recent = autocommit.classify_changes(root, changes.list_changes(root), time.time())
        if recent and not self.is_ending and time.monotonic() < self._uncommitted.latest:
            self._commit_retry_at = time.monotonic() + _RECENT_RETRY_SECONDS
            return  # what belongs together is committed together
        RemovalLimit(root, is_lifted=False, has_own_notes=False).check_changes(ready)
        kept = commit.commit_changes(root, ready)
        blocked = (*kept.problems, *kept.withheld, *kept.refused)[:_MAX_BLOCKED_SHOWN]
        self.blocked = tuple(f"{one.where}: {one.message}" for one in blocked)
        self._uncommitted.clear()
        if recent:
            self._uncommitted.notify()

    def _commit_status(self) -> tuple[str, int]:
        """Whether commits are made, and how many changes wait for one."""
        try:
            if not commit.is_automatic(self.vault.root):
                return "off", 0
            waiting = len(changes.list_changes(self.vault.root))
            return commit.why_blocked(self.vault.root) or "on", waiting
        except (CortexError, OSError) as error:
            return str(error), 0

    def _run_step(self, name: str, action: Callable[[], object], *, needed: bool = True) -> None:
        """Run a step unless it failed a moment ago. No error ends the loop."""
        if not needed:
            self.failures.pop(name, None)
            return
        trouble = self.failures.get(name)
        if trouble and time.monotonic() < trouble.retry_at and not self.is_ending:
            return
        try:
            action()
        except Exception as error:  # noqa: BLE001
            message = f"{type(error).__name__}: {error}"
            if isinstance(error, CortexError):
                message = "; ".join(filter(None, (error.message, error.hint)))
            attempts = trouble.attempts + 1 if trouble else 1
            retry_at = time.monotonic() + min(2.0**attempts, _MAX_BACKOFF_SECONDS)
            self.failures[name] = StepFailure(attempts, retry_at, f"{name}: {message}")
            if not trouble or trouble.message != self.failures[name].message:
                self.say(f"{name} failed and will be tried again: {message}")
        else:
            if self.failures.pop(name, None):
                self.say(f"{name} works again")

    def _switch_to_polling(self, why: str) -> None:
        self.polling_reason = why
        self.file_watcher.stop()
        self.say(f"no events: {why}. Looking for changes every {_POLL_SECONDS:g} seconds instead")

    def _current_caller(self) -> Caller:
        return self.caller._replace(now=_utc_now())


def _utc_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
