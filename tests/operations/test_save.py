"""Save: a captured event and a record at once; topics, twins, what is refused, and that no text is ever lost."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.notes import note as notes
from cortex.core.notes.edit import with_provenance
from cortex.core.notes.relations import parse_link_target, relations_of
from cortex.index.refresh import query_index
from cortex.index.state_file import STATE_FILE
from cortex.operations.capture.capture import publish_event
from cortex.operations.care.doctor import doctor
from cortex.operations.find.entities import topic
from cortex.operations.find.search import search
from cortex.operations.records.archive import archive, delete
from cortex.operations.records.capture import capture
from cortex.operations.records.restore import restore, retry
from cortex.operations.records.save import save
from cortex.operations.records.supersede import supersede
from cortex.operations.upkeep import normalize_now as at_once_module
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from cortex.operations.upkeep.normalize_now import normalize_now
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from tests.conftest import commit_all

AWS = "AKIA" + "ABCDEFGH23456789"
passive = partial(save, learnings=True)


class Clock:
    """Callers whose time goes on by a second, or by what is asked."""

    def __init__(self, caller: Caller) -> None:
        self.seconds, self.caller = 0, caller

    def __call__(self, later: int = 1) -> Caller:
        self.seconds += later
        return self.caller._replace(
            now=f"2026-11-20T{10 + self.seconds // 3600:02d}:{self.seconds // 60 % 60:02d}:{self.seconds % 60:02d}Z"
        )


@pytest.fixture
def tick(caller: Caller) -> Clock:
    return Clock(caller)


@pytest.fixture
def put(vault: Vault, tick: Clock):
    """Saves into the vault, for the project p, a second after what came before."""
    return lambda title, **options: save(vault, tick(), title, **{"project": "p"} | options)


def note(vault: Vault, path: str) -> notes.Note:
    return notes.read_strict(Path(vault.root, path).read_bytes(), path)


def kept(vault: Vault) -> list[notes.Note]:
    """The normalized events, in the order of their ids."""
    return [
        notes.read(path.read_bytes())
        for path in sorted(Path(vault.root, "events").rglob("*.md"), key=lambda path: path.name)
    ]


def records(vault: Vault) -> list[str]:
    return sorted(
        str(path.relative_to(vault.root)) for path in Path(vault.root, "records").rglob("*.md")
    )


def test_a_save_is_an_event_and_a_record_with_all_that_was_said(vault, cortex):
    done = cortex(
        "save", "Keep", "the", "index", "outside", "--type", "decision", "--what", "Cache it", "--why", "pickles", "--where", "`places.py`", "--learned",
        "trust nothing", "--project", "p", "--tags", "index,area/db", "--session", "s 1", "--confidence", "0.80", "--priority", "7", "--json",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    saved = json.loads(done.stdout)
    assert {key: saved[key] for key in ("outcome", "topic", "suggested_topic", "similar", "note", "problems")} == {
        "outcome": "created", "topic": "", "suggested_topic": "decision/keep-the-index-outside", "similar": [], "note": "", "problems": [],
    }  # fmt: skip
    text = Path(vault.root, saved["path"]).read_text()
    stamp = events.time_of_id(saved["event"])
    assert text == (
        "---\ntype: decision\nproject: p\ntags: [index, area/db]\n"
        f'created: {stamp}\nconfidence: 0.8\npriority: 7\nevents: ["[[{saved["event"]}]]"]\nsession: s 1\nid: {saved["id"]}\n---\n\n'
        "# Keep the index outside\n\n**What.** Cache it\n\n**Why.** pickles\n\n**Where.** `places.py`\n\n**Learned.** trust nothing\n"
    )
    (event,) = kept(vault)
    assert (event.get("type"), event.get("record"), event.get("scope"), event.get("source")) == (
        "observation", "decision", "project", "cli",
    )  # fmt: skip
    assert not list(Path(vault.root, "inbox/pending").iterdir())
    assert cortex("heal", "--check").returncode == 0


def test_for_a_person_it_is_a_line_a_path_and_what_else_there_is(vault, cortex):
    first = cortex(
        "save", "Rename only after the file is synced", "--project", "p", "--type", "gotcha"
    ).stdout.splitlines()
    assert first[0].startswith("created rename-only-after-the-file-is-synced-")
    assert first[1].strip().startswith("records/gotcha/")
    assert (
        first[2].strip() == "a topic for it: --topic learning/rename-only-after-the-file-is-synced"
    )
    cortex("search", "x")  # a look, after which the catalogue knows it
    again = cortex("save", "Rename after the file is synced", "--project", "p").stdout
    assert f"looks like {first[0].split()[1]} (0." in again
    assert (
        "looks like"
        not in cortex("save", "Rename after the file is synced well", "--project", "q").stdout
    )


@pytest.mark.parametrize(("options", "type_", "body"), [
    ({"title": "Decision: use links"}, "decision", ""),
    ({"title": "Use links", "topic": "bug/x"}, "bugfix", ""),
    ({"title": "Use links", "topic": "x"}, "note", ""),
    ({"title": "Use links", "type": "Love-Letter"}, "love-letter", ""),
    ({"title": "Use links", "type": "Rejected"}, "rejection", ""),
    ({"title": "Use links", "type": "error"}, "bugfix", ""),
    ({"title": "Use links", "body": "## All\n\n    of it\n"}, "note", "## All\n\n    of it"),
    ({"title": "Use links", "why": " no copy "}, "note", "**Why.** no copy"),
    ({"title": "Use links", "type": "action"}, "action", ""),
    ({"title": "Use\nlinks \x1b[31m\u200b", "body": "x"}, "note", "x"),
])  # fmt: skip
def test_type_and_text_by_what_is_given(vault, tick, options, type_, body):
    saved = save(vault, tick(), **options)
    held = note(vault, saved.path)
    assert (held.get("type"), held.text_below_title.strip("\n")) == (type_, body)
    assert held.get("status") == ("open" if type_ == "action" else "")
    assert "\x1b" not in held.title
    assert [hit.id for hit in search(vault, tick(), f"type:{type_} links").hits] == [saved.id]


def test_a_topic_is_one_record_that_says_what_was_said_last(put, vault, tick):
    first = put(
        "Use SQLite", topic="decision/storage", why="one file", tags=("db",), confidence=0.5
    )
    second = put(
        "Use Postgres",
        topic="Decision/Storage",
        why="two writers",
        tags=("db", "ops"),
        type="architecture",
    )
    assert (first.outcome, second.outcome, second.id, second.path) == (
        "created", "updated", first.id, first.path,
    )  # fmt: skip
    held = note(vault, first.path)
    assert (held.title, held.get("type"), held.get_list("tags"), held.get("confidence")) == (
        "Use Postgres",
        "architecture",
        ("db", "ops"),
        "",
    )
    assert held.text_below_title.strip() == "**Why.** two writers"
    assert held.provenance()[0] == (first.event, second.event)
    assert [event.get("title") for event in kept(vault)] == ["Use SQLite", "Use Postgres"]
    others = [
        save(vault, tick(), "Use Postgres", topic="decision/storage", **where)
        for where in ({"project": "q"}, {"project": "p", "scope": "global"})
    ]
    assert len({first.id, *(one.id for one in others)}) == 3


def test_the_same_text_again_adds_its_event_and_nothing_else(put, vault):
    for options in ({"topic": "bug/x"}, {"type": "gotcha"}, {"type": "party"}):
        first = put("Same", body="The same text.", **options)
        before = note(vault, first.path)
        again = put(
            "Same",
            body="the  SAME text." if not options.get("topic") else "The same text.",
            tags=("t",),
            **options,
        )
        assert (again.outcome, again.id) == ("duplicate", first.id)
        after = note(vault, first.path)
        assert (after.text, after.title, after.get_list("tags")) == (before.text, "Same", ("t",))
        assert after.provenance()[0] == (first.event, again.event)
    assert len(records(vault)) == 3


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("seen", [True, False], ids=["after a look", "before any look"])
def test_equal_text_is_one_record_for_fifteen_minutes_whatever_the_catalogue_knows(
    put, vault, tick, seen, fresh
):
    # Else the first save itself looks, and the catalogue knows its event from the inbox.
    if not fresh:
        query_index(vault, lambda *_: None, lambda _: None)
    first = put("One", body="Equal text")
    if seen:
        query_index(vault, lambda *_: None, lambda _: None)
    assert save(vault, tick(60), " one ", body="Equal text", project="p").id == first.id
    assert save(vault, tick(839), "One", body="Equal text", project="p").id == first.id
    assert save(vault, tick(), "One", body="Equal text", project="q").outcome == "created"
    assert put("One", body="Equal text").outcome == "created"


def test_a_note_that_lies_in_the_place_of_a_topic_is_not_touched(put, vault):
    saved = put("One", topic="pattern/x")
    Path(vault.root, saved.path).write_text("---\nid: mine\n---\nMine.\n")
    with pytest.raises(CortexError, match="kept as event") as refused:
        put("Two", topic="pattern/x")
    assert "cortex retry" in refused.value.hint
    assert Path(vault.root, saved.path).read_text() == "---\nid: mine\n---\nMine.\n"
    assert "Two" in next(Path(vault.root, "inbox/failed").iterdir()).read_text()


def test_what_a_hand_wrote_into_a_record_is_kept_as_an_event_before_it_is_overwritten(
    put, vault, tick
):
    saved = put("One", topic="pattern/x", body="first")
    file = Path(vault.root, saved.path)
    file.write_text(
        file.read_text()
        .replace("first", f"first, and my own words {AWS}")
        .replace("# One", "# Mine")
        .replace("created:", "reviewed: Ada\ncreated:")
    )
    again = put("Two", topic="pattern/x", body="second")
    held = note(vault, saved.path)
    assert (again.outcome, held.text_below_title.strip(), held.title, held.get("reviewed")) == (
        "updated", "second", "Two", "Ada",
    )  # fmt: skip
    first, edit, second = kept(vault)
    assert [first.get("id"), edit.get("id"), second.get("id")] == list(held.provenance()[0])
    assert (edit.get("source"), edit.get("title"), edit.get("type")) == (
        "edit",
        "Mine",
        "observation",
    )
    assert "my own words [REDACTED:aws-key]" in edit.text
    put("Three", topic="pattern/x", body="third")
    assert len(kept(vault)) == 4  # the second text was as its event gave it
    file.write_text(file.read_text().replace("third", "second"))
    put("Two", topic="pattern/x", body="fourth")
    assert normalize(vault, tick()).events == ()


def test_a_save_that_arrives_late_does_not_change_the_text(vault, tick):
    new = save(vault, tick(60), "New", topic="pattern/x", project="p", tags=("b",))
    early = Event(
        "20261120t100000z-abcdefghij",
        "observation",
        "",
        "text of another clone",
        project="p",
        title="Old",
        topic="pattern/x",
        scope="project",
        tags=("a",),
    )
    publish_event(vault, tick(), early)
    assert normalize(vault, tick()).changed == (new.path,)
    held = note(vault, new.path)
    assert (held.title, held.get_list("tags"), held.get("created")) == (
        "New",
        ("a", "b"),
        "2026-11-20T10:00:00Z",
    )


def test_a_superseded_topic_stays_so_and_the_answer_says_where_to_go(put, vault):
    saved = put("One", topic="pattern/x")
    newer = put("Better", supersedes=(saved.id,), derived_from=(saved.id[:12],))
    held = note(vault, saved.path)
    assert (held.get("status"), held.get("superseded_by"), held.get("status_before")) == (
        "superseded",
        f"[[{newer.id}]]",
        "",
    )
    for kind in ("supersedes", "derived_from"):
        assert note(vault, newer.path).get_list(kind) == (f"[[{saved.id}]]",)
    again = put("Two", topic="pattern/x")
    assert (again.outcome, newer.id in again.note) == ("updated", True)
    assert note(vault, saved.path).get("status") == "superseded"


@pytest.mark.parametrize(("options", "message"), [
    ({"title": ""}, "needs a title"),
    ({"title": " \x07\n"}, "needs a title"),
    ({"topic": "a" * 500}, "500 characters"),
    ({"topic": "../x"}, r"'\.\.'"),
    ({"topic": "a//b"}, "empty part"),
    ({"topic": " "}, "the topic is empty"),
    ({"topic": "a\x07b"}, "control characters"),
    ({"scope": "team"}, "unknown scope 'team'"),
    ({"scope": "project", "project": ""}, "no project"),
    ({"type": "two words"}, "no type"),
    ({"type": "../../etc"}, "no type"),
    ({"type": "x" * 41}, "no type"),
    ({"type": "con"}, "no type"),
    ({"type": "session"}, "no type"),
    ({"type": AWS}, "no type"),
    ({"tags": ("two words",)}, "not a tag"),
    ({"body": "x", "why": "y"}, "cannot stand beside"),
    ({"body": "x" * 1_000_001}, "1,000,001 bytes"),
    ({"supersedes": ("nobody-aaaaaa",)}, "there is no note"),
    ({"derived_from": ("nobody-aaaaaa",)}, "there is no note"),
])  # fmt: skip
def test_what_cannot_be_saved_is_refused_with_a_way_on_and_nothing_is_written(
    vault, tick, options, message
):
    caller = tick()._replace(cwd="/") if options.get("scope") == "project" else tick()
    with pytest.raises((InvalidInputError, NotFoundError), match=message) as refused:
        save(vault, caller, **{"title": "A title", **options})
    assert refused.value.hint
    assert AWS not in refused.value.message
    assert not list(Path(vault.root, "inbox/pending").iterdir())
    assert records(vault) == []


def test_a_title_of_ten_thousand_characters_is_kept_whole_in_the_text(put, vault):
    title = "long " * 2000
    for body in ("", "the body"):
        saved = put(title, body=body, type="party")
        held = note(vault, saved.path)
        assert len(held.title) <= 200
        assert title.strip() in held.text
        assert body in held.text


def test_a_secret_in_any_field_never_reaches_the_disk(put, vault, tick):
    fields = ("what", "why", "where", "learned", "session", "topic")
    put(f"title {AWS}", **dict.fromkeys(fields, f"x {AWS}"))
    put("t", body=f"<private>salary</private> {AWS}")
    learned = f"## Learnings\n1. The key of the store is {AWS} for now.\n"
    passive(vault, tick(), learned, session=f"s {AWS}", source=AWS)
    written = b"".join(path.read_bytes() for path in Path(vault.root).rglob("*.md"))
    assert AWS.encode() not in written
    assert AWS.lower().encode() not in written
    assert b"salary" not in written
    assert b"[REDACTED:aws-key]" in written


def test_briefings_are_right_after_every_save(put, vault, tick, tmp_path, git):
    git(tmp_path, "init", "-q", "-b", "one")

    def right() -> None:
        answer = heal(vault, tick(), check=True)
        assert (answer.stale, answer.problems) == ((), ())

    first = put("D0", type="decision", why="w")  # a new project
    right()
    for number in range(4):
        for type_ in ("decision", "action", "gotcha", "rejection", "plan", "pattern"):
            put(f"{type_} {number}", type=type_, body=f"Because {number}.\n\n- [ ] step {number}")
        right()
    many = [put(f"Gotcha {number}", type="gotcha", topic=f"bug/{number}") for number in range(22)]
    right()  # a branch page shows the latest twenty
    put("No longer a gotcha", type="config", topic="bug/21")
    right()  # one that was not shown has come up
    put("Nor this", supersedes=(many[20].id,))
    right()
    git(tmp_path, "symbolic-ref", "HEAD", "refs/heads/two")
    put("On another branch", type="gotcha")
    right()
    topic_ = [
        put(f"T{n}", topic="decision/t", type=type_)
        for n, type_ in enumerate(("decision", "gotcha", "decision"))
    ]
    right()
    git(tmp_path, "symbolic-ref", "HEAD", "refs/heads/one")
    # It moves from one branch's page to the other's.
    put("T on one", topic="decision/t", type="decision")
    right()
    put("D1", type="decision", supersedes=(first.id, topic_[0].id))
    right()
    save(vault, tick(), "Elsewhere", type="decision", project="q")
    right()
    save(vault, tick(), "Mine", type="decision", scope="personal", project="")
    right()


def test_what_another_process_normalized_first_is_answered_all_the_same(vault, tick):
    caller = tick()
    event = Event(
        f"{'20261120t164512z'}-abcdefghij",
        "observation",
        "2026-11-20T16:45:12Z",
        "text",
        project="p",
        title="Title",
        scope="project",
    )
    publish_event(vault, caller, event)
    normalize(vault, caller)
    (path, outcome), *_ = normalize_now(vault, caller, event).records
    assert (path.startswith("records/note/title-"), outcome) == (True, "created")


def test_a_save_that_finds_the_vault_busy_says_where_it_waits_and_the_next_command_completes_it(
    put, vault, tick, monkeypatch
):
    with (
        monkeypatch.context() as patch,
        lock(os.path.join(vault.state_folder(), "normalize.lock"), "inbox"),
    ):
        patch.setattr(at_once_module, "_LOCK_TIMEOUT_SECONDS", 0.05)
        with pytest.raises(CortexError, match="kept as event 20261120t") as busy:
            put("Waits")
    assert busy.value.hint == "cortex normalize makes it one"
    assert topic(vault, tick()).hits == ()
    assert [path.startswith("records/note/waits-") for path in records(vault)] == [True]


def test_a_save_that_dies_before_the_briefings_are_right_leaves_them_to_the_next_command(
    put, vault, tick, monkeypatch
):
    put("First", type="decision")

    def dies(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(at_once_module, "_update_briefings", dies)
        put("Second", type="decision")
    assert heal(vault, tick(), check=True).stale
    topic(vault, tick())
    assert heal(vault, tick(), check=True).stale == ()


def test_topics_are_listed_and_suggested_beside_those_that_look_like_it(put, vault, tick, cortex):
    for title in ("Use SQLite", "Use Postgres"):
        put(title, topic="decision/storage-engine")
    save(vault, tick(), "Login loops", topic="bug/login", project="q")
    listed = topic(vault, tick())
    assert [(one.topic, one.texts, one.hit.title, one.hit.project) for one in listed.hits] == [
        ("bug/login", 1, "Login loops", "q"), ("decision/storage-engine", 2, "Use Postgres", "p"),
    ]  # fmt: skip
    assert [one.topic for one in topic(vault, tick(), project="q").hits] == ["bug/login"]
    answer = json.loads(
        cortex("topic", "Which", "storage", "engine", "--type", "decision", "--json").stdout
    )
    assert (answer["suggested"], [one["topic"] for one in answer["hits"]]) == (
        "decision/which-storage-engine",
        ["decision/storage-engine"],
    )
    assert cortex("topic", "Lunch").stdout == "topic/lunch\n"


LEARNED = "Done.\n\n## Key Learnings\n\n1. Sync the folder after a rename, or it is gone.\n2. A lock file must never be deleted by its holder.\n"


def test_learnings_are_kept_and_the_same_ones_only_once(vault, tick, cortex):
    done = json.loads(
        cortex("passive", "--session", "s1", "--project", "p", "--json", "-", stdin=LEARNED).stdout
    )
    assert [(one["type"], one["outcome"]) for one in done["hits"]] == [("learning", "created")] * 2
    again = passive(vault, tick(), LEARNED.replace("Done", "Again"), project="p")
    assert [(one.outcome, one.id) for one in again.hits] == [
        ("duplicate", one["id"]) for one in done["hits"]
    ]
    assert len(records(vault)) == 2
    assert [event.text.count("Key Learnings") for event in kept(vault)] == [1, 1]
    assert (
        passive(vault, tick(), "Nothing.", session="s1", project="p")
        .hits[0]
        .path.startswith("sessions/")
    )
    assert passive(vault, tick(), "Nothing.", project="p").hits[0].type == "note"
    with pytest.raises(InvalidInputError):
        passive(vault, tick(), " ")
    assert cortex("heal", "--check").returncode == 0


@pytest.mark.parametrize(
    ("type_", "text"), [("session_start", "(no goal)"), ("session_end", "(no summary)")]
)
def test_a_session_begins_and_ends_without_a_word_and_nothing_else_does(vault, tick, type_, text):
    captured = capture(vault, tick(), "", type=type_, session="s1")
    assert Path(vault.root, captured.path).read_text().endswith(f"## Raw Content\n\n{text}\n")
    for other in ("prompt", "subagent_stop", "passive", "observation"):
        with pytest.raises(InvalidInputError, match="nothing to capture"):
            capture(vault, tick(), " ", type=other)
    for other in ("prompt", "subagent_stop", "stop"):
        capture(vault, tick(), f"said at {other}", type=other, session="s1")
    assert not normalize(vault, tick()).failed
    (session,) = Path(vault.root, "sessions").rglob("*.md")
    assert session.read_text().partition("## Events")[2].count("[[2026") == 4


def cloned(vault: Vault, git, cortex) -> Vault:
    """Another clone of the vault, in step with it; both know Cortex's merge drivers."""
    git(vault.root, "init", "-q")
    assert cortex("status").returncode == 0
    commit_all(vault.root, "begin")
    other = Vault(f"{vault.root}-clone")
    git(vault.root, "clone", "-q", ".", other.root)
    cortex("status", cwd=other.root)
    return other


