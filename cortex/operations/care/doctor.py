"""What is wrong with a vault, each with the next thing to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Any

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import PERSON_SETTING
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.model.relation import NameResolver, basename_key
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import cortex_command, format_time, shell_quote
from cortex.core.text.value import NamedTuple
from cortex.hosts import mcp_settings, settings_file
from cortex.index import missing_targets
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.links import LinkGraph, list_candidates
from cortex.index.missing_targets import MissingLinks
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.care import hook_status
from cortex.operations.care.hook_status import project_root
from cortex.operations.care.trial import server_problems, try_servers
from cortex.operations.care.vault_checks import MAX_LISTED, note_problems, repository_problems
from cortex.operations.projects.project import name_problems
from cortex.operations.runs.run_list import run_problems
from cortex.operations.share.duplicates import join_files
from cortex.operations.share.resolve_conflicts import recover_interrupted_merge, resolve_user_merge
from cortex.operations.share.text_conflicts import clear_conflicts
from cortex.operations.upkeep.bring_up_to_date import state_problems
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.restore_lost import find_missing_records, restore_lost
from cortex.vault import files, private, settings, settings_text, user_settings
from cortex.vault.foreign_settings import list_agent_settings
from cortex.vault.git import changes, checkout, drivers, git_cli, objects, page_branch
from cortex.vault.git.publish_check import NOT_PUBLISHED
from cortex.vault.layout import SETTINGS_FILE
from cortex.vault.locate import Vault, default_vault_fault, default_vault_file
from cortex.vault.repair import group_access
from cortex.vault.repair.fix import repair
from cortex.vault.state import distill_log, session_state

_SHARED_TRANSCRIPT_SECONDS = 14 * 24 * 3600  # for which a transcript of two sessions is named
_TIMEOUT_SECONDS = 2.0  # seconds for one walk over the history
_MIN_AGE_SECONDS = 600.0  # a half-written file that is younger may belong to somebody at work


class DoctorResult(NamedTuple):
    """What was looked at, and every problem found."""

    vault: str
    notes: int
    found: str  # how the search index was found: current, updated, built
    problems: tuple[Problem, ...]
    fixed: tuple[str, ...] = ()  # what was done, in words
    agent_settings: tuple[str, ...] = ()  # at the top of the vault, as `.claude`; nothing is used
    unwritten: int = 0  # links in people's own notes to notes that are not there yet


def doctor(
    vault: Vault, caller: Caller, *, fix: Annotated[bool, PERSON_SETTING] = False
) -> DoctorResult:
    """Report what is wrong with the vault, and how to fix it.

    No file is changed without --fix. Checked are notes, clashing ids and names, conflict copies,
    links to no note, briefings, hooks, runs and the repository. --fix registers the merge drivers,
    heals briefings, merges what git could not, brings back notes and events that git took for
    others, joins files that have one id, repairs what a power cut left of the repository, gives the
    token's line to hosts that ask over HTTP.

    fix: do what is safe first, and say what was done

    Example: cortex doctor --json
    Example: cortex doctor --fix
    """
    if (foreign := group_access.foreign_owner_problem(vault.root)) and not os.access(
        os.path.join(vault.root, vault.layout().pending()), os.R_OK | os.X_OK
    ):
        raise CortexError(f"{vault.root} {foreign.message}", foreign.hint)
    done: list[str] = []
    failed: list[Problem] = []
    if fix:
        done, failed = _apply_fixes(vault, caller)
    around = _problems_around(vault, caller)

    def examine(index: IndexSession) -> tuple[DoctorResult, list[MissingLinks], set[str]]:
        renamed = name_problems(vault, index.catalogue, caller.cwd)
        reported = {one.where for one in around if one.message.startswith(NOT_PUBLISHED)}
        problems = (*renamed, *note_problems(vault, index, caller.now, reported))
        notes = index.catalogue.count_notes()
        examined = DoctorResult(vault.root, notes, index.outcome, problems)
        ids = {*index.catalogue.count_by("id", NoteFilter())}
        return examined, find_broken_links(vault.root, index), ids

    examined, missing, ids = query_index(vault, caller.progress, examine, words=True)
    # Runs git, which nobody need wait for who holds the index. Where git cannot, it is told already.
    gone: list[Problem] = []
    is_told = any(f"{one.where}/".startswith(".git/") for one in around)
    if not is_told and not checkout.find_fault(vault.root)[0]:
        gone = find_missing_records(vault.root, ids)[:MAX_LISTED]
    former = _former_names(vault.root) if missing else {}
    links, unwritten = missing_targets.missing_target_problems(missing, former)
    return examined._replace(
        unwritten=unwritten,
        problems=(*failed, *around, *examined.problems, *gone, *links),
        fixed=tuple(done),
        agent_settings=list_agent_settings(vault.root),
    )


def _problems_around(vault: Vault, caller: Caller) -> list[Problem]:
    """What is wrong beside the notes: in the repository, settings, hooks, servers and runs."""
    return [
        *repository_problems(vault.root),
        *group_access.problems(vault.root),
        *hook_status.all_problems(vault, caller.cwd),
        *_tokenless_problems(caller.cwd),
        *server_problems(try_servers(project_root(caller.cwd))),
        *settings.unknown_settings(vault.root),
        *user_settings.load_distill()[1],
        *user_settings.load_semantic(os.environ)[1],
        *distill_log.problems(vault.root),
        *run_problems(vault, caller),
        *_unread_file_problems(vault, caller.cwd),
        *_shared_transcript_problems(vault, epoch_seconds(caller.now)),
    ]


def find_broken_links(root: str, index: IndexSession) -> list[MissingLinks]:
    """Every relation and link whose target is no note."""
    missing = LinkGraph(index.catalogue).list_missing_targets()
    if missing:  # what the settings leave out of search is a note all the same
        names = NameResolver(list_candidates(root, {}))
        missing = [
            one
            for one in missing
            if not names.resolve(one.edge.target, os.path.dirname(one.note.path))
        ]
    return missing_targets.group_missing_targets(index.catalogue, missing)


def _former_names(root: str) -> dict[str, tuple[str, str]]:
    """The names of notes that are gone: how each went, and the path that the note has instead, if it
    was renamed. Of the history nothing, if git takes too long."""
    found: dict[str, tuple[str, str]] = {}
    if checkout.find_repository(root) is None:
        return found
    words = (
        "log --diff-filter=DR --name-status --find-renames --relative -z --format=%x01%h:%cs HEAD"
    )
    with suppress(CortexError):  # no git, or a long history: the answer goes without it
        status = [one for one in changes.list_status(root, (".",)) if one.path.endswith(".md")]
        before = objects.read_blobs(root, [one.blob for one in status if one.kind == "D"])
        old = {before[one.blob]: one.path for one in status if one.blob in before}
        for one in status:
            if one.kind == "A" and (was := old.get(changes.read_if_there(root, one.path) or b"")):
                found[basename_key(was)] = "since the last commit", one.path
        output = git_cli.run(root, words.split(" "), timeout=_TIMEOUT_SECONDS)
        for commit in output.decode("utf-8", "surrogateescape").split("\x01")[1:]:
            head, *fields = (part for field in commit.split("\0") if (part := field.strip("\n")))
            how, paths = "in {} on {}".format(*head.split(":")), iter(fields)
            for letter in paths:
                name = next(paths)
                path = next(paths) if letter.startswith("R") else ""
                found.setdefault(basename_key(name), (how, path * files.exists(root, path)))
    return found


def _unread_file_problems(vault: Vault, cwd: str) -> Iterator[Problem]:
    """Files around the vault that are not read, since they are links, pipes or a stranger's."""
    for path, fault in checkout.unreadable_project_files(cwd):
        hint = f"put a file in its place, or rm {shell_quote(path)}"
        yield Problem(path, f"{fault}; it is not read", hint)
    if fault := default_vault_fault():
        hint = "cortex init DIR --default writes it anew"
        yield Problem(default_vault_file(), f"{fault}; it is not read", hint)
    if unusable := state_problems(vault):
        yield from unusable
    else:
        yield from private.problems(vault.state_folder())
    yield from private.problems(vault.cache_folder())


