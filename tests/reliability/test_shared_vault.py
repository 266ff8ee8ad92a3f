"""A vault that two users of one machine share through a Unix group: real users, real processes, each with umask 022.

Needs root, to become these users.
"""

from __future__ import annotations

import os
import shutil
import site
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

GROUP = 23_456
HERE = Path(__file__).resolve().parents[2]


class User(NamedTuple):
    """A user of the machine, member of the group, with a home of their own."""

    uid: int
    home: Path
    python: str = ""

    def start(self, *words: str, cwd: Path | None = None, code: str = "") -> subprocess.Popen[str]:
        environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(HERE), *site.getsitepackages()]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        command = ["sh", "-c", code] if code else words
        return subprocess.Popen(
            command, user=self.uid, group=self.uid, extra_groups=[GROUP], umask=0o022, env=environment, cwd=cwd or self.home,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, *words: str, cwd: Path | None = None, code: str = "", ok: bool = True) -> str:
        """Run a program and give all it says; it must end well unless `ok` is false."""
        process = self.start(*words, cwd=cwd, code=code)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0 or not ok, out + err
        return out + err

    def cortex(self, vault: Path, *words: str, ok: bool = True) -> str:
        return self.run(self.python, "-m", "cortex", *words, cwd=vault, ok=ok)


