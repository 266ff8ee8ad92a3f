"""Repositories that want to harm who works in them. Each attack is first shown to bite a naive stand-in, then to do
nothing through the command itself: nothing runs, nothing is written elsewhere, nothing is lost, nobody waits for ever."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.operations.share.sync import sync
from cortex.vault.locate import Vault
from tests.conftest import NOW, caller_at, run_cortex

pytestmark = pytest.mark.sampled(2)

EVERY = [
    ("status",), ("search", "base"), ("capture", "Decision: still here"), ("normalize",), ("heal",), ("sync",), ("doctor",), ("doctor", "--fix"),
    ("git", "status"), ("history", "base-0"), ("history", "base-0", "--at", "HEAD"), ("new", "decision", "T"), ("watch", "--status"), ("rebuild",),
]  # fmt: skip


class Trap:
    """A program that must not run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.mark = folder / "PWN"
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\ntouch '{self.mark}'\nexit 1\n")
        self.program.chmod(0o755)

    def sprung(self) -> bool:
        """Whether it ran since we looked last."""
        was = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return was


class Clone:
    """A work tree, its person's git, and the command."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = Vault(os.path.realpath(root))

    def git(
        self, *words: str, fails: bool = False, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["git", *words],
            cwd=cwd or self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=60,
            check=False,
        )
        assert fails or done.returncode == 0, f"git {' '.join(words)}: {done.stdout}{done.stderr}"
        return done

    def cortex(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return run_cortex(*words, cwd=cwd or self.root)

    def cortex_process(self, *words: str, **options) -> subprocess.CompletedProcess[str]:
        """In a process of its own, which may use no more than a minute and what the options give it."""
        done = subprocess.run(
            [sys.executable, "-m", "cortex", *words],
            cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False, **options,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def everything(self, cwd: Path | None = None, but: tuple[str, ...] = ()) -> None:
        for words in EVERY:
            if words[0] not in but:
                self.cortex(*words, cwd=cwd)

    def record(self, name: str, body: str = "Because of it.", path: str = "") -> Path:
        file = self.root / (path or f"records/decision/{name}.md")
        file.parent.mkdir(parents=True, exist_ok=True)
        title = name.replace("-", " ")
        file.write_text(
            f"---\nid: {name}\ntype: decision\ntitle: {title}\nproject: app\nbranch: main\n"
            f"created: 2026-11-01T10:00:00Z\n---\n\n# {title}\n\n{body}\n"
        )
        return file

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, message: str = "as it is") -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def push(self, message: str = "as it is") -> None:
        self.commit(message)
        self.git("push", "-q", "origin", "HEAD")

    def notes(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.glob("records/**/*.md"))
            if not path.is_symlink()
        }

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").stdout.strip()


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


def build_stranger(folder: Path) -> None:
    """A vault `stranger` with ten decisions and a bare remote."""
    caller = caller_at(NOW, str(folder))
    one = Clone(Path(init(caller, str(folder / "stranger")).root))
    for number in range(10):
        one.record(f"base-{number}")
    one.git("init", "-q")
    assert sync(one.vault, caller).commits
    one.git("clone", "-q", "--bare", ".", str(folder / "remote.git"))
    one.git("remote", "add", "origin", str(folder / "remote.git"))
    one.git("fetch", "-q", "origin")
    one.git("branch", "-q", "--set-upstream-to", "origin/main")


@pytest.fixture
def stranger(tmp_path: Path, copied: Callable[..., None]) -> Clone:
    """The clone of somebody who means ill, with ten decisions and a bare remote."""
    copied(build_stranger, tmp_path)
    return Clone(tmp_path / "stranger")


@pytest.fixture
def mine(stranger: Clone, tmp_path: Path) -> Callable[[], Clone]:
    """Clone what the stranger has pushed; nothing was set up in it."""

    def clone(name: str = "mine") -> Clone:
        subprocess.run(
            ["git", "clone", "-q", str(tmp_path / "remote.git"), str(tmp_path / name)],
            check=True,
            capture_output=True,
        )
        return Clone(tmp_path / name)

    return clone


def config_keys(clone: Clone) -> set[str]:
    return set(clone.git("config", "--local", "--name-only", "--list").stdout.split())


# --- programs that the vault asks for ------------------------------------------------------------------------------


def test_a_repository_hidden_among_the_notes_runs_nothing(stranger, mine, trap) -> None:
    stranger.write("notes/HEAD", "ref: refs/heads/main\n")
    stranger.write(
        "notes/config",
        f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = {trap.program}\n\tsshCommand = {trap.program}\n",
    )
    for name in ("objects/keep", "refs/keep", "a.md"):
        stranger.write(f"notes/{name}", "")
    stranger.push()
    clone = mine()
    inside = clone.root / "notes"
    clone.git("status", cwd=inside, fails=True)
    assert trap.sprung()
    clone.everything(cwd=inside)
    assert not trap.sprung()
    assert clone.cortex("status", cwd=inside).stdout.splitlines()[0].startswith(str(clone.root))


def test_filters_drivers_hooks_and_submodules_that_the_vault_asks_for_are_only_text(
    stranger, mine, trap
) -> None:
    run = str(trap.program)
    stranger.write(
        ".gitattributes",
        (stranger.root / ".gitattributes").read_text()
        + "*.md filter=evil diff=evil\n*.txt merge=evil\n",
    )
    stranger.write(
        ".gitconfig",
        f'[filter "evil"]\n\tclean = {run}\n\tsmudge = {run}\n[diff "evil"]\n\ttextconv = {run}\n[merge "evil"]\n\tdriver = {run}\n'
        f'[core]\n\tfsmonitor = {run}\n\thooksPath = hooks\n\tsshCommand = {run}\n\tpager = {run}\n[merge "cortex-record"]\n\tdriver = {run}\n',
    )
    stranger.write(
        ".gitmodules", f'[submodule "m"]\n\tpath = m\n\turl = ext::{run}\n\tupdate = !{run}\n'
    )
    hooks = "post-checkout pre-commit post-commit post-merge pre-push reference-transaction"
    for name in hooks.split():
        for folder in ("hooks", ".githooks", ".cortex/hooks"):
            shutil.copy(run, stranger.write(f"{folder}/{name}", ""))
            (stranger.root / folder / name).chmod(0o755)
    stranger.push()

    naive = mine("naive")
    naive.git("config", "include.path", "../.gitconfig")  # as many a tool's installer does
    naive.git("status", fails=True)
    assert trap.sprung()

    clone = mine()
    before = config_keys(clone)
    stranger.record("later")
    stranger.write("a.txt", "theirs\n")
    stranger.push()
    clone.write("b.txt", "mine\n")
    clone.record("of-mine")
    clone.commit()
    clone.everything()
    assert (clone.root / "records/decision/later.md").exists()
    assert not trap.sprung()
    added = config_keys(clone) - before
    assert added >= {"merge.cortex-briefing.driver", "merge.cortex-record.driver"}
    assert not [key for key in added if not key.startswith("merge.")]
    assert run not in (clone.root / ".git/config").read_text()


SETTINGS = """
cache_dir = "."
editor = "{run}"
[hooks]
after_sync = "{run}"
[git]
ssh_command = "{run}"
hooks_path = "hooks"
[sync]
command = "{run}"
remote = "ext::{run}"
[watch]
on_change = ["{run}"]
[env]
GIT_SSH_COMMAND = "{run}"
GIT_EDITOR = "{run}"
EDITOR = "{run}"
"""


def test_settings_of_a_stranger_name_no_program_and_no_folder(stranger, mine, trap) -> None:
    toml = stranger.root / "cortex.toml"
    toml.write_text(toml.read_text() + SETTINGS.format(run=trap.program))
    stranger.push()
    clone = mine()
    subprocess.run(
        tomllib.loads((clone.root / "cortex.toml").read_text())["hooks"]["after_sync"],
        shell=True,
        check=False,
    )
    assert trap.sprung()
    clone.everything()
    assert not trap.sprung()
    folders = {path.name for path in clone.root.iterdir()}
    known = ".cortex-project .git .gitattributes cortex.toml inbox records briefings events sessions views"
    assert folders <= set(known.split())


# --- attributes ----------------------------------------------------------------------------------------------------

OFF = {
    "binary": ("", "* merge=binary\n"),
    "the macro": ("", "* binary\n"),
    "unset": ("", "records/** -merge\nbriefings/** -merge\n"),
    "text": ("", "* -text\n* !merge\n"),
    "deeper": ("records/decision/", "* -merge\n"),
    "a macro of their own": ("", "[attr]off -merge\nrecords/** off\nbriefings/** off\n"),
    "another driver": ("", "* merge=evil\n"),
}


def edited(stranger: Clone, clone: Clone) -> Path:
    """Two branches in the clone: the stranger's changes one field of a record, ours another."""
    file = clone.root / "records/decision/base-0.md"
    theirs = stranger.root / "records/decision/base-0.md"
    theirs.write_text(
        theirs.read_text().replace("created:", "tags: [theirs]\nconfidence: 0.9\ncreated:")
    )
    stranger.record("from-there")
    stranger.cortex("heal")
    stranger.push()
    file.write_text(file.read_text().replace("# base 0", "# base zero"))
    clone.record("from-here")
    clone.cortex("heal")
    clone.commit()
    clone.git("fetch", "-q")
    return file


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", OFF)
def test_attributes_that_switch_our_drivers_off_are_spoken_over(stranger, mine, trap, case) -> None:
    folder, lines = OFF[case]
    name = f"{folder}.gitattributes"
    stranger.write(name, (stranger.root / name).read_text() + lines if not folder else lines)
    stranger.push()
    clone, naive = mine(), mine("naive")
    naive.git("config", "merge.cortex-record.driver", "true")
    said = naive.git("check-attr", "merge", "--", "records/decision/base-0.md").stdout
    assert "cortex-record" not in said

    first = clone.cortex("status")
    assert first.stderr.count("in this clone git now merges Cortex's notes field by field") == 1
    for path, driver in (
        ("records/decision/base-0.md", "cortex-record"),
        ("briefings/app/decisions.md", "cortex-briefing"),
        ("sessions/x.md", "cortex-record"),
    ):
        assert clone.git("check-attr", "merge", "--", path).stdout == f"{path}: merge: {driver}\n"
    file = edited(stranger, clone)
    clone.git("merge", "-q", "--no-edit", "origin/main")
    text = file.read_text()
    assert "# base zero" in text
    assert "confidence: 0.9" in text
    assert "tags: [theirs]" in text
    assert clone.cortex("heal", "--check").returncode == 0
    assert not trap.sprung()
    assert (
        clone.git("status", "--porcelain").stdout == ""
    )  # not a byte of theirs was changed for it


