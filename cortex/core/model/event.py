"""Events, the immutable captures: ids, frontmatter, raw content. Standard library only."""

from __future__ import annotations

from _collections_abc import Iterable

from cortex.core.model.problem import InvalidInputError
from cortex.core.text import yaml_writer
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import (
    encode_base32,
    format_time,
    one_line,
    one_of,
    parse_time,
    short_hash,
    shorten,
    slugify,
)
from cortex.core.text.value import NamedTuple

# Types of events. A new one is a word here and a handler in `core/normalize/handlers.py`.
EVENT_TYPES = (
    "manual", "stop", "pre_compact", "meeting", "observation", "passive", "prompt",
    "session_start", "session_end", "subagent_stop", "post_compact", "distilled", "run",
)  # fmt: skip
DISTILLED = "distilled"  # what a model made of turns of a session
RUN = "run"  # what came of a run of an agent
MADE_TYPES = (DISTILLED, RUN)  # what nobody captures by hand
TURN_TYPES = ("stop", "subagent_stop", "pre_compact")  # what was said and done in a turn
# The text of an event that may come without one.
PLACEHOLDER_TEXTS = {"session_start": "(no goal)", "session_end": "(no summary)"}
# The fields of an event that are lists.
LIST_FIELDS = ("tags", "derived_from", "supersedes", "relations", "attendees")
RAW_HEADING = "## Raw Content"
PAUSE_SECONDS = 1800  # without a turn, after which a session counts as ended
HEADLESS = "headless"  # begins the name of a session that holds the headless runs of a day
MAX_CONTENT_BYTES = 1_000_000  # of content; a memory is read by people and by agents with a budget
MAX_NAME_CHARS = 200  # of a session, of a branch
_MAX_HEAD_BYTES = 32_000  # of all fields but the text

_BASE32_IN_SORT_ORDER = "234567abcdefghijklmnopqrstuvwxyz"  # the signs of base32 as they sort
# Hooks compile no pattern.
_DIGITS, _LETTERS = frozenset("0123456789"), frozenset("abcdefghijklmnopqrstuvwxyz")
_BASE32_CHARS = _LETTERS | frozenset("234567")
_PROJECT_NAME_CHARS = _LETTERS | _DIGITS | frozenset("._-")
_TAG_RE = lazy_re(r"[^\s,#\[\]{}\"']{1,100}")
_HEADLESS_NAME_RE = lazy_re(rf"{HEADLESS}-(?:.*-)?[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}")


class Event(NamedTuple):
    """One capture. Fields are written in this order; empty ones are left out."""

    id: str
    type: str
    at: str  # UTC, `2026-11-20T16:45:12Z`
    text: str
    session: str = ""
    project: str = ""
    branch: str = ""
    tags: tuple[str, ...] = ()
    host: str = ""  # the agent host that sent it, empty when a person did
    source: str = ""  # the interface that took it: cli, hook, mcp
    run: str = ""  # the run of an agent that it came of; or the session of a headless run, where `session` names all of its day
    title: str = ""  # from here on what an observation says of its record
    record: str = ""  # its type
    topic: str = ""
    scope: str = ""
    confidence: str = ""
    priority: str = ""
    derived_from: tuple[str, ...] = ()  # record ids
    supersedes: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()  # others: a kind, a blank and a record id each
    status: str = ""
    superseded_by: str = ""  # a record id
    pinned: str = ""  # "true"
    owner: str = ""
    due: str = ""
    attendees: tuple[str, ...] = ()
    created: str = ""  # UTC, if that was before `at`
    updated: str = ""  # UTC, if that was after `at`
    imported_from: str = ""  # the source and what it calls this: `engram observation 17`
    day: str = ""  # where it was captured, if that is not the day of `at`
    clock: str = ""  # what the clocks of the vault's zone showed; in no file

    @property
    def today(self) -> str:
        """The day from which `tomorrow` is counted."""
        return self.day or self.at[:10]


def as_headless(event: Event) -> Event:
    """The event of a headless run: one session a day holds the runs of a project."""
    name = "-".join(filter(None, (HEADLESS, event.project, time_of_id(event.id)[:10])))
    return event._replace(session=name, run=event.session)


def is_headless(session: str) -> bool:
    """True if `as_headless` makes such a name: the session holds headless runs."""
    return _HEADLESS_NAME_RE.fullmatch(session) is not None


def make_id(stamp: str, random: bytes) -> str:
    """An id from `YYYYMMDDtHHMMSSz` and at least 7 random bytes, of which 50 bits are used."""
    return f"{stamp}-{encode_base32(int.from_bytes(random, 'big'), 10)}"


def id_after(id_: str, random: bytes) -> str:
    """An id that sorts `random` + 1 steps behind `id_`, within the same second if possible: so the
    later of two texts stays the later one though clocks differ."""
    number = 0
    for sign in id_[17:]:
        number = number * 32 + _BASE32_IN_SORT_ORDER.index(sign)
    number += 1 + int.from_bytes(random, "big")
    stamp = id_[:16] if number < 32**10 else next_second(id_)
    return f"{stamp}-" + "".join(
        _BASE32_IN_SORT_ORDER[number >> 5 * place & 31] for place in reversed(range(10))
    )


