"""Three-way merge of a body by lines.

Where both sides changed something near, lines that both only added are all kept, changes that
merely touch are both made, and what is left stands between conflict markers.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from typing import TypeAlias

from cortex.core.merge.fields import pick_changed
from cortex.core.text.value import NamedTuple

# Lines by which two texts may differ and still be compared line by line; costs 0.1 s at most.
_MAX_EDIT_DISTANCE = 400
# Of all the stretches of two texts that differ in more: where there are many, each is compared less far.
_MAX_COMPARISONS = 20 * _MAX_EDIT_DISTANCE**2
# Lines that both sides may have added where their changes touch, and that are then kept once.
_MAX_REPEATED_LINES = 200
# As `core/normalize/session_note.py` writes them; compiled only when lines meet.
_SESSION_TURN_PATTERN = rb"- .*\[\[([0-9tz]{16}-[a-z2-7]{10})\]\]\s*"
_MARKER_LINE_PATTERN = rb"(?m)^(<{7,} .*|={7,}|>{7,} .*?)\r?$"

_LIST_ITEM_PREFIXES = (b"- ", b"* ", b"+ ", b"|")
_Matches: TypeAlias = list[tuple[int, int]]  # places of equal lines in two texts, ascending


class MergedBody(NamedTuple):
    """A merged body."""

    data: bytes
    conflict_count: int


class MarkerStyle(NamedTuple):
    """How conflict markers are written."""

    newer_label: bytes  # the label of the newer side
    older_label: bytes
    marker_size: int


class _Hunk(NamedTuple):
    """Lines that stand in the place of base's lines `start` to `end`."""

    start: int
    end: int
    lines: list[bytes]


def merge_body(
    base: bytes, newer: bytes, older: bytes, style: MarkerStyle, *, added: bool
) -> MergedBody:
    """The merged body. `added`: there is no base, so the lines that both share are the base."""
    if older in (newer, base):
        return MergedBody(newer, 0)
    if newer == base:
        return MergedBody(older, 0)
    was, one, two = (_split_lines(text) for text in (base, newer, older))
    if marked_conflicts(newer) or marked_conflicts(older):  # ours must not look like these
        style = style._replace(marker_size=style.marker_size + 1)
    merged, conflicts = _merge_lines(
        _common_lines(one, two) if added and not was else was, one, two, style
    )
    data = b"".join(merged)
    ends = [text.endswith(b"\n") or not text for text in (base, newer, older)]
    return MergedBody(data if pick_changed(*ends) else data.removesuffix(b"\n"), conflicts)


def marked_conflicts(data: bytes) -> Counter[tuple[bytes, bytes]]:
    """The marked conflicts of a text, counted by their first and last lines."""
    conflicts: Counter[tuple[bytes, bytes]] = Counter()
    opening, parted = b"", False
    for match in re.finditer(_MARKER_LINE_PATTERN, data) if b"<<<<<<<" in data else ():
        line = match[1]
        if line.startswith(b"<"):
            opening, parted = line, False
        elif line.startswith(b"="):
            parted = bool(opening)
        elif parted:
            conflicts[opening, line] += 1
            opening, parted = b"", False
    return conflicts


def _split_lines(text: bytes) -> list[bytes]:
    """The lines, each with a line feed at its end."""
    return [line + b"\n" for line in text.removesuffix(b"\n").split(b"\n")] if text else []


def _merge_lines(
    was: list[bytes], one: list[bytes], two: list[bytes], style: MarkerStyle
) -> tuple[list[bytes], int]:
    """Both sides' changes to base, made where they do not overlap, and how many conflicts are left."""
    sides = [
        (hunk, side) for side, lines in enumerate((one, two)) for hunk in _diff_hunks(was, lines)
    ]
    sides.sort(key=lambda pair: (pair[0].start, pair[0].end, pair[1]))
    merged: list[bytes] = []
    conflicts = at = start = 0
    while start < len(sides):
        low, high = sides[start][0][:2]
        stop = start + 1
        while stop < len(sides) and (
            sides[stop][0].start < high or sides[stop][0][:2] == (low, high)
        ):
            high = max(high, sides[stop][0].end)
            stop += 1
        group = sides[start:stop]
        merged += was[at:low]
        if len({side for _, side in group}) == 1:
            merged += _without_repeated_lines(
                merged, group[0][0].lines, sides[start - 1][0] if start else None, low
            )
        else:
            ours, theirs = (
                _apply_hunks(was, low, high, [hunk for hunk, of in group if of == side])
                for side in (0, 1)
            )
            both, left = _merge_overlapping(
                was[low:high],
                ours,
                theirs,
                style,
                (merged[-1:], was[high : high + 1]),
            )
            merged += both
            conflicts += left
        at, start = high, stop
    return merged + was[at:], conflicts


