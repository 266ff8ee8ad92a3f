"""`cortex extract`, and what extraction leaves in real vaults: on two clones, in a person's hands, after a crash."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.turn_summary import CommandRun, PlannedStep, TurnSummary, compose_text
from cortex.core.notes import note as notes
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.operations.records.supersede import supersede
from cortex.operations.share.sync import sync
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault
from tests.conftest import commit_all, run_git

CLAIM = "Decision: we chose SQLite over Postgres because it is one file."


class Clone:
    """A clone of a vault. A second passes with everything that anybody does."""

    ticks = 0

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = Vault(str(root))

    def caller(self) -> Caller:
        Clone.ticks += 1
        number = Clone.ticks
        now = f"2026-11-20T10:{number // 60:02}:{number % 60:02}Z"
        chance = lambda size: number.to_bytes(size, "big")
        return Caller(str(self.root), now, chance, "test", no_progress)

    def stop(self, text: str, **more: str) -> str:
        given = {"type": "stop", "project": "shop", "branch": "main", "session": "s"} | more
        id_ = capture(self.vault, self.caller(), text, **given).id
        done = normalize(self.vault, self.caller())
        assert (done.failed, done.problems) == ((), ())
        return id_

    def sync(self) -> None:
        done = sync(self.vault, self.caller())
        assert (done.trouble, done.problems, done.waiting) == ("", (), ())

    def held(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*.md")
            if ".git" not in path.parts
        }

    def of(self, type_: str) -> notes.Note:
        (found,) = [
            notes.read(data)
            for path, data in self.held().items()
            if path.startswith(f"records/{type_}/")
        ]
        return found


@pytest.fixture
def clones(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Clone, Clone]:
    Clone.ticks = 0
    one, two = Clone(tmp_path / "one"), Clone(tmp_path / "two")
    run_git(tmp_path, "init", "-q", "--bare", "remote")
    run_git(tmp_path, "init", "-q", "one")
    init(one.caller(), str(one.root))
    run_git(one.root, "remote", "add", "origin", "../remote")
    commit_all(one.root, "begin")
    run_git(one.root, "push", "-qu", "origin", "main")
    run_git(tmp_path, "clone", "-q", "remote", "two")
    for clone in (one, two):
        run_git(clone.root, "config", "pull.rebase", str(getattr(request, "param", False)).lower())
    return one, two


def meet(one: Clone, two: Clone) -> None:
    for clone in (one, two, one):
        clone.sync()
    assert one.held() == two.held()
    assert not [
        path
        for path, data in one.held().items()
        if b"<<<<<<<" in data or b"merge_conflicts" in data
    ]


@pytest.mark.parametrize("clones", [False, True], indirect=True, ids=["merge", "rebase"])
def test_what_two_clones_find_in_two_sessions_is_one_record(clones):
    one, two = clones
    first = one.stop(CLAIM, session="mine", branch="main")
    second = two.stop(
        f"{CLAIM}\n\n[MEMORY: permanent] Never push on Friday", session="theirs", branch="feature"
    )
    third = one.stop(
        "[MEMORY: decision] We chose SQLite over Postgres because it is one file", session="mine"
    )
    one.stop("[MEMORY: permanent] Never push on Friday", session="mine")
    meet(one, two)
    decision = one.of("decision")
    assert set(decision.provenance()[0]) >= {first, second}
    assert (decision.title, decision.text_below_title.strip()) == (
        "We chose SQLite over Postgres",
        "**Why.** It is one file",
    )
    assert decision.get("created") == "2026-11-20T10:00:02Z"
    assert len(one.of("note").provenance()[0]) == 2
    assert one.of("note").fields["pinned"] is True
    again = two.stop(CLAIM, session="theirs")
    meet(one, two)
    assert again in one.of("decision").provenance()[0]
    assert third


def test_the_plan_of_a_branch_that_two_clones_make_is_the_later_one(clones):
    one, two = clones
    one.stop(
        compose_text(
            TurnSummary("Planned.", plan=(PlannedStep("read", True), PlannedStep("write", True)))
        )
    )
    two.stop(
        compose_text(
            TurnSummary("Planned.", plan=(PlannedStep("read", True), PlannedStep("ship", False)))
        ),
        session="other",
    )
    meet(one, two)
    plan = one.of("plan")
    assert (plan.text_below_title.strip(), plan.get("status")) == ("- [x] read\n- [ ] ship", "")
    assert len(plan.provenance()[0]) == 2
    assert b"ship" in one.held()["briefings/shop/active-plan.md"]


def test_what_a_clone_has_superseded_stays_so_when_another_says_it_again(clones):
    one, two = clones
    one.stop(CLAIM)
    meet(one, two)
    one.stop("Decision: use DuckDB")
    ids = {
        path.rpartition("/")[2][:-3] for path in one.held() if path.startswith("records/decision/")
    }
    old = next(id_ for id_ in ids if "sqlite" in id_)
    (new,) = ids - {old}
    supersede(one.vault, one.caller(), old, by=new)
    held = one.root / f"records/decision/{old}.md"
    two.stop(CLAIM, session="later")
    meet(one, two)
    assert b"status: superseded" in held.read_bytes()
    assert len(notes.read(held.read_bytes()).provenance()[0]) == 2


def test_a_record_that_a_person_moved_is_found_by_its_id(vault, tmp_path):
    clone = Clone(Path(vault.root))
    clone.stop(CLAIM)
    (path,) = clone.root.glob("records/decision/*.md")
    os.makedirs(clone.root / "kept")
    path.rename(clone.root / "kept/storage.md")
    clone.stop(CLAIM, session="another")
    assert not list(clone.root.glob("records/decision/*.md"))
    assert len(notes.read((clone.root / "kept/storage.md").read_bytes()).provenance()[0]) == 2


def test_a_crash_between_the_records_of_a_turn_leaves_nothing_undone(vault):
    clone = Clone(Path(vault.root))
    id_ = clone.stop(
        f"{CLAIM}\n\nDiscovery: fsync is slow here.\n\n[MEMORY: permanent] Short answers"
    )
    before = clone.held()
    event = next(path for path in before if id_ in path)
    (clone.root / event).rename(clone.root / f"inbox/pending/{id_}.md")
    for path in before:
        if path.startswith(("records/discovery", "records/note")):
            (clone.root / path).unlink()
    normalize(vault, clone.caller())
    assert {
        path: data for path, data in clone.held().items() if not path.startswith("briefings")
    } == {path: data for path, data in before.items() if not path.startswith("briefings")}


def test_the_words_of_the_team_stand_in_the_settings(vault):
    clone = Clone(Path(vault.root))
    with open(clone.root / "cortex.toml", "a") as file:
        file.write('\n[extract]\nrunbook = ["on call:"]\n')
    clone.stop("On call: page Ann first.")
    assert clone.of("runbook").title == "On call: page Ann first"


def test_the_verb_tells_what_is_found_and_what_becomes_a_record(cortex):
    stop = compose_text(
        TurnSummary(
            f"{CLAIM}\n\nI decided to read it.",
            commands=(CommandRun("make", "failed: 2"),),
            plan=(PlannedStep("one", False),),
        )
    )
    id_ = cortex(
        "capture", "--type", "stop", "--session", "s1", "--project", "p", "-", stdin=stop
    ).stdout.strip()
    shown = cortex("extract", id_)
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[:3] == [
        "0.85 keyword    decision   we chose SQLite over Postgres",
        "     because it is one file.",
        "     line 1",
    ]
    assert shown.stdout.splitlines()[-1] == "3 finds, 2 records"
    cortex("normalize")
    found = json.loads(cortex("extract", "s1", "--json").stdout)
    assert [(one["layer"], one["type"], one["confidence"], one["record"], one["event"]) for one in found["found"]] == [
        ("keyword", "decision", 0.85, True, id_), ("keyword", "decision", 0.3, False, id_),
        ("structural", "plan", 1.0, True, id_),
    ]  # fmt: skip
    assert found["events"] == [id_]
    text = json.loads(
        cortex("extract", "-", "--json", stdin="[MEMORY: learned, ci] The cache is shared").stdout
    )["found"]
    assert [(one["type"], one["tags"], one["text"], one["event"]) for one in text] == [
        ("learning", ["ci"], "The cache is shared", "")
    ]
    nothing = cortex("extract", "nothing at all here")
    assert (nothing.returncode, nothing.stdout) == (1, "nothing found\n")
    unknown = cortex("extract", "20261120t164512z-k3f7q2abcd")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "there is no event" in unknown.stderr


MODEL = """import json, sys
asked = sys.stdin.read()
assert "Carts expire" in asked
print(json.dumps([
    {"type": "decision", "text": "Carts expire after a day without a visit.", "reason": "the table stays small", "confidence": 0.8},
    {"type": "decision", "text": "Use SQLite", "confidence": 7},
]))
"""


def stop(vault: Vault, caller: Caller, text: str, session: str = "s1") -> str:
    """Capture a turn; its id."""
    return capture(vault, caller, text, type="stop", session=session, project="shop").id


@pytest.fixture
def model(tmp_path) -> str:
    (tmp_path / "model.py").write_text(MODEL)
    return f"{sys.executable} {tmp_path / 'model.py'}"


def test_a_model_that_somebody_names_is_one_more_layer(vault, caller, cortex, model):
    id_ = stop(vault, caller, "Carts expire. I made that change.")
    found = json.loads(cortex("extract", id_, "--model", model, "--json").stdout)
    assert [
        (one["layer"], one["text"], one["confidence"], one["record"]) for one in found["found"]
    ] == [("model", "Carts expire after a day without a visit.", 0.8, False)]
    assert "1 of its answers" in found["problems"][0]["message"]
    assert found["kept"] == []


def test_what_it_finds_is_saved_when_that_is_asked_for(vault, caller, cortex, model):
    id_ = stop(vault, caller, "Carts expire. I made that change.")
    asked = ("extract", id_, "--model", model, "--keep", "--json")
    (kept,) = json.loads(cortex(*asked).stdout)["kept"]
    note = notes.read(Path(vault.root, "records", "decision", f"{kept}.md").read_bytes())
    assert (note.get("confidence"), note.get("project"), note.provenance()[1]) == (
        "0.8",
        "shop",
        {"session": "s1"},
    )
    assert "**Why.** the table stays small" in note.text
    again = json.loads(cortex(*asked).stdout)
    assert again["kept"] == [kept], "asked twice within a quarter of an hour it is one record"


def test_keep_needs_a_model(cortex):
    done = cortex("extract", "some words", "--keep")
    assert (done.returncode, "--model" in done.stderr) == (2, True)


def test_what_a_team_s_own_words_made_stays_in_its_event_without_git(vault, caller, cortex):
    with Path(vault.root, "cortex.toml").open("a") as file:
        file.write('\n[extract]\ndecision = ["beschlossen:"]\n')
    stop(vault, caller, "Beschlossen: der Warenkorb liegt in SQLite.")
    (hit,) = json.loads(cortex("search", "Warenkorb", "type:decision", "--json").stdout)["hits"]
    assert cortex("delete", hit["id"], "--hard", "--yes").returncode == 0
    assert not Path(vault.root, hit["path"]).exists()
    done = cortex("restore", hit["id"])
    assert done.returncode == 2
    assert "git init" in done.stderr
    events = Path(vault.root, "events").rglob("*.md")
    assert any("der Warenkorb liegt in SQLite" in event.read_text() for event in events)


def test_learnings_below_their_heading_are_shown_as_what_becomes_of_them(vault, caller, cortex):
    text = "## Key Learnings\n\n- Retries must carry the idempotency key\n\nDecision: carts expire after a day."
    passive = capture(vault, caller, text, type="passive", session="s1", project="shop").id
    found = json.loads(cortex("extract", passive, "--json").stdout)["found"]
    assert [(one["layer"], one["type"], one["record"]) for one in found] == [
        ("learnings", "learning", True),
        ("keyword", "decision", False),
    ]
    hits = json.loads(cortex("search", "project:shop", "--json").stdout)["hits"]
    assert [hit["type"] for hit in hits if hit["path"].startswith("records/")] == ["learning"]


def test_a_tag_makes_sure_what_was_only_found_by_its_words(vault, caller, cortex):
    stop(vault, caller, "Decision: carts expire after a day.")
    (hit,) = json.loads(cortex("search", "type:decision", "--json").stdout)["hits"]
    path = Path(vault.root, hit["path"])
    assert "confidence: 0.85" in path.read_text()
    stop(vault, caller, "[MEMORY: decision] carts expire after a day", session="s2")
    assert len(json.loads(cortex("search", "type:decision", "--json").stdout)["hits"]) == 1
    note = notes.read(path.read_bytes())
    assert (note.get("confidence"), note.provenance()[1]["layer"], len(note.provenance()[0])) == (
        "1",
        "tag",
        2,
    )
