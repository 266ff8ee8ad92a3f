"""Bring notes that merges by git have displaced, lost or mixed back to files of their own.

The merge driver keeps the second of two notes that git took for one (`vault/git/displaced.py`).
Here it is put back at the path at which git's history has it, else where Cortex would write it.
The version of a topic that lost in a merge it keeps, too: that of a stash is in no commit, and
becomes an event if a person had edited it.
What git merged without the driver is repaired by `check_merges.py`.
"""

from __future__ import annotations

import os

from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import note_id
from cortex.core.model.caller import Caller
from cortex.core.model.event import is_event_id
from cortex.core.model.layout import is_event_path
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes import note as notes
from cortex.core.text.shell_command import shell_quote
from cortex.core.text.strings import short_hash
from cortex.operations.records.preserve_text import find_event_of_text, preserve_text
from cortex.operations.records.record_lock import record_lock
from cortex.operations.share import check_merges
from cortex.operations.share.check_merges import MixtureFinder
from cortex.operations.share.duplicates import keep_left_out
from cortex.operations.share.resolve_conflicts import merge_notes, same_text
from cortex.vault import files
from cortex.vault.git import checkout, displaced, git_cli, objects
from cortex.vault.git.displaced import DisplacedNote
from cortex.vault.layout import layout_of
from cortex.vault.locate import Vault

_TIMEOUT_SECONDS = 30.0  # for a look through the history
# The subjects of the commits of a stash.
_STASH_GREP = "--grep=^\\(WIP on\\|On\\|index on\\|untracked files on\\) [^:]*: "


def restore_displaced(vault: Vault, caller: Caller) -> tuple[list[MergeResolution], list[Problem]]:
    """Give every note that git's merges have displaced, lost or mixed a file of its own again. Does
    nothing during an operation of git, which an untracked file could block."""
    if checkout.operation_in_progress(vault.root):
        return [], []
    done: list[MergeResolution] = []
    found = displaced.list_entries(vault.root)
    find_mixtures = check_merges.mixture_finder(vault.root)
    if found and not objects.list_unmerged_stages(vault.root):
        for entry in found:
            if not _is_of_vault(vault.root, entry) or _waiting_branch(vault.root, entry):
                continue
            done += _restore_entry(vault, caller, entry, find_mixtures)
            displaced.delete_entry(vault.root, entry.name)
    resolved, problems_left = check_merges.repair_git_merges(vault, caller)
    return [*done, *resolved], problems_left


def problems(root: str) -> list[Problem]:
    """What `restore_displaced` has still to do, for doctor."""
    found = []
    for one in displaced.list_entries(root):
        if not _is_of_vault(root, one):
            continue
        name, other_name = _display_name(one.displaced_text), _display_name(one.written_text)
        where = os.path.join(".git", displaced.DISPLACED_FOLDER, one.name)
        what = f"git took {name} for {other_name} and left it out"
        if _is_version(one):
            if _is_version_kept(Vault(root), one):
                continue
            what = f"a text of {name} lost in a merge, and no commit has it"
        branch = _waiting_branch(root, one)
        next_command = (
            f"git switch {shell_quote(branch)}, then cortex heal" if branch else "cortex heal"
        )
        found.append(Problem(where, what, next_command))
    return found


def _restore_entry(
    vault: Vault, caller: Caller, entry: DisplacedNote, find_mixtures: MixtureFinder
) -> list[MergeResolution]:
    """What was written; nothing if the merge was aborted, or if the note is there by now."""
    root, prefix = vault.root, os.fsdecode(objects.prefix(vault.root))
    path = entry.path.removeprefix(prefix)
    if _is_version(entry):
        return _keep_lost_version(vault, caller, entry)
    is_undone = entry.was_tried or displaced.is_aborted(root, entry)
    if is_undone and _path_in_history(root, entry.displaced_text):
        return []
    text = entry.displaced_text
    there = _find_existing_path(vault, caller, text)
    if is_event_path(there):
        return []
    home = there or _original_path(root, text, entry.base, path)
    if not is_event_path(home):
        text = _unmixed_text(root, home, entry, find_mixtures)
    if there:
        return _merge_into_existing(vault, caller, there, entry, text)
    return _write_to_own_file(vault, caller, home, text, entry)


