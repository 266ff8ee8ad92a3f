"""Read the notes that have changed into catalogue and index: one process at a time, under the lock of `refresh`."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from cortex.core.answer import MAX_NOTE_BYTES
from cortex.core.caller import Progress
from cortex.core.card import Card, card_of
from cortex.core.problem import CortexError, Problem
from cortex.projections.catalogue import Catalogue, Damaged
from cortex.projections.refresh import FORMAT, INDEX, STAMPS, STATE, State, parse, read_stamps, render, scan, seal, sealed_state, stamp_of, write
from cortex.projections.snapshot import Snapshot
from cortex.vault import checkout, files, git, settings

Document: TypeAlias = "dict[str, object]"
_WORTH_TWO = 400  # notes; below, a second process costs more than it saves


def bring_up_to_date(root: str, folder: str, progress: Progress, *, rebuild: bool, cores: int) -> tuple[str, Snapshot, tuple[Problem, ...]]:
    """Bring what lies in `folder` up to the notes as they are; answers how it was found (updated, built), what lies
    in the vault, and what is wrong with its settings and repository."""
    return _Update(root, folder, progress, cores).run(rebuild=rebuild)


class _Update:
    """One bringing up to date, by the process that holds the lock."""

    def __init__(self, root: str, folder: str, progress: Progress, cores: int) -> None:
        self.cores = cores
        self.unread: set[str] = set()  # notes that could not be read: they are tried again at the next look
        self.root = root
        self.folder = folder
        self.index = os.path.join(folder, INDEX)
        self.progress = progress

    def run(self, *, rebuild: bool) -> tuple[str, Snapshot, tuple[Problem, ...]]:
        state = None if rebuild else sealed_state(self.folder)
        wanted = settings.load(self.root)
        noted = list(wanted.problems)
        ignored = state.ignored if state else self._ignored(noted)
        seen = scan(self.root, wanted.exclude, ignored)
        held = parse(read_stamps(self.folder)) if state else {}
        if state and (seen.rules != state.rules or seen.stamps.keys() - held.keys()):
            ignored = self._ignored(noted)
            if ignored != state.ignored:
                seen = scan(self.root, wanted.exclude, ignored)
        elif state:
            noted += [problem for problem in state.noted if problem.where == ".git"]
        if state is not None:
            # From here until the new seal is written, what lies in the cache is in between: a crash means a rebuild.
            os.unlink(os.path.join(self.folder, STATE))
            self._change(seen.stamps, held)
        else:
            self._build(seen.stamps)
        problems = tuple(noted)
        write(self.folder, STAMPS, render(seen._replace(racy=seen.racy | self.unread), for_later=True))
        toml = stamp_of(os.path.join(self.root, "cortex.toml"))
        fresh = State(toml, wanted.exclude, seen.rules, ignored, problems, seal(self.folder))
        write(self.folder, STATE, json.dumps({"format": FORMAT, **fresh._asdict()}).encode())
        return ("updated" if state else "built"), seen, problems

    def _ignored(self, noted: list[Problem]) -> tuple[str, ...]:
        if not checkout.in_repository(self.root):
            return ()
        try:
            return tuple(sorted(git.ignored(self.root)))
        except CortexError as error:
            noted.append(Problem(".git", f"cannot tell what git ignores, so nothing is left out: {error.message}", error.hint))
            return ()

    def _build(self, stamps: dict[str, str]) -> None:
        """Everything anew."""
        # Whoosh costs 30 ms; `show` and `normalize` need none when nothing has changed.
        from cortex.projections.index import SCHEMA  # noqa: PLC0415
        from cortex.projections.segment import BuildFailed, build, build_parallel  # noqa: PLC0415

        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, STATE))
        shutil.rmtree(self.index, ignore_errors=True)
        paths = list(stamps)
        numbers = {path: number for number, path in enumerate(paths, start=1)}
        reading = partial(_read_document, self.root, stamps, numbers)
        with Catalogue.create(self.folder) as catalogue:
            done = 0

            def noted(path: str, card_and_hash: tuple[Card, bytes]) -> None:
                nonlocal done
                done += 1
                if not card_and_hash[1]:
                    self.unread.add(path)
                catalogue.put(*card_and_hash, number=numbers[path])
                self.progress("indexing", done, len(paths))

            if self.cores > 1 and len(paths) >= _WORTH_TWO:
                try:
                    build_parallel(self.index, SCHEMA, paths, reading, noted, procs=self.cores)
                except BuildFailed as error:  # a process was killed, for want of memory perhaps
                    raise Damaged(str(error)) from error
            else:
                build(self.index, SCHEMA, _told(paths, reading, noted))
            catalogue.commit()

    def _change(self, stamps: dict[str, str], held: dict[str, str]) -> None:
        """Only what differs from the last look; a note whose bytes are the same costs its reading, no more."""
        gone = held.keys() - stamps.keys()
        touched = [path for path, stamp in stamps.items() if held.get(path) != stamp]
        with Catalogue(self.folder, writable=True) as catalogue:
            dropped = [number for path in gone if (number := catalogue.drop(path)) is not None]
            added: list[tuple[int, Card]] = []
            for count, path in enumerate(touched, start=1):
                known = catalogue.hash_of(path)
                card, content_hash = load(self.root, path, stamps[path], known[1] if known else None)
                if not content_hash:
                    self.unread.add(path)
                if card is not None:
                    if known:
                        dropped.append(known[0])
                    added.append((catalogue.put(card, content_hash), card))
                elif path in held:
                    catalogue.touch(path, _seconds(held[path]), _seconds(stamps[path]))
                self.progress("indexing", count, len(touched))
            if dropped or added:
                from cortex.projections import index  # noqa: PLC0415  as above

                index.change(self.index, dropped, added)
            catalogue.commit()


def _told(
    paths: list[str], reading: Callable[[str], tuple[Document, tuple[Card, bytes]]], noted: Callable[[str, tuple[Card, bytes]], None]
) -> Iterator[Document]:
    """The documents of the paths, read one after the other, each noted before the index has it."""
    for path in paths:
        document, card_and_hash = reading(path)
        noted(path, card_and_hash)
        yield document


def _read_document(root: str, stamps: dict[str, str], numbers: dict[str, int], path: str) -> tuple[Document, tuple[Card, bytes]]:
    """A note for the index, and for the catalogue its card without the text: what a building process sends back."""
    from cortex.projections.index import document  # noqa: PLC0415  as in `_build`

    card, content_hash = load(root, path, stamps[path])
    assert card is not None  # only a known hash gives none
    return document(numbers[path], card), (card._replace(body=""), content_hash)


def load(root: str, path: str, stamp: str, known_hash: bytes | None = None) -> tuple[Card | None, bytes]:
    """A note's card and the hash of what was read of it; no card when the hash is the known one. A file that cannot
    be read gives a card that says so."""
    mtime = _seconds(stamp)
    try:
        data = files.read(root, path, MAX_NOTE_BYTES + 1)
    except (OSError, CortexError) as error:
        if known_hash == b"":
            return None, b""  # it could not be read the last time either
        reason = error.message if isinstance(error, CortexError) else error.strerror or str(error)
        card = card_of(path, b"", mtime)
        return card._replace(problems=(Problem(path, f"cannot be read: {reason}", "check its permissions"),)), b""
    content_hash = hashlib.blake2b(data, digest_size=16).digest()
    if content_hash == known_hash:
        return None, content_hash
    if len(data) <= MAX_NOTE_BYTES:
        return card_of(path, data, mtime), content_hash
    whole_lines = data[: data.rfind(b"\n", 0, MAX_NOTE_BYTES) + 1] or data[:MAX_NOTE_BYTES]
    card = card_of(path, whole_lines, mtime)
    problem = Problem(path, "is larger than 1 MB; only its beginning is searched", "split the note")
    return card._replace(problems=(*card.problems, problem)), content_hash


def _seconds(stamp: str) -> int:
    """The modification time that a stamp begins with, in seconds; 0 in a stamp that is none."""
    nanoseconds = stamp.partition(".")[0]
    return int(nanoseconds) // 1_000_000_000 if nanoseconds.isdecimal() else 0
