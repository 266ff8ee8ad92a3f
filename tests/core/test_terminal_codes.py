"""Codes of a terminal are taken out of text, and no word with them."""

from __future__ import annotations

import pytest

from cortex.core.text.terminal_codes import strip_terminal_codes
from tests.conftest import cpu_limit


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a \\x1b[31m is written so", "a \\x1b[31m is written so"),
        ("\x1b[1mDecision:\x1b[0m \x1b[38;5;10mpin node\x1b[39m\x9b0m", "Decision: pin node"),
        ("see \x1b]8;;http://x\x07CI\x1b]8;;\x07 or \x1b]8;;y\x1b\\here\x1b]8;;\x1b\\", "see CI or here"),
        ("\x1b]0;title\x07\x1b(B\x1b7text\x1b8\x1bM\x1b=\x07", "text"),
        ("\x1b]a title without an end keeps\nits words", "a title without an end keeps\nits words"),
        ("\x1b[2K\x1b[1GDone\x1b", "Done"),
        ("one\r\ntwo\r\r\n\r\nthree\r\n", "one\ntwo\n\nthree\n"),
        ("10%\r20%\r100%\ndone", "100%\ndone"),
        ("⠋ Building\r⠙ Building\r\x1b[2Kdone in 2 s\n", "⠙ Building\ndone in 2 s\n"),
        ("spin\rspun\n", "spun\n"),
        ("a paste\rof three\rlines", "a paste\nof three\nlines"),
        ("a paste\rinto a line\nand another", "a paste\ninto a line\nand another"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("abd\bc\n\b\bd", "abc\nd"),
    ],
)  # fmt: skip
def test_the_text_is_what_a_terminal_would_leave(text, left):
    assert strip_terminal_codes(text) == left
    assert strip_terminal_codes(left) == left


def test_a_text_without_codes_is_the_same_object():
    text = "plain\n\ttext, größer"
    assert strip_terminal_codes(text) is text


@pytest.mark.parametrize(
    "part", ["\x1b]", "\x1b[", "\x1b[0", "\x9b", "a\b", "\r", "ab\r", "\x1bP0"]
)
def test_a_megabyte_of_codes_takes_no_long_time(part):
    with cpu_limit(5):
        strip_terminal_codes(part * (1_000_000 // len(part)) + "\n")
