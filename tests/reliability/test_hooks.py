"""Hooks in bad company: many at once, killed, without room, and with secrets in every field. And what they load."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import termios
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.interfaces.hook import main
from cortex.operations.upkeep import drain_spool
from cortex.vault.locate import Vault
from cortex.vault.state import hook_log, session_state, spool
from tests.conftest import SOAK, commit_all, cpu_limit, run_cortex

FILE = str(Path(main.__file__))
COMMAND = [sys.executable, "-I", "-S", FILE]

# The parts of a secret are put together here, so that no scanner of repositories takes this file for a leak.
S = "s3cr3tV4lu3"
SECRETS = [
    "gh" + "p_" + "a1B2" * 9 + "0000", "github_" + "pat_" + "a1B2" * 10, "gl" + "pat-" + "a1B2c3" * 4, "xo" + "xb-1234567890-" + "a1B2" * 5,
    "sk_" + "live_" + "a1B2" * 6, "wh" + "sec_" + "a1B2" * 8, "sk-" + "ant-" + "a1B2" * 8, "sk-" + "proj-" + "a1B2" * 12, "AI" + "za" + "a1B2c" * 7,
    "ya" + "29." + "a1B2" * 8, "GOC" + "SPX-" + "a1B2" * 7, "npm" + "_" + "a1B2" * 9, "pypi-" + "AgE" + "a1B2" * 15, "h" + "f_" + "a1B2" * 9,
    "SG" + "." + "a1" * 11 + "." + "b2" * 22, "S" + "K" + "0a1b2c3d" * 4, "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.a1B2c3D4e5F6",
    "AK" + "IA" + "ABCDEFGH2345IJKL", f"postgres://user:{S}pg@db.example.org/x", f"password={S}", f"api_key: {S}77", f"<private>{S}</private>",
]  # fmt: skip


@pytest.fixture
def vault(tmp_path, cortex_in) -> Vault:
    """A vault that three projects share."""
    for name in ("one", "two", "three"):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / ".cortex-project").write_text(f"{name}\n")
    cortex_in(tmp_path, "init", "vault")
    return Vault(str(tmp_path / "vault"))


@pytest.fixture
def cortex_in():
    return lambda cwd, *words: run_cortex(*words, cwd=cwd)


def payload(folder: Path, session: str = "s", **more: Any) -> dict[str, Any]:
    """What a host tells of a session in the project `one` below the folder."""
    return {"session_id": session, "cwd": str(folder / "one")} | more


def started(event: str, told: dict[str, Any], cwd: Path, **how: Any) -> subprocess.Popen[bytes]:
    command = [*COMMAND, event, "--host", "claude"]
    process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=cwd, **how)
    process.stdin.write(json.dumps(told).encode())
    process.stdin.close()
    return process


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    with process:
        return process.wait(60), process.stdout.read(), process.stderr.read()


def called(event: str, told: dict[str, Any], cwd: Path, **how: Any) -> tuple[int, bytes, bytes]:
    return ended(started(event, told, cwd, **how))


def transcript_line(text: str, number: int = 0) -> str:
    message = {"role": "assistant", "id": text[:60], "content": [{"type": "text", "text": text}]}
    moment = f"2026-11-20T10:{number // 60:02}:{number % 60:02}.000Z"
    line = {"type": "assistant", "uuid": text[:60], "timestamp": moment, "message": message}
    return f"{json.dumps(line)}\n"


def without_inbox(vault: Vault) -> Callable[[], object]:
    """Take the vault's inbox away; what is given back puts it there again."""
    inbox, aside = Path(vault.root, "inbox"), Path(vault.root, "..", "inbox-aside")
    inbox.rename(aside) if inbox.exists() else aside.mkdir()
    inbox.write_text("no folder\n")
    return lambda: (inbox.unlink(), aside.rename(inbox))


def notes(vault: Vault, kind: str) -> list[str]:
    """The events of one type, in their order."""
    paths = [*Path(vault.root, "inbox").rglob("*.md"), *Path(vault.root, "events").rglob("*.md")]
    texts = (path.read_text() for path in sorted(paths, key=lambda path: path.name))
    return [text for text in texts if f"\ntype: {kind}\n" in text]


