"""Three-way merge of frontmatter by field: what each field's kind and name say about whose value stands.

Nothing here knows which side is ours: the sides come ordered, the newer first, so that swapping them changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.merge.times import moment
from cortex.core.notes import yaml_subset
from cortex.core.notes.invalid_yaml import is_broken
from cortex.core.notes.yaml_lines import TAIL, Chunk, lines_of
from cortex.core.notes.yaml_subset import Member, Node, Value, flow_text

CONFLICTS = "merge_conflicts"
WHOLE = "frontmatter"
IMMUTABLE = ("id", "type")
# What one event alone can say of a topic's record: it stands and falls with the text, as in `core/normalize/topic_upsert.py`.
_WITH_TEXT = ("type", "title", "branch", "confidence", "priority", "provenance.session")
_LATEST = ("updated", "modified")
_EARLIEST = ("created",)
_SORTED = ("provenance.events",)
_NEEDED = ("type", "title")
# What verbs write beside a status (`edit.set_aside`): where both sides changed that, these are of the side whose status stands.
_WITH_STATUS = (
    "status_before", "archived_at", "archived_because", "deleted_at", "superseded_by", "superseded_at", "superseded_because", "done_at",
)  # fmt: skip
# As `record.compose` writes them; its module would cost the driver an import. A test compares the two.
ORDER = (
    "id", "type", "title", "status", "scope", "project", "branch", "topic", "tags", "aliases", "owner", "due", "created", "updated",
    "confidence", "priority", "pinned", "supersedes", "superseded_by", "relations", "provenance",
)  # fmt: skip
_UNREADABLE = "not YAML that can be merged"
_LONGEST = 4000  # characters of a value that a conflict quotes

Block = dict[str, Chunk]


class Sides(NamedTuple):
    """What a choice between two values goes by."""

    newer: str  # `updated` of the newer side
    older: str
    strictly: bool  # the newer side is newer, and not only the first of two of one age
    session: bool  # the note is a session
    latest: str = ""  # newer, older: both sides saved the record's topic anew, and this one's event is the greater; both: it is one event


class Ledger:
    """What a merge has decided: lines for a person, and the entries of the `merge_conflicts` field."""

    def __init__(self, sides: Sides) -> None:
        self.sides = sides
        self.decisions: list[str] = []
        self.conflicts: list[dict[str, str]] = []

    def chose(self, field: str, kept: str, lost: str, why: str = "") -> None:
        self.decisions.append(
            f"{field}: kept {_quoted(kept)}{why and f' ({why})'}, not {_quoted(lost)}"
        )

    def conflict(self, field: str, kept: str | None, lost: str, why: str) -> None:
        """`lost` waits in `merge_conflicts` for a person."""
        entry = {"field": field.partition("\0")[0] or WHOLE}
        if kept is not None:
            entry["kept"] = kept[:_LONGEST]
        self.conflicts.append({**entry, "other": lost[:_LONGEST]})
        taken = (
            f"left out {_quoted(lost)}"
            if kept is None
            else f"kept {_quoted(kept)}, not {_quoted(lost)}"
        )
        self.decisions.append(f"{entry['field']}: {taken} ({why}); {CONFLICTS} holds it")


def merge_blocks(base: Block, newer: Block, older: Block, ledger: Ledger, path: str = "") -> Block:
    """The merged chunks, in base's order; keys that were added stand where their side put them."""
    merged: Block = {}
    order = _order(base, newer, older)
    of_status = "" if path else _whose_status(base, newer, older, ledger)
    for key in (
        _as_written(order) if ledger.sides.latest and not path and _is_as_written(base) else order
    ):
        trio = (base.get(key), newer.get(key), older.get(key))
        texts = [chunk.text if chunk else None for chunk in trio]
        text: str | None
        if key == TAIL:
            text = _trivia(*texts)
        elif ledger.sides.latest in ("newer", "older") and f"{path}{key}" in _WITH_TEXT:
            text = _of_side(ledger.sides.latest, f"{path}{key}", *texts, ledger=ledger)
        elif of_status and key in _WITH_STATUS:
            text = _of_side(of_status, key, *texts, ledger=ledger)
        else:
            text = _chosen(f"{path}{key}", *texts, ledger=ledger)
        if text:
            merged[key] = Chunk(
                "" if key == TAIL else _trivia(*(chunk.lead if chunk else None for chunk in trio)),
                text,
            )
    return merged


