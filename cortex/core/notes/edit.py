"""Edits of a record's frontmatter: only the lines that change are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from cortex.core.model.note_form import EVENTS, LAYER, SESSION, NoteForm, event_links
from cortex.core.model.note_status import KEY_ORDER, SET_ASIDE_STATUSES, join_heading, split_heading
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import initial_status
from cortex.core.model.relation import link_key, normalize_kind
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.notes.relations import iter_relations, parse_link_target, relations_of
from cortex.core.notes.yaml_subset import Fields, FieldValue
from cortex.core.text import yaml_writer

# What stands in a record while it has such a status, and goes with it.
_FIELDS_OF_STATUS = {
    "archived": ("promoted_to", "archived_at", "archived_because"),
    "deleted": ("deleted_at", "deleted_because"),
    "pruned": ("pruned_at",),
    "superseded": ("superseded_by", "superseded_at", "superseded_because"),
}
_STATUS_BEFORE = "status_before"
_OWN_FIELDS = {
    "id", "type", "title", "created", "updated", "provenance", EVENTS, SESSION, LAYER,
}  # fmt: skip  # never a template's


def with_fields(note: Note, fields: Mapping[str, yaml_writer.YamlValue]) -> Note:
    """The note with these fields; those that hold nothing are taken out, and one that says its value
    already stays as it is written. A new one stands behind the last of those before it in
    `KEY_ORDER`, one that this does not name at the end, of a flat record before its id."""
    for key, value in fields.items():
        lines = yaml_writer.field_lines(key, value) if value or value is False else []
        if lines and note.fields.get(key) == ([*value] if isinstance(value, tuple) else value):
            continue
        if lines and key not in note.fields and (key in KEY_ORDER or note.is_flat):
            note = _with_new_field(note, key, lines)
        elif lines or key in note.fields:
            note = notes.set_field(note, key, lines)
    return note


def with_template_fields(note: Note, block: bytes, where: str) -> Note:
    """The note with the lines of a template's frontmatter that say what it does not say itself, and
    the tags and aliases of both. `InvalidInputError` if those cannot be read."""
    start, end = notes.key_span(block, "title")  # whose words need not be YAML
    block = block[:start] + b"\n" * block[start:end].count(b"\n") + block[end:]
    template = notes.read_strict(b"---\n%b---\n" % block, where)
    for key, value in template.fields.items():
        start, end = notes.key_span(block, key)
        if key in ("tags", "aliases") and key in note.fields:
            both = dict.fromkeys(note.get_list(key) + template.get_list(key))
            note = with_fields(note, {key: [*both]})
        elif key not in _OWN_FIELDS | note.fields.keys():
            lines = block[start:end].decode().splitlines() or yaml_writer.field_lines(key, value)
            note = notes.set_field(note, key, lines)
    return note


def _with_new_field(note: Note, key: str, lines: list[str]) -> Note:
    before = KEY_ORDER[: KEY_ORDER.index(key)] if key in KEY_ORDER else ()
    above = [one for one in before if one in note.fields]
    if above or note.is_flat:
        start, end = notes.key_span(note.frontmatter, above[-1] if above else "id")
        at = end if above else start
        with suppress(InvalidInputError):
            changed = notes.replace_lines(note, at, at, lines, key)
            if key in changed.fields:
                return changed
    return notes.set_field(note, key, lines)


def with_updated(note: Note, now: str) -> Note:
    """The note with `updated` moved on to `now`; a later time that somebody wrote there stays."""
    return with_fields(note, {"updated": now}) if now > note.updated else note


def with_title(note: Note, title: str) -> Note:
    """The note with another title: in the heading and the alias that say the one before, and in
    the field `title`, unless the heading alone says it."""
    before = note.title
    lines = note.body.splitlines(keepends=True)
    at = next((n for n, line in enumerate(lines) if line.strip()), len(lines))
    first = b"".join(lines[at : at + 1]).decode("utf-8", "replace")
    if before and split_heading(first)[0] == before:
        lines[at] = f"# {title}{note.eol}".encode("utf-8", "surrogatepass")
        note = note._replace(body=b"".join(lines))
    aliases = note.get_list("aliases")
    if before in aliases:
        renamed = dict.fromkeys(title if one == before else one for one in aliases)
        note = with_fields(note, {"aliases": tuple(renamed)})
    return note if note.title == title else with_fields(note, {"title": title})


def with_provenance(note: Note, events: Sequence[str], rest: Fields | None = None) -> Note:
    """The note with these events in its provenance, as links where the note has links there, and
    the other fields there as `rest`, by default as they are."""
    value = note.fields if note.is_flat else note.fields.get("provenance")
    block = {key: value[key] for key in value} if isinstance(value, dict) else {}
    linked_events = block.pop("events", None)
    is_linked = "[[" in str(linked_events) if linked_events else not note.get("title")
    if rest is not None:
        is_same = note.provenance()[1].get("session") == rest.get("session")
        block = {**rest, **{key: block[key] for key in ("session",) if is_same and key in block}}
    if note.is_flat:
        kept = {key: block.get(key, "") for key in (SESSION, LAYER)} if rest is not None else {}
        return with_fields(note, {EVENTS: event_links(events), **kept})
    ids = event_links(events) if is_linked else sorted(set(events))
    return with_fields(note, {"provenance": {"events": ids, **block}})


def with_place(note: Note, form: NoteForm) -> Note:
    """The flat record with project and branch, which it leaves out where they are the vault's."""
    place = {"project": note.get_in("project", form), "branch": note.get_in("branch", form)}
    left_out = {key: one for key, one in place.items() if one and key not in note.fields}
    return with_fields(note, left_out)


