"""Whether what a record claims still holds: looked up in the files around a directory and in their git history.

The work tree decides what is there; what git knew decides whether it ever was. A file or folder is gone when git had it
at the time of the claim or later, in a commit or in its index, and it is neither here nor in any other place that the
claim can mean; a branch is gone when this clone has had it checked out, and its work is nowhere else (or the record
itself says `branch NAME`, and it was not merged); a package when a manifest named it since. What git has never known here (a path of another project, a
record read in a fresh clone, a file that was only planned) is not doubted.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence

from cortex.core.claims import RecordClaims
from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.operations.find import manifest_check
from cortex.operations.find.manifest_check import PackageCheck
from cortex.vault.git import checkout, file_history
from cortex.vault.git.branches import is_branch_name
from cortex.vault.git.file_history import FileCommit
from cortex.vault.git.refs import RepositoryRefs
from cortex.vault.state import briefing_cache

MAX_CLAIMS = 200
_END_OF_TIME = "9999"  # later than any time
_MAX_MISSING_PATHS = 40  # paths that git is asked for
_MAX_BRANCH_TIPS, _MAX_FILES_PER_BRANCH = (
    4,
    6,
)  # branches whose work is looked for elsewhere; files of each
_MAX_RENAME_ROUNDS = 3  # renamings of a file that is gone under its new name too
_MAX_REASON_CHARS = 160  # characters of one reason
_MAX_REASONS = 3
_TIME_RE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SAFE_NAME_RE = re.compile(r"[\w./@+()\[\] -]{1,120}")  # names that go into a line of a briefing


class Contradiction(NamedTuple):
    """Why a claim may not hold any more."""

    reason: str  # ends a line that begins `was true on <day>:`


class ClaimCheck(NamedTuple):
    """The doubts by the ids of their claims, and what the answer depends on: `used` names files and folders with their
    stamps (empty: not there). `changed` names, of claims without a doubt, the files that commits have edited since."""

    contradictions: dict[str, Contradiction]
    file_stamps: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()
    edited_files: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  nobody writes to it


class FileStamps:
    """What has been looked at, with the stamps from before the look."""

    def __init__(self) -> None:
        self.stamps: dict[str, str] = {}

    def add(self, *paths: str) -> None:
        for path in paths:
            if path not in self.stamps:
                self.stamps[path] = briefing_cache.file_stamp(path)


def find_contradictions(
    directory: str, claims: Sequence[RecordClaims], *, changed: bool = False
) -> ClaimCheck:
    """What is in doubt among the claims about the project around `directory`. Never raises for what git or the files
    say; with `changed` one more call of git tells which files were edited since."""
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
    found: dict[str, list[str]] = {}
    edited: dict[str, tuple[str, ...]] = {}
    if repository is None:
        found = {
            id_: told
            for id_, named in missing.items()
            if (told := files.reasons_without_git(named))
        }
    else:
        asked = _HistoryQuery(
            claims, missing, _find_gone_branches(repository, claims, seen), packages
        )
        try:
            found = _check_history(repository, asked, files, seen)
            if changed:
                edited = _edited_files(
                    repository, [claim for claim in claims if claim.id not in found], files, seen
                )
        except CortexError as error:
            problems.append(
                Problem("git", f"what records claim was not checked: {error.message}", error.hint)
            )
    in_doubt = {id_: Contradiction(_join_reasons(reasons)) for id_, reasons in found.items()}
    return ClaimCheck(in_doubt, tuple(seen.stamps.items()), tuple(problems), edited)


def _join_reasons(reasons: Sequence[str]) -> str:
    told = sorted(
        dict.fromkeys(reasons), key=lambda reason: reason.startswith("branch ")
    )  # that a branch is gone says less of what is true
    more = len(told) - _MAX_REASONS
    return "; ".join(shorten(reason, _MAX_REASON_CHARS) for reason in told[:_MAX_REASONS]) + (
        f", and {more} more" if more > 0 else ""
    )


# Files


class _ProjectFiles:
    """Which of the paths that claims name are there. Nothing outside the project is looked at."""

    def __init__(self, top: str, below: str, seen: FileStamps) -> None:
        self.top, self.subfolder, self._stamps = (
            top,
            "" if below == "." else below.replace(os.sep, "/"),
            seen,
        )
        self._top_folder_names: list[str] | None = None
        self._located: dict[str, tuple[bool, list[str]]] = {}
        self._known_folders: dict[str, bool | None] = {}

    def find_missing(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """The paths that are not there, each with all the places that it can mean."""
        told: dict[str, list[str]] = {}
        for path in paths:
            there, places = self.locate(path)
            if not there and places:
                told[path] = places
        return told

    def locate(self, path: str) -> tuple[bool, list[str]]:
        """Whether the file is there, and where: the place that has it, or all that it can mean."""
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
        """Whether there is such a file, or folder; None when the way there leads through a link."""
        folder, _, name = path.rstrip("/").rpartition("/")
        inside = self._folder_exists(folder)
        if not inside:
            return inside
        here = f"{self.top}/{folder}" if folder else self.top
        self._stamps.add(
            here
        )  # a folder changes when something in it comes or goes, and not when a file is edited
        return (
            self._folder_exists(path.rstrip("/"))
            if path.endswith("/")
            else os.path.lexists(f"{here}/{name}")
        )

    def _folder_exists(self, folder: str) -> bool | None:
        """Whether there is such a folder; None when a link leads to it."""
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
                    self._stamps.add(f"{self.top}/{outer}" if outer else self.top)
            self._known_folders[folder] = inside
        return self._known_folders[folder]

    def reasons_without_git(self, missing: dict[str, list[str]]) -> list[str]:
        """What can be said without a history: the file is not there, though its folder has others of its kind."""
        told = []
        for path, places in missing.items():
            folder, _, name = path.rpartition("/")
            ending = name.rpartition(".")[2]
            if (
                folder
                and name
                and any(
                    other.endswith(f".{ending}")
                    for place in places
                    for other in self._list_folder(place.rpartition("/")[0])
                )
            ):
                told.append(f"{path} is not there")
        return told

    def _list_folder(self, folder: str) -> list[str]:
        try:
            return os.listdir(os.path.join(self.top, folder))
        except OSError:
            return []

    def _candidate_paths(self, path: str) -> Iterator[str]:
        """A path counts from the top, from the directory, or from a folder of the top that has its first folder."""
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
            self._stamps.add(self.top)
            try:
                with os.scandir(self.top) as entries:
                    names = [
                        one.name
                        for one in entries
                        if not one.name.startswith(".") and one.is_dir(follow_symlinks=False)
                    ]
            except OSError:
                names = []
            self._top_folder_names = sorted(names)[:100]
        return self._top_folder_names


# Branches


class _GoneBranches(NamedTuple):
    """Branches that are no more: `sure` with the reason, `tips` with the commit where this clone left them, `known` those that
    it had checked out and did not merge."""

    reasons: dict[str, str]
    tips: dict[str, str]
    unmerged: frozenset[str]


def _find_gone_branches(
    repository: RepositoryRefs, claims: Sequence[RecordClaims], seen: FileStamps
) -> _GoneBranches:
    own = {claim.branch for claim in claims}
    names = {*own, *(name for claim in claims for name in claim.branches)} - {
        "",
        repository.current_branch(),
    }
    named = sorted(name for name in names if is_branch_name(name) and _SAFE_NAME_RE.fullmatch(name))
    seen.add(os.path.join(repository.git_dir, "HEAD"))
    if not named or repository.uses_reftable():
        return _GoneBranches({}, {}, frozenset())
    seen.add(
        os.path.join(repository.common_dir, "packed-refs"),
        os.path.join(repository.common_dir, "refs", "remotes"),
    )
    seen.add(
        *(
            os.path.dirname(os.path.join(repository.common_dir, "refs", "heads", name))
            for name in named
        )
    )
    gone = [name for name in named if not repository.has_branch(name)]
    if not gone:
        return _GoneBranches({}, {}, frozenset())
    seen.add(*repository.head_logs())
    renamed, merged, left = (
        repository.renamed_branches(),
        repository.merged_branches(),
        repository.last_head_by_branch(),
    )
    sure: dict[str, str] = {}
    tips: dict[str, str] = {}
    known: set[str] = set()
    for name in gone:
        last = name
        for _ in range(8):
            if last in renamed and not repository.has_branch(last):
                last = renamed[last]
        if last != name and repository.has_branch(last) and _SAFE_NAME_RE.fullmatch(last):
            sure[name] = f"branch {name} is gone (renamed to {last})"
        elif last in left and not {name, last} & merged:
            known.add(name)
            if name in own and len(tips) < _MAX_BRANCH_TIPS:
                tips[name] = left[last]
    return _GoneBranches(sure, tips, frozenset(known))


def _branch_reasons(claim: RecordClaims, left: _GoneBranches) -> list[str]:
    """What is said of the branches that the claim was made on or names. One that is only known to be gone says so only where it
    is named: the work of the claim's own may live on elsewhere."""
    told = [
        left.reasons[name]
        for name in dict.fromkeys((claim.branch, *claim.branches))
        if name in left.reasons
    ]
    return told + [f"branch {name} is gone" for name in claim.branches if name in left.unmerged]


