"""Whether what records claim still holds, by git's history of the project around a directory.

A file or folder is gone when a commit since the claim, or the work tree, deleted or renamed it, and
no place that the claim can mean has it now. A package is gone when such a change took it out of a
manifest, and no manifest names it now. A branch that a record names is gone when this clone had it
checked out and did not merge it. What git has never known here is not doubted: a path of another
project, a file that was only planned, a record in a fresh clone.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import CODE_TYPES, TIER_CURRENT
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.record import ONE_PERSONS_SCOPES
from cortex.core.text.days import Zone, clock
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.operations.capture.project_context import resolve_project
from cortex.operations.find.hits import read_text
from cortex.vault import files
from cortex.vault.git import checkout, git_cli
from cortex.vault.git.branches import RepositoryRefs
from cortex.vault.locate import Vault
from cortex.vault.state import briefing_cache

if TYPE_CHECKING:
    from cortex.core.extract.claims import RecordClaims

MAX_CLAIMS, MAX_SOURCE_BYTES = 200, 1_000_000
# What is to come, was so then, or is asked; of code another check is made.
_CLAIM_NOTHING = ("action", "plan", "session", "meeting", "question", *CODE_TYPES)
TIMEOUT_SECONDS = 2.0  # for one call of git; a history of 5,000 commits takes 0.1
_NOW = "9999"  # the time of what no commit has yet
_MAX_PATHS = 40  # paths that git is asked for
_MAX_COMMITS = 400  # that touch what is asked for
_MAX_REASON_CHARS = 160  # characters of one reason
_MAX_REASONS = 3
_MAX_FOLDERS, _MAX_ENTRIES, _MAX_MANIFESTS = 200, 400, 60
_MAX_MANIFEST_BYTES = 512 * 1024
_TIME_RE = lazy_re(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SAFE_NAME_RE = lazy_re(r"[\w./@+()\[\] -]{1,120}")  # names that go into a line of a briefing
_SEPARATORS_RE = lazy_re(r"[-_.]+")
_USUAL_MANIFESTS = ("pyproject.toml", "requirements.txt", "package.json", "go.mod", "Cargo.toml")
# Files that name packages. They are read as text, whatever their format.
_MANIFESTS = frozenset([
    *map(str.casefold, _USUAL_MANIFESTS), "setup.py", "setup.cfg", "pipfile", "environment.yml",
    "environment.yaml", "conda.yaml", "meta.yaml", "build.gradle", "build.gradle.kts", "pom.xml",
    "gemfile", "composer.json", "deno.json", "deno.jsonc", "mix.exs", "pnpm-workspace.yaml",
    "dockerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml",
    "flake.nix", "pixi.toml", "import_map.json", "libs.versions.toml", "noxfile.py", "tox.ini",
    "justfile", "makefile", "build.zig.zon", "pubspec.yaml", "package.swift", "cmakelists.txt",
])  # fmt: skip
SKIPPED_FOLDERS = frozenset([
    "node_modules", "vendor", "dist", "build", "target", "venv", "env", "site-packages", "third_party",
])  # fmt: skip


class ClaimCheck(NamedTuple):
    """Contradictions by the ids of their notes. `file_stamps` has the files and folders that were
    looked at (an empty stamp: not there); `edited_files`, of notes without a contradiction, the
    files that commits have edited since."""

    contradictions: dict[str, str]
    file_stamps: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()
    edited_files: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  nobody writes to it


class ClaimingNote(NamedTuple):
    """What is read of a note to find its claims."""

    id: str
    title: str
    body: str
    created: str
    type: str


def find_contradictions(
    directory: str, notes: Iterable[ClaimingNote], *, changed: bool = False
) -> ClaimCheck:
    """Contradictions of notes about the project around `directory`. What git or the files say never
    raises. `changed` fills `edited_files`, by one more call of git."""
    # The patterns cost 5 ms, and most answers repeat no record.
    from cortex.core.extract.claims import extract_claims  # noqa: PLC0415

    claims = [
        extract_claims(one.id, one.title, one.body, one.created)
        for one in notes
        if one.type != "rejection" and _TIME_RE.fullmatch(one.created)
    ]
    claims = [one for one in claims if one.files or one.packages or one.branches][:MAX_CLAIMS]
    place = checkout.find_repository(directory) if claims else None
    if place is None or place[0] == os.path.realpath(os.path.expanduser("~")):
        return ClaimCheck({})
    project = _Project(RepositoryRefs(*place), directory)
    reasons: dict[str, list[str]] = {claim.id: [] for claim in claims}
    edited: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = []
    try:
        # That a branch is gone says less of what is true, and comes last.
        for find_gone in (_find_gone_files, _find_gone_packages, _find_gone_branches):
            for id_, reason in find_gone(project, claims):
                reasons[id_].append(reason)
        if changed:
            edited = _find_edited(project, [claim for claim in claims if not reasons[claim.id]])
    except CortexError as error:
        why = f"what records claim was not checked: {error.message}"
        problems.append(Problem("git", why, error.hint))
    in_doubt = {id_: _join_reasons(why) for id_, why in reasons.items() if why}
    return ClaimCheck(in_doubt, tuple(project.stamps.items()), tuple(problems), edited)


def find_dated_contradictions(
    directory: str, notes: Sequence[ClaimingNote], zone: Zone, *, changed: bool = False
) -> ClaimCheck:
    """Contradictions as a line says them, with the day on which the note was right."""
    found = find_contradictions(directory, notes, changed=changed)
    days = {one.id: clock(one.created, zone)[:10] for one in notes}
    said = {id_: f"was true on {days[id_]}: {why}" for id_, why in found.contradictions.items()}
    return found._replace(contradictions=said)


def find_doubts(vault: Vault, caller: Caller, rows: Sequence[NoteRow]) -> dict[str, str]:
    """Why records that an answer shows may not hold any more, by their ids: of code, and of the
    project around the working directory in the words of a briefing. These are cached like one."""
    doubts = {row.id: find_code_doubt(vault, caller, row) for row in rows if row.type in CODE_TYPES}
    shared = (row for row in rows if row.scope not in ONE_PERSONS_SCOPES and row.id != row.path)
    some = [row for row in shared if row.tier == TIER_CURRENT and row.type not in _CLAIM_NOTHING]
    around = checkout.find_repository(caller.cwd) if some else None
    project = resolve_project(vault, caller, "") if around else ""
    here = {row.id: row for row in some[:MAX_CLAIMS] if row.project == project}
    if around is None or not here:
        return doubts
    key = briefing_cache.BriefingKey(project, " ".join(here), 0, around.top, caller.zone.name)
    if known := briefing_cache.read_cached_briefing(vault, key):
        return doubts | dict(zip(known.ids, known.text.split("\n"), strict=False))
    began = time.time_ns()
    told = [
        ClaimingNote(id_, row.title, read_text(vault, row).partition("\n---\n")[2], row.created, "")
        for id_, row in here.items()
    ]
    check = find_dated_contradictions(around.top, told, caller.zone)
    said = check.contradictions
    if not check.problems:
        used = {vault.file(row.path): "" for row in here.values()}
        cached = briefing_cache.CachedBriefing("\n".join(said.values()), tuple(said))
        briefing_cache.write(vault, key, cached, used | dict(check.file_stamps), began)
    return doubts | said


def find_code_doubt(vault: Vault, caller: Caller, row: NoteRow) -> str:
    """Why what a record says of code may not hold; empty of others, and from outside of its project."""
    if row.type not in CODE_TYPES or row.project != resolve_project(vault, caller, ""):
        return ""
    from cortex.core.extract.code_units import SOURCE_RE, code_notes  # noqa: PLC0415  Python's parser

    found, around = SOURCE_RE.search(read_text(vault, row)), checkout.find_repository(caller.cwd)
    path, language, digest = found.groups() if found else ("", "", "")
    if os.path.isabs(path) or ".." in path.split("/"):  # a record may come from a stranger
        return ""
    file = os.path.join(around.top if around else caller.cwd, path)
    data = files.read_bounded(file, MAX_SOURCE_BYTES + 1)
    now = code_notes(path, data.decode("utf-8", "replace"), language)
    if not found or any(f", {digest}." in one.body for one in now):
        return ""
    return f"{path} has changed since" if data else f"{path} is not there"


def _join_reasons(reasons: Sequence[str]) -> str:
    shown = "; ".join(shorten(reason, _MAX_REASON_CHARS) for reason in reasons[:_MAX_REASONS])
    more = len(reasons) - _MAX_REASONS
    return f"{shown}, and {more} more" if more > 0 else shown


class _Project:
    """The work tree around a directory, and the stamps of what was looked at in it. Nothing outside
    is looked at."""

    def __init__(self, repository: RepositoryRefs, directory: str) -> None:
        self.repository, self.top = repository, repository.top
        below = os.path.relpath(os.path.realpath(directory), self.top)
        self.subfolder = "" if below == "." else below.replace(os.sep, "/")
        self.stamps: dict[str, str] = {}
        self._top_folder_names: list[str] | None = None

    def see(self, *paths: str) -> None:
        """Keep the stamps of paths, before they are read."""
        for path in paths:
            if path not in self.stamps:
                self.stamps[path] = briefing_cache.file_stamp(path)

    def locate(self, path: str) -> tuple[str, list[str]]:
        """Where the file or folder is (empty: nowhere), and else all places that it can mean."""
        places = []
        for place in self._candidate_paths(path):
            exists = self.exists(place)
            if exists:
                return place, []
            places += [place] if exists is False else []
        return "", places

    def exists(self, path: str) -> bool | None:
        """Whether the file or folder exists; None when its path leads through a link."""
        here = self.top
        *folders, name = path.rstrip("/").split("/")
        for folder in folders:
            mode = _file_mode(f"{here}/{folder}")
            if not stat.S_ISDIR(mode):
                self.see(here)
                return None if stat.S_ISLNK(mode) else False
            here = f"{here}/{folder}"
        # A folder changes when something in it comes or goes, and not when a file is edited.
        self.see(here)
        mode = _file_mode(f"{here}/{name}")
        return stat.S_ISDIR(mode) if path.endswith("/") else mode != 0

    def _candidate_paths(self, path: str) -> Iterator[str]:
        """A path counts from the top, from the directory, or from a folder of the top that has its
        first folder."""
        yield path
        if self.subfolder:
            yield f"{self.subfolder}/{path}"
        first, slash, _ = path.partition("/")
        if slash:
            inside = (name for name in self._top_folders() if self.exists(f"{name}/{first}/"))
            yield from (f"{name}/{path}" for name in inside)

    def _top_folders(self) -> list[str]:
        if self._top_folder_names is None:
            names = files.list_folder(self.top)
            folders = (name for name in names if stat.S_ISDIR(_file_mode(f"{self.top}/{name}")))
            self._top_folder_names = [name for name in folders if not name.startswith(".")][:100]
        return self._top_folder_names

    def ask_git(
        self, paths: Sequence[str], since: str, *words: str, log_only: Sequence[str] = ()
    ) -> list[tuple[str, str]]:
        """What git says of changes of the paths since a time, newest first: lines with their times.
        What no commit has yet comes first, unless git is in the middle of a rebase or the like, or
        it is asked for its log alone."""
        if not paths or not self.repository.has_commit():
            return []
        self.see(*self.repository.head_files())
        date = "--date=format-local:%Y-%m-%dT%H:%M:%SZ"
        log = ["log", "--format=%x01%cd", date, f"-n{_MAX_COMMITS}", f"--since={since}", *log_only]
        commands = [[*log, *words, "HEAD", "--", *paths]]
        if "--name-only" not in words and not checkout.operation_in_progress(self.top):
            commands.insert(0, ["diff-index", *words, "HEAD", "--", *paths])
        found = []
        for command in commands:
            environment = {"TZ": "UTC0"}
            ran = git_cli.run_unchecked(
                self.top, command, timeout=TIMEOUT_SECONDS, extra=environment
            )
            if ran.code:
                raise git_cli.command_error(command[0], ran, self.top)
            at = _NOW
            for line in ran.stdout.decode("utf-8", "replace").split("\n"):
                if line.startswith("\x01"):
                    at = line[1:]
                elif line:
                    found.append((at, line))
        return found


def _file_mode(path: str) -> int:
    """The type of a file, and of a link itself; 0 when there is none."""
    try:
        return os.lstat(path).st_mode
    except (OSError, ValueError):
        return 0


def _find_gone_files(
    project: _Project, claims: Sequence[RecordClaims]
) -> Iterator[tuple[str, str]]:
    """Ids of claims with what is said of each of their missing files that git had since."""
    located = {path: project.locate(path) for claim in claims for path in claim.files}
    missing = {path: places for path, (there, places) in located.items() if not there}
    paths = list(dict.fromkeys(place for places in missing.values() for place in places))
    asking = [claim for claim in claims if not missing.keys().isdisjoint(claim.files)]
    if not paths:
        return
    # -l100: that many files of one commit are compared; equal ones are always found.
    words = ("--name-status", "-M", "-l100", "--diff-filter=DR")
    oldest = min(claim.created for claim in asking)
    # path -> when it went for the last time, and where to
    deletions: dict[str, tuple[str, str]] = {}
    for at, line in project.ask_git(paths[:_MAX_PATHS], oldest, *words, log_only=["--full-diff"]):
        _, path, *new = line.split("\t")
        deletions.setdefault(path, (at, "".join(new)))
    for claim in asking:
        for path in filter(missing.__contains__, claim.files):
            for place in missing[path]:
                at, to = deletions.get(place, ("", ""))
                if place.endswith("/"):
                    inside = (one for name, one in deletions.items() if name.startswith(place))
                    at, to = max(inside, default=("", ""))[0], ""
                if at >= claim.created:
                    is_told = _SAFE_NAME_RE.fullmatch(to) and project.exists(to)
                    yield claim.id, f"{path} is gone" + (f" (renamed to {to})" if is_told else "")
                    break


def _find_gone_packages(
    project: _Project, claims: Sequence[RecordClaims]
) -> Iterator[tuple[str, str]]:
    """Ids of claims with what is said of each package that left the manifests since."""
    asking = [claim for claim in claims if claim.packages]
    manifests, folders = _list_manifests(project.top) if asking else ([], [])
    if not manifests:
        return
    paths = [os.path.join(project.top, name) for name in manifests]
    project.see(*paths)
    texts = (files.read_bounded(path, _MAX_MANIFEST_BYTES) for path in paths)
    text = _fold(b"\n".join(texts).decode("utf-8", "replace"))
    names = {name for claim in asking for name in claim.packages if _fold(name) not in text}
    if not names:
        return
    project.see(*(os.path.join(project.top, folder) for folder in folders))
    usual = [f"{project.subfolder}/{name}".lstrip("/") for name in _USUAL_MANIFESTS]
    history = list(dict.fromkeys([*usual, *_USUAL_MANIFESTS, *manifests]))[:_MAX_PATHS]
    words = ("-p", "-U0", "--text", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
    oldest = min(claim.created for claim in asking)
    removed = [
        (at, _fold(line[1:]))
        for at, line in project.ask_git(history, oldest, *words)
        if line.startswith("-") and not line.startswith("--- ")
    ]
    for name in sorted(names):
        named = re.compile(rf"(?:^\s*|[\"'/]){re.escape(_fold(name))}(?![\w-])")
        last = max((at for at, line in removed if named.search(line)), default="")
        for claim in asking:
            if name in claim.packages and last >= claim.created:
                yield claim.id, f"{name} is in no manifest any more"


def _fold(text: str) -> str:
    """A text in which names are compared: case, `-`, `_` and `.` make no difference."""
    return _SEPARATORS_RE.sub("-", text.casefold())


def _list_manifests(top: str) -> tuple[list[str], list[str]]:
    """Manifests, and the folders looked into: two deep from the top."""
    found: list[str] = []
    folders = [""]
    for folder in folders:
        with suppress(OSError), os.scandir(os.path.join(top, folder)) as entries:
            for entry in islice(sorted(entries, key=lambda entry: entry.name), _MAX_ENTRIES):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_file(follow_symlinks=False):
                    found += [path] if _is_manifest(path) else []
                elif (
                    entry.is_dir(follow_symlinks=False)
                    and path.count("/") < 2
                    and len(folders) < _MAX_FOLDERS
                    and entry.name not in SKIPPED_FOLDERS
                    and not entry.name.startswith(".")
                ):
                    folders.append(path)
    return found[:_MAX_MANIFESTS], folders


def _is_manifest(path: str) -> bool:
    folders, _, name = path.casefold().rpartition("/")
    is_list = name.startswith("requirements") or folders.endswith("requirements")
    return name in _MANIFESTS or (is_list and name.endswith((".txt", ".in")))


def _find_gone_branches(
    project: _Project, claims: Sequence[RecordClaims]
) -> Iterator[tuple[str, str]]:
    """Yield a record's id and a sentence for each branch that the record names and that is gone."""
    repository = project.repository
    names = {
        name
        for claim in claims
        for name in claim.branches
        if RepositoryRefs.is_branch_name(name) and _SAFE_NAME_RE.fullmatch(name)
    }
    if not names:
        return
    refs = os.path.join(repository.common_dir, "refs")
    packed = os.path.join(repository.common_dir, "packed-refs")
    project.see(os.path.join(repository.git_dir, "HEAD"), packed, os.path.join(refs, "remotes"))
    project.see(*checkout.table_lists(repository))
    project.see(*(os.path.dirname(os.path.join(refs, "heads", name)) for name in sorted(names)))
    gone = {name for name in names if not repository.has_branch(name)}
    if gone:
        project.see(*repository.log_files())
        gone &= repository.last_head_by_branch().keys() - repository.merged_branches()
    for claim in claims:
        for name in filter(gone.__contains__, claim.branches):
            yield claim.id, f"branch {name} is gone"


def _find_edited(project: _Project, claims: Sequence[RecordClaims]) -> dict[str, tuple[str, ...]]:
    """The files of claims that are there and were edited after them, by claim."""
    named = {
        claim.id: [project.locate(path)[0] for path in claim.files if path[-1] != "/"]
        for claim in claims
    }
    paths = list(dict.fromkeys(path for found in named.values() for path in found if path))
    last: dict[str, str] = {}
    if paths:
        oldest = min(claim.created for claim in claims if named[claim.id])
        lines = project.ask_git(paths[:_MAX_PATHS], oldest, "--name-only", "--no-renames")
        for at, path in lines:
            last.setdefault(path, at)
    edited = {
        claim.id: tuple(path for path in named[claim.id] if last.get(path, "") > claim.created)
        for claim in claims
    }
    return {id_: paths for id_, paths in edited.items() if paths}
