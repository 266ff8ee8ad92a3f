"""Merge the notes of a vault by their ids, whatever git takes for a rename. Pure: versions in, actions out.

Git pairs deleted and added files by likeness, so the versions that it has for one path may be versions of two notes, and a
merge that it calls clean may have mixed them. Here the versions of a note are found by its id; its path only says where it
lies. Events are immutable, briefings are regenerated, records and sessions merge by field. What only a person can decide
is left to them, and nothing that stands in either version is dropped.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cortex.core.briefing import pages
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import RECORD_TYPES
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.text.strings import short_hash

CORTEX_PATHS = (
    "inbox",
    "events",
    "records",
    "sessions",
    "briefings",
    "cortex.toml",
    ".gitattributes",
    ".cortex-project",
)
CONFLICTS_KEY = (
    "merge_conflicts"  # the field in which the record driver names what it could not decide
)
_EVENT_FOLDERS = (
    "inbox/pending/",
    "inbox/failed/",
    "events/",
)  # where an event lies, the furthest last
_MARKER_LINE_RE = re.compile(rb"^(<{7,} .*|={7,}|>{7,} .*?)\r?$", re.MULTILINE)
_FILE_NAME_RE = re.compile(r"[a-z0-9][a-z0-9._-]{0,150}")
_RECORD_ID_RE = re.compile(r"[a-z0-9-]{1,60}-[a-z2-7]{6}")

# (base, ours, theirs) -> the merged bytes, and whether nothing is left for a person to decide
MergeFunction: TypeAlias = Callable[[bytes, bytes, bytes], tuple[bytes, bool]]
Tree: TypeAlias = Mapping[str, bytes]  # vault path -> text; no entry where there is no file


class MergeSides(NamedTuple):
    """The versions of what is merged: every note that differs between the three trees, and what is unmerged."""

    base: Tree
    ours: Tree
    theirs: Tree


class UnmergedPath(NamedTuple):
    """A path that git could not merge."""

    path: str
    work_tree_text: bytes | None
    is_regular_file: bool = True  # a regular file of the vault on every side, no link
    ids: frozenset[str] = frozenset()  # of the versions that git would have merged here
    staged_texts: frozenset[bytes] = (
        frozenset()
    )  # these versions, some of them merged by git or a driver


class OpenConflict(NamedTuple):
    """What an earlier pass left to a person at a path: digests of what it found there and of what it wrote there."""

    found_digest: str
    written_digest: str
    removed_paths: tuple[str, ...] = ()  # the note's other paths, which go when it is resolved


class WriteFile(NamedTuple):
    """The file at `path` is to hold `data`."""

    path: str
    data: bytes


class RemoveFile(NamedTuple):
    """There is to be no file at `path`."""

    path: str


class AskPerson(NamedTuple):
    """Left to a person. With `data`, that is written there for them to choose from."""

    path: str
    reason: str
    data: bytes | None = None
    removed_paths: tuple[str, ...] = ()


class MergeResolution(NamedTuple):
    """What was decided, for the person to read."""

    path: str
    what: str


class MergeContext(NamedTuple):
    """What is needed beside the versions."""

    merge_note: MergeFunction
    open_conflicts: Mapping[str, OpenConflict] = {}  # by path
    in_work_tree: Mapping[str, bytes | None] = {}  # the texts of these paths as they stand now
    is_taken: Callable[[str], bool] = lambda _path: False


class MergeOutcome(NamedTuple):
    """Everything to do, in order."""

    actions: tuple[WriteFile | RemoveFile | AskPerson, ...]
    resolved: tuple[MergeResolution, ...]


WRONG_EVENT, LOST, MIXED, DUPLICATED, UNREADABLE = (
    "event",
    "gone",
    "mixed",
    "twice",
    "broken",
)  # the kinds of strays
_DAMAGE_TEXTS = {
    WRONG_EVENT: "git took it for another event; its own text is back",
    LOST: "git took it for another note; it is back",
    MIXED: "git mixed it with another note; its own text is back",
    DUPLICATED: "stood in {} too; one file is kept, with the changes of both",
    UNREADABLE: "git had merged its fields line by line; they are merged one by one",
}


class MergeDamage(NamedTuple):
    """A note that a merge has lost (gone), doubled (twice), given text of another one (mixed), or made of two readable ones so
    that it cannot be read (broken); or such an event."""

    kind: str
    id: str
    path: str  # where it belongs
    data: bytes  # what it should say
    wrong_paths: frozenset[str]  # other paths at which it must not stand
    duplicate_paths: str = ""  # of one that stands twice: these paths
    has_copy: bool = False  # a side had it in a second file, which is there still


class _NoteFile(NamedTuple):
    path: str
    data: bytes


class _NoteVersions(NamedTuple):
    """One note on each side; None where a side does not have it."""

    base: _NoteFile | None
    ours: _NoteFile | None
    theirs: _NoteFile | None

    def paths(self) -> set[str]:
        return {file.path for file in self if file}


class _NoteDecision(NamedTuple):
    """Where one note is to lie and with which text; the paths that it leaves."""

    id: str
    path: str
    data: bytes
    removed_paths: frozenset[str]
    message: str
    ask_reason: str = ""  # why it is left to a person


def marked_conflicts(data: bytes) -> Counter[tuple[bytes, bytes]]:
    """The conflicts that git has marked in a text, by their first and last lines. A heading's underline is none."""
    found: Counter[tuple[bytes, bytes]] = Counter()
    opening, parted = b"", False
    for match in _MARKER_LINE_RE.finditer(data) if b"<<<<<<<" in data else ():
        line = match[1]
        if line.startswith(b"<"):
            opening, parted = line, False
        elif line.startswith(b"="):
            parted = bool(opening)
        elif parted:
            found[opening, line] += 1
            opening, parted = b"", False
    return found


