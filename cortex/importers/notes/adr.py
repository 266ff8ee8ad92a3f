"""Architecture decision records, as MADR (2 to 4) and Nygard's template write them: with frontmatter,
lines such as `* Status: accepted`, or `## Status`. They name each other by number. One without a
date has that of the commit that added it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

from cortex.core.minutes.dates import first_date
from cortex.core.model.note_status import split_heading
from cortex.core.model.problem import CortexError, InvalidInputError
from cortex.core.notes.note import Note
from cortex.core.text.lazy_re import lazy_re
from cortex.importers.archive import open_archive
from cortex.importers.item import ForeignItem, ForeignRecord
from cortex.vault.git import git_cli

_Keys: TypeAlias = Mapping[tuple[str, str], str]  # folder, number or file (no first zeros) -> key
_GIT_SECONDS = 60.0
_FOLDERS = ("adr", "adrs", "decisions", "architecture", "doc", "docs")
_NAME_RE = lazy_re(r"(?i)(?:adr[-_ .]?)?(\d{4}-\d\d-\d\d|\d{8}|\d{2,5})[-_ .](?!template).*md")
_SECTION_RE = lazy_re(
    r"(?im)^#{1,3}[ ](?:\d+\.[ ])?(?:status|decision|decision outcome|considered options)[ :]*$"
)
_PAIR_RE = lazy_re(
    r"[\s>*|-]*+([A-Za-z][A-Za-z _-]{2,24}?)\**[ ]*(?:[:|]\**|(?=\[|ADR[-_ ]?\d|0\d))[ \t]*(.*)"
)
_REF_RE = lazy_re(
    r"(?i)(?:[(\[/]|adr[-_ ]?|^|,[ ]*)(\d{4}-\d\d-\d\d(?=-)|(?!\d{4}-\d\d-\d\d)\d{1,5}(?!\d))"
)
_TITLE_RE = lazy_re(r"(?i)^(?:adr[-_ ]?)?[\d-]+\s*[.:–—-]?\s+|^adr[-_ ]?\d+[.:]?\s*")
_FILE_RE = lazy_re(r"(?<![^()<>\[\]\s/#])[^()<>\[\]\s/#]+\.md(?!\w)")
_LABEL_RE = lazy_re(r"\[[^\[\]\n]*\]|https?://\S+")  # of a link
_PART_RE = lazy_re(r"(?i)\b(?:in part|partly|partially|for|none|extends)\b")
_DECIDERS = ("deciders", "decision-maker", "decision maker", "decided by")
_STATUS_BY_WORD = {
    "accepted": "", "approved": "", "adopted": "", "decided": "", "implemented": "", "active": "",
    "deprecated": "archived", "obsolete": "archived", "archived": "archived", "superseded": "superseded",
    "superceded": "superseded", "rejected": "rejected", "declined": "rejected", "proposed": "proposed",
}  # fmt: skip


def accepts(path: str) -> bool:
    """Whether a folder (or zip) holds decision records, or a file is one."""
    with open_archive(path) as archive:
        names = filter(_number, archive.names())
        return any(_SECTION_RE.search(archive.read(name, 20_000)) for name in names)


def read(path: str) -> Iterator[ForeignItem]:
    """A decision for each record; what was rejected is a rejection."""
    folder = project = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path))
    while os.path.basename(project).lower() in _FOLDERS:
        project = os.path.dirname(project)
    # Every repository has its first decision: a key begins with the repository's name.
    root = os.path.relpath(folder, os.path.dirname(project)).replace(os.sep, "/")
    days = _first_days(folder)
    with open_archive(path) as archive:
        names = sorted(filter(_number, archive.names()))
        keys = {_place(name): f"{root}/{name}" for name in reversed(names)}
        for name in names:
            folder_in, _, file = name.rpartition("/")
            keys[folder_in, file.lstrip("0")] = f"{root}/{name}"
        if not names:
            hint = "name the folder of files such as 0001-use-postgres.md"
            raise InvalidInputError(f"{path} holds no decision records", hint)
        for name in names:
            note = archive.note(name)
            if _SECTION_RE.search(note.text) or any(key == "status" for key, _ in _pairs(note)):
                record = _record(f"{root}/{name}", note, _place(name)[0], keys)
                file = os.path.join(folder, name)
                changed = os.stat(file).st_mtime if os.path.exists(file) else None
                at = record.at or days.get(name) or changed
                yield record._replace(project=project, at=at)
        yield from archive.problems


def _first_days(folder: str) -> dict[str, str]:
    """When files of a folder first came into its repository, by their paths today; of none outside."""
    words = ["log", "--reverse", "-M", "--diff-filter=AR", "--name-status", "--relative"]
    words += ["--format=%aI", "--", "."]
    days, day, log = dict[str, str](), "", b""
    with suppress(CortexError):  # no git, or a long history: the files themselves have a date
        log = git_cli.run_unchecked(folder, words, timeout=_GIT_SECONDS).stdout
    for line in log.decode("utf-8", "replace").splitlines():
        kind, *paths = line.split("\t")
        day = day if paths else kind or day
        for path in paths[-1:]:
            days[path] = days.get(paths[0]) or day if kind.startswith("R") else day
    return days


def _place(name: str) -> tuple[str, str]:
    """The folder and the number of a record."""
    return name.rpartition("/")[0], _number(name).lstrip("0")


def _number(name: str) -> str:
    """The number or the day with which a file's name begins; empty where it is no record's."""
    found = _NAME_RE.fullmatch(name.rpartition("/")[2])
    return found[1] if found else ""


def _record(own: str, note: Note, folder: str, keys: _Keys) -> ForeignRecord:
    heading, text = split_heading(note.text)
    said: dict[str, str] = {}
    relations: list[tuple[str, str]] = []
    for key, value in _pairs(note):
        said.setdefault(key, value)
        kind = key.replace("-", "_").replace(" ", "_")
        if kind.startswith("supersede") and _PART_RE.search(_LABEL_RE.sub("", value)):
            kind = "amends" if kind == "supersedes" else "amended_by"
        kind = "relates_to" if kind.startswith(("relat", "link", "see")) else kind
        told = re.sub(r"https?://\S+", "", value)
        linked = [one for one in _FILE_RE.findall(told) if (folder, one.lstrip("0")) in keys]
        refs = linked or _REF_RE.findall(told)
        found = dict.fromkeys(keys.get((folder, ref.lstrip("0")), own) for ref in refs)
        relations += [(kind, one) for one in found if one != own and kind not in ("status", "date")]
    name = own.rpartition("/")[2]
    day = number if len(number := _number(name)) == len("20200924") else ""
    words = (re.findall(r"[a-z][a-z ]*", said.get("status", "").lower()) or [""])[0].split()
    word = words[0] if words and words[0] in _STATUS_BY_WORD else "-".join(words[:3])
    by = [one for kind, one in relations if kind == "superseded_by"]
    status = "superseded" if by else _STATUS_BY_WORD.get(word, word)
    deciders = next((value for key, value in said.items() if key.startswith(_DECIDERS)), "")
    people = (one.strip(" *_") for one in re.split(r",|;| and ", deciders))
    return ForeignRecord(
        key=own, title=_TITLE_RE.sub("", note.get("title") or heading), body=text,
        type="rejection" if status == "rejected" else "decision", tags=note.get_list("tags"),
        at=first_date(said.get("date", "")) or first_date(name[:14]) or day,
        status=status if status != "rejected" else "", attendees=tuple(filter(None, people)),
        supersedes=tuple(one for kind, one in relations if kind == "supersedes"),
        superseded_by=by[-1] if by else "",
        relations=tuple(one for one in relations if not one[0].startswith("supersede")),
    )  # fmt: skip


def _pairs(note: Note) -> Iterator[tuple[str, str]]:
    """What is said about the decision: of the frontmatter, of the lines before the first section, and
    of the section Status."""
    for key in note.fields:
        yield from _pair(f"{key}: {', '.join(note.get_list(key))}")
    section = ""
    for line in re.sub(r"(?s)<!--.*?(?:-->|\Z)", "", note.text).splitlines():
        if line.startswith("## "):
            section = line.strip("# \t").lower()
        elif line.strip() and section in ("", "status"):
            yield from [*_pair(line)] or ([("status", line)] if section else [])


def _pair(line: str) -> Iterator[tuple[str, str]]:
    """The key and the value of a line, and those within: `Status: superseded by ADR-5`."""
    if found := _PAIR_RE.match(line):
        key = found[1].lower().replace("_", " ").replace("superce", "superse")
        yield key, found[2].strip(" |")
        if key == "status" and not found[2].lower().startswith("status"):
            yield from _pair(found[2])
        elif key == "superseded by" and re.search(r"\w", found[2]):
            yield "status", "" if _PART_RE.search(found[2]) else "superseded"
