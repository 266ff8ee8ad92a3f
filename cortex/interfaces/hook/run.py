"""One hook: read what the host tells, keep what is new, hand over what it may know. Never blocks,
never fails."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # enumerations of `signal` cost 1 ms
import os
import time

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    Problem,
)
from cortex.core.text.light import suppress
from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts import HOST_NAMES, load_host
from cortex.hosts.host import EVENTS, PROMPT, SESSION_END, SESSION_START
from cortex.interfaces.hook import payloads
from cortex.operations.capture import hook_capture, hooks_enabled
from cortex.operations.capture.workspace import find_workspace
from cortex.vault import zones
from cortex.vault.locate import Vault
from cortex.vault.state import hook_log, spool

if TYPE_CHECKING:
    from types import FrameType

GUARD_VARIABLE = "CORTEX_HOOK"  # set while a hook runs: what it starts must not call hooks again
_TIMEOUT_SECONDS_BY_EVENT = {SESSION_START: 8.0, PROMPT: 4.0, SESSION_END: 1.2}  # for everything
_TIMEOUT_SECONDS = 5.0
_GRACE_SECONDS = 0.3  # seconds after the limit, to say so
_READ_SHARE = 0.4  # of the limit, for a host that does not close its end
_LOCK_WAIT_SHARE = 0.5  # for another hook of the session
NO_PROBLEM = Problem("", "")
HELP_TEXT = f"""usage: cortex hook EVENT --host HOST

What an agent's host calls on an event of a session; cortex hooks install HOST wires it. It reads the host's JSON from
standard input, captures what is new of the session, and prints what the host hands on to the agent, which is nothing for
most events. It always ends with 0 and never keeps the agent waiting for long.

  EVENT  {", ".join(EVENTS)}; the host's own names are understood too
  --host HOST  {", ".join(HOST_NAMES)}

cortex stop, precompact, session-start and user-prompt-submit are the hooks of these names, of Claude Code unless --host names another.

It does nothing where there is no vault, with CORTEX_OFF=1, in and below a folder with a file .cortex-off, and with
enabled = false below [hooks] in cortex.toml.

