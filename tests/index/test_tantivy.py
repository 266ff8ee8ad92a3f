"""The engine of the extra `fast`: it answers as Whoosh does, and nothing needs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from cortex.core.ranking.query import parse
from cortex.index import full_text
from cortex.index.catalogue import IndexDamaged
from cortex.index.engines.analysis import GAP, joined_terms, term_positions
from cortex.index.full_text import engine_of
from cortex.index.refresh import query_index
from cortex.operations.find.search import search
from tests.index.test_analysis import WORDS

pytest.importorskip("tantivy")
KILLED = """
import os, signal, sys
from cortex.core.model.caller import no_progress
from cortex.index.engines.tantivy import tantivy_index
from cortex.index.refresh import query_index
from cortex.vault.locate import Vault
real = getattr(tantivy_index, sys.argv[2])
def killed(*given):
    real(*given)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(tantivy_index, sys.argv[2], killed)
query_index(Vault(sys.argv[1]), no_progress, lambda _: None, words=True)
"""
NOW = "2026-11-20T16:45:12Z"
QUERIES = [
    "merge", "merge driver", '"merge driver"', "merge_driver", "mergeDriver", "norm*", "d*", "to_json",
    "merge -driver", '-"merge driver"', "-merge", "-nothing", "briefing briefings inbox k3f9q2 tokenizer",
    "全文", "stripes of the zebra", '"giraffe stripes"', "zebra -gir*", "absent", "absent merge", "the",
    "girafe", "~zebra", "giraffestripes", "häuser", "haus", "absent -gir*", "s*",
]  # fmt: skip


def build(vault, engine):
    """Ask for an engine in the settings of a vault, and let it build."""
    os.environ.pop("CORTEX_ENGINE", None)
    Path(vault.root, "cortex.toml").write_text(f'format = 1\n[index]\nengine = "{engine}"\n')
    return query_index(
        vault, lambda *_: None, lambda index: (index.fulltext_folder, index.catalogue.count_notes())
    )[0]


@pytest.fixture(autouse=True)
def _settings_choose(monkeypatch) -> None:
    monkeypatch.delenv("CORTEX_ENGINE")


def note_texts() -> list[str]:
    """Notes of every kind: short and long, current and set aside, in series, events, German."""
    long = "\n\n".join(
        f"## Part {n}\n\n{'stripes of the zebra ' * 40} giraffe {n}" for n in range(4)
    )
    notes = [
        f"=== n{n:02d}.md\n# {' '.join(WORDS[n : n + 3])}\n\n{' '.join(WORDS[(n * 5 + k * k) % len(WORDS)] for k in range(n + 3))}\n"
        for n in range(20)
    ]
    notes += [
        f"=== talk/t{n}.md\n---\ndate: 2026-11-02\n---\nAnn: {WORDS[n]} giraffe stripes {n % 3 * 'merge '}\n"
        for n in range(9)
    ]
    notes += [
        f"=== events/2026/11/202611{n:02d}t100000z-aaaaaaaaaa.md\n---\nid: 202611{n:02d}t100000z-aaaaaaaaaa\ntype: stop\nat: 2026-11-{n:02d}T10:00:00Z\n---\n\n## Raw Content\n\n{WORDS[n]} merge_driver {long if n % 2 else ''}\n"
        for n in range(10, 16)
    ]
    return [
        *notes,
        *(f"=== de{n}.md\nDie Häuser und das Haus sind nicht {n} am Haustor.\n" for n in range(6)),
        f"=== old.md\n---\nstatus: superseded\n---\n# zebra merge\n\n{long}\n",
        f"=== long.md\n{long}\n",
        "=== empty.md\n",
    ]


@pytest.fixture
def mixed(vault_from):
    return vault_from("\n".join(note_texts()))


def answers(folder, query, limit=100, **options):
    """Score, which Whoosh's rounded lengths change a little, and the rest of each answer by number;
    then the terms and what was corrected."""
    found = full_text.search(folder, parse(query, NOW), limit, (0, 1, 2), **options)
    scores = {one.number: one.score for one in found.notes}
    rest = {one.number: one[2:] for one in found.notes}
    return scores, rest, found.terms, found.corrected


@pytest.mark.parametrize(
    "options", [{}, {"allowed": set(range(5, 30))}, {"without": {3, 4, 5}}, {"allowed": set()}]
)
def test_it_answers_as_whoosh_does(mixed, options) -> None:
    given = {}
    for engine in ("whoosh", "tantivy"):
        folder = build(mixed, engine)
        assert engine_of(folder) == engine
        given[engine] = {query: answers(folder, query, **options) for query in QUERIES}
    for query in QUERIES:
        scores, *rest = given["tantivy"][query]
        assert [pytest.approx(scores, rel=0.03), *rest] == [*given["whoosh"][query]], query
    assert bool(given["whoosh"]["merge"][0]) == (options != {"allowed": set()})


def test_what_bears_on_a_prompt_is_the_same(mixed) -> None:
    prompts = [
        "why does the merge_driver fail on giraffe stripes", "normalize the inbox of k3f9q2", "which giraffe has stripes of a zebra?",
    ]  # fmt: skip
    found = []
    for engine in ("whoosh", "tantivy"):
        folder = build(mixed, engine)
        relevant = [full_text.search_relevant(folder, prompt, 0.1) for prompt in prompts]
        assert any(one.notes for one in relevant)
        assert any(one.events for one in relevant)
        # Whoosh rounds the lengths of texts; counts of passages of the trail are counts of events.
        found.append(
            [
                [(note.number, pytest.approx(note.score, rel=0.01)) for note in one.notes]
                + [event.number for event in one.events]
                for one in relevant
            ]
        )
    assert found[0] == found[1]


@given(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
def test_joined_terms_are_those_of_the_positions(text: str) -> None:
    positions = term_positions(text)
    joined = joined_terms(text).split()
    assert {term: len(at) for term, at in positions.items()} == {
        term: joined.count(term) for term in {*joined} - {GAP}
    }
    row = {place for at in positions.values() for place in at}
    assert len(joined_terms(text).partition(GAP)[0].split()) == len(row)


def paths(vault, caller, query):
    return [hit.path for hit in search(vault, caller, query).hits]


@pytest.mark.parametrize("kept", [0, 2])
def test_an_edited_index_answers_as_a_rebuilt_one(mixed, caller, monkeypatch, kept) -> None:
    """Also while a watcher keeps it open."""
    monkeypatch.setattr("cortex.index.engines.engine.kept_indexes", kept)
    build(mixed, "tantivy")
    for turn in range(12):
        Path(mixed.root, f"n{turn:02d}.md").write_text(f"zebra {WORDS[turn]} merge driver {turn}\n")
        Path(mixed.root, f"talk/t{turn % 9}.md").unlink(missing_ok=True)
        assert f"n{turn:02d}.md" in paths(mixed, caller, f"zebra {turn}")
    edited = [paths(mixed, caller, query) for query in QUERIES]
    build(mixed, "whoosh")
    # Whoosh rounds lengths: what scores nearly alike may stand the other way round.
    assert [{*paths(mixed, caller, query)} for query in QUERIES] == [{*one} for one in edited]
    build(mixed, "tantivy")
    assert [paths(mixed, caller, query) for query in QUERIES] == edited


def test_many_notes_that_score_alike_are_cut_as_by_whoosh(vault_from) -> None:
    """The candidates are fewer than the notes that hold a word, but for those alike."""
    vault = vault_from("".join(f"=== n{n:03d}.md\nzebra {n % 7 * 'word '}\n" for n in range(900)))
    given = [
        answers(build(vault, engine), "zebra", 20, without={1, 2})
        for engine in ("whoosh", "tantivy")
    ]
    assert given[0][0].keys() == given[1][0].keys()
    few = [answers(build(vault, engine), "zebra word", 20) for engine in ("whoosh", "tantivy")]
    assert few[0][0].keys() == few[1][0].keys()


@pytest.mark.parametrize("step", ["_add_notes", "_open_writer"])
def test_killed_while_it_is_built_or_changed_it_is_built_anew(mixed, caller, step) -> None:
    kill = [sys.executable, "-c", KILLED, mixed.root, step]
    settings = Path(mixed.root, "cortex.toml")
    settings.write_text('format = 1\n[index]\nengine = "tantivy"\n')
    assert subprocess.run(kill, check=False).returncode == -signal.SIGKILL
    before = paths(mixed, caller, "zebra")
    assert len(before) > 3
    assert engine_of(build(mixed, "tantivy")) == "tantivy"
    Path(mixed.root, "more.md").write_text("zebra zebra\n")
    assert subprocess.run(kill, check=False).returncode == -signal.SIGKILL
    assert sorted(paths(mixed, caller, "zebra")) == sorted([*before, "more.md"])


def test_an_index_of_the_other_engine_is_built_anew(mixed, caller) -> None:
    folder = build(mixed, "whoosh")
    before = paths(mixed, caller, "zebra")
    for setting, engine in (("auto", "tantivy"), ("whoosh", "whoosh"), ("tantivy", "tantivy")):
        Path(mixed.root, "cortex.toml").write_text(f'format = 1\n[index]\nengine = "{setting}"\n')
        assert paths(mixed, caller, "zebra") == before
        assert engine_of(folder) == engine


def test_an_unknown_engine_is_a_problem(mixed, caller) -> None:
    build(mixed, "lucene")
    assert "[index] engine" in search(mixed, caller, "zebra").problems[0].message


@pytest.mark.parametrize("there", ["", "tantivy-0.22.1.dist-info"])
def test_without_it_whoosh_answers_and_says_so(mixed, caller, monkeypatch, tmp_path, there) -> None:
    folder = build(mixed, "tantivy")
    before = paths(mixed, caller, "zebra")
    (tmp_path / "tantivy").mkdir()
    (tmp_path / "tantivy/__init__.py").touch()
    if there:
        (tmp_path / there).mkdir()
    real, where = PathFinder.find_spec, [str(tmp_path)] if there else []

    def find_spec(name, *more):
        return real(name, where) if name == "tantivy" else real(name, *more)

    monkeypatch.setattr(PathFinder, "find_spec", find_spec)
    answer = search(mixed, caller, "zebra")
    assert engine_of(folder) == "whoosh"
    assert [hit.path for hit in answer.hits] == before
    [problem] = answer.problems
    assert "no fit version" in problem.message
    assert "pip install" in problem.hint
    build(mixed, "auto")
    assert search(mixed, caller, "zebra").problems == ()


@pytest.mark.parametrize("how", ["cut", "zeros", "gone", "old"])
def test_a_damaged_index_is_built_anew(mixed, caller, how) -> None:
    folder = Path(build(mixed, "tantivy"))
    before = paths(mixed, caller, "zebra")
    for path in folder.iterdir():
        if how == "gone":
            path.unlink()
        elif path.suffix in (".store", ".idx", ".fast"):
            data = path.read_bytes()
            path.write_bytes(data[: len(data) // 2] if how == "cut" else bytes(len(data)))
        elif how == "old" and path.name == "meta.json":
            path.write_text(path.read_text().replace('"terms"', '"other"'))
    assert paths(mixed, caller, "zebra") == before
    # The same for what is damaged below a state that does not show it.
    (folder / "meta.json").write_text("{}")
    with pytest.raises(IndexDamaged):
        full_text.search(str(folder), parse("zebra", NOW), 5, (0, 1, 2))


def test_only_its_engine_imports_it_and_it_does_not_import_the_other(mixed) -> None:
    code = "import sys; from cortex.interfaces.cli.main import main; main(['search', 'zebra']); print(sorted(sys.modules.keys() & {'tantivy', 'whoosh', 'whoosh.codec', 'whoosh.index'}))"
    for engine, modules in (
        ("whoosh", "['whoosh', 'whoosh.codec', 'whoosh.index']"),
        ("tantivy", "['tantivy', 'whoosh']"),
    ):
        Path(mixed.root, "cortex.toml").write_text(f'format = 1\n[index]\nengine = "{engine}"\n')
        for _ in range(2):  # built, then current
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd=mixed.root,
                capture_output=True,
                text=True,
                check=True,
            )
            assert done.stdout.splitlines()[-1] == modules


def test_an_empty_vault_and_one_that_lost_its_notes(vault_from, caller) -> None:
    vault = vault_from("=== a.md\n")
    Path(vault.root, "a.md").unlink()
    folder = build(vault, "tantivy")
    for _ in range(2):
        for query in QUERIES:
            assert paths(vault, caller, query) == []
        assert full_text.search_relevant(folder, "the zebra merge", 0.1).notes == []
        Path(vault.root, "a.md").write_text("zebra merge\n")
        assert paths(vault, caller, "zebra") == ["a.md"]
        Path(vault.root, "a.md").unlink()
