"""Give a note another name or place, and every link to it the new one."""

from __future__ import annotations

import os
from itertools import pairwise
from posixpath import basename, dirname, join, splitext

from cortex.core.model import problem
from cortex.core.model.caller import Caller
from cortex.core.model.layout import is_event_path
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.parameters import NoteName
from cortex.core.model.relation import LinkCandidate, NameResolver, basename_key, link_key
from cortex.core.notes.link_edit import CANVAS, Rename
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command, format_count, short_hash
from cortex.index.catalogue import NoteRow, hash_content
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.links import list_candidates
from cortex.index.refresh import IndexSession
from cortex.operations.find.resolve_note import find_all, find_one
from cortex.operations.records.change_record import RecordChange
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.record_lock import record_lock, refuse_during_git_operation
from cortex.vault import files
from cortex.vault.layout import SETTINGS_FILE, portability_problem
from cortex.vault.locate import Vault
from cortex.vault.state import change_memory

_IN_NO_LINK_RE = lazy_re(r"[#^\[\]|]")


def mv(
    vault: Vault, caller: Caller, old: NoteName, new: str, *, dry_run: bool = False
) -> RecordChange:
    """Rename or move a note, and change every link to it.

    A link stays as short as it was where that is clear, else it gets the path. Links in a note that
    moves are changed where they would break. Nothing else in any note changes, and code stays as it
    is. A card on a canvas is a link. An attachment is named by its path. If a note was renamed by
    other means, this changes the links that still have the old name.

    old: the note: its title, file name, path or id
    new: another name in its folder, a path in the vault, or a folder, which ends with `/`
    dry_run: only count the links and name the files

    Example: cortex mv "Meeting notes" Weekly
    Example: cortex mv Weekly archive/2026/
    """
    refuse_during_git_operation(vault)

    def survey(index: IndexSession) -> tuple[str, str, dict[str, NoteRow]]:
        rows = {row.path: row for row in index.catalogue.find(NoteFilter())}
        return (*_find_ends(vault, index, old, new), rows)

    (source, target, rows), problems = query_fresh(vault, caller, survey)
    is_done, steps = target in rows, [source, target]
    if link_key(f"{source}/") == link_key(f"{target}/"):  # they may be one name to the file system
        steps.insert(1, "-renaming".join(splitext(target)))
    with record_lock(vault):
        changes, count = _relink(vault, source, target, rows, problems)
        if is_done and not changes:
            message = f"there is no {source}, and no link to it"
            raise problem.NotFoundError(message, "cortex doctor names links to no note")
        if not dry_run:
            name, again = _memory_name(source, target), cortex_command("mv", old, new)
            problems += change_memory.write_changes(vault, name, changes, caller.progress, again)
        for here, there in pairwise(steps):
            if not (dry_run or is_done):
                files.move(vault.root, here, there)
    problems += [] if dry_run else try_heal(vault, caller)
    said = f"{format_count(count, 'link')} in {format_count(len(changes), 'file')}"
    undo = "" if dry_run or is_done else cortex_command("mv", f"./{target}", f"./{source}")
    id_ = rows[source].id if source in rows and rows[source].id != source else target
    links = tuple(target if path == source else path for path, *_ in changes)
    file = vault.file(target)
    outcome = "would be renamed" if dry_run else "mended" if is_done else "renamed"
    change = RecordChange(id_, target, outcome, undo, said, links, tuple(problems), file)
    return change._replace(total=count)


