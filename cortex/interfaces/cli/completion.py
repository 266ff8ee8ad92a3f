"""What may come next on a command line, for a press of Tab: `cortex __complete SHELL WORD…`.

The scripts for shells, which the verb `completion` prints, call it. It changes nothing, and is
silent where it knows nothing.
"""

from __future__ import annotations

import gc
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Literal, get_args

from cortex import importers, operations
from cortex.core.model.caller import Caller
from cortex.core.model.event import EVENT_TYPES
from cortex.core.model.parameters import MOMENT, OneOf, QueryText
from cortex.core.model.record import RECORD_TYPES
from cortex.core.model.relation import RELATION_KINDS
from cortex.core.text.value import NamedTuple
from cortex.hosts import HOST_NAMES, TRANSCRIPT_HOSTS
from cortex.hosts.host import EVENTS
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.interfaces.cli.arguments import flags_of_verb, is_list, options_of
from cortex.interfaces.cli.daemon_client import verb_position
from cortex.interfaces.declare import Parameter, choices_of, declaration_of, is_note_name, load_verb
from cortex.operations import ALIASES, VERBS
from cortex.vault.locate import find_vault
from cortex.vault.templates import read_template

_Answers = Iterable[tuple[str, str]]  # words, and what each means

_FILES = ":files"  # the shell is to complete the name of a file
_MAX_ANSWERS = 100
_MAX_MEANING_CHARS = 70
_MAX_SESSIONS, _MAX_TAGGED_NOTES = 500, 2_000  # that are looked through
# parameter -> what its values are: names of notes, values that the catalogue counts, or files
SOURCES = {
    **dict.fromkeys(("what", "derived_from", "supersedes"), "note"),
    **dict.fromkeys(("session", "sessions"), "session"),
    **dict.fromkeys(("tag", "tags", "add_tags", "remove_tags"), "tag"),
    **dict.fromkeys(("directory", "folder", "answer", "path", "publish", "base", "ours", "theirs", "token_file", "output"), _FILES),
    **{name: name for name in ("type", "project", "topic", "branch", "owner", "status")},
    "done ID": "to do", "vault": _FILES, "session NAME": "session", "project A": "project", "project B": "project",
    "import SOURCES": "source", "schema VERB": "verb", "capture --type": "event", "capture --id": "", "graph --kind": "relation", "recall --relation": "relation",
}  # fmt: skip
_FIXED: dict[str, Iterable[str]] = {
    "source": (*TRANSCRIPT_HOSTS, *importers.SOURCES), "verb": VERBS, "event": (*RECORD_TYPES, *EVENT_TYPES), "type": RECORD_TYPES, "relation": RELATION_KINDS, "span": ("1d", "7d", "2w", "3m", "1y"),
}  # fmt: skip


class CompletionScript(NamedTuple):
    """What a shell is to read."""

    shell: str
    script: str


def completion(caller: Caller, shell: Literal["bash", "zsh", "fish"]) -> CompletionScript:
    """Print a completion script for bash, zsh or fish.

    At a press of Tab it offers verbs, options and their values: notes, projects, topics, tags,
    types and what else the vault knows.

    shell: bash, zsh or fish

    Example: cortex completion bash > ~/.local/share/bash-completion/completions/cortex
    Example: cortex completion zsh > "${fpath[1]}/_cortex"
    Example: cortex completion fish > ~/.config/fish/completions/cortex.fish
    """
    del caller
    return CompletionScript(shell, read_template(f"completion/{shell}"))


def run(argv: list[str]) -> int:
    """Print the answers. Returns 0 whatever happens: nothing may disturb a person's prompt."""
    gc.disable()  # it ends before there is anything to collect
    with suppress(Exception):
        shell, *words = argv
        quote, cut = "", 0
        if shell == "bash":
            line, breaks = words
            words, quote = _split_line(line)
            # Readline's word begins behind a `:` or `=`. A blank in it is escaped, and ends none.
            signs = "" if quote else breaks.translate(dict.fromkeys(map(ord, " \t\n\"'")))
            cut = max((words[-1].rfind(sign) + 1 for sign in signs), default=0)
        elif shell == "fish":
            words[-1] = re.sub(r"\\(.)", r"\1", words[-1].lstrip("'\""))
        for word, meaning in answers(words):
            printable = "".join(filter(str.isprintable, meaning[:_MAX_MEANING_CHARS]))
            escaped = _escape_for_bash(word[cut:], quote)
            line = escaped if shell == "bash" else f"{word}\t{printable}"
            sys.stdout.write(f"{line.rstrip(chr(9))}\n" if line else "")
    return 0


