"""Runs whose process is gone: what they left is ended, and their notes are closed. Requests that nobody
took are started. Only those that this user asked for on this machine."""

from __future__ import annotations

from contextlib import closing

from cortex.agents.process import kill_marked
from cortex.core.model.caller import Caller
from cortex.core.model.layout import ACTIVE
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.redact.secrets import sanitize_text
from cortex.core.runs.run_note import REQUESTED
from cortex.core.text.iso_time import epoch_seconds
from cortex.operations.upkeep.detached import start_detached
from cortex.vault import agent_settings
from cortex.vault.locate import Vault
from cortex.vault.runs import run_files, run_state
from cortex.vault.runs.run_files import ActiveRun

RUN_VARIABLE = "CORTEX_RUN"  # in the environment of what an agent runs: the id of its run
RECOVERED = "Recovered: the process that ran it is gone"
_MAX_STARTED = 4  # at once; one of them may be a note that nobody can take
_MIN_WAIT_SECONDS = 5  # of a request, whose runner may just be starting


def recover_runs(vault: Vault, caller: Caller) -> list[Problem]:
    """Close the notes of runs whose process is gone, and start what waits; what cannot be closed."""
    problems, waiting = list[Problem](), list[str]()
    known = run_files.list_open(vault)
    for folder, id_ in known:
        try:
            if run_state.values_of(vault, id_) is None:
                continue
            if folder == ACTIVE:
                if active := run_files.take_orphan(vault, id_):
                    end_run(active, caller.now, RECOVERED, "recovered")
            elif _is_left(vault, caller, id_):
                waiting.append(id_)
        except (CortexError, OSError) as error:
            problems.append(problem_of(run_files.run_path(vault, folder, id_), error))
    run_state.forget_left(vault, {id_ for _, id_ in known})
    if waiting:
        with run_state.free_slot(vault, agent_settings.load_agents()[0].slots) as is_free:
            pass
        for id_ in waiting[:_MAX_STARTED] if is_free else ():
            start_detached(vault, "run", "work", id_)
    return problems


def end_run(active: ActiveRun, now: str, error: str, reason: str) -> None:
    """Close a run whose process is gone, by this error unless its terminal event stands there. What it
    has left is ended and removed."""
    kill_marked(f"{RUN_VARIABLE}={active.id}")
    event = {"event": "error", "error": error, "reason": reason}
    with closing(active):
        active.append(event, now[:-1] + ".000Z", sanitize_text)
        run = run_files.find_run(active.vault, active.id)
        run_files.remove_work_folder(active.vault, run)
        ending = run_files.load_event(active.vault, run, active.events[-1])
        result = ending.get("result") or ending.get("error") or ""
        active.seal(str(ending.get("output") or ""), str(result))


def _is_left(vault: Vault, caller: Caller, id_: str) -> bool:
    """Whether a request waits longer than its runner takes to start."""
    run = run_files.find_run(vault, id_)
    waited = epoch_seconds(caller.now) - epoch_seconds(run.created)
    return run.state.status == REQUESTED and abs(waited) > _MIN_WAIT_SECONDS
