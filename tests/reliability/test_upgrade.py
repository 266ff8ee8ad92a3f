"""What version 0.1.0 left in the state and cache folders goes on: sessions under way, events without room, an old index."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.interfaces.hook import payloads
from cortex.operations.care.init import init
from cortex.vault.locate import Vault
from cortex.vault.state import session_state
from tests.conftest import run_cortex

HOOK = Path(payloads.__file__).with_name("main.py")
CLAUDE, GEMINI, BEGUN = (
    "3085b587e70ce98b49af867c",
    "d1fa82423f5fe977ae3c21ce",
    "3fa9cff7e2d241700071928c",
)
# As that version wrote them; `@ROOT@` and `@VAULT@` are of the machine.
CURSOR = {
    "agent": "", "cwd": "@ROOT@", "root": "@ROOT@", "project": "shop", "branch": "", "transcript": "", "offset": 0, "head": "",
    "of": "", "named": False, "since": "", "floor": "", "last": [], "ahead": [], "prompt": "", "summary": "", "briefed": "",
    "start": "", "begun": True, "ended": False, "latest": "", "behind": False, "turn": "", "busy": False, "vault": "@VAULT@",
}  # fmt: skip
CURSORS = {
    CLAUDE: CURSOR | {
        "host": "claude", "session": "s-claude", "transcript": "@ROOT@/t.jsonl", "offset": 523, "head": "3836afea6e2e74e0",
        "of": "s-claude", "named": True, "since": "2026-11-20T10:00:02.000Z", "last": [[33, "aabedc99f2912e8078c3a8be"]],
        "latest": "20261120t100002z-gjnnt7cp6z",
    },
    GEMINI: CURSOR | {
        "host": "gemini", "session": "s-gemini", "last": [[35, "e1fa55190f9bc31081cda3d1"]], "latest": "20261120t100040z-dtcaxexuxo",
    },
    BEGUN: CURSOR | {"host": "gemini", "session": "s-begun", "begun": False, "start": "20261120t100041z-kqpwsp27qa"},
}  # fmt: skip
EVENT = "---\nid: {}\ntype: {}\nat: {}\nsession: {}\nproject: shop\nhost: {}\nsource: hook\n---\n\n## Raw Content\n\n{}\n"
INBOX = (
    "20261120t100002z-gjnnt7cp6z",
    "stop",
    "2026-11-20T10:00:02Z",
    "s-claude",
    "claude",
    "Decision: the amber table is in SQLite.",
)
SPOOL = [
    ("20261120t100039z-2vgfr2vvu6", "session_start", "2026-11-20T10:00:39Z", "s-gemini", "gemini", "(no goal)"),
    ("20261120t100040z-dtcaxexuxo", "stop", "2026-11-20T10:00:40Z", "s-gemini", "gemini", "Decision: the birch queue has one worker."),
]  # fmt: skip
ABOUT = '"parentUuid": null, "isSidechain": false, "cwd": "/w", "sessionId": "s-claude", "version": "2.1"'


def transcript_line(number: int, role: str, message: str) -> str:
    """A line of a transcript of Claude Code; the bytes of the first ones are those of the cursor's offset."""
    return (
        f'{{"type": "{role}", "uuid": "u{number}", {ABOUT}, "timestamp": "2026-11-20T10:00:0{number}.000Z", '
        f'"message": {{"role": "{role}", "content": {message}}}}}\n'
    )


def answer(number: int, text: str) -> str:
    return transcript_line(
        number, "assistant", f'[{{"type": "text", "text": "{text}"}}], "id": "m{number}"'
    )


