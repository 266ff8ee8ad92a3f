"""Commits of exactly our paths: whether to commit now, and the commit.

Whatever else is changed or staged stays as it is, and so does every lock of another git.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from cortex.core.merge.body import marked_conflicts
from cortex.core.merge.note_versions import note_id, stem_of
from cortex.core.model.layout import BRIEFINGS_FOLDER, is_among_briefings, is_event_path
from cortex.core.model.problem import ConflictError, CortexError, Problem
from cortex.core.model.relation import MEDIA_SUFFIXES
from cortex.core.notes import note as notes
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import format_count, one_line, shell_quote, shorten
from cortex.core.text.value import NamedTuple
from cortex.vault import files, layout, settings, settings_text
from cortex.vault.foreign_settings import OBSIDIAN_FOLDER
from cortex.vault.git import (
    changes,
    checkout,
    git_cli,
    git_locks,
    objects,
    publish_check,
    work_tree,
)
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.git.refusals import DeclinedError, take_all_but_refused
from cortex.vault.layout import layout_of
from cortex.vault.private import lock

HOOK_TIMEOUT_SECONDS = 600.0  # seconds that a person's own hooks may take
_UNCHECKED_FOLDERS = ("inbox", BRIEFINGS_FOLDER)  # no frontmatter that has to be right
_MAX_NOTE_BYTES = publish_check.MAX_BYTES  # of a note that is looked at before it is committed
COMMIT_WORDS = ("commit", "--quiet", "--no-edit", "--cleanup=whitespace")
PATHS_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")
_VANISHED_RE = lazy_re(r"did not match any file")
_NOTHING_TO_COMMIT_RE = lazy_re(rb"^(?:nothing|no changes) .*\bcommit", re.MULTILINE)
# Of which little is said; the last are Obsidian's, and what git ignores.
_KINDS = ("event", "session", "run", "briefing", "settings", "own setting")
_REMOVED = "removed "  # before the kind of what is gone
_MAX_SUBJECT_CHARS = 72
_MAX_ATTEMPTS = 4  # at a commit whose paths move away or are committed by others meanwhile
_NO_IDENTITY_RE = lazy_re(
    r"tell me who you are|empty ident name|auto-detect email|no email was given|user\.useConfigOnly"
)
_COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "pre-merge-commit")
_OPERATION_HINTS = {
    "merge": "git commit concludes it, git merge --abort takes it back",
    "bisect": "git bisect reset ends it",
}


class CommitResult(NamedTuple):
    """A commit, and what was left out of it."""

    id: str  # empty when there was nothing to commit
    message: str
    paths: tuple[str, ...]
    problems: tuple[Problem, ...]
    withheld: tuple[Problem, ...] = ()  # would be published for the first time, and must not be
    refused: tuple[Problem, ...] = ()  # git, or a hook, did not take


NOTHING_COMMITTED = CommitResult("", "", (), ())


def format_message(root: str, paths: Iterable[str]) -> str:
    """What a commit holds: `Use SQLite (decision)`, `Weekly: 2 decisions, removed 3 actions`, or
    `cortex: 3 events` where nothing is made of them. An event counts once, wherever it went."""
    found: dict[str, dict[str, str]] = {}
    paths = [*paths]
    here = [path for path in paths if files.exists(root, path)]
    gone = {*paths} - {*here}
    for path in here + _list_removed(root, gone, here):
        kind = _kind_of(root, path)
        if path in gone and kind not in ("briefing", "settings"):
            kind = f"{_REMOVED}{kind}"
        found.setdefault(kind, {})[path if kind == "briefing" else stem_of(path)] = path
    if set(found) == {"briefing"}:
        return "cortex: refresh briefings"
    said = sorted(found.keys() - {*_KINDS}, key=_place_of)
    # Of one capture alone a meeting tells where the rest comes from.
    is_meeting = "meeting" in said and len(found.get("event", ())) < 2
    lone = "meeting" if is_meeting else said[0] if len(said) == 1 else ""
    counts = {kind: _count_kind(kind, len(found[kind])) for kind in said or _KINDS if kind in found}
    if len(found.get(lone, ())) == 1 and (title := _title_of(root, *found[lone].values())):
        rest = ", ".join(count for kind, count in counts.items() if kind != lone)
        return shorten(f"{title}: {rest}" if rest else f"{title} ({lone})", _MAX_SUBJECT_CHARS)
    return f"{'' if said else 'cortex: '}{', '.join(counts.values()) or 'nothing'}"


def _list_removed(root: str, gone: Iterable[str], here: Iterable[str]) -> list[str]:
    """Which of the paths that are gone were not moved to one that is here."""
    names = {stem_of(path) for path in here}
    gone = [path for path in gone if stem_of(path) not in names]
    old = objects.read_committed(root, [path for path in gone if path.endswith(".md")])
    texts = (
        changes.read_if_there(root, path) or b"" for path in here if old and path[-3:] == ".md"
    )
    known = {note_id(text) or text for text in texts}
    return [path for path in gone if (note_id(text := old.get(path, b"")) or text) not in known]


def _count_kind(kind: str, count: int) -> str:
    name = kind.removeprefix(_REMOVED)
    said = name if name == "settings" else format_count(count, name)
    return f"{_REMOVED}{said}" if name != kind else said


def _place_of(kind: str) -> tuple[bool, bool, bool, bool, str]:
    """Decisions first, people's own files and what is removed last."""
    return kind.startswith(_REMOVED), kind == "attachment", kind == "note", kind != "decision", kind


