"""How much of a text is read for what it says."""

from __future__ import annotations

import pytest

from cortex.core.markdown.bound import (
    MAX_LINES,
    MAX_MARKS,
    MAX_MINUTES_CHARS,
    MAX_MINUTES_LINES,
    minutes_part,
    structured_part,
)
from cortex.core.markdown.passages import passages
from cortex.core.markdown.scan import conflict_marker_line, scan
from cortex.index.note_summary import summarize_note


def test_a_text_of_usual_length_is_read_whole() -> None:
    text = (
        "- [ ] ask Ana about [[carts]]\n" * 5000
    )  # five times as much as the longest notes of public vaults
    assert structured_part(text) is text
    assert minutes_part(text[:60_000]) == text[:60_000]
    assert not summarize_note("a.md", text.encode(), 0).problems


@pytest.mark.parametrize(("text", "lines"), [
    ("a\n" * (MAX_LINES + 5), MAX_LINES),
    ("[[a]]\n" * (MAX_MARKS // 4 + 5), MAX_LINES),
    ("[[a]] [[b]] [[c]]\n" * (MAX_MARKS // 12 + 5), MAX_MARKS // 12),
    ("a\n" + "[[a]] " * MAX_MARKS, 1),
])  # fmt: skip
def test_of_a_longer_text_the_first_lines_are_read(text: str, lines: int) -> None:
    part = structured_part(text)
    assert text.startswith(part)
    assert part.count("\n") == lines
    assert structured_part(part) == part
    assert len(scan(text).links) == part.count("[[")


def test_of_minutes_less_is_read() -> None:
    assert minutes_part("a\n" * MAX_LINES) == "a\n" * MAX_MINUTES_LINES
    assert minutes_part("a" * MAX_LINES * 10) == "a" * MAX_MINUTES_CHARS


def test_what_stands_behind_is_searched_and_the_note_is_named() -> None:
    text = "- [ ] a\n" * MAX_LINES + "The parcels [[lie]] here.\n"
    summary = summarize_note("a.md", text.encode(), 0)
    assert [(one.where, one.hint) for one in summary.problems] == [
        (f"a.md:{MAX_LINES + 1}", "split the note, or save what matters of it")
    ]
    assert not summary.edges
    last = passages(summary.body)[-1]
    assert "The parcels [[lie]] here." in last.text
    assert MAX_LINES - 200 < last.line <= MAX_LINES


def test_a_conflict_is_found_wherever_it_stands() -> None:
    conflict = "<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n"
    assert conflict_marker_line("a\n" * MAX_LINES * 2 + conflict) == 2 * MAX_LINES + 1
    assert conflict_marker_line(f"```\n{conflict}```\n") is None
