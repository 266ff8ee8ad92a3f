"""Which files of the three trees of a merge are versions of one note, by id and never by path; and
which notes a merge on a server, which knows no attributes, has lost or mixed.

A file without an id is known by its path. Events, briefings and people's own notes are no records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from cortex.core.model.layout import BRIEFINGS_FOLDER, is_among_briefings, is_event_path
from cortex.core.model.note_status import is_named_after
from cortex.core.model.record import RECORD_TYPES
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

_RECORD_ID_RE = lazy_re(r"[a-z0-9-]{1,60}-[a-z2-7]{6}")
_GIVEN_PATH_RE = lazy_re(r"(?:.*/)?(?:records|sessions)/")
# What clouds put behind a name: " (Ana's conflicted copy 2026-11-20)", " (1)", " 2",
# ".sync-conflict-20261120-101010-ABC1234".
_COPY_MARK_RE = lazy_re(r"(?: \([^()]+\)|[._](?:sync-)?conflict-[^._]+| \d{1,2})$")

Tree: TypeAlias = Mapping[str, bytes]  # vault path -> text; no entry where there is no file


class MergeSides(NamedTuple):
    """The three trees of a merge, reduced to the notes that differ or are unmerged."""

    base: Tree
    ours: Tree
    theirs: Tree


class NoteFile(NamedTuple):
    """A file of a tree."""

    path: str
    data: bytes


class NoteVersions(NamedTuple):
    """One note on each side; None where a side does not have it."""

    id: str  # empty for a note without one
    base: NoteFile | None
    ours: NoteFile | None
    theirs: NoteFile | None

    def paths(self) -> set[str]:
        """Every path at which it lies on some side."""
        return {file.path for file in self[1:] if file}

    def texts(self) -> tuple[bytes | None, bytes | None, bytes | None]:
        """Its text in base, ours and theirs."""
        base, ours, theirs = (file.data if file else None for file in self[1:])
        return base, ours, theirs

    def merged_path(self) -> str:
        """Where it lies once both sides' versions are merged: where the side that moved it put it.
        Where both moved it, or added it in two places, see `preferred_path`."""
        assert self.ours is not None
        assert self.theirs is not None
        ours, theirs = self.ours.path, self.theirs.path
        if ours == theirs:
            return ours
        if self.base and self.base.path in (ours, theirs):
            return theirs if self.base.path == ours else ours
        return preferred_path(self.id, {ours: self.ours.data, theirs: self.theirs.data})


class LostNote(NamedTuple):
    """A note that is not in a merge as its sides give it."""

    id: str
    path: str  # where the side has it that added or changed it
    data: bytes  # as that side has it
    merged: bytes | None  # the text in the merge; None if no file has the note
    deleted_path: str = ""  # where the other side has deleted it: git asks, if it sees a deletion
    is_mixed: bool = True  # what the merge has changed in it is what a side changed in another note


def versions_by_note(*trees: Tree) -> dict[str, NoteVersions]:
    """The versions of each record and session in base, ours and theirs, by a key that begins with
    its id. Where a side has two files with one id, each path is a note of its own. A file in
    Cortex's folders that has no id belongs to the note that has this path in another tree, else to
    one of its own (key `\\0PATH`). Events, briefings and people's own notes are left out."""
    versions: dict[str, NoteVersions] = {}
    for key, sides in _group_by_note(*trees).items():
        id_ = key.partition("\0")[0]
        if max(map(len, sides)) <= 1:
            versions[key] = NoteVersions(id_, *(files[0] if files else None for files in sides))
            continue
        for path in {file.path for files in sides for file in files}:
            at = [next((file for file in files if file.path == path), None) for files in sides]
            versions[f"{key}\0{path}"] = NoteVersions(id_, *at)
    return versions


def _group_by_note(*trees: Tree) -> dict[str, tuple[list[NoteFile], ...]]:
    """The files of each note in each tree."""
    ids = [
        {
            path: note_id(data)
            for path, data in tree.items()
            if not is_event_path(path) and not is_briefing(path, data)
        }
        for tree in trees
    ]
    grouped: dict[str, tuple[list[NoteFile], ...]] = {}
    for number, tree in enumerate(trees):
        for path in sorted(ids[number]):
            if not any(path in tree and is_cortex_note(path, tree[path]) for tree in trees):
                continue
            key = ids[number][path] or next(
                (id_by_path[path] for id_by_path in ids if id_by_path.get(path)), f"\0{path}"
            )
            files = grouped.setdefault(key, tuple([] for _ in trees))
            files[number].append(NoteFile(path, tree[path]))
    return grouped


