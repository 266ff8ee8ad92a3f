"""Change what a record says, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from cortex.core.merge.fields import ORDER
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Invalid
from cortex.core.model.record import SCOPES, confidence_of, priority_of
from cortex.core.model.status import ASIDE
from cortex.core.normalize.handlers import SAVED_TITLE_LIMIT
from cortex.core.notes import yaml_writer
from cortex.core.notes.edit import body_of, touched, with_body, with_fields, with_fields_in
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import clean
from cortex.core.text.shell_command import line, option
from cortex.core.text.strings import one_line, shorten
from cortex.index.catalogue import Row
from cortex.operations.records import change_record
from cortex.operations.records.change_record import Changed
from cortex.operations.records.preserve_text import keep_text
from cortex.operations.share.heal import heal_by_the_way
from cortex.vault.locate import Vault

NONE = "none"  # takes a field out
STATUSES = ("active", "open", "done")
_OTHERS = {
    "archived": "cortex archive ID",
    "deleted": "cortex delete ID",
    "superseded": "cortex supersede ID --by NEW",
}
_TEXTS = ("title", "owner", "branch")
_NUMBERS = ("confidence", "priority")
_IDENTIFYING = ("project", "scope")  # together with a topic they make the id
_REPLACED_BY_BLANK = dict.fromkeys((*range(32), *range(127, 160)), " ")  # as a save does
_PROBE = "20000101t000000z-aaaaaaaaaa"  # an event id for asking the rules of events


class _Asked(NamedTuple):
    """What is to be changed: texts as they are written, empty for a field that goes. What is not asked for is missing."""

    fields: dict[str, str]
    status: str
    tags: tuple[str, ...] | None
    more: tuple[str, ...]
    fewer: tuple[str, ...]
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
) -> Changed:
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
        raise Invalid(
            "the topic of a record cannot be changed, since its id comes from it",
            "cortex save TITLE --topic TOPIC makes a record of that topic",
        )
    fields = {
        "title": title, "project": project, "scope": scope, "owner": owner, "due": due, "confidence": confidence, "priority": priority,
        "branch": branch,
    }  # fmt: skip
    asked = _asked(
        fields, status=status, tags=tags, add_tags=add_tags, remove_tags=remove_tags, body=body
    )
    return _updated(vault, caller, id, asked)


def with_status(note: Note, status: str, now: str) -> Note:
    """A current note with another status; when it was done is said as long as it is."""
    return (
        with_fields(note, {"status": status, "done_at": now if status == "done" else ""})
        if status != note.get("status")
        else note
    )


def _asked(
    fields: Mapping[str, str],
    *,
    status: str = "",
    tags: str = "",
    add_tags: str = "",
    remove_tags: str = "",
    body: str = "",
) -> _Asked:
    """The options of an update, each as it is kept. `Invalid` when one cannot be."""
    texts = {
        key: one_line(clean(value).translate(_REPLACED_BY_BLANK))
        if key in _TEXTS
        else value.strip()
        for key, value in fields.items()
    }
    if fields.get("title") and not texts["title"]:
        raise Invalid("a record always has a title", "give another title")
    texts = {
        key: value.lower() if key in _IDENTIFYING else value
        for key, value in texts.items()
        if value
    }
    return _checked(
        _Asked(
            texts, status.strip().lower(), _tags(tags) if tags.strip() else None, _tags(add_tags), _tags(remove_tags),
            clean(body).replace("\r\n", "\n"),
        )
    )  # fmt: skip


def _updated(vault: Vault, caller: Caller, name: str, asked: _Asked) -> Changed:
    row, problems = change_record.named(vault, caller, name)
    back: list[tuple[str, str]] = []

    def edit(note: Note) -> Note:
        changed, *undo = _changed(vault, caller, note, asked, row)
        back[:] = [(undo[0], undo[1])]
        return note if changed is note else touched(changed, caller.now)

    if not change_record.apply(vault, row.path, edit):
        return Changed(row.id, row.path, "unchanged", "", problems=tuple(problems))
    command, hint = back[0]
    return Changed(
        row.id,
        row.path,
        "updated",
        command,
        hint,
        problems=(*problems, *heal_by_the_way(vault, caller)),
    )


def _changed(
    vault: Vault, caller: Caller, note: Note, asked: _Asked, row: Row
) -> tuple[Note, str, str]:
    """The note with what is asked, the command that takes it back, and what that cannot bring back; the note itself when it
    says so already."""
    fields: dict[str, yaml_writer.Value] = {
        key: value if value != NONE else "" for key, value in asked.fields.items()
    }
    fields = {key: value for key, value in fields.items() if value != note.get(key)}
    if fields.keys() & set(_IDENTIFYING) and note.get("topic"):
        raise Invalid(
            "the project and the scope of a record with a topic cannot be changed, since its id comes from them",
            f"{line('save', 'TITLE', '--topic', note.get('topic'), '--project', 'PROJECT')} makes another one",
        )
    before = {key: note.get(key) for key in fields}
    held = note.texts("tags")
    tags = held if asked.tags is None else asked.tags
    tags = tuple(tag for tag in dict.fromkeys((*tags, *asked.more)) if tag not in asked.fewer)
    if tags != tuple(dict.fromkeys(held)):
        fields["tags"] = tags
        before["tags"] = ",".join(held)
    changed = with_fields_in(ORDER, note, fields) if fields else note
    if asked.status and asked.status != note.get("status"):
        if (status := note.get("status").lower()) in ASIDE:
            raise Invalid(
                f"{row.id} is {status}",
                f"{line('restore', change_record.word(row.id, row.path))} makes it current; then it may get another status",
            )
        changed = with_status(changed, asked.status, caller.now)
        before["status"] = note.get("status")
    word = change_record.word(row.id, row.path)
    back = [
        part
        for key, value in before.items()
        if _taken(key, value)
        for part in option(key, value or _nothing(key))
    ]
    lost = [
        f"{key}: {value or '(none)'}" for key, value in before.items() if not _taken(key, value)
    ]
    command = line("update", word, *back) if back else ""
    if asked.body and asked.body.strip("\n") != (said := body_of(note)):
        if said.strip():
            changed, event = keep_text(vault, caller, changed)
            command = f"{line('history', word, '--at', event)} | {line('update', word, '--body', '-', *back)}"
            if clean(said) != said:
                lost.append("what looks like a secret in its text")
        else:
            lost.append("that it had no text")
        changed = with_body(changed, asked.body)
    return changed, command, f"only your editor brings back: {'; '.join(lost)}" if lost else ""


def _taken(key: str, value: str) -> bool:
    """Whether an update takes a value that stands in a note, and makes of it what stood there."""
    if value in (NONE, "-"):  # which would take it out, or read standard input
        return False
    try:
        if key == "tags":
            asked = _asked({}, tags=value or NONE)
            return ",".join(asked.tags or ()) == value
        if key == "status":
            return _asked({}, status=value or "active").status == (value or "active")
        kept = _asked({key: value or NONE}).fields[key]
        return kept == (value or NONE) or (
            key in _NUMBERS and value != "" and float(kept) == float(value)
        )
    except Invalid:
        return False


def _nothing(key: str) -> str:
    """How an update is told that there was none."""
    return "active" if key == "status" else NONE


def _checked(asked: _Asked) -> _Asked:
    """What is asked, in the form in which it is kept. `Invalid` when it cannot be."""
    if asked.status in _OTHERS:
        raise Invalid(f"no update makes a record {asked.status}", _OTHERS[asked.status])
    if asked.status and asked.status not in STATUSES:
        raise Invalid(
            f"unknown status {shorten(asked.status, 50)!r}", f"use one of: {', '.join(STATUSES)}"
        )
    fields = dict(asked.fields)
    for key in ("title", "scope"):
        if fields.get(key) == NONE:
            raise Invalid(f"a record always has a {key}", f"give another {key}")
    if len(fields.get("title", "")) > SAVED_TITLE_LIMIT:
        raise Invalid(
            f"the title has {len(fields['title'])} characters; {SAVED_TITLE_LIMIT} are the most",
            "put the rest into the text",
        )
    if fields.get("scope", SCOPES[0]) not in SCOPES:
        raise Invalid(
            f"unknown scope {shorten(fields['scope'], 50)!r}", f"use one of: {', '.join(SCOPES)}"
        )
    if (due := fields.get("due", NONE)) != NONE:
        fields["due"] = _date(due)
    if (confidence := fields.get("confidence", NONE)) != NONE:
        fields["confidence"] = confidence_of(confidence)
    if (priority := fields.get("priority", NONE)) != NONE:
        fields["priority"] = priority_of(priority)
    project = fields.get("project", NONE)
    tags = (*(asked.tags or ()), *asked.more)
    events.check(
        Event(_PROBE, "manual", "", "-", project="" if project == NONE else project, tags=tags)
    )
    if not (
        fields
        or asked.status
        or asked.tags is not None
        or asked.more
        or asked.fewer
        or asked.body.strip()
    ):
        raise Invalid(
            "there is nothing to change: an empty text changes none",
            "cortex update ID --title TEXT; the word none takes a field out",
        )
    if asked.body.strip() and len(asked.body.encode("utf-8", "surrogatepass")) > events.MAX_BYTES:
        raise Invalid(
            f"the text is larger than {events.MAX_BYTES:,} bytes",
            "edit the file itself, or keep a summary",
        )
    return asked._replace(fields=fields)


def _date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise Invalid(
            f"{shorten(clean(text), 50)!r} is no date",
            "give it as 2026-12-01, or none to take it out",
        ) from None


def _tags(text: str) -> tuple[str, ...]:
    named = tuple(
        dict.fromkeys(clean(tag.strip()).lstrip("#") for tag in text.split(",") if tag.strip("# "))
    )
    return () if named == (NONE,) else named
