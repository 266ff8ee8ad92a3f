"""Every field of a filter against the SQL that it stands for, and the named queries."""

from __future__ import annotations

import random

import pytest

from cortex.core.ranking.query import parse
from cortex.index.catalogue import NoteRow, sqlite_queries
from cortex.index.catalogue.filters import KNOWLEDGE, NoteFilter, Order
from cortex.index.catalogue.sqlite_catalogue import SqliteCatalogue
from cortex.index.catalogue.sqlite_notes import CREATED_SECONDS_SQL, ORDER_SQL

HAS_ID = "id != CAST(path AS TEXT)"
DONE = "(status IN ('done', 'closed', 'cancelled') OR (type = 'action' AND id IN (SELECT id FROM tick)))"
OPEN = f"((status = 'open' AND type != 'session') OR type = 'action') AND NOT {DONE}"

CASES = [
    (NoteFilter(), "1"),
    (KNOWLEDGE._replace(projects=("b",)), "tier < 2 AND project = 'b'"),
    (NoteFilter(projects=("", "a")), "project IN ('', 'a')"),
    (NoteFilter(types=("session", "")), "type IN ('session', '')"),
    (NoteFilter(statuses=("superseded", "deleted")), "status IN ('superseded', 'deleted')"),
    (NoteFilter(sessions=("s1",)), "session = 's1'"),
    (NoteFilter(sessions=("",)), "session = ''"),
    (NoteFilter(topics=("decision/x",)), "topic = 'decision/x'"),
    (NoteFilter(has_topic=True), "topic != ''"),
    (NoteFilter(state="to_do"), f"type = 'action' AND tier = 0 AND NOT {DONE}"),
    (NoteFilter(state="done"), f"type = 'action' AND {DONE}"),
    (NoteFilter(state="open", tiers=(0,)), f"tier = 0 AND {OPEN}"),
    (
        NoteFilter(state="open", types=("action",)),
        f"{OPEN} AND type = 'action'",
    ),
    (NoteFilter(tiers=(0,), has_id=True, not_types=("session", "briefing")), f"tier = 0 AND {HAS_ID} AND type NOT IN ('session', 'briefing')"),
    (KNOWLEDGE._replace(event="e2"), "tier < 2 AND instr(char(10) || events || char(10), char(10) || 'e2' || char(10))"),
    (NoteFilter(id_prefix="use_1"), "substr(id, 1, 5) = 'use_1'"),
    (NoteFilter(is_cross_project=True), "scope IN ('personal', 'global') OR (scope = '' AND project = '')"),
    (NoteFilter(is_rated=True), "confidence = 0.4 OR priority = 3"),
    (NoteFilter(enduring_types=("decision",)), "pinned = 1 OR type = 'decision'"),
    (NoteFilter(created_until=1790000000), f"{CREATED_SECONDS_SQL} <= 1790000000"),
    (NoteFilter(changed_since=0, changed_before=1800000000), "date < 1800000000"),
    (NoteFilter(changed_since=1700000000), "date >= 1700000000"),
    (NoteFilter(title_words=("three", "one")), "instr(lower(title), 'three') OR instr(lower(title), 'one')"),
    (
        NoteFilter(query=parse("type:decision,action -status:done after:2020", "2026-11-20T16:45:12Z")),
        "type IN ('decision', 'action') AND status != 'done' AND date >= 1577836800",
    ),
    (NoteFilter(query=parse("tag:x", "2026-11-20T16:45:12Z")), "tags = 'x' || char(10) || 'y'"),
    (NoteFilter(numbers=range(0, 5000, 3)), "number % 3 = 0"),
    (NoteFilter(ids=[f"id-{n}" for n in range(0, 3000, 2)]), "id GLOB 'id-*[02468]'"),
    (NoteFilter(numbers=()), "0"),
    (NoteFilter(ids=()), "0"),
    (NoteFilter(types=()), "0"),
    (NoteFilter(query=parse("path:\udcff branch:\udcff", "2026-11-20T16:45:12Z")), "0"),
    (NoteFilter(ids=("\udcff", *map(str, range(1000)))), "0"),
]  # fmt: skip


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    draw = random.Random(3)
    with SqliteCatalogue.create(str(tmp_path_factory.mktemp("cache"))) as made:
        for number in range(1, 2001):
            path = f"p{number:04d}.md"
            id_ = draw.choice([path, f"id-{number % 1500}", f"use_{number}%x"])
            type_ = draw.choice(
                ["decision", "action", "session", "meeting", "note", "preference", "briefing", ""]
            )
            values = {
                "number": number, "path": path.encode(), "hash": b"h", "index_digest": b"t", "id": id_, "type": type_,
                "title": draw.choice(["One two", "THREE big", "x"]),
                "status": draw.choice(["open", "active", "done", "superseded", "archived", "closed", ""]),
                "project": draw.choice(["", "a", "b"]), "branch": draw.choice(["", "main"]), "tags": draw.choice(["", "x\ny"]),
                "date": draw.choice([1, 1700000000, 1800000000]), "tier": draw.choice([0, 1, 2]),
                "created": draw.choice(["", "2026-11-20T16:45:12Z", "junk"]), "events": draw.choice(["", "e1\ne2", "e2", "e22"]),
                "digest": draw.choice(["", "d"]), "scope": draw.choice(["", "project", "personal", "global"]),
                "written": "", "topic": draw.choice(["", "decision/x"]), "session": draw.choice(["", "s1", "s2"]), "updated": "",
                "due": draw.choice(["", "2026-11-20", "2026-01-01T", "odd"]), "owner": "", "pinned": draw.choice([0, 1]),
                "confidence": 0.4 if not number % 9 else None, "priority": draw.choice([None, 3]),
            }  # fmt: skip
            columns, marks = ", ".join(values), ",".join("?" * len(values))
            made.select(f"INSERT INTO note ({columns}) VALUES ({marks})", [*values.values()])
            if not number % 3:
                made.select("INSERT INTO tick VALUES (?, ?)", (number, id_))
            for kind, name in draw.sample(
                [("file", "src/a.py"), ("symbol", "run"), ("version", "1.2")], 2
            ):
                made.select("INSERT INTO entity VALUES (?, ?, ?, ?, 1)", (number, kind, name, name))
            if not number % 50:
                made.select("INSERT INTO edge VALUES (?, 'refines', ?, ?, 1)", (number, id_, id_))
                made.select("INSERT INTO name VALUES (?, ?, 0)", (number, id_))
        made.commit()
        yield made


