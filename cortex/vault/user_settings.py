"""A person's own settings, `config.toml` in their folder, and the token that a request over HTTP
must bring. Only these settings may name a program."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.light import re
from cortex.core.text.strings import one_of
from cortex.core.text.tables import parse_toml
from cortex.core.text.value import NamedTuple
from cortex.vault import files, overrides, private, user_folders

WORKSPACE_VARIABLE = "CORTEX_WORKSPACE"  # the folder that a host has open, in what it starts
TOKEN_VARIABLE = "CORTEX_MCP_TOKEN"  # noqa: S105  may hold another token, of a person's choice
_MAX_BYTES = 64 * 1024
AGENT, COMMAND = "agent", "command"  # who distills
# Key -> the form of its value as JSON, and what it is in words.
Forms: TypeAlias = Mapping[str, tuple[str, str]]
_TEXT = r'"(?:[^"\\]|\\.)*"'
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,12})?"
FLAG = "true|false", "true or false"
_DISTILL_FORMS = {
    "by": ('"(?:agent|command)"', '"agent" or "command"'),
    "command": (rf'\[(?!""){_TEXT}(?:, {_TEXT})*\]', 'a list of words: ["claude", "-p"]'),
    "auto": FLAG,
    "timeout": (f"(?!0){_NUMBER}", "seconds, at least 1"),
    **dict.fromkeys(("runs_per_day", "dollars_per_day"), (_NUMBER, "a number, not below 0")),
}

_PERSON_FORMS = {"aliases": (rf"\[(?:{_TEXT}(?:, {_TEXT})*)?\]", 'a list of names: ["ana"]')}
_SEMANTIC_VARIABLES = {
    "embedder": "CORTEX_EMBEDDER", "folder": "CORTEX_EMBEDDER_FOLDER", "url": "CORTEX_EMBEDDER_URL",
    "model": "CORTEX_EMBEDDER_MODEL", "key_variable": "CORTEX_EMBEDDER_KEY_VARIABLE",
    "send": "CORTEX_EMBEDDER_SEND",
}  # fmt: skip


class DistillSettings(NamedTuple):
    """Which model distills sessions, and how often."""

    by: str = COMMAND  # or agent: that of the next session is asked to
    command: tuple[str, ...] = ()  # reads a prompt on standard input; none: nothing is asked
    auto: bool = True  # also by itself, after the end of a session
    timeout: float = 300.0  # seconds for an answer
    runs_per_day: float = 20  # by itself
    dollars_per_day: float = 2.0  # by itself, as far as the command says what it costs


class SemanticSettings(NamedTuple):
    """Which embedder makes vectors of notes, and what it may be told."""

    embedder: str = "auto"  # a name of `index/vectors/embedders.py`, auto or off
    folder: str = ""  # of a model
    url: str = ""  # of a remote model
    model: str = ""
    key_variable: str = ""  # the environment variable that holds its key
    send: str = ""  # all: also what agents did, and personal notes, to a remote model


def settings_file() -> str:
    """The file of a person's own settings."""
    return os.path.join(user_folders.user_folder("config"), "config.toml")


def load_distill() -> tuple[DistillSettings, list[Problem]]:
    """The settings below `[distill]`, and what is wrong with them. If they cannot be
    read, the defaults, which have no command."""
    table, problem = load_table("distill")
    problems = [problem] if problem else []
    return DistillSettings(**read_forms("distill", table, _DISTILL_FORMS, problems)), problems


def load_semantic(environ: Mapping[str, str]) -> tuple[SemanticSettings, list[Problem]]:
    """The settings below `[semantic]`, each overruled by its variable, and what is wrong with them.
    If unreadable, no embedder."""
    table, problem = load_table("semantic")
    if problem is not None:
        return SemanticSettings("off"), [problem]
    forms, problems = dict.fromkeys(SemanticSettings._fields, (_TEXT, "a text")), list[Problem]()
    chosen = read_forms("semantic", table, forms, problems)
    chosen |= {
        key: value for key, name in _SEMANTIC_VARIABLES.items() if (value := environ.get(name))
    }
    return SemanticSettings(**chosen), problems


