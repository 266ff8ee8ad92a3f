"""The change feed: what changed since a cursor, over any process, and when that is not known any more."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cortex import Vault as OpenVault
from cortex.index.state_file import state_path
from cortex.operations.find.changes import changes


def feed(vault, caller, since: str = "") -> tuple[dict[str, str], str]:
    """What became of each path, and the cursor."""
    found = changes(vault, caller, since)
    assert not found.resync
    assert len({one.path for one in found.changes}) == len(found.changes)
    return {one.path: one.what for one in found.changes}, found.cursor


def test_each_note_is_told_once_as_it_stands_now(vault, vault_from, caller) -> None:
    vault_from("=== a.md\none\n=== b.md\ntwo\n=== c.md\nthree\n")
    nothing, begin = feed(vault, caller)
    assert nothing == {}
    root = Path(vault.root)
    (root / "a.md").write_text("one and more\n")
    (root / "b.md").rename(root / "d.md")
    (root / "c.md").touch()
    said = {"a.md": "changed", "b.md": "gone", "d.md": "added"}
    first, later = feed(vault, caller, begin)
    assert first == said
    (root / "a.md").unlink()
    (root / "b.md").write_text("two again\n")
    (root / "passing.md").write_text("gone before anybody asked\n")
    feed(vault, caller)
    (root / "passing.md").unlink()
    assert feed(vault, caller, later)[0] == {"a.md": "gone", "b.md": "added"}
    assert feed(vault, caller, begin)[0] == {"a.md": "gone", "b.md": "changed", "d.md": "added"}
    end = feed(vault, caller)[1]
    os.utime(root / "d.md", (1, 1))
    assert feed(vault, caller, end) == ({}, end)


def test_a_record_is_told_with_its_id_and_type(vault, caller) -> None:
    begin = changes(vault, caller).cursor
    kept = OpenVault(vault.root).save("Use pears", type="decision")
    made = {one.path: one for one in changes(vault, caller, begin).changes}
    assert made[kept.path][:] == (kept.id, kept.path, "decision", "added")


def test_a_cursor_outlives_its_process_and_is_the_same_over_every_interface(
    vault, vault_from, cortex_process
) -> None:
    vault_from("=== a.md\none\n")
    begin = json.loads(cortex_process("changes", "--json").stdout)["cursor"]
    Path(vault.root, "b.md").write_text("two\n")
    by_command = json.loads(cortex_process("changes", begin, "--json").stdout)
    by_python = OpenVault(vault.root).changes(begin)
    assert [[*one.values()] for one in by_command["changes"]] == [["b.md", "b.md", "", "added"]]
    assert (by_python.changes[0][:], by_python.cursor) == (
        ("b.md", "b.md", "", "added"), by_command["cursor"],
    )  # fmt: skip
    assert cortex_process("changes", begin).stdout.startswith("added    b.md  note  b.md\ncursor ")


def test_what_is_not_known_any_more_is_said(vault, vault_from, caller) -> None:
    vault_from("=== a.md\none\n")
    cursor = changes(vault, caller).cursor
    origin = cursor.partition("-")[0]
    for wrong in ("x", "-1", f"{origin}-", f"{origin}-9", f"{origin}-١", f"{origin}-{'9' * 5000}", "1; DROP"):  # fmt: skip
        answer = changes(vault, caller, wrong)
        assert (answer.resync, answer.changes, answer.cursor) == (True, (), cursor), wrong
    OpenVault(vault.root).rebuild()
    answer = changes(vault, caller, cursor)
    assert (answer.resync, answer.changes) == (True, ())


KILLED = """
import os, signal, sys
from cortex.index.reindex import load_note
from cortex.index.state_file import open_catalogue
root, folder = sys.argv[1:]
os.unlink(os.path.join(folder, "state.json"))
with open_catalogue(folder, "write") as catalogue:
    catalogue.database.execute("PRAGMA cache_size = 5")  # what is not committed stands in the file
    for name in sorted(os.listdir(root)):
        if name.endswith(".md"):
            catalogue.put_note(load_note(root, name, "1", None))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_of_a_process_that_was_killed_as_it_wrote_nothing_is_missing(vault, caller) -> None:
    root = Path(vault.root)
    for number in range(300):
        (root / f"{number}.md").write_text("one\n")
    begin = changes(vault, caller).cursor
    for number in range(0, 300, 3):
        (root / f"{number}.md").write_text("two\n")
    folder = Path(vault.cache_folder())
    line = [sys.executable, "-c", KILLED, vault.root, str(folder)]
    assert subprocess.run(line, check=False).returncode == -signal.SIGKILL
    assert (folder / "catalogue.sqlite-journal").exists()
    told, end = feed(vault, caller, begin)
    assert told == {f"{number}.md": "changed" for number in range(0, 300, 3)}
    assert feed(vault, caller, end) == ({}, end)


@pytest.mark.parametrize("crashes", [0, 0.5])
def test_a_reader_that_follows_knows_what_the_vault_holds(crashes, vault, caller) -> None:
    """A copy that is kept by the feed alone, read now and then, has the paths of the vault, also where a
    process is killed before it has sealed the index."""
    chance, root = random.Random(5), Path(vault.root)
    known, cursor = (
        {str(one.relative_to(root)) for one in root.rglob("*.md")},
        changes(vault, caller).cursor,
    )
    for _ in range(60):
        name = root / f"n{chance.randrange(6)}.md"
        if name.exists() and chance.random() < 0.5:
            name.unlink()
        else:
            name.write_text(f"{chance.random()}\n")
        if chance.random() < 0.6:
            changes(vault, caller)  # of another reader
        if chance.random() < crashes:
            Path(state_path(vault)).unlink(missing_ok=True)
        if chance.random() < 0.4:
            answer = changes(vault, caller, cursor)
            assert not answer.resync
            cursor = answer.cursor
            for one in answer.changes:
                assert (one.path in known) is (one.what != "added"), one
                (known.discard if one.what == "gone" else known.add)(one.path)
            assert known == {str(one.relative_to(root)) for one in root.rglob("*.md")}