def preferred_path(id_: str, texts: Tree) -> str:
    """Which of the paths of one note stays: one that a person chose before one that Cortex gave,
    and that before a copy of it (`ID 1.md`); then that of the version that was updated last; then
    the greatest. The same on every clone, in whatever order versions meet."""

    def rank(path: str) -> tuple[int, str, str]:
        stem = stem_of(path)
        given = is_given_path(path) and is_named_after(stem, id_)
        copied = bool(id_) and (stem.startswith(f"{id_} ") or split_copy_name(stem)[1])
        note = notes.read(texts[path])
        last_change = note.get("updated") or note.get("created")
        return 0 if copied else 1 if given else 2, last_change, path

    return max(texts, key=rank)


def split_copy_name(stem: str) -> tuple[str, bool]:
    """The name of the note that `stem` is a copy of by its form, else empty; and whether that is
    certain, as with a conflict and its date."""
    found = _COPY_MARK_RE.search(stem)
    mark = found[0] if found else ""
    is_conflict = "onfli" in mark.lower()  # conflict, conflit, Konflikt
    if not is_conflict and not mark.strip(" ()").isdigit():
        return "", False
    return stem.removesuffix(mark), is_conflict and sum(map(str.isdigit, mark)) >= len("20261120")


def is_cortex_note(path: str, data: bytes) -> bool:
    """True if Cortex may merge a note: it lies in our folders, or is a record moved elsewhere."""
    return path.startswith(("records/", "sessions/")) or (
        path.endswith(".md") and is_record(notes.read(data))
    )


def is_given_path(path: str) -> bool:
    """True if a note lies where Cortex writes records and sessions."""
    return _GIVEN_PATH_RE.match(path) is not None


def is_record(note: Note) -> bool:
    """True if a note is one of Cortex's records or sessions, wherever it lies."""
    type_ = note.get("type")
    return bool(
        _RECORD_ID_RE.fullmatch(note.get("id"))
        and (type_ in RECORD_TYPES or type_ == "session")
        and note.get("created")
    )


def is_briefing(path: str, data: bytes) -> bool:
    """True if this is a page that Cortex generates."""
    return path.startswith(f"{BRIEFINGS_FOLDER}/") or (
        is_among_briefings(path) and notes.read(data).get("type") == "briefing"
    )


def has_own_id(path: str, data: bytes) -> bool:
    """True if a file holds the note that it is named after."""
    return note_id(data) == stem_of(path)


@lru_cache(maxsize=1024)  # a merge asks for each of its notes again and again
def note_id(data: bytes) -> str:
    """The id in a note's frontmatter; empty if it has none."""
    return notes.read(data).get("id")


def stem_of(path: str) -> str:
    """The file name of a path, without `.md`."""
    return path.rpartition("/")[2].removesuffix(".md")


def find_lost(sides: MergeSides, result: Tree) -> Iterator[LostNote]:
    """Yield the records and sessions that only one side added or changed, if the merge's result has
    lost that side's text. `sides` and `result` need only the files that differ."""
    merged_texts: dict[str, list[bytes]] = {}
    for data in result.values():
        merged_texts.setdefault(note_id(data), []).append(data)
    for versions in versions_by_note(*sides).values():
        base, ours, theirs = versions.texts()
        kept = versions.ours if theirs == base or theirs is None else versions.theirs
        is_changed_once = base in (ours, theirs) or None in (ours, theirs)
        if not versions.id or kept is None or kept.data == base or not is_changed_once:
            continue
        texts = merged_texts.get(versions.id, [])
        if not texts:
            gone = versions.base.path if versions.base and None in (ours, theirs) else ""
            yield LostNote(versions.id, *kept, None, gone)
        elif kept.data not in texts and (
            mixed := _share_of_other_notes(kept.data, texts[0], sides, versions.id)
        ):
            yield LostNote(versions.id, *kept, texts[0], is_mixed=mixed == 1)


def _share_of_other_notes(own: bytes, merged: bytes, sides: MergeSides, id_: str) -> float:
    """The share, from 0 to 1, of a merge's changes to a note that one side made to another note. It is
    0 if a person wrote the changes while merging."""
    changed = _changed_lines(own, merged)
    of_others = (
        _changed_lines(sides.base.get(path, b""), data)
        for side in sides[1:]
        for path, data in side.items()
        if note_id(data) != id_ and is_cortex_note(path, data)
    )
    return max((len(changed & other) for other in of_others), default=0) / (len(changed) or 1)


def _changed_lines(before: bytes, after: bytes) -> set[tuple[bool, bytes]]:
    """The lines that were added (True) or removed."""
    old, new = set(before.splitlines()), set(after.splitlines())
    return {(True, line) for line in new - old} | {(False, line) for line in old - new}
