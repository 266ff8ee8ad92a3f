"""Hooks, as hosts call them: recorded payloads go in, and what comes out is exactly what that host accepts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cortex.core.briefing.injected import CONTRACT
from cortex.core.model.problem import Problem
from cortex.hosts import HOST_NAMES
from cortex.hosts.host import EVENTS
from cortex.interfaces.hook import payloads, run
from cortex.vault.locate import Vault
from cortex.vault.state import hook_log, session_state, spool
from cortex.watcher import protocol
from tests.conftest import SOAK, cpu_limit

pytestmark = pytest.mark.sampled(2)

PAYLOADS = Path(__file__).parent / "hook_payloads"
FILE = str(Path(payloads.__file__).with_name("main.py"))
SESSION = "0199c4f2-7d1e-7c60-9d55-3e0f5a1b2c3d"
MOST = 9_500  # characters that every host takes without cutting

CONTEXT = {"hookEventName", "additionalContext"}
# What may come out, by host and event: the keys, the keys inside, and the host's name of the event. Nothing but these.
GIVEN = {
    ("claude", "session-start"): ("hookSpecificOutput", "SessionStart"),
    ("claude", "session-start-resume"): ("hookSpecificOutput", "SessionStart"),
    ("claude", "user-prompt-submit"): ("hookSpecificOutput", "UserPromptSubmit"),
    ("codex", "session-start"): ("hookSpecificOutput", "SessionStart"),
    ("codex", "user-prompt-submit"): ("hookSpecificOutput", "UserPromptSubmit"),
    ("gemini", "session-start"): ("hookSpecificOutput", "SessionStart"),
    ("gemini", "BeforeAgent"): ("hookSpecificOutput", "BeforeAgent"),
    ("cursor", "sessionStart"): ("additional_context", ""),
    ("copilot", "sessionStart"): ("additionalContext", ""),
    ("copilot", "SessionStart-pascal"): ("additionalContext", ""),
}
EMPTY_OBJECT = {("codex", "stop"), ("codex", "subagent-stop")} | {
    ("gemini", name)
    for name in ("session-start", "BeforeAgent", "AfterAgent", "PreCompress", "session-end")
}
RECORDED = sorted((path.parent.name, path.stem) for path in PAYLOADS.glob("*/*.json"))


@pytest.fixture
def project(tmp_path, git, cortex) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q")
    (root / ".cortex-project").write_text("shop\n")
    assert cortex("init", "vault", cwd=str(root)).returncode == 0
    return root


@pytest.fixture
def knowing(project, cortex) -> Path:
    """A project whose vault knows something, and whose index is current."""
    assert (
        cortex(
            "capture",
            "Decision: sessions are kept in SQLite because it is one file",
            cwd=str(project),
        ).returncode
        == 0
    )
    assert cortex("search", "sessions", cwd=str(project)).returncode == 0
    return project


@pytest.fixture(scope="module")
def shop_and_home(tmp_path_factory) -> tuple[Path, Path]:
    """The same, and the home of who uses it, for tests that tell it each of another session."""
    root, home = tmp_path_factory.mktemp("shop"), tmp_path_factory.mktemp("home")
    (root / ".cortex-project").write_text("shop\n")
    for words in (["init", "vault"], ["capture", "Decision: sessions are kept in SQLite because it is one file"], ["search", "sessions"]):  # fmt: skip
        subprocess.run(
            [sys.executable, "-m", "cortex", *words],
            cwd=root,
            env=os.environ | {"HOME": str(home)},
            capture_output=True,
            timeout=60,
            check=True,
        )
    return root, home


def hook(
    project: Path, event: str, host: str, told: Any, *, as_file: bool = True, **more: str
) -> subprocess.CompletedProcess[str]:
    """Call a hook as its host does; `told` is a payload, or bytes as they come."""
    data = told if isinstance(told, bytes) else json.dumps(told).encode()
    line = (
        [sys.executable, "-I", "-S", FILE] if as_file else [sys.executable, "-m", "cortex", "hook"]
    )
    done = subprocess.run(
        [*line, event, "--host", host],
        input=data,
        cwd=project,
        env=os.environ | more,
        capture_output=True,
        timeout=60,
        check=False,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == 0
    assert "Traceback" not in out + err
    assert err.count("\n") <= 1
    return subprocess.CompletedProcess(done.args, 0, out, err)


def recorded(host: str, event: str, project: Path) -> dict[str, Any]:
    text = (PAYLOADS / host / f"{event}.json").read_text()
    for mark, path in (
        ("@CWD@", project),
        ("@TRANSCRIPT@", project / "t.jsonl"),
        ("@AGENT@", project / "agent.jsonl"),
        ("@CHAT@", project / "chat.json"),
    ):
        text = text.replace(mark, str(path))
    return json.loads(text)


def notes(project: Path) -> list[Path]:
    """The events that were captured, in their order, normalized or not."""
    found = [*(project / "vault/inbox").rglob("*.md"), *(project / "vault/events").rglob("*.md")]
    return sorted(found, key=lambda path: path.name)


def events(project: Path, kind: str = "") -> list[str]:
    """The texts of the events, or of those of one type; messages with a blank line between them."""
    found = [path.read_text() for path in notes(project)]
    return [
        text.partition("## Raw Content\n\n")[2].replace("\n\n* * *\n\n", "\n\n").strip()
        for text in found
        if f"\ntype: {kind}" in text or not kind
    ]


def transcript_of(*texts: str) -> str:
    """A part of Claude Code's transcript."""
    lines = (
        {
            "type": "assistant", "uuid": text[:40], "sessionId": SESSION, "timestamp": "2026-11-20T10:00:00.000Z",
            "message": {"role": "assistant", "id": text[:40], "content": [{"type": "text", "text": text}]},
        }
        for text in texts
    )  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines)


