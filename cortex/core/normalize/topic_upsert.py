"""A topic saved again: the later text holds, the earlier one stays in its event, and the order of arrival shows nowhere.

Whatever one event alone can say (type, title, text, branch, session, confidence, priority) is what the greatest event id
says. Tags, relations and provenance are those of all, `created` is the earliest time and `updated` the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, TypeVar

from cortex.core.model.event import Event, id_after, latest, time_of
from cortex.core.model.record import Record, begun_as, compose, provenance, relation_fields
from cortex.core.model.relation import key_of, relations_in, target_in
from cortex.core.model.status import ASIDE
from cortex.core.normalize.changes import Upsert
from cortex.core.notes import note as notes, yaml_writer
from cortex.core.notes.edit import body_of, brought_back, with_body, with_fields, with_relation
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import clean
from cortex.core.text.strings import hash_bytes

EDIT = "edit"  # the source of an event that keeps what a hand had written

T = TypeVar("T", str, tuple[str, str])

# What was said in the event with an id; nothing when it cannot be read.
Said = Callable[[str], Iterable[Record]]


class Upserted(NamedTuple):
    """The record's bytes afterwards."""

    data: bytes
    edit: (
        Event | None
    )  # has to be kept before the record is replaced: it holds what would be lost otherwise
    changed: bool  # False when the event said what the record said already


def upserted(data: bytes, change: Upsert, said: Said, *, instead: bool = False) -> Upserted:
    """A topic's record after one more event. `Invalid` when a person's edit left it unreadable. `instead` when it is to hold
    `instead` of all that holds in its place (see `replaced`)."""
    note = notes.parse(data, change.path)
    before, _ = note.provenance()
    event = change.event
    if event.id in before:
        return Upserted(data, None, changed=False)
    wins = event.id > latest(before)
    # Who says anew what had been put away wants it back. What was superseded stays so: another record holds in its place, and
    # which of the two is right is for a person to say, as one does who saves it in place of that one. An event from before it
    # was put away changes nothing.
    back = (
        wins
        and note.get("status").lower() in (ASIDE if instead else ("archived", "deleted"))
        and event.at >= note.get("updated")
    )
    if back:
        note = brought_back(note)
    held = record_of(note)
    joined = _joined(held, change.record)
    edit = None
    if wins and _text(held) != _text(change.record):
        if not any(
            _text(one) == _text(held) for id_ in sorted(before, reverse=True) for one in said(id_)
        ):
            edit = kept(held, event)
            joined = joined._replace(events=tuple(sorted({*joined.events, edit.id})))
        stands = held.status == begun_as(held.type) or (
            change.record.layer and held.status in ("active", "done")
        )  # a plan is done by its steps
        status = change.record.status if stands else held.status
        joined = _with_text_of(joined, change.record)._replace(status=status)
    elif wins:
        joined = joined._replace(
            session=change.record.session
        )  # all that the latest event alone says and that is no text
    return Upserted(
        _written(note, held, joined),
        edit,
        back or _text(joined) != _text(held) or not says(joined, change.record),
    )


def says(held: Record, said: Record) -> bool:
    """Whether a record says what was said."""
    return _text(held) == _text(said)


def replaced(note: Note, find: Callable[[str], Note | None], gone: Collection[str]) -> bool | None:
    """Whether another record holds in the place of a superseded one, when those that are `gone` do no more: the one that it
    names, or that which holds in the place of this one. None where that cannot be told."""
    passed = {key_of(id_) for id_ in gone}
    while name := key_of(target_in(note.get("superseded_by"))):
        if name in passed:
            return False
        passed.add(name)
        found = find(name)
        if found is None:
            return None
        note = found
        if (status := note.get("status").lower()) != "superseded":
            return status not in ASIDE
    return False


