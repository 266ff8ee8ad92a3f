"""Make records of candidates.

A record's id is a hash of its text: the same sentence in two sessions or clones is one record. The
plan is a topic of its branch, whose latest event wins.
"""

from __future__ import annotations

from contextlib import suppress

from cortex.core.extract import choose_candidates
from cortex.core.extract.candidate import PASSAGE_LAYER, STRUCTURAL_LAYER, Candidate, LeadingPhrases
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import Record, default_scope, initial_status, is_record_type
from cortex.core.model.topics import normalize_topic, topic_segment
from cortex.core.model.turn_summary import PLAN_APPROVAL, parse_turn_summary, utterances
from cortex.core.text.strings import one_line, short_hash, shorten, slugify

TITLE_LIMIT = 80


def extract_records(text: str, begun: Record, phrases: LeadingPhrases, type_: str) -> list[Record]:
    """The records of the text of an event of a type, based on `begun`."""
    phrases = [one for one in phrases if is_record_type(one[0])]
    return [
        _plan_record(text, one, begun)
        if one.layer == STRUCTURAL_LAYER
        else candidate_to_record(one, begun)
        for one in choose_candidates(text, phrases, type_)
    ]


def candidate_to_record(one: Candidate, begun: Record) -> Record:
    """The record of a candidate. The case of the first letter and a final stop do not matter."""
    text = one.text if one.layer == PASSAGE_LAYER else _tidy_sentence(one.text)
    reason = _tidy_sentence(one.reason)
    body = f"{text}\n\n**Why.** {reason}" if reason else text
    title = make_title((one.title or text).rstrip(".:;, ").replace("`", "")) or "note"
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
    return _capitalize(shorten(text, TITLE_LIMIT))


def _plan_record(text: str, one: Candidate, begun: Record) -> Record:
    """The record of the plan of a branch; its id is that of its topic, which the caller gives."""
    turn = parse_turn_summary(text)
    steps = turn.plan
    # A plan that the person approved and that was worked on at once, by an agent that ticks nothing.
    is_carried_out = bool(turn.changed_files) and not any(step.done for step in steps)
    is_carried_out = is_carried_out and PLAN_APPROVAL in utterances(turn.message)
    is_done = is_carried_out or all(step.done for step in steps)
    return begun._replace(
        type="plan", topic=_plan_topic(begun.branch), scope=default_scope(begun.project),
        title=f"Plan of {shorten(begun.branch or begun.project, 60) or 'no project'}",
        status="done" if is_done else "active",
        body="\n".join(f"- [{'x' if step.done else ' '}] {step.text}" for step in steps),
        confidence="1", layer=one.layer,
    )  # fmt: skip


def _plan_topic(branch: str) -> str:
    topic = f"plan/{branch or 'all'}"
    with suppress(InvalidInputError):
        if normalize_topic(topic) == topic:
            return topic
    return f"plan/{topic_segment(branch)}-{short_hash(branch)}"


def _tidy_sentence(text: str) -> str:
    line = one_line(text).rstrip(" ,;:")
    if line.endswith(".") and not line.endswith(".."):
        line = line[:-1]
    return _capitalize(line)


def _capitalize(text: str) -> str:
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.islower() and first.isalpha() else text
