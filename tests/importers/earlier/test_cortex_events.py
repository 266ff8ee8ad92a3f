from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.earlier.cortex_events import accepts, read
from cortex.importers.item import ForeignRecord

MADE = Path(__file__).parent / "cortex_events.json"
COLUMNS = (
    "id", "session_id", "project", "git_branch", "type", "content", "metadata", "salience",
    "confidence", "created_at", "accessed_at", "access_count", "immortal", "provenance",
)  # fmt: skip


def as_database() -> str:
    """The same events as tier 1 keeps them."""
    sql = f"CREATE TABLE events ({', '.join(COLUMNS)}); CREATE TABLE snapshots (branch);"
    for event in json.loads(MADE.read_text()):
        values = [json.dumps(one) if isinstance(one, dict) else one for one in event.values()]
        words = ", ".join("'{}'".format(str(one).replace("'", "''")) for one in values)
        sql += f"INSERT INTO events VALUES ({words});"
    return sql + "UPDATE events SET salience = salience + 0, confidence = confidence + 0;"


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    folder = tmp_path / ".cortex" / "projects" / "a1b2c3d4e5f60718"
    folder.mkdir(parents=True)
    shutil.copy(MADE, folder / "events.json")
    (folder / "state.json").write_text("{}")
    return folder.parent


def records(path: Path | str) -> list[ForeignRecord]:
    return [item for item in read(str(path)) if isinstance(item, ForeignRecord)]


def test_an_event_that_says_something_is_a_record_and_what_was_looked_at_is_none(projects) -> None:
    assert accepts(str(projects))
    assert accepts(str(projects / "a1b2c3d4e5f60718" / "events.json"))
    found = records(projects)
    assert [one.type for one in found] == [
        "decision", "rejection", "plan", "plan", "progress", "learning", "bugfix", "preference",
    ]  # fmt: skip
    first = found[0]
    event = json.loads(MADE.read_text())[0]
    assert (first.key, first.at) == (event["id"], event["created_at"])
    assert (first.project, first.branch, first.confidence) == ("/home/ann/shop", "main", 0.85)
    assert first.priority == 9
    assert found[2].topic == found[3].topic == f"plan/{first.session}"


def test_the_database_of_the_next_tiers_reads_the_same(projects, database) -> None:
    path = database(".cortex/projects/a1b2c3d4e5f60718/cortex.db", as_database())
    assert accepts(path)
    assert records(path) == records(MADE)
    both = records(projects)
    assert len({one.key for one in both}) == len(both) // 2 == 8


def test_an_event_that_cannot_be_read_is_named_and_the_rest_is_taken(projects) -> None:
    file = projects / "a1b2c3d4e5f60718" / "events.json"
    events = json.loads(file.read_text())
    del events[1]["content"]
    file.write_text(json.dumps(events))
    items = list(read(str(projects)))
    assert [item.where for item in items if isinstance(item, Problem)] == [
        f"event {events[1]['id']}"
    ]
    assert len(items) == 8
    file.write_text(file.read_text()[:-300])
    with pytest.raises(InvalidInputError, match="broken off"):
        list(read(str(projects)))


def test_other_files_are_not_taken_for_it(tmp_path, database) -> None:
    (tmp_path / "events.json").write_text('[{"id": 1}]')
    assert not accepts(str(tmp_path))
    assert not accepts(database("x.db", "CREATE TABLE events (id);"))
    with pytest.raises(InvalidInputError, match="holds no events"):
        list(read(str(tmp_path)))


def test_import_of_both_tiers_makes_one_record_of_each(projects, database, imported) -> None:
    database(".cortex/projects/a1b2c3d4e5f60718/cortex.db", as_database())
    found = imported("cortex-events", projects)
    assert len(found) == 7  # both plans are of one topic
    decision = next(note for note in found if note.get("type") == "decision")
    assert decision.title == "Use SQLite, one file and one writer"
    assert (decision.get("project"), decision.get("priority")) == ("shop", "9")
