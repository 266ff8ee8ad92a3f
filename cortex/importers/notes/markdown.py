"""A folder of notes in markdown, such as a vault of Obsidian: each with its path and every byte, so
that links go on. Hidden files and templates are left out, and pictures, which no text can hold."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from os.path import basename, splitext

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import format_count, shell_quote
from cortex.importers.archive import open_archive
from cortex.importers.item import ForeignFile, ForeignItem
from cortex.vault.foreign_settings import template_folders

_EMBED_RE = lazy_re(r"!\[\[([^\[\]|#\n]+)|!\[[^\[\]\n]*\]\(<?([^()<>\n]+?)>?(?:[ ]\"[^\"\n]*\")?\)")
_TEMPLATES_RE = lazy_re(r"(?i)(?:.*/)?_?templates?/.*")


def accepts(path: str) -> bool:
    """Whether a folder or zip holds notes."""
    with open_archive(path) as archive:
        return not path.endswith(".md") and any(archive.names(".md"))


def read(path: str) -> Iterator[ForeignItem]:
    """Each note, below `notes/` and the folder's name; last problems that count what is left out."""
    folder = os.path.abspath(os.path.dirname(path) if path.endswith(".md") else path)
    root = basename(folder).removesuffix(".zip").lstrip(".") or "imported"
    templates, embedded = template_folders(path), set[str]()
    with open_archive(path) as archive:
        names = [name for name in archive.names(".md") if "/." not in f"/{name}"]
        if not names:
            raise InvalidInputError(f"{path} holds no notes", "name a folder with .md files")
        for name in names:
            if name.startswith(templates) or _TEMPLATES_RE.fullmatch(name):
                continue
            text = archive.read(name, with_mark=True)
            embedded |= {one.strip() for pair in _EMBED_RE.findall(text) for one in pair}
            yield ForeignFile(f"{root}/{name}", f"notes/{root}/{name}", text)
        links = dict.fromkeys(archive.names(links=True))
        others = [*(one for one in archive.names() if not one.endswith(".md")), *links]
        yield from archive.problems
    embedded = {one for one in embedded if "." in one[-6:] and "://" not in one}
    if some := sorted(one for one in embedded if not one.endswith((".md", ".canvas", ".base"))):
        source, target = shell_quote(f"{folder}/"), shell_quote(f"notes/{root}/")
        yield Problem(
            some[0] if len(some) == 1 else f"{some[0]} and {len(some) - 1} more",
            f"{format_count(len(some), 'attachment')} of these notes cannot be imported",
            f"copy them, in the vault: rsync -a --exclude='*.md' --exclude='.*' {source} {target}",
        )
    named = {basename(one) for one in some}
    others = [one for one in others if "/." not in f"/{one}" and basename(one) not in named]
    kinds = Counter("link" if one in links else f"{splitext(one)[1]} file" for one in others)
    if what := ", ".join(format_count(count, kind) for kind, count in sorted(kinds.items())):
        yield Problem(path, f"left out: {what}, such as {others[0]}")
