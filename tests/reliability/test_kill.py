"""Processes are killed at any moment, many at once, while others go on: what was acknowledged is there, whole, once."""

from __future__ import annotations

import contextlib
import random
import runpy
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from cortex.core.model import event as events
from cortex.core.normalize.handlers import parse_event
from cortex.core.notes import note as notes
from cortex.operations.care.init import init
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault

WORKER = Path(__file__).with_name("worker.py")
SEED = 20261120


class Process(threading.Thread):
    """A worker, read line by line; killed after `lines` of them when that is given."""

    def __init__(self, *words: str, lines: int = -1, later: float = 0.0) -> None:
        super().__init__()
        self.words, self.lines, self.later = words, lines, later
        self.said: list[str] = []
        self.code = 0

    def run(self) -> None:
        with subprocess.Popen(
            [sys.executable, str(WORKER), *self.words], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.endswith(b"\n"):  # half a line is no acknowledgement
                    self.said.append(line.decode().strip())
                if len(self.said) == self.lines:
                    time.sleep(self.later)
                    process.send_signal(signal.SIGKILL)
            self.code = process.wait()


def normalizing(root: str, over: threading.Event, chance: random.Random, said: list[str]) -> None:
    """A consumer that is killed and begun again until all is over and an event was normalized: once when it has just done
    something, once at any moment, and so on."""
    busy = True
    at_an_end = lambda: over.is_set() and any(Path(root, "events").rglob("*.md"))
    while not at_an_end():
        with subprocess.Popen(
            [sys.executable, str(WORKER), "normalize", root], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            if busy:
                while not (select.select([process.stdout], [], [], 0.01)[0] or at_an_end()):
                    pass
            else:
                time.sleep(chance.uniform(0.2, 1.0))
            process.send_signal(signal.SIGKILL)
            said += process.stdout.read().decode().splitlines()
        busy = not busy


def test_no_acknowledged_capture_is_lost_when_processes_are_killed(caller, look, homes, ram, soak):
    text_of = runpy.run_path(str(WORKER))["text_of"]
    chance = random.Random(SEED)
    vault = Vault(init(caller, str(ram / "vault")).root)
    root = vault.root
    each = 2_500 if soak else 40
    doomed = {0: 3, 3: chance.randrange(1, each), 6: chance.randrange(1, each)}
    workers = [
        Process(
            "capture",
            root,
            str(number),
            str(each),
            lines=doomed.get(number, -1),
            later=chance.uniform(0, 0.003),
        )
        for number in range(8)
    ]
    over, consumed = threading.Event(), []
    consumer = threading.Thread(target=normalizing, args=(root, over, chance, consumed))
    for thread in (consumer, *workers):
        thread.start()
    for worker in workers:
        worker.join()
    over.set()
    consumer.join()

    said = {
        line.split()[0]: (number, int(line.split()[1]))
        for number, worker in enumerate(workers)
        for line in worker.said
    }
    assert [worker.code for worker in workers] == [
        -9 if number in doomed else 0 for number in range(8)
    ]
    assert len(said) >= 5 * each + sum(doomed.values())
    # The last consumer may have been killed while an event stood in both places; the next run knows that.
    normalize(vault, caller)
    seen = look(root)
    # A consumer that was killed over a session's note leaves a hidden file beside it, which the next run takes away.
    assert all(path.startswith("sessions/") for path in seen.temps)
    assert not seen.below("inbox/failed")
    assert seen.below("events")
    assert all(line.startswith("done") for line in consumed)
    for id_, (number, n) in said.items():
        assert len(seen.places(id_)) == 1, (
            f"seed {SEED}: {id_} is in {seen.places(id_) or 'no place'}"
        )
        event = parse_event(seen.files[seen.places(id_)[0]], seen.places(id_)[0])
        assert event.text == text_of(number, n)
    arrived = {
        path.rpartition("/")[2][:-3]
        for path in seen.notes
        if path.startswith(("inbox/pending/", "events/"))
    }
    assert len(arrived - said.keys()) <= len(
        doomed
    )  # the one that each was killed over, acknowledged to nobody

    answer = normalize(vault, caller)
    assert not answer.failed
    seen = look(root)
    assert not seen.temps
    assert not seen.below("inbox")
    for path, data in seen.below("events").items():
        assert events.compose(parse_event(data, path)).encode() == data
    named = Counter(
        id_
        for path, data in seen.notes.items()
        if path.startswith(("records/", "sessions/"))
        for id_ in provenance(data, path)
    )
    turns = {
        path.rpartition("/")[2][:-3]
        for path, data in seen.below("events").items()
        if parse_event(data, path).type == "stop"
    }
    assert named == {
        id_: 1 + (id_ in turns) for id_ in arrived
    }  # a turn is told by its session, and its decision is a record
    assert normalize(vault, caller).events == ()
    assert look(root) == seen
    print(
        f"\n{len(said)} acknowledged, {len(arrived)} there, {len(doomed)} processes killed, each named where it belongs"
    )


def provenance(data: bytes, path: str) -> list[str]:
    return list(notes.read_strict(data, path).provenance()[0])


def test_the_command_itself_can_be_killed_and_repeated(cortex, vault, look, homes, soak):
    """`cortex capture --id` in 8 threads; a third is killed on the way and asked again. `cortex normalize` goes on beside."""
    each = 100 if soak else 4
    over = threading.Event()
    trouble: list[str] = []

    def command(*words: str, kill_after: float = -1.0) -> str:
        line = [sys.executable, "-m", "cortex", *words, "--vault", vault.root]
        with subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            if kill_after >= 0:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(kill_after)
                process.send_signal(signal.SIGKILL)
            out, complaint = process.communicate()
            if process.returncode not in (0, -9):
                trouble.append(f"{words}: {complaint}")
            return out if out.endswith("\n") else ""

    def capturing(number: int) -> None:
        chance = random.Random(SEED + number)
        for n in range(each):
            id_ = f"20261120t{number:02d}{n // 60:02d}{n % 60:02d}z-aaaaaaaaaa"
            said = command(
                "capture",
                f"Gotcha: {number} of {n}",
                "--id",
                id_,
                kill_after=chance.uniform(0, 0.12) if n % 3 == 0 else -1.0,
            )
            for _ in range(3):
                said = said or command("capture", f"Gotcha: {number} of {n}", "--id", id_)
            if said != f"{id_}\n":
                trouble.append(f"{id_} was never acknowledged: {said!r}")

    def consuming() -> None:
        while not over.is_set():
            command("normalize")

    consumer = threading.Thread(target=consuming)
    threads = [threading.Thread(target=capturing, args=(number,)) for number in range(8)]
    for thread in (consumer, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    consumer.join()
    assert cortex("normalize").returncode == 0
    assert not trouble
    seen = look(vault.root)
    assert not seen.temps
    assert not seen.below("inbox")
    assert len(seen.below("events")) == len(seen.below("records")) == 8 * each
    before = seen
    assert cortex("normalize").returncode == 0
    assert look(vault.root) == before
