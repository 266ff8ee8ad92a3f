"""Commits of exactly our paths: what changed in a vault, whether a commit may be made now, and the commit itself.

Ours are the folders that Cortex writes, its three settings files, and a record that a person moved elsewhere in the
vault. Whatever else is changed or staged stays as it is, and so does every lock of another git.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from cortex.core.merge.conflict_markers import marked_conflicts
from cortex.core.merge.note_versions import is_record
from cortex.core.model.problem import ConflictError, CortexError, Problem
from cortex.core.notes import note as notes
from cortex.vault import files, layout
from cortex.vault.git import checkout, git_cli, git_locks, objects
from cortex.vault.lock import lock

OWN_FOLDERS = ("inbox", "events", "records", "sessions", "briefings")
OWN_SETTINGS_FILES = (layout.SETTINGS_FILE, ".gitattributes", checkout.PROJECT_FILE)
OWN_PATHS = (*OWN_FOLDERS, *OWN_SETTINGS_FILES)
LOCK_WAIT_SECONDS = 30.0  # seconds that we wait for another git, or another cortex, to finish
HOOK_TIMEOUT_SECONDS = 600.0  # seconds that a person's own hooks may take
_CHECKED_FOLDERS = ("records", "events", "sessions")  # their frontmatter is read by Cortex
_MAX_NOTE_BYTES = 2_000_000  # bytes of a note that are looked at before it is committed
_LOCKED_RE = re.compile(
    r"index\.lock|HEAD\.lock|cannot lock ref(?!.*reference broken)|Unable to create|Unable to write index|is at .{1,100} but expected"
)
_VANISHED_RE = re.compile(r"did not match any file")
_NOTHING_TO_COMMIT_RE = re.compile(rb"^(?:nothing|no changes) .*\bcommit", re.MULTILINE)
_MAX_ATTEMPTS = 4  # at a commit whose paths move away or are committed by others meanwhile
_NO_IDENTITY_RE = re.compile(
    r"tell me who you are|empty ident name|auto-detect email|no email was given|user\.useConfigOnly"
)
_COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "pre-merge-commit")
_OPERATION_HINTS = {
    "merge": "git commit concludes it, git merge --abort takes it back",
    "bisect": "git bisect reset ends it",
    "cherry-pick": "git cherry-pick --continue, or --skip when nothing is left of it, or git cherry-pick --abort",
    "revert": "git revert --continue, or --skip when nothing is left of it, or git revert --abort",
}


class UncommittedChange(NamedTuple):
    """A path of ours that differs from the last commit."""

    path: str  # vault-relative
    kind: str  # A, M or D
    moved_with: str = (
        ""  # the other end of a move out of or into our folders: both are committed, or neither
    )


class CommitResult(NamedTuple):
    """A commit, and what was left out of it."""

    id: str  # empty when there was nothing to commit
    message: str
    paths: tuple[str, ...]
    problems: tuple[Problem, ...]


def list_changes(root: str) -> list[UncommittedChange]:
    """What of ours is not committed, by path. Nothing outside a repository."""
    if not checkout.is_in_repository(root):
        return []
    found = [
        one for one in _list_status(root, OWN_PATHS) if _is_own_file(one.path)
    ] + _changed_records_elsewhere(root)
    gone = {one.path: one.blob for one in found if one.kind == "D" and one.path.endswith(".md")}
    here = [one.path for one in found if one.kind == "A" and one.path.endswith(".md")]
    pairs = _find_moves(root, gone, here) if gone else {}
    back = {new: old for old, new in pairs.items()}
    listed = [
        UncommittedChange(one.path, one.kind, pairs.get(one.path) or back.get(one.path, ""))
        for one in found
    ]
    return sorted(
        listed + [UncommittedChange(new, "A", old) for new, old in back.items() if new not in here]
    )


def list_foreign_changes(root: str, mine: Iterable[UncommittedChange] = ()) -> list[str]:
    """What is changed in the vault and is not ours; a new folder as one entry. Nobody commits it but its owner."""
    known = {one.path for one in mine}
    found = [one.path for one in _list_status(root, (".",), untracked="normal")]
    for new in [
        path
        for path in found
        if path.endswith("/") and any(each.startswith(path) for each in known)
    ]:
        found += [one.path for one in _list_status(root, (new,))]
        found.remove(new)
    return sorted(
        path
        for path in found
        if path not in known
        and _is_outside_own_folders(path)
        and not path.endswith(files.TEMP_SUFFIX)
    )


def format_message(paths: Iterable[str]) -> str:
    """A commit's message: `cortex: 3 events, 2 records`. An event counts once, wherever in the vault it went."""
    held: dict[str, set[str]] = {
        "event": set(),
        "record": set(),
        "session": set(),
        "briefing": set(),
        "settings": set(),
    }
    words = {
        "inbox": "event",
        "events": "event",
        "sessions": "session",
        "briefings": "briefing",
    } | dict.fromkeys(OWN_SETTINGS_FILES, "settings")
    for path in paths:
        word = words.get(path.split("/", 1)[0], "record")
        held[word].add(path if word == "briefing" else path.rpartition("/")[2].removesuffix(".md"))
    found = {word: len(names) for word, names in held.items() if names}
    if set(found) == {"briefing"}:
        return "cortex: refresh briefings"
    return "cortex: " + (
        ", ".join(
            word if word == "settings" else f"{count} {word}{'s' * (count != 1)}"
            for word, count in found.items()
        )
        or "nothing"
    )


