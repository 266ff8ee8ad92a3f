"""Recall, timeline, context, actions and meetings: what is found again, in which order, and how much of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.text.iso_time import epoch_seconds
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.interfaces.call import Request
from cortex.interfaces.mcp.call import call_tool
from cortex.interfaces.mcp.tools import select_tools
from cortex.operations.find.actions import actions, meetings
from cortex.operations.find.hits import Hit
from cortex.operations.find.note_ranks import MAX_RANKED, select_for_ranking
from cortex.operations.find.recall import recall
from cortex.operations.find.timeline import timeline
from cortex.operations.records.capture import capture
from cortex.operations.records.save import save
from cortex.operations.sessions.context import context
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.state import access_log

NOW = "2026-11-20T16:45:12Z"


def record(
    id_: str, type_: str = "decision", day: str = "2026-11-01", body: str = "Because.", **more: str
) -> str:
    """A record as text for `vault_from`."""
    given = {"id": id_, "type": type_, "title": id_.replace("-", " "), "status": "active"}
    given |= {"scope": "project", "project": "p", "created": f"{day}T10:00:00Z"} | more
    lines = "".join(f"{key}: {value}\n" for key, value in given.items() if value)
    return f"=== records/{type_}/{id_}.md\n---\n{lines}---\n\n{body}\n"


def ids(answer) -> list[str]:
    hits = answer.hits if hasattr(answer, "hits") else answer.records.hits
    return [getattr(one, "hit", one).id for one in hits]


EVENT = """\
=== events/2026/11/20261119t164512z-aaaaaaaaaa.md
---
id: 20261119t164512z-aaaaaaaaaa
type: stop
at: 2026-11-19T16:45:12Z
project: p
---

## Raw Content

links again
"""


@pytest.fixture
def held(vault_from):
    """Two projects, a person's own note, something set aside, a session, an event."""
    return vault_from(
        "\n".join(
            [
                record("use-links", day="2026-11-10", tags="[area/files]"),
                record("old-gotcha", "gotcha", "2026-01-10", body="links break on one file system"),
                record("new-gotcha", "gotcha", "2026-11-19", project="q", tags="[area/files/temp]"),
                record("mine", "preference", "2026-11-18", project="", scope="personal"),
                record(
                    "gone",
                    day="2026-02-01",
                    status="superseded",
                    updated="2026-06-01T00:00:00Z",
                    superseded_at="2026-06-01T00:00:00Z",
                ),
                record(
                    "long-gone", day="2026-02-01", status="archived", updated="2026-03-01T00:00:00Z"
                ),
                record(
                    "retold",
                    day="2026-02-20",
                    project="r",
                    status="superseded",
                    superseded_at="2026-03-01",
                    updated="2026-08-01T00:00:00Z",
                ),
                record(
                    "write-docs",
                    "action",
                    "2026-11-01",
                    status="open",
                    due="2026-11-10",
                    owner="Ada",
                ),
                record("open-question", "question", "2026-11-15", status="open"),
                record("session-one", "session", "2026-11-15", status="done"),
                "=== journal/2026-11-19.md\nlinks, links and links in my own words",
                EVENT,
            ]
        )
    )


def test_without_a_query_current_records_come_by_their_rank(held, caller):
    found = ids(recall(held, caller))
    assert set(found) == {
        "use-links", "old-gotcha", "new-gotcha", "mine", "write-docs", "open-question",
    }  # fmt: skip
    assert found.index("use-links") < found.index("old-gotcha")
    assert [one.score for one in recall(held, caller).hits] == sorted(
        (one.score for one in recall(held, caller).hits), reverse=True
    )


