"""Erase from git: find the objects that hold it, list them, and rewrite the history without them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError, Problem
from cortex.core.notes.erasure import Eraser
from cortex.core.text.strings import format_count, shell_quote
from cortex.core.text.value import NamedTuple
from cortex.operations.capture.capture import new_event_id
from cortex.vault import erased
from cortex.vault.git import checkout, git_cli, objects, remotes, rewrite
from cortex.vault.locate import Vault

_PUSHED = ("refs/heads/", "refs/tags/")
_UNREACHED = "other clones, until cortex sync --follow there; forks; backups of a remote's host"
_MAX_NAMED = 5  # objects of git that are named
_UNKNOWN_PATH = "unknown.md"  # of a file that only an object that nothing names has


class ErasePlace(NamedTuple):
    """A place that holds it."""

    kind: str  # event, record, session, briefing, file, state, git object, git tags
    where: str  # a path; empty for git
    number: int = 1  # of objects of git


class RemoteRef(NamedTuple):
    """A branch, tag or other ref of a remote."""

    remote: str
    name: str
    id: str


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
    """Raise `ConflictError` where the history cannot be rewritten as a whole, with all reasons."""
    if not checkout.is_in_repository(root):
        raise ConflictError("the vault is in no git repository", "cortex erase without --history")
    alternates = git_cli.line(root, ["rev-parse", "--git-path", "objects/info/alternates"])
    trees = git_cli.run(root, ["worktree", "list", "--porcelain", "-z"]).split(b"\0\0")
    others = [shell_quote(os.fsdecode(one.split(b"\0")[0])[9:]) for one in trees[1:] if one]
    is_shallow = git_cli.line(root, ["rev-parse", "--is-shallow-repository"]) == "true"
    borrows = os.path.exists(os.path.join(root, alternates))
    reasons = (
        (is_shallow, "this clone is shallow", "git fetch --unshallow"),
        (borrows, "it uses another repository's objects", f"git repack -ad && rm {alternates}"),
        (others, "it has other work trees", f"git worktree remove {' '.join(others)}"),
        (objects.list_staged(root), "changes are staged", "git commit, or git restore --staged ."),
        (not checkout.branch_of(root), "no branch is checked out", "git switch BRANCH"),
    )
    if found := [(why, hint) for is_so, why, hint in reasons if is_so]:
        whys, hints = zip(*found, strict=True)
        raise ConflictError(f"nothing was erased: {'; '.join(whys)}", "; ".join(hints))


def fetch_all(root: str) -> list[Problem]:
    """Fetch all branches of all remotes, so that they are rewritten as they are there now. Returns
    which remotes could not be reached."""
    problems = []
    for remote in remotes.list_remotes(root):
        try:
            refs = f"+refs/heads/*:refs/remotes/{remote}/*"
            fetched = git_cli.run_remote(root, ["fetch", "--end-of-options", remote, refs])
            reason = fetched.reason if fetched.code else ""
        except CortexError as error:
            reason = error.message
        if reason:
            hint = "run this again when it answers"
            problems.append(Problem(remote, f"nothing was fetched: {reason}", hint))
    return problems


def _list_remote_refs(root: str) -> list[RemoteRef]:
    """All refs that the remotes have now; nothing of one that does not answer."""
    there: list[RemoteRef] = []
    for remote in remotes.list_remotes(root):
        with suppress(CortexError):
            there += [RemoteRef(remote, *one) for one in remotes.list_refs(root, remote).items()]
    return there


def _object_paths(root: str) -> dict[str, str]:
    """The objects that refs and reflogs lead to, with a path of each, from the top."""
    listed = git_cli.run(root, ["rev-list", "--objects", "--all", "--reflog"], timeout=600.0)
    return dict(line.partition(" ")[::2] for line in os.fsdecode(listed).splitlines())


def describe(root: str, found: dict[str, str]) -> list[ErasePlace]:
    """What in git holds it: how many objects, and to how many of them its kinds of refs lead."""
    places = [ErasePlace("git object", "", len(found))]
    for kind in ("branches", "tags", "remotes", "stash", "reflog") if found else ():
        refs = rewrite.reachable(root, "--glob=refs/stash" if kind == "stash" else f"--{kind}")
        places.append(ErasePlace(f"git {kind}", "", len(found.keys() & refs)))
    return [one for one in places if one.number]


def list_lines(
    root: str, eraser: Eraser, found: dict[str, str], *, history: bool
) -> Iterator[tuple[str, ...]]:
    """The lines of the list about git's blobs, and with `history` the commits of before."""
    paths = _object_paths(root)
    below = os.fsdecode(objects.prefix(root))
    texts = objects.read_blobs(root, [one for one in found if found[one] == "blob"])
    for id_, data in texts.items():
        path = paths.get(id_) or below + _UNKNOWN_PATH
        new = eraser.erase(path[len(below) :], data) if path.startswith(below) else data
        if new != data:
            yield "blob", id_, "" if new is None else erased.blob_id(new, len(id_))
    for name, id_ in rewrite.list_refs(root).items() if history else ():
        if name.startswith(("refs/heads/", "refs/remotes/")):
            yield "history", id_


