"""Two projects become one because a person says so, and can be told apart again."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from typing import NamedTuple

from cortex.core.briefing.item_lines import page_path
from cortex.core.briefing.pages import Page
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, CortexError, Invalid, NotFound, Problem
from cortex.core.notes import note as notes
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.core.text.shell_command import line
from cortex.core.text.strings import one_line
from cortex.index.catalogue import Row
from cortex.index.refresh import Views, look
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.records import change_record
from cortex.operations.records.change_record import Edit
from cortex.vault import files, project_aliases, settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault

MERGED_FROM = "merged_from"  # a note's former projects, the latest last
_MOST_NAMED = 50


class Collision(NamedTuple):
    """A topic of which both projects have a record. Both stay: which of them holds is for a person to say."""

    topic: str
    a: str  # record ids
    b: str


class Merged(NamedTuple):
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
    collisions: tuple[Collision, ...]
    changed: tuple[str, ...]  # paths of notes; what would change when it is not done
    next: str  # the command that does it, or, once it is done, the one that undoes it
    problems: tuple[
        Problem, ...
    ]  # notes that say A and are left so, and what is wrong with the briefings


class _Plan(NamedTuple):
    rows: list[Row]
    pages: list[str]
    collisions: list[Collision]


def merge(vault: Vault, caller: Caller, a: str, b: str, *, yes: bool) -> Merged:
    """Make project `a` part of `b`. The alias comes first: from then on nothing new becomes `a`'s, and a run that was
    interrupted is finished by running it again."""
    _check(a, b, "merge")
    problems = freshen(vault, caller)
    held = project_aliases.held(vault.root)
    if held.get(b) is not None and settings.load(vault.root).project(b) != b:
        into = settings.load(vault.root).project(b)
        hint = (
            f"{line('project', 'unmerge', b, a)} undoes that"
            if into == a
            else line("project", "merge", a, into)
        )
        raise Conflict(f"{b} was merged into {into}", hint)
    if held.get(a, b) != b:
        raise Conflict(
            f"{a} was merged into {held[a]}",
            f"{line('project', 'unmerge', a, held[a])} comes first",
        )
    if not settings.is_project(b):
        raise Invalid(
            f"no capture can have the project {b!r}",
            f"merge the other way: {line('project', 'merge', b, a)}",
        )
    plan = look(
        vault,
        caller.progress,
        lambda now: _plan(now, a, b, a in held, checkout.project_of(caller.cwd)),
    )
    good, left = _editable(vault, caller, plan.rows)
    alias = project_aliases.line_of(a, b) if settings.is_project(a) and a not in held else ""
    changed = tuple(row.path for row in good)
    if yes:
        if alias:
            project_aliases.put(vault.root, a, b)
        # `updated` stays: which project a note belongs to says nothing about its age.
        changed, healed = change_record.apply_all(
            vault, caller, _edits(caller, good, lambda note: _moved(note, a, b), left, a)
        )
        problems += healed
    sessions = sum(row.type == "session" for row in good)
    following = line("project", "unmerge" if yes else "merge", a, b, "--yes")
    return Merged(
        "merge", a, b, yes, len(good) - sessions, sessions, tuple(plan.pages), alias, tuple(plan.collisions[:_MOST_NAMED]), changed, following,
        (*left, *problems),
    )  # fmt: skip


def unmerge(vault: Vault, caller: Caller, a: str, b: str, *, yes: bool) -> Merged:
    """Give back to `a` what was merged from it into `b`, told by `merged_from`."""
    if a and not b:
        b = project_aliases.held(vault.root).get(a, "")
        if not b:
            raise NotFound(
                f"{a!r} was not merged into another project",
                "cortex project unmerge A B names both",
            )
    _check(a, b, "unmerge")
    problems = freshen(vault, caller)
    held = project_aliases.held(vault.root)
    if b in held:
        raise Conflict(
            f"{b} was merged into {held[b]} after that",
            f"{line('project', 'unmerge', b, held[b])} comes first",
        )
    rows = look(
        vault,
        caller.progress,
        lambda now: list(now.catalogue.rows("tier < 2 AND project = ? ORDER BY path", (b,))),
    )
    rows = _came_from(vault, caller, rows, a)
    alias = project_aliases.line_of(a, b) if held.get(a) == b else ""
    if not rows and not alias:
        raise NotFound(
            f"nothing in {b} was merged from {a}",
            "cortex project list names the projects that there are",
        )
    good, left = _editable(vault, caller, rows)
    pages = look(
        vault, caller.progress, lambda now: _pages(now, [row.number for row in good], a, b)
    )
    changed = tuple(row.path for row in good)
    if yes:
        if alias:
            project_aliases.drop(vault.root, a)
        changed, healed = change_record.apply_all(
            vault, caller, _edits(caller, good, lambda note: _returned(note, a, b), left, b)
        )
        problems += healed
    sessions = sum(row.type == "session" for row in good)
    following = line("project", "merge" if yes else "unmerge", a, b, "--yes")
    return Merged(
        "unmerge", a, b, yes, len(good) - sessions, sessions, tuple(pages), alias, (), changed, following, (*left, *problems),
    )  # fmt: skip


def _check(a: str, b: str, action: str) -> None:
    if not a or not b:
        raise Invalid(
            "two projects are needed",
            f"cortex project {action} A B; cortex project list names those that there are",
        )
    if a == b:
        raise Invalid(f"{a} is one project already", "name two different ones: cortex project list")


def _plan(now: Views, a: str, b: str, before: bool, here: str) -> _Plan:
    names = {
        str(row[0])
        for row in now.catalogue.asked(
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
            raise NotFound(f"no note says the project {name!r}", hint)
    rows = list(now.catalogue.rows("tier < 2 AND project = ? ORDER BY path", (a,)))
    topics: dict[str, str] = {}
    for one in now.catalogue.standings(
        "tier = 0 AND project = ? AND topic != '' ORDER BY path", (b,)
    ):
        topics.setdefault(one.topic.casefold(), one.id)
    same = now.catalogue.standings(
        "tier = 0 AND project = ? AND topic != '' ORDER BY topic, path", (a,)
    )
    collisions = [
        Collision(one.topic, one.id, topics[one.topic.casefold()])
        for one in same
        if one.topic.casefold() in topics
    ]
    return _Plan(rows, _pages(now, [row.number for row in rows], a, b), collisions)


def _pages(now: Views, numbers: list[int], a: str, b: str) -> list[str]:
    """The briefings of both projects on which these notes have lines."""
    kinds = {
        (kind, branch)
        for start in range(0, len(numbers), 900)
        for kind, branch in now.catalogue.asked(
            f"SELECT DISTINCT kind, branch FROM item WHERE number IN ({','.join('?' * len(numbers[start : start + 900]))})",
            numbers[start : start + 900],
        )
    }
    return sorted(
        page_path(Page(kind, project, branch)) for kind, branch in kinds for project in (a, b)
    )


def _editable(vault: Vault, caller: Caller, rows: list[Row]) -> tuple[list[Row], list[Problem]]:
    """The notes that may be edited, and why the others may not: known before the first is changed."""
    good, left = [], []
    for at, row in enumerate(rows, 1):
        try:
            notes.parse(files.read(vault.root, change_record.record(row).path), row.path)
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


def _edits(
    caller: Caller, rows: list[Row], change: Edit, left: list[Problem], project: str
) -> list[tuple[str, Edit]]:
    """The edit of each note. One that turns out to be written so that its project cannot be changed alone is left, and named."""

    def edit_of(at: int, row: Row) -> Edit:
        def edit(note: Note) -> Note:
            caller.progress("changing", at, len(rows))
            try:
                return change(note)
            except Invalid as error:
                left.append(Problem(row.path, f"still says {project}: {error.message}", error.hint))
                return note

        return edit

    return [(row.path, edit_of(at, row)) for at, row in enumerate(rows, 1)]


def _moved(note: Note, a: str, b: str) -> Note:
    if one_line(note.get("project")) != a:
        return note  # somebody was quicker
    return with_fields(note, {"project": b, MERGED_FROM: [*note.texts(MERGED_FROM), a]})


def _returned(note: Note, a: str, b: str) -> Note:
    before = note.texts(MERGED_FROM)
    if one_line(note.get("project")) != b or before[-1:] != (a,):
        return note
    return with_fields(note, {"project": a, MERGED_FROM: list(before[:-1])})


def _came_from(vault: Vault, caller: Caller, rows: list[Row], a: str) -> list[Row]:
    """The notes that were merged from `a` last."""
    found = []
    for at, row in enumerate(rows, 1):
        with suppress(CortexError, OSError):  # what cannot be read is no note that was merged
            data = files.read(vault.root, row.path, notes.MAX_FRONTMATTER_BYTES + 1024)
            if MERGED_FROM.encode() in data and notes.read(data, row.path).texts(MERGED_FROM)[
                -1:
            ] == (a,):
                found.append(row)
        caller.progress("reading", at, len(rows))
    return found
