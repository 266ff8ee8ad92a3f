"""What stands in for slower parts of Python's library on the hot path says the same as they do."""

from __future__ import annotations

import copy
import pickle
import re
import typing

import pytest
from hypothesis import given, strategies as st

from cortex.core.model import event
from cortex.core.text import strings, yaml_writer
from cortex.core.text.value import NamedTuple

SIGNS = "aZ0279:T-zt ./_@(,#'\"[]{}\n\t\x00é "
NEAR = st.text(st.sampled_from(SIGNS), max_size=30) | st.from_regex(
    r"[0-9]{8}t[0-9]{6}z-[a-z2-7]{9,11}|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:]{7,9}Z)?", fullmatch=True
)


@given(NEAR)
def test_names_are_told_by_their_signs_as_patterns_told_them(written):
    assert event.is_tag(written) == bool(re.fullmatch(r"[^\s,#\[\]{}\"']{1,100}", written))
    assert event.is_project_name(written) == bool(
        re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", written)
    )
    word = re.fullmatch(
        r"[A-Za-z](?:[A-Za-z0-9_./+@()-]|:(?=[A-Za-z0-9/])| (?=[A-Za-z0-9(/]))*", written
    )
    stamp = re.fullmatch(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:]{8}Z)?|[0-9]{8}t[0-9]{6}z-[a-z2-7]{10}", written
    )
    plain = (
        word
        and written.lower() not in ("true", "false", "yes", "no", "on", "off", "null", "y", "n")
    ) or stamp
    assert (yaml_writer.scalar(written) == written) == bool(plain)


@given(st.text(max_size=40))
def test_slugs_and_lines_are_those_of_the_patterns(written):
    assert strings.one_line(written) == re.sub(r"\s+", " ", written).strip()
    assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*-?", strings.slugify(written))


class Ours(NamedTuple):
    """A value."""

    name: str
    size: int = 3

    @property
    def double(self) -> int:
        return self.size * 2

    def __bool__(self) -> bool:
        return bool(self.name)


class Theirs(typing.NamedTuple):
    """A value."""

    name: str
    size: int = 3

    @property
    def double(self) -> int:
        return self.size * 2

    def __bool__(self) -> bool:
        return bool(self.name)


class OddlyNamed(NamedTuple):
    """A value whose fields are named like what makes it."""

    new: int
    cls: int = 2


def test_any_word_may_name_a_field():
    for _ in range(30):  # before and after it is compiled
        assert OddlyNamed(1) == (1, 2)


def test_a_value_is_a_named_tuple():
    ours, theirs = Ours("a"), Theirs("a")
    assert ours == theirs == ("a", 3)
    assert (ours.double, bool(ours), bool(Ours(""))) == (6, True, False)
    assert ours._replace(size=4)._asdict() == {"name": "a", "size": 4}
    assert (Ours._fields, Ours._field_defaults, Ours.__doc__, Ours.__module__) == (
        Theirs._fields, Theirs._field_defaults, Theirs.__doc__, Theirs.__module__,
    )  # fmt: skip
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    with pytest.raises(TypeError):
        Ours()
    for _ in range(30):  # before and after it is compiled
        assert Ours("b", size=4) == Ours(size=4, name="b") == Theirs("b", 4)
        assert str(Ours("b")) == "Ours(name='b', size=3)"
        for wrong in ({}, {"name": "a", "more": 1}, {"name": "a", "size": 1, "x": 2}):
            with pytest.raises(TypeError):
                Ours(**wrong)
        with pytest.raises(TypeError):
            Ours("a", 1, 2)
        with pytest.raises(TypeError):
            Ours("a", name="b")
    with pytest.raises(ValueError, match="more"):
        ours._replace(more=1)
    assert copy.copy(ours) == pickle.loads(pickle.dumps(ours)) == ours