def _title_of(root: str, path: str) -> str:
    """What a note is called in a message; empty for one person's alone, and one that is gone."""
    data = changes.read_if_there(root, path, _MAX_NOTE_BYTES)
    note = notes.read(data or b"", path)
    is_told = data is not None and not notes.scope_of_one_person(note)
    name = note.title if path.endswith(".md") else ""
    title = one_line(name or path.rpartition("/")[2].removesuffix(".md"))
    return title if is_told and sanitize_text(title) == title else ""  # a secret: by count alone


def _kind_of(root: str, path: str) -> str:
    """What a path is called in a message: one of `_KINDS`, a record's type, note or attachment."""
    parts = path.split("/")
    if changes.is_settings_file(root, path):
        return "settings"
    if parts[0] == OBSIDIAN_FOLDER or parts[-1] == ".gitignore":
        return "own setting"
    if is_event_path(path):
        return "event"
    if is_among_briefings(path):
        return "briefing"
    if folder := next((one for one in ("runs", "sessions") if one in parts[:-1]), ""):
        return folder[:-1]
    is_media = parts[-1].rpartition(".")[2].lower() in MEDIA_SUFFIXES - {"canvas", "base"}
    return parts[-2] if "records" in parts[:-2] else "attachment" if is_media else "note"


def is_automatic(root: str) -> bool:
    """Whether commits are made unasked here: by setting, else if the vault is the root of a
    repository. Raises `InvalidInputError` if the settings forbid changes."""
    if (around := checkout.find_repository(root)) is None:
        return False
    settings.check_writable(root)
    chosen = settings.load(root).autocommit
    return around[0] == root if chosen is None else chosen


def why_blocked(root: str) -> str:
    """Why no commit may be made now; empty when one may. Asks git for unmerged paths alone."""
    if why := find_blocker(root)[0]:
        return why
    try:
        count = len({stage.path for stage in objects.list_unmerged_stages(root)})
    except CortexError as error:
        return error.message
    return f"git could not merge {count} path{'s' * (count != 1)}" if count else ""


