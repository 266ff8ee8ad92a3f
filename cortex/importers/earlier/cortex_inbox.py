"""The Cortex of `~/.cortex`: records in folders of projects and areas, and an inbox of events, which
come in where no record came of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from cortex.core.model.event import RAW_HEADING
from cortex.core.model.note_status import split_heading
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.notes.note import Note
from cortex.core.notes.relations import iter_relations, parse_link_target
from cortex.core.text.lazy_re import lazy_re
from cortex.importers.archive import open_archive
from cortex.importers.item import ForeignItem, ForeignMeeting, ForeignRecord

_STAMP_RE = lazy_re(r"(20\d\d)-?(\d\d)-?(\d\d)[tT_-]?(\d\d)[:-]?(\d\d)[:-]?(\d\d)")
_TIMES = ("created", "created_at", "timestamp", "captured_at", "at", "date")
# Of events -> of records.
_TYPES = {"stop": "progress", "pre_compact": "progress", "manual": "note"}


def accepts(path: str) -> bool:
    """Whether a folder has the inbox of that Cortex, and is no vault of this one."""
    inbox, is_vault = os.path.join(path, "inbox"), os.path.exists(os.path.join(path, "cortex.toml"))
    return os.path.isdir(os.path.join(inbox, "processed")) and not is_vault


def read(path: str) -> Iterator[ForeignItem]:
    """Records and other notes, then the events of which there is no record."""
    if not accepts(path):
        message = f"{path} has no inbox/processed"
        raise InvalidInputError(message, "name the folder that holds inbox")
    told = set[str]()  # the events of which there are records
    with open_archive(path) as archive:
        names = [name for name in archive.names(".md") if not name.endswith("index.md")]
        for name in sorted(names, key=lambda name: name.startswith("inbox/")):
            if name.startswith("templates/"):
                continue
            note = archive.note(name)
            if not name.startswith("inbox/"):
                told.update(_names(note, "event_ids"))
                yield _record(name, note)
            elif (id_ := note.get("id") or name.rpartition("/")[2][:-3]) not in told:
                if name.startswith("inbox/failed/"):
                    reason = note.get("error") or note.get("reason") or "it does not say why"
                    yield Problem(name, f"it had failed there: {reason}", "look at its record here")
                yield _event(id_, name, note)
        yield from archive.problems


def _record(name: str, note: Note) -> ForeignRecord:
    folder, _, rest = name.partition("/")
    place, status = rest.rpartition("/")[0].partition("/")[0], note.get("status")
    heading, text = split_heading(note.text)
    relations = iter_relations(note.fields.get("relations"))
    return ForeignRecord(
        key=note.get("id") or name, title=note.get("title") or note.get("summary") or heading,
        body=text, type=note.get("type") or "note", at=_time(note, name), updated=note.get("updated"),
        project=note.get("project") or (place if folder == "projects" else ""),
        session="".join(_names(note, "source_session_id")[:1]),
        tags=(*note.get_list("tags"), *([place] if folder == "areas" else [])),
        status="archived" if folder == "archive" and status != "superseded" else status,
        owner=note.get("owner"), due=note.get("due"), attendees=note.get_list("attendees"),
        supersedes=_names(note, "supersedes"), derived_from=_names(note, "derived_from"),
        superseded_by=parse_link_target(note.get("superseded_by")),
        relations=tuple((kind, parse_link_target(to)) for kind, to in relations),
    )  # fmt: skip


def _names(note: Note, key: str) -> tuple[str, ...]:
    """The names in a field of the provenance, or of the note itself."""
    block = note.fields.get("provenance")
    value = (block.get(key) if isinstance(block, dict) else None) or note.fields.get(key)
    found = value if isinstance(value, list) else [value]
    return tuple(parse_link_target(one) for one in found if isinstance(one, str) and one)


def _event(id_: str, name: str, note: Note) -> ForeignMeeting | ForeignRecord:
    at, project, type_ = _time(note, name), note.get("project"), note.get("type")
    text = note.text.partition(f"{RAW_HEADING}\n")[2].strip() or note.text
    if type_ == "meeting":
        return ForeignMeeting(id_, note.get("title"), text, at, project=project)
    session, tags = note.get("session"), note.get_list("tags")
    type_ = _TYPES.get(type_, type_) or "note"
    return ForeignRecord(id_, "", text, type_, at, project=project, session=session, tags=tags)


def _time(note: Note, name: str) -> str:
    """When it was made, by a field or by the name of its file."""
    found = _STAMP_RE.search(name)
    stamp = "{}-{}-{}T{}:{}:{}Z".format(*found.groups()) if found else ""
    return next(filter(None, map(note.get, _TIMES)), stamp)
