"""One vault in many clones: commit what is ours, take what others did, give what we did."""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import PERSON_SETTING
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
    problem_of,
)
from cortex.core.text.strings import format_count, shell_quote
from cortex.core.text.value import NamedTuple
from cortex.operations.records.lifecycle import archive_by_itself
from cortex.operations.share import follow, people_notes, sync_checks
from cortex.operations.share.duplicates import join_files
from cortex.operations.share.erase import apply, find_files
from cortex.operations.share.merge_run import MergeRun
from cortex.operations.share.sync_checks import MergeRefusedError, RemovalLimit
from cortex.operations.share.text_conflicts import clear_conflicts
from cortex.operations.share.units import render_unit
from cortex.operations.upkeep.drain_spool import publish_unsent_events
from cortex.operations.upkeep.heal import heal_pages
from cortex.operations.upkeep.normalize import normalize_inbox
from cortex.operations.upkeep.restore_lost import restore_lost
from cortex.vault import erased, files, layout, settings
from cortex.vault.erased import ErasedList
from cortex.vault.git import (
    changes,
    checkout,
    commit,
    drivers,
    git_cli,
    merging,
    objects,
    publish_check,
    refusals,
    remotes,
    rewrite,
)
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.git.commit import NOTHING_COMMITTED
from cortex.vault.git.merging import MergeState
from cortex.vault.git.refusals import DeclinedError
from cortex.vault.git.remotes import Upstream
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from cortex.vault.state.change_marker import git_stamp
from cortex.vault.state.json_store import JsonStore

_MAX_PUSH_ATTEMPTS = 6  # at a push, while others push at the same time
# Path -> what the last sync said of what it left behind there.
_TOLD = JsonStore("left-behind.json", dict[str, str], dict[str, str](), most=4_000_000)
_MAX_MERGE_ATTEMPTS = 3  # of a merge, when something of ours is written between its commit and it


class SyncResult(NamedTuple):
    """What a sync did, here and there; `trouble`: why it stopped after that."""

    branch: str
    remote: str
    commits: tuple[str, ...]  # the messages of the commits made of our own changes
    received: int  # commits of others
    how: str  # by which they came: fast-forward, merge, rebase, follow; empty without any
    sent: int  # commits given to the remote
    unsent: int  # commits that were not, because pushing is off
    push: str  # pushed; nothing (to push); off; no remote; failed; empty if it did not come to that
    settled: tuple[MergeResolution, ...]  # what git could not merge, and what was decided
    waiting: tuple[Problem, ...]  # what only a person can decide; the merge stays under way
    left: tuple[str, ...]  # changed files and new folders of the vault that were not committed
    left_because: dict[str, tuple[str, ...]]  # the same by reason
    held: tuple[Problem, ...]  # what would be published for the first time, and was held back
    refused: tuple[Problem, ...]  # files that git, or a hook, did not take
    problems: tuple[Problem, ...]
    trouble: str
    hint: str
    unit: str = ""  # what syncs by itself, to install; nothing was done
    told_before: tuple[str, ...] = ()  # where of all this an earlier sync has said the same


_NOTHING_DONE = SyncResult("", "", (), 0, "", 0, 0, "", (), (), (), {}, (), (), (), "", "")


