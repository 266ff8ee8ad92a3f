"""`cortex new`: templates of the vault's own, the note of a day, and the editor on a terminal."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import CortexError, InvalidInputError
from cortex.core.notes import note as notes
from cortex.operations.care.init import init
from cortex.operations.find.actions import actions
from cortex.operations.find.search import search
from cortex.operations.records.new import new
from cortex.vault import user_folders, zones
from cortex.vault.locate import Vault


def caller(root: Path, now: str = "2026-11-20T23:30:00Z") -> Caller:
    return Caller(str(root), now, lambda n: b"\1" * n, "test", no_progress, zone=zones.local())


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    root = tmp_path / "shop"
    root.mkdir()
    yield Vault(init(caller(root), str(root)).root)
    monkeypatch.undo()
    time.tzset()


def write(vault: Vault, path: str, data: str | bytes) -> None:
    file = Path(vault.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data if isinstance(data, bytes) else data.encode())


def daily(vault: Vault, **given: object):
    return new(vault, caller(Path(vault.root)), "daily", **given)


def test_a_template_of_the_vault_goes_before_that_of_the_package(vault):
    write(vault, "templates/decision.md", "**Asked by.** {{ cursor }}\n\n{{title}}, {{project}}, {{date:DD.MM.YYYY}} {{time}}\n- [ ] tell support\n")  # fmt: skip
    made = new(vault, caller(Path(vault.root)), "decision", "Publish by link", project="shop")
    text = Path(made.file).read_text()
    assert "**Asked by.** \n\nPublish by link, shop, 20.11.2026 23:30" in text
    assert notes.read(text.encode()).title == "Publish by link"
    made = new(vault, caller(Path(vault.root)), "gotcha", "A slip")
    assert "Asked by" not in Path(made.file).read_text()
    hits = actions(vault, caller(Path(vault.root))).hits
    assert not any(hit.path.startswith("templates/") for hit in hits)  # a template has no tasks


def test_the_properties_of_a_template_stand_beside_the_note_s_own(vault):
    write(
        vault,
        "templates/decision.md",
        "---\r\nid: mine\r\ntype: choice\r\ntitle: {{title}}\r\ncreated: {{date}}\r\nupdated:\r\ntags:\r\n"
        '  - stack\r\naliases: ["ADR {{title}}"]\r\nstatus: proposed\r\n# theirs\r\ndecider:\r\n---\r\n'
        "# {{title}}\r\n\r\nLearned: it runs.\r\n",
    )
    made = new(vault, caller(Path(vault.root)), "decision", "Why: use Y", tags=("db",))
    text = Path(made.file).read_text()
    note = notes.read(text.encode(), made.path)
    assert not note.problems
    assert (note.get("id"), note.get("type"), note.title) == (made.id, "decision", "Why: use Y")
    assert (note.get("created"), note.updated) == ("2026-11-20T23:30:00Z",) * 2
    assert (note.get("status"), note.fields["decider"]) == ("proposed", None)
    assert note.get_list("tags") == ("db", "stack")
    assert note.get_list("aliases") == ("ADR Why: use Y",)
    assert note.text == "\n# Why: use Y\n\nLearned: it runs.\n"
    hits = search(vault, caller(Path(vault.root)), "runs").hits
    (hit,) = (hit for hit in hits if hit.path == made.path)
    assert "type:" not in hit.snippet
    made = new(vault, caller(Path(vault.root)), "decision", "Without", body="---\na: b\n---\nx")
    assert "\n---\na: b\n---\nx" in Path(made.file).read_text()


@pytest.mark.parametrize(
    ("data", "told"),
    [("---\na: [\n---\n", "templates/decision.md:3: the frontmatter cannot be read"), ("{{foo}}", "templates/decision.md: {{foo}} is unknown"), ("{{title:YYYY}}", "{{title:YYYY}}"), ("{{date:gggg}}", "{{date:gggg}}"), ("{{}}", "{{}}"), (b"\xff", "templates/decision.md cannot be read")],
)  # fmt: skip
def test_a_template_that_cannot_be_filled_is_named_and_nothing_is_made(data, told, vault):
    write(vault, "templates/decision.md", data)
    with pytest.raises(InvalidInputError) as error:
        new(vault, caller(Path(vault.root)), "decision", "Foo")
    assert told in error.value.message
    assert not list(Path(vault.root).glob("records/**/*.md"))
    new(vault, caller(Path(vault.root)), "decision", "Foo", body="with a text")  # needs none


def test_a_template_leads_nowhere_else(vault, tmp_path):
    (tmp_path / "secret.md").write_text("secret")
    (Path(vault.root) / "templates").mkdir()
    (Path(vault.root) / "templates" / "decision.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises((CortexError, OSError)):
        new(vault, caller(Path(vault.root)), "decision", "Foo")


def test_the_note_of_a_day_is_made_once_and_never_written_over(vault, monkeypatch):
    made = daily(vault)
    assert (made.path, made.outcome) == ("daily/2026-11-20.md", "created")
    Path(made.file).write_text("mine")
    made = daily(vault)
    assert (made.outcome, Path(made.file).read_text()) == ("exists", "mine")
    monkeypatch.setenv("TZ", "Asia/Tokyo")  # where it is the next day already
    time.tzset()
    assert daily(vault).path == "daily/2026-11-21.md"
    with pytest.raises(InvalidInputError, match="by its day alone"):
        daily(vault, title="Foo")


def test_a_setting_and_a_template_of_the_vault_s_own_say_where_it_lies_and_how_it_begins(vault):
    write(vault, "templates/daily.md", "# {{title}}\n")
    with Path(vault.root, "cortex.toml").open("a") as file:
        file.write('\n[notes]\ndaily = "days/{date} log"\n')
    write(vault, ".obsidian/daily-notes.json", json.dumps({"folder": "Journal"}))
    made = daily(vault)
    assert (made.path, Path(made.file).read_text()) == (
        "days/2026-11-20 log.md",
        "# 2026-11-20 log\n",
    )


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"folder": "Journal/", "format": "YYYY/MM/YYYY-MM-DD dddd"}, "Journal/2026/11/2026-11-20 Friday.md"),
        ({"format": "YY.MMM.DD ddd"}, "26.Nov.20 Fri.md"),
        ({"folder": "Days", "format": "", "autorun": True}, "Days/2026-11-20.md"),
        ({}, "2026-11-20.md"),
    ],
)  # fmt: skip
def test_obsidian_s_settings_are_followed(settings, path, vault):
    write(vault, ".obsidian/daily-notes.json", json.dumps(settings))
    assert daily(vault).path == path


def test_obsidian_s_template_is_taken(vault):
    said = {"folder": "Days", "template": "Templates/Day"}
    write(vault, ".obsidian/daily-notes.json", json.dumps(said))
    with pytest.raises(CortexError, match=r"Templates/Day\.md"):
        daily(vault)
    write(vault, "Templates/Day.md", "{{date:dddd}} {{title}}\n")
    assert Path(daily(vault).file).read_text() == "Friday 2026-11-20\n"


@pytest.mark.parametrize(
    "text",
    ["[", "[1]", '"a"', "3", '{"format": "gggg-[W]ww"}', '{"format": "Do"}', '{"folder": "../up"}', '{"folder": "/etc"}'],
)  # fmt: skip
def test_obsidian_s_settings_that_are_not_simple_are_refused(text, vault):
    write(vault, ".obsidian/daily-notes.json", text)
    if text.startswith('{"folder": "/'):  # below the vault: Obsidian means it so
        assert daily(vault).path == "etc/2026-11-20.md"
        return
    with pytest.raises(CortexError):
        daily(vault)


@pytest.fixture
def editor(tmp_path: Path) -> str:
    """An editor that writes what is in a file, if it is there, and notes what it was given."""
    program = tmp_path / "an-editor"
    program.write_text(
        f'#!/bin/sh\nprintf "%s" "$1" > {tmp_path}/given\n'
        f'[ ! -f {tmp_path}/typed ] || cat {tmp_path}/typed >> "$1"\n'
    )
    program.chmod(0o755)
    return str(program)


def test_capture_without_a_text_opens_the_editor_on_a_terminal(vault_from, terminal, editor, tmp_path):  # fmt: skip
    vault = vault_from("=== a.md\nzebra\n")
    told = terminal("capture", rows=24, EDITOR=editor)
    assert "nothing was written, so nothing is captured" in told
    (tmp_path / "typed").write_text("Decision: keep carts for a day\n")
    told = terminal("capture", "--type", "wrong", rows=24, EDITOR=editor)
    assert "unknown type" in told
    (tmp_path / "typed").unlink()
    draft = Path(user_folders.user_folder("state"), "capture.md")
    assert (draft.stat().st_mode & 0o77, draft.read_text()) == (0, "Decision: keep carts for a day\n")  # fmt: skip
    terminal("capture", rows=24, EDITOR=editor)  # which finds the text of before
    (made,) = Path(vault.root).glob("records/decision/*.md")
    assert "keep carts for a day" in made.read_text().lower()
    assert draft.read_text() == ""
    assert "there is nothing to capture" in terminal("capture", rows=24, EDITOR="", VISUAL="")
    for words in (("capture",), ("new", "decision", "Never made"), ("new", "daily")):
        told = terminal(*words, rows=24, EDITOR="vi", VISUAL="nope-ed -w")
        assert "$VISUAL names no program: nope-ed" in told
        assert "export VISUAL=nano" in told
    assert not list(Path(vault.root).rglob("never-made*"))
    assert not Path(vault.root, "daily").exists()


def test_new_without_a_text_opens_the_editor_on_a_terminal_alone(vault_from, terminal, cortex, editor, tmp_path, monkeypatch):  # fmt: skip
    vault_from("=== a.md\nzebra\n")
    told = terminal("new", "decision", "Publish by link", rows=24, EDITOR=editor)
    assert (tmp_path / "given").read_text() == told.strip()
    (tmp_path / "given").unlink()
    terminal("new", "note", "Said", "--body", "all of it", rows=24, EDITOR=editor)
    monkeypatch.setenv("EDITOR", editor)
    assert cortex("new", "daily").returncode == 0
    assert cortex("capture").returncode == 2
    assert not (tmp_path / "given").exists()
