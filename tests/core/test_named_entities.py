"""What is taken for a named thing, and what is prose."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.extract.named_entities import MAX_ENTITIES, find_entities
from cortex.core.markdown.scan import scan


def found(text: str) -> list[str]:
    return [f"{one.kind} {one.name}" for one in find_entities(text, scan(text))]


@pytest.mark.parametrize(("text", "expected"), [
    ("see src/app/main.py:12 and ./run.sh", ["file src/app/main.py", "file run.sh"]),
    ("main.py and **README.md**, not Node.js, a/*.py or p.m.", ["file main.py", "file README.md"]),
    ("in `main.py`, `README.md` and `Makefile`", ["file main.py", "file README.md", "file Makefile"]),
    ("at https://u:pw@Example.com/a_(b), and <https://x.org/>", ["url https://example.com/a_(b)", "url https://x.org"]),
    ("[a page](https://x.org/y?z=1#a)", ["url https://x.org/y?z=1#a"]),
    ("run `pip install whoosh==2.7.4 -U` or `npm i @types/node`", ["package whoosh", "package @types/node"]),
    ('`react@^18.2.0`, `rich==13.1` and `"left-pad": "^1.3.0"`', ["package react", "package rich", "package left-pad"]),
    ("```python\nimport yaml\nfrom a.b import c\nx = call_me()\n```", ["package yaml", "package a"]),
    ("```js\nimport x from 'react'; const y = require('@s/p/q'); import './own'\n```", ["package react", "package @s/p"]),
    ("`foo_bar`, `Links.resolve(a, b)` and `useState`", ["symbol foo_bar", "symbol Links.resolve()", "symbol useState"]),
    ("ask @anna, [[people/Bob Roe|Bob]] and (@c-d)", ["person anna", "person Bob Roe", "person c-d"]),
    ("set `CORTEX_VAULT`, $HOME or ${XDG_CACHE}", ["env_var CORTEX_VAULT", "env_var HOME", "env_var XDG_CACHE"]),
    ("with --no-verify, `git commit --amend`", ["cli_flag --no-verify", "cli_flag --amend"]),
    ("since v1.2.3-beta.1, not 2.7.4.", ["version v1.2.3-beta.1", "version 2.7.4"]),
    ("uses github.com/spf13/viper, @scope/package and golang.org/x/net.", ["package github.com/spf13/viper", "package @scope/package", "package golang.org/x/net"]),
    ("`github.com/spf13/viper/remote` and `@scope/package@1.2.0`", ["package github.com/spf13/viper", "package @scope/package"]),
    ("func HandleSave calls it, type Config holds it", ["symbol HandleSave", "symbol Config"]),
    ("`func (s *Store) HandleSave(ctx) error`, `type Config struct` and `def run`", ["symbol HandleSave", "symbol Config", "symbol run"]),
    ("src/auth/middleware.ts, internal/store/store.go", ["file src/auth/middleware.ts", "file internal/store/store.go"]),
    ("a TypeError, an EXDEV and AppException", ["error TypeError", "error EXDEV", "error AppException"]),
])  # fmt: skip
def test_a_thing_is_known_by_how_it_is_written(text: str, expected: list[str]) -> None:
    assert sorted(found(text)) == sorted(expected)


@pytest.mark.parametrize("text", [
    "and/or, he/she, 1.5/2.0, e.g. this. Then that. Node.js is not a file here.",
    "mail a@b.com, use `@Component` and @Scope/Name, buy it for $5",
    "on 2026.11.20 and 20.11.2026 from 10.0.0.1, chapter 3.1",
    "## 1.2.3 A section\n1.2.4 Another",
    "an Error, an Exception; word--with--dashes --- and -- more",
    "`App`, `a`, `some words of prose`, `x = 1`, `NAME`",
    "```\nfoo_bar() --flag src/a.py https://x.org $HOME\n```",
    "[a note](notes/some.md) ![x](img/a.png) [[Some note]] <!-- --no -->",
    "import the data from there, install it",
    "a type of record, the class that asks, fn key, def leppard, any type A, a subtype Config-like",
    "see www.github.com/a/b, my.github.com/a/b and github.com/about",
])  # fmt: skip
def test_prose_is_no_flood(text: str) -> None:
    assert [one for one in found(text) if one != "cli_flag --no"] == []


def test_a_thing_stands_once_with_the_line_of_the_file_where_it_is_named_first() -> None:
    text = "one\n`Main.py` and `main.py`\n\nCost @os of `import os`\n"
    assert [(one.name, one.key, one.line) for one in find_entities(text, scan(text), 10)] == [
        ("Main.py", "main.py", 11),
        ("os", "os", 13),
        ("os", "os", 13),
    ]


def test_a_note_names_no_more_than_its_share() -> None:
    assert len(found(" ".join(f"`name_{number}`" for number in range(1000)))) == MAX_ENTITIES


@given(st.text(alphabet="`@/.$-_:()[]'\" \nabAB1", max_size=200))
def test_any_text_can_be_read_and_every_name_has_a_line_in_it(text: str) -> None:
    for one in find_entities(text, scan(text), 1):
        assert one.name
        assert 1 <= one.line <= text.count("\n") + 1
