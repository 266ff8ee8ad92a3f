"""Whether a note is one person's alone: `scope: personal`, in a project, or `scope: global`, in all."""

from __future__ import annotations

import re

from cortex.core.model.event import is_event_id
from cortex.core.model.record import ONE_PERSONS_SCOPES
from cortex.core.notes import note as notes

_SCOPE_RE = re.compile(r"^scope:[\s\[\"'-]*(personal|global)\b", re.MULTILINE | re.IGNORECASE)
_FENCE_RE = re.compile(r"\ufeff?---[ \t]*\r?$", re.MULTILINE)


def scope_of_one_person(text: str) -> str:
    """`personal` or `global`, where the frontmatter of a note says so, also if it is broken.

    Earlier versions wrote `scope: personal` into every event and record without a project: there it
    says nothing.
    """
    if "scope" not in text[: notes.MAX_FRONTMATTER_BYTES] or not (opening := _FENCE_RE.match(text)):
        return ""
    note = notes.read(text.encode("utf-8", "replace"))
    said = {one.strip().lower() for one in note.get_list("scope")}
    if note.problems:  # then its lines tell
        closing = text.find("\n---", opening.end())
        found = _SCOPE_RE.search(text, opening.end(), closing if closing > 0 else len(text))
        said |= {found[1].lower()} if found else set()
    is_old_record = bool(note.provenance()[0]) and bool(note.get("title"))
    if not note.get("project") and (is_old_record or is_event_id(note.get("id"))):
        said.discard("personal")
    return next((one for one in ONE_PERSONS_SCOPES if one in said), "")