SCOPED = [
    ({"scope": "project", "project": "q"}, ["new-gotcha"]),
    ({"scope": "area"}, ["mine"]),
    ({"scope": "area:files"}, ["new-gotcha", "use-links"]),
    ({"scope": "recent", "number": 2}, ["new-gotcha", "mine"]),
    ({"scope": "open"}, ["write-docs", "open-question"]),
    ({"scope": "open", "project": "q"}, []),
    ({"type": "gotcha,preference", "scope": "recent"}, ["new-gotcha", "mine", "old-gotcha"]),
    ({"type": "session"}, ["session-one"]),
    ({"since": "7d", "scope": "recent"}, ["new-gotcha", "mine", "open-question"]),
    ({"since": "2026-11-18", "scope": "recent"}, ["new-gotcha", "mine"]),
    ({"query": "links", "project": "p"}, ["use-links", "old-gotcha"]),
    ({"query": "type:gotcha links"}, ["old-gotcha"]),
    ({"query": "links", "scope": "open"}, []),
    ({"query": "status:open -docs", "scope": "recent"}, ["open-question"]),
]


@pytest.mark.parametrize(("asked", "expected"), SCOPED)
def test_scopes_and_filters(held, caller, worded, asked, expected):
    answer = worded(recall, held, caller, **asked)
    assert sorted(ids(answer)) == sorted(expected)
    if asked.get("scope") in ("recent", "open"):
        assert ids(answer) == expected
    assert bool(answer.hint) == (not expected)


def test_all_brings_peoples_own_notes_and_what_is_set_aside(held, caller):
    assert set(ids(recall(held, caller, all=True, number=50))) >= {
        "journal/2026-11-19.md", "gone", "long-gone", "session-one", "use-links",
    }  # fmt: skip
    assert "journal/2026-11-19.md" in ids(recall(held, caller, "links", all=True))
    assert not any(
        id_.startswith("20261119t") for id_ in ids(recall(held, caller, "links again", all=True))
    )


@pytest.mark.parametrize(("as_of", "expected"), [
    ("2026-01-09", set()),
    ("2026-01-10", {"old-gotcha"}),
    ("2026-02-10", {"old-gotcha", "gone", "long-gone"}),
    ("2026-05-01", {"old-gotcha", "gone"}),
    ("2026-06-01", {"old-gotcha"}),
    ("2026-11-10", {"old-gotcha", "use-links", "write-docs"}),
    ("2026-12-31", {"old-gotcha", "use-links", "write-docs", "open-question", "new-gotcha", "mine"}),
    ("10d", {"old-gotcha", "use-links", "write-docs"}),
])  # fmt: skip
def test_what_held_on_a_day(held, caller, worded, as_of, expected):
    assert set(ids(worded(recall, held, caller, as_of=as_of))) == expected
    assert set(ids(worded(recall, held, caller, query="gone links", as_of=as_of))) <= expected


def test_among_equal_words_the_rank_decides_and_words_come_before_it(vault_from, caller):
    vault = vault_from(
        record("plain-a", "note", body="zebra crossing")
        + record("plain-b", "note", body="zebra crossing", pinned="true", priority="10")
        + record("weighty", "decision", body="about something else", pinned="true", priority="10")
    )
    assert ids(recall(vault, caller, "zebra crossing")) == ["plain-b", "plain-a"]
    assert ids(recall(vault, caller)) == ["weighty", "plain-b", "plain-a"]
    for _ in range(40):
        access_log.append(vault, caller, "show", ["plain-a"])
    assert ids(recall(vault, caller, "zebra crossing")) == ["plain-a", "plain-b"]


def test_what_is_recalled_is_marked_as_used_and_what_is_not_is_not(held, caller):
    recall(held, caller, "links", project="p", number=1)
    timeline(held, caller, "mine")
    assert {id_: one.count for id_, one in access_log.read_counts(held).items()} == {
        "use-links": 1,
        "mine": 1,
    }


def test_a_preview_has_at_most_three_hundred_characters(vault_from, caller):
    vault = vault_from(record("long", body="many words " * 200))
    (one,) = recall(vault, caller).hits
    assert 200 < len(one.snippet) <= 301


