"""Minutes in a vault: what their capture says, what their records follow, and ticks that go both ways."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.core.notes import note as notes
from cortex.operations.find.actions import actions, meetings
from cortex.operations.records.archive import delete
from cortex.operations.records.capture import capture
from cortex.operations.records.revise import done, revise
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault

MINUTES = """\
# Boiler room, 3 November 2026

Attendees: Ada Byrne, Ben, Chidi

## Decisions

- The old pump stays until spring

## Actions

- [ ] Ada: order the valves by Friday
- [ ] Ben to measure the pressure
- Chidi: call the chimney sweep

Open: who pays for the scaffold?
"""


def meeting_file(vault: Vault) -> Path:
    (path,) = Path(vault.root, "records/meeting").glob("*.md")
    return path


def records(vault: Vault) -> dict[str, bytes]:
    root = Path(vault.root)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.glob("records/*/*.md")}


def record_with(vault: Vault, words: str) -> notes.Note:
    """The one record, other than the meeting, that holds these words in its text."""
    (data,) = (
        data
        for path, data in records(vault).items()
        if words.encode() in data.lower() and "/meeting/" not in path
    )
    return notes.read(data)


def edit(vault: Vault, *pairs: tuple[str, str]) -> None:
    path = meeting_file(vault)
    text = path.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)


@pytest.fixture
def boiler(vault: Vault, caller: Caller) -> Vault:
    """A vault with these minutes, normalized."""
    capture(vault, caller, MINUTES, type="meeting", project="house")
    normalize(vault, caller)
    return vault


def test_the_meeting_is_dated_and_knows_who_was_there(boiler):
    path = meeting_file(boiler)
    note = notes.read(path.read_bytes())
    assert re.fullmatch(r"2026-11-03-boiler-room-[a-z2-7]{6}", note.get("id"))
    assert path.stem == note.get("id")
    assert note.get("date") == "2026-11-03"
    assert note.get_list("attendees") == ("Ada Byrne", "Ben", "Chidi")
    valves = record_with(boiler, "order the valves")
    assert (valves.get("owner"), valves.get("due")) == ("Ada", "2026-11-06")
    assert record_with(boiler, "who pays").get("type") == "question"


def test_capture_says_what_was_found_after_the_id(cortex):
    answer = cortex("capture", "--type", "meeting", MINUTES)
    assert re.fullmatch(r"\d{8}t\d{6}z-\w{10}\n", answer.stdout)
    assert answer.stderr == "1 decision, 3 actions (2 without a date), 1 question\n"
    answer = cortex("capture", "--type", "meeting", "We had cake.")
    assert answer.stderr == "0 decisions, 0 actions; no date of the meeting\n"
    assert cortex("capture", "A plain note").stderr == ""


def test_an_action_added_later_becomes_a_record(boiler, caller):
    before = records(boiler)
    edit(boiler, ("- Chidi: call", "- [ ] Ben: buy a torch until 2026-11-20\n- Chidi: call"))
    assert "Buy a torch" in [one.hit.title for one in actions(boiler, caller).hits]
    torch = record_with(boiler, "buy a torch")
    assert (torch.get("owner"), torch.get("due")) == ("Ben", "2026-11-20")
    after = records(boiler)
    assert {path: after[path] for path in before if "/meeting/" not in path} == {
        path: data for path, data in before.items() if "/meeting/" not in path
    }
    assert len(after) == len(before) + 1
    assert meetings(boiler, caller).hits[0].open_actions == 4


def test_reading_again_changes_nothing_more(boiler, caller):
    edit(boiler, ("- Chidi: call", "- [ ] Ben: buy a torch\n- Chidi: call"))
    heal(boiler, caller)
    once = records(boiler)
    Path(boiler.state_folder(), "minutes-read.json").unlink()
    normalize(boiler, caller)
    heal(boiler, caller)
    assert records(boiler) == once


def test_two_clones_write_the_same_bytes(boiler, caller, tmp_path):
    edit(
        boiler,
        ("order the valves by Friday", "order six valves by Friday"),
        ("- Chidi: call", "- [ ] Ben: buy a torch\n- Chidi: call"),
    )
    clone = tmp_path / "clone"
    shutil.copytree(boiler.root, clone)
    heal(boiler, caller)
    heal(Vault(str(clone)), caller._replace(now="2027-02-03T04:05:06Z"))
    assert records(boiler) == records(Vault(str(clone)))


def test_an_unchanged_record_follows_its_line(boiler, caller):
    id_ = record_with(boiler, "order the valves").get("id")
    edit(boiler, ("Ada: order the valves by Friday", "Ben: order the six valves by 2026-11-12"))
    heal(boiler, caller)
    note = record_with(boiler, "order the six valves")
    assert (note.get("id"), note.get("owner"), note.get("due")) == (id_, "Ben", "2026-11-12")
    edit(boiler, ("order the six valves by", "order the seven valves by"))
    heal(boiler, caller)
    assert record_with(boiler, "order the seven valves").get("id") == id_
    assert len(records(boiler)) == 6
    edit(boiler, ("- [ ] Ben: order", "- [x] Ben: order"))
    assert id_ in [one.hit.id for one in actions(boiler, caller, done=True).hits]


def test_what_a_person_changed_in_a_record_stays(boiler, caller):
    id_ = record_with(boiler, "order the valves").get("id")
    revise(boiler, caller, id_, due="2026-12-24")
    held = records(boiler)[f"records/action/{id_}.md"]
    edit(boiler, ("order the valves by Friday", "order the valves by Monday"))
    heal(boiler, caller)
    assert records(boiler)[f"records/action/{id_}.md"] == held
    edit(boiler, ("- [ ] Ben to measure the pressure\n", ""))
    heal(boiler, caller)
    assert record_with(boiler, "measure the pressure").get("status") == "open"


def test_a_record_that_was_deleted_does_not_come_back(boiler, caller):
    edit(boiler, ("- Chidi: call", "- [ ] Ben: buy a torch\n- Chidi: call"))
    heal(boiler, caller)
    for words in ("buy a torch", "measure the pressure"):
        path = f"records/action/{record_with(boiler, words).get('id')}.md"
        Path(boiler.root, path).unlink()
    edit(boiler, ("Open: who", "Open question: who"))
    Path(boiler.state_folder(), "minutes-read.json").unlink()
    heal(boiler, caller)
    assert [path for path in records(boiler) if "torch" in path or "pressure" in path] == []


def test_ticks_go_both_ways(boiler, caller):
    pressure = record_with(boiler, "measure the pressure").get("id")
    before = meeting_file(boiler).read_bytes()
    done(boiler, caller, pressure)
    ticked = before.replace(b"- [ ] Ben to measure", b"- [x] Ben to measure")
    assert meeting_file(boiler).read_bytes() == ticked
    revise(boiler, caller, pressure, status="open")
    assert meeting_file(boiler).read_bytes() == before
    assert pressure in [one.hit.id for one in actions(boiler, caller).hits]
    sweep = record_with(boiler, "call the chimney sweep").get("id")
    done(boiler, caller, sweep)  # its line has no box
    assert meeting_file(boiler).read_bytes() == before


def test_a_deleted_meeting_stops_nobody(boiler, caller):
    pressure = record_with(boiler, "measure the pressure").get("id")
    delete(boiler, caller, notes.read(meeting_file(boiler).read_bytes()).get("id"))
    assert done(boiler, caller, pressure).outcome == "done"


def test_edited_minutes_without_their_event_are_named(boiler, caller):
    edit(boiler, ("- Chidi: call", "- [ ] Ben: buy a torch\n- Chidi: call"))
    (event,) = Path(boiler.root).glob("events/*/*/*.md")
    event.write_text(event.read_text().replace("## Raw Content", "## Other"))
    answer = normalize(boiler, caller)
    assert [one.where for one in answer.problems if "minutes" in one.message] == [
        str(meeting_file(boiler).relative_to(boiler.root))
    ]


def test_minutes_count_on_the_day_of_the_meeting(vault, cortex):
    text = "# Board\n\nDate: 2019-05-15\n\n## Decisions\n\n- We buy a house\n"
    cortex("capture", "--type", "meeting", "-", stdin=text)
    assert cortex("meetings").stdout.startswith("2019-05-15  Board")
    assert cortex("meetings", "--since", "2020-01-01").returncode == 1
    assert "2019-05-15" in cortex("search", "type:decision before:2020-01-01").stdout
    assert "2019-05-15 We buy a house" in cortex("brief").stdout


def test_each_meeting_of_a_file_dates_what_came_of_it(vault, cortex):
    text = "# Board 2026-11-10\n\n## Decisions\n\n- Paint it\n\n# Board 2026-11-17\n\n## Decisions\n\n- Sell it\n"
    cortex("capture", "--type", "meeting", "-", stdin=text)
    hits = cortex("search", "type:decision").stdout
    assert "2026-11-10" in hits
    assert "2026-11-17" in hits


def test_tasks_in_minutes_begun_from_the_template_are_told(vault, cortex):
    page = Path(vault.root, cortex("new", "meeting", "Board").stdout.strip())
    page.write_text(page.read_text().replace("- [ ]", "- [ ] Hal: sign the deed by 2026-12-12"))
    assert "2026-12-12  sign the deed  Hal" in cortex("actions").stdout


def test_a_line_that_is_added_after_an_action_is_done_is_read_by_the_second_command(boiler, cortex):
    (action,) = (one for one in Path(boiler.root).glob("records/action/*.md") if "call" in one.name)
    assert cortex("done", action.stem).returncode == 0
    edit(boiler, ("- Chidi: call", "- [ ] Ben: buy a torch\n- Chidi: call"))
    cortex("search", "torch")
    assert "buy a torch" in cortex("search", "type:action torch").stdout.lower()


def test_a_secret_that_is_written_into_minutes_goes_no_further(boiler, cortex):
    edit(
        boiler,
        ("- Chidi: call", "- [ ] Ben: log in with <private>hunter2</private>\n- Chidi: call"),
    )
    cortex("actions")
    made = [one for one in Path(boiler.root).rglob("*.md") if one != meeting_file(boiler)]
    assert any("log in with" in one.read_text().lower() for one in made)
    assert not any("hunter2" in one.read_text() for one in made)


def test_a_line_that_goes_back_to_what_was_captured_takes_its_record_along(boiler, caller):
    """As when somebody chooses the captured side of a conflict in minutes, and ticked it there."""
    edit(boiler, ("order the valves by Friday", "order the big valves by Friday"))
    normalize(boiler, caller)
    changed = record_with(boiler, "order the big valves")
    edit(boiler, ("- [ ] Ada: order the big valves", "- [x] Ada: order the valves"))
    normalize(boiler, caller)
    again = record_with(boiler, "order the valves")
    assert again.get("id") == changed.get("id")
    open_ids = {one.hit.id for one in actions(boiler, caller).hits}
    assert again.get("id") not in open_ids
    normalize(boiler, caller)
    assert record_with(boiler, "order the valves") == again


def test_minutes_that_are_captured_again_on_another_day_make_nothing_new(vault, caller):
    text = "# Weekly, 20 November 2026\n\n- [ ] Ana: write the notes by 2026-11-26\n"
    for now in ("2026-11-20T10:00:00Z", "2026-11-23T10:00:00Z"):
        capture(vault, caller._replace(now=now), text, type="meeting")
        normalize(vault, caller._replace(now=now))
    made = [path.name for path in Path(vault.root, "records").rglob("*.md")]
    assert len(made) == 2, made


def again(
    vault: Vault, caller: Caller, *pairs: tuple[str, str], now: str = "2026-11-21T09:00:00Z"
) -> None:
    """Capture the minutes of the boiler room again, with these replacements."""
    text = MINUTES
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    caller = caller._replace(now=now)
    capture(vault, caller, text, type="meeting", project="house")
    normalize(vault, caller)


def statuses(vault: Vault) -> dict[str, str]:
    """The title of each record but the meeting's, with its status."""
    read = map(
        notes.read, (data for path, data in records(vault).items() if "/meeting/" not in path)
    )
    return {note.title: note.get("status") or "active" for note in read}