def _abandoned_contents(
    repository: RepositoryRefs, tips: dict[str, str]
) -> dict[str, dict[str, str]]:
    """The branches whose last commit no branch has, each with the last contents of files that it changed."""
    commits = (
        {
            commit.id: commit
            for commit in file_history.list_unmerged(repository.top, list(tips.values()))
        }
        if tips
        else {}
    )
    told: dict[str, dict[str, str]] = {}
    for name, tip in tips.items():
        waiting, past, held = [tip], set[str](), dict[str, str]()
        while waiting:
            commit = commits.get(waiting.pop())
            if commit and commit.id not in past:
                past.add(commit.id)
                waiting += commit.parents
                for change in commit.changes:
                    held.setdefault(change.path, change.new_blob)
        if past:
            told[name] = {
                path: blob
                for path, blob in list(held.items())[:_MAX_FILES_PER_BRANCH]
                if blob.strip("0")
            }
    return told


# What git says


class _HistoryQuery(NamedTuple):
    """What has to be looked up in the history: missing files by claim, with the places that each can mean."""

    claims: Sequence[RecordClaims]
    missing: dict[str, dict[str, list[str]]]
    gone_branches: _GoneBranches
    package_check: PackageCheck


def _check_history(
    repository: RepositoryRefs, asked: _HistoryQuery, files: _ProjectFiles, seen: FileStamps
) -> dict[str, list[str]]:
    """The reasons for doubt, by claim. git is called once for what is missing (once more for what the index deletes, where no
    commit did), once for branches that were left and twice for what manifests said, each only when there is such a thing."""
    found = {
        claim.id: reasons
        for claim in asked.claims
        if (reasons := _branch_reasons(claim, asked.gone_branches))
    }
    suspects = asked.package_check.suspects
    if (
        not (any(asked.missing.values()) or asked.gone_branches.tips or suspects)
        or not repository.has_commit()
    ):
        return found
    seen.add(*repository.head_files())
    abandoned = _abandoned_contents(repository, asked.gone_branches.tips)
    paths = list(
        dict.fromkeys(
            place
            for named in asked.missing.values()
            for places in named.values()
            for place in places
        )
    )[:_MAX_MISSING_PATHS]
    landed = sorted({path for held in abandoned.values() for path in held})
    watched = asked.package_check.history_paths if suspects else []
    asking = [
        claim.created
        for claim in asked.claims
        if asked.missing[claim.id] or claim.branch in abandoned or claim.id in suspects
    ]
    gone = _deletion_commits(repository, paths, min(asking, default=""), files)
    edits = (
        file_history.list_edits(repository.top, [*landed, *watched], min(asking))
        if landed or watched
        else []
    )
    contents = {(change.path, change.new_blob) for commit in edits for change in commit.changes}
    told = _missing_file_reasons(
        repository,
        asked,
        _DeletionHistory(files, gone, _uncommitted_deletions(repository, paths, seen)),
    )
    for claim in asked.claims:
        reasons = told[claim.id]
        # A branch that was squashed lives on in the contents of its files. One that changed none is no loss.
        if (
            claim.branch not in claim.branches
            and abandoned.get(claim.branch)
            and contents.isdisjoint(abandoned[claim.branch].items())
        ):
            reasons.append(f"branch {claim.branch} is gone")
        if reasons := [reason for reason in reasons if reason]:
            found.setdefault(claim.id, []).extend(reasons)
    for id_, reason in manifest_check.confirm_with_history(
        repository.top, asked.package_check, edits
    ):
        found.setdefault(id_, []).append(reason)
    return found


