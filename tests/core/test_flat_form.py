"""Records of format 2: flat properties that an editor of properties edits, read and merged beside those of format 1."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml

from cortex.core.merge.merge_record import merge_record
from cortex.core.model.note_form import NoteForm
from cortex.core.model.record import Record, compose_record
from cortex.core.normalize.current_form import in_current_form
from cortex.core.normalize.topic_upsert import record_from_note
from cortex.core.notes import edit, note as notes

EVENT, LATER = "20261120t164512z-aaaaaaaaaa", "20261121t090000z-bbbbbbbbbb"
FORM = NoteForm(True, "shop", "main")
PLAIN = Record(
    id="keep-carts-aaaaaa", type="decision", title="Keep carts for a day", body="**Why.** The table stays small.",
    created="2026-11-20T16:45:12Z", events=(EVENT,), project="shop", branch="main", scope="project",
    tags=("carts", "db"), session="s1", session_note="2026-11-20-carts-cccccc",
)  # fmt: skip
ACTION = PLAIN._replace(
    id="write-notes-bbbbbb", type="action", title="Write the notes", status="open", owner="Ana", due="2026-12-02", tags=(),
    body="> write the notes\n\nFrom [[weekly-dddddd|Weekly]].", relations=(("derived_from", "weekly-dddddd"),),
)  # fmt: skip


def read(data: bytes | str) -> notes.Note:
    return notes.read(data.encode() if isinstance(data, str) else data)


def as_property_editor(note: notes.Note, **changed: Any) -> bytes:
    """The note as Obsidian's editor of properties writes it: all of them anew, lists one item to a line."""
    fields = yaml.safe_load(note.frontmatter) | changed
    lines = []
    for key, value in fields.items():
        plain = value.isoformat() if hasattr(value, "isoformat") else value
        if hasattr(value, "tzinfo"):
            plain = f"{value:%Y-%m-%dT%H:%M:%SZ}"
        if isinstance(value, list):
            lines += [f"{key}:", *(f'  - "{one}"' if "[" in one else f"  - {one}" for one in value)]
        else:
            lines.append(f'{key}: "{plain}"' if "[[" in str(plain) else f"{key}: {plain}")
    return "\n".join(["---", *lines, "---", ""]).encode() + note.body


def test_a_plain_record_has_six_flat_properties_and_its_id_last() -> None:
    assert compose_record(PLAIN, FORM) == (
        "---\ntype: decision\ntags: [carts, db]\ncreated: 2026-11-20T16:45:12Z\n"
        'events: ["[[20261120t164512z-aaaaaaaaaa]]"]\n'
        'session: "[[2026-11-20-carts-cccccc|s1]]"\nid: keep-carts-aaaaaa\n---\n\n'
        "# Keep carts for a day\n\n**Why.** The table stays small.\n"
    )


def test_neither_a_quote_nor_a_line_repeats_what_heading_and_properties_say() -> None:
    assert read(compose_record(ACTION, FORM)).text == "\n# Write the notes\n"
    longer = ACTION._replace(
        body="> write the notes and send them\n\nFrom [[weekly-dddddd|Weekly]]."
    )
    assert "> write the notes and send them" in compose_record(longer, FORM)


@pytest.mark.parametrize(
    ("project", "branch", "said"),
    [("shop", "main", {}), ("farm", "fix", {"project": "farm", "branch": "fix"}), ("", "main", {"project": False})],
)  # fmt: skip
def test_project_and_branch_stand_only_where_they_differ(
    project: str, branch: str, said: dict[str, Any]
) -> None:
    scope = "project" if project else "personal"
    record = PLAIN._replace(project=project, branch=branch, scope=scope)
    note = read(compose_record(record, FORM))
    assert {key: note.fields[key] for key in ("project", "branch") if key in note.fields} == said
    assert record_from_note(note, FORM)._replace(updated="") == record


def test_a_record_in_either_form_is_the_same_record() -> None:
    for record in (PLAIN, ACTION):
        nested, flat = read(compose_record(record)), read(compose_record(record, FORM))
        one, other = record_from_note(nested), record_from_note(flat, FORM)
        assert one._replace(body="") == other._replace(body="")
        assert notes.write(in_current_form(nested, record.session_note, FORM)) == notes.write(flat)
        assert in_current_form(flat, record.session_note, FORM) == flat


