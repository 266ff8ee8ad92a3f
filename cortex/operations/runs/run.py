"""The verb `run`: ask an agent, go on with a run, stop it, look at it, follow it."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import PERSON_SETTING, Between
from cortex.core.model.problem import ConflictError, InvalidInputError, Problem
from cortex.core.redact.secrets import sanitize_text
from cortex.core.runs.agent_note import DEFAULT_NAME
from cortex.core.runs.run_event import RunEvent
from cortex.core.runs.run_note import (
    ENDED,
    REQUESTED,
    STOPPED,
    Run,
    RunRequest,
    is_closed,
    is_run_id,
)
from cortex.core.text.strings import cortex_command
from cortex.core.text.value import NamedTuple
from cortex.operations.runs.request import check_source, request_run, split_env
from cortex.operations.runs.run_list import RunLine, iter_runs, line_of, list_runs
from cortex.operations.runs.run_one import run_one
from cortex.operations.upkeep.recover_runs import end_run, recover_runs
from cortex.vault.locate import Vault
from cortex.vault.runs import run_files, run_state
from cortex.vault.runs.run_files import find_run

_LOOK_SECONDS = 0.5  # between two looks at a run where nobody says that it has a new event
_MAX_LISTED = 1000


class RunResult(NamedTuple):
    """What was asked of runs, and how they stand."""

    runs: tuple[RunLine, ...]
    outcome: str = ""  # requested, waiting (the same was asked before), stopped, ended
    events: tuple[dict[str, Any], ...] = ()  # of show and follow
    next: int = 0  # the number of the event that follow has not answered yet
    prompt: str = ""  # of show
    result: str = ""
    hint: str = ""
    problems: tuple[Problem, ...] = ()


def run(
    vault: Vault, caller: Caller, action: Literal["start", "continue", "stop", "show", "follow", "list", "work"], name: str = "", prompt: str = "", *,
    emit: Callable[[RunEvent], None] | None = None, provider: str = "", model: str = "", tier: Literal["", "pro", "flash", "lite"] = "", facet: str = "", day: str = "", segment: str = "", span: tuple[str, ...] = (),
    output: Literal["", "md", "json"] = "", output_path: str = "", refresh: bool = False, max_output_tokens: Annotated[int, Between(0, 1_000_000)] = 0, thinking_budget: Annotated[int, Between(0, 1_000_000)] = 0,
    env: Annotated[list[str] | None, PERSON_SETTING] = None, session_id: str = "", chat_id: str = "", reason: str = "", from_: Annotated[int, Between(0, 10_000_000)] = 0, status: str = "", number: Annotated[int, Between(1, _MAX_LISTED)] = 20,
) -> RunResult:  # fmt: skip
    """Have an agent do something, in a process of its own.

    start answers as soon as the request is on the disk; a process of its own takes it, now or when a slot
    is free. The run is a note, runs/YYYY/MM/ID.md: prompt, a line for each event, result, which is captured,
    too. An agent is a note agents/NAME.md that you trust, or default; your settings say which program runs
    it. continue goes on with its session. stop ends it and all that it started. follow shows events as they come.

    action: start, continue, stop, show, follow or list; work is what start starts
    name: an agent, or of the other actions the id of a run or its end; of list an agent
    prompt: what it is to do; a single - reads standard input
    provider: in place of the agent's; there is no other if this one fails
    model: in place of the one of its tier
    tier: pro, flash or lite
    facet: the name of a note in facets/
    day: of what is analysed, YYYYMMDD
    segment: a stretch of captured events, HHMMSS_seconds
    span: several that follow each other, comma-separated
    output: md or json: where the result is written to, beside the run
    output_path: the file for it, below the vault
    refresh: also where the output is there
    max_output_tokens: the longest answer, where the provider takes it
    thinking_budget: tokens to think, where the provider takes it
    env: a variable for the program, NAME=VALUE; notes tell its name alone
    session_id: the program's own session to go on with
    chat_id: the chat that the run belongs to; of list: the runs of one
    reason: of stop: why
    from_: of follow: the number of the first event
    status: of list: requested, running, finished, failed, skipped or stopped
    number: of list: how many at the most

    Example: cortex run start default "What did we decide about the index?"
    Example: cortex run start weekly-review
    Example: cortex run list --status failed
    """
    request = RunRequest(
        name or DEFAULT_NAME, prompt.strip(), provider, model, tier, facet, day, segment, span, "", output, output_path,
        refresh, max_output_tokens, thinking_budget, (), session_id, chat_id, "", caller.source,
    )  # fmt: skip
    if action == "work" and caller.source == "cli":
        return RunResult((line_of(find_run(vault, name)),) if run_one(vault, caller, name) else ())
    problems = tuple(recover_runs(vault, caller))
    if action == "list":
        lines = list_runs(vault, number, agent=name, status=status, facet=facet, chat_id=chat_id)
        return RunResult(tuple(lines), problems=problems)
    if action == "start":
        answer = _start(vault, caller, request, env or [])
    elif action == "continue":
        answer = _start(vault, caller, _continued(find_one(vault, name), request), env or [])
    elif action == "stop":
        answer = _stop(vault, caller, find_one(vault, name), sanitize_text(reason or prompt))
    else:
        shown = emit if action == "follow" else None
        answer = _show(vault, caller, find_one(vault, name), from_, shown)
    return answer._replace(problems=problems)


def _start(vault: Vault, caller: Caller, request: RunRequest, env: Sequence[str]) -> RunResult:
    id_, outcome = request_run(vault, caller, request, split_env(env))
    lines = (line_of(find_run(vault, id_)),)
    return RunResult(lines, outcome, hint=cortex_command("run", "follow", id_))


def _show(
    vault: Vault, caller: Caller, found: Run, start: int, emit: Callable[[RunEvent], None] | None
) -> RunResult:
    """A run with its events from number `start` on; with `emit` each is given to it as it comes."""
    if emit:
        next_ = start + sum(1 for _ in follow_events(vault, caller, found.id, start, emit=emit))
        found = find_run(vault, found.id)
        return RunResult((line_of(found),), "ended", next=next_)
    last = run_files.load_event(vault, found, found.events[-1]) if found.events else {}
    events = tuple(one for one in found.events if one["seq"] >= start)
    said = run_files.load_request(vault, found).prompt, str(last.get("result") or "")
    return RunResult((line_of(found),), "", events, len(found.events), *said)


def find_one(vault: Vault, name: str) -> Run:
    """The run of an id, or of its end. Raises `NotFoundError`, `InvalidInputError`, `ConflictError`."""
    word = name.strip().strip("[]").rpartition("/")[2].removesuffix(".md")
    if is_run_id(word):
        return find_run(vault, word)
    if len(word) < 3:
        message = f"{name!r} names no run" if word else "which run?"
        raise InvalidInputError(message, "cortex run list names them")
    ids = [one.id for one in iter_runs(vault) if one.id.endswith(word)]
    if len(ids) > 1:
        hint = f"name one: {', '.join(ids[:5])}"
        raise ConflictError(f"{word} is the end of {len(ids)} runs", hint)
    return find_run(vault, ids[0] if ids else word)


def _continued(before: Run, request: RunRequest) -> RunRequest:
    """A request that goes on with the session of a run. Raises `InvalidInputError`."""
    line = line_of(before)
    if request.provider not in ("", line.provider):
        hint = f"go on with {line.provider}, or start a run of its own"
        raise InvalidInputError(f"a chat stays with its provider, {line.provider}", hint)
    if not before.state.session_id:
        message = f"{before.id} has no session to go on with"
        raise InvalidInputError(message, "start another run; it is given what you write")
    if before.state.status not in ENDED:
        raise ConflictError(f"{before.id} is running", cortex_command("run", "follow", before.id))
    return request._replace(
        agent=before.request.agent, provider=line.provider, session_id=before.state.session_id,
        model=request.model or line.model, parent=before.id, refresh=True, facet=request.facet or line.facet,
        chat_id=request.chat_id or before.request.chat_id or before.id,
    )  # fmt: skip


def _stop(vault: Vault, caller: Caller, found: Run, reason: str) -> RunResult:
    """End a run that waits or runs; the reason stands in its note."""
    if caller.source != "page":
        check_source(caller)
    if found.state.status in ENDED:
        raise ConflictError(f"{found.id} has ended", cortex_command("run", "show", found.id))
    why = reason or f"by {caller.source}"
    run_state.STOPS.write(vault, why, found.id, durable=True)
    active = run_files.claim(vault, found.id) or run_files.take_orphan(vault, found.id)
    if active:
        end_run(active, caller.now, why, STOPPED)
    else:
        for _ in follow_events(vault, caller, found.id, 0, most=30.0):
            continue
    return RunResult((line_of(find_run(vault, found.id)),), STOPPED)


def follow_events(
    vault: Vault, caller: Caller, id_: str, start: int, *, emit: Callable[[RunEvent], None] | None = None, most: float = 0.0
) -> Iterator[RunEvent]:  # fmt: skip
    """The events of a run from number `start` on, each as soon as it is on the disk, to the terminal one;
    `emit` is given each, too. Ends after `most` seconds without one, if given."""
    waited = 0.0
    if run_state.values_of(vault, id_) is None and find_run(vault, id_).state.status == REQUESTED:
        hint = cortex_command("run", "stop", id_)
        raise ConflictError(f"{id_} is not of this machine, so nothing comes", hint)
    with run_state.pokes(vault) as pokes:
        while True:
            found = find_run(vault, id_)
            for event in found.events:
                if event["seq"] >= start:
                    start, waited = event["seq"] + 1, 0.0
                    if emit:
                        emit(event)
                    yield event
            if is_closed(found.state.status, found.path):
                return
            if most and waited >= most:
                return
            ready = select.select([pokes] if pokes else [], [], [], _LOOK_SECONDS)[0]
            if not ready:
                waited += _LOOK_SECONDS
                recover_runs(vault, caller)
            for receiver in ready:
                with suppress(OSError):  # all is taken, so that the next wait is for what comes
                    while receiver.recv(64):
                        continue
