"""Whether all who share a vault on one machine through a Unix group can use it, and what mends it.

A vault is shared when its folder is writable by its group and has the setgid bit, as `git init
--shared=group` makes folders. Cortex gives what it makes in there to the group (`files.share`) and
runs git so that git does as well. A plain git, an editor and `cp` follow each user's umask instead.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress

from cortex.core.model.layout import OWN_FOLDERS
from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.shell_command import shell_quote
from cortex.vault import files
from cortex.vault.git import checkout, git_cli
from cortex.vault.layout import layout_of

# What `core.sharedRepository` may say.
_SHARED_REPOSITORY_VALUES = ["group", "1", "true", "yes", "on", "all", "world", "everybody", "2"]
_FOLDER_BITS = stat.S_ISGID | stat.S_IRWXG
_FILE_BITS, _READ_BITS = stat.S_IRGRP | stat.S_IWGRP, stat.S_IRGRP
# Git gives these no rights of the group.
_REWRITTEN_GIT_FILES = ("COMMIT_EDITMSG", "FETCH_HEAD", "MERGE_MSG", "SQUASH_MSG")
_TIMEOUT_SECONDS = 3.0  # seconds; a pipe in the place of a configuration is waited for
_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def problems(root: str) -> list[Problem]:
    """What keeps users of a vault's group from working in it; nothing for one user's own vault."""
    status = os.stat(root)
    repository = checkout.find_repository(root)
    try:
        is_shared_by_git = repository is not None and _is_shared_by_git(root)
    except CortexError:  # told by those who examine the repository
        is_shared_by_git = False
    is_shared = files.is_group_shared(root)
    if not is_shared and not is_shared_by_git:
        return [foreign] if (foreign := foreign_owner_problem(root)) else []
    group = _group_name(status)
    if repository is None:
        why = "nothing keeps two users from normalizing at once"
        message = f"is shared by the group {group}, but not under git: {why}"
        return [Problem(".", message, f"git init --shared=group {shell_quote(root)}")]
    common = repository.common_dir
    mend = _chmod_command(root, group)
    if not common.startswith(root + os.sep):
        mend += "; " + _chmod_command(common, group)
    if not is_shared_by_git or not files.is_group_shared(common):
        hint = f"git -C {shell_quote(root)} config core.sharedRepository group; {mend}"
        found = [Problem(".git", f"is not shared by the group {group}, as the vault is", hint)]
    elif not is_shared:
        why = "is not writable by the group that git shares the repository with"
        return [Problem(".", why, mend)]
    else:
        found = list(_inaccessible_files(root, common, status.st_gid, mend))
    if closed := _unreachable_folder(status.st_gid):
        why = f"the merge drivers run {sys.executable}, which the group may not reach: {closed}"
        hint = f"chmod o+x {shell_quote(closed)}, or install Cortex elsewhere"
        found.append(Problem(".git/config", why, f"{hint}, then cortex git install"))
    return found


def foreign_owner_problem(root: str) -> Problem | None:
    """What to do about a vault of another user; None when this user may write there."""
    status = os.stat(root)
    if status.st_uid == os.geteuid() or os.access(root, os.W_OK):
        return None
    owner = _owner_name(status.st_uid)
    mend = f"as {owner}, with a group that both of you are in: {_chmod_command(root, 'GROUP')}"
    return Problem(".", f"belongs to {owner}, and you may not write into it", mend)


def _is_shared_by_git(root: str) -> bool:
    words = ["config", "--get", "core.sharedRepository"]
    value = git_cli.line(root, words, timeout=_TIMEOUT_SECONDS).lower()
    is_mode = value.startswith("0") and value.isdigit() and not set(value) & set("89")
    has_bits = is_mode and int(value, 8) & _FILE_BITS == _FILE_BITS
    return has_bits or value in _SHARED_REPOSITORY_VALUES


def _inaccessible_files(root: str, common: str, group: int, mend: str) -> Iterator[Problem]:
    """One problem for each owner of files or folders that the group may not use."""
    by_owner: dict[int, list[str]] = {}
    for path, wanted in _required_modes(root, common):
        with suppress(FileNotFoundError):  # a git has removed it meanwhile
            status = os.lstat(path)
            is_usable = status.st_gid == group and status.st_mode & wanted == wanted
            if not is_usable and not stat.S_ISLNK(status.st_mode):
                by_owner.setdefault(status.st_uid, []).append(path)
    for owner, paths in by_owner.items():
        more = f"and {len(paths) - 1} more " if len(paths) > 1 else ""
        whom = _owner_name(owner)
        why = f"{more}cannot be used by the whole group, for {whom} made it with another tool"
        hint = f"as {whom}, who may then set umask 002: {mend}"
        yield Problem(os.path.relpath(paths[0], root), why, hint)


def _required_modes(root: str, common: str) -> Iterator[tuple[str, int]]:
    """Each folder and file that Cortex or git changes, with the mode bits that the group needs."""
    for name in OWN_FOLDERS:
        for parent, _, names in os.walk(os.path.join(root, layout_of(root).path(name))):
            yield parent, _FOLDER_BITS
            yield from ((os.path.join(parent, name), _FILE_BITS) for name in names)
    objects, logs, hooks = (os.path.join(common, name) for name in ("objects", "logs", "hooks"))
    for parent, folders, names in os.walk(common):
        yield parent, _FOLDER_BITS
        if parent == common and os.path.basename(hooks) in folders:
            folders.remove(os.path.basename(hooks))
        if not parent.startswith(objects):  # an object is never written again
            for name in names:  # git replaces all others whole
                is_rewritten = parent.startswith(logs) or name in _REWRITTEN_GIT_FILES
                yield os.path.join(parent, name), _FILE_BITS if is_rewritten else _READ_BITS


def _unreachable_folder(group: int) -> str:
    """A folder above this Python or package that the group may not enter; else empty."""
    for path in (os.path.realpath(sys.executable), _PACKAGE_FOLDER):
        is_denied = False
        while (parent := os.path.dirname(path)) != path:
            try:
                status = os.stat(path := parent)
            except PermissionError:  # below the folder that not even we may enter
                is_denied = True
                continue
            may_enter = stat.S_IXGRP if status.st_gid == group else stat.S_IXOTH
            if is_denied or not status.st_mode & may_enter:
                return path
    return ""


def _chmod_command(folder: str, group: str) -> str:
    # Nobody may change the mode of another user's file.
    own = f"find {shell_quote(folder)} -user $(id -u)"
    change = f"-exec chgrp {shell_quote(group)} {{}} + -exec chmod g+rwX {{}} +"
    return f"{own} ! -type l {change}; {own} -type d -exec chmod g+s {{}} +"


def _owner_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_name(status: os.stat_result) -> str:
    try:
        return grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        return str(status.st_gid)
