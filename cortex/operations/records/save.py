"""Keep something one has learned: captured as an event, and a record at once."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Annotated, Literal

from cortex.core.model import event as events, record, topics
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.parameters import Between
from cortex.core.model.problem import CortexError, InvalidInputError, Problem
from cortex.core.model.record import MadeRecord, SimilarRecord
from cortex.core.normalize.handlers import MAX_SAVED_TITLE_CHARS, records_from_event
from cortex.core.normalize.topic_upsert import has_same_text, record_from_note
from cortex.core.notes import note as notes
from cortex.core.notes.relations import parse_link_target
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import cortex_command, option_words, printable_line, shorten
from cortex.core.text.value import NamedTuple
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.capture import clean_tags, new_event_id
from cortex.operations.capture.project_context import resolve_project
from cortex.operations.records.similar import made_record
from cortex.operations.upkeep.existing_records import load_existing_records
from cortex.operations.upkeep.normalize_now import publish_and_normalize
from cortex.vault import files, settings, user_folders
from cortex.vault.git import checkout
from cortex.vault.locate import (
    Vault,
    find_personal_vault,
    is_own,
    personal_vault_problem,
    real_folder,
)

MIN_GLOBAL_CONFIDENCE = 0.8  # above which a model's `global` is believed, as seed 003 has it
_NOT_GLOBAL = "kept for this project: an agent's scope global needs a confidence above 0.8"


class SaveResult(NamedTuple):
    """The record that says it now; with `learnings` the records of a text."""

    id: str = ""
    path: str = ""
    outcome: str = ""  # created, updated or duplicate
    topic: str = ""
    suggested_topic: str = ""  # only where none was given
    event: str = ""
    similar: tuple[SimilarRecord, ...] = ()
    contradicts: tuple[SimilarRecord, ...] = ()
    note: str = ""  # what else there is to know; mostly nothing
    problems: tuple[Problem, ...] = ()
    file: str = ""  # absolute path
    hits: tuple[MadeRecord, ...] = ()  # of learnings
    total: int = 0


def save(
    vault: Vault, caller: Caller, title: str, *, type: str = "", what: str = "", why: str = "",
    where: str = "", learned: str = "", body: str = "", topic: str = "", project: str = "",
    scope: Literal["", "project", "personal", "global"] = "", tags: tuple[str, ...] = (),
    session: str = "", confidence: Annotated[float, Between(0, 1)] | None = None,
    priority: Annotated[int, Between(1, 10)] | None = None, owner: str = "", due: str = "",
    derived_from: tuple[str, ...] = (), supersedes: tuple[str, ...] = (), learnings: bool = False, source: str = "",
) -> SaveResult:  # fmt: skip
    """Save what was learned as a record, at once.

    A topic has one record in its project and scope, with the last text; earlier ones stay in their
    events. Without one, the same text within 15 minutes is one record. Secrets become [REDACTED:kind].

    --learnings makes a record of each numbered item, else of each bullet, below the last heading
    "Key Learnings", "Learnings" or "Aprendizajes Clave" of a text; without any a line in its session.

    title: what it is, in a line; with --learnings the text; a single - reads standard input
    type: decision, gotcha, pattern, learning or any other word (+WORD where it looks like a slip); by default the topic's
    what: what was done or decided
    why: the reason
    where: files, places
    learned: what to remember of it
    body: the whole text in place of these four; a single - reads standard input
    topic: a stable key, such as decision/storage; cortex topic TITLE suggests one
    project: the project; by default what the working directory says
    scope: project; or personal or global: then it goes to your own vault. What an agent calls global needs a confidence above 0.8
    tags: comma-separated
    session: the session that this belongs to
    confidence: how sure it is, from 0 to 1
    priority: how much it matters, from 1 to 10
    owner: who an action is for
    due: until when it is to be done: 2026-12-01, tomorrow, friday
    derived_from: ids of the records that this was made from, comma-separated
    supersedes: ids of the records that no longer hold from now on, comma-separated
    learnings: keep the learnings in a text; beside it only --session, --project and --source count
    source: where it came from; by default the interface

    Example: cortex save "Keep the index outside" --why "it is a cache" --topic decision/index
    Example: cortex save --learnings --session s1 - < answer.md
    """
    vault, kept, remark = _place_by_scope(vault, caller, "" if learnings else scope, confidence)
    event = Event(
        id=new_event_id(caller), type="passive" if learnings else "observation", at=caller.now,
        text=sanitize_text(title) if learnings else _compose_text(body, what, why, where, learned),
        session=sanitize_text(session), project=resolve_project(vault, caller, project),
        branch=sanitize_text(checkout.branch_of(caller.cwd)),
        source=sanitize_text(source) or caller.source,
    )  # fmt: skip
    if learnings:
        return _save_learnings(vault, caller, event)
    event = event._replace(
        tags=clean_tags(tags), title=printable_line(sanitize_text(title)), scope=kept,
        record=known_type(vault, sanitize_text(type).strip().lower()),
        topic=topics.normalize_topic(sanitize_text(topic)) if topic else "",
        confidence="" if confidence is None else record.format_confidence(confidence),
        priority="" if priority is None else str(priority),
    )  # fmt: skip
    event = _validated_event(_with_task(event, caller.today, owner, due))
    event = _with_relations(vault, caller, event, derived_from, supersedes)
    return _save_event(vault, caller, _with_later_id(vault, caller, event), remark, project)


def _with_task(event: Event, today: str, owner: str, due: str) -> Event:
    """The event, of an action if it has an owner or a due. `InvalidInputError` if it is of another type."""
    if not (owner or due):
        return event
    if event.record not in ("", "action"):
        hint = "--type action, or leave both out"
        raise InvalidInputError(f"a {event.record} has no owner and no due date", hint)
    day, owner = due and read_due(due, today), printable_line(sanitize_text(owner))
    return event._replace(record="action", owner=owner, due=day)


def read_due(due: str, today: str) -> str:
    """The day that `friday` or a date names. Raises `InvalidInputError`."""
    from cortex.core.minutes.dates import find_due, is_date_only  # noqa: PLC0415  20 ms

    if is_date_only(due, today) and (day := find_due(due, today, is_cell=True)):
        return day
    hint = "use 2026-12-01, tomorrow or friday"
    raise InvalidInputError(f"{shorten(due, 50)!r} is no due date", hint)


def _save_learnings(vault: Vault, caller: Caller, event: Event) -> SaveResult:
    """Make the records of a text that is captured as an event of type `passive`."""
    events.validate(event)
    event, done = publish_and_normalize(vault, caller, event)
    hits = tuple(
        made_record(vault, notes.read(files.read(vault.root, path), path), path, outcome)
        for path, outcome in done.records
    )
    return SaveResult(event=event.id, hits=hits, total=len(hits), problems=done.problems)


def _place_by_scope(
    vault: Vault, caller: Caller, scope: str, confidence: float | None
) -> tuple[Vault, str, str]:
    """The vault in which a record of a scope lies, the scope that counts, and what to say of it. What
    a model calls true everywhere is so if it is sure of it."""
    is_doubtful = caller.source == "mcp" and (confidence or 0) <= MIN_GLOBAL_CONFIDENCE
    if scope == "global" and is_doubtful:
        return vault, "", _NOT_GLOBAL
    if scope in record.ONE_PERSONS_SCOPES:
        own, remark = ensure_personal_vault(vault)
        return own, scope, remark
    return vault, scope, ""


def ensure_personal_vault(vault: Vault) -> tuple[Vault, str]:
    """The vault in which a personal or global record is saved, and what to say of it.

    That is the person's own vault, if they have one; else one that is made now in their data folder.
    Raises `InvalidInputError` if theirs cannot be used.
    """
    if is_own(vault):
        return vault, ""
    if own := find_personal_vault(vault):
        return own, f"in your own vault, {own.root}"
    if problem := personal_vault_problem(vault):
        raise InvalidInputError(f"{problem.where} {problem.message}", problem.hint)
    # It takes 7 ms, once in a person's life.
    from cortex.operations.upkeep.vault_files import (  # noqa: PLC0415
        add_vault_files,
        set_default_vault,
    )

    root = real_folder(user_folders.user_folder("data"), "vault")
    os.makedirs(root, exist_ok=True)
    add_vault_files(root)
    set_default_vault(root)
    made = f"in a vault of your own, made now: {root} (cortex init DIR --default names another)"
    return Vault(root), made


def known_type(vault: Vault, word: str) -> str:
    """The type that a word names, empty for none. Raises `InvalidInputError` for what is no type, and
    for one that no record here has and that is likely a slip of the keyboard; a `+` before it makes
    it a type all the same."""
    type_ = record.canonical_type(word.removeprefix("+"))
    if type_ and not record.is_record_type(type_):
        hint = "use one word of a-z, 0-9 and hyphens, at most 40 characters: decision, gotcha"
        raise InvalidInputError(f"{shorten(type_, 50)!r} is no type of record", hint)
    folder = os.path.dirname(os.path.join(vault.root, vault.layout().record(type_, "a")))
    if type_ == word and (meant := record.intended_type(type_)) and not os.path.isdir(folder):
        hint = f"did you mean {meant}? --type +{type_} makes it a new type"
        raise InvalidInputError(f"no record here is of type {type_!r}", hint)
    return type_


def _save_event(vault: Vault, caller: Caller, event: Event, where: str, named: str) -> SaveResult:
    event, done = publish_and_normalize(vault, caller, event)
    path, outcome = done.records[0]
    note = notes.read(files.read(vault.root, path), path)
    made = made_record(vault, note, path, outcome)
    suggested = "" if made.topic else topics.suggest(made.type, event.title, event.text)
    slug = events.slug_remark(sanitize_text(named), event.project)
    remark = "; ".join(filter(None, (where, slug, _remark(vault, note, event))))
    return SaveResult(
        made.id, path, outcome, made.topic, suggested, event.id, made.similar, made.contradicts,
        remark, done.problems, made.file,
    )  # fmt: skip


def _validated_event(event: Event) -> Event:
    """The event, made whole; `InvalidInputError` when it cannot be saved."""
    if not event.title:
        hint = 'cortex save "What it is, in a line" --why "the reason"'
        raise InvalidInputError("a save needs a title", hint)
    # As of a record that a hand gave another word.
    if event.scope and event.scope not in record.SCOPES:
        hint = f"use one of: {', '.join(record.SCOPES)}"
        raise InvalidInputError(f"unknown scope {shorten(event.scope, 50)!r}", hint)
    if event.scope == "project" and not event.project:
        hint = "name it with --project, or use --scope personal"
        raise InvalidInputError("there is no project here that it could be of", hint)
    text = event.text or event.title
    if len(event.title) > MAX_SAVED_TITLE_CHARS:
        text = f"{event.title}\n\n{event.text}" if event.text else text
    event = event._replace(
        text=text,
        title=shorten(event.title, MAX_SAVED_TITLE_CHARS),
        # Without a project the default goes without saying: `personal` is what a person says.
        scope=event.scope or ("project" if event.project else ""),
    )
    events.validate(event)
    return event


def _with_later_id(vault: Vault, caller: Caller, event: Event) -> Event:
    """The event with an id behind all events of its topic's record, so that its text is the latest
    even within a second, or where another clone's clock is ahead."""
    if not event.topic:
        return event
    try:
        note = _topic_record(vault, caller, event)
    except (CortexError, OSError):  # there is none yet; else whoever normalizes the event says so
        return event
    if note.get("id") in event.supersedes:
        message = f"the topic {event.topic} is of the record that this is to supersede"
        hint = "save it without --supersedes: it says anew what that record says"
        raise InvalidInputError(message, hint)
    last = events.latest_event_id(note.provenance()[0])
    return event._replace(id=new_event_id(caller, last))


