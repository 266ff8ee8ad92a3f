"""Answer a call of a tool by its verb: structured content as `--json` has it, and a text, both in pages."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import CortexError
from cortex.core.text.agent_escape import escape_for_agent, show_controls
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.index.refresh import query_index
from cortex.interfaces import pages
from cortex.interfaces.call import Request, bind
from cortex.interfaces.cli import render
from cortex.interfaces.cli.view import View
from cortex.interfaces.declare import (
    Declaration,
    declaration_of,
    for_servers,
    is_absent,
    load_verb,
    refuse_unknown,
)
from cortex.interfaces.mcp.tools import Tool
from cortex.operations.capture.project_context import resolve_project
from cortex.operations.find.resolve_session import list_live_sessions, session_name
from cortex.operations.find.show import ShownNote
from cortex.vault.locate import Vault


class ToolAnswer(NamedTuple):
    """What a call gives. Nothing in it opens a frame of a host."""

    content: dict[str, Any]
    text: str


def declare(tool: Tool) -> Declaration:
    """The verb's declaration, without what reaches beside the vault. The parameters that the tool has
    are labelled as it calls them, the others not at all."""
    declared = for_servers(declaration_of(load_verb(tool.verb)))
    if not tool.arguments:
        own = (one._replace(label=one.name) for one in declared.parameters)
        return declared._replace(parameters=tuple(own))
    known = {one.name: one for one in declared.parameters}
    for label, (name, meaning) in tool.arguments.items():
        required = known[name].required or label in tool.required
        known[name] = known[name]._replace(label=label, meaning=meaning, required=required)
    return declared._replace(parameters=tuple(known.values()))


def call_tool(
    name: str,
    tool: Tool,
    arguments: Mapping[str, object],
    request: Request,
    *,
    is_whole: bool = False,
) -> ToolAnswer:
    """Call the verb of a tool; `is_whole`: without pages. Arguments that stand for none are not given.
    Raises `CortexError`, and `OSError`."""
    declared = declare(tool)
    has_pages = pages.has_pages(tool.verb) and not is_whole
    known = {one.label: one for one in declared.parameters if one.label}
    known |= {"cursor": pages.CURSOR} if has_pages else {}
    hint = f"arguments of {name}: {', '.join(known)}"
    refuse_unknown(name, arguments, [*known], hint)
    said = {
        one.name: arguments[key]
        for key, one in known.items()
        if not is_absent(one, arguments.get(key))
    }
    cursor = str(said.pop("cursor", ""))
    given: dict[str, object] = {**tool.defaults, **said, **tool.fixed}
    if tool.verb in render.FRAMED_VERBS:  # they stand in a frame of ours
        texts = {key: neutralize(text) for key, text in given.items() if isinstance(text, str)}
        given |= texts
    try:
        call = bind(load_verb(tool.verb), declared, given, request)
        if call.vault and given.get("type") == "prompt" and not call.given.get("session"):
            project = call.values()["project"]
            call.given["session"] = _only_live_session(call.vault, call.caller, project)
        answer, following = pages.answer_page(call, cursor) if has_pages else (call.answer(), "")
    except CortexError as error:
        error.hint = hint if error.hint == f"cortex {tool.verb} --help" else error.hint
        for one in declared.parameters:
            if one.label:  # the tool's own names, not those of the command line
                error.hint = re.sub(rf"{one.flag}\b(?!-)", one.label, error.hint)
        raise
    root = call.vault.root if call.vault else ""
    content = render.as_json(answer)
    if has_pages and tool.verb in pages.MAX_NOTES:
        answer = answer._replace(total=len(answer.hits))  # what is left is told by the cursor
    return _tool_answer(tool, answer, content, following, View(root or request.cwd, root))


def _tool_answer(
    tool: Tool, answer: Any, content: dict[str, Any], following: str, view: View
) -> ToolAnswer:
    """What the verb answered, as content and text; `following` is the cursor of the next page."""
    for hit in content["hits"] if tool.preview else ():
        hit["snippet"] = shorten(hit["snippet"], tool.preview)
    text = _text_of(tool.verb, answer, view)
    if following:
        content["next_cursor"] = following
        text = f"{text}\n\nmore with cursor {following}"
    return ToolAnswer(_neutralize_json(content, keep_text=tool.verb in render.FRAMED_VERBS), text)


def _only_live_session(vault: Vault, caller: Caller, project: str) -> str:
    """The name of the project's live session if there is exactly one, else empty. A prompt without a
    session would begin a new one."""
    project = resolve_project(vault, caller, project)
    live = query_index(
        vault,
        no_progress,
        lambda index: list_live_sessions(index.catalogue, caller.now),
    )
    names = [session_name(session.row) for session in live if session.row.project == project]
    return names[0] if len(names) == 1 else ""


def _text_of(verb: str, answer: Any, view: View) -> str:
    shown = io.StringIO()
    if isinstance(answer, ShownNote):  # whose file would be printed
        shown.write(answer.text)
    else:
        render.print_answer(verb, answer, shown, view)
    text = shown.getvalue().rstrip("\n")
    if not render.is_framed(verb, answer):
        text = escape_for_agent(f"\n{text}")[1:]
    return _readable(text)


def _neutralize_json(value: Any, *, keep_text: bool = False) -> Any:
    """A JSON value in which no text opens a frame. `keep_text`: but for the field `text`, which stands
    in a frame of ours and is neutral inside."""
    if isinstance(value, str):
        return neutralize(value)
    if isinstance(value, dict):
        kept = {"text": value["text"]} if keep_text and "text" in value else {}
        return {_neutralize_json(key): _neutralize_json(one) for key, one in value.items()} | kept
    return [_neutralize_json(one) for one in value] if isinstance(value, list) else value


def neutralize(text: str) -> str:
    """A text that opens no frame, and that a client can read."""
    return _readable(escape_for_agent(text))


def _readable(text: str) -> str:
    """The text without controls, nor halves of characters, as names that are no UTF-8 have them."""
    text = show_controls(text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
