"""Our postings say what Whoosh's own would, however the index came about; and an index is whole or not there."""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, strategies as st
from whoosh import columns, fields, index, query
from whoosh.analysis import Analyzer, Token

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.tokenizer import tokenize_query
from cortex.index.engines import analysis
from cortex.index.engines.analysis import (
    phrase_terms,
    prefix_forms,
    query_forms,
    stem,
    term_positions,
)
from cortex.index.engines.whoosh import segment
from cortex.index.engines.whoosh.postings import (
    CompactCodec,
    ProseField,
    Utf8Positions,
    match_phrase,
)
from cortex.index.engines.whoosh.segment import BuildFailed, build_index, build_index_parallel
from cortex.index.engines.whoosh.whoosh_index import SCHEMA

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
    document = {"path": name, "title": text[:40], "body": text, "tags": "a,B" if len(text) % 2 else None, "date": len(text)}
    return [document], name
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


def schema_of(text: Callable[[float], fields.FieldType]) -> fields.Schema:
    return fields.Schema(
        path=fields.ID(unique=True, stored=True),
        title=text(2.0),
        body=text(1.0),
        tags=fields.KEYWORD(commas=True, lowercase=True),
        date=fields.COLUMN(columns.NumericColumn("i")),
    )


PLAIN = schema_of(lambda boost: fields.TEXT(Plain(), field_boost=boost))
OURS = schema_of(ProseField)


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
    add(made.writer(compound=False), documents)
    add(
        made.writer(compound=False), [], optimize=True
    )  # rounds the average length that scores depend on
    return made


def our_index(folder: Path, documents: list[dict[str, object]]) -> index.Index:
    build_index(str(folder), OURS, documents)
    return index.open_dir(folder)


def add(writer, documents: list[dict[str, object]], **commit: bool) -> None:
    for document in documents:
        writer.update_document(
            **{name: value for name, value in document.items() if value is not None}
        )
    writer.commit(**commit)


def content(made: index.Index) -> dict[str, object]:
    """All that an index holds, by the paths of its documents."""
    with made.reader() as reader:
        path = {number: stored["path"] for number, stored in reader.iter_docs()}
        held: dict[str, object] = {
            at: [
                reader.doc_field_length(number, "title"),
                reader.doc_field_length(number, "body"),
                reader.column_reader("date")[number],
            ]
            for number, at in path.items()
        }
        for field, term in reader.all_terms():
            matcher = reader.postings(field, term)
            rows = []
            while matcher.is_active():
                where = matcher.value_as("positions") if field in {"title", "body"} else None
                rows.append((path.get(matcher.id()), matcher.weight(), where))
                matcher.next()
            held[f"{field} {term!r}"] = sorted(row for row in rows if row[0])
    return held


QUERIES = [
    *(query.Term("body", term) for term in ("merg", "driver", "decis", "only7", "检索", "全文", "nowhere", "merge_driver")),
    *(query.Phrase("body", list(phrase_terms(text))) for text in ("merge driver", "decisions of the inbox", "core/text/tokenizer.py", "全文検索")),
    query.And([query.Term("body", "merg"), query.Term("title", "inbox")]),
    query.Or([query.Term("title", "brief"), query.Term("body", "brief"), query.Term("tags", "b")]),
    query.Prefix("body", "only1"),
    query.AndNot(query.Every(), query.Term("body", "merg")),
]  # fmt: skip


def answers(made: index.Index) -> list[dict[str, float]]:
    with made.searcher() as searcher:
        return [
            {hit["path"]: round(hit.score, 5) for hit in searcher.search(each, limit=None)}
            for each in QUERIES
        ]


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


@given(
    st.lists(
        st.integers(0, sys.maxunicode - 1)
        | st.sampled_from([0, 127, 128, 0xD7FF, 0xD800, 0xDFFF, 0xFFFF]),
        unique=True,
    ).map(sorted)
)
def test_positions_come_back(positions: list[int]) -> None:
    format_ = Utf8Positions()
    encoded = format_.encode(positions)
    assert format_.decode_positions(encoded) == positions
    assert format_.decode_frequency(encoded) == len(positions)
    assert b"\0" not in encoded


