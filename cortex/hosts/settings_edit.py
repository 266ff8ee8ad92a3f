"""Our entries in the text of a host's settings: put in, brought up to date, taken out, while all else stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cortex.core.model.problem import InvalidInputError
from cortex.core.text import jsonc
from cortex.core.text.jsonc import JsonNode, Splice
from cortex.hosts import hook_command
from cortex.hosts.hook_command import HookCommand

HOOKS_KEY = "hooks"
_MAX_EDITS = 500


class WantedEntry(NamedTuple):
    """One entry that should be there: a host's event, and the entry itself."""

    event: str
    entry: dict[str, object]


class HookEntry(NamedTuple):
    """One of our commands in a text, and the way to it: containers and places in them, the innermost last."""

    event: str
    ancestors: tuple[tuple[JsonNode, int], ...]
    group: JsonNode  # the element of the event's list
    command: HookCommand
    is_only_command: bool  # no other command stands in its group


class EditedSettings(NamedTuple):
    """A text with our entries in it."""

    text: str
    inserted_spans: tuple[
        tuple[int, int], ...
    ]  # taking these out gives the text as it was; only as long as nobody edits it
    created_keys: tuple[
        str, ...
    ]  # what was not there before: "" for the whole, hooks, hooks/Stop, version
    changed_events: tuple[str, ...]  # those of which an entry was added or changed


def find_hooks(root: JsonNode | None) -> list[HookEntry]:
    """Every command of ours, in the order of the text; also where a key stands twice."""
    held: list[HookEntry] = []
    for place, top in enumerate(root.entries if root and root.kind == "object" else ()):
        if top.key != HOOKS_KEY or top.value.kind != "object" or root is None:
            continue
        for at, event in enumerate(top.value.entries):
            for number, group in enumerate(
                event.value.entries if event.value.kind == "array" else ()
            ):
                way = ((root, place), (top.value, at), (event.value, number))
                held += _find_in_group(event.key, group.value, way)
    return held


def _find_in_group(
    event: str, group: JsonNode, way: tuple[tuple[JsonNode, int], ...]
) -> Iterator[HookEntry]:
    said = jsonc.to_python(group)
    if not isinstance(said, dict):
        return
    if line := hook_command.parse_handler(said):
        yield HookEntry(event, way, group, line, is_only_command=True)
        return
    inner = jsonc.find_member(group, HOOKS_KEY)
    for number, one in enumerate(inner.entries if inner and inner.kind == "array" else ()):
        handler = jsonc.to_python(one.value)
        if inner and isinstance(handler, dict) and (line := hook_command.parse_handler(handler)):
            yield HookEntry(
                event, (*way, (inner, number)), group, line, is_only_command=len(inner.entries) == 1
            )


def install_hooks(
    text: str,
    wants: Sequence[WantedEntry],
    top: Iterable[tuple[str, object]] = (),
    cuts: Sequence[tuple[int, int]] = (),
) -> EditedSettings:
    """Put in what is missing, replace ours that differ where they stand, take out ours that are not wanted any more.
    `cuts` are those of an earlier time, when the text is still as it was left. `InvalidInputError` where there is no room for them."""
    now = EditedSettings(text, tuple(cuts), (), ())
    now = _remove_unwanted(now, {want.event for want in wants})
    root = jsonc.parse(now.text)
    if root is None:
        return _append_new_object(now, wants, top)
    if root.kind != "object":
        raise InvalidInputError("the settings are no object")
    for key, value in top:
        root = jsonc.parse(now.text)
        if root is not None and jsonc.find_member(root, key) is None:
            now = _apply_splices(
                now, jsonc.splices_to_append(now.text, root, value, key), made=(key,), insert=True
            )
    for want in wants:
        now = _ensure_entry(now, want, wants)
    return now


def remove_hooks(text: str, made: Iterable[str] | None) -> str:
    """Take all of ours out. What is empty then goes too, where we have made it; with `made` unknown, wherever it is empty."""
    known = None if made is None else set(made)
    for _ in range(_MAX_EDITS):
        ours = find_hooks(jsonc.parse(text))
        if not ours:
            break
        text = jsonc.apply_splices(
            text, jsonc.splices_to_remove(text, *_node_to_remove(ours[0], known))
        )
    return text


def remove_spans(text: str, cuts: Iterable[tuple[int, int]]) -> str:
    """The text without these parts."""
    return jsonc.apply_splices(text, [Splice(start, end, "") for start, end in cuts])


def _node_to_remove(one: HookEntry, made: set[str] | None) -> tuple[JsonNode, int]:
    """What to take out: the command, or the group, list and table that would be left empty without it."""
    names = [HOOKS_KEY, f"{HOOKS_KEY}/{one.event}"]
    chosen = len(one.ancestors) - 1
    while chosen > 0 and len(one.ancestors[chosen][0].entries) == 1:
        above = chosen - 1  # 0: the table of hooks; 1: the event's list; 2: the group
        if above < len(names) and made is not None and names[above] not in made:
            break
        chosen = above
    return one.ancestors[chosen]


