from __future__ import annotations

import os
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.item import ForeignRecord
from cortex.importers.memories.claude_memory import accepts, read
from cortex.operations.exchange.import_ import import_

INDEX = """# Memory

- [Prefers uv](feedback_uv.md) — never pip
- [Cart moves](project_cart.md) — to IndexedDB

## Build
Run `make all` before a commit.
"""
UV = """---
name: prefers-uv
description: Use uv, never pip
metadata:
  node_type: memory
  type: feedback
  originSessionId: 19d7fc05-7140-4c5b-b7a1-e296c05eacca
  modified: 2026-07-29T13:16:34.420Z
---

Use uv for every environment. See [[cart-moves]] and [[nobody]].

**Why:** pip broke the lock file.
"""
CART = """---
name: Cart moves
description: The cart moves to IndexedDB
type: project
---
The cart moves to IndexedDB by May.
"""


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    folder = tmp_path / "projects" / "-home-ann-my-shop" / "memory"
    folder.mkdir(parents=True)
    for name, text in (
        ("MEMORY.md", INDEX),
        ("feedback_uv.md", UV),
        ("project_cart.md", CART.replace("Cart moves", "cart-moves")),
    ):
        (folder / name).write_text(text)
        os.utime(folder / name, (1_790_000_000, 1_790_000_000))
    line = '{"type":"user","cwd":"/home/ann/my-shop","message":{}}\n'
    (folder.parent / "19d7fc05.jsonl").write_text('{"type":"summary"}\n' + line)
    return tmp_path / "projects"


def records(path: Path) -> list[ForeignRecord]:
    return [item for item in read(str(path)) if isinstance(item, ForeignRecord)]


def test_each_file_is_a_record_and_the_index_only_what_stands_nowhere_else(projects) -> None:
    index, uv, cart = records(projects)
    assert (uv.title, uv.type, uv.project) == ("prefers-uv", "preference", "/home/ann/my-shop")
    assert uv.body.startswith("Use uv, never pip\n\nUse uv for every environment.")
    assert uv.updated == "2026-07-29T13:16:34.420Z"
    assert (uv.at, uv.session) == (1_790_000_000.0, "19d7fc05-7140-4c5b-b7a1-e296c05eacca")
    assert ("references", cart.key) in uv.relations
    assert cart.type == "context"
    assert "Run `make all`" in index.body
    assert "never pip" not in index.body


@pytest.mark.parametrize("inside", ["", "-home-ann-my-shop", "-home-ann-my-shop/memory"])
def test_a_memory_is_the_same_whichever_folder_is_named(projects, inside) -> None:
    assert accepts(str(projects / inside))
    assert records(projects / inside) == records(projects)
    assert accepts(str(projects.parent))


def test_without_transcripts_the_folder_names_the_project(projects, monkeypatch) -> None:
    (projects / "-home-ann-my-shop" / "19d7fc05.jsonl").unlink()
    monkeypatch.setenv("HOME", "/home/ann")
    assert {record.project for record in records(projects)} == {"-my-shop"}


def test_an_index_alone_that_only_lists_is_no_record(projects) -> None:
    folder = projects / "-home-ann-my-shop" / "memory"
    (folder / "MEMORY.md").write_text(INDEX.partition("## Build")[0])
    assert [record.title for record in records(projects)] == ["prefers-uv", "cart-moves"]


def test_a_file_in_another_encoding_is_read_and_named(projects) -> None:
    (projects / "-home-ann-my-shop" / "memory" / "cafe.md").write_bytes("Café".encode("latin-1"))
    problems = [item for item in read(str(projects)) if isinstance(item, Problem)]
    assert [one.where for one in problems] == ["-home-ann-my-shop cafe.md"]
    assert "Café" in [one.body.strip() for one in records(projects)]


def test_other_folders_are_not_taken_for_it(tmp_path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "notes.md").write_text("# Notes\n")
    assert not accepts(str(tmp_path))
    with pytest.raises(InvalidInputError, match="holds no memory of Claude Code"):
        list(read(str(tmp_path)))
    (tmp_path / "memory" / "MEMORY.md").write_text("# Task Group: x\n")
    (tmp_path / "memory" / "raw_memories.md").write_text("")
    assert not accepts(str(tmp_path))


def test_a_file_that_has_changed_updates_its_record(projects, imported, vault, caller) -> None:
    found = imported("claude-memory", projects)
    assert [(note.title, note.get("type")) for note in found][1:] == [
        ("cart-moves", "context"),
        ("prefers-uv", "preference"),
    ]
    assert found[2].get("project") == "my-shop"
    assert found[1].get("id") in str(found[2].fields["references"])
    file = projects / "-home-ann-my-shop" / "memory" / "project_cart.md"
    file.write_text(file.read_text().replace("by May", "by June"))
    os.utime(file, (1_790_100_000, 1_790_100_000))
    import_(vault, caller, ("claude-memory", str(projects)))
    cards = [path for path in Path(vault.root, "records").rglob("*.md") if "cart" in path.name]
    assert len(cards) == 1
    assert "by June" in cards[0].read_text()
