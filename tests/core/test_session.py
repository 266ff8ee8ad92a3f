"""A session's one note: what its events make of it, in whichever order they come, and what stays a person's."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from cortex.core.merge.merge_record import merge_record
from cortex.core.model.event import Event
from cortex.core.model.generated_text import event_lines, summary_of
from cortex.core.normalize import session_note as sessions
from cortex.core.normalize.changes import AppendToSession
from cortex.core.normalize.handlers import amend_note
from cortex.core.notes import note as notes

SESSIONS = ("session_start", "prompt", "stop", "pre_compact", "subagent_stop", "session_end")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


def event(type_: str, minute: int, text: str = "", **fields: object) -> Event:
    at = f"2026-11-20T{16 + minute // 60:02}:{minute % 60:02}:00Z"
    tail = fields.pop("tail", "aaaaaaaaaa")
    stamp = at.replace("-", "").replace(":", "").lower()
    return Event(
        id=f"{stamp}-{tail}",
        type=type_,
        at=at,
        text=text or f"{type_} {minute}",
        session="abc",
        **fields,
    )  # type: ignore[arg-type]


def folded(*events: Event, data: bytes = b"") -> bytes:
    """The note after these events, in this order."""
    for one in events:
        data = (
            amend_note(data, AppendToSession("s.md", one))
            if data
            else sessions.compose_note(one).encode()
        )
    return data


def read(*events: Event, data: bytes = b"") -> notes.Note:
    note = notes.read(folded(*events, data=data))
    assert note.problems == ()
    return note


WORDS = st.sampled_from(["", "p", "q"])
TEXTS = st.one_of(
    st.sampled_from(
        [
            sessions.NO_SUMMARY,
            "# Goal\n\nx",
            "### Goal\n\nx\n\n---\n\n## Events\n\n- a",
            "```\n## Events\n# sh\n```",
            "- 2026 [[x]]",
            "\\n`",
        ]
    ),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), min_size=1, max_size=40
    ).filter(lambda text: text.strip()),
)
EVENTS = st.lists(
    st.builds(
        event, st.sampled_from(SESSIONS), st.integers(0, 4), TEXTS, project=WORDS, branch=WORDS, tags=st.lists(st.sampled_from("cab"), unique=True).map(tuple),
        tail=st.text(_ALPHABET, min_size=10, max_size=10),
    ), min_size=1, max_size=7, unique_by=lambda one: one.id,
)  # fmt: skip


@given(EVENTS, st.randoms(use_true_random=False))
def test_the_same_events_in_any_order_give_the_same_bytes(events: list[Event], random) -> None:
    in_order = folded(*sorted(events, key=lambda one: one.id))
    shuffled = list(events)
    random.shuffle(shuffled)
    assert folded(*shuffled).decode() == in_order.decode()
    assert folded(*events, data=in_order) == in_order
    note = notes.read(in_order)
    assert note.problems == ()
    assert [turn.id for turn in event_lines(note.text)] == sorted(one.id for one in events)


@pytest.mark.parametrize(("events", "status", "started", "ended"), [
    ([("pre_compact", 1)], "open", "", ""),
    ([("pre_compact", 1), ("stop", 2)], "done", "", ""),
    ([("prompt", 1)], "open", "", ""),
    ([("session_start", 1)], "open", "16:01", ""),
    ([("session_start", 1), ("stop", 2), ("prompt", 3)], "open", "16:01", ""),
    ([("session_start", 1), ("stop", 2), ("session_end", 3)], "done", "16:01", "16:03"),
    ([("session_start", 1), ("session_end", 1)], "done", "16:01", "16:01"),
    ([("session_start", 1), ("session_end", 2), ("session_start", 3)], "open", "16:01", ""),
    ([("session_start", 1), ("session_end", 2), ("session_end", 4)], "done", "16:01", "16:04"),
    ([("session_end", 2)], "done", "", "16:02"),
    ([("stop", 1), ("session_start", 2)], "open", "16:02", ""),
])  # fmt: skip
def test_a_session_is_open_from_its_start_until_its_end(events, status, started, ended) -> None:
    note = read(
        *(
            event(type_, minute, tail=("b" if type_ == "session_start" else "a") * 10)
            for type_, minute in events
        )
    )
    assert (note.get("status"), note.get("started")[11:16], note.get("ended")[11:16]) == (
        status,
        started,
        ended,
    )


def test_place_and_project_are_those_of_the_earliest_event() -> None:
    note = read(event("stop", 5, project="q", branch="b"), event("session_start", 1, project="p"))
    assert (note.get("project"), note.get("branch"), note.get("scope"), note.get("created")) == (
        "p", "", "", "2026-11-20T16:01:00Z",
    )  # fmt: skip
    assert list(note.fields) == [
        "id", "type", "title", "status", "project", "created", "updated", "started", "provenance",
    ]  # fmt: skip


SUMMARY = "## Goal\n\nShip it\n\n## Accomplished\n\n- all"

TURNS = st.lists(
    st.builds(event, st.sampled_from(["prompt", "stop", "pre_compact", "subagent_stop"]), st.integers(2, 30), tail=st.text(_ALPHABET, min_size=10, max_size=10)),
    max_size=4, unique_by=lambda one: one.id,
)  # fmt: skip


@settings(max_examples=30)
@given(TURNS, TURNS, st.sampled_from(["", SUMMARY]))
def test_two_clones_that_fold_apart_meet_in_the_note_of_one_that_folded_all(
    one: list[Event], two: list[Event], ended: str
) -> None:
    two = [turn for turn in two if turn.id not in {each.id for each in one}] + (
        [event("session_end", 31, ended)] if ended else []
    )
    base = folded(event("session_start", 1, "Ship it"))
    ours, theirs = folded(*one, data=base), folded(*two, data=base)
    merged = merge_record(base, ours, theirs)
    assert merged.data.decode() == folded(*one, *two, data=base).decode()
    assert merge_record(base, theirs, ours).data == merged.data


def test_the_end_of_a_session_is_its_summary_with_headings_below_its_own() -> None:
    note = read(event("session_start", 1, "Ship it"), event("session_end", 9, SUMMARY))
    assert summary_of(note.text) == "### Goal\n\nShip it\n\n### Accomplished\n\n- all"
    assert (
        note.text.index("## Summary") < note.text.index("### Goal") < note.text.index("## Events")
    )
    assert "session_end: Ship it · all [[20261120t160900z-aaaaaaaaaa]]" in note.text


def test_the_longest_summary_stands_of_equal_ones_the_latest_in_whichever_order_they_come() -> None:
    ends = [
        event("session_end", 9, "### Goal\n\nsecond"),
        event("session_end", 5, "first, and late"),
        event("session_end", 11, "### Goal\n\nthirds"),
        event("session_end", 13, "ok"),
    ]
    for order in itertools.permutations(ends):
        note = read(*order)
        assert summary_of(note.text) == "### Goal\n\nthirds"
        assert note.text.count("## Summary") == 1
        assert note.get("ended") == "2026-11-20T16:13:00Z"


def test_an_end_that_sums_up_nothing_leaves_the_summary() -> None:
    note = read(
        event("session_end", 5, SUMMARY),
        event("session_end", 9, f"{sessions.NO_SUMMARY}\n\nreason: logout"),
    )
    assert "Ship it" in summary_of(note.text)
    assert note.get("ended") == "2026-11-20T16:09:00Z"


def test_a_summary_that_a_hand_has_changed_stays_above_the_new_one() -> None:
    written = folded(event("session_end", 5, SUMMARY)).replace(
        b"Ship it\n", b"Ship it, but slowly\n"
    )
    once = read(event("session_end", 7, "The second."), data=written)
    assert (
        summary_of(once.text)
        == "### Goal\n\nShip it, but slowly\n\n### Accomplished\n\n- all\n\n\n---\n\nThe second."
    )
    twice = summary_of(read(event("session_end", 9, "The third one."), data=notes.write(once)).text)
    assert "Ship it, but slowly" in twice
    assert twice.endswith("---\n\nThe third one.")
    assert "The second." not in twice


@pytest.mark.parametrize(("before", "after"), [
    ("## Events", "## My own\n\nkept\n\n## Events"),
    ("## Events", "## Summary\n\nkept\n\n## Events"),
    ("\n## Events\n", "\nkept\n"),
    ("\n\n## Events\n\n", "\n\n## Events\n\nkept\n\n"),
])  # fmt: skip
def test_what_a_person_wrote_in_the_note_stays_where_it_is(before: str, after: str) -> None:
    written = folded(event("stop", 1, "one")).decode()
    changed = written.replace(before, after)
    assert changed != written
    note = read(event("session_end", 5, SUMMARY), event("stop", 6, "six"), data=changed.encode())
    assert note.text.count("kept") == 1
    assert "### Accomplished" in note.text
    assert (
        note.text.index("stop: one")
        < note.text.index("session_end:")
        < note.text.index("stop: six")
    )


def test_line_ends_of_windows_stay() -> None:
    written = folded(event("session_start", 1), event("session_end", 3, SUMMARY)).replace(
        b"\n", b"\r\n"
    )
    after = folded(event("session_end", 5, f"{SUMMARY}\n\nline"), event("prompt", 6), data=written)
    assert after.count(b"\n") == after.count(b"\r\n")
    assert summary_of(notes.read(after).text).endswith("- all\n\nline")


def test_a_status_that_a_person_set_stays_until_the_session_is_started_or_ended() -> None:
    done = folded(event("session_start", 1)).replace(b"status: open", b"status: done")
    assert read(event("stop", 2), data=done).get("status") == "done"
    assert read(event("stop", 2), event("session_start", 3), data=done).get("status") == "open"
    archived = done.replace(b"status: done", b"status: archived")
    assert read(event("session_end", 3), data=archived).get("status") == "archived"


def test_a_session_closed_for_want_of_an_end_is_open_again_when_it_goes_on() -> None:
    closed = folded(event("session_start", 1), event("prompt", 4)).replace(
        b"status: open\n",
        b"status: done\nended: 2026-11-20T16:04:00Z\nclosed: no end was captured\n",
    )
    late = read(event("prompt", 3), data=closed)
    assert (late.get("status"), late.get("closed")) == ("done", sessions.NO_END_REASON)
    on = read(event("prompt", 5), data=closed)
    assert (on.get("status"), on.get("ended"), on.get("closed")) == ("open", "", "")
    ended = read(event("session_end", 6), data=closed)
    assert (ended.get("status"), ended.get("ended"), ended.get("closed")) == (
        "done",
        "2026-11-20T16:06:00Z",
        "",
    )


def test_a_summary_from_its_parts() -> None:
    text = sessions.compose_summary(
        {"goal": " Ship it ", "next_steps": "- rest", "files": "a.py, b/c.py", "discoveries": " "}
    )
    assert (
        text
        == "### Goal\n\nShip it\n\n### Next steps\n\n- rest\n\n### Relevant files\n\n- a.py\n- b/c.py"
    )
    assert sessions.excerpt(text, 100) == "Ship it · rest · a.py b/c.py"
