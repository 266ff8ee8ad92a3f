"""Find decisions, rejections and lessons by keywords: marked lines, and phrases in sentences.

Code is masked first. Each sentence is read once and within bounds: time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from cortex.core.extract import phrases as phrase_rules, prose
from cortex.core.extract.candidate import KEYWORD_LAYER, Candidate, LeadingPhrases
from cortex.core.extract.phrases import HEDGED_CONFIDENCE, MARKERS, SECTIONS
from cortex.core.extract.prose import MaskedText, clean_candidate_text, split_reason
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

TEAM_CONFIDENCE = 0.75  # of the words that a team has given
_TIL_CONFIDENCE = 0.65  # of `TIL` without a colon
_MIN_INLINE_CONFIDENCE = 0.7  # of a label behind a sentence
MAX_CANDIDATES = 300  # finds in one text; what is beyond stays in the event
_MAX_SENTENCES = 1500
# Characters of a sentence that are read around the word that was found.
_MAX_CHARS_BEFORE, _MAX_CHARS_AFTER = 300, 500

_LEAD_PATTERN = (
    r"[ \t]{0,40}(?:(?:[-*+•]|\d{1,4}[.)])[ \t]{1,9})?(?:\[[ x]\][ \t]{1,9})?[\"“]?"
    r"(?:#{1,6}[ \t]{1,9})?(?:\d{1,3}[.)][ \t])?(?:[^\w\s\x00-\x7f]{1,3})?[ ]?"
)
_MARKER_WORDS = "|".join(sorted(MARKERS, key=len, reverse=True))
# What precedes the first letter of a line; `_LEAD_RE` tests it: no `>`, behind which are others' words.
_LINE_START_PATTERN = r"\n(?P<lead>[^a-z\n]{0,60}+(?:x\][ \t*_]{1,9})?)"
_LEAD_RE = lazy_re(rf"{_LEAD_PATTERN}[*_]{{0,3}}")
_MARKER_RE = lazy_re(
    rf"{_LINE_START_PATTERN}(?P<word>{_MARKER_WORDS})(?:[ ]?#?\d{{1,3}}|(?:[ ]"
    rf"|(?<!fix))\([^()\n]{{1,60}}\))?[*_]{{0,3}}[ ]?(?P<sign>[:：]|–|—|-(?= ))[*_]{{0,3}}"
)
# Behind the end of a sentence on its line, where the word begins with a capital: `Carts expire. Decision: keep them`.
_INLINE_LABELS = sorted(
    (word for word in MARKERS if MARKERS[word][0] in phrase_rules.INLINE_TYPES and MARKERS[word][1] >= _MIN_INLINE_CONFIDENCE),
    key=len, reverse=True,
)  # fmt: skip
_INLINE_RE = lazy_re(
    rf"(?<=[\w)\x01\"])[.!?][*_)]{{0,3}}[ ]{{1,3}}(?P<lead>[*_]{{0,3}})(?P<word>{'|'.join(_INLINE_LABELS)})[*_]{{0,3}}:[*_]{{0,3}}[ ](?=\S)"
)
_SECTION_RE = lazy_re(
    rf"(?m){_LINE_START_PATTERN}(?P<word>{'|'.join(sorted(SECTIONS, key=len, reverse=True))})"
    rf"(?:[ ]\([^()\n]{{1,40}}\))?[ ]?:?(?:\*\*|__)?[ ]?:?[ \t]*$"
)
# Each such heading has one of these.
_HEADING_WORDS = (
    "decision", "decided", "reject", "not chosen", "ruled out", "lesson", "takeaway", "learned",
    "insight", "til", "gotcha", "pitfall", "caveat", "trap", "convention", "patterns", "cause",
    "finding", "discoveries", "preference",
)  # fmt: skip
_NOT_PARAGRAPH_RE = lazy_re(r"[ \t]{0,40}(?:[#|>]|[-*_=]{3,}[ \t]*$|\Z)")
_TIL_RE = lazy_re(rf"{_LINE_START_PATTERN}(?P<word>til) (?:that |about )?(?=[a-z\x01\"'])")
_LIST_ITEM_RE = lazy_re(r"[ \t>]{0,8}(?:[-*+•]|\d{1,4}[.)])[ \t]{1,9}(?:\[[ x]\][ \t])?")
_REASON_LINE_RE = lazy_re(
    r"[ \t>]{0,40}(?:[-*+•][ \t]{1,9})?(?:\*\*|__)?(?:reason|reasoning|why|rationale"
    r"|because)(?:\*\*|__)?:(?:\*\*|__)?[ \t]*(?=\S)"
)
_SENTENCE_END_RE = lazy_re(r"(?:[.!?…][\"”')*_]{0,3}(?=\s)|\n)")
_FILLER_OPENING_RE = lazy_re(
    r"(?:so(?! far)|and|but|then|therefore|thus|hence|ok|okay|done|noted|also|great|good|right"
    r"|finally|in the end|ultimately|btw)[,:]? +",
    re.IGNORECASE,
)
_QUESTION_RE = lazy_re(
    r"(?:should|do|does|shall|can|could|would|which|what|how|whether|is|are)\b[^\n]*\?[\s\"')*_]*"
)
_UNDECIDED_RE = lazy_re(
    r"(?:none |no decision )?(?:needed|required|pending|tbd|still open|open question|to be (?:made|decided|determined))\b"
)


class MarkedLine(NamedTuple):
    """A candidate, and where its line begins and ends."""

    start: int
    end: int
    candidate: Candidate


def find_marked_lines(read: MaskedText, phrases: LeadingPhrases = ()) -> list[MarkedLine]:
    """Lines that begin with a marker or a team's phrase, and items below headings of decisions."""
    low = f"\n{read.masked}"  # `\n` is searched faster than the beginning of a line
    has_heading = any(word in read.masked for word in _HEADING_WORDS)
    below = _find_under_headings(read, low) if has_heading else ()
    inline = list(_find_inline_labels(read))
    finds = chain(
        ((*one, True, False) for one in _find_markers(read, low)),
        ((*one, True, False) for one in inline),
        ((*one, False, False) for one in below),
        ((*one, TEAM_CONFIDENCE, True, True) for one in _find_team_phrases(read, phrases)),
    )
    lines: dict[int, MarkedLine] = {}
    for start, end, type_, confidence, marked, whole in finds:
        if len(lines) >= MAX_CANDIDATES or start in lines:
            continue
        stop = min((one[0] for one in inline if one[0] > end), default=len(read.masked))
        if line := _marked_line(read, start, end, type_, confidence, whole=whole, limit=stop):
            candidate = line.candidate._replace(is_marked=marked)
            lines[start] = line._replace(candidate=candidate)
    return sorted(lines.values())


