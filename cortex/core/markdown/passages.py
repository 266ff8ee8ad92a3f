"""The passages of a text: pieces of about a screen, which a search weighs one by one.

A long text is cut at headings, at messages and blank lines; what stands around a passage and says
what it is about, the headings above and what the person asked, goes with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from cortex.core.markdown.bound import structured_part
from cortex.core.model.turn_summary import ACTIVITY_MARK, MESSAGE_BREAK
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

PASSAGE_CHARS = 900
_WHOLE_CHARS = 1200  # a text that is no longer is one passage
_MIN_CHARS = 600  # of a passage before a heading or a message ends it
_LEAD_CHARS = 150  # of a heading or a short sentence, which stays with what follows it
_MAX_BLOCK_CHARS = 1350  # of a paragraph, which a longer one is cut to
_AROUND_CHARS = 300  # of what was asked; of a title or heading
_HEADING_RE = lazy_re(r" {0,3}(#{1,6})[ \t]++((?:.*[^ \t#\n])?)[ \t#]*$")
_CALLOUT_RE = lazy_re(r"> ?\[!(user|answer)\][ \t]?", re.IGNORECASE)
# Up to the last place where a piece of a text may end.
_LAST_CUT_RE = lazy_re(r".*(?:(?<=[.!?;:])\s|\n|(?<=[\u3002\uff01\uff1f]))", re.DOTALL)
_SESSION_TITLE_RE = lazy_re(r"\nTitle:\n\n- ([^\n]*)\s*$")
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


@lru_cache(maxsize=1)  # the index asks for the documents of a note, then for its vectors' keys
def passages(text: str) -> tuple[TextPassage, ...]:
    """The passages of a note's text, in their order; none of a text without letters."""
    return tuple(iter_passages(text))


def iter_passages(text: str) -> Iterator[TextPassage]:
    """The same, one after the other."""
    title, text = split_session_title(text)
    headings: list[tuple[int, str]] = []  # level and text of those above
    prompt = around = ""
    blocks: list[_TextBlock] = []
    size = 0
    is_short = len(text) <= _WHOLE_CHARS

    part = structured_part(text)
    rest = _TextBlock(part.count("\n"), text[len(part) :])
    for block in chain(_iter_blocks(part), _cut(rest) if rest.text else ()):
        begins_part = block.kind in ("heading", "break")
        is_next = (block.kind == "ask" and size > 1) or (begins_part and size >= _MIN_CHARS)
        is_full = size >= _LEAD_CHARS and size + len(block.text) > PASSAGE_CHARS
        if blocks and not is_short and (is_next or is_full):
            yield from _join(blocks, around)
            blocks, size = [], 0
        if not blocks:
            around = "\n".join([title, *(words for _, words in headings), prompt]).strip()
        if block.kind == "heading":
            match = _HEADING_RE.match(block.text)
            assert match is not None
            level = len(match[1])
            headings = [one for one in headings if one[0] < level]
            headings.append((level, match[2][:_AROUND_CHARS]))
        elif block.kind == "ask":
            prompt = block.text[:_AROUND_CHARS]
        if block.kind != "break":
            blocks.append(block)
            size += len(block.text) + 2
    yield from _join(blocks, around)


def _join(blocks: list[_TextBlock], around: str) -> Iterator[TextPassage]:
    """The passage of these blocks, if it says anything."""
    joined = "\n\n".join(block.text for block in blocks)
    if any(map(str.isalnum, joined)):
        yield TextPassage(blocks[0].line, joined, around)


def split_session_title(text: str) -> tuple[str, str]:
    """The title of the session, which each of its turns ends with, and the text without it."""
    if ACTIVITY_MARK not in text:
        return "", text
    found = _SESSION_TITLE_RE.search(text, text.index(ACTIVITY_MARK))
    return (found[1][:_AROUND_CHARS], text[: found.start()]) if found else ("", text)


def _iter_blocks(text: str) -> Iterator[_TextBlock]:
    begin, lines = 0, list[str]()
    is_ask = False
    for number, raw in enumerate((*text.split("\n"), "")):
        line = raw
        first = line.lstrip(" ")[:1]
        callout = _CALLOUT_RE.match(line) if first == ">" else None
        is_heading = _HEADING_RE.match(line) if first == "#" else None
        is_blank = not first or line.isspace()
        if lines and (is_blank or callout or is_heading or line == MESSAGE_BREAK):
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
    text, line, start = block.text, block.line, 0
    while len(text) - start > _MAX_BLOCK_CHARS:
        first, last = start + _MIN_CHARS, start + PASSAGE_CHARS
        cut = _LAST_CUT_RE.match(text, first, last)
        end = cut.end() if cut else text.rfind(" ", first, last) + 1 or last
        yield _TextBlock(line, text[start:end], block.kind)
        line += text.count("\n", start, end)
        start = end
    yield _TextBlock(line, text[start:], block.kind)
