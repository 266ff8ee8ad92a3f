"""What keeping knowledge true costs, in one process with a current index: median of the wall time of each verb."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable

from benchmarks.corpus import vocabulary, write_vault
from benchmarks.measure import QUICK, SIZES, row, timed
from cortex.core.model.caller import Caller, no_progress
from cortex.index.refresh import query_index
from cortex.operations.find.graph import graph
from cortex.operations.find.recall import recall
from cortex.operations.find.search import search
from cortex.operations.find.show import show
from cortex.operations.find.timeline import timeline
from cortex.operations.records.consolidate import consolidate
from cortex.operations.records.lifecycle import lifecycle
from cortex.operations.records.save import save
from cortex.operations.sessions.context import context
from cortex.operations.upkeep.heal import heal
from cortex.vault.locate import Vault

_RUNS = 7


def tables(work: str) -> None:
    root = os.path.join(work, "knowledge")
    write_vault(root, SIZES[-1])
    os.rename(os.path.join(root, "notes"), os.path.join(root, "records"))
    vault = Vault(root)
    query_index(vault, no_progress, lambda index: index.catalogue.count_notes())
    heal(vault, _caller())
    time.sleep(2.2)  # stamps younger than two seconds are read again
    query_index(vault, no_progress, lambda index: index.catalogue.count_notes())
    print(
        f"\nKeeping knowledge true, {SIZES[-1]:,} records, in one process, wall ms, median of {_RUNS}\n"
    )
    row("verb", "ms", "budget")
    row("---", "---:", "---:")
    words = vocabulary(2000, random.Random(1))
    number = iter(range(10**6))

    def saving() -> object:
        at = next(number)
        return save(
            vault,
            _caller(),
            f"Use way {at} for {words[at]}",
            type="decision",
            why=f"it is {words[at + 7]}",
            topic=f"decision/way-{at % 5}",
            project="p1",
        )

    name = "note-000042"
    verbs: tuple[tuple[str, Callable[[], object], object], ...] = (
        ("`save`, with a topic", saving, 400),
        ("`graph`, depth 3", lambda: graph(vault, _caller(), name, depth=3), 100),
        ("`timeline`", lambda: timeline(vault, _caller(), name), 100),
        ("`score`", lambda: show(vault, _caller(), name, why=True), 100),
        ("`context`", lambda: context(vault, _caller(), project="p1"), 100),
        ("`recall`, by importance", lambda: recall(vault, _caller(), "", project="p1"), 100),
        (
            "`recall`, by words",
            lambda: recall(vault, _caller(), "storage folder", project="p1"),
            100,
        ),
        ("`search`", lambda: search(vault, _caller(), "storage"), ""),
    )
    for what, call, budget in verbs:
        call()
        query_index(vault, no_progress, lambda index: index.catalogue.count_notes())
        spent = [1000 * timed(call)[1] for _ in range(_RUNS)]
        row(what, f"{statistics.median(spent):.0f}", budget)
    row(
        "`lifecycle --dry-run`, a whole pass",
        f"{1000 * timed(lambda: lifecycle(vault, _caller(), dry_run=True))[1]:.0f}",
        3000,
    )
    row(
        "`consolidate`, candidates",
        f"{1000 * timed(lambda: consolidate(vault, _caller()))[1]:.0f}",
        20000,
    )


def _caller() -> Caller:
    return Caller(
        "/", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.urandom, "bench", no_progress
    )


if __name__ == "__main__":
    import tempfile

    print("quick" if QUICK else "full")
    with tempfile.TemporaryDirectory(prefix="cortex-bench-") as folder:
        os.environ |= {
            "XDG_CACHE_HOME": os.path.join(folder, "cache"),
            "XDG_STATE_HOME": os.path.join(folder, "state"),
        }
        tables(folder)