def _find_markers(read: MaskedText, low: str) -> Iterator[tuple[int, int, str, float]]:
    """Lines with a marker: where the line and its text begin, the type and the confidence."""
    for mark in _MARKER_RE.finditer(low):
        word = mark["word"]
        is_marker = mark["sign"] in ":：" or word in phrase_rules.DASH_MARKERS
        if word in phrase_rules.ALERT_MARKERS:
            is_marker = is_marker and bool(phrase_rules.ALWAYS_NEVER_RE.match(low, mark.end()))
        if is_marker and _may_begin_line(read, mark):
            yield mark.start(), mark.end() - 1, *MARKERS[word]
    for mark in _TIL_RE.finditer(low) if "til " in low else ():
        if read.text.startswith("TIL", mark.start("word") - 1) and _may_begin_line(read, mark):
            yield mark.start(), mark.end() - 1, "learning", _TIL_CONFIDENCE


def _find_inline_labels(read: MaskedText) -> Iterator[tuple[int, int, str, float]]:
    """Labels behind the end of a sentence, as `_find_markers`; none in quotes, a table or what others said."""
    for label in _INLINE_RE.finditer(read.masked):
        at = label.start("word")
        if read.text[at].isupper() and not (read.is_quoted(at) or read.is_indented_code(at)):
            yield label.start("lead"), label.end(), *MARKERS[label["word"]]


def _may_begin_line(read: MaskedText, mark: re.Match[str]) -> bool:
    return bool(_LEAD_RE.fullmatch(mark["lead"])) and not read.is_indented_code(mark.start())


def find_phrases(read: MaskedText, taken: Sequence[MarkedLine]) -> list[Candidate]:
    """Sentences with a phrase, in no marked line of their type, nor the first of a marked line."""
    places: dict[int, None] = {}
    for word in phrase_rules.RULE_KEYWORDS:
        at = read.masked.find(word)
        while at >= 0 and len(places) < 4 * _MAX_SENTENCES:
            places[at] = None
            at = read.masked.find(word, at + len(word))
    found: list[Candidate] = []
    last, count, lines = -1, 0, list(taken)
    for at in sorted(places):
        if at < last or count >= _MAX_SENTENCES or len(found) >= MAX_CANDIDATES:
            continue
        start, end = _sentence_bounds(read, at)
        last, count = end, count + 1
        while lines and lines[0].end <= start:
            lines.pop(0)
        inside = lines[0] if lines and lines[0].start <= start < lines[0].end else None
        if inside and not read.masked[inside.start : start].rstrip().endswith((".", "!", "?")):
            continue
        one = None if read.is_indented_code(start) else _best_phrase_candidate(read, start, end)
        if one and not (inside and inside.candidate.type == one.type):
            found.append(one)
    return found


