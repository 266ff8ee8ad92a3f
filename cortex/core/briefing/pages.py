"""Committed briefings: pages of item lines that merge by id, without a look at their records.

A page is a pure function of its items, and its header of what page it is: no clock, no count,
nothing that two clones could see differently. Standard library alone, for the merge driver.
"""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.notes.yaml_subset import parse_value
from cortex.core.text import yaml_writer
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import short_hash, slugify
from cortex.core.text.value import NamedTuple

# Of the pages' form, with what `item_lines` and `excerpt` say: raise it with any change that makes other
# lines of the same notes. A page that a newer program made is left alone, so that two versions in
# one team do not rewrite each other's pages for ever.
GENERATOR_VERSION = 11
# Of pages in the form of format 1, where a comment on each line holds its id and order.
_COMMENTED_VERSION = 10
_COMMENTED_ITEM_RE = lazy_re(r"- (.*) <!-- cx (\S+) (\S+) -->")
_ITEM_RE = lazy_re(r"- (.*) \^([a-z0-9-]{0,120}-)?([a-z2-7]{8})")
_KEY_RE = lazy_re(r"[a-z2-7]{8}")
# Other programs may add to a line of a task, as the day on which it was done.
_BOX_RE = lazy_re(r"[-*+] \[([ xX])\] ")
_KEY_AT_END_RE = lazy_re(r" \^(?:[a-z0-9-]{1,120}-)?([a-z2-7]{8})(?=\s|$)")
_HEADER_FIELD_RE = lazy_re(r"(page|project|branch|name|generator): (.*)")


class PageSection(NamedTuple):
    """A part of a page. Its items are sorted by `ItemLine.order`, descending if `newest_first`."""

    title: str
    newest_first: bool = True
    limit: int = 0  # items at the most; 0 is all
    hides_if_empty: bool = False


class PageKind(NamedTuple):
    """What a page is for."""

    heading: str
    introduction: str
    sections: tuple[PageSection, ...]


OPEN, DONE, SET_ASIDE, OPEN_ACTIONS = "Open", "Done", "Set aside", "Open actions"  # sections
DAILY_NOTES = "Daily notes"
_EDIT_NOTICE = "Change the record behind a line, not the line: `cortex heal` writes this page."
PAGE_KINDS = {
    "decisions": PageKind(
        "Decisions", f"What holds, newest first. {_EDIT_NOTICE}", (PageSection(""),)
    ),
    "decisions-archive": PageKind(
        "Decisions that no longer hold",
        f"Superseded or archived, newest first. {_EDIT_NOTICE}",
        (PageSection(""),),
    ),
    "active-plan": PageKind(
        "Plan",
        f"Open actions and steps by due date, then what is done. {_EDIT_NOTICE}",
        (
            PageSection(OPEN, newest_first=False), PageSection(DONE),
            PageSection(SET_ASIDE, hides_if_empty=True),
        ),
    ),
    "branch": PageKind(
        "Branch",
        f"The latest of this branch. {_EDIT_NOTICE}",
        (
            PageSection("Sessions", limit=10), PageSection("Decisions", limit=20),
            PageSection("Gotchas", limit=20), PageSection("Patterns", limit=20),
        ),
    ),
    "type": PageKind(
        "", f"Newest first. {_EDIT_NOTICE}",
        (PageSection(""), PageSection(SET_ASIDE, hides_if_empty=True)),
    ),
    "topic": PageKind(
        "Topics:", f"What is kept up to date under these topics. {_EDIT_NOTICE}",
        (PageSection("", newest_first=False), PageSection(SET_ASIDE, hides_if_empty=True)),
    ),
    "index": PageKind(
        "Briefings",
        "Where to begin: what is open, what holds, what was done, and the pages of what goes on.",
        (
            PageSection(OPEN_ACTIONS, newest_first=False, limit=20, hides_if_empty=True),
            PageSection("Conflicts", hides_if_empty=True),
            PageSection("Rules", limit=20, hides_if_empty=True),
            PageSection("Decisions that hold", limit=10, hides_if_empty=True),
            PageSection("Recent sessions", limit=10, hides_if_empty=True),
            PageSection("Recent meetings", limit=5, hides_if_empty=True),
            PageSection("No longer hold", limit=5, hides_if_empty=True),
            PageSection(DAILY_NOTES, limit=7, hides_if_empty=True),
            PageSection("Pages", newest_first=False),
        ),
    ),
}  # fmt: skip


