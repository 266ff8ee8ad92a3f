"""Breadth-first search: the neighbourhood of a node, and a shortest path between two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

# All neighbours of some places, both ways round: who is a neighbour has the other for a neighbour.
Neighbours: TypeAlias = Callable[[Sequence[int]], Mapping[int, Sequence[int]]]


def breadth_first(
    start: int, depth: int, most: int, neighbours: Neighbours
) -> tuple[dict[int, int], bool]:
    """Places with their distance from `start`, breadth first to `depth` steps, at most `most` with
    the start; and whether there are more within the depth."""
    depths = {start: 0}
    level = [start]
    for distance in range(1, depth + 1):
        near = neighbours(level)
        fresh: list[int] = []
        for place in level:
            for other in near.get(place, ()):
                if other in depths:
                    continue
                if len(depths) >= most:
                    return depths, True
                depths[other] = distance
                fresh.append(other)
        if not fresh:
            break
        level = fresh
    return depths, False


def shortest_path(start: int, goal: int, depth: int, neighbours: Neighbours) -> tuple[int, ...]:
    """A shortest way of at most `depth` steps, both ends included; empty when there is none.

    Searched from both ends, the smaller front first. Every level is taken whole, so the first
    meeting is a shortest way: after i and j levels without one, all ways are longer than i + j.
    """
    before: dict[int, int] = {start: start}
    behind: dict[int, int] = {goal: goal}
    if start == goal:
        return (start,)
    fronts = [[start], [goal]]
    for _ in range(depth):
        forth = len(fronts[0]) <= len(fronts[1])
        seen, other, level = (before, behind, fronts[0]) if forth else (behind, before, fronts[1])
        near = neighbours(level)
        fresh: list[int] = []
        for place in level:
            for one in near.get(place, ()):
                if one not in seen:
                    seen[one] = place
                    fresh.append(one)
        met = next((one for one in fresh if one in other), None)
        if met is not None:
            return (*reversed(_trace_back(met, before)), *_trace_back(met, behind)[1:])
        if not fresh:
            break
        fronts[0 if forth else 1] = fresh
    return ()


def _trace_back(place: int, came: Mapping[int, int]) -> list[int]:
    found = [place]
    while came[place] != place:
        place = came[place]
        found.append(place)
    return found
