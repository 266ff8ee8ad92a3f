"""`cortex doctor` names the copies that clouds make of a note which two devices changed; both are kept, and searched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.operations.care import vault_checks
from cortex.operations.care.doctor import doctor
from cortex.operations.find.search import search
from cortex.vault.locate import Vault

NOTE = "# Rota\n\nMonday: Ana\nTuesday: Ben\n"
OTHER = "# Beds\n\nleeks\nkale\n"
BY_NAME = [
    "Rota (conflicted copy 2026-11-20).md",
    "Rota (Ana's conflicted copy 2026-11-20).md",
    "Rota (Conflicted copy laptop 202611201010).md",
    "Rota (In Konflikt stehende Kopie von Ana 2026-11-20).md",
    "Rota (Copie en conflit de Ana 2026-11-20).md",
    "Rota (SFConflict ana@example.org 2026-11-20-10-10-10).md",
    "Rota.sync-conflict-20261120-101010-ABC1234.md",
    "Rota_conflict-20261120-101010.md",
]
BY_LIKENESS = ["Rota (1).md", "Rota 2.md", "Rota (conflicted copy).md"]
NO_COPIES = [
    "Rota (draft).md",
    "Rota 2026.md",
    "Rota-2.md",
    "Rota conflict.md",
    "Rota2.md",
    "Shift (1).md",  # there is no Shift.md
]
Write = Callable[[str], Vault]


@pytest.fixture
def copies(vault_from: Write, caller) -> Callable[..., dict[str, str]]:
    """What doctor says of `plans/Rota.md` and a note beside it, by path."""

    def find(name: str, text: str, note: str = NOTE) -> dict[str, str]:
        vault = vault_from(f"=== plans/Rota.md\n{note}\n=== plans/{name}\n{text}")
        problems = doctor(vault, caller).problems
        return {one.where: f"{one.message} | {one.hint}" for one in problems}

    return find


@pytest.mark.parametrize("name", BY_NAME)
def test_a_name_with_a_conflict_and_a_date_is_enough(copies, name) -> None:
    assert list(copies(name, OTHER)) == [f"plans/{name}"]


@pytest.mark.parametrize("name", BY_LIKENESS)
def test_a_number_needs_the_same_id_or_the_same_first_lines(copies, name) -> None:
    assert list(copies(name, f"{NOTE}Friday: Cleo\n")) == [f"plans/{name}"]
    assert list(copies(name, f"---\ntags: [x]\n---\n{NOTE}Friday: Cleo\n")) == [f"plans/{name}"]
    assert copies(name, OTHER) == {}
    one_id = "---\nid: rota\n---\n{}".format
    said = copies(name, one_id(OTHER), one_id(NOTE))
    assert list(said) == [f"plans/{name}"]
    assert (
        f"has the id 'rota' of plans/Rota.md | diff 'plans/{name}' plans/Rota.md"
        in said[f"plans/{name}"]
    )


def test_two_empty_notes_are_no_copies(copies) -> None:
    assert copies("Rota 1.md", "\n", "\n") == {}


@pytest.mark.parametrize("name", NO_COPIES)
def test_other_names_are_no_copies(copies, name) -> None:
    assert copies(name, NOTE) == {}


def test_what_to_do_is_said_and_both_are_kept_and_searched(copies, vault, caller) -> None:
    name = "Rota (Ana's conflicted copy 2026-11-20).md"
    (said,) = copies(name, f"{NOTE}Friday: Cleo\n").values()
    assert said == (
        "is a conflict copy of plans/Rota.md, as clouds make them | "
        "diff 'plans/Rota (Ana'\"'\"'s conflicted copy 2026-11-20).md' plans/Rota.md, then keep one of the two"
    )
    doctor(vault, caller, fix=True)
    assert {hit.path for hit in search(vault, caller, "tuesday").hits} == {
        f"plans/{name}",
        "plans/Rota.md",
    }


def test_of_many_copies_a_bounded_number_is_named(vault_from, caller, monkeypatch) -> None:
    monkeypatch.setattr(vault_checks, "MAX_LISTED", 3)
    vault = vault_from("\n".join(f"=== Rota{end}.md\n{NOTE}" for end in ("", " 1", " 2", " 3", " 4")))  # fmt: skip
    assert len(doctor(vault, caller).problems) == 3


@pytest.mark.parametrize("end", [" (conflicted copy 2026-11-20)", ".sync-conflict-20261120-101010-ABC1234", " 2"])  # fmt: skip
def test_of_a_record_and_its_copy_one_file_is_made(vault_from, caller, end) -> None:
    record = "records/decision/use-sqlite-k3f9q2"
    text = "---\nid: use-sqlite-k3f9q2\ntype: decision\ntitle: Use SQLite\ncreated: 2026-11-20T10:00:00Z\n{}---\n\nOne file.\n"
    later = text.format("updated: 2026-11-21T10:00:00Z\n") + "\nAnd a line of the copy.\n"
    vault = vault_from(f"=== {record}.md\n{text.format('')}\n=== {record}{end}.md\n{later}")
    (problem,) = (one for one in doctor(vault, caller).problems if one.where.startswith("records/"))
    assert problem.where == f"{record}{end}.md"
    assert "has the id 'use-sqlite-k3f9q2'" in problem.message
    assert problem.hint.startswith("cortex doctor --fix keeps one file")
    doctor(vault, caller, fix=True)
    assert [path.stem for path in Path(vault.root, "records/decision").glob("*.md")] == ["use-sqlite-k3f9q2"]  # fmt: skip
    assert "line of the copy" in Path(vault.root, f"{record}.md").read_text()
