"""Erase words, or a record with its events: what the vault, this machine and git hold of it."""

from __future__ import annotations

import os

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.layout import is_among_briefings, is_event_path
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, Problem
from cortex.core.notes import erasure
from cortex.core.notes.erasure import Eraser
from cortex.core.text.strings import cortex_command, format_count
from cortex.core.text.value import NamedTuple
from cortex.hosts import HOST_NAMES
from cortex.hosts.transcript_files import list_paths, transcript_folders
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.capture import new_event_id
from cortex.operations.share import erase_history
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.record_lock import record_lock, refuse_during_git_operation
from cortex.vault import erased, files, private, settings
from cortex.vault.git import changes, checkout, commit
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.layout import SETTINGS_FILE
from cortex.vault.locate import Vault

_MAX_UNASKED = 50  # files that are changed without a question
_MAX_STATE_BYTES = 1 << 30  # of one private file
_MAX_TRANSCRIPT_BYTES = 512_000_000  # of hosts' transcripts that are looked through


class ErasePlace(NamedTuple):
    """Where it stands."""

    kind: (
        str  # event, inbox, record, session, page, note, settings, file, state, git object, git ref
    )
    where: str  # a path, or what git calls it
    number: int = 1  # of objects of git


class EraseResult(NamedTuple):
    """What was, or would be, erased."""

    places: tuple[ErasePlace, ...]
    done: bool
    confirm: bool  # nothing was changed; `yes` would
    files: int  # of the vault that change
    rewritten: int = 0  # branches, tags and other refs
    backup: str = ""  # a bundle of the history before, which still holds it
    commands: tuple[str, ...] = ()  # that publish the rewritten history
    left: tuple[str, ...] = ()  # what still holds it
    hint: str = ""
    problems: tuple[Problem, ...] = ()


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

    The words are found in any case, also within longer ones. In their place stands [ERASED], in names
    and links erased; your own notes change there alone. Of an id the record goes, and its events keep
    only where they came from. A list in the vault, without the words, keeps an old clone from bringing
    it back. Git's history keeps it but with --history: then commits get other ids and lose signatures;
    a bundle of the old history is named, and the commands that publish the new one.

    words: the words, or the id of a record or event
    history: rewrite git's history, too
    dry_run: only list where it stands
    yes: do not ask, however many files change

    Example: cortex erase "Wilhelmina Quux" --dry-run
    Example: cortex erase hunter2 --history
    Example: cortex erase use-sqlite-k3f7q2
    """
    text = " ".join(words).strip()
    settings.check_writable(vault.root)
    refuse_during_git_operation(vault)
    in_git = checkout.is_in_repository(vault.root)
    if history and not in_git:
        raise InvalidInputError("the vault is in no git repository", cortex_command("erase", text))
    problems = bring_up_to_date(vault, caller)
    eraser = _make_eraser(vault, caller, text)
    if history:
        erase_history.check_rewritable(vault)
        problems += [] if dry_run else erase_history.fetch_all(vault.root)
    found = find_files(vault, eraser)
    objects = erase_history.find(vault, eraser) if in_git else {}
    result = _list_places(vault, eraser, found, objects)
    again = cortex_command("erase", text, "--history")
    if not result.places:
        return result._replace(hint="it stands nowhere", problems=tuple(problems))
    if dry_run or (len(found) > _MAX_UNASKED and not yes):
        hint = f"{again if history else cortex_command('erase', text)} --yes"
        return result._replace(confirm=not dry_run, hint=hint, problems=tuple(problems))
    problems += apply(vault, caller, eraser, found, objects, history=history)
    result = result._replace(done=True, problems=tuple(problems))
    if history:
        rewritten = erase_history.rewrite_history(vault, new_event_id(caller), eraser)
        return result._replace(
            rewritten=rewritten.refs, backup=rewritten.backup, commands=rewritten.commands,
            left=(*result.left, *rewritten.left),
            hint=f"if a push is refused, since somebody pushed meanwhile: {again}",
        )  # fmt: skip
    if objects:
        told = f"{format_count(len(objects), 'object')} of git, here and where they were pushed"
        return result._replace(left=(*result.left, f"{told}: {again}"))
    return result


def _list_places(
    vault: Vault, eraser: Eraser, found: dict[str, bytes], objects: dict[str, str]
) -> EraseResult:
    places = [ErasePlace(_kind_of(path), path) for path in found]
    places += [ErasePlace("state", path) for path in _find_state(vault, eraser)]
    places += [ErasePlace(*one) for one in erase_history.describe(vault.root, objects)]
    left = tuple(f"{path}: its host may still send it" for path in _find_transcripts(eraser))
    return EraseResult(tuple(places), False, False, len(found), left=left)


def apply(
    vault: Vault,
    caller: Caller,
    eraser: Eraser,
    found: dict[str, bytes],
    objects: dict[str, str],
    *,
    history: bool,
) -> list[Problem]:
    """Erase it from these files of the vault and from all that is derived, and commit that."""
    with record_lock(vault):
        done, problems = _erase_files(vault, caller, eraser, found, objects, history=history)
    _drop_derived(vault, eraser)
    problems += try_heal(vault, caller)
    if not checkout.is_in_repository(vault.root):
        return problems
    ours = changes.list_changes(vault.root)
    known, tracked = {one.path for one in ours}, erase_history.tracked(vault.root)
    more = [one for one in done if one.path not in known and {one.path, one.moved_with} & tracked]
    try:
        made = commit.commit_changes(vault.root, [*ours, *more])
    except ConflictError as error:
        return [*problems, Problem(".git", f"nothing is committed: {error.message}", error.hint)]
    return [*problems, *made.problems, *made.withheld]


def _make_eraser(vault: Vault, caller: Caller, text: str) -> Eraser:
    def look_up(index: IndexSession) -> Eraser | None:
        named = [row for row in index.catalogue.find(NoteFilter(ids=(text,))) if row.id != row.path]
        if not named:
            return None
        if not is_event_path(named[0].path):
            return erasure.make_eraser((), [text], named[0].events)
        made = index.catalogue.find(NoteFilter(event=text, not_types=("session",)))
        alone = [row.id for row in made if set(row.events) == {text}]
        return erasure.make_eraser((), alone, [text])

    if eraser := query_index(vault, caller.progress, look_up):
        return eraser
    if events.is_event_id(text):
        return erasure.make_eraser((), events=[text])
    if len(text) < erasure.MIN_CHARS:
        message = f"{text!r} has fewer than {erasure.MIN_CHARS} characters, and stands everywhere"
        raise InvalidInputError(message, "give more of what is to go")
    return erasure.make_eraser([text])


def find_files(vault: Vault, eraser: Eraser) -> dict[str, bytes]:
    """The vault's files that change, or whose names do, with their content."""
    found = {}
    for folder, folders, names in os.walk(vault.root):
        below = os.path.relpath(folder, vault.root)
        parent = "" if below == "." else f"{below}/"
        folders[:] = [name for name in folders if name != ".git"]
        for path in (parent + name for name in sorted(names)):
            if path.startswith(f"{erased.folder_of(vault.root)}/") or path == ".git":
                continue
            try:
                data = files.read(vault.root, path)
            except (CortexError, OSError):
                continue  # a link, or what nobody may read
            is_named = eraser.erase_name(os.fsencode(path)) != os.fsencode(path)
            if is_named or eraser.erase(path, data) != data or eraser.holds(data):
                found[path] = data
    return found


