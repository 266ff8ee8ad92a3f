"""Disks that are full, read-only or small, and limits: a clear refusal, nothing half-done, everything older whole."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.vault.git import changes, commit, git_cli as git_of, git_locks
from cortex.vault.locate import Vault


@pytest.fixture
def mounted(tmp_path, tool) -> Iterator[Callable[..., Path]]:
    """Mount something at a folder of its own; unmounted again whatever happens."""
    if os.geteuid() != 0:
        pytest.skip("not run: mounting needs root")
    mount, umount = tool("mount"), tool("umount")
    made: list[str] = []

    def run(*options: str) -> Path:
        at = tmp_path / f"mount-{len(made)}"
        at.mkdir(exist_ok=True)
        done = subprocess.run(
            [mount, *options, str(at)], capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            pytest.skip(f"not run: the mount was refused: {done.stderr.strip()}")
        made.append(str(at))
        return at

    yield run
    for at in reversed(made):
        subprocess.run([umount, at], capture_output=True, timeout=60, check=False)
        if os.path.ismount(at):
            subprocess.run([umount, "-l", at], capture_output=True, timeout=60, check=False)


def read_only(mounted: Callable[..., Path], vault: Vault, tool: Callable[[str], str]) -> Path:
    """A second place of the vault, into which nobody can write."""
    at = mounted("--bind", vault.root)
    words = [tool("mount"), "-o", "remount,ro,bind", str(at)]
    if subprocess.run(words, capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("not run: a read-only mount was refused")
    return at


def refused(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    message, hint = done.stderr.splitlines()
    assert message.startswith("cortex: ")
    assert says in message
    assert hint.strip()


def half_done(done: subprocess.CompletedProcess[str]) -> None:
    """The records are made; the look that the briefings need found no room any more, and says so."""
    assert "briefings: could not be healed" in done.stdout


def run_limited(words: list[str], limit: int, value: int) -> subprocess.CompletedProcess[str]:
    # -B: Python 3.11 would leave what it compiles cut off at the limit, for everybody after it.
    line = [sys.executable, "-B", "-m", "cortex", *words]
    bound = lambda: resource.setrlimit(limit, (value, value))
    return subprocess.run(
        line, capture_output=True, text=True, preexec_fn=bound, timeout=60, check=False
    )


def test_a_full_disk_refuses_and_keeps_what_it_has(mounted, caller, cortex, look, homes):
    disk = mounted("-t", "tmpfs", "-o", "size=64k", "tmpfs")
    vault = Vault(init(caller, str(disk / "vault"), no_git=True).root)
    kept = {}
    while True:
        done = cortex("capture", "Gotcha: " + "word " * 1_500, cwd=vault.root)
        if done.returncode:
            break
        kept = dict(look(vault.root).files)
        assert len(kept) < 20
    refused(done, "No space left on device")
    assert len(kept) > 3
    assert look(vault.root).files == kept
    refused(
        cortex("capture", "Gotcha: " + "word " * 1_500, cwd=vault.root), "No space left on device"
    )
    assert look(vault.root).files == kept
    Path(vault.root, "inbox/pending", min(os.listdir(f"{vault.root}/inbox/pending"))).unlink()
    assert (
        cortex("capture", "Gotcha: " + "word " * 1_500, cwd=vault.root).returncode == 0
    )  # with room again, all is well


def test_a_disk_that_fills_up_during_a_run_loses_no_event(mounted, caller, cortex, look, homes):
    disk = mounted("-t", "tmpfs", "-o", "size=128k", "tmpfs")
    vault = Vault(init(caller, str(disk / "vault"), no_git=True).root)
    ids = [capture(vault, caller, f"Gotcha: {n} " + "word " * 700).id for n in range(6)]
    before = look(vault.root).below("inbox")
    (disk / "ballast").write_bytes(
        b"x" * (os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - 8_192)
    )
    done = cortex("normalize", cwd=vault.root)
    seen = look(vault.root)
    assert done.returncode == 1
    assert "No space left on device" in done.stdout + done.stderr
    assert not seen.temps
    assert all(len(seen.places(id_)) == 1 for id_ in ids)
    assert {
        data for path, data in seen.files.items() if path.startswith(("inbox/", "events/"))
    } == set(before.values())
    (disk / "ballast").unlink()
    assert cortex("normalize", cwd=vault.root).returncode == 0
    assert len(look(vault.root).below("events")) == len(look(vault.root).below("records")) == 6


@pytest.mark.parametrize(
    "verb",
    [("capture", "Gotcha: not here"), ("normalize",), ("new", "note", "not here")],
    ids=lambda verb: verb[0],
)
def test_a_read_only_vault_refuses_and_stays_as_it_is(
    verb, mounted, vault, caller, cortex, look, homes, tool
):
    capture(vault, caller, "Gotcha: before")
    before = look(vault.root)
    at = read_only(mounted, vault, tool)
    done = cortex(*verb, cwd=str(at))
    if (
        verb[0] == "normalize"
    ):  # the disk is to blame, not the events: they wait, and the exit code says that something did not work
        assert done.returncode == 1
        assert "Read-only file system" in done.stdout + done.stderr
    else:
        refused(done, "Read-only file system")
    assert look(vault.root) == before
    assert cortex("search", "before", cwd=str(at)).returncode == 0  # reading is no writing


def test_a_file_size_limit_refuses_and_leaves_nothing(vault, look, homes):
    before = look(vault.root)
    refused(
        run_limited(
            ["capture", "word " * 2_000, "--vault", vault.root], resource.RLIMIT_FSIZE, 4_096
        ),
        "File too large",
    )
    assert look(vault.root) == before


@pytest.mark.parametrize("most", range(4, 9))
def test_a_limit_of_open_files_refuses_or_captures_and_leaves_nothing_half_done(
    most, vault, look, homes
):
    before = look(vault.root)
    done = run_limited(
        ["capture", "Gotcha: few files", "--vault", vault.root], resource.RLIMIT_NOFILE, most
    )
    if done.returncode == 0:
        assert look(vault.root).places(done.stdout.strip())
    else:
        assert look(vault.root) == before
        assert done.returncode != 2 or "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "verb", [("normalize",), ("search", "before"), ("status",)], ids=lambda verb: verb[0]
)
def test_instead_of_a_read_only_cache_a_temporary_one_is_used(
    verb, mounted, vault, caller, cortex, homes, monkeypatch, tmp_path
):
    """The cache may lie on another disk than the vault. A capture needs none."""
    capture(vault, caller, "Gotcha: before")
    at = mounted("-t", "tmpfs", "-o", "ro", "tmpfs")
    monkeypatch.setenv("XDG_CACHE_HOME", str(at))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = cortex(*verb)
    assert (done.returncode, done.stderr) == (0, "")
    if verb[0] == "search":
        assert f"{at}/cortex/vault-" in done.stdout
    assert (tmp_path / f"cortex-{os.geteuid()}").stat().st_mode & 0o777 == 0o700
    assert cortex("capture", "Gotcha: all the same").returncode == 0


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # Whoosh leaves open what it cannot write
@pytest.mark.parametrize("verb", [("normalize",), ("search", "word")], ids=lambda verb: verb[0])
def test_a_cache_disk_that_fills_up_at_any_point_is_an_error_with_a_hint(
    verb, mounted, vault, caller, cortex, look, homes, monkeypatch, soak
):
    for n in range(30):
        capture(vault, caller, f"Gotcha: {n} " + "word " * n)
    before = look(vault.root)
    at = mounted("-t", "tmpfs", "-o", "size=1m", "tmpfs")
    monkeypatch.setenv("XDG_CACHE_HOME", str(at))
    codes = []
    for room in range(0, 400, 12 if soak else 90):  # KB
        gc.collect()  # a file that Whoosh left open keeps its room, and gives it back at any time
        subprocess.run(["rm", "-rf", str(at / "cortex")], check=True)
        with (at / "ballast").open("wb") as file:
            file.write(b"x" * (os.statvfs(at).f_bsize * os.statvfs(at).f_bavail - room * 1024))
        done = cortex(*verb)
        codes.append(done.returncode)
        (at / "ballast").unlink()
        assert "Traceback" not in done.stderr, f"{room} KB: {done.stderr}"
        if done.returncode == 1:
            half_done(done)
            before = look(vault.root)
        elif done.returncode:
            refused(done, "")
            assert look(vault.root) == before or verb[0] == "search"  # which normalizes, then looks
        else:
            break
    gc.collect()
    assert codes[0] == 2
    assert codes[-1] in (0, 1)
    assert cortex("search", "word").returncode == 0
    assert cortex("normalize").returncode == 0  # reading makes no pages where there are none
    assert cortex("heal", "--check").returncode == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # as above
def test_a_cache_that_cannot_grow_keeps_nobody_from_capturing_and_mends_itself(
    mounted, vault, caller, cortex, look, homes, monkeypatch
):
    at = mounted("-t", "tmpfs", "-o", "size=1m", "tmpfs")
    monkeypatch.setenv("XDG_CACHE_HOME", str(at))
    capture(vault, caller, "Gotcha: one")
    assert cortex("normalize").returncode == 0
    assert cortex("search", "one").returncode == 0
    with (at / "ballast").open("wb") as file:
        file.write(b"x" * (os.statvfs(at).f_bsize * os.statvfs(at).f_bavail))
    for n in range(30):
        capture(vault, caller, f"Gotcha: {n} " + "word " * 200)
    assert cortex("capture", "Gotcha: two").returncode == 0
    for verb in (("normalize",), ("search", "word"), ("status",)):
        done = cortex(*verb)
        assert "Traceback" not in done.stderr
        if done.returncode == 1:
            half_done(done)
        elif done.returncode:  # or what was there could be put to use anew
            refused(done, "")
    gc.collect()  # as above
    (at / "ballast").unlink()
    assert cortex("normalize").returncode == 0
    assert len(look(vault.root).below("records")) == 32
    assert cortex("search", "two").returncode == 0


def test_an_id_that_cannot_be_printed_is_not_a_success(vault, homes):
    """Standard output is a full disk: the event is kept, the exit code says that nobody was told."""
    if not Path("/dev/full").exists():
        pytest.skip("not run: this system has no /dev/full")
    with Path("/dev/full").open("w") as full:
        words = ["capture", "x", "--id", "20261120t164512z-aaaaaaaaab", "--vault", vault.root]
        line = [sys.executable, "-m", "cortex", *words]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def repository_at(folder: Path, caller) -> Vault:
    """A vault of its own under git, with a commit and a record that is not committed yet."""
    vault = Vault(init(caller, str(folder / "vault"), no_git=True).root)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        subprocess.run(["git", *words], cwd=vault.root, check=True, capture_output=True, timeout=60)
    with commit.repository_lock(vault.root):
        pass  # our own lock file is there
    record = Path(vault.root, "records/decision/one-aaaaaa.md")
    record.parent.mkdir(parents=True)
    record.write_text(
        "---\nid: one-aaaaaa\ntype: decision\ntitle: One\nstatus: active\n---\n\n"
        + "Because. " * 300
        + "\n"
    )
    return vault


def says_at_once(vault: Vault, caller, *texts: str) -> bool:
    """Whether a commit was refused, in these words, soon and with a next command."""
    begun = time.monotonic()
    try:
        commit.commit_changes(vault.root, changes.list_changes(vault.root))
    except CortexError as error:
        assert time.monotonic() - begun < git_locks.LOCK_WAIT_SECONDS / 3
        assert any(text in error.message for text in texts), error.message
        assert "another git" not in error.message
        assert error.hint
        return True
    return False


@pytest.mark.parametrize("option", ["size=600k", "nr_inodes=90"])
def test_a_commit_on_a_full_disk_says_so_at_once_wherever_it_fills_up(
    option, mounted, caller, homes
):
    """With room for nothing, for a lock, for a blob, and so on until the commit is made."""
    disk = mounted("-t", "tmpfs", "-o", option, "tmpfs")
    vault = repository_at(disk, caller)
    refusals = 0
    for room in range(60):
        free = os.statvfs(disk)
        (disk / "ballast").mkdir()
        if option.startswith("size"):
            (disk / "ballast/file").write_bytes(
                b"x" * max(0, (free.f_bavail - room) * free.f_frsize)
            )
        else:
            for number in range(free.f_favail - 1 - room):
                (disk / f"ballast/{number}").touch()
        refused = says_at_once(vault, caller, "the disk is full", "the disk took no more")
        subprocess.run(["rm", "-r", str(disk / "ballast")], check=True, timeout=60)
        refusals += refused
        if not refused:
            break
    assert refusals >= 3
    assert changes.list_changes(vault.root) == []
    fsck = ["git", "fsck", "--no-dangling"]
    assert subprocess.run(fsck, cwd=vault.root, capture_output=True, timeout=60).stdout == b""
    locks = Path(vault.root, ".git").rglob("*.lock")
    assert not [path for path in locks if not path.name.startswith("cortex")]


def test_a_commit_on_a_read_only_disk_says_so_at_once(mounted, caller, homes, tmp_path, tool):
    vault = repository_at(tmp_path, caller)
    at = read_only(mounted, vault, tool)
    with pytest.raises(
        CortexError,
        match=r"the file system is read-only; git says: fatal: .*: Read-only file system",
    ) as raised:
        git_of.run(str(at), ["add", "."])
    assert "findmnt -T " in raised.value.hint
    begun = time.monotonic()
    with pytest.raises((OSError, CortexError)) as refusal:
        commit.commit_changes(str(at), changes.list_changes(str(at)))
    assert "ead-only file system" in str(refusal.value)
    assert time.monotonic() - begun < git_locks.LOCK_WAIT_SECONDS / 3


def test_a_commit_that_permissions_forbid_says_so_at_once(caller, homes, tmp_path, as_user):
    vault = repository_at(tmp_path, caller)
    for parent in (*tmp_path.parents, tmp_path):
        if parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(parent.stat().st_mode | 0o005)
    subprocess.run(["chmod", "-R", "a+rX", vault.root], check=True, timeout=60)
    safe = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }

    def attempt() -> list[str]:
        os.environ.update(safe)
        begun = time.monotonic()
        ran = git_locks.retry_while_locked(
            vault.root, lambda: git_of.run_unchecked(vault.root, ["add", "."])
        )
        assert time.monotonic() - begun < git_locks.LOCK_WAIT_SECONDS / 3
        error = git_of.command_error("add", ran, vault.root)
        return [error.message, error.hint]

    message, hint = as_user(12_345, attempt)
    assert message.startswith("permission was denied; git says: fatal: Unable to create '")
    assert hint.startswith(f"ls -la {vault.root}/.git shows whose it is")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("fault", "says"), [
    ("EDQUOT", "the disk quota is used up"),
    ("ENOSPC", "the disk is full"),
    ("EROFS", "the file system is read-only"),
    ("EACCES", "permission was denied"),
    ("EIO", "the disk fails"),
])  # fmt: skip
@pytest.mark.parametrize("path", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_what_the_system_refuses_git_is_told_for_what_it_is(
    fault, says, path, caller, homes, tmp_path, tool, monkeypatch
):
    """The kernel itself refuses the call: strace injects the error, for there is no quota to be had here."""
    strace = tool("strace")
    if subprocess.run(
        [strace, "-o", "/dev/null", "true"], capture_output=True, timeout=60, check=False
    ).returncode:
        pytest.skip("not run: strace was refused")
    vault = repository_at(tmp_path, caller)
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    target = os.path.join(vault.root, ".git", path)
    inject = f"-e trace=openat -e inject=openat:error={fault}"
    where = f"-P {target}"
    wrapper.write_text(
        f'#!/bin/sh\nexec {strace} -f -qq -o /dev/null {inject} {where} {tool("git")} "$@"\n'
    )
    wrapper.chmod(0o755)
    changed = changes.list_changes(vault.root)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    begun = time.monotonic()
    with pytest.raises(CortexError) as raised:
        commit.commit_changes(vault.root, changed)
    assert time.monotonic() - begun < git_locks.LOCK_WAIT_SECONDS / 2
    assert raised.value.message.startswith(says)
