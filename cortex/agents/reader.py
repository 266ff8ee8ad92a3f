"""What an agent program prints, read as events of a run: what the readers of all programs share.

Usage counts tokens: `input` is all that the model read, `cached` those of them that a cache held, `output`
what it wrote. The `reason` of an error is `refusal`, `login` or `limit`, or there is none.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from cortex.core.redact.secrets import sanitize_text
from cortex.core.runs.run_event import TERMINAL, RunEvent, decode_json
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shorten

Usage: TypeAlias = dict[str, int]

_MAX_ERROR_CHARS, _MAX_TRACE_CHARS, _MAX_INFO_CHARS = 2_000, 8_000, 500
_CHARS_PER_PROGRESS = 4_000  # so that a long answer is not taken for a standstill
_SIGNS = {
    "refusal": lazy_re(r"(?i)content.?filter|usage polic|blocked due to safety|prohibited.content"),
    "login": lazy_re(
        r"(?i)\b(?:error|status|code)\W{1,3}401\b|unauthor|authenticat|not logged in|/login\b|\bauth method\b"
        r"|api.key.{0,40}(?:missing|invalid|not valid)"
        r"|(?:missing|invalid|incorrect|must specify).{0,40}api.key"
    ),
    "limit": lazy_re(r"(?i)\b(?:429|529)\b|rate.?limit|quota|overloaded|RESOURCE_EXHAUSTED"),
}


class EventReader:
    """Reads the output of one run. After its terminal event nothing counts any more."""

    login = ""  # what a person does who is not logged in

    def __init__(self, before: Usage) -> None:
        self.before = before  # usage of all the runs that this one continues
        self.session, self.said = "", ""  # id of the session; the last message
        self._tools: dict[str, str] = {}  # id of a call that runs -> its tool
        self._is_ended, self._streamed = False, 0

    def read(self, value: object) -> list[RunEvent]:
        """The events that one decoded line of its output means; for what is unknown an `info`."""
        if self._is_ended:
            return []
        events = self.events_of(value) if isinstance(value, dict) else [info(value)]
        self._is_ended = any(event["event"] in TERMINAL for event in events)
        return events

    def end(self, exit_code: int, stderr: str) -> RunEvent | None:
        """The terminal event if none came before the program ended. Then it failed, whatever its code."""
        if self._is_ended:
            return None
        self._is_ended = True
        why, trace = last_words(stderr)
        told = f"the program ended with code {exit_code} and no result{why}"
        return self.failed(told, _reason_of(stderr), trace=sanitize_text(trace))

    def events_of(self, fields: dict[str, object]) -> list[RunEvent]:
        """The events that a JSON object of this program means."""
        raise NotImplementedError

    def started(self, fields: object, session: str = "session_id") -> list[RunEvent]:
        """`start`, by an object that names the session and perhaps the model."""
        self.session = text_at(fields, session)
        return [{"event": "start", "session_id": self.session, "model": text_at(fields, "model")}]

    def tool_start(self, tool: str, args: object, call: str) -> RunEvent:
        """`tool_start`, once the program names a tool and what it is given."""
        self._tools[call] = tool
        return {"event": "tool_start", "tool": tool, "args": args, "call_id": call}

    def tool_end(self, call: str, result: object, *, ok: bool) -> RunEvent:
        """`tool_end`, of a call that began."""
        tool = self._tools.pop(call, "")
        return {"event": "tool_end", "tool": tool, "call_id": call, "ok": ok, "result": result}

    def streamed(self, chars: int) -> list[RunEvent]:
        """For so many characters more of an answer nothing, or now and then a `progress`."""
        before, self._streamed = self._streamed, self._streamed + chars
        is_due = before // _CHARS_PER_PROGRESS < self._streamed // _CHARS_PER_PROGRESS
        return [info(f"{self._streamed:,} characters", "progress")] if is_due else []

    def finished(self, result: str, /, **more: object) -> RunEvent:
        """`finish`; `error` without any text, since Codex leaves out what a model refuses with."""
        if not result.strip():
            return self.failed("the model gave no answer", "refusal", **more)
        return {"event": "finish", "result": result, "session_id": self.session, **more}

    def failed(self, why: str, reason: str = "", /, **more: object) -> RunEvent:
        """`error`, without keys, and with what to do where a login is missing."""
        reason = reason or _reason_of(why)
        error = shorten(sanitize_text(_without_json(why)), _MAX_ERROR_CHARS)
        hints = {"login": self.login, "limit": "wait, then ask again, or another provider"}
        error += f"; {hint}" if (hint := hints.get(reason, "")) else ""
        return {"event": "error", "error": error, **({"reason": reason} if reason else {}), **more}


def last_words(stderr: str) -> tuple[str, str]:
    """The line of standard error that says what is wrong, behind a colon, or nothing; and all lines."""
    lines = [line.strip() for line in stderr[-_MAX_TRACE_CHARS:].splitlines() if line.strip()]
    errors = [one for one in lines if "rror" in one[:120] and not one.startswith("at ")]
    return "".join(f": {one}" for one in (errors or lines)[-1:]), "\n".join(lines)


def _without_json(why: str) -> str:
    """An error whose JSON, where it has some with a message, is that message."""
    begin, end = why.find("{"), why.rfind("}") + 1
    value = decode_json(why[begin:end])
    told = text_at(value, "error", "message") or text_at(value, "message")
    return f"{why[:begin]}{told}{why[end:]}" if told else why


def _reason_of(text: str) -> str:
    return next((name for name, sign in _SIGNS.items() if sign.search(text)), "")


def info(value: object, kind: str = "info") -> RunEvent:
    """`info`, or `progress`, that shows any value shortly."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        text = "a value nested too deep"
    return {"event": kind, "message": shorten(sanitize_text(text[:20_000]), _MAX_INFO_CHARS)}


def text_at(value: object, *keys: str) -> str:
    """The text that stands in objects under these keys; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def objects_at(value: object, *keys: str) -> list[dict[str, object]]:
    """The objects of the list that stands in objects under these keys."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def usage_of(value: object, read: str, wrote: str, cached: str) -> Usage:
    """Usage, of an object with these keys."""
    keys = {"input": read, "output": wrote, "cached": cached}
    return {name: count_at(value, key) for name, key in keys.items()}


def count_at(value: object, key: str) -> int:
    """The number that stands in an object under this key; 0 where there is none."""
    number = value.get(key) if isinstance(value, dict) else None
    return number if isinstance(number, int) and number > 0 else 0