def side_of_nested(data: bytes, number: int) -> bytes:
    """The text of one side (stage 2: ours, 3: theirs) out of a version that git itself has merged: of two renames of one
    file git stores their conflict, markers included, as the version of a path. `data` where it is no such version, that
    is, where its conflicts do not hold two notes with different ids."""
    sides: tuple[list[bytes], list[bytes]] = ([], [])
    within: tuple[int, ...] = (0, 1)  # the sides that the present line belongs to
    for line in data.splitlines(keepends=True) if marked_conflicts(data) else ():
        if line.startswith(b"<<<<<<< "):
            within = (0,)
        elif within == (0,) and line.startswith(b"||||||| "):
            within = ()
        elif within in ((0,), ()) and line.rstrip() == b"=======":
            within = (1,)
        elif within == (1,) and line.startswith(b">>>>>>> "):
            within = (0, 1)
        else:
            for side in within:
                sides[side].append(line)
    ours, theirs = (b"".join(lines) for lines in sides)
    ids = note_id(ours), note_id(theirs)
    if not all(ids) or ids[0] == ids[1]:
        return data
    return ours if number == 2 else theirs


def sha256_hex(data: bytes | None) -> str:
    """SHA-256 of a text in hex; empty for None."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def plan_resolution(
    unmerged: Sequence[UnmergedPath], sides: MergeSides, context: MergeContext
) -> MergeOutcome:
    """Decide on every path that git could not merge, and on what an earlier pass left to a person."""
    pass_ = _ResolutionPass(sides, context)
    todo = {one.path: one for one in unmerged}
    for path, open_ in context.open_conflicts.items():
        _take_manual_resolution(pass_, path, open_, todo)
    events: dict[str, list[UnmergedPath]] = {}
    # A note that git took for another one is decided as well, though git has no conflict at its own path.
    keys = dict.fromkeys(
        id_ for one in todo.values() for id_ in sorted(one.ids) if id_ in pass_.versions
    )
    for path, one in todo.items():
        if not one.is_regular_file:
            pass_.actions.append(
                AskPerson(
                    path,
                    "it is a link or a folder on one side: git add what should stay, or git rm it",
                )
            )
        elif path.startswith("briefings/"):
            _resolve_briefing(pass_, path)
        elif is_event_path(path):
            events.setdefault(_stem(path), []).append(one)
        elif here := pass_.keys_at(path):
            keys.update(dict.fromkeys(here))
        elif one.ids and one.ids <= pass_.versions.keys():
            pass_.actions.append(
                RemoveFile(path)
            )  # a place that git has made up; the notes in it have places of their own
        elif path in sides.base and path not in sides.ours and path not in sides.theirs:
            pass_.actions.append(
                RemoveFile(path)
            )  # a note of a person's own that both renamed: its new names are paths of their own
        else:
            pass_.actions.append(AskPerson(path, _unmerged_reason(one, sides)))
    for id_ in sorted(events):
        pass_.add_decision(_resolve_event(pass_, id_, events[id_]))
    for key in sorted(keys):
        pass_.add_decision(_resolve_record(pass_, key, todo))
    pass_.build_actions()
    return pass_.outcome()


def plan_repair(sides: MergeSides, result: Tree, context: MergeContext) -> MergeOutcome:
    """What has to change in the tree that git made of three, so that no note is gone, stands twice, or holds the text of another."""
    pass_ = _ResolutionPass(sides, context)
    found = find_damage(sides, result, context.merge_note)
    leaving = {path for stray in found for path in stray.wrong_paths}
    for stray in found:
        decision = _NoteDecision(
            *stray[1:5], _DAMAGE_TEXTS[stray.kind].format(stray.duplicate_paths)
        )
        here = result.get(stray.path)
        if (
            here is not None
            and stray.kind != WRONG_EVENT
            and stray.path not in leaving
            and stray.id != note_id(here) != ""
        ):
            if any(result[path] == stray.data for path in stray.wrong_paths):
                continue  # its place is taken, and where it is it is whole
            decision = decision._replace(
                path=pass_.free_path(stray.path, stray.id, stray.data, result)
            )
        pass_.add_decision(decision)
    pass_.build_actions()
    return pass_.outcome()


def find_damage(sides: MergeSides, result: Tree, merge: MergeFunction) -> list[MergeDamage]:
    """The notes that are not in the tree that git made of three as their own versions give them.

    `sides` and `result` hold the notes that differ anywhere. A note that one side alone changed must have that side's text;
    one that both changed must be there once; one that a side deleted and the other left alone is gone.
    """
    pass_ = _ResolutionPass(sides, MergeContext(merge))
    by_id = _group_by_note(*sides, result)
    found = []
    alike = []  # notes that both sides have alike and the result has not, with its text: somebody's decision, or another note's lines
    for id_ in sorted({_stem(path) for tree in sides[1:] for path in tree if is_event_path(path)}):
        here = [
            (path, data)
            for path, data in result.items()
            if is_event_path(path) and _stem(path) == id_
        ]
        wrong = any(not _has_own_id(*file) for file in here)
        if (wrong or not here) and (decision := _resolve_event(pass_, id_, gone_is_gone=not wrong)):
            found.append(
                MergeDamage(WRONG_EVENT, id_, decision.path, decision.data, decision.removed_paths)
            )
    for key, (base, ours, theirs, now) in sorted(by_id.items()):
        if max(map(len, (base, ours, theirs))) <= 1:
            versions = _NoteVersions(
                *(files[0] if files else None for files in (base, ours, theirs))
            )
            if stray := _find_note_damage(pass_, key, versions, now) or _find_unreadable_merge(
                pass_, key, versions, now
            ):
                found.append(stray)
            elif (
                ours
                and ours == theirs
                and [ours[0].path] == [file.path for file in now]
                and now[0] != ours[0]
            ):
                alike.append(
                    (
                        MergeDamage(
                            MIXED, note_id(ours[0].data), ours[0].path, ours[0].data, frozenset()
                        ),
                        now[0].data,
                    )
                )
        else:
            found += _find_lost_copies(key, (base, ours, theirs), now)
    gone = [stray for stray in found if stray.kind == LOST]
    found += [
        stray
        for stray, made in alike
        if any(is_mixed_in(one, stray, sides.base, made) for one in gone)
    ]
    return found + _find_personal_note_damage(sides, result)


def _find_lost_copies(
    key: str, sides: Sequence[Sequence[_NoteFile]], now: Sequence[_NoteFile]
) -> Iterator[MergeDamage]:
    """Of a note that a side has in two files, which doctor names: a file that one side edited and the other deleted, if
    what was added in it stands in no file of the note now."""
    before, *changed = ({file.path: file.data for file in files} for files in sides)
    here = {file.path: frozenset(file.data.splitlines()) for file in now}
    for one, other in (changed, changed[::-1]):
        for path in sorted(before.keys() & one.keys() - other.keys() - here.keys()):
            added = set(one[path].splitlines()) - set(before[path].splitlines())
            if added and not any(added <= lines for lines in here.values()):
                id_ = key.partition("\0")[0]
                yield MergeDamage(LOST, id_, path, one[path], frozenset(), has_copy=True)


def is_mixed_in(gone: MergeDamage, mixed: MergeDamage, base: Tree, made: bytes) -> bool:
    """Whether what was changed in a note that is gone was changed in another note instead, of which a merge has made `made`."""
    before = (
        next((data for data in base.values() if note_id(data) == gone.id), b"")
        if gone.id
        else base.get(gone.path, b"")
    )
    was, now, own, result = (
        set(data.splitlines()) for data in (before, gone.data, mixed.data, made)
    )
    if not before:  # of several bases the one that was chosen does not have it
        return bool(result - own) and result - own <= now
    added, removed = now - was - own, (was - now) & own
    return bool(added or removed) and added <= result and not removed & result


class _ResolutionPass:
    """One pass: the versions of every note, and what has been decided so far."""

    def __init__(self, sides: MergeSides, context: MergeContext) -> None:
        self.sides = sides
        self.context = context
        self.decision_by_path: dict[
            str, _NoteDecision
        ] = {}  # by the path at which the note is to lie
        self.actions: list[WriteFile | RemoveFile | AskPerson] = []
        self.resolved: list[MergeResolution] = []
        found = _group_by_note(*sides)
        # Where a side has two files with one id, each path is a note of its own.
        self.versions: dict[str, _NoteVersions] = {}
        for key, files in found.items():
            if max(map(len, files)) <= 1:
                self.versions[key] = _NoteVersions(*(one[0] if one else None for one in files))
                continue
            for path in {file.path for one in files for file in one}:
                at = [next((file for file in one if file.path == path), None) for one in files]
                self.versions[f"{key}\0{path}"] = _NoteVersions(*at)
        self.keys_by_path: dict[str, list[str]] = {}
        for key, versions in self.versions.items():
            for path in versions.paths():
                self.keys_by_path.setdefault(path, []).append(key)

    def keys_at(self, path: str) -> list[str]:
        """The notes that have this path on some side."""
        return self.keys_by_path.get(path, [])

    def add_resolution(self, path: str, what: str) -> None:
        self.resolved.append(MergeResolution(path, what))

    def add_decision(self, one: _NoteDecision | None) -> None:
        """Take a decision. Of two notes that come to have one path, one gets another name."""
        first = self.decision_by_path.get(one.path) if one else None
        if one is None or first is None:
            self.decision_by_path |= {one.path: one} if one else {}
            return
        stays, goes = sorted(
            (first, one),
            key=lambda each: (each.id != _stem(each.path), each.id == "", each.id, each.data),
        )
        target = self.free_path(one.path, goes.id, goes.data, self.decision_by_path)
        self.decision_by_path[one.path] = stays._replace(
            message=f"two notes had this name; the other is {target} now"
        )
        data = goes.data if goes.id else _with_id(goes.data, _stem(target))
        self.decision_by_path[target] = goes._replace(path=target, data=data, message="")

    def build_actions(self) -> None:
        """Turn the decisions into actions."""
        for one in self.decision_by_path.values():
            removes = tuple(
                sorted(path for path in one.removed_paths if path not in self.decision_by_path)
            )
            if one.ask_reason:
                self.actions.append(AskPerson(one.path, one.ask_reason, one.data, removes))
                continue
            self.actions += [WriteFile(one.path, one.data), *(RemoveFile(path) for path in removes)]
            if one.message:
                self.add_resolution(one.path, one.message)

    def free_path(self, path: str, id_: str, data: bytes, at: Mapping[str, object]) -> str:
        """A path beside `path` for a note: named by its own id, else by a hash of its text."""
        folder = path.rpartition("/")[0]
        mark = short_hash(sha256_hex(data), 10)
        name = id_ if _FILE_NAME_RE.fullmatch(id_) else f"{_stem(path)}-other-{mark}"
        target = f"{folder}/{name}.md" if folder else f"{name}.md"
        if target == path or target in at or self.context.is_taken(target):
            target = f"{target.removesuffix('.md')}-{mark}.md"
        return target

    def outcome(self) -> MergeOutcome:
        return MergeOutcome(tuple(self.actions), tuple(self.resolved))


def _take_manual_resolution(
    pass_: _ResolutionPass, path: str, open_: OpenConflict, todo: dict[str, UnmergedPath]
) -> None:
    """Take what a person made of a note that was left to them. Untouched, it is decided anew, with the same outcome."""
    unmerged = todo.get(path)
    now = pass_.context.in_work_tree.get(path)
    if sha256_hex(now) in (open_.found_digest, open_.written_digest):
        if (
            unmerged is None and sha256_hex(now) == open_.written_digest != open_.found_digest
        ):  # git had no conflict at this path
            pass_.actions.append(
                AskPerson(path, "both sides changed the same lines", None, open_.removed_paths)
            )
            for each in open_.removed_paths:
                todo.pop(each, None)
        return
    todo.pop(path, None)
    for each in open_.removed_paths:
        todo.pop(each, None)
    if now is None:
        why = "" if unmerged is None else "it is gone: git rm it, or bring it back"
    else:
        texts = [tree[path] for tree in pass_.sides[1:] if path in tree] if unmerged else []
        why = (
            "its markers are still there"
            if marked_conflicts(now) - marked_conflicts(b"\n".join(texts))
            else _frontmatter_error(path, now)
        )
    if why:
        pass_.actions.append(AskPerson(path, why, None, open_.removed_paths))
        return
    if now is not None:
        pass_.actions.append(WriteFile(path, without_conflicts_field(now)))
    pass_.actions += [RemoveFile(each) for each in open_.removed_paths]
    pass_.add_resolution(path, "taken as you mended it")


def without_conflicts_field(data: bytes) -> bytes:
    """The note without the field that names what was undecided."""
    note = notes.read(data)
    if CONFLICTS_KEY not in note.fields:
        return data
    try:
        return notes.write(notes.set_field(note, CONFLICTS_KEY, []))
    except InvalidInputError:  # written in a way that cannot be cut out alone: it harms nothing
        return data


def _unmerged_reason(one: UnmergedPath, sides: MergeSides) -> str:
    """What a person has to do about a file that is not Cortex's to merge."""
    if marked_conflicts(one.work_tree_text or b""):
        return "both sides changed the same lines"
    if one.path in sides.base and not (one.path in sides.ours and one.path in sides.theirs):
        return "deleted on one side and changed on the other: git add it to keep it, or git rm it"
    if one.path not in sides.base and (one.path in sides.ours) != (one.path in sides.theirs):
        return "both sides renamed this note: git add the name that stays, git rm the other"
    return "git cannot merge it: git add what should stay, or git rm it"


