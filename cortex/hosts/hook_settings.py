"""Install, update and remove our hooks in the settings of a host; all else stays as it is.

While nobody edits the file, a removal takes out what an install put in (`settings_file.py`); after an edit
our entries are found by what they run.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.value import NamedTuple
from cortex.hosts import HOST_NAMES, hook_command, jsonc, load_host
from cortex.hosts.hook_command import HOOK_SCRIPT, HookCommand
from cortex.hosts.host import HOOKS_KEY, Host
from cortex.hosts.jsonc import JsonNode
from cortex.hosts.settings_file import (
    ENCODING,
    NOTHING_WRITTEN,
    InstallRecord,
    SettingsChange,
    Span,
    digest,
    inserted_spans,
    parse,
    read,
    recall,
    remove_spans,
)

HOSTS: dict[str, Host] = {name: load_host(name) for name in HOST_NAMES}
_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOOK_FILE = os.path.join(_PACKAGE_FOLDER, HOOK_SCRIPT)  # the program that a hook runs
_MAX_EDITS = 500

TopFields = Sequence[tuple[str, object]]  # what a file must say besides its hooks


class WantedEntry(NamedTuple):
    """One entry that should be there: a host's event, and the entry itself."""

    event: str
    entry: dict[str, object]


class HookEntry(NamedTuple):
    """One of our commands in a text. `ancestors`: containers with an index, innermost last."""

    event: str
    ancestors: tuple[tuple[JsonNode, int], ...]
    group: JsonNode  # the element of the event's list
    command: HookCommand
    is_only_command: bool  # no other command stands in its group


class EditedSettings(NamedTuple):
    """A text with our entries in it."""

    text: str
    inserted_spans: tuple[Span, ...] | None  # without these it is as it was; None: not known
    created_keys: tuple[str, ...]  # made by us: "" for the whole, hooks, hooks/Stop, version
    changed_events: tuple[str, ...]  # those of which an entry was added or changed


def wanted_entries(
    host: Host,
    interpreter: str,
    *,
    shared: bool = False,
    standing: Mapping[str, HookCommand] | None = None,
) -> list[WantedEntry]:
    """The entries of a host's settings, for this machine alone or (`shared`) for a file that git
    shares. `standing` are the commands already in that file, by the host's name of the event:
    those that can run here are kept, so that machines do not rewrite each other's lines."""
    entries = []
    for on in host.events:
        words = [interpreter, "-I", "-S", HOOK_FILE, on.event, "--host", host.name]
        silence, line = host.empty_answer(on.event), ""
        present = (standing or {}).get(on.name)
        if present and hook_command.is_usable_shared_line(present, on.event, host.name, silence):
            line = present.shared_line
        elif shared:
            line = hook_command.build_shared_line(words, silence)
        entry = host.make_entry(on, line or shlex.join(words), [] if line else words)
        entries.append(WantedEntry(on.name, entry))
    return entries


def installed_hooks(path: str, real: str) -> list[HookEntry]:
    """Our commands in the file. Raises `InvalidInputError` as `parse`."""
    return find_hooks(parse(path, read(real)))


def find_hooks(root: JsonNode | None) -> list[HookEntry]:
    """Every command of ours, in the order of the text; also where a key stands twice."""
    hooks: list[HookEntry] = []
    for place, top in enumerate(root.entries if root and root.kind == "object" else ()):
        if top.key != HOOKS_KEY or top.value.kind != "object" or root is None:
            continue
        for at, event in enumerate(top.value.entries):
            groups = event.value.entries if event.value.kind == "array" else ()
            for number, group in enumerate(groups):
                way = ((root, place), (top.value, at), (event.value, number))
                hooks += _find_in_group(event.key, group.value, way)
    return hooks


def _find_in_group(
    event: str, group: JsonNode, way: tuple[tuple[JsonNode, int], ...]
) -> Iterator[HookEntry]:
    value = jsonc.to_python(group)
    if not isinstance(value, dict):
        return
    if command := hook_command.parse_handler(value):
        yield HookEntry(event, way, group, command, is_only_command=True)
        return
    inner = jsonc.find_member(group, HOOKS_KEY)
    if inner is None or inner.kind != "array":
        return
    for number, one in enumerate(inner.entries):
        handler = jsonc.to_python(one.value)
        if isinstance(handler, dict) and (command := hook_command.parse_handler(handler)):
            alone = len(inner.entries) == 1
            yield HookEntry(event, (*way, (inner, number)), group, command, is_only_command=alone)


def plan_install(
    path: str, real: str, wants: Sequence[WantedEntry], top: TopFields
) -> SettingsChange:
    """What puts our entries in, or brings them up to date."""
    before = read(real)
    had_hooks = bool(find_hooks(parse(path, before)))
    record, cuts = recall(real, before) if had_hooks else (None, ())
    try:
        edited = install_hooks((before or b"").decode(*ENCODING), wants, top, cuts or ())
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error.message}", NOTHING_WRITTEN) from None
    after = edited.text.encode(*ENCODING)
    spans = None if cuts is None else edited.inserted_spans
    made = (record.made if record else None) if had_hooks else ()
    created = None if made is None else (*made, *edited.created_keys)
    new_record = InstallRecord(
        digest=digest(after) if spans is not None else "",
        cuts=spans or (),
        absent=before is None or bool(record and record.absent),
        folders=record.folders if record else (),
        made=created,
    )
    return SettingsChange(path, real, before, after, edited.changed_events, new_record, had_hooks)


