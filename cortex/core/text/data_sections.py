"""Word lists and rules in a text file beside the module that uses them."""

from __future__ import annotations


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
