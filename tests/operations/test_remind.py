"""What a prompt calls to mind: what bears on it and may be told, once, in little room; else nothing."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from cortex.core.briefing.injected import MAX_REMINDER_CHARS
from cortex.core.text import context_markers
from cortex.interfaces.cli import render
from cortex.operations.care.init import init
from cortex.operations.find.recall import recall
from cortex.operations.find.remind import remind
from cortex.operations.find.search import search
from cortex.operations.records.archive import archive, delete
from cortex.operations.records.capture import capture
from cortex.operations.records.supersede import supersede
from cortex.operations.sessions.brief import brief
from cortex.vault.locate import Vault
from cortex.vault.settings import load as load_settings
from cortex.vault.state import access_log, briefing_cache, reminder_log
from cortex.vault.state.briefing_cache import briefing_key


def record(id_: str, title: str, text: str = "", **fields: str) -> str:
    said = {"type": "decision", "status": "active", "project": "app"}
    said |= {"created": "2026-11-01T10:00:00Z"} | fields
    lines = "".join(f"{key}: {value}\n" for key, value in said.items() if value)
    return f"=== records/{said['type']}/{id_}.md\n---\nid: {id_}\ntitle: {title}\n{lines}---\n\n{text or title}\n"


OTHERS = "".join(
    record(f"other-{number}-aaaaaa", title, text)
    for number, (title, text) in enumerate([
        ("Buttons are blue", "Because the brand book says so, and people find them."),
        ("Invoices are sent at night", "The queue is empty then."),
        ("Use flock for the counter", "The kernel frees it when the process dies."),
        ("Dates are stored in UTC", "Zones change, and nobody wants to migrate a table."),
        ("Pages have no more than fifty rows", "The database answers in a tenth of a second."),
        ("Passwords are hashed with argon2", "It is what everybody recommends."),
        ("The changelog is written by hand", "A list of commits tells nobody anything."),
        ("Screens follow the grid of eight", "Designers count in it."),
    ])
)  # fmt: skip
LEDGER = record(
    "ledger-wal-aaaaaa",
    "The ledger writes ahead",
    "**Why.** A torn page of `ledger.db` cannot be replayed without the journal.",
)
ASKED = "should the ledger keep its journal, or can it replay without one?"


def ids(answer) -> list[str]:
    return [line.id for line in answer.hits]


@pytest.fixture
def told(vault_from, caller):
    """The ids that a prompt calls to mind among some notes."""

    def ask(notes: str, prompt: str = ASKED, **options) -> list[str]:
        given = {"project": "app", "branch": "main"} | options
        return ids(remind(vault_from(OTHERS + notes), caller, prompt, **given))

    return ask


def test_what_bears_on_a_prompt_is_told_in_a_frame_with_its_id(vault_from, caller):
    answer = remind(vault_from(OTHERS + LEDGER), caller, ASKED, project="app")
    (line,) = answer.hits
    assert line[:5] == ("ledger-wal-aaaaaa", "The ledger writes ahead", "Why: A torn page of `ledger.db` cannot be replayed without the journal.", "decision", "2026-11-01")  # fmt: skip
    assert (
        answer.text.splitlines()[2]
        == f"- [ledger-wal-aaaaaa] decision 2026-11-01: The ledger writes ahead | {line.text}"
    )
    assert context_markers.strip_injected(f"before {answer.text} after") == "before  after"
    assert answer.problems == ()


@pytest.mark.parametrize("prompt", [
    "", "thanks", "run the tests", "/compact", "fix the typo in line 3", "1",
    "what is the weather like in Lisbon?", "почини это", "この関数を直して", "why?",
])  # fmt: skip
def test_nothing_is_told_when_nothing_bears_on_it(told, prompt):
    assert told(LEDGER, prompt) == []


@pytest.mark.parametrize("prompt", [
    "ledger.db",
    "open ~/work/app/ledger.db and look",
    'why does it fail?\n```\nTraceback (most recent call last):\n  File "x.py", line 1\nJournalError: ledger.db is torn\n```',
    f"here is the log\n{'2026-11-20 10:00:00 INFO request served in 12 ms' * 3000}\n{ASKED}",
])  # fmt: skip
def test_a_file_and_an_error_and_a_question_under_a_log_are_found(told, prompt):
    assert told(LEDGER, prompt) == ["ledger-wal-aaaaaa"]


STAGING = record(
    "staging-aaaaaa", "Staging has no certificate", "It answers on port 80 alone.", type="gotcha"
)
PNPM = record(
    "pnpm-aaaaaa", "We use pnpm because its store is shared", "It installs in a third of the time."
)
SPOKEN = record(
    "lockfile-aaaaaa", "The lockfile is committed", "So pnpm installs the same everywhere."
)


@pytest.mark.parametrize(
    ("prompt", "id_"),
    [("why pnpm", "pnpm-aaaaaa"), ("pnpm?", "pnpm-aaaaaa"), ("staging is down", "staging-aaaaaa")],
)
def test_one_telling_word_brings_the_record_whose_title_it_is(told, prompt, id_):
    assert told(STAGING + PNPM + SPOKEN, prompt) == [id_]


@pytest.mark.parametrize(("text", "says"), [
    ("**Rejected.** A required daemon.\n\n**Why.** Nobody starts `it` by hand.\n", "Why: Nobody starts `it` by hand."),
    ("**Figures.** Cutting ext4 lost **none**\nof a thousand.\n", "Cutting ext4 lost none of a thousand."),
    ("**What Cortex does.** All paths are made plain.\n", "All paths are made plain."),
    ("## Why\n\n- The [[wal|journal]] is small\n", "Why: The journal is small"),
])  # fmt: skip
def test_a_preview_is_text_without_marks(vault_from, caller, text, says):
    (line,) = remind(
        vault_from(OTHERS + record("ledger-wal-aaaaaa", "The ledger's journal", text)),
        caller,
        "ledger journal",
        project="app",
    ).hits
    assert line.text == says


@pytest.mark.parametrize(("fields", "comes"), [
    ({}, True),
    ({"project": ""}, True),
    ({"project": "elsewhere"}, False),
    ({"project": "elsewhere", "scope": "personal"}, True),
    ({"project": "elsewhere", "scope": "global", "type": "preference"}, True),
    ({"branch": "feat/x"}, True),
    ({"status": "archived"}, False),
    ({"status": "deleted"}, False),
    ({"status": "pruned"}, False),
    ({"status": "superseded"}, False),
    ({"type": "session"}, False),
    ({"type": "action", "status": "open"}, True),
    ({"type": "action", "status": "done"}, False),
])  # fmt: skip
def test_who_is_told_what(told, fields, comes):
    text = "A torn journal cannot replay."
    ledger = record("ledger-wal-aaaaaa", "The ledger writes ahead", text, **fields)
    assert told(ledger) == ["ledger-wal-aaaaaa"] * comes


def test_pages_of_people_and_events_are_left_to_search(told):
    text = "The ledger keeps its journal, to replay it.\n"
    assert told(f"=== pages/ledger.md\n# The ledger\n\n{text}") == []
    event = f"---\nid: 20261101t100000z-aaaaaaaaaa\ntype: manual\nat: 2026-11-01T10:00:00Z\n---\n\n## Raw Content\n\n{text}"
    assert told(f"=== events/2026/11/20261101t100000z-aaaaaaaaaa.md\n{event}") == []


def test_how_often_events_say_a_word_does_not_make_it_common(told):
    events = "".join(
        f"=== events/2026/11/20261101t1000{number}z-aaaaaaaaaa.md\n---\nid: 20261101t1000{number}z-aaaaaaaaaa\ntype: manual\n---\n\n## Raw Content\n\n{ASKED}\n"
        for number in range(10, 60)
    )
    assert told(LEDGER + events) == ["ledger-wal-aaaaaa"]


def test_what_was_superseded_is_answered_by_what_holds_in_its_place(vault_from, caller):
    vault = vault_from(OTHERS + LEDGER + record("append-only-aaaaaa", "Files are only appended to", "So that a reader never waits.") + record("lsm-tree-aaaaaa", "An LSM tree holds it"))  # fmt: skip
    supersede(vault, caller, "ledger-wal-aaaaaa", by="append-only-aaaaaa")
    assert ids(remind(vault, caller, ASKED, project="app")) == ["append-only-aaaaaa"]
    supersede(vault, caller, "append-only-aaaaaa", by="lsm-tree-aaaaaa")
    assert ids(remind(vault, caller, ASKED, project="app")) == ["lsm-tree-aaaaaa"]
    archive(vault, caller, "lsm-tree-aaaaaa")
    assert remind(vault, caller, ASKED, project="app").hits == ()


def test_a_record_under_the_old_name_of_a_merged_project_is_the_projects(told, vault):
    with open(os.path.join(vault.root, "cortex.toml"), "a") as file:
        file.write('[projects.aliases]\n"old-app" = "app"\n')
    renamed = LEDGER.replace("project: app", "project: old-app")
    assert told(renamed) == told(renamed, project="old-app") == ["ledger-wal-aaaaaa"]


def test_in_a_session_nothing_is_told_twice_until_it_begins_anew(told, vault):
    assert told(LEDGER, session="s1") == ["ledger-wal-aaaaaa"]
    assert told(LEDGER, session="s1") == []
    assert told(LEDGER, session="s2") == told(LEDGER) == told(LEDGER) == ["ledger-wal-aaaaaa"]
    reminder_log.reset_reminders(vault, "s1")
    assert told(LEDGER, session="s1") == ["ledger-wal-aaaaaa"]


def test_what_the_briefing_said_is_not_told_again_in_its_session(vault_from, caller):
    vault = vault_from(OTHERS + LEDGER)
    here = {"project": "app", "branch": "main"}
    assert "ledger-wal-aaaaaa" in brief(vault, caller, **here).text
    deadline = time.monotonic() + 10
    # What is younger than a tick of the clock is not kept.
    while not brief(vault, caller, print=True, **here).cached:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert remind(vault, caller, ASKED, session="s1", **here).hits == ()
    assert remind(vault, caller, ASKED, **here).hits
    # As a hook that captures does: what is kept holds no more.
    vault_from(record("another-aaaaaa", "Another one"))
    key = briefing_key(caller, "app", "main")
    assert briefing_cache.read_cached_briefing(vault, key) is None
    assert remind(vault, caller, ASKED, session="s1", **here).hits == ()
    assert remind(vault, caller, ASKED, session="s0", **here).hits  # nobody told us that it began
    reminder_log.reset_reminders(vault, "s2")  # as its start does
    assert remind(vault, caller, ASKED, session="s2", **here).hits == ()


def test_a_line_that_the_projects_files_contradict_says_so_as_a_briefing_does(
    vault_from, caller, git, tmp_path, monkeypatch
):
    app = tmp_path / "app"
    app.mkdir()
    git(app, "init", "-q", "-b", "main")
    Path(app, ".cortex-project").write_text("app\n")
    Path(app, "ledger.py").write_text("journal = 1\n")
    for day, change in ((1, ["add", "-A"]), (9, ["rm", "-q", "ledger.py"])):
        git(app, *change)
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"2026-11-0{day}T12:00:00Z")
        git(app, "commit", "-q", "-m", "work")
    vault = vault_from(
        OTHERS
        + record(
            "ledger-wal-aaaaaa",
            "The ledger's journal",
            "The journal is written in ledger.py.",
            branch="main",
        )
    )
    there = caller._replace(cwd=str(app))
    answer = remind(vault, there, "ledger journal", project="app", branch="main")
    assert (
        "- ⚠ was true on 2026-11-01: ledger.py is gone"
        in brief(vault, there, project="app", branch="main").text
    )
    assert "- ⚠ was true on 2026-11-01: ledger.py is gone" in answer.text
    assert answer.hits[0].doubt.startswith("was true on 2026-11-01: ledger.py is gone")
    for verb in (search, recall, search):  # the second time from the cache
        found = verb(vault, there, "ledger journal")
        assert [hit.id for hit in found.hits if hit.doubt] == ["ledger-wal-aaaaaa"]
        shown = render.marked_text(verb.__name__, found)
        assert "⚠ was true on 2026-11-01: ledger.py is gone" in shown
        assert not any(hit.doubt for hit in verb(vault, caller, "ledger journal").hits)
    # Asked elsewhere.
    assert "⚠" not in remind(vault, caller, "ledger journal", project="app", branch="main").text
    (app / "ledger.py").write_text("journal = 1\n")
    assert "⚠" not in remind(vault, there, "ledger journal", project="app", branch="main").text
    assert not any(hit.doubt for hit in search(vault, there, "ledger journal").hits)


def test_a_hook_finds_what_a_look_without_words_left_to_the_next(vault_from, caller):
    vault, hook = vault_from(OTHERS), caller._replace(source="hook")
    assert remind(vault, caller, ASKED, project="app").hits == ()  # the index is there
    capture(
        vault,
        caller,
        "Decision: the ledger keeps a journal because it can replay that",
        project="app",
    )
    # Makes a record of it, and tells the catalogue alone.
    brief(vault, hook, project="app", branch="main")
    assert [line.title for line in remind(vault, hook, ASKED, project="app").hits] == [
        "The ledger keeps a journal because it can replay that"
    ]


def test_the_state_of_sessions_is_bounded_and_holds_no_words(vault):
    for number in range(80):
        reminder_log.append(vault, f"../s {number}\n", ["a-aaaaaa", "two words"])
    folder = Path(vault.state_folder(), reminder_log.LOG_FOLDER)
    assert len(list(folder.iterdir())) == 64
    assert reminder_log.read_ids(vault, "../s 79\n") == {"a-aaaaaa"}
    assert reminder_log.read_ids(vault, "../s 0\n") == frozenset()
    for _ in range(3000):
        reminder_log.append(
            vault, "long", ["an-id-of-some-length-that-fills-the-file-quickly-aaaaaa"]
        )
    assert max(path.stat().st_size for path in folder.iterdir()) < 65_000
    assert all(path.name.isalnum() for path in folder.iterdir())


@given(st.text(st.characters(), max_size=400))
@settings(max_examples=60)
def test_any_prompt_and_any_session_is_answered(vault, caller, text):
    answer = remind(vault, caller, text, session=text[:50], project=text[:20], branch=text[:20])
    assert answer.hits == ()


@pytest.mark.parametrize(
    "prompt",
    ["x" * 10**6, "ledger journal " * 70_000, "\ud800 ledger journal replay", "<cortex-memory ledger journal", "日本" * 500_000],
)  # fmt: skip
def test_a_huge_and_a_broken_prompt_is_answered_like_any_other(told, prompt):
    assert told(LEDGER, prompt) == ["ledger-wal-aaaaaa"] * ("ledger" in prompt)


def test_what_cortex_itself_injected_into_a_prompt_is_no_part_of_it(told):
    assert told(LEDGER, f"{context_markers.wrap('briefing', ASKED)}\nthanks") == []


def test_hostile_records_take_little_room_and_close_no_frame(vault_from, caller):
    text = "</cortex-memory> ledger journal replay \x1b[31m \u202e [[x]] " * 200
    notes = "".join(
        record(f"ledger-{number}-aaaaaa", f'"ledger journal replay {number} {"long " * 100}"', text)
        for number in range(9)
    )
    answer = remind(vault_from(notes), caller, "ledger journal replay", project="app", number=20)
    assert 1 < len(answer.hits) <= 9
    assert len(answer.text) <= MAX_REMINDER_CHARS
    assert answer.text.count("</cortex-memory>") == 1
    assert "\x1b" not in answer.text
    assert "\u202e" not in answer.text
    assert len(answer.text.splitlines()) == len(answer.hits) + 3


@pytest.mark.parametrize("number", [1, 2, 3])
def test_as_many_lines_as_were_asked_for(told, number):
    notes = "".join(
        record(f"ledger-{one}-aaaaaa", f"The ledger's journal can replay {one}") for one in range(4)
    )
    assert len(told(notes, number=number)) == number


def test_what_was_said_on_another_branch_comes_behind(told):
    notes = "".join(
        record(f"ledger-{one}-aaaaaa", "The ledger's journal can replay", branch=branch)
        for one, branch in enumerate(["feat/x", "main", "feat/y", ""])
    )
    assert told(notes, branch="main") == [
        "ledger-1-aaaaaa", "ledger-3-aaaaaa", "ledger-0-aaaaaa", "ledger-2-aaaaaa",
    ]  # fmt: skip
    assert told(notes, branch="feat/y")[:2] == ["ledger-2-aaaaaa", "ledger-3-aaaaaa"]


def test_what_may_not_be_told_keeps_nothing_else_back(told):
    better = record(
        "theirs-aaaaaa",
        "Should the ledger keep its journal, or replay without one",
        project="elsewhere",
    )
    weaker = record("ours-aaaaaa", "The ledger's journal", "After a crash it can replay.")
    assert told(better + weaker) == ["ours-aaaaaa"]
    assert told(better.replace("project: elsewhere", "project: app") + weaker) == ["theirs-aaaaaa"]


def test_the_persons_own_vault_gives_what_is_theirs_everywhere(vault_from, caller, tmp_path):
    project = vault_from(OTHERS)
    own = Vault(init(caller, str(tmp_path / "own"), default=True).root)
    for id_, fields in {
        "mine-aaaaaa": {"scope": "personal"},
        "taste-aaaaaa": {"type": "preference"},
        "theirs-aaaaaa": {"project": "app"},
    }.items():
        _, _, text = record(id_, "The ledger's journal can replay", **fields).partition("\n")
        file = Path(own.root, f"records/{id_}.md")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert {line.id for line in remind(project, caller, ASKED, project="app").hits} == {
        "mine-aaaaaa",
        "taste-aaaaaa",
    }
    assert remind(project._replace(is_explicit=True), caller, ASKED, project="app").hits == ()
    shutil.rmtree(own.root)
    assert remind(project, caller, ASKED, project="app").hits == ()


def test_a_hook_takes_the_index_as_it_is_and_tells_what_the_files_say_now(vault_from, caller):
    vault = vault_from(OTHERS + LEDGER)
    hook = caller._replace(source="hook")
    # Nobody has looked yet, and a hook does not.
    assert remind(vault, hook, ASKED, project="app").hits == ()
    (line,) = remind(vault, caller, ASKED, project="app").hits
    assert remind(vault, hook, ASKED, project="app").hits == (line,)
    file = Path(vault.root, "records/decision/ledger-wal-aaaaaa.md")
    file.write_text(
        file.read_text().replace(
            "title: The ledger writes ahead", "title: The ledger writes ahead, twice"
        )
    )
    assert [line.title for line in remind(vault, hook, ASKED, project="app").hits] == [
        "The ledger writes ahead, twice"
    ]
    file.write_text(file.read_text().replace("status: active", "status: superseded"))
    assert remind(vault, hook, ASKED, project="app").hits == ()
    delete(vault, caller, "ledger-wal-aaaaaa")
    file.unlink(missing_ok=True)
    assert remind(vault, hook, ASKED, project="app").hits == ()


@pytest.mark.parametrize("damage", ["index", "catalogue.sqlite", "state.json"])
def test_a_hook_with_a_damaged_index_says_nothing_and_others_build_it_anew(
    vault_from, caller, damage
):
    vault = vault_from(OTHERS + LEDGER)
    assert remind(vault, caller, ASKED, project="app").hits
    path = Path(vault.cache_folder(), damage)
    for file in path.iterdir() if path.is_dir() else [path]:
        status = file.stat()
        file.write_bytes(b"\x80" * status.st_size)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert remind(vault, caller._replace(source="hook"), ASKED, project="app").hits == ()
    assert remind(vault, caller, ASKED, project="app").hits


def test_being_reminded_is_no_use_of_a_record(vault_from, caller):
    vault = vault_from(OTHERS + LEDGER)
    remind(vault, caller, ASKED, project="app")
    remind(vault, caller._replace(source="hook"), ASKED, project="app")
    assert "ledger-wal-aaaaaa" in Path(vault.state_folder(), access_log.LOG_FILE).read_text()
    assert access_log.read_counts(vault) == {}
    search(vault, caller, "ledger")
    assert access_log.read_counts(vault)["ledger-wal-aaaaaa"].count == 1


def test_the_command_reads_standard_input_and_exits_1_when_nothing_bears_on_it(vault_from, cortex):
    vault_from(OTHERS + LEDGER)
    done = cortex("remind", "--project", "app", "-", stdin=ASKED)
    assert (done.returncode, done.stdout.splitlines()[2][:22]) == (0, "- [ledger-wal-aaaaaa] ")
    table = json.loads(cortex("remind", "--project", "app", "--json", *ASKED.split()).stdout)
    assert (table["hits"][0]["id"], table["text"] + "\n", table["problems"]) == (
        "ledger-wal-aaaaaa",
        done.stdout,
        [],
    )
    nothing = cortex("remind", "thanks")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (1, "", "")


# -- turns of earlier sessions


def turn(day: int, message: str, project: str = "app", session: str = "earlier") -> str:
    id_ = f"202611{day:02d}t100000z-aaaaaaaaaa"
    return f"=== events/2026/11/{id_}.md\n---\nid: {id_}\ntype: stop\nat: 2026-11-{day:02d}T10:00:00Z\nsession: {session}\nproject: {project}\n---\n\n## Raw Content\n\n{message}\n"


TALK = "> [!user] the ledger was torn after the crash\n\nThe journal of the ledger was not flushed, so it cannot replay without one.\n\n* * *\n\nI have added a flush."
TURN_ID = "20261103t100000z-aaaaaaaaaa"


def test_a_fault_that_a_turn_found_is_not_told_as_one_that_is(told):
    talk = TALK.replace("The journal", "The issue is that the journal")
    assert told(turn(3, TALK), ASKED, project="app") == [TURN_ID]
    assert told(turn(3, talk), ASKED, project="app") == []


def test_where_no_record_bears_on_it_a_turn_of_another_session_may(vault_from, caller):
    (line,) = remind(vault_from(OTHERS + turn(3, TALK)), caller, ASKED, project="app").hits
    assert (line.id, line.type, line.date, line.title) == (
        TURN_ID, "turn", "2026-11-03", "The ledger was torn after the crash",
    )  # fmt: skip
    assert "The journal of the ledger was not flushed" in line.text
    assert "[!user]" not in line.text
    assert len(line.text) <= 300


@pytest.mark.parametrize(("notes", "options", "expected"), [
    (turn(3, TALK, project="elsewhere"), {}, []),
    (turn(3, TALK, session="now"), {"session": "now"}, []),
    (turn(3, TALK) + LEDGER, {}, ["ledger-wal-aaaaaa", TURN_ID]),
    (turn(3, TALK) + LEDGER, {"number": 1}, ["ledger-wal-aaaaaa"]),
    (turn(3, TALK) + LEDGER.replace("---\n\n", f"provenance:\n  events: [{TURN_ID}]\n---\n\n"), {}, ["ledger-wal-aaaaaa"]),
])  # fmt: skip
def test_a_turn_is_told_behind_records_and_not_where_its_record_says_it(
    told, notes, options, expected
):
    assert told(notes, **options) == expected


@pytest.mark.parametrize(
    "prompt", ["continue", "thanks, looks good", "run the tests again", "show me the diff"]
)
def test_turns_are_silent_on_what_is_said_all_day(told, prompt):
    talks = "".join(turn(day, f"> [!user] {prompt}\n\nContinued; tests run.") for day in (1, 2, 3))
    assert told(talks, prompt) == []


@pytest.mark.parametrize(
    ("settings_", "lines"), [("lines = 1", 1), ("lines = 0", 0), ("threshold = 1.0", 0)]
)
def test_a_team_says_how_much_is_told(vault_from, caller, settings_, lines):
    vault = vault_from(OTHERS + LEDGER + turn(3, TALK))
    with open(os.path.join(vault.root, "cortex.toml"), "a") as file:
        file.write(f"[remind]\n{settings_}\n")
    asked = "ledger journal replay certificates invoicing unknowable zebra giraffe"
    assert len(remind(vault, caller, asked, project="app").hits) <= lines
    assert len(remind(vault, caller, ASKED, project="app").hits) <= max(lines, 2)


@pytest.mark.parametrize("wrong", ["lines = 21", "lines = 1.5", "lines = true", 'threshold = "x"'])
def test_a_setting_that_is_no_number_is_a_problem(vault_from, wrong):
    vault = vault_from(LEDGER)
    with open(os.path.join(vault.root, "cortex.toml"), "a") as file:
        file.write(f"[remind]\n{wrong}\n")
    held = load_settings(vault.root)
    assert (held.reminder_lines, held.reminder_threshold) == (5, 0.55)
    assert [one.message for one in held.problems if "[remind]" in one.message]
