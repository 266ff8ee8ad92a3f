"""`cortex extract --replay`: a vault of the version before, seen by today's rules: shown first, applied, taken back."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from cortex.core.extract.candidate import KEYWORD_LAYER, Candidate, candidate_to_record
from cortex.core.model.event import Event, compose, session_note_id
from cortex.core.model.layout import AT_ROOT
from cortex.core.model.record import Record, compose_untitled_record
from cortex.core.normalize.session_note import compose_note
from cortex.vault.locate import Vault

Command = Callable[..., CompletedProcess[str]]
PASSAGE = """Discovery: the lost carts come from `on_start`, which runs for the first worker alone

- The cart lives in `CartStore`, which `expire_all()` empties when the worker restarts, instead of reading `carts.db` again
- `CartStore.load()` never runs after a restart, because the hook `on_start` is only called for the first worker
- Rather than a cache of its own, each worker must read `carts.db` now; nothing is lost then, and `expire_all()` only drops carts older than a week
"""
OLD = {  # what the version before made of the words of an agent
    "untouched": "take the lock before the file is read",
    "edited": "close the file before it is renamed",
    "pinned": "wait for the second worker",
    "linked": "give each cart a key",
}


def event_of(number: int, text: str) -> Event:
    id_ = f"20261101t10{number:02}00z-{'abcdefghij'[number]}aaaaaaaaa"
    at = f"2026-11-01T10:{number:02}:00Z"
    return Event(id_, "stop", at, text, "old-1", project="shop", branch="main", host="claude", source="hook")  # fmt: skip


@pytest.fixture
def old(vault: Vault) -> dict[str, Path]:
    """A vault as the version before left it: two turns, four records of "the fix is", a session without an overview."""
    root = Path(vault.root)
    first = event_of(0, "\n".join(f"The fix is to {text}." for text in OLD.values()))
    second = event_of(1, PASSAGE)
    paths = {}
    for event in (first, second):
        path = root / AT_ROOT.event(event.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(compose(event))
    begun = Record(id="", type="", title="", body="", created=first.at, events=(first.id,), session="old-1", project="shop", branch="main")  # fmt: skip
    for name, text in OLD.items():
        record = candidate_to_record(Candidate(KEYWORD_LAYER, "bugfix", text, 0.6, 1), begun)
        paths[name] = root / f"records/bugfix/{record.id}.md"
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        data = compose_untitled_record(record)
        if name == "edited":
            data = data.replace("renamed", "renamed or moved")
        if name == "pinned":
            data = data.replace("status: active", "status: active\npinned: true")
        paths[name].write_text(data)
    (root / "notes").mkdir()
    (root / "notes/mine.md").write_text(f"See [[{paths['linked'].stem}]].\n")
    session = root / f"sessions/2026/11/{session_note_id('old-1')}.md"
    session.parent.mkdir(parents=True)
    note = compose_note(first).replace(
        f"    - {first.id}\n", f"    - {first.id}\n    - {second.id}\n"
    )
    session.write_text(note)
    return paths | {"session": session}


def snapshot(root: Path) -> dict[str, bytes]:
    """What people have and what was made of events, without the briefings, which follow."""
    found = (path for folder in ("records", "sessions", "events", "notes") for path in (root / folder).rglob("*.md"))  # fmt: skip
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def replayed(cortex: Command, *words: str) -> dict[str, set[str]]:
    done = cortex("extract", *words, "--json")
    found: dict[str, set[str]] = {}
    for note in json.loads(done.stdout)["replay"]["notes"]:
        found.setdefault(note["change"], set()).add(note["path"])
    assert done.returncode == (0 if found else 1), done.stderr
    return found


def test_the_difference_is_shown_first_and_nothing_is_written(vault, old, cortex):
    root = Path(vault.root)
    before = snapshot(root)
    found = replayed(cortex, "--replay")
    assert found["goes"] == {str(old["untouched"].relative_to(root))}
    assert len(found["comes"]) == 1
    assert found["session"] == {str(old["session"].relative_to(root))}
    assert snapshot(root) == before
    shown = cortex("extract", "--replay").stdout
    assert "lost carts" in shown
    assert "cortex extract --replay --apply" in shown


def test_applied_once_it_is_done_and_every_byte_comes_back(vault, old, cortex):
    root = Path(vault.root)
    before = snapshot(root)
    (come,) = replayed(cortex, "--replay", "--apply")["comes"]
    assert "on_start" in (root / come).read_text()
    assert "\nstatus: archived\n" in old["untouched"].read_text()
    for name in ("edited", "pinned", "linked"):
        assert old[name].read_bytes() == before[str(old[name].relative_to(root))]
    overview = old["session"].read_text()
    assert "## Outcome" in overview
    assert f"[[{Path(come).stem}|" in overview
    assert replayed(cortex, "--replay") == {}
    assert cortex("doctor").returncode == 0
    assert replayed(cortex, "--undo")["undone"]
    assert snapshot(root) == before
    assert cortex("extract", "--undo").returncode == 2


def test_what_somebody_has_changed_since_stays_and_is_named(vault, old, cortex):
    root = Path(vault.root)
    (come,) = replayed(cortex, "--replay", "--apply")["comes"]
    with (root / come).open("a") as file:
        file.write("\nSeen again on Monday.\n")
    done = cortex("extract", "--undo")
    assert come in done.stdout + done.stderr
    assert "Seen again on Monday." in (root / come).read_text()
    assert "\nstatus: active\n" in old["untouched"].read_text()


def test_what_somebody_has_changed_between_two_replays_stays(vault, old, cortex):
    replayed(cortex, "--replay", "--apply")
    text = old["session"].read_text() + "\nAsk Bob.\n"
    old["session"].write_text(text)
    settings, words = Path(vault.root, "cortex.toml"), "\n[extract]\nbugfix = ['The fix is to']\n"
    before = settings.read_text()
    settings.write_text(before + words)
    replayed(cortex, "--replay", "--apply")
    replayed(cortex, "--undo")
    assert "Ask Bob." in old["session"].read_text()


def test_what_a_replay_has_archived_comes_back_when_the_rules_give_it_again(vault, old, cortex):
    assert old
    settings = Path(vault.root, "cortex.toml")
    without = settings.read_text()
    settings.write_text(without + "\n[extract]\nbugfix = ['The fix is to']\n")
    came = replayed(cortex, "--replay", "--apply")["comes"]
    texts = {path: Path(vault.root, path).read_text() for path in came}
    settings.write_text(without)
    gone = replayed(cortex, "--replay", "--apply")["goes"]
    assert len(gone) > 1
    settings.write_text(without + "\n[extract]\nbugfix = ['The fix is to']\n")
    assert replayed(cortex, "--replay", "--apply")["comes"] == gone
    assert {path: Path(vault.root, path).read_text() for path in came} == texts


def test_two_clones_replay_alike(vault, old, cortex, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(vault.root, other)
    replayed(cortex, "--replay", "--apply")
    assert cortex("--vault", str(other), "extract", "--replay", "--apply").returncode == 0
    assert snapshot(other) == snapshot(Path(vault.root))


@pytest.mark.parametrize(
    "words", [("--apply",), ("--replay", "--undo"), ("--replay", "a text"), ("--undo",), ()]
)
def test_what_cannot_be_asked(words, cortex):
    done = cortex("extract", *words)
    assert done.returncode == 2
    assert "cortex extract" in done.stderr


def test_status_names_passages_and_what_was_used_or_is_shared_is_said(vault, old, cortex):
    root = Path(vault.root)
    text = old["untouched"].read_text()
    old["untouched"].write_text(text.replace("layer: keyword", "layer: passage"))
    assert "1 record of earlier rules" in cortex("status").stdout
    git = ("git", "-C", str(root), "remote", "add", "origin", "https://git.invalid/shop.git")
    subprocess.run(("git", "-C", str(root), "init", "-q"), check=True)
    subprocess.run(git, check=True)
    assert "teammates share this vault" in cortex("extract", "--replay").stdout
    cortex("show", old["untouched"].stem)
    assert "goes" not in replayed(cortex, "--replay")