def find_blocker(root: str) -> tuple[str, str]:
    """Why no commit may be made, and the next command; both empty if one may. Runs no git."""
    if not checkout.is_in_repository(root):
        return "the vault is in no git repository", "git init && git add . && git commit"
    if what := checkout.operation_in_progress(root):
        hint = f"git {what} --continue, or git {what} --abort"
        why = f"{'an' if what == 'am' else 'a'} {what} is under way"
        return why, _OPERATION_HINTS.get(what, hint)
    if not checkout.branch_of(root):
        return "no branch is checked out (detached HEAD)", "git switch BRANCH"
    return "", ""


def commit_changes(
    root: str, wanted: Sequence[UncommittedChange], message: str = ""
) -> CommitResult:
    """Commit these changes. The result names also what was left out: ignored and missing files, links,
    half a move, notes with conflict markers or unreadable frontmatter, secrets. Without `message` one
    is made from the changes. Raises `DeclinedError` if git or a hook declines all; the index is then as
    before."""
    if not wanted:
        return NOTHING_COMMITTED
    check_unblocked(root)
    with repository_lock(root):
        check_unblocked(root)  # an operation may have begun while we waited
        return _commit_changes(root, wanted, message)


def check_unblocked(root: str) -> None:
    """Raise `ConflictError` if no commit may be made now."""
    if any(blocker := find_blocker(root)):
        raise ConflictError(*blocker)


def commit_during_rebase(root: str) -> CommitResult:
    """Commit what is ours in the middle of a rebase of Cortex: the watcher, or a search, has
    written a record meanwhile, and git goes on only over a clean tree."""
    return _commit_changes(root, changes.list_changes(root), "")


@contextmanager
def repository_lock(root: str) -> Iterator[None]:
    """The lock on commits to this repository, with its worktrees. Raises `ConflictError`."""
    place = checkout.find_repository(root)
    if place is None:
        raise ConflictError(*find_blocker(root))
    path = os.path.join(place.common_dir, "cortex.lock")
    with lock(path, "repository", wait=git_locks.LOCK_WAIT_SECONDS):
        yield


def set_index_entries(root: str, entries: Mapping[bytes, bytes], index: str = "") -> None:
    """Make the index, or the copy of it in that file, hold `mode blob` for each path."""
    if entries:
        words, top = ["update-index", "-z", "--index-info"], objects.toplevel(root)
        lines, extra = objects.format_index_info(entries), {"GIT_INDEX_FILE": index}
        ran = git_locks.run_when_unlocked(top, words, stdin=lines, extra=extra if index else None)
        if ran.code:
            raise git_cli.command_error("update-index", ran, root)


def declined_error(root: str, result: git_cli.GitResult, verb: str) -> CortexError:
    """The error for what git did not take; `DeclinedError` where that may be one file's fault."""
    if _NO_IDENTITY_RE.search(result.stderr):
        hint = 'git config user.name "Your Name" && git config user.email you@example.org'
        return CortexError("git does not know who commits", hint)
    hook_path = git_cli.run_unchecked(root, ["rev-parse", "--git-path", "hooks"], hooks=True).stdout
    folder = os.path.join(root, os.fsdecode(hook_path.rstrip(b"\n")))
    hooks = [name for name in _COMMIT_HOOKS if os.access(os.path.join(folder, name), os.X_OK)]
    if hooks and result.code == 1:
        output = f"{result.stderr} {result.stdout.decode('utf-8', 'replace')}"
        reason = " ".join(output.split())[:300] or f"exit code {result.code}"
        message = f"a hook of this repository ({', '.join(hooks)}) declined the {verb}: {reason}"
        return DeclinedError(message, "mend what it names, then run the command again")
    error = git_cli.command_error(verb, result, root)
    return git_cli.system_error(result, root) or DeclinedError(error.message, error.hint)


