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

from cortex.core.model.caller import ProgressCallback
from cortex.core.model.note_status import MAX_NOTE_BYTES
from cortex.core.model.problem import CortexError, Problem
from cortex.index.catalogue import Catalogue, IndexDamaged
from cortex.index.file_scan import Snapshot
from cortex.index.note_summary import NoteSummary, summarize_note
from cortex.index.refresh import (
    FORMAT,
    INDEX_FOLDER,
    STAMPS_FILE,
    STATE_FILE,
    IndexState,
    compute_seal,
    decode_stamps,
    encode_stamps,
    file_stamp,
    load_valid_state,
    read_stamps,
    scan_notes,
    write_file,
)
from cortex.vault import files, settings
from cortex.vault.git import checkout, git_cli
from cortex.vault.state import store

Document: TypeAlias = "dict[str, object]"
_MIN_PARALLEL_NOTES = 400  # notes; below, a second process costs more than it saves


def reindex(
    root: str, folder: str, progress: ProgressCallback, *, rebuild: bool, words: bool, cores: int
) -> tuple[str, Snapshot, tuple[Problem, ...]]:
    """Bring what lies in `folder` up to the notes as they are; answers how it was found (updated, built), what lies
    in the vault, and what is wrong with its settings and repository. Without `words`, an index that is there stays behind."""
    return _Reindexing(root, folder, progress, cores).run(rebuild=rebuild, words=words)


