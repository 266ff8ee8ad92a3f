"""`[layout] folder`: everything of Cortex below one folder of the vault."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.layout import AT_ROOT, Layout, inbox_status, is_event_path
from cortex.vault.layout import folder_problem, layout_of
from tests.conftest import commit_all, run_cortex, run_git

Command = Callable[..., subprocess.CompletedProcess[str]]
OWN = ("inbox", "events", "records", "sessions", "briefings")
EVENT = "20261124t082727z-765d64kjic"
MINUTES = """# Weekly 2026-11-03

Attendees: Ana, Bob

## Decisions
- We keep carts for a day

## Actions
- [ ] Ana: tell support by 2026-11-10
"""


def ok(root: Path, *words: str, stdin: str = "") -> str:
    done = run_cortex(*words, cwd=root, stdin=stdin)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def filled(root: Path, *init: str) -> Path:
    """A vault with notes of each kind, a person's own among them, in a repository."""
    root.mkdir(parents=True)
    run_git(root, "init", "-q", "-b", "main")
    ok(root, "init", str(root), *init)
    (root / "Notes").mkdir()
    (root / "Notes" / "Mine.md").write_text("# Mine\n\n- [ ] buy bread 📅 2026-12-02\n")
    add_notes(root)
    commit_all(root, "begin")
    return root


def add_notes(root: Path) -> None:
    ok(root, "save", "Use SQLite", "--type", "decision", "--body", "It is one file.")
    ok(root, "save", "Old", "--topic", "decision/carts", "--body", "Keep carts for a week.")
    ok(root, "capture", "--type", "meeting", "-", stdin=MINUTES)
    turn = ("--type", "stop", "--session", "s1", "-")
    ok(root, "capture", *turn, stdin="Fixed it.\n\nGotcha: the port is 5433, not 5432.")
    ok(root, "normalize")


def texts(root: Path) -> dict[str, str]:
    paths = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {
        str(path.relative_to(root)): hashlib.sha1(path.read_bytes()).hexdigest() for path in paths
    }


