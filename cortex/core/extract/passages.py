"""A turn cut into passages of about a screen: the paragraphs and lists below one heading, or what a
person said in one go, with what it needs to be understood.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.extract.own_words import own_lines
from cortex.core.extract.prose import mask_code
from cortex.core.model.session_asks import is_on_the_way, subjects_of
from cortex.core.model.turn_summary import AGENT, USER, Utterance
from cortex.core.text.strings import one_line

MAX_PASSAGE_CHARS = 900
_MAX_PASSAGES = 400  # of one turn
_MAX_PROMPT_CHARS = 400  # of a prompt that is one passage; of a longer one each line is
_LONG_PROMPT_CHARS = 1500  # of one that is mostly pasted
_MAX_CONTEXT_CHARS = 300  # of what was said before and after
_HEADING_RE = re.compile(r"#{1,6}[ \t]+(?P<text>\S(?:.*[^ \t#\n])?)[ \t#]*$")
_BOLD_LINE_RE = re.compile(
    r"(?:\d{1,2}[.)][ \t]+)?(?:\*\*|__)(?P<text>[^*_\n]{2,90})(?:\*\*|__):?$"
)
_ITEM_RE = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_THINKING_RE = re.compile(r"<thinking>.*?(?:</thinking>|\Z)", re.DOTALL)
_LEFT_OUT_RE = re.compile(r"[ \t]*(?:[|>]|(?:[-*_=][ \t]*){3,}$|$)")  # tables, quotes, rules
_SENTENCE_END_RE = re.compile(r"(?<=[.!?])[\"”')*_]{0,3}\s+")


class TurnPassage(NamedTuple):
    """A passage of a turn."""

    role: str  # USER or AGENT
    text: str  # a line per paragraph or item, without its mark
    about: str = ""  # of a person's answer: the question, or what was refused
    heading: str = ""  # the nearest heading above it in its message
    body: str = ""  # the same in markdown
    before: str = ""  # of an agent's: what the person asked last; of a person's: the agent's end
    after: str = ""  # of a person's words: the beginning of what the agent said then
    message: int = 0  # which utterance of the turn it is of


def cut_passages(said: list[Utterance]) -> list[TurnPassage]:
    """The passages of a turn, in their order. Code blocks, tables and quotes are left out."""
    found: list[TurnPassage] = []
    asked, last = "", ""
    for at, one in enumerate(said):
        if len(found) >= _MAX_PASSAGES:
            break
        if one.role == USER:
            lines = (one_line(text[: 2 * MAX_PASSAGE_CHARS]) for text in _split_prompt(one))
            texts = filter(None, (line[:MAX_PASSAGE_CHARS] for line in lines))
            found += [TurnPassage(USER, text, one.about, "", text, last, "", at) for text in texts]
            asked, last = _ask_of(one) or asked, ""
        elif passages := _cut_message(one.text):
            found += [passage._replace(message=at, before=asked) for passage in passages]
            last = _last_sentences(passages[-1].text)
    return _with_replies(found[:_MAX_PASSAGES])


def _with_replies(passages: list[TurnPassage]) -> list[TurnPassage]:
    """The passages; a person's with the beginning of the agent's answer, but for its next step."""
    reply = ""
    for number in reversed(range(len(passages))):
        one = passages[number]
        if one.role == AGENT:
            reply = reply if is_on_the_way(one.text) else _first_sentences(one.text)
            continue
        passages[number] = one._replace(after=reply)
        if number and passages[number - 1].message != one.message:
            reply = ""
    return passages


def _split_prompt(one: Utterance) -> list[str]:
    """An answer or a short prompt as it is; of a longer one each line that is the person's own."""
    if one.about:
        return [one.text]
    lines = own_lines(one.text)
    return ["\n".join(lines)] if len(one.text) <= _MAX_PROMPT_CHARS else lines


def _ask_of(one: Utterance) -> str:
    """What a person asks or answers, in short; empty when it names no subject."""
    if one.about:
        return _first_sentences(f"{one_line(one.about)}: {one_line(one.text)}")
    subjects = subjects_of(one.text)
    if not subjects or len(one.text) > _LONG_PROMPT_CHARS:
        return _first_sentences(" ".join(subjects[:1]))
    line = one_line(one.text)
    return _first_sentences(line if subjects[0] in line else subjects[0])


def _first_sentences(text: str) -> str:
    """The beginning of a text, to where a sentence or a line ends."""
    text = one_line(text[: 2 * _MAX_CONTEXT_CHARS])
    if len(text) <= _MAX_CONTEXT_CHARS:
        return text
    cut = text[:_MAX_CONTEXT_CHARS]
    end = max(cut.rfind(mark) for mark in (". ", "? ", "! ", ": "))
    return cut[: end + 1] if end > _MAX_CONTEXT_CHARS // 3 else f"{cut[: cut.rfind(' ')]}…"


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

    def leave_out(self) -> None:
        """Code or a table follows, to which the last line may lead."""
        if self.blocks and self.blocks[-1].endswith(":"):
            self.blocks[-1] += " …"

    def passages(self) -> list[TurnPassage]:
        # A line that leads to what is left out tells nothing.
        if not self.lines or (len(self.lines) == 1 and self.lines[0].rstrip("*_ ").endswith(":")):
            return []
        body = "".join(self.blocks)
        return [TurnPassage(AGENT, "\n".join(self.lines), "", self.heading, body)]


def _cut_message(text: str) -> list[TurnPassage]:
    """The sections of an agent's message, each of up to `MAX_PASSAGE_CHARS` characters."""
    text = _THINKING_RE.sub("", text) if "<thinking>" in text else text
    masked = mask_code(text).masked if "```" in text or "~~~" in text or "<!--" in text else text
    found: list[TurnPassage] = []
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
            if line.strip():
                section.leave_out()
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