def why_blocked(root: str) -> str:
    """Why no commit may be made now; empty when one may. Only the search for unmerged paths asks git."""
    if why := find_blocker(root)[0]:
        return why
    found = git_cli.run_unchecked(objects.toplevel(root), ["ls-files", "--unmerged", "-z"])
    if found.code or found.stdout:
        count = len({line.partition(b"\t")[2] for line in found.stdout.split(b"\0") if line})
        return f"git could not merge {count} path{'s' * (count != 1)}" if count else found.reason
    return ""


def find_blocker(root: str) -> tuple[str, str]:
    """Why no commit may be made, told from files alone, and what to do then; two empty texts when nothing is in the way."""
    place = checkout.find_repository(root)
    if place is None:
        return "the vault is in no git repository", "git init && git add . && git commit"
    if what := checkout.operation_in_progress(root):
        return f"{'an' if what == 'am' else 'a'} {what} is under way", _OPERATION_HINTS.get(
            what, f"git {what} --continue, or git {what} --abort"
        )
    if not checkout.branch_of(root):
        return "no branch is checked out (detached HEAD)", "git switch BRANCH"
    return "", ""


def commit(root: str, paths: Sequence[str], message: str) -> str:
    """Commit exactly these paths as they stand in the work tree; the new commit's id, empty when nothing differed. What
    must not be committed is left out (see `keep`). `ConflictError` when the gate is closed or another git never ends."""
    wanted = [UncommittedChange(path, "") for path in paths]
    if not all(
        files.exists(root, path) for path in paths
    ):  # what is gone may have been moved out of our folders
        wanted = [one for one in list_changes(root) if one.path in set(paths)]
    return commit_changes(root, wanted, message).id


def commit_changes(
    root: str, wanted: Sequence[UncommittedChange], message: str = ""
) -> CommitResult:
    """Commit these changes and say what was left out: ignored, gone, links, half a move, notes with conflict markers
    or unreadable frontmatter. Without a message the commit says what it holds. When git or a person's hook
    declines, `CortexError` says so, and the index is as it was."""
    if not wanted:
        return CommitResult("", "", (), ())
    if any(find_blocker(root)):
        raise ConflictError(*find_blocker(root))
    with repository_lock(root):
        if any(find_blocker(root)):  # it may have begun while we waited
            raise ConflictError(*find_blocker(root))
        return _commit_changes(root, wanted, message)


def commit_during_rebase(root: str) -> CommitResult:
    """Commit what is ours in the middle of a rebase that Cortex began and holds alone: the watcher, or a search, has
    written a record meanwhile, and git goes on only over a clean tree."""
    return _commit_changes(root, list_changes(root), "")


@contextmanager
def repository_lock(root: str) -> Iterator[None]:
    """Be the one Cortex that commits to this repository; its linked worktrees are part of it. Waits, then `ConflictError`."""
    place = checkout.find_repository(root)
    if place is None:
        raise ConflictError(*find_blocker(root))
    with lock(os.path.join(place[2], "cortex.lock"), "repository", wait=LOCK_WAIT_SECONDS):
        yield


