"""What the verbs about projects answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.text.shell_command import cortex_command
from cortex.core.text.strings import format_count
from cortex.interfaces.cli.text import (
    bold,
    dim,
    format_day,
    note_row,
    path,
    problem_lines,
    section,
    yellow,
)
from cortex.interfaces.escape_terminal import escape

_MAX_LISTED = 10
# action -> what happens, before and after it is done; the same for the line in cortex.toml
_MERGE_PHRASES = {
    "merge": ("would become", "became", "would be written into", "was written into"),
    "unmerge": ("would go back to", "went back to", "would be taken out of", "was taken out of"),
}


def promote(answer: Any) -> Iterable[str]:
    is_new = answer.outcome == "created"
    outcome = "promoted to" if is_new else "it is in your own vault already:"
    yield f"{outcome} {path(f'{answer.vault}/{answer.path}')}"
    if answer.events:
        yield f"  with {format_count(len(answer.events), 'event')}"
    yield f"  here it is {answer.source}: {path(answer.source_path)}"
    if answer.links:
        more = "…" if len(answer.links) > _MAX_LISTED else ""
        links = ", ".join(map(escape, answer.links[:_MAX_LISTED]))
        yield f"  it links to what only this vault has: {links}{more}"
    if is_new or answer.source == "archived":
        yield f"  {dim('undo: ' + '; '.join(answer.undo))}"
    yield from problem_lines(answer.problems)


def project(answer: Any) -> Iterable[str]:
    if hasattr(answer, "projects"):
        yield from _project_list_lines(answer)
    elif hasattr(answer, "collisions"):
        yield from _project_merge_lines(answer)
    else:
        yield from _project_details_lines(answer)


def _project_list_lines(answer: Any) -> Iterable[str]:
    if not answer.projects:
        yield "no note says a project"
    for one in answer.projects:
        here = f"  {yellow('here')}" if one.name == answer.here else ""
        yield f"{bold(one.name)}  {dim(f'changed {one.changed[:10]}')}{here}"
        yield f"  {_format_project_counts(one)}"
        if one.merged_into:
            again = cortex_command("project", "merge", one.name, one.merged_into)
            merged = yellow(f"merged into {one.merged_into}")
            yield f"  {merged}, and these came later: {escape(again)}"
    if more := answer.total - len(answer.projects):
        yield f"{format_count(more, 'project')} more, changed earlier"
    for pair in answer.alike:
        yield dim(f"{pair.a} looks like {pair.b}; if they are one project: {pair.command}")
    yield from problem_lines(answer.problems)


def _format_project_counts(one: Any) -> str:
    counts = (one.notes, "note"), (one.open_actions, "open action"), (one.sessions, "session")
    return ", ".join(format_count(number, noun) for number, noun in counts)


def _project_details_lines(answer: Any) -> Iterable[str]:
    changed = f"  {dim(f'changed {answer.changed[:10]}')}" if answer.changed else ""
    yield f"{bold(answer.name)}{changed}"
    yield f"  {_format_project_counts(answer)}"
    if answer.aliases:
        yield f"  merged into it: {', '.join(map(escape, answer.aliases))}"
    for heading, notes in (("decisions", answer.decisions), ("open actions", answer.actions)):
        rows = (note_row(one, f"{format_day(one.date):<10}", one.id) for one in notes.hits)
        yield from section(heading, rows)
    branches = (
        f"  {one.changed[:10]}  {escape(one.name)}  {dim(format_count(one.notes, 'note'))}"
        for one in answer.branches
    )
    yield from section("branches", branches)
    here = answer.here
    if here.name:
        part = f", which is part of {escape(here.project)}" if here.project != here.name else ""
        yield f"this folder is {escape(here.name)}{part}: {escape(here.why)}"
    else:
        yield f"this folder is no project: {escape(here.why)}"
    yield from problem_lines(answer.problems)


def _project_merge_lines(answer: Any) -> Iterable[str]:
    notes, alias = _MERGE_PHRASES[answer.action][answer.done :: 2]
    is_merge = answer.action == "merge"
    source, target = (answer.a, answer.b) if is_merge else (answer.b, answer.a)
    if answer.notes or answer.sessions or answer.alias:
        sessions = format_count(answer.sessions, "session")
        figures = f"{format_count(answer.notes, 'note')} and {sessions}"
        end = "'s" if is_merge else ""
        yield f"{figures} of {escape(source)} {notes} {escape(target)}{end}"
    else:
        yield f"nothing is left to {answer.action}"
    for page in answer.pages[:_MAX_LISTED]:
        yield f"  {dim(page + (' changed' if answer.done else ' would change'))}"
    if len(answer.pages) > _MAX_LISTED:
        pages = format_count(len(answer.pages) - _MAX_LISTED, "page")
        yield f"  {dim(f'{pages} more')}"
    if answer.alias:
        yield f"  {escape(answer.alias)} {alias} cortex.toml"
    for one in answer.collisions[:_MAX_LISTED]:
        records = f"{escape(one.topic)}: {escape(one.a)}, {escape(one.b)}"
        yield f"  {yellow('one topic, two records')}: {records}"
        supersede = cortex_command("supersede", one.a, "--by", one.b)
        yield f"    {dim(f'both stay; {supersede} when one says it all')}"
    if len(answer.collisions) > _MAX_LISTED:
        yield f"  {len(answer.collisions) - _MAX_LISTED} more topics of which there are two"
    yield from problem_lines(answer.problems, _MAX_LISTED)
    if answer.done:
        yield dim(f"undo: {answer.next}")
    else:
        yield f"nothing is changed yet: {escape(answer.next)}"
