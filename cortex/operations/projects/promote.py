"""Knowledge moves from a project's vault to the person's own, with the events that it came from."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.note_form import NESTED
from cortex.core.model.note_status import HIDDEN_STATUSES
from cortex.core.model.parameters import NoteName
from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError, Problem
from cortex.core.model.record import ONE_PERSONS_SCOPES
from cortex.core.notes import edit, note as notes
from cortex.core.notes.note import Note, scope_of_one_person
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import (
    RESERVED_STEMS,
    cortex_command,
    shell_quote,
    short_hash,
    slugify,
    text_digest,
)
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE, TRAIL, NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.resolve_note import command, find_one
from cortex.operations.records.change_record import (
    edit_notes_and_heal,
    find_editable,
    is_persons_own,
    remove_unchanged,
)
from cortex.operations.records.save import ensure_personal_vault
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.heal import try_heal
from cortex.vault import files, settings
from cortex.vault.git import objects
from cortex.vault.locate import Vault, personal_vault_problem
from cortex.vault.state.change_marker import mark_briefings_stale

_SAFE_NAME_RE = lazy_re(r"[a-z0-9][a-z0-9._-]{0,99}")


class PromoteResult(NamedTuple):
    """A record in the person's own vault."""

    id: str
    title: str
    path: str  # in the person's own vault
    file: str  # absolute path
    vault: str  # the root of that vault
    outcome: str  # created, or unchanged: it was there already
    source: str  # what became of the project's record: archived, or kept
    source_path: str
    events: tuple[str, ...]  # that its provenance names and that lie there now
    links: tuple[str, ...]  # what it links to that only the project's vault has
    undo: tuple[str, ...]  # the commands that take it back
    problems: tuple[Problem, ...]


class _PromotionSource(NamedTuple):
    row: NoteRow
    events: dict[str, str]  # id -> path of the events that are there
    links: dict[str, str]  # what it links to, and the project's vault has: key -> as it is written


def promote(vault: Vault, caller: Caller, note: NoteName, *, keep: bool = False) -> PromoteResult:
    """Move a record to your own vault, for every project.

    Your own vault is the default one (cortex init --default). The record is copied there with its
    id, its text and its events; promoted_from: names the project. The project's record stays where it
    is, archived, with promoted_to: personal, so that links and teammates still find it. It is removed
    if it says scope: personal, or if it says scope: global and is not committed. A note of your own
    moves unchanged, to the same path. Secrets are not searched for again. If interrupted, run it again.

    note: an id or path, as search shows it
    keep: leave the project's record as it is

    Example: cortex promote publish-by-link-k3f7q2
    Example: cortex promote publish-by-link-k3f7q2 --keep
    """
    own, _ = ensure_personal_vault(vault)
    if own.root == vault.root:
        _require_personal_vault(vault)
    source, problems = query_fresh(vault, caller, _load_source, note)
    row = source.row
    if is_persons_own(row):
        return _move_own_note(vault, caller, own, row, keep=keep)
    original = notes.read_strict(files.read(vault.root, row.path), row.path)
    copy = _personal_copy(original, vault, own)
    outcome, path, missing_links = query_index(own, caller.progress, _plan_copy, own, source, copy)
    problems += _missing_event_problems(original, source)
    _copy_events(vault, own, source.events)
    if outcome == "created" and not _publish_copy(own, row._replace(path=path), copy):
        outcome = "unchanged"
    with suppress(FileNotFoundError):  # an interrupted run may have named it and not come further
        files.sync_folder(own.root, path.rpartition("/")[0])
    problems += try_heal(own, caller)
    is_removed = not keep and _leaves_project(vault, row, original)
    if not keep:
        try:
            problems += _archive_or_remove(vault, caller, source, original, is_removed=is_removed)
        except ConflictError:
            # The record has changed since it was copied; the next run copies the new text.
            if outcome == "created":
                remove_unchanged(own, path, notes.write(copy))
                try_heal(own, caller)
            raise
    back = command("--vault", own.root, "delete", row._replace(path=path))
    return PromoteResult(
        id=row.id,
        title=row.title,
        path=path,
        file=own.file(path),
        vault=own.root,
        outcome=outcome,
        source="kept" if keep else "removed" if is_removed else "archived",
        source_path=row.path,
        events=tuple(sorted(source.events)),
        links=tuple(source.links[key] for key in missing_links),
        undo=(back,) if keep or is_removed else (command("restore", row), back),
        problems=tuple(problems),
    )


