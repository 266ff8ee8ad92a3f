"""The server over standard input and output: JSON-RPC, a message in a line, by the standard library alone.

One thread reads, and answers at once what needs no verb; up to four call verbs; one writes. What was
sent is done: where input ends, calls end before the process does. A version of a handshake and the
stateless form differ by request, not by connection, so that any client gets an answer at any time.
"""

from __future__ import annotations

import json
import os
import re
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

from cortex.core import __version__
from cortex.core.text.value import NamedTuple, TypeAlias
from cortex.interfaces.cli.command import json_line
from cortex.interfaces.mcp import server
from cortex.interfaces.mcp.server import Client, ProtocolError, ToolServer

_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # by a handshake
_STATELESS = "2026-07-28"
_PREFIX = "io.modelcontextprotocol/"  # of keys in `_meta`
_SERVER = {"name": "cortex", "version": __version__}
_CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": False, "listChanged": True},
    "prompts": {"listChanged": False},
}
# Of the stateless form: how long an answer is fresh, and for whom.
_FRESHNESS = {"ttlMs": 0, "cacheScope": "private"}
_LISTS = {
    "tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts",
    "resources/templates/list": "resourceTemplates",
}  # fmt: skip
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_MAX_LINE_BYTES = 16 << 20  # an argument of 2 MB takes 12 MB where each character is escaped
_END_BYTES = 300  # of a line that is too long, where its id may stand
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,99}")\s*'
_PROTOCOL = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_READ_BYTES = 1 << 16
_PROGRESS_SECONDS = 0.25  # between two notifications
_ROOTS_SECONDS = 2.0  # that calls wait for the client's folders, once it was asked for them
_POLL_SECONDS = 2.0  # between two looks at the vault, while something is subscribed

_Json = dict[str, Any]
_Reply: TypeAlias = Callable[[_Json | None], None]  # called once, with None for no answer


class _PendingCall(NamedTuple):
    """A request that a verb answers."""

    id: str | int | float
    method: str
    params: _Json
    reply: _Reply


class _Batch:
    """The answers to an array of messages, sent as one when the last is there."""

    def __init__(self, size: int, send: Callable[[Any], None]) -> None:
        self._left, self._send = size, send
        self._answers: list[_Json] = []
        self._lock = threading.Lock()

    def reply(self, answer: _Json | None) -> None:
        with self._lock:
            self._left -= 1
            self._answers += [] if answer is None else [answer]
            if not self._left and self._answers:
                self._send(self._answers)


class _Progress:
    """What tells a client how far its call is. The number only grows, though a call has stages."""

    def __init__(self, token: object, notify: Callable[[str, _Json], None]) -> None:
        self._token, self._notify = token, notify
        self._base = self._done = 0
        self._told_at = -_PROGRESS_SECONDS

    def tell(self, what: str, done: int, total: int) -> None:
        if self._base + done < self._done:
            self._base = self._done  # the next stage
        self._done = self._base + done
        if time.monotonic() - self._told_at >= _PROGRESS_SECONDS:
            self._told_at = time.monotonic()
            told = {"progress": self._done, "total": self._base + max(total, done), "message": what}
            self._notify("notifications/progress", {"progressToken": self._token, **told})