def _escape_for_bash(word: str, quote: str) -> str:
    """The word escaped for bash, so that no note's title runs as a command; empty if it cannot
    stand in the open quotes."""
    if word == _FILES:
        return word
    if quote == "'":
        return "" if "'" in word else word
    if quote:
        return "" if "!" in word else re.sub(r"([$`\"\\])", r"\\\1", word)
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", word) + ("" if word.endswith((":", "=")) else " ")


def answers(words: list[str]) -> list[tuple[str, str]]:
    """What may stand in place of the last word, which may be empty; `(":files", "")` for a file."""
    *before, current = words
    at = verb_position(before)
    if at < len(before):
        offered = _words_of_verb(before[at], before[:at], before[at + 1 :], current)
    elif before[-1:] == ["--vault"]:
        offered = [(_FILES, "")]
    else:
        offered = _verbs(current)
    folded = current.casefold()
    fitting = {
        word: meaning
        for word, meaning in offered
        if word == _FILES or (word.casefold().startswith(folded) and word.isprintable())
    }
    return [*fitting.items()][:_MAX_ANSWERS]


def _split_line(line: str) -> tuple[list[str], str]:
    """The words behind the command's name, the last one as far as it is typed, and its open quote."""
    for quote in ("", '"', "'"):
        with suppress(ValueError):
            _, *words = shlex.split(f"{line}\0{quote}")
            return [word.removesuffix("\0") for word in words], quote
    raise ValueError(line)


def _verbs(current: str) -> Iterator[tuple[str, str]]:
    if current.startswith("-"):
        for flag in ("--help", "--version", "--vault", "--json"):
            yield flag, ""
        return
    yield from ((name, _summary(name)) for name in (*VERBS, "help"))


def _summary(name: str) -> str:
    """The first line of a verb's docstring, read without importing it, which takes long for all."""
    module, function = VERBS.get(name, ("", ""))
    path = f"{os.path.dirname(os.path.dirname(operations.__file__))}/{module.replace('.', '/')}.py"
    with suppress(OSError), open(path, encoding="utf-8") as file:
        docstring = rf'^def {function}\(.*?"""([^\n]*)'
        match = re.search(docstring, file.read(), re.MULTILINE | re.DOTALL)
        return match[1] if match else ""
    return ""


def _words_of_verb(name: str, front: list[str], given: list[str], current: str) -> _Answers:
    if name == "help":
        return [] if given else _verbs(current)
    if name == "hook":
        words = HOST_NAMES if given[-1:] == ["--host"] else (*EVENTS, "--host")
        return ((word, "") for word in words)
    verb, *put_before = ALIASES.get(name, (name,))
    if verb not in VERBS:
        return []
    declared = declaration_of(load_verb(verb))
    options = flags_of_verb(declared)
    arguments = declared.arguments
    position, pending, vault = 0, None, ""
    for word in [*front, *put_before, *given]:
        flag, equals, value = word.partition("=")
        if pending is not None:
            vault = word if pending.name == "vault" else vault
            pending = None
        elif flag in options:
            pending = None if equals or options[flag].type is bool else options[flag]
            vault = value if flag == "--vault" else vault
        else:
            position += not word.startswith("-") or word == "-"

    flag, equals, value = current.partition("=")
    if pending is not None:
        return _values_of(verb, pending, current, vault)
    if equals and flag in options:
        values = _values_of(verb, options[flag], value, vault)
        return ((word if word == _FILES else f"{flag}={word}", meaning) for word, meaning in values)
    parameter = arguments[min(position, len(arguments) - 1)] if arguments else None
    offered: list[tuple[str, str]] = []
    if current.startswith("-"):
        offered = [(option.flag, option.meaning) for option in options_of(declared)]
        offered += [("--help", "explain the verb")]
    if parameter is not None and (offered == [] or parameter.type is QueryText):
        is_minutes = verb == "capture" and "meeting" in " ".join(given)
        offered += [(_FILES, "")] if is_minutes else _values_of(verb, parameter, current, vault)
    return offered


