"""The structure of minutes in markdown: headings, paragraphs, nested lists and tables, with lines.

Code is left out; quotes are read like what surrounds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

MAX_CHARS = 256 * 1024  # characters

_BULLET_RE = re.compile(r"(?m)^([ \t]{0,12})[•·▪◦‣–][ \t]")
# `Actions:`, `**Actions**`, `ACTION ITEMS` or `TOP 2 ...` alone on a line: markdown would take it
# for more of the item above it.
_BARE_HEADING_RE = re.compile(
    r"(?m)^(?=(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)[ ]?:?[ \t]{0,9}\r?$"
    r"|[^\W_][\w'’-]{0,30}(?:[ ][\w'’&/()-]{1,30}){0,3}[ ]?:[ \t]{0,9}\r?$"
    r"|(?:[A-ZÄÖÜÉÓ]{4,20}[ ]?){1,3}[ \t]{0,9}\r?$"
    r"|(?:TOP|Top|Tagesordnungspunkt|Agenda item|Point|Punto|Ponto|Punt)[ ]\d{1,2}[^\w\n])"
)
_FRONTMATTER_KEY_RE = re.compile(r"(?m)^(?=[^\W\d_])")
_DEFINITION_RE = re.compile(r"(?m)^([^\W\d_][\w -]{1,30})\r?\n:[ ]{1,3}(?=\S)")

_FIELD_RE = re.compile(r"[*_]{0,3}([^\W\d_][^:*_\n]{0,30})[*_]{0,3}[ ]?::?[*_]{0,3}(?:[ \t]+|$)")
_PARSER = MarkdownIt("commonmark").enable("table").disable(["reference"])
_PARSER.core.ruler.enableOnly(["normalize", "block"])

NumberedLines = list[tuple[str, int]]


class MinutesItem(NamedTuple):
    """A list item: its own lines with their numbers, and the items nested in it."""

    lines: NumberedLines
    nested: list[MinutesItem]

    def text(self) -> str:
        return " ".join(line.strip() for line, _ in self.lines)


class Block(NamedTuple):
    """A heading (level 1 to 6; a bare one is 6), a paragraph (level 0), a list (no lines), or a
    table, whose rows are lists of cells with the number of their line."""

    level: int
    lines: NumberedLines
    items: list[MinutesItem]
    rows: list[tuple[list[str], int]]


def parse_blocks(text: str) -> list[Block]:
    """The blocks of the first 256 KB (262,144 characters). Each key of a frontmatter is a heading
    of level 6. Nesting deeper than 20 is not read."""
    text = text[:MAX_CHARS].removeprefix("\ufeff")
    front = text.find("\n---", 3, 8192) + 1 if text.startswith("---") else 0
    body = _BARE_HEADING_RE.sub("###### ", _BULLET_RE.sub(r"\1- ", text[front:]))
    body = _DEFINITION_RE.sub(r"\n\1: ", body) if "\n: " in body else body
    text = _FRONTMATTER_KEY_RE.sub("###### ", text[:front]) + body
    return list(_iter_blocks(SyntaxTreeNode(_PARSER.parse(text))))


def _iter_blocks(node: SyntaxTreeNode) -> Iterator[Block]:
    for child in node.children:
        first = (child.map or (0, 0))[0] + 1
        if child.type in ("heading", "paragraph"):
            texts = child.children[0].content.split("\n")
            lines = [(line.rstrip(), number) for number, line in enumerate(texts, first)]
            # A rule drawn under several lines makes no heading of them, though markdown says so.
            plain = child.type == "paragraph" or (child.markup == "-" and len(lines) > 1)
            yield Block(0 if plain else int(child.tag[1]), lines, [], [])
        elif child.type == "ordered_list" and _is_heading(child):
            inline = child.children[0].children[0].children[0]
            yield Block(6, [(inline.content, first)], [], [])
        elif child.type in ("bullet_list", "ordered_list"):
            yield Block(0, [], [_parse_item(each) for each in child.children], [])
        elif child.type == "table":
            yield Block(
                0, [], [], [_parse_row(row) for part in child.children for row in part.children]
            )
        elif child.type == "blockquote":
            yield from _iter_blocks(child)


def _is_heading(node: SyntaxTreeNode) -> bool:
    """True of `3. Any other business`: one item, not the first, of one short line."""
    types = [each.type for each in node.walk()]
    if types[1:] != ["list_item", "paragraph", "inline"] or int(node.attrs.get("start", 1)) < 2:
        return False
    content = node.children[0].children[0].children[0].content
    return len(content) <= 60 and "\n" not in content and content[-1:] not in ".;)"


def _parse_item(node: SyntaxTreeNode) -> MinutesItem:
    item = MinutesItem([], [])
    for block in _iter_blocks(node):
        item.lines.extend(block.lines)
        item.nested.extend(block.items)
    return item


def _parse_row(node: SyntaxTreeNode) -> tuple[list[str], int]:
    cells = [cell.children[0].content.strip() if cell.children else "" for cell in node.children]
    return cells, (node.map or (0, 0))[0] + 1


def parse_field(line: str) -> tuple[str, str]:
    """The lowercase key and the value of a line such as `Date: 2026-11-20`, or two empty
    strings."""
    match = _FIELD_RE.match(line)
    return (match[1].strip().casefold(), line[match.end() :].strip("\"'")) if match else ("", "")
