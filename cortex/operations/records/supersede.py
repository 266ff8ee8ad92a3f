"""One record takes the place of another, and both say so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, Invalid, Problem
from cortex.core.model.relation import key_of, relations_in, target_in, turned
from cortex.core.model.status import CURRENT
from cortex.core.notes.edit import set_aside, touched, with_fields, with_relation
from cortex.core.notes.frontmatter import Value
from cortex.core.notes.note import Note, parse
from cortex.core.redact.secrets import clean
from cortex.core.text.shell_command import line
from cortex.core.text.strings import one_line
from cortex.index.catalogue import Catalogue, Row
from cortex.index.links import Links
from cortex.index.refresh import Views, look
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.records import change_record
from cortex.operations.records.change_record import Changed, Edit
from cortex.operations.records.relate import name_for, refuse_cycle
from cortex.vault import files
from cortex.vault.locate import Vault

SUPERSEDES = "supersedes"


def supersede(vault: Vault, caller: Caller, old: str, *, by: str = "", reason: str = "") -> Changed:
    """Say that a record no longer holds, and which one holds in its place.

    The old one drops out of default answers; its id and every link to it still work, and both records link to each other.
    Run again after a crash, the command finishes what is left. `cortex restore OLD` takes it back.

    old: the record that no longer holds: its id, the beginning of it, or a path
    by: the record that holds in its place; without it, none does
    reason: why, in a few words

    Example: cortex supersede use-sqlite-k3f7q2 --by use-files-p2r6wq --reason "notes must be readable without Cortex"
    """
    problems = freshen(vault, caller)
    one, new, name = look(vault, caller.progress, lambda now: _pair(now, old, by))
    # The old one first: what it says is what holds. A crash here leaves one that `doctor` names with this very command.
    steps = [
        (one.path, retiring(one.id, new.id if new else "", one_line(clean(reason)), caller.now))
    ]
    if new:
        replace = replacing(name, caller.now)
        replace(
            parse(files.read(vault.root, new.path), new.path)
        )  # what cannot be done is told before anything is
        steps.append((new.path, replace))
    changed, healed = change_record.apply_all(vault, caller, steps)
    if not changed:
        return Changed(one.id, one.path, "unchanged", "", problems=tuple(problems))
    return Changed(
        one.id,
        one.path,
        "superseded",
        line("restore", change_record.word(one.id, one.path)),
        problems=(*problems, *healed),
    )


def retiring(id_: str, by: str, reason: str, now: str) -> Edit:
    """The edit of the record that no longer holds. It is refused when it says already that another one holds."""

    def edit(note: Note) -> Note:
        held = target_in(note.get("superseded_by"))
        if note.get("status").lower() == "superseded":
            if by and held and key_of(held) != key_of(by):
                raise Conflict(
                    f"{id_} is superseded by {held} already",
                    f"{line('restore', id_)}, then supersede it anew",
                )
            if (not by or held) and reason in ("", note.get("superseded_because")):
                return note
        said = {
            "superseded_by": by or note.get("superseded_by"), "superseded_at": note.get("superseded_at") or now,
            "superseded_because": reason or note.get("superseded_because"),
        }  # fmt: skip
        return touched(set_aside(note, "superseded", said), now)

    return edit


def replacing(old: str, now: str) -> Edit:
    """The edit of the record that holds in the place of `old`, by the name under which it links to it."""

    def edit(note: Note) -> Note:
        changed = with_relation(note, SUPERSEDES, old)
        if changed is note:
            return note
        named = note.texts(SUPERSEDES)
        if not any(key_of(target_in(one)) == key_of(old) for one in named):
            changed = with_fields(changed, {SUPERSEDES: (*named, old)})
        return touched(changed, now)

    return edit


def letting_go(is_old: Callable[[str], bool], now: str) -> Edit:
    """The edit of a record that no longer takes the place of another one: of that which a name means."""

    def edit(note: Note) -> Note:
        changed = note
        named = note.texts(SUPERSEDES)
        if len(rest := tuple(one for one in named if not is_old(target_in(one)))) < len(named):
            changed = with_fields(changed, {SUPERSEDES: rest})
        held = note.fields.get("relations")
        items = held if isinstance(held, list) else []
        # What a hand wrote in other forms stays beside it as it is, and so does all of it where it cannot be written again.
        if len(kept := [one for one in items if not _only(one, is_old)]) < len(items):
            without = with_fields(changed, {"relations": kept})
            if without.fields.get("relations", []) == kept:
                changed = without
        return touched(changed, now) if changed is not note else note

    return edit


def _only(relation: Value, is_old: Callable[[str], bool]) -> bool:
    """Whether an item of the relations says that this record takes the place of that one, and nothing else."""
    said = list(relations_in(relation))
    return bool(said) and all(kind == SUPERSEDES and is_old(target_in(text)) for kind, text in said)


def half_done(catalogue: Catalogue) -> list[Problem]:
    """Records that say they are superseded by one that does not say so: a crash came between, or a hand wrote it. And those
    that are superseded by each other, so that none of them holds, or that say so of each other."""
    query = "SELECT edge.number, target FROM edge JOIN note USING (number) WHERE kind = 'superseded_by' AND status = 'superseded'"
    said = list(catalogue.asked(query))
    links = Links(catalogue)
    meant = {number: links.resolve(target, number) for number, target in said}
    rows = catalogue.numbered([*meant, *(number for number in meant.values() if number)])
    rings = _rings(meant)
    found = [problem for ring in rings for problem in _none_holds(ring, rows)]
    in_rings = {number for ring in rings for number in ring}
    found += _circles(catalogue, links, in_rings)
    # What cannot be read may say so nevertheless; its own problem is named.
    unread = {number for (number,) in catalogue.asked("SELECT DISTINCT number FROM problem")}
    outs = links.outs([number for number in meant.values() if number])
    for old, new in meant.items():
        # What is somebody's own note need not say so: nobody but they write there.
        if not new or old in in_rings or new in unread:
            continue
        if change_record.is_record(rows[new]) and not any(
            kind == SUPERSEDES and target == old for kind, _, target, _ in outs.get(new, ())
        ):
            message = f"is superseded by {rows[new].id}, which does not say so"
            found.append(
                Problem(
                    rows[old].path,
                    message,
                    line(
                        "supersede",
                        change_record.word(rows[old].id, rows[old].path),
                        "--by",
                        change_record.word(rows[new].id, rows[new].path),
                    ),
                )
            )
    return sorted(found)


def _rings(by: Mapping[int, int | None]) -> list[list[int]]:
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


def _none_holds(ring: list[int], rows: Mapping[int, Row]) -> Iterator[Problem]:
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
            line("restore", change_record.word(rows[number].id, rows[number].path)),
        )


def _endless(older: Mapping[int, Collection[int]]) -> dict[int, int]:
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


def _circles(catalogue: Catalogue, links: Links, known: set[int]) -> list[Problem]:
    """Records that take each other's place by what they say, whatever their status, as a hand writes it; but for those that are
    `known` to be superseded by each other."""
    saying = [
        number
        for (number,) in catalogue.asked(
            "SELECT DISTINCT number FROM edge WHERE kind IN ('supersedes', 'superseded_by') ORDER BY number"
        )
    ]
    older: dict[int, set[int]] = {}
    for edge in links.edges(saying, (SUPERSEDES,)):
        older.setdefault(edge.source, set()).add(edge.target)
    for number, said in links.outs(saying).items():
        if any(
            target == number and SUPERSEDES in (kind, turned(kind)) for kind, _, target, _ in said
        ):
            older[number] = {number}
    rings = [ring for ring in _rings(_endless(older)) if not known & set(ring)]
    rows = catalogue.numbered(number for ring in rings for number in ring)
    found = []
    for ring in rings:
        # Where one of them is current and the others are not, it holds: a topic that was saved anew in place of what had replaced it.
        if len(ring) > 1 and [rows[number].tier for number in ring].count(CURRENT) == 1:
            continue
        for place, number in enumerate(ring):
            one, below = rows[number], rows[ring[(place + 1) % len(ring)]]
            message = (
                f"supersedes {below.id}, which supersedes it"
                if len(ring) == 2
                else f"supersedes {below.id}, in a circle of {len(ring)}"
            )
            command = line(
                "unrelate",
                change_record.word(one.id, one.path),
                SUPERSEDES,
                change_record.word(below.id, below.path),
            )
            found.append(
                Problem(one.path, message if len(ring) > 1 else "supersedes itself", command)
            )
    return found


def _pair(now: Views, old: str, by: str) -> tuple[Row, Row | None, str]:
    """Both records, and how the new one links to the old one."""
    one = change_record.record(resolve_note.one(now.catalogue, old))
    if not by:
        return one, None, ""
    new = change_record.record(resolve_note.one(now.catalogue, by))
    if new.number == one.number:
        raise Invalid(f"{one.id} cannot supersede itself", "name another record with --by")
    links = Links(now.catalogue)
    refuse_cycle(links, now, new, one)
    if new.status in ("superseded", "deleted"):
        raise Conflict(
            f"{new.id} is {new.status} itself",
            f"{line('restore', change_record.word(new.id, new.path))}, or name the record that holds now",
        )
    return one, new, name_for(links, new, one)
