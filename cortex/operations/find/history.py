"""What is kept of one note: every commit over all its names and both sides of every merge, and the texts of its events."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import NamedTuple

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, CortexError, NotFound
from cortex.core.model.record import scope_of
from cortex.core.model.session import id_of
from cortex.core.model.topic import record_id
from cortex.core.normalize.handlers import TURNS, read_event, records_of
from cortex.core.notes import note as notes
from cortex.core.text.strings import short_hash, shorten
from cortex.index.catalogue import Catalogue, Row
from cortex.index.refresh import look
from cortex.operations.find import resolve_note
from cortex.vault import files, layout, settings
from cortex.vault.git import checkout, git, note_history
from cortex.vault.git.note_history import Version
from cortex.vault.locate import Vault

_PREVIEW = 300  # characters
_MOST_READ = events.MAX_BYTES + notes.MAX_FRONTMATTER_BYTES
_MOST_ASKED = (
    100_000  # newest events of which one may have made a record that is gone; half a second
)
_MOST_ORDINALS = 40  # records of one meeting that are tried after the first
_MOST_READ_AGAIN = 2000  # events of sessions, about a millisecond each
_SHORTEST = 4  # signs of an id that may stand for it, as in `naming`
_EVENT = re.compile(r"\d{8}t[0-9a-z-]*")
_MADE_ONCE = re.compile(r".*-[a-z2-7]{6}")


class Text(NamedTuple):
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
    versions: tuple[Version, ...]
    more: int  # older commits that were left out
    text: str  # with `at`: the note as it was
    at: str  # the commit of that text, or the event
    texts: tuple[Text, ...] = ()  # newest first
    revisions: int = 0  # how many texts there are
    hint: str = ""  # what is not kept, and how it would be


class _Named(NamedTuple):
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
    why = _no_git(vault)
    named = look(
        vault,
        caller.progress,
        lambda now: _named(now.catalogue, note) or _extracted(vault, now.catalogue, note),
    )
    if why and not named:
        raise NotFound(f"there is no note {note!r}; {why.message}", why.hint)
    id_, path, names, commits = (
        _committed(vault, note, named)
        if not why
        else (named.id if named else "", named.path if named else "", [], [])
    )
    known = named.events if named else frozenset()
    if commits and not (named and named.path):
        known |= frozenset(notes.read(note_history.newest(vault.root, commits)).provenance()[0])
    places = _places(vault, known)
    if at and _EVENT.fullmatch(at):
        return _event_text(
            vault, History(id_, path, (), 0, "", "", revisions=len(places)), places, at
        )
    if at:
        if why:
            raise why
        commit = git.commit_id(vault.root, at)
        return History(
            id_,
            path,
            (),
            0,
            note_history.text_at(vault.root, commit, names, id_),
            commit,
            revisions=len(places),
        )
    if not commits and not places:
        raise why or NotFound(f"no commit holds {path}", "cortex sync commits it")
    hint = (
        f"{why.message}; {why.hint}"
        if why
        else ""
        if commits
        else "no commit holds it yet: cortex sync commits it"
    )
    versions = list(note_history.versions(commits))
    versions.reverse()
    path = versions[0].path if versions and not files.exists(vault.root, path) else path
    shown = max(number, 1)
    texts = tuple(
        _text(vault, event, places[event]) for event in sorted(places, reverse=True)[:shown]
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


def _no_git(vault: Vault) -> NotFound | None:
    """Why git knows nothing of this vault's notes; None when it may."""
    if checkout.git_folder(vault.root) is None:
        return NotFound(
            f"{vault.root} is in no git repository, so nothing older is kept",
            f"git init {vault.root} makes it one",
        )
    if not git.has_commit(vault.root):
        return NotFound("nothing has been committed yet", "cortex sync commits the vault's notes")
    return None


def _named(catalogue: Catalogue, note: str) -> _Named | None:
    """The note by what the vault holds of it: itself, or the events that made it; None when it holds nothing."""
    rows = resolve_note.matches(catalogue, note)
    if rows:
        row = resolve_note.one(catalogue, note) if len(rows) > 1 else rows[0]
        id_ = "" if row.id == row.path else row.id
        return _Named(id_, row.path, frozenset(row.events) | _of_topic(catalogue, row))
    made = _made(catalogue, note)
    if len(made) > 1:
        raise Conflict(
            f"{note!r} names {len(made)} records that are gone: {', '.join(sorted(made)[:5])}",
            "give more of the id",
        )
    return next((_Named(id_, "", frozenset(ids)) for id_, ids in made.items()), None)


def _of_topic(catalogue: Catalogue, row: Row) -> frozenset[str]:
    """The events of the record's topic that it does not name: they wait in the inbox, or somebody took their names out."""
    query = "SELECT event.id, event.project, event.scope, event.topic FROM note AS event JOIN note AS own ON own.topic = event.topic"
    found = catalogue.asked(
        f"{query} WHERE own.number = ? AND own.topic != '' AND own.tier < 2 AND event.tier = 2",
        (row.number,),
    )
    return frozenset(
        id_
        for id_, project, scope, topic in found
        if record_id(project, scope or scope_of(project), topic) == row.id
    )