class _Reindexing:
    """One bringing up to date, by the process that holds the lock."""

    def __init__(self, root: str, folder: str, progress: ProgressCallback, cores: int) -> None:
        self.cores = cores
        self.unreadable: set[str] = (
            set()
        )  # notes that could not be read: they are tried again at the next look
        self.root = root
        self.folder = folder
        self.index_folder = os.path.join(folder, INDEX_FOLDER)
        self.progress = progress

    def run(self, *, rebuild: bool, words: bool) -> tuple[str, Snapshot, tuple[Problem, ...]]:
        state = None if rebuild else load_valid_state(self.folder)
        wanted = settings.load(self.root)
        noted = list(wanted.problems)
        ignored = state.ignored if state else self._list_git_ignored(noted)
        seen = scan_notes(self.root, wanted.exclude, ignored)
        held = decode_stamps(read_stamps(self.folder)) if state else {}
        if state and (seen.rule_stamps != state.rules or seen.stamps.keys() - held.keys()):
            ignored = self._list_git_ignored(noted)
            if ignored != state.ignored:
                seen = scan_notes(self.root, wanted.exclude, ignored)
        elif state:
            noted += [problem for problem in state.noted if problem.where == ".git"]
        if state is not None:
            # From here until the new seal is written, what lies in the cache is in between: a crash means a rebuild.
            os.unlink(os.path.join(self.folder, STATE_FILE))
            self._apply_changes(seen.stamps, held, words=words)
        else:
            self._rebuild(seen.stamps)
        problems = tuple(noted)
        write_file(
            self.folder,
            STAMPS_FILE,
            encode_stamps(seen._replace(racy=seen.racy | self.unreadable), for_later=True),
        )
        toml = file_stamp(os.path.join(self.root, "cortex.toml"))
        fresh = IndexState(
            toml, wanted.exclude, seen.rule_stamps, ignored, problems, compute_seal(self.folder)
        )
        write_file(
            self.folder, STATE_FILE, json.dumps({"format": FORMAT, **fresh._asdict()}).encode()
        )
        return ("updated" if state else "built"), seen, problems

    def _list_git_ignored(self, noted: list[Problem]) -> tuple[str, ...]:
        if not checkout.is_in_repository(self.root):
            return ()
        try:
            return tuple(sorted(git_cli.list_ignored(self.root)))
        except CortexError as error:
            noted.append(
                Problem(
                    ".git",
                    f"cannot tell what git ignores, so nothing is left out: {error.message}",
                    error.hint,
                )
            )
            return ()

    def _rebuild(self, stamps: dict[str, str]) -> None:
        """Everything anew."""
        # Whoosh costs 30 ms; `show` and `normalize` need none when nothing has changed.
        from cortex.index.engines.whoosh.segment import (  # noqa: PLC0415
            BuildFailed,
            build_index,
            build_index_parallel,
        )
        from cortex.index.engines.whoosh.whoosh_index import SCHEMA  # noqa: PLC0415

        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, STATE_FILE))
        store.remove(self.index_folder)
        paths = list(stamps)
        numbers = {path: number for number, path in enumerate(paths, start=1)}
        reading = partial(_read_note, self.root, stamps, numbers)
        with Catalogue.create(self.folder) as catalogue:
            done = 0

            def noted(path: str, read: _IndexedNote) -> None:
                nonlocal done
                done += 1
                if not read.content_hash:
                    self.unreadable.add(path)
                catalogue.put_note(*read, number=numbers[path])
                self.progress("indexing", done, len(paths))

            if self.cores > 1 and len(paths) >= _MIN_PARALLEL_NOTES:
                try:
                    build_index_parallel(
                        self.index_folder, SCHEMA, paths, reading, noted, procs=self.cores
                    )
                except BuildFailed as error:  # a process was killed, for want of memory perhaps
                    raise IndexDamaged(str(error)) from error
            else:
                build_index(self.index_folder, SCHEMA, _read_documents(paths, reading, noted))
            catalogue.commit()

    def _apply_changes(self, stamps: dict[str, str], held: dict[str, str], *, words: bool) -> None:
        """Only what differs from the last look. A note whose bytes are the same costs its reading, no more; one of which the
        index knows everything by another path, or from before an edit, takes over the number that is free now."""
        gone = held.keys() - stamps.keys()
        touched = [path for path, stamp in stamps.items() if held.get(path) != stamp]
        with Catalogue(self.folder, writable=True) as catalogue:
            changed: list[_IndexedNote] = []
            for count, path in enumerate(touched, start=1):
                known = catalogue.number_and_hash(path)
                card, content_hash = load_summary(
                    self.root, path, stamps[path], known[1] if known else None
                )
                if not content_hash:
                    self.unreadable.add(path)
                if card is not None:
                    changed.append(
                        _IndexedNote(
                            card if words else card._replace(body=""),
                            content_hash,
                            index_digest(card),
                        )
                    )
                elif path in held:
                    catalogue.update_date(
                        path, _mtime_seconds(held[path]), _mtime_seconds(stamps[path])
                    )
                self.progress("indexing", count, len(touched))
            # All that go let their numbers go before any comes: files may have swapped their names.
            free: defaultdict[bytes, list[int]] = defaultdict(list)
            for path in (*gone, *(read.summary.path for read in changed)):
                if dropped := catalogue.delete_note(path):
                    free[dropped[1]].append(dropped[0])
            cards: dict[int, NoteSummary] = {}
            for read in changed:
                if numbers := free.get(read.index_digest):
                    catalogue.put_note(*read, number=numbers.pop())
                else:
                    number = catalogue.put_note(*read)
                    catalogue.queue_addition(number)
                    cards[number] = read.summary
            for numbers in free.values():
                for number in numbers:
                    catalogue.queue_removal(number)
            if words and catalogue.has_backlog():
                from cortex.index.engines.whoosh import whoosh_index  # noqa: PLC0415  as above

                dropped_numbers, added = catalogue.read_backlog()
                whoosh_index.update_index(
                    self.index_folder,
                    dropped_numbers,
                    self._backlog_documents(catalogue, added, cards, stamps),
                )
                catalogue.clear_backlog()
            catalogue.commit()

    def _backlog_documents(
        self,
        catalogue: Catalogue,
        added: list[tuple[int, str]],
        cards: dict[int, NoteSummary],
        stamps: dict[str, str],
    ) -> Iterator[Document]:
        """What the index is told of notes; those that an earlier look has read are read again."""
        for number, path in added:
            card: NoteSummary | None = cards.get(number)
            if card is None:
                card, content_hash = load_summary(self.root, path, stamps[path])
                assert card is not None  # as below
                if not content_hash:
                    self.unreadable.add(path)
                # It may have changed since the scan: then the catalogue has to say what the index says.
                catalogue.put_note(card, content_hash, index_digest(card), number=number)
            yield make_document(number, card)