def _commit_changes(root: str, wanted: Sequence[UncommittedChange], message: str) -> CommitResult:
    problems: list[Problem] = []
    withheld: list[Problem] = []
    known = objects.read_blobs(root, [f"HEAD:./{one.path}" for one in wanted if one.kind == "M"])
    sound = [one for one in wanted if _is_committable(root, one, known, problems, withheld)]
    ignored = objects.filter_ignored(root, [one.path for one in sound])
    hint = "take it out of .gitignore, or leave it uncommitted"
    problems += [Problem(path, "is ignored by git", hint) for path in sorted(ignored)]
    named = {one.path for one in sound} - ignored
    whole = [one for one in sound if not one.moved_with or one.moved_with in named]
    paths = [one.path for one in whole if one.path in named]
    done: list[CommitResult] = []
    gone: list[str] = []

    def take(some: list[str]) -> None:
        result, missing = _commit_paths(root, some, message)
        done.extend([result] if result.id else [])
        gone.extend(missing)

    refused = take_all_but_refused(root, paths, take) if paths else {}
    problems += [Problem(path, "is gone again", "") for path in gone]
    left = tuple(problems), tuple(withheld), tuple(refused.values())
    taken = tuple(path for one in done for path in one.paths)
    return CommitResult(*(done[-1] if done else NOTHING_COMMITTED)[:2], taken, *left)


def _commit_paths(root: str, paths: list[str], message: str) -> tuple[CommitResult, list[str]]:
    """The commit, and the paths that are neither there nor known to git."""
    prefix = objects.prefix(root)
    before = {one.path: one for one in objects.list_staged(root)}
    gone: list[str] = []
    for _ in range(_MAX_ATTEMPTS):
        here = [path for path in paths if files.exists(root, path)]
        missing = [path for path in paths if path not in set(here)]
        gone += _not_in_head(root, missing)
        paths = [path for path in paths if path not in set(gone)]
        if not paths:
            return NOTHING_COMMITTED, gone
        text = message or format_message(root, paths)
        ran = _run_commit(root, here, paths, text)
        if not ran.code:
            # A hook of theirs may have changed what it committed, and then not the person's index.
            mine = {prefix + os.fsencode(path) for path in paths}
            left = (one for one in objects.list_staged(root) if one.path in mine)
            set_index_entries(root, {one.path: one.head_entry for one in left})
            id_ = git_cli.resolve_commit(root, "HEAD")
            return CommitResult(id_, text, tuple(paths), ()), gone
        if _VANISHED_RE.search(ran.stderr):  # another process has normalized an event meanwhile
            continue
        # Someone may have committed the notes as they were, and they have changed again since.
        is_clean = _NOTHING_TO_COMMIT_RE.search(ran.stdout)
        if not (is_clean and _still_differs(root, paths, before, prefix)):
            break
    if not _still_differs(root, paths, before, prefix):
        return NOTHING_COMMITTED, gone
    raise declined_error(root, ran, "commit")


def _still_differs(
    root: str, paths: list[str], before: Mapping[bytes, objects.StagedChange], prefix: bytes
) -> bool:
    """True if a path differs from the last commit by more than line ends."""
    _drop_intent_to_add(root, [path for path in paths if prefix + os.fsencode(path) not in before])
    left = [one for one in changes.list_changes(root) if one.path in set(paths)]
    mine = any(one.kind != "M" or prefix + os.fsencode(one.path) in before for one in left)
    return bool(left) and (mine or not _differs_in_line_ends_only(root, [one.path for one in left]))


def _differs_in_line_ends_only(root: str, paths: list[str]) -> bool:
    """True if these differ in line ends alone, which git normalizes when they are added."""
    if git_cli.run_unchecked(root, ["diff", "--quiet", "HEAD", "--", *paths]).code:
        return False
    words = [*work_tree.add_words(root), *PATHS_FROM_STDIN]
    return not git_locks.run_when_unlocked(root, words, stdin=objects.join_nul(paths)).code


