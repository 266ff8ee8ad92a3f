"""Take a relation between two notes out of the one that states it."""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import NoteName
from cortex.core.model.problem import NotFoundError
from cortex.core.model.relation import (
    LINK_KIND,
    RELATION_KINDS,
    kind_of_inverse,
    link_key,
    normalize_kind,
    parse_link_target,
)
from cortex.core.notes.edit import list_relations, with_fields, with_updated
from cortex.core.notes.note import Note
from cortex.core.text.strings import did_you_mean
from cortex.index.catalogue import NoteRow
from cortex.index.links import LinkGraph, canonical_edge
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.records.change_record import NoteEdit, check_editable, command
from cortex.operations.records.relate import (
    ANY_KIND,
    RelationChange,
    RelationPlan,
    apply_relation_change,
)
from cortex.vault.locate import Vault


def unrelate(
    vault: Vault, caller: Caller, record: NoteName, kind: str, other: NoteName
) -> RelationChange:
    """Take a relation back, on whichever side it is said. Links in the text of notes stay.

    record: the record that says it: an id, the beginning of one, or a path
    kind: the kind of the relation; `any` takes back all between the two
    other: the note it relates to; the name as it is written there when there is no such note

    Example: cortex unrelate use-sqlite-k3f7q2 refines keep-a-catalogue-m5d2xa
    Example: cortex unrelate use-sqlite-k3f7q2 any keep-a-catalogue-m5d2xa
    """
    kind = normalize_kind(kind)
    return apply_relation_change(
        vault, caller, lambda now: _plan_unrelate(now, caller, record, kind, other)
    )


def _plan_unrelate(
    now: IndexSession, caller: Caller, first: str, kind: str, second: str
) -> RelationPlan:
    links = LinkGraph(now.catalogue)
    source = resolve_note.find_one(now.catalogue, first)
    exists = resolve_note.find_all(now.catalogue, second)
    target = resolve_note.find_one(now.catalogue, second) if exists else None
    wanted = canonical_edge(source.number, kind, target.number if target else 0)

    def relations_of(row: NoteRow, other: NoteRow | str) -> set[tuple[str, str]]:
        number = 0 if isinstance(other, str) else other.number
        return {
            (said, name)
            for said, name in _said_of(links, row, other)
            if kind == ANY_KIND or canonical_edge(row.number, said, number) == wanted
        }

    said = {(source, target): relations_of(source, target or second)}
    if target and target.number != source.number:
        said[target, source] = relations_of(target, source)
    said = {pair: relations for pair, relations in said.items() if relations}
    if not said:
        raise _no_relation_error(now, links, source, kind, target or second)
    removed = [(one, *pair) for pair, relations in said.items() for one, _ in sorted(relations)]
    kinds = list(dict.fromkeys(one for one, *_ in removed))
    edits = tuple(
        (check_editable(row).path, _removal_edit(relations, caller.now))
        for (row, _), relations in said.items()
    )
    answer = RelationChange(
        source.id, ", ".join(kinds), target.id if target else second, "removed", edits[0][0]
    )
    if target and "supersedes" in (kind_of_inverse(one) or one for one in kinds):
        aside = next((row for row in (target, source) if row.status == "superseded"), None)
        hint = f"{aside.id} is still superseded: {command('restore', aside)}" if aside else ""
        answer = answer._replace(hint=hint)
    # To what is gone, and in words of one's own, nobody relates.
    if target and all(one in RELATION_KINDS or kind_of_inverse(one) for one in kinds):
        commands = dict.fromkeys(
            command("relate", row, one, other) for one, row, other in removed if other
        )
        answer = answer._replace(undo=" && ".join(commands))
    return RelationPlan(answer, edits)


def _said_of(links: LinkGraph, row: NoteRow, other: NoteRow | str) -> list[tuple[str, str]]:
    """What `row` says of another note, or of a name of no note: kinds and link keys."""

    def is_meant(name: str, number: int | None) -> bool:
        if isinstance(other, str):
            return number is None and link_key(name) == link_key(other)
        return number == other.number

    return [
        (kind, link_key(name))
        for kind, name, number, _ in links.outgoing(row.number)
        if kind != LINK_KIND and is_meant(name, number)
    ]


def _no_relation_error(
    now: IndexSession, links: LinkGraph, source: NoteRow, kind: str, target: NoteRow | str
) -> NotFoundError:
    """The error that `source` has no such relation to `target`, a string where no note has this
    name."""
    said = sorted({one for one, _ in _said_of(links, source, target)})
    hint = f"{command('graph', source)} shows what there is"
    if isinstance(target, str):
        what = "says another kind of it" if said else "names none so"
        message = f"there is no note {target!r}, and {source.id} {what}"
        hint = did_you_mean(resolve_note.closest_ids(now.catalogue, target), hint)
    else:
        what = "has no relation" if kind == ANY_KIND else f"does not say {kind}"
        message = f"{source.id} {what} to {target.id}"
        if back := sorted(one for one, _ in _said_of(links, target, source)):
            hint = f"{command('unrelate', target, back[0], source)} takes back what that one says"
    return NotFoundError(message, f"it says {', '.join(said)}" if said else hint)


def _removal_edit(relations: Iterable[tuple[str, str]], now: str) -> NoteEdit:
    """The edit that removes these relations from `relations` and from the lists of their kinds."""
    gone = frozenset(relations)

    def edit(note: Note) -> Note:
        items, kept = list_relations(note), []
        for one in items:
            target = link_key(parse_link_target(one.get("to", "")))
            if (normalize_kind(one.get("kind", "")), target) not in gone:
                kept.append(one)
        changed = with_fields(note, {"relations": kept}) if kept != items else note
        for field in {kind for kind, _ in gone}:
            names = note.get_list(field)
            left = [one for one in names if (field, link_key(parse_link_target(one))) not in gone]
            if len(left) < len(names):
                is_one = len(left) == 1 and isinstance(note.fields[field], str)
                changed = with_fields(changed, {field: left[0] if is_one else left})
        return note if changed is note else with_updated(changed, now)

    return edit
