"""What git holds of what is erased: where, the list of it, and a history without it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from cortex.core.model.problem import ConflictError, CortexError, Problem
from cortex.core.notes.erasure import Eraser
from cortex.core.text.strings import format_count, shell_quote
from cortex.core.text.value import NamedTuple
from cortex.vault import erased
from cortex.vault.git import checkout, git_cli, objects, rewrite
from cortex.vault.locate import Vault

_PUSHED = ("refs/heads/", "refs/tags/")
_UNREACHED = (
    "other clones, where cortex sync --follow drops it; forks; what the remote's host keeps"
)
_UNKNOWN_PATH = "unknown.md"  # of a file that only an object that nothing names has


class ErasePlace(NamedTuple):
    """Where it stands."""

    kind: (
        str  # event, inbox, record, session, page, note, settings, file, state, git object, git ref
    )
    where: str  # a path, or what git calls it
    number: int = 1  # of objects of git


class EraseResult(NamedTuple):
    """What was, or would be, erased."""

    places: tuple[ErasePlace, ...]
    done: bool
    confirm: bool  # nothing was changed; `yes` would
    files: int  # of the vault that change
    rewritten: int = 0  # branches, tags and other refs
    backup: str = ""  # a bundle of the history before, which still holds it
    commands: tuple[str, ...] = ()  # that publish the rewritten history
    left: tuple[str, ...] = ()  # what still holds it
    hint: str = ""
    problems: tuple[Problem, ...] = ()


def check_rewritable(root: str) -> None:
    """Raise `ConflictError` where the history cannot be rewritten as a whole."""
    alternates = git_cli.line(root, ["rev-parse", "--git-path", "objects/info/alternates"])
    trees = git_cli.run(root, ["worktree", "list", "--porcelain", "-z"]).split(b"\0\0")
    others = [shell_quote(os.fsdecode(one.split(b"\0")[0])[9:]) for one in trees[1:] if one]
    is_shallow = git_cli.line(root, ["rev-parse", "--is-shallow-repository"]) == "true"
    borrows = os.path.exists(os.path.join(root, alternates))
    for is_so, why, hint in (
        (is_shallow, "this clone is shallow", "git fetch --unshallow"),
        (borrows, "it uses another repository's objects", f"git repack -ad && rm {alternates}"),
        (others, "it has other work trees", f"git worktree remove {' '.join(others)}"),
        (objects.list_staged(root), "changes are staged", "git commit, or git restore --staged ."),
        (not checkout.branch_of(root), "no branch is checked out", "git switch BRANCH"),
        (not git_cli.has_commit(root), "there is none", "cortex sync"),
    ):
        if is_so:
            raise ConflictError(f"the history is not rewritten: {why}", hint)


def fetch_all(root: str) -> list[Problem]:
    """Fetch all branches of all remotes, so that they are rewritten as they are there now."""
    problems = []
    for remote in git_cli.run(root, ["remote"]).decode().split():
        try:
            refs = f"+refs/heads/*:refs/remotes/{remote}/*"
            ran = git_cli.run_remote(root, ["fetch", "--end-of-options", remote, refs])
            reason = ran.reason if ran.code else ""
        except CortexError as error:
            reason = error.message
        if reason:
            hint = "run this again when it answers"
            problems.append(Problem(remote, f"nothing was fetched: {reason}", hint))
    return problems


def describe(root: str, found: dict[str, str]) -> list[ErasePlace]:
    """What in git holds it: how many objects, and to how many of them its kinds of refs lead."""
    kinds = ("--branches", "--tags", "--remotes", "--glob=refs/stash", "--reflog") if found else ()
    counts = {one: len(found.keys() & rewrite.reachable(root, one)) for one in kinds}
    places = {"git object": len(found)} | {f"git {one.lstrip('-')}": n for one, n in counts.items()}
    return [ErasePlace(kind, "", number) for kind, number in places.items() if number]


def list_lines(
    root: str, eraser: Eraser, found: dict[str, str], *, history: bool
) -> Iterator[tuple[str, ...]]:
    """The lines of the list about git's blobs, and with `history` the commits of before."""
    listed = git_cli.run(root, ["rev-list", "--objects", "--all", "--reflog"], timeout=600.0)
    paths = dict(line.partition(" ")[::2] for line in os.fsdecode(listed).splitlines())
    below = os.fsdecode(objects.prefix(root))
    for id_, data in objects.read_blobs(
        root, (one for one in found if found[one] == "blob")
    ).items():
        path = paths.get(id_) or below + _UNKNOWN_PATH
        new = eraser.erase(path[len(below) :], data) if path.startswith(below) else data
        if new != data:
            yield "blob", id_, "" if new is None else erased.blob_id(new, len(id_))
    for name, id_ in rewrite.list_refs(root).items() if history else ():
        if name.startswith(("refs/heads/", "refs/remotes/")):
            yield "history", id_


