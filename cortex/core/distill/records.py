"""The records of a distillation. Their ids are made of their texts: said twice, they are one."""

from __future__ import annotations

from cortex.core.extract.candidate import JUDGED_LAYER, id_of_text, make_title
from cortex.core.model import event as events
from cortex.core.model.distillation import BY_RULES, DistilledRecord, parse_distillation
from cortex.core.model.event import Event
from cortex.core.model.record import Record, default_scope, format_confidence, initial_status
from cortex.core.text.strings import slugify

DISTILLED_LAYER = "distilled"


def distilled_records(event: Event) -> list[Record]:
    """The records of a distillation, as of the time when their quotes were said. Raises
    `InvalidInputError` if the event holds none."""
    made = parse_distillation(event.text)
    layer = JUDGED_LAYER if made.model == BY_RULES else DISTILLED_LAYER
    return [compose_record_of(event, one, layer) for one in made.records]


def compose_record_of(event: Event, one: DistilledRecord, layer: str) -> Record:
    """The record of an event: a distillation, or the turn itself where a rule holds at once."""
    title = make_title(one.statement.rstrip(".").replace("`", ""))
    why = f"\n\n**Why.** {one.reason}" if one.reason else ""
    where = f"\n\n**Where.** {one.where}" if one.where else ""
    details = f"\n\n{one.details}" if one.details else ""
    body = f"{one.statement}{details}{why}{where}"
    scope = default_scope(event.project)
    source = one.event if events.is_event_id(one.event) else event.id
    id_ = f"{slugify(title)}-{id_of_text(event.project, scope, one.type, body)}"
    is_related = bool(one.target) and one.target != id_
    return Record(
        id=id_, type=one.type, title=title, body=body, created=events.time_of_id(source),
        events=tuple(sorted({source, event.id})), status=initial_status(one.type), scope=scope,
        project=event.project, branch=event.branch, session=event.session,
        tags=tuple(sorted(set(one.tags))), confidence=format_confidence(one.confidence),
        priority=str(one.priority or ""), layer=layer,
        supersedes=(one.target,) if is_related and one.relation == "supersedes" else (),
        relations=((one.relation, one.target),) if is_related else (),
    )  # fmt: skip
