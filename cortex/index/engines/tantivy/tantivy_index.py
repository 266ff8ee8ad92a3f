"""The tantivy index: built, changed, asked. It holds numbers and words, the catalogue the rest.

tantivy numbers positions itself, so it is given terms with blanks between them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

import tantivy

from cortex.core.model.problem import CortexError
from cortex.index.catalogue import IndexDamaged
from cortex.index.engines import engine
from cortex.index.engines.analysis import GAP, joined_terms
from cortex.index.engines.engine import FIELDS, Document
from cortex.index.engines.tantivy import tantivy_reader
from cortex.index.engines.tantivy.tantivy_reader import TantivyReader

_BUILD_HEAP, _UPDATE_HEAP = 64_000_000, 15_000_000  # bytes; tantivy takes no less
_Aside = TypeVar("_Aside")
_kept: dict[str, tuple[tuple[int, int], TantivyReader]] = {}


@contextmanager
def _damage_raised() -> Iterator[None]:
    """Raise `IndexDamaged` for what tantivy raises on an index that is damaged, or of a format that
    it does not know: ValueError and OSError mostly, and a panic is no Exception."""
    try:
        yield
    except (CortexError, IndexDamaged):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise IndexDamaged(f"{type(error).__name__}: {error}") from error


def build(
    folder: str,
    paths: Sequence[str],
    load: Callable[[str], tuple[Sequence[Document], _Aside]],
    noted: Callable[[str, _Aside], None],
    *,
    cores: int,  # noqa: ARG001  as the table of engines has it
) -> None:
    """Write an index into an empty folder, as `FulltextEngine` says; in one process, where tantivy
    has a thread of its own."""
    os.makedirs(folder, 0o700)
    with _damage_raised():
        writer = _open_writer(tantivy.Index(tantivy_reader.SCHEMA, folder), _BUILD_HEAP)
        for path in paths:
            documents, aside = load(path)
            noted(path, aside)
            _add_notes(writer, documents)
        writer.commit()
        writer.wait_merging_threads()


def update(folder: str, dropped: Iterable[int], added: Iterable[Document]) -> None:
    """Forget the notes of some numbers and add others, in one commit."""
    with _damage_raised():
        writer = _open_writer(tantivy.Index.open(folder), _UPDATE_HEAP)
        for number in dropped:
            # By term it deletes nothing: tantivy-py takes the number for a signed one.
            query = tantivy.Query.term_query(tantivy_reader.SCHEMA, "number", number)
            writer.delete_documents_by_query(query)
        _add_notes(writer, added)
        writer.commit()
        writer.wait_merging_threads()


def _open_writer(index: Any, heap: int) -> Any:
    gaps = tantivy.Filter.custom_stopword([GAP.decode()])
    terms = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(gaps).build()
    index.register_tokenizer("terms", terms)
    return index.writer(heap, 1)


def _add_notes(writer: Any, documents: Iterable[Document]) -> None:
    for number, (first, *others) in groupby(documents, itemgetter("number")):
        document = tantivy.Document()
        passages, length = [], 0
        for one in (first, *others):
            texts = [joined_terms(str(one.get(field) or "")) for field in FIELDS]
            for field, text in zip(FIELDS, texts, strict=True):
                if text:
                    document.add_text(field, text.decode())
            passages.append(tantivy_reader.FIELD_MARK.join(texts))
            length += tantivy_reader.count_terms(texts[0])
        numbers = {"number": number, "length": length, "every": 1}
        for field, value in (numbers | {name: first[name] for name in ("tier", "series")}).items():
            document.add_unsigned(field, value)
        document.add_bytes("terms", tantivy_reader.PASSAGE_MARK.join(passages))
        writer.add_document(document)


@contextmanager
def open_reader(folder: str) -> Iterator[TantivyReader]:
    """As `FulltextEngine.open_reader`. A reader is kept until another index is written there."""
    with _damage_raised():
        status = os.stat(os.path.join(folder, "meta.json"))
        stamp = (status.st_mtime_ns, status.st_ino)
        known = _kept.pop(folder, None)
        if known is None or known[0] != stamp:
            known = stamp, TantivyReader(folder)
        for name in list(_kept)[: len(_kept) + 1 - max(1, engine.kept_indexes)]:
            _kept.pop(name, None)  # another thread may have taken it
        _kept[folder] = known
        yield known[1]
