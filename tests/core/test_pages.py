"""Pages of item lines: the same for the same items, read back as they were written, merged by id without a conflict."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from cortex.core.briefing.pages import (
    GENERATOR_VERSION,
    PAGE_KINDS,
    BriefingPage,
    ItemLine,
    merge,
    parse_page,
    render_page,
)
from cortex.core.notes.note import read as read_note

PAGE = BriefingPage("branch", "app", "feature/x")
ids = st.sampled_from([f"note-{letter}" for letter in "abcdefgh"])
texts = st.sampled_from(
    [
        "2026-11-20 [[a|A]]: why",
        "2026-11-20 [[a|B]]: why",
        "2026-11-20 [[a|A]]: other",
        "2026-11-21 [[a|A]]: why",
        "plain",
        "(x) [[b]]",
    ]
)
item = st.builds(
    ItemLine,
    ids,
    st.sampled_from(["Sessions", "Decisions", "Gotchas"]),
    st.sampled_from(["20261120", "20261121", "0"]),
    texts,
)
version = st.lists(item, max_size=8, unique_by=lambda one: one.id).map(
    lambda items: render_page(PAGE, items).encode()
)


def page(*lines: str) -> bytes:
    """A decisions page with these items, given as `id text`."""
    return render_page(
        BriefingPage("decisions", "app"),
        [
            ItemLine(line.partition(" ")[0], "", "20261120", line.partition(" ")[2])
            for line in lines
        ],
    ).encode()


def test_a_page_reads_well_and_is_valid_as_a_note() -> None:
    text = render_page(
        BriefingPage("active-plan", "app"),
        [
            ItemLine("b", "Open", "2", "Later"),
            ItemLine("a", "Open", "1", "First [[x|X]]"),
            ItemLine("c", "Done", "9", "Was"),
        ],
    )
    assert text == (
        "---\ntype: briefing\npage: active-plan\nproject: app\ngenerator: 10\n---\n# Plan of app\n\n"
        "Open actions and steps by due date, then what is done. Change the record behind a line, not the line: `cortex heal` writes this page.\n\n"
        "## Open\n\n- First [[x|X]] <!-- cx a 1 -->\n- Later <!-- cx b 2 -->\n\n## Done\n\n- Was <!-- cx c 9 -->\n"
    )
    assert read_note(text.encode()).problems == ()


@pytest.mark.parametrize("kind", PAGE_KINDS)
def test_a_page_without_items_says_so(kind) -> None:
    assert "Nothing yet." in render_page(BriefingPage(kind, "app"), [])


@pytest.mark.parametrize("name", ["app", 'a "b" \\ c', "true", "über", "- x: y", "2026", "a\tb"])
def test_which_page_it_is_is_read_back(name) -> None:
    assert parse_page(render_page(BriefingPage("branch", name, name), [])).page == BriefingPage(
        "branch", name, name
    )


@pytest.mark.parametrize("header", ['project: "\\udce9"', "generator: " + "9" * 5000])
def test_a_header_that_asks_for_the_impossible_stops_no_merge(header) -> None:
    base, ours, theirs = (
        page(*lines).replace(b"project: app", header.encode())
        for lines in (["a A"], ["a A", "b B"], ["a A", "c C"])
    )
    assert merge(base, ours, theirs) == merge(base, theirs, ours)


@given(st.lists(item, max_size=8, unique_by=lambda one: one.id), st.randoms())
def test_the_order_in_which_items_come_makes_no_difference(items, chance) -> None:
    mixed = list(items)
    chance.shuffle(mixed)
    assert render_page(PAGE, mixed) == render_page(PAGE, items)
    assert set(parse_page(render_page(PAGE, items)).items) == set(items)


@given(version, version, version)
def test_the_laws_of_merging(base, ours, theirs) -> None:
    merged = merge(base, ours, theirs)
    assert merged == merge(base, theirs, ours)
    assert merge(base, ours, ours) == ours
    assert merge(base, base, theirs) == theirs == merge(base, theirs, base)
    assert render_page(PAGE, parse_page(merged.decode()).items).encode() == merged


@given(version, version, version)
def test_an_item_that_one_side_alone_touched_is_as_that_side_has_it(base, ours, theirs) -> None:
    was, mine, yours, now = (
        {one.id: one for one in parse_page(each.decode()).items}
        for each in (base, ours, theirs, merge(base, ours, theirs))
    )
    for id_ in {*was, *mine, *yours}:
        if mine.get(id_) == was.get(id_):
            assert now.get(id_) == yours.get(id_)


def test_what_both_sides_added_is_there_newest_first() -> None:
    assert (
        parse_page(merge(page("a A"), page("a A", "b B"), page("a A", "c C")).decode()).items
        == parse_page(page("a A", "b B", "c C").decode()).items
    )


def test_what_one_side_took_out_does_not_come_back_because_the_other_changed_it() -> None:
    assert merge(page("a A", "b B"), page("b B"), page("a A2", "b B")) == page("b B")


def test_a_line_that_both_sides_changed_is_one_sides_whole() -> None:
    """Else one person's title would stand with another one's reason, a decision that nobody took."""
    base, ours, theirs = (
        page(f"a 2026-11-20 {rest}")
        for rest in ("[[a|A]]: why", "[[a|B]]: why", "[[a|A]]: because")
    )
    assert merge(base, ours, theirs) == merge(base, theirs, ours) == ours


@given(version, version, version)
def test_every_line_of_a_merge_stands_in_one_of_the_sides(base, ours, theirs) -> None:
    lines = {*parse_page(ours.decode()).items, *parse_page(theirs.decode()).items}
    assert lines >= set(parse_page(merge(base, ours, theirs).decode()).items)


def test_a_page_of_a_newer_program_is_taken_whole() -> None:
    newer = re.sub(rb"generator: \d+", b"generator: %d" % (GENERATOR_VERSION + 1), page("a A"))
    assert merge(page(), page("b B"), newer) == newer == merge(page(), newer, page("b B"))


def test_conflict_markers_and_junk_are_passed_over() -> None:
    dirty = (
        page("a A", "b B")
        .replace(b"- B", b"<<<<<<< HEAD\n- B")
        .replace(b"- A", b"=======\n>>>>>>> x\n- A")
    )
    assert merge(page(), dirty, page("c C")) == page("a A", "b B", "c C")
    assert merge(b"", b"\xff\x00", b"junk") in (b"\xff\x00", b"junk")


def test_a_bounded_section_shows_its_newest() -> None:
    items = [
        ItemLine(f"s{number:02}", "Sessions", f"202611{number:02}", "x") for number in range(1, 26)
    ]
    kept = [one.id for one in parse_page(render_page(PAGE, items)).items]
    assert kept == [f"s{number:02}" for number in range(25, 15, -1)]
