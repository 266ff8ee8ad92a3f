"""Find the notes that a merge on a server, which knows no attributes, has lost or mixed. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.core.merge.merge_plan import MergeSides
from cortex.core.merge.note_versions import Tree, is_cortex_note, note_id, versions_by_note
from cortex.core.text.value import NamedTuple


class LostNote(NamedTuple):
    """A note that is not in a merge as its sides give it."""

    id: str
    path: str  # where the side has it that added or changed it
    data: bytes  # as that side has it
    merged: bytes | None  # the text in the merge; None if no file has the note
    deleted_path: str = ""  # where the other side has deleted it: git asks, if it sees a deletion
    is_mixed: bool = True  # what the merge has changed in it is what a side changed in another note


def find_lost(sides: MergeSides, result: Tree) -> Iterator[LostNote]:
    """The records and sessions that one side alone has added or changed, and that no file of the
    result holds with that side's text. `sides` and `result` have what differs anywhere."""
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
        elif kept.data not in texts and (mixed := _mixed(kept.data, texts[0], sides, versions.id)):
            yield LostNote(versions.id, *kept, texts[0], is_mixed=mixed == 1)


def _mixed(own: bytes, merged: bytes, sides: MergeSides, id_: str) -> float:
    """How much of what a merge has changed in a note is what a side changed in another one: 1 all
    of it, 0 nothing, as what a person has written into a merge."""
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