def _uncommitted_deletions(
    repository: RepositoryRefs, paths: Sequence[str], seen: FileStamps
) -> frozenset[str]:
    """The missing paths that git still has in its index: deleted and not committed yet. Nothing is said in the middle of a rebase."""
    if not paths or checkout.operation_in_progress(repository.top):
        return frozenset()
    index = os.path.join(repository.git_dir, "index")
    stamp = briefing_cache.file_stamp(index)
    if found := file_history.paths_in_index(repository.top, paths):
        seen.stamps.setdefault(index, stamp)
    return found


def _missing_file_reasons(
    repository: RepositoryRefs, asked: _HistoryQuery, history: _DeletionHistory
) -> dict[str, list[str]]:
    """By claim what is said of each file that is not there; empty where git never had it."""

    def told() -> dict[str, list[str]]:
        return {
            claim.id: [
                history.reason_gone(path, places, claim.created)
                for path, places in asked.missing[claim.id].items()
            ]
            for claim in asked.claims
        }

    said = told()
    if all(
        reason for reasons in said.values() for reason in reasons
    ) or checkout.operation_in_progress(repository.top):
        return said
    history.add_commit(
        FileCommit("", _END_OF_TIME, (), file_history.list_staged_deletions(repository.top))
    )  # deleted with `git rm`, and not committed
    return told()


