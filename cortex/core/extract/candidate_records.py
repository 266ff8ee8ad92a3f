"""Candidates as records. A record's id is made of what it says, so that a sentence that is said in two sessions, or on two
clones, is one record. The plan is a topic of its branch: the latest is the one that holds."""

from __future__ import annotations

from cortex.core.extract import candidates, is_record
from cortex.core.extract.candidate import STRUCTURAL, Candidate
from cortex.core.model.problem import Invalid
from cortex.core.model.record import Record, begun_as, is_type, scope_of
from cortex.core.model.topic import normal, segment
from cortex.core.model.turn_summary import read
from cortex.core.normalize.changes import Phrases
from cortex.core.text.strings import one_line, short_hash, shorten, slug

TITLE_LIMIT = 80


def found_in(
    text: str, begun: Record, phrases: Phrases, *, tags_only: bool, plan: bool
) -> list[Record]:
    """What is to be kept of an event's text, each a record that begins as `begun`; of a `plan` only if it is the session's own."""
    phrases = [one for one in phrases if is_type(one[0])]
    wanted = [
        one
        for one in candidates(text, phrases, tags_only=tags_only)
        if is_record(one) and (plan or one.layer != STRUCTURAL)
    ]
    return [
        _plan(text, one, begun) if one.layer == STRUCTURAL else record_of(one, begun)
        for one in wanted
    ]


def record_of(one: Candidate, begun: Record) -> Record:
    """What one candidate says. Texts that differ in the case of their first letter or in their last stop say the same."""
    text = _sentence(one.text)
    reason = _sentence(one.reason)
    body = f"{text}\n\n**Why.** {reason}" if reason else text
    title = titled(text.rstrip(".:;, ").replace("`", "")) or "note"
    scope = scope_of(begun.project)
    key = short_hash(f"{begun.project}\0{scope}\0{one.type}\0{body}")
    return begun._replace(
        id=f"{slug(title)}-{key}", type=one.type, title=title, status=begun_as(one.type), scope=scope, body=body,
        tags=tuple(sorted({*begun.tags, *one.tags})), confidence=f"{one.confidence:.2f}".rstrip("0").removesuffix("."),
        pinned=one.pinned, layer=one.layer,
    )  # fmt: skip


def titled(text: str) -> str:
    """`text` as a title: short, and begun with a capital unless its first word is a name such as `iPhone`."""
    title = shorten(text, TITLE_LIMIT)
    return title[:1].upper() + title[1:] if _plain_word(title) else title


def _plan(text: str, one: Candidate, begun: Record) -> Record:
    """The record of the plan of a branch; its id is that of its topic, which the caller gives."""
    steps = read(text).plan
    return begun._replace(
        type="plan", title=f"Plan of {shorten(begun.branch or begun.project, 60) or 'no project'}", scope=scope_of(begun.project),
        status="done" if all(step.done for step in steps) else "active", topic=_topic(begun.branch), body="\n".join(f"- [{'x' if step.done else ' '}] {step.text}" for step in steps),
        confidence="1", layer=one.layer,
    )  # fmt: skip


def _topic(branch: str) -> str:
    topic = f"plan/{branch or 'all'}"
    try:
        return topic if normal(topic) == topic else f"plan/{segment(branch)}-{short_hash(branch)}"
    except Invalid:
        return f"plan/{segment(branch)}-{short_hash(branch)}"


def _sentence(text: str) -> str:
    line = one_line(text).rstrip(" ,;:")
    if line.endswith(".") and not line.endswith(".."):
        line = line[:-1]
    return line[:1].upper() + line[1:] if _plain_word(line) else line


def _plain_word(text: str) -> bool:
    first = text.partition(" ")[0]
    return first.islower() and first.isalpha()
