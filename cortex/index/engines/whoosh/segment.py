"""A whole index, written at once: in this process, or in several that each read their share of the
notes.

Whoosh's own writers sort every posting twice and hand it on one at a time; here postings lie by
term until a segment is finished. The table of contents is written last, so a folder holds a whole
index or none. Whoosh's own parallel writer lost 50 of 400 notes without an error when one of its
processes was killed; here the end of a process is an exception.
"""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from cortex.core.model.problem import CortexError
from cortex.index.engines.analysis import term_positions
from cortex.index.engines.engine import Document
from cortex.index.engines.whoosh.postings import CompactCodec, ProseField
from cortex.index.engines.whoosh.whoosh_import import (
    TOC,
    FileStorage,
    byte_to_length,
    fields,
    length_to_byte,
    whoosh3,
)

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_Aside = TypeVar("_Aside")
_PostingsByTerm: TypeAlias = "defaultdict[bytes, list[Any]]"

_INDEX_NAME = "MAIN"
_MAX_POSTINGS = 6_000_000  # of a segment in the making: 16,000 notes of 6 kB, 300 MB
_NOTES_PER_MESSAGE = 32  # notes between two messages of a building process


class BuildFailed(Exception):
    """A process that was writing the index ended early; nothing of the index is left."""


def build_index(folder: str, schema: fields.Schema, documents: Iterable[Document]) -> int:
    """Write an index of the documents into an empty folder; answers how many there are. None of the
    `_boost` and `_stored_...` keys of Whoosh's writers. Takes 300 MB at 16,000 notes of 6 kB, where
    a further segment begins."""
    with _NewIndexFolder(folder) as whole:
        return whole.write_toc(schema, write_segments(folder, schema, documents))


def build_index_parallel(
    folder: str,
    schema: fields.Schema,
    paths: Sequence[str],
    load: Callable[[str], tuple[Sequence[Document], _Aside]],
    noted: Callable[[str, _Aside], None],
    *,
    procs: int = 2,
) -> int:
    """Write an index into an empty folder in `procs` processes, each of which loads its share of
    `paths` itself.

    `load` gives a path's documents, and anything else that is wanted here: `noted` gets it
    in this process, once for every path, in no order. `load` has to be a function of a module or a
    `partial` of one: where forking is unsafe (`_is_fork_safe`) the processes start afresh and
    import it. An OSError or a CortexError in one of them is raised here; any other end of one is
    `BuildFailed`.
    """
    # 20 ms that searching need not spend.
    from multiprocessing import connection, get_context  # noqa: PLC0415

    fork = _is_fork_safe()
    context = get_context("fork") if fork else get_context("spawn")
    workers: dict[Connection, BaseProcess] = {}
    shares: dict[Connection, Iterator[str]] = {}
    made: dict[Connection, tuple[whoosh3.W3Segment, ...]] = {}
    with _NewIndexFolder(folder) as whole:
        try:
            for part in range(procs):
                receiver, sender = context.Pipe(duplex=False)
                inherited = (*workers, receiver) if fork else ()
                worker = context.Process(
                    target=_run_worker,
                    args=(sender, folder, schema, paths[part::procs], load),
                    kwargs={"inherited": inherited},
                    daemon=True,
                )
                worker.start()
                sender.close()  # so that the end of the worker is the end of what it sends
                workers[receiver], shares[receiver] = worker, iter(paths[part::procs])
            while len(made) < procs:
                ready = connection.wait([receiver for receiver in workers if receiver not in made])
                for receiver in [receiver for receiver in workers if receiver in ready]:
                    received: list[_Aside] | tuple[whoosh3.W3Segment, ...] = _receive_message(
                        receiver, workers[receiver]
                    )
                    if isinstance(received, tuple):
                        made[receiver] = received
                    else:
                        for aside, path in zip(received, shares[receiver], strict=False):
                            noted(path, aside)
            segments = [segment for receiver in workers for segment in made[receiver]]
            return whole.write_toc(schema, segments)
        finally:
            for each in workers.values():
                each.terminate()
                each.join()


def _receive_message(
    receiver: Connection, worker: BaseProcess
) -> list[_Aside] | tuple[whoosh3.W3Segment, ...]:
    try:
        message: Any = receiver.recv()
    except (EOFError, ConnectionError) as error:
        worker.join()
        why = f"a process that wrote the index ended early, with {worker.exitcode}"
        raise BuildFailed(why) from error
    if isinstance(message, OSError | CortexError):
        raise message
    received: list[_Aside] | tuple[whoosh3.W3Segment, ...] = message
    return received


