"""Three-way merge of a record: its frontmatter by field, its body by lines.

Pure, and of the standard library: the merge driver runs it under `python -I -S`. The bytes are the
same whichever side is ours; frontmatter stays YAML whenever one side's is; what loses is named.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from cortex.core.merge import fields
from cortex.core.merge.body import (
    MarkerStyle,
    MergedBody,
    marked_conflicts,
    merge_body,
)
from cortex.core.merge.fields import FieldTexts, IsYaml, MergeLog, pick_changed, time_sort_key
from cortex.core.model.note_status import (
    OVERVIEW_MARK,
    SUMMARY_MARK,
    UTF16_BOMS,
    is_named_after,
    split_heading,
)
from cortex.core.model.problem import InvalidInputError
from cortex.core.notes import yaml_subset
from cortex.core.notes.yaml_lines import BOM, NoteParts, split_fields, split_note
from cortex.core.text.value import NamedTuple

_MIXED_LINE_ENDS = b"?"
_TWO_NOTES = "git took {} and {} for one note; cortex sync parts them"


class MergedRecord(NamedTuple):
    """The outcome of a merge."""

    data: bytes
    is_clean: bool  # False: `merge_conflicts` in the frontmatter says what a person must decide
    decisions: tuple[str, ...]  # lines for a person, with the values that lost
    are_two_notes: bool = False  # the versions have two ids: nothing was merged, `data` is ours
    leaves_out_text: bool = False  # of a topic that both sides saved anew the text of one of them


_EXTRACTED = re.compile(
    r"(?m)^(?:  )?layer: "
)  # in the provenance of a record that rules found in a session


class _RecordSide(NamedTuple):
    """One version of the note, its line ends and byte order mark set aside."""

    parts: NoteParts
    frontmatter: str
    fields: FieldTexts | None  # None when lines do not tell where a key begins
    id: str
    type: str
    updated: str
    topic: str


_ThreeSides: TypeAlias = tuple[_RecordSide, _RecordSide, _RecordSide]  # base, newer, older


def merge_record(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    marker_size: int = 7,
    *,
    name: str = "",
    labels: tuple[bytes, bytes] | None = None,
    is_yaml: IsYaml = lambda _: False,
) -> MergedRecord:
    """The merged note; `base` is empty when both sides added it. Versions with different ids are
    different notes, which git took for one: they are never merged. `name` is the file's name
    without its ending: a note without an id is the one that the file is named after; `labels` are
    for conflict markers around what is ours and theirs, where they need not be the same in every
    clone; `is_yaml` reads what `yaml_subset` refuses, and a change that nothing reads is a conflict.
    `InvalidInputError` for what is no text with lines."""
    if theirs in (ours, base):
        return MergedRecord(ours, is_clean=True, decisions=())
    if ours == base:
        return MergedRecord(theirs, is_clean=True, decisions=())
    files = (base, ours, theirs)
    if any(b"\0" in data or data.startswith(UTF16_BOMS) for data in files):
        raise InvalidInputError(
            "a binary file, or one in UTF-16, cannot be merged by lines",
            "take one side: git checkout --ours or --theirs, then git add",
        )
    bom = BOM if pick_changed(*(data.startswith(BOM) for data in files)) else b""
    parts = [split_note(data.removeprefix(BOM)) for data in files]
    head_eol, heads = _unify_line_ends([b"".join(part[:3]) for part in parts])
    body_eol, bodies = _unify_line_ends([part.body for part in parts])
    was, one, two = (_read_side(head, body) for head, body in zip(heads, bodies, strict=True))
    if not was.id == one.id == two.id:
        if one.id == two.id != "" and was.id:
            # Base is another note, and both sides have put this one in its place.
            again = (b"", ours, theirs, marker_size)
            return merge_record(*again, name=name, labels=labels, is_yaml=is_yaml)
        if _are_two_notes(was.id, one.id, two.id, name, is_added=not base):
            names = sorted(side.id or "a note without an id" for side in (one, two))
            what = _TWO_NOTES.format(*names)
            return MergedRecord(ours, is_clean=False, decisions=(what,), are_two_notes=True)
    if any(fields.is_flat(side.fields) for side in (one, two)):
        # One clone has its records in the new form already.
        was, one, two = (
            side._replace(fields=side.fields and fields.flattened(side.fields))
            for side in (was, one, two)
        )
    newer, older = sorted(
        (one, two), key=lambda side: (time_sort_key(side.updated), side.parts), reverse=True
    )
    if labels and newer is not one:
        labels = labels[::-1]
    sides, eols = (was, newer, older), (head_eol, body_eol)
    merged = _merge_sides(sides, marker_size, labels, eols, is_yaml=is_yaml, is_added=not base)
    return merged._replace(data=bom + merged.data)


def _merge_sides(
    sides: _ThreeSides,
    marker_size: int,
    labels: tuple[bytes, bytes] | None,
    eols: tuple[bytes, bytes],
    *,
    is_yaml: IsYaml,
    is_added: bool,
) -> MergedRecord:
    """The merged note of a base and two sides. `labels` are for newer and older, `eols` for
    frontmatter and text."""
    sides = _with_one_text_of_session(sides)
    ledger = MergeLog(_precedence(*sides), is_yaml)
    was, newer, older = titled = _with_one_title(sides, ledger)
    style = MarkerStyle(*(labels or _marker_labels(newer, older)), marker_size)
    text = _merge_text(titled, ledger, style, is_added=is_added)
    if ledger.leaves_out_text:
        kept, lost = map(_describe_text, _kept_and_lost(sides, ledger))
        ledger.decisions.append(f"text: kept {kept}, not {lost}: both sides saved {newer.topic!r}")
    marked = _record_body_conflicts(text, was.parts.body, ledger)
    head = _merge_frontmatter(was, newer, older, ledger)
    data = b"".join(head).replace(b"\n", eols[0]) + text.data.replace(b"\n", eols[1])
    decisions = _with_history_hint(ledger.decisions, was.id, newer.id, older.id)
    is_clean = not ledger.conflicts and not marked
    return MergedRecord(data, is_clean, decisions, leaves_out_text=ledger.leaves_out_text)


def _precedence(was: _RecordSide, newer: _RecordSide, older: _RecordSide) -> fields.SidePrecedence:
    topic_winner = _topic_winner(was, newer, older)
    winner = older if topic_winner == "older" else newer
    return fields.SidePrecedence(
        newer.updated if newer.updated != was.updated else "",
        older.updated if older.updated != was.updated else "",
        time_sort_key(newer.updated)[:2] > time_sort_key(older.updated)[:2],
        is_session="session" in (newer.type, older.type),
        topic_winner=topic_winner,
        is_titled_by_heading=bool(topic_winner and _heading_of(winner)),
    )


def _with_one_text_of_session(
    sides: _ThreeSides,
) -> _ThreeSides:
    """Base, newer and older; of a session with one summary, overview and title of those that Cortex
    wrote."""
    bodies = [side.parts.body for side in sides[1:]]
    is_marked = any(
        mark.encode() in body for mark in (OVERVIEW_MARK, SUMMARY_MARK) for body in bodies
    )
    if not is_marked or "session" not in (sides[1].type, sides[2].type):
        return sides
    # Hashing costs 1 ms, and few sessions go on on two clones.
    from cortex.core.merge import session_text  # noqa: PLC0415

    versions = [session_text.SessionVersion(side.parts.body, side.fields) for side in sides]
    was, newer, older = (
        side._replace(parts=side.parts._replace(body=one.body), fields=one.fields)
        for side, one in zip(sides, session_text.keep_latest_texts(versions), strict=True)
    )
    return was, newer, older


def _merge_text(
    sides: _ThreeSides,
    ledger: MergeLog,
    style: MarkerStyle,
    *,
    is_added: bool,
) -> MergedBody:
    """The body: of a topic that both sides saved anew the later one, else merged by lines."""
    was, newer, older = (side.parts.body for side in sides)
    if ledger.precedence.topic_winner not in ("newer", "older"):
        return merge_body(was, newer, older, style, added=is_added)
    kept, lost = _kept_and_lost(sides, ledger)
    ledger.leaves_out_text = lost.parts.body not in (kept.parts.body, was)
    # What was found in agents' sessions nobody has said, and nobody need look at.
    is_said = not all(_EXTRACTED.search(one.frontmatter) for one in (kept, lost))
    if ledger.leaves_out_text and is_said:
        ledger.lost.append(fields.LOST_TEXT)
    return MergedBody(kept.parts.body, 0)


def _kept_and_lost(sides: _ThreeSides, ledger: MergeLog) -> tuple[_RecordSide, _RecordSide]:
    """The side whose text stands of a topic that both saved anew, and the other."""
    _, newer, older = sides
    return (newer, older) if ledger.precedence.topic_winner == "newer" else (older, newer)


def _with_one_title(sides: _ThreeSides, ledger: MergeLog) -> _ThreeSides:
    """Base, newer and older with one heading, which is a field like any other, and as an alias."""
    was, one, two = titles = [_heading_of(side) for side in sides]
    if not one or not two or one == two:
        return sides
    winner = ledger.precedence.topic_winner  # whose title goes with its text
    kept = two if winner == "older" or (winner != "newer" and one == was) else one
    if was not in (one, two):
        ledger.log_choice("title", kept, one if kept == two else two)
    base, newer, older = (
        _retitled(side, title, kept) if title else side
        for side, title in zip(sides, titles, strict=True)
    )
    return base, newer, older


def _heading_of(side: _RecordSide) -> str:
    return split_heading(side.parts.body.decode("utf-8", "surrogateescape"))[0]


def _retitled(side: _RecordSide, before: str, title: str) -> _RecordSide:
    body = side.parts.body.decode("utf-8", "surrogateescape")
    body = body.replace(f"# {before}\n", f"# {title}\n", 1)
    parts = side.parts._replace(body=body.encode("utf-8", "surrogateescape"))
    of_note = side.fields and fields.with_alias_renamed(side.fields, before, title)
    return side._replace(parts=parts, fields=of_note)


def _with_history_hint(decisions: list[str], *ids: str) -> tuple[str, ...]:
    """The decisions; those that left something out name the command that shows both versions."""
    id_ = pick_changed(*ids) if ids[0] in ids[1:] else next(filter(None, ids), "")
    hint = f"; cortex history {id_} shows both" if id_ else ""
    return tuple(
        line + (hint if ", not " in line or ": left out " in line else "") for line in decisions
    )


def _are_two_notes(was: str, one: str, two: str, name: str, *, is_added: bool) -> bool:
    """True if versions with these ids, of base and of both sides, are of two notes; not if one note
    has lost or got its id."""
    if one == two:
        return False
    if "" in (one, two) and (was or not is_added):
        # Without an id a note is known by its path: it is the note that this file is named after,
        # or a person's own.
        id_ = one or two
        is_named = is_named_after(name, id_)
        return not ((was == id_ and (is_named or not name)) or (not was and not is_named))
    return True


def _read_side(head: bytes, body: bytes) -> _RecordSide:
    parts = split_note(head)._replace(body=body)
    block = parts.frontmatter.decode("utf-8", "surrogateescape")
    by_key = split_fields(block)

    def text(key: str) -> str:
        value = fields.value_of(by_key, key)
        return value.text if value and value.kind == "scalar" else ""

    id_ = text("id")
    # Also where lines do not tell the keys apart (conflict markers, a map in braces) the id has to
    # be known.
    if not by_key and (match := re.search(r"(?m)^[{ ]{0,4}id:[ \t]+([^\s,}]+)", block)):
        id_ = match[1]
    updated = text("updated") or text("modified") or text("created")
    return _RecordSide(parts, block, by_key, id_, text("type"), updated, text("topic"))


def _topic_winner(was: _RecordSide, newer: _RecordSide, older: _RecordSide) -> str:
    """Whose text stands of a record with a topic that was saved anew on both sides: that of the
    greatest event, as in `core/normalize/topic_upsert.py`, which need not be the newer by
    `updated`; `both` if it is one event on both sides. Empty where that was not so."""
    if not (newer.topic and older.topic):
        return ""
    before, one, two = (_provenance_events(side) for side in (was, newer, older))
    if not (one - before and two - before):
        return ""
    # `datetime` costs 1 ms, and few merges are of a topic that both sides saved.
    from cortex.core.model.event import latest_event_id  # noqa: PLC0415

    first, second = latest_event_id(one), latest_event_id(two)
    if first == second:  # what came in late on both sides changed no text
        return "both"
    return "newer" if first > second else "older"


def _describe_text(side: _RecordSide) -> str:
    """`"Use SQLite" of 2026-11-20 16:45`."""
    from cortex.core.model.event import latest_event_id, time_of_id  # noqa: PLC0415

    value = fields.value_of(side.fields, "title")
    title = _heading_of(side) or (value.text if value else side.topic)
    time = time_of_id(latest_event_id(_provenance_events(side)))
    return f'"{title[:80]}" of {time[:10]} {time[11:16]}'


def _provenance_events(side: _RecordSide) -> set[str]:
    """The ids of the events that a note names as where it came from."""
    block = fields.value_of(side.fields, "provenance")
    entries = side.fields if fields.is_flat(side.fields) else block and block.entries
    events = fields.value_of(entries, "events")
    items = events.items if events else ()
    return {item.node.strip("[]") for item in items if isinstance(item.node, str)}


def _merge_frontmatter(
    was: _RecordSide, newer: _RecordSide, older: _RecordSide, ledger: MergeLog
) -> tuple[bytes, bytes, bytes]:
    """The opening fence, the block and the closing fence of the result."""
    with_one = [side for side in (newer, older) if side.parts.opening_fence]
    if not with_one:
        return b"", b"", b""
    if len(with_one) == 1:
        if was.parts.opening_fence:
            ledger.decisions.append("frontmatter: kept, though one side has none")
        block = with_one[0].frontmatter
    elif was.fields is None or newer.fields is None or older.fields is None:
        block = _choose_whole_block(was, newer, older, ledger)
    else:
        block = _join_fields(fields.merge_blocks(was.fields, newer.fields, older.fields, ledger))
        if _is_too_large(block):
            block = _choose_whole_block(was, newer, older, ledger)
    entries = split_fields(block)
    # Without the event: which texts lost to which depends on who merges first.
    named = [*ledger.conflicts, *sorted(ledger.lost)]
    if named and entries is not None:
        block = _join_fields(fields.add_conflict_entries(entries, named))
    parts = (side.parts for side in (was, with_one[0], with_one[-1]))
    opening, closing = pick_changed(*((one.opening_fence, one.closing_fence) for one in parts))
    return opening, block.encode("utf-8", "surrogateescape"), closing


def _choose_whole_block(
    was: _RecordSide, newer: _RecordSide, older: _RecordSide, ledger: MergeLog
) -> str:
    """One side's block, where lines cannot be merged: the changed one, or one that can be read."""
    if newer.frontmatter == older.frontmatter:
        return newer.frontmatter
    changed, other = (older, newer) if newer.frontmatter == was.frontmatter else (newer, older)
    both = was.frontmatter not in (newer.frontmatter, older.frontmatter)
    readable = [
        side
        for side in (changed, other)
        if yaml_subset.is_valid_block(side.frontmatter) or ledger.is_yaml(side.frontmatter)
    ]
    # Where both can be read, one that lines follow: it can name the conflict.
    can_name = (side for side in readable if both and side.fields is not None)
    kept = next(can_name, (readable or [other])[0])
    lost = other if kept is changed else changed
    if both or kept is other:
        why = "it cannot be merged by its lines, so one side's was taken whole"
        ledger.log_conflict(fields.WHOLE_FRONTMATTER, None, lost.frontmatter.strip(), why)
    else:
        ledger.decisions.append("frontmatter: taken whole from the side that changed it")
    return kept.frontmatter


