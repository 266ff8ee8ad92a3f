"""Relations that people and agents say, take back and look at, by the command itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

NOTES = (
    "".join(
        f"=== records/decision/{name}-abcdef.md\n---\nid: {name}-abcdef\ntype: decision\ntitle: {json.dumps(title)}\nupdated: 2026-01-01T00:00:00Z\n---\n{text}\n"
        for name, title, text in [
            ("aa", 'The [first] "one" | #1', "See [[Home]]."),
            ("bb", "The second", "Of [[20261120t164512z-k3f7q2abcd]]."),
            ("cc", "The third", "Links to [[bb-abcdef]]."),
            ("dd", "Alone", ""),
        ]
    )
    + """=== Home.md
# Home
- [[cc-abcdef]]
=== events/2026/11/20261120t164512z-k3f7q2abcd.md
---
id: 20261120t164512z-k3f7q2abcd
type: manual
at: 2026-11-20T16:45:12Z
---

## Raw Content

text
"""
)


@pytest.fixture
def notes(vault_from):
    return vault_from(NOTES)


def text(vault, name: str) -> str:
    return Path(vault.root, f"records/decision/{name}-abcdef.md").read_text()


def answer(cortex, *words: str) -> dict:
    done = cortex(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_related_so_already_stays_as_it_is(notes, cortex):
    cortex("relate", "aa-abcdef", "relates_to", "bb-abcdef")
    before = text(notes, "aa"), text(notes, "bb")
    assert (
        answer(cortex, "relate", "aa-abcdef", "Relates-To", "bb-abcdef")["outcome"] == "unchanged"
    )
    assert (
        answer(cortex, "relate", "bb-abcdef", "relates_to", "aa-abcdef")["outcome"] == "unchanged"
    )
    assert (text(notes, "aa"), text(notes, "bb")) == before


def stated(source: str, kind: str, target: str) -> dict:
    return {"from": source, "kind": kind, "to": target, "strength": 1.0, "why": ""}


def test_what_the_other_note_says_in_the_inverse_word_is_related_so_already(notes, cortex):
    answer(cortex, "relate", "aa-abcdef", "source_of", "bb-abcdef")
    assert "\nsource_of: " in text(notes, "aa")  # a person's word stays
    before = text(notes, "aa"), text(notes, "bb")
    same = answer(cortex, "relate", "bb-abcdef", "derived_from", "aa-abcdef")
    assert (same["outcome"], same["path"]) == ("unchanged", "records/decision/aa-abcdef.md")
    assert answer(cortex, "relate", "aa-abcdef", "source_of", "bb-abcdef")["outcome"] == "unchanged"
    assert (text(notes, "aa"), text(notes, "bb")) == before
    edge = stated("bb-abcdef", "derived_from", "aa-abcdef")
    assert edge in answer(cortex, "graph", "aa-abcdef", "--depth", "1")["edges"]
    for kind in ("source_of", "derived_from"):
        assert answer(cortex, "graph", "aa-abcdef", "--depth", "1", "--kind", kind)["edges"] == [
            edge
        ]
    assert (
        answer(cortex, "relate", "aa-abcdef", "derived_from", "bb-abcdef")["outcome"] == "created"
    )  # the other way round
    assert (
        answer(cortex, "unrelate", "bb-abcdef", "derived_from", "aa-abcdef")["path"]
        == "records/decision/aa-abcdef.md"
    )


def test_an_inverse_name_turns_the_relation_round(notes, cortex):
    said = answer(cortex, "relate", "aa-abcdef", "superseded_by", "bb-abcdef")
    assert (said["from"], said["kind"], said["to"]) == ("bb-abcdef", "supersedes", "aa-abcdef")
    assert "cortex supersede aa-abcdef --by bb-abcdef" in said["hint"]
    assert "relations" not in text(notes, "aa")
    assert (
        answer(cortex, "unrelate", "aa-abcdef", "superseded_by", "bb-abcdef")["outcome"]
        == "removed"
    )
    assert "relations" not in text(notes, "bb")


def test_a_note_without_an_id_is_related_to_by_its_path(notes, cortex):
    assert answer(cortex, "relate", "bb-abcdef", "references", "Home")["to"] == "Home.md"
    assert '"[[Home]]"' in text(notes, "bb")
    assert answer(cortex, "graph", "bb-abcdef", "--kind", "referenced_by", "--depth", "1")[
        "edges"
    ] == [stated("bb-abcdef", "references", "Home.md")]


MISTAKES = [
    (("relate", "aa-abcdef", "refines", "aa-abcdef"), "cannot be related to itself"),
    (("relate", "aa-abcdef", "likes", "bb-abcdef"), "there is no kind of relation 'likes'"),
    (("relate", "aa-abcdef", "any", "bb-abcdef"), "refined_by; any goes with --remove alone"),
    (("relate", "aa-abcdef", "refine", "bb-abcdef"), "did you mean refines?"),
    (("relate", "aa-abcdef", "refines", "bb-abcdeg"), "did you mean bb-abcdef"),
    (("relate", "Home", "refines", "bb-abcdef"), "note of your own"),
    (("relate", "20261120t164512z-k3f7q2abcd", "refines", "bb-abcdef"), "never edited"),
    (("relate", "cc-abcdef", "supersedes", "aa-abcdef"), "cc-abcdef supersedes aa-abcdef supersedes bb-abcdef supersedes cc-abcdef"),
    (("unrelate", "aa-abcdef", "refines", "bb-abcdef"), "it says supersedes"),
    (("unrelate", "bb-abcdef", "refines", "aa-abcdef"), "cortex relate aa-abcdef supersedes bb-abcdef --remove"),
    (("unrelate", "aa-abcdef", "any", "nowhere"), "there is no note 'nowhere'"),
    (("graph", "aa-abcdef", "--depth", "0"), "1 to 10"),
    (("graph", "aa-abcdef", "--depth", "11"), "1 to 10"),
    (("graph", "aa-abcdef", "--kind", "likes"), "no note says a relation 'likes'"),
    (("graph", "aa-abcdeg"), "did you mean"),
]  # fmt: skip


def test_a_mistake_is_explained_and_changes_nothing(notes, cortex):
    for newer, older in (("aa", "bb"), ("bb", "cc")):
        cortex("relate", f"{newer}-abcdef", "supersedes", f"{older}-abcdef")
    before = [text(notes, name) for name in ("aa", "bb", "cc")]
    for words, message in MISTAKES:
        done = cortex(*words)
        assert done.returncode == 2, words
        assert message in done.stderr
    assert [text(notes, name) for name in ("aa", "bb", "cc")] == before


def test_any_takes_back_all_that_stands_between_two(notes, cortex):
    for words in (("aa-abcdef", "refines", "bb-abcdef"), ("bb-abcdef", "contradicts", "aa-abcdef"), ("aa-abcdef", "follows", "cc-abcdef")):  # fmt: skip
        cortex("relate", *words)
    assert (
        answer(cortex, "unrelate", "aa-abcdef", "any", "bb-abcdef")["kind"]
        == "refines, contradicts"
    )
    assert "follows" in text(notes, "aa")
    assert "relations" not in text(notes, "bb")


def test_a_relation_to_what_is_gone_can_be_taken_back_in_whichever_form_a_hand_wrote_it(
    notes, cortex
):
    file = Path(notes.root, "records/decision/dd-abcdef.md")
    file.write_text(
        "---\nid: dd-abcdef\nsupersedes: [gone-abcdef, aa-abcdef]\nrelations:\n  - {kind: Derived-From, to: '[g](gone-abcdef.md)', note: mine}\n---\nText\n"
    )
    assert (
        answer(cortex, "unrelate", "dd-abcdef", "derived_from", "gone-abcdef")["outcome"]
        == "removed"
    )
    assert (
        answer(cortex, "unrelate", "dd-abcdef", "supersedes", "gone-abcdef")["outcome"] == "removed"
    )
    assert (
        re.sub("updated: .*\n", "", file.read_text())
        == "---\nid: dd-abcdef\nsupersedes: [aa-abcdef]\n---\nText\n"
    )


def test_a_graph_goes_both_ways_and_shows_every_note_once(notes, cortex):
    cortex("relate", "aa-abcdef", "refines", "bb-abcdef")
    found = answer(cortex, "graph", "bb-abcdef", "--depth", "3")
    assert {"hits", "total", "edges"} < set(found)
    assert {(node["id"], node["depth"]) for node in found["hits"]} == {
        ("bb-abcdef", 0),
        ("aa-abcdef", 1),
        ("cc-abcdef", 1),
        ("Home.md", 2),
    }
    assert stated("aa-abcdef", "refines", "bb-abcdef") in found["edges"]
    assert cortex("graph", "bb-abcdef", "--depth", "3").stdout == (
        "The second  bb-abcdef\n"
        '├─ refined_by The [first] "one" | #1  aa-abcdef\n'
        "│  └─ links Home  Home.md\n"
        "└─ linked_from The third  cc-abcdef\n"
        "   └─ linked_from Home  Home.md (above)\n"
    )


def test_events_are_left_out_unless_one_is_asked_about(notes, cortex):
    assert all(
        "20261120t" not in node["id"] for node in answer(cortex, "graph", "bb-abcdef")["hits"]
    )
    found = answer(cortex, "graph", "20261120t164512z-k3f7q2abcd", "--depth", "1")
    assert [node["id"] for node in found["hits"]] == ["20261120t164512z-k3f7q2abcd", "bb-abcdef"]


def test_a_bound_is_kept_and_said(notes, cortex):
    found = answer(cortex, "graph", "bb-abcdef", "--depth", "10", "--number", "2")
    assert len(found["hits"]) == 2
    assert found["cut"] is True
    assert "only the nearest 2 are shown" in cortex("graph", "bb-abcdef", "--number", "2").stdout


def test_the_shortest_path_is_shown_and_none_is_said_with_exit_code_one(notes, cortex):
    found = answer(cortex, "graph", "aa-abcdef", "--to", "bb-abcdef")
    assert [node["id"] for node in found["hits"]] == [
        "aa-abcdef", "Home.md", "cc-abcdef", "bb-abcdef",
    ]  # fmt: skip
    assert found["edges"][0] == stated("aa-abcdef", "links", "Home.md")
    assert len(found["edges"]) == 3
    assert "└─ links Home" in cortex("graph", "aa-abcdef", "--to", "bb-abcdef").stdout
    for words in (("--to", "dd-abcdef"), ("--to", "bb-abcdef", "--depth", "2")):
        done = cortex("graph", "aa-abcdef", *words)
        assert done.returncode == 1
        assert done.stdout.startswith("no path from aa-abcdef to ")


def shared(cortex, *words: str) -> set[tuple[str, str, str, str]]:
    """Computed edges: from, kind, to and why."""
    edges = answer(cortex, "graph", *words)["edges"]
    return {(one["from"], one["kind"], one["to"], one["why"]) for one in edges if one["why"]}


def record(name: str, title: str, text: str = "", more: str = "") -> str:
    return (
        f"=== records/gotcha/{name}.md\n---\nid: {name}\ntype: gotcha\ntitle: {json.dumps(title)}\n"
        f"updated: 2026-01-01T00:00:00Z\n{more}---\n{text}\n"
    )


# Words in common with the first record, of ten: the five bands of seed 003.
WORDS = "apple bread cedar delta eagle fable grape house ivory jolly"
OTHER = "acorn birch cliff dusty ember frost glide hazel igloo jumbo"


@pytest.mark.parametrize(
    ("common", "others", "band"),
    [(1, 9, ""), (2, 8, "related"), (6, 4, "suggested"), (7, 3, "to consolidate"), (8, 2, "near-equal")],
)  # fmt: skip
def test_records_are_alike_in_five_bands(vault_from, cortex, common, others, band):
    text = " ".join(WORDS.split()[:common] + OTHER.split()[:others])
    vault_from(record("one", "A", WORDS) + record("two", "B", text))
    likeness = common / (10 + others)
    edges = [one for one in answer(cortex, "graph", "one")["edges"] if one["kind"] == "similar"]
    assert [one["why"] for one in edges] == [band] * bool(band)
    strengths = {"near-equal": 0.9}
    for one in edges:
        assert one["strength"] == pytest.approx(strengths.get(band, likeness), abs=0.05)


def test_step_two_is_not_step_six(vault_from, cortex):
    body = f"{WORDS}, step "
    vault_from(record("one", "One", body + "2") + record("two", "Two", body + "6") + record("three", "Three", body + "2"))  # fmt: skip
    assert shared(cortex, "one", "--depth", "1") == {
        ("one", "similar", "three", "near-equal"),
        ("one", "similar", "two", "to consolidate"),
    }


def test_what_names_the_same_thing_or_comes_from_one_session_is_connected(vault_from, cortex):
    vault_from(
        record("one", "First", "Flags come from github.com/spf13/viper.", "session: s1\n")
        + record("two", "Second", "Call func HandleSave.", "session: s1\n")
        + record("three", "Third", "Pin `github.com/spf13/viper@v1`, `HandleSave()` uses it.")
        + record("four", "Fourth", "Nothing to do with any of them.")
    )
    assert shared(cortex, "one", "--depth", "1") == {
        ("one", "similar", "three", "related"),
        ("one", "shares_entity", "three", "github.com/spf13/viper"),
        ("one", "same_session", "two", "s1"),
    }
    assert shared(cortex, "one", "--kind", "shares_entity") == {
        ("one", "shares_entity", "three", "github.com/spf13/viper"),
        ("three", "shares_entity", "two", "HandleSave"),
    }
    assert shared(cortex, "one", "--stated") == set()
    shown = cortex("graph", "one").stdout
    assert "├─ related 0.39, shares github.com/spf13/viper 0.50 Third  three" in shown
    assert "same session 0.30 Second  two" in shown
    assert '-.-|"same session"|' in cortex("graph", "one", "--mermaid").stdout
    path = answer(cortex, "graph", "one", "--to", "two", "--kind", "shares_entity")
    assert [node["id"] for node in path["hits"]] == ["one", "three", "two"]
    assert cortex("graph", "one", "--to", "two", "--stated").returncode == 1


def test_what_two_notes_state_stands_for_what_they_share(vault_from, cortex):
    vault_from(record("one", "One", WORDS) + record("two", "Two", f"{WORDS} of [[one]]"))
    assert shared(cortex, "one") == set()
    assert [one["kind"] for one in answer(cortex, "graph", "one")["edges"]] == ["links"]


def test_what_is_set_aside_is_like_nothing(vault_from, cortex):
    vault_from(
        record("one", "One", WORDS) + record("two", "Two", WORDS, "status: archived\n")
        + "=== meetings/three.md\n---\ntype: meeting\n---\n" + WORDS
    )  # fmt: skip
    assert shared(cortex, "one") == set()


def test_a_thing_that_everybody_names_connects_nobody(vault_from, cortex):
    names = " ".join(f"`name_{number}`" for number in range(3000))
    crowd = "".join(record(f"r{at}", f"Title {at}", f"`src/app.py` {'abcdefghijklmnopqrstuvwxyz'[at] * 9}") for at in range(26))  # fmt: skip
    vault_from(crowd + record("all", "All", names) + record("last", "Last", "of `name_7`"))
    assert shared(cortex, "r1", "--kind", "shares_entity") == set()
    assert shared(cortex, "last", "--kind", "shares_entity") == {
        ("all", "shares_entity", "last", "name_7")
    }


def test_a_mermaid_flowchart_has_no_mark_in_a_label_that_mermaid_would_read(notes, cortex):
    drawn = cortex("graph", "aa-abcdef", "--depth", "1", "--mermaid").stdout
    assert drawn == (
        'flowchart LR\n  n0["The #91;first#93; #34;one#34; #124; #35;1"]\n  n1["Home"]\n  n0 -.-> n1\n'
    )
    assert (
        answer(cortex, "graph", "aa-abcdef", "--depth", "1", "--mermaid")["mermaid"] + "\n" == drawn
    )


def test_who_mentions_a_thing(vault_from, cortex):
    vault_from(
        "=== one.md\nIn `src/app.py` and with @anna.\n=== two.md\nText\n\nIn lib/src/app.py, `useThing()`.\n"
        "=== three.md\n---\nstatus: deleted\n---\nIn `src/app.py`\n=== five.md\n---\nstatus: pruned\n---\nIn `src/app.py`\n=== four.md\nIn myapp.py and `usething()`\n"
    )
    found = answer(cortex, "entities", "APP.py")
    assert [(one["path"], one["line"]) for one in found["hits"]] == [("one.md", 1), ("two.md", 3)]
    assert [one["path"] for one in answer(cortex, "entities", "useThing")["hits"]] == ["two.md"]
    assert [one["path"] for one in answer(cortex, "entities", "@Anna")["hits"]] == ["one.md"]
    assert [
        (one["kind"], one["name"], one["line"])
        for one in answer(cortex, "entities", "--note", "two.md")["entities"]
    ] == [("file", "lib/src/app.py", 3), ("symbol", "useThing()", 3)]
    assert answer(cortex, "entities", "--kind", "person")["entities"] == [
        {"kind": "person", "name": "anna", "notes": 1, "line": 0}
    ]
    missing = cortex("entities", "src/ap.py")
    assert missing.returncode == 1
    assert "did you mean src/app.py" in missing.stdout
    assert cortex("entities", "--kind", "thing").returncode == 2


def test_a_relation_is_written_as_a_wikilink_and_taken_back_without_a_trace(notes, cortex):
    before = text(notes, "aa")
    made = answer(cortex, "relate", "aa-abcdef", "refines", "bb-abcdef")
    assert made["undo"] == "cortex relate aa-abcdef refines bb-abcdef --remove"
    told = (made["from"], made["kind"], made["to"], made["outcome"])
    assert told == ("aa-abcdef", "refines", "bb-abcdef", "created")
    assert answer(cortex, "relate", "aa-abcdef", "refines", "bb-abcdef")["undo"] == ""
    related = text(notes, "aa")
    assert 'refines: ["[[bb-abcdef]]"]\n' in related
    assert "updated: 2026-01-01" not in related
    gone = answer(cortex, *made["undo"].split()[1:])
    assert (gone["outcome"], gone["undo"]) == (
        "removed",
        "cortex relate aa-abcdef refines bb-abcdef",
    )
    assert re.sub("updated: .*", "", text(notes, "aa")) == re.sub("updated: .*", "", before)
    assert f"undo: {made['undo']}" in cortex(*gone["undo"].split()[1:]).stdout
    assert re.sub("updated: .*", "", text(notes, "aa")) == re.sub("updated: .*", "", related)


def test_what_no_relate_can_say_again_has_no_undo(notes, cortex):
    path = Path(notes.root, "records/decision/dd-abcdef.md")
    path.write_text(
        path.read_text().replace(
            "type:",
            "relations: [{kind: follows, to: nobody}, {kind: smells_like, to: aa-abcdef}]\ntype:",
        )
    )
    assert answer(cortex, "unrelate", "dd-abcdef", "follows", "nobody")["undo"] == ""
    assert answer(cortex, "unrelate", "dd-abcdef", "smells_like", "aa-abcdef")["undo"] == ""


@pytest.mark.parametrize("words", [
    ("graph", "aa-abcdef"),
    ("entities",),
    ("score", "aa-abcdef"),
    ("relate", "aa-abcdef", "refines", "bb-abcdef"),
    ("unrelate", "cc-abcdef", "refines", "bb-abcdef"),
])  # fmt: skip
def test_what_hinders_the_inbox_is_told(words, notes, cortex):
    cortex("relate", "cc-abcdef", "refines", "bb-abcdef")
    waiting = "inbox/pending/20261120t164513z-aaaaaaaaaa.md"
    Path(notes.root, waiting).parent.mkdir(parents=True, exist_ok=True)
    Path(notes.root, waiting).write_text("---\nid: [\n---\n")
    (problem, *_) = answer(cortex, *words)["problems"]
    assert "20261120t164513z-aaaaaaaaaa" in problem["where"]
