"""The events that an item of a source makes, with ids that follow from the source alone."""

from __future__ import annotations

import math
import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from cortex.core.model import event as events, topics, turn_summary
from cortex.core.model.event import Event
from cortex.core.model.note_status import split_heading
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import (
    canonical_type,
    content_digest,
    default_scope,
    format_confidence,
    is_record_type,
    record_id,
)
from cortex.core.model.turn_summary import TurnSummary, Utterance
from cortex.core.normalize.handlers import MAX_SAVED_TITLE_CHARS
from cortex.core.redact.person_words import NONE, keep_of_prompt
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text import iso_time
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import (
    format_time,
    hash_bytes,
    one_line,
    printable_line,
    short_hash,
    shorten,
    slugify,
)
from cortex.hosts.transcript_item import (
    MAX_COMMAND_CHARS,
    is_noteworthy,
    project_relative_path,
    redacted_line,
    tagged_lines,
)
from cortex.importers.item import ForeignMeeting, ForeignRecord, ForeignSession, ForeignTurn, When
from cortex.operations.capture.capture import clean_tags
from cortex.operations.capture.sanitize import sanitize_name
from cortex.operations.exchange.transcript_events import clean_title, split_text

# How many of a unit of time since 1970 a number must have to be in that unit: seconds until the
# year 5138, then milliseconds, microseconds, nanoseconds.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
_NEVER, _YEAR = 253_370_764_800, 31_536_000  # 9999, which programs write that mean no end
_HOME_RE = lazy_re(r"/(?:home|Users)/[^/]*|/root|[A-Za-z]:/Users/[^/]*")
# To a note: `[label](../adr/0002-b.md#why)`; and as it is written here.
_LINK_RE = lazy_re(r"\[([^\[\]|\n]*)\]\(<?([^()<>\s#:]+\.md)(?:#[^()<>\s]*)?>?\)")
_OWN_LINK_RE = lazy_re(r"\[\[[^\[\]|\n]*\|([^\[\]|\n]*)\]\]")
_NUMBERED_RE = lazy_re(r"(?:[a-z ]+ )?\d+")  # the key of a row
_MAX_ROW_CHARS = 2_000  # of a table, before a link
_MAX_NAME_CHARS = 150  # of a source's own name for a thing


def read_time(when: When) -> str:
    """The time that a source gives, as `2026-11-20T16:45:12Z`; empty if it gives none. 0 is none:
    it is what programs write that know no time."""
    if isinstance(when, str):
        text = when.strip()
        if len(text) == len("20261127") and text.isdecimal():
            text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
        if not text.replace(".", "", 1).isdecimal() or len(text) == len("2026"):
            iso = text.replace(" ", "T", 1)
            for form in (text, iso, iso.replace(" ", "")):
                try:
                    return format_time(int(iso_time.parse_utc(form).timestamp()))
                except ValueError:
                    continue
            day = iso_time.parse_day(text.replace("/", "-").replace("_", "-")[:10])
            return f"{day}T00:00:00Z" if day else ""
        when = float(text)
    if not when or when < 0:
        return ""
    if any(0 <= when / unit - _NEVER < _YEAR for unit in (1, 1e3)):
        return ""
    divisor = next((divisor for least, divisor in _UNITS if when >= least), 1)
    return format_time(when / divisor)


def project_name(named: str) -> str:
    """The project that a name, or the path of a folder, means; empty for anybody's home folder."""
    path = named.strip().replace("\\", "/").rstrip("/")
    if path == "~" or _HOME_RE.fullmatch(path):
        return ""
    return events.project_slug(sanitize_text(path.rpartition("/")[2]).lstrip("._-"))


def event_id(source: str, kind: str, key: str, at: str) -> str:
    """The id of an event of a source's item. The same on every machine."""
    stamp = at.replace("-", "").replace(":", "").lower()
    return events.make_id(stamp, hash_bytes(f"{source}\0{kind}\0{key}", 7))