def _is_too_large(block: str) -> bool:
    """True if `notes.read` would refuse the block: a union of two may exceed its limits."""
    data = block.encode("utf-8", "surrogateescape")
    is_read = split_note(b"---\n%b---\n" % data).frontmatter == data
    return not is_read or data.count(b"[") + data.count(b"{") > 2000


def _join_fields(block: FieldTexts) -> str:
    return "".join(chunk.comments_above + chunk.text for chunk in block.values())


def _record_body_conflicts(text: MergedBody, before: bytes, ledger: MergeLog) -> bool:
    """True if the body holds conflict markers that base does not have; they are logged."""
    if not (text.conflict_count or marked_conflicts(text.data) - marked_conflicts(before)):
        return False
    places = f"{text.conflict_count} place{'' if text.conflict_count == 1 else 's'}"
    why = "it holds conflict markers already"
    if text.conflict_count:
        why = f"both sides changed the same lines in {places}"
    ledger.decisions.append(f"body: {why}; choose the lines to keep and delete the markers")
    ledger.conflicts.append("body")
    return True


def _marker_labels(newer: _RecordSide, older: _RecordSide) -> tuple[bytes, bytes]:
    one, other = _side_label(newer), _side_label(older)
    if one == other:  # whose is whose cannot be told without a side; that they are two can
        one, other = one + b", one version", other + b", the other"
    return one, other