def python_for(user: User) -> str:
    """A Python of this version that the user can run; skips the test where there is none."""
    for python in (sys.executable, f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"):
        with suppress(OSError):
            process = user.start(
                python, "-c", "import cortex.interfaces.cli.main, whoosh.index, frontmatter, git"
            )
            if not process.communicate(timeout=60)[1] and process.returncode == 0:
                return python
    pytest.skip(
        f"not run: another user can run neither {sys.executable} nor a Python of the system"
    )


class Shared(NamedTuple):
    """A vault of a group with a remote of the group, and two of its users."""

    base: Path
    vault: Path
    remote: Path
    ann: User
    ben: User


@pytest.fixture
def shared() -> Iterator[Shared]:
    if os.geteuid() != 0:
        pytest.skip("not run: two users need root")
    base = Path(tempfile.mkdtemp(prefix="cortex-group-"))
    base.chmod(0o755)
    try:
        users = []
        for uid in (12_345, 12_346):
            home = base / str(uid)
            home.mkdir()
            (home / ".gitconfig").write_text(
                f"[user]\n\tname = U{uid}\n\temail = u{uid}@example.org\n[init]\n\tdefaultBranch = main\n"
                f"[safe]\n\tdirectory = {base}/vault\n\tdirectory = {base}/vault/.git\n\tdirectory = {base}/remote\n"
            )
            for path in (home, home / ".gitconfig"):
                os.chown(path, uid, uid)
            users.append(User(uid, home))
        ann, ben = (user._replace(python=python_for(user)) for user in users)
        for name in ("vault", "remote"):
            (base / name).mkdir()
            os.chown(base / name, ann.uid, GROUP)
            (base / name).chmod(0o2770)
        ann.run("git", "init", "-q", "--bare", "--shared=group", str(base / "remote"))
        ann.cortex(base, "init", str(base / "vault"))
        ann.run("git", "init", "-q", "--shared=group", str(base / "vault"))
        ann.run("git", "remote", "add", "origin", str(base / "remote"), cwd=base / "vault")
        yield Shared(base, base / "vault", base / "remote", ann, ben)
    finally:
        shutil.rmtree(base)


def not_shared(vault: Path) -> list[str]:
    """What the whole group cannot use in the vault's own folders, or others can."""
    found = []
    for parent, folders, names in os.walk(vault):
        if Path(parent) == vault:
            folders.remove(".git")
        for path in (Path(parent, name) for name in (*folders, *names)):
            status = path.lstat()
            wanted = 0o2070 if path.is_dir() else 0o060
            if status.st_gid != GROUP or status.st_mode & wanted != wanted:
                found.append(f"{path} {stat.filemode(status.st_mode)} {status.st_gid}")
    return found


def in_all(vault: Path, pattern: str) -> int:
    return len(list(vault.glob(pattern)))


def test_two_users_capture_normalize_search_edit_and_sync(shared, soak) -> None:
    _, vault, remote, ann, ben = shared
    turns = 3 if soak else 2
    for turn in range(turns):
        for user, other in ((ann, ben), (ben, ann)):
            user.cortex(
                vault, "capture", f"Decision: number {turn} of {user.uid}, because it is ours"
            )
            other.cortex(vault, "normalize")
            assert f"Number {turn} of {user.uid}" in other.cortex(vault, "search", f"number {turn}")
            user.cortex(
                vault,
                "save",
                f"Said by {user.uid} in turn {turn}",
                "--topic",
                "decision/both",
                "--body",
                f"as {user.uid} says",
            )
            assert (
                "synced" in other.cortex(vault, "sync")
                or other.run("git", "status", "--porcelain", cwd=vault) == ""
            )
        # Somebody elsewhere adds notes of a folder that is new here: git makes it in the next sync.
        away = ben.home / f"clone{turn}"
        ben.run("git", "clone", "-q", str(remote), str(away))
        note = away / f"records/pattern/from-away-{turn}.md"
        text = f"---\nid: from-away-{turn}\ntype: pattern\ntitle: From away {turn}\n---\nx\n"
        ben.run(
            code=f"mkdir -p {note.parent} && printf %s '{text}' > {note} && cd {away} && git add . && git commit -qm away && git push -q"
        )
        (ann, ben)[turn % 2].cortex(vault, "sync")
        (ben, ann)[turn % 2].cortex(vault, "revise", f"from-away-{turn}", "--add-tags", "seen")
    ann.cortex(vault, "sync")
    assert not_shared(vault) == []
    assert (in_all(vault, "inbox/pending/*.md"), in_all(vault, "events/*/*/*.md")) == (0, 4 * turns)
    for user in (ann, ben):
        assert "no problems" in user.cortex(vault, "doctor")
        assert user.run("git", "status", "--porcelain", cwd=vault) == ""
        assert user.run("git", "fsck", "--full", "--no-dangling", cwd=vault) == ""


def test_two_users_at_once_lose_no_event_and_make_none_twice(shared) -> None:
    """The locks of one user's own state folder would keep nobody else out."""
    _, vault, _, ann, ben = shared
    ann.cortex(vault, "sync", "--no-push", ok=False)
    each = 5
    cortex = f"{ann.python} -m cortex"
    work = 'for n in $(seq {each}); do {cortex} capture "Decision: $n of {uid}, because we are two" && {cortex} normalize && {cortex} heal || exit 1; done'
    both = [
        user.start(code=work.format(each=each, cortex=cortex, uid=user.uid), cwd=vault)
        for user in (ann, ben)
    ]
    for process in both:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
    ann.cortex(vault, "normalize")
    assert (
        in_all(vault, "inbox/*/*.md"),
        in_all(vault, "events/*/*/*.md"),
        in_all(vault, "records/decision/*.md"),
    ) == (0, 2 * each, 2 * each)
    assert not_shared(vault) == []
    assert sorted(os.listdir(vault / ".git/cortex-locks")) == [
        "heal.lock",
        "normalize.lock",
        "sync.lock",
    ]


def test_git_s_distrust_is_told_with_the_command_that_ends_it(shared) -> None:
    _, vault, _, ann, ben = shared
    ann.cortex(vault, "capture", "Decision: first, because somebody must be")
    (ben.home / ".gitconfig").write_text("[user]\n\tname = B\n\temail = b@example.org\n")
    hint = f"git config --global --add safe.directory {vault}"
    assert hint in ben.cortex(vault, "sync", "--no-push", ok=False)
    said = ben.cortex(vault, "doctor", ok=False)
    assert f"{vault} belongs to another user, so git refuses it" in said
    assert hint in said
    assert "git fsck" not in said
    ben.cortex(vault, "doctor", "--fix", ok=False)
    assert not list(vault.glob(".git/cortex-damaged"))
    ben.run(code=hint)
    assert "committed" in ben.cortex(vault, "sync", "--no-push", ok=False)


@pytest.mark.parametrize("left", ["git not shared", "the folder not shared", "no git"])
def test_doctor_says_what_keeps_the_group_out_and_its_command_mends_it(left, shared) -> None:
    _, vault, _, ann, ben = shared
    ann.cortex(vault, "capture", "Decision: first, because somebody must be")
    ann.cortex(vault, "sync")
    if left == "git not shared":
        ann.run(code="git config --unset core.sharedRepository; chmod -R g-ws .git", cwd=vault)
        expected = "is not shared by the group"
    elif left == "the folder not shared":
        vault.chmod(0o750)
        expected = "is not writable by the group that git shares the repository with"
    else:
        shutil.rmtree(vault / ".git")
        expected = "nothing keeps two users from normalizing at once"
    said = ann.cortex(vault, "doctor", ok=False)
    assert expected in said
    hint = next(
        line for line in said.splitlines() if "chmod g+" in line or "git init --shared" in line
    ).strip()
    ann.run(code=hint.partition(": ")[2] if hint.startswith("as ") else hint)
    said = ann.cortex(vault, "doctor", ok=False)
    assert "group" not in said, said
    ben.cortex(vault, "capture", "Decision: second, because the first has gone")
    ben.cortex(vault, "normalize")
    assert not_shared(vault) == []


def test_a_vault_of_one_user_stays_theirs(shared) -> None:
    _, _, _, ann, ben = shared
    own = ann.home / "own"
    ann.home.chmod(0o755)
    ann.cortex(ann.home, "init", str(own))
    ann.run("git", "init", "-q", str(own))
    ann.cortex(own, "capture", "Decision: mine, because it is nobody else's")
    event = next(own.glob("inbox/pending/*.md"))
    assert stat.S_IMODE(event.stat().st_mode) == 0o600
    assert stat.S_IMODE(event.parent.stat().st_mode) == 0o700
    assert "no problems" in ann.cortex(own, "doctor")
    for opened in (False, True):
        if opened:
            ann.run("chmod", "-R", "go+rX", str(own))
        assert "belongs to 12345, and you may not write into it" in ben.cortex(
            own, "doctor", ok=False
        )
