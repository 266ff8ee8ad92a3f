"""The watcher's socket: who may come in, and what junk does to it."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from cortex import __version__
from cortex.vault import user_folders
from cortex.watcher import daemon, event_support, file_events, protocol
from cortex.watcher.daemon import SocketServer
from cortex.watcher.file_events import Debouncer
from tests.watcher.conftest import until

VERSION = __version__.encode()


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_fields_come_out_as_they_went_in(fields) -> None:
    data = protocol.encode_message(fields)
    assert protocol.decode_fields(data[4:]) == fields
    assert int.from_bytes(data[:4], "big") == len(data) - 4


@given(
    st.lists(st.binary(max_size=40), min_size=1, max_size=8), st.integers(min_value=1, max_value=10)
)
def test_a_message_that_is_cut_is_none(fields, cut) -> None:
    body = protocol.encode_message(fields)[4:]
    short = protocol.decode_fields(body[:-cut])
    assert short is None or short == fields[: len(short)] != fields


@given(st.binary(max_size=200))
def test_junk_is_a_message_or_none_and_never_an_error(junk) -> None:
    fields = protocol.decode_fields(junk)
    assert fields is None or protocol.encode_message(fields)[4:] == junk


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", os.environ["HOME"])  # shorter than `tmp_path`
    return user_folders.ensure_vault_folder("state", "/v")


@pytest.fixture
def opened(folder):
    """A door behind which every request is answered by its own fields."""
    one = SocketServer(folder, lambda request: [protocol.DONE, *request[1:]])
    yield one
    one.close()


def _knock(folder: str) -> socket.socket:
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(10)
    with protocol.socket_path(folder) as path:
        link.connect(path)
    return link


def test_it_is_open_to_its_owner_alone(folder, opened) -> None:
    assert stat.S_IMODE(os.lstat(f"{folder}/watch.sock").st_mode) == 0o600
    assert stat.S_IMODE(os.lstat(folder).st_mode) == 0o700
    assert protocol.exchange("/v", [b"hello", b""], 1, 1) == [protocol.DONE, b"hello", b""]


@pytest.mark.parametrize("name", [protocol.SOCKET_NAME, f"{protocol.SOCKET_NAME}.new"])
@pytest.mark.parametrize("held", [[], ["kept"]])
def test_a_folder_in_its_place_is_moved_out_of_the_way(folder, name, held) -> None:
    for path in (os.path.join(folder, name, below) for below in ("", *held)):
        os.mkdir(path)
    one = SocketServer(folder, lambda request: [protocol.DONE, *request[1:]])
    try:
        assert one.is_valid()
    finally:
        one.close()


def test_another_user_is_sent_away(folder, opened) -> None:
    if os.geteuid():
        pytest.skip("not run: only root can be somebody else")
    os.chmod(folder, 0o711)
    os.chmod(f"{folder}/watch.sock", 0o666)
    above = folder
    while (above := os.path.dirname(above)) != "/":
        os.chmod(above, os.stat(above).st_mode | 0o011)
    code = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1]);"
        " s.sendall(bytes.fromhex(sys.argv[2])); print(s.recv(100))"
    )
    words = [sys.executable, "-c", code, f"{folder}/watch.sock", protocol.encode_message([VERSION, b"x"]).hex()]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (
        done.stdout == "b''\n"
        or "ConnectionResetError" in done.stderr
        or "BrokenPipeError" in done.stderr
    )
    assert protocol.exchange("/v", [b"x"], 1, 1) == [protocol.DONE, b"x"]


@pytest.mark.parametrize(
    "junk",
    [b"", b"\0", b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\xff", b"\0\0\0\x05\0\0\xff\xffx", b"\0\1\0\1" + bytes(70_000)],
)  # fmt: skip
def test_junk_is_not_answered_and_hurts_nobody(folder, opened, junk) -> None:
    with _knock(folder) as link:
        try:
            link.sendall(junk)
            link.shutdown(socket.SHUT_WR)
            answer = link.recv(100)
        except OSError:
            answer = b""  # it hung up before all of it came
        assert answer in (b"", protocol.ALIVE)
    assert protocol.exchange("/v", [b"x"], 1, 1) == [protocol.DONE, b"x"]


def test_who_hangs_keeps_nobody_waiting(folder, opened, monkeypatch) -> None:
    monkeypatch.setattr(daemon, "_REQUEST_TIMEOUT_SECONDS", 0.5)
    hanging = [_knock(folder) for _ in range(7)]
    for link in hanging:
        link.sendall(b"\0\0")
    assert protocol.exchange("/v", [b"x"], 1, 1) == [protocol.DONE, b"x"]
    hanging += [_knock(folder) for _ in range(8)]
    until(lambda: protocol.exchange("/v", [b"x"], 1, 1) == [protocol.DONE, b"x"], 5)
    for link in hanging:
        link.close()


def test_an_answer_that_is_too_long_is_declined(folder, monkeypatch) -> None:
    one = SocketServer(folder, lambda request: [protocol.DONE, bytes(protocol.MAX_ANSWER_BYTES)])
    try:
        assert protocol.exchange("/v", [b"x"], 1, 5) == [protocol.DECLINED]
    finally:
        one.close()


@pytest.mark.parametrize("sent", [b"", b"-", b"+", b"+\0\0", b"+\0\0\1\0abc", b"+\xff\xff\xff\xff"])
def test_an_answer_that_is_cut_is_none(folder, sent) -> None:
    """The watcher died in the middle of it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/watch.sock")
        listener.listen()

        def die() -> None:
            link, _ = listener.accept()
            with link:
                link.recv(1000)
                link.sendall(sent)

        thread = threading.Thread(target=die)
        thread.start()
        assert protocol.exchange("/v", [b"x"], 1, 1) is None
        thread.join()


