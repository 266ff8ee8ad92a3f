"""How things are measured: CPU of whole processes with their children, medians, rows of a table."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

QUICK = "--quick" in sys.argv
RUNS = 5 if QUICK else 20
SIZES = (1_000,) if QUICK else (1_000, 10_000)


def cpu_of(command: list[str], cwd: str, given: bytes = b"") -> float:
    """CPU milliseconds of one whole process that is given these bytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        cwd=cwd,
        input=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def median_cpu(command: list[str], cwd: str, runs: int = RUNS) -> float:
    return statistics.median(cpu_of(command, cwd) for _ in range(runs))


def timed(function: Callable[[], object]) -> tuple[float, float]:
    """(CPU seconds, wall seconds) of one call in this process and its children."""
    wall, own, children = (
        time.perf_counter(),
        time.process_time(),
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    function()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (
        time.process_time()
        - own
        + after.ru_utime
        + after.ru_stime
        - children.ru_utime
        - children.ru_stime
    )
    return cpu, time.perf_counter() - wall


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
