"""Edit JSON with comments, trailing commas and any indentation; nothing else is changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

BOM = "\ufeff"
_MAX_DEPTH = 100  # levels; no settings of people come near
_BLANKS = " \t\r\n"
_BLANKS_OR_COMMENT_RE = lazy_re(r"[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING_RE = lazy_re(r'"(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*"')
# A number, of which Python reads none of thousands of digits, or a word.
_SCALAR_RE = lazy_re(
    r"(?:-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{1,300})?(?:[eE][+-]?[0-9]{1,9})?|true|false|null)(?![-+.\w])"
)
# What stands behind a value on its line.
_TRAILING_COMMENTS_RE = lazy_re(r"(?:[ \t]*/\*[^\r\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")


class JsonEntry(NamedTuple):
    """A member of an object, or an element of an array; then its key is empty."""

    start: int  # of the key, else of the value
    key: str
    value: JsonNode
    comma: int  # where the comma behind it stands; -1 for none


class JsonNode(NamedTuple):
    """A value and where it stands: `text[start:end]`."""

    kind: str  # object, array or scalar
    start: int
    end: int
    entries: tuple[JsonEntry, ...]
    scalar: object


class Splice(NamedTuple):
    """Put `text` in the place of what stands between two positions."""

    start: int
    end: int
    text: str


class _JsonStyle(NamedTuple):
    """How a text is written."""

    newline: str
    indent: str  # one step: that of the first member that begins a line; else two blanks
    on_one_line: bool  # it has entries and no line end


def parse(text: str) -> JsonNode | None:
    """The value of a text, None without one. Raises `InvalidInputError` with line and column."""
    at = _skip_blanks_and_comments(text, len(BOM) if text.startswith(BOM) else 0)
    if at == len(text):
        return None
    node, at = _parse_value(text, at, 0)
    at = _skip_blanks_and_comments(text, at)
    if at < len(text):
        raise _syntax_error(text, at, "something follows the end")
    return node


def to_python(node: JsonNode) -> object:
    """The value of a node. Of a repeated key the last one counts, as for every host."""
    if node.kind == "object":
        return {entry.key: to_python(entry.value) for entry in node.entries}
    if node.kind == "array":
        return [to_python(entry.value) for entry in node.entries]
    return node.scalar


def find_member(node: JsonNode | None, *keys: str) -> JsonNode | None:
    """The node below these keys, from one object to the next; None if there is none."""
    for key in keys:
        if node is None or node.kind != "object":
            return None
        node = next((entry.value for entry in reversed(node.entries) if entry.key == key), None)
    return node


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Apply splices that do not overlap, all with positions in `text`."""
    out: list[str] = []
    at = 0
    for splice in sorted(splices, key=lambda one: (one.start, one.end)):
        out += (text[at : splice.start], splice.text)
        at = splice.end
    return "".join((*out, text[at:]))


def put_value(text: str, keys: Sequence[str], value: object) -> str:
    """The text with a value below these keys, in the place of the one there; what is missing on the
    way to it is made. Raises `InvalidInputError` where something else than an object is on the way."""
    node = parse(text)
    if node is None:
        newline = newline_of(text)
        lead = "" if not text or text.endswith(("\n", BOM)) else newline
        body = dumps_in_style(text, _nest(keys, value), "", inline=False)
        return f"{text}{lead}{body}{newline}"
    for depth, key in enumerate(keys):
        if node.kind != "object":
            place = f"its {'/'.join(keys[:depth])} are" if depth else "the settings are"
            raise InvalidInputError(f"{place} no object")
        if (member := find_member(node, key)) is None:
            return append_value(text, node, _nest(keys[depth + 1 :], value), key)
        node = member
    return replace_value(text, node, value)


def _nest(keys: Sequence[str], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


def append_value(text: str, container: JsonNode, value: object, key: str = "") -> str:
    """The text with a value at the end of an object or array, in the style of the text."""
    style = _style_of(text)
    inline = "\n" not in text[container.start : container.end] and (
        bool(container.entries) or style.on_one_line
    )
    first_on_line = (one for one in reversed(container.entries) if _begins_line(text, one))
    indents = (_line_indent(text, one.start) for one in first_on_line)
    inner = next(indents, _line_indent(text, container.start) + style.indent)
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
    body = name + dumps_in_style(text, value, inner, inline=inline)
    lead = " " if inline else style.newline + inner
    if not container.entries:
        at = container.start + 1
        closes = "\n" in text[at : container.end - 1]
        tail = "" if inline or closes else style.newline + _line_indent(text, container.start)
        return apply_splices(text, [Splice(at, at, body if inline else lead + body + tail)])
    last = container.entries[-1]
    after = last.value.end if last.comma < 0 else last.comma + 1
    comments = None if inline else _TRAILING_COMMENTS_RE.match(text, after)
    place = comments.end() if comments else after
    if last.comma >= 0:
        return apply_splices(text, [Splice(place, place, f"{lead}{body},")])
    return apply_splices(text, [Splice(after, after, ","), Splice(place, place, lead + body)])


def replace_value(text: str, node: JsonNode, value: object) -> str:
    """The text with another value in the place of a node, in the style of the one before."""
    inline = "\n" not in text[node.start : node.end]
    body = dumps_in_style(text, value, _line_indent(text, node.start), inline=inline)
    return text[: node.start] + body + text[node.end :]


def remove_entry(text: str, container: JsonNode, index: int) -> str:
    """The text without one entry and its comma; this undoes `append_value` exactly. The container of the
    only entry is left empty."""
    entry = container.entries[index]
    end, first = entry.value.end, container.start + 1
    start = entry.start
    while start > first and text[start - 1] in _BLANKS:
        start -= 1
    is_alone = len(container.entries) == 1 and entry.comma < 0 and start == first
    if is_alone and not text[end : container.end - 1].strip(_BLANKS):
        return text[:first] + text[container.end - 1 :]
    cuts = []
    stop = end
    if entry.comma >= 0:
        stop = entry.comma + 1
        if start == entry.start and index + 1 < len(container.entries):
            while text[stop] in " \t":
                stop += 1
        cuts.append(Splice(entry.comma, stop, ""))
    elif index:
        comma = container.entries[index - 1].comma
        cuts.append(Splice(comma, comma + 1, ""))
    before = container.entries[index - 1].value.end if index else first
    line_goes_on = text[stop:].lstrip(" \t")[:1] not in ("\n", "\r")
    if line_goes_on and _ends_in_line_comment(text[before:start]):
        start = entry.start  # or what follows would become part of the comment
    return apply_splices(text, [*cuts, Splice(start, end, "")])


def dumps_in_style(text: str, value: object, indent: str, *, inline: bool) -> str:
    """A value as JSON in the text's style, on one line or with all lines but the first indented."""
    if inline:
        return json.dumps(value, ensure_ascii=False)
    style = _style_of(text)
    return "".join(_iter_pretty(value, style.newline + indent, style.indent))


def _iter_pretty(value: object, newline: str, unit: str) -> Iterator[str]:
    """A value over several lines; a list of plain values stays on one."""
    inner = newline + unit
    if isinstance(value, dict) and value:
        for number, (key, item) in enumerate(value.items()):
            yield f"{',' if number else '{'}{inner}{json.dumps(key, ensure_ascii=False)}: "
            yield from _iter_pretty(item, inner, unit)
        yield f"{newline}}}"
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value):
            yield f"{',' if number else '['}{inner}"
            yield from _iter_pretty(item, inner, unit)
        yield f"{newline}]"
    else:
        yield json.dumps(value, ensure_ascii=False)