def without_place(note: Note, form: NoteForm) -> Note:
    """The flat record without the project and branch that go without saying there."""
    place = {"project": form.project, "branch": form.branch}
    same = {key: "" for key, one in place.items() if one and note.get(key) == one}
    return with_fields(note, same) if note.is_flat and note.provenance()[0] else note


def with_session_link(note: Note, link: str) -> Note:
    """The note with a link to the note of its session in the place of the session's name."""
    value = note.fields.get("provenance")
    if note.is_flat and SESSION in note.fields:
        return with_fields(note, {SESSION: link})
    if note.get("title") or not isinstance(value, dict) or "session" not in value:
        return note
    return with_fields(note, {"provenance": {**value, "session": link}})


def list_relations(note: Note) -> list[dict[str, str]]:
    """The relations of a note. `InvalidInputError` if one is in a form that an edit would lose."""
    value = note.fields.get("relations")
    relations: list[dict[str, str]] = []
    for item in value if isinstance(value, list) else [] if value is None else [value]:
        if not isinstance(item, dict) or not all(isinstance(one, str) for one in item.values()):
            hint = 'write them as `- {kind: references, to: "[[id]]"}` lines'
            raise InvalidInputError("its relations are not a list of {kind, to}", hint)
        relations.append(cast("dict[str, str]", item))
    return relations


def with_relation(note: Note, kind: str, to: str) -> Note:
    """The note with a link in the list of its relations of this kind; itself when it has this
    relation in any form. `InvalidInputError` if the field of this name holds no list."""
    if (normalize_kind(kind), link_key(to)) in {
        (own_kind, link_key(parse_link_target(text)))
        for own_kind, text in relations_of(note.fields)
    }:
        return note
    links = [*note.get_list(kind), f"[[{to}]]"]
    changed = with_fields(note, {kind: links})
    if not isinstance(note.fields.get(kind), (list, str, type(None))):
        raise InvalidInputError(f"{kind} is no list of links", f'write it as {kind}: ["[[id]]"]')
    return changed


def without_supersedes(note: Note, *old: str) -> Note:
    """The note that says of none of these names that it supersedes it. What a hand wrote in other
    forms stays beside it as it is, and so does all of it where it cannot be written again."""
    keys = set(map(link_key, old))

    def is_old(name: str) -> bool:
        return link_key(parse_link_target(name)) in keys

    def is_only_that(relation: FieldValue) -> bool:
        said = list(iter_relations(relation))
        return bool(said) and all(kind == "supersedes" and is_old(name) for kind, name in said)

    changed, named = note, note.get_list("supersedes")
    rest = tuple(name for name in named if not is_old(name))
    if len(rest) < len(named):
        changed = with_fields(note, {"supersedes": rest})
    relations = note.fields.get("relations")
    items = relations if isinstance(relations, list) else []
    kept = [item for item in items if not is_only_that(item)]
    if len(kept) < len(items):
        without = with_fields(changed, {"relations": kept})
        changed = without if without.fields.get("relations", []) == kept else changed
    return changed


