"""What a note holds, found in one pass over its lines: headings, links, tags and tasks.

`blocks` tells text from code and comments, `inline` reads the text. Nothing is rendered.
"""

from __future__ import annotations

from cortex.core.markdown.blocks import BlockParser, Heading, Task
from cortex.core.markdown.bound import structured_part
from cortex.core.markdown.inline import InlineParser, Link
from cortex.core.text.value import NamedTuple


class MarkdownScan(NamedTuple):
    """Everything found in one note. A tag stands once, without its sign."""

    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    tags: tuple[str, ...]
    tasks: tuple[Task, ...]


def scan(body: str, first_line: int = 1) -> MarkdownScan:
    """Headings, links, tags and tasks of `body`, which begins on line `first_line` of its file; of
    more than `structured_part` gives none."""
    blocks = parse_blocks(body, first_line)
    inline = InlineParser(blocks.definitions)
    for text, line_number in blocks.texts:
        inline.read(text, line_number)
    tags = tuple(inline.tags.values())
    return MarkdownScan(tuple(blocks.headings), tuple(inline.links), tags, tuple(blocks.tasks))


def parse_blocks(body: str, first_line: int = 1) -> BlockParser:
    """The parsed blocks of `body`; `texts` are its lines outside of code, with their numbers."""
    blocks = BlockParser(first_line)
    for line in _split_lines(structured_part(body)):
        blocks.feed(line)
    blocks.end()
    return blocks


def title_of(scanned: MarkdownScan, path: str) -> str:
    """The first heading of level 1, else the name of the file."""
    titles = (one.text for one in scanned.headings if one.level == 1 and one.text)
    name = path.rpartition("/")[2]
    return next(titles, name.rpartition(".")[0] or name)


def conflict_marker_line(text: str) -> int | None:
    """The line on which an unresolved git conflict begins, or None. Fenced code is ignored."""
    if "<<<<<<< " not in text or "\n=======" not in text or "\n>>>>>>>" not in text:
        return None
    blocks = BlockParser(1)
    last_read = structured_part(text).count("\n") + 1
    begun: int | None = None
    parted = False
    for number, line in enumerate(_split_lines(text), 1):
        if begun is None:
            if number <= last_read:
                blocks.feed(line)
            if line.startswith("<<<<<<< ") and not blocks.in_fence:
                begun = number
        elif not parted:
            parted = line.startswith("=======")
        elif line.startswith(">>>>>>>"):
            return begun
    return None


def _split_lines(text: str) -> list[str]:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")
