"""`cortex reset`: what is derived is made anew; a project's memory goes after a question, and can come back."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import commit_all, run_git


def texts(root: str | Path, *folders: str) -> dict[str, bytes]:
    found = {}
    for folder in folders or ("records", "events", "sessions"):
        for path in sorted(Path(root, folder).rglob("*.md")):
            found[str(path.relative_to(root))] = path.read_bytes()
    return found


@pytest.fixture
def shops(vault, cortex) -> Any:
    """A vault with the memory of two projects, of which a page of a person's links to one."""
    Path(vault.root, "Mine.md").write_text("# Mine\n\nAs in [[carts-note]].\n")
    made = cortex("save", "Keep carts for a day", "--type", "decision", "--why", "the table stays small", "--project", "shop", "--json")  # fmt: skip
    id_ = json.loads(made.stdout)["id"]
    Path(vault.root, "Mine.md").write_text(f"# Mine\n\nAs in [[{id_}]].\n")
    cortex("save", "Carts expire", "--type", "gotcha", "--why", "cron", "--project", "shop", "--topic", "carts")  # fmt: skip
    cortex("save", "Docs in English", "--type", "preference", "--why", "readers", "--project", "docs")  # fmt: skip
    cortex("search", "carts")
    return vault


def test_what_is_derived_is_made_anew_and_nothing_else_touched(shops, cortex):
    before = texts(shops.root)
    pages = texts(shops.root, "briefings")
    page = Path(shops.root, next(iter(pages)))
    page.write_bytes(page.read_bytes() + b"- by hand\n")
    cache = Path(shops.cache_folder())
    (cache / "vectors").mkdir()
    (cache / "vectors" / "x.vectors").write_bytes(b"x")
    (cache / "catalogue.sqlite").write_bytes(b"broken")
    state = sorted(path.name for path in Path(shops.state_folder()).iterdir())
    done = cortex("reset")
    assert done.returncode == 0
    assert "index and pages were made anew" in done.stdout
    assert texts(shops.root) == before
    assert texts(shops.root, "briefings") == pages
    assert not (cache / "vectors").exists()
    assert set(state) <= {path.name for path in Path(shops.state_folder()).iterdir()}
    assert "Keep carts for a day" in cortex("search", "carts").stdout


def test_nothing_goes_before_it_was_asked(shops, cortex, terminal):
    before = texts(shops.root)
    asked = cortex("reset", "--memory", "--project", "shop")
    assert asked.returncode == 1
    assert "2 events, 2 records" in asked.stdout
    assert "other file: Mine.md" in asked.stdout
    assert "cortex reset --memory --project shop --yes" in asked.stdout
    assert cortex("reset", "--memory", "--project", "shop", stdin="n\n").returncode == 1
    assert "[y/N]" in terminal("reset", "--memory", "--project", "shop", said="n\n")
    assert texts(shops.root) == before
    assert cortex("reset", "--memory", "--project", "shop", stdin="y\n").returncode == 0
    assert [path for path in texts(shops.root, "records") if "docs" not in path] == []


def test_a_memory_goes_and_the_command_brings_every_byte_back(shops, cortex):
    before, mine = texts(shops.root), Path(shops.root, "Mine.md").read_bytes()
    done = json.loads(cortex("reset", "--memory", "--project", "Shop", "--yes", "--json").stdout)
    left = texts(shops.root)
    assert {path for path in before if "records" in path} - left.keys() == {
        path for path in before if "carts" in path
    }
    assert not any(b"table stays small" in data or b"cron" in data for data in left.values())
    assert any(b"readers" in data for data in left.values())
    assert b"[[" not in Path(shops.root, "Mine.md").read_bytes()
    assert cortex("search", "carts", "type:decision").returncode == 1
    again = cortex("reset", "--memory", "--project", "shop", "--yes")
    assert (again.returncode, "there is no memory of the project shop" in again.stderr) == (2, True)
    told = done["left"][0]
    command = told[told.index("tar -xf") :]
    assert shlex.split(command)[2].startswith(shops.state_folder())
    subprocess.run(["sh", "-c", command], check=True)
    assert texts(shops.root) == before
    assert Path(shops.root, "Mine.md").read_bytes() == mine
    assert "Keep carts for a day" in cortex("search", "carts").stdout