def outside(root: Path, folder: str) -> list[str]:
    return [path for path in texts(root) if not path.startswith(f"{folder}/")]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two clones of one vault, both in step with their remote."""
    one, two, remote = filled(tmp_path / "one"), tmp_path / "two", tmp_path / "remote.git"
    run_git(tmp_path, "init", "-q", "--bare", "-b", "main", str(remote))
    run_git(one, "remote", "add", "origin", str(remote))
    ok(one, "sync")
    run_git(tmp_path, "clone", "-q", str(remote), str(two))
    ok(two, "sync")
    return one, two


def test_a_vault_that_was_moved_by_hand_is_read_as_its_settings_say(pair):
    one, two = pair
    ok(two, "revise", "use-sqlite", "--body", "It is one file, and fast.")
    (one / "cortex").mkdir()
    for name in OWN:
        (one / name).rename(one / "cortex" / name)
    with (one / "cortex.toml").open("a") as file:
        file.write('\n[layout]\nfolder = "cortex"\n')
    ok(one, "doctor", "--fix")
    commit_all(one, "one folder for Cortex")
    for root in (one, two, one):
        ok(root, "sync")
    for root in pair:
        left = [path for path in texts(root) if path.startswith(OWN[:-1])]
        assert left == []
        (record,) = (root / "cortex/records/decision").glob("use-sqlite*.md")
        assert "and fast" in record.read_text()
        ok(root, "doctor", "--fix")  # git is told where they lie
        assert "no problems" in ok(root, "doctor")
    assert texts(one) == texts(two)


def test_everything_goes_on_below_the_folder(tmp_path):
    root = filled(tmp_path / "vault", "--folder", "meta/cortex")
    assert layout_of(str(root)) == Layout("meta/cortex")
    assert sorted(outside(root, "meta/cortex")) == [
        ".cortex-project", ".gitattributes", "Notes/Mine.md", "cortex.toml",
    ]  # fmt: skip
    place = root / "meta/cortex"
    assert len(list(place.glob("sessions/*/*/*.md"))) == 1
    assert "Tell support" in ok(root, "actions")
    assert "buy bread" in ok(root, "actions")
    assert "Weekly" in ok(root, "meetings")
    assert "We keep carts for a day" in ok(root, "brief")
    ok(root, "save", "New", "--topic", "decision/carts", "--body", "Keep carts for a day.")
    (carts,) = place.glob("records/decision/decision-carts*.md")
    assert "for a day" in carts.read_text()
    hits = json.loads(ok(root, "actions", "--json"))["hits"]
    (id_,) = (one["id"] for one in hits if one["title"] == "Tell support")
    ok(root, "done", id_)
    (meeting,) = place.glob("records/meeting/*.md")
    assert "- [x] Ana: tell support" in meeting.read_text()
    ok(root, "archive", "use-sqlite")
    ok(root, "heal", "--format", "--apply")
    ok(root, "heal")
    assert "no problems" in ok(root, "doctor")
    pages = (place / "briefings/index.md").read_text()
    assert "[[meta/cortex/briefings/" in pages
    event = str(min(place.glob("events/*/*/*.md")))
    refused = run_cortex("revise", event, "--title", "x", cwd=root)
    assert (refused.returncode, "never edited" in refused.stderr) == (2, True), refused.stderr


def test_a_failed_event_is_retried_there(tmp_path):
    root = filled(tmp_path / "vault", "--folder", "cortex")
    pending = root / "cortex/inbox/pending/20261124t082727z-765d64kjic.md"
    pending.parent.mkdir(parents=True, exist_ok=True)
    pending.write_text("no event\n")
    assert run_cortex("normalize", cwd=root).returncode == 1
    failed = root / "cortex/inbox/failed/20261124t082727z-765d64kjic.md"
    assert "no event" in failed.read_text()
    assert "cortex/inbox/failed" in run_cortex("doctor", cwd=root).stdout


@pytest.mark.parametrize(("text", "folder"), [
    ('[layout]\nfolder = "cortex"\n', "cortex"),
    ("format = 1\r\n[layout] # ours\r\n# folder = 'a'\r\nfolder = 'm/c/'\r\n[index]\r\n", "m/c"),
    ('layout.folder = "x"\n', "x"),
    ('layout = { folder = "y" }\n', "y"),
    ('[layout]\n[index]\nfolder = "no"\n', ""),
    ('# [layout]\n# folder = "no"\n', ""),
    ('[layout]\nfolder = "../outside"\n', ""),
    ('[layout]\nfolder = ".hidden"\n', ""),
    ('[layout]\nfolder = "cortex"\nbroken', "cortex"),
])  # fmt: skip
def test_the_folder_is_read_from_the_settings(tmp_path, text, folder):
    (tmp_path / "cortex.toml").write_bytes(text.encode())
    assert layout_of(str(tmp_path)) == Layout(folder)


@pytest.mark.parametrize(
    "folder",
    ["..", "/etc", "a/../b", ".cortex", "records", "x/Events", "a|b", "a:b", "con", "x" * 90],
)
def test_a_folder_that_cannot_be_is_named(tmp_path, folder):
    done = run_cortex("init", "vault", "--folder", folder, cwd=tmp_path)
    assert (done.returncode, (tmp_path / "vault").exists()) == (2, False)
    assert "--folder cortex" in done.stderr
    assert folder_problem(folder)


def test_settings_that_name_no_folder_are_told(tmp_path):
    root = filled(tmp_path / "vault")
    with (root / "cortex.toml").open("a") as file:
        file.write('\n[layout]\nfolder = "../up"\n')
    assert "[layout] folder is no path below the vault" in run_cortex("doctor", cwd=root).stdout
    ok(root, "save", "Goes on", "--body", "x")
    assert list(root.glob("records/*/goes-on*"))


def test_a_vault_whose_folders_lie_elsewhere_is_named_by_init(tmp_path):
    root = filled(tmp_path / "vault")
    done = run_cortex("init", str(root), "--folder", "cortex", cwd=root)
    assert (done.returncode, "by hand" in done.stderr) == (2, True)
    below = filled(tmp_path / "other", "--folder", "cortex")
    ok(below, "init", str(below), "--folder", "cortex")


def test_paths_below_any_folder_are_known():
    layout = Layout("meta/cortex")
    assert layout.event(EVENT) == f"meta/cortex/events/2026/11/{EVENT}.md"
    assert layout.below(layout.record("gotcha", "x")) == AT_ROOT.record("gotcha", "x")
    assert [layout.own_folder(path) for path in ("records/x.md", "meta/cortex/records/x.md")] == [
        "", "records",
    ]  # fmt: skip
    assert is_event_path(layout.event(EVENT))
    assert not is_event_path("Diary/events/2026/11/party.md")
    paths = (layout.pending(EVENT), layout.failed(EVENT), layout.event(EVENT), "Notes/inbox/x.md")
    assert [inbox_status(path) for path in paths] == ["pending", "failed", "normalized", ""]