def test_two_clones_that_save_a_topic_apart_have_one_record_in_one_place(
    put, vault, tick, git, cortex
):
    other = cloned(vault, git, cortex)
    one = put("Here", topic="decision/x", type="gotcha")
    two = save(other, tick(), "There", topic="decision/x", project="p")
    assert (one.id, one.path) == (two.id, two.path)
    for root in (vault.root, other.root):
        commit_all(root, "save")
    git(vault.root, "pull", "-q", "--no-rebase", "--no-edit", other.root, "main")
    held = note(vault, one.path)
    assert (held.title, held.text_below_title.strip(), held.provenance()[0]) == (
        "There",
        "",
        (one.event, two.event),
    )
    assert {event.text.strip().rpartition("\n")[2] for event in kept(vault)} == {"Here", "There"}


def test_a_save_loads_no_search_engine(vault):
    code = "import sys; from cortex.interfaces.cli.main import main; main(sys.argv[1:]); print([m for m in sys.modules if m.split('.')[0] in ('whoosh', 'git', 'markdown_it')])"
    run = [sys.executable, "-c", code, "--vault", vault.root, "save", "x", "--project", "p"]
    subprocess.run(run, capture_output=True, check=True, timeout=60)
    assert (
        subprocess.run(
            run, capture_output=True, check=True, timeout=60, text=True
        ).stdout.splitlines()[-1]
        == "[]"
    )


