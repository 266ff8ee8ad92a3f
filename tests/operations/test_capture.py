"""Capture: what is acknowledged, what never reaches the disk, what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError
from cortex.core.notes import note as notes
from cortex.operations.records.capture import capture
from cortex.operations.records.revise import revise
from cortex.operations.records.save import save
from cortex.vault.git import checkout
from tests.conftest import caller_at

AWS = "AKIA" + "ABCDEFGH23456789"


def capture_and_tell(vault, caller, *words, **options):
    return capture(vault, caller._replace(wants_outcome=True), *words, **options)


def test_the_id_alone_is_printed_and_the_event_is_whole(cortex, vault) -> None:
    words = (
        "--tags", "storage,#area/db", "--session", "s 1", "--project", "p", "--branch", "feat/x",
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
    assert answer["path"].endswith(f"/{answer['id']}.md")
    assert [one["title"] for one in answer["records"]] == ["Use SQLite"]


def test_standard_input_by_a_dash_with_its_line_ends_made_plain(cortex, vault) -> None:
    id_ = cortex("capture", "-", stdin="one\r\ntwo\r").stdout.strip()
    assert Path(vault.root, f"inbox/pending/{id_}.md").read_bytes().endswith(b"one\ntwo\n\n")


def test_a_pipe_is_read_without_a_dash_but_not_for_a_text_that_is_given_or_needed_by_none(
    cortex, vault
) -> None:
    id_ = cortex("capture", "--tags", "a", stdin="piped\n").stdout.strip()
    assert Path(vault.root, f"inbox/pending/{id_}.md").read_text().endswith("\npiped\n\n")
    for words in (["given"], ["--content", "given"]):
        id_ = cortex("capture", *words, stdin="piped\n").stdout.strip()
        assert Path(vault.root, f"inbox/pending/{id_}.md").read_text().endswith("\ngiven\n")
    id_ = cortex("capture", "--type", "session_start", "--session", "s", stdin="piped").stdout
    assert "piped" not in Path(vault.root, f"inbox/pending/{id_.strip()}.md").read_text()
    assert "nothing to capture" in cortex("capture").stderr


def test_a_pipe_into_which_nobody_writes_is_not_waited_for(vault) -> None:
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "cortex", "capture"], stdin=reading, cwd=vault.root,
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
    finally:
        os.close(reading)
        os.close(writing)
    assert done.returncode == 2
    assert "pipe text into cortex capture -" in done.stderr


def test_codes_of_a_terminal_are_kept_nowhere(vault, caller, cortex) -> None:
    coloured = "\x1b[31mFAILED\x1b[0m tests\n\nDecision: use \x1b[1mred\x1b[0m, because N\bN ci"
    done = json.loads(cortex("capture", "-", "--json", stdin=coloured).stdout)
    saved = save(vault, caller, "use \x1b[1mtea\x1b[0m", why="\x1b]0;title\x07it is hot")
    revise(vault, caller, saved.id, title="Use \x1b[32mcoffee", body="\x1b[2Kcold")
    assert [one["title"] for one in done["records"]] == ["Use red"]
    assert "because N ci" in Path(vault.root, done["path"]).read_text()
    assert Path(vault.root, saved.path).read_text().endswith("\n# Use coffee\n\ncold\n")
    assert not [path for path in Path(vault.root).rglob("*.md") if "\x1b" in path.read_text()]


def test_secrets_and_private_text_never_reach_the_disk(vault, caller) -> None:
    text = f"key {AWS} and <private>my salary</private> and postgres://me:hunter2@db/x"
    captured = capture(vault, caller, text, session=f"s {AWS}", branch=f"b-{AWS}")
    written = Path(vault.root, captured.path).read_text()
    for secret in (AWS, "salary", "hunter2"):
        assert secret not in written
    assert written.count("[REDACTED:aws-key]") == 3
    told = capture_and_tell(vault, caller, f"the key of the shop is {AWS}")
    assert told.note == "1 secret was left out: aws-key"


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
    ({"text": "x", "type": "party"}, "unknown type 'party'"),
    ({"text": " ", "type": "prompt"}, "nothing to capture"),
    ({"text": "x" * 1_000_001}, "1,000,001 bytes"),
    ({"text": "x", "type": "decison"}, "unknown type 'decison'"),
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


@pytest.mark.parametrize(("word", "type_", "status"), [
    ("decision", "decision", ""), ("gotcha", "gotcha", ""), ("preference", "preference", ""), ("pattern", "pattern", ""),
    ("action", "action", "open"), ("Todo", "action", "open"), ("lesson", "learning", ""),
])  # fmt: skip
def test_a_capture_of_a_type_of_record_is_a_record_of_it(vault, caller, word, type_, status):
    answer = capture_and_tell(vault, caller, "Squash before merging", type=word)
    (made,) = answer.records
    assert (made.type, made.title, made.outcome) == (type_, "Squash before merging", "created")
    assert notes.read(Path(made.file).read_bytes()).get("status") == status
    assert "type: manual\n" in Path(answer.file).read_text()
    assert answer.path == f"events/2026/11/{answer.id}.md"


def test_a_stated_type_counts_more_than_what_the_words_say(vault, caller):
    (made,) = capture_and_tell(vault, caller, "Decision: use SQLite", type="gotcha").records
    assert (made.type, made.title) == ("gotcha", "Use SQLite")


def test_whoever_waits_is_told_what_came_of_it_and_a_pipe_gets_the_id_alone(vault, caller):
    piped = capture(vault, caller, "Gotcha: flock lies")
    assert (piped.records, piped.path) == ((), f"inbox/pending/{piped.id}.md")
    capture_and_tell(
        vault, caller_at("2026-11-20T16:46:00Z"), "I prefer tabs over spaces", type="preference"
    )
    told = capture_and_tell(
        vault, caller_at("2026-11-20T16:47:00Z"), "Prefer spaces over tabs", type="preference"
    )
    (made,) = told.records
    assert [one.title for one in made.contradicts] == ["I prefer tabs over spaces"]
    assert made.similar == ()
    again = capture_and_tell(
        vault,
        caller_at("2026-11-20T16:48:00Z"),
        "Prefer spaces over the tabs, please",
        type="preference",
    )
    assert [one.id for one in again.records[0].similar] == [made.id]


def test_what_fails_after_the_event_is_on_disk_is_told_and_the_capture_counts(vault, caller):
    folder = Path(vault.root, "records/decision")
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("no folder")
    answer = capture_and_tell(vault, caller, "Decision: use SQLite")
    event = next(Path(vault.root).rglob(f"{answer.id}.md"))
    assert "Decision: use SQLite" in event.read_text()
    assert Path(answer.file) == event
    assert answer.records == ()
    assert "no record yet" in answer.note
    assert answer.hint


def test_a_terminal_sees_what_it_contradicts_and_how_to_settle_that(terminal):
    def lines_of(text: str) -> list[str]:
        shown = terminal("capture", "--type", "preference", text, NO_COLOR="1")
        lines = shown.replace("\r\n", "\n").split("\n")
        return [line.rpartition("\r")[2] for line in lines]  # without the bar of progress

    first = lines_of("Always squash")
    assert re.fullmatch(r"1 preference ([a-z]+-[a-z]+-)?[a-z2-7]{6}", first[1])
    lines = lines_of("Never squash")
    assert re.fullmatch(r"1 preference ([a-z]+-[a-z]+-)?[a-z2-7]{6}", lines[1])
    assert lines[2] == f"  contradicts {first[1].split()[-1]}? Always squash"
    old = f"always-squash-{first[1][-6:]}"
    assert lines[3] == f"  cortex supersede {old} --by never-squash-{lines[1][-6:]}"


@pytest.mark.parametrize(("named", "project"), [
    ("My Project!", "my-project"), ("a/b", "a-b"), ("../../etc", "etc"), ("-rf", "rf"), ("Cortex", "cortex"), ("x" * 90, "x" * 64),
])  # fmt: skip
def test_an_odd_name_of_a_project_is_kept_as_a_slug_which_is_said(vault, caller, named, project):
    answer = capture_and_tell(vault, caller, "x", project=named)
    assert f"\nproject: {project}\n" in Path(answer.file).read_text()
    assert answer.note == (
        "" if named == "Cortex" else f"the project {named!r} is kept as {project}"
    )
    assert save(vault, caller, "y", project=named).note == answer.note


def test_a_name_without_a_letter_is_that_of_the_folder_and_two_foreign_ones_stay_two(vault, caller):
    captured = [capture(vault, caller, "x", project=named) for named in ("..", "日本", "東京")]
    texts = [Path(vault.root, one.path).read_text() for one in captured]
    assert checkout.project_of(caller.cwd) in texts[0]
    names = [text.partition("\nproject: ")[2].partition("\n")[0] for text in texts[1:]]
    assert len({*names}) == 2
    assert all(name.startswith("project-") for name in names)


def test_a_pipe_says_the_other_name_beside_the_id(cortex):
    done = cortex("capture", "--project", "My Project!", "--content", "Gotcha: flock lies")
    assert len(done.stdout) == 28
    assert done.stderr == "cortex: the project 'My Project!' is kept as my-project\n"
    refused = cortex("capture", "one", "--content", "two")
    assert refused.returncode == 2
    assert "two texts" in refused.stderr


def test_an_action_shows_who_has_it_and_until_when_as_that_stands_now(cortex):
    cortex("capture", "--type", "action", "--content", "Send the offer (Ana, 1 December)")
    assert "  action  for Ana, due " in cortex("recall", "--scope", "open").stdout
    cortex("revise", "send-the-offer", "--owner", "Bea", "--due", "2026-12-24")
    for words in (["recall", "--scope", "open"], ["search", "offer"]):
        told = cortex(*words).stdout
        assert "  action  for Bea, due 2026-12-24  " in told
        assert "Ana" not in told
        assert "1 December" not in told
    brief = cortex("brief").stdout
    assert "(Bea, due 2026-12-24)" in brief
    assert "Ana" not in brief
    cortex("revise", "send-the-offer", "--due", "none")
    hit = json.loads(cortex("recall", "--scope", "open", "--json").stdout)["hits"][0]
    assert (hit["owner"], hit["due"], "December" in hit["snippet"]) == ("Bea", "", False)


@pytest.mark.parametrize("name", ["session", "branch"])
def test_a_name_that_no_frontmatter_holds_is_refused(vault, caller, name) -> None:
    with pytest.raises(InvalidInputError, match=f"the {name} has 300,000 characters"):
        capture(vault, caller, "text", **{name: "x" * 300_000})
    with pytest.raises(InvalidInputError, match="tags and other fields"):
        capture(vault, caller, "text", tags=tuple(f"{n:0100}" for n in range(400)))
    assert not [*Path(vault.root, "inbox").rglob("*.md")]


def test_a_long_name_of_a_project_is_not_repeated_whole(vault, caller) -> None:
    assert len(capture(vault, caller, "text", project="x" * 300_000).note) < 400


def test_a_long_query_is_not_repeated_whole(cortex) -> None:
    for verb in ("search", "recall"):
        assert len(cortex(verb, "wordy " * 15_000, "--json").stdout) < 2_000


def test_a_task_that_is_ticked_already_is_told_as_done(terminal):
    assert "1 done action for Ben, " in terminal("capture", "- [x] Ben: did dishes")
    assert "1 action for Ben, " in terminal("capture", "- [ ] Ben: mop the floor")
