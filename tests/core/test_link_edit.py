"""Links when a file is renamed: each leads where it led, in the form that it had, and no other byte changes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.problem import InvalidInputError
from cortex.core.model.relation import LinkCandidate, NameResolver
from cortex.core.notes.link_edit import Rename

HERE = ("Old.md", "a/Note.md", "b/Note.md", "a/img/p 1.png", "index.md", "a/b/c.md")


def rename(old: str, new: str, *more: str, ids: dict[str, str] | None = None) -> Rename:
    """A rename in a vault of these files; `ids` has those of records."""

    def names(paths: list[tuple[str, str]]) -> NameResolver:
        return NameResolver(
            LinkCandidate(0, path, (ids or {}).get(was, path)) for was, path in paths
        )

    paths = [*HERE, *more]
    before = [(path, path) for path in paths]
    after = [(path, new if path == old else path) for path in paths]
    return Rename(old, new, names(before), names(after))


def relinked(text: str, one: Rename, path: str = "a/Note.md", *, has_id: bool = False) -> str:
    data, _ = one.relink(text.encode("utf-8", "surrogateescape"), path, has_id=has_id)
    return data.decode("utf-8", "surrogateescape")


# text -> the same after Old.md became `b/New name.md`; in a note of the folder a.
FORMS = {
    "[[Old]] [[Old|shown]] [[Old#Part]] [[Old#^block]] ![[Old]]": "[[New name]] [[New name|shown]] [[New name#Part]] [[New name#^block]] ![[New name]]",
    "[[old]] and [[ Old ]] and [[Old.md]]": "[[New name]] and [[ New name ]] and [[New name.md]]",
    "[[/Old]] and [[../Old]]": "[[/b/New name]] and [[../b/New name]]",
    '[t](../Old.md#x "title") ![t](<../Old.md>)': '[t](../b/New%20name.md#x "title") ![t](<../b/New name.md>)',
    "[t](/Old.md) [t](Old.md)": "[t](/b/New%20name.md) [t](New%20name.md)",
    "[r] and [x][r]\n\n[r]: ../Old.md 'A title'\n": "[r] and [x][r]\n\n[r]: ../b/New%20name.md 'A title'\n",
    "| [[Old\\|x]] | [[Old]] |\n|--|--|\n| [[Old\\|y]] | b |": "| [[New name\\|x]] | [[New name]] |\n|--|--|\n| [[New name\\|y]] | b |",
    '---\nrelated: "[[Old]]"\nmore:\n  - "[[Old|x]]"\n  - \'[[Old]]\'\nbare: [[Old]]\n---\n': '---\nrelated: "[[New name]]"\nmore:\n  - "[[New name|x]]"\n  - \'[[New name]]\'\nbare: [[New name]]\n---\n',
    "\ufeff[[Old]]\r\nend \udce9\udcff [[Old]]": "\ufeff[[New name]]\r\nend \udce9\udcff [[New name]]",
    "> - [ ] do [[Old]] #tag\n>   [[Old]]": "> - [ ] do [[New name]] #tag\n>   [[New name]]",
}


@pytest.mark.parametrize("text", FORMS)
def test_a_link_keeps_its_form(text: str) -> None:
    assert relinked(text, rename("Old.md", "b/New name.md")) == FORMS[text]


@pytest.mark.parametrize(
    "text",
    [
        "`[[Old]]` and ``[t](../Old.md)``", "```\n[[Old]]\n```", "    [[Old]]", "%%[[Old]]%%", "%%\n[[Old]]\n%%", "<!-- [[Old]] -->",
        "<pre>\n[[Old]]\n</pre>", "\\[[Old]]", "[t](Old) [t](https://e.example/Old.md)", "---\n# related: [[Old]]\n---\nText", "[[Older]] [[Old/x]] [[Note]]",
    ],
)  # fmt: skip
def test_what_is_no_link_to_the_note_stays(text: str) -> None:
    one = rename("Old.md", "b/New.md")
    assert relinked(text, one) == text
    assert relinked(f"{text}\n\n[[Old]]", one) == f"{text}\n\n[[New]]"  # beside one that is


def test_a_name_that_two_notes_have_becomes_a_path() -> None:
    one = rename("Old.md", "c/d/Note.md")
    assert relinked("[[Old]] [t](../Old.md)", one) == "[[c/d/Note]] [t](../c/d/Note.md)"


def test_a_link_that_the_new_name_would_catch_is_kept_where_it_led() -> None:
    one = rename("a/b/c.md", "Note.md")  # a shorter path than those of the two that are there
    assert relinked("[[Note]]", one, "index.md") == "[[a/Note]]"
    assert relinked("[[Note]]", one, "b/Note.md") == "[[Note]]"  # itself, in its own folder


def test_a_move_keeps_short_links_and_changes_paths() -> None:
    one = rename("a/b/c.md", "z/c.md")
    text = "[[c]] [[a/b/c]] [[b/c]] [t](b/c.md)"
    assert relinked(text, one) == "[[c]] [[z/c]] [[z/c]] [t](../z/c.md)"


def test_links_in_a_note_that_moves_are_changed_where_they_would_break() -> None:
    one = rename("a/Note.md", "z/y/Note.md")
    text = "[t](b/c.md) ![](img/p%201.png) ![[p 1.png]] [[Old]] [[./b/c]] [t](Note.md#own) [](#own) [[ ]]"
    assert relinked(text, one) == (
        "[t](../../a/b/c.md) ![](../../a/img/p%201.png) ![[p 1.png]] [[Old]] [[../../a/b/c]] [t](Note.md#own) [](#own) [[ ]]"
    )


def test_an_attachment_is_renamed_too() -> None:
    one = rename("a/img/p 1.png", "img/p (2).png")
    assert relinked("![[p 1.png|100]] ![x](img/p%201.png)", one) == (
        "![[p (2).png|100]] ![x](../img/p%20%282%29.png)"
    )


def test_in_a_record_properties_link_by_id_and_text_by_name() -> None:
    one = rename("r/use-x-abcdef.md", "r/Use X.md", "r/use-x-abcdef.md", ids={"r/use-x-abcdef.md": "use-x-abcdef"})  # fmt: skip
    text = "---\nsupersedes: ['[[use-x-abcdef]]']\n---\n[[use-x-abcdef]]"
    assert relinked(text, one, has_id=True) == text.replace("\n[[use-x-abcdef]]", "\n[[Use X]]")
    assert relinked(text, one) == text.replace("[[use-x-abcdef]]", "[[Use X]]")


def test_a_change_of_case_or_of_accents_alone_is_one() -> None:
    assert relinked("[[Old]]", rename("Old.md", "old.md")) == "[[old]]"
    composed, parts = "Caf\u00e9.md", "Cafe\u0301.md"
    one = rename(composed, parts, composed)
    assert relinked("[[Caf\u00e9]] [[cafe\u0301]]", one) == "[[Cafe\u0301]] [[Cafe\u0301]]"


def test_a_name_that_would_be_read_as_something_else_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="its links to Old"):
        relinked("---\nx: [[Old]]\n---\n", rename("Old.md", "One, two.md"))
    quoted = relinked("---\nx: '[[Old]]'\n---\n", rename("Old.md", "Ana's.md"))
    assert quoted == "---\nx: '[[Ana''s]]'\n---\n"


PIECES = st.sampled_from(
    ["[[Old]]", "[t](../Old.md)", "`", "```\n", "%%", "<!--", "-->", "[[", "]]", "\n", "\r\n", "> ", "- ", "    ", "Zq0Zq", "Zqqq", "|", "\\", "[r]: ../Old.md", "[r]", "(", ")", "é", "\t", "a "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
def test_there_and_back_is_the_same_text(text: str) -> None:
    there = relinked(text, rename("Old.md", "New.md"))
    back = rename("New.md", "Old.md", "New.md")
    back = back._replace(before=rename("Old.md", "New.md").after, after=rename("x", "y").before)
    assert relinked(there, back) == text
    if not text.count("Old"):
        assert there == text
