"""The verbs `revise`, `pin` and `done`, which change fields or the text of one record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Annotated, Literal

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.note_status import DONE_STATUSES, SET_ASIDE_STATUSES
from cortex.core.model.parameters import Between, NoteName
from cortex.core.model.problem import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StaleVersionError,
)
from cortex.core.model.record import (
    ONE_PERSONS_SCOPES,
    SCOPES,
    default_scope,
    format_confidence,
    initial_status,
)
from cortex.core.model.topics import normalize_topic, topic_record_id
from cortex.core.normalize.handlers import MAX_SAVED_TITLE_CHARS
from cortex.core.notes import note as notes
from cortex.core.notes.edit import (
    normalized_body,
    restore_active_status,
    with_body,
    with_fields,
    with_title,
    with_work_status,
    without_lost,
)
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text import yaml_writer
from cortex.core.text.iso_time import parse_day
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command, one_line, option_words, printable_line, shorten
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow, OwnItemRow
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.index.refresh import IndexSession
from cortex.operations.capture.capture import clean_tags
from cortex.operations.find import resolve_note
from cortex.operations.find.resolve_note import command
from cortex.operations.find.show import version_of
from cortex.operations.records.archive import set_aside
from cortex.operations.records.change_record import (
    UNCHANGED,
    Edited,
    RecordChange,
    change_record,
    find_editable,
)
from cortex.operations.records.restore import take_back_supersession
from cortex.operations.records.save import known_type, read_due
from cortex.operations.records.tick_task import find_task, tick_task
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.edit_note import tick_minutes
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.preserve_text import preserve_text
from cortex.vault.locate import Vault, is_own

CLEAR_WORD = "none"  # takes a field out
UPDATABLE_STATUSES = ("active", "open", "done")
# A word for a status that sets a record aside -> the status in its note. Nothing holds in the place of
# what is withdrawn.
_ASIDE_WORDS = {"archived": "archived", "withdrawn": "superseded", "deleted": "deleted"}
_WORD_RE = lazy_re(r"\w{3,}")
_TEXT_FIELDS = ("title", "owner", "branch")
# An event without faults, to ask the rules of events about a project or tags.
_SAMPLE_EVENT = Event("20000101t000000z-aaaaaaaaaa", "manual", "", "-")


class _ReviseRequest(NamedTuple):
    """The changes; empty fields stay as they are."""

    fields: dict[str, str]  # as they are kept; "" takes a field out
    status: str
    reason: str
    tags: tuple[str, ...] | None
    added_tags: tuple[str, ...]
    removed_tags: tuple[str, ...]
    body: str
    reviewed: bool
    unreviewed: bool
    version: str  # that the note has to have; "" for any


def revise(
    vault: Vault, caller: Caller, id: NoteName, *, title: str = "", body: str = "", type: str = "",
    topic: str = "", status: Literal["", "active", "open", "done", "archived", "withdrawn", "deleted"] = "",
    reason: str = "", tags: list[str] | None = None, add_tags: tuple[str, ...] = (),
    remove_tags: tuple[str, ...] = (), project: str = "", scope: Literal["", "project", "personal", "global"] = "",
    owner: str = "", due: str = "", confidence: Annotated[float, Between(0, 1)] | Literal["none"] | None = None,
    priority: Annotated[int, Between(1, 10)] | Literal["none"] | None = None, branch: str = "", reviewed: bool = False,
    unreviewed: bool = False, version: str = "",
) -> RecordChange:  # fmt: skip
    """Correct, withdraw or finish a record.

    Only what you name changes in its file; `none` as a value removes a field. A text that is replaced
    stays in an event, which `cortex history ID` shows. The answer has the command that undoes it.

    id: the record: its id, the beginning of it, or a path
    title: the new title
    body: the new text; a single - reads standard input
    type: decision, gotcha, action or any other word
    topic: a stable key, for a record that was not saved with one
    status: done finishes an action; archived, deleted or withdrawn (no longer true, and nothing replaces
        it) hides a record; active or open brings it back, and unlinks a record that replaced it
    reason: why it is hidden, in a few words
    tags: comma-separated, in place of those it has
    add_tags: comma-separated, beside those it has
    remove_tags: comma-separated
    project: the new project; a record saved with a topic keeps its own
    scope: project, personal or global; a record saved with a topic keeps its own
    owner: who an action is for
    due: until when it is to be done: 2026-12-01, tomorrow, friday
    confidence: how sure it is, from 0 to 1
    priority: how much it matters, from 1 to 10
    branch: the branch
    reviewed: confirm that you have looked at it, and at what lost in a merge (see cortex review)
    unreviewed: take that back
    version: change it only if it still is as cortex show --json answered this version

    Example: cortex revise use-sqlite-k3f7q2 --add-tags storage --priority 8
    Example: cortex revise order-the-cables-k3f7q2 --status done
    Example: cortex revise use-sqlite-k3f7q2 --status withdrawn --reason "it was never true"
    Example: cortex revise use-sqlite-k3f7q2 --body - < sqlite.md
    """
    fields = _kept_fields({
        "title": title, "project": project, "scope": scope, "owner": owner,
        "due": due if due in ("", CLEAR_WORD) else read_due(due, caller.today),
        "confidence": confidence, "priority": priority, "branch": branch, "topic": topic,
    })  # fmt: skip
    if type.strip():
        fields["type"] = known_type(vault, sanitize_text(type).strip().lower())
    request = _ReviseRequest(
        fields, status, one_line(sanitize_text(reason)), _clean_tags(tags) if tags else None, _clean_tags(add_tags),
        _clean_tags(remove_tags), sanitize_text(body).replace("\r\n", "\n"), reviewed, unreviewed, version.strip(),
    )  # fmt: skip
    _check_request(request, vault, id)
    edit = partial(_edit_and_undo, vault, caller, request)
    outcome = status if status in ("done", *_ASIDE_WORDS) else "updated"
    find = partial(_find_for_topic_change, fields.get("topic", ""))
    taken = take_back_supersession(vault, caller, id) if status in ("active", "open") else []
    change = change_record(vault, caller, id, outcome, edit, find=find)
    change = _with_taken_back(vault, caller, change, taken, outcome) if taken else change
    return _with_minutes(vault, caller, change, done=status == "done") if status else change


def _with_taken_back(
    vault: Vault, caller: Caller, change: RecordChange, taken: list[RecordChange], outcome: str
) -> RecordChange:
    """The change, and what was taken back before it, as one."""
    if change.outcome == UNCHANGED:
        problems = (*change.problems, *try_heal(vault, caller))
        change = change._replace(outcome=outcome, hint=taken[-1].hint, problems=problems)
    undo = " && ".join(one.undo for one in (change, *reversed(taken)) if one.undo)
    return change._replace(undo=undo)


def pin(vault: Vault, caller: Caller, id: NoteName, *, remove: bool = False) -> RecordChange:
    """Pin a record: it never decays nor is archived by itself.

    id: the record: its id, the beginning of it, or a path
    remove: take the pin out again

    Example: cortex pin use-sqlite-k3f7q2
    Example: cortex pin use-sqlite-k3f7q2 --remove
    """
    outcome, undo = ("unpinned", ()) if remove else ("pinned", ("--remove",))

    def edit(note: Note, row: NoteRow) -> Edited:
        if (note.fields.get("pinned") is True) != remove:
            return Edited(note)
        pinned = with_fields(note, {"pinned": "" if remove else True})
        return Edited(pinned, command("pin", row, *undo))

    return change_record(vault, caller, id, outcome, edit)


def done(vault: Vault, caller: Caller, id: NoteName, *, undo: bool = False) -> RecordChange:
    """Tick a task, or mark an action as done.

    A task is ticked in its line, in any note; with signs of Obsidian Tasks or Dataview it gets the day,
    and if it recurs, its next line. An action is ticked in its minutes, too; a tick there counts without this.

    id: the action or task: its id, file and line (todo.md:12), or words of it
    undo: open it again

    Example: cortex done order-the-cables-k3f7q2
    Example: cortex done "water the ferns"
    """
    find = partial(find_task, vault, name=id, undo=undo)
    found, problems = query_fresh(vault, caller, find, words=undo)
    if isinstance(found, OwnItemRow):
        ticked = tick_task(vault, caller, found, undo=undo)
        return ticked._replace(problems=(*problems, *ticked.problems))
    if undo:
        return revise(vault, caller, found, status="open")

    def edit(note: Note, row: NoteRow) -> Edited:
        status = note.get("status").lower()
        if status in SET_ASIDE_STATUSES:
            hint = f"{command('restore', row)}, then {command('done', row)}"
            raise InvalidInputError(f"{row.id} is {status}", hint)
        if status in DONE_STATUSES:
            return Edited(note)
        former = status if status in UPDATABLE_STATUSES else "open"
        undo = command("revise", row, "--status", former)
        return Edited(with_work_status(note, "done", caller.now), undo)

    change = change_record(vault, caller, found, "done", edit, find=_find_action)
    return _with_minutes(vault, caller, change, done=True)


def _with_minutes(
    vault: Vault, caller: Caller, change: RecordChange, *, done: bool
) -> RecordChange:
    """The change, once its minutes are ticked like it; that of their line if the action was so."""
    ticked, problems = tick_minutes(vault, caller, change.id, change.path, done=done)
    problems += try_heal(vault, caller) if ticked else []
    if ticked and change.outcome == UNCHANGED:
        (place, *_), (outcome, *flags) = ticked, ("done", "--undo") if done else ("opened",)
        undo = " && ".join(cortex_command("done", one, *flags) for one in ticked)
        path, known = place.rpartition(":")[0], change.problems
        change = RecordChange(place, path, outcome, undo, "", (), known, vault.file(path))
    hints = (change.hint, *(f"its box: {place}" for place in ticked), *ticked.values())
    hint = "; ".join(filter(None, hints))
    return change._replace(hint=hint, problems=(*change.problems, *problems))


def _find_for_topic_change(topic: str, index: IndexSession, name: str) -> NoteRow:
    """The record with this id, path or beginning of an id. Raises `ConflictError` if another record has
    the topic that it is to get."""
    row = find_editable(index, name)
    for other in index.catalogue.find(KNOWLEDGE._replace(topics=(topic,))) if topic else ():
        if (other.project, other.scope) == (row.project, row.scope) and other.id != row.id:
            hint = f"{command('supersede', row, '--by', other)}, or name another topic"
            raise ConflictError(f"{topic} is the topic of {other.id}", hint)
    return row


def _find_action(index: IndexSession, name: str) -> NoteRow:
    try:
        row = find_editable(index, name)
    except NotFoundError:
        found = resolve_note.find_all(index.catalogue, name.rpartition(".")[0])
        plan = next((one for one in found if one.type == "plan"), None)
        if plan is None:
            raise
        message = f"{name} is a step of the plan {plan.id}, and no note of its own"
        raise InvalidInputError(message, f"tick it in {plan.path}") from None
    if row.type != "action":
        hint = f"cortex actions lists these; {command('revise', row, '--status', 'done')}"
        raise InvalidInputError(f"{row.id} is a {row.type or 'note'} and no action", hint)
    return row


def _kept_fields(words: Mapping[str, object]) -> dict[str, str]:
    """The given fields as they are stored; "" for one to remove."""
    kept = {key: _as_kept(key, str(word)) for key, word in words.items() if word not in ("", None)}
    return {key: "" if value == CLEAR_WORD else value for key, value in kept.items() if value}


def _as_kept(key: str, value: str) -> str:
    """The value of a field as it is stored; `CLEAR_WORD` unchanged. Raises `InvalidInputError`."""
    value = value.strip()
    if key in _TEXT_FIELDS:
        value = printable_line(sanitize_text(value))
    if key in ("title", "scope", "type") and value in ("", CLEAR_WORD):
        raise InvalidInputError(f"a record always has a {key}", f"give another {key}")
    if value == CLEAR_WORD or key in ("owner", "branch", "type"):
        return value
    if key == "topic":
        return normalize_topic(sanitize_text(value))
    if key == "title" and len(value) > MAX_SAVED_TITLE_CHARS:
        message = f"the title has {len(value)} characters; {MAX_SAVED_TITLE_CHARS} are the most"
        raise InvalidInputError(message, "put the rest into the text")
    if key == "project":
        value = events.project_slug(value) or value
        events.validate(_SAMPLE_EVENT._replace(project=value))
    elif key == "confidence":
        return format_confidence(float(value))
    elif (key == "scope" and value not in SCOPES) or (key == "due" and value != parse_day(value)):
        raise InvalidInputError(f"{shorten(value, 50)!r} is no {key}", "cortex revise --help")
    return value


def _clean_tags(words: Iterable[str]) -> tuple[str, ...]:
    tags = clean_tags(words)
    tags = () if tags == (CLEAR_WORD,) else tags
    events.validate(_SAMPLE_EVENT._replace(tags=tags))
    return tags


def _check_request(request: _ReviseRequest, vault: Vault, id_: str) -> None:
    """Raise `InvalidInputError` when nothing is asked for, the text is too large, or a record of a
    project's vault is to be personal or global."""
    if request.fields.get("scope") in ONE_PERSONS_SCOPES and not is_own(vault):
        hint = f"{cortex_command('promote', id_)} moves it there"
        raise InvalidInputError("what is personal or global is kept in your own vault alone", hint)
    has_tags = request.tags is not None or request.added_tags or request.removed_tags
    looked = request.reviewed or request.unreviewed
    is_asked = request.fields or request.status or has_tags or looked
    if request.reviewed and request.unreviewed:
        raise InvalidInputError("it is reviewed or it is not", "leave one of the two out")
    if not (is_asked or request.body.strip()):
        hint = "cortex revise ID --title TEXT; the word none takes a field out"
        raise InvalidInputError("there is nothing to change: an empty text changes none", hint)
    if request.reason and request.status not in _ASIDE_WORDS:
        hint = f"say it with --status {', '.join(_ASIDE_WORDS)}"
        raise InvalidInputError("a reason is for setting a record aside", hint)
    size = len(request.body.encode("utf-8", "surrogatepass"))
    if request.body.strip() and size > events.MAX_CONTENT_BYTES:
        hint = "edit the file itself, or keep a summary"
        raise InvalidInputError(f"the text is larger than {events.MAX_CONTENT_BYTES:,} bytes", hint)