def test_of_very_many_records_the_last_the_lasting_and_the_used_are_ranked(vault, caller):
    folder = Path(vault.root, "records")
    for number in range(MAX_RANKED + 50):
        text = f"---\nid: note-{number:04}\ntype: note\nproject: p\ncreated: 2026-10-{1 + number // 40:02}T10:00:00Z\n---\n\nx\n"
        (folder / f"note-{number:04}.md").write_text(text)
    (folder / "old.md").write_text(
        "---\nid: old\ntype: decision\nproject: p\ncreated: 2020-01-01T10:00:00Z\npinned: true\n---\n\nx\n"
    )
    access_log.append(vault, caller, "show", ["note-0000"])
    (folder / "shape.md").write_text(
        "---\nid: shape\ntype: architecture\nproject: p\ncreated: 2020-01-01T10:00:00Z\npriority: 10\n---\n\nx\n"
    )
    answer = recall(vault, caller, number=200)
    assert {"old", "note-0000"} <= set(ids(answer))
    assert answer.total == MAX_RANKED + 52
    assert ids(answer)[0] == "old"
    assert ids(context(vault, caller, project="p", number=100)) == ids(answer)[:100]
    held = query_index(
        vault,
        caller.progress,
        lambda index: [one.id for one in select_for_ranking(vault, index, NoteFilter(tiers=(0,)))],
    )
    assert {"old", "shape", "note-0000"} <= set(held)  # architecture endures too
    assert len(held) < MAX_RANKED


@pytest.mark.parametrize("wrong", [
    {"scope": "bogus"},
    {"scope": "meeting:"},
    {"since": "soon"},
    {"since": "7d x"},
    {"as_of": "2026-13-01"},
    {"number": 0},
    {"number": 10**6},
    {"query": "..."},
])  # fmt: skip
def test_what_cannot_be_asked_is_said(held, caller, worded, wrong):
    with pytest.raises(InvalidInputError) as refused:
        worded(recall, held, caller, **wrong)
    assert refused.value.hint


def test_the_neighbours_of_a_note_in_time(held, caller):
    answer = timeline(held, caller, "use-links", number=2)
    assert (answer.focus, ids(answer)) == (
        "use-links",
        ["long-gone", "write-docs", "use-links", "open-question", "session-one"],
    )
    assert ids(timeline(held, caller, "new-gotcha")) == ["new-gotcha"]
    assert ids(timeline(held, caller, "new-gotcha", all=True, number=2)) == [
        "mine",
        "journal/2026-11-19.md",
        "new-gotcha",
    ]
    with pytest.raises(NotFoundError, match="use-lynx"):
        timeline(held, caller, "use-lynx")


def test_a_timeline_is_of_the_times_at_which_notes_were_made(vault_from, caller):
    vault = vault_from(
        record("a", day="2026-01-01", updated="2026-11-01T00:00:00Z")
        + record("b", day="2026-01-02")
        + record("c", day="2026-01-03", body="word " * 300)
    )
    answer = timeline(vault, caller, "b")
    assert ids(answer) == ["a", "b", "c"]
    assert [len(one.snippet) <= 151 for one in answer.hits] == [True] * 3
    assert 400 < len(timeline(vault, caller, "c").hits[-1].snippet) <= 500
    assert ids(timeline(vault, caller, "b", number=1)) == ["a", "b", "c"]


def test_moments_count_and_not_how_they_are_written(vault_from, caller):
    written = {
        "a": "2026-11-01 09:00", "b": "2026-11-01T12:00:00+02:00", "c": "2026-11-01T11:00:00Z", "d": "2026-11-01T06:30:00-05:00",
        "e": "2026-11-01T12:00:00.5Z", "f": "2026-11-02",
    }  # fmt: skip
    vault = vault_from(
        "".join(record(id_, created=created) for id_, created in reversed(written.items()))
    )
    for name in written:
        assert ids(timeline(vault, caller, name)) == list("abcdef")


def test_a_moment_with_an_offset_is_held_on_the_day_that_was_written(vault_from, caller, worded):
    vault = vault_from(
        record("late", created="2026-11-01T23:30:00-02:00")
        + record("early", created="2026-11-02T00:30:00+02:00")
    )
    assert ids(worded(recall, vault, caller, as_of="2026-11-01")) == ["late"]


def test_notes_of_one_second_stand_in_one_order_around_each(vault_from, caller):
    vault = vault_from("".join(record(name) for name in "abcde"))
    for name in "abcde":
        assert ids(timeline(vault, caller, name)) == list("abcde")