def test_in_a_repository_it_stays_gone_a_topic_goes_on_and_it_can_come_back(shops, cortex):
    run_git(shops.root, "init", "-q")
    commit_all(shops.root)
    before = texts(shops.root)
    done = json.loads(cortex("reset", "--memory", "--project", "shop", "--yes", "--json").stdout)
    assert run_git(shops.root, "status", "--short") == ""
    cortex("heal")
    gone = texts(shops.root)
    assert not any("carts" in path for path in gone)
    cortex("save", "Carts expire after two days", "--type", "gotcha", "--project", "shop", "--topic", "carts")  # fmt: skip
    assert cortex("sync").returncode == 0
    cortex("heal")
    (topic,) = (path for path in texts(shops.root, "records") if "carts" in path)
    assert b"two days" in texts(shops.root)[topic]  # the same id, and it stays
    command = done["left"][0].partition("this puts it back: ")[2]
    subprocess.run(["sh", "-c", command], check=True)
    cortex("sync")
    cortex("heal")
    after = texts(shops.root)
    assert {path: after[path] for path in before} == before


def test_an_old_clone_does_not_bring_it_back(shops, cortex, tmp_path):
    run_git(shops.root, "init", "-q")
    commit_all(shops.root)
    run_git(tmp_path, "clone", "-q", "--bare", shops.root, "hub.git")
    run_git(tmp_path, "clone", "-q", "hub.git", "other")
    run_git(shops.root, "remote", "add", "origin", str(tmp_path / "hub.git"))
    run_git(shops.root, "fetch", "-q", "origin")
    run_git(shops.root, "branch", "-q", "-u", "origin/main")
    cortex("reset", "--memory", "--project", "shop", "--yes")
    assert cortex("sync").returncode == 0
    cortex("sync", cwd=str(tmp_path / "other"))
    for root in (shops.root, tmp_path / "other"):
        held = texts(root)
        assert not any("carts" in path for path in held), root
        assert not any(b"cron" in data for data in held.values()), root


def test_an_erase_names_the_backups_that_hold_it(shops, cortex):
    done = json.loads(cortex("reset", "--memory", "--project", "shop", "--yes", "--json").stdout)
    archive = shlex.split(done["left"][0].partition("this puts it back: ")[2])[2]
    before = Path(archive).read_bytes()
    cortex("save", "The table stays small", "--type", "note", "--project", "docs")
    told = json.loads(cortex("erase", "table stays small", "--json").stdout)
    assert f"{archive}, a backup: rm it" in told["left"]
    assert Path(archive).read_bytes() == before
    cortex("save", "Wilhelmina knows", "--type", "note", "--project", "docs")
    told = json.loads(cortex("erase", "Wilhelmina", "--json").stdout)
    assert told["done"]
    assert not any(archive in one for one in told["left"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--project", "shop"), "--project and --yes go with --memory"),
        (("--yes",), "--project and --yes go with --memory"),
        (("--memory", "--project", "nope", "--yes"), "there is no memory of the project nope"),
        (("--memory", "--project", "  ", "--yes"), "memory"),
    ],
)
def test_bad_words_change_nothing(shops, cortex, words, said):
    before = texts(shops.root)
    done = cortex("reset", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert texts(shops.root) == before


def test_the_project_is_that_of_the_working_directory_with_what_was_merged_into_it(
    shops, cortex, tmp_path
):
    work = tmp_path / "work"
    work.mkdir()
    (work / ".cortex-project").write_text("docs\n")
    run_git(work, "init", "-q")
    cortex("project", "merge", "shop", "docs", "--yes")
    done = cortex("--vault", shops.root, "reset", "--memory", "--yes", cwd=str(work))
    assert done.returncode == 0, done.stderr
    assert texts(shops.root, "records") == {}
