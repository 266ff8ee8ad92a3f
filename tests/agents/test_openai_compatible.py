"""The client of an OpenAI-compatible endpoint, as the program that it is, against the model server on this machine."""

import json
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from cortex.agents.openai_compatible import CompletionEvents
from cortex.agents.provider import command_of, environment_of, new_reader, stdin_of
from cortex.vault.agent_settings import ProviderSettings
from tests.agents.loopback_model import serve
from tests.agents.real_programs import CONFIG

KEY = "no-pattern-knows-this-key"


def ask(url: str, **changes: object) -> list[dict]:
    provider = ProviderSettings("local", "openai-compatible", url=url, key_variable="LOCAL_KEY")
    config = CONFIG._replace(
        provider="local", model="small", user_instruction="Be kind.", **changes
    )
    env = environment_of(provider, config, {"LOCAL_KEY": KEY})
    done = subprocess.run(
        command_of(provider, config, "/vault"), input=stdin_of(provider, config), capture_output=True, timeout=60,
        env={"PATH": "/usr/bin:/bin", **env}, check=False,
    )  # fmt: skip
    assert KEY.encode() not in done.stdout + done.stderr
    reader = new_reader(provider, {})
    events = [event for line in done.stdout.splitlines() for event in reader.read(json.loads(line))]
    end = reader.end(done.returncode, done.stderr.decode())
    return [*events, *([end] if end else [])]


def test_an_answer():
    with serve() as server:
        events = ask(f"{server.url}/v1", max_output_tokens=99)
    assert events == [
        {"event": "start", "model": "small"},
        {"event": "message", "text": "Hello from loopback."},
        {"event": "finish", "result": "Hello from loopback.", "session_id": "",
         "usage": {"input": 120, "output": 7, "cached": 30}},
    ]  # fmt: skip
    path, body, headers = server.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "small", "max_tokens": 99, "stream": True, "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "You are brief.\n\nToday is Friday."},
            {"role": "user", "content": "Be kind.\n\nSay hello."},
        ],
    }  # fmt: skip


def test_a_thought_comes_before_the_answer():
    with serve() as server:
        events = ask(f"{server.url}/think/v1/")
    assert [event["event"] for event in events] == ["start", "thinking", "message", "finish"]


@pytest.mark.parametrize(
    ("mode", "reason", "says"),
    [
        ("refuse", "refusal", "I cannot help with that."),
        ("block", "refusal", "a content filter stopped the answer"),
        ("cut", None, "the answer broke off"),
        ("fail401", "login", "set the variable that key_variable of the provider names"),
        ("fail500", None, "the endpoint answers 500"),
    ],
)
def test_a_failure(mode, reason, says):
    with serve() as server:
        last = ask(f"{server.url}/{mode}/v1")[-1]
    assert (last["event"], last.get("reason")) == ("error", reason)
    assert says in last["error"]


def test_nobody_answers():
    assert "Connection refused" in ask("http://127.0.0.1:1/v1")[-1]["error"]


def test_a_server_that_is_silent_is_not_waited_for():
    with serve(pause=30.0) as server:
        last = ask(f"{server.url}/slow/v1", idle=0.5)[-1]
    assert last["event"] == "error"
    assert "timed out" in last["error"]


class Odd(BaseHTTPRequestHandler):
    """Tells the key, sends elsewhere, streams nothing, or no JSON."""

    def log_message(self, *_values) -> None:
        """Nothing."""

    def do_POST(self) -> None:
        mode = self.path.split("/")[1]
        told = {
            "echo": json.dumps({"error": {"message": f"bad key {self.headers['Authorization']}"}}),
            "whole": json.dumps(
                {
                    "choices": [{"message": {"content": "all"}, "finish_reason": "stop"}],
                    "usage": None,
                }
            ),
            "none": "",
        }.get(mode, "data: {")
        self.send_response({"echo": 400, "away": 302}.get(mode, 200))
        self.send_header(
            "content-type", "application/json" if mode in ("whole", "echo") else "text/event-stream"
        )
        self.send_header("location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()
        self.wfile.write(told.encode())


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("echo", "bad key Bearer [key]"),
        ("away", "answers 302"),
        ("none", "the answer broke off"),
        ("broken", "Expecting property name"),
        ("whole", "all"),
    ],
)
def test_odd_servers(mode, says):
    with HTTPServer(("127.0.0.1", 0), Odd) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        last = ask(f"http://127.0.0.1:{server.server_address[1]}/{mode}")[-1]
        server.shutdown()
    assert says in last.get("error", last.get("result", ""))


def test_other_types_than_expected_do_no_harm():
    for value in (
        None,
        3,
        "x",
        [1],
        {"a": 1},
        [{"delta": 3, "finish_reason": 4}],
        [{"delta": {"content": []}}],
    ):
        chunk = dict.fromkeys(("choices", "usage"), value)
        assert CompletionEvents({}).read({"chunks": [chunk]})[-1]["event"] == "error"
