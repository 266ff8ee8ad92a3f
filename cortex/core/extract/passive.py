"""What an agent says it has learned: the items below the last `Key Learnings` heading of what it wrote. The rules are seed 001's."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.model.topic import segment
from cortex.core.text.strings import digest, one_line, short_hash

TITLE_LIMIT = 60
_LEAST_SIGNS, _LEAST_WORDS = 20, 4
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_LEARNINGS = re.compile(
    r" {0,3}#{2,3}[ \t]+(?:(?:key )?learnings?|aprendizajes(?: clave)?)[ \t]*:?[ \t]*#*[ \t]*",
    re.IGNORECASE,
)
_HEADED = re.compile(
    r"#[ \t]+(?:key )?(?:learning|aprendizaje)", re.IGNORECASE
)  # without which there is no such heading
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"( {0,3})(?:(\d{1,9}[.)])|[-*+])[ \t]+(\S.*)")
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]\n]{0,400})\]\([^()\s]{0,400}\)")
_WIKILINK = re.compile(r"\[\[(?:[^\[\]|\n]{0,400}\|)?([^\[\]|\n]{0,400})\]\]")
_MARK = re.compile(r"\*\*|__|~~|`|(?<!\w)[*_](?=\w)|(?<=[\w.,;:!?])[*_](?!\w)")


class Learning(NamedTuple):
    """One thing that was learned. Who learns it again means the same topic."""

    title: str
    text: str
    topic: str


def learnings(text: str) -> tuple[Learning, ...]:
    """What the last such section of a text says was learned: its numbered items, else its bullets; each once."""
    if not _HEADED.search(text):
        return ()
    numbered, bullets = _items(_section(text))
    found: dict[str, Learning] = {}
    topics: set[str] = set()
    for item in numbered or bullets:
        said = plain(item)
        if len(said) < _LEAST_SIGNS or len(said.split()) < _LEAST_WORDS or digest(said) in found:
            continue
        title = said[:TITLE_LIMIT].rstrip()
        topic = f"learning/{segment(title)}"
        if len(said) > TITLE_LIMIT or topic in topics:  # other things may begin alike
            topic = f"{topic}-{short_hash(said.casefold())}"
        topics.add(topic)
        found[digest(said)] = Learning(title, said, topic)
    return tuple(found.values())


def plain(markdown: str) -> str:
    """A line of markdown as it reads, without its marks."""
    return one_line(_MARK.sub("", _WIKILINK.sub(r"\1", _IMAGE_OR_LINK.sub(r"\1", markdown))))


def _section(text: str) -> list[str]:
    """The lines below the last heading for learnings, up to the next heading; code is left out."""
    section: list[str] = []
    inside = False
    fence = ""
    for line in text.splitlines():
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip(" \t`~"):
                fence = ""
        elif not fence:
            if _HEADING.match(line):
                if inside := _LEARNINGS.fullmatch(line) is not None:
                    section = []
            elif inside:
                section.append(line)
    return section


def _items(lines: list[str]) -> tuple[list[str], list[str]]:
    """The numbered items and the bullets at the left; what follows an item without a blank line is of it."""
    numbered: list[list[str]] = []
    bullets: list[list[str]] = []
    current: list[list[str]] | None = None
    for line in lines:
        if item := _ITEM.fullmatch(line):
            current = numbered if item[2] else bullets
            current.append([item[3]])
        elif not line.strip():
            current = None
        elif (
            current is not None
            and line.startswith((" ", "\t"))
            and not _ITEM.fullmatch(line.lstrip())
        ):
            current[-1].append(line.strip())
        else:
            current = None
    return [" ".join(item) for item in numbered], [" ".join(item) for item in bullets]
