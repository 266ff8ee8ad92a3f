"""Resolve what git could not merge, note by note. Pure: versions in, actions out.

Git pairs deleted and added files by likeness, so the versions that it has for one path may be
versions of two notes. Here the versions of a note are found by its id; its path only says where it
lies. Events are immutable, briefings are regenerated, records and sessions merge by field. What
only a person can decide is left to them, and nothing that stands in either version is dropped.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from cortex.core.briefing import pages
from cortex.core.merge.body import marked_conflicts
from cortex.core.merge.fields import CONFLICTS_KEY
from cortex.core.merge.merge_plan import (
    MergeContext,
    MergeOutcome,
    MergePlan,
    NoteDecision,
    OpenConflict,
    UnmergedPath,
    sha256_hex,
)
from cortex.core.merge.note_versions import (
    MergeSides,
    NoteFile,
    NoteVersions,
    has_own_id,
    is_briefing,
    is_given_path,
    stem_of,
    versions_by_note,
)
from cortex.core.model.layout import is_event_path
from cortex.core.model.problem import InvalidInputError
from cortex.core.notes import note as notes

# Where an event lies: of several places the last one stays.
_EVENT_FOLDERS = ("inbox/pending/", "inbox/failed/", "events/")
_BOTH_CHANGED = "both sides changed the same lines"
TAKEN = "taken as you mended it"
_ADDED_TWICE = "was added on both sides; merged into one note"
_KEPT_ONCE = "one note is kept, with the changes of both"


def plan_resolution(
    unmerged: Sequence[UnmergedPath], sides: MergeSides, context: MergeContext
) -> MergeOutcome:
    """Decide on every path that git could not merge, and on what was left to a person earlier."""
    plan = MergePlan(sides, context)
    versions = versions_by_note(*sides)
    keys_at: dict[str, list[str]] = {}  # by path: the notes that lie there on some side
    for key, note in versions.items():
        for path in note.paths():
            keys_at.setdefault(path, []).append(key)
    todo = {one.path: one for one in unmerged}
    for path, open_ in context.open_conflicts.items():
        _take_manual_resolution(plan, path, open_, todo)
    # A note that git took for another one is decided as well, though git has no conflict at its own
    # path.
    keys = {id_ for one in todo.values() for id_ in one.ids if id_ in versions}
    event_ids = {stem_of(path) for tree in sides for path in tree if is_event_path(path)}
    events: dict[str, list[str]] = {}
    for path, one in todo.items():
        if not one.is_regular_file:
            why = "it is a link or a folder on one side: git add what should stay, or git rm it"
            plan.ask(path, why)
        elif any(is_briefing(path, tree[path]) for tree in sides if path in tree):
            _resolve_briefing(plan, path)
        elif is_event_path(path):
            events.setdefault(stem_of(path), []).append(path)
        elif path in keys_at:
            keys.update(keys_at[path])
        elif one.ids and one.ids <= versions.keys() | event_ids:
            plan.remove(path)  # a path that git made up; its notes have paths of their own
            events |= {id_: events.get(id_, []) for id_ in one.ids & event_ids}
        elif path in sides.base and path not in sides.ours and path not in sides.theirs:
            # A note of a person's own that both renamed: its new names are paths of their own.
            plan.remove(path)
        else:
            _resolve_foreign_file(plan, one, sides)
    for id_ in sorted(events):
        if decision := _resolve_event(plan, id_, events[id_]):
            plan.decide(decision)
    # Where another note lies, for which git has no conflict: that one is not decided, and stays.
    others = {
        file.path
        for key, note in versions.items()
        for file in (note.ours, note.theirs)
        if file and key not in keys
    }
    for key in sorted(keys):
        if decision := _resolve_record(plan, versions[key], todo, keys_at):
            plan.decide(decision._replace(removed_paths=decision.removed_paths - others))
    return plan.outcome()


def _take_manual_resolution(
    plan: MergePlan, path: str, open_: OpenConflict, todo: dict[str, UnmergedPath]
) -> None:
    """Take what a person made of a note that was left to them; untouched, it is decided anew."""
    unmerged = todo.get(path)
    in_work_tree = plan.context.in_work_tree.get(path)
    is_untouched = sha256_hex(in_work_tree) in (open_.found_digest, open_.written_digest)
    if is_untouched:
        if unmerged or sha256_hex(in_work_tree) == open_.found_digest:
            return
        why = _BOTH_CHANGED  # git had no conflict at this path
    elif in_work_tree is None:
        why = "it is gone: git rm it, or bring it back" if unmerged else ""
    else:
        sides = [tree[path] for tree in plan.sides[1:] if path in tree] if unmerged else []
        new_markers = marked_conflicts(in_work_tree) - marked_conflicts(b"\n".join(sides))
        why = (
            "its markers are still there" if new_markers else _frontmatter_error(path, in_work_tree)
        )
    for each in (*open_.removed_paths, *([] if is_untouched else [path])):
        todo.pop(each, None)
    if why:
        plan.ask(path, why, open_.removed_paths)
        return
    if in_work_tree is not None:
        plan.write(path, without_conflicts_field(in_work_tree))
    plan.remove(*open_.removed_paths)
    plan.add_message(path, TAKEN)


def without_conflicts_field(data: bytes) -> bytes:
    """The note without the field that names what was undecided."""
    note = notes.read(data)
    if CONFLICTS_KEY not in note.fields:
        return data
    try:
        return notes.write(notes.set_field(note, CONFLICTS_KEY, []))
    except InvalidInputError:  # written in a way that cannot be cut out alone: it harms nothing
        return data


def _frontmatter_error(path: str, data: bytes) -> str:
    """What is wrong with the frontmatter of a note of ours; empty if nothing is."""
    problems = notes.read(data).problems if is_given_path(path) else ()
    return next((one.message for one in problems if "frontmatter" in one.message), "")


def _resolve_foreign_file(plan: MergePlan, one: UnmergedPath, sides: MergeSides) -> None:
    path = one.path
    texts = [tree[path] for tree in (sides.ours, sides.theirs) if path in tree]
    if len(texts) > 1 and not path.endswith(".md"):
        _resolve_attachment(plan, path, texts[0], texts[1], one)
    else:
        plan.ask(path, _unmerged_reason(one, sides))


def _unmerged_reason(one: UnmergedPath, sides: MergeSides) -> str:
    """What a person has to do about a file that is not Cortex's to merge."""
    in_base, in_ours, in_theirs = (one.path in tree for tree in sides)
    if marked_conflicts(one.work_tree_text or b""):
        return _BOTH_CHANGED
    if in_base and not (in_ours and in_theirs):
        return "deleted on one side and changed on the other: git add it to keep it, or git rm it"
    if not in_base and in_ours != in_theirs:
        return "renamed on one side, and renamed or deleted on the other: git add keeps it, git rm lets it go"
    return "git cannot merge it: git add what should stay, or git rm it"


