"""What in the repository around a vault would make a merge, a commit or a pull go wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from cortex.core.model.layout import is_among_briefings
from cortex.core.model.note_status import decode_text
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.redact.secrets import redact
from cortex.core.text.shell_command import shell_quote
from cortex.operations.share import people_notes
from cortex.operations.share.resolve_conflicts import read_work_tree_file
from cortex.vault import settings
from cortex.vault.git import (
    checkout,
    commit,
    drivers,
    git_cli,
    git_locks,
    merging,
    objects,
    page_branch,
    publish_check,
    remotes,
    work_tree,
)
from cortex.vault.git.merge_versions import same_text
from cortex.vault.layout import SETTINGS_FILE, layout_of
from cortex.vault.repair import diagnose


def repository_problems(root: str) -> list[Problem]:
    """All problems of the repository; a check that fails is a problem of its own."""
    if broken := diagnose.find_problems(root):
        # Where git itself cannot read, the rest would only repeat it.
        broken += _run_check(root, git_locks.problems)
        with suppress(CortexError):  # there is no git, which is told already
            broken += drivers.config_problems(root)
        return broken
    if not checkout.is_in_repository(root):
        return []
    checks = (
        git_locks.problems,
        drivers.problems,
        _interrupted_sync,
        _unfinished_operation,
        _unmerged_files,
        _skipped_notes,
        _uncommitted_briefings,
        _leftover_autostash,
        _edited_events,
        _held_back,
        _default_branch,
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
    if diagnose.list_unmerged_paths(root):
        return []
    return [Problem(".git", *commit.find_blocker(root))]


def _unmerged_files(root: str) -> list[Problem]:
    hint = "cortex doctor --fix merges what can be; cortex sync says what to do about the rest"
    paths = diagnose.list_unmerged_paths(root)
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


def _default_branch(root: str) -> list[Problem]:
    """Settings that name no branch for the shared pages, so that each clone guesses it, or one that
    there is not, so that nobody writes them."""
    if missing := page_branch.missing_default(root):
        message = f"[briefings] branch names {missing}, and there is no such branch"
        return [Problem(SETTINGS_FILE, message, "write the branch that you all share")]
    default, may_differ = page_branch.undeclared_default(root)
    if not may_differ:
        return []
    message = "does not name the branch on which shared pages are written"
    guess = f"{message}; {default} is taken" if default else f"{message}; each branch writes all"
    hint = "cortex doctor --fix writes it down" if default else 'write [briefings] branch = "main"'
    return [Problem(SETTINGS_FILE, guess, hint)]


def _leftover_autostash(root: str) -> list[Problem]:
    """Stashes of autostash that git could not apply, and left in the list of stashes."""
    listed = git_cli.run_unchecked(root, ["stash", "list", "--format=%gd %gs"]).stdout
    message = "an automatic stash was never put back: your changes lie there"
    stashes = (line.partition(" ") for line in listed.decode("utf-8", "replace").splitlines())
    names = (name for name, _, subject in stashes if "autostash" in subject)
    return [Problem(f".git ({name})", message, f"git stash pop '{name}'") for name in names]


def _edited_events(root: str) -> list[Problem]:
    """Events whose text in the work tree is not that of the last commit, unless that held a secret.
    What a commit has edited is undone (`restore_lost`)."""
    if not git_cli.has_commit(root):
        return []
    events = sorted({"events", layout_of(root).path("events")})
    words = ["diff-index", *objects.RAW, "--no-renames", "--diff-filter=M", "--relative", "HEAD"]
    edited = objects.list_raw(git_cli.run(root, [*words, "--", *events]))
    texts = objects.read_blobs(root, [one.old_blob for one in edited])
    message = "an event was edited after it was captured"
    advice = "brings its text back; keep corrections in its record"
    return [
        Problem(path, message, f"git checkout HEAD -- {shell_quote(path)} {advice}")
        for path, text in ((os.fsdecode(one.path), texts[one.old_blob]) for one in edited)
        if not redact(decode_text(text))[1] and not same_text(read_work_tree_file(root, path), text)
    ]


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
