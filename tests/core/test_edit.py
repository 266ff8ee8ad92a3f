"""Edits of records: the lines that are meant change, and no other byte does."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.problem import InvalidInputError
from cortex.core.notes import note as notes
from cortex.core.notes.edit import (
    list_relations,
    normalized_body,
    restore_active_status,
    restore_previous_status,
    set_inactive_status,
    with_body,
    with_fields,
    with_relation,
    with_updated,
    without_supersedes,
)

NOW = "2026-11-20T16:45:12Z"
# What people write: comments, quotes, other orders, blocks, lists in both forms, fields of their own.
LINES = [
    "id: use-sqlite-k3f7q2", "type: decision", "title: 'It''s SQLite: yes'", "status: active # for now", "# a comment", "",
    "tags: [a, b]", "aliases:\n  - one\n  # between\n  - two", "rating: 5", '"quoted key": x', "summary: >\n  folded\n  text", "owner: Ada",
    'relations:\n  - {kind: refines, to: "[[other-abcdef]]"}', "provenance:\n  events:\n    - 20261120t164512z-k3f7q2abcd",
]  # fmt: skip
VALUES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)
NEW_KEYS = ("archived_at", "archived_because", "superseded_by", "due")


@st.composite
def written(draw) -> bytes:
    lines = draw(st.lists(st.sampled_from(LINES), unique=True, min_size=1))
    eol = draw(st.sampled_from(["\n", "\r\n"]))
    body = draw(st.sampled_from(["", "\ntext\n", "no blank line", "\n\ntwo\n\n---\nthree"]))
    text = "\n".join(["---", *lines, "---", body]).replace("\n", eol)
    return draw(st.sampled_from([b"", notes.BOM])) + text.encode()


def unchanged_lines(before: bytes, after: bytes, key: str) -> bool:
    """Whether all lines of `before` but those of a field stand in `after`, in their order."""
    kept = iter(after.splitlines(keepends=True))
    return all(
        line in kept
        for line in before.splitlines(keepends=True)
        if not line.startswith(key.encode())
    )


@given(data=written(), key=st.sampled_from(NEW_KEYS), value=VALUES)
def test_a_field_that_comes_and_goes_leaves_no_trace(data, key, value) -> None:
    note = notes.read(data)
    if not note.opening_fence or note.problems:
        return
    changed = with_fields(note, {key: value})
    assert changed.fields[key] == value
    assert unchanged_lines(data, notes.write(changed), key)
    assert notes.write(with_fields(changed, {key: ""})) == data


@given(data=written(), because=VALUES)
def test_what_is_set_aside_comes_back_byte_for_byte(data, because) -> None:
    note = notes.read(data)
    if not note.opening_fence or note.problems:
        return
    aside = set_inactive_status(note, "archived", {"archived_at": NOW, "archived_because": because})
    assert aside.get("status") == "archived"
    assert aside.get("status_before") == note.get("status")
    back = restore_active_status(aside)
    if "status" in note.fields:  # its comment goes with the line
        assert notes.write(back).replace(b"status: active", b"status: active # for now") == data
    else:
        assert notes.write(with_fields(back, {"status": ""})) == data


@given(data=written(), text=VALUES)
def test_another_text_leaves_the_frontmatter_alone(data, text) -> None:
    note = notes.read(data)
    changed = with_body(note, text)
    assert notes.write(changed)[: len(data) - len(note.body)] == data[: len(data) - len(note.body)]
    if "\r" not in text:
        assert normalized_body(changed) == text.strip("\n")
    assert with_body(changed, normalized_body(changed)) == changed


def of(text: str) -> notes.Note:
    return notes.read(text.encode())


@pytest.mark.parametrize(("status", "type_", "back"), [
    ("open", "action", "open"),
    ("done", "action", "done"),
    ("active", "decision", "active"),
    ("", "note", ""),
    ("", "action", "open"),
])  # fmt: skip
def test_the_status_before_comes_back_however_often_it_was_set_aside(status, type_, back) -> None:
    note = of(
        f"---\nid: x-abcdef\ntype: {type_}\n{f'status: {status}' if status else '# none'}\n---\ntext\n"
    )
    stages = []
    for aside in ("archived", "superseded", "deleted", "archived"):
        stages.append(note)
        note = set_inactive_status(note, aside, {f"{aside}_at": NOW})
    stepped = note
    for stage in reversed(stages[1:]):
        stepped = restore_previous_status(stepped)
        assert stepped.fields == stage.fields
    assert restore_previous_status(stepped).get("status") == back
    assert (
        restore_active_status(
            of(f"---\nstatus: deleted\nstatus_before: {'archived, ' * 5000}in review, maybe\n---\n")
        ).get("status")
        == "in review, maybe"
    )
    assert restore_active_status(note).get("status") == back
    assert not [
        key
        for key in restore_active_status(note).fields
        if key.endswith(("_at", "_before", "_by", "_because"))
    ]


def test_updated_moves_on_and_never_back() -> None:
    assert with_updated(of("---\nid: x\n---\n"), NOW).get("updated") == NOW
    assert with_updated(of("---\nupdated: 2026-01-01T00:00:00Z\n---\n"), NOW).get("updated") == NOW
    assert (
        with_updated(of("---\nupdated: 2030-01-01T00:00:00Z\n---\n"), NOW).get("updated")
        == "2030-01-01T00:00:00Z"
    )


def test_relations_come_and_go_one_by_one() -> None:
    note = of('---\nid: x\nrelations:\n  - {kind: refines, to: "[[One|the first]]"}\n---\n')
    more = with_relation(note, "supersedes", "two")
    assert list_relations(more) == [{"kind": "refines", "to": "[[One|the first]]"}]
    assert more.get_list("supersedes") == ("[[two]]",)
    assert with_relation(more, "supersedes", "TWO") is more
    assert notes.write(without_supersedes(more, "two")) == notes.write(note)
    with pytest.raises(InvalidInputError, match="no list of links"):
        with_relation(of("---\nrefines: {one: two}\n---\n"), "refines", "two")


def test_a_new_field_stands_where_a_new_note_has_it() -> None:
    note = notes.read(b"---\nid: a\ntitle: A\ncreated: 2026-11-20\nmood: calm\nprovenance:\n---\n")
    changed = with_fields(note, {"updated": NOW, "archived_at": NOW, "status": "archived"})
    keys = ["id", "title", "status", "created", "updated", "mood", "provenance", "archived_at"]
    assert list(changed.fields) == keys