def _resolve_briefing(pass_: _ResolutionPass, path: str) -> None:
    """Any version will do: it is regenerated before the merge is concluded."""
    base, ours, theirs = (tree.get(path) for tree in pass_.sides)
    data = (
        pages.merge(base or b"", ours, theirs)
        if ours is not None and theirs is not None
        else ours or theirs
    )
    pass_.actions.append(RemoveFile(path) if data is None else WriteFile(path, data))
    if data is not None:
        pass_.add_resolution(path, "a briefing; regenerated")


def _resolve_event(
    pass_: _ResolutionPass,
    id_: str,
    unmerged: Sequence[UnmergedPath] = (),
    *,
    gone_is_gone: bool = False,
) -> _NoteDecision | None:
    """An event stays as it was captured, in one place: normalized before failed before pending. A file with its name that
    holds another id is none of its versions. None when no side has it; with `gone_is_gone` also when one side deleted what
    the other left alone.

    unmerged: its paths that git could not merge; some of them may be in none of the trees
    """
    found = [
        [
            _NoteFile(path, data)
            for path, data in sorted(tree.items())
            if is_event_path(path) and _stem(path) == id_
        ]
        for tree in pass_.sides
    ]
    base, ours, theirs = ([file for file in files if _has_own_id(*file)] for files in found)
    if gone_is_gone and base and [] in (ours, theirs) and base in (ours, theirs):
        return None
    here = [*ours, *theirs] or [*found[1], *found[2]]
    paths = frozenset(file.path for files in found for file in files) | {
        one.path for one in unmerged
    }
    if not here:
        pass_.actions += [RemoveFile(path) for path in sorted(paths)]
        return None
    place = max((file.path for file in here), key=lambda path: (_event_folder_rank(path), path))
    if place.startswith(_EVENT_FOLDERS[1]):
        texts = [max(file.data for file in here if file.path == place)]
    else:
        whole = [file.data for file in base if _event_folder_rank(file.path) != 1] or [
            file.data for file in here if _event_folder_rank(file.path) != 1
        ]
        texts = sorted(
            set(whole[:1] if base else whole),
            key=lambda data: (bool(marked_conflicts(data)), sha256_hex(data)),
        )
    for other in texts[1:]:  # captured twice under one id, with two texts
        target = pass_.free_path(place, "", other, {})
        pass_.actions.append(WriteFile(target, _with_id(other, _stem(target))))
        return _NoteDecision(
            id_,
            place,
            texts[0],
            paths - {place},
            f"two notes had this name; the other is {target} now",
        )
    if len({file.path for file in here}) > 1:
        what = f"was moved to {min(file.path for file in here if file.path != place)} on the other side; an event is kept once"
    elif base and {file.data for file in here} != {texts[0]}:
        what = "an event, changed on one side or both; its first text is kept, the others are in the history"
    else:
        what = "kept"
    return _NoteDecision(id_, place, texts[0], paths - {place}, what)