def _resolve_briefing(plan: MergePlan, path: str) -> None:
    """Any version will do: it is regenerated before the merge is concluded."""
    base, ours, theirs = (tree.get(path) for tree in plan.sides)
    data = ours or theirs
    if ours is not None and theirs is not None:
        data = pages.merge(base or b"", ours, theirs)
    if data is None:
        plan.remove(path)
        return
    plan.write(path, data)
    plan.add_message(path, "a briefing; regenerated")


def _resolve_event(plan: MergePlan, id_: str, unmerged: Sequence[str]) -> NoteDecision | None:
    """An event stays as it was captured, in one place: normalized before failed before pending. A
    file with its name that holds another id is none of its versions. None when no side has it.

    unmerged: its paths that git could not merge; some of them may be in none of the trees
    """
    files = [
        [
            NoteFile(path, data)
            for path, data in sorted(tree.items())
            if is_event_path(path) and stem_of(path) == id_
        ]
        for tree in plan.sides
    ]
    base, ours, theirs = ([file for file in some if has_own_id(*file)] for some in files)
    here = [*ours, *theirs] or [*files[1], *files[2]]
    paths = {*unmerged, *(file.path for some in files for file in some)}
    if not here:
        plan.remove(*sorted(paths))
        return None
    place = max((file.path for file in here), key=lambda path: (_event_folder_rank(path), path))
    removed = frozenset(paths - {place})
    if _is_failed(place):
        texts = [max(file.data for file in here if file.path == place)]
    else:
        # In the folder of failed events the reason stands in the text.
        whole = _texts_as_captured(base) or _texts_as_captured(here)
        texts = sorted(
            set(whole[:1] if base else whole),
            key=lambda data: (bool(marked_conflicts(data)), sha256_hex(data)),
        )
    if len(texts) > 1:  # captured twice under one id, with two texts
        message = plan.write_second_text(place, texts[1])
    elif others := [file.path for file in here if file.path != place]:
        message = f"was moved to {min(others)} on the other side; an event is kept once"
    elif base and {file.data for file in here} != {texts[0]}:
        message = (
            "an event, changed on one side or both; its first text is kept,"
            " the others are in the history"
        )
    else:
        message = "kept"
    return NoteDecision(id_, place, texts[0], removed, message)


def _texts_as_captured(files: Sequence[NoteFile]) -> list[bytes]:
    return [file.data for file in files if not _is_failed(file.path)]


def _is_failed(path: str) -> bool:
    return "/inbox/failed/" in f"/{path}"


