"""Read the files of an export: a zip, a folder, or one file of it alone."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import IO, Any

from cortex.core.model.note_status import decode_text
from cortex.core.model.problem import InvalidInputError
from cortex.core.notes.note import Note, read as read_note

MAX_FILE_BYTES = 8_000_000_000  # of one file of an archive
_MAX_RATIO = 2_000  # of what a file of an archive takes unpacked; text packs to a hundredth at best
_CHUNK_CHARS = 1 << 20
_MAX_ELEMENT_CHARS = 100_000_000


class Archive:
    """The files of an export by their paths, with `/`."""

    def __init__(self, root: str, packed: zipfile.ZipFile | None) -> None:
        self.root, self._packed = root, packed

    def names(self, ending: str = "") -> Iterator[str]:
        """The paths of its files; no links, and none that leads out of it."""
        if self._packed:
            for one in self._packed.infolist():
                parts = one.filename.split("/")
                is_link = one.external_attr >> 28 == 0xA
                if not (one.is_dir() or is_link or ".." in parts or not parts[0]):
                    yield from [one.filename] if one.filename.endswith(ending) else []
        elif os.path.isfile(self.root):
            yield from [os.path.basename(self.root)] if self.root.endswith(ending) else []
        else:
            for folder, folders, files in os.walk(self.root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(files):
                    path = os.path.join(folder, name)
                    if name.endswith(ending) and not os.path.islink(path):
                        yield os.path.relpath(path, self.root).replace(os.sep, "/")

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """One of its files. Raises `InvalidInputError` where it would unpack to far more than it is."""
        if self._packed:
            info = self._packed.getinfo(name)
            most = max(info.compress_size, 1) * _MAX_RATIO
            if info.file_size > MAX_FILE_BYTES or info.file_size > most > _CHUNK_CHARS:
                raise InvalidInputError(f"{name} would unpack to {info.file_size:,} bytes", "")
            with self._packed.open(info) as file:
                yield file
        else:
            is_file = os.path.isfile(self.root)
            with open(self.root if is_file else os.path.join(self.root, name), "rb") as file:
                yield file

    def read(self, name: str, most: int = 64_000_000) -> str:
        """The text of one of its files, at most so many bytes; what is neither UTF-8 nor UTF-16
        becomes U+FFFD."""
        with self.open(name) as file:
            return decode_text(file.read(most))

    def note(self, name: str) -> Note:
        """One of its files, taken apart."""
        with self.open(name) as file:
            return read_note(file.read(64_000_000), name)

    def find(self, name: str) -> str:
        """The path of the file of this name that lies nearest to the root; empty if there is none."""
        found = [one for one in self.names(name) if one.rpartition("/")[2] == name]
        return min(found, key=lambda one: (one.count("/"), one), default="")


@contextmanager
def open_archive(path: str) -> Iterator[Archive]:
    """An export at a path. Raises `InvalidInputError` for a zip that is damaged."""
    if os.path.isfile(path) and zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as packed:
                yield Archive(path, packed)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
            raise InvalidInputError(
                f"{path} cannot be unpacked: {error}", "download it again"
            ) from error
    else:
        yield Archive(path, None)


def iter_json_array(file: IO[bytes]) -> Iterator[Any]:
    """The elements of an array of JSON, one at a time, however long the file is. Raises
    `InvalidInputError`, after the elements before it, where it is broken off or is no such array."""
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    decoder, buffer, at_start = json.JSONDecoder(), "", True
    with closing(text):
        while True:
            # Of a long element twice as much each time, so that it is not read too often.
            chunk = text.read(max(_CHUNK_CHARS, len(buffer)))
            buffer += chunk
            if at_start and (buffer := buffer.lstrip()):
                if buffer[0] != "[":
                    raise InvalidInputError("this is no array of JSON", "")
                buffer, at_start = buffer[1:], False
            place = 0
            while not at_start:
                place = _skip(buffer, place)
                if buffer[place : place + 1] == "]":
                    return
                try:
                    element, end = decoder.raw_decode(buffer, place)
                except json.JSONDecodeError:
                    break
                # A number may go on in the next chunk.
                if chunk and end == len(buffer):
                    break
                yield element
                place = end
            buffer = buffer[place:]
            if not chunk or len(buffer) > _MAX_ELEMENT_CHARS:
                raise InvalidInputError("the JSON is broken off or damaged", "")


def _skip(buffer: str, place: int) -> int:
    """The place of the next character that is no blank and no comma."""
    while place < len(buffer) and buffer[place] in " \t\r\n,":
        place += 1
    return place