def test_what_is_said_last_holds_also_within_a_second_and_behind_a_clock_that_is_ahead(
    vault, caller
):
    here = caller._replace(random=os.urandom)
    outcomes = [
        save(
            vault, here, "Store", what=f"way {number}", topic="decision/store", project="p"
        ).outcome
        for number in range(12)
    ]
    assert outcomes == ["created", *["updated"] * 11]
    ahead = here._replace(now="2031-01-01T00:00:00Z")
    save(vault, ahead, "Store", what="from the future", topic="decision/store", project="p")
    saved = save(vault, here, "Store", what="from now", topic="decision/store", project="p")
    assert saved.outcome == "updated"
    assert note(vault, saved.path).text_below_title.strip() == "**What.** from now"
    assert saved.event.startswith("20310101t000000z-")
    assert len(note(vault, saved.path).provenance()[0]) == 14


@pytest.mark.parametrize(
    ("last", "random"),
    [("a2b3c4d5e6", b"\0\0"), ("zzzzzzzzz2", b"\0\1"), ("7777777777", b"\xff\xff"), ("22222zzzzz", b"\0\7"), ("zzzzzzzzzz", b"\0")],
)  # fmt: skip
def test_an_id_after_another_sorts_behind_it(last, random):
    after = events.id_after(f"20261120t164512z-{last}", random)
    assert events.is_event_id(after)
    assert after > f"20261120t164512z-{last}"
    assert after[:17] == ("20261120t164513z-" if last == "zzzzzzzzzz" else "20261120t164512z-")


