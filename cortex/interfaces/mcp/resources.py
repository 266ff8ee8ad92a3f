"""Resources and prompts: notes by address, and texts that tell an agent how to use the tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from cortex.core.model.problem import NotFoundError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.interfaces.call import Request
from cortex.interfaces.mcp.call import call_tool
from cortex.interfaces.mcp.text import FRAME_COMMAND_RE, neutralize, say_commands
from cortex.interfaces.mcp.tools import Tool
from cortex.vault.templates import list_template_names, read_template

_MARKDOWN, _JSON = "text/markdown", "application/json"
_PROMPT_ROOMS = ("prompts", "commands")  # ours, and the commands of the plugin
_WITHOUT_SHELL = (
    "Where there is no shell, use tools in place of what begins with `cortex`: recall, search and show to look,"
    " capture with a line such as `Decision: …` to keep, revise and supersede to correct.\n\n"
)
_COMMAND_RE = lazy_re(r"^cortex .+$|(?<=`)cortex [^`\n]+(?=`)", re.MULTILINE)
_FIELD_RE = lazy_re(r'^([a-z-]+): (".*")$', re.MULTILINE)
_DECISIONS = {"type": ["decision", "rejection"], "number": 200, "branch": ".", "project": "."}


class Resource(NamedTuple):
    """What stands at an address. Parts in braces are arguments of the tool."""

    description: str
    kind: str
    tool: Tool


RESOURCES: dict[str, Resource] = {
    "cortex://status": Resource(
        "How the memory stands: project, counts, what is open", _JSON, Tool("status")
    ),
    "cortex://decisions": Resource(
        "What was decided and rejected, of this branch and of none", _MARKDOWN,
        Tool("recall", fixed=_DECISIONS),
    ),
    "cortex://plan": Resource(
        "The plan of this branch, with what is done", _MARKDOWN, Tool("plan")
    ),
    "cortex://record/{id}": Resource(
        "A note whole, by its id", _MARKDOWN, Tool("show", arguments={"id": ("note", "")})
    ),
    "cortex://briefing/{project}/{branch}": Resource(
        "What a session in a project and branch has to know", _MARKDOWN, Tool("brief")
    ),
}  # fmt: skip


def read_resource(uri: str, request: Request, tools: Mapping[str, Tool]) -> dict[str, str]:
    """The contents at an address, for a client with these tools. Raises `NotFoundError` for none of
    ours, else as `call_tool`."""
    for pattern, one in RESOURCES.items():
        way = re.sub(r"\\\{(\w+)\\\}$", r"(?P<\1>.+)", re.escape(pattern))
        way = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", way)
        if found := re.fullmatch(way, uri):
            given = {name: unquote(part) for name, part in found.groupdict().items()}
            answer = call_tool(uri, one.tool, given, request, tools, is_whole=True)
            text = answer.content.get("text", answer.text)  # of a note and a briefing the whole
            text = say_commands(FRAME_COMMAND_RE, text, tools) if one.tool.verb == "brief" else text
            text = json.dumps(answer.content) if one.kind == _JSON else text
            return {"uri": uri, "mimeType": one.kind, "text": text}
    raise NotFoundError(f"there is no resource {uri}", f"resources: {', '.join(RESOURCES)}")


def fill_prompt(name: str, given: Mapping[str, str], tools: Mapping[str, Tool]) -> dict[str, Any]:
    """A prompt with its words filled in, for a client with these tools. Raises `NotFoundError`."""
    for known, fields, body in read_prompts():
        if known == name:
            words = neutralize(given.get("words", ""))
            said = say_commands(_COMMAND_RE, body, tools)
            text = said.replace("```sh", "```").replace("$ARGUMENTS", words).strip()
            text = (_WITHOUT_SHELL if "\ncortex " in said else "") + text
            message = {"role": "user", "content": {"type": "text", "text": text}}
            return {"description": fields["description"], "messages": [message]}
    known = ", ".join(name for name, *_ in read_prompts())
    raise NotFoundError(f"there is no prompt {name!r}", f"prompts: {known}")


def read_prompts() -> Iterator[tuple[str, dict[str, str], str]]:
    """Name, fields and text of each."""
    for room in _PROMPT_ROOMS:
        for name in list_template_names(room):
            _, head, body = read_template(f"{room}/{name}.md").split("---\n", 2)
            fields = {key: json.loads(value) for key, value in _FIELD_RE.findall(head)}
            yield name, fields, body
