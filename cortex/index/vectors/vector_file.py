"""The vectors of one model: a file of the user's cache, to which rows are only appended.

A header tells model and dimension; each row has the key of a text and its vector in 16-bit numbers.
Readers map the file and need no lock; who writes holds `vectors.lock`. Standard library only.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import re
import struct
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from cortex.core.model.problem import CortexError
from cortex.index.vectors.passage_text import KEY_BYTES
from cortex.vault import files
from cortex.vault.lock import lock
from cortex.vault.state import store

FOLDER = "vectors"
HEADER_BYTES = 256
_MAGIC = b"cortex vectors 1\n"
_MAX_DIMENSION, _MAX_FILES = 16_384, 4  # a file for each of the last models
_MIN_UNUSED = 1000  # rows below which a file is not worth rewriting
_COPIED_ROWS = 4096  # at once


class VectorFile:
    """The file of a model in a cache folder; there may be none yet."""

    def __init__(self, cache_folder: str, model: str) -> None:
        self.folder = os.path.join(cache_folder, FOLDER)
        self.model = model[:100]
        plain = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:40]
        digest = hashlib.blake2b(model.encode(), digest_size=4).hexdigest()
        self.path = os.path.join(self.folder, f"{plain}-{digest}.vectors")

    def dimension(self) -> int:
        """The length of its vectors; 0 when there is no file of this model that can be read."""
        return _parse_header(store.read(self.path, HEADER_BYTES), self.model)

    def row_bytes(self) -> int:
        """The length of a row."""
        return KEY_BYTES + 2 * self.dimension()

    def row_count(self) -> int:
        """How many whole rows it has."""
        try:
            size = os.stat(self.path, follow_symlinks=False).st_size if self.dimension() else 0
        except OSError:
            return 0
        return max(0, size - HEADER_BYTES) // self.row_bytes()

    def keys(self) -> list[bytes]:
        """The key of each row."""
        count, width = self.row_count(), self.row_bytes()
        if not count:
            return []
        fd = store.open_private(self.path)
        try:
            with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as data:
                rows = memoryview(data)[HEADER_BYTES : HEADER_BYTES + count * width]
                keys = [key for (key,) in struct.iter_unpack(f"{KEY_BYTES}s{width - KEY_BYTES}x", rows)]  # fmt: skip
                rows.release()
                return keys
        finally:
            os.close(fd)

    @contextmanager
    def writing(self, wait: float = 0.0) -> Iterator[None]:
        """Hold the lock of those who write. What a writer that was killed left half is cut off."""
        store.ensure_folder(self.folder)
        with lock(os.path.join(self.folder, "vectors.lock"), "embedding", wait=wait):
            if not self.dimension():
                store.remove(self.path)  # of another format, or cut within its header
            elif self.row_count() * self.row_bytes() + HEADER_BYTES != os.path.getsize(self.path):
                os.truncate(self.path, HEADER_BYTES + self.row_count() * self.row_bytes())
            yield

    def append(self, dimension: int, rows: bytes) -> None:
        """Append whole rows in one write; inside `writing`."""
        if not self.dimension():
            store.replace(self.path, _make_header(self.model, dimension))
            store.evict(self.folder, _MAX_FILES, suffix=".vectors")
        if self.dimension() != dimension:
            message = f"{self.model} gave vectors of {dimension} numbers, not of {self.dimension()}"
            raise CortexError(message, f"if that is right now, remove {self.path}")
        size = store.append(self.path, rows)
        if (size - HEADER_BYTES) % self.row_bytes():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def compact(self, used: Collection[bytes]) -> int:
        """Drop the rows of no used key when they are more than half; how many; inside `writing`."""
        keys = self.keys()
        kept = {key: row for row, key in enumerate(keys) if key in used}
        unused = len(keys) - len(kept)
        if unused <= max(_MIN_UNUSED, len(kept)):
            return 0
        new = f"{self.path}.new"
        store.remove(new)
        store.append(new, store.read(self.path, HEADER_BYTES))
        for rows in self._read_rows(sorted(kept.values())):
            store.append(new, rows)
        os.replace(new, self.path)
        return unused

    def _read_rows(self, wanted: list[int]) -> Iterator[bytes]:
        """These rows, some thousands at a time."""
        width = self.row_bytes()
        fd = store.open_private(self.path)
        try:
            for start in range(0, len(wanted), _COPIED_ROWS):
                part: Iterable[int] = wanted[start : start + _COPIED_ROWS]
                yield b"".join(files.read_fd(fd, width, HEADER_BYTES + row * width) for row in part)
        finally:
            os.close(fd)


def newest_vector_file(cache_folder: str) -> VectorFile | None:
    """The file that was written last; None when there is none."""
    folder = os.path.join(cache_folder, FOLDER)
    names = [name for name in files.list_folder(folder) if name.endswith(".vectors")]
    stamps = {name: _mtime(os.path.join(folder, name)) for name in names}
    for name in sorted(names, key=lambda name: (-stamps[name], name)):
        data = store.read(os.path.join(folder, name), HEADER_BYTES)
        model = data[len(_MAGIC) + 4 :].rstrip(b"\0").decode("utf-8", "replace")
        found = VectorFile(cache_folder, model)
        if found.dimension():
            return found
    return None


def _mtime(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _make_header(model: str, dimension: int) -> bytes:
    return (_MAGIC + struct.pack("<I", dimension) + model.encode()).ljust(HEADER_BYTES, b"\0")


def _parse_header(data: bytes, model: str) -> int:
    """The dimension that a header of this model tells; 0 of any other."""
    if len(data) < HEADER_BYTES or not data.startswith(_MAGIC):
        return 0
    (dimension,) = struct.unpack_from("<I", data, len(_MAGIC))
    is_ours = data == _make_header(model, dimension)
    return dimension if is_ours and 0 < dimension <= _MAX_DIMENSION else 0