def newline_of(text: str) -> str:
    """The line end of the first line."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _parse_value(text: str, at: int, depth: int) -> tuple[JsonNode, int]:
    opening = text[at : at + 1]
    if opening in ("{", "["):
        if depth >= _MAX_DEPTH:
            raise _syntax_error(text, at, f"is nested more than {_MAX_DEPTH} deep")
        return _parse_container(text, at, depth)
    if opening == '"':
        value, end = _parse_string(text, at)
        return JsonNode("scalar", at, end, (), value), end
    if not (scalar := _SCALAR_RE.match(text, at)):
        raise _syntax_error(text, at, "no value begins here" if opening else "ends too early")
    return JsonNode("scalar", at, scalar.end(), (), json.loads(scalar[0])), scalar.end()


def _parse_container(text: str, start: int, depth: int) -> tuple[JsonNode, int]:
    kind, closing = ("object", "}") if text[start] == "{" else ("array", "]")
    entries: list[JsonEntry] = []
    at = _skip_blanks_and_comments(text, start + 1)
    while text[at : at + 1] != closing:
        begin, key = at, ""
        if kind == "object":
            if at == len(text):
                raise _syntax_error(text, at, "ends too early")
            if text[at] != '"':
                raise _syntax_error(text, at, "a name in quotes should stand here")
            key, at = _parse_string(text, at)
            at = _skip_blanks_and_comments(text, at)
            if text[at : at + 1] != ":":
                raise _syntax_error(text, at, "a colon should stand here")
            at = _skip_blanks_and_comments(text, at + 1)
        value, at = _parse_value(text, at, depth + 1)
        at = _skip_blanks_and_comments(text, at)
        comma = at if text[at : at + 1] == "," else -1
        entries.append(JsonEntry(begin, key, value, comma))
        if comma >= 0:
            at = _skip_blanks_and_comments(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _syntax_error(text, at, f"a comma or {closing} should stand here")
    return JsonNode(kind, start, at + 1, tuple(entries), None), at + 1


def _parse_string(text: str, at: int) -> tuple[str, int]:
    if not (string := _STRING_RE.match(text, at)):
        raise _syntax_error(text, at, "this string does not end on its line")
    try:
        return str(json.loads(string[0])), string.end()
    except ValueError:
        raise _syntax_error(text, at, "this string has a backslash that means nothing") from None


def _skip_blanks_and_comments(text: str, at: int) -> int:
    while skipped := _BLANKS_OR_COMMENT_RE.match(text, at):
        at = skipped.end()
    return at


def _syntax_error(text: str, at: int, why: str) -> InvalidInputError:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return InvalidInputError(f"line {line}, column {column}: {why}")


def _style_of(text: str) -> _JsonStyle:
    root = parse(text)
    if root is None or not root.entries:
        return _JsonStyle(newline_of(text), "  ", on_one_line=False)
    indents = (_line_indent(text, one.start) for one in root.entries if _begins_line(text, one))
    return _JsonStyle(
        newline_of(text),
        next(filter(None, indents), "  "),
        on_one_line="\n" not in text[root.start : root.end],
    )


def _begins_line(text: str, entry: JsonEntry) -> bool:
    return not text[text.rfind("\n", 0, entry.start) + 1 : entry.start].strip(" \t\r" + BOM)


def _line_indent(text: str, at: int) -> str:
    """The indentation of the line at a position."""
    begin = text.rfind("\n", 0, at) + 1
    end = begin
    while text[end : end + 1] in (" ", "\t"):
        end += 1
    return text[begin:end]


def _ends_in_line_comment(gap: str) -> bool:
    """True if the last thing in `gap` is a `//` comment."""
    pieces = [piece for piece in _BLANKS_OR_COMMENT_RE.findall(gap) if piece.strip(_BLANKS)]
    return bool(pieces) and pieces[-1].startswith("//")