def _find_ends(vault: Vault, index: IndexSession, old: str, new: str) -> tuple[str, str]:
    """The path of what is to be renamed, and the one that it gets: the one that it has, if `new`
    is its name already and `old` another."""
    path = old.removeprefix(f"{vault.root}/").removeprefix("./")
    found, there = find_all(index.catalogue, path), find_all(index.catalogue, new)
    if not found and os.path.isfile(vault.file(path)) and files.checked_parts(path):
        return path, _target_path(vault, path, new)
    if len(found) != 1 and os.path.isdir(vault.file(path)) and files.checked_parts(path):
        hint = "it moves with your file manager, and cortex mv OLD NEW mends links to its notes"
        raise problem.InvalidInputError(f"{path} is a folder, which cannot be moved", hint)
    is_there = len(there) == 1 and basename_key(new) == basename_key(there[0].path)
    if is_there and (not found or (found == there and basename_key(path) != basename_key(new))):
        path = f"{path.removesuffix('.md')}.md"
        return path if "/" in path else join(dirname(there[0].path), path), there[0].path
    row = find_one(index.catalogue, path)
    if row.tier == TIER_TRAIL:
        hint = "give a record, or a note of yours: cortex search finds them"
        raise problem.InvalidInputError(f"{row.path} is never renamed", hint)
    return row.path, _target_path(vault, row.path, new)


def _target_path(vault: Vault, source: str, new: str) -> str:
    """The path that `new` means. Raises `InvalidInputError` for one that no note can have, and
    `ConflictError` for one that is taken."""
    path = new.removeprefix(vault.root) if new.startswith(f"{vault.root}/") else new
    if path.startswith(("/", "./")):
        path = path.partition("/")[2]
    elif "/" not in path:
        path = join(dirname(source), path)
    path += "" if path.rpartition("/")[2] else basename(source)
    suffix = splitext(source)[1]
    path += "" if path.lower().endswith(suffix.lower()) else suffix
    files.checked_parts(path)
    layout, why = vault.layout(), portability_problem(path)
    is_ours = layout.is_in(path, "events", "inbox", "briefings") or layout.is_run_file(path)
    if is_ours or is_event_path(path) or SETTINGS_FILE in (source, path):
        why = "only Cortex writes there"
    elif any(part.startswith(".") for part in f"{source}/{path}".split("/")):
        why = "what begins with a dot is not found"
    elif _IN_NO_LINK_RE.search(path):
        why = "no link can hold # ^ [ ] or |"
    if why:
        raise problem.InvalidInputError(f"{path}: {why}", "choose another name: cortex mv OLD NEW")
    names = files.list_names(vault.root, dirname(path))
    for taken in (join(dirname(path), name) for name in names):
        is_it = taken == source != path
        if not is_it and link_key(f"{taken}/") == link_key(f"{path}/"):
            hint = f"choose another name; {cortex_command('show', taken)} shows what is there"
            raise problem.ConflictError(f"{taken} is there already", hint)
    return path


def _relink(
    vault: Vault, old: str, new: str, rows: dict[str, NoteRow], problems: list[problem.Problem]
) -> tuple[list[tuple[str, bytes, bytes]], int]:
    """The notes that change, before and after, and how many links. What the reverse of this rename
    changed gets the bytes that it had, unless somebody has edited it since."""
    here = list_candidates(vault.root, rows)
    gone, path = (new, old) if new in rows else (old, new)
    there = [
        LinkCandidate(0, path, path if one.id == gone else one.id) if one.path == gone else one
        for one in here
    ]
    before, after = map(NameResolver, (there, here) if new in rows else (here, there))
    rename = Rename(old, new, before, after, is_done=new in rows)
    memory = change_memory.recall(vault, _memory_name(new, old))
    changes, count = [], 0
    for path in sorted(one.path for one in here if one.path.lower().endswith((".md", CANVAS))):
        row = rows.get(path)
        if is_event_path(path) or (row and row.tier == TIER_TRAIL):
            continue
        try:
            data = files.read(vault.root, path)
            text, links = rename.relink(data, path, has_id=row is not None and row.id != path)
        except (problem.CortexError, OSError) as error:
            problems.append(problem.problem_of(path, error))
            continue
        was = new if path == old else path, hash_content(data).hex()
        if (text := memory.get(was, text)) != data:
            changes.append((path, data, text))
            count += links
    return changes, count


def _memory_name(old: str, new: str) -> str:
    return f"mv-{short_hash(f'{old}{chr(0)}{new}', 16)}"
