"""What the verbs that deal with several vaults and projects answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.text.shell_command import line
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, count, problem_lines
from cortex.interfaces.escape_terminal import visible

_FEW = 10


def promote(done: Any) -> Iterable[str]:
    where = f"{visible(done.vault)}/{visible(done.path)}"
    yield (
        f"promoted to {where}"
        if done.outcome == "created"
        else f"it is in your own vault already: {where}"
    )
    if done.events:
        yield f"  with {count(len(done.events), 'event')}"
    yield f"  here it is {done.source}: {visible(done.source_path)}"
    if done.links:
        shown = ", ".join(visible(one) for one in done.links[:_FEW]) + (
            "…" if len(done.links) > _FEW else ""
        )
        yield f"  it links to what only this vault has: {shown}"
    if done.outcome == "created" or done.source == "archived":
        yield f"  {DIM}undo: {'; '.join(visible(one) for one in done.undo)}{OFF}"
    yield from problem_lines(done.problems)


def project(answer: Any) -> Iterable[str]:
    kind = type(answer).__name__
    yield from {"Listed": _listed, "Portrait": _portrait, "Merged": _merged}[kind](answer)


def _listed(listed: Any) -> Iterable[str]:
    if not listed.projects:
        yield "no note says a project"
    for one in listed.projects:
        here = f"  {YELLOW}here{OFF}" if one.name == listed.here else ""
        yield f"{BOLD}{visible(one.name)}{OFF}  {DIM}changed {one.changed[:10]}{OFF}{here}"
        yield f"  {_figures(one)}"
        if one.merged_into:
            again = line("project", "merge", one.name, one.merged_into)
            yield f"  {YELLOW}merged into {visible(one.merged_into)}{OFF}, and these came later: {visible(again)}"
    if listed.more:
        yield f"{count(listed.more, 'project')} more, changed earlier"
    for pair in listed.alike:
        yield f"{DIM}{visible(pair.a)} looks like {visible(pair.b)}; if they are one project: {visible(pair.command)}{OFF}"
    yield from problem_lines(listed.problems)


def _figures(one: Any) -> str:
    return f"{count(one.notes, 'note')}, {count(one.open_actions, 'open action')}, {count(one.sessions, 'session')}"


def _portrait(shown: Any) -> Iterable[str]:
    yield f"{BOLD}{visible(shown.name)}{OFF}" + (
        f"  {DIM}changed {shown.changed[:10]}{OFF}" if shown.changed else ""
    )
    yield f"  {_figures(shown)}"
    if shown.aliases:
        yield f"  merged into it: {', '.join(visible(one) for one in shown.aliases)}"
    for heading, lines in (("decisions", shown.decisions), ("open actions", shown.actions)):
        if lines:
            yield heading
        for one in lines:
            yield f"  {visible(one.date) or 'no date':<10}  {visible(one.title)}  {DIM}{visible(one.id)}{OFF}"
    if shown.branches:
        yield "branches"
    for branch in shown.branches:
        yield f"  {branch.changed[:10]}  {visible(branch.name)}  {DIM}{count(branch.notes, 'note')}{OFF}"
    here = shown.here
    if here.name:
        known = f", which is part of {visible(here.project)}" if here.project != here.name else ""
        yield f"this folder is {visible(here.name)}{known}: {visible(here.why)}"
    else:
        yield f"this folder is no project: {visible(here.why)}"
    yield from problem_lines(shown.problems)


_SAID = {  # action -> what happens, before and after it is done; the same for the line in cortex.toml
    "merge": ("would become", "became", "would be written into", "was written into"),
    "unmerge": ("would go back to", "went back to", "would be taken out of", "was taken out of"),
}


def _merged(merged: Any) -> Iterable[str]:
    notes, alias = _SAID[merged.action][merged.done], _SAID[merged.action][2 + merged.done]
    source, target = (merged.a, merged.b) if merged.action == "merge" else (merged.b, merged.a)
    if merged.notes or merged.sessions or merged.alias:
        figures = f"{count(merged.notes, 'note')} and {count(merged.sessions, 'session')}"
        yield f"{figures} of {visible(source)} {notes} {visible(target)}" + (
            "'s" if merged.action == "merge" else ""
        )
    else:
        yield f"nothing is left to {merged.action}"
    for page in merged.pages[:_FEW]:
        yield f"  {DIM}{visible(page)} {'changed' if merged.done else 'would change'}{OFF}"
    if len(merged.pages) > _FEW:
        yield f"  {DIM}{count(len(merged.pages) - _FEW, 'page')} more{OFF}"
    if merged.alias:
        yield f"  {visible(merged.alias)} {alias} cortex.toml"
    for one in merged.collisions[:_FEW]:
        yield f"  {YELLOW}one topic, two records{OFF}: {visible(one.topic)}: {visible(one.a)}, {visible(one.b)}"
        yield f"    {DIM}both stay; {visible(line('supersede', one.a, '--by', one.b))} when one says it all{OFF}"
    if len(merged.collisions) > _FEW:
        yield f"  {len(merged.collisions) - _FEW} more topics of which there are two"
    yield from problem_lines(merged.problems, _FEW)
    yield (
        f"{DIM}undo: {visible(merged.next)}{OFF}"
        if merged.done
        else f"nothing is changed yet: {visible(merged.next)}"
    )


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {"promote": promote, "project": project}
NO: dict[str, Callable[[Any], bool]] = {}
