"""Which tools there are, and in which profile. A tool is a verb under names that agents know, and has
no logic of its own; `templates/agent/tools.toml` is their table, which is read from what was made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.strings import did_you_mean
from cortex.core.text.value import NamedTuple
from cortex.interfaces.declare import Declaration, declaration_of, for_servers, load_verb
from cortex.operations import VERBS
from cortex.vault.templates import read_template

# What stays on the command line -> why.
VERBS_WITHOUT_TOOL = {
    "completion": "a script for a shell",
    "git": "changes the settings of the person's git",
    "erase": "takes away for good, which a person decides",
    "tick": "starts what a person has scheduled; a timer and the watcher call it",
    "export": "writes a file wherever a person wants it",
    "import": "reads what agents wrote elsewhere on this machine",
    "index-code": "reads files wherever they lie",
    "init": "makes a vault in a folder that a person chooses",
    "merge": "reads three files wherever they lie",
    "edit": "starts a person's editor",
    "open": "starts a person's editor or Obsidian",
    "hooks": "changes the settings of the host that runs the agent: a person decides that",
    "mcp": "is this server",
    "reset": "takes a project's memory away, which a person decides",
    "serve": "is a server, too",
    "trust": "a person reads what agents are told, and decides",
    "tui": "a view for a person at a terminal",
    "upgrade": "rewrites records of earlier versions, which a person decides",
    "watch": "runs until it is ended",
    "web": "opens a browser of the person's",
}


class Tool(NamedTuple):
    """A verb as a tool."""

    verb: str
    description: str = ""  # for a model; by default the verb's summary
    # Its argument -> the verb's parameter and what it means. Empty: all of the verb's, as they are.
    arguments: Mapping[str, tuple[str, str]] = {}
    profile: str = ""
    required: tuple[str, ...] = ()  # beside what the verb requires
    fixed: Mapping[str, object] = {}  # parameters that are always so
    defaults: Mapping[str, object] = {}  # parameters that are so unless they are given
    preview: int = 0  # characters of a hit's snippet in JSON; 0: as the verb gives it


def declare(tool: Tool) -> Declaration:
    """The verb's declaration, without what reaches beside the vault. The parameters that the tool has
    are labelled as it calls them, the others not at all."""
    declared = for_servers(declaration_of(load_verb(tool.verb)))
    if not tool.arguments:
        own = (one._replace(label=one.name) for one in declared.parameters)
        return declared._replace(parameters=tuple(own))
    known = {one.name: one for one in declared.parameters}
    for label, (name, meaning) in tool.arguments.items():
        required = known[name].required or label in tool.required
        known[name] = known[name]._replace(label=label, meaning=meaning, required=required)
    return declared._replace(parameters=tuple(known.values()))


@cache
def read_listing() -> dict[str, Any]:
    """What was made of the table and the declarations of the verbs (`listing.py:make_listing`): lists of
    tools, resources and prompts as a client is shown them, and the `table` itself."""
    listing: dict[str, Any] = json.loads(read_template("agent/listing.json"))
    return listing


@cache
def known_tools() -> dict[str, Tool]:
    """The tools of our table, then every other verb that has one, by name."""
    return tools_of(read_listing()["table"])


def tools_of(table: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Tool]:
    """The tools of a table, given their fields, and the verbs that it does not name."""
    tools = {name: Tool(**fields) for name, fields in table}
    return tools | {verb: Tool(verb) for verb in VERBS if verb not in {*tools, *VERBS_WITHOUT_TOOL}}


def profiles() -> dict[str, list[str]]:
    """The names of the tools of each profile."""
    named: dict[str, list[str]] = {}
    for name, tool in known_tools().items():
        named.setdefault(tool.profile, []).append(name)
    named.pop("")
    return {**named, "all": [*known_tools()]}


def select_tools(words: Iterable[str]) -> dict[str, Tool]:
    """The tools of these profiles and names. Raises `InvalidInputError` for a word that is
    neither."""
    tools, names_by_profile = known_tools(), profiles()
    chosen: dict[str, Tool] = {}
    for word in words:
        names = names_by_profile.get(word) or ([word] if word in tools else [])
        if not names:
            otherwise = f"profiles: {', '.join(names_by_profile)}"
            hint = did_you_mean(word, [*names_by_profile, *tools], otherwise)
            raise InvalidInputError(f"there is no tool and no profile {word!r}", hint)
        chosen |= {name: tools[name] for name in names}
    return chosen
