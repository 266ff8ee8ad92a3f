"""Install, update and remove our entries in a settings file of a host; all else stays as it is.

The file is replaced atomically. The positions of what an install inserted are recorded in the
user's state folder, without any text of the file: while nobody edits the file, a removal restores
it byte for byte. After an edit our entries are found by what they run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import unified_diff
from typing import Any, NamedTuple

from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, NotFoundError
from cortex.core.text.strings import short_hash
from cortex.hosts import hook_command, jsonc
from cortex.hosts.hook_command import HookCommand
from cortex.hosts.host import HOOKS_KEY
from cortex.hosts.jsonc import JsonNode, Splice
from cortex.vault import files, private, user_folders
from cortex.vault.private import lock

MAX_BYTES = 256 * 1024  # bytes of settings
_ENCODING = ("utf-8", "surrogateescape")  # any bytes come back as they were
_MAX_EDITS = 500
_NOTHING_WRITTEN = "mend it, then run the command again; nothing was written"

Span = tuple[int, int]  # start and end, in characters
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


class InstallRecord(NamedTuple):
    """What is remembered of an install."""

    digest: str  # of the file as it was left; empty when the cuts are not known
    cuts: tuple[Span, ...]
    absent: bool  # there was no file before
    folders: tuple[str, ...]  # made for it, outermost first
    made: tuple[str, ...] | None  # `EditedSettings.created_keys`; None when not known


class SettingsChange(NamedTuple):
    """What is to be done to one file; nothing is written before `apply_change`."""

    file: str  # as it is called
    real_path: str  # where it lies, behind every link
    before: bytes | None
    after: bytes | None
    changed_events: tuple[str, ...]  # the host's names of those that change
    install_record: InstallRecord | None
    had_hooks: bool  # some of our entries were there before
    record_name: str = ""  # of its install record; by default the real path

    @property
    def has_changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """What it would do to the file, for a person."""
        old, new = (
            (data or b"").decode("utf-8", "replace").splitlines()
            for data in (self.before, self.after)
        )
        name = self.file if self.before is not None else "(none)"
        return "\n".join(unified_diff(old, new, name, self.file, lineterm=""))


def resolve_path(path: str, inside: Sequence[str]) -> str:
    """The real path of a settings file. `InvalidInputError` if a link leads outside `inside`."""
    real = os.path.realpath(path)
    folders = [os.path.realpath(folder) for folder in inside]
    if not any(os.path.commonpath([real, folder]) == folder for folder in folders):
        hint = "put a file of its own in place of the link; nothing was written"
        raise InvalidInputError(f"{path} leads to {real}, outside {inside[0]}", hint)
    return real


def read(real: str, most: int = MAX_BYTES) -> bytes | None:
    """The bytes of a settings file; None where there is none."""
    try:
        data = files.read(os.path.dirname(real), os.path.basename(real), most + 1)
    except NotFoundError:
        return None
    if len(data) > most:
        hint = "such a file is not edited; write the entry into it yourself"
        raise InvalidInputError(f"{real} is larger than {most:,} bytes", hint)
    return data


def parse(path: str, data: bytes | None) -> JsonNode | None:
    """What the file says. `InvalidInputError` names it with line and column."""
    try:
        return jsonc.parse((data or b"").decode(*_ENCODING))
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}, {error.message}", _NOTHING_WRITTEN) from None


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
        edited = install_hooks((before or b"").decode(*_ENCODING), wants, top, cuts or ())
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error.message}", _NOTHING_WRITTEN) from None
    after = edited.text.encode(*_ENCODING)
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
    text = before.decode(*_ENCODING)
    if record and cuts is not None:
        bare, is_obsolete = remove_spans(text, cuts), record.absent
    else:
        bare = remove_hooks(text, record.made if record else None)
        is_obsolete = (own or bool(record and record.absent)) and _is_empty_settings(bare, top)
    after = None if is_obsolete else bare.encode(*_ENCODING)
    events = tuple(dict.fromkeys(one.event for one in hooks))
    return SettingsChange(path, real, before, after, events, None, had_hooks=True)


def apply_change(change: SettingsChange) -> None:
    """Write the change: atomically, with the file's mode, through no link. `ConflictError` if the
    file has changed meanwhile. The install record is written first: if the process is killed
    between the two, its digest matches no file and it is ignored."""
    with lock(os.path.join(_records_folder(), "lock"), "settings"):
        name = change.record_name or change.real_path
        old_record, record = read_record(name), change.install_record
        folders = old_record.folders if old_record else ()
        made = _make_folders(os.path.dirname(change.real_path)) if change.before is None else []
        try:
            if record is not None:
                _save_record(name, record._replace(folders=tuple(made) or folders))
            _write(change)
        except (CortexError, OSError):
            with suppress(OSError):
                _save_record(name, old_record)
            _remove_empty_folders(made)
            raise
        if change.after is None:
            _remove_empty_folders(folders)
        if record is None:
            _save_record(name, None)


def install_hooks(
    text: str, wants: Sequence[WantedEntry], top: TopFields = (), cuts: Iterable[Span] = ()
) -> EditedSettings:
    """Insert missing entries, update ours in place, remove ours that are no longer wanted. `cuts`
    are those of the last install, if the text is unchanged since. `InvalidInputError` if the
    structure of the settings leaves no place for them."""
    before = jsonc.parse(text)
    edited = _remove_unwanted(text, {want.event for want in wants})
    for key, value in top:
        if jsonc.find_member(jsonc.parse(edited), key) is None:
            edited = jsonc.put_value(edited, (key,), value)
    for want in wants:
        edited = _put_entry(edited, want)
    after = jsonc.parse(edited)
    present, wanted = _own_groups(before), _own_groups(after)
    return EditedSettings(
        text=edited,
        inserted_spans=inserted_spans(remove_spans(text, cuts), edited),
        created_keys=tuple(key for key in _keys_of(after) if key not in _keys_of(before)),
        changed_events=tuple(
            event for event in present | wanted if present.get(event) != wanted.get(event)
        ),
    )


def _remove_unwanted(text: str, events: set[str]) -> str:
    """The text without ours on events that we use no more, and all but the first on one that we do."""
    for _ in range(_MAX_EDITS):
        wanted = set(events)
        for hook in find_hooks(jsonc.parse(text)):
            if hook.event not in wanted:
                text = jsonc.remove_entry(text, *_node_to_remove(hook, set()))
                break
            wanted.discard(hook.event)
        else:
            break
    return text


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


def _own_groups(root: JsonNode | None) -> dict[str, list[object]]:
    """What stands around our commands, by event."""
    groups: dict[str, list[object]] = {}
    for hook in find_hooks(root):
        groups.setdefault(hook.event, []).append(jsonc.to_python(hook.group))
    return groups


def _keys_of(root: JsonNode | None) -> list[str]:
    """The places that an install may make, as `EditedSettings.created_keys` calls them."""
    if root is None:
        return []
    hooks = jsonc.find_member(root, HOOKS_KEY)
    events = (f"{HOOKS_KEY}/{one.key}" for one in (hooks.entries if hooks else ()))
    return ["", *(one.key for one in root.entries), *events]


def remove_hooks(text: str, made: Iterable[str] | None) -> str:
    """Remove all our entries, and containers left empty that are in `made` (None: any)."""
    known = None if made is None else set(made)
    for _ in range(_MAX_EDITS):
        hooks = find_hooks(jsonc.parse(text))
        if not hooks:
            break
        text = jsonc.remove_entry(text, *_node_to_remove(hooks[0], known))
    return text


def remove_spans(text: str, spans: Iterable[Span]) -> str:
    """The text without these parts."""
    return jsonc.apply_splices(text, [Splice(start, end, "") for start, end in spans])


def inserted_spans(original: str, text: str) -> tuple[Span, ...] | None:
    """The spans of `text` without which it is `original`; None if there are none such. Linear."""
    start = _common_length(original, text)
    suffix = _common_length(original[start:][::-1], text[start:][::-1])
    end = len(text) - suffix
    spans: list[Span] = []
    for sign in original[start : len(original) - suffix]:
        at = text.find(sign, start, end)
        if at < 0:
            return None
        if at > start:
            spans.append((start, at))
        start = at + 1
    return (*spans, (start, end)) if start < end else tuple(spans)


def _common_length(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


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


def _write(change: SettingsChange) -> None:
    folder, name = os.path.split(change.real_path)
    if not change.has_changes:
        return
    if change.after is None:
        if read(change.real_path) != change.before:
            message = f"{change.file} was changed by somebody else just now"
            raise ConflictError(message, "run the command again")
        files.remove(folder, name)
    elif change.before is not None:
        files.replace(folder, name, change.after, change.before)
    else:
        try:
            files.create(folder, name, change.after)
        except FileExistsError:
            message = f"{change.file} was made by somebody else just now"
            raise ConflictError(message, "run the command again") from None


def _make_folders(folder: str) -> list[str]:
    """Make what is missing of a folder; the folders that were made, outermost first."""
    missing: list[str] = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    missing.reverse()
    for one in missing:
        os.mkdir(one)
    return missing


def _remove_empty_folders(folders: Sequence[str]) -> None:
    for one in reversed(folders):
        with suppress(OSError):  # somebody has put something into it
            os.rmdir(one)


def _is_empty_settings(text: str, top: TopFields) -> bool:
    try:
        value: Any = json.loads(text.strip(jsonc.BOM + " \t\r\n") or "{}")
    except ValueError:  # a comment, perhaps
        return False
    nothing = [*top, (HOOKS_KEY, {})]
    return isinstance(value, dict) and all(one in nothing for one in value.items())


def digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def recall(name: str, data: bytes | None) -> tuple[InstallRecord | None, tuple[Span, ...] | None]:
    """What is remembered of a file, and which parts of `data` an install put in; None for these where
    the file is no longer as it was left."""
    record = read_record(name)
    is_intact = record is not None and record.digest == digest(data)
    return record, record.cuts if record and is_intact else None


def _records_folder() -> str:
    folder = os.path.join(user_folders.user_folder("state"), "hooks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def _record_path(real: str) -> str:
    return os.path.join(user_folders.user_folder("state"), "hooks", f"{short_hash(real, 12)}.json")


def read_record(real: str) -> InstallRecord | None:
    """What is remembered of this file; None when nothing is, or not in a form that we know."""
    try:
        data = json.loads(private.read(_record_path(real), MAX_BYTES))
        if data["file"] != real:
            return None
        cuts = tuple((int(start), int(end)) for start, end in data["cuts"])
        made = None if data["made"] is None else tuple(map(str, data["made"]))
        folders = tuple(map(str, data["folders"]))
        return InstallRecord(str(data["digest"]), cuts, bool(data["absent"]), folders, made)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _save_record(real: str, record: InstallRecord | None) -> None:
    """Write or forget the record of a file; when this returns, that is on disk."""
    if record is not None:
        data = json.dumps({"file": real, **record._asdict()}).encode()
        private.replace(_record_path(real), data, durable=True)
    else:
        with suppress(FileNotFoundError):
            os.unlink(_record_path(real))
            private.sync_folder(_records_folder())
