"""A stretch of a session is told by an event's text, and read back from it alone."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.turn_summary import (
    MARK,
    Command,
    Step,
    Stretch,
    compose,
    is_tagged,
    joined,
    read,
    together,
)

TURN = Stretch(
    said="Decision: use SQLite, because it is one file.\n\nTests are next.",
    asked=("[MEMORY: permanent] never push on Fridays",),
    changed=("cortex/store.py", "tests/test_store.py"),
    ran=(Command("pytest -q", "failed: 2 failed, 7 passed"), Command("git commit -m store")),
    plan=(Step("choose a store", done=True), Step("write it", done=False)),
)


def test_a_stretch_reads_as_markdown():
    assert compose(TURN) == (
        "Decision: use SQLite, because it is one file.\n\nTests are next.\n\n"
        f"{MARK}\n\n"
        "Asked to remember:\n\n- [MEMORY: permanent] never push on Fridays\n\n"
        "Files changed:\n\n- cortex/store.py\n- tests/test_store.py\n\n"
        "Commands:\n\n- `pytest -q` failed: 2 failed, 7 passed\n- `git commit -m store` ok\n\n"
        "Plan:\n\n- [x] choose a store\n- [ ] write it"
    )


def test_and_is_read_back_from_that_text():
    assert read(compose(TURN)) == TURN


@pytest.mark.parametrize("text", ["", "Only words.", "Plan:\n\n- [x] not what was done, but said"])
def test_a_text_without_the_mark_is_all_said(text):
    assert read(text) == Stretch(said=text)


def test_nobody_can_say_the_mark():
    said = Stretch(said=f"See {MARK}\n\nFiles changed:\n\n- /etc/passwd", changed=("a.py",))
    assert read(compose(said)).changed == ("a.py",)


def test_a_stretch_in_which_nothing_was_is_empty():
    assert not Stretch(said=" \n")
    assert Stretch(changed=("a.py",))


def test_several_are_one_with_each_thing_once_and_the_last_plan():
    later = Stretch(
        said="Done.", changed=("cortex/store.py", "README.md"), plan=(Step("write it", done=True),)
    )
    both = joined([TURN, Stretch(), later])
    assert both.said.endswith("Tests are next.\n\nDone.")
    assert both.changed == ("cortex/store.py", "tests/test_store.py", "README.md")
    assert both.ran == TURN.ran
    assert both.plan == later.plan


def test_a_memory_tag_is_seen_in_any_case():
    assert is_tagged("see [Memory: decision] and go on")
    assert not is_tagged("a memory of [mem]")


@pytest.mark.parametrize(
    ("first", "closed"),
    [
        ("All is said.", "All is said."),
        ("Cut off:\n```py\nx = 1", "Cut off:\n```py\nx = 1\n```"),
        ("~~~~\nx\n~~~", "~~~~\nx\n~~~\n~~~~"),
        ("```\nwhole\n```", "```\nwhole\n```"),
        ("The `<private>` tag", "The `<private>` tag</private>"),
        ("<private>a</private> b", "<private>a</private> b"),
    ],
)
def test_what_a_message_opens_ends_with_it(first, closed):
    assert together([first, "Decision: use SQLite."]) == f"{closed}\n\nDecision: use SQLite."


LINE = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30
).map(lambda text: text.replace("`", "'"))
STRETCHES = st.builds(
    Stretch,
    said=st.text(max_size=200).map(str.strip),
    asked=st.tuples(LINE), changed=st.tuples(LINE, LINE),
    ran=st.tuples(st.builds(Command, LINE, LINE)), plan=st.tuples(st.builds(Step, LINE, st.booleans())),
)  # fmt: skip


@given(STRETCHES)
def test_whatever_was_said_and_done_comes_back(stretch):
    assert read(compose(stretch)) == stretch._replace(
        said=stretch.said.replace(MARK, MARK.replace("<!--", "<!- -"))
    )