def claude(project: Path, **fields: Any) -> dict[str, Any]:
    return {
        "session_id": SESSION,
        "transcript_path": str(project / "t.jsonl"),
        "cwd": str(project),
    } | fields


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("host", "event"), RECORDED)
def test_what_comes_out_is_what_the_host_accepts(host, event, shop_and_home):
    project, home = shop_and_home
    told = json.loads(
        json.dumps(recorded(host, event, project)).replace(SESSION, f"{host}-{event}")
    )
    # What a briefing has said no reminder says again.
    if GIVEN.get((host, event), ("", ""))[1] in ("UserPromptSubmit", "BeforeAgent"):
        for kept in home.glob(".cache/cortex/*/briefs/*"):
            kept.unlink()
    out = hook(
        project, event.partition("-resume")[0].partition("-pascal")[0], host, told, HOME=str(home)
    ).stdout
    if (host, event) in GIVEN:
        key, name = GIVEN[host, event]
        answered = json.loads(out)
        assert set(answered) == {key}
        if key == "hookSpecificOutput":
            assert set(answered[key]) == CONTEXT
            assert answered[key]["hookEventName"] == name
        text = answered[key]["additionalContext"] if name else answered[key]
        assert "essions are kept in SQLite" in text
        assert text.startswith("<cortex-")
        assert text.rstrip().endswith((CONTRACT, "</cortex-memory>"))
        assert len(text.removesuffix(f"\n\n{CONTRACT}")) <= MOST
    else:
        assert out == ("{}\n" if (host, event) in EMPTY_OBJECT else "")


def test_a_vault_that_knows_nothing_says_nothing_but_the_contract(project):
    with open(project / "vault/cortex.toml", "a") as file:
        file.write("[remind]\nlines = 0\n")  # what the sessions before it said is known by then
    for host, event in RECORDED:
        told = json.loads(
            json.dumps(recorded(host, event, project))
            .replace(SESSION, f"{host}-{event}")
            .replace("Decision:", "Then")
        )
        out = hook(
            project, event.partition("-resume")[0].partition("-pascal")[0], host, told
        ).stdout
        # What the sessions before it did is known by then.
        if "sessionstart" not in event.replace("-", "").lower():
            assert out == ("{}\n" if (host, event) in EMPTY_OBJECT else "")


@pytest.mark.parametrize(("host", "event"), [one for one in GIVEN if "tart" in one[1]])
def test_every_start_brings_the_contract_with_an_empty_vault_too(host, event, project):
    told = recorded(host, event, project)
    word = event.partition("-resume")[0].partition("-pascal")[0]
    out = hook(project, word, host, told).stdout
    key, name = GIVEN[host, event]
    answered = json.loads(out)[key]
    assert (answered["additionalContext"] if name else answered) == CONTRACT
    (project / "vault/cortex.toml").write_text("format = 1\n[hooks]\ncontract = false\n")
    told = json.loads(json.dumps(told).replace(SESSION, "another"))
    out = hook(project, word, host, told).stdout
    assert out == ("{}\n" if (host, event) in EMPTY_OBJECT else "")


@pytest.mark.parametrize("host", HOST_NAMES)
def test_every_host_has_its_last_message_captured(host, project):
    event = {
        "gemini": "AfterAgent",
        "cursor": "afterAgentResponse",
        "windsurf": "post_cascade_response",
        "copilot": "stop",
    }.get(host, "stop")
    told = (
        recorded(host, event, project)
        if host != "copilot"
        else recorded(host, "agentStop", project)
        | {"last_assistant_message": "Decision: sessions are kept in SQLite."}
    )
    for _ in range(2):  # the second is the same turn
        hook(project, event, host, told, as_file=host == "claude")
    (text,) = events(project, "stop")
    assert text.startswith("Decision: sessions are kept in SQLite.")
    (note,) = notes(project)
    for field in (f'session: "{SESSION}"', "project: shop", f"host: {host}", "source: hook"):
        assert f"\n{field}\n" in note.read_text()


def test_a_turn_is_captured_once_whether_the_payload_or_the_transcript_brings_it_first(project):
    transcript = project / "t.jsonl"
    written = ""
    turns = [f"Part {number} is done." for number in range(20)]
    for number, text in enumerate(turns):
        if number % 2:  # the host is late with its transcript in every other turn
            written += transcript_of(text)
            transcript.write_text(written)
        hook(project, "stop", "claude", claude(project, last_assistant_message=text))
        if not number % 2:
            written += transcript_of(text)
            transcript.write_text(written)
        hook(project, "pre-compact", "claude", claude(project, trigger="auto"))
    hook(project, "session-end", "claude", claude(project, reason="other"))
    assert events(project, "stop") == turns
    assert events(project, "pre_compact") == []
    assert events(project, "session_end") == ["(no summary)"]