def record_of(note: Note) -> Record:
    """What a note says, as far as a record can."""
    events, rest = note.provenance()
    session, layer = rest.get("session"), rest.get("layer")
    relations = (
        (kind, target_in(text)) for kind, text in relations_in(note.fields.get("relations") or [])
    )
    return Record(
        id=note.get("id"), type=note.get("type"), title=note.get("title"), body=body_of(note),
        created=note.get("created"), events=events, status=note.get("status"), scope=note.get("scope"), project=note.get("project"),
        branch=note.get("branch"), topic=note.get("topic"), session=session if isinstance(session, str) else "", tags=note.texts("tags"),
        owner=note.get("owner"), due=note.get("due"), updated=note.get("updated"), confidence=note.get("confidence"),
        priority=note.get("priority"), supersedes=note.texts("supersedes"), relations=tuple(relations),
        pinned=note.fields.get("pinned") is True, layer=layer if isinstance(layer, str) else "",
    )  # fmt: skip


def _with_text_of(record: Record, said: Record) -> Record:
    return record._replace(
        type=said.type,
        title=said.title,
        body=said.body,
        branch=said.branch,
        session=said.session,
        confidence=said.confidence,
        priority=said.priority,
    )


def _text(record: Record) -> tuple[str, ...]:
    """What an upsert would overwrite."""
    return (
        record.type,
        record.title,
        record.body.strip("\n"),
        record.branch,
        record.confidence,
        record.priority,
    )


def _joined(held: Record, said: Record) -> Record:
    """What two events say together, whichever is the later."""
    return held._replace(
        tags=_united(held.tags, said.tags),
        supersedes=_united(held.supersedes, said.supersedes),
        relations=_united(held.relations, said.relations),
        events=tuple(sorted({*held.events, *said.events})),
        created=min(held.created, said.created) if held.created[-1:] == "Z" else held.created,
        updated=max(held.updated, said.created),
    )


def _united(held: tuple[T, ...], said: tuple[T, ...]) -> tuple[T, ...]:
    """Both, in an order that does not tell which came first. What adds nothing leaves the order in which somebody wrote them."""
    return tuple(sorted(set(held) | set(said))) if set(said) - set(held) else held


def _written(note: Note, held: Record, joined: Record) -> bytes:
    """A note that is as Cortex writes it is written so again, whatever it says now. In one that somebody has touched only
    the lines that change do."""
    if compose(held).encode("utf-8", "surrogatepass") == notes.write(note):
        return compose(joined).encode()
    _, rest = note.provenance()
    rest.pop("session", None)
    fields: dict[str, yaml_writer.Value] = {}
    for key in (
        "type",
        "title",
        "status",
        "branch",
        "tags",
        "created",
        "updated",
        "confidence",
        "priority",
        "supersedes",
    ):
        if getattr(joined, key) != getattr(held, key):
            fields[key] = getattr(joined, key)
    if joined.relations != held.relations and _as_lines(note, held.relations):
        fields["relations"] = relation_fields(joined.relations)
    else:
        for kind, to in joined.relations:
            note = with_relation(note, kind, to) if (kind, to) not in held.relations else note
    note = with_fields(
        note, fields | {"provenance": provenance(joined.events, joined.session) | rest}
    )
    return notes.write(with_body(note, joined.body))


def _as_lines(note: Note, relations: tuple[tuple[str, str], ...]) -> bool:
    """Whether the relations stand as Cortex writes them. Only then may they be sorted: other forms are a hand's, and stay."""
    held, wanted = note.fields.get("relations"), relation_fields(relations)
    return not held or (
        held == wanted
        and note.eol.join(yaml_writer.field("relations", wanted)).encode() in note.block
    )


def kept(held: Record, event: Event) -> Event:
    """What stands in the record and in none of its events, as an event of its own. Its time is that of the latest event that
    the record names: it is the same one whoever overwrites the text, also when somebody dies over it and another goes on. It
    sorts close behind that event, before what a save comes to stand behind it, so that it never passes for the latest."""
    after = latest(held.events) or event.id
    id_ = id_after(after, hash_bytes("/".join((held.id, *_text(held))), 4))
    return Event(
        id=id_, type="observation", at=time_of(id_), text=clean(held.body) if held.body.strip() else clean(held.title) or "(empty)",
        project=event.project, branch=clean(held.branch), source=EDIT, title=clean(held.title), record=held.type, topic=held.topic,
        scope=held.scope, confidence=clean(held.confidence), priority=clean(held.priority),
    )  # fmt: skip
