"""Read the notes that have changed into catalogue and index: one process at a time, under the lock of `refresh`."""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeAlias

from cortex.core.model.caller import Progress
from cortex.core.model.note_summary import Card, card_of
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.status import MAX_NOTE_BYTES
from cortex.index.catalogue import Catalogue, Damaged
from cortex.index.file_scan import Snapshot
from cortex.index.refresh import (
    FORMAT,
    INDEX,
    STAMPS,
    STATE,
    State,
    parse,
    read_stamps,
    render,
    scan,
    seal,
    sealed_state,
    stamp_of,
    write,
)
from cortex.vault import files, settings
from cortex.vault.git import checkout, git
from cortex.vault.state import store

Document: TypeAlias = "dict[str, object]"
_WORTH_TWO = 400  # notes; below, a second process costs more than it saves


def bring_up_to_date(
    root: str, folder: str, progress: Progress, *, rebuild: bool, words: bool, cores: int
) -> tuple[str, Snapshot, tuple[Problem, ...]]:
    """Bring what lies in `folder` up to the notes as they are; answers how it was found (updated, built), what lies
    in the vault, and what is wrong with its settings and repository. Without `words`, an index that is there stays behind."""
    return _Update(root, folder, progress, cores).run(rebuild=rebuild, words=words)


class _Update:
    """One bringing up to date, by the process that holds the lock."""

    def __init__(self, root: str, folder: str, progress: Progress, cores: int) -> None:
        self.cores = cores
        self.unread: set[str] = (
            set()
        )  # notes that could not be read: they are tried again at the next look
        self.root = root
        self.folder = folder
        self.index = os.path.join(folder, INDEX)
        self.progress = progress

    def run(self, *, rebuild: bool, words: bool) -> tuple[str, Snapshot, tuple[Problem, ...]]:
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
            self._change(seen.stamps, held, words=words)
        else:
            self._build(seen.stamps)
        problems = tuple(noted)
        write(
            self.folder, STAMPS, render(seen._replace(racy=seen.racy | self.unread), for_later=True)
        )
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
            noted.append(
                Problem(
                    ".git",
                    f"cannot tell what git ignores, so nothing is left out: {error.message}",
                    error.hint,
                )
            )
            return ()

    def _build(self, stamps: dict[str, str]) -> None:
        """Everything anew."""
        # Whoosh costs 30 ms; `show` and `normalize` need none when nothing has changed.
        from cortex.index.engines.whoosh.index import SCHEMA  # noqa: PLC0415
        from cortex.index.engines.whoosh.segment import BuildFailed, build, build_parallel  # noqa: PLC0415

        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, STATE))
        store.remove(self.index)
        paths = list(stamps)
        numbers = {path: number for number, path in enumerate(paths, start=1)}
        reading = partial(_read_document, self.root, stamps, numbers)
        with Catalogue.create(self.folder) as catalogue:
            done = 0

            def noted(path: str, read: _Read) -> None:
                nonlocal done
                done += 1
                if not read.hash:
                    self.unread.add(path)
                catalogue.put(*read, number=numbers[path])
                self.progress("indexing", done, len(paths))

            if self.cores > 1 and len(paths) >= _WORTH_TWO:
                try:
                    build_parallel(self.index, SCHEMA, paths, reading, noted, procs=self.cores)
                except BuildFailed as error:  # a process was killed, for want of memory perhaps
                    raise Damaged(str(error)) from error
            else:
                build(self.index, SCHEMA, _each(paths, reading, noted))
            catalogue.commit()

    def _change(self, stamps: dict[str, str], held: dict[str, str], *, words: bool) -> None:
        """Only what differs from the last look. A note whose bytes are the same costs its reading, no more; one of which the
        index knows everything by another path, or from before an edit, takes over the number that is free now."""
        gone = held.keys() - stamps.keys()
        touched = [path for path, stamp in stamps.items() if held.get(path) != stamp]
        with Catalogue(self.folder, writable=True) as catalogue:
            changed: list[_Read] = []
            for count, path in enumerate(touched, start=1):
                known = catalogue.hash_of(path)
                card, content_hash = load(
                    self.root, path, stamps[path], known[1] if known else None
                )
                if not content_hash:
                    self.unread.add(path)
                if card is not None:
                    changed.append(
                        _Read(card if words else card._replace(body=""), content_hash, told(card))
                    )
                elif path in held:
                    catalogue.touch(path, _seconds(held[path]), _seconds(stamps[path]))
                self.progress("indexing", count, len(touched))
            # All that go let their numbers go before any comes: files may have swapped their names.
            free: defaultdict[bytes, list[int]] = defaultdict(list)
            for path in (*gone, *(read.card.path for read in changed)):
                if dropped := catalogue.drop(path):
                    free[dropped[1]].append(dropped[0])
            cards: dict[int, Card] = {}
            for read in changed:
                if numbers := free.get(read.told):
                    catalogue.put(*read, number=numbers.pop())
                else:
                    number = catalogue.put(*read)
                    catalogue.to_tell(number)
                    cards[number] = read.card
            for numbers in free.values():
                for number in numbers:
                    catalogue.to_forget(number)
            if words and catalogue.is_untold():
                from cortex.index.engines.whoosh import index  # noqa: PLC0415  as above

                dropped_numbers, added = catalogue.untold()
                index.change(
                    self.index, dropped_numbers, self._documents(catalogue, added, cards, stamps)
                )
                catalogue.all_told()
            catalogue.commit()

    def _documents(
        self,
        catalogue: Catalogue,
        added: list[tuple[int, str]],
        cards: dict[int, Card],
        stamps: dict[str, str],
    ) -> Iterator[Document]:
        """What the index is told of notes; those that an earlier look has read are read again."""
        for number, path in added:
            card: Card | None = cards.get(number)
            if card is None:
                card, content_hash = load(self.root, path, stamps[path])
                assert card is not None  # as below
                if not content_hash:
                    self.unread.add(path)
                # It may have changed since the scan: then the catalogue has to say what the index says.
                catalogue.put(card, content_hash, told(card), number=number)
            yield document(number, card)


