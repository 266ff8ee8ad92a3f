"""Find notes that a merge has lost, doubled or mixed up though git calls it clean; plan repairs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set as AbstractSet
from enum import Enum
from typing import NamedTuple

from cortex.core.merge.conflict_markers import marked_conflicts
from cortex.core.merge.conflicts import merge_versions, resolve_event
from cortex.core.merge.merge_plan import (
    MergeContext,
    MergeFunction,
    MergeOutcome,
    MergePlan,
    MergeSides,
    NoteDecision,
)
from cortex.core.merge.note_versions import (
    NoteFile,
    NoteVersions,
    Tree,
    group_by_note,
    has_own_id,
    is_personal_note,
    note_id,
    preferred_path,
    stem_of,
)
from cortex.core.model.layout import is_event_path
from cortex.core.notes import note as notes


class DamageKind(Enum):
    """What a merge has done to a note; the value is what a person reads when that is put right."""

    WRONG_EVENT = "git had taken it for another event; its own text is back"
    LOST = "git had taken it for another note; it is back"
    BOTH_FILES_LOST = "each side had deleted one of its two files; it is back"
    MIXED = "git had mixed it with another note; its own text is back"
    DUPLICATED = "stood in {} too; one file is kept, with the changes of both"  # {}: other paths
    UNREADABLE = "git had merged its fields line by line; they are merged one by one"


class MergeDamage(NamedTuple):
    """A note or an event with which a merge did wrong, and what it should be."""

    kind: DamageKind
    id: str
    path: str  # where it belongs
    data: bytes  # what it should say
    wrong_paths: frozenset[str] = frozenset()  # other paths at which it must not stand
    duplicate_paths: str = ""  # of one that stands twice: these paths
    has_copy: bool = False  # a side had it in a second file, which is there still, or comes back


def plan_repair(
    sides: MergeSides,
    result: Tree,
    context: MergeContext,
    marked_except: Collection[str] | None = None,
    decided: Collection[str] = (),
) -> MergeOutcome:
    """The changes to git's merged tree that bring back each note's own text, once.

    decided: paths of notes about which somebody, or Cortex, has decided already
    marked_except: if given, only notes with git's markers in their files, notes that git mixed into
    these, and nothing at these paths
    """
    plan = MergePlan(sides, context)
    damages = find_damage(sides, result, context.merge_note)
    damages = [one for one in damages if not {one.path, *one.wrong_paths} & {*decided}]
    if marked_except is not None:
        damages = _find_marked(damages, sides.base, result, marked_except)
    while stay := [one for one in damages if _is_whole_elsewhere(one, damages, result)]:
        damages = [one for one in damages if one not in stay]
    leaving = {path for one in damages for path in one.wrong_paths}
    for one in damages:
        path = one.path
        if _is_taken_by_another(one, leaving, result):
            path = plan.free_path(path, one.id, one.data, result)
        message = one.kind.value.format(one.duplicate_paths)
        plan.decide(NoteDecision(one.id, path, one.data, one.wrong_paths, message))
    return plan.outcome()


def _find_marked(
    damages: Sequence[MergeDamage], base: Tree, result: Tree, excluded: Collection[str]
) -> list[MergeDamage]:
    """Of the damages those of notes in whose files git has put markers, and of the notes that it
    mixed into these; none at an excluded path."""
    found = [one for one in damages if not {one.path, *one.wrong_paths} & {*excluded}]
    marked = [
        (one, made)
        for one in found
        for made in (result.get(path, b"") for path in (one.path, *one.wrong_paths))
        if marked_conflicts(made) - marked_conflicts(one.data)
    ]
    with_markers = [one for one, _ in marked]
    return [
        one
        for one in found
        if one in with_markers
        or (
            one.kind == DamageKind.LOST
            and any(is_mixed_in(one, other, base, made) for other, made in marked)
        )
    ]


def _is_whole_elsewhere(one: MergeDamage, damages: Sequence[MergeDamage], result: Tree) -> bool:
    """True if another note stays at the note's place, and the note is whole where it is."""
    leaving = {path for each in damages for path in each.wrong_paths}
    return _is_taken_by_another(one, leaving, result) and any(
        result[wrong] == one.data for wrong in one.wrong_paths
    )


def _is_taken_by_another(one: MergeDamage, leaving: AbstractSet[str], result: Tree) -> bool:
    here = result.get(one.path)
    return (
        here is not None
        and one.kind != DamageKind.WRONG_EVENT
        and one.path not in leaving
        and one.id != note_id(here) != ""
    )


