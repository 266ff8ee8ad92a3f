"""What the hooks of an agent's host cost, run as hosts run them: a process for each event, JSON on its standard input."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import corpus
from benchmarks.measure import QUICK, RUNS, cpu_of, median_cpu, row, timed
from cortex.core.model.caller import Caller, no_progress
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.operations.find.remind import remind
from cortex.operations.sessions.brief import brief
from cortex.vault.locate import Vault
from cortex.vault.state import briefing_cache

_TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INSTALLED = [
    sys.executable,
    "-I",
    "-S",
    os.path.join(_TREE, "cortex", "interfaces", "hook", "main.py"),
]
COMMAND = [sys.executable, os.path.join(os.path.dirname(sys.executable), "cortex")]
_WORDS = corpus.vocabulary(4000, random.Random(11))
_LARGE, _HUGE = (2, 20) if QUICK else (20, 200)  # MB of transcript


class Session:
    """A session of an agent: its transcript grows, and its host tells the hooks so."""

    def __init__(self, root: str, work: str, name: str, megabytes: float = 0.0) -> None:
        self.root = root
        self.id = name
        self.path = os.path.join(work, f"{name}.jsonl")
        self._lines = lines_of(root, name)
        self.grow(int(megabytes * 1_000_000))

    def grow(self, size: int) -> None:
        with open(self.path, "ab") as file:
            start = file.tell()
            while file.tell() < start + size:
                file.write(next(self._lines))

    def told(self, event: str, **fields: str) -> bytes:
        """What the host gives the hook of an event."""
        table = {
            "session_id": self.id,
            "transcript_path": self.path,
            "cwd": self.root,
            "hook_event_name": event,
            "permission_mode": "default",
        }
        return json.dumps(table | fields).encode()


def lines_of(root: str, session: str, seed: int = 5) -> Iterator[bytes]:
    """A transcript as Claude Code writes it, without end: what is asked, said, run, read and changed."""
    chance = random.Random(f"{seed}{session}")
    parent = None
    for number in itertools.count():
        words = " ".join(chance.choices(_WORDS, k=60))
        base = {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": root, "sessionId": session, "version": "2.1.240",
            "gitBranch": "main", "uuid": f"{session}-{number:08}", "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_790_000_000 + number)),
        }  # fmt: skip
        parent = base["uuid"]
        kind = number % 4
        if kind == 0 and number % 40 == 0:
            message: dict[str, object] = {"role": "user", "content": f"please change {words[:80]}"}
        elif kind == 1:
            said = (
                f"Decision: use {words[:40]} because it is {words[40:60]}.\n\n{words}"
                if number % 41 == 0
                else words
            )
            message = {
                "id": f"msg_{number}",
                "role": "assistant",
                "model": "m",
                "content": [{"type": "text", "text": said}],
            }
        elif kind == 2:
            tool = {"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": {"file_path": f"{root}/src/{words.split()[0]}.py", "old_string": words, "new_string": words[::-1]}}  # fmt: skip
            message = {"id": f"msg_{number}", "role": "assistant", "model": "m", "content": [tool]}
        else:
            result = {
                "type": "tool_result",
                "tool_use_id": f"toolu_{number - 1}",
                "content": (words + "\n") * 8,
            }
            message = {"role": "user", "content": [result]}
        yield json.dumps(base | {"type": message["role"], "message": message}).encode() + b"\n"


def tables(root: str, work: str) -> None:
    _processes(root, work)
    _imports(work)
    _in_process(root)


def _processes(root: str, work: str) -> None:
    notes = sum(len(names) for _, _, names in os.walk(os.path.join(root, "notes")))
    print(f"\nHooks, CPU of the whole process, median of {RUNS}, vault of {notes:,} notes\n")
    row("hook", "ms", "× bare Python", "budget", "`cortex hook`: ×")
    row("---", "---:", "---:", "---:", "---:")
    bare = median_cpu([sys.executable, "-c", "pass"], root)
    row("`python -c pass`", f"{bare:.1f}", "1.0", "", "")
    vault = Vault(root)
    with open(os.path.join(root, ".cortex-project"), "w", encoding="utf-8") as file:
        file.write("p1\n")
    _settled(vault)
    count = itertools.count()
    prompt = _prompt(vault)

    def fresh() -> Session:
        return Session(root, work, f"session-{next(count)}")

    def unkept() -> bytes:
        shutil.rmtree(
            os.path.join(vault.cache_folder(), briefing_cache.CACHE_FOLDER), ignore_errors=True
        )
        return fresh().told("SessionStart", source="startup")

    def line(
        what: str, event: str, budget: object, given: Callable[[], bytes], *, says: bool = False
    ) -> None:
        spent = []
        for form in (INSTALLED, [*COMMAND, "hook"]):
            done = subprocess.run(
                [*form, event, "--host", "claude"],
                cwd=root,
                input=given(),
                capture_output=True,
                check=True,
            )
            if (b"additionalContext" in done.stdout) != says:
                raise RuntimeError(f"{what}: {done.stdout!r} {done.stderr!r}")
            spent.append(
                statistics.median(
                    cpu_of([*form, event, "--host", "claude"], root, given()) for _ in range(RUNS)
                )
            )
        row(what, f"{spent[0]:.1f}", f"{spent[0] / bare:.1f}", budget, f"{spent[1] / bare:.1f}")

    line(
        "session-start, briefing kept",
        "session-start",
        4,
        lambda: fresh().told("SessionStart", source="startup"),
        says=True,
    )
    line("session-start, briefing made anew", "session-start", 14, unkept, says=True)
    line(
        "a prompt, nothing to say",
        "user-prompt-submit",
        15,
        lambda: fresh().told("UserPromptSubmit", prompt="thanks, go on"),
    )
    line(
        "a prompt that calls something to mind",
        "user-prompt-submit",
        15,
        lambda: fresh().told("UserPromptSubmit", prompt=prompt),
        says=True,
    )
    with subprocess.Popen(
        [*COMMAND, "watch", "--quiet", "600"],
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as watcher:
        try:
            while subprocess.run(
                [*COMMAND, "watch", "--status"], cwd=root, capture_output=True, check=False
            ).returncode:
                time.sleep(0.1)
            time.sleep(3)
            line(
                "session-start, made anew, the watcher running",
                "session-start",
                14,
                unkept,
                says=True,
            )
            line(
                "a prompt that calls something to mind, the watcher running",
                "user-prompt-submit",
                5,
                lambda: fresh().told("UserPromptSubmit", prompt=prompt),
                says=True,
            )
        finally:
            subprocess.run(
                [*COMMAND, "watch", "--stop"], cwd=root, capture_output=True, check=False
            )
            watcher.wait()
    long = Session(root, work, "long", 5)
    for _ in range(50):  # until the hook has read all that is there
        cpu_of(
            [*INSTALLED, "stop", "--host", "claude"],
            root,
            long.told("Stop", last_assistant_message="so far"),
        )

    def turn() -> bytes:
        long.grow(8_000)
        return long.told(
            "Stop", last_assistant_message=f"Turn {next(count)} is done.", stop_hook_active=""
        )

    line("stop, 8 kB of a transcript of 5 MB are new", "stop", 2.5, turn)

    def ended() -> bytes:
        one = Session(root, work, f"session-{next(count)}", 0.02)
        cpu_of(
            [*INSTALLED, "stop", "--host", "claude"],
            root,
            one.told("Stop", last_assistant_message="so far"),
        )
        one.grow(2_000)
        return one.told("SessionEnd", reason="prompt_input_exit")

    line("session-end", "session-end", "", ended)


def _prompt(vault: Vault) -> str:
    """A sentence about some note of the project, one that calls something to mind."""
    hook = Caller(vault.root, "2026-11-20T00:00:00Z", os.urandom, "hook", no_progress)
    for row_ in query_index(
        vault,
        no_progress,
        lambda index: index.catalogue.find(NoteFilter(projects=("p1",)), "path", 100),
    ):
        prompt = f"how do we do {row_.title} here, and is the storage folder decided?"
        if remind(vault, hook, prompt, project="p1").hits:
            return prompt
    raise LookupError(vault.root)


def _settled(vault: Vault) -> None:
    """Every stamp older than the clock's tick, and the index current."""
    for _ in range(2):
        query_index(vault, no_progress, lambda index: index.catalogue.count_notes())
        time.sleep(2.2)


