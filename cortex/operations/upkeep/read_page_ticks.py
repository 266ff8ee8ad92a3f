"""Read the boxes that people tick on pages of briefings, and change the notes behind these lines.

A page lists what is open with open boxes and what is done with ticked ones, so a ticked box among
what is open is a person's, however old the page is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from cortex.core.briefing.item_lines import item_token, step_token
from cortex.core.briefing.pages import block_key, page_ticks
from cortex.core.markdown.scan import scan
from cortex.core.model.caller import Caller
from cortex.core.model.layout import BRIEFINGS_FOLDER
from cortex.core.model.note_status import DONE_STATUSES, TIER_CURRENT
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.notes import edit, note as notes
from cortex.core.notes.note import Note
from cortex.core.notes.relations import parse_link_target
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files, settings
from cortex.vault.git import checkout
from cortex.vault.git.changes import read_if_there
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale

_TO_DO = NoteFilter(tiers=(TIER_CURRENT,), types=("action", "plan", "meeting"))


def read_page_ticks(vault: Vault, caller: Caller) -> tuple[bool, list[Problem]]:
    """Returns whether notes changed, and what could not be changed."""
    if not settings.load(vault.root).form.is_flat or checkout.operation_in_progress(vault.root):
        return False, []
    ticks = _read_ticks(vault)
    if not ticks:
        return False, []
    rows = query_index(vault, caller.progress, lambda index: index.catalogue.find(_TO_DO, "path"))
    meetings = {row.id: row for row in rows if row.type == "meeting"}
    changed, problems = False, list[Problem]()
    with record_lock(vault):
        for row in rows:
            try:
                changed |= _apply_to_row(vault, caller, row, ticks, meetings)
            except (CortexError, OSError) as error:
                again = "tick it in that note"
                problems.append(problem_of(row.path, error, again, "a tick was not taken over: "))
    return changed, problems


def _read_ticks(vault: Vault) -> dict[str, bool]:
    """Key of a line -> whether a person has ticked it, or taken the tick away."""
    folder = vault.layout().path(BRIEFINGS_FOLDER)
    ticks = dict[str, bool]()
    with suppress(CortexError, OSError):
        names = files.list_names(vault.root, folder)
        for page in ("index.md", *(f"{name}/active-plan.md" for name in names)):
            data = read_if_there(vault.root, f"{folder}/{page}") or b""
            ticks |= page_ticks(data.decode("utf-8", "replace"))
    return ticks


def _apply_to_row(
    vault: Vault, caller: Caller, row: NoteRow, ticks: dict[str, bool], meetings: dict[str, NoteRow]
) -> bool:
    """Change a note as the ticks of its lines ask for; whether it changed."""
    if row.type == "plan":
        return _change(vault, row.path, lambda note: _with_steps(note, row.id, ticks, caller.today))
    done = ticks.get(block_key(item_token(row.id)))
    if row.type != "action" or done is None or done == (row.status in DONE_STATUSES):
        return False
    status = "done" if done else "open"
    if not _change(vault, row.path, lambda note: edit.with_work_status(note, status, caller.now)):
        return False
    child = notes.read_strict(files.read(vault.root, row.path), row.path)
    for source in child.get_list("derived_from"):
        if meeting := meetings.get(parse_link_target(source)):
            # markdown-it-py takes 40 ms to import; only an action of a meeting is worth them.
            from cortex.core.minutes.records import with_tick  # noqa: PLC0415

            _change(
                vault,
                meeting.path,
                lambda note: with_tick(note, row.id, child, caller.today, done=done),
            )
    return True


def _with_steps(note: Note, id_: str, ticks: dict[str, bool], today: str) -> Note:
    """The plan with the boxes of its steps as their lines on the page have them."""
    from cortex.core.minutes.task_signs import opened, ticked  # noqa: PLC0415  6 ms, as above

    lines = note.body.splitlines(keepends=True)
    for task in scan(note.text).tasks:
        done = ticks.get(block_key(step_token(id_, task.text)))
        if done is not None and done != task.done:
            line = lines[task.line - 1].decode("utf-8", "surrogateescape")
            line = ticked(line, today) if done else opened(line)
            lines[task.line - 1] = line.encode("utf-8", "surrogateescape")
    return note._replace(body=b"".join(lines))


def _change(vault: Vault, path: str, change: Callable[[Note], Note]) -> bool:
    before = files.read(vault.root, path)
    after = notes.write(change(notes.read_strict(before, path)))
    if after != before:
        mark_briefings_stale(vault)
        files.replace(vault.root, path, after, before)
    return after != before
