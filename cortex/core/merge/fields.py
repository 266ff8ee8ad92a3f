"""Three-way merge of frontmatter: whose value stands, by each field's kind and name.

Nothing here knows which side is ours: the sides come ordered, the newer first, so that swapping
them changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

from cortex.core.model.note_form import EVENTS, LAYER, PROVENANCE, SESSION, event_links
from cortex.core.model.note_status import KEY_ORDER, PRUNED
from cortex.core.notes import yaml_subset
from cortex.core.notes.yaml_lines import TAIL_KEY, FieldText, split_lines
from cortex.core.notes.yaml_subset import ListItem, ParsedValue
from cortex.core.text.value import NamedTuple
from cortex.core.text.yaml_writer import field_lines, flow_text, scalar

CONFLICTS_KEY = "merge_conflicts"
WHOLE_FRONTMATTER = "frontmatter"
LOST_TEXT = "text"  # the entry where a topic's text lost to a later one
_MISSED_KEYS = ("title", "status", "owner", "due", "date", "topic", "project", "scope", "priority")
IMMUTABLE_KEYS = ("id", "type")
# What one event alone can say of a topic's record: it stands and falls with the text, as in
# `core/normalize/topic_upsert.py`.
_KEYS_OF_TEXT = ("type", "title", "branch", "confidence", "priority", "provenance.session", SESSION)
_LATEST_TIME_KEYS = ("updated", "modified", "reviewed_at")
_SORTED_LIST_KEYS = ("provenance.events", EVENTS)
_REQUIRED_KEYS = ("type", "title")
# What verbs write beside a status (`edit.set_inactive_status`): if both sides changed the status,
# these come from the side whose status stands.
_KEYS_OF_STATUS = (
    "status_before", "archived_at", "archived_because", "deleted_at", "pruned_at",
    "superseded_by", "superseded_at", "superseded_because", "done_at",
)  # fmt: skip
# Two who did the same agree, whatever the second.
_EARLIEST_TIME_KEYS = ("created", *(key for key in _KEYS_OF_STATUS if key.endswith("_at")))
_UNREADABLE_REASON = "not read as YAML; cortex sync takes it if it is"
_MAX_QUOTED_CHARACTERS = 4000  # characters of a value that a conflict quotes

_DIGIT_REMOVAL = dict.fromkeys(range(48, 58))

FieldTexts = dict[str, FieldText]
ThreeValues = tuple[ParsedValue | None, ParsedValue, ParsedValue]  # base, newer, older
_ThreeTexts: TypeAlias = tuple[str | None, str | None, str | None]  # base, newer, older
IsYaml: TypeAlias = Callable[[str], bool]  # whether lines of frontmatter are read as YAML
T = TypeVar("T")


class SidePrecedence(NamedTuple):
    """What a choice between two values goes by."""

    newer_time: str  # `updated` of the newer side; empty where that is base's, as after an editor
    older_time: str
    is_strictly_newer: bool  # the newer side is newer, and not only the first of two of one age
    is_session: bool  # the note is a session
    # The side of the greater event, if both saved the record's topic anew: newer, older or both.
    topic_winner: str = ""
    is_titled_by_heading: bool = False  # its text says its title, where the loser has a field


class MergeLog:
    """The decisions of a merge, as lines for a person and entries of `merge_conflicts`: `FIELD: what
    was left out`, or a field alone."""

    def __init__(self, sides: SidePrecedence, is_yaml: IsYaml) -> None:
        self.precedence = sides
        self.is_yaml = is_yaml  # asked where the subset refuses
        self.decisions: list[str] = []
        self.conflicts: list[str] = []
        # A value, or a topic's text, lost to a later one: that stops nothing, and stays named until
        # somebody has looked.
        self.lost: list[str] = []
        self.leaves_out_text = (
            False  # of a topic that both sides saved anew the text of one of them
        )

    def log_choice(self, field: str, kept: str, lost: str, why: str = "") -> None:
        kept, quoted = _quote_value(kept), _quote_value(lost)
        self.decisions.append(f"{field}: kept {kept}{why and f' ({why})'}, not {quoted}")
        # Which values of a topic lost to which depends on who merges first; its events have them.
        if field in _MISSED_KEYS and not (
            self.precedence.topic_winner or self.precedence.is_session
        ):
            self.lost.append(f"{field}: {quoted[1:-1]}")

    def log_conflict(self, field: str, kept: str | None, lost: str, why: str) -> None:
        """`lost` waits in `merge_conflicts` for a person."""
        name = field.partition("\0")[0] or WHOLE_FRONTMATTER
        self.conflicts.append(f"{name}: {lost.removeprefix(f'{name}: ')[:_MAX_QUOTED_CHARACTERS]}")
        taken = f"left out {_quote_value(lost)}"
        if kept is not None:
            taken = f"kept {_quote_value(kept)}, not {_quote_value(lost)}"
        self.decisions.append(f"{name}: {taken} ({why}); {CONFLICTS_KEY} holds it")


def merge_blocks(
    base: FieldTexts,
    newer: FieldTexts,
    older: FieldTexts,
    ledger: MergeLog,
    path: str = "",
) -> FieldTexts:
    """The merged chunks, in base's order; keys that were added stand where their side put them."""
    merged: FieldTexts = {}
    order = _merge_key_order(base, newer, older)
    of_status = "" if path else _status_winner(base, newer, older, ledger)
    topic_winner = ledger.precedence.topic_winner
    if topic_winner and not path and _is_standard_order(base):
        order = _standard_order(order)
    for key in order:
        trio = (base.get(key), newer.get(key), older.get(key))
        texts = _texts_of(trio)
        if key == TAIL_KEY:
            if tail := _merge_comments(*texts):
                merged[key] = FieldText("", tail)
            continue
        field = f"{path}{key}"
        side = of_status if key in _KEYS_OF_STATUS else ""
        # An active status is left out.
        if topic_winner != "both" and (field in _KEYS_OF_TEXT or (field == "status" and not base)):
            side = topic_winner
        if text := _take_side(side, field, texts, ledger) if side else _merge_field(field, texts, ledger):  # fmt: skip
            above = (chunk.comments_above if chunk else None for chunk in trio)
            merged[key] = FieldText(_merge_comments(*above), text)
    return merged


