"""What to do with each path that git could not merge. Decided here from the versions alone, carried out elsewhere.

Events are immutable, briefings are regenerated, a record is one note by its id whatever its path. What only a person
can decide is left to them, and nothing that stands in either version is ever dropped.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cortex.core import briefing, note as notes
from cortex.core.note import Note
from cortex.core.problem import Invalid
from cortex.core.record import RECORD_TYPES
from cortex.core.text import short_hash

OURS = ("inbox", "events", "records", "sessions", "briefings", "cortex.toml", ".gitattributes", ".cortex-project")
CONFLICTS = "merge_conflicts"  # the field in which the record driver names what it could not decide
_LINE = re.compile(rb"^(<{7,} .*|={7,}|>{7,} .*?)\r?$", re.MULTILINE)
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,150}")
_RECORD_ID = re.compile(r"[a-z0-9-]{1,60}-[a-z2-7]{6}")

# (base, ours, theirs) -> the merged bytes, and whether nothing is left for a person to decide
Merge: TypeAlias = Callable[[bytes, bytes, bytes], tuple[bytes, bool]]


class Place(NamedTuple):
    """A path that git could not merge: its three versions, None where there is none, and what stands in the work tree."""

    path: str
    base: bytes | None
    ours: bytes | None
    theirs: bytes | None
    held: bytes | None
    plain: bool = True  # all of them are regular files of the vault, not links


class Left(NamedTuple):
    """What an earlier pass left to a person at a path: digests of what it found there and of what it wrote there."""

    found: str
    written: str
    drops: tuple[str, ...] = ()  # the note's other names, that go when it is settled


class Put(NamedTuple):
    """Settled: this is the note."""

    path: str
    data: bytes


class Drop(NamedTuple):
    """Settled: there is no file here any more."""

    path: str


class Wait(NamedTuple):
    """Left to a person. With `data`, that is written there for them to choose from."""

    path: str
    why: str
    data: bytes | None = None
    drops: tuple[str, ...] = ()


class Settled(NamedTuple):
    """What was decided, for the person to read."""

    path: str
    what: str


class World(NamedTuple):
    """What is known beside the places themselves."""

    merge: Merge
    added: Mapping[str, tuple[str, bytes]] = {}  # notes that one side added: id -> path and text
    waiting: Mapping[str, Left] = {}
    held: Mapping[str, bytes | None] = {}  # of paths that wait, as they stand now
    taken: Callable[[str], bool] = lambda _path: False


class Outcome(NamedTuple):
    """Everything to do, in order."""

    actions: tuple[Put | Drop | Wait, ...]
    settled: tuple[Settled, ...]


def conflicts(data: bytes) -> Counter[tuple[bytes, bytes]]:
    """The conflicts that git has marked in a text, by their first and last lines. A heading's underline is none."""
    found: Counter[tuple[bytes, bytes]] = Counter()
    opening, parted = b"", False
    for match in _LINE.finditer(data) if b"<<<<<<<" in data else ():
        line = match[1]
        if line.startswith(b"<"):
            opening, parted = line, False
        elif line.startswith(b"="):
            parted = bool(opening)
        elif parted:
            found[opening, line] += 1
            opening, parted = b"", False
    return found


def digest(data: bytes | None) -> str:
    """By which a text is known again."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def settle(places: Sequence[Place], world: World) -> Outcome:
    """Decide on every place, and on what an earlier pass left to a person."""
    pass_ = _Pass(world)
    todo = {place.path: place for place in places}
    for path, left in world.waiting.items():
        _finished(pass_, path, left, todo)
    for group in _groups(list(todo.values())):
        for place in group:
            todo.pop(place.path)
        _renamed_twice(pass_, group)
    for place in todo.values():
        _one(pass_, place)
    return Outcome(tuple(pass_.actions), tuple(pass_.settled))


class _Pass:
    """One pass over the places: what it has decided so far."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.actions: list[Put | Drop | Wait] = []
        self.settled: list[Settled] = []

    def say(self, path: str, what: str) -> None:
        self.settled.append(Settled(path, what))

    def merged(self, path: str, versions: tuple[bytes, bytes, bytes], drops: Iterable[str], what: str) -> None:
        """Put the merged note at `path` and drop its other names; or leave it to a person, all of it."""
        drops = tuple(drops)
        data, clean = self.world.merge(*versions)
        if clean:
            self.actions += [Put(path, data), *(Drop(each) for each in drops)]
            self.say(path, what)
        else:
            self.actions.append(Wait(path, "both sides changed the same lines", data, drops))


