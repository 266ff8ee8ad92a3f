"""Which hooks are in the settings of hosts, whether they can run, and what switches them off.

A project's settings may come from a stranger: a program that they name is never run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import Any

from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.text.tables import parse_toml
from cortex.core.text.value import NamedTuple
from cortex.hosts import hook_command, jsonc, settings_file
from cortex.hosts.hook_command import HookCommand
from cortex.hosts.hook_settings import HOOK_FILE, HOSTS, installed_hooks
from cortex.hosts.host import STOP, Host
from cortex.operations.capture import hooks_enabled
from cortex.operations.care.trial import try_hook
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import hook_log

SCOPES = ("local", "shared", "user")
_MANAGED_SETTINGS_FILES = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)
_COPILOT_FILES = ("config.json", "settings.json")
# Keys that switch hooks off: of Gemini CLI where they are false, of the others where they are true.
_DISABLING_KEYS = {
    "claude": (
        ("disableAllHooks",),
        ("allowManagedHooksOnly",),
        ("strictPluginOnlyCustomization", "hooks"),
    ),
    "gemini": (("hooksConfig", "enabled"), ("hooks", "enabled"), ("tools", "enableHooks")),
    "copilot": (("disableAllHooks",),),
}  # fmt: skip
_MAX_TOML_BYTES = 64 * 1024


class InstalledHook(NamedTuple):
    """One event of a host that runs Cortex."""

    event: str  # as `cortex hook` calls it; empty for one that we use no more
    name: str  # as the host does
    scope: str  # local: the project's, not shared by git; shared: the project's; user
    file: str
    runs: str  # the interpreter, or cortex from the path, or nothing where neither is here
    fault: str  # why it cannot run; empty when it can
    at: str = ""  # when it ran last, as far as is known
    ms: int = 0
    problem: str = ""  # what went wrong then
    seen: str = ""  # what it did when it was run once, of the hook for the end of a turn


class HostStatus(NamedTuple):
    """One host."""

    host: str
    title: str
    wired: bool
    hooks: tuple[InstalledHook, ...]
    missing: tuple[str, ...]  # events of ours that are not wired though others are
    off: tuple[str, ...]  # what in the host's settings keeps it from running them
    plugin: str = ""  # the settings that switch on our plugin, which brings hooks of its own


def project_root(cwd: str) -> str:
    """The root of the repository around `cwd`, else `cwd` itself; empty for the home folder."""
    home = os.path.realpath(os.path.expanduser("~"))
    found = checkout.find_repository(cwd)
    root = found[0] if found and found[0] != home else os.path.realpath(cwd)
    return "" if root == home else root


def settings_path(host: Host, scope: str, root: str) -> str:
    """The settings file of a scope; empty where the host has none such, or there is no project."""
    if scope == "user":
        return os.path.join(host.user_settings_folder(os.environ), host.settings_file)
    name = host.local_file if scope == "local" else host.settings_file
    return os.path.join(root, host.settings_folder, name) if root and name else ""


def allowed_folders(host: Host, scope: str, root: str) -> tuple[str, ...]:
    """The folders that a link may lead to."""
    if scope == "user":
        return os.path.expanduser("~"), host.user_settings_folder(os.environ)
    return (root,)


def inspect_host(host: Host, root: str, vault: Vault | None, problems: list[Problem]) -> HostStatus:
    """The hooks of one host, of which one is run. Settings that cannot be read are added to
    `problems`."""
    last_runs = hook_log.last_runs(vault) if vault else {}
    order = {on.name: number for number, on in enumerate(host.events)}
    hooks: list[InstalledHook] = []
    for scope in SCOPES:
        path = settings_path(host, scope, root)
        if not path:
            continue
        try:
            real = settings_file.resolve_path(path, allowed_folders(host, scope, root))
            entries = installed_hooks(path, real)
        except (CortexError, OSError) as error:
            hint = "mend it, then cortex hooks status"
            problems.append(problem_of(path, error, hint, "cannot be read: "))
            continue
        for entry in sorted(entries, key=lambda one: order.get(one.event, len(order))):
            event = next((on.event for on in host.events if on.name == entry.event), "")
            runs, fault = _program_and_fault(entry.command)
            seen = ""
            if event == STOP and not fault and (scope == "user" or _is_ours(entry.command)):
                with suppress(OSError):  # such as a full disk, which is told elsewhere
                    seen, fault = try_hook(host, entry.command.argv)
            last = last_runs.get((host.name, event)) or ("", 0, "")
            hooks.append(InstalledHook(event, entry.event, scope, path, runs, fault, *last, seen))
    have = {hook.name for hook in hooks}
    plugin = plugin_settings_path(host, root)
    missing = tuple(on.name for on in host.events if hooks and on.name not in have)
    off, is_wired = tuple(disabled_by_host(host, root)), bool(hooks or plugin)
    return HostStatus(host.name, host.title, is_wired, tuple(hooks), missing, off, plugin)


def host_problems(one: HostStatus) -> Iterator[Problem]:
    """What is wrong with what is wired."""
    by_fault: dict[tuple[str, str, str], list[str]] = {}
    for hook in one.hooks:
        if hook.fault:
            by_fault.setdefault((hook.file, hook.scope, hook.fault), []).append(hook.name)
    for (file, scope, fault), names in by_fault.items():
        is_whole_file = sum(hook.file == file for hook in one.hooks) == len(names)
        message = fault if is_whole_file else f"{', '.join(names)}: {fault}"
        yield Problem(file, message, hooks_command("install", one.host, scope))
    if one.hooks:
        yield from _wiring_problems(one)
    for why in one.off if one.wired else ():
        hint = f"take that out, or {hooks_command('remove', one.host)}"
        yield Problem(one.title, f"is wired, but {why}", hint)


def _wiring_problems(one: HostStatus) -> Iterator[Problem]:
    first = one.hooks[0]
    install = hooks_command("install", one.host, first.scope)
    if one.missing:
        yield Problem(first.file, f"{', '.join(one.missing)} not wired", install)
    if old := sorted({hook.name for hook in one.hooks if not hook.event}):
        message = f"{', '.join(old)}: Cortex does not use this event any more"
        yield Problem(first.file, message, install)
    twice = "every event runs Cortex twice"
    files_by_scope = {hook.scope: hook.file for hook in one.hooks}
    if len(files_by_scope) > 1:
        scope, other, *_ = files_by_scope
        message = f"{one.title} is wired in {files_by_scope[scope]} too: {twice}"
        yield Problem(files_by_scope[other], message, hooks_command("remove", one.host, other))
    if one.plugin:
        message = f"the plugin is switched on in {one.plugin} too: {twice}"
        yield Problem(first.file, message, hooks_command("remove", one.host, first.scope))


def all_problems(vault: Vault, cwd: str) -> list[Problem]:
    """For doctor: hooks that cannot run, that a host switches off, or that failed; settings that
    cannot be read only if they name Cortex."""
    unread: list[Problem] = []
    seen = inspect_hosts(HOSTS.values(), project_root(cwd), vault, unread)
    problems = [problem for one in seen for problem in host_problems(one)]
    ours = [one for one in unread if b"cortex" in _read_bytes(one.where)]
    return [*ours, *problems, *hook_log.problems(vault)]


def inspect_hosts(
    hosts: Iterable[Host], root: str, vault: Vault | None, problems: list[Problem]
) -> tuple[HostStatus, ...]:
    """The hooks of these hosts, looked at all at the same time."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        return tuple(pool.map(lambda host: inspect_host(host, root, vault, problems), hosts))


