"""A candidate: a passage that may become a record, with its layer, confidence and line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

STRUCTURAL_LAYER, KEYWORD_LAYER, TAG_LAYER = "structural", "keyword", "tag"
PASSAGE_LAYER = "passage"
RULE_LAYERS = (KEYWORD_LAYER, PASSAGE_LAYER)  # that nobody marked: what rules alone found
MIN_RECORD_CONFIDENCE = 0.5  # confidence from which a candidate becomes a record

# Record type -> a team's own phrases at the beginning of a line.
LeadingPhrases: TypeAlias = "Sequence[tuple[str, tuple[str, ...]]]"


class Candidate(NamedTuple):
    """One find. `line` counts from 1 in the text that was read."""

    layer: str
    type: str  # a record type
    text: str  # one paragraph; of a passage its markdown
    confidence: float  # 0 to 1
    line: int
    reason: str = ""
    pinned: bool = False  # it was said to be permanent
    tags: tuple[str, ...] = ()
    title: str = ""  # of a passage
    is_marked: bool = False  # a marker or a team's phrase stands before it