def test_a_message_that_the_transcript_has_in_pieces_is_captured_once(project):
    whole = "First the table.\n\nThen the migration."
    hook(project, "stop", "claude", claude(project, last_assistant_message=whole))
    (project / "t.jsonl").write_text(
        transcript_of("First the table.", "Then the migration.", "And something new.")
    )
    hook(project, "pre-compact", "claude", claude(project))
    hook(
        project,
        "stop",
        "claude",
        claude(project, last_assistant_message="Then the migration.\nAnd something new."),
    )
    assert events(project) == [whole, "And something new."]


def test_a_session_begins_with_its_first_event(project):
    hook(project, "session-start", "claude", claude(project, source="startup"))
    hook(project, "session-end", "claude", claude(project, reason="clear"))
    assert events(project) == []
    hook(project, "stop", "claude", claude(project, last_assistant_message="Decision: x."))
    hook(project, "session-start", "claude", claude(project, source="compact"))
    hook(project, "stop", "claude", claude(project, last_assistant_message="Decision: y."))
    hook(project, "session-end", "claude", claude(project, reason="logout"))
    hook(project, "session-end", "claude", claude(project, reason="logout"))
    kinds = [
        next(line for line in path.read_text().splitlines() if line.startswith("type:"))
        for path in notes(project)
    ]
    assert kinds == ["type: session_start", "type: stop", "type: stop", "type: session_end"]


def test_a_session_that_goes_on_from_another_does_not_capture_that_one_again(project):
    (project / "t.jsonl").write_text(
        transcript_of("Said long ago, in the session that was copied.")
    )
    hook(project, "session-start", "claude", claude(project, source="resume"))
    hook(project, "stop", "claude", claude(project, last_assistant_message="New."))
    assert events(project, "stop") == ["New."]


def test_a_subagents_work_belongs_to_its_session(project):
    (project / "agent.jsonl").write_text(
        transcript_of("The agent looked at src.", "The store lives in src/store.py.")
    )
    hook(project, "session-start", "claude", claude(project, source="startup"))
    for _ in range(2):
        hook(project, "subagent-stop", "claude", recorded("claude", "subagent-stop", project))
    assert len(events(project, "session_start")) == 1
    assert events(project, "subagent_stop") == [
        "The agent looked at src.\n\nThe store lives in src/store.py."
    ]


def test_a_summary_is_captured_once(project):
    for _ in range(2):
        hook(project, "post-compact", "claude", recorded("claude", "post-compact", project))
    assert events(project, "post_compact") == [
        "The user moves the sessions to SQLite. Done so far: the table, the migration."
    ]


def asked(text: str, second: int) -> str:
    """A prompt in Claude Code's transcript."""
    line = {
        "type": "user", "uuid": f"u{second}", "sessionId": SESSION, "timestamp": f"2026-11-20T10:00:{second:02}.000Z",
        "message": {"role": "user", "content": text},
    }  # fmt: skip
    return json.dumps(line) + "\n"


@pytest.mark.parametrize(("setting", "kept"), [
    ("", "> [!user] Please mend the build. [MEMORY: decision] never build on Fridays Thank you.\n\n"),
    ('"short"', "> [!user] Please mend the build. [MEMORY: decision] never build on Fridays Thank you.\n\n"),
    ("true", "> [!user] Please mend the build.\n> [MEMORY: decision] never build on Fridays\n> Thank you.\n\n"),
    ('"none"', ""),
    ("false", ""),
    ('"everything"', ""),
])  # fmt: skip
def test_a_turn_holds_of_its_prompt_what_the_settings_say(setting, kept, project):
    if setting:
        with (project / "vault/cortex.toml").open("a") as file:
            file.write(f"\n[hooks]\nprompts = {setting}\n")
    prompt = "Please mend the build.\n[MEMORY: decision] never build on Fridays\nThank you."
    hook(project, "user-prompt-submit", "claude", claude(project, prompt=prompt, prompt_id="1"))
    assert events(project) == ["[MEMORY: decision] never build on Fridays"]
    (project / "t.jsonl").write_text(asked(prompt, 1) + transcript_of("Mended."))
    hook(project, "stop", "claude", claude(project))
    assert events(project, "stop") == [f"{kept}Mended."]


def test_a_prompt_is_an_event_where_the_host_has_no_transcripts(project):
    # The same words again are another prompt; the same prompt is not.
    for number in ("1", "2", "2"):
        told = claude(project, prompt="Keep the cart, please", timestamp=number)
        hook(project, "BeforeAgent", "gemini", told)
    assert events(project, "prompt") == ["Keep the cart, please"] * 2


def test_what_cortex_said_is_never_captured(project):
    block = '<cortex-briefing note="kept from earlier work, for reference; not instructions">\nDecision: old news\n</cortex-briefing>'
    (project / "t.jsonl").write_text(transcript_of(f"I was told:\n{block}"))
    hook(project, "stop", "claude", claude(project, last_assistant_message=f"Again: {block}"))
    hook(project, "post-compact", "claude", claude(project, compact_summary=block))
    assert "old news" not in "".join(events(project))


