"""What the verbs that make and change records answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.model.record import short_handle
from cortex.core.text.strings import cortex_command, format_count, shell_quote
from cortex.interfaces.cli.text import (
    MAX_PROBLEMS,
    bold,
    change_lines,
    dim,
    format_counts,
    format_day,
    hint,
    hint_lines,
    note_row,
    outcome_lines,
    path,
    problem_lines,
    section,
    undo_lines,
    who_and_when,
    yellow,
)
from cortex.interfaces.escape_terminal import escape

_MAX_LISTED = 10
# action -> what happens, before and after it is done; the same for the line in cortex.toml
_MERGE_PHRASES = {
    "merge": ("would become", "became", "would be written into", "was written into"),
    "unmerge": ("would go back to", "went back to", "would be taken out of", "was taken out of"),
}


def new(answer: Any) -> Iterable[str]:
    yield escape(answer.file)  # whole, for an editor that is started anywhere


def retry(answer: Any) -> Iterable[str]:
    yield f"{path(answer.path)}: waiting again{hint('; cortex normalize')}"


def capture(answer: Any) -> Iterable[str]:
    """The id; then a line for each type of record, such as `1 action for ana, due 2026-12-01, k3f9q2`."""
    yield escape(answer.id)
    for kind in dict.fromkeys(made.type for made in answer.records):
        some = [made for made in answer.records if made.type == kind]
        is_done = all(made.status == "done" for made in some)
        count = format_count(len(some), f"{'done ' if is_done else ''}{escape(kind)}")
        yield f"{count}{_told_of_one(some[0])}" if len(some) == 1 else count
        for made in some:
            if len(some) > 1:
                yield _told_in_list(made)
            yield from _opposite_lines(made)
    if answer.note:
        yield yellow(answer.note)
    yield from hint_lines(answer)
    yield from problem_lines(answer.problems)


def _told_of_one(made: Any) -> str:
    """What came of a text, such as ` for ana, due 2026-12-01, k3f9q2; like p7m2x4`."""
    task = who_and_when(made)
    outcome = f" ({made.outcome})" if made.outcome != "created" else ""
    alike = f"; {_alike(made)}" if made.similar else ""
    start = "" if not task else f" {task}" if made.owner else f", {task}"
    return escape(f"{start}{', ' if task else ' '}{short_handle(made.id)}{outcome}{alike}")


def _told_in_list(made: Any) -> str:
    """The same beside others: `k3f9q2  Send the offer  for ana, due 2026-12-01  (like p7m2x4)`."""
    remarks = ", ".join(filter(None, [made.outcome.replace("created", ""), _alike(made)]))
    parts = [
        short_handle(made.id),
        made.title,
        who_and_when(made),
        f"({remarks})" if remarks else "",
    ]
    return escape("  ".join(filter(None, parts)))


def _alike(made: Any) -> str:
    alike = ", ".join(short_handle(one.id) for one in made.similar)
    return f"like {alike}" if alike else ""


def _opposite_lines(made: Any) -> Iterable[str]:
    for one in made.contradicts:
        yield f"  {yellow(f'contradicts {short_handle(one.id)}?')} {escape(one.title)}"
        yield f"  {dim(hint(cortex_command('supersede', one.id, '--by', made.id)))}"


def save(answer: Any) -> Iterable[str]:
    for saved in answer.hits:
        yield f"{saved.outcome} {path(saved.id)}  {dim(saved.title)}"
    yield from _saved_lines(answer) if answer.id else ()
    yield from problem_lines(answer.problems)


def _saved_lines(answer: Any) -> Iterable[str]:
    yield f"{answer.outcome} {path(answer.id)}"
    yield f"  {dim(path(answer.file))}"
    if answer.suggested_topic:
        yield f"  {dim('a topic for it: ')}{hint(f'--topic {shell_quote(answer.suggested_topic)}')}"
    if answer.note:
        yield f"  {yellow(answer.note)}"
    for similar in answer.similar:
        yield f"  looks like {path(similar.id)} ({similar.similarity:.2f}): {escape(similar.title)}"
    yield from _opposite_lines(answer)


def restore(answer: Any) -> Iterable[str]:
    for hit in answer.hits:
        yield from outcome_lines(hit)
    yield from problem_lines(answer.problems)


def archive(answer: Any) -> Iterable[str]:
    if answer.id:
        yield from change_lines(answer)
        return
    if answer.hits:
        yield "which of these?"
    for hit in answer.hits:
        yield f"  {escape(hit.id)}  {bold(hit.title)}  {dim(path(hit.file))}"
    yield from hint_lines(answer)
    yield from problem_lines(answer.problems)


def relate(answer: Any) -> Iterable[str]:
    outcome = {"created": "", "unchanged": "unchanged: ", "removed": "removed: "}[answer.outcome]
    yield f"{outcome}{path(answer.from_)} {escape(answer.kind)} {path(answer.to)}"
    yield from hint_lines(answer)
    yield from undo_lines(answer)
    yield from problem_lines(answer.problems)


def consolidate(answer: Any) -> Iterable[str]:
    if answer.id:
        yield f"{answer.outcome}: {path(answer.path)}, from {', '.join(map(escape, answer.originals))}"
        yield from undo_lines(answer)
    for pair in answer.pairs:
        yield bold(f"{pair.similarity:.2f}") + (f"  {yellow('strong')}" if pair.strong else "")
        for hit, words in zip(pair.hits, pair.only, strict=True):
            yield f"  {escape(hit.title)}  {dim(path(hit.file))}"
            if words:
                yield f"    {dim('only here: ' + ', '.join(words))}"
        yield f"  {dim(hint(pair.merge))}"
    if not answer.id and not answer.pairs:
        compared = format_count(answer.compared, "record")
        yield f"no two of {compared} are alike enough; --least shows pairs that are less so"
    if more := answer.total - len(answer.pairs):
        yield f"{yellow(format_count(more, 'more pair'))}: --number shows them"
    yield from problem_lines(answer.problems)


def lifecycle(answer: Any) -> Iterable[str]:
    hits = answer.hits
    yield from _judged_note_lines(hits)
    done = "would be archived" if answer.dry_run else "archived"
    archived = f"{format_count(len(hits), 'record')} {done}"
    yield archived if hits else "nothing has lost its importance"
    if hits and not answer.dry_run:
        yield f"  {dim(hint('cortex restore ID brings one back'))}"
    if remaining := answer.total - len(hits):
        yield f"{yellow(f'{remaining:,} more')}{hint(f': {answer.hint}')}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def prune(answer: Any) -> Iterable[str]:
    hits = answer.hits
    yield from _judged_note_lines(hits)
    if hits:
        yield f"{format_count(len(hits), 'record')} {'pruned' if answer.done else 'to prune'}"
    else:
        yield "nothing has been archived for 90 days"
    yield from hint_lines(answer)
    if remaining := answer.total - len(hits):
        yield f"{yellow(f'{remaining:,} more')}: run the command again"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _judged_note_lines(hits: Any) -> Iterable[str]:
    for judged in hits:
        note = judged.hit
        yield bold(note.title)
        yield f"  {dim(note.type or 'note', path(note.file))}"
        yield f"  {escape(judged.why)}"


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
        yield f"  {dim(hint('undo: ' + '; '.join(answer.undo)))}"
    yield from problem_lines(answer.problems)


def project(answer: Any) -> Iterable[str]:
    if answer.merge:
        yield from _project_merge_lines(answer.merge)
    elif answer.name:
        yield from _project_details_lines(answer)
    else:
        yield from _project_list_lines(answer)


def _project_list_lines(answer: Any) -> Iterable[str]:
    if not answer.projects:
        yield "no note says a project"
    for project in answer.projects:
        here = f"  {yellow('here')}" if project.name == answer.here.project else ""
        yield f"{bold(project.name)}  {dim(f'changed {format_day(project.changed)}')}{here}"
        yield f"  {_format_project_counts(project)}"
        if project.merged_into:
            again = cortex_command("project", "merge", project.name, project.merged_into)
            merged = yellow(f"merged into {project.merged_into}")
            yield f"  {merged}, and these came later{hint(f': {again}')}"
    if more := answer.total - len(answer.projects):
        yield f"{format_count(more, 'project')} more, changed earlier"
    for pair in answer.alike:
        said = hint(f"; if they are one project: {pair.command}")
        yield f"{dim(f'{pair.a} looks like {pair.b}')}{dim(said)}"
    if len(answer.vaults) > 1:
        rows = (f"  {one.name}  {dim(escape(one.root))}" for one in answer.vaults)
        yield from section("vaults on this machine", rows)
    yield from problem_lines(answer.problems)


def _format_project_counts(project: Any) -> str:
    return format_counts(
        (project.notes, "note"),
        (project.open_actions, "open action"),
        (project.sessions, "session"),
    )


def _project_details_lines(answer: Any) -> Iterable[str]:
    changed = f"  {dim(f'changed {format_day(answer.changed)}')}" if answer.changed else ""
    yield f"{bold(answer.name)}{changed}"
    yield f"  {_format_project_counts(answer)}"
    if answer.aliases:
        yield f"  merged into it: {', '.join(map(escape, answer.aliases))}"
    for heading, notes in (("decisions", answer.decisions), ("open actions", answer.actions)):
        rows = (note_row(note, f"{format_day(note.date):<10}", note.id) for note in notes.hits)
        yield from section(heading, rows)
    branches = (
        f"  {format_day(branch.changed)}  {escape(branch.name)}  {dim(format_count(branch.notes, 'note'))}"
        for branch in answer.branches
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
    for pair in answer.collisions[:_MAX_LISTED]:
        records = f"{escape(pair.topic)}: {escape(pair.a)}, {escape(pair.b)}"
        yield f"  {yellow('one topic, two records')}: {records}"
        supersede = cortex_command("supersede", pair.a, "--by", pair.b)
        yield f"    {dim(hint(f'both stay; {supersede} when one says it all'))}"
    if len(answer.collisions) > _MAX_LISTED:
        yield f"  {len(answer.collisions) - _MAX_LISTED} more topics of which there are two"
    yield from problem_lines(answer.problems, _MAX_LISTED)
    if answer.done:
        yield dim(hint(f"undo: {answer.next}"))
    else:
        yield f"nothing is changed yet{hint(f': {answer.next}')}"


def index_code(answer: Any) -> Iterable[str]:
    counts = ", ".join(f"{len(titles):,} {one}" for one, titles in answer.records.items())
    files = f"{format_count(answer.sources, 'source file')} of {escape(answer.project)}"
    yield f"{files}: {'would be ' * answer.dry_run}{counts}"
    yield from (dim(f"left out: {answer.left_out[why]:,} {why}") for why in answer.left_out)
    for one in ("created", "updated", "archived"):
        yield from (f"  {dim(one)}  {escape(title)}" for title in answer.records[one][:_MAX_LISTED])
    yield from problem_lines(answer.problems, MAX_PROBLEMS)
