"""The passages of a text: pieces of about a screen, which a search weighs one by one.

A long text is cut at headings, at messages and blank lines; what stands around a passage and says
what it is about, the headings above and what the person asked, goes with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cortex.core.model.turn_summary import ACTIVITY_MARK, MESSAGE_BREAK
from cortex.core.text.value import NamedTuple

PASSAGE_CHARS = 900
_WHOLE_CHARS = 1200  # a text that is no longer is one passage
_MIN_CHARS = 600  # of a passage before a heading or a message ends it
_LEAD_CHARS = 150  # of a heading or a short sentence, which stays with what follows it
_MAX_BLOCK_CHARS = 1350  # of a paragraph, which a longer one is cut to
_AROUND_CHARS = 300  # of what was asked
_HEADING_RE = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_CALLOUT_RE = re.compile(r"> ?\[!(user|answer)\][ \t]?", re.IGNORECASE)
_CUT_RE = re.compile(r"(?<=[.!?;:])\s|\n|(?<=[\u3002\uff01\uff1f])")
_SESSION_TITLE_RE = re.compile(r"\nTitle:\n\n- ([^\n]*)\s*$")
_RAW_HEADING = "raw content"  # of every event


class TextPassage(NamedTuple):
    """A piece of a text."""

    line: int  # of its first line, from 0
    text: str  # as it stands there, but for the marks of callouts
    around: str  # title of the session, headings above, and what the person asked


class _TextBlock(NamedTuple):
    """Lines without a blank one between, a heading, or a mark."""

    line: int
    text: str
    kind: str = ""  # heading, ask, break or nothing


def passages(text: str) -> list[TextPassage]:
    """The passages of a note's text, in their order; none of a text without letters."""
    title, text = split_session_title(text)
    found: list[TextPassage] = []
    headings: list[tuple[int, str]] = []  # level and text of those above
    asked = around = ""
    held: list[_TextBlock] = []
    size = 0
    is_short = len(text) <= _WHOLE_CHARS

    def flush() -> None:
        nonlocal size
        joined = "\n\n".join(block.text for block in held)
        if any(map(str.isalnum, joined)):
            found.append(TextPassage(held[0].line, joined, around))
        held.clear()
        size = 0

    for block in _iter_blocks(text):
        begins_part = block.kind in ("heading", "break")
        is_next = (block.kind == "ask" and size > 1) or (begins_part and size >= _MIN_CHARS)
        is_full = size >= _LEAD_CHARS and size + len(block.text) > PASSAGE_CHARS
        if held and not is_short and (is_next or is_full):
            flush()
        if not held:
            around = "\n".join([title, *(words for _, words in headings), asked]).strip()
        if block.kind == "heading":
            match = _HEADING_RE.match(block.text)
            assert match is not None
            level = len(match[1])
            headings = [one for one in headings if one[0] < level] + [(level, match[2])]
        elif block.kind == "ask":
            asked = block.text[:_AROUND_CHARS]
        if block.kind != "break":
            held.append(block)
            size += len(block.text) + 2
    if held:
        flush()
    return found


def split_session_title(text: str) -> tuple[str, str]:
    """The title of the session, which each of its turns ends with, and the text without it."""
    if ACTIVITY_MARK not in text:
        return "", text
    found = _SESSION_TITLE_RE.search(text, text.index(ACTIVITY_MARK))
    return (found[1], text[: found.start()]) if found else ("", text)


def _iter_blocks(text: str) -> Iterator[_TextBlock]:
    begin, lines = 0, list[str]()
    is_ask = False
    for number, raw in enumerate((*text.split("\n"), "")):
        line = raw
        callout = _CALLOUT_RE.match(line)
        is_heading = line.lstrip(" ").startswith("#") and _HEADING_RE.match(line)
        if lines and (callout or is_heading or not line.strip() or line == MESSAGE_BREAK):
            yield from _cut(_TextBlock(begin, "\n".join(lines), "ask" if is_ask else ""))
            lines, is_ask = [], False
        if callout:
            is_ask = callout[1].lower() == "user"
            line = line[callout.end() :]
        elif is_heading:
            if is_heading[2].lower() != _RAW_HEADING:
                yield _TextBlock(number, line, "heading")
            continue
        elif line in (MESSAGE_BREAK, ACTIVITY_MARK):
            yield _TextBlock(number, "", "break")
            continue
        if line.strip():
            begin = begin if lines else number
            lines.append(line.removeprefix("> "))


def _cut(block: _TextBlock) -> Iterator[_TextBlock]:
    """The block, in pieces if it is longer than a passage may be; cut behind sentences or lines."""
    rest, line = block.text, block.line
    while len(rest) > _MAX_BLOCK_CHARS:
        cuts = [one.end() for one in _CUT_RE.finditer(rest, _MIN_CHARS, PASSAGE_CHARS)]
        end = cuts[-1] if cuts else rest.rfind(" ", _MIN_CHARS, PASSAGE_CHARS) + 1 or PASSAGE_CHARS
        yield _TextBlock(line, rest[:end], block.kind)
        line += rest.count("\n", 0, end)
        rest = rest[end:]
    yield _TextBlock(line, rest, block.kind)
