"""The one wrapper around git: what a repository asks for does not run, what a person has set up does, and nothing hangs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.vault.git import git_cli as bounded
from tests.conftest import commit_all


@pytest.fixture
def repository(tmp_path, git) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    (root / "note.md").write_text("one\n")
    commit_all(root, "one")
    return root


@pytest.fixture
def trap(tmp_path) -> Callable[[], tuple[str, Path]]:
    """A program that leaves a mark when it is run."""

    def make() -> tuple[str, Path]:
        mark = tmp_path / "it-ran"
        program = tmp_path / "trap.sh"
        program.write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
        program.chmod(0o755)
        return str(program), mark

    return make


def shell(text: str) -> list[str]:
    """Arguments by which git runs a line of shell: a stand-in for whatever a git may start."""
    return ["-c", f"alias.stand-in=!{text}", "stand-in"]


def test_it_answers_what_git_prints_and_raises_what_git_complains_of(repository):
    assert bounded.run(str(repository), ["log", "--format=%s"]) == b"one\n"
    with pytest.raises(CortexError, match=r"git cat-file: fatal: Not a valid object name nothing"):
        bounded.run(str(repository), ["cat-file", "blob", "nothing"])
    ran = bounded.run_unchecked(str(repository), ["merge", "nothing"])
    assert (ran.code, ran.stdout) == (1, b"")
    assert "not something we can merge" in ran.reason


def test_a_folder_or_a_git_that_is_not_there_is_named(repository, tmp_path, monkeypatch):
    with pytest.raises(NotFoundError, match="there is no folder"):
        bounded.run(str(tmp_path / "gone"), ["status"])
    with pytest.raises(InvalidInputError, match="NUL"):
        bounded.run(str(repository), ["log", "a\0b"])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CortexError, match="git is not installed"):
        bounded.run(str(repository), ["status"])


def test_more_than_a_pipe_holds_goes_in_and_comes_out(repository):
    data = os.urandom(3_000_000)
    blob = (
        bounded.run(str(repository), ["hash-object", "-w", "--stdin"], stdin=data).decode().strip()
    )
    assert bounded.run(str(repository), ["cat-file", "blob", blob]) == data
    assert (
        bounded.run_unchecked(str(repository), shell("true"), stdin=data).code == 0
    )  # a program that reads nothing of it


TRAPS = {
    "core.fsmonitor": ("status",),
    "diff.external": ("diff", "--no-ext-diff", "--no-textconv"),
    "core.hooksPath": ("commit", "--allow-empty", "-qm", "two"),
    "core.sshCommand": ("ls-remote", "ssh://localhost/x"),
}


@pytest.mark.parametrize("setting", TRAPS)
def test_what_the_repositorys_configuration_names_does_not_run(setting, repository, trap, git):
    program, mark = trap()
    if setting == "core.hooksPath":
        folder = repository.parent / "hooks"
        folder.mkdir()
        os.symlink(program, folder / "pre-commit")
        program = str(folder)
    git(repository, "config", setting, program)
    (repository / "note.md").write_text("two\n")
    words = TRAPS[setting]
    subprocess.run(
        ["git", *(word for word in words if not word.startswith("--no-"))],
        cwd=repository,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert mark.exists(), "the trap does not bite"
    mark.unlink()
    bounded.run_unchecked(str(repository), words)
    if setting == "core.sshCommand":
        bounded.run_remote(str(repository), words)
    assert not mark.exists()


def test_no_url_is_a_command_and_no_hidden_repository_is_taken(repository, trap, git):
    program, mark = trap()
    assert (
        "not allowed"
        in bounded.run_remote(str(repository), ["ls-remote", f"ext::{program}"]).stderr
    )
    git(repository, "config", "protocol.ext.allow", "always")
    assert (
        "not allowed"
        in bounded.run_remote(str(repository), ["ls-remote", f"ext::{program}"]).stderr
    )
    hidden = repository / "notes"
    git(repository, "init", "-q", "--bare", "notes")
    git(hidden, "config", "core.fsmonitor", program)
    git(hidden, "config", "core.worktree", str(repository))
    git(hidden, "config", "core.bare", "false")
    subprocess.run(["git", "status"], cwd=hidden, capture_output=True, timeout=30, check=False)
    assert mark.exists(), "the trap does not bite"
    mark.unlink()
    assert "cannot use bare repository" in bounded.run_unchecked(str(hidden), ["status"]).reason
    assert not mark.exists()


def test_the_repository_is_the_one_of_the_folder_whatever_an_outer_git_says(
    repository, tmp_path, monkeypatch, git
):
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", "other")
    for variable, value in (
        ("GIT_DIR", other / ".git"),
        ("GIT_WORK_TREE", other),
        ("GIT_INDEX_FILE", other / "index"),
        ("GIT_GLOB_PATHSPECS", 1),
    ):
        monkeypatch.setenv(variable, str(value))
    assert bounded.run(str(repository), ["rev-parse", "--show-toplevel"]).decode().strip() == str(
        repository
    )
    assert bounded.run(str(repository), ["ls-files", "--", "*.md"]) == b""  # a name, not a pattern
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Somebody")
    assert bounded.run(str(repository), ["config", "user.name"]) == b"Somebody\n"


def test_a_persons_hooks_run_when_asked_for_with_patterns_of_their_own(repository, git):
    hook = repository / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngit diff --cached --name-only -- '*x.md' > .git/seen\n")
    hook.chmod(0o755)
    (repository / "note.md").write_text("two\n")
    odd, star = ":(exclude)x.md", "*.md"
    for name in (odd, star):
        (repository / name).write_text("odd\n")
    git(repository, "--literal-pathspecs", "add", "--", odd, star)
    git(repository, "add", "-N", "note.md")
    quiet, loud = (["commit", "-qm", "x", "--only", "--", name] for name in (star, odd))
    assert bounded.run_unchecked(str(repository), quiet).code == 0
    assert not (repository / ".git/seen").exists()
    assert bounded.run_unchecked(str(repository), loud, hooks=True).code == 0
    assert (repository / ".git/seen").read_text() == f"{odd}\n"
    assert (
        bounded.run(str(repository), ["show", "--format=", "--name-only", "HEAD"]).decode()
        == f"{odd}\n"
    )
    assert git(repository, "status", "--porcelain") == " M note.md\n"


def test_a_commit_starts_no_housekeeping(repository, git):
    for key, value in (
        ("gc.auto", "6700"),
        ("maintenance.auto", "true"),
        ("gc.autoPackLimit", "1"),
    ):
        git(repository, "config", key, value)
    git(repository, "config", "gc.autoDetach", "false")
    for number in range(3):
        assert (
            bounded.run_unchecked(
                str(repository), ["commit", "-q", "--allow-empty", "-m", str(number)]
            ).code
            == 0
        )
        git(repository, "repack", "-q")
    packs = repository / ".git/objects/pack"
    assert len(list(packs.glob("*.pack"))) == 3
    bounded.run(str(repository), ["gc", "--auto", "-q"])
    assert len(list(packs.glob("*.pack"))) == 1


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def fds() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


needs_proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/task"), reason="not run: there is no /proc here"
)


@needs_proc
def test_what_takes_too_long_is_ended_with_all_its_children(repository, tmp_path):
    before = fds(), children()
    pids = tmp_path / "pids"
    stubborn = f"trap '' TERM; (trap '' TERM; sleep 60) & echo $! $$ > {pids}; sleep 60; sleep 60"
    began = time.monotonic()
    with pytest.raises(CortexError, match=r"git stand-in took longer than 0\.5 seconds"):
        bounded.run_unchecked(str(repository), shell(stubborn), timeout=0.5)
    assert time.monotonic() - began < 20
    waited = time.monotonic() + 2
    while any(alive(int(pid)) for pid in pids.read_text().split()) and time.monotonic() < waited:
        time.sleep(0.01)
    assert not [pid for pid in pids.read_text().split() if alive(int(pid))]
    assert (fds(), children()) == before


@needs_proc
def test_git_is_asked_to_end_before_it_is_ended_so_that_it_takes_its_lock_away(repository):
    (repository / ".git/info/attributes").write_text("*.md filter=slow\n")
    (repository / "note.md").write_text("changed\n")
    lock, seen = repository / ".git/index.lock", repository.parent / "seen"
    with pytest.raises(CortexError):
        bounded.run_unchecked(
            str(repository),
            ["-c", f"filter.slow.clean=test -e {lock} && touch {seen}; sleep 60", "add", "note.md"],
            timeout=0.5,
        )
    assert seen.exists()
    assert not lock.exists()


@needs_proc
def test_a_grandchild_that_keeps_the_pipes_is_not_waited_for_and_lives_on(repository, tmp_path):
    pid = tmp_path / "pid"
    began = time.monotonic()
    ran = bounded.run_unchecked(
        str(repository), shell(f"sleep 30 & echo $! > {pid}; echo done"), timeout=20
    )
    assert (ran.code, ran.stdout) == (0, b"done\n")
    assert time.monotonic() - began < 20
    kept = int(pid.read_text())
    assert alive(kept)
    os.kill(kept, signal.SIGKILL)


@pytest.fixture
def server() -> Iterator[Callable[[Callable[[socket.socket], None]], int]]:
    """A peer on the loopback that treats each connection as told; answers its port."""
    made: list[socket.socket] = []

    def start(treat: Callable[[socket.socket], None]) -> int:
        listening = socket.create_server(("127.0.0.1", 0))
        made.append(listening)

        def serve() -> None:
            while True:
                try:
                    peer, _ = listening.accept()
                except OSError:
                    return
                made.append(peer)
                treat(peer)

        threading.Thread(target=serve, daemon=True).start()
        return listening.getsockname()[1]

    yield start
    for one in made:
        one.close()


@needs_proc
@pytest.mark.parametrize("verb", ["ls-remote", "fetch", "push"])
def test_a_remote_that_accepts_and_stays_silent_ends_with_a_message(verb, repository, server):
    port = server(lambda peer: None)
    before = fds(), children()
    began = time.monotonic()
    refs = ["HEAD"] if verb == "push" else []
    with pytest.raises(CortexError, match=r"the remote said nothing for 0\.4 seconds") as caught:
        bounded.run_remote(str(repository), [verb, f"git://127.0.0.1:{port}/x", *refs], silence=0.4)
    assert "local is safe" in caught.value.hint
    assert time.monotonic() - began < 20
    assert len(fds()) - len(before[0]) <= 1  # the server's end of the connection
    assert children() == before[1]


def test_whoever_says_something_now_and_then_is_heard_to_the_end(repository):
    began = time.monotonic()
    ran = bounded.run_remote(
        str(repository), shell("for i in 1 2 3 4 5 6; do echo $i >&2; sleep 0.2; done"), silence=0.6
    )
    assert ran.code == 0
    assert time.monotonic() - began > 1.0
    assert ran.stderr.split() == list("123456")


def test_what_went_over_the_wire_arrives_and_progress_does_not_clutter_the_complaint(
    repository, tmp_path, git
):
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repository, "remote", "add", "origin", str(tmp_path / "remote.git"))
    ran = bounded.run_remote(str(repository), ["push", "origin", "HEAD:refs/heads/main"])
    assert ran.code == 0
    assert "\r" not in ran.stderr
    assert bounded.run_remote(str(repository), ["fetch", "origin"]).code == 0
    refused = bounded.run_remote(str(repository), ["push", "origin", "HEAD~3:refs/heads/main"])
    assert refused.code == 1
    assert refused.reason.startswith("error: src refspec HEAD~3 does not match any")


@pytest.mark.parametrize("how", ["global", "included", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT"])
def test_the_ssh_that_a_person_has_chosen_is_used_the_repositorys_never(
    how, repository, trap, tmp_path, monkeypatch, git
):
    program, mark = trap()
    other = tmp_path / "other.sh"
    other.write_text(f"#!/bin/sh\ntouch {tmp_path}/the-repositorys\nexit 1\n")
    other.chmod(0o755)
    git(repository, "config", "core.sshCommand", str(other))
    if how == "global":
        git(repository, "config", "--global", "core.sshCommand", program)
    elif how == "included":
        (tmp_path / "more").write_text(f"[core]\n\tsshCommand = {program}\n")
        git(
            repository,
            "config",
            "--global",
            f"includeIf.gitdir:{repository}/.path",
            str(tmp_path / "more"),
        )
    elif how == "GIT_SSH_COMMAND":
        monkeypatch.setenv(how, program)
    else:
        for name, value in (("COUNT", "1"), ("KEY_0", "core.sshCommand"), ("VALUE_0", program)):
            monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    bounded.run_remote(str(repository), ["ls-remote", "ssh://nobody@localhost/x"])
    assert mark.exists()
    assert not (tmp_path / "the-repositorys").exists()


@pytest.mark.parametrize("name", [
    "-", "--upload-pack=touch x", "-evil", "", "a b", "a..b", "a~1", "a^", "a:b", "a\nb", "+a", "a.lock",
    "a/", "/a", "@{u}", "@", "a@{1}", "x/.y", "a\\b", "a*",
])  # fmt: skip
def test_an_option_or_an_expression_is_no_name(name):
    with pytest.raises(InvalidInputError, match="no name of a branch or remote"):
        bounded.check_ref_name(name)


@pytest.mark.parametrize(
    "name",
    ["main", "feature/x-1", "ünïc", "a.b", "origin", "dependabot/pip/x-1.2", "user@host", "x{y}"],
)
def test_a_name_is_a_name_as_git_sees_it(name, repository, git):
    assert bounded.check_ref_name(name) == name
    git(repository, "check-ref-format", f"refs/heads/{name}")


def test_a_revision_becomes_an_id_and_never_an_option(repository, git):
    head = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "update-ref", "refs/heads/-evil", "HEAD")
    git(repository, "update-ref", "refs/heads/--output=x", "HEAD")
    for revision in ("HEAD", "main", head[:7], "-evil", "--output=x", "refs/heads/-evil"):
        assert bounded.resolve_commit(str(repository), revision) == head
    for revision in ("nothing", "HEAD:note.md", "--all", "", "-h", "HEAD~9"):
        with pytest.raises(NotFoundError):
            bounded.resolve_commit(str(repository), revision)
    assert sorted(path.name for path in repository.iterdir()) == [".git", "note.md"]