def test_a_very_long_text_keeps_its_positions() -> None:
    at = term_positions("merge " * 60_000 + "driver")
    assert list(map(ord, at[b"merg"])) == list(range(1, 60_001))
    assert at[b"driver"] == chr(60_001)


def test_the_same_answers_as_plain_whoosh(tmp_path: Path, documents) -> None:
    plain, ours = (
        plain_index(tmp_path / "plain", documents),
        our_index(tmp_path / "ours", documents),
    )
    assert content(ours) == content(plain)
    assert answers(ours) == answers(plain)
    assert sum(map(bool, answers(ours))) >= len(QUERIES) - 2  # the queries are not vacuous


@pytest.mark.parametrize("codec", [CompactCodec(), None], ids=["ours", "Whoosh's"])
@pytest.mark.parametrize(
    "commit",
    [{"merge": False}, {}, {"optimize": True}],
    ids=["further segment", "default", "optimized"],
)
def test_an_updated_index_is_a_rebuilt_one(
    tmp_path: Path, documents, codec: CompactCodec | None, commit: dict[str, bool]
) -> None:
    documents = documents[:120]
    changed = [{**one, "body": "a merge_driver that has changed"} for one in documents[::7]]
    rest = [one for one in documents if one not in documents[::7]]
    updated = our_index(tmp_path / "updated", documents)
    for document in changed:
        add(updated.writer(codec=codec, compound=False), [document], **commit)
    add(updated.writer(codec=codec, compound=False), [], optimize=True)
    rebuilt = our_index(tmp_path / "rebuilt", rest + changed)
    assert content(updated) == content(rebuilt)
    assert answers(updated) == answers(rebuilt)


def test_terms_in_a_row_are_a_phrase(tmp_path: Path, documents) -> None:
    made = our_index(tmp_path / "index", documents[:200])
    for start, codec in (
        (200, CompactCodec()),
        (240, None),
    ):  # further segments, one of them by Whoosh's codec, and deleted notes
        add(
            made.writer(codec=codec, compound=False),
            documents[start : start + 50] + documents[start - 200 : start - 150],
            merge=False,
        )
    rows = [
        row
        for first in WORDS[::2]
        for second in WORDS[::2]
        if (row := phrase_terms(f"{first} {second}"))
    ] + [("merg",) * 3, ("merg",)]
    with made.searcher() as searcher:
        leaves = [leaf for leaf, _ in searcher.leaf_searchers()]
        assert [leaf.reader().has_deletions() for leaf in leaves] == [True, True, False]
        for leaf, row in itertools.product(leaves, rows):
            if all(("body", term) in leaf.reader() for term in row):
                found = match_phrase([leaf.reader().postings("body", term) for term in row])
                assert found.keys() == set(query.Phrase("body", list(row)).docs(leaf))


@pytest.mark.parametrize("procs", [1, 2, 3])
def test_a_parallel_build_answers_like_a_serial_one(
    tmp_path: Path, loading: ModuleType, paths: list[str], documents, procs: int
) -> None:
    noted: list[tuple[str, str]] = []
    count = build_index_parallel(
        str(tmp_path / "parallel"),
        OURS,
        paths,
        loading.load,
        lambda path, name: noted.append((path, name)),
        procs=procs,
    )
    parallel = index.open_dir(tmp_path / "parallel")
    assert count == len(documents) == parallel.doc_count()
    assert sorted(noted) == [(path, Path(path).name) for path in paths]
    serial = our_index(tmp_path / "serial", documents)
    assert content(parallel) == content(serial)
    assert answers(parallel) == answers(serial)
    assert (
        len({file.name.split(".")[0] for file in (tmp_path / "parallel").glob("MAIN_*")}) == procs
    )
    assert not [file for file in (tmp_path / "parallel").iterdir() if file.is_dir()]


