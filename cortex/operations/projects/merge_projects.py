"""Two projects become one because a person says so, and can be told apart again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial

from cortex.core.briefing.item_lines import page_path
from cortex.core.briefing.pages import BriefingPage
from cortex.core.model.caller import Caller
from cortex.core.model.note_form import NoteForm
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
    problem_of,
)
from cortex.core.notes import note as notes
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.core.text.strings import cortex_command, did_you_mean, one_line
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import CURRENT, KNOWLEDGE
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.records.change_record import check_editable, edit_notes_and_heal
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date
from cortex.operations.upkeep.edit_note import NoteEdit
from cortex.vault import files, settings, settings_text
from cortex.vault.git import checkout
from cortex.vault.locate import Vault

MERGED_FROM = "merged_from"  # a note's former projects, the latest last
_MAX_COLLISIONS = 50


class TopicCollision(NamedTuple):
    """A topic of which both projects have a record; both stay, and a person decides."""

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
    alias: str  # the line of cortex.toml that is written or taken out; empty when there is none
    collisions: tuple[TopicCollision, ...]
    changed: tuple[str, ...]  # paths of notes; what would change when it is not done
    next: str  # the command that does it, or, once it is done, the one that undoes it
    problems: tuple[Problem, ...]  # notes that are left as they are, and problems of the briefings


def merge_project(vault: Vault, caller: Caller, a: str, b: str, *, yes: bool) -> ProjectMerge:
    """Make project `a` part of `b`. The alias comes first: from then on nothing new becomes `a`'s,
    and a run that was interrupted is finished by running it again."""
    _check_names(a, b, "merge")
    problems = bring_up_to_date(vault, caller)
    aliases = settings_text.read_aliases(vault.root)
    into = settings.load(vault.root).resolve_project(b)
    if aliases.get(b) is not None and into != b:
        undo = f"{cortex_command('project', 'unmerge', b, a)} undoes that"
        hint = undo if into == a else cortex_command("project", "merge", a, into)
        raise ConflictError(f"{b} was merged into {into}", hint)
    if aliases.get(a, b) != b:
        hint = f"{cortex_command('project', 'unmerge', a, aliases[a])} comes first"
        raise ConflictError(f"{a} was merged into {aliases[a]}", hint)
    if not settings.is_project_name(b):
        hint = f"merge the other way: {cortex_command('project', 'merge', b, a)}"
        raise InvalidInputError(f"no capture can have the project {b!r}", hint)
    known = {b: checkout.project_of(caller.cwd), a: a if a in aliases else ""}

    def load(index: IndexSession) -> tuple[list[NoteRow], list[TopicCollision]]:
        _check_known(index.catalogue, a, b, known)
        return _notes_of(index.catalogue, a), _topic_collisions(index.catalogue, a, b)

    rows, collisions = query_index(vault, caller.progress, load)
    alias = settings_text.format_alias(a, b) if settings.is_project_name(a) else ""
    merge = _ProjectChange("merge", a, b, "" if a in aliases else alias)
    done = _convert(vault, caller, merge, rows, yes=yes)
    every = (*done.problems, *problems)
    return done._replace(collisions=tuple(collisions[:_MAX_COLLISIONS]), problems=every)


def unmerge_project(vault: Vault, caller: Caller, a: str, b: str, *, yes: bool) -> ProjectMerge:
    """Give back to `a` what was merged from it into `b`, told by `merged_from`."""
    if a and not b:
        b = settings_text.read_aliases(vault.root).get(a, "")
        if not b:
            hint = "cortex project unmerge A B names both"
            raise NotFoundError(f"{a!r} was not merged into another project", hint)
    _check_names(a, b, "unmerge")
    problems = bring_up_to_date(vault, caller)
    aliases = settings_text.read_aliases(vault.root)
    if b in aliases:
        hint = f"{cortex_command('project', 'unmerge', b, aliases[b])} comes first"
        raise ConflictError(f"{b} was merged into {aliases[b]} after that", hint)
    rows = query_index(vault, caller.progress, lambda index: _notes_of(index.catalogue, b))
    rows = _notes_merged_from(vault, caller, rows, a)
    alias = settings_text.format_alias(a, b) if aliases.get(a) == b else ""
    if not rows and not alias:
        hint = "cortex project list names the projects that there are"
        raise NotFoundError(f"nothing in {b} was merged from {a}", hint)
    done = _convert(vault, caller, _ProjectChange("unmerge", a, b, alias), rows, yes=yes)
    return done._replace(problems=(*done.problems, *problems))


class _ProjectChange(NamedTuple):
    """A merge of `a` into `b`, or its undoing."""

    action: str
    a: str
    b: str
    alias: str

    @property
    def reverse(self) -> str:
        return "unmerge" if self.action == "merge" else "merge"

    @property
    def source(self) -> str:
        """The project that the notes leave."""
        return self.a if self.action == "merge" else self.b

    def move(self, note: Note, form: NoteForm) -> Note:
        """The note in its other project; as it is when somebody was quicker. `updated` stays: which
        project a note belongs to says nothing about its age."""
        origins = note.get_list(MERGED_FROM)
        if one_line(note.get_in("project", form)) != self.source:
            return note
        if self.action == "merge":
            return with_fields(note, {"project": self.b, MERGED_FROM: [*origins, self.a]})
        if origins[-1:] != (self.a,):
            return note
        return with_fields(note, {"project": self.a, MERGED_FROM: list(origins[:-1])})


def _convert(
    vault: Vault, caller: Caller, change: _ProjectChange, rows: list[NoteRow], *, yes: bool
) -> ProjectMerge:
    """Move the notes of `rows` to their other project, the alias first, if `yes` is set."""
    action, a, b, alias = change
    good, left = _split_editable(vault, caller, rows)
    paths = {row.path for row in good}
    lines = query_index(
        vault, caller.progress, lambda index: list(index.catalogue.briefing_lines())
    )
    kinds = {(kind, branch) for kind, _, branch, *_, path, _ in lines if path in paths}
    pages = {
        vault.layout().path(page_path(BriefingPage(kind, one, branch)))
        for kind, branch in kinds
        for one in (a, b)
    }
    changed, healed = tuple(row.path for row in good), tuple[Problem, ...]()
    if yes:
        if alias and action == "merge":
            settings_text.add_alias(vault.root, a, b)
        elif alias:
            settings_text.remove_alias(vault.root, a)
        edits = _build_edits(vault, good, change, left)
        changed, healed = edit_notes_and_heal(vault, caller, edits)
    sessions = sum(row.type == "session" for row in good)
    return ProjectMerge(
        action=action,
        a=a,
        b=b,
        done=yes,
        notes=len(good) - sessions,
        sessions=sessions,
        pages=tuple(sorted(pages)),
        alias=alias,
        collisions=(),
        changed=changed,
        next=cortex_command("project", change.reverse if yes else action, a, b, "--yes"),
        problems=(*left, *healed),
    )


def _check_names(a: str, b: str, action: str) -> None:
    if not a or not b:
        hint = f"cortex project {action} A B; cortex project list names those that there are"
        raise InvalidInputError("two projects are needed", hint)
    if a == b:
        hint = "name two different ones: cortex project list"
        raise InvalidInputError(f"{a} is one project already", hint)


def _notes_of(catalogue: Catalogue, project: str) -> list[NoteRow]:
    return catalogue.find(KNOWLEDGE._replace(projects=(project,)), "path")


def _check_known(catalogue: Catalogue, a: str, b: str, known: Mapping[str, str]) -> None:
    """Raise `NotFoundError` unless notes name both projects, or `known` does: a project may be
    merged into that of this folder, which has no note yet; and again, once it has become an
    alias."""
    names = catalogue.count_by("project").keys() - {""}
    for name, other in ((a, b), (b, a)):
        if name not in names and known[name] != name:
            raise no_such_project(name, names - {other})


def no_such_project(name: str, known: Iterable[str]) -> NotFoundError:
    """The error for a name that is not of the projects `known`."""
    hint = did_you_mean(name, known, "cortex project list names those that there are")
    return NotFoundError(f"no note says the project {name!r}", hint)


def _topic_collisions(catalogue: Catalogue, a: str, b: str) -> list[TopicCollision]:
    wanted = CURRENT._replace(has_topic=True)
    record_by_topic: dict[str, str] = {}
    for row in catalogue.find(wanted._replace(projects=(b,)), "path"):
        record_by_topic.setdefault(row.topic.casefold(), row.id)
    rows = catalogue.find(wanted._replace(projects=(a,)), "path")
    return [
        TopicCollision(row.topic, row.id, record_by_topic[row.topic.casefold()])
        for row in sorted(rows, key=lambda row: row.topic)
        if row.topic.casefold() in record_by_topic
    ]


def _split_editable(
    vault: Vault, caller: Caller, rows: list[NoteRow]
) -> tuple[list[NoteRow], list[Problem]]:
    """The notes that may be edited, and why the others may not."""
    good, left = [], []
    for row in caller.each(rows, "reading"):
        try:
            notes.read_strict(files.read(vault.root, check_editable(row).path), row.path)
            good.append(row)
        except (CortexError, OSError) as error:
            left.append(problem_of(row.path, error, prefix="stays as it is: "))
    return good, left


def _build_edits(
    vault: Vault, rows: list[NoteRow], change: _ProjectChange, left: list[Problem]
) -> list[tuple[str, NoteEdit]]:
    """The edit of each note; one whose project cannot be changed alone is left, and named."""
    form = settings.load(vault.root).form

    def edit(note: Note, path: str) -> Note:
        try:
            return change.move(note, form)
        except InvalidInputError as error:
            left.append(problem_of(path, error, prefix=f"still says {change.source}: "))
            return note

    return [(row.path, partial(edit, path=row.path)) for row in rows]


def _notes_merged_from(vault: Vault, caller: Caller, rows: list[NoteRow], a: str) -> list[NoteRow]:
    """The notes that were merged from `a` last."""
    found = []
    for row in caller.each(rows, "reading"):
        with suppress(CortexError, OSError):  # what cannot be read is no note that was merged
            data = files.read(vault.root, row.path, notes.MAX_FRONTMATTER_BYTES + 1024)
            if MERGED_FROM.encode() in data:
                origins = notes.read(data, row.path).get_list(MERGED_FROM)
                found += [row] if origins[-1:] == (a,) else []
    return found