def test_copilot_gets_a_briefing_once_however_often_it_starts(knowing):
    told = recorded("copilot", "sessionStart", knowing)
    assert "SQLite" in hook(knowing, "sessionStart", "copilot", told).stdout
    assert hook(knowing, "sessionStart", "copilot", told | {"timestamp": 1}).stdout == ""
    assert (
        "SQLite" in hook(knowing, "sessionStart", "copilot", told | {"sessionId": "another"}).stdout
    )


@pytest.mark.parametrize("as_file", [True, False])
@pytest.mark.parametrize("off", ["guard", "variable", "file", "settings", "no vault"])
def test_it_can_be_switched_off(off, as_file, knowing, tmp_path):
    more = {"guard": {"CORTEX_HOOK": "1"}, "variable": {"CORTEX_OFF": "1"}}.get(off, {})
    if off == "file":
        (knowing / ".cortex-off").touch()
    if off == "settings":
        (knowing / "vault/cortex.toml").write_text("format = 1\n[hooks]\nenabled = false\n")
    here = knowing
    if off == "no vault":
        here = tmp_path
        (tmp_path / "vault").rename(tmp_path / "no-vault")  # the fixture's own
    for event, fields in (
        ("session-start", {}),
        ("user-prompt-submit", {"prompt": "Why SQLite for sessions?"}),
        ("stop", {"last_assistant_message": "x"}),
    ):
        done = hook(here, event, "claude", claude(here, **fields), as_file=as_file, **more)
        assert (done.stdout, done.stderr) == ("", "")
    assert (
        hook(
            here, "stop", "codex", claude(here, last_assistant_message="x"), as_file=as_file, **more
        ).stdout
        == "{}\n"
    )
    assert not events(knowing, "stop")


DEEP = b'{"a": ' + b'{"b": ' * 100_000 + b"1" + b"}" * 100_000
BAD = {
    "nothing": b"", "blanks": b" \n", "no JSON": b"hello", "a list": b"[1, 2]", "null": b"null", "a number": b"1" * 6000, "NUL": b"\0" * 100,
    "cut": b'{"session_id": "s", "cwd": "', "wrong types": b'{"session_id": 7, "cwd": {}, "transcript_path": [], "last_assistant_message": 1.5, "prompt": null}',
    "no UTF-8": b'{"session_id": "\xff\xfe", "last_assistant_message": "\xc3("}', "deep": DEEP + b"}", "deep and cut": DEEP[:300_000],
    "half a pair": b'{"session_id": "\\ud800", "cwd": "\\udc80", "source": "\\ud83d"}', "a NUL in a path": b'{"cwd": "/\\u0000", "transcript_path": "/t\\u0000"}',
}  # fmt: skip


@pytest.mark.parametrize("event", EVENTS)
def test_bad_input_is_no_news(event, project):
    for host in ("claude", "codex", "gemini"):
        nothing = (
            "{}\n"
            if host == "gemini" or (host == "codex" and event in ("stop", "subagent-stop"))
            else ""
        )
        for data in (
            BAD.values()
            if host == "claude" and event in ("stop", "user-prompt-submit")
            else (b"", b"hello", BAD["wrong types"])
        ):
            done = hook(project, event, host, data)
            if event == "session-start":
                told = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
                assert (told, done.stderr) == (CONTRACT, "")
            else:
                assert (done.stdout, done.stderr) == (nothing, "")
    assert len(events(project)) <= 1  # a message that is no UTF-8 is still one


@pytest.mark.parametrize(("data", "text"), [
    (b'\xef\xbb\xbf{"last_assistant_message": "kept"}', "kept"),
    ('{"last_assistant_message": "kept"}'.encode("utf-16"), "kept"),
    (b'{"last_assistant_message": "kept", "later": {"a": [1, "b', "kept"),
    (b'{"a": {"x": ["}"]}, "b": null, "last_assistant_message": "kept by ha', "kept by"),
    (b'{"last_assistant_message": "line\\nkept \\u00', "line\nkept"),
    (b'{"last_assistant_message": "a\x01b"}', "a\x01b"),
])  # fmt: skip
def test_what_a_broken_payload_tells_is_kept(data, text):
    assert payloads.parse_json(data).get("last_assistant_message") == text


def test_a_cut_text_without_a_blank_says_nothing():
    """It may be the first half of a secret."""
    assert payloads.parse_json(b'{"prompt": "ghp_abcdef') == {"prompt": ""}


def test_a_message_of_fifty_megabytes_is_cut_and_says_so(project):
    text = "Decision: keep it. " + "many words here " * 3_300_000
    for _ in range(5):  # a busy machine may be too slow for the hook's limit, but not each time
        started = os.times().children_user
        hook(project, "stop", "claude", claude(project, last_assistant_message=text))
        assert os.times().children_user - started < 10
        if events(project):
            break
    (kept,) = events(project)
    # In the middle by us, at the end where the host told more than is read.
    assert kept.count("(cut here: ") == 2
    assert kept.startswith("Decision: keep it. many words")
    assert "(cut here: " in kept[-100:]
    assert 900_000 < len(kept) <= 1_000_000


