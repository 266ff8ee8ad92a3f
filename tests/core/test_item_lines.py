"""What a note says in briefings, and where."""

from __future__ import annotations

import re

import pytest

from cortex.core.briefing.excerpt import reason_line
from cortex.core.briefing.item_lines import index_items, page_path
from cortex.core.briefing.pages import BriefingPage
from cortex.core.model.layout import AT_ROOT
from cortex.index.note_summary import summarize_note


def lines(path: str, text: str) -> list[tuple[str, str, str]]:
    """The items of a note as (page, section, text)."""
    return [
        (page_path(page), item.section, item.text)
        for page, item in summarize_note(path, text.encode(), 0).briefing_items
    ]


def note(**fields: str) -> str:
    body = fields.pop("body", "")
    return "\n".join(
        ["---", *(f"{key}: {value}" for key, value in fields.items()), "---", body, ""]
    )


def test_a_decision_stands_among_the_decisions_and_on_its_branch() -> None:
    text = note(
        id="use-sqlite-k3f9q2",
        type="decision",
        title="Use SQLite",
        project="app",
        branch="main",
        created="2026-11-20T10:00:00Z",
        body="Use SQLite\n\n**Why.** It is one file. And more.",
    )
    line = "2026-11-20 [[use-sqlite-k3f9q2|Use SQLite]]: It is one file"
    assert lines("records/decision/use-sqlite-k3f9q2.md", text) == [
        ("briefings/app/decisions.md", "", line),
        ("briefings/index.md", "Decisions that hold", line.replace("]]:", "]] (app):")),
        ("briefings/app/main.md", "Decisions", line),
    ]


def test_what_was_superseded_stands_in_the_archive_alone() -> None:
    text = note(
        id="a",
        type="decision",
        title="A",
        status="superseded",
        project="app",
        branch="main",
        created="2026-11-20",
    )
    assert lines("a.md", text) == [
        ("briefings/app/decisions-archive.md", "", "2026-11-20 [[a|A]] (superseded)"),
        ("briefings/index.md", "No longer hold", "2026-11-20 [[a|A]] (app, superseded)"),
    ]


@pytest.mark.parametrize("status", ["deleted", "pruned"])
@pytest.mark.parametrize("type_", ["decision", "rejection", "action", "plan", "gotcha", "session"])
def test_what_was_deleted_or_pruned_stands_on_no_page(type_, status) -> None:
    text = note(
        id="a",
        type=type_,
        title="A",
        status=status,
        project="app",
        branch="main",
        created="2026-11-20",
        body="- [ ] pack",
    )
    assert lines("a.md", text) == []
    assert summarize_note("a.md", text.encode(), 0).row.tier == 1
    assert lines("a.md", text.replace(status, "active")) != []


def test_a_renamed_record_is_linked_by_its_path() -> None:
    assert (
        lines("Ideas/My note.md", note(id="a-b2c3d4", type="decision", title="A"))[0][2]
        == "[[Ideas/My note|A]]"
    )
    assert lines("a#b.md", note(id="a-b2c3d4", type="decision", title="A"))[0][2] == "A"


def test_actions_say_who_and_when_and_move_when_done() -> None:
    open_ = note(
        id="a",
        type="action",
        title="Call",
        status="open",
        owner="Ada",
        due="2026-12-04",
        created="2026-11-20",
    )
    assert lines("a.md", open_) == [
        (page, section, "2026-11-20 [[a|Call]] (Ada, due 2026-12-04)")
        for page, section in (
            ("briefings/personal/active-plan.md", "Open"),
            ("briefings/index.md", "Open actions"),
        )
    ]
    assert lines("a.md", open_.replace("open", "done"))[0][1:] == (
        "Done",
        "2026-11-20 [[a|Call]] (Ada)",
    )
    assert lines("a.md", open_.replace("open", "archived")) == [
        ("briefings/personal/active-plan.md", "Set aside", "2026-11-20 [[a|Call]] (Ada, archived)")
    ]


def test_the_steps_of_a_plan_are_its_tasks() -> None:
    text = note(
        id="p",
        type="plan",
        title="Move",
        created="2026-11-20",
        body="- [ ] pack\n- [x] rent\n- [ ] pack",
    )
    assert lines("p.md", text) == [
        ("briefings/personal/active-plan.md", section, f"{step} ([[p|Move]])")
        for section, step in (("Open", "pack"), ("Done", "rent"))
    ]