def clean_record(item: ForeignRecord, fallback: str, project: str) -> ForeignRecord:
    """The memory in Cortex's words and without secrets; the functions below take such a one. Keys
    are still those of the source. `fallback` is its time if it has none; `project` that of what
    names none."""
    body = sanitize_text(item.body).strip("\n")
    title = printable_line(sanitize_text(item.title))
    if not title:
        heading, rest = split_heading(body)
        first = next(filter(None, map(one_line, body.splitlines())), "")
        title, body = (heading, rest) if heading else (printable_line(first.lstrip("#>*- ")), body)
    if len(title) > MAX_SAVED_TITLE_CHARS:
        body = body if body.startswith(title) else f"{title}\n\n{body}".rstrip()
        title = shorten(title, MAX_SAVED_TITLE_CHARS)
    word = canonical_type(slugify(item.type.strip().lower(), 40))
    updated = read_time(item.updated)
    at = read_time(item.at) or updated
    own = project_name(item.project) or project
    # A tag of several words as one word.
    words = (
        "-".join(one.split()).replace(",", "-").strip("[]{}\"'") for one in clean_tags(item.tags)
    )
    scope = item.scope if item.scope in ("personal", "global") else default_scope(own)
    return item._replace(
        title=title, body=body or title, project=own, scope=scope,
        at=at or fallback, is_dated=bool(at),
        type=word if is_record_type(word) else "note", updated=updated if updated > at else "",
        session=sanitize_name(item.session), branch=sanitize_name(item.branch),
        topic=_topic_of(sanitize_text(item.topic)),
        tags=tuple(filter(events.is_tag, words)),
        status=slugify(sanitize_text(item.status).lower(), 40) if item.status else "",
        owner=_line(item.owner), due=_line(item.due), confidence=_number(item.confidence),
        priority=None if (number := _number(item.priority)) is None else round(number),
        attendees=tuple(map(_line, item.attendees)),
    )  # fmt: skip


def _line(text: str) -> str:
    return printable_line(sanitize_text(text))


def _number(given: float | None) -> float | None:
    """None for what is no number; a source may hold anything there."""
    return given if isinstance(given, int | float) and math.isfinite(given) else None


def _topic_of(named: str) -> str:
    """A source's own name for what it updates, as a topic."""
    try:
        return topics.normalize_topic(named) if named else ""
    except InvalidInputError:
        return f"imported/{slugify(named, 80)}-{short_hash(named)}"


def id_of_record(item: ForeignRecord, own_event: str) -> str:
    """The id that the record of the memory gets; `own_event` is the id of its event."""
    if item.topic:
        return topics.topic_record_id(item.project, item.scope, item.topic)
    return record_id(item.title, own_event[len("20261120t164512z-") :])


def linked_keys(item: ForeignRecord) -> Iterator[str]:
    """The keys of what the memory's text links to, where keys are the paths of files, with their
    ending or without."""
    paths = (_linked_key(item, found) for found in _LINK_RE.finditer(item.body))
    return (key for path in paths for key in (path, path.removesuffix(".md")))


def _linked_key(item: ForeignRecord, found: re.Match[str]) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(item.key), unquote(found[2])))


def without_links(text: str) -> str:
    """The text with the labels of links alone: it is the same before and after ids are known."""
    return _LINK_RE.sub(r"\1", _OWN_LINK_RE.sub(r"\1", text))


def event_of_record(
    source: str, item: ForeignRecord, ids: Mapping[str, str], superseded_by: str
) -> Event:
    """The event of a memory. `ids` are the record ids of the source's keys; `superseded_by` is the
    key of what replaces it, if anything does."""
    event_key, said_at = item.key, str(item.at)
    if item.topic:  # what is said anew under a name of its own is another event, the later one
        said_at = str(item.updated or said_at)
        event_key += f"\0{said_at}\0{item.title}\0{content_digest(item.title, item.body, '')}"
    elif item.is_dated and _NUMBERED_RE.fullmatch(event_key):
        event_key += f"\0{said_at}"  # another machine's database counts from 1 as well
    own_id = event_id(source, "record", event_key, said_at)
    at = events.time_of_id(own_id)

    def known(keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ids[key] for key in keys if key in ids))

    def link(found: re.Match[str]) -> str:
        path = _linked_key(item, found)
        id_ = ids.get(path) or ids.get(path.removesuffix(".md"))
        before = found.string[max(0, found.start() - _MAX_ROW_CHARS) : found.start()]
        in_table = before.rpartition("\n")[2].lstrip().startswith("|")
        bar = "\\|" if in_table else "|"  # a bare one would end the cell
        return f"[[{id_}{bar}{found[1] or id_}]]" if id_ else found[0]

    pairs = ((kind, ids[key]) for kind, key in item.relations if key in ids and key != item.key)
    words = ((slugify(kind.lower(), 40).replace("-", "_"), to) for kind, to in dict.fromkeys(pairs))
    return Event(
        id=own_id, type="observation", at=at, text=_LINK_RE.sub(link, item.body), session=item.session,
        project=item.project, branch=item.branch, tags=item.tags, source="import",
        title=item.title, record=item.type, topic=item.topic,
        scope=item.scope if item.scope != default_scope(item.project) else "",
        confidence="" if item.confidence is None else format_confidence(min(max(item.confidence, 0), 1)),
        priority="" if item.priority is None else str(min(max(item.priority, 1), 10)),
        derived_from=known(item.derived_from), supersedes=known(item.supersedes),
        relations=tuple(f"{kind or 'relates_to'} {to}" for kind, to in words),
        status="superseded" if superseded_by else item.status if item.status != "active" else "",
        superseded_by=ids.get(superseded_by, ""), pinned="true" if item.pinned else "",
        owner=item.owner, due=item.due, attendees=item.attendees,
        created=str(item.at) if item.at != at else "",
        updated=str(item.updated) if item.updated != at else "",
        imported_from=provenance(source, item.key),
    )  # fmt: skip


