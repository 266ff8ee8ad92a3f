"""What in the repository around a vault would make a merge, a commit or a pull go wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from cortex.core.model.layout import is_among_briefings
from cortex.core.model.note_status import decode_text
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.redact.secrets import redact
from cortex.operations.share import people_notes, restore_displaced
from cortex.vault import publish_check, settings
from cortex.vault.git import (
    checkout,
    commit,
    drivers,
    git_cli,
    git_locks,
    merging,
    objects,
    remotes,
    repository,
    work_tree,
)
from cortex.vault.layout import layout_of
from cortex.vault.repair import diagnose

_HISTORY_TIMEOUT_SECONDS = 10.0  # seconds for a look through the history of all events


def repository_problems(root: str) -> list[Problem]:
    """All problems of the repository; a check that fails is a problem of its own."""
    if broken := diagnose.find_problems(root):
        # Where git itself cannot read, the rest would only repeat it.
        return broken + _run_check(root, git_locks.problems) + drivers.config_problems(root)
    if not checkout.is_in_repository(root):
        return []
    checks = (
        git_locks.problems,
        drivers.problems,
        _interrupted_sync,
        _unfinished_operation,
        _unmerged_files,
        _skipped_notes,
        restore_displaced.problems,
        _uncommitted_briefings,
        _leftover_autostash,
        _edited_events,
        _held_back,
    )
    return [problem for check in checks for problem in _run_check(root, check)]


def _run_check(root: str, check: Callable[[str], list[Problem]]) -> list[Problem]:
    try:
        return check(root)
    except (CortexError, OSError) as error:
        return [problem_of(".git", error, "git status")]


def _interrupted_sync(root: str) -> list[Problem]:
    if not merging.is_unfinished(root):
        return []
    message = "a sync was ended half-way, unless one runs now: files may be missing or cut off"
    return [Problem(".git/cortex-sync", message, "cortex sync")]


def _unfinished_operation(root: str) -> list[Problem]:
    """A merge or the like in which nothing is left to resolve: it waits for its end."""
    if not checkout.operation_in_progress(root) or merging.load_in_progress(root):
        return []
    if repository.list_unmerged_paths(root):
        return []
    return [Problem(".git", *commit.find_blocker(root))]


def _unmerged_files(root: str) -> list[Problem]:
    hint = "cortex doctor --fix merges what can be; cortex sync says what to do about the rest"
    paths = repository.list_unmerged_paths(root)
    return [Problem(path, "git could not merge it", hint) for path in paths]


def _skipped_notes(root: str) -> list[Problem]:
    count = len(work_tree.list_skipped(root))
    notes = f"{count} note{'s' * (count != 1)}"
    message = f"a sparse checkout leaves out {notes}: briefings are made in other clones alone"
    return [Problem(".git", message, "git sparse-checkout disable")] if count else []


def _uncommitted_briefings(root: str) -> list[Problem]:
    """Briefings that differ from the last commit if nothing else of ours does: git refuses a pull
    that touches them. The git commands read no .gitignore: if that is a pipe, git waits for
    ever."""
    if not git_cli.has_commit(root):
        return []
    flags = ["--no-ext-diff", "--no-textconv", "--name-only", "--no-renames", "--relative", "-z"]
    changed = git_cli.run(root, ["diff", *flags, "HEAD", "--", *commit.own_paths(root)])
    folders = [one for one in commit.own_paths(root) if not is_among_briefings(f"{one}/")]
    new = git_cli.run(root, ["ls-files", "--others", "-z", "--", *folders])
    paths = [os.fsdecode(name) for name in changed.split(b"\0") if name]
    if new or not all(map(is_among_briefings, paths)):
        return []  # they wait for a commit together with what they tell of
    message = "is not committed as it is, and a pull may refuse to touch it"
    return [Problem(path, message, "cortex sync") for path in paths]


def _leftover_autostash(root: str) -> list[Problem]:
    """Stashes of autostash that git could not apply, and left in the list of stashes."""
    listed = git_cli.run_unchecked(root, ["stash", "list", "--format=%gd %gs"]).stdout
    message = "an automatic stash was never put back: your changes lie there"
    stashes = (line.partition(" ") for line in listed.decode("utf-8", "replace").splitlines())
    names = (name for name, _, subject in stashes if "autostash" in subject)
    return [Problem(f".git ({name})", message, f"git stash pop '{name}'") for name in names]


def _edited_events(root: str) -> list[Problem]:
    """Events whose text differs from their first version in git, unless that held a secret."""
    first = _original_blobs(root)
    # A name with a line end would be two names for git; doctor lists it as a bad name anyway.
    here = [path for path in first if "\n" not in path and os.path.isfile(os.path.join(root, path))]
    lines = "".join(f"{path}\n" for path in here).encode("utf-8", "surrogateescape")
    hashes = git_cli.run(root, ["hash-object", "--stdin-paths"], stdin=lines) if here else b""
    message = "an event was edited after it was captured"
    advice = "is what it said; restore that, and keep corrections in its record"
    edited = [
        path
        for path, hash_ in zip(here, hashes.decode().split(), strict=True)
        if hash_ != first[path]
    ]
    texts = objects.read_blobs(root, [first[path] for path in edited])
    return [
        Problem(path, message, f"git cat-file blob {first[path][:12]} {advice}")
        for path in edited
        if not redact(decode_text(texts.get(first[path], b"")))[1]
    ]


def _original_blobs(root: str) -> dict[str, str]:
    """The first blob of each event that a commit, a merge or an edit has changed, by vault path."""
    first: dict[str, str] = {}
    events = sorted({"events", layout_of(root).path("events")})
    log = ["log", "--format=", "--raw", "--no-abbrev", "--no-renames", "-z", "--relative"]
    changed = b""
    # Of a history that takes too long only uncommitted changes are found.
    with suppress(CortexError):
        words = [*log, "--diff-filter=M", "--reverse", "--", *events]
        changed = git_cli.run(root, words, timeout=_HISTORY_TIMEOUT_SECONDS)
        # What differs from both parents: `::mode mode mode blob blob blob status`, those of
        # the parents first.
        words = [*log, "--merges", "-c", "--reverse", "--", *events]
        mixed = git_cli.run(root, words, timeout=_HISTORY_TIMEOUT_SECONDS).split(b"\0")
        for meta, path in zip(mixed[::2], mixed[1::2], strict=False):
            blobs = [blob.decode() for blob in meta.split(b" ")[3:5] if blob.strip(b"0")]
            if blobs and meta.startswith(b"::"):
                first.setdefault(os.fsdecode(path), blobs[0])
    if git_cli.has_commit(root):
        flags = ["--raw", "--no-abbrev", "--no-renames", "--diff-filter=M", "-z", "--relative"]
        changed += git_cli.run(root, ["diff-index", *flags, "HEAD", "--", *events])
    fields = changed.split(b"\0")
    for meta, path in zip(fields[::2], fields[1::2], strict=False):
        first[os.fsdecode(path)] = first.get(os.fsdecode(path), "") or meta.split(b" ")[2].decode()
    return first


def _held_back(root: str) -> list[Problem]:
    """What the next sync will not publish, in files and in commits."""
    ours = [one.path for one in commit.list_changes(root) if one.kind != "D"]
    found = publish_check.held_files(root, ours)
    if not people_notes.why_not_shared(root, settings.load(root).notes):
        found += people_notes.list_held(root, ["."])
    with suppress(CortexError):  # there is no remote, or nobody knows which
        up = remotes.find_upstream(root)
        theirs = git_cli.find_commit(root, f"refs/remotes/{up.remote}/{up.remote_branch}")
        found += publish_check.held_in_commits(root, theirs, up.push_remote)
    return list({one.where: one for one in found}.values())
