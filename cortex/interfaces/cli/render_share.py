"""What the verbs that deal with git answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.text.strings import format_count
from cortex.interfaces.cli.terminal.view import DIM, OFF
from cortex.interfaces.cli.text import (
    first,
    hint_lines,
    path,
    path_lines,
    problem_lines,
    yellow,
)
from cortex.interfaces.escape_terminal import escape

_MAX_PATHS = 5


def heal(answer: Any) -> Iterable[str]:
    if answer.reformat:
        yield from _reformat(answer.reformat)
        yield from problem_lines(answer.problems)
        return
    for one in answer.brought_back:
        yield f"brought back: {path(one.path)}: {escape(one.what)}"
    yield from path_lines(written=answer.written, removed=answer.removed)
    for page in answer.stale:
        yield f"{yellow('stale')}: {path(page)}"
    for page in answer.newer:
        yield f"{yellow('left alone')}: {path(page)} was made by a newer cortex"
    yield from problem_lines(answer.problems)
    if answer.stale:
        briefings = format_count(len(answer.stale), "briefing")
        yield f"{briefings} not as the notes give them: cortex heal"
    elif not (answer.brought_back or answer.written or answer.removed or answer.newer):
        yield "the briefings are as the notes give them"


def _reformat(answer: Any) -> Iterable[str]:
    count = format_count(len(answer.paths), "record")
    done = "rewritten" if answer.applied else "would be rewritten"
    if answer.paths:
        for one in answer.paths[:_MAX_PATHS]:
            yield f"{done}: {path(one)}"
        if len(answer.paths) > _MAX_PATHS:
            yield f"and {len(answer.paths) - _MAX_PATHS} more"
    if not answer.paths:
        yield "every record has the form of new ones"
    elif answer.undo:
        yield f"{count} {done}; undo: {answer.undo}"
    elif answer.applied:
        yield f"{count} as before"
    else:
        yield f"{count} {done}: cortex heal --format --apply"


def sync(answer: Any) -> Iterable[str]:
    remote = escape(answer.remote)
    for message in answer.commits:
        yield f"committed {escape(message.removeprefix('cortex: '))}"
    if answer.received:
        yield f"received {format_count(answer.received, 'commit')} from {remote} ({answer.how})"
    for one in answer.settled:
        yield f"merged {path(one.path)}: {escape(one.what)}"
    if answer.push == "pushed":
        sent = f"sent {format_count(answer.sent, 'commit')}" if answer.sent else "sent the branch"
        yield f"{sent} to {remote}"
    elif answer.unsent:
        yield f"{format_count(answer.unsent, 'commit')} not pushed: git push does it, or [sync] push = true in cortex.toml"
    elif answer.push == "no remote":
        yield "there is no remote: git remote add origin URL, then cortex sync"
    for reason, paths in answer.left_because.items():
        yield f"{DIM}left {first([*map(path, paths)], _MAX_PATHS)}: {escape(reason)}{OFF}"
    yield from problem_lines(answer.held)
    yield from problem_lines(answer.problems)
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
        gone = "git merges without Cortex's drivers from now on"
        yield gone if answer.changed else "Cortex's drivers were not there"
        yield "  cortex git install brings them back"
    else:
        yield from map(escape, answer.drivers)
        if answer.removed:
            yield "the drivers were taken out, and stay out until cortex git install"
        if answer.attributes == "ok":
            yield "the attributes name them"
    yield from problem_lines(answer.problems)
