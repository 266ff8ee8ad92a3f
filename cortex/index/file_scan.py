"""What lies in a vault right now, by a stat of every note: the truth that catalogue and index are brought up to."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress

from cortex.core.model.problem import Problem
from cortex.core.text.value import NamedTuple
from cortex.vault.files import TEMP_SUFFIX
from cortex.vault.git import checkout

# A file that changed this short before the scan may change once more within the same tick of its file system's clock, and
# keep its stamp. Linux ticks every 4 to 10 ms; file systems that count in whole seconds show it by their stamps.
_TICK_NS, _COARSE_TICK_NS = 50_000_000, 2_000_000_000
_STRAY_SUFFIXES = (".toc", ".seg", TEMP_SUFFIX)  # files of a search index, and half-written ones


class Snapshot(NamedTuple):
    """The notes of a vault with the stamp of each (mtime, ctime, size, inode), and what was passed over."""

    stamps: dict[str, str]
    racy: frozenset[
        str
    ]  # notes whose stamp cannot be trusted yet: they are read again at the next look
    rule_stamps: (
        str  # stamps of every file that says what git ignores; when they change, git is asked again
    )
    problems: tuple[Problem, ...]
    stray_index_files: tuple[str, ...]  # files of a search index inside the vault
    temp_files: tuple[str, ...]  # half-written files of a process that was killed


class ScanFilter(NamedTuple):
    """What a scan leaves out."""

    ignored: frozenset[str]  # as git names it: folders end with a slash
    exclude: re.Pattern[str] | None


def make_scan_filter(ignored: Iterable[str], exclude: Collection[str]) -> ScanFilter:
    if not exclude:
        return ScanFilter(frozenset(ignored), None)
    import fnmatch  # noqa: PLC0415  half a millisecond, and most vaults exclude nothing

    patterns = [
        fnmatch.translate(one)
        for pattern in exclude
        for one in (pattern, f"{pattern.rstrip('/')}/*")
    ]
    return ScanFilter(frozenset(ignored), re.compile("|".join(patterns)))


def scan_vault(root: str, skip: ScanFilter, now_ns: int) -> Snapshot:
    """Scan the vault. Dot-folders, links, and what `skip` names are passed over; a link or a special file that is
    named like a note becomes a problem. Reads no file."""
    stamps: dict[str, str] = {}
    racy: list[str] = []
    rules: list[str] = _outer_rule_stamps(root)
    problems: list[Problem] = []
    planted: list[str] = []
    leftovers: list[str] = []
    folders = [""]
    ignored, exclude, lately_ns = skip.ignored, skip.exclude, now_ns - _COARSE_TICK_NS
    while folders:
        folder = folders.pop()
        try:
            # From an open folder a stat costs a sixth less than by its whole path.
            at = os.open(os.path.join(root, folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            if not folder:
                raise
            problems.append(
                Problem(folder, f"cannot be read: {error.strerror}", "check its permissions")
            )
            continue
        with _closing_fd(at), os.scandir(at) as entries:
            for entry in entries:
                name = entry.name
                path = folder + name
                if entry.is_dir(follow_symlinks=False):
                    if (
                        name[0] != "."
                        and f"{path}/" not in skip.ignored
                        and not _is_excluded(f"{path}/", skip)
                    ):
                        folders.append(f"{path}/")
                    continue
                if name[0] != "." and entry.is_symlink() and entry.is_dir():
                    problems.append(
                        Problem(
                            path,
                            "is a link to a folder, which is not followed",
                            "put a copy of the folder in its place",
                        )
                    )
                    continue
                if name[-3:].lower() != ".md":
                    if name == ".gitignore":
                        rules.append(f"{path} {_format_stamp(entry.stat(follow_symlinks=False))}")
                    elif name.endswith(_STRAY_SUFFIXES):
                        (leftovers if name.endswith(TEMP_SUFFIX) else planted).append(path)
                    continue
                if (
                    name[0] == "."
                    or path in ignored
                    or (exclude is not None and exclude.match(path))
                ):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # deleted since the folder was listed
                if not stat.S_ISREG(status.st_mode):
                    kind = (
                        "a link, which is not followed" if entry.is_symlink() else "no regular file"
                    )
                    problems.append(
                        Problem(path, f"is {kind}", "put a copy of the file in its place")
                    )
                    continue
                changed_ns = status.st_ctime_ns
                stamps[path] = (
                    f"{status.st_mtime_ns}.{changed_ns}.{status.st_size}.{status.st_ino}"  # `_format_stamp`; a call takes as long again
                )
                if changed_ns > lately_ns and _is_racy(changed_ns, now_ns):
                    racy.append(path)
    return Snapshot(
        stamps,
        frozenset(racy),
        "\n".join(sorted(rules)),
        tuple(problems),
        tuple(planted),
        tuple(leftovers),
    )


@contextmanager
def _closing_fd(fd: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(fd)


def _is_racy(changed_ns: int, now_ns: int) -> bool:
    return now_ns - changed_ns < (_TICK_NS if changed_ns % 1_000_000_000 else _COARSE_TICK_NS)


def _format_stamp(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}"


def _is_excluded(path: str, skip: ScanFilter) -> bool:
    return skip.exclude is not None and skip.exclude.match(path) is not None


def _outer_rule_stamps(root: str) -> list[str]:
    """The stamps of what decides, outside the vault, whether git ignores a note: the rules of the repository around it,
    the user's own, and the index, since git ignores no note that it tracks."""
    around = checkout.find_repository(root)
    if around is None:
        return []
    top, git, common = around
    config = os.environ.get("XDG_CONFIG_HOME", "") or os.path.join(
        os.path.expanduser("~"), ".config"
    )
    paths = [
        os.path.join(git, "index"),
        os.path.join(common, "info", "exclude"),
        os.path.join(config, "git", "ignore"),
    ]
    directory = root
    while directory != top and directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
        paths.append(os.path.join(directory, ".gitignore"))
    rules = []
    for path in paths:
        with suppress(OSError):  # no such rules; should they appear, the list of rules changes
            rules.append(f"{path} {_format_stamp(os.lstat(path))}")
    return rules
