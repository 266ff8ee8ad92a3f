"""What the verbs that deal with several vaults and projects answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.text.shell_command import cortex_command
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, format_count, problem_lines
from cortex.interfaces.escape_terminal import escape

_MAX_LISTED = 10


def promote_lines(done: Any) -> Iterable[str]:
    where = f"{escape(done.vault)}/{escape(done.path)}"
    yield (
        f"promoted to {where}"
        if done.outcome == "created"
        else f"it is in your own vault already: {where}"
    )
    if done.events:
        yield f"  with {format_count(len(done.events), 'event')}"
    yield f"  here it is {done.source}: {escape(done.source_path)}"
    if done.links:
        shown = ", ".join(escape(one) for one in done.links[:_MAX_LISTED]) + (
            "…" if len(done.links) > _MAX_LISTED else ""
        )
        yield f"  it links to what only this vault has: {shown}"
    if done.outcome == "created" or done.source == "archived":
        yield f"  {DIM}undo: {'; '.join(escape(one) for one in done.undo)}{OFF}"
    yield from problem_lines(done.problems)


def project_lines(answer: Any) -> Iterable[str]:
    kind = type(answer).__name__
    yield from {
        "ProjectListing": _project_list_lines,
        "ProjectDetails": _project_details_lines,
        "ProjectMerge": _project_merge_lines,
    }[kind](answer)


def _project_list_lines(listed: Any) -> Iterable[str]:
    if not listed.projects:
        yield "no note says a project"
    for one in listed.projects:
        here = f"  {YELLOW}here{OFF}" if one.name == listed.here else ""
        yield f"{BOLD}{escape(one.name)}{OFF}  {DIM}changed {one.changed[:10]}{OFF}{here}"
        yield f"  {_format_project_counts(one)}"
        if one.merged_into:
            again = cortex_command("project", "merge", one.name, one.merged_into)
            yield f"  {YELLOW}merged into {escape(one.merged_into)}{OFF}, and these came later: {escape(again)}"
    if listed.more:
        yield f"{format_count(listed.more, 'project')} more, changed earlier"
    for pair in listed.alike:
        yield f"{DIM}{escape(pair.a)} looks like {escape(pair.b)}; if they are one project: {escape(pair.command)}{OFF}"
    yield from problem_lines(listed.problems)


def _format_project_counts(one: Any) -> str:
    return f"{format_count(one.notes, 'note')}, {format_count(one.open_actions, 'open action')}, {format_count(one.sessions, 'session')}"


def _project_details_lines(shown: Any) -> Iterable[str]:
    yield f"{BOLD}{escape(shown.name)}{OFF}" + (
        f"  {DIM}changed {shown.changed[:10]}{OFF}" if shown.changed else ""
    )
    yield f"  {_format_project_counts(shown)}"
    if shown.aliases:
        yield f"  merged into it: {', '.join(escape(one) for one in shown.aliases)}"
    for heading, lines in (("decisions", shown.decisions), ("open actions", shown.actions)):
        if lines:
            yield heading
        for one in lines:
            yield f"  {escape(one.date) or 'no date':<10}  {escape(one.title)}  {DIM}{escape(one.id)}{OFF}"
    if shown.branches:
        yield "branches"
    for branch in shown.branches:
        yield f"  {branch.changed[:10]}  {escape(branch.name)}  {DIM}{format_count(branch.notes, 'note')}{OFF}"
    here = shown.here
    if here.name:
        known = f", which is part of {escape(here.project)}" if here.project != here.name else ""
        yield f"this folder is {escape(here.name)}{known}: {escape(here.why)}"
    else:
        yield f"this folder is no project: {escape(here.why)}"
    yield from problem_lines(shown.problems)


_MERGE_PHRASES = {  # action -> what happens, before and after it is done; the same for the line in cortex.toml
    "merge": ("would become", "became", "would be written into", "was written into"),
    "unmerge": ("would go back to", "went back to", "would be taken out of", "was taken out of"),
}


def _project_merge_lines(merged: Any) -> Iterable[str]:
    notes, alias = (
        _MERGE_PHRASES[merged.action][merged.done],
        _MERGE_PHRASES[merged.action][2 + merged.done],
    )
    source, target = (merged.a, merged.b) if merged.action == "merge" else (merged.b, merged.a)
    if merged.notes or merged.sessions or merged.alias:
        figures = (
            f"{format_count(merged.notes, 'note')} and {format_count(merged.sessions, 'session')}"
        )
        yield f"{figures} of {escape(source)} {notes} {escape(target)}" + (
            "'s" if merged.action == "merge" else ""
        )
    else:
        yield f"nothing is left to {merged.action}"
    for page in merged.pages[:_MAX_LISTED]:
        yield f"  {DIM}{escape(page)} {'changed' if merged.done else 'would change'}{OFF}"
    if len(merged.pages) > _MAX_LISTED:
        yield f"  {DIM}{format_count(len(merged.pages) - _MAX_LISTED, 'page')} more{OFF}"
    if merged.alias:
        yield f"  {escape(merged.alias)} {alias} cortex.toml"
    for one in merged.collisions[:_MAX_LISTED]:
        yield f"  {YELLOW}one topic, two records{OFF}: {escape(one.topic)}: {escape(one.a)}, {escape(one.b)}"
        yield f"    {DIM}both stay; {escape(cortex_command('supersede', one.a, '--by', one.b))} when one says it all{OFF}"
    if len(merged.collisions) > _MAX_LISTED:
        yield f"  {len(merged.collisions) - _MAX_LISTED} more topics of which there are two"
    yield from problem_lines(merged.problems, _MAX_LISTED)
    yield (
        f"{DIM}undo: {escape(merged.next)}{OFF}"
        if merged.done
        else f"nothing is changed yet: {escape(merged.next)}"
    )


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "promote": promote_lines,
    "project": project_lines,
}
NO: dict[str, Callable[[Any], bool]] = {}
