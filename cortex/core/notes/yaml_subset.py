"""What a chunk of frontmatter says: a text, a list, a map; or nothing that is known to be YAML.

Stricter than YAML where parsers differ, and never laxer: see `core/notes/yaml_lines.py`.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from cortex.core.notes.yaml_lines import TAIL_KEY, FieldText, parse_key, split_fields, split_lines
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

MAX_DEPTH = 6  # of nesting that is followed; `core/notes/frontmatter.py` reads 20 levels

YamlNode: TypeAlias = "str | list[YamlNode] | dict[str, YamlNode]"
FieldValue: TypeAlias = "str | bool | list[FieldValue] | dict[str, FieldValue] | None"
Fields: TypeAlias = dict[str, FieldValue]

# The only plain words that are no text.
NULL_WORDS = frozenset(["", "~", "null", "Null", "NULL"])
BOOL_WORDS = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip

# Forbidden in YAML, or a line end to it.
_FORBIDDEN_CHARACTER_PATTERN = (
    "[^\t\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_DOUBLE_QUOTED_PATTERN = (
    r'"((?:[^"\\\n]|\\[\\"/nrt0abefv ]|\\x[0-9a-fA-F]{2}|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*)"'
)
_ESCAPES = dict(zip("ntr0abefv", "\n\t\r\0\a\b\x1b\f\v", strict=True))


class ListItem(NamedTuple):
    """One item of a list."""

    name: str  # what it is known by: two items with one name are one item
    node: YamlNode
    # As it stands: between brackets one text; else its lines from the dash on, comments above.
    lines: tuple[str, ...]


class ParsedValue(NamedTuple):
    """What stands at a key. `text` is equal for two values that mean the same."""

    kind: str  # scalar, empty, list, map
    text: str
    style: str = ""  # of a list with items: flow or block
    indent: str = ""  # of the lines below the key
    items: tuple[ListItem, ...] = ()
    entries: dict[str, FieldText] = {}  # of a map  # noqa: RUF012  never changed
    trailing_comment: str = ""  # of a list or map: the comment after it, or the comment lines


_ARE_NO_TEXT = NULL_WORDS | BOOL_WORDS.keys()
_PLAIN_FIELD_RE = lazy_re(r"([A-Za-z_][\w-]{0,99}):(?: +(\S.*))?")
_PLAIN_ITEM_OF_FLOW_RE = lazy_re(
    r"""(?:"([^"\\]+)"|([^\W_](?:[\w ./+()'%=-]*[\w./+()'%=-])?))(?:, (?=\S)(?!\])|(?=\]\Z))"""
)
_QUOTED_RE = lazy_re(r"""\"([^"\\]+)"|'([^']+)'""")


