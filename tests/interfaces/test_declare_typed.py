"""What people type: names of files where a text is meant, slips in types, dates and spans, and errors for programs."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from cortex.core.model.parameters import Since
from cortex.core.text.iso_time import parse_moment
from cortex.interfaces.cli import steps as terminal_steps
from cortex.interfaces.declare import choices_of, convert, declaration_of, load_verb
from cortex.operations import VERBS
from cortex.vault import files
from cortex.vault.locate import Vault

MINUTES = "# Weekly, 2026-11-02\n\n## Decisions\n- Ship on Friday\n"
NOW = "2026-11-22T12:00:00Z"


def captured(vault: Vault) -> list[str]:
    return [
        files.read(vault.root, f"inbox/pending/{name}").decode().partition("## Raw Content\n\n")[2]
        for name in files.list_notes(vault.root, "inbox/pending")
    ]


@pytest.mark.parametrize("name", ["minutes.md", "minutes of may.md"])
def test_minutes_are_read_from_the_file_that_is_named(cortex, vault, name) -> None:
    Path(vault.root, name).write_bytes(b"\xef\xbb\xbf" + MINUTES.encode())
    done = cortex("capture", "--type", "meeting", name, cwd=vault.root)
    assert (done.returncode, done.stderr) == (0, "1 decision, 0 actions\n")
    assert captured(vault) == [f"{MINUTES}\n"]
    other = cortex("capture", "--type", "meeting", "no-such.md", cwd=vault.root)
    assert (other.returncode, "there is no file no-such.md" in other.stderr) == (2, True)
    assert len(captured(vault)) == 1


def test_minutes_that_cannot_be_read_are_no_capture(cortex, vault) -> None:
    root = Path(vault.root)
    (root / "latin.md").write_bytes(b"caf\xe9")
    (root / "large.md").write_bytes(b"x" * 1_000_001)
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    for name, message in {
        "latin.md": "latin.md is not UTF-8", "large.md": "large.md holds more than 1,000,000 bytes",
        "folder": "folder is no file", "pipe": "pipe is no file",
    }.items():  # fmt: skip
        done = cortex("capture", name, "--type", "meeting", "--json", cwd=vault.root)
        error = json.loads(done.stdout)["error"]
        assert (done.returncode, done.stderr, error["message"].startswith(message)) == (2, "", True)
        assert error["hint"]
    assert captured(vault) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="not run: root reads every file")
def test_minutes_that_nobody_may_read_are_no_capture(cortex, vault) -> None:
    Path(vault.root, "closed.md").touch(mode=0o000)
    done = cortex("capture", "closed.md", "--type", "meeting", cwd=vault.root)
    assert (done.returncode, captured(vault)) == (2, [])


def test_elsewhere_a_name_of_a_file_is_a_text_and_the_way_to_read_it_is_said(cortex, vault) -> None:
    Path(vault.root, "notes.md").write_text("What it holds")
    done = cortex("capture", "notes.md", cwd=vault.root)
    assert done.returncode == 0
    assert (
        done.stderr
        == "cortex: notes.md is kept as a text; cortex capture - < notes.md reads the file\n"
    )
    assert captured(vault) == ["notes.md\n"]
    done = cortex("save", "A title", "--body", "notes.md", cwd=vault.root)
    assert "cortex save --body - < notes.md reads the file" in done.stderr
    for text in ("inbox", "a text"):  # a folder, and no file
        assert cortex("capture", text, cwd=vault.root).stderr == ""


@pytest.mark.parametrize(("said", "text"), [("y\n", "What it holds\n"), ("\n", "notes.md\n")])
def test_on_a_terminal_it_is_asked(vault, said, text) -> None:
    Path(vault.root, "notes.md").write_text("What it holds")
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cortex", "capture", "notes.md"], cwd=vault.root, stdin=slave, stdout=slave, stderr=slave
    )  # fmt: skip
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(master, 1000)
    os.write(master, said.encode())
    assert process.wait() == 0
    os.close(master)
    (event,) = Path(vault.root, "events").rglob("*.md")  # who waits is told what came of it
    assert event.read_text().partition("## Raw Content\n\n")[2] == text


def test_a_text_that_names_no_file_loads_nothing_for_it(vault) -> None:
    code = (
        "import sys; from cortex.interfaces.cli.main import main; main(['capture', 'word']);"
        f" print({terminal_steps.__name__!r} in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=vault.root, capture_output=True, text=True, check=True
    )
    assert done.stderr == "False\n"


# -- slips in types


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("decison", "decision"), ("Gotchas", "gotcha"), ("learing", "learning"), ("lesons", "learning")],
)  # fmt: skip
def test_a_slip_in_a_type_is_refused_with_the_correction(cortex, vault, typed, meant) -> None:
    done = cortex("save", "Use SQLite", "--type", typed, cwd=vault.root)
    assert (done.returncode, f"did you mean {meant}?" in done.stderr) == (2, True)
    assert f"--type +{typed.lower()}" in done.stderr
    assert not Path(vault.root, "records", typed.lower()).exists()
    assert cortex("new", typed, "Use SQLite", cwd=vault.root).returncode == 2
    done = cortex("capture", "Use SQLite", "--type", typed, cwd=vault.root)
    assert (done.returncode, f" {meant}," in done.stderr.replace("?", ",")) == (2, True)
    assert captured(vault) == []


def test_a_type_of_ones_own_is_taken_and_insisted_on_once(cortex, vault) -> None:
    for typed in ("policy", "our-own-kind", "+decison", "decison", "lesson", "+decision"):
        done = cortex("save", f"Use {typed}", "--type", typed, "--json", cwd=vault.root)
        assert done.returncode == 0, done.stdout
        kind = {"lesson": "learning"}.get(typed, typed.removeprefix("+"))
        assert json.loads(done.stdout)["path"].startswith(f"records/{kind}/")


# -- one grammar of dates and spans

SPANS = {
    "3m": 90 * 86400, "90min": 5400, "12h": 43200, "7d": 7 * 86400, "2w": 14 * 86400, "1y": 365 * 86400,
}  # fmt: skip
MOMENTS = [
    (name, one.name)
    for name in VERBS
    for one in declaration_of(load_verb(name)).parameters
    if one.name in ("since", "until", "as_of", "before", "after") and name != "changes"
]


@pytest.mark.parametrize(("verb", "parameter"), MOMENTS)
def test_every_date_or_span_has_one_grammar(verb, parameter) -> None:
    declared = declaration_of(load_verb(verb))
    (one,) = (one for one in declared.parameters if one.name == parameter)
    assert one.type == Since or Since in get_args(one.type)
    others = {
        other.name: next(iter(choices_of(other.type)), "x")
        for other in declared.parameters
        if other.required
    }
    end = parse_moment("2026-11-22T12:00:00Z", NOW)
    for span, seconds in SPANS.items():
        given = others | {parameter: span}
        assert convert(declared, given, NOW)[parameter] == (end or 0) - seconds


def test_no_parameter_tells_of_a_span_with_another_type() -> None:
    assert {"import", "recall", "meetings", "session", "distill"} <= {verb for verb, _ in MOMENTS}
    for name in VERBS:
        for one in declaration_of(load_verb(name)).parameters:
            if "7d" in one.meaning or "3m" in one.meaning:
                assert one.type == Since or Since in get_args(one.type), (name, one.name)


# -- errors for programs


@pytest.mark.parametrize(
    "words",
    [
        ["nosuch"], ["help", "nosuch"], ["--nosuch"], ["search", "x", "--nosuch"], ["search", "x", "-n", "many"],
        ["recall", "--since", "soon"], ["search", "after:soon"], ["show"], ["pin", "--remove"], ["show", "--why", "nothing-here"],
        ["archive", "--words", ""], ["save", "x", "--type", "decison"], ["capture", "--type", "nosuch", "x"], ["hook"],
        ["archive", "x", "--yes"], ["schema", "nosuch"], ["save", "--learnings", " "],
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_error_is_json_on_standard_output_and_ends_with_two(cortex, vault, words) -> None:
    done = cortex(*words, "--json", cwd=vault.root)
    assert (done.returncode, done.stderr) == (2, "")
    assert {*json.loads(done.stdout)["error"]} == {"message", "hint"}
    done = cortex(*words, cwd=vault.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("cortex: ")
