"""One vault in many clones: commit what is ours, take what others did, give what we did."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, NamedTuple

from cortex.core.merge.conflicts import TAKEN
from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import is_record, note_id
from cortex.core.model.caller import Caller
from cortex.core.model.layout import AT_ROOT, BRIEFINGS_FOLDER, OWN_FOLDERS, is_among_briefings
from cortex.core.model.parameters import PERSON_SETTING
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
    problem_of,
)
from cortex.core.notes import note as notes
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.shell_command import shell_quote
from cortex.operations.records.lifecycle import archive_by_itself
from cortex.operations.share import people_notes
from cortex.operations.share.duplicates import join_diverged_files
from cortex.operations.share.resolve_conflicts import (
    read_work_tree_file,
    recover_interrupted_merge,
    resolve_unmerged,
    resolve_user_merge,
)
from cortex.operations.share.text_conflicts import clear_conflicts
from cortex.operations.upkeep.drain_spool import publish_unsent_events
from cortex.operations.upkeep.heal import heal, try_heal_pages
from cortex.operations.upkeep.normalize import normalize_inbox
from cortex.operations.upkeep.restore_lost import restore_lost
from cortex.vault import files, layout, settings
from cortex.vault.git import (
    attributes,
    changes,
    checkout,
    commit,
    drivers,
    git_cli,
    merging,
    objects,
    publish_check,
    remotes,
)
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.git.merging import MergeState
from cortex.vault.git.remotes import Upstream
from cortex.vault.layout import layout_of
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from cortex.vault.state.change_marker import git_stamp

_MAX_PUSH_ATTEMPTS = 6  # at a push, while others push at the same time
_MAX_MERGE_ATTEMPTS = 3  # of a merge, when something of ours is written between its commit and it
_MAX_STEPS = {"rebase": 10_000, "merge": 5}  # commits of one rebase; looks at what one merge left
_MERGE_FLAGS = ("--quiet", "--no-edit", "--no-autostash", "--no-squash", "--ff")
# Two notes have two ids, so they are never equal; a moved note is.
_EXACT_RENAMES = "-Xfind-renames=100%"
_EXTRACTED_RE = lazy_re(rb"(?m)^  layer: (?:keyword|passage|distilled)\r?$")
_MIN_MASS_REMOVAL = 5  # notes; fewer may go unasked however small the vault


class SyncResult(NamedTuple):
    """What a sync did, here and there; `trouble`: why it stopped after that."""

    branch: str
    remote: str
    commits: tuple[str, ...]  # the messages of the commits made of our own changes
    received: int  # commits of others
    how: str  # by which they came: fast-forward, merge, rebase; empty when there were none
    sent: int  # commits given to the remote
    unsent: int  # commits that were not, because pushing is off
    push: str  # pushed; nothing (to push); off; no remote; failed; empty if it did not come to that
    settled: tuple[MergeResolution, ...]  # what git could not merge, and what was decided
    waiting: tuple[Problem, ...]  # what only a person can decide; the merge stays under way
    left: tuple[str, ...]  # changed files and new folders of the vault that were not committed
    left_because: dict[str, tuple[str, ...]]  # the same by reason
    held: tuple[Problem, ...]  # what would be published for the first time, and was held back
    problems: tuple[Problem, ...]
    trouble: str
    hint: str


def sync(
    vault: Vault,
    caller: Caller,
    *,
    no_push: bool = False,
    yes: bool = False,
    only_records: bool = False,
    publish: Annotated[tuple[str, ...], PERSON_SETTING] = (),
) -> SyncResult:
    """Commit notes and records, merge what others pushed, push.

    Your own notes and attachments go along where the vault is a repository of its own that holds no
    code ([sync] notes = true or false says otherwise). What you staged, what is hidden or ignored,
    what is still being written and every other kind of file stay as they are, and are named.

    What would be published for the first time is looked at. A file, or a new line in one, that looks
    like a secret is held back, and so is what says scope: personal or scope: global, but in your own
    vault. Each is named; the rest goes on, and the exit code is 1.

    Your git decides whether to merge or rebase (pull.rebase, pull.ff, merge.ff). Notes that git
    cannot merge are merged by their fields; only lines that both sides changed wait for you. Run it
    again once their markers are gone.

    no_push: take, but do not give
    yes: go on although more than a fifth of the notes would be removed
    only_records: leave your own notes and attachments as they are
    publish: files that were held back, and may be published as they stand

    Example: cortex sync
    Example: cortex sync --no-push
    Example: cortex sync --publish notes/example-keys.md
    """
    if checkout.find_repository(vault.root) is None:
        hint = f"git init {shell_quote(vault.root)}, then cortex sync"
        raise ConflictError(f"{vault.root} is in no git repository", hint)
    settings.check_writable(vault.root)
    with lock(os.path.join(checkout.locks_folder(vault), "sync.lock"), "sync"):
        for name in publish:
            _allow(vault.root, caller.cwd, name)
        run = _SyncRun(vault, caller, no_push=no_push, yes=yes, only_records=only_records)
        return run.run()


def _allow(root: str, cwd: str, name: str) -> None:
    """Remember that a file of the vault may be published as it stands, there and in commits. `name`
    is its path in the vault or from the working directory."""
    here = os.path.relpath(os.path.realpath(os.path.join(cwd, name)), root)
    path = here if not here.startswith("..") and files.exists(root, here) else name
    if not publish_check.allow(root, path):
        hint = "name it as cortex sync does"
        raise InvalidInputError(f"there is no file {name} in the vault, nor in its commits", hint)


class _MergeRefusedError(CortexError):
    """Git did not even begin to merge: something in the work tree is in the way."""


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
        self.resolved: list[MergeResolution] = []
        self.waiting: tuple[Problem, ...] = ()
        self.problems: dict[str, Problem] = {}
        self.held: dict[str, Problem] = {}
        self.is_push_off = not self._is_push_enabled() or no_push
        # Why people's own notes stay behind; empty: they do not.
        self.notes_left = "--only-records" if only_records else "nothing was committed"
        self.only_records = only_records
        self._may_wait = True  # for files that are being written, once
        self._uncommitted: list[UncommittedChange] | None = None  # of ours; None: not known
        self._left_out: tuple[Problem, ...] = ()  # of the last commit

    def run(self) -> SyncResult:
        trouble = hint = ""
        try:
            self._resume_merge()
            self._resolve_user_merge()
            self._prepare()
            publish_unsent_events(self.vault)
            normalized = normalize_inbox(self.vault, self.caller)
            self.problems |= {problem.where: problem for problem in normalized.failed}
            self.problems |= {one.where: one for one in archive_by_itself(self.vault, self.caller)}
            self._commit()
            self._exchange_with_remote()
        except CortexError as error:
            trouble, hint = error.message, error.hint
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
            if attributes.renew_lines(self.root):
                self.resolved.append(MergeResolution(".gitattributes", attributes.RENEWED))
        except CortexError as error:  # what they would have merged is merged by us
            self.problems[".git/config"] = problem_of(".git/config", error)

    def _build_result(self, trouble: str, hint: str) -> SyncResult:
        mine = changes.list_changes(self.root) if self._uncommitted is None else self._uncommitted
        left = changes.list_foreign_changes(self.root, mine) if not self.waiting else []
        because = people_notes.explain_left(self.root, left, self.notes_left)
        held = people_notes.list_held(self.root, [] if self.notes_left else left)
        self.held |= {problem.where: problem for problem in held}
        problems = {one.where: one for one in settings.load(self.root).problems} | self.problems
        return SyncResult(
            checkout.branch_of(self.root), self.remote, tuple(self.commits), self.received,
            self.how, self.sent, self.unsent, self.push, tuple(dict.fromkeys(self.resolved)),
            self.waiting, tuple(left), because, tuple(self.held.values()),
            tuple(problems.values()), trouble, hint,
        )  # fmt: skip

    def _is_push_enabled(self) -> bool:
        """What the settings say; by default only a vault with a repository of its own, that holds no
        code, is pushed."""
        chosen = settings.load(self.root).push
        return not people_notes.why_not_shared(self.root, None) if chosen is None else chosen

    def _resume_merge(self) -> None:
        """Continue the merge or rebase that an earlier sync began, but none that a person began."""
        people_notes.follow_head(self.root, only_left=True)
        self.resolved += recover_interrupted_merge(self.root)
        merging.wait_until_idle(self.root)
        mine = merging.load_in_progress(self.root)
        if mine is not None and merging.is_interrupted(self.root):
            merging.quit_interrupted(self.root)
        elif mine is not None:
            with commit.repository_lock(self.root):
                self._continue_merge(mine)
            self.how = self.how or mine.how
        if not checkout.operation_in_progress(self.root):
            # Ended just now, by a person, or by a kill behind the merge.
            if merging.load_state(self.root):
                merging.clear_state(self.root)
            merging.restage(self.root)

    def _resolve_user_merge(self) -> None:
        """Resolve what can be of a person's operation of git; `CortexError` unless it is over."""
        stamp = git_stamp(self.vault)
        self._add_outcome(restore_lost(self.vault, self.caller))
        if objects.list_unmerged_stages(self.root):  # pages may hold up a merge
            try_heal_pages(self.vault, self.caller, stamp)
        with commit.repository_lock(self.root):
            resolved, waiting = resolve_user_merge(self.vault, self.caller)
        self.resolved += resolved
        self.waiting = waiting
        what = checkout.operation_in_progress(self.root)
        if waiting:
            then = f"; then {commit.find_blocker(self.root)[1]}" if what else ""
            raise CortexError(_waiting_message(len(waiting)), f"{_waiting_hint(waiting)}{then}")
        if why := commit.why_blocked(self.root):
            hint = commit.find_blocker(self.root)[1] or "git status"
            if resolved:
                raise CortexError(why, f"everything in it is merged; {hint}; then cortex sync")
            raise ConflictError(why, hint)

    def _continue_merge(self, mine: MergeState) -> None:
        """Resolve what git could not, and conclude the merge or continue the rebase until it ends.
        Raises `CortexError` if a person has to decide something."""
        for _ in range(_MAX_STEPS[mine.how]):
            resolved, waiting = resolve_unmerged(self.vault, self.caller, mine)
            self.resolved += resolved
            self.waiting = tuple(waiting)
            if waiting:
                hint = _waiting_hint(self.waiting)
                back = f"git {mine.how} --abort takes it back"
                if mine.how == "rebase":
                    back += ", and with it what you edit until then"
                raise CortexError(_waiting_message(len(waiting)), f"{hint}; {back}")
            if mine.how == "merge":
                self._stage_healed_pages()
            ran = merging.conclude(self.root, mine.how)
            self.resolved += merging.parse_driver_messages(ran)
            if checkout.operation_in_progress(self.root) != mine.how:
                return
            if ran.code and not objects.list_unmerged_stages(self.root):
                try:
                    if mine.how == "rebase" and commit.commit_during_rebase(self.root).id:
                        continue  # what was written meanwhile stood in git's way
                    raise commit.declined_error(self.root, ran, mine.how)
                except CortexError:
                    if mine.how == "rebase" and not (
                        self._decided() or merging.is_changed(self.root)
                    ):
                        # It would go on as it began, with a key that does not sign, say.
                        merging.abort(self.root, mine.how)
                    raise
            mine = mine._replace(waiting={})
            merging.save_state(self.root, mine)
        hint = f"git status says what is left; git {mine.how} --abort takes it back"
        raise CortexError(f"the {mine.how} did not end within {_MAX_STEPS[mine.how]:,} steps", hint)

    def _decided(self) -> set[str]:
        """The paths about which a person has decided."""
        state = merging.load_state(self.root)
        taken = {one.path for one in self.resolved if one.what == TAKEN}
        return taken.union(state.decided if state else ())

    def _stage_healed_pages(self) -> None:
        changed: tuple[str, ...] = ()
        with suppress(CortexError):  # it is tried again before the next commit, and told then
            healed = heal(self.vault, self.caller)
            changed = (*healed.written, *healed.removed)
        ignored = objects.filter_ignored(self.root, changed)
        merging.mark_resolved(self.root, [path for path in changed if path not in ignored])

    def _add_outcome(self, done: tuple[list[MergeResolution], list[Problem]]) -> None:
        resolved, problems = done
        self.resolved += resolved
        self.problems |= {problem.where: problem for problem in problems}

    def _commit(self, more: Sequence[UncommittedChange] = ()) -> None:
        """Heal and commit what is ours, and `more`."""
        settings.check_writable(self.root)  # a merge may have brought other settings
        self._add_outcome(restore_lost(self.vault, self.caller))
        self.resolved += join_diverged_files(self.vault, self.caller)
        self.resolved += clear_conflicts(self.vault, self.caller)
        try:
            heal(self.vault, self.caller)
        except CortexError as error:
            # A link where the pages should be stops no commit of the notes.
            message = f"could not be healed: {error.message}"
            self.problems["briefings"] = Problem("briefings", message, error.hint)
        self._uncommitted = None
        changed = [*changes.list_changes(self.root), *more]
        self._refuse_mass_deletion(changed)
        message = ""
        if squashed := merging.waiting_squash_message(self.root):
            message = f"{commit.format_message(one.path for one in changed)}\n\n{squashed}"
        kept = commit.commit_changes(self.root, changed, message)
        # What an earlier commit of this sync left out may have been merged away since.
        for problem in self._left_out:
            self.problems.pop(problem.where, None)
            self.held.pop(problem.where, None)
        self._left_out = kept.problems + kept.held
        self.held |= {problem.where: problem for problem in kept.held}
        self.problems |= {problem.where: problem for problem in kept.problems}
        if kept.id:
            self.commits.append(kept.message.partition("\n")[0])
        else:
            self._uncommitted = changed
        if not self.notes_left:
            made = people_notes.commit_notes(
                self.root, changed, self._refuse_mass_removal, wait=self._may_wait
            )
            self._may_wait = False
            self.commits += [made.message] if made.message else []

    def _refuse_mass_deletion(self, changed: list[UncommittedChange]) -> None:
        """Raise `CortexError` if many notes are gone, as from a disk that is not mounted."""
        here = {os.path.basename(one.path) for one in changed if one.kind != "D"}
        gone = [
            one
            for one in changed
            if one.kind == "D"
            and not one.moved_with
            and one.path.endswith(".md")
            and not is_among_briefings(one.path)
            and os.path.basename(one.path) not in here
        ]
        prefix = objects.prefix(self.root)
        self._refuse_mass_removal([prefix + os.fsencode(one.path) for one in gone])

    def _refuse_mass_removal(self, gone: Sequence[bytes]) -> None:
        """Raise `CortexError` if removing these notes (paths from the top) must be confirmed."""
        removed, there = self._too_many_removed(gone)
        if removed:
            restore = (
                f"cd {shell_quote(self.root)} && git diff -z --name-only --relative --diff-filter=D"
                " HEAD | xargs -0 git restore --staged --worktree --"
            )
            raise CortexError(
                f"{removed} of {there} notes are gone from the vault; they were not committed",
                f"{restore} brings them back, and nothing else; cortex sync --yes if that is right",
            )

    def _too_many_removed(self, removed: Sequence[bytes]) -> tuple[int, int]:
        """How many of the notes in the last commit are among these, and how many there are, if that
        must be confirmed; else zeros. Records count apart from people's own notes."""
        if self.allow_mass_removal or len(removed) < _MIN_MASS_REMOVAL:
            return 0, 0
        own = set() if self.notes_left else people_notes.list_committed(self.root)
        ours = _committed_notes(self.root)
        for gone, there in (
            ([path for path in removed if path in ours], len(ours)),
            ([path for path in removed if path in own], len(own)),
        ):
            if len(gone) >= _MIN_MASS_REMOVAL and len(gone) * 5 > there:
                count = len(gone) - _count_extracted(self.root, gone)
                if count >= _MIN_MASS_REMOVAL and count * 5 > there:
                    return len(gone), there
        return 0, 0

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
            theirs = remotes.fetch(self.root, up)
            is_stuck, last = theirs == last, theirs
            ahead, behind = self._count_ahead_behind(theirs)
            if behind:
                self._integrate(up, theirs, behind)
                ahead, _ = self._count_ahead_behind(theirs)
            if self.is_push_off:
                self.push, self.unsent = "off", ahead
                held = publish_check.held_in_commits(self.root, theirs, up.push_remote)
                self.held |= {one.where: one for one in held}
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

    def _push(self, up: Upstream, ahead: int, theirs: str) -> bool:
        """Whether the remote, whose last commit is `theirs`, took it; False when somebody else was
        first."""
        if self.how or ahead != len(self.commits):  # else each was looked at before it was made
            self._refuse_to_publish(up, theirs)
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

    def _refuse_to_publish(self, up: Upstream, theirs: str) -> None:
        """Raise `CortexError` if commits hold what must not be published, by whomever they were made."""
        held = publish_check.held_in_commits(self.root, theirs, up.push_remote)
        self.held |= {one.where: one for one in held}
        if not held:
            return
        self.push = "failed"
        words = ["rev-list", "--first-parent", *publish_check.unpublished(theirs, up.push_remote)]
        mine = git_cli.run(self.root, words).decode().split()
        base = git_cli.find_commit(self.root, f"{mine[-1]}^")[:12]
        back = f"git reset {base}" if base else "git update-ref -d HEAD && git reset"
        hint = "rewrite them: git rebase -i"
        if objects.toplevel(self.root) == self.root:
            hint = (
                f"mend the files, then git branch before-sync && {back} && cortex sync: your notes are"
                " committed anew, other files wait for you, and before-sync has the old commits"
            )
        count = f"{len(mine)} commit{'s' * (len(mine) != 1)}"
        raise CortexError(f"nothing was pushed: {count} must not be, as they stand", hint)

    def _refuse_what_was_left_out(self, theirs: str) -> None:
        """Raise `CortexError` if the remote has changed a note of ours that could not be committed:
        where both sides have renamed it, git and what we resolve know nothing of its text."""
        if not self._left_out:
            return
        base = merging.revisions_between(self.root, "HEAD", theirs).bases[0]
        changed = objects.changes_between(self.root, base, theirs)
        blobs = {blob for one in changed for blob in (one.old_blob, one.new_blob) if blob}
        ids = {note_id(text) for text in objects.read_blobs(self.root, blobs).values()} - {""}
        for where in (one.where for one in self._left_out):
            if files.exists(self.root, where) and note_id(files.read(self.root, where)) in ids:
                message = f"{where} is not committed, and {self.remote} has changed that note, too"
                raise CortexError(message, f"mend {where}, then cortex sync")

    def _integrate(self, up: Upstream, theirs: str, behind: int) -> None:
        """Bring in what the remote has and we have not, so many commits."""
        self._refuse_what_was_left_out(theirs)
        for attempt in range(_MAX_MERGE_ATTEMPTS):
            try:
                with commit.repository_lock(self.root):
                    self.how = self._merge_or_rebase(up, theirs)
                break
            except _MergeRefusedError:
                # The watcher, or a search, has written something of ours since the commit.
                same = self._untracked_copies(theirs)
                before = len(self.commits)
                if attempt + 1 == _MAX_MERGE_ATTEMPTS:
                    raise
                self._may_wait = True
                self._commit(same)
                if len(self.commits) == before:
                    raise
        self.received += behind
        self._commit()

    def _merge_or_rebase(self, up: Upstream, theirs: str) -> str:
        """Merge or rebase as their git says; how."""
        self._check_mergeable(up, theirs)
        ours = git_cli.head_commit(self.root)
        if not ours or git_cli.is_ancestor(self.root, "HEAD", theirs):
            words = [*_MERGE_FLAGS, *self._fast_forward_arguments(up, theirs)]
            self._merge(MergeState("merge", theirs, {}), words, [])
            return "fast-forward"
        how = "rebase" if up.rebase_mode else "merge"
        staged = self._staged_to_set_aside(theirs) if how == "merge" else []
        self._merge(
            MergeState(how, theirs, {}, ours), _merge_arguments(self.root, up, theirs), staged
        )
        return how

    def _fast_forward_arguments(self, up: Upstream, theirs: str) -> list[str]:
        """The arguments for a fast-forward; a merge commit only if pull.ff is off."""
        is_ff_off = up.pull_ff in ("false", "no", "off", "0") and not up.rebase_mode
        if is_ff_off and git_cli.has_commit(self.root):
            return ["--no-ff", f"--message={_commit_message(up)}", theirs]
        return ["--ff-only", theirs]

    def _merge(self, mine: MergeState, words: list[str], aside: list[objects.StagedChange]) -> None:
        """Merge or rebase, settle what git leaves, and have everything else as it was."""
        merging.unstage(self.root, aside)
        try:
            ran = merging.start(self.root, mine, words)
            self.resolved += merging.parse_driver_messages(ran)
            if checkout.operation_in_progress(self.root) == mine.how and ran.code:
                if mine.how == "merge" and not objects.list_unmerged_stages(self.root):
                    # A hook of theirs said no.
                    error = commit.declined_error(self.root, ran, "merge")
                    merging.abort(self.root, "merge")
                    raise error
                self._continue_merge(mine)
            elif ran.code:
                merging.clear_state(self.root)
                raise _explain_refusal(self.root, ran, mine.how)
            merging.clear_state(self.root)
        finally:
            if not checkout.operation_in_progress(self.root):
                merging.restage(self.root)

    def _check_mergeable(self, up: Upstream, theirs: str) -> None:
        """Stop before anything is touched when this cannot, or should not, be merged."""
        if not git_cli.has_commit(self.root):
            return
        base = git_cli.run_unchecked(self.root, ["merge-base", "HEAD", theirs])
        there = f"{up.remote}/{up.remote_branch}"
        if base.code:
            command = f"git merge --allow-unrelated-histories {there}"
            hint = f"git clone the remote and copy your notes into it; or {command}"
            raise CortexError(f"{there} and this vault have no common history", hint)
        self._refuse_to_overwrite_ignored(there, theirs)
        start = base.stdout.decode().strip()
        if up.pull_ff == "only" and start != git_cli.resolve_commit(self.root, "HEAD"):
            why = "both sides have commits, and pull.ff (or merge.ff) = only forbids to merge them"
            raise CortexError(f"{why}; nothing of {up.remote} was taken", "git config pull.ff true")
        gone, total = self._too_many_removed(_removed_files(self.root, start, theirs))
        if gone:
            message = f"{there} would remove {gone} of {total} notes; nothing was merged"
            raise CortexError(message, "cortex sync --yes if that is right")

    def _refuse_to_overwrite_ignored(self, there: str, theirs: str) -> None:
        """Raise `CortexError` if the merge brings a file that git ignores here, with another text:
        git would overwrite it without a word."""
        prefix = objects.prefix(self.root)
        new = {
            os.fsdecode(one.path.removeprefix(prefix)): one.new_blob
            for one in objects.changes_between(self.root, "HEAD", theirs)
            if one.path.startswith(prefix) and not one.old_blob
        }
        here = [path for path in new if os.path.lexists(os.path.join(self.root, path))]
        ignored = sorted(objects.filter_ignored(self.root, here))
        texts = objects.read_blobs(self.root, [new[path] for path in ignored])
        lost = [
            path for path in ignored if read_work_tree_file(self.root, path) != texts.get(new[path])
        ]
        if lost:
            raise CortexError(
                f"{there} has files that git ignores here, with another text: {_join_paths(lost)};"
                " nothing was merged",
                "move yours out of the vault, or to a name that git ignores, then cortex sync",
            )

    def _staged_to_set_aside(self, theirs: str) -> list[objects.StagedChange]:
        """What a person staged, which a merge needs out of the index. Raises `CortexError` if the
        merge changes one of the paths."""
        staged = objects.list_staged(self.root)
        if staged:
            start = git_cli.run(self.root, ["merge-base", "HEAD", theirs]).decode().strip()
            words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", start, theirs, "--"]
            changed = set(git_cli.run(objects.toplevel(self.root), words).split(b"\0"))
            if both := [os.fsdecode(one.path) for one in staged if one.path in changed]:
                message = f"you staged what {self.remote} has changed: {_join_paths(both)}"
                hint = "commit it, or git restore --staged it, then cortex sync"
                raise CortexError(message, hint)
        return staged

    def _untracked_copies(self, theirs: str) -> list[UncommittedChange]:
        """Untracked files that the remote has at the same path with the same id or text, as when a
        note came by another way than git. Once committed, they merge like any other."""
        copies = []
        untracked = objects.list_untracked(self.root)
        for path, other in objects.read_committed(self.root, untracked, theirs).items():
            # A link, or a file that went, stays in the way, and is named.
            with suppress(CortexError, OSError):
                data = files.read(self.root, path)
                is_same_record = note_id(data) == note_id(other) and is_record(notes.read(data))
                if data == other or is_same_record:
                    copies.append(UncommittedChange(path, "A"))
        return copies

    def _count_ahead_behind(self, theirs: str) -> tuple[int, int]:
        """How many commits HEAD has that `theirs` has not, and the other way round."""
        if theirs:
            words = ["rev-list", "--left-right", "--count", f"HEAD...{theirs}", "--"]
            ran = git_cli.run_unchecked(self.root, words)
            if not ran.code:
                ahead, behind = map(int, ran.stdout.split())
                return ahead, behind
        ran = git_cli.run_unchecked(self.root, ["rev-list", "--count", theirs or "HEAD", "--"])
        only = 0 if ran.code else int(ran.stdout)
        return (0, only) if theirs else (only, 0)


