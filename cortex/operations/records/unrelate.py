"""Take a relation between two notes out of the one that states it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cortex.core.model.caller import Caller
from cortex.core.model.problem import NotFoundError
from cortex.core.model.relation import (
    LINK_KIND,
    RELATION_KINDS,
    kind_of_inverse,
    link_key,
    normalize_kind,
)
from cortex.index.catalogue import NoteRow
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.records.change_record import (
    NoteEdit,
    check_editable,
    command,
)
from cortex.operations.records.relate import (
    ANY_KIND,
    RelationChange,
    RelationPlan,
    apply_plan,
    normalized_edge,
    unknown_target_error,
)
from cortex.vault.locate import Vault


def unrelate(vault: Vault, caller: Caller, record: str, kind: str, other: str) -> RelationChange:
    """Take a relation back, on whichever side it is said. Links in the text of notes stay.

    record: the record that says it: an id, the beginning of one, or a path
    kind: the kind of the relation; `any` takes back all between the two
    other: the note it relates to; the name as it is written there when there is no such note

    Example: cortex unrelate use-sqlite-k3f7q2 refines keep-a-catalogue-m5d2xa
    Example: cortex unrelate use-sqlite-k3f7q2 any keep-a-catalogue-m5d2xa
    """
    ensure_fresh(vault, caller)
    return apply_plan(
        vault,
        caller,
        query_index(
            vault,
            caller.progress,
            lambda now: _plan_unrelate(now, caller, record, normalize_kind(kind), other),
        ),
    )


def _plan_unrelate(
    now: IndexSession, caller: Caller, first: str, kind: str, second: str
) -> RelationPlan:
    links = LinkGraph(now.catalogue)
    source = resolve_note.find_one(now.catalogue, first)
    found = resolve_note.find_all(now.catalogue, second)
    target = (
        resolve_note.find_one(now.catalogue, second)
        if len(found) > 1
        else found[0]
        if found
        else None
    )
    wanted = normalized_edge(source.number, kind, target.number if target else 0)
    edits: list[tuple[str, NoteEdit]] = []
    kinds: list[str] = []
    said_by: dict[tuple[str, NoteRow, NoteRow], None] = {}
    for row, other in (
        (source, target),
        *(((target, source),) if target and target.number != source.number else ()),
    ):
        said = set()
        for held, name, number, _ in links.outgoing(row.number):
            same = (
                number == other.number
                if other
                else number is None and link_key(name) == link_key(second)
            )
            if (
                held != LINK_KIND
                and same
                and (kind == ANY_KIND or normalized_edge(row.number, held, number or 0) == wanted)
            ):
                said.add((held, link_key(name)))
        if said:
            edits.append((check_editable(row).path, _removal_edit(said, caller.now)))
            kinds += sorted(held for held, _ in said)
            said_by.update(
                dict.fromkeys(
                    (held, row, other) for held in sorted({held for held, _ in said}) if other
                )
            )
    if not edits:
        raise (
            unknown_target_error(now, links, source, second)
            if target is None
            else _no_relation_error(links, source, kind, target)
        )
    hint = ""
    if target and "supersedes" in (kind_of_inverse(one) or one for one in kinds):
        aside = next((row for row in (target, source) if row.status == "superseded"), None)
        hint = f"{aside.id} is still superseded: {command('restore', aside)}" if aside else ""
    told = list(dict.fromkeys(kinds))
    answer = RelationChange(
        source.id, ", ".join(told), target.id if target else second, "removed", edits[0][0], hint
    )
    if target and all(
        one in RELATION_KINDS or kind_of_inverse(one) for one in told
    ):  # to what is gone, and in words of one's own, nobody relates
        answer = answer._replace(
            undo=" && ".join(command("relate", row, kind, other) for kind, row, other in said_by)
        )
    return RelationPlan(answer, tuple(edits))


def _no_relation_error(
    links: LinkGraph, source: NoteRow, kind: str, target: NoteRow
) -> NotFoundError:
    held = sorted(
        {
            one
            for one, _, number, _ in links.outgoing(source.number)
            if number == target.number and one != LINK_KIND
        }
    )
    back = sorted(
        {
            one
            for one, number, _ in links.incoming(source.number)
            if number == target.number and one != LINK_KIND
        }
    )
    if held:
        hint = f"it says {', '.join(held)}"
    elif back:
        hint = f"{command('unrelate', target, back[0], source)} takes back what that one says"
    else:
        hint = f"{command('graph', source)} shows what there is"
    return NotFoundError(
        f"{source.id} {'has no relation' if kind == ANY_KIND else f'does not say {kind}'} to {target.id}",
        hint,
    )


def _removal_edit(said: Iterable[tuple[str, str]], now: str) -> NoteEdit:
    """The edit that takes these relations out, from `relations` and from the fields that say one by their name."""
    gone = frozenset(said)

    def edit(note: Any) -> Any:
        from cortex.core.model.relation import parse_link_target  # noqa: PLC0415
        from cortex.core.notes import edit as edits  # noqa: PLC0415  as above

        held = edits.list_relations(note)
        kept = [
            one
            for one in held
            if (normalize_kind(one.get("kind", "")), link_key(parse_link_target(one.get("to", ""))))
            not in gone
        ]
        changed = edits.with_fields(note, {"relations": kept}) if kept != held else note
        for field in ("supersedes", "superseded_by"):
            names: Sequence[str] = note.get_list(field)
            left = [
                name for name in names if (field, link_key(parse_link_target(name))) not in gone
            ]
            if len(left) < len(names):
                changed = edits.with_fields(
                    changed,
                    {
                        field: left[0]
                        if len(left) == 1 and isinstance(note.fields[field], str)
                        else left
                    },
                )
        return note if changed is note else edits.with_updated(changed, now)

    return edit