def test_a_topic_goes_on_in_the_project_that_its_own_was_merged_into(vault, tick, cortex):
    first = save(vault, tick(), "Store", what="SQLite", topic="decision/store", project="shop-a")
    save(vault, tick(), "Other", what="that there is such a project", project="shop")
    assert cortex("project", "merge", "shop-a", "shop", "--yes").returncode == 0
    for project in ("shop", "shop-a"):
        again = save(
            vault, tick(), "Store", what=f"By {project}", topic="decision/store", project=project
        )
        assert (again.id, again.outcome) == (first.id, "updated")
    assert note(vault, again.path).get("project") == "shop"
    late = capture(vault, tick(), "Gotcha: from another clone", project="shop-a")
    normalize(vault, tick())
    (made,) = [path for path in records(vault) if "gotcha" in path]
    assert (late.id in note(vault, made).provenance()[0], note(vault, made).get("project")) == (
        True,
        "shop",
    )


def wrong(vault: Vault, caller: Caller) -> list[tuple[str, str]]:
    """What doctor says of the records: path and hint."""
    return [
        (problem.where, problem.hint)
        for problem in doctor(vault, caller).problems
        if problem.where.startswith("records/")
    ]


def standing(vault: Vault, *paths: str) -> list[tuple[str, str]]:
    """Status and replacement of records; active goes without saying."""
    held = [note(vault, path) for path in paths]
    return [
        (one.get("status") or "active", parse_link_target(one.get("superseded_by"))) for one in held
    ]


