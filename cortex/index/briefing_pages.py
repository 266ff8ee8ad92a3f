"""Render the committed briefings from the catalogue, and compare them with the vault's files.

What a page says depends on the notes alone; which pages are written, on the branch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from cortex.core.briefing.item_lines import INDEX, index_items, move_to_done, page_path
from cortex.core.briefing.pages import (
    GENERATOR_VERSION,
    OPEN_ACTIONS,
    PAGE_KINDS,
    BriefingPage,
    ItemLine,
    ParsedPage,
    block_key,
    parse_page,
    render_gone_page,
    render_page,
)
from cortex.core.model.layout import BRIEFINGS_FOLDER
from cortex.core.model.problem import CortexError, NotFoundError, Problem, reason_of
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import short_hash
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue
from cortex.vault import files, settings
from cortex.vault.git import checkout, git_cli, objects, page_branch, work_tree
from cortex.vault.git.page_branch import PageBranch
from cortex.vault.layout import layout_of

_HEADER_BYTES = 4096  # bytes that tell what a page is

# What lies here is committed with the briefings.
_DAYS_LISTED = 14  # behind the newest line of a branch
_SHARED_FOLDERS = ("records", "sessions")

_OF_A_PAGE_RE = lazy_re(
    rb"(?m)^(?:type: briefing|generator: \d+)\r?$|<!-- cx |\^[a-z0-9-]+-[a-z2-7]{8}\r?$"
)
_LINK_RE = lazy_re(r"\[\[([^|\[\]]+)\|")
_OWN_NOTE = (
    "is a note of your own where Cortex keeps a page, and stays",
    "give it another name or folder, then cortex heal",
)


class PageDifference(NamedTuple):
    """A page whose file differs from what the notes give."""

    path: str
    current: bytes | None  # what lies there; None when nothing does
    expected: bytes | None  # None when nothing should: on no branch that shares it, or pruned
    is_newer: bool = False  # a newer program made what lies there; it stays
    problem: Problem | None = None  # why it cannot be read, and so is not written either


def find_differences(
    root: str,
    catalogue: Catalogue,
    there: Iterable[str],
    *,
    check: bool = False,
    prune: bool = False,
    unmerged: Iterable[str] = (),
) -> list[PageDifference]:
    """What must be written or removed so that the briefings are as the notes give them.

    On the default branch these are all pages. A feature branch writes its own and has the shared
    ones as they are at the merge base, so that they meet in no merge. `there` are the paths of the
    notes in the vault, `unmerged` the pages that git could not merge, which are written anywhere.
    With `check` no page shrinks because its branch is gone: another clone need not know that. With
    `prune` what no note gives any more is removed. Nothing in a sparse checkout, which does not
    have all notes. Raises `InvalidInputError` when the folder is a link.
    """
    if work_tree.list_skipped(root):
        return []
    folder = layout_of(root).path(BRIEFINGS_FOLDER)
    files.list_names(root, folder)
    branch = page_branch.find_page_branch(root, check=check)
    if not branch.is_default and not branch.name and not unmerged:
        return []
    existing = _read_headers(root, [path for path in there if path.startswith(f"{folder}/")])
    by_page = _lines_by_page(root, catalogue)
    if unread := catalogue.unreadable_paths():
        for page, item in _existing_lines(root, unread, existing):
            by_page.setdefault(page, {}).setdefault(item.id, item)
    pages = _Pages(root, by_page, existing, branch.default)
    if branch.is_default:
        wanted = pages.all_pages(pages.gone_pages(branch, check=check), prune=prune)
    else:
        wanted = pages.pages_of_branch(branch) if branch.name else {}
    for path in unmerged:
        wanted.setdefault(path, pages.text_at(path))
    return compare_pages(root, wanted)


class _Pages:
    """The pages that the notes give, and the files of pages that there are."""

    def __init__(
        self,
        root: str,
        by_page: dict[BriefingPage, dict[str, ItemLine]],
        existing: dict[str, tuple[BriefingPage, bytes]],
        default: str,
    ) -> None:
        self.root, self.is_flat = root, settings.load(root).form.is_flat
        self.layout = layout_of(root)
        self.lines = by_page
        self.existing = existing  # path -> what it is, and its beginning
        for project in {page.project for page in by_page if page != INDEX}:
            for kind in PAGE_KINDS:
                if kind not in ("branch", "type", "topic", "index"):
                    by_page.setdefault(BriefingPage(kind, project), {})
        # Two names may fold into one file name (`B` and `b-<hash of B>`); sorted, the same one wins.
        pages = sorted(page for page in by_page if page != INDEX)
        self.by_path = {self._path(page): page for page in reversed(pages)}
        if pages:
            self.by_path[self._path(INDEX)] = INDEX
        # Beside the default branch the index lists none that is gone, nor one of which there is nothing
        # from the last weeks before the newest line of any branch.
        newest = {
            page: max(map(_day_number, by_page[page].values()), default=0)
            for page in pages
            if page.kind == "branch" and not self._has_shrunk(page)
        }
        since = max(newest.values(), default=0) - _DAYS_LISTED
        self._listed = [
            page
            for page in pages
            if page.kind != "branch" or page.name == default or newest.get(page, -1) >= since
        ]

    def all_pages(
        self, gone: Mapping[BriefingPage, bytes | None], *, prune: bool
    ) -> dict[str, bytes | None]:
        """The text of every page, also of those that no note gives any more: these say so."""
        self._listed = [page for page in self._listed if page not in gone]
        wanted: dict[str, bytes | None] = {
            path: gone[page] if page in gone else self._text(page)
            for path, page in self.by_path.items()
        }
        for path, (page, text) in self.existing.items():
            if prune and (path not in wanted or page in gone):
                wanted[path] = None
            elif path not in wanted and text != self._gone_text(page):
                wanted[path] = self._text(page)
        return wanted

    def gone_pages(self, branch: PageBranch, *, check: bool) -> dict[BriefingPage, bytes | None]:
        """The pages of branches that are gone: with the one line that is left of them, or None
        where there is no file, and none is made. What has shrunk stays so in every clone, whatever
        branches that one still has. Only of this repository's branches it is known."""
        pages = {page for page in self.lines if page.kind == "branch"}
        pages = {page for page in pages if page.name not in (branch.name, branch.default)}
        found: dict[BriefingPage, bytes | None] = {
            page: self._gone_text(page) for page in pages if self._has_shrunk(page)
        }
        repository = checkout.find_repository(self.root)
        if repository is None or not pages:
            return found
        project = settings.load(self.root).resolve_project(checkout.project_of(self.root))
        known = page_branch.known_branches(repository)
        shrinks = not check and page_branch.sees_all_branches(repository)
        for page in pages - found.keys():
            if page.project == project and page.name not in known:
                is_there = self._path(page) in self.existing
                if shrinks or not is_there:
                    found[page] = self._gone_text(page) if is_there else None
        return found

    def pages_of_branch(self, branch: PageBranch) -> dict[str, bytes | None]:
        """What a feature branch writes: its own pages, and the shared ones as the merge base has
        them, where one is known. Those of other feature branches are left alone."""
        pages = {path: page for path, (page, _) in self.existing.items()} | self.by_path
        wanted: dict[str, bytes | None] = {
            path: self._text(page) for path, page in pages.items() if branch.writes(page)
        }
        before = page_branch.pages_at_merge_base(self.root, branch.default)
        if before is None:
            return wanted
        shared = (path for path, (_, text) in self.existing.items() if _is_shared(text, branch))
        wanted |= dict.fromkeys(shared)
        return wanted | {path: text for path, text in before.items() if _is_shared(text, branch)}

    def text_at(self, path: str) -> bytes | None:
        """The text of a page as the notes give it; None if it is not known which page it is."""
        page = self.by_path.get(path) or self.existing.get(path, (None,))[0]
        return page and self._text(page)

    def _path(self, page: BriefingPage) -> str:
        return self.layout.path(page_path(page))

    def _text(self, page: BriefingPage) -> bytes:
        lines = self.lines.get(page, {})
        if page == INDEX:
            lines = lines | {item.id: item for item in index_items(self._listed, self.layout)}
        return render_page(page, lines.values(), is_flat=self.is_flat).encode("utf-8", "replace")

    def _gone_text(self, page: BriefingPage) -> bytes:
        index = self._path(INDEX).removesuffix(".md")
        return render_gone_page(page, index, is_flat=self.is_flat).encode("utf-8", "replace")

    def _has_shrunk(self, page: BriefingPage) -> bool:
        return self.existing.get(self._path(page)) == (page, self._gone_text(page))


