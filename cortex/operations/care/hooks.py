"""The hooks by which an agent's host tells Cortex what happens: wired into its settings, taken out, looked at."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError, Problem
from cortex.hosts import settings_edit
from cortex.hosts.host import Host
from cortex.hosts.settings_edit import SettingsChange
from cortex.hosts.table import HOSTS, hook_script, wanted_entries
from cortex.operations.care import hook_status
from cortex.operations.care.hook_status import HostStatus
from cortex.vault.git import checkout, git_cli
from cortex.vault.locate import Vault, find_vault

_GIT_TIMEOUT_SECONDS = 5.0  # seconds for git to say what it leaves out
ACTIONS = ("install", "remove", "status")


class HookSettingsChange(NamedTuple):
    """What was done to one file, or would be."""

    host: str
    file: str
    outcome: (
        str  # wired, updated, unchanged, taken out, removed (the file was ours alone), not there
    )
    events: tuple[str, ...]
    diff: str = ""  # only when nothing was written


class HooksResult(NamedTuple):
    """The hosts, after what was asked has been done."""

    action: str
    dry_run: bool
    changed: tuple[HookSettingsChange, ...]
    hosts: tuple[HostStatus, ...]
    off: tuple[str, ...]  # what a person has switched off for all hosts
    search_index: str  # how it was found after an install: current, updated, built; empty when it was not looked at
    next: tuple[str, ...]
    problems: tuple[Problem, ...]


def hooks(
    caller: Caller,
    action: str,
    hosts: str = "",
    *,
    project: bool = False,
    user: bool = False,
    shared: bool = False,
    dry_run: bool = False,
) -> HooksResult:
    """Wire Cortex into the agents that you use: what a session learns is kept, and the next one starts knowing it.

    Only entries of Cortex are written, replaced and taken out; comments, the order, other hooks and every other byte stay. An install
    that nobody edited is taken out without a trace. In a project, Claude Code is wired in .claude/settings.local.json, which git does
    not share, with the path of this Python. Other hosts have no such file: there, and with --shared, stands a line for the shell that
    runs this Python by its path where that is there, else cortex from the PATH, else nothing. It names a path of the machine that wrote
    it, and is left as it is by an install on another machine on which it can run. A file .cortex-off in a folder, CORTEX_OFF=1, or
    enabled = false below [hooks] in cortex.toml switch all of it off.

    action: install, remove or status
    hosts: claude, codex, gemini, cursor, copilot, windsurf, with blanks between; remove and status take all when none is named
    project: the settings of the project around the working directory; the default
    user: your own settings, for all projects
    shared: of Claude Code the file of the project that git shares, with the line for any machine
    dry_run: show what would change in which file, and change nothing

    Example: cortex hooks install claude
    Example: cortex hooks install claude codex --user --dry-run
    Example: cortex hooks status --json
    """
    chosen = _select_hosts(action, hosts)
    if user and (shared or project):
        raise InvalidInputError(
            f"--user and --{'shared' if shared else 'project'} name different files",
            "give one of the two",
        )
    root = hook_status.project_root(caller.cwd)
    if not root and not user and action != "status":
        raise InvalidInputError(
            "your home folder is no project",
            f"cortex hooks {action} {hosts} --user, or run it in a project",
        )
    problems: list[Problem] = []
    vault = _find_vault_here(caller.cwd)
    if vault is None:
        problems.append(
            Problem(
                caller.cwd,
                "is in no vault, so that hooks here keep and tell nothing",
                "cortex init makes one, --default one for all projects",
            )
        )
    changes = (
        []
        if action == "status"
        else [_plan_change(host, action, root, user=user, shared=shared) for host in chosen]
    )
    found = ""
    if not dry_run:
        for _, change in changes:
            settings_edit.apply_change(change)
        if action == "install" and vault:
            found = _refresh_index(vault, caller, problems)
    seen = tuple(
        hook_status.inspect_host(host, root, vault, os.environ, problems) for host in chosen
    )
    if action != "remove" and not dry_run:
        problems += [problem for one in seen for problem in hook_status.host_problems(one)]
    off = tuple(hook_status.disabled_by_user(vault, caller.cwd, os.environ))
    done = tuple(
        _describe_change(host, change, action, dry_run=dry_run) for host, change in changes
    )
    after = (
        () if action == "status" or dry_run else tuple(_next_steps(done, seen, root, caller.cwd))
    )
    return HooksResult(action, dry_run, done, seen, off, found, after, tuple(problems))


def _next_steps(
    done: Sequence[HookSettingsChange], seen: Sequence[HostStatus], root: str, cwd: str
) -> Iterator[str]:
    """What is left for the person to do; after an install that changed nothing of a host, not what that asked for then."""
    installed = any(one.outcome in ("wired", "updated", "unchanged") for one in done)
    for one in done:
        if one.outcome in ("wired", "updated"):
            yield HOSTS[one.host].next_step
    for host in seen:
        if (
            installed
            and any(hook.scope == "local" for hook in host.hooks)
            and _is_shared_by_git(root, host)
        ):
            name = f"{HOSTS[host.host].settings_folder}/{HOSTS[host.host].local_file}"
            yield f"git would share {name}, with its path of this machine: echo {name} >> .gitignore"
    if installed:
        from cortex.operations.projects import project_file  # noqa: PLC0415  only here

        yield from filter(None, [project_file.unstable_name_hint(cwd)])
        return
    for host in seen:
        for scope, file in dict.fromkeys((hook.scope, hook.file) for hook in host.hooks):
            yield f"{host.title} is wired in {file} still: cortex hooks remove {host.host}{hook_status.scope_option(host.host, scope)}"


def _is_shared_by_git(root: str, one: HostStatus) -> bool:
    """Whether git does not leave the project's local settings out, as the host lets it when it makes the file itself."""
    if checkout.find_repository(root) is None:
        return False
    path = f"{HOSTS[one.host].settings_folder}/{HOSTS[one.host].local_file}"
    try:
        listed = git_cli.run_unchecked(
            root,
            ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", path],
            timeout=_GIT_TIMEOUT_SECONDS,
        )
    except CortexError:  # a hint is not worth waiting for
        return False
    return listed.code == 0 and bool(listed.stdout)


