"""One vault in many clones: commit what is ours, take what others did, give what we did."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from cortex.core.merge.conflicts import Resolved, is_record, note_id
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, CortexError, Problem
from cortex.core.notes import note as notes
from cortex.operations.capture.normalize import normalize
from cortex.operations.share.bring_back import bring_back
from cortex.operations.share.clear_conflicts import clear_conflicts
from cortex.operations.share.continue_merge import MergeStep, continue_merge
from cortex.operations.share.duplicates import join_grown_apart
from cortex.operations.share.heal import heal, heal_by_the_way
from cortex.operations.share.resolve_conflicts import check_own_merge, recover, resolve_for_person
from cortex.vault import files, layout, settings
from cortex.vault.git import checkout, commit, drivers, git, merging, objects, remotes
from cortex.vault.git.commit import Change
from cortex.vault.git.merging import Begun
from cortex.vault.git.remotes import Upstream
from cortex.vault.locate import Vault
from cortex.vault.lock import lock

_ATTEMPTS = 6  # at a push, while others push at the same time
_RETRIES = 3  # of a merge, when something of ours is written between its commit and it
_FEW = 5  # notes; fewer may go unasked however small the vault


class Synced(NamedTuple):
    """What a sync did, here and there. `trouble` says what it could not do; everything done before stands."""

    branch: str
    remote: str
    commits: tuple[str, ...]  # the messages of the commits made of our own changes
    received: int  # commits of others
    how: str  # by which they came: fast-forward, merge, rebase; empty when there were none
    sent: int  # commits given to the remote
    unsent: int  # commits that were not, because pushing is off
    push: str  # pushed; nothing (to push); off; failed; or empty when it did not come to that
    settled: tuple[Resolved, ...]  # what git could not merge, and what was decided
    waiting: tuple[
        Problem, ...
    ]  # what only a person can decide; the merge stays under way meanwhile
    left: tuple[
        str, ...
    ]  # changed in the vault and not ours to commit; a new folder is one of them
    problems: tuple[Problem, ...]
    trouble: str
    hint: str


def sync(vault: Vault, caller: Caller, *, no_push: bool = False, yes: bool = False) -> Synced:
    """Commit what is Cortex's, merge what others pushed, push.

    Only the vault's own folders are committed; what you changed or staged elsewhere stays as it is. A note that git does
    not know and that the remote has too is committed and merged with that one. Merge or rebase as your git is configured
    (pull.rebase, pull.ff). Notes that git cannot merge are merged by their fields; only lines that both sides changed
    wait for you. Run it again once their markers are gone.

    no_push: take, but do not give
    yes: go on although more than a fifth of the notes would be removed

    Example: cortex sync
    Example: cortex sync --no-push
    """
    if checkout.git_folder(vault.root) is None:
        raise Conflict(
            f"{vault.root} is in no git repository",
            f"cd {vault.root} && git init && git add . && git commit -m 'a vault'",
        )
    with lock(os.path.join(vault.locks(), "sync.lock"), "sync"):
        return _Sync(vault, caller, no_push=no_push, yes=yes).run()


class _Stop(Exception):
    """The sync ends here, with what it did so far."""

    def __init__(self, trouble: str, hint: str = "") -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.hint = hint


class _Refused(_Stop):
    """Git did not even begin to merge: something in the work tree is in the way."""


class _Sync:
    """One sync and what it has done so far."""

    def __init__(self, vault: Vault, caller: Caller, *, no_push: bool, yes: bool) -> None:
        self.vault = vault
        self.root = vault.root
        self.caller = caller
        self.yes = yes
        self.remote = ""
        self.commits: list[str] = []
        self.received = self.sent = self.unsent = 0
        self.how = self.push = ""
        self.settled: list[Resolved] = []
        self.waiting: tuple[Problem, ...] = ()
        self.problems: dict[str, Problem] = {}
        self.off = not self._may_push() or no_push
        self._uncommitted: list[Change] | None = None  # of ours; None when it is not known

    def run(self) -> Synced:
        trouble = hint = ""
        try:
            self._resume()
            self._resolve_for_person()
            self._prepare()
            normalized = normalize(self.vault, self.caller)
            self.problems |= {problem.where: problem for problem in normalized.failed}
            self._commit()
            self._with_the_remote()
        except _Stop as stop:
            trouble, hint = stop.trouble, stop.hint
        return self._answer(trouble, hint)

    def _prepare(self) -> None:
        """See that git knows our drivers, and that it sees the vault at all."""
        if objects.top(self.root) != self.root and objects.ignored(self.root, [layout.SETTINGS]):
            raise _Stop(
                "the repository around the vault ignores it: there is nothing to sync",
                "git init in the vault makes it a repository of its own",
            )
        try:
            drivers.register(
                self.root
            )  # also when they are there: attributes of a stranger may have come with a pull
        except CortexError as error:  # what they would have merged is merged by us
            self.problems[".git/config"] = Problem(".git/config", error.message, error.hint)

    def _answer(self, trouble: str, hint: str) -> Synced:
        mine = commit.changes(self.root) if self._uncommitted is None else self._uncommitted
        left = commit.others(self.root, mine) if not self.waiting else []
        return Synced(
            checkout.branch_of(self.root), self.remote, tuple(self.commits), self.received, self.how, self.sent, self.unsent, self.push,
            tuple(dict.fromkeys(self.settled)), self.waiting, tuple(left), tuple(self.problems.values()), trouble, hint,
        )  # fmt: skip

    def _may_push(self) -> bool:
        """In a repository of its own a vault is pushed unless its settings say no; inside another one only if they say so."""
        held = settings.load(self.root)
        self.problems |= {problem.where: problem for problem in held.problems}
        chosen = held.push
        return objects.top(self.root) == self.root if chosen is None else chosen

    def _resume(self) -> None:
        """Go on with the merge or rebase that an earlier sync began; one that a person began is theirs."""
        self._note(recover(self.root))
        merging.quieten(self.root)
        mine = merging.begun(self.root)
        if mine is not None and merging.is_torn(self.root):
            merging.let_go(self.root)
        elif mine is not None:
            with commit.alone(self.root):
                self._take(continue_merge(self.vault, self.caller, mine))
            self.how = self.how or mine.how
        if not checkout.under_way(self.root):
            if last := merging.remembered(
                self.root
            ):  # ended just now, by a person, or by a kill behind the merge
                self._note(check_own_merge(self.root, last))
            merging.put_back(self.root)

    def _resolve_for_person(self) -> None:
        """Resolve what can be of a merge, rebase, cherry-pick, revert, stash or am that a person began; say what is left.
        Its end is theirs."""
        self._note(bring_back(self.vault, self.caller))
        heal_by_the_way(self.vault, self.caller)  # pages that hold up a merge
        with commit.alone(self.root):
            resolved, waiting = resolve_for_person(self.root)
        self.settled += resolved
        self.waiting = waiting
        what = checkout.under_way(self.root)
        if waiting:
            then = f"; then {commit.closed(self.root)[1]}" if what else ""
            raise _Stop(
                _waits(len(waiting)),
                f"choose the lines to keep and delete the markers, then cortex sync{then}",
            )
        if why := commit.gate(self.root):
            hint = commit.closed(self.root)[1] or "git status"
            if resolved:
                raise _Stop(why, f"everything in it is merged; {hint}; then cortex sync")
            raise Conflict(why, hint)

    def _take(self, step: MergeStep) -> None:
        """Note how far settling came; stop when it needs a person."""
        self.settled += step.resolved
        self.waiting = step.waiting
        if step.waiting:
            raise _Stop(
                _waits(len(step.waiting)),
                "choose the lines to keep and delete the markers, then cortex sync; git merge --abort or git rebase --abort takes it back",
            )
        if not step.done:
            raise _Stop(step.trouble, step.hint)

    def _note(self, done: tuple[list[Resolved], list[Problem]]) -> None:
        resolved, problems = done
        self.settled += resolved
        self.problems |= {problem.where: problem for problem in problems}

    def _commit(self, more: Sequence[Change] = ()) -> None:
        """Heal and commit what is ours, and `more`."""
        self._note(bring_back(self.vault, self.caller))
        self.settled += [
            *join_grown_apart(self.vault, self.caller),
            *clear_conflicts(self.vault, self.caller),
        ]
        try:
            heal(self.vault, self.caller)
        except (
            CortexError
        ) as error:  # a link where the pages should be: it stops no commit of the notes
            self.problems["briefings"] = Problem(
                "briefings", f"could not be healed: {error.message}", error.hint
            )
        self._uncommitted = None
        changed = [*commit.changes(self.root), *more]
        self._not_emptied(changed)
        try:
            kept = commit.keep(self.root, changed)
        except CortexError as error:  # what was done before it is still told
            raise _Stop(error.message, error.hint) from error
        self.problems |= {problem.where: problem for problem in kept.problems}
        if kept.id:
            self.commits.append(kept.message)
        else:
            self._uncommitted = changed

    def _not_emptied(self, changed: list[Change]) -> None:
        """Stop before a disk that was not mounted, or a slip of the hand, becomes the deletion of everything."""
        here = {os.path.basename(one.path) for one in changed if one.kind != "D"}
        gone = [
            one
            for one in changed
            if one.kind == "D"
            and not one.pair
            and one.path.endswith(".md")
            and os.path.basename(one.path) not in here
        ]
        gone = [one for one in gone if not one.path.startswith("briefings/")]
        if not self.yes and len(gone) >= _FEW and len(gone) * 5 > (there := len(_notes(self.root))):
            raise _Stop(
                f"{len(gone)} of {there} notes are gone from the vault; nothing was committed",
                f"cd {self.root} && git ls-files --deleted -z | xargs -0 git restore -- brings them back, and nothing else; cortex sync --yes if that is right",
            )

    def _with_the_remote(self) -> None:
        """Take and give, again when somebody else gave in between."""
        for attempt in range(_ATTEMPTS):
            try:
                up = remotes.upstream(self.root)
                self.remote = up.remote
                theirs = remotes.fetch(self.root, up)
            except CortexError as error:
                raise _Stop(error.message, error.hint) from error
            ahead, behind = self._apart(theirs)
            if behind:
                self._integrate(up, theirs, behind)
                ahead, _ = self._apart(theirs)
            if self.off:
                self.push, self.unsent = "off", ahead
                return
            if not ahead:
                self.push = "nothing"
                return
            if self._push(up, ahead):
                return
            time.sleep(random.uniform(0.02, 0.2) * 2**attempt)  # noqa: S311  so that two who race do not race in step
        raise _Stop(
            f"others pushed to {self.remote} at the same moment, {_ATTEMPTS} times",
            "cortex sync, a little later",
        )

    def _push(self, up: Upstream, ahead: int) -> bool:
        """Whether the remote took it; False when somebody else was first."""
        try:
            pushed = remotes.push(self.root, up)
        except CortexError as error:
            self.push = "failed"
            raise _Stop(f"nothing was pushed: {error.message}", error.hint) from error
        if pushed.done:
            self.push, self.sent = "pushed", ahead
            return True
        if pushed.race:
            return False
        self.push = "failed"
        raise _Stop(
            pushed.why,
            f"everything is committed here; git push {up.push_to} {up.branch} tries the push alone",
        )

    def _integrate(self, up: Upstream, theirs: str, behind: int) -> None:
        """Bring in what the remote has and we have not, so many commits."""
        for attempt in range(_RETRIES):
            try:
                with commit.alone(self.root):
                    self.how = self._merged(up, theirs)
                break
            except _Refused:
                # The watcher, or a search, has written something of ours since the commit: commit that, and try again.
                same = self._same_notes(theirs)
                if attempt + 1 == _RETRIES or not (same or commit.changes(self.root)):
                    raise
                self._commit(same)
        self.received += behind
        self._commit()

    def _merged(self, up: Upstream, theirs: str) -> str:
        """Merge or rebase as their git says; how."""
        self._check(up, theirs)
        ours = git.head(self.root)
        if not ours or self._is_ancestor("HEAD", theirs):
            self._begin(
                Begun("merge", theirs, {}),
                [
                    "--quiet",
                    "--no-edit",
                    "--no-autostash",
                    "--no-squash",
                    *self._straight(up, theirs),
                ],
                [],
            )
            return "fast-forward"
        how = "rebase" if up.rebase else "merge"
        self._begin(
            Begun(how, theirs, {}, ours),
            _words(up, theirs),
            self._aside(theirs) if how == "merge" else [],
        )
        return how

    def _straight(self, up: Upstream, theirs: str) -> list[str]:
        """How to move along a history that has not parted: as a merge commit only if that is what they want."""
        return (
            ["--no-ff", f"--message={_message(up)}", theirs]
            if up.ff in ("false", "no", "off", "0") and not up.rebase and git.has_commit(self.root)
            else ["--ff-only", theirs]
        )

    def _begin(self, mine: Begun, words: list[str], aside: list[objects.Staged]) -> None:
        """Merge or rebase, settle what git leaves, and have everything else as it was."""
        merging.set_aside(self.root, aside)
        try:
            ran = merging.start(self.root, mine, words)
            self.settled += merging.told(ran)
            if checkout.under_way(self.root) == mine.how and ran.code:
                if mine.how == "merge" and not objects.stages(
                    self.root
                ):  # a hook of theirs said no
                    error = commit.declined(self.root, ran, "merge")
                    merging.abort(self.root, "merge")
                    raise _Stop(error.message, error.hint)
                self._take(continue_merge(self.vault, self.caller, mine))
            elif ran.code:
                merging.forget(self.root)
                raise _refused(self.root, ran, mine.how)
            self._note(check_own_merge(self.root, mine))
        finally:
            if not checkout.under_way(self.root):
                merging.put_back(self.root)

    def _check(self, up: Upstream, theirs: str) -> None:
        """Stop before anything is touched when this cannot, or should not, be merged."""
        if not git.has_commit(self.root):
            return
        base = git.attempt(self.root, ["merge-base", "HEAD", theirs])
        if base.code:
            raise _Stop(
                f"{up.remote}/{up.theirs} and this vault have no common history",
                f"git clone the remote and copy your notes into it; or git merge --allow-unrelated-histories {up.remote}/{up.theirs}",
            )
        start = base.output.decode().strip()
        if up.ff == "only" and start != git.commit_id(self.root, "HEAD"):
            raise _Stop(
                f"both sides have commits, and pull.ff = only forbids to merge them; nothing of {up.remote} was taken",
                "git config pull.ff true",
            )
        removed, there = _removed(self.root, start, theirs)
        if not self.yes and removed >= _FEW and removed * 5 > there:
            raise _Stop(
                f"{up.remote}/{up.theirs} would remove {removed} of {there} notes; nothing was merged",
                "cortex sync --yes if that is right",
            )

    def _aside(self, theirs: str) -> list[objects.Staged]:
        """What a person staged: a merge wants an index without it. Nothing of it may be a path that the merge changes."""
        staged = objects.staged(self.root)
        if staged:
            start = git.run(self.root, ["merge-base", "HEAD", theirs]).decode().strip()
            changed = set(
                git.run(
                    objects.top(self.root),
                    ["diff-tree", "-r", "-z", "--name-only", "--no-renames", start, theirs, "--"],
                ).split(b"\0")
            )
            if both := [os.fsdecode(one.path) for one in staged if one.path in changed]:
                raise _Stop(
                    f"you staged what {self.remote} has changed: {_listed(both)}",
                    "commit it, or git restore --staged it, then cortex sync",
                )
        return staged

    def _same_notes(self, theirs: str) -> list[Change]:
        """The files that git does not know where the remote has the same note, by its id or its whole text: one that was put
        back where somebody had moved it to, or that came by another way than git. Committed, they merge like any other."""
        found = []
        for path, other in objects.committed(
            self.root, objects.untracked(self.root), theirs
        ).items():
            with suppress(
                CortexError, OSError
            ):  # a link, or gone: it stays in the way, and is named
                data = files.read(self.root, path)
                if data == other or (
                    note_id(data) == note_id(other) and is_record(notes.read(data))
                ):
                    found.append(Change(path, "A"))
        return found

    def _is_ancestor(self, one: str, other: str) -> bool:
        return not git.attempt(self.root, ["merge-base", "--is-ancestor", one, other]).code

    def _apart(self, theirs: str) -> tuple[int, int]:
        """How many commits we have that `theirs` has not, and the other way round. Before the first commit we have none."""
        if theirs:
            ran = git.attempt(
                self.root, ["rev-list", "--left-right", "--count", f"HEAD...{theirs}", "--"]
            )
            if not ran.code:
                ahead, behind = map(int, ran.output.split())
                return ahead, behind
        ran = git.attempt(self.root, ["rev-list", "--count", theirs or "HEAD", "--"])
        only = 0 if ran.code else int(ran.output)
        return (0, only) if theirs else (only, 0)


def _waits(count: int) -> str:
    return f"{count} note{'s wait' if count != 1 else ' waits'} for you: both sides changed the same lines"


def _words(up: Upstream, theirs: str) -> list[str]:
    if not up.rebase:
        return [
            "--quiet",
            "--no-edit",
            "--commit",
            "--no-autostash",
            "--no-squash",
            f"--message={_message(up)}",
            theirs,
        ]
    shape = "--rebase-merges" if up.rebase == "merges" else "--no-rebase-merges"
    # No fork point: it would leave out what the remote has rewritten away, and that may be notes.
    return [
        "--quiet",
        "--merge",
        "--no-fork-point",
        shape,
        "--autostash" if up.autostash else "--no-autostash",
        theirs,
    ]


def _message(up: Upstream) -> str:
    return f"cortex: merge {up.theirs} of {up.remote}"


def _refused(root: str, ran: git.Ran, how: str) -> _Refused:
    """Why git did not even begin."""
    named = [line.strip() for line in ran.complaint.splitlines() if line.startswith("\t")]
    if "untracked working tree files" in ran.complaint:
        return _Refused(
            f"the {how} would overwrite files that git does not know: {_listed(named)}; nothing was merged",
            "move them away or commit them, then cortex sync",
        )
    if named:
        return _Refused(
            f"the {how} would overwrite your changes of {_listed(named)}; nothing was merged",
            "commit or stash them, then cortex sync",
        )
    if "cannot rebase" in ran.complaint or "uncommitted changes" in ran.complaint:
        dirty = [
            os.fsdecode(name)
            for name in git.run(
                objects.top(root), ["diff-index", "--name-only", "-z", "HEAD", "--"]
            ).split(b"\0")
            if name
        ]
        return _Refused(
            f"a rebase needs a clean work tree, and these are changed: {_listed(dirty)}; nothing was rebased",
            "commit or stash them, then cortex sync; or git config rebase.autoStash true",
        )
    error = git.refused_by_disk(ran, root) or CortexError(
        f"git {how}: {remotes.said(ran)}", "git status shows the state of the repository"
    )
    return _Refused(error.message, error.hint)


def _removed(root: str, base: str, theirs: str) -> tuple[int, int]:
    """How many of the vault's notes a merge with `theirs` would remove, and how many there are. A move removes nothing."""
    raw = git.run(
        root,
        [
            "diff-tree",
            "-r",
            "-z",
            "--name-only",
            "--no-relative",
            "-M",
            "--diff-filter=D",
            base,
            theirs,
            "--",
            ".",
        ],
        timeout=120.0,
    )
    gone = {path for path in raw.split(b"\0") if path.endswith(b".md")}
    if len(gone) < _FEW:
        return len(gone), 0
    there = _notes(root)
    return len(gone & there), len(there)


def _notes(root: str) -> set[bytes]:
    """The notes in our folders that the last commit holds, from the top."""
    prefix = objects.prefix(root)
    folders = tuple(
        prefix + os.fsencode(f"{folder}/") for folder in commit.FOLDERS if folder != "briefings"
    )
    return {
        path
        for path in objects.files_of(root, "HEAD")
        if path.startswith(folders) and path.endswith(b".md")
    }


def _listed(paths: list[str], most: int = 10) -> str:
    return ", ".join(sorted(paths)[:most]) + (
        f" and {len(paths) - most} more" if len(paths) > most else ""
    )