def _day_number(line: ItemLine) -> int:
    """The day of a line, for differences: months of 31 days are near enough; 0 if it has none."""
    day = line.order[:8]
    is_day = len(day) == 8 and day.isdecimal()
    return int(day[:4]) * 372 + int(day[4:6]) * 31 + int(day[6:]) if is_day else 0


def _is_shared(text: bytes, branch: PageBranch) -> bool:
    """True of a page that the default branch writes, and no other one."""
    page = _page_of(text)
    return page is not None and (page.kind != "branch" or page.name == branch.default)


def _read_headers(root: str, there: Iterable[str]) -> dict[str, tuple[BriefingPage, bytes]]:
    """The pages among these files: path -> which page it is, and its beginning."""
    found = {}
    for path in there:
        with suppress(CortexError, OSError):  # named where it is compared
            text = files.read(root, path, _HEADER_BYTES)
            if page := _page_of(text):
                found[path] = page, text
    return found


def _lines_by_page(root: str, catalogue: Catalogue) -> dict[BriefingPage, dict[str, ItemLine]]:
    """The lines of all shared notes for each briefing page, by id. The loop is hot: it runs once for each
    line, and there are more lines than records."""
    found: dict[tuple[str, str, str], dict[str, tuple[str, ItemLine]]] = {}
    elsewhere = []
    layout = layout_of(root)
    shared = tuple(layout.path(f"{folder}/") for folder in _SHARED_FOLDERS)
    ticked_by = catalogue.ticked_actions()
    ticking = {path for paths in ticked_by.values() for path in paths}
    outside = {path: path for path in ticking if not path.startswith(shared)}  # no record's id
    for kind, project, branch, *line_parts, path, is_global in catalogue.briefing_lines():
        lines = found.setdefault((kind, project, branch), {})
        line = ItemLine._make(line_parts)
        id_ = line.id
        # No sync takes global notes along, but in a person's own vault.
        is_outside = is_global or not path.startswith(shared)
        if is_outside:
            outside[path] = id_
        if is_outside or id_ in lines:
            elsewhere.append((lines, path, line))
        else:
            lines[id_] = path, line
    unshared = _untracked_paths(root, outside)
    ticked = {id_ for id_, paths in ticked_by.items() if not unshared.issuperset(paths)}
    for lines, path, line in elsewhere:
        if path not in unshared:
            first = lines.pop(line.id, None)
            both = [(path, line), *([first] if first else [])]
            # Of two notes with one id the first by path keeps it here.
            for number, (where, each) in enumerate(sorted(both)):
                key = f"{line.id}.{short_hash(where, 4)}" if number else line.id
                lines[key] = where, each._replace(id=key)
    return {
        BriefingPage(*page): {
            key: move_to_done(line)
            if page[0] == "active-plan" and line.section == "Open" and key in ticked
            else line
            for key, (_, line) in lines.items()
            if line.section != OPEN_ACTIONS or key not in ticked
        }
        for page, lines in found.items()
        if lines
    }


