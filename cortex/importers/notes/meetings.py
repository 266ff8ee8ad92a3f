"""What was said in meetings: WebVTT (Teams, Zoom), SRT, and the texts that Zoom and Otter save. Times
and numbers of cues are dropped, and of Zoom's chat what is for one person alone."""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

from cortex.core.minutes.cues import LABEL_RE
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line
from cortex.importers.archive import Archive, open_archive
from cortex.importers.item import ForeignItem, ForeignMeeting

_CUE_RE = lazy_re(r"^\s*(?:\d+:)?\d\d?:\d\d[.,]\d{1,3}\s+-->\s")
_VOICE_RE = lazy_re(r"<v(?:\.[^\s<>]*)?\s([^<>]+)>")
_TAG_RE = lazy_re(r"</?(?:[cibuv]|ruby|rt|lang|font)\b[^<>]*>|<[\d:.]+>")
_PREFIX_RE = lazy_re(r"\[?([^\W_][^:<>\[\]\n]{0,58})\]?:[ \t]+(?=\S)")
_NOBODY_RE = lazy_re(r"(?i)(?:unknown )?speaker[ _]?\d*")
# The line of a time: of a cue; then those that name who speaks, of Zoom's captions, of its chat
# (saved, of the cloud), of Otter.
_FORMS = (
    _CUE_RE,
    lazy_re(r"\[(?P<who>[^\]\n]{1,80})\]\s+\d\d?:\d\d:\d\d(?: [AP]M)?\s*$"),
    lazy_re(r"\d\d:\d\d:\d\d\s+From\s+(?P<who>.{1,80}?)\s*(?:\s(?i:to)\s(?P<to>[^:]{1,80}))?:(?P<text>.*)"),
    lazy_re(r"\d\d:\d\d:\d\d\t(?P<who>[^\t]{1,80}):\t(?P<text>.*)"),
    lazy_re(r"(?P<who>[^\W_].{0,60}?)?[ ]{2,40}(?:\d{1,3}:)?\d?\d:\d\d[ ]*$"),
)  # fmt: skip
_DAY_RE = lazy_re(
    r"(?<!\d)(20\d\d)[-._]?([01]\d)[-._]?([0-3]\d)(?:[-T_ ](?:at )?(\d\d)[.:_h-]?(\d\d)(?:[.:_m-]?(\d\d))?s?)?(?!\d)"
)
_NO_TITLE_RE = lazy_re(
    r"(?i)\bGMT(?=\d)|[ _]otter[._ ]ai\b|\.(?:transcript|cc|[a-z]{2}(?:-[a-z]{2})?)$|[ ]\d{9,12}$|(?:[ _-]{0,4}(?<![^\W_])"
    r"(?:meeting|saved|new|closed|recording|transcript|captions?|chat)(?![^\W_])){1,6}(?:[ _]?\d{1,5}x\d{1,5})?$"
)  # fmt: skip


def accepts(path: str) -> bool:
    """Whether it is a transcript, or a folder or zip with transcripts and without notes."""
    with open_archive(path) as archive:
        is_other = any(name.endswith((".md", ".json")) for name in archive.names())
        return not is_other and any(_turns(text) for _, text in _texts(archive, 8000))