def _kind_of(path: str) -> str:
    if is_event_path(path):
        return "inbox" if "inbox/" in path else "event"
    if is_among_briefings(path):
        return "page"
    if path == SETTINGS_FILE:
        return "settings"
    own = next((one for one in ("record", "session") if f"/{one}s/" in f"/{path}"), "")
    return own or ("note" if path.endswith(".md") else "file")


def _find_state(vault: Vault, eraser: Eraser) -> list[str]:
    """The private files of this user about the vault that hold it, and the caches of its notes."""
    walked = [*os.walk(vault.state_folder()), *os.walk(vault.cache_folder())]
    paths = [os.path.join(folder, name) for folder, _, names in walked for name in sorted(names)]
    return [
        path
        for path in paths
        if not path.endswith(".bundle") and eraser.holds(private.read(path, _MAX_STATE_BYTES))
    ]


def _find_transcripts(eraser: Eraser) -> list[str]:
    found, read = [], 0
    for host in HOST_NAMES:
        for folder in transcript_folders(host, os.environ):
            for path in list_paths(host, folder):
                data = private.read(path, max(0, _MAX_TRANSCRIPT_BYTES - read))
                read += len(data)
                found += [path] if eraser.holds(data) else []
    return found


def _erase_files(
    vault: Vault,
    caller: Caller,
    eraser: Eraser,
    found: dict[str, bytes],
    objects: dict[str, str],
    *,
    history: bool,
) -> tuple[list[UncommittedChange], list[Problem]]:
    """Change the files and add to the list of what was erased."""
    root, problems = vault.root, []
    done: dict[str, UncommittedChange] = {}
    lines = erase_history.list_lines(vault, eraser, objects, history=history)
    for path, data in found.items():
        try:
            new = eraser.erase(path, data)
            target = os.fsdecode(eraser.erase_name(os.fsencode(path)))
            if new is None:
                files.remove(root, path)
            elif new != data:
                files.replace(root, path, new, data)
            if new is not None and target != path:
                while files.exists(root, target):
                    folder, slash, name = target.rpartition("/")
                    target = f"{folder}{slash}2-{name}"
                files.move(root, path, target)
                done[target] = UncommittedChange(target, "A", path)
            moved = new is None or target != path
            done[path] = UncommittedChange(
                path, "D" if moved else "M", target if target != path else ""
            )
            if is_event_path(path):
                blob = erased.blob_id(new or b"", is_sha256=erase_history.is_sha256(root))
                lines.append(("event", events_id(path), blob))
            if new == data and target == path:
                problems.append(
                    Problem(path, "holds it and is no text", "remove it, then run this again")
                )
        except (CortexError, OSError) as error:
            problems.append(Problem(path, f"was not erased: {error}", "run the command again"))
    lines += [("record", id_) for id_ in eraser.records]
    path = erased.add_lines(root, new_event_id(caller), sorted(set(lines)))
    return [*done.values(), UncommittedChange(path, "A")], problems


def events_id(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _drop_derived(vault: Vault, eraser: Eraser) -> None:
    """Remove what is derived, under the lock of the index, and what the state holds of it."""
    cache = vault.cache_folder()
    with private.lock(os.path.join(cache, "index.lock"), "search index", wait=600.0):
        for name in files.list_folder(cache):
            if not name.endswith((".lock", ".sock")):
                private.remove(os.path.join(cache, name))
    for path in _find_state(vault, eraser):
        data = private.read(path, _MAX_STATE_BYTES)
        if erasure.is_binary(data):
            private.remove(path)
        else:
            private.replace(path, eraser.erase_text(data, is_plain=True))