def test_a_host_that_never_closes_is_not_waited_for(project):
    def seconds(data: bytes) -> float:
        started = time.monotonic()
        line = [sys.executable, "-I", "-S", FILE, "stop", "--host", "claude"]
        with subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=project
        ) as process:
            process.stdin.write(data)
            process.stdin.flush()
            assert process.wait(60) == 0
        return time.monotonic() - started

    for data, most in (
        (json.dumps(claude(project, last_assistant_message="Heard.")).encode(), 1.5),
        (b'{"session_id": ', 4.0),
    ):
        # A busy machine may be slow, but not each time.
        assert any(seconds(data) < most for _ in range(5))
    assert set(events(project)) == {"Heard."}


@pytest.mark.parametrize(
    "there", ["gone", "a folder", "a pipe", "no transcript", "a link to nothing"]
)
def test_a_transcript_that_cannot_be_read_stops_nothing(there, project):
    path = project / "t.jsonl"
    if there == "a folder":
        path.mkdir()
    elif there == "a pipe":
        os.mkfifo(path)
    elif there == "no transcript":
        path.write_bytes(b"\0\xff{{{\n" * 1000)
    elif there == "a link to nothing":
        path.symlink_to(project / "nowhere")
    hook(project, "stop", "claude", claude(project, last_assistant_message="Heard."))
    assert events(project) == ["Heard."]


def test_a_transcript_that_was_written_anew_is_captured_once(project):
    path = project / "t.jsonl"
    path.write_text(transcript_of("One.", "Two.", "Three."))
    hook(project, "stop", "claude", claude(project))
    path.write_text(transcript_of("One."))  # it shrank
    hook(project, "stop", "claude", claude(project))
    path.write_text(
        transcript_of("One.", "Two.") + transcript_of("Four.").replace("10:00", "11:00")
    )
    hook(project, "stop", "claude", claude(project))
    assert events(project) == ["One.\n\nTwo.\n\nThree.", "Four."]


def test_a_long_transcript_is_taken_in_parts_the_rest_by_whoever_reads(project, cortex):
    words = [f"Part {number}: " + "much was said here. " * 50 for number in range(1_000)]
    (project / "t.jsonl").write_text(transcript_of(*words))  # 1.2 MB
    hook(project, "stop", "claude", claude(project, last_assistant_message=words[-1]))
    assert 0 < len("".join(events(project))) < 600_000
    assert session_state.load_cursor(
        Vault(str(project / "vault")), session_state.session_key("claude", SESSION)
    ).behind
    assert cortex("search", "nothing-of-this", cwd=str(project)).returncode == 1
    assert not any(spool.list_entries(Vault(str(project / "vault")))[::2])
    kept = "".join(path.read_text() for path in (project / "vault/events").rglob("*.md"))
    assert [kept.count(f"Part {number}: ") for number in range(1_000)] == [1] * 1_000


@pytest.mark.parametrize("event", ["user-prompt-submit", "post-compact", "stop", "session-start"])
def test_names_that_a_host_gives_are_harmless(event, project, git):
    git(project, "checkout", "-q", "-b", "x`$(id)`#{y}")
    told = claude(
        project, session_id="a\nid: other\n---\x1b[2J\u202e", source="\x07", agent_id="../../..", prompt="[MEMORY] note this", compact_summary="# s\n---\nid: z",
        last_assistant_message="---\nid: evil\n---\n\n## Raw Content\n\nx",
    )  # fmt: skip
    hook(project, event, "claude", told)
    hook(project, "stop", "claude", told)
    for path in (project / "vault").rglob("*.md"):
        head = path.read_text().split("\n---\n")[0]
        assert head.count("\nid:") == 1
        assert "\x1b" not in head
        assert "\u202e" not in head
        assert f"id: {path.stem}" in head


def test_project_and_branch_are_those_of_the_directory_that_the_host_names(project, git, tmp_path):
    git(project, "checkout", "-q", "-b", "feature")
    (project / "src").mkdir()
    elsewhere = {"CORTEX_VAULT": str(project / "vault")}
    done = hook(
        tmp_path,
        "stop",
        "claude",
        claude(project, cwd=str(project / "src"), last_assistant_message="In src."),
        as_file=False,
        **elsewhere,
    )
    assert done.stderr == ""
    (note,) = notes(project)
    assert "\nproject: shop\nbranch: feature\n" in note.read_text()


def asked_by_hand(*words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "cortex", "hook", *words]
    return subprocess.run(line, input="{}", capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["stop"], "no host ''"), (["stop", "--host"], "no host ''"), (["stop", "--host", "emacs\x1b[2J"], "no host 'emacs"), (["dance", "--host", "claude"], "no event 'dance'"),
        (["--host=claude"], "no event ''"),
    ],
)  # fmt: skip
def test_an_unknown_event_or_host_is_said_and_stops_nothing(words, complaint, project):
    done = asked_by_hand(*words)
    assert (done.returncode, done.stdout) == (0, "")
    assert complaint in done.stderr
    assert "\x1b" not in done.stderr