def _without_repeated_lines(
    before: list[bytes], lines: list[bytes], previous: _Hunk | None, low: int
) -> list[bytes]:
    """The lines without those at their beginning that the touching change before has added too."""
    if previous is None or previous.end != low or not previous.lines:
        return lines
    most = min(len(lines), len(previous.lines), _MAX_REPEATED_LINES)
    repeated = (count for count in range(most, 0, -1) if before[-count:] == lines[:count])
    return lines[next(repeated, 0) :]


def _merge_overlapping(
    was: list[bytes],
    one: list[bytes],
    two: list[bytes],
    style: MarkerStyle,
    around: tuple[list[bytes], list[bytes]],
) -> tuple[list[bytes], int]:
    """Two changes of the same lines: what is common once, then what both added, or a conflict.
    `around` are the line above and the line below; none at an end of the body."""
    if one == two:
        return one, 0
    head, tail = _common_ends(one, two)
    above, below = one[:head], one[len(one) - tail :]
    ours, theirs = one[head : len(one) - tail], two[head : len(two) - tail]
    if head + tail >= len(was):
        alone = not above and not below and all(_starts_blank(line) or not line for line in around)
        spaced = alone or _starts_blank(above[-1:]) or _starts_blank(below[:1])
        return [*above, *_join_additions(ours, theirs, spaced=spaced), *below], 0
    begin, half, end = (sign * style.marker_size for sign in (b"<", b"=", b">"))
    marked = [
        begin + b" " + style.newer_label + b"\n",
        *ours,
        half + b"\n",
        *theirs,
        end + b" " + style.older_label + b"\n",
    ]
    return [*above, *marked, *below], 1


def _join_additions(one: list[bytes], two: list[bytes], *, spaced: bool) -> list[bytes]:
    """What both sides added at one place, in an order that does not depend on the side: turns of a
    session by their events' ids, else the block that goes on from the line above first."""
    turns = {
        line: found[1]
        for line in (*one, *two)
        if (found := re.fullmatch(_SESSION_TURN_PATTERN, line))
    }
    if all(line in turns for line in (*one, *two)):
        return sorted(turns, key=lambda line: (turns[line], line))
    blocks = sorted(filter(None, (one, two)), key=lambda block: (_starts_blank(block[:1]), block))
    meeting = [block[place] for block, place in zip(blocks, (-1, 0), strict=False)]
    is_full = all(line.strip() for line in meeting)
    is_list = all(line.lstrip().startswith(_LIST_ITEM_PREFIXES) for line in meeting)
    if len(blocks) == 2 and spaced and is_full and not is_list:
        return [*blocks[0], b"\n", *blocks[1]]
    return [line for block in blocks for line in block]


def _starts_blank(lines: list[bytes]) -> bool:
    return bool(lines) and not lines[0].strip()


def _apply_hunks(was: list[bytes], low: int, high: int, hunks: list[_Hunk]) -> list[bytes]:
    """Base's lines `low` to `high` with one side's changes made."""
    lines: list[bytes] = []
    for hunk in hunks:
        lines += [*was[low : hunk.start], *hunk.lines]
        low = hunk.end
    return lines + was[low:high]


def _diff_hunks(was: list[bytes], lines: list[bytes]) -> list[_Hunk]:
    """What turns `was` into `lines`."""
    hunks: list[_Hunk] = []
    low = begin = 0
    for left, right in [*_match_lines(was, lines), (len(was), len(lines))]:
        if left > low or right > begin:
            hunks.append(_Hunk(low, left, lines[begin:right]))
        low, begin = left + 1, right + 1
    return hunks


def _common_lines(one: list[bytes], two: list[bytes]) -> list[bytes]:
    """The lines that two texts share, in order. A blank line counts only beside another shared line:
    blank lines match everywhere, and would interleave two paragraphs."""
    pairs = _match_lines(one, two)
    shared = set(pairs)
    return [
        one[left] for left, right in pairs
        if one[left].strip() or (left - 1, right - 1) in shared or (left + 1, right + 1) in shared
    ]  # fmt: skip