def _resolve_record(
    pass_: _ResolutionPass, key: str, todo: Mapping[str, UnmergedPath]
) -> _NoteDecision | None:
    """What becomes of one note that git could not merge; None when it is gone, or waits as it is."""
    versions = pass_.versions[key]
    base, ours, theirs = versions
    id_ = key.partition("\0")[0]
    if ours and theirs:
        path = _choose_path(id_, base, ours, theirs)
        unmerged = todo.get(path)
        if not path.endswith(".md"):
            pass_.actions.append(
                AskPerson(path, "both sides changed it: put the right one there, then git add it")
            )
            return None
        if unmerged and ours.path == theirs.path and _is_edited_by_hand(pass_, unmerged, versions):
            pass_.actions.append(
                AskPerson(
                    path, "it was changed by hand meanwhile: git add it if it is as it should be"
                )
            )
            return None
        return _merge_versions(pass_, id_, path, versions)
    kept = ours or theirs
    if kept is None or kept == base:
        pass_.actions += [
            RemoveFile(path) for path in sorted(versions.paths()) if len(pass_.keys_at(path)) == 1
        ]
        return None
    what = "was deleted on one side and changed on the other; kept" if base else "kept"
    return _NoteDecision(id_, kept.path, kept.data, frozenset(versions.paths() - {kept.path}), what)


