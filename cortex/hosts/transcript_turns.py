"""A transcript turn by turn, as it is read: each a message, with the tools that its agent called next."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.hosts import new_reader
from cortex.hosts.tail import read_new_lines, read_partial_line
from cortex.hosts.transcript_item import (
    AGENT_TEXT,
    PROMPT,
    REPLY,
    SUMMARY,
    TOOL_CALL,
)
from cortex.hosts.transcript_reader import ToolCall, parse_json_object

USER, ASSISTANT, AGENT, HOST = "user", "assistant", "agent", "host"
MAX_TEXT_CHARS, MAX_TOOL_CHARS = 20_000, 2_000  # of a turn, and of what a tool is given or answers
_MAX_BYTES = 64 << 20  # of a transcript that are read
_MAX_REDACTED_CHARS = 200_000  # far more than is shown, so that no half of a secret is
_MAX_SUMMARY_CHARS = 120
_NEAR_CHARS, _MAX_PLACES = 250, 80  # around a word that is found, by which it may be a secret
_MAX_TOOLS = 200  # of a turn; more are in the next
_SPEAKERS = {
    PROMPT: USER, REPLY: USER, AGENT_TEXT: ASSISTANT, TOOL_CALL: ASSISTANT, SUMMARY: HOST,
}  # fmt: skip
_TELLING_KEYS = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "description")


class ToolUse(NamedTuple):
    """A call of a tool."""

    name: str
    summary: str  # one line
    input: str
    output: str
    failed: bool
    input_cut: bool = False
    output_cut: bool = False


class SessionTurn(NamedTuple):
    """One message, and the tools that were called next."""

    number: int  # from 1
    at: str  # UTC; empty if the host has no times
    who: str  # user, assistant, agent (who asks a subagent), host (a summary) or capture (by hand)
    text: str
    about: str = ""  # of a reply: the question, or what it refuses
    tools: tuple[ToolUse, ...] = ()
    cut: bool = False


def read_turns(host: str, path: str) -> tuple[dict[str, list[SessionTurn]], str]:
    """The turns of a transcript as it is now, whole and with secrets (`shown_turn` is for people), by
    the name of their side chain, empty for the session's own; and what could not be read. Of a last line
    that is torn nothing. Raises nothing."""
    reader, look = new_reader(host), read_new_lines(path, most=_MAX_BYTES)
    last = b"" if look.fault else read_partial_line(path, look.position)
    lines = [*look.lines, *([last] if parse_json_object(last) else [])]
    calls = reader.calls = dict[str, ToolCall]()
    reader.prescan(lines)
    turns: dict[str, list[SessionTurn]] = {"": []}
    for item in reader.feed(lines):
        if not (who := _SPEAKERS.get(item.kind)):
            continue
        said, is_call = turns.setdefault(item.sidechain, []), item.kind == TOOL_CALL
        follows = is_call and said and said[-1].who == ASSISTANT
        if not follows or len(said[-1].tools) == _MAX_TOOLS:
            is_asked = item.kind == PROMPT and (item.sidechain or reader.is_sidechain)
            about = item.at, AGENT if is_asked else who, item.text, item.about
            said.append(SessionTurn(len(said) + 1, *about))
        if is_call:
            said[-1] = said[-1]._replace(tools=(*said[-1].tools, _tool_use(calls[item.id])))
    counts = (look.bytes_left, "bytes"), (reader.skipped_lines, "lines")
    left = ", ".join(f"{count:,} {what} were not read" for count, what in counts if count)
    return turns, look.fault or left


def shown_turn(one: SessionTurn) -> SessionTurn:
    """A turn without secrets, of at most `MAX_TEXT_CHARS` characters, and `MAX_TOOL_CHARS` of what a
    tool was given and answered."""
    text, cut = _clip(one.text, MAX_TEXT_CHARS)
    tools = tuple(map(_shown_use, one.tools))
    return one._replace(text=text, about=sanitize_text(one.about), tools=tools, cut=cut)


def find_turns(turns: Sequence[SessionTurn], words: str) -> tuple[int, ...]:
    """The numbers of the turns that hold all words, in any case; not as parts of secrets."""
    wanted = words.lower().split()
    return tuple(one.number for one in turns if wanted and _holds(one, wanted))


def _holds(one: SessionTurn, words: Sequence[str]) -> bool:
    said = (f"{use.name}\n{use.input}\n{use.output}" for use in one.tools)
    text = "\n".join((one.about, one.text, *said))
    low = text.lower()
    return all(word in low for word in words) and all(_shows(text, low, word) for word in words)


def _shows(text: str, low: str, word: str) -> bool:
    places = (found.start() for found in re.finditer(re.escape(word), low))
    near = (text[max(0, at - _NEAR_CHARS) : at + _NEAR_CHARS] for at in islice(places, _MAX_PLACES))
    return any(word in sanitize_text(part).lower() for part in near)


def _tool_use(call: ToolCall) -> ToolUse:
    given = call.given if isinstance(call.given, dict) else {"command": call.given}
    telling = (given[key] for key in (*_TELLING_KEYS, *given) if given.get(key))
    summary = _as_text(next(telling, ""))
    return ToolUse(call.name, summary, _as_text(call.given), call.output, call.failed)


def _shown_use(use: ToolUse) -> ToolUse:
    summary = shorten(_clip(use.summary)[0], _MAX_SUMMARY_CHARS)
    (given, input_cut), (output, output_cut) = _clip(use.input), _clip(use.output)
    return ToolUse(_clip(use.name)[0], summary, given, output, use.failed, input_cut, output_cut)


def _clip(text: str, most: int = MAX_TOOL_CHARS) -> tuple[str, bool]:
    clean = sanitize_text(text[:_MAX_REDACTED_CHARS])
    return clean[:most], len(clean) > most or len(text) > _MAX_REDACTED_CHARS


def _as_text(given: object, *, is_inner: bool = False) -> str:
    """What a tool is given: a text, or a line `key: value` for each of its values."""
    if isinstance(given, dict) and not is_inner:
        return "\n".join(f"{key}: {_as_text(one, is_inner=True)}" for key, one in given.items())
    with suppress(RecursionError):
        return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return "(nested too deep)"
