"""The block structure of a markdown note, line by line, as CommonMark tells blocks apart.

Quotes, lists, fenced and indented code, raw HTML and tables nest as in CommonMark; comments and
tasks are Obsidian's. The results are headings, tasks, link definitions, and the texts for `inline`.
"""

from __future__ import annotations

import re
from typing import Final

from cortex.core.markdown import inline
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple


class Heading(NamedTuple):
    """A heading of level 1 to 6; `text` is its markdown."""

    level: int
    text: str
    line: int


class Task(NamedTuple):
    """A list item that begins `[mark]`."""

    mark: str
    text: str
    line: int

    @property
    def done(self) -> bool:
        """True if the mark is a cross; other marks (`-`, `/`, `>`) are the owner's."""
        return self.mark in "xX"


_NO_LEAF, _PARAGRAPH, _TABLE, _FENCE, _HTML, _COMMENT = range(6)
_QUOTE: Final = 0  # on the stack of containers; an item is the column at which its content begins
# A line that begins otherwise is text.
_BLOCK_START_CHARS: Final = frozenset("#`~<%=-*_|:>+0123456789")
_MAX_NESTING: Final = 20  # containers within containers; what is nested deeper is text

_LIST_MARKER_RE = lazy_re(r"(?:[-+*]|(\d{1,9})[.)])(?= |\Z)")
_TASK_RE = lazy_re(r"\[([^\n])\](?:[ \t]+(.*)|\Z)")
_CONTAINER_PREFIX_RE = lazy_re(r"[ \t>*+\-0-9.)]*")
_DELIMITER_CELL_RE = lazy_re(r":?-+:?")
_CELL_SEPARATOR_RE = lazy_re(r"(?<!\\)\|")
_WIKILINK_PIPE_RE = lazy_re(r"(?<!\\)\|(?=[^\[\]]{1,255}\]\])")
_LINK_DEFINITION_RE = lazy_re(
    rf"(?!\[\^){inline.LINK_LABEL}:[ \t]*+\n?[ \t]*+"
    rf"(?:{inline.ANGLED_DESTINATION}|(?=\S){inline.BARE_DESTINATION})"
    rf"(?:(?:[ \t]++\n?|\n)[ \t]*+{inline.LINK_TITLE})?[ \t]*+(?:\n|\Z)",
    re.DOTALL,
)
_HTML_NAME_RE = lazy_re(r"<(/?)([A-Za-z][A-Za-z0-9]*+)(?=[\s>]|(/>)|\Z)")
_HTML_TAG_ALONE_RE = lazy_re(rf"{inline.HTML_TAG}\s*\Z")
_HTML_VERBATIM: Final = ("script", "pre", "style", "textarea")
_HTML_VERBATIM_ENDS: Final = ("</script>", "</pre>", "</style>", "</textarea>")
_HTML_BLOCK_NAMES: Final = (
    "address article aside base basefont blockquote body caption center col colgroup dd details"
    " dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6"
    " head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option"
    " p param search section summary table tbody td tfoot th thead title tr track ul"
)
_HTML_BLOCKS: Final = frozenset(_HTML_BLOCK_NAMES.split())


