"""The verb `erase`: remove words, or a record with its events, from the vault, caches and git."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import suppress

from cortex.core.merge.note_versions import stem_of
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.layout import OWN_FOLDERS, is_event_path
from cortex.core.model.note_status import KEY_ORDER
from cortex.core.model.problem import CortexError, InvalidInputError, Problem, problem_of
from cortex.core.model.record import RECORD_TYPES
from cortex.core.notes import erasure
from cortex.core.notes.erasure import Eraser
from cortex.core.text.strings import cortex_command, format_count, shell_quote
from cortex.hosts import HOST_NAMES
from cortex.hosts.transcript_files import list_paths, transcript_folders
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.capture import new_event_id
from cortex.operations.sessions import rules_file
from cortex.operations.sessions.brief import brief
from cortex.operations.share import erase_history
from cortex.operations.share.erase_history import ErasePlace, EraseResult
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.record_lock import record_lock, refuse_during_git_operation
from cortex.vault import erased, files, private, settings
from cortex.vault.git import changes, checkout, commit, git_cli, objects as git, rewrite
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.locate import Vault, find_personal_vault

_MAX_UNASKED = 50  # files that are changed without a question
_MAX_STATE_BYTES = 1 << 30  # of one private file
_MAX_TRANSCRIPT_BYTES = 64_000_000  # of a host's transcript that are looked through


def erase(
    vault: Vault,
    caller: Caller,
    words: list[str],
    *,
    history: bool = False,
    dry_run: bool = False,
    yes: bool = False,
) -> EraseResult:
    """Erase words, or a record with its events, for good.

    The words are found in upper and lower case, and inside longer words. In texts they become
    [ERASED], in file names and links erased. An id erases the record and the text of its events.
    The vault keeps a list of ids and hashes, never the words, so that no old clone brings them back;
    new text with the same words is not refused.

    Git's history keeps the words unless --history rewrites it: commits get new ids and lose their
    signatures. The answer names a bundle of the old history, and the commands that push the new one;
    run cortex sync --follow in each other clone.

    words: the words, or the id of a record or event
    history: erase from git's history, too
    dry_run: only list the places that hold the words
    yes: do not ask, however many files change

    Example: cortex erase "Wilhelmina Quux" --dry-run
    Example: cortex erase hunter2 --history
    Example: cortex erase use-sqlite-k3f7q2
    """
    text = " ".join(words).strip()
    settings.check_writable(vault.root)
    refuse_during_git_operation(vault)
    problems = bring_up_to_date(vault, caller)
    eraser = _make_eraser(vault, caller, text)
    if history and not dry_run:
        erase_history.check_rewritable(vault.root)
        problems += erase_history.fetch_all(vault.root)
    found = find_files(vault, eraser)
    objects = rewrite.find_objects(vault.root, eraser.holds)
    result = _list_places(vault, text, eraser, found, objects)._replace(problems=tuple(problems))
    again = cortex_command("erase", text, "--history")
    if not result.places:
        return result._replace(hint="found nowhere")
    is_in_files = any(not one.kind.startswith("git ") for one in result.places)
    if dry_run or (len(found) > _MAX_UNASKED and not yes):
        hint = again if history or not is_in_files else cortex_command("erase", text)
        hint += " --yes" if len(found) > _MAX_UNASKED else ""
        return result._replace(confirm=not dry_run, hint=hint)
    if history or is_in_files:
        problems += apply(vault, caller, eraser, found, objects, history=history)
        result = result._replace(done=True, problems=tuple(problems))
    result = result._replace(left=(*result.left, *_renew_written(vault, caller, eraser)))
    if history and git_cli.has_commit(vault.root):
        at_once = private.lock(os.path.join(checkout.locks_folder(vault), "sync.lock"), "sync")
        with at_once, commit.repository_lock(vault.root):
            result = erase_history.rewrite_history(vault, caller, eraser, result)
        hint = f"if a push is refused, since somebody pushed meanwhile: {again}"
        return result._replace(hint=hint if result.commands else "")
    kept = f"{format_count(len(objects), 'object')} of git, here and where they were pushed"
    return result._replace(left=(*result.left, kept), hint=again) if objects else result


def _list_places(
    vault: Vault, text: str, eraser: Eraser, found: dict[str, bytes], objects: dict[str, str]
) -> EraseResult:
    kinds = {path: vault.layout().own_folder(path) or "file" for path in found}
    places = [ErasePlace(kind.removesuffix("s"), path) for path, kind in kinds.items()]
    places += [ErasePlace("state", path) for path in _find_private_files(vault, eraser)]
    places += erase_history.describe(vault.root, objects)
    left = [f"{path}, which its host keeps" for path in _find_transcripts(eraser)]
    old = glob.iglob(f"{glob.escape(vault.state_folder())}/*.bundle")
    left += [f"{path}, a history of before an erase: rm it" for path in old]
    old = glob.iglob(f"{glob.escape(vault.state_folder())}/*.tar")
    left += [f"{one}, a backup: rm it" for one in old if eraser.holds(private.read(one, 1 << 30))]
    if (own := find_personal_vault(vault)) and (number := len(find_files(own, eraser))):
        command = f"cortex --vault {shell_quote(own.root)} {cortex_command('erase', text)[7:]}"
        left.append(f"your own vault {own.root}, in {format_count(number, 'file')}: {command}")
    return EraseResult(tuple(places), False, False, len(found), left=tuple(left))


def _renew_written(vault: Vault, caller: Caller, eraser: Eraser) -> Iterator[str]:
    """Write anew what Cortex keeps in files of the project around, and name those that still hold
    it."""
    top = git.toplevel(vault.root)
    with suppress(InvalidInputError):  # the vault itself
        root = rules_file.project_root(vault, caller.cwd if top == vault.root else top)
        for path in (rules_file.BRIEFING_FILE, rules_file.AGENTS_FILE, "CLAUDE.md"):
            with suppress(CortexError, OSError):
                data = files.read(root, path)
                if eraser.holds(data) and b"<!-- cortex:" in data:
                    is_agents = path == rules_file.AGENTS_FILE
                    brief(vault, caller._replace(cwd=root), into="agents" if is_agents else "rules")
                    data = files.read(root, path)
                if eraser.holds(data):
                    yield f"{root}/{path}, outside of the vault: edit it, and commit that"


def _make_eraser(vault: Vault, caller: Caller, text: str) -> Eraser:
    def look_up(index: IndexSession) -> Eraser | None:
        named = [row for row in index.catalogue.find(NoteFilter(ids=(text,))) if row.id != row.path]
        if not named:
            return None
        if not is_event_path(named[0].path):
            return erasure.make_eraser((), [text], named[0].events)
        made = index.catalogue.find(NoteFilter(event=text, not_types=("session",)))
        return erasure.make_eraser((), [row.id for row in made if row.events == (text,)], [text])

    if eraser := query_index(vault, caller.progress, look_up):
        return eraser
    own = (*KEY_ORDER, *OWN_FOLDERS, *events.EVENT_TYPES, *RECORD_TYPES)
    if len(text) < erasure.MIN_CHARS or any(text.casefold() in word for word in own):
        message = f"{text!r} is too short, or a part of what every note holds"
        raise InvalidInputError(message, "give a longer part of the text to erase")
    return erasure.make_eraser([text])


def find_files(vault: Vault, eraser: Eraser) -> dict[str, bytes]:
    """The vault's files that change, or whose names do, with their content."""
    found = {}
    for folder, folders, names in os.walk(vault.root):
        below = os.path.relpath(folder, vault.root)
        folders[:] = [name for name in folders if name != ".git"]
        for path in (os.path.normpath(f"{below}/{name}") for name in sorted([*names, *folders])):
            full = os.path.join(vault.root, path)
            with suppress(CortexError, OSError):  # a folder, or what nobody may read
                is_link = os.path.islink(full)
                data = os.fsencode(os.readlink(full)) if is_link else files.read(vault.root, path)
                if _new_name(eraser, path) != path or eraser.holds(data):
                    found[path] = data
    return found