def _side_label(side: _RecordSide) -> bytes:
    """What a marker says of a side: when it was updated, and never whose it is."""
    known = side.updated.isascii() and side.updated.isprintable() and 0 < len(side.updated) <= 40
    return f"updated {side.updated if known else 'at an unknown time'}".encode()


def _unify_line_ends(texts: list[bytes]) -> tuple[bytes, list[bytes]]:
    """The line end of the result, and the three texts with line feeds alone; texts that mix line
    ends stay as they are, unless one side has tidied them."""
    was, one, two = (_line_end_of(data) for data in texts)
    one, two = one or two, two or one
    chosen = one if two in (one, was) else two if one == was else b"\n"
    if chosen in (_MIXED_LINE_ENDS, b"") or {was, one, two} <= {b"\n", b""}:
        return b"\n", texts
    return chosen, [data.replace(b"\r\n" if b"\n" in data else b"\r", b"\n") for data in texts]


def _line_end_of(data: bytes) -> bytes:
    """The one line end that a text uses; empty when it has none."""
    pairs, feeds, returns = data.count(b"\r\n"), data.count(b"\n"), data.count(b"\r")
    if not returns:
        return b"\n" if feeds else b""
    if pairs == feeds == returns:
        return b"\r\n"
    return _MIXED_LINE_ENDS if feeds else b"\r"
