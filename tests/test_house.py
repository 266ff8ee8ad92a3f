"""The house rules that a machine can keep: sizes, words, and that this project's own vault is sound."""

from __future__ import annotations

import ast
import functools
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from cortex.core.model.event import EVENT_TYPES
from cortex.core.model.record import RECORD_TYPES
from cortex.core.normalize.handlers import HANDLERS
from cortex.core.notes import note as notes
from cortex.operations import VERBS

ROOT = Path(__file__).parent.parent
MODULES = sorted(ROOT.glob("cortex/**/*.py"))


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_a_module_says_what_it_is_for_and_its_functions_are_short() -> None:
    for path in MODULES:
        source, tree = path.read_text(), parse(path)
        assert ast.get_docstring(tree), path
        assert not re.search(r"^# ?[=-]{4,}", source, re.MULTILINE), path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, (path, node.name)


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 misses matches of such a group when there is a choice in it (gh-106052); `(?>(?:…)*)` says the same."""
    pattern = re.compile(r"[^\\]\)(?:[*+?]|\{[0-9,]+\})\+")
    assert [str(path) for path in MODULES if pattern.search(path.read_text())] == []


def test_no_two_rooms_import_each_other() -> None:
    """Local imports count too. import-linter forbids circles of what lies beside each other; this, that a folder and one
    within it need each other."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in MODULES
    }
    rooms = {name: path.parent for name, path in modules.items()}
    arrows = set()
    for name, path in modules.items():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Import):
                imported = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom):
                imported = [
                    full if (full := f"{node.module}.{one.name}") in modules else node.module or ""
                    for one in node.names
                ]
            else:
                continue
            arrows |= {(rooms[name], rooms[one]) for one in imported if one in rooms}
    assert len(arrows) > 100  # or the imports were read wrongly
    assert [pair for pair in arrows if pair[0] != pair[1] and pair[::-1] in arrows] == []


def test_no_class_name_stands_twice() -> None:
    names = [
        (node.name.lstrip("_"), str(path.relative_to(ROOT)))
        for path in MODULES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef)
    ]
    places: dict[str, list[str]] = {}
    for name, path in names:
        places.setdefault(name, []).append(path)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_a_room_has_at_most_twenty_modules() -> None:
    rooms = Counter(path.parent for path in MODULES)
    assert {str(room.relative_to(ROOT)): n for room, n in rooms.items() if n > 20 + 1} == {}, (
        "and __init__"
    )


SQL = re.compile(
    r"\b(?:SELECT|JOIN|(?:ORDER|GROUP) BY|FROM note|tier [<=]|IN \(\?)|\w (?:=|!=|<|>|<=|>=|LIKE) \?|CAST\(path"
)


def uses_sql(tree: ast.Module) -> bool:
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docstrings and SQL.search(node.value):
                return True
        elif isinstance(node, ast.Import):
            if any(name.name in ("sqlite3", "whoosh", "tantivy") for name in node.names):
                return True
        elif isinstance(node, ast.ImportFrom) and re.search(
            r"^(?:sqlite3|whoosh|tantivy|cortex\.index\.engines\.)", node.module or ""
        ):
            return True
    return False


def test_sql_and_engines_are_known_to_the_index_and_to_who_reads_foreign_databases() -> None:
    outside = {
        str(path.relative_to(ROOT / "cortex"))
        for path in MODULES
        if "cortex/index" not in path.as_posix() and uses_sql(parse(path))
    }
    assert outside == {"importers/database.py", "operations/exchange/export_database.py"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_stands_in_a_file_of_its_name_or_of_a_verb_that_it_is_like(verb) -> None:
    module, function = VERBS[verb]
    assert verb == function.rstrip("_").replace("_", "-")
    like = module.rpartition(".")[2].rstrip("_").replace("_", "-")
    assert VERBS[like] == (module, VERBS[like][1])


def test_every_event_type_has_a_handler_and_the_format_names_it() -> None:
    assert set(HANDLERS) == set(EVENT_TYPES)
    text = (ROOT / "docs/dev/format.md").read_text()
    for word in EVENT_TYPES:
        assert f"`{word}`" in text


def test_the_readme_uses_verbs_that_exist_and_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text()
    for verb in re.findall(r"^(?:\$ )?cortex ([a-z]+)", text, re.MULTILINE):
        assert verb in VERBS
    for path in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / path).exists(), path


def test_this_projects_vault_is_sound_and_explains_itself(tmp_path) -> None:
    vault = tmp_path / "vault"
    shutil.copytree(ROOT / "vault", vault)

    def cortex(*words: str):
        done = subprocess.run(
            [sys.executable, "-m", "cortex", "--vault", str(vault), *words, "--json"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        return json.loads(done.stdout)

    assert cortex("doctor")["problems"] == []
    assert cortex("heal", "--check")["stale"] == []
    assert cortex("normalize")["events"] == []
    counts = cortex("status")["types"]
    assert counts["decision"] + counts["gotcha"] >= 15
    assert cortex("search", "why not os.replace")["hits"][0]["type"] == "decision"
    events = {path.stem for path in vault.glob("events/**/*.md")}
    for record in vault.glob("records/**/*.md"):
        named = notes.read(record.read_bytes()).provenance()[0]
        assert named, record
        assert set(named) <= events, record
        assert record.parent.name in RECORD_TYPES


def test_this_projects_vault_is_what_its_events_say(tmp_path) -> None:
    """Take the records away and put the events back into the inbox: the same records come out. People may have edited
    theirs since, so the ids are what must agree. Minutes are understood better than when they were captured, and stay."""
    fresh = tmp_path / "vault"
    shutil.copytree(ROOT / "vault", fresh)
    shutil.rmtree(fresh / "records")
    shutil.rmtree(fresh / "sessions")
    (fresh / "inbox/pending").mkdir(parents=True, exist_ok=True)
    for event in fresh.glob("events/**/*.md"):
        if "\ntype: meeting\n" in event.read_text():
            continue
        event.rename(fresh / "inbox/pending" / event.name)
    subprocess.run(
        [sys.executable, "-m", "cortex", "--vault", str(fresh), "normalize"],
        check=True,
        capture_output=True,
    )

    def ids(root: Path) -> set[str]:
        return {
            re.search(r"^id: (\S+)$", path.read_text(), re.MULTILINE)[1]
            for folder in ("records", "sessions", "events")
            for path in (root / folder).rglob("*.md")
        }

    assert ids(fresh) <= ids(ROOT / "vault")
    assert not list((fresh / "inbox").rglob("*.md"))
