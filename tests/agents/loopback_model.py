"""A model server on this machine that says what a test wants, in the wire formats of four vendors.

It answers `/v1/messages`, `/v1/responses`, `/v1/chat/completions`, and `…:generateContent` and `…:streamGenerateContent`,
streamed and not. What it does stands before the path, in any order: `/fail429/` that status, `/tool/` one call of a tool and
then the text, `/slow/` a pause between the pieces of a stream, `/refuse/` a refusal of the model, `/block/` one
of the vendor's filter, `/think/` a thought first, `/cut/` a stream that ends in the middle.

    with serve() as server:
        run(["claude", "-p"], env={"ANTHROPIC_BASE_URL": server.url + "/tool"})
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = "Hello from loopback."
THOUGHT = "They want a greeting."
REFUSAL = "I cannot help with that."
WANTED_TOOLS = ("Read", "read_file", "exec_command", "shell_command", "shell", "local_shell")


class LoopbackServer(ThreadingHTTPServer):
    """Answers on a free port of this machine; `requests` has the path and body of each that came."""

    daemon_threads = True

    def __init__(
        self, file: str = "/etc/hostname", pause: float = 0.2, answer: Callable[[str], str] = lambda _: TEXT
    ) -> None:  # fmt: skip
        super().__init__(("127.0.0.1", 0), _Handler)
        self.file, self.pause = file, pause  # what the tool reads; seconds between pieces
        self.answer = answer  # to all that a chat completion says
        self.requests: list[tuple[str, dict, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serve(**settings) -> Iterator[LoopbackServer]:
    server = LoopbackServer(**settings)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LoopbackServer

    def log_message(self, *_values) -> None:
        """Nothing is told on standard error."""

    def do_HEAD(self) -> None:
        self._send(200, b"")

    def do_GET(self) -> None:
        self._json(200, {"data": [], "models": [], "object": "list"})

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        data = self.rfile.read(length) if length else self._chunks()
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            body = {}
        body = body if isinstance(body, dict) else {"list": body}
        self.server.requests.append((self.path, body, dict(self.headers)))
        self.modes = set(re.findall(r"/(fail\d+|tool|slow|refuse|block|think|cut)(?=/)", self.path))
        failure = next((mode for mode in self.modes if mode.startswith("fail")), None)
        path = self.path.partition("?")[0]
        if failure:
            self._fail(int(failure[4:]), path)
        elif path.endswith(("/count_tokens", ":countTokens")):
            self._json(200, {"input_tokens": 12, "totalTokens": 12})
        elif path.endswith("/v1/messages"):
            self._messages(body)
        elif path.endswith("/v1/responses"):
            self._responses(body)
        elif path.endswith("/chat/completions"):
            self._completions(body)
        elif path.endswith(("generateContent", "streamGenerateContent", "GenerateContent")):
            self._generate(body, is_stream="stream" in path)
        else:
            self._json(200, {})

    def _chunks(self) -> bytes:
        data = b""
        while "chunked" in self.headers.get("transfer-encoding", ""):
            size = int(self.rfile.readline(), 16)
            data += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                break
        return data

    def _fail(self, status: int, path: str) -> None:
        words = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
        kind, text = words.get(status, "api_error"), f"loopback says {status}"
        if path.endswith("Content"):
            codes = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED"}
            error = {"code": status, "message": text, "status": codes.get(status, "INTERNAL")}
        else:
            error = {"type": kind, "message": text, "code": kind}
        self._json(status, {"type": "error", "error": error})

    def _wanted_tool(self, body: dict, asked: str) -> tuple[str, dict] | None:
        """The tool to call and its arguments, if one is wanted and none has answered yet."""
        if "tool" not in self.modes or asked in json.dumps(body):
            return None
        declared = json.dumps(body.get("tools") or [])
        name = next((one for one in WANTED_TOOLS if f'"name": "{one}"' in declared), None)
        file = self.server.file
        if name is None:
            return None
        if name in ("exec_command", "shell_command"):
            return name, {"cmd": f"cat {file}", "command": f"cat {file}"}
        if name in ("shell", "local_shell"):
            return name, {"command": ["cat", file]}
        return name, {"file_path": file}

    def _messages(self, body: dict) -> None:
        call = self._wanted_tool(body, "tool_result")
        blocks: list[dict] = []
        if "think" in self.modes:
            blocks.append({"type": "thinking", "thinking": THOUGHT, "signature": "c2ln"})
        if call:
            blocks.append({"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]})
        else:
            blocks.append({"type": "text", "text": REFUSAL if "refuse" in self.modes else TEXT})
        reason = "tool_use" if call else "refusal" if "refuse" in self.modes else "end_turn"
        usage = {"input_tokens": 120, "output_tokens": 7, "cache_read_input_tokens": 30}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"),
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        if not body.get("stream"):
            self._json(200, message | {"content": blocks, "stop_reason": reason})
            return
        events: list[dict] = [{"type": "message_start", "message": message}]
        for at, block in enumerate(blocks):
            kind = block["type"]
            empty = {"text": {"text": ""}, "thinking": {"thinking": ""}}.get(kind, {"input": {}})
            events.append(
                {"type": "content_block_start", "index": at, "content_block": {**block, **empty}}
            )
            deltas = {
                "text": [
                    {"type": "text_delta", "text": part} for part in _parts(block.get("text"))
                ],
                "thinking": [
                    {"type": "thinking_delta", "thinking": THOUGHT},
                    {"type": "signature_delta", "signature": "c2ln"},
                ],
                "tool_use": [
                    {"type": "input_json_delta", "partial_json": json.dumps(block.get("input"))}
                ],
            }[kind]
            events += [
                {"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas
            ]
            events.append({"type": "content_block_stop", "index": at})
        events.append(
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": usage,
            }
        )
        events.append({"type": "message_stop"})
        self._stream([(event["type"], event) for event in events])

    def _responses(self, body: dict) -> None:
        call = self._wanted_tool(body, "function_call_output")
        said = {"type": "refusal", "refusal": REFUSAL} if "refuse" in self.modes else {"type": "output_text", "text": TEXT, "annotations": []}  # fmt: skip
        items: list[dict] = []
        if "think" in self.modes:
            items.append({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": THOUGHT}], "encrypted_content": None})  # fmt: skip
        if call:
            items.append({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call[0], "arguments": json.dumps(call[1]), "status": "completed"})  # fmt: skip
        else:
            items.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [said], "status": "completed"})  # fmt: skip
        if "block" in self.modes:
            items = []
        usage = {
            "input_tokens": 120, "input_tokens_details": {"cached_tokens": 30},
            "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 127,
        }  # fmt: skip
        answer = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
        done = answer | {"status": "completed", "output": items, "usage": usage}
        if not body.get("stream"):
            self._json(200, done)
            return
        events: list[dict] = [{"type": "response.created", "response": answer}]
        for at, item in enumerate(items):
            events.append({"type": "response.output_item.added", "output_index": at, "item": item})
            if item["type"] == "message" and said["type"] == "output_text":
                events += [
                    {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": at,
                     "content_index": 0, "delta": part} for part in _parts(TEXT)
                ]  # fmt: skip
            events.append({"type": "response.output_item.done", "output_index": at, "item": item})
        end = "response.completed"
        if "block" in self.modes:
            end = "response.incomplete"
            done |= {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
        events.append({"type": end, "response": done})
        self._stream([(event["type"], event) for event in events])

    def _completions(self, body: dict) -> None:
        call = self._wanted_tool(body, '"role": "tool"')
        usage = {
            "prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127,
            "prompt_tokens_details": {"cached_tokens": 30},
        }  # fmt: skip
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": body.get("model")}
        said: list[dict] = [{"role": "assistant", "content": ""}]
        if "think" in self.modes:
            said.append({"reasoning_content": THOUGHT})
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            said.append({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})  # fmt: skip
        elif "refuse" in self.modes:
            said.append({"refusal": REFUSAL})
        else:
            asked = "\n".join(str(one.get("content")) for one in body.get("messages") or [])
            said += [{"content": part} for part in _parts(self.server.answer(asked))]
        if "block" in self.modes:
            said = said[:1]
        reason = "tool_calls" if call else "content_filter" if "block" in self.modes else "stop"
        if not body.get("stream"):
            message = {"role": "assistant", "content": "".join(one.get("content") or "" for one in said)}  # fmt: skip
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self._json(
                200, head | {"object": "chat.completion", "choices": [choice], "usage": usage}
            )
            return
        chunks = [
            head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
            for delta in said
        ]
        chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        if (body.get("stream_options") or {}).get("include_usage"):
            chunks.append(head | {"choices": [], "usage": usage})
        self._stream([("", chunk) for chunk in chunks], end=b"data: [DONE]\n\n")

    def _generate(self, body: dict, *, is_stream: bool) -> None:
        call = self._wanted_tool(body, "functionResponse")
        model = re.sub(r".*/models/|:.*", "", self.path)
        usage = {
            "promptTokenCount": 120, "candidatesTokenCount": 7, "totalTokenCount": 127,
            "cachedContentTokenCount": 30,
        }  # fmt: skip
        parts: list[dict] = []
        if "think" in self.modes:
            parts.append({"text": THOUGHT, "thought": True})
        if call:
            parts.append({"functionCall": {"name": call[0], "args": call[1]}})
        elif not self.modes & {"refuse", "block"}:
            parts += [{"text": part} for part in _parts(TEXT)]
        reason = "SAFETY" if "refuse" in self.modes and not call else "STOP"
        if body.get("generationConfig", {}).get("responseJsonSchema") and not is_stream:
            parts = [{"text": '{"reasoning": "short", "model_choice": "flash", "complexity_score": 1}'}]  # fmt: skip
        last = {"content": {"role": "model", "parts": []}, "finishReason": reason, "index": 0}
        if "block" in self.modes:
            feedback = {"blockReason": "PROHIBITED_CONTENT"}
            self._stream(
                [("", {"promptFeedback": feedback, "usageMetadata": usage, "modelVersion": model})]
            )
            return
        if not is_stream:
            last["content"] = {"role": "model", "parts": parts}
            self._json(200, {"candidates": [last], "usageMetadata": usage, "modelVersion": model})
            return
        chunks = [
            {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "modelVersion": model}
            for part in parts
        ]  # fmt: skip
        chunks.append({"candidates": [last], "usageMetadata": usage, "modelVersion": model})
        self._stream([("", chunk) for chunk in chunks])

    def _stream(self, events: list[tuple[str, dict]], end: bytes = b"") -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        if "cut" in self.modes:
            events, end = events[: len(events) // 2 + 1], b""
        try:
            for name, event in events:
                head = f"event: {name}\n" if name else ""
                self.wfile.write(f"{head}data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
                if "slow" in self.modes:
                    time.sleep(self.server.pause)
            self.wfile.write(end)
        except (BrokenPipeError, ConnectionResetError):
            return  # the program was ended

    def _json(self, status: int, value: dict) -> None:
        self._send(status, json.dumps(value).encode())

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _parts(text: str | None) -> list[str]:
    """The text in pieces, as a stream brings it."""
    words = (text or "").split(" ")
    return [word + " " for word in words[:-1]] + words[-1:]


if __name__ == "__main__":
    with serve() as running:
        print(running.url, flush=True)
        while True:
            time.sleep(3600)