def _topic_record(vault: Vault, caller: Caller, event: Event) -> notes.Note:
    """The record of the event's topic; `NotFoundError` if there is none."""
    of = (event.project, event.scope or record.default_scope(event.project), event.topic)
    id_, path = topics.topic_record_id(*of), vault.layout().path(topics.record_path(*of))
    with suppress(CortexError, OSError):
        note = notes.read(files.read(vault.root, path), path)
        if note.get("id") == id_:
            return note
    existing = load_existing_records(vault, caller, [event._replace(supersedes=())])
    path = existing.path_by_id.get(id_) or existing.path_by_topic.get(of) or path
    return notes.read(files.read(vault.root, path), path)


def _compose_text(body: str, what: str, why: str, where: str, learned: str) -> str:
    """The record's text from its parts, as in the templates; empty if all parts are."""
    parts = {"What": what, "Why": why, "Where": where, "Learned": learned}
    given = {name: text for name, text in parts.items() if text.strip()}
    said = [f"**{name}.** {sanitize_text(text).strip()}" for name, text in given.items()]
    if body.strip() and said:
        beside = "--what, --why, --where and --learned cannot stand beside it"
        hint = "put them into the body, or leave it out"
        raise InvalidInputError(f"--body is the whole text: {beside}", hint)
    return sanitize_text(body) if body.strip() else "\n\n".join(said)


