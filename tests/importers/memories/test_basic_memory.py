from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.importers.item import ForeignRecord
from cortex.importers.memories.basic_memory import accepts, read

MADE = Path(__file__).parent / "basic_memory"
DOCS = Path(__file__).parents[3] / "docs"


def test_a_note_is_a_record_named_by_its_permalink(tmp_path) -> None:
    assert accepts(str(MADE))
    old, origins, brewing = read(str(MADE))
    assert isinstance(old, ForeignRecord)
    assert isinstance(origins, ForeignRecord)
    assert isinstance(brewing, ForeignRecord)
    assert (brewing.key, brewing.title) == ("main/notes/coffee-brewing", "Coffee Brewing")
    assert brewing.tags == ("coffee", "brewing")
    assert brewing.body.startswith("How to make coffee.")
    assert "- [method] Pour over" in brewing.body
    assert origins.type == "guide"


def test_relations_name_notes_by_title_and_those_of_no_note_are_left_in_the_text(tmp_path) -> None:
    old, origins, brewing = (one for one in read(str(MADE)) if isinstance(one, ForeignRecord))
    assert origins.supersedes == (old.key,)
    assert brewing.relations == (("relates_to", origins.key),)
    assert "contrasts_with [[Tea Brewing]]" in brewing.body
    assert "relates_to [Coffee Bean Origins](coffee-bean-origins.md)" in brewing.body
    assert "supersedes [Old Origins](../archive/old-origins.md)" in origins.body


def test_a_folder_of_other_notes_is_not_taken_for_it(tmp_path) -> None:
    assert not accepts(str(DOCS))
    assert not accepts(str(DOCS / "none"))
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(InvalidInputError, match="holds no notes"):
        list(read(str(tmp_path)))


def test_import_keeps_what_replaced_what(imported) -> None:
    origins, brewing, old = imported("basic-memory", MADE)
    assert (old.get("status"), origins.get("type")) == ("superseded", "guide")
    assert "old-origins" in str(origins.fields["supersedes"])
    assert brewing.get_list("tags") == ("brewing", "coffee")
    assert f"relates_to [[{origins.get('id')}|Coffee Bean Origins]]" in brewing.text
    assert f"supersedes [[{old.get('id')}|Old Origins]]" in origins.text
