"""Join files that have one id, by a rule that gives the same file on all clones."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence

from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import is_cortex_note, preferred_path
from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError
from cortex.core.notes import note as notes
from cortex.index.catalogue import Catalogue
from cortex.index.queries import duplicate_ids
from cortex.index.refresh import query_index
from cortex.operations.records.preserve_text import preserve_text
from cortex.operations.records.record_lock import record_lock
from cortex.operations.share.resolve_conflicts import merge_notes, same_text
from cortex.vault import files
from cortex.vault.git import objects
from cortex.vault.git.change_marker import mark_briefings_stale
from cortex.vault.locate import Vault

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

    found = query_index(vault, caller.progress, lambda now: list(pairs(now.catalogue)))
    return _join_all(vault, caller, found)


def join_duplicate_ids(vault: Vault, caller: Caller) -> list[MergeResolution]:
    """Join the files of every record or session whose id stands in more than one."""
    ids = query_index(vault, caller.progress, lambda now: _files_by_duplicate_id(now.catalogue))
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


def keep_left_out(vault: Vault, caller: Caller, path: str, text: bytes, merged: bytes) -> bytes:
    """What was merged of the note `text` at `path` and another one. Where lines of it are left out,
    as of a topic that was saved later, and no commit has them, they become an event, which the
    result names. Inside `record_lock`."""
    note = notes.read(text, path)
    is_said = set(note.body.splitlines()) <= set(merged.splitlines())
    if is_said or same_text(text, objects.read_at_revision(vault.root, "HEAD", path)):
        return merged
    named, _ = preserve_text(vault, caller, note)
    return merge_notes(text, merged, notes.write(named))[0]


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
    groups = itertools.islice(duplicate_ids(catalogue).values(), _MAX_IDS)
    return [[(row.path, set(row.events)) for row in rows] for rows in groups]


def _merge_base_text(root: str, *files_of: tuple[str, bytes]) -> bytes:
    """The base for a merge of two files of one note, given as path and text; empty if there is
    none.

    It is the latest text in git's history of both paths which has no line of `_lines_to_keep`, and
    from which both files came, or else, where they came from none, which both paths had. If one
    file still has that text and the other has an older one from which it was made, as after a pick
    of an old commit, the base is the older text, so that later changes stay.
    """
    paths = [path for path, _ in files_of]
    changes = [objects.list_blob_changes(root, path) for path in paths]
    made_of: dict[str, set[str]] = {}
    for old, new in itertools.chain(*changes):
        if old and new:
            made_of.setdefault(new, set()).add(old)
    seen = [[new for _, new in steps if new] for steps in changes]
    shared = _shared_blobs(root, paths, seen, made_of)
    common = shared or [blob for blob in seen[0] if blob in seen[1]]
    texts, keep = objects.read_blobs(root, common), _lines_to_keep(root, files_of)
    blob = next((blob for blob in common if not _lines(texts.get(blob, b"")) & keep), "")
    if not blob:
        return b""
    older = [
        each
        for each in _ancestor_blobs(made_of, blob)
        if blob not in _ancestor_blobs(made_of, each)
    ]
    if not shared:
        older += [each for steps in changes for each in _came_back_blobs(steps, blob)]
    texts = objects.read_blobs(root, [blob, *older])
    now = [data for _, data in files_of]
    if not any(same_text(data, texts.get(blob)) for data in now):
        return texts.get(blob, b"")
    came_back = (data for data in now if any(same_text(data, texts.get(each)) for each in older))
    return next(came_back, texts[blob])


def _came_back_blobs(steps: Sequence[tuple[str, str]], blob: str) -> Iterator[str]:
    """The blobs that a path had before `blob`, and got again as a new file after it was gone from
    there. `steps`: the blobs before and after each change of the path, the newest first."""
    blobs = [new for _, new in steps]
    at = blobs.index(blob) if blob in blobs else 0
    for old, new in steps[:at]:
        if new and not old and new in blobs[at:]:
            yield new


def _shared_blobs(
    root: str, paths: Sequence[str], seen: Sequence[list[str]], made_of: Mapping[str, set[str]]
) -> list[str]:
    """The blobs that the committed blobs of all paths came from, or are, the latest first: each
    stands before those that it came from.

    `seen`: the blobs that each path had, the newest first.
    """
    prefix = os.fsdecode(objects.prefix(root))
    names = [prefix + path for path in paths]
    committed = objects.list_files(root, "HEAD", names) if all(seen) else {}
    if len(committed) < len(paths):
        return []
    families = ({blob, *_ancestor_blobs(made_of, blob)} for blob in committed.values())
    shared = set.intersection(*families)
    older = {blob: _ancestor_blobs(made_of, blob) for blob in shared}
    later = {
        blob: sum(blob in older[each] and each not in older[blob] for each in shared)
        for blob in shared
    }
    by_time = (blob for blob in dict.fromkeys(itertools.chain(*seen)) if blob in shared)
    return sorted(by_time, key=later.__getitem__)


def _lines_to_keep(root: str, files_of: Sequence[tuple[str, bytes]]) -> set[bytes]:
    """The lines that only one of two files of a note has, and that nobody took out of either:
    neither an uncommitted edit did, nor a commit other than a merge.

    Where one clone moved a note, an older version came back in its place, and another clone went on
    with the file, git takes out of that what the older version has not, and the moved file has.
    """
    texts: list[tuple[bytes, bytes]] = []
    for path, data in files_of:
        steps = objects.list_blob_changes(root, path, merges=False)
        blobs = objects.read_blobs(root, itertools.chain(*steps))
        texts += [(blobs[old], blobs[new]) for old, new in steps if old in blobs and new in blobs]
        texts.append((objects.read_at_revision(root, "HEAD", path) or b"", data))
    (_, one), (_, other) = files_of
    taken_out = set[bytes]().union(*(_lines(old) - _lines(new) for old, new in texts))
    return (_lines(one) ^ _lines(other)) - taken_out


def _lines(data: bytes) -> set[bytes]:
    return set(data.replace(b"\r\n", b"\n").split(b"\n"))


def _ancestor_blobs(made_of: Mapping[str, set[str]], blob: str) -> set[str]:
    """All blobs that a blob came from by changes of a file; `made_of`: blob -> direct ancestors."""
    found: set[str] = set()
    todo = [blob]
    while todo:
        new = made_of.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found
