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
from cortex.vault.git import attributes, checkout, git, git_locks
from cortex.vault.lock import lock
from cortex.vault.state import store

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(_PACKAGE, "interfaces", "merge_driver.py")
# What follows the program in each driver's command. A briefing that could not be merged is healed later, so it stops
# nothing; a record falls back to git's own merge, which leaves markers where a failed driver would drop a side.
_COMMANDS = {
    "cortex-briefing": " briefing %O %A %B %L %P || true",
    "cortex-record": " record %O %A %B %L %P; r=$?; [ $r -le 1 ] && exit $r; exec git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B",
}
_PROGRAM = re.compile(r'"((?:[^"\\]|\\.)+)" -I -S "((?:[^"\\]|\\.)+)"', re.DOTALL)
# When every waiting event has been normalized, git takes inbox/pending for a folder that was renamed to that of the
# month, and would put what another clone has captured meanwhile there, where nobody normalizes it.
_KEEP_FOLDERS = ("merge.directoryRenames", "false")
_RENAMES = re.compile(r"^[ \t]*directoryRenames[ \t]*=", re.MULTILINE | re.IGNORECASE)
_HEADER = re.compile(
    r'^[ \t]*\[[ \t]*(?:merge[ \t]+"(cortex-[a-z]+)"|cortex)[ \t]*\]', re.MULTILINE | re.IGNORECASE
)
_NEXT_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_ENTRY = re.compile(
    r"^[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*((?:[^\\\n]|\\[\s\S])*))?", re.MULTILINE
)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}
_MOST = 4_000_000  # bytes of a configuration that is read
_ABSENT = 5  # git config's exit code where what it should take out is not there
_PATIENCE = 5.0  # seconds that we wait for another git to let go of the configuration
FIX = "cortex doctor --fix"


class Registered(NamedTuple):
    """What a repository's configuration says of our drivers."""

    commands: dict[str, str]  # driver's name -> its command
    titles: frozenset[str]  # the drivers of which it says anything else, such as a name for people
    removed: bool  # a person has taken them out, and wants them to stay out


def registered(root: str) -> bool:
    """Whether there is nothing to register: both drivers are there and their programs exist, or the vault is in no
    repository, or a person has taken them out. Reads one or two small files, runs nothing."""
    place = checkout.git_folder(root)
    if place is None:
        return True
    found = configured(place[2])
    return found.removed or all(_works(name, found.commands.get(name, "")) for name in _COMMANDS)


def are_active(root: str) -> bool:
    """Whether git runs both drivers here."""
    place = checkout.git_folder(root)
    commands = configured(place[2]).commands if place else {}
    return all(_works(name, commands.get(name, "")) for name in _COMMANDS)


def register(root: str, *, again: bool = False) -> bool:
    """Register what is missing, and put our attributes in force where others are; True when something was changed.
    A person who has taken the drivers out gets them back only with `again`."""
    place = checkout.git_folder(root)
    if place is None:
        return False
    top, _, common = place
    with _configuring(common):
        found = configured(common)
        if found.removed and not again:
            return False
        changed = found.removed
        if found.removed:
            _configure(top, common, "--unset-all", "cortex.drivers")
        for name in _COMMANDS:
            if not _works(name, found.commands.get(name, "")):
                # Git would show a `name` to nobody, and a name whose driver is gone stops every merge: none is written.
                _configure(
                    top,
                    common,
                    "--replace-all",
                    f"merge.{name}.driver",
                    _command(name, top, common),
                )
                changed = True
        if top == os.path.realpath(root) and not _RENAMES.search(
            _text(os.path.join(common, "config"))
        ):
            _configure(top, common, "--replace-all", *_KEEP_FOLDERS)
            changed = True
        return attributes.enforce(root, top, common) or changed


def unregister(root: str) -> bool:
    """Take out what was registered, so that it stays out until somebody asks for it; True when something was changed."""
    place = checkout.git_folder(root)
    if place is None:
        return False
    top, _, common = place
    with _configuring(common):
        found = configured(common)
        if not found.removed:
            _configure(top, common, "--replace-all", "cortex.drivers", "removed")
        ours = [name for name in _COMMANDS if name in found.commands or name in found.titles]
        for name in (
            ours
        ):  # a section goes whole, in one step: at no moment is there a name without a driver
            _configure(top, common, "--remove-section", f"merge.{name}")
        if top == os.path.realpath(root) and _RENAMES.search(_text(os.path.join(common, "config"))):
            _configure(top, common, "--unset-all", _KEEP_FOLDERS[0], "^false$")
        return attributes.release(root, top, common) or bool(ours) or not found.removed


def problems(root: str) -> list[Problem]:
    """What stands between a merge and our drivers; nothing outside a repository."""
    wrong = unregistered(root)
    if (place := checkout.git_folder(root)) and not configured(place[2]).removed:
        try:
            wrong += attributes.problems(root)
        except CortexError as error:
            wrong.append(Problem(".git", error.message, error.hint))
    return wrong


