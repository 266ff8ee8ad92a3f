"""The list of what was erased, in the vault: ids and git blobs, never a word of it.

Each erasure is a file of its own, so that git merges two clones' lists whatever its attributes say.
What the list names does not come back: by a merge, a replay, an import, a restore.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.layout import layout_of

_FOLDER = "events/erased"
_MAX_BYTES = 16_000_000  # of one file: 200,000 blobs
_HEAD = (
    b"# What was erased here: ids and git blobs. Keep this file, or an old clone brings it back.\n"
)
_NONE = "-"


class ErasedList(NamedTuple):
    """What was erased, by all files of the list."""

    events: dict[str, str]  # id -> the blob of its tombstone
    records: frozenset[str]  # ids
    blobs: dict[str, str]  # -> the blob that stands in its place, empty if none does
    rewritten: frozenset[str]  # the blobs that were taken out of the history, too
    tips: tuple[str, ...]  # the commits that branches and remotes had before that
    deleted: dict[str, str]  # event -> the record of it whose file was removed


def folder_of(root: str) -> str:
    """The folder of the list, vault-relative."""
    return layout_of(root).path(_FOLDER)


def read_list(root: str) -> ErasedList:
    """The list of a vault; an empty one where nothing was erased."""
    folder = folder_of(root)
    names = files.list_names(root, folder)
    return parse_list(files.read(root, f"{folder}/{name}", _MAX_BYTES) for name in names)


def parse_list(texts: Iterable[bytes]) -> ErasedList:
    """The list that these files are. A line that nobody understands says nothing."""
    events: dict[str, str] = {}
    blobs: dict[str, str] = {}
    deleted: dict[str, str] = {}
    records, tips, rewritten = set[str](), list[str](), set[str]()
    for text in texts:
        lines = [line.split() for line in text.decode("utf-8", "replace").splitlines()]
        own = [words[1:] for words in lines if len(words) >= 2 and words[0] != "#"]
        kinds = [words[0] for words in lines if len(words) >= 2 and words[0] != "#"]
        for kind, (first, *rest) in zip(kinds, own, strict=True):
            if kind == "event" and rest:
                events[first] = rest[0]
            elif kind == "blob" and rest:
                blobs[first] = rest[0].replace(_NONE, "")
                rewritten |= {first} if "history" in kinds else set()
            elif kind == "record":
                records.add(first)
            elif kind == "history":
                tips.append(first)
            elif kind == "deleted":
                deleted |= dict.fromkeys(rest, first)
    return ErasedList(events, frozenset(records), blobs, frozenset(rewritten), tuple(tips), deleted)


def add_lines(root: str, name: str, lines: Iterable[tuple[str, ...]]) -> str:
    """Add a file to the list; its path. An empty word is written as `-`."""
    path = f"{folder_of(root)}/{name}.txt"
    text = "".join(" ".join(word or _NONE for word in line) + "\n" for line in lines)
    files.create(root, path, _HEAD + text.encode())
    return path


def blob_id(data: bytes, *, is_sha256: bool = False) -> str:
    """The id that git gives to a file's content."""
    made = hashlib.sha256() if is_sha256 else hashlib.sha1(usedforsecurity=False)
    made.update(b"blob %d\0" % len(data) + data)
    return made.hexdigest()
