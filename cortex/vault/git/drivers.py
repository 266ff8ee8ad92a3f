"""Git's merge drivers for our notes: known to the repository's local configuration, and named by its attributes.

A driver is a program, so a clone does not bring one along: it is registered by whoever works in the clone. The
configuration is shared by all linked worktrees, so no path inside one of them is stored in it.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from cortex.core.model.problem import CortexError, Problem
from cortex.vault import files
from cortex.vault.git import attributes, checkout, git_cli, git_locks
from cortex.vault.lock import lock
from cortex.vault.state import store

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DRIVER_SCRIPT = os.path.join(_PACKAGE_FOLDER, "interfaces", "merge_driver.py")
# What follows the program in each driver's command. A briefing that could not be merged is healed later, so it stops
# nothing; a record falls back to git's own merge, which leaves markers where a failed driver would drop a side.
_COMMAND_ARGUMENTS = {
    "cortex-briefing": " briefing %O %A %B %L %P || true",
    "cortex-record": " record %O %A %B %L %P; r=$?; [ $r -le 1 ] && exit $r; exec git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B",
}
_PROGRAM_RE = re.compile(r'"((?:[^"\\]|\\.)+)" -I -S "((?:[^"\\]|\\.)+)"', re.DOTALL)
# When every waiting event has been normalized, git takes inbox/pending for a folder that was renamed to that of the
# month, and would put what another clone has captured meanwhile there, where nobody normalizes it.
_NO_DIRECTORY_RENAMES = ("merge.directoryRenames", "false")
_DIRECTORY_RENAMES_RE = re.compile(r"^[ \t]*directoryRenames[ \t]*=", re.MULTILINE | re.IGNORECASE)
_SECTION_RE = re.compile(
    r'^[ \t]*\[[ \t]*(?:merge[ \t]+"(cortex-[a-z]+)"|cortex)[ \t]*\]', re.MULTILINE | re.IGNORECASE
)
_NEXT_SECTION_RE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_ENTRY_RE = re.compile(
    r"^[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*((?:[^\\\n]|\\[\s\S])*))?", re.MULTILINE
)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}
_MAX_CONFIG_BYTES = 4_000_000  # bytes of a configuration that is read
_EXIT_CODE_ABSENT = 5  # git config's exit code where what it should take out is not there
_LOCK_WAIT_SECONDS = 5.0  # seconds that we wait for another git to let go of the configuration
FIX_COMMAND = "cortex doctor --fix"


class DriverConfig(NamedTuple):
    """What a repository's configuration says of our drivers."""

    commands: dict[str, str]  # driver's name -> its command
    with_other_keys: frozenset[
        str
    ]  # the drivers of which it says anything else, such as a name for people
    is_removed: bool  # a person has taken them out, and wants them to stay out


def is_registered(root: str) -> bool:
    """Whether there is nothing to register: both drivers are there and their programs exist, or the vault is in no
    repository, or a person has taken them out. Reads one or two small files, runs nothing."""
    place = checkout.find_repository(root)
    if place is None:
        return True
    found = read_config(place[2])
    return found.is_removed or all(
        _is_working(name, found.commands.get(name, "")) for name in _COMMAND_ARGUMENTS
    )


def are_active(root: str) -> bool:
    """Whether git runs both drivers here."""
    place = checkout.find_repository(root)
    commands = read_config(place[2]).commands if place else {}
    return all(_is_working(name, commands.get(name, "")) for name in _COMMAND_ARGUMENTS)


