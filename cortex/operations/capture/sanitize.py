"""The texts of events as they may be kept: without secrets, short enough, and harmless where a host names things."""

from __future__ import annotations

import os

from cortex.core.model import turn_summary as stretches
from cortex.core.model.event import MAX_BYTES
from cortex.core.model.turn_summary import Stretch
from cortex.core.redact.secrets import clean

_LONGEST_WORD = 200  # characters of a session's name, of a branch
_ROOM = 400  # bytes for the line that says what was cut
_HEAD = (
    2 / 3
)  # of what is kept of a text that is too long; the rest is its end, where conclusions stand
_TO_LINE = 2_000  # bytes in which the end of a line is looked for
# What acts on a terminal or turns the direction of a text. A name needs none of it.
_ACTING = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for first, last in (
        (0, 31),
        (127, 159),
        (0x61C, 0x61C),
        (0x200E, 0x200F),
        (0x2028, 0x202E),
        (0x2066, 0x2069),
    )
    for code in range(first, last + 1)
}


def text_of(new: Stretch) -> str:
    """The event's text; what was said is cut where it would be too long, and the text says so."""
    new = new._replace(
        changed=tuple(path.translate(_ACTING) for path in new.changed),
        ran=tuple(
            run._replace(line=run.line.translate(_ACTING), outcome=run.outcome.translate(_ACTING))
            for run in new.ran
        ),
        plan=tuple(step._replace(text=step.text.translate(_ACTING)) for step in new.plan),
    )
    whole = stretches.compose(new)
    size = len(whole.encode("utf-8", "replace"))
    if size <= MAX_BYTES:
        return whole
    spoken = clean(new.said)
    over = (
        len(stretches.compose(new._replace(said=spoken)).encode("utf-8", "replace"))
        - MAX_BYTES
        + _ROOM
    )
    data = spoken.encode("utf-8", "replace")
    return (
        stretches.compose(new._replace(said=_cut(data, max(len(data) - over, 0))))
        if over < len(data)
        else fitted(clean(whole))
    )


def fitted(text: str) -> str:
    """A clean text that an event can hold."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= MAX_BYTES else _cut(data, MAX_BYTES - _ROOM)


def one_word(text: str) -> str:
    """A name that a host gives, on one line, without what acts on a terminal, without secrets."""
    return clean("".join(sign for sign in text if sign.isprintable()))[:_LONGEST_WORD]


def kept_path(path: str) -> str:
    """A path as it may be kept; empty when it holds a secret."""
    return path if path.isprintable() and clean(path) == path else ""


def here() -> str:
    """The working directory of this process."""
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return "/"


def _cut(data: bytes, most: int) -> str:
    """The beginning and the end of a text, between lines where that is possible."""
    head = int(most * _HEAD)
    if (line := data.rfind(b"\n", max(head - _TO_LINE, 0), head)) > 0:
        head = line
    tail = len(data) - (most - head)
    if (line := data.find(b"\n", tail, tail + _TO_LINE)) >= 0:
        tail = line + 1
    first, last = (
        data[:head].decode("utf-8", "ignore").rstrip(),
        data[tail:].decode("utf-8", "ignore").strip(),
    )
    return f"{first}\n\n(cut here: {tail - head:,} of {len(data):,} bytes are left out)\n\n{last}".strip()
