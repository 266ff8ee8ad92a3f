"""What is told of a file of source code, in each language, and how its code is kept."""

from __future__ import annotations

import time

import pytest

from cortex.core.extract import code_units
from cortex.core.extract.code_units import LANGUAGE_OF_ENDING, SOURCE_RE, code_notes
from cortex.core.markdown.scan import scan
from cortex.core.model.note_status import CODE_TYPES, RAW_CODE

PYTHON = '''"""Carts. They live a day.

More of them.
"""
import os

LIMIT = 3


@frozen
class Cart(Base):
    """What somebody wants to buy."""

    def total(self, *, tax: float = 0.2) -> int:
        """The sum, in cents.

        With tax.
        """
        return 1


async def ship(cart: Cart):
    # no docstring
    await send(cart)
    return None


def short(): return 1
'''
SAMPLES = {
    "javascript": """// Waits and retries.

/** Try again. @param {Function} f */
export async function retry(f) {
  if (f) {
    return f();
  }
}

export const later = async (ms) => {
  await sleep(ms);
  return ms;
};

class Queue extends Base {
  push(one) {
    this.all.push(one);
  }
}
""",
    "typescript": "export interface Shape {\n  a: number;\n  b: string;\n}\n\nexport type Id<T> = string;\n",
    "go": "// Package cache keeps things.\npackage cache\n\n// Get finds one.\nfunc (c *Cache) Get(key string) (int, bool) {\n\tif true {\n\t\treturn 1, true\n\t}\n\treturn 0, false\n}\n\ntype Cache struct {\n\tm map[string]int\n}\n",
    "rust": "/// A pile.\n#[derive(Debug)]\npub struct Pile<T> {\n    all: Vec<T>,\n}\n\nimpl<T> Pile<T> {\n    /// Puts one on top.\n    pub fn push(\n        &mut self,\n        one: T,\n    ) {\n        self.all.push(one);\n    }\n}\n",
    "java": "package a;\n\n/** Greets. */\npublic class Hello {\n    private int count;\n\n    /** Says it. */\n    @Override\n    public String say(String name) {\n        return name;\n    }\n}\n",
    "c": "#include <stdio.h>\n\n/* Adds two. */\nstatic int add(int a,\n               int b)\n{\n    return a + b;\n}\n\nint proto(int);\n\nstruct point {\n    int x;\n};\n",
    "cpp": "namespace shop {\n\nclass Cart {\n public:\n  int total() const;\n};\n\n}\n\nint shop::Cart::total() const {\n  int sum = 0;\n  return sum;\n}\n",
    "ruby": "# A cart.\nclass Cart\n  # Its sum.\n  def total(tax = 1)\n    1\n  end\nend\n",
    "shell": "#!/bin/sh\n# Build it all.\n\n# Cleans up.\nclean() {\n  rm -rf out\n  echo done\n}\nfunction main {\n  clean\n}\n",
}  # fmt: skip
TOLD = {
    "javascript": ["retry(f)` (3–8): Try again.", "later = async (ms) =>` (10–13)", "class Queue", "  - `push(one)` (16–18)"],
    "typescript": ["interface Shape` (1–4)", "type Id<T> = string;` (6)"],
    "go": ["Package cache keeps things.", "Get(key string) (int, bool)` (4–10): Get finds one.", "type Cache struct` (12–14)"],
    "rust": ["struct Pile<T>` (1–5): A pile.", "impl<T> Pile<T>` (7–15)", "  - `pub fn push( &mut self, one: T, )` (8–14): Puts one on top."],
    "java": ["class Hello` (3–12): Greets.", "  - `public String say(String name)` (7–11): Says it."],
    "c": ["int add(int a, int b)` (3–8): Adds two.", "struct point` (12–14)"],
    "cpp": ["namespace shop` (1–2)", "int shop::Cart::total() const` (10–13)"],
    "ruby": ["class Cart` (1–7): A cart.", "  - `def total(tax = 1)` (3–6): Its sum."],
    "shell": ["clean()` (4–8): Cleans up.", "function main` (9–11)"],
}  # fmt: skip


