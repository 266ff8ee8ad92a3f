"""Install, remove and show the hooks of Cortex in the settings of agents' hosts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Literal

from cortex.core.model.caller import Caller
from cortex.core.model.problem import (
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
    problem_of,
)
from cortex.core.text.value import NamedTuple
from cortex.hosts import hook_settings, settings_file
from cortex.hosts.hook_command import HookCommand
from cortex.hosts.hook_settings import HOOK_FILE, HOSTS, wanted_entries
from cortex.hosts.host import Host
from cortex.hosts.settings_file import SettingsChange
from cortex.index.refresh import query_index
from cortex.operations.care import hook_status
from cortex.operations.care.hook_status import HostStatus
from cortex.operations.care.trial import Trial, server_problems, try_servers
from cortex.operations.projects.project import unstable_name_hint
from cortex.operations.sessions.rules_file import SKILL_FILES
from cortex.vault.git import checkout, git_cli
from cortex.vault.locate import Vault, find_vault

_GIT_TIMEOUT_SECONDS = 5.0  # seconds for git to say what it leaves out
HostName = Literal["claude", "codex", "gemini", "cursor", "copilot", "windsurf"]


class HookSettingsChange(NamedTuple):
    """What was done to one file, or would be."""

    host: str
    file: str
    outcome: str  # wired, updated, unchanged, taken out, removed (the whole file), not there
    events: tuple[str, ...]
    diff: str = ""  # only when nothing was written


class HooksResult(NamedTuple):
    """The hosts, after what was asked has been done."""

    action: str
    dry_run: bool
    changed: tuple[HookSettingsChange, ...]
    hosts: tuple[HostStatus, ...]
    off: tuple[str, ...]  # what a person has switched off for all hosts
    search_index: str  # after an install: current, updated, built; else empty
    servers: tuple[Trial, ...]  # of MCP, with status
    next: tuple[str, ...]
    problems: tuple[Problem, ...]


def hooks(
    caller: Caller,
    action: Literal["install", "remove", "status"],
    hosts: list[HostName] | None = None,
    *,
    project: bool = False,
    user: bool = False,
    shared: bool = False,
    dry_run: bool = False,
) -> HooksResult:
    """Wire Cortex into agents, so that what a session learns stays.

    Each session then starts with what earlier ones kept. install and remove change only the entries
    of Cortex; every other byte of the settings stays. install runs the hook once in a temporary vault
    and prints the result; status repeats that, and starts the servers of cortex mcp install.

    In a project, Claude Code is wired in .claude/settings.local.json, which git does not share, with
    the path of this Python. For other hosts, and with --shared, the entry is a shell command for any
    machine: it runs this Python if it exists, else cortex from the PATH, else nothing. opencode uses
    plugins/opencode/cortex.ts. A file .cortex-off in a folder, CORTEX_OFF=1, or enabled = false below
    [hooks] in cortex.toml switches hooks off.

    action: install, remove or status
    hosts: claude, codex, gemini, cursor, copilot, windsurf; remove and status take all by default
    project: the settings of the project around the working directory; the default
    user: your own settings, for all projects
    shared: for Claude Code the project's file that git shares, with the command for any machine
    dry_run: show what would change in which file, and change nothing

    Example: cortex hooks install claude
    Example: cortex hooks install claude codex --user --dry-run
    Example: cortex hooks status --json
    """
    chosen, root = _select(caller.cwd, action, hosts, project=project, user=user, shared=shared)
    problems: list[Problem] = []
    vault = _find_vault_here(caller.cwd, problems)
    # Everything is looked at before anything is written.
    changing = chosen if action != "status" else []
    changes = [
        (host, _plan_change(host, action, root, user=user, shared=shared)) for host in changing
    ]
    search_index = ""
    if not dry_run:
        for _, change in changes:
            settings_file.apply_change(change)
        if action == "install" and vault:
            search_index = _refresh_index(vault, caller, problems)
    seen = hook_status.inspect_hosts(chosen, root, vault, problems)
    servers = try_servers(root, hosts=hosts or ()) if action == "status" else []
    problems += server_problems(servers)
    if action != "remove" and not dry_run:
        problems += [problem for one in seen for problem in hook_status.host_problems(one)]
    changed = tuple(_as_done(*pair, action, dry_run=dry_run) for pair in changes)
    after = action != "status" and not dry_run
    next_ = tuple(_next_steps(changed, seen, root, caller.cwd)) if after else ()
    off = tuple(hook_status.disabled_by_user(vault, caller.cwd))
    return HooksResult(
        action, dry_run, changed, seen, off, search_index, tuple(servers), next_, tuple(problems)
    )


def _select(
    cwd: str, action: str, hosts: list[HostName] | None, *, project: bool, user: bool, shared: bool
) -> tuple[list[Host], str]:
    """The named hosts, or all, and the project around `cwd`; `InvalidInputError` for a clash."""
    chosen = [HOSTS[name] for name in dict.fromkeys(hosts or ())]
    if not chosen and action == "install":
        hint = f"cortex hooks install {' or '.join(HOSTS)}"
        raise InvalidInputError("which host is to be wired?", hint)
    chosen = chosen or list(HOSTS.values())
    if user and (shared or project):
        other = "shared" if shared else "project"
        raise InvalidInputError(f"--user and --{other} name different files", "give one of the two")
    root = hook_status.project_root(cwd)
    if not root and not user and action != "status":
        command = " ".join(["cortex hooks", action, *(hosts or ()), "--user"])
        hint = f"{command}, or run it in a project"
        raise InvalidInputError("your home folder is no project", hint)
    return chosen, root


def _as_done(
    host: Host, change: SettingsChange, action: str, *, dry_run: bool
) -> HookSettingsChange:
    said = _outcome(change, action), change.changed_events, change.diff() if dry_run else ""
    return HookSettingsChange(host.name, change.file, *said)


def _next_steps(
    done: Sequence[HookSettingsChange], seen: Sequence[HostStatus], root: str, cwd: str
) -> Iterator[str]:
    """What is left for the user to do; a host's own step only if its settings changed."""
    installed = any(one.outcome in ("wired", "updated", "unchanged") for one in done)
    for one in done:
        if one.outcome in ("wired", "updated"):
            yield HOSTS[one.host].next_step
    has_skill = any(os.path.lexists(os.path.join(root, path)) for path in SKILL_FILES)
    if any(one.outcome == "wired" for one in done) and not has_skill:
        yield "a skill tells agents in a project how to ask its memory: cortex brief --into skill"
    for status in seen if installed else ():
        host = HOSTS[status.host]
        name = f"{host.settings_folder}/{host.local_file}"
        if any(hook.scope == "local" for hook in status.hooks) and _is_shared_by_git(root, name):
            command = f"echo {name} >> .gitignore"
            yield f"git would share {name}, with its path of this machine: {command}"
    if installed:
        yield from filter(None, [unstable_name_hint(cwd)])
        return
    for status in seen:
        for scope, file in dict.fromkeys((hook.scope, hook.file) for hook in status.hooks):
            remove = hook_status.hooks_command("remove", status.host, scope)
            yield f"{status.title} is wired in {file} still: {remove}"


