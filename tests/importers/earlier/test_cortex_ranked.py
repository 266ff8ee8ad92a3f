from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.earlier.cortex_ranked import accepts, read
from cortex.importers.item import ForeignRecord

# As `engine/src/infra/db.ts` makes them, without what is not read.
SQL = """
CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT NOT NULL, summary TEXT NOT NULL,
  memory_type TEXT NOT NULL, scope TEXT NOT NULL, embedding BLOB, local_embedding BLOB,
  confidence REAL NOT NULL, priority INTEGER NOT NULL, pinned INTEGER NOT NULL DEFAULT 0,
  source_type TEXT NOT NULL, source_session TEXT NOT NULL, source_context TEXT NOT NULL,
  tags TEXT NOT NULL, access_count INTEGER NOT NULL DEFAULT 0, last_accessed_at TEXT NOT NULL,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active');
CREATE TABLE edges (id TEXT PRIMARY KEY, source_id TEXT NOT NULL, target_id TEXT NOT NULL,
  relation_type TEXT NOT NULL, strength REAL NOT NULL, bidirectional INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'active', created_at TEXT NOT NULL);
"""
ROWS = """
INSERT INTO memories VALUES ('m-1', 'Chose SQLite over Postgres', 'SQLite over Postgres',
  'decision', 'project', NULL, NULL, 0.9, 8, 1, 'extraction', 's-1',
  '{"source":"extraction","session_id":"s-1","branch":"main"}', '["db","store"]', 1, '',
  '2026-03-01T09:00:00.000Z', '2026-03-02T09:00:00.000Z', 'active'),
 ('m-2', 'Chose Postgres', 'Postgres', 'decision', 'project', NULL, NULL, 0.5, 8, 0,
  'extraction', 's-1', '{}', '[]', 1, '', '2026-02-01T09:00:00.000Z',
  '2026-02-01T09:00:00.000Z', 'superseded'),
 ('m-3', 'Opens the database', 'Opens the database', 'code_description', 'project', NULL, NULL,
  0.9, 7, 0, 'code_index', 's-1', '{"source":"code_index","file_path":"src/db.ts","start_line":10}',
  '[]', 1, '', '2026-03-01T09:00:00.000Z', '2026-03-01T09:00:00.000Z', 'active'),
 ('m-4', 'open(path)', 'open', 'code', 'project', NULL, NULL, 0.9, 5, 0, 'code_index', 's-1',
  '{"source":"code_index","file_path":"src/db.ts"}', '[]', 1, '', '2026-03-01T09:00:00.000Z',
  '2026-03-01T09:00:00.000Z', 'active'),
 ('m-5', 'Old', 'Old', 'gotcha', 'global', NULL, NULL, 0.2, 3, 0, 'manual', 's-1', '{}', '[]', 1,
  '', '2026-01-01T09:00:00.000Z', '2026-01-01T09:00:00.000Z', 'archived'),
 ('m-6', 'Gone', 'Gone', 'gotcha', 'project', NULL, NULL, 0.2, 3, 0, 'manual', 's-1', '{}', '[]',
  1, '', '2026-01-01T09:00:00.000Z', '2026-01-01T09:00:00.000Z', 'pruned');
INSERT INTO edges VALUES ('e-1', 'm-1', 'm-2', 'supersedes', 1, 0, 'active', ''),
 ('e-2', 'm-3', 'm-4', 'source_of', 1, 0, 'active', ''),
 ('e-3', 'm-1', 'm-3', 'relates_to', 0.4, 0, 'suggested', ''),
 ('e-4', 'm-1', 'm-5', 'refines', 0.6, 0, 'active', '');
"""


@pytest.fixture
def project(tmp_path: Path, database) -> Path:
    database("shop/.memory/cortex.db", SQL + ROWS)
    return tmp_path / "shop"


def records(path: Path | str) -> list[ForeignRecord]:
    return [item for item in read(str(path)) if isinstance(item, ForeignRecord)]


@pytest.mark.parametrize("inside", ["", ".memory", ".memory/cortex.db"])
def test_a_memory_keeps_its_type_status_weights_tags_and_branch(project, inside) -> None:
    assert accepts(str(project / inside))
    first, second, described, code, old = records(project / inside)
    assert (first.title, first.type, first.status) == ("SQLite over Postgres", "decision", "active")
    assert (first.confidence, first.priority, first.pinned) == (0.9, 8, True)
    assert (first.tags, first.branch, first.session) == (("db", "store"), "main", "s-1")
    assert (first.project, first.scope) == (str(project), "project")
    assert first.updated == "2026-03-02T09:00:00.000Z"
    assert first.supersedes == ("m-2",)
    assert first.relations == (("refines", "m-5"),)
    assert (second.status, old.status, old.scope) == ("superseded", "archived", "global")
    assert described.relations == (("source_of", code.key),)
    assert described.body.endswith("Source: `src/db.ts:10`")


def test_the_database_of_all_projects_is_of_none(database) -> None:
    path = database("memory/cortex-global.db", SQL + ROWS)
    assert accepts(str(Path(path).parent))
    assert {one.project for one in records(Path(path).parent)} == {""}


def test_a_memory_that_cannot_be_read_is_named_and_stops_nothing(project, database) -> None:
    database("shop/.memory/cortex.db", "UPDATE memories SET source_context = '{' WHERE id = 'm-3';")
    items = list(read(str(project)))
    assert [item.where for item in items if isinstance(item, Problem)] == ["memory m-3"]
    assert len(items) == 5


def test_other_databases_are_not_taken_for_it(database) -> None:
    path = database("x.db", "CREATE TABLE memories (id, text); CREATE TABLE edges (id);")
    assert not accepts(database("y.db", "CREATE TABLE memories (id, text);"))
    with pytest.raises(InvalidInputError, match="no ranked memories"):
        list(read(path))


def test_import_keeps_statuses_and_pairs(project, imported) -> None:
    found = {note.title: note for note in imported("cortex-ranked", project)}
    assert len(found) == 5
    assert found["Postgres"].get("status") == "superseded"
    assert found["Old"].get("status") == "archived"
    first = found["SQLite over Postgres"]
    assert (first.get("created"), first.get("updated")) == (
        "2026-03-01T09:00:00Z",
        "2026-03-02T09:00:00Z",
    )
    assert first.get("project") == "shop"
    assert first.fields["pinned"] is True
    assert found["open"].get("id") in str(found["Opens the database"].fields["source_of"])
