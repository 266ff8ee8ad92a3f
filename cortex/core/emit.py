"""Values as YAML lines for notes that Cortex writes itself. Standard library only: capture is on this path."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "str | bool | Sequence[Value] | Mapping[str, Value] | None"

# Plain scalars that every YAML reader, 1.1 or 1.2, takes as the same text: they begin with a letter, or look
# like a date, a time stamp or an event id. `: ` and ` #` cannot occur, as neither `:`+blank nor `#` is allowed.
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./+@()-]|:(?=[A-Za-z0-9/])| (?=[A-Za-z0-9(/]))*")
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:]{8}Z)?|[0-9]{8}t[0-9]{6}z-[a-z2-7]{10}")
# Fields whose numbers stand as numbers, so that an editor sorts by them; any other text of digits is quoted and stays text.
_NUMERIC = ("confidence", "priority")
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{1,6})?")
_NOT_TEXT = frozenset(["true", "false", "yes", "no", "on", "off", "null", "y", "n"])  # YAML 1.1 reads these as other types
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")


def scalar(text: str) -> str:
    """`text` as one YAML scalar on one line: plain where every reader agrees, else double-quoted."""
    if (_PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT) or _STAMP.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'


def field(key: str, value: Value, indent: str = "") -> list[str]:
    """The lines of `key: value`. Lists of scalars stand in brackets at the top level, one to a line below it:
    git then merges the nested ones (a record's provenance) line by line."""
    if isinstance(value, Mapping):
        return [f"{indent}{key}:", *(line for k, v in value.items() for line in field(k, v, indent + "  "))]
    if isinstance(value, str):
        plain = key in _NUMERIC and _NUMBER.fullmatch(value)
        return [f"{indent}{key}: {value if plain else scalar(value)}"]
    if isinstance(value, Sequence):
        if any(isinstance(item, Mapping) for item in value):
            return [f"{indent}{key}:", *(f"{indent}  - {_flow(item)}" for item in value)]
        if indent and value:
            return [f"{indent}{key}:", *(f"{indent}  - {_flow(item)}" for item in value)]
        return [f"{indent}{key}: {_flow(value)}"]
    return [f"{indent}{key}: {_flow(value)}".rstrip()]


def frontmatter(fields: Mapping[str, Value]) -> str:
    """A frontmatter block of the fields that hold something, fences included. `False` is something."""
    lines = [line for key, value in fields.items() if value or value is False for line in field(key, value)]
    return "\n".join(["---", *lines, "---", ""])


def _flow(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(_flow(item) for item in value) + "]"
