"""The server's addresses: the verbs, the live stream, the page and its pictures, a calendar of actions, and MCP."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route as HttpRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from cortex.core import __version__
from cortex.core.model.problem import NotFoundError
from cortex.core.text.value import NamedTuple
from cortex.interfaces.call import Request
from cortex.interfaces.http import api, ics, note_html, openapi, plots
from cortex.interfaces.http.guard import (
    COOKIE_SECONDS,
    LOOPBACK,
    PAGE_KEY,
    Doors,
    Guard,
    HttpError,
    Secrets,
    cookie_name,
    error_response,
    refuse_other_users,
)
from cortex.interfaces.http.live import LiveStream, answer_run
from cortex.interfaces.http.routes import VERBS_PATH, Route, methods_by_path
from cortex.interfaces.mcp.server import MAX_CALLS, ToolServer
from cortex.vault import agent_settings
from cortex.vault.locate import Vault
from cortex.vault.state.access_log import PREVIEW

PAGE_FOLDER = os.path.join(os.path.dirname(__file__), "page")
# The views of the page: each has an address of its own.
VIEWS = (
    "search", "record", "session", "calendar", "changed", "review", "actions", "meetings", "briefing", "graph", "problems",
    "live", "runs",
)  # fmt: skip
CALENDAR_PATH, MCP_PATH, LOGIN_PATH = "/actions.ics", "/mcp", "/api/login"
PREVIEW_HEADER = (
    "cortex-preview"  # of a search that goes on with every key, which is no use of a note
)
_PUBLIC = ("/", "/health", "/openapi.json", "/favicon.ico", LOGIN_PATH)
_ADDRESSES_HINT = "/openapi.json lists the addresses"
_CALENDAR, _ACTIONS = (Route(VERBS_PATH, "GET", one) for one in ("calendar", "actions"))
_SHOW = Route(VERBS_PATH, "GET", "show", {"id": "note"})
_Handler = Callable[[HttpRequest], Awaitable[Response]]
_Call = Callable[..., Awaitable[dict[str, Any]]]  # of a route, its values and who asks


class Site(NamedTuple):
    """What the server answers for."""

    vault: Vault
    cwd: str  # whose project and branch count
    port: int
    names: tuple[str, ...]  # of other hosts
    token: str


class _Address:
    """The handlers of a path by method. Another method is refused, with those that there are; what
    a handler raises is answered as an error."""

    def __init__(self, handlers: Mapping[str, _Handler]) -> None:
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HttpRequest(scope, receive)
        handle = self._handlers.get("GET" if request.method == "HEAD" else request.method)
        try:
            response = await handle(request) if handle else self._refusal()
        except Exception as error:  # noqa: BLE001  the server lives on
            response = api.answer_error(error)
        await response(scope, receive, send)

    def _refusal(self) -> Response:
        allowed = ", ".join([*self._handlers, *(["HEAD"] if "GET" in self._handlers else [])])
        message = "this address does not know the method"
        return error_response(405, message, f"it takes {allowed}", {"allow": allowed})


def make_app(site: Site, tools: ToolServer) -> ASGIApp:
    """The application, behind its guard."""
    secrets = Secrets(site.token)
    slots = anyio.CapacityLimiter(MAX_CALLS)

    async def call(route: Route, values: dict[str, object], source: str = "http") -> dict[str, Any]:
        request = Request(site.cwd, source, lambda: site.vault)
        work = partial(api.call_route, route, values, request)
        return await anyio.to_thread.run_sync(work, limiter=slots)

    changes = methods_by_path()["/api/changes"]["GET"]
    run = methods_by_path()["/api/runs/{id}"]["GET"]
    live = LiveStream(lambda since: call(changes, {"since": since}))
    named: dict[str, tuple[str, _Handler]] = {
        "/health": ("GET", partial(_health, site, secrets)),
        "/openapi.json": ("GET", _openapi),
        "/api/live": ("GET", partial(_live, live)),
        "/api/server": ("GET", partial(_server, site, secrets)),
        "/api/rendered/{id:path}": ("GET", partial(_rendered, call, _SHOW, "text")),
        "/api/runs/{id}/rendered": ("GET", partial(_rendered, call, run, "result")),
        "/api/plots/{name}.svg": ("GET", partial(_plot, call)),
        CALENDAR_PATH: ("GET", partial(_calendar, call)),
        LOGIN_PATH: ("POST", partial(_login, site, secrets)),
        "/": ("GET", _page),
        **{f"/{view}": ("GET", _page) for view in VIEWS},
        **{f"/{view}/{{rest:path}}": ("GET", _page) for view in VIEWS},
    }
    addresses: list[BaseRoute]
    addresses = [HttpRoute(path, _Address(dict([one]))) for path, one in named.items()]
    for path, routes in methods_by_path().items():
        verbs = {method: partial(_verb, call, one, site.vault) for method, one in routes.items()}
        # Ids of people's own notes are paths.
        addresses.append(HttpRoute(path.replace("{id}", "{id:path}"), _Address(verbs)))
    addresses.append(Mount("/page", GZipMiddleware(StaticFiles(directory=PAGE_FOLDER), 500)))
    mcp = _mcp_app(tools)
    if mcp is not None:
        addresses.append(HttpRoute(MCP_PATH, mcp))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if mcp is not None:
                await stack.enter_async_context(mcp.router.lifespan_context(mcp))
            yield

    app = Starlette(
        routes=addresses, lifespan=lifespan,
        exception_handlers={HTTPException: _error, Exception: _error},
    )  # fmt: skip
    app.router.redirect_slashes = False
    public = frozenset({*_PUBLIC, *(f"/{view}" for view in VIEWS)})
    folders = ("/page/", *(f"/{view}/" for view in VIEWS))
    doors = Doors(site.port, site.names, public, folders, CALENDAR_PATH, MCP_PATH)
    return Guard(app, doors, secrets)


async def _verb(call: _Call, route: Route, vault: Vault, request: HttpRequest) -> Response:
    """What the verb of a route answers."""
    values = await api.read_values(request, route)
    version = request.headers.get("if-match", "*")  # any
    if version.strip() != "*" and route.method == "PUT":
        values["version"] = version.strip().removeprefix("W/").strip('"')
    is_preview = route.method == "GET" and PREVIEW_HEADER in request.headers
    asker = "page" if PAGE_KEY in request.scope else "http"
    last_seen = request.headers.get("last-event-id", "") if route.is_stream else ""
    if last_seen.isascii() and last_seen.isdecimal():
        values["from"] = str(int(last_seen[:9]) + 1)
    content = await call(route, values, PREVIEW if is_preview else asker)
    if route.is_stream:
        return answer_run(vault, lambda given: call(route, values | given), content)
    headers = {"etag": f'"{content["version"]}"'} if content.get("version") else {}
    return api.answer_json(content, route.status, headers)


async def _health(site: Site, secrets: Secrets, _request: HttpRequest) -> Response:
    """For everybody: whether it runs. `vault` tells the vault to those alone who know the token."""
    vault = secrets.sign("vault", site.vault.root)
    return api.answer_json(
        {"status": "ok", "name": "cortex", "version": __version__, "vault": vault}
    )


async def _openapi(_request: HttpRequest) -> Response:
    return api.answer_json(openapi.describe())


async def _live(stream: LiveStream, request: HttpRequest) -> Response:
    last_seen = request.headers.get("last-event-id", "") or request.query_params.get("since", "")
    return StreamingResponse(stream.events(last_seen), media_type="text/event-stream")


async def _server(site: Site, secrets: Secrets, _request: HttpRequest) -> Response:
    """What the page shows of the server, and the address of the calendar with its read-only token."""
    name = os.path.basename(
        os.path.dirname(site.vault.root) if site.vault.root.endswith("/vault") else site.vault.root
    )
    feed = f"{CALENDAR_PATH}?token={secrets.sign('calendar', '')}"
    return api.answer_json(
        {"version": __version__, "vault": name, "root": site.vault.root, "calendar": feed, "takes_runs": "http" in agent_settings.load_agents()[0].requests}
    )  # fmt: skip


async def _rendered(call: _Call, route: Route, field: str, request: HttpRequest) -> Response:
    """A note as `show` answers it, with its properties and its text as HTML; a run with its result as HTML."""
    render = note_html.render_note if route is _SHOW else note_html.render_text
    shown = await call(route, {"id": request.path_params["id"]})
    parts = await anyio.to_thread.run_sync(render, shown[field])
    return api.answer_json({**shown, **parts})


async def _plot(call: _Call, request: HttpRequest) -> Response:
    """A small picture of what the verb `calendar` answers."""
    draw = plots.PLOTS.get(request.path_params["name"])
    if draw is None:
        raise NotFoundError(f"plots: {', '.join(plots.PLOTS)}", _ADDRESSES_HINT)
    return Response(draw(await call(_CALENDAR, {"since": "1y"})), media_type="image/svg+xml")


async def _calendar(call: _Call, _request: HttpRequest) -> Response:
    """The open actions that have a day, for a calendar program."""
    answer = await call(_ACTIONS, {"number": 1000})
    return Response(ics.calendar_of(answer["hits"]), media_type="text/calendar")


async def _login(site: Site, secrets: Secrets, request: HttpRequest) -> Response:
    """Take a one-time code for the cookie of a browser."""
    refuse_other_users(request.scope, site.port, site.names)
    code = (await api.read_body(request)).get("code")
    if not (isinstance(code, str) and secrets.take_code(code)):
        raise HttpError(403, "this code is used or too old", "cortex web makes another one")
    answer = api.answer_json({"status": "ok"})
    answer.set_cookie(
        cookie_name(site.port), secrets.issue("cookie", COOKIE_SECONDS), max_age=COOKIE_SECONDS, httponly=True,
        samesite="strict",
    )  # fmt: skip
    return answer


async def _page(_request: HttpRequest) -> Response:
    return FileResponse(
        os.path.join(PAGE_FOLDER, "index.html"), headers={"cache-control": "no-cache"}
    )


def _mcp_app(tools: ToolServer) -> Starlette | None:
    """MCP over HTTP where its package is there. The guard has checked names and token."""
    if find_spec("mcp") is None:
        return None
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415  0.5 s

    from cortex.interfaces.mcp.sdk_server import sdk_server  # noqa: PLC0415

    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: Starlette = sdk_server(tools).streamable_http_app(
        streamable_http_path=MCP_PATH, transport_security=security, host=LOOPBACK[0]
    )
    return app


async def _error(_request: HttpRequest, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return api.answer_error(error)
    hint = _ADDRESSES_HINT if error.status_code == 404 else ""
    return error_response(error.status_code, str(error.detail), hint, error.headers)
