"""Minutes in the styles people write them, and what must not be taken for an action or a decision."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from cortex.core.markdown.bound import MAX_MINUTES_CHARS
from cortex.core.minutes.meeting import MeetingMinutes, parse_meeting
from cortex.core.minutes.outcomes import ActionItem, DecisionItem

CALENDAR = "\U0001f4c5"

WEEKLY = """\
# Weekly sync, storage team

**Date:** 2026-11-20
**Attendees:** Anna Schmidt, Bob (remote), @carla and Deniz

## Discussion

- The index took 40 s to build on Bob's machine.
  - Anna saw the same.
- We talked about moving the cache.

## Decisions

- Keep Whoosh for now because the rebuild is cheap.
- Cache lives outside the vault
  - Reason: a pull must not bring an index in
  - people clone vaults from strangers
- No release this week.

## Action items

- [ ] Anna: measure the cold start (2026-12-01)
- [x] Bob to open an issue about the walk.
- [ ] @carla write the migration note, due 2026-11-27
  - mention the lock
  - ask @deniz for a review
- Profile the scan (Deniz)

## Next meeting

- Thursday, same place
"""


def test_a_weekly_sync_with_headings_and_checkboxes() -> None:
    assert parse_meeting(WEEKLY) == MeetingMinutes(
        title="Weekly sync, storage team",
        date="2026-11-20",
        attendees=("Anna Schmidt", "Bob", "carla", "Deniz"),
        actions=(
            ActionItem("measure the cold start", "Anna", "2026-12-01", False, 22),
            ActionItem("open an issue about the walk", "Bob", "", True, 23),
            ActionItem(
                "write the migration note; mention the lock; ask @deniz for a review",
                "carla",
                "2026-11-27",
                False,
                24,
            ),
            ActionItem("Profile the scan", "Deniz", "", False, 27),
        ),
        decisions=(
            DecisionItem("Keep Whoosh for now", "the rebuild is cheap", 14),
            DecisionItem(
                "Cache lives outside the vault",
                "a pull must not bring an index in; people clone vaults from strangers",
                15,
            ),
            DecisionItem("No release this week", "", 18),
        ),
    )


PLAIN = """\
Meeting: Budget call with the printers
Date: 3 December 2026
Present: Maria, Tom & Jo

We went through the offer line by line. Tom thinks the paper is too thin.

Agreed: order 500 copies since the price doubles below that.
Decision: the cover stays blue
TODO: Maria to send the files by 2026-12-10
Action: call the second printer
 and ask for samples (Jo, 2026-12-05)
AI: Tom - check the ISBN
The next call is in January.
"""


def test_a_call_noted_in_plain_lines() -> None:
    assert parse_meeting(PLAIN) == MeetingMinutes(
        "Budget call with the printers",
        "2026-12-03",
        ("Maria", "Tom", "Jo"),
        (
            ActionItem("send the files", "Maria", "2026-12-10", False, 9),
            ActionItem(
                "call the second printer and ask for samples", "Jo", "2026-12-05", False, 10
            ),
            ActionItem("check the ISBN", "Tom", "", False, 12),
        ),
        (
            DecisionItem("order 500 copies", "the price doubles below that", 7),
            DecisionItem("the cover stays blue", "", 8),
        ),
    )


OBSIDIAN = f"""\
---
title: Design review
date: 2026-10-05
attendees: ["Eva", "Finn"]
tags: [meeting]
---
## Notes
Eva showed the new merge. `- [ ] not a task`

- [ ] Write the driver test [owner:: Finn] {CALENDAR} 2026-10-12
- [ ] Ask the users about rebase [due:: 2026-10-09] [owner:: Eva]
- [x] Draw the picture @eva {CALENDAR}2026-10-06
- not a task
    - [ ] but this is one - owner: Finn

```md
- [ ] nor this @finn
Decision: nor this
```

**Decided:** the driver exits 0. Reason: a failed merge stops the pull.
"""


def test_an_obsidian_note_with_tasks_anywhere() -> None:
    assert parse_meeting(OBSIDIAN) == MeetingMinutes(
        "Design review",
        "2026-10-05",
        ("Eva", "Finn"),
        (
            ActionItem("Write the driver test", "Finn", "2026-10-12", False, 10),
            ActionItem("Ask the users about rebase", "Eva", "2026-10-09", False, 11),
            ActionItem("Draw the picture", "eva", "2026-10-06", True, 12),
            ActionItem("but this is one", "Finn", "", False, 14),
        ),
        (DecisionItem("the driver exits 0", "a failed merge stops the pull", 21),),
    )


OUTLINE = """\
Team retro 2026-09-30
=====================

