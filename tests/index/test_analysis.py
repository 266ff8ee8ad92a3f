"""Our postings say what Whoosh's own would, however the index came about; and an index is whole or not there."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, strategies as st
from whoosh import fields, index, query
from whoosh.analysis import Analyzer, Token

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.tokenizer import tokenize_query
from cortex.index.catalogue import IndexDamaged
from cortex.index.engines import analysis
from cortex.index.engines.analysis import (
    phrase_terms,
    prefix_forms,
    query_forms,
    stem,
    term_positions,
)
from cortex.index.engines.engine import Alternatives
from cortex.index.engines.whoosh import segment
from cortex.index.engines.whoosh.segment import SCHEMA, publish, write_segments_parallel
from cortex.index.engines.whoosh.whoosh_index import WhooshReader, build, update

pytestmark = pytest.mark.sampled(2)

WORDS = """merge_driver mergeDriver merge driver merging Décision decisions the of utf-8 v1.2.3 cortex/core/text/tokenizer.py 全文検索
 inbox normalize normalized to_json don't YouTube k3f9q2 briefing briefings 2026-11-20 front-end 😀 хорошо""".split()

LOADING = """
import os, signal
def load(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    name = os.path.basename(path)
    if name == "none": return [], name
    number = int(name) + 1
    return [{"number": number, "tier": number % 3, "part": 0, "series": 0, "head": text[:40], "body": text, "around": None}], name
def wordy(path):
    documents, name = load(path)
    return documents, name * 20_000
def missing(path): open("/nowhere/at/all")
def invalid(path):
    from cortex.core.model.problem import InvalidInputError
    raise InvalidInputError("no good", "do better")
def broken(path): return 1 // 0
def killed(path):
    if path.endswith("17"): os.kill(os.getpid(), signal.SIGKILL)
    return load(path)
"""


class Plain(Analyzer):
    """The same words by the way of Whoosh's own fields: one token object after another."""

    def __call__(self, value: str, **_: object) -> Iterator[Token]:
        token = Token(positions=True)
        token.pos = -1
        for wholes, parts in tokenize_query(value, stem):
            token.boost = 1.0
            for offset, part in enumerate(parts):
                token.pos += 1
                for token.text in dict.fromkeys([part, *wholes]) if offset == 0 else [part]:
                    yield token


PLAIN = fields.Schema(
    **{name: field if field.column_type else fields.TEXT(Plain()) for name, field in SCHEMA.items()}
)


@pytest.fixture
def loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of its own for `load`: a process that starts afresh has to be able to import it."""
    (tmp_path / "loading.py").write_text(LOADING)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("loading")
    del sys.modules["loading"]


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """Three hundred notes, so that common words fill several blocks; and one that has no document."""
    chance = random.Random(7)
    (tmp_path / "notes").mkdir()
    for number in range(300):
        words = chance.choices(WORDS, k=chance.randrange(3, 60))
        (tmp_path / "notes" / str(number)).write_text(
            " ".join([*words, f"only{number}"]), encoding="utf-8"
        )
    (tmp_path / "notes" / "none").write_text("nothing")
    return sorted(map(str, (tmp_path / "notes").iterdir()))


@pytest.fixture
def documents(loading: ModuleType, paths: list[str]) -> list[dict[str, object]]:
    """What is indexed of the three hundred notes."""
    return [loading.load(path)[0][0] for path in paths if not path.endswith("none")]


def plain_index(folder: Path, documents: list[dict[str, object]]) -> index.Index:
    folder.mkdir()
    made = index.create_in(folder, PLAIN)
    writer = made.writer(compound=False)
    for document in documents:
        writer.add_document(
            **{name: value for name, value in document.items() if value is not None}
        )
    writer.commit()
    return made


def our_index(folder: Path, documents: list[dict[str, object]]) -> index.Index:
    paths = [str(place) for place in range(len(documents))]
    build(str(folder), paths, lambda path: ([documents[int(path)]], None), ignore, cores=1)
    return index.open_dir(folder)


def parallel_index(folder: Path, paths: list[str], load, noted=None, procs: int = 2) -> index.Index:
    folder.mkdir()
    publish(
        str(folder),
        write_segments_parallel(str(folder), paths, load, noted or ignore, procs=procs),
    )
    return index.open_dir(folder)


def ignore(*_: object) -> None:
    """What `noted` need not do."""


def places(field: str, value: bytes) -> list[int]:
    """The places of a posting, by our format or Whoosh's."""
    if isinstance(field, fields.TEXT):
        return field.format.decode_positions(value)
    return [ord(place) - 1 for place in value.decode("utf-8", "surrogatepass")]


