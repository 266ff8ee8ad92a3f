"""Values as YAML lines for notes that Cortex writes itself. Standard library only: capture is on this path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cortex.core.text.value import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

YamlValue: TypeAlias = "str | bool | Sequence[YamlValue] | Mapping[str, YamlValue] | None"

# Plain scalars that every YAML reader, 1.1 or 1.2, takes as the same text: they begin with a letter, or look
# like a date, a time stamp or an event id. `: ` and ` #` cannot occur, as neither `:`+blank nor `#` is allowed.
# By sets of signs: a pattern costs a capture half a millisecond before it has matched anything.
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset("0123456789")
_BASE32_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz234567")
_PLAIN_CHARACTERS = _LETTERS | _DIGITS | frozenset("_./+@()-: ")
_ALLOWED_AFTER = {
    ":": _LETTERS | _DIGITS | {"/"},
    " ": _LETTERS | _DIGITS | {"(", "/"},
}  # what may follow these two
# Fields whose numbers stand as numbers, so that an editor sorts by them; any other text of digits is quoted and stays text.
_NUMERIC_KEYS = ("confidence", "priority")
_NUMBER_PATTERN = r"(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{1,6})?"
_YAML_1_1_WORDS = frozenset(
    ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
)  # YAML 1.1 reads these as other types
_ESCAPED_CHARACTERS_PATTERN = "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"


def scalar(text: str) -> str:
    """`text` as one YAML scalar on one line: plain where every reader agrees, else double-quoted."""
    if _is_plain_scalar(text) or _is_date_or_event_id(text):
        return text
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    )
    if not (escaped.isascii() and escaped.isprintable()):
        import re  # noqa: PLC0415  half the cost of all this module's work

        escaped = re.sub(
            _ESCAPED_CHARACTERS_PATTERN, lambda found: f"\\u{ord(found[0]):04x}", escaped
        )
    return f'"{escaped}"'


def _is_number(text: str) -> bool:
    import re  # noqa: PLC0415  few events have a number

    return bool(re.fullmatch(_NUMBER_PATTERN, text))


def _is_plain_scalar(text: str) -> bool:
    """Whether it begins with a letter, and every sign in it is one that ends no scalar where it stands."""
    if (
        text[:1] not in _LETTERS
        or not _PLAIN_CHARACTERS.issuperset(text)
        or text.lower() in _YAML_1_1_WORDS
    ):
        return False
    return (
        all(
            text[at + 1 : at + 2] in _ALLOWED_AFTER[sign]
            for at, sign in enumerate(text)
            if sign in ": "
        )
        if ":" in text or " " in text
        else True
    )


def _is_date_or_event_id(text: str) -> bool:
    """Whether it is a date, a time stamp or an event id."""
    if len(text) == 27:
        return (
            _DIGITS.issuperset(text[:8] + text[9:15])
            and text[8] == "t"
            and text[15:17] == "z-"
            and _BASE32_CHARACTERS.issuperset(text[17:])
        )
    if (
        len(text) not in (10, 20)
        or text[4] != "-"
        or text[7] != "-"
        or not _DIGITS.issuperset(text[:4] + text[5:7] + text[8:10])
    ):
        return False
    return len(text) == 10 or (
        text[10] == "T" and text[19] == "Z" and (_DIGITS | {":"}).issuperset(text[11:19])
    )


def field_lines(key: str, value: YamlValue, indent: str = "") -> list[str]:
    """The lines of `key: value`. Lists of scalars stand in brackets at the top level, one to a line below it:
    git then merges the nested ones (a record's provenance) line by line."""
    if isinstance(value, Mapping):
        return [
            f"{indent}{key}:",
            *(line for k, v in value.items() for line in field_lines(k, v, indent + "  ")),
        ]
    if isinstance(value, str):
        plain = key in _NUMERIC_KEYS and _is_number(value)
        return [f"{indent}{key}: {value if plain else scalar(value)}"]
    if isinstance(value, Sequence):
        if any(isinstance(item, Mapping) for item in value):
            return [f"{indent}{key}:", *(f"{indent}  - {_flow_text(item)}" for item in value)]
        if indent and value:
            return [f"{indent}{key}:", *(f"{indent}  - {_flow_text(item)}" for item in value)]
        return [f"{indent}{key}: {_flow_text(value)}"]
    return [f"{indent}{key}: {_flow_text(value)}".rstrip()]


def frontmatter(fields: Mapping[str, YamlValue]) -> str:
    """A frontmatter block of the fields that hold something, fences included. `False` is something."""
    lines = [
        line
        for key, value in fields.items()
        if value or value is False
        for line in field_lines(key, value)
    ]
    return "\n".join(["---", *lines, "---", ""])


def _flow_text(value: YamlValue) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow_text(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(_flow_text(item) for item in value) + "]"