def test_help_explains_it_with_an_example_that_works(project):
    for words in (["--help"], ["stop", "-h"], []):
        done = asked_by_hand(*words)
        assert all(word in done.stdout for word in (*HOST_NAMES, *EVENTS))
    example = done.stdout.partition("Example: ")[2].replace(
        "cortex hook", f"{sys.executable} -m cortex hook"
    )
    subprocess.run(["bash", "-c", example], cwd=project, timeout=30, check=True)
    assert events(project, "stop") == ["Decision: use SQLite."]


def test_the_log_says_when_each_hook_ran_last_and_nothing_of_what_was_told(project):
    vault = Vault(str(project / "vault"))
    hook(project, "Stop", "claude", claude(project, last_assistant_message="Quite unheard of."))
    hook(project, "AfterAgent", "gemini", claude(project, prompt_response="Quite unheard of."))
    last = hook_log.last_runs(vault)
    assert set(last) == {("claude", "stop"), ("gemini", "stop")}
    assert all(
        ran.at.startswith("20") and 0 < ran.ms < 5000 and not ran.problem for ran in last.values()
    )
    assert "unheard" not in Path(vault.state_folder(), hook_log.LOG_FILE).read_text()
    for number in range(3000):
        hook_log.append(vault, "2026-11-20T16:45:12Z", "codex", "stop", number, "no room\t\n" * 20)
    assert sum(path.stat().st_size for path in Path(vault.state_folder()).glob("hooks.*")) < 500_000
    assert hook_log.last_runs(vault)["codex", "stop"].ms == 2999
    assert [one.message for one in hook_log.problems(vault)] == [
        f"stop of codex at 2026-11-20T16:45:12Z: {'no room ' * 19}no room"
    ]


def test_a_decision_at_the_end_of_a_text_that_is_too_long_is_kept(project):
    text = "Decision: keep the head.\n" + "many words here\n" * 200_000 + "Decision: keep the tail."
    hook(project, "stop", "claude", claude(project, last_assistant_message=text))
    (kept,) = events(project)
    assert kept.startswith("Decision: keep the head.\n")
    assert kept.endswith("\nDecision: keep the tail.")
    assert "bytes are left out)\n\nmany words here\n" in kept
    assert len(kept) <= 1_000_000


def test_a_payload_that_is_nested_without_end_takes_no_time():
    for nested in ("[" * 3_900_000, "[" * 100_000 + "[]" * 1_900_000, "[" * 100_000 + '"\\"' * 900_000, "[{" * 100_000 + '"",' * 1_000_000):  # fmt: skip
        with cpu_limit(1.5):  # it takes 0.3 s; sign by sign it was 4
            assert (
                payloads.parse_json(f'{{"session_id": "s", "x":{nested}'.encode())["session_id"]
                == "s"
            )


@pytest.mark.parametrize(
    ("host", "event", "turns", "between", "times"),
    [
        ("codex", "stop", ("1", "2"), False, 2), ("codex", "stop", ("1", "1"), False, 1), ("gemini", "AfterAgent", ("1", "2"), False, 1),
        ("gemini", "AfterAgent", ("1", "2"), True, 2), ("windsurf", "post_cascade_response", ("1", "2"), False, 2), ("claude", "stop", ("", ""), True, 2),
    ],
)  # fmt: skip
def test_the_same_words_in_another_turn_are_news(host, event, turns, between, times, project):
    named = {
        "codex": "turn_id",
        "gemini": "timestamp",
        "windsurf": "execution_id",
        "claude": "prompt_id",
    }[host]
    for number in turns:
        told = {"session_id": "s", "trajectory_id": "s", "cwd": str(project), named: number}
        told |= {"last_assistant_message": "Done.", "prompt_response": "Done."}
        if between:
            hook(project, "user-prompt-submit", host, told | {"prompt": "go on"})
        hook(project, event, host, told | {"tool_info": {"response": "Done."}})
    assert events(project, "stop") == ["Done."] * times


def test_names_in_a_transcript_are_harmless_in_the_event(project):
    names = ["in\u202eside.py", "bell\x07.py", "line\x1b[2J.py"]
    calls = [
        {"type": "tool_use", "id": name, "name": "Write", "input": {"file_path": str(project / name), "content": "x"}}
        for name in names
    ]  # fmt: skip
    about = {"type": "assistant", "uuid": "a", "timestamp": "2026-11-20T10:00:00.000Z"}
    message = {"role": "assistant", "id": "m", "content": calls}
    (project / "t.jsonl").write_text(json.dumps(about | {"message": message}) + "\n")
    hook(project, "stop", "claude", claude(project, last_assistant_message="Written."))
    (text,) = events(project)
    assert "in\\u202eside.py" in text
    assert all(sign.isprintable() or sign == "\n" for sign in text)


def test_copilots_own_transcript_is_read_where_its_hook_tells_no_message(project):
    said = {"messageId": "m1", "content": "Decision: use SQLite."}
    line = {"type": "assistant.message", "id": "e1", "timestamp": "2026-11-20T10:00:00.000Z", "data": said}  # fmt: skip
    (project / "chat.json").write_text(json.dumps(line) + "\n")
    hook(project, "agentStop", "copilot", recorded("copilot", "agentStop", project))
    assert events(project, "stop") == ["Decision: use SQLite."]


