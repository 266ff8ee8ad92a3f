"""What is decided for each path that git could not merge, or merged wrongly: versions in, actions out, no git anywhere."""

from __future__ import annotations

import pytest
from hypothesis import event as seen, given, strategies as st

from cortex.core.merge.conflict_markers import marked_conflicts, side_of_nested
from cortex.core.merge.conflicts import plan_resolution
from cortex.core.merge.damage import DamageKind, find_damage, plan_repair
from cortex.core.merge.merge_plan import (
    AskPerson,
    MergeContext,
    MergeSides,
    OpenConflict,
    RemoveFile,
    UnmergedPath,
    WriteFile,
    sha256_hex,
)
from cortex.core.notes import note as notes


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
    "two new notes of a person's own for one that is gone": (
        [("mine.md", b"My.\n", None, None, None), ("x.md", None, PERSON, None, BOTH), ("y.md", None, None, b"My day.\n", BOTH)],
        [RemoveFile("mine.md"), WriteFile("x.md", PERSON), WriteFile("y.md", b"My day.\n")],
    ),
    "two names of a note of a person's own, with markers that a person has begun to mend": (
        [("mine.md", b"My.\n", None, None, None), ("x.md", None, PERSON, None, BOTH + b"Mine.\n")],
        [RemoveFile("mine.md"), AskPerson("x.md", "both sides changed the same lines")],
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


# --- what git merged


REPAIRS = {
    "a note that one deleted and the other edited, paired with its likeness": (
        [(A, BASE, OURS, None, None), (B, None, None, CLASH, None)], {B: OURS}, {(DamageKind.MIXED, A, OURS), (DamageKind.LOST, B, CLASH)},
    ),
    "the same, and git kept the likeness": ([(A, BASE, OURS, None, None), (B, None, None, CLASH, None)], {B: CLASH}, {(DamageKind.LOST, A, OURS)}),
    "the same, text merged into text": ([(A, BASE, OURS, None, None), (B, None, None, CLASH, None)], {B: CLASH + b"Ours.\n"}, {(DamageKind.LOST, A, OURS), (DamageKind.MIXED, B, CLASH)}),
    "a note that both have alike, with git's markers in it": (
        [(B, None, CLASH, CLASH, None)], {B: CLASH + b"<<<<<<<< HEAD:x\nOurs.\n========\n>>>>>>>> 1:y\n"}, {(DamageKind.MIXED, B, CLASH)},
    ),
    "a note that both have alike, with the edit of one that is gone": (
        [(A, BASE, OURS, None, None), (B, None, CLASH, CLASH, None)], {B: CLASH + b"Ours.\n"}, {(DamageKind.LOST, A, OURS), (DamageKind.MIXED, B, CLASH)},
    ),
    "a note that both have alike, changed since": ([(B, None, CLASH, CLASH, None)], {B: CLASH + b"Ours.\n"}, set()),
    "a deletion": ([(A, BASE, BASE, None, None)], {}, set()),
    "a note that both changed": ([(A, BASE, OURS, THEIRS, None)], {A: JOINED}, set()),
    "a note that both changed, with a field twice": (
        [("mine/a.md", BASE, OURS, THEIRS, None)], {"mine/a.md": TORN}, {(DamageKind.UNREADABLE, "mine/a.md", JOINED)},
    ),
    "a note that was broken before": ([(A, BASE, TORN, THEIRS, None)], {A: TORN + b"Theirs.\n"}, set()),
    "a note that both changed, and is gone": ([(A, BASE, OURS, THEIRS, None)], {}, {(DamageKind.LOST, A, JOINED)}),
    "a move with an edit": ([(A, BASE, OURS, None, None), ("records/y.md", None, None, BASE, None)], {"records/y.md": OURS}, set()),
    "two moves that git did not see": (
        [(A, BASE, None, None, None), ("records/x.md", None, OURS, None, None), ("records/y.md", None, None, THEIRS, None)],
        {"records/x.md": OURS, "records/y.md": THEIRS},
        {(DamageKind.DUPLICATED, "records/y.md", JOINED)},
    ),
    "one event in another's file": (
        [(EVENT, event("was"), event("was"), None, None), (OTHER, None, None, event("next", OTHER_ID), None)],
        {EVENT: event("was"), OTHER: event("was")},
        {(DamageKind.WRONG_EVENT, OTHER, event("next", OTHER_ID))},
    ),
    "an event that a side deleted": ([(EVENT, event("was"), event("was"), None, None)], {}, set()),
    "a person's own note for a record": ([(A, BASE, OURS, None, None), ("x.md", None, None, PERSON, None)], {"x.md": PERSON + b"Ours.\n"}, {(DamageKind.LOST, A, OURS), (DamageKind.MIXED, "x.md", PERSON)}),
    "a record for a person's own note": ([("x.md", PERSON, PERSON + b"more\n", None, None), (A, None, None, THEIRS, None)], {A: THEIRS}, {(DamageKind.LOST, "x.md", PERSON + b"more\n")}),
    "a person's own note that was renamed and edited": ([("x.md", PERSON, PERSON + b"more\n", None, None), ("y.md", None, None, PERSON, None)], {"y.md": PERSON + b"more\n"}, set()),
    "a person's own note that both renamed": (
        [("x.md", PERSON, None, None, None), ("y.md", None, PERSON, None, None), ("z.md", None, None, PERSON + b"more\n", None)],
        {"y.md": PERSON + b"more\n", "z.md": PERSON + b"more\n"}, set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("case", REPAIRS)
def test_what_git_mixed_is_told_from_what_it_merged(case, swap) -> None:
    places, result, expected = REPAIRS[case]
    base, ours, theirs = sides_of(*places)
    sides = MergeSides(base, theirs, ours) if swap else MergeSides(base, ours, theirs)
    assert {(one.kind, one.path, one.data) for one in find_damage(sides, result, joins)} == expected


ids = ("a-aaaaaa", "b-bbbbbb", "c-cccccc")
versions = st.dictionaries(
    st.sampled_from([*(f"records/{id_}.md" for id_ in ids), "records/moved.md"]), st.tuples(st.sampled_from(ids), st.sampled_from(["one", "two", "three"])), max_size=4
)  # fmt: skip


def tree_of(notes_of: dict[str, tuple[str, str]]) -> dict[str, bytes]:
    """At most one file for each id, with a text that says whose it is."""
    found: dict[str, bytes] = {}
    for path, (id_, text) in sorted(notes_of.items()):
        if not any(notes.read(data).get("id") == id_ for data in found.values()):
            found[path] = record(id_, f"{text} of {id_}")
    return found


@given(versions, versions, versions, versions)
def test_after_a_repair_every_note_is_there_once_with_its_own_text(
    base, ours, theirs, result
) -> None:
    """Whatever git has made of three trees, even if the result has nothing to do with them."""
    sides = MergeSides(tree_of(base), tree_of(ours), tree_of(theirs))
    known = {id_ for tree in (base, ours, theirs) for id_, _ in tree.values()}
    made = {path: record(id_, text) for path, (id_, text) in result.items() if id_ in known}
    outcome = plan_repair(sides, made, MergeContext(joins, is_taken=lambda path: path in made))
    for action in outcome.actions:
        if isinstance(action, RemoveFile):
            made.pop(action.path, None)
        else:
            made[action.path] = action.data
    by_id: dict[str, list[bytes]] = {}
    for data in made.values():
        by_id.setdefault(notes.read(data).get("id"), []).append(data)
    for id_ in ids:
        held = [
            next((data for data in tree.values() if notes.read(data).get("id") == id_), None)
            for tree in sides
        ]
        was, one, other = held
        if (one is None and other is None) or (
            was is not None and was in (one, other) and None in (one, other)
        ):
            continue
        seen("a note to keep")
        assert len(by_id.get(id_, [])) == 1, id_
        if was in (one, other) and one != other:
            assert by_id[id_] == [one if other == was else other]
        elif one is not None and other is not None and one != other:
            continue  # git and its driver have merged it, or it was put together anew
    assert plan_repair(sides, made, MergeContext(joins)).actions == ()


LEFT_TO_PEOPLE = {
    "lines of a note of their own": ("mine.md", PERSON, PERSON, PERSON, MARKED),
    "their own note, deleted on one side": ("mine.md", PERSON, None, PERSON + b"more", PERSON),
    "their settings": ("cortex.toml", b"a", b"b", b"c", MARKED),
    "a link": ("records/a.md", b"x", b"y", b"z", None),
    "lines of a record": (A, BASE, OURS + b"same line", THEIRS + b"same line", OURS + b"same line"),
    "a record that somebody mended before we came": (
        A,
        BASE,
        OURS,
        THEIRS,
        record("a-aaaaaa", "Mended."),
    ),
}


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
    assert sum(marked_conflicts(text).values()) == count


@pytest.mark.parametrize(("markers", "heading"), [(7, 9), (9, 7)])
def test_a_heading_within_one_side_of_a_nested_conflict_is_no_middle_of_it(
    markers, heading
) -> None:
    ours = f"---\nid: one-aaaaaa\n---\n\nOne\n{'=' * heading}\n"
    theirs = "---\nid: two-bbbbbb\n---\n\nTwo\n"
    begin, middle, end = (sign * markers for sign in "<=>")
    text = f"{begin} HEAD:one.md\n{ours}{middle}\n{theirs}{end} main:two.md\n".encode()
    assert side_of_nested(text, 2) == ours.encode()
    assert side_of_nested(text, 3) == theirs.encode()
