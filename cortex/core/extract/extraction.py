"""Which passages of an event's text are candidates, by the layers of extraction, and the records
that these become. A plan is a topic of its branch, whose latest event wins. Nothing is written."""

from __future__ import annotations

from contextlib import suppress

from cortex.core.extract.candidate import (
    KEYWORD_LAYER,
    MIN_RECORD_CONFIDENCE,
    STRUCTURAL_LAYER,
    TAG_LAYER,
    Candidate,
    LeadingPhrases,
    candidate_to_record,
)
from cortex.core.model import event as events
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import Record, default_scope, is_record_type
from cortex.core.model.session_report import is_plan_done
from cortex.core.model.topics import normalize_topic, topic_segment
from cortex.core.model.turn_summary import (
    ACTIVITY_MARK,
    parse_turn_summary,
)
from cortex.core.text.strings import one_line, short_hash, shorten, text_digest

# The surest first: what two layers find is the find of the first.
LAYERS = (TAG_LAYER, STRUCTURAL_LAYER, KEYWORD_LAYER)
TAGS_ONLY_TYPES = ("prompt", "post_compact", "session_end")  # of events
_MIN_HEADING_WORDS = 6  # of a fix or a pattern that is named
MIN_MARKED_WORDS, MIN_MARKED_CONFIDENCE = 2, 0.7  # of what stands behind a marker in a turn


def find_candidates(
    text: str, phrases: LeadingPhrases = (), *, tags_only: bool = False
) -> tuple[Candidate, ...]:
    """The candidates in an event's text, each passage once, ordered by line. `phrases` are a
    team's own phrases at the beginning of a line, by record type."""
    # Their patterns take 15 ms to compile, and few commands read an event.
    from cortex.core.extract import keywords, memory_tags, prose  # noqa: PLC0415

    said, mark, _ = text.partition(ACTIVITY_MARK)
    read = prose.mask_code(prose.blank_callouts(said))
    tagged = memory_tags.find_tags(read)
    found = [one for _, _, one in tagged]
    if mark:  # the person's prompts with a memory tag, which stand below it
        numbers = _activity_lines(text)
        found += [
            one._replace(line=numbers.get(f"- {prompt}", 1))
            for prompt in parse_turn_summary(text).tagged_lines
            for _, _, one in memory_tags.find_tags(prose.mask_code(prompt))
        ]
    if not tags_only:
        found += _find_plan(text)
        if read.text is not said:
            read = prose.mask_code(prose.blank_callouts(said, keep_own=True))
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


def choose_candidates(text: str, phrases: LeadingPhrases, type_: str) -> tuple[Candidate, ...]:
    """The candidates in the text of an event of a type that become records. Of a session's turn only
    what was marked: of what agents say a phrase alone (`we use`, `turns out`) tells too little. A
    subagent has no plan: an agent asks it. Of a prompt and of what a host sums up there are tags, of
    other texts all that is sure."""
    found = find_candidates(text, phrases, tags_only=type_ in TAGS_ONLY_TYPES)
    if type_ not in events.TURN_TYPES:
        return tuple(filter(becomes_record, found))
    is_plan = type_ != "subagent_stop"
    return tuple(
        one for one in found if _is_marked(one) and (is_plan or one.layer != STRUCTURAL_LAYER)
    )


def extract_records(text: str, begun: Record, phrases: LeadingPhrases, type_: str) -> list[Record]:
    """The records of the text of an event of a type, based on `begun`."""
    phrases = [one for one in phrases if is_record_type(one[0])]
    return [
        _plan_record(text, one, begun)
        if one.layer == STRUCTURAL_LAYER
        else candidate_to_record(one, begun)
        for one in choose_candidates(text, phrases, type_)
    ]


def becomes_record(one: Candidate) -> bool:
    """Whether a candidate becomes a record."""
    return one.confidence >= MIN_RECORD_CONFIDENCE


def _is_marked(one: Candidate) -> bool:
    if one.layer != KEYWORD_LAYER:
        return becomes_record(one)
    # `Architecture:` heads the parts of what an agent explains.
    is_label = one.is_marked and one.type != "architecture"
    is_sure = is_label and one.confidence >= MIN_MARKED_CONFIDENCE
    # `Fixed: the hooks` heads a part of a report, too.
    least = _MIN_HEADING_WORDS if one.type in ("bugfix", "pattern") else MIN_MARKED_WORDS
    return is_sure and len(f"{one.text} {one.reason}".split()) >= least


def _find_plan(text: str) -> list[Candidate]:
    """The plan in the activity section of an event's text, as at most one candidate."""
    plan = parse_turn_summary(text).plan if ACTIVITY_MARK in text else ()
    if not plan:
        return []
    steps = "; ".join(f"[{'x' if step.done else ' '}] {step.text}" for step in plan)
    line = _activity_lines(text).get("Plan:", 1)
    return [Candidate(STRUCTURAL_LAYER, "plan", one_line(steps), 1.0, line)]


def _activity_lines(text: str) -> dict[str, int]:
    """The lines below the mark, each with the number of the first that reads so."""
    before, mark, after = text.partition(ACTIVITY_MARK)
    lines = list(enumerate(f"{mark}{after}".split("\n"), before.count("\n") + 1))
    return {line: number for number, line in reversed(lines)}


def _plan_record(text: str, one: Candidate, begun: Record) -> Record:
    """The record of the plan of a branch; its id is that of its topic, which the caller gives."""
    turn = parse_turn_summary(text)
    return begun._replace(
        type="plan", topic=_plan_topic(begun.branch), scope=default_scope(begun.project),
        title=f"Plan of {shorten(begun.branch or begun.project, 60) or 'no project'}",
        status="done" if is_plan_done(turn) else "active",
        body="\n".join(f"- [{'x' if step.done else ' '}] {step.text}" for step in turn.plan),
        confidence="1", layer=one.layer,
    )  # fmt: skip


def _plan_topic(branch: str) -> str:
    topic = f"plan/{branch or 'all'}"
    with suppress(InvalidInputError):
        if normalize_topic(topic) == topic:
            return topic
    return f"plan/{topic_segment(branch)}-{short_hash(branch)}"