def test_context_is_where_work_stood(held, caller, cortex):
    for number in range(7):
        when = caller._replace(now=f"2026-11-20T10:0{number}:00Z")
        of = {"session": f"s{number}", "project": "p"}
        capture(held, when, f"prompt {number} " + "and more " * 30, type="prompt", **of)
        capture(held, when, f"turn {number} moved the cart", type="stop", **of)
    capture(held, caller, "of another", type="prompt", session="x", project="q")
    answer = context(held, caller, project="p", number=3)
    assert [one.snippet for one in answer.sessions.hits] == [
        f"turn {number} moved the cart" for number in (6, 5, 4, 3, 2)
    ]  # fmt: skip
    assert [one.text[:8] for one in answer.prompts.hits] == [
        "prompt 6", "prompt 5", "prompt 4", "prompt 3", "prompt 2",
    ]  # fmt: skip
    assert all(len(one.text) <= 120 for one in answer.prompts.hits)
    assert ids(answer)[0] == "use-links"
    assert answer.figures == (4, 8, 7, 1)
    told = json.loads(cortex("context", "--project", "p", "--json").stdout)
    assert list(told) == "project branch sessions prompts records figures problems".split()


def test_records_of_the_branch_come_forward(vault_from, caller):
    vault = vault_from(record("a", branch="main") + record("b", branch="feat"))
    assert ids(context(vault, caller, project="p", branch="main")) == ["a", "b"]
    assert ids(context(vault, caller, project="p", branch="feat")) == ["b", "a"]


def test_a_project_of_which_nothing_is_known_has_an_empty_context(held, caller):
    answer = context(held, caller, project="new")
    assert answer[2:6] == (([], 0), ([], 0), ([], 0), (0, 0, 0, 0))


@pytest.fixture
def to_do(vault_from):
    return vault_from(
        "".join(
            record(id_, "action", status=status, due=due, owner=owner)
            for id_, status, due, owner in (
                ("undated", "open", "", "Ada"), ("later", "open", "2027-01-01", "ben"), ("late", "open", "2026-11-01", "Ada"),
                ("today", "open", "2026-11-20", "Ben"), ("later-today", "open", "2026-11-20T23:00:00Z", ""), ("odd", "open", "next week", "Ada"),
                ("later-still", "open", "2026-11-19", "Ada"), ("finished", "done", "2026-10-01", "Ada"), ("dropped", "archived", "2026-10-01", "Ada"),
            )
        )
    )  # fmt: skip


def test_actions_come_overdue_first_then_by_date_then_the_undated(to_do, caller):
    answer = actions(to_do, caller)
    assert ids(answer) == ["late", "later-still", "later-today", "today", "later", "odd", "undated"]
    assert [one.overdue for one in answer.hits] == [True] * 2 + [False] * 5
    assert {one.hit.id: one.due for one in answer.hits}["odd"] == "next week"
    assert ids(actions(to_do, caller, overdue=True)) == ["late", "later-still"]
    assert ids(actions(to_do, caller, owner="BEN")) == ["today", "later"]
    assert ids(actions(to_do, caller, done=True)) == ["finished"]
    first = actions(to_do, caller, number=1)
    assert (ids(first), first.total) == (["late"], 7)
    assert ids(actions(to_do, caller, project="q")) == []
    with pytest.raises(InvalidInputError):
        actions(to_do, caller, overdue=True, done=True)


MINUTES = "# Storage review {n}\n\n## Decisions\n\n- Use links {n}\n\n## Actions\n\n- [ ] Ada: write the record {n} (due 2026-12-01)\n- [x] Ben: measure {n}\n"


def test_meetings_and_what_came_of_them(vault, caller):
    for day in (18, 19):
        then = caller._replace(now=f"2026-11-{day}T10:00:00Z")
        capture(vault, then, MINUTES.format(n=day), type="meeting", project="p")
    answer = meetings(vault, caller)
    assert [one.hit.title for one in answer.hits] == ["Storage review 19", "Storage review 18"]
    assert [(one.open_actions, one.done_actions, one.decisions) for one in answer.hits] == [
        (1, 1, 1),
        (1, 1, 1),
    ]
    assert ids(meetings(vault, caller, since=1_795_046_400)) == ids(answer)[:1]
    assert meetings(vault, caller, number=1).total == 2
    one = recall(vault, caller, scope=f"meeting:{ids(answer)[0]}")
    assert [each.type for each in one.hits] == ["meeting", "decision", "action", "action"]
    assert all(each.title.endswith("19") for each in one.hits)
    assert ids(recall(vault, caller, scope="meetings")) == ids(answer)
    with pytest.raises(CortexError, match="no meeting"):
        recall(vault, caller, scope=f"meeting:{one.hits[1].id}")