def _known(vault: str, kind: str, begin: str) -> _Answers:
    """Values that begin so, in any case, as of the last refresh of the index: of notes, sessions,
    tags, or a field of the catalogue. None where the index cannot be read at once."""
    with suppress(Exception):
        from cortex.index.refresh import last_index  # noqa: PLC0415  10 ms

        with last_index(find_vault(vault, os.getcwd(), os.environ), 0.0) as last:
            values = _values_in(last[0], kind, begin) if last else ()
            folded = begin.casefold()
            fitting = (pair for pair in values if pair[0].casefold().startswith(folded))
            return [*dict.fromkeys(fitting)][:_MAX_ANSWERS]
    return []


def _values_in(catalogue: Catalogue, kind: str, begin: str) -> _Answers:
    if kind == "note":
        return _note_names(catalogue.notes_named_from(begin, _MAX_ANSWERS), begin)
    if kind == "to do":
        from cortex.operations.find.actions import list_to_do  # noqa: PLC0415  20 ms

        names = [(one.name, one.title) for one in list_to_do(catalogue)]
        return [*names, *((title, name) for name, title in names if begin)]
    if kind == "session":
        of_sessions = KNOWLEDGE._replace(types=("session",))
        rows = catalogue.find(of_sessions, "-date", _MAX_SESSIONS)
        return ((row.session or row.id, row.title) for row in rows)
    if kind == "tag":
        rows = catalogue.find(KNOWLEDGE, "-date", _MAX_TAGGED_NOTES)
        return ((tag, "") for row in rows for tag in row.tags)
    return ((str(value), "") for value in catalogue.count_by(kind) if value)


def _note_names(rows: Iterable[NoteRow], begin: str) -> Iterator[tuple[str, str]]:
    """Of each note the name that begins so: its id, the hash at its end, path, file name or title;
    one in the case that is typed comes first."""
    folded = begin.casefold()
    for row in rows:
        handle, file_name = row.id.rpartition("-")[2], row.path.rpartition("/")[2]
        names = (row.id, handle, row.path, file_name.removesuffix(".md"), row.title)
        fitting = [one for one in names if one and one.casefold().startswith(folded)]
        exact = [one for one in fitting if one.startswith(begin)]
        yield from ((one, row.title) for one in (exact or fitting)[:1])


def _values_of(verb: str, parameter: Parameter, begin: str, vault: str) -> _Answers:
    """The values of a parameter. Of a list the last one is completed."""
    if parameter.type is QueryText and parameter.name == "query":
        return _filters(begin, vault)
    if is_list(parameter) and parameter.is_option and "," in begin:
        head, _, tail = begin.rpartition(",")
        return (
            (f"{head},{word}", meaning)
            for word, meaning in _values_of(verb, parameter, tail, vault)
        )
    kinds = (parameter.type, *get_args(parameter.type))
    if any(MOMENT in get_args(kind) for kind in kinds):
        return _of_source("span", begin, vault)
    choices = [word for mark in kinds if isinstance(mark, OneOf) for word in mark.words]
    if choices := choices or choices_of(parameter.type):
        return ((word, "") for word in choices)
    name = parameter.flag if parameter.is_option else parameter.metavar
    source = "note" if is_note_name(parameter.type) else SOURCES.get(parameter.name, "")
    return _of_source(SOURCES.get(f"{verb} {name}", source), begin, vault)


def _of_source(source: str, begin: str, vault: str) -> _Answers:
    if source in ("", _FILES):
        return [(_FILES, "")] if source else []
    fixed = [(word, "") for word in _FIXED.get(source, ())]
    return [*_known(vault, source, begin), *fixed] if source == "type" or not fixed else fixed


def _filters(begin: str, vault: str) -> _Answers:
    """`type:` and the other filters of a query, or the values of the one that is typed."""
    from cortex.core.ranking.query import FILTER_KEYS  # noqa: PLC0415  7 ms

    minus = "-" if begin.startswith("-") else ""
    key, colon, values = begin.removeprefix("-").partition(":")
    if not colon:
        return ((f"{minus}{key}:", "") for key in FILTER_KEYS)
    head, comma, tail = values.rpartition(",")
    source = {"after": "span", "before": "span", "path": ""}.get(key, key)
    offered = _of_source(source, tail, vault) if key in FILTER_KEYS else []
    return ((f"{minus}{key}:{head}{comma}{word}", meaning) for word, meaning in offered)
