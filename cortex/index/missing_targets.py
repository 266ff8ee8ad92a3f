"""Explain links to missing notes: a similar name, the event of the missing record, when it went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cortex.core.model.problem import Problem
from cortex.core.model.record import default_scope
from cortex.core.model.relation import LINK_KIND, basename_key
from cortex.core.model.topics import topic_record_id
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import close_matches, cortex_command, short_hash
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue
from cortex.index.catalogue.filters import EVENTS
from cortex.index.links import MissingTarget

MAX_PROBLEMS = 100
_MAX_COMPARED_NAMES = 50  # names that begin alike and are compared
_MAX_GUESSES = 20  # targets for which a name is looked for: comparing costs 2 ms each
_MIN_SIMILARITY = 0.75  # of difflib's ratio: a letter or two of a word, the hash of an id
_MIN_OWN_SIMILARITY = 0.9
_RECORD_ID_RE = lazy_re(r"[a-z0-9-]+-([a-z2-7]{6})")
# How many records one event can be looked for in: minutes make many, everything else one.
_MAX_ORDINALS_BY_TYPE = {"meeting": 60}


class MissingLinks(NamedTuple):
    """The links of one note to one missing target, and what the catalogue knows of it; of people's
    own notes the links of all."""

    links: tuple[MissingTarget, ...]
    event: str  # that its record came from
    near: str  # a name that is like it


def group_missing_targets(
    catalogue: Catalogue, links: Iterable[MissingTarget]
) -> list[MissingLinks]:
    """Links without a target, grouped by note and target; those of people's own notes last."""
    groups: dict[tuple[int, str], list[MissingTarget]] = {}
    for link in links:
        number = 0 if _is_own(link) else link.note.number
        groups.setdefault((number, link.edge.key), []).append(link)
    ordered = sorted(groups.items(), key=lambda one: not one[0][0])
    own = {key for (number, key), _ in ordered if not number}
    keys = list(dict.fromkeys(key for (_, key), _ in ordered[:MAX_PROBLEMS]))
    names = {
        key: _most_similar_name(catalogue, key, is_own=key in own) for key in keys[:_MAX_GUESSES]
    }
    events = _source_events(catalogue, keys)
    return [
        MissingLinks(tuple(some), events.get(key, ""), names.get(key, ""))
        for (_, key), some in ordered
    ]


def missing_target_problems(
    groups: Iterable[MissingLinks], former: Mapping[str, tuple[str, str]]
) -> tuple[list[Problem], int]:
    """A problem for each target that a note misses, at most `MAX_PROBLEMS`, and one that counts the
    rest; and how many links of people's own lead to what was no note yet. `former` has by a key how
    its file went, and the path that it has now."""
    told, unwritten = list[tuple[MissingLinks, str]](), 0
    for group in groups:
        removed, path = former.get(group.links[0].edge.key, ("", ""))
        one = (group._replace(near=f"./{path}"), "") if path else (group, removed)
        if _is_own(group.links[0]) and not (one[0].near or group.event or removed):
            unwritten += len(group.links)
        else:
            told.append(one)
    problems = [_make_problem(*one) for one in told[:MAX_PROBLEMS]]
    if more := len(told) - len(problems):
        links = f"and {more:,} more link{'s' if more > 1 else ''} to notes that are not there"
        hint = "mend the first ones, then run cortex doctor again"
        problems.append(Problem(told[MAX_PROBLEMS][0].links[0].note.path, links, hint))
    return problems, unwritten


def _is_own(link: MissingTarget) -> bool:
    """Whether it is a link in a note of a person's own, where it may lead to one still to be written."""
    return link.note.id == link.note.path and link.edge.kind == LINK_KIND


def _make_problem(missing: MissingLinks, removed: str) -> Problem:
    """The problem of one missing target in one note, and its remedies."""
    group, event, near = missing
    (note, first), is_own = group[0], _is_own(group[0])
    is_as_written = "/" in first.target or is_own
    target = first.target if is_as_written else basename_key(first.target)
    kinds = list(dict.fromkeys(one.kind for _, one in group if one.kind != LINK_KIND))
    links = [str(one.line) for _, one in group if one.kind == LINK_KIND]
    if kinds:
        also = f", and links to it on line {', '.join(links)}" if links else ""
        said = f"says {', '.join(kinds)} {target}{also}; there is no such note"
    else:
        # As a link in markdown has it.
        name = first.target if first.target.lower().endswith(".md") else f"[[{first.target}]]"
        more = f", as {len(group) - 1} more do" if len(group) > 1 and is_own else ""
        said = f"links to {name}, and there is no such note{more}"
    known = [
        f"its file was removed {removed}" if removed else "",
        f"only its event {event} is left" if event else "",
        f"did you mean {near.removeprefix('./')}?" if near else "",
    ]
    ways = [
        f"{cortex_command('restore', target)} brings it back"
        if event or (removed and not is_own)
        else "",
        f"{cortex_command('show', event)} shows its text" if event else "",
        f"{cortex_command('mv', target, near)} changes every link" if near else "",
        *(
            f"{cortex_command('relate', note.id, kind, target, '--remove')} takes the relation out"
            for kind in kinds
            if note.id != note.path
        ),
        f"take it out of {note.path}" if links or note.id == note.path else "",
    ]
    where = f"{note.path}:{first.line}" if first.line else note.path
    return Problem(where, "; ".join(filter(None, (said, *known))), "; ".join(filter(None, ways)))


def _most_similar_name(catalogue: Catalogue, key: str, *, is_own: bool) -> str:
    """The path of the note that people call so, else the name most like a key among those that
    begin as it does; empty when none is. `is_own`: what a person links to may still be to be written, as tomorrow's page."""
    if len(called := catalogue.rows_by_number(catalogue.notes_called(key))) == 1:
        return f"./{next(iter(called.values())).path}"
    for begin in (key[: len(key) // 2], key[:3]):
        names = catalogue.keys_from("name", begin, _MAX_COMPARED_NAMES)
        least = _MIN_OWN_SIMILARITY if is_own else _MIN_SIMILARITY
        if found := close_matches(key[:120], names, 1, least):
            figures = [[sign for sign in name if sign.isdigit()] for name in (key, *found)]
            return "" if is_own and figures[0] != figures[1] else found[0]
    return ""


def _source_events(catalogue: Catalogue, keys: Iterable[str]) -> dict[str, str]:
    """By key, the latest event of each missing record: ids end in a hash of event or topic."""
    wanted = {hashed[1]: key for key in keys if (hashed := _RECORD_ID_RE.fullmatch(key))}
    found: dict[str, str] = {}
    for event in catalogue.find(EVENTS, "-id") if wanted else ():
        scope = event.scope or default_scope(event.project)
        made = topic_record_id(event.project, scope, event.topic) if event.topic else ""
        if made in wanted.values():
            found.setdefault(made, event.id)
        for ordinal in range(_MAX_ORDINALS_BY_TYPE.get(event.type, 1)):
            if key := wanted.get(short_hash(f"{event.id}/{ordinal}")):
                found.setdefault(key, event.id)
    return found