def test_a_watcher_that_is_stopped_is_not_waited_for(folder) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/watch.sock")
        listener.listen()
        started = time.monotonic()
        assert protocol.exchange("/v", [b"x"], 0.2, 10) is None
        assert time.monotonic() - started < 8


def test_a_folder_that_others_may_write_into_is_not_trusted(folder, opened) -> None:
    os.chmod(folder, 0o777)
    from cortex.core.model.problem import InvalidInputError

    with pytest.raises(InvalidInputError):
        protocol.exchange("/v", [b"x"], 1, 1)


@pytest.mark.parametrize("descriptors", ["/proc/self/fd", "/nowhere"])
def test_a_path_too_long_for_a_socket_is_reached_another_way(tmp_path, descriptors) -> None:
    deep = tmp_path.joinpath(*["deep" * 20] * 3)
    deep.mkdir(parents=True)
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as link:
        with protocol.socket_path(str(deep), "s", descriptors) as path:
            assert len(path) < 100
            listener.bind(path)
        listener.listen()
        with protocol.socket_path(str(deep), "s", descriptors) as path:
            link.connect(path)
    assert os.getcwd() == here


MOUNTS = """\
1 0 8:1 / / rw - ext4 /dev/sda rw
2 1 0:2 / /home rw,relatime shared:1 - nfs4 host:/home rw
3 1 0:3 / /home/me/my\\040drive rw - fuse.sshfs me@host: rw
4 1 0:4 / /home/me/local rw master:2 propagate_from:1 - tmpfs tmpfs rw
5 1 0:5 / /mnt rw - ext4 /dev/sdb rw
6 5 0:6 / /mnt rw - cifs //host/share rw
7 1 0:7 / /homework rw - xfs /dev/sdc rw
junk
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v", "ext4"), ("/home/me", "nfs4"), ("/home/me/my drive/v", "fuse.sshfs"), ("/home/me/local", "tmpfs"), ("/mnt/v", "cifs"),
        ("/homework/v", "xfs"), ("/home/me/localize", "nfs4"), ("/", "ext4"),
    ],
)  # fmt: skip
def test_the_nearest_and_last_mount_says_the_kind(path, kind, tmp_path) -> None:
    assert event_support.file_system_type(path, MOUNTS) == kind
    (tmp_path / "mountinfo").write_text(MOUNTS)
    assert event_support.remote_file_system(path, str(tmp_path / "mountinfo")) == (
        kind if kind in ("nfs4", "cifs", "fuse.sshfs") else ""
    )


def test_hints_wait_for_quiet_but_not_for_ever(monkeypatch) -> None:
    now = 1000.0
    monkeypatch.setattr(file_events, "time", SimpleNamespace(monotonic=lambda: now))
    trigger = Debouncer()
    assert trigger.due_at() is None
    trigger.notify()
    assert trigger.due_at() == 1000.0 + trigger.quiet
    while (due := trigger.due_at()) > now:
        now += trigger.quiet / 2
        trigger.notify()
    assert due == 1000.0 + trigger.longest
    trigger.clear()
    assert trigger.due_at() is None
