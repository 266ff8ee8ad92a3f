"""JSON Schema of the verbs: every type is known, and answers fit."""

from __future__ import annotations

import json

import pytest

from cortex.interfaces.schema import schema_of_verb
from cortex.operations import VERBS

_TYPES = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "object": dict, "array": list,
}  # fmt: skip


def fits(value: object, schema: dict, definitions: dict) -> bool:  # noqa: PLR0911
    """Whether a JSON value is one of the schema, as far as the keywords go that are used here."""
    if "$ref" in schema:
        return fits(value, definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return any(fits(value, one, definitions) for one in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    if "type" in schema and not isinstance(value, _TYPES[schema["type"]]):
        return False
    if isinstance(value, list):
        rows = schema.get("prefixItems") or [schema.get("items", {})] * len(value)
        return all(fits(one, row, definitions) for one, row in zip(value, rows, strict=True))
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return set(schema["required"]) <= set(value) <= set(known) and all(
            fits(one, known[key], definitions) for key, one in value.items()
        )
    if isinstance(value, dict):
        of_values = schema.get("additionalProperties", {})
        return all(fits(one, of_values, definitions) for one in value.values())
    return True


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_a_schema(name) -> None:
    described = schema_of_verb(name)
    assert described.description
    json.dumps(described)
    for one in described.arguments["properties"].values():
        assert one["description"]
        assert {"type", "enum", "anyOf"} & set(one)


@pytest.mark.parametrize(
    "words",
    [
        ["actions"], ["context"], ["doctor"], ["entities"], ["heal", "--check"], ["lifecycle", "--dry-run"], ["meetings"],
        ["normalize"], ["project", "list"], ["project", "show", "shop"], ["recall", "--scope", "project"], ["search", "sqlite"],
        ["session", "list"], ["status"], ["topic"], ["brief"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_answer_fits_its_schema(cortex, vault, words) -> None:
    cortex(
        "save", "Use SQLite", "--type", "decision", "--project", "shop", "--topic", "decision/db"
    )
    cortex("capture", "Action: measure SQLite", "--project", "shop")
    cortex("normalize")
    answer = json.loads(cortex(*words, "--json").stdout)
    schema = schema_of_verb(words[0]).answer
    assert fits(answer, schema, schema.get("$defs", {})), answer


def test_the_verb_prints_what_json_prints(cortex) -> None:
    shown = cortex("schema", "search")
    assert shown.returncode == 0
    assert json.loads(shown.stdout) == json.loads(cortex("schema", "search", "--json").stdout)
    done = cortex("schema", "serch")
    assert (done.returncode, "did you mean" in done.stderr) == (2, True)
