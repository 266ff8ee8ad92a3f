"""Relations between notes: said in the frontmatter of one of them, as wikilinks that Obsidian follows."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError, Problem
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
    edit_notes_and_heal,
)
from cortex.vault.locate import Vault

ANY_KIND = "any"
_UNLINKABLE_RE = re.compile(r"[\[\]|#^\n\r]")
_MAX_SUPERSEDED = 1000  # records that one may have superseded, each through the next


class RelationChange(NamedTuple):
    """One relation, and what became of it. In JSON `source` is `from`."""

    source: str  # ids; a path where there is no id
    kind: str
    to: str
    outcome: str  # created, unchanged, removed
    path: str  # of the note that says it
    hint: str = ""
    problems: tuple[Problem, ...] = ()  # of the briefings, which were to be healed after it
    undo: str = ""  # the command that takes it back; empty when nothing changed, or no command can

    def as_json(self) -> dict[str, object]:
        problems = [problem._asdict() for problem in self.problems]
        return {
            "from": self.source, "kind": self.kind, "to": self.to, "outcome": self.outcome, "path": self.path, "hint": self.hint, "problems": problems,
            "undo": self.undo,
        }  # fmt: skip


class RelationPlan(NamedTuple):
    """What is to be written where."""

    answer: RelationChange
    edits: tuple[tuple[str, NoteEdit], ...]


def relate(vault: Vault, caller: Caller, record: str, kind: str, other: str) -> RelationChange:
    """Say how a record relates to another note.

    Kinds: references, relates_to, follows, supersedes, contradicts, derived_from, exemplifies, refines, source_of. Their
    inverse names (referenced_by, superseded_by, …) are turned round: the record that then says it is the other one.
    What is related so already stays as it is. `cortex unrelate` takes a relation back.

    record: the record that says it: an id, the beginning of one, or a path
    kind: how it relates to the other
    other: the note it relates to: an id, the beginning of one, or a path

    Example: cortex relate use-sqlite-k3f7q2 refines keep-a-catalogue-m5d2xa
    Example: cortex relate use-sqlite-k3f7q2 superseded_by use-files-p2r6wq
    """
    said = _parse_kind(kind)
    ensure_fresh(vault, caller)
    return apply_plan(
        vault,
        caller,
        query_index(
            vault, caller.progress, lambda now: _plan_relate(now, caller, record, said, other)
        ),
    )


def apply_plan(vault: Vault, caller: Caller, plan: RelationPlan) -> RelationChange:
    _, problems = edit_notes_and_heal(vault, caller, plan.edits)
    return plan.answer._replace(problems=problems)


def _parse_kind(text: str) -> str:
    kind = normalize_kind(text)
    if kind not in RELATION_KINDS and not kind_of_inverse(kind):
        near = get_close_matches(kind, [*RELATION_KINDS, *RELATION_KINDS.values()], 1)
        mind = f"did you mean {near[0]}? " if near else ""
        raise InvalidInputError(
            f"there is no kind of relation {text!r}", f"{mind}Kinds: {', '.join(RELATION_KINDS)}"
        )
    return kind


def _plan_relate(
    now: IndexSession, caller: Caller, first: str, kind: str, second: str
) -> RelationPlan:
    source, target = (
        resolve_note.find_one(now.catalogue, first),
        resolve_note.find_one(now.catalogue, second),
    )
    if kind not in RELATION_KINDS:  # an inverse name
        source, kind, target = target, kind_of_inverse(kind), source
    if source.number == target.number:
        raise InvalidInputError(
            f"{source.id} cannot be related to itself",
            "name another note: cortex search finds notes by their words",
        )
    check_editable(source)
    links = LinkGraph(now.catalogue)
    if says := _note_stating_relation(links, source, kind, target):
        return RelationPlan(
            RelationChange(
                source.id, kind, target.id, "unchanged", says.path, "they are related so already"
            ),
            (),
        )
    if kind == "supersedes":
        refuse_supersedes_cycle(links, now, source, target)
    name = link_name_for(links, source, target)
    hint = (
        f"{command('supersede', target, '--by', source)} also sets the older one aside"
        if kind == "supersedes"
        else ""
    )
    undo = command("unrelate", source, kind, target)
    answer = RelationChange(source.id, kind, target.id, "created", source.path, hint, undo=undo)

    def edit(note: Any) -> Any:
        from cortex.core.notes import edit as edits  # noqa: PLC0415  reading YAML costs 25 ms, and a duplicate reads none

        changed = edits.with_relation(note, kind, name)
        return note if changed is note else edits.with_updated(changed, caller.now)

    return RelationPlan(answer, ((source.path, edit),))


def _note_stating_relation(
    links: LinkGraph, source: NoteRow, kind: str, target: NoteRow
) -> NoteRow | None:
    """Which of two notes says already that they are related so: the one in this word or the other in its inverse."""
    same = {normalized_edge(source.number, kind, target.number)}
    if RELATION_KINDS[kind] == kind:
        same.add(normalized_edge(target.number, kind, source.number))
    for row, other in ((source, target), (target, source)):
        if any(
            number == other.number and normalized_edge(row.number, held, number) in same
            for held, _, number, _ in links.outgoing(row.number)
        ):
            return row
    return None


def link_name_for(links: LinkGraph, source: NoteRow, target: NoteRow) -> str:
    """How the source links to the target, so that the link means it and nothing else."""
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
    """Raise `ConflictError` when the older one has superseded the newer one, through however many."""
    came = {older.number: newer.number}
    level = [older.number]
    while level and len(came) < _MAX_SUPERSEDED:
        below = [
            edge
            for edge in links.edges_touching(level, {"supersedes"})
            if edge.source in level and edge.target not in came
        ]
        for edge in below:
            came[edge.target] = edge.source
        level = [edge.target for edge in below]
        if newer.number in came:
            chain = [newer.number]
            while chain[-1] != older.number:
                chain.append(came[chain[-1]])
            rows = now.catalogue.rows_by_number(chain)
            told = " supersedes ".join([newer.id, *(rows[number].id for number in reversed(chain))])
            raise ConflictError(
                f"that would close a circle: {told}",
                f"{command('graph', older, '--kind', 'supersedes')} shows them",
            )


def normalized_edge(source: int, kind: str, target: int) -> tuple[int, str, int]:
    straight = kind_of_inverse(kind)
    return (target, straight, source) if straight else (source, kind, target)


def unknown_target_error(
    now: IndexSession, links: LinkGraph, source: NoteRow, name: str
) -> NotFoundError:
    """Neither a note nor a target of the record is called so, or it says another kind of it."""
    held = sorted(
        {
            kind
            for kind, target, number, _ in links.outgoing(source.number)
            if kind != LINK_KIND and number is None and link_key(target) == link_key(name)
        }
    )
    near = resolve_note.closest_ids(now.catalogue, name)
    hint = (
        f"it says {', '.join(held)}"
        if held
        else f"did you mean {', '.join(near)}?"
        if near
        else f"{command('graph', source)} shows what there is"
    )
    return NotFoundError(
        f"there is no note {name!r}, and {source.id} {'says another kind of it' if held else 'names none so'}",
        hint,
    )
