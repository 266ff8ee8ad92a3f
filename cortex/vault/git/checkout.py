"""Project and branch of a working directory, read from files alone (0.05 ms; no git runs).

Only where git keeps its refs in tables (`extensions.refStorage = reftable`), git is asked (5 ms).
"""

from __future__ import annotations

import os
import stat

from cortex.core.model.problem import CortexError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.light import re, suppress
from cortex.core.text.strings import short_hash, slugify
from cortex.core.text.value import NamedTuple
from cortex.vault import files, user_folders
from cortex.vault.locate import Vault, is_own

PROJECT_FILE = ".cortex-project"
# A driver's command as git's configuration quotes it: the interpreter and the script. Where more
# quoting is needed it does not match, and the configuration is parsed.
_DRIVER_COMMAND_RE = r'\\"([^"\\]+)\\" -I -S \\"([^"\\]+)\\" (?:record|briefing) '
ATTRIBUTES_BLOCK = "# cortex: begin"  # how the lines begin that name the drivers
_MAX_BYTES = 64_000  # bytes read of any file here
_MAX_NAME_CHARS = 1_000  # characters of a line that is to be a name
# What git opens for nearly every command: in the worktree's git folder, the common one, the top.
_GIT_DIR_FILES = ("HEAD", "index", "commondir", "config.worktree", "MERGE_HEAD", "shallow")
_COMMON_DIR_FILES = (
    "config", "packed-refs", "reftable/tables.list", "info/exclude", "info/attributes", "info/grafts",
    "objects/info/alternates",
)  # fmt: skip
_FILES_GIT_READS_WHOLE = (
    "HEAD", "commondir", "config", "config.worktree", "MERGE_HEAD", "tables.list",
)  # fmt: skip
_MAX_GIT_FILE_BYTES = 16_000_000  # of a file that git reads whole and writes small
_HEAD_IN_TABLES = "ref: refs/heads/.invalid"  # what the file HEAD says where refs are in tables
_REFS_IN_TABLES = {"CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert"}  # files elsewhere
_GIT_SECONDS = 2.0
_LOCKS_FOLDER = "cortex-locks"  # in a git folder that a group shares
_RULE_FILES = (".gitignore", ".gitattributes")
# What git leaves in its folder while an operation waits for its end.
_OPERATION_FILES = {
    "MERGE_HEAD": "merge", "rebase-merge": "rebase", "rebase-apply/applying": "am",
    "rebase-apply": "rebase", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect", "sequencer": "",
}  # fmt: skip
_COMMIT_ID_RE = lazy_re("[0-9a-f]{40}|[0-9a-f]{64}")
_INVALID_REF_RE = lazy_re(
    r"^[-+./]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|[./]$|^@$"
)


class Repository(NamedTuple):
    """Where a work tree and its git folders lie (absolute paths)."""

    top: str  # the work tree
    git_dir: str  # of this work tree: HEAD, index
    common_dir: str  # of all its work trees: config, refs, objects


def is_in_repository(directory: str) -> bool:
    """Whether a git repository's work tree is around `directory`."""
    return find_repository(directory) is not None


def branch_of(directory: str) -> str:
    """The branch that is checked out; empty outside a repository and on a detached HEAD."""
    repository = find_repository(directory)
    return head_branch(repository) if repository else ""


def head_branch(repository: Repository) -> str:
    """The branch that is checked out, even without a commit; empty on a detached HEAD."""
    head = read_head(repository)
    is_branch = head.startswith("ref: refs/heads/") and head != _HEAD_IN_TABLES
    return head.removeprefix("ref: refs/heads/") if is_branch else ""


def is_ref_name(name: str) -> bool:
    """Whether git takes this as the name of a branch or remote; it is no option and no expression,
    and names no file outside the refs."""
    return bool(name) and not _INVALID_REF_RE.search(name)


def read_head(repository: Repository) -> str:
    """What HEAD says: `ref: REF` or a commit's id; the file's own words where git cannot tell."""
    head = _read_head_file(repository.git_dir)
    if head != _HEAD_IN_TABLES:
        return head
    if ref := ask_git(repository.top, "symbolic-ref", "--quiet", "HEAD"):
        return f"ref: {ref}"
    return ask_git(repository.top, "rev-parse", "--verify", "--quiet", "HEAD") or head


def read_head_commit(directory: str) -> str:
    """The full id of the commit that HEAD names; empty where its ref is in no file of its own."""
    repository = find_repository(directory)
    if repository is None:
        return ""
    head = _read_head_file(repository.git_dir)
    ref = head.removeprefix("ref: ")
    if ref != head:
        path = os.path.join(repository.common_dir, ref)
        head = read_first_line(path) if is_ref_name(ref) else ""
    return head if _COMMIT_ID_RE.fullmatch(head) and head.strip("0") else ""


def uses_reftable(repository: Repository) -> bool:
    """Whether git keeps the refs and their logs in tables, which it alone reads."""
    return os.path.isdir(os.path.join(repository.common_dir, "reftable"))