def with_work_status(note: Note, status: str, now: str) -> Note:
    """A current note with another status; `done_at` is set while it is done."""
    if status == (note.get("status") or "active"):
        return note
    return with_fields(note, {"status": status, "done_at": now if status == "done" else ""})


def set_inactive_status(note: Note, status: str, details: Mapping[str, str]) -> Note:
    """The note with an inactive status (archived, superseded, …) and `details` as fields. The field
    `status_before` keeps earlier statuses for a restore, latest first: `archived, open`."""
    current, before = note.get("status"), note.get(_STATUS_BEFORE)
    if current.lower() not in SET_ASIDE_STATUSES:
        before = current
    elif current.lower() != status:
        before = f"{current.lower()}, {before}" if before else current.lower()
    return with_fields(note, {"status": status, _STATUS_BEFORE: before, **details})


def restore_previous_status(note: Note) -> Note:
    """The note with the status before its last inactive one, which may be inactive, too."""
    before, rest = note.get(_STATUS_BEFORE), ""
    head, _, below = before.partition(",")
    if head.strip().lower() in SET_ASIDE_STATUSES:
        before, rest = head.strip().lower(), below.strip()
    return _with_status(note, before, rest)


def restore_active_status(note: Note) -> Note:
    """The note with the active status that it had before all inactive ones."""
    statuses = note.get(_STATUS_BEFORE).split(",")
    while statuses and statuses[0].strip().lower() in SET_ASIDE_STATUSES:
        del statuses[0]
    return _with_status(note, ",".join(statuses).strip(), "")


def _with_status(note: Note, status: str, before: str) -> Note:
    """The note with this status, the one of its type where it is empty, and what it was before."""
    left = {status, *(one.strip().lower() for one in before.split(","))}
    gone = [key for status, keys in _FIELDS_OF_STATUS.items() if status not in left for key in keys]
    usual = initial_status(note.get("type"))  # active goes without saying
    fields = {"status": status or usual.removesuffix("active"), _STATUS_BEFORE: before}
    return with_fields(note, {**fields, **dict.fromkeys(gone, "")})


def normalized_body(note: Note) -> str:
    """The text of a note below its title, as it is compared: `\n` ends, no blank lines around."""
    return note.text_below_title.replace("\r\n", "\n").strip("\n")


def with_body(note: Note, text: str) -> Note:
    """The note with another text below its frontmatter and its title, in its own line ends."""
    text = text.strip("\n")
    if text == normalized_body(note):
        return note
    if note.text_below_title != note.text:
        text = join_heading(note.title, text)
    body = f"\n{text}\n".replace("\n", note.eol)
    return note._replace(body=body.encode("utf-8", "surrogatepass"))


def with_lost_text(note: Note, other: str) -> Note:
    """The note that names the event of a text which it might say."""
    entries, lost = note.fields.get("merge_conflicts"), f"text: [[{other}]]"
    known = [one for one in entries if one != lost] if isinstance(entries, list) else []
    return with_fields(note, {"merge_conflicts": [*known, lost]})


def lost_field(entry: object) -> str:
    """Of which field an entry of `merge_conflicts` names what lost in a merge; empty for the others."""
    name = entry.partition(":")[0] if isinstance(entry, str) else ""
    is_lost_text = isinstance(entry, dict) and entry.get("field") == "text"
    return "text" if is_lost_text else name if name != "body" else ""


def without_lost(note: Note, *fields: str) -> Note:
    """The note without the names of what of these fields, by default of all, lost in a merge: somebody
    has looked."""
    entries = note.fields.get("merge_conflicts")
    if not isinstance(entries, list):
        return note
    kept = [
        one for one in entries if not (name := lost_field(one)) or (fields and name not in fields)
    ]
    return note if len(kept) == len(entries) else with_fields(note, {"merge_conflicts": kept})