def _edit_and_undo(
    vault: Vault, caller: Caller, request: _ReviseRequest, note: Note, row: NoteRow
) -> Edited:
    """The edited note, the command that undoes it, and a hint for what that cannot bring back, and for a
    title of which the new text says nothing. Raises `StaleVersionError`."""
    _check_version(request.version, note, row)
    is_personal = note.get("scope") in ONE_PERSONS_SCOPES
    if is_personal and request.fields.get("scope") == "project" and caller.source == "mcp":
        hint = f"{cortex_command('revise', row.id, '--scope', 'project')}, typed by a person"
        raise InvalidInputError(f"{row.id} is {note.get('scope')}, and no agent shares it", hint)
    changed, before = _with_asked_fields(note, request, row, caller.now)
    back = list[str]()
    of_text = "text" if request.body or "title" in request.fields else ""
    edited = (*request.fields, "status" if request.status else "", of_text)
    settled = without_lost(changed, *(() if request.reviewed else edited))  # for good
    if (request.reviewed or request.unreviewed) and caller.source != "mcp":  # a person's look
        back += ["--unreviewed" if request.reviewed else "--reviewed"] * (settled is changed)
        seen = max(caller.now, note.updated) if request.reviewed else ""
        settled = with_fields(settled, {"reviewed_at": seen})
    changed = settled
    lost = []
    for key, value in before.items():
        if _is_restorable(key, value):
            back += option_words(key, value or CLEAR_WORD)
        else:
            lost.append(f"{key}: {value or '(none)'}")
    undo = command("revise", row, *back) if back else ""
    hints = []
    if request.body and request.body.strip("\n") != (text := normalized_body(note)):
        if text.strip():
            changed, event = preserve_text(vault, caller, changed)
            if caller.source == "mcp":  # where `restore` may be no tool
                hints.append(f"{command('show', event)} has the text before")
            else:
                undo = " && ".join(filter(None, (command("restore", row, "--at", event), undo)))
            if sanitize_text(text) != text:
                lost.append("what looks like a secret in its text")
        else:
            lost.append("that it had no text")
        changed = with_body(changed, request.body)
        if "title" not in request.fields and not _tells_of(note.title, request.body):
            renamed = command("revise", row, "--title", "TITLE")
            hints.append(f"title unchanged: {shorten(note.title, 60)}; {renamed} changes it")
    if lost:
        hints.append(f"only your editor brings back: {'; '.join(lost)}")
    return Edited(changed, undo, "; ".join(hints))


