"""An event and its line: whatever JSON it holds comes back, and nothing in it leaves the line."""

import json

from hypothesis import given, strategies as st

from cortex.core.runs.run_event import (
    KINDS,
    complete,
    decode_json,
    encode_line,
    parse_line,
    set_aside,
    visible_text,
)

RUN, NOW = "run-20261120t171643z-0193ee", "2026-11-20T17:16:43.102Z"
NASTY = ["-->", "<!-- cx {} -->", "\r\n", "\u2028", "\ud800", "`", "[[x]]", "\x00", "## Log", "%%"]
TEXTS = (
    st.text(st.characters())
    | st.sampled_from(NASTY)
    | st.lists(st.sampled_from(NASTY)).map("".join)
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(KINDS), st.dictionaries(TEXTS, VALUES, max_size=6))
def test_any_event_comes_back_from_its_line(kind: str, fields: dict[str, object]) -> None:
    event = complete({**fields, "event": kind}, RUN, 3, NOW)
    line = encode_line(event)
    # A lone surrogate pair in two texts is one character in JSON, as for every reader of JSON.
    assert parse_line(line) == json.loads(json.dumps(event))
    assert line.count("\n") == 1
    assert line.endswith(" -->\n")
    assert line.count("-->") == 1


@given(TEXTS)
def test_what_a_person_sees_is_no_markup_and_no_json(text: str) -> None:
    for event in (
        {"event": "message", "text": text},
        {"event": "tool_start", "args": {text: [text]}},
    ):
        shown = visible_text(complete(event, RUN, 0, NOW))
        assert not set("<>`{}\r\n") & set(shown)
        assert "%%" not in shown
        assert "\\[\\[" in shown if "[[" in shown else True
        assert len(shown) < 2 * 160 + 40


def test_a_time_that_a_program_gives_counts() -> None:
    given_times = {
        1795195003102: "2026-11-20T17:16:43.102Z",
        "2026-11-20T18:16:43.102+01:00": "2026-11-20T17:16:43.102Z",
        "yesterday": NOW, 1e300: NOW, True: NOW,
    }  # fmt: skip
    for given_time, kept in given_times.items():
        assert complete({"event": "info", "ts": given_time}, RUN, 0, NOW)["ts"] == kept


def test_an_unknown_kind_is_info_with_what_it_said() -> None:
    event = complete({"event": "heartbeat", "beat": 3, "agent_id": "other"}, RUN, 1, NOW)
    assert event == {
        "seq": 1, "event": "info", "agent_id": RUN, "ts": NOW, "message": "heartbeat",
        "value": {"beat": 3},
    }  # fmt: skip


def test_a_large_event_lies_aside_with_its_hash() -> None:
    event = complete({"event": "tool_end", "call_id": "c1", "result": "x" * 40_000}, RUN, 2, NOW)
    short, data = set_aside(event, f"{RUN}.d/2.json")
    assert json.loads(data) == event
    assert (short["call_id"], short["file"], short["bytes"]) == ("c1", f"{RUN}.d/2.json", len(data))
    assert len(encode_line(short)) < 1_000


def test_lines_that_are_no_events_are_none() -> None:
    line = encode_line(complete({"event": "info", "message": "x"}, RUN, 0, NOW))
    for cut in range(1, len(line) - 1):
        assert parse_line(line[:-1][:-cut]) is None
    for other in ("", "- a task", "- x <!-- cx [] -->", '- x <!-- cx {"event":"nothing"} -->'):
        assert parse_line(other) is None


def test_json_nested_too_deep_is_none() -> None:
    assert decode_json("[" * 100_000) is None
    assert decode_json("[" * 500 + "]" * 500) is None
    assert decode_json("[NaN]") == [None]