def register(root: str, *, again: bool = False) -> bool:
    """Register what is missing, and put our attributes in force where others are; True when something was changed.
    A person who has taken the drivers out gets them back only with `again`."""
    place = checkout.find_repository(root)
    if place is None:
        return False
    top, _, common = place
    with _config_lock(common):
        found = read_config(common)
        if found.is_removed and not again:
            return False
        changed = found.is_removed
        if found.is_removed:
            _write_config(top, common, "--unset-all", "cortex.drivers")
        for name in _COMMAND_ARGUMENTS:
            if not _is_working(name, found.commands.get(name, "")):
                # Git would show a `name` to nobody, and a name whose driver is gone stops every merge: none is written.
                _write_config(
                    top,
                    common,
                    "--replace-all",
                    f"merge.{name}.driver",
                    _driver_command(name, top, common),
                )
                changed = True
        if top == os.path.realpath(root) and not _DIRECTORY_RENAMES_RE.search(
            _read_text(os.path.join(common, "config"))
        ):
            _write_config(top, common, "--replace-all", *_NO_DIRECTORY_RENAMES)
            changed = True
        return attributes.enforce(root, top, common) or changed


def unregister(root: str) -> bool:
    """Take out what was registered, so that it stays out until somebody asks for it; True when something was changed."""
    place = checkout.find_repository(root)
    if place is None:
        return False
    top, _, common = place
    with _config_lock(common):
        found = read_config(common)
        if not found.is_removed:
            _write_config(top, common, "--replace-all", "cortex.drivers", "removed")
        ours = [
            name
            for name in _COMMAND_ARGUMENTS
            if name in found.commands or name in found.with_other_keys
        ]
        for name in (
            ours
        ):  # a section goes whole, in one step: at no moment is there a name without a driver
            _write_config(top, common, "--remove-section", f"merge.{name}")
        if top == os.path.realpath(root) and _DIRECTORY_RENAMES_RE.search(
            _read_text(os.path.join(common, "config"))
        ):
            _write_config(top, common, "--unset-all", _NO_DIRECTORY_RENAMES[0], "^false$")
        return attributes.remove_block(root, top, common) or bool(ours) or not found.is_removed


def problems(root: str) -> list[Problem]:
    """What stands between a merge and our drivers; nothing outside a repository."""
    wrong = config_problems(root)
    if (place := checkout.find_repository(root)) and not read_config(place[2]).is_removed:
        try:
            wrong += attributes.problems(root)
        except CortexError as error:
            wrong.append(Problem(".git", error.message, error.hint))
    return wrong


def config_problems(root: str) -> list[Problem]:
    """What is wrong with the configuration alone. Runs nothing, so that it can be told of a damaged repository too."""
    place = checkout.find_repository(root)
    if place is None:
        return []
    where = os.path.join(os.path.relpath(place[2], root), "config")
    found = read_config(place[2])
    wrong = []
    for name in _COMMAND_ARGUMENTS:
        command = found.commands.get(name, "")
        if not command and name in found.with_other_keys:
            wrong.append(
                Problem(
                    where,
                    f"merge.{name} has a name but no driver: git refuses every merge that needs it",
                    FIX_COMMAND,
                )
            )
        elif not command and not found.is_removed:
            wrong.append(Problem(where, f"git does not know the merge driver {name}", FIX_COMMAND))
        elif command and (why := _command_fault(name, command)):
            wrong.append(Problem(where, f"merge.{name}.driver {why}", FIX_COMMAND))
    return wrong


def read_config(common: str) -> DriverConfig:
    """What the configuration in the common git folder says, read as text."""
    text = _read_text(os.path.join(common, "config"))
    commands: dict[str, str] = {}
    titles: set[str] = set()
    removed = False
    for header in _SECTION_RE.finditer(text):
        end = _NEXT_SECTION_RE.search(text, header.end())
        body = text[header.end() : end.start() if end else len(text)]
        for entry in _ENTRY_RE.finditer(body):
            key, value = entry[1].lower(), _unquote(entry[2] or "")
            if header[1] is None:
                removed = value == "removed" if key == "drivers" else removed
            elif key == "driver":
                commands[header[1]] = value
            else:  # whatever git finds here, it will want a command beside it
                titles.add(header[1])
    return DriverConfig(commands, frozenset(titles), removed)