def sync(
    vault: Vault,
    caller: Caller,
    *,
    no_push: bool = False,
    yes: bool = False,
    only_records: bool = False,
    follow: Annotated[bool, PERSON_SETTING] = False,
    publish: Annotated[tuple[str, ...], PERSON_SETTING] = (),
    every: Annotated[str | None, PERSON_SETTING] = None,
) -> SyncResult:
    """Commit notes and records, merge what others pushed, push.

    Your own notes and attachments are committed, too, where the vault is a repository of its own
    without code; [sync] notes = true or false overrides that. Files that are staged, hidden,
    ignored, still being written or of another kind stay as they are, and are listed: once, then if
    that changes.

    What would be published for the first time is checked. A file or a new line that looks like a
    secret is held back, and so are notes with scope: personal or scope: global, except in your own
    vault. So is a file that git or a hook refuses. Each is named; the rest is published, exit code
    1.

    Git's settings decide whether to merge or rebase (pull.rebase, pull.ff, merge.ff). Notes that
    git cannot merge are merged field by field. Lines that both sides changed wait for you: remove
    the conflict markers, then sync again.

    Sync stops if the remote's history was rewritten, as by cortex erase --history. --follow rebases
    your own commits onto that history, and deletes the old one if erase rewrote it. Sync also stops
    if you have commits that are not pushed, and text that somebody erased there: --follow erases
    the same here.

    no_push: fetch and merge, but do not push
    yes: continue even if more than a fifth of the notes, or a whole folder, would be removed
    only_records: leave your own notes and attachments as they are
    follow: take a history that was rewritten
    publish: files that were held back, to publish as they are
    every: only print what syncs every 10m or 2h (systemd, launchd, cron), and how to install it

    Example: cortex sync
    Example: cortex sync --every 10m
    Example: cortex sync --no-push
    Example: cortex sync --publish notes/example-keys.md
    """
    if checkout.find_repository(vault.root) is None:
        hint = f"git init {shell_quote(vault.root)}, then cortex sync"
        raise ConflictError(f"{vault.root} is in no git repository", hint)
    settings.check_writable(vault.root)
    if every is not None:
        if yes or follow or publish:
            hint = "cortex sync --every 10m"
            raise InvalidInputError("--yes, --follow and --publish are for one sync alone", hint)
        options = ["--no-push"] * no_push + ["--only-records"] * only_records
        return _NOTHING_DONE._replace(unit=_render_timer(vault.root, every, options))
    with lock(os.path.join(checkout.locks_folder(vault), "sync.lock"), "sync"):
        for name in publish:
            _allow(vault.root, caller.cwd, name)
        run = _SyncRun(vault, caller, no_push=no_push, yes=yes, only_records=only_records)
        run.follows = follow
        return run.run()


def _render_timer(root: str, every: str, options: list[str]) -> str:
    """What syncs `every` so often, in the form of this platform."""
    span = re.fullmatch(r"([1-9][0-9]{0,3})(m|min|h)", every)
    minutes = int(span[1]) * (60 if span[2] == "h" else 1) if span else 0
    if not 0 < minutes < 24 * 60:
        message = f"--every {every}: it takes minutes or hours, at least 1m and less than 24h"
        raise InvalidInputError(message, "cortex sync --every 10m")
    has_systemd = "timer" if shutil.which("systemctl") else "cron"
    kind = "launchd" if sys.platform == "darwin" else has_systemd
    return render_unit(kind, root, "sync", options, minutes)


def _allow(root: str, cwd: str, name: str) -> None:
    """Remember that a file of the vault may be published as it stands, there and in commits. `name`
    is its path in the vault or from the working directory."""
    here = os.path.relpath(os.path.realpath(os.path.join(cwd, name)), root)
    path = here if not here.startswith("..") and files.exists(root, here) else name
    if not publish_check.allow(root, path):
        hint = "name it as cortex sync does"
        raise InvalidInputError(f"there is no file {name} in the vault, nor in its commits", hint)


