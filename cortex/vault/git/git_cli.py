"""The one way to run git: hardened, bounded in time, ended with its children.

A vault may come from a stranger, and git runs programs that a repository's own configuration names.
Nothing here takes a path, ref or pattern as an option, nor a program from a vault's configuration.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shell_quote
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git import checkout

_REMOTE_COMMAND_FLAGS = {
    "fetch": ("--progress", "--no-recurse-submodules"),
    "push": ("--progress", "--no-recurse-submodules"),
}
SILENCE_SECONDS = 30.0  # seconds; `CORTEX_GIT_SILENCE` says otherwise
_REASON_RE = lazy_re(r"^(?:(?:remote: )?(?:fatal|error)|CONFLICT|ssh|! \[)", re.MULTILINE)
_DUBIOUS_OWNERSHIP_RE = lazy_re(
    r"^fatal: detected dubious ownership in repository at '(.+)'$", re.MULTILINE
)
_QUOTED_PATH_RE = lazy_re(r"'(/[^']+)'")
_LOCAL_ERROR_RE = lazy_re(r"(?:fatal|error): (?!cannot (?:run|exec|spawn))")
_PERMISSION_DENIED = "permission was denied"
# Pattern of what git says, often in the words of the C library, our words, the next command.
_SYSTEM_ERRORS = (
    (lazy_re(r": No space left on device$|Out of diskspace$"), "the disk is full", "df -h {0}; df -i {0} shows what is used up; make room, then run the command again"),
    (lazy_re(r": Disk quota exceeded$"), "the disk quota is used up", "quota -s shows it; make room, then run the command again"),
    (lazy_re(r": Read-only file system$"), "the file system is read-only", "findmnt -T {0} shows how it is mounted; run the command again when it can be written"),
    (lazy_re(r": (?:Permission denied|Operation not permitted)$|insufficient permission"), _PERMISSION_DENIED, "ls -la {0} shows whose it is; run the command again when you may write there"),
    (lazy_re(r": File too large$"), "a file would be larger than this process may write", "ulimit -f shows the limit"),
    (lazy_re(r": (?:Input/output error)$"), "the disk fails", "dmesg shows what it says; copy the vault elsewhere"),
    (lazy_re(r"file write error|couldn't write '|failed to write new configuration|unable to write new_?.?index"), "the disk took no more, as when it is full", "df -h {0}; df -i {0} shows what is used up; make room, then run the command again"),
)  # fmt: skip


class GitResult(NamedTuple):
    """What became of a command of git."""

    code: int  # below zero: the signal that ended it
    stdout: bytes
    stderr: str  # what it wrote to stderr

    @property
    def reason(self) -> str:
        """The line that says why it failed."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        first = lines[0] if lines else f"exit code {self.code}"
        return next((line for line in lines if _REASON_RE.match(line)), first)


def run(
    directory: str, arguments: Sequence[str], *, timeout: float = 20.0, stdin: bytes = b"", extra: Mapping[str, str] | None = None
) -> bytes:  # fmt: skip
    """The output of `git ARGUMENTS` run in `directory`. Raises `CortexError` if git is missing,
    fails, or takes longer than `timeout` seconds, after which it and its children are ended."""
    result = run_unchecked(directory, arguments, timeout=timeout, stdin=stdin, extra=extra)
    if result.code:
        raise command_error(_subcommand(arguments), result, directory)
    return result.stdout


def run_unchecked(
    directory: str,
    arguments: Sequence[str],
    *,
    timeout: float = 20.0,
    stdin: bytes = b"",
    hooks: bool = False,
    extra: Mapping[str, str] | None = None,
) -> GitResult:
    """Run git and return how it ended, whatever its exit code. `hooks` leaves the person's own
    hooks on; `extra` adds to the environment. `CortexError` without a git, or after `timeout`."""
    try:
        flags = ("-c", "core.sshCommand=ssh")
        return _run_process(
            directory, flags, arguments, timeout, stdin=stdin, hooks=hooks, extra=extra
        )
    except TimeoutError:
        message = f"git {_subcommand(arguments)} took longer than {timeout:g} seconds and was ended"
        raise CortexError(message, "run the command again") from None