def _leaves_project(vault: Vault, row: NoteRow, original: Note) -> bool:
    """Whether the record is removed from the project: it is personal, or global and unpublished."""
    scope = scope_of_one_person(original)
    is_published = scope == "global" and objects.read_committed(vault.root, [row.path])
    return bool(scope) and not is_published


def _move_own_note(
    vault: Vault, caller: Caller, own: Vault, row: NoteRow, *, keep: bool
) -> PromoteResult:
    """Move a note of a person's own to their vault, byte for byte."""
    data, target = files.read(vault.root, row.path), own.file(row.path)
    settings.check_writable(own.root)
    outcome = "created"
    try:
        files.create(own.root, row.path, data)
    except FileExistsError:
        if files.read(own.root, row.path) != data:
            hint = "rename one of the two, then promote again"
            raise ConflictError(f"{target} is there with another text", hint) from None
        outcome = "unchanged"
    if not keep:
        remove_unchanged(vault, row.path, data)
    back = f"mv -n {shell_quote(target)} {shell_quote(vault.file(row.path))}"
    return PromoteResult(
        id=row.id, title=row.title, path=row.path, file=target, vault=own.root, outcome=outcome,
        source="kept" if keep else "removed", source_path=row.path, events=(), links=(), undo=(back,),
        problems=tuple(try_heal(vault, caller)),
    )  # fmt: skip


def _missing_event_problems(original: Note, source: _PromotionSource) -> list[Problem]:
    message = f"the provenance of {source.row.id} names it, and it is not there"
    return [
        Problem(event, message, "cortex history shows where it went")
        for event in original.provenance()[0]
        if event not in source.events
    ]


def _archive_or_remove(
    vault: Vault, caller: Caller, source: _PromotionSource, original: Note, *, is_removed: bool
) -> list[Problem]:
    """Archive the project's record, or remove it with its personal events; all are copied."""
    if not is_removed:
        archived = partial(_archive_original, original, caller.now)
        return [*edit_notes_and_heal(vault, caller, [(source.row.path, archived)])[1]]
    mark_briefings_stale(vault)
    for path in source.events.values():
        event = notes.read(files.read(vault.root, path), path)
        if event.get("scope") in ONE_PERSONS_SCOPES:
            files.remove(vault.root, path)
    files.remove(vault.root, source.row.path)
    return try_heal(vault, caller)


def _require_personal_vault(vault: Vault) -> None:
    if problem := personal_vault_problem(vault):
        raise NotFoundError(f"{problem.where} {problem.message}", problem.hint)
    hint = "cortex init ~/notes --default makes one, which is then searched from every project"
    raise NotFoundError("there is no vault of your own beside this one", hint)


def _load_source(index: IndexSession, name: str) -> _PromotionSource:
    if is_persons_own(found := find_one(index.catalogue, name)):
        return _PromotionSource(found, {}, {})
    row = find_editable(index, name)
    if row.type == "session":
        hint = "promote what was learnt in it: cortex search shows the records"
        raise InvalidInputError(f"{row.id} is a session, which belongs to its project", hint)
    if row.status in HIDDEN_STATUSES:
        hint = f"{command('restore', row)}, or promote what holds now"
        raise InvalidInputError(f"{row.id} is {row.status}", hint)
    stored = index.catalogue.find(TRAIL._replace(ids=row.events))
    stated = index.catalogue.edges_of(NoteFilter(numbers=(row.number,))).get(row.number, [])
    known = index.catalogue.notes_named([edge.key for edge in stated])
    return _PromotionSource(
        row,
        {one.id: one.path for one in stored},
        {edge.key: edge.target for edge in stated if edge.key in known},
    )


