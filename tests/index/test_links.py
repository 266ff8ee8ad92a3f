"""Edges of a whole vault: resolved when asked for, both ways round, and what leads nowhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.caller import no_progress
from cortex.core.model.problem import Problem
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.links import LinkGraph
from cortex.index.note_summary import summarize_note
from cortex.index.refresh import open_index
from cortex.index.state_file import open_catalogue
from cortex.operations.care.doctor import doctor
from cortex.vault.locate import Vault
from tests.conftest import commit_all

NOTES = """
=== records/decision/new-abcdef.md
---
id: new-abcdef
type: decision
relations:
  - {kind: supersedes, to: "[[old-abcdef]]"}
  - {kind: inspired_by, to: "[[Talk]]"}
---
See [[Talk]], [[Talk]] and [[new-abcdef#Why]].
=== records/decision/Old choice.md
---
id: old-abcdef
type: decision
status: superseded
superseded_by: new-abcdef
---
[[Talk]]
=== notes/Talk.md
Of [old](../records/decision/Old%20choice.md), [[new-abcdef]], [[old choice]] and [[not there yet]].
=== notes/deep/Talk.md
[[talk]]
"""


@contextmanager
def links_of(vault: Vault) -> Iterator[tuple[LinkGraph, Callable[[str], int]]]:
    """The links of a vault, and the number of the note at a path."""
    with open_index(vault, no_progress) as index:
        yield LinkGraph(index.catalogue), lambda path: index.catalogue.row_at(path).number


def test_edges_are_known_from_both_ends(vault_from) -> None:
    with links_of(vault_from(NOTES)) as (links, number):
        new, old, talk, deep = map(
            number,
            (
                "records/decision/new-abcdef.md",
                "records/decision/Old choice.md",
                "notes/Talk.md",
                "notes/deep/Talk.md",
            ),
        )
        assert links.outgoing(new) == [
            ("supersedes", "old-abcdef", old, 5),
            ("inspired_by", "Talk", talk, 6),
            ("links", "Talk", talk, 8),
            ("links", "new-abcdef", new, 8),
        ]
        assert [one[2] for one in links.outgoing(talk)] == [old, new, old, None]
        assert links.outgoing(deep) == [("links", "talk", deep, 1)]  # the one in its own folder
        assert sorted(links.incoming(old)) == sorted(
            [("supersedes", new, 5), ("links", talk, 1), ("links", talk, 1)]
        )
        assert ("superseded_by", old, 5) in links.incoming(new)
        assert links.incoming(deep) == [("links", deep, 1)]
        assert links.resolve("OLD-abcdef", talk) == links.resolve("decision/old choice.md") == old
        assert links.resolve("nothing", talk) is None
        assert links.in_degree() == {
            old: 2,
            talk: 1,
            new: 1,
        }  # a note that is set aside counts for nothing


def test_a_note_that_is_moved_or_renamed_keeps_its_relations(vault_from) -> None:
    vault = vault_from(NOTES)
    Path(vault.root, "elsewhere").mkdir()
    Path(vault.root, "records/decision/Old choice.md").rename(
        Path(vault.root, "elsewhere/Another name.md")
    )
    with links_of(vault) as (links, number):
        assert links.outgoing(number("records/decision/new-abcdef.md"))[0][2] == number(
            "elsewhere/Another name.md"
        )


def test_an_edge_is_said_once_in_the_direction_of_its_kind(vault_from) -> None:
    with links_of(vault_from(NOTES)) as (links, number):
        new, old = (
            number("records/decision/new-abcdef.md"),
            number("records/decision/Old choice.md"),
        )
        assert [
            (one.source, one.target) for one in links.edges_touching([old], {"supersedes"})
        ] == [(new, old)]
        assert {one.kind for one in links.edges_touching([new])} == {
            "supersedes",
            "inspired_by",
            "links",
        }


def test_what_one_is_the_source_of_is_derived_from_it_and_that_is_one_edge(vault_from) -> None:
    vault = vault_from(
        """
=== a.md
---
id: minutes-abcdef
relations: [{kind: source_of, to: "[[todo-abcdef]]"}]
---
=== b.md
---
id: todo-abcdef
relations: [{kind: derived_from, to: "[[minutes-abcdef]]"}]
---
"""
    )
    with links_of(vault) as (links, number):
        said = [(number("b.md"), "derived_from", number("a.md"))]
        assert (
            links.edges_touching([number("a.md"), number("b.md")])
            == links.edges_touching([number("a.md")], {"derived_from"})
            == said
        )
        assert [kind for kind, *_ in links.outgoing(number("a.md"))] == [
            "source_of"
        ]  # as the note has it


NAMES = ["a", "b", "x/a", "x/b", "y/a", "y/x/a", "id-1", "id-2"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES[:6]),
            st.sampled_from(["", "id-1", "id-2", "a"]),
            st.lists(st.sampled_from([*NAMES, "./a", "../a", "/x/a", "none"]), max_size=4),
        ),
        max_size=6,
        unique_by=lambda one: one[0],
    )
)
def test_what_leads_out_of_one_note_leads_back_from_the_other(tmp_path_factory, notes) -> None:
    folder = tmp_path_factory.mktemp("cache")
    with open_catalogue(str(folder), "new") as catalogue:
        for path, id_, targets in notes:
            front = f"---\nid: {id_}\n---\n" if id_ else ""
            catalogue.put_note(
                summarize_note(
                    f"{path}.md", (front + " ".join(f"[[{one}]]" for one in targets)).encode(), 0
                )
            )
        numbers = [row.number for row in catalogue.find(NoteFilter())]
        out = {
            (one, other)
            for one in numbers
            for _, _, other, _ in LinkGraph(catalogue).outgoing(one)
            if other is not None
        }
        back = {
            (one, other) for other in numbers for _, one, _ in LinkGraph(catalogue).incoming(other)
        }
        assert out == back
        whole = LinkGraph(catalogue).outgoing_by_note(numbers)
        assert {
            (one, edge[2]) for one, edges in whole.items() for edge in edges if edge[2] is not None
        } == out
        degrees: dict[int, int] = {}
        for one, other in out:
            if one != other:
                degrees[other] = degrees.get(other, 0) + 1
        assert LinkGraph(catalogue).in_degree() == degrees
        missing = {
            (one.note.number, one.edge.target)
            for one in LinkGraph(catalogue).list_missing_targets()
        }
        assert missing == {
            (one, edge[1]) for one, edges in whole.items() for edge in edges if edge[2] is None
        }


def problems(vault: Vault, caller) -> list[Problem]:
    return [
        one
        for one in doctor(vault, caller).problems
        if "no such note" in one.message or "more link" in one.message
    ]


DANGLING = """
=== records/decision/use-it-abcdef.md
---
id: use-it-abcdef
type: decision
relations:
  - {kind: refines, to: "[[keep-a-catalogue-m5d2xb]]"}
---
See [[keep-a-catalogue-m5d2xb]], [[gone]], [code](docs/design.md) and `[[quoted]]`.
=== records/decision/keep-a-catalogue-m5d2xa.md
---
id: keep-a-catalogue-m5d2xa
type: decision
---
=== mine.md
---
relations: [{kind: refines, to: nobody}]
---
[[an idea for later]]
"""


def test_doctor_explains_what_leads_nowhere_but_leaves_people_their_unwritten_notes(
    vault_from, caller
) -> None:
    found = problems(vault_from(DANGLING), caller)
    assert [(one.where, one.message) for one in found] == [
        ("mine.md:2", "says refines nobody; there is no such note"),
        (
            "records/decision/use-it-abcdef.md:5",
            "says refines keep-a-catalogue-m5d2xb, and links to it on line 7; there is no such note; did you mean keep-a-catalogue-m5d2xa?",
        ),
        ("records/decision/use-it-abcdef.md:7", "links to [[gone]], and there is no such note"),
        ("records/decision/use-it-abcdef.md:7", "links to docs/design.md, and there is no such note"),
    ]  # fmt: skip
    assert "cortex relate use-it-abcdef refines keep-a-catalogue-m5d2xb --remove" in found[1].hint
    assert "cortex mv keep-a-catalogue-m5d2xb keep-a-catalogue-m5d2xa" in found[1].hint
    assert found[2].hint == "take it out of records/decision/use-it-abcdef.md"


def test_of_a_record_that_git_knows_is_said_when_it_went_and_which_event_is_left(
    vault, caller, cortex, git
) -> None:
    event = cortex("capture", "Decision: use files").stdout.strip()
    cortex("normalize")
    (record,) = Path(vault.root, "records/decision").iterdir()
    Path(vault.root, "records/decision/b-abcdef.md").write_text(
        f"---\nid: b-abcdef\nrelations:\n  - {{kind: follows, to: {record.stem}}}\n---\n"
    )
    commit_all(vault.root, "one")
    git(vault.root, "rm", "-q", str(record))
    git(vault.root, "commit", "-qm", "a teammate deletes it")
    commit = git(vault.root, "rev-parse", "--short", "HEAD").strip()
    (found,) = problems(vault, caller)
    assert f"its file was removed in {commit} on " in found.message
    assert f"only its event {event} is left" in found.message
    assert f"cortex restore {record.stem}" in found.hint
    assert f"cortex show {event}" in found.hint
    assert git(vault.root, "status", "--porcelain", "records") == ""


def test_a_vault_full_of_dangling_links_is_told_in_a_hundred_lines(vault_from, caller) -> None:
    links = " ".join(f"[[gone-{number}]]" for number in range(150))
    found = problems(
        vault_from(f"=== records/decision/a-abcdef.md\n---\nid: a-abcdef\n---\n{links}\n"), caller
    )
    assert len(found) == 101
    assert found[-1].message == "and 50 more links to notes that are not there"


ELSEWHERE = """
=== a/one.md
---
id: one-abcdef
type: decision
relations: [{kind: refines, to: "[[a/x]]"}]
---
[gone](gone/y.md), [beside the vault](../../design.md), [there](two.md), [of the system](/etc/z.md), [site](https://x.org/y.md)
=== a/two.md
---
id: two-abcdef
type: decision
status: archived
relations: [{kind: follows, to: nobody}]
---
[[gone]] is no more a link that matters
=== b/x.md
another
"""


def test_a_path_means_its_place_and_what_is_set_aside_is_looked_at_too(vault_from, caller) -> None:
    assert [(one.where, one.message, one.hint) for one in problems(vault_from(ELSEWHERE), caller)] == [
        ("a/one.md:4", "says refines a/x; there is no such note; did you mean b/x.md?", "cortex mv a/x ./b/x.md changes every link; cortex relate one-abcdef refines a/x --remove takes the relation out"),
        ("a/one.md:6", "links to gone/y.md, and there is no such note", "take it out of a/one.md"),
        ("a/two.md:5", "says follows nobody; there is no such note", "cortex relate two-abcdef follows nobody --remove takes the relation out"),
    ]  # fmt: skip


def test_a_path_that_search_leaves_out_is_there_and_another_of_its_name_is_not(
    vault_from, caller
) -> None:
    vault = vault_from(ELSEWHERE + "=== hidden/x.md\ntext\n")
    Path(vault.root, "cortex.toml").write_text('format = 1\n[index]\nexclude = ["hidden/*"]\n')
    assert any("refines a/x" in one.message for one in problems(vault, caller))
    Path(vault.root, "a/one.md").write_text(
        Path(vault.root, "a/one.md").read_text().replace("a/x", "hidden/x")
    )
    assert not any("refines" in one.message for one in problems(vault, caller))


@pytest.mark.parametrize("topic", [["--topic", "decision/files"], []])
def test_what_its_events_can_make_again_is_offered(topic: list[str], vault, caller, cortex) -> None:
    saved = json.loads(
        cortex("save", "Use files", "--type", "decision", "--project", "p", *topic, "--json").stdout
    )
    Path(vault.root, "records/decision/b-abcdef.md").write_text(
        f"---\nid: b-abcdef\nrelations:\n  - {{kind: follows, to: {saved['id']}}}\n---\n"
    )
    Path(vault.root, saved["path"]).unlink()
    (found,) = problems(vault, caller)
    assert f"only its event {saved['event']} is left" in found.message
    assert f"cortex restore {saved['id']} brings it back" in found.hint
    assert cortex("restore", saved["id"]).returncode == 0
    assert problems(vault, caller) == []


PEOPLE = """
=== index.md
[[Weekly]], [[Weekly|again]] and [last](plans/Weekly.md)
=== other.md
[[weekly]] [[2026-11-21]] [[Meetng notes]] [[The plan]]
[[one]] [[two]] and [three](three.md)
=== plans/Weekly.md
# What we do every week
One text, long enough to be known again.
=== 2026-11-20.md
a day
=== Meeting notes.md
text
=== p.md
---
aliases: [The plan]
---
"""


def test_links_to_a_note_that_was_renamed_name_it_and_unwritten_notes_are_counted(
    vault_from, caller, cortex, git
) -> None:
    vault = vault_from(PEOPLE)
    plan = ("cortex mv 'Meetng notes' 'meeting notes'", "cortex mv 'The plan' ./p.md")
    commit_all(vault.root, "one")
    assert [one.hint.partition(" changes")[0] for one in problems(vault, caller)] == [*plan]
    (Path(vault.root) / "plans/Weekly.md").rename(Path(vault.root) / "plans/Our week.md")
    for after in (lambda: None, lambda: commit_all(vault.root, "a hand renames it")):
        after()
        first, *others = problems(vault, caller)
        assert first.where == "index.md:1"
        assert first.message == (
            "links to [[Weekly]], and there is no such note, as 2 more do; did you mean plans/Our week.md?"
        )
        assert first.hint.startswith("cortex mv Weekly './plans/Our week.md' changes every link")
        assert [one.hint.partition(" changes")[0] for one in others] == [*plan]
        assert doctor(vault, caller).unwritten == 4  # among them tomorrow's page
    done = cortex("mv", "Weekly", "./plans/Our week.md")
    assert "4 links in 2 files" in done.stdout
    assert len(problems(vault, caller)) == 2
    assert "4 links to notes that nobody has written yet" in cortex("doctor").stdout


def test_a_note_that_was_deleted_and_is_linked_to_is_told(vault_from, caller, git) -> None:
    vault = vault_from("=== index.md\n[[Old plan]] [[never there]]\n=== Old plan.md\ntext\n")
    commit_all(vault.root, "one")
    git(vault.root, "rm", "-q", "Old plan.md")
    git(vault.root, "commit", "-qm", "gone")
    (found,) = problems(vault, caller)
    assert found.message.startswith(
        "links to [[Old plan]], and there is no such note; its file was"
    )
    assert doctor(vault, caller).unwritten == 1