def plan_removal(path: str, real: str, top: TopFields, *, own: bool) -> SettingsChange:
    """What takes our entries out; a file that we created, or ours alone, goes if now empty."""
    before = read(real)
    hooks = find_hooks(parse(path, before))
    if before is None or not hooks:
        return SettingsChange(path, real, before, before, (), None, had_hooks=False)
    record, cuts = recall(real, before)
    text = before.decode(*ENCODING)
    if record and cuts is not None:
        bare, is_obsolete = remove_spans(text, cuts), record.absent
    else:
        bare = remove_hooks(text, record.made if record else None)
        is_obsolete = (own or bool(record and record.absent)) and _is_empty_settings(bare, top)
    after = None if is_obsolete else bare.encode(*ENCODING)
    events = tuple(dict.fromkeys(one.event for one in hooks))
    return SettingsChange(path, real, before, after, events, None, had_hooks=True)


def install_hooks(
    text: str, wants: Sequence[WantedEntry], top: TopFields = (), cuts: Iterable[Span] = ()
) -> EditedSettings:
    """Insert missing entries, update ours in place, remove ours that are no longer wanted. `cuts`
    are those of the last install, if the text is unchanged since. `InvalidInputError` if the
    structure of the settings leaves no place for them."""
    before = jsonc.parse(text)
    # Ours on events that we use no more, and all but the first on one that we do.
    edited = remove_hooks(text, (), {want.event for want in wants})
    for key, value in top:
        if jsonc.find_member(jsonc.parse(edited), key) is None:
            edited = jsonc.put_value(edited, (key,), value)
    for want in wants:
        edited = _put_entry(edited, want)
    after = jsonc.parse(edited)
    present, wanted = _groups_of_our_hooks(before), _groups_of_our_hooks(after)
    return EditedSettings(
        text=edited,
        inserted_spans=inserted_spans(remove_spans(text, cuts), edited),
        created_keys=tuple(
            key for key in _creatable_keys(after) if key not in _creatable_keys(before)
        ),
        changed_events=tuple(
            event for event in present | wanted if present.get(event) != wanted.get(event)
        ),
    )


def _put_entry(text: str, want: WantedEntry) -> str:
    """The text with an entry, or with ours brought up to date; if our group also holds a command of the
    user, our command alone is."""
    root = jsonc.parse(text)
    present = next((one for one in find_hooks(root) if one.event == want.event), None)
    if present is None:
        keys = HOOKS_KEY, want.event
        if (listed := jsonc.find_member(root, *keys)) is None:
            return jsonc.put_value(text, keys, [want.entry])
        if listed.kind != "array":
            raise InvalidInputError(f"its hooks on {want.event} are no list")
        return jsonc.append_value(text, listed, want.entry)
    node, value = present.group, want.entry
    if not present.is_only_command:
        inner, number = present.ancestors[-1]
        node = inner.entries[number].value
        handlers = want.entry.get(HOOKS_KEY)
        value = handlers[0] if isinstance(handlers, list) else want.entry
    return text if jsonc.to_python(node) == value else jsonc.replace_value(text, node, value)


def _groups_of_our_hooks(root: JsonNode | None) -> dict[str, list[object]]:
    """The groups of the settings that hold our hooks, by event."""
    groups: dict[str, list[object]] = {}
    for hook in find_hooks(root):
        groups.setdefault(hook.event, []).append(jsonc.to_python(hook.group))
    return groups


def _creatable_keys(root: JsonNode | None) -> list[str]:
    """The keys that an install may create, in the form of `EditedSettings.created_keys`."""
    if root is None:
        return []
    hooks = jsonc.find_member(root, HOOKS_KEY)
    events = (f"{HOOKS_KEY}/{one.key}" for one in (hooks.entries if hooks else ()))
    return ["", *(one.key for one in root.entries), *events]


def remove_hooks(text: str, made: Iterable[str] | None, kept: Container[str] = ()) -> str:
    """Remove our entries, but for the first one on each event of `kept`, and containers left empty
    that are in `made` (None: any)."""
    known = None if made is None else set(made)
    for _ in range(_MAX_EDITS):
        hooks = find_hooks(jsonc.parse(text))
        stays = {hook.event: hook for hook in reversed(hooks) if hook.event in kept}
        gone = next((hook for hook in hooks if stays.get(hook.event) is not hook), None)
        if gone is None:
            break
        text = jsonc.remove_entry(text, *_node_to_remove(gone, known))
    return text


def _node_to_remove(one: HookEntry, made: set[str] | None) -> tuple[JsonNode, int]:
    """What to remove: the command, or the outermost container that would be left empty."""
    names = [HOOKS_KEY, f"{HOOKS_KEY}/{one.event}"]
    chosen = len(one.ancestors) - 1
    while chosen > 0 and len(one.ancestors[chosen][0].entries) == 1:
        above = chosen - 1  # 0: the table of hooks; 1: the event's list; 2: the group
        if above < len(names) and made is not None and names[above] not in made:
            break
        chosen = above
    return one.ancestors[chosen]


def _is_empty_settings(text: str, top: TopFields) -> bool:
    try:
        value: Any = json.loads(text.strip(jsonc.BOM + " \t\r\n") or "{}")
    except ValueError:  # a comment, perhaps
        return False
    nothing = [*top, (HOOKS_KEY, {})]
    return isinstance(value, dict) and all(one in nothing for one in value.items())
