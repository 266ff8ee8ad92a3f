"""The prose of a text: code masked sign for sign, so that a place in it is a place in the text, and wrapped lines as one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

MASKED = "\x01"  # stands for each sign of code within a line; a word of it reads as one word
LONGEST = 1000  # characters of what is taken from a text as one find
LEAST = 3  # letters of what says anything
_MOST_LINES = 12  # that one wrapped paragraph is read over
_WRAPPED = 50  # characters from which a line that ends in no mark is taken for wrapped

_FENCE = re.compile(r"(?m)^[ \t>]{0,40}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,9})?(`{3,}|~{3,})([^\n]*)")
_SPAN = re.compile(r"``[^\n]{1,300}?``|`[^`\n]{1,300}`")
_NOT_BREAK = re.compile(r"[^\n]")
_BLOCK = re.compile(r"[ \t>]{0,40}(?:[-*+•|#]|\d{1,4}[.)][ \t]|\[memory|`{3}|~{3}|\Z)")
_LIST = re.compile(r"[ \t>]{0,40}(?:[-*+•]|\d{1,9}[.)])[ \t]")
_LABEL = re.compile(r"[ \t>]{0,40}(?:\*\*|__)?[a-z][a-z' /-]{1,30}(?:\*\*|__)?:")
_BECAUSE = re.compile(
    r"(?:[,;]? | [(–—-] ?)(?:because(?: of)?|due to|given that)[ ]|, (?:since|so that)[ ]|\. ?(?:reason|rationale|why):? ",
    re.IGNORECASE,
)
_SINCE = re.compile(
    r",? (?:since|so that|as (?:it|they)(?! (?:is|are|was|were|stands?)\b)) ", re.IGNORECASE
)
PLACEHOLDER = re.compile(
    r"(?:<[^<>\n]{0,80}>|\{[^{}\n]{0,80}\}|\.{2,}|…|(?:some |your |the )?(?:text|type|content|fact)(?: here)?|[\W_]*)[.\s]*",
    re.IGNORECASE,
)
"""What stands in a template where somebody is to write something."""

_END = (".", "!", "?", ":", ";", "…")


class Prose(NamedTuple):
    """A text, and as long as it its reading without code, in lower case."""

    text: str
    low: str

    def line(self, at: int) -> int:
        """The line, counted from 1, on which a place lies."""
        return self.text.count("\n", 0, at) + 1

    def without(self, spans: Iterable[tuple[int, int]]) -> Prose:
        """The prose with spans that have been read already, in their order, taken out."""
        parts: list[str] = []
        at = 0
        for start, end in spans:
            parts += [self.low[at:start], _NOT_BREAK.sub(" ", self.low[start:end])]
            at = end
        return Prose(self.text, "".join([*parts, self.low[at:]]))

    def begin(self, at: int) -> int:
        """Where the paragraph begins of which the line at `at` is a part."""
        start = self.low.rfind("\n", 0, at) + 1
        for _ in range(_MOST_LINES):
            if not start or not self._joined(start - 1):
                break
            start = self.low.rfind("\n", 0, start - 1) + 1
        return start

    def end(self, at: int) -> int:
        """Where the paragraph ends of which the line at `at` is a part."""
        end = self._line_end(at)
        for _ in range(_MOST_LINES):
            if end >= len(self.low) or end - at > LONGEST or not self._joined(end):
                break
            end = self._line_end(end + 1)
        return end

    def is_code(self, at: int) -> bool:
        """Whether the line at `at` is indented as code, and not as what belongs to an item of a list."""
        start = self.low.rfind("\n", 0, at) + 1
        if self.low[start : start + 1] != "\t" and self.low[start : start + 4] != "    ":
            return False
        for _ in range(40):
            if not start:
                return True
            before = self.low.rfind("\n", 0, start - 1) + 1
            line = self.low[before : start - 1]
            if _LIST.match(line):
                return False
            if line.strip() and not line.startswith(("    ", "\t")):
                blank = (
                    self.low[start : self._line_end(start)].strip() == ""
                    or self.low[before:start].strip() == ""
                )
                return blank or self.low[start - 1 : start + 1] == "\n\n"
            start = before
        return True

    def _line_end(self, at: int) -> int:
        end = self.low.find("\n", at)
        return len(self.low) if end < 0 else end

    def _joined(self, newline: int) -> bool:
        """Whether a paragraph goes on behind this line end."""
        before = self.low[self.low.rfind("\n", 0, newline) + 1 : newline].rstrip()
        after = self.low[newline + 1 : self._line_end(newline + 1)]
        if (
            not before.strip()
            or not after.strip()
            or before.lstrip().startswith(("#", "|"))
            or _BLOCK.match(after)
            or _LABEL.match(after)
        ):
            return False
        first = self.text[newline + 1 :][:80].lstrip(" \t>")[:1]
        return (
            first.islower()
            or first == "("
            or (len(before) >= _WRAPPED and not before.endswith(_END))
        )


def prose(text: str) -> Prose:
    """The text without what stands in code fences, in inline code, and in comments."""
    plain = _without_fences(text) if "```" in text or "~~~" in text else text
    if "<!--" in plain:
        plain = _without_comments(plain)
    if "`" in plain:
        plain = _SPAN.sub(lambda found: MASKED * len(found[0]), plain)
    low = plain.lower()
    if len(low) != len(plain):  # some letters are two in lower case
        low = "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in plain)
    return Prose(text, low.replace("’", "'"))


def tidy(text: str) -> str:
    """What was found as one line without marks of emphasis; code in it stays marked as such."""
    line = " ".join(text.replace("**", "").split()).strip("*_> \t")
    if len(line) <= LONGEST:
        return line
    cut = line[: LONGEST - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[LONGEST // 2 :] else cut).rstrip(" ,;:.-") + "…"


def parted(text: str, type_: str) -> tuple[str, str]:
    """What was decided or rejected, and why if it is said."""
    if type_ not in ("decision", "rejection"):
        return text, ""
    at = _BECAUSE.search(text) or _SINCE.search(text)
    if not at or at.start() < LEAST or len(text) - at.end() < LEAST:
        return text, ""
    reason = text[at.end() :].strip()
    return text[: at.start()].rstrip(" ,;:(–—-"), reason.removesuffix(".").removesuffix(
        ")"
    ) if "(" in at[0] else reason


def _without_fences(text: str) -> str:
    parts: list[str] = []
    fence, start = "", 0
    for found in _FENCE.finditer(text):
        mark, rest = found.groups()
        if not fence:
            if mark[0] == "`" and "`" in rest:
                continue
            parts.append(text[start : found.start()])
            fence, start = mark, found.start()
        elif mark.startswith(fence) and not rest.strip():
            parts.append(_NOT_BREAK.sub(" ", text[start : found.end()]))
            fence, start = "", found.end()
    rest = text[start:]
    return "".join([*parts, _NOT_BREAK.sub(" ", rest) if fence else rest])


def _without_comments(text: str) -> str:
    parts: list[str] = []
    start = 0
    while (opening := text.find("<!--", start)) >= 0:
        end = text.find("-->", opening)
        if end < 0:
            break
        parts += [text[start:opening], _NOT_BREAK.sub(" ", text[opening : end + 3])]
        start = end + 3
    return "".join([*parts, text[start:]])