def _imports(work: str) -> None:
    print(
        "\nTranscripts that are already on disk: `cortex import claude --path` and `cortex normalize`\n"
    )
    row("transcript", "import: CPU s", "normalize: CPU s", "events", "records", "peak MB", "budget")
    row("---", "---:", "---:", "---:", "---:", "---:", "---:")
    script = (
        # Not `ru_maxrss`: after a fork it begins with what this process holds.
        "import sys, time; from cortex.interfaces.cli.main import main; main(sys.argv[1:])\n"
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM:'))\n"
        "print(time.process_time(), int(peak.split()[1]) / 1024)"
    )
    for size in (_LARGE, _HUGE):
        root = os.path.join(work, f"import-{size}")
        subprocess.run([*COMMAND, "init", root], capture_output=True, check=True)
        session = Session(root, work, f"import-{size}", size)
        spent, peaks = [], []
        for words in (["import", "claude", "--path", session.path], ["normalize"]):
            done = subprocess.run(
                [sys.executable, "-c", script, *words],
                cwd=root,
                capture_output=True,
                text=True,
                check=True,
            )
            cpu, peak = (float(word) for word in done.stdout.split()[-2:])
            spent.append(cpu)
            peaks.append(peak)
        events, records = (sum(name.endswith(".md") for _, _, names in os.walk(os.path.join(root, folder)) for name in names) for folder in ("events", "records"))  # fmt: skip
        row(
            f"{size} MB",
            f"{spent[0]:.1f}",
            f"{spent[1]:.1f}",
            events,
            records,
            f"{max(peaks):.0f}",
            "5 s together" if size == _LARGE else "peak bounded",
        )
        os.unlink(session.path)


