"""A folder of basic-memory: each note is a record and a topic, named by its permalink. Its
observations stay in the text; its relations name other notes by title, permalink or path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from os.path import getmtime, isdir, join
from posixpath import dirname, relpath
from urllib.parse import quote

from cortex.core.model.problem import InvalidInputError
from cortex.core.notes.note import Note
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import short_hash, slugify
from cortex.importers.archive import Archive
from cortex.importers.item import ForeignItem, ForeignRecord, items_of, with_edges

_LINK_RE = lazy_re(r"\[\[([^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|([^\[\]\n]+))?\]\]")
_RELATION_RE = lazy_re(r"(?m)^[ \t]*[-*] ([^\[\]\n]{0,80}?) *\[\[([^\[\]|\n]+)")


def accepts(path: str) -> bool:
    """Whether at least half of the first twenty notes of a folder are such as it writes."""
    first = list(islice(_notes(Archive(path, None)), 20)) if isdir(path) else []
    own = [one for _, one in first if {"title", "type", "permalink"} <= set(one.fields)]
    return bool(own) and 2 * len(own) >= len(first)


def read(path: str) -> Iterator[ForeignItem]:
    """A record for each note, with its relations."""
    keys, archive = dict[str, str](), Archive(path, None)
    for name, note in _notes(archive):
        for called in (name.removesuffix(".md"), note.title, note.get("permalink")):
            keys.setdefault(called.casefold(), note.get("permalink") or name)
    if not keys:
        raise InvalidInputError(f"{path} holds no notes", "name the folder of a project")
    rows = (
        {"id": name, "note": note, "at": getmtime(join(path, name))}
        for name, note in _notes(archive)
    )
    yield from items_of(rows, lambda row: _record(keys, **row), "")
    yield from archive.problems


def _notes(archive: Archive) -> Iterator[tuple[str, Note]]:
    return ((name, archive.note(name)) for name in archive.names(".md"))


def _record(keys: dict[str, str], id: str, note: Note, at: float) -> ForeignRecord:
    key = note.get("permalink") or id

    def link(found: re.Match[str]) -> str:
        """A link to another note as one that leads from this one's key to that one's."""
        to = keys.get(found[1].strip().casefold(), "").removesuffix(".md")
        path = quote(relpath(f"{to}.md", dirname(key) or "."))
        return f"[{found[2] or found[1]}]({path})" if to else found[0]

    record = ForeignRecord(
        key, note.title or id, _LINK_RE.sub(link, note.text_below_title.strip()), note.get("type") or "note",
        note.get("created") or note.get("date") or at, note.get("modified") or note.get("updated"),
        topic=f"basic-memory/{slugify(key, 80)}-{short_hash(key)}", tags=note.get_list("tags"),
    )  # fmt: skip
    edges = ((kind or "relates_to", end.strip()) for kind, end in _RELATION_RE.findall(note.text))
    return with_edges(record, ((kind, keys.get(end.casefold(), "")) for kind, end in edges))
