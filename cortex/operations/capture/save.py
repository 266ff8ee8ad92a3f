"""Keep something one has learned: captured as an event, and a record at once."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from typing import NamedTuple

from cortex.core.model import event as events, topic as topics
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Conflict, CortexError, Invalid, Problem
from cortex.core.model.record import (
    SCOPES,
    confidence_of,
    is_type,
    priority_of,
    scope_of,
    type_named,
)
from cortex.core.model.relation import target_in
from cortex.core.normalize.handlers import SAVED_TITLE_LIMIT, records_of
from cortex.core.normalize.topic_upsert import record_of, says
from cortex.core.notes import note as notes
from cortex.core.ranking.text_similarity import SUGGESTED, similarity
from cortex.core.redact.secrets import clean
from cortex.core.text.shell_command import line
from cortex.core.text.strings import one_line, shorten
from cortex.index.catalogue import Catalogue, Row
from cortex.index.refresh import Views, look, sealed_state
from cortex.operations.capture.capture import new_id, publish
from cortex.operations.capture.normalize import known
from cortex.operations.capture.normalize_now import at_once
from cortex.operations.capture.quick_lookup import topic_at
from cortex.operations.find import resolve_note
from cortex.operations.find.project_context import project_here
from cortex.operations.records import change_record
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.lock import lock

_CANDIDATES = 300  # records whose titles are compared with the new one
_SHOWN = 3
_REPLACED_BY_BLANK = dict.fromkeys((*range(32), *range(127, 160)), " ")


class Similar(NamedTuple):
    """A record that may say the same."""

    id: str
    title: str
    similarity: float  # of the titles, 0 to 1


class Saved(NamedTuple):
    """The record that says it now."""

    id: str
    path: str
    outcome: str  # created, updated or duplicate
    topic: str
    suggested_topic: str  # only where none was given
    event: str
    similar: tuple[Similar, ...]
    note: str  # what else there is to know; mostly nothing
    problems: tuple[Problem, ...]


def save(
    vault: Vault, caller: Caller, title: str, *, type: str = "", what: str = "", why: str = "", where: str = "", learned: str = "", body: str = "",
    topic: str = "", project: str = "", scope: str = "", tags: str = "", session: str = "", confidence: str = "", priority: str = "",
    derived_from: str = "", supersedes: str = "",
) -> Saved:  # fmt: skip
    """Save what was learned as a record, at once.

    A topic has one record within its project and scope: saved again, it says what was said last, and what was said before
    stays in its event (cortex history ID). Without a topic, the same text within 15 minutes is one record. Secrets and
    <private>…</private> become [REDACTED:kind], as in a capture.

    title: what it is, in a line
    type: decision, gotcha, pattern, learning or any other word; by default what the topic or the first word says
    what: what was done or decided
    why: the reason
    where: files, places
    learned: what to remember of it
    body: the whole text in place of these four; a single - reads standard input
    topic: a stable key, such as decision/storage; cortex topic TITLE suggests one
    project: the project; by default what the working directory says
    scope: project, personal or global; a word in the record, which lies in this vault all the same: cortex promote moves it
    tags: comma-separated
    session: the session that this belongs to
    confidence: how sure it is, from 0 to 1
    priority: how much it matters, from 1 to 10
    derived_from: ids of the records that this was made from
    supersedes: ids of the records that no longer hold from now on

    Example: cortex save "Keep the index outside the vault" --type decision --why "an index is full of pickles" --topic decision/index
    Example: git log -1 --format=%B | cortex save "Why the cache went" --body - --tags cache
    """
    event = _observation(
        Event(
            id=new_id(caller), type="observation", at=caller.now, text=_text(clean(body), clean(what), clean(why), clean(where), clean(learned)),
            session=clean(session), project=project_here(vault, caller, project), branch=clean(checkout.branch_of(caller.cwd)),
            tags=tuple(dict.fromkeys(clean(tag.strip()) for tag in tags.split(",") if tag.strip())), source=caller.source, title=_title(title),
            record=type_named(clean(type).strip().lower()), topic=topics.normal(clean(topic)) if topic else "", scope=scope.strip().lower(),
            confidence=confidence_of(confidence), priority=priority_of(priority),
        )
    )  # fmt: skip
    if derived_from or supersedes:
        event = _related(vault, caller, event, derived_from, supersedes)
    event = _behind_the_last(vault, caller, event)
    captured = publish(vault, caller, event)
    event = event._replace(id=captured.id, at=events.time_of(captured.id))
    done = at_once(vault, caller, captured, event)
    path, outcome = done.records[0]
    note = notes.read(files.read(vault.root, path), path)
    id_ = note.get("id") or path
    suggested = (
        "" if note.get("topic") else topics.suggest(note.get("type"), event.title, event.text)
    )
    alike = _similar(vault, event, id_) if outcome == "created" else ()
    return Saved(
        id_,
        path,
        outcome,
        note.get("topic"),
        suggested,
        event.id,
        alike,
        _remark(note, event),
        done.problems,
    )


def _observation(event: Event) -> Event:
    """The event, made whole; `Invalid` when it cannot be saved."""
    if not event.title:
        raise Invalid(
            "a save needs a title", 'cortex save "What it is, in a line" --why "the reason"'
        )
    if event.record and not is_type(event.record):
        raise Invalid(
            f"{shorten(event.record, 50)!r} is no type of record",
            "use one word of a-z, 0-9 and hyphens, at most 40 characters: decision, gotcha",
        )
    if event.scope and event.scope not in SCOPES:
        raise Invalid(
            f"unknown scope {shorten(event.scope, 50)!r}", f"use one of: {', '.join(SCOPES)}"
        )
    if event.scope == "project" and not event.project:
        raise Invalid(
            "there is no project here that it could be of",
            "name it with --project, or use --scope personal",
        )
    text = event.text or event.title
    if len(event.title) > SAVED_TITLE_LIMIT:
        text = f"{event.title}\n\n{event.text}" if event.text else text
    event = event._replace(
        text=text,
        title=shorten(event.title, SAVED_TITLE_LIMIT),
        scope=event.scope or scope_of(event.project),
    )
    events.check(event)
    return event


def _behind_the_last(vault: Vault, caller: Caller, event: Event) -> Event:
    """The event with an id behind all that its topic's record names: what is said now is what holds, also within a second, and
    also where another clone's clock is ahead."""
    if not event.topic:
        return event
    of = (event.project, event.scope, event.topic)
    path = topics.path(*of)
    with suppress(
        CortexError, OSError
    ):  # whoever normalizes the event says what is wrong, and keeps it
        there = topic_at(vault, event)
        if there is None:
            held = known(vault, caller)
            there = held.paths.get(topics.record_id(*of)) or held.topics.get(of)
        path = there or path
    try:
        note = notes.read(files.read(vault.root, path), path)
    except (CortexError, OSError):  # there is none yet
        return event
    if note.get("id") in event.supersedes:
        raise Invalid(
            f"the topic {event.topic} is of the record that this is to supersede",
            "save it without --supersedes: it says anew what that record says",
        )
    last = events.latest(note.provenance()[0])
    return (
        event._replace(id=events.id_after(last, b"\1" + caller.random(4)))
        if last >= event.id
        else event
    )