def _check_version(version: str, note: Note, row: NoteRow) -> None:
    """Raise `StaleVersionError` if the note is of another version than the one that is named."""
    if version and version != version_of(notes.write(note)):
        hint = f"{command('show', row)} has it as it is now"
        raise StaleVersionError(f"{row.id} was changed meanwhile", hint)


def _tells_of(title: str, text: str) -> bool:
    """Whether a text has more than half of the words of its title."""
    words = {*_WORD_RE.findall(title.casefold())}
    return not words or 2 * len(words & {*_WORD_RE.findall(text.casefold())}) > len(words)


def _with_asked_fields(
    note: Note, request: _ReviseRequest, row: NoteRow, now: str
) -> tuple[Note, dict[str, str]]:
    """The note with the new fields, tags and status, and their former values."""
    fields: dict[str, yaml_writer.YamlValue] = {
        key: value for key, value in request.fields.items() if value != _field_of(note, key)
    }
    _check_identity(note, row.project, fields.keys())
    before = {key: _field_of(note, key) for key in fields}
    old_tags = note.get_list("tags")
    kept_tags = old_tags if request.tags is None else request.tags
    every = dict.fromkeys((*kept_tags, *request.added_tags))
    tags = tuple(tag for tag in every if tag not in request.removed_tags)
    if tags != tuple(dict.fromkeys(old_tags)):
        fields["tags"] = tags
        before["tags"] = ",".join(old_tags)
    title = fields.pop("title", "")
    changed = with_title(note, str(title)) if title else note
    changed = with_fields(changed, fields) if fields else changed
    if "type" in fields and (note.get("status") or "active") == initial_status(note.get("type")):
        changed = with_work_status(changed, initial_status(str(fields["type"])), now)
    if request.status:
        moved = _with_asked_status(changed, request, row, now)
        if moved is not changed:
            words = {kept: word for word, kept in _ASIDE_WORDS.items()}
            status = note.get("status").lower() or "active"
            before["status"] = words.get(status, status)
            if because := note.get(f"{status}_because"):
                before["reason"] = because
            changed = moved
    return changed, before


