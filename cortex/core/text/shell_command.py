"""A command that somebody can copy: ids, paths and texts in it come from notes, and a shell must read each as one word."""

from __future__ import annotations

import shlex


def cortex_command(*words: str) -> str:
    """`cortex` and these words as one line for a shell, each word as it is and in quotes where it needs them. What a terminal
    would not show as it is stands in `$'…'` as bytes, so that what is printed is what was meant."""
    return " ".join(("cortex", *map(shell_quote, words)))


def option_words(name: str, value: str) -> tuple[str, ...]:
    """An option of such a line; none without a value. One that begins with a hyphen would be read as an option itself."""
    if not value:
        return ()
    return (f"--{name}={value}",) if value.startswith("-") else (f"--{name}", value)


def shell_quote(word: str) -> str:
    """One word of a shell's line, printable whatever it holds."""
    if any(map(_is_invisible, word)):
        return f"$'{''.join(map(_escape_octal, word))}'"
    return shlex.quote(word)


def _is_invisible(char: str) -> bool:
    """Whether `escape` would show another text: format and control characters, and the selectors of the tag plane."""
    return not char.isprintable() or "\U000e0000" <= char <= "\U000e0fff"


def _escape_octal(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    if not _is_invisible(char):
        return char
    # Octal takes three digits in every shell; hexadecimal goes on in some of them for as long as there are digits.
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", errors))
