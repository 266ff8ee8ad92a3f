"""What stops a sync before anything is lost or published: too many notes that are gone, a merge that
cannot or should not be, a file in its way. And with which arguments git merges or rebases.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Container, Sequence
from contextlib import suppress

from cortex.core.merge.fields import CONFLICTS_KEY
from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import is_record, note_id
from cortex.core.model.layout import AT_ROOT, BRIEFINGS_FOLDER, OWN_FOLDERS
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes import note as notes
from cortex.core.text.strings import format_count, shell_quote
from cortex.core.text.value import NamedTuple
from cortex.index.note_summary import merge_problems
from cortex.operations.share import people_notes
from cortex.vault import files
from cortex.vault.git import git_cli, merging, objects, publish_check, remotes, work_tree
from cortex.vault.git.changes import UncommittedChange, read_if_there
from cortex.vault.git.remotes import Upstream
from cortex.vault.layout import layout_of

_MERGE_FLAGS = ("--quiet", "--no-edit", "--no-autostash", "--no-squash", "--ff")
# Two notes have two ids, so they are never equal; a moved note is.
_EXACT_RENAMES = "-Xfind-renames=100%"
_MAX_LEFT_OUT = 5  # notes that are named one by one
_MIN_MASS_REMOVAL = 5  # notes; fewer may go unasked however small the vault


class MergeRefusedError(CortexError):
    """Git did not even begin to merge: something in the work tree is in the way."""


class RemovalLimit(NamedTuple):
    """How many of the notes in the last commit may go unasked: a fifth, and of a folder not all.
    Records count apart from people's own notes."""

    root: str
    is_lifted: bool  # by a person
    has_own_notes: bool  # people's own notes are committed, too

    def check_changes(self, changed: list[UncommittedChange]) -> None:
        """Raise `CortexError` if many notes are gone, as from a disk that is not mounted."""
        here = {os.path.basename(one.path) for one in changed if one.kind != "D"}
        gone = [one.path for one in changed if one.kind == "D" and not one.moved_with]
        gone = [path for path in gone if os.path.basename(path) not in here]
        deleted = (path for path in gone if not work_tree.why_absent(self.root, path))
        prefix = objects.prefix(self.root)
        self.check([prefix + os.fsencode(path) for path in deleted])

    def check(self, gone: Sequence[bytes]) -> None:
        """Raise `CortexError` if removing these notes (paths from the top) must be confirmed."""
        if what := self.exceeded_by(gone, folders=True):
            restore = (
                f"cd {shell_quote(self.root)} && git diff -z --name-only --relative --diff-filter=D"
                " HEAD | xargs -0 git restore --staged --worktree --"
            )
            raise CortexError(
                f"{what} are gone from the vault; they were not committed",
                f"{restore} brings them back, and nothing else; cortex sync --yes if that is right",
            )

    def exceeded_by(self, gone: Sequence[bytes], *, folders: bool = False) -> str:
        """`7 of 20 notes` in the last commit, if that many are among these and it must be
        confirmed; of `folders` also `all 2 notes in x`, of the largest. Else empty."""
        if self.is_lifted or len(gone) < 2:
            return ""
        own = people_notes.list_committed(self.root) if self.has_own_notes else set()
        for there in (ours := _committed_notes(self.root), own):
            count = len(there.intersection(gone))
            if count >= _MIN_MASS_REMOVAL and count * 5 > len(there):
                return f"{count} of {len(there)} notes"
        below, lost = map(_count_below, (ours | own, (ours | own).intersection(gone)))
        whole = [(count, folder) for folder, count in lost.items() if 1 < count == below[folder]]
        count, folder = max(whole, default=(0, b""))
        where = os.fsdecode(folder) or "the vault"
        return f"all {count} notes in {where}" if count and folders else ""


def _count_below(paths: Collection[bytes]) -> Counter[bytes]:
    """How many of the paths each folder holds, at any depth."""
    parts = (path.split(b"/")[:-1] for path in paths)
    return Counter(b"/".join(one[:depth]) for one in parts for depth in range(len(one) + 1))


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


def check_left_out(root: str, remote: str, theirs: str, left_out: tuple[Problem, ...]) -> None:
    """Raise `CortexError` if the remote has changed a note of ours that could not be committed:
    where both sides have renamed it, git and what we resolve know nothing of its text."""
    if not left_out:
        return
    base = merging.revisions_between(root, "HEAD", theirs).bases[0]
    changed = objects.changes_between(root, base, theirs)
    blobs = {blob for one in changed for blob in (one.old_blob, one.new_blob) if blob}
    ids = {note_id(text) for text in objects.read_blobs(root, blobs).values()} - {""}
    for where in (one.where for one in left_out):
        if files.exists(root, where) and note_id(files.read(root, where)) in ids:
            message = f"{where} is not committed, and {remote} has changed that note, too"
            raise CortexError(message, f"mend {where}, then cortex sync")


