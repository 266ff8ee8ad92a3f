"""Law 9, prevented: where git pairs two notes as a rename, a clone stops or is right, with and without Cortex's merge drivers;
what stops is settled by `cortex sync`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import CortexError
from cortex.core.notes import note as notes
from cortex.operations.care.init import init
from cortex.operations.share.sync import sync
from cortex.vault.git import checkout, drivers
from cortex.vault.locate import Vault
from tests.conftest import run_git

ALIKE = "".join(
    f"Line {number} of what both notes say, so that git pairs them.\n" for number in range(12)
)
Tree = dict[str, str]  # path -> text


def record(id_: str, word: str) -> str:
    return f"---\nid: {id_}\ntype: decision\nstatus: active\ncreated: 2026-11-20T10:00:00Z\n---\n# Use {word}\n\n{word}\n\n{ALIKE}"


A, B, C = "use-alpha-k3f7q2", "use-beta-m4p2aa", "use-gamma-q2q2aa"
E = "20261120t100000z-aaaaaaaaab"
TEXTS = {
    A: record(A, "alpha"), B: record(B, "beta"), C: record(C, "gamma"),
    E: f"---\nid: {E}\ntype: manual\nat: 2026-11-20T10:00:00Z\nhost: cli\nsource: capture\n---\n\n## Raw Content\n\nepsilon\n\n{ALIKE}",
}  # fmt: skip
EDITED = TEXTS[A] + "edited alpha\n"
PATHS = {id_: f"records/decision/{id_}.md" for id_ in (A, B, C)} | {E: f"events/2026/11/{E}.md"}
WORDS = {A: "alpha", B: "beta", C: "gamma", E: "epsilon"}


def tree(*ids: str, **_: str) -> Tree:
    return {PATHS[id_]: TEXTS[id_] for id_ in ids}


# case -> what both sides began with, the two sides, and what must stand at the end: id -> text
CASES: dict[str, tuple[Tree, Tree, Tree, dict[str, str]]] = {
    "a note deleted and another added, the first edited elsewhere": (tree(A), tree(B), {PATHS[A]: EDITED}, {A: EDITED, B: TEXTS[B]}),
    "a note deleted on both sides, each adds another": (tree(A), tree(B), tree(C), {B: TEXTS[B], C: TEXTS[C]}),
    "a note deleted and an event added, the note edited elsewhere": (tree(A), tree(E), {PATHS[A]: EDITED}, {A: EDITED, E: TEXTS[E]}),
    "a note moved, and edited elsewhere": (tree(A), {"records/decision/moved.md": TEXTS[A]}, {PATHS[A]: EDITED}, {A: EDITED}),
}  # fmt: skip


class Clone:
    def __init__(self, root: Path, *, has_drivers: bool) -> None:
        self.root, self.has_drivers = root, has_drivers
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        init(self.caller(), str(root))
        self.commit({})
        (drivers.register if has_drivers else drivers.unregister)(str(root))

    def caller(self) -> Caller:
        return Caller(str(self.root), "2026-11-21T10:00:00Z", os.urandom, "test", no_progress)

    def git(self, *words: str, fails: bool = False) -> str:
        return run_git(self.root, *words, code=None if fails else 0)

    def write(self, files: Tree) -> None:
        """Have these notes, and no others."""
        for path in self.paths():
            (self.root / path).unlink()
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def commit(self, files: Tree) -> None:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", f"{sorted(files)}")

    def branches(self, base: Tree, one: Tree, two: Tree) -> None:
        """`one` and `two` lead from `base`; `two` is checked out."""
        self.commit(base)
        for name, files in (("one", one), ("two", two)):
            self.git("switch", "-q", "-c", name, "main")
            self.commit(files)

    def paths(self) -> list[str]:
        found = (*self.root.glob("records/**/*.md"), *self.root.glob("events/**/*.md"))
        return sorted(str(path.relative_to(self.root)) for path in found)

    def texts(self) -> dict[str, list[str]]:
        """The texts that stand in the work tree, by the id that they say."""
        found: dict[str, list[str]] = {}
        for text in ((self.root / path).read_text() for path in self.paths()):
            found.setdefault(notes.read(text.encode()).get("id"), []).append(text)
        return found

    def settle(self) -> None:
        """`cortex sync`, and the commands of git that its hints name, until it has nothing to say."""
        for _ in range(6):
            try:
                done = sync(Vault(str(self.root)), self.caller(), yes=True)
                assert not done.waiting, done.waiting
                if not done.trouble:
                    return
            except CortexError as error:
                assert error.hint, error
            what = checkout.operation_in_progress(str(self.root))
            words = ["commit", "-q", "--no-edit"] if what == "merge" else [what, "--continue"]
            if what:
                self.git(*words, fails=True)
        raise AssertionError(f"sync does not end: {done}")


def merge(clone: Clone, base: Tree, one: Tree, two: Tree) -> None:
    clone.branches(base, one, two)
    clone.git("merge", "--no-edit", "one", fails=True)


def cherry_pick(clone: Clone, base: Tree, one: Tree, two: Tree) -> None:
    clone.branches(base, one, two)
    clone.git("cherry-pick", "one", fails=True)


def rebase(clone: Clone, base: Tree, one: Tree, two: Tree) -> None:
    clone.branches(base, one, two)
    clone.git("rebase", "one", fails=True)


def squash(clone: Clone, base: Tree, one: Tree, two: Tree) -> None:
    clone.branches(base, one, two)
    clone.git("merge", "--squash", "one", fails=True)


def stash_pop(clone: Clone, base: Tree, one: Tree, two: Tree) -> None:
    clone.branches(base, one, two)
    clone.git("switch", "-q", "main")
    clone.write(two)
    clone.git("stash", "push", "-q", "-u")
    clone.git("switch", "-q", "one")
    clone.git("stash", "pop", fails=True)


def am(clone: Clone, base: Tree, one: Tree, two: Tree) -> None:
    """Of a patch that calls one note a new name of another `git apply` asks nobody (docs/dev/reliability.md)."""
    clone.branches(base, one, two)
    mail = clone.git("format-patch", "-1", "--no-renames", "--stdout", "one")
    (clone.root.parent / "mail").write_text(mail)
    clone.git("am", "-q", "-3", "../mail", fails=True)


def revert(clone: Clone, base: Tree, one: Tree, two: Tree) -> None:
    """What is reverted leads from `one` to `base`."""
    for files in (one, base, two):
        clone.commit(files)
    clone.git("revert", "--no-edit", "HEAD~1", fails=True)


WAYS = (merge, cherry_pick, rebase, squash, stash_pop, am, revert)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("has_drivers", [True, False], ids=["drivers", "no drivers"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("case", CASES)
def test_git_stops_or_is_right_and_sync_settles_what_stops(
    tmp_path: Path, has_drivers: bool, case: str, way: Callable[[Clone, Tree, Tree, Tree], None]
) -> None:
    clone = Clone(tmp_path / "clone", has_drivers=has_drivers)
    base, one, two, expected = CASES[case]
    way(clone, base, one, two)

    for id_, texts in clone.texts().items():
        others = {word for other, word in WORDS.items() if other != id_}
        assert not [word for text in texts for word in others if word in text], f"{id_}: {texts}"
        assert not [text for text in texts if "<<<<<<<" in text], texts
    clone.settle()
    held = {id_: [text] for id_, text in expected.items()}
    assert {id_: clone.texts().get(id_) for id_ in WORDS} == {id_: held.get(id_) for id_ in WORDS}


@pytest.mark.parametrize("has_drivers", [True, False], ids=["drivers", "no drivers"])
def test_a_patch_that_moves_another_file_loses_no_note_that_is_deleted_here(
    tmp_path: Path, has_drivers: bool
) -> None:
    """Of a file that it moves as it is a patch does not say the blob, so its sides are read from git's stages, where the
    edited note lies at the path of the event for which git has taken it."""
    clone = Clone(tmp_path / "clone", has_drivers=has_drivers)
    (clone.root / "mine.txt").write_text("a file of my own\n" * 9)
    clone.commit(tree(A))
    clone.git("switch", "-qc", "patch")
    clone.git("mv", "mine.txt", "moved.txt")
    clone.commit({PATHS[A]: EDITED})
    mail = clone.git("format-patch", "-1", "--stdout")
    clone.git("switch", "-q", "main")
    clone.commit(tree(E))
    (tmp_path / "mail").write_text(mail)
    clone.git("am", "-q", "-3", "../mail", fails=True)
    clone.settle()
    assert clone.texts() == {A: [EDITED], E: [TEXTS[E]]}


@pytest.mark.parametrize("case", list(CASES)[::2])
def test_without_the_attributes_git_mixes_them(tmp_path: Path, case: str) -> None:
    """The control: what the vault's attributes prevent."""
    clone = Clone(tmp_path / "clone", has_drivers=False)
    (clone.root / ".gitattributes").unlink()
    merge(clone, *CASES[case][:3])
    (other,) = CASES[case][1]
    assert "edited alpha" in (clone.root / other).read_text()
    assert not (clone.root / PATHS[A]).exists()
