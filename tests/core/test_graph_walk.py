"""Ways through a graph, held against the plainest way to find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from hypothesis import example, given, strategies as st

from cortex.core.ranking.graph_walk import breadth_first, shortest_path

PLACES = st.integers(0, 7)
GRAPHS = st.lists(st.tuples(PLACES, PLACES), max_size=20)
LINE = [(place, place + 1) for place in range(7)]


def asking(pairs: list[tuple[int, int]]) -> tuple[dict[int, list[int]], list[Sequence[int]]]:
    beside: dict[int, list[int]] = {}
    for one, other in pairs:
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    return beside, []


def distances(start: int, beside: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """By relaxing every edge until nothing changes."""
    far = {start: 0}
    for _ in range(20):
        for one, others in beside.items():
            for other in others:
                if one in far:
                    far[other] = min(far.get(other, 99), far[one] + 1)
    return far


@given(GRAPHS, PLACES, st.integers(1, 10))
def test_around_finds_all_within_the_depth_nearest_first_and_asks_for_no_place_twice(
    pairs, start, depth
) -> None:
    beside, asked = asking(pairs)

    def neighbours(places: Sequence[int]) -> Mapping[int, Sequence[int]]:
        asked.append(places)
        return beside

    reached, is_cut = breadth_first(start, depth, 1000, neighbours)
    assert reached == {
        place: far for place, far in distances(start, beside).items() if far <= depth
    }
    assert list(reached.values()) == sorted(reached.values())
    assert not is_cut
    places = [place for level in asked for place in level]
    assert len(places) == len(set(places))
    assert len(asked) <= depth


@given(GRAPHS, st.integers(1, 6))
def test_around_never_gives_more_than_it_was_asked_for_and_says_so(pairs, most) -> None:
    beside, _ = asking(pairs)
    whole, _ = breadth_first(0, 10, 1000, lambda _: beside)
    some, is_cut = breadth_first(0, 10, most, lambda _: beside)
    assert list(some.items()) == list(whole.items())[:most]
    assert is_cut == (len(whole) > most)


@example(LINE, 0, 5, 5)
@example(LINE, 0, 5, 4)
@example(LINE, 0, 2, 1)
@given(GRAPHS, PLACES, PLACES, st.integers(1, 10))
def test_a_path_is_a_shortest_one_and_never_longer_than_the_depth(
    pairs, start, goal, depth
) -> None:
    beside, _ = asking(pairs)
    far = distances(start, beside).get(goal)
    found = shortest_path(start, goal, depth, lambda _: beside)
    if far is None or far > depth:
        assert found == ()
    else:
        assert len(found) == far + 1
        assert (found[0], found[-1]) == (start, goal)
        assert all(other in beside[one] for one, other in pairwise(found))
