"""Passages of a turn that are worth keeping, by a linear score over general signals.

A passage is about a screen: the paragraphs and lists below one heading, or what a person said in one
go, with what it needs to be understood. The signals are structure (who said it, below which heading,
how long), names of code, and kinds of words; noteworthy.txt holds words and weights. Nothing of
another event bears on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from cortex.core.extract.candidate import PASSAGE_LAYER, Candidate
from cortex.core.extract.prose import mask_code, own_lines
from cortex.core.model.session_asks import is_on_the_way, subjects_of
from cortex.core.model.turn_summary import AGENT, USER, Utterance
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, shorten
from cortex.core.text.tables import read_sections
from cortex.core.text.value import NamedTuple

MAX_PER_EVENT = 3
_THRESHOLD = 1.4  # of the score, a logit
_FULL_WORDS = {AGENT: 45, USER: 15}  # from which more tell no more
_FULL_NAMES = {AGENT: 4, USER: 3}  # of names of code the same
_MIN_WORDS = {AGENT: 12, USER: 5}
_MIN_ANSWER_WORDS = 3
_TITLE_CHARS, _TITLE_SENTENCES, _MIN_TITLE_WORDS, _FULL_HEADING_WORDS = 80, 8, 4, 5
_NAME_RE = lazy_re(
    r"`[^`\n]+`|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b\w+\(\)|--\w[\w-]+"
    r"|\b\w+\.[a-z]{1,4}\b|\.\w+/\w+"
)
MAX_PASSAGE_CHARS = 900
_MAX_PASSAGES = 400  # of one turn
_MAX_PROMPT_CHARS = 400  # of a prompt that is one passage; of a longer one each line is
_LONG_PROMPT_CHARS = 1500  # of one that is mostly pasted
_MAX_CONTEXT_CHARS = 300  # of what was said before and after
_HEADING_RE = lazy_re(r"#{1,6}[ \t]+(?P<text>\S(?:.*[^ \t#\n])?)[ \t#]*$")
_BOLD_LINE_RE = lazy_re(r"(?:\d{1,2}[.)][ \t]+)?(?:\*\*|__)(?P<text>[^*_\n]{2,90})(?:\*\*|__):?$")
_ITEM_RE = lazy_re(r"(?P<indent>[ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_THINKING_RE = lazy_re(r"<thinking>.*?(?:</thinking>|\Z)", re.DOTALL)
_LEFT_OUT_RE = lazy_re(r"[ \t]*(?:[|>]|(?:[-*_=][ \t]*){3,}$|$)")  # tables, quotes, rules
_SENTENCE_END_RE = lazy_re(r"(?<=[.!?])[\"”')*_]{0,3}\s+")
_SYMBOLS_RE = lazy_re(r"(?:[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff] *)+")  # arrows, emoji
_SECTIONS = read_sections(__file__)
_compile: Callable[[str], re.Pattern[str]] = cache(re.compile)


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


class _Signal(NamedTuple):
    name: str
    weight: float
    full: int  # how many finds count in full
    place: str  # text, start or heading
    pattern: str


@cache
def _signals(section: str) -> tuple[_Signal, ...]:
    signals = []
    for line in _SECTIONS[section]:
        head, _, pattern = line.partition(" :: ")
        if pattern:
            name, weight, full, place = head.rsplit(" ", 3)
            signals.append(_Signal(name, float(weight), int(full), place, pattern))
        else:
            name, weight = head.rsplit(" ", 1)
            signals.append(_Signal(name, float(weight), 1, "", ""))
    return tuple(signals)


def find_noteworthy(said: list[Utterance]) -> list[Candidate]:
    """The passages of a turn that are worth keeping, best first, as candidates."""
    last_retraction = max((at for at, one in enumerate(said) if _takes_back(one)), default=-1)
    scored: list[tuple[float, int, TurnPassage]] = []
    for number, passage in enumerate(cut_passages(said)):
        if passage.role == AGENT and passage.message < last_retraction:
            continue
        score = score_passage(passage)
        if score >= _THRESHOLD:
            scored.append((-score, number, passage))
    return [_candidate(passage, -score) for score, _, passage in sorted(scored)[:MAX_PER_EVENT]]


def score_passage(one: TurnPassage) -> float:
    """How much tells that a passage is worth keeping, as a logit."""
    low = one.text.lower().replace("’", "'")
    words = len(low.split())
    least = _MIN_ANSWER_WORDS if one.about else _MIN_WORDS[one.role]
    if words < least:
        return -9.0
    first = low.partition("\n")[0]
    lead = first if first.rstrip("*_ ").endswith(":") else ""
    is_refusal = one.about.startswith("refused ")
    places = {"text": low, "start": first[:60], "heading": f"{one.heading.lower()} {lead}"}
    counted = {
        "bias": 1.0,
        "length": min(words / _FULL_WORDS[one.role], 1.0),
        "identifiers": min(len(_NAME_RE.findall(one.text)) / _FULL_NAMES[one.role], 1.0),
        "answer": float(bool(one.about) and not is_refusal),
        "refusal": float(is_refusal),
    }
    return sum(
        signal.weight
        * (_share(signal, places[signal.place]) if signal.pattern else counted[signal.name])
        for signal in _signals(one.role)
    )


def _share(signal: _Signal, text: str) -> float:
    pattern = _compile(signal.pattern)
    if signal.full == 1:
        return float(pattern.search(text) is not None)
    return min(len(pattern.findall(text)) / signal.full, 1.0)


def _takes_back(one: Utterance) -> bool:
    if one.role != AGENT:
        return False
    start = one.text[:200].lower().replace("’", "'")
    return bool(_compile(_SECTIONS["taken back"][0]).match(start))


def _candidate(one: TurnPassage, score: float) -> Candidate:
    confidence = min(0.5 + score / 10, 0.7)
    return Candidate(
        PASSAGE_LAYER, _type_of(one), _body_of(one), confidence, one.message, title=_title_of(one)
    )


def _type_of(one: TurnPassage) -> str:
    low = f"{one.about or one.heading} {one.text}".lower().replace("’", "'")
    for line in _SECTIONS[f"{one.role} types"]:
        type_, _, pattern = line.partition(" :: ")
        if _compile(pattern).search(low):
            return type_
    return "decision" if one.role == USER else "learning"


def _body_of(one: TurnPassage) -> str:
    """The passage with what it needs to be understood, in markdown."""
    if one.role == AGENT:
        text = f"**{one.heading}**\n\n{one.body}" if one.heading else one.body
        return f"{text}\n\nAsked: {one.before}" if one.before else text
    words = f"{one.about}\n\n> {one.text}" if one.about else f"> {one.text}"
    around = (("Before", one.before), ("Then", one.after))
    return "\n\n".join([words, *(f"{name}: {text}" for name, text in around if text)])


def _title_of(one: TurnPassage) -> str:
    """The subject: a telling heading, else the first sentence that tells something, below what its
    heading names; of an answer the words with the question."""
    sentence = _telling_sentence(one)
    if one.about:
        return shorten(f"{sentence} ({one.about})", _TITLE_CHARS)
    heading = _SYMBOLS_RE.sub("", one.heading.replace("**", "")).strip(" :*_`0123456789.?")
    is_empty = _compile(_SECTIONS["empty headings"][0]).fullmatch(heading.lower())
    if not heading or is_empty:
        return shorten(sentence, _TITLE_CHARS)
    if len(heading.split()) >= _FULL_HEADING_WORDS or len(heading) > _TITLE_CHARS // 2:
        return shorten(heading, _TITLE_CHARS)
    return shorten(f"{heading}: {sentence}", _TITLE_CHARS)


def _telling_sentence(one: TurnPassage) -> str:
    """The first sentence with a name of code or a telling word, else that is no mere courtesy."""
    openings, filler = _compile(_SECTIONS["openings"][0]), _compile(_SECTIONS["filler"][0])
    sentences = []
    for line in split_sentences(one.text)[:_TITLE_SENTENCES]:
        plain = _SYMBOLS_RE.sub("", line.replace("**", "").strip(" *_:#>-"))
        opening = openings.match(plain.lower().replace("’", "'"))
        sentences.append(plain[opening.end() :] if opening else plain)
    low = [line.lower().replace("’", "'").rstrip(".!:") for line in sentences]
    said = [
        number
        for number, line in enumerate(low)
        if len(line.split()) >= _MIN_TITLE_WORDS and not filler.fullmatch(line)
    ]
    telling = (
        number
        for number in said
        if _NAME_RE.search(sentences[number])
        or _compile(_SECTIONS["telling"][0]).search(low[number])
    )
    best = next(telling, said[0] if said else 0)
    return sentences[best] or one.text


def cut_passages(said: list[Utterance]) -> list[TurnPassage]:
    """The passages of a turn, in their order. Code blocks, tables and quotes are left out."""
    found: list[TurnPassage] = []
    request, last = "", ""
    for at, one in enumerate(said):
        if len(found) >= _MAX_PASSAGES:
            break
        if one.role == USER:
            lines = (one_line(text[: 2 * MAX_PASSAGE_CHARS]) for text in _split_prompt(one))
            texts = filter(None, (line[:MAX_PASSAGE_CHARS] for line in lines))
            found += [TurnPassage(USER, text, one.about, "", text, last, "", at) for text in texts]
            request, last = _shorten_request(one) or request, ""
        elif passages := _cut_message(one.text):
            found += [passage._replace(message=at, before=request) for passage in passages]
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


def _shorten_request(utterance: Utterance) -> str:
    """The first sentences of a person's request, or of a question and their answer to it; empty for
    a request that names no subject."""
    if utterance.about:
        return _first_sentences(f"{one_line(utterance.about)}: {one_line(utterance.text)}")
    subjects = subjects_of(utterance.text)
    if not subjects or len(utterance.text) > _LONG_PROMPT_CHARS:
        return _first_sentences(" ".join(subjects[:1]))
    line = one_line(utterance.text)
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