def _event_folder_rank(path: str) -> int:
    ranks = (rank for rank, folder in enumerate(_EVENT_FOLDERS) if f"/{folder}" in f"/{path}")
    return next(ranks, -1)


def _resolve_record(
    plan: MergePlan,
    versions: NoteVersions,
    todo: Mapping[str, UnmergedPath],
    keys_at: Mapping[str, list[str]],
) -> NoteDecision | None:
    """What becomes of one note that git could not merge; None when it is deleted, or waits."""
    id_, base, ours, theirs = versions
    if ours and theirs:
        path = versions.merged_path()
        unmerged = todo.get(path)
        if not path.endswith(".md"):
            _resolve_attachment(plan, path, ours.data, theirs.data, unmerged)
            return None
        if unmerged and ours.path == theirs.path and _is_edited_by_hand(plan, unmerged, versions):
            plan.ask(path, "it was changed by hand meanwhile: git add it if it is as it should be")
            return None
        return _merge_versions(plan, versions)
    kept = ours or theirs
    if kept is None or kept == base:
        plan.remove(*(path for path in sorted(versions.paths()) if len(keys_at[path]) == 1))
        return None
    message = "was deleted on one side and changed on the other; kept" if base else "kept"
    removed = frozenset(versions.paths() - {kept.path})
    return NoteDecision(id_, kept.path, kept.data, removed, message)


def _resolve_attachment(
    plan: MergePlan, path: str, ours: bytes, theirs: bytes, unmerged: UnmergedPath | None
) -> None:
    """Keep both versions of a file that is no note: the one of this clone under its name, the other
    beside it."""
    is_text = path.endswith((".txt", ".markdown"))  # in others markers would break the file
    if is_text and unmerged and marked_conflicts(unmerged.work_tree_text or b""):
        plan.ask(path, _BOTH_CHANGED)
        return
    if plan.context.name_other is None:
        plan.ask(path, "both sides changed it: put the right one there, then git add it")
        return
    mine, other = (theirs, ours) if plan.context.is_other_ours else (ours, theirs)
    stem, ending = posixpath.splitext(path)
    copy = f"{stem} ({plan.context.name_other(path)}){ending}"
    if plan.context.is_taken(copy):
        copy = f"{stem} ({plan.context.name_other(path)} {sha256_hex(other)[:6]}){ending}"
    plan.write(path, mine)
    plan.write(copy, other)
    plan.add_message(path, f"was changed on both sides: yours stays, the other one is {copy}")


def _merge_versions(plan: MergePlan, versions: NoteVersions) -> NoteDecision:
    """Merge both sides' versions of a note into one, and decide on its path."""
    id_, base, ours, theirs = versions
    assert ours is not None
    assert theirs is not None
    path = versions.merged_path()
    base_data = base.data if base else None
    if ours.data == theirs.data or base_data in (ours.data, theirs.data):
        data, is_clean = ours.data if base_data == theirs.data else theirs.data, True
    else:
        data, is_clean = plan.context.merge_note(base_data or b"", ours.data, theirs.data)
    if not is_clean:
        message = ""
    elif ours.path == theirs.path:
        message = "merged by its fields" if base else _ADDED_TWICE
    elif base and base.path in (ours.path, theirs.path):
        message = f"had been moved away from {base.path}; the changes made there went with it"
    else:
        other = theirs.path if ours.path == path else ours.path
        message = f"was renamed to {other} on the other side; {_KEPT_ONCE}"
    removed = frozenset(versions.paths() - {path})
    return NoteDecision(id_, path, data, removed, message, "" if is_clean else _BOTH_CHANGED)


def _is_edited_by_hand(plan: MergePlan, unmerged: UnmergedPath, versions: NoteVersions) -> bool:
    """True if the file in the work tree is no version that git or Cortex can have put there: mended
    between a merge that was killed and this one, it must not be overwritten."""
    in_work_tree = unmerged.work_tree_text
    open_ = plan.context.open_conflicts.get(unmerged.path)
    is_left_to_a_person = open_ and open_.found_digest != open_.written_digest
    if in_work_tree is None or marked_conflicts(in_work_tree) or is_left_to_a_person:
        return False
    base, ours, theirs = (text or b"" for text in versions.texts())
    # Git's own base may be another: none where it takes the base's file for another note's old
    # name, a merged one where there are several.
    merged = {plan.context.merge_note(was, ours, theirs)[0] for was in (base, b"")}
    in_trees = {text for tree in plan.sides for text in tree.values()}
    known = {*merged, *in_trees, *unmerged.staged_texts, base, ours, theirs}
    return in_work_tree.replace(b"\r\n", b"\n") not in {
        text.replace(b"\r\n", b"\n") for text in known
    }
