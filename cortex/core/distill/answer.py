"""A model's answer: about a session, read, and believed only as far as the session shows it; or about a
text, the memories in it. Cortex runs no model of its own.

A record stays if its quote stands in one message of the session, whatever the white space, the
markdown and the form of the quotation marks, and the turn of that message bears it out.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from cortex.core.extract.candidate import Candidate
from cortex.core.model.distillation import (
    MAX_RECORDS,
    Distillation,
    DistilledRecord,
    read_distillation,
    read_record,
)
from cortex.core.model.event import Event
from cortex.core.model.problem import CortexError
from cortex.core.model.record import is_record_type
from cortex.core.model.turn_summary import USER, Utterance, parse_turn_summary, utterances
from cortex.core.ranking.contradiction import denies
from cortex.core.ranking.text_similarity import TokenSet, similarity, token_set
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.agent_escape import CONTROL_PATTERN
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line
from cortex.core.text.value import NamedTuple

MAX_ANSWER_BYTES = 1_000_000
_MAX_TRIES = 200  # braces in an answer at which an object may begin; brackets, an array
# Of a quote that is not all that somebody said; scripts without blanks say more in a sign.
_MIN_QUOTE_CHARS, _MIN_ASCII_QUOTE_CHARS = 8, 12
_SAME_STATEMENT = 0.8  # similarity from which two statements say one thing
_ELLIPSIS_RE = lazy_re(r"\[?(?:\.{3}|…)\]?")
_PERSON_TYPES = ("prompt", "session_start", "session_end")  # of events that hold no agent's words
DONE = "done"
_KEYS = {"title", "outcome", "records"}  # at least two of them make an object an answer
_WRAPPERS = ("result", "response")  # keys below which hosts put what a model said
_COST_KEY, _MAX_COST = "total_cost_usd", 1000.0
_MAX_ITEMS = 1000  # of a list in an answer
MODEL_LAYER = "model"
_MAX_MEMORIES, _MAX_MEMORY_CHARS = 30, 1_000  # memories of one answer; characters of each
_MIN_MEMORY_CHARS = 12  # characters; what is shorter says nothing by itself

NOT_BORNE = "not borne out by its quote"
FOREIGN_CODE = "a title or line that the session does not bear out"
NO_QUOTE, INCOMPLETE, REPEATED = "its quote is not in the session", "incomplete", "said twice"
TOO_MANY, UNKNOWN_TARGET = f"more than {MAX_RECORDS}", "only its relation: that record is not there"
# Of the words of a statement, and of each sentence of three words and more. Of 214 statements with
# a quote, by readers of 33 sessions, 84 % are borne out; of those of another session 4 %.
_LEAST_SHARE, _MIN_SENTENCE_WORDS = 0.35, 3
_STEM_CHARS = 5
_SENTENCE_END_RE = lazy_re(r"(?<=[.;:!?])\s+|(?<=[。！？；])|\n")
# Marks at the beginning of a line, emphasis, escapes and quotation marks.
_MARKUP_RE = lazy_re(r"(?m)^[ \t]*(?:[>#+*-]+[ \t]+)+|[*`\\\"'“”‘’‚„«»]+|\[(?=\[)|\](?=\])")
_CODE_RE = lazy_re(r"`[^`]+`|(?<!\S)(?:-|\S*(?:[\d/\\_=$|&<>@~^%#]|[a-z][A-Z]|\w[.:]\w))[^\s`]*")
_COMMAND_RE = lazy_re(r"\s|://|^-|[|;&$<>]")  # also what leads elsewhere


class CheckedAnswer(NamedTuple):
    """What of an answer is believed, and how often which part of it was not."""

    distillation: Distillation
    dropped: tuple[tuple[str, int], ...] = ()  # why, how often
    refused: tuple[str, ...] = ()  # the statements that no quote bears out


class ModelAnswer(NamedTuple):
    """The memories that an answer named, and how many elements of it were none."""

    candidates: tuple[Candidate, ...]
    dropped_count: int


class SessionQuotes:
    """What was said in a session, to look up quotes in. `beside`: what else a model was told."""

    def __init__(self, ordered: Iterable[Event], beside: str = "") -> None:
        self._messages: list[tuple[str, str, bool]] = []  # event id, text, whether the person's
        self._turns: dict[str, str] = {}  # event id, all that was said and done in it
        for event in ordered:
            said = said_in(event)
            turn = "\n".join(f"{one.about}\n{one.text}" for one in said)
            self._turns[event.id] = _normalize(turn)
            self._messages += [(event.id, _normalize(one.text), one.role == USER) for one in said]
        self.session = "\n".join((*self._turns.values(), _normalize(beside)))

    def find(self, quote: str) -> tuple[str, bool] | None:
        """The id of the event that holds a quote, and whether the person said it; None if nobody
        did. Parts around an ellipsis have to follow each other in one message."""
        parts = [_normalize(part) for part in _ELLIPSIS_RE.split(quote)]
        parts = [part for part in parts if part]
        if not parts:
            return None
        least = _MIN_ASCII_QUOTE_CHARS if quote.isascii() else _MIN_QUOTE_CHARS
        is_long = sum(map(len, parts)) >= least and min(map(len, parts)) >= _MIN_QUOTE_CHARS
        found = [
            (id_, is_person)
            for id_, text, is_person in self._messages
            if (is_long and _holds(text, parts)) or (parts == [text] and is_person)
        ]
        # What the agent only repeats is the person's.
        return next((one for one in found if one[1]), found[0] if found else None)

    def bear_out(self, record: DistilledRecord, event: str) -> bool:
        """Whether the turn of an event, in which its quote stands, bears out a record."""
        turn, code = self._turns[event], f"{record.statement}\n{record.reason}\n{record.where}"
        return _is_supported(record.statement, turn) and _has_code(code, turn, self.session)


def said_in(event: Event) -> list[Utterance]:
    """The messages of an event, then, with the role `DONE`, what was done in it."""
    turn = parse_turn_summary(event.text)
    done = [*turn.tagged_lines, *(run.line for run in turn.commands), *turn.changed_files]
    done += [step.text for step in turn.plan]
    said = utterances(turn.message)
    if event.type in _PERSON_TYPES:
        said = [Utterance(USER, turn.message)]
    return [*said, *([Utterance(DONE, "\n".join(done))] if done else [])]


def read_answer(output: str) -> dict[str, object]:
    """The last answer, a JSON object, in a command's output, without secrets. Or `CortexError`."""
    found: dict[str, object] | None = None
    for table in _outermost_json_values(output, "{"):
        said = next((one for key in _WRAPPERS if isinstance(one := table.get(key), str)), "")
        if table.get("is_error") is True:
            raise CortexError(f"the model failed: {_excerpt(said)}", "run its command by hand")
        output = said or output
        for one in (table, *_outermost_json_values(said, "{")):
            found = one if len(_KEYS & one.keys()) >= 2 else found
    if found is None:
        message = f"the answer is no JSON object as the prompt asks for, but {_excerpt(output)!r}"
        raise CortexError(message, "another model, or the same once more")
    return {key: _cleaned(value) for key, value in found.items()}