def _waiting_message(count: int) -> str:
    return f"{count} file{'s wait' if count != 1 else ' waits'} for you"


def _waiting_hint(waiting: Sequence[Problem]) -> str:
    hints = {one.hint for one in waiting}
    return hints.pop() if len(hints) == 1 else "do what is said of each, then cortex sync"


def _merge_arguments(root: str, up: Upstream, theirs: str) -> list[str]:
    """The arguments for a merge or rebase. Of a code repository git follows other renames, too."""
    renames = [_EXACT_RENAMES] if objects.toplevel(root) == root else []
    if not up.rebase_mode:
        message = f"--message={_commit_message(up)}"
        return [*_MERGE_FLAGS, "--commit", message, *renames, theirs]
    shape = "--rebase-merges" if up.rebase_mode == "merges" else "--no-rebase-merges"
    stash = "--autostash" if up.autostash else "--no-autostash"
    # No fork point: it would leave out what the remote has rewritten away, and that may be notes.
    return ["--quiet", "--merge", "--no-fork-point", shape, stash, *renames, theirs]


def _commit_message(up: Upstream) -> str:
    return f"cortex: merge {up.remote_branch} of {up.remote}"


def _explain_refusal(root: str, ran: git_cli.GitResult, how: str) -> _MergeRefusedError:
    """Why git did not even begin."""
    named = [line.strip() for line in ran.stderr.splitlines() if line.startswith("\t")]
    if "untracked working tree files" in ran.stderr:
        what = f"files that git does not know: {_join_paths(named)}"
        hint = "move them away or commit them, then cortex sync"
        return _MergeRefusedError(f"the {how} would overwrite {what}; nothing was merged", hint)
    if named:
        what = f"your changes of {_join_paths(named)}"
        hint = "commit or stash them, then cortex sync"
        return _MergeRefusedError(f"the {how} would overwrite {what}; nothing was merged", hint)
    if "cannot rebase" in ran.stderr or "uncommitted changes" in ran.stderr:
        words = ["diff-index", "--name-only", "-z", "HEAD", "--"]
        listed = git_cli.run(objects.toplevel(root), words).split(b"\0")
        dirty = _join_paths([os.fsdecode(name) for name in listed if name])
        message = f"a rebase needs a clean work tree, and these are changed: {dirty}"
        hint = "commit or stash them, then cortex sync"
        if not objects.list_staged(root):  # that would forget what is staged
            hint += "; or git config rebase.autoStash true"
        return _MergeRefusedError(f"{message}; nothing was rebased", hint)
    if error := git_cli.system_error(ran, root):
        return _MergeRefusedError(error.message, error.hint)
    message = f"git {how}: {remotes.failure_message(ran)}"
    return _MergeRefusedError(message, "git status shows the state of the repository")


