"""Runners of agents are killed with -9 wherever it hurts, in real processes and a real repository; then the next command
has to find everything in order.

By hand: `python -m tests.reliability.run_kills 40 [SEED [POINT]]`, so many kills at each point.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cortex.core.model.layout import ACTIVE, QUEUE
from cortex.core.model.problem import CortexError
from cortex.core.runs.run_event import TERMINAL, RunEvent, parse_line
from cortex.core.runs.run_note import RunRequest, sealed_path
from cortex.core.text.strings import format_time
from cortex.operations.care.init import init
from cortex.operations.runs.request import request_run
from cortex.vault.locate import Vault
from cortex.vault.runs import run_files, run_state
from cortex.vault.user_settings import settings_file
from tests.conftest import caller_now

# In the runner, before anything of Cortex: counts the system calls of each phase, and kills the process at one of them.
BREAKER = """
import json, os, signal, sys
if "work" in sys.orig_argv and "RUN_KILL" in os.environ:
    place, phase, number, share = json.loads(os.environ.pop("RUN_KILL"))
    open(place, "w").write(str(os.getpid()))
    counts, now = {"before rename": 0, "after rename": 0, "mid-line": 0, "mid-capture": 0, "mid-seal": 0}, "before rename"
    def die(): open(place + ".killed", "w").close(); os.kill(os.getpid(), signal.SIGKILL)
    def wrap(name):
        real = getattr(os, name)
        def call(*words, **more):
            global now
            is_line = name == "write" and b"<!-- cx " in bytes(words[1][:400])
            target = str(words[1]) if name == "link" else ""
            if is_line and now == "after rename": now = "mid-line"
            if now == "mid-line" and (target and not target.endswith(".json")): now = "mid-capture"
            is_counted = is_line or now != "mid-line"
            counts[now] += is_counted
            is_it = is_counted and now == phase and counts[now] == number
            if is_it and is_line: real(words[0], words[1][:int(len(words[1]) * share)]); die()
            if is_it and share < 0.5: die()
            answer = real(*words, **more)
            if is_it: die()
            if not phase and now == "mid-seal": open(place + ".counts", "w").write(json.dumps(counts))
            if is_line and b'"event":"finish"' in words[1]: now = "mid-seal"
            if now == "before rename" and target.startswith("run-"): now = "after rename"
            return answer
        setattr(os, name, call)
    for name in ("open", "mkdir", "link", "unlink", "rename", "replace", "rmdir", "write", "fsync", "fdatasync", "pread"):
        wrap(name)
"""  # fmt: skip
# A chatty one, with events too large for the note, that leaves a process behind.
PROGRAM = """
import json, os, subprocess, sys, time
config = json.loads(sys.stdin.readline())
def say(**event): sys.stdout.write(json.dumps(event) + "\\n"); sys.stdout.flush()
subprocess.Popen(["sleep", "300"], start_new_session=True)
say(event="start", model="m", session_id="s")
for count in range(40):
    say(event="message", text=f"{count} " + "word " * (4000 if count % 20 == 9 else count))
