"""Prepare a merge of a session's note that two clones changed: choose one summary, overview and title of
those that Cortex wrote, before lines and fields are merged.

What a person has edited is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.merge.fields import FieldTexts, value_of, with_alias_renamed
from cortex.core.model.generated_text import (
    OVERVIEW_MARK_RE,
    SUMMARY_MARK_RE,
    MarkedText,
    find_marked_text,
    is_untitled,
)
from cortex.core.model.note_status import OVERVIEW_MARK
from cortex.core.text.strings import short_hash
from cortex.core.text.value import NamedTuple

_BASE, _ONE, _TWO = range(3)


class SessionVersion(NamedTuple):
    """A version of the note: its body, with line feeds, and its fields, None if unknown."""

    body: bytes
    fields: FieldTexts | None


def keep_latest_texts(versions: Sequence[SessionVersion]) -> list[SessionVersion]:
    """The three versions (base and both sides) with one summary, overview and title: those of the
    side whose mark names the greater event, but for what a person changed. Both sides are alike to
    it."""
    lines = [version.body.split(b"\n") for version in versions]
    summaries = [find_marked_text(some, SUMMARY_MARK_RE) for some in lines]
    if all(marked and marked.is_untouched for marked in summaries[_ONE:]):
        lines = _with_latest(lines, summaries, by_size=True)
    found = [find_marked_text(some, OVERVIEW_MARK_RE) for some in lines]
    sides = {side: marked for side in (_ONE, _TWO) if (marked := found[side])}
    heads = [version.fields for version in versions]
    if sides:
        titles = [_own_title(fields, marked) for fields, marked in zip(heads, found, strict=True)]
        latest = max(sides, key=lambda side: sides[side].mark)
        titled = max(
            (side for side in sides if titles[side]),
            key=lambda side: sides[side].mark,
            default=latest,
        )
        event, title = sides[latest].mark[0], sides[titled].mark[3]
        lines = [
            [_with_mark(line, event, title) for line in some]
            for some in _with_one_overview(lines, found)
        ]
        heads = _with_one_title(heads, titles, titled)
    bodies = (b"\n".join(some) for some in lines)
    return [SessionVersion(*each) for each in zip(bodies, heads, strict=True)]


def _with_latest(
    lines: Sequence[list[bytes]], found: Sequence[MarkedText | None], *, by_size: bool = False
) -> list[list[bytes]]:
    """The versions' lines, each with the text of one side: that with the later mark, or with `by_size`
    the longer text."""
    of_sides = (
        (marked, some) for marked, some in zip(found[_ONE:], lines[_ONE:], strict=True) if marked
    )
    latest, own = max(of_sides, key=lambda one: (len(one[0].text) * by_size, one[0].mark))
    text = own[latest.start : latest.end + 1]
    return [_with_text(some, marked, text) for some, marked in zip(lines, found, strict=True)]


def _with_one_overview(
    lines: Sequence[list[bytes]], found: Sequence[MarkedText | None]
) -> list[list[bytes]]:
    """The versions' lines with one overview. If a person edited one side's, it wins: the other side gets
    the base's overview back, so that a merge of lines keeps the edit."""
    edited = [side for side in (_ONE, _TWO) if (marked := found[side]) and not marked.is_untouched]
    if not edited:
        return _with_latest(lines, found)
    changed, was = list(lines), found[_BASE]
    if len(edited) == 1 and (was is None or was.is_untouched):
        other = _ONE + _TWO - edited[0]
        text = lines[_BASE][was.start : was.end + 1] if was else []
        changed[other] = _with_text(lines[other], found[other], text)
    return changed


def _with_text(lines: list[bytes], marked: MarkedText | None, text: list[bytes]) -> list[bytes]:
    """The lines with another text in the place of one that nobody changed."""
    if marked is None or not marked.is_untouched:
        return lines
    below = marked.end + 1
    if not text and lines[below : below + 1] == [b""]:
        below += 1
    return [*lines[: marked.start], *text, *lines[below:]]


def _with_mark(line: bytes, event: bytes, title: bytes) -> bytes:
    if mark := OVERVIEW_MARK_RE.fullmatch(line):
        return b"%b%b %b %b %b -->" % (OVERVIEW_MARK.encode(), event, mark[2], mark[3], title)
    return line


def _own_title(fields: FieldTexts | None, marked: MarkedText | None) -> str:
    """The title if it is one that Cortex gave; else empty."""
    value = value_of(fields, "title")
    title = value.text if value and value.kind == "scalar" else ""
    is_own = short_hash(title, 10).encode() == marked.mark[3] if marked else is_untitled(title)
    return title if is_own else ""


def _with_one_title(
    heads: Sequence[FieldTexts | None], generated_titles: Sequence[str], winner: int
) -> list[FieldTexts | None]:
    """The fields of the versions, all with the title and alias of the side `winner` in place of
    titles that Cortex generated. Of `generated_titles` each version has one, empty if a person
    wrote its title."""
    winning, other_side = heads[winner], _ONE + _TWO - winner
    if not (winning and generated_titles[winner]):
        return list(heads)
    other = heads[other_side] or {}
    if not heads[_BASE] and not generated_titles[other_side] and "title" in other:
        # No base shows that a person has changed the title: theirs is taken.
        renamed = {**winning, "title": winning["title"]._replace(text=other["title"].text)}
        return [renamed if side == winner else head for side, head in enumerate(heads)]
    return [
        with_alias_renamed(
            {**head, "title": head["title"]._replace(text=winning["title"].text)},
            generated,
            generated_titles[winner],
        )
        if head and generated
        else head
        for head, generated in zip(heads, generated_titles, strict=True)
    ]
