"""Edits of a record's frontmatter: only the lines that change are written; every other byte stays a person's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import initial_status
from cortex.core.model.relation import iter_relations, link_key, normalize_kind, parse_link_target
from cortex.core.notes import note as notes, yaml_writer
from cortex.core.notes.frontmatter import FieldValue
from cortex.core.notes.note import Note

# What stands in a record while it has such a status, and goes with it.
_FIELDS_OF_STATUS = {
    "archived": ("promoted_to", "archived_at", "archived_because"),
    "deleted": ("deleted_at",),
    "superseded": ("superseded_by", "superseded_at", "superseded_because"),
}
_STATUS_BEFORE = "status_before"
_RELATIONS_HINT = 'write them as `- {kind: references, to: "[[id]]"}` lines'


def with_fields(note: Note, fields: Mapping[str, yaml_writer.YamlValue]) -> Note:
    """The note with these fields; those that hold nothing are taken out."""
    for key, value in fields.items():
        lines = yaml_writer.field_lines(key, value) if value or value is False else []
        if lines or key in note.fields:
            note = notes.set_field(note, key, lines)
    return note


def with_fields_in_order(
    order: Sequence[str], note: Note, fields: Mapping[str, yaml_writer.YamlValue]
) -> Note:
    """As `with_fields`; a field that is new stands behind the last of those that come before it in this order."""
    for key, value in fields.items():
        above = (
            [one for one in order[: order.index(key)] if one in note.fields]
            if key in order and key not in note.fields
            else []
        )
        if value and above:
            _, end = notes.key_span(note.frontmatter, above[-1])
            lines = "".join(
                line + note.eol for line in yaml_writer.field_lines(key, value)
            ).encode()
            changed = notes.read(
                notes.write(
                    note._replace(
                        frontmatter=note.frontmatter[:end] + lines + note.frontmatter[end:]
                    )
                )
            )
            if (
                {**changed.fields, key: ""} == {**note.fields, key: ""}
                and key in changed.fields
                and len(changed.problems) <= len(note.problems)
            ):
                note = changed
                continue
        note = with_fields(note, {key: value})
    return note


def with_updated(note: Note, now: str) -> Note:
    """The note with `updated` moved on to `now`; a later time that somebody wrote there stays."""
    return with_fields(note, {"updated": now}) if now > note.get("updated") else note


def list_relations(note: Note) -> list[dict[str, str]]:
    """The relations as they stand. `InvalidInputError` where a hand has written them in a form that an edit would lose."""
    held = note.fields.get("relations")
    found: list[dict[str, str]] = []
    for one in held if isinstance(held, list) else [] if held is None else [held]:
        texts = (
            {key: value for key, value in one.items() if isinstance(value, str)}
            if isinstance(one, dict)
            else {}
        )
        if not isinstance(one, dict) or texts != one:
            raise InvalidInputError("its relations are not a list of {kind, to}", _RELATIONS_HINT)
        found.append(texts)
    return found


def with_relation(note: Note, kind: str, to: str) -> Note:
    """The note with one more relation below those it has, in whatever form a hand has written these; itself when it has it."""
    held = note.fields.get("relations")
    if held and any(
        said == normalize_kind(kind) and link_key(parse_link_target(text)) == link_key(to)
        for said, text in iter_relations(held)
    ):
        return note
    more: dict[str, FieldValue] = {"kind": kind, "to": f"[[{to}]]"}
    if not held:
        return with_fields(note, {"relations": [more]})
    if not isinstance(held, list):
        raise InvalidInputError("its relations are not a list of {kind, to}", _RELATIONS_HINT)
    return _append_relation(note, held, more)


def _append_relation(note: Note, held: list[FieldValue], more: dict[str, FieldValue]) -> Note:
    """The note with one more item in its list of relations: a line below the last one, else the list written anew."""
    (line,) = yaml_writer.field_lines("relations", [more])[1:]
    start, end = notes.key_span(note.frontmatter, "relations")
    lines = note.frontmatter[start:end].splitlines(keepends=True)
    dashes = [found[0] for one in lines[1:] if (found := re.match(rb"[ ]*(?=- )", one))]
    if dashes:
        written = dashes[0] + line.strip().encode() + note.eol.encode()
        changed = notes.read(
            notes.write(
                note._replace(frontmatter=note.frontmatter[:end] + written + note.frontmatter[end:])
            )
        )
        if changed.fields == {**note.fields, "relations": [*held, more]} and len(
            changed.problems
        ) <= len(note.problems):
            return changed
    anew = with_fields(note, {"relations": [*held, more]})
    if anew.fields.get("relations") != [*held, more]:
        raise InvalidInputError("its relations are not a list of {kind, to}", _RELATIONS_HINT)
    return anew


def without_relation(note: Note, kind: str, to: str) -> Note:
    """The note without a relation (of any kind when `kind` is empty); itself when it has none such."""
    held = list_relations(note)
    kept = [
        one
        for one in held
        if _target_key(one) != link_key(to) or (kind and one.get("kind") != kind)
    ]
    return note if kept == held else with_fields(note, {"relations": kept})


def _target_key(relation: Mapping[str, str]) -> str:
    """The name at the other end of a relation, as names are compared."""
    return link_key(parse_link_target(relation.get("to", "")))


def without_supersedes(note: Note, old: str) -> Note:
    """The note without saying that it holds in the place of `old`."""
    named = note.get_list("supersedes")
    if len(
        rest := tuple(one for one in named if link_key(parse_link_target(one)) != link_key(old))
    ) < len(named):
        note = with_fields(note, {"supersedes": rest})
    with suppress(InvalidInputError):  # in a form of a hand, which stays
        note = without_relation(note, "supersedes", old)
    return note


def set_inactive_status(note: Note, status: str, said: Mapping[str, str]) -> Note:
    """The note as superseded, archived or deleted, with what is `said` of that. Where it was set aside already, it keeps that too:
    `status_before` is then `archived, open`, the latest first."""
    held, before = note.get("status"), note.get(_STATUS_BEFORE)
    if held.lower() not in SET_ASIDE_STATUSES:
        before = held
    elif held.lower() != status:
        before = f"{held.lower()}, {before}" if before else held.lower()
    return with_fields(note, {"status": status, _STATUS_BEFORE: before, **said})


def restore_previous_status(note: Note) -> Note:
    """The note as it was before it was last set aside: current, or set aside in another way."""
    before, rest = note.get(_STATUS_BEFORE), ""
    head, _, below = before.partition(",")
    if head.strip().lower() in SET_ASIDE_STATUSES:
        before, rest = head.strip().lower(), below.strip()
    left = {before, *(one.strip().lower() for one in rest.split(","))}
    gone = [key for status, keys in _FIELDS_OF_STATUS.items() if status not in left for key in keys]
    return with_fields(
        note,
        {
            "status": before or initial_status(note.get("type")),
            _STATUS_BEFORE: rest,
            **dict.fromkeys(gone, ""),
        },
    )


def restore_active_status(note: Note) -> Note:
    """The note as it was before it was first set aside."""
    before = note.get(_STATUS_BEFORE).split(",")
    first = next(
        (
            place
            for place, one in enumerate(before)
            if one.strip().lower() not in SET_ASIDE_STATUSES
        ),
        len(before),
    )
    status = ",".join(before[first:]).strip() or initial_status(note.get("type"))
    return with_fields(
        note,
        {
            "status": status,
            _STATUS_BEFORE: "",
            **{key: "" for keys in _FIELDS_OF_STATUS.values() for key in keys},
        },
    )


def normalized_body(note: Note) -> str:
    """The text of a note as it is compared and kept: line ends as `\n`, no blank lines around it."""
    return note.text.replace("\r\n", "\n").strip("\n")


def with_body(note: Note, text: str) -> Note:
    """The note with another text below its frontmatter, in its own line ends."""
    if text.strip("\n") == normalized_body(note):
        return note
    body = "\n{}\n".format(text.strip("\n")).replace("\n", note.eol)
    return note._replace(body=body.encode("utf-8", "surrogatepass"))