def _new_name(eraser: Eraser, path: str) -> str:
    return os.fsdecode(eraser.erase_name(os.fsencode(path)))


def _find_private_files(vault: Vault, eraser: Eraser) -> list[str]:
    """The paths of state and cache files, outside the vault, that hold what is to be erased."""
    walked = [*os.walk(vault.state_folder()), *os.walk(vault.cache_folder())]
    paths = [os.path.join(folder, name) for folder, _, names in walked for name in sorted(names)]
    paths = [path for path in paths if not path.endswith((".bundle", ".tar"))]
    return [path for path in paths if eraser.holds(private.read(path, _MAX_STATE_BYTES))]


def _find_transcripts(eraser: Eraser) -> list[str]:
    paths = (
        path
        for host in HOST_NAMES
        for folder in transcript_folders(host, os.environ)
        for path in list_paths(host, folder)
    )
    return [path for path in paths if eraser.holds(private.read(path, _MAX_TRANSCRIPT_BYTES))]


def apply(
    vault: Vault, caller: Caller, eraser: Eraser, found: dict[str, bytes], objects: dict[str, str],
    *, history: bool, names_stay: bool = False,
) -> list[Problem]:  # fmt: skip
    """Erase it from these files and all that is derived, commit that with the list of what was erased
    (without ids of records if `names_stay`: a topic may go on). Returns what was not done."""
    root, id_chars, tracked = vault.root, 40, set[str]()
    hashes = filter(None, map(erasure.hash_of_id, () if names_stay else eraser.records))
    lines: set[tuple[str, ...]] = {("record", hash_) for hash_ in hashes}
    if checkout.is_in_repository(root):
        lines |= set(erase_history.list_lines(root, eraser, objects, history=history))
        id_chars = len(git.empty_tree(root))
        tracked |= {os.fsdecode(one) for one in git_cli.run(root, ["ls-files", "-z"]).split(b"\0")}
    problems, changed = list[Problem](), set[str]()
    with record_lock(vault):
        for path, data in found.items():
            try:
                is_link = os.path.islink(os.path.join(root, path))
                new = data if is_link else eraser.erase(path, data)
                name = path if is_link or new is None else _new_name(eraser, path)
                target = _free_name(root, path, name)
                if is_event_path(path) and new is not None:
                    lines.add(("event", stem_of(path), erased.blob_id(new, id_chars)))
                if is_link or (new == data and eraser.holds(data)):
                    why = f"holds it and is {'a link' if is_link else 'not UTF-8 text'}"
                    rm = f"{'git ' * (path in tracked)}rm {shell_quote(target)}"
                    problems.append(Problem(target, why, f"{rm}, then run this again"))
                if (new, target) == (data, path):
                    continue
                if target == path and new is not None:
                    files.replace(root, path, new, data)
                else:
                    if new is not None:
                        files.create(root, target, new)
                    files.remove(root, path)
                changed |= {path, target} if path in tracked else set()
            except (CortexError, OSError) as error:
                problems.append(problem_of(path, error, "run the command again"))
        if lines:
            erased.add_lines(root, new_event_id(caller), sorted(lines))
    drop_derived(vault, eraser)
    problems += try_heal(vault, caller)
    if not checkout.is_in_repository(root):
        return problems
    # Also what a run that was killed has changed.
    has_any = objects and git_cli.has_commit(root)
    for path in git.find_blobs(root, "HEAD", objects) if has_any else ():
        changed |= {path, _new_name(eraser, path)}
    changed = {one for one in changed if one in tracked or files.exists(root, one)}
    ours = changes.list_changes(root)
    more = sorted(changed - {one.path for one in ours})
    made = commit.commit_changes(root, [*ours, *(UncommittedChange(path, "M") for path in more)])
    return [*problems, *made.problems, *made.withheld, *made.refused]


def _free_name(root: str, path: str, target: str) -> str:
    """The name that a file gets: another one where that is taken."""
    while target != path and files.exists(root, target):
        folder, name = os.path.split(target)
        target = os.path.join(folder, f"2-{name}")
    return target


def drop_derived(vault: Vault, eraser: Eraser) -> None:
    """Remove what is derived, under the lock of the index, and what the state holds of it."""
    cache = vault.cache_folder()
    with private.lock(os.path.join(cache, "index.lock"), "search index", wait=600.0):
        for name in files.list_folder(cache):
            if not name.endswith((".lock", ".sock")):
                private.remove(os.path.join(cache, name))
    for path in _find_private_files(vault, eraser):
        data = private.read(path, _MAX_STATE_BYTES)
        private.replace(path, eraser.erase_text(data, is_plain=True))
