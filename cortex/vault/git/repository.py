"""Read the repository around a vault through GitPython: closed at once, never written."""

from __future__ import annotations

import os
import stat

from cortex.core.model.problem import CortexError
from cortex.vault.git import checkout, git_cli as bounded


def list_unmerged_paths(root: str) -> list[str]:
    """The vault-relative unmerged paths; none outside a repository. Raises `CortexError`."""
    if not checkout.is_in_repository(root):
        return []
    # GitPython would wait for ever on a pipe in place of the configuration or the index; git reads
    # the same files, and is ended after three seconds.
    words = ["rev-parse", "--show-object-format", "--git-path", "index"]
    hash_name, _, found = os.fsdecode(bounded.run(root, words, timeout=3)).partition("\n")
    path = os.path.join(root, found.strip())
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise CortexError("the repository's index is no file", "remove .git/index, then git reset")
    if hash_name != "sha1":  # of any other, GitPython would read half an id
        return _ask_git(root)
    import git  # noqa: PLC0415  150 ms, and its import fails where there is no git program

    try:
        with git.Repo(root, search_parent_directories=True, expand_vars=False) as repo:
            if repo.working_tree_dir is None:
                return []
            top = os.path.realpath(repo.working_tree_dir)
            paths = [os.path.join(top, path) for path in repo.index.unmerged_blobs()]
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        return []
    except (git.GitError, OSError, ValueError, AssertionError):
        # GitPython knows no names that are not UTF-8, no index of version 4 and none that is split.
        return _ask_git(root)
    return sorted(os.path.relpath(path, root) for path in paths if path.startswith(root + os.sep))


def _ask_git(root: str) -> list[str]:
    listed = bounded.run(root, ["ls-files", "--unmerged", "-z"], timeout=3).split(b"\0")
    return sorted({os.fsdecode(line.partition(b"\t")[2]) for line in listed if line})
