"""Make a folder a vault. What is there already stays as it is."""

from __future__ import annotations

import json
import os
from typing import Annotated

from cortex.core.briefing.injected import DEFAULT_BUDGET_TOKENS
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import OUTSIDE_PATH, PERSON_SETTING
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, Problem
from cortex.core.text.strings import cortex_command
from cortex.core.text.value import NamedTuple
from cortex.hosts import mcp_settings, settings_file
from cortex.hosts.hook_settings import HOSTS
from cortex.operations.care import obsidian_settings, trial
from cortex.operations.care.hook_status import project_root
from cortex.operations.care.hooks import hooks
from cortex.operations.projects.project import write_project_file
from cortex.operations.sessions import hook_briefing, rules_file
from cortex.operations.upkeep.vault_files import add_vault_files, has_notes, set_default_vault
from cortex.vault import files, layout
from cortex.vault.foreign_settings import list_agent_settings
from cortex.vault.git import checkout, drivers, git_cli
from cortex.vault.locate import Vault, real_folder
from cortex.vault.state import known_vaults
from cortex.vault.state.briefing_cache import requested_key

_FOLDERS = ("cortex", "cortex-memory")  # the first that is free


class InitResult(NamedTuple):
    """A vault and the files that were added to make it one."""

    root: str
    added: tuple[str, ...]  # relative to the root: `../.cortex-project` lies in the folder above
    default: bool
    folder: str = (
        ""  # below which everything of Cortex lies, where there were notes and none was named
    )
    agent_settings: tuple[str, ...] = ()  # found there, such as `.claude`; none is used
    obsidian: str = ""  # its settings, where they were changed
    excluded: tuple[str, ...] = ()  # folders that its search and graph leave out from now on
    included: tuple[str, ...] = ()  # those that they show again
    undo: str = ""  # the command that takes the change of the settings back
    repository: str = ""  # of git: made, or why there is none; empty where there was one
    setup: tuple[str, ...] = ()  # files of the project that --setup and --wire have written
    settings: str = ""  # JSON of what wires Claude Code, and any host of MCP
    wired: tuple[trial.Trial, ...] = ()  # what --wire wrote, as it was tried
    problems: tuple[Problem, ...] = ()


def init(
    caller: Caller,
    directory: Annotated[str, OUTSIDE_PATH] = ".",
    *,
    default: Annotated[bool, PERSON_SETTING] = False,
    obsidian: bool = False,
    no_obsidian: bool = False,
    folder: str = "",
    no_git: bool = False,
    setup: bool = False,
    force: bool = False,
    wire: bool = False,
) -> InitResult:
    """Make a folder a vault; no note in it changes.

    The folder may be empty, an Obsidian vault or any folder of notes. If it is in no git repository,
    init makes one, and commits nothing. A file .cortex-project at the root of the repository names
    the project, so that a clone, a copy, a move or a new remote keeps its name; one that exists stays.

    Settings of agents in the folder, such as .claude or .mcp.json, are listed, neither trusted nor
    installed. The settings that wire Claude Code by hand are printed as JSON.

    Where there are notes, everything of Cortex goes below cortex/; --folder . puts it beside them.
    Views of actions, decisions, meetings and sessions for Obsidian are written once.

    In an Obsidian vault --obsidian adds events/ and inbox/, which are for machines, to its excluded
    files; on a terminal init asks. No other byte of its settings changes.

    directory: the folder, made when missing; by default the working directory
    default: use it for commands where no other vault is found
    obsidian: exclude events and inbox from the search and graph of Obsidian
    no_obsidian: include them again, and do not ask
    folder: put everything of Cortex below this folder of a new vault; . is its root
    no_git: make no git repository
    setup: write two files into .claude/rules/ of the project around the working directory, for Claude
        Code without hooks: the briefing, and how to mark what Cortex keeps
    force: with --setup, replace files of these names that Cortex did not write
    wire: with --setup, also write hooks and MCP server into the project's settings of Claude Code

    Example: cortex init ~/notes --default
    Example: cortex init ~/notes --obsidian --folder cortex
    Example: cortex init vault --setup --wire
    """
    if not directory.strip():
        raise InvalidInputError("DIRECTORY is empty", "give a folder: cortex init DIR")
    if obsidian and no_obsidian:
        raise InvalidInputError("--obsidian and --no-obsidian are opposites", "give one of them")
    if (force or wire) and not setup:
        raise InvalidInputError("--force and --wire go with --setup", "cortex init --setup --wire")
    root = real_folder(caller.cwd, directory)
    _check_folder(root, place := _find_folder(root, folder))
    is_asked = obsidian or no_obsidian
    change = obsidian_settings.plan_exclusion(root, exclude=obsidian) if is_asked else None
    result = _make_vault(root, place, has_git=not no_git, is_ones_own=default)
    result = result._replace(default=default, folder="" if folder else place)
    if default:
        set_default_vault(root)
    if setup:
        result = _set_up_project(result, caller, force=force, wire=wire)
    return _change_obsidian(result, change, shown=no_obsidian) if change else result