def numbers_where(catalogue: SqliteCatalogue, where: str) -> list[int]:
    return [n for (n,) in catalogue.select(f"SELECT number FROM note WHERE {where}")]


@pytest.mark.parametrize(("wanted", "where"), CASES)
def test_a_filter_means_its_sql(catalogue, wanted, where) -> None:
    expected = set(numbers_where(catalogue, where))
    assert expected or where == "0"
    assert catalogue.numbers(wanted) == expected
    assert catalogue.count(wanted) == len(expected)
    assert {row.number for row in catalogue.find(wanted)} == expected


@pytest.mark.parametrize("order", ORDER_SQL)
def test_an_order_is_the_same_whatever_the_numbers(catalogue, order: Order) -> None:
    rows = catalogue.find(NoteFilter(tiers=(0,)), order)
    keys = {
        "path": lambda row: row.path, "id": lambda row: (row.id, row.path), "date": lambda row: (row.date, row.path),
        "-date": lambda row: (-row.date, row.path), "tier": lambda row: (row.tier, -row.date, row.path),
        "due": lambda row: (not row.due, row.due, row.path), "-pinned": lambda row: (not row.pinned, -row.date, row.path),
        "-created": lambda row: (-(1795193112 if row.created[:1] == "2" else row.date), -row.date, row.path),
    }  # fmt: skip
    if order in keys:
        assert rows == sorted(rows, key=keys[order])
    if order == "-id":
        assert [row.id for row in rows] == sorted((row.id for row in rows), reverse=True)
    assert catalogue.find(NoteFilter(tiers=(0,)), order, 7) == rows[:7]