def _write_to_own_file(
    vault: Vault, caller: Caller, home: str, text: bytes, entry: DisplacedNote
) -> list[MergeResolution]:
    """Write a displaced note that is in no file to `home`. If git has written the other note into
    that file, the other note gets a file of its own."""
    root, other_text = vault.root, entry.written_text
    name, other_name = _display_name(text), _display_name(other_text)
    if files.exists(root, home) and not notes.read(text).get("id"):
        return []  # a note of a person's own, known by its path, is there
    back = f"git had taken it for {other_name}; it is back"
    current = files.read(root, home) if files.exists(root, home) else None
    if is_event_path(home) or name == other_name or not same_text(current, other_text):
        return [MergeResolution(check_merges.write_back(root, home, text), back)]
    # The other note's text is what git wrote into this one's file.
    done = [MergeResolution(home, back)]
    if _find_existing_path(vault, caller, other_text) in ("", home):
        other_home = _original_path(root, other_text, entry.base, "")
        other_home = check_merges.free_path(root, other_home, other_text)
        files.create(root, other_home, other_text)
        what = f"git had put it into the file of {name}; it has its own again"
        done.insert(0, MergeResolution(other_home, what))
    files.replace(root, home, text, current or b"")
    return done


def _is_of_vault(root: str, entry: DisplacedNote) -> bool:
    """False for what was displaced in another vault of the repository."""
    return entry.path.startswith(os.fsdecode(objects.prefix(root)))


def _waiting_branch(root: str, entry: DisplacedNote) -> str:
    """The branch for which a note waits: the merge that displaced it was made there, and does not
    lead to what is checked out. Empty where it is to be brought back now."""
    if not entry.head or git_cli.is_ancestor(root, entry.head, "HEAD"):
        return ""
    words = ["for-each-ref", f"--contains={entry.head}", "--format=%(refname:short)", "refs/heads"]
    listed = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS).stdout.splitlines()
    others = {os.fsdecode(name) for name in listed} - {checkout.branch_of(root)}
    return min(others) if others and _path_in_history(root, entry.displaced_text) else ""


def _keep_lost_version(vault: Vault, caller: Caller, entry: DisplacedNote) -> list[MergeResolution]:
    """Make an event of a topic's text that lost in a merge, if no commit and no event has it.
    Nothing if the record does not hold that merge: it was aborted, or made to try it."""
    path = _find_existing_path(vault, caller, entry.displaced_text)
    if not path or _is_version_kept(vault, entry):
        return []
    with record_lock(vault):
        now = files.read(vault.root, path)
        note, lost = notes.read(now, path), notes.read(entry.displaced_text)
        if not note.problems and not set(lost.provenance()[0]) <= set(note.provenance()[0]):
            return []
        named, id_ = preserve_text(vault, caller, lost)
        if id_ in note.provenance()[0]:
            return []
        if not note.problems:
            data, _ = merge_notes(entry.displaced_text, now, notes.write(named))
            files.replace(vault.root, path, data, now)
    what = f"a text of it had lost in a merge, and no commit has it; the event {id_} does"
    return [MergeResolution(path, what)]


def _is_version(entry: DisplacedNote) -> bool:
    """True if what was left out is the text of a topic that both sides saved anew, not a note."""
    return note_id(entry.displaced_text) == note_id(entry.written_text) != ""


def _is_version_kept(vault: Vault, entry: DisplacedNote) -> bool:
    """True if an event or a commit has the text of a version. A stash is none: it goes."""
    note = notes.read(entry.displaced_text)
    return bool(
        find_event_of_text(vault, note)
        or _path_in_history(vault.root, entry.displaced_text, "--invert-grep", _STASH_GREP)
    )


