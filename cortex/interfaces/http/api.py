"""Answer a request by the verb of its route: read what it gives, call the verb, phrase answer and errors as JSON."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin
from urllib.parse import parse_qsl

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from cortex.core.model.parameters import MOMENT
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    StaleVersionError,
)
from cortex.interfaces import pages
from cortex.interfaces.call import Request, bind, error_of
from cortex.interfaces.cli import hint as hints, render
from cortex.interfaces.declare import declaration_of, load_verb, refuse_unknown
from cortex.interfaces.http.guard import HttpError, error_response
from cortex.interfaces.http.routes import EDGE_PATH, Route, declare, whole_declaration
from cortex.vault import user_settings

BODY_METHODS = ("POST", "PUT")
_TRUTHS = {"true": True, "false": False}
_MAX_QUERY_FIELDS = 100
_COMMANDS = ("undo", "keep", "fix", "drop")  # fields of answers that hold commands of Cortex
_STATUS_OF_ERROR: tuple[tuple[type[Exception], int], ...] = (
    (NotFoundError, 404), (StaleVersionError, 412), (ConflictError, 409), (InvalidInputError, 422),
)  # fmt: skip


def call_route(route: Route, values: Mapping[str, object], request: Request) -> dict[str, Any]:
    """What the verb of a route answers, as `--json` has it, with `next_cursor` where there is more
    and `undo_calls` where it can be taken back. Raises `CortexError`, `OSError`."""
    declared = declare(route)
    labels = [one.label for one in declared.parameters]
    refuse_unknown(route.path, values, labels, f"it takes {', '.join(labels) or 'nothing'}")
    for one in declared.parameters:
        if one.required and values.get(one.label) == "":
            raise InvalidInputError(f"{one.label} is empty", "it has to say something")
    names = {one.label: one.name for one in declared.parameters}
    given = {names[label]: value for label, value in values.items()} | dict(route.fixed)
    if route.path == EDGE_PATH:
        given = _edge_of(str(given.pop("id"))) | given
    if given.get("hard") in (True, "true") and not user_settings.allows_hard_delete():
        hint = f"hard_delete = true below [serve] in {user_settings.settings_file()} allows it"
        raise HttpError(403, "no setting of yours allows to remove a file", hint)
    cursor = str(given.pop("cursor", ""))
    call = bind(load_verb(route.verb), whole_declaration(route), given, request)
    call.values()  # what does not fit its type is told apart from what the verb refuses
    try:
        if route.verb in pages.MAX_NOTES:  # a text is whole: who edits it must not have a part
            answer, following = pages.answer_page(call, cursor)
        else:
            answer, following = call.answer(), ""
    except InvalidInputError as error:
        # It fits the types: two values that exclude each other, or a note of another kind.
        raise HttpError(409, error.message, error.hint) from error
    content: dict[str, Any] = render.as_json(answer)
    if following:
        content["next_cursor"] = following
    _add_calls(content)
    return content


def _add_calls(content: object) -> None:
    """Put beside each command of an answer the calls that it is, `undo_calls` beside `undo`, and beside each hint the
    commands in it."""
    if isinstance(content, list):
        for one in content:
            _add_calls(one)
    if not isinstance(content, dict):
        return
    for name in _COMMANDS:
        told = content.get(name) or ()
        texts = [told] if isinstance(told, str) else told if isinstance(told, list) else ()
        calls = [one for text in texts if isinstance(text, str) for one in hints.read_calls(text)]
        if calls or (texts and name == "undo"):
            content[f"{name}_calls"] = [
                {"verb": one.verb, "arguments": _as_json(one.verb, one.given)} for one in calls
            ]
    hint = content.get("hint")
    if isinstance(hint, str) and (commands := hints.named_commands(hint)):
        content["hint_commands"] = commands
    for one in [*content.values()]:
        if isinstance(one, (list, dict)):
            _add_calls(one)


def _as_json(verb: str, given: Mapping[str, object]) -> dict[str, object]:
    """The words of a command as values of JSON of their types, as the addresses take them."""
    kinds = {one.name: one.type for one in declaration_of(load_verb(verb)).parameters}
    return {name: _as_type(kinds[name], value) for name, value in given.items()}


def _as_type(kind: Any, value: object) -> object:
    """A word as a value of its type: lists are written with commas, numbers with digits."""
    if not isinstance(value, str) or fits_json(kind, value):
        return value
    words = value.split(",")
    if fits_json(kind, words):
        return words
    return int(value) if fits_json(kind, 0) and value.isdecimal() else float(value)


def _edge_of(edge: str) -> dict[str, object]:
    """Both ends and the kind of an edge's id. Raises `NotFoundError` for none."""
    parts = edge.split("~")
    if len(parts) != 3 or not all(parts):
        raise NotFoundError(f"{edge!r} is no edge", "an edge is called FROM~KIND~TO")
    return dict(zip(("record", "kind", "other"), parts, strict=True))


