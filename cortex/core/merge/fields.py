"""Three-way merge of frontmatter by field: what each field's kind and name say about whose value stands.

Nothing here knows which side is ours: the sides come ordered, the newer first, so that swapping them changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.merge.times import time_sort_key
from cortex.core.notes import yaml_subset
from cortex.core.notes.invalid_yaml import is_invalid_yaml
from cortex.core.notes.yaml_lines import TAIL_KEY, FieldText, split_lines
from cortex.core.notes.yaml_subset import ListItem, ParsedValue, YamlNode
from cortex.core.notes.yaml_writer import flow_text

CONFLICTS_KEY = "merge_conflicts"
WHOLE_FRONTMATTER = "frontmatter"
IMMUTABLE_KEYS = ("id", "type")
# What one event alone can say of a topic's record: it stands and falls with the text, as in `core/normalize/topic_upsert.py`.
_KEYS_OF_TEXT = ("type", "title", "branch", "confidence", "priority", "provenance.session")
_LATEST_TIME_KEYS = ("updated", "modified")
_EARLIEST_TIME_KEYS = ("created",)
_SORTED_LIST_KEYS = ("provenance.events",)
_REQUIRED_KEYS = ("type", "title")
# What verbs write beside a status (`edit.set_aside`): where both sides changed that, these are of the side whose status stands.
_KEYS_OF_STATUS = (
    "status_before", "archived_at", "archived_because", "deleted_at", "superseded_by", "superseded_at", "superseded_because", "done_at",
)  # fmt: skip
# As `record.compose` writes them; its module would cost the driver an import. A test compares the two.
KEY_ORDER = (
    "id", "type", "title", "status", "scope", "project", "branch", "topic", "tags", "aliases", "owner", "due", "created", "updated",
    "confidence", "priority", "pinned", "supersedes", "superseded_by", "relations", "provenance",
)  # fmt: skip
_UNREADABLE_REASON = "not YAML that can be merged"
_MAX_QUOTED_CHARACTERS = 4000  # characters of a value that a conflict quotes

FrontmatterBlock = dict[str, FieldText]


class SidePrecedence(NamedTuple):
    """What a choice between two values goes by."""

    newer_time: str  # `updated` of the newer side
    older_time: str
    is_strictly_newer: bool  # the newer side is newer, and not only the first of two of one age
    is_session: bool  # the note is a session
    topic_winner: str = ""  # newer, older: both sides saved the record's topic anew, and this one's event is the greater; both: it is one event


class MergeLog:
    """What a merge has decided: lines for a person, and the entries of the `merge_conflicts` field."""

    def __init__(self, sides: SidePrecedence) -> None:
        self.precedence = sides
        self.decisions: list[str] = []
        self.conflicts: list[dict[str, str]] = []

    def log_choice(self, field: str, kept: str, lost: str, why: str = "") -> None:
        self.decisions.append(
            f"{field}: kept {_quote_value(kept)}{why and f' ({why})'}, not {_quote_value(lost)}"
        )

    def log_conflict(self, field: str, kept: str | None, lost: str, why: str) -> None:
        """`lost` waits in `merge_conflicts` for a person."""
        entry = {"field": field.partition("\0")[0] or WHOLE_FRONTMATTER}
        if kept is not None:
            entry["kept"] = kept[:_MAX_QUOTED_CHARACTERS]
        self.conflicts.append({**entry, "other": lost[:_MAX_QUOTED_CHARACTERS]})
        taken = (
            f"left out {_quote_value(lost)}"
            if kept is None
            else f"kept {_quote_value(kept)}, not {_quote_value(lost)}"
        )
        self.decisions.append(f"{entry['field']}: {taken} ({why}); {CONFLICTS_KEY} holds it")


def merge_blocks(
    base: FrontmatterBlock,
    newer: FrontmatterBlock,
    older: FrontmatterBlock,
    ledger: MergeLog,
    path: str = "",
) -> FrontmatterBlock:
    """The merged chunks, in base's order; keys that were added stand where their side put them."""
    merged: FrontmatterBlock = {}
    order = _merge_key_order(base, newer, older)
    of_status = "" if path else _status_winner(base, newer, older, ledger)
    for key in (
        _standard_order(order)
        if ledger.precedence.topic_winner and not path and _is_standard_order(base)
        else order
    ):
        trio = (base.get(key), newer.get(key), older.get(key))
        texts = [chunk.text if chunk else None for chunk in trio]
        text: str | None
        if key == TAIL_KEY:
            text = _merge_comments(*texts)
        elif (
            ledger.precedence.topic_winner in ("newer", "older") and f"{path}{key}" in _KEYS_OF_TEXT
        ):
            text = _take_side(ledger.precedence.topic_winner, f"{path}{key}", *texts, ledger=ledger)
        elif of_status and key in _KEYS_OF_STATUS:
            text = _take_side(of_status, key, *texts, ledger=ledger)
        else:
            text = _merge_field(f"{path}{key}", *texts, ledger=ledger)
        if text:
            merged[key] = FieldText(
                ""
                if key == TAIL_KEY
                else _merge_comments(*(chunk.comments_above if chunk else None for chunk in trio)),
                text,
            )
    return merged