@pytest.mark.parametrize("between", [0, 1, 2])
def test_who_saves_a_topic_in_place_of_what_held_in_its_place_gets_it_back(
    put, vault, tick, between
):
    topical = put("Use SQLite", topic="decision/storage", body="sqlite it is")
    chain = [
        put(f"Use files {number}", body=f"files it is {number}") for number in range(between + 1)
    ]
    for old, new in itertools.pairwise([topical, *chain]):
        supersede(vault, tick(), old.id, by=new.id, reason="so it was")
    last = chain[-1]
    back = put(
        "Use SQLite after all", topic="decision/storage", body="sqlite again", supersedes=(last.id,)
    )
    assert (back.id, back.outcome, back.note) == (topical.id, "updated", "")
    assert standing(vault, topical.path, last.path) == [("active", ""), ("superseded", topical.id)]
    held = note(vault, topical.path)
    assert not {"superseded_at", "superseded_because", "status_before"} & held.fields.keys()
    assert (held.text_below_title.strip(), held.get_list("supersedes")) == (
        "sqlite again",
        (f"[[{last.id}]]",),
    )
    assert [hit.id for hit in search(vault, tick(), "sqlite files").hits] == [topical.id]
    assert wrong(vault, tick()) == []
    assert heal(vault, tick(), check=True).stale == ()
    restore(vault, tick(), [last.id])
    assert standing(vault, topical.path, last.path) == [("active", ""), ("active", "")]


