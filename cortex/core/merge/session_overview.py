"""Overviews of a session that went on on two clones: one stands, with the title of its side, before
lines and fields are merged.

What a person has changed stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortex.core.merge.fields import FieldTexts, with_alias_renamed
from cortex.core.model.generated_text import (
    OVERVIEW_MARK_RE,
    MarkedText,
    find_marked_text,
    is_untitled,
)
from cortex.core.model.note_status import OVERVIEW_MARK
from cortex.core.notes import yaml_subset
from cortex.core.text.strings import short_hash

_BASE, _ONE, _TWO = range(3)


class OverviewVersion(NamedTuple):
    """A version of the note: its body, with line feeds, and its fields, None if unknown."""

    body: bytes
    fields: FieldTexts | None


def keep_latest_overview(versions: Sequence[OverviewVersion]) -> list[OverviewVersion]:
    """The three versions (base and both sides) with one overview and title: those of the side whose
    mark names the greater event, but for what a person changed. Both sides are alike to it."""
    lines = [version.body.split(b"\n") for version in versions]
    found = [find_marked_text(some, OVERVIEW_MARK_RE) for some in lines]
    sides = {side: held for side in (_ONE, _TWO) if (held := found[side])}
    if not sides:
        return list(versions)
    latest = max(sides, key=lambda side: sides[side].mark)
    titles = [_own_title(version, held) for version, held in zip(versions, found, strict=True)]
    titled = max(
        (side for side in sides if titles[side]), key=lambda side: sides[side].mark, default=latest
    )
    edited = [side for side, held in sides.items() if not held.is_untouched]
    if not edited:
        text = lines[latest][sides[latest].start : sides[latest].end + 1]
        lines = [_with_overview(some, held, text) for some, held in zip(lines, found, strict=True)]
    elif len(edited) == 1 and (other := _ONE + _TWO - edited[0]) in sides:
        # A person's text stands against the new one, which is made the base's.
        was = found[_BASE]
        if was is None or was.is_untouched:
            text = lines[_BASE][was.start : was.end + 1] if was else []
            lines[other] = _with_overview(lines[other], found[other], text)
    event, title = sides[latest].mark[0], sides[titled].mark[3]
    bodies = [b"\n".join(_with_mark(some, event, title) for some in each) for each in lines]
    heads = _with_one_title([version.fields for version in versions], titles, titled)
    return [OverviewVersion(*each) for each in zip(bodies, heads, strict=True)]


def _with_overview(lines: list[bytes], held: MarkedText | None, text: list[bytes]) -> list[bytes]:
    """The lines with another text in the place of an overview that nobody changed."""
    if held is None or not held.is_untouched:
        return lines
    below = held.end + 1
    if not text and lines[below : below + 1] == [b""]:
        below += 1
    return [*lines[: held.start], *text, *lines[below:]]


def _with_mark(line: bytes, event: bytes, title: bytes) -> bytes:
    if mark := OVERVIEW_MARK_RE.fullmatch(line):
        return b"%b%b %b %b %b -->" % (OVERVIEW_MARK.encode(), event, mark[2], mark[3], title)
    return line


def _own_title(version: OverviewVersion, held: MarkedText | None) -> str:
    """The title if it is one that Cortex gave; else empty."""
    if not version.fields or "title" not in version.fields:
        return ""
    value = yaml_subset.parse_value("title", version.fields["title"].text)
    title = value.text if value and value.kind == "scalar" else ""
    if held:
        return title if short_hash(title, 10).encode() == held.mark[3] else ""
    return title if is_untitled(title) else ""


def _with_one_title(
    heads: Sequence[FieldTexts | None], titles: Sequence[str], titled: int
) -> list[FieldTexts | None]:
    """The fields with the title and alias of the side `titled` in the place of other titles that
    Cortex gave; `titles` are those, empty for a person's."""
    wanted = heads[titled]
    if not (wanted and titles[titled]):
        return list(heads)
    other = heads[_ONE + _TWO - titled] or {}
    if not heads[_BASE] and not titles[_ONE + _TWO - titled] and "title" in other:
        # No base tells that a person has changed it.
        named = {**wanted, "title": wanted["title"]._replace(text=other["title"].text)}
        return [named if side == titled else head for side, head in enumerate(heads)]
    return [
        _with_title(head, own, wanted, titles[titled]) if head and own else head
        for head, own in zip(heads, titles, strict=True)
    ]


def _with_title(fields: FieldTexts, own: str, wanted: FieldTexts, title: str) -> FieldTexts:
    """The fields with the title of `wanted` in the place of their own, also as an alias."""
    changed = {**fields, "title": fields["title"]._replace(text=wanted["title"].text)}
    return with_alias_renamed(changed, own, title)
