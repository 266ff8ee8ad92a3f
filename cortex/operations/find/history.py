"""What is kept of one note: every commit over all its names and both sides of every merge, and the texts of its events."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import NamedTuple

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError, NotFoundError
from cortex.core.model.record import default_scope
from cortex.core.model.session_note import session_note_id
from cortex.core.model.topics import topic_record_id
from cortex.core.normalize.handlers import TURN_TYPES, parse_event, records_from_event
from cortex.core.notes import note as notes
from cortex.core.text.strings import short_hash, shorten
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.refresh import query_index
from cortex.operations.find import resolve_note
from cortex.vault import files, layout, settings
from cortex.vault.git import checkout, git_cli, note_history
from cortex.vault.git.note_history import NoteVersion
from cortex.vault.locate import Vault

_PREVIEW_CHARS = 300  # characters
_MAX_EVENT_BYTES = events.MAX_CONTENT_BYTES + notes.MAX_FRONTMATTER_BYTES
_MAX_EVENTS_SEARCHED = (
    100_000  # newest events of which one may have made a record that is gone; half a second
)
_MAX_ORDINAL = 40  # records of one meeting that are tried after the first
_MAX_TURNS_REREAD = 2000  # events of sessions, about a millisecond each
_MIN_PREFIX_CHARS = 4  # signs of an id that may stand for it, as in `resolve_note`
_EVENT_ID_PREFIX_RE = re.compile(r"\d{8}t[0-9a-z-]*")
_HASHED_ID_RE = re.compile(r".*-[a-z2-7]{6}")


class EventText(NamedTuple):
    """What an event said of the note when it was captured: kept for good, with git and without."""

    event: str
    at: str  # UTC
    title: str
    path: str  # of the event
    preview: str


class History(NamedTuple):
    """The newest commits and texts of a note, or its text at one of them."""

    id: str
    path: str  # where the note is now; where it last was when it is gone; empty when only its events are known
    versions: tuple[NoteVersion, ...]
    more: int  # older commits that were left out
    text: str  # with `at`: the note as it was
    at: str  # the commit of that text, or the event
    texts: tuple[EventText, ...] = ()  # newest first
    revisions: int = 0  # how many texts there are
    hint: str = ""  # what is not kept, and how it would be


class _KnownNote(NamedTuple):
    """The note that somebody means, as far as the vault still knows it."""

    id: str  # empty when it has none
    path: str  # empty when it is gone
    events: frozenset[str]


def history(vault: Vault, caller: Caller, note: str, *, at: str = "", number: int = 20) -> History:
    """Show what is kept of a note, newest first: the commits that touched it, and the texts of its events.

    The commits are those over all its names, on both sides of every merge. The texts are there before the first commit, and
    without git. A value that lost in a merge is named there by its commit; --at shows the note as it was in that commit, or the
    text of an event.

    note: an id, the beginning of an id, or a path; a deleted note is found by these too
    at: show the whole note as it was at this commit, or the text of this event
    number: how many commits are shown, and how many texts

    Example: cortex history publish-by-link-k3f7q2
    Example: cortex history publish-by-link-k3f7q2 --at HEAD~3
    Example: cortex history publish-by-link-k3f7q2 --at 20261120t164512z-k3f7q2abcd
    """
    why = _missing_git_error(vault)
    named = query_index(
        vault,
        caller.progress,
        lambda now: (
            _find_known_note(now.catalogue, note)
            or _record_extracted_from_turns(vault, now.catalogue, note)
        ),
    )
    if why and not named:
        raise NotFoundError(f"there is no note {note!r}; {why.message}", why.hint)
    id_, path, names, commits = (
        _find_commits(vault, note, named)
        if not why
        else (named.id if named else "", named.path if named else "", [], [])
    )
    known = named.events if named else frozenset()
    if commits and not (named and named.path):
        known |= frozenset(
            notes.read(note_history.read_newest(vault.root, commits)).provenance()[0]
        )
    places = _event_paths(vault, known)
    if at and _EVENT_ID_PREFIX_RE.fullmatch(at):
        return _with_event_text(
            vault, History(id_, path, (), 0, "", "", revisions=len(places)), places, at
        )
    if at:
        if why:
            raise why
        commit = git_cli.resolve_commit(vault.root, at)
        return History(
            id_,
            path,
            (),
            0,
            note_history.read_at_commit(vault.root, commit, names, id_),
            commit,
            revisions=len(places),
        )
    if not commits and not places:
        raise why or NotFoundError(f"no commit holds {path}", "cortex sync commits it")
    hint = (
        f"{why.message}; {why.hint}"
        if why
        else ""
        if commits
        else "no commit holds it yet: cortex sync commits it"
    )
    versions = list(note_history.iter_versions(commits))
    versions.reverse()
    path = versions[0].path if versions and not files.exists(vault.root, path) else path
    shown = max(number, 1)
    texts = tuple(
        _read_event_text(vault, event, places[event])
        for event in sorted(places, reverse=True)[:shown]
    )
    return History(
        id_,
        path,
        tuple(versions[:shown]),
        max(0, len(versions) - shown),
        "",
        "",
        texts,
        len(places),
        hint,
    )


def _missing_git_error(vault: Vault) -> NotFoundError | None:
    """Why git knows nothing of this vault's notes; None when it may."""
    if checkout.find_repository(vault.root) is None:
        return NotFoundError(
            f"{vault.root} is in no git repository, so nothing older is kept",
            f"git init {vault.root} makes it one",
        )
    if not git_cli.has_commit(vault.root):
        return NotFoundError(
            "nothing has been committed yet", "cortex sync commits the vault's notes"
        )
    return None


