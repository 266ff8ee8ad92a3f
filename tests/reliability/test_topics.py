"""One topic saved on several clones: after sync one record, the same bytes everywhere, every event in its provenance, every
text within reach of `cortex history`. Whoever syncs first, and whatever else was done to the record meanwhile."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.layout import AT_ROOT
from cortex.core.model.problem import ConflictError
from cortex.core.model.topics import topic_record_id
from cortex.core.notes import note as notes
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.find.history import history
from cortex.operations.records.save import SaveResult, save
from cortex.operations.share.duplicates import join_files
from cortex.operations.share.sync import sync
from cortex.vault import files
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from tests.conftest import SOAK, commit_all, run_git

pytestmark = pytest.mark.sampled(4)

TOPIC = "decision/storage"
ID = topic_record_id("shop", "project", TOPIC)


class Clone:
    """A clone of a vault, and a person who works in it. A second passes with everything that anybody does."""

    ticks = itertools.count(1)

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = Vault(str(root))

    def caller(self) -> Caller:
        number = next(self.ticks)
        return Caller(
            str(self.root),
            f"2026-11-20T10:{number // 60:02}:{number % 60:02}Z",
            lambda size: number.to_bytes(size, "big"),
            "test",
            no_progress,
        )

    def save(self, title: str, text: str, **more: Any) -> SaveResult:
        return save(
            self.vault,
            self.caller(),
            title,
            body=text,
            **({"topic": TOPIC, "project": "shop"} | more),
        )

    def sync(self) -> None:
        done = sync(self.vault, self.caller())
        assert (done.trouble, done.problems, done.waiting) == ("", (), ())

    @property
    def path(self) -> Path:
        """The one file that is the topic's record."""
        (found,) = [
            path
            for path in self.root.rglob("*.md")
            if ".git" not in path.parts and notes.read(path.read_bytes()).get("id") == ID
        ]
        return found

    def note(self) -> notes.Note:
        return notes.read_strict(self.path.read_bytes(), ID)

    def edit(self, old: str, new: str) -> None:
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new))

    def held(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*.md")
            if ".git" not in path.parts
        }

    def texts(self) -> dict[str, str]:
        """Every text that history tells of, by its event, read with --at."""
        return {
            text.event: history(self.vault, self.caller(), ID, at=text.event).text
            for text in history(self.vault, self.caller(), ID).texts
        }


def build_three_clones(folder: Path) -> None:
    """Three clones of an empty vault, and their remote."""
    first = Clone(folder / "clone0")
    run_git(folder, "init", "-q", "--bare", "remote")
    run_git(folder, "init", "-q", "clone0")
    init(first.caller(), str(first.root))
    run_git(first.root, "remote", "add", "origin", "../remote")
    commit_all(first.root, "begin")
    run_git(first.root, "push", "-qu", "origin", "main")
    for one in (1, 2):
        run_git(folder, "clone", "-q", "remote", f"clone{one}")


@pytest.fixture
def clones(ram: Path, copied: Callable[..., None]) -> Callable[..., list[Clone]]:
    """As many clones of an empty vault as are asked for, at most three; they merge or rebase when they sync."""

    def make(number: int, *, rebase: bool = False) -> list[Clone]:
        Clone.ticks = itertools.count(1)
        made = [Clone(ram / f"clone{one}") for one in range(number)]
        copied(build_three_clones, ram, "remote", *(one.root.name for one in made))
        Clone.ticks = itertools.count(2)
        for one in made:
            run_git(one.root, "config", "pull.rebase", str(rebase).lower())
        return made

    return make


def sync_until_equal(*clones: Clone) -> None:
    """All sync until all have everything; then all hold the same bytes."""
    for clone in (*clones, *clones[:-1]):
        clone.sync()
    held = [clone.held() for clone in clones]
    assert all(one == held[0] for one in held)
    assert not [
        path for path, data in held[0].items() if b"<<<<<<<" in data or path.startswith("inbox/")
    ]