def read_cost(output: str) -> float:
    """The cost in dollars that a command's JSON output states last; 0 if it states no valid
    cost."""
    costs = (table.get(_COST_KEY) for table in _outermost_json_values(output, "{"))
    valid = [cost for cost in costs if isinstance(cost, int | float) and 0 <= cost <= _MAX_COST]
    return float(valid[-1]) if valid else 0.0


def check_answer(
    table: Mapping[str, object], handle: str, quotes: SessionQuotes, known: Collection[str]
) -> CheckedAnswer:
    """What of an answer the session shows. `handle` is the session's name in the prompt, `known`
    the ids of records that the prompt named. Raises `CortexError` for an answer about another
    session, without a list of records, or with records of which none is believed."""
    one = read_distillation(table)
    named, listed = table.get("session"), table.get("records")
    if not isinstance(listed, list):
        raise CortexError("the answer has no list of records", "another model, or once more")
    dropped: Counter[str] = Counter()

    def believe(line: str) -> str:
        dropped[FOREIGN_CODE] += (is_foreign := not _has_code(line, quotes.session, quotes.session))
        return "" if is_foreign else line

    requests, open_ = (tuple(filter(None, map(believe, lines))) for lines in (one.asked, one.open))
    title, outcome = believe(one.title), believe(one.outcome)
    if title and not _is_supported(title, quotes.session):
        dropped[FOREIGN_CODE] += 1
        title = ""
    one = one._replace(title=title, asked=requests, outcome=outcome, open=open_)
    dropped[INCOMPLETE] = sum(read_record(said) is None for said in listed)
    records: list[DistilledRecord] = []
    refused: list[str] = []
    for record in one.records:
        source = quotes.find(record.quote)
        if source is None:
            dropped[NO_QUOTE] += 1
            refused.append(record.statement)
        elif not quotes.bear_out(record, source[0]) or denies(record.statement, record.quote):
            dropped[NOT_BORNE] += 1
            refused.append(record.statement)
        elif any(similarity(record.statement, old.statement) >= _SAME_STATEMENT for old in records):
            dropped[REPEATED] += 1
        elif len(records) == MAX_RECORDS:
            dropped[TOO_MANY] += 1
        else:
            dropped[UNKNOWN_TARGET] += bool(record.target) and record.target not in known
            believed = record._replace(event=source[0], details="")  # which no quote bears out
            records.append(_relate(believed, known, is_person=source[1]))
    if named != handle and (named or not records):
        message = (
            f"the answer is of session or part {_excerpt(str(named or ''))!r}, not of {handle!r}"
        )
        raise CortexError(message, "give the answer to the prompt that is printed now")
    if not (one.title or one.outcome or records):
        raise CortexError("the answer says nothing", "another model, or the same once more")
    counts = tuple((why, count) for why, count in dropped.items() if count)
    if listed and not records:
        whys = ", ".join(f"{count} {why}" for why, count in counts)
        raise CortexError(f"none of its records is believed: {whys}", "another model, or once more")
    return CheckedAnswer(one._replace(records=tuple(records)), counts, tuple(refused))


