"""Relations between notes: wikilinks in the frontmatter of one of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Annotated, NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import NoteName, OneOf
from cortex.core.model.problem import ConflictError, InvalidInputError, Problem
from cortex.core.model.relation import RELATION_KINDS, kind_of_inverse, normalize_kind
from cortex.core.notes.edit import with_relation, with_updated
from cortex.core.notes.note import Note
from cortex.core.text.strings import close_matches, did_you_mean
from cortex.index.catalogue import NoteRow
from cortex.index.links import LinkGraph, canonical_edge
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import query_fresh
from cortex.operations.records.change_record import (
    UNCHANGED,
    NoteEdit,
    check_editable,
    command,
    edit_notes_and_heal,
)
from cortex.vault.locate import Vault

ANY_KIND = "any"
RelationKind = Annotated[str, OneOf((*RELATION_KINDS, *RELATION_KINDS.values()))]
_UNLINKABLE_RE = re.compile(r"[\[\]|#^\n\r]")
_MAX_SUPERSEDED = 1000  # records that one may have superseded, each through the next


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


class RelationPlan(NamedTuple):
    """The answer, and the edits to make."""

    answer: RelationChange
    edits: tuple[tuple[str, NoteEdit], ...]


def relate(
    vault: Vault, caller: Caller, record: NoteName, kind: RelationKind, other: NoteName
) -> RelationChange:
    """Say how a record relates to another note.

    Kinds: references, relates_to, follows, supersedes, contradicts, derived_from, exemplifies,
    refines, source_of. Their inverse names (referenced_by, superseded_by, …) are turned round: the
    record that then says it is the other one. What is related so already stays as it is.
    `cortex unrelate` takes a relation back.

    record: the record that says it: an id, the beginning of one, or a path
    kind: how it relates to the other
    other: the note it relates to: an id, the beginning of one, or a path

    Example: cortex relate use-sqlite-k3f7q2 refines keep-a-catalogue-m5d2xa
    Example: cortex relate use-sqlite-k3f7q2 superseded_by use-files-p2r6wq
    """
    kind = _parse_kind(kind)
    return apply_relation_change(
        vault, caller, lambda now: _plan_relate(now, caller, record, kind, other)
    )


def apply_relation_change(
    vault: Vault, caller: Caller, plan: Callable[[IndexSession], RelationPlan]
) -> RelationChange:
    """Make a plan of the up-to-date index, apply its edits, then heal."""
    (answer, edits), problems = query_fresh(vault, caller, plan)
    _, healed = edit_notes_and_heal(vault, caller, edits)
    file = os.path.join(vault.root, answer.path)
    return answer._replace(file=file, problems=(*problems, *healed))


def _parse_kind(text: str) -> str:
    kind = normalize_kind(text)
    if kind not in RELATION_KINDS and not kind_of_inverse(kind):
        near = close_matches(kind, [*RELATION_KINDS, *RELATION_KINDS.values()], 1)
        mind = f"{did_you_mean(near, '')} " if near else ""
        raise InvalidInputError(
            f"there is no kind of relation {text!r}", f"{mind}Kinds: {', '.join(RELATION_KINDS)}"
        )
    return kind


def _plan_relate(
    now: IndexSession, caller: Caller, first: str, kind: str, second: str
) -> RelationPlan:
    source = resolve_note.find_one(now.catalogue, first)
    target = resolve_note.find_one(now.catalogue, second)
    if kind not in RELATION_KINDS:  # an inverse name
        source, kind, target = target, kind_of_inverse(kind), source
    if source.number == target.number:
        hint = "name another note: cortex search finds notes by their words"
        raise InvalidInputError(f"{source.id} cannot be related to itself", hint)
    check_editable(source)
    links = LinkGraph(now.catalogue)
    answer = RelationChange(source.id, kind, target.id, "created", source.path)
    if says := _note_stating_relation(links, source, kind, target):
        hint = "they are related so already"
        return RelationPlan(answer._replace(outcome=UNCHANGED, path=says.path, hint=hint), ())
    hint = ""
    if kind == "supersedes":
        refuse_supersedes_cycle(links, now, source, target)
        hint = f"{command('supersede', target, '--by', source)} also sets the older one aside"
    name = link_name_for(links, source, target)

    def edit(note: Note) -> Note:
        changed = with_relation(note, kind, name)
        return note if changed is note else with_updated(changed, caller.now)

    undo = command("unrelate", source, kind, target)
    return RelationPlan(answer._replace(hint=hint, undo=undo), ((source.path, edit),))


def _note_stating_relation(
    links: LinkGraph, source: NoteRow, kind: str, target: NoteRow
) -> NoteRow | None:
    """Which of two notes states this relation already, in this kind or its inverse; None if
    neither does."""
    same = {canonical_edge(source.number, kind, target.number)}
    if RELATION_KINDS[kind] == kind:
        same.add(canonical_edge(target.number, kind, source.number))
    for row, other in ((source, target), (target, source)):
        for held, _, number, _ in links.outgoing(row.number):
            if number == other.number and canonical_edge(row.number, held, number) in same:
                return row
    return None


def link_name_for(links: LinkGraph, source: NoteRow, target: NoteRow) -> str:
    """The link text by which the source links to the target and to nothing else."""
    name = target.id if target.id != target.path else target.path.removesuffix(".md")
    if _UNLINKABLE_RE.search(name):
        raise InvalidInputError(
            f"{name!r} holds a character that no link can hold", "rename it without [ ] | # ^"
        )
    if links.resolve(name, source.number) == target.number:
        return name
    whole = f"/{target.path.removesuffix('.md')}"
    if _UNLINKABLE_RE.search(whole) or links.resolve(whole, source.number) != target.number:
        raise ConflictError(
            f"{name!r} means another note as well", "cortex doctor names notes that share an id"
        )
    return whole


def refuse_supersedes_cycle(
    links: LinkGraph, now: IndexSession, newer: NoteRow, older: NoteRow
) -> None:
    """Raise `ConflictError` when the older record supersedes the newer one, directly or not."""
    came = {older.number: newer.number}
    level = [older.number]
    while level and len(came) < _MAX_SUPERSEDED:
        edges = links.edges_touching(level, {"supersedes"})
        below = [edge for edge in edges if edge.source in level and edge.target not in came]
        came |= {edge.target: edge.source for edge in below}
        level = [edge.target for edge in below]
        if newer.number in came:
            chain = [newer.number]
            while chain[-1] != older.number:
                chain.append(came[chain[-1]])
            rows = now.catalogue.rows_by_number(chain)
            ids = [newer.id, *(rows[number].id for number in reversed(chain))]
            hint = f"{command('graph', older, '--kind', 'supersedes')} shows them"
            raise ConflictError(f"that would close a circle: {' supersedes '.join(ids)}", hint)
