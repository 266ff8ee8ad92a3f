"""What was erased does not come back: by the merge of an old clone, as a side of a conflict."""

from __future__ import annotations

import os
from itertools import chain

from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import stem_of
from cortex.core.model.caller import Caller
from cortex.core.model.layout import is_event_path
from cortex.core.notes.erasure import make_eraser
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.vault import erased, files
from cortex.vault.erased import ErasedList
from cortex.vault.git import objects
from cortex.vault.locate import Vault

_GONE_AGAIN = "was erased, and a merge had brought it back; it is gone again"


def keep_erased(vault: Vault, caller: Caller, listed: ErasedList) -> list[MergeResolution]:
    """Take out of the work tree what the list names and the last commit has again."""
    root, below = vault.root, objects.prefix(vault.root)
    back: dict[str, str] = {}  # path -> the blob that belongs there; empty: none does
    entries = objects.list_index(root) if listed.blobs or listed.events else []
    for one in (one for one in entries if one.path.startswith(below)):
        path = os.fsdecode(one.path.removeprefix(below))
        wanted = listed.events.get(stem_of(path), "") if is_event_path(path) else ""
        if files.exists(root, path) and (
            (wanted or one.blob) != one.blob or one.blob in listed.blobs
        ):
            here = erased.blob_id(files.read(root, path), len(one.blob))
            if here == one.blob or (wanted or here) != here:  # else somebody has put it right
                back[path] = wanted or listed.blobs[one.blob]
    if listed.records:
        ends = [NoteFilter(id_end=f"-{hash_}") for hash_ in listed.records]
        rows = query_index(
            vault, caller.progress, lambda index: [*chain(*map(index.catalogue.find, ends))]
        )
        back |= {row.path: "" for row in rows if not is_event_path(row.path)}
    texts = objects.read_blobs(root, back.values())
    for path, wanted in sorted(back.items()):
        current, new = files.read(root, path), texts.get(wanted)
        if new is None and is_event_path(path):  # git has not got its text yet
            new = make_eraser((), events=[stem_of(path)]).erase(path, current)
        if new is not None:
            files.replace(root, path, new, current)
        elif not wanted:
            files.remove(root, path)
    return [MergeResolution(path, _GONE_AGAIN) for path in sorted(back)]
