"""Bring catalogue and full-text index up to date with the notes, then let callers query them.

Both are in the user's cache, sealed by `state.json`, which has the stamp of each of their files.
Any other stamp means an outside change or a crash, and they are rebuilt. No daemon is needed: every
query first scans the stamps of the notes for changes.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar, TypeVarTuple

from cortex.core.model.caller import ProgressCallback
from cortex.core.model.problem import ConflictError, CortexError, Problem, reason_of
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, IndexDamaged
from cortex.index.file_scan import Entering, Snapshot, outer_rule_stamps, scan_vault
from cortex.index.state_file import (
    INDEX_FOLDER,
    KnownScan,
    encode_stamps,
    load_valid_state,
    open_catalogue,
    read_stamps,
    state_path,
)
from cortex.vault import user_folders
from cortex.vault.foreign_settings import template_folders
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from cortex.vault.state.briefing_cache import file_stamp
from cortex.vault.state.change_marker import mark_briefings_stale

_MAX_CORES = 4  # that a build takes unasked
_LOCK_TIMEOUT_SECONDS = 600.0  # seconds; another process may be building the index of a large vault


class IndexSession(NamedTuple):
    """Catalogue and index as of now. Valid inside the `with` of `open_index`, under its lock."""

    catalogue: Catalogue
    fulltext_folder: str  # of the full-text index, which may be behind if `words` was not given
    snapshot: Snapshot
    outcome: str  # how they were found: current, updated, built
    setup_problems: tuple[Problem, ...]  # of the settings and of git

    @property
    def problems(self) -> list[Problem]:
        """All known problems."""
        return [*self.setup_problems, *self.snapshot.problems, *self.catalogue.problems()]


_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")
if TYPE_CHECKING:
    # A scan of the notes; returns None if they are no longer as they were at the last refresh.
    NoteScan: TypeAlias = Callable[[Entering | None], Snapshot | None]
    # A memory of scans: returns the last one of a vault (its root) if the key, which holds what else a
    # scan depends on, is the same and nothing has changed since; otherwise it scans.
    ScanCache: TypeAlias = Callable[[str, Hashable, NoteScan], Snapshot | None]
_scan_cache: ScanCache | None = None


def query_index(
    vault: Vault,
    progress: ProgressCallback,
    query: Callable[[IndexSession, *_Ts], _T],
    *args: *_Ts,
    words: bool = False,
    skip_folder: str = "",
) -> _T:
    """Return what `query` returns for the up-to-date catalogue and `args`, with `words` for the
    full-text index too. If either is damaged, they are rebuilt and `query` is called once more. The
    folder `skip_folder` is left out; the next call brings it up to date."""
    try:
        with open_index(vault, progress, words=words, skip_folder=skip_folder) as index:
            return query(index, *args)
    except IndexDamaged:
        try:
            with open_index(vault, progress, rebuild=True) as index:
                return query(index, *args)
        except IndexDamaged as error:
            message = f"the search index cannot be read, even after a rebuild: {error}"
            raise CortexError(message, "cortex doctor") from error


@contextmanager
def open_index(
    vault: Vault,
    progress: ProgressCallback,
    *,
    rebuild: bool = False,
    words: bool = True,
    skip_folder: str = "",
    cores: int = 0,
) -> Iterator[IndexSession]:
    """Open catalogue and index, brought up to date. Several processes may read at once; one at a
    time updates. Without `words` the full-text index may stay behind until somebody needs it."""
    folder = vault.cache_folder()
    index_folder = os.path.join(folder, INDEX_FOLDER)
    away = _cache_problems(vault, folder)
    lock_file = os.path.join(folder, "index.lock")
    known: KnownScan | None = None
    if not rebuild:
        with lock(lock_file, "search index", shared=True, wait=_LOCK_TIMEOUT_SECONDS):
            known = _scan_by_state(vault, folder, skip_folder)
            if known and known.is_current:
                with open_catalogue(folder) as catalogue:
                    if not (words and any(catalogue.read_backlog())):
                        noted = (*away, *known.state.noted)
                        yield IndexSession(catalogue, index_folder, known.seen, "current", noted)
                        return
    with lock(lock_file, "search index", wait=_LOCK_TIMEOUT_SECONDS):
        # 40 ms of imports, YAML above all; most refreshes find nothing changed.
        from cortex.index.reindex import Reindexing  # noqa: PLC0415

        reindexing = partial(Reindexing, vault.root, folder, progress)
        work = reindexing(cores or _default_cores())
        try:
            try:
                found, seen, noted = work.run(known, rebuild=rebuild, words=words)
            except IndexDamaged:  # once more from nothing, in this process alone
                found, seen, noted = reindexing(1).run(None, rebuild=True, words=words)
        except (IndexDamaged, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            message = f"the search index cannot be written: {reason_of(error)}"
            raise CortexError(message, f"make room in {folder}") from error
        if work.has_edited_minutes:  # the next command reads them again as it heals
            mark_briefings_stale(vault)
        with open_catalogue(folder) as catalogue:
            yield IndexSession(catalogue, index_folder, seen, found, (*away, *noted))


def _cache_problems(vault: Vault, folder: str) -> tuple[Problem, ...]:
    """The problem of a vault whose cache is another folder than the user's."""
    if folder == user_folders.vault_folder_path("cache", vault.root):
        return ()
    where = f"the index is in {folder}"
    return (user_folders.closed_folder_problem("cache", vault.root, where),)


