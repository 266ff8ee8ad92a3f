"""A candidate: a passage that may become a record; and the record that it becomes.

A record's id is a hash of its text: the same sentence in two sessions or clones is one record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from cortex.core.model.record import Record, default_scope, initial_status
from cortex.core.text.strings import one_line, short_hash, shorten, slugify
from cortex.core.text.value import NamedTuple

STRUCTURAL_LAYER, KEYWORD_LAYER, TAG_LAYER = "structural", "keyword", "tag"
JUDGED_LAYER = "judged"  # what rules made of a whole session
PASSAGE_LAYER = "passage"  # of earlier versions: parts of turns that nobody had marked
RULE_LAYERS = (KEYWORD_LAYER, PASSAGE_LAYER, JUDGED_LAYER)  # what rules alone found
MIN_RECORD_CONFIDENCE = 0.5  # confidence from which a candidate becomes a record
TITLE_LIMIT = 80

# Record type -> a team's own phrases at the beginning of a line.
LeadingPhrases: TypeAlias = "Sequence[tuple[str, tuple[str, ...]]]"


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
    is_marked: bool = False  # a marker or a team's phrase stands before it


def candidate_to_record(one: Candidate, begun: Record) -> Record:
    """The record of a candidate. The case of the first letter and a final stop do not matter."""
    text = _tidy_sentence(one.text)
    reason = _tidy_sentence(one.reason)
    body = f"{text}\n\n**Why.** {reason}" if reason else text
    title = make_title(text.rstrip(".:;, ").replace("`", "")) or "note"
    scope = default_scope(begun.project)
    key = id_of_text(begun.project, scope, one.type, body)
    return begun._replace(
        id=f"{slugify(title)}-{key}", type=one.type, title=title, status=initial_status(one.type),
        scope=scope, body=body, tags=tuple(sorted({*begun.tags, *one.tags})),
        confidence=f"{one.confidence:.2f}".rstrip("0").removesuffix("."),
        pinned=one.pinned, layer=one.layer,
    )  # fmt: skip


def id_of_text(project: str, scope: str, type_: str, body: str) -> str:
    """The end of an extracted record's id, by which an edited text is told from its own."""
    return short_hash(f"{project}\0{scope}\0{type_}\0{body}")


def make_title(text: str) -> str:
    """`text` as a title: short, capitalized unless its first word is a name such as `iPhone`."""
    return capitalize(shorten(text, TITLE_LIMIT))


def _tidy_sentence(text: str) -> str:
    line = one_line(text).rstrip(" ,;:")
    if line.endswith(".") and not line.endswith(".."):
        line = line[:-1]
    return capitalize(line)


def capitalize(text: str) -> str:
    """`text` with a capital, unless its first word is a name such as `iPhone`."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.islower() and first.isalpha() else text
