"""Two projects become one because a person says so, and can be told apart again."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from typing import NamedTuple

from cortex.core.briefing.item_lines import page_path
from cortex.core.briefing.pages import BriefingPage
from cortex.core.model.caller import Caller
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
)
from cortex.core.notes import note as notes
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.core.text.shell_command import cortex_command
from cortex.core.text.strings import one_line
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.records import change_record
from cortex.operations.records.change_record import NoteEdit
from cortex.vault import files, project_aliases, settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault

MERGED_FROM = "merged_from"  # a note's former projects, the latest last
_MAX_COLLISIONS = 50


class TopicCollision(NamedTuple):
    """A topic of which both projects have a record. Both stay: which of them holds is for a person to say."""

    topic: str
    a: str  # record ids
    b: str


class ProjectMerge(NamedTuple):
    """What a merge did, or would do: `done` tells."""

    action: str  # merge or unmerge
    a: str
    b: str
    done: bool
    notes: int
    sessions: int
    pages: tuple[str, ...]  # briefings that change
    alias: (
        str  # the line of cortex.toml that is written or taken out; empty when there is none to be
    )
    collisions: tuple[TopicCollision, ...]
    changed: tuple[str, ...]  # paths of notes; what would change when it is not done
    next: str  # the command that does it, or, once it is done, the one that undoes it
    problems: tuple[
        Problem, ...
    ]  # notes that say A and are left so, and what is wrong with the briefings


class _ProjectMergePlan(NamedTuple):
    rows: list[NoteRow]
    pages: list[str]
    collisions: list[TopicCollision]


def merge_project(vault: Vault, caller: Caller, a: str, b: str, *, yes: bool) -> ProjectMerge:
    """Make project `a` part of `b`. The alias comes first: from then on nothing new becomes `a`'s, and a run that was
    interrupted is finished by running it again."""
    _check_names(a, b, "merge")
    problems = ensure_fresh(vault, caller)
    held = project_aliases.read_all(vault.root)
    if held.get(b) is not None and settings.load(vault.root).resolve_project(b) != b:
        into = settings.load(vault.root).resolve_project(b)
        hint = (
            f"{cortex_command('project', 'unmerge', b, a)} undoes that"
            if into == a
            else cortex_command("project", "merge", a, into)
        )
        raise ConflictError(f"{b} was merged into {into}", hint)
    if held.get(a, b) != b:
        raise ConflictError(
            f"{a} was merged into {held[a]}",
            f"{cortex_command('project', 'unmerge', a, held[a])} comes first",
        )
    if not settings.is_project_name(b):
        raise InvalidInputError(
            f"no capture can have the project {b!r}",
            f"merge the other way: {cortex_command('project', 'merge', b, a)}",
        )
    plan = query_index(
        vault,
        caller.progress,
        lambda now: _plan_merge(now, a, b, a in held, checkout.project_of(caller.cwd)),
    )
    good, left = _split_editable(vault, caller, plan.rows)
    alias = (
        project_aliases.format_line(a, b) if settings.is_project_name(a) and a not in held else ""
    )
    changed = tuple(row.path for row in good)
    if yes:
        if alias:
            project_aliases.add(vault.root, a, b)
        # `updated` stays: which project a note belongs to says nothing about its age.
        changed, healed = change_record.edit_notes_and_heal(
            vault, caller, _build_edits(caller, good, lambda note: _move_note(note, a, b), left, a)
        )
        problems += healed
    sessions = sum(row.type == "session" for row in good)
    following = cortex_command("project", "unmerge" if yes else "merge", a, b, "--yes")
    return ProjectMerge(
        "merge", a, b, yes, len(good) - sessions, sessions, tuple(plan.pages), alias, tuple(plan.collisions[:_MAX_COLLISIONS]), changed, following,
        (*left, *problems),
    )  # fmt: skip


def unmerge_project(vault: Vault, caller: Caller, a: str, b: str, *, yes: bool) -> ProjectMerge:
    """Give back to `a` what was merged from it into `b`, told by `merged_from`."""
    if a and not b:
        b = project_aliases.read_all(vault.root).get(a, "")
        if not b:
            raise NotFoundError(
                f"{a!r} was not merged into another project",
                "cortex project unmerge A B names both",
            )
    _check_names(a, b, "unmerge")
    problems = ensure_fresh(vault, caller)
    held = project_aliases.read_all(vault.root)
    if b in held:
        raise ConflictError(
            f"{b} was merged into {held[b]} after that",
            f"{cortex_command('project', 'unmerge', b, held[b])} comes first",
        )
    rows = query_index(
        vault,
        caller.progress,
        lambda now: list(now.catalogue.rows("tier < 2 AND project = ? ORDER BY path", (b,))),
    )
    rows = _notes_merged_from(vault, caller, rows, a)
    alias = project_aliases.format_line(a, b) if held.get(a) == b else ""
    if not rows and not alias:
        raise NotFoundError(
            f"nothing in {b} was merged from {a}",
            "cortex project list names the projects that there are",
        )
    good, left = _split_editable(vault, caller, rows)
    pages = query_index(
        vault, caller.progress, lambda now: _affected_pages(now, [row.number for row in good], a, b)
    )
    changed = tuple(row.path for row in good)
    if yes:
        if alias:
            project_aliases.remove(vault.root, a)
        changed, healed = change_record.edit_notes_and_heal(
            vault,
            caller,
            _build_edits(caller, good, lambda note: _return_note(note, a, b), left, b),
        )
        problems += healed
    sessions = sum(row.type == "session" for row in good)
    following = cortex_command("project", "merge" if yes else "unmerge", a, b, "--yes")
    return ProjectMerge(
        "unmerge", a, b, yes, len(good) - sessions, sessions, tuple(pages), alias, (), changed, following, (*left, *problems),
    )  # fmt: skip


def _check_names(a: str, b: str, action: str) -> None:
    if not a or not b:
        raise InvalidInputError(
            "two projects are needed",
            f"cortex project {action} A B; cortex project list names those that there are",
        )
    if a == b:
        raise InvalidInputError(
            f"{a} is one project already", "name two different ones: cortex project list"
        )


def _plan_merge(now: IndexSession, a: str, b: str, before: bool, here: str) -> _ProjectMergePlan:
    names = {
        str(row[0])
        for row in now.catalogue.select(
            "SELECT DISTINCT project FROM note WHERE tier < 2 AND project != ''"
        )
    }
    for name in (a, b):
        # A project may be merged into one that has no note yet: that of this folder. And again, once it has become an alias.
        if name not in names and not (name == b and name == here) and not (name == a and before):
            near = get_close_matches(name, sorted(names - {a if name == b else b}), 3, 0.6)
            hint = (
                f"did you mean {', '.join(near)}?"
                if near
                else "cortex project list names those that there are"
            )
            raise NotFoundError(f"no note says the project {name!r}", hint)
    rows = list(now.catalogue.rows("tier < 2 AND project = ? ORDER BY path", (a,)))
    topics: dict[str, str] = {}
    for one in now.catalogue.metadata_rows(
        "tier = 0 AND project = ? AND topic != '' ORDER BY path", (b,)
    ):
        topics.setdefault(one.topic.casefold(), one.id)
    same = now.catalogue.metadata_rows(
        "tier = 0 AND project = ? AND topic != '' ORDER BY topic, path", (a,)
    )
    collisions = [
        TopicCollision(one.topic, one.id, topics[one.topic.casefold()])
        for one in same
        if one.topic.casefold() in topics
    ]
    return _ProjectMergePlan(
        rows, _affected_pages(now, [row.number for row in rows], a, b), collisions
    )


def _affected_pages(now: IndexSession, numbers: list[int], a: str, b: str) -> list[str]:
    """The briefings of both projects on which these notes have lines."""
    kinds = {
        (kind, branch)
        for start in range(0, len(numbers), 900)
        for kind, branch in now.catalogue.select(
            f"SELECT DISTINCT kind, branch FROM item WHERE number IN ({','.join('?' * len(numbers[start : start + 900]))})",
            numbers[start : start + 900],
        )
    }
    return sorted(
        page_path(BriefingPage(kind, project, branch))
        for kind, branch in kinds
        for project in (a, b)
    )


def _split_editable(
    vault: Vault, caller: Caller, rows: list[NoteRow]
) -> tuple[list[NoteRow], list[Problem]]:
    """The notes that may be edited, and why the others may not: known before the first is changed."""
    good, left = [], []
    for at, row in enumerate(rows, 1):
        try:
            notes.read_strict(
                files.read(vault.root, change_record.check_editable(row).path), row.path
            )
            good.append(row)
        except (CortexError, OSError) as error:
            left.append(
                Problem(
                    row.path,
                    f"stays as it is: {error}",
                    error.hint if isinstance(error, CortexError) else "check its permissions",
                )
            )
        caller.progress("reading", at, len(rows))
    return good, left


def _build_edits(
    caller: Caller, rows: list[NoteRow], change: NoteEdit, left: list[Problem], project: str
) -> list[tuple[str, NoteEdit]]:
    """The edit of each note. One that turns out to be written so that its project cannot be changed alone is left, and named."""

    def edit_of(at: int, row: NoteRow) -> NoteEdit:
        def edit(note: Note) -> Note:
            caller.progress("changing", at, len(rows))
            try:
                return change(note)
            except InvalidInputError as error:
                left.append(Problem(row.path, f"still says {project}: {error.message}", error.hint))
                return note

        return edit

    return [(row.path, edit_of(at, row)) for at, row in enumerate(rows, 1)]


def _move_note(note: Note, a: str, b: str) -> Note:
    if one_line(note.get("project")) != a:
        return note  # somebody was quicker
    return with_fields(note, {"project": b, MERGED_FROM: [*note.get_list(MERGED_FROM), a]})


def _return_note(note: Note, a: str, b: str) -> Note:
    before = note.get_list(MERGED_FROM)
    if one_line(note.get("project")) != b or before[-1:] != (a,):
        return note
    return with_fields(note, {"project": a, MERGED_FROM: list(before[:-1])})


def _notes_merged_from(vault: Vault, caller: Caller, rows: list[NoteRow], a: str) -> list[NoteRow]:
    """The notes that were merged from `a` last."""
    found = []
    for at, row in enumerate(rows, 1):
        with suppress(CortexError, OSError):  # what cannot be read is no note that was merged
            data = files.read(vault.root, row.path, notes.MAX_FRONTMATTER_BYTES + 1024)
            if MERGED_FROM.encode() in data and notes.read(data, row.path).get_list(MERGED_FROM)[
                -1:
            ] == (a,):
                found.append(row)
        caller.progress("reading", at, len(rows))
    return found
