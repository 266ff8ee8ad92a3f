"""What a model made of some turns of a session: the value, and the text of the event that holds it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from cortex.core.model import event as events
from cortex.core.model.event import DISTILLED, Event
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import ONE_PERSONS_SCOPES
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple

MAX_RECORDS = 12  # of one answer
DISTILLED_TYPES = frozenset((
    "decision", "rejection", "preference", "gotcha", "bugfix", "pattern", "learning",
    "architecture", "config",
    "context", "progress", "code_description", "code",  # of seed 003
))  # fmt: skip
RELATIONS = ("refines", "contradicts", "supersedes")
BY_RULES = "rules"  # the model of a judgement of rules (`core/distill/judge.py`)
_MAX_TITLE_CHARS, _MAX_LINE_CHARS, _MAX_OUTCOME_CHARS = 100, 300, 1500
MIN_STATEMENT_CHARS = 20  # of a model's; a person may say less
_MAX_STATEMENT_CHARS, _MAX_QUOTE_CHARS = 800, 1000
_MAX_LINES, _MAX_TAGS, _MAX_DETAILS_CHARS = 8, 5, 2000
_FENCE = "```json\n", "\n```"


class DistilledRecord(NamedTuple):
    """Something worth knowing, with the words that show it."""

    type: str
    statement: str
    reason: str
    where: str
    confidence: float  # 0 to 1
    priority: int  # 1 to 10; 0 if none was given
    tags: tuple[str, ...]
    quote: str
    event: str = ""  # the id of the event in which the quote stands
    relation: str = ""  # of `RELATIONS`
    target: str = ""  # the id of the record to which that relation leads
    details: str = ""  # of a judgement of rules alone: what else is said, in markdown
    scope: str = ""  # personal or global: it is not the project's, and in no event of it


class Distillation(NamedTuple):
    """What a model made of some turns of a session."""

    title: str
    asked: tuple[str, ...]
    outcome: str
    open: tuple[str, ...]
    records: tuple[DistilledRecord, ...]
    covers: tuple[str, ...] = ()  # ids of the events that it was given
    model: str = ""


def compose_distillation(one: Distillation) -> str:
    """The text of the event that holds a distillation; `parse_distillation` reads it back."""
    records = [record._asdict() for record in one.records]
    for record in records:
        del record["scope"]
    table = one._asdict() | {"records": records}
    # What a model wrote must not close the fence around it.
    return json.dumps(table, ensure_ascii=False, indent=1).replace("`", "\\u0060").join(_FENCE)


def parse_distillation(text: str) -> Distillation:
    """The distillation in an event's text. Raises `InvalidInputError` if there is none."""
    try:
        table = json.loads(text.strip().removeprefix(_FENCE[0]).removesuffix(_FENCE[1]))
        if not isinstance(table, dict):
            raise ValueError("no object")  # noqa: TRY004  as of what is no JSON
    except (ValueError, RecursionError) as error:
        message = f"the event holds no distillation: {error}"
        raise InvalidInputError(message, "cortex distill SESSION --again") from error
    covers = (one for one in _read_lines(table, "covers", 0) if events.is_event_id(one))
    model = _read_text(table, "model", _MAX_LINE_CHARS)
    return read_distillation(table, least=1)._replace(covers=tuple(covers), model=model)


def read_distillation(
    table: Mapping[str, object], *, least: int = MIN_STATEMENT_CHARS
) -> Distillation:
    """A distillation from a JSON object. What is no text, no record or too long is left out, and
    statements of fewer than `least` characters."""
    listed = table.get("records")
    some = listed if isinstance(listed, list) else ()
    records = filter(None, (read_record(said, least=least) for said in some))
    return Distillation(
        _read_text(table, "title", _MAX_TITLE_CHARS),
        _read_lines(table, "asked"),
        _read_text(table, "outcome", _MAX_OUTCOME_CHARS),
        _read_lines(table, "open"),
        tuple(records),
    )


def read_record(said: object, *, least: int = MIN_STATEMENT_CHARS) -> DistilledRecord | None:
    """A record from a JSON object; None if it says too little or has no quote."""
    if not isinstance(said, dict):
        return None
    type_ = _read_text(said, "type", 40).lower()
    statement = _read_text(said, "statement", _MAX_STATEMENT_CHARS)
    quote = said.get("quote")
    if type_ not in DISTILLED_TYPES or len(statement) < least:
        return None
    if not isinstance(quote, str) or not 0 < len(quote.strip()) <= _MAX_QUOTE_CHARS:
        return None
    confidence, priority = said.get("confidence"), said.get("priority")
    tags = (tag.lower() for tag in _read_lines(said, "tags", _MAX_TAGS))
    kind, target = _read_relation(said)
    details, scope = said.get("details"), _read_text(said, "scope", 40).lower()
    return DistilledRecord(
        type_, statement, _read_text(said, "reason", _MAX_STATEMENT_CHARS),
        _read_text(said, "where", _MAX_LINE_CHARS),
        float(confidence) if isinstance(confidence, int | float) and 0 <= confidence <= 1 else 0.5,
        priority if isinstance(priority, int) and 1 <= priority <= 10 else 0,
        tuple(filter(events.is_tag, tags)), quote, _read_text(said, "event", 40), kind, target,
        details[:_MAX_DETAILS_CHARS].strip() if isinstance(details, str) else "",
        scope if scope in ONE_PERSONS_SCOPES else "",
    )  # fmt: skip


def _read_relation(said: Mapping[str, object]) -> tuple[str, str]:
    """The kind and the target of a relation, as an answer nests them or as an event holds them."""
    nested = said.get("relation")
    table = nested if isinstance(nested, dict) else {"kind": nested, "id": said.get("target")}
    kind, target = _read_text(table, "kind", 40), _read_text(table, "id", 200)
    return (kind, target) if kind in RELATIONS and target else ("", "")


def standing_distillations(ordered: Iterable[Event]) -> list[tuple[Event, Distillation]]:
    """Of the events of a session, oldest first, the distillations that are the latest for at least
    one of the events that they cover: a model's and those of rules apart, so that a judgement never
    takes the place of an answer. What cannot be read stands for nothing."""
    found: list[tuple[Event, Distillation]] = []
    latest: dict[tuple[bool, str], str] = {}
    for event in ordered:
        if event.type == DISTILLED:
            try:
                one = parse_distillation(event.text)
            except InvalidInputError:  # a pass over the inbox has told of it
                continue
            found.append((event, one))
            latest |= {(one.model == BY_RULES, id_): event.id for id_ in one.covers}
    standing = set(latest.values())
    return [(event, one) for event, one in found if event.id in standing]


def _read_text(table: Mapping[str, object], key: str, most: int) -> str:
    value = table.get(key)
    return shorten(value, most) if isinstance(value, str) else ""


def _read_lines(table: Mapping[str, object], key: str, limit: int = _MAX_LINES) -> tuple[str, ...]:
    """The strings of a list, or a string alone, each shortened to one line; at most `limit` of
    them, 0 for no limit."""
    value = table.get(key)
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    lines = (shorten(text, _MAX_LINE_CHARS) for text in values if isinstance(text, str))
    return tuple(filter(None, lines))[: limit or None]