def _deletion_commits(
    repository: RepositoryRefs, paths: Sequence[str], oldest: str, files: _ProjectFiles
) -> list[FileCommit]:
    """The commits that took the paths away, and those that took away what they were renamed to."""
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
    """What commits, the oldest first, tell of files that are not there; of `unsaved` ones the index does."""

    def __init__(
        self, files: _ProjectFiles, commits: Sequence[FileCommit], unsaved: frozenset[str]
    ) -> None:
        self._files, self._uncommitted = files, unsaved
        self._last_deletion: dict[
            str, tuple[str, str]
        ] = {}  # path -> when it went for the last time, and where to
        for commit in commits:
            self.add_commit(commit)

    def add_commit(self, commit: FileCommit) -> None:
        self._last_deletion.update(
            (change.path, (commit.at, change.new_path)) for change in commit.changes
        )

    def reason_gone(self, path: str, places: Sequence[str], created: str) -> str:
        """Why the path is in doubt; empty when git knows of no such file or folder since the claim."""
        for place in places:
            at, to = (
                self._folder_deletion(place)
                if place.endswith("/")
                else self._last_deletion.get(place, ("", ""))
            )
            if at >= created:
                for _ in range(8):
                    if to and not self._files.exists(to):
                        to = self._last_deletion.get(to, ("", ""))[1]
                return (
                    f"{path} is gone (renamed to {to})"
                    if to and _SAFE_NAME_RE.fullmatch(to)
                    else f"{path} is gone"
                )
        return f"{path} is gone" if any(place in self._uncommitted for place in places) else ""

    def _folder_deletion(self, folder: str) -> tuple[str, str]:
        """When the last file of a folder went, and to which folder."""
        at, path, to = max(
            (
                (at, path, to)
                for path, (at, to) in self._last_deletion.items()
                if path.startswith(folder)
            ),
            default=("", "", ""),
        )
        rest = path.removeprefix(folder)
        other = to.removesuffix(rest)
        return at, other if other.endswith("/") and to != other and self._files.exists(
            other
        ) else ""


def _edited_files(
    repository: RepositoryRefs,
    claims: Sequence[RecordClaims],
    files: _ProjectFiles,
    seen: FileStamps,
) -> dict[str, tuple[str, ...]]:
    """The files of claims that are there and were edited after them, by claim."""
    named = {
        claim.id: [
            place
            for path in claim.files
            if path[-1] != "/"
            for there, places in [files.locate(path)]
            if there
            for place in places
        ]
        for claim in claims
    }
    paths = list(dict.fromkeys(place for places in named.values() for place in places))[
        :_MAX_MISSING_PATHS
    ]
    if not paths or not repository.has_commit():
        return {}
    seen.add(*repository.head_files())
    times: dict[str, list[str]] = {}
    for commit in file_history.list_edits(
        repository.top, paths, min(claim.created for claim in claims if named[claim.id])
    ):
        for change in commit.changes:
            times.setdefault(change.path, []).append(commit.at)
    told = {
        claim.id: tuple(
            place
            for place in named[claim.id]
            if any(at > claim.created for at in times.get(place, ()))
        )
        for claim in claims
    }
    return {id_: places for id_, places in told.items() if places}