def test_minutes_captured_again_are_a_new_version_of_one_meeting(boiler, caller):
    done(boiler, caller, record_with(boiler, "measure the pressure").get("id"))
    before = records(boiler)
    again(
        boiler, caller, ("order the valves by Friday", "order six valves by Friday"), ("Ben, Chidi", "Ben, Cleo"),
        ("- Chidi: call the chimney sweep", "- [ ] Cleo: buy a torch"),
    )  # fmt: skip
    assert statuses(boiler) == {
        "The old pump stays until spring": "active",
        "Order six valves": "open",
        "Measure the pressure": "done",
        "Buy a torch": "open",
        "Call the chimney sweep": "archived",
        "Who pays for the scaffold?": "active",
    }
    meeting = notes.read(meeting_file(boiler).read_bytes())
    assert "- [ ] Cleo: buy a torch" in meeting.text
    assert "- [x] Ben to measure the pressure" in meeting.text
    assert meeting.get_list("attendees") == ("Ada Byrne", "Ben", "Cleo")
    assert len(meeting.provenance()[0]) == 2
    same = [path for path, data in before.items() if records(boiler)[path] == data]
    assert len(same) == 3  # the decision, the question and what is done
    gone = record_with(boiler, "call the chimney sweep")
    assert "no longer tell it" in gone.get("archived_because")
    after = records(boiler)
    normalize(boiler, caller)
    heal(boiler, caller)
    assert records(boiler) == after