Participants:

- Anna
- Bob
- Chris Lee

**What went well**

- Tests: fast again

**Action items:**

* Anna
  * write down the release steps
  * Ask Bob about the runner
* Chris Lee: cut the log noise until 2026-10-15.
* Chris & Bob to pair on the flaky test

Resolved:

1. We stop the nightly build, because nobody reads it.
2. Docs move to the repo
"""


def test_an_outline_with_bold_lines_for_headings() -> None:
    assert parse_meeting(OUTLINE) == MeetingMinutes(
        "Team retro 2026-09-30",
        "2026-09-30",
        ("Anna", "Bob", "Chris Lee"),
        (
            ActionItem("write down the release steps", "Anna", "", False, 17),
            ActionItem("Ask Bob about the runner", "Anna", "", False, 18),
            ActionItem("cut the log noise", "Chris Lee", "2026-10-15", False, 19),
            ActionItem("pair on the flaky test", "Chris, Bob", "", False, 20),
        ),
        (
            DecisionItem("We stop the nightly build", "nobody reads it", 24),
            DecisionItem("Docs move to the repo", "", 25),
        ),
    )


GERMAN = """\
# Jour fixe
Datum: 20.11.2026
Teilnehmer: Jürgen, Zoë und Åsa

## Beschlüsse
- Wir bleiben bei Whoosh, weil der Neuaufbau billig ist

## Nächste Schritte
- Jürgen: Messung wiederholen bis 2026-12-01
- Zoë - Protokoll verschicken
"""


def test_minutes_in_german() -> None:
    assert parse_meeting(GERMAN) == MeetingMinutes(
        "Jour fixe",
        "2026-11-20",
        ("Jürgen", "Zoë", "Åsa"),
        (
            ActionItem("Messung wiederholen", "Jürgen", "2026-12-01", False, 9),
            ActionItem("Protokoll verschicken", "Zoë", "", False, 10),
        ),
        (DecisionItem("Wir bleiben bei Whoosh", "der Neuaufbau billig ist", 6),),
    )


PASTED = """\
Kick-off
Date: November 2, 2026
Attendees: Ines; Karl
---
Topics
• scope
• dates

Next steps:
• Ines to draft the plan (due 2026-11-09)
• Karl: book the room (owner: Karl, by 2026-11-05)
• @ines and @karl: agree on a name