def run_remote(
    directory: str,
    arguments: Sequence[str],
    *,
    silence: float = SILENCE_SECONDS,
    hooks: bool = False,
) -> GitResult:
    """Run a command that talks to a remote (fetch, push, ls-remote). It may go on while something
    arrives; after `silence` seconds of nothing it is ended. Raises `CortexError`."""
    with suppress(ValueError):
        silence = float(os.environ.get("CORTEX_GIT_SILENCE", silence))
    verb, *rest = arguments
    ssh = ("-c", f"core.sshCommand={_ssh_command(directory)}")
    words = [verb, *_REMOTE_COMMAND_FLAGS.get(verb, ()), *rest]
    try:
        return _run_process(directory, ssh, words, silence, hooks=hooks, renew=True)
    except TimeoutError:
        raise CortexError(
            f"the remote said nothing for {silence:g} second{'' if silence == 1 else 's'}",
            "everything local is safe; run the command again when the network is back, "
            "or with a larger CORTEX_GIT_SILENCE (seconds) when the remote is slow",
        ) from None


def command_error(
    verb: str,
    ran: GitResult,
    directory: str,
    hint: str = "git status shows the state of the repository",
) -> CortexError:
    """The error for a git that failed: what the system refused, else what git says."""
    return system_error(ran, directory) or CortexError(f"git {verb}: {ran.reason}", hint)


def system_error(ran: GitResult, directory: str) -> CortexError | None:
    """The error for a git that the operating system refused something (room, quota, permission);
    None otherwise. What a remote says of its own disk does not count."""
    for text in ran.stderr.splitlines() if ran.code else ():
        if not _LOCAL_ERROR_RE.match(text):
            continue
        for fault, what, hint in _SYSTEM_ERRORS:
            if fault.search(text):
                path = _QUOTED_PATH_RE.search(text)
                where = os.path.dirname(path[1]) if path else directory
                advice = hint.format(shell_quote(where))
                if what == _PERMISSION_DENIED and files.is_group_shared(directory):
                    advice = "as its owner: chmod g+rwX on it, and umask 002 from now on"
                return CortexError(f"{what}; git says: {text.strip()}", advice)
    return None


def fault_hint(path: str) -> str:
    """What to do about a `checkout.fault`."""
    if os.path.basename(path) == ".git":
        line = shell_quote(f"gitdir: {os.path.realpath(path)}")
        return f"rm {shell_quote(path)} && echo {line} > {shell_quote(path)}"
    if f"{os.sep}.git{os.sep}" in path:  # most of what lies there git cannot do without
        return "cortex doctor --fix"
    return f"put a file in its place, or rm {shell_quote(path)}"


def list_ignored(root: str) -> frozenset[str]:
    """The vault-relative files and folders (ended with `/`) that git ignores. Empty when the whole
    vault is: its owner keeps it out of the repository around it, not out of search."""
    words = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    listed = run(root, words, timeout=5)
    names = frozenset(os.fsdecode(name) for name in listed.split(b"\0") if name)
    if names == {"./"}:
        return frozenset()
    # A folder of which git lists files too is not ignored itself: all that is in it by now is.
    above = {name[: at + 1] for name in names for at, sign in enumerate(name[:-1]) if sign == "/"}
    return names - above - {"./"}


def check_ref_name(name: str) -> str:
    """The name of a branch or remote. Raises `InvalidInputError` for an option or an expression."""
    if not checkout.is_ref_name(name):
        hint = "git branch --all and git remote show the names"
        raise InvalidInputError(f"{name!r} is no name of a branch or remote", hint)
    return name


def read_config(directory: str, keys: str, *flags: str) -> dict[str, str]:
    """The person's configuration of what matches `keys`, by key; the last value wins. Nothing where
    git cannot read it."""
    ran = run_unchecked(directory, ["config", *flags, "-z", "--get-regexp", keys])
    entries = os.fsdecode(ran.stdout).split("\0")
    parts = (entry.partition("\n") for entry in entries if entry)
    return {key: value if equals else "true" for key, equals, value in parts}


def line(directory: str, arguments: Sequence[str], *, timeout: float = 20.0) -> str:
    """The first line that git prints, without blanks around it; empty when git fails."""
    ran = run_unchecked(directory, arguments, timeout=timeout)
    text = "" if ran.code else ran.stdout.decode("utf-8", "surrogateescape")
    return text.partition("\n")[0].strip()


