"""Edit one note under the record lock, and the minutes from which an action came like it."""

from __future__ import annotations

from collections.abc import Callable

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError, Problem, problem_of
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.notes.relations import parse_link_target, relations_of
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.index.refresh import query_index
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale

_MAX_ATTEMPTS = 5

NoteEdit = Callable[[Note], Note]


def edit_note(vault: Vault, path: str, edit: NoteEdit) -> bool:
    """Edit one note under the record lock; False when nothing changed. If an editor writes
    meanwhile, its version is read and edited again. Raises `ConflictError` after 5 attempts."""
    with record_lock(vault):
        return edit_locked(vault, path, edit)


def edit_locked(vault: Vault, path: str, edit: NoteEdit) -> bool:
    """The same for a caller that holds the record lock."""
    for _ in range(_MAX_ATTEMPTS):
        before = files.read(vault.root, path)
        after = notes.write(edit(notes.read_strict(before, path)))
        if after == before:
            return False
        mark_briefings_stale(vault)  # a run that ends here leaves briefings to heal
        try:
            files.replace(vault.root, path, after, before)
        except ConflictError:
            continue
        return True
    raise ConflictError(f"{path} changes faster than it can be edited", "run the command again")


def tick_minutes(
    vault: Vault, caller: Caller, id_: str, path: str, *, done: bool
) -> tuple[dict[str, str], list[Problem]]:
    """Tick an action, or open it again, in the minutes from which it came: that line alone. Returns
    the path and line of each that changed, with what is lost of it, and what could not be."""
    try:
        child = notes.read_strict(files.read(vault.root, path), path)
        sources = (text for kind, text in relations_of(child.fields) if kind == "derived_from")
        targets = set(map(parse_link_target, sources))
        if child.get("type") != "action" or not targets:
            return {}, []
        wanted = KNOWLEDGE._replace(ids=targets, types=("meeting",))
        meetings: list[NoteRow] = query_index(
            vault, caller.progress, lambda index: index.catalogue.find(wanted, "path")
        )
        # markdown-it-py takes 40 ms to import; only an action of a meeting is worth them.
        from cortex.core.minutes.records import with_tick  # noqa: PLC0415
        from cortex.core.minutes.task_signs import lost_of  # noqa: PLC0415

        changed = dict[str, str]()

        def edit(meeting: Note) -> Note:
            edited = with_tick(meeting, id_, child, caller.today, done=done)
            lines = zip(meeting.body.splitlines(), edited.body.splitlines(), strict=True)
            for line, (was, now) in enumerate(lines, meeting.body_start_line):
                if was != now:
                    text = was.decode(errors="replace")
                    changed[f"{row.path}:{line}"] = lost_of(text, caller.today, undo=not done)
            return edited

        for row in meetings:
            edit_note(vault, row.path, edit)
        return changed, []
    except (CortexError, OSError) as error:
        prefix, hint = "the box in the minutes stays as it was: ", "tick it there yourself"
        return {}, [problem_of(path, error, hint, prefix)]
