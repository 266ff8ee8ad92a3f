"""The inbox and the records of the first Cortex, laid out as its documentation says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.earlier import cortex_inbox
from cortex.importers.item import ForeignMeeting, ForeignRecord

FILES = {
    "projects/shop/use-mysql.md": (
        "---\nid: rec-shop-use-mysql-001\ntype: decision\nscope: shop\nstatus: superseded\n"
        "summary: Use MySQL\ntags: [db]\ncreated: 2026-01-03T10:15:00Z\n"
        "superseded_by: rec-shop-use-postgres-002\nsuperseded_at: 2026-02-01\n"
        "provenance:\n  event_ids: [evt-1]\n  source_session_id: s-1\n---\nRows.\n"
    ),
    "projects/shop/use-postgres.md": (
        "---\nid: rec-shop-use-postgres-002\ntype: decision\nstatus: active\nsummary: Use Postgres\n"
        "created: 2026-02-01T00:00:00Z\nprovenance:\n  event_ids: [evt-2, evt-3]\n"
        "  supersedes: rec-shop-use-mysql-001\n---\nRows.\n"
    ),
    "areas/health/run.md": (
        "---\nid: rec-health-run-001\ntype: action\nstatus: open\nowner: Ana\ndue: 2026-12-01\n"
        "relations:\n  - kind: relates_to\n    to: rec-shop-use-mysql-001\n"
        "provenance:\n  derived_from: [rec-shop-use-postgres-002]\n---\n# Run a mile\n"
    ),
    "archive/old.md": "---\nid: rec-old-001\ntype: note\nstatus: open\n---\n# Old\n",
    "daily/2026-01-03.md": "# Saturday\n\nRain.\n",
    "meetings/_index.md": "# Meetings\n",
    "index.md": "# Index\n",
    "templates/stop.md": "{{ gist }}\n",
    "inbox/processed/evt-1.md": "---\nid: evt-1\ntype: stop\n---\n## Raw Content\n\nMySQL.\n",
    "inbox/processed/evt-9.md": (
        "---\nid: evt-9\ntype: stop\nsession: s-9\nproject: shop\ntags: a, b\n---\n"
        "## Raw Content\n\nThe cache is off.\n"
    ),
    "inbox/pending/20260304T101500-evt-4.md": (
        "---\nid: evt-4\ntype: meeting\nproject: shop\n---\n## Raw Content\n\n# Weekly\n\n"
        "## Decisions\n\n- We ship on Thursdays\n"
    ),
    "inbox/failed/evt-5.md": (
        "---\nid: evt-5\ntype: manual\nerror: no model\n---\n## Raw Content\n\nKeep the key.\n"
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "dot-cortex" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "dot-cortex"


def test_records_keep_status_dates_and_what_they_came_of(folder: Path) -> None:
    assert cortex_inbox.accepts(str(folder))
    items = list(cortex_inbox.read(str(folder)))
    assert items == list(cortex_inbox.read(str(folder)))
    found = {one.key: one for one in items if isinstance(one, ForeignRecord)}
    old, new = found["rec-shop-use-mysql-001"], found["rec-shop-use-postgres-002"]
    assert old == ForeignRecord(
        "rec-shop-use-mysql-001", "Use MySQL", "Rows.\n", "decision", "2026-01-03T10:15:00Z",
        project="shop", session="s-1", tags=("db",), status="superseded",
        superseded_by="rec-shop-use-postgres-002",
    )  # fmt: skip
    assert new.supersedes == ("rec-shop-use-mysql-001",)
    run = found["rec-health-run-001"]
    assert (run.title, run.status, run.owner, run.due) == (
        "Run a mile",
        "open",
        "Ana",
        "2026-12-01",
    )
    assert (run.tags, run.derived_from) == (("health",), ("rec-shop-use-postgres-002",))
    assert run.relations == (("relates_to", "rec-shop-use-mysql-001"),)
    assert found["rec-old-001"].status == "archived"
    assert found["daily/2026-01-03.md"].title == "Saturday"


def test_events_come_only_where_there_is_no_record(folder: Path) -> None:
    items = list(cortex_inbox.read(str(folder)))
    assert [one.key for one in items if isinstance(one, ForeignMeeting | ForeignRecord)][-3:] == [
        "evt-5",
        "evt-4",
        "evt-9",
    ]
    [meeting] = [one for one in items if isinstance(one, ForeignMeeting)]
    assert (meeting.at, meeting.project) == ("2026-03-04T10:15:00Z", "shop")
    assert meeting.text.startswith("# Weekly")
    gist = items[-1]
    assert gist == ForeignRecord(
        "evt-9", "", "The cache is off.", "progress", project="shop", session="s-9", tags=("a", "b")
    )


def test_what_failed_is_named_with_its_reason(folder: Path) -> None:
    problems = [one for one in cortex_inbox.read(str(folder)) if isinstance(one, Problem)]
    assert [(one.where, one.message) for one in problems] == [
        ("inbox/failed/evt-5.md", "it had failed there: no model")
    ]


def test_a_vault_of_this_cortex_is_none(folder: Path) -> None:
    (folder / "cortex.toml").write_text("")
    assert not cortex_inbox.accepts(str(folder))
    with pytest.raises(InvalidInputError, match="no inbox/processed"):
        list(cortex_inbox.read(str(folder)))


def test_the_verb_takes_them_over(folder: Path, vault, import_twice) -> None:
    done = import_twice("cortex-inbox", folder)
    assert [(one.kind, one.found) for one in done.items] == [("record", 7), ("meeting", 1)]
    [old] = Path(vault.root, "records/decision").glob("use-mysql-*.md")
    assert "status: superseded\n" in old.read_text()
    assert 'superseded_by: "[[use-postgres-' in old.read_text()
    [action] = Path(vault.root, "records/action").glob("*.md")
    assert "status: open\n" in action.read_text()
    assert len(list(Path(vault.root, "records/decision").glob("we-ship-on-thursdays-*.md"))) == 1