@pytest.fixture
def earlier(tmp_path: Path, caller: Caller) -> Path:
    """A project with a vault, and what the earlier version left of three sessions."""
    root = tmp_path / "shop"
    root.mkdir()
    (root / ".cortex-project").write_text("shop\n")
    vault = Vault(init(caller, str(root / "vault")).root)
    (root / "t.jsonl").write_text(
        transcript_line(1, "user", '"Where?"')
        + answer(2, INBOX[-1])
        + transcript_line(3, "user", '"And then?"')
        + answer(4, "Decision: the cedar cache is gone.")
    )
    inbox = Path(vault.root, "inbox/pending")
    inbox.mkdir(parents=True, exist_ok=True)
    (inbox / f"{INBOX[0]}.md").write_text(EVENT.format(*INBOX))
    state = Path(vault.state_folder())
    for folder in ("sessions", "waiting", "reminded"):
        (state / folder).mkdir(mode=0o700)
    identity = session_state._vault_identity(vault.root)
    for key, cursor in CURSORS.items():
        text = json.dumps({"cursor": cursor, "attempt": None})
        text = text.replace("@ROOT@", str(root)).replace("@VAULT@", identity)
        (state / "sessions" / f"{key}.json").write_text(text)
    for event in SPOOL:
        (state / "waiting" / f"{event[0]}.md").write_text(EVENT.format(*event))
    (state / "waiting" / f"{CLAUDE}.recent").touch()
    (state / "reminded/ecee963d0d72031a").write_text(".\n")
    (state / "access.log").write_text("\n1795390333\tsearch\tcli\tdecision-carts-lmrhuy\t\n")
    (state / "hooks.log").write_text("\n2026-11-20T10:00:02Z\tclaude\tstop\t50\t\t\t\n")
    (state / "git-seen").write_text("no repository")
    cache = Path(vault.cache_folder())
    (cache / "index").mkdir(mode=0o700)
    (cache / "catalogue.sqlite").write_bytes(b"of another version")
    sealed = os.stat(cache / "catalogue.sqlite")
    stamp = f"{sealed.st_mtime_ns}.{sealed.st_ctime_ns}.{sealed.st_size}.{sealed.st_ino}"
    (cache / "state.json").write_text(
        json.dumps({"format": "8/0.1.0", "settings": "", "exclude": [], "rules": "", "ignored": [], "noted": [], "sealed": {"catalogue.sqlite": stamp}})
    )  # fmt: skip
    for file in (*state.rglob("*"), *cache.rglob("*")):
        file.chmod(0o700 if file.is_dir() else 0o600)
    return root


def hook(project: Path, event: str, host: str, **fields: object) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(HOOK), event, "--host", host],
        input=json.dumps({"cwd": str(project)} | fields), cwd=project, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_what_an_earlier_version_left_goes_on_with_nothing_lost_and_nothing_twice(earlier) -> None:
    vault = earlier / "vault"
    first = {"session_id": "s-claude", "transcript_path": str(earlier / "t.jsonl")}
    hook(
        earlier,
        "stop",
        "claude",
        **first,
        last_assistant_message="Decision: the cedar cache is gone.",
    )
    hook(
        earlier,
        "stop",
        "claude",
        **first,
        last_assistant_message="Decision: the cedar cache is gone.",
    )
    hook(
        earlier,
        "stop",
        "gemini",
        session_id="s-gemini",
        prompt_response="Decision: the birch queue has one worker.",
    )  # told again
    hook(
        earlier,
        "stop",
        "gemini",
        session_id="s-begun",
        prompt_response="Decision: the dogwood log rotates.",
    )
    for verb in ("status", "normalize", "recall"):
        done = run_cortex(verb, cwd=earlier)
        assert "Traceback" not in done.stderr
    assert not [*(vault / "inbox").rglob("*.md")]
    events = [path.read_text() for path in (vault / "events").rglob("*.md")]
    records = [path.read_text() for path in (vault / "records").rglob("*.md")]
    for word in ("amber", "birch", "cedar", "dogwood"):
        assert sum(word in text for text in events) == 1, word
        assert sum(f" {word} " in text for text in records) == 1, word
        assert word in run_cortex("search", word, cwd=earlier).stdout
    starts = [text for text in events if "type: session_start" in text]
    assert sorted(re.findall(r"^id: (\S+)", "".join(starts), re.MULTILINE)) == [
        "20261120t100039z-2vgfr2vvu6",
        "20261120t100041z-kqpwsp27qa",
    ]
    assert run_cortex("doctor", cwd=earlier).returncode == 0
    assert run_cortex("heal", "--check", cwd=earlier).returncode == 0
