"""A project keeps its name through a clone, a move and a new remote, and who lost it is told how it comes back."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from cortex.core.model.problem import Problem
from cortex.operations.care.doctor import doctor
from cortex.operations.care.hooks import hooks
from cortex.operations.care.init import init
from cortex.operations.records.save import save
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from tests.conftest import NOW, caller_at


@pytest.fixture
def shop(tmp_path, git) -> Path:
    """A repository, without a remote and without a vault."""
    root = tmp_path / "The Shop"
    root.mkdir()
    git(root, "init", "-q")
    return root


def made(root: Path, below: str = "vault") -> tuple[Vault, tuple[str, ...]]:
    done = init(caller_at(NOW, str(root)), below or ".")
    return Vault(done.root), done.added


def named(problems: tuple[Problem, ...]) -> list[Problem]:
    return [one for one in problems if "this folder is" in one.message]


def test_a_vault_in_a_repository_names_the_project(shop, git, tmp_path) -> None:
    _, added = made(shop)
    assert added == ("cortex.toml", ".gitattributes", "views/", "../.cortex-project")
    assert (shop / ".cortex-project").read_text() == "the-shop\n"
    git(shop, "add", ".cortex-project")
    git(shop, "commit", "-qm", "a vault")
    git(tmp_path, "clone", "-q", str(shop), "clone")
    git(shop, "remote", "add", "origin", "https://example.org/other.git")
    moved = shop.rename(tmp_path / "moved")
    assert {checkout.project_of(str(one)) for one in (moved, tmp_path / "clone")} == {"the-shop"}


@pytest.mark.parametrize("below", ["", "vault", "notes/of/mine"])
def test_it_is_said_where_the_file_lies(shop, below) -> None:
    vault, added = made(shop, below)
    assert os.path.normpath(os.path.join(vault.root, added[-1])) == str(shop / ".cortex-project")


def test_a_remote_has_the_better_name(shop, git) -> None:
    git(shop, "remote", "add", "origin", "git@example.org:team/storefront.git")
    made(shop)
    assert (shop / ".cortex-project").read_text() == "storefront\n"


@pytest.mark.parametrize("where", ["a file", "an empty file", "a link", "above", "between"])
def test_what_is_there_is_never_touched(shop, where) -> None:
    file = {"above": shop.parent, "between": shop / "vault"}.get(where, shop) / ".cortex-project"
    file.parent.mkdir(exist_ok=True)
    if where == "a link":
        file.symlink_to("nowhere")
    else:
        file.write_text("" if where == "an empty file" else "mine\n")
    before = os.lstat(file).st_mtime_ns
    _, added = made(shop)
    assert added == ("cortex.toml", ".gitattributes", "views/")
    assert os.lstat(file).st_mtime_ns == before
    assert [folder for folder, _, names in os.walk(shop.parent) if ".cortex-project" in names] == [
        str(file.parent)
    ]


def test_there_is_no_such_file_in_a_home(tmp_path, git) -> None:
    root = Path.home()
    root.mkdir(exist_ok=True)
    git(root, "init", "-q")
    assert made(root)[1] == ("cortex.toml", ".gitattributes", "views/")
    assert not list(tmp_path.rglob(".cortex-project"))


@pytest.mark.parametrize("no_git", [True, False])
def test_a_vault_that_is_copied_keeps_its_name(tmp_path, no_git) -> None:
    """Without a remote, and without git: a new vault has a name of its own, an older one goes on with that of its path."""
    done = init(caller_at(NOW, str(tmp_path)), "My notes", no_git=no_git)
    assert done.added == ("cortex.toml", ".gitattributes", "views/", ".cortex-project")
    assert (tmp_path / "My notes/.git").is_dir() != no_git
    copy = shutil.copytree(tmp_path / "My notes", tmp_path / "elsewhere/other")
    assert checkout.project_of(str(copy)) == "my-notes"
    (copy / ".cortex-project").unlink()
    shutil.rmtree(copy / ".git", ignore_errors=True)
    old = checkout.project_of(str(copy))
    assert old.startswith("other-")
    assert init(caller_at(NOW, str(copy))).added == ()
    assert checkout.project_of(str(copy)) == old


def test_an_older_vault_keeps_the_name_under_which_its_records_are(shop) -> None:
    made(shop)
    (shop / ".cortex-project").unlink()  # as before there was such a file
    old = checkout.project_of(str(shop))
    assert old.startswith("the-shop-")
    assert made(shop)[1] == ("../.cortex-project",)
    assert (shop / ".cortex-project").read_text() == f"{old}\n"


def test_an_install_says_how_the_name_lasts(shop, git) -> None:
    place = caller_at(NOW, str(shop / "src"))
    (shop / "src").mkdir()
    old = checkout.project_of(str(shop))
    (line,) = [
        line for line in hooks(place, "install", ["claude"]).next if ".cortex-project" in line
    ]
    subprocess.run(["/bin/sh", "-c", line.rpartition(": ")[2]], cwd=place.cwd, check=True)
    assert (shop / ".cortex-project").read_text() == f"{old}\n"
    assert not [
        line for line in hooks(place, "install", ["claude"]).next if ".cortex-project" in line
    ]
    (shop / ".cortex-project").unlink()
    # Of which a clone has the name too.
    git(shop, "remote", "add", "origin", "https://example.org/shop.git")
    assert not [
        line for line in hooks(place, "install", ["claude"]).next if ".cortex-project" in line
    ]


@pytest.mark.parametrize("how", ["a remote", "a move", "a file"])
def test_doctor_names_records_that_a_new_name_left_behind(shop, git, cortex, how) -> None:
    vault, _ = made(shop)
    (shop / ".cortex-project").unlink()
    place = caller_at(NOW, str(shop))
    old = checkout.project_of(str(shop))
    save(vault, place, "Use SQLite", type="decision")
    assert not named(doctor(vault, place).problems)
    if how == "a remote":
        git(shop, "remote", "add", "origin", "https://example.org/storefront.git")
    elif how == "a move":
        shop = shop.rename(shop.with_name("storefront"))
        vault, place = Vault(str(shop / "vault")), caller_at(NOW, str(shop / "vault"))
    else:
        (shop / ".cortex-project").write_text("storefront\n")
    new = checkout.project_of(place.cwd)
    assert new.startswith("storefront")
    (problem,) = named(doctor(vault, place).problems)
    assert problem.message == f"1 record here is of the project {old}, and this folder is {new} now"
    echo, _, merge = problem.hint.partition(", or ")
    if how == "a file":
        assert merge == f"cortex project merge {old} {new}"
        assert cortex(*shlex.split(merge)[1:], "--yes", cwd=place.cwd).returncode == 0
    else:
        subprocess.run(["/bin/sh", "-c", echo], cwd=place.cwd, check=True)
        assert checkout.project_of(place.cwd) == old
    assert not named(doctor(vault, place).problems)


def test_doctor_says_nothing_where_the_names_may_be_meant(shop, tmp_path, git) -> None:
    """Several projects in one vault, a vault elsewhere, and one that is a repository of its own."""
    vault, _ = made(shop)
    place = caller_at(NOW, str(shop))
    for title in ("Use SQLite", "Use Postgres"):
        save(vault, place, title, type="decision", project=f"other-{title[4:7].lower()}")
    assert not named(doctor(vault, place).problems)
    away, _ = made(tmp_path, "away")
    save(away, place, "Use SQLite", type="decision", project="other")
    assert not named(doctor(away, place).problems)
    git(tmp_path / "away", "init", "-q")
    assert not named(doctor(away, caller_at(NOW, away.root)).problems)
