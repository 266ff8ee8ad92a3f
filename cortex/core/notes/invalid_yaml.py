"""Frontmatter that no reader of YAML takes: only what is surely invalid."""

from __future__ import annotations

from cortex.core.notes.yaml_lines import CONFLICT_MARKERS

# An alias and a tag, which Cortex does not read, among them.
_FORBIDDEN_FIRST_CHARACTERS = "@`%}],*!"
_MULTILINE_OPENERS = ("'", '"', "[", "{", "|", ">")
_OPENING_BRACKETS = {"]": "[", "}": "{"}


def is_invalid_yaml(text: str) -> bool:
    """True if the lines of a top-level key are surely no YAML, or what Cortex does not read."""
    lines = [
        line for line in text.split("\n") if line.strip() and not line.lstrip(" ").startswith("#")
    ]
    marked = any(
        line.startswith(CONFLICT_MARKERS) or "\t" in line[: len(line) - len(line.lstrip())]
        for line in lines
    )
    # What belongs to a key is indented, but for the items of a list and a bracket that closes.
    if marked or any(line[0] not in " -]}" for line in lines[1:]):
        return True
    first, _, more = text.partition("\n")
    value = _value_after_colon(first)
    if value and any(
        line[0] == "-" or (line[0] != " " and value[0] not in "[{") for line in lines[1:]
    ):
        return True
    if value[:1] in ("|", ">"):
        return False
    if value[:1] in ("'", '"', "[", "{"):
        return value.startswith("{{") or _is_unclosed(f"{value}\n{more}")
    if value:
        return value.startswith(("- ", *_FORBIDDEN_FIRST_CHARACTERS)) or any(
            _contains_key(line) for line in (value, *more.split("\n"))
        )
    below = [line.strip() for line in lines[1:]]
    # What spans lines is not followed here: then nothing is sure.
    spans = any(
        part[:1] in _MULTILINE_OPENERS
        for line in below
        for part in (line.removeprefix("- ").strip(), _value_after_colon(line))
    )
    # A line without a key or the mark of an item goes on with the plain scalar above it, whatever
    # it begins with.
    begins = [
        line
        for number, line in enumerate(below)
        if not number or line.startswith("- ") or _contains_key(line)
    ]
    return not spans and any(_is_invalid_item(line) for line in begins)


def _is_invalid_item(line: str) -> bool:
    """A line below its key: an item of a list, or a key of its own with a value."""
    value = line[2:].strip() if line.startswith("- ") else line
    if value.endswith(":") and ": " not in value:
        return False
    inner = _value_after_colon(value) if ": " in value else value
    return inner.startswith(tuple(_FORBIDDEN_FIRST_CHARACTERS)) or (
        not inner.startswith("&") and _contains_key(inner)
    )


def _value_after_colon(line: str) -> str:
    value = line.partition(":")[2].strip()
    return "" if value.startswith("#") else value


def _contains_key(plain: str) -> bool:
    """Whether a plain scalar holds what ends a key: then it would be a map inside a value."""
    bare = plain.partition(" #")[0].strip()
    return ": " in bare or bare.endswith(":")


def _is_unclosed(value: str) -> bool:
    """True if quotes or brackets do not close, or text follows them that is no comment."""
    open_: list[str] = []
    at = 0
    while at < len(value):
        sign = value[at]
        if sign in "'\"" and (open_ or at == 0 or not value[:at].strip()):
            at = _find_closing_quote(value, at)
            if at < 0:
                return True
        elif sign in "[{":
            open_.append(sign)
        elif sign in "]}" and (not open_ or open_.pop() != _OPENING_BRACKETS[sign]):
            return True
        at += 1
        if not open_:
            rest = value[at:].partition("\n")
            return bool(rest[0].strip() and not rest[0].lstrip().startswith("#")) or any(
                line.strip() and not line.lstrip().startswith("#") for line in rest[2].split("\n")
            )
    return bool(open_)


def _find_closing_quote(value: str, start: int) -> int:
    """Where the quote that opens at `start` closes; below 0 when it does not."""
    at = start + 1
    while at < len(value):
        if value[at] == "\\" and value[start] == '"':
            at += 1
        elif value[at] == value[start]:
            if value[start] == '"' or value[at + 1 : at + 2] != "'":
                return at
            at += 1
        at += 1
    return -1
