"""Relations between notes: wikilinks in the frontmatter of one of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import NoteName, OneOf
from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError, Problem
from cortex.core.model.relation import (
    LINK_KIND,
    RELATION_KINDS,
    kind_of_inverse,
    link_key,
    normalize_kind,
)
from cortex.core.notes.edit import list_relations, with_fields, with_relation, with_updated
from cortex.core.notes.note import Note
from cortex.core.notes.relations import parse_link_target
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import did_you_mean
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.links import LinkGraph, canonical_edge
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.find.resolve_note import command
from cortex.operations.records.change_record import (
    UNCHANGED,
    check_editable,
    edit_notes_and_heal,
)
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.edit_note import NoteEdit
from cortex.vault.locate import Vault

ANY_KIND = "any"
_KINDS = tuple(dict.fromkeys((*RELATION_KINDS, *RELATION_KINDS.values(), ANY_KIND)))
RelationKind = Annotated[str, OneOf(_KINDS)]
_UNLINKABLE_RE = lazy_re(r"[\[\]|#^\n\r]")
MAX_SUPERSEDED = 1000  # records that one may have superseded, each through the next


class RelationChange(NamedTuple):
    """One relation, and what became of it. In JSON `from_` is `from`."""

    from_: str  # ids; a path where there is no id
    kind: str
    to: str
    outcome: str  # created, unchanged, removed
    path: str  # of the note that says it
    hint: str = ""
    problems: tuple[Problem, ...] = ()  # of the inbox and the briefings
    undo: str = ""  # the command that takes it back; empty when nothing changed, or no command can
    file: str = ""  # absolute path


# The answer, and the edits to make.
RelationPlan = tuple[RelationChange, tuple[tuple[str, NoteEdit], ...]]


def relate(
    vault: Vault,
    caller: Caller,
    record: NoteName,
    kind: RelationKind,
    other: NoteName,
    *,
    remove: bool = False,
) -> RelationChange:
    """Relate a record to another note, or remove a relation.

    Kinds: references, relates_to, follows, supersedes, contradicts, derived_from, exemplifies,
    refines, source_of. Their inverse names (referenced_by, superseded_by, …) are turned round: the
    record that then says it is the other one. What is related so already stays as it is. A relation
    is taken back on whichever side it is said; links in the text of notes stay.

    record: the record that says it: an id, the beginning of one, or a path
    kind: how it relates to the other; with --remove `any` means all between the two
    other: the note it relates to: an id, the beginning of one, or a path; with --remove also a name of no note
    remove: take the relation back

    Example: cortex relate use-sqlite-k3f7q2 refines keep-a-catalogue-m5d2xa
    Example: cortex relate use-sqlite-k3f7q2 superseded_by use-files-p2r6wq
    Example: cortex relate use-sqlite-k3f7q2 any keep-a-catalogue-m5d2xa --remove
    """
    kind = normalize_kind(kind) if remove else _parse_kind(kind)
    plan = _plan_removal if remove else _plan
    (answer, edits), problems = query_fresh(vault, caller, plan, caller, record, kind, other)
    _, healed = edit_notes_and_heal(vault, caller, edits)
    return answer._replace(file=vault.file(answer.path), problems=(*problems, *healed))


def _parse_kind(text: str) -> str:
    kind = normalize_kind(text)
    if kind not in RELATION_KINDS and not kind_of_inverse(kind):
        kinds = f"Kinds: {', '.join(_KINDS[:-1])}; {ANY_KIND} goes with --remove alone"
        hint = f"{did_you_mean(kind, _KINDS[:-1], limit=1)} {kinds}".lstrip()
        raise InvalidInputError(f"there is no kind of relation {text!r}", hint)
    return kind


def _plan(index: IndexSession, caller: Caller, first: str, kind: str, second: str) -> RelationPlan:
    source = resolve_note.find_one(index.catalogue, first)
    target = resolve_note.find_one(index.catalogue, second)
    if kind not in RELATION_KINDS:  # an inverse name
        source, kind, target = target, kind_of_inverse(kind), source
    if source.number == target.number:
        hint = "name another note: cortex search finds notes by their words"
        raise InvalidInputError(f"{source.id} cannot be related to itself", hint)
    check_editable(source)
    links = LinkGraph(index.catalogue)
    answer = RelationChange(source.id, kind, target.id, "created", source.path)
    if says := _stating_note(links, source, kind, target):
        hint = "they are related so already"
        return answer._replace(outcome=UNCHANGED, path=says.path, hint=hint), ()
    hint = ""
    if kind == "supersedes":
        refuse_cycle(links, index, source, target)
        hint = f"{command('supersede', target, '--by', source)} also sets the older one aside"
    name = link_name_for(links, source, target)

    def edit(note: Note) -> Note:
        changed = with_relation(note, kind, name)
        return note if changed is note else with_updated(changed, caller.now)

    undo = command("relate", source, kind, target, "--remove")
    return answer._replace(hint=hint, undo=undo), ((source.path, edit),)


def _stating_note(links: LinkGraph, source: NoteRow, kind: str, target: NoteRow) -> NoteRow | None:
    """Which of two notes states this relation, in this kind or its inverse; None for neither."""
    same = {canonical_edge(source.number, kind, target.number)}
    if RELATION_KINDS[kind] == kind:
        same.add(canonical_edge(target.number, kind, source.number))
    for row, other in ((source, target), (target, source)):
        for edge_kind, _, number, _ in links.outgoing(row.number):
            if number == other.number and canonical_edge(row.number, edge_kind, number) in same:
                return row
    return None


def link_name_for(links: LinkGraph, source: NoteRow, target: NoteRow) -> str:
    """The link text by which the source links to the target and to nothing else."""
    name = target.id if target.id != target.path else target.path.removesuffix(".md")
    if _UNLINKABLE_RE.search(name):
        hint = "rename it without [ ] | # ^"
        raise InvalidInputError(f"{name!r} holds a character that no link can hold", hint)
    if links.resolve(name, source.number) == target.number:
        return name
    whole = f"/{target.path.removesuffix('.md')}"
    if _UNLINKABLE_RE.search(whole) or links.resolve(whole, source.number) != target.number:
        hint = "cortex doctor names notes that share an id"
        raise ConflictError(f"{name!r} means another note as well", hint)
    return whole


def refuse_cycle(links: LinkGraph, index: IndexSession, newer: NoteRow, older: NoteRow) -> None:
    """Raise `ConflictError` when the older record supersedes the newer one, directly or not."""
    came = {older.number: newer.number}
    level = [older.number]
    while level and len(came) < MAX_SUPERSEDED:
        edges = links.edges_touching(level, {"supersedes"})
        below = [edge for edge in edges if edge.source in level and edge.target not in came]
        came |= {edge.target: edge.source for edge in below}
        level = [edge.target for edge in below]
        if newer.number in came:
            chain = [newer.number]
            while chain[-1] != older.number:
                chain.append(came[chain[-1]])
            rows = index.catalogue.rows_by_number(chain)
            ids = [newer.id, *(rows[number].id for number in reversed(chain))]
            hint = f"{command('graph', older, '--kind', 'supersedes')} shows them"
            raise ConflictError(f"that would close a circle: {' supersedes '.join(ids)}", hint)


def _plan_removal(
    index: IndexSession, caller: Caller, first: str, kind: str, second: str
) -> RelationPlan:
    links = LinkGraph(index.catalogue)
    source = resolve_note.find_one(index.catalogue, first)
    exists = resolve_note.find_all(index.catalogue, second)
    target = resolve_note.find_one(index.catalogue, second) if exists else None
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
        raise _no_relation_error(index, links, source, kind, target or second)
    removed = [(one, *pair) for pair, relations in said.items() for one, _ in sorted(relations)]
    kinds = list(dict.fromkeys(one for one, *_ in removed))
    edits = tuple(
        (check_editable(row).path, _removal_edit(relations, caller.now))
        for (row, _), relations in said.items()
    )
    other_id = target.id if target else second
    answer = RelationChange(source.id, ", ".join(kinds), other_id, "removed", edits[0][0])
    if target and "supersedes" in (kind_of_inverse(one) or one for one in kinds):
        aside = next((row for row in (target, source) if row.status == "superseded"), None)
        hint = f"{aside.id} is still superseded: {command('restore', aside)}" if aside else ""
        answer = answer._replace(hint=hint)
    # To what is gone, and in words of one's own, nobody relates.
    if target and all(one in RELATION_KINDS or kind_of_inverse(one) for one in kinds):
        commands = (command("relate", row, one, other) for one, row, other in removed if other)
        answer = answer._replace(undo=" && ".join(dict.fromkeys(commands)))
    return answer, edits


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
    index: IndexSession, links: LinkGraph, source: NoteRow, kind: str, target: NoteRow | str
) -> NotFoundError:
    """The error that `source` has no such relation to `target`, a note or an unknown name."""
    said = sorted({one for one, _ in _said_of(links, source, target)})
    hint = f"{command('graph', source)} shows what there is"
    if isinstance(target, str):
        what = "says another kind of it" if said else "names none so"
        message = f"there is no note {target!r}, and {source.id} {what}"
        hint = resolve_note.closest_ids(index.catalogue, target, hint)
    else:
        what = "has no relation" if kind == ANY_KIND else f"does not say {kind}"
        message = f"{source.id} {what} to {target.id}"
        if back := sorted(one for one, _ in _said_of(links, target, source)):
            hint = f"{command('relate', target, back[0], source, '--remove')} takes back what that one says"
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
