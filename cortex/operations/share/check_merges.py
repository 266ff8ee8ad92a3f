"""Repair merges that git made without Cortex, in the next command.

A clone without merge drivers (a phone, a hosting site, a clone in which nobody ran Cortex yet)
merges the texts of two notes that git takes for one. Here each new commit with two parents, and
each that git made of commits that are known here (`copied_commits.py`), is compared with its sides
note by note (`damage.find_damage`). What a person decided in a merge stands: a note is
brought back only if its text, or its path, is found in another note, or if git took it for renamed,
so that nobody was asked. What `git stash pop` mixed, of which no commit tells, is merged once more
(`vault/git/popped_stashes.py`) and put right where the work tree has it.
"""

from __future__ import annotations

import os
import re
from functools import partial
from itertools import product
from typing import NamedTuple

from cortex.core.merge.conflict_markers import marked_conflicts, without_markers
from cortex.core.merge.damage import (
    DUPLICATED,
    LOST,
    MIXED,
    UNREADABLE,
    WRONG_EVENT,
    MergeDamage,
    find_damage,
    is_mixed_in,
)
from cortex.core.merge.lines import merge_lines
from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import Tree, note_id
from cortex.core.model.caller import Caller
from cortex.core.model.layout import is_among_briefings, is_event_path
from cortex.core.model.problem import CortexError, Problem, reason_of
from cortex.core.notes import note as notes
from cortex.core.text.strings import short_hash
from cortex.index.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.operations.share.copied_commits import copied_commits, squashed_or_reverted
from cortex.operations.share.duplicates import join_files
from cortex.operations.share.misnamed_events import restore_event_text
from cortex.operations.share.resolve_conflicts import (
    MergeCommit,
    merge_notes,
    read_merge_commit,
    same_text,
)
from cortex.vault import files
from cortex.vault.git import checkout, displaced, git_cli, merging, objects, popped_stashes
from cortex.vault.git.commit import is_outside_own_folders
from cortex.vault.git.merging import MergeRevisions
from cortex.vault.locate import Vault
from cortex.vault.state import store

_STATE_FILE = "merges-checked"  # in the state folder: the commit up to which all were looked at
# The newest merges of one pass; more come at once only with a long history of somebody else's.
_MAX_MERGES, _MAX_MERGES_AT_FIRST = 50, 20
_MAX_COPIES = 200  # commits of a rebase, say: each takes 25 ms
_SYNC_SUBJECT_PREFIX = "cortex: merge "  # of merges that sync made, and looked at
_COMMIT_ENTRY_RE = re.compile(rb"([0-9a-f]{40,64}) [0-9a-f]{40,64} .*\tcommit: ")  # in the reflog
_MAX_REFLOG_BYTES = 16_000_000
_TIMEOUT_SECONDS = 30.0  # for a look through the history
_STATE_RE = re.compile(rb"([0-9a-f]{40,64}|) ((?:\d+-\d+)?)\n")


class DamagingCommit(NamedTuple):
    """A stray and the commit in which it is one."""

    damage: MergeDamage
    commit: str
    base: bytes  # the text of a lost note before that merge
    in_history: str  # the commit, or the one in HEAD's history that was made of it


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
    found = _find_all_damage(root, last, head) if last != head else []
    found += _find_stash_damage(vault, caller, offset)
    for wrong in found:
        try:
            done, problem = _repair_damage(vault, caller, wrong, restored)
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


