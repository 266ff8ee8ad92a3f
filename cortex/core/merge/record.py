"""Three-way merge of a record: its frontmatter by field, its body by lines.

Pure, and of the standard library: the merge driver runs it under `python -I -S`. Whichever side is called ours, the
bytes that come out are the same; frontmatter stays YAML whenever one side's is; what loses is named.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeVar

from cortex.core.merge import fields
from cortex.core.merge.body import Style, Text, TextMerge, marker_lines, merge_text
from cortex.core.merge.fields import Block, Ledger, Sides
from cortex.core.merge.times import moment
from cortex.core.model.problem import Invalid
from cortex.core.model.status import UTF16_MARKS
from cortex.core.notes import yaml_subset
from cortex.core.notes.yaml_lines import MAX_BYTES, MAX_LINES, Parts, chunks, split

BOM = b"\xef\xbb\xbf"
_MIXED = b"?"
_SUMMARY = b"<!-- summary "
T = TypeVar("T")


class Merged(NamedTuple):
    """The outcome of a merge."""

    data: bytes
    clean: bool  # False: something waits for a person, and `merge_conflicts` in the frontmatter says what
    decisions: tuple[str, ...]  # lines for a person; where a value lost, it is named
    other: bytes | None = (
        None  # the versions are of two notes: `data` is the one whose path this is, this is the other
    )


class _Latest(NamedTuple):
    """Of two sides that both saved a topic anew, the one whose text stands."""

    side: str  # newer, older: by `updated`, which need not be the order of the events; both when their text is of one event
    event: str
    other: str  # the event whose text does not stand


class _Side(NamedTuple):
    """One version of the note, its line ends and byte order mark set aside."""

    parts: Parts
    block: str
    chunks: Block | None  # None when lines do not tell where a key begins
    id: str
    type: str
    updated: str
    topic: str


def merge_record(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    text_merge: TextMerge,
    marker_size: int = 7,
    *,
    name: str = "",
) -> Merged:
    """The merged note; `base` is empty when both sides added it. Versions with different ids are different notes, which git
    took for one: they are never merged. `name` is the file's name without its ending, which tells whose file it is.
    `Invalid` for what is no text with lines."""
    if theirs in (ours, base):
        return Merged(ours, clean=True, decisions=())
    if ours == base:
        return Merged(theirs, clean=True, decisions=())
    files = (base, ours, theirs)
    if any(b"\0" in data or data.startswith(UTF16_MARKS) for data in files):
        raise Invalid(
            "a binary file, or one in UTF-16, cannot be merged by lines",
            "take one side: git checkout --ours or --theirs, then git add",
        )
    bom = BOM if _three(*(data.startswith(BOM) for data in files)) else b""
    parts = [_split(data.removeprefix(BOM)) for data in files]
    head_eol, heads = _line_ends([b"".join(part[:3]) for part in parts])
    body_eol, bodies = _line_ends([part.body for part in parts])
    was, one, two = (_side(head, body) for head, body in zip(heads, bodies, strict=True))
    if not was.id == one.id == two.id:
        if (
            one.id == two.id != "" and was.id
        ):  # base is another note, and both sides have put this one in its place
            return merge_record(b"", ours, theirs, text_merge, marker_size, name=name)
        stays, goes = _two_notes(
            (was.id, one.id, two.id), name, is_added=not base, ours=ours, theirs=theirs
        )
        if goes is not None:
            what = f"{_named(stays)} and {_named(goes)} are two notes: the first stays here, the next cortex command brings back the second"
            return Merged(stays, clean=True, decisions=(what,), other=goes)
    newer, older = sorted(
        (one, two), key=lambda side: (moment(side.updated), side.parts), reverse=True
    )
    strictly = moment(newer.updated)[:2] > moment(older.updated)[:2]
    latest = _latest(was, newer, older)
    ledger = Ledger(
        Sides(
            newer.updated,
            older.updated,
            strictly,
            session="session" in (one.type, two.type),
            latest=latest.side if latest else "",
        )
    )

    labels = _label(newer), _label(older)
    if (
        labels[0] == labels[1]
    ):  # whose is whose cannot be told without a side; that they are two can
        labels = labels[0] + b", one version", labels[1] + b", the other"
    style = Style(*labels, marker_size)
    if latest and latest.side != "both":
        text = Text((newer if latest.side == "newer" else older).parts.body, 0)
        lost = (older if latest.side == "newer" else newer).parts.body
        if lost not in (text.data, was.parts.body):
            ledger.decisions.append(
                f"text: kept that of {latest.event}, not that of {latest.other}: both sides saved the topic {newer.topic!r}"
            )
    else:
        texts = (was.parts.body, newer.parts.body, older.parts.body)
        if ledger.sides.session and all(_SUMMARY in body for body in texts[1:]):
            from cortex.core.merge.session_summary import with_one_summary  # noqa: PLC0415  few merges are of a session that ended twice

            texts = with_one_summary(*texts)
        text = merge_text(*texts, text_merge, style, added=not base)
    marked = _marked(text, was.parts.body, ledger)
    head = _frontmatter(was, newer, older, ledger)
    data = b"".join(head).replace(b"\n", head_eol) + text.data.replace(b"\n", body_eol)
    ids = (was.id, newer.id, older.id)
    name = _three(*ids) if was.id in ids[1:] else was.id or newer.id or older.id
    history = f"; cortex history {name} shows both" if name else ""
    decisions = tuple(
        f"{line}{history if ', not ' in line or ': left out ' in line else ''}"
        for line in ledger.decisions
    )
    return Merged(bom + data, not ledger.conflicts and not marked, decisions)


def _two_notes(
    ids: tuple[str, str, str], name: str, *, is_added: bool, ours: bytes, theirs: bytes
) -> tuple[bytes, bytes | None]:
    """Of two versions that are not one note, that whose file this is and the other; None for the other where they are one
    note, which has lost or got its id. `ids` are those of base, ours and theirs, and differ."""
    was, one, two = ids
    if one == two:
        return ours, None
    if "" in (one, two) and (was or not is_added):
        id_ = one or two
        # Without an id a note is known by its path: it is the note that this file is named after, or a person's own.
        if (was == id_ and name in (id_, "")) or (not was and name != id_):
            return ours, None
    if was and one != two and was in (one, two):  # git renames a file only to a new note
        return (theirs, ours) if was == one else (ours, theirs)
    return (
        (ours, theirs)
        if _precedence(one, ours, name) < _precedence(two, theirs, name)
        else (theirs, ours)
    )


def _precedence(id_: str, data: bytes, name: str) -> tuple[bool, bool, str, bytes]:
    """Sorts first whose file it is by its name, whichever side it is on."""
    return id_ != name, not id_, id_, data


def _named(data: bytes) -> str:
    head = _split(data.removeprefix(BOM))
    return _side(b"".join(head[:3]), b"").id or "a note without an id"


def _side(head: bytes, body: bytes) -> _Side:
    parts = _split(head)._replace(body=body)
    block = parts.block.decode("utf-8", "surrogateescape")
    found = chunks(block)

    def text(key: str) -> str:
        value = yaml_subset.read(key, found[key].text) if found and key in found else None
        return value.text if value and value.kind == "scalar" else ""

    # Also where lines do not tell the keys apart (conflict markers, a map in braces) the id has to be known.
    id_ = (
        text("id")
        if found
        else next(
            (
                match[1]
                for match in re.finditer(r"^[{ ]{0,4}id:[ \t]+([^\s,}]+)", block, re.MULTILINE)
            ),
            "",
        )
    )
    return _Side(
        parts,
        block,
        found,
        id_,
        text("type"),
        text("updated") or text("modified") or text("created"),
        text("topic"),
    )


def _latest(was: _Side, newer: _Side, older: _Side) -> _Latest | None:
    """Whose text stands of a record with a topic that was saved anew on both sides: that of the greatest event, as in
    `core/normalize/topic_upsert.py`. None where that was not so."""
    if not (newer.topic and older.topic):
        return None
    before, one, two = (_events(side) for side in (was, newer, older))
    if not (one - before and two - before):
        return None
    from cortex.core.model.event import latest  # noqa: PLC0415  few merges are of a topic that two have saved

    first, second = latest(one), latest(two)
    if first == second:  # what came in late on both sides changed no text
        return _Latest("both", first, second)
    side, event, other = max(
        ("newer", first, second), ("older", second, first), key=lambda row: row[1]
    )
    return _Latest(side, event, other)


def _events(side: _Side) -> set[str]:
    """The ids of the events that a note names as where it came from."""
    held = side.chunks.get("provenance") if side.chunks else None
    block = yaml_subset.read("provenance", held.text) if held else None
    named = block.entries.get("events") if block and block.kind == "map" else None
    events = yaml_subset.read("events", named.text) if named else None
    return (
        {item.node for item in events.items if isinstance(item.node, str)}
        if events and events.kind == "list"
        else set()
    )


def _frontmatter(
    was: _Side, newer: _Side, older: _Side, ledger: Ledger
) -> tuple[bytes, bytes, bytes]:
    """The opening fence, the block and the closing fence of the result."""
    with_one = [side for side in (newer, older) if side.parts.opening]
    if not with_one:
        return b"", b"", b""
    if len(with_one) == 1:
        if was.parts.opening:
            ledger.decisions.append("frontmatter: kept, though one side has none")
        block = with_one[0].block
    elif was.chunks is None or newer.chunks is None or older.chunks is None:
        block = _whole(was, newer, older, ledger)
    else:
        block = _joined(fields.merge_blocks(was.chunks, newer.chunks, older.chunks, ledger))
        if _too_large(block):
            block = _whole(was, newer, older, ledger)
    entries = chunks(block)
    if ledger.conflicts and entries is not None:
        block = _joined(fields.with_conflicts(entries, ledger.conflicts))
    fences = [(side.parts.opening, side.parts.closing) for side in (was, with_one[0], with_one[-1])]
    opening, closing = _three(*fences)
    return opening, block.encode("utf-8", "surrogateescape"), closing


def _whole(was: _Side, newer: _Side, older: _Side, ledger: Ledger) -> str:
    """One side's block, where no merge by lines is possible: the one that changed; of two, one that can be read."""
    if newer.block == older.block:
        return newer.block
    changed, other = (older, newer) if newer.block == was.block else (newer, older)
    both = was.block not in (newer.block, older.block)
    readable = [side for side in (changed, other) if yaml_subset.sound_block(side.block)]
    # Where both can be read, one that lines follow: it can name the conflict.
    kept = next(
        (side for side in readable if both and side.chunks is not None), (readable or [other])[0]
    )
    lost = other if kept is changed else changed
    if both or kept is other:
        ledger.conflict(
            fields.WHOLE,
            None,
            lost.block.strip(),
            "it cannot be merged by its lines, so one side's was taken whole",
        )
    else:
        ledger.decisions.append("frontmatter: taken whole from the side that changed it")
    return kept.block


