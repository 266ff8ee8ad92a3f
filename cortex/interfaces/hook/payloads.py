"""Payloads of hooks in one form for all hosts, and answers in the form a host takes (`hosts/`)."""

from __future__ import annotations

import json

from cortex.hosts import load_host
from cortex.hosts.host import EVENTS, NESTED_CONTEXT
from cortex.operations.capture.hook_capture import HookEvent

_LONG_FIELDS = ("prompt", "message", "summary")
_MAX_NAME_CHARS = 4_000  # characters of a field that is a name or a path


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
    return f"{json.dumps(answer)}\n".encode()


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
            return value if field in _LONG_FIELDS else value[:_MAX_NAME_CHARS]
    return ""
