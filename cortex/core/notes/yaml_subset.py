"""What a chunk of frontmatter says: a text, a list, a map; or nothing that is known to be YAML.

Stricter than YAML where parsers differ, and never laxer: see `core/notes/yaml_lines.py`.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from cortex.core.notes.yaml_lines import TAIL, Chunk, chunks, key_of, lines_of

MAX_DEPTH = 6  # of nesting that is followed; `core/notes/frontmatter.py` reads 20 levels

Node: TypeAlias = "str | list[Node] | dict[str, Node]"

_ODD_CHARACTER = "[^\t\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"  # or a line end to YAML
_DOUBLE = (
    r'"((?:[^"\\\n]|\\[\\"/nrt0abefv ]|\\x[0-9a-fA-F]{2}|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*)"'
)
_ESCAPED = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "f": "\f",
    "v": "\v",
}


class Member(NamedTuple):
    """One item of a list."""

    name: str  # what it is known by: two items with one name are one item
    node: Node
    lines: tuple[
        str, ...
    ]  # as it stands: between brackets one text; else its lines from the dash on, comments above


class Value(NamedTuple):
    """What stands at a key. `text` is equal for two values that mean the same."""

    kind: str  # scalar, empty, list, map
    text: str
    form: str = ""  # of a list with items: flow or block
    indent: str = ""  # of the lines below the key
    items: tuple[Member, ...] = ()
    entries: dict[str, Chunk] = {}  # of a map  # noqa: RUF012  never changed
    after: str = ""  # of a list or map: the comment after it, or the comment lines


class _Odd(Exception):
    """Not in the subset."""


def read(key: str, text: str) -> Value | None:
    """The value of a chunk; None when it is not known to be YAML."""
    try:
        return _value(key, text, 0)
    except _Odd:
        return None


def sound_block(block: str) -> bool:
    """Whether a whole block is known to be YAML: key by key, or one map in braces."""
    entries = chunks(block)
    if entries is not None:
        return all(
            sound_comment(chunk.text)
            if key == TAIL
            else sound_comment(chunk.lead) and read(key, chunk.text)
            for key, chunk in entries.items()
        )
    try:
        return (
            block[:1] == "{"
            and not _odd(block)
            and _is_rest(block[_mapping(f"{block}\0", 0, 0)[1] :])
        )
    except _Odd:
        return False


def sound_comment(text: str) -> bool:
    """Whether comment and blank lines are nothing but that to every parser."""
    return not _odd(text) and all(
        line.startswith("#") or not line.strip(" \n") for line in lines_of(text)
    )


def flow_text(node: Node) -> str:
    """A node between brackets, in the style of the notes that Cortex writes."""
    from cortex.core.notes import yaml_writer  # noqa: PLC0415  few merges write a list anew

    if isinstance(node, str):
        return yaml_writer.scalar(node)
    if isinstance(node, list):
        return "[" + ", ".join(map(flow_text, node)) + "]"
    return "{" + ", ".join(f"{key}: {flow_text(value)}" for key, value in node.items()) + "}"


def _value(key: str, text: str, depth: int) -> Value:
    begin = _after_key(text)
    if "\0" in key or depth > MAX_DEPTH or begin < 0 or _odd(text) or "\t" in text:
        raise _Odd
    first, _, below = text[begin:].partition("\n")
    if not first or first.startswith("#"):
        if key in ("tag", "tags", "aliases") and f"{first}{below}".lstrip(" \n").startswith("#"):
            raise _Odd  # `tags: #a` is a comment, and the reader says so
        return _below(below, depth) if below.strip(" \n") else Value("empty", "")
    if first[0] in "|>":
        return _block_scalar(first, below)
    if first[0] in "[{":
        return _flow_value(f"{first}\n{below}", depth)
    if below.strip(" \n"):
        lines = [first, *(line.strip(" \n") for line in lines_of(below))]
        if "#" in text or not all(line.startswith(" ") for line in lines_of(below)):
            raise _Odd
        return Value("scalar", " ".join(_plain(line) for line in lines))
    return Value("scalar", _inline(first))


def _after_key(text: str) -> int:
    """Where the value begins after a key that every parser takes as such; below 0 when there is none."""
    line = text.partition("\n")[0]
    key = key_of(line)
    end = len(key) + 2 if line[:1] in ('"', "'") else len(key)
    rest = line[end:].lstrip(" ")
    sure = (
        bool(key)
        and len(key) <= 100
        and (key[0].isalnum() or key[0] == "_")
        and all(one.isalnum() or one in "_ ./+()-" for one in key)
    )
    return len(line) - len(rest[1:].lstrip(" ")) if sure and rest[:1] == ":" else -1


def _inline(text: str) -> str:
    """The text of a scalar that is alone on the rest of its line."""
    if text[0] in "\"'":
        value, end = _node(f"{text}\0", 0, 0)
        if not _is_rest(text[end:]):
            raise _Odd
        return str(value)
    return _plain(text.partition(" #")[0].rstrip(" "))


def _plain(text: str) -> str:
    """A plain scalar that no parser ends early or takes for structure."""
    sure = text[:1] not in ("", *" -?:,[]{}#&*!|>'\"%@`=<") or (
        text[:1] in ("-", "=", "<") and text[1:2].isalnum()
    )
    if not sure or text[0].isspace() or ": " in text or " #" in text or text[-1] == ":":
        raise _Odd
    return text


def _is_rest(text: str) -> bool:
    """Whether only blanks, a comment and a line end are left."""
    rest = text.removesuffix("\n").lstrip(" ")
    return "\n" not in rest and (not rest or (rest[0] == "#" and text[0] == " "))


def _odd(text: str) -> bool:
    """Whether a character stands in it that YAML forbids or takes for a line end."""
    return not all(line.isprintable() for line in text.split("\n")) and bool(
        re.search(_ODD_CHARACTER, text)
    )


def _block_scalar(first: str, below: str) -> Value:
    lines = lines_of(below)
    if (
        first.rstrip(" ") not in ("|", "|-", "|+", ">", ">-", ">+")
        or not lines
        or not lines[0].strip(" \n")
    ):
        raise _Odd
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip(" "))]
    if not indent or not all(line.startswith(indent) or line == "\n" for line in lines):
        raise _Odd
    return Value(
        "scalar",
        f"{first.rstrip()}\n" + "".join(line[len(indent) :] or "\n" for line in lines).rstrip(),
    )


def _node(text: str, at: int, depth: int) -> tuple[Node, int]:
    """A flow node that begins at `at`, and where it ends; `text` ends with a NUL."""
    if depth > MAX_DEPTH:
        raise _Odd
    opening = text[at]
    if opening in "\"'":
        return _quoted(text, at)
    if opening == "[":
        return _sequence(text, at, depth)[:2]
    if opening == "{":
        return _mapping(text, at, depth)
    end = at
    while text[end] not in ",[]{}?\n\0" and not (
        text[end] == ":" and not (text[end + 1].isalnum() or text[end + 1] in "/_")
    ):
        if text[end] == "#" and text[end - 1] == " ":
            break
        end += 1
    plain = text[at:end].rstrip(" ")
    if not (
        opening.isalnum() or opening == "_" or (opening in "./+(~$-" and text[at + 1].isalnum())
    ):
        raise _Odd
    return plain, at + len(plain)


def _quoted(text: str, at: int) -> tuple[str, int]:
    end = text.find(text[at], at + 1)
    if text[at] == "'":
        while text[end + 1 : end + 2] == "'" and end >= 0:
            end = text.find("'", end + 2)
    elif "\\" in text[at:end]:
        found = re.compile(_DOUBLE).match(text, at)
        if not found:
            raise _Odd
        return re.sub(r"\\(?:x(..)|u(....)|(.))", _unescaped, found[1]), found.end()
    if end < 0 or "\n" in text[at:end]:
        raise _Odd
    value = text[at + 1 : end]
    return value.replace("''", "'") if text[at] == "'" else value, end + 1


def _sequence(text: str, at: int, depth: int) -> tuple[list[Node], int, list[str]]:
    """A list in brackets, where it ends, and its items as they stand."""
    nodes: list[Node] = []
    raw: list[str] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        node, end = _node(text, at, depth + 1)
        nodes.append(node)
        raw.append(text[at:end])
        at = _comma(text, end, "]")
    return nodes, at + 1, raw


def _mapping(text: str, at: int, depth: int) -> tuple[dict[str, Node], int]:
    nodes: dict[str, Node] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, end = _node(text, at, MAX_DEPTH)
        if (
            not isinstance(key, str)
            or key in nodes
            or text[end] != ":"
            or text[end + 1] not in " \n"
            or "\n" in text[at:end]
            or end - at > 100
        ):
            raise _Odd
        nodes[key], at = _node(text, _skip(text, end + 1), depth + 1)
        at = _comma(text, at, "}")
    return nodes, at + 1


def _comma(text: str, at: int, closing: str) -> int:
    """Past the comma after an item, or at the closing bracket."""
    at = _skip(text, at)
    if text[at] == ",":
        return _skip(text, at + 1)
    if text[at] != closing:
        raise _Odd
    return at


def _skip(text: str, at: int) -> int:
    while text[at] in " \n":
        # A line that begins in the first column is a key or an item to a parser that looks for one.
        if text[at] == "\n" and text[at + 1] not in " \0":
            raise _Odd
        at += 1
    return at


def _flow_value(text: str, depth: int) -> Value:
    """A list or a map in brackets, on one line or several."""
    if text[0] == "{":
        mapping, end = _mapping(f"{text}\0", 0, depth)
        if not _is_rest(text[end:]):
            raise _Odd
        return Value("scalar", repr(mapping))
    nodes, end, raw = _sequence(f"{text}\0", 0, depth)
    if text.startswith("[[[[") or not _is_rest(text[end:]):
        raise _Odd
    if link := _wikilink(nodes):
        return Value("scalar", link)
    items = tuple(
        Member(name_of(node), node, (" ".join(one.split("\n")),))
        for node, one in zip(nodes, raw, strict=True)
    )
    return Value(
        "list", repr(nodes), "flow" if items else "", "", items, after=text[end:].rstrip("\n")
    )


def _below(below: str, depth: int) -> Value:
    """A list or a map in the lines below its key."""
    lines = lines_of(below)
    first = next(
        (line for line in lines if line.strip(" \n") and not line.lstrip(" ").startswith("#")), ""
    )
    indent = first[: len(first) - len(first.lstrip(" "))]
    if first[len(indent) :].startswith("- "):
        return _block_list(lines, indent, depth)
    if not indent or not all(line.startswith(indent) or line == "\n" for line in lines):
        raise _Odd
    entries = chunks("".join(line[len(indent) :] or "\n" for line in lines))
    if not entries:
        raise _Odd
    texts = []
    for key, chunk in entries.items():
        if not sound_comment(chunk.text if key == TAIL else chunk.lead):
            raise _Odd
        if key != TAIL:
            texts.append(f"{key}: {_value(key, chunk.text, depth + 1).text}")
    return Value("map", "\n".join(sorted(texts)), "block", indent, entries=entries)


def _block_list(lines: list[str], indent: str, depth: int) -> Value:
    items: list[Member] = []
    above: list[str] = []
    own: list[str] = []

    def close() -> None:
        if own:
            node = _item_node(own, depth)
            items.append(Member(name_of(node), node, (*above_own, *own)))

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
            raise _Odd
    close()
    return Value(
        "list",
        repr([item.node for item in items]),
        "block",
        indent,
        tuple(items),
        after="".join(above),
    )


def _item_node(lines: list[str], depth: int) -> Node:
    """The node of a list item: a scalar or flow node on the dash's line, or `key: value` lines."""
    text = "".join(line[2:] for line in lines).removesuffix("\n")
    if _after_key(text) < 0:
        if len(lines) > 1 or text[:1] in ("", " "):
            raise _Odd
        if text[0] not in "[{":
            return _inline(text)
        node, end = _node(f"{text}\0", 0, depth)
        if not _is_rest(text[end:]):
            raise _Odd
        return node
    entries: dict[str, Node] = {}
    for line in text.split("\n"):
        begin, key = _after_key(line), key_of(line)
        if begin < 0 or begin == len(line) or key in entries or line[begin] in "|>[{#":
            raise _Odd
        entries[key] = _inline(line[begin:])
    return entries


def name_of(node: Node) -> str:
    """What an item is known by: a relation by its kind and its target, another map by its id, else all it says."""
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return _wikilink(node) or repr(node)
    if "to" in node and "kind" in node:
        return f"{name_of(node['kind'])} {name_of(node['to']).strip('[]').partition('|')[0]}"
    return name_of(node["id"]) if "id" in node else repr(sorted(node.items()))


def _wikilink(node: list[Node]) -> str:
    """`[[Note]]` without quotes is a list in a list for YAML and a link for the person who wrote it."""
    inner = node[0] if len(node) == 1 else ""
    return (
        f"[[{inner[0]}]]"
        if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], str)
        else ""
    )


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(found[3], found[3])
