"""The server of REST: who is let in, what each address answers, and what it refuses."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import pytest

from cortex.interfaces.declare import declaration_of, for_servers, load_verb
from cortex.interfaces.http import openapi, routes
from cortex.interfaces.http.guard import Secrets
from cortex.interfaces.http.ics import calendar_of
from cortex.interfaces.http.note_html import render_note
from cortex.interfaces.mcp.tools import VERBS_WITHOUT_TOOL, known_tools
from cortex.interfaces.python_api import OpenVault
from cortex.operations import READING_VERBS, VERBS
from cortex.vault import user_settings

RECORD = """---
id: keep-carts-k3f7q2
type: decision
status: active
project: shop
created: 2026-11-20T10:00:00Z
updated: 2026-11-20T10:00:00Z
---

# Keep carts for a day

**What.** A cart is kept for a day.
"""
NOTES = f"""
=== records/decision/keep-carts-k3f7q2.md
{RECORD}
=== records/action/order-cables-m5d2xa.md
---
id: order-cables-m5d2xa
type: action
status: open
owner: Ada
due: 2026-12-01
created: 2026-11-20T10:00:00Z
---

# Order the cables, then; lay them
=== Carts.md
# Carts

See [[keep-carts-k3f7q2|the decision]].
"""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Server(NamedTuple):
    """A server that runs, and how it is asked."""

    port: int
    token: str
    process: Any

    def ask(self, method: str, path: str, body: Any = None, **headers: str | None) -> Answer:
        """Ask with the token; a header that is None is left out."""
        named = {"authorization": f"Bearer {self.token}"}
        if body is not None:
            named["content-type"] = "application/json"
        named |= {name.replace("_", "-").lower(): one for name, one in headers.items()}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as link:
            link.putrequest(method, path, skip_host="host" in named)
            for name, one in named.items():
                if one is not None:
                    link.putheader(name, one)
            if data is not None:
                link.putheader("content-length", str(len(data)))
            link.endheaders(data)
            answer = link.getresponse()
            fields = {name.lower(): one for name, one in answer.getheaders()}
            return Answer(answer.status, fields, answer.read().decode())


@contextmanager
def serving(root: str, *words: str, port: int = 0) -> Iterator[Server]:
    line = [sys.executable, "-m", "cortex", "serve", "--port", str(port), *words]
    with subprocess.Popen(line, cwd=root, stderr=-1, text=True) as process:
        said = ""
        while not (found := re.search(r"listening on http://.*:(\d+)/", said)):
            said = process.stderr.readline()
            assert said, "the server has ended"
        try:
            yield Server(int(found[1]), user_settings.own_token(), process)
        finally:
            process.send_signal(signal.SIGTERM)
            rest = process.stderr.read()
            assert process.wait(30) in (0, -signal.SIGTERM)
    assert "Traceback" not in rest, rest


@pytest.fixture
def shop(vault_from):
    return vault_from(NOTES)


@pytest.fixture
def server(shop) -> Iterator[Server]:
    with serving(shop.root) as running:
        yield running


@contextmanager
def listening(server: Server, last_seen: str = "") -> Iterator[Any]:
    """The live stream, whose lines come as they are told."""
    headers = {"authorization": f"Bearer {server.token}"}
    headers |= {"last-event-id": last_seen} if last_seen else {}
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as link:
        link.request("GET", "/api/live", headers=headers)
        with closing(link.getresponse()) as stream:
            yield stream


def next_event(stream: Any) -> tuple[str, str, Any]:
    """Name, id and data of the next event."""
    fields: dict[str, str] = {}
    while True:
        line = stream.readline().decode().rstrip("\n")
        if not line and "data" in fields:
            return fields["event"], fields["id"], json.loads(fields["data"])
        name, _, value = line.partition(": ")
        if name:
            fields[name] = value


def test_an_address_answers_what_its_verb_answers(shop, server):
    vault = OpenVault(shop.root)
    found = server.ask("GET", "/api/search?q=carts&limit=5").json
    assert [one["id"] for one in found["hits"]] == [
        one.id for one in vault.search("carts", number=5).hits
    ]
    assert server.ask("GET", "/api/observations/keep-carts-k3f7q2").json["text"] == RECORD
    assert server.ask("GET", "/api/observations/Carts.md").json["title"] == "Carts"
    assert server.ask("GET", f"/api/observations/{quote('records/decision/keep-carts-k3f7q2.md', safe='')}").json["id"] == "keep-carts-k3f7q2"  # fmt: skip
    (action,) = server.ask("GET", "/api/actions").json["hits"]
    assert (action["id"], action["owner"]) == ("order-cables-m5d2xa", "Ada")
    related = server.ask("GET", "/api/graph/Carts.md/related?depth=1").json
    assert "keep-carts-k3f7q2" in [one["id"] for one in related["hits"]]
    score = server.ask("GET", "/api/scores/keep-carts-k3f7q2").json
    assert score["parts"]
    assert (
        server.ask("POST", "/api/scores/keep-carts-k3f7q2/recalculate").json["parts"]
        == score["parts"]
    )
    for path in ("timeline", "briefing", "problems", "meetings", "changes", "sessions"):
        assert server.ask("GET", f"/api/{path}").status == 200, path


def test_records_sessions_and_edges_are_made_changed_and_taken_back(shop, server):
    body = {"title": "Publish by link", "type": "decision", "content": "By link.", "topic_key": "decision/publish", "tags": ["web"]}  # fmt: skip
    made = server.ask("POST", "/api/observations", body)
    assert made.status == 201
    id_ = made.json["id"]
    shown = server.ask("GET", f"/api/observations/{id_}")
    etag = shown.headers["etag"]
    assert json.loads(etag) == shown.json["version"]
    changed = server.ask(
        "PUT", f"/api/observations/{id_}", {"content": "By link alone."}, if_match=etag
    )
    assert (changed.status, changed.json["outcome"]) == (200, "updated")
    assert (
        server.ask("PUT", f"/api/observations/{id_}", {"content": "Never."}, if_match=etag).status
        == 412
    )
    for call in changed.json["undo_calls"]:
        assert server.ask("POST", f"/api/verbs/{call['verb']}", call["arguments"]).status == 200
    assert "By link.\n" in server.ask("GET", f"/api/observations/{id_}").json["text"]
    for given in ({"tags": ["one", "two"], "priority": 3}, {"tags": ["three"], "priority": 4}):
        undone = server.ask("PUT", f"/api/observations/{id_}", given).json["undo_calls"]
        assert (
            server.ask("POST", f"/api/verbs/{undone[0]['verb']}", undone[0]["arguments"]).status
            == 200
        )
        assert server.ask("PUT", f"/api/observations/{id_}", given).status == 200

    assert server.ask("POST", "/api/verbs/save", {"title": "Seen by an agent", "body": "Once.", "source": "mcp"}).status == 200  # fmt: skip
    (entry,) = server.ask("GET", "/api/verbs/review").json["kept"]["hits"]
    (keep,) = entry["keep_calls"]
    assert keep == {"verb": "revise", "arguments": {"id": entry["id"], "reviewed": True}}
    kept = server.ask("POST", f"/api/verbs/{keep['verb']}", keep["arguments"]).json
    assert kept["undo_calls"][0]["arguments"] == {"id": entry["id"], "unreviewed": True}
    assert server.ask("GET", "/api/verbs/review").json["kept"]["total"] == 0

    edge = {"from": id_, "kind": "refines", "to": "keep-carts-k3f7q2"}
    assert server.ask("POST", "/api/graph/edges", edge).status == 201
    assert "refines" in Path(shop.root, made.json["path"]).read_text()
    assert (
        server.ask("DELETE", f"/api/graph/edges/{id_}~refines~keep-carts-k3f7q2").json["outcome"]
        == "removed"
    )
    assert server.ask("DELETE", "/api/graph/edges/no-edge").status == 404

    assert server.ask("DELETE", f"/api/observations/{id_}").json["outcome"] == "deleted"
    assert Path(shop.root, made.json["path"]).is_file()
    assert server.ask("DELETE", f"/api/observations/{id_}?hard_delete=true").status == 403

    begun = server.ask("POST", "/api/sessions", {"id": "s1", "goal": "Carts"})
    assert (begun.status, begun.json["name"]) == (201, "s1")
    ended = server.ask("POST", "/api/sessions/s1/end", {"accomplished": "All"})
    assert ended.json["outcome"] == "ended"
    assert server.ask("GET", "/api/sessions/s1").json["session"]


def test_a_setting_of_the_person_lets_a_file_be_removed(shop):
    file = Path(user_settings.settings_file())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[serve]\nhard_delete = true\n")
    with serving(shop.root) as server:
        assert (
            server.ask("DELETE", "/api/observations/keep-carts-k3f7q2?hard_delete=true").status
            == 200
        )
    assert not Path(shop.root, "records/decision/keep-carts-k3f7q2.md").exists()


PUBLIC = (
    "/",
    "/health",
    "/openapi.json",
    "/search",
    "/record/keep-carts-k3f7q2",
    "/page/index.html",
)


def test_who_is_a_stranger_is_told_nothing(server):
    ask, port = server.ask, server.port
    for path in PUBLIC:
        assert ask("GET", path, authorization=None).status == 200, path
    told = ask("GET", "/health", authorization=None).json
    assert {*told} == {"status", "name", "version", "vault"}
    for path in (
        "/api/search",
        "/api/live",
        "/api/server",
        "/actions.ics",
        "/mcp",
        "/api/rendered/x",
        "/api/plots/used.svg",
    ):
        assert ask("GET", path, authorization=None).status == 401, path
        assert ask("GET", path, authorization="Bearer nonsense").status == 401, path
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1:1",
        "localhost.evil.example",
        "",
        "[::2]",
        "a b",
    ):
        assert ask("GET", "/health", host=host).status == 403, host
    for host in (f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "127.0.0.1"):
        assert ask("GET", "/health", host=host).status == 200, host
    for origin in (
        "null",
        "http://evil.example",
        f"http://localhost:{port + 1}",
        "https://127.0.0.1",
        "http://127.0.0.1",
    ):
        assert ask("GET", "/api/actions", origin=origin).status == 403, origin
    assert ask("GET", "/api/actions", origin=f"http://localhost:{port}").status == 200
    headers = ask("GET", "/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert not [name for name in headers if name.startswith("access-control")]


def test_a_one_time_code_opens_the_page_once_and_the_cookie_outlives_the_server(shop, cortex):
    with serving(shop.root) as server:
        port = server.port
        address = cortex("web", "--print", "--port", str(port)).stdout.strip()
        code = urlsplit(address).fragment.removeprefix("k=")
        assert code
        assert code not in urlsplit(address)._replace(fragment="").geturl()
        let_in = server.ask("POST", "/api/login", {"code": code}, authorization=None)
        cookie, *flags = let_in.headers["set-cookie"].split("; ")
        assert {one.lower() for one in flags} >= {"httponly", "samesite=strict", "path=/"}
        assert server.token not in cookie
        assert server.ask("POST", "/api/login", {"code": code}, authorization=None).status == 403
        assert (
            server.ask("POST", "/api/login", {"code": f"{code}0"}, authorization=None).status == 403
        )
    with serving(shop.root, port=port) as server:
        alone = {"authorization": None, "cookie": cookie}
        assert server.ask("GET", "/api/actions", **alone).status == 200
        assert server.ask("GET", "/mcp", **alone).status == 401
        body = {"id": "order-cables-m5d2xa"}
        assert server.ask("POST", "/api/verbs/done", body, **alone).status == 403
        own = {"origin": f"http://127.0.0.1:{port}"}
        assert server.ask("POST", "/api/verbs/done", body, **alone, **own).status == 200
        # What a person saves on the page waits for no review of theirs, what a program saves does.
        for title, who in (("By hand", alone | own), ("By a program", {})):
            assert server.ask("POST", "/api/observations", {"title": title}, **who).status == 201
        kept = server.ask("GET", "/api/verbs/review").json["kept"]["hits"]
        assert [one["title"] for one in kept] == ["By a program"]


@pytest.mark.skipif(
    os.geteuid() != 0 or sys.platform != "linux",
    reason="not run: it takes root, who may be anybody",
)
def test_what_another_user_of_this_machine_got_hold_of_opens_nothing(server):
    secrets = Secrets(server.token)
    code, cookie = secrets.issue("code", 60, "x"), secrets.issue("cookie", 60)
    body = json.dumps({"code": code})
    asked = (
        f"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}",
        f"GET /api/actions HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: cortex_{server.port}={cookie}\r\n\r\n",
    )
    for text in asked:
        ask = (
            "import os, socket\nos.setuid(65534)\n"
            f"link = socket.socket()\nlink.connect((b'127.0.0.1', {server.port}))\n"
            f"link.sendall({text.encode()!r})\nprint(link.recv(12)[9:])\n"
        )
        said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)  # fmt: skip
        assert said.stdout == "b'403'\n", text
    own = {"authorization": None, "cookie": f"cortex_{server.port}={cookie}"}
    assert server.ask("GET", "/api/actions", **own).status == 200
    assert server.ask("POST", "/api/login", {"code": code}, authorization=None).status == 200


def test_a_code_and_a_cookie_end_and_one_is_not_the_other():
    secrets = Secrets("t" * 40)
    assert not secrets.take_code(secrets.issue("code", -1, "x"))
    assert not secrets.take_code(secrets.issue("cookie", 60, "x"))
    assert not Secrets("u" * 40).take_code(secrets.issue("code", 60, "x"))
    code = secrets.issue("code", 60, "x")
    assert [secrets.take_code(code), secrets.take_code(code)] == [True, False]
    for nonsense in ("", ".", "..", "9999999999..", "x", "²." + "0" * 32, "\ud800"):
        assert not secrets.holds("cookie", nonsense)


@pytest.mark.parametrize(("method", "path", "body", "status"), [
    ("GET", "/api/search?q=", None, 200),
    ("GET", f"/api/search?q={'a' * 501}", None, 200),
    ("GET", "/api/search?q=%00", None, 409),
    ("GET", "/api/search?q=%ED%A0%80", None, 400),
    ("GET", "/api/search?q=%FF", None, 400),
    ("GET", "/api/search?limit=0", None, 422),
    ("GET", "/api/search?limit=1e9", None, 422),
    ("GET", "/api/search?limit=%EF%BC%91", None, 422),
    ("GET", "/api/search?limit=1001", None, 422),
    ("GET", "/api/search?limit=1&limit=2", None, 400),
    ("GET", "/api/search?nonsense=1", None, 422),
    ("GET", "/api/graph/keep-carts-k3f7q2/related?depth=11", None, 422),
    ("GET", "/api/observations/%2e%2e%2f%2e%2e%2fetc%2fpasswd", None, 404),
    ("GET", "/api/observations/", None, 422),
    ("GET", "/api/nothing", None, 404),
    ("GET", "/page/%2e%2e/app.py", None, 404),
    ("GET", "/page/../routes.toml", None, 404),
    ("TRACE", "/api/search", None, 405),
    ("PATCH", "/api/observations/x", None, 405),
    ("OPTIONS", "/", None, 405),
    ("POST", "/api/observations", b"{", 400),
    ("POST", "/api/observations", b"[]", 400),
    ("POST", "/api/observations", b'{"title": NaN}', 400),
    ("POST", "/api/observations", b'{"title": "a", "title": "b"}', 400),
    ("POST", "/api/observations", b"[" * 100_000, 400),
    ("POST", "/api/observations", b'{"title": ["a"]}', 422),
    ("POST", "/api/observations", b'{"title": ""}', 422),
    ("POST", "/api/observations", b"\xff\xfe", 400),
    ("POST", "/api/verbs/erase", {}, 404),
    ("POST", "/api/verbs/actions", {"overdue": True, "done": True}, 409),
    ("POST", "/api/verbs/actions", {"overdue": 1}, 422),
])  # fmt: skip
def test_bad_input_is_told_as_json(shop_server, method, path, body, status):
    answer = shop_server.ask(method, path, body)
    assert answer.status == status, answer.text
    if status >= 400:
        assert {*answer.json} == {"error", "hint"}
    if status == 405:
        assert answer.headers["allow"]


@pytest.fixture(scope="module")
def shop_server(tmp_path_factory) -> Iterator[Server]:
    """A server for requests that change nothing."""
    root = tmp_path_factory.mktemp("shop")
    Path(root, "cortex.toml").write_text("format = 1\n")
    Path(root, "Carts.md").write_text("# Carts\n")
    with serving(str(root)) as running:
        yield running


def test_a_body_is_json_and_not_too_large(shop_server):
    ask = shop_server.ask
    assert (
        ask("POST", "/api/observations", b'{"title": "a"}', content_type="text/plain").status == 415
    )
    assert ask("POST", "/api/observations", b"x" * (2 * 1024 * 1024)).status == 413
    with closing(http.client.HTTPConnection("127.0.0.1", shop_server.port, timeout=30)) as link:
        named = {"authorization": f"Bearer {shop_server.token}", "content-type": "application/json"}
        link.request("POST", "/api/observations", [b"x" * 65_536] * 32, named, encode_chunked=True)
        assert link.getresponse().status == 413
    surrogate = ask("POST", "/api/verbs/capture", b'{"text": "a \\ud800 b"}')
    assert surrogate.status == 200, surrogate.text


def test_a_head_is_a_get_without_its_body(shop_server):
    answer = shop_server.ask("HEAD", "/api/actions")
    assert (answer.status, answer.text) == (200, "")


def test_the_live_stream_misses_nothing_over_a_restart_and_doubles_nothing(shop):
    seen: list[str] = []

    def take(stream: Any) -> str:
        _, last, told = next_event(stream)
        seen.extend(one["path"] for one in told["changes"])
        return last

    with serving(shop.root) as server:
        port = server.port
        with listening(server) as stream:
            take(stream)
            Path(shop.root, "One.md").write_text("# One\n")
            last = take(stream)
            server.process.kill()
            server.process.wait(30)
            server.process.returncode = 0
    Path(shop.root, "Two.md").write_text("# Two\n")
    with serving(shop.root, port=port) as server:
        with listening(server, last) as stream:
            take(stream)
            Path(shop.root, "Three.md").write_text("# Three\n")
            take(stream)
        with listening(server, "nonsense") as stream:
            assert next_event(stream)[0] == "resync"
    assert seen == ["One.md", "Two.md", "Three.md"]


def test_fifty_listeners_and_one_that_never_reads_hold_nobody_up(shop, server):
    with ExitStack() as stack:
        streams = [stack.enter_context(listening(server)) for _ in range(50)]
        stack.enter_context(listening(server))  # and never reads
        for stream in streams:
            next_event(stream)
        Path(shop.root, "One.md").write_text("# One\n")
        for stream in streams:
            assert [one["path"] for one in next_event(stream)[2]["changes"]] == ["One.md"]
        assert server.ask("GET", "/api/actions").status == 200


def test_agents_ask_over_the_same_server(server):
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    answer = server.ask("POST", "/mcp", body, accept="application/json, text/event-stream")
    assert answer.status == 200
    assert '"serverInfo"' in answer.text


def test_open_actions_are_a_calendar_with_a_token_that_opens_nothing_else(server):
    feed = server.ask("GET", "/api/server").json["calendar"]
    alone = {"authorization": None}
    calendar = server.ask("GET", feed, **alone)
    assert calendar.headers["content-type"].startswith("text/calendar")
    assert "SUMMARY:Order the cables\\, then\\; lay them (Ada)\r\n" in calendar.text
    assert "DTSTART;VALUE=DATE:20261201\r\n" in calendar.text
    token = feed.partition("=")[2]
    assert server.ask("GET", f"/api/actions?token={token}", **alone).status == 401
    assert server.ask("GET", "/actions.ics?token=0", **alone).status == 401
    assert server.ask("GET", "/api/actions", authorization=f"Bearer {token}").status == 401


def test_a_calendar_folds_lines_and_leaves_out_what_is_no_day():
    action = {
        "id": "a",
        "owner": "",
        "due": "2026-12-01",
        "title": "[[weekly-o6l52o|é]]" * 100,
        "path": "a.md",
        "date": "2026-11-20T10:00:00Z",
    }
    lines = calendar_of([action, {**action, "due": "2026-02-30"}, {**action, "due": "soon"}]).split(
        "\r\n"
    )
    assert lines.count("BEGIN:VEVENT") == 1
    assert "SUMMARY:" + "é" * 32 in lines
    assert max(len(line.encode()) for line in lines) <= 75


HOSTILE = """---
id: x-k3f7q2
type: note
---

