"""The server over standard input and output: JSON-RPC, a message in a line, by the standard library alone.

One thread reads, and answers at once what needs no verb; up to four call verbs; one writes. What was
sent is done: where input ends, calls end before the process does. A version of a handshake and the
stateless form differ by request, not by connection, so that any client gets an answer at any time.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

from cortex.core import __version__
from cortex.core.text.value import NamedTuple, TypeAlias
from cortex.interfaces.cli.command import json_line
from cortex.interfaces.mcp import server
from cortex.interfaces.mcp.server import Client, Progress, ProtocolError, ToolServer
from cortex.interfaces.mcp.subscriptions import Subscriptions

_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # by a handshake
_STATELESS = "2026-07-28"
_PREFIX = "io.modelcontextprotocol/"  # of keys in `_meta`
_SERVER = {"name": "cortex", "version": __version__}
_CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {},
}
_UNCACHED = {"ttlMs": 0, "cacheScope": "private"}  # of the stateless form
_CACHEABLE = (*server.LISTS, "server/discover", "resources/read")
_ROOTS_CHANGED = ("notifications/initialized", "notifications/roots/list_changed")
_EXIT_INTERRUPTED = 130  # as a shell counts a program that Ctrl-C ended
_MAX_LINE_BYTES = 16 << 20  # an argument of 2 MB takes 12 MB where each character is escaped
_ROOTS_SECONDS = 2.0  # for which calls wait for the client's folders

_Json = dict[str, Any]
_Reply: TypeAlias = Callable[[_Json | None], None]  # called once, with None for no answer


class _PendingCall(NamedTuple):
    """A request that takes a verb."""

    id: str | int
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


class StdioServer:
    """Serves one client over two descriptors."""

    def __init__(self, tools: ToolServer, wire: tuple[int, int]) -> None:
        self._tools = tools
        self._input, self._output = wire
        self._outgoing: SimpleQueue[bytes] = SimpleQueue()
        self._waiting: SimpleQueue[_PendingCall | None] = SimpleQueue()
        self._workers: list[threading.Thread] = []
        self._unanswered: dict[object, _PendingCall] = {}  # by id; without cancelled calls
        self._for_calls = ExitStack()
        self._has_roots = False  # whether the client can name the folders of its workspace
        self._roots: tuple[str, ...] = ()
        self._roots_asked = 0
        self._roots_known = threading.Event()
        self._roots_known.set()
        self._subscriptions = Subscriptions(
            lambda: tools.stamp(self._roots),
            lambda uri: self._notify("notifications/resources/updated", {"uri": uri}),
        )

    def serve(self) -> None:
        """Serve until the client is gone, and every call that it sent has ended."""
        writer = threading.Thread(target=self._write, daemon=True)
        writer.start()
        self._heed_signals()
        for line in self._lines():
            self._take_line(line)
        self._end_calls()
        self._outgoing.put(b"")
        writer.join()

    def _heed_signals(self) -> None:
        """Have SIGTERM and SIGINT end the process as soon as every call has ended. A handler would run in
        the reading thread, and not at all if that begins to wait for a line as the signal comes."""
        arrived, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)

        def end() -> None:
            os.read(arrived, 1)
            self._end_calls()
            os._exit(_EXIT_INTERRUPTED)

        threading.Thread(target=end, daemon=True).start()

    def _end_calls(self) -> None:
        for _ in self._workers:
            self._waiting.put(None)
        for worker in self._workers:
            worker.join()
        self._subscriptions.close()
        self._for_calls.close()

    def _lines(self) -> Iterator[bytes]:
        """The lines that come in. One that is too long is answered here."""
        with open(self._input, "rb") as incoming:
            while line := incoming.readline(_MAX_LINE_BYTES):
                if len(line) < _MAX_LINE_BYTES:
                    if line.strip():
                        yield line
                    continue
                while line and not line.endswith(b"\n"):
                    line = incoming.readline(_MAX_LINE_BYTES)
                size = f"{_MAX_LINE_BYTES >> 20} MB"
                self._refuse(server.INVALID_REQUEST, f"a message was longer than {size}")

    def _write(self) -> None:
        """Write what is sent, in order, until an empty line; where nobody reads, end the process."""
        with suppress(OSError):
            while line := self._outgoing.get():
                while line:
                    line = line[os.write(self._output, line) :]
            return
        self._end_calls()
        os._exit(0)

    def _send(self, message: object) -> None:
        if message is not None:
            self._outgoing.put(json_line(message).encode())

    def _notify(self, method: str, params: _Json) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _refuse(self, code: int, message: str, reply: _Reply | None = None) -> None:
        """Answer what has no id that can be read."""
        (reply or self._send)(_error(None, ProtocolError(code, message)))

    def _take_line(self, line: bytes) -> None:
        try:
            text = line.decode("utf-8-sig", "replace")
            message = json.loads(text)
            if "\\ud" in text.lower():  # half of a character, as JavaScript sends it
                message = json.loads(json_line(message))
        except (ValueError, RecursionError):
            self._refuse(server.PARSE_ERROR, "this line is no JSON")
            return
        if isinstance(message, list) and message:
            batch = _Batch(len(message), self._send)
            for part in message:
                self._take_message(part, batch.reply)
        else:
            self._take_message(message, self._send)

    def _take_message(self, message: object, reply: _Reply) -> None:
        """Take a message, and see to it that `reply` is called."""
        if not isinstance(message, dict) or not {"method", "result", "error"} & message.keys():
            self._refuse(server.INVALID_REQUEST, "this is no message of JSON-RPC", reply)
            return
        method, params, id_ = message.get("method"), message.get("params"), message.get("id")
        if method is None:
            self._take_roots(message)
            reply(None)
        elif "id" not in message:
            self._take_notification(method, params if isinstance(params, dict) else {})
            reply(None)
        elif isinstance(id_, bool) or not isinstance(id_, str | int):
            self._refuse(server.INVALID_REQUEST, "an id is a text or a whole number", reply)
        elif not isinstance(params, dict | None):
            problem = ProtocolError(server.INVALID_PARAMS, "params has to be an object")
            reply(_error(id_, problem))
        else:
            self._take_request(_PendingCall(id_, str(method), params or {}, reply))

    def _take_request(self, call: _PendingCall) -> None:
        if call.method not in (*server.CALLS, "resources/subscribe"):
            call.reply(_answer(call, lambda: self._answer_at_once(call)))
            return
        if not self._workers:
            self._for_calls.enter_context(server.lean_memory())
        self._unanswered[call.id] = call
        if len(self._workers) < min(server.MAX_CALLS, len(self._unanswered)):
            self._workers.append(threading.Thread(target=self._work))
            self._workers[-1].start()
        self._waiting.put(call)

    def _answer_at_once(self, call: _PendingCall) -> _Json:
        """The result of a request that takes no verb."""
        if call.method in server.LISTS:
            return self._tools.answer(call.method, call.params, Client())
        if call.method == "initialize":
            version, able = call.params.get("protocolVersion"), call.params.get("capabilities")
            self._has_roots = isinstance(able, dict) and isinstance(able.get("roots"), dict)
            version = version if version in _VERSIONS else _VERSIONS[-1]
            about = {"capabilities": _CAPABILITIES, "instructions": server.INSTRUCTIONS}
            return {"protocolVersion": version, "serverInfo": _SERVER, **about}
        if call.method == "server/discover":
            # Without a stream that tells of changes, which this form has in place of subscriptions.
            plain: dict[str, _Json] = {name: {} for name in _CAPABILITIES}
            about = {"capabilities": plain, "instructions": server.INSTRUCTIONS}
            return {"supportedVersions": [_STATELESS], **about}
        if call.method == "resources/unsubscribe":
            self._subscriptions.remove(str(call.params.get("uri")))
        elif call.method != "ping":
            raise ProtocolError(server.METHOD_NOT_FOUND, "there is no such method", call.method)
        return {}

    def _work(self) -> None:
        """Answer calls, until there is none any more."""
        while call := self._waiting.get():
            answer = None
            if self._unanswered.get(call.id) is call:
                answer = _answer(call, partial(self._answer_by_verb, call))
            # A call that is cancelled meanwhile has ended its write, and gets no answer.
            is_wanted = self._unanswered.get(call.id) is call
            if is_wanted:
                del self._unanswered[call.id]
            call.reply(answer if is_wanted else None)
            if self._tools.take_list_change():
                self._notify("notifications/tools/list_changed", {})
            self._subscriptions.look()
            server.free_memory()

    def _answer_by_verb(self, call: _PendingCall) -> _Json:
        self._roots_known.wait(_ROOTS_SECONDS)
        client, token = Client(self._roots), _meta(call).get("progressToken")
        if isinstance(token, str | int):
            client = client._replace(progress=Progress(partial(self._tell_progress, token)).tell)
        if call.method in server.CALLS:
            return self._tools.answer(call.method, call.params, client)
        self._tools.answer("resources/read", call.params, client)  # refuses what is none of ours
        self._subscriptions.add(call.params["uri"])
        return {}

    def _tell_progress(self, token: str | int, done: int, total: int, what: str) -> None:
        params = {"progressToken": token, "progress": done, "total": total, "message": what}
        self._notify("notifications/progress", params)

    def _take_notification(self, method: str, params: _Json) -> None:
        if method == "notifications/cancelled" and isinstance(params.get("requestId"), str | int):
            self._unanswered.pop(params["requestId"], None)
        elif method in _ROOTS_CHANGED and self._has_roots:
            self._roots_known.clear()
            self._roots_asked += 1
            request = {"jsonrpc": "2.0", "id": f"roots-{self._roots_asked}", "method": "roots/list"}
            self._send(request)

    def _take_roots(self, message: _Json) -> None:
        """The client's answer to the last request for its folders."""
        if message.get("id") == f"roots-{self._roots_asked}":
            with suppress(TypeError, KeyError):  # an error, or what is no list of folders
                roots = tuple(str(one["uri"]) for one in message["result"]["roots"])
                if roots != self._roots:  # another vault, perhaps
                    self._roots = roots
                    self._notify("notifications/resources/list_changed", {})
                    self._subscriptions.look()
            self._roots_known.set()


def _answer(call: _PendingCall, answer: Callable[[], _Json]) -> _Json:
    """The response to a request, in the form of its version."""
    version = None if call.method == "initialize" else _meta(call).get(f"{_PREFIX}protocolVersion")
    try:
        if version not in (None, _STATELESS):
            data = {"supported": [_STATELESS], "requested": str(version)}
            raise ProtocolError(server.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        result = answer()
    except Exception as error:  # noqa: BLE001  the server lives on
        return _error(call.id, server.as_protocol_error(error))
    if version or call.method == "server/discover":
        result |= {"resultType": "complete", "_meta": {f"{_PREFIX}serverInfo": _SERVER}}
        result |= _UNCACHED if call.method in _CACHEABLE else {}
    return {"jsonrpc": "2.0", "id": call.id, "result": result}


def _error(id_: object, error: ProtocolError) -> _Json:
    return {"jsonrpc": "2.0", "id": id_, "error": error.as_json()}


def _meta(call: _PendingCall) -> _Json:
    meta = call.params.get("_meta")
    return meta if isinstance(meta, dict) else {}
