"""The parts of a briefing: the lines of each selected note, and the lines around them."""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.briefing.compose import (
    EVERYWHERE,
    KNOWLEDGE,
    OPEN,
    PART_SPECS,
    PINNED,
    PLAN,
    SESSIONS,
    BriefingEntry,
    BriefingPart,
    join_alike,
)
from cortex.core.briefing.excerpt import (
    PlanStep,
    bare_words,
    body_excerpt,
    plan_steps,
    session_excerpt,
)
from cortex.core.model.event import is_headless
from cortex.core.model.generated_text import is_untitled, tells_something, without_title
from cortex.core.model.note_status import DONE_STATUSES
from cortex.core.notes.note import Note
from cortex.core.notes.relations import parse_link_target, relations_of
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.operations.find.verify_claims import ClaimCheck
from cortex.operations.sessions.brief_select import (
    PART_BY_TYPE,
    BriefingSelection,
    last_said,
    starts_with_date,
)
from cortex.vault.git import branches

_TYPE_RE = lazy_re(r"[\w-]{1,40}")
_MAX_SESSIONS = 5  # seed 001's
_MAX_STEPS = 6  # open ones of a plan
# The types that a part's command lists.
_TYPES_OF_PART = {
    kind: ",".join(type_ for type_, of in PART_BY_TYPE.items() if of == kind) for kind in PART_SPECS
}


class BriefingInputs(NamedTuple):
    """What the index gives, and on which files that depends."""

    selection: BriefingSelection  # its parts cut to what there is room for
    stamps: dict[str, str]  # of what was read, as `dependency_stamps` gives them
    other_projects: tuple[str, ...]  # projects that have records, where this one has none
    own: list[BriefingPart]  # of people's own notes


def build_parts(
    inputs: BriefingInputs,
    bodies: dict[int, Note],
    checked: ClaimCheck,
    project: str,
    branch: str | None,
) -> list[BriefingPart]:
    """The parts in their order. Their entries are marked with their branch where that is not
    `branch`; None marks none."""
    parts, selection = [], inputs.selection
    titles = {
        bare_words(one.title.rstrip("…"))
        for kind, candidates in selection.parts.items()
        if kind != SESSIONS
        for one in candidates
        if one.type != "session"
    }
    for kind, total in selection.totals.items():
        candidates = selection.parts.get(kind, [])
        entries = [
            _session_entry(one, bodies[one.number], titles, branch)
            if one.type == "session"
            else _build_entry(kind, one, bodies[one.number], checked, branch)
            for one in candidates
        ]
        if kind == SESSIONS:
            telling = [entry for entry in entries if entry.title]
            total -= len(entries) - len(telling)  # noqa: PLW2901
            entries = telling[:_MAX_SESSIONS]
        command = _list_command(kind, selection, project)
        if kind == PLAN:
            steps = [plan_steps(bodies[one.number].text) for one in candidates]
            begun = [
                (entry, some)
                for entry, some in zip(entries, steps, strict=True)
                if not some or not all(step.is_done for step in some)
            ]
            total -= len(entries) - len(begun)  # noqa: PLW2901
            if begun:
                plan = _plan_entries(*begun[0])
                entries = [*plan, *(entry for entry, _ in begun[1:])]
                total += len(plan) - 1  # noqa: PLW2901
                if total == len(plan):
                    command = cortex_command("show", begun[0][0].id)
        parts.append(BriefingPart(kind, tuple(entries), total, command))
    return join_alike(_with_own(parts, inputs.own))


def _with_own(parts: Iterable[BriefingPart], own: Iterable[BriefingPart]) -> list[BriefingPart]:
    """The parts in their order, what people's own notes say behind the records."""
    by_kind = {part.kind: part for part in parts}
    for one in own:
        if known := by_kind.get(one.kind):
            entries = (*known.entries, *one.entries)
            command = one.command if one.kind == OPEN else known.command
            one = BriefingPart(one.kind, entries, known.total + one.total, command)  # noqa: PLW2901
        by_kind[one.kind] = one
    return [by_kind[kind] for kind in PART_SPECS if kind in by_kind]


