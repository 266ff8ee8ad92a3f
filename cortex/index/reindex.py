"""Update catalogue and full-text index from changed notes, under the lock of `refresh`."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

from cortex.core.markdown.passages import TextPassage, passages
from cortex.core.model.caller import ProgressCallback
from cortex.core.model.note_status import MAX_NOTE_BYTES, TIER_TRAIL
from cortex.core.model.problem import CortexError, Problem, reason_of
from cortex.core.ranking.note_context import context_words, series_key
from cortex.index import state_file
from cortex.index.catalogue import FILE_NAMES, Catalogue, hash_content
from cortex.index.engines.engine import Document
from cortex.index.file_scan import TEMPLATE_MARK, Snapshot
from cortex.index.full_text import ENGINES, asked_engine, choose_engine, load_engine
from cortex.index.note_summary import NoteSummary, summarize_note
from cortex.index.vectors.vector_file import text_key
from cortex.vault import files, private
from cortex.vault.git import checkout, git_cli
from cortex.vault.layout import SETTINGS_FILE
from cortex.vault.state import briefing_cache

_MAX_EMBEDDED_CHARS = 1200  # of a text; a model reads about as much


class Reindexing:
    """One update of a cache folder, by the process that holds the lock."""

    def __init__(self, root: str, folder: str, progress: ProgressCallback, cores: int) -> None:
        self.root = root
        self.folder = folder
        self.index_folder = os.path.join(folder, state_file.INDEX_FOLDER)
        self.progress = progress
        self.cores = cores
        # Notes that could not be read: they are tried again at the next refresh.
        self.unreadable: set[str] = set()
        self.has_edited_minutes = False

    def run(
        self, known: state_file.KnownScan | None, *, rebuild: bool, words: bool
    ) -> tuple[str, Snapshot, tuple[Problem, ...]]:
        """Read what has changed, by the `known` scan if its state still stands. Returns updated or
        built, the scan, and the problems of settings and repository. Without `words`, an existing full-text index stays behind."""
        state = None if rebuild else state_file.load_valid_state(self.folder)
        if state and known and known.state == state:
            # Nobody has read notes or settings since that scan.
            toml, exclude, seen = state.settings, state.exclude, known.seen
            engine = state.engine
            noted = [problem for problem in state.noted if problem.where != ".git"]
            ignored = state.ignored
        else:
            toml = briefing_cache.file_stamp(os.path.join(self.root, SETTINGS_FILE))
            exclude, engine, noted = self._load_settings()
            if state and choose_engine(engine) != choose_engine(state.engine):
                state = None
            ignored = state.ignored if state else self._list_git_ignored(noted)
            seen = state_file.scan_notes(self.root, exclude, ignored)
        held = state_file.decode_stamps(state_file.read_stamps(self.folder)) if state else {}
        is_unknown = state and any(one.where == ".git" for one in state.noted)  # git failed
        is_new = state and (seen.rule_stamps != state.rules or seen.stamps.keys() - held.keys())
        if state and (is_unknown or is_new):
            ignored = self._list_git_ignored(noted, state.ignored)
            if ignored != state.ignored:
                seen = state_file.scan_notes(self.root, exclude, ignored)
        elif state:
            noted += [problem for problem in state.noted if problem.where == ".git"]
        if state is not None:
            # Until the new seal is written, a crash here means a rebuild.
            os.unlink(os.path.join(self.folder, state_file.STATE_FILE))
            self._apply_changes(seen.stamps, held, words=words)
        else:
            self._rebuild(seen.stamps, choose_engine(engine))
        problems = tuple(noted)
        again = seen._replace(racy=seen.racy | self.unreadable)
        stamps = state_file.encode_stamps(again, for_later=True)
        private.replace(os.path.join(self.folder, state_file.STAMPS_FILE), stamps)
        seal = state_file.compute_seal(self.folder)
        fresh = state_file.IndexState(
            toml, exclude, seen.rule_stamps, ignored, problems, seal, engine
        )
        data = json.dumps({"format": state_file.FORMAT, **fresh._asdict()}).encode()
        private.replace(os.path.join(self.folder, state_file.STATE_FILE), data)
        return ("updated" if state else "built"), seen, problems

    def _load_settings(self) -> tuple[tuple[str, ...], str, list[Problem]]:
        """The `exclude`, the engine and the problems of the settings; of unreadable ones those of
        the last index. Raises `CortexError` if there is none, and private notes might be indexed."""
        from cortex.vault import settings  # noqa: PLC0415  6 ms that one changed note need not pay

        wanted = settings.load(self.root)
        if wanted.is_readable:
            noted = list(wanted.problems)
            if asked_engine(wanted.engine) == "tantivy" != choose_engine(wanted.engine):
                message = "[index] engine is tantivy, of which no fit version is installed"
                noted.append(Problem(SETTINGS_FILE, message, "pip install 'tantivy>=0.27,<1'"))
            return wanted.exclude, wanted.engine, noted
        if state := state_file.load_valid_state(self.folder):
            return state.exclude, state.engine, list(wanted.problems)
        if wanted.may_exclude:
            where = f"{self.root}/{SETTINGS_FILE}"
            message = f"{where} {wanted.problems[0].message}; it may exclude notes from the index"
            raise CortexError(message, wanted.problems[0].hint)
        return wanted.exclude, wanted.engine, list(wanted.problems)

    def _list_git_ignored(
        self, noted: list[Problem], known: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """What git leaves out; where git fails, what was `known` before."""
        if not checkout.is_in_repository(self.root):
            return ()
        try:
            return tuple(sorted(git_cli.list_ignored(self.root)))
        except CortexError as error:
            message = f"cannot tell what git ignores, so no more is left out: {error.message}"
            noted.append(Problem(".git", message, error.hint))
            return known

    def _rebuild(self, stamps: dict[str, str], engine: str) -> None:
        """Rebuild catalogue and index."""
        for name in (state_file.STATE_FILE, *FILE_NAMES):
            private.remove(os.path.join(self.folder, name))
        private.remove(self.index_folder)
        paths = list(stamps)
        numbers = {path: number for number, path in enumerate(paths, start=1)}
        reading = partial(_read_note, self.root, stamps, numbers)
        with Catalogue.create(self.folder) as catalogue:
            done = count(1)

            def put(path: str, read: _IndexedNote) -> None:
                if not read.content_hash:
                    self.unreadable.add(path)
                catalogue.put_note(*read, number=numbers[path])
                self.progress("indexing", next(done), len(paths))

            ENGINES[engine]().build(self.index_folder, paths, reading, put, cores=self.cores)
            catalogue.commit()

    def _apply_changes(self, stamps: dict[str, str], held: dict[str, str], *, words: bool) -> None:
        """Apply what differs from the last refresh. A note with the same bytes costs only its
        reading; one with the same document as a note that went takes over its number."""
        with Catalogue(self.folder, writable=True) as catalogue:
            changed = self._read_changed(catalogue, stamps, held, words=words)
            self.has_edited_minutes = any(
                one.summary.type == "meeting" and one.summary.events and one.summary.path in held
                for one in changed
            )
            # All that go let their numbers go before any comes: files may have swapped their names.
            free: defaultdict[bytes, list[int]] = defaultdict(list)
            for path in (*(held.keys() - stamps.keys()), *(read.summary.path for read in changed)):
                if dropped := catalogue.delete_note(path):
                    free[dropped[1]].append(dropped[0])
            added: dict[int, NoteSummary] = {}
            for read in changed:
                if numbers := free.get(read.index_digest):
                    catalogue.put_note(*read, number=numbers.pop())
                else:
                    number = catalogue.put_note(*read)
                    catalogue.queue_addition(number)
                    added[number] = read.summary
            for numbers in free.values():
                for number in numbers:
                    catalogue.queue_removal(number)
            if words and catalogue.has_backlog():
                removed, queued = catalogue.read_backlog()
                documents = self._backlog_documents(catalogue, queued, added, stamps)
                load_engine(self.index_folder).update(self.index_folder, removed, documents)
                catalogue.clear_backlog()
            catalogue.commit()

    def _read_changed(
        self, catalogue: Catalogue, stamps: dict[str, str], held: dict[str, str], *, words: bool
    ) -> list[_IndexedNote]:
        """The notes with other bytes than at the last refresh; their text only with `words`."""
        touched = [path for path, stamp in stamps.items() if held.get(path) != stamp]
        changed: list[_IndexedNote] = []
        for done, path in enumerate(touched, start=1):
            known = catalogue.number_and_hash(path)
            note, content_hash = load_summary(
                self.root, path, stamps[path], known[1] if known else None
            )
            if not content_hash:
                self.unreadable.add(path)
            if note is not None:
                changed.append(_indexed_note(note, content_hash, keep_body=words))
            elif path in held:
                before, now = (_mtime_seconds(some[path]) for some in (held, stamps))
                catalogue.update_date(path, before, now)
            self.progress("indexing", done, len(touched))
        return changed

    def _backlog_documents(
        self,
        catalogue: Catalogue,
        queued: list[tuple[int, str]],
        read_now: dict[int, NoteSummary],
        stamps: dict[str, str],
    ) -> Iterator[Document]:
        """The documents of queued notes; those that an earlier refresh read are read again."""
        for number, path in queued:
            note: NoteSummary | None = read_now.get(number)
            if note is None:
                note, content_hash = load_summary(self.root, path, stamps[path])
                assert note is not None  # as below
                if not content_hash:
                    self.unreadable.add(path)
                # It may have changed since the scan; catalogue and index must agree.
                catalogue.put_note(
                    *_indexed_note(note, content_hash, keep_body=False), number=number
                )
            yield from make_documents(number, note)


class _IndexedNote(NamedTuple):
    """A note as it was read, for the catalogue; its text may be left out."""

    summary: NoteSummary
    content_hash: bytes  # of its bytes; empty when it could not be read
    index_digest: bytes
    passage_keys: bytes


def make_documents(number: int, card: NoteSummary) -> list[Document]:
    """The documents of a note for the full-text index: one for each passage, at least one."""
    first = {
        "head": _head_text(card),
        "context": context_words(card.body, card.when) or None,
        "series": series_key(card.path, card.when),
    }
    return [
        {"number": number, "tier": card.tier, "part": place, "body": one.text}
        | {"around": one.around or None}
        | (first if place == 0 else {})
        for place, one in enumerate(passages(card.body) or (TextPassage(0, "", ""),))
    ]


def index_digest(card: NoteSummary) -> bytes:
    """A digest of what the documents of a note are made from, without its number."""
    head = f"{_head_text(card)}\n{card.when}".encode("utf-8", "surrogatepass")
    made_from = (card.tier, series_key(card.path, card.when), len(head), head)
    body = card.body.encode("utf-8", "surrogatepass")
    return hash_content(b"%d %d %d\n%b%b" % (*made_from, body))


def passage_texts(note: NoteSummary) -> list[str]:
    """The text of each passage that the full-text index has of a note, in the same order; none of
    pages and events that only repeat others."""
    found = passages(note.body)
    if not found:
        return [note.title] if note.tier != TIER_TRAIL else []
    heads = ("\n".join(dict.fromkeys([note.title, *one.around.split("\n")])) for one in found)
    return [
        f"{head}\n{one.text}"[:_MAX_EMBEDDED_CHARS] for head, one in zip(heads, found, strict=True)
    ]


def passage_keys(note: NoteSummary) -> bytes:
    """The keys of the passages, one after the other. Equal texts have equal keys."""
    return b"".join(map(text_key, passage_texts(note)))


def _head_text(card: NoteSummary) -> str:
    return "\n".join([card.title, *card.aliases, *(tag.replace("/", " ") for tag in card.tags)])


def _indexed_note(note: NoteSummary, content_hash: bytes, *, keep_body: bool) -> _IndexedNote:
    kept = note if keep_body else note._replace(body="")
    return _IndexedNote(kept, content_hash, index_digest(note), passage_keys(note))


def _read_note(
    root: str, stamps: dict[str, str], numbers: dict[str, int], path: str
) -> tuple[list[Document], _IndexedNote]:
    """The documents of a note, and it for the catalogue, without text. Runs in build processes."""
    note, content_hash = load_summary(root, path, stamps[path])
    assert note is not None  # only a known hash gives none
    return make_documents(numbers[path], note), _indexed_note(note, content_hash, keep_body=False)


def load_summary(
    root: str, path: str, stamp: str, known_hash: bytes | None = None
) -> tuple[NoteSummary | None, bytes]:
    """Summary and content hash of a note; no summary when the hash is `known_hash`. A file that
    cannot be read gives a summary with that problem."""
    mtime = _mtime_seconds(stamp)
    try:
        data = files.read(root, path, MAX_NOTE_BYTES + 1)
    except (OSError, CortexError) as error:
        if known_hash == b"":
            return None, b""  # it could not be read the last time either
        problem = Problem(path, f"cannot be read: {reason_of(error)}", "check its permissions")
        return summarize_note(path, b"", mtime)._replace(problems=(problem,)), b""
    is_template = stamp.endswith(TEMPLATE_MARK)
    content_hash = hash_content(data + b"\0" if is_template else data)
    if content_hash == known_hash:
        return None, content_hash
    if len(data) <= MAX_NOTE_BYTES:
        return summarize_note(path, data, mtime, is_template=is_template), content_hash
    whole_lines = data[: data.rfind(b"\n", 0, MAX_NOTE_BYTES) + 1] or data[:MAX_NOTE_BYTES]
    card = summarize_note(path, whole_lines, mtime, is_template=is_template)
    problem = Problem(path, "is larger than 1 MB; only its beginning is searched", "split the note")
    return card._replace(problems=(*card.problems, problem)), content_hash


def _mtime_seconds(stamp: str) -> int:
    """The modification time that a stamp begins with, in seconds; 0 in a stamp that is none."""
    nanoseconds = stamp.partition(".")[0]
    return int(nanoseconds) // 1_000_000_000 if nanoseconds.isdecimal() else 0
