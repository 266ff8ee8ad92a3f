"""The history of a note: its commits under all its names and in all branches of merges, and the
texts of its events; and that of the whole vault."""

from __future__ import annotations

from typing import Annotated

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import session_note_id
from cortex.core.model.note_status import is_named_after
from cortex.core.model.parameters import Between, NoteName, Since
from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError
from cortex.core.model.record import default_scope
from cortex.core.model.topics import topic_record_id
from cortex.core.notes import note as notes
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import short_hash, shorten
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import EVENTS, TRAIL
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.vault_history import VaultCommit, recent_commits
from cortex.vault import files
from cortex.vault.git import checkout, git_cli, note_history
from cortex.vault.git.note_history import NoteVersion
from cortex.vault.locate import Vault

MAX_VERSIONS = 100_000
_PREVIEW_CHARS = 300
_MAX_EVENT_BYTES = events.MAX_CONTENT_BYTES + notes.MAX_FRONTMATTER_BYTES
# The newest events, of which one may have made a record that is gone; half a second.
_MAX_EVENTS_SEARCHED = 100_000
_MIN_PREFIX_CHARS = 4  # signs of an id that may stand for it, as in `resolve_note`
_EVENT_ID_PREFIX_RE = lazy_re(r"\d{8}t[0-9a-z-]*")


class EventText(NamedTuple):
    """The text of an event, as it was captured; kept with git and without."""

    event: str
    at: str  # UTC
    title: str
    path: str  # of the event
    preview: str


class History(NamedTuple):
    """The newest commits and texts of a note, or its text at one of them."""

    id: str
    path: str  # where the note is now, or was last; empty when only its events are known
    versions: tuple[NoteVersion, ...] = ()
    more: int = 0  # older commits that were left out
    text: str = ""  # with `at`: the note as it was
    at: str = ""  # the commit of that text, or the event
    texts: tuple[EventText, ...] = ()  # newest first
    revisions: int = 0  # how many texts there are
    hint: str = ""  # what is not kept, and how it would be
    file: str = ""  # absolute path of `path`
    commits: tuple[VaultCommit, ...] = ()  # of the whole vault, where no note is named


class _KnownNote(NamedTuple):
    """A note, as far as the vault knows it."""

    id: str  # empty when it has none
    path: str  # empty when it is gone
    events: frozenset[str]


def history(
    vault: Vault,
    caller: Caller,
    note: NoteName = "",
    *,
    at: str = "",
    since: Since | None = None,
    number: Annotated[int, Between(1, MAX_VERSIONS)] = 20,
) -> History:
    """Show the commits and texts of a note, or of the whole vault.

    The newest first. Of a note the commits are those over all its names, on both sides of every merge.
    The texts are there before the first commit, and without git. A value that lost in a merge is named
    there by its commit; --at shows the note as it was in that commit, or the text of an event.

    Without a note: what changed in the vault since then, by commit, what is not committed first; each
    note with the command that undoes it (--json). Events and briefings are only counted.

    note: an id, the beginning of an id, or a path; a deleted note is found by these too
    at: show the whole note as it was at this commit, or the text of this event
    since: of the whole vault: 7d, 2w, 3m or a date; by default the last 7 days
    number: how many commits are shown, and how many texts

    Example: cortex history decision-save-lookup
    Example: cortex history decision-save-lookup --at HEAD~3
    Example: cortex history decision-save-lookup --at 20261122t210605z-xb2xvmsmhd
    Example: cortex history --since 2w
    """
    if not note or since is not None:
        return _whole_history(vault, caller, note or at, since, number)
    return _history_of_note(vault, caller, note, at, number)


