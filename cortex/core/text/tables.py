"""Read tables: untrusted TOML, and word lists and rules in a text file beside their module."""

from __future__ import annotations

from cortex.core.text.light import cache, re
from cortex.core.text.value import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN_DOTS = 50  # in one line, which cost nothing
_MAX_COST = 4_000_000  # 0.3 s: `tomllib` takes quadratic time for a key with many dots


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text. Raises only `ValueError`, which names the reason: what takes minutes to
    parse or overflows the stack is refused at once."""
    import tomllib  # noqa: PLC0415  6 ms, and most commands read none

    dots = (line.count(".") for line in text.split("\n"))
    if sum(count * count for count in dots if count > _PLAIN_DOTS) > _MAX_COST:
        raise ValueError("has lines with too many dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def read_sections(module_file: str, *, blank_lines: bool = False) -> dict[str, list[str]]:
    """The lines below each `[heading]` of the file that is named like a module. A line that begins
    with a tab continues the line before it; one that begins with `#` is a comment. Empty lines are
    left out, unless `blank_lines`."""
    sections: dict[str, list[str]] = {}
    with open(module_file.rpartition(".")[0] + ".txt", encoding="utf-8") as file:
        text = file.read().replace("\n\t", "")
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]"):
            lines = sections[line[1:-1]] = []
        elif sections and (line or blank_lines) and not line.startswith("#"):
            lines.append(line)
    return sections


def patterns_of(module_file: str, flags: str = "") -> Callable[[str], re.Pattern[str]]:
    """What makes a pattern of a section of that file, once: any of its lines, behind `flags`."""
    return cache(lambda name: re.compile(flags + "|".join(read_sections(module_file)[name])))