def load_aliases() -> tuple[str, ...]:
    """The `aliases` below `[person]`, the person's names beside git's. Or `InvalidInputError`."""
    table, problem = load_table("person")
    problems = [problem] if problem else []
    aliases: tuple[str, ...] = read_forms("person", table, _PERSON_FORMS, problems).get(
        "aliases", ()
    )
    for one in problems:
        raise InvalidInputError(f"{one.where}: {one.message}", one.hint)
    return aliases


def allows_hard_delete() -> bool:
    """Whether `hard_delete` below `[serve]` lets the server of REST remove a record's file."""
    said = read_forms("serve", load_table("serve")[0], {"hard_delete": FLAG}, [])
    return said.get("hard_delete") is True


def load_table(name: str) -> tuple[Mapping[str, object], Problem | None]:
    """A table of the user's settings; empty if it is missing or, with a problem, if it cannot be read."""
    path = settings_file()
    if fault := files.why_unreadable(path, follow=True):
        return {}, Problem(path, fault, "make it a file of yours")
    try:
        text = files.read_bounded(path, _MAX_BYTES, follow=True).decode()
        table = parse_toml(text).get(name, {}) if text else {}
    except ValueError as error:
        return {}, Problem(path, f"cannot be read: {error}", "mend it")
    if not isinstance(table, dict):
        return {}, Problem(path, f"{name} is no table", f"write [{name}]")
    return table, None


def read_forms(place: str, table: Any, forms: Forms, problems: list[Problem]) -> dict[str, Any]:
    """The values of a table that have their form, lists as tuples; all else is a problem, of a variable an error."""
    if not isinstance(table, dict):
        add_problem(problems, place, "is no table", f"write [{place}]")
        return {}
    table = {**table, **(told := overrides.said(place))}
    said = {key: json.dumps(value, ensure_ascii=False, default=str) for key, value in table.items()}
    right = {key for key in table if key in forms and re.fullmatch(forms[key][0], said[key])}
    for key in sorted(table.keys() - right):
        message, hint = f"{key[:80]} is no setting", one_of(key[:80], (*forms,))
        if key in forms:
            message, hint = f"{key[:80]} is not understood", f"it is {forms[key][1]}"
        if key in told:
            raise overrides.wrong(place, key, forms[key][1])
        add_problem(problems, place, message, hint)
    return {key: tuple(v) if isinstance(v := table[key], list) else v for key in right}


def add_problem(problems: list[Problem], place: str, message: str, hint: str) -> None:
    """Add what is wrong at a place in the user's settings."""
    problems.append(Problem(settings_file(), f"[{place}] {message}", hint))


def add_distill_setting(name: str, value: str | Sequence[str]) -> str:
    """Write a setting below `[distill]`, which has none yet; the path of the settings. Or
    `InvalidInputError`."""
    path = settings_file()
    before = files.read_bounded(path, _MAX_BYTES, follow=True)
    if b"[distill]" in before or files.why_unreadable(path, follow=True):
        raise InvalidInputError(f"{path} has settings for it already", "change them there")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    # A string or a list of strings in JSON is one in TOML too.
    table = f"[distill]\n{name} = {json.dumps(value, ensure_ascii=False)}\n"
    data = b"\n".join(filter(None, (before, table.encode())))
    private.replace(os.path.realpath(path), data, durable=True)
    return path


def own_token() -> str:
    """The token of this user, which no other user can read; made when there is none. Raises `OSError`, `InvalidInputError`."""
    folder = os.path.join(user_folders.user_folder("state"), "mcp")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    user_folders.check_private(folder)
    with suppress(FileExistsError):
        files.create(folder, "token", os.urandom(32).hex().encode())
    path = os.path.join(folder, "token")
    if token := private.read(path, 1_000).decode("ascii", "ignore").strip():
        return token
    raise InvalidInputError(f"{path} holds no token", "remove it; Cortex makes a new one")
