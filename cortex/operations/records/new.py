"""A record that a person writes, begun from a template."""

from __future__ import annotations

import os
from datetime import datetime

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError
from cortex.core.model.record import (
    RECORD_TYPES,
    canonical_type,
    compose_record,
    initial_status,
    record_id,
)
from cortex.core.normalize.text_records import base_record
from cortex.core.notes import note as notes
from cortex.core.notes.edit import with_template_fields
from cortex.core.notes.yaml_lines import split_note
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.days import clock
from cortex.core.text.strings import one_of, shorten
from cortex.core.text.value import NamedTuple
from cortex.operations.capture.capture import clean_tags, new_event_id
from cortex.operations.find.open import Launch, editor_words
from cortex.operations.upkeep.heal import try_heal
from cortex.vault import files, settings
from cortex.vault.foreign_settings import daily_notes
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale
from cortex.vault.templates import fill_template, format_moment, read_note_template, read_own


class NewResult(NamedTuple):
    """A new note."""

    id: str
    path: str
    file: str  # the path from the root of the disk, for an editor
    outcome: str = "created"  # or exists: a daily note that is there already


def new(
    vault: Vault, caller: Caller, type: str, title: str = "", *, project: str = "",
    tags: tuple[str, ...] = (), body: str = "", launch: Launch = None,
) -> NewResult:  # fmt: skip
    """Begin a record, or the note of today, from a template.

    On a terminal your editor opens it, else its path is printed. templates/TYPE.md in the vault goes
    before the template of a type, with {{title}}, {{project}}, {{date}}, {{time}} and {{cursor}}; its
    properties are kept, but for id, type, title and dates, which are the note's own. The daily note
    lies and begins as Obsidian's settings say, else [notes] daily.

    type: daily, or decision, pattern, gotcha, meeting, action, note or another type of record
    title: its title; of daily none
    project: the project; by default what the working directory says
    tags: comma-separated
    body: the text; a single - reads standard input; by default the template of the type

    Example: $EDITOR "$(cortex new decision Publish by link)"
    """
    at = datetime.fromisoformat(clock(caller.now, caller.zone))  # the day of whoever writes
    settings.check_writable(vault.root)
    has_editor = launch and not body and (os.environ.get("VISUAL") or os.environ.get("EDITOR"))
    editor = editor_words() if has_editor else []  # raises before a note is made
    if type == "daily":
        if title or body or tags or project:
            raise InvalidInputError("a daily note is named by its day alone", "cortex new daily")
        return _opened(_daily(vault, at), launch, editor)
    named = canonical_type(type)
    if named not in RECORD_TYPES:
        raise InvalidInputError(f"there is no record type {type!r}", one_of(type, RECORD_TYPES))
    if not title.strip():
        raise InvalidInputError("TITLE is missing", f"cortex new {named} TITLE")
    seed = new_event_id(caller)  # a person's record has no event; its id is made as if it had
    title = shorten(sanitize_text(title), 120)
    project = events.project_slug(sanitize_text(project)) or checkout.project_of(caller.cwd)
    template = ("", "") if body else read_note_template(vault.root, named)
    text = fill_template(*template, at, title, project).replace("\r\n", "\n")
    parts = split_note(sanitize_text(text).encode())
    text = sanitize_text(body) or parts.body.decode()
    event = Event(
        id=seed, type="manual", at=caller.now, text=title and f"{title}\n{text}", project=project,
        branch=sanitize_text(checkout.branch_of(caller.cwd)), tags=clean_tags(tags),
    )  # fmt: skip
    events.validate(event)  # what holds for a capture holds here: a text, a project, tags, a size
    record = base_record(event)._replace(
        id=record_id(title, seed), type=named, title=title, body=text, events=(),
        status=initial_status(named),
    )  # fmt: skip
    note = notes.read(compose_record(record, settings.load(vault.root).form).encode())
    note = with_template_fields(note, parts.frontmatter, template[1])
    path = vault.layout().record(named, record.id)
    try:
        files.create(vault.root, path, notes.write(note))
    except FileExistsError:
        raise ConflictError(f"{path} exists", "run the command again") from None
    mark_briefings_stale(vault)
    try_heal(vault, caller)  # what cannot be done now the next command does
    made = NewResult(record.id, path, vault.file(path))
    return _opened(made, launch, editor)


def _daily(vault: Vault, at: datetime) -> NewResult:
    """The note of a day, made if it is not there; it is a person's own, without an id."""
    path = settings.load(vault.root).daily.replace("{date}", f"{at:%Y-%m-%d}")
    top, template = vault.root, ""
    if not path:
        try:
            above, said = daily_notes(vault.root)
            path = format_moment(at, said.get("format", "YYYY-MM-DD"))
        except (CortexError, OSError, ValueError, KeyError, AttributeError) as error:
            message = f".obsidian/daily-notes.json is not understood: {error}"
            raise InvalidInputError(message, 'set [notes] daily = "daily/{date}"') from error
        top, template = above or top, said.get("template", "").removesuffix(".md")
        path = f"{said.get('folder', '') if above else 'daily'}/{path}"
    path = f"{path.strip('/').removesuffix('.md')}.md".replace("//", "/")
    if is_new := not files.exists(top, path):
        own = template and read_own(top, f"{template}.md")
        text, place = own or read_note_template(vault.root, "daily")
        text = fill_template(text, place, at, os.path.basename(path).removesuffix(".md"))
        files.replace(top, path, text.encode(), None)
    name = os.path.relpath(f"{top}/{path}", vault.root).replace(os.sep, "/")
    return NewResult(name, name, os.path.join(top, path), "created" if is_new else "exists")


def _opened(made: NewResult, launch: Launch, editor: list[str]) -> NewResult:
    """The note, after the person's editor was open with it, if there is a terminal and one is named."""
    if launch and editor:
        launch([*editor, made.file])
    return made
