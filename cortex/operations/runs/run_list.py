"""Runs as they are shown: where each stands, how many tokens and dollars it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice

from cortex.core.model.caller import Caller
from cortex.core.model.layout import ACTIVE
from cortex.core.model.parameters import Time
from cortex.core.model.problem import CortexError, Problem
from cortex.core.runs.agent_note import read_agent
from cortex.core.runs.run_note import REQUESTED, RUNNING, Run
from cortex.core.text.strings import cortex_command, one_line, shorten
from cortex.core.text.value import NamedTuple
from cortex.operations.upkeep.bring_up_to_date import recover_left_runs
from cortex.vault import agent_settings, files, trust
from cortex.vault.locate import Vault
from cortex.vault.runs import run_files, run_state

_MAX_SHOWN_CHARS = 200
_MAX_FENCE_CHARS = 20  # around an answer that is JSON, which the file has without it


class RunLine(NamedTuple):
    """One run as a list shows it."""

    id: str
    agent: str
    status: str  # requested, running, finished, failed, skipped, stopped
    created: Time
    prompt: str = ""  # its first words
    provider: str = ""
    model: str = ""
    facet: str = ""
    period: str = ""
    session_id: str = ""
    chat_id: str = ""
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = None  # None: nobody says
    running_tools: tuple[str, ...] = ()
    tools: int = 0  # calls that have ended
    thinking: int = 0
    output: str = ""
    error: str = ""  # or why it was skipped or stopped; its first words
    path: str = ""


def line_of(run: Run) -> RunLine:
    """A run as a list shows it."""
    state = run.state
    is_active = state.status == REQUESTED and f"/{ACTIVE}/" in f"/{run.path}"
    return RunLine(
        id=run.id, agent=run.request.agent, status=RUNNING if is_active else state.status,
        created=run.created, prompt=shorten(one_line(run.request.prompt), _MAX_SHOWN_CHARS), provider=state.provider or run.request.provider,
        model=state.model, facet=run.request.facet, period=run.request.period or run.request.day,
        session_id=state.session_id or run.request.session_id, chat_id=run.request.chat_id, seconds=round(state.seconds, 1), tokens_in=state.tokens_in,
        tokens_out=state.tokens_out, tokens_cached=state.tokens_cached, cost_usd=state.cost_usd,
        running_tools=state.running_tools, tools=len(state.tool_seconds), thinking=state.thinking,
        output=run.output, error=shorten(one_line(state.error), _MAX_SHOWN_CHARS), path=run.path,
    )  # fmt: skip


def iter_runs(vault: Vault) -> Iterator[Run]:
    """All runs: those that wait and run, then the ended ones, the newest first."""
    going_on = {id_ for _, id_ in run_files.list_open(vault)}
    # One that ends meanwhile is in both lists.
    ended = (id_ for id_ in run_files.list_ended(vault) if id_ not in going_on)
    for id_ in chain(sorted(going_on, reverse=True), ended):
        with suppress(CortexError):  # removed since the folder was listed, or a link
            yield run_files.find_run(vault, id_)


def is_as_written(vault: Vault, output: str) -> bool:
    """Whether a file holds what a run wrote there: any other text is a person's."""
    held = files.read(vault.root, output).decode("utf-8", "replace").strip()
    for run in iter_runs(vault):
        if run.output == output and run.events:
            said = str(run_files.load_event(vault, run, run.events[-1]).get("result") or "")
            if held and held in said and len(said.strip()) - len(held) < _MAX_FENCE_CHARS:
                return True
    return False


def list_runs(vault: Vault, number: int, **wanted: str) -> list[RunLine]:
    """The newest runs whose fields are as `wanted`; empty words mean any."""
    asked = {key: word for key, word in wanted.items() if word}
    lines = map(line_of, iter_runs(vault))
    found = (one for one in lines if all(getattr(one, key) == word for key, word in asked.items()))
    return list(islice(found, number))


def run_problems(vault: Vault, caller: Caller) -> list[Problem]:
    """What is wrong with the settings of agents and with runs: what recovering them said, and those that
    nobody here has asked for. They came by git, or with a copy of the vault, and are never started."""
    problems = agent_settings.load_agents()[1]
    problems += recover_left_runs(vault, caller)
    for folder, id_ in run_files.list_open(vault):
        path = run_files.run_path(vault, folder, id_)
        if run_state.values_of(vault, id_) is None and files.exists(vault.root, path):
            message = "nobody asked for this run on this machine, so it is not started"
            problems.append(Problem(path, message, cortex_command("run", "stop", id_)))
    return problems + list(_agent_problems(vault))


def _agent_problems(vault: Vault) -> Iterator[Problem]:
    """Agents that do not run: notes that are wrong, and scheduled ones that are not trusted as they are."""
    is_scheduled = agent_settings.load_agents()[0].schedules
    for name in trust.list_agents(vault):
        with suppress(CortexError, OSError):
            path, data = trust.agent_path(vault, name), trust.read_agent_file(vault, name)
            agent, wrong = read_agent(data, path)
            yield from wrong
            if is_scheduled and agent.schedule and not (wrong or trust.is_trusted(vault, name)):
                message = "is scheduled, and does not run: it is new, or not as you trusted it"
                yield Problem(path, message, cortex_command("trust"))