def content(made: index.Index) -> dict[str, object]:
    """All that an index holds, by the numbers of its notes."""
    with made.reader() as reader:
        columns = {name: reader.column_reader(name) for name in ("number", "tier")}
        numbers = {document: columns["number"][document] for document in reader.all_doc_ids()}
        held: dict[str, object] = {
            number: [
                reader.doc_field_length(document, "head"),
                reader.doc_field_length(document, "body"),
                columns["tier"][document],
            ]
            for document, number in numbers.items()
        }
        for field, term in reader.all_terms():
            matcher = reader.postings(field, term)
            rows = []
            while matcher.is_active():
                where = places(made.schema[field], matcher.value())
                rows.append((numbers.get(matcher.id()), matcher.weight(), where))
                matcher.next()
            if rows := sorted(row for row in rows if row[0]):
                held[f"{field} {term!r}"] = rows
    return held


@given(st.text(st.sampled_from("ab_-./' AB1é全文検"), max_size=60))
def test_places_are_those_of_the_tokens(text: str) -> None:
    wanted: dict[bytes, set[int]] = {}
    position = 0
    for wholes, parts in tokenize_query(text, stem):
        for offset, part in enumerate(parts):
            wanted.setdefault(part.encode(), set()).add(position + offset)
        for whole in wholes:
            wanted.setdefault(whole.encode(), set()).add(position)
        position += len(parts)
    found = {term: [ord(place) - 1 for place in at] for term, at in term_positions(text).items()}
    assert found == {term: sorted(positions) for term, positions in wanted.items()}


def test_a_very_long_text_keeps_its_positions() -> None:
    at = term_positions("merge " * 60_000 + "driver")
    assert list(map(ord, at[b"merg"])) == list(range(1, 60_001))
    assert at[b"driver"] == chr(60_001)


def test_the_same_content_as_plain_whoosh(tmp_path: Path, documents) -> None:
    plain, ours = (
        plain_index(tmp_path / "plain", documents),
        our_index(tmp_path / "ours", documents),
    )
    assert content(ours) == content(plain)


def test_an_updated_index_is_a_rebuilt_one(tmp_path: Path, documents) -> None:
    documents = documents[:120]
    changed = [{**one, "body": "a merge_driver that has changed"} for one in documents[::7]]
    rest = [one for one in documents if one not in documents[::7]]
    our_index(tmp_path / "updated", documents)
    for document in changed:  # so many segments that Whoosh merges some
        update(str(tmp_path / "updated"), [document["number"]], [document])
    updated = index.open_dir(tmp_path / "updated")
    assert 1 < len(updated._segments()) < len(changed)
    rebuilt = our_index(tmp_path / "rebuilt", rest + changed)
    assert content(updated) == content(rebuilt)


def test_terms_in_a_row_are_a_phrase(tmp_path: Path, documents) -> None:
    our_index(tmp_path / "index", documents[:200])
    for start in (200, 250):  # further segments, and deleted notes
        again = documents[start - 200 : start - 150]
        update(
            str(tmp_path / "index"),
            [one["number"] for one in again],
            documents[start : start + 50] + again,
        )
    plain = plain_index(tmp_path / "plain", documents)
    rows = [
        row
        for first in WORDS[::2]
        for second in WORDS[::2]
        if (row := phrase_terms(f"{first} {second}"))
    ] + [("merg",) * 3, ("merg",)]
    with index.open_dir(tmp_path / "index").reader() as reader, plain.searcher() as searcher:
        ours = WhooshReader(reader)
        assert [leaf.has_deletions() for leaf, _ in ours.leaves] == [True, False, False]
        for row in rows:
            matched = ours.frequencies("body", Alternatives((), row))
            found = {ours.numbers[document] for document, _ in matched}
            numbers = searcher.reader().column_reader("number")
            assert found == {numbers[one] for one in query.Phrase("body", list(row)).docs(searcher)}