def test_attributes_that_come_later_by_a_pull_are_named_and_spoken_over(stranger, mine) -> None:
    clone = mine()
    clone.cortex("status")
    stranger.write(".gitattributes", "* -merge\n")
    stranger.push()
    assert clone.cortex("sync").returncode == 0
    assert "-merge" in (clone.root / ".gitattributes").read_text()
    file = edited(stranger, clone)
    done = clone.cortex("sync")  # whatever the attributes say, a sync merges by field
    assert done.returncode == 0, done.stdout
    for line in ("# base zero", "confidence: 0.9", "tags: [theirs]"):
        assert line in file.read_text()
    clone.cortex("doctor", "--fix")
    assert (
        "cortex-record"
        in clone.git("check-attr", "merge", "--", "records/decision/base-0.md").stdout
    )


# --- names ---------------------------------------------------------------------------------------------------------

NAMES = [
    "-x.md", ":(exclude)x.md", "--output=PWN", "$(touch PWN).md", ":/", "`touch PWN`.md", "a\nb.md",
    '"; touch PWN; ".md', "%s%P.md",
]  # fmt: skip


def pwned(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*PWN*") if path.name == "PWN"]


def test_names_that_look_like_options_patterns_or_commands_are_names(
    stranger, mine, tmp_path
) -> None:
    clone = mine()
    naive = mine("naive")
    naive.write("b.md", "b")
    naive.git("add", ":(exclude)x.md")  # everything but x.md
    assert "b.md" in naive.git("diff", "--cached", "--name-only").stdout
    naive.git("diff", "--cached", "--output=PWN")
    assert (naive.root / "PWN").exists()
    subprocess.run(
        "echo records/$(touch PWN2).md", shell=True, cwd=naive.root, check=True, capture_output=True
    )
    assert (naive.root / "PWN2").exists()
    shutil.rmtree(naive.root)

    for number, name in enumerate(NAMES):
        if not name.endswith("/"):
            clone.record(f"odd-{number}", path=f"records/{name}")
            clone.record(f"moved-{number}")
    assert clone.cortex("sync").returncode == 0
    for number, name in enumerate(NAMES):  # a record that a person moved elsewhere is still ours
        if not name.endswith("/"):
            (clone.root / f"records/decision/moved-{number}.md").rename(clone.root / name)
    (clone.root / "theirs.py").write_text("nobody commits this but its owner")
    done = clone.cortex("sync")
    assert done.returncode == 0, done.stdout
    tracked = clone.git("ls-files", "-z").stdout.split("\0")
    for name in NAMES:
        if not name.endswith("/"):
            if name.endswith(".md"):
                assert name in tracked
            for words in (
                ("history", "--", name),
                ("show", "--", name),
                ("search", "--", name),
                ("history", "--at", name, "base-0"),
            ):
                clone.cortex(*words)
    assert "theirs.py" not in tracked
    clone.cortex("merge", "--", *NAMES[:3])
    assert not pwned(tmp_path)


def test_names_like_commands_in_a_conflict_reach_the_driver_as_names(
    stranger, mine, tmp_path
) -> None:
    names = [f"records/{name}" for name in NAMES if name.endswith(".md")]
    for number, name in enumerate(names):
        stranger.record(f"odd-{number}", "One.\n\nTwo.\n\nThree.", path=name)
    stranger.push()
    clone, naive = mine(), mine("naive")
    for name in names:
        for each, line, tag in (
            (stranger, "Two of theirs.", "theirs"),
            (clone, "Two of mine.", "mine"),
            (naive, "Two of mine.", "mine"),
        ):
            file = each.root / name
            file.write_text(
                file.read_text()
                .replace("Two.", line)
                .replace("created:", f"tags: [{tag}]\ncreated:")
            )
    stranger.push()
    naive.commit()
    (naive.root / ".git/info").mkdir(exist_ok=True)
    (naive.root / ".git/info/attributes").write_text("records/** merge=cortex-record\n")
    naive.git("config", "merge.cortex-record.driver", """sh -c 'eval "echo $1"' - %P""")
    naive.git("pull", "-q", "--no-rebase", fails=True)
    assert pwned(naive.root)
    shutil.rmtree(naive.root)

    clone.commit()
    clone.cortex("status")
    clone.git("pull", "-q", "--no-rebase", fails=True)
    unmerged = set(clone.git("ls-files", "-u", "-z").stdout.split("\0"))
    for name in names:
        text = (clone.root / name).read_text()
        assert any(line.endswith(f"\t{name}") for line in unmerged), name
        assert (
            "tags: [mine, theirs]" in text or "tags: [theirs, mine]" in text
        )  # merged by our driver, not by its fallback
        assert text.count("<<<<<<<") == 1
    clone.git("merge", "--abort")
    assert clone.cortex("sync").returncode == 1
    for name in names:
        file = clone.root / name
        file.write_text(
            "".join(
                line
                for line in file.read_text().splitlines(keepends=True)
                if not line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
            )
        )
    done = clone.cortex("sync")
    assert done.returncode == 0, done.stdout
    assert not pwned(tmp_path)


@pytest.mark.parametrize("branch", ["-evil", "--upload-pack=bin/evil", "--output=PWN"])
def test_a_branch_that_looks_like_an_option_is_a_branch(
    stranger, mine, trap, tmp_path, branch
) -> None:
    clone, naive = mine(), mine("naive")
    for each in (clone, naive):
        each.git("update-ref", f"refs/heads/{branch}", "HEAD")
        each.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        (each.root / "bin").mkdir()
        shutil.copy(trap.program, each.root / "bin/evil")
    if branch == "-evil":
        assert "unknown switch" in naive.git("fetch", "origin", branch, fails=True).stderr
    elif branch.startswith("--upload"):
        naive.git("fetch", "origin", branch, fails=True)
        assert trap.sprung()
    else:
        naive.git("log", branch)
        assert pwned(naive.root)
        shutil.rmtree(naive.root)

    clone.everything()
    clone.record("on-the-branch")
    done = clone.cortex("sync")
    assert done.returncode == 0, done.stdout
    other = mine("other")
    assert other.git(
        "ls-tree",
        "--name-only",
        f"refs/remotes/origin/{branch}",
        "--",
        "records/decision/on-the-branch.md",
    ).stdout
    other.git("update-ref", f"refs/heads/{branch}", f"refs/remotes/origin/{branch}~1")
    other.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    other.git("reset", "-q", "--hard")
    done = other.cortex("sync")
    assert done.returncode == 0, done.stdout
    assert (other.root / "records/decision/on-the-branch.md").exists()
    assert not trap.sprung()
    assert not pwned(clone.root, other.root, tmp_path)


# --- remotes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ext", "ssh"])
def test_an_address_that_is_a_command_is_refused(stranger, mine, trap, kind, tool) -> None:
    clone, naive = mine(), mine("naive")
    # A person may have allowed more than git does by itself: their own doing, and not ours to use.
    naive.git("config", "--global", "protocol.ext.allow", "always")
    if kind == "ext":
        url = f"ext::sh -c touch% '{trap.mark}'"
        naive.git("ls-remote", url, fails=True)
    else:
        url = f"ssh://-oProxyCommand=touch {trap.mark}/x"
        subprocess.run(
            [tool("ssh"), url.removeprefix("ssh://")[: -len("/x")], "x"],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    assert trap.sprung()
    clone.git("remote", "set-url", "origin", url)
    clone.record("kept")
    done = clone.cortex("sync")
    assert done.returncode == 1
    assert "nothing could be fetched from origin" in done.stdout
    clone.everything()
    assert not trap.sprung()
    assert clone.git("ls-tree", "--name-only", "HEAD", "--", "records/decision/kept.md").stdout
    sound = stranger.git("config", "remote.origin.url").stdout.strip()
    clone.git("remote", "set-url", "origin", sound)
    clone.git("config", "remote.origin.pushurl", url)
    done = clone.cortex("sync")
    assert (
        done.returncode,
        "nothing was pushed" in done.stdout or "did not take the push" in done.stdout,
    ) == (1, True), done.stdout
    assert not trap.sprung()


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a peer that accepts and never says anything."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    held.append(listening.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)
    for one in held:
        one.close()


def talking(port: int) -> list[str]:
    """The processes whose command line names the port."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        with contextlib.suppress(OSError):
            line = (
                Path("/proc", number, "cmdline")
                .read_bytes()
                .replace(b"\0", b" ")
                .decode("utf-8", "replace")
            )
            if f":{port}/" in line:
                found.append(line)
    return found


@pytest.mark.parametrize("scheme", ["git", "http"])
def test_a_remote_that_hangs_ends_with_a_message_and_leaves_no_process(
    mine, silent, monkeypatch, scheme
) -> None:
    clone = mine()
    url = f"{scheme}://127.0.0.1:{silent}/x"
    naive = subprocess.Popen(
        ["git", "ls-remote", url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        naive.wait(1.0)
    os.killpg(naive.pid, 9)
    naive.wait()
    deadline = time.monotonic() + 5
    while talking(silent) and time.monotonic() < deadline:
        time.sleep(0.05)

    monkeypatch.setenv("CORTEX_GIT_SILENCE", "1")
    clone.git("remote", "set-url", "origin", url)
    clone.record("kept")
    done = clone.cortex_process("sync")
    assert done.returncode == 1
    assert "the remote said nothing for 1 second" in done.stdout
    assert not talking(silent)
    assert clone.git("ls-tree", "--name-only", "HEAD", "--", "records/decision/kept.md").stdout
    clone.git("fsck", "--strict")
    assert not [
        path for path in (clone.root / ".git").rglob("*.lock") if not path.name.startswith("cortex")
    ]


@pytest.mark.parametrize("how", ["emptied", "orphaned", "a third"])
def test_a_remote_that_takes_the_notes_away_is_asked_about_first(stranger, mine, how) -> None:
    clone, naive = mine(), mine("naive")
    assert clone.cortex("sync").returncode == 0
    held = clone.notes()
    assert len(held) == 10
    if how == "orphaned":
        stranger.git("checkout", "-q", "--orphan", "empty")
        stranger.git("rm", "-rqf", ".")
        stranger.git("commit", "-q", "--allow-empty", "-m", "nothing")
        stranger.git("push", "-q", "--force", "origin", "empty:main")
        naive.git("fetch", "-q")
        naive.git("reset", "-q", "--hard", "origin/main")  # as many a mirror does
    else:
        stranger.git(
            "rm",
            "-q",
            *[
                f"records/decision/base-{number}.md"
                for number in range(10 if how == "emptied" else 5)
            ],
        )
        stranger.push()
        naive.git("pull", "-q")
    assert len(naive.notes()) in (0, 5)

    clone.record("of-mine")
    for _ in range(2):  # and again: asked once is not allowed
        done = clone.cortex("sync")
        assert done.returncode == 1
        assert (
            "no common history" if how == "orphaned" else "cortex sync --yes if that is right"
        ) in done.stdout
        assert {path: data for path, data in clone.notes().items() if path in held} == held
        assert clone.git("status", "--porcelain").stdout == ""
    assert set(clone.git("ls-files", "records").stdout.split()) == set(clone.notes())
    if how != "orphaned":
        before = clone.head()
        assert clone.cortex("sync", "--yes").returncode == 0
        assert len(clone.notes()) == (1 if how == "emptied" else 6)
        assert (
            "# base 0" in clone.cortex("history", "base-0", "--at", before).stdout
        )  # and it stays reachable


def test_a_history_rewritten_under_us_takes_no_note_away(stranger, mine) -> None:
    """The remote's last commits were dropped by force: a sync stops, and a clone that has them still
    has them to give back."""
    first = stranger.head()
    stranger.record("later")
    stranger.push()
    clone, naive = mine(), mine("naive")
    assert clone.cortex("sync").returncode == 0
    stranger.git("push", "-q", "--force", "origin", f"{first}:main")
    naive.git("fetch", "-q")
    naive.git("reset", "-q", "--hard", "origin/main")
    assert "records/decision/later.md" not in naive.notes()
    done = clone.cortex("sync")
    assert (done.returncode, "was rewritten; nothing was merged" in done.stdout) == (1, True)
    assert "records/decision/later.md" in clone.notes()
    before = clone.head()
    followed = clone.cortex("sync", "--follow")
    assert f"git log {before[:10]} shows the history before it" in followed.stdout
    assert "records/decision/later.md" not in clone.notes()
    clone.git("push", "-q", "origin", f"{before}:main")
    assert "records/decision/later.md" in mine("third").notes()


# --- what lies in the tree -----------------------------------------------------------------------------------------


def test_links_out_of_the_vault_are_neither_read_nor_written_through(
    stranger, mine, tmp_path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "app").mkdir()
    secret = tmp_path / "secret.md"
    secret.write_text("---\nid: x\ntype: decision\ntitle: hippopotamus\n---\nhippopotamus\n")
    os.symlink(secret, stranger.root / "records/decision/x.md")
    os.symlink("/etc/passwd", stranger.root / "records/decision/passwd.md")
    shutil.rmtree(stranger.root / "briefings")
    os.symlink(outside, stranger.root / "briefings")
    os.symlink(outside, stranger.root / "sessions")
    stranger.push()
    clone = mine()
    assert "hippopotamus" in (clone.root / "records/decision/x.md").read_text()
    (clone.root / "briefings/app/naive.md").write_text("written by somebody who follows links")
    assert (outside / "app/naive.md").exists()
    (outside / "app/naive.md").unlink()

    for words in EVERY:
        assert "hippopotamus" not in clone.cortex(*words).stdout
    assert [str(path.relative_to(outside)) for path in outside.rglob("*")] == ["app"]
    assert "root:" not in clone.cortex("show", "records/decision/passwd.md").stdout
    looked = clone.cortex("doctor")
    assert looked.returncode == 1
    for name in ("records/decision/x.md", "records/decision/passwd.md", "briefings", "sessions"):
        assert f"{name}: is a link" in looked.stdout
    clone.record("of-mine")
    assert clone.cortex("search", "mine").returncode == 0


def test_a_link_where_the_pages_should_be_stops_no_sync(stranger, mine, tmp_path) -> None:
    clone = mine()
    shutil.rmtree(stranger.root / "briefings")
    os.symlink(tmp_path, stranger.root / "briefings")
    stranger.push()
    clone.cortex("sync")
    assert (clone.root / "briefings").is_symlink()
    clone.record("of-mine")
    clone.cortex("sync")
    assert clone.git("ls-tree", "--name-only", "HEAD", "--", "records/decision/of-mine.md").stdout


def test_a_page_of_a_newer_program_is_left_alone_and_stops_no_other(stranger, mine) -> None:
    page = stranger.root / "briefings/app/decisions.md"
    text = page.read_text()
    forged = (
        re.sub(r"generator: \d+", "generator: 999", text, count=1).rstrip("\n") + "\nforged line\n"
    )
    assert forged != text
    page.write_text(forged)
    stranger.push()
    clone = mine()
    naive = (clone.root / "briefings/app/decisions.md").read_text()
    assert "forged line" in naive  # who reads the page, reads it
    clone.record("of-mine")
    healed = clone.cortex("heal")
    assert healed.returncode == 0
    assert "left alone" in healed.stdout
    assert "briefings/app/decisions.md" in healed.stdout
    assert (clone.root / "briefings/app/decisions.md").read_text() == forged
    assert "of mine" in (clone.root / "briefings/app/main.md").read_text()  # the others are healed
    assert "was made by a newer cortex" in clone.cortex("doctor").stdout
    stranger.record("later")
    stranger.push()
    for _ in range(2):
        done = clone.cortex("sync")
        assert done.returncode == 0, done.stdout
    assert "later" in (clone.root / "briefings/app/main.md").read_text()


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))


def test_a_pipe_or_a_huge_file_in_the_inbox_holds_up_no_other_event(stranger, mine, caller) -> None:
    good = capture(stranger.vault, caller, "Decision: a good one, because").id
    stranger.push()
    clone = mine()
    pending = clone.root / "inbox/pending"
    pipe, huge = (
        pending / "20261120t000000z-aaaaaaaaaa.md",
        pending / "20261120t000001z-bbbbbbbbbb.md",
    )
    os.mkfifo(pipe)
    with huge.open("wb") as file:
        file.write(b"---\nid: 20261120t000001z-bbbbbbbbbb\ntype: manual\n---\n")
        file.truncate(2 << 30)
    for path in (pipe, huge):
        naive = subprocess.Popen(
            [sys.executable, "-c", "import sys; open(sys.argv[1], 'rb').read()", str(path)],
            stderr=subprocess.DEVNULL,
            preexec_fn=limited,
        )
        try:
            assert naive.wait(1.5) != 0
        except subprocess.TimeoutExpired:
            naive.kill()
            naive.wait()

    for line in ("normalize", "status", "doctor", "heal", "search good", "sync"):
        words = line.split()
        done = clone.cortex_process(*words, preexec_fn=limited)
        assert done.returncode in (0, 1), (words, done.stdout, done.stderr)
    assert list(clone.root.glob(f"events/**/{good}.md"))
    assert clone.cortex("search", "good one").returncode == 0
    looked = clone.cortex("doctor").stdout
    assert pipe.name in looked or "inbox/failed" in looked
    assert huge.stem in looked


# --- what is shown -------------------------------------------------------------------------------------------------

EVIL = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u200b\x9b31m"


def shown(text: str) -> bool:
    """Whether nothing in it acts on a terminal or hides in it."""
    return (
        not any(character in text for character in "\x1b\x07\u202e\u200b\x9b\x7f")
        and "\r" not in text
    )


def test_escape_sequences_of_a_history_are_shown_and_not_sent(stranger, mine, tmp_path) -> None:
    file = stranger.root / "records/decision/base-0.md"
    branch = "evil\u202e\u200b\u009b31m"
    clone = mine()
    clone.git("checkout", "-q", "-b", branch)
    file = clone.root / "records/decision/base-0.md"
    file.write_text(file.read_text().replace("Because of it.", "Because."))
    clone.git("add", "-A")
    clone.git("-c", f"user.name=Mallory{EVIL}", "commit", "-qm", f"subject {EVIL}\n\nbody")
    clone.git("checkout", "-q", "main")
    clone.record("other")
    clone.commit()
    clone.git("merge", "-q", "--no-ff", "-m", f"Merge branch '{EVIL}'", branch)
    assert not shown(clone.git("log", "--format=%an %s").stdout)
    clone.git("checkout", "-q", branch)

    hook = tmp_path / "remote.git/hooks/pre-receive"
    hook.write_text(f"#!/bin/sh\nprintf '%s\\n' 'no: {EVIL}' >&2\nexit 1\n")
    hook.chmod(0o755)
    assert not shown(clone.git("push", "origin", "HEAD:refs/heads/x", fails=True).stderr)
    clone.record("new")
    outputs = []
    plain = (line.split() for line in ("sync", "history base-0", "status", "doctor", "git status"))
    for words in (*plain, ("history", "base-0", "--at", branch), ("history", EVIL), (EVIL,)):
        done = clone.cortex(*words)
        outputs.append(done.stdout)
        assert shown(done.stdout + done.stderr), words
    assert "gnp.exe" in outputs[0]  # the remote's refusal is told
    assert "gnp.exe" in outputs[1]


def test_replaced_objects_are_not_taken_for_the_history(stranger, mine) -> None:
    clone = mine()
    file = clone.root / "records/decision/base-0.md"
    real = clone.git("rev-parse", "HEAD:records/decision/base-0.md").stdout.strip()
    clone.write("forged", file.read_text().replace("Because of it.", "A forgery."))
    forged = clone.git("hash-object", "-w", "forged").stdout.strip()
    clone.git("replace", real, forged)
    assert "A forgery." in clone.git("show", "HEAD:records/decision/base-0.md").stdout
    at = clone.cortex("history", "base-0", "--at", "HEAD").stdout
    assert "Because of it." in at
    assert "A forgery." not in at


def test_a_graft_hides_no_history(stranger, mine) -> None:
    clone = mine()
    for number in range(3):
        file = clone.root / "records/decision/base-0.md"
        file.write_text(file.read_text() + f"\nLine {number}.\n")
        clone.commit(f"turn {number}")
    whole = clone.cortex("history", "base-0").stdout
    assert whole.count("turn") == 3
    clone.write(".git/info/grafts", clone.head() + "\n")
    assert clone.git("rev-list", "--count", "HEAD").stdout.strip() == "1"
    assert clone.cortex("history", "base-0").stdout == whole
