from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.item import ForeignRecord, ForeignSession
from cortex.importers.memories import cortex_memory, engram

# As `internal/store/store.go` of engram makes them, and the migrations of its relative.
TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
  started_at TEXT NOT NULL DEFAULT (datetime('now')), ended_at TEXT, summary TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, {sync}session_id TEXT NOT NULL,
  type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,
  scope TEXT NOT NULL DEFAULT 'project', topic_key TEXT, normalized_hash TEXT,
  revision_count INTEGER NOT NULL DEFAULT 1, duplicate_count INTEGER NOT NULL DEFAULT 1,
  last_seen_at TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now')), deleted_at TEXT);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
  content TEXT NOT NULL, project TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE TABLE sync_chunks (chunk_id TEXT PRIMARY KEY, imported_at TEXT NOT NULL);
"""
ROWS = """
INSERT INTO sessions VALUES ('s-1', 'shop', '/home/ann/shop', '2026-02-01 09:00:00',
  '2026-02-01 10:00:00', 'Auth is in.');
INSERT INTO sessions VALUES ('s-2', 'shop', '/home/ann/shop', '2026-02-02 09:00:00', NULL, NULL);
INSERT INTO sessions VALUES ('manual-save-shop', 'shop', '', '2026-02-03 09:00:00', NULL, NULL);
INSERT INTO user_prompts (session_id, content, project, created_at)
  VALUES ('s-1', 'Add auth', 'shop', '2026-02-01 09:01:00');
INSERT INTO observations (session_id, type, title, content, project, topic_key, created_at, updated_at)
  VALUES ('s-1', 'decision', 'JWT with RS256', '**What**: JWT', 'shop',
  'architecture/auth', '2026-02-01 09:30:00', '2026-02-02 09:30:00');
INSERT INTO observations (session_id, type, title, content, project, scope, created_at, updated_at)
  VALUES ('manual-save-shop', 'manual', 'Likes tabs', 'Tabs.', 'shop', 'personal',
  '2026-02-03 09:30:00', '2026-02-03 09:30:00');
INSERT INTO observations (session_id, type, title, content, project, created_at, updated_at)
  VALUES ('s-1', 'session_summary', 'Session summary: shop', '## Goal' || char(10) || 'Auth', 'shop',
  '2026-02-01 09:59:00', '2026-02-01 09:59:00');
INSERT INTO observations (session_id, type, title, content, project, deleted_at)
  VALUES ('s-1', 'bugfix', 'Gone', 'Gone.', 'shop', '2026-02-05 09:30:00');
"""
GRAPH = """
CREATE TABLE edges (id INTEGER PRIMARY KEY AUTOINCREMENT, from_obs_id INTEGER NOT NULL,
  to_obs_id INTEGER NOT NULL, relation_type TEXT NOT NULL, weight REAL NOT NULL DEFAULT 1.0,
  created_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, invalid_at TEXT,
  UNIQUE(from_obs_id, to_obs_id, relation_type));
CREATE TABLE importance_scores (observation_id INTEGER PRIMARY KEY,
  score REAL NOT NULL DEFAULT 0.0, access_count INTEGER NOT NULL DEFAULT 0);
CREATE TABLE entity_links (id INTEGER PRIMARY KEY, observation_id INTEGER, entity_type TEXT,
  entity_value TEXT);
INSERT INTO edges (from_obs_id, to_obs_id, relation_type) VALUES (2, 1, 'supersedes'),
  (2, 1, 'contradicts'), (2, 2, 'relates_to'), (1, 2, 'inspired by');
INSERT INTO edges (from_obs_id, to_obs_id, relation_type, invalid_at)
  VALUES (1, 2, 'follows', '2026-02-04');
