"""What an extraction layer finds in a text: something that may be worth a record, how sure the layer is, and where it stands."""

from __future__ import annotations

from typing import NamedTuple

STRUCTURAL_LAYER, KEYWORD_LAYER, TAG_LAYER = "structural", "keyword", "tag"
MIN_RECORD_CONFIDENCE = 0.5  # confidence from which a candidate becomes a record (seed 002's cutoff, which nothing there ever asked)


class Candidate(NamedTuple):
    """One find. `line` counts from 1 in the text that was read."""

    layer: str
    type: str  # a record type
    text: str  # one paragraph
    confidence: float  # 0 to 1
    line: int
    reason: str = ""
    pinned: bool = False  # it was said to be permanent
    tags: tuple[str, ...] = ()
