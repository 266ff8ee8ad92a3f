"""What was said in meetings: WebVTT (Teams, Zoom), SRT, and the texts that Zoom and Otter save.

Each file is a meeting. Whoever speaks several times in a row is named once; times and the numbers of
cues are dropped. Of Zoom's chat, what is for one person alone is left out.
"""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from cortex.core.minutes.cues import LABEL_RE
from cortex.core.model.note_status import UTF16_BOMS, decode_text
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line
from cortex.importers.archive import Archive, open_archive
from cortex.importers.item import ForeignItem, ForeignMeeting

_START_BYTES = 8_000  # of a file, which show what it is
_MAX_PARAGRAPH = 1_000  # characters of what nobody is named for
_CUE_RE = lazy_re(r"^\s*(?:\d+:)?\d\d?:\d\d[.,]\d{1,3}\s+-->\s")
_VOICE_RE = lazy_re(r"<v(?:\.[^\s<>]*)?\s+([^<>]+)>")
_TAG_RE = lazy_re(r"</?(?:[cibuv]|ruby|rt|lang|font)\b[^<>]*>|<[\d:.]+>")
_PREFIX_RE = lazy_re(r"\[?([^\W_][^:<>\[\]\n]{0,58})\]?:[ \t]+(?=\S)")
_NOBODY_RE = lazy_re(r"(?i)(?:unknown )?speaker[ _]?\d*")
# The line that names who speaks: of Zoom's captions, of its chat (saved, of the cloud), of Otter.
_HEAD_RES = (
    lazy_re(r"\[(?P<who>[^\]\n]{1,80})\]\s+\d\d?:\d\d:\d\d(?: [AP]M)?\s*$"),
    lazy_re(
        r"\d\d:\d\d:\d\d\s+From\s+(?P<who>.{1,80}?)\s*(?:\s(?i:to)\s(?P<to>[^:]{1,80}))?:(?P<text>.*)$"
    ),
    lazy_re(r"\d\d:\d\d:\d\d\t(?P<who>[^\t]{1,80}):\t(?P<text>.*)$"),
    lazy_re(r"(?P<who>[^\W_].{0,60}?)?[ ]{2,}(?:\d+:)?\d?\d:\d\d[ ]*$"),
)
_DAY_RE = lazy_re(
    r"(?<!\d)(20\d\d)[-._]?([01]\d)[-._]?([0-3]\d)"
    r"(?:[-T_ ](?:at )?(\d\d)[.:_h-]?(\d\d)(?:[.:_m-]?(\d\d))?s?)?(?!\d)"
)
_NO_TITLE_RE = lazy_re(
    r"(?i)\bGMT(?=\d)|[ _]otter[._ ]ai\b|\.(?:transcript|cc|[a-z]{2}(?:-[a-z]{2})?)$|[ ]\d{9,12}$"
    r"|(?:[ _-]*(?<![^\W_])(?:meeting|saved|new|closed|recording|transcript|captions?|chat)(?![^\W_]))+"
    r"(?:[ _]?\d+x\d+)?$"
)


def accepts(path: str) -> bool:
    """Whether it is a transcript, or a folder or zip with transcripts and without notes."""
    with open_archive(path) as archive:
        if any(name.endswith((".md", ".json")) for name in archive.names()):
            return False
        return any(_form_of(_decode(archive, name, _START_BYTES)) for name in _names(archive))


def read(path: str) -> Iterator[ForeignItem]:
    """A meeting for each transcript. `InvalidInputError` if a file is none."""
    with open_archive(path) as archive:
        for name in _names(archive):
            text = _decode(archive, name)
            form = _form_of(text[:_START_BYTES])
            if turns := list(_turns(text, form)) if form else []:
                yield _meeting(name, path, text, turns)
            elif path.endswith(name):
                raise InvalidInputError(f"{path} is no transcript", "cortex capture --type meeting")
            elif form or not name.endswith(".txt"):
                yield Problem(name, "nothing that was said is found", "open it: is it empty?")


def _names(archive: Archive) -> Iterator[str]:
    return (one for one in archive.names() if one.lower().endswith((".vtt", ".srt", ".txt")))


def _decode(archive: Archive, name: str, most: int = 64_000_000) -> str:
    with archive.open(name) as file:
        data = file.read(most)
    try:
        return decode_text(data) if data.startswith(UTF16_BOMS) else data.decode("utf-8-sig")
    except UnicodeDecodeError:  # as programs for Windows write subtitles
        return data.decode("cp1252", "replace")