def _plan_copy(
    index: IndexSession, own: Vault, source: _PromotionSource, copy: Note
) -> tuple[str, str, list[str]]:
    """Plan the copy: the outcome, the path, and the links that lead nowhere in that vault."""
    row = source.row
    others = [key for key in source.links if key not in source.events]
    known = index.catalogue.notes_named(others)
    links = [key for key in others if key not in known]
    for existing in index.catalogue.find(KNOWLEDGE._replace(ids=(row.id,)), "path"):
        if existing.status in HIDDEN_STATUSES:
            hint = command("--vault", own.root, "restore", existing)
            raise ConflictError(f"{row.id} is in your own vault, {existing.status}", hint)
        _check_same_text(own, existing, copy)
        return "unchanged", existing.path, links
    is_safe = _SAFE_NAME_RE.fullmatch(row.id) and row.id.split(".")[0] not in RESERVED_STEMS
    name = row.id if is_safe else f"{slugify(row.id)}-{short_hash(row.id)}"
    folder = row.type if _SAFE_NAME_RE.fullmatch(row.type) else slugify(row.type or "note")
    return "created", own.layout().record(folder, name), links


def _publish_copy(own: Vault, row: NoteRow, copy: Note) -> bool:
    """Write the copy; False when another run did. `ConflictError` when something else is there."""
    settings.check_writable(own.root)
    mark_briefings_stale(own)  # a run that ends here leaves briefings to heal
    try:
        files.create(own.root, row.path, notes.write(copy))
    except FileExistsError:
        _check_same_text(own, row, copy)
        return False
    return True


def _check_same_text(own: Vault, row: NoteRow, copy: Note) -> None:
    """`ConflictError` unless the note at the row's path has its id and the text of `copy`."""
    note = notes.read(files.read(own.root, row.path), row.path)
    file = own.file(row.path)
    if note.get("id") != row.id:
        raise ConflictError(f"{file} is another note", "move it, then promote again")
    if _content(note) != _content(copy):
        delete = command("--vault", own.root, "delete", row, "--hard", "--yes")
        hint = f"bring what is new into that one by hand; or {delete}, then promote again"
        raise ConflictError(f"{row.id} is in your own vault with another text: {file}", hint)


def _content(note: Note) -> tuple[str, str]:
    return text_digest(note.title), text_digest(note.text_below_title)


def _copy_events(vault: Vault, own: Vault, there: dict[str, str]) -> None:
    """Copy events byte for byte, to where normalized ones lie."""
    layout = own.layout()
    for id_, path in sorted(there.items()):
        target = layout.path(f"events/{slugify(id_)}-{short_hash(id_)}.md")
        if events.is_event_id(id_):
            target = layout.event(id_)
        data = files.read(vault.root, path)
        try:
            files.create(own.root, target, data)
        except FileExistsError:
            if files.read(own.root, target) != data:
                message = f"the event {id_} is in your own vault with other content"
                hint = f"compare it with {vault.file(path)}"
                raise ConflictError(message, hint) from None
            files.sync_folder(own.root, target.rpartition("/")[0])


def _personal_copy(note: Note, vault: Vault, own: Vault) -> Note:
    """The record as it is to lie in the person's vault. What a project's archive or an earlier
    promotion said of it stays behind. `InvalidInputError` if that vault's format is older."""
    form = settings.load(own.root).form
    if note.is_flat and note.provenance()[0] and not form.is_flat:
        hint = cortex_command("--vault", own.root, "upgrade")
        raise InvalidInputError("your own vault is of an older format than this one", hint)
    # What was personal before is so in its project alone; of none goes without saying there.
    name = note.get_in("project", settings.load(vault.root).form)
    project = name if note.get("scope") == "personal" else ""
    fields = {
        "scope": "global" if note.get("scope") == "global" else "personal" if project else "",
        **(form if note.is_flat else NESTED).stated(project=project, branch=""),
        "promoted_from": name or os.path.basename(vault.root),
    }
    is_archived = note.get("status").lower() == "archived"
    return edit.with_fields(edit.restore_active_status(note) if is_archived else note, fields)


def _archive_original(copied: Note, now: str, note: Note) -> Note:
    """The project's record after promotion; `ConflictError` if it was changed since the copy."""
    if note.get("promoted_to") and note.get("status").lower() == "archived":
        return note
    if notes.write(note) != notes.write(copied):
        hint = "run the command again"
        raise ConflictError("the record was changed by somebody else just now", hint)
    said = {"archived_at": note.get("archived_at") or now, "promoted_to": "personal"}
    return edit.with_updated(edit.set_inactive_status(note, "archived", said), now)