def test_no_step_of_a_plan_hides_another() -> None:
    steps = [f"Step {number}" for number in range(2000)]  # 1308 and 1766 have the same twenty bits
    text = note(
        id="p", type="plan", title="Move", body="\n".join(f"- [ ] {step}" for step in steps)
    )
    assert [line.partition(" (")[0] for _, _, line in lines("p.md", text)] == steps


def test_a_session_tells_its_last_turn() -> None:
    body = "## Events\n\n- 2026-11-20 10:00 stop: First. [[20261120t100000z-aaaaaaaaaa]]\n- 2026-11-20 11:00 stop: Then this. And that. [[20261120t110000z-aaaaaaaaaa]]"
    text = note(
        id="s", type="session", title="Session s", branch="main", created="2026-11-20", body=body
    )
    assert lines("sessions/s.md", text) == [
        ("briefings/personal/main.md", "Sessions", "2026-11-20 [[s|Session s]]: Then this")
    ]


@pytest.mark.parametrize("type_", ["note", "learning", "meeting", ""])
def test_other_notes_have_no_line(type_) -> None:
    assert lines("a.md", note(id="a", type=type_, title="A", branch="main")) == []


@pytest.mark.parametrize(
    "path", ["events/2026/11/e.md", "inbox/pending/e.md", "briefings/app/decisions.md"]
)
def test_events_and_briefings_have_no_line(path) -> None:
    assert lines(path, note(id="a", type="decision", title="A")) == []


@pytest.mark.parametrize(("body", "title", "why"), [
    ("Use SQLite. It is one file.\nReally.", "Use SQLite", "It is one file"),
    ("Decision: use SQLite\n\nBecause it is one file.", "Use SQLite", "it is one file"),
    ("text\n\n## Why\n\nIt is one file.\n", "Use SQLite", "It is one file"),
    ("**What.** x\n\n**Why.** It is\none file.", "t", "It is one file"),
    ("**Symptom.** It hangs.\n\n**Cause.** y", "t", "It hangs"),
    ("A long sentence that goes on and on", "A long sentence that…", "…goes on and on"),
    ("Use SQLite\n\nIt is one file\n\nMore of it", "Use SQLite", "It is one file"),
    ("Use SQLite", "Use SQLite", ""),
    ("", "Use SQLite", ""),
    ("Why: " + "x" * 500, "t", "x" * 199 + "…"),
])  # fmt: skip
def test_the_line_that_says_why(body, title, why) -> None:
    assert reason_line(title, body) == why
    for line_end in ("\r\n", "\r"):  # as another clone's checkout may have them
        assert reason_line(title, body.replace("\n", line_end)) == why


def test_a_hostile_title_stays_within_its_line() -> None:
    text = note(id='"a --> b"', type="decision", title='"x ]] <!-- cx y 1 --> | [[z]]"')
    (_, _, line), _ = lines("a.md", text)
    assert "<!--" not in line
    assert "-->" not in line
    item = summarize_note("a.md", text.encode(), 0).briefing_items[0][1]
    assert re.fullmatch(r"[a-z0-9-]+", item.id)
    assert "--" not in item.id


@pytest.mark.parametrize(("page", "path"), [
    (BriefingPage("decisions", "app"), "briefings/app/decisions.md"),
    (BriefingPage("decisions"), "briefings/personal/decisions.md"),
    (BriefingPage("branch", "app", "main"), "briefings/app/main.md"),
    (BriefingPage("index"), "briefings/index.md"),
])  # fmt: skip
def test_where_a_page_lies(page, path) -> None:
    assert page_path(page) == path


def test_no_two_branches_or_projects_share_a_file_and_every_name_is_safe() -> None:
    names = [
        "a/b", "a-b", "A-B", "decisions", "index", "personal", "con", "../../x", ".git", "a.md",
        "über", "ein sehr langer name " * 9, "-rf", "a.", "",
    ]  # fmt: skip
    pages = [BriefingPage("branch", "app", name) for name in names if name] + [
        BriefingPage("decisions", name) for name in names
    ]
    paths = [page_path(page) for page in pages]
    assert len({path.casefold() for path in paths}) == len(paths)
    for path in paths:
        assert path.isascii()
        assert len(path) < 150
        assert all(
            part not in ("", ".", "..") and not part.startswith((".", "-"))
            for part in path.split("/")
        )


def test_the_index_names_every_page_once() -> None:
    items = list(
        index_items(
            [BriefingPage("decisions", "app"), BriefingPage("branch", "app", "a/b")], AT_ROOT
        )
    )
    assert items[0].text == "[[briefings/app/decisions|app: decisions]]"
    assert len({one.id for one in items}) == 2