def _too_large(block: str) -> bool:
    """Whether readers would refuse the block: no union of two that they read may become one that they don't."""
    data = block.encode("utf-8", "surrogateescape")
    if len(data) > MAX_BYTES or data.count(b"\n") > MAX_LINES:
        from cortex.core.model.event import MOST_NAMED, NAMED  # noqa: PLC0415  hardly any note names so many events

        own = re.sub(NAMED, b"", data)
        if (
            len(own) > MAX_BYTES
            or own.count(b"\n") > MAX_LINES
            or len(data) > MAX_BYTES + MOST_NAMED
        ):
            return True
    return data.count(b"[") + data.count(b"{") > 2000


def _split(data: bytes) -> Parts:
    """The parts of a file: those that `split` finds, also where the lines that name its events are more than that reads."""
    found = split(data)
    if found.opening or not data.startswith(b"---") or data.count(b"\n") <= MAX_LINES:
        return found
    from cortex.core.model.event import MOST_NAMED, NAMED  # noqa: PLC0415  as above

    lines = data[: 2 * MAX_BYTES + MOST_NAMED].splitlines(keepends=True)
    named = re.compile(NAMED)
    found = split(b"".join(line for line in lines if not named.fullmatch(line)))
    if not found.opening:
        return split(data)
    closing = next(
        number for number, line in enumerate(lines[1:], 1) if line.rstrip(b" \t\r\n") == b"---"
    )
    start, end = len(lines[0]), sum(map(len, lines[:closing]))
    after = end + len(lines[closing])
    if after - start > MAX_BYTES + MOST_NAMED:
        return split(data)
    return Parts(data[:start], data[start:end], data[end:after], data[after:])