def with_conflicts(block: Block, conflicts: list[dict[str, str]]) -> Block:
    """The block with the entries added to its `merge_conflicts`."""
    held = block.get(CONFLICTS)
    value = yaml_subset.read(CONFLICTS, held.text) if held else None
    lines = (
        [
            "".join(item.lines)
            if value and value.form == "block"
            else f"- {flow_text(item.node)}\n"
            for item in value.items
        ]
        if value
        else []
    )
    if held and (value is None or value.kind not in ("list", "empty")):
        conflicts = [{"field": CONFLICTS, "other": held.text.strip()}, *conflicts]
    known = {item.name for item in value.items} if value else set()
    for entry in conflicts:
        # Of two entries with one name the first stands for both.
        node: Node = {**entry}
        name = yaml_subset.name_of(node)
        if name not in known:
            known.add(name)
            lines.append(f"- {flow_text(node)}\n")
    text = f"{CONFLICTS}:\n" + "".join(f"  {line}" for item in lines for line in lines_of(item))
    tail = {TAIL: block[TAIL]} if TAIL in block else {}
    return {
        **{key: chunk for key, chunk in block.items() if key != TAIL},
        CONFLICTS: Chunk(held.lead if held else "", text),
        **tail,
    }


def _order(base: Block, newer: Block, older: Block) -> list[str]:
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
    return [key for key in order if key not in ("", TAIL)] + [TAIL]


def _is_as_written(block: Block) -> bool:
    """Whether nobody has put the keys into an order of their own."""
    keys = [key for key in block if key in ORDER]
    return keys == [key for key in ORDER if key in block]


def _as_written(keys: list[str]) -> list[str]:
    """The keys of a topic that clones began apart, in an order that does not depend on who merges first."""
    return [
        *(key for key in ORDER if key in keys),
        *sorted(key for key in keys if key not in ORDER and key != TAIL),
        TAIL,
    ]


def _trivia(base: str | None, newer: str | None, older: str | None) -> str:
    """Comment and blank lines; where both sides wrote some, both stand."""
    base, newer, older = base or "", newer or "", older or ""
    if newer in (older, base) or older == base:
        chosen = older if newer == base else newer
        other = newer if newer == base else older
        return chosen if chosen == other or yaml_subset.sound_comment(chosen) else other
    lines = lines_of(newer)
    both = "".join(
        [*lines, *(line for line in lines_of(older) if line not in lines or not line.strip())]
    )
    return next((text for text in (both, newer, older) if yaml_subset.sound_comment(text)), base)


class _Versions(NamedTuple):
    """One key's text in the three notes, and what each text says; None where it is not known to be YAML."""

    path: str
    base: str | None
    newer: str | None
    older: str | None
    read: dict[str, Value | None]

    def same(self, one: str | None, two: str | None) -> bool:
        """Whether two texts mean the same, comments included."""
        if one is None or two is None:
            return one == two
        meant, also = self.read[one], self.read[two]
        return one == two if meant is None or also is None else _meaning(meant) == _meaning(also)

    def shown(self, text: str) -> str:
        """The value as a person reads it; a text that cannot be read is shown whole."""
        value = self.read[text]
        return (
            text.strip()
            if value is None
            else value.text
            if value.kind == "scalar"
            else text.partition(":")[2].strip()
        )


