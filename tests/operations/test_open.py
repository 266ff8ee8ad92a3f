"""`cortex open` and `cortex edit` start one program with one note, and nothing in a vault becomes more than its path."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

NOTES = """
=== Projects/Größe & Ziele #1 100%.md
# Goals
=== records/decision/keep-carts-for-a-day-icham6.md
---
id: keep-carts-for-a-day-icham6
type: decision
title: Keep carts for a day
---
=== --help.md
# $(touch PWNED); `touch PWNED`
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Programs that write down their arguments."""
    (tmp_path / "bin").mkdir()
    for name in ("xdg-open", "open", "my-editor"):
        program = tmp_path / "bin" / name
        program.write_text(
            '#!/bin/sh\nfor word in "${0##*/}" "$@"; do printf "%s\\n" "$word"; done > '
            f"{tmp_path}/args\n"
        )
        program.chmod(0o755)
    return tmp_path


def started(programs: Path) -> list[str]:
    return (programs / "args").read_text().splitlines()


@pytest.mark.parametrize(
    "name",
    ["keep-carts-for-a-day-icham6", "keep-carts", "icham6", "keep carts for a DAY", "records/decision/keep-carts-for-a-day-icham6.md:3"],
)  # fmt: skip
def test_a_note_is_named_as_for_show(name, vault_from, cortex):
    vault = vault_from(NOTES)
    path = f"{vault.root}/records/decision/keep-carts-for-a-day-icham6.md"
    for verb in ("open", "edit"):
        done = cortex(verb, name)
        assert (done.returncode, done.stdout) == (0, f"{path}\n")


def test_in_an_obsidian_vault_the_url_holds_the_whole_path(vault_from, cortex):
    vault = vault_from(NOTES)
    os.mkdir(f"{vault.root}/.obsidian")
    done = cortex("open", "größe & ziele #1 100%")
    path = f"{vault.root}/Projects/".replace("/", "%2F")
    assert (
        done.stdout
        == f"obsidian://open?path={path}Gr%C3%B6%C3%9Fe%20%26%20Ziele%20%231%20100%25.md\n"
    )
    assert cortex("edit", "goals").stdout == f"{vault.root}/Projects/Größe & Ziele #1 100%.md\n"
    answer = json.loads(cortex("open", "goals", "--json").stdout)
    assert (answer["opened"], answer["url"]) == (False, done.stdout.strip())


def test_at_a_terminal_the_program_gets_one_word(vault_from, programs, terminal):
    vault = vault_from(NOTES)
    around = {"PATH": f"{programs}/bin:{os.environ['PATH']}", "VISUAL": "", "EDITOR": "my-editor -w '+set x'"}  # fmt: skip
    seen = terminal("edit", "--", "--help", said="\n", **around)
    assert "edited: " in seen
    assert started(programs) == ["my-editor", "-w", "+set x", f"{vault.root}/--help.md"]
    os.mkdir(f"{vault.root}/.obsidian")
    terminal("open", "goals", said="\n", **around)
    program, url = started(programs)
    assert program in ("open", "xdg-open")
    assert url.startswith("obsidian://open?path=%2F")
    (programs / "args").unlink()
    assert "obsidian://" in terminal("open", "goals", "--print", said="\n", **around)
    assert not (programs / "args").exists()
    assert not list(programs.rglob("PWNED"))


def test_what_is_missing_is_said_with_the_next_step(vault_from, terminal, cortex):
    vault_from(NOTES)
    none = {"VISUAL": "", "EDITOR": ""}
    assert "no editor is named" in terminal("edit", "goals", said="\n", **none)
    assert "cannot be read" in terminal("edit", "goals", said="\n", EDITOR="vi '", VISUAL="")
    missing = terminal("edit", "goals", said="\n", EDITOR="no-such-editor", VISUAL="")
    assert "$EDITOR names no program: no-such-editor" in missing
    assert "export EDITOR=nano" in missing
    assert "ended with exit code 1" in terminal(
        "edit", "goals", said="\n", EDITOR="false", VISUAL=""
    )
    done = cortex("open", "nothing of this name")
    assert (done.returncode, "there is no note" in done.stderr) == (2, True)
