"""The heading of level one that begins a note's text: the title of a record."""

from __future__ import annotations


def split_heading(text: str) -> tuple[str, str]:
    """The heading that is the first line of a text, and what stands below it, without the blank
    lines around them; ("", text) where no such heading begins it."""
    line, _, rest = text.lstrip("\r\n").partition("\n")
    title = line[2:].strip() if line.startswith("# ") else ""
    return (title, rest.lstrip("\r\n")) if title else ("", text)


def join_heading(title: str, text: str) -> str:
    """A text below its title."""
    return f"# {title}\n\n{text}" if text else f"# {title}"
