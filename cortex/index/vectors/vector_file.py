"""The vectors of one model: a file of the user's cache, to which rows are only appended.

A header tells model and dimension; each row has the key of a text and its vector in 16-bit numbers.
Readers map the file and need no lock; who writes holds `vectors.lock`. Standard library only.
"""

from __future__ import annotations

import errno
import mmap
import os
import re
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from cortex.core.text.strings import blake2b_digest
from cortex.index.vectors import FOLDER
from cortex.vault import files, private
from cortex.vault.private import lock

HEADER_BYTES = 256
KEY_BYTES = 16
NO_KEY = bytes(KEY_BYTES)  # of a passage that says nothing
_MAGIC = b"cortex vectors 1\n"
_MAX_FILES = 4  # one for each of the last models
_MIN_UNUSED = 1000  # rows below which a file is not worth rewriting


def text_key(text: str) -> bytes:
    """The key of a text's vector."""
    data = text.encode("utf-8", "surrogatepass")
    return blake2b_digest(data, KEY_BYTES) if text.strip() else NO_KEY


def split_keys(joined: bytes) -> list[bytes]:
    """The keys of a note's passages, without those that say nothing."""
    keys = (joined[at : at + KEY_BYTES] for at in range(0, len(joined), KEY_BYTES))
    return [key for key in keys if key != NO_KEY]


class VectorFile:
    """The file of a model in a cache folder; there may be none yet."""

    def __init__(self, cache_folder: str, model: str) -> None:
        self.folder = os.path.join(cache_folder, FOLDER)
        self.model = model[:100]
        plain = re.sub(r"[^a-z0-9]+", "-", self.model.lower()).strip("-")[:40]
        digest = blake2b_digest(self.model.encode(), 4).hex()
        self.path = os.path.join(self.folder, f"{plain}-{digest}.vectors")

    def shape(self) -> tuple[int, int]:
        """How many whole rows there are, and the length of a vector; 0 and 0 without a file of this
        model and format."""
        data = private.read(self.path, HEADER_BYTES)
        dimension = int.from_bytes(data[len(_MAGIC) :][:2], "little")
        if not dimension or data != self._header(dimension):
            return 0, 0
        size = os.stat(self.path, follow_symlinks=False).st_size
        return (size - HEADER_BYTES) // _row_bytes(dimension), dimension

    def keys(self) -> list[bytes]:
        """The key of each row."""
        count, dimension = self.shape()
        if not count:
            return []
        end = HEADER_BYTES + count * _row_bytes(dimension)
        with (
            open(private.open_private(self.path), "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            memoryview(data) as whole,
            whole[HEADER_BYTES:end] as rows,
        ):
            return [key for (key,) in struct.iter_unpack(f"{KEY_BYTES}s{2 * dimension}x", rows)]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock of those who write. What a writer that was killed left half is cut off."""
        private.ensure_folder(self.folder)
        with lock(os.path.join(self.folder, "vectors.lock"), "embedding", wait=0):
            count, dimension = self.shape()
            if dimension:
                os.truncate(self.path, HEADER_BYTES + count * _row_bytes(dimension))
            else:
                private.remove(self.path)  # of another format, or cut within its header
            yield

    def append(self, dimension: int, rows: bytes) -> None:
        """Append whole rows in one write; inside `writing`."""
        if not self.shape()[1]:
            private.replace(self.path, self._header(dimension))
            private.evict(self.folder, _MAX_FILES, suffix=".vectors")
        if (private.append(self.path, rows) - HEADER_BYTES) % _row_bytes(dimension):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def compact(self, used: Collection[bytes]) -> int:
        """Drop the rows of no used key when they are more than half; how many; inside `writing`."""
        kept = {key: row for row, key in enumerate(self.keys()) if key in used}
        count, dimension = self.shape()
        if count - len(kept) <= max(_MIN_UNUSED, len(kept)):
            return 0
        width, new = _row_bytes(dimension), f"{self.path}.new"
        private.remove(new)
        private.append(new, self._header(dimension))
        with (
            open(private.open_private(self.path), "rb") as old,
            open(private.open_private(new, os.O_WRONLY | os.O_APPEND), "ab") as file,
        ):
            for row in sorted(kept.values()):
                old.seek(HEADER_BYTES + row * width)
                file.write(old.read(width))
        os.replace(new, self.path)
        return count - len(kept)

    def _header(self, dimension: int) -> bytes:
        header = _MAGIC + dimension.to_bytes(2, "little") + self.model.encode()
        return header.ljust(HEADER_BYTES, b"\0")[:HEADER_BYTES]


def newest_vector_file(cache_folder: str) -> VectorFile | None:
    """The file that was written last; None when there is none."""
    folder = os.path.join(cache_folder, FOLDER)
    names = [name for name in files.list_folder(folder) if name.endswith(".vectors")]
    paths = [os.path.join(folder, name) for name in names]
    for path in sorted(filter(os.path.exists, paths), key=os.path.getmtime, reverse=True):
        header = private.read(path, HEADER_BYTES)[len(_MAGIC) + 2 :]
        found = VectorFile(cache_folder, header.rstrip(b"\0").decode("utf-8", "replace"))
        if found.shape()[1]:
            return found
    return None


def _row_bytes(dimension: int) -> int:
    return KEY_BYTES + 2 * dimension