def _is_fork_safe() -> bool:
    """Whether this process has one thread, also by what `threading` ignores. Only Linux says so."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _run_worker(
    sender: Connection,
    folder: str,
    schema: fields.Schema,
    share: Sequence[str],
    load: Callable[[str], tuple[Sequence[Document], _Aside]],
    *,
    inherited: Iterable[Connection],
) -> None:
    """What a process of `build_index_parallel` does: sends lists of asides, and at the end its
    segments or an error. A fork has a copy of every receiver so far; it closes them, or sending
    would wait for ever once the process that receives was killed."""
    for receiver in inherited:
        receiver.close()
    import signal  # noqa: PLC0415  0.6 ms, of a build alone

    # Ctrl-C reaches all processes; the one that waits ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = os.getppid()

    def documents() -> Iterator[Document]:
        for start in range(0, len(share), _NOTES_PER_MESSAGE):
            if os.getppid() != parent:
                raise SystemExit
            asides = []
            for path in share[start : start + _NOTES_PER_MESSAGE]:
                documents, aside = load(path)
                asides.append(aside)
                yield from documents
            sender.send(asides)

    try:
        sender.send(tuple(write_segments(folder, schema, documents())))
    except BrokenPipeError:
        pass  # the process that receives was killed
    except (OSError, CortexError) as error:
        sender.send(error)


class _NewIndexFolder:
    """A folder that in the end holds a whole index or nothing."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, 0o700, exist_ok=True)
        if os.listdir(folder):
            raise FileExistsError(f"{folder} is not empty")
        self.folder = folder
        self.is_published = False

    def write_toc(self, schema: fields.Schema, segments: list[whoosh3.W3Segment]) -> int:
        TOC(schema, segments, 0).write(FileStorage(self.folder), _INDEX_NAME)
        self.is_published = True
        return sum(segment.doc_count_all() for segment in segments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for place, folders, files in os.walk(self.folder, topdown=False):
            for name in folders:
                os.rmdir(os.path.join(place, name))
            for name in files:
                if place != self.folder or not self.is_published:
                    os.unlink(os.path.join(place, name))


def write_segments(
    folder: str, schema: fields.Schema, documents: Iterable[Document]
) -> list[whoosh3.W3Segment]:
    """Write the documents as segments, which the caller adds to a table of contents."""
    segments: list[whoosh3.W3Segment] = []
    writer, thresholds = None, gc.get_threshold()
    # Lists only grow, nothing is garbage: a full collection would take a sixth of the time.
    gc.set_threshold(*thresholds[:2], 1_000_000)
    try:
        for document in documents:
            # Not within a note: its passages stay together, whatever segments are merged later.
            if writer and writer.posting_count >= _MAX_POSTINGS and not document.get("part"):
                segments.append(writer.finish())
                writer = None
            writer = writer or _SegmentWriter(FileStorage(folder), schema)
            writer.add_document(document)
        return [*segments, writer.finish()] if writer else segments
    finally:
        gc.set_threshold(*thresholds)
        if writer:
            writer.close()


class _SegmentWriter:
    """A segment in the making. Postings are held by term until the end: only terms are sorted."""

    def __init__(self, storage: FileStorage, schema: fields.Schema) -> None:
        codec = CompactCodec()
        self._segment = codec.new_segment(storage, _INDEX_NAME)
        self._document_writer = codec.per_document_writer(storage, self._segment)
        self._terms_writer = codec.field_writer(storage, self._segment)
        self._fields: dict[str, fields.FieldType] = dict(schema.items())
        # Of a Prose field: document, places, and so on. Of others: (document, weight, value).
        self._postings_by_field: dict[str, _PostingsByTerm] = {
            name: defaultdict(list) for name in self._fields
        }
        self._lengths = {name: bytearray() for name in self._fields}
        self._document_count = self.posting_count = 0

    def add_document(self, document: Document) -> None:
        self._document_writer.start_doc(self._document_count)
        for name in sorted(document):
            field, value = self._fields[name], document[name]
            if value is not None:
                length = self._add_field(name, field, value)
                kept = value if field.stored else None
                self._document_writer.add_field(name, field, kept, length)
                if field.column_type:
                    cell = field.to_column_value(value)
                    self._document_writer.add_column_value(name, field.column_type, cell)
        self._document_writer.finish_doc()
        self._document_count += 1

    def _add_field(self, name: str, field: fields.FieldType, value: object) -> int:
        """The length of the field in this document, where it has one."""
        lists, number, length = self._postings_by_field[name], self._document_count, 0
        if isinstance(field, ProseField):
            assert isinstance(value, str)
            found = term_positions(value)
            for term, at in found.items():
                postings = lists[term]
                postings.append(number)
                postings.append(at)
            self.posting_count += len(found)
            length = sum(map(len, found.values()))
        elif field.indexed:
            for term, frequency, weight, encoded in field.index(value):
                lists[term].append((number, weight, encoded))
                length += frequency
        if not (length and field.scorable):
            return 0
        lengths = self._lengths[name]
        lengths.extend(bytes(number - len(lengths)))
        lengths.append(length_to_byte(length))
        return length

    def finish(self) -> whoosh3.W3Segment:
        """Write the segment; answers what the table of contents has to say of it."""
        self._document_writer.close()
        self._segment.set_doc_count(self._document_count)
        for name, field in sorted(self._fields.items()):
            lists, lengths = self._postings_by_field.pop(name), self._lengths[name]
            lengths.extend(bytes(self._document_count - len(lengths)))
            if lists:
                self._terms_writer.start_field(name, field)
                for term in sorted(lists):
                    self._write_term(field, term, lists.pop(term), lengths)
                self._terms_writer.finish_field()
        self._terms_writer.close()
        return self._segment

    def close(self) -> None:
        """Close what an error has left open."""
        # Whoosh's writers cannot close what failed.
        columns = self._document_writer._cols  # noqa: SLF001
        terms = self._terms_writer
        for file in (columns._temp, terms._tindex.dbfile, terms._postfile):  # noqa: SLF001
            if not file.is_closed:
                file.close()

    def _write_term(
        self, field: fields.FieldType, term: bytes, postings: list[Any], lengths: bytearray
    ) -> None:
        if isinstance(field, ProseField):
            self._terms_writer.add_term_positions(term, postings[::2], postings[1::2], lengths)
            return
        self._terms_writer.start_term(term)
        for number, weight, encoded in postings:
            self._terms_writer.add(number, weight, encoded, byte_to_length(lengths[number]))
        self._terms_writer.finish_term()
