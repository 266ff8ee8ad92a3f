"""Each agent host's own words: its events, the fields of what it tells, and exactly what it accepts as an answer.

A table per host, and no more: what a host may do later is another line here.
"""

from __future__ import annotations

from cortex.core.text.json_text import dumps
from cortex.core.text.value import NamedTuple
from cortex.operations.capture.hook_capture import HookEvent

SESSION_START, PROMPT, STOP, SUBAGENT_STOP = (
    "session-start",
    "user-prompt-submit",
    "stop",
    "subagent-stop",
)
PRE_COMPACT, POST_COMPACT, SESSION_END = "pre-compact", "post-compact", "session-end"
EVENTS = (SESSION_START, PROMPT, PRE_COMPACT, POST_COMPACT, STOP, SUBAGENT_STOP, SESSION_END)

# How a text is handed over, by the shape of the answer; `{}` is an answer that says nothing where nothing is not allowed.
_NESTED_OUTPUT_KEY, _CAMEL_CASE_KEY, _SNAKE_CASE_KEY = (
    "hookSpecificOutput",
    "additionalContext",
    "additional_context",
)
_EMPTY_JSON = b"{}\n"

_MAX_NAME_CHARS = 4_000  # characters of a field that is a name or a path


class PayloadMapping(NamedTuple):
    """How a host speaks. A field may have several names, the first that holds a text counts; a dot leads into an object."""

    event_names: dict[str, str]  # its own names, without capitals and signs -> our words
    field_names: dict[str, tuple[str, ...]]  # our names of fields -> its own
    answer_formats: dict[
        str, tuple[str, str]
    ]  # an event on which it takes a text -> the shape, and its name of the event
    empty_json_events: frozenset[str] = (
        frozenset()
    )  # events on which it wants JSON even for nothing
    is_briefed_once: bool = (
        False  # whether it may start one session many times: then a briefing is given once
    )


# What Claude Code sends; others took it over.
_CLAUDE_FIELDS: dict[str, tuple[str, ...]] = {
    "session": ("session_id",), "cwd": ("cwd",), "transcript": ("transcript_path",), "prompt": ("prompt",), "message": ("last_assistant_message",),
    "source": ("source",), "reason": ("reason",), "summary": ("compact_summary",), "agent": ("agent_id",),
    "agent_transcript": ("agent_transcript_path",), "turn": ("prompt_id",),
}  # fmt: skip
_CLAUDE_EVENTS = {
    "sessionstart": SESSION_START, "userpromptsubmit": PROMPT, "precompact": PRE_COMPACT, "postcompact": POST_COMPACT, "stop": STOP,
    "subagentstop": SUBAGENT_STOP, "sessionend": SESSION_END,
}  # fmt: skip
_CLAUDE_ANSWERS = {
    SESSION_START: (_NESTED_OUTPUT_KEY, "SessionStart"),
    PROMPT: (_NESTED_OUTPUT_KEY, "UserPromptSubmit"),
}

PAYLOAD_MAPPINGS: dict[str, PayloadMapping] = {
    "claude": PayloadMapping(_CLAUDE_EVENTS, _CLAUDE_FIELDS, _CLAUDE_ANSWERS),
    "codex": PayloadMapping(_CLAUDE_EVENTS, _CLAUDE_FIELDS | {"turn": ("turn_id",)}, _CLAUDE_ANSWERS, frozenset([STOP, SUBAGENT_STOP])),
    "gemini": PayloadMapping(
        _CLAUDE_EVENTS | {"beforeagent": PROMPT, "afteragent": STOP, "precompress": PRE_COMPACT},
        _CLAUDE_FIELDS | {"message": ("prompt_response",), "turn": (), "moment": ("timestamp",)},
        {SESSION_START: (_NESTED_OUTPUT_KEY, "SessionStart"), PROMPT: (_NESTED_OUTPUT_KEY, "BeforeAgent")},
        frozenset(EVENTS),
    ),
    "cursor": PayloadMapping(
        _CLAUDE_EVENTS | {"beforesubmitprompt": PROMPT, "afteragentresponse": STOP},
        _CLAUDE_FIELDS | {"session": ("conversation_id", "session_id"), "cwd": ("cwd", "workspace_roots"), "message": ("text",), "turn": ("generation_id",)},
        {SESSION_START: (_SNAKE_CASE_KEY, "")},
    ),
    "copilot": PayloadMapping(
        _CLAUDE_EVENTS | {"userpromptsubmitted": PROMPT, "agentstop": STOP},
        _CLAUDE_FIELDS | {
            "session": ("session_id", "sessionId"), "transcript": ("transcript_path", "transcriptPath"), "prompt": ("prompt", "initialPrompt"),
            "message": ("last_assistant_message", "lastAssistantMessage"), "turn": (), "moment": ("timestamp",),
        },
        {SESSION_START: (_CAMEL_CASE_KEY, "")},
        is_briefed_once=True,
    ),
    "windsurf": PayloadMapping(
        _CLAUDE_EVENTS | {"preuserprompt": PROMPT, "postcascaderesponse": STOP, "postcascaderesponsewithtranscript": STOP},
        _CLAUDE_FIELDS | {
            "session": ("trajectory_id",), "prompt": ("tool_info.user_prompt",), "message": ("tool_info.response",),
            "transcript": ("tool_info.transcript_path",), "turn": ("execution_id",),
        },
        {},
    ),
}  # fmt: skip


def canonical_event(host: str, event: str) -> str:
    """Our word for an event; empty when the host has none of that name."""
    return PAYLOAD_MAPPINGS[host].event_names.get(
        "".join(sign for sign in event.lower() if sign.isalnum()), ""
    )


def parse_payload(host: str, event: str, table: dict[str, object]) -> HookEvent:
    """What a host's JSON tells. A field that is missing or of another type tells nothing."""
    return HookEvent(
        event,
        host,
        **{
            name: _field_text(table, names, name)
            for name, names in PAYLOAD_MAPPINGS[host].field_names.items()
        },
    )


def render_answer(host: str, event: str, text: str) -> bytes:
    """What the host is to read: the text where it takes one, else what says nothing."""
    shape, name = PAYLOAD_MAPPINGS[host].answer_formats.get(event, ("", ""))
    if not text or not shape:
        silent = PAYLOAD_MAPPINGS[host].empty_json_events
        return _EMPTY_JSON if event in silent or silent.issuperset(EVENTS) else b""
    answered: dict[str, object] = {
        shape: {"hookEventName": name, _CAMEL_CASE_KEY: text}
        if shape == _NESTED_OUTPUT_KEY
        else text
    }
    return f"{dumps(answered)}\n".encode()


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
            if not value.isascii():
                value = value.encode(
                    "utf-8", "backslashreplace"
                ).decode()  # half a surrogate pair can be written nowhere
            return value if field in ("prompt", "message", "summary") else value[:_MAX_NAME_CHARS]
    return ""