def add_conflict_entries(block: FieldTexts, conflicts: list[str]) -> FieldTexts:
    """The block with the entries added to its `merge_conflicts`."""
    existing, value = block.get(CONFLICTS_KEY), value_of(block, CONFLICTS_KEY)
    is_block = bool(value and value.style == "block")
    lines = [
        "".join(item.lines) if is_block else f"- {flow_text(item.node)}\n"
        for item in (value.items if value else ())
    ]
    if existing and (value is None or value.kind not in ("list", "empty")):
        conflicts = [f"{CONFLICTS_KEY}: {existing.text.strip()}", *conflicts]
    known = {item.name for item in value.items} if value else set()
    for entry in conflicts:
        # Of two entries with one name the first stands for both.
        name = yaml_subset.item_key(entry)
        if name not in known:
            known.add(name)
            lines.append(f"- {flow_text(entry)}\n")
    below = "".join(f"  {line}" for item in lines for line in split_lines(item))
    last = {key: block[key] for key in (("id",) if is_flat(block) else ()) if key in block}
    last |= {TAIL_KEY: block[TAIL_KEY]} if TAIL_KEY in block else {}
    merged = {key: chunk for key, chunk in block.items() if key not in last}
    above = existing.comments_above if existing else ""
    merged[CONFLICTS_KEY] = FieldText(above, f"{CONFLICTS_KEY}:\n{below}")
    return merged | last


def value_of(block: FieldTexts | None, key: str) -> ParsedValue | None:
    """The value of a key; None without it, and where it cannot be parsed."""
    return yaml_subset.parse_value(key, block[key].text) if block and key in block else None


def is_flat(block: FieldTexts | None) -> bool:
    """Whether the fields are of a flat record (`core/model/note_form.py`)."""
    return bool(block) and EVENTS in block and PROVENANCE not in block  # type: ignore[operator]


def flattened(block: FieldTexts) -> FieldTexts:
    """The fields of a nested record as a flat one has them, its events as links; as they are where
    its provenance is none that Cortex writes."""
    value = value_of(block, PROVENANCE)
    if value is None or value.kind != "map" or value.entries.keys() - {EVENTS, SESSION, LAYER}:
        return block
    origin = dict(value.entries)
    events = value_of(origin, EVENTS)
    if events and all(isinstance(item.node, str) for item in events.items):
        links = event_links(str(item.node).strip("[]") for item in events.items)
        origin[EVENTS] = FieldText("", "".join(f"{line}\n" for line in field_lines(EVENTS, links)))
    last = {key: block[key] for key in ("id", TAIL_KEY) if key in block}
    return {key: block[key] for key in block if key not in (*last, PROVENANCE)} | origin | last


