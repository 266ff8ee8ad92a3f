"""What people call a note: its title, file name or alias finds it first, and every verb takes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cortex.core.model.problem import AmbiguousNameError, InvalidInputError
from cortex.core.ranking import query as queries
from cortex.operations.find.search import search
from cortex.operations.find.show import show
from tests.conftest import NOW

NOTES = """
=== notes/PARA.md
Projects, areas, resources, archive.
=== notes/methods.md
# Methods of notes
PARA PARA PARA, and the zettelkasten method: zettelkasten, method, method.
=== notes/Zettelkasten.md
---
aliases: [Slip box, The "slip" method]
---
Small notes that link to each other.
=== notes/Über uns.md
# Who we are
=== languages/cpp.md
# A language
Templates of C++ are a language of their own. x
=== languages/cs.md
# Another language
LINQ in C# is a joy. x
=== languages/net.md
# Runtime
The .NET runtime; net income is another matter. x
=== languages/income.md
# Money
Net income of the net. x
=== records/decision/albums-of-photos-aaaaaa.md
---
id: albums-of-photos-aaaaaa
type: decision
title: Albums of photos are folders
scope: personal
topic: decision/albums
---
=== notes/Albums.md
All of them.
=== a/Index.md
# Index of a
=== b/Index.md
# Index of b
"""


@pytest.fixture
def known(vault_from):
    return vault_from(NOTES)


@pytest.mark.parametrize(("asked", "first"), [
    ("PARA", "notes/PARA.md"),
    ("para", "notes/PARA.md"),
    ('"PARA"', "notes/PARA.md"),
    ("zettelkasten", "notes/Zettelkasten.md"),
    ("slip-box", "notes/Zettelkasten.md"),
    ("the slip method", "notes/Zettelkasten.md"),
    ("who we are", "notes/Über uns.md"),
    ("u\u0308ber uns", "notes/Über uns.md"),
    ("Albums", "notes/Albums.md"),
    ("Albums of photos are folders", "records/decision/albums-of-photos-aaaaaa.md"),
])  # fmt: skip
def test_the_note_that_is_called_so_comes_first_and_opens(known, caller, asked, first) -> None:
    assert search(known, caller, asked).hits[0].path == first
    assert show(known, caller, asked.strip('"')).path == first


@pytest.mark.parametrize(
    "link",
    ["[[PARA]]", "[[notes/PARA]]", "[[para#Areas|the method]]", "[[PARA|x]]", "[[Slip box]]"],
)
def test_a_link_as_it_is_pasted_from_a_note_names_it(known, caller, link) -> None:
    assert show(known, caller, link).path in ("notes/PARA.md", "notes/Zettelkasten.md")


def test_a_filter_beside_the_title_counts(known, caller) -> None:
    hits = search(known, caller, "PARA path:methods").hits
    assert [one.path for one in hits] == ["notes/methods.md"]


def test_signs_tell_languages_apart(known, caller) -> None:
    assert [one.path for one in search(known, caller, '"C++"').hits] == ["languages/cpp.md"]
    assert [one.path for one in search(known, caller, "C#").hits] == ["languages/cs.md"]
    assert search(known, caller, "C++ x").hits[0].path == "languages/cpp.md"
    assert search(known, caller, "C# x").hits[0].path == "languages/cs.md"
    assert search(known, caller, ".NET").hits[0].path == "languages/net.md"


def test_a_path_is_read_from_the_working_directory_as_it_is_printed(known, cortex) -> None:
    notes = f"{known.root}/notes"
    printed = cortex("search", "-l", "zettelkasten", "method", cwd=notes).stdout.splitlines()
    assert printed == ["Zettelkasten.md", "methods.md"]
    above = os.path.dirname(known.root)
    for name, cwd in (
        ("methods.md", notes),
        ("./methods.md:2", notes),
        (f"{notes}/methods.md", "/"),
        (f"{os.path.basename(known.root)}/notes/methods.md", above),
        ("notes/methods.md", known.root),
        ("notes/methods.md", notes),
    ):
        done = cortex("--vault", known.root, "show", name, cwd=cwd)
        assert done.stdout.startswith("# Methods"), (name, cwd, done.stderr)


def test_an_ambiguous_name_lists_the_notes(known, caller, cortex) -> None:
    with pytest.raises(AmbiguousNameError) as raised:
        show(known, caller, "Index")
    assert [path for path, _ in raised.value.candidates] == ["a/Index.md", "b/Index.md"]
    done = cortex("show", "index")
    assert (done.returncode, done.stdout) == (2, "")
    assert "names 2 notes: a/Index.md, b/Index.md" in done.stderr


def test_on_a_terminal_it_is_asked_which_is_meant(known, terminal) -> None:
    assert "# Index of b" in terminal("show", "index", said="2\n")
    assert "names 2 notes" in terminal("show", "index", said="\n")


@pytest.mark.parametrize(("asked", "hint"), [
    ("staus:open", "did you mean status:open?"),
    ("tpye:decision x", "did you mean type:decision?"),
    ("-staus:open", "did you mean status:open?"),
    ("owner:ana", "cortex actions --owner NAME"),
    ("created:2026", "write after: and before:"),
])  # fmt: skip
def test_a_mistyped_filter_is_named_and_not_searched(asked, hint) -> None:
    with pytest.raises(InvalidInputError, match="there is no filter") as raised:
        queries.parse(asked, NOW)
    assert hint in raised.value.hint


def test_in_quotes_it_is_text_and_what_is_like_no_filter_is_a_word(known, caller) -> None:
    assert queries.parse('"staus:open"', NOW).terms[0].kind == "phrase"
    for words in ("std::vector", "localhost:8080", "https://example.org/x", "12:30"):
        assert queries.parse(words, NOW).unknown == ()
    result = search(known, caller, "foo:bar PARA")
    assert result.hits
    assert "foo: is no filter" in result.problems[0].message


def test_scope_topic_and_session_are_filters(known, caller) -> None:
    for asked in ("scope:personal", "topic:decision/albums", "tags:x,y type:decision"):
        hits = search(known, caller, asked).hits
        assert len(hits) == (0 if "tags" in asked else 1)


def test_filters_are_options_too(known, caller, cortex) -> None:
    assert [one.type for one in search(known, caller, type=("decision",)).hits] == ["decision"]
    listed = cortex("search", "-l", "--type", "decision,gotcha", "--after", "2000").stdout
    assert listed == "records/decision/albums-of-photos-aaaaaa.md\n"
    assert search(known, caller, "PARA", before=0).hits == ()


def test_without_words_the_newest_notes_are_listed(known, caller) -> None:
    for days, name in enumerate(["notes/PARA.md", "languages/cs.md"]):
        os.utime(Path(known.root, name), (4e9 - days, 4e9 - days))
    result = search(known, caller, number=2)
    assert [one.path for one in result.hits] == ["notes/PARA.md", "languages/cs.md"]
    assert result.total == 12


def test_mistyped_values_are_corrected_in_the_hint(known, caller) -> None:
    assert search(known, caller, "zetelkasten").corrected == {"zetelkasten": "Zettelkasten"}
    assert "did you mean decision?" in search(known, caller, "type:decison x").hint
    assert "did you mean decision?" in search(known, caller, "x", type=("decison",)).hint
    assert "did you mean" not in search(known, caller, "qqqqxyz").hint


def test_an_empty_vault_says_that_it_is_empty(vault, caller, cortex) -> None:
    assert "there is nothing to search yet" in search(vault, caller, "hello").hint
    assert "there is nothing to search yet" in cortex("search").stdout