def _made(catalogue: Catalogue, name: str) -> dict[str, set[str]]:
    """The records that events have made and that `name` can mean: by topic, by session, and by the hash that ends an id."""
    made: dict[str, set[str]] = {}
    whole = "/" in name or name.endswith(".md")
    name = name.rpartition("/")[2].removesuffix(".md")
    if len(name) < _SHORTEST:
        return made
    query = "SELECT id, project, scope, topic, session FROM note WHERE tier = 2 AND type != 'briefing' ORDER BY id DESC LIMIT ?"
    found = list(catalogue.asked(query, (_MOST_ASKED,)))
    sessions: dict[str, str] = {}
    for id_, project, scope, topic, session in found:
        record = record_id(project, scope or scope_of(project), topic) if topic else ""
        if session and session not in sessions:
            sessions[session] = id_of(session)
        for one in (record, sessions.get(session, "")):
            if one.startswith(name) and (one == name or not whole):
                made.setdefault(one, set()).add(id_)
    if made or not _MADE_ONCE.fullmatch(name):
        return made
    plain = [id_ for id_, _, _, topic, _ in found if not topic]
    for ordinal in range(_MOST_ORDINALS + 1):
        of_ordinal = [
            id_
            for id_ in plain[: _MOST_ASKED if not ordinal else _MOST_ASKED // _MOST_ORDINALS]
            if short_hash(f"{id_}/{ordinal}") == name[-6:]
        ]
        if of_ordinal:
            return {name: set(of_ordinal)}
    return {}


def _extracted(vault: Vault, catalogue: Catalogue, name: str) -> _Named | None:
    """The record that was extracted from what sessions said and is gone: its id is made of its words, so only these tell."""
    id_ = name.rpartition("/")[2].removesuffix(".md")
    if not _MADE_ONCE.fullmatch(id_):
        return None
    phrases = settings.load(vault.root).phrases
    query = f"SELECT id, path FROM note WHERE tier = 2 AND type IN {TURNS} ORDER BY id DESC LIMIT ?"
    said_by = set()
    for event, path in catalogue.asked(query, (_MOST_READ_AGAIN,)):
        with suppress(
            CortexError, OSError
        ):  # somebody has made it unreadable, or it moved on just now
            where = os.fsdecode(path)
            if any(
                record.id == id_
                for record in records_of(read_event(files.read(vault.root, where), where), phrases)
            ):
                said_by.add(event)
    return _Named(id_, "", frozenset(said_by)) if said_by else None


def _committed(
    vault: Vault, note: str, named: _Named | None
) -> tuple[str, str, list[str], list[note_history.Commit]]:
    """The note's id, its path, the names it has had and the commits that touched them. What the vault no longer has is
    looked for in git."""
    if named and named.path:
        id_, names, commits = note_history.followed(vault.root, named.id, [named.path])
        return id_, named.path, names, commits
    path = note.removeprefix("./")
    start = next(
        (
            [one]
            for one in (path, f"{path}.md")
            if one and not one.startswith(("/", "../")) and note_history.log(vault.root, [one])
        ),
        [],
    )
    id_ = ""
    if not start:
        start = note_history.names_of(vault.root, named.id if named else path)
        stems = {name.rpartition("/")[2].removesuffix(".md") for name in start}
        if len(stems) > 1:
            raise Conflict(
                f"{note!r} names {len(stems)} notes that git has had: {', '.join(sorted(stems)[:5])}",
                "give more of the id",
            )
        id_ = next(iter(stems), "")
    if not start:
        if named:
            return named.id, "", [], []
        raise NotFound(
            f"there is no note {note!r}, and git has never had one",
            "cortex search finds notes by their words",
        )
    id_, names, commits = note_history.followed(vault.root, id_, start)
    return id_, start[0], names, commits


def _places(vault: Vault, ids: frozenset[str]) -> dict[str, str]:
    """Where those of the events lie that are there."""
    found: dict[str, str] = {}
    for id_ in ids:
        if events.is_event_id(id_):
            place = next(
                (
                    path
                    for path in (events.path_of(id_), layout.pending(id_))
                    if files.exists(vault.root, path)
                ),
                "",
            )
            if place:
                found[id_] = place
    return found


def _text(vault: Vault, event: str, path: str) -> Text:
    note = notes.read(files.read(vault.root, path, _MOST_READ), path)
    said = _said(note)
    return Text(
        event,
        note.get("at") or events.time_of(event),
        shorten(note.get("title") or said, 80),
        path,
        shorten(said, _PREVIEW),
    )


def _said(note: notes.Note) -> str:
    said = events.raw_content(note.text)
    return note.text if said is None else said


def _event_text(vault: Vault, answer: History, places: dict[str, str], at: str) -> History:
    found = [event for event in places if event.startswith(at)]
    if not found:
        raise NotFound(
            f"{answer.id or answer.path} has no text from an event {at}",
            "cortex history NOTE lists its texts; cortex show EVENT shows any event",
        )
    if len(found) > 1:
        raise Conflict(
            f"{at} names {len(found)} events: {', '.join(sorted(found)[:5])}", "give more of the id"
        )
    return answer._replace(
        text=_said(notes.read(files.read(vault.root, places[found[0]], _MOST_READ))), at=found[0]
    )