def add_conflict_entries(
    block: FrontmatterBlock, conflicts: list[dict[str, str]]
) -> FrontmatterBlock:
    """The block with the entries added to its `merge_conflicts`."""
    held = block.get(CONFLICTS_KEY)
    value = yaml_subset.parse_value(CONFLICTS_KEY, held.text) if held else None
    lines = (
        [
            "".join(item.lines)
            if value and value.style == "block"
            else f"- {flow_text(item.node)}\n"
            for item in value.items
        ]
        if value
        else []
    )
    if held and (value is None or value.kind not in ("list", "empty")):
        conflicts = [{"field": CONFLICTS_KEY, "other": held.text.strip()}, *conflicts]
    known = {item.name for item in value.items} if value else set()
    for entry in conflicts:
        # Of two entries with one name the first stands for both.
        node: YamlNode = {**entry}
        name = yaml_subset.item_key(node)
        if name not in known:
            known.add(name)
            lines.append(f"- {flow_text(node)}\n")
    text = f"{CONFLICTS_KEY}:\n" + "".join(
        f"  {line}" for item in lines for line in split_lines(item)
    )
    tail = {TAIL_KEY: block[TAIL_KEY]} if TAIL_KEY in block else {}
    return {
        **{key: chunk for key, chunk in block.items() if key != TAIL_KEY},
        CONFLICTS_KEY: FieldText(held.comments_above if held else "", text),
        **tail,
    }


def _merge_key_order(
    base: FrontmatterBlock, newer: FrontmatterBlock, older: FrontmatterBlock
) -> list[str]:
    """Base's keys, and after each the keys that a side has added there. Where both have, these are sorted."""
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
        groups_here = [groups.get(key, []) for groups in added]
        order += (
            sorted([*groups_here[0], *groups_here[1]])
            if all(groups_here)
            else [*groups_here[0], *groups_here[1]]
        )
    return [key for key in order if key not in ("", TAIL_KEY)] + [TAIL_KEY]


def _is_standard_order(block: FrontmatterBlock) -> bool:
    """Whether nobody has put the keys into an order of their own."""
    keys = [key for key in block if key in KEY_ORDER]
    return keys == [key for key in KEY_ORDER if key in block]


def _standard_order(keys: list[str]) -> list[str]:
    """The keys of a topic that clones began apart, in an order that does not depend on who merges first."""
    return [
        *(key for key in KEY_ORDER if key in keys),
        *sorted(key for key in keys if key not in KEY_ORDER and key != TAIL_KEY),
        TAIL_KEY,
    ]


def _merge_comments(base: str | None, newer: str | None, older: str | None) -> str:
    """Comment and blank lines; where both sides wrote some, both stand."""
    base, newer, older = base or "", newer or "", older or ""
    if newer in (older, base) or older == base:
        chosen = older if newer == base else newer
        other = newer if newer == base else older
        return chosen if chosen == other or yaml_subset.is_valid_comment(chosen) else other
    lines = split_lines(newer)
    both = "".join(
        [*lines, *(line for line in split_lines(older) if line not in lines or not line.strip())]
    )
    return next((text for text in (both, newer, older) if yaml_subset.is_valid_comment(text)), base)


