"""Relations between notes: said in the frontmatter of one of them, as wikilinks that Obsidian follows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, Invalid, NotFound, Problem
from cortex.core.model.relation import KINDS, LINK, key_of, kind_of, turned
from cortex.core.text.shell_command import line
from cortex.index.catalogue import Row
from cortex.index.links import Links
from cortex.index.refresh import Views, look
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.records.change_record import Edit, apply_all, record, word
from cortex.vault.locate import Vault

ANY = "any"
_NO_LINK = re.compile(r"[\[\]|#^\n\r]")
_MOST_OLDER = 1000  # records that one may have superseded, each through the next


class Related(NamedTuple):
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


class _Plan(NamedTuple):
    """What is to be written where."""

    answer: Related
    edits: tuple[tuple[str, Edit], ...]


def relate(vault: Vault, caller: Caller, record: str, kind: str, other: str) -> Related:
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
    said = _kind(kind)
    freshen(vault, caller)
    return _done(
        vault,
        caller,
        look(vault, caller.progress, lambda now: _relation(now, caller, record, said, other)),
    )


def unrelate(vault: Vault, caller: Caller, record: str, kind: str, other: str) -> Related:
    """Take a relation back, on whichever side it is said. Links in the text of notes stay.

    record: the record that says it: an id, the beginning of one, or a path
    kind: the kind of the relation; `any` takes back all between the two
    other: the note it relates to; the name as it is written there when there is no such note

    Example: cortex unrelate use-sqlite-k3f7q2 refines keep-a-catalogue-m5d2xa
    Example: cortex unrelate use-sqlite-k3f7q2 any keep-a-catalogue-m5d2xa
    """
    freshen(vault, caller)
    return _done(
        vault,
        caller,
        look(
            vault, caller.progress, lambda now: _removal(now, caller, record, kind_of(kind), other)
        ),
    )


def _done(vault: Vault, caller: Caller, plan: _Plan) -> Related:
    _, problems = apply_all(vault, caller, plan.edits)
    return plan.answer._replace(problems=problems)


def _kind(text: str) -> str:
    kind = kind_of(text)
    if kind not in KINDS and not turned(kind):
        near = get_close_matches(kind, [*KINDS, *KINDS.values()], 1)
        mind = f"did you mean {near[0]}? " if near else ""
        raise Invalid(f"there is no kind of relation {text!r}", f"{mind}Kinds: {', '.join(KINDS)}")
    return kind


def _relation(now: Views, caller: Caller, first: str, kind: str, second: str) -> _Plan:
    source, target = resolve_note.one(now.catalogue, first), resolve_note.one(now.catalogue, second)
    if kind not in KINDS:  # an inverse name
        source, kind, target = target, turned(kind), source
    if source.number == target.number:
        raise Invalid(
            f"{source.id} cannot be related to itself",
            "name another note: cortex search finds notes by their words",
        )
    record(source)
    links = Links(now.catalogue)
    if says := _saying(links, source, kind, target):
        return _Plan(
            Related(
                source.id, kind, target.id, "unchanged", says.path, "they are related so already"
            ),
            (),
        )
    if kind == "supersedes":
        refuse_cycle(links, now, source, target)
    name = name_for(links, source, target)
    hint = (
        f"{line('supersede', target.id, '--by', source.id)} also sets the older one aside"
        if kind == "supersedes"
        else ""
    )
    undo = line("unrelate", word(source.id, source.path), kind, word(target.id, target.path))
    answer = Related(source.id, kind, target.id, "created", source.path, hint, undo=undo)

    def edit(note: Any) -> Any:
        from cortex.core.notes import edit as edits  # noqa: PLC0415  reading YAML costs 25 ms, and a duplicate reads none

        changed = edits.with_relation(note, kind, name)
        return note if changed is note else edits.touched(changed, caller.now)

    return _Plan(answer, ((source.path, edit),))


def _saying(links: Links, source: Row, kind: str, target: Row) -> Row | None:
    """Which of two notes says already that they are related so: the one in this word or the other in its inverse."""
    same = {_statement(source.number, kind, target.number)}
    if KINDS[kind] == kind:
        same.add(_statement(target.number, kind, source.number))
    for row, other in ((source, target), (target, source)):
        if any(
            number == other.number and _statement(row.number, held, number) in same
            for held, _, number, _ in links.out(row.number)
        ):
            return row
    return None


def name_for(links: Links, source: Row, target: Row) -> str:
    """How the source links to the target, so that the link means it and nothing else."""
    name = target.id if target.id != target.path else target.path.removesuffix(".md")
    if _NO_LINK.search(name):
        raise Invalid(
            f"{name!r} holds a character that no link can hold", "rename it without [ ] | # ^"
        )
    if links.resolve(name, source.number) == target.number:
        return name
    whole = f"/{target.path.removesuffix('.md')}"
    if _NO_LINK.search(whole) or links.resolve(whole, source.number) != target.number:
        raise Conflict(
            f"{name!r} means another note as well", "cortex doctor names notes that share an id"
        )
    return whole


def refuse_cycle(links: Links, now: Views, newer: Row, older: Row) -> None:
    """Raise `Conflict` when the older one has superseded the newer one, through however many."""
    came = {older.number: newer.number}
    level = [older.number]
    while level and len(came) < _MOST_OLDER:
        below = [
            edge
            for edge in links.edges(level, {"supersedes"})
            if edge.source in level and edge.target not in came
        ]
        for edge in below:
            came[edge.target] = edge.source
        level = [edge.target for edge in below]
        if newer.number in came:
            chain = [newer.number]
            while chain[-1] != older.number:
                chain.append(came[chain[-1]])
            rows = now.catalogue.numbered(chain)
            told = " supersedes ".join([newer.id, *(rows[number].id for number in reversed(chain))])
            raise Conflict(
                f"that would close a circle: {told}",
                f"{line('graph', older.id, '--kind', 'supersedes')} shows them",
            )


def _removal(now: Views, caller: Caller, first: str, kind: str, second: str) -> _Plan:
    links = Links(now.catalogue)
    source = resolve_note.one(now.catalogue, first)
    found = resolve_note.matches(now.catalogue, second)
    target = (
        resolve_note.one(now.catalogue, second) if len(found) > 1 else found[0] if found else None
    )
    wanted = _statement(source.number, kind, target.number if target else 0)
    edits: list[tuple[str, Edit]] = []
    kinds: list[str] = []
    said_by: dict[tuple[str, Row, Row], None] = {}
    for row, other in (
        (source, target),
        *(((target, source),) if target and target.number != source.number else ()),
    ):
        said = set()
        for held, name, number, _ in links.out(row.number):
            same = (
                number == other.number
                if other
                else number is None and key_of(name) == key_of(second)
            )
            if (
                held != LINK
                and same
                and (kind == ANY or _statement(row.number, held, number or 0) == wanted)
            ):
                said.add((held, key_of(name)))
        if said:
            edits.append((record(row).path, _without(said, caller.now)))
            kinds += sorted(held for held, _ in said)
            said_by.update(
                dict.fromkeys(
                    (held, row, other) for held in sorted({held for held, _ in said}) if other
                )
            )
    if not edits:
        raise (
            _not_named(now, links, source, second)
            if target is None
            else _not_related(links, source, kind, target)
        )
    hint = ""
    if target and "supersedes" in (turned(one) or one for one in kinds):
        aside = next((row for row in (target, source) if row.status == "superseded"), None)
        hint = f"{aside.id} is still superseded: {line('restore', aside.id)}" if aside else ""
    told = list(dict.fromkeys(kinds))
    answer = Related(
        source.id, ", ".join(told), target.id if target else second, "removed", edits[0][0], hint
    )
    if target and all(
        one in KINDS or turned(one) for one in told
    ):  # to what is gone, and in words of one's own, nobody relates
        answer = answer._replace(
            undo=" && ".join(_back(row, kind, other) for kind, row, other in said_by)
        )
    return _Plan(answer, tuple(edits))


def _back(row: Row, kind: str, other: Row) -> str:
    return line("relate", word(row.id, row.path), kind, word(other.id, other.path))


def _statement(source: int, kind: str, target: int) -> tuple[int, str, int]:
    straight = turned(kind)
    return (target, straight, source) if straight else (source, kind, target)


def _not_named(now: Views, links: Links, source: Row, name: str) -> NotFound:
    """Neither a note nor a target of the record is called so, or it says another kind of it."""
    held = sorted(
        {
            kind
            for kind, target, number, _ in links.out(source.number)
            if kind != LINK and number is None and key_of(target) == key_of(name)
        }
    )
    near = resolve_note.closest(now.catalogue, name)
    hint = (
        f"it says {', '.join(held)}"
        if held
        else f"did you mean {', '.join(near)}?"
        if near
        else f"{line('graph', source.id)} shows what there is"
    )
    return NotFound(
        f"there is no note {name!r}, and {source.id} {'says another kind of it' if held else 'names none so'}",
        hint,
    )


def _not_related(links: Links, source: Row, kind: str, target: Row) -> NotFound:
    held = sorted(
        {
            one
            for one, _, number, _ in links.out(source.number)
            if number == target.number and one != LINK
        }
    )
    back = sorted(
        {
            one
            for one, number, _ in links.back(source.number)
            if number == target.number and one != LINK
        }
    )
    if held:
        hint = f"it says {', '.join(held)}"
    elif back:
        hint = f"{line('unrelate', target.id, back[0], source.id)} takes back what that one says"
    else:
        hint = f"{line('graph', source.id)} shows what there is"
    return NotFound(
        f"{source.id} {'has no relation' if kind == ANY else f'does not say {kind}'} to {target.id}",
        hint,
    )


def _without(said: Iterable[tuple[str, str]], now: str) -> Edit:
    """The edit that takes these relations out, from `relations` and from the fields that say one by their name."""
    gone = frozenset(said)

    def edit(note: Any) -> Any:
        from cortex.core.model.relation import target_in  # noqa: PLC0415
        from cortex.core.notes import edit as edits  # noqa: PLC0415  as above

        held = edits.relations_of(note)
        kept = [
            one
            for one in held
            if (kind_of(one.get("kind", "")), key_of(target_in(one.get("to", "")))) not in gone
        ]
        changed = edits.with_fields(note, {"relations": kept}) if kept != held else note
        for field in ("supersedes", "superseded_by"):
            names: Sequence[str] = note.texts(field)
            left = [name for name in names if (field, key_of(target_in(name))) not in gone]
            if len(left) < len(names):
                changed = edits.with_fields(
                    changed,
                    {
                        field: left[0]
                        if len(left) == 1 and isinstance(note.fields[field], str)
                        else left
                    },
                )
        return note if changed is note else edits.touched(changed, now)

    return edit