def _run_commit(root: str, here: list[str], paths: list[str], message: str) -> git_cli.GitResult:
    """Add new paths by intent alone, so that no other commit takes them along, then commit."""
    if here:
        words = [*work_tree.add_words(root), "--intent-to-add", *PATHS_FROM_STDIN]
        ran = git_locks.run_when_unlocked(root, words, stdin=objects.join_nul(here))
        if ran.code:
            return ran
    words = [*COMMIT_WORDS, "--only", f"--message={message}"]
    return git_locks.run_when_unlocked(
        root,
        [*words, *PATHS_FROM_STDIN],
        stdin=objects.join_nul(paths),
        timeout=HOOK_TIMEOUT_SECONDS,
        hooks=True,
        extra={"GIT_EDITOR": "true"},
    )


def _drop_intent_to_add(root: str, paths: list[str]) -> None:
    """Take out of the index again what was only named for a commit that was not made."""
    if named := _not_in_head(root, paths):
        words = ["update-index", "--force-remove", "-z", "--stdin"]
        git_locks.run_when_unlocked(root, words, stdin=objects.join_nul(named))


def _not_in_head(root: str, paths: Sequence[str]) -> list[str]:
    """The paths that the last commit has not: where such a one is gone, git would refuse to commit
    the others with it."""
    listed: set[bytes] = set()
    for some in objects.split_batches(paths) if paths and git_cli.has_commit(root) else ():
        words = ["ls-tree", "-r", "-z", "--name-only", "HEAD", "--", *some]
        listed.update(git_cli.run(root, words).split(b"\0"))
    return [path for path in paths if os.fsencode(path) not in listed]


def _is_committable(
    root: str,
    change: UncommittedChange,
    known: Mapping[str, bytes],
    problems: list[Problem],
    withheld: list[Problem],
) -> bool:
    """Whether a path may be committed as it stands; `known` are texts by `HEAD:./path`. Why not
    is added to the problems, or to `withheld` where it must not be published."""
    path = change.path
    try:
        if not files.exists(root, path):
            files.checked_parts(path)
            why = work_tree.why_absent(root, path) if change.kind == "D" else ""
            problems += [Problem(path, why, f"git rm -- {shell_quote(path)}")] if why else []
            return not why
        if path == layout.SETTINGS_FILE:
            settings_text.read(root)  # raises for what nobody can read
            if (wrong := settings.load(root)).problems and not wrong.refusal:
                raise CortexError(wrong.problems[0].message, wrong.problems[0].hint)
        checked = path.endswith(".md") and not layout_of(root).is_in(path, *_UNCHECKED_FOLDERS)
        data = files.read(root, path, _MAX_NOTE_BYTES)
        why = _why_unfinished(root, path, data, notes.read(data, path)) if checked else ""
        if not why and (
            problem := publish_check.why_held(root, path, data, known.get(f"HEAD:./{path}"))
        ):
            withheld.append(problem)
            return False
    except (CortexError, OSError) as error:
        hint = error.hint if isinstance(error, CortexError) else ""
        problems.append(Problem(path, f"is not committed: {error}", hint))
        return False
    if why:
        problems.append(Problem(path, f"is not committed: {why}", "mend it, then cortex sync"))
    return not why


def _why_unfinished(root: str, path: str, data: bytes, note: notes.Note) -> str:
    """What shows that a note is not finished: nothing in it, unreadable frontmatter, conflict
    markers (as texts about merging have) that neither its last commit nor its events hold."""
    if not data.strip():
        return "it is empty"
    for problem in note.problems:
        if "frontmatter" in problem.message:
            return problem.message
    if not marked_conflicts(data) or (
        is_event_path(path) and not objects.read_at_revision(root, "HEAD", path)
    ):
        return ""
    known = marked_conflicts(objects.read_at_revision(root, "HEAD", path) or b"")
    for name in note.provenance()[0]:
        event = changes.read_if_there(root, layout_of(root).event(name), _MAX_NOTE_BYTES)
        known |= marked_conflicts(event or b"")
    return "it holds conflict markers" if marked_conflicts(data) - known else ""
