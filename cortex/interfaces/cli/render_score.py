"""Scores, passes and prunings as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, format_count, problem_lines
from cortex.interfaces.escape_terminal import escape

_SCORE_PARTS = ("base", "access", "recent", "incoming", "type", "age")
_RANK_PARTS = ("rank_confidence", "rank_priority", "rank_centrality", "rank_access", "rank_branch")


def score_lines(scored: Any) -> Iterable[str]:
    parts = scored.parts
    yield f"{BOLD}{escape(scored.title)}{OFF}"
    yield f"  {DIM}{escape(scored.type) or 'note'}  {escape(scored.path)}{OFF}"
    yield f"  {BOLD}score       {scored.score:.3f}{OFF}  of 5"
    yield from (_format_figure(name, parts[name]) for name in _SCORE_PARTS)
    yield f"  {BOLD}rank        {parts['rank']:.3f}{OFF}  of 1"
    yield from (_format_figure(name.removeprefix("rank_"), parts[name]) for name in _RANK_PARTS)
    yield _format_figure("recency", parts["rank_recency"], "times ")
    yield f"  {BOLD}salience    {parts['salience']:.3f}{OFF}  of 1"
    yield _format_figure("base", parts["salience_base"])
    yield _format_figure("gain", parts["salience_gain"], "times ")
    yield _format_figure("left", parts["salience_left"], "times ")
    yield f"  {BOLD}confidence  {parts['effective_confidence']:.3f}{OFF}  of {parts['confidence']:.3f}"
    if "half_life" in parts:
        yield f"    {parts['days']:.1f} days untouched, half-life {parts['half_life']:.1f} days"
    else:
        yield "    does not decay"
    yield f"  used {format_count(scored.uses, 'time')}" + (
        f", last {scored.last_use}" if scored.last_use else ""
    )
    yield f"  {escape(scored.lifecycle)}"


def lifecycle_lines(passed: Any) -> Iterable[str]:
    yield from _judged_record_lines(passed.records)
    done = "would be archived" if passed.dry_run else "archived"
    yield (
        f"{format_count(len(passed.records), 'record')} {done}"
        if passed.records
        else "nothing has lost its importance"
    )
    if passed.records and not passed.dry_run:
        yield f"  {DIM}cortex restore ID brings one back{OFF}"
    if passed.remaining:
        yield f"{YELLOW}{passed.remaining:,} more{OFF}: {escape(passed.hint)}"
    yield from problem_lines(passed.problems, 3)


def prune_lines(pruned: Any) -> Iterable[str]:
    yield from _judged_record_lines(pruned.records)
    if pruned.records:
        yield f"{format_count(len(pruned.records), 'record')} {'deleted' if pruned.done else 'to delete'}"
    elif not pruned.kept:
        yield "nothing has been archived for 90 days"
    if pruned.hint:
        yield f"  {DIM}{escape(pruned.hint)}{OFF}"
    if pruned.remaining:
        yield f"{YELLOW}{pruned.remaining:,} more{OFF}: run the command again"
    yield from problem_lines(pruned.kept, 10)
    yield from problem_lines(pruned.problems, 3)


def _judged_record_lines(records: Any) -> Iterable[str]:
    for one in records:
        yield f"{BOLD}{escape(one.title)}{OFF}"
        yield f"  {DIM}{escape(one.type) or 'note'}  {escape(one.path)}{OFF}"
        yield f"  {escape(one.why)}"


def _format_figure(name: str, value: float, before: str = "") -> str:
    told = f"{value:7.3f}".replace(" -0.000", "  0.000")  # what is lost and rounds to nothing
    return f"    {DIM}{before + name:<17}{OFF}{told}"


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "score": score_lines,
    "lifecycle": lifecycle_lines,
    "prune": prune_lines,
}
NO: dict[str, Callable[[Any], bool]] = {
    "lifecycle": lambda passed: bool(passed.problems),
    "prune": lambda pruned: pruned.confirm or bool(pruned.done and pruned.kept),
}
