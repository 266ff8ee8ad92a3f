"""What to do about a merge: its input, the decisions on notes, and the resulting actions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TypeAlias

from cortex.core.merge.note_versions import MergeSides, note_id, stem_of
from cortex.core.model.note_status import is_named_after
from cortex.core.model.problem import InvalidInputError
from cortex.core.notes import note as notes
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import short_hash
from cortex.core.text.value import NamedTuple

_FILE_NAME_RE = lazy_re(r"[a-z0-9][a-z0-9._-]{0,150}")

# (base, ours, theirs) -> the merged bytes, and whether nothing is left for a person to decide
MergeFunction: TypeAlias = Callable[[bytes, bytes, bytes], tuple[bytes, bool]]


class UnmergedPath(NamedTuple):
    """A path that git could not merge."""

    path: str
    work_tree_text: bytes | None
    is_regular_file: bool = True  # a regular file of the vault on every side, no link
    ids: frozenset[str] = frozenset()  # of the versions that git would have merged here
    # These versions, some of them merged by git or a driver, and what git wrote into the file.
    staged_texts: frozenset[bytes] = frozenset()


class OpenConflict(NamedTuple):
    """What was left to a person at a path: digests of what stood there and what we wrote there."""

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
    # path -> whose the version of the other clone is, as part of a file's name; None if unknown
    name_other: Callable[[str], str] | None = None
    is_other_ours: bool = False  # git calls that version ours, as in a rebase


class MergeOutcome(NamedTuple):
    """Everything to do, in order."""

    actions: tuple[WriteFile | RemoveFile | AskPerson, ...]
    resolved: tuple[MergeResolution, ...]


class NoteDecision(NamedTuple):
    """Where one note is to lie and with which text; the paths that it leaves."""

    id: str
    path: str
    data: bytes
    removed_paths: frozenset[str] = frozenset()
    message: str = ""
    ask_reason: str = ""  # why it is left to a person


class MergePlan:
    """Collects decisions on notes and actions on paths."""

    def __init__(self, sides: MergeSides, context: MergeContext) -> None:
        self.sides = sides
        self.context = context
        self._decisions: dict[str, NoteDecision] = {}  # by the path at which the note is to lie
        self._actions: list[WriteFile | RemoveFile | AskPerson] = []
        self._resolved: list[MergeResolution] = []

    def ask(self, path: str, reason: str, removed_paths: tuple[str, ...] = ()) -> None:
        """Leave a path to a person as it is."""
        self._actions.append(AskPerson(path, reason, None, removed_paths))

    def write(self, path: str, data: bytes) -> None:
        self._actions.append(WriteFile(path, data))

    def remove(self, *paths: str) -> None:
        self._actions += map(RemoveFile, paths)

    def add_message(self, path: str, what: str) -> None:
        self._resolved.append(MergeResolution(path, what))

    def decide(self, one: NoteDecision) -> None:
        """Take a decision. Of two notes that come to have one path, one gets another name."""
        first = self._decisions.get(one.path)
        if first is None:
            self._decisions[one.path] = one
            return
        stays, goes = sorted(
            (first, one),
            key=lambda each: (
                not is_named_after(stem_of(each.path), each.id),
                each.id == "",
                each.id,
                each.data,
            ),
        )
        target = self.free_path(one.path, goes.id, goes.data, self._decisions)
        self._decisions[one.path] = stays._replace(message=_TWO_NOTES.format(target))
        data = goes.data if goes.id else with_id(goes.data, stem_of(target))
        self._decisions[target] = goes._replace(path=target, data=data, message="")

    def free_path(self, path: str, id_: str, data: bytes, at: Mapping[str, object]) -> str:
        """A path beside `path` for a note: named by its own id, else by a hash of its text."""
        folder = path.rpartition("/")[0]
        mark = short_hash(sha256_hex(data), 10)
        name = id_ if _FILE_NAME_RE.fullmatch(id_) else f"{stem_of(path)}-other-{mark}"
        target = f"{folder}/{name}.md" if folder else f"{name}.md"
        if target == path or target in at or self.context.is_taken(target):
            target = f"{target.removesuffix('.md')}-{mark}.md"
        return target

    def write_second_text(self, path: str, data: bytes) -> str:
        """Write an event's second text beside its path, under a new id. Returns the message."""
        target = second_text_path(path, data)
        self.write(target, with_id(data, stem_of(target)))
        return _TWO_NOTES.format(target)

    def outcome(self) -> MergeOutcome:
        """The actions, those that follow from the decisions last."""
        for one in self._decisions.values():
            removed = sorted(path for path in one.removed_paths if path not in self._decisions)
            if one.ask_reason:
                self._actions.append(AskPerson(one.path, one.ask_reason, one.data, tuple(removed)))
                continue
            self.write(one.path, one.data)
            self.remove(*removed)
            if one.message:
                self.add_message(one.path, one.message)
        return MergeOutcome(tuple(self._actions), tuple(self._resolved))


def second_text_path(path: str, data: bytes) -> str:
    """Where the second text of an event lies that was captured twice under one id."""
    return f"{path.removesuffix('.md')}-other-{short_hash(sha256_hex(data), 10)}.md"


_TWO_NOTES = "two notes had this name; the other is {} now"


def with_id(data: bytes, id_: str) -> bytes:
    """The note with another id, so that no id means two notes; itself if it has none."""
    if not note_id(data):
        return data
    try:
        return notes.write(notes.set_field(notes.read(data), "id", [f"id: {id_}"]))
    except InvalidInputError:
        return data


def sha256_hex(data: bytes | None) -> str:
    """SHA-256 of a text in hex; empty for None."""
    return "" if data is None else hashlib.sha256(data).hexdigest()
