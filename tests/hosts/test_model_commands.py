"""The hosts' own programs as models that distill: started as `Host.model_command` says, against a server on loopback.

They run where they are installed (`npm install @anthropic-ai/claude-code @openai/codex @google/gemini-cli`)."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.core.distill.answer import read_answer
from cortex.hosts.hook_settings import HOSTS
from cortex.operations.distill.model_command import run_model

ANSWER = {"session": "abcd", "title": "Carts expire", "outcome": "Carts expire now.", "records": []}
TEXT = json.dumps(ANSWER)


def events(*parts: dict[str, object]) -> bytes:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in parts).encode()


CLAUDE = events(
    {"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "content": [], "model": "m", "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)  # fmt: skip
CODEX = events(
    {"type": "response.created", "response": {"id": "r1"}},
    {"type": "response.output_item.done", "item": {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": TEXT}]}},
    {"type": "response.completed", "response": {"id": "r1", "usage": {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}}},
)  # fmt: skip
_GEMINI = json.dumps({"candidates": [{"content": {"role": "model", "parts": [{"text": TEXT}]}, "finishReason": "STOP", "index": 0}]})  # fmt: skip
# The end of a path -> what a server of this vendor answers, and the type of it.
ANSWERS = {
    "messages": (CLAUDE, "text/event-stream"),
    "responses": (CODEX, "text/event-stream"),
    ":streamGenerateContent": (f"data: {_GEMINI}\n\n".encode(), "text/event-stream"),
    ":generateContent": (_GEMINI.encode(), "application/json"),
}


class Handler(http.server.BaseHTTPRequestHandler):
    asked: list[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.asked.append(body.decode("utf-8", "replace"))
        path = self.path.partition("?")[0]
        data, kind = next(
            (one for end, one in ANSWERS.items() if path.endswith(end)), (b"{}", "application/json")
        )
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.do_POST()


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on loopback, and what it was asked."""
    asked: list[str] = []
    handler = type("Asked", (Handler,), {"asked": asked})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}", asked
        serving.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_the_program_of_a_host_answers_without_hooks_and_leaves_no_session(
    name, server, tmp_path, monkeypatch
):
    command = HOSTS[name].model_command
    if not shutil.which(command[0]):
        pytest.skip(f"not run: there is no {command[0]} here")
    address, asked = server
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    touched = tmp_path / "a hook ran"
    for folder in (home, scratch, home / ".claude", home / ".codex", home / ".gemini"):
        folder.mkdir(parents=True, exist_ok=True)
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch '{touched}'"}]}]}}  # fmt: skip
    (home / ".claude/settings.json").write_text(json.dumps(hook))
    (home / ".gemini/settings.json").write_text(
        '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
    )
    (home / ".codex/config.toml").write_text(
        'model_provider = "loop"\nmodel = "m"\n[model_providers.loop]\nname = "loop"\n'
        f'base_url = "{address}/v1"\nwire_api = "responses"\nenv_key = "LOOP_KEY"\n'
    )
    for key, value in {"HOME": str(home), "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "k", "LOOP_KEY": "k",
                       "GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": address}.items():  # fmt: skip
        monkeypatch.setenv(key, value)
    for key in [key for key in os.environ if key.startswith(("CLAUDE", "CODEX"))]:
        monkeypatch.delenv(key)
    table, cost = read_answer(
        run_model(command, "What was decided in this session?", str(scratch), 240)
    )
    assert table == ANSWER
    assert cost > 0 or name != "claude"
    assert any("What was decided in this session?" in one for one in asked)
    assert not touched.exists()
    assert not list(scratch.iterdir())
    assert not [
        path
        for path in Path(home).rglob("*.jsonl")
        if "history" not in path.name and path.parent.name != "chats"
    ]