def check_mergeable(root: str, up: Upstream, theirs: str, limit: RemovalLimit) -> None:
    """Stop before anything is touched when this cannot, or should not, be merged."""
    if not git_cli.has_commit(root):
        return
    base = git_cli.run_unchecked(root, ["merge-base", "HEAD", theirs])
    remote_branch = f"{up.remote}/{up.remote_branch}"
    if base.code:
        command = f"git merge --allow-unrelated-histories {remote_branch}"
        hint = f"git clone the remote and copy your notes into it; or {command}"
        raise CortexError(f"{remote_branch} and this vault have no common history", hint)
    _refuse_to_overwrite_ignored(root, remote_branch, theirs)
    start = base.stdout.decode().strip()
    if up.pull_ff == "only" and start != git_cli.resolve_commit(root, "HEAD"):
        why = "both sides have commits, and pull.ff (or merge.ff) = only forbids to merge them"
        raise CortexError(f"{why}; nothing of {up.remote} was taken", "git config pull.ff true")
    if gone := limit.exceeded_by(_removed_files(root, start, theirs)):
        message = f"{remote_branch} would remove {gone}; nothing was merged"
        raise CortexError(message, "cortex sync --yes if that is right")


def _removed_files(root: str, base: str, theirs: str) -> list[bytes]:
    """The files of the last commit that a merge with `theirs` would remove; not those moved."""
    flags = ["-r", "-z", "--name-only", "--no-relative", "-M", "--diff-filter=D"]
    raw = git_cli.run(root, ["diff-tree", *flags, base, theirs, "--", "."], timeout=120.0)
    gone = set(filter(None, raw.split(b"\0")))
    return sorted(gone & objects.list_files(root, "HEAD").keys())


def _refuse_to_overwrite_ignored(root: str, remote_branch: str, theirs: str) -> None:
    """Raise `CortexError` if the merge brings a file that lies here with another text and is
    ignored: git would overwrite it silently."""
    prefix = objects.prefix(root)
    new = {
        os.fsdecode(change.path.removeprefix(prefix)): change.new_blob
        for change in objects.changes_between(root, "HEAD", theirs)
        if change.path.startswith(prefix) and not change.old_blob
    }
    existing = [path for path in new if os.path.lexists(os.path.join(root, path))]
    ignored = sorted(objects.filter_ignored(root, existing))
    texts = objects.read_blobs(root, [new[path] for path in ignored])
    lost = [path for path in ignored if read_if_there(root, path) != texts.get(new[path])]
    if lost:
        raise CortexError(
            f"{remote_branch} has files that git ignores here, with another text: {_join_paths(lost)};"
            " nothing was merged",
            "move yours out of the vault, or to a name that git ignores, then cortex sync",
        )


def staged_to_set_aside(root: str, up: Upstream, theirs: str) -> list[objects.StagedChange]:
    """What a person staged, which a merge needs out of the index. Raises `CortexError` if the
    merge changes one of the paths."""
    staged = objects.list_staged(root)
    if staged:
        base = merging.revisions_between(root, "HEAD", theirs).bases[0]
        changed = {one.path for one in objects.changes_between(root, base, theirs)}
        if both := [os.fsdecode(one.path) for one in staged if one.path in changed]:
            message = f"you staged what {up.remote} has changed: {_join_paths(both)}"
            hint = "commit it, or git restore --staged it, then cortex sync"
            raise CortexError(message, hint)
    return staged


def untracked_copies(root: str, theirs: str) -> list[UncommittedChange]:
    """Untracked files that the remote has at the same path with the same id or text, as when a
    note came by another way than git. Once committed, they merge like any other."""
    copies = []
    untracked = objects.list_untracked(root)
    for path, other in objects.read_committed(root, untracked, theirs).items():
        # A link, or a file that went, stays in the way, and is named.
        with suppress(CortexError, OSError):
            data = files.read(root, path)
            is_same_record = note_id(data) == note_id(other) and is_record(notes.read(data))
            if data == other or is_same_record:
                copies.append(UncommittedChange(path, "A"))
    return copies


def left_out_elsewhere(root: str, before: str, told: Container[str]) -> list[MergeResolution]:
    """What merges elsewhere left out of notes, in commits since `before`; not of paths `told`."""
    found, prefix = list[Problem](), len(objects.prefix(root))
    changed = objects.changes_between(root, before, "HEAD")
    changed = [one for one in changed if one.path.endswith(b".md")]
    blobs = {blob for one in changed for blob in (one.old_blob, one.new_blob)}
    texts = objects.read_blobs(root, blobs)
    for one in changed:
        path, data = os.fsdecode(one.path[prefix:]), texts.get(one.new_blob, b"")
        if CONFLICTS_KEY.encode() in data and path not in told:
            known = merge_problems(notes.read(texts.get(one.old_blob, b"")), path, "")
            found += {*merge_problems(notes.read(data), path, "")} - {*known}
    if len(found) <= _MAX_LEFT_OUT:
        return [MergeResolution(one.where, f"{one.message}; {one.hint}") for one in found]
    what = f"merges left something out of {len(found):,} notes; cortex status names them"
    return [MergeResolution(layout_of(root).path("records"), what)]