@pytest.mark.parametrize("procs", [1, 2, 3])
def test_a_parallel_build_holds_what_a_serial_one_does(
    tmp_path: Path, loading: ModuleType, paths: list[str], documents, procs: int
) -> None:
    noted: list[tuple[str, str]] = []
    parallel = parallel_index(
        tmp_path / "parallel",
        paths,
        loading.load,
        lambda path, name: noted.append((path, name)),
        procs,
    )
    assert len(documents) == parallel.doc_count()
    assert sorted(noted) == [(path, Path(path).name) for path in paths]
    serial = our_index(tmp_path / "serial", documents)
    assert content(parallel) == content(serial)
    assert (
        len({file.name.split(".")[0] for file in (tmp_path / "parallel").glob("MAIN_*")}) == procs
    )


def test_a_build_of_many_segments_holds_what_one_of_one_does(
    tmp_path: Path, documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = content(our_index(tmp_path / "one", documents))
    monkeypatch.setattr(segment, "_MAX_POSTINGS", 1000)
    many = our_index(tmp_path / "many", documents)
    assert len(many._segments()) > 2
    assert content(many) == whole


def test_an_empty_vault_has_an_empty_index(tmp_path: Path, loading: ModuleType) -> None:
    assert our_index(tmp_path / "serial", []).doc_count() == 0
    assert parallel_index(tmp_path / "parallel", [], loading.load).doc_count() == 0


@pytest.mark.parametrize(("load", "expected"), [
    ("missing", (FileNotFoundError, "/nowhere/at/all")),
    ("invalid", (InvalidInputError, "no good")),
    ("broken", (IndexDamaged, "ended early, with 1")),
    ("killed", (IndexDamaged, "ended early, with -9")),
])  # fmt: skip
def test_a_failing_process_fails_the_build_and_leaves_no_process(
    tmp_path: Path,
    loading: ModuleType,
    paths: list[str],
    load: str,
    expected: tuple[type[Exception], str],
) -> None:
    with pytest.raises(expected[0], match=expected[1]):
        parallel_index(tmp_path / "index", paths, getattr(loading, load))
    assert not list((tmp_path / "index").glob("*.toc"))
    assert multiprocessing.active_children() == []


def test_an_interrupted_build_leaves_no_process(
    tmp_path: Path, loading: ModuleType, paths: list[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel_index(tmp_path / "index", paths, loading.load, interrupt)
    assert not list((tmp_path / "index").glob("*.toc"))
    assert multiprocessing.active_children() == []


def test_with_threads_about_processes_start_afresh(
    tmp_path: Path, loading: ModuleType, paths: list[str]
) -> None:
    done = threading.Event()
    threading.Thread(target=done.wait).start()
    try:
        assert parallel_index(tmp_path / "index", paths, loading.load).doc_count() == 300
    finally:
        done.set()


BUILDING = """
import sys, time
sys.path[:0] = sys.argv[1:3]
import loading
from cortex.index.engines.whoosh import segment
if __name__ == "__main__":
    print(segment._is_fork_safe(), flush=True)
    segment.write_segments_parallel(sys.argv[3], sys.argv[4:], loading.wordy, lambda *_: (print("received", flush=True), time.sleep(60)))
"""


def test_the_processes_of_a_build_end_when_the_one_that_receives_is_killed(
    tmp_path: Path, loading: ModuleType, paths: list[str]
) -> None:
    """They are just sending more than a pipe holds. Whoever inherited its other end would wait for ever."""
    root, folder = str(Path(__file__).parents[2]), tmp_path / "index"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", BUILDING, root, str(tmp_path), str(folder), *paths],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == f"{sys.platform == 'linux'}\n"
        assert process.stdout.readline() == "received\n"
        process.kill()
        assert process.communicate(timeout=30) == (
            "",
            "",
        )  # the last of them has closed what it shared with us
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize(
    "words",
    ["merge ", "merge driver ", "x1 getX{0}y ", "get{0}Value "],
    ids=["one", "two", "shared", "many"],
)
def test_a_hostile_text_takes_linear_time(words: str) -> None:
    def cost(size: int) -> float:
        text = "".join(words.format(number) for number in range(size // len(words)))
        analysis._CHUNK_TERMS.clear()
        start = time.process_time()
        term_positions(text)
        return time.process_time() - start

    small, large = min(cost(40_000) for _ in range(3)), cost(800_000)
    assert large < 100 * small  # 20 times the text; 400 times the work if it were quadratic


@pytest.mark.parametrize(("text", "forms"), [
    ("decisions", [(("decis",), ())]),
    ("why did we decide", [(("decid",), ())]),
    ("merge_driver", [(("merge_driver", "mergedriv"), ("merg", "driver"))]),
    ("mergeDriver", [(("mergedriver", "mergedriv"), ("merg", "driver"))]),
    ("to_json", [(("to_json", "tojson"), ())]),
    ("to_do", [(("to_do", "todo"), ())]),
    ("core/text/tokenizer.py", [(("core/text/tokenizer.py",), ("core", "text", "token", "py"))]),
    ("全文検索", [((), ("全文", "文検", "検索"))]),
    ("merge inbox", [(("merg",), ()), (("inbox",), ())]),
    ("what is it?", []),
])  # fmt: skip
def test_query_forms(text: str, forms: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
    assert query_forms(text) == forms


def test_every_spelling_of_an_identifier_finds_every_other(tmp_path: Path) -> None:
    spellings = ["merge_driver", "mergeDriver", "MergeDriver", "merge-driver", "merge/driver"]
    made = our_index(
        tmp_path / "index",
        [
            {"number": number, "body": f"see the {each} here"}
            for number, each in enumerate([*spellings, "merge driver", "driver merge"])
        ],
    )
    with made.reader() as reader:
        for each in spellings:
            [(terms, phrase)] = query_forms(each)
            found = WhooshReader(reader).frequencies("body", Alternatives(terms, phrase))
            assert {document for document, _ in found} == set(range(len(spellings) + 1))


def test_phrase_terms_are_the_row_of_the_text() -> None:
    assert phrase_terms("the state of the merge_driver") == ("state", "merg", "driver")
    assert phrase_terms("of the") == ()
    assert len(phrase_terms("word " * 1000)) == 16


@pytest.mark.parametrize(
    "word", ["decisions", "normalization", "merging", "happily", "queries", "configured"]
)
def test_every_beginning_of_a_word_finds_it(word: str) -> None:
    for end in range(3, len(word) + 1):
        start, terms = prefix_forms(word[:end].title())
        assert stem(word).startswith(start) or stem(word) in terms


def test_prefix_forms_of_what_is_not_prose() -> None:
    assert prefix_forms("merge_dr") == ("merge_dr", ())
    assert prefix_forms("Déci") == ("deci", ("deci", "dec"))
    assert prefix_forms("全文") == ("全文", ())


def test_importing_whoosh_spares_what_it_never_calls() -> None:
    script = """
import sys
import cortex.index.engines.whoosh.postings
loaded = {"urllib.request", "http.client", "email", "ssl", "html", "tempfile", "shutil", "hashlib", "whoosh.lang.morph_en"} & set(sys.modules)
assert not loaded, loaded
from whoosh import compat, filedb, query, analysis
from whoosh.filedb import filetables, filestore
assert filetables.md5(b"").hexdigest() == "d41d8cd98f00b204e9800998ecf8427e"
assert "renders" in query.terms.variations("render")
assert compat.htmlescape("<") == "&lt;"
assert filestore.tempfile.gettempdir()
assert analysis.StemFilter().stemfn("merging") == "merg"
import urllib.request, tempfile
assert urllib.request.Request and tempfile.mkdtemp
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


def test_no_segment_ends_within_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are merged by their size: the parts of a note would no longer stand in a row."""
    monkeypatch.setattr(segment, "_MAX_POSTINGS", 60)
    documents = [
        {"number": number, "tier": 0, "part": part, "body": " ".join(WORDS)}
        for number in range(1, 20)
        for part in range(number % 4 + 1)
    ]
    (tmp_path / "one").mkdir()
    made = segment.write_segments(str(tmp_path / "one"), documents)
    assert len(made) > 4
    sizes = [one.doc_count_all() for one in made]
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    assert all(documents[at]["part"] == 0 for at in starts)