def _is_shared_by_git(root: str, path: str) -> bool:
    """Whether git tracks or would add `path`: only the host itself makes git ignore it."""
    if checkout.find_repository(root) is None:
        return False
    words = ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", path]
    try:
        return bool(git_cli.run(root, words, timeout=_GIT_TIMEOUT_SECONDS))
    except CortexError:  # a hint is not worth waiting for
        return False


def _plan_change(host: Host, action: str, root: str, *, user: bool, shared: bool) -> SettingsChange:
    scope = "user" if user else "shared" if shared or not host.local_file else "local"
    path = hook_status.settings_path(host, scope, root)
    real = settings_file.resolve_path(path, hook_status.allowed_folders(host, scope, root))
    if action == "remove":
        return hook_settings.plan_removal(path, real, host.required_fields, own=host.is_own_file)
    present: dict[str, HookCommand] = {}
    if scope == "shared":
        entries = hook_settings.installed_hooks(path, real)
        # The first one of an event stays.
        present = {one.event: one.command for one in reversed(entries)}
    wanted = wanted_entries(host, _interpreter(), shared=scope == "shared", standing=present)
    return hook_settings.plan_install(path, real, wanted, host.required_fields)


def _interpreter() -> str:
    hint = "run cortex from another Python"
    if not sys.executable:
        raise CortexError("the path of this Python is unknown, so no hook can run it", hint)
    try:
        (sys.executable + HOOK_FILE).encode()
    except UnicodeEncodeError:
        message = "the path of this Python is no UTF-8, so it cannot stand in settings"
        raise CortexError(message, hint) from None
    return sys.executable


def _find_vault_here(cwd: str, problems: list[Problem]) -> Vault | None:
    """The vault that a hook would use here; none is a problem."""
    try:
        return find_vault("", cwd, os.environ)
    except NotFoundError:
        message = "is in no vault, so that hooks here keep and tell nothing"
        hint = "cortex init makes one, --default one for all projects"
        problems.append(Problem(cwd, message, hint))
        return None


def _refresh_index(vault: Vault, caller: Caller, problems: list[Problem]) -> str:
    """Refresh the search index now, so that the first session need not wait for it."""
    try:
        return query_index(vault, caller.progress, lambda index: index.outcome, words=True)
    except (CortexError, OSError) as error:
        prefix = "the search index was not brought up to date: "
        problems.append(problem_of(vault.root, error, "cortex doctor", prefix))
        return ""


def _outcome(change: SettingsChange, action: str) -> str:
    if not change.has_changes:
        return "not there" if action == "remove" else "unchanged"
    if action == "remove":
        return "removed" if change.after is None else "taken out"
    return "updated" if change.had_hooks else "wired"
