"""The structure of minutes in markdown: headings, paragraphs, nested lists and tables, with lines.

Code is left out; where a text has none in fences, what is indented is a pad's way of nesting.
Quotes are read like what surrounds them, and so are headings, lists and tables of HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from cortex.core.markdown.bound import minutes_part
from cortex.core.minutes import cues
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

_BULLET_RE = lazy_re(r"(?m)^([ \t]{0,12})(?:[•·▪◦‣–][ \t]|-(?=[^\W\d_])|\*(?=[^\W\d_][^*\n]*$))")
_NUMBER_RE = lazy_re(r"(?m)^(\d{1,2}\.)(?:-[ ]?|(?=[^\W\d_]))")  # `1.- Ana`, `1.Ana`
_TAG_RE = lazy_re(r"(?i)</?(?:span|u|b|i|em|strong|font)(?:[ ][^<>\n]{0,99})?>")
_RULED_HEADING_RE = lazy_re(r"(?m)^(\S[^\n]*)\n(?:~{5,}|`{8,}|\^{5,})[ \t]*$")
# As Pandoc writes them, and mentions that are links.
_SPAN_RE = lazy_re(r"\[((@)?[^\[\]\n]{1,60})\](?:\{[.#][^{}\n]{1,40}\}|(?(2)\([^()\n]*\)|(?!)))")
# `Actions:`, `**Actions**`, `ACTION ITEMS` or `TOP 2 ...` alone on a line: markdown would take it
# for more of the item above it.
_BARE_HEADING_RE = lazy_re(
    r"(?m)^(?=(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)[ ]?:?[ \t]{0,9}\r?$"
    r"|[^\W_][\w'’-]{0,30}(?:[ ][\w'’&/()-]{1,30}){0,3}[ ]?:[ \t]{0,9}\r?$"
    r"|(?:[A-ZÄÖÜÉÓ]{4,20}[ ]?){1,3}[ \t]{0,9}\r?$"
    r"|(?:TOP|Top|Tagesordnungspunkt|Agenda item|Point|Punto|Ponto|Punt)[ ]\d{1,2}[^\w\n])"
)
_FRONTMATTER_END_RE = lazy_re(r"\n(?:---|\+\+\+|\.\.\.)")
_TOML_KEY_RE = lazy_re(r"(?m)^(?:\+\+\+[ ])?(\w+)[ ]?=[ ]?")
_FRONTMATTER_KEY_RE = lazy_re(r"(?m)^(?=[^\W\d_])")
_TARGET_RE = lazy_re(r"(?m)^\.\. _([\w.-]{1,40}):")  # of a name in reStructuredText: `ana_`
_DEFINITION_RE = lazy_re(r"(?m)^([^\W\d_][\w -]{1,30})\r?\n:[ ]{1,3}(?=\S)")

# `:Date: ...` of reStructuredText, `:   Date: ...` of a list of definitions; fields in a fence.
_FIELD_MARK_RE = lazy_re(r"(?m)^[ \t]{0,8}:[ \t]{0,4}(?=[^\W\d_][^:\n]{0,30}:(?:[ \t]|$))")
_FENCED_FIELDS_RE = lazy_re(r"\A([^`]{0,200})```\w*\n((?:[^\W\d_][\w /-]{1,30}:.*\n){2,12})```")
_FIELD_RE = lazy_re(
    r"[*_]{0,3}[\d ]{0,4}([^\W\d_](?:[^:*_\n]|[:*_](?=in|r\b)){0,30})"
    r"[*_]{0,3}[ ]?::?[*_]{0,3}(?:[ \t]+|$)"
)
_HTML_TEXT_RE = lazy_re(r"(?i)<(h[1-6]|li|p)\b[^<>]{0,500}>")
_HTML_CELL_RE = lazy_re(r"(?i)<(t[hd])\b[^<>]{0,500}>")
_ARROW = r"(?:\U0001f449|➡\ufe0f?|[-=]?[→⇒►▶]|[-=]>)[ ]{0,3}"
_BEGINS_RE = lazy_re(rf"{_ARROW}|\[[ xX-]\][ ]|@?\w[\w.-]*(?:[ ]\w+)?:[ ]|@\w|[?!+][ ]")
_CONTINUES_RE = cues.regex_of("continues")
ARROW_RE, _BOX_RE = lazy_re(_ARROW), lazy_re(r"\[[ xX-]\](?:[ \t]+|$)")
_MIN_WRAPPED_CHARS = 55  # of a line that goes on in the next
_MAX_ELEMENT_CHARS = 3000
_PARSER = MarkdownIt("commonmark").enable("table").disable(["reference"])
_PAD_PARSER = MarkdownIt("commonmark").enable("table").disable(["reference", "code"])
for _parser in (_PARSER, _PAD_PARSER):
    _parser.core.ruler.enableOnly(["normalize", "block"])

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
    """The blocks of what `minutes_part` gives. Each key of a frontmatter is a heading of level 6.
    Nesting deeper than 20 is not read."""
    text = minutes_part(text).removeprefix("\ufeff")
    end = _FRONTMATTER_END_RE.search(text, 3, 8192) if text.startswith(("---", "+++")) else None
    front = end.start() + 1 if end else 0
    # A rule of tildes or backticks is a fence of code in markdown, and draws a heading in
    # reStructuredText.
    body = _FENCED_FIELDS_RE.sub(r"\1\n\2", _FIELD_MARK_RE.sub("", text[front:]))
    body = _NUMBER_RE.sub(r"\1 ", _TAG_RE.sub("", body))
    body = _RULED_HEADING_RE.sub(r"## \1\n", body)
    body = _SPAN_RE.sub(r"\1", _BULLET_RE.sub(r"\1- ", body)).replace("-&gt;", "->")
    if targets := "|".join(sorted(map(re.escape, {*_TARGET_RE.findall(body)}))[:99]):
        body = re.sub(rf"(?<![\w.@-])({targets})_(?!\w)", r"@\1", body)
    body = _BARE_HEADING_RE.sub("###### ", body)
    body = _DEFINITION_RE.sub(r"\n\1: ", body) if "\n: " in body else body
    fields = text[:front] if text[:1] == "-" else _TOML_KEY_RE.sub(r"\1: ", text[:front])
    text = _FRONTMATTER_KEY_RE.sub("###### ", fields) + body
    parser = _PARSER if "```" in text or "~~~" in text else _PAD_PARSER
    return list(_iter_blocks(SyntaxTreeNode(parser.parse(text))))


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
            rows = [row for part in child.children for row in part.children]
            yield Block(0, [], [], list(map(_parse_row, rows)))
        elif child.type == "blockquote":
            yield from _iter_blocks(child)
        elif child.type == "html_block":
            yield from _html_blocks(child.content, first)


def _html_blocks(text: str, first: int) -> Iterator[Block]:
    """The headings, items, paragraphs and tables of a block of HTML, all on its first line."""
    rows = [list(_elements(row, _HTML_CELL_RE)) for row in re.split(r"(?i)<tr\b", text)]
    if cells := [([_html_text(cell) for _, cell in row], first) for row in rows if row]:
        yield Block(0, [], [], cells)
        return
    for tag, content in _elements(text, _HTML_TEXT_RE):
        line = (_html_text(content), first)
        if tag == "li":
            yield Block(0, [], [MinutesItem([line], [])], [])
        else:
            yield Block(int(tag[1]) if tag[1:] else 0, [line], [], [])


def _elements(text: str, opening: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Tag and content of the elements that begin so, each to the next end tag of its name."""
    low, end = text.lower() if len(text.lower()) == len(text) else text, 0
    while begun := opening.search(text, end):
        tag, end = begun[1].lower(), begun.end()
        stop = low.find(f"</{tag}>", end, end + _MAX_ELEMENT_CHARS)
        if stop >= 0:
            yield tag, text[end:stop]
            end = stop


