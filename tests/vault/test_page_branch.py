"""Which branch is the default one, on which shared pages are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.operations.care.init import init
from cortex.vault import settings
from cortex.vault.git import checkout, page_branch
from tests.conftest import commit_all


@pytest.fixture
def repo(tmp_path, git) -> Path:
    """A repository with a commit on main, and a vault whose settings name no branch."""
    git(tmp_path, "init", "-q", "repo")
    (tmp_path / "repo/cortex.toml").write_text("format = 1\n")
    commit_all(tmp_path / "repo", "begin")
    return tmp_path / "repo"


def default_of(root: Path) -> str:
    return page_branch.find_default(str(root), checkout.find_repository(str(root)))


def name_branch(root: Path, branch: str) -> None:
    (root / "cortex.toml").write_text("format = 1\n" + page_branch.settings_lines(branch))


def test_outside_a_repository_there_is_none_and_all_pages_are_written(vault) -> None:
    assert page_branch.find_page_branch(vault.root) == ("", "", True)


@pytest.mark.parametrize(
    ("branches", "default"),
    [((), "main"), (("x",), "main"), (("-m", "trunk"), "trunk"), (("-m", "master"), "master")],
)
def test_it_is_the_only_branch_or_main_or_master(repo, git, branches, default) -> None:
    if branches:
        git(repo, "branch", *branches)
    assert default_of(repo) == default


def test_where_nobody_knows_it_every_branch_writes_all_pages(repo, git) -> None:
    git(repo, "branch", "-m", "trunk")
    git(repo, "switch", "-q", "-c", "x")
    assert page_branch.find_page_branch(str(repo)) == ("x", "", True)


def test_the_remote_says_it_and_the_settings_which_all_clones_share_come_first(repo, git) -> None:
    git(repo, "branch", "-m", "trunk")
    git(repo, "branch", "main")
    git(repo.parent, "clone", "-q", "repo", "clone")
    clone = repo.parent / "clone"
    git(clone, "pack-refs", "--all")
    assert default_of(clone) == "trunk"
    name_branch(clone, "main")
    assert default_of(clone) == "main"
    name_branch(clone, "gone")  # renamed since: no clone that knows better goes by it
    assert default_of(clone) == "trunk"


def test_a_clone_of_one_branch_goes_by_the_settings(repo, git) -> None:
    name_branch(repo, "main")
    git(repo, "switch", "-q", "-c", "x")
    git(repo, "commit", "-qam", "named")
    git(repo, "switch", "-q", "main")
    git(repo.parent, "clone", "-q", "--single-branch", "-b", "x", "repo", "single")
    assert page_branch.find_page_branch(str(repo.parent / "single")) == ("x", "main", False)


def test_a_branch_that_is_being_rebased_is_the_one(repo, git) -> None:
    git(repo, "switch", "-q", "-c", "x")
    git(repo, "-c", "sequence.editor=echo break >", "rebase", "-q", "-i", "--root")
    assert page_branch.find_page_branch(str(repo)).name == "x"


def test_init_writes_it_down_and_a_name_that_is_none_is_named(caller, tmp_path) -> None:
    root = init(caller, str(tmp_path / "new")).root
    assert settings.load(root).briefings_branch == "main"
    (tmp_path / "new/cortex.toml").write_text('[briefings]\nbranch = "--upload-pack=x"\n')
    assert "[briefings] branch is not a valid" in settings.load(root).problems[0].message
