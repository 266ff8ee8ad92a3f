"""What is decided for each path that git could not merge: versions in, actions out, no git anywhere."""

from __future__ import annotations

import pytest

from cortex.core.merge.body import marked_conflicts
from cortex.core.merge.conflicts import plan_resolution
from cortex.core.merge.merge_plan import (
    AskPerson,
    MergeContext,
    OpenConflict,
    RemoveFile,
    UnmergedPath,
    WriteFile,
    sha256_hex,
)
from cortex.core.merge.note_versions import MergeSides


def record(id_: str, body: str = "Text.", updated: str = "2026-11-20T10:00:00Z") -> bytes:
    return f"---\nid: {id_}\ntype: decision\ncreated: 2026-11-01T00:00:00Z\nupdated: {updated}\n---\n\n{body}\n".encode()


def event(text: str, id_: str = "20261120t164512z-aaaaaaaaaa") -> bytes:
    return f"---\nid: {id_}\ntype: manual\n---\n\n## Raw Content\n\n{text}\n".encode()


MARKED = b"---\nid: a\n---\n\n<<<<<<< one\nours\n=======\ntheirs\n>>>>>>> two\n"


def joins(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """Stands for the merge of notes: clean unless both texts say `same line`."""
    if b"same line" in ours and b"same line" in theirs:
        return MARKED, False
    return b" + ".join(sorted((ours, theirs))), True


Place = tuple[
    str, bytes | None, bytes | None, bytes | None, bytes | None
]  # path, base, ours, theirs, in the work tree


def sides_of(*places: Place) -> MergeSides:
    trees: list[dict[str, bytes]] = [{}, {}, {}]
    for path, *versions, _ in places:
        for tree, data in zip(trees, versions, strict=True):
            if data is not None:
                tree[path] = data
    return MergeSides(*trees)


def decided(*places: Place, also: tuple[Place, ...] = (), plain: bool = True, **context):
    """`also` are paths that git merged."""
    return plan_resolution(
        [
            UnmergedPath(place[0], place[4], plain, staged_texts=frozenset({BOTH}))
            for place in places
        ],
        sides_of(*places, *also),
        MergeContext(joins, **context),
    )


BASE, OURS, THEIRS = (
    record("a-aaaaaa", "Base."),
    record("a-aaaaaa", "Ours."),
    record("a-aaaaaa", "Theirs."),
)
TORN = BASE.replace(b"type: decision", b"type: decision\ntype: decision")
JOINED = joins(BASE, OURS, THEIRS)[0]
A = "records/decision/a-aaaaaa.md"
B = "records/decision/b-bbbbbb.md"
EVENT = "events/2026/11/20261120t164512z-aaaaaaaaaa.md"
OTHER_ID = "20261120t164513z-bbbbbbbbbb"
OTHER = f"events/2026/11/{OTHER_ID}.md"
PENDING = "inbox/pending/20261120t164512z-aaaaaaaaaa.md"
FAILED = "inbox/failed/20261120t164512z-aaaaaaaaaa.md"
PERSON = b"A note of my own.\n"
BOTH = b"<<<<<<< ours\nMy day.\n=======\nA note of my own.\n>>>>>>> theirs\n"
CLASH = record("b-bbbbbb", "Another note.")
NEWER = record("a-aaaaaa", "Theirs.", "2026-11-21T10:00:00Z")

CASES = {
    "both changed a record": ([(A, BASE, OURS, THEIRS, OURS)], [WriteFile(A, JOINED)]),
    "both added one record": ([(A, None, OURS, THEIRS, None)], [WriteFile(A, JOINED)]),
    "we changed, they deleted": ([(A, BASE, OURS, None, OURS)], [WriteFile(A, OURS)]),
    "we deleted, they changed": ([(A, BASE, None, THEIRS, THEIRS)], [WriteFile(A, THEIRS)]),
    "only one side has it": ([(A, None, None, THEIRS, THEIRS)], [WriteFile(A, THEIRS)]),
    "one deleted what the other left alone": ([(A, BASE, None, BASE, None)], [RemoveFile(A)]),
    "neither has it": ([(A, BASE, None, None, None)], [RemoveFile(A)]),
    "both renamed; a tie takes the larger path": (
        [(A, BASE, None, None, None), ("records/x.md", None, OURS, None, None), ("records/y.md", None, None, THEIRS, None)],
        [WriteFile("records/y.md", JOINED), RemoveFile(A), RemoveFile("records/x.md")],
    ),
    "both renamed; the newer name wins": (
        [(A, BASE, None, None, None), ("records/y.md", None, OURS, None, None), ("records/x.md", None, None, NEWER, None)],
        [WriteFile("records/x.md", joins(BASE, OURS, NEWER)[0]), RemoveFile(A), RemoveFile("records/y.md")],
    ),
    "both renamed, one of them out of our folders": (
        [(A, BASE, None, None, None), ("mine/x.md", None, OURS, None, None), ("records/y.md", None, None, THEIRS, None)],
        [WriteFile("records/y.md", JOINED), RemoveFile("mine/x.md"), RemoveFile(A)],
    ),
    "added in two places; the place that a person chose stays": (
        [(A, None, NEWER, None, None), ("records/y.md", None, None, OURS, None)],
        [WriteFile("records/y.md", joins(b"", NEWER, OURS)[0]), RemoveFile(A)],
    ),
    "two notes of one name; the one that the name belongs to stays": ([(A, None, CLASH, OURS, None)], [WriteFile(A, OURS), WriteFile(B, CLASH)]),
    "an event changed on both sides": ([(EVENT, event("was"), event("x"), event("y"), event("x"))], [WriteFile(EVENT, event("was"))]),
    "an event changed and deleted": ([(EVENT, event("was"), None, event("y"), event("y"))], [WriteFile(EVENT, event("was"))]),
    "an event normalized here and failed there": (
        [(PENDING, event("was"), None, None, None), (FAILED, None, None, event("why"), None), (EVENT, None, event("was"), None, None)],
        [WriteFile(EVENT, event("was")), RemoveFile(FAILED), RemoveFile(PENDING)],
    ),
    "two events in place of one that was normalized before": (
        [(PENDING, event("was"), None, None, None), (OTHER, None, event("next", OTHER_ID), None, event("was"))],
        [RemoveFile(PENDING), WriteFile(OTHER, event("next", OTHER_ID))],
    ),
    "the base of a rename is no version of the event that it was renamed to": (
        [(OTHER, event("was"), event("next", OTHER_ID), None, event("was"))],
        [WriteFile(OTHER, event("next", OTHER_ID))],
    ),
    "a briefing without one side": ([("briefings/p/decisions.md", b"x", None, b"y", b"y")], [WriteFile("briefings/p/decisions.md", b"y")]),
    "a record that a person keeps elsewhere": ([("mine/a.md", BASE, OURS, THEIRS, None)], [WriteFile("mine/a.md", JOINED)]),
    "a picture in our folders": ([("records/a.png", b"1", b"2", b"3", b"2")], [AskPerson("records/a.png", "both sides changed it: put the right one there, then git add it")]),
    "a person's own note that both renamed": (
        [("mine.md", PERSON, None, None, None), ("x.md", None, PERSON, None, PERSON), ("y.md", None, None, PERSON, PERSON)],
        [RemoveFile("mine.md"), *(AskPerson(path, "renamed on one side, and renamed or deleted on the other: git add keeps it, git rm lets it go") for path in ("x.md", "y.md"))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_case_is_decided(case) -> None:
    places, actions = CASES[case]
    outcome = decided(*places)
    assert sorted(map(repr, outcome.actions)) == sorted(map(repr, actions))
    assert all(isinstance(action, RemoveFile | AskPerson) for action in actions) or outcome.resolved


@pytest.mark.parametrize("case", CASES)
def test_both_sides_decide_alike(case) -> None:
    """What one clone merges and what the other would have merged are the same files."""

    def files(places):
        outcome = decided(*places)
        return sorted(
            (type(action).__name__, action.path, getattr(action, "data", b""))
            for action in outcome.actions
        )

    places = CASES[case][0]
    assert files(places) == files(
        [(path, base, theirs, ours, held) for path, base, ours, theirs, held in places]
    )


def test_the_second_note_finds_a_free_name() -> None:
    outcome = decided((A, None, CLASH, OURS, None), is_taken=lambda path: path == B)
    (name,) = (action.path for action in outcome.actions if action.data == CLASH)
    assert name.startswith(B.removesuffix(".md") + "-")


@pytest.mark.parametrize("swap", [False, True])
def test_an_event_added_twice_is_kept_twice_and_no_id_means_both(swap) -> None:
    one, other = event("one"), event("other")
    outcome = decided((EVENT, None, other if swap else one, one if swap else other, None))
    first, second = sorted(outcome.actions, key=lambda action: action.path != EVENT)
    assert first.path == EVENT
    assert second.path.startswith(EVENT.removesuffix(".md") + "-other-")
    assert {first.data.count(b"one\n"), second.data.count(b"one\n")} == {0, 1}
    assert f"id: {second.path.rpartition('/')[2].removesuffix('.md')}\n".encode() in second.data


def test_a_move_that_git_did_not_see_takes_the_other_sides_changes_along() -> None:
    moved = record("a-aaaaaa", "Moved and rewritten.")
    outcome = decided(
        (A, BASE, None, THEIRS, THEIRS), also=(("records/new.md", None, moved, None, moved),)
    )
    assert outcome.actions == (
        WriteFile("records/new.md", joins(BASE, moved, THEIRS)[0]),
        RemoveFile(A),
    )


LEFT_TO_PEOPLE = {
    "lines of a note of their own": ("mine.md", PERSON, PERSON, PERSON, MARKED),
    "their own note, deleted on one side": ("mine.md", PERSON, None, PERSON + b"more", PERSON),
    "their settings": ("cortex.toml", b"a", b"b", b"c", MARKED),
    "a link": ("records/a.md", b"x", b"y", b"z", None),
    "lines of a record": (A, BASE, OURS + b"same line", THEIRS + b"same line", OURS + b"same line"),
    "a record that somebody mended before we came": (A, BASE, OURS, THEIRS, record("a-aaaaaa", "Mended.")),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_TO_PEOPLE)
def test_what_only_a_person_can_decide_waits(case) -> None:
    (action,) = decided(LEFT_TO_PEOPLE[case], plain=case != "a link").actions
    assert isinstance(action, AskPerson)
    assert action.reason


PLACE = (A, BASE, OURS + b"same line", THEIRS + b"same line", MARKED)
OPEN = {A: OpenConflict(sha256_hex(OURS), sha256_hex(MARKED))}


def test_a_note_that_nobody_has_mended_yet_waits_on() -> None:
    (action,) = decided(PLACE, open_conflicts=OPEN, in_work_tree={A: MARKED}).actions
    assert isinstance(action, AskPerson)
    (action,) = decided(
        (*PLACE[:4], OURS), open_conflicts=OPEN, in_work_tree={A: OURS}
    ).actions  # a crash came before it was written
    assert action == AskPerson(A, "both sides changed the same lines", MARKED)


def test_what_somebody_has_put_there_meanwhile_is_never_written_over() -> None:
    """Not by the next pass either, which finds it as the last one left it."""
    place = (A, BASE, OURS, THEIRS, record("a-aaaaaa", "By hand."))
    left = OpenConflict(sha256_hex(place[4]), sha256_hex(place[4]))
    for open_ in ({}, {A: left}):
        (action,) = decided(place, open_conflicts=open_, in_work_tree={A: place[4]}).actions
        assert action == AskPerson(
            A, "it was changed by hand meanwhile: git add it if it is as it should be"
        )


def test_a_mended_note_is_taken_and_says_no_more_that_it_is_in_conflict() -> None:
    mended = record("a-aaaaaa", "Mended.").replace(
        b"type:", b"merge_conflicts:\n  - {field: id, ours: x, theirs: y}\ntype:"
    )
    outcome = decided(
        PLACE,
        open_conflicts={A: OPEN[A]._replace(removed_paths=("records/old.md",))},
        in_work_tree={A: mended},
    )
    assert outcome.actions == (
        WriteFile(A, record("a-aaaaaa", "Mended.")),
        RemoveFile("records/old.md"),
    )


@pytest.mark.parametrize(
    "held",
    [MARKED + b"half mended", b"---\nid: [\n---\nx\n", None],
    ids=["markers", "frontmatter that cannot be read", "gone"],
)
def test_half_mended_is_not_mended(held) -> None:
    (action,) = decided(PLACE, open_conflicts=OPEN, in_work_tree={A: held}).actions
    assert isinstance(action, AskPerson)
    assert action.data is None


def test_a_note_that_is_about_markers_is_not_in_conflict() -> None:
    quoting = record("a-aaaaaa", MARKED.decode())
    place = (A, quoting, quoting + b"same line", quoting + b"same line!", MARKED)
    outcome = decided(place, open_conflicts=OPEN, in_work_tree={A: quoting + b"mended\n"})
    assert outcome.actions == (WriteFile(A, quoting + b"mended\n"),)


@pytest.mark.parametrize(("text", "count"), [
    (MARKED, 1),
    (MARKED.replace(b"\n", b"\r\n"), 1),
    (MARKED + MARKED, 2),
    (b"<<<<<<< a\n||||||| base\n=======\n>>>>>>> b\n", 1),
    (b"Title\n=======\n\n> quoted\n", 0),
    (b"<<<<<<< a\n>>>>>>> b\n", 0),
    (b"  <<<<<<< a\n=======\n>>>>>>> b\n", 0),
    (b"<<<<<<< a\n" * 50_000, 0),
])  # fmt: skip
def test_conflicts_are_three_markers_in_their_order(text, count) -> None:
    assert sum(marked_conflicts(text).values()) == count