INSERT INTO importance_scores VALUES (1, 3.4, 9), (2, 0.0, 0);
INSERT INTO entity_links VALUES (1, 1, 'file', 'src/auth.ts');
"""
SQL = TABLES.format(sync="") + ROWS


def records(items) -> list[ForeignRecord]:
    return [item for item in items if isinstance(item, ForeignRecord)]


def sessions(items) -> list[ForeignSession]:
    return [item for item in items if isinstance(item, ForeignSession)]


def test_an_observation_keeps_its_topic_dates_scope_and_session(database) -> None:
    path = database("engram.db", SQL)
    assert engram.accepts(path)
    assert not cortex_memory.accepts(path)
    one, other = records(engram.read(path))
    assert (one.key, one.type, one.topic) == ("observation 1", "decision", "architecture/auth")
    assert (one.at, one.updated) == ("2026-02-01 09:30:00", "2026-02-02 09:30:00")
    assert (one.session, one.scope, one.project) == ("s-1", "project", "shop")
    assert (other.type, other.scope, other.session) == ("note", "personal", "")


def test_a_session_has_its_prompts_and_both_kinds_of_summary(database) -> None:
    (session,) = sessions(engram.read(database("engram.db", SQL)))
    assert (session.project, session.folder) == ("shop", "/home/ann/shop")
    prompt, summary, end = session.turns
    assert prompt.said[0].text == "Add auth"
    assert summary.summary == "## Goal\nAuth"
    assert (end.summary, end.at) == ("Auth is in.", "2026-02-01 10:00:00")


def test_sessions_without_words_are_counted(database) -> None:
    path = database("engram.db", SQL)
    [told] = [one for one in engram.read(path) if isinstance(one, Problem)]
    message = "sessions left out, as empty: 1, such as s-2"
    assert told == Problem(path, message)


def test_the_relative_has_edges_and_scores(database) -> None:
    path = database("cortex.db", SQL + GRAPH)
    assert cortex_memory.accepts(path)
    assert cortex_memory.accepts(str(Path(path).parent))
    assert not engram.accepts(path)
    one, other = records(cortex_memory.read(str(Path(path).parent)))
    assert one.relations == (("inspired_by", "observation 2"),)
    assert other.supersedes == ("observation 1",)
    assert other.relations == (("contradicts", "observation 1"),)
    assert (one.priority, other.priority) == (7, None)


def test_relations_that_somebody_has_judged_are_taken_from_a_newer_engram(database) -> None:
    newer = """
    UPDATE observations SET sync_id = 'obs-' || id;
    CREATE TABLE memory_relations (id INTEGER PRIMARY KEY, sync_id TEXT, source_id TEXT,
      target_id TEXT, relation TEXT, judgment_status TEXT);
    INSERT INTO memory_relations VALUES (1, 'rel-1', 'obs-2', 'obs-1', 'conflicts_with', 'judged'),
      (2, 'rel-2', 'obs-2', 'obs-1', 'supersedes', 'pending'),
      (3, 'rel-3', 'obs-1', 'obs-2', 'not_conflict', 'judged');
    """
    path = database("engram.db", TABLES.format(sync="sync_id TEXT, ") + ROWS + newer)
    one, other = records(engram.read(path))
    assert one.relations == ()
    assert other.relations == (("contradicts", "observation 1"),)
    assert other.supersedes == ()


def test_an_older_table_lacks_columns_and_a_foreign_one_is_refused(database) -> None:
    old = "CREATE TABLE sessions (id); CREATE TABLE user_prompts (id); CREATE TABLE observations "
    row = "INSERT INTO observations VALUES (1, 's', 'learning', 'T', 'C');"
    path = database("old.db", f"{old} (id INTEGER, session_id, type, title, content); {row}")
    (record,) = engram.read(path)
    assert isinstance(record, ForeignRecord)
    assert (record.title, record.topic, record.at) == ("T", "", None)
    path = database("other.db", f"{old} (id, text);")
    with pytest.raises(InvalidInputError, match="id, text"):
        list(engram.read(path))


def test_import_keeps_topics_relations_and_what_was_replaced(database, imported) -> None:
    sql = SQL + GRAPH + "DELETE FROM sessions WHERE id = 's-2';"
    found = imported("cortex-memory", database("cortex.db", sql))
    older, newer = found
    assert (older.title, older.get("status")) == ("JWT with RS256", "superseded")
    assert (older.get("topic"), older.get("created")) == (
        "architecture/auth",
        "2026-02-01T09:30:00Z",
    )
    assert older.get("updated") == "2026-02-02T09:30:00Z"
    assert newer.title == "Likes tabs"
    assert newer.get("scope") == "personal"
    assert older.get("priority") == "7"
    assert "architecture-auth" in str(newer.fields["supersedes"])
    assert "contradicts" in newer.frontmatter.decode()
