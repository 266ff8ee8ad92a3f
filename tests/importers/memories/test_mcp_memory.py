from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.notes.note import read as read_note
from cortex.importers.item import ForeignRecord
from cortex.importers.memories import mcp_memory
from cortex.importers.memories.mcp_memory import accepts, read
from cortex.operations.care.doctor import doctor
from cortex.operations.exchange.import_ import import_

MADE = Path(__file__).parent / "mcp_memory.jsonl"


def test_an_entity_is_a_record_with_its_observations_as_points(tmp_path) -> None:
    shutil.copy(MADE, tmp_path / "memory.jsonl")
    assert accepts(str(MADE))
    assert accepts(str(tmp_path))
    ann, shop, cafe, _ = read(str(MADE))
    assert isinstance(ann, ForeignRecord)
    assert isinstance(shop, ForeignRecord)
    assert isinstance(cafe, ForeignRecord)
    assert (ann.title, ann.type) == ("Ann_Lee", "person")
    assert ann.body == (
        "- Prefers short answers\n- Works from Lisbon\n- Leads the shop <b>team</b>"
    )
    assert ann.relations == (("works_on", shop.key),)
    assert (cafe.title, cafe.body) == ('Café "Zoë"', "A place.")


def test_a_line_that_is_no_entity_is_named_and_stops_nothing(tmp_path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(MADE.read_text() + '\n{"type":"entity","na\n\n["x"]\n')
    items = list(read(str(file)))
    told = [item for item in items if isinstance(item, Problem)]
    assert [item.where for item in told[:2]] == ["line 6", "line 8"]
    assert {item.message for item in told[:2]} == {
        "cannot be read: it is no object of JSON, or longer than 16,000,000 bytes"
    }
    assert len(items) == 6


def test_an_entity_without_a_name_is_named_by_its_line(tmp_path, vault, caller) -> None:
    file = tmp_path / "memory.jsonl"
    nameless = entity("x").replace('"name": "x", ', "")
    file.write_text(entity("Ann", "tall") + entity("") + nameless + entity("x").replace('"x"', "5"))
    done = import_(vault, caller, ("mcp-memory", str(file)))
    assert [one.message for one in done.problems] == ["cannot be read: it has no name"] * 3
    assert [one.where.rpartition(": ")[2] for one in done.problems] == [
        "line 2",
        "line 3",
        "line 4",
    ]
    [ann] = Path(vault.root, "records").rglob("*.md")
    assert "superseded" not in ann.read_text()


def test_observations_that_are_no_list_are_one_or_none(tmp_path) -> None:
    file = tmp_path / "memory.jsonl"
    text = entity("Ann").replace("[]", '"tall"') + entity("Bob").replace("[]", "null")
    file.write_text(text)
    found = [one.body for one in read(str(file)) if isinstance(one, ForeignRecord)]
    assert found == ["- tall", "A person."]


def test_relations_of_what_is_no_entity_are_counted(tmp_path) -> None:
    file = tmp_path / "memory.jsonl"
    tie = '{"type":"relation","from":"%s","to":"%s","relationType":"depends_on"}\n'
    pairs = ("Cart/Service", "Ghost"), ("Cart/Service", "Tax"), ("Ghost", "Tax")
    ties = "".join(tie % pair for pair in pairs)
    file.write_text(entity("Cart/Service") + ties + entity("Tax"))
    told = "left out: 2 relations of what is no entity, such as Cart/Service depends_on Ghost"
    assert list(read(str(file)))[2:] == [Problem(str(file.resolve()), told)]


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
    file.write_text(file.read_text().replace("Nobody", "Ann_Lee"))
    found = imported("mcp-memory", file)
    assert [(note.title, note.get("type")) for note in found] == [
        ("Ann_Lee", "person"),
        ('Café "Zoë"', "place"),
        ("shop", "project"),
    ]
    assert "shop" in str(found[0].fields["relations"])


def entity(name: str, *points: str) -> str:
    row = {"type": "entity", "name": name, "entityType": "person", "observations": points}
    return json.dumps(row, ensure_ascii=False) + "\n"


def test_two_files_with_one_name_are_two_records(tmp_path, vault, caller) -> None:
    tie = '{"type":"relation","from":"Ann","to":"Bob","relationType":"knows"}\n'
    for place in ("shop", "blog"):
        (tmp_path / place).mkdir()
        text = entity("Ann", f"of the {place}") + entity("Bob", "of both") + tie
        (tmp_path / place / "memory.jsonl").write_text(text)
        os.utime(tmp_path / place / "memory.jsonl", (1_790_000_000, 1_790_000_000))
    for place in ("shop", "blog"):
        assert import_(vault, caller, ("mcp-memory", str(tmp_path / place))).records == 2
    again = import_(vault, caller, ("mcp-memory", str(tmp_path / "shop" / "memory.jsonl")))
    assert (again.records, again.sources[0].items[0].known) == (0, 2)
    (tmp_path / "shop").rename(tmp_path / "moved")  # as on another machine
    again = import_(vault, caller, ("mcp-memory", str(tmp_path / "moved")))
    assert (again.records, again.sources[0].items[0].known) == (0, 2)
    notes = [read_note(file.read_bytes()) for file in Path(vault.root, "records").rglob("*.md")]
    assert sorted(note.text_below_title.strip() for note in notes) == [
        "- of both", "- of both", "- of the blog", "- of the shop"
    ]  # fmt: skip
    assert doctor(vault, caller).problems == ()


def test_a_line_that_is_too_long_or_too_deep_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(mcp_memory, "_MAX_LINE_BYTES", 150)
    file = tmp_path / "memory.jsonl"
    deep = entity("Deep").replace("[]", "[" * 60 + "]" * 60).replace("\n", "")
    monkeypatch.setattr(mcp_memory.json, "loads", deeper(json.loads))
    file.write_text(
        entity("Ann", "x") + entity("Bob", "y" * 300) + deep + "\n" + entity("Zoe", "z")
    )
    items = list(read(str(file)))
    assert [one.title for one in items if isinstance(one, ForeignRecord)] == ["Ann", "Zoe"]
    problems = [one for one in items if isinstance(one, Problem)]
    assert [one.where for one in problems] == ["line 2", "line 3"]
    assert {one.message for one in problems} == {
        "cannot be read: it is no object of JSON, or longer than 150 bytes"
    }


def deeper(loads):
    """`loads` that gives up on depth as it does at many more levels."""

    def load(text: str):
        if text.count("[") > 50:
            raise RecursionError
        return loads(text)

    return load


def test_one_long_line_is_not_read_to_see_what_it_is(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(mcp_memory, "_MAX_LINE_BYTES", 1000)
    file = tmp_path / "memory.jsonl"
    file.write_text("{" * 100_000)
    assert not accepts(str(file))


def test_lines_in_another_encoding_are_read_and_that_is_said(tmp_path) -> None:
    file = tmp_path / "memory.jsonl"
    text = entity("Zoë", "a “café”") + entity("Bär", "é")
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [type(one) for one in read(str(file))] == [ForeignRecord, ForeignRecord]
    file.write_bytes(text.encode("cp1252"))
    first, second, *told = read(str(file))
    assert isinstance(first, ForeignRecord)
    assert isinstance(second, ForeignRecord)
    assert (first.title, first.body, second.title) == ("Zoë", "- a “café”", "Bär")
    message = "what in it is no UTF-8 was read as Windows-1252"
    assert told == [Problem(str(file.resolve()), message)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_file_that_powershell_wrote_is_read(tmp_path, encoding) -> None:
    file = tmp_path / "memory.jsonl"
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    file.write_bytes((mark + entity("Zoë", "a\u010ab") + entity("Bär", "é")).encode(encoding))
    assert accepts(str(file))
    found = [one for one in read(str(file)) if isinstance(one, ForeignRecord)]
    assert [(one.title, one.body) for one in found] == [("Zoë", "- a\u010ab"), ("Bär", "- é")]