def disabled_by_user(vault: Vault | None, cwd: str) -> Iterator[str]:
    """What a person has switched off on purpose, for all hosts."""
    if os.environ.get("CORTEX_OFF", "") not in ("", "0"):
        yield "CORTEX_OFF is set here"
    if path := hooks_enabled.find_off_file(cwd):
        yield f"{path} is there"
    if vault and not hooks_enabled.read_settings(vault).enabled:
        yield f"[hooks] enabled = false stands in {vault.file('cortex.toml')}"


def disabled_by_host(host: Host, root: str) -> Iterator[str]:
    """What a host's own settings say against hooks."""
    if host.name == "codex":
        yield from _codex_disabled_features(host, root)
        return
    for path in _settings_paths(host, root):
        settings = _parse_settings(_read_bytes(path))
        for keys in _DISABLING_KEYS.get(host.name, ()):
            table: Any = settings
            for key in keys[:-1]:
                table = table.get(key) if isinstance(table, dict) else None
            off = host.name != "gemini"  # the value that switches hooks off
            if isinstance(table, dict) and table.get(keys[-1]) is off:
                yield f"{'.'.join(keys)} is {str(off).lower()} in {path}"
        listed: Any = settings.get("hooksConfig") or settings.get("hooks")
        disabled = listed.get("disabled") if isinstance(listed, dict) else None
        if host.name == "gemini" and isinstance(disabled, list) and "cortex" in disabled:
            yield f"the hook cortex is among those that are disabled in {path}"


