"""Whether a note is one person's alone: `scope: personal`, in a project, or `scope: global`, in all."""

from __future__ import annotations

import re

from cortex.core.model.event import is_event_id
from cortex.core.model.record import ONE_PERSONS_SCOPES
from cortex.core.notes.note import Note

_SCOPE_RE = re.compile(rb"^scope:[\s\[\"'-]*(personal|global)\b", re.MULTILINE | re.IGNORECASE)


def scope_of_one_person(note: Note) -> str:
    """`personal` or `global`, where the frontmatter of a note says so, also if it is broken.

    Earlier versions wrote `scope: personal` into every event and record without a project: there it
    says nothing.
    """
    said = {one.strip().lower() for one in note.get_list("scope")}
    unclosed = note.body if note.body.startswith(b"---") else b""
    if note.problems and (found := _SCOPE_RE.search(note.frontmatter or unclosed)):
        said.add(found[1].decode().lower())
    is_old_record = bool(note.provenance()[0]) and bool(note.get("title"))
    if not note.get("project") and (is_old_record or is_event_id(note.get("id"))):
        said.discard("personal")
    return next((one for one in ONE_PERSONS_SCOPES if one in said), "")
