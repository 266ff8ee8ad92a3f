"""The verbs as methods of a vault, for programs in Python: `from cortex import Vault`; and the four searches
that earlier memories had as functions. `cortex/__init__.pyi` tells type checkers what they take and answer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from inspect import Parameter, Signature
from types import MethodType
from typing import Any

from cortex.core.model.caller import ProgressCallback, no_progress
from cortex.core.runs.run_note import RunRequest, is_closed
from cortex.interfaces.call import Request, bind, make_caller
from cortex.interfaces.declare import Declaration, declaration_of, load_verb
from cortex.operations import VERBS
from cortex.vault.locate import find_vault, nearest_vault_root

# They want a terminal.
_NOT_METHODS = (
    "completion", "edit", "mcp", "open", "schema", "serve", "tui", "watch", "web",
)  # fmt: skip


class _Verb:
    """A verb as a method, whose module is imported when it is first asked for."""

    def __init__(self, verb: str) -> None:
        self._verb = verb

    def __get__(self, vault: OpenVault | None, _class: type) -> Callable[..., Any]:
        function = load_verb(self._verb)
        declared = declaration_of(function)
        signature = _signature(declared, function)

        def call(vault: OpenVault, /, *arguments: object, **options: object) -> Any:
            given = signature.bind(vault, *arguments, **options).arguments
            del given["self"]
            return vault._call(function, declared, given)  # noqa: SLF001  its own

        call.__name__ = call.__qualname__ = _method_name(self._verb)
        call.__doc__ = function.__doc__
        call.__signature__ = signature  # type: ignore[attr-defined]
        return call if vault is None else MethodType(call, vault)


class OpenVault:
    """A vault, and each verb as a method: `Vault("~/notes").search("merge driver", number=5).hits`.

    A method takes the arguments and options of its verb, as values or as words of a command line,
    and returns what the verb answers (a named tuple; `cortex schema VERB`). It raises `CortexError`
    (cortex.core.model.problem), which has a `hint`. `import` is `import_`. Methods may be called from
    several threads; each opens what it needs.
    """

    def __init__(
        self, folder: str = "", *, cwd: str = "", progress: ProgressCallback = no_progress
    ) -> None:
        """The vault at `folder`, else the one that a command would find in `cwd`, by default the
        working directory; projects and branches are those of `cwd`, or of the vault where the
        working directory is in no project of it. Raises `NotFoundError`."""
        self._cwd = self._paths_from = os.path.realpath(cwd or os.getcwd())
        self._progress = progress
        self._vault = find_vault(os.fspath(folder), self._cwd, os.environ)
        if folder and not cwd and nearest_vault_root(self._cwd) != self.root:
            self._cwd = self.root

    @property
    def root(self) -> str:
        """The absolute path of the vault."""
        return self._vault.root

    def __repr__(self) -> str:
        return f"Vault({self.root!r})"

    def _call(
        self, function: Callable[..., Any], declared: Declaration, given: dict[str, object]
    ) -> Any:
        find, progress, paths_from = lambda: self._vault, self._progress, self._paths_from
        request = Request(self._cwd, "python", find, progress=progress, paths_from=paths_from)
        labelled = (one._replace(label=one.name) for one in declared.parameters)
        declared = declared._replace(parameters=tuple(labelled))
        return bind(function, declared, given, request).answer()


def _method_name(verb: str) -> str:
    return "import_" if verb == "import" else verb.replace("-", "_")


for _verb in VERBS.keys() - {*_NOT_METHODS}:
    setattr(OpenVault, _method_name(_verb), _Verb(_verb))
setattr(OpenVault, "update", _Verb("revise"))  # noqa: B010  its name before


def _signature(declared: Declaration, function: Callable[..., Any]) -> Signature:
    """The verb's own, with `self` in place of what an interface fills in."""
    whole = Signature.from_callable(function)
    own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    given = (whole.parameters[one.name] for one in declared.parameters)
    return whole.replace(parameters=[own, *given])


def _of_agents(name: str) -> Callable[..., Any]:
    """A function of `operations/runs/prepare.py` that takes a `Vault` or its path first."""

    def call(vault: Any, *given: Any, **options: Any) -> Any:
        opened = vault if isinstance(vault, OpenVault) else OpenVault(vault)
        function = getattr(import_module("cortex.operations.runs.prepare"), name)
        if name == "prepare_config":
            given = tuple(RunRequest(one) if isinstance(one, str) else one for one in given)
            given = (make_caller(Request(opened.root, "python", lambda: opened._vault)), *given)  # noqa: SLF001
        return function(opened._vault, *given, **options)  # noqa: SLF001

    return call


get_agent, get_facet, get_talent_configs, prepare_config = map(
    _of_agents, ("get_agent", "get_facet", "get_talent_configs", "prepare_config")
)


def cortex_request(vault: Any, prompt: str, name: str = "default", **options: Any) -> str:
    """Ask an agent, as `run start` with these options does; the id of the run."""
    opened: Any = vault if isinstance(vault, OpenVault) else OpenVault(vault)
    return str(opened.run("start", name, prompt, **options).runs[0].id)


def wait_for_runs(vault: Any, ids: Iterable[str], timeout: float = 600.0) -> dict[str, str]:
    """Wait until these runs have ended, `timeout` seconds at most; how each stands, by its note."""
    opened: Any = vault if isinstance(vault, OpenVault) else OpenVault(vault)
    ids, deadline = list(ids), time.monotonic() + timeout
    while True:
        found = [opened.run("show", id_).runs[0] for id_ in ids]
        are_closed = all(is_closed(one.status, one.path) for one in found)
        if are_closed or time.monotonic() > deadline:
            return {id_: one.status for id_, one in zip(ids, found, strict=True)}
        time.sleep(0.2)


def search(conn: Any, query: str, limit: int = 10, **options: object) -> list[Any]:
    """The notes that `search` of a vault finds; `conn` is a `Vault` or its path."""
    vault: Any = conn if isinstance(conn, OpenVault) else OpenVault(conn)
    return list(vault.search(query, number=limit, **options).hits)


def search_decisions(conn: Any, query: str, limit: int = 10, **options: object) -> list[Any]:
    """The same of decisions and rejections alone."""
    return search(conn, query, limit, type=("decision", "rejection"), **options)


def search_similar(conn: Any, query: str, limit: int = 5, **options: object) -> list[Any]:
    """The same by meaning alone, of a text: the vault's model makes its vector."""
    return search(conn, query, limit, alpha=1.0, **options)


def hybrid_search(
    conn: Any, query: str, limit: int = 10, alpha: float = 0.5, **options: object
) -> list[Any]:
    """The same by words and meaning; `alpha` is what meaning counts, 0 to 1."""
    return search(conn, query, limit, alpha=alpha, **options)