def find_damage(sides: MergeSides, result: Tree, merge: MergeFunction) -> list[MergeDamage]:
    """The notes that are not in the tree that git made of three as their own versions give them.

    `sides` and `result` hold the notes that differ anywhere. A note that one side alone changed
    must have that side's text; one that both changed must be there once; one that a side deleted
    and the other left alone is gone.
    """
    plan = MergePlan(sides, MergeContext(merge))
    damages = list(_find_event_damage(plan, result))
    # Notes that both sides have alike and the result has not, with its text: somebody's decision,
    # or another note's lines.
    alike: list[tuple[MergeDamage, bytes]] = []
    for key, (base, ours, theirs, now) in sorted(group_by_note(*sides, result).items()):
        id_ = key.partition("\0")[0]
        if max(map(len, (base, ours, theirs))) > 1:
            damages += _find_lost_copies(id_, (base, ours, theirs), now)
            continue
        versions = NoteVersions(
            id_, *(files[0] if files else None for files in (base, ours, theirs))
        )
        if damage := _find_note_damage(plan, versions, now):
            damages.append(damage)
        elif ours and ours == theirs != now and [file.path for file in now] == [ours[0].path]:
            own = MergeDamage(DamageKind.MIXED, note_id(ours[0].data), *ours[0])
            alike.append((own, now[0].data))
    lost = [one for one in damages if one.kind == DamageKind.LOST]
    damages += [
        own
        for own, merged in alike
        if any(is_mixed_in(one, own, sides.base, merged) for one in lost)
    ]
    return damages + _find_personal_note_damage(sides, result)


def is_mixed_in(gone: MergeDamage, mixed: MergeDamage, base: Tree, made: bytes) -> bool:
    """True if the change of the lost note `gone` was made to another note, now with text `made`."""
    if gone.id:
        before = next((data for data in base.values() if note_id(data) == gone.id), b"")
    else:
        before = base.get(gone.path, b"")
    texts = (before, gone.data, mixed.data, made)
    bodies = [notes.read(text).body for text in texts]
    # Of `updated`, which every edit changes, a person may have kept either.
    parts = texts if bodies[0] == bodies[1] else bodies
    was, now, own, result = (set(data.splitlines()) for data in parts)
    if not before:  # of several bases the one that was chosen does not have it
        return bool(result - own) and result - own <= now
    added, removed = now - was - own, (was - now) & own
    return bool(added or removed) and added <= result and not removed & result


def _find_event_damage(plan: MergePlan, result: Tree) -> Iterator[MergeDamage]:
    def files_of(id_: str, tree: Tree) -> list[NoteFile]:
        files = (NoteFile(*one) for one in tree.items())
        return [one for one in files if is_event_path(one.path) and stem_of(one.path) == id_]

    # Where a merge has put an event, by the event: in the file of another note that has an id, or in
    # a new file of its name, as git moves one along with a folder that it takes for renamed.
    misplaced: dict[str, set[str]] = {}
    for path, data in result.items():
        id_ = note_id(data)
        before = {note_id(tree[path]) for tree in plan.sides if path in tree}
        is_new = not before and stem_of(path) == id_
        if not is_event_path(path) and (is_new or (before and not before & {id_, ""})):
            misplaced.setdefault(id_, set()).add(path)
    paths = (path for tree in plan.sides[1:] for path in tree)
    for id_ in sorted({stem_of(path) for path in paths if is_event_path(path)}):
        here = files_of(id_, result)
        known = {_unix_lines(one.data) for tree in plan.sides for one in files_of(id_, tree)}
        # An event never changes: what no side has is mixed with another note, markers included.
        is_wrong = any(not has_own_id(*one) or _unix_lines(one.data) not in known for one in here)
        moved = frozenset(misplaced.get(id_, ()))
        if here and not is_wrong:
            if moved:
                yield MergeDamage(DamageKind.WRONG_EVENT, id_, *here[0], moved)
            continue
        if decision := resolve_event(plan, id_, gone_is_gone=not (is_wrong or moved)):
            _, path, data, removed = decision[:4]
            yield MergeDamage(DamageKind.WRONG_EVENT, id_, path, data, removed | moved)


