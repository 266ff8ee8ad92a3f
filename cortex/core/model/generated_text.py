"""What Cortex writes into a session's note: lines of events, and its title, summary and overview,
which it replaces later.

Each text ends with a mark, a comment that holds an event, the number of lines and hashes, by which it is
known whether a person has changed the text. The merge driver imports this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cortex.core.model.event import PLACEHOLDER_TEXTS
from cortex.core.model.note_status import OVERVIEW_MARK, SUMMARY_MARK
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, short_hash, shorten
from cortex.core.text.value import NamedTuple

EVENTS_HEADING, SUMMARY_HEADING = "## Events", "## Summary"
_EVENT, _COUNT, _HASH = rb"([0-9tz]{16}-[a-z2-7]{10})", rb"(\d{1,6})", rb"([a-z2-7]{10})"
# Event, number of lines, hash of the text; of an overview a hash of the title, too.
SUMMARY_MARK_RE = lazy_re(rb"<!-- summary %b %b %b -->\s*" % (_EVENT, _COUNT, _HASH))
OVERVIEW_MARK_RE = lazy_re(rb"<!-- overview %b %b %b %b -->\s*" % (_EVENT, _COUNT, _HASH, _HASH))
NOTHING_SAID = "(nothing said)"
_NOTHING = (NOTHING_SAID, *PLACEHOLDER_TEXTS.values())
UNTITLED = "Session"  # begins such a title
_MAX_NAME_CHARS = 60
_NAME_RE = lazy_re(r"[^\W\d_]{1,20}(?:[ _-][^\W\d_]{1,20})*")  # that somebody chose
_UNTITLED_RE = lazy_re(rf"{UNTITLED}(?: on .+)?(?: of \d{{4}}-\d{{2}}-\d{{2}})?|{UNTITLED} \S+")
_MIN_WORDS, _MIN_BYTES = 4, 24  # of an outcome that tells something; Chinese has no blanks
_HEADING_RE = lazy_re(r"(?m)^## (\w+)$")
_EVENT_LINE_RE = lazy_re(
    r"- \d{4}-\d{2}-\d{2} \d{2}:\d{2} (\w{1,40}): (.*)\[\[([0-9tz]{16}-[a-z2-7]{10})\]\]\s*"
)


class EventLine(NamedTuple):
    """One line below `## Events`."""

    id: str
    type: str
    excerpt: str


class MarkedText(NamedTuple):
    """A text in the lines of a body, from `start` to the mark at `end`."""

    mark: tuple[bytes, ...]  # what the groups of the mark's pattern hold
    start: int
    end: int
    text: bytes  # with line feeds
    is_untouched: bool


def find_marked_text(lines: list[bytes], mark_re: re.Pattern[bytes]) -> MarkedText | None:
    """The first text that a mark of this kind ends, in lines with or without their ends."""
    for end, line in enumerate(lines):
        if mark := mark_re.fullmatch(line):
            start = max(0, end - int(mark[2]))
            text = b"\n".join(one.rstrip(b"\r\n") for one in lines[start:end])
            is_untouched = short_hash(text.decode("utf-8", "replace"), 10) == mark[3].decode()
            return MarkedText(mark.groups(), start, end, text, is_untouched)
    return None


def parse_event_line(line: str) -> EventLine | None:
    """The line of an event; None for any other line."""
    found = _EVENT_LINE_RE.fullmatch(line)
    return EventLine(found[3], found[1], found[2].strip()) if found else None


def event_lines(text: str) -> Iterator[EventLine]:
    """The event lines in the text of a session's note, in their order."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.rstrip() == EVENTS_HEADING), 0)
    yield from filter(None, map(parse_event_line, lines[start:]))


def tells_something(text: str) -> bool:
    """Whether the text of a session's note tells of more than that it was begun, ended and asked for
    something: an aborted run does not."""
    if overview := overview_of(text):
        said = outcome_of(text)
        parts = set(_HEADING_RE.findall(overview)) - {"Asked", "Outcome"}
        is_long = len(said.split()) >= _MIN_WORDS or len(said.encode()) >= _MIN_BYTES
        return bool(parts or is_long or summary_of(text))
    lines = [*event_lines(text)]
    said_in = (one for one in lines if one.type != "prompt")
    return not lines or any(not one.excerpt.startswith(_NOTHING) for one in said_in)


def summary_of(text: str) -> str:
    """What stands below `## Summary` in the text of a session's note; empty without one."""
    lines = text.splitlines()
    if SUMMARY_HEADING not in lines:
        return ""
    start = lines.index(SUMMARY_HEADING) + 1
    end = lines.index(EVENTS_HEADING, start) if EVENTS_HEADING in lines[start:] else len(lines)
    summary = (line for line in lines[start:end] if not line.startswith(SUMMARY_MARK))
    return "\n".join(summary).strip()


def overview_of(text: str) -> str:
    """The overview in the text of a session's note; empty without one."""
    overview, mark, _ = text.partition(f"\n{OVERVIEW_MARK}")
    return overview.strip() if mark else ""


def outcome_of(text: str) -> str:
    """What stands below `## Outcome` in the overview; empty when there is none."""
    return _part_of_overview(text, "Outcome")


def changed_files(text: str) -> list[str]:
    """The files that the overview names below `## Changed`."""
    return re.findall(r"(?m)^- `([^`\n]+)`$", _part_of_overview(text, "Changed"))


def _part_of_overview(text: str, heading: str) -> str:
    below = f"\n{overview_of(text)}".partition(f"\n## {heading}\n")[2]
    return re.split(r"(?m)^## ", below, maxsplit=1)[0].strip()


def untitled(name: str) -> str:
    """The title of a session of which only its name is known."""
    return f"{UNTITLED} {shorten(name, _MAX_NAME_CHARS)}"


def untitled_by_what(name: str, what: str, day: str) -> str:
    """The title of a session of which its name, branch or a file, and day are known."""
    if _NAME_RE.fullmatch(name):
        return untitled(name)
    return f"{UNTITLED}{f' on {one_line(what)}' if what else ''} of {day}"


def is_untitled(title: str, name: str = "") -> bool:
    """Whether a title is one that Cortex gives where nothing tells a better one."""
    return title == untitled(name) or bool(_UNTITLED_RE.fullmatch(title))


def without_title(text: str, title: str) -> str:
    """What came of a session, without the title that it begins with."""
    rest = text.removeprefix(title)
    return rest.lstrip(" ·:.") if not rest or rest[0] in " :." else text
