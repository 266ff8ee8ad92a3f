"""`cortex erase --history` in clones that go on working: whatever the order, the words are in no file and no object of
the clone that erased them, and in no object that a ref of the remote leads to; and nothing else is lost."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import run_cortex, run_git

WORDS = "Wilhelmina Quux"
FORMS = (b"wilhelmina", b"quux")  # neither may be left

# What happens after A has saved, B and C have cloned, and all are in step. `edit`: a line more in the record; `move`: it
# gets another path; `own`: a line more in a person's note; `note`: a new record; `pull`: git's own pull and push.
ORDERS = [
    "a.erase a.push b.follow",
    "a.erase a.push b.sync b.follow b.sync",
    "a.erase a.sync a.push a.sync b.follow",
    "b.note a.erase a.push b.sync b.follow a.sync",
    "b.edit b.commit a.erase a.push b.follow a.sync",
    "b.edit a.erase a.push b.follow a.sync",
    "b.note b.sync a.erase a.push b.follow",
    "b.edit b.sync a.erase a.push b.follow a.sync",
    "a.erase b.note b.sync a.push b.follow a.sync",
    "a.erase b.edit b.sync a.push b.follow a.sync",
    "b.move b.commit a.erase a.push b.follow a.sync",
    "a.erase b.move b.sync a.push b.follow",
    "b.own a.erase a.push b.follow a.sync",
    "b.undriven b.edit a.erase a.push b.sync b.follow",
    "a.note a.erase a.push a.note a.sync b.follow b.note b.sync a.sync",
    "a.erase a.push b.pull a.sync",
    "a.erase a.push b.note b.fetch b.sync b.follow a.sync",
    "a.stash a.tag a.erase a.push b.follow",
    "a.branch a.erase a.push b.branches b.follow",
    "a.erase a.push b.follow c.note c.sync c.follow b.sync a.sync",
    "a.plain b.note b.sync a.sync a.erase a.push b.follow a.sync",
    "a.plain a.sync b.edit b.sync a.sync a.erase a.push b.follow a.sync",
    "b.note b.sync a.erase a.push b.edit b.follow a.sync",
    "a.erase b.edit b.sync a.push b.edit b.follow a.sync",
    "b.note b.sync a.erase a.named b.edit b.follow a.sync",
    "b.note b.sync a.branch b.feature a.erase a.push b.move b.commit b.follow b.main a.sync",
    "b.note b.sync a.erase b.edit b.sync a.fetch a.sync a.erase a.push b.note b.follow a.sync",
]  # fmt: skip


class Team:
    """Three clones and a bare remote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands: list[str] = []
        self.number = 0

    def begin(self) -> None:
        run_git(self.folder, "init", "-q", "--bare", "remote")
        run_git(self.folder, "clone", "-q", "remote", "a")
        self.cortex("a", "init")
        of_type = ("--type", "decision", "--why")
        self.cortex("a", "save", f"Call {WORDS} about larch", *of_type, f"{WORDS} knows it")
        self.cortex("a", "capture", f"Decision: {WORDS.upper()} pays\n\nand more")
        a = self.folder / "a"
        (a / f"{WORDS}.md").write_text(f"# Hers\n\nFirst line.\n\nAsk {WORDS}.\n\nLast line.\n")
        (a / "wilhelmina-quux.png").write_bytes(b"\x89PNG\0\1\2")
        self.cortex("a", "sync")
        for name in "bc":
            run_git(self.folder, "clone", "-q", "remote", name)
            self.cortex(name, "sync")

    def cortex(self, clone: str, *words: str, code: int | None = 0) -> str:
        ran = run_cortex(*words, cwd=str(self.folder / clone))
        assert code is None or ran.returncode == code, f"{words}: {ran.stdout}{ran.stderr}"
        return ran.stdout + ran.stderr

    def do(self, step: str) -> None:
        clone, _, what = step.partition(".")
        root = self.folder / clone
        self.number += 1
        records = sorted(root.rglob("records/**/call-*larch*.md")) or sorted(root.glob("moved*.md"))
        if what == "erase":
            answer = json.loads(self.cortex(clone, "erase", WORDS, "--history", "--json"))
            self.commands = answer["commands"]
        elif what == "push":
            for _ in range(3):
                ran = [
                    subprocess.run(shlex.split(one), cwd=root, check=False, capture_output=True)
                    for one in self.commands
                ]
                if not any(one.returncode for one in ran):
                    break
                self.do(f"{clone}.erase")
        elif what == "named":  # the push that sync names
            ran = json.loads(self.cortex(clone, "sync", "--json", code=1))
            run_git(root, *shlex.split(ran["hint"])[1:])
        elif what in ("sync", "follow"):
            self.cortex(clone, "sync", *(["--follow"] if what == "follow" else []), code=None)
        elif what == "plain":
            self.cortex(clone, "erase", WORDS)
        elif what == "note":
            self.cortex(
                clone, "save", f"Keep fact-{self.number}", "--type", "decision", "--why", "it holds"
            )
        elif what == "edit":
            with records[0].open("a") as file:
                file.write(f"\nfact-{self.number}\n")
        elif what == "own":
            own = root / f"{WORDS}.md"
            own.write_text(
                own.read_text().replace("Last line.", f"Last line.\n\nfact-{self.number}")
            )
        elif what == "move":
            run_git(root, "mv", str(records[0]), f"moved-{self.number}.md")
        elif what == "commit":
            run_git(root, "commit", "-qam", "by hand")
        elif what == "undriven":
            self.cortex(clone, "git", "remove")
        elif what == "fetch":
            run_git(root, "fetch", "-q")
        elif what == "pull":
            flags = ("-q", "--no-rebase", "--allow-unrelated-histories", "-s", "ours")
            run_git(root, "pull", *flags, code=None)
            run_git(root, "push", "-q", code=None)
        elif what == "stash":
            with records[0].open("a") as file:
                file.write(f"\n{WORDS} again\n")
            run_git(root, "stash")
        elif what == "tag":
            run_git(root, "tag", "-a", "v1", "-m", f"as {WORDS} had it")
            run_git(root, "push", "-q", "origin", "v1")
        elif what == "branch":
            run_git(root, "push", "-q", "origin", "HEAD:refs/heads/feature")
            run_git(root, "fetch", "-q")
        elif what in ("feature", "main"):
            run_git(root, "fetch", "-q")
            run_git(root, "switch", "-q", what)
        elif what == "branches":
            run_git(root, "fetch", "-q")
        else:
            raise ValueError(step)

    def contents(self, clone: str) -> dict[str, bytes]:
        root = self.folder / clone
        files = [path for path in root.rglob("*") if path.is_file() and "objects" not in path.parts]
        return {str(path.relative_to(root)): path.read_bytes() for path in files}

    def objects(self, clone: str, *, every: bool) -> dict[str, bytes]:
        root = self.folder / clone
        if every:
            listed = run_git(root, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        else:
            listed = run_git(root, "rev-list", "--objects", "--no-object-names", "--all")
        found = {}
        for name in listed.split():
            kind = run_git(root, "cat-file", "-t", name).strip()
            words = ["cat-file", kind, name] if kind != "tree" else ["ls-tree", "-z", name]
            found[f"{kind} {name}"] = subprocess.run(
                ["git", *words], cwd=root, check=True, capture_output=True
            ).stdout
        return found


def held(texts: dict[str, bytes]) -> list[str]:
    return [
        name
        for name, data in texts.items()
        if any(form in data.lower() or form in name.lower().encode() for form in FORMS)
    ]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("order", ORDERS)
def test_the_words_are_gone_and_nothing_else_is(
    order: str, tmp_path: Path, copied: Callable[..., None]
) -> None:
    copied(begin, tmp_path)
    team = Team(tmp_path)
    facts = []
    for step in order.split():
        team.do(step)
        if step.partition(".")[2] in ("note", "edit", "own"):
            facts.append(f"fact-{team.number}".encode())
    if ".pull" in order:  # plain git has brought it back: A's sync stops, A erases and pushes again
        assert "has what was erased" in team.cortex("a", "sync", code=1)
        team.do("a.erase")
        team.do("a.push")
    team.do("b.follow")
    team.do("c.follow")
    team.do("a.sync")
    assert held(team.contents("a")) == []
    assert held(team.objects("a", every=True)) == []
    assert held(team.objects("remote", every=False)) == []
    for clone in "ab":
        assert run_git(team.folder / clone, "status", "--porcelain") == ""
        said = b"\n".join(team.contents(clone).values())
        assert [fact for fact in [b"First line.", b"Last line.", *facts] if fact not in said] == []
    run_git(team.folder / "a", "fsck", "--strict")
    events = (team.folder / "a/events").rglob("*.md")
    assert "[ERASED]" in "".join(path.read_text() for path in events)


@pytest.mark.parametrize("history", [["--history"], []])
def test_an_erased_record_does_not_come_back_with_an_edit_of_it(
    history: list[str], tmp_path: Path, copied: Callable[..., None]
) -> None:
    copied(begin, tmp_path)
    team = Team(tmp_path)
    (record,) = (tmp_path / "a").rglob("call-*.md")
    team.do("b.edit")
    team.do("b.commit")
    answer = json.loads(team.cortex("a", "erase", record.stem, *history, "--json"))
    team.commands = answer["commands"]
    team.do("a.push" if history else "a.sync")
    team.do("b.follow")
    team.do("a.sync")
    for clone in "ab":
        names = [
            name
            for name, data in team.contents(clone).items()
            if b"about larch" in data or "larch" in name
        ]
        assert [name for name in names if not name.startswith(".git")] == []
    if history:
        for clone in ("a", "remote"):
            texts = team.objects(clone, every=clone == "a")
            assert [name for name, data in texts.items() if b"larch" in data] == []


@pytest.mark.parametrize(
    "order", ["b.edit a.plain a.sync b.sync b.follow a.sync", "a.plain b.edit b.sync a.sync b.sync"]
)
def test_without_history_a_note_that_was_edited_meanwhile_has_none_of_it(
    order: str, tmp_path: Path, copied: Callable[..., None]
) -> None:
    copied(begin, tmp_path)
    team = Team(tmp_path)
    for step in order.split():
        team.do(step)
    for clone in "ab":
        texts = {
            name: data
            for name, data in team.contents(clone).items()
            if not name.startswith(".git/")
        }
        assert held(texts) == []
        assert len([data for data in texts.values() if b"\nfact-" in data]) == 1


def test_in_a_repository_of_code_the_vault_alone_is_rewritten_and_work_goes_on(
    tmp_path: Path,
) -> None:
    team, a, b = Team(tmp_path), tmp_path / "a", tmp_path / "b"
    run_git(tmp_path, "init", "-q", "--bare", "remote")
    run_git(tmp_path, "clone", "-q", "remote", "a")
    (a / "pyproject.toml").write_text("")
    (a / "code.py").write_text("WORD = 'Quuxling'\n")
    team.cortex("a", "init", "vault")
    team.cortex("a", "save", "Call Quuxling", "--type", "decision", "--why", "he knows")
    team.cortex("a", "sync")
    run_git(a, "add", "-A")
    run_git(a, "commit", "-qm", "as Quuxling said")
    run_git(a, "push", "-q", "origin", "HEAD")
    run_git(tmp_path, "clone", "-q", "remote", "b")
    (b / "other.py").write_text("")
    run_git(b, "add", "-A")
    run_git(b, "commit", "-qm", "code of b")
    (b / "code.py").write_text("WORD = 'changed'\n")
    team.cortex("b", "save", "Keep fact-1", "--type", "decision", "--why", "it holds")
    answer = json.loads(team.cortex("a", "erase", "Quuxling", "--history", "--json"))
    assert "1 object of git, outside the vault" in "".join(answer["left"])
    for command in answer["commands"]:
        subprocess.run(shlex.split(command), cwd=a, check=True, capture_output=True)
    assert "cortex sync --follow" in team.cortex("b", "sync", code=1)
    team.cortex("b", "sync", "--follow")
    for clone in (a, b):
        assert "Quuxling" not in run_git(clone, "log", "--all", "--format=%B")
        assert "Quuxling" not in run_git(clone, "log", "--all", "-p", "--", "vault")
    assert (a / "code.py").read_text() == "WORD = 'Quuxling'\n"
    assert (b / "code.py").read_text() == "WORD = 'changed'\n"
    assert "code of b" in run_git(b, "log", "--format=%s")
    assert len(list(b.glob("vault/records/decision/keep-fact-1-*.md"))) == 1
    assert run_git(b, "merge-base", "HEAD", "origin/main") == run_git(a, "rev-parse", "HEAD")


def begin(folder: Path) -> None:
    Team(folder).begin()
