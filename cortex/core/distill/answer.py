"""A model's answer about a session: read, and believed only as far as the session shows it.

A record stays if its quote stands in one message of the session, whatever the white space, the
markdown and the form of the quotation marks.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from cortex.core.model.distillation import (
    Distillation,
    DistilledRecord,
    listed_records,
    read_distillation,
    read_record,
)
from cortex.core.model.event import Event
from cortex.core.model.problem import CortexError
from cortex.core.model.turn_summary import USER, Utterance, parse_turn_summary, utterances
from cortex.core.ranking.text_similarity import similarity
from cortex.core.redact.secrets import sanitize_text

MAX_ANSWER_BYTES = 1_000_000
_MAX_TRIES = 200  # braces in an answer at which an object may begin
_MIN_QUOTE_CHARS = 8  # of a quote that is not all that somebody said
_SAME_STATEMENT = 0.8  # similarity from which two statements say one thing
_ELLIPSIS_RE = re.compile(r"\[?(?:\.{3}|…)\]?")
# Marks at the beginning of a line, emphasis, escapes and quotation marks.
_MARKUP_RE = re.compile(r"(?m)^[ \t]*(?:[>#+*-]+[ \t]+)+|[*`\\\"'“”‘’‚„«»]+")
_PERSON_TYPES = ("prompt", "session_start", "session_end")  # of events that hold no agent's words
DONE = "done"
_KEYS = {"title", "outcome", "records"}  # at least two of them make an object an answer
_WRAPPERS = ("result", "response")  # keys below which hosts put what a model said
_COST_KEY = "total_cost_usd"

NO_QUOTE, INCOMPLETE, REPEATED = "its quote is not in the session", "incomplete", "said twice"
UNKNOWN_TARGET = "it relates to a record that is not there"


class CheckedAnswer(NamedTuple):
    """What of an answer is believed, and how often which part of it was not."""

    distillation: Distillation
    dropped: tuple[tuple[str, int], ...] = ()  # why, how often


class SessionQuotes:
    """What was said in a session, to look up quotes in."""

    def __init__(self, ordered: Iterable[Event]) -> None:
        self._messages: list[tuple[str, str, bool]] = []  # event id, text, whether the person's
        for event in ordered:
            for one in said_in(event):
                self._messages.append((event.id, _normalize(one.text), one.role == USER))

    def find(self, quote: str) -> tuple[str, bool] | None:
        """The id of the event that holds a quote, and whether the person said it; None if nobody
        did. Parts around an ellipsis have to follow each other in one message."""
        parts = [_normalize(part) for part in _ELLIPSIS_RE.split(quote)]
        parts = [part for part in parts if part]
        is_long = all(len(part) >= _MIN_QUOTE_CHARS for part in parts)
        found = [
            (id_, is_person)
            for id_, text, is_person in self._messages
            if (is_long and _holds(text, parts)) or (parts == [text] and is_person)
        ]
        # What the agent only repeats is the person's.
        return (
            next((one for one in found if one[1]), found[0] if found else None) if parts else None
        )


def said_in(event: Event) -> list[Utterance]:
    """The messages of an event, then, with the role `DONE`, what was done in it."""
    turn = parse_turn_summary(event.text)
    done = [*turn.tagged_lines, *(run.line for run in turn.commands), *turn.changed_files]
    done += [step.text for step in turn.plan]
    said = utterances(turn.message)
    if event.type in _PERSON_TYPES:
        said = [Utterance(USER, turn.message)]
    return [*said, *([Utterance(DONE, "\n".join(done))] if done else [])]


def read_answer(output: str) -> tuple[dict[str, object], float]:
    """The JSON object in what a command printed, and what it cost in dollars if it says so. Raises
    `CortexError` if there is no answer in it."""
    cost = 0.0
    for table in _objects(output):
        value = table.get(_COST_KEY)
        cost = float(value) if isinstance(value, int | float) else cost
        if len(_KEYS & table.keys()) >= 2:
            return table, cost
        for key in _WRAPPERS:
            if isinstance(inner := table.get(key), str):
                for answer in _objects(inner):
                    if len(_KEYS & answer.keys()) >= 2:
                        return answer, cost
                output = inner
    message = f"the answer is no JSON object as the prompt asks for, but {_excerpt(output)!r}"
    raise CortexError(message, "another model, or the same once more")


def check_answer(
    table: Mapping[str, object],
    handle: str,
    quotes: SessionQuotes,
    known: Collection[str],
) -> CheckedAnswer:
    """What of an answer the session shows. `handle` is the session's name in the prompt, `known`
    the ids of records that the prompt named. Raises `CortexError` for an answer about another
    session."""
    one = _without_secrets(read_distillation(table))
    named = table.get("session")
    dropped: Counter[str] = Counter()
    dropped[INCOMPLETE] = sum(read_record(said) is None for said in listed_records(table))
    records: list[DistilledRecord] = []
    for record in one.records:
        held = quotes.find(record.quote)
        if held is None:
            dropped[NO_QUOTE] += 1
        elif any(
            similarity(record.statement, other.statement) >= _SAME_STATEMENT for other in records
        ):
            dropped[REPEATED] += 1
        else:
            dropped[UNKNOWN_TARGET] += bool(record.target) and record.target not in known
            records.append(_relate(record._replace(event=held[0]), known, is_person=held[1]))
    if named != handle and (named or not records):
        message = f"the answer is of session {_excerpt(str(named))!r}, not of {handle!r}"
        raise CortexError(message, "give the answer to the prompt of this session")
    if not (one.title or one.outcome or records):
        raise CortexError("the answer says nothing", "another model, or the same once more")
    counts = tuple((why, count) for why, count in dropped.items() if count)
    return CheckedAnswer(one._replace(records=tuple(records)), counts)


def _relate(record: DistilledRecord, known: Collection[str], *, is_person: bool) -> DistilledRecord:
    """The record with its relation if its target is known. That it takes the place of another is a
    proposal, a contradiction, unless the quote is the person's own words."""
    if record.target not in known:
        return record._replace(relation="", target="")
    is_proposal = record.relation == "supersedes" and not is_person
    return record._replace(relation="contradicts") if is_proposal else record