def test_a_row_has_every_column_in_its_place(catalogue) -> None:
    row = catalogue.row_at("p0007.md")
    assert isinstance(row, NoteRow)
    assert row is not None
    assert (row.number, row.path) == (7, "p0007.md")
    assert isinstance(row.pinned, bool)
    assert row.priority in (None, 3)
    assert row.confidence is None
    rows = catalogue.find(NoteFilter())
    assert {row.tags for row in rows} == {(), ("x", "y")}
    assert {row.events for row in rows} == {(), ("e1", "e2"), ("e2",), ("e22",)}
    assert {row.digest for row in rows} == {"", "d"}
    assert {row.session for row in rows} == {"", "s1", "s2"}
    assert catalogue.rows_by_number([3, 9_000])[3].path == "p0003.md"
    assert catalogue.row_at("none.md") is None


def test_counts_by_a_column_come_the_most_frequent_first(catalogue) -> None:
    counts = catalogue.count_by("project", NoteFilter(tiers=(1,)))
    assert list(counts.items()) == sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    assert sum(counts.values()) == catalogue.count(NoteFilter(tiers=(1,)))


def test_projects_and_branches_have_their_figures(catalogue) -> None:
    (total,) = catalogue.project_totals("a")
    own = KNOWLEDGE._replace(projects=("a",))
    assert total in catalogue.project_totals()
    assert {one.name for one in catalogue.project_totals()} == {"a", "b"}
    assert total.notes == catalogue.count(own._replace(not_types=("session",)))
    assert total.sessions == catalogue.count(own._replace(types=("session",)))
    assert total.to_do == catalogue.count(own._replace(state="to_do"))
    assert total.last_change == 1800000000
    on_main = numbers_where(catalogue, "tier < 2 AND project = 'a' AND branch = 'main'")
    assert catalogue.branch_totals("a", 5) == [("main", len(on_main), 1800000000)]


def test_notes_before_and_after_one_are_the_nearest(catalogue) -> None:
    row = catalogue.find(NoteFilter(tiers=(0,), projects=("a",)), "-created", 60)[-1]
    listed = [
        number
        for (number,) in catalogue.select(
            f"SELECT number FROM note WHERE tier < 2 AND project = 'a' ORDER BY {CREATED_SECONDS_SQL}, id, number"
        )
    ]
    before, after = catalogue.neighbours_in_time(row, 3, "a")
    moments = [(one.created, one.date, one.id) for one in (*before, row, *after)]
    assert len(before) == len(after) == 3
    assert len(set(moments)) == len(moments)
    assert (
        listed.index(before[0].number) < listed.index(row.number) < listed.index(after[-1].number)
    )
    everywhere, _ = catalogue.neighbours_in_time(row, 3)
    assert len(everywhere) == 3


def test_things_that_notes_name(catalogue) -> None:
    counts = catalogue.entity_counts(["src/a.py", "run"])
    assert set(catalogue.most_mentioned()) >= {(kind, key, n) for (kind, key), n in counts.items()}
    assert catalogue.most_mentioned("file") == [("file", "src/a.py", counts["file", "src/a.py"])]
    found = catalogue.mentions_of("a.py", "a.py")
    assert {one[1:] for one in found} == {("file", "src/a.py", "src/a.py")}
    assert {one[1] for one in catalogue.mentions_of("run", "run")} == {"symbol"}
    assert {one[1] for one in catalogue.mentions_of("v1.2", "v1.2")} == {"version"}
    assert catalogue.mentions_of("a.py", "a.py", "url") == []
    assert catalogue.keys_from("entity", "sr", 5) == ["src/a.py"]
    assert len(catalogue.entities_of([1])[1]) == 2


def test_briefing_queries_take_any_names(catalogue, monkeypatch) -> None:
    monkeypatch.setattr(sqlite_queries, "_MAX_DEPENDENCY_NOTES", 10)
    own = catalogue.briefing_candidates(["a"], with_personal=True)
    assert {row[0] for row in own if row[-1]} == catalogue.numbers(
        NoteFilter(tiers=(0,), has_id=True, projects=("a",), not_types=("briefing",))
    )
    assert not any(row[-1] for row in catalogue.briefing_candidates([], with_personal=False))
    assert len(catalogue.briefing_dependencies(["a"])) == 10
    session = catalogue.find(NoteFilter(types=("session",), sessions=("s1",)))[0]
    assert catalogue.notes_naming_files_of([session.number], 60)
    assert catalogue.notes_naming_files_of([], 60) == frozenset()
