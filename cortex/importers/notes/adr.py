"""Architecture decision records, as MADR (2 to 4) and Nygard's template write them.

What is said about a decision may stand in the frontmatter, in lines such as `* Status: accepted`, or
below `## Status`; other decisions are named by their numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from cortex.core.minutes.dates import first_date
from cortex.core.model.note_status import split_heading
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.text.lazy_re import lazy_re
from cortex.importers.archive import Archive, open_archive
from cortex.importers.item import ForeignItem, ForeignRecord

_MAX_BYTES = 4_000_000  # of a file
_FOLDERS = ("adr", "adrs", "decisions", "architecture", "doc", "docs")
_NAME_RE = lazy_re(r"(?i)(?:.*/)?(?:adr[-_ .]?)?(\d{4}-\d\d-\d\d|\d{2,5})[-_ .](?!.*template).*md$")
_SECTION_RE = lazy_re(
    r"(?im)^#{1,3}[ ](?:\d+\.[ ])?(?:status|decision|context|considered|consequences|problem)|^\W*status\W"
)
_PAIR_RE = lazy_re(
    r"[\s>*-]*\**([A-Za-z][A-Za-z _-]{2,24}?)\**[ ]*(?::\**|(?=\[|ADR[-_ ]?\d|0\d))[ \t]*(.*)"
)
_REF_RE = lazy_re(
    r"(?i)(?:[(\[/]|adr[-_ ]?|^|,[ ]*)(\d{4}-\d\d-\d\d(?=-)|(?!\d{4}-\d\d-\d\d)\d{1,5}(?!\d))"
)
_TITLE_RE = lazy_re(r"(?i)^(?:adr[-_ ]?)?[\d-]+\s*[.:–—-]?\s+|^adr[-_ ]?\d+[.:]?\s*")
_PART_RE = lazy_re(r"(?i)\b(?:in part|partly|partially|for|none|extends)\b")
_STATUS_BY_WORD = {
    "accepted": "", "approved": "", "adopted": "", "decided": "", "implemented": "", "active": "",
    "deprecated": "archived", "obsolete": "archived", "archived": "archived", "superseded": "superseded",
    "superceded": "superseded", "rejected": "rejected", "declined": "rejected", "proposed": "proposed",
}  # fmt: skip
_DECIDERS = ("deciders", "decision-makers", "decision makers", "decided by", "decision-maker")


def accepts(path: str) -> bool:
    """Whether a folder (or zip) holds decision records, or a file is one."""
    with open_archive(path) as archive:
        return any(_SECTION_RE.search(archive.read(name, 20_000)) for name in _names(archive))


def read(path: str) -> Iterator[ForeignItem]:
    """A decision for each record; what was rejected is a rejection."""
    folder = project = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path))
    while os.path.basename(project).lower() in _FOLDERS:
        project = os.path.dirname(project)
    # Every repository has its first decision: a key begins with the repository's name.
    root = os.path.relpath(folder, os.path.dirname(project)).replace(os.sep, "/")
    with open_archive(path) as archive:
        names = sorted(_names(archive))
        keys = {_place(name): f"{root}/{name}" for name in reversed(names)}
        if not names:
            hint = "name the folder of files such as 0001-use-postgres.md"
            raise InvalidInputError(f"{path} holds no decision records", hint)
        for name in names:
            with archive.open(name) as file:
                note = notes.read(file.read(_MAX_BYTES), name)
            if _SECTION_RE.search(note.text) or note.get("status"):
                record = _record(f"{root}/{name}", note, _place(name)[0], keys)
                yield record._replace(project=project)
            else:
                message = "it has no section Status, Context or Decision"
                yield Problem(name, message, "cortex import markdown takes it as a note")


def _names(archive: Archive) -> Iterator[str]:
    return (name for name in archive.names() if _NAME_RE.fullmatch(name))


def _place(name: str) -> tuple[str, str]:
    """The folder and the number of a record."""
    found = _NAME_RE.fullmatch(name)
    return name.rpartition("/")[0], found[1].lstrip("0") if found else ""


def _record(own: str, note: Note, folder: str, keys: dict[tuple[str, str], str]) -> ForeignRecord:
    heading, text = split_heading(note.text)
    said: dict[str, str] = {}
    relations: list[tuple[str, str]] = []
    for key, value in _pairs(note):
        said.setdefault(key, value)
        key = key.replace("-", " ")  # noqa: PLW2901
        refs = _REF_RE.findall(re.sub(r"https?://\S+", "", value))
        found = (keys.get((folder, ref.lstrip("0"))) for ref in refs)
        others = [other for other in dict.fromkeys(found) if other and other != own]
        if key.startswith("supersede") and _PART_RE.search(re.sub(r"\[[^\]]*\]", "", value)):
            key = "amends" if key == "supersedes" else "amended by"  # noqa: PLW2901
        kind = "relates_to" if key.startswith(("relat", "link", "see")) else key.replace(" ", "_")
        relations += [(kind, other) for other in others if key not in ("status", "date")]
    words = (re.findall(r"[a-z][a-z ]*", said.get("status", "").lower()) or [""])[0].split()
    word = words[0] if words and words[0] in _STATUS_BY_WORD else "-".join(words[:3])
    by = [other for kind, other in relations if kind == "superseded_by"]
    status = "superseded" if by else _STATUS_BY_WORD.get(word, word)
    is_rejected = status == "rejected"
    deciders = next((said[key] for key in _DECIDERS if said.get(key)), "")
    day = first_date(said.get("date", "")) or first_date(own.rpartition("/")[2][:14])
    return ForeignRecord(
        key=own, title=_TITLE_RE.sub("", note.get("title") or heading), body=text,
        type="rejection" if is_rejected else "decision", at=day,
        tags=note.get_list("tags"), status="" if is_rejected else status,
        attendees=tuple(one.strip(" *_") for one in re.split(r",|;| and ", deciders) if one.strip(" *_")),
        supersedes=tuple(other for kind, other in relations if kind == "supersedes"),
        superseded_by=by[-1] if by else "",
        relations=tuple(one for one in relations if not one[0].startswith("supersede")),
    )  # fmt: skip


def _pairs(note: Note) -> Iterator[tuple[str, str]]:
    """What is said about the decision: of the frontmatter, of the lines before the first section, and
    of the section Status."""
    for key in note.fields:
        yield from _pair(f"{key}: {', '.join(note.get_list(key))}")
    section = ""
    for line in re.sub(r"(?s)<!--.*?-->", "", note.text).splitlines():
        if line.startswith("## "):
            section = line.strip("# \t").lower()
        elif line.strip() and section in ("", "status"):
            pairs = [*_pair(line)]
            yield from pairs or ([("status", line)] if section else [])


def _pair(line: str) -> Iterator[tuple[str, str]]:
    """The key and the value of a line, and those within: `Status: superseded by ADR-5`."""
    if found := _PAIR_RE.match(line):
        key = found[1].lower().replace("_", " ").replace("superce", "superse")
        yield key, found[2].strip()
        if key == "status":
            yield from _pair(found[2])
        elif key == "superseded by" and re.search(r"\w", found[2]):
            yield "status", "" if _PART_RE.search(found[2]) else "superseded"