def _find_known_note(catalogue: Catalogue, note: str) -> _KnownNote | None:
    """The note by what the vault holds of it: itself, or the events that made it; None when it holds nothing."""
    rows = resolve_note.find_all(catalogue, note)
    if rows:
        row = resolve_note.find_one(catalogue, note) if len(rows) > 1 else rows[0]
        id_ = "" if row.id == row.path else row.id
        return _KnownNote(
            id_, row.path, frozenset(row.events) | _unnamed_topic_events(catalogue, row)
        )
    made = _records_made_by_events(catalogue, note)
    if len(made) > 1:
        raise ConflictError(
            f"{note!r} names {len(made)} records that are gone: {', '.join(sorted(made)[:5])}",
            "give more of the id",
        )
    return next((_KnownNote(id_, "", frozenset(ids)) for id_, ids in made.items()), None)


def _unnamed_topic_events(catalogue: Catalogue, row: NoteRow) -> frozenset[str]:
    """The events of the record's topic that it does not name: they wait in the inbox, or somebody took their names out."""
    query = "SELECT event.id, event.project, event.scope, event.topic FROM note AS event JOIN note AS own ON own.topic = event.topic"
    found = catalogue.select(
        f"{query} WHERE own.number = ? AND own.topic != '' AND own.tier < 2 AND event.tier = 2",
        (row.number,),
    )
    return frozenset(
        id_
        for id_, project, scope, topic in found
        if topic_record_id(project, scope or default_scope(project), topic) == row.id
    )


def _records_made_by_events(catalogue: Catalogue, name: str) -> dict[str, set[str]]:
    """The records that events have made and that `name` can mean: by topic, by session, and by the hash that ends an id."""
    made: dict[str, set[str]] = {}
    whole = "/" in name or name.endswith(".md")
    name = name.rpartition("/")[2].removesuffix(".md")
    if len(name) < _MIN_PREFIX_CHARS:
        return made
    query = "SELECT id, project, scope, topic, session FROM note WHERE tier = 2 AND type != 'briefing' ORDER BY id DESC LIMIT ?"
    found = list(catalogue.select(query, (_MAX_EVENTS_SEARCHED,)))
    sessions: dict[str, str] = {}
    for id_, project, scope, topic, session in found:
        record = topic_record_id(project, scope or default_scope(project), topic) if topic else ""
        if session and session not in sessions:
            sessions[session] = session_note_id(session)
        for one in (record, sessions.get(session, "")):
            if one.startswith(name) and (one == name or not whole):
                made.setdefault(one, set()).add(id_)
    if made or not _HASHED_ID_RE.fullmatch(name):
        return made
    plain = [id_ for id_, _, _, topic, _ in found if not topic]
    for ordinal in range(_MAX_ORDINAL + 1):
        of_ordinal = [
            id_
            for id_ in plain[
                : _MAX_EVENTS_SEARCHED if not ordinal else _MAX_EVENTS_SEARCHED // _MAX_ORDINAL
            ]
            if short_hash(f"{id_}/{ordinal}") == name[-6:]
        ]
        if of_ordinal:
            return {name: set(of_ordinal)}
    return {}