class _FieldVersions(NamedTuple):
    """One key's text in the three notes, and what each text says; None where it is not known to be YAML."""

    path: str
    base: str | None
    newer: str | None
    older: str | None
    parsed: dict[str, ParsedValue | None]

    def is_equal(self, one: str | None, two: str | None) -> bool:
        """Whether two texts mean the same, comments included."""
        if one is None or two is None:
            return one == two
        meant, also = self.parsed[one], self.parsed[two]
        return (
            one == two
            if meant is None or also is None
            else _comparison_key(meant) == _comparison_key(also)
        )

    def display_text(self, text: str) -> str:
        """The value as a person reads it; a text that cannot be read is shown whole."""
        value = self.parsed[text]
        return (
            text.strip()
            if value is None
            else value.text
            if value.kind == "scalar"
            else text.partition(":")[2].strip()
        )


def _merge_field(
    path: str, base: str | None, newer: str | None, older: str | None, *, ledger: MergeLog
) -> str | None:
    """The text that stands for a key; None when the key goes."""
    if newer == older:
        return newer
    read = {
        text: yaml_subset.parse_value(path.rpartition(".")[2], text)
        for text in {base, newer, older}
        if text is not None
    }
    of = _FieldVersions(path, base, newer, older, read)
    if older == base or (newer != base and of.is_equal(older, base)):
        return _take_if_valid(of, newer, older, ledger)
    if newer == base or of.is_equal(newer, base):
        return _take_if_valid(of, older, newer, ledger)
    if newer is None or older is None:
        changed = newer if older is None else older
        assert changed is not None
        if read[changed] is not None:
            ledger.decisions.append(
                f"{path}: kept {_quote_value(of.display_text(changed))}: one side changed it, the other removed it"
            )
        return _take_if_valid(of, changed, None, ledger)
    if of.is_equal(newer, older):
        return max(newer, older)
    return _merge_both_changed(of, newer, older, ledger)


def _status_winner(
    base: FrontmatterBlock, newer: FrontmatterBlock, older: FrontmatterBlock, ledger: MergeLog
) -> str:
    """The side whose status stands where both sides changed it, each in its own way; empty elsewhere."""
    texts = [block["status"].text if "status" in block else None for block in (base, newer, older)]
    if len(set(texts)) < 3 or None in texts[1:]:
        return ""
    stands = _merge_field("status", *texts, ledger=MergeLog(ledger.precedence))
    return "newer" if stands == texts[1] else "older" if stands == texts[2] else ""


def _take_side(
    side: str,
    path: str,
    base: str | None,
    newer: str | None,
    older: str | None,
    *,
    ledger: MergeLog,
) -> str | None:
    """What one side says, where that can be read; nothing where it says nothing."""
    kept, lost = (newer, older) if side == "newer" else (older, newer)
    why = "status" if path in _KEYS_OF_STATUS else "later text"
    read = {
        text: yaml_subset.parse_value(path.rpartition(".")[2], text)
        for text in (kept, lost)
        if text is not None
    }
    if not all(read.values()) or (kept is None and path in _REQUIRED_KEYS):
        return _merge_field(path, base, newer, older, ledger=ledger)
    of = _FieldVersions(path, base, newer, older, read)
    if lost is not None and lost != base and not of.is_equal(kept, lost):
        if kept is None:
            ledger.decisions.append(
                f"{path}: left out {_quote_value(of.display_text(lost))} (it went with the {why})"
            )
        else:
            ledger.log_choice(
                path, of.display_text(kept), of.display_text(lost), f"it came with the {why}"
            )
    return kept


def _take_if_valid(
    of: _FieldVersions, changed: str | None, other: str | None, ledger: MergeLog
) -> str | None:
    """The value that one side alone changed, unless it is surely no YAML."""
    if (
        changed is None
        or of.parsed[changed] is not None
        or not ("\0" in of.path or is_invalid_yaml(changed))
    ):
        return changed
    ledger.log_conflict(
        of.path,
        None if other is None else of.display_text(other),
        changed.strip(),
        _UNREADABLE_REASON,
    )
    return other