async def read_values(request: HttpRequest, route: Route) -> dict[str, object]:
    """What the path, the query and the body of a request give; null gives nothing. Raises `CortexError` for what cannot
    be read, or is no value of JSON for its parameter."""
    parameters = {one.label: one for one in declare(route).parameters}
    values: dict[str, object] = dict(request.path_params)
    for name, text in read_query(request).items():
        if name in values:
            raise HttpError(400, f"{name} is given twice", "give it once")
        kind = parameters[name].type if name in parameters else str
        has_default = name in parameters and isinstance(parameters[name].default, str)
        if kind is bool and text not in _TRUTHS:
            raise InvalidInputError(f"{name} is not true or false", "send true or false")
        # `?type=` is a list of nothing, and `?q=` no query.
        if text or not (has_default or get_origin(kind) in (list, tuple)):
            values[name] = _TRUTHS[text] if kind is bool else text
    for name, value in (await read_body(request)).items() if route.method in BODY_METHODS else ():
        if name in values:
            raise HttpError(400, f"{name} is given twice", "give it once")
        if value is not None and name in parameters and not fits_json(parameters[name].type, value):
            raise InvalidInputError(
                f"{name} is {value!r:.60}, of another type", "/openapi.json has the types"
            )
        if value is not None:
            values[name] = value
    return values


def fits_json(kind: Any, value: object) -> bool:
    """Whether a value of JSON is of the type of a parameter, as its schema says; what it says is checked later."""
    origin: Any = get_origin(kind)
    if origin is Annotated:
        inner = get_args(kind)
        return isinstance(value, str) if inner[1] == MOMENT else fits_json(inner[0], value)
    if origin in (Union, UnionType):
        return any(fits_json(one, value) for one in get_args(kind))
    if origin in (list, tuple):
        return isinstance(value, list) and all(fits_json(get_args(kind)[0], one) for one in value)
    if origin is Literal:
        return isinstance(value, str)
    if kind in (int, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind)


def read_query(request: HttpRequest) -> dict[str, str]:
    """The fields of the query. Raises `HttpError`, also for one that is given twice."""
    text = request.scope["query_string"].decode("latin-1")
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_MAX_QUERY_FIELDS, errors="strict"
        )
    except ValueError as error:
        raise HttpError(
            400, f"the query cannot be read: {error}", "send UTF-8, each name once"
        ) from None
    values = dict(pairs)
    if len(values) != len(pairs):
        hint = "give it once; a list is written with commas"
        twice = next(name for name, _ in pairs if [key for key, _ in pairs].count(name) > 1)
        raise HttpError(400, f"{twice[:100]} is given twice", hint)
    return values


async def read_body(request: HttpRequest) -> dict[str, object]:
    """The JSON object that a request brings; empty without a body. Raises `CortexError`."""
    data = await request.body()
    if not data.strip():
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpError(415, "the body has to be JSON", "Content-Type: application/json")
    try:
        body = json.loads(data, parse_constant=_refuse_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise HttpError(400, f"the body is no JSON: {reason}", "send an object") from None
    if not isinstance(body, dict):
        raise HttpError(400, "the body has to be a JSON object", 'such as {"title": "…"}')
    return body


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _once(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """An object whose names are given once. Raises `ValueError`."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name[:100]} is given twice")
        found[name] = value
    return found


def answer_json(
    content: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON that any client can read: halves of characters, as names that are no UTF-8 have them, are `?`."""
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(data, status, {"content-type": "application/json", **(headers or {})})


def answer_error(error: Exception) -> Response:
    """An error with its hint; of one that nobody foresaw its kind, with a trace for whoever runs the server."""
    if isinstance(error, OSError):
        error = error_of(error)
    if not isinstance(error, CortexError):
        traceback.print_exception(error)
        message = f"a fault of Cortex: {type(error).__name__}"
        return error_response(500, message, "the server's output has more")
    statuses = (code for kind, code in _STATUS_OF_ERROR if isinstance(error, kind))
    status = error.status if isinstance(error, HttpError) else next(statuses, 503)
    return error_response(status, error.message, error.hint)
