from __future__ import annotations

import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.turn_summary import USER, Utterance
from cortex.importers.item import ForeignRecord, ForeignSession
from cortex.importers.memories.claude_mem import accepts, read

SQL = (Path(__file__).parent / "claude_mem.sql").read_text()
OLD = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, claude_session_id TEXT, sdk_session_id TEXT,
  project TEXT, user_prompt TEXT, started_at TEXT, started_at_epoch INTEGER, completed_at TEXT,
  completed_at_epoch INTEGER, status TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, text TEXT,
  type TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT,
  request TEXT, learned TEXT, files_edited TEXT, created_at TEXT, created_at_epoch INTEGER);
INSERT INTO sdk_sessions VALUES (1, 'c-1', 's-1', 'shop', 'Fix the tax', '2025-09-01T08:00:00Z',
  1756713600000, NULL, NULL, 'active');
INSERT INTO observations VALUES (1, 's-1', 'shop', 'Tax is per line.', 'discovery',
  '2025-09-01T08:05:00Z', 1756713900000);
INSERT INTO session_summaries VALUES (1, 's-1', 'shop', 'Fix the tax', 'It is per line',
  'src/tax.ts', '2025-09-01T08:10:00Z', 1756714200000);
"""


def records(path: str) -> list[ForeignRecord]:
    return [item for item in read(path) if isinstance(item, ForeignRecord)]


def sessions(path: str) -> list[ForeignSession]:
    return [item for item in read(path) if isinstance(item, ForeignSession)]


def test_each_observation_is_a_record_with_its_date_type_tags_and_session(database) -> None:
    path = database("claude-mem.db", SQL)
    assert accepts(path)
    assert accepts(str(Path(path).parent))
    first, second, third, by_hand = records(path)
    assert first.title == "Cart lives in IndexedDB"
    assert first.type == "decision"
    assert (first.at, first.project) == ("2026-03-01T09:00:00.000Z", "shop")
    assert first.tags == ("why-it-exists", "trade-off")
    assert first.session == "11111111-aaaa-4bbb-8ccc-000000000001"
    assert first.body.startswith("localStorage is too small\n\nThe cart is kept in IndexedDB")
    assert "- IndexedDB holds 50 MB\n- localStorage holds 5 MB" in first.body
    assert first.body.endswith("\n\n`src/cart.ts`, `src/store.ts`")
    assert third.body.startswith("- <b>HTML</b> stays as text")
    assert (second.type, third.type, by_hand.type) == ("bugfix", "discovery", "feature")
    assert by_hand.session == ""
    assert list(read(path)) == list(read(path))


def test_a_session_has_the_prompts_and_summaries_as_turns(database) -> None:
    one, other = sessions(database("claude-mem.db", SQL))
    assert (one.title, one.host, one.project) == ("Cart work", "claude", "shop")
    assert one.goal == "Make the cart survive a reload"
    summary, prompt = one.turns
    assert "**Completed**: The cart is in IndexedDB" in summary.summary
    assert prompt.said == (Utterance(USER, "Make the cart survive a reload"),)
    assert other.host == "codex"
    assert [turn.said[0].text for turn in other.turns] == [
        "Look at the tax",
        "And round it per line",
    ]


def test_two_programs_may_name_their_sessions_alike(database) -> None:
    sql = SQL.replace(
        "22222222-aaaa-4bbb-8ccc-000000000002", "11111111-aaaa-4bbb-8ccc-000000000001"
    )
    one, other = sessions(database("claude-mem.db", sql))
    assert [len(one.turns), len(other.turns)] == [2, 2]


def test_a_version_before_the_columns_were_renamed_reads_the_same(database) -> None:
    path = database("old.db", OLD)
    (session,) = sessions(path)
    prompt, summary = session.turns
    assert (session.key, prompt.said[0].text) == ("c-1", "Fix the tax")
    assert summary.files == ("src/tax.ts",)
    (record,) = records(path)
    assert (record.body, record.session) == ("Tax is per line.", "c-1")


def test_an_unknown_version_is_named_and_nothing_is_taken(database) -> None:
    path = database("new.db", SQL.replace("memory_session_id", "mind_session_id"))
    with pytest.raises(InvalidInputError, match="schema 49"):
        list(read(path))


def test_a_row_that_cannot_be_read_is_named_and_stops_nothing(database) -> None:
    path = database(
        "claude-mem.db", SQL + "UPDATE observations SET narrative = x'00ff' WHERE id = 2;"
    )
    items = list(read(path))
    (problem,) = [item for item in items if isinstance(item, Problem)]
    assert problem.where == "observation 2"
    assert len([item for item in items if isinstance(item, ForeignRecord)]) == 3


def test_what_stands_in_the_write_ahead_log_counts_and_nothing_is_written_beside_it(
    database,
) -> None:
    path = database("claude-mem.db", SQL)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE observations SET title = 'In the log' WHERE id = 1")
        writer.commit()
        beside = sorted(Path(path).parent.iterdir())
        before = [file.read_bytes() for file in beside]
        assert accepts(path)
        assert records(path)[0].title == "In the log"
        assert sorted(Path(path).parent.iterdir()) == beside
        assert [file.read_bytes() for file in beside] == before
        writer.execute("BEGIN EXCLUSIVE")
        assert len(records(path)) == 4


def test_a_half_written_database_says_so(database) -> None:
    path = Path(database("claude-mem.db", SQL))
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(InvalidInputError, match="half database"):
        list(read(str(path)))


def test_other_files_are_not_taken_for_it(database, tmp_path) -> None:
    assert not accepts(database("x.db", "CREATE TABLE observations (id);"))
    (tmp_path / "claude-mem.db").write_text("SQLite format 3, but a text")
    assert not accepts(str(tmp_path / "claude-mem.db"))
    assert not accepts(str(tmp_path / "none.db"))


def test_many_rows_take_little_memory(database) -> None:
    more = (
        "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        " INSERT INTO observations (id, memory_session_id, project, type, title, narrative,"
        " created_at, created_at_epoch, sync_rev) SELECT i, 'mem-1', 'shop', 'change', 'T' || i,"
        " hex(randomblob(300)), '', 1772355600000 + i, '1' FROM n;"
    )
    path = database("claude-mem.db", SQL + more)
    tracemalloc.start()
    try:
        assert sum(1 for _ in read(path)) == 6 + 19_991
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_import_makes_records_of_all_observations_and_a_second_adds_nothing(
    database, imported
) -> None:
    found = imported("claude-mem", database("claude-mem.db", SQL))
    notes = found
    assert [(note.title, note.get("type"), note.get("created")) for note in notes] == [
        ("Cart lives in IndexedDB", "decision", "2026-03-01T09:00:00Z"),
        ("Race on reload fixed", "bugfix", "2026-03-01T09:00:00Z"),
        ("Saved by hand", "feature", "2026-03-03T09:00:00Z"),
        ("Tax is rounded per line", "discovery", "2026-03-02T09:00:00Z"),
    ]
    assert {note.get("project") for note in notes} == {"shop"}
