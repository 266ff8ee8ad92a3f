"""Whether what a record claims still holds, by the files around a directory and their git history.

A file or folder is gone when git had it at the time of the claim or later (in a commit or in its
index), and no place that the claim can mean has it now. A branch is gone when this clone has had it
checked out and no other branch has its work, or when the record itself says `branch NAME` and that
was not merged. A package is gone when a manifest named it since. What git has never known here is
not doubted: a path of another project, a file that was only planned, a record in a fresh clone.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cortex.core.claims import RecordClaims
from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.strings import shorten
from cortex.operations.find import manifest_check
from cortex.operations.find.claim_check import ClaimCheck
from cortex.operations.find.manifest_check import PackageCheck
from cortex.vault.git import checkout, file_history
from cortex.vault.git.file_history import FileCommit
from cortex.vault.git.refs import RepositoryRefs
from cortex.vault.state import briefing_cache

MAX_CLAIMS = 200
_END_OF_TIME = "9999"  # later than any time
_MAX_MISSING_PATHS = 40  # paths that git is asked for
_MAX_BRANCH_TIPS, _MAX_FILES_PER_BRANCH = 4, 6  # whose work is looked for elsewhere
_MAX_RENAME_ROUNDS = 3  # renamings of a file that is gone under its new name too
_MAX_REASON_CHARS = 160  # characters of one reason
_MAX_REASONS = 3
_TIME_RE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SAFE_NAME_RE = re.compile(r"[\w./@+()\[\] -]{1,120}")  # names that go into a line of a briefing


class FileStamps:
    """The files that were looked at, with their stamps from before."""

    def __init__(self) -> None:
        self.stamps: dict[str, str] = {}

    def add(self, *paths: str) -> None:
        for path in paths:
            if path not in self.stamps:
                self.stamps[path] = briefing_cache.file_stamp(path)


def find_contradictions(
    directory: str, claims: Sequence[RecordClaims], *, changed: bool = False
) -> ClaimCheck:
    """Contradictions among claims about the project around `directory`. What git or the files say
    never raises. `changed` fills `edited_files`, by one more call of git."""
    claims = [claim for claim in claims[:MAX_CLAIMS] if _TIME_RE.fullmatch(claim.created)]
    place = checkout.find_repository(directory)
    repository = RepositoryRefs(*place) if place else None
    top = place[0] if place else os.path.realpath(directory)
    if not claims or top in (os.path.realpath(os.path.expanduser("~")), os.path.dirname(top)):
        return ClaimCheck({})
    seen = FileStamps()
    files = _ProjectFiles(top, os.path.relpath(os.path.realpath(directory), top), seen)
    missing = {claim.id: files.find_missing(claim.files) for claim in claims}
    packages = manifest_check.compare_with_manifests(top, files.subfolder, claims, seen.add)
    problems = list(packages.problems)
    reasons: dict[str, list[str]] = {}
    edited: dict[str, tuple[str, ...]] = {}
    if repository is None:
        reasons = {id_: files.reasons_without_git(paths) for id_, paths in missing.items()}
    else:
        try:
            branches = _find_gone_branches(repository, claims, seen)
            reasons = _check_history(
                repository, claims, missing, files, branches=branches, packages=packages
            )
            if changed:
                held = [claim for claim in claims if not reasons[claim.id]]
                edited = _edited_files(repository, held, files, seen)
        except CortexError as error:
            why = f"what records claim was not checked: {error.message}"
            problems.append(Problem("git", why, error.hint))
    in_doubt = {id_: _join_reasons(why) for id_, why in reasons.items() if why}
    return ClaimCheck(in_doubt, tuple(seen.stamps.items()), tuple(problems), edited)


def _join_reasons(reasons: Sequence[str]) -> str:
    # That a branch is gone says less of what is true.
    ordered = sorted(dict.fromkeys(reasons), key=lambda reason: reason.startswith("branch "))
    shown = "; ".join(shorten(reason, _MAX_REASON_CHARS) for reason in ordered[:_MAX_REASONS])
    more = len(ordered) - _MAX_REASONS
    return f"{shown}, and {more} more" if more > 0 else shown


# Files


class _ProjectFiles:
    """Which of the paths that claims name are there. Nothing outside the project is looked at."""

    def __init__(self, top: str, below: str, seen: FileStamps) -> None:
        self.top, self.stamps = top, seen
        self.subfolder = "" if below == "." else below.replace(os.sep, "/")
        self._top_folder_names: list[str] | None = None
        self._located: dict[str, tuple[bool, list[str]]] = {}
        self._known_folders: dict[str, bool | None] = {}

    def find_missing(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """The paths that do not exist, each with all the places that it can mean."""
        located = {path: self.locate(path) for path in paths}
        return {path: places for path, (there, places) in located.items() if places and not there}

    def locate(self, path: str) -> tuple[bool, list[str]]:
        """Whether the file exists, and where: its place, or all the places that it can mean."""
        if path not in self._located:
            places: list[str] = []
            for place in self._candidate_paths(path):
                stands = self.exists(place)
                if stands:
                    self._located[path] = True, [place]
                    return self._located[path]
                places += [place] if stands is False else []
            self._located[path] = False, places
        return self._located[path]

    def exists(self, path: str) -> bool | None:
        """Whether the file or folder exists; None when its path leads through a link."""
        folder, _, name = path.rstrip("/").rpartition("/")
        inside = self._folder_exists(folder)
        if not inside:
            return inside
        here = f"{self.top}/{folder}" if folder else self.top
        # A folder changes when something in it comes or goes, and not when a file is edited.
        self.stamps.add(here)
        if path.endswith("/"):
            return self._folder_exists(path.rstrip("/"))
        return os.path.lexists(f"{here}/{name}")

    def _folder_exists(self, folder: str) -> bool | None:
        """Whether the folder exists; None when its path leads through a link."""
        if not folder:
            return True
        if folder not in self._known_folders:
            outer = folder.rpartition("/")[0]
            inside = self._folder_exists(outer)
            if inside:
                try:
                    mode = os.lstat(f"{self.top}/{folder}").st_mode
                except (OSError, ValueError):
                    mode = 0
                inside = None if stat.S_ISLNK(mode) else stat.S_ISDIR(mode)
                if not inside:
                    self.stamps.add(f"{self.top}/{outer}" if outer else self.top)
            self._known_folders[folder] = inside
        return self._known_folders[folder]

    def reasons_without_git(self, missing: dict[str, list[str]]) -> list[str]:
        """Missing files, without a history: those whose folder has others of their kind."""
        reasons = []
        for path, places in missing.items():
            folder, _, name = path.rpartition("/")
            ending = f".{name.rpartition('.')[2]}"
            others = (self._list_folder(place.rpartition("/")[0]) for place in places)
            alike = (other for names in others for other in names if other.endswith(ending))
            if folder and name and any(alike):
                reasons.append(f"{path} is not there")
        return reasons

    def _list_folder(self, folder: str) -> list[str]:
        try:
            return os.listdir(os.path.join(self.top, folder))
        except OSError:
            return []

    def _candidate_paths(self, path: str) -> Iterator[str]:
        """A path counts from the top, from the directory, or from a folder of the top that has its
        first folder."""
        yield path
        if self.subfolder:
            yield f"{self.subfolder}/{path}"
        first, slash, _ = path.partition("/")
        if slash:
            yield from (
                f"{folder}/{path}"
                for folder in self._top_folders()
                if self._folder_exists(f"{folder}/{first}")
            )

    def _top_folders(self) -> list[str]:
        if self._top_folder_names is None:
            self.stamps.add(self.top)
            try:
                with os.scandir(self.top) as entries:
                    folders = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
            except OSError:
                folders = []
            visible = (name for name in folders if not name.startswith("."))
            self._top_folder_names = sorted(visible)[:100]
        return self._top_folder_names


# Branches


class _GoneBranches(NamedTuple):
    """Branches that no longer exist."""

    reasons: dict[str, str] = {}  # noqa: RUF012  of those that were renamed; nobody writes to it
    tips: dict[str, str] = {}  # noqa: RUF012  where this clone left those that records were made on
    unmerged: frozenset[str] = frozenset()  # that this clone had checked out


def _find_gone_branches(
    repository: RepositoryRefs, claims: Sequence[RecordClaims], seen: FileStamps
) -> _GoneBranches:
    own = {claim.branch for claim in claims}
    names = {*own, *(name for claim in claims for name in claim.branches)}
    names -= {"", repository.current_branch()}
    named = sorted(
        name
        for name in names
        if RepositoryRefs.is_branch_name(name) and _SAFE_NAME_RE.fullmatch(name)
    )
    seen.add(os.path.join(repository.git_dir, "HEAD"))
    if not named:
        return _GoneBranches()
    refs = os.path.join(repository.common_dir, "refs")
    seen.add(os.path.join(repository.common_dir, "packed-refs"), os.path.join(refs, "remotes"))
    seen.add(*checkout.table_lists(repository))
    seen.add(*(os.path.dirname(os.path.join(refs, "heads", name)) for name in named))
    gone = [name for name in named if not repository.has_branch(name)]
    if not gone:
        return _GoneBranches()
    seen.add(*repository.head_logs())
    renamed, merged = repository.renamed_branches(), repository.merged_branches()
    last_heads = repository.last_head_by_branch()
    reasons: dict[str, str] = {}
    tips: dict[str, str] = {}
    unmerged: set[str] = set()
    for name in gone:
        last = name
        for _ in range(8):
            if last in renamed and not repository.has_branch(last):
                last = renamed[last]
        if last != name and repository.has_branch(last) and _SAFE_NAME_RE.fullmatch(last):
            reasons[name] = f"branch {name} is gone (renamed to {last})"
        elif last in last_heads and not {name, last} & merged:
            unmerged.add(name)
            if name in own and len(tips) < _MAX_BRANCH_TIPS:
                tips[name] = last_heads[last]
    return _GoneBranches(reasons, tips, frozenset(unmerged))


def _branch_reasons(claim: RecordClaims, gone: _GoneBranches) -> list[str]:
    """What is said of the branches that the claim was made on or names. A branch that is only known
    to be gone counts where the claim names it: the work of its own branch may live on elsewhere."""
    names = dict.fromkeys((claim.branch, *claim.branches))
    renamed = [gone.reasons[name] for name in names if name in gone.reasons]
    return renamed + [f"branch {name} is gone" for name in claim.branches if name in gone.unmerged]


def _abandoned_texts(repository: RepositoryRefs, tips: dict[str, str]) -> dict[str, dict[str, str]]:
    """Branches whose last commit no other has, each with the last texts of the files it changed."""
    listed = file_history.list_unmerged(repository.top, list(tips.values())) if tips else []
    commits = {commit.id: commit for commit in listed}
    contents: dict[str, dict[str, str]] = {}
    for name, tip in tips.items():
        waiting, past, blobs = [tip], set[str](), dict[str, str]()
        while waiting:
            commit = commits.get(waiting.pop())
            if commit and commit.id not in past:
                past.add(commit.id)
                waiting += commit.parents
                for change in commit.changes:
                    blobs.setdefault(change.path, change.new_blob)
        if past:
            first = list(blobs.items())[:_MAX_FILES_PER_BRANCH]
            contents[name] = {path: blob for path, blob in first if blob.strip("0")}
    return contents


# What git says


def _check_history(
    repository: RepositoryRefs,
    claims: Sequence[RecordClaims],
    missing: dict[str, dict[str, list[str]]],
    files: _ProjectFiles,
    *,
    branches: _GoneBranches,
    packages: PackageCheck,
) -> dict[str, list[str]]:
    """The reasons for doubt, by claim; `missing` has the places of its missing files.

    git is called once for what is missing (twice where no commit deleted it), once for branches
    that are gone, and twice for what manifests said; each only where there is such a thing.
    """
    reasons = {claim.id: _branch_reasons(claim, branches) for claim in claims}
    is_asked = any(missing.values()) or branches.tips or packages.suspects
    if not is_asked or not repository.has_commit():
        return reasons
    files.stamps.add(*repository.head_files())
    abandoned = _abandoned_texts(repository, branches.tips)
    places = (place for named in missing.values() for found in named.values() for place in found)
    paths = list(dict.fromkeys(places))[:_MAX_MISSING_PATHS]
    oldest = min(
        (
            claim.created
            for claim in claims
            if missing[claim.id] or claim.branch in abandoned or claim.id in packages.suspects
        ),
        default="",
    )
    deletions = _deletion_commits(repository, paths, oldest, files)
    edited = sorted({path for blobs in abandoned.values() for path in blobs})
    edited += packages.history_paths if packages.suspects else []
    edits = file_history.list_edits(repository.top, edited, oldest) if edited else []
    contents = {(change.path, change.new_blob) for commit in edits for change in commit.changes}
    uncommitted = _uncommitted_deletions(repository, paths, files.stamps)
    history = _DeletionHistory(files, deletions, uncommitted)
    _add_missing_files(repository, claims, missing, history, reasons)
    for claim in claims:
        # A squashed branch lives on in the contents of its files; one that changed none is no loss.
        blobs = abandoned.get(claim.branch, {})
        if blobs and claim.branch not in claim.branches and contents.isdisjoint(blobs.items()):
            reasons[claim.id].append(f"branch {claim.branch} is gone")
    for id_, reason in manifest_check.confirm_with_history(repository.top, packages, edits):
        reasons[id_].append(reason)
    return reasons


def _uncommitted_deletions(
    repository: RepositoryRefs, paths: Sequence[str], seen: FileStamps
) -> frozenset[str]:
    """The missing paths that git still has in its index: deleted, and not committed. None while git
    is in the middle of a rebase or the like."""
    if not paths or checkout.operation_in_progress(repository.top):
        return frozenset()
    index = os.path.join(repository.git_dir, "index")
    stamp = briefing_cache.file_stamp(index)
    if found := file_history.paths_in_index(repository.top, paths):
        seen.stamps.setdefault(index, stamp)
    return found


def _add_missing_files(
    repository: RepositoryRefs,
    claims: Sequence[RecordClaims],
    missing: dict[str, dict[str, list[str]]],
    history: _DeletionHistory,
    reasons: dict[str, list[str]],
) -> None:
    """Add a reason for each missing file that git ever had."""
    waiting = [(one, path, places) for one in claims for path, places in missing[one.id].items()]
    is_settled = bool(checkout.operation_in_progress(repository.top))
    while waiting:
        unknown = []
        for claim, path, places in waiting:
            if reason := history.reason_gone(path, places, claim.created):
                reasons[claim.id].append(reason)
            else:
                unknown.append((claim, path, places))
        if is_settled or not unknown:
            return
        # Deleted with `git rm`, and not committed.
        staged = file_history.list_staged_deletions(repository.top)
        history.add_commit(FileCommit("", _END_OF_TIME, (), staged))
        waiting, is_settled = unknown, True


def _deletion_commits(
    repository: RepositoryRefs, paths: Sequence[str], oldest: str, files: _ProjectFiles
) -> list[FileCommit]:
    """The commits that deleted the paths, and those that deleted what they were renamed to."""
    commits: list[FileCommit] = []
    asked: set[str] = set()
    waiting = list(paths)
    for _ in range(_MAX_RENAME_ROUNDS):
        if not waiting:
            break
        asked.update(waiting)
        more = file_history.list_deletions(repository.top, waiting, oldest)
        commits += [commit for commit in more if commit not in commits]
        names = dict.fromkeys(
            change.new_path
            for commit in more
            for change in commit.changes
            if change.path in asked and change.kind == "R"
        )
        waiting = [name for name in names if name not in asked and files.exists(name) is False]
    return sorted(commits, key=lambda commit: commit.at)


class _DeletionHistory:
    """What commits, oldest first, and the index tell of files that are missing; the index of those
    in `unsaved`."""

    def __init__(
        self, files: _ProjectFiles, commits: Sequence[FileCommit], unsaved: frozenset[str]
    ) -> None:
        self._files, self._uncommitted = files, unsaved
        # path -> when it went for the last time, and where to
        self._last_deletion: dict[str, tuple[str, str]] = {}
        for commit in commits:
            self.add_commit(commit)

    def add_commit(self, commit: FileCommit) -> None:
        for change in commit.changes:
            self._last_deletion[change.path] = (commit.at, change.new_path)

    def reason_gone(self, path: str, places: Sequence[str], created: str) -> str:
        """Why the path is in doubt; empty when git had no such file or folder since the claim."""
        for place in places:
            at, to = self._last_deletion.get(place, ("", ""))
            if place.endswith("/"):
                at, to = self._folder_deletion(place)
            if at >= created:
                for _ in range(8):
                    if to and not self._files.exists(to):
                        to = self._last_deletion.get(to, ("", ""))[1]
                is_named = to and _SAFE_NAME_RE.fullmatch(to)
                return f"{path} is gone" + (f" (renamed to {to})" if is_named else "")
        return f"{path} is gone" if any(place in self._uncommitted for place in places) else ""

    def _folder_deletion(self, folder: str) -> tuple[str, str]:
        """When the last file of a folder was deleted, and the folder that it was renamed to."""
        deletions = ((at, path, to) for path, (at, to) in self._last_deletion.items())
        inside = (one for one in deletions if one[1].startswith(folder))
        at, path, to = max(inside, default=("", "", ""))
        other = to.removesuffix(path.removeprefix(folder))
        is_there = other.endswith("/") and to != other and self._files.exists(other)
        return at, other if is_there else ""


def _edited_files(
    repository: RepositoryRefs, held: Sequence[RecordClaims], files: _ProjectFiles, seen: FileStamps
) -> dict[str, tuple[str, ...]]:
    """The files of claims that are there and were edited after them, by claim."""
    named: dict[str, list[str]] = {}
    for claim in held:
        located = [files.locate(path) for path in claim.files if path[-1] != "/"]
        named[claim.id] = [places[0] for there, places in located if there]
    every_place = (place for places in named.values() for place in places)
    paths = list(dict.fromkeys(every_place))[:_MAX_MISSING_PATHS]
    if not paths or not repository.has_commit():
        return {}
    seen.add(*repository.head_files())
    times: dict[str, list[str]] = {}
    oldest = min(claim.created for claim in held if named[claim.id])
    for commit in file_history.list_edits(repository.top, paths, oldest):
        for change in commit.changes:
            times.setdefault(change.path, []).append(commit.at)
    edited: dict[str, tuple[str, ...]] = {}
    for claim in held:
        later = [one for one in named[claim.id] if max(times.get(one, [""])) > claim.created]
        if later:
            edited[claim.id] = tuple(later)
    return edited
