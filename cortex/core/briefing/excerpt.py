"""What a note says in an injected briefing: on one line, and as data. Standard library alone; no
YAML is read for it.

The text of a note may come from a stranger, or from a model. Whatever stands in it, here it can
neither begin a line nor end the frame or the block that a briefing stands in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice

from cortex.core.markdown.scan import parse_blocks
from cortex.core.model.event import DISTILLED
from cortex.core.model.generated_text import (
    changed_files,
    event_lines,
    outcome_of,
    overview_of,
    summary_of,
)
from cortex.core.notes.yaml_lines import CONFLICT_MARKERS
from cortex.core.text.agent_escape import escape_for_agent
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, shorten
from cortex.core.text.value import NamedTuple

# Characters of a full text: what holds, which the title mostly says, and why; a text that does not
# say which; what is told of a session, and of a step.
WHAT_CHARACTERS, WHY_CHARACTERS, UNLABELLED_CHARACTERS, SESSION_CHARACTERS = 80, 120, 190, 150
MAX_REASON_CHARACTERS = 200  # of a line of a page
TITLE_CHARACTERS = 140  # of a title, which elsewhere has at most 120
_MAX_LINES = 400  # of a body that are looked at: what a note says first is what it is about

# As in the interfaces: what would act on a terminal, hide in a text, or turn its direction.
_INVISIBLE_RE = lazy_re(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_WIKILINK_RE = lazy_re(r"!?\[\[(?:[^\[\]|\n]{1,400}\|)?([^\[\]|\n]{1,400})\]\]")
_MARKUP_RE = lazy_re(r"^[#>\s]+|^(?:[-*+]|\d{1,3}[.)])\s+|\*\*|__|`(?=`)")
_LABELS = {
    "what": "what", "why": "why", "because": "why", "reason": "why", "rationale": "why",
    "learned": "learned", "lesson": "learned",
}  # fmt: skip
_LABEL_RE = lazy_re(
    rf"(?:[-*+]\s{{1,4}})?(?:\*\*|__|#{{1,6}}\s{{1,4}})?({'|'.join(_LABELS)})"
    r"(?:[.:]|\*\*|__)[.:*_]{0,4}\s{0,4}(.*)",
    re.IGNORECASE,
)
_OTHER_LABEL_RE = lazy_re(
    r"(?:\*\*|__|#{1,6}\s{1,4})[^*_#\n]{1,60}?(?:[.:](?:\*\*|__)?|(?:\*\*|__)[.:]?)\s{1,4}"
)
_HEADING_RE = lazy_re(r" {0,3}#{1,6}\s")
_LEADING_WORD_RE = lazy_re(r"[A-Za-z]{2,20}:\s+")
_CONTEXT_PREFIXES = ("Asked: ", "Before: ")  # what stood before a passage of a session
_SENTENCE_START_RE = lazy_re(r"(?:[.,;!?:]|\s[-–—])\s+(?=\S)|\s(?=[-*+]\s|\d{1,2}[.)]\s)")
_SENTENCE_END_RE = lazy_re(r"[.!?](?=\s|\Z)")
_MIN_TITLE_WORDS = 4  # of a title that is looked for behind the beginning of a paragraph
_PUNCTUATION = "`'\"*_.,;:!?…()[]<>“”‘’„«»–—-"
_SOURCE_LINE_RE = lazy_re(r"From \[\[[^\[\]\n]{1,400}\]\]\.?")
_CODE_FENCE_RE = lazy_re(r"[ \t>]{0,12}(```|~~~)")
_SEPARATOR = " · "
# What begins with one of these became a record. A pattern would take longer to compile than all
# sessions to read.
_RECORD_MARKERS = frozenset([
    "decision:", "decisions:", "decided:", "rejected:", "rejection:", "learned:", "learning:",
    "learnings:", "lesson:", "til:", "gotcha:", "pattern:", "convention:", "fix:", "fixed:", "bug:",
    "preference:", "question:", "todo:", "note:", "discovered:", "[memory", "[memory:",
])  # fmt: skip
# Of events: what was wanted, or only that it ended.
_REQUEST_TURNS = ("prompt", "session_start", "session_end")


class PlanStep(NamedTuple):
    """One step of a plan, as a ticked or open task says it."""

    text: str
    is_done: bool


def sanitize_line(text: str, limit: int = 1000) -> str:
    """A note's text as data on one line: no control or invisible character, nothing that reads like
    a frame of ours or of a host, and no comment that could end a block. What is changed for that
    makes it longer than the limit."""
    line = shorten(_INVISIBLE_RE.sub("", text[: limit * 4]), limit)
    return escape_for_agent(line.replace("<!--", "<!- -").replace("-->", "-- >"))


def body_excerpt(title: str, body: str) -> str:
    """What a body adds to its title: what it labels as `what`, `why` and `learned`, else its first
    paragraphs."""
    labelled, plain = _read_body(title, body)
    what = labelled.get("what", "") or " ".join(plain)
    reasons = [
        f"{name.capitalize()}: {sanitize_line(labelled[name], WHY_CHARACTERS)}"
        for name in ("why", "learned")
        if name in labelled
    ]
    if not reasons:
        return sanitize_line(what, UNLABELLED_CHARACTERS)
    return " ".join(filter(None, [sanitize_line(what, WHAT_CHARACTERS), *reasons]))


def _read_body(title: str, body: str) -> tuple[dict[str, str], list[str]]:
    """What a body labels as `what`, `why` and `learned`, and its first paragraphs, without the title:
    those without a label, else the first that has another one."""
    labelled: dict[str, str] = {}
    plain: list[str] = []
    others: list[str] = []
    room = 4 * (WHAT_CHARACTERS + WHY_CHARACTERS)  # characters that `sanitize_line` looks at
    is_labelled = _may_be_labelled(body)
    for paragraph in _iter_paragraphs(body):
        if len(labelled) == 3 or (not is_labelled and (others or room <= 0)):
            break
        found = _LABEL_RE.match(paragraph)
        if found:
            if said := _without_title(title, _strip_markup(found[2])):
                labelled.setdefault(_LABELS[found[1].lower()], said)
        elif _is_empty_template_part(paragraph):
            continue  # a part of a template that nobody filled
        elif other := _OTHER_LABEL_RE.match(paragraph):
            others.append(_strip_markup(paragraph[other.end() :]))
        elif not labelled and not others and room > 0:
            is_context = plain and paragraph.startswith(_CONTEXT_PREFIXES)
            if not is_context and not _SOURCE_LINE_RE.fullmatch(paragraph):
                plain = _beyond_title(title, plain, _strip_markup(paragraph))
                room -= len(paragraph)
    return labelled, plain or ([] if labelled else others[:1])


def reason_line(title: str, body: str) -> str:
    """Why a note holds, else what its body adds to the title: the first sentence of it."""
    labelled, plain = _read_body(title, body)
    reason = labelled.get("why") or labelled.get("what") or labelled.get("learned")
    return _first_sentence(reason or next(iter(plain), "").removeprefix("Because "))


def session_line(body: str) -> str:
    """What came of a session, else what was done last in it: the first sentence of that."""
    first, *rest = [*islice(_iter_paragraphs(outcome_of(body)), 2), ""]
    # A line that leads to a list says nothing alone.
    outcome = f"{first} {rest[0]}" if first.rstrip("*_ ").endswith(":") and rest else first
    turns = list(event_lines(body))
    done = [turn for turn in turns if turn.type not in (*_REQUEST_TURNS, DISTILLED)]
    last = "" if overview_of(body) or not done else done[-1].excerpt
    return _first_sentence(outcome or last)


def _first_sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    line = _strip_markup(text).removeprefix("[ ] ")
    end = _SENTENCE_END_RE.search(line)
    is_short = end and end.start() <= MAX_REASON_CHARACTERS
    return shorten(line[: end.start()] if end and is_short else line, MAX_REASON_CHARACTERS)


def _may_be_labelled(body: str) -> bool:
    """False only if no label stands in the text: most need not be read to their end for one."""
    folded = f"{body.casefold()}\n"
    return any(word in folded and re.search(rf"{word}(?:[.:*_]|\s*\n)", folded) for word in _LABELS)


def plan_steps(body: str) -> list[PlanStep]:
    """The tasks of a plan, open and ticked ones, in their order; what stands in code is an example."""
    return [
        PlanStep(sanitize_line(_strip_markup(one.text), SESSION_CHARACTERS), one.done)
        for one in parse_blocks(body).tasks
        if one.mark in " xX"
    ]


def session_excerpt(body: str, titles: Collection[str]) -> str:
    """What a session's note says of it: its summary, else its outcome, and the files that were
    changed. Sentences that became records of their own, by the word that they begin with or because
    they are one of `titles` (as `bare_words` gives them), are told there and not again."""
    summary = [line for line in summary_of(body).splitlines() if not line.startswith("#")]
    texts = (
        _SEPARATOR.join(map(_strip_markup, _iter_paragraphs(text)))
        for text in ("\n".join(summary), outcome_of(body))
    )
    text = next(filter(None, (_unrecorded_sentences(one, titles) for one in texts)), "")
    files = dict.fromkeys(path.rpartition("/")[2] for path in changed_files(body))
    rest = shorten(f"changed {', '.join(files)}", SESSION_CHARACTERS) if files else ""
    parts = [sanitize_line(text.strip(_SEPARATOR), SESSION_CHARACTERS), rest]
    return sanitize_line(_SEPARATOR.join(filter(None, parts)), 2 * SESSION_CHARACTERS)


def bare_words(text: str) -> str:
    """A title or sentence as it is compared: its words without marks, case or leading word."""
    return " ".join(filter(None, map(_bare_word, text[_leading_word_end(text) :].split())))


def _unrecorded_sentences(text: str, titles: Collection[str]) -> str:
    """The sentences that no record tells."""
    said: list[list[str]] = [[]]
    for word in text.split():
        if said[-1] and (said[-1][-1][-1] in ".!?…" or word.lower() in _RECORD_MARKERS):
            said.append([])
        said[-1].append(word)
    sentences = (
        " ".join(words) for words in said if words and words[0].lower() not in _RECORD_MARKERS
    )
    return " ".join(one for one in sentences if bare_words(one) not in titles)


def _is_empty_template_part(paragraph: str) -> bool:
    """Whether it is a heading or label without a text, as a template has it that nobody filled."""
    mark = paragraph[:2]
    if mark in ("**", "__"):
        return paragraph.rstrip(".:").endswith(mark) and paragraph.count(mark) == 2
    return paragraph.startswith("#") and paragraph.endswith(":")


def _iter_paragraphs(body: str) -> Iterator[str]:
    """Paragraphs on one line each, without fenced text; a heading joins the text below it."""
    lines: list[str] = []
    fenced = False
    for line in body.splitlines()[:_MAX_LINES]:
        if _CODE_FENCE_RE.match(line):
            fenced = not fenced
        elif fenced or line.startswith(CONFLICT_MARKERS):
            continue
        elif line.strip():
            is_heading = _HEADING_RE.match(line)
            if lines and (is_heading or _LABEL_RE.match(line) or _OTHER_LABEL_RE.match(line)):
                yield one_line(" ".join(lines))
                lines = []
            lines.append(f"{line.rstrip().rstrip('.:#')}:" if is_heading else line)
        elif lines and not (len(lines) == 1 and _HEADING_RE.match(lines[0])):
            yield one_line(" ".join(lines))
            lines = []
    if lines:
        yield one_line(" ".join(lines))


def _strip_markup(text: str) -> str:
    return one_line(_MARKUP_RE.sub("", _WIKILINK_RE.sub(r"\1", text)))


def _without_title(title: str, text: str) -> str:
    """A paragraph without the title that it repeats, in whatever case; empty if that is all."""
    cut = title.endswith("…")
    words = text[_leading_word_end(text) :].split()
    opening = bare_words(title.rstrip("…")).split()
    at = 0
    for number, wanted in enumerate(opening):
        while at < len(words) and not _bare_word(words[at]):
            at += 1
        if at == len(words):
            return ""
        said = _bare_word(words[at])
        if said != wanted:
            if cut and number == len(opening) - 1 and said.startswith(wanted):
                break
            return text
        at += 1
    if not opening:
        return text
    rest = " ".join(words[at:]).lstrip(" .:,;–—")
    return f"…{rest}" if rest and cut else rest


def _beyond_title(title: str, before: list[str], text: str) -> list[str]:
    """The paragraphs `before` and this one without the title. Where one of its sentences became the
    title, what stands before that led up to it and is left out."""
    least = len(bare_words(title).split())
    _, _, behind_heading = title.partition(": ")
    rest = _without_title(title, text)
    if rest == text and len(behind_heading.split()) >= _MIN_TITLE_WORDS:
        return _beyond_title(behind_heading, before, text)
    if least < _MIN_TITLE_WORDS:
        return [*before, rest] if rest else before
    if rest != text:
        return [rest] if rest else []
    for start in (found.end() for found in _SENTENCE_START_RE.finditer(text)):
        sentence = text[start:]
        if len(sentence.split()) >= least and (rest := _without_title(title, sentence)) != sentence:
            return [rest] if rest else []
    return [*before, text]


def _leading_word_end(text: str) -> int:
    """Where a text begins behind a leading word such as `Decision:`."""
    found = _LEADING_WORD_RE.match(text)
    return found.end() if found else 0


def _bare_word(word: str) -> str:
    return word.strip(_PUNCTUATION).casefold()
