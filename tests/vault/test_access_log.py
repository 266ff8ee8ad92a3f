"""The log of use: every mark counts once, whatever happens to the file, and nothing of it is in the vault."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.caller import Caller
from cortex.core.text.iso_time import epoch_seconds
from cortex.vault.locate import Vault
from cortex.vault.state import access_log
from cortex.vault.state.access_log import AccessCount

THEN = 1_795_193_112  # 2026-11-20T16:45:12Z


@pytest.fixture
def log(vault: Vault) -> Path:
    return Path(vault.state_folder(), access_log.LOG_FILE)


def test_a_mark_is_counted_with_its_time(vault: Vault, caller: Caller) -> None:
    access_log.append(vault, caller, "search", ["a", "b"])
    access_log.append(vault, caller._replace(now="2026-11-21T00:00:00Z"), "show", ["a"])
    assert access_log.read_counts(vault) == {
        "a": AccessCount(2, THEN + 26_088),
        "b": AccessCount(1, THEN),
    }


def test_what_was_put_before_a_session_unasked_is_logged_and_is_no_use(
    vault: Vault, caller: Caller, log: Path
) -> None:
    access_log.append(vault, caller._replace(source="hook"), "context", ["a"])
    access_log.append(vault, caller, "brief", ["a"])
    assert access_log.read_counts(vault) == {}
    assert log.read_text().count("\ta\t") == 2


def test_nothing_marks_nothing(vault: Vault, caller: Caller, log: Path) -> None:
    access_log.append(vault, caller, "search", [])
    access_log.append(vault, caller, "search", ["", "x" * 5000])
    assert not log.exists()
    assert access_log.read_counts(vault) == {}


def test_the_log_is_private_and_outside_the_vault(vault: Vault, caller: Caller, log: Path) -> None:
    access_log.append(vault, caller, "show", ["a"])
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert not log.resolve().is_relative_to(vault.root)
    assert log.read_text().split() == [str(THEN), "show", "test", "a"]


def test_a_name_with_a_tab_or_a_line_end_is_not_counted_and_spoils_no_other(
    vault: Vault, caller: Caller
) -> None:
    access_log.append(vault, caller, "show", ["a\tb", "a\nb", "other"])
    assert [*access_log.read_counts(vault)] == ["other"]


@pytest.mark.parametrize("id_", ["notes/My day.md", "100%", "%09", "é", "\udc80", "a\r"])
def test_any_id_comes_back(vault: Vault, caller: Caller, id_: str) -> None:
    access_log.append(vault, caller, "show", [id_, "other"])
    (_, one), (_, other) = access_log.read_counts(vault).items()
    assert one.count == other.count == 1
    if id_ != "\udc80":  # which the catalogue shows as an escape
        assert id_ in access_log.read_counts(vault)


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31)))
def test_seconds_are_those_of_the_calendar(when: datetime) -> None:
    when = when.replace(microsecond=0)
    assert epoch_seconds(f"{when.isoformat()}Z") == int(
        (when - datetime(1970, 1, 1)).total_seconds()
    )


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-20", "2026-1-2T3:4:5Z"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert epoch_seconds(text) == 0


@pytest.mark.parametrize(("written", "kept"), [
    (f"\n{THEN}\tshow\tcli\ta\tb", {}),  # cut off by a full disk, perhaps within an id
    (f"\n{THEN}\tshow\tcl", {}),
    (f"\n{THEN}\tshow\tcli\ta\t", {"a": AccessCount(1, THEN)}),
    ("\n\n\t\t\t\n", {}),
    ("\nnoon\tshow\tcli\ta\t", {}),
    ("\n99999999999999999999\tshow\tcli\ta\t", {}),
    ("\0" * 4096, {}),
    ("\x80\xff" * 100, {}),
])  # fmt: skip
def test_garbage_in_the_log_counts_nothing_and_spoils_no_other_line(
    vault: Vault, caller: Caller, log: Path, written: str, kept: dict
) -> None:
    log.write_bytes(written.encode("latin-1"))
    access_log.append(vault, caller, "show", ["good"])
    assert access_log.read_counts(vault) == {**kept, "good": AccessCount(1, THEN)}


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"\0" * 999, b"=", b"=\t9", b"=\tx\ta\t1\t2\t", b"=\t9\ta\t1\t", b"=\t9\ta\t1\tNaN\t"],
)  # fmt: skip
def test_garbage_in_the_counts_spoils_no_other_line(
    vault: Vault, caller: Caller, log: Path, data: bytes
) -> None:
    log.write_bytes(data)
    access_log.append(vault, caller, "show", ["good"])
    assert access_log.read_counts(vault)["good"] == AccessCount(1, THEN)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_lies_in_the_place_of_the_log_is_left_alone(
    vault: Vault, caller: Caller, log: Path, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "target").write_text("")
    {
        "link": lambda: log.symlink_to(tmp_path / "target"),
        "pipe": lambda: os.mkfifo(log),
    }[kind]()
    access_log.append(vault, caller, "show", ["a"])
    assert access_log.read_counts(vault) == {}
    assert (tmp_path / "target").read_text() == ""


def test_a_state_folder_that_takes_no_mark_stops_nobody(
    vault: Vault, caller: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    access_log.append(vault, caller, "show", ["a"])
    assert access_log.read_counts(vault) == {}


def test_a_large_log_is_compacted_and_counts_the_same(
    vault: Vault, caller: Caller, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "_MAX_LOG_BYTES", 2000)
    wanted: dict[str, int] = {}
    for number in range(500):
        ids = [f"note {number % 7}%", f"note-{number % 11}"]
        access_log.append(vault, caller, "show", ids)
        for id_ in ids:
            wanted[id_] = wanted.get(id_, 0) + 1
        if number % 50 == 0:
            assert {id_: one.count for id_, one in access_log.read_counts(vault).items()} == wanted
    assert log.stat().st_size < 3000
    assert {id_: one.count for id_, one in access_log.read_counts(vault).items()} == wanted
    state = Path(vault.state_folder())
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert [path.name for path in state.glob("access*")] == ["access.log"]


@pytest.mark.parametrize("stage", ["before the new log", "after it"])
def test_a_compaction_that_ends_half_way_loses_nothing_and_counts_nothing_twice(
    vault: Vault, caller: Caller, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    for _ in range(100):
        access_log.append(vault, caller, "show", ["a"])

    class Killed(BaseException):
        pass

    replace = access_log.private.replace

    def die(*words: object, **more: object) -> None:
        if stage == "after it":
            replace(*words, **more)  # type: ignore[arg-type]
        raise Killed

    monkeypatch.setattr(access_log, "_MAX_LOG_BYTES", 100)
    with monkeypatch.context() as broken:
        broken.setattr(access_log.private, "replace", die)
        with pytest.raises(Killed):
            access_log.append(vault, caller, "show", ["a"])
    assert access_log.read_counts(vault)["a"].count == 101
    for number in range(102, 140):
        access_log.append(vault, caller, "show", ["a"])
        assert access_log.read_counts(vault)["a"].count == number


def test_a_compaction_waits_for_who_is_writing(
    vault: Vault, caller: Caller, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access_log.append(vault, caller, "show", ["a"])
    monkeypatch.setattr(access_log, "_MAX_LOG_BYTES", 10)
    with log.open("ab") as writing:
        fcntl.flock(writing, fcntl.LOCK_SH)
        other = Thread(target=access_log.append, args=(vault, caller, "show", ["a"]))
        other.start()
        time.sleep(0.2)
        assert other.is_alive()
        writing.write(f"\n{THEN}\tshow\tcli\ta\t".encode())
    other.join()
    assert log.read_text() == f"=\t15\ta\t3\t{THEN}\t"
    assert access_log.read_counts(vault)["a"].count == 3


MARKER = """
import sys
from cortex.core.model.caller import Caller, no_progress
from cortex.vault.state import access_log as access
from cortex.vault.locate import Vault
access._MAX_LOG_BYTES = 20_000
vault, name, number = Vault(sys.argv[1]), sys.argv[2], int(sys.argv[3])
caller = Caller("/", "2026-11-20T16:45:12Z", bytes, "cli", no_progress)
for _ in range(number):
    access.append(vault, caller, "show", ["shared", name])
    if number > 10_000:
        print(_ + 1, flush=True)
