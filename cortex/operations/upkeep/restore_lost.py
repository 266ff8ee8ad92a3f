"""Bring back what a merge elsewhere has lost or mixed of events, records and sessions, and take out
again what it has brought back of what was erased.

A clone that reads the vault's attributes stops where git takes one note for another. A hosting site
that merges may read none. What it does beyond these two rules git's history has, and `doctor` names
a record whose id is in the history and nowhere now.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator

from cortex.core.merge.merge_plan import MergeResolution, second_text_path
from cortex.core.merge.note_versions import LostNote, MergeSides, Tree, find_lost, note_id, stem_of
from cortex.core.model.caller import Caller
from cortex.core.model.layout import is_among_briefings, is_event_path
from cortex.core.model.note_status import decode_text
from cortex.core.model.problem import CortexError, Problem, reason_of
from cortex.core.notes import note as notes
from cortex.core.notes.erasure import hash_of_id
from cortex.core.redact.secrets import redact
from cortex.core.text.strings import short_hash
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.vault import erased, files, private, settings
from cortex.vault.erased import ErasedList
from cortex.vault.git import checkout, git_cli, merge_versions, merging, objects
from cortex.vault.git.changes import is_outside_own_folders
from cortex.vault.git.merge_versions import BlobTriple, merge_notes, same_text
from cortex.vault.git.merging import MergeRevisions
from cortex.vault.layout import layout_of
from cortex.vault.locate import Vault

_STATE_FILE = "merges-checked"  # in the state folder: the commit up to which all were looked at
_MAX_MERGES, _MAX_MERGES_AT_FIRST = 500, 20
_TIMEOUT_SECONDS = 30.0  # for a look through the history
_EVENT_BACK = "an event never changes; its own text is back ([events] erased in cortex.toml names those that go)"
_GONE_AGAIN = "was erased, and a merge had brought it back; it is gone again"
_NOTE_BACK = "a merge had left it out; it is back"
_TEXT_BACK = "a merge had mixed it with another note; its own text is back"


def restore_lost(vault: Vault, caller: Caller) -> tuple[list[MergeResolution], list[Problem]]:
    """Bring back in the work tree what commits since the last call have lost. Returns what was done,
    and what a person has to look at.

    Events never change: a commit that edits or deletes one is undone. A record or session that a
    merge of two commits has left out, or mixed with another, although one side had changed or added
    it, is written again. Does nothing while git is in the middle of an operation.
    """
    root = vault.root
    if checkout.find_repository(root) is None or checkout.operation_in_progress(root):
        return [], []
    head, last = git_cli.head_commit(root), _last_checked(vault)
    if head in ("", last):
        return [], []
    # A clone that was made anew in its place has not got it.
    last = git_cli.find_commit(root, last) if last else ""
    new = [head, *([f"^{last}"] if last else [])]
    listed = erased.read_list(root)
    resolved = _keep_erased(root, listed)
    resolved += _restore_events(root, new, listed.events)
    problems: list[Problem] = []
    for commits, merge in _list_merges(root, new, _MAX_MERGES if last else _MAX_MERGES_AT_FIRST):
        for lost in find_lost(*_read_merge(root, commits, merge)):
            blob = erased.blob_id(lost.data, len(head))
            if hash_of_id(lost.id) in listed.records or blob in listed.blobs:
                continue
            done, problem = _restore_note(vault, caller, lost, commits, merge)
            resolved += [done] if done else []
            problems += [problem] if problem else []
    # What is thrown away before it is committed is brought back once more.
    checked = (last if resolved else head).encode()
    private.replace(os.path.join(vault.state_folder(), _STATE_FILE), checked + b" \n")
    return resolved, problems


def try_restore_lost(vault: Vault, caller: Caller) -> list[Problem]:
    """`restore_lost` as a part of another verb; problems instead of errors, and the next call tries
    again."""
    try:
        settings.check_writable(vault.root)
        back, left = restore_lost(vault, caller)
    except (CortexError, OSError) as error:
        message = f"what a merge has lost was not brought back: {reason_of(error)}"
        return [Problem(".git", message, "cortex heal")]
    hint = "cortex sync shares it, or git add and commit it"
    return [*(Problem(one.path, one.what, hint) for one in back), *left]


def find_missing_records(root: str, ids: set[str]) -> list[Problem]:
    """The records that commits have added, none but a merge has deleted, and that are nowhere now,
    for doctor. `ids`: those of all notes."""
    if not git_cli.has_commit(root):
        return []
    added, deleted = (
        committed_changes(root, "records/", f"--diff-filter={kind}", "HEAD") for kind in "AD"
    )
    gone = {
        path: blob
        for path, blob in added.items()
        if path not in deleted and not files.exists(root, path)
    }
    texts = objects.read_blobs(root, gone.values())
    listed = erased.read_list(root)
    gone = {path: blob for path, blob in gone.items() if blob not in listed.blobs}
    missing = {note_id(texts.get(blob, b"")): path for path, blob in gone.items()}
    message = "is in git's history and nowhere now: a merge may have dropped it"
    return [
        Problem(path, message, f"cortex restore {id_}")
        for id_, path in sorted(missing.items())
        if id_ and id_ not in ids and hash_of_id(id_) not in listed.records
    ]


def committed_changes(root: str, folder: str, *words: str) -> dict[str, str]:
    """What the commits of a log have changed below a folder of Cortex's: vault path -> blob."""
    if not git_cli.has_commit(root):
        return {}
    folders = sorted({folder, layout_of(root).path(folder)})
    words = ("log", "--format=", *objects.RAW, "--no-renames", *words, "--", *folders)
    log = git_cli.run(root, words, timeout=_TIMEOUT_SECONDS)
    below = objects.prefix(root)
    return {
        os.fsdecode(one.path.removeprefix(below)): one.new_blob for one in objects.list_raw(log)
    }


