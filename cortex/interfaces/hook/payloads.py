"""What a host writes to a hook's standard input: read within bounds of bytes and time, understood as far
as it goes, in one form for all hosts; and answers in the form that a host takes (`hosts/`)."""

from __future__ import annotations

import os
import select
import time

from cortex.core.text.light import dumps, loads
from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts import load_host
from cortex.hosts.host import EVENTS, NESTED_CONTEXT
from cortex.operations.capture.hook_capture import HookEvent

if TYPE_CHECKING:
    from json import JSONDecoder

# Bytes that are kept; what comes after them is read and dropped, or the host would be stuck.
MAX_BYTES = 4 * 1024 * 1024
_MAX_DROPPED_BYTES = 256 * 1024 * 1024
_QUIET_SECONDS = 0.05  # without more, after which whole JSON is taken though nobody closes
_SECRET_MARGIN_CHARS = 300  # characters before a cut that may be the beginning of a secret
_TRUNCATION_NOTICE = f"\n\n(cut here: the host told more than {MAX_BYTES // 1024**2} MB)"
_WHITESPACE = " \t\n\r"
_LONG_FIELDS = ("prompt", "message", "summary")
_MAX_NAME_CHARS = 4_000  # characters of a field that is a name or a path


def read_bounded(fd: int, seconds: float) -> bytes:
    """All that comes, at most `MAX_BYTES` bytes, within so many seconds. Raises nothing."""
    deadline = time.monotonic() + seconds
    parts: list[bytes] = []
    size = 0
    maybe_whole = False
    try:
        while (left := deadline - time.monotonic()) > 0:
            timeout = min(left, _QUIET_SECONDS) if maybe_whole else left
            if not select.select([fd], [], [], timeout)[0]:
                if maybe_whole and _is_complete_json(b"".join(parts)):
                    break
                maybe_whole = False
                continue
            part = os.read(fd, 1 << 20)
            if not part or size > _MAX_DROPPED_BYTES:
                break
            if size < MAX_BYTES:
                parts.append(part)
            size += len(part)
            maybe_whole = size <= MAX_BYTES and part.rstrip().endswith(b"}")
    except (OSError, ValueError):  # no standard input at all
        pass
    return b"".join(parts)[:MAX_BYTES]


def parse_json(data: bytes) -> dict[str, object]:
    """The JSON object. Of one that was cut off, or is broken, the fields before the fault, and a
    text that was cut in it."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", "replace")
    else:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    try:
        table = loads(text)
    except (ValueError, RecursionError):
        return _parse_broken_json(text, full=len(data) >= MAX_BYTES)
    return table if isinstance(table, dict) else {}


def canonical_event(host: str, event: str) -> str:
    """Our word for an event, in any case and with any signs; empty if the host has no such."""
    described = load_host(host)
    own = ((on.name, on.event) for on in described.events)
    names = {_plain(word): word for word in EVENTS}
    names |= {_plain(name): word for name, word in (*own, *described.other_events)}
    return names.get(_plain(event), "")


def parse_payload(host: str, event: str, table: dict[str, object]) -> HookEvent:
    """What a host's JSON tells. A field that is missing or of another type tells nothing."""
    fields = load_host(host).fields
    texts = {field: _field_text(table, names, field) for field, names in fields.items()}
    return HookEvent(event, host, **texts)


def render_answer(host: str, event: str, text: str) -> bytes:
    """What the host is to read: the text where it takes one, else what says nothing."""
    described = load_host(host)
    key = described.context_key
    if not text or not described.takes_context(event):
        empty_answer = described.empty_answer(event)
        return f"{empty_answer}\n".encode() if empty_answer else b""
    answer: dict[str, object] = {key: text}
    if key == NESTED_CONTEXT:
        name = next(on.name for on in described.events if on.event == event)
        answer = {key: {"hookEventName": name, "additionalContext": text}}
    return f"{dumps(answer)}\n".encode()


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _field_text(table: dict[str, object], names: tuple[str, ...], field: str) -> str:
    for name in names:
        value: object = table
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, int) and not isinstance(value, bool) and field in ("turn", "moment"):
            value = str(value)
        if isinstance(value, str) and value.strip():
            if not value.isascii():  # half a surrogate pair can be written nowhere
                value = value.encode("utf-8", "backslashreplace").decode()
            if field not in _LONG_FIELDS:
                return value[:_MAX_NAME_CHARS]
            if value.isprintable():
                return value
            # One line holds no codes of a terminal.
            from cortex.core.text.terminal_codes import strip_terminal_codes  # noqa: PLC0415

            return strip_terminal_codes(value)
    return ""


def _is_complete_json(data: bytes) -> bool:
    try:
        return isinstance(loads(data), dict)
    except (ValueError, RecursionError):
        return False


def _parse_broken_json(text: str, *, full: bool) -> dict[str, object]:
    """The texts and small values that stand directly in the object, up to where it breaks off.
    `full`: the object went on, and we did not read it."""
    decoder = _decoder()
    table: dict[str, object] = {}
    at = _skip_character(text, 0, "{")
    while at >= 0 and (at := _skip_character(text, at, '"')) >= 0:
        try:
            key, at = decoder.raw_decode(text, at - 1)
        except ValueError:
            break
        at = _skip_character(text, at, ":")
        if at < 0:
            break
        while at < len(text) and text[at] in _WHITESPACE:
            at += 1
        try:
            table[key], at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            if text[at : at + 1] == '"':
                notice = _TRUNCATION_NOTICE if full else ""
                table[key] = _parse_cut_string(text[at + 1 :]) + notice
            break
        at = _skip_character(text, at, ",")
    return table


def _decoder() -> JSONDecoder:
    from json import JSONDecoder  # noqa: PLC0415  5 ms, for what is broken alone

    return JSONDecoder(strict=False)


def _skip_character(text: str, at: int, sign: str) -> int:
    """Behind the sign that comes next; -1 when something else does."""
    while at < len(text) and text[at] in _WHITESPACE:
        at += 1
    return at + 1 if text[at : at + 1] == sign else -1


def _parse_cut_string(rest: str) -> str:
    """A text that was cut off, up to a blank before the cut: the last word may be half a secret."""
    # The cut may have gone through an escape.
    for cut in range(len(rest), max(len(rest) - 8, -1), -1):
        try:
            start: str = _decoder().raw_decode(f'"{rest[:cut]}"')[0]
        except ValueError:
            continue
        least = max(len(start) - _SECRET_MARGIN_CHARS, 0)
        return start[: max(start.rfind(" "), start.rfind("\n"), least)]
    return ""
