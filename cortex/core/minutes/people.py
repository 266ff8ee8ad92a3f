"""The people of a meeting: attendees as the minutes name them, and the names they answer to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cortex.core.minutes.cues import NOBODY_RE, fold, regex_of, words_of
from cortex.core.minutes.task_parser import CHECKBOX_RE, NAME_SEPARATOR_RE, NameSet

_LINK_RE = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]|!?\[([^\[\]]*)\]\([^()]*\)")
_LEADING_INITIALS_RE = re.compile(r"^[(\[]([A-Z]{1,4})[)\]][ \t]+(.+)$")  # `[AB] Ana Bell`
_HANDLE_RE = re.compile(r"@([A-Za-z0-9][\w.-]{0,38})")
_PARENTHESIS_RE = re.compile(r"\(([^()]{0,80})\)|<[^<>]{0,80}>")
_SUFFIX_RE = re.compile(r"(?s)[ ](?:[–—-]+|from|aus|chez|bei)[ ].*|[ ]?\|.*")
_ROLES = words_of("roles")
_ME = ("me", "ich", "moi", "yo", "io", "eu", "ik")
_WORD_RE = re.compile(r"@?[^\W_][\w'’.·-]{0,38}")
_NO_NAME_RE, _NO_CELL_RE = regex_of("no name"), regex_of("no cells")
_PARTICLE_WORDS = "van von de den der del da di la le el dos das du ten zu al bin ter mac"
_PARTICLES = frozenset(_PARTICLE_WORDS.split())


def parse_attendee(text: str) -> tuple[str, tuple[str, ...]]:
    """The name (empty for none) in an entry of a list of attendees, and its handle and initials."""
    text = _LINK_RE.sub(lambda link: link[1] or link[2], CHECKBOX_RE.sub("", text))
    text = _LEADING_INITIALS_RE.sub(r"\2 (\1)", text)
    handles = _HANDLE_RE.findall(text)
    inside = [part for part in _PARENTHESIS_RE.findall(text) if part]
    plain = _PARENTHESIS_RE.sub(" ", text)
    named = _HANDLE_RE.sub(" ", plain)
    plain = named if len(named.strip(" *_-–—`.:")) > 1 else plain
    plain = _SUFFIX_RE.sub("", " ".join(plain.split()).strip(" *_`\"'[]:;,-–—"))
    head, colon, tail = plain.partition(":")
    is_role = colon and head.strip().casefold() in _ROLES
    name = (tail if is_role else head).strip(" *_`\"'[]:;@()")
    name = re.sub(r"(?<!\s[A-Z])\.$", "", name)  # but for `Ana B.`
    if name.casefold() in _ME and inside:
        name = inside[0].strip()
    if not _is_name(name):
        return "", ()
    short = [part for part in inside if re.fullmatch(r"[A-Z][A-Za-z]{1,3}", part)]
    return name, tuple(dict.fromkeys((*handles, *short)))


def _is_name(text: str) -> bool:
    words = text.split()
    if not 0 < len(words) <= 5 or len(text) > 60 or _NO_NAME_RE.search(text):
        return False
    if NOBODY_RE.match(text) or not all(_WORD_RE.fullmatch(word) for word in words):
        return False
    lower = [word for word in words if word[0].islower() and word not in _PARTICLES]
    return not lower or len(words) <= 2


def split_names(text: str) -> list[str]:
    """The entries of a line such as `Anna (remote), Bob and Chris`, but for commas in brackets."""
    if re.fullmatch(r"(?:@[\w.-]+[ ]*)+", text.strip()):
        return _HANDLE_RE.findall(text)
    held: list[str] = []

    def hide(match: re.Match[str]) -> str:
        held.append(match[0])
        return f"\0{len(held) - 1}\0"

    hidden = re.sub(r"\([^()]*\)|\[[^\[\]]*\](?:\([^()]*\))?", hide, text)
    parts = [part for part in NAME_SEPARATOR_RE.split(hidden) if part.strip()]
    return [re.sub(r"\0(\d+)\0", lambda mark: held[int(mark[1])], part) for part in parts]


def names_in_list(texts: Sequence[str]) -> list[str]:
    """The entries of a list's items: one each, affiliation behind a comma, or several."""
    boxes = [CHECKBOX_RE.match(text) for text in texts]
    if len({box[1] == " " for box in boxes if box}) == 2:  # who was not there is not ticked
        texts = [text for text, box in zip(texts, boxes, strict=True) if not box or box[1] != " "]
    commas = [_PARENTHESIS_RE.sub("", text).count(",") for text in texts]
    if len(texts) > 2 and sum(count == 1 for count in commas) > len(texts) / 2:
        return [text.split(",")[0] for text in texts]
    groups = (text.partition(":") for text in texts)  # `Voting members: Ana, Bob`
    return [
        entry
        for text, (_, _, tail) in zip(texts, groups, strict=True)
        for entry in split_names(tail if "," in tail else text)
    ]


def names_in_table(rows: Sequence[Sequence[str]], columns: dict[str, int]) -> list[str]:
    """The entries of a table of people, with the initials and handles of other columns in brackets;
    without those of whom a column says that they are absent."""
    entries = []
    for cells in rows:
        row = {kind: cells[at] for kind, at in columns.items() if at < len(cells)}
        if not _NO_CELL_RE.match(fold(row.get("here", ""))):
            alias = row.get("alias")
            entries.append(row.get("name", cells[0]) + (f" ({alias})" if alias else ""))
    return entries


def roster_names(attendees: Iterable[tuple[str, Sequence[str]]], text: str) -> NameSet:
    """Every name, in lowercase but for initials, by which the attendees (with their aliases) may be called: parts of
    their names, handles, initials."""
    names: set[str] = set()
    said = set(re.findall(r"\w+", text))
    for name, aliases in attendees:
        words = [word for word in re.split(r"[\s.]+", name) if word]
        names |= {name.casefold()}
        names |= {alias if alias.isupper() else alias.casefold() for alias in aliases}
        names |= {word.casefold() for word in words if len(word) > 2 and word[0].isalpha()}
        if len(words) > 1:
            last = words[-1][0]
            names |= {f"{words[0]}{last}".casefold(), f"{words[0]} {last}".casefold()}
            # In capitals, as `it` and `is` are no people.
            initials = {"".join(part[0] for part in re.split(r"[\s.-]+", name) if part)}
            initials.add("".join(word[0] for word in words))
            names |= initials & said
    return frozenset(names - _PARTICLES - {"frau", "herr", "mr", "mrs", "dr", "the"})
