"""The extraction layers: each reads a text and returns candidates, and none writes anything."""

from __future__ import annotations

from cortex.core.extract.candidate import (
    KEYWORD_LAYER,
    MIN_RECORD_CONFIDENCE,
    PASSAGE_LAYER,
    STRUCTURAL_LAYER,
    TAG_LAYER,
    Candidate,
    LeadingPhrases,
)
from cortex.core.extract.own_words import blank_callouts
from cortex.core.model.turn_summary import ACTIVITY_MARK, USER, Utterance, utterances
from cortex.core.text.strings import text_digest

# The surest first: what two layers find is the find of the first.
LAYERS = (TAG_LAYER, STRUCTURAL_LAYER, KEYWORD_LAYER, PASSAGE_LAYER)
# Types of events: of which the other layers read nothing, and of which passages become records.
TAGS_ONLY_TYPES = ("prompt", "post_compact", "session_end")
PASSAGE_TYPES = ("stop", "pre_compact", "prompt")
MIN_MARKED_WORDS, MIN_MARKED_CONFIDENCE = 2, 0.7  # of what stands behind a marker in a turn
CLEAR_CONFIDENCE = 0.85  # of a choice that no marker tells; a little less where a reason follows


def find_candidates(
    text: str, phrases: LeadingPhrases = (), *, tags_only: bool = False
) -> tuple[Candidate, ...]:
    """The candidates in an event's text, each passage once, ordered by line. `phrases` are a
    team's own phrases at the beginning of a line, by record type."""
    # Their patterns take 15 ms to compile, and few commands read an event.
    from cortex.core.extract import keywords, memory_tags, prose, structural  # noqa: PLC0415

    said, mark, _ = text.partition(ACTIVITY_MARK)
    read = prose.mask_code(blank_callouts(said))
    tagged = memory_tags.find_tags(read)
    found = [one for _, _, one in tagged]
    if mark:
        found += [
            one._replace(line=line)
            for line, asked in structural.tagged_prompt_lines(text)
            for _, _, one in memory_tags.find_tags(prose.mask_code(asked))
        ]
    if not tags_only:
        found += structural.find_plan(text)
        if read.text is not said:
            read = prose.mask_code(blank_callouts(said, keep_own=True))
        read = read.mask_spans((start, end) for start, end, _ in tagged) if tagged else read
        lines = keywords.find_marked_lines(read, phrases)
        found += [one for _, _, one in lines]
        found += keywords.find_phrases(read, lines)
    surest = sorted(enumerate(found), key=lambda at: (LAYERS.index(at[1].layer), -at[1].confidence))
    unique: dict[tuple[bool, str], int] = {}
    for number, one in surest:
        unique.setdefault((one.layer == STRUCTURAL_LAYER, text_digest(one.text)), number)
    once = (found[number] for number in sorted(unique.values()))
    return tuple(sorted(once, key=lambda one: one.line))


def choose_candidates(
    text: str, phrases: LeadingPhrases = (), type_: str = "stop"
) -> tuple[Candidate, ...]:
    """The candidates in the text of an event of a type that become records. Of a turn: what is
    marked, and the noteworthy passages that hold nothing marked. Of agents' prose a phrase alone
    (`we use`, `turns out`) is mostly noise: on real sessions 30 % of such finds were worth keeping;
    it must be a clear choice. A subagent has no plan and no passages: an agent asks it. Of a prompt
    there are tags and passages, of what a host sums up tags, of other texts all that is sure."""
    from cortex.core.extract import noteworthy  # noqa: PLC0415  as above

    found = find_candidates(text, phrases, tags_only=type_ in TAGS_ONLY_TYPES)
    if type_ == "subagent_stop":
        return tuple(one for one in found if _is_clear(one) and one.layer != STRUCTURAL_LAYER)
    if type_ not in PASSAGE_TYPES:
        return tuple(filter(becomes_record, found))
    clear = [one for one in found if _is_clear(one)]
    known = [" ".join(one.text.split()) for one in clear]
    is_prompt = type_ == "prompt"
    said = utterances(text.partition(ACTIVITY_MARK)[0])
    for one in noteworthy.find_noteworthy([Utterance(USER, text)] if is_prompt else said):
        plain = " ".join(one.text.replace("**", "").split())
        if not any(line in plain for line in known):
            clear.append(one)
    return tuple(clear)


def _is_clear(one: Candidate) -> bool:
    if one.layer != KEYWORD_LAYER:
        return becomes_record(one)
    if one.is_marked:
        is_sure = one.confidence >= MIN_MARKED_CONFIDENCE
        return is_sure and len(one.text.split()) >= MIN_MARKED_WORDS
    return one.confidence >= (CLEAR_CONFIDENCE - 0.05 if one.reason else CLEAR_CONFIDENCE)


def becomes_record(one: Candidate) -> bool:
    """Whether a candidate becomes a record."""
    return one.confidence >= MIN_RECORD_CONFIDENCE
