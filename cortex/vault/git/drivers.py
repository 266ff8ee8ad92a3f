"""Git's merge drivers for our notes: known to the repository's local configuration, and named by
its attributes.

A driver is a program, so a clone does not bring one along: it is registered by whoever works in the
clone. All linked worktrees share the configuration, so it holds no path inside one of them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git import attributes, checkout, git_cli, git_locks
from cortex.vault.git.checkout import Repository
from cortex.vault.git.git_locks import FIX_COMMAND
from cortex.vault.private import lock

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DRIVER_SCRIPT = os.path.join(_PACKAGE_FOLDER, "interfaces", "merge_driver.py")
# What follows the program in a driver's command. A briefing that was not merged is healed later; a
# record falls back to git's own merge: it leaves markers, a failed driver would drop a side.
_COMMAND_ARGUMENTS = {
    "cortex-briefing": " briefing %O %A %B %L %P || true",
    "cortex-record": " record %O %A %B %L %P; r=$?; [ $r -le 1 ] && exit $r; "
    "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B; "
    # Of what is no text git answers 255, at which a newer git ends the whole merge.
    "r=$?; [ $r -le 127 ] || r=1; exit $r",
}
_PROGRAM_RE = lazy_re(r'"((?:[^"\\]|\\.)+)" -I -S "((?:[^"\\]|\\.)+)"', re.DOTALL)
# Once every pending event is normalized, git takes inbox/pending for renamed to the month's folder,
# and would put there what another clone has captured, where nobody normalizes it.
_NO_DIRECTORY_RENAMES = ("merge.directoryRenames", "false")
_OWN_KEYS = r"^(merge\.cortex-.*|merge\.directoryrenames|cortex\.drivers)$"
_EXIT_CODE_ABSENT = 5  # git config's exit code where what it should take out is not there
_LOCK_WAIT_SECONDS = 5.0  # seconds that we wait for another git to let go of the configuration


class DriverConfig(NamedTuple):
    """What a repository's configuration says of our drivers."""

    commands: dict[str, str]  # driver's name -> its command
    is_removed: bool  # a person has taken them out, and wants them to stay out
    has_directory_renames: bool


def register(root: str, *, again: bool = False) -> bool:
    """Register what is missing, and put our attributes in force where others are; True when that
    changed something. Who has taken the drivers out gets them back only with `again`."""
    repository = checkout.find_repository(root)
    if repository is None:
        return False
    with _config_lock(repository):
        config = read_config(repository.common_dir)
        if config.is_removed and not again:
            return False
        changed = config.is_removed
        if config.is_removed:
            _write_config(repository, "--unset-all", "cortex.drivers")
        for name in _COMMAND_ARGUMENTS:
            command = config.commands.get(name, "")
            if not command or _command_fault(name, command):
                # No `merge.*.name`: a name whose driver is gone stops every merge.
                command = _driver_command(name, repository)
                _write_config(repository, "--replace-all", f"merge.{name}.driver", command)
                changed = True
        if repository.top == os.path.realpath(root) and not config.has_directory_renames:
            _write_config(repository, "--replace-all", *_NO_DIRECTORY_RENAMES)
            changed = True
        return attributes.enforce(root, repository) or changed


def unregister(root: str) -> bool:
    """Take out what was registered, until somebody asks for it; True if anything changed."""
    repository = checkout.find_repository(root)
    if repository is None:
        return False
    with _config_lock(repository):
        config = read_config(repository.common_dir)
        if not config.is_removed:
            _write_config(repository, "--replace-all", "cortex.drivers", "removed")
        ours = [name for name in _COMMAND_ARGUMENTS if name in config.commands]
        # A section goes whole, in one step: at no moment is there a name without a driver.
        for name in ours:
            _write_config(repository, "--remove-section", f"merge.{name}")
        if repository.top == os.path.realpath(root) and config.has_directory_renames:
            _write_config(repository, "--unset-all", _NO_DIRECTORY_RENAMES[0], "^false$")
        is_changed = bool(ours) or not config.is_removed
        return attributes.remove_block(root, repository) or is_changed


def problems(root: str) -> list[Problem]:
    """What stands between a merge and our drivers; nothing outside a repository."""
    wrong = config_problems(root)
    repository = checkout.find_repository(root)
    if repository and not read_config(repository.common_dir).is_removed:
        try:
            wrong += attributes.problems(root, are_named=not wrong)
        except CortexError as error:
            wrong.append(Problem(".git", error.message, error.hint))
    return wrong


