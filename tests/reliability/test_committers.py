"""Three processes that capture and sync, a watcher that commits, and a person at work with git in the same repository:
for a while, all at once. Nobody's work is lost, nobody's work is in another's commit, nobody is left locked out."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.operations.care.init import init
from cortex.operations.share.sync import sync
from cortex.vault.git import changes, commit as commits_of
from cortex.vault.locate import Vault

SEED = 20261120
SOAK = os.environ.get("CORTEX_SOAK") == "1"
BUSY, CALM = (4.0 if SOAK else 2.0), 4.0  # seconds: in the calm the watcher finds time to commit
SECONDS = (8 if SOAK else 1) * (BUSY + CALM)
MOST = SECONDS + 240  # seconds that it may last on a busy machine, until everybody has done enough
OURS = ("inbox/", "events/", "records/", "sessions/", "briefings/", "cortex.toml", ".gitattributes")
ID = re.compile(r"\d{8}t\d{6}z-[a-z0-9]{10}")
# What a sync may say instead of committing. The last one is no good answer: see the last test.
_TOLD = re.compile(r"another (?:cortex|git) is busy")
_BUSY = re.compile(
    r"index\.lock|HEAD\.lock|cannot lock ref|Unable to create|is at .{1,100} but expected"
)


# Who made a commit is told by its author: two gits that commit at once share one COMMIT_EDITMSG, and may swap messages.
PERSON = {"GIT_AUTHOR_NAME": "Person"}


def run(
    root: str, *words: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=root,
        env=os.environ | (environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


class Worker(threading.Thread):
    """Somebody who does the same again and again until it is time; what went wrong is told at the end."""

    def __init__(self, root: str, begun: float, number: int, enough: Callable[[], bool]) -> None:
        super().__init__()
        self.root, self.begun, self.enough, self.chance = (
            root, begun, enough, random.Random(SEED + number),
        )  # fmt: skip
        self.trouble: list[str] = []

    def run(self) -> None:
        turn = 0
        while (now := time.monotonic() - self.begun) < SECONDS or (
            now < MOST and not self.enough()
        ):
            period = BUSY + (
                CALM if now < SECONDS else 4 * CALM
            )  # whom a busy machine left no time gets more of it
            if now % period < BUSY:
                self.turn(turn)
                turn += 1
            else:
                self.calm()
                time.sleep(max(0.0, period - (time.monotonic() - self.begun) % period))

    def turn(self, turn: int) -> None:
        raise NotImplementedError

    def calm(self) -> None:
        """What is done before the others have their time."""

    def pause(self, most: float) -> None:
        time.sleep(self.chance.uniform(0, most))


class Agent(Worker):
    """A process that captures, now and then edits a record, and syncs."""

    def __init__(
        self, root: str, begun: float, number: int, enough: Callable[[], bool], *words: str
    ) -> None:
        super().__init__(root, begun, number, enough)
        self.words = words
        self.syncing = False
        self.number = number
        self.acknowledged: list[str] = []
        self.commits = 0

    def turn(self, turn: int) -> None:
        for n in range(self.chance.randrange(1, 4)):
            self.capture(f"{turn}.{n}")
        self.syncing = True
        done = run(self.root, sys.executable, "-m", "cortex", "sync", *self.words)
        self.commits += done.stdout.count("committed ")
        self.syncing = False
        # Who finds another at work waits a while and is told so; everything is on the disk, the next sync takes it.
        if done.returncode and not _TOLD.search(done.stdout + done.stderr):
            self.trouble.append(f"sync: {done.returncode} {done.stdout}{done.stderr}")

    def calm(self) -> None:
        self.capture(f"of the watcher, {len(self.acknowledged)}")

    def capture(self, number: str) -> None:
        done = run(
            self.root,
            sys.executable,
            "-m",
            "cortex",
            "capture",
            f"Decision: number {number} of agent {self.number}, because it is so",
        )
        if done.returncode:
            self.trouble.append(f"capture: {done.stderr}")
        else:
            self.acknowledged.append(done.stdout.strip())


class Person(Worker):
    """Edits and commits code of their own with plain git, while other things lie staged for later."""

    def __init__(self, root: str, begun: float, number: int, enough: Callable[[], bool]) -> None:
        super().__init__(root, begun, number, enough)
        self.commits: list[set[str]] = []  # the files that each should hold, in order
        self.staged: dict[str, str] = {}  # path -> what the index holds of it
        self.busy = 0

    def git(self, *words: str) -> str:
        for _ in range(400):
            done = run(self.root, "git", *words, environment=PERSON)
            if not done.returncode:
                return done.stdout
            if not _BUSY.search(done.stderr):
                break
            self.busy += 1
            self.pause(0.1)
        self.trouble.append(f"git {' '.join(words)}: {done.stdout}{done.stderr}")
        return ""

    def calm(self) -> None:
        self.stage("src/calm.py", f"{len(self.commits)}\n")

    def write(self, path: str, text: str) -> None:
        file = Path(self.root, path)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def stage(self, path: str, text: str) -> None:
        self.write(path, text)
        self.git("add", "--", path)
        self.staged[path] = text

    def turn(self, turn: int) -> None:
        self.write("code.py", f"print({turn})\n")
        self.pause(0.3)
        self.stage("code.py", f"print({turn})\n")
        if turn % 3 == 1:
            self.stage(f"src/new{turn}.py", f"{turn}\n")
        self.pause(0.6)
        message = f"person {turn}"
        if turn % 3 == 2:  # one file alone; what else is staged stays so, and is left half edited
            self.stage("later.txt", f"staged in turn {turn}\n")
            self.write("later.txt", f"edited on in turn {turn}\n")
            self.git("commit", "-q", "-m", message, "--", "code.py")
            self.commits.append({"code.py"})
            del self.staged["code.py"]
        else:
            self.git("commit", "-q", "-m", message)
            self.commits.append(set(self.staged))
            self.staged.clear()


@pytest.fixture
def vault(tmp_path: Path, caller: Caller) -> Vault:
    """A standalone vault with a bare remote, in which a person keeps code as well."""
    made = Vault(init(caller, str(tmp_path / "vault")).root)
    Path(made.root, "code.py").write_text("print()\n")
    Path(made.root, "later.txt").write_text("first\n")
    with Path(made.root, "cortex.toml").open(
        "a"
    ) as settings:  # whose notes are whose is shown here
        settings.write("\n[sync]\nnotes = false\npush = true\n")
    for words in (
        ("init", "-q"),
        ("add", "-A"),
        ("commit", "-qm", "begin"),
        ("clone", "-q", "--bare", ".", str(tmp_path / "remote.git")),
    ):
        assert run(made.root, "git", *words).returncode == 0
    run(made.root, "git", "remote", "add", "origin", str(tmp_path / "remote.git"))
    assert not sync(made, caller).trouble
    return made


@pytest.fixture
def watcher(vault: Vault, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (tmp_path / "watch.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "cortex", "watch", "--quiet", "1"],
            cwd=vault.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    yield process
    if process.poll() is None:
        process.kill()
        process.wait()


def commits(root: str, *range_: str) -> Iterator[tuple[bool, str, set[str]]]:
    """Of every commit, oldest first, the first aside: whether the person made it, its subject, its files."""
    shape = (
        "--format=%x01%an%x02%s", "--name-only", "-z", "--no-renames", "--diff-merges=first-parent",
        "--min-parents=1", "--reverse",
    )  # fmt: skip
    for entry in run(root, "git", "log", *shape, *range_).stdout.split("\x01")[1:]:
        head, _, names = entry.partition("\0")
        author, _, subject = head.partition("\x02")
        yield (
            author == "Person",
            subject,
            {name.strip("\n") for name in names.split("\0") if name.strip("\n")},
        )


def is_ours(path: str) -> bool:
    return path.startswith(OURS)


def blob(root: str, revision: str) -> str:
    return run(root, "git", "cat-file", "blob", revision).stdout


def test_nobody_loses_anything_and_nobody_commits_what_is_anothers(
    vault, watcher, tmp_path
) -> None:
    root = vault.root
    begun = time.monotonic()

    def enough() -> bool:
        """Whether all have committed a few times, the watcher too. Not known while a sync may have committed and not said so."""
        by_sync, idle = (
            sum(agent.commits for agent in agents),
            not any(agent.syncing for agent in agents),
        )
        made = [theirs for theirs, _, _ in commits(root)]
        many = (
            sum(len(agent.acknowledged) for agent in agents) > 10
            and made.count(True) > 3
            and made.count(False) > by_sync
        )
        return many and idle and not any(agent.syncing for agent in agents)

    agents = [
        Agent(root, begun, number, enough, *(["--no-push"] if number else []))
        for number in range(3)
    ]
    person = Person(root, begun, 3, enough)
    for worker in (*agents, person):
        worker.start()
    for worker in (*agents, person):
        worker.join()
    person.stage("src/last.py", "staged at the end\n")
    assert watcher.poll() is None, (tmp_path / "watch.log").read_text()
    stopped = run(root, sys.executable, "-m", "cortex", "watch", "--stop")
    assert (stopped.returncode, watcher.wait(30)) == (0, 0), (tmp_path / "watch.log").read_text()
    final = run(root, sys.executable, "-m", "cortex", "sync")
    assert final.returncode == 0, final.stdout + final.stderr
    said = (tmp_path / "watch.log").read_text()
    assert not [line for worker in (*agents, person) for line in worker.trouble], f"seed {SEED}"

    made = list(commits(root))
    mine = [names for theirs, _, names in made if not theirs]
    theirs = [names for theirs, _, names in made if theirs]
    assert [sorted(names) for names in mine if not all(map(is_ours, names))] == []
    # Beside a git that commits without a pause, about one commit of a person in 150 was seen to take a note of ours along.
    assert [{name for name in names if not is_ours(name)} for names in theirs] == person.commits

    acknowledged = [id_ for agent in agents for id_ in agent.acknowledged]
    tree = run(root, "git", "ls-tree", "-r", "--name-only", "HEAD").stdout.split("\n")
    places = Counter(ID.search(path)[0] for path in tree if path.startswith(("inbox/", "events/")))
    assert {id_: places[id_] for id_ in acknowledged} == dict.fromkeys(acknowledged, 1)
    assert not [path for path in tree if path.startswith("inbox/") and path.endswith(".md")]
    assert (
        run(root, "git", "rev-parse", "HEAD").stdout
        == run(root, "git", "rev-parse", "origin/main").stdout
    )

    staged = {
        path: blob(root, f":{path}")
        for path in run(root, "git", "diff", "--cached", "--name-only").stdout.split()
    }
    assert staged == person.staged
    assert not [
        path for path in Path(root, ".git").rglob("*.lock") if not path.name.startswith("cortex")
    ]
    fsck = run(root, "git", "fsck", "--strict", "--no-dangling")
    assert (fsck.returncode, fsck.stdout) == (0, ""), fsck.stdout + fsck.stderr
    assert run(root, sys.executable, "-m", "cortex", "heal", "--check").returncode == 0
    by_sync = sum(agent.commits for agent in agents)
    assert len(acknowledged) > 10
    assert len(theirs) > 3
    assert len(mine) > by_sync, "the watcher never committed: nothing was shown of it"
    print(
        f"\n{len(acknowledged)} events of 3 agents, {len(mine)} commits by Cortex ({by_sync} by sync), "
        f"{len(theirs)} by the person ({sum(any(map(is_ours, names)) for names in theirs)} took notes of ours along), who met {person.busy} locks; the watcher said: {said.count('failed')} failures"
    )


SHIM = """#!/bin/sh
# Before each git of ours, in a soak also behind it, a person commits what they have staged. With one message for all the
# commits of a second each could be a pick of the other, and would be compared with it: 3,000 processes of git.
person() {{ ( unset GIT_LITERAL_PATHSPECS; echo . >> code.py; {git} add code.py; GIT_AUTHOR_NAME=Person {git} commit -qm "person $(wc -l <code.py)" ) >&2 </dev/null 2>>{log}; }}
cd {root} && person
cd "$OLDPWD"; {git} "$@"; code=$?
cd {root} && {after}
exit $code
"""


def with_git(folder: Path, script: str) -> str:
    """A PATH on which this script stands in the place of git."""
    (folder / "shims").mkdir()
    (folder / "shims/git").write_text(script)
    (folder / "shims/git").chmod(0o755)
    return f"{folder}/shims:{os.environ['PATH']}"


def test_a_person_who_commits_between_any_two_of_our_steps_commits_only_what_is_theirs(
    vault, tmp_path, tool
) -> None:
    root = vault.root
    begun = run(root, "git", "rev-parse", "HEAD").stdout.strip()
    for number in range(3):
        run(root, sys.executable, "-m", "cortex", "capture", f"Decision: {number}, because")
    after = "person" if SOAK else ":"
    script = SHIM.format(git=tool("git"), root=root, log=tmp_path / "person.log", after=after)
    path = {"PATH": with_git(tmp_path, script)}
    done = run(root, sys.executable, "-m", "cortex", "sync", "--no-push", environment=path)
    assert done.returncode == 0, done.stdout + done.stderr
    made = list(commits(root, f"{begun}.."))
    assert len(made) > 10, (tmp_path / "person.log").read_text()
    assert run(root, sys.executable, "-m", "cortex", "status").returncode == 0
    assert len(run(root, "git", "ls-files", "events").stdout.split()) == 3
    assert [names for theirs, _, names in made if not theirs and not all(map(is_ours, names))] == []
    assert [names for theirs, _, names in made if theirs and names != {"code.py"}] == []


MOVES = """#!/bin/sh
case "$*" in *" update-index "*|*" add "*) [ -e {once} ] || {{ touch {once}; {python} -m cortex normalize --vault {root} >/dev/null; }};; esac
exec {git} "$@"
"""


def test_an_event_that_another_process_normalizes_just_now_stops_no_commit(
    vault, tmp_path, tool, monkeypatch
) -> None:
    root = vault.root
    event = run(
        root, sys.executable, "-m", "cortex", "capture", "Decision: one, because"
    ).stdout.strip()
    Path(root, "records/decision").mkdir(exist_ok=True)
    Path(root, "records/decision/mine-aaaaaa.md").write_text(
        "---\nid: mine-aaaaaa\ntype: decision\ntitle: Mine\n---\nMine.\n"
    )
    changed = changes.list_changes(root)
    assert f"inbox/pending/{event}.md" in [one.path for one in changed]
    once = tmp_path / "once"
    script = MOVES.format(git=tool("git"), root=root, once=once, python=sys.executable)
    monkeypatch.setenv("PATH", with_git(tmp_path, script))
    kept = commits_of.commit_changes(root, changed)
    assert once.exists()
    assert "records/decision/mine-aaaaaa.md" in kept.paths
