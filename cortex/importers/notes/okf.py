"""A bundle in the Open Knowledge Format (0.1, 0.2): a concept a file, with `type` in its frontmatter. A
link to a concept becomes a relation, a source that is a concept what it is derived from."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator
from itertools import islice
from posixpath import dirname, normpath, relpath
from urllib.parse import quote, unquote

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.notes.note import Note
from cortex.core.notes.relations import iter_relations, parse_link_target
from cortex.core.notes.yaml_subset import FieldValue
from cortex.core.text.lazy_re import lazy_re
from cortex.importers.archive import Archive, open_archive
from cortex.importers.item import ForeignItem, ForeignRecord

_LINK_RE = lazy_re(r"(?<!!)(\[[^\[\]\n]*\]\()<?([^()<>#\n:]+?\.md)(#[^()<>\n]*)?>?\)")
_STATUS = {"stable": "", "deprecated": "archived"}


def accepts(path: str) -> bool:
    """Whether a folder or zip has an index, and each of its first files a type."""
    with open_archive(path) as archive:
        first = [archive.note(name) for name in islice(_names(archive), 8)]
        is_typed = bool(first) and all(note.get("type") for note in first)
        return is_typed and archive.find("index.md") == "index.md"


def read(path: str) -> Iterator[ForeignItem]:
    """A record for each concept; indexes and logs, which list them, are left out."""
    root = os.path.basename(os.path.abspath(path)).removesuffix(".zip")
    with open_archive(path) as archive:
        if not (names := dict.fromkeys(_names(archive))):
            raise InvalidInputError(f"{path} holds no concepts", "name the folder of a bundle")
        for name in names:
            if (note := archive.note(name)).get("type"):
                yield _record(root, name, note, names)
            else:
                yield Problem(name, "it has no type, which a concept needs", "write type: Note")
        yield from archive.problems


def _names(archive: Archive) -> Iterator[str]:
    return (one for one in archive.names(".md") if not f"/{one}".endswith(("/index.md", "/log.md")))


def _record(root: str, name: str, note: Note, known: Container[str]) -> ForeignRecord:
    def key(link: str) -> str:
        """Of a concept that is linked to, from this one or from the bundle's folder; else empty."""
        path = unquote(parse_link_target(link)).lstrip("/")
        near = normpath(f"{dirname(name)}/{path}").lstrip("/") if link[0] != "/" else path
        found = (one for start in (near, path) for one in (start, f"{start}.md") if one in known)
        return next((f"{root}/{one}" for one in found), "")

    def keys(value: FieldValue) -> tuple[str, ...]:
        found = value if isinstance(value, list) else [value]
        links = (one.get("resource") if isinstance(one, dict) else one for one in found)
        return tuple(filter(None, (key(one) for one in links if isinstance(one, str) and one)))

    def near_link(found: re.Match[str]) -> str:
        if not (to := key(found[2])):
            return found[0]
        return f"{found[1]}{quote(relpath(to, dirname(f'{root}/{name}')))}{found[3] or ''})"

    fields, status, text = note.fields, note.get("status"), note.text_below_title
    made, about = fields.get("generated"), note.get("description")
    at = made.get("at") if isinstance(made, dict) else note.get("timestamp") or note.get("created")
    said = [*iter_relations(fields.get("relations"))]
    said += [("relates_to", link) for _, link, _ in _LINK_RE.findall(text)]
    told = _LINK_RE.sub(near_link, text).strip("\n")
    parts = ["" if about in text else about, told, note.get("resource")]
    return ForeignRecord(
        key=f"{root}/{name}", title=note.title or name.rpartition("/")[2].removesuffix(".md"),
        body="\n\n".join(filter(None, parts)), type=note.get("type"), project=note.get("project"),
        at=at if isinstance(at, str) else "", updated=note.get("updated"), tags=note.get_list("tags"),
        status=_STATUS.get(status, status), owner=note.get("owner"), due=note.get("due"),
        supersedes=keys(fields.get("supersedes")), derived_from=keys(fields.get("sources")),
        superseded_by="".join(keys(fields.get("superseded_by"))[:1]),
        relations=tuple(dict.fromkeys((kind, key) for kind, link in said for key in keys(link))),
    )  # fmt: skip