def _merge_versions(
    pass_: _ResolutionPass, id_: str, path: str, versions: _NoteVersions
) -> _NoteDecision:
    """One note of what both sides made of it."""
    base, ours, theirs = versions
    assert ours is not None
    assert theirs is not None
    was = base.data if base else None
    if ours.data == theirs.data or was in (ours.data, theirs.data):
        data, clean = ours.data if was == theirs.data else theirs.data, True
    else:
        data, clean = pass_.context.merge_note(was or b"", ours.data, theirs.data)
    removes = frozenset(versions.paths() - {path})
    if not clean:
        return _NoteDecision(
            id_, path, data, removes, "", ask_reason="both sides changed the same lines"
        )
    if ours.path == theirs.path:
        what = "merged by its fields" if base else "was added on both sides; merged into one note"
    elif base and base.path in (ours.path, theirs.path):
        what = f"had been moved away from {base.path}; the changes made there went with it"
    else:
        other = next(file.path for file in (ours, theirs) if file.path != path)
        what = (
            f"was renamed to {other} on the other side; one note is kept, with the changes of both"
        )
    return _NoteDecision(id_, path, data, removes, what)


def _choose_path(id_: str, base: _NoteFile | None, ours: _NoteFile, theirs: _NoteFile) -> str:
    """Where a note lies that both sides have: where the side that moved it put it. Where both moved it, or added it in two
    places, see `preferred_path`."""
    if ours.path == theirs.path:
        return ours.path
    if base and base.path in (ours.path, theirs.path):
        return theirs.path if base.path == ours.path else ours.path
    return preferred_path(id_, {file.path: file.data for file in (ours, theirs)})


