"""A command of the user's own answers what a text says; whatever goes wrong with it is an error, and nothing is lost."""

from __future__ import annotations

import sys
import time

import pytest

from cortex.core.problem import CortexError
from cortex.operations.model import ask

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
    answered = ask(model(tmp_path, ANSWER), said, str(tmp_path))
    assert [(one.type, one.text, one.confidence) for one in answered.candidates] == [
        ("decision", "the cart lives in SQLite", 0.8),
        ("decision", "the key is [REDACTED:aws-key] now", 0.8),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; sys.exit('no quota left')", "no quota left"),
        ("print('I found nothing.')", "no JSON array"),
        ("import sys; sys.stdin.close(); print('[]' if 0 else 'no')", "no JSON array"),
    ],
)
def test_what_goes_wrong_is_said(tmp_path, text, message):
    with pytest.raises(CortexError, match=message):
        ask(model(tmp_path, text), "x" * 300_000, str(tmp_path))


@pytest.mark.parametrize(("command", "message"), [("no-such-model -p", "cannot be run"), ("", "is empty"), ("'", "is no command")])
def test_a_command_that_is_none_is_said(tmp_path, command, message):
    with pytest.raises(CortexError, match=message):
        ask(command, "x", str(tmp_path))


SLOW = """import pathlib, subprocess, sys, time
late = "import pathlib, time; time.sleep(3); pathlib.Path('late').touch()"
subprocess.Popen([sys.executable, "-c", late])
time.sleep(60)
"""


def test_one_that_does_not_answer_is_ended_with_what_it_started(tmp_path):
    begun = time.monotonic()
    with pytest.raises(CortexError, match="no answer within 2 s"):
        ask(model(tmp_path, SLOW), "x\n", str(tmp_path), patience=2)
    assert time.monotonic() - begun < 30
    time.sleep(4)
    assert not (tmp_path / "late").exists()
