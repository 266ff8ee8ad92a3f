"""`[sync] obsidian = true` takes `.obsidian` along, but for what is one machine's and what may hold keys; by default it stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.operations.test_people_notes import sync_at_once
from tests.operations.test_sync import Clone, pair

KEY = "AKIA" + "IOSFODNN7EXAMPLF"
SHARED = {
    ".obsidian/app.json": '{"alwaysUpdateLinks": true}',
    ".obsidian/plugins/tasks/main.js": "module.exports = 1;\n",
    ".obsidian/plugins/tasks/manifest.json": "{}",
    ".obsidian/snippets/wide.css": "body {}\n",
    ".obsidian/themes/Calm/theme.css": "body {}\n",
}
LEFT = {
    ".obsidian/workspace.json": "{}",
    ".obsidian/workspace-mobile.json": "{}",
    ".obsidian/workspaces.json": "{}",
    ".obsidian/cache/x.json": "{}",
    ".obsidian/plugins/tasks/data.json": '{"account": "ana"}',
    ".obsidian/.DS_Store": "x",
    ".trash/old.md": "old\n",
    "sub/.obsidian/app.json": "{}",
}


@pytest.fixture
def a(tmp_path: Path, copied: Callable[..., None]) -> Clone:
    copied(pair, tmp_path, "remote.git", "a", "b")
    one = Clone(str(tmp_path / "a"))
    for path, text in {**SHARED, **LEFT}.items():
        one.write(path, text)
    return one


def switch_on(one: Clone) -> None:
    one.write("cortex.toml", one.read("cortex.toml") + "\n[sync]\nobsidian = true\n")


def test_by_default_it_stays(a):
    done = sync_at_once(a)
    assert {".obsidian/", ".trash/", "sub/"} <= {*done.left_because["hidden"]}
    assert not [path for path in a.git("ls-files").split() if ".obsidian" in path]


def test_it_goes_along_where_the_setting_says_so(a, tmp_path):
    switch_on(a)
    done = sync_at_once(a)
    assert "cortex: settings" in done.commits
    b = Clone(str(tmp_path / "b"))
    b.synced()
    assert {path: b.read(path) for path in SHARED} == SHARED
    assert not [path for path in LEFT if Path(b.root, path).exists()]
    why = {path: reason for reason, paths in done.left_because.items() for path in paths}
    assert "may hold keys" in why[".obsidian/plugins/tasks/data.json"]
    assert "of one machine" in why[".obsidian/workspace.json"]
    b.remove(".obsidian/snippets/wide.css")
    b.write(".obsidian/app.json", "{}")
    sync_at_once(b)
    sync_at_once(a)
    assert a.read(".obsidian/app.json") == "{}"
    assert not Path(a.root, ".obsidian/snippets/wide.css").exists()


def test_a_secret_and_conflict_markers_there_are_held_back(a):
    switch_on(a)
    a.write(".obsidian/plugins/ai/keys.json", f'{{"key": "{KEY}"}}')
    a.write(".obsidian/app.json", "{\n<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n}\n")
    done = sync_at_once(a)
    assert [one.where for one in done.held] == [".obsidian/plugins/ai/keys.json"]
    (torn,) = (paths for reason, paths in done.left_because.items() if "markers" in reason)
    assert torn == (".obsidian/app.json",)
    assert ".obsidian/plugins/tasks/main.js" in a.git("ls-files")


def test_people_who_keep_their_notes_keep_it_too(a):
    switch_on(a)
    done = sync_at_once(a, only_records=True)
    assert ".obsidian/" in done.left_because["yours to commit: --only-records"]
