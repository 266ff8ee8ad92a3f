"""Learnings of an agent: the items below the last `Key Learnings` heading of its message."""

from __future__ import annotations

import re

from cortex.core.markdown.bound import without_fences
from cortex.core.model.topics import topic_segment
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, short_hash, text_digest
from cortex.core.text.value import NamedTuple

TITLE_LIMIT = 60
_MIN_CHARS, _MIN_WORDS = 20, 4
_HEADING_RE = lazy_re(r" {0,3}#{1,6}[ \t]")
_LEARNINGS_HEADING_RE = lazy_re(
    r" {0,3}#{2,3}[ \t]+(?:(?:key )?learnings?|aprendizajes(?: clave)?)[ \t]*:?[ \t]*#*[ \t]*",
    re.IGNORECASE,
)
# Without which there is no such heading.
_ANY_LEARNINGS_RE = lazy_re(r"#[ \t]+(?:key )?(?:learning|aprendizaje)", re.IGNORECASE)
_LIST_ITEM_RE = lazy_re(r"( {0,3})(?:(\d{1,9}[.)])|[-*+])[ \t]+(\S.*)")
_IMAGE_OR_LINK_RE = lazy_re(r"!?\[([^\[\]\n]{0,400})\]\([^()\s]{0,400}\)")
_WIKILINK_RE = lazy_re(r"\[\[(?:[^\[\]|\n]{0,400}\|)?([^\[\]|\n]{0,400})\]\]")
_EMPHASIS_RE = lazy_re(r"\*\*|__|~~|`|(?<!\w)[*_](?=\w)|(?<=[\w.,;:!?])[*_](?!\w)")


class Learning(NamedTuple):
    """One thing that was learned. Who learns it again means the same topic."""

    title: str
    text: str
    topic: str


def find_learnings(text: str) -> tuple[Learning, ...]:
    """The learnings of the last such section: its numbered items, else its bullets; each once."""
    if not _ANY_LEARNINGS_RE.search(text):
        return ()
    numbered, bullets = _split_items(_learnings_section(text))
    learnings: dict[str, Learning] = {}
    topics: set[str] = set()
    for item in map(strip_markdown, numbered or bullets):
        is_short = len(item) < _MIN_CHARS or len(item.split()) < _MIN_WORDS
        if is_short or text_digest(item) in learnings:
            continue
        title = item[:TITLE_LIMIT].rstrip()
        topic = f"learning/{topic_segment(title)}"
        if len(item) > TITLE_LIMIT or topic in topics:  # other things may begin alike
            topic = f"{topic}-{short_hash(item.casefold())}"
        topics.add(topic)
        learnings[text_digest(item)] = Learning(title, item, topic)
    return tuple(learnings.values())


def strip_markdown(markdown: str) -> str:
    """A line of markdown as it reads, without its marks."""
    without_links = _WIKILINK_RE.sub(r"\1", _IMAGE_OR_LINK_RE.sub(r"\1", markdown))
    return one_line(_EMPHASIS_RE.sub("", without_links))


def _learnings_section(text: str) -> list[str]:
    """The lines below the last heading for learnings, up to the next heading; code is left out."""
    section: list[str] = []
    inside = False
    for line in without_fences(text).splitlines():
        if _HEADING_RE.match(line):
            if inside := _LEARNINGS_HEADING_RE.fullmatch(line) is not None:
                section = []
        elif inside:
            section.append(line)
    return section


def _split_items(lines: list[str]) -> tuple[list[str], list[str]]:
    """The numbered items and the unindented bullets, with their continuation lines."""
    numbered: list[list[str]] = []
    bullets: list[list[str]] = []
    current: list[list[str]] | None = None
    for line in lines:
        if item := _LIST_ITEM_RE.fullmatch(line):
            current = numbered if item[2] else bullets
            current.append([item[3]])
        elif not line.strip():
            current = None
        elif line.startswith((" ", "\t")) and not _LIST_ITEM_RE.fullmatch(line.lstrip()):
            if current is not None:
                current[-1].append(line.strip())
        else:
            current = None
    return [" ".join(item) for item in numbered], [" ".join(item) for item in bullets]
