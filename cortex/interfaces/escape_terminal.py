"""Text for a terminal: a note's bytes may come from a stranger, so control and invisible characters
are shown, not sent."""

from __future__ import annotations

import re

# C0 and C1 controls (escape sequences begin there), soft hyphen, bidi marks and overrides,
# zero-width and tag characters.
_UNSAFE_CHARACTERS = "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"


def escape(text: str, *, lines: bool = False) -> str:
    """`text` with every character that would act on the terminal, or hide in it, as `<U+001B>`;
    with `lines`, line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text  # nearly every text; the pattern need not be compiled for it
    return re.sub(
        _UNSAFE_CHARACTERS,
        lambda found: found[0] if lines and found[0] in "\n\t" else f"<U+{ord(found[0]):04X}>",
        text,
    )
