"""Update the committed briefings for a few changed notes, without reading all notes.

The result is the same as that of `briefing_pages`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cortex.core.briefing.item_lines import page_path
from cortex.core.briefing.pages import (
    GENERATOR_VERSION,
    PAGE_KINDS,
    BriefingPage,
    ItemLine,
    parse_page,
    render_page,
)
from cortex.core.model.note_status import MAX_NOTE_BYTES
from cortex.core.model.problem import NotFoundError
from cortex.index.note_summary import summarize_note
from cortex.vault import files
from cortex.vault.git.page_branch import find_page_branch
from cortex.vault.layout import layout_of

# What lies elsewhere may be known to this clone alone, and then has no lines.
_SHARED_FOLDERS = ("records", "sessions")


def update_pages(
    root: str, before: Mapping[str, bytes | None]
) -> list[tuple[str, bytes, bytes]] | None:
    """Changed pages as (path, bytes now, bytes wanted). `before` has the changed notes with
    their earlier bytes. None when the pages alone do not tell: one is missing, edited, empty, or
    full, so that a line that leaves would make room for another."""
    layout, branch = layout_of(root), find_page_branch(root)
    changes: dict[BriefingPage, dict[str, tuple[ItemLine | None, ItemLine | None]]] = {}
    for path, was in before.items():
        now = files.read(root, path)
        size = max(len(now), len(was or b""))
        if size > MAX_NOTE_BYTES or not layout.is_in(path, *_SHARED_FOLDERS):
            return None
        old, new = _briefing_lines(path, was) if was is not None else {}, _briefing_lines(path, now)
        for page, id_ in {**old, **new}:
            pair = old.get((page, id_)), new.get((page, id_))
            if pair[0] != pair[1]:
                changes.setdefault(page, {})[id_] = pair
    found = []
    for page, changed in changes.items():
        if not branch.writes(page):
            continue
        try:
            held = files.read(root, layout.path(page_path(page)))
        except NotFoundError:
            return None
        told = parse_page(held.decode("utf-8", "replace"))
        is_ours = told.page == page and told.generator_version == GENERATOR_VERSION
        if not is_ours or render_page(page, told.items).encode() != held:
            return None
        items = {item.id: item for item in told.items}
        counts = Counter(item.section for item in told.items)
        sections = PAGE_KINDS[page.kind].sections
        full = {one.title for one in sections if one.limit == counts[one.title]}
        for id_, (was_line, line) in changed.items():
            moved = was_line and (
                line is None or (line.section, line.order) != (was_line.section, was_line.order)
            )
            if was_line and moved and was_line.section in full:
                return None
            items.pop(id_, None)
            if line:
                items[id_] = line
        if not told.items or not items:  # the index lists a page only while it has lines
            return None
        wanted = render_page(page, items.values()).encode("utf-8", "replace")
        if wanted != held:
            found.append((layout.path(page_path(page)), held, wanted))
    return found


def _briefing_lines(path: str, data: bytes) -> dict[tuple[BriefingPage, str], ItemLine]:
    return {(page, item.id): item for page, item in summarize_note(path, data, 0).briefing_items}