def _with_asked_status(note: Note, request: _ReviseRequest, row: NoteRow, now: str) -> Note:
    """The note set aside, or current with the asked status; itself if it says so already."""
    if word := _ASIDE_WORDS.get(request.status):
        return set_aside(note, row, word, request.reason, now)
    if note.get("status").lower() in SET_ASIDE_STATUSES:
        if note.get("superseded_by"):
            hint = f"{command('restore', row)} takes that back in both"
            raise InvalidInputError(f"{row.id} is superseded by another record", hint)
        note = restore_active_status(note)
    return with_work_status(note, request.status, now)


def _check_identity(note: Note, project: str, keys: Collection[str]) -> None:
    """Raise `InvalidInputError` for a change of what a record's id is made of, or a session's type."""
    if "type" in keys and note.get("type") == "session":
        raise InvalidInputError("a session stays one", "save what it tells as a record")
    scope = note.get("scope") or default_scope(project)
    topic = note.get("topic")
    is_key = topic and topic_record_id(project, scope, topic) == note.get("id")
    fixed = ("project", "scope", "topic") if is_key else ("project", "scope") if topic else ()
    if taken := [key for key in fixed if key in keys]:
        save = cortex_command("save", "TITLE", "--topic", topic, "--project", "PROJECT")
        message = f"the {' and the '.join(taken)} of a record with a topic cannot be changed, since its id comes from them"
        raise InvalidInputError(message, f"{save} makes another one")


def _field_of(note: Note, key: str) -> str:
    return note.title if key == "title" else note.get(key)


def _is_restorable(key: str, value: str) -> bool:
    """Whether `cortex revise` accepts a value of a note and stores it unchanged."""
    if value in (CLEAR_WORD, "-"):  # which would take it out, or read standard input
        return False
    if key == "status":
        return value in (*UPDATABLE_STATUSES, *_ASIDE_WORDS)
    try:
        if key == "tags":
            return ",".join(_clean_tags(value.split(","))) == value
        kept = _as_kept(key, value or CLEAR_WORD)
        is_number = key in ("confidence", "priority") and value != ""
        return kept == (value or CLEAR_WORD) or (is_number and float(kept) == float(value))
    except InvalidInputError:
        return False
