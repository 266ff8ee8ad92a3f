"""People edit the vault's files with their own tools between verbs: they rename, retag, retitle, tick, delete, copy, save with
other line ends, and break YAML. No verb fails but with an error that says what to do, no byte changes but those that a
verb means to change, and every answer agrees with a plain reading of the files."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.note_status import HIDDEN_STATUSES, SET_ASIDE_STATUSES
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.relation import RELATION_KINDS
from cortex.core.notes import note as notes
from cortex.core.notes.yaml_lines import split_fields
from cortex.operations import VERBS
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.find.actions import actions
from cortex.operations.find.history import history
from cortex.operations.find.recall import recall
from cortex.operations.find.search import search
from cortex.operations.find.show import show
from cortex.operations.find.timeline import timeline
from cortex.operations.records.capture import capture
from cortex.operations.records.save import save
from cortex.vault.locate import Vault
from tests.conftest import SOAK

SEEDS, STEPS = 30 if SOAK else 1, 50
MEETING = "# Roof\n\n## Action items\n\n- [ ] Ada measures the roof\n- [ ] Bob orders tiles\n\n## Decisions\n\n- We keep the tiles\n"
PLAN = "---\nid: plan-of-mine\ntype: plan\ntitle: Plan\ncreated: 2026-11-01T00:00:00Z\n---\n\n- [ ] one step\n- [ ] another step\n"
HANDS = "move title tags status crlf tick tick untick delete copy bom odd link line mend id latin".split()
ODD = ["title: a: b\n", "tags: [a\n", "\tx: y\n", "a: &x 1\nb: *x\n", "<<<<<<< HEAD\n"]
LINK = re.compile(r"\[\[([^\]|#]+)[^\]]*\]\]")
# What verbs mean to change, beside times. A text is only ever replaced by `save`, and stays in an event then.
FIELDS = {
    "status", "updated", "relations", "supersedes", "superseded_by", "tags", "title", "priority", "confidence", "provenance", "type", "branch",
    "created", "pinned", "aliases", "contradicts", "refines", "derived_from", "references", "relates_to", "follows", "exemplifies", "source_of", "done_at", "status_before", *(f"{word}_{end}" for word in ("superseded", "archived", "pruned", "deleted") for end in ("at", "because", "by")),
}  # fmt: skip


class Read(NamedTuple):
    """A note as a plain reading of its file has it."""

    path: str
    data: bytes
    note: notes.Note

    @property
    def id(self) -> str:
        return self.note.get("id") or self.path

    @property
    def status(self) -> str:
        return self.note.get("status").strip().lower()

    @property
    def type(self) -> str:
        return self.note.get("type").strip().lower()

    @property
    def relations(self) -> list[tuple[str, str]]:
        held = self.note.fields.get("relations")
        found = (
            [(one["kind"], one["to"].strip("[]")) for one in held if isinstance(one, dict)]
            if isinstance(held, list)
            else []
        )
        return found + [
            (kind, to.strip("[]"))
            for kind in ("supersedes", "superseded_by", *RELATION_KINDS)
            for to in self.note.get_list(kind)
        ]


class Hands:
    """One vault, a person in it, and a program."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)
        self.count = 0
        self.vault = Vault(init(self.caller(), str(root)).root)
        if seed % 3 == 0:
            subprocess.run(["git", "init", "-q", str(root)], check=True)
        capture(self.vault, self.caller(), MEETING, type="meeting", project="house")
        for number in range(4):
            self.save(
                f"Fact {number}",
                f"text {number}",
                type=["decision", "gotcha"][number % 2],
                topic=["bug/roof", ""][number % 2],
            )
        (root / "Plans").mkdir()
        (root / "Plans/plan.md").write_text(PLAN)
        (root / "mine.md").write_text("my own words about the roof, and [[plan-of-mine]]\n")

    def caller(self) -> Caller:
        self.count += 1
        number = self.count
        at = f"2026-11-20T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        return Caller("/", at, lambda size: number.to_bytes(size, "big"), "test", no_progress)

    def save(self, title: str, text: str, **more: str) -> str:
        return save(
            self.vault, self.caller(), title, body=text, **({"project": "house"} | more)
        ).path

    # -- what a plain reading finds

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*.md"))
            if ".git" not in path.parts
        }

    def notes(self) -> list[Read]:
        held = {
            path: data
            for path, data in self.files().items()
            if not path.startswith(("events/", "inbox/", "briefings/"))
        }
        return [Read(path, data, notes.read(data, path)) for path, data in held.items()]

    def some(self) -> Read:
        return self.chance.choice(self.notes())

    def name(self) -> str:
        """Of a note, by any of the names that it answers to; now and then of none."""
        one = self.some()
        return self.chance.choice(
            [one.id, one.id, one.path, one.path.removesuffix(".md"), one.id[:9], "nothing-like-it"]
        )

    # -- what a person does

    def hand(self) -> str:
        one = self.some()
        file = self.root / one.path
        what = self.chance.choice(HANDS)
        text = one.data
        if what == "move":
            folder = self.chance.choice(["Ideas", "records/decision", "A/B c"])
            target = self.root / folder / f"moved {self.count}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            file.rename(target)
        elif what == "delete":
            file.unlink()
        elif what == "copy":
            (file.parent / f"{file.stem} copy {self.count}.md").write_bytes(text)
        else:
            self.count += 1
            file.write_bytes(self.edited(what, one, str(self.count).encode()))
        return f"{what} {one.path}"

    def edited(self, what: str, one: Read, number: bytes) -> bytes:
        text, chance = one.data, self.chance
        match what:
            case "title":
                text = re.sub(rb"(?m)^title:.*?(\r?)$", rb"title: Mine " + number + rb"\1", text)
            case "tags":
                tags = rb"type:\1\2\ntags: [hand, t" + number + rb"]\2"
                text = re.sub(rb"(?m)^type:(.*?)(\r?)$", tags, text, count=1)
            case "status":
                word = chance.choice([b"done", b"archived", b"open", b"odd"])
                text = re.sub(rb"(?m)^status:.*?(\r?)$", b"status: " + word + rb"\1", text)
            case "crlf":
                text = re.sub(rb"\r?\n", chance.choice([b"\n", b"\r\n"]), text)
            case "tick":
                text = text.replace(b"- [ ]", b"- [x]", 1)
            case "untick":
                text = text.replace(b"- [x]", b"- [ ]", 1)
            case "bom":
                text = text if text.startswith(notes.BOM) else notes.BOM + text
            case "odd":
                odd = chance.choice(ODD).encode()
                text = re.sub(rb"(?m)^(---\r?\n)", lambda found: found[1] + odd, text, count=1)
            case "link":
                name = chance.choice([self.some().id, f"gone-{self.count}"]).encode()
                text = text + b"\nSee [[" + name + b"]].\n"
            case "line":
                text = text + b"\nBy hand " + number + b"\n"
            case "mend":
                text = self.mended(one) if one.note.problems else text
            case "id" if chance.random() < 0.2:
                text = re.sub(rb"(?m)^id:(.*?)(\r?)$", rb"id:\1-x\2", text, count=1)
            case "latin" if chance.random() < 0.3:
                text = text + b"caf\xe9\n"
        return text

    @staticmethod
    def mended(one: Read) -> bytes:
        data = one.data
        for odd in ODD:
            data = data.replace(odd.encode(), b"")
        return data.replace(b"caf\xe9", b"")

    # -- what a program does

    def verbs(self) -> dict[str, Callable[[], object]]:
        name, other, number = self.name(), self.name(), self.count

        def verb(word: str, *words: str, **options: object) -> Callable[[], object]:
            module, function = VERBS[word]
            return lambda: getattr(__import__(f"cortex.{module}", fromlist=[function]), function)(
                self.vault, self.caller(), *words, **options
            )

        return {
            "save": lambda: self.save(f"Saved {number}", f"said {number}"),
            "save topic": lambda: self.save(f"Saved {number}", f"said {number}", topic=self.chance.choice(["bug/roof", "decision/tiles"])),
            "relate": verb("relate", name, self.chance.choice(["refines", "references", "contradicts"]), other),
            "unrelate": verb("relate", name, "any", other, remove=True), "revise": verb("revise", name, title=f"Updated {number}", priority=3),
            "supersede": verb("supersede", name, by=other), "archive": verb("archive", name), "delete": verb("delete", name),
            "restore": verb("restore", [name]), "pin": verb("pin", name), "done": verb("done", name), "lifecycle": verb("lifecycle"),
            "show": verb("show", name), "score": verb("show", name, why=True), "timeline": verb("timeline", name), "history": verb("history", name),
            "graph": verb("graph", name, depth=3), "recall": verb("recall", "roof"), "search": verb("search", "roof tiles"),
            "status": verb("status"), "context": verb("context"), "meetings": verb("meetings"), "consolidate": verb("consolidate"),
            "entities": verb("entities", name), "session": verb("session", "start", f"s-{number}"), "sync": verb("sync"), "heal": verb("heal"),
        }  # fmt: skip

    def call(self) -> str:
        verbs = self.verbs()
        word = self.chance.choice(sorted(verbs))
        before = self.files()
        try:
            verbs[word]()
            said = "did it"
        except CortexError as error:
            assert error.message, word
            said = f"{type(error).__name__}: {error}"
        self.unharmed(word, before)
        return f"{word}: {said}"

    def unharmed(self, word: str, before: dict[str, bytes]) -> None:
        """What a verb may have changed of files that were there: lines of fields, and of a topic the text."""
        after = self.files()
        assert {
            path
            for path in before
            if path not in after and not path.startswith(("inbox/", "briefings/"))
        } == set(), word
        for path, data in before.items():
            now = after.get(path, data)
            if now == data or path.startswith("briefings/"):
                continue
            assert not path.startswith("events/"), f"{word} changed {path}"
            was, note = notes.read(data, path), notes.read(now, path)
            assert not was.problems, f"{word} wrote to {path}, which it cannot read"
            assert was.get("id"), f"{word} wrote to a note of somebody's own, {path}"
            assert not note.problems, (word, note.problems)
            assert (note.bom, note.opening_fence, note.closing_fence) == (
                was.bom,
                was.opening_fence,
                was.closing_fence,
            )
            old, new = (
                {
                    key: chunk.text
                    for key, chunk in (split_fields(one.frontmatter.decode()) or {}).items()
                }
                for one in (was, note)
            )
            changed = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
            assert changed <= FIELDS, f"{word} changed {changed - FIELDS} of {path}"
            if word == "revise":  # the heading is the title
                old, new = (re.sub(rb"(?m)^# .*", b"#", one.body, count=1) for one in (was, note))
                assert old == new, f"{word} changed the text of {path}"
            elif note.body != was.body:
                assert word == "save topic", f"{word} changed the text of {path}"
                texts = [
                    history(self.vault, self.caller(), path, at=text.event).text.strip()
                    for text in history(self.vault, self.caller(), path, number=500).texts
                ]
                assert was.text_below_title.replace("\r\n", "\n").strip() in texts, (
                    f"{path} said something that is nowhere now"
                )

    # -- how answers compare with the files

    def agrees(self) -> None:
        every = self.notes()
        clear = Counter(one.id for one in every)
        for type_ in ("decision", "gotcha", "action", "plan"):
            for all_ in (False, True):
                wanted = {
                    one.path
                    for one in every
                    if one.type == type_ and (all_ or one.status not in HIDDEN_STATUSES)
                }
                assert {
                    hit.path
                    for hit in search(
                        self.vault, self.caller(), f"type:{type_}", number=1000, all=all_
                    ).hits
                } == wanted
        knowledge = [one for one in every if one.type not in ("session", "briefing")]
        assert {hit.path for hit in recall(self.vault, self.caller(), number=200).hits} == {
            one.path
            for one in knowledge
            if one.id != one.path and one.status not in SET_ASIDE_STATUSES
        }
        everything = recall(self.vault, self.caller(), number=200, all=True).hits
        assert {hit.path for hit in everything} == {one.path for one in every}
        ticked = self.ticked(every)
        acts = [
            one for one in every if one.type == "action" and one.status not in SET_ASIDE_STATUSES
        ]
        undone = {
            one.path
            for one in acts
            if one.status not in ("done", "closed", "cancelled") and one.id not in ticked
        }
        assert {one.hit.path for one in actions(self.vault, self.caller()).hits} == undone
        assert {one.hit.path for one in actions(self.vault, self.caller(), done=True).hits} == {
            one.path for one in acts
        } - undone
        for one in self.chance.sample(every, min(4, len(every))):
            if clear[one.id] == 1:
                assert show(self.vault, self.caller(), one.path, why=True).id == one.id
                assert one.path in {
                    hit.path
                    for hit in timeline(self.vault, self.caller(), one.path, number=50).hits
                }
        self.explained(every, clear)

    @staticmethod
    def ticked(every: list[Read]) -> set[str]:
        """The actions whose task is ticked in a note of the meeting that they came from."""
        found = set()
        for one in every:
            body = one.note.text.replace("\r\n", "\n")
            tasks = re.findall(r"(?m)^- \[([ x])\] (.*)$", body)
            if one.type == "action" and tasks and all(mark == "x" for mark, _ in tasks):
                found.add(one.id)
            for mark, text in tasks if one.type == "meeting" else ():
                words = text.lower().split()[1:]  # without who does it
                found.update(
                    to
                    for kind, to in one.relations
                    if kind == "source_of" and mark == "x" and all(word in to for word in words)
                )
        return found

    def explained(self, every: list[Read], clear: Counter[str]) -> None:
        """Doctor names what dangles, what cannot be read and what has one id, each with what to do; and nothing that is well."""
        problems = doctor(self.vault, self.caller()).problems
        assert all(problem.where and problem.message and problem.hint for problem in problems)

        def told(path: str, *words: str) -> list[Problem]:
            return [
                one
                for one in problems
                if one.where.startswith(path) and all(word in one.message for word in words)
            ]

        names = {
            name.casefold()
            for one in every
            for name in (one.id, one.path, one.path.removesuffix(".md"), Path(one.path).stem)
        }
        names |= {Path(path).stem for path in self.files()}
        dangling = set()
        for one in every:
            # Of what is set aside the relations alone are looked at.
            said = [to for _, to in one.relations] + (
                LINK.findall(one.note.text)
                if one.id != one.path and one.status not in SET_ASIDE_STATUSES
                else []
            )
            for name in (
                name.strip().removeprefix("/") for name in said if not name.endswith(".md")
            ):
                if name.casefold() not in names:
                    assert told(one.path, name), (
                        f"{one.path} links to {name}, which is nowhere, and nobody says so"
                    )
                    dangling.add(one.path)
            if one.note.problems:
                assert told(one.path), f"{one.path} cannot be read, and nobody says so"
        for id_, count in clear.items():
            assert (
                len([one for one in problems if f"has the id {id_!r} of" in one.message])
                == count - 1
            )
        for path in {
            one.path for one in every if not one.note.problems and clear[one.id] == 1
        } - dangling:
            rest = [one for one in told(path) if "is a comment in YAML" not in one.message]
            assert not rest, rest


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_people_do_by_hand_harms_no_verb_and_no_verb_harms_what_they_did(
    seed: int, ram: Path
) -> None:
    hands = Hands(ram / "vault", seed)
    done = []
    try:
        for step in range(STEPS):
            done.append(hands.hand() if hands.chance.random() < 0.45 else hands.call())
            if step % 10 == 9:
                hands.agrees()
    except BaseException:
        print("\n".join(done[-25:]), os.linesep)
        raise