def _tokenless_problems(cwd: str) -> Iterator[Problem]:
    """Hosts that would ask over HTTP and be refused."""
    for change, _, command in mcp_settings.plan_token_lines(hook_status.project_root(cwd)):
        yield Problem(change.file, "has the address of cortex mcp --http, and no token", command)


def _shared_transcript_problems(vault: Vault, now: int) -> Iterator[Problem]:
    """Transcripts in which another session wrote behind the one that is captured from there."""
    since = format_time(now - _SHARED_TRANSCRIPT_SECONDS)
    try:
        found = sorted(session_state.passed_over(vault, since), key=lambda one: one[0].transcript)
    except OSError:  # told by others
        return
    for known, other in found[:MAX_LISTED]:
        message = f"holds lines of session {other} among those of {known.session}; hooks took none"
        hint = cortex_command("import", known.host, "--path", known.transcript)
        yield Problem(known.transcript, message, hint)


def _apply_fixes(vault: Vault, caller: Caller) -> tuple[list[str], list[Problem]]:
    """Repair what is safe to repair. Returns what was done, in words, and what failed.

    Changed are only briefings, notes that git has mixed up, lost or doubled, and an entry of
    ours in the settings of a host; and the vault's settings get the name of the default branch.
    """
    settings.check_writable(vault.root)
    done: list[str] = []
    failed: list[Problem] = []
    for step, needs_repository, is_safe_during_merge in _STEPS:
        if needs_repository and not checkout.is_in_repository(vault.root):
            continue
        # Git would refuse to go on with a rebase or merge until what a step changes is added.
        if not is_safe_during_merge and checkout.operation_in_progress(vault.root):
            continue
        try:
            done += step(vault, caller)
        except (CortexError, OSError) as error:
            where = str(getattr(error, "filename", None) or ".")
            failed.append(problem_of(where, error, "cortex doctor", "could not be mended: "))
    return done, failed


