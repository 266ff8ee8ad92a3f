"""What is found in a file before it is published: the secrets of the patterns, and how people write them down."""

from __future__ import annotations

import pytest

from cortex.core.redact.find_secrets import find_secrets

AWS = "AKIAIOSFODNN7" + "EXAMPLE"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"

# What it shows -> the file's name, its text, and the line that is named (0: the name).
SECRETS = {
    "a token in a sentence": ("a.md", f"one\ntwo {AWS} three", 2),
    "a token over two lines": ("a.md", f"key: {AWS[:9]}\n{AWS[9:]}", 1),
    "a quoted token over two lines": ("a.md", f"x\n> {GITHUB[:20]}\n> {GITHUB[20:]}", 2),
    "a token over three lines": ("a.txt", f"{GITHUB[:9]}\n{GITHUB[9:20]}\n{GITHUB[20:]}", 1),
    "a token over lines of a shell": ("a.md", f"  {GITHUB[:20]}\\\n{GITHUB[20:]}", 1),
    "a cell beside its name": ("a.md", "| Wi-Fi password | hunter22x |", 1),
    "a cell with marks": ("a.md", f"| **AWS secret** | `{AWS_SECRET}` |", 1),
    "a cell below its name": ("a.md", "| who | Password |\n|---|---|\n| ana | hunter22x |", 3),
    "a column of a list": ("p.csv", "site,user,password\nexample.com,ana,hunter22x", 2),
    "a column with a semicolon": ("p.csv", "name;pw\nana;tulip9river!", 2),
    "a value in the next line": ("a.md", "password:\n  hunter22x", 2),
    "a name of two words": ("a.md", "- **API key:** 9f8e7d6c9f8e7d6c9f8e", 1),
    "a short name": ("a.md", "wifi\npw = P4ssCSXqLoiv", 2),
    "a heading": ("a.md", "## Password\n\nhunter22x", 3),
    "a cell in quotes before it": ("p.csv", 'name,user,password\n"Mail, home",bob,P4ss3Vak1uDS', 2),
    "the name of the file": (f"keys/{AWS}.md", "nothing", 0),
}  # fmt: skip
PLAIN = {
    "a column of an option's words": ("a.md", "| Option | Token |\n|---|---|\n| a | required |"),
    "a list in prose": ("a.md", "Counts, tokens, costs\nwords, a1b2c3d4, more"),
    "code": ("a.md", "token:\n  getToken()\n"),
    "a heading": ("a.md", "## Password\n\nIt is in the safe."),
    "long words at the ends of lines": ("a.md", "internationalization\nelectroencephalography"),
    "a sum of a file": ("a.md", "md5 d41d8cd98f00b204e9800998ecf8427e"),
    "a UUID": ("a.md", "id 550e8400-e29b-41d4-a716-446655440000"),
}


@pytest.mark.parametrize("what", SECRETS)
def test_a_secret_is_found_with_its_line(what) -> None:
    name, text, line = SECRETS[what]
    assert [one.line for one in find_secrets(text, name)] == [line]


@pytest.mark.parametrize("what", PLAIN)
def test_what_is_none_is_left_alone(what) -> None:
    name, text = PLAIN[what]
    assert find_secrets(text, name) == []


def test_one_secret_is_told_once() -> None:
    text = f"{AWS}\npassword: hunter22x\n| password | hunter22x |"
    assert [one.line for one in find_secrets(text)] == [1, 2]