def test_a_save_in_place_of_another_leaves_alone_what_a_third_one_superseded(put, vault, tick):
    topical, third, other = (
        put(title, topic=topic_)
        for title, topic_ in (("T", "decision/x"), ("Third", ""), ("O", ""))
    )
    supersede(vault, tick(), topical.id, by=third.id)
    again = put("T again", topic="decision/x", supersedes=(other.id,))
    assert third.id in again.note
    assert standing(vault, topical.path, other.path) == [
        ("superseded", third.id),
        ("superseded", topical.id),
    ]
    assert wrong(vault, tick()) == []


def test_an_event_from_before_a_record_was_superseded_hides_no_other(put, vault, tick):
    topical = save(vault, tick(60), "T", topic="decision/x", project="p")
    other = put("O")
    supersede(vault, tick(), topical.id, by=other.id)
    early = Event(
        "20261120t100000z-abcdefghij", "observation", "", "text of another clone", project="p", title="Early", topic="decision/x", scope="project",
        supersedes=(other.id,),
    )  # fmt: skip
    publish_event(vault, tick(), early)
    assert normalize(vault, tick()).failed == ()
    assert early.id in note(vault, topical.path).provenance()[0]
    assert standing(vault, topical.path, other.path) == [("superseded", other.id), ("active", "")]


def test_two_clones_that_supersede_crosswise_are_told_how_to_end_it(put, vault, tick, git, cortex):
    one, two, three = (put(title) for title in ("One", "Two", "Three"))
    other = cloned(vault, git, cortex)
    supersede(vault, tick(), one.id, by=two.id)
    supersede(other, tick(), two.id, by=one.id)
    supersede(other, tick(), three.id, by=one.id)
    for root in (vault.root, other.root):
        commit_all(root, "supersede")
    git(vault.root, "pull", "-q", "--no-rebase", "--no-edit", other.root, "main")
    assert standing(vault, one.path, two.path) == [("superseded", two.id), ("superseded", one.id)]
    assert wrong(vault, tick()) == [
        (saved.path, f"cortex restore {saved.id}") for saved in (one, two)
    ]
    restore(vault, tick(), [one.id])
    assert wrong(vault, tick()) == []
    assert standing(vault, one.path, two.path, three.path) == [("active", ""), ("superseded", one.id), ("superseded", one.id)]  # fmt: skip


@pytest.mark.parametrize("seen", [True, False], ids=["after a look", "before any look"])
@pytest.mark.parametrize("put_away", [
    lambda vault, caller, id_: delete(vault, caller, id_),
    lambda vault, caller, id_: archive(vault, caller, id_),
    lambda vault, caller, id_: supersede(vault, caller, id_),
    None,
], ids=["deleted", "archived", "superseded", "by hand"])  # fmt: skip
def test_the_same_text_again_is_a_record_where_the_first_one_was_put_away(
    put, vault, tick, put_away, seen
):
    query_index(vault, lambda *_: None, lambda _: None)
    first = put("Alpha rule", body="never run it twice", type="gotcha")
    if put_away:
        put_away(vault, tick(), first.id)
    else:
        file = Path(vault.root, first.path)
        file.write_text(file.read_text().replace("project: p", "status: archived\nproject: p"))
    if seen:
        query_index(vault, lambda *_: None, lambda _: None)
    again = put("Alpha rule", body="never run it twice", type="gotcha")
    assert (again.outcome, again.id != first.id) == ("created", True)
    assert search(vault, tick(), "twice").hits[0].id == again.id


def test_the_same_text_again_in_place_of_another_is_the_record_that_is_there(put, vault, tick):
    first = put("Alpha rule", body="never run it twice")
    other = put("Beta rule", body="run it once")
    again = put(
        "Alpha rule",
        body="never run it twice",
        supersedes=(first.id, other.id),
        derived_from=(other.id,),
    )
    assert again.id == first.id
    assert standing(vault, first.path, other.path) == [("active", ""), ("superseded", first.id)]
    assert note(vault, first.path).get_list("supersedes") == (f"[[{other.id}]]",)
    assert [hit.id for hit in search(vault, tick(), "run").hits] == [first.id]
    assert wrong(vault, tick()) == []


