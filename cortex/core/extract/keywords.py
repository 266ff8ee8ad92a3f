"""What a text says in words that tell a decision, a rejection, a lesson: marked lines, and phrases within sentences.

Code is taken out first. Each sentence is read once, and within bounds, so that no text takes longer than its length says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cortex.core.extract.candidate import KEYWORD, Candidate
from cortex.core.extract.non_decisions import is_errand
from cortex.core.extract.phrases import (
    DASHED,
    HEADED,
    HEDGED,
    LAW,
    LAWS,
    LISTED,
    MARKERS,
    NOTHING,
    ONE_BELOW,
    REASON,
    RULES,
    SECTIONS,
    WORDS,
    hedged,
    unsettled,
)
from cortex.core.extract.prose import LEAST, MASKED, PLACEHOLDER, Prose, parted, tidy
from cortex.core.normalize.changes import Phrases

TEAM = 0.75  # of the words that a team has given
_UNMARKED = 0.65  # of `TIL` without a colon
MOST = 300  # finds in one text; what is beyond stays in the event
_MOST_SENTENCES = 1500
_BEFORE, _BEHIND = 300, 500  # signs of a sentence that are read around the word that was found

_LEAD = r"[ \t>]{0,40}(?:(?:[-*+•]|\d{1,4}[.)])[ \t]{1,9})?(?:\[[ x]\][ \t]{1,9})?[\"“]?(?:#{1,6}[ \t]{1,9})?(?:\d{1,3}[.)][ \t])?(?:[^\w\s\x00-\x7f]{1,3})?[ ]?"
_WORD = "|".join(sorted(MARKERS, key=len, reverse=True))
# Whatever stands before the first letter of a line; whether it may stand there is asked where a word follows.
_BEGIN = r"\n(?P<lead>[^a-z\n]{0,60}+(?:x\][ \t*_]{1,9})?)"
_BEFORE_WORD = re.compile(rf"{_LEAD}[*_]{{0,3}}")
_MARKER = re.compile(
    rf"{_BEGIN}(?P<word>{_WORD})(?:[ ]?#?\d{{1,3}}|(?:[ ]|(?<!fix))\([^()\n]{{1,60}}\))?[*_]{{0,3}}[ ]?(?P<sign>[:：]|–|—|-(?= ))[*_]{{0,3}}"
)
_SECTION = re.compile(
    rf"(?m){_BEGIN}(?P<word>{'|'.join(sorted(SECTIONS, key=len, reverse=True))})(?:[ ]\([^()\n]{{1,40}}\))?[ ]?:?(?:\*\*|__)?[ ]?:?[ \t]*$"
)
# Of which one stands in every such heading.
_HEADINGS = (
    "decision", "decided", "reject", "not chosen", "ruled out", "lesson", "takeaway", "learned", "insight", "til", "gotcha", "pitfall", "caveat", "trap",
    "convention", "patterns", "cause", "finding", "discoveries", "preference",
)  # fmt: skip
_NO_PARAGRAPH = re.compile(r"[ \t]{0,40}(?:[#|>]|[-*_=]{3,}[ \t]*$|\Z)")
_TIL = re.compile(rf"{_BEGIN}(?P<word>til) (?:that |about )?(?=[a-z\x01\"'])")
_ITEM = re.compile(r"[ \t>]{0,8}(?:[-*+•]|\d{1,4}[.)])[ \t]{1,9}(?:\[[ x]\][ \t])?")
_REASON_LINE = re.compile(
    r"[ \t>]{0,40}(?:[-*+•][ \t]{1,9})?(?:\*\*|__)?(?:reason|reasoning|why|rationale|because)(?:\*\*|__)?:(?:\*\*|__)?[ \t]*(?=\S)"
)
_SENTENCE = re.compile(r"(?:[.!?…][\"”')*_]{0,3}(?=\s)|\n)")
_OPENING = re.compile(
    r"(?:so(?! far)|and|but|then|therefore|thus|hence|ok|okay|done|noted|also|great|good|right|finally|in the end|ultimately|btw)[,:]? +",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:should|do|does|shall|can|could|would|which|what|how|whether|is|are)\b[^\n]*\?[\s\"')*_]*"
)
_NEEDED = re.compile(
    r"(?:needed|required|pending|tbd|still open|open question|to be (?:made|decided|determined))\b"
)


def marked(read: Prose, phrases: Phrases = ()) -> list[tuple[int, int, Candidate]]:
    """The lines that begin with a marker, or with words of the team's own, and the items below a heading such as `Key decisions`:
    each with where it begins and ends."""
    found: list[tuple[int, int, Candidate]] = []
    low = f"\n{read.low}"  # a pattern that begins with a sign is looked for faster than one that begins with a line
    for mark in _MARKER.finditer(low):
        if len(found) >= MOST:
            break
        if not _BEFORE_WORD.fullmatch(mark["lead"]):
            continue
        type_, confidence = MARKERS[mark["word"]]
        if mark["word"] in LAWS and not LAW.match(low, mark.end()):
            continue
        if (mark["sign"] in ":：" or mark["word"] in DASHED) and not read.is_code(mark.start()):
            found += _one(read, mark.start(), mark.end() - 1, type_, confidence)
    for mark in _TIL.finditer(low) if "til " in low else ():
        at = mark.start("word") - 1
        if (
            len(found) < MOST
            and read.text.startswith("TIL", at)
            and _BEFORE_WORD.fullmatch(mark["lead"])
            and not read.is_code(mark.start())
        ):
            found += _one(read, mark.start(), mark.end() - 1, "learning", _UNMARKED)
    taken = {start for start, _, _ in found}
    for start, end, type_, confidence in (
        _headed(read, low) if any(word in read.low for word in _HEADINGS) else ()
    ):
        if len(found) < MOST and start not in taken:
            found += _one(read, start, end, type_, confidence)
            taken.add(start)
    for start, end, type_ in _beginnings(read, phrases):
        if len(found) < MOST and start not in taken:
            found += _one(read, start, end, type_, TEAM, whole=True)
            taken.add(start)
    return sorted(found, key=lambda one: one[:2])


def said(read: Prose, taken: Sequence[tuple[int, int, Candidate]]) -> list[Candidate]:
    """The sentences in which a phrase stands. One that a marked line holds already is left to that line, unless it tells
    something of another type behind the first sentence of the line."""
    places: dict[int, None] = {}
    for word in WORDS:
        at = read.low.find(word)
        while at >= 0 and len(places) < 4 * _MOST_SENTENCES:
            places[at] = None
            at = read.low.find(word, at + len(word))
    found: list[Candidate] = []
    last, count, held = -1, 0, list(taken)
    for at in sorted(places):
        if at < last or count >= _MOST_SENTENCES or len(found) >= MOST:
            continue
        start, end = _sentence(read, at)
        last, count = end, count + 1
        while held and held[0][1] <= start:
            held.pop(0)
        inside = held[0] if held and held[0][0] <= start < held[0][1] else None
        if inside and not read.low[inside[0] : start].rstrip().endswith((".", "!", "?")):
            continue
        one = (
            None
            if read.is_code(start)
            else _phrase(read, max(start, last if start > end else start), end)
        )
        if one and not (inside and inside[2].type == one.type):
            found.append(one)
    return found


def _one(
    read: Prose, start: int, end: int, type_: str, confidence: float, *, whole: bool = False
) -> Iterator[tuple[int, int, Candidate]]:
    """The candidate of a line whose marker ends at `end`; of the team's own words, the `whole` line."""
    stop = read.end(end)
    if stop == end or not read.low[end:stop].strip():
        return
    text = tidy(read.text[start if whole else end : stop])
    low = read.low[end:stop].strip(" \t*_")
    if sum(map(str.isalnum, text)) < LEAST or (
        (NOTHING.fullmatch(low) or PLACEHOLDER.fullmatch(read.text[end:stop].strip(" \t*_")))
        and not whole
    ):
        return
    asked = _QUESTION.fullmatch(low) or low.rstrip(" *_\"')").endswith("?") or _NEEDED.match(low)
    text, reason = parted(text, type_)
    following = _REASON_LINE.match(read.low, stop + 1)
    if not reason and following and stop < len(read.low):
        last = read.end(following.end())
        reason, stop = tidy(read.text[following.end() : last]), last
    text = _ITEM.sub("", text, count=1) if whole else text
    if text:
        yield (
            start,
            stop,
            Candidate(
                KEYWORD, type_, text, HEDGED if asked else confidence, read.line(start), reason
            ),
        )