def existing_paths(vault: Vault, caller: Caller, id_: str) -> list[str]:
    """The files in which a record or session of an id lies by now."""
    wanted = NoteFilter(ids=(id_,))
    rows = query_index(vault, caller.progress, lambda index: index.catalogue.find(wanted, "path"))
    paths = (row.path for row in rows if not is_event_path(row.path))
    return [path for path in paths if files.exists(vault.root, path)]


def _keep_erased(root: str, listed: ErasedList) -> list[MergeResolution]:
    """Take out of the work tree what the list names and the last commit has again."""
    below, back = objects.prefix(root), dict[str, str]()  # path -> the blob that belongs there
    for one in objects.list_index(root) if any(listed[:3]) else ():
        path = os.fsdecode(one.path.removeprefix(below))
        name, is_event = stem_of(path), is_event_path(path)
        wanted = listed.blobs.get(one.blob, one.blob)  # empty: no file belongs there
        wanted = (is_event and listed.events.get(name)) or wanted
        is_gone = not is_event and hash_of_id(name) in listed.records
        if not is_gone and wanted == one.blob:
            continue
        if one.path.startswith(below) and files.exists(root, path):
            here = erased.blob_id(files.read(root, path), len(one.blob))
            if is_gone or here == one.blob or (is_event and here != wanted):  # else it was mended
                back[path] = "" if is_gone else wanted
    texts = objects.read_blobs(root, back.values())
    done = [path for path, wanted in sorted(back.items()) if not wanted or wanted in texts]
    for path in done:
        if back[path]:
            files.replace(root, path, texts[back[path]], files.read(root, path))
        else:
            files.remove(root, path)
    return [MergeResolution(path, _GONE_AGAIN) for path in done]


def _restore_events(root: str, new: list[str], listed: Container[str]) -> Iterator[MergeResolution]:
    layout = layout_of(root)
    if settings.load(root).erased is None:  # what was erased must not come back
        return
    changed = committed_changes(root, "events/", "-m", "--diff-filter=MD", *new)
    # One that is gone from here and lies in its place was moved.
    paths = [
        path
        for path in sorted(filter(is_event_path, changed))
        if stem_of(path) not in listed
        and (files.exists(root, path) or not files.exists(root, layout.event(stem_of(path))))
    ]
    for path, texts in objects.added_texts(root, paths).items():
        if redact(decode_text(texts[0]))[1]:  # what held a secret was edited on purpose
            continue
        id_, place = stem_of(path), layout.event(stem_of(path))
        here = path if files.exists(root, path) else ""
        current = files.read(root, here) if here else None
        # With a second text its id was captured twice, and this is the other text's file.
        is_second = files.exists(root, second_text_path(path, texts[0]))
        if is_second or any(same_text(current, text) for text in texts):
            continue
        in_inbox = any(files.exists(root, each(id_)) for each in (layout.pending, layout.failed))
        if current is not None:
            files.replace(root, here, texts[0], current)
        elif note_id(texts[0]) == id_ and not in_inbox:
            files.create(root, place, texts[0])
        else:
            continue
        yield MergeResolution(here or place, _EVENT_BACK)