@pytest.mark.parametrize("rebase", [False, True])
@pytest.mark.parametrize("number", [2, 3])
def test_a_topic_begun_on_every_clone_is_one_record_and_the_last_text_stands(
    number, rebase, clones
):
    every = clones(number, rebase=rebase)
    saved = [
        clone.save(f"Title {place}", f"text {place}", tags=("all", f"tag{place}"), type=type_)
        for place, (clone, type_) in enumerate(
            zip(every, ["decision", "pattern", "gotcha"], strict=False)
        )
    ]
    assert len({(one.id, one.path) for one in saved}) == 1
    sync_until_equal(*every)
    note = every[0].note()
    last = number - 1
    assert (note.title, note.get("type"), note.text_below_title.strip()) == (
        f"Title {last}",
        ["", "pattern", "gotcha"][last],
        f"text {last}",
    )
    assert note.provenance()[0] == tuple(sorted(one.event for one in saved))
    assert note.get_list("tags") == ("all", *(f"tag{place}" for place in range(number)))
    assert note.fields["merge_conflicts"] == ["text"]  # until somebody has looked
    for clone in every:
        assert clone.texts() == {one.event: f"text {place}" for place, one in enumerate(saved)}
        assert all((clone.root / AT_ROOT.event(one.event)).exists() for one in saved)
        assert history(clone.vault, clone.caller(), ID).revisions == number


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_a_topic_saved_anew_on_three_clones_is_the_same_whoever_syncs_first(order, clones):
    every = clones(3, rebase=order[0] == 1)
    first = every[0].save("Begun", "begun", tags=("a",), confidence=0.5)
    sync_until_equal(*every)
    saved = [
        clone.save(f"Title {place}", f"text {place}", tags=(f"t{place}",))
        for place, clone in enumerate(every)
    ]
    sync_until_equal(*(every[place] for place in order))
    assert every[0].path.read_text() == (
        f"---\ntype: decision\nproject: shop\ntopic: decision/storage\n"
        f"tags: [a, t0, t1, t2]\ncreated: {every[0].note().get('created')}\nupdated: {every[0].note().get('updated')}\nevents: ["
        + ", ".join(f'"[[{one.event}]]"' for one in (first, *saved))
        + f"]\nmerge_conflicts:\n  - text\nid: {ID}\n---\n\n# Title 2\n\ntext 2\n"
    )
    assert sorted(every[1].texts().values()) == ["begun", "text 0", "text 1", "text 2"]


# -- what else happens to the record before the clones hear of each other


def edited_by_hand(clone: Clone) -> None:
    clone.edit("A line to leave.", "A line that I changed.")


def tagged_by_hand(clone: Clone) -> None:
    clone.edit("tags: [a]", "tags: [a, mine]")


def moved_by_hand(clone: Clone) -> None:
    target = clone.root / "Ideas/my storage.md"
    target.parent.mkdir()
    clone.path.rename(target)


def deleted_softly(clone: Clone) -> None:
    clone.edit("status: active", "status: deleted")


def superseded(clone: Clone) -> None:
    clone.save("Use Postgres", "instead", topic="", supersedes=(ID,))


def removed_by_hand(clone: Clone) -> None:
    clone.path.unlink()


def edited_and_saved(clone: Clone) -> None:
    clone.edit("A line to leave.", "A line that I changed.")
    clone.save("Another", "another text")


EVENTS = [
    edited_by_hand, tagged_by_hand, moved_by_hand, deleted_softly, superseded, removed_by_hand, edited_and_saved,
]  # fmt: skip