def _select_hosts(action: str, names: str) -> list[Host]:
    if action not in ACTIONS:
        raise InvalidInputError(
            f"cortex hooks knows {', '.join(ACTIONS[:-1])} and {ACTIONS[-1]}, not {action!r}",
            "cortex hooks status",
        )
    asked = list(dict.fromkeys(names.lower().replace(",", " ").split()))
    if unknown := [name for name in asked if name not in HOSTS]:
        raise InvalidInputError(
            f"there is no host {unknown[0]!r}",
            f"the hosts are {', '.join(HOSTS)}; opencode takes plugins/opencode/cortex.ts",
        )
    if not asked and action == "install":
        raise InvalidInputError(
            "which host is to be wired?", f"cortex hooks install {' or '.join(HOSTS)}"
        )
    return [HOSTS[name] for name in asked or HOSTS]


def _plan_change(
    host: Host, action: str, root: str, *, user: bool, shared: bool
) -> tuple[Host, SettingsChange]:
    """What is to be done; everything is looked at before anything is written."""
    scope = "user" if user else "shared" if shared or not host.local_file else "local"
    path = hook_status.settings_path(host, scope, root, os.environ)
    real = settings_edit.resolve_path(
        path, hook_status.allowed_folders(host, scope, root, os.environ)
    )
    if action == "remove":
        return host, settings_edit.plan_removal(
            path, real, host.required_fields, own=host.is_own_file
        )
    if scope != "shared":
        return host, settings_edit.plan_install(
            path, real, wanted_entries(host, _interpreter()), host.required_fields
        )
    held = reversed(
        settings_edit.find_hooks(settings_edit.parse(path, settings_edit.read(real)))
    )  # the first one of an event stays
    wanted = wanted_entries(
        host, _interpreter(), shared=True, standing={one.event: one.command for one in held}
    )
    return host, settings_edit.plan_install(path, real, wanted, host.required_fields)


def _interpreter() -> str:
    try:
        (sys.executable + hook_script()).encode()
    except UnicodeEncodeError:
        raise CortexError(
            "the path of this Python is no UTF-8, so it cannot stand in settings",
            "run cortex from another Python",
        ) from None
    if not sys.executable:
        raise CortexError(
            "the path of this Python is unknown, so no hook can run it",
            "run cortex from an installed Python",
        )
    return sys.executable


def _find_vault_here(cwd: str) -> Vault | None:
    """The vault that a hook would use here."""
    try:
        return find_vault("", cwd, os.environ)
    except NotFoundError:
        return None


def _refresh_index(vault: Vault, caller: Caller, problems: list[Problem]) -> str:
    """Bring the search index up to date now, so that the first session need not wait for it."""
    from cortex.index.refresh import query_index  # noqa: PLC0415  remove and status have no use for it

    try:
        return query_index(vault, caller.progress, lambda now: now.outcome)
    except (CortexError, OSError) as error:
        problems.append(
            Problem(
                vault.root, f"the search index was not brought up to date: {error}", "cortex doctor"
            )
        )
        return ""


def _describe_change(
    host: Host, change: SettingsChange, action: str, *, dry_run: bool
) -> HookSettingsChange:
    if action == "remove":
        outcome = (
            "not there"
            if not change.has_changes
            else "removed"
            if change.after is None
            else "taken out"
        )
    else:
        outcome = (
            "unchanged" if not change.has_changes else "updated" if change.had_hooks else "wired"
        )
    return HookSettingsChange(
        host.name, change.file, outcome, change.changed_events, _diff(change) if dry_run else ""
    )


def _diff(change: SettingsChange) -> str:
    from difflib import unified_diff  # noqa: PLC0415  only to show what would change

    before, after = (_decode_lines(data) for data in (change.before, change.after))
    return "\n".join(
        unified_diff(
            before,
            after,
            change.file if change.before is not None else "(none)",
            change.file,
            lineterm="",
        )
    )


def _decode_lines(data: bytes | None) -> Sequence[str]:
    return (data or b"").decode("utf-8", "replace").split("\n") if data else []
