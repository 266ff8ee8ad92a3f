"""The Whoosh index: built, changed, asked. It holds numbers and words, the catalogue the rest.

An index is full of pickles, so it is only opened where Cortex wrote it: in the user's cache folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import IndexDamaged
from cortex.index.engines import engine
from cortex.index.engines.engine import Document
from cortex.index.engines.whoosh.postings import CompactCodec, ProseField
from cortex.index.engines.whoosh.segment import (
    BuildFailed,
    build_index,
    build_index_parallel,
    write_segments,
)
from cortex.index.engines.whoosh.whoosh_import import FileStorage, columns, fields, import_parts
from cortex.index.engines.whoosh.whoosh_reader import WhooshReader

SCHEMA = fields.Schema(
    number=fields.COLUMN(columns.NumericColumn("i")),
    tier=fields.COLUMN(columns.NumericColumn("i")),
    part=fields.COLUMN(columns.NumericColumn("i")),
    series=fields.COLUMN(columns.NumericColumn("q")),  # these three at the first passage alone
    head=ProseField(),  # title, aliases and tags
    context=ProseField(),  # words of `note_context`
    body=ProseField(),
    around=ProseField(),  # headings above a passage, and what was asked
)
_MIN_PARALLEL_NOTES = 400  # below, a second process costs more than it saves
_Aside = TypeVar("_Aside")


class _OpenIndex(NamedTuple):
    stamp: object
    reader: WhooshReader


_kept: dict[str, _OpenIndex] = {}  # by folder; no thread is using them


def build(
    folder: str,
    paths: Sequence[str],
    load: Callable[[str], tuple[Sequence[Document], _Aside]],
    noted: Callable[[str, _Aside], None],
    *,
    cores: int,
) -> None:
    """Write an index of the notes at `paths` into an empty folder, as `FulltextEngine` says."""

    def documents() -> Iterator[Document]:
        for path in paths:
            passages, aside = load(path)
            noted(path, aside)
            yield from passages

    if cores == 1 or len(paths) < _MIN_PARALLEL_NOTES:
        build_index(folder, SCHEMA, documents())
        return
    try:
        build_index_parallel(folder, SCHEMA, paths, load, noted, procs=cores)
    except BuildFailed as error:  # a process was killed, for want of memory perhaps
        raise IndexDamaged(str(error)) from error


def update(folder: str, dropped: Iterable[int], added: Iterable[Document]) -> None:
    """Forget the notes of some numbers and add others, in one commit."""
    import_parts("whoosh.writing")
    try:
        index = FileStorage(folder).open_index(schema=SCHEMA)
        writer = index.writer(codec=CompactCodec(), limitmb=64, compound=False)
        gone = set(dropped)
        with writer.reader() as reader:  # a searcher would load what scores, 8 ms
            for document, number in enumerate(WhooshReader(reader).numbers if gone else ()):
                if number in gone and not reader.is_deleted(document):
                    writer.delete_document(document)
        # In a third of the time that the writer itself takes.
        writer.segments += write_segments(folder, SCHEMA, added)
        writer.commit()
        index.close()
    except Exception as error:  # Whoosh raises anything at all on a damaged index
        raise IndexDamaged(f"{type(error).__name__}: {error}") from error


@contextmanager
def open_reader(folder: str) -> Iterator[WhooshReader]:
    """As `FulltextEngine.open_reader`; one thread at a time uses it. A process with `kept_indexes`
    keeps them open, and answers the next query in half the time."""
    try:
        with _open_or_kept(folder) as reader:
            yield reader
    except Exception as error:  # as above
        raise IndexDamaged(f"{type(error).__name__}: {error}") from error


@contextmanager
def _open_or_kept(folder: str) -> Iterator[WhooshReader]:
    storage = FileStorage(folder)
    stamp = _commit_stamp(folder)
    kept = _kept.pop(folder, None)
    if kept and kept.stamp != stamp:
        kept.reader.reader.close()
        kept = None
    if kept is None:
        kept = _OpenIndex(stamp, WhooshReader(storage.open_index(schema=SCHEMA).reader()))
    try:
        yield kept.reader
    except BaseException:
        kept.reader.reader.close()
        raise
    kept.reader.known.clear()
    spare = [_kept.pop(folder, None)]
    _kept[folder] = kept
    spare += [_kept.pop(name, None) for name in list(_kept)[: len(_kept) - engine.kept_indexes]]
    for one in filter(None, spare):
        one.reader.reader.close()


def _commit_stamp(folder: str) -> tuple[tuple[str, int, int], ...]:
    """Other after every commit and every build, each of which writes a table of contents anew."""
    with os.scandir(folder) as entries:
        tables = [one for one in entries if one.name.endswith(".toc")]
        stats = [(one.name, one.stat()) for one in tables]
    return tuple(sorted((name, stat.st_ino, stat.st_mtime_ns) for name, stat in stats))
