"""Which agents there are, what is wrong with them, what they would be sent, and whether they are trusted."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff
from typing import Literal

from cortex.core.model.caller import Caller
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
    problem_of,
)
from cortex.core.runs.agent_note import BASE_NAME, DEFAULT_NAME, Agent, read_agent
from cortex.core.runs.run_config import RunConfig
from cortex.core.runs.run_note import RunRequest
from cortex.core.text.strings import cortex_command, one_of
from cortex.core.text.value import NamedTuple
from cortex.operations.runs.prepare import prepare_config, validate_config
from cortex.vault import agent_settings, files, trust as trusted
from cortex.vault.locate import Vault
from cortex.vault.templates import list_template_names, read_template


class AgentEntry(NamedTuple):
    """An agent, and whether it runs."""

    agent: Agent
    state: str  # trusted (but for journal), changed (since it was), new, wrong, disabled
    file: str  # absolute path
    diff: str = ""  # of `cortex trust`: what has changed since it was trusted


class AgentsResult(NamedTuple):
    """Agents by name. `sent` is what the one that is shown would be given."""

    agents: list[AgentEntry]
    problems: list[Problem]
    sent: RunConfig | None = None
    whole: bool = False  # of `show`: with all that its note says


def agents(
    vault: Vault, caller: Caller, action: Literal["list", "show", "check", "add"] = "list", name: str = "",
    *, prompt: bool = False,
) -> AgentsResult:  # fmt: skip
    """List the agents of the vault; show, check or add one.

    An agent is a note agents/NAME.md; docs/dev/runs.md says what it may hold. check names each key that is
    not understood, and what your settings lack; such an agent does not run, nor does one that you do not trust.
    add copies one that comes with Cortex, and trusts it: weekly-review, meeting-prep, session-writeup.

    action: list, show, check or add
    name: of an agent; list and check take all by default
    prompt: print exactly what a run of it would be sent now

    Example: cortex agents
    Example: cortex agents add weekly-review
    Example: cortex agents show weekly-review --prompt
    Example: cortex agents check
    """
    if action in ("show", "add") and not name:
        hint = f"cortex agents lists them; add: {', '.join(_list_shipped())}"
        raise InvalidInputError("which agent?", hint)
    if action == "add":
        _add(vault, caller, name)
    names = [name] if name else trusted.list_agents(vault)
    entries, problems = _read(vault, [one for one in names if one != DEFAULT_NAME])
    sent = prepare_config(vault, caller, RunRequest(name)) if prompt and action == "show" else None
    if action == "check":
        problems += agent_settings.load_agents()[1]
        for one in (one for one in entries if one.state != "wrong"):
            try:
                config = prepare_config(vault, caller, RunRequest(one.agent.name))
                problems += validate_config(config)
            except (CortexError, OSError) as error:
                problems.append(problem_of(one.file, error))
    shown = [one._replace(diff="") for one in entries]
    return AgentsResult(shown, problems, sent, action == "show")


def trust(
    vault: Vault, caller: Caller, names: list[str] | None = None, *, all: bool = False  # noqa: ARG001
) -> AgentsResult:  # fmt: skip
    """Show what agents are told, or trust them as they are now.

    Notes of agents may come by git from anybody, so an agent runs only while its note, and agents/journal.md,
    which all share, are to the byte what you have trusted. Without names nothing is trusted: each note is
    shown with what has changed since.

    names: agents to trust, or journal
    all: trust all that can be run

    Example: cortex trust
    Example: cortex trust journal weekly-review
    """
    every = [*trusted.list_agents(vault), *([BASE_NAME] if trusted.read_base(vault) else ())]
    sound = [one.agent.name for one in _read(vault, every)[0] if one.state != "wrong"]
    chosen = names or (sound if all else [])
    for name, data in [(name, trusted.read_agent_file(vault, name)) for name in chosen]:
        trusted.pin(vault, name, data)
    return AgentsResult(*_read(vault, names or every))


def _list_shipped() -> list[str]:
    return [name for name in list_template_names("agents") if name != BASE_NAME]


def _add(vault: Vault, caller: Caller, name: str) -> None:
    """Put a shipped agent into the vault; one that a person adds is trusted. Raises `NotFoundError`, `ConflictError`."""
    if name not in _list_shipped():
        message = f"no agent {name[:80]!r} comes with Cortex"
        raise NotFoundError(message, one_of(name, _list_shipped()))
    if files.exists(vault.root, path := trusted.agent_path(vault, name)):
        raise ConflictError(f"{path} is there already", cortex_command("agents", "show", name))
    data = read_template(f"agents/{name}.md").encode()
    files.create(vault.root, path, data)
    if caller.source == "cli":
        trusted.pin(vault, name, data)


def _read(vault: Vault, names: Iterable[str]) -> tuple[list[AgentEntry], list[Problem]]:
    """The agents of these names, and what is wrong with each."""
    entries, problems = list[AgentEntry](), list[Problem]()
    for name in names:
        try:
            path, data = trusted.agent_path(vault, name), trusted.read_agent_file(vault, name)
        except (CortexError, OSError) as error:
            problems.append(problem_of(f"agents/{name}.md", error))
            continue
        agent, wrong = read_agent(data, path)
        problems += wrong if name != BASE_NAME else []
        before = trusted.trusted_text(vault, name)
        state = "trusted" if before == data else "changed" if before else "new"
        if state == "trusted" and not trusted.is_trusted(vault, name):
            state = "trusted, but for journal"
        state = "disabled" if agent.disabled else state
        state = "wrong" if wrong and name != BASE_NAME else state
        old, new = (text.decode("utf-8", "replace").splitlines() for text in (before, data))
        diff = "\n".join(unified_diff(old, new, "trusted", path, lineterm="", n=1))
        entries.append(AgentEntry(agent, state, vault.file(path), diff))
    return entries, problems
