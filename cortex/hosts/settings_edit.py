"""Our entries in the text of a host's settings: put in, brought up to date, taken out, while all else stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cortex.core.model.problem import Invalid
from cortex.core.text import jsonc
from cortex.core.text.jsonc import Node, Splice
from cortex.hosts import hook_command
from cortex.hosts.hook_command import Line

HOOKS = "hooks"
_MOST_STEPS = 500


class Want(NamedTuple):
    """One entry that should be there: a host's event, and the entry itself."""

    event: str
    entry: dict[str, object]


class Found(NamedTuple):
    """One of our commands in a text, and the way to it: containers and places in them, the innermost last."""

    event: str
    way: tuple[tuple[Node, int], ...]
    group: Node  # the element of the event's list
    line: Line
    alone: bool  # no other command stands in its group


class Wired(NamedTuple):
    """A text with our entries in it."""

    text: str
    cuts: tuple[
        tuple[int, int], ...
    ]  # taking these out gives the text as it was; only as long as nobody edits it
    made: tuple[str, ...]  # what was not there before: "" for the whole, hooks, hooks/Stop, version
    events: tuple[str, ...]  # those of which an entry was added or changed


def found(root: Node | None) -> list[Found]:
    """Every command of ours, in the order of the text; also where a key stands twice."""
    held: list[Found] = []
    for place, top in enumerate(root.entries if root and root.kind == "object" else ()):
        if top.key != HOOKS or top.value.kind != "object" or root is None:
            continue
        for at, event in enumerate(top.value.entries):
            for number, group in enumerate(
                event.value.entries if event.value.kind == "array" else ()
            ):
                way = ((root, place), (top.value, at), (event.value, number))
                held += _in_group(event.key, group.value, way)
    return held


def _in_group(event: str, group: Node, way: tuple[tuple[Node, int], ...]) -> Iterator[Found]:
    said = jsonc.plain(group)
    if not isinstance(said, dict):
        return
    if line := hook_command.read(said):
        yield Found(event, way, group, line, alone=True)
        return
    inner = jsonc.member(group, HOOKS)
    for number, one in enumerate(inner.entries if inner and inner.kind == "array" else ()):
        handler = jsonc.plain(one.value)
        if inner and isinstance(handler, dict) and (line := hook_command.read(handler)):
            yield Found(event, (*way, (inner, number)), group, line, alone=len(inner.entries) == 1)


def wire(
    text: str,
    wants: Sequence[Want],
    top: Iterable[tuple[str, object]] = (),
    cuts: Sequence[tuple[int, int]] = (),
) -> Wired:
    """Put in what is missing, replace ours that differ where they stand, take out ours that are not wanted any more.
    `cuts` are those of an earlier time, when the text is still as it was left. `Invalid` where there is no room for them."""
    now = Wired(text, tuple(cuts), (), ())
    now = _without_others(now, {want.event for want in wants})
    root = jsonc.parse(now.text)
    if root is None:
        return _whole(now, wants, top)
    if root.kind != "object":
        raise Invalid("the settings are no object")
    for key, value in top:
        root = jsonc.parse(now.text)
        if root is not None and jsonc.member(root, key) is None:
            now = _stepped(
                now, jsonc.appended(now.text, root, value, key), made=(key,), insert=True
            )
    for want in wants:
        now = _with(now, want, wants)
    return now


def unwire(text: str, made: Iterable[str] | None) -> str:
    """Take all of ours out. What is empty then goes too, where we have made it; with `made` unknown, wherever it is empty."""
    known = None if made is None else set(made)
    for _ in range(_MOST_STEPS):
        ours = found(jsonc.parse(text))
        if not ours:
            break
        text = jsonc.apply(text, jsonc.removed(text, *_outermost(ours[0], known)))
    return text


def uncut(text: str, cuts: Iterable[tuple[int, int]]) -> str:
    """The text without these parts."""
    return jsonc.apply(text, [Splice(start, end, "") for start, end in cuts])


def _outermost(one: Found, made: set[str] | None) -> tuple[Node, int]:
    """What to take out: the command, or the group, list and table that would be left empty without it."""
    names = [HOOKS, f"{HOOKS}/{one.event}"]
    chosen = len(one.way) - 1
    while chosen > 0 and len(one.way[chosen][0].entries) == 1:
        above = chosen - 1  # 0: the table of hooks; 1: the event's list; 2: the group
        if above < len(names) and made is not None and names[above] not in made:
            break
        chosen = above
    return one.way[chosen]