def unregistered(root: str) -> list[Problem]:
    """What is wrong with the configuration alone. Runs nothing, so that it can be told of a damaged repository too."""
    place = checkout.git_folder(root)
    if place is None:
        return []
    where = os.path.join(os.path.relpath(place[2], root), "config")
    found = configured(place[2])
    wrong = []
    for name in _COMMANDS:
        command = found.commands.get(name, "")
        if not command and name in found.titles:
            wrong.append(
                Problem(
                    where,
                    f"merge.{name} has a name but no driver: git refuses every merge that needs it",
                    FIX,
                )
            )
        elif not command and not found.removed:
            wrong.append(Problem(where, f"git does not know the merge driver {name}", FIX))
        elif command and (why := _fault(name, command)):
            wrong.append(Problem(where, f"merge.{name}.driver {why}", FIX))
    return wrong


def configured(common: str) -> Registered:
    """What the configuration in the common git folder says, read as text."""
    text = _text(os.path.join(common, "config"))
    commands: dict[str, str] = {}
    titles: set[str] = set()
    removed = False
    for header in _HEADER.finditer(text):
        end = _NEXT_HEADER.search(text, header.end())
        body = text[header.end() : end.start() if end else len(text)]
        for entry in _ENTRY.finditer(body):
            key, value = entry[1].lower(), _unquoted(entry[2] or "")
            if header[1] is None:
                removed = value == "removed" if key == "drivers" else removed
            elif key == "driver":
                commands[header[1]] = value
            else:  # whatever git finds here, it will want a command beside it
                titles.add(header[1])
    return Registered(commands, frozenset(titles), removed)


def _text(path: str) -> str:
    return os.fsdecode(files.read_small(path, _MOST))


def _unquoted(raw: str) -> str:
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


def _works(name: str, command: str) -> bool:
    return bool(command) and not _fault(name, command)


def _fault(name: str, command: str) -> str:
    """Why a driver's command is not a whole one of ours; empty when it is."""
    program = _PROGRAM.match(command)
    if program is None or command[program.end() :] != _COMMANDS[name]:
        return "runs another command than Cortex's, or that of an older Cortex"
    for part in program.groups():
        path = re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL).replace("%%", "%")
        if not os.path.exists(path):
            return f"runs {path}, which is gone"
    return ""


def _command(name: str, top: str, common: str) -> str:
    return f"{_shell(_interpreter(top, common))} -I -S {_shell(SCRIPT)}{_COMMANDS[name]}"


def _shell(path: str) -> str:
    """A path as a word for git and then for sh: git reads `%` in it, sh what is special between double quotes."""
    return '"' + re.sub(r'(["\\$`])', r"\\\1", path).replace("%", "%%") + '"'


def _interpreter(top: str, common: str) -> str:
    """The Python that runs us; never from inside a worktree, which may go, unless the package lies in one as well."""
    if not sys.executable:
        raise CortexError(
            "the path of this Python is unknown, so no merge driver can run",
            "run cortex from an installed Python",
        )
    pointers = (
        _text(os.path.join(common, "worktrees", tree, "gitdir")).strip()
        for tree in files.listed(os.path.join(common, "worktrees"))
    )
    trees = [top, *(os.path.dirname(pointer) for pointer in pointers if pointer)]
    if _inside(sys.executable, trees) and not _inside(_PACKAGE, trees):
        return os.path.realpath(sys.executable)
    return sys.executable


def _inside(path: str, folders: list[str]) -> bool:
    parent = os.path.realpath(os.path.dirname(path))
    return any(
        parent == folder or parent.startswith(folder.rstrip("/") + "/")
        for folder in map(os.path.realpath, folders)
    )


@contextmanager
def _configuring(common: str) -> Iterator[None]:
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
                files.flush(fd)
            finally:
                os.close(fd)
            store.sync_folder(common)


def _configure(top: str, common: str, *words: str) -> None:
    """Change the configuration through git, and wait while another git does. By the file's name: where a repository
    is damaged, git would take the one around it."""
    deadline = time.monotonic() + _PATIENCE
    pause = 0.01
    while True:
        ran = git.attempt(common, ["config", "--file", os.path.join(common, "config"), *words])
        if (
            ran.code in (0, _ABSENT) or "no such section" in ran.complaint
        ):  # another process took it out meanwhile
            return
        locked = "could not lock" in ran.complaint and not git.refused_by_disk(ran, common)
        if locked:
            git_locks.check_not_left(top)
        if not locked or time.monotonic() > deadline:
            hint = git_locks.in_the_way(top) if locked else "git config --list shows what is wrong"
            raise git.failure("config", ran, common, hint)
        time.sleep(pause)
        pause = min(pause * 2, 0.2)