def test_python_is_read_by_its_syntax() -> None:
    told, *codes = code_notes("shop/cart.py", PYTHON, "python")
    assert told.type == "code-description"
    assert told.title == "shop/cart.py: Carts"
    assert told.priority == "7"
    for line in (
        "Source: `shop/cart.py`, lines 1–27, python, ",
        "Carts. They live a day. More of them.",
        "- `class Cart(Base)` (10–19): What somebody wants to buy.",
        "  - `def total(self, *, tax: float=0.2) -> int` (14–19): The sum, in cents.",
        "- `async def ship(cart: Cart)` (22–25)",
        "- `def short()` (28)",
    ):
        assert line in told.body.replace("lines 1–28", "lines 1–27"), line
    assert [one.title for one in codes] == ["Cart in shop/cart.py", "ship in shop/cart.py"]
    assert {(one.type, one.priority) for one in codes} == {("code", "5")}
    assert "```python\n@frozen\nclass Cart(Base):\n" in codes[0].body
    assert codes[0].body.endswith("return 1\n```")


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_other_languages_are_read_by_their_lines(language) -> None:
    told, *_ = code_notes("a", SAMPLES[language], language)
    for line in TOLD[language]:
        assert line in told.body, (line, told.body)


def test_every_language_has_an_ending_of_its_own() -> None:
    assert {*SAMPLES} <= {*LANGUAGE_OF_ENDING.values()}
    assert {*code_units._BEGINS} == {*SAMPLES}
    assert LANGUAGE_OF_ENDING["py"] == "python"


@pytest.mark.parametrize(
    ("text", "language"), [("def broken(:\n  1\n2\n3\n", "python"), ("a\nb\nc\nd\n", "sql")]
)
def test_what_has_no_units_is_kept_whole(text, language) -> None:
    told, code = code_notes("x", text, language)
    assert (told.title, code.title) == ("x", "x")
    assert text.strip() in code.body


def test_a_file_without_text_is_none_and_a_short_one_is_only_described() -> None:
    assert code_notes("x.py", "", "python") == code_notes("x.py", " \n\n", "python") == []
    assert len(code_notes("x.py", '"""Only a docstring."""\n', "python")) == 1


def test_code_is_no_markup_of_a_note_and_neither_is_what_is_said_of_it() -> None:
    said = '"""See [[a-note]] and #tag, [x](b.md) <!-- no --> %% or so."""'
    code = "def f():\n    '''```\n    [[ -f x ]] #todo\n    - [ ] a task\n    '''\n    return 1\n"
    text = f"{said}\n{code}"
    for one in code_notes("a.py", text, "python"):
        found = scan(one.body, 1)
        assert (found.links, found.tags, found.tasks, found.headings) == ((), (), (), ())
    assert "````python\n" in code_notes("a.py", text, "python")[1].body


def test_equal_names_are_told_apart_and_ends_of_lines_make_no_difference() -> None:
    text = "def f():\n    1\n    2\n    3\n\n\ndef f():\n    4\n    5\n    6\n"
    _, first, second = code_notes("a.py", text, "python")
    assert (first.title, second.title) == ("f in a.py", "f 2 in a.py")
    assert first.topic != second.topic
    assert code_notes("a.py", text.replace("\n", "\r\n"), "python")[1] == first


def test_the_digest_is_of_the_code_wherever_it_stands() -> None:
    before = code_notes("a.py", "def f():\n    1\n    2\n    3\n", "python")
    after = code_notes("a.py", "import os\n\n\ndef f():\n    1\n    2\n    3\n", "python")
    digests = [[SOURCE_RE.search(one.body)[3] for one in some] for some in (before, after)]
    assert digests[0][1] == digests[1][1]  # of the code
    assert digests[0][0] != digests[1][0]  # of the description, whose lines have changed


def test_a_licence_is_no_description() -> None:
    text = "// Copyright 2020 Somebody.\n\nfunc A() {\n\t1\n\t2\n}\n"
    assert "Copyright" not in code_notes("a.go", text, "go")[0].body


@pytest.mark.parametrize("language", sorted(SAMPLES))
@pytest.mark.parametrize(
    "bit", ["a", "a ", "const a", "<", "(", "*", "@a ", "pub(", "::", "a,", "async "]
)
def test_odd_lines_take_no_time(language, bit) -> None:
    began = time.perf_counter()
    code_notes("a", "\n".join([bit * 5000] * 50), language)
    assert time.perf_counter() - began < 2


def test_the_types_of_code_are_named_once() -> None:
    assert CODE_TYPES[0] == RAW_CODE
    assert {one.type for one in code_notes("a.py", PYTHON, "python")} == {*CODE_TYPES}
