"""Read the files of an export: a zip, a folder, or one file of it alone."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import IO, Any

from cortex.core.model.note_status import UTF16_BOMS
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.notes.note import Note, read as read_note

_MAX_TEXT_BYTES = 64_000_000  # of a file that is read at once
_MAX_RATIO = 200  # of what a file of an archive takes unpacked; text packs to a hundredth at best
_CHUNK_CHARS = 1 << 20
# What stands for a byte that is no UTF-8 -> its character.
_CP1252 = {0xDC00 + one: bytes([one]).decode("cp1252", "replace") for one in range(128, 256)}
_MAX_ELEMENT_CHARS = 100_000_000


class Archive:
    """The files of an export by their paths, with `/`."""

    def __init__(self, root: str, packed: zipfile.ZipFile | None) -> None:
        self.root, self._packed = root, packed
        self._unpacked = 0  # bytes, of all that was opened
        self.problems = dict[Problem, None]()  # what is to be said of the texts that were read

    def names(self, ending: str = "", *, links: bool = False) -> Iterator[str]:
        """The paths of its files, or of its links alone; none that leads out of it. Of a folder,
        those that may be read: `problems` name the others."""
        if self._packed:
            for one in self._packed.infolist():
                parts = one.filename.split("/")
                is_link = one.external_attr >> 28 == 0xA
                if not (one.is_dir() or is_link != links or ".." in parts or not parts[0]):
                    yield from [one.filename] if one.filename.endswith(ending) else []
        elif os.path.isfile(self.root):
            is_meant = self.root.endswith(ending) and not links
            yield from [os.path.basename(self.root)] if is_meant else []
        else:
            for folder, folders, files in os.walk(self.root, onerror=self._add_unreadable):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(files + folders if links else files):
                    path = os.path.join(folder, name)
                    if not name.endswith(ending) or os.path.islink(path) != links:
                        continue
                    if links or os.access(path, os.R_OK):
                        yield os.path.relpath(path, self.root).replace(os.sep, "/")
                    else:
                        self._add_unreadable(PermissionError(errno.EACCES, "no permission", path))

    def _add_unreadable(self, error: OSError) -> None:
        name = os.path.relpath(error.filename, self.root).replace(os.sep, "/")
        hint = "say who may read it: ls -l shows that"
        self.problems[Problem(name, f"cannot be read: {error.strerror}", hint)] = None

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """One of its files. Raises `InvalidInputError` where it would unpack to far more than it is."""
        if self._packed:
            info = self._packed.getinfo(name)
            packed, size = info.compress_size, info.file_size
            self._unpacked += size
            pairs = (packed, size), (os.path.getsize(self.root), self._unpacked)
            if any(all_ > max(some * _MAX_RATIO, 16 * _CHUNK_CHARS) for some, all_ in pairs):
                message = f"{name} would unpack from {packed:,} to {size:,} bytes, as no text does"
                raise InvalidInputError(message, "if you trust it, unpack it; import the folder")
            with self._packed.open(info) as file:
                yield file
        else:
            is_file = os.path.isfile(self.root)
            with open(self.root if is_file else os.path.join(self.root, name), "rb") as file:
                yield file

    def read(self, name: str, most: int = _MAX_TEXT_BYTES, *, with_mark: bool = False) -> str:
        """The text of one of its files, at most so many bytes. Where all of it is meant, `problems`
        tell what was guessed, and whether there is more."""
        with self.open(name) as file:
            data = file.read(most)
            is_cut = len(data) == most and file.read(1) != b""
        text, guess = decode(data, is_cut=is_cut)
        more = f"only its first {most:,} bytes are read" if is_cut else ""
        found = Problem(name, guess), Problem(name, more, "split it, then import again")
        if most == _MAX_TEXT_BYTES:
            self.problems |= {one: None for one in found if one.message}
        return text if with_mark else text.removeprefix("\ufeff")

    def note(self, name: str) -> Note:
        """One of its files, taken apart."""
        return read_note(self.read(name).encode(), name)

    def find(self, name: str) -> str:
        """The path of the file of this name that lies nearest to the root; empty if there is none."""
        found = [one for one in self.names(name) if one.rpartition("/")[2] == name]
        return min(found, key=lambda one: (one.count("/"), one), default="")


@contextmanager
def open_archive(path: str) -> Iterator[Archive]:
    """An export at a path. Raises `InvalidInputError` for a zip that is damaged."""
    is_file = os.path.isfile(path)
    if zipfile.is_zipfile(path) or (is_file and Archive(path, None).read("", 4) == "PK\3\4"):
        try:
            with zipfile.ZipFile(path) as packed:
                yield Archive(path, packed)
        except (zipfile.BadZipFile, EOFError, RuntimeError, zlib.error) as error:
            message = f"{path} is a damaged zip, or one that cannot be unpacked here: {error}"
            raise InvalidInputError(message, "download it anew, or unpack it") from error
    else:
        yield Archive(path, None)


def decode(data: bytes, *, is_cut: bool = False) -> tuple[str, str]:
    """The text of a file, or of its beginning, and in words what had to be guessed, if anything."""
    if data.startswith(UTF16_BOMS):
        return data.decode("utf-16", "replace"), ""
    try:
        return codecs.utf_8_decode(data, "strict", not is_cut)[0], ""
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape").translate(_CP1252)
        return text, "what in it is no UTF-8 was read as Windows-1252"


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
                except RecursionError as error:
                    raise InvalidInputError("the JSON is nested too deeply", "") from error
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
