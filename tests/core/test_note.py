"""Law 4: a note keeps every byte; an edit changes the lines it means to and no other."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.problem import InvalidInputError
from cortex.core.notes import note as notes
from cortex.core.text import yaml_writer
from tests.conftest import cpu_limit

# What stands in notes that break parsers, to be strung together in any order.
SHARDS = [
    b"---\n", b"---\r\n", b"---", b"----\n", b"...\n", b"\xef\xbb\xbf", b"title: x\n", b"on: off\n", b"12:30\n", b"1: a\n", b"a: &x 1\n",
    b"b: *x\n", b"tags: #a #b\n", b"up: [[Note]]\n", b"t: {{date}}\n", b"a: [\n", b"- a\n", b"\n", b"\r", b"text\n", b"<<<<<<< HEAD\n", b"\xff\xfe",
    b"\0", b"  indented: x\n", b"a: |\n  ---\n", b"\xe2\x80\xa8", b"key:: value\n", "naïve é\n".encode(), b"a: 'x\n", b"\tb: c\n", b"# h\n", b"a: b: c\n",
    b"+++\n", b"+++\r\n", b't = "x"\n', b"d = 2026-02-03\n", b"[a]\n", b'{"a": 1}\n', b'{"a": [\n', b"]}\n",
]  # fmt: skip
anything = st.one_of(
    st.binary(max_size=300), st.lists(st.sampled_from(SHARDS), max_size=12).map(b"".join)
)


@given(anything)
def test_write_of_read_is_the_note(data: bytes) -> None:
    assert notes.write(notes.read(data)) == data


@given(st.lists(st.sampled_from(SHARDS), max_size=8).map(b"".join))
def test_reading_a_block_never_raises_and_problems_name_a_line_of_the_file(block: bytes) -> None:
    data = b"---\n" + block + b"---\nbody\n"
    for problem in notes.read(data, "n.md").problems:
        place, _, line = problem.where.rpartition(":")
        assert problem.message
        assert place in ("n.md", "")
        if place:
            assert 1 <= int(line) <= data.count(b"\n") + data.count(b"\r") + 1


READ = {
    "a BOM and CRLF": (b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\nbody", {"title": "x"}),
    "words that YAML 1.1 takes for booleans": (b"---\non: off\nno: yes\ny: n\n---\n", {"on": "off", "no": "yes", "y": "n"}),
    "a time, an octal, a version": (b"---\na: 12:30\nb: 0123\nc: 1.10\nd: 1_000\n---\n", {"a": "12:30", "b": "0123", "c": "1.10", "d": "1_000"}),
    "dates": (b"---\na: 2024-01-02\nb: 2026-13-45\n---\n", {"a": "2024-01-02", "b": "2026-13-45"}),
    "keys that are no text elsewhere": (b"---\n1: a\n2024-01-01: b\nnull: c\ntrue: d\n---\n", {"1": "a", "2024-01-01": "b", "null": "c", "true": "d"}),
    "keys that python-frontmatter chokes on": (b"---\ncontent: a\nhandler: b\n---\n", {"content": "a", "handler": "b"}),
    "true, false and nothing": (b"---\na: true\nb: False\nc:\nd: ~\ne: 'true'\n---\n", {"a": True, "b": False, "c": None, "d": None, "e": "true"}),
    "a link without quotes": (b"---\nup: [[Note]]\nall: [[[A]], [[B]]]\n---\n", {"up": "[[Note]]", "all": ["[[A]]", "[[B]]"]}),
    "nesting that Obsidian shows as text": (b"---\na:\n  b: [c, {d: e}]\n---\n", {"a": {"b": ["c", {"d": "e"}]}}),
    "JSON": (b'---\n{"a": "b"}\n---\n', {"a": "b"}),
    "an empty block": (b"---\n---\nx", {}),
    "a rule at the top": (b"---\n\ntext\n\n---\nmore", {}),
    "four dashes": (b"----\ntitle: x\n----\n", {}),
    "a blank line first": (b"\n---\ntitle: x\n---\n", {}),
    "TOML": (b'+++\ntitle = "x"\ntags = ["a"]\ndate = 2026-02-03\nat = 2026-11-10T23:30:00+02:00\nn = 7\ndraft = true\n+++\nbody',
             {"title": "x", "tags": ["a"], "date": "2026-02-03", "at": "2026-11-10T23:30:00+02:00", "n": "7", "draft": True}),
    "TOML with a BOM and CRLF": (b'\xef\xbb\xbf+++\r\ntitle = "x"\r\n+++\r\nbody', {"title": "x"}),
    "Zola's tags, and an id, which only YAML gives a note": (b'+++\nid = "x"\n[taxonomies]\ntags = ["a"]\n+++\n', {"tags": ["a"], "taxonomies": {"tags": ["a"]}}),
    "a JSON object": (b'{\n"title": "x\\ud800", "n": 1.10, "a": null\n}\n\nbody', {"title": "x?", "n": "1.10", "a": None}),
    "an object on every line": (b'{"a": 1}\n{"b": 2}\n', {}),
    "a template's sign at the top": (b"{{date}}\n", {}),
    "three plus signs": (b"+++\ntext\n", {}),
    "a second block": (b"---\ntags: [a]\nup: x\n---\n---\ntags: b\nup: y\ntitle: z\n---\nbody", {"tags": ["a", "b"], "up": "x", "title": "z"}),
    "two rules with text between, below a block": (b"---\na: b\n---\n---\nprose\n---\n", {"a": "b"}),
    "a second block below that of a record": (b"---\nprovenance:\n  events: [x]\n---\n---\na: b\n---\n", {"provenance": {"events": ["x"]}}),
    "a rule in a block scalar": (b"---\na: |\n  x\n  ---\n  y\n---\n", {"a": "x\n---\ny\n"}),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_reads_what_people_wrote(case: str) -> None:
    data, fields = READ[case]
    note = notes.read(data, "n.md")
    assert (note.fields, note.problems) == (fields, ())


BROKEN = {
    "a colon in a value": (b"---\nid: a\ntitle: Foo: bar\n---\ntext", 3, "mapping values"),
    "an unclosed bracket": (b"---\na: [b\n---\ntext", 3, "expected"),
    "a list": (b"---\n- a\n- b\n---\ntext", 2, "a list"),
    "a single value": (b"---\nfoo\n---\ntext", 2, "single value"),
    "a template": (b"---\ndate: {{date}}\n---\ntext", 2, "key that is not plain"),
    "an at sign": (b"---\nby: @me\n---\ntext", 2, "cannot start any token"),
    "a tab": (b"---\na:\n\tb: c\n---\ntext", 3, "cannot start any token"),
    "a control character": (b"---\na: \x01\n---\ntext", 2, "YAML forbids"),
    "an alias": (b"---\na: &x 1\nb: *x\n---\ntext", 3, "alias"),
    "too deep": (b"---\na: " + b"[" * 40 + b"]" * 40 + b"\n---\ntext", 2, "nested deeper"),
    "a wall of brackets": (b"---\na: " + b"[" * 60000 + b"\n---\ntext", 2, "too many brackets"),
    "conflict markers": (b"---\nid: a\n<<<<<<< ours\nb: 1\n=======\nb: 2\n>>>>>>> theirs\n---\ntext", 3, "conflict markers"),
    "no end": (b"---\ntitle: x\ntext", 1, "no closing"),
    "over 64 KB": (b"---\ntitle: x\n" + b"a: bcdefgh\n" * 7000 + b"---\ntext", 1, "64 KB"),
    "over 1,000 lines": (b"---\n" + b"- a\n" * 1200 + b"---\ntext", 1, "1000 lines"),
    "a key twice": (b"---\na: 1\nb: 2\na: 3\n---\ntext", 4, "twice"),
    "tags that are a comment": (b"---\na: 1\ntags: #x #y\n---\ntext", 3, "comment"),
    "TOML without an end": (b'+++\ntitle = "x"\ntext', 1, "no closing"),
    "TOML with a quote missing": (b'+++\na = 1\ntitle = "x\n+++\ntext', 3, "Illegal character"),
    "TOML that is too deep": (b"+++\na = " + b"[" * 30000 + b"\n+++\ntext", 1, "nested too deeply"),
    "a wall of dots": (b"+++\n" + b"a." * 30000 + b"a = 1\n+++\ntext", 1, "too many dots"),
    "JSON with a comma too many": (b'{"a": 1,\n"b": [1,]}\ntext', 2, "Expecting value"),
    "JSON that is too deep": (b'{"a": ' + b"[" * 60000 + b"\ntext", 1, "recursion"),
    "JSON with too many brackets": (b'{"a": [' + b"[]," * 300 + b"[]]}\ntext", 1, "too many brackets"),
    "a second block that is no YAML": (b"---\na: b\n---\n---\nc: *d\n---\ntext", 5, "alias"),
    "not UTF-8": (b"---\na: b\n---\nna\xefve", 4, "not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_note_is_a_problem_with_its_line_and_its_text_is_there(case: str) -> None:
    data, line, message = BROKEN[case]
    note = notes.read(data, "n.md")
    problem = note.problems[0]
    assert problem.where == f"n.md:{line}"
    assert message in problem.message
    assert problem.hint
    assert note.text.endswith(("text", "na\ufffdve"))
    with pytest.raises(InvalidInputError):
        notes.read_strict(data, "n.md")


@pytest.mark.parametrize("data", [b'+++\ntitle = "x"\n+++\n', b'{"title": "x"}\n'])
def test_properties_in_another_notation_are_read_and_never_written(data: bytes) -> None:
    assert notes.read(data).title == "x"
    with pytest.raises(InvalidInputError, match="only read"):
        notes.read_strict(data, "n.md")


@pytest.mark.parametrize(
    "data", [b'+++\nscope = "personal"\nx =\n+++\n', b'{"scope": "personal",,}\n']
)
def test_a_scope_in_broken_properties_of_another_notation_counts(data: bytes) -> None:
    assert notes.scope_of_one_person(notes.read(data)) == "personal"


def test_a_note_that_is_no_yaml_still_has_its_plain_fields_to_be_found_by() -> None:
    note = notes.read(
        b"---\r\nid: a-1\r\ntitle: Foo: bar\r\ntags: [x\r\nstatus: active\r\n---\r\n", "n.md"
    )
    assert note.fields == {"id": "a-1", "title": "Foo: bar", "status": "active"}


def test_an_alias_bomb_costs_nothing() -> None:
    bomb = "a0: &a0 x\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    note = notes.read(f"---\n{bomb}---\n".encode(), "n.md")
    assert note.fields == {}
    assert "alias" in note.problems[0].message


@given(
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.lists(
        st.sampled_from(
            ["a: 1", "# comment", "list:", "  - x", "title:   'odd' ", 'q: "x: y"', "tags: [ a,b ]"]
        ),
        max_size=6,
        unique=True,
    ),
    st.binary(max_size=60),
)
def test_set_field_changes_its_own_lines_alone(
    eol: bytes, bom: bool, lines: list[str], body: bytes
) -> None:
    head = (
        (notes.BOM if bom else b"") + b"---" + eol + b"".join(line.encode() + eol for line in lines)
    )
    tail = b"---" + eol + body
    for word in ("done", "open"):
        changed = notes.set_field(
            notes.read(head + tail), "status", yaml_writer.field_lines("status", word)
        )
        assert notes.write(changed) == head + f"status: {word}".encode() + eol + tail
        # A second time the line is there: it is replaced where it stands.
        again = notes.set_field(changed, "status", yaml_writer.field_lines("status", "archived"))
        assert notes.write(again) == head + b"status: archived" + eol + tail


def test_set_field_replaces_a_nested_block_and_keeps_the_comment_after_it() -> None:
    data = b"---\nid: a\nprovenance:\n  events:\n    - e1\n\n# mine\nz: 1\n---\nbody\n"
    after = notes.set_field(
        notes.read(data),
        "provenance",
        yaml_writer.field_lines("provenance", {"events": ["e1", "e2"]}),
    )
    assert (
        notes.write(after)
        == b"---\nid: a\nprovenance:\n  events:\n    - e1\n    - e2\n\n# mine\nz: 1\n---\nbody\n"
    )


def test_set_field_gives_a_note_without_frontmatter_one() -> None:
    assert (
        notes.write(notes.set_field(notes.read(b"hello\r\n"), "id", ["id: a"]))
        == b"---\r\nid: a\r\n---\r\nhello\r\n"
    )


def test_a_comment_below_an_empty_list_of_tags_is_no_problem() -> None:
    assert notes.read(b"---\ntags:\n# none yet\n---\n").problems == ()
    assert notes.read(b"---\ntags: #one\n---\n").problems


def named(count: int, eol: bytes = b"\n", more: bytes = b"") -> bytes:
    """A note that names so many events."""
    ids = b"".join(
        b"    - 20261120t164512z-%s%s"
        % (f"{n:010d}".translate(str.maketrans("0189", "abcd")).encode(), eol)
        for n in range(count)
    )
    return (
        b"---"
        + eol
        + b"id: a"
        + eol
        + more
        + b"provenance:"
        + eol
        + b"  events:"
        + eol
        + ids
        + b"  session: s1"
        + eol
        + b"---"
        + eol
        + b"text"
    )


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
@pytest.mark.parametrize("count", [1_200, 5_000, 19_900])
def test_a_note_may_name_thousands_of_events_and_is_read_in_no_time(count: int, eol: bytes) -> None:
    data = named(count, eol)
    with cpu_limit(2):
        note = notes.read_strict(data, "n.md")
    assert (note.get("id"), len(note.provenance()[0]), note.provenance()[1], note.text) == (
        "a",
        count,
        {"session": "s1"},
        "text",
    )
    assert notes.write(note) == data


@pytest.mark.parametrize(("data", "message"), [
    (named(2_000, more=b"list:\n" + b"  - x\n" * 1_100), "over 1000 lines"),
    (named(2_000, more=b"long: " + b"x" * 66_000 + b"\n"), "64 KB"),
    (named(24_000), "64 KB"),
    (b"---\nid: a\n" + b"x" * 1_000_000 + b"\n---\n", "64 KB"),
    (b"---\nid: a\n" + b"    - 20261120t164512z-aaaaaaaaaa\n" * 100_000, "64 KB"),
])  # fmt: skip
def test_what_a_note_says_beside_its_events_is_as_small_as_ever(data: bytes, message: str) -> None:
    with cpu_limit(2):
        (problem,) = notes.read(data, "n.md").problems
    assert message in problem.message