def _list_command(kind: str, selection: BriefingSelection, project: str) -> str:
    """The command that lists all of a part; empty where there is none."""
    if kind == OPEN:
        of_project = ["--project", project] if project else []
        return cortex_command("recall", "--scope", "open", *of_project)
    if kind == EVERYWHERE:
        return cortex_command("recall", "--scope", "area")
    knowledge_types = ",".join(filter(_TYPE_RE.fullmatch, selection.knowledge_types))
    types = knowledge_types if kind == KNOWLEDGE else _TYPES_OF_PART[kind]
    filters = [f"type:{types}", *([f"project:{project}"] if project else [])]
    return cortex_command("search", *filters) if types else ""


def _plan_entries(head: BriefingEntry, steps: list[PlanStep]) -> list[BriefingEntry]:
    """The current plan: its title and its first open steps."""
    left = [one for one in steps if not one.is_done]
    done = len(steps) - len(left)
    marks = (*head.marks, *([f"{done} of {len(steps)} done"] if steps else []))
    entry = head._replace(excerpt="" if steps else head.excerpt, marks=marks)
    lines = (
        BriefingEntry(head.id, head.type, f"[ ] {step.text}", is_subline=True)
        for step in left[:_MAX_STEPS]
    )
    return [entry, *lines]


def _build_entry(
    kind: str, row: NoteRow, note: Note, checked: ClaimCheck, branch: str | None
) -> BriefingEntry:
    """The entry of a note, marked with its branch where that is not `branch`; None marks none."""
    marks = [row.type] if kind in (KNOWLEDGE, PINNED, EVERYWHERE) or row.type == "pattern" else []
    if row.type == "rejection":
        marks.append("rejected")
    if row.type == "action" and row.owner:
        marks.append(row.owner)
    if row.due:
        marks.append(f"due {row.due}")
    usual = ("", "active", *DONE_STATUSES) if kind == SESSIONS else ("", "active", "open")
    if row.status not in usual:
        marks.append(row.status)
    if row.pinned:
        marks.append("pinned")
    here = (branch, "", *branches.DEFAULT_BRANCHES)
    if branch is not None and row.branch not in here:
        marks.append(f"branch {row.branch}")
    against = [to for kind, to in relations_of(note.fields) if kind == "contradicts"]
    # A mark has 60 characters; ids are told apart by their ends.
    marks += [f"contradicts …{parse_link_target(one)[-40:]}" for one in against[:2]]
    # When something was said last says how far it can be trusted; of an action its date does.
    said = last_said(row)
    is_dated = kind not in (OPEN, PLAN, EVERYWHERE) and starts_with_date(said)
    day = said[:10] if is_dated else ""
    return BriefingEntry(
        row.id,
        row.type,
        row.title,
        body_excerpt(row.title, note.text_below_title),
        tuple(marks),
        day,
        checked.contradictions.get(row.id, ""),
        row.confidence,
        str(note.provenance()[1].get("layer", "")),
        checked.edited_files.get(row.id, ()),
        is_contradicting=bool(against),
    )


def _session_entry(row: NoteRow, note: Note, titles: set[str], branch: str | None) -> BriefingEntry:
    """A session by its title and what came of it; untitled if it tells nothing or is headless."""
    entry = _build_entry(SESSIONS, row, note._replace(body=b""), ClaimCheck({}), branch)
    said = session_excerpt(note.text, titles)
    if is_headless(row.session) or not tells_something(note.text):
        return entry._replace(title="", excerpt="")
    if is_untitled(row.title, row.session):
        return entry._replace(title=said, excerpt="")
    return entry._replace(excerpt=without_title(said, row.title))