def raw_contents(notes: list[str]) -> str:
    return "\n\n".join(text.partition("## Raw Content\n\n")[2].strip() for text in notes)


def test_fifty_hooks_at_once_lose_nothing_and_mix_up_nothing(vault, tmp_path):
    sessions = {"s0": "one", "s1": "one", "s2": "two", "s3": "three", "s4": "three"}
    running = []
    for number in range(10):
        for session, project in sessions.items():
            transcript = tmp_path / f"{session}.jsonl"
            with transcript.open("a") as file:
                file.write(transcript_line(f"{session} did step {number}", number))
            place = {"transcript_path": str(transcript), "cwd": str(tmp_path / project / "src")}
            said = {"session_id": session, "last_assistant_message": f"{session} did step {number}"}
            running.append(started("stop", place | said, tmp_path))
    assert [ended(process) for process in running] == [(0, b"", b"")] * 50
    for session, project in sessions.items():  # what a hook has left for the next one
        place = {"cwd": str(tmp_path / project), "session_id": session}
        path = str(tmp_path / f"{session}.jsonl")
        called("session-end", place | {"transcript_path": path}, tmp_path)
    told = notes(vault, "stop")
    counted = Counter(re.findall(r"s\d did step \d", raw_contents(told)))
    assert counted == {
        f"{session} did step {number}": 1 for session in sessions for number in range(10)
    }
    for note in told:
        session = re.search(r"\nsession: (.*)\n", note)[1]
        assert f"\nproject: {sessions[session]}\n" in note
        assert set(re.findall(r"(s\d) did", note)) == {session}
    assert len(notes(vault, "session_end")) == 5
    assert not drain_spool.has_spooled_work(vault, at_once=True)


def test_a_session_that_ends_twice_at_once_ends_once(vault, tmp_path):
    told = payload(tmp_path, last_assistant_message="x")
    called("stop", told, tmp_path)
    for process in [started("session-end", told | {"reason": "other"}, tmp_path) for _ in range(4)]:
        assert ended(process)[0] == 0
    assert len(notes(vault, "session_end")) == 1


def test_hooks_that_are_killed_lose_nothing_and_repeat_nothing(vault, tmp_path, cortex_in):
    turns = 60 if SOAK else 12
    chance = random.Random(7)
    transcript = tmp_path / "t.jsonl"
    killed = 0
    for number in range(turns):
        text = f"Step {number} is done."
        told = payload(tmp_path, transcript_path=str(transcript), last_assistant_message=text)
        if number % 3:
            with transcript.open("a") as file:
                file.write(transcript_line(text, number))
        process = started("stop", told, tmp_path)
        time.sleep(chance.uniform(0.01, 0.06))
        process.send_signal(signal.SIGKILL)
        killed += ended(process)[0] == -signal.SIGKILL
        if not number % 3:
            with transcript.open("a") as file:
                file.write(transcript_line(text, number))
        if chance.random() < 0.5:
            assert called("stop", told, tmp_path)[0] == 0  # the host, or the person, repeats it
    assert killed > turns // 12
    cortex_in(tmp_path, "search", "step", "--vault", vault.root)  # whoever reads takes what is left
    called("session-end", told, tmp_path)
    counted = Counter(
        int(number)
        for number in re.findall(r"Step (\d+) is done", raw_contents(notes(vault, "stop")))
    )
    assert counted == dict.fromkeys(range(turns), 1)


def test_a_hook_that_has_to_wait_gives_up_in_time_and_leaves_its_work(vault, tmp_path):
    told = payload(tmp_path, transcript_path=str(tmp_path / "t.jsonl"))
    (tmp_path / "t.jsonl").write_text(transcript_line("Said meanwhile."))

    def seconds() -> float:
        begun = time.monotonic()
        assert called("session-end", told, tmp_path) == (0, b"", b"")
        return time.monotonic() - begun

    with session_state.lock_session(vault, session_state.session_key("claude", "s")):
        assert any(
            seconds() < 1.5 for _ in range(5)
        )  # a busy machine may be slow, but not each time
    assert [one.message.partition("Z: ")[2] for one in hook_log.problems(vault)] == [
        "another hook of the session was at work"
    ]
    assert called("session-end", told, tmp_path) == (0, b"", b"")
    assert raw_contents(notes(vault, "stop")) == "Said meanwhile."
    assert hook_log.problems(vault) == []


