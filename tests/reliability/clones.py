"""A model of several clones of one vault: what people, Cortex and git do in them, and what must hold afterwards.

Every text that is written holds a word of its own (`fact-12`, `edit-7`, `own-3`), and the model knows to which note each
word belongs. So a note that holds a word of another note is two notes merged into one, whatever the notes look like.

Run histories by hand: `python -m tests.reliability.clones 0:100 [steps per clone]`.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from cortex.core.merge.note_versions import note_id
from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.event import session_note_id
from cortex.core.model.layout import AT_ROOT
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.turn_summary import PlannedStep, TurnSummary, compose_text
from cortex.core.normalize.handlers import parse_event, records_from_event
from cortex.core.notes import note as notes
from cortex.core.text import yaml_writer
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.records.archive import archive, delete
from cortex.operations.records.capture import capture
from cortex.operations.records.relate import relate
from cortex.operations.records.restore import restore
from cortex.operations.records.revise import pin, revise
from cortex.operations.records.save import save
from cortex.operations.records.supersede import supersede
from cortex.operations.sessions.session import session
from cortex.operations.share.sync import sync
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files
from cortex.vault.git import checkout, drivers
from cortex.vault.locate import Vault
from tests.conftest import run_git

KINDS = [
    "Decision: keep it in one file", "Gotcha: it hangs", "Pattern: ask first", "Action: call Ada",
    "a note\n\nwith two\nlines",
]  # fmt: skip
ALIKE = "\n".join(
    f"What all records of this vault say, so that git takes one for another: line {number}."
    for number in range(6)
)
WORD = re.compile(r"\b(?:fact|edit|own)-\d+\b")
MARKERS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
FIRST_SECOND = 1_795_600_000
ATTRIBUTES = ""  # in place of the vault's own; for the control
OURS = ("records", "events", "sessions", "briefings", "inbox")


class Lost(AssertionError):
    """A promise was broken."""


class Clones:
    """Some clones of one vault beside a bare remote. The last one has Cortex's merge drivers only between a `doctor --fix`,
    which puts them back, and the end of the operation."""

    def __init__(self, chance: random.Random, count: int = 5) -> None:
        self.chance = chance
        self.count = count
        self.folder = Path(
            tempfile.mkdtemp(
                prefix="cortex-clones-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None
            )
        )
        self.number = itertools.count(1)
        self.events: dict[str, bytes] = {}  # id -> the bytes that were first seen
        self.owners: dict[
            str, set[str]
        ] = {}  # word -> ids of the notes that may hold it; empty: a note of a person's own
        self.lines: dict[str, str] = {}  # word of a line that a hand added -> id of its note
        self.replaceable: set[str] = (
            set()
        )  # such words in records of a topic: a text that is saved later takes their place
        self.deleted: set[str] = set()  # ids of notes that somebody deleted at some time
        self.removed: set[str] = (
            set()
        )  # words that stood in them then: a line that was added elsewhere at the time has to stay
        self.made: set[str] = set()  # ids of records that were seen anywhere
        self.log: list[str] = []
        self.begin()

    # --- setting up ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        first = self.root(0)
        init(self.caller(), str(first))
        if ATTRIBUTES:
            (first / ".gitattributes").write_text(ATTRIBUTES)
        self.git(first, "init", "-q", "-b", "main")
        drivers.register(str(first))
        (first / "mine.md").write_text("a note of my own, own-0\n\nwith some text\n")
        self.owners["own-0"] = set()
        for _ in range(3):
            self.capture(0, now=True)
        self.git(first, "add", "-A")
        self.git(first, "commit", "-qm", "begin")
        self.git(self.folder, "clone", "-q", "--bare", "clone0", "remote")
        self.git(first, "remote", "add", "origin", "../remote")
        self.git(first, "fetch", "-q")
        self.git(first, "branch", "-q", "--set-upstream-to=origin/main")
        for number in range(1, self.count):
            shutil.copytree(first, self.root(number))
        for number, other in itertools.permutations(range(self.count), 2):
            self.git(self.root(number), "remote", "add", f"clone{other}", f"../clone{other}")
        drivers.unregister(str(self.root(self.count - 1)))

    def close(self) -> None:
        shutil.rmtree(self.folder)

    def root(self, clone: int) -> Path:
        return self.folder / f"clone{clone}"

    def vault(self, clone: int) -> Vault:
        return Vault(str(self.root(clone)))

    def caller(self) -> Caller:
        number = next(self.number)
        at = f"2026-11-20T{10 + number // 3600 % 10:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        return Caller("/", at, lambda size: number.to_bytes(size, "big"), "test", no_progress)

    def git(self, folder: str | Path, *words: str, fails: bool = False) -> str:
        return run_git(folder, *words, code=None if fails else 0)

    # --- the notes of a clone --------------------------------------------------------------------------------------

    def notes(self, clone: int) -> dict[str, bytes]:
        """Every note of a clone, briefings aside: path -> bytes."""
        found = []
        for folder, folders, names in os.walk(self.root(clone)):
            folders[:] = [name for name in folders if name != ".git"]
            found += [Path(folder, name) for name in names if name.endswith(".md")]
        paths = {str(path.relative_to(self.root(clone))): path for path in sorted(found)}
        return {
            path: file.read_bytes()
            for path, file in paths.items()
            if not path.startswith("briefings/")
        }

    def records(self, clone: int) -> list[str]:
        """Paths of notes with an id that are no events."""
        return [
            path
            for path, data in self.notes(clone).items()
            if not path.startswith(("events/", "inbox/")) and note_id(data)
        ]

    def some_record(self, clone: int) -> str:
        """One of a few: two clones often mean the same one."""
        found = self.records(clone)
        return found[self.chance.randrange(min(len(found), 6))] if found else ""

    def observe(self, clone: int) -> None:
        """Learn of events and records that Cortex has made, as their first writer wrote them."""
        for path, data in self.notes(clone).items():
            id_ = note_id(data)
            if path.startswith(("events/", "inbox/pending/")) and id_ == Path(path).stem:
                if id_ not in self.events:
                    self.events[id_] = data
                    self._own(id_, data)
            # Until the next command an event may stand where a merge has put it.
            elif id_ and id_ not in self.events and not path.startswith(("events/", "inbox/")):
                self.made.add(id_)

    def _own(self, id_: str, data: bytes) -> None:
        event = parse_event(data, f"{id_}.md")
        ids = {record.id for record in records_from_event(event)} | {
            session_note_id(event.session or event.id)
        }
        for word in WORD.findall(data.decode()):
            if word.startswith("fact-"):
                self.owners.setdefault(word, set()).update(ids)

    def edit(
        self,
        clone: int,
        change: Callable[[notes.Note], notes.Note],
        path: str,
        *,
        stamped: bool = True,
    ) -> None:
        """Edit a record by hand, if there is one."""
        if path:
            root = self.root(clone)
            after = change(notes.read(files.read(str(root), path)))
            if stamped:
                after = notes.set_field(
                    after, "updated", yaml_writer.field_lines("updated", self.caller().now)
                )
            (root / path).write_bytes(notes.write(after))

    # --- what people and Cortex do ---------------------------------------------------------------------------------

    def capture(self, clone: int, *, now: bool | None = None) -> None:
        vault, word = self.vault(clone), f"fact-{next(self.number)}"
        stop = self.chance.random() < 0.3
        text = f"{self.chance.choice(KINDS)} {word}"
        done = capture(
            vault, self.caller(), text, project="app", branch=self.chance.choice(["main", "side"]), session="s1" if stop else "",
            type="stop" if stop else "manual",
        )  # fmt: skip
        if self.chance.random() < 0.6 if now is None else now:
            normalize(vault, self.caller())
        else:
            assert (self.root(clone) / done.path).exists()
        self.observe(clone)

    def work(self, clone: int) -> None:
        """A turn of an agent, as a hook captures it."""
        vault, number = self.vault(clone), next(self.number)
        plan = (
            (PlannedStep("begin", done=True), PlannedStep(f"go on {number}", done=False))
            if self.chance.random() < 0.3
            else ()
        )
        turn = TurnSummary(
            f"Decision: carts expire after a day, because the table stays small. fact-{number}",
            plan=plan,
        )
        capture(
            vault,
            self.caller(),
            compose_text(turn),
            type="stop",
            session=self.chance.choice(["s1", "s2"]),
            project="app",
            branch="main",
        )
        normalize(vault, self.caller())
        self.observe(clone)

    def save_topic(self, clone: int) -> None:
        number = next(self.number)
        save(
            self.vault(clone), self.caller(), f"Saved {number}", body=f"saved fact-{number}\n\n- [ ] a task\n\n{ALIKE}", project="app", tags=(f"t{number % 3}",),
            topic=self.chance.choice(["decision/storage", "bug/login"]), session=f"s{number % 2}",
        )  # fmt: skip
        self.observe(clone)

    def save_alike(self, clone: int) -> None:
        """Delete a record by hand and save one that looks like it, while another clone adds a line to the first: git takes
        the new one for the old one renamed."""
        alike = [
            path for path in self.records(clone) if ALIKE in (self.root(clone) / path).read_text()
        ]
        if not (path := self.chance.choice(alike) if alike else self.some_record(clone)):
            return
        gone = self.delete(clone, path)
        number = next(self.number)
        save(
            self.vault(clone),
            self.caller(),
            f"Saved {number}",
            type="decision",
            body=f"keep it so fact-{number}\n\n{ALIKE}",
            project="app",
        )
        self.observe(clone)
        other = self.another(clone)
        for there in self.records(other):
            if notes.read((self.root(other) / there).read_bytes()).get("id") == gone:
                self.add_a_line(other, there)

    def session(self, clone: int) -> None:
        name = self.chance.choice(["s1", "s2"])
        number = next(self.number)
        try:
            if self.chance.random() < 0.5:
                session(
                    self.vault(clone),
                    self.caller(),
                    "end",
                    name,
                    project="app",
                    summary=f"did fact-{number}",
                )
            else:
                session(
                    self.vault(clone),
                    self.caller(),
                    "start",
                    name,
                    project="app",
                    goal=f"goal fact-{number}",
                )
        except CortexError as error:
            assert error.hint, error
        self.observe(clone)

    def verb(self, clone: int) -> None:
        path, second = self.some_record(clone), self.some_record(clone)
        if not path:
            return
        vault, caller, number = self.vault(clone), self.caller(), next(self.number)
        verbs: list[Callable[[], object]] = [
            lambda: relate(vault, caller, path, "refines", second),
            lambda: supersede(vault, caller, path, by=second),
            lambda: revise(
                vault, caller, path, title=f"Updated {number}", priority=number % 10 + 1
            ),
            lambda: pin(vault, caller, path),
            lambda: archive(vault, caller, path),
            lambda: delete(vault, caller, path),
            lambda: restore(vault, caller, [path]),
        ]
        try:
            self.chance.choice(verbs)()
        except CortexError as error:
            assert error.hint, error  # it may not be done to this one; then it says what may
        self.observe(clone)

    def add_a_line(self, clone: int, path: str = "") -> None:
        word = f"edit-{next(self.number)}"

        def add(note: notes.Note) -> notes.Note:
            self.owners[word] = {note.get("id")}
            self.lines[word] = note.get("id")
            if note.get("topic"):
                self.replaceable.add(word)
            return notes.insert_body_line(note, f"added {word}", 10**6)

        self.edit(clone, add, path or self.some_record(clone), stamped=self.chance.random() < 0.5)

    def change_a_line(self, clone: int) -> None:
        word = f"edit-{next(self.number)}"

        def change(note: notes.Note) -> notes.Note:
            self.owners[word] = {note.get("id")}
            lines = note.body.split(b"\n")
            at = next(
                (
                    place
                    for place, line in enumerate(lines)
                    if line.strip() and not line.startswith((b"added", b"#"))
                ),
                None,
            )
            if at is None:
                return note
            lines[at] = f"changed {word}".encode()
            return note._replace(body=b"\n".join(lines))

        self.edit(clone, change, self.some_record(clone), stamped=self.chance.random() < 0.5)

    def change_a_field(self, clone: int) -> None:
        number = next(self.number)
        values: list[tuple[str, yaml_writer.YamlValue]] = [
            ("title", f"Title {number}"), ("status", "superseded"), ("tags", [f"t{number}"]), ("due", f"2026-12-{number % 28 + 1:02}"),
        ]  # fmt: skip
        field, value = self.chance.choice(values)
        path = self.some_record(clone)
        self.edit(
            clone,
            lambda note: notes.set_field(note, field, yaml_writer.field_lines(field, value)),
            path,
            stamped=self.chance.random() < 0.5,
        )

    def line_ends(self, clone: int) -> None:
        """An editor of another system saves a record."""
        if path := self.some_record(clone):
            file = self.root(clone) / path
            data = file.read_bytes()
            file.write_bytes(
                data.replace(b"\r\n", b"\n") if b"\r\n" in data else data.replace(b"\n", b"\r\n")
            )

    def move(self, clone: int) -> None:
        if path := self.some_record(clone):
            target = (
                self.root(clone)
                / self.chance.choice(["records/decision", "records", "Ideas"])
                / f"moved {next(self.number)}.md"
            )
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.root(clone) / path).rename(target)

    def delete_file(self, clone: int) -> None:
        if path := self.some_record(clone):
            self.delete(clone, path)

    def delete(self, clone: int, path: str) -> str:
        """Delete a record by hand; its id."""
        file = self.root(clone) / path
        id_ = self.forget(file.read_text())
        file.unlink()
        return id_

    def forget(self, text: str) -> str:
        """Somebody deletes a note that says this; its id."""
        id_ = note_id(text.encode("utf-8", "surrogateescape"))
        self.deleted.add(id_)
        self.removed |= set(WORD.findall(text))
        return id_

    def own_note(self, clone: int) -> None:
        """A person's own notes, which have no ids: write, edit, move."""
        root = self.root(clone)
        mine = sorted(path for path in root.glob("*.md"))
        number = next(self.number)
        what = self.chance.random()
        if what < 0.3 or not mine:
            self.owners[f"own-{number}"] = set()
            (root / f"note {number}.md").write_text(
                f"a note of my own, own-{number}\n\nwith some text\n"
            )
        elif what < 0.8:
            file = self.chance.choice(mine)
            file.write_bytes(file.read_bytes() + f"and more {number}\n".encode())
        else:
            self.chance.choice(mine).rename(root / f"note {number}.md")

    def half_moved(self, clone: int) -> None:
        """A crash between two steps of normalizing: an event stands in the inbox and among the normalized ones."""
        root = self.root(clone)
        if found := sorted(root.glob("events/**/*.md")):
            event = self.chance.choice(found)
            pending = root / "inbox/pending" / event.name
            pending.parent.mkdir(parents=True, exist_ok=True)
            pending.write_bytes(event.read_bytes())

    def heal(self, clone: int) -> None:
        heal(self.vault(clone), self.caller())

    def normalize(self, clone: int) -> None:
        normalize(self.vault(clone), self.caller())
        self.observe(clone)

    # --- how they share --------------------------------------------------------------------------------------------

    def commit(self, clone: int) -> None:
        self.git(self.root(clone), "add", "-A")
        self.git(self.root(clone), "commit", "-qm", f"by hand {next(self.number)}", fails=True)

    def sync(self, clone: int) -> None:
        self.synced(clone)

    def pull(self, clone: int) -> None:
        self.pulled(clone, "--no-rebase")

    def pull_rebase(self, clone: int) -> None:
        self.pulled(clone, "--rebase")

    def pulled(self, clone: int, how: str) -> None:
        """As a person does who knows git alone."""
        self.commit(clone)
        renames = self.chance.choice([[], [], [], ["-Xfind-renames=20%"], ["-Xno-renames"]])
        self.git(self.root(clone), "pull", "-q", "--no-edit", how, *renames, fails=True)
        self.mended(clone)
        self.git(self.root(clone), "push", "-q", fails=True)

    def merge(self, clone: int) -> None:
        """Merge what another clone has committed, without the remote between."""
        other = self.another(clone)
        self.commit(clone)
        self.git(self.root(clone), "fetch", "-q", f"clone{other}")
        self.git(self.root(clone), "merge", "-q", "--no-edit", f"clone{other}/main", fails=True)
        self.mended(clone)

    def squash(self, clone: int) -> None:
        """Take what another clone has committed as one commit of one's own."""
        other = self.another(clone)
        self.commit(clone)
        root = self.root(clone)
        self.git(root, "fetch", "-q", f"clone{other}")
        self.git(root, "merge", "-q", "--squash", f"clone{other}/main", fails=True)
        self.mended(clone)
        self.git(root, "commit", "-q", "--no-edit", fails=True)

    def amend(self, clone: int) -> None:
        """Put what was done since into one's last commit; another clone may have taken that already.
        The first of all stays: without it there is no common history. So does a merge: what is put into
        one a rebase leaves out."""
        root = self.root(clone)
        if len(self.git(root, "log", "-1", "--format=%P").split()) == 1:
            self.git(root, "add", "-A")
            self.git(root, "commit", "-q", "--amend", "--no-edit", fails=True)

    def octopus(self, clone: int) -> None:
        self.commit(clone)
        others = self.chance.sample([each for each in range(self.count) if each != clone], 2)
        for other in others:
            self.git(self.root(clone), "fetch", "-q", f"clone{other}")
        self.git(
            self.root(clone),
            "merge",
            "-q",
            "--no-edit",
            *(f"clone{other}/main" for other in others),
            fails=True,
        )
        if self.git(self.root(clone), "ls-files", "-u"):
            self.git(self.root(clone), "reset", "-q", "--merge", fails=True)
        self.mended(clone)

    def cherry_pick(self, clone: int) -> None:
        other = self.another(clone)
        self.commit(clone)
        root = self.root(clone)
        self.git(root, "fetch", "-q", f"clone{other}")
        picked = self.git(
            root, "log", "--no-merges", "--format=%H", "-5", f"HEAD..clone{other}/main"
        ).split()
        if picked:
            self.git(root, "cherry-pick", self.chance.choice(picked), fails=True)
            self.mended(clone)

    def apply_mail(self, clone: int) -> None:
        """A patch that another one sent."""
        other = self.another(clone)
        self.commit(clone)
        root = self.root(clone)
        self.git(root, "fetch", "-q", f"clone{other}")
        sent = self.git(
            root, "log", "--no-merges", "--format=%H", "-5", f"HEAD..clone{other}/main"
        ).split()
        if sent:
            mail = self.folder / f"mail{clone}"
            done = subprocess.run(
                ["git", "format-patch", "-1", "--stdout", self.chance.choice(sent)],
                cwd=root,
                capture_output=True,
                check=True,
            )
            mail.write_bytes(done.stdout)
            self.git(root, "am", "-q", "-3", str(mail), fails=True)
            self.mended(clone)

    def revert(self, clone: int) -> None:
        """Take back a commit of one's own that added no event: what was captured is never taken back."""
        self.commit(clone)
        root = self.root(clone)
        for id_ in self.git(root, "log", "--no-merges", "--format=%H", "-4").split():
            changed = self.git(
                root,
                "diff-tree",
                "--root",
                "-r",
                "--name-status",
                "--no-renames",
                "--no-commit-id",
                id_,
            )
            if "events/" not in changed and "inbox/" not in changed and changed:
                for line in (
                    changed.splitlines()
                ):  # what it takes back may be a whole note, or the lines of an edit
                    path = line.partition("\t")[2].strip('"')
                    for revision in (id_, f"{id_}^"):
                        self.forget(self.git(root, "show", f"{revision}:{path}", fails=True))
                    # Whoever takes a repair of Cortex's back wants that text in that note.
                    before = self.git(root, "show", f"{id_}^:{path}", fails=True)
                    for word in WORD.findall(before):
                        named = note_id(before.encode())
                        self.owners.setdefault(word, set()).add(named)
                self.git(root, "revert", "--no-edit", id_, fails=True)
                self.mended(clone)
                return

    def stash(self, clone: int) -> None:
        """Put work aside, take what others did, and go on."""
        root = self.root(clone)
        self.git(root, "stash", "push", "-q", fails=True)
        stashed = bool(self.git(root, "stash", "list"))
        self.git(root, "pull", "-q", "--no-edit", "--no-rebase", fails=True)
        self.mended(clone)
        if stashed:
            self.git(root, "stash", "pop", "-q", fails=True)
            self.mended(clone)
            if self.git(
                root, "stash", "list"
            ):  # it could not be put back, or not without conflicts, which are settled by now
                if self.git(root, "stash", "apply", "-q", fails=True) or self.git(
                    root, "ls-files", "-u"
                ):
                    self.mended(clone)
                self.git(root, "stash", "drop", "-q")

    def mended(self, clone: int) -> None:
        """Bring what a merge, rebase or the like left to its end: `doctor --fix`, then the rest as a person would; or take it back."""
        root = str(self.root(clone))
        if not checkout.operation_in_progress(root) and not self.git(root, "ls-files", "-u"):
            return
        what = checkout.operation_in_progress(root)
        if what and self.chance.random() < 0.3:
            self.git(root, what, "--abort", fails=True)
            if not checkout.operation_in_progress(root) and not self.git(root, "ls-files", "-u"):
                return
        if self.chance.random() < 0.3:
            try:
                said = sync(self.vault(clone), self.caller())
                assert said.trouble or not what, said
            except CortexError as error:
                assert error.hint, error
        for _ in range(60):
            doctor(self.vault(clone), self.caller(), fix=True)
            self.by_hand(clone)
            what = checkout.operation_in_progress(root)
            if not what:
                return
            words = ["commit", "-q", "--no-edit"] if what == "merge" else [what, "--continue"]
            self.git(root, *words, fails=True)
            if not checkout.operation_in_progress(root):
                return
            if (
                not self.git(root, "ls-files", "-u")
                and not self.git(root, "status", "--porcelain", "-uno")
                and what != "merge"
            ):
                self.git(root, what, "--skip", fails=True)  # nothing is left of this commit
            if not checkout.operation_in_progress(root):
                return
        raise AssertionError(f"the {what} does not end: {self.git(root, 'status')}")

    def by_hand(self, clone: int) -> None:
        """Settle what waits for a person: keep all lines, keep what one side deleted."""
        root = self.root(clone)
        listed = self.git(root, "ls-files", "-u", "-z").split("\0")
        for path in sorted({line.partition("\t")[2] for line in listed if line}):
            file = root / path
            if file.exists():
                lines = file.read_bytes().split(b"\n")
                file.write_bytes(
                    b"\n".join(
                        line
                        for line in lines
                        if not line.startswith(tuple(map(str.encode, MARKERS)))
                    )
                )
                self.git(root, "add", "--", path)
            else:
                self.git(root, "rm", "-q", "--cached", "--", path, fails=True)
        # A note in a person's own folder, for which nothing is unmerged any more: git asks for it.
        for path, data in self.notes(clone).items():
            lines = data.split(b"\n")
            kept = [line for line in lines if not line.startswith(tuple(map(str.encode, MARKERS)))]
            if len(kept) < len(lines) and not path.startswith(OURS):
                (root / path).write_bytes(b"\n".join(kept))
                self.git(root, "add", "--", path)
        self.git(
            root,
            "add",
            "-u",
            "--",
            *[folder for folder in OURS if (root / folder).exists()],
            fails=True,
        )

    def another(self, clone: int) -> int:
        return self.chance.choice([each for each in range(self.count) if each != clone])

    def synced(self, clone: int) -> None:
        """Sync; what waits for a person is mended by keeping all the lines."""
        vault = self.vault(clone)
        self.git(vault.root, "add", "-A", "--", ".", *(f":!{folder}" for folder in OURS))
        self.git(vault.root, "commit", "-qm", "my own", fails=True)
        for _ in range(4):
            done = sync(vault, self.caller(), yes=True)  # they do delete a fifth of their notes
            self.log.append(
                f"{clone}: {done.trouble or done.how or done.push} {done.problems} {done.waiting}"
            )
            marked = [problem for problem in done.problems if "conflict markers" in problem.message]
            if not done.waiting and not marked:
                if done.trouble:
                    raise Lost(f"sync is stuck: {done.trouble} ({done.hint})")
                return
            for problem in (*done.waiting, *marked):
                path = Path(vault.root, problem.where)
                if not path.exists():
                    raise Lost(f"waits for a file that is not there: {problem}")
                lines = path.read_bytes().split(b"\n")
                path.write_bytes(
                    b"\n".join(
                        line
                        for line in lines
                        if not line.startswith(tuple(map(str.encode, MARKERS)))
                    )
                )
                is_asked = re.search(r"\bgit\b.* add\b", f"{problem.message}; {problem.hint}")
                if is_asked and not problem.where.startswith(OURS):
                    self.git(vault.root, "add", "--", problem.where)
            what = checkout.operation_in_progress(vault.root)
            if what and self.chance.random() < 0.5:  # the person ends it, not the next sync
                self.by_hand(clone)
                words = ["commit", "-q", "--no-edit"] if what == "merge" else [what, "--continue"]
                self.git(vault.root, *words, fails=True)
        raise Lost(f"sync waits again and again: {done}")

    # --- what must hold --------------------------------------------------------------------------------------------

    OPERATIONS = (
        "capture", "work", "save_topic", "save_alike", "session", "verb", "add_a_line", "change_a_line", "change_a_field", "line_ends", "move",
        "delete_file", "own_note", "half_moved", "heal", "normalize", "commit", "sync", "sync", "pull", "pull_rebase", "merge", "octopus", "cherry_pick",
        "apply_mail", "revert", "stash", "squash", "amend",
    )  # fmt: skip

    def run(self, steps: int, operations: Sequence[str] = OPERATIONS) -> None:
        for _ in range(steps):
            clone = self.chance.randrange(self.count)
            operation = self.chance.choice(operations)
            self.log.append(f"{clone}: {operation}")
            self.set_clock()
            getattr(self, operation)(clone)
            if clone == self.count - 1:
                drivers.unregister(str(self.root(clone)))
            self.check(clone)

    def set_clock(self) -> None:
        """Have git's commits take the same seconds each time, four operations in one: which of several merge bases comes
        first, and which commit may be a copy of which, depends on them."""
        at = f"{FIRST_SECOND + len(self.log) // 4} +0000"
        os.environ |= {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}

    def check(self, clone: int) -> None:
        """What must hold in every clone at every time."""
        if marked := self.marked(clone):
            raise Lost(f"a conflict marker in the frontmatter of {marked[0]} in clone {clone}")

    def marked(self, clone: int) -> list[str]:
        """The notes with a conflict marker in their frontmatter."""
        found = []
        for path, data in self.notes(clone).items():
            if not any(marker.encode() in data for marker in MARKERS):
                continue
            head = data[: len(data) - len(notes.read(data).body)].decode("utf-8", "replace")
            if any(line.startswith(MARKERS) for line in head.splitlines()):
                found.append(path)
        return found

    def meet(self) -> None:
        """Everybody syncs until nobody has anything left to say; then check every promise. A note that git has put into two
        files is named by `doctor`, and `doctor --fix` keeps one of them, the same one in every clone."""
        self.sync_all()
        if twice := self.in_two_files(self.notes(0)):
            for clone in range(self.count):
                named = " ".join(f"{one.message} {one.hint}" for one in self.problems(clone))
                if missed := [id_ for id_ in twice if id_ not in named]:
                    raise Lost(f"doctor of clone {clone} does not name {missed}, each in two files")
                doctor(self.vault(clone), self.caller(), fix=True)
            self.sync_all()
        everything = [
            {path: data.replace(b"\r\n", b"\n") for path, data in self.notes(clone).items()}
            for clone in range(self.count)
        ]
        if any(one != everything[0] for one in everything):
            raise Lost("the clones hold different files")
        self.nothing_lost(everything[0])
        self.nothing_merged(everything[0])
        for clone in range(self.count):
            wrong = [
                one
                for one in self.problems(clone)
                if "merged without Cortex" not in one.message and "stash" not in one.where
            ]
            if any(
                word in f"{one.message} {one.hint}"
                for one in wrong
                for word in (" id ", "event was", "two notes", "missing")
            ):
                raise Lost(f"doctor of clone {clone}: {wrong}")

    def sync_all(self) -> None:
        """Sync every clone until all have come to one commit."""
        heads: set[str] = set()
        for turn in range(5 * self.count):
            self.set_clock()
            self.synced(turn % self.count)
            if turn >= self.count:
                heads = {
                    self.git(self.root(clone), "rev-parse", "HEAD") for clone in range(self.count)
                }
                if len(heads) == 1:
                    return
        raise Lost("the clones do not come to one commit: " + " | ".join(self.log[-8:]))

    def problems(self, clone: int) -> list[Problem]:
        return [
            problem
            for problem in doctor(self.vault(clone), self.caller()).problems
            if "drivers" not in problem.message
        ]

    def in_two_files(self, held: dict[str, bytes]) -> dict[str, list[str]]:
        """The ids that more than one file says: id -> paths."""
        found: dict[str, list[str]] = {}
        for path, data in held.items():
            if not path.startswith("events/") and (id_ := note_id(data)):
                found.setdefault(id_, []).append(path)
        return {id_: paths for id_, paths in found.items() if len(paths) > 1}

    def nothing_lost(self, held: dict[str, bytes]) -> None:
        if waiting := [path for path in held if path.startswith("inbox/")]:
            raise Lost(f"left in the inbox: {waiting}")
        for id_, data in self.events.items():
            if (now := held.get(AT_ROOT.event(id_))) != data:
                raise Lost(
                    f"event {id_} {'says something else' if now else 'is gone'}: {now!r} instead of {data!r}"
                )
        if twice := self.in_two_files(held):
            raise Lost(f"in two files: {twice}")
        if (
            gone := self.made
            - self.deleted
            - {note_id(data) for path, data in held.items() if not path.startswith("events/")}
        ):
            raise Lost(f"records that nobody deleted are gone: {gone}")
        text = {
            word: path
            for path, data in held.items()
            for word in WORD.findall(data.decode("utf-8", "replace"))
        }
        lost = {word for word in self.lines if word not in text and word not in self.removed}
        if lost := {
            word for word in lost if word not in self.replaceable or word not in self.in_git(lost)
        }:
            raise Lost(
                f"lines that somebody added are gone: { {word: self.lines[word] for word in lost} }"
            )

    def nothing_merged(self, held: dict[str, bytes]) -> None:
        """No note holds what belongs to another one."""
        for path, data in held.items():
            note = notes.read(data)
            id_ = note.get("id")
            words = set(WORD.findall(note.body.decode("utf-8", "replace")))
            if path.startswith("events/"):
                if id_ != Path(path).stem:
                    raise Lost(f"{path} holds the event {id_}")
            elif id_:
                named = set(note.provenance()[0])
                for word in words:
                    by_provenance = any(
                        word in self.events[one].decode() for one in named if one in self.events
                    )
                    if id_ not in self.owners.get(word, ()) and not (
                        note.get("topic") and by_provenance
                    ):
                        raise Lost(
                            f"{path} ({id_}) holds {word}, which belongs to {self.owners.get(word)}"
                        )
                if note.problems:
                    raise Lost(f"{path}: {note.problems}")
            elif len({word for word in words if word.startswith("own-")}) != 1 or words - {
                word for word in words if word.startswith("own-")
            }:
                raise Lost(f"{path}, a person's own note, holds {words}")

    def in_git(self, words: set[str]) -> set[str]:
        """Of these words those that stand in a commit of any clone, if only in one that a rebase has left."""
        said = "".join(
            self.git(
                self.root(clone), "log", "--all", "--reflog", "-p", "--format=", "--diff-merges=off"
            )
            for clone in range(self.count)
        )
        return {word for word in words if re.search(rf"^\+.*\b{word}\b", said, re.MULTILINE)}