def _list_merges(root: str, new: list[str], most: int) -> Iterator[tuple[MergeRevisions, str]]:
    """The merges of two commits: these with their common ancestors, and the merge; oldest first."""
    flags = ["--merges", "--topo-order", "--reverse", "--parents", f"--max-count={most}"]
    listed = git_cli.run(root, ["rev-list", *flags, *new, "--"], timeout=_TIMEOUT_SECONDS)
    for line in listed.decode("ascii").splitlines():
        merge, *parents = line.split()
        if len(parents) == 2:
            yield merging.revisions_between(root, *parents), merge


def _read_merge(root: str, commits: MergeRevisions, merge: str) -> tuple[MergeSides, Tree]:
    """The notes that differ anywhere in a merge, and what it made of them; nothing where it took
    each note as one side alone gives it, or one side whole."""
    rows = merge_versions.blobs_by_path(root, commits)
    made = [merge_versions.changed_blobs(root, side, merge) for side in commits[1:]]
    result = {path: made[0][path][1] if path in made[0] else row[1] for path, row in rows.items()}
    result |= {path: new for changed in made for path, (_, new) in changed.items()}
    # As `git merge -s ours` makes it. What ours has deleted may be git's doing, who saw a rename.
    is_ours = not made[0] and any(
        theirs not in (ours, base) and (ours or not base) for base, ours, theirs in rows.values()
    )
    if is_ours or not any(_is_suspicious(path, rows[path], result[path]) for path in rows):
        return MergeSides({}, {}, {}), {}
    blobs = {blob for row in (*rows.values(), tuple(result.values())) for blob in row if blob}
    texts = objects.read_blobs(root, blobs)
    tree = {path: texts[blob] for path, blob in result.items() if blob and blob in texts}
    return merge_versions.build_sides(rows, texts), tree


def _is_suspicious(path: str, row: BlobTriple, result: str | None) -> bool:
    base, ours, theirs = row
    if not path.endswith(".md") or is_event_path(path) or is_among_briefings(path):
        return False
    return result != (theirs if ours == base else ours) if base in (ours, theirs) else not result


def _restore_note(
    vault: Vault, caller: Caller, lost: LostNote, commits: MergeRevisions, merge: str
) -> tuple[MergeResolution | None, Problem | None]:
    """Restore a note that a merge lost or mixed, unless the work tree has it right by now. Returns what was
    restored, or a problem that a person must settle; (None, None) if nothing is to be done."""
    root, there = vault.root, existing_paths(vault, caller, lost.id)
    if lost.merged is None:
        if there or not _was_never_asked(root, lost, commits, merge):
            return None, None
        path = lost.path
        if files.exists(root, path) or is_outside_own_folders(root, path):
            path = layout_of(root).record(notes.read(lost.data).get("type") or "note", lost.id)
        if files.exists(root, path):  # another note has its name
            path = f"{path.removesuffix('.md')}-{short_hash(lost.id)}.md"
        files.create(root, path, lost.data)
        return MergeResolution(path, _NOTE_BACK), None
    if len(there) != 1:
        return None, None
    current, restored, is_clean = files.read(root, there[0]), lost.data, True
    if not same_text(current, lost.merged):
        restored, is_clean = merge_notes(lost.merged, current, lost.data)
    if not is_clean or restored == current:
        return None, None
    if not lost.is_mixed:
        message = f"has a text in the merge {merge[:10]} that neither side had"
        return None, Problem(there[0], message, f"cortex history {lost.id}")
    files.replace(root, there[0], restored, current)
    return MergeResolution(there[0], _TEXT_BACK), None


def _was_never_asked(root: str, lost: LostNote, commits: MergeRevisions, merge: str) -> bool:
    """True if nobody chose to delete the note: the merge only renamed it, and no commit since then has
    touched it."""
    since = ["rev-list", "-1", "--no-merges", f"{merge}..HEAD", "--", lost.path]
    if git_cli.line(root, since):
        return False
    flags = ["-r", "-M", "--diff-filter=R", "--name-status", "-z", "--relative"]
    renamed = {
        os.fsdecode(name)
        for base in commits.bases
        for side in commits[1:]
        for name in git_cli.run(root, ["diff-tree", *flags, base, side]).split(b"\0")[1::3]
    }
    return not lost.deleted_path or lost.deleted_path in renamed


def _last_checked(vault: Vault) -> str:
    """The commit that was looked at last; empty at first, and after a power cut."""
    data = private.read(os.path.join(vault.state_folder(), _STATE_FILE), 200)
    commit = data.decode("ascii", "replace").partition(" ")[0]
    return commit if commit.isalnum() and len(commit) in (40, 64) else ""
