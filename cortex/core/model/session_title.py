"""What a session is called of which nothing tells a title."""

from __future__ import annotations

import re

from cortex.core.text.strings import one_line, shorten

UNTITLED = "Session"  # begins such a title
_MAX_NAME_CHARS = 60
_NAME_RE = re.compile(r"[^\W\d_]{1,20}(?:[ _-][^\W\d_]{1,20})*")  # that somebody chose
_UNTITLED_RE = re.compile(rf"{UNTITLED}(?: on .+)?(?: of \d{{4}}-\d{{2}}-\d{{2}})?|{UNTITLED} \S+")


def untitled(name: str) -> str:
    """The title of a session of which only its name is known."""
    return f"{UNTITLED} {shorten(name, _MAX_NAME_CHARS)}"


def untitled_by_what(name: str, what: str, day: str) -> str:
    """The title of a session of which its name, branch or a file, and day are known."""
    if _NAME_RE.fullmatch(name):
        return untitled(name)
    return f"{UNTITLED}{f' on {one_line(what)}' if what else ''} of {day}"


def is_untitled(title: str, name: str = "") -> bool:
    """Whether a title is one that Cortex gives where nothing tells a better one."""
    return title == untitled(name) or bool(_UNTITLED_RE.fullmatch(title))
