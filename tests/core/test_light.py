"""What stands in for slow parts of the standard library does as they do."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, strategies as st

from cortex.core.text import light

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_json_is_read_and_written_as_json_does(value):
    assert light.dumps(value) == json.dumps(value)
    assert light.dumps(value, sort_keys=True) == json.dumps(value, sort_keys=True)
    assert light.loads(json.dumps(value)) == light.loads(json.dumps(value).encode()) == value


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn\\u \n\x01', max_size=30))
def test_what_is_no_json_is_a_value_error(text):
    try:
        wanted = json.loads(text, strict=False)
    except ValueError:
        with pytest.raises(ValueError):
            light.loads(text)
    else:
        assert repr(light.loads(text)) == repr(wanted)


def steps(log: list[str], *, swallow: bool, turn_into: type[Exception] | None) -> Iterator[str]:
    log.append("in")
    try:
        yield "value"
    except KeyError as error:
        log.append("error")
        if turn_into:
            raise turn_into from error
        if not swallow:
            raise
    finally:
        log.append("out")


@pytest.mark.parametrize("swallow", [False, True])
@pytest.mark.parametrize("turn_into", [None, OSError])
@pytest.mark.parametrize("raised", [None, KeyError, StopIteration])
def test_a_context_is_left_as_one_of_contextlib(swallow, turn_into, raised):
    def run(make: Callable[..., object]) -> tuple[list[str], object]:
        log: list[str] = []
        try:
            with make(steps)(log, swallow=swallow, turn_into=turn_into) as value:
                log.append(value)
                if raised:
                    raise raised
        except Exception as error:
            return log, type(error)
        return log, None

    assert run(light.contextmanager) == run(contextlib.contextmanager)


def test_suppress_and_patterns_and_what_was_called_before():
    with light.suppress(OSError, KeyError):
        raise FileNotFoundError
    with pytest.raises(ValueError, match="x"), light.suppress(OSError):
        raise ValueError("x")
    assert light.re.IGNORECASE is re.IGNORECASE
    calls: list[int] = []
    doubled = light.cache(lambda number: calls.append(number) or number * 2)
    assert (doubled(2), doubled(2), calls) == (4, 4, [2])