def _headed(read: Prose, low: str) -> Iterator[tuple[int, int, str, float]]:
    """What stands below headings: the items of a list, and of a heading in the singular the one paragraph. From where its line and
    its text begin, with its type and how sure that is."""
    for heading in _SECTION.finditer(low):
        lead, type_ = heading["lead"], SECTIONS[heading["word"]]
        if not _BEFORE_WORD.fullmatch(lead):
            continue
        singular = heading["word"] in ONE_BELOW
        if singular and not (
            "#" in lead or lead.endswith(("**", "__")) or ":" in heading[0][len(lead) :]
        ):
            continue  # a word on a line of its own, or the label of a column
        at = heading.end() - 1
        below = _paragraph(read, at) if singular else None
        if below and not read.low[below : read.end(below)].rstrip(" *_").endswith(":"):
            yield (
                below,
                below,
                type_,
                HEDGED if unsettled(read.low[below : read.end(below)]) else HEADED,
            )
        else:
            for start, end in _items(read, read.end(below) if below else at):
                yield start, end, type_, LISTED


def _paragraph(read: Prose, at: int) -> int | None:
    """Where the paragraph begins that stands right below a heading, or below one blank line; None where something else does."""
    for _ in range(2):
        start = at + 1
        at = read.low.find("\n", start)
        at = len(read.low) if at < 0 else at
        line = read.low[start:at]
        if line.strip():
            return (
                None
                if _ITEM.match(line) or _NO_PARAGRAPH.match(line) or line.startswith(("    ", "\t"))
                else start
            )
        if start >= len(read.low) or read.text[start:at].strip():  # code stood there
            return None
    return None