def _unix_lines(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _find_lost_copies(
    id_: str, sides: Sequence[Sequence[NoteFile]], now: Sequence[NoteFile]
) -> Iterator[MergeDamage]:
    """Of a note that a side has in two files, which doctor names: a file that one side edited and
    the other deleted, if what was added in it stands in no file of the note now. Of several bases
    the one that was chosen may not have it: then the lines count that the other side has not.
    Where each side has deleted the file that the other left as it was, nobody has deleted the note,
    and git asks nobody."""
    before, *changed = ({file.path: file.data for file in files} for files in sides)
    ours, theirs = changed
    left = ours | theirs
    is_in_no_file = ours and theirs and not now
    if is_in_no_file and not ours.keys() & theirs.keys() and left.items() <= before.items():
        paths = [preferred_path(id_, left)] if len({*left.values()}) == 1 else sorted(left)
        for path in paths:
            yield MergeDamage(
                DamageKind.BOTH_FILES_LOST, id_, path, left[path], has_copy=len(paths) > 1
            )
        return
    here = {file.path: frozenset(file.data.splitlines()) for file in now}
    for one, other in (changed, changed[::-1]):
        for path in sorted(one.keys() - other.keys() - here.keys()):
            known = [before[path]] if path in before else other.values()
            added = set(one[path].splitlines()).difference(*(old.splitlines() for old in known))
            if added and not any(added <= lines for lines in here.values()):
                yield MergeDamage(DamageKind.LOST, id_, path, one[path], has_copy=True)


def _find_note_damage(
    plan: MergePlan, versions: NoteVersions, now: Sequence[NoteFile]
) -> MergeDamage | None:
    """How the merged note differs from what its versions ask for; None when it is right."""
    if len(now) != 1:
        return _find_lost_or_duplicated(plan, versions, now)
    (file,) = now
    base, ours, theirs = versions.texts()
    is_both_changed = ours != theirs and base not in (ours, theirs)
    # Another note belongs there.
    is_taken = any(file.path in tree for tree in plan.sides)
    is_in_the_way = is_taken and file.path not in versions.paths()
    if is_both_changed and not is_in_the_way:  # then it is as git and its drivers merged it
        return _find_unreadable_merge(plan, versions, file)
    # What both made of it alike may have been changed since; only git puts markers into it, for two
    # notes of one name.
    has_new_markers = bool(marked_conflicts(file.data) - marked_conflicts(ours or b""))
    if ours == theirs and not is_in_the_way and not has_new_markers:
        return None
    wanted = NoteFile(file.path, file.data)
    if ours is not None and theirs is not None:
        merged = file.data if is_both_changed else theirs if ours == base else ours
        wanted = NoteFile(versions.merged_path(), merged)
    elif (only := versions.ours or versions.theirs) and only != versions.base:
        wanted = only
    else:
        return None
    if file.data == wanted.data and not is_in_the_way:
        return None
    return MergeDamage(
        DamageKind.MIXED, versions.id, *wanted, frozenset({file.path} - {wanted.path})
    )


def _find_lost_or_duplicated(
    plan: MergePlan, versions: NoteVersions, now: Sequence[NoteFile]
) -> MergeDamage | None:
    """The damage of a note that stands in no file or in several."""
    id_, base, ours, theirs = versions
    kept = ours or theirs
    is_deleted = base and None in (ours, theirs) and base in (ours, theirs)
    if kept is None or (is_deleted and not now):
        return None
    if ours and theirs:
        merged = merge_versions(plan, versions)
        kept = NoteFile(merged.path, merged.data)
    wrong = frozenset(file.path for file in now) - {kept.path}
    kind = DamageKind.DUPLICATED if now else DamageKind.LOST
    return MergeDamage(kind, id_, *kept, wrong, ", ".join(sorted(wrong)))


def _find_unreadable_merge(
    plan: MergePlan, versions: NoteVersions, file: NoteFile
) -> MergeDamage | None:
    """A note that both sides changed and whose frontmatter git made unreadable: a field twice."""
    _, ours, theirs = versions.texts()
    if ours is None or theirs is None or file.data in (ours, theirs):
        return None
    if file.path != versions.merged_path() or not notes.read(file.data).problems:
        return None
    if any(notes.read(data).problems for data in (ours, theirs)):
        return None
    decision = merge_versions(plan, versions)
    if decision.ask_reason:
        return None
    return MergeDamage(DamageKind.UNREADABLE, decision.id, decision.path, decision.data)


def _find_personal_note_damage(sides: MergeSides, result: Tree) -> list[MergeDamage]:
    """People's own notes, which have no ids, that git took for records or records for them. What
    git takes for one of their own notes renamed to another is left as it is."""
    base, ours, theirs = (
        {path: data for path, data in tree.items() if is_personal_note(path, data)}
        for tree in sides
    )
    damages = []
    for side, other in ((ours, theirs), (theirs, ours)):
        added = [path for path in side if path not in sides.base and path not in other]
        # A note of the base that this side does not have, and the other has changed or moved: an
        # added one may be the same note.
        renamed = [path for path in base if path not in side and other.get(path) != base[path]]
        # Nor has the result one that is in no base: of several bases only what all have counts.
        is_gone = bool(other.keys() - base.keys() - side.keys() - result.keys())
        damages += [
            MergeDamage(DamageKind.MIXED, "", path, side[path])
            for path in added
            if not (renamed or is_gone) and path in result and result[path] != side[path]
        ]
        damages += [
            MergeDamage(DamageKind.LOST, "", path, other[path])
            for path in renamed
            if not added and path in other and path not in result
        ]
    return damages
