"""Memory tags such as `[MEMORY: decision] text`, written by the user or the agent.

Without the colon it is a tag only in capitals at the beginning of a line: elsewhere it is an index,
a badge or a link.

A tag in code is documentation about tags, and so is one that is quoted, in a table, or a placeholder.
"""

from __future__ import annotations

import re

from cortex.core.extract import prose
from cortex.core.extract.candidate import TAG_LAYER, Candidate
from cortex.core.extract.prose import MaskedText, clean_candidate_text
from cortex.core.model.record import RECORD_TYPES, canonical_type, intended_type
from cortex.core.model.turn_summary import MEMORY_TAG_START as OPENING
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line

_PIN_WORDS = ("permanent", "pinned", "pin")
_TYPE_WORDS = {  # in other languages, where they are unlike the English ones
    "fact": "learning", "entscheidung": "decision", "决定": "decision", "決定": "decision",
    "abgelehnt": "rejection", "verworfen": "rejection", "rechazado": "rejection", "否决": "rejection",
    "gelernt": "learning", "erkenntnis": "learning", "lección": "learning", "leçon": "learning",
    "教训": "learning", "falle": "gotcha", "trampa": "gotcha", "piège": "gotcha", "陷阱": "gotcha",
    "muster": "pattern", "patrón": "pattern", "vorliebe": "preference", "偏好": "preference",
}  # fmt: skip
# The inside holds brackets one deep, and lines that are not blank.
_TAG_RE = lazy_re(
    r"\[memory[ \t]{0,9}:(?![ \t]{0,40}\n)((?:[^\[\]\n]|\n(?![ \t]{0,40}\n)"
    r"|\[[^\[\]\n]{0,100}\]){0,800})\]"
)
_BARE_TAG_RE = lazy_re(r"\[memory(?:[ \t]{1,9}([a-z0-9_, \t-]{1,80}))?\]")
_LINE_START_RE = lazy_re(r"[ \t>*_+•-]{0,20}(?:\d{1,4}[.)][ \t]{1,9}[*_]{0,2})?")
_WORD_SEPARATOR_RE = lazy_re(r"[\s,/+&|;]+")
_TYPE_LABEL_RE = lazy_re(r"[*_ ]{0,4}([A-Za-z]{2,20})[*_]{0,2}(?::| [-–—] )[*_ ]{0,4}(?=\S)")
_TAG_NAME_RE = lazy_re(r"[a-z0-9][a-z0-9_-]{0,39}")
_AFTER_TAG_RE = lazy_re(r"[ \t]{0,9}[:–—-]?[ \t]{0,9}")
_MAX_TAGS = 300
_MAX_TYPE_BYTES = 18  # of an unknown word that stands for a type; of Chinese 6 signs


def find_tags(read: MaskedText) -> list[tuple[int, int, Candidate]]:
    """Every tag that says something, and from where to where it and its text stand."""
    found: list[tuple[int, int, Candidate]] = []
    at = read.masked.find(OPENING)
    while at >= 0 and len(found) < _MAX_TAGS:
        tag = _TAG_RE.match(read.masked, at) or _match_bare_tag(read, at)
        end = tag.end() if tag else at + len(OPENING)
        is_shown = read.text.startswith(tuple("[\\!\"'“”„‚‘«»「『"), at - 1, at)
        is_link = read.text[end : end + 1] == "("
        if tag and not (is_shown or is_link or read.is_quoted(at) or read.is_indented_code(at)):
            stop = _tag_text_end(read, end)
            if one := _parse_tag(read, at, tag, stop):
                used = end if one[0] else stop
                found.append((at, used, one[1]))
                end = used
        at = read.masked.find(OPENING, end)
    return found


def parse_single_tag(text: str) -> Candidate | None:
    """The candidate of a text that is one tag with what it says, and nothing else."""
    text = text.strip()
    if text[: len(OPENING)].lower() != OPENING:
        return None
    found = find_tags(prose.mask_code(text))
    return found[0][2] if len(found) == 1 and found[0][:2] == (0, len(text)) else None


def _match_bare_tag(read: MaskedText, at: int) -> re.Match[str] | None:
    """A tag without its colon, where it begins a line."""
    before = read.masked[max(0, at - 40) : at].rpartition("\n")
    begins = (before[1] or at <= 40) and _LINE_START_RE.fullmatch(before[2])
    is_upper = read.text.startswith(OPENING.upper(), at)
    return _BARE_TAG_RE.match(read.masked, at) if begins and is_upper else None


def _tag_text_end(read: MaskedText, end: int) -> int:
    """Where the text behind a tag ends: with its paragraph, or before the next tag."""
    start = end
    newline = read.masked.find("\n", end)
    if newline >= 0 and not read.masked[end:newline].strip(" \t:*_"):
        start = newline + 1  # the text stands on the next line
    stop = read.paragraph_end(start)
    following = read.masked.find(OPENING, end, stop)
    return stop if following < 0 else following


def _parse_tag(
    read: MaskedText, at: int, tag: re.Match[str], stop: int
) -> tuple[bool, Candidate] | None:
    """Whether the text stands within the tag, and the find; None for a tag that says nothing."""
    bare = tag.re.pattern == _BARE_TAG_RE.pattern
    inside = one_line(tag[1] or "") if bare else one_line(read.text[tag.start(1) : tag.end(1)])
    behind = clean_candidate_text(_AFTER_TAG_RE.sub("", read.text[tag.end() : stop], count=1))
    words = [word for word in _WORD_SEPARATOR_RE.split(inside.lower().strip()) if word]
    if 0 < len(words) <= 2 and not bare:
        words[0] = _TYPE_WORDS.get(words[0]) or intended_type(words[0]) or words[0]
    known = [canonical_type(word) in RECORD_TYPES or word in _PIN_WORDS for word in words]
    is_short_list = 0 < len(words) <= 6 and known[0] and ("," in inside or all(known))
    listed = is_short_list and all(map(_TAG_NAME_RE.fullmatch, words))
    pinned = any(word in _PIN_WORDS for word in words)
    says_something = sum(map(str.isalnum, behind)) >= prose.MIN_LETTERS
    if bare and ((words and not listed) or not says_something or " " not in behind):
        return None
    is_type = inside.replace("-", "").isalpha() and len(inside.encode()) <= _MAX_TYPE_BYTES
    listed = listed or bare or (is_type and says_something)
    if listed and (behind or len(words) == 1):
        text = behind
        tags = tuple(word for word, is_known in zip(words, known, strict=True) if not is_known)
        types = map(canonical_type, words)
        type_ = next((one for one in types if one in RECORD_TYPES), "")
    else:
        text, tags, type_, pinned = clean_candidate_text(inside), (), "", False
    is_placeholder = prose.PLACEHOLDER_RE.fullmatch
    is_sample = is_placeholder(inside) and not (bare or any(known))
    if is_sample or is_placeholder(text) or text.startswith(("…", "...")):
        return None
    if not type_:
        lead = _TYPE_LABEL_RE.match(text)
        type_ = canonical_type(lead[1].lower()) if lead else ""
        type_ = type_ if type_ in RECORD_TYPES else ""
        text = text[lead.end() :] if lead and type_ else text
        type_ = type_ or ("note" if pinned else "learning")
    text, reason = prose.split_reason(text, type_)
    return not (listed and behind), Candidate(
        TAG_LAYER, type_, text, 1.0, read.line_number(at), reason, pinned, tags
    )
