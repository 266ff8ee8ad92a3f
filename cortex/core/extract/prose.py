"""The prose of a text: code masked character by character, so that positions stay the same; and what
a person says in a turn in their own words, apart from what they paste.

Prompts are callouts in an event's text. A long prompt is mostly pasted: logs, reviews, plans, other
sessions. What a person says of it stands at its ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from cortex.core.markdown.bound import fence_spans
from cortex.core.model.session_asks import is_own_prompt
from cortex.core.model.turn_summary import CALLOUT_STARTS, PROMPT_START
from cortex.core.redact.person_words import SPEAKER_RE, at_ends
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, shorten
from cortex.core.text.value import NamedTuple

MASK_CHAR = "\x01"  # stands for each sign of code within a line; a word of it reads as one word
MAX_CANDIDATE_CHARS = 1000  # characters of what is taken from a text as one find
MIN_LETTERS = 3  # letters of what says anything
_END_LINES = 3  # at either end of a long prompt, which may become records
_MAX_WRAPPED_LINES = 12  # that one wrapped paragraph is read over
_WRAPPED_LINE_CHARS = 50  # characters from which a line that ends in no mark is taken for wrapped

_CODE_SPAN_RE = lazy_re(r"``[^\n]{1,300}?``|`[^`\n]{1,300}`")
_NON_NEWLINE_RE = lazy_re(r"[^\n]")
_BLOCK_START_RE = lazy_re(r"[ \t>]{0,40}(?:[-*+•|#]|\d{1,4}[.)][ \t]|\[memory|`{3}|~{3}|\Z)")
_LIST_ITEM_RE = lazy_re(r"[ \t>]{0,40}(?:[-*+•]|\d{1,9}[.)])[ \t]")
_LABEL_RE = lazy_re(r"[ \t>]{0,40}(?:\*\*|__)?[a-z][a-z' /-]{1,30}(?:\*\*|__)?:")
# Of a masked text, in which `’` is `'`; short, since a mark that opens may have no end.
_QUOTED_RE = lazy_re(
    r"""["][^"]{1,400}["]|“[^”]{1,400}”|„[^“”]{1,400}[“”]|‚[^‘']{1,400}[‘']|«[^»]{1,400}»|»[^«]{1,400}«|「[^」]{1,400}」"""
)
_BECAUSE_RE = lazy_re(
    r"(?:[,;]? | [(–—-] ?)(?:because(?: of)?|due to|given that)[ ]|, (?:since|so that)[ ]"
    r"|\. ?(?:reason|rationale|why):? ",
    re.IGNORECASE,
)
_SINCE_RE = lazy_re(
    r",? (?:since|so that|as (?:it|they)(?! (?:is|are|was|were|stands?)\b)) ", re.IGNORECASE
)
PLACEHOLDER_RE = lazy_re(
    r"(?:<[^<>\n]{0,80}>|\{[^{}\n]{0,80}\}|\.{2,}+|…|(?:some |your |the )?(?:text|type|content"
    r"|fact)(?: here)?|[\W_]*+)[.\s]*+",
    re.IGNORECASE,
)
"""What stands in a template where somebody is to write something."""

_SENTENCE_ENDS = (".", "!", "?", ":", ";", "…")


class MaskedText(NamedTuple):
    """A text, and as long as it its reading without code, in lower case."""

    text: str
    masked: str

    def line_number(self, at: int) -> int:
        """The line, counted from 1, on which a place lies."""
        return self.text.count("\n", 0, at) + 1

    def mask_spans(self, spans: Iterable[tuple[int, int]]) -> MaskedText:
        """The prose with spans that have been read already, in their order, taken out."""
        return MaskedText(self.text, _blank_spans(self.masked, spans))

    def paragraph_start(self, at: int) -> int:
        """Where the paragraph begins of which the line at `at` is a part."""
        start = self.masked.rfind("\n", 0, at) + 1
        for _ in range(_MAX_WRAPPED_LINES):
            if not start or not self._continues_after(start - 1):
                break
            start = self.masked.rfind("\n", 0, start - 1) + 1
        return start

    def paragraph_end(self, at: int) -> int:
        """Where the paragraph ends of which the line at `at` is a part."""
        end = self.line_end(at)
        for _ in range(_MAX_WRAPPED_LINES):
            is_long = end >= len(self.masked) or end - at > MAX_CANDIDATE_CHARS
            if is_long or not self._continues_after(end):
                break
            end = self.line_end(end + 1)
        return end

    def is_indented_code(self, at: int) -> bool:
        """True if the line at `at` is indented code, not the continuation of a list item."""
        start = self.masked.rfind("\n", 0, at) + 1
        if self.masked[start : start + 1] != "\t" and self.masked[start : start + 4] != "    ":
            return False
        for _ in range(40):
            if not start:
                return True
            before = self.masked.rfind("\n", 0, start - 1) + 1
            line = self.masked[before : start - 1]
            if _LIST_ITEM_RE.match(line):
                return False
            if line.strip() and not line.startswith(("    ", "\t")):
                return not self.masked[start : self.line_end(start)].strip()
            start = before
        return True

    def is_quoted(self, at: int) -> bool:
        """Whether a place stands between quotation marks, in a block quote, or in a table."""
        line = self.masked.rfind("\n", 0, at) + 1
        behind = self.masked[at : at + 500].partition("\n\n")[0]
        spans = _QUOTED_RE.finditer(self.masked, max(line, at - 500), at + len(behind))
        is_cited = self.masked[line : min(line + 40, at)].lstrip().startswith((">", "|"))
        return is_cited or any(one.start() < at < one.end() for one in spans)

    def line_end(self, at: int) -> int:
        """Where the line at `at` ends."""
        end = self.masked.find("\n", at)
        return len(self.masked) if end < 0 else end

    def _continues_after(self, newline: int) -> bool:
        """Whether a paragraph goes on behind this line end."""
        before = self.masked[self.masked.rfind("\n", 0, newline) + 1 : newline].rstrip()
        after = self.masked[newline + 1 : self.line_end(newline + 1)]
        if not before or not after.strip() or before.lstrip().startswith(("#", "|")):
            return False
        if _BLOCK_START_RE.match(after) or _LABEL_RE.match(after):
            return False
        first = self.text[newline + 1 : newline + 81].lstrip(" \t>")[:1]
        is_wrapped = len(before) >= _WRAPPED_LINE_CHARS and not before.endswith(_SENTENCE_ENDS)
        return is_wrapped or first.islower() or first == "("