def _remove_unwanted(now: EditedSettings, events: set[str]) -> EditedSettings:
    """Without ours on events that we use no more, and without all but the first on one that we do."""
    for _ in range(_MAX_EDITS):
        seen: set[str] = set()
        for one in find_hooks(jsonc.parse(now.text)):
            if one.event in events and one.event not in seen:
                seen.add(one.event)
                continue
            splices = jsonc.splices_to_remove(now.text, *_node_to_remove(one, set()))
            now = _apply_splices(now, splices)._replace(
                changed_events=(*now.changed_events, one.event)
            )
            break
        else:
            return now
    return now


def _append_new_object(
    now: EditedSettings, wants: Sequence[WantedEntry], top: Iterable[tuple[str, object]]
) -> EditedSettings:
    value = {**dict(top), HOOKS_KEY: {want.event: [want.entry] for want in wants}}
    body = jsonc.dumps_in_style(now.text, value, "", inline=False) + jsonc.newline_of(now.text)
    lead = (
        "" if not now.text or now.text.endswith(("\n", jsonc.BOM)) else jsonc.newline_of(now.text)
    )
    step = Splice(len(now.text), len(now.text), lead + body)
    made = (
        "",
        *(key for key, _ in top),
        HOOKS_KEY,
        *(f"{HOOKS_KEY}/{want.event}" for want in wants),
    )
    return _apply_splices(now, [step], made=made, insert=True)._replace(
        changed_events=tuple(want.event for want in wants)
    )


def _ensure_entry(
    now: EditedSettings, want: WantedEntry, wants: Sequence[WantedEntry]
) -> EditedSettings:
    root = jsonc.parse(now.text)
    assert root is not None
    held = next((one for one in find_hooks(root) if one.event == want.event), None)
    if held is not None:
        return _update_entry(now, held, want)
    hooks = jsonc.find_member(root, HOOKS_KEY)
    if hooks is None:
        value = {one.event: [one.entry] for one in wants}
        made = (HOOKS_KEY, *(f"{HOOKS_KEY}/{one.event}" for one in wants))
        step = _apply_splices(
            now, jsonc.splices_to_append(now.text, root, value, HOOKS_KEY), made=made, insert=True
        )
        return step._replace(changed_events=(*now.changed_events, *(one.event for one in wants)))
    if hooks.kind != "object":
        raise InvalidInputError("its hooks are no object")
    listed = jsonc.find_member(hooks, want.event)
    if listed is None:
        splices, made = (
            jsonc.splices_to_append(now.text, hooks, [want.entry], want.event),
            (f"{HOOKS_KEY}/{want.event}",),
        )
    elif listed.kind == "array":
        splices, made = jsonc.splices_to_append(now.text, listed, want.entry), ()
    else:
        raise InvalidInputError(f"its hooks on {want.event} are no list")
    return _apply_splices(now, splices, made=made, insert=True)._replace(
        changed_events=(*now.changed_events, want.event)
    )


def _update_entry(now: EditedSettings, held: HookEntry, want: WantedEntry) -> EditedSettings:
    """Ours as it should be, in its place; where somebody has put a command of theirs into our group, ours alone."""
    if held.is_only_command:
        node, value = held.group, want.entry
    else:
        inner, number = held.ancestors[-1]
        node = inner.entries[number].value
        listed = want.entry.get(HOOKS_KEY)
        value = listed[0] if isinstance(listed, list) else want.entry
    if jsonc.to_python(node) == value:
        return now
    return _apply_splices(now, [jsonc.splice_to_replace(now.text, node, value)])._replace(
        changed_events=(*now.changed_events, want.event)
    )


def _apply_splices(
    now: EditedSettings,
    splices: Sequence[Splice],
    *,
    made: tuple[str, ...] = (),
    insert: bool = False,
) -> EditedSettings:
    """After one change: the cuts of before where they are now, and what was inserted as further ones."""
    moved = [
        (_shift_offset(start, splices, end=False), _shift_offset(end, splices, end=True))
        for start, end in now.inserted_spans
    ]
    new = (
        [
            (begin, begin + len(one.text))
            for one in splices
            if one.text
            for begin in [_shifted_start(one, splices)]
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
        text=jsonc.apply_splices(now.text, splices),
        inserted_spans=cuts,
        created_keys=tuple(dict.fromkeys((*now.created_keys, *made))),
    )


def _shifted_start(one: Splice, splices: Sequence[Splice]) -> int:
    return one.start + sum(
        len(other.text) - (other.end - other.start)
        for other in splices
        if other is not one and other.end <= one.start
    )


def _shift_offset(at: int, splices: Sequence[Splice], *, end: bool) -> int:
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
