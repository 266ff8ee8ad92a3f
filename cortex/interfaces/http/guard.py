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
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser

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


class _Refusal(NamedTuple):
    status: int
    message: str
    hint: str


_BODY_TOO_LARGE = _Refusal(413, f"a body has at most {MAX_BODY_BYTES:,} bytes", "send less at once")


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

        refusal = self._refusal(scope)
        if refusal is None:
            try:
                await self._app(scope, _bounded(receive), answer)
            except BodyTooLargeError:
                refusal = _BODY_TOO_LARGE
        if refusal:
            await refuse(answer, refusal)

    def _refusal(self, scope: Scope) -> _Refusal | None:
        """Why a request may not go on; None for one that may."""
        headers, path, doors = Headers(scope=scope), scope["path"], self._doors
        is_public = path in doors.public or path.startswith(doors.public_folders)
        if (foreign := self._refuse_strangers(headers)) or is_public:
            return foreign
        return self._refuse_unknown(scope, headers)

    def _refuse_strangers(self, headers: Headers) -> _Refusal | None:
        """Of a foreign name, a foreign page, or a body that is too large."""
        hosts, length = headers.getlist("host"), headers.get("content-length", "0")
        if len(hosts) != 1 or not self._doors.knows_host(hosts[0]):
            hint = "cortex serve --allow-host NAME"
            return _Refusal(403, "this server does not go by that name", hint)
        if not all(map(self._doors.knows_origin, headers.getlist("origin"))):
            hint = "open the page of this server"
            return _Refusal(403, "another site's page may not ask here", hint)
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            return _BODY_TOO_LARGE
        return None

    def _refuse_unknown(self, scope: Scope, headers: Headers) -> _Refusal | None:
        """Of one that brings neither the token nor what was made of it."""
        doors, path, bearer = self._doors, scope["path"], headers.get("authorization", "")
        query = scope["query_string"].decode("ascii", "replace")
        has_token = bearer[:7].lower() == "bearer " and self._secrets.is_token(bearer[7:].strip())
        if has_token or (path == doors.calendar and self._opens_calendar(query)):
            return None
        cookie = cookie_parser(headers.get("cookie", "")).get(cookie_name(doors.port), "")
        if path == doors.mcp or not self._secrets.holds("cookie", cookie):
            hint = "cortex web opens the page; a program sends Authorization: Bearer TOKEN"
            return _Refusal(401, "this needs the token", hint)
        if is_of_another_user(scope, doors.port, doors.names):
            return _Refusal(403, "another user of this machine asks", "their own memory is theirs")
        scope[PAGE_KEY] = True
        is_own = "origin" in headers or headers.get("sec-fetch-site") == "same-origin"
        if scope["method"] in _SAFE_METHODS or is_own:
            return None
        hint = "a program sends Authorization: Bearer TOKEN"
        return _Refusal(403, "a browser says which page asks, and this did not", hint)

    def _opens_calendar(self, query: str) -> bool:
        name, _, value = query.partition("=")
        return name == "token" and hmac.compare_digest(
            value.encode(), self._secrets.sign("calendar", "").encode()
        )


class BodyTooLargeError(CortexError):
    """More came than a body may have."""


def _bounded(receive: Receive) -> Receive:
    """`receive` that raises `BodyTooLargeError`, for a body that does not tell its length."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            raise BodyTooLargeError(*_BODY_TOO_LARGE[1:])
        return message

    return bounded


async def refuse(send: Send, refusal: _Refusal) -> None:
    """Send an error as JSON."""
    body = error_body(refusal.message, refusal.hint)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def error_body(message: str, hint: str = "") -> bytes:
    """An error as every route tells it."""
    return json.dumps({"error": message, "hint": hint}, ensure_ascii=True).encode()


def is_of_another_user(scope: Scope, port: int, names: tuple[str, ...]) -> bool:
    """Whether a connection of this machine is known to be another user's: who may have read the code of `cortex web`
    among the words of its browser's process, or our cookie, which a browser hands to every port. Linux tells; elsewhere,
    and behind a proxy, which is what names are for, nobody is known."""
    client = scope.get("client")
    if names or not client:
        return False
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file]
        except OSError:
            continue
        for row in rows[1:]:
            ports = [int(row[at].rpartition(":")[2], 16) for at in (1, 2)]
            if ports == [client[1], port]:
                return int(row[7]) != os.getuid()
    return False


def cookie_name(port: int) -> str:
    """The cookie of this server: cookies know no ports."""
    return f"cortex_{port}"