def _marked_line(
    read: MaskedText,
    start: int,
    end: int,
    type_: str,
    confidence: float,
    *,
    whole: bool,
    limit: int,
) -> MarkedLine | None:
    """The candidate of a line whose marker ends at `end`, up to `limit`; of a team's phrase, the
    `whole` line."""
    stop = min(read.paragraph_end(end), limit)
    low = read.masked[end:stop].strip(" \t*_")
    if stop == end or not read.masked[end:stop].strip():
        return None
    text = clean_candidate_text(read.text[start if whole else end : stop])
    plain = read.text[end:stop].strip(" \t*_")
    is_empty = phrase_rules.NO_CONTENT_RE.fullmatch(low) or prose.PLACEHOLDER_RE.fullmatch(plain)
    if sum(map(str.isalnum, text)) < prose.MIN_LETTERS or (is_empty and not whole):
        return None
    is_question = _QUESTION_RE.fullmatch(low) or low.rstrip(" *_\"')").endswith("?")
    leads_on = low.rstrip(" *_").endswith((":", "："))  # to what is not a part of it
    if is_question or leads_on or _UNDECIDED_RE.match(low):
        confidence = HEDGED_CONFIDENCE
    text, reason = split_reason(text, type_)
    following = _REASON_LINE_RE.match(read.masked, stop + 1)
    if not reason and following and stop < len(read.masked):
        last = read.paragraph_end(following.end())
        reason, stop = clean_candidate_text(read.text[following.end() : last]), last
    text = _without_item_mark(text) if whole else text
    if not text:
        return None
    line = read.line_number(start)
    candidate = Candidate(KEYWORD_LAYER, type_, text, confidence, line, reason)
    return MarkedLine(start, stop, candidate)


def _find_under_headings(read: MaskedText, low: str) -> Iterator[tuple[int, int, str, float]]:
    """What stands below headings: the items of a list, and of a heading in the singular the one
    paragraph. From where its line and its text begin, with its type and how sure that is."""
    for heading in _SECTION_RE.finditer(low):
        lead, type_ = heading["lead"], SECTIONS[heading["word"]]
        if not _LEAD_RE.fullmatch(lead):
            continue
        singular = heading["word"] in phrase_rules.SINGULAR_SECTIONS
        if singular and not (
            "#" in lead or lead.endswith(("**", "__")) or ":" in heading[0][len(lead) :]
        ):
            continue  # a word on a line of its own, or the label of a column
        at = heading.end() - 1
        below = _paragraph_below(read, at) if singular else None
        stop = read.paragraph_end(below) if below else at
        paragraph = read.masked[below:stop]
        if below and not paragraph.rstrip(" *_").endswith(":"):
            unsettled = phrase_rules.is_unsettled(paragraph)
            sure = HEDGED_CONFIDENCE if unsettled else phrase_rules.PARAGRAPH_CONFIDENCE
            yield below, below, type_, sure
        else:
            for start, end in _list_items_below(read, stop):
                yield start, end, type_, phrase_rules.LIST_ITEM_CONFIDENCE


def _paragraph_below(read: MaskedText, at: int) -> int | None:
    """Where the paragraph below a heading begins, after at most one blank line; else None."""
    for _ in range(2):
        start = at + 1
        at = read.line_end(start)
        line = read.masked[start:at]
        if line.strip():
            is_code = line.startswith(("    ", "\t"))
            is_other = is_code or _LIST_ITEM_RE.match(line) or _NOT_PARAGRAPH_RE.match(line)
            return None if is_other else start
        if start >= len(read.masked) or read.text[start:at].strip():  # code stood there
            return None
    return None


def _list_items_below(read: MaskedText, at: int) -> Iterator[tuple[int, int]]:
    """Where the items of the list below a heading begin, and where their texts do."""
    blank = 0
    for _ in range(60):
        at += 1
        if at >= len(read.masked):
            return
        end = read.line_end(at)
        line = read.masked[at:end]
        if not line.strip():
            blank += 1
            if blank > 2:
                return
        elif item := _LIST_ITEM_RE.match(line):
            if len(item[0]) - len(item[0].lstrip()) < 2:
                yield at, at + item.end()
            blank = 0
        elif not line.startswith((" ", "\t")):
            return
        at = end


