"""Makes the list of tools, resources and prompts that the server shows. It imports every verb, so the
list is a file of the package, `templates/agent/listing.json`, which a test compares with this."""

from __future__ import annotations

import json
from typing import Any

from cortex.interfaces import pages
from cortex.interfaces.declare import load_verb
from cortex.interfaces.mcp import resources
from cortex.interfaces.mcp.call import declare
from cortex.interfaces.mcp.tools import Tool, known_tools
from cortex.interfaces.schema import answer_type, arguments_schema, outline_of
from cortex.operations import DESTRUCTIVE_VERBS, OPEN_VERBS, READING_VERBS


def make_listing() -> str:
    """The text of the file: an object of lists, each entry in a line, so that git merges it."""
    lists = {
        "tools": [describe(name, tool) for name, tool in known_tools().items()],
        "resources": resources.list_resources(templates=False),
        "resourceTemplates": resources.list_resources(templates=True),
        "prompts": resources.list_prompts(),
    }
    parts = (
        f'"{key}": [\n' + ",\n".join(json.dumps(one, ensure_ascii=False) for one in entries) + "\n]"
        for key, entries in lists.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


def describe(name: str, tool: Tool, *, structured: bool = False) -> dict[str, Any]:
    """A tool as `tools/list` shows it, under the names that JSON has. `structured`: with the outline
    of its answers, which `cortex schema VERB` has whole."""
    declared = declare(tool)
    shown = {one.label: one for one in declared.parameters if one.label}
    ordered = tuple(shown[label] for label in tool.arguments or shown)
    schema = arguments_schema(declared._replace(parameters=ordered))
    for label in tool.defaults.keys() & {one.name for one in ordered}:
        schema["properties"][label].pop("default", None)
    if pages.has_pages(tool.verb):
        schema["properties"]["cursor"] = {"type": "string"}
    reads = tool.verb in READING_VERBS
    hint = {"readOnlyHint": True} if reads else {"destructiveHint": tool.verb in DESTRUCTIVE_VERBS}
    answer = {"outputSchema": outline_of(answer_type(load_verb(tool.verb)))} if structured else {}
    return {
        "name": name,
        "description": tool.description or f"{declared.summary} {declared.description}".strip(),
        "inputSchema": schema,
        **answer,
        "annotations": {**hint, "openWorldHint": tool.verb in OPEN_VERBS},
    }