def _find_existing_path(vault: Vault, caller: Caller, data: bytes) -> str:
    """The vault path of a note with this id, or of the event file of its name; else empty."""
    id_ = notes.read(data).get("id")
    if not id_:
        return ""
    is_event = is_event_id(id_)
    paths = check_merges.existing_paths(vault, caller, id_, is_event=is_event)
    end = f"/{id_}.md" if is_event else ".md"
    return next((path for path in paths if path.endswith(end)), "")


def _merge_into_existing(
    vault: Vault, caller: Caller, path: str, entry: DisplacedNote, text: bytes
) -> list[MergeResolution]:
    """Merge `text`, which was displaced, into the note that a revert or pick may have brought
    back."""
    with record_lock(vault):
        now = files.read(vault.root, path)
        base = entry.base if note_id(entry.base) == note_id(text) else b""
        data, _ = merge_notes(base, now, text)
        if data == now:
            return []
        files.replace(vault.root, path, keep_left_out(vault, caller, path, now, data), now)
    return [MergeResolution(path, "git had left out what was changed in it; it is back")]


def _unmixed_text(
    root: str, path: str, entry: DisplacedNote, find_mixtures: MixtureFinder
) -> bytes:
    """The text of a displaced note without what git had mixed into it before: the mixture may have
    been repaired on another branch, and be older than the merges that are checked next."""
    commit = _first_commit_with(root, entry.displaced_text)
    if not commit:
        return entry.displaced_text
    is_own_base = note_id(entry.base) == note_id(entry.displaced_text)
    since = _first_commit_with(root, entry.base) if is_own_base else ""
    mixtures = find_mixtures(since, commit)
    return check_merges.unmixed_text(root, path, entry.displaced_text, mixtures, commit)


def _original_path(root: str, data: bytes, base: bytes, path: str) -> str:
    """Where a note lies when nothing displaces it."""
    note = notes.read(data)
    id_ = note.get("id")
    if id_ and path.rpartition("/")[2] == f"{id_}.md":
        return path
    texts = [data, base] if id_ and notes.read(base).get("id") == id_ else [data]
    for text in texts:
        if found := _path_in_history(root, text):
            return found
    if not id_:
        return f"note-{short_hash(data.decode('utf-8', 'replace'), 10)}.md"
    if note.get("type") == "session":
        created = note.get("created")
        month = f"{created[:4]}/{created[5:7]}/" if len(created) > 7 else ""
        return layout_of(root).path(f"sessions/{month}{id_}.md")
    return layout_of(root).record(note.get("type") or "note", id_)


def _first_commit_with(root: str, data: bytes) -> str:
    """The first commit of a branch or reflog with exactly this text; empty if there is none."""
    flags = ["--all", "--reflog", "--topo-order", "--format=%H", "--no-renames", "-m", "-s"]
    words = ["log", *flags, "--diff-filter=AM", f"--find-object={_blob_of(root, data)}"]
    try:
        found = git_cli.run(root, words, timeout=_TIMEOUT_SECONDS).split()
    except CortexError:  # a history too long to look through
        return ""
    return found[-1].decode("ascii") if found else ""


def _blob_of(root: str, data: bytes) -> str:
    """The id that git gives to this text."""
    return git_cli.run(root, ["hash-object", "-t", "blob", "--stdin"], stdin=data).decode().strip()


def _path_in_history(root: str, data: bytes, *flags: str) -> str:
    """The vault path of exactly this text in any commit of a branch or reflog; else empty."""
    blob = _blob_of(root, data)
    flags = (*flags, "--format=", *objects.RAW, "--no-renames", "-m")
    words = ["log", "--all", "--reflog", "-1", *flags]
    try:
        output = git_cli.run(root, [*words, f"--find-object={blob}"], timeout=_TIMEOUT_SECONDS)
    except CortexError:  # a history too long to look through
        return ""
    prefix = objects.prefix(root)
    for change in objects.list_raw(output):
        if blob in (change.old_blob, change.new_blob) and change.path.startswith(prefix):
            return os.fsdecode(change.path.removeprefix(prefix))
    return ""


def _display_name(data: bytes) -> str:
    """How a note is called in messages: its id, else its first words."""
    note = notes.read(data)
    return note.get("id") or repr(note.text.strip()[:40])
