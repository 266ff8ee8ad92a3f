"""What the verbs that find and list notes answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cortex.core.model.note_status import DONE_STATUSES, SET_ASIDE_STATUSES
from cortex.core.model.relation import LINK_KIND, edge_label, inverse_of
from cortex.core.text.strings import cortex_command, format_count
from cortex.interfaces.cli.text import (
    MAX_PROBLEMS,
    Marked,
    blocks,
    bold,
    dim,
    format_counts,
    format_day,
    format_time,
    hint,
    hint_lines,
    lead,
    list_end_lines,
    name_of,
    note_lines,
    note_row,
    path,
    problem_lines,
    status_mark,
    yellow,
)
from cortex.interfaces.cli.view import BOLD, DIM, LONG_LINE_MARK, OFF
from cortex.interfaces.escape_terminal import escape

_SCORE_PARTS = ("base", "access", "recent", "incoming", "type", "age")
_RANK_PARTS = ("rank_confidence", "rank_priority", "rank_centrality", "rank_access", "rank_branch")


def search(answer: Any) -> Iterable[str]:
    for word, instead in answer.corrected.items():
        yield dim(f"searched for {instead}: no note has {word}")
    if answer.corrected:
        yield ""
    yield from blocks(map(_hit_lines, answer.hits))
    if not answer.hits:
        yield f"no hits for {escape(answer.query)}"
    if answer.hint and answer.hits:
        yield from ("", dim(hint(answer.hint)))
    elif answer.hint:
        yield f"  {hint(answer.hint)}"
    if answer.problems:
        yield ""
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _hit_lines(hit: Any) -> Iterable[str]:
    whose = ("(personal)",) if hit.vault == "personal" else ()
    yield from note_lines(hit, format_day(hit.date), *whose, path(f"{hit.file}:{hit.line}"))
    yield from [f"  {yellow(f'⚠ {hit.doubt}')}"] * bool(hit.doubt)
    if hit.why:
        yield f"  {dim('why', *_why(hit.why))}"
    if hit.others:
        others = (Marked(f"{escape(other.type)} {path(other.id)}") for other in hit.others)
        yield f"  {dim('also', *others)}"


def _why(why: dict[str, Any]) -> Iterable[str]:
    if "name" in why:
        yield "called so"
    terms = ", ".join(f"{term} {weight:.2f}" for term, weight in why["terms"].items())
    if "words" in why:
        yield f"words {why['words']:.2f}{f' ({terms})' if terms else ''}"
    if "meaning" in why:
        yield f"meaning {why['meaning']:.2f}"


def _recalled_lines(hit: Any) -> Iterable[str]:
    yield from note_lines(hit, format_day(hit.date), name_of(hit))
    yield from [f"  {yellow(f'⚠ {hit.doubt}')}"] * bool(hit.doubt)


def recall(answer: Any) -> Iterable[str]:
    hits = answer.hits
    yield from blocks(map(_recalled_lines, hits))
    if not hits:
        yield "nothing is recalled" + (f" for {escape(answer.query)}" if answer.query else "")
        yield from hint_lines(answer)
    elif more := answer.total - len(hits):
        yield ""
        shows = "cortex timeline ID shows what stood around one, cortex show ID the whole of it"
        yield f"{more:,} more{hint(f': --number; {shows}')}"
    if answer.related.hits:
        yield from ("", dim("connected to these"))
    for near in answer.related.hits:
        how = f"{escape(near.why)}: {path(near.via)}"
        yield from note_lines(near.hit, format_day(near.hit.date), name_of(near.hit), Marked(how))
    if answer.archived:
        yield ""
        yield dim("in the archive")
    for one in answer.archived:
        yield f"{escape(one.title)}  {hint(one.command)}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def remind(answer: Any) -> Iterable[str]:
    if answer.text:
        yield escape(answer.text, lines=True)


def timeline(answer: Any) -> Iterable[str]:
    for hit in answer.hits:
        is_focus = hit.id == answer.focus
        row = f"{'>' if is_focus else ' '} {lead(hit)}{format_day(hit.date)}  {escape(hit.title)}"
        status = f" {yellow(hit.status)}" if hit.status in SET_ASIDE_STATUSES else ""
        title = f"{BOLD}{row}{OFF}" if is_focus else row
        yield f"{title}{status}  {dim(hit.type or 'note', name_of(hit))}"
        if is_focus:
            yield f"{LONG_LINE_MARK}    {escape(hit.snippet)}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def changes(answer: Any) -> Iterable[str]:
    if answer.resync:
        yield "what changed since then is not known any more: read the whole again"
    for one in answer.changes:
        yield f"{one.what:<7}  {path(one.path)}  {dim(one.type or 'note', one.id)}"
    yield f"cursor {answer.cursor}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def open(answer: Any) -> Iterable[str]:  # noqa: A001  the verb's name
    yield f"opened: {path(answer.file)}" if answer.opened else escape(answer.url or answer.file)


def show(answer: Any) -> Iterable[str]:
    """The text on a terminal alone: see `render._raw_content`."""
    if answer.parts:
        yield from _score_lines(answer)
        return
    yield escape(answer.text.removesuffix("\n"), lines=True)
    yield from [yellow(f"⚠ {answer.doubt}")] * bool(answer.doubt)
    if answer.vault == "personal":
        yield dim("(personal)", path(answer.file))
    if answer.cut:
        yield f"{yellow('only the beginning is shown')}: open {path(answer.file)} in an editor"


def _score_lines(answer: Any) -> Iterable[str]:
    parts = answer.parts
    yield bold(answer.title)
    yield f"  {dim(answer.type or 'note', path(answer.path))}"
    yield _format_score("score", answer.score, 5)
    yield from (_format_figure(name, parts[name]) for name in _SCORE_PARTS)
    yield _format_score("rank", parts["rank"], 1)
    yield from (_format_figure(name.removeprefix("rank_"), parts[name]) for name in _RANK_PARTS)
    yield _format_figure("times recency", parts["rank_recency"])
    yield _format_score("salience", parts["salience"], 1)
    yield _format_figure("base", parts["salience_base"])
    yield _format_figure("times gain", parts["salience_gain"])
    yield _format_figure("times left", parts["salience_left"])
    effective = parts["effective_confidence"]
    yield _format_score("confidence", effective, f"{parts['confidence']:.3f}")
    if "half_life" in parts:
        yield f"    {parts['days']:.1f} days untouched, half-life {parts['half_life']:.1f} days"
    else:
        yield "    does not decay"
    last_use = f", last {answer.last_use}" if answer.last_use else ""
    yield f"  used {format_count(answer.uses, 'time')}{last_use}"
    yield f"  {escape(answer.lifecycle)}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _format_score(name: str, value: float, most: object) -> str:
    return f"  {bold(f'{name:<12}{value:.3f}')}  of {most}"


def _format_figure(name: str, value: float) -> str:
    number = f"{value:7.3f}".replace(" -0.000", "  0.000")  # a loss that rounds to nothing
    return f"    {dim(f'{name:<17}')}{number}"


def history(answer: Any) -> Iterable[str]:
    if not (answer.id or answer.path):
        yield from _vault_history_lines(answer)
        return
    if answer.at:
        yield escape(answer.text.removeprefix("\ufeff").removesuffix("\n"), lines=True)
        return
    yield bold(path(answer.path) if answer.path else answer.id)
    both = [
        *((version.date, _version_lines(answer, version)) for version in answer.versions),
        *((text.at, [_event_text_line(text)]) for text in answer.texts),
    ]
    for _, lines in sorted(both, key=lambda pair: pair[0], reverse=True):
        yield from lines
    if answer.more:
        yield f"  {format_count(answer.more, 'older commit')}{hint(f': --number {len(answer.versions) + answer.more}')}"
    if older_texts := answer.revisions - len(answer.texts):
        yield f"  {format_count(older_texts, 'older text')}{hint(f': --number {answer.revisions}')}"
    yield from hint_lines(answer)


def _vault_history_lines(answer: Any) -> Iterable[str]:
    """The commits of the vault, each with its notes in a line."""
    for one in answer.commits:
        name = f"{yellow(one.commit[:10])}  {format_time(one.at)}  " if one.commit else ""
        counts = [(one.events, "event"), (one.briefings, "briefing"), (one.others, "other file")]
        counted = format_counts(*(pair for pair in counts if pair[0]))
        rest = f"  {dim(counted)}" if counted else ""
        yield f"{name}{bold(one.author)}  {escape(one.subject)}{rest}"
        for note in one.notes:
            before = (f"was {note.before}",) if note.before else ()
            yield note_row(note, f"{note.change:<8}", note.type or "note", name_of(note), *before)
        if one.more:
            yield f"    {one.more:,} more notes"
    if answer.more:
        number = len([one for one in answer.commits if one.commit]) + answer.more
        yield f"{format_count(answer.more, 'older commit')}{hint(f': --number {number}')}"
    if any(note.undo for one in answer.commits for note in one.notes):
        yield ""
        added = "take back what was added: cortex archive ID"
        changed = "changed: cortex restore ID --at COMMIT^; removed: cortex restore ID"
        yield dim(hint(f"{added}; {changed}"))
    yield from hint_lines(answer)


def _version_lines(answer: Any, version: Any) -> list[str]:
    """A commit of the note, and what a merge did not take."""
    what = f"{escape(version.author)}  {version.change}: {escape(version.subject)}"
    lines = [f"  {yellow(version.commit[:10])}  {format_time(version.date)}  {what}"]
    if version.path != answer.path:
        lines.append(f"{'':14}{dim(f'as {version.path}')}")
    for side in version.sides:
        what = "another version" if side.blob else "no such note"
        see = cortex_command("history", answer.id or answer.path, "--at", side.commit[:10])
        lines.append(f"{'':14}{DIM}one side had {what}{hint(f': {see}')}{OFF}")
    return lines


def _event_text_line(text: Any) -> str:
    """What an event said: `--at` takes its id as it takes a commit."""
    return f"  {'event':<10}  {format_time(text.at)}  {escape(text.title)}  {yellow(text.event)}"


def entities(answer: Any) -> Iterable[str]:
    """The notes that mention an entity, or the entities."""
    hits = answer.hits
    if answer.name and not answer.entities and answer.hint:
        yield from (f"nothing named {escape(answer.name)}", f"  {hint(answer.hint)}")
    elif not answer.entities:
        name = escape(answer.name)
        yield f"{name} mentions nothing by name" if name else "nothing is mentioned by name"
    for hit in hits:
        yield bold(hit.title) + status_mark(hit.status)
        yield f"  {dim(hit.type or 'note', path(f'{hit.file}:{hit.line}'))}"
    for entity in () if hits else answer.entities:
        line = f"{entity.line:>5}  " if entity.line else ""
        notes = format_count(entity.notes, "note")
        yield f"{line}{escape(entity.kind):<9}{escape(entity.name)}  {dim(notes)}"
    if more := answer.total - len(hits or answer.entities):
        yield f"{yellow(f'{more:,} more')}{hint(': --number shows them')}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def backlinks(answer: Any) -> Iterable[str]:
    yield from blocks(note_lines(hit, path(f"{hit.file}:{hit.line}")) for hit in answer.hits)
    yield from list_end_lines(answer, "link")


def graph(answer: Any) -> Iterable[str]:
    if answer.to and not answer.hits:
        yield f"no path from {escape(answer.asked)} to {escape(answer.to)}"
    elif answer.mermaid:
        yield escape(answer.mermaid, lines=True)
    else:
        yield from _tree_lines(answer)
        if len(answer.hits) == 1 and not (answer.cut or answer.to):
            yield dim("nothing is connected to it")
    if answer.cut and not answer.mermaid:
        nodes = len(answer.hits)
        subject = f"only the nearest {nodes} are" if nodes > 1 else "nothing but the note itself is"
        yield f"{yellow(f'{subject} shown')}{hint(': --number shows more')}"
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _tree_lines(answer: Any) -> Iterator[str]:
    """Every note once, below the first that leads to it, and every edge once."""
    nodes = {node.id: node for node in answer.hits}
    neighbours = _kinds_by_neighbour(answer)
    claimed, printed = {answer.asked}, {answer.asked}
    drawn: set[frozenset[str]] = set()

    def below(id_: str, indent: str) -> Iterator[str]:
        rows = []
        for other in neighbours.get(id_, {}):
            new = other not in claimed and nodes[other].depth == nodes[id_].depth + 1
            if new or (other in printed and frozenset((id_, other)) not in drawn):
                rows.append((other, new))
                drawn.add(frozenset((id_, other)))
        claimed.update(other for other, _ in rows)
        for at, (other, new) in enumerate(rows, start=1):
            corner, deeper = ("├─", "│  ") if at < len(rows) else ("└─", "   ")
            kinds = _format_kinds(neighbours[id_][other])
            yield f"{indent}{corner} {kinds} {_format_node(nodes[other])}{'' if new else ' (above)'}"
            if new:
                printed.add(other)
                yield from below(other, f"{indent}{deeper}")

    yield _format_node(nodes[answer.asked])
    yield from below(answer.asked, "")


def _kinds_by_neighbour(answer: Any) -> dict[str, dict[str, list[str]]]:
    """What each note calls the way to each of its neighbours."""
    neighbours: dict[str, dict[str, list[str]]] = {}
    for source, kind, target, strength, why in answer.edges:
        label = f"{edge_label(kind, escape(why))} {strength:.2f}" if why else kind
        back = label if why else inverse_of(kind) or f"← {kind}"
        neighbours.setdefault(source, {}).setdefault(target, []).append(label)
        neighbours.setdefault(target, {}).setdefault(source, []).append(back)
    return neighbours


def _format_kinds(kinds: list[str]) -> str:
    """Kinds as a person wants them: a link beside a relation says nothing more."""
    plain = list(dict.fromkeys(kinds))
    relations = [kind for kind in plain if kind not in (LINK_KIND, inverse_of(LINK_KIND))]
    return dim(", ".join(relations or plain))


def _format_node(node: Any) -> str:
    title = escape(node.title or node.id)
    return f"{lead(node)}{title}  {dim(path(node.id))}{status_mark(node.status)}"


def topic(answer: Any) -> Iterable[str]:
    indent = "  " if answer.suggested else ""
    if answer.suggested:
        yield escape(answer.suggested)
        if answer.hits:
            yield "there is already"
    for row in answer.hits:
        note = row.hit
        status = "" if note.status == "active" else f"  {yellow(note.status)}"
        texts = format_count(row.texts, "text")
        yield f"{indent}{escape(row.topic)}  {texts}  {dim(note.project or row.scope)}{status}"
        yield f"  {indent}{dim(note.id)}  {escape(note.title)}"
    if not answer.hits and not answer.suggested:
        example = ': cortex save "What it is" --topic decision/what-it-is'
        yield f"no topics yet{hint(example)}"
    yield from problem_lines(answer.problems)


def actions(answer: Any) -> Iterable[str]:
    for action in answer.hits:
        note = action.hit
        due = f"due {escape(action.due)}" if action.due else "no date"
        if action.overdue:
            due = yellow(f"overdue since {action.due}")
        if note.status in DONE_STATUSES:
            due = escape(note.status) + (" (its task is ticked)" if action.ticked else "")
        owner = f"  {escape(action.owner)}" if action.owner else ""
        yield f"{due}  {bold(note.title)}{owner}  {dim(note.project, name_of(note))}"
    yield from list_end_lines(answer, "actions")


def meetings(answer: Any) -> Iterable[str]:
    for meeting in answer.hits:
        note = meeting.hit
        open_actions = format_count(meeting.open_actions, "open action")
        decisions = format_count(meeting.decisions, "decision")
        outcome = f"{open_actions}, {meeting.done_actions} done, {decisions}"
        yield f"{format_day(note.date)}  {bold(note.title)}  {outcome}  {dim(name_of(note))}"
    yield from list_end_lines(answer, "meetings")


def plan(answer: Any) -> Iterable[str]:
    yield from blocks(map(_plan_lines, answer.hits))
    yield from list_end_lines(answer, "plans")
    yield from hint_lines(answer)


def _plan_lines(plan: Any) -> Iterable[str]:
    note, count = plan.hit, f"{plan.done} of {len(plan.steps)} done"
    yield f"{bold(note.title)}  {count}  {dim(note.project, plan.branch, name_of(note))}"
    for step in plan.steps:
        yield f"  [{'x' if step.is_done else ' '}] {escape(step.text)}"


def edit(answer: Any) -> Iterable[str]:
    yield f"edited: {path(answer.file)}" if answer.opened else escape(answer.file)
