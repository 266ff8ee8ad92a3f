"""The figures of `benchmarks.retrieval`: of one answer, of many, and of a small set from its command line."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import retrieval

ROOT = Path(__file__).parent.parent.parent
SET = {
    "docs": [
        {"id": "a", "title": "Apples", "text": "Prune the apple trees in February.", "date": "2026"},
        {"id": "b", "title": "", "text": "Plums want a wasp trap."},
        {"id": "c", "title": "Cherries", "text": "Birds eat the cherries first."},
    ],
    "queries": [
        {"text": "when to prune apple trees", "rel": ["a"], "category": "when"},
        {"text": "wasps and plums", "rel": ["b"], "category": "what"},
        {"text": "quince", "rel": ["c"], "category": "what"},
    ],
}  # fmt: skip


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.retrieval", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def data(tmp_path: Path) -> str:
    folder = tmp_path / "sets"
    folder.mkdir()
    (folder / "garden.json").write_text(json.dumps(SET))
    return str(folder)


def test_the_score_of_an_answer() -> None:
    score = retrieval.judge(["x", "a", None, "b", "y", "z", "c"], frozenset("abcd"))
    gain = 1 / math.log2(3) + 1 / math.log2(5) + 1 / math.log2(8)
    best = sum(1 / math.log2(number) for number in (2, 3, 4, 5))
    assert score == pytest.approx((0.5, 0.75, 0.5, gain / best, 0.0))
    assert retrieval.judge([], frozenset("a")) == (0, 0, 0, 0, 0)


def test_an_interval_holds_its_mean() -> None:
    scores = [retrieval.judge(["a"] if number % 3 else [], frozenset("a")) for number in range(60)]
    found = retrieval.intervals(scores)["r5"]
    assert found.mean == pytest.approx(2 / 3)
    assert 0.4 < found.low < found.mean < found.high < 0.9


def test_a_set_is_measured_whole_and_by_category(data) -> None:
    done = run("--data", data, "--json")
    assert done.returncode == 0, done.stderr
    found = {one["category"]: one for one in json.loads(done.stdout)}
    assert [(name, one["queries"]) for name, one in found.items()] == [
        ("", 3),
        ("what", 2),
        ("when", 1),
    ]
    assert found["when"]["scores"]["hit1"]["mean"] == 1.0
    assert found["what"]["scores"]["r5"]["mean"] == 0.5
    assert found[""]["docs"] == 3


def test_the_table_has_a_row_for_each_set_and_category(data) -> None:
    done = run("--data", data, "--sets", "garden", "--sample", "2")
    rows = [line.split(" | ") for line in done.stdout.splitlines()]
    assert {len(row) for row in rows} == {len(rows[0])}
    assert (rows[2][0], rows[2][2]) == ("| garden", "2")


def test_what_is_not_there_is_said(data, monkeypatch) -> None:
    assert "no set roses" in run("--data", data, "--sets", "roses").stderr
    assert "not available: x" in run("--data", data, "--engine", "x").stderr
    monkeypatch.setattr(retrieval, "search", lambda vault, caller, query, *, number=1: None)
    assert retrieval.search_options(words_only=False) == {}
    with pytest.raises(SystemExit, match=r"not available: .* no words_only; it has number"):
        retrieval.search_options(words_only=True)