def read(path: str) -> Iterator[ForeignItem]:
    """A meeting for each transcript. `InvalidInputError` if a file is none."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    with open_archive(path) as archive:
        for name, text in _texts(archive):
            if turns := _turns(text):
                yield _meeting(os.path.abspath(os.path.join(folder, name)), text, turns)
            elif path.endswith(name):
                raise InvalidInputError(f"{path} is no transcript", "cortex capture --type meeting")
            elif not name.endswith(".txt"):
                yield Problem(name, "nothing that was said is found", "open it: is it empty?")
        yield from archive.problems


def _texts(archive: Archive, most: int = 64_000_000) -> Iterator[tuple[str, str]]:
    for name in archive.names():
        if name.lower().endswith((".vtt", ".srt", ".txt")):
            yield name, archive.read(name, most)


def _turns(text: str) -> list[tuple[str, str]]:
    """Who says what, in order; the name is empty where none is given."""
    lines = text[:8000].splitlines()  # which show what it is
    # A line as of Otter stands in many a text.
    forms = (one for one in _FORMS if sum(map(bool, map(one.match, lines))) > (one is _FORMS[-1]))
    said = [one for form in [*forms][:1] for one in _said(text, form) if any(one)]
    unnamed = iter(_split_names([words for who, words in said if not who]))
    said = [one if one[0] else next(unnamed) for one in said]
    between = " " if any(who for who, _ in said) else "\n"
    filled = accumulate(said, lambda before, one: (one[0] or before[0], one[1]))
    groups = groupby(filled, key=lambda one: one[0])
    turns = ((who, between.join(words for _, words in some if words)) for who, some in groups)
    return [(who, words) for who, words in turns if words]


def _said(text: str, form: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Who is named, and what is said: by each line of the form, by the lines below it."""
    is_open = False
    for line in text.splitlines():
        if found := form.match(line):
            parts = {name: part or "" for name, part in found.groupdict().items()}
            is_open = not re.search(r"(?i)\((?:direct message|privately)\)", parts.get("to", ""))
            yield _plain(parts.get("who", "")), _plain(parts.get("text", "")) if is_open else ""
        elif form is _CUE_RE and not line.strip():
            is_open = False  # numbers and notes stand between cues
        elif is_open and not line.startswith("Transcribed by https://"):
            first, *voiced = map(_plain, _VOICE_RE.split(line))
            yield from [("", first), *zip(voiced[::2], voiced[1::2], strict=True)]


def _split_names(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Who says what, where lines are `Ana Bell: words`; nobody, where they are sentences."""
    found = [_PREFIX_RE.match(line) for line in lines]
    counts = Counter(one[1] for one in found if one)
    if counts.total() * 2 < len(lines):
        return [("", line) for line in lines]
    is_name = {name: counts[name] > 1 or name.istitle() for name in counts}
    is_name |= {name: False for name in counts if LABEL_RE.match(f"{name}: ")}
    named = (one if one and is_name[one[1]] else None for one in found)
    pairs = zip(named, lines, strict=True)
    return [(one[1].strip(), line[one.end() :]) if one else ("", line) for one, line in pairs]


def _plain(text: str) -> str:
    return one_line(html.unescape(_TAG_RE.sub("", text)))


def _meeting(path: str, text: str, turns: Sequence[tuple[str, str]]) -> ForeignMeeting:
    folder, name = path.split(os.sep)[-2:]
    stem = name.rpartition(".")[0]
    # Zoom's folder says title and date. Behind the names comes what stands before the first cue.
    named = stem if _title_of(stem) or not _DAY_RE.search(folder) else folder
    start = text[:1000].partition("-->")[0]
    found = next(filter(None, map(_DAY_RE.search, (named, folder, start))), None)
    day = "-".join(found.groups()[:3]) if found else ""
    time = "T" + ":".join(part or "00" for part in found.groups()[3:]) if found and found[4] else ""
    title = _title_of(named)
    title = title if any(map(str.isalpha, title)) else f"Meeting {day}".strip()
    names = dict.fromkeys(who.replace(",", "") for who, _ in turns if who)
    speakers = tuple(who for who in names if not _NOBODY_RE.fullmatch(who))
    lines = [f"# {title}", *([f"Date: {day}"] if day else [])]
    lines += [f"Attendees: {', '.join(speakers)}"] if speakers else []
    # The minutes rules know `Decision: …` at the beginning of a line.
    ends = ((who, ":\n" if LABEL_RE.match(words) else ": ", words) for who, words in turns)
    lines += [f"{who}{end}{words}" if who else words for who, end, words in ends]
    at = f"{day}{time}{'Z' if time and 'GMT' in named else ''}"
    return ForeignMeeting(f"{folder}/{name}", title, "\n\n".join(lines), at, speakers)


def _title_of(named: str) -> str:
    """What a name says beside the date."""
    for pattern in (_NO_TITLE_RE, _DAY_RE, _NO_TITLE_RE):
        named = pattern.sub("", named)
    return " ".join(named.replace("_", " ").split()).strip(" -–.,()")
