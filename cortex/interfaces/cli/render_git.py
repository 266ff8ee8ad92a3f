"""What the verbs that deal with git answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.text.shell_command import line
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, count, problem_lines
from cortex.interfaces.escape_terminal import visible

_FEW = 5


def sync(synced: Any) -> Iterable[str]:
    for message in synced.commits:
        yield f"committed {visible(message.removeprefix('cortex: '))}"
    if synced.received:
        yield f"received {count(synced.received, 'commit')} from {visible(synced.remote)} ({synced.how})"
    for one in synced.settled:
        yield f"merged {visible(one.path)}: {visible(one.what)}"
    if synced.push == "pushed":
        yield f"sent {count(synced.sent, 'commit')} to {visible(synced.remote)}"
    elif synced.unsent:
        yield f"{count(synced.unsent, 'commit')} not pushed: git push does it, or [sync] push = true in cortex.toml"
    if synced.left:
        more = f" and {len(synced.left) - _FEW} more" if len(synced.left) > _FEW else ""
        yield f"{DIM}yours to commit: {', '.join(visible(path) for path in synced.left[:_FEW])}{more}{OFF}"
    yield from problem_lines(synced.problems)
    yield from problem_lines(synced.waiting)
    if synced.trouble:
        yield f"{YELLOW}{visible(synced.trouble)}{OFF}"
        if synced.hint:
            yield f"  {DIM}{visible(synced.hint)}{OFF}"
    elif not (
        synced.commits
        or synced.received
        or synced.sent
        or synced.unsent
        or synced.settled
        or synced.waiting
    ):
        yield f"nothing to do: {visible(synced.branch)} and {visible(synced.remote)} agree"


def drivers(answer: Any) -> Iterable[str]:
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
        yield from (visible(line) for line in answer.drivers)
        if answer.removed:
            yield "the drivers were taken out, and stay out until cortex git install"
        if answer.attributes == "ok":
            yield "the attributes name them"
    yield from problem_lines(answer.problems)


def history(answer: Any) -> Iterable[str]:
    if answer.at:
        yield visible(answer.text.removeprefix("\ufeff").removesuffix("\n"), lines=True)
        return
    yield f"{BOLD}{visible(answer.path or answer.id)}{OFF}"
    both = [
        *((version.date, _version(answer, version)) for version in answer.versions),
        *((text.at, _text(text)) for text in answer.texts),
    ]
    for _, lines in sorted(both, key=lambda pair: pair[0], reverse=True):
        yield from lines
    if answer.more:
        yield f"  {count(answer.more, 'older commit')}: --number {len(answer.versions) + answer.more}"
    if answer.revisions > len(answer.texts):
        yield f"  {count(answer.revisions - len(answer.texts), 'older text')}: --number {answer.revisions}"
    if answer.hint:
        yield f"  {DIM}{visible(answer.hint)}{OFF}"


def _version(answer: Any, version: Any) -> list[str]:
    """A commit of the note, and what a merge did not take."""
    when = version.date[:16].replace("T", " ")
    lines = [
        f"  {YELLOW}{version.commit[:10]}{OFF}  {when}  {visible(version.author)}  {version.change}: {visible(version.subject)}"
    ]
    if version.path != answer.path:
        lines.append(f"              {DIM}as {visible(version.path)}{OFF}")
    for side in version.sides:
        what = "another version" if side.blob else "no such note"
        lines.append(
            f"              {DIM}one side had {what}: {line('history', answer.id or answer.path, '--at', side.commit[:10])}{OFF}"
        )
    return lines


def _text(text: Any) -> list[str]:
    """What an event said: `--at` takes its id as it takes a commit."""
    return [
        f"  {'event':<10}  {visible(text.at[:16].replace('T', ' '))}  {visible(text.title)}  {YELLOW}{visible(text.event)}{OFF}"
    ]


def merge(answer: Any) -> Iterable[str]:
    if answer.explain:
        yield from (visible(line) for line in answer.decisions)
        if not answer.decisions:
            yield "nothing had to be decided"
        yield (
            "merged"
            if answer.clean
            else f"{YELLOW}something waits for a person{OFF}: see merge_conflicts, and the markers in the text"
        )
    else:
        yield visible(answer.text.removesuffix("\n"), lines=True)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "sync": sync,
    "merge": merge,
    "history": history,
    "git": drivers,
}
NO: dict[str, Callable[[Any], bool]] = {
    "sync": lambda synced: bool(synced.trouble or synced.waiting),
    "merge": lambda merged: not merged.clean,
    "git": lambda answer: answer.action == "status" and bool(answer.problems),
}