def preferred_path(id_: str, texts: Tree) -> str:
    """Which of the paths of one note stays: one that a person chose before one that Cortex gave, and that before a copy of it
    (`ID 1.md`); then that of the version that was updated last; then the greatest. The same on every clone, in whatever
    order versions meet."""

    def rank(path: str) -> tuple[int, str, str]:
        given = path.startswith(("records/", "sessions/")) and _stem(path) == id_
        copied = bool(id_) and _stem(path).startswith(f"{id_} ")
        return (0 if copied else 1 if given else 2), _updated_time(texts[path]), path

    return max(texts, key=rank)


def _find_note_damage(
    pass_: _ResolutionPass, key: str, versions: _NoteVersions, now: Sequence[_NoteFile]
) -> MergeDamage | None:
    """How one note came out of a merge otherwise than its versions give it; None when it is as it should be."""
    base, ours, theirs = versions
    id_ = key.partition("\0")[0]
    one, other = (file.data if file else None for file in (ours, theirs))
    was = base.data if base else None
    if len(now) != 1:
        if not (ours or theirs) or (
            base and None in (ours, theirs) and base in (ours, theirs) and not now
        ):
            return None
        if ours and theirs:
            decision = _merge_versions(pass_, id_, _choose_path(id_, base, ours, theirs), versions)
        else:
            kept = next(file for file in (ours, theirs) if file)
            decision = _NoteDecision(id_, kept.path, kept.data, frozenset(), "")
        leaves = frozenset(file.path for file in now) - {decision.path}
        return MergeDamage(
            DUPLICATED if now else LOST,
            id_,
            decision.path,
            decision.data,
            leaves,
            ", ".join(sorted(leaves)),
        )
    (file,) = now
    in_the_way = file.path not in versions.paths() and any(
        file.path in tree for tree in pass_.sides
    )  # another note belongs there
    # What both made of it alike may have been changed since; only git puts markers into it, for two notes of one name.
    is_right = (
        not marked_conflicts(file.data) - marked_conflicts(one or b"")
        if one == other
        else was not in (one, other)
    )
    if not in_the_way and is_right:
        return None  # or both changed it: then it is as git and its drivers merged it
    wanted: bytes | None = file.data
    if ours and theirs:
        path = _choose_path(id_, base, ours, theirs)
        if one == other or was in (one, other):
            wanted = other if one == was else one
    elif (only := ours or theirs) and only != base:
        path, wanted = only.path, only.data
    else:
        return None
    if wanted is None or (file.data == wanted and not in_the_way):
        return None
    return MergeDamage(MIXED, id_, path, wanted, frozenset({file.path} - {path}))


