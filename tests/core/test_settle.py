"""What is decided for each path that git could not merge: versions in, actions out, no git anywhere."""

from __future__ import annotations

import pytest

from cortex.core.settle import Drop, Left, Place, Put, Wait, World, conflicts, digest, settle


def record(id_: str, body: str = "Text.", updated: str = "2026-11-20T10:00:00Z") -> bytes:
    return f"---\nid: {id_}\ntype: decision\ncreated: 2026-11-01T00:00:00Z\nupdated: {updated}\n---\n\n{body}\n".encode()


def event(text: str) -> bytes:
    return f"---\nid: 20261120t164512z-aaaaaaaaaa\ntype: manual\n---\n\n## Raw Content\n\n{text}\n".encode()


MARKED = b"---\nid: a\n---\n\n<<<<<<< one\nours\n=======\ntheirs\n>>>>>>> two\n"


def joins(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """Stands for the merge of notes: clean unless both texts say `same line`."""
    if b"same line" in ours and b"same line" in theirs:
        return MARKED, False
    return b" + ".join(sorted((ours, theirs))), True


def decided(*places: Place, **world):
    return settle(places, World(joins, **world))


BASE, OURS, THEIRS = record("a-aaaaaa", "Base."), record("a-aaaaaa", "Ours."), record("a-aaaaaa", "Theirs.")
JOINED = joins(BASE, OURS, THEIRS)[0]
A = "records/decision/a-aaaaaa.md"
EVENT = "events/2026/11/20261120t164512z-aaaaaaaaaa.md"
PENDING = "inbox/pending/20261120t164512z-aaaaaaaaaa.md"
FAILED = "inbox/failed/20261120t164512z-aaaaaaaaaa.md"
PERSON = b"A note of my own.\n"
CLASH = record("b-bbbbbb", "Another note.")
NEWER = record("a-aaaaaa", "Theirs.", "2026-11-21T10:00:00Z")

CASES = {
    "both changed a record": ([Place(A, BASE, OURS, THEIRS, OURS)], [Put(A, JOINED)]),
    "both added one record": ([Place(A, None, OURS, THEIRS, None)], [Put(A, JOINED)]),
    "we changed, they deleted": ([Place(A, BASE, OURS, None, OURS)], [Put(A, OURS)]),
    "we deleted, they changed": ([Place(A, BASE, None, THEIRS, THEIRS)], [Put(A, THEIRS)]),
    "only one side has it": ([Place(A, None, None, THEIRS, THEIRS)], [Put(A, THEIRS)]),
    "neither has it": ([Place(A, BASE, None, None, None)], [Drop(A)]),
    "both renamed; a tie takes the larger path": (
        [Place(A, BASE, None, None, None), Place("records/x.md", None, OURS, None, None), Place("records/y.md", None, None, THEIRS, None)],
        [Put("records/y.md", JOINED), Drop("records/x.md"), Drop(A)],
    ),
    "both renamed; the newer name wins": (
        [Place(A, BASE, None, None, None), Place("records/y.md", None, OURS, None, None), Place("records/x.md", None, None, NEWER, None)],
        [Put("records/x.md", joins(BASE, OURS, NEWER)[0]), Drop("records/y.md"), Drop(A)],
    ),
    "both renamed, one of them out of our folders": (
        [Place(A, BASE, None, None, None), Place("mine/x.md", None, OURS, None, None), Place("records/y.md", None, None, THEIRS, None)],
        [Put("records/y.md", JOINED), Drop("mine/x.md"), Drop(A)],
    ),
    "two notes of one name; the one that the name belongs to stays": (
        [Place(A, None, CLASH, OURS, None)],
        [Put(A, OURS), Put("records/decision/b-bbbbbb.md", CLASH)],
    ),
    "an event changed on both sides": ([Place(EVENT, event("was"), event("x"), event("y"), event("x"))], [Put(EVENT, event("was"))]),
    "an event changed and deleted": ([Place(EVENT, event("was"), None, event("y"), event("y"))], [Put(EVENT, event("was"))]),
    "an event normalized here and failed there": (
        [Place(PENDING, event("was"), None, None, None), Place(FAILED, None, None, event("why"), None), Place(EVENT, None, event("was"), None, None)],
        [Put(EVENT, event("was")), Drop(FAILED), Drop(PENDING)],
    ),
    "a briefing without one side": ([Place("briefings/p/decisions.md", b"x", None, b"y", b"y")], [Put("briefings/p/decisions.md", b"y")]),
    "a record that a person keeps elsewhere": ([Place("mine/a.md", BASE, OURS, THEIRS, None)], [Put("mine/a.md", JOINED)]),
    "a picture in our folders": ([Place("records/a.png", b"1", b"2", b"3", b"2")], [Wait("records/a.png", "both sides changed it: put the right one there, then git add it")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_case_is_decided(case) -> None:
    places, actions = CASES[case]
    outcome = decided(*places)
    assert list(outcome.actions) == actions
    assert all(isinstance(action, Drop | Wait) for action in actions) or outcome.settled


@pytest.mark.parametrize("case", [case for case in CASES if case != "two notes of one name; the one that the name belongs to stays"])
def test_both_sides_decide_alike(case) -> None:
    """What one clone merges and what the other would have merged are the same files."""

    def files(places):
        outcome = decided(*places)
        return sorted((type(action).__name__, action.path, getattr(action, "data", b"")) for action in outcome.actions)

    places = CASES[case][0]
    mirrored = [place._replace(ours=place.theirs, theirs=place.ours) for place in places]
    assert files(places) == files(mirrored)


@pytest.mark.parametrize("swap", [False, True])
def test_two_notes_of_one_name_are_both_kept_the_same_way_from_both_sides(swap) -> None:
    ours, theirs = (OURS, CLASH) if swap else (CLASH, OURS)
    outcome = decided(Place(A, None, ours, theirs, None))
    assert outcome.actions == (Put(A, OURS), Put("records/decision/b-bbbbbb.md", CLASH))


def test_the_second_note_finds_a_free_name() -> None:
    outcome = decided(Place(A, None, CLASH, OURS, None), taken=lambda path: path == "records/decision/b-bbbbbb.md")
    name = outcome.actions[1].path
    assert name.startswith("records/decision/b-bbbbbb-")
    assert outcome.actions[1].data == CLASH


@pytest.mark.parametrize("swap", [False, True])
def test_an_event_added_twice_is_kept_twice_and_no_id_means_both(swap) -> None:
    one, other = event("one"), event("other")
    outcome = decided(Place(EVENT, None, other if swap else one, one if swap else other, None))
    (first, second) = outcome.actions
    assert first.path == EVENT
    assert second.path.startswith(EVENT.removesuffix(".md") + "-other-")
    assert {first.data.count(b"one\n"), second.data.count(b"one\n")} == {0, 1}
    assert f"id: {second.path.rpartition('/')[2].removesuffix('.md')}\n".encode() in second.data


def test_a_move_that_git_did_not_see_takes_the_other_sides_changes_along() -> None:
    moved = record("a-aaaaaa", "Moved and rewritten.")
    outcome = decided(Place(A, BASE, None, THEIRS, THEIRS), added={"a-aaaaaa": ("records/new.md", moved)})
    assert outcome.actions == (Put("records/new.md", joins(BASE, moved, THEIRS)[0]), Drop(A))


LEFT_TO_PEOPLE = {
    "lines of a note of their own": Place("mine.md", PERSON, PERSON, PERSON, MARKED),
    "their own note, deleted on one side": Place("mine.md", PERSON, None, PERSON + b"more", PERSON),
    "their settings": Place("cortex.toml", b"a", b"b", b"c", MARKED),
    "a link": Place("records/a.md", b"x", b"y", b"z", None, False),
    "lines of a record": Place(A, BASE, OURS + b"same line", THEIRS + b"same line", OURS + b"same line"),
    "a record that somebody mended before we came": Place(A, BASE, OURS, THEIRS, record("a-aaaaaa", "Mended.")),
}


@pytest.mark.parametrize("case", LEFT_TO_PEOPLE)
def test_what_only_a_person_can_decide_waits(case) -> None:
    (action,) = decided(LEFT_TO_PEOPLE[case]).actions
    assert isinstance(action, Wait)
    assert action.why


PLACE = Place(A, BASE, OURS + b"same line", THEIRS + b"same line", MARKED)
LEFT = {A: Left(digest(OURS), digest(MARKED))}


def test_a_note_that_nobody_has_mended_yet_waits_on() -> None:
    (action,) = decided(PLACE, waiting=LEFT, held={A: MARKED}).actions
    assert isinstance(action, Wait)
    (action,) = decided(PLACE._replace(held=OURS), waiting=LEFT, held={A: OURS}).actions  # a crash came before it was written
    assert action == Wait(A, "both sides changed the same lines", MARKED)


def test_a_mended_note_is_taken_and_says_no_more_that_it_is_in_conflict() -> None:
    mended = record("a-aaaaaa", "Mended.").replace(b"type:", b"merge_conflicts:\n  - {field: id, ours: x, theirs: y}\ntype:")
    outcome = decided(PLACE, waiting={A: LEFT[A]._replace(drops=("records/old.md",))}, held={A: mended})
    assert outcome.actions == (Put(A, record("a-aaaaaa", "Mended.")), Drop("records/old.md"))


@pytest.mark.parametrize(
    "held",
    [MARKED + b"half mended", b"---\nid: [\n---\nx\n", None],
    ids=["markers", "frontmatter that cannot be read", "gone"],
)
def test_half_mended_is_not_mended(held) -> None:
    (action,) = decided(PLACE, waiting=LEFT, held={A: held}).actions
    assert isinstance(action, Wait)
    assert action.data is None


def test_a_note_that_is_about_markers_is_not_in_conflict() -> None:
    quoting = record("a-aaaaaa", MARKED.decode())
    place = Place(A, quoting, quoting + b"same line", quoting + b"same line!", MARKED)
    outcome = decided(place, waiting=LEFT, held={A: quoting + b"mended\n"})
    assert outcome.actions == (Put(A, quoting + b"mended\n"),)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (MARKED, 1),
        (MARKED.replace(b"\n", b"\r\n"), 1),
        (MARKED + MARKED, 2),
        (b"<<<<<<< a\n||||||| base\n=======\n>>>>>>> b\n", 1),
        (b"Title\n=======\n\n> quoted\n", 0),
        (b"<<<<<<< a\n>>>>>>> b\n", 0),
        (b"  <<<<<<< a\n=======\n>>>>>>> b\n", 0),
        (b"<<<<<<< a\n" * 50_000, 0),
    ],
)
def test_conflicts_are_three_markers_in_their_order(text, count) -> None:
    assert sum(conflicts(text).values()) == count
