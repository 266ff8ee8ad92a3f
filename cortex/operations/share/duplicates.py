"""Join files that have one id, by a rule that gives the same file on all clones; find copies that
have none."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from contextlib import suppress

from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import is_cortex_note, preferred_path, split_copy_name
from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError, Problem
from cortex.core.notes import note as notes
from cortex.core.text.strings import shell_quote
from cortex.index.catalogue import Catalogue
from cortex.index.refresh import query_index
from cortex.operations.share.resolve_conflicts import keep_left_out
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files
from cortex.vault.git.merge_versions import merge_notes
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale

_MAX_IDS = 200  # ids in one pass; more are left to the next


def join_files(vault: Vault, caller: Caller, *, copies: bool = False) -> list[MergeResolution]:
    """Join files of one record or session of which each names an event that the other does not: it was
    begun on two clones, and moved on one of them. With `copies` also those that name the same
    events, as copies do that somebody made."""
    done = []
    for rows in query_index(vault, caller.progress, lambda index: _files_by_id(index.catalogue)):
        apart = (
            (one, other)
            for (one, events), (other, others) in itertools.combinations(rows, 2)
            if events - others and others - events
        )
        # Of those that differ a third waits for the next pass.
        paths = [path for path, _ in rows] if copies else next(apart, ())
        # One of them may be changed just now, or unreadable; doctor names what stays.
        with suppress(CortexError, OSError):
            joined = _join(vault, caller, *paths) if paths else None
            done += [joined] if joined else []
    return done


def _join(vault: Vault, caller: Caller, *paths: str) -> MergeResolution | None:
    """Make one file of several files of one record; lines that stand in either stay.

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
            data, _ = merge_notes(b"", data, texts[path])
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


def _files_by_id(catalogue: Catalogue) -> list[list[tuple[str, set[str]]]]:
    """The files of each id that stands in more than one: path and the events that it names."""
    groups = itertools.islice(catalogue.duplicate_ids().values(), _MAX_IDS)
    return [[(row.path, set(row.events)) for row in rows] for rows in groups]


def find_copies(root: str, paths: Collection[str]) -> Iterator[Problem]:
    """The copies that clouds made of notes beside them which two devices changed, unless both have
    one id. A name such as `note 2` means one only if the first three lines are the same."""
    for path in sorted(paths):
        stem, is_certain = split_copy_name(path[:-3])
        if not stem or (original := stem + path[-3:]) not in paths:
            continue
        with suppress(CortexError, OSError):  # what cannot be read is told by itself
            one, other = (notes.read(files.read(root, name)) for name in (path, original))
            head, other_head = (note.text.strip().splitlines()[:3] for note in (one, other))
            has_one_id = one.get("id") == other.get("id") != ""
            if not has_one_id and (is_certain or head == other_head != []):
                hint = f"diff {shell_quote(path)} {shell_quote(original)}, then keep one of the two"
                yield Problem(path, f"is a conflict copy of {original}, as clouds make them", hint)