def _with_relations(
    vault: Vault, caller: Caller, event: Event, sources: tuple[str, ...], older: tuple[str, ...]
) -> Event:
    """The event with the ids of the records that these names mean."""
    if not (sources or older):
        return event
    # With all that healing needs it takes 30 ms, and most saves name no other record.
    from cortex.operations.records.change_record import find_editable  # noqa: PLC0415

    def ids(index: IndexSession, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(find_editable(index, name).id for name in names))

    def find(index: IndexSession) -> Event:
        return event._replace(supersedes=ids(index, older), derived_from=ids(index, sources))

    return query_index(vault, caller.progress, find)


def _remark(vault: Vault, note: notes.Note, event: Event) -> str:
    """What a caller would not expect of the record it has just saved."""
    asked = {"owner": event.owner, "due": event.due}
    if other := [
        word
        for key, value in asked.items()
        if value not in ("", note.get(key))
        for word in option_words(key, value)
    ]:
        return f"it stays as it was: {cortex_command('revise', note.get('id'), *other)} changes it"
    if (
        note.get("topic")
        and events.latest_event_id(note.provenance()[0]) != event.id
        and (own := record_from_note(note, form := settings.load(vault.root).form))
        and not any(has_same_text(own, one, form) for one in records_from_event(event))
    ):
        return f"a later text stands there: {cortex_command('history', note.get('id'))} shows both"
    if note.get("status").lower() == "superseded":
        by = parse_link_target(note.get("superseded_by"))
        return f"it stays superseded{f' by {by}' if by else ''}: save there, or restore it"
    return ""