def _history_of_note(vault: Vault, caller: Caller, note: str, at: str, number: int) -> History:
    no_git = _missing_git_error(vault)
    known = query_index(vault, caller.progress, _find_known_note, note)
    if no_git and not known:
        raise NotFoundError(f"there is no note {note!r}; {no_git.message}", no_git.hint)
    names, commits = list[str](), list[note_history.NoteCommit]()
    id_, path = (known.id, known.path) if known else ("", "")
    if not no_git:
        id_, path, names, commits = _find_commits(vault, note, known)
    ids = known.events if known else frozenset()
    if commits and not (known and known.path):
        ids |= frozenset(notes.read(note_history.read_newest(vault.root, commits)).provenance()[0])
    event_paths = _event_paths(vault, ids)
    file = vault.file(path) if path else ""
    answer = History(id_, path, revisions=len(event_paths), file=file)
    if at and _EVENT_ID_PREFIX_RE.fullmatch(at):
        return _with_event_text(vault, answer, event_paths, at)
    if at:
        if no_git:
            raise no_git
        commit = git_cli.resolve_commit(vault.root, at)
        text = note_history.read_at_commit(vault.root, commit, names, id_)
        return answer._replace(text=text, at=commit)
    if not commits and not event_paths:
        raise no_git or NotFoundError(f"no commit holds {path}", "cortex sync commits it")
    hint = "" if commits else "no commit holds it yet: cortex sync commits it"
    versions = list(note_history.iter_versions(commits))[::-1]
    newest_events = sorted(event_paths, reverse=True)[:number]
    return answer._replace(
        path=versions[0].path if versions and not files.exists(vault.root, path) else path,
        versions=tuple(versions[:number]),
        more=max(0, len(versions) - number),
        texts=tuple(_read_event_text(vault, event, event_paths[event]) for event in newest_events),
        hint=f"{no_git.message}; {no_git.hint}" if no_git else hint,
    )


def _whole_history(
    vault: Vault, caller: Caller, named: str, since: int | None, number: int
) -> History:
    """The history of the vault. Raises `InvalidInputError` if a note or a commit is named, too."""
    if named:
        hint = "cortex history NOTE shows all of it, cortex history --since 2w what changed in the vault"
        raise InvalidInputError("--since is for the whole vault, --at for a note", hint)
    if checkout.find_repository(vault.root) is None and (error := _missing_git_error(vault)):
        raise error
    commits, more = recent_commits(vault, caller, since, number)
    hint = "" if commits else "nothing changed since then; --since looks further back"
    return History("", "", more=more, commits=commits, hint=hint)


def _missing_git_error(vault: Vault) -> NotFoundError | None:
    """The error that explains why git has no history of this vault; None when it may have one."""
    if checkout.find_repository(vault.root) is None:
        message = f"{vault.root} is in no git repository, so nothing older is kept"
        return NotFoundError(message, f"git init {vault.root} makes it one")
    if not git_cli.has_commit(vault.root):
        hint = "cortex sync commits the vault's notes"
        return NotFoundError("nothing has been committed yet", hint)
    return None


def _find_known_note(index: IndexSession, note: str) -> _KnownNote | None:
    """The note in the vault, or the record whose events are left; None when there is neither."""
    catalogue = index.catalogue
    rows = resolve_note.find_all(catalogue, note)
    # A person's own note may be called like a record that is gone.
    is_only_called_so = all(row.id == row.path != note for row in rows)
    made = _records_made_by_events(catalogue, note) if is_only_called_so else {}
    if rows and not made:
        row = resolve_note.find_one(catalogue, note) if len(rows) > 1 else rows[0]
        of_topic = _unnamed_topic_events(catalogue, row) if row.topic else set[str]()
        id_ = "" if row.id == row.path else row.id
        return _KnownNote(id_, row.path, frozenset({*row.events, *of_topic}))
    if len(made) > 1:
        message = f"{note!r} names {len(made)} records that are gone: {', '.join(sorted(made)[:5])}"
        raise ConflictError(message, "give more of the id")
    return next((_KnownNote(id_, "", frozenset(ids)) for id_, ids in made.items()), None)


def _unnamed_topic_events(catalogue: Catalogue, row: NoteRow) -> set[str]:
    """Events of the record's topic, also those that its provenance does not name (any more)."""
    return {
        one.id
        for one in catalogue.find(TRAIL._replace(topics=(row.topic,)))
        if _topic_record(one.project, one.scope, one.topic) == row.id
    }


def _topic_record(project: str, scope: str, topic: str) -> str:
    return topic_record_id(project, scope or default_scope(project), topic)