def _items(read: Prose, at: int) -> Iterator[tuple[int, int]]:
    """Where the items of the list below a heading begin, and where their texts do."""
    blank = 0
    for _ in range(60):
        at += 1
        if at >= len(read.low):
            return
        end = read.low.find("\n", at)
        end = len(read.low) if end < 0 else end
        line = read.low[at:end]
        if not line.strip():
            blank += 1
            if blank > 2:
                return
        elif item := _ITEM.match(line):
            if len(item[0]) - len(item[0].lstrip()) < 2:
                yield at, at + item.end()
            blank = 0
        elif not line.startswith((" ", "\t")):
            return
        at = end


def _beginnings(read: Prose, phrases: Phrases) -> Iterator[tuple[int, int, str]]:
    """The lines that begin with a team's own words: where, where these end, and the type that they tell."""
    types = {
        " ".join(word.lower().split()): type_
        for type_, words in reversed(phrases)
        for word in words
    }
    types.pop("", None)
    if not types or not any(word in read.low for word in types):
        return
    words = "|".join(re.escape(word) for word in sorted(types, key=len, reverse=True))
    for found in re.finditer(rf"\n[ \t>•*+_\"“0-9.)-]{{0,60}}?({words})(?!\w)", f"\n{read.low}"):
        if not read.is_code(found.start()):
            yield found.start(), found.end() - 1, types[found[1]]


def _sentence(read: Prose, at: int) -> tuple[int, int]:
    """From where to where the sentence stands around a place."""
    low = read.low
    first = max(read.begin(at), at - _BEFORE)
    stop = min(read.end(at), at + _BEHIND)
    start = first
    for boundary in _SENTENCE.finditer(low, first, at):
        if boundary[0] != "\n" and not _abbreviation(low, boundary.start()):
            start = boundary.end()
    end = stop
    for boundary in _SENTENCE.finditer(low, at, stop):
        if boundary[0] != "\n" and not _abbreviation(low, boundary.start()):
            end = boundary.start() + 1
            break
    return start, end


def _abbreviation(low: str, dot: int) -> bool:
    return (
        low[dot] == "."
        and low[max(0, dot - 3) : dot + 1] in ("e.g.", "i.e.", " vs.", "etc.")
        and low[dot + 2 : dot + 3].islower()
    )


def _phrase(read: Prose, start: int, end: int) -> Candidate | None:
    """The surest that a sentence tells."""
    low = read.low[start:end].replace("\n", " ")
    with_code = "".join(
        there if sign == MASKED else sign
        for sign, there in zip(low, read.text[start:end], strict=True)
    ).lower()
    line_start = read.low.rfind("\n", 0, start) + 1
    line = read.low[line_start:start] + low
    best: tuple[float, str, int] | None = None
    for rule in RULES:
        if rule.word in low and (found := rule.pattern.search(low)):
            before = low[: found.start()]
            hedge = hedged(
                _ITEM.sub("", before, count=1) if start == line_start else before,
                low[found.start() :],
                ours=rule.ours,
            )
            sure = rule.because if REASON.search(low, found.start()) else rule.confidence
            if not sure:
                continue
            if not hedge and rule.type in ("decision", "rejection") and sure > HEDGED:
                hedge = is_errand(before, with_code[found.start() :])
            confidence = min(sure, HEDGED) if hedge else sure
            if sure <= HEDGED:
                best = (confidence, rule.type, found.start())
                break  # what was looked at is not decided, whatever else the sentence says
            if best is None or confidence > best[0]:
                best = (confidence, rule.type, found.start())
    if best is None:
        return None
    confidence, type_, _ = best
    if line.lstrip().startswith("#"):
        return None
    if line.lstrip().startswith((">", "|")):  # somebody else's words, or a cell of a table
        confidence = min(confidence, HEDGED)
    text = tidy(_ITEM.sub("", read.text[start:end].lstrip(), count=1).lstrip("#>*- "))
    text = (
        text[opening.end() :]
        if (opening := _OPENING.match(text)) and len(text) > opening.end()
        else text
    )
    text, reason = parted(text, type_)
    if sum(map(str.isalnum, text)) < LEAST:
        return None
    return Candidate(
        KEYWORD,
        type_,
        text,
        confidence,
        read.line(start + len(read.text[start:end]) - len(read.text[start:end].lstrip())),
        reason,
    )
