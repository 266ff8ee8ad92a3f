"""Each agent host's own words: its events, the fields of what it tells, and exactly what it accepts as an answer.

A table per host, and no more: what a host may do later is another line here.
"""

from __future__ import annotations

from cortex.core.text.json_text import dumps
from cortex.core.text.value import NamedTuple
from cortex.operations.capture.hook_capture import Told

SESSION_START, PROMPT, STOP, SUBAGENT_STOP = (
    "session-start",
    "user-prompt-submit",
    "stop",
    "subagent-stop",
)
PRE_COMPACT, POST_COMPACT, SESSION_END = "pre-compact", "post-compact", "session-end"
EVENTS = (SESSION_START, PROMPT, PRE_COMPACT, POST_COMPACT, STOP, SUBAGENT_STOP, SESSION_END)

# How a text is handed over, by the shape of the answer; `{}` is an answer that says nothing where nothing is not allowed.
_SPECIFIC, _CAMEL, _SNAKE = "hookSpecificOutput", "additionalContext", "additional_context"
_EMPTY = b"{}\n"

_LONGEST_NAME = 4_000  # characters of a field that is a name or a path


class Dialect(NamedTuple):
    """How a host speaks. A field may have several names, the first that holds a text counts; a dot leads into an object."""

    events: dict[str, str]  # its own names, without capitals and signs -> our words
    fields: dict[str, tuple[str, ...]]  # our names of fields -> its own
    gives: dict[
        str, tuple[str, str]
    ]  # an event on which it takes a text -> the shape, and its name of the event
    silent: frozenset[str] = frozenset()  # events on which it wants JSON even for nothing
    once: bool = False  # whether it may start one session many times: then a briefing is given once


# What Claude Code sends; others took it over.
_FIELDS: dict[str, tuple[str, ...]] = {
    "session": ("session_id",), "cwd": ("cwd",), "transcript": ("transcript_path",), "prompt": ("prompt",), "message": ("last_assistant_message",),
    "source": ("source",), "reason": ("reason",), "summary": ("compact_summary",), "agent": ("agent_id",),
    "agent_transcript": ("agent_transcript_path",), "turn": ("prompt_id",),
}  # fmt: skip
_NAMES = {
    "sessionstart": SESSION_START, "userpromptsubmit": PROMPT, "precompact": PRE_COMPACT, "postcompact": POST_COMPACT, "stop": STOP,
    "subagentstop": SUBAGENT_STOP, "sessionend": SESSION_END,
}  # fmt: skip
_NESTED = {SESSION_START: (_SPECIFIC, "SessionStart"), PROMPT: (_SPECIFIC, "UserPromptSubmit")}

DIALECTS: dict[str, Dialect] = {
    "claude": Dialect(_NAMES, _FIELDS, _NESTED),
    "codex": Dialect(_NAMES, _FIELDS | {"turn": ("turn_id",)}, _NESTED, frozenset([STOP, SUBAGENT_STOP])),
    "gemini": Dialect(
        _NAMES | {"beforeagent": PROMPT, "afteragent": STOP, "precompress": PRE_COMPACT},
        _FIELDS | {"message": ("prompt_response",), "turn": (), "moment": ("timestamp",)},
        {SESSION_START: (_SPECIFIC, "SessionStart"), PROMPT: (_SPECIFIC, "BeforeAgent")},
        frozenset(EVENTS),
    ),
    "cursor": Dialect(
        _NAMES | {"beforesubmitprompt": PROMPT, "afteragentresponse": STOP},
        _FIELDS | {"session": ("conversation_id", "session_id"), "cwd": ("cwd", "workspace_roots"), "message": ("text",), "turn": ("generation_id",)},
        {SESSION_START: (_SNAKE, "")},
    ),
    "copilot": Dialect(
        _NAMES | {"userpromptsubmitted": PROMPT, "agentstop": STOP},
        _FIELDS | {
            "session": ("session_id", "sessionId"), "transcript": ("transcript_path", "transcriptPath"), "prompt": ("prompt", "initialPrompt"),
            "message": ("last_assistant_message", "lastAssistantMessage"), "turn": (), "moment": ("timestamp",),
        },
        {SESSION_START: (_CAMEL, "")},
        once=True,
    ),
    "windsurf": Dialect(
        _NAMES | {"preuserprompt": PROMPT, "postcascaderesponse": STOP, "postcascaderesponsewithtranscript": STOP},
        _FIELDS | {
            "session": ("trajectory_id",), "prompt": ("tool_info.user_prompt",), "message": ("tool_info.response",),
            "transcript": ("tool_info.transcript_path",), "turn": ("execution_id",),
        },
        {},
    ),
}  # fmt: skip


def word_of(host: str, event: str) -> str:
    """Our word for an event; empty when the host has none of that name."""
    return DIALECTS[host].events.get("".join(sign for sign in event.lower() if sign.isalnum()), "")


def told(host: str, event: str, table: dict[str, object]) -> Told:
    """What a host's JSON tells. A field that is missing or of another type tells nothing."""
    return Told(
        event,
        host,
        **{name: _text(table, names, name) for name, names in DIALECTS[host].fields.items()},
    )


def answer(host: str, event: str, text: str) -> bytes:
    """What the host is to read: the text where it takes one, else what says nothing."""
    shape, name = DIALECTS[host].gives.get(event, ("", ""))
    if not text or not shape:
        silent = DIALECTS[host].silent
        return _EMPTY if event in silent or silent.issuperset(EVENTS) else b""
    answered: dict[str, object] = {
        shape: {"hookEventName": name, _CAMEL: text} if shape == _SPECIFIC else text
    }
    return f"{dumps(answered)}\n".encode()


def _text(table: dict[str, object], names: tuple[str, ...], field: str) -> str:
    for name in names:
        value: object = table
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, int) and not isinstance(value, bool) and field in ("turn", "moment"):
            value = str(value)
        if isinstance(value, str) and value.strip():
            if not value.isascii():
                value = value.encode(
                    "utf-8", "backslashreplace"
                ).decode()  # half a surrogate pair can be written nowhere
            return value if field in ("prompt", "message", "summary") else value[:_LONGEST_NAME]
    return ""