def test_a_build_of_many_segments_answers_like_one_of_one(
    tmp_path: Path, documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = answers(our_index(tmp_path / "one", documents))
    monkeypatch.setattr(segment, "_MAX_POSTINGS", 1000)
    many = our_index(tmp_path / "many", documents)
    assert len(many._segments()) > 2
    assert answers(many) == whole


def test_an_empty_vault_has_an_empty_index(tmp_path: Path, loading: ModuleType) -> None:
    assert build_index(str(tmp_path / "serial"), OURS, []) == 0
    assert build_index_parallel(str(tmp_path / "parallel"), OURS, [], loading.load, print) == 0
    assert index.open_dir(tmp_path / "parallel").doc_count() == 0


@pytest.mark.parametrize(("load", "expected"), [
    ("missing", (FileNotFoundError, "/nowhere/at/all")),
    ("invalid", (InvalidInputError, "no good")),
    ("broken", (BuildFailed, "ended early, with 1")),
    ("killed", (BuildFailed, "ended early, with -9")),
])  # fmt: skip
def test_a_failing_process_fails_the_build_and_leaves_nothing(
    tmp_path: Path,
    loading: ModuleType,
    paths: list[str],
    load: str,
    expected: tuple[type[Exception], str],
) -> None:
    with pytest.raises(expected[0], match=expected[1]):
        build_index_parallel(
            str(tmp_path / "index"), OURS, paths, getattr(loading, load), lambda *_: None
        )
    assert list((tmp_path / "index").iterdir()) == []
    assert multiprocessing.active_children() == []


def test_an_interrupted_build_leaves_nothing(
    tmp_path: Path, loading: ModuleType, paths: list[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index_parallel(str(tmp_path / "index"), OURS, paths, loading.load, interrupt)
    with pytest.raises(ZeroDivisionError):
        build_index(str(tmp_path / "index"), OURS, ({"path": str(1 // (3 - n))} for n in range(9)))
    assert list((tmp_path / "index").iterdir()) == []
    assert multiprocessing.active_children() == []


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    with pytest.raises(FileExistsError):
        build_index(str(tmp_path), OURS, [])
    assert (tmp_path / "kept").exists()


def test_with_threads_about_processes_start_afresh(
    tmp_path: Path, loading: ModuleType, paths: list[str]
) -> None:
    done = threading.Event()
    threading.Thread(target=done.wait).start()
    try:
        assert (
            build_index_parallel(
                str(tmp_path / "index"), OURS, paths, loading.load, lambda *_: None
            )
            == 300
        )
    finally:
        done.set()


BUILDING = """
import sys, time
sys.path[:0] = sys.argv[1:3]
import loading
from cortex.index.engines.whoosh import segment
from tests.index.test_analysis import OURS
if __name__ == "__main__":
    print(segment._is_fork_safe(), flush=True)
    segment.build_index_parallel(sys.argv[3], OURS, sys.argv[4:], loading.wordy, lambda *_: (print("received", flush=True), time.sleep(60)))
"""


def test_the_processes_of_a_build_end_when_the_one_that_receives_is_killed(
    tmp_path: Path, loading: ModuleType, paths: list[str]
) -> None:
    """They are just sending more than a pipe holds. Whoever inherited its other end would wait for ever."""
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", BUILDING, root, str(tmp_path), str(tmp_path / "index"), *paths],
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
    ("core/text/tokenizer.py", [(("core/text/tokenizer.py",), ("core", "word", "py"))]),
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
            {"path": each, "body": f"see the {each} here"}
            for each in [*spellings, "merge driver", "driver merge"]
        ],
    )
    with made.searcher() as searcher:
        for each in spellings:
            [(terms, phrase)] = query_forms(each)
            alternatives = [
                *(query.Term("body", term) for term in terms),
                query.Phrase("body", list(phrase)),
            ]
            assert {hit["path"] for hit in searcher.search(query.Or(alternatives), limit=None)} == {
                *spellings,
                "merge driver",
            }


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
    made = segment.write_segments(str(tmp_path / "one"), SCHEMA, documents)
    assert len(made) > 4
    sizes = [one.doc_count_all() for one in made]
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    assert all(documents[at]["part"] == 0 for at in starts)
