"""TOML of strangers: what is refused is what nobody writes, and nothing takes long or ends in another error."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, strategies as st

from cortex.core.text.tables import parse_toml
from tests.conftest import cpu_limit

pieces = st.sampled_from(
    [
        "a", "b.c", ".", "=", "1", "1.5", "'", '"', "'''", '"""', "\\", "#", "\n", "[", "]", "{",
        "}", ",", "'x.[y'", '"x.\\"["', "é", "\r\n", " ",
    ]
)  # fmt: skip


@given(st.lists(pieces, max_size=30).map("".join))
def test_what_a_person_may_write_is_read_as_python_reads_it(text) -> None:
    try:
        wanted = tomllib.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            parse_toml(text)
    else:
        assert parse_toml(text) == wanted


@pytest.mark.parametrize("text", [
    "versions = [" + "1.5, " * 500 + "]",
    'requires = ["' + "a.b.c.d, " * 500 + '"]',
    "x = 1 # " + "." * 500 + "[" * 500,
    "x = '''\n" + '.[{"' * 500 + "'''",
    'x = """\n' + ".[{'\\\"" * 500 + '"""',
    "[" + ".".join("a" * 51) + "]\nb = 1",
    "x = " + "[" * 100 + "]" * 100,
    "[[a.b]]\nc = 1\n" * 500,
])  # fmt: skip
def test_what_is_long_but_plain_is_read(text) -> None:
    assert parse_toml(text) == tomllib.loads(text)


@pytest.mark.parametrize(("text", "said"), [
    ("\n" + "a." * 20_000 + "a = 1", "too many dots"),
    ("[" + "'='. " * 20_000 + "a]", "too many dots"),
    ("x = {" + "a." * 20_000 + "a = 1}", "too many dots"),
    (("a." * 200 + "a = 1\n") * 1000, "too many dots"),
    ("x = " + "[" * 20_000, "nested too deeply"),
    ("x = " + "{a=" * 20_000, "nested too deeply"),
    ('x = """' + '\\"""' * 100_000, "Unterminated string|Expected newline|too"),
    ("x = " + "9" * 5000, "Exceeds the limit"),
])  # fmt: skip
def test_what_would_take_minutes_is_refused_at_once(text, said) -> None:
    with cpu_limit(0.5):  # 3 s and more for the first of them, read by Python
        with pytest.raises(ValueError, match=said):
            parse_toml(text)
