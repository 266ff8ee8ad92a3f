"""Join files that have one id, by a rule that gives the same file on all clones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import is_cortex_note, preferred_path
from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError
from cortex.core.notes import note as notes
from cortex.index.catalogue import Catalogue
from cortex.index.refresh import query_index
from cortex.operations.share.resolve_conflicts import keep_left_out
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files
from cortex.vault.git import objects
from cortex.vault.git.merge_versions import merge_notes, same_text
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale

_MAX_IDS = 200  # ids in one pass; more are left to the next


def join_diverged_files(vault: Vault, caller: Caller) -> list[MergeResolution]:
    """Join files of one record or session of which each names an event that the other does not.

    It was begun on two clones, and moved on one of them. Copies that somebody made name the same
    events, and stay.
    """

    def pairs(catalogue: Catalogue) -> Iterator[tuple[str, ...]]:
        for rows in _files_by_duplicate_id(catalogue):
            for (path, events), (other, other_events) in itertools.combinations(rows, 2):
                if events - other_events and other_events - events:
                    yield path, other
                    break  # a third waits for the next pass

    found = query_index(vault, caller.progress, lambda index: list(pairs(index.catalogue)))
    return _join_all(vault, caller, found)


def join_duplicate_ids(vault: Vault, caller: Caller) -> list[MergeResolution]:
    """Join the files of every record or session whose id stands in more than one."""
    ids = query_index(vault, caller.progress, lambda index: _files_by_duplicate_id(index.catalogue))
    found = [tuple(path for path, _ in rows) for rows in ids]
    return _join_all(vault, caller, found)


def join_files(vault: Vault, caller: Caller, *paths: str) -> MergeResolution | None:
    """Make one file of several files of one record; what both changed is marked as a conflict.

    A topic gets the last text; another one that git does not have becomes an event. Returns None if
    the files are not of one record, or are a person's own notes, in which an id may mean anything.
    """
    with record_lock(vault):
        texts = {path: files.read(vault.root, path) for path in paths}
        ids = {notes.read_strict(data, path).get("id") for path, data in texts.items()}
        are_ours = all(is_cortex_note(path, data) for path, data in texts.items())
        if len(ids) != 1 or len(texts) < 2 or not are_ours:
            return None
        kept = preferred_path(ids.pop(), texts)
        others = sorted(path for path in texts if path != kept)
        data = texts[kept]
        for path in others:
            base = _merge_base_text(vault.root, (kept, data), (path, texts[path]))
            data, _ = merge_notes(base, data, texts[path])
        if notes.read(data, kept).problems:
            return None
        for path, text in texts.items():
            data = keep_left_out(vault, caller, path, text, data)
        mark_briefings_stale(vault)  # a run that ends here leaves briefings to heal
        if data != texts[kept]:
            files.replace(vault.root, kept, data, texts[kept])
        for path in others:
            if files.read(vault.root, path) != texts[path]:
                message = f"{path} was changed by somebody else just now"
                raise ConflictError(message, "run the command again")
            files.remove(vault.root, path)
    what = f"had the id of {', '.join(others)}; one file is kept, with the changes of both"
    return MergeResolution(kept, what)


def _join_all(vault: Vault, caller: Caller, groups: list[tuple[str, ...]]) -> list[MergeResolution]:
    done = []
    for paths in groups:
        try:
            joined = join_files(vault, caller, *paths)
        except (CortexError, OSError):
            continue  # one of them is changed just now, or unreadable; doctor names what stays
        if joined:
            done.append(joined)
    return done


def _files_by_duplicate_id(catalogue: Catalogue) -> list[list[tuple[str, set[str]]]]:
    """The files of each id that stands in more than one: path and the events that it names."""
    groups = itertools.islice(catalogue.duplicate_ids().values(), _MAX_IDS)
    return [[(row.path, set(row.events)) for row in rows] for rows in groups]


def _merge_base_text(root: str, *files_of: tuple[str, bytes]) -> bytes:
    """The base for a merge of two files of one note, given as path and text: the newest text in
    git's history that both have had since they were added last; empty if there is none: then all
    lines of both stay. Where a file has the text again that its path had before that one, as after
    a pick of an old commit, it is the base, so that what was added since stays."""
    changes = [objects.list_blob_changes(root, path) for path, _ in files_of]
    seen, others = map(_blobs_since_added, changes)
    blob = next((blob for blob in seen if blob in others), "")
    if not blob:
        return b""
    older = set[str]()
    for steps in changes:
        blobs = [new for _, new in steps]
        older |= {*blobs[blobs.index(blob) :]}
    texts = objects.read_blobs(root, older - {"", blob})
    came_back = (
        data for _, data in files_of if any(same_text(data, old) for old in texts.values())
    )
    return next(came_back, objects.read_blobs(root, [blob]).get(blob, b""))


def _blobs_since_added(steps: Sequence[tuple[str, str]]) -> list[str]:
    """The blobs that a path has had, the newest first, back to the commit that added it last."""
    found = []
    for old, new in steps:
        found += [new] if new else []
        if not old:
            break
    return found