def plugin_settings_path(host: Host, root: str) -> str:
    """The settings file of Claude Code that enables our plugin; the last one counts."""
    found = ""
    for path in _settings_paths(host, root) if host.name == "claude" else ():
        plugins = _parse_settings(_read_bytes(path)).get("enabledPlugins")
        for name, on in plugins.items() if isinstance(plugins, dict) else ():
            if name.partition("@")[0] == "cortex":
                found = path if on else ""
    return found


def _settings_paths(host: Host, root: str) -> Iterator[str]:
    """The settings that count for a host, the person's own first."""
    own = host.user_settings_folder(os.environ)
    if host.name == "copilot":
        yield from (os.path.join(os.path.dirname(own), name) for name in _COPILOT_FILES)
    yield os.path.join(own, host.settings_file)
    for name in (host.settings_file, host.local_file):
        if root and name:
            yield os.path.join(root, host.settings_folder, name)
    if host.name == "claude":
        yield from _MANAGED_SETTINGS_FILES


@lru_cache(maxsize=8)  # several questions are asked of each file
def _parse_settings(data: bytes) -> dict[str, Any]:
    """What a settings file says; nothing where it cannot be read, which is told elsewhere."""
    try:
        root = jsonc.parse(data.decode("utf-8", "surrogateescape"))
    except CortexError:
        return {}
    settings = jsonc.to_python(root) if root else {}
    return settings if isinstance(settings, dict) else {}


def _codex_disabled_features(host: Host, root: str) -> Iterator[str]:
    folders = [host.user_settings_folder(os.environ)]
    folders += [os.path.join(root, ".codex")] if root else []
    for folder in folders:
        path = os.path.join(folder, "config.toml")
        try:
            settings = parse_toml(_read_bytes(path, _MAX_TOML_BYTES).decode("utf-8", "replace"))
        except ValueError:
            continue
        features = settings.get("features", {})
        for key in ("hooks", "codex_hooks"):  # the second is its old name
            if isinstance(features, dict) and features.get(key) is False:
                yield f"[features] {key} = false stands in {path}"


def _read_bytes(path: str, most: int = settings_file.MAX_BYTES) -> bytes:
    """The bytes of a host's settings; a person's own may be a link."""
    return files.read_bounded(path, most, follow=True)


def _is_ours(line: HookCommand) -> bool:
    """Whether what a project's settings name is this Cortex, or the one that is on the PATH."""
    named = line.interpreter, line.script
    return named in (("", ""), (sys.executable, HOOK_FILE)) or (
        line.uses_path and not os.path.exists(line.interpreter)
    )


def _program_and_fault(line: HookCommand) -> tuple[str, str]:
    """What a line of settings runs here, and why it cannot, as far as that is seen from outside."""
    program = hook_command.resolve_program(line)
    if not line.uses_path:
        return program, _command_fault(program, line.script)
    if program:
        return program, ""
    if line.interpreter:
        return "", f"neither {line.interpreter} nor a cortex on the PATH is here"
    return "", "there is no cortex on the PATH"


def _command_fault(interpreter: str, script: str) -> str:
    """Why a hook cannot run."""
    for path in (interpreter, script):
        try:
            os.stat(path)
        except PermissionError:
            return f"runs {path}, which you may not read: permission denied"
        except (OSError, ValueError):
            return f"runs {path}, which is gone"
    if not os.access(interpreter, os.X_OK):
        return f"runs {interpreter}, which is no program"
    return ""


def hooks_command(action: str, host: str, scope: str = "") -> str:
    """The command for the settings of a scope."""
    needs_option = scope == "user" or (scope == "shared" and HOSTS[host].local_file)
    return f"cortex hooks {action} {host}{f' --{scope}' if needs_option else ''}"