def _merge_key_order(base: FieldTexts, newer: FieldTexts, older: FieldTexts) -> list[str]:
    """Base's keys, each followed by those that a side added there; sorted where both did."""
    known = dict.fromkeys(base or newer)
    added: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
    placed = set(known)
    for side, groups in zip((newer, older), added, strict=True):
        anchor = ""
        for key in side:
            if key in known:
                anchor = key
            elif key not in placed:
                placed.add(key)
                groups.setdefault(anchor, []).append(key)
    order: list[str] = []
    for key in ("", *known):
        order.append(key)
        one, other = (groups.get(key, []) for groups in added)
        order += sorted(one + other) if one and other else one + other
    return [key for key in order if key not in ("", TAIL_KEY)] + [TAIL_KEY]


def _is_standard_order(block: FieldTexts) -> bool:
    """Whether nobody has put the keys into an order of their own."""
    keys = [key for key in block if key in KEY_ORDER]
    return keys == [key for key in _standard_order(keys) if key in block]


def _standard_order(keys: list[str]) -> list[str]:
    """The standard order of keys, for topics begun on two clones: the same whoever merges."""
    last = ["id"] if "id" in keys and EVENTS in keys and PROVENANCE not in keys else []
    return [
        *(key for key in KEY_ORDER if key in keys and key not in last),
        *sorted(key for key in keys if key not in KEY_ORDER and key != TAIL_KEY),
        *last,
        TAIL_KEY,
    ]


def _merge_comments(base: str | None, newer: str | None, older: str | None) -> str:
    """Comment and blank lines; where both sides wrote some, both stand."""
    base, newer, older = base or "", newer or "", older or ""
    if newer in (older, base) or older == base:
        chosen, other = (older, newer) if newer == base else (newer, older)
        return chosen if chosen == other or yaml_subset.is_valid_comment(chosen) else other
    lines = split_lines(newer)
    new = [line for line in split_lines(older) if line not in lines or not line.strip()]
    both = "".join([*lines, *new])
    return next((text for text in (both, newer, older) if yaml_subset.is_valid_comment(text)), base)


def _texts_of(trio: Iterable[FieldText | None]) -> _ThreeTexts:
    base, newer, older = (chunk.text if chunk else None for chunk in trio)
    return base, newer, older


class _FieldVersions(NamedTuple):
    """One key's text in base, and its values in all three; None for one that cannot be parsed."""

    path: str
    base: str | None
    parsed: dict[str, ParsedValue | None]

    @classmethod
    def parse(cls, path: str, texts: _ThreeTexts) -> _FieldVersions:
        key = path.rpartition(".")[2]
        said = {text for text in texts if text is not None}
        return cls(path, texts[0], {text: yaml_subset.parse_value(key, text) for text in said})

    def is_equal(self, one: str | None, two: str | None) -> bool:
        """Whether two texts mean the same, comments included."""
        if one is None or two is None:
            return one == two
        values = self.parsed[one], self.parsed[two]
        keys = [_comparison_key(value) for value in values if value is not None]
        return keys[0] == keys[1] if len(keys) == 2 else one == two

    def display_text(self, text: str) -> str:
        """The value as a person reads it; a text that cannot be read is shown whole."""
        value = self.parsed[text]
        if value is None:
            return text.strip()
        return value.text if value.kind == "scalar" else text.partition(":")[2].strip()


def _merge_field(path: str, texts: _ThreeTexts, ledger: MergeLog) -> str | None:
    """The text that stands for a key; None when the key goes."""
    base, newer, older = texts
    if newer == older:
        return newer
    of = _FieldVersions.parse(path, texts)
    if older == base or (newer != base and of.is_equal(older, base)):
        return _take_if_valid(of, newer, older, ledger)
    if newer == base or of.is_equal(newer, base):
        return _take_if_valid(of, older, newer, ledger)
    if path == "status" and (said := _only_pruned(newer, older)):
        ledger.decisions.append(f"status: left out {_quote_value(of.display_text(said))}")
        return older if said == newer else newer
    if newer is None or older is None:
        changed = newer if older is None else older
        assert changed is not None
        if of.parsed[changed] is not None:
            kept = _quote_value(of.display_text(changed))
            why = "one side changed it, the other removed it"
            ledger.decisions.append(f"{path}: kept {kept}: {why}")
        return _take_if_valid(of, changed, None, ledger)
    is_equal = of.is_equal(newer, older)
    return max(newer, older) if is_equal else _merge_both_changed(of, newer, older, ledger)


