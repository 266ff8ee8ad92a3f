"""A record that a person writes, begun from a template."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Conflict, Invalid
from cortex.core.model.record import RECORD_TYPES, Record, compose, record_id, type_named
from cortex.core.redact.secrets import clean
from cortex.core.text.strings import shorten
from cortex.operations.share.heal import heal_by_the_way
from cortex.vault import files, layout
from cortex.vault.git import checkout
from cortex.vault.git.change_marker import forget
from cortex.vault.locate import Vault
from cortex.vault.templates import template, template_names


class Written(NamedTuple):
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
    tags: str = "",
    body: str = "",
) -> Written:
    """Begin a record of your own from a template and print its path.

    type: decision, pattern, gotcha, meeting, action, note or another type of record
    title: its title
    project: the project; by default what the working directory says
    tags: comma-separated
    body: the text; a single - reads standard input; by default the template of the type

    Example: $EDITOR "$(cortex new decision Publish by link)"
    """
    named = type_named(type)
    if named not in RECORD_TYPES:
        raise Invalid(f"there is no record type {type!r}", f"use one of: {', '.join(RECORD_TYPES)}")
    stamp = caller.now.replace("-", "").replace(":", "").lower()
    seed = events.event_id(
        stamp, caller.random(7)
    )  # a person's record has no event; its id is made as if it had
    title = shorten(clean(title), 120)
    text = (
        clean(body)
        if body
        else template(f"{named if named in template_names() else 'note'}.md").replace(
            "{{cursor}}", ""
        )
    )
    record = Record(
        id=record_id(title, seed), type=named, title=title, body=text, created=caller.now, events=(),
        status="open" if named == "action" else "active", project=clean(project).lower() or checkout.project_of(caller.cwd),
        branch=clean(checkout.branch_of(caller.cwd)), tags=tuple(clean(tag.strip()) for tag in tags.split(",") if tag.strip()),
    )  # fmt: skip
    # What holds for a capture holds here: a text, a project, tags, a size.
    events.check(
        Event(
            seed,
            "manual",
            caller.now,
            title and f"{title}\n{text}",
            project=record.project,
            tags=record.tags,
        )
    )
    path = layout.record(named, record.id)
    try:
        files.publish(vault.root, path, compose(record).encode())
    except FileExistsError:
        raise Conflict(f"{path} exists", "run the command again") from None
    forget(vault)
    heal_by_the_way(vault, caller)  # what cannot be done now the next command does
    return Written(record.id, path, os.path.join(vault.root, path))
