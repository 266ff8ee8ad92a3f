"""The verb `tick`: run the agents that are due by their schedules."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

from cortex.core.model.caller import Caller
from cortex.core.model.problem import (
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
    problem_of,
)
from cortex.core.runs.run_note import RunRequest, is_closed
from cortex.core.runs.schedule import DueRun, Found, SkippedRun, due, is_meeting, plan_bands
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import format_time
from cortex.core.text.value import NamedTuple
from cortex.operations.runs.prepare import get_agent
from cortex.operations.runs.request import request_run
from cortex.operations.runs.run_list import RunLine, iter_runs, line_of
from cortex.operations.runs.schedule_state import (
    DAY_SECONDS,
    KEPT_DAYS,
    LOCAL,
    ScheduleState,
    read_state,
)
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.recover_runs import recover_runs
from cortex.vault import agent_settings, files, user_settings
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from cortex.vault.runs import run_files, run_state

_MAX_ROUNDS = 200  # bands of one call
_LOOK_SECONDS = 0.2


class TickResult(NamedTuple):
    """What was due, and what came of it."""

    runs: tuple[RunLine, ...]
    due: tuple[DueRun, ...]  # with dry_run what would be started
    skipped: tuple[SkippedRun, ...]
    problems: tuple[Problem, ...] = ()


def tick(vault: Vault, caller: Caller, *, dry_run: bool = False) -> TickResult:
    """Run the agents that are due by their schedules.

    Only where your own settings say so: schedules = true below [agents]. What is due follows from the
    notes of the runs that were, so that nothing runs twice, whoever calls this and however often: the
    watcher does, each minute, or a timer. Agents of lower priority numbers come first, equal ones at the same time
    as far as there are slots; the next ones when all have ended. A run that fails is tried three times.

    dry_run: say what is due and why the rest is not, and start nothing

    Example: cortex tick --dry-run
    """
    if not dry_run and not agent_settings.load_agents()[0].schedules:
        hint = f"write schedules = true below [agents] in {user_settings.settings_file()}"
        raise InvalidInputError("your settings let no schedules run on this machine", hint)
    if dry_run:
        state = read_state(vault, caller, LOCAL)
        return _answer(state, due(*state[:-1], epoch_seconds(caller.now), LOCAL), [])
    path = os.path.join(run_state.folder(vault), run_state.TICK_LOCK)
    with lock(path, "schedules", wait=0.5):  # somebody may be looking
        answer = _run_due(vault, caller)
        faults = [f"{one.where}: {one.message}" for one in answer.problems if one.where.startswith("agents/")]  # fmt: skip
        run_state.TICK.write(vault, {"at": caller.now, "fault": "; ".join(faults[:3])})
        return answer


def _run_due(vault: Vault, caller: Caller) -> TickResult:
    """Run one band after another until nothing is due that was not tried already."""
    ran: list[RunLine] = []
    problems: list[Problem] = []
    tried: set[tuple[str, str, str]] = set()
    begun = time.monotonic()
    waiting = (id_ for _, id_ in run_files.list_open(vault) if run_state.values_of(vault, id_) is not None)  # fmt: skip
    scheduled = [id_ for id_ in waiting if run_files.read_head(vault, id_).get("requested_by") == "schedule"]  # fmt: skip
    _wait(vault, caller, scheduled)  # of a call that was killed
    for _ in range(_MAX_ROUNDS):
        at = caller._replace(now=format_time(epoch_seconds(caller.now) + time.monotonic() - begun))
        state = read_state(vault, at, LOCAL)
        found = due(*state[:-1], epoch_seconds(at.now), LOCAL)
        bands = plan_bands(one for one in found if one[:3] not in tried)
        if not bands:
            break
        ids = []
        by = at._replace(source="schedule")
        for one in bands[0]:
            tried.add(one[:3])
            try:
                ids.append(request_run(vault, by, _request_of(one), {})[0])
            except (CortexError, OSError) as error:
                problems.append(problem_of(f"agents/{one.agent}.md", error))
        ran += _wait(vault, at, ids)
        query_fresh(vault, at, lambda _index: None, words=True)
    _remove_old(vault, caller, {one.agent for one in ran})
    return _answer(state, found, ran)._replace(problems=(*state.problems, *problems), due=())


def _request_of(one: DueRun) -> RunRequest:
    what = "meeting" if is_meeting(one.period) else "period"
    about = f"It is for the {what} {one.period}."
    return RunRequest(
        one.agent, about, facet=one.facet, day=one.day, segment=one.segment, period=one.period,
        refresh=True, requested_by="schedule",
    )  # fmt: skip


def _wait(vault: Vault, caller: Caller, ids: Sequence[str]) -> list[RunLine]:
    """Wait until all of these runs have ended. Those that lost their runner are seen to."""
    while True:
        # Asked before the notes are read: a run is forgotten when its note says that it has ended.
        known = [id_ for id_ in ids if run_state.values_of(vault, id_) is not None]
        lines = []
        for id_ in ids:
            with suppress(NotFoundError):  # somebody has removed its note
                lines.append(line_of(run_files.find_run(vault, id_)))
        left = [one for one in lines if one.id in known and not is_closed(one.status, one.path)]
        caller.progress("running agents", len(lines) - len(left), len(lines))
        if not left:
            return lines
        time.sleep(_LOOK_SECONDS)
        recover_runs(vault, caller)


def _answer(state: ScheduleState, found: Found, ran: list[RunLine]) -> TickResult:
    return TickResult(
        tuple(ran), tuple(one for one in found if isinstance(one, DueRun)),
        tuple(one for one in found if isinstance(one, SkippedRun)), tuple(state.problems),
    )  # fmt: skip


def _remove_old(vault: Vault, caller: Caller, names: Iterable[str]) -> None:
    """Remove the notes of old runs of agents that say how many to keep. Those that may still stand for
    a period of a schedule stay."""
    oldest = epoch_seconds(caller.now) - KEPT_DAYS * DAY_SECONDS
    limits = dict[str, int]()
    for name in names:
        with suppress(CortexError, OSError):
            limits[name] = get_agent(vault, name).keep
    seen: Counter[str] = Counter()
    for run in iter_runs(vault) if any(limits.values()) else ():
        seen[run.request.agent] += 1
        is_over = 0 < limits.get(run.request.agent, 0) < seen[run.request.agent]
        if is_over and epoch_seconds(run.created) < oldest:
            beside = f"{run.path[:-3]}.d"
            for file in files.list_names(vault.root, beside):
                files.remove(vault.root, f"{beside}/{file}")
            files.remove(vault.root, run.path)
            with suppress(OSError):
                os.rmdir(vault.file(beside))
