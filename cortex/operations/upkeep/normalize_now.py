"""Normalize one event as soon as it is captured, by the rules of a pass over the inbox."""

from __future__ import annotations

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.layout import is_among_briefings
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
    reason_of,
)
from cortex.core.model.record import content_digest
from cortex.core.normalize.handlers import records_from_event
from cortex.core.normalize.topic_upsert import record_from_note
from cortex.core.notes.note import read
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.index.changed_pages import plan_page_updates
from cortex.index.refresh import query_index
from cortex.operations.capture.capture import publish_event, with_time
from cortex.operations.upkeep.existing_records import load_existing_records
from cortex.operations.upkeep.inbox import CREATED, DUPLICATE, UPDATED, InboxNormalizer
from cortex.operations.upkeep.record_lock import page_lock, record_lock
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import change_marker

_LOCK_TIMEOUT_SECONDS = 60.0  # for others that save at the same time


class NormalizeNowResult(NamedTuple):
    """The records that an event made or changed, the one that was meant first."""

    records: tuple[tuple[str, str], ...]  # path; created, updated or duplicate
    problems: tuple[Problem, ...]  # of the briefings


def publish_and_normalize(
    vault: Vault, caller: Caller, event: Event
) -> tuple[Event, NormalizeNowResult]:
    """Capture an event and normalize it at once; the event with the id and the time that it got."""
    captured = publish_event(vault, caller, event, retry_hint="run the same command again")
    event = with_time(caller, event._replace(id=captured.id))
    return event, normalize_now(vault, caller, event)


def normalize_now(vault: Vault, caller: Caller, event: Event) -> NormalizeNowResult:
    """Normalize an event of the inbox. Raises `CortexError` that names the event, which is kept."""
    stamp = change_marker.git_stamp(vault)
    problems: list[Problem] = []
    if stamp and not change_marker.is_built_at(vault, stamp):
        # With all that merges need it takes 30 ms to import; after most saves git has not run.
        from cortex.operations.upkeep.restore_lost import try_restore_lost  # noqa: PLC0415

        problems += try_restore_lost(vault, caller)  # a record that git mixed takes no event
    try:
        with record_lock(vault, _LOCK_TIMEOUT_SECONDS):
            if not files.exists(vault.root, vault.layout().pending(event.id)):
                return _result_of_earlier_run(vault, caller, event)
            is_fresh = change_marker.is_built_at(vault, stamp)
            # A run that does not come to its end leaves briefings to heal.
            change_marker.mark_briefings_stale(vault)
            done = InboxNormalizer(vault, load_existing_records(vault, caller, [event]))
            done.run([f"{event.id}.md"], caller)
            # Where they were not, heal brings all of them up to date, so that the next save is quick.
            has_healed = is_fresh and _update_briefings(vault, done)
            # What a distillation replaces is for heal to remove.
            if has_healed and event.type != events.DISTILLED:
                change_marker.mark_briefings_built(vault, stamp)
    except (CortexError, OSError) as error:
        # `error.hint` says how to mend settings that forbid changes.
        first = f"{error.hint}; then " if isinstance(error, InvalidInputError) else ""
        message = f"kept as event {event.id}, which is no record yet: {reason_of(error)}"
        raise CortexError(message, f"{first}cortex normalize makes it one") from error
    if done.failed:
        failure = done.failed[0]
        message = f"kept as event {event.id}, which is no record yet: {failure.message}"
        raise CortexError(message, failure.hint)
    if not has_healed:
        from cortex.operations.upkeep.heal import try_heal_pages  # noqa: PLC0415  as above

        problems += try_heal_pages(vault, caller, stamp)
    if not done.outcomes:
        return _result_of_earlier_run(vault, caller, event)
    return NormalizeNowResult(tuple(done.outcomes), tuple(problems))


def _update_briefings(vault: Vault, done: InboxNormalizer) -> bool:
    """Write the changed lines into the briefings; False if all of them must be healed."""
    if checkout.operation_in_progress(vault.root):
        return False
    try:
        with page_lock(vault, _LOCK_TIMEOUT_SECONDS):
            pages = plan_page_updates(vault.root, done.original_bytes)
            for path, current, expected in pages or ():
                files.replace(vault.root, path, expected, current)
    except (ConflictError, NotFoundError, OSError):
        return False
    return pages is not None


def _result_of_earlier_run(vault: Vault, caller: Caller, event: Event) -> NormalizeNowResult:
    """What another process made of the event: the records that name it."""
    wanted = KNOWLEDGE._replace(event=event.id)
    rows = query_index(vault, caller.progress, lambda index: index.catalogue.find(wanted, "path"))
    paths = [row.path for row in rows if not is_among_briefings(row.path)]
    if not paths:
        place = vault.layout().failed(event.id)
        if not files.exists(vault.root, place):
            place = vault.layout().event(event.id)
        hint = f"cortex retry {event.id}"
        raise CortexError(f"kept as event {event.id}, but no record names it: {place}", hint)
    return NormalizeNowResult(tuple((path, _outcome_of(vault, path, event)) for path in paths), ())


def _outcome_of(vault: Vault, path: str, event: Event) -> str:
    """What the event did to a record, as far as the record tells."""
    note = read(files.read(vault.root, path), path)
    named = [id_ for id_ in note.provenance()[0] if events.is_event_id(id_)]
    if named[:1] == [event.id]:
        return CREATED
    is_latest = max(named) == event.id and note.updated == event.at
    texts = {content_digest(made.title, made.body) for made in records_from_event(event)}
    record = record_from_note(note)
    is_new = is_latest or content_digest(record.title, record.body) not in texts
    return UPDATED if is_new else DUPLICATE