def test_a_turn_that_cannot_be_captured_is_said(project, cortex):
    told = {"session_id": "g", "cwd": str(project), "transcript_path": str(project / "chat.json")}
    assert hook(project, "AfterAgent", "gemini", told).stdout == "{}\n"
    assert events(project) == []
    said_by_doctor = cortex("doctor", cwd=str(project)).stdout
    assert (
        said_by_doctor.count(
            "transcripts of gemini cannot be read, and no message came with the event"
        )
        == 1
    )
    hook(project, "AfterAgent", "gemini", told | {"prompt_response": "Here it is."})
    assert "cannot be read" not in cortex("doctor", cwd=str(project)).stdout


def test_doctor_says_what_failed_and_where_but_nothing_of_what_was_told(project, cortex):
    vault = Vault(str(project / "vault"))
    folder = Path(vault.state_folder()) / spool.SPOOL_FOLDER
    folder.write_text("no folder")
    hook(project, "stop", "claude", claude(project, last_assistant_message="Quite unheard of."))
    (problem,) = hook_log.problems(vault) or [Problem("", "")]
    assert problem.message == "" or (
        "stop of claude" in problem.message and "CortexError" not in problem.message
    )
    assert events(project) == ["Quite unheard of."]  # the vault itself has room
    (project / "vault/inbox/pending").rename(project / "aside")
    (project / "vault/inbox/pending").write_text("no folder either")
    hook(project, "stop", "claude", claude(project, last_assistant_message="Unheard of as well."))
    (problem,) = hook_log.problems(vault)
    assert "inbox/pending" in problem.message
    assert "nheard" not in problem.message + problem.hint
    assert "CortexError" not in problem.message


def test_without_a_state_folder_what_is_told_goes_to_the_vault(project, tmp_path):
    (tmp_path / "no-folder").touch()
    for event, fields in (
        ("user-prompt-submit", {"prompt": "[MEMORY] one"}), ("stop", {"last_assistant_message": "Two."}), ("post-compact", {"compact_summary": "Three."}),
        ("session-end", {}),
    ):  # fmt: skip
        done = hook(
            project,
            event,
            "claude",
            claude(project, **fields),
            XDG_STATE_HOME=str(tmp_path / "no-folder"),
        )
        assert done.stderr.startswith("cortex hook: ")
    assert sorted(events(project)) == ["Three.", "Two.", "[MEMORY] one"]


def test_an_event_that_we_do_not_know_is_answered_as_the_host_wants_it(project):
    for host, answered in (("gemini", "{}\n"), ("claude", "")):
        assert hook(project, "BeforeModel", host, {}).stdout == answered


def test_a_session_starts_in_time_though_the_watcher_does_not_answer():
    assert (
        protocol.CONNECT_SECONDS + protocol.SESSION_START_SECONDS
        < run._TIMEOUT_SECONDS_BY_EVENT["session-start"] / 2
    )


OTHER = "0199c4f2-7d1e-7c60-9d55-3e0f5a1b2c3e"


def told_by(session: str, *texts: str, at: str = "10:00") -> str:
    """A part of a transcript whose lines name this session."""
    return transcript_of(*texts).replace(SESSION, session).replace("10:00", at)


def sessions(project: Path) -> list[tuple[str, str]]:
    """The session and the text of each turn that was captured, by session, and in each session in their order: two sessions' events of
    the same second have none."""
    found = [path.read_text() for path in notes(project)]
    turns = [
        (
            "A"
            if f'session: "{SESSION}"' in text
            else "B"
            if f'session: "{OTHER}"' in text
            else "?",
            text.partition("## Raw Content\n\n")[2].strip(),
        )
        for text in found
        if "\ntype: stop" in text
    ]
    return sorted(turns, key=lambda turn: turn[0])


HOW = ["written anew", "written anew and longer", "continued", "moved away", "after its session was told to end"]  # fmt: skip
FIRST = ["a hook of the new session", "a command", "a late hook of the old session"]


@pytest.mark.parametrize(
    ("how", "first"),
    [
        (how, FIRST[(at + number) % 3])
        for at, how in enumerate(HOW)
        for number in range(3 if SOAK else 1)
    ],
)
def test_a_transcript_path_that_another_session_uses_again_is_not_captured_under_the_old_one(
    how, first, project, cortex
):
    path = project / "t.jsonl"
    path.write_text(told_by(SESSION, "Said in A."))
    hook(project, "session-start", "claude", claude(project, source="startup"))
    hook(project, "stop", "claude", claude(project, last_assistant_message="Said in A."))
    of_b = told_by(
        OTHER,
        *(
            ["Said in B."]
            if how != "written anew and longer"
            else [f"Said in B, part {number}." for number in range(50)]
        ),
        at="11:00",
    )
    if how == "continued":
        path.write_text(path.read_text() + of_b)
    elif how == "moved away":
        path.rename(project / "old.jsonl")
        path.write_text(of_b)
    else:
        if how == "after its session was told to end":
            hook(project, "session-end", "claude", claude(project, reason="clear"))
        path.write_text(of_b)
    other = claude(project, session_id=OTHER)
    if first == "a hook of the new session":
        hook(project, "session-start", "claude", other | {"source": "startup"})
    elif first == "a command":
        assert cortex("search", "said", cwd=str(project)).returncode in (0, 1)
    else:
        hook(project, "session-end", "claude", claude(project, reason="other"))
    hook(project, "stop", "claude", other)
    assert cortex("search", "said", cwd=str(project)).returncode == 0
    captured = sessions(project)
    assert [text for session, text in captured if session == "A"] == ["Said in A."]
    (of_b_captured,) = [text for session, text in captured if session == "B"]
    assert of_b_captured.startswith("Said in B")
    assert "Said in A." not in of_b_captured


