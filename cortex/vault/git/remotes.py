"""The remote of a branch as the person's git is configured: which, how to fetch, how to push."""

from __future__ import annotations

import os
import re

from cortex.core.model.problem import CortexError, NotFoundError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.vault.git import checkout, git_cli, git_locks, page_branch

_NO_SUCH_REF_RE = lazy_re(r"couldn't find remote ref|no such ref", re.IGNORECASE)
# Somebody else pushed first, or is pushing this very moment.
_PUSH_RACE_RE = lazy_re(
    r"\[rejected\].{0,300}\((?:fetch first|non-fast-forward|stale info)\)|cannot lock ref|"
    r"failed to update ref|incorrect old value|remote ref updated since|reference already exists|"
    r"failed to lock|unable to migrate objects|\.lock'?: File exists",
)
_FALSE_VALUES = ("false", "no", "off", "0", "")
_MESSAGE_LINE_RE = lazy_re(r"(?:fatal|error|remote|ssh|! ?\[)")
_URL_CREDENTIALS_RE = lazy_re(r"://[^/@\s]{1,500}@")


class Upstream(NamedTuple):
    """Where a branch comes from and goes to."""

    branch: str
    remote: str
    remote_branch: str  # its branch there
    push_remote: str
    is_tracked: bool  # whether git is told so already
    rebase_mode: str  # how a pull does it: empty is a merge; else rebase, or merges
    pull_ff: str  # pull.ff: empty, true, false or only, which merge.ff may say as well
    autostash: bool


class PushResult(NamedTuple):
    """What became of a push."""

    is_done: bool
    lost_race: bool  # somebody else was first
    reason: str


def find_upstream(root: str) -> Upstream:
    """The upstream of the branch that is checked out. Raises `NotFoundError` without any remote, and
    `CortexError` when it is not known which."""
    branch = checkout.branch_of(root)
    settings = git_cli.read_config(root, r"^(branch|remote|pull|merge|rebase)\.")
    own = f"branch.{branch}."
    urls = (key for key in settings if key.startswith("remote.") and key.endswith(".url"))
    remotes = sorted({key[len("remote.") : -len(".url")] for key in urls})
    named = settings.get(f"{own}remote", "")
    remote = named or ("origin" if "origin" in remotes else remotes[0] if len(remotes) == 1 else "")
    if not remote and not remotes:
        raise NotFoundError(
            "there is no remote to sync with", "git remote add origin URL, then cortex sync"
        )
    if not remote:
        raise CortexError(
            f"there are {len(remotes)} remotes and none is the branch's: {', '.join(remotes)}",
            f"git config branch.{branch}.remote NAME",
        )
    if remote == ".":
        raise CortexError(
            f"the branch {branch} follows a local branch, not a remote",
            f"git branch --set-upstream-to REMOTE/{branch}",
        )
    theirs = settings.get(f"{own}merge", "").removeprefix("refs/heads/") if named else ""
    rebase = settings.get(f"{own}rebase", settings.get("pull.rebase", "false")).lower()
    rebase = "merges" if rebase in ("merges", "m") else "" if rebase in _FALSE_VALUES else "rebase"
    push_to = settings.get(f"{own}pushremote", settings.get("remote.pushdefault", remote))
    autostash = settings.get("rebase.autostash", "false").lower() not in _FALSE_VALUES
    ff = settings.get("pull.ff", "").lower()
    if not (ff or rebase) and settings.get("merge.ff", "").lower() == "only":
        ff = "only"  # as `git pull` does it
    tracked = bool(theirs)
    return Upstream(branch, remote, theirs or branch, push_to, tracked, rebase, ff, autostash)


def fetch(root: str, up: Upstream) -> str:
    """Fetch the remote's branch: the id of its last commit, empty when it has none yet. Raises
    `CortexError` when the remote is not there, refuses or says nothing."""
    words = ["fetch", "--end-of-options", up.remote, f"refs/heads/{up.remote_branch}"]
    ran = git_locks.retry_while_locked(root, lambda: git_cli.run_remote(root, words))
    if not ran.code:
        theirs = git_cli.resolve_commit(root, "FETCH_HEAD")
        if default := page_branch.fetched_with(root, up.branch):
            refs = f"+refs/heads/{default}:refs/remotes/{up.remote}/{default}"
            words = ["fetch", "--no-write-fetch-head", "--end-of-options", up.remote, refs]
            git_cli.run_remote(root, words)  # a remote may have no such branch
        return theirs
    if _NO_SUCH_REF_RE.search(ran.stderr):
        if others := _list_others(root, up):
            raise CortexError(
                f"{up.remote} has no branch {up.remote_branch} any more; it has {others}",
                f"git branch --set-upstream-to {up.remote}/NAME follows another, and"
                f" git push {up.remote} {up.branch}:{up.remote_branch} makes it again",
            )
        return ""
    raise git_cli.system_error(ran, root) or CortexError(
        f"nothing could be fetched from {up.remote}: {failure_message(ran)}",
        f"git remote -v shows where it is; git fetch {up.remote} tries it alone",
    )


def _list_others(root: str, up: Upstream) -> str:
    """The branches of a remote that had the branch when it was fetched last; else empty."""
    if not git_cli.find_commit(root, f"refs/remotes/{up.remote}/{up.remote_branch}"):
        return ""
    heads = (ref.partition("refs/heads/") for ref in list_refs(root, up.remote))
    names = [name for before, found, name in heads if found and not before]
    return ", ".join([*names[:5], *(["…"] if names[5:] else [])])


def list_remotes(root: str) -> list[str]:
    """The names of the repository's remotes."""
    return git_cli.run(root, ["remote"]).decode().split()


def list_refs(root: str, remote: str, *names: str) -> dict[str, str]:
    """The refs, or of these names, that a remote has now, and what each is; nothing of one that
    refuses. Raises `CortexError` for one that says nothing."""
    words = ["ls-remote", "--refs", "--end-of-options", remote, *names]
    lines = os.fsdecode(git_cli.run_remote(root, words).stdout).splitlines()
    return {ref: id_ for id_, _, ref in (line.partition("\t") for line in lines)}


def push(root: str, up: Upstream) -> PushResult:
    """Push the branch, never by force. The first push makes it there and sets the upstream."""
    home = up.push_remote == up.remote
    first = ["--set-upstream"] if home and not up.is_tracked else []
    refs = f"refs/heads/{up.branch}:refs/heads/{up.remote_branch if home else up.branch}"
    words = ["push", *first, "--end-of-options", up.push_remote, refs]
    ran = git_cli.run_remote(root, words, hooks=True)
    if not ran.code:
        return PushResult(is_done=True, lost_race=False, reason="")
    reason = f"{up.push_remote} did not take the push: {failure_message(ran)}"
    return PushResult(False, bool(_PUSH_RACE_RE.search(ran.stderr)), reason)


def failure_message(ran: git_cli.GitResult) -> str:
    """What git, or the remote, says of a failure, in a line; no password of an address."""
    lines = [line.strip() for line in ran.stderr.splitlines()]
    telling = [line for line in lines if _MESSAGE_LINE_RE.match(line)]
    message = "; ".join(dict.fromkeys(telling[:4] or [ran.reason]))
    return _URL_CREDENTIALS_RE.sub("://", message)[:500]
