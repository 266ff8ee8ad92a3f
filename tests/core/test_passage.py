"""How well a passage of a session stands alone: what makes it hard to use, and what is left out of it."""

from __future__ import annotations

import pytest

from cortex.core.briefing.passage import (
    NO_CHANGES,
    LaterChanges,
    changes_after,
    count_flaws,
    without_talk,
)

CHANGED = LaterChanges(frozenset({"rows.py"}), is_changed=True)


@pytest.mark.parametrize(("type_", "title", "excerpt", "later", "flaws"), [
    ("gotcha", "SQLite locks the whole file while one row is written", "", NO_CHANGES, 0),
    ("gotcha", "So we lock the whole file while one row is written", "", NO_CHANGES, 1),
    ("gotcha", "Rows of this file are locked while one row is written", "", NO_CHANGES, 1),
    ("learning", "The reader sees one of both rows as in line 30", "", NO_CHANGES, 1),
    ("pattern", "lock(row, reader) { return row; }", "", NO_CHANGES, 1),
    ("learning", "Key decisions: one lock for two tables", "", NO_CHANGES, 1),
    ("learning", "Layer 2: what one reader sees (in rows)", "(`rows.py:98`):", NO_CHANGES, 2),
    # A finding that names what was changed later, and a fault in a session that changed anything.
    ("gotcha", "A row is lost in rows.py when two readers meet", "", CHANGED, 1),
    ("learning", "A row stays in rows.py when two readers meet", "", CHANGED, 0),
    ("learning", "Two tables need one lock", "We could take it early.", CHANGED, 1),
    ("learning", "Two tables need one lock", "We could take it early.", NO_CHANGES, 0),
    ("decision", "Two tables should have one lock", "", CHANGED, 0),
    ("discovery", "The bug is that a row is lost when readers meet", "", CHANGED, 1),
    ("discovery", "The bug is that a row is lost when readers meet", "", NO_CHANGES, 0),
    ("discovery", "The bug was that a row is lost when readers meet", "", CHANGED, 0),
    ("gotcha", "A row is lost when readers meet", "Now let's fix it.", NO_CHANGES, 1),
    ("gotcha", "A row is lost when readers meet", "Let me look at the tests.", NO_CHANGES, 0),
    # What a person wants, with the reply to it, needs no better beginning.
    ("decision", "I want one lock for both tables", "Then: Both wait for it.", NO_CHANGES, 0),
    ("decision", "I want one lock for both tables", "", NO_CHANGES, 1),
    ("decision", "Could both have one lock?", "Then: Both wait for it.", NO_CHANGES, 1),
    ("decision", "I think that's right", "for both. Then: Both wait for it.", NO_CHANGES, 1),
    ("preference", "I'd like to add a lock here", "Then: Both wait for it.", NO_CHANGES, 1),
    ("decision", "An alternative with one lock for both tables", "", NO_CHANGES, 1),
    ("rejection", "No lock for both tables", "", NO_CHANGES, 0),
    ("rejection", "One lock for all of the tables", "", NO_CHANGES, 1),
])  # fmt: skip
def test_what_makes_a_passage_hard_to_use(type_, title, excerpt, later, flaws) -> None:
    assert count_flaws(type_, title, excerpt, later=later) == flaws


def test_one_item_of_a_list_has_lost_its_head() -> None:
    body = "After the change:\n\n- Both rows wait\n- **Two tables** have one lock now\n"
    assert count_flaws("learning", "Two tables have one lock", "", body) == 1
    assert count_flaws("learning", "After the change", "Both rows wait", body) == 0


@pytest.mark.parametrize(("text", "left"), [
    ("Rows are locked. Let me check the tests:", "Rows are locked."),
    ("Rows are locked. Now let's fix it. I'll add a test…", "Rows are locked."),
    ("Rows are locked. Would you like me to unlock them?", "Rows are locked."),
    ("Let me see. Rows are locked.", "Let me see. Rows are locked."),
    ("Lock rows. Then: You're right. Rows wait.", "Lock rows. Then: Rows wait."),
    ("Lock rows. Then: Ah, good point — rows wait.", "Lock rows. Then: rows wait."),
    ("Lock rows. Then: Done with both of them.", "Lock rows. Then: Done with both of them."),
    ("", ""),
])  # fmt: skip
def test_talk_is_left_out(text: str, left: str) -> None:
    assert without_talk(text) == left


SESSION = """
## Changed

- `src/rows.py`
- `src/locks.py`
- `tests/test_rows.py`

## Events

- 2026-11-05 10:00 stop: Looked at it. [[20261105t100000z-aaaaaaaaaa]]
- 2026-11-05 10:05 stop: Mended. · changed src/rows.py [[20261105t100500z-bbbbbbbbbb]]
- 2026-11-05 10:06 stop: Why? [[20261105t100600z-cccccccccc]]
"""


def test_what_a_session_changed_after_a_turn() -> None:
    first, second, third = (f"20261105t100{at}00z-{'abc'[n] * 10}" for n, at in enumerate("056"))
    assert changes_after(SESSION, first) == LaterChanges(frozenset({"rows.py"}), is_changed=True)
    assert changes_after(SESSION, second) == LaterChanges(frozenset(), is_changed=True)
    assert changes_after(SESSION, third) == NO_CHANGES
    assert changes_after(SESSION, "20261105t100000z-zzzzzzzzzz") == NO_CHANGES
    many = SESSION.replace("changed src/rows.py", "changed src/rows.py and 2 more")
    assert changes_after(many, first).files == {"rows.py", "locks.py", "test_rows.py"}
