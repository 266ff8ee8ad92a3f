"""Find what a crash has damaged in a repository; nothing is changed.

A plain git syncs little of what it writes, so a power cut may leave empty files where objects, the
index or a branch were. The notes are files that Cortex has synced; they are never in question here.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat

from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shell_quote
from cortex.vault import files
from cortex.vault.git import checkout, git_cli
from cortex.vault.git.branches import RepositoryRefs
from cortex.vault.git.checkout import Repository
from cortex.vault.git.git_locks import FIX_COMMAND

_REQUIRED_FOLDERS = ("objects", "refs")  # without them git sees no repository
_MAX_COMMITS_TRIED = 50  # for one branch
_MAX_LOG_BYTES = 1 << 20  # of the end of a reflog
_OBJECT_ID_RE = lazy_re(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFLOG_ENTRY_RE = lazy_re(rb"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) [^\0\n]*$", re.MULTILINE)


def is_vault_only(root: str, repository: Repository) -> bool:
    """True if the repository holds the vault alone, with refs in files."""
    return (
        os.path.realpath(root) == repository.top
        and repository.git_dir == os.path.join(repository.top, ".git")
        and not checkout.uses_reftable(repository)
    )


def run_in_repository(
    repository: Repository, words: list[str], *, timeout: float = 120.0
) -> git_cli.GitResult:
    """Run git in this repository; with a broken HEAD git would take one around it."""
    # A stranger's repository stays behind git's own question of trust.
    is_own = os.stat(repository.git_dir).st_uid == os.geteuid()
    extra = {"GIT_DIR": repository.git_dir, "GIT_WORK_TREE": repository.top} if is_own else {}
    return git_cli.run_unchecked(repository.top, words, timeout=timeout, extra=extra)


def find_problems(root: str) -> list[Problem]:
    """What is broken in the repository around the vault; empty outside one."""
    pointer = os.path.join(root, ".git")
    if os.path.isfile(pointer) and not checkout.read_first_line(pointer).startswith("gitdir:"):
        hint = "in the main worktree: git worktree repair; or write `gitdir: PATH` into it"
        return [Problem(".git", "does not say where the repository is", hint)]
    repository = checkout.find_repository(root)
    path, why = checkout.find_fault(root)
    if path:
        hint = git_cli.fault_hint(path)
        if repository and path.startswith(repository.git_dir + os.sep):
            hint = FIX_COMMAND if is_vault_only(root, repository) else hint
            hint = _head_command(repository) if path == head_path(repository) else hint
        return [Problem(os.path.relpath(path, root), why, hint)]
    if repository is None:
        return []
    try:
        # A pipe among git's own files would hold up every later git.
        run_in_repository(repository, ["rev-parse", "--git-dir"], timeout=3.0)
        return find_damage(root, repository)
    except (CortexError, OSError) as error:
        hint = (isinstance(error, CortexError) and error.hint) or "git fsck"
        return [Problem(".git", f"cannot be examined: {error}", hint)]


def list_unmerged_paths(root: str) -> list[str]:
    """The vault-relative unmerged paths; none outside a repository. Asked of GitPython, which is
    closed at once. Raises `CortexError`."""
    repository = checkout.find_repository(root)
    if repository is None:
        return []
    # GitPython would wait for ever on a pipe in place of the configuration or the index; here that
    # is refused before git runs. Of any other hash GitPython would read half an id.
    if git_cli.run(root, ["rev-parse", "--show-object-format"], timeout=3) != b"sha1\n":
        return _unmerged_by_git(root)
    import git  # noqa: PLC0415  150 ms, and its import fails where there is no git program

    try:
        with git.Repo(root, search_parent_directories=True, expand_vars=False) as repo:
            paths = [os.path.join(repository.top, path) for path in repo.index.unmerged_blobs()]
    except (git.GitError, OSError, ValueError, AssertionError):
        # GitPython knows no names that are not UTF-8, no index of version 4 and none that is split.
        return _unmerged_by_git(root)
    return sorted(os.path.relpath(path, root) for path in paths if path.startswith(root + os.sep))


def _unmerged_by_git(root: str) -> list[str]:
    listed = git_cli.run(root, ["ls-files", "--unmerged", "-z"], timeout=3).split(b"\0")
    return sorted({os.fsdecode(line.partition(b"\t")[2]) for line in listed if line})


def find_damage(root: str, repository: Repository) -> list[Problem]:
    """The damage, each with the next command: `doctor --fix` for the index, else one of git."""
    problems: list[Problem] = []

    def add(path: str, message: str, hint: str) -> None:
        problems.append(Problem(os.path.relpath(path, root), message, hint))

    config = os.path.join(repository.common_dir, "config")
    if is_config_broken := not is_config_readable(repository):
        aside = f"{_move_away(config)} && " if os.path.lexists(config) else ""
        message = "is empty or cannot be read; a remote has to be added again"
        add(config, message, f"{aside}git init")
    required = [os.path.join(repository.common_dir, name) for name in _REQUIRED_FOLDERS]
    missing = [path for path in required if not os.path.lexists(path)]
    for path in missing:
        add(path, "is gone: git does not see a repository here", "git init")
    if not read_head_target(repository):
        message = "is empty or damaged: git does not see a repository here"
        add(head_path(repository), message, _head_command(repository))
    if is_config_broken or missing or not read_head_target(repository):
        return problems
    if index_fault(repository):
        index = os.path.join(repository.git_dir, "index")
        add(index, "is damaged: git cannot say what is staged", FIX_COMMAND)
    empty = list_empty_objects(repository)
    target = read_head_target(repository)
    refs = list_broken_refs(repository)
    for ref in refs:
        message = "is empty or damaged: git does not know this branch's commit"
        add(os.path.join(repository.common_dir, ref), message, _recovery(repository, ref, empty))
    fault = "" if refs else head_fault(repository)
    if empty:
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        message = f"is an empty object{more}: part of the history cannot be read"
        add(empty[0], message, _recovery(repository, target, empty))
    elif fault:
        add(head_path(repository), fault, _recovery(repository, target, empty))
    return problems


def read_head_target(repository: Repository) -> str:
    """What HEAD names: `refs/heads/…`, or a commit's id; empty when it names neither."""
    head = checkout.read_head(repository)
    target = head.removeprefix("ref:").strip()
    is_ref = head != target and target.startswith("refs/")
    return target if is_ref or _OBJECT_ID_RE.fullmatch(target) else ""


