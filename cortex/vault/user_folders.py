"""Where Cortex keeps what is not a note: caches, locks, state, in a private folder for each vault.

The XDG and macOS folder rules take fifteen lines; `platformdirs` takes 26 of a search's 127 ms.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.light import cache, suppress
from cortex.core.text.strings import sha256_digest, shell_quote
from cortex.vault import files

_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
_REMOVE_HINT = "remove it; Cortex makes a private one"
_XDG_FOLDERS = {
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
}


def absolute_variable(name: str) -> str:
    """A path in the environment; empty when relative: it would be another one in every folder."""
    named = os.environ.get(name, "")
    return named if os.path.isabs(named) else ""


def home_folder() -> str:
    """The user's home folder. Raises `InvalidInputError` for one that is another in every folder."""
    home = os.environ.get("HOME", os.path.expanduser("~"))
    if not os.path.isabs(home):
        raise InvalidInputError(f"$HOME is {home!r}, no absolute path", "set it to one or unset it")
    return home


def user_folder(kind: str) -> str:
    """The user's `cache`, `state`, `config` or `data` folder."""
    variable, below_home = _XDG_FOLDERS[kind]
    if named := absolute_variable(variable):
        return os.path.join(named, "cortex")
    if sys.platform == "darwin":
        below_home = f"Library/{'Caches' if kind == 'cache' else 'Application Support'}"
    return os.path.join(home_folder(), below_home, "cortex")


def ensure_vault_folder(kind: str, root: str) -> str:
    """The folder of one vault below the user's cache or state folder; made when missing, mode 0700.
    `InvalidInputError` when it is not ours alone: what lies there (an index full of pickles) is
    trusted. For a cache that cannot be written, a folder below the temporary one."""
    path = vault_folder_path(kind, root)
    try:
        try:
            check_private(path)
        except FileNotFoundError:
            os.makedirs(path, mode=0o700, exist_ok=True)
            check_private(path)
        if kind != "cache" or os.access(path, os.W_OK | os.X_OK):
            return path
    except OSError as error:
        if kind != "cache" or error.errno not in _UNWRITABLE:
            raise
    temporary = os.path.join(absolute_variable("TMPDIR") or "/tmp", f"cortex-{os.geteuid()}")  # noqa: S108
    path = os.path.join(temporary, os.path.basename(path))
    for folder in (temporary, path):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        check_private(folder)
    return path


def closed_folder_problem(kind: str, root: str, why: str) -> Problem:
    """The problem of a folder that cannot be made or written, at `why`."""
    there = path = vault_folder_path(kind, root)
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    hint = f"make it a folder that you may write: ls -ld {shell_quote(there)} shows whose it is"
    return Problem(path, f"cannot be written, so {why}", hint)


def vault_folder_path(kind: str, root: str) -> str:
    """Where the folder of one vault lies, whether it is there or not."""
    return os.path.join(user_folder(kind), _folder_name(root))


@cache
def _folder_name(root: str) -> str:
    return f"{os.path.basename(root)[:60] or 'root'}-{sha256_digest(os.fsencode(root)).hex()[:12]}"


def check_private(path: str) -> None:
    """Raise `InvalidInputError` unless `path` is a real folder of this user, closed to others."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise InvalidInputError(f"{path} is not a folder of yours", _REMOVE_HINT)
    if status.st_mode & 0o022:
        raise InvalidInputError(f"others may write into {path}", _REMOVE_HINT)
    if status.st_mode & 0o055:
        os.chmod(path, 0o700)


def ensure_shared_folder(path: str) -> str:
    """Make a folder for the group that shares the one around it, when missing; its path."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
        with files.closing(os.open(path, files.FOLDER_FLAGS)) as fd:
            files.share_with_group(fd, os.stat(os.path.dirname(path)))
    return path
