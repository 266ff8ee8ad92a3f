"""What is surely no YAML, told from what is merely odd: never called broken what Cortex reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from cortex.core.notes import note as notes
from cortex.core.notes.invalid_yaml import is_invalid_yaml

ODD = [
    "tags:\n  [\n    alpha,\n    beta\n  ]\n", "tags: [a,\n  b\n]\n", 'title: "two\n  lines"\n', "title: 'two\n  lines'\n", "title: &here x\n", "text: |2\n    x\n",
    "text: >-\n  see: this\n", "a: 'it''s'\n", 'a: "q \\" q"\n', "a: [\"x]\", 'y}']\n", "a: # nothing\n", "a: x # see: this\n", 'links:\n  - {kind: a, to: "[[b]]"}\n',
    "nested:\n  one: two\n  list:\n    - x\n", "url: http://x.org/y\n", "at: 10:30\n", "a: {b: c} # d\n", "link: [[Note]]\n", 'a: "x" # y\n', "a: -1\n", "key:\n  :@\n  }\n",
]  # fmt: skip
BROKEN = [
    "desc: see: this\n", "a: {{title}}\n", "a: @x\n", "a: `x`\n", "a: *x\n", "a: !x y\n", "a:\n\tb: c\n", "a: [x\n", "a: x: \n", 'a: "x\n', "a: 'x\n",
    'a: "x" y\n', "a: [x] y\n", "a: ]\n", "a: - x\n", "a: [x}\n", "<<<<<<< ours\n", "list:\n  - a: b: c\n", "list:\n  - @x\n", "a: x\n  y: z\n", "a: x\n- y\n", "a: x\n]\n", "a: x\nstray\n",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_odd_is_not_broken(text) -> None:
    assert notes.read(f"---\n{text}---\n".encode()).problems == ()
    assert not is_invalid_yaml(text)


@pytest.mark.parametrize("text", BROKEN)
def test_broken_is_what_cannot_be_read(text) -> None:
    assert notes.read(f"---\n{text}---\n".encode()).problems
    assert is_invalid_yaml(text)


@settings(max_examples=1500)
@given(st.text(alphabet="ab:#-[]{}'\"|>*&!@ \n,", max_size=24))
def test_what_cortex_reads_is_never_called_broken(value) -> None:
    text = "key: " + value.replace("\n", "\n  ") + "\n"
    if not notes.read(f"---\n{text}---\n".encode()).problems:
        assert not is_invalid_yaml(text)