def head_path(repository: Repository) -> str:
    """The file that names what is checked out."""
    return os.path.join(repository.git_dir, "HEAD")


def _head_command(repository: Repository) -> str:
    """The command that checks out again what was checked out last, as far as the reflog or the
    branches say. The work tree stays as it is."""
    refs = RepositoryRefs(*repository)
    names = sorted(refs.branch_names(), key=lambda name: (name == "main", name))
    moves = [name for name in refs.checked_out_branches() if name in names]
    ref = shell_quote(f"ref: refs/heads/{['main', *names, *moves][-1]}")
    path = shell_quote(head_path(repository))
    return f"rm -f {path} && echo {ref} > {path}"


def is_config_readable(repository: Repository) -> bool:
    """True if git can read the repository's configuration and it is not empty."""
    path = os.path.join(repository.common_dir, "config")
    words = ["config", "--file", path, "--list", "-z"]
    return bool(_file_size(path)) and not git_cli.run_unchecked(repository.common_dir, words).code


def head_fault(repository: Repository) -> str:
    """Why the commit that is checked out cannot be used; empty if it can, or is none."""
    target = read_head_target(repository)
    if run_in_repository(repository, ["rev-parse", "--verify", "--quiet", "HEAD"]).code:
        is_lost = any(_read_log(repository, name) for name in ("HEAD", target))
        return f"names {target}, whose commit is gone" if is_lost else ""
    words = ["ls-tree", "-r", "-t", "-z", "--name-only", "HEAD"]  # reads all its trees
    is_torn = run_in_repository(repository, words).code
    return "names a commit that cannot be read whole" if is_torn else ""


def index_fault(repository: Repository) -> str:
    """Why the index cannot be read; empty when it can, or when there is none."""
    path = os.path.join(repository.git_dir, "index")
    if not os.path.lexists(path):
        return ""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return "is no file"
    # Git checks an index's checksum in fsck alone, and takes half an index for a whole one.
    if not _has_valid_checksum(path):
        return "does not match its checksum"
    ran = run_in_repository(repository, ["ls-files", "-z", "--", "cortex.toml"])
    return ran.reason if ran.code else ""


def list_broken_refs(repository: Repository) -> list[str]:
    """The names of refs whose files hold no commit's id."""
    folder = os.path.join(repository.common_dir, "refs")
    broken = []
    for parent, _, names in () if checkout.uses_reftable(repository) else os.walk(folder):
        for name in names:
            line = checkout.read_first_line(path := os.path.join(parent, name))
            is_sound = _OBJECT_ID_RE.fullmatch(line) or line.startswith("ref:")
            if not is_sound and not name.endswith(".lock"):
                broken.append(os.path.relpath(path, repository.common_dir))
    return sorted(broken)


