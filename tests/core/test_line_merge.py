"""The merge of lines that never ends in a conflict."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.merge.lines import merge_lines

LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=8)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        (
            "own mixed",
            "own mixed mine",
            "own",
            "own mine",
        ),  # where the two changes touch, git's merge is a conflict
        ("own mixed", "mine own mixed", "own", "mine own"),
        ("own", "own same", "own same", "own same"),
        ("one two", "one 1 two", "one 2 two", "one 1 2 two"),
        ("one two", "two", "one", ""),
        ("", "a", "", "a"),
    ],
)
def test_what_each_side_did_is_done(base, ours, theirs, merged) -> None:
    assert (
        merge_lines(*(text.encode().split() for text in (base, ours, theirs)))
        == merged.encode().split()
    )


@given(LINES, LINES)
def test_a_side_without_a_change_changes_nothing(base, side) -> None:
    assert merge_lines(base, base, side) == side
    assert merge_lines(base, side, base) == side
    assert merge_lines(base, side, side) == side
