"""People's own notes and attachments in a vault that is a repository of its own: which of them
`cortex sync` takes along, why not, and their commit.

They are read into a copy of git's index, so that a file is committed whole or not at all: what
changes while git reads it is left for the next sync. What a person has staged is not in that copy,
and stays staged as it is.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress

from cortex.core.merge.body import marked_conflicts
from cortex.core.model.problem import CortexError, NotFoundError, Problem
from cortex.core.model.relation import MEDIA_SUFFIXES
from cortex.core.text.lazy_re import lazy_re
from cortex.vault import files, settings
from cortex.vault.foreign_settings import OBSIDIAN_FOLDER
from cortex.vault.git import changes, commit, git_cli, git_locks, merging, objects, publish_check
from cortex.vault.git.changes import StatusEntry, UncommittedChange
from cortex.vault.git.refusals import problem_of_file, take_all_but_refused
from cortex.vault.git.work_tree import add_words, why_absent

BUSY = "still being written; the next sync takes it"
_JUST_GONE = "deleted just now; the next sync takes it out"
_NOTE_SUFFIXES = frozenset(("md", "markdown", "txt", "canvas", "base"))
_SUFFIXES = _NOTE_SUFFIXES | MEDIA_SUFFIXES
_TEMP_PREFIXES = (".", "#", "~")  # of hidden files, and of what editors leave beside a file
_MAX_BYTES = 50_000_000  # of one file: hosting sites refuse 100 MB
_HELD = "not published"
# Of Obsidian's settings what one machine has open, and where plugins keep keys, often in no form
# that is known for one.
_OBSIDIAN_LEFT_RE = lazy_re(r"workspace|cache(?:/|$)|plugins/[^/]+/data\.json$")
_OBSIDIAN_LEFT = "of one machine, or may hold keys; git add and git commit take it"
_WAS_LINK = "was a link; git rm and git commit take it"
_UNREADABLE = "cannot be read: "
_RECENT_SECONDS = 2.0  # since a change, in which a file may still be written
_BUSY_SECONDS = 30.0  # since a change, in which nothing else is said of a file that was left
_WAIT_SECONDS = 1.0  # before the second look at a recent one
# What tells a repository of code.
_MANIFEST_RE = lazy_re(
    r"pyproject\.toml|setup\.(?:py|cfg)|requirements\.txt|package\.json|deno\.jsonc?|Cargo\.toml|"
    r"go\.(?:mod|work)|pom\.xml|build\.gradle(?:\.kts)?|build\.(?:sbt|zig)|CMakeLists\.txt|"
    r"meson\.build|configure(?:\.ac)?|(?:GNU)?[Mm]akefile|[Jj]ustfile|Gemfile|composer\.json|mix\.exs|"
    r"Package\.swift|pubspec\.yaml|flake\.nix|Dockerfile|WORKSPACE|MODULE\.bazel|mkdocs\.yml|"
    r"action\.ya?ml|ansible\.cfg|docker-compose\.ya?ml|Vagrantfile|_config\.yml|\.github|\.gitlab-ci\.yml|"
    r".+\.(?:sln|csproj|fsproj|vcxproj|xcodeproj|cabal|gemspec|nimble)"
)
_SOURCE_RE = lazy_re(
    rb"(?:^|/)[^/]+\.(?:py|[cm]?[jt]sx?|go|rs|java|kts?|scala|[ch](?:pp|xx|c)?|cs|rb|php|swift|mm?|"
    rb"sh|lua|exs?|erl|hs|ml|clj|jl|dart|vue|svelte|sql|tf|zig|html?|s?css|ipynb|proto|graphql|tex|r|ps1)$"
)
_MIN_SOURCE_FILES = 3  # tracked, and not hidden as plugins of Obsidian are: then it is code


_Reasons = dict[str, tuple[str, ...]]


def why_not_shared(root: str, chosen: bool | None) -> str:
    """Why people's own files are not taken in this vault; empty where they are. `chosen` is what
    `[sync] notes` says."""
    if objects.toplevel(root) != root:
        return "the vault is a folder of a larger repository"
    if chosen is not None:
        return "" if chosen else "[sync] notes = false"
    tracked = git_cli.run(root, ["ls-files", "-z"], timeout=60.0).split(b"\0")
    names = {os.fsdecode(path.rpartition(b"/")[2]) for path in tracked if not _is_hidden(path)}
    for name in sorted({*files.list_names(root, ""), *names}):
        if _MANIFEST_RE.fullmatch(name):
            return f"{name} says that this is a repository of code; or [sync] notes = true"
    code = sum(_SOURCE_RE.search(path) is not None for path in tracked if not _is_hidden(path))
    if code < _MIN_SOURCE_FILES:
        return ""
    return f"{code} source files say that this is a repository of code; or [sync] notes = true"


def list_committed(root: str) -> set[bytes]:
    """People's notes and attachments in the last commit."""
    paths = objects.list_files(root, "HEAD") if git_cli.has_commit(root) else {}
    return {path for path in paths if not _why_unfit(root, os.fsdecode(path))}


