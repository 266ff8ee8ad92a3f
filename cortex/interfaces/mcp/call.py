"""Answer a call of a tool by its verb: structured content as `--json` has it, and a text, both in pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import CortexError
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.index.refresh import query_index
from cortex.interfaces import pages
from cortex.interfaces.call import Request, bind
from cortex.interfaces.cli import render
from cortex.interfaces.declare import is_absent, load_verb, refuse_unknown
from cortex.interfaces.mcp.text import answer_text, neutralize, neutralize_json, reword
from cortex.interfaces.mcp.tools import Tool, declare
from cortex.operations.capture.project_context import resolve_project
from cortex.operations.find.resolve_session import list_live_sessions, session_name
from cortex.vault.locate import Vault


class ToolAnswer(NamedTuple):
    """What a call gives. Nothing in it opens a frame of a host."""

    content: dict[str, Any]
    text: str


def call_tool(
    name: str,
    tool: Tool,
    arguments: Mapping[str, object],
    request: Request,
    tools: Mapping[str, Tool] | None = None,
    *,
    is_whole: bool = False,
    told: set[object] | None = None,
) -> ToolAnswer:
    """Call the verb of a tool; hints name the asker's `tools` alone, by default this one. `is_whole`: without
    pages. `told`: problems of notes that the texts of lists have named, and name no more; it grows.
    Arguments that stand for none are not given. Raises `CortexError`, and `OSError`."""
    declared, tools = declare(tool), {name: tool} if tools is None else tools
    has_pages = pages.has_pages(tool.verb) and not is_whole
    known = {one.label: one for one in declared.parameters if one.label}
    known |= {"cursor": pages.CURSOR} if has_pages else {}
    hint = f"arguments of {name}: {', '.join(known)}"
    refuse_unknown(name, arguments, [*known], hint)
    given: dict[str, object] = {**tool.defaults}
    for key, parameter in known.items():
        if not is_absent(parameter, value := arguments.get(key)):
            given[parameter.name] = value
    cursor = str(given.pop("cursor", ""))
    given |= tool.fixed
    if tool.verb in render.FRAMED_VERBS:  # they stand in a frame of ours
        given |= {key: neutralize(text) for key, text in given.items() if isinstance(text, str)}
    try:
        call = bind(load_verb(tool.verb), declared, given, request)
        if call.vault and given.get("type") == "prompt" and not call.given.get("session"):
            project = call.values()["project"]
            call.given["session"] = _only_live_session(call.vault, call.caller, project)
        answer, following = pages.answer_page(call, cursor) if has_pages else (call.answer(), "")
    except CortexError as error:
        is_help = error.hint == f"cortex {tool.verb} --help"
        error.hint = hint if is_help else reword(error.hint, tool, tools, request.named)
        raise
    root = call.vault.root if call.vault else ""
    content = render.as_json(answer)
    if has_pages and tool.verb in pages.MAX_NOTES:
        answer = answer._replace(total=len(answer.hits))  # what is left is told by the cursor
        if told is not None:
            new = tuple(one for one in answer.problems if (root, one) not in told)
            told.update((root, one) for one in new if one.where != "query")
            answer = answer._replace(problems=new)
    text = answer_text(tool, answer, root, tools, request.named)
    for hit in content["hits"] if tool.preview else ():
        hit["snippet"] = shorten(hit["snippet"], tool.preview)
    if following:
        content["next_cursor"] = following
        text = f"{text}\nmore with cursor {following}"
    return ToolAnswer(neutralize_json(content, keep_text=tool.verb in render.FRAMED_VERBS), text)


def _only_live_session(vault: Vault, caller: Caller, project: str) -> str:
    """The name of the project's live session if there is exactly one, else empty. A prompt without a
    session would begin a new one."""
    project = resolve_project(vault, caller, project)
    live = query_index(vault, no_progress, list_live_sessions, caller.now)
    names = [session_name(session.row) for session in live if session.row.project == project]
    return names[0] if len(names) == 1 else ""