def _chosen(
    path: str, base: str | None, newer: str | None, older: str | None, *, ledger: Ledger
) -> str | None:
    """The text that stands for a key; None when the key goes."""
    if newer == older:
        return newer
    read = {
        text: yaml_subset.read(path.rpartition(".")[2], text)
        for text in {base, newer, older}
        if text is not None
    }
    of = _Versions(path, base, newer, older, read)
    if older == base or (newer != base and of.same(older, base)):
        return _sound(of, newer, older, ledger)
    if newer == base or of.same(newer, base):
        return _sound(of, older, newer, ledger)
    if newer is None or older is None:
        changed = newer if older is None else older
        assert changed is not None
        if read[changed] is not None:
            ledger.decisions.append(
                f"{path}: kept {_quoted(of.shown(changed))}: one side changed it, the other removed it"
            )
        return _sound(of, changed, None, ledger)
    if of.same(newer, older):
        return max(newer, older)
    return _both(of, newer, older, ledger)


def _whose_status(base: Block, newer: Block, older: Block, ledger: Ledger) -> str:
    """The side whose status stands where both sides changed it, each in its own way; empty elsewhere."""
    texts = [block["status"].text if "status" in block else None for block in (base, newer, older)]
    if len(set(texts)) < 3 or None in texts[1:]:
        return ""
    stands = _chosen("status", *texts, ledger=Ledger(ledger.sides))
    return "newer" if stands == texts[1] else "older" if stands == texts[2] else ""


def _of_side(
    side: str, path: str, base: str | None, newer: str | None, older: str | None, *, ledger: Ledger
) -> str | None:
    """What one side says, where that can be read; nothing where it says nothing."""
    kept, lost = (newer, older) if side == "newer" else (older, newer)
    why = "status" if path in _WITH_STATUS else "later text"
    read = {
        text: yaml_subset.read(path.rpartition(".")[2], text)
        for text in (kept, lost)
        if text is not None
    }
    if not all(read.values()) or (kept is None and path in _NEEDED):
        return _chosen(path, base, newer, older, ledger=ledger)
    of = _Versions(path, base, newer, older, read)
    if lost is not None and lost != base and not of.same(kept, lost):
        if kept is None:
            ledger.decisions.append(
                f"{path}: left out {_quoted(of.shown(lost))} (it went with the {why})"
            )
        else:
            ledger.chose(path, of.shown(kept), of.shown(lost), f"it came with the {why}")
    return kept


def _sound(of: _Versions, changed: str | None, other: str | None, ledger: Ledger) -> str | None:
    """The value that one side alone changed, unless it is surely no YAML."""
    if (
        changed is None
        or of.read[changed] is not None
        or not ("\0" in of.path or is_broken(changed))
    ):
        return changed
    ledger.conflict(
        of.path, None if other is None else of.shown(other), changed.strip(), _UNREADABLE
    )
    return other


def _both(of: _Versions, newer: str, older: str, ledger: Ledger) -> str | None:
    """Both changed it, each in its own way."""
    one, two, was = (
        of.read[newer],
        of.read[older],
        of.read[of.base] if of.base is not None else None,
    )
    if one is None or two is None:
        kept = newer if one else older if two else of.base if was else None
        for lost in sorted({newer, older} - {kept}):
            ledger.conflict(
                of.path, None if kept is None else of.shown(kept), lost.strip(), _UNREADABLE
            )
        return kept
    if {one.kind, two.kind} <= {"list", "empty"}:
        # Of a topic that many clones save, lists in order come out the same whoever merges first.
        return _list(
            (was, one, two), newer, older, in_order=of.path in _SORTED or bool(ledger.sides.latest)
        )
    if one.kind == two.kind == "map":
        return _map(of.path, (was, one, two), newer, ledger)
    if of.path in IMMUTABLE:
        kept = (
            of.base
            if of.base is not None and was is not None
            else _later(newer, older, one, two, ledger.sides)
        )
        for lost in sorted({newer, older} - {kept}):
            ledger.conflict(
                of.path,
                of.shown(kept),
                of.shown(lost),
                "it is not to change, and both sides changed it",
            )
        return kept
    if of.path in (*_LATEST, *_EARLIEST):
        chosen = max if of.path in _LATEST else min
        return chosen((newer, older), key=lambda text: (moment(of.shown(text)), text))
    kept = _later(newer, older, one, two, ledger.sides)
    if ledger.sides.session and of.path == "status" and {one.text, two.text} == {"open", "done"}:
        kept = (
            newer if one.text == "done" else older
        )  # a session that was held stays held: see `normalize.amend`
    lost = older if kept == newer else newer
    time = ledger.sides.newer if kept == newer else ledger.sides.older
    ledger.chose(of.path, of.shown(kept), of.shown(lost), f"updated {time}" if time else "")
    return kept


