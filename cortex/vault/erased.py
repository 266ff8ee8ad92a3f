"""The list of what was erased, in the vault: ids and git blobs, never a word of it.

Each erasure is a file of its own, so that git merges two clones' lists whatever its attributes say.
What the list names does not come back: by a merge, a replay, an import, a restore.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from cortex.core.notes.erasure import LIST_HEAD
from cortex.core.text.value import NamedTuple
from cortex.vault import files, settings
from cortex.vault.layout import layout_of

_FOLDER = "events/erased"
_MAX_BYTES = 16_000_000  # of one file: 200,000 blobs
_NONE = "-"


class ErasedList(NamedTuple):
    """What was erased, by all files of the list."""

    events: dict[str, str]  # id -> the blob of its tombstone, empty if none is known
    records: frozenset[str]  # the ends of their ids, which no word made
    blobs: dict[str, str]  # -> the blob that stands in its place, empty if none does
    rewritten: frozenset[str]  # the blobs that were taken out of the history, too
    tips: tuple[str, ...]  # the commits that branches and remotes had before that

    def beyond(self, known: ErasedList) -> ErasedList:
        """The events, records and blobs that another list does not name."""
        events = {id_: new for id_, new in self.events.items() if id_ not in known.events}
        blobs = {id_: new for id_, new in self.blobs.items() if id_ not in known.blobs}
        return self._replace(events=events, records=self.records - known.records, blobs=blobs)


def folder_of(root: str) -> str:
    """The folder of the list, vault-relative."""
    return layout_of(root).path(_FOLDER)


def read_list(root: str) -> ErasedList:
    """The list of a vault, with the events that `[events] erased` of its settings names."""
    folder = folder_of(root)
    names = files.list_names(root, folder)
    found = parse_list(files.read(root, f"{folder}/{name}", _MAX_BYTES) for name in names)
    named = dict.fromkeys(settings.load(root).erased or (), "")
    return found._replace(events=named | found.events)


def parse_list(texts: Iterable[bytes]) -> ErasedList:
    """The list that these files are. A line that nobody understands says nothing."""
    pairs: dict[str, dict[str, str]] = {"event": {}, "record": {}, "blob": {}, "history": {}}
    rewritten = set[str]()
    for text in texts:
        rows = [line.split() for line in text.decode("utf-8", "replace").splitlines()]
        rows = [row for row in rows if len(row) > 1 and row[0] in pairs]
        for kind, id_, *new in rows:
            pairs[kind][id_] = "".join(new).replace(_NONE, "")
        if any(kind == "history" for kind, *_ in rows):
            rewritten |= {id_ for kind, id_, *_ in rows if kind == "blob"}
    events, records, blobs, tips = pairs.values()
    return ErasedList(events, frozenset(records), blobs, frozenset(rewritten), tuple(tips))


def add_lines(root: str, name: str, lines: Iterable[tuple[str, ...]]) -> str:
    """Add a file to the list; its path. An empty word is written as `-`."""
    path = f"{folder_of(root)}/{name}.txt"
    text = "".join(" ".join(word or _NONE for word in line) + "\n" for line in lines)
    files.create(root, path, LIST_HEAD + text.encode())
    return path


def blob_id(data: bytes, id_chars: int) -> str:
    """The id that a repository whose ids have so many characters gives to a file's content."""
    made = hashlib.sha256() if id_chars == 64 else hashlib.sha1(usedforsecurity=False)
    made.update(b"blob %d\0" % len(data) + data)
    return made.hexdigest()