def test_a_third_version_takes_back_what_the_second_changed(boiler, caller):
    again(boiler, caller, ("order the valves", "order six valves"))
    again(boiler, caller, ("- The old pump stays until spring\n", ""), now="2026-11-22T09:00:00Z")
    assert record_with(boiler, "order the valves").get("status") == "open"
    assert record_with(boiler, "old pump").get("status") == "archived"
    assert len(list(Path(boiler.root, "records/meeting").iterdir())) == 1


def test_what_a_person_has_edited_stays_and_the_other_text_is_named(boiler, caller, cortex):
    edit(boiler, ("until spring", "until May"))
    heal(boiler, caller)
    again(boiler, caller, ("- Chidi: call the chimney sweep\n", ""))
    assert "until May" in meeting_file(boiler).read_text()
    assert record_with(boiler, "call the chimney sweep").get("status") == "open"
    assert record_with(boiler, "until may").get("type") == "decision"
    (event,) = Path(boiler.root).glob("events/2026/11/20261121*.md")
    assert event.stem in meeting_file(boiler).read_text()
    assert (
        f"cortex history {notes.read(meeting_file(boiler).read_bytes()).get('id')} shows both"
        in cortex("doctor").stdout
    )


def test_who_captures_again_is_told_that_an_edited_text_stays(boiler, cortex, tmp_path):
    edit(boiler, ("until spring", "until May"))
    Path(tmp_path, "again.md").write_text(MINUTES.replace("- Chidi: call the chimney sweep\n", ""))
    words = ("--type", "meeting", "--project", "house", "--json", str(tmp_path / "again.md"))
    done = cortex("capture", *words)
    (problem,) = json.loads(done.stdout)["problems"]
    assert "its text stays" in problem["message"]
    assert problem["hint"].startswith("cortex history 2026-11-03-boiler-room")


