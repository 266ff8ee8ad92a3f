"""What is wired into the hosts of agents, whether it can run, and what switches it off. Changes nothing.

A project's settings may come from a stranger: a program that they name is looked at, never run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from cortex.core.model.problem import CortexError, Problem
from cortex.core.text import jsonc
from cortex.hosts import hook_command, settings_edit
from cortex.hosts.hook_command import HOOK_SCRIPT
from cortex.hosts.host import Host
from cortex.hosts.table import HOSTS, user_settings_folder
from cortex.operations.capture import hooks_enabled
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import hook_log

SCOPES = ("local", "shared", "user")
_MANAGED_SETTINGS_FILES = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)
_MAX_SETTINGS_BYTES = settings_edit.MAX_BYTES  # bytes of a settings file that is looked at
_MAX_TOML_BYTES = 64 * 1024
_TIMEOUT_SECONDS = 10.0  # seconds for a Python to start


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
    """The project around a working directory: the repository's root, else the folder itself. Empty for the home folder."""
    home = os.path.realpath(os.path.expanduser("~"))
    found = checkout.find_repository(cwd)
    root = found[0] if found and found[0] != home else os.path.realpath(cwd)
    return "" if root == home else root


def settings_path(host: Host, scope: str, root: str, environ: Mapping[str, str]) -> str:
    """The settings file of a scope; empty where the host has none such, or there is no project."""
    if scope == "user":
        return os.path.join(user_settings_folder(host, environ), host.settings_file)
    name = host.local_file if scope == "local" else host.settings_file
    return os.path.join(root, host.settings_folder, name) if root and name else ""