def _untracked_paths(root: str, elsewhere: dict[str, str]) -> set[str]:
    """Of these notes (path -> id), which no sync need take along, those that git does not track. Only this clone has them, so their lines would come and go with every clone that
    heals. A record that was just moved out counts as tracked by its old place."""
    if not elsewhere or not checkout.is_in_repository(root):
        return set()
    known = {
        os.fsdecode(name)
        for some in objects.split_batches(list(elsewhere))
        for name in git_cli.run(root, ["ls-files", "-z", "--", *some]).split(b"\0")
    }
    new = elsewhere.keys() - known
    folders = (*_SHARED_FOLDERS, *map(layout_of(root).path, _SHARED_FOLDERS))
    words = ["ls-files", "--deleted", "-z", "--", *folders]
    moved = git_cli.run(root, words).split(b"\0") if new else []
    names = {os.fsdecode(name).rpartition("/")[2].removesuffix(".md") for name in moved}
    return {path for path in new if elsewhere[path] not in names}


def _existing_lines(
    root: str, unread: Iterable[str], there: Iterable[str]
) -> Iterator[tuple[BriefingPage, ItemLine]]:
    """The lines that the pages have of these notes now; those of an unreadable note are kept. A
    line tells its note by its id, before a dot if it is one of many, or else by its link."""
    names = {path.removesuffix(".md") for path in unread}
    names |= {os.path.basename(name) for name in names}
    names |= {*map(block_key, names)}
    for path in there:
        try:
            parsed_page = parse_page(files.read(root, path).decode("utf-8", "replace"))
        except (CortexError, OSError):
            continue  # named where it is compared
        for item in parsed_page.items:
            link = _LINK_RE.search(item.text)
            names_of_item = {item.id, item.id.rpartition(".")[0], link[1] if link else ""}
            if parsed_page.page and item.section != "Pages" and names_of_item & names:
                yield parsed_page.page, item


