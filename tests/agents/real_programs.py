"""Claude Code, Codex and Gemini CLI themselves, asked by way of the model server on this machine.

`npm i @anthropic-ai/claude-code @openai/codex @google/gemini-cli` brings them; the folder `node_modules/.bin` is named by
CORTEX_REAL_CLI_BIN, or they are on the PATH. They have an empty environment, a home folder of their own, and keys that mean
nothing. What they print is kept in `recorded/`; `CORTEX_UPDATE=1 pytest tests/agents/test_real_programs.py` records it anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from cortex.agents.provider import command_of, environment_of, new_reader, stdin_of
from cortex.core.runs.run_config import RunConfig
from cortex.vault.agent_settings import ProviderSettings
from tests.agents.loopback_model import LoopbackServer, serve

RECORDED = Path(__file__).parent / "recorded"
PROVIDERS = {
    "claude": ProviderSettings("anthropic", "claude"),
    "codex": ProviderSettings("openai", "codex"),
    "gemini": ProviderSettings("google", "gemini"),
}
MODELS = {"claude": "sonnet", "codex": "gpt-5.5", "gemini": "gemini-2.5-flash"}
# As a person starts it, in the folder where it is to work.
BY_HAND = {
    "claude": ["claude", "-p"],
    "codex": ["codex", "exec", "--skip-git-repo-check", "-"],
    "gemini": ["gemini", "--model=gemini-2.5-flash"],
}
NO_SESSION = "00000000-0000-4000-8000-00000000dead"
CONFIG = RunConfig(
    agent_id="run-20261120t171643z-0193ee", name="default", provider="anthropic", model="", tier="flash",
    system_instruction="You are brief.", extra_context="Today is Friday.", user_instruction="", prompt="Say hello.",
    tools="read", output="", output_path="", max_output_tokens=0, thinking_budget=0, session_id="", chat_id="", facet="",
    day="", segment="", span=(), timeout=600.0, idle=20.0, max_cost_usd=None, env={},
)  # fmt: skip
# Name of a recording -> what the server does, and what is asked otherwise than usual.
CASES: dict[str, tuple[str, dict[str, object]]] = {
    "claude-text": ("", {}),
    "claude-tool": ("/tool", {}),
    "claude-outside": ("/tool", {"file": "outside.md"}),
    "claude-think": ("/think", {}),
    "claude-refuse": ("/refuse", {}),
    "claude-fail401": ("/fail401", {}),
    "claude-fail529": ("/fail529", {}),
    "claude-bad-session": ("", {"session_id": NO_SESSION}),
    "claude-no-login": ("", {"has_key": False}),
    "claude-budget": ("/tool", {"max_cost_usd": 0.0001}),
    "codex-text": ("", {}),
    "codex-tool": ("/tool", {}),
    "codex-think": ("/think", {}),
    "codex-refuse": ("/refuse", {}),
    "codex-block": ("/block", {}),
    "codex-fail401": ("/fail401", {}),
    "codex-fail429": ("/fail429", {}),
    "codex-bad-session": ("", {"session_id": NO_SESSION}),
    "gemini-text": ("", {}),
    "gemini-tool": ("/tool", {}),
    "gemini-outside": ("/tool", {"file": "outside.md"}),
    "gemini-refuse": ("/refuse", {}),
    "gemini-fail401": ("/fail401", {}),
    "gemini-bad-session": ("", {"session_id": NO_SESSION}),
    "gemini-no-login": ("", {"has_key": False}),
}


class Answer(NamedTuple):
    exit_code: int
    out: str
    err: str
    server: LoopbackServer


def find_program(protocol: str) -> str | None:
    """The program, or None where npm has not brought it."""
    return shutil.which(protocol, path=os.environ.get("CORTEX_REAL_CLI_BIN") or None)


def run_real(
    protocol: str,
    mode: str,
    home: Path,
    *,
    file: str = "",
    has_key: bool = True,
    by_hand: bool = False,
    **changes: object,
) -> Answer:
    """Run the program as a run of an agent does, or in the vault by hand. `mode` is what the server does; its tool reads
    `file` of `home`. The person trusts the vault."""
    provider, vault, scratch = PROVIDERS[protocol], home / "vault", home / "scratch"
    for folder in (vault, scratch):
        folder.mkdir(parents=True, exist_ok=True)
    (vault / "note.md").write_text("loopback\n")
    (home / "outside.md").write_text("secret\n")
    config = CONFIG._replace(provider=provider.name, model=MODELS[protocol], **changes)
    with serve(file=str(home / (file or "vault/note.md"))) as server:
        url = server.url + mode
        user = user_of(home, vault, url, has_key=has_key)
        words = BY_HAND[protocol] if by_hand else command_of(provider, config, str(vault))
        env = {"PATH": user["PATH"], "HOME": str(home), **environment_of(provider, config, user)}
        done = subprocess.run(
            words, input=stdin_of(provider, config), capture_output=True, cwd=vault if by_hand else scratch,
            env=env | {"GEMINI_CLI_TRUST_WORKSPACE": "true"}, timeout=120, check=False,
        )  # fmt: skip
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode(), server)


def user_of(home: Path, vault: Path, url: str, *, has_key: bool = True) -> dict[str, str]:
    """Settings of the three programs in a home, and the environment of a person who uses them there. They ask
    the server at `url`, and trust the vault."""
    # With an address of its own Gemini CLI 0.61 asks how to log in, unless its settings say so.
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    for folder in (home / ".gemini", home / ".codex"):
        folder.mkdir(parents=True, exist_ok=True)
    (home / ".gemini/settings.json").write_text(json.dumps(auth))
    (home / ".codex/config.toml").write_text(
        'model_provider = "loop"\n[model_providers.loop]\nname = "loop"\nwire_api = "responses"\n'
        f'base_url = "{url}/v1"\nenv_key = "CODEX_API_KEY"\n'
        f'[projects."{vault}"]\ntrust_level = "trusted"\n'
    )
    folders = [
        os.environ.get("CORTEX_REAL_CLI_BIN", ""),
        os.path.dirname(shutil.which("node") or ""),
    ]
    user = {
        "ANTHROPIC_BASE_URL": url, "GOOGLE_GEMINI_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "PATH": ":".join([*filter(None, folders), os.environ["PATH"]]),
    }  # fmt: skip
    keys = ("ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY")
    return user | (dict.fromkeys(keys, "dummy") if has_key else {})


def events_of(protocol: str, answer: Answer, before: dict[str, int] | None = None) -> list[dict]:
    """The events that its reader makes of an answer."""
    reader = new_reader(PROVIDERS[protocol], before or {})
    events = [
        event for line in answer.out.split("\n") if line for event in reader.read(_decode(line))
    ]
    end = reader.end(answer.exit_code, answer.err)
    return [*events, *([end] if end else [])]


def _decode(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return line


def record(name: str, answer: Answer, home: Path) -> None:
    """Keep what a program printed, without what says on which machine it was."""
    kept = {"exit_code": answer.exit_code, "stderr": _plain_stderr(answer.err)}
    text = "\n".join([json.dumps({"ended": kept}), *filter(None, answer.out.split("\n"))])
    text = text.replace(str(home), "/home/u")
    text = re.sub(r"(\.claude/projects/)[^/]+", r"\1-home-u-scratch", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)
    ids: dict[str, str] = {NO_SESSION: NO_SESSION}
    text = re.sub(
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        lambda found: ids.setdefault(found[0], f"00000000-0000-4000-8000-{len(ids):012}"),
        text,
    )
    # What a session of Claude Code can do is long, and of this installation.
    text = re.sub(r'"(slash_commands|agents|skills)":\[[^\]]*\]', r'"\1":[]', text)
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{name}.jsonl").write_text(text + "\n")


def _plain_stderr(text: str) -> str:
    lines = [line for line in text.splitlines() if not re.match(r"\s+at |\[STARTUP\]|\s*$", line)]
    return "\n".join(line[:300] for line in lines[:8])


def recorded(name: str) -> Answer:
    """What a program once printed."""
    first, _, out = (RECORDED / f"{name}.jsonl").read_text().partition("\n")
    ended = json.loads(first)["ended"]
    return Answer(ended["exit_code"], out, ended["stderr"], None)  # type: ignore[arg-type]
