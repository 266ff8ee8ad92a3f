"""What a whole session bears out, by rules alone: judged once, when it ends.

Only what was said or done on purpose counts: a person's rule or choice that was acted on, a commit that
says why, with what the person asked for since the one before, a plan that they approved, a pull
request. The agent's other sentences cannot be chosen among by rules: they stay in the session's note.
judge.txt holds the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial

from cortex.core.extract.candidate import TITLE_LIMIT
from cortex.core.extract.prose import own_lines
from cortex.core.model.distillation import Distillation, DistilledRecord
from cortex.core.model.event import PAUSE_SECONDS, Event, time_of_id
from cortex.core.model.session_asks import find_plans
from cortex.core.model.session_report import is_bookkeeping
from cortex.core.model.turn_summary import (
    AGENT,
    PLAN_APPROVAL,
    USER,
    Commit,
    TurnSummary,
    Utterance,
    parse_turn_summary,
    utterances,
)
from cortex.core.ranking.text_similarity import token_set
from cortex.core.redact.person_words import shorten_plan
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, parse_time, shorten
from cortex.core.text.tables import patterns_of, read_sections
from cortex.core.text.value import NamedTuple

RULE_TAG = "rule"  # of what a person said for all times
READ_TYPES = ("stop", "pre_compact", "prompt")  # of events
MAX_RECORDS, MAX_RULES = 3, 8  # of a stretch, and of a person's rules in a session
_MIN_WORDS, _MIN_SUBJECT_WORDS = 3, 3  # of a sentence, and of its subject
_MIN_BODY_WORDS = 12  # of a commit that says why
_MAX_PROMPT_CHARS = 3000  # of a prompt that is read; a longer one is mostly pasted
_MAX_DETAILS_CHARS, _MAX_LINE_CHARS, _MAX_ASKS = 900, 300, 3
_SAME_SUBJECT = 0.5  # share of the words of the shorter of two statements, which makes them one
_WORD_RE = lazy_re(r"[\u3040-\ud7af]{1,2}|[^\s\u3000-\ud7af\uff00-\uff1f]+")  # two signs of CJK
_SENTENCE_RE = lazy_re(r"(?<=[.!?])[\"”')*_]{0,3}\s+|(?<=[。！？])\s*|\n+|\s--?\s")
_RECOMMENDED_RE = lazy_re(r"(?i) ?\(recommended\)")  # as a host marks what an agent proposes
# A sentence whose first words refer to something said elsewhere; a word of code, which names it.
_POINTING_RE = lazy_re(r"(?i)(?:[\w']+,? ){0,4}(?:it|it's|this|that|that's|these|those|them)\b")
_CODE_RE = lazy_re(r"`|[\w-]\.\w|_\w|[a-z][A-Z]|\w/\w|--\w|\d")
_pattern = patterns_of(__file__)
_REVERT_RE = lazy_re(r'Revert "(.+)"')
# Ranks, by what speaks for a record.
_RULE, _COMMIT, _PLAN, _REQUEST, _ASSENT, _ACTED_ON, _ANSWER = range(7)


class _JudgedTurn(NamedTuple):
    event: str  # its id
    said: list[Utterance]
    done: TurnSummary


class _Found(NamedTuple):
    """A record that may be kept; those of a lower rank are kept first."""

    rank: int
    record: DistilledRecord


def judge_session(events: Iterable[Event], before: Iterable[DistilledRecord] = ()) -> Distillation:
    """The records that the events of a session, oldest first, bear out: the person's rules, and
    `MAX_RECORDS` others of each stretch without a long pause. Of one subject there is one, the last
    word. A record of `before`, an earlier judgement, is dropped only for a later one of its subject."""
    turns = [_read_turn(event) for event in events if event.type in READ_TYPES]
    stretches, told = _number_stretches(turns), {one.statement for one in before}
    words = [*_find_choices(turns), *_find_answers(turns)]
    asked = [(turn, one) for turn in turns for one in turn.done.pull_requests if one.subject]
    requests = [
        _Found(_REQUEST, _record(turn, "learning", one.subject, 0.8, one.body))
        for turn, one in asked
    ]
    found = [*_find_commits(turns), *_find_plans(turns), *requests]
    # Later words first, so that of one subject they are kept.
    ranked = sorted((*reversed(words), *found), key=lambda one: one.rank)
    kept: list[_Found] = []
    there: Counter[int] = Counter()
    for one in ranked:
        place = -1 if one.rank == _RULE else stretches[one.record.event]
        most = MAX_RULES if one.rank == _RULE else MAX_RECORDS
        is_told = one.record.statement in told
        if (is_told or there[place] < most) and not any(map(partial(_is_same_subject, one), kept)):
            there[place] += not is_told
            kept.append(one)
    return Distillation("", (), "", (), tuple(one.record for one in kept))


def find_rules(event: Event) -> list[DistilledRecord]:
    """The rules for all times that the person gave in the turn of an event and that were acted on in
    it: they hold at once."""
    turns = [_read_turn(event)] if event.type in READ_TYPES else []
    found = (*_find_choices(turns), *_find_answers(turns))
    return [one.record for one in found if one.rank == _RULE][:MAX_RULES]


def _number_stretches(turns: Sequence[_JudgedTurn]) -> dict[str, int]:
    """The ids of events, each with the number of its stretch: a pause ends one."""
    numbers, number, last = dict[str, int](), 0, 0
    for turn in turns:
        at = parse_time(time_of_id(turn.event)) or last
        number += at - last >= PAUSE_SECONDS
        numbers[turn.event], last = number, at
    return numbers


def _read_turn(event: Event) -> _JudgedTurn:
    done = parse_turn_summary(event.text)
    is_prompt = event.type == "prompt"
    said = [Utterance(USER, done.message)] if is_prompt else utterances(done.message)
    return _JudgedTurn(event.id, said, done)


@cache
def _cue_words() -> frozenset[str]:
    return token_set(" ".join(read_sections(__file__)["cue words"]))


def _says(section: str, text: str) -> bool:
    """Whether a pattern of this section of judge.txt stands in a text, in any case."""
    text = text.lower().replace("’", "'")
    text = _pattern("report").sub("", text) if section in ("rule", "choice") else text
    return _pattern(section).search(text) is not None


def _is_same_subject(one: _Found, other: _Found) -> bool:
    words, others = (token_set(each.record.statement) - _cue_words() for each in (one, other))
    return len(words & others) >= _SAME_SUBJECT * min(len(words), len(others)) > 0


def _record(
    turn: _JudgedTurn,
    type_: str,
    statement: str,
    confidence: float,
    details: str = "",
    *,
    is_rule: bool = False,
) -> DistilledRecord:
    type_, confidence = ("preference", 0.9) if is_rule else (type_, confidence)
    line = shorten(statement, 500)
    return DistilledRecord(
        type_, line, "", "", confidence, 0, (RULE_TAG,) if is_rule else (), line, turn.event,
        details=_cut(details),
    )  # fmt: skip


def _cut(text: str) -> str:
    """A text of at most `_MAX_DETAILS_CHARS` characters, cut at a line end where there is one."""
    if len(text) <= _MAX_DETAILS_CHARS:
        return text.strip()
    end = text.rfind("\n", _MAX_DETAILS_CHARS // 2, _MAX_DETAILS_CHARS)
    return f"{text[: end if end > 0 else _MAX_DETAILS_CHARS].rstrip()}\n…"


# What a person said.


def _own_sentences(one: Utterance) -> list[str]:
    """The sentences of a person's prompt that are their own words."""
    if one.about or len(one.text) > _MAX_PROMPT_CHARS:
        return []
    parts = _SENTENCE_RE.split("\n".join(own_lines(one.text)))
    lines = (one_line(part).strip(" -*•>") for part in parts)
    return [line for line in lines if len(_WORD_RE.findall(line)) >= _MIN_WORDS]