def explain_left(root: str, paths: Iterable[str], why: str, refused: Container[str]) -> _Reasons:
    """Reason -> the changed paths of people that were not committed for it; `why` for all of them
    where none are taken. Without what git `refused`, and what `list_held` names."""
    found: dict[str, list[str]] = {}
    for path in paths:
        reason = why and f"yours to commit: {why}"
        if not reason:
            listed = changes.list_status(root, (path,))
            if not (entries := [one for one in listed if one.path not in refused]):
                continue
            known = objects.read_blobs(root, [one.blob for one in entries])
            reasons = [_why_left(root, one, known) for one in entries]
            default = "git did not take it; git add and git commit say why"
            if time.time() - _changed_at(root, path) < _BUSY_SECONDS:
                default = BUSY if files.exists(root, path) else _JUST_GONE
            reason = next((each for each in reasons if each), default)
        found.setdefault(reason, []).append(path)
    found.pop(_HELD, None)
    return {reason: tuple(listed) for reason, listed in found.items()}


def list_held(root: str, paths: Sequence[str]) -> list[Problem]:
    """What of people's changed files, or below these new folders, must not be published."""
    entries = changes.list_status(root, paths) if paths else []
    fit = (one.path for one in entries if one.kind != "D" and not _why_unfit(root, one.path))
    return publish_check.held_files(root, fit)


def commit_notes(
    root: str,
    ours: Sequence[UncommittedChange],
    check_removed: Callable[[list[bytes]], None],
    *,
    wait: bool,
) -> tuple[list[str], dict[str, Problem]]:
    """Commit people's files that are quiet; none of the paths in `ours`. Returns the messages, and
    what git or a person's hook refused, by path.

    `check_removed` gets the paths that are gone, not moved, and raises to stop it. With `wait` a
    file that changed just now is looked at a second time. Raises `CortexError` where every commit is
    declined.
    """
    known = {one.path for one in ours}
    shareable, unreadable = _list_shareable(root)
    entries = {one.path: one for one in shareable if one.path not in known}
    stamps = _quiet_stamps(root, entries.values(), wait=wait) if entries else {}
    if not stamps:
        return [], unreadable
    with commit.repository_lock(root):
        commit.check_unblocked(root)
        staged = {os.fsdecode(one.path) for one in objects.list_staged(root)}  # meanwhile
        stamps = {path: one for path, one in stamps.items() if path not in staged}
        index = _copy_index(root)

        def add(paths: list[str]) -> None:
            if (ran := _run(root, index, [*add_words(root), "--all"], paths)).code:
                raise commit.declined_error(root, ran, "add")

        try:
            refused = take_all_but_refused(root, sorted(stamps), add) if stamps else {}
            stamps = {path: one for path, one in stamps.items() if _stamp(root, path) == one}
            # What came or went meanwhile may have been refused for that.
            refused = {path: one for path, one in refused.items() if path in stamps}
            quiet = {path: one for path, one in stamps.items() if path not in refused}
            messages, more = _commit_index(root, index, quiet, check_removed)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(index)
    return messages, {**unreadable, **refused, **more}


def update_index_to_head(root: str, *, only_after_crash: bool = False) -> None:
    """Bring git's index up to the last commit, which was made from a copy of the index: every entry
    that is still as before that commit is replaced. `only_after_crash`: only if a killed process
    has left that copy."""
    if not git_cli.has_commit(root) or (only_after_crash and not _has_left_copy(root)):
        return
    before = git_cli.find_commit(root, "HEAD^") or objects.empty_tree(root)
    old = {
        one.path: one.old_mode + b" " + (one.old_blob or "0" * len(one.new_blob)).encode()
        for one in objects.changes_between(root, before, "HEAD")
    }
    stale = [one for one in objects.list_staged(root) if one.index_entry == old.get(one.path)]
    commit.set_index_entries(root, {one.path: one.head_entry for one in stale})
    if stale:
        git_locks.run_when_unlocked(root, ["update-index", "-q", "--refresh"])