def _find_all_damage(
    root: str, last: str, head: str, known: dict[str, list[DamagingCommit]] | None = None
) -> list[DamagingCommit]:
    """The damage in merges and copied commits since `last`; if that is empty, in the newest."""
    found = []
    known = {} if known is None else known
    since = [f"--max-count={_MAX_MERGES if last else _MAX_MERGES_AT_FIRST}", head]
    since += [f"^{last}"] if last else []
    words = ["log", "-z", "--merges", "--format=%H %P%n%s", *since, "--"]
    listed = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS)
    for entry in filter(None, listed.stdout.decode("utf-8", "replace").split("\0")):
        parents, _, subject = entry.partition("\n")
        commit, *sides = parents.split()
        if len(sides) == 2 and not subject.startswith(_SYNC_SUBJECT_PREFIX):
            found += _find_merge_damage(root, merging.revisions_between(root, *sides), commit)
        elif len(sides) > 2:
            found += _find_octopus_damage(root, sides, commit)
    if last:
        since[0] = f"--max-count={_MAX_COPIES}"
    for commits, result, is_squashed in squashed_or_reverted(root, *since):
        found += _find_merge_damage(root, commits, result, is_merge=False)
        if is_squashed:
            found += _find_squashed_damage(root, commits, result, known)
    copies = copied_commits(root, *since)
    places = {one.merged.theirs: one.in_history for one in copies}
    moved = squashed_or_reverted(root, "--no-walk=unsorted", *places) if places else ()
    for commits, original, is_squashed in moved:
        if not git_cli.is_ancestor(root, original, head):  # else it is looked at by itself
            damages = _find_merge_damage(root, commits, original, is_merge=False)
            if is_squashed:
                damages += _find_squashed_damage(root, commits, original, known)
            found += [each._replace(in_history=places[original]) for each in damages]
    for one in copies:
        damages = _find_merge_damage(root, one.merged, one.copy, is_merge=False)
        damages = [each for each in damages if one.is_sure or _is_addition(root, each)]
        found += [each._replace(in_history=one.in_history) for each in damages]
    return _in_order(root, found, head, *([f"^{last}"] if last else []))


def _find_squashed_damage(
    root: str, commits: MergeRevisions, result: str, known: dict[str, list[DamagingCommit]]
) -> list[DamagingCommit]:
    """The damage in the merges, squashed ones too, that `git merge --squash` has put into one
    commit, but what was put right, or decided otherwise, on one of the two branches.

    known: what was found in others; a squash of squashes has each of them again and again
    """
    if result not in known:
        known[result] = []
        inner = _find_all_damage(root, commits.ours, commits.theirs, known)
        left = [one for one in inner if not _is_settled(root, one, commits)]
        known[result] = list({(one.damage, one.commit): one for one in left}.values())
    return [one._replace(in_history=result) for one in known[result]]


def _is_settled(root: str, wrong: DamagingCommit, commits: MergeRevisions) -> bool:
    """True if what a merge has lost or mixed was put right on the branch that was squashed, or on
    the one that took it; what somebody did there later they did on purpose."""
    stray, head = wrong.damage, commits.theirs
    now = objects.read_at_revision(root, head, stray.path)
    if stray.kind == MIXED:
        mixed = objects.read_at_revision(root, wrong.commit, stray.path) or b""
        return _is_written_since(root, wrong, mixed, now or mixed, stray.path, head=head)
    if stray.kind not in (LOST, WRONG_EVENT):
        return False
    added = _added_lines(wrong.base, stray.data)

    def had_it(texts: list[bytes]) -> bool:
        return any(added <= set(text.splitlines()) for text in texts)

    if not had_it([objects.read_at_revision(root, commits.ours, stray.path) or b""]):
        own = ["--full-history", commits.ours, *(f"^{base}" for base in commits.bases)]
        if had_it(_texts_in_history(root, own, stray.path)):
            return True
    since = _behind(root, wrong.in_history, head)
    if not git_cli.line(root, ["rev-list", "-1", "--no-merges", *since, "--", stray.path]):
        return False
    is_other = stray.kind == WRONG_EVENT or now is None or note_id(now) != stray.id
    return is_other or had_it(_texts_in_history(root, since, stray.path))


def _in_order(root: str, found: list[DamagingCommit], *since: str) -> list[DamagingCommit]:
    """The damages in the order in which they were done. Left out is that git took lines out of a
    note that it had mixed into it, as when the commit that did so was reverted."""
    if len(found) > 1:
        listed = git_cli.run(root, ["rev-list", "--topo-order", *since, "--"]).split()
        number = {id_.decode("ascii"): at for at, id_ in enumerate(listed)}
        found = sorted(found, key=lambda one: -number.get(one.in_history, len(number)))
    mixed_in: dict[str, set[bytes]] = {}
    kept = []
    for one in found:
        if one.damage.kind == MIXED:
            mixed = objects.read_at_revision(root, one.commit, one.damage.path) or b""
            before = mixed_in.setdefault(one.damage.id or one.damage.path, set())
            taken = _added_lines(mixed, one.damage.data)
            added = _added_lines(one.damage.data, mixed)
            if taken and taken <= before and not added:
                continue
            before |= added
        kept.append(one)
    return kept


