from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.item import ForeignRecord
from cortex.importers.memories.mcp_memory import accepts, read

MADE = Path(__file__).parent / "mcp_memory.jsonl"


def test_an_entity_is_a_record_with_its_observations_as_points(tmp_path) -> None:
    shutil.copy(MADE, tmp_path / "memory.jsonl")
    assert accepts(str(MADE))
    assert accepts(str(tmp_path))
    ann, shop, cafe = read(str(MADE))
    assert isinstance(ann, ForeignRecord)
    assert isinstance(shop, ForeignRecord)
    assert isinstance(cafe, ForeignRecord)
    assert (ann.title, ann.type) == ("Ann_Lee", "person")
    assert ann.body == (
        "- Prefers short answers\n- Works from Lisbon\n- Leads the shop <b>team</b>"
    )
    assert ann.relations == (("works_on", "shop"),)
    assert (cafe.title, cafe.body) == ('Café "Zoë"', "A place.")


def test_a_line_that_is_no_entity_is_named_and_stops_nothing(tmp_path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(MADE.read_text() + '\n{"type":"entity","na\n\n["x"]\n')
    items = list(read(str(file)))
    assert [item.where for item in items if isinstance(item, Problem)] == ["line 6", "line 8"]
    assert len(items) == 5


def test_other_files_are_not_taken_for_it(tmp_path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text('{"type":"user","message":{}}\n')
    assert not accepts(str(file))
    assert not accepts(str(tmp_path / "none"))
    with pytest.raises(InvalidInputError, match="no entities"):
        list(read(str(file)))


def test_import_and_again_after_an_observation_was_added(tmp_path, imported, vault) -> None:
    file = tmp_path / "memory.jsonl"
    shutil.copy(MADE, file)
    found = imported("mcp-memory", file)
    assert [(note.title, note.get("type")) for note in found] == [
        ("Ann_Lee", "person"),
        ('Café "Zoë"', "place"),
        ("shop", "project"),
    ]
    assert "shop" in str(found[0].fields["relations"])
