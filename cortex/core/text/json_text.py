"""JSON by the parts of `json` that are written in C. `json` itself compiles patterns when it is loaded, 3 ms, and a hook reads
one object."""

from __future__ import annotations

from cortex.core.text.value import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_BLANK = " \t\n\r"


class _Context:
    """How a scanner is to read."""

    strict = False  # a control character in a text is one
    object_hook = object_pairs_hook = array_hook = None  # the last is read from Python 3.15 on
    parse_float, parse_int = float, int
    parse_constant = float  # NaN, Infinity, -Infinity


def _parts() -> tuple[Any, Any, Any]:
    """A scanner of values, one of texts, and an encoder."""
    try:
        quick = __import__("_json")
        encoder = quick.make_encoder(
            None, None, quick.encode_basestring_ascii, None, ": ", ", ", False, False, False
        )
        return quick.make_scanner(_Context()), quick.scanstring, encoder
    except (ImportError, AttributeError, TypeError):  # another Python
        import json  # noqa: PLC0415

        decoder: Any = json.JSONDecoder(strict=False)
        return decoder.scan_once, decoder.parse_string, lambda value, _depth: (json.dumps(value),)


_SCAN, _STRING, _ENCODE = _parts()


def loads(data: str | bytes) -> object:
    """The value that a text is. `ValueError` when it is none, `RecursionError` when it is nested too deeply."""
    text = (
        data
        if isinstance(data, str)
        else data.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    )
    value, end = value_at(text, len(text) - len(text.lstrip(_BLANK)) if text[:1] in _BLANK else 0)
    if text[end:].strip(_BLANK):
        raise ValueError("more than one value")
    return value


def value_at(text: str, at: int) -> tuple[object, int]:
    """The value that begins there, and where it ends."""
    try:
        value, end = _SCAN(text, at)
    except (
        StopIteration,
        SystemError,
    ):  # the second from Python 3.11, where `json` was not loaded to say it better
        raise ValueError("no value") from None
    return value, end


def string_at(text: str, at: int) -> tuple[str, int]:
    """The text that begins behind a quotation mark, and where it ends. `ValueError` when it does not."""
    try:
        value, end = _STRING(text, at, False)
    except SystemError:  # as above
        raise ValueError("no text") from None
    return value, end


def dumps(value: object) -> str:
    """A value of objects, lists, texts, numbers and truths as JSON."""
    return "".join(_ENCODE(value, 0))