def _without_secrets(one: Distillation) -> Distillation:
    """A distillation whose texts are redacted, as what is captured is. The session that a model
    reads has no secrets; what it makes up may look like one."""
    clean = [
        record._replace(
            statement=sanitize_text(record.statement), reason=sanitize_text(record.reason),
            where=sanitize_text(record.where), quote=sanitize_text(record.quote),
            tags=tuple(map(sanitize_text, record.tags)),
        )
        for record in one.records
    ]  # fmt: skip
    return one._replace(
        title=sanitize_text(one.title), asked=tuple(map(sanitize_text, one.asked)),
        outcome=sanitize_text(one.outcome), open=tuple(map(sanitize_text, one.open)),
        records=tuple(clean),
    )  # fmt: skip


def _objects(text: str) -> Iterable[dict[str, object]]:
    """The JSON objects in a text, of which none stands in another."""
    decoder, start = json.JSONDecoder(), 0
    for _ in range(_MAX_TRIES):
        start = text.find("{", start)
        if start < 0:
            return
        try:
            value, start = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start += 1
            continue
        if isinstance(value, dict):
            yield value


def _normalize(text: str) -> str:
    """A text without markdown, quotation marks and case, its white space as single blanks."""
    plain = unicodedata.normalize("NFKC", html.unescape(text))  # a prompt escapes frames
    return " ".join(_MARKUP_RE.sub("", plain).casefold().split())


def _holds(text: str, parts: list[str]) -> bool:
    """Whether a text holds all parts, one behind the other."""
    start = 0
    for part in parts:
        start = text.find(part, start)
        if start < 0:
            return False
        start += len(part)
    return True


def _excerpt(text: str) -> str:
    return sanitize_text(text.strip()[:80])