def _later(newer: str, older: str, one: Value, two: Value, sides: Sides) -> str:
    """The newer side's text; of two of one age the larger value."""
    return newer if sides.strictly or (one.text, newer) >= (two.text, older) else older


def _map(path: str, values: tuple[Value | None, Value, Value], newer: str, ledger: Ledger) -> str:
    was, one, two = values
    before = was.entries if was and was.kind == "map" else {}
    merged = merge_blocks(before, one.entries, two.entries, ledger, f"{path}.")
    lines = [line for chunk in merged.values() for line in lines_of(chunk.lead + chunk.text)]
    return lines_of(newer)[0] + "".join(
        line if line == "\n" else one.indent + line for line in lines
    )


def _list(
    values: tuple[Value | None, Value, Value], newer: str, older: str, *, in_order: bool
) -> str:
    """A three-way set: what a side removed goes, what either added stays."""
    was, one, two = values
    before = was.items if was and was.kind == "list" else ()
    items = _set(before, one.items, two.items, in_order=in_order)
    for text, value in ((newer, one), (older, two)):
        if [item.lines for item in value.items] == [item.lines for item in items]:
            return text
    forms = [value.form or (two.form or one.form) for value in (one, two)]
    commented = any(line.startswith("#") for item in items for line in item.lines)
    form = "block" if commented else _three(was.form if was else "", *forms)
    after = _three(was.after if was else "", one.after, two.after)
    head = newer[: newer.index(":") + 1]
    if form == "flow" or not items:
        listed = ", ".join(
            item.lines[0]
            if len(item.lines) == 1 and not item.lines[0].startswith("- ")
            else flow_text(item.node)
            for item in items
        )
        return f"{head} [{listed}]{after if after.startswith(' ') else ''}\n"
    indent = one.indent if one.form == "block" else two.indent
    below = [
        line
        for item in items
        for line in (item.lines if item.lines[-1][-1] == "\n" else (f"- {flow_text(item.node)}\n",))
    ]
    if not after.startswith(" "):
        below += lines_of(after)
    return f"{head}\n" + "".join(indent + line for line in below)


def _set(
    before: tuple[Member, ...], one: tuple[Member, ...], two: tuple[Member, ...], *, in_order: bool
) -> list[Member]:
    was = {item.name: item for item in before}
    newer = {item.name: item for item in one}
    older = {item.name: item for item in two}
    kept = [
        _item(was[name], newer[name], older[name])
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
    new = [_item(None, newer.get(name), older.get(name)) for name in names]
    return sorted([*kept, *new], key=lambda item: item.name) if in_order else [*kept, *new]


def _item(was: Member | None, newer: Member | None, older: Member | None) -> Member:
    """The one form of an item that several hold; the newer's where both wrote it differently."""
    chosen = (
        newer if older is None or was is None or older == was else older if newer == was else newer
    )
    chosen = chosen or older
    assert chosen is not None
    return chosen


def _three(was: str, newer: str, older: str) -> str:
    return older if newer == was else newer


def _meaning(value: Value) -> tuple[str, str, str]:
    """What a value says; comments that stand within are part of it."""
    comments = "".join(line for item in value.items for line in item.lines if line.startswith("#"))
    return value.kind, value.text, comments


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[:79]}…"' if len(line) > 80 else f'"{line}"'
