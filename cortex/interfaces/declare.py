"""A verb's declaration, read off its function: parameters, their types, meaning and values.

No `inspect`: it costs 13 ms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from cortex.core.model.parameters import DAY, MOMENT, NOTE, Between, Touches
from cortex.core.model.problem import InvalidInputError
from cortex.core.text.iso_time import MOMENT_EXAMPLES, parse_day, parse_moment
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.operations import VERBS

# Parameters that the interface fills in.
SUPPLIED_PARAMETERS = ("vault", "caller", "answer_command", "say", "launch", "vault_name")
# `int` and `float` read blanks, _ and digits of every script.
_PLAIN_NUMBER_RE = lazy_re(r"[-+.0-9A-Za-z]+")
_MAX_YEAR = 9999  # a greater number is seconds since the epoch
_EXAMPLE = "Example"


class Parameter(NamedTuple):
    """One argument or option."""

    name: str
    type: Any  # as annotated, resolved
    default: object
    is_option: bool
    meaning: str
    required: bool = False
    label: str = ""  # what messages call it, where an interface has a name of its own for it
    touches: str = ""  # what it reaches beside the vault; then no server offers it

    @property
    def flag(self) -> str:
        """How an option is written in full."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def metavar(self) -> str:
        """The value in a usage line: an option's choices if they are short, else the name."""
        choices = "|".join(choices_of(self.type))
        return choices if self.is_option and 0 < len(choices) <= 40 else self.name.upper()


class Declaration(NamedTuple):
    """What an interface has to know of a verb."""

    name: str
    summary: str
    description: str
    parameters: tuple[Parameter, ...]
    examples: tuple[str, ...]
    supplied: tuple[str, ...]  # which of `SUPPLIED_PARAMETERS` it takes

    @property
    def arguments(self) -> list[Parameter]:
        """What is given by its place."""
        return [parameter for parameter in self.parameters if not parameter.is_option]

    @property
    def options(self) -> list[Parameter]:
        """What is given by its name."""
        return [parameter for parameter in self.parameters if parameter.is_option]


class _Docstring(NamedTuple):
    """What a verb's docstring says."""

    summary: str
    prose: list[str]  # by paragraph
    meanings: dict[str, str]
    examples: list[str]


def load_verb(name: str) -> Callable[..., Any]:
    """The function behind a verb; its module is imported now, not before."""
    module, function = VERBS[name]
    verb: Callable[..., Any] = getattr(import_module(f"cortex.{module}"), function)
    return verb


def declaration_of(function: Callable[..., object]) -> Declaration:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = names[: code.co_argcount]
    values = function.__defaults__ or ()
    optional = positional[len(positional) - len(values) :]
    defaults: dict[str, object] = dict(zip(optional, values, strict=True))
    defaults |= function.__kwdefaults__ or {}
    text = _read_docstring(function.__doc__ or "", names)
    # Not `get_type_hints`: what a verb answers may be imported for type checkers alone.
    types = {
        name: eval(text, function.__globals__) if isinstance(text, str) else text  # noqa: S307
        for name, text in function.__annotations__.items()
        if name in names and name not in SUPPLIED_PARAMETERS
    }
    parameters = []
    for name in names:
        if name not in SUPPLIED_PARAMETERS:
            kind, touches = _without_touch(types.get(name, str))
            default, is_option = defaults.get(name), name not in positional
            meaning, required = text.meanings.get(name, ""), name not in defaults
            parameters.append(
                Parameter(name, kind, default, is_option, meaning, required, touches=touches)
            )
    return Declaration(
        name=function.__name__.rstrip("_"),
        summary=text.summary,
        description="\n\n".join(text.prose),
        parameters=tuple(parameters),
        examples=tuple(text.examples),
        supplied=tuple(name for name in SUPPLIED_PARAMETERS if name in names),
    )


def _read_docstring(docstring: str, names: tuple[str, ...]) -> _Docstring:
    """The docstring of a function with these parameters, by its paragraphs.

    A paragraph that begins with `name: ` says what parameters mean, one that begins with
    `Example: ` shows commands; a line in the former that begins with no name goes on with the one
    before.
    """
    summary, _, rest = docstring.strip().partition("\n")
    text = _Docstring(summary, [], {}, [])
    for paragraph in re.split(r"\n\s*\n", rest.strip()) if rest.strip() else ():
        lines = [line.strip() for line in paragraph.splitlines()]
        name = lines[0].partition(": ")[0]
        if name == _EXAMPLE:
            text.examples.extend(line.partition(": ")[2] for line in lines)
        elif name not in names:
            text.prose.append("\n".join(lines))
            continue
        for line in lines if name in names else ():
            word, _, meaning = line.partition(": ")
            if word in names:
                name = word
                text.meanings[name] = meaning
            else:
                text.meanings[name] += f" {line}"
    return text


def for_servers(declared: Declaration) -> Declaration:
    """The declaration without the parameters that reach beside the vault: what a tool or a route has."""
    own = tuple(parameter for parameter in declared.parameters if not parameter.touches)
    return declared._replace(parameters=own)


