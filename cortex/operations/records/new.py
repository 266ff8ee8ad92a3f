"""A record that a person writes, begun from a template."""

from __future__ import annotations

import os

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import ConflictError, InvalidInputError
from cortex.core.model.record import (
    RECORD_TYPES,
    canonical_type,
    compose_record,
    initial_status,
    record_id,
)
from cortex.core.normalize.text_records import base_record
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import one_of, shorten
from cortex.core.text.value import NamedTuple
from cortex.operations.capture.capture import clean_tags, new_event_id
from cortex.operations.upkeep.heal import try_heal
from cortex.vault import files, settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale
from cortex.vault.templates import list_template_names, read_template


class NewResult(NamedTuple):
    """A new note."""

    id: str
    path: str
    file: str  # the path from the root of the disk, for an editor


def new(
    vault: Vault,
    caller: Caller,
    type: str,
    title: str,
    *,
    project: str = "",
    tags: tuple[str, ...] = (),
    body: str = "",
) -> NewResult:
    """Begin a record of your own from a template.

    Its path is printed, for an editor.

    type: decision, pattern, gotcha, meeting, action, note or another type of record
    title: its title
    project: the project; by default what the working directory says
    tags: comma-separated
    body: the text; a single - reads standard input; by default the template of the type

    Example: $EDITOR "$(cortex new decision Publish by link)"
    """
    named = canonical_type(type)
    if named not in RECORD_TYPES:
        raise InvalidInputError(f"there is no record type {type!r}", one_of(type, RECORD_TYPES))
    seed = new_event_id(caller)  # a person's record has no event; its id is made as if it had
    title = shorten(sanitize_text(title), 120)
    if body:
        text = sanitize_text(body)
    else:
        template = named if named in list_template_names() else "note"
        text = read_template(f"{template}.md").replace("{{cursor}}", "")
    event = Event(
        id=seed,
        type="manual",
        at=caller.now,
        text=title and f"{title}\n{text}",
        project=events.project_slug(sanitize_text(project)) or checkout.project_of(caller.cwd),
        branch=sanitize_text(checkout.branch_of(caller.cwd)),
        tags=clean_tags(tags),
    )
    events.validate(event)  # what holds for a capture holds here: a text, a project, tags, a size
    record = base_record(event)._replace(
        id=record_id(title, seed), type=named, title=title, body=text, events=(),
        status=initial_status(named),
    )  # fmt: skip
    path = vault.layout().record(named, record.id)
    settings.check_writable(vault.root)
    try:
        files.create(vault.root, path, compose_record(record).encode())
    except FileExistsError:
        raise ConflictError(f"{path} exists", "run the command again") from None
    mark_briefings_stale(vault)
    try_heal(vault, caller)  # what cannot be done now the next command does
    return NewResult(record.id, path, os.path.join(vault.root, path))
