"""The description of the server in OpenAPI 3.1, made of the routes and the declarations of the verbs."""

from __future__ import annotations

from functools import cache
from typing import Any

from cortex.core import __version__
from cortex.core.text.iso_time import MOMENT_EXAMPLES
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.interfaces.http.api import BODY_METHODS
from cortex.interfaces.http.routes import Route, all_routes, declare
from cortex.interfaces.schema import arguments_schema, schema_of_verb

_REFUSALS = {
    "400": "it cannot be read", "401": "the token is missing", "403": "it is not allowed",
    "404": "there is no such note", "405": "the address has no such method", "409": "it conflicts with what is there", "412": "the note was changed meanwhile",
    "413": "it is too large", "415": "the body is no JSON", "422": "a value does not fit",
    "503": "the vault cannot be used now",
}  # fmt: skip
_WORD = {
    "type": "string",
    "pattern": r"^[^\s,\[][^,]*$",
}  # of a list that may be written with commas
_MOMENT_PATTERN = (
    r"^([1-9]\d{3}-(0[1-9]|1[0-2])(-(0[1-9]|1\d|2[0-8]))?|[1-9]\d{0,2}(min|h|d|w|m)|yesterday)$"
)
_Json = dict[str, Any]


@cache
def describe() -> _Json:
    """The whole description, in JSON values."""
    schemas: _Json = {"Error": _error_schema()}
    paths: dict[str, _Json] = {}
    for route in all_routes():
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Cortex", "version": __version__, "description": "A memory you can read, diff and push."},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _operation(route: Route, schemas: _Json) -> _Json:
    arguments = arguments_schema(declare(route))
    required = arguments["required"]
    properties = {
        name: _narrowed(schema, is_required=name in required)
        for name, schema in arguments["properties"].items()
    }
    answer = {"type": "string"} if route.is_stream else schema_of_verb(route.verb).answer
    schemas.update(_with_components(answer.get("$defs", {})))
    has_body = route.method in BODY_METHODS
    in_path = route.path_names
    operation: _Json = {
        "operationId": f"{route.method.lower()}{route.path}".replace("/", "_").translate({ord(c): None for c in "{}"}),
        "summary": declaration_of(load_verb(route.verb)).summary,
        "tags": [route.verb],
        "parameters": [
            _parameter(name, schema, in_path, required)
            for name, schema in properties.items()
            if name in in_path or not has_body
        ],
        "responses": {
            str(route.status): {
                "description": "what the verb answers",
                "content": {"text/event-stream" if route.is_stream else "application/json": {"schema": _with_components({**answer, "$defs": None})}},
            },
            **({"204": {"description": "there is nothing more"}} if route.is_stream else {}),
            **{code: _refusal(why) for code, why in _REFUSALS.items()},
        },
    }  # fmt: skip
    if route.method == "PUT":
        operation["description"] = (
            "With If-Match, the ETag of its GET, it changes no other version."
        )
    if has_body:
        needed = [name for name in required if name not in in_path]
        own = {
            name: one if name in needed else _or_null(one)
            for name, one in properties.items()
            if name not in in_path
        }
        body = {**arguments, "properties": own, "required": needed}
        content = {"application/json": {"schema": body}}
        operation["requestBody"] = {"required": bool(needed), "content": content}
    return operation


def _narrowed(schema: _Json, *, is_required: bool = False) -> _Json:
    """The schema with what a verb reads beyond types: no empty words in lists, dates and spans."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [_narrowed(one) for one in schema["anyOf"]]}
    if schema.get("type") == "array":
        is_text = schema.get("items") == {"type": "string"}
        return {**schema, "items": _WORD} if is_text else schema
    if schema.get("description", "").endswith(MOMENT_EXAMPLES):
        return {**schema, "pattern": _MOMENT_PATTERN}
    is_text = schema.get("type") == "string" and is_required
    return {**schema, "minLength": 1} if is_text else schema


def _without_null(schema: _Json) -> _Json:
    """The schema of a field of a query, in which null is a word."""
    shapes = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    rest: _Json = {key: one for key, one in schema.items() if key != "anyOf"}
    if len(shapes) == 1:
        return {**shapes[0], **rest}
    return {**rest, "anyOf": shapes} if shapes else rest


def _or_null(schema: _Json) -> _Json:
    """The schema of a field that may be left out, for which programs send null."""
    if {"type": "null"} in schema.get("anyOf", ()):
        return schema
    words: _Json = {key: schema[key] for key in ("description", "default") if key in schema}
    shape = {key: one for key, one in schema.items() if key not in words}
    return {"anyOf": [shape, {"type": "null"}], **words}


def _parameter(name: str, schema: _Json, in_path: list[str], required: list[str]) -> _Json:
    place = "path" if name in in_path else "query"
    shape = {key: value for key, value in _without_null(schema).items() if key != "description"}
    one: _Json = {
        "name": name,
        "in": place,
        "required": place == "path" or name in required,
        "schema": shape,
    }
    if schema.get("description"):
        one["description"] = schema["description"]
    if schema.get("type") == "array":
        one |= {"style": "form", "explode": False}  # with commas
    return one


def _with_components(value: Any) -> Any:
    """A schema whose definitions are those of the whole description."""
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if key != "$defs" or one}
        kept.pop("$defs", None)
        return {key: _with_components(one) for key, one in kept.items()}
    if isinstance(value, list):
        return [_with_components(one) for one in value]
    return value.replace("#/$defs/", "#/components/schemas/") if isinstance(value, str) else value


def _error_schema() -> _Json:
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": {"error": text, "hint": text},
        "required": ["error", "hint"],
    }


def _refusal(why: str) -> _Json:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": why, "content": {"application/json": {"schema": schema}}}
