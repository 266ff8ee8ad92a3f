"""A turn cut into passages of about a screen: the paragraphs and lists below one heading, or what a
person said in one go, with what it needs to be understood.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.extract.prose import mask_code
from cortex.core.model.turn_summary import AGENT, USER, Utterance

MAX_PASSAGE_CHARS = 900
_MAX_PASSAGES = 400  # of one turn
_MAX_PROMPT_CHARS = 400  # of a prompt that is one passage; of a longer one each line is
_MAX_CONTEXT_CHARS = 300  # of what the agent said before a person's words
_HEADING_RE = re.compile(r"#{1,6}[ \t]+(?P<text>\S.*?)[ \t#]*$")
_BOLD_LINE_RE = re.compile(
    r"(?:\d{1,2}[.)][ \t]+)?(?:\*\*|__)(?P<text>[^*_\n]{2,90})(?:\*\*|__):?$"
)
_ITEM_RE = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_THINKING_RE = re.compile(r"<thinking>.*?(?:</thinking>|\Z)", re.DOTALL)
_LEFT_OUT_RE = re.compile(r"[ \t]*(?:[|>]|(?:[-*_=][ \t]*){3,}$|$)")  # tables, quotes, rules
_SENTENCE_END_RE = re.compile(r"(?<=[.!?])[\"”')*_]{0,3}\s+")


class Passage(NamedTuple):
    """A passage of a turn."""

    role: str  # USER or AGENT
    text: str  # a line per paragraph or item, without its mark
    about: str = ""  # of a person's answer: the question, or what was refused
    heading: str = ""  # the nearest heading above it in its message
    body: str = ""  # the same in markdown
    context: str = ""  # of a person's words: the end of what the agent said before
    message: int = 0  # which utterance of the turn it is of

    @property
    def lead(self) -> str:
        """The first line, if it leads to a list."""
        first = self.text.partition("\n")[0]
        return first if first.endswith(":") else ""


def cut_passages(said: list[Utterance]) -> list[Passage]:
    """The passages of a turn, in their order. Code blocks, tables and quotes are left out."""
    found: list[Passage] = []
    for at, one in enumerate(said):
        if len(found) >= _MAX_PASSAGES:
            break
        if one.role == AGENT:
            found += (passage._replace(message=at) for passage in _cut_message(one.text))
            continue
        before = found[-1] if found and found[-1].role == AGENT else None
        context = _last_sentences(before.text) if before else ""
        lines = [one.text] if one.about else _split_prompt(one.text)
        texts = filter(None, (" ".join(line.split())[:MAX_PASSAGE_CHARS] for line in lines))
        found += [Passage(USER, text, one.about, "", text, context, at) for text in texts]
    return found[:_MAX_PASSAGES]


def _split_prompt(text: str) -> list[str]:
    return [text] if len(text) <= _MAX_PROMPT_CHARS else text.split("\n")


def _last_sentences(text: str) -> str:
    """The end of a text, from where a sentence or a line begins."""
    if len(text) <= _MAX_CONTEXT_CHARS:
        return text
    end = text[-_MAX_CONTEXT_CHARS:]
    cut = min((at for at in (end.find("\n"), end.find(". ")) if at >= 0), default=-1)
    return end[cut + 1 :].strip()


class _Section:
    """The passage that is being read: blocks of markdown below one heading."""

    def __init__(self, heading: str) -> None:
        self.heading = heading
        self.lines: list[str] = []
        self.blocks: list[str] = []
        self.chars = 0

    def add(self, text: str, *, is_item: bool) -> None:
        if not self.blocks:
            mark = ""
        else:
            mark = "\n" if is_item and self.blocks[-1].lstrip("\n").startswith("- ") else "\n\n"
        self.blocks.append(f"{mark}{'- ' * is_item}{text}")
        self.lines.append(text)
        self.chars += len(text)

    def passages(self) -> list[Passage]:
        # A line that leads to what is left out tells nothing.
        if not self.lines or (len(self.lines) == 1 and self.lines[0].rstrip("*_ ").endswith(":")):
            return []
        body = "".join(self.blocks)
        return [Passage(AGENT, "\n".join(self.lines), "", self.heading, body)]


def _cut_message(text: str) -> list[Passage]:
    """The sections of an agent's message, each of up to `MAX_PASSAGE_CHARS` characters."""
    text = _THINKING_RE.sub("", text) if "<thinking>" in text else text
    masked = mask_code(text).masked if "```" in text or "~~~" in text or "<!--" in text else text
    found: list[Passage] = []
    section = _Section("")
    block: list[str] = []
    is_item = False

    def finish_block() -> None:
        nonlocal section, block
        line = " ".join(" ".join(block).split())
        block = []
        if not line:
            return
        if section.chars + len(line) >= MAX_PASSAGE_CHARS:
            found.extend(section.passages())
            section = _Section(section.heading)
        section.add(line[:MAX_PASSAGE_CHARS], is_item=is_item)

    for line, seen in zip(text.split("\n"), masked.split("\n"), strict=False):
        head = _HEADING_RE.match(line) or _BOLD_LINE_RE.match(line)
        item = _ITEM_RE.match(line)
        if _LEFT_OUT_RE.match(seen):
            finish_block()
        elif head:
            finish_block()
            found.extend(section.passages())
            section = _Section(head["text"].strip("*_` "))
        elif item and len(item["indent"]) < 2:
            finish_block()
            block, is_item = [line[item.end() :]], True
        elif block or line.startswith((" ", "\t")):
            block.append(line[item.end() :] if item else line)
        else:
            block, is_item = [line], False
    finish_block()
    found.extend(section.passages())
    return found


def split_sentences(text: str) -> list[str]:
    """The sentences of a passage, none over two lines."""
    lines = (_SENTENCE_END_RE.split(line) for line in text.split("\n"))
    return [sentence for line in lines for sentence in line if sentence.strip()]


def first_sentence(text: str) -> str:
    """The first sentence of a passage."""
    return next(iter(split_sentences(text)), "")
