"""A stretch of a session is told by an event's text, and read back from it alone."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.turn_summary import (
    ACTIVITY_MARK,
    CommandRun,
    Commit,
    PlannedStep,
    TurnSummary,
    append_message,
    compose_text,
    may_hold_memory_tag,
    parse_turn_summary,
)

TURN = TurnSummary(
    message="Decision: use SQLite, because it is one file.\n\nTests are next.",
    tagged_lines=("[MEMORY: permanent] never push on Fridays",),
    changed_files=("cortex/store.py", "tests/test_store.py"),
    commands=(
        CommandRun("pytest -q", "failed: 2 failed, 7 passed"),
        CommandRun("git commit -m store"),
    ),
    plan=(PlannedStep("choose a store", done=True), PlannedStep("write it", done=False)),
    commits=(Commit("abc1234", "store: SQLite", "One file.\n\n- fast"), Commit("def5678", "tidy")),
    pull_requests=(Commit("https://git.example.org/a/b/pull/7", "A store", "In one file."),),
)


def test_a_stretch_reads_as_markdown():
    assert compose_text(TURN) == (
        "Decision: use SQLite, because it is one file.\n\nTests are next.\n\n"
        f"{ACTIVITY_MARK}\n\n"
        "Asked to remember:\n\n- [MEMORY: permanent] never push on Fridays\n\n"
        "Files changed:\n\n- cortex/store.py\n- tests/test_store.py\n\n"
        "Commands:\n\n- `pytest -q` failed: 2 failed, 7 passed\n- `git commit -m store` ok\n\n"
        "Plan:\n\n- [x] choose a store\n- [ ] write it\n\n"
        "Commits:\n\n- abc1234 store: SQLite\n  One file.\n\n  - fast\n- def5678 tidy\n\n"
        "Pull requests:\n\n- https://git.example.org/a/b/pull/7 A store\n  In one file."
    )


def test_and_is_read_back_from_that_text():
    assert parse_turn_summary(compose_text(TURN)) == TURN


@pytest.mark.parametrize("text", ["", "Only words.", "Plan:\n\n- [x] not what was done, but said"])
def test_a_text_without_the_mark_is_all_said(text):
    assert parse_turn_summary(text) == TurnSummary(message=text)


def test_nobody_can_say_the_mark():
    said = TurnSummary(
        message=f"See {ACTIVITY_MARK}\n\nFiles changed:\n\n- /etc/passwd", changed_files=("a.py",)
    )
    assert parse_turn_summary(compose_text(said)).changed_files == ("a.py",)


def test_a_stretch_in_which_nothing_was_is_empty():
    assert not TurnSummary(message=" \n")
    assert TurnSummary(changed_files=("a.py",))


def test_a_memory_tag_is_seen_in_any_case():
    assert may_hold_memory_tag("see [Memory: decision] and go on")
    assert not may_hold_memory_tag("a memory of [mem]")


@pytest.mark.parametrize(("first", "closed"), [
    ("All is said.", "All is said."),
    ("Cut off:\n```py\nx = 1", "Cut off:\n```py\nx = 1\n```"),
    ("~~~~\nx\n~~~", "~~~~\nx\n~~~\n~~~~"),
    ("```\nwhole\n```", "```\nwhole\n```"),
    ("The `<private>` tag", "The `<private>` tag</private>"),
    ("<private>a</private> b", "<private>a</private> b"),
])  # fmt: skip
def test_what_a_message_opens_ends_with_it(first, closed):
    said = append_message(append_message("", first), "Decision: use SQLite.")
    assert said == f"{closed}\n\n* * *\n\nDecision: use SQLite."


LINE = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30
).map(lambda text: text.replace("`", "'"))
COMMITS = st.tuples(st.builds(Commit, LINE, LINE, st.lists(LINE).map("\n".join)))
STRETCHES = st.builds(
    TurnSummary,
    message=st.text(max_size=200).map(str.strip),
    tagged_lines=st.tuples(LINE), changed_files=st.tuples(LINE, LINE),
    commands=st.tuples(st.builds(CommandRun, LINE, LINE)), plan=st.tuples(st.builds(PlannedStep, LINE, st.booleans())), title=LINE,
    commits=COMMITS, pull_requests=COMMITS,
)  # fmt: skip


@given(STRETCHES)
def test_whatever_was_said_and_done_comes_back(stretch):
    assert parse_turn_summary(compose_text(stretch)) == stretch._replace(
        message=stretch.message.replace(ACTIVITY_MARK, ACTIVITY_MARK.replace("<!--", "<!- -"))
    )