def count_ahead_behind(root: str, theirs: str) -> tuple[int, int]:
    """The numbers of commits that only HEAD has and that only `theirs` has; either may be none."""

    def count(one: str, other: str) -> int:
        words = ["rev-list", "--count", one, *([f"^{other}"] if other else []), "--"]
        return int(git_cli.line(root, words) or 0) if one else 0

    head = git_cli.head_commit(root)
    return count(head, theirs), count(theirs, head)


def fast_forward_arguments(root: str, up: Upstream, theirs: str) -> list[str]:
    """The arguments for a fast-forward; a merge commit only if pull.ff is off."""
    is_ff_off = up.pull_ff in ("false", "no", "off", "0") and not up.rebase_mode
    if is_ff_off and git_cli.has_commit(root):
        return [*_MERGE_FLAGS, "--no-ff", f"--message={_commit_message(up)}", theirs]
    return [*_MERGE_FLAGS, "--ff-only", theirs]


def merge_arguments(root: str, up: Upstream, theirs: str) -> list[str]:
    """The arguments for a merge or rebase. Of a code repository git follows other renames, too."""
    renames = [_EXACT_RENAMES] if objects.toplevel(root) == root else []
    if not up.rebase_mode:
        message = f"--message={_commit_message(up)}"
        return [*_MERGE_FLAGS, "--commit", message, *renames, theirs]
    shape = "--rebase-merges" if up.rebase_mode == "merges" else "--no-rebase-merges"
    stash = "--autostash" if up.autostash else "--no-autostash"
    # No fork point: it would leave out what the remote has rewritten away, and that may be notes.
    return ["--quiet", "--merge", "--no-fork-point", shape, stash, *renames, theirs]


def rebase_arguments(root: str, theirs: str, start: str) -> list[str]:
    """The arguments for a rebase of what follows the commit `start` onto a history without it."""
    renames = [_EXACT_RENAMES] if objects.toplevel(root) == root else []
    flags = ["--quiet", "--merge", "--no-fork-point", "--no-rebase-merges", "--autostash"]
    return [*flags, *renames, "--onto", theirs, start]


def _commit_message(up: Upstream) -> str:
    return f"cortex: merge {up.remote_branch} of {up.remote}"


def explain_refusal(root: str, ran: git_cli.GitResult, how: str) -> MergeRefusedError:
    """Why git did not even begin."""
    named = [line.strip() for line in ran.stderr.splitlines() if line.startswith("\t")]
    if (is_new := "untracked working tree files" in ran.stderr) or named:
        what = f"{'files that git does not know:' if is_new else 'your changes of'} {_join_paths(named)}"
        do = "move them away or commit" if is_new else "commit or stash"
        message = f"the {how} would overwrite {what}; nothing was merged"
        return MergeRefusedError(message, f"{do} them, then cortex sync")
    if "cannot rebase" in ran.stderr or "uncommitted changes" in ran.stderr:
        words = ["diff-index", "--name-only", "-z", "HEAD", "--"]
        listed = git_cli.run(objects.toplevel(root), words).split(b"\0")
        dirty = _join_paths([os.fsdecode(name) for name in listed if name])
        message = f"a rebase needs a clean work tree, and these are changed: {dirty}"
        hint = "commit or stash them, then cortex sync"
        if not objects.list_staged(root):  # that would forget what is staged
            hint += "; or git config rebase.autoStash true"
        return MergeRefusedError(f"{message}; nothing was rebased", hint)
    if error := git_cli.system_error(ran, root):
        return MergeRefusedError(error.message, error.hint)
    message = f"git {how}: {remotes.failure_message(ran)}"
    return MergeRefusedError(message, "git status shows the state of the repository")


def refused_push(root: str, up: Upstream, theirs: str) -> CortexError:
    """Why commits that hold what must not be published are not pushed, and how they are rewritten."""
    words = ["rev-list", "--first-parent", *publish_check.unpublished(theirs, up.push_remote)]
    mine = git_cli.run(root, words).decode().split()
    base = git_cli.find_commit(root, f"{mine[-1]}^")[:12]
    back = f"git reset {base}" if base else "git update-ref -d HEAD && git reset"
    hint = "rewrite them: git rebase -i"
    if objects.toplevel(root) == root:
        hint = (
            f"mend the files, then git branch before-sync && {back} && cortex sync: your notes are"
            " committed anew, other files wait for you, and before-sync has the old commits"
        )
    count = format_count(len(mine), "commit")
    return CortexError(f"nothing was pushed: {count} must not be, as they stand", hint)


def _join_paths(paths: list[str], most: int = 10) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(sorted(paths)[:most]) + more