def test_in_a_merged_project_a_topic_supersedes_others_by_its_own_id_and_never_itself(
    put, vault, tick, cortex
):
    topic_ = "decision/store"
    first = put("Store", what="SQLite", topic=topic_, project="shop-a")
    other = put("Other", what="that there is such a project", project="shop")
    assert cortex("project", "merge", "shop-a", "shop", "--yes").returncode == 0
    for project, ids in (("shop", (first.id,)), ("shop-a", (other.id, first.id))):
        with pytest.raises(InvalidInputError, match="of the record that this is to supersede"):
            put("Store", what="Files", topic=topic_, project=project, supersedes=ids)
    assert not list(Path(vault.root, "inbox/pending").iterdir())
    related = {"supersedes": (other.id,), "derived_from": (first.id,)}
    again = put("Store", what="Files", topic=topic_, project="shop", **related)
    assert again.id == first.id
    assert standing(vault, first.path, other.path) == [("active", ""), ("superseded", first.id)]
    assert list(relations_of(note(vault, first.path).fields)) == [("supersedes", f"[[{other.id}]]")]


@pytest.mark.parametrize(
    ("theirs", "outcome"), [("another text", "updated"), ("mine", "duplicate")]
)
def test_a_save_that_loses_a_race_says_so(vault, caller, theirs, outcome):
    first = save(vault, caller, "First", topic="decision/x", project="p")

    def random(size: int) -> bytes:
        """Between the choice of an id and the lock, another process saves the topic."""
        if size == 4:
            save(
                vault,
                caller._replace(random=lambda size: b"\xff" * size),
                "T",
                body=theirs,
                topic="decision/x",
                project="p",
            )
        return b"\0" * size

    lost = save(
        vault, caller._replace(random=random), "T", body="mine", topic="decision/x", project="p"
    )
    assert (lost.outcome, lost.id) == (outcome, first.id)
    assert (f"cortex history {first.id}" in lost.note) == (outcome == "updated")
    assert note(vault, first.path).text_below_title.strip() == theirs
    assert "mine" in [event.text.rpartition("\n\n")[2].strip() for event in kept(vault)]


@pytest.mark.parametrize("seen", [True, False], ids=["after a look", "before any look"])
@pytest.mark.parametrize("how", ["save", "passive"])
def test_a_record_that_somebody_moved_is_found_where_it_lies_now(put, vault, tick, how, seen):
    query_index(vault, lambda *_: None, lambda _: None)
    # By the clock of this test.
    os.utime(
        os.path.join(vault.cache_folder(), STATE_FILE),
        (datetime(2026, 11, 20, 10, tzinfo=UTC).timestamp(),) * 2,
    )
    text = "## Learnings\n1. Sync the folder after a rename.\n"
    topic_ = "learning/sync-the-folder-after-a-rename"
    made = (
        passive(vault, tick(), text, project="p").hits[0]
        if how == "passive"
        else put("One", topic=topic_)
    )
    if seen:
        query_index(vault, lambda *_: None, lambda _: None)
    os.rename(Path(vault.root, made.path), Path(vault.root, "My own place.md"))
    again = save(vault, tick(1200), "Two", topic=topic_, project="p")
    assert (again.outcome, again.path, again.id) == ("updated", "My own place.md", made.id)
    assert records(vault) == []


def test_a_name_that_a_hand_wrote_into_the_provenance_does_not_stop_a_topic(put, vault):
    first = put("One", topic="decision/x")
    file = Path(vault.root, first.path)
    file.write_text(file.read_text().replace("events: [", "events: [minutes-of-monday, "))
    for number in range(2):
        again = put(f"Again {number}", topic="decision/x")
        assert (again.outcome, note(vault, first.path).title) == ("updated", f"Again {number}")
    assert "minutes-of-monday" in note(vault, first.path).provenance()[0]


def test_what_a_hand_related_stays_when_a_save_adds_a_relation(put, vault):
    first, source = (put("One", topic="decision/x"), put("Source"))
    file = Path(vault.root, first.path)
    hand = '  - "[[my-own-plan]]"\n  - {kind: refines, to: "[[other]]", why: because}\n'
    file.write_text(file.read_text().replace("events:", f"relations:\n{hand}events:"))
    put("Two", topic="decision/x", derived_from=(source.id,))
    assert f"relations:\n{hand}" in file.read_text()
    assert f'derived_from: ["[[{source.id}]]"]\n' in file.read_text()


def crowded(vault: Vault, path: str, count: int) -> None:
    """The note as it is after so many more events."""
    file = Path(vault.root, path)
    ids = [
        f"20260101t000000z-{f'{n:010d}'.translate(str.maketrans('0189', 'abcd'))}"
        for n in range(count)
    ]
    held = notes.read(file.read_bytes())
    file.write_bytes(notes.write(with_provenance(held, (*ids, *held.provenance()[0]))))


