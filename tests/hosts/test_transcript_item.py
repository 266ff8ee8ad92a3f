"""A secret that a limit cuts in half is not known any more, so what is cut is cleaned before."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from cortex.core.model.turn_summary import compose_text
from cortex.core.redact.secrets import sanitize_text
from cortex.hosts.claude import ClaudeReader
from cortex.hosts.codex import CodexReader
from cortex.hosts.transcript_item import (
    MAX_COMMAND_CHARS,
    MAX_PATH_CHARS,
    MAX_REASON_CHARS,
    MAX_STEP_CHARS,
    MAX_TAGGED_LINE_CHARS,
)
from tests.hosts.told import told_by

BODY = "A1b2C3d4E5" * 5
SECRETS = {
    # kind -> what somebody wrote, and the part of it that nobody may see
    "github": ("ghp_" + BODY[:40], "ghp_" + BODY),
    "github-fine": ("github_pat_" + BODY[:40], "github_pat_" + BODY),
    "aws": ("AKIA" + "ABCDEFGH23456789", "AKIA" + "ABCDEFGH23456789"),
    "slack": ("xoxb-" + "1234567890-" + BODY[:20], "xoxb-1234567890-"),
    "stripe": ("sk_live_" + BODY[:24], "sk_live_" + BODY),
    "anthropic": ("sk-ant-" + BODY[:30], "sk-ant-" + BODY),
    "google": ("AIza" + BODY[:36], "AIza" + BODY),
    "jwt": ("eyJ" + "hbGciOiJIUzI1NiJ9." + BODY + ".x" + BODY[:9], "eyJ" + "hbGciOi"),
    "login": ("https://robot:" + "Vq8Zr2Lk9TbnW4xYc6Hd7" + "@git.example.org/team/repo.git", "Vq8Zr2Lk9TbnW4"),
    "assigned": ("password=" + "hunter2Vq8Zr2Lk9Tbn", "hunter2Vq8Zr"),
    "said": ("the password is " + "hunter2Vq8Zr2Lk9Tbn", "hunter2Vq8Zr"),
    "seed": ("legal winner thank year wave sausage worth useful legal winner thank yellow", "legal winner thank"),
    "private-key": ("-----BEGIN RSA PRIVATE KEY-----\n" + (BODY[:48] + "\n") * 3 + "-----END RSA PRIVATE KEY-----", BODY[:12]),
}  # fmt: skip


def line(id_: str, type_: str, part: dict[str, object]) -> bytes:
    about = {"uuid": id_, "sessionId": "s", "cwd": "/repo", "timestamp": "2026-10-01T10:00:00Z", "type": type_}  # fmt: skip
    return json.dumps({**about, "message": {"role": type_, "content": [part]}}).encode()


def called(
    name: str, given: dict[str, object], answer: str = "done", *, failed: bool = False
) -> list[bytes]:
    return [
        line("1", "assistant", {"type": "tool_use", "id": "c", "name": name, "input": given}),
        line("2", "user", {"type": "tool_result", "tool_use_id": "c", "is_error": failed, "content": answer}),
    ]  # fmt: skip


FIELDS: dict[str, tuple[int, Callable[[str], list[bytes]]]] = {
    "command": (MAX_COMMAND_CHARS, lambda text: called("Bash", {"command": f"make {text}"})),
    "why": (MAX_REASON_CHARS, lambda text: called("Bash", {"command": "make"}, f"error: {text}", failed=True)),
    "step": (MAX_STEP_CHARS, lambda text: called("TodoWrite", {"todos": [{"content": text, "status": "pending"}]})),
    "plan": (MAX_STEP_CHARS, lambda text: called("ExitPlanMode", {"plan": f"# Plan\n- {text}"})),
    "asked": (MAX_TAGGED_LINE_CHARS, lambda text: [line("1", "user", {"type": "text", "text": f"[MEMORY: gotcha] {text}"})]),
    "path": (MAX_PATH_CHARS, lambda text: called("Write", {"file_path": f"/repo/{text}.py"})),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("kind", SECRETS)
def test_no_cut_makes_a_secret_one_that_is_not_known(kind: str, field: str) -> None:
    (secret, hidden), (limit, lines) = SECRETS[kind], FIELDS[field]
    if field == "path" and ("://" in secret or "\n" in secret):
        pytest.skip("no part of a path")
    for start in range(max(limit - len(secret) - 30, 0), limit + 2):
        told = sanitize_text(
            compose_text(
                told_by(
                    ClaudeReader(),
                    lines("w" * (start - 1) + " " + secret + " and more" * 5),
                    "/repo",
                ).turn_summary
            )
        )
        assert hidden[:8] not in told, start
        assert "[REDACTED:" in told or "www" in told


def test_a_reason_is_picked_from_a_text_without_secrets() -> None:
    # A line of it that says most about the failure.
    key = SECRETS["private-key"][0].replace(BODY[10:20], "xFailError")
    told = compose_text(
        told_by(
            ClaudeReader(),
            called("Bash", {"command": "make"}, f"{'.' * 30}\n{key}", failed=True),
            "/repo",
        ).turn_summary
    )
    assert "xFailError" not in told


def test_of_every_host() -> None:
    command = "make " + "w" * 120 + " " + SECRETS["github"][0]
    about = {"timestamp": "2026-10-01T10:00:00Z", "type": "response_item"}
    lines = [
        {**about, "payload": {"type": "function_call", "name": "shell", "arguments": json.dumps({"command": command}), "call_id": "1"}},
        {**about, "payload": {"type": "function_call_output", "call_id": "1", "output": "Exit code: 0\nOutput:\nx"}},
    ]  # fmt: skip
    assert "ghp_A" not in compose_text(
        told_by(CodexReader(), [json.dumps(one).encode() for one in lines], "/repo").turn_summary
    )