def test_two_clones_that_capture_one_version_agree(boiler, caller, tmp_path):
    clone = Vault(str(tmp_path / "clone"))
    shutil.copytree(boiler.root, clone.root)
    pairs = (
        ("- Chidi: call the chimney sweep\n", "- [ ] Cleo: buy a torch\n- Ada: call the mayor\n"),
    )
    again(boiler, caller, *pairs)
    again(clone, caller, *pairs, now="2026-11-22T09:00:00Z")
    assert records(boiler).keys() == records(clone).keys()
    assert statuses(boiler) == statuses(clone)


def test_two_meetings_of_one_title_and_day_with_nothing_in_common_are_two(boiler, caller):
    text = "# Boiler room, 3 November 2026\n\nAttendees: Ada Byrne, Ben, Chidi\n\n## Decisions\n\n- We paint the door\n"
    capture(boiler, caller, text, type="meeting", project="house")
    normalize(boiler, caller)
    assert len(list(Path(boiler.root, "records/meeting").iterdir())) == 2
    assert record_with(boiler, "old pump").get("status") == ""


NEXT_WEEK = """\
# Boiler room, 10 November 2026

## Actions

- [ ] Ben: Measure the pressure, due 2026-11-20
- [ ] Ben: Measure the pressure
- [ ] Chidi: order the valves
- [ ] Ada: send it
"""


def next_week(vault: Vault, caller: Caller, text: str = NEXT_WEEK) -> None:
    capture(vault, caller, text, type="meeting", project="house")
    normalize(vault, caller)


