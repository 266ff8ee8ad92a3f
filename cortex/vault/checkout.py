"""What a working directory says about itself: project and branch, read from files alone (0.05 ms; no git runs)."""

from __future__ import annotations

import os

from cortex.core.text import short_hash, slug

PROJECT_FILE = ".cortex-project"
# A driver's command as git's configuration quotes it: the interpreter and the script. One with signs that need more quoting
# is not recognised, and then looked at properly.
_DRIVER = r'\\"([^"\\]+)\\" -I -S \\"([^"\\]+)\\" (?:record|briefing) '
_MOST = 64_000  # bytes read of any file here
# What git leaves in its folder while an operation waits for its end.
_UNDER_WAY = {
    "MERGE_HEAD": "merge", "rebase-merge": "rebase", "rebase-apply/applying": "am", "rebase-apply": "rebase", "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert", "BISECT_LOG": "bisect", "sequencer": "",
}  # fmt: skip


def in_repository(directory: str) -> bool:
    """Whether a git repository's work tree is around `directory`."""
    return git_folder(directory) is not None


def branch_of(directory: str) -> str:
    """The branch that is checked out; empty outside a repository and on a detached HEAD."""
    git = git_folder(directory)
    head = _first_line(os.path.join(git[1], "HEAD")) if git else ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def has_drivers(directory: str) -> bool:
    """Whether the repository's configuration has Cortex's merge drivers, or says that somebody took them out. A look at
    its text, cheap enough for every command; `drivers` reads it properly."""
    git = git_folder(directory)
    text = "\n".join(_lines(os.path.join(git[2], "config"))) if git else ""
    if git is None or ("[cortex]" in text and "removed" in text):
        return True
    import re  # noqa: PLC0415  a hook asks for project and branch alone

    programs = re.findall(_DRIVER, text)
    return len(programs) >= 2 and all(os.path.exists(path) for pair in programs for path in pair)


def under_way(directory: str) -> str:
    """The operation that git is in the middle of, by the name of its command; empty when there is none."""
    git = git_folder(directory)
    for name, what in _UNDER_WAY.items() if git else ():
        if git and os.path.lexists(os.path.join(git[1], name)):
            # Several commits are picked or reverted, and git has stopped between two of them.
            return what or ("revert" if _first_line(os.path.join(git[1], name, "todo")).startswith("revert") else "cherry-pick")
    return ""


def project_of(directory: str) -> str:
    """The project's name: what the nearest `.cortex-project` says, else the remote's repository name, else the root
    folder's name with a short hash of its path. A linked worktree is the project of its main work tree.
    Never a bare home directory: then empty."""
    home = os.path.realpath(os.path.expanduser("~"))
    directory = os.path.realpath(directory)
    for parent in _upwards(directory):
        if parent != home and (named := _first_line(os.path.join(parent, PROJECT_FILE))):
            return slug(named, 64)
    git = git_folder(directory)
    main = main_work_tree(git) if git else ""
    if main and main != home and (named := _first_line(os.path.join(main, PROJECT_FILE))):
        return slug(named, 64)
    if git and (remote := _remote_name(git[2])):
        return slug(remote, 64)
    root = git[0] if git else directory
    root = main if main not in ("", home) else root
    if root in (home, os.path.dirname(root)):
        return ""
    return f"{slug(os.path.basename(root), 48)}-{short_hash(root, 4)}"


def _upwards(directory: str) -> list[str]:
    found = [directory]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def git_folder(directory: str) -> tuple[str, str, str] | None:
    """(work tree, git folder, common git folder) of the repository around `directory`."""
    for parent in _upwards(os.path.realpath(directory)):
        dot_git = os.path.join(parent, ".git")
        if os.path.isdir(dot_git):
            return parent, dot_git, dot_git
        pointer = _first_line(dot_git)
        if pointer.startswith("gitdir:"):  # a linked worktree or a submodule
            git = os.path.normpath(os.path.join(parent, pointer.removeprefix("gitdir:").strip()))
            common = _first_line(os.path.join(git, "commondir"))
            return parent, git, os.path.normpath(os.path.join(git, common)) if common else git
    return None


def main_work_tree(git: tuple[str, str, str]) -> str:
    """The main work tree's root, asked from a linked one; empty for the main one itself, a submodule (its git folder is its
    own common one) and a worktree of a bare repository."""
    _, own, common = git
    return os.path.realpath(os.path.dirname(common)) if common != own and os.path.basename(common) == ".git" else ""


def _remote_name(common: str) -> str:
    """The repository's name in the URL of `origin`, or of the first remote."""
    urls: dict[str, str] = {}
    section = ""
    for line in _lines(os.path.join(common, "config")):
        if line.lstrip().startswith("["):
            kind, _, name = line.strip().partition(' "')
            section = name.removesuffix('"]') if kind == "[remote" and name.endswith('"]') else ""
        elif section:
            key, _, value = line.partition("=")
            if key.strip() == "url" and len(value.split()) == 1:
                urls.setdefault(section, value.strip())
    chosen: str = urls.get("origin") or next(iter(urls.values()), "")
    # Only the path: what stands before it may hold a password.
    scheme, found, rest = chosen.partition("://")
    with_scheme = found and scheme[:1].isalpha() and "/" not in scheme
    path = rest.partition("/")[2] if with_scheme else chosen.partition(":")[2] or chosen
    return path.rstrip("/").replace("\\", "/").rpartition("/")[2].removesuffix(".git")


def _first_line(path: str) -> str:
    lines = _lines(path)
    return lines[0].strip() if lines else ""


def _lines(path: str) -> list[str]:
    """The lines of a small regular file; none when it cannot be read. A pipe never blocks us."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return os.read(fd, _MOST).decode("utf-8", "replace").splitlines()
    except OSError:  # a folder, or a pipe with no writer
        return []
    finally:
        os.close(fd)
