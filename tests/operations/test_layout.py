"""`[layout] folder`: everything of Cortex below one folder, moved there and back by one command."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.layout import AT_ROOT, Layout, inbox_status, is_event_path
from cortex.vault.layout import folder_problem, layout_of
from tests.conftest import run_cortex

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


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def filled(root: Path, *init: str) -> Path:
    """A vault with notes of each kind, a person's own among them, in a repository."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    ok(root, "init", str(root), *init)
    (root / "Notes").mkdir()
    (root / "Notes" / "Mine.md").write_text("# Mine\n\n- [ ] buy bread 📅 2026-12-02\n")
    add_notes(root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
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
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(remote))
    git(one, "remote", "add", "origin", str(remote))
    ok(one, "sync")
    git(tmp_path, "clone", "-q", str(remote), str(two))
    ok(two, "sync")
    return one, two


def test_a_vault_is_moved_below_a_folder_and_back_to_the_last_byte(tmp_path: Path) -> None:
    root = filled(tmp_path / "vault")
    before = texts(root)
    preview = ok(root, "layout", "cortex", "--dry-run")
    assert "would be moved" in preview
    assert texts(root) == before
    told = ok(root, "layout", "cortex")
    assert told.splitlines()[-1] == "  undo: cortex layout ."
    assert not any((root / name).exists() for name in OWN)
    assert sorted(outside(root, "cortex")) == [
        ".cortex-project", ".gitattributes", "Notes/Mine.md", "cortex.toml",
    ]  # fmt: skip
    moved = texts(root)
    notes = {path: text for path, text in before.items() if path.startswith(OWN[:-1])}
    for path, text in notes.items():
        assert moved[f"cortex/{path}"] == text
    assert ok(root, "heal", "--check")
    assert "no problems" in ok(root, "doctor")
    assert "cortex/records/decision/use-sqlite" in ok(root, "search", "sqlite")
    ok(root, "layout", ".")
    assert texts(root) == before


def test_everything_goes_on_below_the_folder(tmp_path: Path) -> None:
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
    with pytest.raises(AssertionError, match="never edited"):
        ok(root, "update", str(min(place.glob("events/*/*/*.md"))), "--title", "x")


def test_a_failed_event_is_retried_there(tmp_path: Path) -> None:
    root = filled(tmp_path / "vault", "--folder", "cortex")
    pending = root / "cortex/inbox/pending/20261124t082727z-765d64kjic.md"
    pending.parent.mkdir(parents=True, exist_ok=True)
    pending.write_text("no event\n")
    assert run_cortex("normalize", cwd=root).returncode == 1
    failed = root / "cortex/inbox/failed/20261124t082727z-765d64kjic.md"
    assert "no event" in failed.read_text()
    assert "cortex/inbox/failed" in run_cortex("doctor", cwd=root).stdout


def test_what_a_person_has_in_these_folders_stays(tmp_path: Path) -> None:
    root = filled(tmp_path / "vault")
    own = {
        "events/party.md": "# Party\n",
        "inbox/idea.md": "An idea\n",
        "records/vinyl.md": "---\nartist: Nina\n---\nNina\n",
        "records/cover.png": "image",
        "briefings/lawyer.md": "From the lawyer\n",
    }
    for path, text in own.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    told = ok(root, "layout", "cortex")
    assert "not Cortex's: 5 files" in told
    ok(root, "heal")  # which moves what other clones have left
    assert {path: (root / path).read_text() for path in own} == own
    ok(root, "layout", ".")
    assert {path: (root / path).read_text() for path in own} == own


def test_two_clones_of_which_one_does_not_know_yet(pair: tuple[Path, Path]) -> None:
    one, two = pair
    ok(one, "layout", "cortex")
    ok(one, "save", "Said in one", "--type", "decision", "--body", "One.")
    ok(two, "save", "Said in two", "--type", "gotcha", "--body", "Two.")
    ok(two, "save", "Old", "--topic", "decision/carts", "--body", "Keep carts for a day.")
    ok(two, "capture", "Decision: captured in two", "--session", "s2")
    ok(two, "normalize")
    events = {path.name for root in pair for path in root.rglob("*events/*/*/*.md")}
    for _ in range(2):
        ok(one, "sync")
        ok(two, "sync")
    ok(one, "sync")
    for root in pair:
        assert not any((root / name).exists() for name in OWN), texts(root)
        assert {path.name for path in (root / "cortex/events").rglob("*.md")} == events
        for word in ("one", "two"):
            assert f"Said in {word}" in ok(root, "search", f"said in {word}")
        (carts,) = (root / "cortex").glob("records/decision/decision-carts*.md")
        assert "Keep carts for a day." in carts.read_text()
        assert "no problems" in ok(root, "doctor")
    assert texts(one) == texts(two)


def test_an_edit_of_a_moved_record_is_merged(pair: tuple[Path, Path]) -> None:
    one, two = pair
    ok(one, "layout", "cortex")
    ok(two, "update", "use-sqlite", "--body", "It is one file, and fast.")
    ok(one, "sync")
    ok(two, "sync")
    ok(one, "sync")
    for root in pair:
        (record,) = (root / "cortex/records/decision").glob("use-sqlite*.md")
        assert "and fast" in record.read_text()
    assert texts(one) == texts(two)