def _status_winner(base: FieldTexts, newer: FieldTexts, older: FieldTexts, ledger: MergeLog) -> str:
    """The side whose status stands where both sides changed it differently; empty elsewhere."""
    texts = _texts_of(block.get("status") for block in (base, newer, older))
    if len(set(texts)) < 3 or (None in texts[1:] and not _only_pruned(texts[1], texts[2])):
        return ""
    stands = _merge_field("status", texts, MergeLog(ledger.precedence, ledger.is_yaml))
    return "newer" if stands == texts[1] else "older" if stands == texts[2] else ""


def _only_pruned(one: str | None, other: str | None) -> str:
    """The status `pruned`, if only one side says it: nobody looked at that record, so whatever else
    the other side did to its status stands."""
    pruned = [text for text in (one, other) if text and text.partition(":")[2].strip() == PRUNED]
    return pruned[0] if len(pruned) == 1 else ""


def _take_side(side: str, path: str, texts: _ThreeTexts, ledger: MergeLog) -> str | None:
    """What one side says, where that can be read; nothing where it says nothing."""
    base, newer, older = texts
    kept, lost = (newer, older) if side == "newer" else (older, newer)
    why = "status" if path in _KEYS_OF_STATUS else "later text"
    of = _FieldVersions.parse(path, texts)
    is_read = all(of.parsed[text] for text in (kept, lost) if text is not None)
    has_title = path == "title" and ledger.precedence.is_titled_by_heading
    if not is_read or (kept is None and path in _REQUIRED_KEYS and not has_title):
        return _merge_field(path, texts, ledger)
    if lost is not None and lost != base and not of.is_equal(kept, lost):
        before = of.display_text(lost)
        if kept is None:
            left_out = f"left out {_quote_value(before)} (it went with the {why})"
            ledger.decisions.append(f"{path}: {left_out}")
        else:
            ledger.log_choice(path, of.display_text(kept), before, f"it came with the {why}")
    return kept


def _take_if_valid(
    of: _FieldVersions, changed: str | None, other: str | None, ledger: MergeLog
) -> str | None:
    """The value that one side alone changed, if it is known to be YAML."""

    def is_known(text: str) -> bool:
        return of.parsed[text] is not None or ("\0" not in of.path and ledger.is_yaml(text))

    if changed is None or is_known(changed):
        return changed
    kept = other if other is not None and is_known(other) else None
    kept_text = None if kept is None else of.display_text(kept)
    ledger.log_conflict(of.path, kept_text, changed.strip(), _UNREADABLE_REASON)
    return kept


def _merge_both_changed(of: _FieldVersions, newer: str, older: str, ledger: MergeLog) -> str | None:
    """Both changed it, each in its own way."""
    one, two = of.parsed[newer], of.parsed[older]
    was = of.parsed[of.base] if of.base is not None else None
    if one is None or two is None:
        kept = newer if one else older if two else of.base if was else None
        for lost in sorted({newer, older} - {kept}):
            kept_text = None if kept is None else of.display_text(kept)
            ledger.log_conflict(of.path, kept_text, lost.strip(), _UNREADABLE_REASON)
        return kept
    if {one.kind, two.kind} <= {"list", "empty"}:
        # Of a topic that many clones save, lists in order come out the same whoever merges first.
        in_order = of.path in _SORTED_LIST_KEYS or bool(ledger.precedence.topic_winner)
        return _merge_list((was, one, two), newer, older, in_order=in_order)
    if one.kind == two.kind == "map":
        return _merge_map(of.path, (was, one, two), newer, ledger)
    if of.path in (*_LATEST_TIME_KEYS, *_EARLIEST_TIME_KEYS):
        chosen = max if of.path in _LATEST_TIME_KEYS else min
        return chosen((newer, older), key=lambda text: (time_sort_key(of.display_text(text)), text))
    sides = ledger.precedence
    is_newer_kept = sides.is_strictly_newer or (one.text, newer) >= (two.text, older)
    if of.path in IMMUTABLE_KEYS:
        kept = of.base if was else newer if is_newer_kept else older
        assert kept is not None
        for lost in sorted({newer, older} - {kept}):
            texts = of.display_text(kept), of.display_text(lost)
            ledger.log_conflict(of.path, *texts, "it is not to change, and both sides changed it")
        return kept
    if sides.is_session and of.path == "status" and {one.text, two.text} == {"open", "done"}:
        is_newer_kept = one.text == "done"  # a session that was held stays held
    kept, lost = (newer, older) if is_newer_kept else (older, newer)
    time = sides.newer_time if is_newer_kept else sides.older_time
    why = f"updated {time}" if time else ""
    ledger.log_choice(of.path, of.display_text(kept), of.display_text(lost), why)
    return kept