def rewrite_history(
    vault: Vault, caller: Caller, eraser: Eraser, result: EraseResult
) -> EraseResult:
    """Keep a bundle of all refs, rewrite them, drop the old objects, and see which still hold it, and
    which refs of the remotes. What is no text stays."""
    root = vault.root
    found = rewrite.find_objects(root, eraser.holds)
    held = objects.find_blobs(root, "HEAD", found)
    texts = objects.read_blobs(root, held.values())
    if any(eraser.erase(path, texts[id_]) != texts[id_] for path, id_ in held.items()):
        message = "the history was not rewritten: the last commit still holds it"
        raise ConflictError(message, "git status shows what is not committed")
    backup = os.path.join(vault.state_folder(), f"{new_event_id(caller)}.bundle")
    git_cli.run(root, ["bundle", "create", "--quiet", backup, "--all"], timeout=3600.0)
    tree = git_cli.line(root, ["rev-parse", "HEAD^{tree}"])
    done = rewrite.rewrite(root, eraser, found)
    new = dict(done.values())
    if tree != git_cli.line(root, ["rev-parse", "HEAD^{tree}"]):
        hint = f"git fetch {shell_quote(backup)} {checkout.branch_of(root)} && git reset FETCH_HEAD"
        raise CortexError("the new history ends with other files than the vault has", hint)
    rewrite.drop_old(root)
    left = [f"{backup}, the old history: rm it when all is well", _UNREACHED]
    if still := rewrite.find_objects(root, eraser.holds):
        paths = _object_paths(root)
        names = sorted({paths.get(id_) or id_ for id_, kind in still.items() if kind != "tree"})
        some = ", ".join(names[:_MAX_NAMED]) + ", …" * (len(names) > _MAX_NAMED)
        what = "outside the vault, or no text"
        left.append(f"{format_count(len(still), 'object')} of git, {what}: {some}")
    for ref in rewrite.list_refs(root):
        left += [f"the name of {ref}"] if eraser.holds(os.fsencode(ref)) else []
    there, moved = _list_remote_refs(root), []
    for one in there:
        if one.id not in new and one.name.startswith(_PUSHED[0]) and not git_cli.find_commit(root, one.id):  # fmt: skip
            message = "somebody pushed to it meanwhile, and it may still have all of it"
            hint = "run the same command again, then the push that it names"
            moved.append(Problem(f"{one.remote} {one.name}", message, hint))
        if one.id in new and not one.name.startswith(_PUSHED):
            left.append(f"{one.remote} {one.name}, which its host alone can drop")
    commands = tuple(_push_commands(root, new, there))
    result = result._replace(rewritten=len(done), backup=backup, left=(*result.left, *left))
    return result._replace(commands=commands, problems=(*result.problems, *moved))


def _push_commands(root: str, new: dict[str, str], there: list[RemoteRef]) -> Iterator[str]:
    """For each remote the command that replaces there what was rewritten here. Each branch has the
    list of what was erased: clones that follow it know by that what they must not bring back."""
    words: dict[str, list[str]] = {}
    here = f"refs/heads/{checkout.branch_of(root)}"
    for remote, ref, id_ in there:
        if id_ in new and ref.startswith(_PUSHED):
            source = ref if git_cli.is_ancestor(root, new[id_], ref) else new[id_]
            if source != here and (branch := ref.partition(_PUSHED[0])[2]):
                tracking = f"refs/remotes/{remote}/{branch}"
                source = rewrite.add_files(root, tracking, new[id_], erased.folder_of(root))
            command = words.setdefault(remote, ["git", "push", remote])
            command += [f"--force-with-lease={ref}:{id_}", f"{source}:{ref}"]
    return (" ".join(map(shell_quote, command)) for command in words.values())
