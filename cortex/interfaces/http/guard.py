"""Who is let in: known names of this machine, pages of its own, and who brings the token or what was made of it.

In this order, before anything else is read: Host (a foreign name that leads here is DNS rebinding), Origin (a
foreign page), then the token, the cookie of a browser that brought a one-time code, or the read-only token
of a calendar.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import Response

from cortex.core.model.problem import CortexError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 1024 * 1024
COOKIE_SECONDS, CODE_SECONDS = 30 * 24 * 3600, 120
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PAGE_KEY = "cortex.page"  # of a scope: a browser asks, so what it saves is a person's
_SAFE_METHODS = ("GET", "HEAD")
_HOST_RE = lazy_re(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::(\d{1,5}))?")
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Secrets:
    """What is made of the token: signatures that hold across restarts, of which none tells the token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._used: dict[str, float] = {}  # one-time code -> when it ends, seconds since the epoch

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def sign(self, purpose: str, value: str) -> str:
        """A signature of a value for one purpose, 32 hex digits."""
        text = f"{purpose}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.new(self._token, text, hashlib.sha256).hexdigest()[:32]

    def issue(self, purpose: str, seconds: int, salt: str = "") -> str:
        """A value that `holds` recognizes for so long: `UNTIL.SALT.SIGNATURE`."""
        value = f"{int(time.time()) + seconds}.{salt}"
        return f"{value}.{self.sign(purpose, value)}"

    def holds(self, purpose: str, given: str) -> bool:
        """Whether this was issued for the purpose, and its time is not over."""
        value, _, signature = given.rpartition(".")
        until = value.partition(".")[0]
        own = self.sign(purpose, value).encode()
        is_ours = hmac.compare_digest(signature.encode("utf-8", "replace"), own)
        return is_ours and until.isdecimal() and int(until) >= time.time()

    def take_code(self, code: str) -> bool:
        """Whether this is a one-time code that nobody has brought yet."""
        now = time.time()
        self._used = {one: end for one, end in self._used.items() if end > now}
        if code in self._used or not self.holds("code", code):
            return False
        self._used[code] = now + CODE_SECONDS
        return True


class Doors(NamedTuple):
    """Under which names the server is reached, and which of its paths need what."""

    port: int
    names: tuple[str, ...]  # in lower case, beside those of the loopback
    public: frozenset[str]  # paths for everybody who may ask at all
    public_folders: tuple[str, ...]
    calendar: str  # the path that a read-only token opens
    mcp: str  # a path for the token alone: no browser asks there

    def knows_host(self, host: str) -> bool:
        """Whether a `Host` header names this server."""
        found = _HOST_RE.fullmatch(host.lower())
        if found is None or found[2] not in (None, str(self.port)):
            return bool(found and found[1] in self.names)  # behind a proxy: its port
        return found[1].strip("[]") in LOOPBACK or found[1] in self.names

    def knows_origin(self, origin: str) -> bool:
        """Whether an `Origin` header names a page of this server."""
        scheme, _, host = origin.lower().partition("://")
        if scheme == "https":
            return host.partition(":")[0] in self.names
        found = _HOST_RE.fullmatch(host) if scheme == "http" else None
        return found is not None and found[2] == str(self.port) and self.knows_host(host)


class HttpError(CortexError):
    """A request that is refused with a status of its own."""

    def __init__(self, status: int, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.status = status


class Guard:
    """Refuses what may not come in, bounds what is read, and adds the headers that bind a browser."""

    def __init__(self, app: ASGIApp, doors: Doors, secrets: Secrets) -> None:
        self._app, self._doors, self._secrets = app, doors, secrets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        headers, path, doors = Headers(scope=scope), scope["path"], self._doors
        try:
            self._refuse_strangers(headers)
            if path not in doors.public and not path.startswith(doors.public_folders):
                self._refuse_unknown(scope, headers)
            await self._app(scope, _bounded(receive), answer)
        except HttpError as error:
            way = {"www-authenticate": "Bearer"} if error.status == 401 else {}
            response = error_response(error.status, error.message, error.hint, way)
            await response(scope, receive, answer)

    def _refuse_strangers(self, headers: Headers) -> None:
        """Raise `HttpError` for a foreign name, a foreign page, or a body that is too large."""
        hosts, length = headers.getlist("host"), headers.get("content-length", "0")
        if len(hosts) != 1 or not self._doors.knows_host(hosts[0]):
            hint = "cortex serve --allow-host NAME"
            raise HttpError(403, "this server does not go by that name", hint)
        if not all(map(self._doors.knows_origin, headers.getlist("origin"))):
            hint = "open the page of this server"
            raise HttpError(403, "another site's page may not ask here", hint)
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            raise _body_too_large()

    def _refuse_unknown(self, scope: Scope, headers: Headers) -> None:
        """Raise `HttpError` for one that brings neither the token nor what was made of it."""
        doors, path, bearer = self._doors, scope["path"], headers.get("authorization", "")
        query = scope["query_string"].decode("ascii", "replace")
        has_token = bearer[:7].lower() == "bearer " and self._secrets.is_token(bearer[7:].strip())
        if has_token or (path == doors.calendar and self._opens_calendar(query)):
            return
        cookie = cookie_parser(headers.get("cookie", "")).get(cookie_name(doors.port), "")
        if path == doors.mcp or not self._secrets.holds("cookie", cookie):
            hint = "cortex web opens the page; a program sends Authorization: Bearer TOKEN"
            raise HttpError(401, "this needs the token", hint)
        refuse_other_users(scope, doors.port, doors.names)
        scope[PAGE_KEY] = True
        is_own = "origin" in headers or headers.get("sec-fetch-site") == "same-origin"
        if scope["method"] in _SAFE_METHODS or is_own:
            return
        hint = "a program sends Authorization: Bearer TOKEN"
        raise HttpError(403, "a browser says which page asks, and this did not", hint)

    def _opens_calendar(self, query: str) -> bool:
        name, _, value = query.partition("=")
        return name == "token" and hmac.compare_digest(
            value.encode(), self._secrets.sign("calendar", "").encode()
        )


def _body_too_large() -> HttpError:
    return HttpError(413, f"a body has at most {MAX_BODY_BYTES:,} bytes", "send less at once")


def _bounded(receive: Receive) -> Receive:
    """`receive` that raises `HttpError`, for a body that does not tell its length."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            raise _body_too_large()
        return message

    return bounded


def error_response(
    status: int, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """An error as every route tells it."""
    body = json.dumps({"error": message, "hint": hint}, ensure_ascii=True).encode()
    return Response(body, status, headers, "application/json")


def refuse_other_users(scope: Scope, port: int, names: tuple[str, ...]) -> None:
    """Raise `HttpError` for a connection of this machine that is known to be another user's: who
    may have read the code of `cortex web` among the words of its browser's process, or our cookie,
    which a browser hands to every port. Linux tells; elsewhere, and behind a proxy, which is what
    names are for, nobody is known."""
    client = scope.get("client")
    if names or not client:
        return
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file]
        except OSError:
            continue
        for row in rows[1:]:
            ports = [int(row[at].rpartition(":")[2], 16) for at in (1, 2)]
            if ports == [client[1], port]:
                if int(row[7]) != os.getuid():
                    message = "another user of this machine asks"
                    raise HttpError(403, message, "their own memory is theirs")
                return


def cookie_name(port: int) -> str:
    """The cookie of this server: cookies know no ports."""
    return f"cortex_{port}"