def table_lists(repository: Repository) -> list[str]:
    """The files that change with any ref where git keeps them in tables: of this work tree, of all."""
    folders = dict.fromkeys((repository.git_dir, repository.common_dir))
    return [os.path.join(folder, "reftable", "tables.list") for folder in folders]


def ask_git(top: str, *words: str) -> str:
    """What git prints in a work tree, without blanks around it; empty when it fails. For what no
    file tells: most commands run no git."""
    # 6 ms, where refs are in tables alone.
    from cortex.vault.git import git_process  # noqa: PLC0415

    command = ["git", *git_process.HARDENING_FLAGS, *git_process.NO_HOOKS_FLAGS, *words]
    environment = git_process.hardened_environment()
    with suppress(CortexError, TimeoutError):
        code, output, _ = git_process.run_process(
            top, command, environment, b"", _GIT_SECONDS, renew=False
        )
        return "" if code else os.fsdecode(output).strip()
    return ""


def _read_head_file(folder: str) -> str:
    """The first line of HEAD in a git folder; also where HEAD is a link whose text is the ref
    (`core.preferSymlinkRefs`), which is not followed."""
    path = os.path.join(folder, "HEAD")
    if line := read_first_line(path):
        return line
    try:
        target = os.readlink(path)
    except OSError:
        return ""
    return f"ref: {target}" if target.startswith("refs/") else ""


def has_merge_drivers(directory: str) -> bool:
    """True if the repository's configuration and attributes name Cortex's merge drivers, or it says
    that somebody took them out. Cheap enough for every command; `drivers` reads it properly."""
    repository = find_repository(directory)
    config = os.path.join(repository.common_dir, "config") if repository else ""
    text = "\n".join(_read_lines(config))
    is_removed = "[cortex]" in text and "removed" in text
    if repository is None or is_removed or (not text and files.why_unreadable(config)):
        return True
    named = _read_lines(os.path.join(repository.common_dir, "info/attributes"))
    if not any(line.startswith(ATTRIBUTES_BLOCK) for line in named):
        return False
    programs = re.findall(_DRIVER_COMMAND_RE, text)
    return len(programs) >= 2 and all(os.path.exists(path) for pair in programs for path in pair)


def operation_in_progress(directory: str) -> str:
    """The git command that is under way, such as `merge`; empty when there is none."""
    repository = find_repository(directory)
    for name, command in _OPERATION_FILES.items() if repository else ():
        if repository and os.path.lexists(path := os.path.join(repository.git_dir, name)):
            # Several commits are picked or reverted, and git has stopped between two of them.
            is_revert = read_first_line(os.path.join(path, "todo")).startswith("revert")
            return command or ("revert" if is_revert else "cherry-pick")
    tables = _REFS_IN_TABLES if repository and uses_reftable(repository) else ()
    existing = (name for name in tables if ask_git(directory, "rev-parse", "--verify", "-q", name))
    return _REFS_IN_TABLES.get(next(existing, ""), "")


def project_of(directory: str) -> str:
    """The project's name: what the nearest `.cortex-project` says, else the remote's repository
    name, else the root folder's name with a short hash of its path. A linked worktree is the
    project of its main work tree. Never a bare home directory: then empty."""
    home = os.path.realpath(os.path.expanduser("~"))
    directory = os.path.realpath(directory)
    for parent in files.folder_and_parents(directory):
        if parent != home and (named := read_project_file(os.path.join(parent, PROJECT_FILE))):
            return named
    repository = find_repository(directory)
    main = main_work_tree(repository) if repository else ""
    if main and main != home and (named := read_project_file(os.path.join(main, PROJECT_FILE))):
        return named
    if repository and (remote := _remote_repository_name(repository.common_dir)):
        return slugify(remote, 64)
    root = repository.top if repository else directory
    root = main if main not in ("", home) else root
    if root in (home, os.path.dirname(root)):
        return ""
    return f"{slugify(os.path.basename(root), 48)}-{short_hash(root, 4)}"


def read_project_file(path: str) -> str:
    """The project's name in a `.cortex-project`; empty when there is none, or it is a secret."""
    named = read_first_line(path)[:_MAX_NAME_CHARS]
    if not named:
        return ""
    # The patterns cost 8 ms, and most folders have no such file.
    from cortex.core.redact.secrets import sanitize_text  # noqa: PLC0415

    return slugify(named, 64) if sanitize_text(named) == named else ""


def unreadable_project_files(directory: str) -> list[tuple[str, str]]:
    """The `.cortex-project` files around a folder that are not read, and why."""
    found = []
    for parent in files.folder_and_parents(os.path.realpath(directory)):
        path = os.path.join(parent, PROJECT_FILE)
        why = files.why_unreadable(path)
        if not why and read_first_line(path) and not read_project_file(path):
            why = "holds a secret, which is no name"
        if why:
            found.append((path, why))
    return found


