"""A merge of two texts line by line that never ends in a conflict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher


def merge_lines(
    base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]
) -> list[bytes]:
    """Base's lines that both kept, between them what each added: ours first, equal ones once."""
    kept_by_us, added_by_us = _diff_from_base(base, ours)
    kept_by_them, added_by_them = _diff_from_base(base, theirs)
    kept = kept_by_us & kept_by_them
    merged: list[bytes] = []
    for at in range(len(base) + 1):
        merged += added_by_us[at]
        merged += added_by_them[at] if added_by_them[at] != added_by_us[at] else []
        merged += base[at : at + 1] if at in kept else []
    return merged


def _diff_from_base(
    base: Sequence[bytes], side: Sequence[bytes]
) -> tuple[set[int], defaultdict[int, list[bytes]]]:
    """The indices of the base's lines that a side kept, and what it added before each index."""
    kept: set[int] = set()
    added: defaultdict[int, list[bytes]] = defaultdict(list)
    matcher = SequenceMatcher(None, base, side, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            kept |= set(range(start, end))
        else:
            added[start] += side[first:last]
    return kept, added
