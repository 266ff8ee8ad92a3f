"""Capture: what is acknowledged, what never reaches the disk, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError
from cortex.core.notes import note as notes
from cortex.operations.capture.capture import capture

AWS = "AKIA" + "ABCDEFGH23456789"


def test_the_id_alone_is_printed_and_the_event_is_whole(cortex, vault) -> None:
    words = (
        "--tags", "storage,area/db", "--session", "s 1", "--project", "p", "--branch", "feat/x",
    )  # fmt: skip
    done = cortex("capture", "Decision: use SQLite", *words)
    assert (done.returncode, done.stderr) == (0, "")
    id_ = done.stdout.strip()
    text = Path(vault.root, f"inbox/pending/{id_}.md").read_text()
    assert text == (
        f"---\nid: {id_}\ntype: manual\nat: {notes.read(text.encode()).get('at')}\nsession: s 1\nproject: p\nbranch: feat/x\n"
        "tags: [storage, area/db]\nsource: cli\n---\n\n## Raw Content\n\nDecision: use SQLite\n"
    )


def test_words_need_no_quotes_and_json_gives_id_and_path(cortex) -> None:
    answer = json.loads(cortex("capture", "use", "SQLite", "--json").stdout)
    assert answer["path"] == f"inbox/pending/{answer['id']}.md"


def test_standard_input_by_a_dash_with_its_line_ends_made_plain(cortex, vault) -> None:
    id_ = cortex("capture", "-", stdin="one\r\ntwo\r").stdout.strip()
    assert Path(vault.root, f"inbox/pending/{id_}.md").read_bytes().endswith(b"one\ntwo\n\n")


def test_secrets_and_private_text_never_reach_the_disk(vault, caller) -> None:
    text = f"key {AWS} and <private>my salary</private> and postgres://me:hunter2@db/x"
    captured = capture(vault, caller, text, session=f"s {AWS}", branch=f"b-{AWS}")
    written = Path(vault.root, captured.path).read_text()
    for secret in (AWS, "salary", "hunter2"):
        assert secret not in written
    assert written.count("[REDACTED:aws-key]") == 3


@pytest.mark.parametrize("verb", ["capture", "save", "new", "passive"])
def test_a_secret_in_the_name_of_a_branch_never_reaches_the_disk(
    cortex, vault, tmp_path, git, verb
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", f"feat/{AWS}")
    words = {
        "capture": ["Decision: use SQLite"],
        "save": ["Use SQLite"],
        "new": ["decision", "Use SQLite"],
        "passive": ["## Key Learnings\n\n1. The cache is keyed by the path of its file"],
    }
    assert cortex(verb, *words[verb], cwd=str(work)).returncode == 0
    written = [path.read_text() for path in Path(vault.root).rglob("*.md")]
    assert any("feat/[REDACTED:aws-key]" in text for text in written)
    assert not any(AWS in text for text in written)


@pytest.mark.parametrize(("options", "message"), [
    ({"text": ""}, "nothing to capture"),
    ({"text": "  \n"}, "nothing to capture"),
    ({"text": "x", "type": "party"}, "unknown event type 'party'"),
    ({"text": " ", "type": "prompt"}, "nothing to capture"),
    ({"text": "x" * 1_000_001}, "1,000,001 bytes"),
    ({"text": "x", "project": "../../etc"}, "not a project name"),
    ({"text": "x", "project": "-rf"}, "not a project name"),
    ({"text": "x", "tags": ("two words",)}, "not a tag"),
    ({"text": "x", "id": "../../etc/passwd"}, "not an event id"),
    ({"text": "x", "id": "99999999t999999z-aaaaaaaaaa"}, "not an event id"),
    ({"text": "x", "id": "20260230t101010z-aaaaaaaaaa"}, "not an event id"),
    ({"text": "x", "id": "20251301t101010z-aaaaaaaaaa"}, "not an event id"),
])  # fmt: skip
def test_what_cannot_be_captured_is_refused_with_a_way_on_and_nothing_is_written(
    vault, caller, options, message
) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        capture(vault, caller, **options)
    assert refused.value.hint
    assert not list(Path(vault.root, "inbox/pending").iterdir())


@pytest.mark.parametrize(("url", "project"), [
    ("https://bob:tok3n@host/", "work-"),
    ("https://bob:tok3n@host/team/Shop.git", "shop"),
    ("git@host:team/shop.git", "shop"),
    ("ssh://git@host:2222/shop", "shop"),
    ("/srv/git/shop.git/", "shop"),
])  # fmt: skip
def test_the_project_is_the_remotes_name_and_never_its_password(
    vault, caller, git, tmp_path, url, project
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    git(work, "remote", "add", "origin", url)
    written = Path(vault.root, capture(vault, caller._replace(cwd=str(work)), "x").path).read_text()
    assert f"\nproject: {project}" in written
    assert "tok3n" not in written
    assert "\nbranch: main\n" in written


def test_the_same_id_again_is_the_same_event_wherever_it_is_by_now(vault, caller, cortex) -> None:
    id_ = "20261120t164512z-abcdefghij"
    first = capture(vault, caller, "Decision: x", id=id_)
    assert capture(vault, caller, "Decision: x", id=id_) == first
    with pytest.raises(ConflictError, match="other content"):
        capture(vault, caller, "Decision: y", id=id_)
    assert cortex("normalize").returncode == 0
    assert capture(vault, caller, "Decision: x", id=id_).path == f"events/2026/11/{id_}.md"
    assert not list(Path(vault.root, "inbox/pending").iterdir())


def test_an_id_that_is_taken_is_never_overwritten(vault, caller) -> None:
    first = capture(vault, caller, "first")
    stuck = caller._replace(
        random=lambda size, n=iter([b"\1".rjust(7, b"\0")] * 2 + [b"\7" * 7]): next(n)
    )
    second = capture(vault, stuck, "second")
    assert first.id != second.id
    assert "first" in Path(vault.root, first.path).read_text()


def test_no_space_left_is_a_clear_error(vault, caller, monkeypatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cortex.vault.files.os.write", full)
    with pytest.raises(CortexError, match="nothing was captured: No space left"):
        capture(vault, caller, "x")
    monkeypatch.undo()
    assert not list(Path(vault.root, "inbox/pending").iterdir())


def test_a_linked_inbox_is_not_written_through(vault, caller, tmp_path) -> None:
    pending = Path(vault.root, "inbox/pending")
    pending.rmdir()
    pending.symlink_to(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CortexError, match="link"):
        capture(vault, caller, "x")
    assert sorted(tmp_path.iterdir()) == before


def test_files_are_private(vault, caller) -> None:
    captured = capture(vault, caller, "x")
    assert Path(vault.root, captured.path).stat().st_mode & 0o777 == 0o600