def _find_choices(turns: Sequence[_JudgedTurn]) -> Iterator[_Found]:
    """A person's sentences that choose, forbid or correct, if they were acted on: the agent agreed
    at once, or changed something. Of the first prompt rules alone: what else it says is the task."""
    is_first, heard = True, list[str]()
    for number, turn in enumerate(turns):
        for at, one in enumerate(turn.said):
            sentences = _own_sentences(one) if one.role == USER else []
            heard += [one.text] if one.role == AGENT else []
            reply = _reply(turns, number, at)
            is_changed = bool(turn.done.changed_files or turn.done.commits)
            for line in sentences:
                is_rule = _says("rule", line) and _names_subject(line, 1)
                is_choice = _says("choice", line) and _names_subject(line, _MIN_SUBJECT_WORDS)
                is_choice = is_choice and not _says("impersonal", line)  # pasted
                if _says("no purpose", line) or not (is_rule or is_choice):
                    continue
                if any(line in text for text in heard):
                    continue  # pasted back
                agreed = _says("assent", reply[:_MAX_LINE_CHARS])
                points_back = bool(_POINTING_RE.match(line)) and not _CODE_RE.search(line)
                if points_back and len(reply.split()) < _MIN_BODY_WORDS:
                    continue  # nobody knows later what `it` was
                if (agreed or is_changed) and (is_rule or not is_first):
                    rank = _RULE if is_rule else _ASSENT if agreed else _ACTED_ON
                    answer = f"Answer: {shorten(reply, _MAX_LINE_CHARS)}" if points_back else ""
                    yield _Found(rank, _choice_record(turn, line, answer, is_rule=is_rule))
            is_first = is_first and not (one.role == USER and not one.about)


def _names_subject(line: str, least: int) -> bool:
    """Whether a sentence says what it is about, in so many words."""
    return len(token_set(line) - _cue_words()) >= least or not line.isascii()