def _is_addition(root: str, wrong: DamagingCommit) -> bool:
    """True if what git mixed or lost are added lines. Of two copies of one second it is not known
    which was first, and compared the other way round they are lines that were taken out."""
    stray = wrong.damage
    before, after = wrong.base, stray.data
    if stray.kind == MIXED:
        before, after = after, objects.read_at_revision(root, wrong.commit, stray.path) or b""
    is_of_one_note = stray.kind in (LOST, MIXED)
    return not is_of_one_note or bool(_added_lines(before, after))


def _added_lines(before: bytes, after: bytes) -> set[bytes]:
    """The lines that one text has and another has not; of their bodies alone where these differ:
    `updated` is another one with each edit."""
    was, now = notes.read(before).body, notes.read(after).body
    texts = (before, after) if was == now else (was, now)
    return set(texts[1].splitlines()) - set(texts[0].splitlines())


def _find_merge_damage(
    root: str, commits: MergeRevisions, result: str, *, is_merge: bool = True
) -> list[DamagingCommit]:
    """The strays of one merge that are git's doing, and not what a person decided."""
    try:
        merged = read_merge_commit(root, commits, result)
    except CortexError:  # a commit without parents, or one that a shallow clone does not have
        return []
    if merged is None or merged.is_ours:  # as `git merge -s ours` makes it
        return []
    found = find_damage(merged.sides, merged.result, merge_notes)
    if not is_merge:
        found = [
            one
            for one in found
            if not (_is_another_text(one, merged.result) or _is_taken_out(one, merged.result))
        ]
    gone = [stray for stray in found if stray.kind == LOST]
    pairs = [
        (one, other)
        for one in gone
        for other in found
        if other.kind == MIXED
        and is_mixed_in(one, other, merged.sides.base, _merged_text(other, merged))
    ]
    sure = {id(stray) for pair in pairs for stray in pair}
    sure |= {id(one) for one in gone if one.path in merged.result}
    if any(id(one) not in sure for one in gone):
        renamed = _renamed_paths(root, commits, is_merge=is_merge)
        renamed_ids = {
            note_id(data) for tree in merged.sides for path, data in tree.items() if path in renamed
        }
        sure |= {id(one) for one in gone if one.id and one.id in renamed_ids}
    texts = {note_id(data) or path: data for path, data in merged.sides.base.items()}
    return [
        DamagingCommit(stray, result, texts.get(stray.id or stray.path, b""), result)
        for stray in found
        if stray.kind in (WRONG_EVENT, DUPLICATED, UNREADABLE) or id(stray) in sure
    ]


def _find_octopus_damage(root: str, sides: list[str], commit: str) -> list[DamagingCommit]:
    """The notes of which a merge of more than two commits has written a field twice; git follows no
    renames in it."""
    prefix = objects.prefix(root)
    changes = objects.changes_between(root, sides[0], commit, os.fsdecode(prefix) or ".")
    paths = [os.fsdecode(one.path.removeprefix(prefix)) for one in changes if one.status == "M"]
    made = objects.read_committed(root, [path for path in paths if path.endswith(".md")], commit)
    found = []
    for path, text in made.items():
        if is_event_path(path) or is_among_briefings(path) or not notes.read(text).problems:
            continue
        merged = objects.read_at_revision(root, sides[0], path) or b""
        for side in sides[1:]:
            base = merging.revisions_between(root, sides[0], side).bases[0]
            before, theirs = (objects.read_at_revision(root, at, path) for at in (base, side))
            merged = merged if theirs is None else merge_notes(before or b"", merged, theirs)[0]
        if not notes.read(merged).problems:
            damage = MergeDamage(UNREADABLE, note_id(text), path, merged)
            found.append(DamagingCommit(damage, commit, b"", commit))
    return found


def _find_stash_damage(vault: Vault, caller: Caller, offset: int) -> list[DamagingCommit]:
    """What stashes mixed that were put back since HEAD's reflog had `offset` bytes, if the work
    tree shows it: a note that was taken for another one has the lines of that."""
    for commits, result in popped_stashes.list_possible_pops(vault.root, offset):
        found = _find_merge_damage(vault.root, commits, result)
        if any(_shows_damage(vault, caller, one) for one in found):
            return found
    return []


def _shows_damage(vault: Vault, caller: Caller, wrong: DamagingCommit) -> bool:
    """True if a note has now all lines that a merge has mixed into it."""
    stray = wrong.damage
    mixed = objects.read_at_revision(vault.root, wrong.commit, stray.path)
    if stray.kind != MIXED or mixed is None:
        return False
    added = set(mixed.splitlines()) - set(stray.data.splitlines())
    there = existing_paths(vault, caller, stray.id, is_event=False) if stray.id else [stray.path]
    texts = (files.read(vault.root, path) for path in there if files.exists(vault.root, path))
    return bool(added) and any(added <= set(text.splitlines()) for text in texts)