def test_an_action_that_is_named_again_while_it_is_open_is_one_with_two_sources(boiler, caller):
    id_ = record_with(boiler, "measure the pressure").get("id")
    next_week(boiler, caller)
    pressure = record_with(boiler, "measure the pressure")
    assert (pressure.get("id"), pressure.get("due"), len(pressure.provenance()[0])) == (
        id_,
        "2026-11-20",
        2,
    )
    assert len(pressure.get_list("derived_from")) == 2
    titles = [one.hit.title for one in actions(boiler, caller).hits]
    assert sorted(titles) == [
        "Call the chimney sweep", "Measure the pressure", "Order the valves", "Order the valves", "Send it",
    ]  # fmt: skip
    done(boiler, caller, id_)
    for path in Path(boiler.root, "records/meeting").iterdir():
        assert not re.search(r"(?i)- \[ \] ben.*measure", path.read_text())


def test_it_is_done_when_either_of_its_minutes_is_ticked(boiler, caller):
    next_week(boiler, caller)
    (path,) = Path(boiler.root, "records/meeting").glob("2026-11-10*")
    path.write_text(
        path.read_text().replace(
            "- [ ] Ben: Measure the pressure\n", "- [x] Ben: Measure the pressure\n"
        )
    )
    assert "Measure the pressure" not in [one.hit.title for one in actions(boiler, caller).hits]


def test_what_was_done_before_and_what_another_has_to_do_are_other_actions(boiler, caller):
    done(boiler, caller, record_with(boiler, "measure the pressure").get("id"))
    next_week(
        boiler, caller, NEXT_WEEK.replace("Chidi: order the valves", "Cleo: call the chimney sweep")
    )
    found = [(one.hit.title, one.owner) for one in actions(boiler, caller).hits]
    assert {
        ("Measure the pressure", "Ben"),
        ("Call the chimney sweep", "Chidi"),
        ("Call the chimney sweep", "Cleo"),
    } < {*found}
    assert len(found) == 5


def test_an_action_that_other_minutes_name_too_stays_when_one_version_leaves_it_out(boiler, caller):
    next_week(boiler, caller)
    again(boiler, caller, ("- [ ] Ben to measure the pressure\n", ""))
    assert record_with(boiler, "measure the pressure").get("status") == "open"


def test_minutes_with_properties_of_their_own_are_a_note_with_one_block(vault, caller):
    text = (
        "---\ntitle: Weekly\ndate: 2026-11-05\nattendees: [Ana, Ben]\ntags: [club]\n---\n\n"
        "## Actions\n\n- [ ] Ana to order the boards by Friday\n- [ ] Ben: fix the gate\n"
    )
    capture(vault, caller, text, type="meeting")
    normalize(vault, caller)
    note = notes.read(meeting_file(vault).read_bytes())
    assert (note.title, note.get("date"), note.get_list("tags")) == (
        "Weekly",
        "2026-11-05",
        ("club",),
    )
    assert note.get_list("attendees") == ("Ana", "Ben")
    assert note.text.lstrip().startswith("# Weekly\n\n## Actions")
    before = records(vault)
    edit(vault, ("Ana to order the boards by Friday", "Ana to order the boards by Monday"))
    heal(vault, caller)
    assert record_with(vault, "order the boards").get("due") == "2026-11-09"
    assert len(records(vault)) == len(before)
    edit(vault, ("- [ ] Ana to", "- [x] Ana to"))
    assert [one.hit.title for one in actions(vault, caller).hits] == ["Fix the gate"]
    done(vault, caller, record_with(vault, "fix the gate").get("id"))
    assert "- [x] Ben: fix the gate" in meeting_file(vault).read_text()
    capture(vault, caller._replace(now="2026-11-22T00:00:00Z"), text, type="meeting")
    normalize(vault, caller)
    assert len(records(vault)) == len(before)


def test_minutes_whose_text_was_replaced_by_a_command_are_still_read_again(boiler, caller):
    id_ = notes.read(meeting_file(boiler).read_bytes()).get("id")
    edit(boiler, ("- Chidi: call", "- [ ] Ben: buy a torch\n- Chidi: call"))
    heal(boiler, caller)
    text = notes.read(meeting_file(boiler).read_bytes()).text_below_title
    revise(
        boiler,
        caller,
        id_,
        body=text.replace("- [ ] Ben: buy", "- [ ] Ada: buy a rope\n- [ ] Ben: buy"),
    )
    heal(boiler, caller)
    assert record_with(boiler, "buy a rope").get("owner") == "Ada"
