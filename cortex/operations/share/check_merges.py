"""Repair merges that git made without Cortex, in the next command.

A clone without merge drivers (a phone, a hosting site, a clone in which nobody ran Cortex yet)
merges the texts of two notes that git takes for one. What that lost or mixed (`git_damage.py`) is
put right here. What `git stash pop` mixed, of which no commit tells, is merged once more
(`vault/git/popped_stashes.py`) and put right where the work tree has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import cache, partial

from cortex.core.merge.conflict_markers import without_markers
from cortex.core.merge.damage import DamageKind
from cortex.core.merge.lines import merge_lines
from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import note_id
from cortex.core.model.caller import Caller
from cortex.core.model.layout import is_event_path
from cortex.core.model.problem import CortexError, Problem, reason_of
from cortex.core.notes import note as notes
from cortex.core.text.strings import short_hash
from cortex.index.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.operations.share.duplicates import join_files
from cortex.operations.share.git_damage import (
    DamagingCommit,
    added_lines,
    find_all_damage,
    find_merge_damage,
    is_written_since,
    mixtures_between,
    revisions_behind,
    texts_in_history,
)
from cortex.operations.share.misnamed_events import restore_event_text
from cortex.operations.share.resolve_conflicts import merge_notes, same_text
from cortex.vault import files
from cortex.vault.git import checkout, displaced, git_cli, objects, popped_stashes
from cortex.vault.git.commit import is_outside_own_folders
from cortex.vault.locate import Vault
from cortex.vault.state import store

_STATE_FILE = "merges-checked"  # in the state folder: the commit up to which all were looked at
_COMMIT_ENTRY_RE = re.compile(rb"([0-9a-f]{40,64}) [0-9a-f]{40,64} .*\tcommit: ")  # in the reflog
_MAX_REFLOG_BYTES = 16_000_000
_STATE_RE = re.compile(rb"([0-9a-f]{40,64}|) ((?:\d+-\d+)?)\n")

MixtureFinder = Callable[[str, str], list[DamagingCommit]]  # `mixtures_between` in one repository


def repair_git_merges(vault: Vault, caller: Caller) -> tuple[list[MergeResolution], list[Problem]]:
    """Repair in the work tree what merges since the last call have lost or mixed; what was changed
    since stays. Does nothing during an operation of git."""
    root = vault.root
    place = checkout.find_repository(root)
    if place is None or checkout.operation_in_progress(root):
        return [], []
    log = os.path.join(place[1], "logs", "HEAD")
    stamp = _file_stamp(log)
    last, last_stamp = _read_state(vault)
    if stamp and stamp == last_stamp:
        return [], []
    offset = int(last_stamp.rpartition("-")[2] or 0)
    last = git_cli.find_commit(root, last) if last else ""  # a clone made anew has not got it
    last = _committed_since(log, offset) or last
    head = git_cli.head_commit(root)
    if not head:  # before the first commit
        return [], []
    resolved: list[MergeResolution] = []
    problems: list[Problem] = []
    restored: dict[str, str] = {}  # id or path of a lost note -> where it is back
    found = find_all_damage(root, last, head) if last != head else []
    found += _find_stash_damage(vault, caller, offset)
    find_mixtures = mixture_finder(root)
    for wrong in found:
        try:
            own = _unmix_lost_text(root, wrong, find_mixtures)
            done, problem = _repair_damage(vault, caller, own, restored)
        except (CortexError, OSError) as error:
            message = f"was mixed up by a merge and is not put right yet: {reason_of(error)}"
            return resolved, [*problems, Problem(wrong.damage.path, message, "cortex heal")]
        resolved += [done] if done else []
        problems += [problem] if problem else []
    # A repair that is thrown away before it is committed is made again when git has run.
    _write_state(vault, last if resolved else head, stamp)
    return resolved, problems


def _committed_since(log: str, offset: int) -> str:
    """The commit at which the reflog had so many bytes, if people have only committed since: then
    they have seen what was repaired there. Empty if git has done anything else, or nothing."""
    entries = files.read_bounded(log, _MAX_REFLOG_BYTES)[offset:].splitlines() if offset else []
    # An entry that begins elsewhere: git has shortened the log.
    commits = [_COMMIT_ENTRY_RE.match(entry) for entry in entries]
    return commits[0][1].decode("ascii") if commits and commits[0] and all(commits) else ""


def _find_stash_damage(vault: Vault, caller: Caller, offset: int) -> list[DamagingCommit]:
    """What stashes mixed that were put back since HEAD's reflog had `offset` bytes, if the work
    tree shows it: a note that was taken for another one has the lines of that."""
    for commits, result in popped_stashes.list_possible_pops(vault.root, offset):
        found = find_merge_damage(vault.root, commits, result)
        if any(_shows_damage(vault, caller, one) for one in found):
            return found
    return []


def _shows_damage(vault: Vault, caller: Caller, wrong: DamagingCommit) -> bool:
    """True if a note has now all lines that a merge has mixed into it."""
    stray = wrong.damage
    mixed = objects.read_at_revision(vault.root, wrong.commit, stray.path)
    if stray.kind != DamageKind.MIXED or mixed is None:
        return False
    added = set(mixed.splitlines()) - set(stray.data.splitlines())
    there = existing_paths(vault, caller, stray.id, is_event=False) if stray.id else [stray.path]
    texts = (files.read(vault.root, path) for path in there if files.exists(vault.root, path))
    return bool(added) and any(added <= set(text.splitlines()) for text in texts)


def _repair_damage(
    vault: Vault, caller: Caller, wrong: DamagingCommit, restored: dict[str, str]
) -> tuple[MergeResolution | None, Problem | None]:
    """Put right what is still wrong in the work tree."""
    stray = wrong.damage
    if path := restored.get(stray.id or stray.path) if stray.kind == DamageKind.LOST else None:
        # Another merge had lost it, too: what each had changed in it.
        now = files.read(vault.root, path)
        files.replace(vault.root, path, _merge_without_conflicts(wrong.base, now, stray.data), now)
        return None, None
    there = existing_paths(vault, caller, stray.id, is_event=stray.kind == DamageKind.WRONG_EVENT)
    if stray.kind == DamageKind.DUPLICATED:
        return (join_files(vault, caller, *there) if len(there) > 1 else None), None
    if stray.kind in (DamageKind.MIXED, DamageKind.UNREADABLE):
        path = stray.path if stray.path in there or not there else there[0]
        return _restore_own_text(vault.root, path, wrong)
    if stray.kind == DamageKind.WRONG_EVENT:
        for path in filter(partial(files.exists, vault.root), stray.wrong_paths):
            merged = objects.read_at_revision(vault.root, wrong.commit, path)
            if not is_event_path(path) and same_text(files.read(vault.root, path), merged):
                files.remove(vault.root, path)
        there = [path for path in there if path.endswith(f"/{stray.id}.md")]
        there = [path for path in there if not _has_mixed_text(vault.root, path, wrong)]
    if there and not stray.has_copy:
        is_single = stray.kind == DamageKind.LOST and len(there) == 1
        return (_restore_lost_change(vault.root, there[0], wrong) if is_single else None), None
    done = _restore_lost_note(vault.root, wrong)
    if done and stray.kind == DamageKind.LOST and not stray.has_copy:
        restored[stray.id or stray.path] = done.path
    return done, None


def mixture_finder(root: str) -> MixtureFinder:
    """Looks at each part of the history once: one merge may have lost many notes."""
    return cache(partial(mixtures_between, root))


def _unmix_lost_text(
    root: str, wrong: DamagingCommit, find_mixtures: MixtureFinder
) -> DamagingCommit:
    """A lost note without what was mixed into it on a side of the merge that has lost it; other
    damage as it is."""
    stray = wrong.damage
    if stray.kind != DamageKind.LOST or not git_cli.find_commit(root, wrong.since):
        return wrong
    mixtures = find_mixtures(wrong.since, wrong.commit)
    own = unmixed_text(root, stray.path, stray.data, mixtures, wrong.commit)
    return wrong._replace(damage=stray._replace(data=own))


def unmixed_text(
    root: str, path: str, text: bytes, mixtures: Iterable[DamagingCommit], commit: str
) -> bytes:
    """The text that a note had at `commit` without what these merges have mixed into it."""
    note = note_id(text) or path
    for one in mixtures:
        if note == (one.damage.id or one.damage.path):
            own = _own_text(root, path, one, text, head=commit)
            text = text if own is None else own
    return text


def _restore_own_text(
    root: str, path: str, wrong: DamagingCommit
) -> tuple[MergeResolution | None, Problem | None]:
    """Give a note at `path` its own text back, with what was changed in it since the merge."""
    stray = wrong.damage
    if not files.exists(root, path):
        return None, None
    current = files.read(root, path)
    own = _own_text(root, path, wrong, current)
    if own is None:
        message = "was mixed with another note by a merge, and moved since"
        return None, Problem(path, message, f"cortex history {stray.id}")
    if own == current:
        return None, None
    files.replace(root, path, own, current)
    return MergeResolution(path, stray.kind.value), None


def _own_text(
    root: str, path: str, wrong: DamagingCommit, current: bytes, *, head: str = "HEAD"
) -> bytes | None:
    """The text of a note at `path` without what a merge has mixed into it, unless somebody wrote
    that into it since, up to `head`; None if the merged text is not to be found."""
    stray = wrong.damage
    now = current.replace(b"\r\n", b"\n")
    if now == stray.data:
        return current
    mixed = objects.read_at_revision(root, wrong.commit, stray.path)
    if mixed is None or note_id(mixed) != stray.id:
        return None
    mixed = mixed.replace(b"\r\n", b"\n")
    if is_written_since(root, wrong, mixed, now, path, head=head):
        return current
    own = stray.data if now == mixed else _merge_without_conflicts(mixed, now, stray.data)
    return current if own == now else own


def _merge_without_conflicts(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """The note with both changes; of its body all lines where both changed the same ones."""
    heads, bodies = zip(*map(_split_frontmatter, (base, ours, theirs)), strict=True)
    head, _ = merge_notes(*heads)
    return head + b"".join(merge_lines(*(body.splitlines(keepends=True) for body in bodies)))


def _split_frontmatter(data: bytes) -> tuple[bytes, bytes]:
    """A note's frontmatter with its fences, and what is behind it."""
    body = notes.read(data).body
    return data[: len(data) - len(body)], body