def _in_process(root: str) -> None:
    print("\nIn one process with a current index, wall ms\n")
    row("what", "p50", "p95")
    row("---", "---:", "---:")
    vault, caller = (
        Vault(root),
        Caller(
            root,
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            os.urandom,
            "bench",
            no_progress,
        ),
    )
    _settled(vault)
    prompts = [
        f"how do we do {' '.join(random.Random(number).choices(_WORDS[:400], k=8))}?"
        for number in range(50)
    ]
    log = "2026-11-02 10:11:12 INFO request served in 12 ms\n" * 2000

    def brief_printed() -> object:
        return brief(vault, caller, project="p1", branch="main", print=True)

    def brief_anew() -> object:
        shutil.rmtree(
            os.path.join(vault.cache_folder(), briefing_cache.CACHE_FOLDER), ignore_errors=True
        )
        return brief_printed()

    calls: tuple[tuple[str, Callable[[int], object]], ...] = (
        ("`brief --print`, kept", lambda _: brief_printed()),
        ("`brief --print`, made anew", lambda _: brief_anew()),
        (
            "`remind`, a sentence",
            lambda number: remind(vault, caller, prompts[number % 50], project="p1"),
        ),
        (
            "`remind`, a sentence under 100 kB of log",
            lambda number: remind(vault, caller, log + prompts[number % 50], project="p1"),
        ),
        (
            "`remind`, a sentence, as a hook",
            lambda number: remind(
                vault, caller._replace(source="hook"), prompts[number % 50], project="p1"
            ),
        ),
    )
    for what, call in calls:
        call(0)
        spent = sorted(
            1000 * timed(partial(call, number))[1]
            for number in range(RUNS if "brief" in what else 50)
        )
        row(what, f"{statistics.median(spent):.1f}", f"{spent[int(0.95 * (len(spent) - 1))]:.1f}")


if __name__ == "__main__":
    import tempfile

    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPATH"] = _TREE
    with tempfile.TemporaryDirectory(prefix="cortex-bench-") as folder:
        os.environ |= {
            name: os.path.join(folder, name)
            for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
        }
        corpus.write_vault(os.path.join(folder, "vault"), 1_000 if QUICK else 10_000)
        tables(os.path.join(folder, "vault"), folder)
