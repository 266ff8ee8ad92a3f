"""Values as YAML lines, for notes that Cortex writes. Standard library only: captures use it."""

from __future__ import annotations

from _collections_abc import Mapping, Sequence

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.light import re
from cortex.core.text.value import TypeAlias

YamlValue: TypeAlias = "str | bool | Sequence[YamlValue] | Mapping[str, YamlValue] | None"

# Plain scalars that every YAML reader, 1.1 or 1.2, takes as the same text: they begin with a
# letter, or look like a date, a time stamp or an event id. `: ` and ` #` cannot occur, as neither
# `:`+blank nor `#` is allowed.
_PLAIN_RE = lazy_re(
    r"[A-Za-z](?:[A-Za-z0-9_./+@()-]|:(?=[A-Za-z0-9/])| (?=[A-Za-z0-9(/]))*"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:]{8}Z)?|[0-9]{8}t[0-9]{6}z-[a-z2-7]{10}"
)
_MAX_EVENTS_IN_BRACKETS = 5
_DIGITS = frozenset("0123456789")
_DIGITS_TO_ZERO = dict.fromkeys(range(49, 58), "0")
_BASE32_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz234567")
_WORD_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+@()-")
# YAML 1.1 reads these as other types.
_YAML_1_1_WORDS = frozenset(["true", "false", "yes", "no", "on", "off", "null", "y", "n"])
# Fields whose numbers stand as numbers, so that an editor sorts by them; any other text of digits
# is quoted and stays text.
_NUMBER_PATTERN = r"(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{1,6})?"
_ESCAPED_CHARACTERS_PATTERN = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff"
    "\ufeff\ufffe\uffff]"
)


def scalar(text: str) -> str:
    """`text` as one YAML scalar on one line: plain if every reader agrees, else double-quoted."""
    if _is_plain(text) and text.lower() not in _YAML_1_1_WORDS:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
    if not (escaped.isascii() and escaped.isprintable()):
        pattern = _ESCAPED_CHARACTERS_PATTERN
        escaped = re.sub(pattern, lambda found: f"\\u{ord(found[0]):04x}", escaped)
    return f'"{escaped}"'


def _is_plain(text: str) -> bool:
    """As `_PLAIN_RE` says, which hooks need not compile for their words and times."""
    if text[:1] in _DIGITS:
        digits = text.translate(_DIGITS_TO_ZERO)
        if len(text) == 27:
            return digits[:17] == "00000000t000000z-" and _BASE32_CHARS.issuperset(text[17:])
        if len(text) not in (10, 20) or digits in ("0000-00-00", "0000-00-00T00:00:00Z"):
            return len(text) in (10, 20)
    elif _WORD_CHARS.issuperset(text) and text:
        return text[0].isalpha()
    return _PLAIN_RE.fullmatch(text) is not None


def field_lines(key: str, value: YamlValue, indent: str = "") -> list[str]:
    """The lines of `key: value`. Lists of scalars stand in brackets at the top level, one to a line
    below it, as do many events: git then merges them line by line. A single link stays in
    brackets."""
    if isinstance(value, Mapping):
        return [
            f"{indent}{key}:",
            *(line for k, v in value.items() for line in field_lines(k, v, indent + "  ")),
        ]
    if isinstance(value, str):
        plain = key in ("confidence", "priority") and re.fullmatch(_NUMBER_PATTERN, value)
        return [f"{indent}{key}: {value if plain else scalar(value)}"]
    if isinstance(value, Sequence):
        is_link = len(value) == 1 and str(value[0]).startswith("[[")
        is_long = bool(indent and value) or (
            key == "events" and len(value) > _MAX_EVENTS_IN_BRACKETS
        )
        if (is_long and not is_link) or any(isinstance(item, Mapping) for item in value):
            return [f"{indent}{key}:", *(f"{indent}  - {flow_text(item)}" for item in value)]
    return [f"{indent}{key}: {flow_text(value)}".rstrip()]


def frontmatter(fields: Mapping[str, YamlValue]) -> str:
    """A frontmatter block of the fields that are not empty (`False` is not), fences included."""
    lines = [
        line
        for key, value in fields.items()
        if value or value is False
        for line in field_lines(key, value)
    ]
    return "\n".join(["---", *lines, "---", ""])


def flow_text(value: YamlValue) -> str:
    """The value on one line, lists and maps in brackets."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow_text(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(flow_text(item) for item in value) + "]"
