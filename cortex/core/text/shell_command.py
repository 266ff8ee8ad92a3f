"""Command lines to copy: a shell reads each id, path or text in them as one word."""

from __future__ import annotations

# As in `shlex.quote`, whose module compiles patterns that captures need not load.
_PLAIN_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


def cortex_command(*words: str) -> str:
    """`cortex` and these words as one line for a shell, quoted where needed. Words with invisible
    characters are written as `$'…'` with octal bytes."""
    return " ".join(("cortex", *map(shell_quote, words)))


def option_words(name: str, value: str) -> tuple[str, ...]:
    """The words of an option; none without a value. A value that begins with a hyphen needs `=`."""
    if not value:
        return ()
    return (f"--{name}={value}",) if value.startswith("-") else (f"--{name}", value)


def shell_quote(word: str) -> str:
    """One word of a shell's line, printable whatever it holds."""
    if any(map(_is_invisible, word)):
        return f"$'{''.join(map(_escape_octal, word))}'"
    if word and _PLAIN_CHARS.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _is_invisible(char: str) -> bool:
    """True for format and control characters and the tag plane, which `escape` shows otherwise."""
    return not char.isprintable() or "\U000e0000" <= char <= "\U000e0fff"


def _escape_octal(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    if not _is_invisible(char):
        return char
    # Octal ends after three digits in every shell; in some, hexadecimal has no such limit.
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", errors))
