"""Update the committed briefings for a few changed notes, without reading all notes.

The result is the same as that of `briefing_pages`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cortex.core.briefing.item_lines import page_path
from cortex.core.briefing.pages import (
    PAGE_KINDS,
    BriefingPage,
    ItemLine,
    block_key,
    parse_page,
    render_page,
)
from cortex.core.model.note_status import MAX_NOTE_BYTES
from cortex.core.model.problem import NotFoundError
from cortex.index.note_summary import summarize_note
from cortex.vault import files, settings
from cortex.vault.git import work_tree
from cortex.vault.git.page_branch import find_page_branch
from cortex.vault.layout import layout_of

# What lies elsewhere may be known to this clone alone, and then has no lines.
_SHARED_FOLDERS = ("records", "sessions")


def plan_page_updates(
    root: str, before: Mapping[str, bytes | None]
) -> list[tuple[str, bytes, bytes]] | None:
    """Pages to rewrite, as (path, current bytes, new bytes). `before` has the changed notes with
    their earlier bytes. None if the pages have to be made from all notes: one is missing, edited or
    empty, or a line leaves a full section, where another note's line would take its place."""
    layout, branch, said = layout_of(root), find_page_branch(root), settings.load_cached(root)
    is_flat = said.form.is_flat
    changes: dict[BriefingPage, dict[str, tuple[ItemLine | None, ItemLine | None]]] = {}
    for path, old_data in before.items():
        new_data = files.read(root, path)
        size = max(len(new_data), len(old_data or b""))
        if size > MAX_NOTE_BYTES or not layout.is_in(path, *_SHARED_FOLDERS):
            return None
        old = _briefing_lines(path, old_data, said) if old_data is not None else {}
        new = _briefing_lines(path, new_data, said)
        for page, id_ in {**old, **new}:
            pair = old.get((page, id_)), new.get((page, id_))
            if pair[0] != pair[1]:
                changes.setdefault(page, {})[id_] = pair
    updates = []
    is_whole = not (changes and work_tree.list_skipped(root))
    for page, changed in changes.items():
        if not is_whole or not branch.writes(page):
            continue
        try:
            page_bytes = files.read(root, layout.path(page_path(page)))
        except NotFoundError:
            return None
        parsed = parse_page(page_bytes.decode("utf-8", "replace"))
        is_ours = parsed.page == page and parsed.is_flat == is_flat
        if not is_ours or render_page(page, parsed.items, is_flat=is_flat).encode() != page_bytes:
            return None
        items = {item.id: item for item in parsed.items}
        counts = Counter(item.section for item in parsed.items)
        sections = PAGE_KINDS[page.kind].sections
        full = {section.title for section in sections if section.limit == counts[section.title]}
        for whole_id, (old_line, line) in changed.items():
            id_ = block_key(whole_id) if is_flat else whole_id
            is_moved = old_line and (
                line is None or (line.section, line.order) != (old_line.section, old_line.order)
            )
            if old_line and is_moved and old_line.section in full:
                return None
            items.pop(id_, None)
            if line:
                items[id_] = line
        if not parsed.items or not items:  # the index lists a page only while it has lines
            return None
        new_bytes = render_page(page, items.values(), is_flat=is_flat).encode("utf-8", "replace")
        if new_bytes != page_bytes:
            updates.append((layout.path(page_path(page)), page_bytes, new_bytes))
    return updates


def _briefing_lines(
    path: str, data: bytes, said: settings.Settings
) -> dict[tuple[BriefingPage, str], ItemLine]:
    items = summarize_note(path, data, 0, said.zone, form=said.form).briefing_items
    return {(page, item.id): item for page, item in items}
