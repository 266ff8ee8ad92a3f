"""The other verbs: init, new, show, status, doctor, retry, and how they answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model.problem import ConflictError, NotFoundError
from cortex.core.notes import note as notes
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.care.status import status
from cortex.operations.find.show import show
from tests.conftest import commit_all


def test_init_adds_its_files_and_a_second_time_nothing(tmp_path, caller):
    assert init(caller, str(tmp_path / "v")).added == (
        "cortex.toml",
        ".gitattributes",
        "views/",
        ".cortex-project",
    )
    before = {path: path.read_bytes() for path in (tmp_path / "v").rglob("*") if path.is_file()}
    assert init(caller, str(tmp_path / "v")).added == ()
    assert {
        path: path.read_bytes() for path in (tmp_path / "v").rglob("*") if path.is_file()
    } == before


def test_adopting_a_vault_shows_git_only_what_init_added(tmp_path, cortex, git):
    old = tmp_path / "old"
    (old / ".obsidian").mkdir(parents=True)
    (old / ".obsidian/app.json").write_text("{}")
    (old / "crlf.md").write_bytes(b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\nzebra\r\n")
    (old / "broken.md").write_text("---\na: b: c\n---\ngiraffe\n")
    (old / ".gitattributes").write_text("*.png binary\n")
    commit_all(old, "mine")
    for words in (["init"], ["search", "zebra"], ["search", "giraffe"], ["status"], ["doctor"]):
        cortex(*words, cwd=str(old))
    assert git(old, "status", "--porcelain") == "?? .cortex-project\n?? cortex.toml\n?? cortex/\n"


def test_the_default_vault_is_used_where_there_is_no_other(tmp_path, tmp_path_factory, cortex):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    lost = cortex("status", cwd=str(elsewhere))
    assert (lost.returncode, "cortex init" in lost.stderr) == (2, True)
    assert cortex("init", str(tmp_path / "mine"), "--default", cwd=str(elsewhere)).returncode == 0
    assert str(tmp_path / "mine") in cortex("status", cwd=str(elsewhere)).stdout


@pytest.mark.parametrize("how", ["option", "environment", "above", "vault below", "beside"])
def test_the_vault_is_found(tmp_path, caller, monkeypatch, how):
    root = tmp_path / "project" / ("vault" if how in ("vault below", "beside") else "")
    init(caller, str(root))
    inner = tmp_path / "project" / "src" / "deep"
    inner.mkdir(parents=True)
    where = {
        "option": tmp_path,
        "environment": tmp_path,
        "above": inner,
        "vault below": inner,
        "beside": tmp_path / "project",
    }[how]
    words = ["--vault", str(root)] if how == "option" else []
    environment = os.environ | ({"CORTEX_VAULT": str(root)} if how == "environment" else {})
    for line in ([*words, "status", "--json"], ["status", "--json", *words]):
        done = subprocess.run(
            [sys.executable, "-m", "cortex", *line],
            cwd=where,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout)["vault"] == str(root).rstrip("/")


def test_a_path_that_is_no_vault_says_what_makes_it_one(cortex, tmp_path):
    done = cortex("--vault", str(tmp_path), "search", "x")
    assert (done.returncode, f"cortex init {tmp_path}" in done.stderr) == (2, True)
    assert "no folder" in cortex("--vault", str(tmp_path / "nowhere"), "status").stderr


def test_new_begins_a_record_from_its_template(cortex, vault):
    path = cortex(
        "new", "decision", "Keep it in SQLite", "--tags", "storage", "--project", "p"
    ).stdout.strip()
    note = notes.read_strict(Path(path).read_bytes(), path)
    assert (note.title, note.get("status"), note.get_list("tags")) == (
        "Keep it in SQLite",
        "",
        ("storage",),
    )
    assert "**Rejected.**" in note.text
    assert "{{" not in note.text
    assert cortex("search", "type:decision sqlite").returncode == 0
    body = cortex("new", "gotcha", "x", "--body", "-", stdin="my own words").stdout.strip()
    assert Path(body).read_text().endswith("my own words\n")
    assert (
        "/records/rejection/"
        in cortex("new", "rejected", "x", "--body", "-", stdin="no daemon").stdout
    )
    assert "use one of" in cortex("new", "party", "x").stderr


@pytest.mark.parametrize("words", [
    ["show", b"\xff"],
    ["search", b"type:\xff"],
    ["capture", b"a \xff"],
    ["new", "note", b"t \xff"],
    ["show", "x" * 60_000],
    ["search", "after:9999y"],
])  # fmt: skip
def test_words_that_are_no_text_are_no_traceback(vault, words):
    done = subprocess.run(
        [sys.executable, "-m", "cortex", *words], cwd=vault.root, capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)


def test_a_folder_with_an_odd_name_is_a_vault_like_any_other(tmp_path):
    for name in (b"d\xff", b"n" * 250):
        root = os.path.join(os.fsencode(tmp_path), name)
        for words in (["init", root, "--default"], ["capture", "Decision: zebra", "--vault", root], ["search", "zebra", "--vault", root]):  # fmt: skip
            done = subprocess.run(
                [sys.executable, "-m", "cortex", *words],
                cwd=tmp_path,
                capture_output=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr


def test_too_much_on_standard_input_is_refused_whole(cortex, vault):
    done = cortex("new", "note", "x", "--body", "-", stdin="a" * 4_000_001)
    assert (done.returncode, "4,000,000 bytes" in done.stderr) == (2, True)
    assert not list(Path(vault.root, "records").rglob("*.md"))


def test_an_id_given_again_for_another_text_is_a_conflict_even_when_the_one_holds_the_other(cortex):
    id_ = "20261120t164512z-abcdefghij"
    assert cortex("capture", "a\n\n## Raw Content\n\nfoo", "--id", id_).returncode == 0
    assert cortex("capture", "foo", "--id", id_).returncode == 2


def test_show_takes_an_id_its_beginning_a_path_and_a_path_with_a_line(vault_from, caller, cortex):
    vault = vault_from(
        "=== records/note/x-abcdef.md\n---\nid: x-abcdef\ntitle: X\n---\nhello\n=== Plain Note.md\nhi\n"
    )
    for name in ("x-abcdef", "x-ab", "records/note/x-abcdef.md", "records/note/x-abcdef.md:5", "records/note/x-abcdef", "./records/note/x-abcdef.md"):  # fmt: skip
        assert show(vault, caller, name).text.endswith("hello\n")
    assert cortex("show", "Plain", "Note").stdout == "hi\n"
    with pytest.raises(NotFoundError):
        show(vault, caller, "y")
    with pytest.raises(NotFoundError):
        show(vault, caller, "../../../etc/passwd")


def test_an_id_that_two_notes_have_is_named_by_doctor_and_asked_about_by_show(vault_from, caller):
    vault = vault_from("=== a.md\n---\nid: same\n---\n=== b.md\n---\nid: same\n---\n")
    assert any("id 'same' of a.md" in problem.message for problem in doctor(vault, caller).problems)
    with pytest.raises(ConflictError, match=r"a\.md, b\.md"):
        show(vault, caller, "same")


def test_doctor_of_a_sound_vault_finds_nothing_and_of_a_sick_one_each_thing(vault_from, cortex):
    assert cortex("doctor").returncode == 0
    vault_from(
        "=== a.md\n---\nt: [x\n---\n=== b.md\ntext\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> other\n=== c.md\n---\ntitle: x\nno end\n"
    )
    done = cortex("doctor", "--json")
    found = {problem["where"]: problem for problem in json.loads(done.stdout)["problems"]}
    assert done.returncode == 1
    assert set(found) == {"a.md:3", "b.md:2", "c.md:1"}
    assert all(problem["hint"] for problem in found.values())


def test_doctor_names_what_git_could_not_merge(vault_from, cortex, git):
    vault = vault_from("=== a.md\none\n")
    git(vault.root, "init", "-q")
    for branch, text in (("main", "one"), ("left", "two"), ("main", "three")):
        git(
            vault.root,
            "checkout",
            "-q",
            *(
                []
                if branch == "main" and text == "one"
                else ["-b", branch]
                if branch == "left"
                else [branch]
            ),
        ) if text != "one" else None
        Path(vault.root, "a.md").write_text(text)
        commit_all(vault.root, text)
    subprocess.run(["git", "merge", "left"], cwd=vault.root, capture_output=True, check=False)
    assert "a.md: git could not merge it" in cortex("doctor").stdout


def test_status_counts(cortex, vault, caller):
    cortex("capture", "Decision: x", "--project", "p")
    cortex("capture", "TODO: y", "--project", "p")
    cortex("capture", "--type", "stop", "--session", "s", "done for today")
    cortex("capture", "--type", "pre_compact", "--session", "t", "so far")
    assert json.loads(cortex("status", "--json").stdout)["pending"] == 4
    cortex("normalize")
    now = status(vault, caller)
    assert (now.pending, now.open_actions, now.sessions, now.types["decision"]) == (0, 1, 1, 1)


def test_what_normalize_would_do(cortex, vault):
    cortex("capture", "Decision: x")
    done = cortex("normalize", "--dry-run")
    assert "would be made: records/decision/x-" in done.stdout
    assert not Path(vault.root, "records/decision").exists()
    assert len(list(Path(vault.root, "inbox/pending").iterdir())) == 1


def test_two_clones_that_normalize_the_same_events_are_equal(cortex, vault, git, tmp_path):
    git(vault.root, "init", "-q")
    minutes = "# Review\n\n## Decisions\n\n- Use links\n\n## Actions\n\n- [ ] Ada: test it (due 2026-12-01)\n"
    for words in (
        ["Decision: a"],
        ["Decision: A"],
        ["--type", "stop", "--session", "s", "one"],
        ["--type", "stop", "--session", "s", "two"],
        ["--type", "meeting", minutes],
    ):
        cortex("capture", *words)
    commit_all(vault.root, "captured")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", vault.root, str(clone))

    def contents(root: str) -> dict[str, bytes]:
        return {str(path.relative_to(root)): path.read_bytes() for path in Path(root).rglob("*.md")}

    for root in (vault.root, str(clone)):
        assert cortex("normalize", cwd=root).returncode == 0
    assert contents(vault.root) == contents(str(clone))
    assert len([path for path in contents(vault.root) if path.startswith("events/")]) == 5
    before = contents(vault.root)
    assert cortex("normalize").returncode == 0
    assert contents(vault.root) == before