# T <script>alert(1)</script>

<script>alert(2)</script><img src=x onerror=alert(3)>

[a](javascript:alert(4)) [b](data:text/html,x) [c](https://example.org "t\\" onmouseover=\\"x")
![remote](https://evil.example/x.png) [[keep-carts|the <b>carts</b>]] [[javascript:alert(5)]]

- [ ] open
- [x] done

| a | b |
|---|---|
| <svg onload=alert(6)> | `<i>` |
"""


def test_a_long_note_is_answered_whole(shop, server):
    Path(shop.root, "Long.md").write_text("# Long\n\n" + "a line of it\n" * 10_000 + "its end\n")
    assert server.ask("GET", "/api/observations/Long.md").json["text"].endswith("its end\n")
    assert "its end" in server.ask("GET", "/api/rendered/Long.md").json["html"]


def test_a_note_is_shown_without_markup_of_its_own_or_anything_from_elsewhere():
    html = render_note(HOSTILE)["html"]
    assert not re.search(r"<(script|img|svg|b|iframe|style)\b", html)
    assert not re.search(r"""<\w+(?:\s+\w+="[^"]*")*\s+on\w+=""", html)
    assert not re.search(r"""(?:href|src)=["']?(?:javascript|data):""", html)
    assert (
        '<a href="/record/keep-carts" rel="noopener noreferrer">the &lt;b&gt;carts&lt;/b&gt;</a>'
        in html
    )
    assert '<span class="image">remote</span>' in html
    assert "☐ open" in html
    assert "☑ done" in html
    assert "<table>" in html
    assert render_note("x" * 5_000_000)["html"].startswith("<pre>")
    for depth in (40, 300, 3_000):
        nested = "".join(f"{' ' * 2 * level}- level{level}\n" for level in range(depth))
        assert f"level{depth - 1}" in render_note(nested)["html"], depth
        assert f"deep{depth}" in render_note(">" * depth + f" deep{depth}")["html"]


def test_a_preview_is_no_use_of_a_note(shop, server):
    for _ in range(3):
        server.ask("GET", "/api/search?q=carts", cortex_preview="1")
    assert OpenVault(shop.root).show("keep-carts-k3f7q2", why=True).uses == 0
    server.ask("GET", "/api/search?q=carts")
    assert OpenVault(shop.root).show("keep-carts-k3f7q2", why=True).uses == 1


# Parity: a verb is a command, a tool, an address and a method; or here is why not.
NO_METHOD = {
    "completion": "prints a script", "edit": "a terminal", "mcp": "a server", "open": "a terminal", "schema": "types are in the stub",
    "serve": "a server", "tui": "a terminal", "watch": "a server", "web": "a browser",
}  # fmt: skip


def test_every_verb_is_a_command_a_tool_an_address_and_a_method():
    tools = {tool.verb for tool in known_tools().values()}
    addresses = {one.verb for one in routes.all_routes() if one.path.startswith(routes.VERBS_PATH)}
    assert addresses == tools == VERBS.keys() - VERBS_WITHOUT_TOOL.keys()
    methods = {name.rstrip("_").replace("_", "-") for name in dir(OpenVault)}
    assert VERBS.keys() - methods == NO_METHOD.keys() & VERBS.keys()


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - VERBS_WITHOUT_TOOL.keys()))
def test_an_address_takes_what_its_verb_takes(verb):
    declared = for_servers(declaration_of(load_verb(verb)))
    (post,) = (
        one
        for one in routes.all_routes()
        if one.path == routes.VERBS_PATH + verb and one.method == "POST"
    )
    own = {one.label for one in routes.declare(post).parameters} - {"cursor"}
    assert own == {one.name for one in declared.parameters}
    operation = openapi.describe()["paths"][post.path]["post"]
    body = (
        operation.get("requestBody", {})
        .get("content", {})
        .get("application/json", {})
        .get("schema", {})
    )
    assert {*body.get("properties", {})} - {"cursor"} == own
    assert ("get" in openapi.describe()["paths"][post.path]) == (verb in READING_VERBS)


