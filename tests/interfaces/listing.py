"""Makes what the server shows of tools, resources and prompts. That imports every verb, so files of the package hold it:
`templates/agent/listing.json`, and for `--structured` `outlines.json` beside it. `test_docs.py` compares them with this."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cortex.core.text.tables import parse_toml
from cortex.interfaces import pages
from cortex.interfaces.declare import load_verb
from cortex.interfaces.mcp.resources import RESOURCES, read_prompts
from cortex.interfaces.mcp.tools import Tool, declare, tools_of
from cortex.interfaces.schema import answer_type, arguments_schema, schema_of_type
from cortex.operations import DESTRUCTIVE_VERBS, OPEN_VERBS, READING_VERBS
from cortex.vault.templates import read_template


def make_listings() -> dict[str, str]:
    """The text of each file. Each entry stands in a line, so that git merges them."""
    table = list(_read_table())
    tools = tools_of(table)
    outlines = {name: outline_of(answer_type(load_verb(tool.verb))) for name, tool in tools.items()}
    lists: dict[str, list[Any]] = {
        "table": table,
        "tools": [describe(name, tool) for name, tool in tools.items()],
        "resources": list_resources(templates=False),
        "resourceTemplates": list_resources(templates=True),
        "prompts": list_prompts(),
    }
    parts = (
        f'"{key}": [\n' + ",\n".join(json.dumps(one, ensure_ascii=False) for one in entries) + "\n]"
        for key, entries in lists.items()
    )
    outlined = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in outlines.items())
    return {
        "listing.json": "{\n" + ",\n".join(parts) + "\n}\n",
        "outlines.json": "{\n" + ",\n".join(outlined) + "\n}\n",
    }


def _read_table() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and fields of each tool that the table names."""
    for name, row in parse_toml(read_template("agent/tools.toml")).items():
        arguments = {}
        for line in row["arguments"]:
            names, _, meaning = line.partition(": ")
            label, _, parameter = names.partition(" = ")
            arguments[label] = (parameter or label, meaning)
        yield name, {**row, "arguments": arguments}


def describe(name: str, tool: Tool) -> dict[str, Any]:
    """A tool as `tools/list` shows it, under the names that JSON has."""
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
    return {
        "name": name,
        "description": tool.description or f"{declared.summary} {declared.description}".strip(),
        "inputSchema": schema,
        "annotations": {**hint, "openWorldHint": tool.verb in OPEN_VERBS},
    }


def list_resources(*, templates: bool) -> list[dict[str, str]]:
    """The resources with a fixed address, or those with arguments in it."""
    key = "uriTemplate" if templates else "uri"
    return [
        {key: uri, "name": uri.split("/")[2], "description": one.description, "mimeType": one.kind}
        for uri, one in RESOURCES.items()
        if ("{" in uri) is templates
    ]


def list_prompts() -> list[dict[str, Any]]:
    """The prompts, ours first."""
    return [
        {
            "name": name,
            "description": fields["description"],
            "arguments": [{"name": "words", "description": fields["argument-hint"].strip("[]")}],
        }
        for name, fields, _ in read_prompts()
    ]


def outline_of(kind: Any) -> dict[str, Any]:
    """The fields of an answer with the kinds of their values, without what stands in these."""
    definitions: dict[str, dict[str, Any]] = {}
    reference = schema_of_type(kind, definitions)
    whole = definitions.get(reference.get("$ref", "").rpartition("/")[2])
    if whole is None:
        return {"type": "object"}
    kinds = {
        name: {"type": one["type"]} if "type" in one else {}
        for name, one in whole["properties"].items()
    }
    return {"type": "object", "properties": kinds, "required": whole["required"]}