def _relate(record: DistilledRecord, known: Collection[str], *, is_person: bool) -> DistilledRecord:
    """The record with its relation if its target is known. That it takes the place of another is a
    proposal, a contradiction, unless the quote is the person's own words."""
    if record.target not in known:
        return record._replace(relation="", target="")
    is_proposal = record.relation == "supersedes" and not is_person
    return record._replace(relation="contradicts") if is_proposal else record


def _cleaned(value: object) -> object:
    """A JSON value whose texts are without secrets, control characters and links. The session that a
    model reads has no secrets; what it makes up may look like one."""
    if isinstance(value, str):
        text = re.sub(CONTROL_PATTERN, "", value.encode("utf-8", "replace").decode())
        return sanitize_text(text.replace("[[", "[").replace("]]", "]"))
    if isinstance(value, list):
        return [_cleaned(one) for one in value[:_MAX_ITEMS]]
    if isinstance(value, dict):
        return {str(key): _cleaned(one) for key, one in value.items()}
    return value


def parse_memories(output: str) -> ModelAnswer | None:
    """The memories in a model's answer; None when it holds no JSON array at all. What stands around
    the array is passed over: models like to explain, and to put it into a code block."""
    for listed in _outermost_json_values(output, "["):
        if all(isinstance(element, dict) for element in listed):
            found = [one for one in map(_read_memory, listed[:_MAX_MEMORIES]) if one]
            return ModelAnswer(tuple(dict.fromkeys(found)), len(listed) - len(found))
    return None


def _read_memory(said: Mapping[str, object]) -> Candidate | None:
    """One element as a candidate; None when it is no memory."""
    values = (said.get(key) for key in ("type", "text", "reason"))
    type_, text, reason = (one_line(value) if isinstance(value, str) else "" for value in values)
    confidence = said.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        return None
    # `NaN` is not between them either.
    is_memory = is_record_type(type_.lower()) and len(text) >= _MIN_MEMORY_CHARS
    if not is_memory or not 0 <= confidence <= 1:
        return None
    text, reason = text[:_MAX_MEMORY_CHARS], reason[:_MAX_MEMORY_CHARS]
    return Candidate(MODEL_LAYER, type_.lower(), text, float(confidence), 0, reason)


def _outermost_json_values(text: str, opening: str) -> Iterator[Any]:
    """Yield the outermost JSON objects (`opening` is `{`) or arrays (`[`) in a text."""
    decoder, start = json.JSONDecoder(), 0
    for _ in range(_MAX_TRIES):
        start = text.find(opening, start)
        if start < 0:
            return
        try:
            value, start = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start += 1
            continue
        yield value


def _normalize(text: str) -> str:
    """The text in lower case without markdown and quotation marks, white space as single blanks."""
    plain = unicodedata.normalize("NFKC", html.unescape(text))  # a prompt escapes frames
    return " ".join(_MARKUP_RE.sub("", plain).casefold().split())


def _is_supported(statement: str, turn: str) -> bool:
    """True if the turn has every number of the statement, and enough words of the whole statement and
    of each of its longer sentences."""
    turn_stems, said = _stems(turn), _stems(statement)
    sentences = map(_stems, _SENTENCE_END_RE.split(statement))
    parts = [said, *(one for one in sentences if len(one) >= _MIN_SENTENCE_WORDS)]
    has_words = all(len(part & turn_stems) >= _LEAST_SHARE * len(part) > 0 for part in parts)
    return has_words and not any(word.isdigit() for word in said - turn_stems)


def _has_code(text: str, turn: str, session: str) -> bool:
    """Whether each command and address in a text stands in a turn, and the parts of all other code,
    such as the name of a file, in the session, which are both normalized."""
    for code in _CODE_RE.findall(text):
        plain = _normalize(code).strip(".,:;!?()[]{}…")
        parts = re.findall(r"\w{2,}", code.casefold())
        is_command = parts and _COMMAND_RE.search(plain)
        if (is_command and plain not in turn) or not all(part in session for part in parts):
            return False
    return True


def _stems(text: str) -> TokenSet:
    """The words of a text without the ends by which most languages inflect them."""
    words = token_set(text)
    return frozenset(word if word.isdigit() else word.rstrip("s")[:_STEM_CHARS] for word in words)


def _holds(text: str, parts: list[str]) -> bool:
    """Whether a text holds all parts, one behind the other."""
    for part in parts:
        _, found, text = text.partition(part)
        if not found:
            return False
    return True


def _excerpt(text: str) -> str:
    return sanitize_text(text.strip()[:80])
