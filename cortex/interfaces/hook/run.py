"""One hook: read what the host tells, keep what is new, hand over what it may know. Never blocks, never fails."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from types import FrameType

from cortex.core.model.caller import Caller, silent
from cortex.core.model.problem import Conflict, CortexError, Invalid, NotFound, Problem
from cortex.interfaces.hook import payloads, read_stdin
from cortex.interfaces.hook.payloads import DIALECTS, PROMPT, SESSION_END, SESSION_START
from cortex.operations.capture import hooks_enabled
from cortex.operations.capture.hook_capture import Place, Told, observe, place_of
from cortex.vault.locate import Vault, find_vault
from cortex.vault.state import hook_log, spool

GUARD = "CORTEX_HOOK"  # set while a hook runs: what it starts must not call hooks again
_LIMITS = {SESSION_START: 8.0, PROMPT: 4.0, SESSION_END: 1.2}  # seconds for everything
_LIMIT = 5.0
_LAST_WORD = 0.3  # seconds after the limit, to say so
_SHARE_OF_READING = 0.4  # of the limit, for a host that does not close its end
_SHARE_OF_WAITING = 0.5  # for another hook of the session
NONE = Problem("", "")


class _Overtime(BaseException):
    """The time is over. Not an error that anything below may survive."""


def run(words: list[str]) -> None:
    """The hook that these words ask for."""
    started = time.monotonic()
    if not words or {"--help", "-h"} & set(words):
        from cortex.interfaces.hook.help import ABOUT  # noqa: PLC0415  for people

        _write(1, ABOUT.encode())
        return
    host, event = _asked(words)
    if not host:
        return
    nothing = payloads.answer(host, event, "")
    if not event:
        _write(1, nothing)
        return
    limit = _LIMITS.get(event, _LIMIT)
    unsaid = [nothing]  # what is still to be written should the time run out
    _end_within(limit, unsaid)
    answered, problem, vault = nothing, NONE, None
    try:
        data = read_stdin.read(0, limit * _SHARE_OF_READING)
        if not os.environ.get(GUARD):
            os.environ[GUARD] = "1"
            told = payloads.told(host, event, read_stdin.parsed(data))
            vault, answered, problem = _answer(told, limit)
    except _Overtime:
        problem = _overtime(limit)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  whatever it is, the agent goes on
        problem = _named(error)
    unsaid.clear()
    _write(1, answered)
    _tell(vault, host, event, started, problem)


def _answer(told: Told, limit: float) -> tuple[Vault | None, bytes, Problem]:
    """The vault that it is about, what the host is to read, and what went wrong."""
    nothing = payloads.answer(told.host, told.event, "")
    place = place_of(told.cwd, os.environ)
    vault = _vault_at(place)
    if vault is None:
        return None, nothing, NONE
    caller = Caller(
        place.cwd, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.urandom, "hook", silent
    )
    try:
        problem = _left(vault, caller, told)
        observe(vault, caller, told, place, limit * _SHARE_OF_WAITING)
    except (CortexError, OSError) as error:
        problem = _named(error)
    except _Overtime:
        return vault, nothing, _overtime(limit)
    if told.event not in DIALECTS[told.host].gives:
        return vault, nothing, problem
    try:
        from cortex.interfaces.hook.injected_context import speak  # noqa: PLC0415  most events have nothing to say

        return (
            vault,
            payloads.answer(told.host, told.event, speak(vault, caller, told, place)),
            problem,
        )
    except _Overtime:
        return vault, nothing, problem if problem.message else _overtime(limit)
    except Exception as error:  # noqa: BLE001  a briefing is a help, and what was captured counts
        return vault, nothing, problem if problem.message else _unanswered(error)


def _left(vault: Vault, caller: Caller, told: Told) -> Problem:
    """What earlier hooks have left: a session that starts takes all of it, any other event what found no room."""
    try:
        found = spool.waiting(vault)
    except (CortexError, OSError):  # said when this hook needs the folder itself
        return NONE
    if not (any(found) if told.event == SESSION_START else found.unsent):
        return NONE
    from cortex.operations.capture import collect_pending  # noqa: PLC0415  mostly nothing waits

    collect_pending.send(
        vault, found.unsent
    )  # as long as there is no room, `hook_log.problems` says so
    problems = collect_pending.gather(vault, caller) if told.event == SESSION_START else []
    return problems[0] if problems else NONE


def _vault_at(place: Place) -> Vault | None:
    """The vault of this place; None when there is none, or hooks are switched off here."""
    if hooks_enabled.is_off(os.environ, place.cwd):
        return None
    try:
        vault = find_vault("", place.cwd, os.environ)
    except NotFound:
        return None
    return vault if hooks_enabled.of(vault).enabled else None


def _asked(words: list[str]) -> tuple[str, str]:
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
    if host not in DIALECTS:
        _complain(f"no host {host[:40]!r}: give --host {'|'.join(DIALECTS)}")
        return "", ""
    if not (word := payloads.word_of(host, event)):
        _complain(f"no event {event[:40]!r}: {', '.join(payloads.EVENTS)}")
    return host, word


def _end_within(seconds: float, unsaid: list[bytes]) -> None:
    """Raise `_Overtime` then, and a moment later end the process however things are."""
    try:
        import _signal as signal  # type: ignore[import-not-found]  # noqa: PLC0415  what `signal` is made of: its enumerations cost a millisecond
    except ImportError:  # another Python
        import signal  # noqa: PLC0415

    over = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal over
        if over:
            _write(1, b"".join(unsaid))
            os._exit(0)
        over = True
        signal.setitimer(signal.ITIMER_REAL, _LAST_WORD)
        raise _Overtime

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _named(error: BaseException) -> Problem:
    """What went wrong, without a word of what the host told: our own errors speak of it nowhere but where a prompt is answered."""
    if isinstance(error, Conflict):
        return Problem("hooks", "another hook of the session was at work")
    if isinstance(error, CortexError):
        return Problem("hooks", error.message, error.hint)
    return Problem(
        "hooks", (error.strerror if isinstance(error, OSError) else "") or type(error).__name__
    )


def _unanswered(error: Exception) -> Problem:
    return (
        Problem("hooks", "what the host told cannot be answered")
        if isinstance(error, Invalid)
        else _named(error)
    )


def _overtime(limit: float) -> Problem:
    return Problem("hooks", f"was ended after {limit:g} seconds")


def _tell(vault: Vault | None, host: str, event: str, started: float, problem: Problem) -> None:
    """Into the log; where that cannot be written, a problem goes to standard error."""
    if vault is None:
        if problem.message:
            _complain(problem.message)
        return
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        hook_log.note(
            vault,
            now,
            host,
            event,
            round((time.monotonic() - started) * 1000),
            problem.message,
            problem.hint,
        )
    except (OSError, CortexError) as error:
        _complain(problem.message or f"the log of the hooks: {_named(error).message}")


def _complain(line: str) -> None:
    _write(
        2,
        "cortex hook: {}\n".format(
            "".join(sign if sign.isprintable() else "?" for sign in line)
        ).encode("utf-8", "backslashreplace"),
    )


def _write(fd: int, data: bytes) -> None:
    with suppress(OSError):  # the host has gone
        while data:
            data = data[os.write(fd, data) :]