time.sleep(float(config["prompt"].partition("sleep:")[2] or 0))
say(event="finish", result="All said. " + config["agent_id"], usage={"input": 2, "output": 1})
"""
SETTINGS = """
[agents]
provider = "mine"
[providers.mine]
protocol = "ndjson"
command = {command}
[tiers.flash]
mine = "m"
"""
HERE = Path(__file__).parents[2]
PHASES = ("before rename", "after rename", "mid-line", "mid-capture", "mid-seal")
OTHERS = ("program", "both", "stop and status")
SECRET = "very-secret-value"


class Wrong(AssertionError):
    """What a kill has left is not as promised."""


class Sweep:
    """A vault in a repository, a provider, and runs that are killed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        (folder / "breaker").mkdir()
        (folder / "breaker/sitecustomize.py").write_text(BREAKER)
        (folder / "program.py").write_text(PROGRAM)
        file = Path(settings_file())
        file.parent.mkdir(parents=True, exist_ok=True)
        command = json.dumps([sys.executable, "-I", "-S", str(folder / "program.py")])
        file.write_text(SETTINGS.format(command=command))
        self.vault = Vault(init(caller_now(), str(folder / "vault")).root)
        self.counts: dict[str, int] = {}
        self.found: Counter[str] = Counter()  # how it stood after a kill
        self.seconds = 0.0  # that the next command took

    def kill(self, point: str) -> str:
        """One run that is killed, and what became of it. Raises `Wrong`."""
        if point in PHASES and not self.counts:
            self._run(["", 0, 0.0])
            self.counts = json.loads(Path(f"{self.place}.counts").read_text())
        if point in PHASES:
            number = 1 + int(self.counts[point] * self.chance.random() ** 2)  # mostly soon
            id_, seen = self._run([point, number, self.chance.random()])
            if not Path(f"{self.place}.killed").exists():  # it made fewer calls than the first one
                return self.kill(point)
        else:
            id_, seen = self._run(["", 0, 0.0], lambda id_: self._disturb(point, id_))
        for folder in (QUEUE, ACTIVE):
            self.found[f"{point}: left in {folder}"] += id_ in run_files.list_runs(self.vault, folder)  # fmt: skip
        seen = max(seen, self._events(id_), key=len)
        begun = time.monotonic()
        if point != "stop and status":
            self._cortex("status")
        self.seconds += time.monotonic() - begun
        status = self._wait(id_)
        self.found[f"{point}: {status}"] += 1
        self._check(id_, seen)
        return status

    def _run(self, told: list[object], disturb: Callable[[str], None] | None = None) -> tuple[str, list[RunEvent]]:  # fmt: skip
        """Start a run; its id, and the events that a follower has seen when its runner is gone."""
        self.place = self.folder / f"pid-{os.urandom(4).hex()}"
        caller = caller_now()._replace(
            now=format_time(time.time() - 20)
        )  # nobody waits for its runner
        words = "sleep:60" if disturb else f"{os.urandom(2).hex()}"
        told = [str(self.place), *told]
        with _environment(RUN_KILL=json.dumps(told), PYTHONPATH=f"{self.folder}/breaker:{HERE}"):
            id_, _ = request_run(self.vault, caller, RunRequest("default", words), {"API_KEY": SECRET})  # fmt: skip
        pid = int(_until(lambda: self.place.exists() and self.place.read_text()))
        seen: list[RunEvent] = []
        while Path(f"/proc/{pid}").exists():
            seen = max(seen, self._events(id_), key=len)
            if disturb and len(seen) > 5:
                disturb(id_)
                disturb = None
        return id_, seen

    def _disturb(self, point: str, id_: str) -> None:
        """What befalls a run that goes on."""
        runner, programs = int(self.place.read_text()), marked(id_)
        if point == "stop and status":
            both = [self._start("run", "stop", id_), self._start("status"), self._start("run", "list")]  # fmt: skip
            if self.chance.random() < 0.5:
                os.kill(runner, signal.SIGKILL)
            for one in both:
                said = one.communicate(timeout=60)[0]
                is_over = b"has ended" in said  # somebody else was first
                if (one.returncode not in (0, 1) and not is_over) or b"Traceback" in said:
                    raise Wrong(f"{one.args}: {said.decode()}")
            return
        for pid in [runner] * (point == "both") + programs:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _events(self, id_: str) -> list[RunEvent]:
        with suppress(CortexError, OSError):
            return list(run_files.find_run(self.vault, id_).events)
        return []

    def _wait(self, id_: str) -> str:
        """How a run ended; its runner may have been started anew."""

        def ended() -> str:
            run = run_files.find_run(self.vault, id_)
            return (
                run.state.status if run.path == self.vault.layout().path(sealed_path(id_)) else ""
            )

        return str(_until(ended))

    def _check(self, id_: str, seen: list[RunEvent]) -> None:
        root = Path(self.vault.root)
        _until(lambda: not _runner_of(id_))
        files = [path for path in (root / "runs").rglob(f"{id_}*") if path.suffix == ".md"]
        if [path.relative_to(root).as_posix() for path in files] != [sealed_path(id_)]:
            raise Wrong(f"{id_} lies in {files}")
        if left := [
            path for folder in (QUEUE, ACTIVE) for path in (root / folder).glob(f"*{id_}*")
        ]:
            raise Wrong(f"{left} are left")
        lines = files[0].read_text().splitlines()
        events = [event for line in lines if (event := parse_line(line))]
        if [one["seq"] for one in events] != list(range(len(events))):
            raise Wrong(f"{id_}: events {[one['seq'] for one in events]}")
        if (
            sum(one["event"] in TERMINAL for one in events) != 1
            or events[-1]["event"] not in TERMINAL
        ):
            raise Wrong(f"{id_}: its end is {[one['event'] for one in events if one['event'] in TERMINAL]}")  # fmt: skip
        if events[: len(seen)] != seen:
            raise Wrong(f"{id_}: {len(seen)} events were acknowledged, {len(events)} are there")
        run = run_files.find_run(self.vault, id_)
        for one in run.events:
            whole = run_files.load_event(self.vault, run, one)
            if "sha256" in one and "sha256" in whole and whole is one:
                raise Wrong(f"{id_}: what {one['seq']} says is gone")
        if strays := marked(id_):
            raise Wrong(f"{id_}: {strays} live")
        words = ["git", "log", "--format=%H", "--", sealed_path(id_)]
        commits = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False).stdout.split()  # fmt: skip
        if len(commits) > 1:
            raise Wrong(f"{id_} is in {len(commits)} commits")
        self.found["commits"] += len(commits)
        self.found["events seen"] += len(seen)

    def close(self) -> None:
        """What nobody has cleared away is, by the next command that looks at runs a minute later."""
        folder = Path(run_state.folder(self.vault))
        for name in os.listdir(folder):
            os.utime(folder / name, (1, 1), follow_symlinks=False)
        self.found["state of runs that are gone"] = sum(one.startswith("run-") for one in os.listdir(folder))  # fmt: skip
        self._cortex("run", "list")
        if left := [one for one in os.listdir(folder) if one.startswith("run-")]:
            raise Wrong(f"the state folder still has {left}")
        words = ["grep", "-rl", SECRET, str(self.vault.root), str(folder.parent)]
        if left := subprocess.run(words, capture_output=True, text=True, check=False).stdout:
            raise Wrong(f"the value of a variable stands in {left}")

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        line = [sys.executable, "-m", "cortex", *words]
        return subprocess.Popen(line, cwd=self.vault.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip

    def _cortex(self, *words: str) -> None:
        process = self._start(*words)
        said = process.communicate(timeout=60)[0].decode()
        if process.returncode not in (0, 1) or "Traceback" in said:
            raise Wrong(f"cortex {' '.join(words)}: {said}")


def marked(id_: str) -> list[int]:
    """The processes that a run has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"CORTEX_RUN={id_}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def _runner_of(id_: str) -> int:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"work" in words and id_.encode() in words:
                return int(folder.name)
    return 0


def _until(condition: Callable[[], object], seconds: float = 60) -> str:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(CortexError):
            if found := condition():
                return str(found)
        time.sleep(0.01)
    raise Wrong("it never came")


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ |= values
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ |= {name: value} if value is not None else {}


def main(words: list[str]) -> int:
    """So many kills at each point; how many went wrong."""
    kills, seed = int(words[0]), int(words[1]) if len(words) > 1 else 20261120
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        home = Path(folder)
        for name in [name for name in os.environ if name.startswith(("XDG_", "CORTEX_"))]:
            del os.environ[name]
        os.environ |= {"HOME": folder, "GIT_CONFIG_GLOBAL": f"{folder}/gitconfig", "GIT_CONFIG_SYSTEM": os.devnull}  # fmt: skip
        (home / "gitconfig").write_text("[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n")  # fmt: skip
        sweep = Sweep(home, seed)
        for point in words[2:] or (*PHASES, *OTHERS):
            begun = time.monotonic()
            for count in range(kills):
                try:
                    sweep.kill(point)
                except Wrong as error:
                    wrong += 1
                    print(f"{point}, {count}: {error}", flush=True)
            print(f"{point}: {kills} kills in {time.monotonic() - begun:.0f} s", flush=True)
        try:
            sweep.close()
        except Wrong as error:
            wrong += 1
            print(error)
        print(*(f"{name}: {count}" for name, count in sorted(sweep.found.items()) if count), sep="\n")  # fmt: skip
        print(f"calls: {sweep.counts}\nthe next command took {sweep.seconds:.0f} s in all\n{wrong} wrong")  # fmt: skip
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