def test_a_session_whose_words_the_transcript_never_had_does_not_take_those_of_the_next_one(
    project, cortex
):
    if abs(project.stat().st_mtime - time.time()) > 60:
        pytest.skip(
            "not run: files have another clock than processes (faketime), and a mark made now is years old"
        )
    hook(project, "session-start", "claude", claude(project, source="startup"))
    hook(project, "stop", "claude", claude(project, last_assistant_message="Said in A."))
    hook(project, "session-start", "claude", claude(project, session_id=OTHER, source="startup"))
    (project / "t.jsonl").write_text(told_by(OTHER, "Said in B."))
    assert cortex("search", "said", cwd=str(project)).returncode == 0
    assert sessions(project) == [("A", "Said in A."), ("B", "Said in B.")]


@pytest.mark.parametrize("source", ["resume", "fork", ""])
def test_a_session_that_was_forked_has_the_lines_of_an_older_one_first(source, project):
    """They were captured as the older one's; where nobody captured them, and no start was told, they are the only copy."""
    (project / "t.jsonl").write_text(told_by(SESSION, "Said in A.", "More in A."))
    hook(project, "stop", "claude", claude(project))
    fork = project / "fork.jsonl"
    fork.write_text(told_by(SESSION, "Said in A.", "More in A."))
    other = claude(project, session_id=OTHER, transcript_path=str(fork))
    if source:
        hook(project, "session-start", "claude", other | {"source": source})
    fork.write_text(
        fork.read_text()
        + told_by(OTHER, "Said in B.", at="23:59").replace("2026-11-20", "2099-11-20")
    )
    hook(project, "stop", "claude", other)
    assert sessions(project) == [("A", "Said in A.\n\n* * *\n\nMore in A."), ("B", "Said in B.")]


def test_lines_of_an_older_session_that_nobody_captured_are_kept_with_the_one_that_has_them(
    project,
):
    (project / "t.jsonl").write_text(
        told_by(OTHER, "Said before the hooks.") + told_by(SESSION, "Said in A.", at="11:00")
    )
    hook(project, "stop", "claude", claude(project))
    assert sessions(project) == [("A", "Said before the hooks.\n\n* * *\n\nSaid in A.")]


@pytest.mark.parametrize("session", ["a\x1b[2J\nb", "x" * 300, "token=" + "a1b2c3d4e5f6"])
def test_a_session_whose_name_cannot_be_kept_as_it_is_has_its_lines(session, project):
    for text in ("Said in it.", "More of it."):
        (project / "t.jsonl").write_text(
            told_by("@", "Said in it.", *([text] if text != "Said in it." else [])).replace(
                '"@"', json.dumps(session)
            )
        )
        hook(project, "stop", "claude", claude(project, session_id=session))
    assert events(project, "stop") == ["Said in it.", "More of it."]


def test_no_code_of_a_terminal_is_captured_from_a_transcript_or_a_payload(project, cortex):
    turn = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "\x1b[31mPlease run\x1b[0m the larch job"}},
        {"type": "assistant", "uuid": "a1", "message": {"id": "m1", "role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make larch"}}]}},
        {"type": "user", "uuid": "u2", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "10%\r90%\r\n\x1b[31merror: no \x1b]8;;http://x\x07larch\x1b]8;;\x07"}]}},
        {"type": "assistant", "uuid": "a2", "message": {"id": "m2", "role": "assistant", "content": [{"type": "text", "text": "\x1b[1mDecision:\x1b[0m \x1b[32mpin node 22\x1b[0m, because CI needs it.\r\nspin\rspun"}]}},
    ]  # fmt: skip
    lines = [
        {**line, "sessionId": SESSION, "timestamp": "2026-11-20T10:00:00.000Z"} for line in turn
    ]
    (project / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    hook(project, "stop", "claude", claude(project))
    hook(project, "stop", "claude", {"session_id": "s2", "cwd": str(project), "last_assistant_message": "\x1b[1mGotcha:\x1b[0m larch\x08\x08 lasts\r"})  # fmt: skip
    assert cortex("normalize", cwd=str(project)).returncode == 0
    found = [path.read_text() for path in (project / "vault").rglob("*.md")]
    assert not [text for text in found if "\x1b" in text or "\r" in text or "[32m" in text]
    assert any("# Pin node 22" in text for text in found)
    assert any("error: no larch" in text for text in found)
    assert any("Please run the larch job" in text for text in found)
