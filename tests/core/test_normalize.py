"""Event to records, as values: what each handler decides, and that it decides the same everywhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from cortex.core.model import event as events
from cortex.core.model.event import Event
from cortex.core.model.problem import InvalidInputError
from cortex.core.normalize.changes import (
    AddProvenance,
    AppendToSession,
    CreateNote,
    ExistingRecords,
    MarkSuperseded,
    UpsertTopic,
    parse_timestamp,
)
from cortex.core.normalize.handlers import amend_note, changes_for_event, parse_event
from cortex.core.notes import note as notes
from tests.conftest import cpu_limit


def event(
    text: str, *, at: str = "2026-11-20T16:45:12Z", tail: str = "aaaaaaaaaa", **fields
) -> Event:
    stamp = at.replace("-", "").replace(":", "").lower()
    return Event(
        id=f"{stamp}-{tail}", type=fields.pop("type", "manual"), at=at, text=text, **fields
    )


def made(text: str, **fields) -> notes.Note:
    (change,) = changes_for_event(event(text, **fields), ExistingRecords())
    assert isinstance(change, CreateNote)
    return notes.read_strict(change.text.encode(), change.path)


TITLES = [
    ("Decision: use SQLite, because it is one file", (), "decision", "Use SQLite, because it is one file"),
    ("**Decision:** use SQLite. It is one file.", (), "decision", "Use SQLite"),
    ("# Gotcha: fsync the folder too\n\nlong story", (), "gotcha", "Fsync the folder too"),
    ("- TIL: `os.link` never overwrites", (), "learning", "os.link never overwrites"),
    ("Rejected: a counter for ids", (), "rejection", "A counter for ids"),
    ("TODO: write the docs", (), "action", "Write the docs"),
    ("Note: nothing special", (), "note", "Nothing special"),
    ("Warning: this is no type", (), "note", "Warning: this is no type"),
    ("the build is green", (), "note", "The build is green"),
    ("the build is green", ("pattern", "ci"), "pattern", "The build is green"),
    ("Decision: a tag wins over the word", ("gotcha",), "gotcha", "A tag wins over the word"),
    ("\n\n  iPhone first\n", (), "note", "iPhone first"),
    ("Decision:", (), "note", "Decision"),
    ("word " * 60, (), "note", "W" + ("word " * 15)[1:].rstrip() + "…"),
    ("[[Home]] links here", (), "note", "Home links here"),
    ("???", (), "note", "???"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tags", "type_", "title"), TITLES)
def test_a_manual_event_becomes_one_record(
    text: str, tags: tuple[str, ...], type_: str, title: str
) -> None:
    note = made(text, tags=tags, project="cortex", branch="main", session="s1")
    assert (note.get("type"), note.title, note.get("aliases")) == (type_, title, "")
    assert note.get_list("aliases") == (title,)
    # The heading says all of a text that is no longer than it, and the type what its word does.
    below = note.text_below_title.strip()
    assert text.strip().endswith(below)
    assert len(text.strip()) - len(below) < len(title) + 20
    assert note.provenance() == (("20261120t164512z-aaaaaaaaaa",), {"session": "s1"})
    assert re.fullmatch(r"[a-z0-9-]+-[a-z2-7]{6}", note.get("id"))


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200).filter(
        lambda text: text.strip()
    )
)
def test_any_text_becomes_a_readable_record_with_a_safe_path(text: str) -> None:
    text = text.replace("\r", " ").replace("\0", " ")
    (change,) = (
        changes_for_event(event(text or "x"), ExistingRecords()) if text.strip() else (None,)
    )
    if change is None:
        return
    assert isinstance(change, CreateNote)
    note = notes.read_strict(change.text.encode(), change.path)
    assert note.get("id") == change.record.id
    assert note.title == change.record.title
    assert note.text_below_title.strip() in (text.strip(), "") or note.title in text
    assert re.fullmatch(r"records/[a-z]+/[a-z0-9-]{1,60}\.md", change.path)


def test_an_event_that_a_record_names_already_changes_nothing() -> None:
    known = ExistingRecords()
    one = event("Decision: x")
    (change,) = changes_for_event(one, known)
    known.register_change(change, one)
    assert changes_for_event(one, known) == []


def test_equal_content_within_fifteen_minutes_is_one_record_whose_provenance_grows() -> None:
    known = ExistingRecords()
    first = event("Decision: use  SQLite", project="p")
    (created,) = changes_for_event(first, known)
    assert isinstance(created, CreateNote)
    known.register_change(created, first)

    soon = event("decision: Use sqlite.\n", at="2026-11-20T17:00:12Z", project="p")
    (grown,) = changes_for_event(soon, known)
    assert grown == AddProvenance(created.path, soon)
    after = notes.read_strict(amend_note(created.text.encode(), grown), created.path)
    assert after.provenance()[0] == (first.id, soon.id)
    assert after.get("updated") == soon.at
    assert after.get("created") == first.at

    for other in (
        event("Decision: use SQLite", at="2026-11-20T17:00:13Z", project="p"),
        event("Decision: use SQLite", tail="bbbbbbbbbb", project="q"),
        event("Gotcha: use SQLite", tail="cccccccccc", project="p"),
    ):
        assert isinstance(changes_for_event(other, known)[0], CreateNote)


def test_stop_events_fold_into_the_one_note_of_their_session_in_the_order_of_ids() -> None:
    known = ExistingRecords()
    second = event("second turn", at="2026-11-20T16:50:00Z", type="stop", session="abc")
    (created,) = changes_for_event(second, known)
    assert isinstance(created, CreateNote)
    known.register_change(created, second)
    data = created.text.encode()
    for other in (
        event("third", at="2026-11-20T16:55:00Z", type="stop", session="abc"),
        event("first", at="2026-11-20T16:45:00Z", type="pre_compact", session="abc"),
    ):
        (fold,) = changes_for_event(other, known)
        assert isinstance(fold, AppendToSession)
        assert fold.path == created.path
        data = amend_note(data, fold)
        assert amend_note(data, fold) == data
    turns = [line for line in data.decode().splitlines() if line.startswith("- 2026")]
    assert [turn.split(": ")[1].split(" [[")[0] for turn in turns] == [
        "first",
        "second turn",
        "third",
    ]


def test_a_session_that_was_only_compacted_is_open_until_it_stops() -> None:
    compacted = event("so far", type="pre_compact", session="abc")
    (created,) = changes_for_event(compacted, ExistingRecords())
    assert isinstance(created, CreateNote)
    assert notes.read(created.text.encode()).get("status") == "open"
    stopped = event("end", at="2026-11-20T17:00:00Z", type="stop", session="abc")
    assert (
        notes.read(amend_note(created.text.encode(), AppendToSession(created.path, stopped))).get(
            "status"
        )
        == "done"
    )


def test_a_persons_words_in_a_session_note_stay_where_they_are() -> None:
    (created,) = changes_for_event(event("turn", type="stop", session="abc"), ExistingRecords())
    assert isinstance(created, CreateNote)
    edited = (
        created.text.replace("## Events", "My own words.\n\n## Events").encode()
        + b"\nA last line without an end"
    )
    folded = amend_note(
        edited,
        AppendToSession(
            created.path, event("next", at="2026-11-20T17:00:00Z", type="stop", session="abc")
        ),
    ).decode()
    assert "My own words.\n\n## Events\n\n- 2026-11-20 16:45 stop: turn" in folded
    assert "stop: next [[20261120t170000z-aaaaaaaaaa]]\n\nA last line without an end" in folded


def test_the_tags_of_a_twin_are_kept() -> None:
    known = ExistingRecords()
    first = event("Decision: x", tags=("a",))
    (created,) = changes_for_event(first, known)
    known.register_change(created, first)
    second = event("Decision: x", tail="bbbbbbbbbb", tags=("b", "a"))
    (grown,) = changes_for_event(second, known)
    assert notes.read(amend_note(created.text.encode(), grown)).get_list("tags") == ("a", "b")


def test_a_persons_fields_and_comments_in_provenance_stay() -> None:
    data = b"---\nid: a\nprovenance:\n  events:\n    - e1\n# between\n    - e2\n  reviewed_by: Ada\nmine: 1\n---\nbody\n"
    grown = notes.read(amend_note(data, AddProvenance("a.md", event("x"))))
    assert grown.fields["provenance"] == {
        "events": ["20261120t164512z-aaaaaaaaaa", "e1", "e2"],
        "reviewed_by": "Ada",
    }
    assert (grown.get("mine"), grown.problems) == ("1", ())


@pytest.mark.parametrize("block", [
    b"{id: r, title: T}",
    b"? provenance\n: {events: [a]}",
    b"provenance: {events: [a,\nb], session: s}\nid: r",
])  # fmt: skip
def test_frontmatter_that_lines_do_not_follow_is_left_alone(block) -> None:
    data = b"---\n" + block + b"\n---\nbody\n"
    try:
        changed = notes.read(amend_note(data, AddProvenance("a.md", event("x"))))
    except InvalidInputError as refused:
        assert refused.hint
    else:
        assert changed.problems == ()
        assert changed.get("id") == notes.read(data).get("id")


@pytest.mark.parametrize("text", [
    "*" * 100_000, "**" * 50_000 + "a", "# > - " * 20_000, "- [ ] " * 20_000, "a" * 100_000 + ":",
    "[[" * 50_000,
])  # fmt: skip
def test_a_first_line_built_to_make_a_pattern_crawl_becomes_a_record_quickly(text) -> None:
    with cpu_limit(5):
        changes_for_event(event(text), ExistingRecords())


MINUTES = """# Storage review