def _has_left_copy(root: str) -> bool:
    """True if a killed process has left a copy of the index. Old ones go: no git can be at work with
    them."""
    found = False
    for name in files.list_folder(folder := merging.git_dir_path(root)):
        index = os.path.join(folder, name)
        if name.startswith(_INDEX_NAME) and not name.endswith(".lock"):
            found = True
            if time.time() - os.stat(index).st_mtime > commit.HOOK_TIMEOUT_SECONDS:
                os.unlink(index)
    return found


_INDEX_NAME = "cortex-index."


def _copy_index(root: str) -> str:
    """A copy of git's index without what a person staged; its path. No name is used twice: the git
    of a killed sync may be at work with its own."""
    folder = merging.git_dir_path(root)
    path = os.path.join(folder, f"{_INDEX_NAME}{os.urandom(6).hex()}")
    with suppress(FileNotFoundError):
        shutil.copyfile(os.path.join(folder, "index"), path)
    staged = {one.path: one.head_entry for one in objects.list_staged(root)}
    commit.set_index_entries(root, staged, path)
    return path


def _run(
    root: str, index: str, words: list[str], paths: Sequence[str] = (), *, hooks: bool = False
) -> git_cli.GitResult:
    extra = {"GIT_INDEX_FILE": index, "GIT_EDITOR": "true"}
    stdin = objects.join_nul(paths)
    words = [*words, *commit.PATHS_FROM_STDIN] if paths else words
    timeout = commit.HOOK_TIMEOUT_SECONDS
    return git_locks.run_when_unlocked(
        root, words, stdin=stdin, timeout=timeout, hooks=hooks, extra=extra
    )


def _commit_index(
    root: str, index: str, stamps: dict[str, _Stamp], check_removed: Callable[[list[bytes]], None]
) -> tuple[list[str], dict[str, Problem]]:
    """Commit what the copy of the index holds of these paths. Returns the messages, and what was
    refused."""
    tree = "HEAD" if git_cli.has_commit(root) else objects.empty_tree(root)
    quiet = {os.fsencode(path) for path in stamps}
    changes = objects.list_staged(root, index)
    torn = {one.path: one.head_entry for one in changes if one.path not in quiet}
    commit.set_index_entries(root, torn, index)
    left = [one for one in changes if one.path in quiet]
    paths = sorted(os.fsdecode(one.path) for one in left)
    if same := sorted(path for path in stamps.keys() - set(paths) if stamps[path]):
        # Line ends alone: git takes them off, and shows them until it has looked.
        words = [*add_words(root), *commit.PATHS_FROM_STDIN]
        git_locks.run_when_unlocked(root, words, stdin=objects.join_nul(same))
    if not paths:
        return [], {}
    words = ["diff-index", "--cached", "-M", "--diff-filter=D", "--name-only", "-z", tree, "--"]
    gone = _run(root, index, words).stdout.split(b"\0")
    check_removed([path for path in gone if path])
    messages = []

    def take(some: list[str]) -> None:
        names = {os.fsencode(path) for path in some}
        mine = {one.path: one.index_entry if one.path in names else one.head_entry for one in left}
        commit.set_index_entries(root, mine, index)
        message = commit.format_message(root, some)
        words = [*commit.COMMIT_WORDS, f"--message={message}"]
        if (ran := _run(root, index, words, hooks=True)).code:
            raise commit.declined_error(root, ran, "commit")
        messages.append(message)
        left[:] = [one for one in left if one.path not in names]
        update_index_to_head(root)

    return messages, take_all_but_refused(root, paths, take)


_Stamp = tuple[int, int, int] | None  # mtime in ns, size, inode; None: there is no file


