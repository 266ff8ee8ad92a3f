"""Tick the task that somebody means where it stands, one line of a note byte for byte."""

from __future__ import annotations

from cortex.core.markdown.blocks import Task
from cortex.core.markdown.scan import scan
from cortex.core.minutes.note_items import TASK, is_closed, is_own, plain_text
from cortex.core.minutes.task_parser import parse_own_task
from cortex.core.minutes.task_signs import lost_of, next_line, opened, signs_of, ticked
from cortex.core.model import problem
from cortex.core.model.caller import Caller
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.ranking.query import parse
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command, one_line
from cortex.index import full_text
from cortex.index.catalogue import OwnItemRow
from cortex.index.catalogue.filters import KNOWLEDGE_TIERS
from cortex.index.refresh import IndexSession
from cortex.operations.find.actions import ToDo, list_to_do
from cortex.operations.find.resolve_note import find_all
from cortex.operations.records import change_record
from cortex.operations.records.change_record import RecordChange
from cortex.operations.upkeep.edit_note import edit_note
from cortex.operations.upkeep.heal import try_heal
from cortex.vault import files
from cortex.vault.locate import Vault

_WORD_RE = lazy_re(r"\w+")
_SEARCHED = 200  # notes with words of a ticked task
_LISTED = 9  # of the tasks that words may mean
_COMPARED_WORDS = 12  # of a task, which the index cuts


def find_task(vault: Vault, index: IndexSession, name: str, *, undo: bool) -> OwnItemRow | str:
    """The task that a place, words or the name of its note mean, with `undo` a ticked one; else the
    name of an action. Raises `AmbiguousNameError` where they mean several."""
    catalogue, (head, _, line) = index.catalogue, name.rpartition(":")
    rows = find_all(catalogue, head if line.isdecimal() else name)
    row = rows[0] if len(rows) == 1 else None
    if row and line.isdecimal():
        if not change_record.is_persons_own(row):
            change_record.check_editable(row)
        is_task = _task_at(notes.read(files.read(vault.root, row.path)), int(line))
        task = OwnItemRow(row.number, row.path, TASK, int(line), "", "", "")
        return task if is_task or row.type != "action" else head
    if row and row.type == "action" and name.split() == [name] != row.title.split():
        return name
    wanted = _words(name)
    to_do = _list_ticked(vault, index, wanted) if undo and wanted else list_to_do(catalogue)
    found = [one for one in to_do if wanted and _words(one.title) == wanted]
    if not (found or rows) and wanted:
        found = [one for one in to_do if {*wanted} <= {*_words(one.title)}]
    elif not found and row:
        found = [one for one in to_do if one.task and one.task.path == row.path]
    if undo and len({one.title.casefold() if one.task else one.name for one in found}) == 1:
        last = max(one.due for one in found)  # of one that recurs
        found = [one for one in found if one.due == last]
    if len(found) > 1:
        some = tuple((one.name, one.title) for one in found)
        message = f"{name!r} names {len(found)} tasks: {'; '.join(map('  '.join, some[:_LISTED]))}"
        hint = "give what stands before the words of the one you mean"
        raise problem.AmbiguousNameError(message, hint, name, some)
    if not found and not rows and name.split() != [name]:
        hint = "cortex search finds its note" if undo else "cortex actions lists what is open"
        raise problem.NotFoundError(f"no {'ticked' if undo else 'open'} task says {name!r}", hint)
    return found[0].task or found[0].name if found else name


def _list_ticked(vault: Vault, index: IndexSession, words: list[str]) -> list[ToDo]:
    """The actions that are done, and the ticked tasks of people's own notes in which words stand,
    each with the day when it was."""
    done = [one for one in list_to_do(index.catalogue, done=True) if not one.task]
    query = parse(" ".join(words), "")
    found = full_text.search(index.fulltext_folder, query, _SEARCHED, KNOWLEDGE_TIERS).notes
    for at in index.catalogue.rows_by_number(one.number for one in found).values():
        note = notes.read(files.read(vault.root, at.path))
        scanned = scan(note.text, note.body_start_line) if is_own(note) else None
        for task in filter(is_closed, scanned.tasks if scanned else ()):
            place = OwnItemRow(at.number, at.path, TASK, task.line, "", "", "")
            title = plain_text(parse_own_task(one_line(task.text))[0])
            day = signs_of(task.text).get("completion", "")
            done.append(ToDo(at.number, f"{at.path}:{task.line}", title, "", day, place))
    return done


def _words(text: str) -> list[str]:
    """The words of a task without its signs, as they are compared."""
    return _WORD_RE.findall(parse_own_task(one_line(text))[0].casefold())


def _task_at(note: Note, line: int) -> Task | None:
    tasks = scan(note.text, note.body_start_line).tasks
    return next((one for one in tasks if one.line == line), None)


def tick_task(vault: Vault, caller: Caller, row: OwnItemRow, *, undo: bool) -> RecordChange:
    """Tick a task, or open it again. One that recurs gets the line of its next time above it, and
    loses it again. Raises `ConflictError` if the task does not stand there."""
    name, file = f"{row.path}:{row.line}", vault.file(row.path)
    change = RecordChange(name, row.path, change_record.UNCHANGED, file=file)
    # Of minutes the words of lines below it, too, behind a semicolon.
    known = {*_words(plain_text(row.text).partition("; ")[0])[:_COMPARED_WORDS]}

    def edit(note: Note) -> Note:
        nonlocal change
        lines = [one.decode("utf-8", "surrogateescape") for one in note.body.splitlines(True)]
        task, at, moved = _task_at(note, row.line), row.line - note.body_start_line, 0
        words = plain_text(parse_own_task(one_line(task.text))[0]) if task else ""
        if not task or not known <= {*_words(lines[at])}:
            hint = "cortex actions lists tasks with file and line; cortex edit opens a note"
            message = f"{name} has {'another task' if task else 'no box in a list'}"
            raise problem.ConflictError(message, hint)
        change, hints = change._replace(hint=f"[{task.mark}] {words}"), [words]
        if is_closed(task) != undo:
            return note
        signs = signs_of(lines[at])
        day = (undo and signs.get("completion")) or caller.today
        lost = lost_of(lines[at], caller.today, undo=undo)
        lines[at] = opened(lines[at]) if undo else ticked(lines[at], day)
        upcoming = next_line(lines[at], day)
        if undo and at and upcoming and lines[at - 1].rstrip("\r\n") == upcoming.rstrip("\r\n"):
            del lines[at - 1]
            moved = -1
        elif upcoming and not undo:
            lines.insert(at, upcoming if upcoming[-1] in "\r\n" else upcoming + note.eol)
            moved, hints = 1, [words, "its next time stands above it"]
        elif "repeat" in signs and not undo:
            hints += [f"its next time was not written: {signs['repeat']!r} is not understood"]
        hints += [lost] if lost else []
        there, outcome = f"{row.path}:{row.line + moved}", "opened" if undo else "done"
        back = cortex_command("done", there, *(() if undo else ("--undo",)))
        change = change._replace(id=there, outcome=outcome, hint="; ".join(hints), undo=back)
        return note._replace(body="".join(lines).encode("utf-8", "surrogateescape"))

    if edit_note(vault, row.path, edit):
        change = change._replace(problems=tuple(try_heal(vault, caller)))
    return change
