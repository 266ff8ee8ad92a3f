"""One process of many: captures, normalizes, or both, and says line by line what it may say.

worker.py capture ROOT NUMBER COUNT     capture COUNT texts and print `id place-in-the-count` for each
worker.py normalize ROOT                normalize again and again until killed; print what failed,
                                        and how many events were done
worker.py cuts [--no-folder-sync]       on each line `VERB ROOT NUMBER COUNT` of standard input do that, until the
                                        disk refuses or it is done, then print `end`
"""

from __future__ import annotations

import gc
import os
import sys
import time

from cortex.core.model.caller import Caller, no_progress
from cortex.operations.records.capture import capture
from cortex.vault import files
from cortex.vault.locate import Vault

MEETING = "# Review {number}\n\n## Decisions\n\n- We keep one file {number}\n- We drop the cache {number}\n\n## Action items\n\n- [ ] @anna measures {number}\n"


def text_of(number: int, n: int) -> str:
    """What process `number` captures as its `n`-th text: 1 to 6 KB, each its own."""
    return f"Decision: number {n} of process {number}.\n" + f"line of {number}/{n}\n" * (
        50 + 37 * n % 300
    )


def caller() -> Caller:
    return Caller(
        "/", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.urandom, "test", no_progress
    )


def say(words: str) -> None:
    # One write to the pipe, no buffer: what was not written before the kill was not said.
    os.write(1, f"{words}\n".encode())


def captures(root: str, number: int, count: int, pause: float = 0.0) -> None:
    for n in range(count):
        time.sleep(pause)
        stop = {"type": "stop", "session": f"session-{number}"} if n % 10 == 9 else {}
        say(f"{capture(Vault(root), caller(), text_of(number, n), **stop).id} {n}")


def normalizes(root: str) -> None:
    from cortex.operations.upkeep.normalize import normalize

    while True:
        answer = normalize(Vault(root), caller())
        for problem in answer.failed:
            say(f"failed {problem.where}: {problem.message}")
        if answer.events:
            say(f"done {len(answer.events)}")


def arrival(root: str, number: int, count: int) -> None:
    """Events of every kind, in the order in which they are normalized."""
    for n in range(count):
        event = f"20261120t{number // 60:02d}{number % 60:02d}{n:02d}z-aaaaaaaaaa"
        if n % 3 == 0:
            capture(
                Vault(root),
                caller(),
                MEETING.format(number=f"{number}-{n}"),
                type="meeting",
                id=event,
            )
        elif n % 3 == 1:
            capture(
                Vault(root),
                caller(),
                f"turn {n} of {number}",
                type="stop",
                session=f"s{number}",
                id=event,
            )
        else:
            capture(Vault(root), caller(), text_of(number, n), id=event)
        say(event)


def cuts() -> None:
    from cortex.operations.upkeep.normalize import normalize

    if "--no-folder-sync" in sys.argv:
        files.OpenFolder.sync = lambda self: (
            None
        )  # the control: a harness that finds no loss here would find none anywhere
    for line in sys.stdin:
        verb, root, number, count = line.split()
        try:
            if verb == "capture":
                captures(root, int(number), int(count))
            elif verb == "arrive":
                arrival(root, int(number), int(count))
            else:
                for problem in normalize(Vault(root), caller()).failed:
                    say(f"failed {problem.where}: {problem.message}")
        except Exception as error:
            say(
                f"died {type(error).__name__}: {error}"
            )  # the disk is gone: that is what this is about
        gc.collect()  # a process that ends closes what its errors still hold open
        say("end")


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    if verb == "capture":
        captures(
            rest[0], int(rest[1]), int(rest[2]), pause=0.005
        )  # or all is over before a consumer has begun
    elif verb == "normalize":
        normalizes(rest[0])
    else:
        cuts()
