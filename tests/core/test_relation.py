"""What a note says of other notes, and which note a name means."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.markdown.scan import scan
from cortex.core.model.relation import (
    LINK_KIND,
    RELATION_KINDS,
    Edge,
    LinkCandidate,
    NameResolver,
    basename_key,
    inverse_of,
    kind_of_inverse,
    link_key,
    link_names_of,
    normalize_kind,
)
from cortex.core.notes.note import read
from cortex.core.notes.relations import edges_of
from tests.conftest import cpu_limit


def edges(text: str, path: str = "records/decision/a.md") -> list[tuple[str, str, int]]:
    note = read(text.encode())
    return [
        (edge.kind, edge.target, edge.line)
        for edge in edges_of(note, scan(note.text, note.body_start_line))
    ]


RECORD = """\
---
id: a
relations:
  - {kind: supersedes, to: "[[b|the old one]]"}
  - {kind: supersedes, to: B}
  - {kind: Inspired by, to: "[the talk](talks/the%20talk.md#end)"}
  - refines: [x, "[[y#part]]"]
  - "[[plain]]"
  - {kind: follows}
  - 7
supersedes: [old-one, "[[old-two]]"]
superseded_by: newer
up: "[[Index#Top|home]]"
---
Text with [[b]] and [[b]], ![[c]] and
[a note](../x%20y.md "title").
"""


def test_every_form_in_which_people_say_a_relation_is_read_once_and_with_its_line() -> None:
    assert edges(RECORD) == [
        ("supersedes", "b", 4),
        ("inspired_by", "talks/the talk.md", 3),
        ("refines", "x", 7),
        ("refines", "y", 7),
        ("relates_to", "plain", 8),
        ("relates_to", "7", 10),
        ("supersedes", "old-one", 11),
        ("supersedes", "old-two", 11),
        ("superseded_by", "newer", 12),
        (LINK_KIND, "Index", 13),
        (LINK_KIND, "b", 15),
        (LINK_KIND, "c", 15),
        (LINK_KIND, "../x y.md", 16),
    ]


@pytest.mark.parametrize("text", [
    "[[#here]] [here](#here) [[#^block]]",
    "![[picture.PNG]] [[paper.pdf]] ![x](a.svg)",
    "[w](https://example.org/a.md) <https://example.org/b.md> [m](mailto:a@b.md) [p](//host/a.md)",
    "[code](../src/main.py) [a folder](guide/) [a page of a site](/en/guide)",
    '[[ -f "$file" ]] and [[ $a == b ]]',
    "`[[code]]`\n\n```\n[[fence]]\n```\n\n%% [[comment]] %%",
])  # fmt: skip
def test_what_leads_to_no_note_is_no_edge(text: str) -> None:
    assert edges(text) == []


@pytest.mark.parametrize(("text", "target", "key"), [
    ("[[20261120t164512z-k3f7q2abcd]]", "20261120t164512z-k3f7q2abcd", "20261120t164512z-k3f7q2abcd"),
    ("[[Sub/Note.md|n]]", "Sub/Note", "note"),
    ("[[Node.js]]", "Node.js", "node.js"),
    ("[n](Sub/Note.md)", "Sub/Note.md", "note"),
    ("[[Cafe\u0301]]", "Cafe\u0301", "caf\u00e9"),
])  # fmt: skip
def test_a_target_stays_as_written_and_its_key_is_folded(text: str, target: str, key: str) -> None:
    note = read(text.encode())
    assert edges_of(note, scan(note.text)) == (Edge(LINK_KIND, target, key, 1),)


def test_a_note_is_called_by_its_id_its_path_and_its_file_name() -> None:
    assert link_names_of("use-it-abcdef", "records/decision/Use it.md") == (
        ("use-it-abcdef", 0),
        ("records/decision/use it", 1),
        ("use it", 2),
    )
    assert link_names_of("x-abcdef", "records/x-abcdef.md") == (
        ("x-abcdef", 0),
        ("records/x-abcdef", 1),
    )
    assert link_names_of("Home.md", "Home.md") == (("home", 2),)


NOTES = [
    LinkCandidate(1, "index.md", "index.md"),
    LinkCandidate(2, "b/index.md", "b/index.md"),
    LinkCandidate(3, "a/index.md", "a/index.md"),
    LinkCandidate(4, "a/deep/index.md", "a/deep/index.md"),
    LinkCandidate(5, "records/INDEX.md", "an-id-abcdef"),
    LinkCandidate(6, "records/moved.md", "index"),
]


@pytest.mark.parametrize(("name", "folder", "number"), [
    ("index", "a", 6),  # an id, wherever the note lies
    ("INDEX", "b", 6),
    ("an-id-ABCDEF", "", 5),
    ("a/index", "", 3),
    ("deep/index", "", 4),
    ("deep/index.md", "a", 4),
    ("./index", "b", 2),
    ("../index.md", "a/deep", 3),
    ("../../../index", "a", None),
    ("/index", "a", 1),
    ("/b/index", "a", 2),
    ("nowhere/index", "a", None),
])  # fmt: skip
def test_a_name_means_the_note_that_obsidian_would_open_and_ids_beat_everything(
    name: str, folder: str, number: int | None
) -> None:
    one = NameResolver(NOTES).resolve(name, folder)
    assert (one.number if one else None) == number


@pytest.mark.parametrize(
    ("folder", "number"), [("a", 3), ("b", 2), ("elsewhere", 1), ("a/deep", 4)]
)
def test_of_equal_names_the_one_in_the_same_folder_then_the_shortest_path_is_meant(
    folder: str, number: int
) -> None:
    one = NameResolver(NOTES[:5]).resolve("index", folder)
    assert one is not None
    assert one.number == number


def test_a_name_is_found_among_thousands_of_notes_of_one_file_name() -> None:
    called = [
        LinkCandidate(at, f"site/part-{at}/index.md", f"site/part-{at}/index.md")
        for at in range(4000)
    ]
    with cpu_limit(1):
        bearers = NameResolver(called)
        meant = [bearers.resolve(f"part-{at}/index", "elsewhere") for at in range(4000)]
        assert [one and one.number for one in meant] == list(range(4000))
        assert (
            bearers.resolve("art-7/index", "elsewhere") is None
        )  # a whole part of the path, not some of its letters


def test_every_kind_has_an_inverse_name_that_turns_back() -> None:
    for kind, inverse in RELATION_KINDS.items():
        assert inverse_of(kind) == inverse
        assert inverse in RELATION_KINDS or kind_of_inverse(inverse) == kind
        assert bool(kind_of_inverse(kind)) == (
            kind == "source_of"
        )  # which people write, and which says what derived_from says at the other end
    assert normalize_kind(" Relates-To ") == "relates_to"
    assert inverse_of("inspired_by") == ""


@given(st.text(max_size=60))
def test_a_key_is_the_same_however_often_it_is_made(name: str) -> None:
    assert link_key(link_key(name)) == link_key(name) or name.casefold().endswith(".md.md")
    assert "/" not in basename_key(name)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
        ),
    )
)
def test_no_frontmatter_stops_the_reading(value: object) -> None:
    note = read(b"---\nid: a\n---\n")._replace(
        fields={"relations": value, "supersedes": value, "superseded_by": value, "x": value}
    )  # type: ignore[dict-item]
    edges_of(note, scan(""))