def provenance(source: str, key: str) -> str:
    """What a record says of where it comes from."""
    return f"{source} {printable_line(sanitize_text(key))[:_MAX_NAME_CHARS]}".strip()


def events_of_meeting(
    source: str, item: ForeignMeeting, fallback: str, project: str
) -> list[Event]:
    """The event of a meeting: minutes below the title, with who was there."""
    at = read_time(item.at) or fallback
    title, names = one_line(item.title), ", ".join(map(one_line, item.attendees))
    heading, _ = split_heading(item.text)
    head = [] if heading or not title else [f"# {title}"]
    is_told = "attendees:" in item.text[:2000].lower()
    head += [f"Attendees: {names}"] if names and not is_told else []
    text = sanitize_text("\n\n".join([*head, item.text.strip("\n")]))
    return [
        Event(
            event_id(source, "meeting", f"{item.key}\0{number}" if number else item.key, at),
            "meeting", at, part, project=project_name(item.project) or project, source="import",
            imported_from=provenance(source, item.key),
        )
        for number, part in enumerate(split_text(text))
    ]  # fmt: skip


def events_of_session(
    source: str, item: ForeignSession, fallback: str, project: str, prompts: str
) -> Iterator[Event]:
    """The events of a session; `prompts` says what is kept of a person's words."""
    times = filter(None, (read_time(when) for when in (item.at, *(turn.at for turn in item.turns))))
    at = next(times, fallback)
    title = clean_title(item.title)
    base = Event(
        "", "", "", "", session=sanitize_name(item.key), branch=sanitize_name(item.branch),
        project=project_name(item.project or item.folder) or project, host=sanitize_name(item.host) or source,
        source="import", imported_from=provenance(source, item.key),
    )  # fmt: skip

    def made(kind: str, key: str, text: str) -> Iterator[Event]:
        for number, part in enumerate(split_text(sanitize_text(text))):
            id_ = event_id(source, kind, "\0".join((item.key, key, str(number))), at)
            yield base._replace(id=id_, type=kind, at=at, text=part)

    if goal := keep_of_prompt(item.goal, prompts):
        yield from made("session_start", "", goal)
    seen = Counter[str]()
    for turn in item.turns:
        at = read_time(turn.at) or at
        seen[turn.key] += 1
        key = f"{turn.key} {seen[turn.key]}" if seen[turn.key] > 1 else turn.key
        if turn.summary.strip():
            said = TurnSummary(turn.summary, title=title)
            yield from made("session_end", key, turn_summary.compose_text(said))
        elif summary := _turn_summary(turn, item.folder, prompts):
            text = turn_summary.compose_text(summary._replace(title=title))
            yield from made("stop", key, text)


def _turn_summary(turn: ForeignTurn, folder: str, prompts: str) -> TurnSummary:
    """What was said and done in a turn, with as much of the person's words as is kept."""
    said, tagged = [], []
    for one in turn.said:
        if one.role == turn_summary.USER:
            tagged += tagged_lines(one.text)
            one = Utterance(one.role, keep_of_prompt(one.text, prompts), one.about)  # noqa: PLW2901
        said += [one] if one.text.strip() else []
    if turn.given and prompts != NONE:
        said.append(Utterance(turn_summary.USER, sanitize_text("\n\n".join(turn.given))))
    paths = (
        project_relative_path(path, folder, folder) if os.path.isabs(path) else path
        for path in turn.files
    )
    told = [run for run in turn.commands if run.outcome != "ok" or is_noteworthy(run.line)]
    lines = (shorten(redacted_line(run.line), MAX_COMMAND_CHARS) for run in told)
    commands = (run._replace(line=line) for run, line in zip(told, lines, strict=True))
    return TurnSummary(
        turn_summary.format_utterances(said), tuple(dict.fromkeys(tagged)),
        tuple(dict.fromkeys(filter(None, map(one_line, paths)))), tuple(commands),
    )  # fmt: skip
