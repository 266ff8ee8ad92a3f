"""A repository whose objects are named by SHA-256, or whose refs lie in tables: whatever Cortex reads of git is as in any other.

The git of the machine makes SHA-256. Tables of refs need git 2.45: tests of them are run with the gits in `$CORTEX_GITS` that
can make one.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.operations.care.init import init
from cortex.vault.git import branches, checkout
from cortex.vault.git.branches import RepositoryRefs
from cortex.vault.locate import Vault
from cortex.vault.repair import diagnose, fix
from cortex.vault.state import change_marker
from tests.conftest import caller_now, run_cortex

SHA256, REFTABLE = "--object-format=sha256", "--ref-format=reftable"
CASES = {"sha256": ("", SHA256), "reftable": ("", SHA256, REFTABLE)}
for number, folder in enumerate(filter(None, os.environ.get("CORTEX_GITS", "").split(os.pathsep))):
    CASES |= {
        f"git{number}-reftable": (folder, REFTABLE),
        f"git{number}-both": (folder, SHA256, REFTABLE),
    }


@pytest.fixture(params=CASES)
def make_repository(request, tmp_path, monkeypatch) -> Callable[..., Path]:
    """`git init` in that format, in a folder of that name; skips where this git cannot."""
    folder, *format_flags = CASES[request.param]
    if folder:
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(name_of_folder: str, *flags: str) -> Path:
        words = ["git", "init", "-q", *format_flags, *flags, name_of_folder]
        made = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip("not run: this git keeps refs in files alone; CORTEX_GITS=/a/newer/git/bin")
        return tmp_path / name_of_folder

    return make


@pytest.fixture
def team(make_repository, git) -> Iterator[tuple[Path, Path]]:
    """Two clones of a remote, each a vault."""
    remote = make_repository("remote", "--bare")
    ann = make_repository("ann")
    git(ann, "remote", "add", "origin", str(remote))
    assert run_cortex("init", ".", cwd=ann).returncode == 0
    do(ann, "save", "Use zebra", "--why", "It has stripes.", "--type", "decision")
    do(ann, "sync")
    git(remote.parent, "clone", "-q", str(remote), "ben")
    do(remote.parent / "ben", "init", ".")
    return ann, remote.parent / "ben"


def do(vault: Path, *words: str) -> str:
    done = run_cortex(*words, cwd=vault)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commit(git, folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / name).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "commit")


def test_a_note_says_the_branch_that_it_was_made_on(make_repository, git):
    root = make_repository("vault")
    do(root, "init", ".")
    assert checkout.branch_of(str(root)) == "main"
    do(root, "capture", "Before the first commit.")
    commit(git, root)
    git(root, "switch", "-q", "-c", "feature/x")
    do(root, "save", "Use zebra", "--why", "It has stripes.", "--type", "decision")
    (record,) = root.glob("records/decision/*.md")
    assert "\nbranch: feature/x\n" in record.read_text()
    assert "Use zebra" in do(root, "search", "zebra", "--branch", "feature/x")
    assert "on feature/x" in do(root, "status")
    linked = root.parent / "linked"
    git(root, "worktree", "add", "-q", "-b", "other", str(linked))
    assert checkout.branch_of(str(linked)) == "other"
    git(root, "switch", "-q", "--detach")
    assert checkout.branch_of(str(root)) == ""


def test_two_clones_come_to_the_same_notes(team, git):
    ann, ben = team
    assert "Use zebra" in do(ben, "search", "zebra", "--branch", "main")
    do(ann, "revise", "use-zebra", "--priority", "3")
    do(ben, "revise", "use-zebra", "--confidence", "0.5")
    do(ann, "save", "Ann knows", "--why", "She saw it.", "--type", "gotcha")
    do(ben, "save", "Ben knows", "--why", "He saw it.", "--type", "gotcha")
    for clone in (ann, ben, ann):
        do(clone, "sync")
    assert git(ann, "rev-parse", "HEAD^{tree}") == git(ben, "rev-parse", "HEAD^{tree}")
    (record,) = ann.glob("records/decision/use-zebra-*.md")
    assert {"priority: 3", "confidence: 0.5"} <= set(record.read_text().splitlines())
    for clone in team:
        do(clone, "heal", "--check")
        assert "no problems" in do(clone, "doctor")


@pytest.mark.parametrize("how", ["merge", "rebase"])
def test_git_itself_merges_notes_by_their_fields(team, git, how):
    ann, _ = team
    git(ann, "branch", "side")
    do(ann, "revise", "use-zebra", "--priority", "3")
    commit(git, ann)
    git(ann, "switch", "-q", "side")
    do(ann, "revise", "use-zebra", "--confidence", "0.5")
    commit(git, ann)
    git(
        ann,
        *(["merge", "-q", "-m", "both", "main"] if how == "merge" else ["rebase", "-q", "main"]),
    )
    (record,) = ann.glob("records/decision/use-zebra-*.md")
    assert {"priority: 3", "confidence: 0.5"} <= set(record.read_text().splitlines())
    do(ann, "heal")
    assert "no problems" in do(ann, "doctor")


@pytest.mark.parametrize("how", ["merge", "rebase", "cherry-pick", "revert"])
def test_an_operation_that_git_has_stopped_is_known_with_its_paths(make_repository, git, how):
    root = make_repository("repository")
    for text in ("one", "two", "three"):
        commit(git, root, file=text)
    git(root, "switch", "-q", "-c", "side", "HEAD~2")
    commit(git, root, file="other")
    assert checkout.operation_in_progress(str(root)) == ""
    other = {"cherry-pick": "main", "revert": "main~1"}.get(how, "main")
    flags = ["--no-edit"] if how == "revert" else []
    stopped = subprocess.run(
        ["git", how, *flags, other], cwd=root, capture_output=True, check=False
    )
    assert stopped.returncode
    assert checkout.operation_in_progress(str(root)) == how
    assert diagnose.list_unmerged_paths(str(root)) == ["file"]
    git(root, how, "--abort")
    assert checkout.operation_in_progress(str(root)) == ""


def test_what_became_of_branches_is_known(make_repository, git):
    """As of a repository that keeps them in files."""
    answers = []
    plain = make_repository("any").parent / "plain"
    git(plain.parent, "init", "-q", str(plain))
    for root in (plain, make_repository("repository")):
        commit(git, root, file="one")
        for name in ("merged", "idle", "gone", "old"):
            git(root, "branch", name)
        for name in ("merged", "gone"):
            git(root, "switch", "-q", name)
            commit(git, root, **{name: "two"})
        git(root, "switch", "-q", "main")
        git(root, "merge", "-q", "--no-ff", "-m", "a merge", "merged")
        git(root, "branch", "-q", "-D", "gone")
        git(root, "branch", "-m", "old", "new")
        refs = RepositoryRefs(*checkout.find_repository(str(root)))
        names = ["merged", "idle", "gone", "old", "never"]
        found = branches.find_included(str(root), "main", names)
        answers.append(
            (
                refs.has_commit(),
                list(map(refs.has_branch, (*names, "new"))),
                refs.renamed_branches(),
                sorted(refs.last_head_by_branch()),
                refs.merged_branches(),
                found.names,
                found.unknown,
            )
        )
    assert answers[0] == answers[1]
    assert answers[0][1] == [True, True, False, False, False, True]
    assert "merged" in answers[0][5]
    assert "idle" not in answers[0][5]


def test_a_briefing_doubts_what_names_a_branch_that_is_gone(team, git):
    ann, _ = team
    git(ann, "switch", "-q", "-c", "lions")
    commit(git, ann, **{"code.py": "x = 1\n"})
    do(ann, "save", "Use lions", "--why", "See branch `lions`, code.py.", "--type", "decision")
    git(ann, "switch", "-q", "main")
    git(ann, "branch", "-q", "-D", "lions")
    assert "code.py is gone" not in do(ann, "brief", "--all-branches")
    assert "branch lions is gone" in do(ann, "brief", "--all-branches")


def test_the_remotes_default_branch_is_known(make_repository, git):
    remote = make_repository("remote", "-b", "trout")
    commit(git, remote, file="one")
    git(remote.parent, "clone", "-q", str(remote), "clone")
    assert "trout" in branches.find_included(str(remote.parent / "clone"), "side", ["trout"])[0]


def test_that_git_has_run_is_noticed(make_repository, git):
    root = make_repository("vault")
    vault = Vault(init(caller_now(), str(root)).root)
    commit(git, root)
    seen = change_marker.git_stamp(vault)
    for words in (
        ("commit", "-q", "--allow-empty", "-m", "empty"),
        ("switch", "-q", "-c", "side"),
        ("branch", "-f", "main", "HEAD~1"),
        ("switch", "-q", "main"),
    ):
        git(root, *words)
        assert seen != (seen := change_marker.git_stamp(vault)) or words[0] == "branch"


def test_where_there_is_no_git_the_branch_is_none(make_repository, monkeypatch, caller: Caller):
    """And a capture goes on."""
    root = make_repository("vault")
    do(root, "init", ".")
    monkeypatch.setenv("PATH", "/nowhere")
    do(root, "capture", "Without git.")
    assert checkout.branch_of(str(root)) == ("" if (root / ".git/reftable").is_dir() else "main")


def test_refs_of_another_format_are_not_taken_for_damage(make_repository, git):
    root = make_repository("vault")
    (root / "cortex.toml").write_text("")
    commit(git, root)
    assert diagnose.find_problems(str(root)) == []
    assert fix.repair(str(root)) == []
