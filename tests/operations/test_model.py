"""A command of the user's own answers what a text says; whatever goes wrong with it is an error, and nothing is lost."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from cortex.core.distill.answer import MAX_ANSWER_BYTES
from cortex.core.model.problem import CortexError
from cortex.operations.distill.extract import ask_model

ANSWER = """import json, os, sys
asked = sys.stdin.read()
assert os.environ["CORTEX_HOOK"]
found = [{"type": "decision", "text": line[10:], "confidence": 0.8} for line in asked.splitlines() if line.startswith("Decision: ")]
print("Sure!", json.dumps(found))
"""


def model(tmp_path, text: str) -> str:
    script = tmp_path / "a model.py"
    script.write_text(text, encoding="utf-8")
    return f"{sys.executable} '{script}'"


def test_it_is_asked_on_standard_input_and_reads_no_secret(tmp_path):
    said = "Decision: the cart lives in SQLite\nDecision: the key is AKIAIOSFODNN7EXAMPLE now"
    answered = ask_model(model(tmp_path, ANSWER), said, str(tmp_path))
    assert [(one.type, one.text, one.confidence) for one in answered.candidates] == [
        ("decision", "the cart lives in SQLite", 0.8),
        ("decision", "the key is [REDACTED:aws-key] now", 0.8),
    ]


@pytest.mark.parametrize(("text", "message"), [
    ("import sys; sys.exit('no quota left')", "no quota left"),
    ("print('I found nothing.')", "no JSON array"),
    ("import sys; sys.stdin.close(); print('[]' if 0 else 'no')", "no JSON array"),
])  # fmt: skip
def test_what_goes_wrong_is_said(tmp_path, text, message):
    with pytest.raises(CortexError, match=message):
        ask_model(model(tmp_path, text), "x" * 300_000, str(tmp_path))


@pytest.mark.parametrize(
    ("command", "message"),
    [("no-such-model -p", "cannot be run"), ("", "is empty"), ("'", "is no command")],
)
def test_a_command_that_is_none_is_said(tmp_path, command, message):
    with pytest.raises(CortexError, match=message):
        ask_model(command, "x", str(tmp_path))


SLOW = """import pathlib, subprocess, sys, time
late = "import pathlib, time; time.sleep(3); pathlib.Path('late').touch()"
subprocess.Popen([sys.executable, "-c", late])
time.sleep(60)
"""


def test_one_that_does_not_answer_is_ended_with_what_it_started(tmp_path):
    begun = time.monotonic()
    with pytest.raises(CortexError, match="no answer within 2 s"):
        ask_model(model(tmp_path, SLOW), "x\n", str(tmp_path), timeout=2)
    assert time.monotonic() - begun < 30
    time.sleep(4)
    assert not (tmp_path / "late").exists()


# A daemon as such programs start it: in a session of its own, its parents gone.
DAEMON = """import pathlib, subprocess, sys, time
late = "import pathlib, time; time.sleep(3); pathlib.Path('late').touch()"
run = ["setsid", "-f", "sh", "-c", '"$@" &', "sh", sys.executable, "-c", late]
subprocess.run(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
{end}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="not run: daemons get away elsewhere")
@pytest.mark.parametrize("end", ["print('[]')", "sys.exit('failed')", "time.sleep(60)"])
def test_a_daemon_that_it_started_is_ended_too_and_nothing_else(tmp_path, end):
    with subprocess.Popen(["sleep", "60"]) as other:
        with suppress(CortexError):
            ask_model(
                model(tmp_path, DAEMON.replace("{end}", end)), "x\n", str(tmp_path), timeout=2
            )
        time.sleep(4)
        assert not (tmp_path / "late").exists()
        assert other.poll() is None
        other.kill()


ENDLESS = """import os, pathlib, subprocess, sys
late = "import pathlib, time; time.sleep(3); pathlib.Path('late').touch()"
subprocess.Popen([sys.executable, "-c", late])
pathlib.Path("pid").write_text(str(os.getpid()))
block = b'[{"type": "decision", "text": "one", "confidence": 1}' + b" " * 65536
while True:
    os.write({fd}, block)
"""


def peak() -> int:
    """The most memory that this process ever had, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_one_that_never_stops_answering_is_ended_with_what_it_started(tmp_path):
    begun, before = time.monotonic(), peak()
    with pytest.raises(CortexError, match="answered more than 1,000,000 bytes") as error:
        ask_model(model(tmp_path, ENDLESS.replace("{fd}", "1")), "x\n", str(tmp_path))
    assert error.value.hint
    assert time.monotonic() - begun < 60
    assert peak() - before < 20 * MAX_ANSWER_BYTES // 1000
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    time.sleep(4)
    assert not (tmp_path / "late").exists()


def test_one_that_never_stops_complaining_is_ended_in_time(tmp_path):
    before = peak()
    with pytest.raises(CortexError, match="no answer within 2 s"):
        ask_model(model(tmp_path, ENDLESS.replace("{fd}", "2")), "x\n", str(tmp_path), timeout=2)
    assert peak() - before < 20 * MAX_ANSWER_BYTES // 1000


def test_an_answer_of_the_largest_size_is_taken(tmp_path):
    text = f"print('[]'.ljust({MAX_ANSWER_BYTES - 1}))"
    assert ask_model(model(tmp_path, text), "x\n", str(tmp_path)).candidates == ()


def test_an_answer_counts_though_a_child_keeps_the_pipe_open(tmp_path):
    begun = time.monotonic()
    text = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print('[]')"
    assert ask_model(model(tmp_path, text), "x\n", str(tmp_path)).candidates == ()
    assert time.monotonic() - begun < 30
