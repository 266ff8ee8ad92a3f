"""Read the boxes that people tick on pages of briefings, and change the notes behind these lines.

A page lists what is open with open boxes and what is done with ticked ones, so a ticked box among
what is open is a person's, however old the page is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from cortex.core.briefing.item_lines import item_token, step_token
from cortex.core.briefing.pages import block_key, page_ticks
from cortex.core.markdown.scan import scan
from cortex.core.model.caller import Caller
from cortex.core.model.layout import BRIEFINGS_FOLDER
from cortex.core.model.note_status import DONE_STATUSES
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.notes import edit
from cortex.core.notes.note import Note
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT
from cortex.index.refresh import query_index
from cortex.operations.upkeep.edit_note import edit_locked, tick_minutes
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files, settings
from cortex.vault.git import checkout
from cortex.vault.git.changes import read_if_there
from cortex.vault.locate import Vault

_TO_DO = CURRENT._replace(types=("action", "plan"))


def read_page_ticks(vault: Vault, caller: Caller) -> tuple[bool, list[Problem]]:
    """Returns whether notes changed, and what could not be changed."""
    if not settings.load(vault.root).form.is_flat or checkout.operation_in_progress(vault.root):
        return False, []
    ticks = _read_ticks(vault)
    if not ticks:
        return False, []
    rows = query_index(vault, caller.progress, lambda index: index.catalogue.find(_TO_DO, "path"))
    done_by_id = {row.id: ticks.get(block_key(item_token(row.id))) for row in rows}
    changed, problems = list[NoteRow](), list[Problem]()
    with record_lock(vault):
        for row in rows:
            done = done_by_id[row.id]
            if row.type == "plan":
                change = partial(_with_steps, id_=row.id, ticks=ticks, today=caller.today)
            elif done not in (None, row.status in DONE_STATUSES):
                status = "done" if done else "open"
                change = partial(edit.with_work_status, status=status, now=caller.now)
            else:
                continue
            try:
                changed += [row] if edit_locked(vault, row.path, change) else []
            except (CortexError, OSError) as error:
                again = "tick it in that note"
                problems.append(problem_of(row.path, error, again, "a tick was not taken over: "))
    for row in changed:
        done = bool(done_by_id[row.id])
        problems += tick_minutes(vault, caller, row.id, row.path, done=done)[1]
    return bool(changed), problems


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


def _with_steps(note: Note, id_: str, ticks: Mapping[str, bool], today: str) -> Note:
    """The plan with the boxes of its steps as their lines on the page have them."""
    from cortex.core.minutes.task_signs import with_boxes  # noqa: PLC0415  6 ms

    tasks = scan(note.text).tasks
    steps = ((ticks.get(block_key(step_token(id_, one.text))), one) for one in tasks)
    marks = {one.line - 1: done for done, one in steps if done not in (None, one.done)}
    return note._replace(body=with_boxes(note.body, marks, today))