def _form_of(start: str) -> re.Pattern[str] | None:
    """What its lines of times are like; None if it is no transcript."""
    lines = start.splitlines()
    for form in (_CUE_RE, *_HEAD_RES):
        # A line as of Otter stands in many a text.
        if sum(map(bool, map(form.match, lines))) > (form is _HEAD_RES[-1]):
            return form
    return None


def _turns(text: str, form: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Who says what, in order; the name is empty where none is given."""
    said = list(_cues(text) if form is _CUE_RE else _spoken(text, form))
    if form is _CUE_RE and not any(who for who, _ in said):
        said = _split_names([words for _, words in said])
    is_named = any(who for who, _ in said)
    last, words = "", list[str]()
    for who, some in said:
        is_long = not is_named and sum(map(len, words)) > _MAX_PARAGRAPH and words[-1][-1] in ".?!"
        if words and (is_long or who not in ("", last)):
            yield last, " ".join(words)
            words = []
        last, words = who or last, words + ([some] if some else [])
    if words:
        yield last, " ".join(words)


def _split_names(cues: Sequence[str]) -> list[tuple[str, str]]:
    """Who says what, where cues are `Ana Bell: words`; nobody, where they are sentences."""
    found = [_PREFIX_RE.match(words) for words in cues]
    counts = Counter(one[1] for one in found if one)
    if counts.total() * 2 < len(cues):
        return [("", words) for words in cues]
    return [
        (one[1].strip(), words[one.end() :])
        if one and (counts[one[1]] > 1 or one[1].istitle())
        else ("", words)
        for one, words in zip(found, cues, strict=True)
    ]


def _cues(text: str) -> Iterator[tuple[str, str]]:
    """Voice and words of each cue; of several voices in one, each."""
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.split("\n")
        at = next((at for at, line in enumerate(lines[:3]) if _CUE_RE.match(line)), len(lines))
        first, *voiced = _VOICE_RE.split("\n".join(lines[at + 1 :]))
        yield from [("", _plain(first))] if _plain(first) else []
        yield from zip(map(_plain, voiced[::2]), map(_plain, voiced[1::2]), strict=True)


def _spoken(text: str, form: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Who is named by each line of the form, and each line of what is said below it."""
    is_public = False
    for line in text.splitlines():
        if found := form.match(line):
            parts = {name: part or "" for name, part in found.groupdict().items()}
            is_public = not re.search(r"(?i)\((?:direct message|privately)\)", parts.get("to", ""))
            if is_public:
                yield _plain(parts["who"]), _plain(parts.get("text", ""))
        elif is_public and line.strip() and not line.startswith("Transcribed by https://"):
            yield "", _plain(line)


def _plain(text: str) -> str:
    return one_line(html.unescape(_TAG_RE.sub("", text)))


def _meeting(name: str, path: str, text: str, turns: Sequence[tuple[str, str]]) -> ForeignMeeting:
    whole = os.path.join(path, name) if os.path.isdir(path) else os.path.abspath(path)
    key = "/".join(whole.split(os.sep)[-2:])  # other folders have a chat.txt, too
    named, stem = key.partition("/")[0], name.rpartition("/")[2].rpartition(".")[0]
    if _title_of(stem) or not _DAY_RE.search(named):  # else Zoom's folder says title and date
        named = stem
    # Behind the name comes what a file says before its first cue.
    found = _DAY_RE.search(named) or _DAY_RE.search(text[:1000].partition("-->")[0])
    day = "-".join(found.groups()[:3]) if found else ""
    time = "T" + ":".join(part or "00" for part in found.groups()[3:]) if found and found[4] else ""
    title = _title_of(named)
    title = title if any(map(str.isalpha, title)) else f"Meeting {day}".strip()
    names = dict.fromkeys(who.replace(",", "") for who, _ in turns if who)
    speakers = tuple(who for who in names if not _NOBODY_RE.fullmatch(who))
    head = [f"# {title}", f"Date: {day}" if day else ""]
    head += [f"Attendees: {', '.join(speakers)}" if speakers else ""]
    # The minutes rules know `Decision: …` at the beginning of a line.
    ends = ((who, "\n" if LABEL_RE.match(words) else " ", words) for who, words in turns)
    body = (f"{who}:{end}{words}" if who else words for who, end, words in ends)
    at = f"{day}{time}{'Z' if time and 'GMT' in named else ''}"
    return ForeignMeeting(key, title, "\n\n".join(filter(None, [*head, *body])), at, speakers)


def _title_of(named: str) -> str:
    """What a name says beside the date."""
    for pattern in (_NO_TITLE_RE, _DAY_RE, _NO_TITLE_RE):
        named = pattern.sub("", named)
    return " ".join(named.replace("_", " ").split()).strip(" -–.,()")
