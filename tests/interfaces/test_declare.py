"""Values of a verb's parameters: from words and from JSON, and what is said of those that do not fit."""

from __future__ import annotations

import re
from typing import Annotated, Literal, NamedTuple

import pytest

from cortex.core.model.parameters import Between, NoteQuery, QueryText, Since
from cortex.core.model.problem import InvalidInputError
from cortex.core.text.iso_time import parse_day, parse_moment
from cortex.interfaces.cli import arguments
from cortex.interfaces.cli.render import as_json
from cortex.interfaces.declare import convert, declaration_of

NOW = "2026-11-22T12:00:00Z"
Host = Literal["claude", "codex"]


def verb(
    text: QueryText,
    hosts: list[Host] | None = None,
    *,
    number: Annotated[int, Between(1, 300)] = 10,
    confidence: Annotated[float, Between(0, 1)] | Literal["none"] | None = None,
    tags: tuple[str, ...] = (),
    since: Since | None = None,
    due: Literal["none"] | None = None,
    whose: Literal["", "project", "personal"] = "",
    all: bool = False,
    name: str = "",
    note: NoteQuery = "",
) -> None:
    """Do it.

    text: what
    Example: cortex verb x
    """


DECLARED = declaration_of(verb)


def test_what_is_not_given_is_the_default() -> None:
    values = convert(DECLARED, {"text": "x"}, NOW)
    assert values == {
        "text": "x", "hosts": None, "number": 10, "confidence": None, "tags": (), "since": None, "due": None,
        "whose": "", "all": False, "name": "", "note": "",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "given", "value"), [
    ("hosts", ["Claude,codex", "codex"], ["claude", "codex", "codex"]),
    ("hosts", "claude", ["claude"]),
    ("number", "300", 300),
    ("number", 7, 7),
    ("confidence", "0.5", 0.5),
    ("confidence", "None", "none"),
    ("confidence", 1, 1.0),
    ("tags", "a, b,,c d", ("a", "b", "c d")),
    ("tags", ["a,b"], ("a,b",)),
    ("since", "1d", 1795262400),
    ("due", "none", "none"),
    ("whose", "Project ", "project"),
    ("name", "  as it is ", "  as it is "),
    ("name", "half \ud83d", "half ?"),
    ("name", "caf\udce9.md", "caf\udce9.md"),
    ("number", 7.0, 7),
    ("number", "7.0", 7),
    ("all", "False", False),
    ("all", "true", True),
    ("all", 1, True),
    ("tags", '["a", "b,c"]', ("a", "b,c")),
    ("tags", "[a", ("[a",)),
    ("tags", {"a"}, ("a",)),
    ("hosts", '["codex"]', ["codex"]),
    ("since", 1795262400.0, 1795262400),
    ("text", "null", "null"),
])  # fmt: skip
def test_words_and_json_values_become_values(name, given, value) -> None:
    assert convert(DECLARED, {"text": "x", name: given}, NOW)[name] == value


@pytest.mark.parametrize(("given", "message"), [
    ({}, "TEXT is missing"),
    ({"text": 1}, "TEXT 1 is not text"),
    ({"text": "x", "hosts": ["vim"]}, "HOSTS 'vim' is not claude or codex"),
    ({"text": "x", "number": "0"}, "--number '0' is not a whole number from 1 to 300"),
    ({"text": "x", "number": "-5"}, "--number '-5' is not a whole number from 1 to 300"),
    ({"text": "x", "number": "١٢"}, "--number '١٢' is not a whole number from 1 to 300"),
    ({"text": "x", "hosts": [""]}, "HOSTS '' is not claude or codex"),
    ({"text": "x", "due": "2030-1-2"}, "--due '2030-1-2' is not none"),
    ({"text": "x", "number": True}, "--number True is not a whole number from 1 to 300"),
    ({"text": "x", "number": 1.5}, "--number 1.5 is not a whole number from 1 to 300"),
    ({"text": "x", "number": [3]}, "--number [3] is not a whole number from 1 to 300"),
    ({"text": "x", "number": 10**5000}, "--number so large a number is not a whole number from 1"),
    ({"text": "x", "since": 10**30}, "--since 1000000000000000000000000000000 is not a date or a span"),
    ({"text": "x", "since": "9999999999d"}, "--since '9999999999d' is not a date or a span"),
    ({"text": "x", "name": "y" * 5000, "all": {}}, "--all {} is not true or false"),
    ({"text": "x", "note": 42}, "--note 42 is not text"),
    ({"text": "x", "confidence": "nan"}, "--confidence 'nan' is not a number from 0 to 1 or none"),
    ({"text": "x", "confidence": float("inf")}, "--confidence inf is not a number from 0 to 1 or none"),
    ({"text": "x", "tags": 3}, "--tags 3 is not a list of words"),
    ({"text": "x", "since": "soon"}, "--since 'soon' is not a date or a span: write 2026-11-20"),
    ({"text": "x", "whose": "ours"}, "--whose 'ours' is not project or personal"),
    ({"text": "x", "all": "yes"}, "--all 'yes' is not true or false"),
])  # fmt: skip
def test_a_value_that_does_not_fit_is_named(given, message) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)) as raised:
        convert(DECLARED, given, NOW)
    assert raised.value.hint == "cortex verb --help"


