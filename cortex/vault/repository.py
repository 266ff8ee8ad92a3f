"""What the repository around a vault says, read through GitPython: short-lived, closed at once, never written through."""

from __future__ import annotations

import os

import git

from cortex.core.problem import CortexError


def unmerged(root: str) -> list[str]:
    """The vault-relative paths that git could not merge; none outside a repository. `CortexError` when the
    repository cannot be read. The index file alone is read: no git runs, so no configuration of a stranger's can."""
    try:
        with git.Repo(root, search_parent_directories=True, expand_vars=False) as repo:
            if repo.working_tree_dir is None:
                return []
            top = os.path.realpath(repo.working_tree_dir)
            paths = [os.path.join(top, path) for path in repo.index.unmerged_blobs()]
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        return []
    except (git.GitError, OSError, ValueError, AssertionError) as error:
        raise CortexError(f"the repository cannot be read: {type(error).__name__}: {error}", "git status") from error
    return sorted(os.path.relpath(path, root) for path in paths if path.startswith(root + os.sep))