Example: echo '{{"session_id": "s1", "cwd": "'$PWD'", "last_assistant_message": "Decision: use SQLite."}}' | cortex hook stop --host claude
"""


class _HookTimeout(BaseException):
    """The time is over. Not an error that anything below may survive."""


def run(words: list[str]) -> None:
    """The hook that these words ask for."""
    started = time.monotonic()
    if not words or {"--help", "-h"} & set(words) or os.isatty(0):
        _write(1, HELP_TEXT.encode())
        return
    host, event = _parse_arguments(words)
    if not host:
        return
    hook = _RunningHook(host, event)
    if not event:
        _write(1, hook.answer)
        return
    unsaid = [hook.answer]  # what is still to be written should the time run out
    _start_timeout(hook.limit, unsaid)
    try:
        data = payloads.read_bounded(0, hook.limit * _READ_SHARE)
        if not os.environ.get(GUARD_VARIABLE):
            os.environ[GUARD_VARIABLE] = "1"
            hook.handle(payloads.parse_payload(host, event, payloads.parse_json(data)))
    except _HookTimeout:
        hook.add_problem(Problem("hooks", f"was ended after {hook.limit:g} seconds"))
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the agent goes on
        hook.add_problem(_problem_of(error))
    unsaid.clear()
    _write(1, hook.answer)
    hook.log(round((time.monotonic() - started) * 1000))


class _RunningHook:
    """One hook: the vault that it is about, what the host is to read, and what went wrong first."""

    def __init__(self, host: str, event: str) -> None:
        self.host = host
        self.event = event
        self.limit = _TIMEOUT_SECONDS_BY_EVENT.get(event, _TIMEOUT_SECONDS)
        self.vault: Vault | None = None
        self.answer = payloads.render_answer(host, event, "")
        self.problem = NO_PROBLEM

    def add_problem(self, problem: Problem) -> None:
        self.problem = self.problem if self.problem.message else problem

    def handle(self, payload: hook_capture.HookEvent) -> None:
        """Capture what is new, and answer where the host takes an answer."""
        vault, place = find_workspace(
            payload.host, payload.session, payload.transcript, payload.cwd, os.environ
        )
        folders = {place.home, place.cwd, payload.cwd if os.path.isdir(payload.cwd) else place.cwd}
        if any(hooks_enabled.is_switched_off(os.environ, folder) for folder in folders):
            return
        if vault is None or not hooks_enabled.read_settings(vault).enabled:
            return
        self.vault = vault
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        caller = Caller(place.cwd, now, os.urandom, "hook", no_progress, zone=zones.local())
        try:
            self.add_problem(_drain_spool(vault, caller, payload))
            hook_capture.capture_hook_event(
                vault, caller, payload, place, self.limit * _LOCK_WAIT_SHARE
            )
        except (CortexError, OSError) as error:
            self.problem = _problem_of(error)
        if not load_host(payload.host).takes_context(payload.name):
            return
        try:
            # Most events are given nothing.
            from cortex.interfaces.hook.injected_context import context_for_agent  # noqa: PLC0415

            text = context_for_agent(vault, caller, payload, place)
            self.answer = payloads.render_answer(payload.host, payload.name, text)
        except InvalidInputError:
            self.add_problem(Problem("hooks", "what the host told cannot be answered"))
        except Exception as error:  # noqa: BLE001  the capture counts
            self.add_problem(_problem_of(error))

    def log(self, milliseconds: int) -> None:
        """Into the log; where that cannot be written, a problem goes to standard error."""
        problem = self.problem
        if self.vault is None:
            if problem.message:
                _print_error(problem.message)
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        words = problem.message, problem.hint
        try:
            hook_log.append(self.vault, now, self.host, self.event, milliseconds, *words)
        except (OSError, CortexError) as error:
            _print_error(problem.message or f"the log of the hooks: {_problem_of(error).message}")


def _drain_spool(vault: Vault, caller: Caller, payload: hook_capture.HookEvent) -> Problem:
    """What earlier hooks left: all of it at a session's start, else what found no room."""
    try:
        waiting = spool.list_entries(vault)
    except (CortexError, OSError):  # said when this hook needs the folder itself
        return NO_PROBLEM
    if not (any(waiting) if payload.name == SESSION_START else waiting.unsent_events):
        return NO_PROBLEM
    from cortex.operations.upkeep import drain_spool  # noqa: PLC0415  mostly nothing waits

    # As long as there is no room, `hook_log.problems` says so.
    drain_spool.publish_unsent_events(vault, waiting.unsent_events)
    problems = drain_spool.drain_spool(vault, caller) if payload.name == SESSION_START else []
    return problems[0] if problems else NO_PROBLEM


def _parse_arguments(words: list[str]) -> tuple[str, str]:
    """The host and our word for its event; what there is not is empty, and said."""
    host = event = ""
    rest = iter(words)
    for word in rest:
        if word == "--host":
            host = next(rest, "")
        elif word.startswith("--host="):
            host = word.removeprefix("--host=")
        elif not word.startswith("-"):
            event = event or word
    if host not in HOST_NAMES:
        _print_error(f"no host {host[:40]!r}: give --host {'|'.join(HOST_NAMES)}")
        return "", ""
    if not (word := payloads.canonical_event(host, event)):
        _print_error(f"no event {event[:40]!r}: {', '.join(EVENTS)}")
    return host, word


def _start_timeout(seconds: float, unsaid: list[bytes]) -> None:
    """Raise `_HookTimeout` then, and a moment later end the process however things are."""
    over = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal over
        if over:
            _write(1, b"".join(unsaid))
            os._exit(0)
        over = True
        signal.setitimer(signal.ITIMER_REAL, _GRACE_SECONDS)
        raise _HookTimeout

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _problem_of(error: BaseException) -> Problem:
    """What went wrong, without a word of what the host told: our own errors speak of it nowhere but
    where a prompt is answered."""
    if isinstance(error, ConflictError):
        return Problem("hooks", "another hook of the session was at work")
    if isinstance(error, CortexError):
        return Problem("hooks", error.message, error.hint)
    reason = (error.strerror if isinstance(error, OSError) else "") or type(error).__name__
    return Problem("hooks", reason)


def _print_error(line: str) -> None:
    printable = "".join(sign if sign.isprintable() else "?" for sign in line)
    _write(2, f"cortex hook: {printable}\n".encode("utf-8", "backslashreplace"))


def _write(fd: int, data: bytes) -> None:
    with suppress(OSError):  # the host has gone
        while data:
            data = data[os.write(fd, data) :]
