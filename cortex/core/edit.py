"""Edits of a record's frontmatter: only the lines that change are written; every other byte stays a person's."""

from __future__ import annotations

from collections.abc import Mapping

from cortex.core import emit, note as notes
from cortex.core.note import Note
from cortex.core.problem import Invalid
from cortex.core.relation import key_of


def with_fields(note: Note, fields: Mapping[str, emit.Value]) -> Note:
    """The note with these fields; those that hold nothing are taken out."""
    for key, value in fields.items():
        lines = emit.field(key, value) if value or value is False else []
        if lines or key in note.fields:
            note = notes.set_field(note, key, lines)
    return note


def touched(note: Note, now: str) -> Note:
    """The note with `updated` moved on to `now`; a later time that somebody wrote there stays."""
    return with_fields(note, {"updated": now}) if now > note.get("updated") else note


def relations_of(note: Note) -> list[dict[str, str]]:
    """The relations as they stand. `Invalid` where a hand has written them in a form that an edit would lose."""
    held = note.fields.get("relations")
    found: list[dict[str, str]] = []
    for one in held if isinstance(held, list) else [] if held is None else [held]:
        texts = {key: value for key, value in one.items() if isinstance(value, str)} if isinstance(one, dict) else {}
        if not isinstance(one, dict) or texts != one:
            raise Invalid("its relations are not a list of {kind, to}", 'write them as `- {kind: references, to: "[[id]]"}` lines')
        found.append(texts)
    return found


def with_relation(note: Note, kind: str, to: str) -> Note:
    """The note with one more relation; itself when it has it."""
    held = relations_of(note)
    if any(one.get("kind") == kind and target_of(one) == key_of(to) for one in held):
        return note
    return with_fields(note, {"relations": [*held, {"kind": kind, "to": f"[[{to}]]"}]})


def without_relation(note: Note, kind: str, to: str) -> Note:
    """The note without a relation (of any kind when `kind` is empty); itself when it has none such."""
    held = relations_of(note)
    kept = [one for one in held if target_of(one) != key_of(to) or (kind and one.get("kind") != kind)]
    return note if kept == held else with_fields(note, {"relations": kept})


def target_of(relation: Mapping[str, str]) -> str:
    """The name at the other end of a relation, as names are compared."""
    return key_of(relation.get("to", "").strip().removeprefix("[[").removesuffix("]]").partition("|")[0].partition("#")[0].strip())