def compare_pages(root: str, wanted: Mapping[str, bytes | None]) -> list[PageDifference]:
    """What must be written or removed so that these pages are as `wanted`, in which None is no
    file. A file that is no page stays in the place of one."""
    found = []
    for path, expected in sorted(wanted.items()):
        current, problem = None, None
        try:
            current = files.read(root, path)
        except (CortexError, OSError) as error:  # a link, or another user's: it stops no other page
            if not isinstance(error, NotFoundError):
                prefix = "" if isinstance(error, CortexError) else "cannot be read: "
                problem = Problem(path, prefix + reason_of(error), "remove it, then cortex heal")
        if current == expected and not problem:
            continue
        if expected is not None and _is_own_note(current or b""):
            problem = Problem(path, *_OWN_NOTE)
        version = _parse_header(current or b"").generator_version
        is_newer = not problem and version > GENERATOR_VERSION
        found.append(PageDifference(path, current, expected, is_newer, problem))
    return found


def _is_own_note(text: bytes) -> bool:
    """True of a text in the place of a page that has nothing of one, as what a merge, a power cut
    or an edit has spoiled still has."""
    try:
        return bool(text.decode().strip("\0\ufeff \t\r\n")) and not _OF_A_PAGE_RE.search(text)
    except UnicodeDecodeError:
        return False


def is_page(root: str, path: str) -> bool:
    """Whether the file is a page of ours or does not exist; False for what a person put there."""
    try:
        return _page_of(files.read(root, path, _HEADER_BYTES)) is not None
    except NotFoundError:
        return True
    except (CortexError, OSError):
        return False


def _page_of(text: bytes) -> BriefingPage | None:
    """Which page a text is; None for one that no program has made."""
    parsed_page = _parse_header(text)
    return parsed_page.page if parsed_page.generator_version else None


def _parse_header(data: bytes) -> ParsedPage:
    """Parse the beginning of a file, which is enough to recognize a page."""
    return parse_page(data[:_HEADER_BYTES].decode("utf-8", "replace"))
