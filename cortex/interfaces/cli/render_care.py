"""What the verbs that look after the vault and share it answer, as lines for a person."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from cortex.core.text.strings import cortex_command, format_count
from cortex.interfaces.cli.text import (
    MAX_PROBLEMS,
    bold,
    dim,
    first,
    format_counts,
    format_day,
    format_time,
    hint,
    hint_lines,
    name_of,
    note_row,
    path,
    path_lines,
    problem_lines,
    section,
    short_path,
    undo_lines,
    yellow,
)
from cortex.interfaces.cli.view import DIM, FIGURES_MARK, OFF, PICTURE_MARK
from cortex.interfaces.escape_terminal import escape
from cortex.vault.foreign_settings import agent_settings_notice

_INDEX_STATES = {
    "current": "current",
    "updated": "brought up to date",
    "built": "missing, old or damaged, and was built anew",
}
_HINTS_OF_LIST = {
    "faded": "  cortex lifecycle archives them",
    "opposing": "  a merge kept one of two; cortex revise ID --reviewed",
}
_REVIEW_HEADINGS = {
    "kept": "kept for you", "contradictions": "opposites", "duplicates": "may be the same",
    "conflicts": "left open by a merge", "secrets": "may be secrets", "stale": "stale", "faded": "faded",
}  # fmt: skip
_COMMAND_TEXTS = {"cortex": "runs cortex from the PATH", "": "runs nothing"}
_OUTCOME_TEXTS = {
    "wired": "wired in",
    "updated": "brought up to date in",
    "unchanged": "is wired already in",
    "taken out": "taken out of",
    "removed": "taken out, and with it the file",
    "not there": "is not in",
}
_MAX_PATHS, _MAX_ERASED = 5, 10
_ERASED_KINDS = {"file": "other file", "state": "private file"}


def init(answer: Any) -> Iterable[str]:
    yield f"{escape(answer.root)} is a vault" + (", your default one" if answer.default else "")
    if answer.folder:
        here = escape(answer.folder)
        yield f"  everything of Cortex is below {here}/, apart from your notes; --folder . puts it beside them"
    yield from (f"  added {name}" for name in answer.added)
    if answer.repository == "made":
        yield f"  made it a git repository{hint(': rm -r .git takes that back, cortex sync commits')}"
    elif answer.repository:
        yield f"  in no git repository: {escape(answer.repository)}; git init makes one later"
    for entries, way in ((answer.excluded, "leave out"), (answer.included, "show again")):
        if entries:
            names = escape(" and ".join(entries))
            yield f"  Obsidian's search and graph {way} {names}, once it is opened again"
            yield f"  {dim(f'written: {answer.obsidian}')}"
    yield from undo_lines(answer)
    if answer.agent_settings:
        yield f"{yellow('note')}: {agent_settings_notice(answer.agent_settings)}"
    if any(name.startswith("..") for name in answer.added):
        yield "commit what lies above the vault: it names the project in every clone"
    yield from (f"  written: {escape(name)}" for name in answer.setup)
    for one in answer.wired:
        seen = f", and it {one.seen}" if one.seen else ""
        yield f"  claude: {one.host} wired in {escape(short_path(one.file))}{seen}"
    if answer.wired and not (answer.setup or answer.added):
        yield "nothing to do: all of it is there"
    yield from problem_lines(answer.problems)
    yield hint('next: cortex capture "Decision: keep what we learn in a vault"')
    if answer.wired:
        return
    yield "agents: cortex hooks install claude, cortex mcp install claude; or by hand"
    yield "hooks into .claude/settings.json, mcpServers into .mcp.json or any host's settings:"
    yield answer.settings


def rebuild(answer: Any) -> Iterable[str]:
    problems = format_count(answer.problems, "problem")
    yield f"{format_count(answer.notes, 'note')} indexed, {problems}"


def embed(answer: Any) -> Iterable[str]:
    passages = format_count(answer.embedded, "passage")
    verb = "to embed" if answer.dry_run else "embedded"
    took = f", in about {format_count(answer.seconds, 'second')}" if answer.dry_run else ""
    yield f"{passages} {verb}{took}, {answer.present} had a vector of {escape(answer.model)}"
    if answer.is_remote:
        yield "  they are sent to it" if answer.dry_run else "  they were sent to it"
    for kind, number in answer.withheld.items():
        yield f'  {format_count(number, "passage")} not sent: {kind}; send = "all" below [semantic] of your settings sends them'
    if answer.removed:
        yield f"  {format_count(answer.removed, 'vector')} of passages that are gone were removed"
    yield from problem_lines(answer.problems)


def upgrade(answer: Any) -> Iterable[str]:
    yield f"found at tier {answer.tier} of 3"
    state, nouns = "to do" if answer.dry_run else "done", ("record", "note", "passage", "page")
    for (part, due), noun in zip(answer.due.items(), nouns, strict=True):
        if part not in answer.missing:
            yield f"  {part}: {yellow(f'{format_count(due, noun)} {state}') if due else 'the newest'}"
    for what, command in answer.missing.items():
        yield f"  {escape(what)}: missing{hint(f': {command}')}"
    if not any(answer.due.values()):
        yield "what is there is the newest" if answer.missing else "nothing to do"
    yield from undo_lines(answer)
    yield from problem_lines(answer.problems)


def doctor(answer: Any) -> Iterable[str]:
    yield from (f"mended: {escape(line)}" for line in answer.fixed)
    yield from problem_lines(answer.problems)
    if answer.agent_settings:
        yield agent_settings_notice(answer.agent_settings)
    if answer.unwritten:
        yield dim(f"{format_count(answer.unwritten, 'link')} to notes that nobody has written yet")
    number = len(answer.problems)
    problems = format_count(number, "problem") if number else "no problems"
    state = _INDEX_STATES[answer.found]
    yield f"{format_count(answer.notes, 'note')}, {problems}; the search index was {state}"


def status(answer: Any) -> Iterable[str]:
    more = answer.more
    branch = f"  on {escape(answer.branch)}" if answer.branch else ""
    yield f"{bold(answer.vault)}{branch}"
    if answer.under_way:
        yield f"  {yellow(f'a {answer.under_way} of git is under way')}{hint(': cortex sync says what waits')}"
    figures = (answer.notes, "note"), (answer.sessions, "session"), (answer.open_actions, "open action")  # fmt: skip
    topics = [(answer.topics, "topic")] if answer.topics else []
    yield f"  {format_counts(*figures, *topics)}"
    failed = len(answer.failed) + more.get("failed", 0)
    yield f"  {answer.pending} waiting in the inbox, {failed} failed, {answer.set_aside} set aside"
    if answer.passages:
        old = format_count(answer.passages, "record")
        yield f"  {old} of earlier rules{hint(': cortex extract --replay shows which to set aside')}"
    if answer.embedded and answer.embedded[0] < answer.embedded[1]:
        done, all_ = answer.embedded
        yield f"  {done} of {format_count(all_, 'passage')} embedded{hint(': cortex embed goes on')}"
    elif answer.embedded:
        yield f"  {format_count(answer.embedded[1], 'passage')} embedded"
    yield from _run_lines(answer.runs) if answer.runs else ()
    for heading, key, counts, least in (
        ("", "types", answer.types, 1),
        ("projects: ", "projects", answer.projects, 2),
        ("status: ", "statuses", answer.statuses, 2),
        ("open: ", "open", answer.open, 1),
    ):
        if len(counts) >= least:
            listed = [f"{escape(name)} {number}" for name, number in counts.items()]
            others = [f"{more[key]} more"] if more.get(key) else []
            yield f"  {heading}{', '.join(listed + others)}"
    for name in ("overdue", "stale", "contradictions", "opposing", "faded", "recent"):
        notes = getattr(answer, name)
        if notes.hits:
            others_count = notes.total - len(notes.hits) if name != "recent" else 0
            rest = f"  {dim(f'and {others_count} more')}" if others_count else ""
            rest += dim(hint(_HINTS_OF_LIST[name])) if name in _HINTS_OF_LIST else ""
            yield f"{name if name == 'recent' else yellow(name)}{rest}"
        for note in notes.hits:
            when = note.due[:10] if name == "overdue" else format_day(note.date)
            yield note_row(note, when, path(note.file))
    for name, heading, command in (
        ("live", "live", ""),
        ("orphans", yellow("orphans"), hint("  cortex session end --orphans")),
    ):
        if ids := getattr(answer, name):
            rest = f" and {more[name]} more" if name in more else ""
            yield f"{heading}: {', '.join(map(escape, ids))}{rest}{command}"
    for event in answer.failed[:MAX_PROBLEMS]:
        yield f"{yellow(f'failed: {event}')}  {hint(cortex_command('retry', event))}"
    yield from problem_lines(answer.refused)
    if answer.problems:
        yield f"{yellow(format_count(answer.problems, 'problem'))}{hint(': cortex doctor')}"


def _run_lines(runs: Any) -> Iterable[str]:
    waiting = sum(folder.endswith("queue") for folder, _ in runs.going_on)
    ticked = f", last looked at {format_time(runs.tick)}" if runs.tick else ""
    counted = f"{len(runs.going_on) - waiting} running, {waiting} waiting, {runs.failed_today} failed today"  # fmt: skip
    yield f"  runs: {counted}; schedules {'on' if runs.schedules else 'off'}{ticked}; {'a' if runs.watcher else 'no'} watcher runs"
    yield from (f"  {path(f'{folder}/{id_}.md')}" for folder, id_ in runs.going_on[:MAX_PROBLEMS])  # fmt: skip
    failed = first([name for _, name in runs.failed], MAX_PROBLEMS)
    for fault in filter(None, (escape(runs.fault), failed and f"failed: {failed}")):
        yield f"  {yellow(fault)}{hint(': cortex run list')}"


def review(answer: Any) -> Iterable[str]:
    groups = [(getattr(answer, name), heading) for name, heading in _REVIEW_HEADINGS.items()]
    groups = [(each, heading) for each, heading in groups if each.total]
    if not groups:
        yield "nothing waits for you"
    for each, heading in groups:
        yield f"{yellow(heading)}  {each.total:,}"
        for entry in each.hits:
            other = (path(entry.other),) if entry.other else ()
            words = (entry.why, *other, entry.type or "note", name_of(entry))
            yield note_row(entry, format_day(entry.date), *words)
        if more := each.total - len(each.hits):
            yield f"  {more:,} more{hint(': --number')}"
    if groups:
        keep = "keep one: cortex revise ID --reviewed; mend it: cortex edit ID; drop it: cortex archive ID"
        two = "of two that clash: cortex supersede OLD --by NEW; that are alike: cortex consolidate ID ID"
        yield from ("", dim(hint(f"{keep}; {two}")))
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def hooks(answer: Any) -> Iterable[str]:
    absent = [change for change in answer.changed if change.outcome == "not there"]
    folded = absent if len(absent) > 1 else []  # of one it is worth saying where it was looked for
    for change in answer.changed:
        if change not in folded:
            would = "would be " if answer.dry_run and change.outcome not in ("unchanged", "not there") else ""  # fmt: skip
            outcome = f"{would}{_OUTCOME_TEXTS[change.outcome]}"
            tried = f", and it {seen}" if (seen := _seen(answer, change)) else ""
            yield f"{_format_host(change)}{outcome} {escape(short_path(change.file))}{tried}"
        if change.diff:
            yield escape(change.diff, lines=True)
    if folded:
        yield dim(f"not wired: {', '.join(change.host for change in folded)}")
    if answer.action == "status":
        yield from _hook_status_lines(answer)
    if answer.search_index == "built":  # the rest is nothing to wonder about
        yield "the search index was built"
    yield from (hint(f"next: {line}") for line in answer.next)
    yield from (f"{yellow('switched off')}: {escape(why)}" for why in answer.off)
    yield from problem_lines(answer.problems)


def _seen(answer: Any, change: Any) -> str:
    """What the hook in a file did when it was run once."""
    hooks = (hook for host in answer.hosts if host.host == change.host for hook in host.hooks)
    return next((hook.seen for hook in hooks if hook.file == change.file and hook.seen), "")


def _format_host(host: Any) -> str:
    return f"{bold(f'{host.host:<9}')} "


def _hook_status_lines(answer: Any) -> Iterable[str]:
    every = [hook for host in answer.hosts for hook in host.hooks]
    fresh = bool(every) and not any(hook.at or hook.fault for hook in every)  # then it is said once
    width = max((len(short_path(hook.file)) for hook in every), default=0)
    for host in answer.hosts:
        if host.plugin:
            plugin = escape(short_path(host.plugin))
            yield f"{_format_host(host)}plugin, switched on in {plugin}"
        places: dict[tuple[str, str, str], list[Any]] = {}
        for hook in host.hooks:
            places.setdefault((hook.scope, hook.file, hook.runs), []).append(hook)
        for (scope, file, runs), hooks_of_file in places.items():
            command = dim(_COMMAND_TEXTS.get(runs) or short_path(runs))
            path = f"{escape(short_path(file)):<{width}}"
            seen = next((f"  {hook.seen}" for hook in hooks_of_file if hook.seen), "")
            yield f"{_format_host(host)}{scope:<6}  {path}  {command}{seen}"
            yield from () if fresh else _last_run_lines(hooks_of_file)
    for server in answer.servers:
        shown = server.seen or yellow("does not answer")
        yield f"{_format_host(server)}server  {escape(short_path(server.file))}  {shown}"
    if without := [host.host for host in answer.hosts if not host.wired]:
        yield dim(f"not wired: {', '.join(without)}")
    if fresh:
        yield "no hook has run here yet"


def _last_run_lines(hooks_of_file: Iterable[Any]) -> Iterable[str]:
    """When the hooks of one file ran last, each event once, though a host may have two of it."""
    events = {hook.event or hook.name: hook for hook in hooks_of_file}
    able = {event: hook for event, hook in events.items() if not hook.fault}
    if not able:
        yield f"  {yellow('cannot run')}"
        return
    for event, hook in able.items():
        if hook.at:
            wrong = f"  {yellow(hook.problem)}" if hook.problem else ""
            yield f"  {escape(event):<20}{escape(hook.at)}  {hook.ms} ms{wrong}"
    never = [event for event, hook in able.items() if not hook.at]
    if len(never) == len(able):
        yield f"  {dim('no hook has run here yet')}"
    elif never:
        yield f"  {dim('never ran: ' + ', '.join(never))}"
    if faulty := [event for event in events if event not in able]:
        yield f"  {yellow('cannot run')}: {escape(', '.join(faulty))}"


def normalize(answer: Any) -> Iterable[str]:
    if answer.dry_run:
        yield from path_lines(**{"would be made": answer.created, "would change": answer.changed})
    else:
        yield from path_lines(made=answer.created, changed=answer.changed)
    yield from problem_lines((*answer.failed, *answer.problems))
    counts = f"{format_count(len(answer.events), 'event')}, {format_count(len(answer.created), 'new note')}"
    failed = f", {len(answer.failed)} failed" if answer.failed else ""
    yield f"{counts}, {len(answer.changed)} changed{failed}"


def heal(answer: Any) -> Iterable[str]:
    if answer.reformat:
        yield from _reformat(answer.reformat)
        yield from problem_lines(answer.problems)
        return
    for note in answer.brought_back:
        yield f"brought back: {path(note.path)}: {escape(note.what)}"
    yield from path_lines(written=answer.written, removed=answer.removed)
    for page in answer.stale:
        yield f"{yellow('stale')}: {path(page)}"
    for page in answer.newer:
        yield f"{yellow('left alone')}: {path(page)} was made by a newer cortex"
    yield from problem_lines(answer.problems)
    if answer.stale:
        briefings = format_count(len(answer.stale), "briefing")
        yield f"{briefings} not as the notes give them{hint(': cortex heal')}"
    elif not (answer.brought_back or answer.written or answer.removed or answer.newer):
        yield "the briefings are as the notes give them"


def _reformat(answer: Any) -> Iterable[str]:
    count = format_count(len(answer.paths), "record")
    done = "rewritten" if answer.applied else "would be rewritten"
    for page in answer.paths[:_MAX_PATHS]:
        yield f"{done}: {path(page)}"
    if len(answer.paths) > _MAX_PATHS:
        yield f"and {len(answer.paths) - _MAX_PATHS} more"
    if not answer.paths:
        yield "every record has the form of new ones"
    elif answer.undo:
        yield f"{count} {done}{hint(f'; undo: {answer.undo}')}"
    elif answer.applied:
        yield f"{count} as before"
    else:
        yield f"{count} {done}{hint(': cortex heal --format --apply')}"


def sync(answer: Any) -> Iterable[str]:
    if answer.unit:
        yield escape(answer.unit.removesuffix("\n"), lines=True)
        return
    remote = escape(answer.remote)
    for message in answer.commits:
        done = "" if message.startswith("removed ") else "committed "
        yield f"{done}{escape(message.removeprefix('cortex: '))}"
    if answer.received:
        how = "a rewritten history" if answer.how == "follow" else answer.how
        yield f"received {format_count(answer.received, 'commit')} from {remote} ({how})"
    for merge in answer.settled:
        yield f"merged {path(merge.path)}: {escape(merge.what)}"
    if answer.push == "pushed":
        sent = f"sent {format_count(answer.sent, 'commit')}" if answer.sent else "sent the branch"
        yield f"{sent} to {remote}"
    elif answer.unsent:
        yield f"{format_count(answer.unsent, 'commit')} not pushed{hint(': git push does it, or [sync] push = true in cortex.toml')}"
    elif answer.push == "no remote":
        yield f"there is no remote{hint(': git remote add origin URL, then cortex sync')}"
    before = frozenset(answer.told_before)
    for reason, paths in answer.left_because.items():
        if new := [path(one) for one in paths if one not in before]:
            yield f"{DIM}left {first(new, _MAX_PATHS)}: {escape(reason)}{OFF}"
    problems = (*answer.held, *answer.refused, *answer.problems)
    yield from problem_lines([one for one in problems if one.where not in before])
    if before:
        known = {one.where for one in problems if one.where.endswith(".md")}
        known |= {one.where for one in (*answer.held, *answer.refused)}
        named = ["cortex doctor"] * bool(before & known) + ["git status"] * bool(before - known)
        is_named = before <= known.union(answer.left)
        where = hint(f": {' and '.join(named) if is_named else 'cortex sync --json'}")
        yield f"{DIM}{format_count(len(before), 'file')} left as before{OFF}{where}"
    yield from problem_lines(answer.waiting)
    has_acted = answer.commits or answer.received or answer.sent or answer.unsent or answer.settled
    if answer.trouble:
        yield yellow(answer.trouble)
        yield from hint_lines(answer)
    elif not has_acted and not answer.waiting and remote:
        yield f"nothing to do: {escape(answer.branch)} and {remote} agree"


def merge(answer: Any) -> Iterable[str]:
    if not answer.explain:
        yield escape(answer.text.removesuffix("\n"), lines=True)
        return
    yield from map(escape, answer.decisions)
    if not answer.decisions:
        yield "nothing had to be decided"
    waits = f"{yellow('something waits for a person')}: see merge_conflicts, and the markers in the text"
    yield "merged" if answer.clean else waits


def git(answer: Any) -> Iterable[str]:
    if answer.action == "install":
        already = "" if answer.changed else " already"
        yield f"git merges records and briefings by Cortex's drivers{already}"
    elif answer.action == "remove":
        removed = "git merges without Cortex's drivers from now on"
        yield removed if answer.changed else "Cortex's drivers were not there"
        yield hint("  cortex git install brings them back")
    else:
        yield from map(escape, answer.drivers)
        if answer.removed:
            yield f"the drivers were taken out{hint(', and stay out until cortex git install')}"
        if answer.attributes == "ok":
            yield "git's attributes file names them"
    yield from problem_lines(answer.problems)


def calendar(answer: Any) -> Iterable[str]:
    """The last half year as a drawing, or its weeks in numbers; then the totals."""
    counts = {day.date: sum(day[1:]) for day in answer.days}
    mondays = (date.fromisoformat(week.date) for week in answer.weeks[-26:])
    weeks = [[(one + timedelta(days=at)).isoformat() for at in range(7)] for one in mondays]
    shown = [week for week in weeks if not counts.keys().isdisjoint(week)]
    if shown:
        yield from (f"{PICTURE_MARK}{line}" for line in _heatmap(counts, weeks, answer.until))
        yield f"{FIGURES_MARK}{dim('week of     Mon   Tue   Wed   Thu   Fri   Sat   Sun')}"
    for week in shown:
        numbers = (f"{counts.get(day, '·'):>6}" for day in week)
        yield f"{FIGURES_MARK}{week[0]}{''.join(numbers)}"
    captured, decided, opened, done = (sum(day[at] for day in answer.days) for at in (1, 2, 3, 4))
    both = format_counts((captured, "capture"), (decided, "decision"), (opened, "action"))
    left = answer.weeks[-1].open if answer.weeks else 0
    yield from ("",) if shown else ()
    yield f"since {answer.since}: {both} opened, {done:,} done; {left:,} open now"
    used = (
        note_row(one.hit, f"{one.uses:>5}×", one.hit.type or "note", name_of(one.hit))
        for one in answer.used
    )
    yield from section(f"\n{dim('used most')}", used)
    yield from problem_lines(answer.problems, MAX_PROBLEMS)


def _heatmap(counts: dict[str, int], weeks: list[list[str]], today: str) -> Iterable[str]:
    """A column for each week, a row for each day of it; the darker, the more of the other days with
    something have less."""
    ordered = sorted(counts[day] for week in weeks for day in week if day in counts)
    limits, months = [ordered[len(ordered) * part // 4] for part in (1, 2, 3)], ""
    for at, (monday, *_) in enumerate(weeks):
        if (monday[8:] <= "07" or not at) and 2 * at >= len(months):
            months = f"{months:<{2 * at}}{date.fromisoformat(monday):%b} "
    yield f"    {dim(months.rstrip())}"
    shades, names = ("░░", "▒▒", "▓▓", "██"), ("Mon", "", "Wed", "", "Fri", "", "Sun")
    for name, *days in zip(names, *weeks, strict=True):
        shown = [counts.get(day, 0) for day in days if day <= today]
        cells = (shades[bisect(limits, count)] if count else "· " for count in shown)
        yield f"{dim(f'{name:<3}')} {''.join(cells)}"


def erase(answer: Any) -> Iterable[str]:
    kinds: dict[str, list[Any]] = {}
    for place in answer.places:
        kinds.setdefault(_ERASED_KINDS.get(place.kind, place.kind), []).append(place)
    git = {kind: kinds.pop(kind)[0].number for kind in [*kinds] if kind.startswith("git ")}
    if kinds:
        counts = format_counts(*((len(places), kind) for kind, places in kinds.items()))
        yield f"{'erased from' if answer.done else 'found in'} {counts}"
    for kind, places in kinds.items() if not answer.done else ():
        yield from (f"  {kind}: {path(place.where)}" for place in places[:_MAX_ERASED])
        if (more := len(places) - _MAX_ERASED) > 0:
            yield f"  {kind}: {more} more, which --json lists"
    if git and not answer.done:
        objects = format_count(git.pop("git object"), "object")
        yield f"found in {objects} of git, which --history rewrites"
        yield from (f"  in {kind[4:]}: {number}" for kind, number in git.items())
    if answer.rewritten:
        yield f"rewrote git's history: {format_count(answer.rewritten, 'ref')}"
    yield from section(
        "the remote keeps it until you run:", (f"  {escape(one)}" for one in answer.commands)
    )
    yield from section("what still holds it:", (f"  {escape(one)}" for one in answer.left))
    if answer.places and answer.hint and not answer.commands:
        yield "to erase it there, too:" if answer.done else "nothing was changed; to erase it:"
    yield from hint_lines(answer)
    yield from problem_lines(answer.problems)


def reset(answer: Any) -> Iterable[str]:
    if not answer.places:
        yield "index and pages were made anew"
    yield from erase(answer)