def _finished(pass_: _Pass, path: str, left: Left, todo: dict[str, Place]) -> None:
    """Take what a person made of a note that was left to them. Untouched, it is decided anew, with the same outcome."""
    unmerged = todo.get(path)
    held = pass_.world.held.get(path)
    if digest(held) in (left.found, left.written):
        if unmerged is None and digest(held) == left.written != left.found:  # it had no stages of its own
            pass_.actions.append(Wait(path, "both sides changed the same lines", None, left.drops))
            for each in left.drops:
                todo.pop(each, None)
        return
    todo.pop(path, None)
    for each in left.drops:
        todo.pop(each, None)
    if held is None:
        why = "" if unmerged is None else "it is gone: git rm it, or bring it back"
    else:
        known = conflicts(b"\n".join(filter(None, (unmerged.ours, unmerged.theirs)))) if unmerged else Counter()
        why = "its markers are still there" if conflicts(held) - known else _unreadable(path, held)
    if why:
        pass_.actions.append(Wait(path, why, None, left.drops))
        return
    if held is not None:
        pass_.actions.append(Put(path, without_conflicts(held)))
    pass_.actions += [Drop(each) for each in left.drops]
    pass_.say(path, "taken as you mended it")


def without_conflicts(data: bytes) -> bytes:
    """The note without the field that names what was undecided."""
    note = notes.read(data)
    if CONFLICTS not in note.fields:
        return data
    try:
        return notes.write(notes.set_field(note, CONFLICTS, []))
    except Invalid:  # written in a way that cannot be cut out alone: it harms nothing
        return data


def _groups(places: list[Place]) -> list[tuple[Place, Place, Place]]:
    """Notes that each side renamed to another name: the old place, ours, theirs."""
    old = {id_: place for place in places if place.ours is None and place.theirs is None and (id_ := _id(place.base))}
    mine = {id_: place for place in places if place.base is None and place.theirs is None and (id_ := _id(place.ours))}
    other = {id_: place for place in places if place.base is None and place.ours is None and (id_ := _id(place.theirs))}
    return [(old[id_], mine[id_], other[id_]) for id_ in old if id_ in mine and id_ in other]


def _renamed_twice(pass_: _Pass, group: tuple[Place, Place, Place]) -> None:
    """One note stays, with what both sides made of it, under the name of the version that was updated last."""
    old, mine, other = group
    base, ours, theirs = old.base or b"", mine.ours or b"", other.theirs or b""
    if any(_is_event(place.path) for place in group):
        # Normalized beats failed beats pending: the event as it was captured is in all of them.
        first, second = sorted((mine, other), key=lambda place: (place.path.startswith("events/"), place.path), reverse=True)
        data = (first.ours if first is mine else first.theirs) or base
        pass_.actions += [Put(first.path, base if first.path.startswith("events/") else data), Drop(second.path), Drop(old.path)]
        pass_.say(first.path, f"was moved to {second.path} on the other side; an event is kept once")
        return
    if not all(_is_record(place) for place in group):
        pass_.actions += [
            Wait(place.path, "both sides renamed this note of yours: git rm the names that should go, git add the one that stays") for place in group
        ]
        return
    by_age = sorted(((_updated(ours), mine.path), (_updated(theirs), other.path)), reverse=True)
    winner, loser = by_age[0][1], by_age[1][1]
    pass_.merged(
        winner, (base, ours, theirs), (loser, old.path), f"was renamed to {loser} on the other side; one note is kept, with the changes of both"
    )


def _one(pass_: _Pass, place: Place) -> None:
    """Decide on a place of its own."""
    if not place.plain:
        pass_.actions.append(Wait(place.path, "it is a link or a folder on one side: git add what should stay, or git rm it"))
    elif place.base is not None and place.ours is None and place.theirs is None:
        pass_.actions.append(Drop(place.path))  # its new names are places of their own
    elif place.path.startswith("briefings/"):
        _briefing(pass_, place)
    elif _is_event(place.path):
        _event(pass_, place)
    elif _is_record(place):
        _record(pass_, place)
    elif conflicts(place.held or b""):
        pass_.actions.append(Wait(place.path, "both sides changed the same lines"))
    else:
        pass_.actions.append(Wait(place.path, _what_git_says(place)))


def _what_git_says(place: Place) -> str:
    if place.base is not None and None in (place.ours, place.theirs):
        return "deleted on one side and changed on the other: git add it to keep it, or git rm it"
    return "git cannot merge it: git add what should stay, or git rm it"


def _briefing(pass_: _Pass, place: Place) -> None:
    """Any version will do: it is regenerated before the merge is concluded."""
    if place.ours is not None and place.theirs is not None:
        data = briefing.merge(place.base or b"", place.ours, place.theirs)
    else:
        data = place.ours or place.theirs or b""
    pass_.actions.append(Put(place.path, data))
    pass_.say(place.path, "a briefing; regenerated")


