"""A box that somebody ticks in any editor says that its action is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.event import Event
from cortex.core.normalize.changes import CreateNote, ExistingRecords
from cortex.core.normalize.handlers import changes_for_event
from cortex.index.note_summary import summarize_note

MINUTES = """\
# Weekly sync
Attendees: Anna Schmidt, bob, carla

## Actions
- [ ] Anna Schmidt: measure the cold start (2026-12-01)
- [ ] Bob to open an issue about the walk.
- [ ] @carla write the note, due 2026-11-27
  - mention the lock
    and the door
  - [ ] ask @deniz
* [ ] Call the printer (bob)
1. [ ] Action: book the room \U0001f4c5 2026-12-03
- [ ] send it
- [ ] Send it!
- Profile the scan
"""


def meeting(text: str) -> tuple[str, dict[str, str]]:
    """The meeting's note, and the ids of its actions by their slugs."""
    made = changes_for_event(
        Event("20261120t164512z-k3f7q2abcd", "meeting", "2026-11-20T16:45:12Z", text),
        ExistingRecords(),
    )
    notes = [one for one in made if isinstance(one, CreateNote)]
    return notes[0].text, {
        one.record.id.rpartition("-")[0]
        + (f"#{at}" if "send" in one.record.id else ""): one.record.id
        for at, one in enumerate(notes)
        if one.record.type == "action"
    }


def ticks(text: str, *lines: str) -> set[str]:
    note, ids = meeting(text)
    for line in lines:
        assert f"[ ] {line}" in note
        note = note.replace(f"[ ] {line}", f"[x] {line}", 1)
    done = summarize_note("records/meeting/m.md", note.encode(), 0).done_action_ids
    assert len(done) == len(set(done))
    return {slug for slug, id_ in ids.items() if id_ in done}


@pytest.mark.parametrize(("line", "slug"), [
    ("Anna Schmidt: measure", "measure-the-cold-start"),
    ("Bob to open", "open-an-issue-about-the-walk"),
    ("@carla write", "write-the-note-mention-the-lock-and-the-door"),
    ("Call the printer", "call-the-printer"),
    ("Action: book", "book-the-room"),
])  # fmt: skip
def test_a_ticked_task_is_its_action_whoever_owns_it(line: str, slug: str) -> None:
    assert ticks(MINUTES, line) == {slug}


def test_nothing_is_done_before_a_box_is_ticked() -> None:
    assert ticks(MINUTES) == set()


def test_of_tasks_with_the_same_words_all_must_be_ticked() -> None:
    assert ticks(MINUTES, "send it") == set()
    assert len(ticks(MINUTES, "send it", "Send it!")) == 2


def test_windows_line_ends_and_a_crossed_box_of_any_case_are_understood() -> None:
    note, ids = meeting(MINUTES)
    note = note.replace("[ ] Bob", "[X] Bob").replace("\n", "\r\n")
    assert summarize_note("m.md", note.encode(), 0).done_action_ids == (
        ids["open-an-issue-about-the-walk"],
    )


@pytest.mark.parametrize("line", [
    "- [x] Bob to open",
    "- [x] open a window",
    "```\n- [x] Bob to open an issue about the walk.\n```",
    "- [-] Bob to open an issue",
])  # fmt: skip
def test_other_boxes_say_nothing(line: str) -> None:
    note, _ = meeting(MINUTES)
    assert summarize_note("m.md", f"{note}\n{line}\n".encode(), 0).done_action_ids == ()


@pytest.mark.parametrize(("body", "done"), [
    ("- [x] one\n- [X] two", ("mine-abcdef",)),
    ("- [x] one\n- [ ] two", ()),
    ("no tasks", ()),
    ("- [ ] one", ()),
])  # fmt: skip
def test_an_action_is_done_when_all_its_own_tasks_are(body: str, done: tuple[str, ...]) -> None:
    assert (
        summarize_note(
            "a.md", f"---\nid: mine-abcdef\ntype: action\n---\n{body}\n".encode(), 0
        ).done_action_ids
        == done
    )


def test_ticks_count_in_actions_and_meetings_alone() -> None:
    assert (
        summarize_note(
            "a.md", b"---\nid: p-abcdef\ntype: plan\n---\n- [x] one\n", 0
        ).done_action_ids
        == ()
    )
    assert summarize_note("a.md", b"---\ntype: action\n---\n- [x] one\n", 0).done_action_ids == ()


def test_a_tick_in_the_file_of_a_captured_meeting_is_seen_and_taken_back(vault, cortex) -> None:
    assert cortex("capture", "--type", "meeting", "-", stdin=MINUTES).returncode == 0
    assert cortex("normalize").returncode == 0
    (file,) = Path(vault.root, "records/meeting").iterdir()
    action = next(Path(vault.root, "records/action").glob("book-the-room-*")).stem
    before = file.read_text()
    file.write_text(before.replace("[ ] Action: book", "[x] Action: book"))
    assert summarize_note("records/meeting/m.md", file.read_bytes(), 0).done_action_ids == (action,)
    file.write_text(before)
    assert summarize_note("records/meeting/m.md", file.read_bytes(), 0).done_action_ids == ()


@pytest.mark.parametrize(
    "signs",
    [
        " \u2705 2026-11-21", " \U0001f53a \u2705 2026-11-21", " \u23eb \u2795 2026-11-20 \U0001f6eb 2026-11-21 \u23f3 2026-11-22 \u2705 2026-11-23",
        " \U0001f4c5 2026-12-09 \u2705 2026-11-21", " \u274c 2026-11-21",
    ],
)  # fmt: skip
@pytest.mark.parametrize("task", [
    "Anna: ship it by 2026-12-02",
    "Ship it",
    "ship it (Bob, 2026-12-02)",
    "ship it \U0001f53c \u2795 2026-11-20 \U0001f4c5 2026-12-02",
])  # fmt: skip
def test_what_a_plugin_writes_into_a_task_changes_none_of_its_words(task: str, signs: str) -> None:
    note, ids = meeting(f"# Sync\n\n## Actions\n\n- [ ] {task}\n- [ ] another\n")
    (mine,) = (id_ for head, id_ in ids.items() if head != "another")
    note = note.replace(f"- [ ] {task}", f"- [x] {task}{signs}")
    assert summarize_note("m.md", note.encode(), 0).done_action_ids == (mine,)


@pytest.mark.parametrize(("lines", "ticks"), [
    ("- [x] [[call-abcdef]]", ("call-abcdef",)),
    ("- [x] TODO: [[records/action/call-abcdef|Call]] \U0001f4c5 2026-12-02 \u2705 2026-11-21", ("call-abcdef",)),
    ("- [ ] [[call-abcdef]]", ()),
    ("- [x] ask about [[call-abcdef]]", ()),
    ("- [x] [[call-abcdef]]\n- [ ] [[call-abcdef]]", ()),
    ("`- [x] [[call-abcdef]]`", ()),
])  # fmt: skip
def test_a_ticked_task_that_is_a_link_and_nothing_else_ticks_what_it_leads_to(
    lines: str, ticks: tuple[str, ...]
) -> None:
    assert summarize_note("daily.md", f"# Today\n\n{lines}\n".encode(), 0).done_action_ids == ticks
    assert (
        summarize_note(
            "daily.md", f"---\nstatus: archived\n---\n{lines}\n".encode(), 0
        ).done_action_ids
        == ()
    )