class StdioServer:
    """Serves one client over two descriptors."""

    def __init__(self, tools: ToolServer, wire: tuple[int, int]) -> None:
        self._tools = tools
        self._input, self._output = wire
        self._outgoing: SimpleQueue[bytes] = SimpleQueue()
        self._waiting: SimpleQueue[_PendingCall | None] = SimpleQueue()
        self._workers: list[threading.Thread] = []
        self._stack = ExitStack()
        self._running: dict[object, _PendingCall] = {}  # by id: what is to be answered
        self._has_roots = False  # the client tells the folders of its workspace
        self._roots: tuple[str, ...] = ()
        self._roots_asked = 0
        self._roots_known = threading.Event()
        self._roots_known.set()
        self._answers: dict[str, Callable[[_Json], _Json]] = {
            "initialize": self._initialize,
            "server/discover": lambda _: {
                "supportedVersions": [_STATELESS],
                "capabilities": _CAPABILITIES,
                "instructions": server.INSTRUCTIONS,
            },
            "ping": lambda _: {},
            "logging/setLevel": _set_level,
        }
        self._calls: dict[str, Callable[[Mapping[str, Any], Client], _Json]] = {
            "tools/call": tools.call_tool,
            "resources/read": tools.read_resource,
            "prompts/get": tools.get_prompt,
        }

    def serve(self) -> None:
        """Serve until the client is gone, and every call that it sent has ended."""
        writer = threading.Thread(target=self._write)
        writer.start()
        with self._stack:
            for line in self._lines():
                self._take_line(line)
            for _ in self._workers:
                self._waiting.put(None)
            for worker in self._workers:
                worker.join()
        self._outgoing.put(b"")
        writer.join()

    # Lines in and out.

    def _lines(self) -> Iterator[bytes]:
        """The lines that come in. One that is too long is answered here."""
        poll = select.poll()
        poll.register(self._input, select.POLLIN)
        poll.register(self._output, 0)  # an error comes unasked, when nobody reads any more
        line, beginning = bytearray(), b""  # the latter of a line of which the end alone is kept
        while True:
            events = dict(poll.poll())
            if self._input not in events:
                if not events[self._output] & select.POLLNVAL:
                    return
                poll.unregister(self._output)
                continue
            try:
                data = os.read(self._input, _READ_BYTES)
            except BlockingIOError:
                continue
            for number, part in enumerate(data.split(b"\n") if data else (b"", b"")):
                if number:
                    if beginning:
                        self._refuse_long_line(beginning, line)
                    elif line.strip():
                        yield bytes(line)
                    line, beginning = bytearray(), b""
                line += part
                if len(line) > _MAX_LINE_BYTES:
                    beginning = beginning or bytes(line[:_END_BYTES])
                    del line[:-_END_BYTES]
            if not data:
                return

    def _refuse_long_line(self, beginning: bytes, end: bytearray) -> None:
        """Answer a line that was not kept, where it says at its beginning or end whose it is."""
        found = re.match(rb"\s*\{\s*(?:" + _PROTOCOL + rb",\s*)?" + _ID, beginning)
        found = found or re.search(_ID + rb"(?:,\s*" + _PROTOCOL + rb")?\}\s*\Z", end)
        id_ = json.loads(found[1]) if found else None
        size = f"{_MAX_LINE_BYTES >> 20} MB"
        error = ProtocolError(server.INVALID_REQUEST, f"this message is longer than {size}")
        self._send(_error(id_, error))

    def _send(self, message: object) -> None:
        if message is not None:
            self._outgoing.put(json_line(message).encode())

    def _notify(self, method: str, params: _Json) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _write(self) -> None:
        """Write what is sent, in order, until an empty line. When nobody reads, it is dropped."""
        while line := self._outgoing.get():
            with suppress(OSError):
                while line:
                    try:
                        line = line[os.write(self._output, line) :]
                    except BlockingIOError:
                        select.select([], [self._output], [])

    # Messages.

    def _take_line(self, line: bytes) -> None:
        try:
            text = line.decode("utf-8-sig", "replace")
            message = json.loads(text, parse_constant=_refuse_constant)
            if "\\ud" in text.lower():  # half of a character, as JavaScript sends it
                message = json.loads(json_line(message))
        except (ValueError, RecursionError):
            error = ProtocolError(server.PARSE_ERROR, "this line is no JSON")
            self._send(_error(None, error))
            return
        if isinstance(message, list) and message:
            batch = _Batch(len(message), self._send)
            for one in message:
                self._take_message(one, batch.reply)
        else:
            self._take_message(message, self._send)

    def _take_message(self, message: object, reply: _Reply) -> None:
        """Answer a message, now or later; `reply` is called for each."""
        if not isinstance(message, dict) or not {"method", "result", "error"} & message.keys():
            problem = ProtocolError(server.INVALID_REQUEST, "this is no message of JSON-RPC")
            reply(_error(None, problem))
            return
        method, params, id_ = message.get("method"), message.get("params"), message.get("id")
        if method is None:
            self._take_answer(message)
            reply(None)
        elif "id" not in message:
            self._take_notification(method, params if isinstance(params, dict) else {})
            reply(None)
        elif isinstance(id_, bool) or not isinstance(id_, str | int | float):
            problem = ProtocolError(server.INVALID_REQUEST, "an id is a text or a number")
            reply(_error(None, problem))
        elif not isinstance(params, dict | None):
            problem = ProtocolError(server.INVALID_PARAMS, "params has to be an object")
            reply(_error(id_, problem))
        else:
            self._take_request(_PendingCall(id_, str(method), params or {}, reply))

    def _take_request(self, call: _PendingCall) -> None:
        if call.method in self._calls:
            if not self._workers:
                self._stack.enter_context(server.lean_memory())
            if len(self._workers) < min(server.MAX_CALLS, len(self._running) + 1):
                worker = threading.Thread(target=self._work)
                self._workers.append(worker)
                worker.start()
            self._running[call.id] = call
            self._waiting.put(call)
        elif call.method in _LISTS:
            call.reply(_answer(call, lambda: self._tools.list_of(_LISTS[call.method])))
        elif call.method in self._answers:
            call.reply(_answer(call, lambda: self._answers[call.method](call.params)))
        else:
            error = ProtocolError(server.METHOD_NOT_FOUND, "there is no such method", call.method)
            call.reply(_error(call.id, error))

    def _work(self) -> None:
        """Answer calls, until there is none any more."""
        while call := self._waiting.get():
            if self._running.get(call.id) is call:
                answer = _answer(call, partial(self._answer_call, call))
                # A call that was cancelled has ended its write, and gets no answer.
                is_wanted = self._running.pop(call.id, None) is call
                call.reply(answer if is_wanted else None)
            else:
                call.reply(None)

    def _answer_call(self, call: _PendingCall) -> _Json:
        self._roots_known.wait(_ROOTS_SECONDS)
        token = _meta(call.params).get("progressToken")
        client = Client(self._roots)
        if isinstance(token, str | int):
            client = client._replace(progress=_Progress(token, self._notify).tell)
        return self._calls[call.method](call.params, client)

    def _initialize(self, params: _Json) -> _Json:
        asked, can = params.get("protocolVersion"), params.get("capabilities")
        self._has_roots = isinstance(can, dict) and isinstance(can.get("roots"), dict)
        return {
            "protocolVersion": asked if asked in _VERSIONS else _VERSIONS[-1],
            "capabilities": _CAPABILITIES,
            "serverInfo": _SERVER,
            "instructions": server.INSTRUCTIONS,
        }

    def _take_notification(self, method: str, params: _Json) -> None:
        if method == "notifications/cancelled":
            id_ = params.get("requestId")
            if isinstance(id_, str | int | float):
                self._running.pop(id_, None)
        elif self._has_roots and method in (
            "notifications/initialized",
            "notifications/roots/list_changed",
        ):
            self._roots_known.clear()
            self._roots_asked += 1
            asked = {"id": f"roots-{self._roots_asked}", "method": "roots/list"}
            self._send({"jsonrpc": "2.0", **asked})

    def _take_answer(self, message: _Json) -> None:
        """The client's answer to the last request for its folders."""
        if message.get("id") != f"roots-{self._roots_asked}":
            return
        with suppress(
            TypeError, KeyError, AttributeError
        ):  # what a client may answer in their place
            roots = [one["uri"] for one in message["result"]["roots"]]
            self._roots = tuple(filter(lambda one: isinstance(one, str), roots))
        self._roots_known.set()


