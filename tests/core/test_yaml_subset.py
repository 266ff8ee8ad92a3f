"""Frontmatter read without a YAML parser: never laxer than one, and with the values that one finds."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import example, given, settings, strategies as st

from cortex.core.notes import note as notes, yaml_subset
from cortex.core.notes.frontmatter import load_fields
from cortex.core.notes.yaml_lines import parse_key, split_fields, split_note
from cortex.core.notes.yaml_subset import parse_plain_fields, parse_value

SHARDS = [
    "a", "b c", "tags", "id", " ", "  ", "    ", ": ", ":", ":\n", "\n", "- ", "-", "\n  - ", "\n- ", "\n    - ", ", ", ",", "[", "]", "[[", "]]", "{", "}", '"', "'",
    "#", " # c", "#x", "\\n", '\\"', "''", "|", "|-\n  ", ">", "&x", "*x", "!t", "%", "@", "`", "?", "? ", "=", "<<", "~", "true", "12:30", "2026-11-20", "2026-11-20T16:45:12Z",
    "http://x.y/z", "\t", "\r", "\u2028", "\u00a0", "\ufeff", "é", "\x01", "---", "...", "key: v", "\n  k: v", "\n  k:\n    - x", "\n\n", "\n# c\n", "[[N]]", "1", "x:y", "a, b",
]  # fmt: skip
loose = st.lists(st.sampled_from(SHARDS), max_size=9).map("".join)
likely = st.builds(
    "{}: {}".format, st.sampled_from(["a", "tags", "a b", '"q"', "'q'", "1", "é"]), loose
)


@pytest.mark.parametrize(
    "loader",
    dict.fromkeys([yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)]),
    ids=lambda one: one.__name__,
)
@given(st.one_of(likely, loose))
@settings(max_examples=400)
@example("a: [b, {c: d}]")
def test_what_is_read_is_yaml_to_every_parser_and_has_no_problem(loader: type, text: str) -> None:
    text = text.rstrip("\n") + "\n"
    found = split_fields(text)
    if found is None or len(found) != 1 or next(iter(found.values())).comments_above:
        return
    (key, chunk), *_ = found.items()
    value = parse_value(key, chunk.text)
    if value is None:
        return
    fields = yaml.compose(text, Loader=loader)
    assert isinstance(fields, yaml.MappingNode)
    note = notes.read(f"---\n{text}---\n".encode(), "n.md")
    assert note.problems == ()
    assert len(note.fields) == 1
    seen = next(iter(note.fields.values()))
    if value.kind == "list":
        assert isinstance(seen, list)
        assert len(seen) == len(value.items)
        assert all(
            item.name == one
            for item, one in zip(value.items, seen, strict=True)
            if isinstance(item.node, str) and isinstance(one, str)
        )
    elif value.kind == "map":
        assert isinstance(seen, dict)
        assert len([chunk for chunk in value.entries if "\0" not in chunk]) == len(seen)
    elif (
        value.kind == "scalar"
        and isinstance(seen, str)
        and "\n" not in text[:-1]
        and "{" not in text
    ):
        assert value.text == seen


LINES = [
    "a:", "a: ", "b: c", "b: true", "b: ~", "b: 'c d'", 'b: "c"', 'b: "c\\n"', "b: it's", "b: c # d", "b: c: d", "b: c:", "b: c:d", "b: c ", "tags: [a, b c]", 'tags: ["a, b", c]',
    "tags: []", "tags: [a,]", "tags: [a, ]", "tags: [a, true]", "tags: [[a]]", "tags: #a", "  c: d", "  c:", "    e: f", "- a", "-  a", "  - a", "  - a: b", '  - "[[a]]"', "  -", "# c", "",
    "...", "---", "b: -1", "b: 2026-11-20", "b: <<", "b: é\u2028", "b:\tc", "b: c\td", "'b': c", "é: a", "b: [a", "b: ]", "b: a]", "b: a, b", "b: @a", "b: %a", "b: |", "b: >-", "b: a  b", "b: ''",
]  # fmt: skip


@given(st.one_of(loose, likely, st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)))
@settings(max_examples=1500)
def test_plain_fields_are_what_the_parser_reads(text: str) -> None:
    fields = parse_plain_fields(text)
    assert fields is None or (fields, []) == load_fields(text)


def test_the_frontmatter_that_cortex_writes_needs_no_parser() -> None:
    record = """id: keep-it-6wzl7q\ntype: note\nproject: p1\naliases: ["Keep it, here", It is kept]
