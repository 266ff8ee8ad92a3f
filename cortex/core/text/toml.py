"""Parse untrusted TOML: refuse at once what takes minutes to parse or overflows the stack."""

from __future__ import annotations

from typing import Any

_PLAIN_DOTS = 50  # in one line, which cost nothing
_MAX_COST = 4_000_000  # 0.3 s: `tomllib` takes quadratic time for a key with many dots


def parse(text: str) -> dict[str, Any]:
    """The tables of a text. Raises only `ValueError`, which names the reason."""
    import tomllib  # noqa: PLC0415  6 ms, and most commands read none

    dots = (line.count(".") for line in text.split("\n"))
    if sum(count * count for count in dots if count > _PLAIN_DOTS) > _MAX_COST:
        raise ValueError("has lines with too many dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