def _record_extracted_from_turns(
    vault: Vault, catalogue: Catalogue, name: str
) -> _KnownNote | None:
    """The record that was extracted from what sessions said and is gone: its id is made of its words, so only these tell."""
    id_ = name.rpartition("/")[2].removesuffix(".md")
    if not _HASHED_ID_RE.fullmatch(id_):
        return None
    phrases = settings.load(vault.root).phrases
    query = f"SELECT id, path FROM note WHERE tier = 2 AND type IN {TURN_TYPES} ORDER BY id DESC LIMIT ?"
    said_by = set()
    for event, path in catalogue.select(query, (_MAX_TURNS_REREAD,)):
        with suppress(
            CortexError, OSError
        ):  # somebody has made it unreadable, or it moved on just now
            where = os.fsdecode(path)
            if any(
                record.id == id_
                for record in records_from_event(
                    parse_event(files.read(vault.root, where), where), phrases
                )
            ):
                said_by.add(event)
    return _KnownNote(id_, "", frozenset(said_by)) if said_by else None


def _find_commits(
    vault: Vault, note: str, named: _KnownNote | None
) -> tuple[str, str, list[str], list[note_history.NoteCommit]]:
    """The note's id, its path, the names it has had and the commits that touched them. What the vault no longer has is
    looked for in git."""
    if named and named.path:
        id_, names, commits = note_history.follow_renames(vault.root, named.id, [named.path])
        return id_, named.path, names, commits
    path = note.removeprefix("./")
    start = next(
        (
            [one]
            for one in (path, f"{path}.md")
            if one
            and not one.startswith(("/", "../"))
            and note_history.list_commits(vault.root, [one])
        ),
        [],
    )
    id_ = ""
    if not start:
        start = note_history.find_paths_by_id(vault.root, named.id if named else path)
        stems = {name.rpartition("/")[2].removesuffix(".md") for name in start}
        if len(stems) > 1:
            raise ConflictError(
                f"{note!r} names {len(stems)} notes that git has had: {', '.join(sorted(stems)[:5])}",
                "give more of the id",
            )
        id_ = next(iter(stems), "")
    if not start:
        if named:
            return named.id, "", [], []
        raise NotFoundError(
            f"there is no note {note!r}, and git has never had one",
            "cortex search finds notes by their words",
        )
    id_, names, commits = note_history.follow_renames(vault.root, id_, start)
    return id_, start[0], names, commits


def _event_paths(vault: Vault, ids: frozenset[str]) -> dict[str, str]:
    """Where those of the events lie that are there."""
    found: dict[str, str] = {}
    for id_ in ids:
        if events.is_event_id(id_):
            place = next(
                (
                    path
                    for path in (events.event_path(id_), layout.pending_path(id_))
                    if files.exists(vault.root, path)
                ),
                "",
            )
            if place:
                found[id_] = place
    return found


def _read_event_text(vault: Vault, event: str, path: str) -> EventText:
    note = notes.read(files.read(vault.root, path, _MAX_EVENT_BYTES), path)
    said = _raw_text(note)
    return EventText(
        event,
        note.get("at") or events.time_of_id(event),
        shorten(note.get("title") or said, 80),
        path,
        shorten(said, _PREVIEW_CHARS),
    )


def _raw_text(note: notes.Note) -> str:
    said = events.raw_content(note.text)
    return note.text if said is None else said


def _with_event_text(vault: Vault, answer: History, places: dict[str, str], at: str) -> History:
    found = [event for event in places if event.startswith(at)]
    if not found:
        raise NotFoundError(
            f"{answer.id or answer.path} has no text from an event {at}",
            "cortex history NOTE lists its texts; cortex show EVENT shows any event",
        )
    if len(found) > 1:
        raise ConflictError(
            f"{at} names {len(found)} events: {', '.join(sorted(found)[:5])}", "give more of the id"
        )
    return answer._replace(
        text=_raw_text(notes.read(files.read(vault.root, places[found[0]], _MAX_EVENT_BYTES))),
        at=found[0],
    )
