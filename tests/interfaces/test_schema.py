"""JSON Schema of the verbs: every type is known, and answers fit."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from types import UnionType
from typing import Union, get_origin

import pytest

from cortex.interfaces.declare import load_verb
from cortex.interfaces.schema import answer_type, schema_of_verb
from cortex.operations import ALIASES, VERBS

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


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_answers_in_one_shape(name) -> None:
    assert get_origin(answer_type(load_verb(name))) not in (Union, UnionType)


def notes_in(value: object) -> Iterator[dict]:
    """Every object with a path, wherever it stands in an answer."""
    if isinstance(value, list):
        for one in value:
            yield from notes_in(one)
    if isinstance(value, dict):
        if isinstance(value.get("path"), str) and "id" in value:
            yield value
        for one in value.values():
            yield from notes_in(one)


# One vault, from command to command: every verb that answers, in an order in which each has something to say.
COMMANDS = r"""
save 'Use SQLite' --type decision --project shop --topic decision/db --confidence 0.8 --priority 3 --session s1
save 'Use files for the cache' --type decision --project shop --why 'see src/app.py'
save 'Use files for the caches' --type decision --project shop --why 'see src/app.py'
capture 'Action: measure SQLite' --project shop --session s1
passive '## Key Learnings\n1. Retries carry a key' --project shop
session start s2 --goal 'Ship' --project shop
session end s2 --accomplished 'Shipped' --project shop
session list
session show s2
normalize
topic
search sqlite
search type:decision -n 1
recall --as-of '0d ago'
remind 'why do we use SQLite and files for the cache' --project shop
timeline use-files-for-the-cache-
context --project shop
actions
meetings
entities
entities app.py
score decision-db
relate use-files-for-the-cache- refines decision-db
graph decision-db
graph decision-db --to use-files-for-the-cache-
graph decision-db --mermaid
unrelate use-files-for-the-cache- refines decision-db
update decision-db --due 2030-01-02 --add-tags db
done measure-sqlite
pin decision-db
unpin decision-db
history decision-db
consolidate
supersede use-files-for-the-caches --by decision-db
restore use-files-for-the-caches
archive use-files-for-the-caches
restore use-files-for-the-caches
delete use-files-for-the-caches
restore use-files-for-the-caches
forget caches
forget use
show decision-db
open decision-db
edit decision-db
lifecycle --dry-run
prune --dry-run
new decision 'Ship on Friday'
project list
project show shop
status
doctor
heal
heal --check
brief --project shop
extract s2
hooks status
git status
sync
rebuild --cores 1
watch --status
watch --unit systemd
init .
schema search
completion bash
import claude --dry-run
"""


def test_every_answer_fits_its_schema(cortex, vault, git) -> None:
    git(vault.root, "init", "-q")
    for line in COMMANDS.strip().splitlines():
        name, *words = shlex.split(line)
        words = [word.replace("\\n", "\n") for word in words]
        done = cortex(name, *words, "--json", cwd=vault.root)
        assert done.returncode in (0, 1), (line, done.stdout, done.stderr)
        answer = json.loads(done.stdout)
        schema = schema_of_verb(ALIASES.get(name, (name,))[0]).answer
        assert fits(answer, schema, schema.get("$defs", {})), (line, answer)
        for one in notes_in(answer):
            if "file" in one and one["path"]:
                assert one["file"] == f"{vault.root}/{one['path']}", (line, one)
        if "hits" in answer:
            assert answer["total"] >= len(answer["hits"]), line
            assert all("file" in one for one in answer["hits"]), line
        if name in ("capture", "save", "revise", "relate", "pin", "archive", "session"):
            assert all("file" in one for one in notes_in(answer)), line


@pytest.mark.parametrize("name", VERBS)
def test_an_error_is_json_too(cortex, vault, name) -> None:
    done = cortex(name, "--no-such-option", "--json", cwd=vault.root)
    assert (done.returncode, done.stderr) == (2, "")
    assert set(json.loads(done.stdout)["error"]) == {"message", "hint"}


def test_the_hook_has_a_schema(cortex) -> None:
    described = json.loads(cortex("schema", "hook", "--json").stdout)["verbs"]["hook"]
    assert {"stop", "session-start"} <= {*described["arguments"]["properties"]["event"]["enum"]}
    assert described["arguments"]["properties"]["host"]["enum"]
    assert described["answer"]["description"]


def test_relations_units_and_numbers_name_what_they_take() -> None:
    kinds = schema_of_verb("relate").arguments["properties"]["kind"]["enum"]
    assert {"refines", "superseded_by"} <= {*kinds}
    assert schema_of_verb("watch").arguments["properties"]["unit"]["enum"] == ["systemd", "launchd"]
    saved = schema_of_verb("save").arguments["properties"]
    assert {"type": "number", "minimum": 0, "maximum": 1} in saved["confidence"]["anyOf"]
    assert {"type": "integer", "minimum": 1, "maximum": 10} in saved["priority"]["anyOf"]
    for name in VERBS:
        assert schema_of_verb(name).answer not in ({}, {"type": "object"}), name
    assert schema_of_verb("search").answer["$defs"]["Hit"]["properties"]["date"] == {
        "anyOf": [{"type": "string", "format": "date-time"}, {"enum": [""]}]
    }


def test_the_verb_prints_what_json_prints(cortex) -> None:
    shown = cortex("schema", "search")
    assert shown.returncode == 0
    assert json.loads(shown.stdout) == json.loads(cortex("schema", "search", "--json").stdout)
    done = cortex("schema", "serch")
    assert (done.returncode, "did you mean" in done.stderr) == (2, True)


def test_a_total_counts_what_is_not_shown(cortex) -> None:
    for title in ("Use SQLite", "Keep files", "Ship on Friday"):
        cortex("save", title, "--type", "decision", "--project", "shop")
    answer = json.loads(cortex("search", "type:decision", "-n", "1", "--json").stdout)
    assert (len(answer["hits"]), answer["total"]) == (1, 3)
    details = json.loads(cortex("project", "show", "shop", "--json").stdout)
    assert (len(details["decisions"]["hits"]), details["decisions"]["total"]) == (3, 3)
    listed = json.loads(cortex("project", "list", "--json").stdout)
    assert (len(listed["projects"]), listed["total"]) == (1, 1)