def list_empty_objects(repository: Repository) -> list[str]:
    """The paths of loose objects that are empty files."""
    folder = os.path.join(repository.common_dir, "objects")
    fans = [name for name in files.list_folder(folder) if len(name) == 2]
    objects = ((two, name) for two in fans for name in files.list_folder(os.path.join(folder, two)))
    paths = (os.path.join(folder, *one) for one in objects if _OBJECT_ID_RE.fullmatch("".join(one)))
    return [path for path in paths if not _file_size(path)]


def _recovery(repository: Repository, ref: str, empty: list[str]) -> str:
    """The command after which a branch can be read again: by its newest whole commit in the reflog,
    or from a remote; where there is neither, how to look for one or begin anew. Costs no note."""
    path = os.path.join(repository.common_dir, ref)
    words = []
    if empty:
        folder = os.path.join(repository.common_dir, "objects")
        words.append(f"find {shell_quote(folder)} -type f -empty -delete")
    if is_broken := ref in list_broken_refs(repository):
        words.append(f"rm {shell_quote(path)}")
    tip = _rev_parse(repository, ref)
    logs = (ref, "HEAD") if ref == read_head_target(repository) else (ref,)
    logged = [id_ for name in logs for id_ in reversed(_read_log(repository, name))]
    commits = list(dict.fromkeys(filter(None, [tip, *logged])))[:_MAX_COMMITS_TRIED]
    whole = next((one for one in commits if _is_complete(repository, one, empty)), "")
    if whole and whole == tip:
        return " && ".join(words) or FIX_COMMAND
    reset = ["git reset --quiet"] if "HEAD" in logs else []
    back = " && ".join([*words, f"git update-ref {shell_quote(ref)} {whole}", *reset])
    remotes = run_in_repository(repository, ["remote"]).stdout.decode("utf-8", "replace").split()
    if whole and (whole == commits[0] or not remotes):
        return back
    if remotes:
        fetch = f"git fetch --refetch {shell_quote(remotes[0])}"
        track = f"git update-ref {shell_quote(ref)} refs/remotes/{remotes[0]}/{ref[11:]}"
        is_gone = ref.startswith("refs/heads/") and (is_broken or not tip)
        again = " && ".join([*words, fetch, *([track, *reset] if is_gone else [])])
        return f"{again}; if that is not enough: {back}" if whole else again
    aside = shell_quote(f"{repository.top}.git-damaged")
    move = f"mv {shell_quote(repository.git_dir)} {aside}"
    anew = f"{move} && git init && git add . && git commit -m anew"
    return f"git fsck --lost-found names commits for git update-ref {ref}; without one: {anew}"


def _is_complete(repository: Repository, commit: str, empty: list[str]) -> bool:
    """True if everything that a commit leads to can be read."""
    words = ["rev-list", "--objects", "--no-object-names", "--end-of-options", commit]
    ran = run_in_repository(repository, words)
    damaged = {"".join(path.rsplit(os.sep, 2)[1:]) for path in empty}
    return not ran.code and damaged.isdisjoint(ran.stdout.decode("ascii", "replace").split())


def _rev_parse(repository: Repository, ref: str) -> str:
    ran = run_in_repository(repository, ["rev-parse", "--verify", "--quiet", ref])
    return "" if ran.code else ran.stdout.decode("ascii", "replace").strip()


def _read_log(repository: Repository, name: str) -> list[str]:
    """The commits that a reflog names, oldest first; a cut may have left zeros among its lines."""
    folder = repository.git_dir if name == "HEAD" else repository.common_dir
    path = os.path.join(folder, "logs", *name.split("/"))
    log = files.read_bounded(path, _MAX_LOG_BYTES, end=True)
    return [id_.decode() for id_ in _REFLOG_ENTRY_RE.findall(log) if id_.strip(b"0")]


def _has_valid_checksum(path: str) -> bool:
    """True if an index ends with the checksum of what stands before it, or with none (zeros)."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 32 or not data.startswith(b"DIRC"):
        return False
    sha1 = hashlib.sha1(data[:-20], usedforsecurity=False).digest()
    return data.endswith((sha1, hashlib.sha256(data[:-32]).digest(), bytes(20)))


def _move_away(path: str) -> str:
    return f"mv {shell_quote(path)} {shell_quote(path + '.damaged')}"


def _file_size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
