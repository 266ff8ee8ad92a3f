"""Call a verb for any interface: bind it to a request, convert arguments, call it, and phrase errors.

A request (folder, vault, session) belongs to one call, never to the process: a server answers for many.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from cortex.core.model.caller import Caller, ProgressCallback, no_progress
from cortex.core.model.problem import CortexError
from cortex.core.text.days import Zone
from cortex.core.text.strings import shell_quote
from cortex.core.text.value import NamedTuple
from cortex.interfaces.declare import Declaration, convert, is_absent, is_note_name
from cortex.operations import VERBS_WITHOUT_SETUP
from cortex.vault import zones
from cortex.vault.git import checkout
from cortex.vault.locate import Vault

# Who means an empty word, and `null`, where they give it: a person at a shell, and a request over HTTP.
_EXACT_SOURCES = ("cli", "http", "page", "preview")


class Request(NamedTuple):
    """Who asks, from where, about which vault."""

    cwd: str  # absolute path of the working directory
    source: str  # the interface: cli, mcp, python, http, page; preview for a search at each key
    find: Callable[[], Vault]  # asked by verbs that take a vault alone
    session: str = ""  # that of what is written, where the call names none
    progress: ProgressCallback = no_progress
    wants_outcome: bool = True  # as the caller's
    zone: Zone | None = None  # the asker's; None: this process's
    # Takes what a fresh clone is given; None gives it nothing.
    say: Callable[[str], None] | None = lambda _line: None
    paths_from: str = ""  # where relative paths of notes begin; by default at `cwd`
    named: str = ""  # the vault, where an argument names it; so do the calls of its hints


class Call(NamedTuple):
    """A verb with what is given for its parameters, words or JSON values, bound to a request."""

    function: Callable[..., Any]
    declared: Declaration
    given: dict[str, object]
    caller: Caller
    supplied: dict[str, object]  # what the interface fills in
    paths_from: str  # the folder from which a relative path of a note is meant

    @property
    def vault(self) -> Vault | None:
        """The vault, where the verb takes one."""
        vault = self.supplied.get("vault")
        return vault if isinstance(vault, Vault) else None

    def values(self) -> dict[str, Any]:
        """The value of every parameter. Raises `InvalidInputError` for one that does not fit."""
        is_typed = self.caller.source in _EXACT_SOURCES
        return convert(self.declared, self.given, self.caller.now, self.caller.zone, is_typed=is_typed)  # fmt: skip

    def answer(self) -> Any:
        """Call the verb. Paths of notes are relative to the working directory, or to the vault.

        Raises `CortexError`, also for a value that does not fit, and `OSError`.
        """
        values = self.values()
        root = self.vault.root if self.vault else ""
        for parameter in self.declared.parameters if root else ():
            if (name := values[parameter.name]) and is_note_name(parameter.type):
                names = name if isinstance(name, list) else [name]
                inside = [_vault_path(str(each), self.paths_from, root) for each in names]
                values[parameter.name] = inside if isinstance(name, list) else inside[0]
        return self.function(caller=self.caller, **values, **self.supplied)


def bind(
    function: Callable[..., Any],
    declared: Declaration,
    given: Mapping[str, object],
    request: Request,
    supplied: Mapping[str, object] | None = None,
) -> Call:
    """The call of a verb in a request. A fresh clone is given its merge drivers before, since git copies
    no configuration. `supplied` are parameters that the interface fills in beside the vault and the
    caller, where the verb has them. Raises as `find`."""
    bound = {**given}
    for one in declared.parameters if request.session else ():
        if one.name == "session" and is_absent(one, given.get("session")):
            bound["session"] = request.session
    filled = {name: one for name, one in (supplied or {}).items() if name in declared.supplied}
    if "vault" in declared.supplied:
        filled["vault"] = vault = request.find()
        is_look = declared.name in VERBS_WITHOUT_SETUP or given.get("check") or given.get("dry_run")
        if request.say and not is_look and not checkout.has_merge_drivers(vault.root):
            from cortex.operations.share.git import set_up_clone  # noqa: PLC0415  once for each clone

            for line in set_up_clone(vault):
                request.say(line)
    paths_from = request.paths_from or request.cwd
    return Call(function, declared, bound, make_caller(request), filled, paths_from)


def make_caller(request: Request) -> Caller:
    """The surroundings of a request, now."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    zone = request.zone or zones.local()
    return Caller(request.cwd, now, os.urandom, request.source, request.progress, request.wants_outcome, zone)  # fmt: skip


def error_of(error: OSError) -> CortexError:
    """What the operating system refused, with the next thing to do."""
    if isinstance(error, FileNotFoundError) and not error.filename:
        try:
            os.getcwd()
        except FileNotFoundError:
            hint = "cd to a folder that is there, then run the command again"
            return CortexError("the working directory is gone", hint)
    where, hint = f": {error.filename}" if error.filename else "", "cortex doctor"
    if isinstance(error, PermissionError) and error.filename:
        named = os.path.abspath(os.fsdecode(error.filename))
        folder = shell_quote(named if os.path.isdir(named) else os.path.dirname(named))
        hint = f"ls -ld {folder} shows whose it is; run the command again when you may use it"
    return CortexError(f"{error.strerror or error}{where}", hint)


def _vault_path(name: str, cwd: str, root: str) -> str:
    """The path below the vault, and the line, of a file that `name` leads to from `cwd`; else the name."""
    path, _, line = name.rpartition(":")
    given = path if line.isdecimal() else name
    if "/" not in given and not given.endswith(".md"):
        return name
    file = os.path.normpath(os.path.join(cwd, os.path.expanduser(given)))
    is_inside = file.startswith(f"{root.rstrip('/')}/") and os.path.isfile(file)
    return os.path.relpath(file, root) + name[len(given) :] if is_inside else name