def _find_unreadable_merge(
    pass_: _ResolutionPass, key: str, versions: _NoteVersions, now: Sequence[_NoteFile]
) -> MergeDamage | None:
    """A note that both sides changed, whose frontmatter git has merged line by line into what cannot be read: a field twice."""
    base, ours, theirs = versions
    if ours is None or theirs is None or len(now) != 1:
        return None
    changed = {ours.data, theirs.data} - {base.data if base else b""}
    if (
        len(changed) < 2
        or now[0].data in changed
        or now[0].path != _choose_path(key.partition("\0")[0], base, ours, theirs)
    ):
        return None
    if not notes.read(now[0].data).problems or any(notes.read(data).problems for data in changed):
        return None
    decision = _merge_versions(pass_, key.partition("\0")[0], now[0].path, versions)
    return (
        None
        if decision.ask_reason
        else MergeDamage(UNREADABLE, decision.id, decision.path, decision.data, frozenset())
    )


def _find_personal_note_damage(sides: MergeSides, result: Tree) -> list[MergeDamage]:
    """People's own notes, which have no ids, that git took for records or records for them. What git takes for one of their own
    notes renamed to another is left as it is."""
    own = [
        {path: data for path, data in tree.items() if _is_personal_note(path, data)}
        for tree in sides
    ]
    base = own[0]
    found = []
    for side, other in ((own[1], own[2]), (own[2], own[1])):
        added = [path for path in side if path not in sides.base and path not in other]
        # A note of the base that this side does not have, and the other has changed or moved: an added one may be the same note.
        renamed = [path for path in base if path not in side and other.get(path) != base[path]]
        found += [
            MergeDamage(MIXED, "", path, side[path], frozenset())
            for path in added
            if not renamed and path in result and result[path] != side[path]
        ]
        found += [
            MergeDamage(LOST, "", path, other[path], frozenset())
            for path in renamed
            if not added and path in other and path not in result
        ]
    return found


def _is_personal_note(path: str, data: bytes) -> bool:
    return (
        path.endswith(".md")
        and path.partition("/")[0] not in CORTEX_PATHS
        and not is_cortex_note(path, data)
    )


