"""What git holds of what is erased: where, the list of it, and a history without it."""

from __future__ import annotations

import os
from typing import NoReturn

from cortex.core.model.problem import ConflictError, CortexError, Problem
from cortex.core.notes.erasure import Eraser
from cortex.core.text.strings import format_count, shell_quote
from cortex.core.text.value import NamedTuple
from cortex.vault import erased, private
from cortex.vault.git import checkout, git_cli, objects, rewrite
from cortex.vault.git.rewrite import Changes, RewrittenRef
from cortex.vault.locate import Vault

PENDING_FILE = "erased-push"  # in the state folder: the commands that publish a rewritten history
_UNKNOWN_PATH = "unknown.md"  # of a file that only an object that nothing names has


class HistoryErased(NamedTuple):
    """A history that was rewritten."""

    refs: int
    backup: str  # a bundle of the history before
    commands: tuple[str, ...]  # that publish it
    left: tuple[str, ...]  # what still holds it


def check_rewritable(vault: Vault) -> None:
    """Raise `ConflictError` where the history cannot be rewritten as a whole."""
    repository = checkout.find_repository(vault.root)
    assert repository is not None

    def refuse(why: str, hint: str) -> NoReturn:
        raise ConflictError(f"the history was not rewritten: {why}", hint)

    if git_cli.line(vault.root, ["rev-parse", "--is-shallow-repository"]) == "true":
        refuse("this clone is shallow, and lacks a part of it", "git fetch --unshallow")
    if os.path.exists(os.path.join(repository.common_dir, "objects/info/alternates")):
        refuse(
            "another repository's objects are used here",
            "git repack -a -d && rm .git/objects/info/alternates",
        )
    trees = git_cli.run(vault.root, ["worktree", "list", "--porcelain", "-z"]).split(b"\0\0")
    if others := [os.fsdecode(one.split(b"\0")[0])[9:] for one in trees[1:] if one]:
        refuse("it has further work trees", f"git worktree remove {shell_quote(others[0])}")
    if objects.list_staged(vault.root):
        refuse("changes are staged", "git commit, or git restore --staged .")
    if not checkout.branch_of(vault.root):
        refuse("no branch is checked out", "git switch BRANCH")


def fetch_all(root: str) -> list[Problem]:
    """Fetch all branches of all remotes, so that they are rewritten as they are there now."""
    problems = []
    for remote in git_cli.run(root, ["remote"]).decode().split():
        try:
            ran = git_cli.run_remote(root, ["fetch", "--end-of-options", remote])
            reason = ran.reason if ran.code else ""
        except CortexError as error:
            reason = error.message
        if reason:
            hint = "run this again when it can be reached"
            problems.append(Problem(remote, f"could not be asked what it has: {reason}", hint))
    return problems


def find(vault: Vault, eraser: Eraser) -> dict[str, str]:
    """The objects of git that hold it: id -> kind."""
    return rewrite.find_objects(vault.root, eraser.holds)


def tracked(root: str) -> set[str]:
    """The vault's files that git knows."""
    return {os.fsdecode(one) for one in git_cli.run(root, ["ls-files", "-z"]).split(b"\0") if one}


def is_sha256(root: str) -> bool:
    return checkout.is_in_repository(root) and len(objects.empty_tree(root)) == 64


def describe(root: str, found: dict[str, str]) -> list[tuple[str, str, int]]:
    """Kind, name and number of what in git holds it."""
    if not found:
        return []
    listed = git_cli.run(root, ["for-each-ref", "--format=%(refname)"])
    refs = [*os.fsdecode(listed).splitlines(), "--reflog"]
    numbers = ((ref, len(found.keys() & rewrite.reachable(root, ref))) for ref in refs)
    named = [("git ref", ref.removeprefix("--"), number) for ref, number in numbers if number]
    return [("git object", "", len(found)), *named]


def list_lines(
    vault: Vault, eraser: Eraser, found: dict[str, str], *, history: bool
) -> list[tuple[str, ...]]:
    """The lines of the list about blobs of git, and with `history` the commits of before."""
    root = vault.root
    blobs = [id_ for id_, kind in found.items() if kind == "blob"]
    if not blobs and not history:
        return []
    paths = _paths(root)
    lines: list[tuple[str, ...]] = []
    for at in range(0, len(blobs), 500):
        for id_, data in objects.read_blobs(root, blobs[at : at + 500]).items():
            new = eraser.erase(paths.get(id_, _UNKNOWN_PATH), data)
            if new != data:
                made = "" if new is None else erased.blob_id(new, is_sha256=len(id_) == 64)
                lines.append(("blob", id_, made))
    if history:
        words = ["for-each-ref", "--format=%(objectname)", "refs/heads", "refs/remotes"]
        tips = set(git_cli.run(root, words).decode().split())
        lines += [("history", tip) for tip in tips]
    return lines


