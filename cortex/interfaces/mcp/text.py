"""Render answers as text for a model, which pays for each token: ids that the next call needs, no absolute
path, no number without a use, and hints as calls of available tools.

Answers that are short enough on the command line are rendered the same way (`render`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from cortex.core.model.event import is_event_id
from cortex.core.model.record import short_handle
from cortex.core.text.agent_escape import escape_for_agent, show_controls
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shorten
from cortex.interfaces.cli import hint, render
from cortex.interfaces.cli.arguments import is_list
from cortex.interfaces.cli.view import (
    HINT_RE,
    LEAD_RE,
    LONG_LINE_MARK,
    PATH_RE,
    choose_lines,
    strip_colors,
)
from cortex.interfaces.declare import Parameter, is_note_name
from cortex.interfaces.escape_terminal import escape
from cortex.interfaces.mcp.tools import Tool, declare

_SNIPPETS_CHARS = 1_000  # of all hits together; of one between these
_MIN_SNIPPET_CHARS, _MAX_SNIPPET_CHARS = 60, 120
# Commands of ours in the text of a frame, whose other lines tell of notes.
FRAME_COMMAND_RE = lazy_re(
    r"(?<=`)cortex show HANDLE(?=`)|(?<=(?:more| all| out): )cortex [^\[\n]+$", re.MULTILINE
)
_EVENTS_RE = lazy_re(r"\A(---\n(?:.+\n)*?(?:provenance:\n(?=  ))?)(?:  )?events: .*\n")
# A verb of which a profile may have no tool -> the status by which `revise` does the same.
_REVISED_STATUS = {"done": "done", "archive": "archived", "delete": "deleted", "restore": "active"}


def answer_text(
    tool: Tool, answer: Any, root: str, tools: Mapping[str, Tool], vault: str = ""
) -> str:
    """What a verb answered, for a model that has these tools and named this vault. Nothing in it opens a
    frame of a host."""
    if tool.verb == "show" and not answer.parts:  # whose file would be printed
        text = answer.text.replace(f"aliases: [{answer.title}]\n", "", 1)  # once more its title
        text = _EVENTS_RE.sub(r"\1", text).replace("provenance:\n---\n", "---\n", 1)
        text = f"⚠ {answer.doubt}\n\n{text}" if answer.doubt else text
    else:
        if tool.verb == "status":
            answer = answer._replace(vault=os.path.basename(root))
        marked = render.marked_text(tool.verb, answer)
        text = _finish(marked, root, lambda words: reword(words, tool, tools, vault))
    text = text.strip("\n")
    if render.is_framed(tool.verb, answer):
        return readable(say_commands(FRAME_COMMAND_RE, text, tools))
    return readable(escape_for_agent(f"\n{text}")[1:])


def _finish(marked: str, root: str, say: Callable[[str], str]) -> str:
    """The text of a renderer: each note by its shortest name, not twice in a row, long lines cut."""
    marked, last = strip_colors(marked), ""

    def name(found: re.Match[str], *, is_lead: bool = False) -> str:
        nonlocal last
        before, last = last, _short_name(found[1], root)
        return f"{last} " if is_lead else "" if last == before else last

    most = _SNIPPETS_CHARS // max(1, marked.count(LONG_LINE_MARK))
    most = min(max(most, _MIN_SNIPPET_CHARS), _MAX_SNIPPET_CHARS)
    lines = []
    for line in choose_lines(marked, pictures=False):
        shown = f"  {shorten(line[1:], most)}" if line[:1] == LONG_LINE_MARK else line
        shown = HINT_RE.sub(lambda found: say(found[1]), shown)
        shown = PATH_RE.sub(name, LEAD_RE.sub(partial(name, is_lead=True), shown))
        if shown == line or shown.strip():  # what is left out leaves no empty line
            lines.append(shown.rstrip())
    return "\n".join(lines)


def _short_name(place: str, root: str) -> str:
    """The shortest name by which a tool finds a note: of its id or path, which may be absolute, perhaps with
    `:line`."""
    file, _, line = place.rpartition(":")
    path = (file if line.isdecimal() else place).removeprefix(f"{root}/")
    is_ours = path.startswith(("records/", "sessions/", "events/"))
    stem = os.path.basename(path).removesuffix(".md") if is_ours or os.path.isabs(path) else path
    name = stem.rpartition("-")[2] if is_event_id(stem) else short_handle(stem)
    if path.startswith("sessions/") and "-" in name:
        name = stem  # a file's name has not the words of its id
    return escape(f'"{name}"' if " " in name else name)


def say_commands(which: re.Pattern[str], text: str, tools: Mapping[str, Tool]) -> str:
    """The text with these commands as calls of the tools; one that none can make stays."""
    one, lead = Tool("show"), "call "
    return which.sub(
        lambda found: reword(found[0], one, tools).removeprefix(lead) or found[0], text
    )


def reword(words: str, tool: Tool, tools: Mapping[str, Tool], vault: str = "") -> str:
    """A hint of an answer of `tool` with its commands as calls of these tools, in this vault; see `hint.reword`."""
    verbs = {one.verb for one in tools.values()}
    verbs |= _REVISED_STATUS.keys() if "revise" in verbs else {*()}
    labels = {one.flag: one.label for one in declare(tool).parameters}
    return hint.reword(words, verbs, lambda call: _say_call(call, tools, vault), labels)


def _say_call(call: hint.HintedCall, tools: Mapping[str, Tool], vault: str) -> str:
    """The call as one of the first tool that can make it; empty for none."""
    for name, tool in tools.items():
        given = {**call.given}
        if tool.verb == "revise" and (status := _REVISED_STATUS.get(call.verb)):
            ids = given.pop("ids", [given.pop("id", "")])
            one = {"id": ids[0]} if isinstance(ids, list) and len(ids) == 1 else {"ids": ids}
            given |= {"status": status, **one}
        elif tool.verb != call.verb:
            continue
        if tool.verb == "search" and given.pop("all", False):  # an option that few tools have
            given["query"] = f"status:superseded,pruned,deleted {given.get('query', '')}".strip()
        is_fixed = all(given.pop(key, key == "yes") == one for key, one in tool.fixed.items())
        parameters = {one.name: one for one in declare(tool).parameters if one.label}
        lacks = {key for key, one in parameters.items() if one.required} - given.keys()
        if is_fixed and given.keys() <= parameters.keys() and not (given and lacks):
            chosen = [one for key, one in parameters.items() if key in given]
            values = [f"{one.label}={_value(one, given[one.name])}" for one in chosen]
            values += [f"vault={json.dumps(vault, ensure_ascii=False)}"] if vault else []
            return f"{name}({', '.join(values)})" if given else name
    return ""


def _value(parameter: Parameter, value: object) -> str:
    """A value as JSON; a placeholder as it stands."""
    words: list[Any] = value if isinstance(value, list) else [value]
    if is_list(parameter) and isinstance(value, str):
        words = value.split(",")
    shown: list[str] = []
    for word in words:
        name = short_handle(word) if is_note_name(parameter.type) else word
        is_plain = isinstance(word, str) and (word.isupper() or word.isdecimal() or word == "…")
        shown.append(word if is_plain else json.dumps(name, ensure_ascii=False))
    return f"[{', '.join(shown)}]" if is_list(parameter) else shown[0]


def neutralize_json(value: Any, *, keep_text: bool = False) -> Any:
    """A JSON value in which no text opens a frame. `keep_text`: but for the field `text`, which stands
    in a frame of ours and is neutral inside."""
    if isinstance(value, str):
        return neutralize(value)
    if isinstance(value, dict):
        kept = {"text": value["text"]} if keep_text and "text" in value else {}
        return {neutralize_json(key): neutralize_json(one) for key, one in value.items()} | kept
    return [neutralize_json(one) for one in value] if isinstance(value, list) else value


def neutralize(text: str) -> str:
    """A text that opens no frame, and that a client can read."""
    return readable(escape_for_agent(text))


def readable(text: str) -> str:
    """The text without controls, nor halves of characters, as names that are no UTF-8 have them."""
    text = show_controls(text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
