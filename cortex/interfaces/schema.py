"""JSON Schema of what the verbs take and answer, derived from the types of their functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from cortex.core.briefing.compose import BriefingSection
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import DAY, MOMENT, TIME, Between, OneOf
from cortex.core.model.problem import NotFoundError, Problem
from cortex.core.text.iso_time import MOMENT_EXAMPLES
from cortex.core.text.strings import did_you_mean
from cortex.hosts import HOST_NAMES
from cortex.hosts.host import EVENTS
from cortex.hosts.mcp_settings import McpChange
from cortex.interfaces.declare import Declaration, declaration_of, load_verb
from cortex.operations import ALIASES, VERBS

_PLAIN_TYPES: dict[Any, str] = {
    str: "string", bytes: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null",
}  # fmt: skip
_FORMATS: dict[object, str] = {DAY: "date", TIME: "date-time"}
# Verbs import these only where they answer them.
_LAZY_TYPES = {one.__name__: one for one in (BriefingSection, McpChange, Problem)}
_Schema = dict[str, Any]


class VerbSchema(NamedTuple):
    """What a verb does, and the JSON Schema (2020-12) of its arguments and of its answer."""

    description: str
    arguments: dict[str, Any]
    answer: dict[str, Any]


class SchemaResult(NamedTuple):
    """The schemas of verbs, by name."""

    verbs: dict[str, VerbSchema]

    def lines(self) -> Iterator[str]:
        """The same as `--json`, indented."""
        verbs = {name: one._asdict() for name, one in self.verbs.items()}
        yield from json.dumps({"verbs": verbs}, indent=2).splitlines()


def schema(caller: Caller, verb: str = "") -> SchemaResult:
    """Print JSON Schema of what verbs take and answer.

    verb: its name, or hook; all verbs when none is given

    Example: cortex schema search
    """
    del caller
    if verb == "hook":
        return SchemaResult({"hook": _hook_schema()})
    verb = ALIASES.get(verb, (verb,))[0]
    if verb and verb not in VERBS:
        hint = did_you_mean(verb, VERBS, "cortex help --all lists the verbs")
        raise NotFoundError(f"there is no verb {verb!r}", hint)
    return SchemaResult({name: schema_of_verb(name) for name in ([verb] if verb else VERBS)})


def _hook_schema() -> VerbSchema:
    """Of `cortex hook`, which is no verb: its arguments; what it prints is in the form of the host."""
    event = {"enum": list(EVENTS), "description": "what happened in the session"}
    host = {"enum": list(HOST_NAMES), "description": "whose JSON is on standard input"}
    arguments = _closed_object({"event": event, "host": host}, ["event", "host"])
    answer: _Schema = {
        "type": ["object", "null"],
        "description": "what the host hands on to the agent, in the host's own form; mostly nothing is printed",
    }
    return VerbSchema("What an agent's host calls on an event of a session.", arguments, answer)


def schema_of_verb(name: str) -> VerbSchema:
    """The schemas of one verb; MCP and HTTP take them from here."""
    function = load_verb(name)
    declared = declaration_of(function)
    definitions: dict[str, _Schema] = {}
    answer = schema_of_type(answer_type(function), definitions)
    if definitions:
        answer = {**answer, "$defs": definitions}
    return VerbSchema(declared.summary, arguments_schema(declared), answer)


def answer_type(function: Callable[..., object]) -> Any:
    """What a verb answers, resolved."""
    return get_type_hints(function, localns=_LAZY_TYPES, include_extras=True)["return"]


def arguments_schema(declared: Declaration) -> _Schema:
    """The schema of the arguments of a verb."""
    properties = {}
    for one in declared.parameters:
        schema = _without_empty(schema_of_type(one.type, {}))
        name = one.label or one.name
        properties[name] = {**schema, **({"description": one.meaning} if one.meaning else {})}
        if not one.required and one.default not in (None, "", ()):
            properties[name]["default"] = one.default
    required = [one.label or one.name for one in declared.parameters if one.required]
    return _closed_object(properties, required)


def _closed_object(properties: dict[str, _Schema], required: list[str]) -> _Schema:
    table = {"type": "object", "properties": properties, "required": required}
    return {**table, "additionalProperties": False}


def _without_empty(schema: _Schema) -> _Schema:
    """The schema without the empty word, which stands for an argument that is not given."""
    if "anyOf" in schema:
        schema["anyOf"] = [_without_empty(one) for one in schema["anyOf"] if one != {"enum": [""]}]
    if "enum" in schema:
        schema["enum"] = [word for word in schema["enum"] if word != ""]
    return schema


def schema_of_type(  # noqa: PLR0911  a case for each kind of type
    kind: Any, definitions: dict[str, _Schema], bound: Mapping[Any, Any] | None = None
) -> _Schema:
    """The JSON Schema of a type.

    A named tuple is added to `definitions`, and a reference to it returned. `bound` are the types
    that the type variables of a generic named tuple stand for.
    """
    kind = (bound or {}).get(kind, kind) if isinstance(kind, TypeVar) else kind
    origin: Any = get_origin(kind)
    arguments = get_args(kind)
    if hasattr(origin or kind, "_fields"):
        return {"$ref": f"#/$defs/{_define(kind, definitions)}"}
    if origin is Annotated:
        return _annotated_schema(schema_of_type(arguments[0], definitions, bound), arguments[1])
    if origin is Literal:
        return {"enum": list(arguments)}
    parts = [schema_of_type(one, definitions, bound) for one in arguments if one is not Ellipsis]
    if origin in (Union, UnionType):
        return {"anyOf": parts}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": parts[1]}
    if origin is tuple and Ellipsis not in arguments:
        return {"type": "array", "prefixItems": parts, "items": False}
    if parts:  # list, tuple[T, ...], Sequence
        return {"type": "array", "items": parts[0]}
    return {"type": _PLAIN_TYPES[kind]} if kind in _PLAIN_TYPES else {}


def _annotated_schema(base: _Schema, mark: object) -> _Schema:
    if isinstance(mark, Between):
        return {**base, "minimum": mark.least, "maximum": mark.most}
    if isinstance(mark, OneOf):
        return {**base, "enum": [*dict.fromkeys(mark.words)]}
    if mark == MOMENT:
        return {"type": "string", "description": f"a date or a span: {MOMENT_EXAMPLES}"}
    return {**base, "format": _FORMATS[mark]} if mark in _FORMATS else base


def _define(kind: Any, definitions: dict[str, _Schema]) -> str:
    """Add the schema of a named tuple to the definitions. Returns its name there."""
    tuple_class = get_origin(kind) or kind
    bound = dict(zip(getattr(tuple_class, "__parameters__", ()), get_args(kind), strict=True))
    name = "Of".join([tuple_class.__name__, *(one.__name__ for one in bound.values())])
    if name in definitions:
        return name
    definitions[name] = {}  # so that a tuple that holds itself ends
    properties: dict[str, _Schema] = {}
    types = get_type_hints(tuple_class, localns=_LAZY_TYPES, include_extras=True)
    for field, field_type in types.items():
        one = schema_of_type(field_type, definitions, bound)
        if field == "hit":  # its fields are merged into the object that holds it
            properties = definitions[one["$ref"].rpartition("/")[2]]["properties"] | properties
        else:
            properties[field.rstrip("_")] = one
    definitions[name] = {"type": "object", "properties": properties, "required": [*properties]}
    return name
