"""A merge or rebase of sync's, or one that a person began: until it ends, or waits for a person."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from cortex.core.merge.conflicts import TAKEN
from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError, Problem
from cortex.operations.share.resolve_conflicts import (
    recover_interrupted_merge,
    resolve_unmerged,
    resolve_user_merge,
)
from cortex.operations.share.sync_checks import explain_refusal
from cortex.operations.upkeep.heal import heal, try_heal_pages
from cortex.vault.git import checkout, commit, merging, objects
from cortex.vault.git.merging import MergeState
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import git_stamp

_MAX_STEPS = {"rebase": 10_000, "merge": 5}  # commits of one rebase; looks at what one merge left


class MergeRun:
    """What merges of one sync have decided so far, and what waits for a person."""

    def __init__(self, vault: Vault, caller: Caller) -> None:
        self.vault, self.root, self.caller = vault, vault.root, caller
        self.resolved: list[MergeResolution] = []
        self.waiting: tuple[Problem, ...] = ()

    def resume(self) -> str:
        """Continue the merge or rebase that an earlier sync began, but none that a person began.
        Returns which of the two; empty for none."""
        self.resolved += recover_interrupted_merge(self.root)
        merging.wait_until_idle(self.root)
        how, mine = "", merging.load_in_progress(self.root)
        if mine is not None and merging.is_interrupted(self.root):
            merging.quit_interrupted(self.root)
        elif mine is not None:
            with commit.repository_lock(self.root):
                self._continue(mine)
            how = mine.how
        if not checkout.operation_in_progress(self.root):
            # Ended just now, by a person, or by a kill behind the merge.
            if merging.load_state(self.root):
                merging.clear_state(self.root)
            merging.restage(self.root)
        return how

    def resolve_user_merge(self) -> None:
        """Resolve what can be of a person's operation of git; `CortexError` unless it is over."""
        if objects.list_unmerged_stages(self.root):  # pages may hold up a merge
            try_heal_pages(self.vault, self.caller, git_stamp(self.vault))
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

    def run(self, mine: MergeState, words: list[str], aside: list[objects.StagedChange]) -> None:
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
                self._continue(mine)
            elif ran.code:
                merging.clear_state(self.root)
                raise explain_refusal(self.root, ran, mine.how)
            merging.clear_state(self.root)
        finally:
            if not checkout.operation_in_progress(self.root):
                merging.restage(self.root)

    def _continue(self, mine: MergeState) -> None:
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
                # What fails is tried again before the next commit, and told then.
                with suppress(CortexError):
                    heal(self.vault, self.caller)  # which stages the pages
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


def _waiting_message(count: int) -> str:
    return f"{count} file{'s wait' if count != 1 else ' waits'} for you"


def _waiting_hint(waiting: Sequence[Problem]) -> str:
    hints = {one.hint for one in waiting}
    return hints.pop() if len(hints) == 1 else "do what is said of each, then cortex sync"