class FrontmatterError(Exception):
    """Frontmatter that is no mapping of readable values. `line` counts from 1 in the block."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class _NotInSubset(Exception):
    """Not in the subset."""


def parse_value(key: str, text: str) -> ParsedValue | None:
    """The value of a chunk; None when it is not known to be YAML."""
    try:
        return _parse_value(key, text, 0)
    except _NotInSubset:
        return None


def parse_plain_fields(block: str) -> Fields | None:
    """The fields of a block of one-line texts, of lists and maps of these, and of empty values;
    None for any other, which `core/notes/frontmatter.py` reads, with a parser that takes 20 ms to
    import and is five times as slow."""
    if not block.replace("\n", "").isprintable():
        return None
    return _parse_plain_lines(block.removesuffix("\n").split("\n"))


def _parse_plain_lines(lines: list[str]) -> Fields | None:
    fields: Fields = {}
    at = 0
    while at < len(lines):
        field = _PLAIN_FIELD_RE.fullmatch(lines[at])
        if not field or field[1] in fields:
            return None
        begin = at = at + 1
        while at < len(lines) and lines[at][:1] in (" ", "-"):
            at += 1
        value = _parse_plain_value(field[2]) if field[2] else _parse_plain_block(lines[begin:at])
        if (value is None and (field[2] or begin < at)) or (field[2] and begin < at):
            return None
        fields[field[1]] = value
    return fields


def _parse_plain_block(lines: list[str]) -> FieldValue:
    """The list or the map in the lines below a key; None where a parser is needed."""
    indent = " " * (len(lines[0]) - len(lines[0].lstrip(" "))) if lines else ""
    own = [line.removeprefix(indent) for line in lines]
    if not own or any(line[:1] in ("", " ") for line in own) or lines != [indent + x for x in own]:
        return None
    if not own[0].startswith("- "):
        return _parse_plain_lines(own) if indent and not any(x[0] == "-" for x in own) else None
    values = [_parse_plain_text(line[2:].lstrip(" ")) for line in own if line.startswith("- ")]
    return [*values] if len(values) == len(own) and None not in values else None


def _parse_plain_value(text: str) -> FieldValue:
    """The text or the list that stands behind a key; None where a parser is needed."""
    if text[0] != "[":
        return _parse_plain_text(text)
    if text[-1] != "]":
        return None
    at, values = 1, list[FieldValue]()
    while at < len(text) - 1:
        item = _PLAIN_ITEM_OF_FLOW_RE.match(text, at)
        word = item and (item[1] or item[2])
        if not item or not word or (item[2] and word in _ARE_NO_TEXT):
            return None
        at = item.end()
        values.append(word)
    return values


def _parse_plain_text(text: str) -> str | None:
    """The text that a plain or quoted scalar of one line is; None where a parser is needed."""
    if text[:1] in ("", '"', "'"):
        quoted = _QUOTED_RE.fullmatch(text)
        return quoted and (quoted[1] or quoted[2])
    is_plain = (text[0].isalnum() or text[0] == "_") and text[-1] not in ": "
    return text if is_plain and not (": " in text or " #" in text or text in _ARE_NO_TEXT) else None


def is_valid_block(block: str) -> bool:
    """Whether a whole block is known to be YAML, key by key."""
    entries = split_fields(block)
    return entries is not None and all(
        is_valid_comment(chunk.text)
        if key == TAIL_KEY
        else is_valid_comment(chunk.comments_above) and parse_value(key, chunk.text)
        for key, chunk in entries.items()
    )


def is_valid_comment(text: str) -> bool:
    """Whether comment and blank lines are nothing but that to every parser."""
    return not _has_forbidden_character(text) and all(
        line.startswith("#") or not line.strip(" \n") for line in split_lines(text)
    )


def _parse_value(key: str, text: str, depth: int) -> ParsedValue:
    begin = _value_start(text)
    if "\0" in key or depth > MAX_DEPTH or begin < 0:
        raise _NotInSubset
    if _has_forbidden_character(text) or "\t" in text:
        raise _NotInSubset
    first, _, below = text[begin:].partition("\n")
    if not first or first.startswith("#"):
        if key in ("tag", "tags", "aliases") and f"{first}{below}".lstrip(" \n").startswith("#"):
            raise _NotInSubset  # `tags: #a` is a comment, and the reader says so
        return _parse_block_value(below, depth) if below.strip(" \n") else ParsedValue("empty", "")
    if first[0] in "|>":
        return _parse_block_scalar(first, below)
    if below.strip(" \n"):
        raise _NotInSubset  # it spans lines
    if first[0] in "[{":
        return _parse_flow_value(first, depth)
    return ParsedValue("scalar", str(_parse_inline(first, depth)))


def _value_start(text: str) -> int:
    """Where the value begins, after a key that every parser takes as such; -1 if there is none."""
    line = text.partition("\n")[0]
    key = parse_key(line)
    end = len(key) + 2 if line[:1] in ('"', "'") else len(key)
    rest = line[end:].lstrip(" ")
    sure = (
        bool(key)
        and len(key) <= 100
        and (key[0].isalnum() or key[0] == "_")
        and all(one.isalnum() or one in "_ ./+()-" for one in key)
    )
    return len(line) - len(rest[1:].lstrip(" ")) if sure and rest[:1] == ":" else -1


def _parse_inline(text: str, depth: int) -> YamlNode:
    """The scalar or flow node that is alone on the rest of its line."""
    if text[:1] in ("", *"\"'[{"):
        node, end = _parse_flow_node(f"{text}\0", 0, depth)
        if not _is_blank_or_comment(text[end:]):
            raise _NotInSubset
        return node
    return _check_plain_scalar(text.partition(" #")[0].rstrip(" "))


def _check_plain_scalar(text: str) -> str:
    """A plain scalar that no parser ends early or takes for structure."""
    sure = text[:1] not in ("", *" -?:,[]{}#&*!|>'\"%@`=<") or (
        text[:1] in ("-", "=", "<") and text[1:2].isalnum()
    )
    if not sure or text[0].isspace() or ": " in text or " #" in text or text[-1] == ":":
        raise _NotInSubset
    return text


def _is_blank_or_comment(text: str) -> bool:
    """Whether only blanks, a comment and a line end are left."""
    rest = text.removesuffix("\n").lstrip(" ")
    return "\n" not in rest and (not rest or (rest[0] == "#" and text[0] == " "))


def _has_forbidden_character(text: str) -> bool:
    """Whether a character stands in it that YAML forbids or takes for a line end."""
    if all(line.isprintable() for line in text.split("\n")):
        return False
    return bool(re.search(_FORBIDDEN_CHARACTER_PATTERN, text))


def _parse_block_scalar(first: str, below: str) -> ParsedValue:
    lines = split_lines(below)
    is_known = first.rstrip(" ") in ("|", "|-", "|+", ">", ">-", ">+")
    if not is_known or not lines or not lines[0].strip(" \n"):
        raise _NotInSubset
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip(" "))]
    if not indent or not all(line.startswith(indent) or line == "\n" for line in lines):
        raise _NotInSubset
    text = "".join(line[len(indent) :] or "\n" for line in lines).rstrip()
    return ParsedValue("scalar", f"{first.rstrip()}\n{text}")


def _parse_flow_node(text: str, at: int, depth: int) -> tuple[YamlNode, int]:
    """A flow node that begins at `at`, and where it ends; `text` ends with a NUL."""
    if depth > MAX_DEPTH:
        raise _NotInSubset
    opening = text[at]
    if opening in "\"'":
        return _parse_quoted(text, at)
    if opening == "[":
        return _parse_flow_sequence(text, at, depth)[:2]
    if opening == "{":
        return _parse_flow_mapping(text, at, depth)
    end = at
    while text[end] not in ",[]{}?\0" and not (
        text[end] == ":" and not (text[end + 1].isalnum() or text[end + 1] in "/_")
    ):
        if text[end] == "#" and text[end - 1] == " ":
            break
        end += 1
    plain = text[at:end].rstrip(" ")
    is_sign_of_word = opening in "./+(~$-" and text[at + 1].isalnum()
    if not (opening.isalnum() or opening == "_" or is_sign_of_word):
        raise _NotInSubset
    return plain, at + len(plain)


def _parse_quoted(text: str, at: int) -> tuple[str, int]:
    end = text.find(text[at], at + 1)
    if text[at] == "'":
        while text[end + 1 : end + 2] == "'" and end >= 0:
            end = text.find("'", end + 2)
    elif "\\" in text[at:end]:
        found = re.compile(_DOUBLE_QUOTED_PATTERN).match(text, at)
        if not found:
            raise _NotInSubset
        return re.sub(r"\\(?:x(..)|u(....)|(.))", _unescape, found[1]), found.end()
    if end < 0:
        raise _NotInSubset
    value = text[at + 1 : end]
    return value.replace("''", "'") if text[at] == "'" else value, end + 1


def _parse_flow_sequence(text: str, at: int, depth: int) -> tuple[list[YamlNode], int, list[str]]:
    """A list in brackets, where it ends, and its items as they stand."""
    nodes: list[YamlNode] = []
    raw: list[str] = []
    at = _skip_blanks(text, at + 1)
    while text[at] != "]":
        node, end = _parse_flow_node(text, at, depth + 1)
        nodes.append(node)
        raw.append(text[at:end])
        at = _skip_comma(text, end, "]")
    return nodes, at + 1, raw


def _parse_flow_mapping(text: str, at: int, depth: int) -> tuple[dict[str, YamlNode], int]:
    nodes: dict[str, YamlNode] = {}
    at = _skip_blanks(text, at + 1)
    while text[at] != "}":
        key, end = _parse_flow_node(text, at, MAX_DEPTH)
        if not isinstance(key, str) or key in nodes or end - at > 100:
            raise _NotInSubset
        if text[end] != ":" or text[end + 1] != " ":
            raise _NotInSubset
        nodes[key], at = _parse_flow_node(text, _skip_blanks(text, end + 1), depth + 1)
        at = _skip_comma(text, at, "}")
    return nodes, at + 1


def _skip_comma(text: str, at: int, closing: str) -> int:
    """Past the comma after an item, or at the closing bracket."""
    at = _skip_blanks(text, at)
    if text[at] == ",":
        return _skip_blanks(text, at + 1)
    if text[at] != closing:
        raise _NotInSubset
    return at


def _skip_blanks(text: str, at: int) -> int:
    while text[at] == " ":
        at += 1
    return at


def _parse_flow_value(text: str, depth: int) -> ParsedValue:
    """A list or a map in brackets, on one line."""
    if text[0] == "{":
        return ParsedValue("scalar", repr(_parse_inline(text, depth)))
    nodes, end, raw = _parse_flow_sequence(f"{text}\0", 0, depth)
    if text.startswith("[[[[") or not _is_blank_or_comment(text[end:]):
        raise _NotInSubset
    if link := wikilink_text(nodes):
        return ParsedValue("scalar", link)
    items = tuple(
        ListItem(item_key(node), node, (one,)) for node, one in zip(nodes, raw, strict=True)
    )
    style, comment = "flow" if items else "", text[end:]
    return ParsedValue("list", repr(nodes), style, "", items, trailing_comment=comment)


def _parse_block_value(below: str, depth: int) -> ParsedValue:
    """A list or a map in the lines below its key."""
    lines = split_lines(below)
    first = next(
        (line for line in lines if line.strip(" \n") and not line.lstrip(" ").startswith("#")), ""
    )
    indent = first[: len(first) - len(first.lstrip(" "))]
    if first[len(indent) :].startswith("- "):
        return _parse_block_list(lines, indent, depth)
    if not indent or not all(line.startswith(indent) or line == "\n" for line in lines):
        raise _NotInSubset
    entries = split_fields("".join(line[len(indent) :] or "\n" for line in lines))
    if not entries:
        raise _NotInSubset
    texts = []
    for key, chunk in entries.items():
        if not is_valid_comment(chunk.text if key == TAIL_KEY else chunk.comments_above):
            raise _NotInSubset
        if key != TAIL_KEY:
            texts.append(f"{key}: {_parse_value(key, chunk.text, depth + 1).text}")
    return ParsedValue("map", "\n".join(sorted(texts)), "block", indent, entries=entries)


def _parse_block_list(lines: list[str], indent: str, depth: int) -> ParsedValue:
    items: list[ListItem] = []
    above: list[str] = []
    own: list[str] = []

    def close() -> None:
        if own:
            node = _parse_list_item(own, depth)
            items.append(ListItem(item_key(node), node, (*above_own, *own)))

    above_own: list[str] = []
    for line in lines:
        rest = line[len(indent) :]
        if not line.strip(" \n") or line.lstrip(" ").startswith("#"):
            above.append(line.lstrip(" "))
        elif line.startswith(indent) and rest.startswith("- "):
            close()
            above_own, above, own = above, [], [rest]
        elif own and not above and line.startswith(f"{indent}  "):
            own.append(rest)
        else:
            raise _NotInSubset
    close()
    nodes, after = repr([item.node for item in items]), "".join(above)
    return ParsedValue("list", nodes, "block", indent, tuple(items), trailing_comment=after)


def _parse_list_item(lines: list[str], depth: int) -> YamlNode:
    """The node of a list item: a scalar or flow node on the dash's line, or `key: value` lines."""
    text = "".join(line[2:] for line in lines).removesuffix("\n")
    if _value_start(text) < 0:
        if len(lines) > 1 or text[:1] in ("", " "):
            raise _NotInSubset
        return _parse_inline(text, depth)
    entries: dict[str, YamlNode] = {}
    for line in text.split("\n"):
        begin, key = _value_start(line), parse_key(line)
        if begin < 0 or begin == len(line) or key in entries or line[begin] in "|>[{#":
            raise _NotInSubset
        entries[key] = _parse_inline(line[begin:], depth)
    return entries


def item_key(node: YamlNode) -> str:
    """What an item is known by: a link's target, a relation's kind and target, a map's id, all."""
    if isinstance(node, str):
        return node[2:-2].partition("|")[0] if node.startswith("[[") else node
    if isinstance(node, list):
        return wikilink_text(node) or repr(node)
    if "to" in node and "kind" in node:
        return f"{item_key(node['kind'])} {item_key(node['to'])}"
    return item_key(node["id"]) if "id" in node else repr(sorted(node.items()))


def wikilink_text(node: object) -> str:
    """The link that an unquoted `[[Note]]`, a list in a list for YAML, stands for; else empty."""
    match node:
        case [[str(name)]]:
            return f"[[{name}]]"
    return ""


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPES.get(found[3], found[3])