def allowed_folders(
    host: Host, scope: str, root: str, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """The folders that a link may lead to."""
    return (
        (os.path.expanduser("~"), user_settings_folder(host, environ))
        if scope == "user"
        else (root,)
    )


def inspect_host(
    host: Host,
    root: str,
    vault: Vault | None,
    environ: Mapping[str, str],
    problems: list[Problem],
    *,
    run: bool = True,
) -> HostStatus:
    """What is wired of a host. With `run`, the Python that the person's own settings name is asked whether it finds Cortex."""
    ran = hook_log.last_runs(vault) if vault else {}
    hooks: list[InstalledHook] = []
    for scope in SCOPES:
        path = settings_path(host, scope, root, environ)
        if not path:
            continue
        try:
            found = settings_edit.find_hooks(
                settings_edit.parse(
                    path,
                    settings_edit.read(
                        settings_edit.resolve_path(
                            path, allowed_folders(host, scope, root, environ)
                        )
                    ),
                )
            )
        except (CortexError, OSError) as error:
            problems.append(
                Problem(
                    path,
                    f"cannot be read: {error}",
                    getattr(error, "hint", "") or "mend it, then cortex hooks status",
                )
            )
            continue
        order = {on.name: number for number, on in enumerate(host.events)}
        found.sort(key=lambda one: order.get(one.event, len(order)))
        hooks += [_installed_hook(host, scope, path, one, ran, run=run) for one in found]
    have = {hook.name for hook in hooks}
    missing = tuple(on.name for on in host.events if hooks and on.name not in have)
    plugin = plugin_settings_path(host, root, environ)
    return HostStatus(
        host.name,
        host.title,
        bool(hooks or plugin),
        tuple(hooks),
        missing,
        tuple(disabled_by_host(host, root, environ)),
        plugin,
    )


def host_problems(one: HostStatus) -> Iterator[Problem]:
    """What is wrong with what is wired."""
    again = "cortex hooks install " + one.host
    for (file, scope, fault), names in _names_by_fault(one.hooks).items():
        every = sum(hook.file == file for hook in one.hooks) == len(names)
        yield Problem(
            file,
            fault if every else f"{', '.join(names)}: {fault}",
            f"{again}{scope_option(one.host, scope)}",
        )
    if one.missing and one.hooks:
        yield Problem(
            one.hooks[0].file,
            f"{', '.join(one.missing)} not wired",
            f"{again}{scope_option(one.host, one.hooks[0].scope)}",
        )
    if old := sorted({hook.name for hook in one.hooks if not hook.event}):
        yield Problem(
            one.hooks[0].file,
            f"{', '.join(old)}: Cortex does not use this event any more",
            f"{again}{scope_option(one.host, one.hooks[0].scope)}",
        )
    files = {hook.scope: hook.file for hook in one.hooks}
    if len(files) > 1:
        first, second, *_ = files
        hint = f"cortex hooks remove {one.host}{scope_option(one.host, second)}"
        yield Problem(
            files[second],
            f"{one.title} is wired in {files[first]} too: every event runs Cortex twice",
            hint,
        )
    if one.plugin and one.hooks:
        hint = f"cortex hooks remove {one.host}{scope_option(one.host, one.hooks[0].scope)}"
        yield Problem(
            one.hooks[0].file,
            f"the plugin is switched on in {one.plugin} too: every event runs Cortex twice",
            hint,
        )
    if one.wired:
        yield from (
            Problem(
                one.title,
                f"is wired, but {why}",
                "take that out, or cortex hooks remove " + one.host,
            )
            for why in one.off
        )


def all_problems(vault: Vault, cwd: str) -> list[Problem]:
    """For doctor: the hooks that cannot run, those that a host keeps from running, and those that went wrong. Settings that
    cannot be read are its business only where they seem to hold hooks of ours."""
    problems: list[Problem] = []
    unread: list[Problem] = []
    root = project_root(cwd)
    for host in HOSTS.values():
        problems += host_problems(inspect_host(host, root, vault, os.environ, unread, run=False))
    return [
        *(one for one in unread if b"cortex" in _read_bytes(one.where)),
        *problems,
        *hook_log.problems(vault),
    ]


def disabled_by_user(vault: Vault | None, cwd: str, environ: Mapping[str, str]) -> Iterator[str]:
    """What a person has switched off on purpose, for all hosts."""
    if environ.get("CORTEX_OFF", "") not in ("", "0"):
        yield "CORTEX_OFF is set here"
    if path := hooks_enabled.find_off_file(cwd):
        yield f"{path} is there"
    if vault and not hooks_enabled.read_settings(vault).enabled:
        yield f"[hooks] enabled = false stands in {os.path.join(vault.root, 'cortex.toml')}"


def disabled_by_host(host: Host, root: str, environ: Mapping[str, str]) -> Iterator[str]:
    """What a host's own settings say against hooks."""
    own = user_settings_folder(host, environ)
    if host.name == "codex":
        for path in (
            os.path.join(own, "config.toml"),
            os.path.join(root, ".codex", "config.toml") if root else "",
        ):
            yield from (
                f"[features] {key} = false stands in {path}"
                for key in _codex_disabled_features(path)
            )
        return
    for path in _settings_paths(host, own, root):
        said = _read_settings(path)
        for keys in _DISABLING_KEYS.get(host.name, ()):
            held: Any = said
            for key in keys[:-1]:
                held = held.get(key) if isinstance(held, dict) else None
            wrong = host.name != "gemini"  # the value that switches hooks off
            if isinstance(held, dict) and held.get(keys[-1]) is wrong:
                yield f"{'.'.join(keys)} is {str(wrong).lower()} in {path}"
        listed: Any = said.get("hooksConfig") or said.get("hooks")
        if (
            host.name == "gemini"
            and isinstance(listed, dict)
            and isinstance(listed.get("disabled"), list)
            and "cortex" in listed["disabled"]
        ):
            yield f"the hook cortex is among those that are disabled in {path}"


def plugin_settings_path(host: Host, root: str, environ: Mapping[str, str]) -> str:
    """The settings file of Claude Code that switches our plugin on; the last one that speaks of it counts."""
    found = ""
    for path in (
        _settings_paths(host, user_settings_folder(host, environ), root)
        if host.name == "claude"
        else ()
    ):
        plugins = _read_settings(path).get("enabledPlugins")
        for name, on in plugins.items() if isinstance(plugins, dict) else ():
            if name.partition("@")[0] == "cortex":
                found = path if on else ""
    return found


_DISABLING_KEYS = {
    "claude": (
        ("disableAllHooks",),
        ("allowManagedHooksOnly",),
        ("strictPluginOnlyCustomization", "hooks"),
    ),
    "gemini": (("hooksConfig", "enabled"), ("hooks", "enabled"), ("tools", "enableHooks")),
    "copilot": (("disableAllHooks",),),
}


def _settings_paths(host: Host, own: str, root: str) -> Iterator[str]:
    if host.name == "copilot":
        own = os.path.dirname(own)
        yield from (os.path.join(own, name) for name in ("config.json", "settings.json"))
        own = os.path.join(own, "hooks")
    yield os.path.join(own, host.settings_file)
    if root:
        yield from (
            os.path.join(root, host.settings_folder, name)
            for name in (host.settings_file, host.local_file)
            if name
        )
    if host.name == "claude":
        yield from _MANAGED_SETTINGS_FILES


def _read_settings(path: str) -> dict[str, Any]:
    """What a settings file says; nothing where it cannot be read, which is told elsewhere."""
    return _parse_settings(_read_bytes(path))


@lru_cache(maxsize=8)  # several questions are asked of each file
def _parse_settings(data: bytes) -> dict[str, Any]:
    try:
        root = jsonc.parse(data.decode("utf-8", "surrogateescape"))
    except CortexError:
        return {}
    said = jsonc.to_python(root) if root else {}
    return said if isinstance(said, dict) else {}


def _codex_disabled_features(path: str) -> Iterator[str]:
    from cortex.core.text import toml  # noqa: PLC0415  Codex alone needs it

    try:
        features = toml.parse(_read_bytes(path, _MAX_TOML_BYTES).decode("utf-8", "replace")).get(
            "features", {}
        )
    except ValueError:
        return
    for key in ("hooks", "codex_hooks"):  # the second is its old name
        if isinstance(features, dict) and features.get(key) is False:
            yield key


def _read_bytes(path: str, most: int = _MAX_SETTINGS_BYTES) -> bytes:
    """The bytes of a host's settings; a person's own may be a link."""
    return files.read_bounded(path, most, follow=True)


def _installed_hook(
    host: Host,
    scope: str,
    path: str,
    one: settings_edit.HookEntry,
    ran: Mapping[tuple[str, str], hook_log.HookRun],
    *,
    run: bool,
) -> InstalledHook:
    event = next((on.event for on in host.events if on.name == one.event), "")
    runs = hook_command.resolve_program(one.command)
    if one.command.uses_path:
        there = (
            f"neither {one.command.interpreter} nor a cortex on the PATH is here"
            if one.command.interpreter
            else "there is no cortex on the PATH"
        )
        fault = "" if runs else there
    else:
        fault = _command_fault(runs, one.command.script, ask=run and scope == "user")
    last = ran.get((host.name, event))
    return InstalledHook(event, one.event, scope, path, runs, fault, *(last or ()))


_probe_results: dict[
    tuple[str, str], str
] = {}  # one process for each Python, however many hooks it runs


def _command_fault(interpreter: str, script: str, *, ask: bool) -> str:
    """Why a hook cannot run."""
    for path in (interpreter, script):
        if not os.path.exists(path):
            return f"runs {path}, which is gone"
    if not os.access(interpreter, os.X_OK):
        return f"runs {interpreter}, which is no program"
    if not ask or interpreter == sys.executable:
        return ""
    if (interpreter, script) not in _probe_results:
        _probe_results[interpreter, script] = _probe_interpreter(interpreter, script)
    return _probe_results[interpreter, script]


def _probe_interpreter(interpreter: str, script: str) -> str:
    import subprocess  # noqa: PLC0415  only for a Python that is not this one

    package = script.removesuffix(HOOK_SCRIPT).rstrip("/")
    line = [
        interpreter,
        "-I",
        "-S",
        "-c",
        "import sys; sys.path.insert(0, sys.argv[1]); import cortex.core.model.problem",
        os.path.dirname(package),
    ]
    try:
        done = subprocess.run(
            line,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return f"runs {interpreter}, which does not start"
    return "" if done.returncode == 0 else f"runs {interpreter}, which does not find Cortex"


def _names_by_fault(hooks: Iterable[InstalledHook]) -> dict[tuple[str, str, str], list[str]]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for hook in hooks:
        if hook.fault:
            found.setdefault((hook.file, hook.scope, hook.fault), []).append(hook.name)
    return found


def scope_option(host: str, scope: str) -> str:
    """The option that names a scope."""
    return (
        " --user"
        if scope == "user"
        else " --shared"
        if scope == "shared" and HOSTS[host].local_file
        else ""
    )
