"""Make texts fit to be stored: without secrets, short enough, and without control characters."""

from __future__ import annotations

import os

from cortex.core.model import turn_summary as stretches
from cortex.core.model.event import MAX_CONTENT_BYTES, MAX_NAME_CHARS
from cortex.core.model.turn_summary import TurnSummary
from cortex.core.redact.secrets import sanitize_text

_CUT_NOTICE_BYTES = 400  # bytes for the line that says what was cut
# Of what is kept of a text that is too long; the rest is its end, where conclusions stand.
_HEAD_SHARE = 2 / 3
_LINE_SEARCH_BYTES = 2_000  # bytes in which the end of a line is looked for
_DIRECTION_CODES = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
# What acts on a terminal or turns the direction of a text. A name needs none of it.
_CONTROL_ESCAPES = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for code in (*range(32), *range(127, 160), *_DIRECTION_CODES)
}


def compose_event_text(new: TurnSummary) -> str:
    """The event's text; what was said is cut where it would be too long, and the text says so."""

    def escaped(text: str) -> str:
        return text.translate(_CONTROL_ESCAPES)

    new = new._replace(
        changed_files=tuple(map(escaped, new.changed_files)),
        commands=tuple(
            run._replace(line=escaped(run.line), outcome=escaped(run.outcome))
            for run in new.commands
        ),
        plan=tuple(step._replace(text=escaped(step.text)) for step in new.plan),
    )
    whole = stretches.compose_text(new)
    if len(whole.encode("utf-8", "replace")) <= MAX_CONTENT_BYTES:
        return whole
    new = new._replace(message=sanitize_text(new.message))
    whole = stretches.compose_text(new)
    over = len(whole.encode("utf-8", "replace")) - MAX_CONTENT_BYTES
    data = new.message.encode("utf-8", "replace")
    kept_bytes = len(data) - over - _CUT_NOTICE_BYTES
    if over <= 0 or kept_bytes <= 0:
        return truncate_event_text(sanitize_text(whole))
    return stretches.compose_text(new._replace(message=_cut_middle(data, kept_bytes)))


def truncate_event_text(text: str) -> str:
    """A clean text that an event can hold."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_CONTENT_BYTES:
        return text
    return _cut_middle(data, MAX_CONTENT_BYTES - _CUT_NOTICE_BYTES)


def sanitize_name(text: str) -> str:
    """A name that a host gives, on one line, without what acts on a terminal, without secrets."""
    return sanitize_text("".join(sign for sign in text if sign.isprintable()))[:MAX_NAME_CHARS]


def sanitize_path(path: str) -> str:
    """A path as it may be kept; empty when it holds a secret."""
    return path if path.isprintable() and sanitize_text(path) == path else ""


def working_directory() -> str:
    """The working directory of this process."""
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return "/"


def _cut_middle(data: bytes, most: int) -> str:
    """The beginning and the end of a text, between lines where that is possible."""
    head = int(most * _HEAD_SHARE)
    if (line := data.rfind(b"\n", max(head - _LINE_SEARCH_BYTES, 0), head)) > 0:
        head = line
    tail = len(data) - (most - head)
    if (line := data.find(b"\n", tail, tail + _LINE_SEARCH_BYTES)) >= 0:
        tail = line + 1
    first = data[:head].decode("utf-8", "ignore").rstrip()
    last = data[tail:].decode("utf-8", "ignore").strip()
    cut = f"(cut here: {tail - head:,} of {len(data):,} bytes are left out)"
    return f"{first}\n\n{cut}\n\n{last}".strip()