def history(
    seed: int, steps: int, *, operations: Sequence[str] = Clones.OPERATIONS, keep: bool = False
) -> None:
    """Run one history to its end. Raises `Lost`."""
    model = Clones(random.Random(seed))
    dates = {name: os.environ.get(name) for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")}
    done = False
    try:
        model.run(steps, operations)
        model.meet()
        done = True
    except BaseException:
        if keep:
            print(f"kept in {model.folder}", *model.log, sep="\n  ")
        raise
    finally:
        for name, value in dates.items():
            os.environ.pop(name, None)
            os.environ |= {name: value} if value else {}
        if done or not keep:
            model.close()


def main(words: list[str]) -> int:
    """Run the histories with the seeds `FROM:TO`, each of so many steps for every clone, and count what went wrong."""
    first, _, last = words[0].partition(":")
    steps = int(words[1]) if len(words) > 1 else 25
    wrong = 0
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {
            "HOME": home,
            "GIT_CONFIG_GLOBAL": f"{home}/gitconfig",
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        Path(home, "gitconfig").write_text(
            "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n"
            # With hundreds of objects git's housekeeping does nothing; it would be started with each command.
            "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n"
        )
        for seed in range(int(first), int(last or int(first) + 1)):
            try:
                history(seed, steps * 5, keep="--keep" in words)
            except Exception as error:
                wrong += 1
                print(f"{seed}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            else:
                print(f"{seed}: ok", flush=True)
    print(f"{wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
