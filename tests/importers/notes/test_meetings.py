"""Transcripts as Teams, Zoom and Otter write them (forms as published; the words are made up)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.minutes.meeting import parse_meeting
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.item import ForeignMeeting
from cortex.importers.notes import meetings

ZOOM_VTT = """WEBVTT

1
00:00:02.000 --> 00:00:05.000
Ana Bell: So we agreed to ship on Thursdays,

2
00:00:05.000 --> 00:00:06.000
Ana Bell: because support is in.

3
00:00:06.000 --> 00:00:09.000
Ben Okri: Yes. I'll call the printer by Friday.

4
00:00:09.000 --> 00:00:10.000
But the point is: it is late.
"""
TEAMS_VTT = """WEBVTT

NOTE
recorded 2026-11-27

f3a1/12-0
00:00:02.000 --> 00:00:05.000
<v Ana Bell>Ben, can you write
the <i>notes</i>?</v>

f3a1/13-0
00:00:05.000 --> 00:00:06.000
<v.loud Ben Okri>R&amp;D will.</v><v Ana Bell>Fine.</v>
"""
ZOOM_CAPTIONS = "[Ana Bell] 10:00:00\nHello.\n\n[Ben Okri] 10:00:12\nDecision: we use Postgres.\n"
ZOOM_CHAT = (
    "10:00:00\t From Ana Bell to Everyone:\n\tHello all\n"
    "10:00:03\t From Ben Okri to Ana Bell(Direct Message):\n\tnot for all\n"
    "10:01:00 From Cleo : Hi\n"
)
ZOOM_CLOUD_CHAT = "00:13:46\tAna Bell:\tgm\n00:13:51\tBen Okri:\tGm: hello\n"
OTTER = (
    "Ana Bell  0:03  \nHello all. \n\nUnknown Speaker  59:09\nWe decided to drop Windows 7.\n\n"
    "Ana Bell  1:00:12\nBye.\n\nTranscribed by https://otter.ai\n"
)
SRT = (
    "1\n00:00:01,000 --> 00:00:02,000\nCafé, on and on.\n\n"
    "2\n00:00:03,000 --> 00:00:04,000\nSo the point is: nobody is named.\n"
)


def read_one(folder: Path, name: str, text: str | bytes) -> ForeignMeeting:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert meetings.accepts(str(path))
    [item] = meetings.read(str(path))
    assert isinstance(item, ForeignMeeting)
    return item


def said_in(item: ForeignMeeting) -> list[str]:
    lines = item.text.split("\n\n")
    return [line for line in lines if not line.startswith(("# ", "Date: ", "Attendees: "))]


def test_a_recording_of_zoom_has_its_date_and_its_speakers(tmp_path: Path) -> None:
    item = read_one(tmp_path, "GMT20260505-154943_Recording.transcript.vtt", ZOOM_VTT)
    assert (item.title, item.at) == ("Meeting 2026-05-05", "2026-05-05T15:49:43Z")
    assert item.attendees == ("Ana Bell", "Ben Okri")
    assert said_in(item) == [
        "Ana Bell: So we agreed to ship on Thursdays, because support is in.",
        "Ben Okri: Yes. I'll call the printer by Friday. But the point is: it is late.",
    ]
    minutes = parse_meeting(item.text)
    assert [(one.text, one.owner, one.due) for one in minutes.actions] == [
        ("call the printer by Friday", "Ben Okri", "2026-05-08")
    ]
    assert [one.reason for one in minutes.decisions] == ["support is in"]


def test_voices_of_teams_are_the_speakers_and_a_note_may_say_the_day(tmp_path: Path) -> None:
    item = read_one(tmp_path, "Weekly sync-Meeting Transcript.vtt", TEAMS_VTT.replace("\n", "\r\n"))
    assert (item.title, item.at) == ("Weekly sync", "2026-11-27")
    assert said_in(item) == [
        "Ana Bell: Ben, can you write the notes?",
        "Ben Okri: R&D will.",
        "Ana Bell: Fine.",
    ]


def test_what_zoom_saves_is_named_by_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "2026-11-27 10.00.00 Design review 91234567890"
    item = read_one(folder, "meeting_saved_closed_caption.txt", ZOOM_CAPTIONS)
    assert (item.title, item.at) == ("Design review", "2026-11-27T10:00:00")
    assert said_in(item) == ["Ana Bell: Hello.", "Ben Okri:\nDecision: we use Postgres."]
    assert [one.text for one in parse_meeting(item.text).decisions] == ["we use Postgres"]


def test_of_a_chat_what_is_for_one_alone_is_left_out(tmp_path: Path) -> None:
    item = read_one(tmp_path, "chat.txt", ZOOM_CHAT)
    assert said_in(item) == ["Ana Bell: Hello all", "Cleo: Hi"]
    cloud = read_one(tmp_path, "chat.txt", ZOOM_CLOUD_CHAT)
    assert said_in(cloud) == ["Ana Bell: gm", "Ben Okri: Gm: hello"]


def test_nobody_is_called_unknown_speaker(tmp_path: Path) -> None:
    item = read_one(tmp_path, "Team_chat_otter_ai.txt", OTTER)
    assert (item.title, item.at, item.attendees) == ("Team", "", ("Ana Bell",))
    assert said_in(item) == [
        "Ana Bell: Hello all.",
        "Unknown Speaker: We decided to drop Windows 7.",
        "Ana Bell: Bye.",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_sentence_with_a_colon_names_nobody_in_any_encoding(
    tmp_path: Path, encoding: str
) -> None:
    item = read_one(tmp_path, "talk.en.srt", SRT.encode(encoding))
    assert (item.title, item.attendees) == ("talk", ())
    assert said_in(item) == ["Café, on and on.\nSo the point is: nobody is named."]


def test_some_cues_may_name_who_speaks_in_their_own_way(tmp_path: Path) -> None:
    cue = "00:00:0{}.000 --> 00:00:0{}.500\n{}\n\n"
    said = (
        "<v Ana Bell>Hello.</v>",
        "Ben Okri: Hi.",
        "Decision: we ship.",
        "<v Ana Bell>Fine.</v>",
    )
    text = "WEBVTT\n\n" + "".join(cue.format(n, n, one) for n, one in enumerate(said))
    item = read_one(tmp_path, "weekly.vtt", text)
    assert item.attendees == ("Ana Bell", "Ben Okri")
    assert said_in(item) == [
        "Ana Bell: Hello.",
        "Ben Okri: Hi. Decision: we ship.",
        "Ana Bell: Fine.",
    ]


def test_a_text_of_windows_is_read_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "talk.srt").write_bytes(SRT.encode("cp1252"))
    item, problem = meetings.read(str(tmp_path / "talk.srt"))
    assert isinstance(item, ForeignMeeting)
    assert said_in(item)[0].startswith("Café, on")
    assert isinstance(problem, Problem)
    assert (problem.where, problem.hint) == ("talk.srt", "")


def test_a_folder_holds_a_meeting_a_file_and_names_what_is_none(tmp_path: Path) -> None:
    for name, text in {
        "a.vtt": TEAMS_VTT,
        "b/c.srt": SRT,
        "empty.vtt": "WEBVTT\n",
        "readme.txt": "Lunch  10:30\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    items = list(meetings.read(str(tmp_path)))
    keys = [item.key for item in items if isinstance(item, ForeignMeeting)]
    assert keys == [f"{tmp_path.name}/a.vtt", "b/c.srt"]
    assert [item.where for item in items if isinstance(item, Problem)] == ["empty.vtt"]
    assert items == list(meetings.read(str(tmp_path)))


def test_other_files_are_no_transcripts(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Nothing was said at 10:30.\n")
    assert not meetings.accepts(str(tmp_path))
    with pytest.raises(InvalidInputError, match="no transcript"):
        list(meetings.read(str(tmp_path / "notes.txt")))
    (tmp_path / "a.vtt").write_text(TEAMS_VTT)
    assert meetings.accepts(str(tmp_path))
    (tmp_path / "note.md").write_text("a folder of notes\n")
    assert not meetings.accepts(str(tmp_path))


def test_the_verb_finds_what_was_decided_and_promised(tmp_path: Path, vault, import_twice) -> None:
    folder = tmp_path / "zoom"
    folder.mkdir()
    (folder / "GMT20260505-154943_Recording.transcript.vtt").write_text(ZOOM_VTT)
    (folder / "Team sync 2026-05-06.txt").write_text(OTTER)
    done = import_twice("meetings", folder)
    assert [(one.kind, one.found) for one in done.items] == [("meeting", 2)]
    made = sorted(path.parent.name for path in Path(vault.root, "records").glob("*/*.md"))
    assert made == ["action", "decision", "decision", "meeting", "meeting"]
    [action] = Path(vault.root, "records/action").glob("*.md")
    assert "owner: Ben Okri\n" in action.read_text()
    assert "due: 2026-05-08\n" in action.read_text()
    [sync] = Path(vault.root, "records/meeting").glob("*team-sync*.md")
    assert "date: 2026-05-06\n" in sync.read_text()
