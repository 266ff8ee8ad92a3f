"""A vault of a newer format, or with settings that nobody can read: it is read, and nothing in it changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cortex.vault import settings
from cortex.vault.git import checkout
from cortex.watcher import autocommit

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
    git(vault.root, "add", ".")
    git(vault.root, "commit", "-qm", "all")
    assert not cortex("search", "zebra").returncode
    return vault


def _bytes_of(root: str, *but: str) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(Path(root).rglob("*"))
        if path.is_file() and not str(path.relative_to(root)).startswith((".git/", *but))
    }


@pytest.mark.parametrize(
    ("text", "said"), [(NEWER, "format 99 is not the format 1"), (BROKEN, "line 2")]
)
@pytest.mark.parametrize(
    "words",
    [
        ("save", "Two"),
        ("update", "ID", "--priority", "3"),
        ("delete", "ID"),
        ("pin", "ID"),
        ("new", "decision", "Three"),
        ("normalize",),
        ("heal",),
        ("doctor", "--fix"),
        ("sync",),
    ],
)
def test_a_verb_that_writes_refuses(used, cortex, git, text, said, words) -> None:
    Path(used.root, "cortex.toml").write_text(text)
    (record,) = Path(used.root, "records/note").iterdir()
    words = [record.stem if word == "ID" else word for word in words]
    before, head = _bytes_of(used.root, "inbox/"), git(used.root, "rev-parse", "HEAD")
    done = cortex(*words)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert f"{used.root}/cortex.toml" in done.stderr
    assert "update cortex" in done.stderr or "mend that line" in done.stderr
    assert _bytes_of(used.root, "inbox/") == before
    assert git(used.root, "rev-parse", "HEAD") == head


@pytest.mark.parametrize("text", [NEWER, BROKEN])
def test_nothing_that_is_captured_is_lost(used, cortex, text) -> None:
    toml = Path(used.root, "cortex.toml")
    good = toml.read_text()
    toml.write_text(text)
    assert cortex("capture", "keep this giraffe").returncode == 0
    saved = cortex("save", "Use okapi", "--why", "it is rare")
    assert saved.returncode == 2
    assert "cortex normalize" in saved.stderr
    assert len(os.listdir(Path(used.root, "inbox/pending"))) == 2
    toml.write_text(good)
    assert cortex("normalize").returncode == 0
    assert "Use okapi" in cortex("search", "rare").stdout


@pytest.mark.parametrize("text", [NEWER, BROKEN])
def test_reading_goes_on_and_says_so_once(used, cortex, text) -> None:
    Path(used.root, "cortex.toml").write_text(text)
    cortex("capture", "keep this giraffe")
    for _ in range(2):
        found = cortex("search", "zebra")
        assert found.returncode == 0
        assert "Use zebra" in found.stdout
        assert (found.stdout + found.stderr).count("cortex.toml: ") == 1
    assert len(os.listdir(Path(used.root, "inbox/pending"))) == 1


def test_what_was_excluded_stays_so_while_the_settings_cannot_be_read(used, cortex) -> None:
    Path(used.root, "cortex.toml").write_text(BROKEN)
    Path(used.root, "private/other.md").write_text("zebra, another one\n")
    for words in (("search", "zebra"), ("rebuild",), ("search", "zebra")):
        done = cortex(*words)
        assert "private" not in done.stdout
    for file in Path(used.cache_folder()).iterdir():
        if file.is_file():
            file.unlink()
    done = cortex("search", "zebra")
    assert done.returncode == 2
    assert "line 2" in done.stderr


@pytest.mark.parametrize(
    ("text", "enabled", "prompts"),
    [
        ("[hooks]\nenabled = false\nbroken =\n", False, "short"),
        ("[hooks]\nprompts = true\nbroken =\n", True, "full"),
        ("[hooks]\nprompts = 'none'\nbroken =\n", True, "none"),
        ("[hooks]\nprompts = [\nbroken =\n", True, "none"),
        ("[hooks]\n# enabled = false\nbroken =\n", True, "short"),
    ],
)
def test_hooks_stay_as_the_lines_of_broken_settings_say(vault, text, enabled, prompts) -> None:
    Path(vault.root, "cortex.toml").write_text(f"format = 1\n{text}")
    held = settings.load(vault.root)
    assert (held.hooks_enabled, held.prompts) == (enabled, prompts)
    assert (held.push, held.autocommit) == (False, False)


@pytest.mark.parametrize("text", [NEWER, BROKEN])
def test_the_watcher_commits_nothing_and_says_why(used, text) -> None:
    Path(used.root, "cortex.toml").write_text(text)
    with pytest.raises(settings.InvalidInputError, match=r"cortex\.toml"):
        autocommit.is_enabled(used.root)


@pytest.mark.parametrize("value", ["0", '"x"', "true", "[]"])
def test_a_format_that_is_none_stops_nothing(used, cortex, value) -> None:
    Path(used.root, "cortex.toml").write_text(f"format = {value}\n")
    if value != "true":
        assert "write format = 1" in cortex("search", "zebra").stdout
    assert cortex("save", "Two").returncode == 0


def test_a_clone_of_a_newer_format_gets_no_merge_drivers(vault, cortex, git) -> None:
    git(vault.root, "init", "-q")
    Path(vault.root, "cortex.toml").write_text(NEWER)
    cortex("search", "zebra")
    assert not checkout.has_merge_drivers(vault.root)