Agreements:
– Weekly demo
– Plan first
"""


def test_minutes_pasted_from_a_word_processor() -> None:
    assert parse_meeting(PASTED) == MeetingMinutes(
        "Kick-off",
        "2026-11-02",
        ("Ines", "Karl"),
        (
            ActionItem("draft the plan", "Ines", "2026-11-09", False, 10),
            ActionItem("book the room", "Karl", "2026-11-05", False, 11),
            ActionItem("agree on a name", "ines, karl", "", False, 12),
        ),
        (DecisionItem("Weekly demo", "", 15), DecisionItem("Plan first", "", 16)),
    )


def action(text: str, attendees: str = "") -> ActionItem:
    """The one action of an item below a heading that means actions."""
    (found,) = parse_meeting(f"Attendees: {attendees}\n\n# Actions\n- {text}\n").actions
    return found


@pytest.mark.parametrize(("item", "text", "owner", "due"), [
    ("write docs", "write docs", "", ""),
    ("Anna: write docs", "write docs", "Anna", ""),
    ("**Anna:** write docs", "write docs", "Anna", ""),
    ("**Anna**: write docs", "write docs", "Anna", ""),
    ("[[Anna]]: write docs", "write docs", "Anna", ""),
    ("Anna - write docs", "write docs", "Anna", ""),
    ("Anna to write docs", "write docs", "Anna", ""),
    ("Jean-Luc and Ève to write docs", "write docs", "Jean-Luc, Ève", ""),
    ("@anna write docs", "write docs", "anna", ""),
    ("@anna and @bob: write docs", "write docs", "anna, bob", ""),
    ("write docs @anna.s", "write docs", "anna.s", ""),
    ("write docs (Anna)", "write docs", "Anna", ""),
    ("write docs (Anna, 2026-12-01)", "write docs", "Anna", "2026-12-01"),
    ("write docs (Anna) (2026-12-01)", "write docs", "Anna", "2026-12-01"),
    ("write docs - owner: Anna", "write docs", "Anna", ""),
    ("Anna: write docs [owner:: Anna]", "write docs", "Anna", ""),
    ("Anna: write docs [owner:: Bob]", "Anna: write docs", "Bob", ""),
    ("write docs due 2026-12-05 (2026-12-01)", "write docs (2026-12-01)", "", "2026-12-05"),
    ("write docs [owner:: Anna Schmidt]", "write docs", "Anna Schmidt", ""),
    ("ask @bob about docs", "ask bob about docs", "bob", ""),
    ("Anna: ask @bob about docs", "ask @bob about docs", "Anna", ""),
    ("write docs due 2026-12-01", "write docs", "", "2026-12-01"),
    ("write docs by 2026-12-01, really", "write docs, really", "", "2026-12-01"),
    ("write docs (due: 2026-12-01)", "write docs", "", "2026-12-01"),
    ("write docs [due:: 2026-12-01]", "write docs", "", "2026-12-01"),
    (f"write docs {CALENDAR} 2026-12-01", "write docs", "", "2026-12-01"),
    (f"write docs {CALENDAR}\ufe0f 2026-12-01", "write docs", "", "2026-12-01"),
    # near misses
    ("Migrate to uv", "Migrate to uv", "", ""),
    ("Reply to Bob", "Reply to Bob", "", ""),
    ("Note: the docs are late", "Note: the docs are late", "", ""),
    ("QA: write docs", "QA: write docs", "", ""),
    ("`@property` is slow", "`@property` is slow", "", ""),
    ("write docs (20261201)", "write docs (20261201)", "", ""),
    ("Write docs (optional)", "Write docs (optional)", "", ""),
    ("Write docs (Friday)", "Write docs (Friday)", "", ""),
    ("Write docs (Anna knows how)", "Write docs (Anna knows how)", "", ""),
    ("Open the page: it is empty", "Open the page: it is empty", "", ""),
    ("mail a@example.org", "mail a@example.org", "", ""),
    ("bump @types/node and `@property`", "bump @types/node and `@property`", "", ""),
    ("write docs due 2026-13-45", "write docs due 2026-13-45", "", ""),
    ("write docs (2026-02-30)", "write docs (2026-02-30)", "", ""),
    (f"write docs {CALENDAR} 2026-00-10", f"write docs {CALENDAR} 2026-00-10", "", ""),
    ("compare the run of 2026-12-01 with ours", "compare the run of 2026-12-01 with ours", "", ""),
    ("write docs...", "write docs...", "", ""),
])  # fmt: skip
def test_owner_and_due_are_read_and_taken_out(item: str, text: str, owner: str, due: str) -> None:
    found = action(item)
    assert (found.text, found.owner, found.due) == (text, owner, due)


@pytest.mark.parametrize(("item", "owner"), [
    ("anna schmidt: write docs", "anna schmidt"),
    ("write docs (anna)", "anna"),
    ("AS to write docs", "AS"),
    ("Test: write docs", "Test"),
])  # fmt: skip
def test_attendees_are_names_however_they_are_written(item: str, owner: str) -> None:
    found = action(item, "Anna Schmidt, AS, Test (the new one)")
    assert (found.text, found.owner) == ("write docs", owner)


@pytest.mark.parametrize(
    ("box", "done"), [("[ ] ", False), ("[x] ", True), ("[X] ", True), ("[-] ", True), ("", False)]
)
def test_a_checkbox_says_whether_it_is_done(box: str, done: bool) -> None:
    assert action(box + "write docs")[0::3] == ("write docs", done)


@pytest.mark.parametrize("heading", [
    "# Actions", "## Action Items:", "### TODO", "#### to do", "## Next steps", "## Follow-ups",
    "## Tasks (3)", "## 4. Action items", "## \u2705 Next Steps", "Action items\n---", "**Actions**",
    "To do:", "__Next steps:__", "## Aufgaben", "## Prochaines étapes", "## Próximos pasos",
])  # fmt: skip
def test_headings_that_mean_actions(heading: str) -> None:
    assert [
        each.text for each in parse_meeting(f"Sync\n\n{heading}\n\n- write docs\n").actions
    ] == ["write docs"]


@pytest.mark.parametrize("heading", [
    "## Actions taken", "## Next steps meeting", "## Task force", "## Todo app", "## Discussion", "**Notes**",
    "## Decisions and actions", "The actions below are done.",
])  # fmt: skip
def test_headings_that_do_not(heading: str) -> None:
    assert parse_meeting(f"Sync\n\n{heading}\n\n- write docs\n").actions == ()


def test_a_section_ends_at_the_next_heading_of_its_level_and_holds_deeper_ones() -> None:
    text = "# Sync\n## Actions\n- a\n### Backend\n- b\n## Lunch\n- c\n**Tasks:**\n- d\n\n**Other**\n- e\n"
    assert [each.text for each in parse_meeting(text).actions] == ["a", "b", "d"]


def test_a_list_item_can_be_the_heading_of_the_items_in_it() -> None:
    found = parse_meeting(
        "# Sync\n- Decisions\n  - use SQLite\n- Action items:\n  - write docs\n- Lunch\n  - at noon\n"
    )
    assert [each.text for each in found.actions] == ["write docs"]
    assert [each.text for each in found.decisions] == ["use SQLite"]


@pytest.mark.parametrize(("text", "actions", "decisions"), [
    ("# Decisions\n- [ ] write docs", ["write docs"], []),
    ("# Decisions\n- Action: write docs", ["write docs"], []),
    ("# Actions\n- Decision: use SQLite", [], ["use SQLite"]),
    ("# Actions\n- [x] Decided: use SQLite", [], ["use SQLite"]),
    ("# Actions\n- write docs\n  - Decision: in English\n  - [x] and short", ["write docs", "and short"], ["in English"]),
    ("# Decisions\n- use SQLite\n  - [ ] it is small", [], ["use SQLite"]),
    ("# Actions\n- Website\n  - add an index", ["Website; add an index"], []),
    ("# Actions\n- write docs\n  - due 2026-12-01", ["write docs"], []),
    ("Action: write docs\ntodo: read docs", ["write docs", "read docs"], []),
    ("# Actions\n- none\n- N/A\n- TBD\n-\n- [ ]\n", [], []),
    ("# Decisions\n- None.\n", [], []),
    ("> - [ ] quoted\n>\n> Decision: quoted too", ["quoted"], ["quoted too"]),
    ("Todo: write docs\nACTION (Anna): read docs\n**Action item:** sell docs", ["write docs", "read docs", "sell docs"], []),
    ("The decision: we wait.\nInaction: no\nAi: no\nUndecided: no", [], []),
    ("## Decision: use SQLite because it is there", [], ["use SQLite"]),
    ("    - [ ] indented code\n\n~~~\nTODO: fenced\n~~~\n<!--\n- [ ] hidden\n-->", [], []),
])  # fmt: skip
def test_one_item_is_one_thing(text: str, actions: list[str], decisions: list[str]) -> None:
    found = parse_meeting(text)
    assert [each.text for each in found.actions] == actions
    assert [each.text for each in found.decisions] == decisions


@pytest.mark.parametrize(("line", "text", "reason"), [
    ("use SQLite because it is small.", "use SQLite", "it is small"),
    ("use SQLite, because of its size", "use SQLite", "its size"),
    ("use SQLite (because it is small)", "use SQLite", "it is small"),
    ("use SQLite since it is small", "use SQLite", "it is small"),
    ("use SQLite. Reason: it is small", "use SQLite", "it is small"),
    ("use SQLite. **Reason:** it is small", "use SQLite", "it is small"),
    ("use what we use since 2019", "use what we use since 2019", ""),
    ("Because it is small we use SQLite", "Because it is small we use SQLite", ""),
    ("use SQLite\n  because it is small", "use SQLite", "it is small"),
    ("Reason: it is small", "Reason: it is small", ""),
])  # fmt: skip
def test_the_reason_of_a_decision(line: str, text: str, reason: str) -> None:
    assert parse_meeting(f"# Agreed\n- {line}\n").decisions == (DecisionItem(text, reason, 2),)


@pytest.mark.parametrize(("text", "title"), [
    ("", ""),
    ("# Meeting: Sync", "Sync"),
    ("Meeting: Sync\n\n# Notes of it", "Sync"),
    ("Some words first.\n\n# Sync", "Sync"),
    ("Sync with ACME\n\n## Action items\n- x", "Sync with ACME"),
    ("Sync with ACME\n\nFirst point:\n- x", "Sync with ACME"),
    ("Some words first.\nDate: 2026-01-02\n---\n\n# Sync", "Sync"),
    ("Date: 2026-01-02\nAttendees: A\n\n- [ ] write docs", "write docs"),
    ("**Sync**", "Sync"),
    ("# " + "word " * 40, "word " * 19 + "word"),
    ("# " + "x" * 200, "x" * 100),
    ("```\ncode\n```", ""),
])  # fmt: skip
def test_titles(text: str, title: str) -> None:
    assert parse_meeting(text).title == title


@pytest.mark.parametrize(("text", "date"), [
    ("Date: 2026-11-20", "2026-11-20"),
    ("# Sync 2026-11-20", "2026-11-20"),
    ("# Sync\n- **Date**: Nov. 20th, 2026, 10:00", "2026-11-20"),
    ("When: 20 November 2026", "2026-11-20"),
    ("date:: 2026/11/20", "2026-11-20"),
    ("Date: 2026-13-45", ""),
    ("Date: 11/12/2026", ""),
    ("Date: soon", ""),
    ("# Sync\nLast seen on 2026-11-20", ""),
    ("---\ndate: 2026-11-20\n---\n|What|Who|When|\n|-|-|-|\n|Print|Ana|2026-12-01|", "2026-11-20"),
    ("|Date|Place|\n|-|-|\n|2026-11-20|Room 2|", "2026-11-20"),
])  # fmt: skip
def test_dates(text: str, date: str) -> None:
    assert parse_meeting(text).date == date


def test_a_label_can_name_the_owner() -> None:
    assert parse_meeting("Action (Anna): write docs").actions == (
        ActionItem("write docs", "Anna", "", False, 1),
    )
    assert parse_meeting("Action (urgent): write docs").actions == (
        ActionItem("write docs", "", "", False, 1),
    )


def test_frontmatter_may_hold_lists() -> None:
    text = "---\ntitle: 'Sync'\nattendees:\n  - Anna\n  - Bob Lee\ndate: 2026-01-02\n---\nNotes:\n- AB to rest\n\n# Actions\n- Bob Lee to rest\n"
    assert parse_meeting(text) == MeetingMinutes(
        "Sync",
        "2026-01-02",
        ("Anna", "Bob Lee"),
        (ActionItem("rest", "Bob Lee", "", False, 12),),
        (),
    )


def test_an_attendee_can_be_the_heading_of_what_they_took_on() -> None:
    text = "With: nobody\nAttendees: Anna, Bob\n\nActions:\nAnna:\n- rest\n**Bob**\n- work\nLunch:\n- eat\n\n## Tasks\n### Bob\n- sleep\n## Anna\n- nope\n"
    assert [(each.owner, each.text) for each in parse_meeting(text).actions] == [
        ("Anna", "rest"),
        ("Bob", "work"),
        ("Bob", "sleep"),
    ]


def test_an_empty_item_hands_its_section_on() -> None:
    assert [each[0::4] for each in parse_meeting("# Actions\n-\n  - rest\n  - work\n").actions] == [
        ("rest", 3),
        ("work", 4),
    ]


def test_labels_end_the_item_above_them() -> None:
    found = parse_meeting(
        "Actions:\n- write docs\nDecision: use SQLite\n- read docs\nDecisions:\n- in English\nTODO: ask\n"
    )
    assert [(each.text, each.line) for each in found.actions] == [
        ("write docs", 2),
        ("read docs", 4),
        ("ask", 7),
    ]
    assert [(each.text, each.line) for each in found.decisions] == [
        ("use SQLite", 3),
        ("in English", 6),
    ]


def test_line_numbers_count_every_kind_of_line_end_and_the_frontmatter() -> None:
    assert [
        each.line for each in parse_meeting("---\r\na: b\r\n---\r\n\r\n- [ ] x\r\n- [ ] y").actions
    ] == [5, 6]
    assert [
        each.line for each in parse_meeting("\ufeff- [ ] x\n\n---\n\nfoo\nTODO: z").actions
    ] == [
        1,
        6,
    ]


lines = st.lists(
    st.sampled_from(
        [
            "# Actions",
            "## Decisions",
            "- [ ] ",
            "- x",
            "  - ",
            "    - y",
            "Action: ",
            "Decided: z",
            "> ",
            "```",
            "---",
            "",
            "@a",
            "(Anna)",
            "due 2026-12-01",
            "(2026-13-01)",
            "Anna to ",
            "owner: ",
            "because ",
            "[[",
            "**",
            "\t",
            "1. ",
            "<div>",
        ]
    )
    | st.text(max_size=8),
    max_size=14,
)


@given(lines, st.sampled_from(["\n", " ", ""]))
def test_any_text_is_read_and_what_is_found_stands_on_its_line(
    parts: list[str], joint: str
) -> None:
    text = joint.join(parts)
    found = parse_meeting(text)
    assert len(found.title) <= 100
    numbered = re.split(r"\r\n?|\n", text)
    spots = [(each.text, each.line) for each in found.actions] + [
        (each.text, each.line) for each in found.decisions
    ]
    assert len({line for _, line in spots}) == len(spots)
    for words, line in spots:
        assert words
        assert words == words.strip()
        assert line > 0
        assert re.split(r"\W", words)[0] in "\n".join(numbered[line - 1 :])


def test_no_more_than_the_limit_is_read() -> None:
    text = "- [ ] first\n\n" + "x" * MAX_MINUTES_CHARS + "\n\n- [ ] last\n"
    assert [each.text for each in parse_meeting(text).actions] == ["first"]
