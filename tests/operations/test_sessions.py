"""Sessions: begun and ended by name, several at once, closed honestly, and what came from each."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError
from cortex.core.notes import note as notes
from cortex.operations.records import change_record
from cortex.operations.records.capture import capture
from cortex.operations.sessions.session import session
from cortex.operations.sessions.session_list import SessionResult
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault

NOW = "2026-11-20T16:45:12Z"


@pytest.fixture
def at(tmp_path: Path):
    """A caller at another time of that day, or at a whole time; chance goes on counting."""
    count = iter(range(1, 1000))

    def caller(when: str = NOW, folder: str = "work") -> Caller:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / ".cortex-project").write_text(f"{folder}\n")
        now = when if "T" in when else f"2026-11-20T{when}:00Z"
        return Caller(
            str(tmp_path / folder),
            now,
            lambda size: next(count).to_bytes(size, "big"),
            "test",
            lambda *_: None,
        )

    return caller


def start(vault: Vault, caller: Caller, name: str = "", **options: str) -> SessionResult:
    answer = session(vault, caller, "start", name, **options)
    assert answer.problems == []
    return answer


def end(vault: Vault, caller: Caller, name: str = "", **options: str) -> SessionResult:
    answer = session(vault, caller, "end", name, **options)
    assert answer.problems == []
    return answer


def listed(vault: Vault, caller: Caller, **options) -> list:
    answer = session(vault, caller, "list", **options)
    return answer.hits


def read(vault: Vault, path: str) -> notes.Note:
    return notes.read_strict(Path(vault.root, path).read_bytes(), path)


def test_a_session_from_its_start_to_its_end(vault, at):
    begun = start(vault, at("10:00"), goal="Publish by link")
    assert begun.name.startswith("s-20261120-")
    assert len(begun.name) == len("s-20261120-k3f7q2")
    assert read(vault, begun.path).get("status") == "open"
    over = end(vault, at("11:00"), begun.name, accomplished="All of it", files="a.py,b.py")
    assert (over.outcome, over.path, over.id) == ("ended", begun.path, begun.id)
    note = read(vault, begun.path)
    assert [note.get(key) for key in ("status", "project", "started", "ended")] == [
        "done", "work", "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z",
    ]  # fmt: skip
    assert (
        "### Goal\n\nPublish by link\n\n### Accomplished\n\nAll of it\n\n### Relevant files\n\n- a.py\n- b.py\n"
        in note.text
    )
    assert not list(Path(vault.root, "inbox/pending").glob("*.md"))


def test_the_whole_summary_comes_from_standard_input(vault, cortex):
    name = cortex("session", "start", "one", "--project", "p").stdout.strip()
    assert name == "one"
    done = cortex(
        "session",
        "end",
        "one",
        "--summary",
        "-",
        "--json",
        stdin="# Goal\n\nShip\n\n# Next steps\n\nrest\n",
    )
    assert json.loads(done.stdout)["outcome"] == "ended"
    shown = json.loads(cortex("session", "show", "one", "--json").stdout)
    assert shown["summary"] == "### Goal\n\nShip\n\n### Next steps\n\nrest"
    first, what, figures = cortex("session", "list").stdout.splitlines()
    assert first.endswith("  Session one  done")
    assert (what, figures) == ("  Ship · rest", "  p  2 events  one")


def test_ended_again_the_later_summary_stands_even_in_one_second(vault, at):
    chance = random.Random(7)
    caller = at("17:00")._replace(random=chance.randbytes)
    name = start(vault, caller).name
    for round_ in range(8):
        done = end(vault, caller, name, summary=f"summary {round_}")
        assert done.outcome == ("updated" if round_ else "ended")
        assert read(vault, done.path).text.split("<!--")[0].strip().endswith(f"summary {round_}")
    held = [path.read_text() for path in Path(vault.root, "events").rglob("*.md")]
    assert sum("summary 0\n" in text for text in held) == 1


def test_a_later_end_stands_behind_one_of_a_clock_that_was_ahead(vault, at):
    name = start(vault, at("10:00")).name
    end(vault, at("2099-01-01T00:00:00Z"), name, summary="too early")
    done = end(vault, at("12:00"), name, summary="what was said last")
    assert done.outcome == "updated"
    text = read(vault, done.path).text
    assert "what was said last" in text
    assert "too early" not in text.partition("## Events")[0]


def test_an_end_without_words_keeps_the_summary(vault, at):
    name = start(vault, at("10:00")).name
    end(vault, at("11:00"), name, summary="what we did")
    path = end(vault, at("12:00"), name).path
    assert "what we did" in read(vault, path).text
    assert read(vault, path).get("ended") == "2026-11-20T12:00:00Z"


def test_end_never_guesses_between_two(vault, at):
    with pytest.raises(NotFoundError, match="no session is going on in work"):
        end(vault, at())
    one = start(vault, at("10:00"), "one")
    assert one.live == []
    start(vault, at("10:00", "elsewhere"), "far away")
    assert end(vault, at("10:05")).name == "one"
    assert start(vault, at("10:06"), "one").outcome == "resumed"
    assert start(vault, at("10:10"), "two").live == ["one"]
    with pytest.raises(ConflictError, match="2 sessions are going on in work: two, one"):
        end(vault, at("10:20"))
    assert end(vault, at("10:30"), "two", summary="What two did").name == "two"
    assert {record.name: record.state for record in listed(vault, at("11:00"))} == {
        "one": "live",
        "two": "done",
        "far away": "live",
    }


@pytest.mark.parametrize(
    "named", ["alpha-session", "alpha-ses", "session-alpha-session-", "[[alpha-session]]"]
)
def test_a_session_is_named_by_name_or_id_or_the_beginning_of_one(vault, at, named):
    start(vault, at("10:00"), "alpha-session")
    start(vault, at("10:00"), "beta-session")
    assert end(vault, at("11:00"), named).name == "alpha-session"


def test_unknown_and_doubtful_names(vault, at):
    start(vault, at("10:00"), "alpha-session")
    start(vault, at("10:00"), "alpha-meeting")
    for action in ("end", "show"):
        with pytest.raises(NotFoundError) as refused:
            session(vault, at(), action, "alpha-sesion")
        assert "alpha-session" in refused.value.hint
        with pytest.raises(ConflictError, match="names 2 sessions"):
            session(vault, at(), action, "alpha")
    for wrong in (("show", ""), ("start", "x" * 300)):
        with pytest.raises(InvalidInputError):
            session(vault, at(), *wrong)
    with pytest.raises(InvalidInputError, match="orphans"):
        session(vault, at(), "end", "alpha-session", orphans=True)


def test_list_shows_live_ones_first_then_the_newest_with_their_counts(vault, at):
    start(vault, at("08:00"), "early", goal="An early goal")
    for minute, type_, text in ((1, "prompt", "do this"), (2, "prompt", "and that"), (3, "stop", "did both"), (4, "manual", "Decision: so")):  # fmt: skip
        capture(vault, at(f"08:0{minute}"), text, type=type_, session="early")
    start(vault, at("09:00"), "late")
    end(vault, at("09:30"), "late", summary="It is over")
    capture(vault, at("10:00"), "a turn that says what was done", type="stop", session="stopped")
    early, stopped, late = listed(vault, at("12:00"))
    assert (early.name, stopped.name, late.name) == ("early", "stopped", "late")
    assert (early.state, early.events, early.prompts, early.records, early.hit.snippet) == (
        "live", 4, 2, 1, "did both",
    )  # fmt: skip
    assert (early.started, early.last, early.ended) == (
        "2026-11-20T08:00:00Z",
        "2026-11-20T08:03:00Z",
        "",
    )
    assert (late.state, late.ended, late.hit.snippet) == (
        "done",
        "2026-11-20T09:30:00Z",
        "It is over",
    )
    answer = session(vault, at("12:00"), "list", number=1)
    assert (len(answer.hits), answer.total) == (1, 3)
    assert [one.name for one in listed(vault, at("12:00"), project="nowhere")] == []
    assert [
        one.name for one in listed(vault, at("2026-11-30T12:00:00Z"), since=1_795_435_200)
    ] == []


def test_show_has_the_summary_the_prompts_the_events_and_what_came_of_it(vault, at):
    start(vault, at("08:00"), "one", goal="A goal")
    capture(vault, at("08:01"), "please " * 100, type="prompt", session="one")
    capture(vault, at("08:02"), "Decision: publish by link", session="one")
    capture(vault, at("08:02"), "Decision: of another", session="two")
    end(vault, at("09:00"), "one", summary="Done.")
    shown = session(vault, at("10:00"), "show", "one")
    assert (shown.summary, [one.title for one in shown.records.hits]) == (
        "Done.",
        ["Publish by link"],
    )
    assert [
        len(one.text) <= 300 and one.text.startswith("please please") for one in shown.prompts
    ] == [True]
    assert [line.split(" ")[1] for line in shown.events] == [
        "session_start:",
        "prompt:",
        "session_end:",
    ]
    assert (shown.session.name, shown.session.state, shown.more) == ("one", "done", 0)


def test_orphans_are_listed_and_closed_only_when_asked(vault, at):
    start(vault, at("2026-11-18T10:00:00Z"), "lost")
    capture(
        vault,
        at("2026-11-18T11:00:00Z"),
        "a turn that says what was done",
        type="stop",
        session="lost",
    )
    start(vault, at("10:00"), "young")
    before = {path: path.read_bytes() for path in Path(vault.root).rglob("*.md")}
    assert {one.name: one.state for one in listed(vault, at("12:00"))} == {
        "lost": "orphan",
        "young": "live",
    }
    now = {path: path.read_bytes() for path in Path(vault.root).rglob("*.md")}
    assert {
        path: data
        for path, data in now.items()
        if "sessions/" in str(path) and "lost" not in path.name
    } == {
        path: data
        for path, data in before.items()
        if "sessions/" in str(path) and "lost" not in path.name
    }
    closed = session(vault, at("12:00"), "end", orphans=True)
    (lost,) = closed.hits
    assert (lost.name, lost.state, lost.ended, lost.closed) == (
        "lost", "done", "2026-11-18T11:00:00Z", "no end was captured",
    )  # fmt: skip
    assert read(vault, lost.hit.path).get("updated") == "2026-11-18T11:00:00Z"
    again = session(vault, at("12:00"), "end", orphans=True)
    assert again.hits == []
    capture(vault, at("13:00"), "it goes on", type="prompt", session="lost")
    assert {one.name: one.state for one in listed(vault, at("14:00"))} == {
        "lost": "live",
        "young": "live",
    }


def test_a_session_that_moves_while_orphans_are_closed_goes_on(vault, at, monkeypatch):
    start(vault, at("2026-11-18T10:00:00Z"), "lost")
    start(vault, at("2026-11-18T10:00:00Z"), "found")
    whole = change_record.edit_notes_and_heal

    def beside(vault, caller, changes):
        """Somebody is at it again between the look and the write."""
        capture(vault, at("12:00"), "still here", type="prompt", session="found")
        normalize(vault, at("12:00"))
        return whole(vault, caller, changes)

    monkeypatch.setattr(change_record, "edit_notes_and_heal", beside)
    closed = session(vault, at("12:00"), "end", orphans=True)
    assert {one.name: one.state for one in closed.hits} == {"lost": "done", "found": "live"}
    # In the one that was lost nothing was said.
    assert [one.name for one in listed(vault, at("12:00"))] == ["found"]


def test_a_note_of_the_form_before_starts_and_ends_goes_on(vault_from, at):
    vault = vault_from("""\