def _without_others(now: Wired, events: set[str]) -> Wired:
    """Without ours on events that we use no more, and without all but the first on one that we do."""
    for _ in range(_MOST_STEPS):
        seen: set[str] = set()
        for one in found(jsonc.parse(now.text)):
            if one.event in events and one.event not in seen:
                seen.add(one.event)
                continue
            splices = jsonc.removed(now.text, *_outermost(one, set()))
            now = _stepped(now, splices)._replace(events=(*now.events, one.event))
            break
        else:
            return now
    return now


def _whole(now: Wired, wants: Sequence[Want], top: Iterable[tuple[str, object]]) -> Wired:
    value = {**dict(top), HOOKS: {want.event: [want.entry] for want in wants}}
    body = jsonc.rendered(now.text, value, "", inline=False) + jsonc.newline_of(now.text)
    lead = (
        "" if not now.text or now.text.endswith(("\n", jsonc.BOM)) else jsonc.newline_of(now.text)
    )
    step = Splice(len(now.text), len(now.text), lead + body)
    made = ("", *(key for key, _ in top), HOOKS, *(f"{HOOKS}/{want.event}" for want in wants))
    return _stepped(now, [step], made=made, insert=True)._replace(
        events=tuple(want.event for want in wants)
    )


def _with(now: Wired, want: Want, wants: Sequence[Want]) -> Wired:
    root = jsonc.parse(now.text)
    assert root is not None
    held = next((one for one in found(root) if one.event == want.event), None)
    if held is not None:
        return _renewed(now, held, want)
    hooks = jsonc.member(root, HOOKS)
    if hooks is None:
        value = {one.event: [one.entry] for one in wants}
        made = (HOOKS, *(f"{HOOKS}/{one.event}" for one in wants))
        step = _stepped(now, jsonc.appended(now.text, root, value, HOOKS), made=made, insert=True)
        return step._replace(events=(*now.events, *(one.event for one in wants)))
    if hooks.kind != "object":
        raise Invalid("its hooks are no object")
    listed = jsonc.member(hooks, want.event)
    if listed is None:
        splices, made = (
            jsonc.appended(now.text, hooks, [want.entry], want.event),
            (f"{HOOKS}/{want.event}",),
        )
    elif listed.kind == "array":
        splices, made = jsonc.appended(now.text, listed, want.entry), ()
    else:
        raise Invalid(f"its hooks on {want.event} are no list")
    return _stepped(now, splices, made=made, insert=True)._replace(events=(*now.events, want.event))


def _renewed(now: Wired, held: Found, want: Want) -> Wired:
    """Ours as it should be, in its place; where somebody has put a command of theirs into our group, ours alone."""
    if held.alone:
        node, value = held.group, want.entry
    else:
        inner, number = held.way[-1]
        node = inner.entries[number].value
        listed = want.entry.get(HOOKS)
        value = listed[0] if isinstance(listed, list) else want.entry
    if jsonc.plain(node) == value:
        return now
    return _stepped(now, [jsonc.replaced(now.text, node, value)])._replace(
        events=(*now.events, want.event)
    )


def _stepped(
    now: Wired, splices: Sequence[Splice], *, made: tuple[str, ...] = (), insert: bool = False
) -> Wired:
    """After one change: the cuts of before where they are now, and what was inserted as further ones."""
    moved = [
        (_moved(start, splices, end=False), _moved(end, splices, end=True))
        for start, end in now.cuts
    ]
    new = (
        [
            (begin, begin + len(one.text))
            for one in splices
            if one.text
            for begin in [_begin(one, splices)]
        ]
        if insert
        else []
    )
    new = [
        (start, end)
        for start, end in new
        if not any(first <= start and end <= last for first, last in moved)
    ]
    cuts = tuple(sorted((start, end) for start, end in (*moved, *new) if start < end))
    return now._replace(
        text=jsonc.apply(now.text, splices),
        cuts=cuts,
        made=tuple(dict.fromkeys((*now.made, *made))),
    )


def _begin(one: Splice, splices: Sequence[Splice]) -> int:
    return one.start + sum(
        len(other.text) - (other.end - other.start)
        for other in splices
        if other is not one and other.end <= one.start
    )


def _moved(at: int, splices: Sequence[Splice], *, end: bool) -> int:
    """Where a position is after the splices. Inserted right there, a text stands outside the part that begins or ends there."""
    delta = 0
    for one in splices:
        if one.start == one.end == at:
            delta += 0 if end else len(one.text)
        elif one.end <= at:
            delta += len(one.text) - (one.end - one.start)
        elif one.start < at:  # inside what is replaced
            delta += one.start - at + (len(one.text) if end else 0)
    return at + delta
