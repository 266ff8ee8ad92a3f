"""The committed briefings as the notes give them now, beside those that lie in the vault."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cortex.core.briefing import FOLDER, GENERATOR, KINDS, Item, Page, read, render
from cortex.core.items import index_items, page_path
from cortex.core.problem import NotFound
from cortex.core.text import short_hash
from cortex.projections.catalogue import Catalogue
from cortex.vault import files


class Difference(NamedTuple):
    """A page that is not as the notes give it."""

    path: str
    held: bytes | None  # what lies there; None when nothing does
    wanted: bytes | None  # None when nothing should
    newer: bool = False  # a newer program made what lies there; it stays


def pages(root: str, catalogue: Catalogue, there: Iterable[str]) -> dict[str, bytes]:
    """Every page by its path, of a vault in which the notes `there` lie. A project that has any line has all its pages,
    so that a page which becomes empty is changed and not deleted: git calls no merge driver for a deletion."""
    by_page: dict[Page, dict[str, Item]] = {}
    for page, item, path in catalogue.items():
        held = by_page.setdefault(Page(*page), {})
        key = item[0] if item[0] not in held else f"{item[0]}.{short_hash(os.fsdecode(path), 4)}"  # two notes with one id
        held[key] = Item(key, *item[1:])
    if unread := catalogue.unread():
        for page, item in _lines_of(root, {os.path.basename(path).removesuffix(".md") for path in unread}, there):
            by_page.setdefault(page, {}).setdefault(item.id, item)
    for project in {page.project for page in by_page}:
        for kind in KINDS:
            if kind not in ("branch", "index"):
                by_page.setdefault(Page(kind, project), {})
    if by_page:
        by_page[Page("index")] = {item.id: item for item in index_items(list(by_page))}
    # Two names that fold into one file name (`B` and `b-<hash of B>`, written by hand) share its page, in a fixed order.
    return {page_path(page): render(page, by_page[page].values()).encode("utf-8", "replace") for page in sorted(by_page, reverse=True)}


def _lines_of(root: str, ids: set[str], there: Iterable[str]) -> Iterator[tuple[Page, Item]]:
    """The lines that the pages hold of these notes now: who cannot read a note must not take its lines away."""
    for path in there:
        if path.startswith(f"{FOLDER}/"):
            told = read(files.read(root, path).decode("utf-8", "replace"))
            yield from ((told.page, item) for item in told.items if told.page and told.page.kind != "index" and item.id in ids)


def differences(root: str, wanted: dict[str, bytes], there: Iterable[str]) -> list[Difference]:
    """What has to be written or removed so that the briefings are as `wanted`. `there` are the notes that lie in the
    vault; what a person has put among the briefings stays."""
    found = []
    for path in sorted({*wanted, *(path for path in there if path.startswith(f"{FOLDER}/"))}):
        try:
            held = files.read(root, path)
        except NotFound:
            held = None
        if held == wanted.get(path):
            continue
        told = read(held[:4096].decode("utf-8", "replace")) if held is not None else None
        if path not in wanted and not (told and told.generator and told.page):
            continue
        found.append(Difference(path, held, wanted.get(path), newer=told is not None and told.generator > GENERATOR))
    return found
