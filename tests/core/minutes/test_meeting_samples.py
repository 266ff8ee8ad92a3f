"""Minutes of seven groups in five languages, with what a careful reader finds in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from cortex.core.minutes.meeting import parse_meeting

SAMPLES = sorted(Path(__file__).parent.joinpath("samples").glob("*.md"))


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def matched(labels: Iterable[str], texts: list[str]) -> int:
    """How many labels share at least .4 (F1 of words) with a text of their own."""
    left, count = [words(text) for text in texts], 0
    for label in map(words, labels):
        best = max(left, key=lambda one: len(one & label), default=set[str]())
        if best and 2 * len(best & label) / (len(best) + len(label)) >= 0.4:
            left.remove(best)
            count += 1
    return count


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_a_reader_finds(path: Path) -> None:
    label = json.loads(path.with_suffix(".json").read_text())
    minutes = parse_meeting(path.read_text())
    assert minutes.date == label["date"]
    assert len(minutes.attendees) == len(label["attendees"])
    open_ = [one for one in minutes.actions if not one.done]
    quotes = [one["quote"] for one in label["actions"]]
    assert matched(quotes, [f"{one.owner} {one.text}" for one in open_]) >= len(quotes) * 0.8
    assert len(open_) <= len(quotes) + 1
    decided = [one.rpartition(" || ")[2] for one in label["decisions"]]
    assert matched(decided, [one.text for one in minutes.decisions]) >= len(decided) * 0.8
    assert len(minutes.decisions) <= len(decided) + 1
    dues = sorted(one["due"] for one in label["actions"] if one["due"])
    assert sorted(one.due for one in open_ if one.due) == dues
