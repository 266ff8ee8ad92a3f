"""The command line of one verb, read by its declaration.

No argparse: importing it takes a quarter of a capture's budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args, get_origin

from cortex.core.model.parameters import QUERY
from cortex.core.model.problem import InvalidInputError
from cortex.core.text.strings import close_matches
from cortex.interfaces.declare import Declaration, Parameter

GLOBAL_OPTIONS = (
    Parameter(
        "vault", str, "", True, "the vault; by default $CORTEX_VAULT, else the nearest one upwards"
    ),
    Parameter("json", bool, False, True, "answer with one JSON object"),
)
# Of verbs that answer with a list of notes.
_LIST_OPTIONS = (
    Parameter("paths", bool, False, True, "print only the paths of the notes, one a line"),
    Parameter("pick", bool, False, True, "choose one of them on the terminal, and open it"),
)
LISTING_VERBS = ("actions", "meetings", "recall", "search", "timeline")
# Options that people type often enough to want one letter.
SHORT_FLAGS = {"number": "-n", "output": "-o", "paths": "-l"}
_QUERY_FILTERS = ("--scope", "--topic", "--session", "--path", "--owner")  # not options of search
HELP_FLAGS = ("-h", "--help")


def parse(declared: Declaration, words: Sequence[str]) -> dict[str, object] | None:
    """The words given for each parameter, not converted: True for a flag, a list for a list.

    Returns None if help is asked for. Raises `InvalidInputError` that names the option for any
    mistake.
    """
    arguments = declared.arguments
    options = flags_of_verb(declared)
    is_query = bool(arguments) and QUERY in get_args(arguments[-1].type)
    values: dict[str, object] = {}
    given: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            given += rest
            break
        flag, equals, value = word.partition("=")
        if flag not in options and word[:2] in SHORT_FLAGS.values() and not word[2:3].isalpha():
            flag, equals, value = word[:2], "=", word[2:]  # -n5
        if not word.startswith("-") or word == "-" or flag.split() != [flag]:
            given.append(word)  # an option holds no blank: `- [ ] a task` is text
        elif word in HELP_FLAGS:
            return None
        elif option := options.get(flag):
            said = _option_value(declared, option, rest, value if equals else None)
            is_more = is_list(option) and option.name in values
            values[option.name] = f"{values[option.name]},{said}" if is_more else said
        elif is_query and not word.startswith("--"):
            given.append(word)  # excludes a word
        else:
            raise _no_such_option(declared, flag, options)
    if given and not arguments:
        hint = _help_command(declared)
        raise InvalidInputError(f"cortex {declared.name} takes no words: {' '.join(given)!r}", hint)
    # The last argument takes the rest of the line, so that a query or a text needs no quotes.
    for at, parameter in enumerate(arguments):
        if own := given[at:] if parameter is arguments[-1] else given[at : at + 1]:
            values[parameter.name] = own if is_list(parameter) else " ".join(own)
    for parameter in arguments:
        if parameter.required and parameter.name not in values:
            raise InvalidInputError(f"{parameter.name.upper()} is missing", _help_command(declared))
    return values


def options_of(declared: Declaration) -> list[Parameter]:
    """All options of a verb's command line."""
    return [
        *declared.options,
        *(_LIST_OPTIONS if declared.name in LISTING_VERBS else ()),
        *GLOBAL_OPTIONS,
    ]


def flags_of_verb(declared: Declaration) -> dict[str, Parameter]:
    """The options of a verb by what is written for them, one letter too."""
    return {flag: option for option in options_of(declared) for flag in flags_of(option)}


def flags_of(parameter: Parameter) -> list[str]:
    """How an option is written."""
    short = SHORT_FLAGS.get(parameter.name)
    return [short, parameter.flag] if short else [parameter.flag]


def _option_value(
    declared: Declaration, option: Parameter, rest: Iterator[str], value: str | None
) -> object:
    if option.type is bool:
        if value is not None:
            raise InvalidInputError(f"{option.flag} takes no value", _help_command(declared))
        return True
    if value is None:
        value = next(rest, None)
        # `-5` is a value that may be out of range: no option begins with a digit.
        if value is None or (value[:1] == "-" and value != "-" and not value[1:2].isdigit()):
            hint = f"{option.flag}={option.metavar}"
            raise InvalidInputError(f"{option.flag} needs a value", hint)
    return value


def _no_such_option(
    declared: Declaration, flag: str, options: dict[str, Parameter]
) -> InvalidInputError:
    long = [each for each in options if each.startswith("--")]
    close = close_matches(f"--{flag.lstrip('-')}", long, 1)
    suggestion = f"did you mean {close[0]}? " if close else ""
    if declared.name == "search" and flag in _QUERY_FILTERS:
        suggestion = f"{flag.lstrip('-')}:… is a word of the query; "
    listed = f"{_help_command(declared)} lists them; after -- a word that begins with - is text"
    return InvalidInputError(f"cortex {declared.name} has no option {flag}", suggestion + listed)


def is_list(parameter: Parameter) -> bool:
    members = (parameter.type, *get_args(parameter.type))  # of a union
    return any(get_origin(member) in (list, tuple) for member in members)


def _help_command(declared: Declaration) -> str:
    return f"cortex {declared.name} --help"
