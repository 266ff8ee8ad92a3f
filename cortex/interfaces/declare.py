"""A verb's declaration, read off its function: parameters, their types, meaning and values.

No `inspect`: it costs 13 ms.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from cortex.core.model.parameters import MOMENT, NOTE, QUERY, Between, Touches
from cortex.core.model.problem import InvalidInputError
from cortex.core.text.days import UTC, Zone
from cortex.core.text.iso_time import MOMENT_EXAMPLES, parse_moment
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import did_you_mean
from cortex.core.text.value import NamedTuple
from cortex.operations import VERBS

# Parameters that the interface fills in.
SUPPLIED_PARAMETERS = ("vault", "caller", "answer_command", "say", "launch", "vault_name", "emit", "write")  # fmt: skip
# `int` and `float` read blanks, _ and digits of every script.
_PLAIN_NUMBER_RE = lazy_re(r"[-+.0-9A-Za-z]+")
_MAX_YEAR = 9999  # a greater number is seconds since the epoch
_MAX_SECONDS = 253_402_300_799  # since the epoch, the end of that year
_EXAMPLE = "Example"
# What programs and models write for a value that they do not give, and for the two truths. In free
# text `null` is a word.
_ABSENT: tuple[object, ...] = (None, "", [], (), "null")
_TRUTHS: dict[object, bool] = {"true": True, "false": False, 1: True, 0: False}
_MAX_SHOWN = 100  # characters of a value in a message


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
        return f"--{self.name.rstrip('_').replace('_', '-')}"  # `from_` is `from`

    @property
    def metavar(self) -> str:
        """The value in a usage line: an option's choices if they are short, else the name."""
        choices = "|".join(choices_of(self.type))
        is_short = self.is_option and 0 < len(choices) <= 40
        return choices if is_short else self.name.rstrip("_").upper()


