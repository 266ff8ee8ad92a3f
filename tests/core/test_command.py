"""A command to be copied: whatever stands in it, a shell reads the words that were meant, and a terminal shows what it is."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest
from hypothesis import given, settings, strategies as st

from cortex.core.text.strings import cortex_command, option_words, shell_quote
from cortex.interfaces.escape_terminal import escape

WORDS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))


@pytest.mark.parametrize(("word", "written"), [
    ("use-sqlite-k3f7q2", "use-sqlite-k3f7q2"),
    ("records/decision/a.md", "records/decision/a.md"),
    ("", "''"),
    ("x; touch pwned #", "'x; touch pwned #'"),
    ("it's", "'it'\"'\"'s'"),
    ("a\nb'c\\d", r"$'a\012b\'c\\d'"),
    ("می\u200cخواهم", r"$'می\342\200\214خواهم'"),
    ("name\udcff", r"$'name\377'"),
    ("\U000e0101", r"$'\363\240\204\201'"),
])  # fmt: skip
def test_a_word_is_quoted_where_it_needs_it(word: str, written: str) -> None:
    assert shell_quote(word) == written
    assert cortex_command("show", word) == f"cortex show {written}"


@given(st.lists(WORDS, max_size=5))
@settings(max_examples=200)
def test_a_line_is_one_line_that_is_shown_as_it_is(words: list[str]) -> None:
    told = cortex_command(*words)
    assert escape(told) == told
    if "$'" not in told:
        assert shlex.split(told) == ["cortex", *words]


def test_a_shell_reads_the_words_that_were_meant() -> None:
    words = [
        "".join(map(chr, range(start, start + 64))).replace("\0", "")
        for start in range(0, 0x3000, 64)
    ]
    words += [
        "\udcff\udc80",
        "\U000e0001\U000e0fff",
        "-x",
        "$(id) `id` $HOME ! ~ * ?",
        "\u202eabc\u202c",
    ]
    script = f"cortex() {{ printf '%s\\0' \"$@\"; }}\n{cortex_command(*words)}"
    said = subprocess.run(
        ["bash", "-c", os.fsencode(script)], capture_output=True, check=True, timeout=60
    ).stdout
    assert said.split(b"\0")[:-1] == [os.fsencode(word) for word in words]


def test_a_value_that_looks_like_an_option_is_bound_to_its_own() -> None:
    assert option_words("title", "--yes") == ("--title=--yes",)
    assert option_words("title", "One") == ("--title", "One")
    assert option_words("title", "") == ()