def _reply(turns: Sequence[_JudgedTurn], number: int, at: int) -> str:
    """What the agent said next."""
    said = turns[number].said[at + 1 :]
    if not said and number + 1 < len(turns):
        said = turns[number + 1].said
    return said[0].text if said and said[0].role == AGENT else ""


def _choice_record(turn: _JudgedTurn, line: str, answer: str, *, is_rule: bool) -> DistilledRecord:
    """The record of a person's sentence, from where its subject begins."""
    opening = _pattern("openings").match(line.lower())
    line = line[opening.end() if opening else 0 :] or line
    type_ = "learning" if _says("correction", line) else "decision"
    return _record(turn, type_, line, 0.75, answer, is_rule=is_rule)


def _as_statement(question: str, answer: str) -> str:
    """A question with its answer; the answer first where both are no title together."""
    answer = _RECOMMENDED_RE.sub("", answer)
    is_short = len(question) + len(answer) < TITLE_LIMIT
    return f"{question} {answer}" if is_short else f"{answer} ({question})"


def _find_answers(turns: Sequence[_JudgedTurn]) -> Iterator[_Found]:
    """A person's answers to questions, and what they said in the place of a call that they refused."""
    for turn in turns:
        for one in turn.said:
            if one.role != USER or not one.about or one == PLAN_APPROVAL:
                continue
            text = one_line(one.text)
            is_refusal = _is_refusal(one)
            is_rule = is_refusal and _says("rule", text)
            is_choice = is_rule or _says("choice", text)
            is_process = _says("process", f"{text} {one.about}")
            if _says("no answer", text) or (not is_refusal and is_process):
                continue
            if is_refusal and (not is_choice or _says("no purpose", text)):
                continue
            about = shorten(one.about, _MAX_LINE_CHARS)
            statement = text if is_refusal else _as_statement(about, text)
            refused = about.removeprefix("refused").strip() if is_refusal else ""
            # The name of a file alone says nothing of what was refused.
            details = f"Instead of: {refused}" if " " in refused else ""
            record = _record(turn, "decision", statement, 0.75, details, is_rule=is_rule)
            yield _Found(_RULE if is_rule else _ANSWER, record)


# What was done on purpose.


def _find_commits(turns: Sequence[_JudgedTurn]) -> Iterator[_Found]:
    """Commits that say why, the latest first, each with what the person asked for since the one
    before; none that was reverted."""
    asks: list[str] = []
    found: list[tuple[Commit, _Found]] = []
    for turn in turns:
        asks += (line for one in turn.said if one.role == USER for line in _asks_of(one))
        for commit in turn.done.commits:
            if revert := _REVERT_RE.match(commit.subject):
                found = [pair for pair in found if pair[0].subject != revert[1]]
            elif len(commit.body.split()) >= _MIN_BODY_WORDS and not is_bookkeeping(commit.subject):
                found.append((commit, _Found(_COMMIT, _commit_record(turn, commit, asks))))
        asks = [] if turn.done.commits else asks
    return (one for _, one in reversed(found))


def _is_refusal(one: Utterance) -> bool:
    return one.about.partition(" ")[0] == "refused"


def _asks_of(one: Utterance) -> list[str]:
    if one.about:
        is_refusal = _is_refusal(one)
        return [one_line(one.text if is_refusal else f"{one.about}: {one.text}")]
    return [line for line in _own_sentences(one) if not _says("bookkeeping", line)]


def _commit_record(turn: _JudgedTurn, commit: Commit, asks: Sequence[str]) -> DistilledRecord:
    """The record of a commit: a fix, a decision if it or the person chose something, else a
    learning."""
    choices = [line for line in asks if _says("choice", line) or _says("rule", line)]
    telling = [line for line in asks if not _says("process", line)]
    lines = " ".join(shorten(line, _MAX_LINE_CHARS) for line in telling[-_MAX_ASKS:])
    chosen = _says("contrast", commit.body) or bool(choices)
    is_fix = _says("fix", commit.subject)
    type_ = "bugfix" if is_fix else "decision" if chosen else "learning"
    details = _cut(commit.body) + (f"\n\nAsked: {lines}" if lines else "")
    return _record(turn, type_, commit.subject, 0.85, details)


def _find_plans(turns: Sequence[_JudgedTurn]) -> Iterator[_Found]:
    """Plans that the person approved, or gave to a session to carry out; none from before they took
    the work back."""
    last = max((n for n, turn in enumerate(turns) if _takes_back(turn)), default=0)
    for turn in turns[last:]:
        for plan in find_plans(turn.said):
            if plan.is_approved or turn.done.changed_files:
                text = shorten_plan(plan.text)
                yield _Found(_PLAN, _record(turn, "decision", plan.title, 0.85, text))


def _takes_back(turn: _JudgedTurn) -> bool:
    lines = (line for one in turn.said if one.role == USER for line in _own_sentences(one))
    return any(_says("taken back", line) for line in lines)