def test_an_action_whose_task_is_ticked_counts_as_done(vault, caller):
    capture(vault, caller, MINUTES.format(n=1), type="meeting", project="p")
    normalize(vault, caller)
    (todo,) = actions(vault, caller).hits
    (held,) = meetings(vault, caller).hits
    path = Path(vault.root, held.hit.path)
    path.write_text(path.read_text().replace("- [ ] Ada", "- [x] Ada"))
    assert ids(actions(vault, caller)) == []
    done = {one.hit.id: one for one in actions(vault, caller, done=True).hits}
    assert (done[todo.hit.id].hit.status, done[todo.hit.id].ticked) == ("done", True)
    assert meetings(vault, caller).hits[0][-3:] == (0, 2, 1)
    assert ids(recall(vault, caller, scope="open")) == []


def test_lists_have_the_fields_of_search_in_json(held, caller, cortex):
    save(held, caller, "Use files", topic="decision/files", project="p")
    fields = {*Hit._fields}
    (found, *_) = json.loads(cortex("search", "use links", "--json").stdout)["hits"]
    assert set(found) == fields
    assert found["file"] == os.path.join(held.root, found["path"])
    assert found["date"] == "2026-11-10T10:00:00Z"
    for words in (["recall"], ["timeline", "mine"], ["context", "--project", "p"], ["actions"], ["session", "list"], ["topic"]):  # fmt: skip
        answer = json.loads(cortex(*words, "--json").stdout)
        first = (answer.get("hits") or answer["records"]["hits"])[0]
        assert set(first) >= fields, words


def test_what_a_person_sees(held, cortex):
    assert cortex("recall", "nothing of the kind").returncode == 1
    assert (
        "use links\n  decision  2026-11-10  use-links\n  Because."
        in cortex("recall", "links").stdout
    )
    assert (
        "> 2026-11-10  use links  decision  use-links\n    Because.\n"
        in cortex("timeline", "use-links").stdout
    )
    assert cortex("actions").stdout == "overdue since 2026-11-10  write docs  Ada  p  write-docs\n"
    assert cortex("meetings").stdout == "no such meetings\n"
    assert "what matters most\n  use links" in cortex("context", "--project", "p").stdout


def test_a_date_that_is_to_come_leads_nothing(vault_from, caller):
    made = "".join(
        f"=== records/{name}.md\n---\nid: {name}-abcdef\ntype: note\nupdated: {date}\n---\ntext\n"
        for name, date in (("b-future", "2099-01-01T00:00:00Z"), ("a-now", NOW))
    )
    vault = vault_from(made)
    for scope in ("", "recent"):
        assert [one.id for one in recall(vault, caller, scope=scope).hits] == [
            "a-now-abcdef",
            "b-future-abcdef",
        ]


def test_before_there_was_anything_no_save_is_asked_for(held, caller, worded):
    assert (
        worded(recall, held, caller, as_of="2020-01-01").hint
        == "no record was there by then: cortex recall --as-of 2026-11-20 shows what holds today"
    )


def test_an_action_is_ticked_by_a_link_in_any_note_and_only_an_action(vault_from, caller):
    vault = vault_from(
        "=== records/a.md\n---\nid: call-abcdef\ntype: action\nstatus: open\n---\ncall\n"
        "=== records/q.md\n---\nid: ask-abcdef\ntype: question\nstatus: open\n---\nask\n"
        "=== daily.md\n- [x] [[call-abcdef]]\n- [x] [[ask-abcdef]]\n"
    )
    assert ids(actions(vault, caller, done=True)) == ["call-abcdef"]
    assert [one.id for one in recall(vault, caller, scope="open").hits] == ["ask-abcdef"]