def test_every_name_in_the_table_of_routes_is_a_parameter():
    for route in routes.all_routes():
        known = {one.name for one in declaration_of(load_verb(route.verb)).parameters}
        assert {*route.rename.values(), *route.only, *route.fixed} <= known, route
        labels = {one.label for one in routes.declare(route).parameters}
        assert {*route.path_names} <= labels, route


def test_elsewhere_it_listens_only_with_a_token_of_its_own_and_names(shop, cortex, tmp_path):
    file = str(tmp_path / "token")
    refused = cortex("serve", "--host", "0.0.0.0", cwd=shop.root)
    assert refused.returncode == 2
    assert "--token-file FILE --allow-host NAME" in refused.stderr
    with serving(
        shop.root, "--host", "0.0.0.0", "--token-file", file, "--allow-host", "Memory.example"
    ) as server:
        assert os.stat(file).st_mode & 0o777 == 0o600
        own = {"authorization": f"Bearer {Path(file).read_text().strip()}"}
        assert server.ask("GET", "/api/actions").status == 401
        assert server.ask("GET", "/api/actions", **own, host="memory.example").status == 200
        assert server.ask("GET", "/api/actions", **own, host="other.example").status == 403
    os.chmod(file, 0o644)
    assert "chmod 600" in cortex("serve", "--token-file", file, cwd=shop.root).stderr
    os.chmod(file, 0o600)
    Path(file).write_text("short")
    assert "holds no token" in cortex("serve", "--token-file", file, cwd=shop.root).stderr


