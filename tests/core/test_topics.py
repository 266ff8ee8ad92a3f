"""Topics: which keys there are, which one a text suggests, and that the order of arrival shows nowhere in their records."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.model import event as events, topics
from cortex.core.model.event import Event
from cortex.core.model.problem import InvalidInputError
from cortex.core.normalize.changes import CreateNote, ExistingRecords, UpsertTopic
from cortex.core.normalize.handlers import changes_for_event, parse_event, records_from_event
from cortex.core.normalize.session_note import NO_GOAL, NO_SUMMARY
from cortex.core.normalize.topic_upsert import UpsertResult, has_current_replacement, upsert_record
from cortex.core.notes import note as notes


@pytest.mark.parametrize(("given_", "kept"), [
    ("decision/storage", "decision/storage"),
    ("  Decision/Where The Index Lies ", "decision/where-the-index-lies"),
    ("Bug/Login\tLoop", "bug/login-loop"),
    ("storage", "storage"),
    ("Архитектура/Слои", "архитектура/слои"),
    ("cafe\u0301/x", "caf\u00e9/x"),  # a Mac and a keyboard write it differently
    ("v1.2/x_y", "v1.2/x_y"),
    ("a" * 120, "a" * 120),
])  # fmt: skip
def test_a_topic_is_compared_in_one_form(given_: str, kept: str) -> None:
    assert topics.normalize_topic(given_) == kept
    assert topics.normalize_topic(kept) == kept


@pytest.mark.parametrize("wrong", [
    "", "  ", "a" * 500, "../x", "x/..", "/etc/passwd", "a//b", "a/", "a\0b", "a\x1bb", "a\u202eb", "a\ud800",
])  # fmt: skip
def test_what_can_be_no_topic_is_refused_with_one_that_can(wrong: str) -> None:
    with pytest.raises(InvalidInputError, match="topic") as refused:
        topics.normalize_topic(wrong)
    assert "decision/storage" in refused.value.hint
    assert len(refused.value.message) < 120


@pytest.mark.parametrize(("type_", "title", "text", "suggested"), [
    ("decision", "Use SQLite", "", "decision/use-sqlite"),
    ("bugfix", "Login loops", "", "bug/login-loops"),
    ("architecture", "Architecture of the layers", "", "architecture/of-the-layers"),
    ("decision", "Decision: use SQLite", "", "decision/use-sqlite"),
    ("decision", "Decision", "", "decision/decision"),
    ("", "Fixed the crash on start", "we chose another pattern", "bug/fixed-the-crash-on-start"),
    ("", "We chose tabs", "a pattern for settings", "decision/we-chose-tabs"),
    ("note", "The toml settings", "", "config/the-toml-settings"),
    ("", "Debugging is fun", "", "topic/debugging-is-fun"),
    ("", "Lunch at noon", "", "topic/lunch-at-noon"),
    ("pattern", "", "one two three four five six seven eight nine ten", "pattern/one-two-three-four-five-six-seven-eight"),
    ("learning", "", "", "learning/general"),
    ("party", "", "", "topic/general"),
])  # fmt: skip
def test_a_topic_is_suggested_by_type_else_by_words(
    type_: str, title: str, text: str, suggested: str
) -> None:
    assert topics.suggest(type_, title, text) == suggested
    assert topics.normalize_topic(suggested) == suggested


@given(st.text(max_size=300), st.text(max_size=300))
def test_what_is_suggested_is_always_a_topic(title: str, text: str) -> None:
    suggested = topics.suggest("", title, text)
    assert topics.normalize_topic(suggested) == suggested


def test_titles_that_ascii_cannot_say_are_topics_of_their_own() -> None:
    one, other = (
        topics.suggest("decision", title, "") for title in ("Использовать базу", "Выбросить базу")
    )
    assert one != other


def test_a_topic_has_one_id_and_place_in_project_and_scope() -> None:
    ids = {
        topics.topic_record_id(project, scope, topic)
        for project in ("p", "q", "")
        for scope in ("project", "personal")
        for topic in ("bug/x", "bug/y")
    }
    assert len(ids) == 12
    assert (
        topics.record_path("p", "project", "bug/x")
        == f"records/bugfix/{topics.topic_record_id('p', 'project', 'bug/x')}.md"
    )
    assert topics.record_path("p", "project", "storage").startswith("records/topic/storage-")
    assert topics.record_path("p", "project", "con").startswith("records/topic/con-")
    assert len(topics.record_path("p", "project", "x" * 120)) < 100


def saved(number: int, **fields: object) -> Event:
    id_ = f"20261120t1645{number:02d}z-aaaaaaaaaa"
    told = {
        "title": f"Title {number}", "text": f"Text {number}", "topic": "decision/storage", "project": "p",
        "scope": "project", "record": "decision",
    }  # fmt: skip
    return Event(id_, "observation", events.time_of_id(id_), **{**told, **fields})


EVENTS = [
    saved(1, tags=("b",), session="s1", branch="main", confidence="0.5"),
    saved(2, record="pattern", derived_from=("x", "a")),
    saved(3, title="Title 2", text="Text 2\n\n    indented", priority="7", branch="side", tags=("c", "a")),
    saved(4, record="action", session="s2", supersedes=("old",)),
    saved(5, record="pattern", text="Text 2", confidence="1"),
]  # fmt: skip


def taken(order: list[Event]) -> bytes:
    """The record of a topic after these events, in this order."""
    known, data = ExistingRecords(), b""
    said = {event.id: records_from_event(event) for event in order}
    for event in order:
        change = changes_for_event(event, known)[0]
        if isinstance(change, CreateNote):
            data = change.text.encode()
        else:
            assert isinstance(change, UpsertTopic)
            done = upsert_record(data, change, lambda id_: said[id_])
            assert done.preserved_event is None
            assert upsert_record(done.data, change, lambda id_: said[id_]).data == done.data
            data = done.data
        known.register_change(change, event)
    return data


@given(st.permutations(EVENTS), st.integers(1, 5))
def test_any_order_of_the_same_saves_gives_the_same_bytes(order: list[Event], count: int) -> None:
    some = order[:count]
    data = taken(some)
    assert data == taken(sorted(some))
    note = notes.read_strict(data, "x")
    last = max(some)
    assert (note.title, note.text_below_title.strip(), note.get("type")) == (
        last.title,
        last.text,
        last.record,
    )
    assert note.provenance()[0] == tuple(sorted(event.id for event in some))
    assert (note.get("created"), note.updated) == (min(some).at, last.at)
    assert note.get("status") == ("open" if last.record == "action" else "")


def test_fields_that_a_hand_added_stay_where_they_are() -> None:
    data = (
        taken(EVENTS[:1])
        .replace(b"type: decision", b"type: decision\n# why\nreviewed: Ada")
        .replace(b"\n", b"\r\n")
    )
    change = UpsertTopic("x", EVENTS[2], records_from_event(EVENTS[2])[0])
    done = upsert_record(data, change, lambda _: records_from_event(EVENTS[0]))
    assert done.preserved_event is None  # the text itself is as its event gave it
    assert b"type: decision\r\n# why\r\nreviewed: Ada\r\n" in done.data
    assert b"Text 2\r\n\r\n    indented\r\n" in done.data
    assert notes.read_strict(done.data, "x").get("priority") == "7"


def test_a_paragraph_that_a_person_added_stays_and_is_an_event_once() -> None:
    first, second, third = saved(5), saved(6), saved(7)
    kept = {one.id: records_from_event(one) for one in (first, second, third)}

    def after(data: bytes, event: Event) -> UpsertResult:
        (record,) = records_from_event(event)
        return upsert_record(data, UpsertTopic("x", event, record), lambda id_: kept.get(id_, []))

    data = taken([first]) + b"\nMy own clause.\n"
    once = after(data, second)
    assert once.data.endswith(b"\nMy own clause.\n")
    assert once.preserved_event is not None
    kept[once.preserved_event.id] = records_from_event(once.preserved_event)
    again = after(once.data, third)
    assert again.preserved_event is None
    assert again.data.count(b"My own clause.") == 1
    # What was changed within a paragraph is an event, and does not stay.
    body = records_from_event(first)[0].body
    first_words = body.strip().partition(" ")[0].encode()
    changed = after(data.replace(first_words + b" ", b"Changed ", 1), second)
    assert changed.preserved_event is not None
    assert b"Changed" not in changed.data


@pytest.mark.parametrize(("status", "after"), [
    ("archived", ""),
    ("pruned", ""),
    ("deleted", ""),
    ("superseded", "superseded"),
    ("done", "done"),
])  # fmt: skip
def test_what_was_put_away_comes_back_when_it_is_said_again_and_what_was_superseded_does_not(
    status: str, after: str
) -> None:
    data = taken(EVENTS[:1]).replace(b"project:", f"status: {status}\nproject:".encode())
    done = upsert_record(
        data,
        UpsertTopic("x", EVENTS[1], records_from_event(EVENTS[1])[0]),
        lambda _: records_from_event(EVENTS[0]),
    )
    assert notes.read_strict(done.data, "x").get("status") == after


def test_a_save_from_before_it_was_put_away_does_not_bring_it_back() -> None:
    data = (
        taken(EVENTS[:1])
        .replace(b"project:", b"status: deleted\nproject:")
        .replace(b"provenance:", b"updated: 2026-11-21T16:45:01Z\nprovenance:")
    )
    done = upsert_record(
        data,
        UpsertTopic("x", EVENTS[1], records_from_event(EVENTS[1])[0]),
        lambda _: records_from_event(EVENTS[0]),
    )
    assert notes.read_strict(done.data, "x").get("status") == "deleted"


def more(data: bytes, event: Event) -> notes.Note:
    done = upsert_record(
        data,
        UpsertTopic("x", event, records_from_event(event)[0]),
        lambda _: records_from_event(EVENTS[0]),
    )
    return notes.read_strict(done.data, "x")


HAND = """relations:
  - "[[my-own-plan]]" # the plan
  # and why
  - {kind: refines, to: "[[other|the other]]", why: because}
  - contradicts: "[[third]]"
  - kind: follows
    to: fourth
