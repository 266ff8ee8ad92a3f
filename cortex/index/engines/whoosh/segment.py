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
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from cortex.core.model.problem import CortexError
from cortex.index.catalogue import IndexDamaged
from cortex.index.engines.analysis import term_positions
from cortex.index.engines.engine import Document
from cortex.index.engines.whoosh.postings import CompactCodec, ProseField
from cortex.index.engines.whoosh.whoosh_import import (
    TOC,
    FileStorage,
    columns,
    fields,
    whoosh3,
)

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_Aside = TypeVar("_Aside")

_INDEX_NAME = "MAIN"
_MAX_POSTINGS = 6_000_000  # of a segment in the making: 16,000 notes of 6 kB, 300 MB
_NOTES_PER_MESSAGE = 32  # notes between two messages of a building process

SCHEMA = fields.Schema(
    number=fields.COLUMN(columns.NumericColumn("i")),
    tier=fields.COLUMN(columns.NumericColumn("i")),
    part=fields.COLUMN(columns.NumericColumn("i")),
    series=fields.COLUMN(columns.NumericColumn("q")),  # these three at the first passage alone
    head=ProseField(),  # title, aliases and tags
    context=ProseField(),  # words of `context_words`
    body=ProseField(),
    around=ProseField(),  # headings above a passage, and what was asked
)


def publish(folder: str, segments: Sequence[whoosh3.W3Segment]) -> None:
    """Write the table of contents, which makes an index of segments."""
    TOC(SCHEMA, segments, 0).write(FileStorage(folder), _INDEX_NAME)
    with suppress(FileNotFoundError):  # an empty vault has no segment
        os.rmdir(os.path.join(folder, f"{_INDEX_NAME}.tmp"))  # of Whoosh's writer, empty by now


def write_segments_parallel(
    folder: str,
    paths: Sequence[str],
    load: Callable[[str], tuple[Sequence[Document], _Aside]],
    noted: Callable[[str, _Aside], None],
    *,
    procs: int = 2,
) -> list[whoosh3.W3Segment]:
    """Write segments into a folder in `procs` processes, each of which loads its share of `paths`
    itself.

    `load` gives a path's documents, and anything else that is wanted here: `noted` gets it
    in this process, once for every path, in no order. `load` has to be a function of a module or a
    `partial` of one: where forking is unsafe (`_is_fork_safe`) the processes start afresh and
    import it. An OSError or a CortexError in one of them is raised here; any other end of one is
    `IndexDamaged`.
    """
    # 20 ms that searching need not spend.
    from multiprocessing import connection, get_context  # noqa: PLC0415

    fork = _is_fork_safe()
    context = get_context("fork") if fork else get_context("spawn")
    workers: dict[Connection, BaseProcess] = {}
    shares: dict[Connection, Iterator[str]] = {}
    made: dict[Connection, tuple[whoosh3.W3Segment, ...]] = {}
    try:
        for part in range(procs):
            receiver, sender = context.Pipe(duplex=False)
            inherited = (*workers, receiver) if fork else ()
            worker = context.Process(
                target=_run_worker,
                args=(sender, folder, paths[part::procs], load),
                kwargs={"inherited": inherited},
                daemon=True,
            )
            worker.start()
            sender.close()  # so that the end of the worker is the end of what it sends
            workers[receiver], shares[receiver] = worker, iter(paths[part::procs])
        while len(made) < procs:
            ready = connection.wait([receiver for receiver in workers if receiver not in made])
            for receiver in [receiver for receiver in workers if receiver in ready]:
                received = _receive_message(receiver, workers[receiver])
                if isinstance(received, tuple):
                    made[receiver] = received
                else:
                    for aside, path in zip(received, shares[receiver], strict=False):
                        noted(path, aside)
        return [segment for receiver in workers for segment in made[receiver]]
    finally:
        for each in workers.values():
            each.terminate()
            each.join()


def _receive_message(
    receiver: Connection, worker: BaseProcess
) -> list[Any] | tuple[whoosh3.W3Segment, ...]:
    try:
        message: Any = receiver.recv()
    except (EOFError, ConnectionError) as error:  # killed, for want of memory perhaps
        worker.join()
        why = f"a process that wrote the index ended early, with {worker.exitcode}"
        raise IndexDamaged(why) from error
    if isinstance(message, OSError | CortexError):
        raise message
    received: list[Any] | tuple[whoosh3.W3Segment, ...] = message
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
    share: Sequence[str],
    load: Callable[[str], tuple[Sequence[Document], _Aside]],
    *,
    inherited: Iterable[Connection],
) -> None:
    """What a process of `write_segments_parallel` does: sends lists of asides, and at the end its
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
        sender.send(tuple(write_segments(folder, documents())))
    except BrokenPipeError:
        pass  # the process that receives was killed
    except (OSError, CortexError) as error:
        sender.send(error)


def write_segments(folder: str, documents: Iterable[Document]) -> list[whoosh3.W3Segment]:
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
            writer = writer or _SegmentWriter(FileStorage(folder))
            writer.add_document(document)
        return [*segments, writer.finish()] if writer else segments
    finally:
        gc.set_threshold(*thresholds)
        if writer:
            writer.close()


class _SegmentWriter:
    """A segment in the making. Postings are held by term until the end: only terms are sorted."""

    def __init__(self, storage: FileStorage) -> None:
        codec = CompactCodec()
        self._segment = codec.new_segment(storage, _INDEX_NAME)
        self._document_writer = codec.per_document_writer(storage, self._segment)
        self._terms_writer = codec.field_writer(storage, self._segment)
        # By field and term: a document, its places, and so on.
        self._postings: dict[str, defaultdict[bytes, list[Any]]] = {
            name: defaultdict(list) for name, field in SCHEMA.items() if not field.column_type
        }
        self._document_count = self.posting_count = 0

    def add_document(self, document: Document) -> None:
        self._document_writer.start_doc(self._document_count)
        for name, value in document.items():
            if column := SCHEMA[name].column_type:
                self._document_writer.add_column_value(name, column, value)
            elif value:
                self._add_text(name, str(value))
        self._document_writer.finish_doc()
        self._document_count += 1

    def _add_text(self, name: str, text: str) -> None:
        lists, number = self._postings[name], self._document_count
        found = term_positions(text)
        for term, at in found.items():
            postings = lists[term]
            postings.append(number)
            postings.append(at)
        self.posting_count += len(found)
        length = sum(map(len, found.values()))
        self._document_writer.add_field(name, SCHEMA[name], None, length)

    def finish(self) -> whoosh3.W3Segment:
        """Write the segment; answers what the table of contents has to say of it."""
        self._document_writer.close()
        self._segment.set_doc_count(self._document_count)
        for name, lists in self._postings.items():
            if lists:
                self._terms_writer.start_field(name, SCHEMA[name])
                for term in sorted(lists):
                    postings = lists.pop(term)
                    self._terms_writer.add_term_positions(term, postings[::2], postings[1::2])
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