def _merge_map(
    path: str,
    values: ThreeValues,
    newer: str,
    ledger: MergeLog,
) -> str:
    was, one, two = values
    before = was.entries if was and was.kind == "map" else {}
    merged = merge_blocks(before, one.entries, two.entries, ledger, f"{path}.")
    chunks = (split_lines(chunk.comments_above + chunk.text) for chunk in merged.values())
    below = (line if line == "\n" else one.indent + line for lines in chunks for line in lines)
    return split_lines(newer)[0] + "".join(below)


def _merge_list(
    values: ThreeValues,
    newer: str,
    older: str,
    *,
    in_order: bool,
) -> str:
    """A three-way set: what a side removed goes, what either added stays."""
    was, one, two = values
    before = was.items if was and was.kind == "list" else ()
    items = _merge_items(before, one.items, two.items, in_order=in_order)
    for text, value in ((newer, one), (older, two)):
        if [item.lines for item in value.items] == [item.lines for item in items]:
            return text
    forms = [value.style or (two.style or one.style) for value in (one, two)]
    commented = any(line.startswith("#") for item in items for line in item.lines)
    form = "block" if commented else pick_changed(was.style if was else "", *forms)
    comment = was.trailing_comment if was else ""
    after = pick_changed(comment, one.trailing_comment, two.trailing_comment)
    head = newer[: newer.index(":") + 1]
    if form == "flow" or not items:
        listed = ", ".join(
            item.lines[0]
            if len(item.lines) == 1 and not item.lines[0].startswith("- ")
            else flow_text(item.node)
            for item in items
        )
        return f"{head} [{listed}]{after if after.startswith(' ') else ''}\n"
    indent = one.indent if one.style == "block" else two.indent
    below = [
        line
        for item in items
        for line in (item.lines if item.lines[-1][-1] == "\n" else (f"- {flow_text(item.node)}\n",))
    ]
    if not after.startswith(" "):
        below += split_lines(after)
    return f"{head}\n" + "".join(indent + line for line in below)


def _merge_items(
    before: tuple[ListItem, ...],
    one: tuple[ListItem, ...],
    two: tuple[ListItem, ...],
    *,
    in_order: bool,
) -> list[ListItem]:
    was = {item.name: item for item in before}
    newer = {item.name: item for item in one}
    older = {item.name: item for item in two}
    kept = [
        pick_changed(was[name], newer[name], older[name])
        for name in was
        if name in newer and name in older
    ]
    both = [name for name in newer if name in older and name not in was]
    added = [
        [name for name in side if name not in was and name not in other]
        for side, other in ((newer, older), (older, newer))
    ]
    names = both + (sorted(added[0] + added[1]) if all(added) else added[0] + added[1])
    new = [newer.get(name) or older[name] for name in names]
    return sorted([*kept, *new], key=lambda item: item.name) if in_order else [*kept, *new]


def with_alias_renamed(block: FieldTexts, before: str, after: str) -> FieldTexts:
    """The chunks with another text in the place of an alias, if there is one."""
    if "aliases" not in block:
        return block
    name = rf"(?<=[\[ ]){re.escape(scalar(before))}(?=[,\]\n])"
    text = re.sub(name, lambda _: scalar(after), block["aliases"].text, count=1)
    return {**block, "aliases": block["aliases"]._replace(text=text)}


def pick_changed(base: T, one: T, other: T) -> T:
    """The value of the side that changed it; `one` where both did."""
    return other if one == base else one


def time_sort_key(text: str) -> tuple[bool, str, str]:
    """Sort key of a time: unreadable ones first; without a zone it is UTC."""
    # As Cortex writes it; nearly every time is so, and needs no datetime, 1 ms.
    if len(text) == 20 and text[4::3] == "--T::Z" and text.translate(_DIGIT_REMOVAL) == "--T::Z":
        return True, text[:19], text
    from cortex.core.text.iso_time import parse_utc  # noqa: PLC0415

    try:
        return True, parse_utc(text).replace(tzinfo=None).isoformat(), text
    except ValueError:
        return False, "", text


def _comparison_key(value: ParsedValue) -> tuple[str, str, str]:
    """What a value says; comments that stand within are part of it."""
    comments = "".join(line for item in value.items for line in item.lines if line.startswith("#"))
    return value.kind, value.text, comments


def _quote_value(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[:79]}…"' if len(line) > 80 else f'"{line}"'