def test_a_record_that_stands_in_both_places_becomes_one(tmp_path: Path) -> None:
    root = filled(tmp_path / "vault")
    (record,) = root.glob("records/decision/use-sqlite*.md")
    text = record.read_text()
    ok(root, "layout", "cortex")
    (moved,) = root.glob("cortex/records/decision/use-sqlite*.md")
    record.parent.mkdir(parents=True)
    record.write_text(text + "\nSaid in a clone that had not moved.\n")
    moved.write_text(text.replace("one file", "one small file"))
    ok(root, "heal")
    assert not record.exists()
    assert "one small file" in moved.read_text()
    assert "Said in a clone that had not moved." in moved.read_text()
    assert "no problems" in ok(root, "doctor")


def test_obsidian_goes_on_excluding_what_it_excluded(tmp_path: Path) -> None:
    root = filled(tmp_path / "vault")
    settings = root / ".obsidian" / "app.json"
    settings.parent.mkdir()
    settings.write_text('{ "userIgnoreFilters": ["drafts/"],\n\t"x": 1 }')
    before = settings.read_text()
    ok(root, "layout", "cortex")
    assert settings.read_text() == before  # they were not excluded
    ok(root, "init", str(root), "--obsidian")
    assert '["drafts/", "cortex/events/", "cortex/inbox/"]' in settings.read_text()
    ok(root, "layout", ".")
    assert '["drafts/", "events/", "inbox/"]' in settings.read_text()
    settings.write_text("{broken")
    told = run_cortex("layout", "cortex", cwd=root)
    assert "Obsidian's excluded files" in told.stdout + told.stderr
    assert (root / "cortex" / "records").is_dir()


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ('[layout]\nfolder = "cortex"\n', "cortex"),
        (
            "format = 1\r\n[layout] # ours\r\n# folder = 'a'\r\nfolder = 'm/c/'\r\n[index]\r\n",
            "m/c",
        ),
        ('layout.folder = "x"\n', "x"),
        ('layout = { folder = "y" }\n', "y"),
        ('[layout]\n[index]\nfolder = "no"\n', ""),
        ('# [layout]\n# folder = "no"\n', ""),
        ('[layout]\nfolder = "../outside"\n', ""),
        ('[layout]\nfolder = ".hidden"\n', ""),
        ('[layout]\nfolder = "cortex"\nbroken', "cortex"),
    ],
)
def test_the_folder_is_read_from_the_settings(tmp_path: Path, text: str, folder: str) -> None:
    (tmp_path / "cortex.toml").write_bytes(text.encode())
    assert layout_of(str(tmp_path)) == Layout(folder)


@pytest.mark.parametrize(
    "folder",
    ["..", "/etc", "a/../b", ".cortex", "records", "x/Events", "a|b", "a:b", "con", "x" * 90],
)
def test_a_folder_that_cannot_be_is_named(tmp_path: Path, folder: str) -> None:
    root = filled(tmp_path / "vault")
    before = texts(root)
    done = run_cortex("layout", folder, cwd=root)
    if folder != "/etc":  # `etc`, below the vault
        assert (done.returncode, texts(root)) == (2, before)
        assert "cortex layout cortex" in done.stderr
        assert folder_problem(folder)


def test_settings_that_name_no_folder_are_told(tmp_path: Path) -> None:
    root = filled(tmp_path / "vault")
    with (root / "cortex.toml").open("a") as file:
        file.write('\n[layout]\nfolder = "../up"\n')
    assert "[layout] folder is no path below the vault" in run_cortex("doctor", cwd=root).stdout
    ok(root, "save", "Goes on", "--body", "x")
    assert list(root.glob("records/*/goes-on*"))


def test_a_file_or_link_in_the_way(tmp_path: Path) -> None:
    root = filled(tmp_path / "vault")
    (root / "cortex").write_text("mine")
    (root / "link").symlink_to(tmp_path)
    for folder in ("cortex", "cortex/x", "link/y"):
        done = run_cortex("layout", folder, cwd=root)
        assert done.returncode == 2
        assert "is no folder" in done.stderr
    assert (root / "records").is_dir()


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    root = filled(tmp_path / "vault")
    before = texts(root)
    with (root / "cortex.toml").open("a") as file:  # as after the first step
        file.write('\n[layout]\nfolder = "cortex"\n')
    (root / "cortex/records").mkdir(parents=True)
    (root / "records/decision").rename(root / "cortex/records/decision")
    ok(root, "heal")
    assert not any((root / name).exists() for name in OWN)
    # Back: the notes go before the settings.
    (root / "records").mkdir()
    (root / "cortex/records/decision").rename(root / "records/decision")
    ok(root, "layout", ".")
    assert texts(root) == before


def test_a_vault_with_the_folder_is_named_by_init(tmp_path: Path) -> None:
    root = filled(tmp_path / "vault")
    done = run_cortex("init", str(root), "--folder", "cortex", cwd=root)
    assert (done.returncode, "layout cortex" in done.stderr) == (2, True)
    ok(root, "layout", "cortex")
    ok(root, "init", str(root), "--folder", "cortex")
    assert ok(root, "layout") == "Cortex's folders lie below cortex/\n"


def test_paths_below_any_folder_are_known() -> None:
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
