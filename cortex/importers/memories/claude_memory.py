"""Claude Code's own memory: a file for each in `projects/*/memory`, and MEMORY.md, which lists them.
Of that only what stands in no file of its own is taken. Files change: each is a topic."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from functools import partial
from itertools import islice

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import short_hash, slugify
from cortex.importers.archive import Archive
from cortex.importers.item import ForeignItem, ForeignRecord, Row, items_of

_INDEX = "MEMORY.md"
_TYPES = {"user": "preference", "feedback": "preference", "project": "context"}
_LINK_RE = lazy_re(r"\[\[([^\[\]|#\n]+)")
_LISTED_RE = lazy_re(r"\]\(<?([^()<>\s]+\.md)>?\)")
_CWD_RE = lazy_re(r'"cwd":\s*"((?:[^"\\]|\\.)+)"')


def accepts(path: str) -> bool:
    """Whether a folder is such a memory, or holds some as `~/.claude` does."""
    return any(os.path.basename(folder) == "memory" for folder in _folders(path))


def read(path: str) -> Iterator[ForeignItem]:
    """A record for each file, and one for what stands in the index alone."""
    folders = _folders(path)
    if not folders:
        message = f"{path} holds no memory of Claude Code"
        raise InvalidInputError(message, "name a folder with MEMORY.md, or ~/.claude/projects")
    for folder in folders:
        rows = ({"id": name} for name in sorted(os.listdir(folder)) if name.endswith(".md"))
        name, archive = folder.split(os.sep)[-2], Archive(folder, None)
        yield from items_of(rows, partial(_record, archive, name, _project(folder)), name)
        yield from (one._replace(where=f"{name} {one.where}") for one in archive.problems)


def _folders(path: str) -> list[str]:
    start = glob.escape(os.path.abspath(path))
    inside = ("", "/memory", "/*/memory", "/projects/*/memory")
    indexes = (one for end in inside for one in sorted(glob.glob(f"{start}{end}/{_INDEX}")))
    folders = map(os.path.dirname, indexes)
    return [one for one in folders if not os.path.exists(f"{one}/raw_memories.md")]  # Codex's


def _project(folder: str) -> str:
    """The working directory that the transcripts beside it tell; else what names the folder."""
    above = os.path.dirname(folder)
    for transcript in sorted(glob.glob(f"{glob.escape(above)}/*.jsonl"))[:3]:
        with open(transcript, encoding="utf-8", errors="replace") as lines:
            for found in filter(None, map(_CWD_RE.search, islice(lines, 20))):
                return str(found[1])
    return os.path.basename(above).removeprefix(os.path.expanduser("~").replace("/", "-"))


def _record(archive: Archive, place: str, project: str, row: Row) -> ForeignRecord | None:
    folder, stem, note = archive.root, row["id"].removesuffix(".md"), archive.note(row["id"])
    told = note.fields | (meta if isinstance(meta := note.fields.get("metadata"), dict) else {})
    text, about = note.text.strip(), note.get("description")
    if row["id"] == _INDEX:
        here = {name.casefold() for name in os.listdir(folder)}
        listed = ((line, _LISTED_RE.search(line)) for line in text.splitlines())
        text = "\n".join(
            line for line, link in listed if not link or link[1].casefold() not in here
        )
        if not any(line.strip() and not line.startswith("#") for line in text.splitlines()):
            return None
    return ForeignRecord(
        f"{place}/{note.get('name') or stem}", note.get("name"),
        text if about in text else f"{about}\n\n{text}",
        _TYPES.get(str(told.get("type")), str(told.get("type") or "note")),
        at=os.stat(os.path.join(folder, row["id"])).st_mtime, updated=str(told.get("modified") or ""), project=project,
        session=str(told.get("originSessionId") or ""),
        topic=f"claude-memory/{short_hash(place)}/{slugify(stem, 80)}",
        relations=tuple(("references", f"{place}/{name.strip()}") for name in _LINK_RE.findall(text)),
    )  # fmt: skip
