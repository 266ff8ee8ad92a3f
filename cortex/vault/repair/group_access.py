"""Whether folder and git of a vault are shared alike with a Unix group, and what mends it.

A vault is shared when its folder is writable by its group and has the setgid bit, as `git init
--shared=group` makes folders. Cortex gives what it makes in there to the group (`files.share`) and
runs git so that git does as well. A plain git, an editor and `cp` follow each user's umask instead.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress

from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.strings import shell_quote
from cortex.vault import files
from cortex.vault.git import checkout, git_cli

# What `core.sharedRepository` may say.
_SHARED_REPOSITORY_VALUES = ["group", "1", "true", "yes", "on", "all", "world", "everybody", "2"]
_FILE_BITS = stat.S_IRGRP | stat.S_IWGRP
_TIMEOUT_SECONDS = 3.0  # seconds; a pipe in the place of a configuration is waited for


def problems(root: str) -> list[Problem]:
    """What keeps users of a vault's group from working in it; nothing for one user's own vault."""
    repository = checkout.find_repository(root)
    shared_by_git = repository is not None and _is_shared_by_git(root)
    shared_by_folder = files.is_group_shared(root)
    if not shared_by_folder and not shared_by_git:
        return [foreign] if (foreign := foreign_owner_problem(root)) else []
    group = _name_of(grp.getgrgid, os.stat(root).st_gid)
    if repository is None:
        why = "nothing keeps two users from normalizing at once"
        message = f"is shared by the group {group}, but not under git: {why}"
        return [Problem(".", message, f"git init --shared=group {shell_quote(root)}")]
    common = repository.common_dir
    if shared_by_git and shared_by_folder and files.is_group_shared(common):
        return []
    why = "is not writable by the group that git shares the repository with"
    if shared_by_folder:
        why = f"is not shared by the group {group}, as the vault is"
    folders = (root, *(() if common.startswith(root + os.sep) else (common,)))
    mend = "; ".join(_chmod_command(folder, group) for folder in folders)
    hint = f"git -C {shell_quote(root)} config core.sharedRepository group; {mend}"
    return [Problem(".git" if shared_by_folder else ".", why, hint)]


def foreign_owner_problem(root: str) -> Problem | None:
    """What to do about a vault of another user; None when this user may write there."""
    status = os.stat(root)
    if status.st_uid == os.geteuid() or os.access(root, os.W_OK):
        return None
    owner = _name_of(pwd.getpwuid, status.st_uid)
    mend = f"as {owner}, with a group that both of you are in: {_chmod_command(root, 'GROUP')}"
    return Problem(".", f"belongs to {owner}, and you may not write into it", mend)


def _is_shared_by_git(root: str) -> bool:
    with suppress(CortexError, ValueError):  # an error of git is told by those who examine it
        words = ["config", "--get", "core.sharedRepository"]
        value = git_cli.line(root, words, timeout=_TIMEOUT_SECONDS).lower()
        if value.startswith("0"):
            return int(value, 8) & _FILE_BITS == _FILE_BITS
        return value in _SHARED_REPOSITORY_VALUES
    return False


def _chmod_command(folder: str, group: str) -> str:
    # Nobody may change the mode of another user's file.
    own = f"find {shell_quote(folder)} -user $(id -u)"
    change = f"-exec chgrp {shell_quote(group)} {{}} + -exec chmod g+rwX {{}} +"
    return f"{own} ! -type l {change}; {own} -type d -exec chmod g+s {{}} +"


def _name_of(look_up: Callable[[int], Sequence[object]], number: int) -> str:
    """The name of a user or a group, its number where the system knows none."""
    with suppress(KeyError):
        return str(look_up(number)[0])
    return str(number)
