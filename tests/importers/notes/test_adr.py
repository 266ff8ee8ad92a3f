"""Decision records as adr-tools (Nygard's template) and MADR 2 to 4 lay them out."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.item import ForeignRecord
from cortex.importers.notes import adr
from cortex.operations.care.doctor import doctor
from cortex.operations.exchange.import_ import import_

FILES = {
    "0001-record-decisions.md": (
        "# 1. Record decisions\n\nDate: 2016-02-12\n\n## Status\n\nAccepted\n\n"
        "## Context\n\nWe forget.\n\n## Decision\n\nWe write.\n\n## Consequences\n\nFiles.\n"
    ),
    "0002-use-mysql.md": (
        "# 2. Use MySQL\n\nDate: 2017-03-01\n\n## Status\n\n"
        "Superceded by [3. Use Postgres](0003-use-postgres.md)\n\n## Context\n\nRows.\n"
    ),
    "0003-use-postgres.md": (
        "# 3. Use Postgres\n\nDate: 2018-09-27\n\n## Status\n\nAccepted\n\n"
        "Supercedes [2. Use MySQL 4.12 for rows](0002-use-mysql.md)\n\n"
        "Amends [1. Record decisions](0001-record-decisions.md)\n\n## Context\n\nRows.\n"
    ),
    "0004-use-mocha.md": (
        "# Use Mocha\n\n* Status: rejected <!-- optional -->\n* Deciders: Ana, Ben\n"
        "* Date: 2020-08-11\n\n## Context and Problem Statement\n\nTests.\n"
    ),
    "ADR-0005-use-vitest.md": (
        "---\nstatus: superseded by ADR-0006\ndate: 2024-04-10\ndecision-makers: [Ana, Ben Okri]\n"
        "tags: [tests]\n---\n# ADR-0005: Use Vitest\n\n## Decision Outcome\n\nVitest.\n"
    ),
    "ADR-0006-use-node.md": (
        "# ADR-0006 — Use Node's runner\n\n- **Status:** Accepted\n- **Date:** 2026-07-22\n"
        "- **Superseded By:** ADR-0007 for implementation details\n- **Related ADRs:** ADR-0001, ADR-0003\n"
        "- **Supersedes:** None (extends ADR-0001)\n\n## Context\n\nTests.\n"
    ),
    "0007-hold.md": "# Hold\n\nStatus: On hold (2026-05-14)\n\n## Context\n\nSee https://x.y/0001-a.\n",
    "0008-old.md": "# Old\n\nStatus: Deprecated.\n\n## Context\n\nIt was.\n",
    "0009-plan.md": (
        "# Plan\n\n| Field    | Value |\n| --- | --- |\n| Status   | Proposed    |\n"
        "| Deciders | Ana |\n\n## Context\n\nPerhaps.\n"
    ),
    "0000-template.md": "# {title}\n\n## Status\n\n{proposed | accepted}\n",
    "README.md": "# Our decisions\n\n## Status\n\n",
    "0010-picture.md": "A picture of the house.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    where = tmp_path / "shop" / "docs" / "adr"
    where.mkdir(parents=True)
    for name, text in FILES.items():
        (where / name).write_text(text)
    return where


def read(path: Path) -> dict[str, ForeignRecord]:
    items = list(adr.read(str(path)))
    assert items == list(adr.read(str(path)))
    found = [item for item in items if isinstance(item, ForeignRecord)]
    return {item.key.removeprefix("shop/docs/adr/"): item for item in found}


def test_each_decision_keeps_its_status_date_and_deciders(folder: Path) -> None:
    assert adr.accepts(str(folder))
    found = read(folder)
    for name in ("0007-hold.md", "0008-old.md", "0009-plan.md"):  # that name no day
        assert found[name].at == (folder / name).stat().st_mtime
        found[name] = found[name]._replace(at="")
    assert [(one.title, one.type, one.status, one.at) for one in found.values()] == [
        ("Record decisions", "decision", "", "2016-02-12"),
        ("Use MySQL", "decision", "superseded", "2017-03-01"),
        ("Use Postgres", "decision", "", "2018-09-27"),
        ("Use Mocha", "rejection", "", "2020-08-11"),
        ("Hold", "decision", "on-hold", ""),
        ("Old", "decision", "archived", ""),
        ("Plan", "decision", "proposed", ""),
        ("Use Vitest", "decision", "superseded", "2024-04-10"),
        ("Use Node's runner", "decision", "", "2026-07-22"),
    ]
    assert found["0009-plan.md"].attendees == ("Ana",)
    assert found["0004-use-mocha.md"].attendees == ("Ana", "Ben")
    assert found["ADR-0005-use-vitest.md"].attendees == ("Ana", "Ben Okri")
    assert found["ADR-0005-use-vitest.md"].tags == ("tests",)
    assert Path(found["0007-hold.md"].project).name == "shop"
    assert found["0001-record-decisions.md"].body.endswith("## Consequences\n\nFiles.\n")


def test_decisions_name_each_other_by_number(folder: Path) -> None:
    found = read(folder)
    assert found["0002-use-mysql.md"].superseded_by == "shop/docs/adr/0003-use-postgres.md"
    assert found["0003-use-postgres.md"].supersedes == ("shop/docs/adr/0002-use-mysql.md",)
    assert found["0003-use-postgres.md"].relations == (
        ("amends", "shop/docs/adr/0001-record-decisions.md"),
    )
    assert found["ADR-0005-use-vitest.md"].superseded_by == "shop/docs/adr/ADR-0006-use-node.md"
    assert found["0007-hold.md"].relations == ()


def test_what_is_replaced_in_part_is_still_in_force(folder: Path) -> None:
    one = read(folder)["ADR-0006-use-node.md"]
    assert (one.superseded_by, one.supersedes) == ("", ())
    assert one.relations == (
        ("amended_by", "shop/docs/adr/0007-hold.md"),
        ("relates_to", "shop/docs/adr/0001-record-decisions.md"),
        ("relates_to", "shop/docs/adr/0003-use-postgres.md"),
        ("amends", "shop/docs/adr/0001-record-decisions.md"),
    )


def test_a_repository_may_be_named_and_numbers_count_in_their_folder(folder: Path) -> None:
    other = folder.parents[1] / "web" / "decisions"
    other.mkdir(parents=True)
    (other / "0002-use-lit.md").write_text("# Use Lit\n\nStatus: superseded by 0003\n")
    (other / "0003-use-vue.md").write_text("# Use Vue\n\nStatus: accepted\n")
    found = read(folder.parents[1])
    assert len(found) == 11
    assert (
        found["shop/web/decisions/0002-use-lit.md"].superseded_by
        == "shop/web/decisions/0003-use-vue.md"
    )


def test_what_is_no_record_is_left_out(folder: Path) -> None:
    problems = [one for one in adr.read(str(folder)) if isinstance(one, Problem)]
    assert problems == []


def test_another_folder_is_none(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("## Decision\n")
    assert not adr.accepts(str(tmp_path))
    with pytest.raises(InvalidInputError, match="no decision records"):
        list(adr.read(str(tmp_path)))
    minutes = tmp_path / "minutes"
    minutes.mkdir()
    (minutes / "2026-11-27-weekly.md").write_text("---\nstatus: done\n---\n## Decisions\n")
    assert not adr.accepts(str(minutes))


def test_the_verb_makes_records_with_what_replaced_what(folder: Path, vault, import_twice) -> None:
    done = import_twice("adr", folder)
    assert [(one.kind, one.found) for one in done.items] == [("record", 9)]
    assert (done.events, done.records) == (9, 9)
    [old] = Path(vault.root, "records/decision").glob("use-mysql-*.md")
    text = old.read_text()
    assert "status: superseded\n" in text
    assert "created: 2017-03-01T00:00:00Z\n" in text
    assert 'superseded_by: "[[use-postgres-' in text
    assert "project: shop\n" in text
    assert len(list(Path(vault.root, "records/rejection").glob("use-mocha-*.md"))) == 1


def test_a_line_that_names_its_status_again_and_again_is_read(tmp_path: Path) -> None:
    (tmp_path / "0001-use-x.md").write_text("# 1. Use X\n\n## Status\n\n" + "Status: " * 5_000)
    (one,) = adr.read(str(tmp_path))
    assert isinstance(one, ForeignRecord)
    assert one.title == "Use X"


def test_without_a_date_it_has_that_of_the_commit_that_added_it(
    folder: Path, git, monkeypatch
) -> None:
    root = str(folder.parents[1])
    git(root, "init", "-q")
    for day, old, new in (
        ("2015-03-04", "", "0007-hold.md"),
        ("2016-05-06", "0007-hold.md", "0007-wait.md"),
        ("2017-07-08", "", "0008-old.md"),
    ):
        monkeypatch.setenv("GIT_AUTHOR_DATE", f"{day}T10:00:00+02:00")
        if old:
            (folder / old).rename(folder / new)
        git(root, "add", "-A", f"docs/adr/{new}", *([f"docs/adr/{old}"] if old else []))
        git(root, "commit", "-qm", "adr")
    found = read(folder)
    assert found["0007-wait.md"].at == "2015-03-04T10:00:00+02:00"
    assert found["0008-old.md"].at == "2017-07-08T10:00:00+02:00"
    assert found["0009-plan.md"].at == (folder / "0009-plan.md").stat().st_mtime


def test_a_file_may_begin_with_its_day(tmp_path: Path) -> None:
    by = "superseded by [20200924-use-c](20200924-use-c.md)"
    for name, status in (
        ("20200924-use-a.md", "accepted"), ("20200924-use-b.md", by), ("20200924-use-c.md", "accepted"),
        ("2020-09-25-use-d.md", "accepted"),
    ):  # fmt: skip
        (tmp_path / name).write_text(f"# Use\n\n- Status: {status}\n\n## Decision\n\nYes.\n")
    found = {name.rpartition("/")[2]: one for name, one in read(tmp_path).items()}
    assert [one.at for one in found.values()] == ["2020-09-25", *["20200924"] * 3]
    assert found["20200924-use-b.md"].superseded_by.endswith("/20200924-use-c.md")


def test_links_to_other_decisions_lead_to_their_records(
    folder: Path, vault, caller, import_twice
) -> None:
    (folder / "0011-more.md").write_text(
        "# More\n\nDate: 2026-01-02\n\n## Decision\n\nAs [Mocha](./0004-use-mocha.md#context) and "
        "[this](../adr/0012-most.md), not as [the house](../house.md).\n\n"
        "| what |\n| --- |\n| [it](0012-most.md) |\n"
    )
    (folder / "0012-most.md").write_text("# Most\n\nDate: 2026-01-03\n\n## Decision\n\nYes.\n")
    import_twice("adr", folder)
    [mocha] = Path(vault.root, "records/rejection").glob("use-mocha-*.md")
    [most] = Path(vault.root, "records/decision").glob("most-*.md")
    [more] = Path(vault.root, "records/decision").glob("more-*.md")
    links = f"As [[{mocha.stem}|Mocha]] and [[{most.stem}|this]], not as [the house](../house.md)."
    assert links in more.read_text()
    assert f"| [[{most.stem}\\|it]] |" in more.read_text()


def test_it_suffices_that_the_older_one_says_what_replaced_it(
    tmp_path: Path, vault, caller
) -> None:
    (tmp_path / "adr").mkdir()
    (tmp_path / "adr/0001-use-a.md").write_text(
        "# Use A\n\nDate: 2020-01-01\n\n## Status\n\nSuperseded by ADR-0002\n"
    )
    (tmp_path / "adr/0002-use-b.md").write_text(
        "# Use B\n\nDate: 2020-01-02\n\n## Status\n\nAccepted\n"
    )
    import_(vault, caller, ("adr", str(tmp_path / "adr")))
    [newer] = Path(vault.root, "records/decision").glob("use-b-*.md")
    assert "supersedes:" in newer.read_text()
    assert doctor(vault, caller).problems == ()