class Declaration(NamedTuple):
    """What an interface needs to know about a verb: its texts, parameters and examples."""

    name: str
    summary: str
    description: str
    parameters: tuple[Parameter, ...]
    examples: tuple[str, ...]
    supplied: tuple[str, ...]  # which of `SUPPLIED_PARAMETERS` it takes

    @property
    def arguments(self) -> list[Parameter]:
        """The positional parameters."""
        return [parameter for parameter in self.parameters if not parameter.is_option]

    @property
    def options(self) -> list[Parameter]:
        """The parameters given by name."""
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
    parameters = []
    for name in names:
        if name not in SUPPLIED_PARAMETERS:
            # Not `get_type_hints`: what a verb answers may be imported for type checkers alone.
            said = function.__annotations__.get(name, str)
            whole = eval(said, function.__globals__) if isinstance(said, str) else said  # noqa: S307
            kind, touches = _without_touch(whole)
            default, is_option = defaults.get(name), name not in positional
            meaning, required = text.meanings.get(name, ""), name not in defaults
            parameters.append(
                Parameter(name, kind, default, is_option, meaning, required, touches=touches)
            )
    return Declaration(
        name=function.__name__.rstrip("_").replace("_", "-"),
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


def convert(
    declared: Declaration, given: Mapping[str, object], now: str, zone: Zone = UTC, *, is_typed: bool = False
) -> dict[str, object]:  # fmt: skip
    """The value of every parameter, in its declared type, from words or JSON values.

    `now` is the caller's clock, in whose zone days are cut. `is_typed`: a person typed the words, and means an empty one. Raises
    `InvalidInputError` that names the parameter and what it wants, for a value that does not fit, a
    required one that is missing, and a name that is not declared.
    """
    hint = f"cortex {declared.name} --help"
    refuse_unknown(declared.name, given, [one.name for one in declared.parameters], hint)
    values = {}
    for parameter in declared.parameters:
        by_place = parameter.name.upper()
        label = parameter.label or (parameter.flag if parameter.is_option else by_place)
        value = given.get(parameter.name)
        if value is None or (not is_typed and is_absent(parameter, value)):
            if parameter.required:
                raise InvalidInputError(f"{label} is missing", hint)
            values[parameter.name] = parameter.default
            continue
        try:
            values[parameter.name] = _convert_value(parameter.type, value, (now, zone))
        except ValueError:
            example = _example(parameter) if parameter.label else ""
            message = f"{label} {_shown(value)} is not {_describe_type(parameter.type)}{example}"
            raise InvalidInputError(message, hint) from None
    return values


def is_absent(parameter: Parameter, value: object) -> bool:
    """Whether a value stands for none, as programs send it."""
    return value in _ABSENT[: -1 if QUERY in get_args(parameter.type) else None]


def refuse_unknown(name: str, given: Iterable[str], known: Sequence[str], hint: str) -> None:
    """Raise `InvalidInputError`, with what is meant perhaps, if a name is given that is not known."""
    if unknown := {*given} - {*known}:
        wrong = min(unknown)
        hint = f"{did_you_mean(wrong, known)} {hint}".strip()
        raise InvalidInputError(f"{name} has no argument {_shown(wrong)}", hint)


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


def _convert_value(kind: Any, value: Any, now: tuple[str, Zone]) -> Any:
    """`value`, a word or a JSON value, as `kind`. Raises `ValueError` when it does not fit."""
    origin: Any = get_origin(kind)
    arguments = get_args(kind)
    if origin is Annotated:
        return _convert_annotated(arguments[0], arguments[1], value, now)
    if origin in (list, tuple):
        item = arguments[0]
        words = list(value) if isinstance(value, list | tuple | set) else _split(value)
        if "" in words or (value and not words) or value == "":
            raise ValueError(value)
        if _is_literal(item):
            words = [part for word in words for part in _split_at_commas(word)]
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
    if kind in (int, float, bool):
        return _convert_number(kind, value)
    if not isinstance(value, kind):
        raise ValueError(value)  # noqa: TRY004  one error for every value that does not fit
    return _whole_characters(value)


def _whole_characters(text: str) -> str:
    """The text with `?` for half of a character, which no file can hold; bytes of names are kept."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _convert_number(kind: Any, value: Any) -> Any:
    """A number or a truth. Raises `ValueError`."""
    word = value.strip().lower() if isinstance(value, str) else value
    if kind is bool:
        if not isinstance(word, str | int) or word not in _TRUTHS:
            raise ValueError(value)
        return _TRUTHS[word]
    is_odd = isinstance(value, str) and not _PLAIN_NUMBER_RE.fullmatch(value)
    if is_odd or isinstance(value, bool):
        raise ValueError(value)
    try:
        value = float(value) if isinstance(value, str) and "." in value else value
        number = kind(value)
    except (TypeError, OverflowError):
        raise ValueError(value) from None
    if number != number or (kind is int and isinstance(value, float) and number != value):  # noqa: PLR0124  NaN
        raise ValueError(value)
    return number


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _convert_annotated(base: Any, mark: object, value: Any, now: tuple[str, Zone]) -> Any:
    if mark == MOMENT:
        is_seconds = type(value) in (int, float) and _MAX_YEAR < value <= _MAX_SECONDS
        said = str(value) if isinstance(value, str | int) else ""
        moment = int(value) if is_seconds else parse_moment(said, *now)
        if moment is None or not -_MAX_SECONDS <= moment <= _MAX_SECONDS:
            raise ValueError(value)
        return moment
    number = _convert_value(base, value, now)
    if isinstance(mark, Between) and not mark.least <= number <= mark.most:
        raise ValueError(number)
    return number


def _split(value: object) -> list[Any]:
    """The words of a list that is written as JSON, else with commas."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        import json  # noqa: PLC0415  people write commas

        with suppress(ValueError, RecursionError):
            words: list[Any] = json.loads(value)
            return words
    return _split_at_commas(value)


def _split_at_commas(value: object) -> list[str]:
    if not isinstance(value, str):
        raise ValueError(value)  # noqa: TRY004  as above
    return [part for word in value.split(",") if (part := word.strip())]


def _describe_type(kind: Any) -> str:
    """What a value of the type is, as the end of `... is not`."""
    origin: Any = get_origin(kind)
    arguments = get_args(kind)
    if origin is Annotated:
        base, mark, *_ = arguments
        if isinstance(mark, Between):
            return f"{_describe_type(base)} from {mark.least:,} to {mark.most:,}"
        is_moment = mark == MOMENT
        return f"a date or a span: write {MOMENT_EXAMPLES}" if is_moment else _describe_type(base)
    if origin in (list, tuple, Literal):
        return _join_or(choices_of(kind)) or ("" if origin is Literal else "a list of words")
    if origin in (Union, UnionType):
        described = [_describe_type(member) for member in arguments if member is not NoneType]
        return _join_or([words for words in described if words])
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "text")


def _join_or(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


def _example(parameter: Parameter) -> str:
    """The end of a refusal that shows a valid value (`: send 5`), empty if the type makes it obvious."""
    kinds = [parameter.type, *get_args(parameter.type)]  # of a union, too
    for mark in (mark for kind in kinds for mark in get_args(kind) if isinstance(mark, Between)):
        sendable = isinstance(parameter.default, int | float) and parameter.default >= mark.least
        return f": send {parameter.default if sendable else mark.least}"
    is_list = any(get_origin(kind) in (list, tuple) for kind in kinds)
    return ': send ["a", "b"]' if is_list and not choices_of(parameter.type) else ""


def _shown(value: object) -> str:
    """A value in a message: however long it is, and however deep, one short line."""
    from reprlib import Repr  # noqa: PLC0415  after a mistake alone

    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = " ".join(value)
    short = Repr()
    short.maxstring = short.maxother = _MAX_SHOWN
    try:
        return short.repr(value)
    except ValueError:  # of a whole number with thousands of digits
        return "so large a number"