# Of types of record; others get an s.
_PLURALS = {
    "architecture": "architecture", "bugfix": "bug fixes", "config": "configuration",
    "context": "context", "discovery": "discoveries", "progress": "progress",
}  # fmt: skip


class BriefingPage(NamedTuple):
    """Which page it is."""

    kind: str
    project: str = ""
    name: str = ""  # of its branch, its type of record, or its family of topics


class ItemLine(NamedTuple):
    """One line of a page. `id` and `order` hold no blanks; `text` is one line of markdown, with the
    box of a task. As read from a page with block ids, the id is its `block_key`."""

    id: str
    section: str
    order: str
    text: str


class ParsedPage(NamedTuple):
    """A page's text, parsed: the generator that made it, which page it is, and its items."""

    generator_version: int
    page: BriefingPage | None
    items: tuple[ItemLine, ...]

    @property
    def is_flat(self) -> bool:
        """Whether its lines have block ids."""
        return self.generator_version > _COMMENTED_VERSION


def render_page(page: BriefingPage, items: Iterable[ItemLine], *, is_flat: bool = False) -> str:
    """The page's text: the same for the same items in any order. In the form of format 2 each line
    ends in a block id, made of its order and id, else in a comment."""
    kind = PAGE_KINDS[page.kind]
    lines = [*_header_lines(page, is_flat=is_flat), kind.introduction]
    if is_flat:
        items = map(_as_block, items)
    by_section: dict[str, list[ItemLine]] = {}
    for item in items:
        by_section.setdefault(item.section, []).append(item)
    for section in kind.sections:
        ordered = sorted(by_section.get(section.title, ()), key=lambda item: (item.id, item.text))
        ordered.sort(key=lambda item: item.order, reverse=section.newest_first)
        shown = ordered[: section.limit or None]
        if not shown and section.hides_if_empty:
            continue
        lines += ["", *([f"## {section.title}", ""] if section.title else [])]
        end = " ^{}-{}" if is_flat else " <!-- cx {1} {0} -->"
        listed = [f"- {item.text}{end.format(item.order, item.id)}" for item in shown]
        lines += listed or ["Nothing yet."]
    return "\n".join([*lines, ""])


def block_key(id_: str) -> str:
    """By what a line with this id is known on a page: itself if it is one."""
    return id_ if _KEY_RE.fullmatch(id_) else short_hash(id_, 8)


def page_ticks(text: str) -> dict[str, bool]:
    """Key of a line -> True for a ticked box among what is open, False for an open one among what
    is done: Cortex writes neither, so a person did."""
    ticks = dict[str, bool]()
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif box := _BOX_RE.match(line):
            done = box[1] != " "
            if done != (section == DONE) and section in (OPEN, OPEN_ACTIONS, DONE):
                ticks |= dict.fromkeys(_KEY_AT_END_RE.findall(line)[-1:], done)
    return ticks


def _as_block(item: ItemLine) -> ItemLine:
    """The item with a key and an order that a block id may hold; itself if it has them."""
    is_plain = item.order.isalnum() and item.order.isascii()
    order = item.order if is_plain else slugify(item.order, 100)
    return item._replace(id=block_key(item.id), order=order)


def render_gone_page(page: BriefingPage, index: str, *, is_flat: bool = False) -> str:
    """The text of the page of a branch that is gone; `index` is the name of the index page."""
    gone = f"This branch is gone; its records are in the pages that [[{index}|the index]] lists."
    return "\n".join([*_header_lines(page, is_flat=is_flat), gone, ""])