@pytest.mark.parametrize("nothing", [None, "", "null", [], ()])
def test_what_programs_write_for_nothing_is_as_if_it_were_not_given(nothing) -> None:
    free_text = ("note",) if nothing == "null" else ()
    given = {one.name: nothing for one in DECLARED.options if one.name not in free_text}
    given["text"] = "x"
    assert convert(DECLARED, given, NOW) == convert(DECLARED, {"text": "x"}, NOW)
    if nothing != "null":  # a word, in a query
        with pytest.raises(InvalidInputError, match="TEXT is missing"):
            convert(DECLARED, {"text": nothing}, NOW)


@pytest.mark.parametrize(("name", "message"), [
    ("number", "--number '' is not a whole number from 1 to 300"),
    ("since", "--since '' is not a date or a span"),
    ("tags", "--tags '' is not a list of words"),
    ("whose", "--whose '' is not project or personal"),
])  # fmt: skip
def test_an_empty_word_that_is_typed_is_meant(name, message) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        convert(DECLARED, {"text": "x", name: ""}, NOW, is_typed=True)
    assert convert(DECLARED, {"text": "x", "name": "null"}, NOW, is_typed=True)["name"] == "null"


def test_a_name_that_is_not_known_is_met_with_what_is_meant() -> None:
    with pytest.raises(InvalidInputError, match="verb has no argument 'numbr'") as raised:
        convert(DECLARED, {"text": "x", "numbr": 1}, NOW)
    assert raised.value.hint == "did you mean number? cortex verb --help"


@pytest.mark.parametrize(("name", "value", "message"), [
    ("number", "x", "limit 'x' is not a whole number from 1 to 300: send 10"),
    ("confidence", 2, "limit 2 is not a number from 0 to 1 or none: send 0"),
    ("tags", 3, 'limit 3 is not a list of words: send ["a", "b"]'),
    ("hosts", ["vim"], "limit 'vim' is not claude or codex"),
])  # fmt: skip
def test_a_program_is_told_what_to_send(name, value, message) -> None:
    labelled = [one._replace(label="limit") for one in DECLARED.parameters]
    with pytest.raises(InvalidInputError) as raised:
        convert(DECLARED._replace(parameters=tuple(labelled)), {"text": "x", name: value}, NOW)
    assert raised.value.message == message


@pytest.mark.parametrize(("text", "seconds"), [
    ("90min", 1795348800 - 5400),
    ("12h", 1795348800 - 12 * 3600),
    ("7D", 1795348800 - 7 * 86400),
    ("2w", 1795348800 - 14 * 86400),
    ("3m", 1795348800 - 90 * 86400),
    ("1y", 1795348800 - 365 * 86400),
    ("2026", 1767225600),
    ("2026-10", 1790812800),
    (" 2026-10-03 ", 1790985600),
    ("2026-10-03T02:00:00+02:00", 1790985600),
    ("2026-10-03T00:00", 1790985600),
    ("3m ago", 1795348800 - 90 * 86400),
    ("2026-13", None),
    ("2026-1-2", None),
    ("0999", None),
    ("١٢d", None),
    ("2026-10-03T٠٠:00", None),
    ("3 m", None),
    ("0000", None),
    ("", None),
])  # fmt: skip
def test_one_grammar_for_dates_and_spans(text, seconds) -> None:
    assert parse_moment(text, NOW) == seconds


def test_a_day_is_one_of_the_calendar() -> None:
    assert parse_day("2028-02-29") == "2028-02-29"
    for text in ("2027-02-29", "2026-11", "2028-2-29", "0001-01-01", "٢٠٢٨-٠٢-٢٩"):
        assert parse_day(text) is None


def test_a_line_of_words_and_options() -> None:
    given = arguments.parse(DECLARED, ["a", "b", "claude", "--due", "none", "--all", "-n5"])
    assert given == {
        "text": "a", "hosts": ["b", "claude"], "due": "none", "all": True, "number": "5",
    }  # fmt: skip
    assert arguments.parse(DECLARED, ["a", "-n", "-5"]) == {"text": "a", "number": "-5"}
    assert arguments.parse(DECLARED, ["a", "--help"]) is None


def test_json_merges_a_hit_into_what_holds_it() -> None:
    class Inner(NamedTuple):
        id: str
        snippet: str

    class Outer(NamedTuple):
        hit: Inner
        due: str

    assert as_json(Outer(Inner("a", "b"), "c")) == {"id": "a", "snippet": "b", "due": "c"}