def retry_while_locked(root: str, attempt: Callable[[], git_cli.GitResult]) -> git_cli.GitResult:
    """What git answered, asked again while another git holds a lock; `ConflictError` when that does not end, and at once when a crash
    has left the lock. No lock is ever deleted here: its owner may be alive."""
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    pause = 0.02
    # Beside other gits a commit may also end with 128 and not a word: it could not read an index that was just replaced.
    while (ran := attempt()).code and (
        _LOCKED_RE.search(ran.stderr) or (ran.code == 128 and not ran.stderr.strip())
    ):
        if git_cli.system_error(ran, root):
            break
        git_locks.check_none_abandoned(root)
        if time.monotonic() + pause > deadline:
            raise ConflictError(
                f"another git is busy in this repository: {ran.reason}", git_locks.wait_hint(root)
            )
        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  so that two who wait do not wait in step
        pause = min(2 * pause, 0.6)
    if ran.code == 128 and not git_cli.system_error(
        ran, root
    ):  # git may not say that a lock is what stops it
        git_locks.check_none_abandoned(root)
    return ran


def set_index_entries(root: str, entries: Mapping[bytes, bytes]) -> None:
    """Make the index hold `mode blob` for each path."""
    if entries:
        lines = objects.format_index_info(entries)
        ran = retry_while_locked(
            root,
            lambda: git_cli.run_unchecked(
                objects.toplevel(root), ["update-index", "-z", "--index-info"], stdin=lines
            ),
        )
        if ran.code:
            raise git_cli.command_error("update-index", ran, root)


def declined_error(root: str, ran: git_cli.GitResult, verb: str) -> CortexError:
    """The error for a commit or merge that git did not make."""
    if _NO_IDENTITY_RE.search(ran.stderr):
        return CortexError(
            "git does not know who commits",
            'git config user.name "Your Name" && git config user.email you@example.org',
        )
    place = checkout.find_repository(root)
    hooks = (
        git_cli.run_unchecked(root, ["rev-parse", "--git-path", "hooks"], hooks=True)
        .stdout.decode("utf-8", "surrogateescape")
        .strip()
    )
    there = [
        name
        for name in _COMMIT_HOOKS
        if place and os.access(os.path.join(root, hooks, name), os.X_OK)
    ]
    said = (
        " ".join(f"{ran.stderr} {ran.stdout.decode('utf-8', 'replace')}".split())[:300]
        or f"exit code {ran.code}"
    )
    if there and ran.code == 1:
        return CortexError(
            f"a hook of this repository ({', '.join(there)}) declined the {verb}: {said}",
            "mend what it names, then run the command again",
        )
    return git_cli.command_error(verb, ran, root)


def _commit_changes(root: str, wanted: Sequence[UncommittedChange], message: str) -> CommitResult:
    problems: list[Problem] = []
    sound = [one for one in wanted if _is_committable(root, one.path, problems)]
    ignored = objects.filter_ignored(root, [one.path for one in sound])
    problems += [
        Problem(path, "is ignored by git", "take it out of .gitignore, or leave it uncommitted")
        for path in sorted(ignored)
    ]
    named = {one.path for one in sound} - ignored
    paths = [
        one.path
        for one in sound
        if one.path in named and (not one.moved_with or one.moved_with in named)
    ]
    done, gone = (
        _commit_paths(root, paths, message) if paths else (CommitResult("", "", (), ()), [])
    )
    problems += [Problem(path, "is gone again", "") for path in gone]
    return done._replace(problems=tuple(problems))


def _commit_paths(root: str, paths: list[str], message: str) -> tuple[CommitResult, list[str]]:
    """The commit, and the paths that are neither there nor known to git."""
    prefix = objects.prefix(root)
    before = {one.path: one for one in objects.list_staged(root)}
    gone: list[str] = []
    for _ in range(_MAX_ATTEMPTS):
        here = [path for path in paths if files.exists(root, path)]
        gone += _unknown_to_git(
            root, [path for path in paths if path not in set(here)], before, prefix
        )
        paths = [path for path in paths if path not in set(gone)]
        if not paths:
            return CommitResult("", "", (), ()), gone
        ran = _run_commit(root, here, paths, message or format_message(paths))
        if not ran.code:
            return CommitResult(
                git_cli.resolve_commit(root, "HEAD"),
                message or format_message(paths),
                tuple(paths),
                (),
            ), gone
        if _VANISHED_RE.search(
            ran.stderr
        ):  # another process has normalized an event since we looked
            continue
        # Someone may have committed the notes as they were, and they have changed again since.
        if not (
            _NOTHING_TO_COMMIT_RE.search(ran.stdout) and _still_differs(root, paths, before, prefix)
        ):
            break
    if not _still_differs(root, paths, before, prefix):
        return CommitResult("", "", (), ()), gone
    raise declined_error(root, ran, "commit")