=== sessions/2026/11/session-old-zoqgwv.md
---
id: session-old-zoqgwv
type: session
title: Session old
status: done
scope: personal
created: 2026-11-19T16:45:12Z
updated: 2026-11-19T16:45:12Z
provenance:
  events:
    - 20261119t164512z-aaaaaaaaaa
  session: old
---

## Events

- 2026-11-19 16:45 stop: one turn [[20261119t164512z-aaaaaaaaaa]]
""")
    (one,) = listed(vault, at())
    assert (one.name, one.state, one.hit.snippet) == ("old", "done", "one turn")
    done = end(vault, at(), "old", summary="Over.")
    note = read(vault, done.path)
    assert (done.outcome, done.path) == ("ended", "sessions/2026/11/session-old-zoqgwv.md")
    assert (
        note.text.index("Over.")
        < note.text.index("## Events")
        < note.text.index("stop: one turn")
        < note.text.index("session_end: Over.")
    )


def test_a_broken_note_of_a_session_stops_nothing(vault, at):
    path = Path(vault.root, start(vault, at("10:00"), "one").path)
    start(vault, at("10:00"), "two")
    path.write_text(path.read_text().replace("status: open", "status: [open"))
    with pytest.raises(InvalidInputError, match="does not say which session"):
        session(vault, at("11:00"), "end", "session-one-")
    answer = session(vault, at("11:00"), "end", "one", summary="x")
    (failed,) = (problem for problem in answer.problems if "inbox/failed" in problem.where)
    assert f"cortex retry {answer.event}" in failed.hint
    assert answer.outcome == "captured"
    assert "two" in {one.name for one in listed(vault, at("12:00"))}


def test_within_one_second_the_order_of_the_words_counts(vault, at):
    for _ in range(4):
        start(vault, at(), "s")
        assert end(vault, at(), "s").outcome in ("ended", "updated")
        again = start(vault, at(), "s", goal="again")
        note = read(vault, again.path)
        assert (again.outcome, note.get("status"), note.get("ended")) == ("resumed", "open", "")
        closed = read(vault, end(vault, at(), "s").path)
        assert (closed.get("status"), closed.provenance()[0]) == (
            "done",
            tuple(sorted(closed.provenance()[0])),
        )


def test_end_takes_the_project_that_is_named(vault, at):
    start(vault, at("09:00"), "mine")
    start(vault, at("09:01"), "theirs", project="other")
    assert end(vault, at("10:00"), project="other").name == "theirs"
    with pytest.raises(InvalidInputError, match="mine is a session of work, not of other"):
        end(vault, at("10:01"), "mine", project="other")
    with pytest.raises(NotFoundError, match="no session is going on in other"):
        end(vault, at("10:02"), project="other")


def test_a_summary_without_a_start_makes_the_session_which_is_said(vault, at):
    done = end(vault, at("10:00"), "checkout", summary="## Goal\n\nShip the merge driver")
    assert (done.name, done.outcome) == ("checkout", "ended")
    assert done.note.startswith("there was no such session, so it is made")
    note = read(vault, done.path)
    assert note.get("status") == "done"
    assert "Ship the merge driver" in note.text
    nameless = end(vault, at("11:00"), summary="## Goal\n\nAnother")
    assert nameless.name.startswith("s-20261120-")
    assert nameless.id != done.id
    for name in ("checkuot", ""):
        with pytest.raises(NotFoundError):  # without a word there is nothing to keep
            session(vault, at("12:00"), "end", name)
    with pytest.raises(NotFoundError):
        session(vault, at("12:00"), "end", "session-chekout-aaaaaa", summary="x")


def test_a_shorter_text_never_replaces_a_longer_summary_and_is_kept_as_an_event(vault, at):
    start(vault, at("10:00"), "one")
    end(vault, at("11:00"), "one", summary="## Accomplished\n\nKeys on every call")
    done = end(vault, at("12:00"), "one", summary="ok")
    assert "Keys on every call" in read(vault, done.path).text
    assert done.note == f"a longer summary stands; this one is kept: cortex show {done.event}"
    event = next(Path(vault.root, "events").rglob(f"{done.event}.md"))
    assert event.read_text().endswith("\nok\n")
    longer = end(
        vault, at("13:00"), "one", summary="## Accomplished\n\nKeys on every call, and tests"
    )
    assert longer.note == ""
    assert "and tests" in read(vault, longer.path).text


def test_a_session_is_of_the_folder_that_its_start_names(vault, at, tmp_path):
    caller = at("10:00", "other")
    at("10:00", "work")
    begun = start(vault, caller, "one", directory=str(tmp_path / "work"))
    assert read(vault, begun.path).get("project") == "work"
    assert read(vault, start(vault, caller, "two").path).get("project") == "other"
    with pytest.raises(InvalidInputError, match="is no folder"):
        session(vault, caller, "start", "two", directory="\0")
