"""A hint as data: its words, and the calls that it names, read by the declarations of their verbs.

Hints and undo commands are written as a shell takes them. An interface without a shell has `reword` say each
call in its own way; what it cannot say is left out with its clause.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Container, Iterator, Mapping
from typing import get_args

from cortex.core.model.parameters import OneOf
from cortex.core.model.problem import InvalidInputError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.interfaces.cli import arguments
from cortex.interfaces.declare import Parameter, choices_of, declaration_of, load_verb
from cortex.operations import ALIASES, VERBS

_QUOTED = r"""(?<!\w)\$?'[^']*'|(?<!\w)"[^"]*\""""
# What ends a clause, outside of quotes.
_CLAUSE_END_RE = lazy_re(rf"{_QUOTED}|([;,?](?=\s)|\.(?=\s[A-Za-z])|\s(?:or|and)(?=\s`?cortex\s))")
_COMMAND_RE = lazy_re(r"`?(?<![\w./-])cortex (--vault \S+ )?([a-z][a-z-]*)")
_WORD_RE = lazy_re(r"""(?:\$?'[^']*'|"[^"]*"|[^\s'"])+""")
# A command for a shell that is not ours.
_SHELL_RE = lazy_re(
    r"(?:^|[\s`])(?:git (?:-|add|commit|config|init|log|ls|merge|pull|push|rebase|remote|reset|restore|rm"
    r"|sparse-checkout|stash|status|switch|checkout)\b|(?:chmod|export|ls|mv|pip|pipx|rm|sudo) [^\s]|ulimit )"
)
_PIPE_RE = lazy_re(r"\s[|<]\s")
_FLAG_RE = lazy_re(r"(?<![\w-])--[a-z][a-z-]*")
_VALUE_RE = lazy_re(r"[\d/.:_@*]|\w-\w")  # what no plain word holds
_PROSE = frozenset((
    "a", "again", "also", "anew", "first", "for", "if", "in", "it", "on", "the", "then", "to", "when", "where", "which",
))  # fmt: skip
_JOINS = ("then ", "or ", "and ")  # what a clause cannot begin with


class HintedCall(NamedTuple):
    """A verb, and what is given for its parameters: words, a list of them, or True for a flag."""

    verb: str
    given: dict[str, object]


def known_verb(word: str) -> str:
    """The verb that a word of a command line names; empty for none."""
    return word if word in VERBS else ALIASES.get(word, ("",))[0]


def _iter_calls(text: str) -> Iterator[tuple[str, HintedCall | None]]:
    """The commands in a text, but those within the words of another, and their calls; None for no call."""
    end = 0
    for found in _COMMAND_RE.finditer(text):
        if found.start() >= end:
            verb, call, end = known_verb(found[2]), None, found.end()
            if verb:
                call, end = _read_arguments(verb, found[2], text, end)
            yield text[found.start() : end].lstrip("`"), call


def read_calls(commands: str) -> list[HintedCall]:
    """The calls of commands that are joined by ` && `, such as take a change back. None where one of
    them is piped, or no call."""
    found, between = [*_iter_calls(commands)], commands
    for command, _ in found:
        between = between.replace(command, "", 1)
    calls = [call for _, call in found if call]
    return calls if len(calls) == len(found) and not _PIPE_RE.search(between) else []


def named_commands(hint: str) -> list[str]:
    """The commands of ours in a hint, as a person types them, without the words of the sentence around."""
    return [command for command, call in _iter_calls(hint) if call]


