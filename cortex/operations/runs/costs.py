"""What runs took: tokens, dollars, seconds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Since
from cortex.core.runs.run_note import ENDED
from cortex.core.text.days import clock
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.value import NamedTuple
from cortex.operations.runs.run_list import RunLine, iter_runs, line_of
from cortex.vault.agent_settings import Price
from cortex.vault.locate import Vault

_MILLION = 1_000_000
_DAY_CHARS = 10


class Cost(NamedTuple):
    """What the runs of one day, agent or model took."""

    key: str
    runs: int
    failed: int
    tokens_in: int
    tokens_out: int
    cost_usd: float  # of those whose cost is known
    unknown: int  # runs whose cost nobody says
    seconds: float


class CostsResult(NamedTuple):
    """What runs took, and all of them together."""

    by: str
    costs: tuple[Cost, ...]
    total: Cost


def costs(
    vault: Vault,
    caller: Caller,
    *,
    by: Literal["agent", "model", "day"] = "agent",
    since: Since | None = None,
) -> CostsResult:
    """Show what runs of agents took: tokens, dollars, seconds.

    A run whose cost neither the program nor your table of prices tells counts as unknown, never as free.

    by: agent, model or day
    since: only runs after this: 7d, or a day

    Example: cortex costs --since 7d
    Example: cortex costs --by model --json
    """
    groups: dict[str, list[RunLine]] = defaultdict(list)
    for line in map(line_of, iter_runs(vault)):
        if line.status in ENDED and epoch_seconds(line.created) >= (since or 0):
            key = (
                clock(line.created, caller.zone)[:_DAY_CHARS] if by == "day" else getattr(line, by)
            )
            groups[key or "none"].append(line)
    found = sorted((_sum(key, lines) for key, lines in groups.items()), key=lambda one: one.key)
    return CostsResult(by, tuple(found), _sum("all", [one for some in groups.values() for one in some]))  # fmt: skip


def _sum(key: str, lines: list[RunLine]) -> Cost:
    ran = [one for one in lines if one.status != "skipped"]
    known = [one.cost_usd for one in ran if one.cost_usd is not None]
    return Cost(
        key, len(lines), sum(one.status == "failed" for one in lines), sum(one.tokens_in for one in lines),
        sum(one.tokens_out for one in lines), round(sum(known), 6), len(ran) - len(known),
        round(sum(one.seconds for one in lines), 1),
    )  # fmt: skip


def cost_of(usage: Mapping[str, int], price: Price) -> float:
    """Dollars for the tokens of a usage. Of `input`, those that are `cached` have a price of their own."""
    read, written, cached = (usage.get(key, 0) for key in ("input", "output", "cached"))
    cached = min(cached, read)
    cheap = price.input if price.cached is None else price.cached
    return ((read - cached) * price.input + cached * cheap + written * price.output) / _MILLION