def test_a_tick_that_nobody_else_has_changes_no_briefing(vault_from, caller, git):
    vault = vault_from(
        "=== records/a.md\n---\nid: call-abcdef\ntype: action\nstatus: open\nproject: p\n---\ncall\n=== daily.md\n- [x] [[call-abcdef]]\n"
    )
    plan = Path(vault.root, "briefings/p/active-plan.md")
    git(vault.root, "init", "-q")
    git(vault.root, "add", "records")
    heal(vault, caller)
    assert (
        plan.read_text().index("## Open")
        < plan.read_text().index("[[records/a|")
        < plan.read_text().index("## Done")
    )
    assert ids(actions(vault, caller, done=True)) == ["call-abcdef"]
    git(vault.root, "add", "daily.md")
    heal(vault, caller)
    assert plan.read_text().index("## Done") < plan.read_text().index("[[records/a|")


@pytest.mark.parametrize("asked", ["path:\udcffx", "branch:\udcffx", "\udcffx", "tag:\udcffx"])
def test_a_filter_that_is_no_utf_8_finds_nothing_and_is_no_fault(held, caller, asked):
    assert recall(held, caller, asked).hits == ()
    assert recall(held, caller, asked, scope="recent").hits == ()


NEAR = (
    ("asked", "Parse flags with viper", "`github.com/spf13/viper` reads flags. See [[linked]].", ""),
    ("linked", "Where settings lie", "In the home folder, of [[far]].", ""),
    ("far", "Who may change the home folder", "Nobody else.", ""),
    ("shares", "Upgrade went wrong", "`github.com/spf13/viper` 1.8 drops comments.", ""),
    ("old", "Upgrade was fine", "`github.com/spf13/viper`.", "status: superseded\n"),
    ("lone", "Tea is served at four", "In the kitchen.", ""),
)  # fmt: skip


def test_a_recall_tells_what_stands_two_steps_away(vault_from, caller, cortex):
    vault = vault_from(
        "".join(
            f"=== records/gotcha/{name}.md\n---\nid: {name}\ntype: gotcha\ntitle: {title}\n"
            f"created: 2026-05-01T10:00:00Z\n{more}---\n{body}\n"
            for name, title, body, more in NEAR
        )
    )

    def near(query: str, **more: object) -> list[tuple[str, str, str]]:
        found = recall(vault, caller, query, **more).related
        assert found.total == len(found.hits)
        return [(one.hit.id, one.via, one.why) for one in found.hits]

    shared = ("shares", "asked", "shares github.com/spf13/viper")
    assert near("parse flags") == [("linked", "asked", "links"), ("far", "linked", "links"), shared]
    assert near("parse flags", number=1) == near("parse flags")
    shown = cortex("recall", "parse", "flags").stdout
    assert "connected to these" in shown
    assert "links: asked" in shown
    # What the query finds itself, what a filter leaves out, and what was asked of another day.
    assert shared not in near("parse upgrade")
    assert near("parse flags type:decision") == []
    assert near("parse flags", as_of=epoch_seconds("2026-06-01T00:00:00Z")) == []
    assert near("") == []


def test_a_relation_narrows_to_what_says_it(vault_from, caller):
    vault = vault_from(
        record("new-aaaaaa", supersedes="[[old-aaaaaa]]")
        + record("old-aaaaaa", status="superseded")
        + record("other-aaaaaa", relations='\n  - refines: "[[new-aaaaaa]]"')
        + record("apart-aaaaaa")
    )

    def ids(relation: str, **given: object) -> set[str]:
        return {one.id for one in recall(vault, caller, relation=relation, **given).hits}

    assert ids("supersedes") == ids("superseded_by") == {"new-aaaaaa"}
    assert ids("any:new-aaaaaa") == {"other-aaaaaa"}
    assert ids("any:new-aaaaaa", all=True) == {"other-aaaaaa", "old-aaaaaa"}
    assert ids("refines:new-aaaaaa") == {"other-aaaaaa"}
    assert ids("contradicts") == set()
    with pytest.raises(InvalidInputError) as caught:
        ids("supersede")
    assert "supersedes" in caught.value.hint
    with pytest.raises(NotFoundError):
        ids("any:nothing-there")