def _restore_lost_note(root: str, wrong: DamagingCommit) -> MergeResolution | None:
    """Write a note or event that a merge has lost, unless its path was changed since."""
    stray, path = wrong.damage, wrong.damage.path
    words = ["rev-list", "-1", "--no-merges", *revisions_behind(root, wrong.in_history), "--", path]
    if git_cli.run_unchecked(root, words).stdout:
        return None
    is_there = files.exists(root, path) and note_id(files.read(root, path)) == stray.id
    if is_there and not _has_mixed_text(root, path, wrong):
        return None
    return MergeResolution(write_back(root, path, stray.data), stray.kind.value)


def _restore_lost_change(root: str, path: str, wrong: DamagingCommit) -> MergeResolution | None:
    """Make in a note the change that git took for one of another note: it was brought back from a
    side that had not got it. None if the note had it at any time since."""
    stray, now = wrong.damage, files.read(root, path)
    own = without_markers(stray.data)  # as somebody committed them
    added = added_lines(wrong.base, own)
    behind = revisions_behind(root, wrong.in_history)
    later = (now, *texts_in_history(root, behind, path, stray.path))
    if not wrong.base or any(added <= set(text.splitlines()) for text in later):
        return None
    files.replace(root, path, _merge_without_conflicts(wrong.base, now, own), now)
    return MergeResolution(path, "git had made a change of it in another note; it is here, too")


