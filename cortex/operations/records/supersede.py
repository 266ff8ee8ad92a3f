"""One record takes the place of another, and both say so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.problem import ConflictError, InvalidInputError, Problem
from cortex.core.model.relation import iter_relations, kind_of_inverse, link_key, parse_link_target
from cortex.core.notes.edit import set_inactive_status, with_fields, with_relation, with_updated
from cortex.core.notes.frontmatter import FieldValue
from cortex.core.notes.note import Note, read_strict
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.shell_command import cortex_command
from cortex.core.text.strings import one_line
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.records import change_record
from cortex.operations.records.change_record import NoteEdit, RecordChange
from cortex.operations.records.relate import link_name_for, refuse_supersedes_cycle
from cortex.vault import files
from cortex.vault.locate import Vault

SUPERSEDES = "supersedes"


def supersede(
    vault: Vault, caller: Caller, old: str, *, by: str = "", reason: str = ""
) -> RecordChange:
    """Say that a record no longer holds, and which one holds in its place.

    The old one drops out of default answers; its id and every link to it still work, and both records link to each other.
    Run again after a crash, the command finishes what is left. `cortex restore OLD` takes it back.

    old: the record that no longer holds: its id, the beginning of it, or a path
    by: the record that holds in its place; without it, none does
    reason: why, in a few words

    Example: cortex supersede use-sqlite-k3f7q2 --by use-files-p2r6wq --reason "notes must be readable without Cortex"
    """
    problems = ensure_fresh(vault, caller)
    one, new, name = query_index(vault, caller.progress, lambda now: _resolve_pair(now, old, by))
    # The old one first: what it says is what holds. A crash here leaves one that `doctor` names with this very command.
    steps = [
        (
            one.path,
            superseded_edit(
                one.id, new.id if new else "", one_line(sanitize_text(reason)), caller.now
            ),
        )
    ]
    if new:
        replace = replacement_edit(name, caller.now)
        replace(
            read_strict(files.read(vault.root, new.path), new.path)
        )  # what cannot be done is told before anything is
        steps.append((new.path, replace))
    changed, healed = change_record.edit_notes_and_heal(vault, caller, steps)
    if not changed:
        return RecordChange(one.id, one.path, "unchanged", "", problems=tuple(problems))
    return RecordChange(
        one.id,
        one.path,
        "superseded",
        cortex_command("restore", change_record.command_name(one.id, one.path)),
        problems=(*problems, *healed),
    )


def superseded_edit(id_: str, by: str, reason: str, now: str) -> NoteEdit:
    """The edit of the record that no longer holds. It is refused when it says already that another one holds."""

    def edit(note: Note) -> Note:
        held = parse_link_target(note.get("superseded_by"))
        if note.get("status").lower() == "superseded":
            if by and held and link_key(held) != link_key(by):
                raise ConflictError(
                    f"{id_} is superseded by {held} already",
                    f"{cortex_command('restore', id_)}, then supersede it anew",
                )
            if (not by or held) and reason in ("", note.get("superseded_because")):
                return note
        said = {
            "superseded_by": by or note.get("superseded_by"), "superseded_at": note.get("superseded_at") or now,
            "superseded_because": reason or note.get("superseded_because"),
        }  # fmt: skip
        return with_updated(set_inactive_status(note, "superseded", said), now)

    return edit


def replacement_edit(old: str, now: str) -> NoteEdit:
    """The edit of the record that holds in the place of `old`, by the name under which it links to it."""

    def edit(note: Note) -> Note:
        changed = with_relation(note, SUPERSEDES, old)
        if changed is note:
            return note
        named = note.get_list(SUPERSEDES)
        if not any(link_key(parse_link_target(one)) == link_key(old) for one in named):
            changed = with_fields(changed, {SUPERSEDES: (*named, old)})
        return with_updated(changed, now)

    return edit


def no_longer_replacing_edit(is_old: Callable[[str], bool], now: str) -> NoteEdit:
    """The edit of a record that no longer takes the place of another one: of that which a name means."""

    def edit(note: Note) -> Note:
        changed = note
        named = note.get_list(SUPERSEDES)
        if len(rest := tuple(one for one in named if not is_old(parse_link_target(one)))) < len(
            named
        ):
            changed = with_fields(changed, {SUPERSEDES: rest})
        held = note.fields.get("relations")
        items = held if isinstance(held, list) else []
        # What a hand wrote in other forms stays beside it as it is, and so does all of it where it cannot be written again.
        if len(kept := [one for one in items if not _is_only_supersedes(one, is_old)]) < len(items):
            without = with_fields(changed, {"relations": kept})
            if without.fields.get("relations", []) == kept:
                changed = without
        return with_updated(changed, now) if changed is not note else note

    return edit


def _is_only_supersedes(relation: FieldValue, is_old: Callable[[str], bool]) -> bool:
    """Whether an item of the relations says that this record takes the place of that one, and nothing else."""
    said = list(iter_relations(relation))
    return bool(said) and all(
        kind == SUPERSEDES and is_old(parse_link_target(text)) for kind, text in said
    )


def find_supersede_problems(catalogue: Catalogue) -> list[Problem]:
    """Records that say they are superseded by one that does not say so: a crash came between, or a hand wrote it. And those
    that are superseded by each other, so that none of them holds, or that say so of each other."""
    query = "SELECT edge.number, target FROM edge JOIN note USING (number) WHERE kind = 'superseded_by' AND status = 'superseded'"
    said = list(catalogue.select(query))
    links = LinkGraph(catalogue)
    meant = {number: links.resolve(target, number) for number, target in said}
    rows = catalogue.rows_by_number([*meant, *(number for number in meant.values() if number)])
    rings = _find_cycles(meant)
    found = [problem for ring in rings for problem in _superseded_cycle_problems(ring, rows)]
    in_rings = {number for ring in rings for number in ring}
    found += _supersedes_cycle_problems(catalogue, links, in_rings)
    # What cannot be read may say so nevertheless; its own problem is named.
    unread = {number for (number,) in catalogue.select("SELECT DISTINCT number FROM problem")}
    outs = links.outgoing_by_note([number for number in meant.values() if number])
    for old, new in meant.items():
        # What is somebody's own note need not say so: nobody but they write there.
        if not new or old in in_rings or new in unread:
            continue
        if change_record.is_editable(rows[new]) and not any(
            kind == SUPERSEDES and target == old for kind, _, target, _ in outs.get(new, ())
        ):
            message = f"is superseded by {rows[new].id}, which does not say so"
            found.append(
                Problem(
                    rows[old].path,
                    message,
                    cortex_command(
                        "supersede",
                        change_record.command_name(rows[old].id, rows[old].path),
                        "--by",
                        change_record.command_name(rows[new].id, rows[new].path),
                    ),
                )
            )
    return sorted(found)


def _find_cycles(by: Mapping[int, int | None]) -> list[list[int]]:
    """Those of which each is superseded by the next, and the last by the first."""
    found: list[list[int]] = []
    passed: set[int] = set()
    for start in by:
        way: list[int] = []
        at: int | None = start
        while at is not None and at in by and at not in passed:
            passed.add(at)
            way.append(at)
            at = by[at]
        if at is not None and at in way:
            found.append(way[way.index(at) :])
    return found


def _superseded_cycle_problems(ring: list[int], rows: Mapping[int, NoteRow]) -> Iterator[Problem]:
    """Two clones superseded crosswise, or a hand wrote it. Which one holds is for a person to say."""
    for place, number in enumerate(ring):
        others = [rows[one].id for one in (*ring[place + 1 :], *ring[:place])]
        message = (
            f"is superseded by {', and that by '.join((*others, 'this one'))}, so that none of them holds"
            if others
            else "is superseded by itself"
        )
        yield Problem(
            rows[number].path,
            f"{message}; restore it if this one holds" if others else message,
            cortex_command(
                "restore", change_record.command_name(rows[number].id, rows[number].path)
            ),
        )


def _next_step_into_cycle(older: Mapping[int, Collection[int]]) -> dict[int, int]:
    """Those from which the way down never ends, each with one step of it."""
    newer: dict[int, list[int]] = {}
    for number, below in older.items():
        for one in below:
            newer.setdefault(one, []).append(number)
    left = {number: len(below) for number, below in older.items()}
    ends = [number for number in newer if number not in left]
    while ends:
        for number in newer.get(ends.pop(), ()):
            left[number] -= 1
            if not left[number]:
                ends.append(number)
    return {
        number: min(one for one in older[number] if left.get(one))
        for number, steps in left.items()
        if steps
    }


def _supersedes_cycle_problems(
    catalogue: Catalogue, links: LinkGraph, known: set[int]
) -> list[Problem]:
    """Records that take each other's place by what they say, whatever their status, as a hand writes it; but for those that are
    `known` to be superseded by each other."""
    saying = [
        number
        for (number,) in catalogue.select(
            "SELECT DISTINCT number FROM edge WHERE kind IN ('supersedes', 'superseded_by') ORDER BY number"
        )
    ]
    older: dict[int, set[int]] = {}
    for edge in links.edges_touching(saying, (SUPERSEDES,)):
        older.setdefault(edge.source, set()).add(edge.target)
    for number, said in links.outgoing_by_note(saying).items():
        if any(
            target == number and SUPERSEDES in (kind, kind_of_inverse(kind))
            for kind, _, target, _ in said
        ):
            older[number] = {number}
    rings = [ring for ring in _find_cycles(_next_step_into_cycle(older)) if not known & set(ring)]
    rows = catalogue.rows_by_number(number for ring in rings for number in ring)
    found = []
    for ring in rings:
        # Where one of them is current and the others are not, it holds: a topic that was saved anew in place of what had replaced it.
        if len(ring) > 1 and [rows[number].tier for number in ring].count(TIER_CURRENT) == 1:
            continue
        for place, number in enumerate(ring):
            one, below = rows[number], rows[ring[(place + 1) % len(ring)]]
            message = (
                f"supersedes {below.id}, which supersedes it"
                if len(ring) == 2
                else f"supersedes {below.id}, in a circle of {len(ring)}"
            )
            command = cortex_command(
                "unrelate",
                change_record.command_name(one.id, one.path),
                SUPERSEDES,
                change_record.command_name(below.id, below.path),
            )
            found.append(
                Problem(one.path, message if len(ring) > 1 else "supersedes itself", command)
            )
    return found


def _resolve_pair(now: IndexSession, old: str, by: str) -> tuple[NoteRow, NoteRow | None, str]:
    """Both records, and how the new one links to the old one."""
    one = change_record.check_editable(resolve_note.find_one(now.catalogue, old))
    if not by:
        return one, None, ""
    new = change_record.check_editable(resolve_note.find_one(now.catalogue, by))
    if new.number == one.number:
        raise InvalidInputError(
            f"{one.id} cannot supersede itself", "name another record with --by"
        )
    links = LinkGraph(now.catalogue)
    refuse_supersedes_cycle(links, now, new, one)
    if new.status in ("superseded", "deleted"):
        raise ConflictError(
            f"{new.id} is {new.status} itself",
            f"{cortex_command('restore', change_record.command_name(new.id, new.path))}, or name the record that holds now",
        )
    return one, new, link_name_for(links, new, one)