def test_a_port_that_is_taken_or_is_somebody_elses_is_told(shop, cortex, tmp_path, monkeypatch):
    with serving(shop.root) as server:
        taken = cortex("serve", "--port", str(server.port), cwd=shop.root)
        assert taken.returncode == 2
        assert "cortex web opens the page" in taken.stderr
        Path(tmp_path, "cortex.toml").write_text("format = 1\n")
        refused = cortex("web", "--print", "--port", str(server.port), cwd=str(tmp_path))
        assert "of another vault" in refused.stderr
    monkeypatch.setenv("CORTEX_PORT", "nonsense")
    assert "$CORTEX_PORT" in cortex("serve", cwd=shop.root).stderr
    assert (
        "no server of Cortex runs" in cortex("web", "--print", "--port", "1", cwd=shop.root).stderr
    )


def test_units_say_how_the_server_is_started(shop, cortex):
    unit = cortex("serve", "--print-unit", "systemd", "--port", "7439", cwd=shop.root).stdout
    assert '"serve" "--vault"' in unit
    assert '"--port" "7439"' in unit
    assert (
        "<string>serve</string>" in cortex("serve", "--print-unit", "launchd", cwd=shop.root).stdout
    )


def test_without_the_extra_it_names_the_command_that_installs_it(shop, cortex, monkeypatch):
    monkeypatch.setitem(sys.modules, "nh3", None)
    done = cortex("serve", cwd=shop.root)
    assert done.returncode == 2
    assert "cortex serve needs the package nh3" in done.stderr


@pytest.mark.parametrize(
    "words", [["search", "carts"], ["status"], ["mcp", "token"], ["--version"]]
)
def test_other_commands_import_neither_server_nor_terminal_view(shop, words):
    code = (
        "import sys\nfrom cortex.interfaces.cli.main import main\nmain(sys.argv[1:])\n"
        "assert not {'starlette', 'uvicorn', 'nh3', 'textual'} & sys.modules.keys()\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, *words], cwd=shop.root, check=True, capture_output=True
    )
