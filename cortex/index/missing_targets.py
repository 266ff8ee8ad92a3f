"""What is known of a target that is not there: the name that was meant, the event that it came from, when it went."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from cortex.core.model.problem import Problem
from cortex.core.model.relation import LINK, end_of
from cortex.core.model.topic import record_id
from cortex.core.text.shell_command import line
from cortex.core.text.strings import short_hash
from cortex.index.catalogue import Catalogue

MOST_NAMED = 100
_MOST_ALIKE = 50  # names that begin alike and are compared
_MOST_GUESSED = 20  # targets for which a name is looked for: comparing costs 2 ms each
_ALIKE = 0.75  # of difflib's ratio: a letter or two of a word, the hash of an id
_RECORD = re.compile(r"[a-z0-9-]+-([a-z2-7]{6})")
# How many records one event can be looked for in: minutes make many, everything else one.
_ORDINALS = {"meeting": 60}


class Missing(NamedTuple):
    """An edge that leads to no note."""

    number: int
    id: str
    path: str
    line: int
    kind: str
    target: str
    key: str


class LookedUp(NamedTuple):
    """What the catalogue knows of missing targets."""

    groups: tuple[tuple[Missing, ...], ...]  # of one note and one target each
    events: Mapping[str, str]  # key -> the event that its record came from
    near: Mapping[str, str]  # key -> a name that is like it

    @property
    def keys(self) -> list[str]:
        """Of the targets that get a problem each, which are the first hundred."""
        return list(dict.fromkeys(edges[0].key for edges in self.groups[:MOST_NAMED]))


def looked_up(catalogue: Catalogue, missing: Iterable[Missing]) -> LookedUp:
    """Missing edges with what the catalogue knows of their targets."""
    missed: dict[tuple[int, str], list[Missing]] = {}
    for one in missing:
        missed.setdefault((one.number, one.key), []).append(one)
    groups = LookedUp(tuple(map(tuple, missed.values())), {}, {})
    near = {key: _near(catalogue, key) for key in groups.keys[:_MOST_GUESSED]}
    return groups._replace(events=_events_of(catalogue, groups.keys), near=near)


def explained(known: LookedUp, removed: Mapping[str, str] = MappingProxyType({})) -> list[Problem]:
    """A problem for each target that a note misses, at most `MOST_NAMED` and one that counts the rest. `removed` says of a
    key how its file went."""
    groups, named = known.groups, known.groups[:MOST_NAMED]
    problems = [
        _problem(
            edges, *(held.get(edges[0].key, "") for held in (removed, known.events, known.near))
        )
        for edges in named
    ]
    if more := len(groups) - len(named):
        hint = "mend the first ones, then run cortex doctor again"
        problems.append(
            Problem(
                groups[MOST_NAMED][0].path,
                f"and {more:,} more link{'s' if more > 1 else ''} to notes that are not there",
                hint,
            )
        )
    return problems


def _problem(edges: Sequence[Missing], removed: str, event: str, near: str) -> Problem:
    """What one note says of one target, and what may be done about it."""
    first = edges[0]
    target = first.target if "/" in first.target else end_of(first.target)
    kinds = list(dict.fromkeys(one.kind for one in edges if one.kind != LINK))
    links = [str(one.line) for one in edges if one.kind == LINK]
    if kinds:
        also = f", and links to it on line {', '.join(links)}" if links else ""
        said = f"says {', '.join(kinds)} {target}{also}; there is no such note"
    else:
        name = (
            first.target if first.target.lower().endswith(".md") else f"[[{first.target}]]"
        )  # as a link in markdown has it
        said = f"links to {name}, and there is no such note"
    known = [
        f"its file was removed {removed}" if removed else "",
        f"only its event {event} is left" if event else "",
        f"{near} is called alike" if near else "",
    ]
    ways = [
        f"{line('restore', target)} brings it back" if removed or event else "",
        f"{line('show', event)} shows its text" if event else "",
        f"mend the name in {first.path}" if near and not (removed or event) else "",
        *(
            f"{line('unrelate', first.id, kind, target)} takes the relation out"
            for kind in kinds
            if first.id != first.path
        ),
        f"take it out of {first.path}" if links or first.id == first.path else "",
    ]
    where = f"{first.path}:{first.line}" if first.line else first.path
    return Problem(where, "; ".join(filter(None, (said, *known))), "; ".join(filter(None, ways)))


def _near(catalogue: Catalogue, key: str) -> str:
    """The name most like a key among those that begin as it does; empty when none is."""
    from difflib import get_close_matches  # noqa: PLC0415  only where something is missing

    for begin in (key[: len(key) // 2], key[:3]):
        asked = "SELECT DISTINCT key FROM name WHERE key >= ? AND key < ? AND rank != 1 LIMIT ?"
        names = [
            str(name)
            for (name,) in catalogue.asked(asked, (begin, f"{begin}\U0010ffff", _MOST_ALIKE))
        ]
        if found := get_close_matches(key[:120], names, 1, _ALIKE):
            return found[0]
    return ""


def _events_of(catalogue: Catalogue, keys: Iterable[str]) -> dict[str, str]:
    """The events that records came from whose ids are known and that are gone, of several the last: an id ends in a hash of
    its event, or of its topic."""
    wanted = {hashed[1]: key for key in keys if (hashed := _RECORD.fullmatch(key))}
    found: dict[str, str] = {}
    if not wanted:
        return found
    asked = "SELECT id, type, project, scope, topic FROM note WHERE tier = 2 AND type != 'briefing' ORDER BY id"
    for id_, type_, project, scope, topic in catalogue.asked(asked):
        if topic and (made := record_id(project, scope, topic)) in wanted.values():
            found[made] = id_
        for ordinal in range(_ORDINALS.get(type_, 1)):
            if key := wanted.get(short_hash(f"{id_}/{ordinal}")):
                found[key] = id_
    return found
