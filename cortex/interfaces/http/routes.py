"""Which address answers by which verb, read from `routes.toml` and the declarations of the verbs."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from functools import cache

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.interfaces import pages
from cortex.interfaces.declare import Declaration, Parameter, declaration_of, for_servers, load_verb
from cortex.interfaces.mcp.tools import known_tools
from cortex.operations import READING_VERBS

VERBS_PATH = "/api/verbs/"
EDGE_PATH = "/api/graph/edges/{id}"  # whose id holds both ends and the kind
_TABLE_FILE = "routes.toml"
_PART_RE = lazy_re(r"\{(\w+)\}")


class Route(NamedTuple):
    """A method of an address. `rename` are names of a request -> parameters of the verb."""

    path: str
    method: str
    verb: str
    rename: Mapping[str, str] = {}
    only: tuple[str, ...] = ()  # parameters; none: all that a server offers
    fixed: Mapping[str, object] = {}
    status: int = 200  # of an answer
    is_stream: bool = False  # answers the events of a run as they come

    @property
    def path_names(self) -> list[str]:
        """What the braces of the path name."""
        return _PART_RE.findall(self.path)


@cache
def all_routes() -> tuple[Route, ...]:
    """Those of the table, then those of each verb that a server offers: GET where it only reads, and POST."""
    file = os.path.join(os.path.dirname(__file__), _TABLE_FILE)
    with open(file, "rb") as stream:
        table = tomllib.load(stream)
    routes = [
        Route(path, method, **{**fields, "only": tuple(fields.get("only", ()))})
        for path, methods in table.items()
        for method, fields in methods.items()
    ]
    verbs = sorted({tool.verb for tool in known_tools().values()})
    routes += [Route(VERBS_PATH + verb, "GET", verb) for verb in verbs if verb in READING_VERBS]
    routes += [Route(VERBS_PATH + verb, "POST", verb) for verb in verbs]
    return tuple(routes)


def methods_by_path() -> dict[str, dict[str, Route]]:
    """The routes of each path, by method; a path with more behind its id comes before one without."""
    found: dict[str, dict[str, Route]] = {}
    for route in sorted(all_routes(), key=lambda one: one.path.endswith("}")):
        found.setdefault(route.path, {})[route.method] = route
    return found


def declare(route: Route) -> Declaration:
    """The verb's declaration with the parameters of the route alone, each labelled as a request calls it."""
    whole = whole_declaration(route)
    own = [
        one
        for one in whole.parameters
        if one.name not in route.fixed and (not route.only or one.name in route.only)
    ]
    if route.path == EDGE_PATH:
        own = [Parameter("id", str, None, False, "FROM~KIND~TO", required=True, label="id")]
    own = [one._replace(required=one.required or one.label in route.path_names) for one in own]
    own += [pages.CURSOR] if route.verb in pages.MAX_NOTES else []
    return whole._replace(parameters=tuple(own))


def whole_declaration(route: Route) -> Declaration:
    """The verb's declaration with all parameters that a server offers, also those that the route fixes; each labelled as a
    request calls it."""
    whole = for_servers(declaration_of(load_verb(route.verb)))
    labels = {name: label for label, name in route.rename.items()}
    own = (one._replace(label=labels.get(one.name, one.name)) for one in whole.parameters)
    return whole._replace(parameters=tuple(own))