def test_a_topic_and_a_session_go_on_after_thousands_of_events(put, vault, tick):
    first = put("One", topic="decision/x")
    capture(vault, tick(), "Why?", type="prompt", session="s1")
    (session,) = normalize(vault, tick()).created
    for path in (first.path, session):
        crowded(vault, path, 4_000)
    for number in range(2):
        again = put(f"Again {number}", topic="decision/x")
        assert (again.id, again.outcome, note(vault, first.path).title) == (
            first.id,
            "updated",
            f"Again {number}",
        )
        capture(vault, tick(), f"Prompt {number}", type="prompt", session="s1")
        assert normalize(vault, tick()).failed == ()
    assert len(note(vault, first.path).provenance()[0]) == 4_003
    assert len(note(vault, session).provenance()[0]) == 4_003
    assert [hit.id for hit in search(vault, tick(), "again").hits] == [first.id]


@pytest.mark.parametrize("topical", [True, False])
def test_an_event_that_would_make_a_note_unreadable_is_put_aside_and_the_note_stays(
    put, vault, tick, topical
):
    named = {"topic": "decision/x"} if topical else {"body": "Equal text"}
    first = put("One", **named)
    file = Path(vault.root, first.path)
    file.write_text(file.read_text().replace("events:", f"mine: {'x' * 65_000}\nevents:"))
    before = file.read_bytes()
    with pytest.raises(
        CortexError,
        match="could not be read any more: the frontmatter has no closing ---, or is larger",
    ) as refused:
        put(
            "Two" if topical else "One",
            tags=tuple(f"tag{number}{'y' * 80}" for number in range(20)),
            **named,
        )
    assert "cortex retry" in refused.value.hint
    assert file.read_bytes() == before
    assert len(kept(vault)) == 1  # nor was anything of the hand's kept apart
    file.write_text(file.read_text().replace("x" * 65_000, "x"))
    (failed,) = Path(vault.root, "inbox/failed").iterdir()
    retry(vault, tick(), failed.stem)
    assert normalize(vault, tick()).changed == (first.path,)
    assert len(note(vault, first.path).get_list("tags")) == 20


def test_two_records_that_a_hand_gave_one_topic_are_named_until_one_supersedes_the_other(
    put, vault, tick
):
    one = put("One", topic="decision/a")
    two = put("Two", topic="decision/b")
    assert wrong(vault, tick()) == []
    file = Path(vault.root, two.path)
    file.write_text(file.read_text().replace("topic: decision/b", "topic: decision/a"))
    Path(vault.root, "mine.md").write_text(
        "---\ntopic: decision/a\nproject: p\nscope: project\n---\n"
    )
    assert wrong(vault, tick()) == [
        (two.path, f"cortex supersede {one.id} --by {two.id}, or the other way round")
    ]
    supersede(vault, tick(), one.id, by=two.id)
    assert wrong(vault, tick()) == []


def test_the_text_that_a_hand_wrote_never_passes_for_the_latest(vault, caller):
    here = caller._replace(random=os.urandom)
    for number in range(12):
        saved = save(
            vault,
            here,
            f"Store {number}",
            body=f"text {number}",
            topic="decision/store",
            project="p",
        )
        last = max(note(vault, saved.path).provenance()[0])
        assert last == saved.event
        file = Path(vault.root, saved.path)
        file.write_text(file.read_text().replace(f"text {number}", f"by hand {number}"))
    assert len(kept(vault)) == 23


def test_two_decisions_with_one_reason_are_two_records(put, vault, tick):
    first = put("Use Postgres for orders", type="decision", why="cheaper")
    second = put("Use Redis for sessions", type="decision", why="cheaper")
    again = put("Use Redis for sessions", type="decision", why="cheaper")
    assert (second.outcome, second.id != first.id, again.outcome, again.id) == (
        "created", True, "duplicate", second.id,
    )  # fmt: skip
    query_index(vault, tick().progress, lambda index: index.catalogue.count_notes())
    assert put("use postgres for  orders", type="decision", why="cheaper").id == first.id
    assert put("Use neither", type="decision", why="cheaper").outcome == "created"


@pytest.mark.parametrize(("due", "said"), [
    ("2026-12-01", "2026-12-01"), ("tomorrow", "2026-11-21"), ("Friday", "2026-11-27"), ("next monday", "2026-11-23"), ("by 3 December", "2026-12-03"),
])  # fmt: skip
def test_an_action_is_saved_with_its_owner_and_due(due, said, vault, caller):
    saved = save(vault, caller, "Order the boards", owner="Ana Maria", due=due)
    text = Path(vault.root, saved.path).read_text()
    assert f"owner: Ana Maria\ndue: {said}\n" in text
    assert saved.path.startswith("records/action/")
    again = save(vault, caller, "Order the boards", owner="Ben", due=due)
    assert (again.outcome, again.note) == (
        "duplicate",
        f"it stays as it was: cortex revise {saved.id} --owner Ben changes it",
    )


@pytest.mark.parametrize(("given", "message"), [
    ({"due": "someday"}, "'someday' is no due date"),
    ({"due": "2026-02-30"}, "'2026-02-30' is no due date"),
    ({"owner": "Ana", "type": "decision"}, "a decision has no owner"),
])  # fmt: skip
def test_what_is_no_due_or_no_action_is_refused_and_nothing_is_kept(given, message, vault, caller):
    with pytest.raises(InvalidInputError, match=message):
        save(vault, caller, "Order the boards", **given)
    assert not [*Path(vault.root).rglob("*order-the-boards*")]
