"""What a merge that knows no attributes has lost or mixed: three trees and a result in, notes out."""

from __future__ import annotations

import pytest

from cortex.core.merge.note_versions import LostNote, MergeSides, find_lost


def record(id_: str, *lines: str) -> bytes:
    text = "\n".join(lines)
    return f"---\nid: {id_}\ntype: decision\ncreated: 2026-11-01T00:00:00Z\n---\n{text}\n".encode()


A, B, C = (f"records/decision/{letter}-{letter * 6}.md" for letter in "abc")
A1, B1, C1 = record("a-aaaaaa", "first", "end"), record("b-bbbbbb", "b"), record("c-cccccc", "c")
A2 = record("a-aaaaaa", "first", "edited", "end")
B2 = record("b-bbbbbb", "b", "edited")  # with the line that was added to A
B3 = record("b-bbbbbb", "b", "by hand")

# base, ours, theirs, result, and what is lost
CASES: dict[str, tuple[dict, dict, dict, dict, list[LostNote]]] = {
    "an edited note that the other side deleted, and its edit in a new note": (
        {A: A1}, {B: B1}, {A: A2}, {B: B2},
        [LostNote("a-aaaaaa", A, A2, None, A), LostNote("b-bbbbbb", B, B1, B2)],
    ),
    "the same, and the edit of both is by somebody else": (
        {A: A1}, {B: B1}, {A: A2}, {B: record("b-bbbbbb", "b", "edited", "by hand")},
        [LostNote("a-aaaaaa", A, A2, None, A),
         LostNote("b-bbbbbb", B, B1, record("b-bbbbbb", "b", "edited", "by hand"), is_mixed=False)],
    ),
    "a new note that is in no file": ({}, {A: A1}, {B: B1}, {A: A1}, [LostNote("b-bbbbbb", B, B1, None)]),
    "what a person writes into a merge": ({}, {B: B1}, {A: A1}, {A: A1, B: B3}, []),
    "a note that one side deleted": ({A: A1, C: C1}, {C: C1}, {A: A1, C: C1}, {C: C1}, []),
    "a note that both changed, as the driver or a person merged it": (
        {A: A1}, {A: A2}, {A: record("a-aaaaaa", "other", "end")}, {A: record("a-aaaaaa", "both")}, [],
    ),
    "a note that was moved, and edited elsewhere": ({A: A1}, {C: A1}, {A: A2}, {C: A2}, []),
    "nothing": ({}, {}, {}, {}, []),
}  # fmt: skip


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_find_lost(case: str, swap: bool) -> None:
    base, ours, theirs, result, lost = CASES[case]
    sides = MergeSides(base, theirs, ours) if swap else MergeSides(base, ours, theirs)
    assert sorted(find_lost(sides, result)) == sorted(lost)
