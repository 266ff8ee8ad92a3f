"""A vault of format 2 as a person meets it: few flat properties, boxes on pages, views, one folder beside notes; and the way there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cortex.core.notes import note as notes

Command = Callable[..., subprocess.CompletedProcess[str]]
MINUTES = (
    "# Boiler room, 3 November 2026\n\nPresent: Ada, Ben\n\n## Decisions\n- We keep the old pump\n\n"
    "## Action items\n- [ ] Ada: order the valves by 2026-11-06\n- [ ] Ben: sweep the floor\n"
)


@pytest.fixture
def made(tmp_path: Path, cortex: Command, git: Callable[..., str]) -> Path:
    """A vault with what came of minutes, a turn, a save and a capture, at its root."""
    root = tmp_path / "club"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    assert cortex("init", cwd=root).returncode == 0
    assert cortex("capture", "--type", "meeting", MINUTES, cwd=root).returncode == 0
    cortex(
        "save", "Use SQLite", "--type", "decision", "--why", "one file", "--tags", "db", cwd=root
    )
    cortex("capture", "Learned: glass melts slowly", cwd=root)
    cortex(
        "capture",
        "--type",
        "stop",
        "--session",
        "s1",
        "Done. Decision: ship on Friday, because it is quiet.",
        cwd=root,
    )
    assert cortex("normalize", cwd=root).returncode == 0
    assert cortex("heal", cwd=root).returncode == 0
    return root


def properties(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text().split("---\n")[1])


def records(root: Path) -> list[Path]:
    return sorted(Path(root, "records").rglob("*.md"))


def page(root: Path, name: str = "club/active-plan") -> Path:
    return Path(root, f"briefings/{name}.md")


def tick(path: Path, words: str, *, done: bool = True) -> None:
    old, new = ("[ ]", "[x]") if done else ("[x]", "[ ]")
    text = path.read_text()
    line = next(line for line in text.splitlines() if words in line)
    assert line.startswith(f"- {old} ")
    path.write_text(text.replace(line, line.replace(old, new, 1)))


def test_records_have_few_flat_properties_and_pages_no_comments(made):
    for path in [*records(made), *Path(made, "sessions").rglob("*.md")]:
        said = properties(path)
        values = [
            one
            for value in said.values()
            for one in (value if isinstance(value, list) else [value])
        ]
        assert not any(isinstance(value, (dict, list)) for value in values), path
        assert list(said)[-1] == "id"
        assert not {"project", "branch", "aliases"} & said.keys()
        if said["type"] not in ("meeting", "action", "session"):
            assert len(path.read_text().split("---\n")[1].splitlines()) <= 7, path
    assert not any("<!-- cx" in path.read_text() for path in Path(made, "briefings").rglob("*.md"))


def test_a_record_without_a_project_line_is_of_the_project_of_the_vault(made, cortex):
    assert "Use SQLite" in cortex("search", "project:club", "type:decision", cwd=made).stdout
    assert "Use SQLite" in cortex("search", "branch:main", "sqlite", cwd=made).stdout
    assert page(made, "club/main").exists()
    elsewhere = cortex(
        "save", "Dig a well", "--type", "decision", "--project", "farm", "--json", cwd=made
    )
    assert '"farm' in cortex("search", "--json", "project:farm", cwd=made).stdout
    assert elsewhere.returncode == 0


def test_a_box_that_is_ticked_on_a_page_does_the_action_and_ticks_its_minutes(made, cortex):
    tick(page(made), "Order the valves")
    assert "valves" not in cortex("actions", cwd=made).stdout
    action = next(path for path in records(made) if "order-the-valves" in path.name)
    assert properties(action)["status"] == "done"
    (meeting,) = Path(made, "records/meeting").glob("*.md")
    assert "- [x] Ada: order the valves" in meeting.read_text()
    assert "- [ ] Ben: sweep" in meeting.read_text()
    text = page(made).read_text()
    assert "- [x] " in text.partition("## Done")[2]
    assert cortex("heal", "--check", cwd=made).returncode == 0
    tick(page(made), "Order the valves", done=False)
    assert "valves" in cortex("actions", cwd=made).stdout
    assert "- [ ] Ada: order the valves" in meeting.read_text()


def test_a_tick_on_the_dashboard_with_what_the_plugin_adds_counts_too(made, cortex):
    tick(page(made, "index"), "Sweep the floor")
    path = page(made, "index")
    path.write_text(
        re.sub(r"(\[x\].*) (\^\S+)$", r"\1 ✅ 2026-11-04 \2", path.read_text(), flags=re.MULTILINE)
    )
    assert "loor" not in cortex("actions", cwd=made).stdout


def test_a_page_from_before_a_reopening_ticks_nothing(made, cortex):
    tick(page(made), "Order the valves")
    cortex("heal", cwd=made)
    done = page(made).read_text()
    action = next(path.stem for path in records(made) if "order-the-valves" in path.name)
    assert cortex("revise", action, "--status", "open", cwd=made).returncode == 0
    page(made).write_text(done)  # as a merge may bring it
    assert "valves" in cortex("actions", cwd=made).stdout


def test_a_step_of_a_plan_is_ticked_in_its_record(made, cortex):
    cortex("save", "Move house", "--type", "plan", "--body=- [ ] pack\n- [ ] drive", cwd=made)
    tick(page(made), "pack (")
    cortex("actions", cwd=made)
    (plan,) = (path for path in records(made) if "move-house" in path.name)
    assert "- [x] pack\n- [ ] drive" in plan.read_text()


def test_views_are_written_once(made, cortex):
    views = Path(made, "views")
    assert {path.stem for path in views.iterdir()} == {
        "Actions",
        "Decisions",
        "Meetings",
        "Sessions",
    }
    for path in views.iterdir():
        assert yaml.safe_load(path.read_text())["views"]
    views.joinpath("Actions.base").write_text("mine")
    views.joinpath("Sessions.base").unlink()
    assert cortex("init", cwd=made).returncode == 0
    cortex("sync", cwd=made)
    assert views.joinpath("Actions.base").read_text() == "mine"
    assert not views.joinpath("Sessions.base").exists()


def test_beside_notes_everything_is_below_one_folder(tmp_path, cortex):
    for name, more, folder in (
        ("a", (), "cortex"),
        ("b", ("--folder", "."), ""),
        ("c", ("--folder", "m"), "m"),
    ):
        root = tmp_path / name
        root.mkdir()
        root.joinpath("mine.md").write_text("# Mine\n")
        said = cortex("init", *more, cwd=root).stdout
        assert ("below cortex/" in said) == (name == "a")
        assert cortex("save", "Use SQLite", cwd=root).returncode == 0
        assert Path(root, folder, "records/note").is_dir()
    taken = tmp_path / "d"
    (taken / "cortex").mkdir(parents=True)
    taken.joinpath("mine.md").write_text("# Mine\n")
    assert "below cortex-memory/" in cortex("init", cwd=taken).stdout


def as_format_1(root: Path, cortex: Command) -> None:
    """The vault as a program of format 1 would have made it."""
    settings = root / "cortex.toml"
    text = re.sub(r"(?m)^project = .*\n", "", settings.read_text()).replace(
        "format = 2", "format = 1"
    )
    settings.write_text(text)
    for folder in ("records", "sessions", "briefings"):
        shutil.rmtree(root / folder, ignore_errors=True)
    for event in Path(root, "events").rglob("*.md"):
        event.rename(root / "inbox/pending" / event.name)
    assert cortex("normalize", cwd=root).returncode == 0
    assert cortex("heal", cwd=root).returncode == 0


def held(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_an_older_vault_goes_on_until_its_owner_asks_and_the_way_is_undone(made, cortex):
    as_format_1(made, cortex)
    before = held(made)
    assert any(b"provenance:" in data for data in before.values())
    for words in (
        ("search", "pump"),
        ("actions",),
        ("heal",),
        ("doctor",),
        ("upgrade", "--dry-run"),
    ):
        cortex(*words, cwd=made)
        assert held(made) == before, words
    done = cortex("upgrade", cwd=made)
    assert done.returncode == 0
    assert "format = 2" in (made / "cortex.toml").read_text()
    assert not any(b"provenance:" in path.read_bytes() for path in records(made))
    assert cortex("heal", "--check", cwd=made).returncode == 0
    upgraded = held(made)
    shutil.copytree(made, made.with_name("anew"))
    undo = next(line for line in done.stdout.splitlines() if "undo:" in line).partition("undo: ")[2]
    assert subprocess.run(undo, shell=True, check=False).returncode == 0
    cortex("heal", cwd=made)
    assert held(made) == before
    cortex("upgrade", cwd=made)
    assert held(made) == upgraded


def test_what_is_upgraded_is_what_a_new_vault_would_have(made, cortex):
    fresh = {path.name: path.read_bytes() for path in records(made)}
    as_format_1(made, cortex)
    cortex("upgrade", cwd=made)
    assert {path.name: path.read_bytes() for path in records(made)} == fresh


def test_one_clone_is_upgraded_while_another_works_on(made, cortex, git):
    as_format_1(made, cortex)
    git(made, "add", "-A")
    git(made, "commit", "-qm", "all")
    other = made.with_name("other")
    git(made.parent, "clone", "-q", str(made), str(other))
    cortex("git", "install", cwd=made)
    cortex("upgrade", cwd=made)
    git(made, "commit", "-qam", "upgraded")
    (sqlite,) = (path for path in records(other) if "use-sqlite" in path.name)
    sqlite.write_text(sqlite.read_text().replace("tags: [db]", "tags: [db, mine]"))
    git(other, "commit", "-qam", "tagged")
    git(made, "pull", "-q", "--no-rebase", "--no-edit", str(other), "main")
    note = notes.read_strict((made / sqlite.relative_to(other)).read_bytes(), "")
    assert note.is_flat
    assert note.get_list("tags") == ("db", "mine")
    assert not {"provenance", "aliases"} & note.fields.keys()


def test_a_newer_format_is_refused_with_what_helps(made, cortex):
    settings = made / "cortex.toml"
    settings.write_text(settings.read_text().replace("format = 2", "format = 3"))
    said = cortex("save", "Use Redis", cwd=made)
    assert said.returncode == 2
    assert "update cortex" in said.stderr


@pytest.mark.parametrize("to", ["jsonl", "okf", "basic-memory", "sqlite"])
def test_an_exported_record_keeps_its_project_in_a_vault_of_another(made, cortex, git, to):
    target = made.with_name(f"export-{to}")
    assert cortex("export", "--to", to, "-o", str(target), cwd=made).returncode == 0
    for name in ("club", "farm"):
        root = made.parent / to / name
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        cortex("init", cwd=root)
        assert cortex("import", "cortex-export", str(target), cwd=root).returncode == 0
        here = {path.name: path.read_bytes() for path in records(root)}
        there = {path.name: path.read_bytes() for path in records(made)}
        assert here.keys() == there.keys()
        assert (here == there) == (name == "club")
        assert "Use SQLite" in cortex("search", "project:club", "sqlite", cwd=root).stdout


def test_no_flat_record_comes_into_a_vault_of_format_1(made, cortex, tmp_path):
    cortex("export", "-o", str(tmp_path / "all.jsonl"), cwd=made)
    old = tmp_path / "old"
    cortex("init", str(old), cwd=tmp_path)
    as_format_1(old, cortex)
    done = cortex("import", str(tmp_path / "all.jsonl"), cwd=old)
    assert done.returncode == 2
    assert "cortex upgrade" in done.stdout + done.stderr
    assert records(old) == []


def test_doctor_names_two_projects_that_differ_by_a_sign(made, cortex):
    for name in ("my-app", "my_app"):
        cortex("save", f"Of {name}", "--project", name, cwd=made)
    assert "cortex project merge my" in cortex("doctor", cwd=made).stdout
