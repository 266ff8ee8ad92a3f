"""Four clones of one vault. People and Cortex capture, save topics, edit, relate, rename, delete and supersede in any order, and share by
`cortex sync`, `git pull`, `git pull --rebase`, one of them without our merge drivers. When all have synced at last, all
hold the same bytes: every event is there, no marker stands anywhere, and nothing that was written is lost unseen."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from cortex.core import emit, note as notes
from cortex.core.caller import Caller, silent
from cortex.core.problem import CortexError
from cortex.core.stretch import Step, Stretch, compose
from cortex.operations.capture import capture
from cortex.operations.heal import heal
from cortex.operations.inbox import normalize
from cortex.operations.init import init
from cortex.operations.pin import pin
from cortex.operations.relate import relate
from cortex.operations.restore import restore
from cortex.operations.retire import archive, delete
from cortex.operations.save import save
from cortex.operations.session import session
from cortex.operations.supersede import supersede
from cortex.operations.sync import sync
from cortex.operations.update import update
from cortex.vault import checkout, drivers, files
from cortex.vault.find import Vault

SOAK = os.environ.get("CORTEX_SOAK") == "1"
# The histories of a run are shared out, so that two cores work on them at once.
SHARES = 10
HISTORIES = int(os.environ.get("CORTEX_HISTORIES", 6000 if SOAK else 200)) // SHARES
CLONES = 4
BARE_HANDED = 3  # this clone never gets our drivers, as long as people only use git in it
TEXTS = ["Decision: keep it in one file. It is simple.", "Gotcha: it hangs", "Pattern: ask first", "Action: call Ada", "a note\n\nwith two\nlines"]

SAYS = [
    "Decision: carts expire after a day, because the table stays small.",
    "[MEMORY: decision, permanent] carts expire after a day",
    "Nothing to tell.",
]


class Clones(RuleBasedStateMachine):
    """The model: which events were acknowledged, which lines people added to notes that nobody deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="cortex-clones-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.number = itertools.count(1)
        self.captured: set[str] = set()
        self.added: set[str] = set()
        self.replaced: set[str] = set()  # of these, lines in records of a topic: a text that is saved later takes their place
        self.said: list[str] = []

    @initialize()
    def begin(self) -> None:
        first = self.folder / "clone0"
        init(self.caller(), str(first))
        self.git(first, "init", "-q", "-b", "main")
        drivers.register(str(first))
        (first / "mine.md").write_text("a note of my own\n")
        self.captured |= {capture(Vault(str(first)), self.caller(), TEXTS[kind], project="app", branch="main").id for kind in (0, 1)}
        normalize(Vault(str(first)), self.caller())
        self.git(first, "add", "-A")
        self.git(first, "commit", "-qm", "begin")
        self.git(self.folder, "clone", "-q", "--bare", "clone0", "remote")
        self.git(first, "remote", "add", "origin", "../remote")
        self.git(first, "fetch", "-q")
        self.git(first, "branch", "-q", "--set-upstream-to=origin/main")
        for number in range(1, CLONES):
            shutil.copytree(first, self.folder / f"clone{number}")
        drivers_of = self.folder / f"clone{BARE_HANDED}" / ".git/config"
        text = drivers_of.read_text()
        drivers_of.write_text(text[: text.index("[merge")] + text[text.index("[remote") :])

    def teardown(self) -> None:
        try:
            if (self.folder / "remote").exists():
                self.meet()
        finally:
            shutil.rmtree(self.folder)

    # What people do

    clones = st.integers(0, CLONES - 1)
    which = st.integers(0, 3)  # of the records, a few: so that two clones often mean the same one

    @rule(clone=clones, kind=st.integers(0, len(TEXTS) - 1), branch=st.sampled_from(["main", "side"]), now=st.booleans())
    def capture(self, clone: int, kind: int, branch: str, now: bool) -> None:
        vault = self.vault(clone)
        text = f"{TEXTS[kind]} {next(self.number)}" if kind else TEXTS[0]
        self.captured.add(
            capture(
                vault, self.caller(), text, project="app", branch=branch, session="s1" if kind == 1 else "", type="stop" if kind == 1 else "manual"
            ).id
        )
        if now:
            normalize(vault, self.caller())

    @rule(clone=clones, says=st.integers(0, len(SAYS)), name=st.sampled_from(["s1", "s2"]), branch=st.sampled_from(["main", "side"]))
    def work(self, clone: int, says: int, name: str, branch: str) -> None:
        """A turn of an agent, as its host's hook captures it. What it says another one says too; plans are its own."""
        vault, number = self.vault(clone), next(self.number)
        turn = (
            Stretch(SAYS[says])
            if says < len(SAYS)
            else Stretch(f"step {number}", plan=(Step("begin", done=True), Step(f"go on {number}", done=False)))
        )
        self.captured.add(capture(vault, self.caller(), compose(turn), type="stop", session=name, project="app", branch=branch).id)
        normalize(vault, self.caller())

    @rule(clone=clones, topic=st.sampled_from(["decision/storage", "bug/login"]), type=st.sampled_from(["", "pattern"]), says=st.booleans())
    def save(self, clone: int, topic: str, type: str, says: bool) -> None:
        number = next(self.number)
        more = {"priority": str(number % 10 + 1), "session": f"s{number % 2}"} if says else {"confidence": "0.5"}
        saved = save(
            self.vault(clone), self.caller(), f"Saved {number}", body=f"saved {number}\n\n- [ ] a task", type=type, topic=topic, project="app",
            tags=f"t{number % 3}", **more,
        )  # fmt: skip
        self.captured.add(saved.event)

    @rule(clone=clones, which=which, other=which, verb=st.sampled_from(["relate", "supersede", "update", "pin", "archive", "delete", "restore"]))
    def change_by_a_verb(self, clone: int, which: int, other: int, verb: str) -> None:
        _, path = self.note(clone, which)
        _, second = self.note(clone, other)
        if not path:
            return
        vault, caller, number = self.vault(clone), self.caller(), next(self.number)
        verbs: dict[str, Callable[[], object]] = {
            "relate": lambda: relate(vault, caller, path, "refines", second),
            "supersede": lambda: supersede(vault, caller, path, by=second),
            "update": lambda: update(vault, caller, path, title=f"Updated {number}", priority=str(number % 10 + 1)),
            "pin": lambda: pin(vault, caller, path),
            "archive": lambda: archive(vault, caller, path),
            "delete": lambda: delete(vault, caller, path),
            "restore": lambda: restore(vault, caller, path),
        }
        try:
            verbs[verb]()
        except CortexError as error:
            assert error.hint, error  # it may not be done to this one; then it says what may

    @rule(clone=clones, name=st.sampled_from(["s1", "s2"]), end=st.booleans())
    def session(self, clone: int, name: str, end: bool) -> None:
        try:
            if end:
                session(self.vault(clone), self.caller(), "end", name, project="app", summary=f"did {next(self.number)}")
            else:
                session(self.vault(clone), self.caller(), "start", name, project="app", goal=f"goal {next(self.number)}")
        except CortexError as error:
            assert error.hint, error

    @rule(clone=clones, which=which)
    def add_a_line(self, clone: int, which: int) -> None:
        def add(note: notes.Note) -> notes.Note:
            line = f"added {next(self.number)}"
            self.added.add(line)
            if note.get("topic"):
                self.replaced.add(line)
            return notes.insert_body_line(note, line, 10**6)

        self.edit(clone, which, add)

    @rule(clone=clones, which=which)
    def change_a_line(self, clone: int, which: int) -> None:
        def change(note: notes.Note) -> notes.Note:
            lines = note.body.split(b"\n")
            at = next((place for place, line in enumerate(lines) if line.strip() and not line.startswith(b"added")), None)
            if at is None:
                return note
            lines[at] = f"changed {next(self.number)}".encode()
            return note._replace(body=b"\n".join(lines))

        self.edit(clone, which, change)

    @rule(clone=clones, which=which, field=st.sampled_from(["title", "status", "tags", "due"]))
    def change_a_field(self, clone: int, which: int, field: str) -> None:
        number = next(self.number)
        values: dict[str, emit.Value] = {
            "title": f"Title {number}",
            "status": "superseded",
            "tags": [f"t{number}"],
            "due": f"2026-12-{number % 28 + 1:02}",
        }
        self.edit(clone, which, lambda note: notes.set_field(note, field, emit.field(field, values[field])))

    @rule(clone=clones, which=which, place=st.sampled_from(["records/decision", "records", "Ideas"]))
    def rename(self, clone: int, which: int, place: str) -> None:
        root, path = self.note(clone, which)
        if path:
            target = f"{place}/moved {next(self.number)}.md"
            (root / target).parent.mkdir(parents=True, exist_ok=True)
            (root / path).rename(root / target)

    @rule(clone=clones, which=which)
    def delete(self, clone: int, which: int) -> None:
        root, path = self.note(clone, which)
        if path:
            self.forget((root / path).read_text())
            (root / path).unlink()

    @rule(clone=clones)
    def heal(self, clone: int) -> None:
        heal(self.vault(clone), self.caller())

    # How they share

    @rule(clone=st.integers(0, CLONES - 2))
    def sync(self, clone: int) -> None:
        self.synced(clone)

    @rule(clone=clones, how=st.sampled_from(["--no-rebase", "--rebase"]))
    def pull_and_push(self, clone: int, how: str) -> None:
        """As a person does who knows git alone: what git cannot merge, they leave for later."""
        root = self.root(clone)
        self.git(root, "add", "-A")
        self.git(root, "commit", "-qm", "by hand", fails=True)
        self.git(root, "pull", "-q", "--no-edit", how, fails=True)
        if what := checkout.under_way(str(root)):
            self.git(root, what, "--abort")
            return
        self.git(root, "push", "-q", fails=True)

    # What must hold

    def meet(self) -> None:
        """Everybody syncs until nobody has anything left to say."""
        trees: set[str] = set()
        for turn in range(4 * CLONES):
            self.synced(turn % CLONES)
            if turn >= CLONES:
                trees = {self.git(self.root(clone), "rev-parse", "HEAD") for clone in range(CLONES)}
                if len(trees) == 1:
                    break
        assert len(trees) == 1, "the clones do not come to one commit: " + " | ".join(self.said[-8:])
        held = [self.held(clone) for clone in range(CLONES)]
        assert all(one == held[0] for one in held)
        assert self.git(self.root(0), "status", "--porcelain", "--", "records", "events", "sessions", "briefings", "inbox") == ""
        everything = "\n".join(held[0].values())
        assert not [path for path, text in held[0].items() if "<<<<<<<" in text or ">>>>>>>" in text or "\n=======\n" in text]
        assert self.captured <= {Path(path).stem for path in held[0] if path.startswith("events/")}
        assert not [path for path in held[0] if path.startswith("inbox/")]
        lost = [line for line in self.added if f"\n{line}\n" not in f"{everything}\n"]
        assert not {*lost} - (self.replaced & self.kept_by_git(lost)), "a line that somebody added is gone"
        for path, text in held[0].items():
            if path.startswith(("records/", "sessions/", "Ideas/")):
                assert not notes.read(text.encode(), path).problems, path
        ids = [notes.read(text.encode()).get("id") for path, text in held[0].items() if path.startswith(("records/", "Ideas/"))]
        assert len(ids) == len(set(ids)), "one record in two places"
        wrong = heal(self.vault(0), self.caller(), check=True)
        assert not wrong.stale

    def kept_by_git(self, lost: list[str]) -> set[str]:
        """Of these lines those that stand in a commit of any clone, if only in one that a rebase has left."""
        if not lost:
            return set()
        said = "".join(self.git(self.root(clone), "log", "--all", "--reflog", "-p", "--format=", "--diff-merges=off") for clone in range(CLONES))
        return set(re.findall(r"^\+(added \d+)$", said, re.MULTILINE))

    def synced(self, clone: int) -> None:
        """Sync; what waits for a person is mended by keeping all the lines."""
        vault = self.vault(clone)
        self.git(vault.root, "add", "-A", "--", ".", ":!records", ":!events", ":!sessions", ":!briefings", ":!inbox")
        self.git(vault.root, "commit", "-qm", "my own", fails=True)
        for _ in range(4):
            done = sync(vault, self.caller())
            self.said.append(f"{clone}: {done.trouble or done.how or done.push} {done.problems} {done.waiting}")
            if not done.waiting:
                assert not done.trouble, done
                return
            for problem in done.waiting:
                path = Path(vault.root, problem.where)
                lines = path.read_text().split("\n")
                path.write_text("\n".join(line for line in lines if not line.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||"))))
        raise AssertionError(f"sync waits again and again: {done}")

    # By what means

    def caller(self) -> Caller:
        number = next(self.number)
        return Caller(
            "/",
            f"2026-11-20T{10 + number // 3600 % 10:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            lambda size: number.to_bytes(size, "big"),
            "test",
            silent,
        )

    def root(self, clone: int) -> Path:
        return self.folder / f"clone{clone}"

    def vault(self, clone: int) -> Vault:
        return Vault(str(self.root(clone)))

    def note(self, clone: int, which: int) -> tuple[Path, str]:
        """The path of one of a clone's records, the same for the same number where the clones agree."""
        root = self.root(clone)
        found = sorted(str(path.relative_to(root)) for folder in ("records", "Ideas") for path in root.glob(f"{folder}/**/*.md"))
        return root, found[which % len(found)] if found else ""

    def edit(self, clone: int, which: int, change: Callable[[notes.Note], notes.Note]) -> None:
        root, path = self.note(clone, which)
        if path:
            before = files.read(str(root), path)
            after = change(notes.read(before))
            after = notes.set_field(after, "updated", emit.field("updated", self.caller().now))
            (root / path).write_bytes(notes.write(after))

    def forget(self, text: str) -> None:
        self.added -= {line for line in text.split("\n") if line.startswith("added ")}

    def held(self, clone: int) -> dict[str, str]:
        root = self.root(clone)
        return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*.md")) if ".git" not in path.parts}

    def git(self, folder: str | Path, *words: str, fails: bool = False) -> str:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False, env=os.environ | {"GIT_EDITOR": "true"}
        )
        assert fails or done.returncode == 0, f"git {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.mark.parametrize("share", range(SHARES))
def test_all_clones_come_to_the_same_bytes(share: int) -> None:
    machine = type(f"Clones{share}", (Clones,), {})  # the class's name is part of Hypothesis's seed when it is derandomized
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=20 if SOAK else 9,
            deadline=None,
            derandomize=not SOAK,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
