"""The server in the settings of hosts: put in without touching another byte, taken out without a trace."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from cortex.core.model.problem import ConflictError, InvalidInputError
from cortex.hosts import jsonc, settings_file
from cortex.hosts.mcp_settings import (
    HOSTS,
    McpChange,
    command_of,
    plan_change,
    plan_token_lines,
)
from cortex.interfaces.mcp.mcp import McpHostName

JSON_BEFORE = {
    "absent": None,
    "empty": b"",
    "an object": b"{}\n",
    "no servers": b'{\n  "theme": "dark"\n}\n',
    "other servers": b'{\n\t"mcpServers": {\n\t\t"db": {"command": "db-mcp"}\n\t},\n\t"servers": {"db": {}}\n}',
    "comments": b'// mine\n{\n  "mcpServers": { // these\n    "db": {"command": "x",},\n  },\n}\n',
    "carriage returns": b'\xef\xbb\xbf{\r\n  "a": 1\r\n}\r\n',
    "no UTF-8": b'{"name": "Zo\xeb"}',
    "empty table": b'{"mcpServers": {}, "servers": {}}',
    "minified": b'{"a":1,"mcpServers":{"db":{"command":"x"}}}',
}
TOML_BEFORE = {
    "absent": None,
    "empty": b"",
    "settings": b'model = "o5"\n\n[mcp_servers.db]\ncommand = "db-mcp"\nargs = ["a"]\n',
    "no last line end": b'model = "o5"',
}
CASES = [(host, JSON_BEFORE[name]) for host in HOSTS if host != "codex" for name in JSON_BEFORE]
CASES += [("codex", data) for data in TOML_BEFORE.values()]


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    for host in HOSTS.values():
        monkeypatch.delenv(host.home_variable or "CORTEX_OFF", raising=False)
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


def path_of(host: str, project: Path) -> Path:
    one = HOSTS[host]
    return project / one.mcp.project if one.mcp.project else Path.home() / one.mcp.user


def act(
    host: str, action: str, project: Path, *words: str, user: bool = False, dry_run: bool = False
) -> McpChange:
    told, todo = plan_change(host, action, str(project), words, user=user)
    if dry_run:
        return told.as_plan(todo)
    if todo.has_changes:
        settings_file.apply_change(todo)
    return told


def servers_in(host: str, data: bytes) -> dict:
    if host == "codex":
        return tomllib.loads(data.decode())["mcp_servers"]
    node = jsonc.parse(data.decode("utf-8", "surrogateescape"))
    assert node is not None
    return jsonc.to_python(node)[HOSTS[host].mcp.key]


def test_each_host_of_the_table_can_be_named() -> None:
    assert get_args(McpHostName) == tuple(HOSTS)


@pytest.mark.parametrize(("host", "before"), CASES)
def test_a_removal_restores_the_file_byte_for_byte(project, host, before) -> None:
    path = path_of(host, project)
    path.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        path.write_bytes(before)
    assert act(host, "install", project, dry_run=True).diff
    assert (path.read_bytes() if path.exists() else None) == before
    assert act(host, "install", project).outcome == "installed"
    after = path.read_bytes()
    assert command_of(servers_in(host, after)["cortex"])[-1] == "mcp"
    assert act(host, "install", project).outcome == "unchanged"
    assert path.read_bytes() == after
    assert act(host, "install", project, "--tools", "agent").outcome == "updated"
    assert act(host, "install", project, "--tools", "default").outcome == "updated"
    assert act(host, "remove", project).outcome == "removed"
    assert (path.read_bytes() if path.exists() else None) == before
    assert act(host, "remove", project).outcome == "not there"


@pytest.mark.parametrize("host", HOSTS)
def test_what_a_person_writes_meanwhile_stays(project, host) -> None:
    path = path_of(host, project)
    act(host, "install", project)
    if host != "codex":
        path.write_text(path.read_text().replace("{", '{"mine": 1, ', 1))
    else:
        path.write_text(f'mine = 1\n\n{path.read_text()}\n[mcp_servers.db]\ncommand = "x"\n')
    assert act(host, "install", project, "--tools", "agent").outcome == "updated"
    assert command_of(servers_in(host, path.read_bytes())["cortex"])[-3:] == [
        "mcp",
        "--tools",
        "agent",
    ]
    assert act(host, "remove", project).outcome == "removed"
    assert "mine" in path.read_text()
    assert "cortex" not in path.read_text()
    if host == "codex":
        assert servers_in(host, path.read_bytes()) == {"db": {"command": "x"}}


def test_the_users_own_settings(project, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "codex").mkdir()
    assert act("codex", "install", project, user=True).file == str(
        tmp_path / "codex" / "config.toml"
    )
    claude = act("claude", "install", project, user=True)
    assert claude.file == os.path.expanduser("~/.claude.json")
    entry = json.loads(Path(claude.file).read_text())["mcpServers"]["cortex"]
    assert os.access(entry["command"], os.X_OK)
    assert entry["args"] == ["-P", "-m", "cortex", "mcp"]  # -P: nothing of the project is imported
    cursor = act("cursor", "install", project, user=True)
    entry = json.loads(Path(cursor.file).read_text())["mcpServers"]["cortex"]
    assert entry["env"] == {"CORTEX_WORKSPACE": "${workspaceFolder}"}
    assert act("cursor", "install", project, user=True).outcome == "unchanged"


def test_the_next_step_is_that_of_the_host(project) -> None:
    steps = {
        host: act(host, "install", project).next_step for host in ("windsurf", "gemini", "claude")
    }
    assert steps == {
        "windsurf": "windsurf: start it anew; it names no folder: your default vault is used, or --vault DIR",
        "gemini": "gemini: start it anew; it asks whether the folder is trusted",
        "claude": "claude: start it anew; it asks whether the server may run",
    }


def test_an_odd_environment_of_ones_own_entry_is_no_fault(project) -> None:
    path = Path.home() / ".cursor/mcp.json"
    path.parent.mkdir()
    for odd, env in ("5", {}), ('{"A": "1"}', {"A": "1"}):
        entry = f'{{"command": "cortex", "args": ["mcp"], "env": {odd}}}'
        path.write_text(f'{{"mcpServers": {{"cortex": {entry}}}}}')
        assert act("cursor", "install", project, user=True).outcome == "updated"
        wanted = env | {"CORTEX_WORKSPACE": "${workspaceFolder}"}
        assert servers_in("cursor", path.read_bytes())["cortex"]["env"] == wanted


def test_what_cannot_be_edited_is_left_alone(project, tmp_path) -> None:
    path = path_of("cursor", project)
    path.parent.mkdir(parents=True)
    for text, error in (
        ('{"mcpServers": {"cortex": {"command": "other"}}}', ConflictError),
        ('{"mcpServers": []}', InvalidInputError),
        ("[1]", InvalidInputError),
        ('{"mcpServers": {"cortex": {"command": "cortex", "args": 5}}}', ConflictError),
        ('{"mcpServers": {"cortex": {"command": "mcp", "args": ["cortex"]}}}', ConflictError),
        ('{"mcpServers": ', InvalidInputError),
    ):
        path.write_text(text)
        with pytest.raises(error):
            act("cursor", "install", project)
        assert path.read_text() == text
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(InvalidInputError):
        act("cursor", "install", project)
    with pytest.raises(InvalidInputError):
        plan_change("cursor", "install", "", [], user=False)


def test_what_a_person_adds_to_the_entry_stays(project) -> None:
    path = path_of("claude", project)
    act("claude", "install", project)
    path.write_text(path.read_text().replace('"command"', '"env": {"A": "1"}, "command"'))
    assert act("claude", "install", project).outcome == "unchanged"
    act("claude", "install", project, "--tools", "agent")
    assert servers_in("claude", path.read_bytes())["cortex"]["env"] == {"A": "1"}
    path = path_of("codex", project)
    act("codex", "install", project)
    path.write_text(
        f'{path.read_text()}startup_timeout_sec = 5\n\n[mcp_servers.cortex.env]\nA = "1"\n\n[b]\n'
    )
    assert act("codex", "install", project, "--tools", "agent").outcome == "updated"
    kept = servers_in("codex", path.read_bytes())["cortex"]
    assert (kept["env"], kept["startup_timeout_sec"]) == ({"A": "1"}, 5)
    act("codex", "remove", project)
    assert tomllib.loads(path.read_text()) == {"b": {}}


def test_options_stay_unless_others_are_given(project, cortex) -> None:
    act("cursor", "install", project, "--tools", "agent")
    assert act("cursor", "install", project).outcome == "unchanged"
    done = cortex("mcp", "install", "cursor", "--vault", ".", "--tools", "all", cwd=str(project))
    assert done.returncode == 2  # there is no vault
    cortex("init", ".", "--no-git", cwd=str(project))
    cortex("mcp", "install", "cursor", "--vault", ".", "--structured", cwd=str(project))
    args = servers_in("cursor", path_of("cursor", project).read_bytes())["cortex"]["args"]
    assert args[-4:] == ["mcp", "--vault", str(project), "--structured"]


def test_nothing_is_written_where_one_of_several_files_cannot_be_edited(project, cortex) -> None:
    (project / ".gemini").mkdir()
    (project / ".gemini/settings.json").write_text("{broken")
    done = cortex("mcp", "install", "claude", "gemini", "codex", cwd=str(project))
    assert done.returncode == 2
    assert not (project / ".mcp.json").exists()


def test_servers_in_a_form_that_takes_no_table_are_left_alone(project) -> None:
    path = path_of("codex", project)
    path.parent.mkdir()
    for text in ('mcp_servers = { db = { command = "x" } }\n', "mcp_servers = 1\n", "a = [\n"):
        path.write_text(text)
        with pytest.raises(InvalidInputError):
            act("codex", "install", project)
        assert path.read_text() == text
    ours = 'command = "cortex"\nargs = ["mcp"]'
    for text in (
        f"[mcp_servers]\ncortex = {{ {ours.replace(chr(10), ', ')} }}\n",
        f'[mcp_servers."cortex"]\n{ours}\n',
        f'a = """\n[mcp_servers.cortex]\n"""\n[mcp_servers.cortex]\n{ours}\n',
    ):
        path.write_text(text)
        for action, words in (("remove", ()), ("install", ("--tools", "agent"))):
            with pytest.raises(InvalidInputError, match="in another form"):
                act("codex", action, project, *words)
            assert path.read_text() == text
    path = path_of("cursor", project)
    path.parent.mkdir()
    path.write_text(
        '{"mcpServers": {"db": {}}, "mcpServers": {"cortex": {"command": "cortex", "args": ["mcp"]}}}'
    )
    with pytest.raises(InvalidInputError, match="in another form"):
        act("cursor", "remove", project)  # of the two the second counts; without it the first would


def test_what_follows_our_table_stays(project) -> None:
    rest = '\n# team db\n  [mcp_servers.db]\n  command = "db"\n\n# keep\n[a]\nx = 1\n'
    path = path_of("codex", project)
    path.parent.mkdir()
    path.write_text(
        '[mcp_servers.cortex]  # ours\ncommand = "cortex"\nargs = [\n  "mcp",\n]\n'
        f'env = {{ A = "1" }}  # mine\n{rest}'
    )
    assert act("codex", "install", project, "--vault", "/home/x/\U0001f4d3").outcome == "updated"
    text = path.read_text()
    assert text.endswith(f'env = {{ A = "1" }}  # mine\n{rest}')
    assert servers_in("codex", text.encode())["cortex"]["args"] == [
        "mcp",
        "--vault",
        "/home/x/\U0001f4d3",
    ]
    act("codex", "remove", project)
    assert path.read_text() == rest


def test_another_server_of_that_name_is_not_removed(project) -> None:
    for host, text in (
        ("cursor", '{"mcpServers": {"cortex": {"command": "other"}}}'),
        ("codex", '[mcp_servers.cortex]\ncommand = "other"\n'),
    ):
        path = path_of(host, project)
        path.parent.mkdir()
        path.write_text(text)
        with pytest.raises(ConflictError):
            act(host, "remove", project)
        assert path.read_text() == text


def test_hooks_and_the_server_share_a_file(project, cortex) -> None:
    before = b'{"theme": "dark"}\n'
    path = project / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(before)
    cortex("hooks", "install", "gemini", cwd=str(project))
    act("gemini", "install", project)
    cortex("hooks", "remove", "gemini", cwd=str(project))
    act("gemini", "remove", project)
    assert json.loads(path.read_bytes()) == json.loads(before)


# Entries with the address of `cortex mcp --http`

URL = "http://127.0.0.1:8765/mcp"
BRACES, ENV = "Bearer ${CORTEX_MCP_TOKEN}", "Bearer ${env:CORTEX_MCP_TOKEN}"
ADDRESSED = {
    "claude": ('{"mcpServers": {"cortex": {"type": "http", "url": "URL"}}}', BRACES),
    "cursor": ('{\n  "mcpServers": {\n    // mine\n    "cortex": {"url" :  "URL",},\n  }\n}\n', ENV),
    "gemini": ('{"mcpServers": {"cortex": {\n"httpUrl": "URL", // there\n"headers": {"X-A": "1"}}}, "a": 1}', BRACES),
    "vscode": ('{\r\n\t"servers": {\r\n\t\t"cortex": {\r\n\t\t\t"url": "URL"\r\n\t\t}\r\n\t}\r\n}', ENV),
    "claude-desktop": ('{"mcpServers": {"cortex": {"type": "http", "url": "URL"}}}', BRACES),
    "copilot": ('{"mcpServers": {"cortex": {"type": "http", "url": "URL"}}}', BRACES),
    "opencode": ('{"mcp": {"cortex": {"type": "remote", "url": "URL"}}}', "Bearer {env:CORTEX_MCP_TOKEN}"),
    "windsurf": ('{"mcpServers":{"db":{},"cortex":{"serverUrl":"URL","headers":{}}}}', ENV),
    "codex": ('[mcp_servers.cortex]  # mine\nurl = "URL"\n\n[a]\nx = 1\n', ""),
}  # fmt: skip


def addressed(host: str, project: Path, url: str = URL) -> Path:
    path = path_of(host, project)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ADDRESSED[host][0].replace("URL", url).encode())
    return path


@pytest.mark.parametrize("host", HOSTS)
def test_an_address_gets_the_tokens_line_and_no_other_byte(project, host) -> None:
    path = addressed(host, project)
    before = path.read_bytes()
    assert "Authorization" in act(host, "install", project, dry_run=True).diff or host == "codex"
    assert path.read_bytes() == before
    told = act(host, "install", project)
    assert told.outcome == "given the token's line"
    assert 'export CORTEX_MCP_TOKEN="$(cortex mcp token)"' in told.next_step
    after = path.read_bytes()
    entry = servers_in(host, after)["cortex"]
    if host == "codex":
        assert entry["bearer_token_env_var"] == "CORTEX_MCP_TOKEN"
    else:
        assert entry["headers"]["Authorization"] == ADDRESSED[host][1]
    assert settings_file.inserted_spans(before.decode(), after.decode())
    assert act(host, "install", project).outcome == "unchanged"
    assert path.read_bytes() == after
    assert act(host, "remove", project).outcome == "rid of the token's line"
    assert path.read_bytes() == before


@pytest.mark.parametrize("host", HOSTS)
def test_the_token_of_this_machine_goes_nowhere_else(project, host) -> None:
    for url in (
        "https://box.lan/mcp",
        "http://127.0.0.1@evil.example/mcp",
        "http://localhost:80@evil.example/mcp",
        "http://localhost.evil.example/mcp",
        "http://127.0.0.1.evil.example/mcp",
    ):
        path = addressed(host, project, url)
        before = path.read_bytes()
        with pytest.raises(ConflictError):
            act(host, "install", project)
        assert path.read_bytes() == before
        assert not list(plan_token_lines(str(project)))


def test_a_token_that_a_person_brings_stays(project) -> None:
    path = path_of("claude", project)
    for field in ('"headers": {"authorization": "Bearer abc"}', '"headersHelper": "mine.sh"', '"headers": "odd"'):  # fmt: skip
        path.write_text(f'{{"mcpServers": {{"cortex": {{"url": "{URL}", {field}}}}}}}')
        before = path.read_bytes()
        assert act("claude", "install", project).outcome == "unchanged"
        assert path.read_bytes() == before
    path = path_of("codex", project)
    path.parent.mkdir()
    for field in ('http_headers = { Authorization = "Bearer x" }', 'bearer_token_env_var = "MINE"'):
        path.write_text(f'[mcp_servers.cortex]\nurl = "{URL}"\n{field}\n')
        assert act("codex", "install", project).outcome == "unchanged"
    path.write_text(f'[mcp_servers]\ncortex = {{ url = "{URL}" }}\n')
    with pytest.raises(InvalidInputError, match="in another form"):
        act("codex", "install", project)


def test_an_address_that_a_person_wrote_is_not_taken_out(project) -> None:
    path = addressed("claude", project)
    with pytest.raises(ConflictError, match="as you wrote it"):
        act("claude", "remove", project)
    with pytest.raises(ConflictError, match="as you wrote it"):
        act("claude", "install", project, "--tools", "agent")
    act("claude", "install", project)
    path.write_text(path.read_text().replace("8765", "8766"))
    with pytest.raises(ConflictError, match="as you wrote it"):
        act("claude", "remove", project)


def test_doctor_names_an_address_without_a_token_and_mends_it(project, cortex) -> None:
    cortex("init", ".", "--no-git", cwd=str(project))
    files = {host: addressed(host, project) for host in HOSTS}
    user = Path(os.path.expanduser("~/.cursor/mcp.json"))
    user.parent.mkdir(exist_ok=True)
    user.write_text(ADDRESSED["cursor"][0].replace("URL", URL))
    Path(os.path.expanduser("~/.gemini")).mkdir(exist_ok=True)
    Path(os.path.expanduser("~/.gemini/settings.json")).write_text(f'{{"cortex": "{URL}"')
    token = cortex("mcp", "token").stdout.strip()
    told = cortex("doctor", cwd=str(project))
    assert told.returncode == 1
    for host in HOSTS:
        assert f"cortex mcp install {host}" in told.stdout
    assert "cortex mcp install cursor --user" in told.stdout
    before = {path: path.read_bytes() for path in files.values()}
    mended = cortex("doctor", "--fix", cwd=str(project))
    assert "given the token's line" in mended.stdout
    for path in (*files.values(), user):
        assert path.read_bytes() != before.get(path)
        assert "CORTEX_MCP_TOKEN" in path.read_text()
        assert token not in path.read_text()  # git may share it
    assert "mcp install" not in cortex("doctor", cwd=str(project)).stdout
    assert "given" not in cortex("doctor", "--fix", cwd=str(project)).stdout