def _stamp(root: str, path: str) -> _Stamp:
    try:
        status = os.lstat(os.path.join(root, path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _quiet_stamps(root: str, entries: Iterable[StatusEntry], *, wait: bool) -> dict[str, _Stamp]:
    """The stamps of the files that nobody is writing."""
    kinds = {one.path: one.kind for one in entries}
    stamps = {path: _stamp(root, path) for path in kinds}
    # Ages only say where to look twice, so that a clock that is ahead keeps nothing back.
    recent = {path for path in stamps if time.time() - _changed_at(root, path) < _RECENT_SECONDS}
    if recent and wait:
        time.sleep(_WAIT_SECONDS)
        recent = {path for path in recent if _stamp(root, path) != stamps[path]}
    if any(kinds[path] == "A" for path in recent):  # it may be the new name of one that is gone
        recent |= {path for path in kinds if kinds[path] == "D"}
    return {path: one for path, one in stamps.items() if path not in recent}


def _changed_at(root: str, path: str) -> float:
    """When a file changed, or the folder that it is gone from: some editors delete and rewrite."""
    while True:
        try:
            return os.lstat(os.path.join(root, path)).st_mtime
        except (FileNotFoundError, NotADirectoryError):
            path = os.path.dirname(path)


def _list_shareable(root: str) -> tuple[list[StatusEntry], dict[str, Problem]]:
    """What people changed and may be committed, quiet or not; and what cannot be read, by path."""
    entries = changes.list_status(root, (".",))
    staged = {one.path for one in entries if one.is_staged}  # with a new file there, perhaps
    known = objects.read_blobs(root, [one.blob for one in entries if one.kind == "M"])
    left = [(one, _why_left(root, one, known)) for one in entries if one.path not in staged]
    unreadable = (problem_of_file(one.path, why) for one, why in left if _UNREADABLE in why)
    return [one for one, why in left if not why], {one.where: one for one in unreadable}


def _why_left(root: str, one: StatusEntry, known: Mapping[str, bytes]) -> str:
    """Why a changed file of a person is not committed; empty if it may be. `known` are texts of the
    last commit by blob."""
    if why := _why_unfit(root, one.path):
        return why
    if one.is_staged:
        return "staged by you; git commit takes it"
    try:
        return _content_fault(root, one.path, known.get(one.blob))
    except (FileNotFoundError, NotFoundError):
        was_link = not one.mode.startswith(b"100")
        return _WAS_LINK if was_link else why_absent(root, one.path)
    except (CortexError, OSError) as error:
        return f"{_UNREADABLE}{error}"


def _content_fault(root: str, path: str, before: bytes | None) -> str:
    """Why a file is not committed as it stands; empty if it may be. `before` is its text in the last
    commit."""
    status = os.lstat(os.path.join(root, path))
    if not stat.S_ISREG(status.st_mode):
        return "a link or a folder; git add and git commit take it"
    if status.st_size > _MAX_BYTES:
        limit = f"larger than {_MAX_BYTES // 1_000_000} MB, and hosting sites refuse 100"
        return f"{limit}; git lfs track it, or name it in .gitignore"
    data = files.read(root, path, publish_check.MAX_BYTES)
    if _suffix(path) in _NOTE_SUFFIXES | {"json", "css"}:
        new = marked_conflicts(data)
        if new and new - marked_conflicts(before or b""):
            return "holds conflict markers; choose the lines to keep, then cortex sync"
    return _HELD if publish_check.why_held(root, path, data, before) else ""


def _why_unfit(root: str, path: str) -> str:
    """Why a path is none of a person's notes or attachments; empty if it is one."""
    if not changes.is_outside_own_folders(root, path):
        return "Cortex's own"
    if path.endswith("/"):
        return "a repository of its own"
    name = path.rpartition("/")[2]
    if name == ".gitignore":  # so that all clones ignore the same
        return ""
    below = path.removeprefix(f"{OBSIDIAN_FOLDER}/")
    is_obsidian = below != path and settings.load_cached(root).obsidian
    if _is_hidden(os.fsencode(below if is_obsidian else path)):
        return "hidden"
    why = "neither a note nor an attachment; git add and git commit take it"
    is_unfit = name.startswith(_TEMP_PREFIXES) or _suffix(path) not in _SUFFIXES
    if is_obsidian:
        why, is_unfit = _OBSIDIAN_LEFT, bool(_OBSIDIAN_LEFT_RE.match(below))
    return why if is_unfit else ""


def _is_hidden(path: bytes) -> bool:
    return path.startswith(b".") or b"/." in path


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""