def _scan_by_state(vault: Vault, folder: str, skip_folder: str) -> KnownScan | None:
    """Scan by the settings of the last refresh; None if they, or what is in the cache, changed."""
    state = load_valid_state(folder)
    if state is None or state.settings != file_stamp(os.path.join(vault.root, "cortex.toml")):
        return None
    if any(one.message.startswith("timezone ") for one in state.noted):
        return None  # by now this machine may know it

    scanned: Snapshot | None = None

    def scan(entering: Entering | None) -> Snapshot | None:
        nonlocal scanned
        literal = re.sub(r"([*?[])", r"[\1]", skip_folder)
        exclude = (*state.exclude, literal) if skip_folder else state.exclude
        seen = scanned = scan_vault(vault.root, exclude, state.ignored, entering)
        if seen.rule_stamps != state.rules or encode_stamps(seen) != read_stamps(folder):
            return None
        return seen

    cache = _scan_cache  # another thread may end its use meanwhile
    if cache is None or skip_folder:
        seen = scan(None)
    else:
        # What a scan depends on beside the folders that it lists.
        outside = (*outer_rule_stamps(vault.root), *template_folders(vault.root))
        seen = cache(vault.root, (file_stamp(state_path(vault)), outside), scan)
    last = seen or scanned
    return KnownScan(state, last, seen is not None) if last else None


def use_scan_cache(cache: ScanCache | None) -> None:
    """Take the scans of this process from `cache` from now on; with None scan at every query."""
    global _scan_cache  # noqa: PLW0603  the watcher is one process with one memory
    _scan_cache = cache


@contextmanager
def last_index(vault: Vault, wait: float) -> Iterator[tuple[Catalogue, str] | None]:
    """Catalogue and full-text folder as of the last refresh, under its shared lock. None when
    they must be refreshed, or somebody holds the lock for `wait` seconds. Raises `IndexDamaged`
    inside when they cannot be read."""
    folder = vault.cache_folder()
    with ExitStack() as stack:
        try:
            path = os.path.join(folder, "index.lock")
            stack.enter_context(lock(path, "search index", shared=True, wait=wait))
        except ConflictError:
            yield None
            return
        if load_valid_state(folder) is None:
            yield None
            return
        with open_catalogue(folder) as catalogue:
            yield catalogue, os.path.join(folder, INDEX_FOLDER)


def _default_cores() -> int:
    """How many processes a build may use: one where there are other threads, as in the watcher.
    A process started there that dies at once would be waited for without end."""
    threading = sys.modules.get("threading")
    alone = threading is None or threading.active_count() == 1
    return min(os.cpu_count() or 1, _MAX_CORES) if alone else 1