class BlockParser:
    """Open containers and leaf of the lines fed so far, and the complete headings, tasks, texts."""

    def __init__(self, first_line: int) -> None:
        self.headings: list[Heading] = []
        self.tasks: list[Task] = []
        self.definitions: dict[str, str] = {}
        self.texts: list[tuple[str, int]] = []
        self._open_leaf = _NO_LEAF
        self._line = first_line - 1
        self._containers: list[int] = []
        # Whether the innermost item began with its marker alone: a blank line ends it.
        self._empty_item = False
        self._paragraph: list[str] = []
        self._paragraph_line = 0
        self._fence_marker = ""
        self._html_ends: tuple[str, ...] = ()  # what ends the open HTML; nothing: a blank line does
        self._column_count = 0

    @property
    def in_fence(self) -> bool:
        """Whether the line last fed is within a fenced code block, its opening fence included."""
        return self._open_leaf == _FENCE

    def feed(self, line: str) -> None:
        """Parse the next line, which is given without its line end."""
        self._line += 1
        if "\t" in line:
            prefix = _CONTAINER_PREFIX_RE.match(line)
            if prefix and "\t" in prefix[0]:
                line = prefix[0].expandtabs(4) + line[prefix.end() :]
        rest, depth = self._match_containers(line) if self._containers else (line, 0)
        if self._open_leaf >= _FENCE:
            if depth == len(self._containers):
                self._feed_verbatim(rest)
                return
            self._close_to_depth(depth)
        text = rest.lstrip(" ")
        if not text:
            if self._open_leaf or depth < len(self._containers):
                self._close_to_depth(depth)
            return
        indent = len(rest) - len(text)
        if indent < 4 and text[0] in _BLOCK_START_CHARS:
            self._open_blocks(text, indent, depth)
        else:
            self._add_text_line(text, indent, depth)

    def end(self) -> None:
        """Complete what is still open: there are no more lines."""
        self._close_to_depth(0)

    def _match_containers(self, line: str) -> tuple[str, int]:
        """The rest of `line` inside the open containers that it continues, and their number."""
        depth = 0
        for column in self._containers:
            if column == _QUOTE:
                text = line.lstrip(" ")
                if text[:1] != ">" or len(line) - len(text) > 3:
                    break
                line = text[2:] if text[1:2] == " " else text[1:]
            elif self._empty_item and depth == len(self._containers) - 1 and not line.strip(" "):
                break
            elif line.startswith(" " * column):
                line = line[column:]
            elif line.strip(" "):
                break
            depth += 1
        self._empty_item = False
        return line, depth

    def _close_to_depth(self, depth: int) -> None:
        """Complete the open leaf, and close the containers deeper than `depth`."""
        if self._open_leaf == _PARAGRAPH:
            self._add_text(*self._take_paragraph())
        self._open_leaf = _NO_LEAF
        del self._containers[depth:]

    def _add_text(self, text: str, line: int) -> None:
        if inline.may_have_markup(text):
            self.texts.append((text, line))

    def _take_paragraph(self) -> tuple[str, int]:
        """The text of the open paragraph and its line; definitions at its head are kept apart."""
        text, line, start = "\n".join(self._paragraph), self._paragraph_line, 0
        if text[0] == "[" and "]:" in text:
            while found := _LINK_DEFINITION_RE.match(text, start):
                label, angled, bare = found.groups()
                if not (label := inline.normalize_label(label)):
                    break
                self.definitions.setdefault(label, bare if angled is None else angled)
                start = found.end()
        return text[start:], line + text.count("\n", 0, start)

    def _add_text_line(
        self, text: str, indent: int, depth: int, *, begins_item: bool = False
    ) -> None:
        """Take in a line that continues a paragraph or table, or begins a paragraph."""
        if self._open_leaf == _PARAGRAPH:  # a lazy continuation may lack its containers' marks
            self._paragraph.append(text)
        elif self._open_leaf == _TABLE and indent < 4 and depth == len(self._containers):
            self._add_table_row(text, self._line)
        else:
            if self._open_leaf or depth < len(self._containers):
                self._close_to_depth(depth)
            if indent < 4:
                self._open_leaf, self._paragraph_line = _PARAGRAPH, self._line
                self._paragraph = [self._task(text) if begins_item and text[0] == "[" else text]

    def _open_blocks(self, text: str, indent: int, depth: int) -> None:
        """Open the containers and the leaf that begin on this line, if any do."""
        begins_item = False
        while indent < 4 and text[0] in _BLOCK_START_CHARS and len(self._containers) < _MAX_NESTING:
            if text[0] == ">":
                self._close_to_depth(depth)
                self._containers.append(_QUOTE)
                rest, begins_item = text[2 if text[1:2] == " " else 1 :], False
            elif any(leaf(self, text, depth) for leaf in self._leaves.get(text[0], ())):
                return
            elif (item := self._open_list_item(text, indent, depth)) is not None:
                rest, begins_item = item, True
            else:
                break
            depth += 1
            text = rest.lstrip(" ")
            indent = len(rest) - len(text)
            if not text:
                return
        self._add_text_line(text, indent, depth, begins_item=begins_item)

    def _open_list_item(self, text: str, indent: int, depth: int) -> str | None:
        """Open the list item that begins here; return the text after its marker, or None."""
        marker = _LIST_MARKER_RE.match(text)
        if not marker:
            return None
        behind = text[marker.end() :]
        content = behind.lstrip(" ")
        if self._open_leaf == _PARAGRAPH and depth == len(self._containers):
            number = marker[1]
            if not content or (number and int(number) != 1):
                return None
        self._close_to_depth(depth)
        spaces = len(behind) - len(content)
        self._empty_item = not content
        if not content or spaces > 4:
            spaces = 1
        self._containers.append(indent + marker.end() + spaces)
        return behind[spaces:]

    def _task(self, text: str) -> str:
        if not (task := _TASK_RE.match(text)):
            return text
        self.tasks.append(Task(task[1], (task[2] or "").rstrip(), self._line))
        return task[2] or text

    def _feed_verbatim(self, rest: str) -> None:
        """Take in a line of code, HTML or comment, and see whether it is the last."""
        if self._open_leaf == _FENCE:
            mark = self._fence_marker
            if mark in rest:
                text = rest.strip(" \t")
                if not text.strip(mark[0]) and len(rest) - len(rest.lstrip(" ")) < 4:
                    self._open_leaf = _NO_LEAF
        elif self._open_leaf == _HTML:
            if _contains_any(rest, self._html_ends) if self._html_ends else not rest.strip():
                self._open_leaf = _NO_LEAF
        elif "%%" in rest:
            self._open_leaf = _NO_LEAF
            text = rest.partition("%%")[2].strip()
            if text:
                self._add_text_line(text, 0, len(self._containers))

    def _heading(self, text: str, depth: int) -> bool:
        body = text.lstrip("#")
        level = len(text) - len(body)
        if level > 6 or (body and body[0] not in " \t"):
            return False
        self._close_to_depth(depth)
        body = body.strip(" \t")
        bare = body.rstrip("#")
        if not bare or bare[-1] in " \t":
            body = bare.rstrip(" \t")
        self.headings.append(Heading(level, body, self._line))
        self._add_text(body, self._line)
        return True

    def _underline(self, text: str, depth: int) -> bool:
        if (
            self._open_leaf != _PARAGRAPH
            or depth < len(self._containers)
            or text.rstrip(" \t").strip(text[0])
        ):
            return False
        above, line = self._take_paragraph()
        self._open_leaf = _NO_LEAF
        if not above.strip():
            return False
        title = " ".join(part.strip() for part in above.split("\n"))
        self.headings.append(Heading(1 if text[0] == "=" else 2, title, line))
        self._add_text(above, line)
        return True

    def _rule(self, text: str, depth: int) -> bool:
        marks = text.replace(" ", "").replace("\t", "")
        if len(marks) < 3 or marks.strip(text[0]):
            return False
        self._close_to_depth(depth)
        return True

    def _fenced(self, text: str, depth: int) -> bool:
        info = text.lstrip(text[0])
        length = len(text) - len(info)
        if length < 3 or (text[0] == "`" and "`" in info):
            return False
        self._close_to_depth(depth)
        self._open_leaf, self._fence_marker = _FENCE, text[:length]
        return True

    def _html(self, text: str, depth: int) -> bool:
        ends: tuple[str, ...] = ()
        named = _HTML_NAME_RE.match(text)
        closing, name, closed = named.groups() if named else ("", "", "")
        if end := inline.raw_html_closing(text, 0):
            ends = (end,)
        elif name.lower() in _HTML_VERBATIM and not closing and not closed:
            ends = _HTML_VERBATIM_ENDS
        elif name.lower() in _HTML_BLOCKS:
            pass
        elif self._open_leaf in (_PARAGRAPH, _TABLE) or not _HTML_TAG_ALONE_RE.match(text):
            return False
        self._close_to_depth(depth)
        self._html_ends = ends
        if not _contains_any(text, ends):
            self._open_leaf = _HTML
        return True

    def _comment(self, text: str, depth: int) -> bool:
        """Open a block comment if the line begins with `%%` and does not end it; whether it did."""
        if not text.startswith("%%") or "%%" in text[2:]:
            return False
        self._close_to_depth(depth)
        self._open_leaf = _COMMENT
        return True

    def _table(self, text: str, depth: int) -> bool:
        """Make the last line of the paragraph a table's header if `text` is the delimiter row below
        it; whether it did."""
        if (
            self._open_leaf != _PARAGRAPH
            or depth < len(self._containers)
            or "|" not in self._paragraph[-1]
        ):
            return False
        delimiters = [cell.strip(" \t") for cell in text.split("|")]
        delimiters = delimiters[not delimiters[0] : len(delimiters) - (not delimiters[-1])]
        if len(text) < 2 or text.startswith("- ") or not delimiters:
            return False
        if not all(map(_DELIMITER_CELL_RE.fullmatch, delimiters)):
            return False
        if len(_split_cells(self._paragraph[-1])) != len(delimiters):
            return False
        header = self._paragraph.pop()
        if self._paragraph:
            self._add_text(*self._take_paragraph())
        self._open_leaf, self._column_count = _TABLE, len(delimiters)
        self._add_table_row(header, self._line - 1)
        return True

    def _add_table_row(self, text: str, line: int) -> None:
        if inline.may_have_markup(text):
            for cell in _split_cells(text)[: self._column_count]:
                self._add_text(cell.replace("\\|", "|"), line)

    # What may begin with a character, in the order in which it is tried.
    _leaves: Final = {
        "#": (_heading,), "`": (_fenced,), "~": (_fenced,), "<": (_html,), "%": (_comment,),
        "=": (_underline,), "-": (_table, _underline, _rule), "*": (_rule,), "_": (_rule,),
        "|": (_table,), ":": (_table,),
    }  # fmt: skip


def _contains_any(text: str, ends: tuple[str, ...]) -> bool:
    text = text.lower()
    return any(end in text for end in ends)


def _split_cells(row: str) -> list[str]:
    """The cells of a table row. The pipe of a wikilink may be escaped or not."""
    if "[[" in row:
        row = _WIKILINK_PIPE_RE.sub(r"\\|", row)
    cells = _CELL_SEPARATOR_RE.split(row.strip(" \t"))
    return cells[not cells[0] : len(cells) - (not cells[-1])]
