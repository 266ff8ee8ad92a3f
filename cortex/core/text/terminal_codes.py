"""Text without what only a terminal understands: colours, links, redrawn lines, backspaces."""

from __future__ import annotations

from cortex.core.text.lazy_re import lazy_re

_STARTS = "\x1b\r\b\x9b"
_CODES = lazy_re(
    r"(?:\x1b\[|\x9b)[0-?]{0,100}[ -/]{0,8}[@-~]"  # colours, movements
    r"|\x1b[]PX^_][^\x07\x1b\x9c\n]{0,4000}(?:\x07|\x1b\\|\x9c)"  # addresses of links, titles
    r"|\x1b[ -/]{0,8}[0-~]?|[\x9b\x00-\x07\x0e-\x1f]"
)
_OVERSTRUCK = lazy_re(r"[^\n\x08]\x08")


def strip_terminal_codes(text: str) -> str:
    """The text as a terminal would leave it. Of frames of a redrawn line that begin or end alike only
    the last one stays; others become lines of their own, so that no word is lost."""
    if not any(start in text for start in _STARTS):
        return text
    # Without these carriage returns are the line ends of a paste.
    is_redrawn = "\n" in text or "\x1b" in text
    text = _OVERSTRUCK.sub("", _CODES.sub("", text)).replace("\b", "")
    lines: list[str] = []
    for line in text.split("\n"):
        frames = [""]
        for frame in filter(None, line.split("\r")):
            half = (min(len(frames[-1]), len(frame)) + 1) // 2
            ends = {frame[:half], frame[-half:]} & {frames[-1][:half], frames[-1][-half:]}
            if not frames[-1] or (is_redrawn and ends):
                frames.pop()
            frames.append(frame)
        lines += frames
    return "\n".join(lines)