def _read_text(path: str) -> str:
    return os.fsdecode(files.read_bounded(path, _MAX_CONFIG_BYTES))


def _unquote(raw: str) -> str:
    """A value of git's configuration as git reads it."""
    out: list[str] = []
    kept = 0  # how much of it survives the cut of blanks at the end
    quoted = False
    characters = iter(raw)
    for character in characters:
        if character == '"':
            quoted = not quoted
        elif character == "\\":
            escaped = next(characters, "")
            out.append(_ESCAPES.get(escaped, escaped))
            kept = len(out)
        elif character in "#;" and not quoted:
            break
        else:
            out.append(character)
            kept = len(out) if quoted or not character.isspace() else kept
    return "".join(out[:kept])


def _is_working(name: str, command: str) -> bool:
    return bool(command) and not _command_fault(name, command)


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


def _driver_command(name: str, top: str, common: str) -> str:
    return f"{_quote_path(_python_path(top, common))} -I -S {_quote_path(DRIVER_SCRIPT)}{_COMMAND_ARGUMENTS[name]}"


def _quote_path(path: str) -> str:
    """A path as a word for git and then for sh: git reads `%` in it, sh what is special between double quotes."""
    return '"' + re.sub(r'(["\\$`])', r"\\\1", path).replace("%", "%%") + '"'


def _python_path(top: str, common: str) -> str:
    """The Python that runs us; never from inside a worktree, which may go, unless the package lies in one as well."""
    if not sys.executable:
        raise CortexError(
            "the path of this Python is unknown, so no merge driver can run",
            "run cortex from an installed Python",
        )
    pointers = (
        _read_text(os.path.join(common, "worktrees", tree, "gitdir")).strip()
        for tree in files.list_folder(os.path.join(common, "worktrees"))
    )
    trees = [top, *(os.path.dirname(pointer) for pointer in pointers if pointer)]
    if _is_inside(sys.executable, trees) and not _is_inside(_PACKAGE_FOLDER, trees):
        return os.path.realpath(sys.executable)
    return sys.executable


def _is_inside(path: str, folders: list[str]) -> bool:
    parent = os.path.realpath(os.path.dirname(path))
    return any(
        parent == folder or parent.startswith(folder.rstrip("/") + "/")
        for folder in map(os.path.realpath, folders)
    )


@contextmanager
def _config_lock(common: str) -> Iterator[None]:
    """Hold the right to change our part of a repository's configuration, and make it durable at the end."""
    if not os.access(common, os.W_OK):
        raise CortexError(f"{common} cannot be written", "merges run without Cortex until it can")
    with lock(os.path.join(common, "cortex-drivers.lock"), "git configuration"):
        yield
        with suppress(
            OSError, CortexError
        ):  # git syncs no configuration; where we cannot either, ours is as durable as git's
            fd = files.open_regular(os.path.join(common, "config"))
            try:
                files.full_fsync(fd)
            finally:
                os.close(fd)
            store.sync_folder(common)


def _write_config(top: str, common: str, *words: str) -> None:
    """Change the configuration through git, and wait while another git does. By the file's name: where a repository
    is damaged, git would take the one around it."""
    deadline = time.monotonic() + _LOCK_WAIT_SECONDS
    pause = 0.01
    while True:
        ran = git_cli.run_unchecked(
            common, ["config", "--file", os.path.join(common, "config"), *words]
        )
        if (
            ran.code in (0, _EXIT_CODE_ABSENT) or "no such section" in ran.stderr
        ):  # another process took it out meanwhile
            return
        locked = "could not lock" in ran.stderr and not git_cli.system_error(ran, common)
        if locked:
            git_locks.check_none_abandoned(top)
        if not locked or time.monotonic() > deadline:
            hint = git_locks.wait_hint(top) if locked else "git config --list shows what is wrong"
            raise git_cli.command_error("config", ran, common, hint)
        time.sleep(pause)
        pause = min(pause * 2, 0.2)
