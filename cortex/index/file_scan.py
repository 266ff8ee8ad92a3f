"""Scan a vault: the path and stamp of every note, to compare with catalogue and index."""

from __future__ import annotations

import fnmatch
import os
import re
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import TypeAlias

from cortex.core.model.problem import Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.files import TEMP_SUFFIX
from cortex.vault.foreign_settings import template_folders
from cortex.vault.git import checkout
from cortex.vault.state.briefing_cache import COARSE_TICK_NS, is_racy, stamp_of

TEMPLATE_MARK = "t"  # at the end of a stamp: the note lies in a folder of templates
_MAX_CONFIG_BYTES = 64_000
_EXCLUDES_FILE_RE = lazy_re(rb'(?im)^[ \t]*+excludesfile\s*=\s*"?([^"\n]+)')
RULES_FILE = ".gitignore"
_COPY_HINT = "put a copy of the file in its place"
_STRAY_SUFFIXES = (".toc", ".seg", TEMP_SUFFIX)  # files of a search index, and half-written ones


Entering: TypeAlias = Callable[[int], None]  # given an open descriptor


class Snapshot(NamedTuple):
    """The notes of a vault with their stamps (mtime, ctime, size, inode; those of templates with a
    mark), and what was skipped."""

    stamps: dict[str, str]
    folders: tuple[str, ...]  # that were listed, those without notes too; each ends with a slash
    # Notes whose stamp cannot be trusted yet: they are read again at the next refresh.
    racy: frozenset[str]
    # Stamps of every file that says what git ignores; when they change, git is asked again.
    rule_stamps: str
    problems: tuple[Problem, ...]
    stray_index_files: tuple[str, ...]  # files of a search index inside the vault
    temp_files: tuple[str, ...]  # half-written files of a process that was killed
    has_hard_links: bool  # a note has further names


def scan_vault(
    root: str, exclude: Collection[str], ignored: Iterable[str], entering: Entering | None = None
) -> Snapshot:
    """Scan the vault; reads no file. `entering` gets each folder before it is listed. Skips dot-folders, links, what the patterns `exclude`
    match, and what is `ignored` (as git names it: folders end with a slash). A link or special
    file that is named like a note is a problem."""
    scan = _Scan(root, exclude, frozenset(ignored), entering)
    waiting, listed = [""], list[str]()
    while waiting:
        listed.append(waiting.pop())
        waiting += scan.read_folder(listed[-1])
    return Snapshot(
        scan.stamps, tuple(listed), frozenset(scan.racy), "\n".join(sorted(scan.rules)),
        tuple(scan.problems), tuple(scan.stray_index_files), tuple(scan.temp_files),
        scan.has_hard_links,
    )  # fmt: skip