def _html_text(text: str) -> str:
    """The text of an element, with `<br>` between its items and paragraphs."""
    text = re.sub(r"(?i)</(?:li|p|div)>", "<br>", text)
    text = re.sub(r"(?i)<(?!br\b)[^<>]*>", "", text)
    return html.unescape(re.sub(r"(?i)(?:<br ?/?>\s*)+", "<br>", text)).strip()


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
    """The lowercase key and the value of a line such as `Date: 2026-11-20`, or two empty texts."""
    match = _FIELD_RE.match(line)
    return (match[1].strip().casefold(), line[match.end() :].strip("\"'")) if match else ("", "")


def nest_fields(items: Sequence[MinutesItem]) -> list[MinutesItem]:
    """The items; one that only names an owner or a due date is nested in the item before it."""
    result: list[MinutesItem] = []
    for item in items:
        if result and not item.nested and field_of(item):
            result[-1].nested.append(item)
        else:
            result.append(item._replace(nested=[*item.nested]))
    return result


def field_of(item: MinutesItem) -> tuple[str, str] | None:
    """The kind and the value of an item such as `**Owner:** Ana`; None for any other."""
    key, value = parse_field(item.text())
    kinds = [kind for kind in cues.column_kinds(key) if kind in ("owner", "due")] if value else []
    return (kinds[0], value) if kinds else None


def units(lines: NumberedLines) -> list[tuple[str, int]]:
    """The lines of a paragraph, each with the lines in which it goes on."""
    result: list[tuple[list[str], int]] = []
    last = ""
    for text, line in lines:
        begins = _BEGINS_RE.match(text) or cues.LABEL_RE.match(text.strip())
        is_open = text[:1].islower() or last[-1:] not in ".!?:;"
        is_wrapped = len(last) >= _MIN_WRAPPED_CHARS and is_open
        label = cues.LABEL_RE.match(f"{last} ")
        is_labelled = label is not None and label.end() >= len(last)
        last = text.strip()
        if result and not begins and (is_wrapped or is_labelled or _CONTINUES_RE.match(text)):
            result[-1][0].append(last)
        else:
            result.append(([last], line))
    return [(" ".join(parts), line) for parts, line in result]


def iter_texts(item: MinutesItem) -> Iterator[str]:
    yield _BOX_RE.sub("", item.text(), count=1)
    for each in item.nested:
        yield from iter_texts(each)
