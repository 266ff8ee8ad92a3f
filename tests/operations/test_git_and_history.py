"""`cortex git` and `cortex history`, on real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cortex.core.model.problem import ConflictError, CortexError, NotFoundError
from cortex.operations.find.history import history
from cortex.operations.share.git import git as git_verb
from tests.conftest import commit_all

ONE = "records/decision/one-k3f7q2.md"


def note(id_: str, *lines: str) -> str:
    return "\n".join(["---", f"id: {id_}", "type: decision", f"title: {id_}", "---", *lines, ""])


def told(found) -> list[tuple[str, str, str]]:
    return [(version.change, version.subject, version.path) for version in found.versions]


def test_install_remove_and_status(vault, caller, git):
    with pytest.raises(NotFoundError, match="is in no git repository"):
        git_verb(vault, caller, "status")
    git(vault.root, "init", "-q")
    found = git_verb(vault, caller, "status")
    assert (found.changed, found.removed, found.drivers, found.attributes, len(found.problems)) == (
        False,
        False,
        (),
        "ok",
        2,
    )
    found = git_verb(vault, caller, "install")
    assert (found.changed, found.removed, found.problems) == (True, False, ())
    assert [line.partition(" = ")[0] for line in found.drivers] == [
        "merge.cortex-briefing.driver",
        "merge.cortex-record.driver",
    ]
    assert not git_verb(vault, caller, "install").changed
    found = git_verb(vault, caller, "remove")
    assert (found.changed, found.removed, found.drivers) == (True, True, ())
    found = git_verb(vault, caller, "install")
    assert (found.changed, found.removed) == (True, False)


def test_a_note_is_followed_over_its_names_newest_first(vault, caller, kept, git):
    first = kept("write it", **{ONE: note("one-k3f7q2", "a")})
    kept("say more", **{ONE: note("one-k3f7q2", "a", "b")})
    kept("another", **{"records/decision/two.md": note("two", "a")})
    git(vault.root, "mv", ONE, "records/decision/a better name.md")
    kept("rename it")
    kept("and more", **{"records/decision/a better name.md": note("one-k3f7q2", "a", "b", "c")})
    found = history(vault, caller, "one-k3f7q2")
    assert told(found) == [
        ("changed", "and more", "records/decision/a better name.md"),
        ("renamed", "rename it", "records/decision/a better name.md"),
        ("changed", "say more", ONE),
        ("added", "write it", ONE),
    ]
    assert (found.versions[-1].commit, found.versions[-1].date, found.versions[-1].author) == (
        first,
        "2026-09-21T14:14:20Z",
        "Test",
    )
    assert told(history(vault, caller, "records/decision/a better name.md")) == told(found)
    short = history(vault, caller, "one-k3f7q2", number=1)
    assert (len(short.versions), short.more) == (1, 3)
    assert history(vault, caller, "one-k3f7q2", at=first).text == note("one-k3f7q2", "a")
    assert history(vault, caller, "one-k3f7q2", at="HEAD~1").at == found.versions[1].commit
    with pytest.raises(NotFoundError, match="there is no commit 'HEAD~77'"):
        history(vault, caller, "one-k3f7q2", at="HEAD~77")


def test_a_rename_with_another_text_is_known_by_the_id_and_a_lookalike_is_not(vault, caller, kept):
    text = [f"the same line {number} of many" for number in range(20)]
    kept("write it", **{ONE: note("one-k3f7q2", *text)})
    Path(vault.root, ONE).unlink()
    kept(
        "rewrite it, and copy it",
        **{
            "records/decision/new.md": note("one-k3f7q2", "all", "is", "new"),
            "records/decision/like.md": note("like", *text),
        },
    )
    assert [(change, path) for change, _, path in told(history(vault, caller, "one-k3f7q2"))] == [
        ("renamed", "records/decision/new.md"),
        ("added", ONE),
    ]
    assert [(change, path) for change, _, path in told(history(vault, caller, "like"))] == [
        ("added", "records/decision/like.md")
    ]


def test_a_rename_that_is_not_committed_yet_hides_nothing(vault, caller, kept):
    kept("write it", **{ONE: note("one-k3f7q2", "a")})
    os.rename(os.path.join(vault.root, ONE), os.path.join(vault.root, "records/moved.md"))
    assert told(history(vault, caller, "records/moved.md")) == [("added", "write it", ONE)]


@pytest.mark.parametrize("how", ["ours", "theirs", "rename"])
def test_what_lost_in_a_merge_is_named_and_can_be_read(how, vault, caller, kept, git):
    kept("write it", **{ONE: note("one-k3f7q2", "base")})
    git(vault.root, "checkout", "-qb", "side")
    if how == "rename":
        git(vault.root, "mv", ONE, "records/decision/side.md")
        side = kept("side", **{"records/decision/side.md": note("one-k3f7q2", "side")})
    else:
        side = kept("side", **{ONE: note("one-k3f7q2", "side")})
    git(vault.root, "checkout", "-q", "main")
    main = kept("main", **{ONE: note("one-k3f7q2", "main")})
    git(vault.root, "merge", "-q", "--no-commit", "-s", "ours", "side")
    if how == "theirs":
        Path(vault.root, ONE).write_text(note("one-k3f7q2", "side"))
    kept("merge")
    found = history(vault, caller, "one-k3f7q2")
    assert [version.subject for version in found.versions] == ["merge", "main", "side", "write it"]
    merge = found.versions[0]
    assert merge.change == "merged"
    (lost,) = merge.sides
    assert lost.commit == (main if how == "theirs" else side)
    losing = "main" if how == "theirs" else "side"
    assert git(vault.root, "cat-file", "blob", lost.blob) == note("one-k3f7q2", losing)
    assert history(vault, caller, "one-k3f7q2", at=lost.commit).text == note("one-k3f7q2", losing)


def test_a_merge_that_only_one_side_brought_is_no_commit_of_the_note(vault, caller, kept, git):
    kept("write it", **{ONE: note("one-k3f7q2", "base")})
    git(vault.root, "checkout", "-qb", "side")
    kept("side", **{ONE: note("one-k3f7q2", "side")})
    git(vault.root, "checkout", "-q", "main")
    kept("elsewhere", **{"own.md": "x\n"})
    git(vault.root, "merge", "-q", "side", "-m", "merge")
    assert [version.subject for version in history(vault, caller, "one-k3f7q2").versions] == [
        "side",
        "write it",
    ]


def test_a_note_that_is_gone_is_found_by_its_id_the_beginning_of_it_or_its_path(
    vault, caller, kept, git
):
    first = kept(
        "write it",
        **{
            ONE: note("one-k3f7q2", "a"),
            "records/decision/one-more-aaaaaa.md": note("one-more-aaaaaa"),
        },
    )
    git(vault.root, "mv", ONE, "records/gone.md")
    kept("rename it")
    (Path(vault.root) / "records/gone.md").unlink()
    kept("delete it")
    for name in ("one-k3f7q2", "one-k3f", "records/gone.md", "records/gone", ONE):
        found = history(vault, caller, name)
        assert [version.change for version in found.versions] == ["deleted", "renamed", "added"], (
            name
        )
        assert found.path == "records/gone.md"
        assert history(vault, caller, name, at=first).text == note("one-k3f7q2", "a")
    with pytest.raises(NotFoundError, match="was not there at"):
        history(vault, caller, "one-k3f7q2", at="HEAD")
    (Path(vault.root) / "records/decision/one-more-aaaaaa.md").unlink()
    kept("delete the other")
    with pytest.raises(ConflictError, match="names 2 notes that git has had"):
        history(vault, caller, "one-")
    with pytest.raises(NotFoundError, match="git has never had one"):
        history(vault, caller, "nothing-like-it")


HOSTILE = ["-x.md", "--output=PWN.md", ":(exclude)x.md", ":!x.md", "$(touch PWN).md", "a*.md", "a\tb.md", 'ü "q".md', "[x].md"]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_a_name_whatever_it_says(name, vault, caller, kept):
    first = kept("write it", **{name: "own text\n", "ab.md": "x\n", "x.md": "x\n"})
    kept("say more", **{name: "own text\nand more\n"})
    kept("others", **{"ab.md": "y\n", "x.md": "y\n"})
    found = history(vault, caller, name)
    assert [(version.subject, version.path) for version in found.versions] == [
        ("say more", name),
        ("write it", name),
    ]
    assert history(vault, caller, name, at=first).text == "own text\n"
    Path(vault.root, name).unlink()
    kept("delete it")
    assert history(vault, caller, name).versions[0].change == "deleted"
    assert not list(Path(vault.root).glob("**/*PWN"))


@pytest.mark.parametrize(
    "name", ["-", "--all", "--output=PWN", "../outside", "/etc/passwd", ":/", "*", "HEAD:x"]
)
def test_what_is_no_note_is_not_found_and_does_nothing(name, vault, caller, kept):
    kept("write it", **{ONE: note("one-k3f7q2", "a")})
    with pytest.raises(CortexError):
        history(vault, caller, name)
    with pytest.raises(CortexError):
        history(vault, caller, ONE, at=f"{name}PWN")
    assert not list(Path(vault.root).glob("**/PWN*"))


def test_odd_authors_and_subjects_come_out_whole(vault, caller, kept, monkeypatch):
    monkeypatch.setenv("GIT_AUTHOR_NAME", "x :100644 \x02 ünïc")
    kept(":000000 100644 \x01\t subject", **{ONE: note("one-k3f7q2", "a")})
    (version,) = history(vault, caller, "one-k3f7q2").versions
    assert (version.author, version.subject) == (
        "x :100644 \x02 ünïc",
        ":000000 100644 \x01\t subject",
    )


def test_without_a_repository_or_a_commit_it_says_so(vault_from, caller, git):
    vault = vault_from(f"=== {ONE}\n{note('one-k3f7q2', 'a')}")
    with pytest.raises(NotFoundError, match="is in no git repository"):
        history(vault, caller, "one-k3f7q2")
    git(vault.root, "init", "-q")
    with pytest.raises(NotFoundError, match="nothing has been committed yet"):
        history(vault, caller, "one-k3f7q2")
    git(vault.root, "commit", "-q", "--allow-empty", "-m", "empty")
    with pytest.raises(NotFoundError, match="no commit holds"):
        history(vault, caller, "one-k3f7q2")


def test_a_vault_below_the_top_speaks_of_its_own_paths(tmp_path, caller, git):
    from cortex.operations.care.init import init
    from cortex.vault.locate import Vault

    vault = Vault(init(caller, str(tmp_path / "code/my vault"), no_git=True).root)
    git(tmp_path / "code", "init", "-q")
    file = Path(vault.root, ONE)
    file.parent.mkdir(parents=True)
    file.write_text(note("one-k3f7q2", "a"))
    commit_all(tmp_path / "code", "write it")
    git(vault.root, "mv", ONE, "records/new.md")
    git(vault.root, "commit", "-qm", "rename it")
    assert told(history(vault, caller, "one-k3f7q2")) == [
        ("renamed", "rename it", "records/new.md"),
        ("added", "write it", ONE),
    ]
    assert history(vault, caller, "one-k3f7q2", at="HEAD~1").text == note("one-k3f7q2", "a")
    done = subprocess.run(
        ["git", "status", "--porcelain"], cwd=vault.root, capture_output=True, check=True
    )
    assert done.stdout == b""