def _header_lines(page: BriefingPage, *, is_flat: bool) -> list[str]:
    name_key = "branch" if page.kind == "branch" else "name"
    fields = {"type": "briefing", "page": page.kind, "project": page.project, name_key: page.name}
    title = " of ".join(part for part in (heading_of(page), page.project) if part)
    return [
        *yaml_writer.frontmatter(fields).removesuffix("---\n").splitlines(),
        f"generator: {GENERATOR_VERSION if is_flat else _COMMENTED_VERSION}",
        "---",
        f"# {break_comments(' '.join(title.split()))}",  # no item, and no comment
        "",
    ]


def heading_of(page: BriefingPage) -> str:
    """What a page is about: `Decisions`, `Branch main`, `Gotchas`."""
    if page.kind == "type":
        return _PLURALS.get(page.name, f"{page.name}s").capitalize()
    return f"{PAGE_KINDS[page.kind].heading} {page.name}".strip()


def parse_page(text: str) -> ParsedPage:
    """Parse a page in any state: lines that are no items, conflict markers too, are skipped."""
    header: dict[str, str] = {}
    items: list[ItemLine] = []
    section = ""
    for line in text.splitlines():
        if item := _ITEM_RE.fullmatch(line):
            items.append(ItemLine(item[3], section, (item[2] or "").rstrip("-"), item[1]))
        elif item := _COMMENTED_ITEM_RE.fullmatch(line):
            items.append(ItemLine(item[2], section, item[3], item[1]))
        elif line.startswith("## "):
            section = line[3:]
        elif not items and (field := _HEADER_FIELD_RE.fullmatch(line)):
            value = parse_value(field[1], line)
            header.setdefault(field[1], value.text if value else field[2])
    name = header.get("branch") or header.get("name", "")
    page = BriefingPage(header.get("page", ""), header.get("project", ""), name)
    generator = header.get("generator", "")
    return ParsedPage(
        int(generator[:9]) if generator.isdecimal() else 0,
        page if page.kind in PAGE_KINDS else None,
        tuple(items),
    )


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Three versions of a page as one. Swapping the sides changes nothing; there is never a
    conflict. Where both sides changed one item the outcome may differ from what the records say,
    until `cortex heal`; each line is whole, as one side has it."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    sides = [parse_page(side.decode("utf-8", "replace")) for side in (ours, theirs)]
    pages = [side.page for side in sides if side.page is not None]
    if max(side.generator_version for side in sides) > GENERATOR_VERSION or not pages:
        return max(
            (side.generator_version, data) for side, data in zip(sides, (ours, theirs), strict=True)
        )[1]
    versions = (parse_page(base.decode("utf-8", "replace")), *sides)
    is_flat = any(side.is_flat for side in sides)
    # In the form of format 2 the ids of items are keys of blocks.
    listed = (map(_as_block, one.items) if is_flat else one.items for one in versions)
    was, one, other = ({item.id: item for item in items} for items in listed)
    keys = sorted({*one, *other})
    merged = (_merge_item(was.get(key), one.get(key), other.get(key)) for key in keys)
    # A header may ask for half a character.
    text = render_page(max(pages), filter(None, merged), is_flat=is_flat)
    return text.encode("utf-8", "replace")


def _merge_item(
    was: ItemLine | None, one: ItemLine | None, other: ItemLine | None
) -> ItemLine | None:
    """An item that either side may have added, changed or taken out. Taken out wins over changed:
    what was superseded on one side does not come back because the other corrected its title."""
    if other in (one, was):
        return one
    if one == was:
        return other
    if one is None or other is None:
        return None
    return max(one, other, key=lambda item: (item.order, item.text, item.section))


def break_comments(text: str) -> str:
    """`text` with no mark that begins or ends a comment."""
    return text.replace("<!--", "<!- -").replace("-->", "-- >")
