"""Bring a record of an earlier version into the form of new ones."""

from __future__ import annotations

from cortex.core.model.event import is_event_id
from cortex.core.model.note_form import EVENTS, LAYER, NESTED, SESSION, NoteForm, event_links
from cortex.core.model.note_status import join_heading, split_heading
from cortex.core.model.record import (
    compose_record,
    compose_untitled_record,
    default_scope,
    flat_text,
    flat_values,
)
from cortex.core.model.relation import inverse_of, normalize_kind
from cortex.core.normalize.topic_upsert import record_from_note
from cortex.core.notes import edit, note as notes
from cortex.core.notes.note import Note
from cortex.core.notes.relations import parse_link_target
from cortex.core.text import yaml_writer


def in_current_form(note: Note, session_note: str = "", form: NoteForm = NESTED) -> Note:
    """The record in the form of a vault; itself where it has that form. What a person has written in
    it stays. `session_note` is the file name of its session's note. Raises `InvalidInputError` where
    its frontmatter cannot be edited line by line."""
    if not form.is_flat or note.get("type") != "session":
        note = _with_titled_heading(note, session_note)
    return _flat(note, form) if form.is_flat else note


def _flat(note: Note, form: NoteForm) -> Note:
    """The note with what its provenance holds as fields of its own, its id last, and without what
    goes without saying: project and branch of the vault, the title as an alias, a quote of it."""
    ids, _ = note.provenance()
    block = note.fields.get("provenance")
    keys = {EVENTS, SESSION, LAYER}
    block = {} if block is None else block  # of a record that a person began
    is_ours = isinstance(block, dict) and block.keys() <= keys and not note.fields.keys() & keys
    if not isinstance(block, dict) or not is_ours or not all(map(is_event_id, ids)):
        return note
    record = record_from_note(note)
    flat = edit.with_fields(note, {"provenance": "", "id": ""})
    flat = notes.set_field(flat, "id", yaml_writer.field_lines("id", note.get("id")))
    origin: dict[str, yaml_writer.YamlValue] = {EVENTS: event_links(ids)} if ids else {}
    origin |= {key: one for key in (SESSION, LAYER) if isinstance(one := block.get(key), str)}
    values = flat_values(record, form, origin)
    values["aliases"] = tuple(one for one in note.get_list("aliases") if one != record.title)
    values["updated"] = "" if note.updated == record.created else note.get("updated")
    flat = edit.with_fields(flat, values)
    return edit.with_body(flat, flat_text(record._replace(body=edit.normalized_body(note))))


def _with_titled_heading(note: Note, session_note: str) -> Note:
    """The record with its title as heading and alias, links as links, and no field that goes
    without saying."""
    record = record_from_note(note)._replace(session_note=session_note)
    whole = record._replace(body=edit.normalized_body(note))
    if compose_untitled_record(whole).encode("utf-8", "surrogatepass") == notes.write(note):
        return notes.read(compose_record(record).encode())
    note = _with_flat_relations(_with_links(note, session_note))
    defaults = {
        "status": "active", "scope": default_scope(record.project), "updated": record.created,
    }  # fmt: skip
    plain = {key: "" for key, value in defaults.items() if note.get(key) == value}
    note = edit.with_fields(note, plain)
    if not note.get("title"):
        return note
    if split_heading(note.text)[0] in note.get_list("aliases"):
        return edit.with_title(edit.with_fields(note, {"title": ""}), record.title)
    aliases = tuple(dict.fromkeys((record.title, *note.get_list("aliases"))))
    note = edit.with_fields(note, {"aliases": aliases})
    if note.text_below_title == note.text:
        note = edit.with_body(note, join_heading(record.title, record.body))
    return edit.with_fields(note, {"title": ""})


def _with_links(note: Note, session_note: str) -> Note:
    """The note with links in the place of ids of events, its session and what it superseded."""
    for key in ("supersedes", "superseded_by"):
        value = note.fields.get(key)
        if names := [name for name in note.get_list(key) if name]:
            links = [name if "[[" in name else f"[[{name}]]" for name in names]
            note = edit.with_fields(note, {key: links[0] if isinstance(value, str) else links})
    block = note.fields.get("provenance")
    ids, rest = note.provenance()
    if not isinstance(block, dict) or not ids:
        return note
    session = rest.get("session")
    if session_note and isinstance(session, str):
        rest["session"] = f"[[{session_note}|{session}]]"
    return edit.with_fields(note, {"provenance": {"events": event_links(ids), **rest}})


def _with_flat_relations(note: Note) -> Note:
    """The note with a list of links for each kind in the place of `relations`, if all of these are
    a kind that Cortex knows and a name."""
    items = note.fields.get("relations")
    pairs = []
    for item in items if isinstance(items, list) else ():
        match item:
            case {"kind": str(kind), "to": str(to), **rest} if not rest:
                pairs.append((normalize_kind(kind), parse_link_target(to)))
            case _:
                return note
    if not pairs or not all(inverse_of(kind) for kind, _ in pairs):
        return note
    note = edit.with_fields(note, {"relations": ""})
    for kind, to in pairs:
        note = edit.with_relation(note, kind, to)
    return note