def _is_edited_by_hand(
    pass_: _ResolutionPass, unmerged: UnmergedPath, versions: _NoteVersions
) -> bool:
    """True if the file in the work tree is no version that git or Cortex can have put there: somebody has mended it between
    a merge that was killed and this one, and it must not be overwritten."""
    now = unmerged.work_tree_text
    open_ = pass_.context.open_conflicts.get(unmerged.path)
    if (
        now is None
        or marked_conflicts(now)
        or (open_ and open_.found_digest != open_.written_digest)
    ):
        return False
    base, ours, theirs = (file.data if file else b"" for file in versions)
    # Git's own base may be another: none where it takes the base's file for another note's old name, a merged one where there are several.
    made = {pass_.context.merge_note(was, ours, theirs)[0] for was in (base, b"")}
    known = {
        *made,
        *unmerged.staged_texts,
        *(text for tree in pass_.sides for text in tree.values()),
        base,
        ours,
        theirs,
    }
    return now.replace(b"\r\n", b"\n") not in {text.replace(b"\r\n", b"\n") for text in known}


def _group_by_note(*trees: Tree) -> dict[str, tuple[list[_NoteFile], ...]]:
    """The files of each record or session in each tree: id -> its files, one list for each tree. A file in Cortex's folders
    that has no id belongs to the note that has this path in another tree, else to one of its own (key `\\0PATH`). Events,
    briefings and people's own notes are left out."""
    ids = [
        {
            path: note_id(data)
            for path, data in tree.items()
            if not is_event_path(path) and not path.startswith("briefings/")
        }
        for tree in trees
    ]
    ours = {
        path
        for tree, named in zip(trees, ids, strict=True)
        for path in named
        if is_cortex_note(path, tree[path])
    }
    found: dict[str, tuple[list[_NoteFile], ...]] = {}
    for number, tree in enumerate(trees):
        for path in sorted(ours & tree.keys()):
            key = ids[number][path] or next(
                (named[path] for named in ids if named.get(path)), f"\0{path}"
            )
            found.setdefault(key, tuple([] for _ in trees))[number].append(
                _NoteFile(path, tree[path])
            )
    return found


def is_cortex_note(path: str, data: bytes) -> bool:
    """Whether a note is Cortex's to merge: it lies in our folders, or it is a record that a person moved elsewhere."""
    return path.startswith(("records/", "sessions/")) or (
        path not in CORTEX_PATHS and path.endswith(".md") and is_record(notes.read(data))
    )


def is_record(note: Note) -> bool:
    """Whether a note is one of Cortex's records or sessions, wherever in the vault a person keeps it."""
    type_ = note.get("type")
    return bool(
        _RECORD_ID_RE.fullmatch(note.get("id"))
        and (type_ in RECORD_TYPES or type_ == "session")
        and note.get("created")
    )


def is_record_file_name(name: str) -> bool:
    """Whether a file's name is an id as Cortex gives them: then two files with one id have one name."""
    return bool(_RECORD_ID_RE.fullmatch(name.removesuffix(".md")))


def is_event_path(path: str) -> bool:
    """Whether this is where events lie, normalized or not."""
    return path.startswith(("events/", "inbox/"))


def _has_own_id(path: str, data: bytes) -> bool:
    """Whether an event's file holds the event of that name."""
    return note_id(data) == _stem(path)


def _event_folder_rank(path: str) -> int:
    return next(
        (number for number, folder in enumerate(_EVENT_FOLDERS) if path.startswith(folder)), -1
    )


def _with_id(data: bytes, id_: str) -> bytes:
    """The note with another id, so that no id means two notes."""
    if not note_id(data):
        return data
    try:
        return notes.write(notes.set_field(notes.read(data), "id", [f"id: {id_}"]))
    except InvalidInputError:
        return data


def _frontmatter_error(path: str, data: bytes) -> str:
    if not path.startswith(("records/", "sessions/")):
        return ""
    return next(
        (
            problem.message
            for problem in notes.read(data).problems
            if "frontmatter" in problem.message
        ),
        "",
    )


def note_id(data: bytes) -> str:
    return notes.read(data).get("id")


def _updated_time(data: bytes) -> str:
    note = notes.read(data)
    return note.get("updated") or note.get("created")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")
