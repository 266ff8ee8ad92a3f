"""`cortex init --obsidian` changes one list of Obsidian's settings, and no other byte of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

LIST = '"userIgnoreFilters": ["events/", "inbox/"]'
# The settings before, and after `--obsidian`.
SETTINGS = [
    ("", '{\n  "userIgnoreFilters": ["events/", "inbox/"]\n}\n'),
    ("{}", '{\n  "userIgnoreFilters": ["events/", "inbox/"]\n}'),
    (
        '{\r\n\t"vimMode": true,\r\n\t"alwaysUpdateLinks": false\r\n}',
        '{\r\n\t"vimMode": true,\r\n\t"alwaysUpdateLinks": false,\r\n\t' + LIST + "\r\n}",
    ),
    (
        '\ufeff{"b":1,"userIgnoreFilters":["Archive/","/.*\\\\.tmp/"],"a":[1,2]}\n',
        '\ufeff{"b":1,"userIgnoreFilters":["Archive/","/.*\\\\.tmp/", "events/", "inbox/"],"a":[1,2]}\n',
    ),
    (
        '{\n  "userIgnoreFilters": [\n    "Archive/",\n    "inbox/"\n  ],\n  "z": 1\n}\n',
        '{\n  "userIgnoreFilters": [\n    "Archive/",\n    "inbox/",\n    "events/"\n  ],\n  "z": 1\n}\n',
    ),
    ('{\n  "userIgnoreFilters": null\n}', '{\n  "userIgnoreFilters": ["events/", "inbox/"]\n}'),
]


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    (tmp_path / "notes/.obsidian").mkdir(parents=True)
    return tmp_path / "notes/.obsidian/app.json"


@pytest.mark.parametrize(("before", "after"), SETTINGS)
def test_the_list_is_extended_and_nothing_else_changes(before, after, settings, tmp_path, cortex):
    settings.write_bytes(before.encode())
    notes = tmp_path / "notes"
    for _ in range(2):  # the second time nothing is left to do
        done = cortex("init", "--obsidian", cwd=notes)
        assert (done.returncode, settings.read_bytes().decode()) == (0, after)
    assert "undo" not in done.stdout
    assert cortex("init", "--no-obsidian", cwd=notes).returncode == 0
    undone = settings.read_bytes().decode()
    if before and "null" not in before:
        assert undone == before  # the person's own inbox/ too
    else:
        assert "events/" not in undone


def test_entries_that_a_person_wrote_stay(settings, tmp_path, cortex):
    """Also after they have been taken out and written once more."""
    notes = tmp_path / "notes"
    own = '{"userIgnoreFilters": ["inbox/", "events/", "Archive/"]}'
    settings.write_text(own)
    assert cortex("init", "--no-obsidian", cwd=notes).returncode == 0
    assert settings.read_text() == own
    settings.write_text('{"userIgnoreFilters": ["Archive/"]}')
    assert cortex("init", "--obsidian", cwd=notes).returncode == 0
    assert '"events/"' in settings.read_text()
    assert cortex("init", "--no-obsidian", cwd=notes).returncode == 0
    assert settings.read_text() == '{"userIgnoreFilters": ["Archive/"]}'
    settings.write_text(own)
    assert cortex("init", "--no-obsidian", cwd=notes).returncode == 0
    assert settings.read_text() == own


def test_the_printed_undo_takes_it_back_and_a_missing_file_is_made(settings, tmp_path, cortex):
    done = cortex("init", "--obsidian", cwd=tmp_path / "notes")
    assert json.loads(settings.read_text()) == {"userIgnoreFilters": ["events/", "inbox/"]}
    undo = done.stdout.partition("undo: cortex ")[2].splitlines()[0]
    assert cortex(*undo.split(), cwd=tmp_path).returncode == 0
    assert json.loads(settings.read_text()) == {}


def test_in_a_folder_of_the_obsidian_vault_paths_begin_at_its_root(settings, tmp_path, cortex):
    done = cortex("init", "--obsidian", "notes/work/memory", cwd=tmp_path)
    assert "work/memory/events/ and work/memory/inbox/" in done.stdout
    wanted = ["work/memory/events/", "work/memory/inbox/"]
    assert json.loads(settings.read_text())["userIgnoreFilters"] == wanted


@pytest.mark.parametrize(("content", "why"), [
    ('{"a": 1,\n', "line 2, column 1: ends too early"),
    ("[]", "it is no object"),
    ('{"userIgnoreFilters": "events/"}', "userIgnoreFilters is no list"),
    (None, "is a link"),
])  # fmt: skip
def test_settings_that_cannot_be_edited_stay_and_no_vault_is_made(
    content, why, settings, tmp_path, cortex
):
    other = tmp_path / "other.json"
    other.write_text("{}")
    if content is None:
        settings.symlink_to(other)
    else:
        settings.write_text(content)
    done = cortex("init", "--obsidian", cwd=tmp_path / "notes")
    assert done.returncode == 2
    assert why in done.stderr
    assert "cortex init" in done.stderr
    assert not (tmp_path / "notes/cortex.toml").exists()
    assert (settings.read_text(), other.read_text()) == (content or "{}", "{}")
    assert cortex("init", cwd=tmp_path / "notes").returncode == 0


def test_without_obsidian_the_option_says_so(tmp_path, cortex):
    done = cortex("init", "--obsidian", cwd=tmp_path)
    assert (done.returncode, "there is no .obsidian" in done.stderr) == (2, True)


def test_a_person_at_a_terminal_is_asked(settings, terminal):
    notes = str(settings.parent.parent)
    assert "out of its search and graph? [Y/n]" in terminal("init", notes, said="n\n")
    assert not settings.exists()
    terminal("init", notes, said="\n")  # a mere return
    assert "events/" in settings.read_text()
    assert "[Y/n]" not in terminal("init", notes, said="y\n")