def _match_lines(one: list[bytes], two: list[bytes]) -> _Matches:
    """Pairs of line numbers with equal lines: a longest common subsequence. If the texts differ in
    too many lines: the lines that occur once in each text, and equal lines between those."""
    matches, is_complete = _match_stretch(one, two, _MAX_EDIT_DISTANCE)
    if is_complete:
        return matches
    anchors = [(-1, -1), *_match_unique_lines(one, two), (len(one), len(two))]
    furthest = min(_MAX_EDIT_DISTANCE, int((_MAX_COMPARISONS / len(anchors)) ** 0.5))
    matches = anchors[1:-1]
    for (left, right), (left_end, right_end) in pairwise(anchors):
        between = one[left + 1 : left_end], two[right + 1 : right_end]
        found, _ = _match_stretch(*between, furthest)
        matches += ((left + 1 + place, right + 1 + other) for place, other in found)
    return sorted(matches)


def _match_unique_lines(one: list[bytes], two: list[bytes]) -> _Matches:
    """The longest common subsequence of the lines that occur exactly once in each text, by patience
    sorting."""
    counts = Counter(one), Counter(two)
    right_of = {line: n for n, line in enumerate(two) if counts[0][line] == counts[1][line] == 1}
    pairs = [(n, right_of[line]) for n, line in enumerate(one) if line in right_of]
    last_places: list[int] = []  # by length: the smallest index in `two` that a row ends with
    last_indexes: list[int] = []  # by length: the index of the pair that ends that row
    predecessors: list[int] = []  # by pair: the index of the pair before it
    for index, (_, right) in enumerate(pairs):
        length = bisect_left(last_places, right)
        predecessors.append(last_indexes[length - 1] if length else -1)
        last_places[length : length + 1] = [right]
        last_indexes[length : length + 1] = [index]
    matches: _Matches = []
    index = last_indexes[-1] if last_indexes else -1
    while index >= 0:
        matches.append(pairs[index])
        index = predecessors[index]
    return matches[::-1]


def _match_stretch(one: list[bytes], two: list[bytes], furthest: int) -> tuple[_Matches, bool]:
    """A longest row of equal lines and True; only those at both ends, and False, of texts that
    differ in more than `furthest` lines."""
    head, tail = _common_ends(one, two)
    middle = _myers_matches(one[head : len(one) - tail], two[head : len(two) - tail], furthest)
    matches = [
        *((place, place) for place in range(head)),
        *((head + left, head + right) for left, right in middle or ()),
        *((len(one) - count, len(two) - count) for count in range(tail, 0, -1)),
    ]
    return matches, middle is not None


def _common_ends(one: list[bytes], two: list[bytes]) -> tuple[int, int]:
    """The numbers of equal lines at the beginning and at the end."""
    most = min(len(one), len(two))
    head = next((count for count in range(most) if one[count] != two[count]), most)
    most -= head
    return head, next((count for count in range(most) if one[-1 - count] != two[-1 - count]), most)


def _myers_matches(one: list[bytes], two: list[bytes], furthest: int) -> _Matches | None:
    """Myers' O(ND) comparison; None where it takes more than `furthest` steps."""
    reach = {1: 0}
    trace: list[dict[int, int]] = []
    for steps in range(min(len(one) + len(two), furthest) + 1):
        trace.append(reach.copy())
        for line in range(-steps, steps + 1, 2):
            down = line == -steps or (line != steps and reach[line - 1] < reach[line + 1])
            left = reach[line + 1] if down else reach[line - 1] + 1
            while left < len(one) and left - line < len(two) and one[left] == two[left - line]:
                left += 1
            reach[line] = left
            if left >= len(one) and left - line >= len(two):
                return _backtrack(trace, len(one), len(two))
    return None


def _backtrack(trace: list[dict[int, int]], left: int, right: int) -> _Matches:
    """The matches on the way that the comparison took."""
    pairs: _Matches = []
    for steps in range(len(trace) - 1, -1, -1):
        reach, line = trace[steps], left - right
        down = line == -steps or (line != steps and reach[line - 1] < reach[line + 1])
        before = line + 1 if down else line - 1
        start = (reach[before], reach[before] - before) if steps else (0, 0)
        while left > start[0] and right > start[1]:
            left, right = left - 1, right - 1
            pairs.append((left, right))
        left, right = start
    return pairs[::-1]