def _change_obsidian(
    result: InitResult, change: obsidian_settings.ObsidianChange, *, shown: bool
) -> InitResult:
    obsidian_settings.apply_change(change)
    undo = cortex_command("init", result.root, "--obsidian" if shown else "--no-obsidian")
    result = result._replace(obsidian=change.file, undo=undo)
    if shown:
        return result._replace(included=change.entries)
    return result._replace(excluded=change.entries)


def _make_vault(root: str, folder: str, *, has_git: bool, is_ones_own: bool) -> InitResult:
    os.makedirs(root, exist_ok=True)
    is_new = _is_new(root)
    repository = _make_repository(root) if is_new and has_git else ""
    project_file = write_project_file(root, new=is_new)
    # What is captured elsewhere has another project there, or none.
    added = add_vault_files(root, folder, "" if is_ones_own else checkout.project_of(root))
    if project_file:
        added += (os.path.relpath(project_file, root),)
    if repository == "made":
        drivers.register(root)
    known_vaults.remember(root)
    return InitResult(
        root, added, False, agent_settings=list_agent_settings(root), repository=repository,
        settings=_settings_of_claude(),
    )  # fmt: skip


def _settings_of_claude() -> str:
    """The hooks and the MCP server of Claude Code, on one line of JSON."""
    hooks = {}
    for on in HOSTS["claude"].events:
        words = ["cortex", "hook", on.event, "--host", "claude"]
        hooks[on.name] = [HOSTS["claude"].make_entry(on, "", words)]
    servers = {"mcpServers": {"cortex": {"command": "cortex", "args": ["mcp"]}}}
    return json.dumps({"hooks": hooks, **servers}, separators=(",", ":"))


def _set_up_project(result: InitResult, caller: Caller, *, force: bool, wire: bool) -> InitResult:
    """Write the rule files into the project around the working directory, and with `wire` the hooks
    and the server into its settings of Claude Code."""
    root = project_root(caller.cwd) or result.root
    caller, vault = caller._replace(cwd=root), Vault(result.root)
    written: list[str] = []
    problems: list[Problem] = []
    wired: list[trial.Trial] = []
    key = requested_key(caller, "", "", DEFAULT_BUDGET_TOKENS, False)
    parts = hook_briefing.build_briefing(vault, caller, key).text, hook_briefing.contract_for(vault)
    for path, text in rules_file.rule_texts("\n\n".join(filter(None, parts))).items():
        try:
            written += [path] * rules_file.write_rule_file(root, path, text, force=force)
        except ConflictError as error:
            problems.append(Problem(path, error.message, "--force writes over it"))
    if wire:
        installed = hooks(caller, "install", ["claude"])
        problems += installed.problems
        _, change = mcp_settings.plan_change("claude", "install", root, [], user=False)
        settings_file.apply_change(change)
        servers = trial.try_servers(root, files=[change.file])
        problems += trial.server_problems(servers)
        seen = {one.file: one.seen for host in installed.hosts for one in host.hooks if one.seen}
        wired += (
            trial.Trial("hooks", one.file, False, seen.get(one.file, ""))
            for one in installed.changed
        )
        wired += (one._replace(host="server") for one in servers if not one.fault)
        changed = [change.file] if change.has_changes else []
        changed += [one.file for one in installed.changed if one.outcome != "unchanged"]
        written += [os.path.relpath(file, root) for file in changed]
    return result._replace(setup=tuple(written), wired=tuple(wired), problems=tuple(problems))


def _find_folder(root: str, named: str) -> str:
    """The folder for everything of Cortex: that which is named, `.` for the root, else where people
    have notes a new one."""
    if named or not (_is_new(root) and has_notes(root)):
        return "" if named == "." else named.replace(os.sep, "/").rstrip("/")
    return next((name for name in _FOLDERS if not os.path.lexists(f"{root}/{name}")), "")


def _check_folder(root: str, folder: str) -> None:
    """Raise `InvalidInputError` unless a new vault may have its folders there, or an old one has."""
    if os.path.lexists(root) and not os.path.isdir(root):
        raise InvalidInputError(f"{root} is a file", "give a folder: cortex init DIR")
    if ".git" in root.split(os.sep):
        raise InvalidInputError(f"{root} lies in a git folder", "choose a folder outside .git")
    if folder and (why := layout.folder_problem(folder)):
        raise InvalidInputError(f"--folder {folder} {why}", "give another: --folder cortex")
    if folder and not _is_new(root) and layout.layout_of(root).folder != folder:
        hint = "the folder is chosen before the first note; docs/obsidian.md says how to move one by hand"
        raise InvalidInputError(f"{root} is a vault whose folders lie elsewhere", hint)


def _is_new(root: str) -> bool:
    return not os.path.isdir(root) or not files.exists(root, layout.SETTINGS_FILE)


def _make_repository(root: str) -> str:
    """Have a git repository around the folder: `made`, why not, or nothing if there was one."""
    path, fault = checkout.find_fault(root)  # such as a link to a repository
    if path or checkout.is_in_repository(root):
        return f"{path} {fault}" if path else ""
    try:
        git_cli.run(root, ["init", "--quiet"])
    except CortexError as error:
        return error.message
    return "made"
