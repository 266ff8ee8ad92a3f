"""What `benchmarks.peers` prints and writes, with programs that need nothing. No time is compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.peer_programs import PEERS
from tests.benchmarks.test_retrieval import SET

ROOT = Path(__file__).parent.parent.parent


def run(*words: str, path: str = os.defpath) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", "--notes", "3", "--runs", "1", *words],
        cwd=ROOT,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def fake_rg(tmp_path: Path) -> str:
    """A folder with a program that fails."""
    (tmp_path / "rg").write_text("#!/bin/sh\ntest $1 = --version && echo 9.9 || exit 7\n")
    (tmp_path / "rg").chmod(0o755)
    return str(tmp_path)


def test_what_is_measured_of_each(tmp_path) -> None:
    (tmp_path / "garden.json").write_text(json.dumps(SET))
    words = ("--only", "cortex,fts5,fts5-fresh", "--data", str(tmp_path), "--json")
    found = {one["name"]: one for one in json.loads(run(*words))}
    assert [*found] == ["cortex", "fts5", "fts5-fresh"]
    for one in found.values():
        assert not one["error"]
        assert one["version"]
        assert one["notes"] == 3
        assert len(one["costs"]) == len(peers.QUERIES)
        assert all(cost["cpu_ratio"] > 0 for cost in one["costs"])
        assert [*one["answers"]] == [*peers.CHANGES]
        assert (one["rewritten"], one["added"]) == (0, 0)
    assert set(found["cortex"]["answers"].values()) == {"right"}
    assert set(found["fts5-fresh"]["answers"].values()) == {"right"}
    assert set(found["fts5"]["answers"].values()) == {"stale"}
    assert found["cortex"]["quality"]["garden"]["asked"] == 3
    assert found["cortex"]["quality"]["garden"]["r5"]["mean"] == pytest.approx(2 / 3)


def test_one_that_fails_and_one_that_is_missing_are_said(fake_rg) -> None:
    path = f"{fake_rg}{os.pathsep}{Path(sys.executable).parent}"
    said = run("--only", "ripgrep,qmd,fts5", path=path)
    assert "- ripgrep 9.9: failed: exit 7" in said
    assert "- Not installed: qmd." in said
    assert "| SQLite FTS5 alone " in said
    assert "| ripgrep" not in said


def test_the_tables_replace_what_a_page_has(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n")
    for _ in range(2):
        peers.write_into(str(page), iter(("| new |",)), "x")
        assert page.read_text() == "a\n<!-- x: begin -->\n\n| new |\n\n<!-- x: end -->\nb\n"
    with pytest.raises(SystemExit, match="has no <!-- y: begin -->"):
        peers.write_into(str(page), iter(()), "y")


def test_the_pages_have_a_place_for_the_tables() -> None:
    for page in ("README.md", "docs/dev/benchmarks.md"):
        text = (ROOT / page).read_text()
        assert text.count("<!-- peers: begin -->") == text.count("<!-- peers: end -->") == 1


def test_each_is_called_by_its_name() -> None:
    titles = [kind.name for kind in PEERS.values()]
    assert all(titles)
    assert len(set(titles)) == len(titles)