def _paths(root: str) -> dict[str, str]:
    """A vault path of each object that a ref or reflog leads to."""
    words = ["rev-list", "--objects", "--all", "--reflog"]
    below = os.fsdecode(objects.prefix(root))
    listed = os.fsdecode(git_cli.run(root, words, timeout=600.0)).splitlines()
    pairs = (line.partition(" ") for line in listed)
    return {id_: path.removeprefix(below) for id_, _, path in pairs if path}


def changes_of(eraser: Eraser, found: dict[str, str]) -> Changes:
    """What becomes of a history; `found` are the objects that hold it."""
    return Changes(
        frozenset(found),
        lambda _, path, data: eraser.erase(path, data),
        eraser.erase_name,
        eraser.erase_text,
    )


def rewrite_history(vault: Vault, caller_stamp: str, eraser: Eraser) -> HistoryErased:
    """Rewrite all refs, drop the old objects, and see that none holds it any more."""
    root = vault.root
    found = find(vault, eraser)
    held = found.keys() & rewrite.reachable(root, "HEAD^{tree}")
    inside = {
        blob
        for path, blob in objects.list_files(root, "HEAD").items()
        if path.startswith(objects.prefix(root))
    }
    if held & inside:
        message = "the history was not rewritten: the last commit still holds it"
        raise ConflictError(message, "git status shows what is not committed")
    backup = os.path.join(vault.state_folder(), f"erased-{caller_stamp}.bundle")
    git_cli.run(root, ["bundle", "create", "--quiet", backup, "--all"], timeout=3600.0)
    os.chmod(backup, 0o600)
    remote_refs = _list_remote_refs(root)
    changes = Changes(
        frozenset(found),
        lambda _, path, data: eraser.erase(path, data),
        eraser.erase_name,
        eraser.erase_text,
    )
    done = rewrite.rewrite(root, changes)
    commands = _push_commands(root, {one.old: one for one in done}, remote_refs)
    rewrite.drop_old(root)
    left = [f"{backup}: the history of before; rm it when all is well"]
    if still := find(vault, eraser):
        left.append(
            f"{format_count(len(still), 'object')} of git outside the vault, or in no text: {', '.join(list(still)[:3])}"
        )
    left += [
        f"{remote} {ref}: ask its host to drop it"
        for remote, ref, id_ in remote_refs
        if id_ in {one.old for one in done} and not ref.startswith(("refs/heads/", "refs/tags/"))
    ]
    left.append(
        "other clones, forks, and what the remote's host keeps of old commits: in each clone cortex sync --follow"
    )
    keep_commands(vault, tuple(commands))
    return HistoryErased(len(done), backup, tuple(commands), tuple(left))


def keep_commands(vault: Vault, commands: tuple[str, ...]) -> None:
    """Remember what publishes a history that was rewritten here."""
    path = os.path.join(vault.state_folder(), PENDING_FILE)
    private.replace(path, "\n".join(commands).encode())


def _list_remote_refs(root: str) -> list[tuple[str, str, str]]:
    """Remote, ref and id of all that remotes have; nothing of one that cannot be reached."""
    found = []
    for remote in git_cli.run(root, ["remote"]).decode().split():
        try:
            ran = git_cli.run_remote(root, ["ls-remote", "--refs", "--end-of-options", remote])
        except CortexError:
            continue
        for line in os.fsdecode(ran.stdout).splitlines():
            id_, _, ref = line.partition("\t")
            found.append((remote, ref, id_))
    return found


def _push_commands(
    root: str, moved: dict[str, RewrittenRef], remote_refs: list[tuple[str, str, str]]
) -> list[str]:
    """For each remote the command that replaces there what was rewritten here."""
    words: dict[str, list[str]] = {}
    for remote, ref, id_ in remote_refs:
        one = moved.get(id_)
        if one is None or not ref.startswith(("refs/heads/", "refs/tags/")):
            continue
        is_local = git_cli.find_commit(root, ref) and git_cli.is_ancestor(root, one.new, ref)
        source = ref if is_local else one.new
        words.setdefault(remote, []).append(f"--force-with-lease={ref}:{id_} {source}:{ref}")
    return [f"git push {remote} {' '.join(refs)}" for remote, refs in words.items()]
