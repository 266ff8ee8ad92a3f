"""Detect a remote whose history was rewritten before sync merges it, and follow it with --follow."""

from __future__ import annotations

import os

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError
from cortex.core.notes.erasure import Eraser, derive_words, make_eraser
from cortex.core.text.strings import shell_quote
from cortex.operations.share import erase_history
from cortex.operations.share.erase import apply, find_files
from cortex.vault import erased
from cortex.vault.erased import ErasedList
from cortex.vault.git import commit, git_cli, objects, remotes, rewrite
from cortex.vault.git.remotes import Upstream
from cortex.vault.locate import Vault

_START_REF = "refs/cortex/start"  # for a moment
_IS_WHOLE = b"\n## Raw Content\n\n[ERASED]\n"  # of an event of which nothing is left


def check_published(root: str, up: Upstream) -> None:
    """Before a fetch: raise `CortexError` if the remote's branch is one that was rewritten and
    dropped here. To fetch it would bring back what was erased."""
    if not (tips := erased.read_list(root).tips):
        return
    ref = f"refs/heads/{up.remote_branch}"
    there = remotes.list_refs(root, up.remote, ref).get(ref, "")
    if there in tips and not git_cli.find_commit(root, there):
        message = f"{up.remote} still has the history from before cortex erase; nothing was fetched"
        tracking, source = f"refs/remotes/{up.remote}/{up.remote_branch}", "HEAD"
        tip = git_cli.find_commit(root, tracking)
        if tip and not git_cli.is_ancestor(root, tip, source):  # others' commits, not merged yet
            source = rewrite.add_files(root, tracking, tip, erased.folder_of(root))
        words = ("push", f"--force-with-lease={ref}:{there}", up.remote, f"{source}:{ref}")
        raise CortexError(message, f"git {' '.join(map(shell_quote, words))}")


def find_start(
    root: str, up: Upstream, theirs: str, lists: tuple[ErasedList, ErasedList], *, follows: bool
) -> str:
    """Where ours begins, the last commit that both had of the old history, if the remote's was
    rewritten where it touches the vault; else empty. `lists`: ours and theirs of what was erased.
    Raises `CortexError` unless `follows`, and where the remote has again what was erased."""
    below = os.fsdecode(objects.prefix(root))
    gone = lists[0].rewritten | lists[1].rewritten
    if gone and gone & rewrite.reachable(root, theirs, "^HEAD"):
        why = "since a clone pushed the old history again"
        message = f"{up.remote} has what was erased, {why}; nothing was merged"
        hint = "cortex erase WORDS --history with the same words, then the push that it names"
        raise CortexError(message, hint)
    tracking = f"refs/remotes/{up.remote}/{up.remote_branch}"
    seen = git_cli.line(root, ["merge-base", "--fork-point", tracking, "HEAD"])
    is_apart = seen and not git_cli.is_ancestor(root, seen, theirs)
    if not (is_apart and _has_lost(root, seen, theirs, below)) and not (
        gone and gone & rewrite.reachable(root, "HEAD", f"^{theirs}")
    ):
        return ""
    if not follows:
        message = f"the history of {up.remote}/{up.remote_branch} was rewritten; nothing was merged"
        lost = f"git diff --stat {(seen or 'HEAD')[:10]} {theirs[:10]} shows what it changes"
        hint = f"{lost}; cortex sync --follow takes it, with your own commits on top"
        raise CortexError(message, hint)
    tips = [seen, *lists[0].tips, *lists[1].tips]
    known = [one for one in tips if one and git_cli.find_commit(root, one)]
    if start := git_cli.line(root, ["merge-base", "HEAD", *known]) if known else "":
        return start
    message = "git no longer knows which commits are yours alone"
    raise CortexError(message, f"clone {up.remote} again, and copy your new notes into that clone")


def list_at(root: str, revision: str) -> ErasedList:
    """The list of what was erased that a commit has."""
    texts = objects.read_committed(root, [erased.folder_of(root)], revision)
    return erased.parse_list(texts[path] for path in sorted(texts))


def _has_lost(root: str, seen: str, theirs: str, below: str) -> bool:
    """Whether the remote has dropped any text of the vault."""
    words = ["rev-list", "--objects", seen, f"^{theirs}", "--", *([below] if below else [])]
    listed = os.fsdecode(git_cli.run(objects.toplevel(root), words, timeout=600.0)).splitlines()
    named = (line.partition(" ") for line in listed)  # a commit, and the tree of all, has no name
    dropped = {id_ for id_, _, name in named if name and name.startswith(below)}
    return bool(dropped) and bool(dropped - rewrite.reachable(root, theirs))


def derive_eraser(root: str, listed: ErasedList) -> Eraser | None:
    """What was erased, by a list and the old texts that lie here; None if nothing tells."""
    pairs = {old: new for old, new in listed.blobs.items() if new}
    texts = objects.read_blobs(root, [*pairs, *pairs.values()])
    words = set[str]()
    for old, new in pairs.items():
        words |= derive_words(texts.get(old, b""), texts.get(new, b""))
    if not (words or listed.records or listed.events):
        return None
    whole = (id_ for id_, new in listed.events.items() if _IS_WHOLE in texts.get(new, b""))
    return make_eraser(sorted(words), listed.records, whole)


def erase_kept(vault: Vault, caller: Caller, base: str) -> bool:
    """Erase it from the notes that held it at a merge's base and that a side had edited meanwhile.
    Returns whether there were any."""
    root, listed = vault.root, erased.read_list(vault.root)
    held = objects.find_blobs(root, base, listed.blobs) if listed.blobs and base else {}
    eraser = derive_eraser(root, listed) if held else None
    if eraser is None:
        return False
    found = {path: data for path, data in find_files(vault, eraser).items() if path in held}
    if found:
        apply(vault, caller, eraser, found, {}, history=False)
    return bool(found)


def erase_here(vault: Vault, caller: Caller, eraser: Eraser, start: str) -> str:
    """Erase the same in this clone and its history, so that its own commits have none of it. Returns
    the commit that `start` has become. The old objects stay."""
    root = vault.root
    erase_history.check_rewritable(root)
    held = rewrite.find_objects(root, eraser.holds)
    apply(vault, caller, eraser, find_files(vault, eraser), held, history=True)
    git_cli.run(root, ["update-ref", _START_REF, start])
    with commit.repository_lock(root):
        rewrite.rewrite(root, eraser, held)
    new = git_cli.find_commit(root, _START_REF)
    git_cli.run(root, ["update-ref", "-d", _START_REF])
    return new