class _SyncRun:
    """One sync and what it has done so far."""

    def __init__(
        self, vault: Vault, caller: Caller, *, no_push: bool, yes: bool, only_records: bool
    ) -> None:
        self.vault = vault
        self.root = vault.root
        self.caller = caller
        self.allow_mass_removal = yes
        self.remote = ""
        self.commits: list[str] = []
        self.received = self.sent = self.unsent = 0
        self.how = self.push = ""
        self.merge = MergeRun(vault, caller)
        self.resolved = self.merge.resolved
        self.problems: dict[str, Problem] = {}
        self.withheld: dict[str, Problem] = {}
        self.refused: dict[str, Problem] = {}
        self.is_push_off = not self._is_push_enabled() or no_push
        # Why people's own notes stay behind; empty: they do not.
        self.notes_left = "--only-records" if only_records else "nothing was committed"
        self.only_records = only_records
        self.follows = False  # a history that was rewritten
        self._may_wait = True  # for files that are being written, once
        self._uncommitted: list[UncommittedChange] | None = None  # of ours; None: not known
        self._left_out: tuple[Problem, ...] = ()  # of the last commit

    def run(self) -> SyncResult:
        trouble = hint = ""
        try:
            people_notes.update_index_to_head(self.root, only_after_crash=True)
            self.how = self.merge.resume()
            self._add_outcome(restore_lost(self.vault, self.caller))
            self.merge.resolve_user_merge()
            self._prepare()
            publish_unsent_events(self.vault)
            normalized = normalize_inbox(self.vault, self.caller)
            self.problems |= {problem.where: problem for problem in normalized.failed}
            self.problems |= {one.where: one for one in archive_by_itself(self.vault, self.caller)}
            self._commit()
            self._exchange_with_remote()
        except CortexError as error:
            trouble, hint = error.message, error.hint
            if isinstance(error, DeclinedError) and not self.remote:  # every commit
                self.refused = {}
                refusals.remember(self.root, [Problem(refusals.HOOKS, trouble, hint)])
        return self._build_result(trouble, hint)

    def _prepare(self) -> None:
        """See that git knows our drivers, and that it sees the vault at all."""
        is_own = objects.toplevel(self.root) == self.root
        if not is_own and objects.filter_ignored(self.root, [layout.SETTINGS_FILE]):
            message = "the repository around the vault ignores it: there is nothing to sync"
            raise CortexError(message, "git init in the vault makes it a repository of its own")
        if not self.only_records:
            chosen = settings.load(self.root).notes
            self.notes_left = people_notes.why_not_shared(self.root, chosen)
        try:
            # Also when they are there: attributes of a stranger may have come with a pull.
            drivers.register(self.root)
        except CortexError as error:  # what they would have merged is merged by us
            self.problems[".git/config"] = problem_of(".git/config", error)

    def _build_result(self, trouble: str, hint: str) -> SyncResult:
        mine = changes.list_changes(self.root) if self._uncommitted is None else self._uncommitted
        left = changes.list_foreign_changes(self.root, mine) if not self.merge.waiting else []
        why = self.notes_left or ("sync stopped before" if trouble and not self.remote else "")
        because = people_notes.explain_left(self.root, left, why, self.refused)
        withheld = people_notes.list_held(self.root, [] if self.notes_left else left)
        self.withheld |= {problem.where: problem for problem in withheld}
        problems = {one.where: one for one in settings.load(self.root).problems} | self.problems
        result = SyncResult(
            checkout.branch_of(self.root), self.remote, tuple(self.commits), self.received,
            self.how, self.sent, self.unsent, self.push, tuple(dict.fromkeys(self.resolved)),
            self.merge.waiting, tuple(left), because, tuple(self.withheld.values()),
            tuple(self.refused.values()),
            tuple(problems.values()), trouble, hint,
        )  # fmt: skip
        return result._replace(told_before=self._remember_told(result))

    def _remember_told(self, result: SyncResult) -> tuple[str, ...]:
        """Where of what is left behind the same was said before; from now on all of it was."""
        told = [(path, why) for why, paths in result.left_because.items() for path in paths]
        problems = (*result.held, *result.refused, *result.problems)
        now: dict[str, str] = {}
        for where, why in (*told, *((one.where, one.message) for one in problems)):
            now[where] = now.get(where, "") + why
        before = _TOLD.read(self.vault)
        is_whole = not (result.trouble or result.waiting)  # else not all was looked at
        with suppress(CortexError, OSError):  # at worst it is said again
            _TOLD.write(self.vault, now if is_whole else {**before, **now})
        return tuple(where for where, why in now.items() if before.get(where) == why)

    def _removal_limit(self) -> RemovalLimit:
        return RemovalLimit(self.root, self.allow_mass_removal, not self.notes_left)

    def _is_push_enabled(self) -> bool:
        """What the settings say; by default only a vault with a repository of its own, that holds no
        code, is pushed."""
        chosen = settings.load(self.root).push
        return not people_notes.why_not_shared(self.root, None) if chosen is None else chosen

    def _add_outcome(self, done: tuple[list[MergeResolution], list[Problem]]) -> None:
        resolved, problems = done
        self.resolved += resolved
        self.problems |= {problem.where: problem for problem in problems}

    def _commit(self, more: Sequence[UncommittedChange] = ()) -> None:
        """Heal and commit what is ours, and `more`."""
        settings.check_writable(self.root)  # a merge may have brought other settings
        stamp = git_stamp(self.vault)
        self._add_outcome(restore_lost(self.vault, self.caller))
        self.resolved += join_files(self.vault, self.caller)
        self.resolved += clear_conflicts(self.vault, self.caller)
        try:
            heal_pages(self.vault, self.caller, stamp)
        except CortexError as error:
            # A link where the pages should be stops no commit of the notes.
            message = f"could not be healed: {error.message}"
            self.problems["briefings"] = Problem("briefings", message, error.hint)
        self._uncommitted = None
        changed = [*changes.list_changes(self.root), *more]
        self._removal_limit().check_changes(changed)
        message = ""
        if squashed := merging.waiting_squash_message(self.root):
            subject = commit.format_message(self.root, (one.path for one in changed))
            message = f"{subject}\n\n{squashed}"
        declined = None
        try:
            kept = commit.commit_changes(self.root, changed, message)
        except DeclinedError as error:
            declined, paths = error, [one.path for one in changed]
            refused = tuple(refusals.problem_of_file(path, error.message) for path in paths)
            kept = NOTHING_COMMITTED._replace(refused=refused)
        # What an earlier commit of this sync left out may have been merged away since.
        for problem in self._left_out:
            self.problems.pop(problem.where, None)
            self.withheld.pop(problem.where, None)
        self._left_out = kept.problems + kept.withheld + kept.refused
        self.withheld |= {problem.where: problem for problem in kept.withheld}
        self.problems |= {problem.where: problem for problem in kept.problems}
        if kept.id:
            self.commits.append(kept.message.partition("\n")[0])
        else:
            self._uncommitted = changed
        self.refused = {one.where: one for one in kept.refused}
        if not self.notes_left:
            messages, theirs = people_notes.commit_notes(
                self.root, changed, self._removal_limit().check, wait=self._may_wait
            )
            self._may_wait = False
            self.commits += messages
            self.refused |= theirs
            declined = None if messages else declined  # it is not every commit
        if declined:
            raise declined
        if not self.only_records:
            refusals.remember(self.root, self.refused.values())

    def _exchange_with_remote(self) -> None:
        """Take and give, again when somebody else gave in between."""
        last = None  # what the fetch before had brought
        for attempt in range(_MAX_PUSH_ATTEMPTS):
            try:
                up = remotes.find_upstream(self.root)
            except NotFoundError:
                self.push = "no remote"
                return
            self.remote = up.remote
            follow.check_published(self.root, up)
            theirs = remotes.fetch(self.root, up)
            is_stuck, last = theirs == last, theirs
            self._follow(up, theirs)
            ahead, behind = sync_checks.count_ahead_behind(self.root, theirs)
            if behind:
                self._integrate(up, theirs, behind)
                ahead, _ = sync_checks.count_ahead_behind(self.root, theirs)
            if self.is_push_off:
                self.push, self.unsent = "off", ahead
                withheld = publish_check.held_in_commits(self.root, theirs, up.push_remote)
                self.withheld |= {one.where: one for one in withheld}
                return
            if not ahead:
                self.push = "nothing"
                return
            if self._push(up, ahead, theirs):
                return
            # Random, so that two clones that race do not race in step.
            time.sleep(random.uniform(0.02, 0.2) * 2**attempt)  # noqa: S311
        if is_stuck and up.push_remote != up.remote:
            message = f"{up.push_remote} has commits that {up.remote} has not"
            raise CortexError(message, f"git pull {up.push_remote} {up.branch}, then cortex sync")
        if is_stuck:
            message = f"{self.remote} takes no push, and nothing new can be fetched from it"
            raise CortexError(message, "git remote -v shows where it fetches from, and pushes to")
        message = f"others pushed to {self.remote} at the same moment, {_MAX_PUSH_ATTEMPTS} times"
        raise CortexError(message, "cortex sync, a little later")

    def _follow(self, up: Upstream, theirs: str) -> None:
        """Stop where the remote's history was rewritten, or take it. The old history is dropped where
        `cortex erase` rewrote it; else git keeps it for a while: a push by mistake loses no note."""
        before = git_cli.head_commit(self.root)
        if not (theirs and before):
            return
        lists = own, there = erased.read_list(self.root), follow.list_at(self.root, theirs)
        start = follow.find_start(self.root, up, theirs, lists, follows=self.follows)
        if start:
            if eraser := follow.derive_eraser(self.root, there):
                start = follow.erase_here(self.vault, self.caller, eraser, start)
            words = sync_checks.rebase_arguments(self.root, theirs, start)
            self.received += sync_checks.count_ahead_behind(self.root, theirs)[1]
            with commit.repository_lock(self.root):
                ours = git_cli.head_commit(self.root)
                self.merge.run(MergeState("rebase", theirs, {}, ours), words, [])
            self.how = "follow"
            self._commit()
        elif any((grown := there.beyond(own))[:3]):
            self._follow_list(grown, theirs, up.remote)
        # Without a start an earlier sync has followed, and waited for a person.
        if self.follows and erased.read_list(self.root).rewritten:
            self.follows = False
            rewrite.drop_old(self.root)
        elif start:
            kept = f"was rewritten; git log {before[:10]} shows the history before it"
            self.resolved.append(MergeResolution(up.remote, kept))

    def _follow_list(self, grown: ErasedList, theirs: str, remote: str) -> None:
        """Stop where files were erased on the remote, its history kept, that a clone with commits of
        its own still has, or erase the same here. Without such commits the fetch does."""
        number = format_count(len({*grown.blobs, *grown.events} or grown.records), "file")
        message = f"{number} were erased there since the last sync"
        has_own = not git_cli.is_ancestor(self.root, "HEAD", theirs)
        eraser = follow.derive_eraser(self.root, grown) if has_own else None
        if eraser and (found := find_files(self.vault, eraser)):
            if not self.follows:
                hint = "cortex sync --follow erases the same in your own notes, and goes on"
                raise CortexError(f"{remote}: {message}; nothing was merged", hint)
            apply(self.vault, self.caller, eraser, found, {}, history=False)
            message += f"; the same in {format_count(len(found), 'file')} here"
        self.resolved.append(MergeResolution(remote, message))

    def _push(self, up: Upstream, ahead: int, theirs: str) -> bool:
        """Whether the remote, whose last commit is `theirs`, took it; False when somebody else was
        first."""
        if self.how or ahead != len(self.commits):  # else each was looked at before it was made
            withheld = publish_check.held_in_commits(self.root, theirs, up.push_remote)
            self.withheld |= {one.where: one for one in withheld}
            if withheld:
                self.push = "failed"
                raise sync_checks.refused_push(self.root, up, theirs)
        if not theirs:  # other branches of the remote may have some of its commits
            words = ["rev-list", "--count", "HEAD", "--not", f"--remotes={up.push_remote}"]
            ahead = int(git_cli.line(self.root, words) or ahead)
        try:
            pushed = remotes.push(self.root, up)
        except CortexError as error:
            self.push = "failed"
            raise CortexError(f"nothing was pushed: {error.message}", error.hint) from error
        if pushed.is_done:
            self.push, self.sent = "pushed", ahead
            return True
        if pushed.lost_race:
            return False
        self.push = "failed"
        command = f"git push {up.push_remote} {up.branch}"
        hint = f"everything is committed here; {command} tries the push alone"
        raise CortexError(pushed.reason, hint)

    def _integrate(self, up: Upstream, theirs: str, behind: int) -> None:
        """Bring in what the remote has and we have not, so many commits."""
        sync_checks.check_left_out(self.root, self.remote, theirs, self._left_out)
        ours = git_cli.head_commit(self.root)
        base = git_cli.line(self.root, ["merge-base", "HEAD", theirs])
        for attempt in range(_MAX_MERGE_ATTEMPTS):
            try:
                with commit.repository_lock(self.root):
                    self.how = self._merge_or_rebase(up, theirs)
                break
            except MergeRefusedError:
                # The watcher, or a search, has written something of ours since the commit.
                same = sync_checks.untracked_copies(self.root, theirs)
                before = len(self.commits)
                if attempt + 1 == _MAX_MERGE_ATTEMPTS:
                    raise
                self._may_wait = True
                self._commit(same)
                if len(self.commits) == before:
                    raise
        self.received += behind
        told = {one.path for one in self.resolved}
        self.resolved += sync_checks.left_out_elsewhere(self.root, ours, told) if ours else []
        self._commit()
        if follow.erase_kept(self.vault, self.caller, base):
            self._commit()

    def _merge_or_rebase(self, up: Upstream, theirs: str) -> str:
        """Merge or rebase, as the user's git is configured. Returns which: `fast-forward`, `merge` or
        `rebase`."""
        sync_checks.check_mergeable(self.root, up, theirs, self._removal_limit())
        ours = git_cli.head_commit(self.root)
        if not ours or git_cli.is_ancestor(self.root, "HEAD", theirs):
            words = sync_checks.fast_forward_arguments(self.root, up, theirs)
            self.merge.run(MergeState("merge", theirs, {}), words, [])
            return "fast-forward"
        mode = "rebase" if up.rebase_mode else "merge"
        staged = sync_checks.staged_to_set_aside(self.root, up, theirs) if mode == "merge" else []
        words = sync_checks.merge_arguments(self.root, up, theirs)
        self.merge.run(MergeState(mode, theirs, {}, ours), words, staged)
        return mode