def _merge_both_changed(of: _FieldVersions, newer: str, older: str, ledger: MergeLog) -> str | None:
    """Both changed it, each in its own way."""
    one, two, was = (
        of.parsed[newer],
        of.parsed[older],
        of.parsed[of.base] if of.base is not None else None,
    )
    if one is None or two is None:
        kept = newer if one else older if two else of.base if was else None
        for lost in sorted({newer, older} - {kept}):
            ledger.log_conflict(
                of.path,
                None if kept is None else of.display_text(kept),
                lost.strip(),
                _UNREADABLE_REASON,
            )
        return kept
    if {one.kind, two.kind} <= {"list", "empty"}:
        # Of a topic that many clones save, lists in order come out the same whoever merges first.
        return _merge_list(
            (was, one, two),
            newer,
            older,
            in_order=of.path in _SORTED_LIST_KEYS or bool(ledger.precedence.topic_winner),
        )
    if one.kind == two.kind == "map":
        return _merge_map(of.path, (was, one, two), newer, ledger)
    if of.path in IMMUTABLE_KEYS:
        kept = (
            of.base
            if of.base is not None and was is not None
            else _newer_text(newer, older, one, two, ledger.precedence)
        )
        for lost in sorted({newer, older} - {kept}):
            ledger.log_conflict(
                of.path,
                of.display_text(kept),
                of.display_text(lost),
                "it is not to change, and both sides changed it",
            )
        return kept
    if of.path in (*_LATEST_TIME_KEYS, *_EARLIEST_TIME_KEYS):
        chosen = max if of.path in _LATEST_TIME_KEYS else min
        return chosen((newer, older), key=lambda text: (time_sort_key(of.display_text(text)), text))
    kept = _newer_text(newer, older, one, two, ledger.precedence)
    if (
        ledger.precedence.is_session
        and of.path == "status"
        and {one.text, two.text} == {"open", "done"}
    ):
        kept = (
            newer if one.text == "done" else older
        )  # a session that was held stays held: see `normalize.amend_note`
    lost = older if kept == newer else newer
    time = ledger.precedence.newer_time if kept == newer else ledger.precedence.older_time
    ledger.log_choice(
        of.path, of.display_text(kept), of.display_text(lost), f"updated {time}" if time else ""
    )
    return kept


def _newer_text(
    newer: str, older: str, one: ParsedValue, two: ParsedValue, sides: SidePrecedence
) -> str:
    """The newer side's text; of two of one age the larger value."""
    return newer if sides.is_strictly_newer or (one.text, newer) >= (two.text, older) else older


def _merge_map(
    path: str,
    values: tuple[ParsedValue | None, ParsedValue, ParsedValue],
    newer: str,
    ledger: MergeLog,
) -> str:
    was, one, two = values
    before = was.entries if was and was.kind == "map" else {}
    merged = merge_blocks(before, one.entries, two.entries, ledger, f"{path}.")
    lines = [
        line for chunk in merged.values() for line in split_lines(chunk.comments_above + chunk.text)
    ]
    return split_lines(newer)[0] + "".join(
        line if line == "\n" else one.indent + line for line in lines
    )


def _merge_list(
    values: tuple[ParsedValue | None, ParsedValue, ParsedValue],
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
    form = "block" if commented else _pick_changed(was.style if was else "", *forms)
    after = _pick_changed(
        was.trailing_comment if was else "", one.trailing_comment, two.trailing_comment
    )
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
        _pick_item(was[name], newer[name], older[name])
        for name in was
        if name in newer and name in older
    ]
    both = [name for name in newer if name in older and name not in was]
    added = [
        [name for name in side if name not in was and name not in other]
        for side, other in ((newer, older), (older, newer))
    ]
    names = [
        *both,
        *(sorted(added[0] + added[1]) if added[0] and added[1] else added[0] + added[1]),
    ]
    new = [_pick_item(None, newer.get(name), older.get(name)) for name in names]
    return sorted([*kept, *new], key=lambda item: item.name) if in_order else [*kept, *new]


def _pick_item(was: ListItem | None, newer: ListItem | None, older: ListItem | None) -> ListItem:
    """The one form of an item that several hold; the newer's where both wrote it differently."""
    chosen = (
        newer if older is None or was is None or older == was else older if newer == was else newer
    )
    chosen = chosen or older
    assert chosen is not None
    return chosen


def _pick_changed(was: str, newer: str, older: str) -> str:
    return older if newer == was else newer


def _comparison_key(value: ParsedValue) -> tuple[str, str, str]:
    """What a value says; comments that stand within are part of it."""
    comments = "".join(line for item in value.items for line in item.lines if line.startswith("#"))
    return value.kind, value.text, comments


def _quote_value(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[:79]}…"' if len(line) > 80 else f'"{line}"'