def _is_another_text(damage: MergeDamage, result: Tree) -> bool:
    """True if an event has another whole text than both sides. In a commit that is taken for a copy
    of another, since author, second and subject are the same, that may be what a sync chose."""
    data = result.get(damage.path, b"")
    is_event = damage.kind == WRONG_EVENT and note_id(data) == damage.id
    return is_event and not marked_conflicts(data)


def _is_taken_out(damage: MergeDamage, result: Tree) -> bool:
    """True if an event is nowhere in a commit that is taken for a copy of another. Git mixes and
    moves what it picks, and drops no new file: somebody has amended the copy, or it is none."""
    return (
        damage.kind == WRONG_EVENT
        and damage.path not in result
        and damage.id not in map(note_id, result.values())
    )


def _renamed_paths(root: str, commits: MergeRevisions, *, is_merge: bool) -> set[str]:
    """Old paths, and of a merge the new ones, of what git takes for renamed on one of the sides:
    nobody was asked about these notes."""
    found: set[str] = set()
    for base, side in product(commits.bases, (commits.ours, commits.theirs)):
        flags = ["-r", "-M", "--diff-filter=R", "--name-status", "-z", "--relative"]
        words = ["diff-tree", *flags, base, side]
        listed = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS).stdout
        # Status, old name, new name, and so on.
        fields = listed.split(b"\0")
        found |= {os.fsdecode(name) for name in fields[1::3]}
        if is_merge:  # two commits that are no copies of each other may look like such
            found |= {os.fsdecode(name) for name in fields[2::3]}
    return found


def _merged_text(stray: MergeDamage, merged: MergeCommit) -> bytes:
    """The text that a merge gave to a note that it mixed with another."""
    if stray.id:
        return next((data for data in merged.result.values() if note_id(data) == stray.id), b"")
    return merged.result.get(stray.path, b"")


def _repair_damage(
    vault: Vault, caller: Caller, wrong: DamagingCommit, restored: dict[str, str]
) -> tuple[MergeResolution | None, Problem | None]:
    """Put right what is still wrong in the work tree."""
    stray = wrong.damage
    if path := restored.get(stray.id or stray.path) if stray.kind == LOST else None:
        # Another merge had lost it, too: what each had changed in it.
        now = files.read(vault.root, path)
        files.replace(vault.root, path, _merge_without_conflicts(wrong.base, now, stray.data), now)
        return None, None
    there = existing_paths(vault, caller, stray.id, is_event=stray.kind == WRONG_EVENT)
    if stray.kind == DUPLICATED:
        return (join_files(vault, caller, *there) if len(there) > 1 else None), None
    if stray.kind in (MIXED, UNREADABLE):
        path = stray.path if stray.path in there or not there else there[0]
        return _restore_own_text(vault.root, path, wrong)
    if stray.kind == WRONG_EVENT:
        for path in filter(partial(files.exists, vault.root), stray.wrong_paths):
            merged = objects.read_at_revision(vault.root, wrong.commit, path)
            if not is_event_path(path) and same_text(files.read(vault.root, path), merged):
                files.remove(vault.root, path)
        there = [path for path in there if path.endswith(f"/{stray.id}.md")]
        there = [path for path in there if not _has_mixed_text(vault.root, path, wrong)]
    if there and not stray.has_copy:
        is_single = stray.kind == LOST and len(there) == 1
        return (_restore_lost_change(vault.root, there[0], wrong) if is_single else None), None
    done = _restore_lost_note(vault.root, wrong)
    if done and stray.kind == LOST and not stray.has_copy:
        restored[stray.id or stray.path] = done.path
    return done, None