def find_commit(directory: str, revision: str) -> str:
    """The full id of the commit that `revision` names; empty when there is none."""
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    return line(directory, words)


def resolve_commit(directory: str, revision: str) -> str:
    """The full id of the commit that a person's `revision` names. Raises `NotFoundError`."""
    if found := find_commit(directory, revision):
        return found
    raise NotFoundError(f"there is no commit {revision!r}", "git log shows the commits")


def is_ancestor(directory: str, older: str, newer: str) -> bool:
    """True if a commit is another one, or leads to it."""
    words = ["merge-base", "--is-ancestor", older, newer]
    return not run_unchecked(directory, words).code


def head_commit(directory: str) -> str:
    """The full id of the commit that `HEAD` names; empty before the first one."""
    if found := checkout.read_head_commit(directory):
        return found
    return line(directory, ["rev-parse", "--verify", "--quiet", "HEAD"])


def has_commit(directory: str) -> bool:
    """True if there is a commit that `HEAD` names."""
    return bool(head_commit(directory))


def _subcommand(arguments: Sequence[str]) -> str:
    """The command among what follows `git`: what stands behind the settings before it."""
    rest = iter(arguments)
    for word in rest:
        if word != "-c":
            return word
        next(rest, "")
    return ""


def _ssh_command(directory: str) -> str:
    """The ssh that the person, not the repository, has chosen; `GIT_SSH_COMMAND` overrides it."""
    words = ["config", "--show-scope", "-z", "--get-all", "core.sshCommand"]
    fields = os.fsdecode(_run_process(directory, (), words, 10.0).stdout).split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    own = [value for scope, value in pairs if scope in ("system", "global", "command")]
    return own[-1] if own else "ssh"


def _run_process(
    directory: str,
    flags: Sequence[str],
    arguments: Sequence[str],
    seconds: float,
    *,
    stdin: bytes = b"",
    hooks: bool = False,
    extra: Mapping[str, str] | None = None,
    renew: bool = False,
) -> GitResult:
    path, why = checkout.find_fault(directory)
    if path:
        raise CortexError(f"{path} {why}", fault_hint(path))
    # 6 ms, and most commands need no git.
    from cortex.vault.git import git_process  # noqa: PLC0415

    environment = git_process.hardened_environment()
    if hooks:
        # GIT_LITERAL_PATHSPECS would reach a git that a hook runs with patterns of its own.
        arguments, stdin = _mark_literal(arguments, stdin)
    else:
        environment["GIT_LITERAL_PATHSPECS"] = "1"
        flags = (*git_process.NO_HOOKS_FLAGS, *flags)
    if _subcommand(arguments) not in ("gc", "maintenance"):
        flags = (*git_process.NO_MAINTENANCE_FLAGS, *flags)
    command = ["git", *git_process.HARDENING_FLAGS, *flags, *arguments]
    code, output, complaint = git_process.run_process(
        directory, command, environment | dict(extra or {}), stdin, seconds, renew=renew
    )
    # Progress overwrites its own line; only what would be left on the screen is of use.
    shown = "\n".join(
        line.rstrip("\r").rpartition("\r")[2]
        for line in complaint.decode("utf-8", "replace").split("\n")
    )
    if code and (distrusted := _DUBIOUS_OWNERSHIP_RE.search(shown)):
        hint = f"git config --global --add safe.directory {shell_quote(distrusted[1])}"
        raise CortexError(f"{distrusted[1]} belongs to another user, so git refuses it", hint)
    return GitResult(code, output, shown)


def _mark_literal(arguments: Sequence[str], stdin: bytes) -> tuple[Sequence[str], bytes]:
    """The same paths, each of them marked as a name and no pattern."""
    if "--pathspec-from-file=-" in arguments:
        if "--pathspec-file-nul" not in arguments:
            raise ValueError("paths are separated by NUL")
        paths = filter(None, stdin.split(b"\0"))
        return arguments, b"".join(b":(literal)" + path + b"\0" for path in paths)
    if "--" not in arguments:
        return arguments, stdin
    at = list(arguments).index("--") + 1
    return [*arguments[:at], *(f":(literal){path}" for path in arguments[at:])], stdin