def rewrite_history(vault: Vault, name: str, eraser: Eraser, result: EraseResult) -> EraseResult:
    """Rewrite all refs, drop the old objects, and see that none holds it any more. A bundle of this
    name is made first."""
    root = vault.root
    found = rewrite.find_objects(root, eraser.holds)
    inside = objects.list_files(root, "HEAD", [*filter(None, [os.fsdecode(objects.prefix(root))])])
    if found.keys() & set(inside.values()):
        message = "the history was not rewritten: the last commit still holds it"
        raise ConflictError(message, "git status shows what is not committed")
    backup = os.path.join(vault.state_folder(), f"{name}.bundle")
    git_cli.run(root, ["bundle", "create", "--quiet", backup, "--all"], timeout=3600.0)
    there = _list_remote_refs(root)
    tree = git_cli.line(root, ["rev-parse", "HEAD^{tree}"])
    done = rewrite.rewrite(root, eraser, found)
    new = dict(done.values())
    if tree != git_cli.line(root, ["rev-parse", "HEAD^{tree}"]):
        hint = f"git fetch {shell_quote(backup)} {checkout.branch_of(root)} && git reset FETCH_HEAD"
        raise CortexError("the new history ends with other files than the vault has", hint)
    commands = tuple(_push_commands(root, new, there))
    rewrite.drop_old(root)
    left = [f"{backup} has the history of before: rm it when all is well", _UNREACHED]
    if still := rewrite.find_objects(root, eraser.holds):
        some = ", ".join(list(still)[:3])
        left.append(
            f"{format_count(len(still), 'object')} of git, outside the vault or no text: {some}"
        )
    left += [
        f"the name of {ref}" for ref in rewrite.list_refs(root) if eraser.holds(os.fsencode(ref))
    ]
    left += [
        f"{remote} {ref}: its host alone can drop it"
        for remote, ref, id_ in there
        if id_ in new and not ref.startswith(_PUSHED)
    ]
    return result._replace(
        rewritten=len(done), backup=backup, commands=commands, left=(*result.left, *left)
    )


def _list_remote_refs(root: str) -> list[tuple[str, str, str]]:
    """Remote, ref and id of all that remotes have; nothing of one that cannot be reached."""
    found = []
    for remote in git_cli.run(root, ["remote"]).decode().split():
        with suppress(CortexError):
            ran = git_cli.run_remote(root, ["ls-remote", "--refs", "--end-of-options", remote])
            rows = (line.split("\t") for line in os.fsdecode(ran.stdout).splitlines())
            found += [(remote, ref, id_) for id_, ref in rows]
    return found


def _push_commands(
    root: str, new: dict[str, str], there: list[tuple[str, str, str]]
) -> Iterator[str]:
    """For each remote the command that replaces there what was rewritten here."""
    for remote in sorted({remote for remote, *_ in there}):
        words = []
        for _, ref, id_ in (
            one for one in there if one[0] == remote and one[1].startswith(_PUSHED)
        ):
            if id_ in new:
                is_ahead = git_cli.is_ancestor(root, new[id_], ref)
                words += [f"--force-with-lease={ref}:{id_} {ref if is_ahead else new[id_]}:{ref}"]
        if words:
            yield f"git push {shell_quote(remote)} {' '.join(words)}"