class _Read(NamedTuple):
    """A note as it was read: for the catalogue, so its text may be left out."""

    card: Card
    hash: bytes  # of its bytes; empty when it could not be read
    told: bytes


def document(number: int, card: Card) -> Document:
    """What the index is told of a note."""
    return {
        "number": str(number),
        "column": number,
        "tier": str(card.tier),
        "head": _head(card),
        "body": card.body,
    }


def told(card: Card) -> bytes:
    """A digest of what the index is told of a note, but for its number."""
    head = _head(card).encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(b"%d %d\n%b" % (card.tier, len(head), head), digest_size=16)
    digest.update(card.body.encode("utf-8", "surrogatepass"))
    return digest.digest()


def _head(card: Card) -> str:
    return "\n".join([card.title, *card.aliases, *(tag.replace("/", " ") for tag in card.tags)])


def _each(
    paths: list[str],
    reading: Callable[[str], tuple[Document, _Read]],
    noted: Callable[[str, _Read], None],
) -> Iterator[Document]:
    """The documents of the paths, read one after the other, each noted before the index has it."""
    for path in paths:
        known, read = reading(path)
        noted(path, read)
        yield known


def _read_document(
    root: str, stamps: dict[str, str], numbers: dict[str, int], path: str
) -> tuple[Document, _Read]:
    """A note for the index, and for the catalogue its card without the text: what a building process sends back."""
    card, content_hash = load(root, path, stamps[path])
    assert card is not None  # only a known hash gives none
    return document(numbers[path], card), _Read(card._replace(body=""), content_hash, told(card))


def load(
    root: str, path: str, stamp: str, known_hash: bytes | None = None
) -> tuple[Card | None, bytes]:
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
        return card._replace(
            problems=(Problem(path, f"cannot be read: {reason}", "check its permissions"),)
        ), b""
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
