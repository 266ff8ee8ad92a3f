"""Change what a record says, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from cortex.core.merge.fields import KEY_ORDER
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import SCOPES, parse_confidence, parse_priority
from cortex.core.normalize.handlers import MAX_SAVED_TITLE_CHARS
from cortex.core.notes import yaml_writer
from cortex.core.notes.edit import (
    normalized_body,
    with_body,
    with_fields,
    with_fields_in_order,
)
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.shell_command import cortex_command, option_words
from cortex.core.text.strings import one_line, shorten
from cortex.index.catalogue import NoteRow
from cortex.operations.records.change_record import Edited, RecordChange, change_record, command
from cortex.operations.records.preserve_text import preserve_text
from cortex.vault.locate import Vault

CLEAR_WORD = "none"  # takes a field out
UPDATABLE_STATUSES = ("active", "open", "done")
_COMMANDS_FOR_OTHER_STATUSES = {
    "archived": "cortex archive ID",
    "deleted": "cortex delete ID",
    "superseded": "cortex supersede ID --by NEW",
}
_TEXT_FIELDS = ("title", "owner", "branch")
_NUMBER_FIELDS = ("confidence", "priority")
_ID_FIELDS = ("project", "scope")  # together with a topic they make the id
_CONTROL_CHARS_TO_SPACE = dict.fromkeys((*range(32), *range(127, 160)), " ")  # as a save does
_SAMPLE_EVENT_ID = "20000101t000000z-aaaaaaaaaa"  # an event id for asking the rules of events


class _UpdateRequest(NamedTuple):
    """What is to be changed: texts as they are written, empty for a field that goes. What is not asked for is missing."""

    fields: dict[str, str]
    status: str
    tags: tuple[str, ...] | None
    added_tags: tuple[str, ...]
    removed_tags: tuple[str, ...]
    body: str


def update(
    vault: Vault,
    caller: Caller,
    id: str,
    *,
    title: str = "",
    body: str = "",
    status: str = "",
    tags: str = "",
    add_tags: str = "",
    remove_tags: str = "",
    topic: str = "",
    project: str = "",
    scope: str = "",
    owner: str = "",
    due: str = "",
    confidence: str = "",
    priority: str = "",
    branch: str = "",
) -> RecordChange:
    """Change fields or the text of a record. Every other byte of its file stays.

    The word `none` takes a field out. A text that is replaced stays in an event (cortex history ID). What a record is about
    never changes: its topic and its type are given when it is saved.

    id: the record: its id, the beginning of it, or a path
    title: the new title
    body: the new text; a single - reads standard input
    status: active, open or done; archive, delete, supersede and restore have verbs of their own
    tags: comma-separated, in place of those it has
    add_tags: comma-separated, beside those it has
    remove_tags: comma-separated
    topic: cannot be changed: the id comes from it
    project: the project; not of a record with a topic
    scope: project, personal or global; not of a record with a topic
    owner: who an action is for
    due: a date, such as 2026-12-01
    confidence: how sure it is, from 0 to 1
    priority: how much it matters, from 1 to 10
    branch: the branch

    Example: cortex update use-sqlite-k3f7q2 --add-tags storage --priority 8
    Example: cortex update use-sqlite-k3f7q2 --body - < sqlite.md
    """
    if topic:
        raise InvalidInputError(
            "the topic of a record cannot be changed, since its id comes from it",
            "cortex save TITLE --topic TOPIC makes a record of that topic",
        )
    fields = {
        "title": title, "project": project, "scope": scope, "owner": owner, "due": due, "confidence": confidence, "priority": priority,
        "branch": branch,
    }  # fmt: skip
    asked = _parse_request(
        fields, status=status, tags=tags, add_tags=add_tags, remove_tags=remove_tags, body=body
    )

    def edit(note: Note, row: NoteRow) -> Edited:
        return _edit_and_undo(vault, caller, note, asked, row)

    return change_record(vault, caller, id, "updated", edit)


def with_status(note: Note, status: str, now: str) -> Note:
    """A current note with another status; when it was done is said as long as it is."""
    return (
        with_fields(note, {"status": status, "done_at": now if status == "done" else ""})
        if status != note.get("status")
        else note
    )


def _parse_request(
    fields: Mapping[str, str],
    *,
    status: str = "",
    tags: str = "",
    add_tags: str = "",
    remove_tags: str = "",
    body: str = "",
) -> _UpdateRequest:
    """The options of an update, each as it is kept. `InvalidInputError` when one cannot be."""
    texts = {
        key: one_line(sanitize_text(value).translate(_CONTROL_CHARS_TO_SPACE))
        if key in _TEXT_FIELDS
        else value.strip()
        for key, value in fields.items()
    }
    if fields.get("title") and not texts["title"]:
        raise InvalidInputError("a record always has a title", "give another title")
    texts = {
        key: value.lower() if key in _ID_FIELDS else value for key, value in texts.items() if value
    }
    return _validate_request(
        _UpdateRequest(
            texts, status.strip().lower(), _parse_tags(tags) if tags.strip() else None, _parse_tags(add_tags), _parse_tags(remove_tags),
            sanitize_text(body).replace("\r\n", "\n"),
        )
    )  # fmt: skip


def _edit_and_undo(
    vault: Vault, caller: Caller, note: Note, asked: _UpdateRequest, row: NoteRow
) -> Edited:
    """The note with what is asked, the command that takes it back, and a hint of what that cannot bring back."""
    fields: dict[str, yaml_writer.YamlValue] = {
        key: value if value != CLEAR_WORD else "" for key, value in asked.fields.items()
    }
    fields = {key: value for key, value in fields.items() if value != note.get(key)}
    if fields.keys() & set(_ID_FIELDS) and note.get("topic"):
        raise InvalidInputError(
            "the project and the scope of a record with a topic cannot be changed, since its id comes from them",
            f"{cortex_command('save', 'TITLE', '--topic', note.get('topic'), '--project', 'PROJECT')} makes another one",
        )
    before = {key: note.get(key) for key in fields}
    held = note.get_list("tags")
    tags = held if asked.tags is None else asked.tags
    tags = tuple(
        tag for tag in dict.fromkeys((*tags, *asked.added_tags)) if tag not in asked.removed_tags
    )
    if tags != tuple(dict.fromkeys(held)):
        fields["tags"] = tags
        before["tags"] = ",".join(held)
    changed = with_fields_in_order(KEY_ORDER, note, fields) if fields else note
    if asked.status and asked.status != note.get("status"):
        if (status := note.get("status").lower()) in SET_ASIDE_STATUSES:
            raise InvalidInputError(
                f"{row.id} is {status}",
                f"{command('restore', row)} makes it current; then it may get another status",
            )
        changed = with_status(changed, asked.status, caller.now)
        before["status"] = note.get("status")
    back = [
        part
        for key, value in before.items()
        if _is_restorable(key, value)
        for part in option_words(key, value or _value_for_absent(key))
    ]
    lost = [
        f"{key}: {value or '(none)'}"
        for key, value in before.items()
        if not _is_restorable(key, value)
    ]
    undo = command("update", row, *back) if back else ""
    if asked.body and asked.body.strip("\n") != (said := normalized_body(note)):
        if said.strip():
            changed, event = preserve_text(vault, caller, changed)
            undo = f"{command('history', row, '--at', event)} | {command('update', row, '--body', '-', *back)}"
            if sanitize_text(said) != said:
                lost.append("what looks like a secret in its text")
        else:
            lost.append("that it had no text")
        changed = with_body(changed, asked.body)
    return Edited(changed, undo, f"only your editor brings back: {'; '.join(lost)}" if lost else "")


def _is_restorable(key: str, value: str) -> bool:
    """Whether an update takes a value that stands in a note, and makes of it what stood there."""
    if value in (CLEAR_WORD, "-"):  # which would take it out, or read standard input
        return False
    try:
        if key == "tags":
            asked = _parse_request({}, tags=value or CLEAR_WORD)
            return ",".join(asked.tags or ()) == value
        if key == "status":
            return _parse_request({}, status=value or "active").status == (value or "active")
        kept = _parse_request({key: value or CLEAR_WORD}).fields[key]
        return kept == (value or CLEAR_WORD) or (
            key in _NUMBER_FIELDS and value != "" and float(kept) == float(value)
        )
    except InvalidInputError:
        return False


def _value_for_absent(key: str) -> str:
    """How an update is told that there was none."""
    return "active" if key == "status" else CLEAR_WORD


def _validate_request(asked: _UpdateRequest) -> _UpdateRequest:
    """What is asked, in the form in which it is kept. `InvalidInputError` when it cannot be."""
    if asked.status in _COMMANDS_FOR_OTHER_STATUSES:
        raise InvalidInputError(
            f"no update makes a record {asked.status}", _COMMANDS_FOR_OTHER_STATUSES[asked.status]
        )
    if asked.status and asked.status not in UPDATABLE_STATUSES:
        raise InvalidInputError(
            f"unknown status {shorten(asked.status, 50)!r}",
            f"use one of: {', '.join(UPDATABLE_STATUSES)}",
        )
    fields = dict(asked.fields)
    for key in ("title", "scope"):
        if fields.get(key) == CLEAR_WORD:
            raise InvalidInputError(f"a record always has a {key}", f"give another {key}")
    if len(fields.get("title", "")) > MAX_SAVED_TITLE_CHARS:
        raise InvalidInputError(
            f"the title has {len(fields['title'])} characters; {MAX_SAVED_TITLE_CHARS} are the most",
            "put the rest into the text",
        )
    if fields.get("scope", SCOPES[0]) not in SCOPES:
        raise InvalidInputError(
            f"unknown scope {shorten(fields['scope'], 50)!r}", f"use one of: {', '.join(SCOPES)}"
        )
    if (due := fields.get("due", CLEAR_WORD)) != CLEAR_WORD:
        fields["due"] = _parse_date(due)
    if (confidence := fields.get("confidence", CLEAR_WORD)) != CLEAR_WORD:
        fields["confidence"] = parse_confidence(confidence)
    if (priority := fields.get("priority", CLEAR_WORD)) != CLEAR_WORD:
        fields["priority"] = parse_priority(priority)
    project = fields.get("project", CLEAR_WORD)
    tags = (*(asked.tags or ()), *asked.added_tags)
    events.validate(
        Event(
            _SAMPLE_EVENT_ID,
            "manual",
            "",
            "-",
            project="" if project == CLEAR_WORD else project,
            tags=tags,
        )
    )
    if not (
        fields
        or asked.status
        or asked.tags is not None
        or asked.added_tags
        or asked.removed_tags
        or asked.body.strip()
    ):
        raise InvalidInputError(
            "there is nothing to change: an empty text changes none",
            "cortex update ID --title TEXT; the word none takes a field out",
        )
    if (
        asked.body.strip()
        and len(asked.body.encode("utf-8", "surrogatepass")) > events.MAX_CONTENT_BYTES
    ):
        raise InvalidInputError(
            f"the text is larger than {events.MAX_CONTENT_BYTES:,} bytes",
            "edit the file itself, or keep a summary",
        )
    return asked._replace(fields=fields)


def _parse_date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InvalidInputError(
            f"{shorten(sanitize_text(text), 50)!r} is no date",
            "give it as 2026-12-01, or none to take it out",
        ) from None


def _parse_tags(text: str) -> tuple[str, ...]:
    named = tuple(
        dict.fromkeys(
            sanitize_text(tag.strip()).lstrip("#") for tag in text.split(",") if tag.strip("# ")
        )
    )
    return () if named == (CLEAR_WORD,) else named