def convert(declared: Declaration, given: Mapping[str, object], now: str) -> dict[str, object]:
    """The value of every parameter, in its declared type, from words or JSON values.

    `now` is the caller's clock. Raises `InvalidInputError` that names the parameter, for a value
    that does not fit, a required one that is missing, and a name that is not declared.
    """
    hint = f"cortex {declared.name} --help"
    if unknown := given.keys() - {parameter.name for parameter in declared.parameters}:
        raise InvalidInputError(f"{declared.name} has no parameter {min(unknown)!r}", hint)
    values = {}
    for parameter in declared.parameters:
        by_place = parameter.name.upper()
        label = parameter.label or (parameter.flag if parameter.is_option else by_place)
        value = given.get(parameter.name)
        if value is None:
            if parameter.required:
                raise InvalidInputError(f"{label} is missing", hint)
            values[parameter.name] = parameter.default
            continue
        try:
            values[parameter.name] = _convert_value(parameter.type, value, now)
        except ValueError:
            words = " ".join(map(str, value)) if isinstance(value, list) else value
            message = f"{label} {words!r} is not {_describe_type(parameter.type)}"
            raise InvalidInputError(message, hint) from None
    return values


def choices_of(kind: Any) -> list[str]:
    """The words that a type admits, where it admits no others: of `Literal`, and of lists of it."""
    if _is_literal(kind):
        return [word for word in get_args(kind) if word]
    members = [member for member in get_args(kind) if member not in (NoneType, Ellipsis)]
    return choices_of(members[0]) if len(members) == 1 else []


def is_note_name(kind: Any) -> bool:
    """True for `NoteName`, and for lists of it."""
    return NOTE in get_args(kind) or any(map(is_note_name, get_args(kind)))


def _without_touch(kind: Any) -> tuple[Any, str]:
    """A type without its mark of what the parameter touches, and that; empty where it has none."""
    arguments = get_args(kind) if get_origin(kind) is Annotated else ()
    if arguments and isinstance(arguments[1], Touches):
        return arguments[0], arguments[1].what
    return kind, ""


def _convert_value(kind: Any, value: Any, now: str) -> Any:
    """`value`, a word or a JSON value, as `kind`. Raises `ValueError` when it does not fit."""
    origin: Any = get_origin(kind)
    arguments = get_args(kind)
    if origin is Annotated:
        return _convert_annotated(arguments[0], arguments[1], value, now)
    if origin in (list, tuple):
        item = arguments[0]
        words = value if isinstance(value, list) else _split(value)
        if "" in words or (value and not words) or value == "":
            raise ValueError(value)
        if _is_literal(item):
            words = [part for word in words for part in _split(word)]
        return origin(_convert_value(item, word, now) for word in words)
    if _is_literal(kind):
        word = value.strip().lower() if isinstance(value, str) else value
        if word not in arguments or word == "":
            raise ValueError(word)
        return word
    if origin in (Union, UnionType):
        for member in sorted(arguments, key=_is_literal, reverse=True):
            try:
                return _convert_value(member, value, now)
            except ValueError:
                continue
        raise ValueError(value)
    if kind in (int, float):
        written_oddly = isinstance(value, str) and not _PLAIN_NUMBER_RE.fullmatch(value)
        if isinstance(value, bool) or written_oddly:
            raise ValueError(value)
        try:
            number = kind(value)
        except (TypeError, OverflowError):
            raise ValueError(value) from None
        if number != number or (kind is int and isinstance(value, float) and number != value):  # noqa: PLR0124  NaN
            raise ValueError(value)
        return number
    if not isinstance(value, kind):
        raise ValueError(value)  # noqa: TRY004  one error for every value that does not fit
    return value


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _convert_annotated(base: Any, mark: object, value: Any, now: str) -> Any:
    if mark == MOMENT and type(value) is int and value > _MAX_YEAR:  # as the verb takes it
        return value
    if mark in (MOMENT, DAY):
        text = str(value)
        parsed = parse_moment(text, now) if mark == MOMENT else parse_day(text)
        if parsed is None:
            raise ValueError(value)
        return parsed
    number = _convert_value(base, value, now)
    if isinstance(mark, Between) and not mark.least <= number <= mark.most:
        raise ValueError(number)
    return number


def _split(value: object) -> list[str]:
    if not isinstance(value, str):
        raise ValueError(value)  # noqa: TRY004  as above
    return [part for word in value.split(",") if (part := word.strip())]


def _describe_type(kind: Any) -> str:
    """What a value of the type is, as the end of `... is not`."""
    origin: Any = get_origin(kind)
    arguments = get_args(kind)
    if origin is Annotated:
        base, mark = arguments
        if isinstance(mark, Between):
            return f"{_describe_type(base)} from {mark.least:,} to {mark.most:,}"
        if mark == MOMENT:
            return f"a date or a span: write {MOMENT_EXAMPLES}"
        return "a day such as 2026-11-20" if mark == DAY else _describe_type(base)
    if origin in (list, tuple, Literal):
        choices = [choice for choice in choices_of(kind) if choice]
        return _join_or(choices) or ("" if origin is Literal else "a list of words")
    if origin in (Union, UnionType):
        described = [_describe_type(member) for member in arguments if member is not NoneType]
        return _join_or([words for words in described if words])
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "text")


def _join_or(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)
