"""How answers look: paths that open from here, links and widths of a terminal, a pager."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cortex.interfaces.cli import text
from cortex.interfaces.cli.view import OFF, YELLOW, View, decode, finish, view_of, wrap

NOTES = """
=== records/decision/zebra stripes-aaaaaa.md
---
id: zebra-stripes-aaaaaa
type: decision
title: Zebra stripes
---
Stripes keep flies away from a zebra, says everybody who has ever looked at one for longer than a day, and
they are black.
=== notes/other.md
# Other
zebra
"""


def test_a_path_is_shown_as_it_opens_from_the_working_directory(tmp_path) -> None:
    (tmp_path / "v/records").mkdir(parents=True)
    root = str(tmp_path / "v")
    mark = text.path("records/a.md:3")
    assert finish(mark, View(root, root)) == "records/a.md:3"
    assert finish(mark, View(f"{root}/records", root)) == "a.md:3"
    assert finish(mark, View(str(tmp_path), root)) == "v/records/a.md:3"
    assert finish(mark, View(str(tmp_path / "x/y"), root)) == f"{root}/records/a.md:3"
    assert finish(text.path("query"), View(str(tmp_path), root)) == "query"  # no file
    assert finish(text.path("a\x1b[31m.md"), View(root, root)) == "a<U+001B>[31m.md"


def test_a_terminal_that_knows_links_gets_links(tmp_path) -> None:
    root = str(tmp_path)
    linked = finish(text.path("a b.md"), View(root, root, 80, 24, color=True, links=True))
    host = os.uname().nodename
    assert linked == f"\x1b]8;;file://{host}{root}/a%20b.md\x1b\\a b.md\x1b]8;;\x1b\\"


@pytest.mark.parametrize(("environ", "color", "links"), [
    ({"TERM": "xterm-256color"}, True, False),
    ({"TERM": "xterm-kitty"}, True, True),
    ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True, True),
    ({"TERM": "xterm-256color", "FORCE_HYPERLINK": "1"}, True, True),
    ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, True, False),
    ({"TERM": "dumb", "FORCE_HYPERLINK": "1"}, False, False),
    ({"TERM": "xterm-kitty", "NO_COLOR": ""}, False, False),
])  # fmt: skip
def test_what_is_known_of_a_terminal(environ, color, links) -> None:
    main, other = os.openpty()
    with open(other, "w") as stream:
        view = view_of(stream, "/", environ | {"COLUMNS": "44"})
    os.close(main)
    assert (view.width, view.color, view.links) == (44, color, links)
    assert decode(view.encode(), "/", "") == view
    assert decode("", "/x", "/v") == View("/x", "/v")


def test_a_long_line_is_fitted_and_keeps_the_word_that_was_found() -> None:
    line = "  " + "word " * 200 + f"{YELLOW}zebra{OFF} and more"
    rows = wrap(line, 40).split("\n")
    assert len(rows) == 3
    plain = [row.replace(YELLOW, "").replace(OFF, "") for row in rows]
    assert max(map(len, plain)) <= 40
    assert "zebra" in rows[-1]
    assert rows[0].startswith("  … word")
    assert wrap("  short", 40) == "  short"
    assert wrap("  " + "word " * 200, 40).endswith("word…")
    assert wrap("  日本語 日本語", 12) == "  日本語\n  日本語"


@pytest.mark.parametrize("columns", [40, 100])
def test_hits_fit_the_width(vault_from, terminal, columns) -> None:
    vault_from(NOTES)
    shown = terminal("search", "flies", COLUMNS=str(columns), NO_COLOR="1")
    rows = [row for row in shown.splitlines() if row.startswith("  ") and ".md" not in row]
    assert len(rows) > 1
    assert all(len(row) <= columns for row in rows)


def _script(folder: Path, name: str, body: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


def test_long_answers_go_through_the_pager(vault_from, terminal, tmp_path) -> None:
    vault_from(NOTES)
    pager = _script(tmp_path, "pager", "sed s/^/paged:/")
    long = {"CORTEX_PAGER": pager}
    assert "paged:\x1b[1mZebra" in terminal("search", "zebra", rows=3, **long)
    assert "paged:" not in terminal("search", "zebra", rows=40, **long)
    # One that fails to start costs nothing; one that ends early neither.
    broken = {"CORTEX_PAGER": str(tmp_path / "nowhere")}
    assert "Zebra stripes" in terminal("search", "zebra", rows=3, **broken)
    assert terminal("search", "zebra", rows=3, CORTEX_PAGER="head -1").count("\n") == 1
    assert "Zebra stripes" in terminal("search", "zebra", rows=3, CORTEX_PAGER="")


def test_pick_opens_the_chosen_note_and_explains_itself_without_a_terminal(
    vault_from, terminal, cortex, tmp_path
) -> None:
    vault_from(NOTES)
    editor = {
        "EDITOR": _script(tmp_path, "editor", 'echo "edits $1"'),
        "PATH": "/usr/bin:/bin",
        "TERM": "dumb",  # elsewhere it is the search of cortex tui
    }
    shown = terminal("search", "zebra", "--pick", said="1\n", **editor)
    assert "1  Zebra stripes" in shown
    assert "edits " in shown
    assert "zebra stripes-aaaaaa.md" in shown
    assert "nothing is chosen" in terminal("search", "zebra", "--pick", said="\n", **editor)
    done = cortex("search", "zebra", "--pick")
    assert done.returncode == 2
    assert "-l prints the paths" in done.stderr


def test_a_terminal_without_utf_8_gets_plain_signs(vault_from, terminal) -> None:
    vault_from("=== a.md\n# Über\n" + "zebra und \u2014 mehr " * 60 + "\n")
    shown = terminal("search", "zebra", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert "\\xdcber" in shown
    assert "..." in shown
    assert "\\u2026" not in shown


def test_a_dumb_terminal_gets_no_codes(vault_from, terminal) -> None:
    vault_from(NOTES)
    assert "\x1b" not in terminal("search", "zebra", TERM="dumb")