def _still_differs(
    root: str, paths: list[str], before: Mapping[bytes, objects.StagedChange], prefix: bytes
) -> bool:
    """Whether a path differs from the last commit, by more than line ends; what was only named for a commit no longer is."""
    _drop_intent_to_add(root, [path for path in paths if prefix + os.fsencode(path) not in before])
    left = [one for one in list_changes(root) if one.path in set(paths)]
    mine = any(one.kind != "M" or prefix + os.fsencode(one.path) in before for one in left)
    return bool(left) and (mine or not _differs_in_line_ends_only(root, [one.path for one in left]))


def _differs_in_line_ends_only(root: str, paths: list[str]) -> bool:
    """Whether these differ in line ends alone, which git takes off; it calls them changed until it looks again, here."""
    if git_cli.run_unchecked(root, ["diff", "--quiet", "HEAD", "--", *paths]).code:
        return False
    return not retry_while_locked(
        root,
        lambda: git_cli.run_unchecked(
            root,
            ["add", "--pathspec-from-file=-", "--pathspec-file-nul"],
            stdin=objects.join_nul(paths),
        ),
    ).code


def _run_commit(root: str, here: list[str], paths: list[str], message: str) -> git_cli.GitResult:
    """Name what is new to git, then commit. Only named, not added: whoever else commits in between does not take it along."""
    spec = ["--pathspec-from-file=-", "--pathspec-file-nul"]
    if here:
        ran = retry_while_locked(
            root,
            lambda: git_cli.run_unchecked(
                root, ["add", "--intent-to-add", *spec], timeout=120.0, stdin=objects.join_nul(here)
            ),
        )
        if ran.code:
            return ran
    arguments = ["commit", "--quiet", "--only", "--no-edit", f"--message={message}", *spec]
    return retry_while_locked(
        root,
        lambda: git_cli.run_unchecked(
            root,
            arguments,
            timeout=HOOK_TIMEOUT_SECONDS,
            stdin=objects.join_nul(paths),
            hooks=True,
            extra={"GIT_EDITOR": "true"},
        ),
    )


def _drop_intent_to_add(root: str, paths: list[str]) -> None:
    """Take out of the index again what was only named for a commit that was not made."""
    born = git_cli.has_commit(root)
    prefix = objects.prefix(root)
    known = (
        objects.list_files(root, "HEAD", [os.fsdecode(prefix) + path for path in paths])
        if born and paths
        else {}
    )
    named = [path for path in paths if prefix + os.fsencode(path) not in known]
    if named:
        retry_while_locked(
            root,
            lambda: git_cli.run_unchecked(
                root,
                ["update-index", "--force-remove", "-z", "--stdin"],
                stdin=objects.join_nul(named),
            ),
        )


def _unknown_to_git(
    root: str, missing: list[str], before: Mapping[bytes, objects.StagedChange], prefix: bytes
) -> list[str]:
    """The missing paths that no commit knows: git would refuse to commit anything at all beside them."""
    if not missing:
        return []
    listed: set[bytes] = set()
    for some in objects.split_batches(missing):
        listed.update(git_cli.run(root, ["ls-files", "--cached", "-z", "--", *some]).split(b"\0"))
    unknown = []
    for path in missing:
        name = os.fsencode(path)
        entry = before.get(prefix + name)
        if entry.head_entry.startswith(b"000000") if entry else name not in listed:
            unknown.append(path)
    return unknown


def _is_committable(root: str, path: str, problems: list[Problem]) -> bool:
    """Whether a path may be committed as it stands. Why not is added to the problems."""
    first = path.split("/", 1)[0]
    try:
        if not files.exists(root, path):
            files.checked_parts(path)
            return True
        checked = path.endswith(".md") and (first in _CHECKED_FOLDERS or first not in OWN_PATHS)
        data = files.read(root, path, _MAX_NOTE_BYTES if checked else 0)
        why = _why_unfinished(root, path, data) if checked else ""
    except (CortexError, OSError) as error:
        problems.append(
            Problem(
                path,
                f"is not committed: {error}",
                error.hint if isinstance(error, CortexError) else "",
            )
        )
        return False
    if why:
        problems.append(Problem(path, f"is not committed: {why}", "mend it, then cortex sync"))
    return not why


def _why_unfinished(root: str, path: str, data: bytes) -> str:
    """What shows that a note is not finished: nothing in it, frontmatter that cannot be read, conflict markers that
    stand neither in its last commit nor in the events it was made from. A text about merging may hold markers."""
    if not data.strip():
        return "it is empty"
    note = notes.read(data, path)
    for problem in note.problems:
        if "frontmatter" in problem.message:
            return problem.message
    if not marked_conflicts(data) or (
        path.split("/", 1)[0] == "events" and not _read_at_head(root, path)
    ):
        return ""
    known = marked_conflicts(_read_at_head(root, path))
    for name in note.provenance()[0]:
        known |= marked_conflicts(_read_event(root, name))
    return "it holds conflict markers" if marked_conflicts(data) - known else ""