def _find_team_phrases(read: MaskedText, phrases: LeadingPhrases) -> Iterator[tuple[int, int, str]]:
    """Lines that begin with a team's phrase: where the line begins, the phrase ends, the type."""
    pairs = [(word, type_) for type_, words in reversed(phrases) for word in words]
    types = {" ".join(word.lower().split()): type_ for word, type_ in pairs}
    types.pop("", None)
    if not types or not any(word in read.masked for word in types):
        return
    words = "|".join(re.escape(word) for word in sorted(types, key=len, reverse=True))
    pattern = rf"\n[ \t•*+_\"“0-9.)-]{{0,60}}?({words})(?!\w)"
    for found in re.finditer(pattern, f"\n{read.masked}"):
        if not read.is_indented_code(found.start()):
            yield found.start(), found.end() - 1, types[found[1]]


def _sentence_bounds(read: MaskedText, at: int) -> tuple[int, int]:
    """From where to where the sentence stands around a place."""
    low = read.masked
    first = max(read.paragraph_start(at), at - _MAX_CHARS_BEFORE)
    stop = min(read.paragraph_end(at), at + _MAX_CHARS_AFTER)
    start = first
    for boundary in _SENTENCE_END_RE.finditer(low, first, at):
        if boundary[0] != "\n" and not _is_abbreviation(low, boundary.start()):
            start = boundary.end()
    end = stop
    for boundary in _SENTENCE_END_RE.finditer(low, at, stop):
        if boundary[0] != "\n" and not _is_abbreviation(low, boundary.start()):
            end = boundary.start() + 1
            break
    return start, end


def _without_item_mark(text: str) -> str:
    mark = _LIST_ITEM_RE.match(text)
    return text[mark.end() :] if mark else text


def _is_abbreviation(low: str, dot: int) -> bool:
    return (
        low[dot] == "."
        and low[max(0, dot - 3) : dot + 1] in ("e.g.", "i.e.", " vs.", "etc.")
        and low[dot + 2 : dot + 3].islower()
    )


def _best_phrase_candidate(read: MaskedText, start: int, end: int) -> Candidate | None:
    """The surest that a sentence tells."""
    low = read.masked[start:end].replace("\n", " ")
    line_start = read.masked.rfind("\n", 0, start) + 1
    line = (read.masked[line_start:start] + low).lstrip()
    type_, confidence = _surest_phrase(low, read.text[start:end], is_line=start == line_start)
    if not type_ or line.startswith("#"):
        return None
    if line.startswith((">", "|")):  # somebody else's words, or a cell of a table
        confidence = min(confidence, HEDGED_CONFIDENCE)
    sentence = read.text[start:end].lstrip()
    text = clean_candidate_text(_without_item_mark(sentence).lstrip("#>*- "))
    opening = _FILLER_OPENING_RE.match(text)
    if opening and len(text) > opening.end():
        text = text[opening.end() :]
    text, reason = split_reason(text, type_)
    if sum(map(str.isalnum, text)) < prose.MIN_LETTERS:
        return None
    number = read.line_number(end - len(sentence))
    return Candidate(KEYWORD_LAYER, type_, text, confidence, number, reason)


def _surest_phrase(low: str, text: str, *, is_line: bool) -> tuple[str, float]:
    """The type and the confidence of the surest phrase of a sentence, in lower case and as it is
    written; an empty type for none. `is_line`: whether it begins its line."""
    pairs = zip(low, text, strict=True)
    with_code = "".join(there if sign == prose.MASK_CHAR else sign for sign, there in pairs).lower()
    surest = "", 0.0
    for rule in phrase_rules.PHRASE_RULES:
        match = rule.search(low) if rule.keyword in low else None
        if match is None:
            continue
        has_reason = phrase_rules.REASON_RE.search(low, match.start())
        sure = rule.confidence_with_reason if has_reason else rule.confidence
        if not sure:
            continue
        before, after = low[: match.start()], low[match.start() :]
        own_before = _without_item_mark(before) if is_line else before
        is_choice = rule.type in ("decision", "rejection") and sure > HEDGED_CONFIDENCE
        hedged = phrase_rules.is_hedged(own_before, after, ours=rule.is_first_person) or (
            is_choice and phrase_rules.is_non_decision(before, with_code[match.start() :])
        )
        confidence = min(sure, HEDGED_CONFIDENCE) if hedged else sure
        if sure <= HEDGED_CONFIDENCE:  # what was looked at is not decided, whatever else is said
            return rule.type, confidence
        if confidence > surest[1]:
            surest = rule.type, confidence
    return surest