class _IndexedNote(NamedTuple):
    """A note as it was read: for the catalogue, so its text may be left out."""

    summary: NoteSummary
    content_hash: bytes  # of its bytes; empty when it could not be read
    index_digest: bytes


def make_document(number: int, card: NoteSummary) -> Document:
    """What the index is told of a note."""
    return {
        "number": str(number),
        "column": number,
        "tier": str(card.tier),
        "head": _head_text(card),
        "body": card.body,
    }


def index_digest(card: NoteSummary) -> bytes:
    """A digest of what the index is told of a note, but for its number."""
    head = _head_text(card).encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(b"%d %d\n%b" % (card.tier, len(head), head), digest_size=16)
    digest.update(card.body.encode("utf-8", "surrogatepass"))
    return digest.digest()


def _head_text(card: NoteSummary) -> str:
    return "\n".join([card.title, *card.aliases, *(tag.replace("/", " ") for tag in card.tags)])


def _read_documents(
    paths: list[str],
    reading: Callable[[str], tuple[Document, _IndexedNote]],
    noted: Callable[[str, _IndexedNote], None],
) -> Iterator[Document]:
    """The documents of the paths, read one after the other, each noted before the index has it."""
    for path in paths:
        known, read = reading(path)
        noted(path, read)
        yield known


def _read_note(
    root: str, stamps: dict[str, str], numbers: dict[str, int], path: str
) -> tuple[Document, _IndexedNote]:
    """A note for the index, and for the catalogue its card without the text: what a building process sends back."""
    card, content_hash = load_summary(root, path, stamps[path])
    assert card is not None  # only a known hash gives none
    return make_document(numbers[path], card), _IndexedNote(
        card._replace(body=""), content_hash, index_digest(card)
    )


def load_summary(
    root: str, path: str, stamp: str, known_hash: bytes | None = None
) -> tuple[NoteSummary | None, bytes]:
    """A note's card and the hash of what was read of it; no card when the hash is the known one. A file that cannot
    be read gives a card that says so."""
    mtime = _mtime_seconds(stamp)
    try:
        data = files.read(root, path, MAX_NOTE_BYTES + 1)
    except (OSError, CortexError) as error:
        if known_hash == b"":
            return None, b""  # it could not be read the last time either
        reason = error.message if isinstance(error, CortexError) else error.strerror or str(error)
        card = summarize_note(path, b"", mtime)
        return card._replace(
            problems=(Problem(path, f"cannot be read: {reason}", "check its permissions"),)
        ), b""
    content_hash = hashlib.blake2b(data, digest_size=16).digest()
    if content_hash == known_hash:
        return None, content_hash
    if len(data) <= MAX_NOTE_BYTES:
        return summarize_note(path, data, mtime), content_hash
    whole_lines = data[: data.rfind(b"\n", 0, MAX_NOTE_BYTES) + 1] or data[:MAX_NOTE_BYTES]
    card = summarize_note(path, whole_lines, mtime)
    problem = Problem(path, "is larger than 1 MB; only its beginning is searched", "split the note")
    return card._replace(problems=(*card.problems, problem)), content_hash


def _mtime_seconds(stamp: str) -> int:
    """The modification time that a stamp begins with, in seconds; 0 in a stamp that is none."""
    nanoseconds = stamp.partition(".")[0]
    return int(nanoseconds) // 1_000_000_000 if nanoseconds.isdecimal() else 0