def _removed_files(root: str, base: str, theirs: str) -> list[bytes]:
    """The files of the last commit that a merge with `theirs` would remove; not those moved."""
    flags = ["-r", "-z", "--name-only", "--no-relative", "-M", "--diff-filter=D"]
    raw = git_cli.run(root, ["diff-tree", *flags, base, theirs, "--", "."], timeout=120.0)
    gone = set(filter(None, raw.split(b"\0")))
    return sorted(gone & objects.list_files(root, "HEAD").keys())


def _count_extracted(root: str, paths: Sequence[bytes]) -> int:
    """How many of these notes of the last commit were made of events and may go with a
    distillation: they can be made of the events again."""
    blobs = objects.list_files(root, "HEAD", [os.fsdecode(path) for path in paths])
    texts = objects.read_blobs(root, blobs.values())
    return sum(_EXTRACTED_RE.search(texts.get(blob, b"")) is not None for blob in blobs.values())


def _committed_notes(root: str) -> set[bytes]:
    """The notes in our folders that the last commit holds, from the top."""
    prefix, layout = objects.prefix(root), layout_of(root)
    folders = tuple(
        prefix + os.fsencode(place.path(f"{folder}/"))
        for folder in OWN_FOLDERS
        for place in {layout, AT_ROOT}
        if folder != BRIEFINGS_FOLDER
    )
    paths = objects.list_files(root, "HEAD")
    return {path for path in paths if path.startswith(folders) and path.endswith(b".md")}


def _join_paths(paths: list[str], most: int = 10) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(sorted(paths)[:most]) + more
