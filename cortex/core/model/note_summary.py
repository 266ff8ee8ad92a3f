"""What the catalogue and the index keep of a note: read once, when the note has changed."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.briefing.item_lines import Source, items_of
from cortex.core.briefing.pages import FOLDER, ItemLine, Page
from cortex.core.extract.entities import Entity, entities_of
from cortex.core.markdown.scan import Scanned, conflict_line, scan, title_of
from cortex.core.markdown.tasks import ticked
from cortex.core.model.problem import Problem
from cortex.core.model.relation import Edge, edges_of, names_of
from cortex.core.model.status import ASIDE, CURRENT, SET_ASIDE, TRAIL
from cortex.core.notes import note as notes
from cortex.core.text import iso_time
from cortex.core.text.strings import digest, one_line, shorten

_DATE_KEYS = ("updated", "modified", "created", "date", "at")
_DATE_IN_NAME = re.compile(r"(?:^|[/_ -])(\d{4}-\d{2}-\d{2})(?=[_ .-]|$)")
_INBOX_STATUS = {"inbox/pending/": "pending", "inbox/failed/": "failed", "events/": "normalized"}


class Card(NamedTuple):
    """A note as the catalogue knows it. `body` is its text for the index and is not kept."""

    path: str
    id: str  # the frontmatter's id, else the path
    type: str
    title: str
    status: str
    project: str
    branch: str
    tags: tuple[str, ...]  # lower case; of the frontmatter and of the text
    aliases: tuple[str, ...]
    date: int  # seconds since the epoch of the last change that the note tells of, else of its file
    tier: int
    created: str
    events: tuple[str, ...]  # its provenance
    digest: str  # of a record's body, to recognise a twin
    body: str
    problems: tuple[Problem, ...]
    items: tuple[tuple[Page, ItemLine], ...]  # its lines in briefings
    scope: str
    topic: str
    session: str
    updated: str
    due: str
    owner: str
    pinned: bool
    confidence: float | None  # 0 to 1; None when the note does not say
    priority: int | None  # 1 to 10; the same
    names: tuple[
        tuple[str, int], ...
    ]  # what links call it, folded, each with its rank: 0 id, 1 path, 2 file name
    edges: tuple[Edge, ...]
    entities: tuple[Entity, ...]
    ticks: tuple[str, ...]  # ids of actions that this note's ticked tasks say are done


def card_of(path: str, data: bytes, mtime: int) -> Card:
    """The card of a note from its bytes (its first megabyte) and its file's modification time in seconds."""
    note = notes.read(data, path)
    body = note.text
    problems = (*note.problems, *_left_by_a_merge(note, path, body))
    scanned = scan(body, note.body_line)
    status = one_line(note.get("status")).lower()
    tier = SET_ASIDE if status in ASIDE else CURRENT
    for prefix, inbox_status in _INBOX_STATUS.items():
        if path.startswith(prefix):
            status, tier = inbox_status, TRAIL
    tasks = scanned.tasks
    if path.startswith(f"{FOLDER}/"):
        tier = TRAIL
        if note.get("type") == "briefing":  # what it says is found where it came from
            body, scanned = "", scan("")
    from_events, _ = note.provenance()
    id_ = note.get("id") or path
    type_ = shorten(note.get("type"), 40).lower()
    title = one_line(note.get("title")) or one_line(title_of(scanned, path))
    project, branch = one_line(note.get("project")), one_line(note.get("branch"))
    created = note.get("created")
    ticks = ticked(note, scanned, current=tier == CURRENT) if tier != TRAIL else ()
    said = (
        "done" if status == "open" and type_ == "action" and id_ in ticks else status or "active"
    )  # a person ticked the last of its own tasks
    source = Source(
        path, id_, type_, title, said, project, branch, created or note.get("date"),
        one_line(note.get("due")), one_line(note.get("owner")), body, tasks,
    )  # fmt: skip
    return Card(
        path=path,
        id=id_,
        type=type_,
        title=title,
        status=status,
        project=project,
        branch=branch,
        tags=_tags(note, scanned),
        aliases=(*note.texts("aliases"), *note.texts("alias")),
        date=_date(note, path, mtime),
        tier=tier,
        created=created,
        events=from_events,
        digest=digest(body) if from_events else "",
        body=body,
        problems=problems,
        items=tuple(items_of(source)) if tier != TRAIL else (),
        scope=one_line(note.get("scope")).lower(),
        topic=one_line(note.get("topic")),
        session=_session_of(note),
        updated=note.get("updated"),
        due=source.due,
        owner=source.owner,
        pinned=note.fields.get("pinned") is True,
        confidence=_confidence(note.get("confidence")),
        priority=_priority(note.get("priority")),
        names=names_of(id_, path),
        edges=edges_of(note, scanned) if tier != TRAIL else (),
        entities=entities_of(body, scanned, note.body_line) if tier != TRAIL else (),
        ticks=ticks,
    )


def _tags(note: notes.Note, scanned: Scanned) -> tuple[str, ...]:
    tags = (*note.texts("tags"), *note.texts("tag"), *(tag.name for tag in scanned.tags))
    return tuple(dict.fromkeys(tag.lstrip("#").lower() for tag in tags if tag.strip("# ")))


def _left_by_a_merge(note: notes.Note, path: str, body: str) -> list[Problem]:
    if line := conflict_line(body):
        message = "conflict markers: git could not merge the two versions"
        return [
            Problem(
                f"{path}:{line + note.body_line - 1}",
                message,
                "keep the lines you want, delete the markers",
            )
        ]
    if note.fields.get("merge_conflicts"):
        message = (
            "a merge left something for a person to decide: see merge_conflicts in its frontmatter"
        )
        return [Problem(path, message, "choose, then delete the lines of merge_conflicts")]
    return []


def _session_of(note: notes.Note) -> str:
    session = note.provenance()[1].get("session")
    return one_line(session if isinstance(session, str) else note.get("session"))


def _confidence(text: str) -> float | None:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return None


def _priority(text: str) -> int | None:
    return (
        min(max(int(text), 1), 10)
        if text.isascii() and text.isdecimal() and len(text) < 4
        else None
    )


def _date(note: notes.Note, path: str, mtime: int) -> int:
    named = _DATE_IN_NAME.search(path)
    for text in (*(note.get(key) for key in _DATE_KEYS), named[1] if named else ""):
        if text and (seconds := _seconds(text)) is not None:
            return seconds
    return mtime


def _seconds(text: str) -> int | None:
    """A date, or a time with or without a zone (UTC is taken then), as seconds since the epoch."""
    try:
        return int(iso_time.in_utc(text.strip()).timestamp())
    except ValueError:
        return None