def reword(
    hint: str, verbs: Container[str], say: Callable[[HintedCall], str], labels: Mapping[str, str]
) -> str:
    """The hint with its calls as `say` words them. A clause whose call it cannot word, or is of none of
    these verbs, is left out, and so is one with a command of a shell or an option that `labels` has no
    name for."""
    lead = hint[: len(hint) - len(hint.lstrip(" ;:,"))]
    hint = hint[len(lead) :]
    kept, start, before, is_left_out = "", 0, "", False
    ends = [one.span(1) for one in _CLAUSE_END_RE.finditer(hint) if one[1]]
    for end, following in (*ends, (len(hint), len(hint))):
        said = hint[start:end].strip()
        # `, which …` goes with what it is about.
        goes_too = is_left_out and before == ", " and not said.startswith(("or ", "and "))
        clause = "" if goes_too else _reword_clause(said, verbs, say, labels)
        is_left_out = not clause
        if hint[end:following].isspace() or following - end > 2:  # ` or cortex …` goes on with it
            clause = clause.removeprefix("call ")
        for join in _JOINS if clause and not kept else ():
            clause = clause.removeprefix(join)
        kept += f"{before if kept else ''}{clause}" if clause else ""
        before, start = f"{hint[end:following].rstrip()} ", following
    return f"{lead}{kept}" if kept else ""


def _reword_clause(
    clause: str, verbs: Container[str], say: Callable[[HintedCall], str], labels: Mapping[str, str]
) -> str:
    """The clause reworded, empty where that cannot be."""
    kept, at = "", 0
    for found in _COMMAND_RE.finditer(clause):
        verb = known_verb(found[2])
        if found.start() < at or not (verb or found[2] in ("help", "hook")):
            continue  # within what was read, or `cortex is busy`
        if found[1] or verb not in verbs:
            return ""
        call, end = _read_arguments(verb, found[2], clause, found.end())
        if call is None or "-" in call.given.values() or not (said := say(call)):
            return ""
        left = clause[at : found.start()].replace(" && ", ", then ")
        rest = clause[end:].removeprefix("`")
        kept += left + ("" if rest else "call ") + said
        at = len(clause) - len(rest)
    tail = clause[at:]
    if _SHELL_RE.search(clause) or _PIPE_RE.search(kept + tail):
        return ""
    for flag in {*_FLAG_RE.findall(tail)}:
        if not (label := labels.get(flag)):
            return ""
        tail = re.sub(rf"{flag}\b(?!-)", label, tail)
    return kept + tail


def _read_arguments(verb: str, word: str, text: str, at: int) -> tuple[HintedCall | None, int]:
    """The call of a verb whose words stand from `at` on, and where they end: at the first word that its
    declaration has no place for. None where help is asked for."""
    declared = declaration_of(load_verb(verb))
    flags, places = arguments.flags_of_verb(declared), declared.arguments
    words = [] if word in VERBS else [*ALIASES[word][1:]]
    used, awaits, is_query, end = 0, False, False, at
    for token in _WORD_RE.finditer(text, at):
        bare = token[0] if token[0][0] in "'\"" else token[0].rstrip("`.:)")
        flag, equals, _ = bare.partition("=")
        if bare in ("", "&&"):  # after which another command begins
            break
        if awaits:
            awaits = False
        elif (option := flags.get(flag)) or flag in arguments.HELP_FLAGS:
            awaits = bool(option and option.type is not bool and not equals)
        elif places and (is_query or _fits(places[min(used, len(places) - 1)], bare)):
            used += 1
        else:
            break
        words.append(bare)
        is_query = verb == "search" and words[0] == "--all"  # whatever follows, pears or for
        end = token.start() + len(bare)
        if bare != token[0]:
            break
    plain = [shlex.split(one)[0] if one[0] in "'\"" else one for one in words]
    optional = tuple(one._replace(required=False) for one in declared.parameters)
    if awaits or any(one.startswith("$'") for one in words):  # bytes in octal
        return None, end
    try:
        given = arguments.parse(declared._replace(parameters=optional), plain)
    except InvalidInputError:  # text that only looks like a command
        return None, end
    return (None if given is None else HintedCall(verb, given)), end


def _fits(place: Parameter, word: str) -> bool:
    """Whether a word can be the value of an argument, and is no word of the sentence."""
    marks = [mark for mark in get_args(place.type) if isinstance(mark, OneOf)]
    if choices := choices_of(place.type) or [one for mark in marks for one in mark.words]:
        return word in choices or word.isupper()
    if word.startswith("-"):
        return word == "-"
    is_value = word[0] in "'\"$…" or word.isupper() or _VALUE_RE.search(word)
    return bool(is_value or not (word.endswith("s") or word in _PROSE))