def find_repository(directory: str) -> Repository | None:
    """The repository around `directory`; None outside one, and if `.git` is a link."""
    for parent in files.folder_and_parents(os.path.realpath(directory)):
        dot_git = os.path.join(parent, ".git")
        try:
            mode = os.lstat(dot_git).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            return Repository(parent, dot_git, dot_git)
        if stat.S_ISLNK(mode) and os.path.exists(dot_git):
            return None  # where git would follow it: no repository around it is meant either
        pointer = read_first_line(dot_git)
        if pointer.startswith("gitdir:"):  # a linked worktree or a submodule
            git = os.path.normpath(os.path.join(parent, pointer.removeprefix("gitdir:").strip()))
            common = read_first_line(os.path.join(git, "commondir"))
            common = os.path.normpath(os.path.join(git, common)) if common else git
            return Repository(parent, git, common)
    return None


def find_fault(directory: str) -> tuple[str, str]:
    """A path at which git would wait for ever or leave the repository, and what is wrong with it;
    else two empty texts. Looks only at files that git opens for nearly every command."""
    repository = find_repository(directory)
    if repository is None:
        parents = files.folder_and_parents(os.path.realpath(directory))
        entries = (os.path.join(parent, ".git") for parent in parents)
        path = next(filter(os.path.lexists, entries), "")
        is_followed = os.path.islink(path) and os.path.exists(path)
        return (path, "is a link; no link is followed to a repository") if is_followed else ("", "")
    top, own, common = repository
    ref = _read_head_file(own).removeprefix("ref:").strip()
    refs = ["packed-refs", *([ref] if ref.startswith("refs/") else [])]
    refs = [os.path.join(common, name) for name in refs]
    paths = {os.path.join(own, name) for name in _GIT_DIR_FILES}
    paths |= {os.path.join(common, name) for name in _COMMON_DIR_FILES}
    paths |= {os.path.join(folder, name) for name in _RULE_FILES for folder in (top, directory)}
    for path in sorted({*paths, *refs}):
        if path in refs and os.path.islink(path) and not os.readlink(path).startswith("refs/"):
            return path, "is a link, and git would read the file behind it as its own"
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            return path, "is no file, and git would wait for it for ever"
        is_read_whole = os.path.basename(path) in _FILES_GIT_READS_WHOLE or path in refs[1:]
        if is_read_whole and status.st_size > _MAX_GIT_FILE_BYTES:
            size = f"{_MAX_GIT_FILE_BYTES:,} bytes"
            return path, f"is larger than {size}, and git would read all of it"
    return "", ""


def main_work_tree(repository: Repository) -> str:
    """The root of the main work tree of a linked one; else empty, also for a submodule (its git
    folder is its own common one) and a worktree of a bare repository."""
    _, own, common = repository
    is_linked = common != own and os.path.basename(common) == ".git"
    return os.path.realpath(os.path.dirname(common)) if is_linked else ""


def has_remote(repository: Repository) -> bool:
    """Whether a repository names a remote."""
    return bool(_remote_repository_name(repository.common_dir))


def is_shared(vault: Vault) -> bool:
    """Whether others may read a vault: not the person's own, in a repository with a remote."""
    repository = None if is_own(vault) else find_repository(vault.root)
    return repository is not None and has_remote(repository)


def locks_folder(vault: Vault) -> str:
    """The folder of the locks that guard the vault's files: the private one; where a group shares
    the vault, one in the git folder, made when missing."""
    repository = find_repository(vault.root) if files.is_group_shared(vault.root) else None
    if repository is None or not files.is_group_shared(repository.common_dir):
        return vault.state_folder()
    return user_folders.ensure_shared_folder(os.path.join(repository.common_dir, _LOCKS_FOLDER))


def _remote_repository_name(common: str) -> str:
    """The repository's name in the URL of `origin`, or of the first remote."""
    urls: dict[str, str] = {}
    section = ""
    for line in _read_lines(os.path.join(common, "config")):
        if line.lstrip().startswith("["):
            kind, _, name = line.strip().partition(' "')
            section = name.removesuffix('"]') if kind == "[remote" and name.endswith('"]') else ""
        elif section:
            key, _, value = line.partition("=")
            if key.strip() == "url" and len(value.split()) == 1:
                urls.setdefault(section, value.strip())
    chosen: str = urls.get("origin") or next(iter(urls.values()), "")
    # Only the path: what stands before it may hold a password.
    scheme, found, rest = chosen.partition("://")
    with_scheme = found and scheme[:1].isalpha() and "/" not in scheme
    path = rest.partition("/")[2] if with_scheme else chosen.partition(":")[2] or chosen
    return path.rstrip("/").replace("\\", "/").rpartition("/")[2].removesuffix(".git")


def read_first_line(path: str) -> str:
    """The first line of a small file, without blanks around it; empty when it cannot be read."""
    lines = _read_lines(path)
    return lines[0].strip() if lines else ""


def _read_lines(path: str) -> list[str]:
    """The lines of a small file; none when it cannot be read."""
    return files.read_bounded(path, _MAX_BYTES).decode("utf-8", "replace").splitlines()