def test_what_a_person_wrote_stays_when_a_record_gets_the_flat_form() -> None:
    text = compose_record(PLAIN).replace(
        "tags: [carts, db]", "mood: calm # mine\ntags: [carts, db]"
    )
    text = (
        text.replace("aliases: [Keep carts for a day]", "aliases: [Keep carts for a day, Carts]")
        + "\nBy hand.\n"
    )
    after = notes.write(in_current_form(read(text), "", FORM)).decode()
    assert "mood: calm # mine\n" in after
    assert "aliases: [Carts]\n" in after
    assert after.endswith("\nBy hand.\n")
    assert "provenance" not in after
    assert after.index("session:") < after.index("\nid:") < after.index("# Keep")


def test_a_note_of_a_person_that_has_events_is_no_record() -> None:
    own = read('---\nevents: ["[[Party]]", "[[Fair]]"]\nid: mine\n---\nx\n')
    assert own.provenance() == ((), {})
    assert read('---\nevents: ["[[20261120t164512z-aaaaaaaaaa]]"]\n---\nx\n').provenance() == (
        (),
        {},
    )


def test_new_fields_stand_before_the_id() -> None:
    note = edit.set_inactive_status(read(compose_record(PLAIN, FORM)), "superseded", {"superseded_by": "[[x]]", "superseded_at": "t"})  # fmt: skip
    assert list(note.fields)[-1] == "id"
    assert note.get("superseded_at") == "t"
    many = edit.with_provenance(note, [f"2026112{n}t164512z-aaaaaaaaaa" for n in range(7)])
    assert "\nevents:\n  - " in many.frontmatter.decode()
    assert len(many.provenance()[0]) == 7
    assert many.provenance()[1] == note.provenance()[1]


def variants(record: Record) -> dict[str, tuple[bytes, bytes]]:
    """A record with another tag and with another owner, in both forms and as an editor of properties writes it."""
    tagged, owned = record._replace(tags=(*record.tags, "new")), record._replace(owner="Ben")
    flat = read(compose_record(record, FORM))
    return {
        "nested": (compose_record(tagged).encode(), compose_record(owned).encode()),
        "flat": (compose_record(tagged, FORM).encode(), compose_record(owned, FORM).encode()),
        "editor": (as_property_editor(flat, tags=[*record.tags, "new"]), as_property_editor(flat, owner="Ben")),
    }  # fmt: skip


@pytest.mark.parametrize("base", ["nested", "flat"])
@pytest.mark.parametrize(
    ("ours", "theirs"), [*itertools.product(["nested", "flat", "editor"], repeat=2)]
)
def test_records_in_two_forms_merge_by_their_fields(base: str, ours: str, theirs: str) -> None:
    was = compose_record(PLAIN, FORM if base == "flat" else NoteForm()).encode()
    one, other = variants(PLAIN)[ours][0], variants(PLAIN)[theirs][1]
    merged, swapped = merge_record(was, one, other), merge_record(was, other, one)
    assert merged.is_clean
    assert merged.data == swapped.data
    note = read(merged.data)
    assert not note.problems
    assert not merged.decisions
    record = record_from_note(note, FORM)
    assert (record.tags, record.owner) == (("carts", "db", "new"), "Ben")
    assert record.events == (EVENT,)
    assert record.session == "s1"
    assert note.is_flat or {ours, theirs} == {"nested"}


EDITS = {
    "type": "gotcha", "status": "archived", "tags": ["mine"], "created": "2026-11-19T10:00:00Z",
    "owner": "Ada", "due": "2027-01-01", "mood": "calm", "related": ["[[Note]]"], "title": "Carts",
}  # fmt: skip


@pytest.mark.parametrize("key", EDITS)
def test_every_property_that_an_editor_changes_survives_a_merge(key: str) -> None:
    note = read(compose_record(PLAIN, FORM))
    edited = as_property_editor(note, **{key: EDITS[key]})
    elsewhere = edit.with_provenance(edit.with_fields(note, {"pinned": True}), (EVENT, LATER))
    for sides in itertools.permutations((edited, notes.write(elsewhere))):
        merged = merge_record(notes.write(note), *sides)
        after = read(merged.data)
        assert merged.is_clean
        assert not after.problems
        value = after.get_list(key) if isinstance(EDITS[key], list) else after.get(key)
        assert value == (tuple(EDITS[key]) if isinstance(EDITS[key], list) else EDITS[key])
        assert after.fields["pinned"] is True
        assert after.provenance()[0] == (EVENT, LATER)
