"""The extraction layers: each reads a text and returns candidates, and none writes anything."""

from __future__ import annotations

from cortex.core.extract.candidate import KEYWORD, PROJECTED, STRUCTURAL, TAG, Candidate
from cortex.core.model.turn_summary import MARK
from cortex.core.normalize.changes import Phrases
from cortex.core.text.strings import digest

LAYERS = {
    TAG: "what the user or the agent marked to be remembered",
    STRUCTURAL: "what was done, as the host told it",
    KEYWORD: "marked lines, and phrases within sentences, of what the agent said",
}
"""The layers, the surest first: what two of them find is the find of the first."""


def candidates(
    text: str, phrases: Phrases = (), *, tags_only: bool = False
) -> tuple[Candidate, ...]:
    """What the layers find in an event's text, each claim once, in the order of its lines. `phrases` are a team's own words at the
    beginning of a line, by record type."""
    # Their patterns take 15 ms to compile, and few commands read an event.
    from cortex.core.extract import keywords, memory_tags, structural  # noqa: PLC0415
    from cortex.core.extract.prose import prose  # noqa: PLC0415

    said, mark, _ = text.partition(MARK)
    read = prose(said)
    tagged = memory_tags.spans(read)
    found = [one for _, _, one in tagged]
    if mark:
        found += [
            one._replace(line=line)
            for line, asked in structural.asked(text)
            for _, _, one in memory_tags.spans(prose(asked))
        ]
    if not tags_only:
        found += structural.done(text)
        read = read.without((start, end) for start, end, _ in tagged) if tagged else read
        lines = keywords.marked(read, phrases)
        found += [one for _, _, one in lines]
        found += keywords.said(read, lines)
    held: dict[tuple[bool, str], int] = {}
    places = list(LAYERS)
    for number, one in sorted(
        enumerate(found),
        key=lambda pair: (places.index(pair[1].layer), -pair[1].confidence, pair[0]),
    ):
        held.setdefault((one.layer == STRUCTURAL, digest(one.text)), number)
    return tuple(
        sorted((found[number] for number in sorted(held.values())), key=lambda one: one.line)
    )


def is_record(one: Candidate) -> bool:
    """Whether a candidate becomes a record. Of what was done only the plan does: the rest is told in the note of its session."""
    return one.type == "plan" if one.layer == STRUCTURAL else one.confidence >= PROJECTED
