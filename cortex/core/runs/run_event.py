"""Events of a run of an agent, and the lines that they are in its note.

An event is a JSON object with `event` (one of `KINDS`), `seq` (0, 1, 2 …), `agent_id` (the run's id) and
`ts` (UTC with milliseconds). Its line is a list item that a person reads, with the exact JSON in an HTML
comment: readers show the former, programs read the latter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import NoneType
from typing import Any, TypeAlias

from cortex.core.text.iso_time import parse_utc
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, shorten

RunEvent: TypeAlias = dict[str, Any]

KINDS = (
    "request", "start", "message", "thinking", "tool_start", "tool_end", "agent_updated", "progress",
    "info", "finish", "error",
)  # fmt: skip
TERMINAL = ("finish", "error")
SYNCED = ("request", "start", *TERMINAL)  # are on the disk before anything else happens
MAX_EVENT_BYTES = 16 * 1024  # of a line; a larger event lies beside the note
_MAX_VISIBLE_CHARS = 160
_MAX_CUT_CHARS = 60  # of a longer error, and of what is true for a moment
_MAX_KEPT_CHARS = 200  # of a text of an event that lies beside the note
_LINE_RE = lazy_re(r"- [^\n<]*<!-- cx (\{[^\n]*\}) -->")
_JSON_RE = lazy_re(r" <!-- cx \{[^>\n]*(?:>|$)", re.MULTILINE)
_MARKUP_RE = lazy_re(r"[\\\[\]*_#|~$!]")
_UNSHOWN = str.maketrans({"<": "‹", ">": "›", "`": "'", "{": "(", "}": ")", "%": "％"})
_PLAIN = (str, int, float, NoneType)  # values of JSON in which there are no others
_FILLED_IN = ("event", "seq", "agent_id", "ts")
_MAX_DEPTH = 60  # of a value: what goes through it afterwards is recursive


def complete(event: Mapping[str, Any], run: str, seq: int, now: str) -> RunEvent:
    """An event as it is written: with its number, the run's id, and a time if it brings none. A kind
    that is unknown becomes `info`."""
    kind = event.get("event")
    known = kind if kind in KINDS else "info"
    rest = {key: value for key, value in event.items() if key not in _FILLED_IN}
    if known != kind:
        rest = {"message": one_line(str(kind or "")) or "event without a kind", "value": rest}
    return {"seq": seq, "event": known, "agent_id": run, "ts": _time_of(event.get("ts")) or now, **rest}  # fmt: skip


def _time_of(given: object) -> str:
    """A time that a program gave, in milliseconds or as ISO text; empty for what is none."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return ""
    try:
        if isinstance(given, str):
            moment = parse_utc(given)
        else:
            moment = datetime.fromtimestamp(given / 1000, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return ""


def event_line(event: RunEvent) -> str:
    """An event as a person reads it in a terminal: the time in UTC, and what it says."""
    text = visible_text(event).replace("**", "").replace("\\", "")
    return f"{str(event.get('ts', ''))[11:19]}  {text}"


def encode_line(event: RunEvent) -> str:
    """The line of an event. No text in it can end the comment, or begin a line."""
    data = json.dumps(event, separators=(",", ":")).replace(">", "\\u003e")
    time = str(event.get("ts", ""))[11:19]
    return f"- {time} {visible_text(event)} <!-- cx {data} -->\n"


def parse_line(line: str) -> RunEvent | None:
    """The event of a line; None for any other line, also one that was cut off."""
    found = _LINE_RE.fullmatch(line.strip("\r\n"))
    event = decode_json(found[1]) if found else None
    if not isinstance(event, dict) or event.get("event") not in KINDS:
        return None
    return event if type(event.get("seq")) is int and event["seq"] >= 0 else None


def without_json(text: str) -> str:
    """The text of the note of a run as a person reads it: its lines without the JSON of events."""
    return _JSON_RE.sub("", text)


def decode_json(text: str | bytes) -> Any:
    """The value of a JSON text; None where there is none, or one nested too deep."""
    try:
        value = json.loads(text, parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [one.values() if isinstance(one, dict) else one for one in level]
        level = [inner for one in level if not isinstance(one, _PLAIN) for inner in one]
    return None if level else value


def set_aside(event: RunEvent, file: str) -> tuple[RunEvent, bytes]:
    """What the line of a large event says, and the bytes of the file beside the note with all of it:
    the line has the file's name and hash, and each value as far as it is short."""
    data = json.dumps(event, separators=(",", ":")).encode()
    short: RunEvent = {}
    for key, value in event.items():
        if isinstance(value, str):
            short[key] = shorten(value, _MAX_KEPT_CHARS) if len(value) > _MAX_KEPT_CHARS else value
        elif len(json.dumps(value)) <= _MAX_KEPT_CHARS:
            short[key] = value
    from hashlib import sha256  # noqa: PLC0415  3 ms, and few events are that large

    digest = sha256(data).hexdigest()
    return {**short, "file": file, "bytes": len(data), "sha256": digest}, data


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each text in it, names of fields too, changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [with_texts(one, change) for one in value]
    if isinstance(value, dict):
        return {change(str(key)): with_texts(one, change) for key, one in value.items()}
    return value


def visible_text(event: RunEvent) -> str:
    """What a person reads of an event: its kind in bold, and at most 160 characters."""
    says: tuple[str, object]
    match event["event"]:
        case "request":
            env = f", env: {_plain(event['env'])}" if event.get("env") else ""
            says = "request", f"by {event.get('requested_by') or 'somebody'}{env}"
        case "start":
            says = "start", f"{event.get('model') or event.get('provider') or ''}"
        case "message":
            says = "says", event.get("text")
        case "thinking":
            says = "thinks", event.get("summary")
        case "tool_start":
            says = str(event.get("tool") or "tool"), _plain(event.get("args"))
        case "tool_end":
            says = "failed" if event.get("ok") is False else "ok", _plain(event.get("result"))
        case "agent_updated":
            says = "handed on", f"to {event.get('agent') or ''}"
        case "finish" if skipped := event.get("skipped"):
            says = "skipped", skipped
        case "finish":
            says = "finish", _usage_text(event)
        case "error":
            error = str(event.get("error") or "")  # a long one stands below the log
            says = "error", error if is_shown_whole(error) else shorten(error, _MAX_CUT_CHARS)
        case "progress":
            says = "progress", shorten(str(event.get("message") or ""), _MAX_CUT_CHARS)
        case kind:
            says = kind, event.get("message")
    lead, text = (_show(str(one or "")) for one in says)
    return f"**{lead}** {text}".rstrip()


def is_shown_whole(text: str) -> bool:
    """True for a text that a line of the log shows from its first word to its last."""
    return len(text) <= _MAX_VISIBLE_CHARS and len(text.splitlines()) == 1


def _plain(value: object) -> str:
    """A value as words: `command: ls, limit: 10`."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(one)}" for key, one in list(value.items())[:8])
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value[:8]))
    return "" if value is None else str(value)[:_MAX_KEPT_CHARS]


def _usage_text(event: RunEvent) -> str:
    usage, cost = event.get("usage"), event.get("cost_usd")
    parts = []
    if isinstance(usage, dict):
        parts.append(f"{usage.get('input', 0)}+{usage.get('output', 0)} tokens")
    if isinstance(cost, int | float):
        parts.append(f"{cost:.4f} dollars")
    return ", ".join(parts)


def _show(text: str) -> str:
    """A text on one line, in which nothing is markup or a link."""
    line = shorten(text[: 20 * _MAX_VISIBLE_CHARS].translate(_UNSHOWN), _MAX_VISIBLE_CHARS)
    return _MARKUP_RE.sub(lambda found: "\\" + found[0], line)
