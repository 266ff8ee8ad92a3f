"""A note keeps its words by another path: what is moved is not indexed anew, and answers as if it had been."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

from cortex.core.model.caller import no_progress
from cortex.core.ranking.query import parse
from cortex.index import full_text
from cortex.index.engines.engine import ScoredNote
from cortex.index.refresh import IndexSession, open_index, query_index
from cortex.operations.find.search import search
from cortex.vault.locate import Vault
from tests.conftest import SOAK

RECORD = "---\nid: 20261120t164512z-k3f7q2abcd\ntype: note\ntitle: Zebra\ncreated: 2026-11-20T16:45:12Z\nprovenance: {events: [e1]}\n---\n"
TEXTS = [
    "zebra giraffe",
    "zebra giraffe\n",
    "# Giraffe\n\nzebra #stripes",
    f"{RECORD}giraffe [[a]]",
    f"{RECORD.replace('title', 'pinned: true' + chr(10) + 'title')}giraffe [[a]]",
    "---\nstatus: superseded\n---\nzebra merge_driver",
    "---\ntype: briefing\n---\nzebra index",
    "\n\n".join(f"## Part {n}\n\n{'stripes of the zebra ' * 30} giraffe {n}" for n in range(4)),
    "",
]
PATHS = [
    "a.md", "b.md", "2026-11-19 b.md", "sub/a.md", "records/note/a.md", "inbox/pending/a.md",
    "events/2026/11/a.md", "briefings/a.md",
]  # fmt: skip
QUERIES = [
    "zebra", "giraffe", "zebra giraffe", '"merge driver"', "gir*", "zebra -index", "a", "stripes",
    "which giraffe has the stripes of a zebra in part",
]  # fmt: skip

texts, paths = st.sampled_from(TEXTS), st.sampled_from(PATHS)
edits = st.one_of(
    st.tuples(st.just("write"), paths, texts),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("move and write"), paths, paths, texts),
    st.tuples(st.just("swap"), paths, paths).filter(
        lambda step: step[1] != step[2]
    ),  # a file renamed onto itself is no change
    st.tuples(st.just("copy"), paths, paths),
    st.tuples(st.just("delete"), paths),
)
steps = st.lists(st.tuples(st.lists(edits, max_size=4), st.booleans()), min_size=1, max_size=5)


def apply(root: Path, how: str, first: str, *more: str) -> None:
    path, other = root / first, root / (more[0] if more and how != "write" else first)
    for one in (path, other):
        one.parent.mkdir(parents=True, exist_ok=True)
    if how == "write":
        path.write_text(more[0])
    elif not path.exists():
        return
    elif how == "delete":
        path.unlink()
    elif how == "copy":
        other.write_bytes(path.read_bytes())
    elif how == "swap" and other.exists() and other != path:
        path.rename(root / "aside")
        other.rename(path)
        (root / "aside").rename(other)
    else:
        path.rename(other)
        if how == "move and write":
            other.write_text(more[1])


def everything(index: IndexSession) -> list[object]:
    """What catalogue and index answer of every note, by path: numbers may differ."""
    named = dict(index.catalogue.select("SELECT number, CAST(path AS TEXT) FROM note"))
    assert sorted(named.values()) == sorted(index.snapshot.stamps)
    tables = {"name": "number, key, rank", "edge": "*", "entity": "*", "tick": "*", "item": "*"}
    parts = [
        sorted(
            (named[number], *map(str, rest))
            for number, *rest in index.catalogue.select(f"SELECT {columns} FROM {table}")
        )
        for table, columns in tables.items()
    ]
    notes = sorted(
        map(
            repr,
            index.catalogue.select("SELECT path, hash, index_digest, events, digest FROM note"),
        )
    )
    standings = sorted(repr(one._replace(number=0)) for one in index.catalogue.rows())
    found = [
        sorted((named[one.number], *one._replace(number=0)) for one in words(index, query))
        for query in QUERIES
    ]
    return [parts, notes, standings, found, index.problems]


def words(index: IndexSession, query: str) -> list[ScoredNote]:
    return full_text.search(
        index.fulltext_folder, parse(query, "2026-11-20T16:45:12Z"), 20, (0, 1, 2)
    )[0]


@pytest.mark.parametrize("engine", ["whoosh", "tantivy"])
@given(steps)
@example(
    [
        ([("write", "a.md", TEXTS[0])], True),
        ([("move", "a.md", "events/2026/11/a.md")], False),
        ([("move", "events/2026/11/a.md", "sub/a.md")], True),
    ]
)
@example([([("write", "a.md", TEXTS[0])], True), ([("move", "a.md", "events/2026/11/a.md")], True)])
@example(
    [
        ([("write", "events/2026/11/a.md", TEXTS[6])], False),
        ([("move", "events/2026/11/a.md", "briefings/a.md")], True),
    ]
)
@settings(max_examples=600 if SOAK else 25, deadline=None)
def test_moves_swaps_copies_and_edits_answer_as_a_rebuilt_index_after_each_look(
    monkeypatch, engine, steps
) -> None:
    if engine == "tantivy":
        pytest.importorskip(engine)
    monkeypatch.setenv("CORTEX_ENGINE", engine)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cortex.toml").write_text("format = 1\n")
        vault = Vault(os.path.realpath(folder))
        query_index(vault, no_progress, lambda _: None)
        for changes, with_words in steps:
            for change in changes:
                apply(Path(folder), *change)
            seen = query_index(
                vault, no_progress, lambda index: len(index.snapshot.stamps), words=with_words
            )
            assert seen == query_index(
                vault,
                no_progress,
                lambda index: index.catalogue.select("SELECT count(*) FROM note")[0][0],
                words=False,
            )
        changed = query_index(vault, no_progress, everything, words=True)
        with open_index(vault, no_progress, rebuild=True) as index:
            assert everything(index) == changed


def numbers(vault: Vault, *, words: bool = True) -> dict[str, int]:
    return query_index(
        vault,
        no_progress,
        lambda index: {row.path: row.number for row in index.catalogue.rows()},
        words=words,
    )


def index_files(vault: Vault) -> set[str]:
    return set(os.listdir(os.path.join(vault.cache_folder(), "index")))


@pytest.mark.parametrize(("before", "after"), [
    ("records/note/a.md", "records/decision/b.md"),
    ("inbox/pending/a.md", "events/2026/11/a.md"),
])  # fmt: skip
def test_a_note_that_only_moved_keeps_its_number_and_the_index_is_not_written(
    vault_from, before, after
) -> None:
    vault = vault_from(f"=== {before}\n{RECORD}zebra\n")
    number, held = numbers(vault)[before], index_files(vault)
    Path(vault.root, after).parent.mkdir(parents=True, exist_ok=True)
    os.rename(Path(vault.root, before), Path(vault.root, after))
    assert numbers(vault)[after] == number
    assert index_files(vault) == held


def test_an_edit_outside_of_the_text_leaves_the_index_as_it_is(vault_from) -> None:
    vault = vault_from(f"=== a.md\n{RECORD}zebra\n")
    number, held = numbers(vault)["a.md"], index_files(vault)
    Path(vault.root, "a.md").write_text(RECORD.replace("[e1]", "[e1, e2]") + "zebra\n")
    assert numbers(vault)["a.md"] == number
    assert index_files(vault) == held
    assert query_index(vault, no_progress, lambda index: index.catalogue.row_at("a.md")).events == (
        "e1",
        "e2",
    )


def test_a_title_that_is_the_file_name_is_found_by_the_new_name_alone(vault_from, caller) -> None:
    vault = vault_from("=== zebra.md\nno heading\n")
    assert [hit.path for hit in search(vault, caller, "zebra").hits] == ["zebra.md"]
    os.rename(Path(vault.root, "zebra.md"), Path(vault.root, "giraffe.md"))
    assert not search(vault, caller, "zebra").hits
    assert [hit.path for hit in search(vault, caller, "giraffe").hits] == ["giraffe.md"]


def test_a_look_without_words_leaves_them_to_the_next_that_asks_for_them(
    vault_from, caller
) -> None:
    vault = vault_from("=== a.md\nzebra\n\n=== b.md\nzebra\n")
    numbers(vault)
    held = index_files(vault)
    Path(vault.root, "a.md").write_text("giraffe\n")
    Path(vault.root, "b.md").unlink()
    Path(vault.root, "c.md").write_text("zebra\n")
    time.sleep(0.1)  # a stamp as young as the look is looked at once more, whatever it is
    assert numbers(vault, words=False).keys() >= {"a.md", "c.md"}
    assert index_files(vault) == held
    assert [hit.path for hit in search(vault, caller, "zebra").hits] == ["c.md"]
    assert [hit.path for hit in search(vault, caller, "giraffe").hits] == ["a.md"]
    assert query_index(vault, no_progress, lambda index: index.outcome) == "current"


def test_a_note_that_changes_while_its_words_are_told_is_found_by_what_it_says(
    vault_from, caller
) -> None:
    vault = vault_from("=== a.md\nnothing\n")
    numbers(vault)
    note = Path(vault.root, "a.md")
    note.write_text("zebra\n")
    time.sleep(0.1)  # as above
    numbers(vault, words=False)
    Path(vault.root, "b.md").write_text("another\n")
    query_index(
        vault, lambda *_: note.write_text("okapi\n") and None, lambda _: None, words=True
    )  # after the scan, before its words are read
    note.write_text("zebra\n")
    assert [hit.path for hit in search(vault, caller, "zebra").hits] == ["a.md"]
    assert not search(vault, caller, "okapi").hits


def test_a_look_that_is_killed_while_it_tells_the_index_is_made_good_by_the_next(
    vault_from, caller
) -> None:
    vault = vault_from(
        "".join(f"=== n{number}.md\nokapi {number} {'word ' * 200}\n" for number in range(300))
    )
    numbers(vault)
    for round_, delay in enumerate((0.1, 0.2, 0.3, 0.5)):
        for number in range(300):
            Path(vault.root, f"n{number}.md").write_text(f"zebra {number} {round_}\n")
        numbers(vault, words=False)
        process = subprocess.Popen(
            [sys.executable, "-m", "cortex", "search", "zebra"],
            cwd=vault.root,
            stdout=subprocess.DEVNULL,
        )
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert len(search(vault, caller, f"zebra {round_}", number=500).hits) >= 300
        assert not search(vault, caller, "okapi").hits