def config_problems(root: str) -> list[Problem]:
    """What is wrong with the configuration, also of a damaged repository."""
    repository = checkout.find_repository(root)
    if repository is None:
        return []
    config = read_config(repository.common_dir)
    wrong = []
    for name in _COMMAND_ARGUMENTS:
        command = config.commands.get(name, "")
        if not command and not config.is_removed:
            wrong.append(f"git does not know the merge driver {name}")
        elif command and (why := _command_fault(name, command)):
            wrong.append(f"merge.{name}.driver {why}")
    path = os.path.join(os.path.relpath(repository.common_dir, root), "config")
    return [Problem(path, message, FIX_COMMAND) for message in wrong]


def read_config(common: str) -> DriverConfig:
    """What the configuration in the common git folder says; nothing where git cannot read it."""
    path = os.path.join(common, "config")
    # Git would wait for a pipe.
    is_file = os.path.isfile(path)
    entries = git_cli.read_config(common, _OWN_KEYS, "--file", path) if is_file else {}
    commands = {
        key[len("merge.") : -len(".driver")]: value
        for key, value in entries.items()
        if key.startswith("merge.cortex-") and key.endswith(".driver")
    }
    return DriverConfig(
        commands,
        entries.get("cortex.drivers") == "removed",
        _NO_DIRECTORY_RENAMES[0].lower() in entries,
    )


def _command_fault(name: str, command: str) -> str:
    """Why a driver's command is not a whole one of ours; empty when it is."""
    program = _PROGRAM_RE.match(command)
    if program is None or command[program.end() :] != _COMMAND_ARGUMENTS[name]:
        return "runs another command than Cortex's, or that of an older Cortex"
    for part in program.groups():
        path = re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL).replace("%%", "%")
        if not os.path.exists(path):
            return f"runs {path}, which is gone"
    return ""


def _driver_command(name: str, repository: Repository) -> str:
    python, script = _quote_path(_python_path(repository)), _quote_path(DRIVER_SCRIPT)
    return f"{python} -I -S {script}{_COMMAND_ARGUMENTS[name]}"


def _quote_path(path: str) -> str:
    """A path as a word for git, which reads `%` in it, and then for sh."""
    return '"' + re.sub(r'(["\\$`])', r"\\\1", path).replace("%", "%%") + '"'


def _python_path(repository: Repository) -> str:
    """The Python that runs us; none from inside a worktree, unless the package is there."""
    if not sys.executable:
        message = "the path of this Python is unknown, so no merge driver can run"
        raise CortexError(message, "run cortex from an installed Python")
    trees = [repository.top, *git_locks.linked_trees(repository)]
    if _is_inside(sys.executable, trees) and not _is_inside(_PACKAGE_FOLDER, trees):
        return os.path.realpath(sys.executable)
    return sys.executable


def _is_inside(path: str, folders: list[str]) -> bool:
    parent = os.path.realpath(os.path.dirname(path))
    return any(os.path.commonpath((one, parent)) == one for one in map(os.path.realpath, folders))


@contextmanager
def _config_lock(repository: Repository) -> Iterator[None]:
    """Lock our part of a repository's configuration, and make it durable at the end."""
    common = repository.common_dir
    if not os.access(common, os.W_OK):
        raise CortexError(f"{common} cannot be written", "merges run without Cortex until it can")
    with lock(os.path.join(common, "cortex-drivers.lock"), "git configuration"):
        yield
        # Git syncs no configuration; where we cannot either, ours is as durable as git's.
        with suppress(OSError, CortexError):
            files.sync_files(common, ["config"])


def _write_config(repository: Repository, *words: str) -> None:
    """Change the configuration through git, and wait while another git does. By the file's name: in
    a damaged repository git would take the one around it."""
    common = repository.common_dir
    arguments = ["config", "--file", os.path.join(common, "config"), *words]
    ran = git_locks.retry_while_locked(
        repository.top, lambda: git_cli.run_unchecked(common, arguments), wait=_LOCK_WAIT_SECONDS
    )
    is_absent = ran.code == _EXIT_CODE_ABSENT or "no such section" in ran.stderr
    if ran.code and not is_absent:  # else another process took it out meanwhile
        raise git_cli.command_error("config", ran, common, "git config --list shows what is wrong")
