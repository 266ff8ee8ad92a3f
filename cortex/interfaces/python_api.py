"""The verbs as methods of a vault, for programs in Python: `from cortex import Vault`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from cortex.core.model.caller import Caller, ProgressCallback, no_progress
from cortex.interfaces.declare import Declaration, convert, declaration_of, load_verb
from cortex.operations import VERBS
from cortex.vault.locate import find_vault


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
        working directory; projects and branches are those of `cwd`. Raises `NotFoundError`."""
        self._cwd = os.path.realpath(cwd or os.getcwd())
        self._progress = progress
        self._vault = find_vault(os.fspath(folder), self._cwd, os.environ)

    @property
    def root(self) -> str:
        """The absolute path of the vault."""
        return self._vault.root

    def __repr__(self) -> str:
        return f"Vault({self.root!r})"

    def __dir__(self) -> list[str]:
        return ["root", *map(_method_name, _METHODS)]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb = name.rstrip("_")
        if verb not in _METHODS or name != _method_name(verb):
            raise AttributeError(f"a vault has no verb {name!r}")
        function = load_verb(verb)
        declared = declaration_of(function)

        def call(*arguments: object, **options: object) -> Any:
            positional = [one.name for one in declared.parameters if not one.is_option]
            if len(arguments) > len(positional):
                raise TypeError(f"{name} takes {len(positional)} arguments, not {len(arguments)}")
            given = dict(zip(positional, arguments, strict=False))
            if twice := given.keys() & options.keys():
                raise TypeError(f"{name} got {min(twice)} twice")
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            caller = Caller(self._cwd, now, os.urandom, "python", self._progress)
            supplied = {"caller": caller, "vault": self._vault}
            values = convert(declared, _plain(given | options), now)
            return function(**values, **{key: supplied[key] for key in declared.supplied})

        call.__name__, call.__doc__ = name, function.__doc__
        call.__signature__ = _signature(declared, function)  # type: ignore[attr-defined]
        return call


# The verbs that need no terminal and no process of their own.
_METHODS = tuple(
    verb for verb in VERBS if verb not in ("completion", "edit", "mcp", "open", "schema", "watch")
)


def _method_name(verb: str) -> str:
    return "import_" if verb == "import" else verb


def _plain(given: dict[str, object]) -> dict[str, object]:
    """Values as JSON has them: tuples and sets are lists, None is not given."""
    lists = {key: [*one] if isinstance(one, tuple | set) else one for key, one in given.items()}
    return {key: one for key, one in lists.items() if one is not None and one != []}


def _signature(declared: Declaration, function: Callable[..., Any]) -> Signature:
    parameters = [
        Parameter(
            one.name,
            Parameter.KEYWORD_ONLY if one.is_option else Parameter.POSITIONAL_OR_KEYWORD,
            default=Parameter.empty if one.required else one.default,
            annotation=function.__annotations__.get(one.name, Parameter.empty),
        )
        for one in declared.parameters
    ]
    parameters.sort(key=lambda one: one.kind)
    return Signature(parameters, return_annotation=function.__annotations__["return"])