def _event(pass_: _Pass, place: Place) -> None:
    """An event stays as it was captured."""
    if place.base is not None:
        pass_.actions.append(Put(place.path, place.base))
        how = "changed on both sides" if place.ours is not None and place.theirs is not None else "deleted on one side and changed on the other"
        pass_.say(place.path, f"an event, {how}; its first text is kept, the others are in the history")
    elif place.ours is None or place.theirs is None or place.ours == place.theirs:
        pass_.actions.append(Put(place.path, place.ours or place.theirs or b""))
        pass_.say(place.path, "kept")
    else:
        first, second = sorted((place.ours, place.theirs), key=lambda data: (bool(conflicts(data)), digest(data)))
        _beside(pass_, place.path, first, second, "")


def _record(pass_: _Pass, place: Place) -> None:
    path, base, ours, theirs = place.path, place.base, place.ours, place.theirs
    if ours is not None and theirs is not None:
        if _by_hand(pass_, place):
            pass_.actions.append(Wait(path, "it was changed by hand meanwhile: git add it if it is as it should be"))
        elif base is None and _id(ours) != _id(theirs):
            stays, goes = sorted((ours, theirs), key=lambda data: (_id(data) != _stem(path), _id(data) == "", _id(data), data))
            _beside(pass_, path, stays, goes, _id(goes))
        elif not path.endswith(".md"):
            pass_.actions.append(Wait(path, "both sides changed it: put the right one there, then git add it"))
        else:
            pass_.merged(
                path, (base or b"", ours, theirs), (), "merged by its fields" if base is not None else "was added on both sides; merged into one note"
            )
        return
    kept = ours if ours is not None else theirs
    assert kept is not None
    moved = pass_.world.added.get(_id(kept) or _id(base)) if base is not None else None
    if moved and moved[0] != path and base is not None:
        versions = (base, kept, moved[1]) if ours is not None else (base, moved[1], kept)
        pass_.merged(moved[0], versions, (path,), f"had been moved away from {path}; the changes made there went with it")
        return
    pass_.actions.append(Put(path, kept))
    pass_.say(path, "was deleted on one side and changed on the other; kept" if base is not None else "kept")


def _by_hand(pass_: _Pass, place: Place) -> bool:
    """Whether what stands in the work tree is no version that git or we can have put there: somebody has mended it in
    the moment between a merge that was killed and this one, and it must not be written over."""
    if place.held is None or conflicts(place.held) or place.path in pass_.world.waiting:
        return False
    assert place.ours is not None
    assert place.theirs is not None
    merged, _ = pass_.world.merge(place.base or b"", place.ours, place.theirs)
    known = (place.base, place.ours, place.theirs, merged)
    return place.held.replace(b"\r\n", b"\n") not in [data.replace(b"\r\n", b"\n") for data in known if data is not None]


def _beside(pass_: _Pass, path: str, stays: bytes, goes: bytes, id_: str) -> None:
    """Keep two notes that came to have one path: the second under its own id, else under a name of its content."""
    folder = path.rpartition("/")[0]
    mark = short_hash(digest(goes), 10)
    name = id_ if _FILE_NAME.fullmatch(id_) else f"{_stem(path)}-other-{mark}"
    target = f"{folder}/{name}.md" if folder else f"{name}.md"
    if target == path or pass_.world.taken(target):
        target = f"{target.removesuffix('.md')}-{mark}.md"
    if not id_ and _id(goes):
        goes = _renamed(goes, _stem(target))
    pass_.actions += [Put(path, stays), Put(target, goes)]
    pass_.say(path, f"two notes had this name; the other is {target} now")


def _renamed(data: bytes, id_: str) -> bytes:
    """The note with another id, so that no id means two notes."""
    try:
        return notes.write(notes.set_field(notes.read(data), "id", [f"id: {id_}"]))
    except Invalid:
        return data


def _is_event(path: str) -> bool:
    return path.startswith(("events/", "inbox/"))


def is_record(note: Note) -> bool:
    """Whether a note is one of Cortex's records, wherever in the vault a person keeps it."""
    return bool(_RECORD_ID.fullmatch(note.get("id")) and note.get("type") in RECORD_TYPES and note.get("created"))


def _is_record(place: Place) -> bool:
    """Whether the note is Cortex's to merge: it lies in our folders, or it is a record that a person moved elsewhere."""
    if place.path.startswith(("records/", "sessions/")):
        return True
    return place.path not in OURS and any(is_record(note) for note in _versions(place))


def _versions(place: Place) -> list[Note]:
    return [notes.read(data) for data in (place.base, place.ours, place.theirs) if data is not None]


def _unreadable(path: str, data: bytes) -> str:
    if not path.startswith(("records/", "sessions/")):
        return ""
    return next((problem.message for problem in notes.read(data).problems if "frontmatter" in problem.message), "")


def _id(data: bytes | None) -> str:
    return notes.read(data).get("id") if data is not None else ""


def _updated(data: bytes) -> str:
    note = notes.read(data)
    return note.get("updated") or note.get("created")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")