"""


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
def test_relations_that_a_hand_wrote_stay_as_they_are_when_a_save_adds_one(eol: bytes) -> None:
    data = (
        taken(EVENTS[:1])
        .replace(b"provenance:", HAND.encode() + b"provenance:")
        .replace(b"\n", eol)
    )
    note = more(data, saved(7, derived_from=("y-aaaaaa", "third"), supersedes=("old-bbbbbb",)))
    assert HAND.encode().replace(b"\n", eol) in note.frontmatter
    assert note.get_list("derived_from") == ("[[third]]", "[[y-aaaaaa]]")
    assert note.get_list("supersedes") == ("[[old-bbbbbb]]",)
    again = more(notes.write(note), saved(8, derived_from=("y-aaaaaa",), supersedes=("third",)))
    assert again.get_list("derived_from") == note.get_list("derived_from")
    assert again.get_list("supersedes") == ("[[old-bbbbbb]]", "[[third]]")


@pytest.mark.parametrize("form", [
    'relations: ["[[a]]", {kind: refines, to: b, why: c}]',
    'relations:\n- "[[a]]"\n- {kind: refines, to: b, why: c}',
])  # fmt: skip
def test_relations_on_one_line_or_at_the_margin_stay_too(form: str) -> None:
    data = taken(EVENTS[:1]).replace(b"provenance:", f"{form}\nprovenance:".encode())
    note = more(data, saved(7, derived_from=("y",)))
    assert note.fields["relations"] == ["[[a]]", {"kind": "refines", "to": "b", "why": "c"}]
    assert note.get_list("derived_from") == ("[[y]]",)


def test_relations_that_are_no_list_are_refused_rather_than_lost() -> None:
    data = taken(EVENTS[:1]).replace(b"provenance:", b'derived_from: {a: "[[a]]"}\nprovenance:')
    assert more(data, saved(7)).fields["derived_from"] == {"a": "[[a]]"}
    with pytest.raises(InvalidInputError, match="no list of links"):
        more(data, saved(8, derived_from=("y",)))


@pytest.mark.parametrize("foreign", ["minutes-of-monday", "20269999t999999z-aaaaaaaaaa", "~"])
def test_a_name_that_is_no_event_does_not_count_as_the_latest(foreign: str) -> None:
    data = taken(EVENTS[:1]).replace(b"events: [", f"events: ['{foreign}', ".encode())
    done = upsert_record(
        data,
        UpsertTopic("x", EVENTS[2], records_from_event(EVENTS[2])[0]),
        lambda _: records_from_event(EVENTS[0]),
    )
    note = notes.read_strict(done.data, "x")
    assert (done.changed, note.title, note.text_below_title.strip()) == (
        True,
        EVENTS[2].title,
        EVENTS[2].text,
    )
    assert foreign in note.provenance()[0]


def test_an_event_whose_text_does_not_stand_is_no_duplicate() -> None:
    data = taken(EVENTS[1:2])
    early = upsert_record(
        data,
        UpsertTopic("x", EVENTS[0], records_from_event(EVENTS[0])[0]),
        lambda _: records_from_event(EVENTS[1]),
    )
    assert (early.changed, notes.read_strict(early.data, "x").text_below_title.strip()) == (
        True,
        "Text 2",
    )
    same = EVENTS[1]._replace(id="20261120t164501z-bbbbbbbbbb", derived_from=())
    assert (
        upsert_record(
            data, UpsertTopic("x", same, records_from_event(same)[0]), lambda _: ()
        ).changed
        is False
    )


CHAIN = {
    "b": "superseded_by: c\nstatus: Superseded",
    "c": "status: active",
    "d": "superseded_by: b\nstatus: superseded",
    "gone": "status: deleted",
}


@pytest.mark.parametrize(
    ("by", "gone", "answer"),
    [
        ("", (), False), ("c", (), True), ("b", (), True), ('"[[d|x]]"', (), True), ("c", ("c",), False), ("d", ("c",), False), ("d", ("b",), False),
        ("gone", (), False), ("nobody", (), None), ("C", ("c",), False), ("c", ("other",), True),
    ],
)  # fmt: skip
def test_who_holds_in_the_place_of_a_superseded_record(
    by: str, gone: tuple[str, ...], answer: bool | None
) -> None:
    def of(fields: str) -> notes.Note:
        return notes.read(f"---\n{fields}\n---\n".encode())

    note = of(f"status: superseded\nsuperseded_by: {by}")
    assert (
        has_current_replacement(note, lambda id_: of(CHAIN[id_]) if id_ in CHAIN else None, gone)
        is answer
    )


def test_a_ring_of_superseded_records_is_walked_once() -> None:
    ring = {"a": "b", "b": "c", "c": "b"}
    assert (
        has_current_replacement(
            notes.read(b"---\nsuperseded_by: a\n---\n"),
            lambda id_: notes.read(
                f"---\nstatus: superseded\nsuperseded_by: {ring[id_]}\n---\n".encode()
            ),
            (),
        )
        is False
    )


texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), min_size=1, max_size=60
).filter(lambda text: bool(text.strip()))
words = st.lists(st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True), max_size=3).map(tuple)


@given(
    texts, texts, words, words, st.sampled_from(["", "0.5", "1"]), st.sampled_from(["", "7", "10"])
)
def test_what_was_saved_is_what_is_read(
    title: str,
    text: str,
    one: tuple[str, ...],
    other: tuple[str, ...],
    confidence: str,
    priority: str,
) -> None:
    event = saved(
        1,
        title=title,
        text=text,
        derived_from=one,
        supersedes=other,
        confidence=confidence,
        priority=priority,
    )
    assert parse_event(events.compose(event).encode(), f"inbox/pending/{event.id}.md") == event


def test_the_texts_of_events_without_one_are_those_that_sessions_know() -> None:
    assert set(events.PLACEHOLDER_TEXTS.values()) == {NO_GOAL, NO_SUMMARY}