created: 2026-11-27T20:18:08Z\nprovenance:\n  events: ["[[20261127t201808z-pjdm5cd3if]]"]\n"""
    assert parse_plain_fields(record) == load_fields(record)[0]


@given(
    st.lists(
        st.sampled_from([*SHARDS, "a: 1\n", "---\n", "--- \t\n", "----\n", "---\r\n", "---"]),
        max_size=8,
    ).map("".join),
    st.booleans(),
)
def test_a_file_is_taken_apart_as_by_patterns(text: str, fenced: bool) -> None:
    data = ("---\n" + text if fenced else text).encode().removeprefix(notes.BOM)
    parts = split_note(data)
    assert parts[:4] == split_by_patterns(data)
    assert b"".join(parts[:4]) == data
    note = notes.read(data)
    assert (note.opening_fence, note.frontmatter, note.closing_fence, note.body) == parts[:4]


def split_by_patterns(data: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """The parts of a file; those of a file with too much frontmatter are not told."""
    nothing = (b"", b"", b"", data)
    fence = re.match(rb"---[ \t]*(?:\r\n|\n|\r)", data)
    if not fence:
        return nothing
    closing = re.compile(rb"(?<=[\r\n])---[ \t]*(?:\r\n|\n|\r|\Z)").search(data, fence.end())
    if not closing:
        return nothing
    block = data[fence.end() : closing.start()]
    lines = block.decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    is_key = re.match(r"[A-Za-z_\"'][^\n:#]{0,100}\s*:(?:\s|$)", first)
    if lines and not lines[0].strip() and first and not is_key:
        return nothing
    return fence[0], block, closing[0], data[closing.end() :]


EVENT_LINE = b"    - 20261120t164512z-k3f7q2abcd\n"


@pytest.mark.parametrize(("block", "fits"), [
    (b"a:\n#" + b"y" * (65_536 - 9) + b"\n", True),
    (b"a:\n#" + b"y" * (65_536 - 8) + b"\n", False),
    (b"a:\n" + EVENT_LINE * 20_000, True),
    (b"a:\n#" + b"y" * (65_536 - 9) + b"\n" + EVENT_LINE * 3, True),
    (b"a:\n" + EVENT_LINE * 22_600, False),
    (b"a: x\n" + b"# y\n" * 999, True),
    (b"a: x\n" + b"# y\r\n" * 999, True),
    (b"a:\n" + b"# y\n" * 999 + EVENT_LINE * 3, True),
    (b"a: x\n" + b"# y\n" * 1_000, False),
    (b"a: x\r" + b"# y\r" * 1_000, False),
])  # fmt: skip
def test_frontmatter_has_a_size_above_which_it_is_body_and_named(block: bytes, fits: bool) -> None:
    data = b"---\n" + block + b"---\nbody\n"
    parts = split_note(data)
    assert parts[:4] == ((b"---\n", block, b"---\n", b"body\n") if fits else (b"", b"", b"", data))
    assert bool(parts.error) is not fits
    assert bool(notes.read(data).problems) is not fits


@given(
    st.lists(
        st.sampled_from([*SHARDS, "a: 1\n", "b: 2\n", "<<<<<<< x\n", "=======\n"]), max_size=10
    ).map("".join)
)
def test_chunks_in_a_row_are_the_block(block: str) -> None:
    found = split_fields(block)
    if found is not None:
        assert "".join(chunk.comments_above + chunk.text for chunk in found.values()) == block


@pytest.mark.parametrize(("text", "kind", "value"), [
    ("a: b", "scalar", "b"),
    ('a: "b \\"c\\" \\u00e9"', "scalar", 'b "c" é'),
    ("a: 'it''s'  # why", "scalar", "it's"),
    ("a: up to # 2", "scalar", "up to"),
    ("up: [[Note]]", "scalar", "[[Note]]"),
    ("a:", "empty", ""),
    ("a: |\n  b: c\n\n  # d", "scalar", "|\nb: c\n\n# d"),
    ("tags: [a, 'b c', \"d\"]", "list", ["a", "b c", "d"]),
    ("tags: []", "list", []),
    ("tags:\n  - a\n  # why\n  - b c # d\n", "list", ["a", "b c"]),
    ("tags:\n- a\n- b\n", "list", ["a", "b"]),
    ("all: [[[A]], [[B|b]]]", "list", ["[[A]]", "[[B|b]]"]),
    ('relations:\n  - {kind: supersedes, to: "[[x-1|X]]"}', "list", ["supersedes x-1"]),
    ('relations:\n  - kind: supersedes\n    to: "[[x-1]]"', "list", ["supersedes x-1"]),
])  # fmt: skip
def test_reads(text: str, kind: str, value: object) -> None:
    found = parse_value(parse_key(text.partition("\n")[0]), f"{text}\n")
    assert found is not None
    assert found.kind == kind
    assert (found.text if kind != "list" else [item.name for item in found.items]) == value


@pytest.mark.parametrize("text", [
    "a: b: c", 'a: "b', "a: 'b", "a: [b", "a: b]\n  - c", "a: {b", "a: &x 1", "a: *x", "a: !t b",
    "a:\n\tb: c", "a: @b", "a: `b`", "a: %b", "tags: #a #b", "a: | x", "a: \x01", "a: b\u2028c", "a: [b: c]",
    "a: {b}", "a: '{{date}}", "a: {{date}}", 'a: "\\q"', 'a: "\\ud800"', "a:\n  - b\n c", "a: [b] c",
    "a: b\n  c: d", "a:\n  b: 1\n  b: 2", "a: - b", "a: [- b]", "a: [a #b]", "a: [" * 30, "a: \udcff",
    "a: b\n# c\n  d", "a: one\n  two", "tags: [a,\n  b]",
])  # fmt: skip
def test_refuses(text: str) -> None:
    assert parse_value("tags" if text.startswith("tags") else "a", f"{text}\n") is None


@pytest.mark.parametrize(
    "block", ["{a: b}\n", "? a\n: b\n", "- a\n", "  a: b\n", "text\n", "%YAML 1.2\n"]
)
def test_says_when_lines_do_not_tell_where_a_key_begins(block: str) -> None:
    assert split_fields(block) is None
    assert not yaml_subset.is_valid_block(block)