def test_salience_orders_by_kind_and_age(vault_from, caller):
    vault = vault_from(
        record("young-learning", "learning", "2026-11-20")
        + record("old-decision", "decision", "2026-01-01")
        + record("old-learning", "learning", "2026-01-01")
    )

    def ids(by: str) -> list[str]:
        return [one.id for one in recall(vault, caller, by=by).hits]

    assert ids("salience") == ["old-decision", "young-learning", "old-learning"]
    assert ids("date")[0] == "young-learning"
    assert ids("rank") == ids("")


def test_a_branch_is_that_of_the_working_directory_with_what_is_of_none(vault_from, caller, git):
    vault = vault_from(
        record("here-aaaaaa", branch="main")
        + record("there-aaaaaa", branch="side")
        + record("none-aaaaaa")
    )
    git(vault.root, "init", "-q", "-b", "side")
    here = caller._replace(cwd=vault.root)

    def ids(*branch: str) -> set[str]:
        return {one.id.partition("-")[0] for one in recall(vault, here, branch=branch).hits}

    assert ids(".") == {"there", "none"}
    assert ids("main") == {"here"}
    assert ids("main", ".") == ids("*") == ids() == {"here", "there", "none"}


# The archive


@pytest.fixture
def archive(vault_from):
    """Two records in the archive, one that is current, and what other words set aside."""
    return vault_from(
        "\n".join(
            [
                record("copper-roof", status="archived", updated="2026-10-01T00:00:00Z"),
                record("copper-pipes", "gotcha", status="archived", project="q", body="Green."),
                record("copper-wire", "gotcha", body="Red copper."),
                record("copper-pans", status="superseded"),
                record("copper-pots", status="pruned"),
                "=== copper note.md\n---\nstatus: archived\n---\nA page about copper.\n",
            ]
        )
    )


def archived(answer) -> list[str]:
    return [one.id for one in answer.archived]


def test_what_the_archive_has_of_the_words_is_named_with_the_command_that_restores_it(
    archive, caller, cortex
):
    answer = recall(archive, caller, "copper roof")
    assert ids(answer) == ["copper-wire"]
    assert [tuple(one) for one in answer.archived] == [
        ("copper-roof", "copper roof", "cortex restore copper-roof")
    ]
    both = ["copper-pipes", "copper-roof"]
    assert sorted(archived(recall(archive, caller, "copper"))) == both
    assert cortex("restore", "copper-roof").returncode == 0
    again = recall(archive, caller, "copper roof")
    assert (ids(again)[0], archived(again)) == ("copper-roof", [])


@pytest.mark.parametrize(("words", "options", "named"), [
    ("", {}, []),
    ("zinc", {}, []),
    ("copper", {"all": True}, []),  # it stands among the hits
    ("copper", {"as_of": epoch_seconds("2026-11-10T00:00:00Z")}, []),
    ("copper", {"project": "q"}, ["copper-pipes"]),
    ("copper", {"type": ("decision",)}, ["copper-roof"]),
    ("copper status:active", {}, []),
    ("what did we say of a copper roof over the house", {}, ["copper-roof"]),
])  # fmt: skip
def test_the_archive_is_asked_what_the_rest_is_asked(archive, caller, words, options, named):
    assert archived(recall(archive, caller, words, **options)) == named


def test_to_be_named_is_no_use_of_a_record(archive, caller):
    recall(archive, caller, "copper")
    assert access_log.read_counts(archive).keys() == {"copper-wire"}


def test_every_interface_names_what_the_archive_has(archive, caller, cortex):
    said = {"id": "copper-roof", "title": "copper roof", "command": "cortex restore copper-roof"}
    assert json.loads(cortex("recall", "copper", "roof", "--json").stdout)["archived"] == [said]
    line = "copper roof  cortex restore copper-roof"
    assert line in cortex("recall", "copper", "roof").stdout.splitlines()
    tools, request = select_tools(["recall", "restore"]), Request("/", "mcp", lambda: archive)
    answer = call_tool("recall", tools["recall"], {"query": "copper roof"}, request, tools)
    assert answer.content["archived"] == [said]
    line = 'copper roof  call restore(ids=["copper-roof"])'
    assert line in answer.text.splitlines()
