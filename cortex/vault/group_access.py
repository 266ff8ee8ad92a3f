"""Whether the users of one machine who share a vault through a Unix group can all use it, and what mends that.

A vault is shared when its folder is writable by its group and has the setgid bit, as `git init --shared=group` makes folders. Cortex
gives what it makes in there to the group (`files.share`) and runs git so that git does as well. A plain git, an editor and `cp` follow
each user's umask instead, which is why this looks.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
import sys
from collections.abc import Iterator

from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.shell_command import quoted
from cortex.vault import files
from cortex.vault.git import checkout, commit, git

_SHARES = {
    b"group",
    b"1",
    b"true",
    b"yes",
    b"on",
    b"all",
    b"world",
    b"everybody",
    b"2",
}  # what `core.sharedRepository` may say
_FOLDER = stat.S_ISGID | stat.S_IRWXG
_FILE, _READ = stat.S_IRGRP | stat.S_IWGRP, stat.S_IRGRP
_REWRITTEN = (
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "MERGE_MSG",
    "SQUASH_MSG",
)  # git gives these no rights of the group
_PATIENCE = 3.0  # seconds; a pipe in the place of a configuration is waited for
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def problems(root: str) -> list[Problem]:
    """What keeps users of a vault's group from working in it; nothing for a vault that is one user's alone."""
    status = os.stat(root)
    place = checkout.git_folder(root)
    try:
        by_git = place is not None and _git_shares(root)
    except CortexError:  # told by those who examine the repository
        by_git = False
    if not files.is_shared(root) and not by_git:
        return [foreign] if (foreign := another_users(root)) else []
    group = _group(status)
    if place is None:
        why = f"is shared by the group {group}, but not under git: nothing keeps two users from normalizing at once"
        return [Problem(".", why, f"git init --shared=group {quoted(root)}")]
    outside = "" if place[2].startswith(root + os.sep) else "; " + _mend(place[2], group)
    mend = _mend(root, group) + outside
    if not by_git or not files.is_shared(place[2]):
        found = [
            Problem(
                ".git",
                f"is not shared by the group {group}, as the vault is",
                f"git -C {quoted(root)} config core.sharedRepository group; {mend}",
            )
        ]
    elif not files.is_shared(root):
        return [
            Problem(".", "is not writable by the group that git shares the repository with", mend)
        ]
    else:
        found = list(_closed(root, place[2], status.st_gid, mend))
    if closed := _unreachable(status.st_gid):
        found.append(Problem(".git/config", f"the merge drivers run {sys.executable}, which the group may not reach: {closed}", f"chmod o+x {quoted(closed)}, or install Cortex elsewhere, then cortex git install"))  # fmt: skip
    return found


def another_users(root: str) -> Problem | None:
    """What to do about a vault that is another user's alone; None when this user may write there."""
    status = os.stat(root)
    if status.st_uid == os.geteuid() or os.access(root, os.W_OK):
        return None
    mend = f"as {_user(status)}, with a group that both of you are in: {_mend(root, 'GROUP')}"
    return Problem(".", f"belongs to {_user(status)}, and you may not write into it", mend)


def _git_shares(root: str) -> bool:
    said = (
        git.attempt(root, ["config", "--get", "core.sharedRepository"], timeout=_PATIENCE)
        .output.strip()
        .lower()
    )
    return said in _SHARES or (
        said.startswith(b"0") and said.isdigit() and int(said, 8) & _FILE == _FILE
    )


def _closed(root: str, common: str, group: int, mend: str) -> Iterator[Problem]:
    """One problem for each owner of files or folders that the group may not use."""
    by_owner: dict[int, list[str]] = {}
    for path, wanted in _wanted(root, common):
        status = os.lstat(path)
        if not stat.S_ISLNK(status.st_mode) and (
            status.st_gid != group or status.st_mode & wanted != wanted
        ):
            by_owner.setdefault(status.st_uid, []).append(path)
    for paths in by_owner.values():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        whom = _user(os.lstat(paths[0]))
        yield Problem(os.path.relpath(paths[0], root), f"{more.lstrip()}{' ' * bool(more)}cannot be used by the whole group, for {whom} made it with another tool", f"as {whom}, who may then set umask 002: {mend}")  # fmt: skip


def _wanted(root: str, common: str) -> Iterator[tuple[str, int]]:
    """Each folder and file that Cortex or git changes, with the mode bits that the group needs."""
    for name in commit.FOLDERS:
        for parent, _, names in os.walk(os.path.join(root, name)):
            yield parent, _FOLDER
            yield from ((os.path.join(parent, name), _FILE) for name in names)
    objects, logs, hooks = (os.path.join(common, name) for name in ("objects", "logs", "hooks"))
    for parent, folders, names in os.walk(common):
        yield parent, _FOLDER
        if parent == common and os.path.basename(hooks) in folders:
            folders.remove(os.path.basename(hooks))
        if not parent.startswith(objects):  # an object is never written again
            for name in names:  # git replaces all others whole
                yield (
                    os.path.join(parent, name),
                    _FILE if parent.startswith(logs) or name in _REWRITTEN else _READ,
                )


def _unreachable(group: int) -> str:
    """A folder above this Python or this package into which the group may not go; empty when it may go into each."""
    for path in (os.path.realpath(sys.executable), _PACKAGE):
        while (parent := os.path.dirname(path)) != path:
            status = os.stat(path := parent)
            if not status.st_mode & (stat.S_IXGRP if status.st_gid == group else stat.S_IXOTH):
                return path
    return ""


def _mend(folder: str, group: str) -> str:
    own = (
        f"find {quoted(folder)} -user $(id -u)"  # nobody may change the mode of another user's file
    )
    return f"{own} ! -type l -exec chgrp {quoted(group)} {{}} + -exec chmod g+rwX {{}} +; {own} -type d -exec chmod g+s {{}} +"


def _user(status: os.stat_result) -> str:
    try:
        return pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        return str(status.st_uid)


def _group(status: os.stat_result) -> str:
    try:
        return grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        return str(status.st_gid)