def _answer(call: _PendingCall, answer: Callable[[], _Json]) -> _Json:
    """The response to a request, in the form of its version."""
    try:
        meta = _meta(call.params)
        is_stateless = f"{_PREFIX}protocolVersion" in meta and call.method != "initialize"
        if is_stateless and (asked := meta[f"{_PREFIX}protocolVersion"]) != _STATELESS:
            told = {"supported": [_STATELESS], "requested": str(asked)}
            raise ProtocolError(server.UNSUPPORTED_VERSION, "Unsupported protocol version", told)
        result = answer()
    except Exception as error:  # noqa: BLE001  the server lives on
        return _error(call.id, server.as_protocol_error(error))
    if is_stateless or call.method == "server/discover":
        is_fresh = call.method in _LISTS or call.method in ("server/discover", "resources/read")
        result |= _FRESHNESS if is_fresh else {}
        result |= {"resultType": "complete", "_meta": {f"{_PREFIX}serverInfo": _SERVER}}
    return {"jsonrpc": "2.0", "id": call.id, "result": result}


def _error(id_: object, error: ProtocolError) -> _Json:
    return {"jsonrpc": "2.0", "id": id_, "error": error.as_json()}


def _meta(params: _Json) -> _Json:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _set_level(params: _Json) -> _Json:
    """`logging/setLevel`: no message is sent, of whatever level."""
    if params.get("level") not in _LEVELS:
        raise ProtocolError(server.INVALID_PARAMS, f"levels: {', '.join(_LEVELS)}")
    return {}


def _refuse_constant(word: str) -> object:
    raise ValueError(word)  # NaN and Infinity, which are no JSON