def build_two_clones_with_a_topic(folder: Path) -> None:
    """Two clones that know of one topic, and their remote."""
    build_three_clones(folder)
    one, two = Clone(folder / "clone0"), Clone(folder / "clone1")
    one.save("Begun", "A line to leave.\n\nAnother.", tags=("a",))
    sync_until_equal(one, two)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("change", "first"),
    [
        (change, first)
        for number, change in enumerate(EVENTS)
        for first in (True, False)
        if SOAK or first == bool(number % 2)
    ],
    ids=lambda value: value.__name__ if callable(value) else ["after", "before"][value],
)
def test_a_topic_saved_anew_against_what_was_done_on_another_clone(change, first, ram, copied):
    """The record is one, readable, and names every event; the new text stands, or the hand's lines beside it."""
    Clone.ticks = itertools.count(1)
    copied(build_two_clones_with_a_topic, ram, "remote", "clone0", "clone1")
    Clone.ticks = itertools.count(60)
    one, two = Clone(ram / "clone0"), Clone(ram / "clone1")
    for clone in (one, two):
        run_git(clone.root, "config", "pull.rebase", str(first).lower())
    (event,) = one.note().provenance()[0]
    if first:
        change(two)
        anew = one.save("Anew", "A line to leave.\n\nAnother.\n\nAnd new.")
    else:
        anew = one.save("Anew", "A line to leave.\n\nAnother.\n\nAnd new.")
        change(two)
    sync_until_equal(one, two)
    note = one.note()
    assert {event, anew.event} <= set(note.provenance()[0])
    assert one.texts()[event] == "A line to leave.\n\nAnother."
    assert one.texts()[anew.event] == "A line to leave.\n\nAnother.\n\nAnd new."
    for each in note.provenance()[0]:
        assert (one.root / AT_ROOT.event(each)).exists()
    assert note.fields.get("merge_conflicts") in (None, ["text"])
    later = change is edited_and_saved and not first
    assert note.title == ("Another" if later else "Anew")
    assert note.text.strip().endswith("another text" if later else "And new.")
    if change is edited_by_hand:
        assert "A line that I changed." in note.text
    if change is edited_and_saved:
        assert "A line that I changed.\n\nAnother." in one.texts().values()
    if change is tagged_by_hand:
        assert note.get_list("tags") == ("a", "mine")
    if change is moved_by_hand:
        assert str(one.path.relative_to(one.root)) == "Ideas/my storage.md"
    if change is deleted_softly:
        assert note.get("status") == "deleted"
    if change is superseded:
        assert note.get("status") == "superseded"


def test_while_two_records_become_one_nobody_else_changes_either(clones, monkeypatch):
    """A save and this use one name for the file that they write beside the note."""
    one, two = clones(2)
    saved = [one.save("One", "what one said"), two.save("Two", "what two said")]
    other = two.path.read_bytes()
    moved_by_hand(one)
    target = one.root / two.path.relative_to(two.root)
    target.write_bytes(other)
    (one.root / AT_ROOT.event(saved[1].event)).write_bytes(
        (two.root / AT_ROOT.event(saved[1].event)).read_bytes()
    )
    real, refused = {name: getattr(files, name) for name in ("replace", "remove")}, []

    def writing(name: str) -> Callable[..., None]:
        def write(root, path, *rest):
            with (
                pytest.raises(ConflictError),
                lock(os.path.join(one.vault.state_folder(), "normalize.lock"), "inbox", wait=0.0),
            ):
                pass
            refused.append((name, path))
            real[name](root, path, *rest)

        return write

    with monkeypatch.context() as patched:
        for name in real:
            patched.setattr(files, name, writing(name))
        assert len(join_files(one.vault, one.caller())) == 1
    assert [name for name, _ in refused] == ["replace", "remove"]
    assert one.note().text_below_title.strip() == "what two said"


def test_an_edit_of_a_topic_that_was_stashed_is_an_event_where_a_later_text_stands(clones):
    """Only the stash has it, which git forgets."""
    a, b = clones(2)
    a.save("Files", "in files")
    sync_until_equal(a, b)
    b.save("A database", "in a database")
    b.path.write_text(f"{b.path.read_text()}written by hand\n")
    a.save("An archive", "in an archive")
    a.sync()
    run_git(b.root, "stash", "push", "-q")
    run_git(b.root, "pull", "-q")
    run_git(b.root, "stash", "pop", "-q", code=None)
    doctor(b.vault, b.caller(), fix=True)
    run_git(b.root, "stash", "drop", "-q", code=None)
    sync_until_equal(b, a)
    assert a.note().title == "An archive"
    assert "written by hand" not in a.path.read_text()
    assert [text for text in a.texts().values() if "written by hand" in text]
    assert set(a.note().provenance()[0]) == {path.stem for path in a.root.glob("events/**/*.md")}


@pytest.mark.parametrize("rebase", [False, True])
def test_a_topic_begun_on_both_and_moved_on_one_is_one_record(rebase, clones):
    one, two = clones(2, rebase=rebase)
    saved = [one.save("One", "what one said"), two.save("Two", "what two said")]
    moved_by_hand(one)
    run_git(one.root, "add", "Ideas")  # a folder of their own is theirs to commit
    run_git(one.root, "commit", "-qm", "mine")
    sync_until_equal(one, two)
    assert str(two.path.relative_to(two.root)) == "Ideas/my storage.md"
    assert one.note().provenance()[0] == tuple(sorted(each.event for each in saved))
    assert one.note().text_below_title.strip() == "what two said"