Attendees: Ada, Ben

## Decisions

- Use SQLite because it is one file

## Action items

- [ ] Ada: write the record (due 2026-12-01)
- [x] Ben: measure fsync
"""


def test_a_meeting_becomes_a_record_for_itself_each_action_and_each_decision_all_linked() -> None:
    changes = changes_for_event(event(MINUTES, type="meeting", project="p"), ExistingRecords())
    cards = {}
    for change in changes:
        assert isinstance(change, CreateNote)
        cards[change.record.id] = notes.read_strict(change.text.encode(), change.path)
    meeting, decision, todo, done = cards.values()
    assert [note.get("type") for note in cards.values()] == [
        "meeting", "decision", "action", "action",
    ]  # fmt: skip
    assert meeting.text.strip() == MINUTES.strip()
    assert meeting.fields["source_of"] == [f"[[{id_}]]" for id_ in list(cards)[1:]]
    assert decision.fields["derived_from"] == [f"[[{meeting.get('id')}]]"]
    assert "**Why.**" in decision.text
    assert (todo.get("status"), todo.get("owner"), todo.get("due")) == ("open", "Ada", "2026-12-01")
    assert (done.get("status"), done.get("owner")) == ("done", "Ben")
    assert f"[[{meeting.get('id')}|Storage review]]" in todo.text


def test_the_same_minutes_twice_are_the_same_records() -> None:
    known = ExistingRecords()
    first = event(MINUTES, type="meeting")
    for change in changes_for_event(first, known):
        known.register_change(change, first)
    again = changes_for_event(event(MINUTES, type="meeting", tail="bbbbbbbbbb"), known)
    assert {type(change) for change in again} == {AddProvenance}


def saving(text: str, tail: str, **fields) -> Event:
    return event(text, type="observation", tail=tail, title="One", **fields)


def test_what_a_save_supersedes_is_superseded_by_the_record_that_is_there() -> None:
    known = ExistingRecords()
    first, old = saving("text", "aaaaaaaaaa"), saving("other", "bbbbbbbbbb")
    for one in (first, old):
        (change,) = changes_for_event(one, known)
        known.register_change(change, one)
    ids = {path: id_ for id_, path in known.path_by_id.items()}
    (twin, old_id), (old_path,) = ids.values(), list(ids)[1:]
    again = saving(
        "text", "cccccccccc", supersedes=(old_id, twin), derived_from=(old_id, twin, "source")
    )
    grown, retired = changes_for_event(again, known)
    assert (type(grown), retired) == (AddProvenance, MarkSuperseded(old_path, again, twin))
    data = amend_note(compose_of(first), grown)
    note = notes.read_strict(data, "x")
    assert note.get_list("supersedes") == (f"[[{old_id}]]",)
    assert note.get_list("derived_from") == (f"[[{old_id}]]", "[[source]]")
    assert amend_note(data, grown) == data
    known.register_change(retired, again)
    assert isinstance(
        changes_for_event(saving("other", "dddddddddd"), known)[0], CreateNote
    )  # what is set aside is nobody's twin


def test_a_text_saved_again_without_its_topic_is_one_record_in_one_pass_too() -> None:
    known = ExistingRecords()
    first = saving("text", "aaaaaaaaaa", topic="decision/store", project="shop", scope="project")
    (change,) = changes_for_event(first, known)
    known.register_change(change, first)
    (again,) = changes_for_event(
        saving("text", "cccccccccc", project="shop", record=change.record.type), known
    )
    assert isinstance(again, AddProvenance)


def test_an_earlier_text_of_a_topic_that_comes_later_is_not_the_text_of_its_record() -> None:
    known = ExistingRecords()
    topic = {"topic": "decision/store", "project": "shop", "scope": "project"}
    (change,) = changes_for_event(latest := saving("text", "cccccccccc", **topic), known)
    known.register_change(change, latest)
    (lost,) = changes_for_event(earlier := saving("other", "bbbbbbbbbb", **topic), known)
    assert isinstance(lost, UpsertTopic)
    known.register_change(lost, earlier)
    again = saving("text", "dddddddddd", project="shop", record=change.record.type)
    assert isinstance(changes_for_event(again, known)[0], AddProvenance)


@pytest.mark.parametrize("at", ["2026-11-20T24:00:00Z", "2026-11-20T10:00:00.Z", "", "soon"])
def test_what_only_some_pythons_read_is_no_time(at: str) -> None:
    assert parse_timestamp(at) is None


def compose_of(one: Event) -> bytes:
    (change,) = changes_for_event(one, ExistingRecords())
    assert isinstance(change, CreateNote)
    return change.text.encode()


def test_who_is_superseded_lets_go_of_the_record_that_holds_now() -> None:
    held = b'---\nid: x\nstatus: active\nsupersedes: [r, q]\nrelations:\n  - {kind: supersedes, to: "[[r]]"}\n  - {kind: refines, to: "[[r]]"}\n---\ntext\n'
    note = notes.read_strict(
        amend_note(held, MarkSuperseded("x.md", saving("text", "aaaaaaaaaa"), "r")), "x.md"
    )
    assert (note.get("status"), note.get("superseded_by"), note.get_list("supersedes")) == (
        "superseded",
        "[[r]]",
        ("q",),
    )
    assert note.fields["relations"] == [{"kind": "refines", "to": "[[r]]"}]


EVENT = "---\nid: {id}\ntype: {type}\nat: {at}\n---\n\n## Raw Content\n\n{text}\n"
GOOD = {
    "id": "20261120t164512z-aaaaaaaaaa", "type": "manual", "at": "2026-11-20T16:45:12Z", "text": "x",
}  # fmt: skip


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), min_size=1).filter(
        lambda text: text.strip()
    )
)
def test_what_was_captured_is_what_is_read(text: str) -> None:
    written = event(
        text,
        session="s: 1",
        project="p",
        branch="feat/x",
        tags=("a", "b/c"),
        host="claude",
        source="hook",
    )
    assert (
        parse_event(events.compose(written).encode(), f"inbox/pending/{written.id}.md") == written
    )


@pytest.mark.parametrize(("change", "message"), [
    ({"type": "party"}, "unknown event type"),
    ({"id": "20261120t164512z-bbbbbbbbbb"}, "file name"),
    ({"at": "yesterday"}, "not a time"),
    ({"text": " "}, "nothing to capture"),
    ({"text": "x" * 1_000_001}, "at most"),
])  # fmt: skip
def test_an_event_that_cannot_be_used_says_why(change: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_event(EVENT.format(**GOOD | change).encode(), f"inbox/pending/{GOOD['id']}.md")