def _records_made_by_events(catalogue: Catalogue, name: str) -> dict[str, set[str]]:
    """The missing records that `name` can mean, with their events."""
    made: dict[str, set[str]] = {}
    whole = "/" in name or name.endswith(".md")
    name = name.rpartition("/")[2].removesuffix(".md")
    if len(name) < _MIN_PREFIX_CHARS:
        return made
    sessions: dict[str, str] = {}
    origins = catalogue.find(EVENTS, "-id", _MAX_EVENTS_SEARCHED)
    for event in origins:
        if event.session and event.session not in sessions:
            sessions[event.session] = session_note_id(event.session)
        topic = _topic_record(event.project, event.scope, event.topic) if event.topic else ""
        for one in (topic, sessions.get(event.session, "")):
            if one.startswith(name) and (one == name or not whole):
                made.setdefault(one, set()).add(event.id)
    if not made and (ids := {one.id for one in origins if not one.topic and made_by(one.id, name)}):
        return {name: ids}
    return made


def made_by(event: str, record: str) -> bool:
    """Whether a record without a topic is the first that an event made, by their ids."""
    return record.endswith(f"-{short_hash(f'{event}/0')}")


def _find_commits(
    vault: Vault, note: str, known: _KnownNote | None
) -> tuple[str, str, list[str], list[note_history.NoteCommit]]:
    """The note's id, path, all its names and commits; what is not in the vault is sought in git."""
    if known and known.path:
        id_, names, commits = note_history.follow_renames(vault.root, known.id, [known.path])
        return id_, known.path, names, commits
    path = note.removeprefix("./")
    paths = [one for one in (path, f"{path}.md") if one and not one.startswith(("/", "../"))]
    start = next(([one] for one in paths if note_history.list_commits(vault.root, [one])), [])
    id_ = ""
    if not start:
        start = note_history.find_paths_by_id(vault.root, known.id if known else path)
        stems = {name.rpartition("/")[2].removesuffix(".md") for name in start}
        if known and all(is_named_after(stem, known.id) for stem in stems):
            stems = {known.id}
        if len(stems) > 1:
            raise ConflictError(
                f"{note!r} names {len(stems)} notes that git has had: {', '.join(sorted(stems)[:5])}",
                "give more of the id",
            )
        id_ = next(iter(stems), "")
    if not start:
        if known:
            return known.id, "", [], []
        hint = "cortex search finds notes by their words"
        raise NotFoundError(f"there is no note {note!r}, and git has never had one", hint)
    id_, names, commits = note_history.follow_renames(vault.root, id_, start)
    return id_, start[0], names, commits


def _event_paths(vault: Vault, ids: frozenset[str]) -> dict[str, str]:
    """The paths of those events whose files exist."""
    return {
        id_: path
        for id_ in ids
        if events.is_event_id(id_)
        for path in (vault.layout().pending(id_), vault.layout().event(id_))
        if files.exists(vault.root, path)
    }


def _read_event_text(vault: Vault, event: str, path: str) -> EventText:
    note = notes.read(files.read(vault.root, path, _MAX_EVENT_BYTES), path)
    said, at = _raw_text(note), note.get("at") or events.time_of_id(event)
    title, preview = shorten(note.title or said, 80), shorten(said, _PREVIEW_CHARS)
    return EventText(event, at, title, path, preview)


def _raw_text(note: notes.Note) -> str:
    said = events.raw_content(note.text)
    return note.text if said is None else said


def _with_event_text(vault: Vault, answer: History, places: dict[str, str], at: str) -> History:
    found = [event for event in places if event.startswith(at)]
    if not found:
        hint = "cortex history NOTE lists its texts; cortex show EVENT shows any event"
        raise NotFoundError(f"{answer.id or answer.path} has no text from an event {at}", hint)
    if len(found) > 1:
        hint = "give more of the id"
        raise ConflictError(f"{at} names {len(found)} events: {', '.join(sorted(found)[:5])}", hint)
    data = files.read(vault.root, places[found[0]], _MAX_EVENT_BYTES)
    return answer._replace(text=_raw_text(notes.read(data)), at=found[0])