def _joined(block: Block) -> str:
    return "".join(chunk.lead + chunk.text for chunk in block.values())


def _marked(text: Text, before: bytes, ledger: Ledger) -> bool:
    """Whether conflict markers stand in the body that base does not have; then they are recorded."""
    known = set(marker_lines(before))
    if not text.conflicts and all(line in known for line in marker_lines(text.data)):
        return False
    places = f"{text.conflicts} place{'' if text.conflicts == 1 else 's'}"
    why = (
        f"both sides changed the same lines in {places}"
        if text.conflicts
        else "it holds conflict markers already"
    )
    ledger.decisions.append(f"body: {why}; choose the lines to keep and delete the markers")
    ledger.conflicts.append({"field": "body"})
    return True


def _label(side: _Side) -> bytes:
    """What a marker says of a side: when it was updated, and never whose it is."""
    known = side.updated.isascii() and side.updated.isprintable() and 0 < len(side.updated) <= 40
    return f"updated {side.updated if known else 'at an unknown time'}".encode()


def _line_ends(texts: list[bytes]) -> tuple[bytes, list[bytes]]:
    """The line end of the result, and the three texts with line feeds alone; texts that mix line ends stay as they are,
    unless one side has tidied them."""
    was, one, two = (_line_end(data) for data in texts)
    one, two = one or two, two or one
    chosen = one if two in (one, was) else two if one == was else b"\n"
    if chosen in (_MIXED, b"") or {was, one, two} <= {b"\n", b""}:
        return b"\n", texts
    return chosen, [
        data.replace(b"\r\n", b"\n") if b"\n" in data else data.replace(b"\r", b"\n")
        for data in texts
    ]


def _line_end(data: bytes) -> bytes:
    """The one line end that a text uses; empty when it has none."""
    pairs, feeds, returns = data.count(b"\r\n"), data.count(b"\n"), data.count(b"\r")
    if not returns:
        return b"\n" if feeds else b""
    if pairs == feeds == returns:
        return b"\r\n"
    return _MIXED if feeds else b"\r"


def _three(was: T, one: T, two: T) -> T:
    return two if one == was else one
