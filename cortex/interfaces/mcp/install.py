"""Write the server into the settings of hosts, or take it out, and run once what was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

from cortex.core.model.problem import InvalidInputError
from cortex.hosts import mcp_settings, settings_file
from cortex.hosts.mcp_settings import McpChange
from cortex.hosts.settings_file import SettingsChange
from cortex.operations.care.hook_status import project_root
from cortex.operations.care.trial import try_servers


def change_settings(
    cwd: str,
    action: Literal["install", "remove"],
    hosts: Sequence[str],
    words: Sequence[str],
    *,
    user: bool,
    dry_run: bool,
) -> Iterable[McpChange]:
    """What was done for each host, or would be. `words` are options of the server. Raises as
    `mcp_settings.plan_change`."""
    if not hosts:
        hint = f"cortex mcp {action} {' or '.join(mcp_settings.HOSTS)}"
        raise InvalidInputError("which host?", hint)
    root = project_root(cwd)
    plan = partial(mcp_settings.plan_change, action=action, root=root, words=words, user=user)
    once = dict.fromkeys(hosts)
    # Everything is looked at before anything is written.
    planned = [plan(one) for one in once]
    if dry_run:
        return [change.as_plan(todo) for change, todo in planned]
    done = []
    for one in once:
        done.append(plan(one))  # anew, since two hosts may have one file
        settings_file.apply_change(done[-1][1])
    return _try_installed(done, root) if action == "install" else [change for change, _ in done]


def _try_installed(done: list[tuple[McpChange, SettingsChange]], root: str) -> Iterator[McpChange]:
    """The changes, with what the servers did when they were started. A new entry in the user's own
    settings is taken out again if its server does not answer; that of a project stays: the file is
    right, and others share it."""
    trials = {one.file: one for one in try_servers(root, files=[one.file for one, _ in done])}
    for change, todo in done:
        trial = trials.get(change.file)
        if trial is None or not trial.fault:
            yield change._replace(seen=trial.seen if trial else "")
            continue
        failed = change._replace(fault=trial.fault, next_step=trial.hint)
        if trial.is_own and not todo.had_hooks:
            back = todo._replace(before=todo.after, after=todo.before, install_record=None)
            settings_file.apply_change(back)
            failed = failed._replace(outcome="not installed")
        yield failed