def _read_at_head(root: str, path: str) -> bytes:
    return git_cli.run_unchecked(root, ["cat-file", "blob", f"HEAD:./{path}"]).stdout


def _read_event(root: str, event_id: str) -> bytes:
    try:
        return files.read(
            root, f"events/{event_id[:4]}/{event_id[4:6]}/{event_id}.md", _MAX_NOTE_BYTES
        )
    except (CortexError, OSError):
        return b""


class _StatusEntry(NamedTuple):
    path: str
    kind: str
    blob: str  # of the last commit


def _list_status(root: str, paths: Sequence[str], *, untracked: str = "all") -> list[_StatusEntry]:
    """What differs between the last commit and the work tree below the vault, seen from the vault."""
    arguments = [
        "status",
        "--porcelain=v2",
        "-z",
        "--no-renames",
        "--ignore-submodules=all",
        f"--untracked-files={untracked}",
        "--",
        *paths,
    ]
    prefix = objects.prefix(root)
    found = []
    for line in git_cli.run(root, arguments, timeout=120.0).split(b"\0"):
        if line.startswith(b"? "):
            name, kind, blob = line[2:], "A", ""
        elif line.startswith(b"1 "):
            _, _, _, head, _, here, old, _, name = line.split(b" ", 8)
            kind = "D" if here == b"000000" else "A" if head == b"000000" else "M"
            blob = old.decode()
        elif line.startswith(b"u "):
            name, kind, blob = line.split(b" ", 10)[10], "M", ""
        else:
            continue
        if name.startswith(prefix):
            found.append(_StatusEntry(os.fsdecode(name[len(prefix) :]), kind, blob))
    return found


def _is_own_file(path: str) -> bool:
    """Not a folder that is a repository of its own, nor what editors and killed processes leave beside a note."""
    name = path.rpartition("/")[2]
    return path in OWN_PATHS or bool(
        name and not name.startswith((".", "#")) and not name.endswith(("~", files.TEMP_SUFFIX))
    )


def _find_moves(root: str, gone: Mapping[str, str], here: Sequence[str]) -> dict[str, str]:
    """Where a person moved notes out of our folders, or back into them: old path to new, told by the id that both hold."""
    names = {
        path.rpartition("/")[2] for path in here
    }  # an event keeps its name on its way through our folders
    gone = {
        path: blob
        for path, blob in gone.items()
        if _is_outside_own_folders(path) or path.rpartition("/")[2] not in names
    }
    held = objects.read_blobs(root, gone.values())
    ids = {id_: path for path, blob in gone.items() if (id_ := _note_id(held.get(blob, b"")))}
    found = {}
    for path in here if ids else ():
        old = ids.pop(_note_id(_read_beginning(root, path)), "")
        if old and _is_outside_own_folders(old):
            found[old] = path
    new = (
        [
            one.path
            for one in _list_status(root, (".",))
            if one.kind == "A" and one.path.endswith(".md") and _is_outside_own_folders(one.path)
        ]
        if ids
        else []
    )
    return found | {
        ids.pop(id_): path
        for path in sorted(new)
        if (id_ := _note_id(_read_beginning(root, path))) in ids
    }


def _changed_records_elsewhere(root: str) -> list[_StatusEntry]:
    """Records that live outside our folders since an earlier commit, and have changed there: Cortex goes on writing them,
    and uncommitted they would stand in the way of every merge."""
    entries = [
        one
        for one in _list_status(root, (".",), untracked="no")
        if one.kind != "A" and one.path.endswith(".md") and _is_outside_own_folders(one.path)
    ]
    before = objects.read_blobs(root, [one.blob for one in entries if one.kind == "D"])
    return [
        one
        for one in entries
        if is_record(
            notes.read(
                before.get(one.blob, b"") if one.kind == "D" else _read_beginning(root, one.path)
            )
        )
    ]


def _is_outside_own_folders(path: str) -> bool:
    return path.split("/", 1)[0] not in OWN_PATHS


def _note_id(data: bytes) -> str:
    return notes.read(data).get("id")


def _read_beginning(root: str, path: str) -> bytes:
    """The beginning of a note, enough for its frontmatter; nothing when it cannot be read."""
    try:
        return files.read(root, path, notes.MAX_FRONTMATTER_BYTES + 4096)
    except (CortexError, OSError):
        return b""