def mask_code(text: str) -> MaskedText:
    """The text, and the same in lower case with code fences, inline code and comments blanked out;
    offsets stay the same."""
    masked = _blank_spans(text, fence_spans(text))
    if "<!--" in masked:
        masked = _blank_spans(masked, _comment_spans(masked))
    if "`" in masked:
        masked = _CODE_SPAN_RE.sub(lambda match: MASK_CHAR * len(match[0]), masked)
    lowered = masked.lower()
    if len(lowered) != len(masked):  # some letters become two characters in lower case
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in masked)
    return MaskedText(text, lowered.replace("’", "'"))


def clean_candidate_text(text: str) -> str:
    """What was found as one line without marks of emphasis; code in it stays marked as such."""
    line = one_line(text.replace("**", "")).strip("*_> \t")
    return shorten(line, MAX_CANDIDATE_CHARS)


def split_reason(text: str, type_: str) -> tuple[str, str]:
    """What was decided or rejected, and why if it is said."""
    if type_ not in ("decision", "rejection"):
        return text, ""
    at = _BECAUSE_RE.search(text) or _SINCE_RE.search(text)
    if not at or at.start() < MIN_LETTERS or len(text) - at.end() < MIN_LETTERS:
        return text, ""
    reason = text[at.end() :].strip()
    if "(" in at[0]:
        reason = reason.removesuffix(".").removesuffix(")")
    return text[: at.start()].rstrip(" ,;:(–—-"), reason


def _blank_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with these spans, which are sorted, replaced by blanks; line ends stay."""
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += [text[position:start], _NON_NEWLINE_RE.sub(" ", text[start:end])]
        position = end
    return "".join([*parts, text[position:]])


def _comment_spans(text: str) -> Iterator[tuple[int, int]]:
    end = 0
    while (start := text.find("<!--", end)) >= 0 and (end := text.find("-->", start) + 3) > 2:
        yield start, end


def own_lines(prompt: str) -> list[str]:
    """The lines of a prompt likely the person's own: none of a plan, those before a pasted talk."""
    if not is_own_prompt(prompt):
        return []
    lines = [line for line in prompt.split("\n") if line.strip()]
    talk = [number for number, line in enumerate(lines) if SPEAKER_RE.match(line.lstrip())]
    if talk:
        return lines[: talk[0]]
    return at_ends(lines, len(prompt), _END_LINES)


def blank_callouts(said: str, *, keep_own: bool = False) -> str:
    """The text of an event with the person's callouts blanked out, so that what remains is the agent's
    and offsets stay the same. With `keep_own` their own lines are kept. A text without a callout is
    returned unchanged."""
    if not any(start in said for start in CALLOUT_STARTS):
        return said
    return "\n".join(_blank_lines(said.split("\n"), keep_own))


def _blank_lines(lines: list[str], keep_own: bool) -> Iterator[str]:
    number = 0

    def callout_of(line: str) -> int:
        nonlocal number
        number += line.startswith(CALLOUT_STARTS)
        return number if line.startswith(">") else 0

    for _, group in groupby(lines, callout_of):
        first, *rest = group
        if not first.startswith(CALLOUT_STARTS):
            yield from (first, *rest)
            continue
        is_prompt = first.startswith(PROMPT_START)
        texts = [first[len(PROMPT_START) :] if is_prompt else "", *(line[1:] for line in rest)]
        own = set(own_lines("\n".join(texts)) if is_prompt else texts) if keep_own else set()
        for line, text in zip((first, *rest), texts, strict=True):
            yield (text.strip() if text in own else "").ljust(len(line))
