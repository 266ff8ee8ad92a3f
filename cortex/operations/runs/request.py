"""Ask for a run: checked, written down, and only then acknowledged; a runner is started for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from cortex.core.model.caller import Caller
from cortex.core.model.layout import QUEUE
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
)
from cortex.core.redact.secrets import sanitize_text
from cortex.core.runs.agent_note import BASE_NAME, DEFAULT_NAME
from cortex.core.runs.run_note import RunRequest, make_run_id
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command
from cortex.operations.runs.prepare import check_request, get_agent, get_facet, output_path
from cortex.operations.runs.run_list import is_as_written
from cortex.operations.upkeep.detached import start_detached
from cortex.operations.upkeep.recover_runs import RUN_VARIABLE
from cortex.vault import agent_settings, files, trust, user_settings
from cortex.vault.agent_settings import resolve_model
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from cortex.vault.runs import run_files, run_state

MAX_PROMPT_BYTES = 1_000_000
REQUESTED, WAITING = "requested", "waiting"  # the latter: the same request waits already
_SOURCES = {"mcp": "mcp", "http": "http", "page": "http"}  # which the user's settings must allow
_ENV_RE = lazy_re(r"[A-Za-z_][A-Za-z0-9_]{0,99}=")
_MAX_ATTEMPTS = 20


def split_env(words: Sequence[str]) -> dict[str, str]:
    """The variables of `NAME=VALUE` words. A word without a name goes on with the value before: a list
    was split at its commas. Raises `InvalidInputError`."""
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if _ENV_RE.match(word):
            name, _, value = word.partition("=")
            found[name] = value
        elif name:
            found[name] += f",{word}"
        else:
            raise InvalidInputError(f"--env is NAME=VALUE, not {word[:40]!r}", "--env REGION=eu")
    return found


def request_run(
    vault: Vault, caller: Caller, request: RunRequest, values: Mapping[str, str]
) -> tuple[str, str]:
    """Write a request down and start a runner for it; the run's id, and requested, or waiting where the
    same request waits. Raises `CortexError` for what cannot be run, before anything is written."""
    check_source(caller)
    if RUN_VARIABLE in os.environ:
        raise InvalidInputError("an agent starts no agents", "answer, and let a person start it")
    size = len(request.prompt.encode("utf-8", "surrogatepass"))
    if size > MAX_PROMPT_BYTES:
        hint = "put the text into a note, and name that in the prompt"
        message = f"the prompt is {size:,} bytes; a run takes {MAX_PROMPT_BYTES:,}"
        raise InvalidInputError(message, hint)
    if request.agent == DEFAULT_NAME and not request.prompt:
        raise InvalidInputError("what is it to do?", 'cortex run start default "…"')
    if request.output_path and not request.output:
        request = request._replace(output="json" if request.output_path.endswith(".json") else "md")
    request = request._replace(day=request.day.replace("-", ""))
    _check(vault, request, caller.now)
    request = request._replace(prompt=sanitize_text(request.prompt), env=tuple(sorted(values)))
    with lock(os.path.join(run_state.folder(vault), "requests.lock"), "requests"):
        for id_ in run_files.list_runs(vault, QUEUE):
            if _is_same(vault, id_, request, values):
                return id_, WAITING
        id_ = _write(vault, caller, request, values)
    start_detached(vault, "run", "work", id_)
    return id_, REQUESTED


def check_source(caller: Caller) -> None:
    """Raise `InvalidInputError` where the user's settings let nobody start or end runs this way."""
    needed = _SOURCES.get(caller.source)
    if needed and needed not in agent_settings.load_agents()[0].requests:
        message = f"your settings let nobody start or stop runs over {caller.source}"
        hint = f'write requests = ["{needed}"] below [agents] in {user_settings.settings_file()}'
        raise InvalidInputError(message, hint)


def _check(vault: Vault, request: RunRequest, now: str) -> None:
    """Raise `CortexError` for a request that no run could answer."""
    agent = get_agent(vault, request.agent)
    if not trust.is_trusted(vault, request.agent):
        base = trust.read_base(vault)
        name = (
            BASE_NAME if base not in (b"", trust.trusted_text(vault, BASE_NAME)) else request.agent
        )
        message = f"{name} is new, or not as you trusted it"
        raise InvalidInputError(message, cortex_command("trust", name))
    if request.facet:
        get_facet(vault, request.facet)
    settings, problems = agent_settings.load_agents()
    day = check_request(agent, request, now, settings)
    try:
        resolve_model(
            settings, agent.name, request.provider or agent.provider, request.tier or agent.tier, request.model,
        )  # fmt: skip
    except CortexError as error:
        first = problems[0] if problems else Problem("", error.message, error.hint)
        raise InvalidInputError(f"{first.where} {first.message}".strip(), first.hint) from error
    output = output_path(vault, request, day, request.output or agent.output)
    if not output or not files.exists(vault.root, output):
        return
    if not request.refresh and not request.session_id:
        raise ConflictError(f"{output} is there already", "--refresh makes it anew")
    if not is_as_written(vault, output):
        raise ConflictError(f"{output} is not as a run wrote it", "move it, or name another file")


def _is_same(vault: Vault, id_: str, request: RunRequest, values: Mapping[str, str]) -> bool:
    """Whether a request that waits asks for the same."""
    if run_state.values_of(vault, id_) != dict(values):
        return False
    try:
        run = run_files.find_run(vault, id_)
    except NotFoundError:
        return False
    before = run_files.load_request(vault, run)
    return before._replace(requested_by="") == request._replace(requested_by="")


def _write(vault: Vault, caller: Caller, request: RunRequest, values: Mapping[str, str]) -> str:
    for _ in range(_MAX_ATTEMPTS):
        id_ = make_run_id(caller.now, caller.random(3))
        if run_state.values_of(vault, id_) is not None:
            continue
        run_state.remember(vault, id_, values)  # first: a request without it is started by nobody
        try:
            run_files.add_request(vault, id_, request, caller.now)
        except FileExistsError:
            continue
        except OSError:
            run_state.forget(vault, id_)
            raise
        return id_
    raise ConflictError("no free id for a run", cortex_command("run", "list"))
