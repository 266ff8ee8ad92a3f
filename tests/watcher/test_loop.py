"""How a watcher begins, keeps others out, and ends, whatever is done to it or to its vault."""

from __future__ import annotations

import os
import plistlib
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.operations.care.init import init
from cortex.operations.share.units import render_unit
from tests.watcher.conftest import ask_watch, is_fresh, note, until


def test_one_for_each_vault(vault, watch) -> None:
    first = watch().ready()
    second = watch()
    assert second.ended() == 2
    assert f"process {first.process.pid} since" in second.said
    assert first.standing()


def test_it_says_what_it_does_how_it_stands_and_ends_when_told(vault, watch) -> None:
    assert ask_watch(vault, "--status").returncode == 1
    assert ask_watch(vault, "--stop").returncode == 1
    watcher = watch().ready()
    assert f"watching {vault.root}" in watcher.said
    assert "--unit" in watcher.said
    told = ask_watch(vault, "--status")
    assert told.returncode == 0
    assert f"process {watcher.process.pid}, by events" in told.stdout
    stopped = ask_watch(vault, "--stop")
    assert (stopped.returncode, watcher.ended(1)) == (0, 0)
    assert ask_watch(vault, "--status").returncode == 1


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda one: one.name
)
def test_a_signal_ends_it_in_order(vault, watch, number) -> None:
    watcher = watch().ready()
    watcher.signal(number)
    assert watcher.ended() == 0
    assert not os.path.lexists(os.path.join(vault.state_folder(), "watch.sock"))
    assert "Traceback" not in watcher.said


def test_one_that_does_not_answer_is_ended_by_a_signal(vault, watch) -> None:
    watcher = watch().ready()
    os.unlink(os.path.join(vault.state_folder(), "watch.sock"))
    stopped = ask_watch(vault, "--stop").returncode
    # By the signal, or for want of its socket: both are ends in order. On a busy machine the second
    # may come before there is anything to stop.
    code = watcher.ended(1)
    assert (stopped, code) in ((0, 0), (0, 1), (1, 1))


def test_a_number_in_a_file_that_nobody_holds_is_no_process(vault, watch) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        Path(vault.state_folder(), "watch.lock").write_text(f"{other.pid}\n2026-11-20T16:45:12Z\n")
        assert ask_watch(vault, "--stop").returncode == 1
        assert other.poll() is None
        watch().ready()
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize(
    "left", ["of a killed one", "a file", "a dangling link", "somebody else's"]
)
def test_what_a_killed_watcher_left_is_replaced(vault, watch, left) -> None:
    path = Path(vault.state_folder(), "watch.sock")
    if left == "of a killed one":
        killed = watch().ready()
        killed.process.kill()
        killed.process.wait()
        assert path.is_socket()
    elif left == "a file":
        path.write_text("junk")
    elif left == "a dangling link":
        path.symlink_to("nowhere")
    else:
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
        Path(vault.state_folder(), "watch.sock.new").write_text(
            "left by a crash between the two names"
        )
    watcher = watch().ready()
    assert path.is_socket()
    note(vault, "notes/a.md", "a\n")
    until(lambda: is_fresh(vault))
    assert watcher.standing().pid == watcher.process.pid


def test_a_vault_that_is_deleted_ends_it(vault, watch) -> None:
    watcher = watch().ready()
    shutil.rmtree(vault.root)
    assert watcher.ended() == 1
    assert f"the vault {vault.root} is gone" in watcher.said


def test_a_folder_that_is_no_vault_any_more_ends_it(repository, watch, git) -> None:
    watcher = watch("--quiet=0").ready()
    Path(repository.root, "cortex.toml").unlink()
    assert watcher.ended() == 1
    assert "is no vault any more" in watcher.said
    assert git(repository.root, "status", "--porcelain").strip() == "D cortex.toml"


@pytest.mark.parametrize("how", ["moved away", "deleted"])
def test_another_vault_in_its_place_is_watched_on(vault, caller, watch, how) -> None:
    note(vault, "notes/a.md", "a\n")
    watcher = watch().ready()
    if how == "deleted":
        shutil.rmtree(vault.root)
    else:
        os.rename(vault.root, f"{vault.root}-before")
    init(caller, vault.root)
    note(vault, "notes/b.md", "b\n")
    until(lambda: is_fresh(vault))
    until(lambda: "going on with that one" in watcher.said)
    note(vault, "notes/c.md", "seen by the new folder's own watch\n")
    until(lambda: is_fresh(vault), 25)


def test_a_clone_in_its_place_is_told_of_the_merge_drivers(repository, watch, git) -> None:
    git(repository.root, "clone", "-q", ".", f"{repository.root}-clone")
    watch().ready()
    os.rename(repository.root, f"{repository.root}-before")
    os.rename(f"{repository.root}-clone", repository.root)
    until(lambda: "cortex-record" in git(repository.root, "config", "--list"))


def test_a_removed_lock_ends_it_before_there_are_two(vault, watch) -> None:
    watcher = watch().ready()
    os.unlink(os.path.join(vault.state_folder(), "watch.lock"))
    assert watcher.ended() == 1


def test_polling_when_asked_to(vault, watch) -> None:
    watcher = watch("--poll").ready()
    note(vault, "notes/a.md", "a\n")
    until(lambda: is_fresh(vault))
    assert (watcher.standing().how, "--poll" in watcher.standing().why) == ("polling", True)


@pytest.mark.parametrize(
    ("limit", "why"),
    [("max_inotify_watches", "max_user_watches"), ("max_inotify_instances", "max_user_instances")],
)
def test_polling_when_the_kernel_gives_no_more_watches(vault, watch, limit, why) -> None:
    for number in range(30):
        note(vault, f"notes/{number}/a.md", "a\n")
    for folder in ("inbox", "records"):
        # So that only a folder inside a folder gets no watch.
        shutil.rmtree(os.path.join(vault.root, folder))
    limited = ("unshare", "-Ur", "sh", "-c", f'echo {8 if "watches" in limit else 0} > /proc/sys/user/{limit} && exec "$@"', "sh")  # fmt: skip
    if subprocess.run([*limited, "true"], capture_output=True, check=False).returncode:
        pytest.skip("not run: no user namespaces here")
    watcher = watch(before=limited)
    until(lambda: "no events: " in watcher.said)
    assert why in watcher.said
    note(vault, "notes/7/b.md", "b\n")
    until(lambda: is_fresh(vault))


def test_units_hold_the_command_whatever_the_vault_is_called(vault) -> None:
    root = '/v/100% "of" $it & <more>'
    assert '"/v/100%% \\"of\\" $$it & <more>"' in render_unit("systemd", root)
    assert '<string>/v/100% "of" $it &amp; &lt;more&gt;</string>' in render_unit("launchd", root)
    for kind in ("systemd", "launchd"):
        assert render_unit(kind, vault.root) in ask_watch(vault, f"--unit={kind}").stdout
    assert ask_watch(vault, "--unit=upstart").returncode == 2


def test_a_unit_is_one_that_launchd_reads() -> None:
    root = '/v/100% "of" $it & <more> -- \u00e9'
    said = plistlib.loads(render_unit("launchd", root).encode())
    assert said["ProgramArguments"] == [sys.executable, "-m", "cortex", "watch", "--vault", root]
    assert said["KeepAlive"] == {"SuccessfulExit": False}


def test_a_unit_is_one_that_systemd_reads(vault, tmp_path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("not run: there is no systemd here")
    path = tmp_path / "cortex.service"
    path.write_text(render_unit("systemd", vault.root))
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