"""


def marker(vault: Vault, name: str, number: int) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", MARKER, vault.root, name, str(number)], stdout=subprocess.PIPE
    )


def test_many_processes_mark_at_once_while_the_log_is_compacted(vault: Vault) -> None:
    many = [marker(vault, f"p{number}", 2000) for number in range(4)]
    seen = 0
    while any(one.poll() is None for one in many):
        now = access_log.read_counts(vault).get("shared", AccessCount(0, 0)).count
        assert now >= seen
        seen = now
        time.sleep(0.02)
    assert [one.communicate(timeout=30)[0] for one in many] == [b""] * 4
    assert {id_: one.count for id_, one in access_log.read_counts(vault).items()} == {
        "shared": 8000,
        **{f"p{number}": 2000 for number in range(4)},
    }


def test_a_process_that_is_killed_leaves_what_it_marked(vault: Vault) -> None:
    for turn in range(3):
        one = marker(vault, f"p{turn}", 10**9)
        assert one.stdout
        for line in one.stdout:
            if int(line) >= 1500 + 400 * turn:
                break
        one.send_signal(signal.SIGKILL)
        last = int(([line, *one.stdout.read().split()])[-1])
        one.wait()
        one.stdout.close()
        assert access_log.read_counts(vault)[f"p{turn}"].count in (last, last + 1)


def test_marking_needs_the_standard_library_alone() -> None:
    code = "import sys; import cortex.vault.state.access_log; print([m for m in sys.modules if m in ('hashlib', 'sqlite3', 'yaml', 'subprocess')])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
