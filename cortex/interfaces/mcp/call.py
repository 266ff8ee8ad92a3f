"""Answer a call of a tool by its verb: structured content as `--json` has it, and a text."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import InvalidInputError
from cortex.core.text.agent_escape import escape_for_agent
from cortex.core.text.strings import shorten
from cortex.interfaces.cli import command, render
from cortex.interfaces.cli.terminal.view import View
from cortex.interfaces.declare import Declaration, declaration_of, load_verb
from cortex.interfaces.mcp import paging
from cortex.interfaces.mcp.tools import DEFAULT_TOOLS, DESTRUCTIVE_TOOLS, READING_TOOLS, Tool
from cortex.operations.care.set_up_clone import set_up_clone
from cortex.vault.git import checkout
from cortex.vault.locate import Vault

# They look at the repository, or change its drivers themselves.
_VERBS_WITHOUT_SETUP = ("doctor", "git", "history")
# What Claude Code says to its servers: the session that they serve.
_SESSION_VARIABLE, _VERBS_OF_SESSION = "CLAUDE_CODE_SESSION_ID", ("capture", "save")
_MAX_ARGUMENT_CHARS = 2_000_000  # of all arguments of a call

FindVault = Callable[[], Vault]


class ToolAnswer(NamedTuple):
    """What a call gives. Nothing in it opens a frame of a host."""

    content: dict[str, Any]
    text: str


def declare(tool: Tool) -> Declaration:
    """The declaration of a tool: the parameters of its verb that it has, labelled as it calls them."""
    declared = declaration_of(load_verb(tool.verb))
    if not tool.arguments:
        own = [one._replace(label=one.name) for one in declared.parameters]
        return declared._replace(parameters=tuple(own))
    known = {one.name: one for one in declared.parameters}
    chosen = []
    for label, named in tool.arguments.items():
        name, meaning = named if isinstance(named, tuple) else (named, known[named].meaning)
        required = known[name].required or label in tool.required
        default = None if name in tool.defaults else known[name].default
        chosen.append(
            known[name]._replace(label=label, meaning=meaning, required=required, default=default)
        )
    return declared._replace(parameters=tuple(chosen))


def describe(name: str, tool: Tool) -> dict[str, Any]:
    """A tool as `tools/list` shows it, under the names that JSON has."""
    from cortex.interfaces.schema import answer_type, arguments_schema, outline_of  # noqa: PLC0415  100 ms that a call does without

    declared = declare(tool)
    schema = arguments_schema(declared)
    if paging.has_pages(tool.verb):
        schema["properties"]["cursor"] = {"type": "string"}
    hint = ("readOnlyHint", True)
    if name not in READING_TOOLS:
        hint = ("destructiveHint", name in DESTRUCTIVE_TOOLS)
    # Of the tools that every session pays for, `cortex schema VERB` has the answers.
    is_lean = name in DEFAULT_TOOLS
    return {
        "name": name,
        "description": tool.description or f"{declared.summary} {declared.description}".strip(),
        "inputSchema": schema,
        "outputSchema": {"type": "object"}
        if is_lean
        else outline_of(answer_type(load_verb(tool.verb))),
        "annotations": {hint[0]: hint[1], "openWorldHint": False},
    }


def call_tool(
    name: str, tool: Tool, arguments: Mapping[str, object], caller: Caller, find: FindVault
) -> ToolAnswer:
    """Call the verb of a tool. Raises `CortexError`, and `OSError`."""
    declared = declare(tool)
    given, cursor = _take_arguments(name, tool, declared, arguments)
    supplied: dict[str, object] = {}
    root = ""
    if "vault" in declared.supplied:
        supplied["vault"] = vault = find()
        root = vault.root
        if tool.verb not in _VERBS_WITHOUT_SETUP and not checkout.has_merge_drivers(root):
            set_up_clone(vault)
    page = paging.open_page(tool.verb, given, cursor) if paging.has_pages(tool.verb) else None
    given = given if page is None else given | {"number": page.fetched}
    whole = declaration_of(load_verb(tool.verb))
    labels = {one.name: one for one in declared.parameters}
    parameters = tuple(labels.get(one.name, one) for one in whole.parameters)
    asked = command.Command(
        load_verb(tool.verb), whole._replace(parameters=parameters), given, as_json=True, vault=""
    )
    try:
        answer = command.call(asked, caller, supplied, root)
    except InvalidInputError as error:
        if error.hint == f"cortex {tool.verb} --help":
            error.hint = (
                f"arguments of {name}: {', '.join(one.label for one in declared.parameters)}"
            )
        raise
    following = ""
    if page is not None:
        answer, following = page.cut(answer)
    content = render.as_json(answer)
    if page is not None:
        answer = answer._replace(total=len(answer.hits))  # what is left is told below
    text = _text_of(tool.verb, answer, View(root or caller.cwd, root))
    if following:
        content["next_cursor"] = following
        text = f"{text}\n\nmore with cursor {following}"
    if tool.preview:
        for hit in content["hits"]:
            hit["snippet"] = shorten(hit["snippet"], tool.preview)
    framed = ("text",) if tool.verb in render.FRAMED_VERBS else ()
    return ToolAnswer(_neutral(content, framed), text)


def _take_arguments(
    name: str, tool: Tool, declared: Declaration, arguments: Mapping[str, object]
) -> tuple[dict[str, object], str]:
    """The arguments under the verb's names, and the cursor. Null is as if it were not given."""
    by_label = {one.label: one for one in declared.parameters}
    labels = ", ".join(by_label)
    allowed = {*by_label, "cursor"} if paging.has_pages(tool.verb) else {*by_label}
    if unknown := arguments.keys() - allowed:
        raise InvalidInputError(
            f"{name} has no argument {min(unknown)!r}", f"arguments of {name}: {labels}"
        )
    if sum(len(one) for one in arguments.values() if isinstance(one, str)) > _MAX_ARGUMENT_CHARS:
        message = f"the arguments hold more than {_MAX_ARGUMENT_CHARS:,} characters"
        raise InvalidInputError(message, "send less; a long text is a file to copy into the vault")
    given = {
        by_label[key].name: one
        for key, one in arguments.items()
        if key != "cursor" and one is not None
    }
    for one in declared.parameters:
        if one.required and one.name not in given:
            raise InvalidInputError(f"{one.label} is missing", f"arguments of {name}: {labels}")
    cursor = arguments.get("cursor") or ""
    if not isinstance(cursor, str):
        raise InvalidInputError("cursor is no text", "give the next_cursor of the answer before")
    session = os.environ.get(_SESSION_VARIABLE) if tool.verb in _VERBS_OF_SESSION else ""
    of_host = {"session": session} if session else {}
    return {**of_host, **tool.defaults, **given, **tool.fixed}, cursor


def _text_of(verb: str, answer: Any, view: View) -> str:
    shown = io.StringIO()
    render.print_answer(verb, answer, shown, view)
    text = shown.getvalue().rstrip("\n")
    if verb not in render.FRAMED_VERBS:
        text = escape_for_agent(f"\n{text}")[1:]
    return _encodable(text)


def _neutral(value: Any, framed: tuple[str, ...] = ()) -> Any:
    """A JSON value in which no text opens a frame; texts under the keys `framed` are so already."""
    if isinstance(value, str):
        return _encodable(escape_for_agent(value))
    if isinstance(value, dict):
        return {
            _neutral(key): _encodable(one) if key in framed else _neutral(one)
            for key, one in value.items()
        }
    return [_neutral(one) for one in value] if isinstance(value, list) else value


def _encodable(text: str) -> str:
    """The text without halves of characters, as names that are no UTF-8 have them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def working_directory() -> str:
    """Where the host has started the server, or says that its project is."""
    named = os.environ.get("CLAUDE_PROJECT_DIR", "")
    return named if os.path.isdir(named) else os.getcwd()