def _restore_own_text(
    root: str, path: str, wrong: DamagingCommit
) -> tuple[MergeResolution | None, Problem | None]:
    """Give a note at `path` its own text back, with what was changed in it since the merge."""
    stray = wrong.damage
    if not files.exists(root, path):
        return None, None
    current = files.read(root, path)
    now = current.replace(b"\r\n", b"\n")
    if now == stray.data:
        return None, None
    mixed = objects.read_at_revision(root, wrong.commit, stray.path)
    if mixed is None or note_id(mixed) != stray.id:
        message = "was mixed with another note by a merge, and moved since"
        return None, Problem(path, message, f"cortex history {stray.id}")
    mixed = mixed.replace(b"\r\n", b"\n")
    if _is_written_since(root, wrong, mixed, now, path):
        return None, None
    own = stray.data if now == mixed else _merge_without_conflicts(mixed, now, stray.data)
    if own == now:
        return None, None
    files.replace(root, path, own, current)
    what = "merged its fields line by line; they are merged one by one"
    if stray.kind == MIXED:
        what = "mixed it with another note; its own text is back"
    return MergeResolution(path, f"git had {what}"), None


def _is_written_since(
    root: str, wrong: DamagingCommit, mixed: bytes, now: bytes, path: str, *, head: str = "HEAD"
) -> bool:
    """True if somebody wrote what git had mixed into a note into it again, after it was put right."""
    if not git_cli.is_ancestor(root, wrong.in_history, head):
        return False  # of a stash: what it mixed is committed since, if at all
    added = _added_lines(wrong.damage.data, mixed)
    words = ["log", *objects.RAW, "--no-renames", "--format=", "--no-merges"]
    words += [*_behind(root, wrong.in_history, head), "--", path, wrong.damage.path]
    changes = objects.list_raw(git_cli.run(root, words, timeout=_TIMEOUT_SECONDS))
    edits = [(one.old_blob, one.new_blob) for one in changes if one.status == "M"]
    texts = objects.read_blobs(root, [blob for edit in edits for blob in edit])
    pairs = [(texts.get(old, mixed), texts.get(new, mixed)) for old, new in edits]
    pairs.append((objects.read_at_revision(root, head, path) or mixed, now))
    return bool(added) and any(
        added.isdisjoint(old.splitlines()) and added & set(new.splitlines()) for old, new in pairs
    )


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
    words = ["rev-list", "-1", "--no-merges", *_behind(root, wrong.in_history), "--", path]
    if git_cli.run_unchecked(root, words).stdout:
        return None
    is_there = files.exists(root, path) and note_id(files.read(root, path)) == stray.id
    if is_there and not _has_mixed_text(root, path, wrong):
        return None
    path = write_back(root, path, stray.data)
    noun = "event" if stray.kind == WRONG_EVENT else "note"
    return MergeResolution(path, f"git had taken it for another {noun}; it is back")


def _restore_lost_change(root: str, path: str, wrong: DamagingCommit) -> MergeResolution | None:
    """Make in a note the change that git took for one of another note: it was brought back from a
    side that had not got it. None if the note had it at any time since."""
    stray, now = wrong.damage, files.read(root, path)
    own = without_markers(stray.data)  # as somebody committed them
    added = _added_lines(wrong.base, own)
    behind = _behind(root, wrong.in_history)
    later = (now, *_texts_in_history(root, behind, path, stray.path))
    if not wrong.base or any(added <= set(text.splitlines()) for text in later):
        return None
    files.replace(root, path, _merge_without_conflicts(wrong.base, now, own), now)
    return MergeResolution(path, "git had made a change of it in another note; it is here, too")


def _behind(root: str, commit: str, head: str = "HEAD") -> list[str]:
    """Words for `git log`: what was committed by those who had `commit` before them; what a stash
    made is in no history, and all that the head has since then counts."""
    is_in_history = git_cli.is_ancestor(root, commit, head)
    return ["--full-history", *(["--ancestry-path"] if is_in_history else []), f"{commit}..{head}"]


def _texts_in_history(root: str, revisions: list[str], *paths: str) -> list[bytes]:
    """The texts that notes at these paths had in these commits."""
    words = ["log", *objects.RAW, "--format=", "-m", *revisions, "--", *paths]
    listed = git_cli.run(root, words, timeout=_TIMEOUT_SECONDS)
    return list(
        objects.read_blobs(root, [one.new_blob for one in objects.list_raw(listed)]).values()
    )


def _has_mixed_text(root: str, path: str, wrong: DamagingCommit) -> bool:
    """True if an event's file still has the text that a merge has mixed."""
    now, mixed = files.read(root, path), objects.read_at_revision(root, wrong.commit, path)
    is_event = wrong.damage.kind == WRONG_EVENT and path.endswith(f"/{wrong.damage.id}.md")
    return is_event and same_text(now, mixed) and not same_text(now, wrong.damage.data)


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