def unread(pipe: int) -> int:
    """How many bytes of a pipe nobody has read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def test_a_hook_whose_time_is_over_ends_with_what_says_nothing(vault, tmp_path):
    command = [*COMMAND, "session-end", "--host", "gemini"]

    def complaint() -> bytes:
        """What it says when it is stopped for all its time while it reads."""
        with subprocess.Popen(
            command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=tmp_path / "one"
        ) as process:
            process.stdin.write(b"{")
            process.stdin.flush()
            while unread(process.stdin.fileno()):
                time.sleep(0.005)
            process.send_signal(signal.SIGSTOP)
            time.sleep(1.2)
            process.send_signal(signal.SIGCONT)
            assert process.wait(60) == 0
            assert process.stdout.read() == b"{}\n"
            return process.stderr.read()

    # On a busy machine it may have stopped reading before it was stopped itself, but not each time.
    assert any(complaint() == b"cortex hook: was ended after 1.2 seconds\n" for _ in range(5))


def test_without_room_at_all_it_says_so_and_the_next_hook_takes_it(vault, tmp_path):
    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    (tmp_path / "t.jsonl").write_text(transcript_line("Said on a full disk."))
    path, said = str(tmp_path / "t.jsonl"), "And so was this."
    told = payload(tmp_path, transcript_path=path, last_assistant_message=said)
    for event in ("session-start", "user-prompt-submit", "stop", "post-compact", "session-end"):
        code, out, err = called(
            event,
            told | {"prompt": "[MEMORY] x", "compact_summary": "y"},
            tmp_path,
            preexec_fn=full,
        )
        assert (code, out) == (0, b"")
        assert b"File too large" in err or event == "session-end"
        assert err.count(b"\n") <= 1
    assert notes(vault, "stop") == []
    assert not list(Path(vault.root).rglob(".*cx-tmp"))
    assert called("stop", told, tmp_path) == (0, b"", b"")
    assert raw_contents(notes(vault, "stop")) == "Said on a full disk.\n\n* * *\n\nAnd so was this."


def test_what_finds_no_room_in_the_vault_waits_beside_it(vault, tmp_path, cortex_in):
    give_back = without_inbox(vault)
    told = payload(tmp_path, last_assistant_message="Decision: wait here.")
    for _ in range(2):
        assert called("stop", told, tmp_path) == (0, b"", b"")
    assert [one.message for one in hook_log.problems(vault)] == [
        "1 events found no room in the vault and wait beside it"
    ]
    give_back()
    cortex_in(tmp_path, "search", "wait", "--vault", vault.root)
    assert raw_contents(notes(vault, "stop")) == "Decision: wait here."
    assert hook_log.problems(vault) == []


def test_no_secret_is_on_disk_in_any_field(vault, tmp_path, git, cortex_in):
    secret_lines = "\n".join(SECRETS)
    place = tmp_path / "one" / SECRETS[0]
    place.mkdir()
    git(place, "init", "-q")
    (place / ".git/HEAD").write_text(f"ref: refs/heads/{SECRETS[4]}\n")
    with Path(vault.root, "cortex.toml").open("a") as file:
        file.write("\n[hooks]\nprompts = true\n")
    outside = tmp_path.parent / f"{tmp_path.name}-host"
    outside.mkdir()
    transcript = outside / f"{SECRETS[2]}.jsonl"
    command = f"curl -H 'x: {SECRETS[1]}' https://u:{S}pg@example.org"
    run = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}
    file = {"file_path": str(place / f"{SECRETS[6]}.py")}
    edit = {"type": "tool_use", "id": "t2", "name": "Edit", "input": file}
    calls = {"role": "assistant", "id": "c", "content": [run, edit]}
    failed = {"type": "tool_result", "content": f"Exit code 1\n{SECRETS[3]}", "is_error": True}
    answers = {"role": "user", "content": [failed | {"tool_use_id": id_} for id_ in ("t1", "t2")]}
    lines = [
        {"type": "assistant", "uuid": "c", "message": calls},
        {"type": "user", "uuid": "r", "message": answers},
    ]
    at = {"timestamp": "2026-11-20T10:00:00.000Z"}
    text = transcript_line(f"In the transcript: {secret_lines}")
    transcript.write_text(text + "".join(f"{json.dumps(line | at)}\n" for line in lines))
    fields = "prompt last_assistant_message compact_summary source reason trigger agent_id agent_type prompt_id turn_id"
    told = dict.fromkeys(fields.split(), secret_lines) | {"cwd": str(place)}
    told |= dict.fromkeys(("transcript_path", "agent_transcript_path"), str(transcript))
    environment = os.environ | {"CORTEX_VAULT": vault.root}
    for number, event in enumerate(
        "session-start user-prompt-submit stop subagent-stop pre-compact post-compact session-end".split()
    ):
        for secret in (SECRETS[0], SECRETS[number + 3]):
            more = {"session_id": secret, event: secret}
            assert called(event, told | more, place, env=environment)[0] == 0
    assert cortex_in(tmp_path, "search", "transcript", "--vault", vault.root).returncode in (0, 1)
    commit_all(vault.root, "all of it")
    assert len(notes(vault, "stop")) >= 2
    values = [re.sub(r"^.*?(?=s3cr3t)|<.*?>|@.*", "", secret).encode() for secret in SECRETS]
    looked = 0
    for folder in (vault.root, os.environ["HOME"]):
        for path in Path(folder).rglob("*"):
            held = path.read_bytes() if path.is_file() else b""
            if "objects" in path.parts and path.is_file() and "pack" not in path.parts:
                held = subprocess.run(
                    ["git", "cat-file", "-p", path.parent.name + path.name],
                    cwd=vault.root,
                    capture_output=True,
                    check=True,
                ).stdout
            looked += 1
            for value in values:
                assert value not in held, f"{value!r} is in {path}"
                assert value.decode() not in str(path.relative_to(folder))
    assert looked > 50


def test_a_session_that_another_hook_is_at_work_on_is_left_to_whoever_reads(
    vault, tmp_path, cortex_in
):
    (tmp_path / "t.jsonl").write_text(transcript_line("Said at the very end."))
    told = payload(tmp_path, "new", transcript_path=str(tmp_path / "t.jsonl"))
    with session_state.lock_session(
        vault, session_state.session_key("claude", "new")
    ):  # nothing is known of this session yet
        called("session-end", told, tmp_path)
    assert drain_spool.has_spooled_work(vault, at_once=True)
    cortex_in(tmp_path, "search", "end", "--vault", vault.root)
    assert raw_contents(notes(vault, "stop")) == "Said at the very end."
    assert "project: one" in notes(vault, "stop")[0]
    assert not drain_spool.has_spooled_work(vault, at_once=True)
    with session_state.lock_session(
        vault, session_state.session_key("gemini", "g")
    ):  # this host has no transcript to leave
        command = [*COMMAND, "stop", "--host", "gemini"]
        told = json.dumps(payload(tmp_path, "g", prompt_response="Said without a transcript."))
        subprocess.run(
            command,
            input=told,
            text=True,
            cwd=tmp_path,
            capture_output=True,
            timeout=30,
            check=True,
        )
    assert "Said without a transcript." in raw_contents(notes(vault, "stop"))


@pytest.mark.parametrize("reader", ["search", "session-start of another session"])
def test_what_a_transcript_gets_after_the_last_hook_is_captured(reader, vault, tmp_path, cortex_in):
    path = tmp_path / "t.jsonl"
    told = payload(tmp_path, transcript_path=str(path))
    path.write_text(transcript_line("Said in time."))
    called("stop", told, tmp_path)
    half = transcript_line("Written late, and in halves.", 1)
    with path.open("a") as file:
        file.write(half[:40])
    called("session-end", told, tmp_path)
    with path.open("a") as file:
        file.write(half[40:])
    if reader.startswith("session-start"):
        called("session-start", payload(tmp_path, "other", source="startup"), tmp_path)
    else:
        cortex_in(tmp_path, "search", "late", "--vault", vault.root)
    assert raw_contents(notes(vault, "stop")).count("Written late, and in halves.") == 1
    assert raw_contents(notes(vault, "stop")).count("Said in time.") == 1


def test_a_terminal_that_was_closed_loses_nothing_and_a_turn_that_goes_on_is_not_parted(
    vault, tmp_path
):
    caller = Caller(str(tmp_path), "2026-11-20T16:45:12Z", os.urandom, "cli", no_progress)
    path = tmp_path / "t.jsonl"
    told = payload(tmp_path, transcript_path=str(path))
    called("session-start", told | {"source": "startup"}, tmp_path)
    called("user-prompt-submit", told | {"prompt": "go on"}, tmp_path)
    path.write_text(transcript_line("In the middle of a turn."))
    mark = Path(
        spool.mark_path(vault, session_state.session_key("claude", "s"), spool.RECENT_SUFFIX)
    )
    now = time.time()
    os.utime(path, (now, now))
    os.utime(mark, (now, now))
    assert drain_spool.drain_spool(vault, caller) == []
    assert notes(vault, "stop") == []
    os.utime(path, (now - 700, now - 700))
    os.utime(mark, (now - 700, now - 700))
    assert drain_spool.drain_spool(vault, caller) == []
    assert raw_contents(notes(vault, "stop")) == "In the middle of a turn."
    assert len(notes(vault, "session_start")) == 1
    assert not mark.parent.exists()  # nothing waits, nothing is looked at
    assert not drain_spool.has_spooled_work(vault)


def test_looking_for_what_waits_is_cheap(vault, tmp_path):
    caller = Caller(str(tmp_path), "2026-11-20T16:45:12Z", os.urandom, "cli", no_progress)
    for number in range(80):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(transcript_line(f"Said by {number}."))
        key = session_state.session_key("claude", str(number))
        with session_state.lock_session(vault, key) as held:
            held.save(
                session_state.SessionCursor(
                    host="claude",
                    session=str(number),
                    transcript=str(path),
                    root=str(tmp_path),
                    project="one",
                )
            )
            held.mark_recent()
    with cpu_limit(2.0):
        drain_spool.drain_spool(vault, caller)
        drain_spool.drain_spool(vault, caller)
    assert len(notes(vault, "stop")) == 48  # a call takes 24 parts
    assert drain_spool.has_spooled_work(vault)
    # The watcher has no reason to come back at once.
    assert not drain_spool.has_spooled_work(vault, at_once=True)
    for _ in range(2):
        drain_spool.drain_spool(vault, caller)
    assert sorted(re.findall(r"Said by (\d+)", raw_contents(notes(vault, "stop"))), key=int) == [
        str(number) for number in range(80)
    ]


def test_two_who_gather_at_once_report_nothing_and_a_stray_file_is_none_of_ours(vault, tmp_path):
    caller = Caller(str(tmp_path), "2026-11-20T16:45:12Z", os.urandom, "cli", no_progress)
    event = "20261120t164512z-k3f7q2abcd"
    assert spool.add_event(vault, event, b"---\nid: x\n---\n", 5)
    (Path(spool.spool_folder(vault)) / ".DS_Store").touch()
    seen = spool.list_entries(vault).unsent_events
    assert (
        drain_spool.publish_unsent_events(vault, seen)
        == drain_spool.publish_unsent_events(vault, seen)
        == []
    )
    assert Path(vault.root, "inbox/pending", f"{event}.md").is_file()
    assert drain_spool.drain_spool(vault, caller) == []
    assert not drain_spool.has_spooled_work(vault)


@pytest.mark.parametrize("taker", ["normalize", "search", "sync", "hook", "session-start"])
def test_what_waits_beside_the_vault_is_counted_and_taken_by(
    taker, vault, tmp_path, cortex_in, git
):
    give_back = without_inbox(vault)
    told = payload(tmp_path, last_assistant_message="Decision: wait here.")
    called("stop", told, tmp_path)
    give_back()
    assert (
        json.loads(cortex_in(tmp_path, "status", "--json", "--vault", vault.root).stdout)["pending"]
        == 1
    )
    if taker == "sync":
        git(vault.root, "init", "-q")
    if taker == "hook":
        called("user-prompt-submit", told | {"prompt": "hello"}, tmp_path)
    elif taker == "session-start":
        called("session-start", payload(tmp_path, "t"), tmp_path)
    else:
        cortex_in(
            tmp_path, *([taker, "wait"] if taker == "search" else [taker]), "--vault", vault.root
        )
    assert raw_contents(notes(vault, "stop")) == "Decision: wait here."
    assert spool.list_entries(vault).unsent_events == ()


def test_a_line_that_is_too_long_for_a_hook_is_read_by_who_has_time(vault, tmp_path, cortex_in):
    path = tmp_path / "t.jsonl"
    long = "Decision: keep the long one. " + "many words " * 80_000
    path.write_text(
        transcript_line("Before.", 1) + transcript_line(long, 2) + transcript_line("After.", 3)
    )
    told = payload(tmp_path, transcript_path=str(path))
    for _ in range(2):
        called("stop", told, tmp_path)
    assert raw_contents(notes(vault, "stop")) == "Before."
    cortex_in(tmp_path, "search", "words", "--vault", vault.root)
    assert [
        text in raw_contents(notes(vault, "stop"))
        for text in ("Decision: keep the long one.", "After.")
    ] == [True, True]
    assert hook_log.problems(vault) == []
    with path.open("a") as file:
        file.write(transcript_line("x" * 4_500_000, 4) + transcript_line("At last.", 5))
    called("stop", told, tmp_path)
    cortex_in(tmp_path, "search", "words", "--vault", vault.root)
    assert "At last." in raw_contents(notes(vault, "stop"))
    assert (
        "1 line of more than 4 MB in a transcript was left out"
        in cortex_in(tmp_path, "doctor", "--vault", vault.root).stdout
    )
    hook_log.append(
        vault, "2026-01-01T10:00:00Z", "claude", hook_log.TRANSCRIPT_EVENT, 0, "long ago"
    )  # nobody is told for ever
    assert hook_log.problems(vault) == []


FORBIDDEN = [
    "whoosh", "yaml", "frontmatter", "git", "click", "asyncio", "mcp", "markdown_it", "sqlite3", "pathlib", "dataclasses", "inspect", "subprocess", "socket",
    "ssl", "logging", "tempfile", "urllib", "email", "http", "tomllib", "hashlib", "threading", "multiprocessing", "random", "site", "signal", "typing",
]  # fmt: skip
NOT_OURS = [
    "cortex.index", "cortex.core.notes.note", "cortex.index.note_summary", "cortex.core.normalize.handlers", "cortex.core.extract", "cortex.vault.git.git_cli", "cortex.vault.settings",
    "cortex.operations.upkeep.normalize", "cortex.operations.find.search", "cortex.operations.sessions.brief", "cortex.interfaces.cli", "cortex.hosts.codex",
]  # fmt: skip


def test_a_hook_that_captures_loads_next_to_nothing(vault, tmp_path):
    (tmp_path / "t.jsonl").write_text(transcript_line("Something new was said."))
    path = str(tmp_path / "t.jsonl")
    told = payload(tmp_path, transcript_path=path, last_assistant_message="Done.")
    command = [sys.executable, "-I", "-S", "-X", "importtime", FILE, "stop", "--host", "claude"]
    done = subprocess.run(
        command,
        input=json.dumps(told),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = {
        one.rpartition("|")[2].strip()
        for one in done.stderr.splitlines()
        if one.startswith("import time:")
    }
    assert raw_contents(notes(vault, "stop")) == "Something new was said.\n\n* * *\n\nDone."
    assert {
        "cortex.core.redact.secrets",
        "cortex.hosts.tail",
        "cortex.vault.state.session_state",
    } <= loaded
    assert not {
        name
        for name in loaded
        if any(name == one or name.startswith(f"{one}.") for one in (*FORBIDDEN, *NOT_OURS))
    }


def test_what_is_left_of_a_session_twice_is_what_was_left_last(vault: Vault) -> None:
    key = session_state.session_key("claude", "s")
    for cwd in ("/a/long/way/to/the/folder", "/a"):
        session_state.defer_session(
            vault, key, session_state.SessionCursor(host="claude", session="s", cwd=cwd)
        )
    left = session_state.read_deferred(vault, key)
    assert (left.host, left.cwd) == ("claude", "/a")
    assert spool.list_entries(vault).unread_sessions == (key,)
