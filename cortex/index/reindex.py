"""Update catalogue and full-text index from changed notes, under the lock of `refresh`."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Literal

from cortex.core.markdown.passages import TextPassage, passages
from cortex.core.model.caller import ProgressCallback
from cortex.core.model.layout import ACTIVE, QUEUE
from cortex.core.model.note_status import MAX_NOTE_BYTES, TIER_TRAIL
from cortex.core.model.problem import CortexError, Problem, reason_of
from cortex.core.ranking.note_score import context_words, series_key
from cortex.index import state_file
from cortex.index.catalogue import NoteSummary, WritableCatalogue, hash_content
from cortex.index.engines.engine import Document
from cortex.index.file_scan import TEMPLATE_MARK, Snapshot, scan_vault
from cortex.index.full_text import ENGINES, asked_engine, choose_engine, load_engine
from cortex.index.note_summary import summarize_note
from cortex.index.state_file import open_catalogue
from cortex.index.vectors.vector_file import text_key
from cortex.vault import files, private, settings
from cortex.vault.extra import FAST, install_command
from cortex.vault.git import checkout, git_cli
from cortex.vault.layout import SETTINGS_FILE, layout_of
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
        said = settings.load_cached(self.root)
        pages = f"{said.zone.name} {said.form}"
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
            if state and (choose_engine(engine), pages) != (
                choose_engine(state.engine),
                state.pages,
            ):
                state = None
            ignored = state.ignored if state else self._list_git_ignored(noted)
            seen = scan_vault(self.root, exclude, ignored)
        stamps_before = (
            state_file.decode_stamps(state_file.read_stamps(self.folder)) if state else {}
        )
        is_unknown = state and any(one.where == ".git" for one in state.noted)  # git failed
        is_new = state and (
            seen.rule_stamps != state.rules or seen.stamps.keys() - stamps_before.keys()
        )
        if state and (is_unknown or is_new):
            ignored = self._list_git_ignored(noted, state.ignored)
            if ignored != state.ignored:
                seen = scan_vault(self.root, exclude, ignored)
        elif state:
            noted += [problem for problem in state.noted if problem.where == ".git"]
        if state is not None:
            # Until the new seal is written, a crash here means a rebuild.
            os.unlink(os.path.join(self.folder, state_file.STATE_FILE))
            self._apply_changes(seen.stamps, stamps_before, words=words)
        else:
            self._rebuild(seen.stamps, choose_engine(engine), "new" if rebuild else "next")
        problems = tuple(noted)
        again = seen._replace(racy=seen.racy | self.unreadable)
        stamps = state_file.encode_stamps(again, for_later=True)
        private.replace(os.path.join(self.folder, state_file.STAMPS_FILE), stamps)
        seal = state_file.compute_seal(self.folder)
        fresh = state_file.IndexState(
            toml, exclude, seen.rule_stamps, ignored, problems, seal, engine, pages
        )
        data = json.dumps({"format": state_file.FORMAT, **fresh._asdict()}).encode()
        private.replace(os.path.join(self.folder, state_file.STATE_FILE), data)
        return ("updated" if state else "built"), seen, problems

    def _load_settings(self) -> tuple[tuple[str, ...], str, list[Problem]]:
        """The `exclude`, the engine and the problems of the settings; of unreadable ones those of
        the last index. Raises `CortexError` if there is none, and private notes might be indexed."""
        wanted = settings.load(self.root)
        if wanted.is_readable:
            noted = list(wanted.problems)
            if asked_engine(wanted.engine) == "tantivy" != choose_engine(wanted.engine):
                message = "[index] engine is tantivy, of which no fit version is installed"
                noted.append(Problem(SETTINGS_FILE, message, install_command(FAST)))
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
        """What git leaves out, and runs that have not ended; where git fails, what was `known` before."""
        going_on = {f"{layout_of(self.root).path(one)}/" for one in (ACTIVE, QUEUE)}
        if not checkout.is_in_repository(self.root):
            return tuple(sorted(going_on))
        try:
            return tuple(sorted(going_on | git_cli.list_ignored(self.root)))
        except CortexError as error:
            message = f"cannot tell what git ignores, so no more is left out: {error.message}"
            noted.append(Problem(".git", message, error.hint))
            return known

    def _rebuild(self, stamps: dict[str, str], engine: str, to: Literal["new", "next"]) -> None:
        """Rebuild catalogue and index; the change feed goes on unless somebody asked for that."""
        private.remove(os.path.join(self.folder, state_file.STATE_FILE))
        private.remove(self.index_folder)
        paths = list(stamps)
        numbers = {path: number for number, path in enumerate(paths, start=1)}
        reading = partial(_read_note, self.root, stamps, numbers)
        with open_catalogue(self.folder, to) as catalogue:
            done = count(1)

            def put(path: str, note: NoteSummary) -> None:
                self._remember_if_unreadable(note)
                catalogue.put_note(note, numbers[path])
                self.progress("indexing", next(done), len(paths))

            try:
                ENGINES[engine]().build(self.index_folder, paths, reading, put, cores=self.cores)
            except BaseException:  # half an index would take room that somebody may have to make
                private.remove(self.index_folder)
                raise
            catalogue.commit()

    def _apply_changes(self, stamps: dict[str, str], known: dict[str, str], *, words: bool) -> None:
        """Apply what differs from the last refresh. A note with the same bytes costs only its
        reading; one with the same document as a note that went takes over its number."""
        with open_catalogue(self.folder, "write") as catalogue:
            changed = list(self._read_changed(catalogue, stamps, known, words=words))
            self.has_edited_minutes = any(
                note.row.type == "meeting" and note.row.events and note.row.path in known
                for note in changed
            )
            # All that go let their numbers go before any comes: files may have swapped their names.
            free: defaultdict[bytes, list[int]] = defaultdict(list)
            for path in (*(known.keys() - stamps.keys()), *(note.row.path for note in changed)):
                if dropped := catalogue.delete_note(path):
                    free[dropped[1]].append(dropped[0])
            added: dict[int, NoteSummary] = {}
            for note in changed:
                if numbers := free.get(note.index_digest):
                    catalogue.put_note(note, numbers.pop())
                else:
                    number = catalogue.put_note(note)
                    catalogue.queue_addition(number)
                    added[number] = note
            for numbers in free.values():
                for number in numbers:
                    catalogue.queue_removal(number)
            removed, queued = catalogue.read_backlog() if words else ([], [])
            if removed or queued:
                documents = self._backlog_documents(catalogue, queued, added, stamps)
                load_engine(self.index_folder).update(self.index_folder, removed, documents)
                catalogue.clear_backlog()
            catalogue.commit()

    def _read_changed(
        self,
        catalogue: WritableCatalogue,
        stamps: dict[str, str],
        known: dict[str, str],
        *,
        words: bool,
    ) -> Iterator[NoteSummary]:
        """The notes with other bytes than at the last refresh; their text only with `words`."""
        touched = [path for path, stamp in stamps.items() if known.get(path) != stamp]
        for done, path in enumerate(touched, start=1):
            last = catalogue.number_and_hash(path)
            note = load_note(self.root, path, stamps[path], last[1] if last else None)
            if note is not None:
                self._remember_if_unreadable(note)
                yield note if words else note._replace(body="")
            elif path in known:
                if last and not last[1]:
                    self.unreadable.add(path)
                before, after = (_mtime_seconds(some[path]) for some in (known, stamps))
                catalogue.update_date(path, before, after)
            self.progress("indexing", done, len(touched))

    def _backlog_documents(
        self,
        catalogue: WritableCatalogue,
        queued: list[tuple[int, str]],
        loaded: dict[int, NoteSummary],
        stamps: dict[str, str],
    ) -> Iterator[Document]:
        """The full-text documents of the queued notes; one that an earlier refresh queued is loaded
        again."""
        for number, path in queued:
            note = loaded.get(number) or load_note(self.root, path, stamps[path])
            assert note is not None  # None is returned only for a known hash
            if number not in loaded:
                self._remember_if_unreadable(note)
                # It may have changed since the scan; catalogue and index must agree.
                catalogue.put_note(note, number)
            yield from make_documents(number, note)

    def _remember_if_unreadable(self, note: NoteSummary) -> None:
        if not note.content_hash:
            self.unreadable.add(note.row.path)


def make_documents(number: int, note: NoteSummary) -> list[Document]:
    """The documents of a note for the full-text index: one for each passage, at least one."""
    first = {
        "head": _head_text(note),
        "context": context_words(note.body, note.when) or None,
        "series": series_key(note.row.path, note.when),
    }
    return [
        {"number": number, "tier": note.row.tier, "part": place, "body": one.text}
        | {"around": one.around or None}
        | (first if place == 0 else {})
        for place, one in enumerate(passages(note.body) or (TextPassage(0, "", ""),))
    ]


def passage_texts(note: NoteSummary) -> list[str]:
    """The text of each passage that the full-text index has of a note, in the same order, with the
    words that say what it is about; none of raw code, and of pages and events that only repeat others."""
    found = passages(note.body)
    title = note.row.title
    if not found or note.is_raw_code:
        return [title] if note.row.tier != TIER_TRAIL and not note.is_raw_code else []
    heads = ("\n".join(dict.fromkeys([title, *one.around.split("\n")])) for one in found)
    return [
        f"{head}\n{one.text}"[:_MAX_EMBEDDED_CHARS] for head, one in zip(heads, found, strict=True)
    ]


def _head_text(note: NoteSummary) -> str:
    tags = (tag.replace("/", " ") for tag in note.row.tags)
    return "\n".join([note.row.title, *note.aliases, *tags])


def _index_digest(note: NoteSummary) -> bytes:
    """A digest of what the documents of a note are made from, without its number."""
    head = f"{_head_text(note)}\n{note.when}".encode("utf-8", "surrogatepass")
    made_from = (note.row.tier, series_key(note.row.path, note.when), len(head), head)
    body = note.body.encode("utf-8", "surrogatepass")
    return hash_content(b"%d %d %d\n%b%b" % (*made_from, body))


def _read_note(
    root: str, stamps: dict[str, str], numbers: dict[str, int], path: str
) -> tuple[list[Document], NoteSummary]:
    """The documents of a note, and it for the catalogue, without text. Runs in build processes."""
    note = load_note(root, path, stamps[path])
    assert note is not None  # None is returned only for a known hash
    return make_documents(numbers[path], note), note._replace(body="")


def load_note(
    root: str, path: str, stamp: str, known_hash: bytes | None = None
) -> NoteSummary | None:
    """The summary of a note; None when its content hash is `known_hash`. A file that cannot be read
    gives a summary with that problem, and an empty hash."""
    mtime = _mtime_seconds(stamp)
    try:
        data = files.read(root, path, MAX_NOTE_BYTES + 1)
    except (OSError, CortexError) as error:
        if known_hash == b"":
            return None  # it could not be read the last time either
        problem = Problem(path, f"cannot be read: {reason_of(error)}", "check its permissions")
        return _with_hashes(summarize_note(path, b"", mtime)._replace(problems=(problem,)), b"")
    is_template = stamp.endswith(TEMPLATE_MARK)
    content_hash = hash_content(data + b"\0" if is_template else data)
    if content_hash == known_hash:
        return None
    text = data
    if len(data) > MAX_NOTE_BYTES:  # whole lines
        text = data[: data.rfind(b"\n", 0, MAX_NOTE_BYTES) + 1] or data[:MAX_NOTE_BYTES]
    said = settings.load_cached(root)
    note = summarize_note(path, text, mtime, said.zone, said.form, is_template=is_template)
    if text is not data:
        problem = Problem(path, "is larger than 1 MB; only its beginning is searched", "split the note")  # fmt: skip
        told = (problem,) if note.row.tier != TIER_TRAIL else ()  # what Cortex writes nobody splits
        note = note._replace(problems=(*note.problems, *told))
    return _with_hashes(note, content_hash)


def _with_hashes(note: NoteSummary, content_hash: bytes) -> NoteSummary:
    """A summary with the hashes by which the next refresh tells what has changed, and the keys of
    its passages: equal texts have equal keys."""
    keys = b"".join(map(text_key, passage_texts(note)))
    digest = _index_digest(note)
    return note._replace(content_hash=content_hash, index_digest=digest, passage_keys=keys)


def _mtime_seconds(stamp: str) -> int:
    """The modification time that a stamp begins with, in seconds; 0 in a stamp that is none."""
    nanoseconds = stamp.partition(".")[0]
    return int(nanoseconds) // 1_000_000_000 if nanoseconds.isdecimal() else 0
