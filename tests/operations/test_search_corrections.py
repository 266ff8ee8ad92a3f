"""A word that no note holds is corrected, and the answer says so; German words in all their forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.operations.find.search import search

NOTES = """
=== errors.md
# Errors

All exceptions are handled by the merge driver before a power cut.
=== names.md
# Names

Call `get_user_name` in C3PO's module.
=== abbruch.md
# Abbruch

Die Datenbankverbindung bricht ab und wird nicht neu aufgebaut.
=== haus.md
# Altes

Die Häuser sind alt, und die Entscheidungen dauern.
=== zweites.md
# Zweites

Eine Entscheidung für das Haus. Die Verbindung zur Datenbank steht.
"""


@pytest.mark.parametrize(("query", "corrected", "paths"), [
    ("exeptions", {"exeptions": "exceptions"}, ["errors.md"]),
    ("Handeld exeptions", {"handeld": "handled", "exeptions": "exceptions"}, ["errors.md"]),
    ("mergedriver", {"mergedriver": "merge driver"}, ["errors.md"]),
    ("powercut", {"powercut": "power cut"}, ["errors.md"]),
    ("get_usr_name", {"get_usr_name": "get_user_name"}, ["names.md"]),
    ("exceptions", {}, ["errors.md"]),
    ("C4PO", {}, []),  # another number is another thing
    ("xyzzy", {}, []),
    ('"exeptions"', {}, []),  # quoted: to be taken by the letter
])  # fmt: skip
def test_a_word_that_no_note_holds_is_corrected(vault_from, caller, query, corrected, paths):
    found = search(vault_from(NOTES), caller, query)
    assert found.corrected == corrected
    assert [one.path for one in found.hits] == paths


def test_what_must_not_be_in_a_note_is_not_corrected(vault_from, caller):
    found = search(vault_from(NOTES), caller, "merge -exeptions")
    assert found.corrected == {}
    assert [one.path for one in found.hits] == ["errors.md"]


def test_a_tilde_asks_for_what_is_spelled_alike(vault_from, caller):
    vault = vault_from("=== a.md\nThe cat.\n=== b.md\nThe cart.\n=== c.md\nThe dog.\n")
    assert [one.path for one in search(vault, caller, "cart").hits] == ["b.md"]
    found = search(vault, caller, "~cart")
    assert {one.path for one in found.hits} == {"a.md", "b.md"}
    assert found.corrected == {}


def test_a_correction_does_not_name_a_deleted_note(vault_from, caller):
    vault = vault_from("=== a.md\nThe exceptions.\n=== b.md\nThe dog.\n")
    assert search(vault, caller, "exeptions").hits
    Path(vault.root, "a.md").unlink()
    found = search(vault, caller, "exeptions")
    assert (found.hits, found.corrected) == ((), {})


@pytest.mark.parametrize(("query", "paths"), [
    ("Verbindung", {"abbruch.md", "zweites.md"}),
    ("Datenbank", {"abbruch.md", "zweites.md"}),
    ("Haus", {"haus.md", "zweites.md"}),
    ("Entscheidung", {"haus.md", "zweites.md"}),
    ("Datenbankverbindungen", {"abbruch.md"}),
])  # fmt: skip
def test_german_plurals_and_compounds(vault_from, caller, query, paths):
    found = search(vault_from(NOTES), caller, query)
    assert {one.path for one in found.hits} == paths
    assert found.corrected == {}


@pytest.mark.parametrize("engine", ["whoosh", "tantivy"])
def test_a_compound_is_found_in_an_index_that_was_changed_note_by_note(
    vault_from, caller, monkeypatch, engine
):
    if engine == "tantivy":
        pytest.importorskip("tantivy")
    monkeypatch.setenv("CORTEX_ENGINE", engine)
    vault = vault_from(NOTES)
    for number in range(8):  # Whoosh merges segments
        text = f"Die Netzwerkverbindung {number} wird geprüft.\n"
        Path(vault.root, f"netz{number}.md").write_text(text, encoding="utf-8")
        assert f"netz{number}.md" in {
            one.path for one in search(vault, caller, "netzwerkverb*").hits
        }
    found = {one.path for one in search(vault, caller, "Verbindung").hits}
    assert found == {*(f"netz{number}.md" for number in range(8)), "abbruch.md", "zweites.md"}
    Path(vault.root, "abbruch.md").unlink()
    assert "abbruch.md" not in {one.path for one in search(vault, caller, "Verbindung").hits}


def test_english_notes_know_no_german_forms(vault_from, caller):
    vault = vault_from("=== a.md\nThe server.\n=== b.md\nServen, and nothing more.\n")
    assert [one.path for one in search(vault, caller, "server").hits] == ["a.md"]


def test_the_likest_word_is_meant_not_the_most_frequent(vault_from, caller) -> None:
    walls = "".join(f"=== w{i}.md\n# Walls\n\nThe red wall.\n" for i in range(3))
    vault = vault_from(f"{walls}=== r.md\n# Redis\n\nRedis lost jobs.\n")
    for query in ("redsi", "reddis"):
        assert [one.path for one in search(vault, caller, query).hits] == ["r.md"]


def test_two_words_are_one_only_where_they_stand_side_by_side(vault_from, caller) -> None:
    vault = vault_from("=== a.md\nThe tests pass. Another red port is open.\n")
    found = search(vault, caller, "passport")
    assert (found.hits, found.corrected) == ((), {})


def test_a_note_is_not_shown_for_the_name_that_was_excluded(vault_from, caller) -> None:
    vault = vault_from("=== cat.md\n# Our cat\n\nSleeps.\n=== w.md\n# Walls\n\nRed.\n")
    assert [one.path for one in search(vault, caller, "-cat").hits] == ["w.md"]