def _register_drivers(vault: Vault, _: Caller) -> Iterable[str]:
    if drivers.register(vault.root, again=True):
        yield "git knows Cortex's merge drivers now"


def _declare_default_branch(vault: Vault, _: Caller) -> Iterable[str]:
    """Name the default branch in the settings, so that all clones have the same one."""
    branch, may_differ = page_branch.undeclared_default(vault.root)
    if not branch or not may_differ:
        return

    def change(table: dict[str, Any]) -> None:
        table.setdefault("briefings", {})["branch"] = branch

    lines = page_branch.settings_lines(branch)
    by_hand = f'write branch = "{branch}" below [briefings] yourself'
    if settings_text.edit(vault.root, change, lambda text: iter([text + lines]), by_hand):
        yield f"{SETTINGS_FILE} says that shared pages are written on {branch}"


def _remove_leftovers(vault: Vault, caller: Caller) -> Iterable[str]:
    written_before = time.time() - _MIN_AGE_SECONDS  # in the clock of the file system
    for path in query_index(vault, caller.progress, lambda index: index.snapshot.temp_files):
        if os.lstat(vault.file(path)).st_mtime < written_before:
            files.remove(vault.root, path)
            yield f"{path}, half-written by a killed process, is gone"


def _give_token_lines(_: Vault, caller: Caller) -> Iterable[str]:
    for change, todo, _command in mcp_settings.plan_token_lines(project_root(caller.cwd)):
        settings_file.apply_change(todo)
        yield f"{change.file} is {change.outcome}; {change.next_step}"


def _heal_briefings(vault: Vault, caller: Caller) -> Iterable[str]:
    healed = heal(vault, caller)
    yield from (f"{path} is as the notes give it" for path in healed.written)
    yield from (f"{path} is gone: the default branch keeps it" for path in healed.removed)


def _describe(changes: Iterable[Any]) -> list[str]:
    return [f"{one.path}: {one.what}" for one in changes]


# Step, whether it needs a repository, whether it may run during a merge. The order counts.
_STEPS: tuple[tuple[Callable[[Vault, Caller], Iterable[str]], bool, bool], ...] = (
    (lambda vault, _: repair(vault.root), False, True),
    (lambda vault, _: _describe(recover_interrupted_merge(vault.root)), True, True),
    (_register_drivers, False, True),
    (lambda vault, caller: _describe(resolve_user_merge(vault, caller)[0]), True, True),
    (lambda vault, caller: _describe(restore_lost(vault, caller)[0]), True, False),
    (lambda vault, caller: _describe(join_files(vault, caller, copies=True)), False, False),
    (lambda vault, caller: _describe(clear_conflicts(vault, caller)), False, False),
    (_declare_default_branch, True, False),
    (_remove_leftovers, False, True),
    (_give_token_lines, False, True),
    (_heal_briefings, False, True),
)
