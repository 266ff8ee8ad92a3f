"""Many processes save at once, and are killed while they do: one record for a topic, every text in an event, nothing lost."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from cortex.core.normalize.handlers import parse_event
from cortex.core.notes import note as notes
from cortex.operations.care.doctor import doctor
from cortex.operations.find.entities import topic
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from tests.conftest import caller_now

SOAK = os.environ.get("CORTEX_SOAK") == "1"
PROCESSES, EACH, TOPICS = 8, 25 if SOAK else 5, 20
SEED = 20261120

# What seven of eight processes run: the verb in a loop, a line for each answer.
LOOP = """
import os, sys, time
from cortex.core.model.caller import Caller, no_progress
from cortex.operations.records.save import save
from cortex.vault.locate import Vault
root, number, count, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
for n in range(first, first + count):
    caller = Caller(root, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.urandom, "test", no_progress)
    saved = save(Vault(root), caller, f"Title {n} of {number}", topic=f"decision/t{(number * 7 + n) % 20}", project="p", type="decision", body=f"text {n} of {number}")
    os.write(1, f"{saved.event} {saved.outcome} {n}\\n".encode())
"""


def test_saves_by_eight_processes_at_once_are_twenty_records_and_a_text_each(vault, look, homes):
    start = time.monotonic()
    loops = [
        subprocess.Popen(
            [sys.executable, "-c", LOOP, vault.root, str(number), str(EACH), "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES - 1)
    ]
    last = PROCESSES - 1
    said = [
        subprocess.run(
            [
                sys.executable, "-m", "cortex", "save", f"Title {n} of {last}", "--topic", f"decision/t{(last * 7 + n) % TOPICS}", "--project", "p",
                "--type", "decision", "--body", f"text {n} of {last}", "--vault", vault.root, "--json",
            ],
            capture_output=True, text=True, timeout=120, check=True,
        ).stdout
        for n in range(EACH)
    ]  # fmt: skip
    outcomes = [json.loads(line)["outcome"] for line in said]
    acknowledged = [json.loads(line)["event"] for line in said]
    for process in loops:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        acknowledged += [line.split()[0] for line in out.splitlines()]
        outcomes += [line.split()[1] for line in out.splitlines()]
    assert len(set(acknowledged)) == PROCESSES * EACH
    assert outcomes.count("created") == TOPICS
    seen = look(vault.root)
    assert not seen.below("inbox")
    texts = {parse_event(data, path).text for path, data in seen.below("events").items()}
    assert texts == {f"text {n} of {number}" for number in range(PROCESSES) for n in range(EACH)}
    records = [notes.read_strict(data, path) for path, data in seen.below("records").items()]
    assert len(records) == TOPICS
    named = [id_ for note in records for id_ in note.provenance()[0]]
    assert sorted(named) == sorted(acknowledged)
    for note in records:
        newest = max(note.provenance()[0])
        event = parse_event(
            seen.files[f"events/{newest[:4]}/{newest[4:6]}/{newest}.md"], f"{newest}.md"
        )
        assert (note.text_below_title.strip(), note.title) == (event.text, event.title)
    caller = caller_now()
    assert heal(vault, caller, check=True).stale == ()
    assert doctor(vault, caller).problems == ()
    assert sum(one.texts for one in topic(vault, caller).hits) == PROCESSES * EACH
    print(f"\n{PROCESSES * EACH} saves in {time.monotonic() - start:.1f} s")


def test_saves_that_are_killed_lose_nothing_that_is_there_and_the_next_command_completes_them(
    vault, look, homes
):
    chance = random.Random(SEED)
    acknowledged: dict[str, tuple[int, int]] = {}
    hands: set[str] = set()
    for number in range(300 if SOAK else 8):
        with subprocess.Popen(
            [sys.executable, "-c", LOOP, vault.root, str(number), "1000", "0"],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            wanted = chance.randrange(1, 4)
            for line in process.stdout:
                event, _, n = line.split()
                acknowledged[event] = number, int(n)
                wanted -= 1
                if not wanted:
                    time.sleep(chance.uniform(0, 0.02))
                    os.kill(process.pid, signal.SIGKILL)
        if number % 4 == 3:
            file = chance.choice(
                sorted(Path(vault.root, "records").rglob("*.md"))
            )  # a hand writes into a record that others save
            held_before = file.read_text()
            hands.discard(
                held_before.rstrip("\n").rpartition("\n")[2]
            )  # what the hand itself overwrites is its own affair
            hands.add(f"by hand after {number}")
            file.write_text(re.sub(r"\n\n[^\n]+\n\Z", f"\n\nby hand after {number}\n", held_before))
            heal(vault, caller_now())  # a save looks at no other record, so at none of a hand
    caller = caller_now()
    normalize(vault, caller)
    seen = look(vault.root)
    assert not seen.below("inbox")
    assert not seen.temps
    held = {
        path.rpartition("/")[2][:-3]: parse_event(data, path)
        for path, data in seen.below("events").items()
    }
    for event, (number, n) in acknowledged.items():
        assert held[event].text == f"text {n} of {number}", f"seed {SEED}"
    records = [notes.read_strict(data, path) for path, data in seen.below("records").items()]
    named = [id_ for note in records for id_ in note.provenance()[0]]
    assert len(named) == len(set(named))
    # A hand's text that a killed save had kept, before the hand wrote there once more, is named nowhere and there all the same.
    assert {event.source for id_, event in held.items() if id_ not in named} <= {"edit"}
    assert set(named) <= set(held)
    told = {note.text_below_title.strip() for note in records} | {
        event.text for event in held.values()
    }
    assert hands <= told
    assert heal(vault, caller, check=True).stale == ()
    assert doctor(vault, caller).problems == ()
    assert normalize(vault, caller).events == ()
    assert look(vault.root) == seen
    print(f"\n{len(acknowledged)} acknowledged, {len(held)} events, {len(records)} records")