def next_second(id_: str) -> str:
    """The time with which an id begins that stands a second behind `id_`."""
    later = format_time((parse_time(time_of_id(id_)) or 0) + 1)
    return later.replace("-", "").replace(":", "").lower()


def session_note_id(name: str) -> str:
    """The id of the note of a session; an event without a session is one of its own."""
    return f"session-{slugify(name, 40)}-{short_hash(name)}"


def is_event_id(text: str) -> bool:
    """True if `text` has the form of an event id and begins with a time that exists."""
    return (
        len(text) == 27
        and text[8] + text[15:17] == "tz-"
        and _DIGITS.issuperset(text[:8] + text[9:15])
        and _BASE32_CHARS.issuperset(text[17:])
        and parse_time(time_of_id(text)) is not None
    )


def is_project_name(name: str) -> bool:
    """True if a capture may have this as its project."""
    return 0 < len(name) <= 64 and name[0] not in "._-" and _PROJECT_NAME_CHARS.issuperset(name)


def project_slug(named: str) -> str:
    """A valid project name made of any name: lower case, other characters as `-`, or `project-` and a
    hash if no ASCII letter or digit is left; empty for a name without letters and digits."""
    word = one_line(named).lower()
    if not word or is_project_name(word):
        return word
    if any(sign.isalnum() and sign.isascii() for sign in word):
        return slugify(word, 64)
    return f"project-{short_hash(word)}" if any(map(str.isalnum, word)) else ""


def slug_remark(named: str, kept: str) -> str:
    """A note for the answer when a project is kept under another name than given; else empty."""
    given = one_line(named)
    is_plain = not given or is_project_name(given.lower())
    return (
        ""
        if is_plain
        else f"the project {shorten(given, MAX_NAME_CHARS)!r} is kept as {kept or 'none'}"
    )


def is_tag(word: str) -> bool:
    """True if a capture may have this as a tag: one word without commas, quotes and brackets."""
    return _TAG_RE.fullmatch(word) is not None


def latest_event_id(ids: Iterable[str]) -> str:
    """The greatest event id; empty if there is none. Words that are no ids are ignored."""
    return max(filter(is_event_id, ids), default="")


def time_of_id(id_: str) -> str:
    """The time that stands in an event id, as it stands in the event's `at`."""
    return f"{id_[:4]}-{id_[4:6]}-{id_[6:8]}T{id_[9:11]}:{id_[11:13]}:{id_[13:15]}Z"


def check_size(text: str) -> None:
    """Raise `InvalidInputError` when a text is too long for an event."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_CONTENT_BYTES:
        raise InvalidInputError(
            f"the content is {size:,} bytes; a capture holds at most {MAX_CONTENT_BYTES:,}",
            "capture a summary, and keep the whole text as a note of its own in the vault",
        )


def validate(event: Event) -> None:
    """Check an event before it is written. Raises `InvalidInputError`, which says what is wrong."""
    if event.type not in EVENT_TYPES:
        raise InvalidInputError(
            f"unknown event type {event.type!r}",
            one_of(event.type, [one for one in EVENT_TYPES if one not in MADE_TYPES]),
        )
    if not event.text.strip():
        raise InvalidInputError(
            "there is nothing to capture",
            'cortex capture "Decision: …", or pipe text into cortex capture -',
        )
    check_size(event.text)
    if not is_event_id(event.id):
        raise InvalidInputError(
            f"{event.id!r} is not an event id", "an id looks like 20261120t164512z-k3f7q2abcd"
        )
    if event.project and not is_project_name(event.project):
        raise InvalidInputError(
            f"{event.project!r} is not a project name",
            "use lower-case letters, digits, `.`, `_`, `-`; at most 64 characters",
        )
    for tag in event.tags:
        if not is_tag(tag):
            raise InvalidInputError(
                f"{tag!r} is not a tag",
                "tags hold no blanks, commas, quotes or brackets: --tags auth,area/db",
            )


def check_field_sizes(event: Event) -> None:
    """Raise `InvalidInputError` if a new event's fields are too long: readers of notes read only the
    first part of a file for its frontmatter."""
    for field in ("session", "branch", "run"):
        if (size := len(getattr(event, field))) > MAX_NAME_CHARS:
            message = f"the {field} has {size:,} characters"
            raise InvalidInputError(message, f"a name has at most {MAX_NAME_CHARS}")
    if (size := len(compose(event._replace(text="")).encode("utf-8", "replace"))) > _MAX_HEAD_BYTES:
        message = f"the tags and other fields take {size:,} bytes"
        raise InvalidInputError(message, f"give fewer: they take at most {_MAX_HEAD_BYTES:,}")


def compose(event: Event) -> str:
    """The event as a note: frontmatter, a heading, then the text unchanged."""
    fields: dict[str, yaml_writer.YamlValue] = event._asdict()
    text, _ = fields.pop("text"), fields.pop("clock")
    return f"{yaml_writer.frontmatter(fields)}\n{RAW_HEADING}\n\n{text}\n"


def raw_content(body: str) -> str | None:
    """The captured text from the body of an event's note; None when the heading is missing."""
    head, found, text = body.partition(f"{RAW_HEADING}\n\n")
    return text.removesuffix("\n") if found and not head.strip() else None