def _has_mixed_text(root: str, path: str, wrong: DamagingCommit) -> bool:
    """True if an event's file still has the text that a merge has mixed."""
    now, mixed = files.read(root, path), objects.read_at_revision(root, wrong.commit, path)
    stray = wrong.damage
    is_event = stray.kind == DamageKind.WRONG_EVENT and path.endswith(f"/{stray.id}.md")
    return is_event and same_text(now, mixed) and not same_text(now, stray.data)


def existing_paths(vault: Vault, caller: Caller, id_: str, *, is_event: bool) -> list[str]:
    """The files in which a note, or an event, of an id lies by now."""
    wanted = NoteFilter(ids=(id_,))
    rows = query_index(
        vault, caller.progress, lambda now: now.catalogue.find(wanted, "path"), words=False
    )
    return [
        row.path
        for row in rows
        if is_event_path(row.path) == is_event and files.exists(vault.root, row.path)
    ]


def write_back(root: str, path: str, text: bytes) -> str:
    """Write a lost note or event to `path`, and return its path: a note whose path is taken gets
    one beside it, an event takes the file that is named after it."""
    if files.exists(root, path) and is_event_path(path):
        restore_event_text(root, path, text)
        return path
    path = free_path(root, path, text)
    files.create(root, path, text)
    if is_outside_own_folders(root, path):
        displaced.mark_restored(root, path)
    return path


def free_path(root: str, path: str, data: bytes) -> str:
    """The path, or one beside it, named by a hash of the text, when it is taken."""
    if not files.exists(root, path):
        return path
    return f"{path.removesuffix('.md')}-{short_hash(data.decode('utf-8', 'replace'), 10)}.md"


def _file_stamp(path: str) -> str:
    """Changes with the file; empty when there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_size}"


def _read_state(vault: Vault) -> tuple[str, str]:
    """The commit that was checked last, and the stamp of the reflog then; both empty at first."""
    data = store.read(os.path.join(vault.state_folder(), _STATE_FILE), 200)
    found = _STATE_RE.fullmatch(data)  # what a power cut leaves is none
    commit, stamp = found.groups() if found else (b"", b"")
    return commit.decode(), stamp.decode()


def _write_state(vault: Vault, commit: str, stamp: str) -> None:
    store.replace(os.path.join(vault.state_folder(), _STATE_FILE), f"{commit} {stamp}\n".encode())
