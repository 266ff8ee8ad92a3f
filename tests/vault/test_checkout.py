"""What a folder's git says of its project: a linked worktree is the project of its main work tree."""

from __future__ import annotations

import os
import subprocess

import pytest

from cortex.vault.git import checkout, git_cli
from cortex.vault.git.branches import RepositoryRefs


@pytest.fixture
def main(tmp_path, git):
    folder = tmp_path / "wn"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return folder


def test_a_worktree_is_the_project_of_its_main_work_tree(tmp_path, main, git) -> None:
    git(main, "worktree", "add", "-q", "../f1")
    (tmp_path / "f1/sub").mkdir()
    name = checkout.project_of(str(main))
    assert name.startswith("wn-")
    assert checkout.project_of(str(tmp_path / "f1/sub")) == name
    assert checkout.branch_of(str(tmp_path / "f1")) == "f1"
    git(main, "remote", "add", "origin", "https://example.org/team/shop.git")
    assert checkout.project_of(str(tmp_path / "f1")) == "shop"


def test_the_main_work_trees_name_counts_for_a_worktree_that_says_none(tmp_path, main, git) -> None:
    git(main, "worktree", "add", "-q", "../f1")
    git(main, "remote", "add", "origin", "https://example.org/team/shop.git")
    (main / ".cortex-project").write_text("The Shop\n")
    assert checkout.project_of(str(tmp_path / "f1")) == "the-shop"
    (tmp_path / "f1/.cortex-project").write_text("Other\n")
    assert checkout.project_of(str(tmp_path / "f1")) == "other"


def test_a_submodule_is_a_project_of_its_own_in_the_main_work_tree_and_in_a_worktree(
    tmp_path, main, git
) -> None:
    part = tmp_path / "part"
    part.mkdir()
    git(part, "init", "-q", "-b", "main")
    git(part, "commit", "-q", "--allow-empty", "-m", "one")
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "sub")
    git(main, "config", "-f", ".git/modules/sub/config", "--remove-section", "remote.origin")
    git(main, "commit", "-q", "-m", "sub")
    assert checkout.project_of(str(main / "sub")).startswith("sub-")
    git(main / "sub", "worktree", "add", "-q", str(tmp_path / "s1"))
    assert checkout.project_of(str(tmp_path / "s1")).startswith(
        "s1-"
    )  # its common folder is no `.git`: where its main one is, is not told


def test_a_worktree_of_a_bare_repository_is_named_by_itself(tmp_path, main, git) -> None:
    git(tmp_path, "clone", "-q", "--bare", "wn", "store.git")
    git(tmp_path / "store.git", "remote", "remove", "origin")
    git(tmp_path / "store.git", "worktree", "add", "-q", "../f2")
    assert checkout.project_of(str(tmp_path / "f2")).startswith("f2-")


def test_a_worktree_of_a_repository_at_home_is_named_by_itself(
    tmp_path, main, git, monkeypatch
) -> None:
    git(main, "worktree", "add", "-q", "../f1")
    monkeypatch.setenv("HOME", str(main))
    assert checkout.project_of(str(main)) == ""
    assert checkout.project_of(str(tmp_path / "f1")).startswith("f1-")


def test_without_a_worktree_no_further_file_is_read(main, monkeypatch) -> None:
    opened: list[str] = []
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda path, *rest, **at: (opened.append(str(path)), real(path, *rest, **at))[1]
    )
    checkout.project_of(str(main))
    assert [path for path in opened if path.startswith(str(main))] == [
        str(main / name) for name in (".cortex-project", ".git/config")
    ]


def test_a_head_that_is_a_link_names_the_branch_everywhere(main, git) -> None:
    """As git writes it with `core.preferSymlinkRefs`."""
    git(main, "config", "core.preferSymlinkRefs", "true")
    git(main, "checkout", "-qb", "topic")
    if not (main / ".git/HEAD").is_symlink():
        pytest.skip("not run: this git writes no such link")
    repository = checkout.find_repository(str(main))
    assert repository
    refs = RepositoryRefs(*repository)
    assert (checkout.branch_of(str(main)), checkout.head_branch(repository)) == ("topic", "topic")
    assert refs.has_commit()


def test_the_commit_of_head_is_gits(tmp_path, main, git) -> None:
    git(main, "worktree", "add", "-q", "../linked")
    git(main, "commit", "-q", "--allow-empty", "-m", "two")
    git(main, "switch", "-q", "-c", "feature/x")
    git(main, "commit", "-q", "--allow-empty", "-m", "three")
    git(tmp_path, "init", "-q", "unborn")
    (main / "sub").mkdir()

    def same(folder, *, in_file: bool) -> None:
        said = subprocess.run(
            ["git", "rev-parse", "-q", "--verify", "HEAD"], cwd=folder, capture_output=True, text=True
        )  # fmt: skip
        assert git_cli.head_commit(str(folder)) == said.stdout.strip()
        assert bool(checkout.read_head_commit(str(folder))) == in_file

    same(main / "sub", in_file=True)
    same(tmp_path / "linked", in_file=True)
    same(tmp_path / "unborn", in_file=False)
    git(main, "pack-refs", "--all")
    same(main, in_file=False)
    git(main, "switch", "-q", "--detach", "main")
    same(main, in_file=True)
    for torn in ("ref: refs/heads/../../../x", "ref: refs/heads/", "0" * 40, ""):
        (main / ".git/HEAD").write_text(f"{torn}\n")
        same(main, in_file=False)