def _title(title: str) -> str:
    return one_line(clean(title).translate(_REPLACED_BY_BLANK))


def _text(body: str, what: str, why: str, where: str, learned: str) -> str:
    """The record's text from its parts, in the form of the templates; empty when nothing was said."""
    parts = {"What": what, "Why": why, "Where": where, "Learned": learned}
    said = [f"**{name}.** {text.strip()}" for name, text in parts.items() if text.strip()]
    if body.strip() and said:
        raise Invalid(
            "--body is the whole text: --what, --why, --where and --learned cannot stand beside it",
            "put them into the body, or leave it out",
        )
    return body if body.strip() else "\n\n".join(said)


def _related(
    vault: Vault, caller: Caller, event: Event, derived_from: str, supersedes: str
) -> Event:
    """The event with the ids of the records that these names mean."""

    def ids(now: Views, names: str) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(
                change_record.record(resolve_note.one(now.catalogue, name)).id
                for name in names.replace(",", " ").split()
            )
        )

    old, sources = look(
        vault,
        caller.progress,
        lambda now: (ids(now, supersedes), ids(now, derived_from)),
        words=False,
    )
    return event._replace(supersedes=old, derived_from=sources)


def _similar(vault: Vault, event: Event, id_: str) -> tuple[Similar, ...]:
    """Current records of the project whose titles are like this one's, by the catalogue of the last look."""
    words = sorted({word for word in event.title.casefold().split() if len(word) > 3}, key=len)[-4:]
    folder = vault.cache()
    where = " OR ".join("instr(lower(title), ?)" for _ in words)
    rows: list[Row] = []
    # It is only a suggestion: whoever builds or mends the catalogue goes first.
    busy = suppress(Conflict, sqlite3.DatabaseError)
    with busy, lock(os.path.join(folder, "index.lock"), "search index", shared=True, wait=1.0):
        if words and sealed_state(folder) is not None:
            with Catalogue(folder, writable=False) as catalogue:
                asked = f"project = ? AND tier = 0 AND id != ? AND ({where}) ORDER BY date DESC LIMIT {_CANDIDATES}"
                rows = list(catalogue.rows(asked, (event.project, id_, *words)))
    alike = [
        Similar(row.id, row.title, round(similarity(event.title, row.title), 3))
        for row in rows
        if row.id != row.path
    ]
    return tuple(
        sorted(
            (one for one in alike if one.similarity >= SUGGESTED),
            key=lambda one: (-one.similarity, one.id),
        )[:_SHOWN]
    )


def _remark(note: notes.Note, event: Event) -> str:
    """What a caller would not expect of the record it has just saved."""
    if (
        note.get("topic")
        and events.latest(note.provenance()[0]) != event.id
        and not any(says(record_of(note), one) for one in records_of(event))
    ):
        return f"a later text stands there: {line('history', note.get('id'))} shows both"
    if note.get("status").lower() == "superseded":
        by = target_in(note.get("superseded_by"))
        return f"it stays superseded{f' by {by}' if by else ''}: save there, or restore it"
    return ""