class _Scan:
    """The state of a scan."""

    def __init__(
        self,
        root: str,
        exclude: Collection[str],
        ignored: frozenset[str],
        entering: Entering | None,
    ) -> None:
        self.root, self.ignored, self.entering = root, ignored, entering
        self.now_ns = time.time_ns()  # to be compared with the stamps of the file system
        self.is_excluded = _exclude_matcher(exclude)
        self.template_folders = template_folders(root)
        self.stamps: dict[str, str] = {}
        self.racy: list[str] = []
        self.rules = outer_rule_stamps(root)
        self.problems: list[Problem] = []
        self.stray_index_files: list[str] = []
        self.temp_files: list[str] = []
        self.has_hard_links = False

    def read_folder(self, folder: str) -> list[str]:
        """Scan one folder; returns its sub-folders, each with a slash at its end."""
        try:
            # From an open folder a stat costs a sixth less than by its whole path.
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            fd = os.open(os.path.join(self.root, folder), flags)
        except OSError as error:
            if not folder:
                raise
            why = f"cannot be read: {error.strerror}"
            self.problems.append(Problem(folder, why, "check its permissions"))
            return []
        try:
            if self.entering:
                self.entering(fd)
            with os.scandir(fd) as entries:
                return self._read_entries(folder, entries)
        finally:
            os.close(fd)

    def _read_entries(self, folder: str, entries: Iterable[os.DirEntry[str]]) -> list[str]:
        """Add the notes and other files of a folder to the scan; returns its sub-folders."""
        # Most entries are notes, and a list comprehension takes four fifths of the time of a loop.
        listed = list(entries)
        notes = [entry for entry in listed if entry.name[-3:] == ".md" and entry.name[0] != "." and entry.is_file(follow_symlinks=False)]  # fmt: skip
        others: list[os.DirEntry[str]] = []
        if len(notes) < len(listed):
            are_notes = set(notes)  # the others stay in order: the next scan is compared with this
            others = [entry for entry in listed if entry not in are_notes]
        folders = []
        for entry in others:
            name, path = entry.name, folder + entry.name
            if entry.is_dir(follow_symlinks=False):
                if name[0] != "." and not self._is_left_out(f"{path}/"):
                    folders.append(f"{path}/")
            elif name[-3:].lower() != ".md" or name[0] == "." or entry.is_symlink():
                self._read_other(entry, path)
            elif entry.is_file():
                notes.append(entry)
            elif not self._is_left_out(path) and _is_there(entry):
                self.problems.append(Problem(path, "is no regular file", _COPY_HINT))
        if self.ignored or self.is_excluded:
            notes = [entry for entry in notes if not self._is_left_out(folder + entry.name)]
        try:
            stats = [entry.stat(follow_symlinks=False) for entry in notes]
        except FileNotFoundError:  # deleted since the folder was listed
            notes = [entry for entry in notes if _is_there(entry)]
            stats = [entry.stat(follow_symlinks=False) for entry in notes]
        self._add_notes(folder, [folder + entry.name for entry in notes], stats)
        return folders

    def _add_notes(self, folder: str, paths: list[str], stats: list[os.stat_result]) -> None:
        mark = TEMPLATE_MARK if folder.startswith(self.template_folders) else ""
        # As `stamp_of`; a call takes as long again.
        stamps = [f"{one.st_mtime_ns}.{one.st_ctime_ns}.{one.st_size}.{one.st_ino}{mark}" for one in stats]  # fmt: skip
        self.stamps.update(zip(paths, stamps, strict=True))
        self.has_hard_links |= max([one.st_nlink for one in stats], default=1) > 1
        lately_ns = self.now_ns - COARSE_TICK_NS
        changed_ns = [one.st_ctime_ns for one in stats]
        if changed_ns and max(changed_ns) > lately_ns:
            changed = zip(paths, changed_ns, strict=True)
            self.racy += [path for path, one in changed if is_racy(one, self.now_ns)]

    def _is_left_out(self, path: str) -> bool:
        """Whether git or the settings leave out a path; that of a folder ends with a slash."""
        return path in self.ignored or bool(self.is_excluded and self.is_excluded(path))

    def _read_other(self, entry: os.DirEntry[str], path: str) -> None:
        """Handle an entry that is no note: a link, rules of git, a leftover file."""
        name = entry.name
        if name[0] != "." and entry.is_symlink() and entry.is_dir():
            hint = "put a copy of the folder in its place"
            message = "is a link to a folder, which is not followed"
            self.problems.append(Problem(path, message, hint))
        elif name[-3:].lower() == ".md" and name[0] != "." and not self._is_left_out(path):
            self.problems.append(Problem(path, "is a link, which is not followed", _COPY_HINT))
        elif name == RULES_FILE:
            with suppress(FileNotFoundError):  # replaced just now: the next scan sees other rules
                self.rules.append(f"{path} {stamp_of(entry.stat(follow_symlinks=False))}")
        elif name.endswith(_STRAY_SUFFIXES):
            left = self.temp_files if name.endswith(TEMP_SUFFIX) else self.stray_index_files
            left.append(path)


def _is_there(entry: os.DirEntry[str]) -> bool:
    with suppress(FileNotFoundError):
        return bool(entry.stat(follow_symlinks=False))
    return False


def _exclude_matcher(patterns: Collection[str]) -> Callable[[str], object] | None:
    """A function that tells whether a path is excluded; None without patterns."""
    if not patterns:
        return None
    globs = [glob for one in patterns for glob in (one, f"{one.rstrip('/')}/*")]
    return re.compile("|".join(map(fnmatch.translate, globs))).match


def outer_rule_stamps(root: str) -> list[str]:
    """The stamps of the files outside the vault that decide what git ignores: rules of the
    repository around it, the user's own, and git's index, since no tracked note is ignored."""
    around = checkout.find_repository(root)
    if around is None:
        return []
    top, git, common = around
    config = os.environ.get("XDG_CONFIG_HOME", "") or os.path.expanduser("~/.config")
    paths = [
        os.path.join(git, "index"),
        os.path.join(common, "info", "exclude"),
        os.path.join(config, "git", "ignore"),
    ]
    own = os.environ.get("GIT_CONFIG_GLOBAL", "") or os.path.expanduser("~/.gitconfig")
    for settings in (own, os.path.join(config, "git", "config"), os.path.join(common, "config")):
        text = files.read_bounded(settings, _MAX_CONFIG_BYTES, follow=True)
        named = _EXCLUDES_FILE_RE.findall(text) if b"excludes" in text.lower() else ()
        paths += (os.path.expanduser(os.fsdecode(name.strip())) for name in named)
    directory = root
    while directory != top and directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
        paths.append(os.path.join(directory, ".gitignore"))
    rules = []
    for path in paths:
        with suppress(OSError):  # no such rules; should they appear, the list of rules changes
            rules.append(f"{path} {stamp_of(os.stat(path))}")
    return rules
