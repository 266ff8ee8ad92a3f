"""A vault of a newer format is read, and nothing in it changes; settings that nobody can read stop nothing, and open nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cortex.operations.capture.hooks_enabled import read_settings
from cortex.vault import settings, user_folders
from cortex.vault.git import checkout, commit
from cortex.vault.layout import layout_of
from tests.conftest import commit_all

NEWER = "format = 99\n"
BROKEN = 'format = 1\n[index\nexclude = ["private"]\n'


@pytest.fixture
def used(vault, cortex, git):
    """A vault in git with a record, a note that is excluded, and an index."""
    toml = Path(vault.root, "cortex.toml")
    toml.write_text(toml.read_text().replace("exclude = []", 'exclude = ["private"]'))
    Path(vault.root, "private").mkdir()
    Path(vault.root, "private/mine.md").write_text("zebra of mine\n")
    git(vault.root, "init", "-q")
    assert not cortex("save", "Use zebra", "--why", "it is one").returncode
    commit_all(vault.root)
    assert not cortex("search", "zebra").returncode
    return vault


def _bytes_of(root: str, *but: str) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(Path(root).rglob("*"))
        if path.is_file() and not str(path.relative_to(root)).startswith((".git/", *but))
    }


WRITING = pytest.mark.parametrize(
    "words",
    [
        ("save", "Two"),
        ("revise", "ID", "--priority", "3"),
        ("delete", "ID"),
        ("pin", "ID"),
        ("new", "decision", "Three"),
        ("normalize",),
        ("heal",),
        ("doctor", "--fix"),
        ("sync",),
    ],
)


@WRITING
def test_a_verb_that_writes_refuses_a_newer_format(used, cortex, git, words) -> None:
    Path(used.root, "cortex.toml").write_text(NEWER)
    (record,) = Path(used.root, "records/note").iterdir()
    words = [record.stem if word == "ID" else word for word in words]
    before, head = _bytes_of(used.root, "inbox/"), git(used.root, "rev-parse", "HEAD")
    done = cortex(*words)
    assert done.returncode == 2, done.stdout
    assert "format 99 is none of the formats 1 and 2" in done.stderr
    assert f"{used.root}/cortex.toml" in done.stderr
    assert "update cortex" in done.stderr
    assert _bytes_of(used.root, "inbox/") == before
    assert git(used.root, "rev-parse", "HEAD") == head


def test_what_is_captured_in_a_newer_format_is_kept(used, cortex) -> None:
    toml = Path(used.root, "cortex.toml")
    good = toml.read_text()
    toml.write_text(NEWER)
    assert cortex("capture", "keep this giraffe").returncode == 0
    saved = cortex("save", "Use okapi", "--why", "it is rare")
    assert saved.returncode == 2
    assert "cortex normalize" in saved.stderr
    for _ in range(2):
        found = cortex("search", "zebra")
        assert found.returncode == 0
        assert "Use zebra" in found.stdout
        assert (found.stdout + found.stderr).count("cortex.toml: ") == 1
    assert len(os.listdir(Path(used.root, "inbox/pending"))) == 2
    toml.write_text(good)
    assert cortex("normalize").returncode == 0
    assert "Use okapi" in cortex("search", "rare").stdout


def test_the_watcher_commits_nothing_of_a_newer_format(used) -> None:
    Path(used.root, "cortex.toml").write_text(NEWER)
    with pytest.raises(settings.InvalidInputError, match=r"cortex\.toml"):
        commit.is_automatic(used.root)


MARKERS = "<<<<<<< ours\nformat = 1\n=======\nformat = 1\n>>>>>>> theirs\n"
SOUND = 'format = 1\n[index]\nexclude = ["private"]\n[hooks]\nenabled = false\n[layout]\nfolder = "kept"\n[sync]\npush = false\n'
WRONG = 'format = 1\nindex.exclude = "private"\nhooks = 3\nlayout = 3\nsync = "no"\n'


def forget(root: str) -> None:
    """As a fresh clone: no copy of sound settings."""
    Path(user_folders.vault_folder_path("state", root), "settings").unlink(missing_ok=True)


@WRITING
def test_settings_that_nobody_can_read_stop_no_verb(used, cortex, git, words) -> None:
    """And are not committed."""
    (record,) = Path(used.root, "records/note").iterdir()
    Path(used.root, "cortex.toml").write_text(BROKEN)
    done = cortex(*(record.stem if word == "ID" else word for word in words))
    assert done.returncode == (1 if words == ("doctor", "--fix") else 0), done.stderr
    cortex("sync", "--no-push")
    assert git(used.root, "show", "HEAD:./cortex.toml") != BROKEN
    assert "[index\n" not in git(used.root, "show", "HEAD:./cortex.toml")
    told = cortex("doctor").stdout
    assert "line 2" in told
    assert f"mend that line of {used.root}/cortex.toml" in told


@pytest.mark.parametrize("text", [BROKEN, MARKERS, WRONG, "", "\0\xff"])
def test_the_last_sound_settings_hold(vault, text) -> None:
    toml = Path(vault.root, "cortex.toml")
    toml.write_text(SOUND)
    sound = settings.load(vault.root)
    assert layout_of(vault.root).folder == "kept"
    toml.write_bytes(text.encode("latin-1"))
    held = settings.load(vault.root)
    if text:
        assert held == sound._replace(problems=held.problems)
        assert held.problems
        assert layout_of(vault.root).folder == "kept"
        assert not read_settings(vault).enabled
    else:  # nothing said is sound, too
        assert held == settings.Settings()
    toml.write_text(SOUND)
    assert settings.load(vault.root) == sound


@pytest.mark.parametrize("text", [BROKEN, MARKERS, WRONG])
@pytest.mark.parametrize("copy", ["", "folder", "[", "\0"])
def test_without_a_sound_copy_the_strict_side_holds(vault, text, copy) -> None:
    settings.load(vault.root)
    forget(vault.root)
    path = Path(user_folders.vault_folder_path("state", vault.root), "settings")
    if copy == "folder":
        path.mkdir()
    elif copy:
        path.write_text(copy)
    Path(vault.root, "cortex.toml").write_text(text)
    held = settings.load(vault.root)
    assert held.problems
    assert not held.push
    assert held.prompts == "none"
    assert held.is_readable == (text is WRONG)
    assert held.exclude == (("private",) if text is WRONG else ())
    assert held.refusal is None


def test_broken_settings_that_a_pull_brings_stop_nobody(used, cortex, git, tmp_path) -> None:
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(used.root, "remote", "add", "origin", str(tmp_path / "remote.git"))
    assert cortex("sync").returncode == 0
    git(tmp_path, "clone", "-q", "remote.git", "other")
    Path(tmp_path, "other/cortex.toml").write_text(MARKERS)
    git(tmp_path / "other", "commit", "-qam", "merge")
    git(tmp_path / "other", "push", "-q")
    assert cortex("sync").returncode == 0
    assert Path(used.root, "cortex.toml").read_text() == MARKERS
    assert cortex("save", "Use okapi", "--why", "it is rare").returncode == 0
    synced = cortex("sync")
    assert synced.returncode == 0, synced.stderr
    assert git(used.root, "rev-parse", "HEAD") == git(tmp_path / "remote.git", "rev-parse", "HEAD")
    assert "private" not in cortex("search", "zebra").stdout
    clone = cortex("--vault", str(tmp_path / "other"), "save", "Use gnu", "--why", "it is there")
    assert clone.returncode == 0, clone.stderr


def test_what_was_excluded_stays_so_while_the_settings_cannot_be_read(used, cortex) -> None:
    Path(used.root, "cortex.toml").write_text(BROKEN)
    Path(used.root, "private/other.md").write_text("zebra, another one\n")
    for words in (("search", "zebra"), ("rebuild",), ("search", "zebra")):
        assert "private" not in cortex(*words).stdout
    for kept in ("index", "nothing"):
        if kept == "nothing":
            forget(used.root)
        for file in Path(used.cache_folder()).iterdir():
            if file.is_file():
                file.unlink()
        done = cortex("search", "zebra")
        assert "private" not in done.stdout
        assert done.returncode == (2 if kept == "nothing" else 0)
        assert "line 2" in done.stdout + done.stderr


@pytest.mark.parametrize(("text", "enabled"), [
    ("[hooks]\nenabled = false\nbroken =\n", False),
    ("[hooks]\nenabled = 0\n", False),
    ("[hooks]\nprompts = true\nbroken =\n", True),
    ("[hooks]\n# enabled = false\nbroken =\n", True),
])  # fmt: skip
def test_hooks_stay_off_as_a_line_of_broken_settings_says(vault, text, enabled) -> None:
    Path(vault.root, "cortex.toml").write_text(f"format = 1\n{text}")
    held = settings.load(vault.root)
    assert held.hooks_enabled == enabled


@pytest.mark.parametrize("value", ["0", '"x"', "true", "[]"])
def test_a_format_that_is_none_stops_nothing(used, cortex, value) -> None:
    Path(used.root, "cortex.toml").write_text(f"format = {value}\n")
    if value != "true":
        assert "write format = 2" in cortex("search", "zebra").stdout
    assert cortex("save", "Two").returncode == 0


def test_a_clone_of_a_newer_format_gets_no_merge_drivers(vault, cortex, git) -> None:
    git(vault.root, "init", "-q")
    Path(vault.root, "cortex.toml").write_text(NEWER)
    cortex("search", "zebra")
    assert not checkout.has_merge_drivers(vault.root)
