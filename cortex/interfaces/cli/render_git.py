"""What the verbs that deal with git answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.text.shell_command import cortex_command
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, format_count, problem_lines
from cortex.interfaces.escape_terminal import escape

_MAX_PATHS = 5


def sync_lines(synced: Any) -> Iterable[str]:
    for message in synced.commits:
        yield f"committed {escape(message.removeprefix('cortex: '))}"
    if synced.received:
        yield f"received {format_count(synced.received, 'commit')} from {escape(synced.remote)} ({synced.how})"
    for one in synced.settled:
        yield f"merged {escape(one.path)}: {escape(one.what)}"
    if synced.push == "pushed":
        yield f"sent {format_count(synced.sent, 'commit')} to {escape(synced.remote)}"
    elif synced.unsent:
        yield f"{format_count(synced.unsent, 'commit')} not pushed: git push does it, or [sync] push = true in cortex.toml"
    if synced.left:
        more = f" and {len(synced.left) - _MAX_PATHS} more" if len(synced.left) > _MAX_PATHS else ""
        yield f"{DIM}yours to commit: {', '.join(escape(path) for path in synced.left[:_MAX_PATHS])}{more}{OFF}"
    yield from problem_lines(synced.problems)
    yield from problem_lines(synced.waiting)
    if synced.trouble:
        yield f"{YELLOW}{escape(synced.trouble)}{OFF}"
        if synced.hint:
            yield f"  {DIM}{escape(synced.hint)}{OFF}"
    elif not (
        synced.commits
        or synced.received
        or synced.sent
        or synced.unsent
        or synced.settled
        or synced.waiting
    ):
        yield f"nothing to do: {escape(synced.branch)} and {escape(synced.remote)} agree"


def git_lines(answer: Any) -> Iterable[str]:
    if answer.action == "install":
        yield "git merges records and briefings by Cortex's drivers" + (
            "" if answer.changed else " already"
        )
    elif answer.action == "remove":
        yield (
            "git merges without Cortex's drivers from now on"
            if answer.changed
            else "Cortex's drivers were not there"
        )
        yield "  cortex git install brings them back"
    else:
        yield from (escape(line) for line in answer.drivers)
        if answer.removed:
            yield "the drivers were taken out, and stay out until cortex git install"
        if answer.attributes == "ok":
            yield "the attributes name them"
    yield from problem_lines(answer.problems)


def history_lines(answer: Any) -> Iterable[str]:
    if answer.at:
        yield escape(answer.text.removeprefix("\ufeff").removesuffix("\n"), lines=True)
        return
    yield f"{BOLD}{escape(answer.path or answer.id)}{OFF}"
    both = [
        *((version.date, _version_lines(answer, version)) for version in answer.versions),
        *((text.at, _event_text_lines(text)) for text in answer.texts),
    ]
    for _, lines in sorted(both, key=lambda pair: pair[0], reverse=True):
        yield from lines
    if answer.more:
        yield f"  {format_count(answer.more, 'older commit')}: --number {len(answer.versions) + answer.more}"
    if answer.revisions > len(answer.texts):
        yield f"  {format_count(answer.revisions - len(answer.texts), 'older text')}: --number {answer.revisions}"
    if answer.hint:
        yield f"  {DIM}{escape(answer.hint)}{OFF}"


def _version_lines(answer: Any, version: Any) -> list[str]:
    """A commit of the note, and what a merge did not take."""
    when = version.date[:16].replace("T", " ")
    lines = [
        f"  {YELLOW}{version.commit[:10]}{OFF}  {when}  {escape(version.author)}  {version.change}: {escape(version.subject)}"
    ]
    if version.path != answer.path:
        lines.append(f"              {DIM}as {escape(version.path)}{OFF}")
    for side in version.sides:
        what = "another version" if side.blob else "no such note"
        lines.append(
            f"              {DIM}one side had {what}: {cortex_command('history', answer.id or answer.path, '--at', side.commit[:10])}{OFF}"
        )
    return lines


def _event_text_lines(text: Any) -> list[str]:
    """What an event said: `--at` takes its id as it takes a commit."""
    return [
        f"  {'event':<10}  {escape(text.at[:16].replace('T', ' '))}  {escape(text.title)}  {YELLOW}{escape(text.event)}{OFF}"
    ]


def merge_lines(answer: Any) -> Iterable[str]:
    if answer.explain:
        yield from (escape(line) for line in answer.decisions)
        if not answer.decisions:
            yield "nothing had to be decided"
        yield (
            "merged"
            if answer.clean
            else f"{YELLOW}something waits for a person{OFF}: see merge_conflicts, and the markers in the text"
        )
    else:
        yield escape(answer.text.removesuffix("\n"), lines=True)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "sync": sync_lines,
    "merge": merge_lines,
    "history": history_lines,
    "git": git_lines,
}
NO: dict[str, Callable[[Any], bool]] = {
    "sync": lambda synced: bool(synced.trouble or synced.waiting),
    "merge": lambda merged: not merged.clean,
    "git": lambda answer: answer.action == "status" and bool(answer.problems),
}
