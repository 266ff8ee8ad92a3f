"""What sync would publish for the first time is looked at: no secret and nothing personal leaves unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.projects.promote import promote
from cortex.operations.share.sync import SyncResult, sync
from cortex.vault.locate import Vault
from tests.conftest import caller_at, commit_all

AWS = "AKIAIOSFODNN7" + "EXAMPLE"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RECORD = "---\nid: {}\ntype: note\ncreated: 2026-11-20T10:00:00Z\n---\n\n# A note\n\n{}\n"
SCOPED = "---\nid: {}\ntype: note\nscope: {}\n{}created: 2026-11-20T10:00:00Z\n---\n\n# {}\n\n{}\n"

# File -> its text, and a word of it that nobody else may read.
SECRETS = {
    "todo.md": (f"# Todo\n\n- key {AWS}\n", AWS),
    "keys.txt": (f"{GITHUB[:22]}\n{GITHUB[22:]}\n", GITHUB[22:]),
    "passwords.csv": ("site,user,password\nexample.com,ana,hunter22x\n", "hunter22x"),
    "wifi/home.md": ("| Wi-Fi password | tulip9river |\n", "tulip9river"),
    f"{AWS}.md": ("nothing else\n", AWS),
    "board.canvas": ('{"nodes":[{"text":"password: canvas9word"}]}', "canvas9word"),
    "windows.txt": ("\ufeffpassword: sixteen9bits\n".encode("utf-16-le"), "sixteen9bits"),
    "records/note/token-aaaaaa.md": (RECORD.format("token-aaaaaa", f"use {GITHUB}"), GITHUB),
    "inbox/pending/20261120t100000z-aaaaaaaaaa.md": (
        ("---\nid: 20261120t100000z-aaaaaaaaaa\ntype: manual\nat: 2026-11-20T10:00:00Z\n---\n\n"
        "## Raw Content\n\nDecision: password: inbox9word, since it is short.\n"),
        "inbox9word",
    ),
}  # fmt: skip
PERSONAL = {
    "diary.md": ("---\nscope: personal\n---\nWordone\n", "Wordone"),
    "log/Week 1.md": ('---\ntags: [a]\nscope: "personal"\n---\nWordtwo\n', "Wordtwo"),
    "broken.md": ("---\nscope: personal\ntags: [a\n---\nWordthree\n", "Wordthree"),
    "lists.md": ("---\r\nscope:\r\n  - global\r\n---\r\nWordfour\r\n", "Wordfour"),
    "records/note/mine-aaaaaa.md": (SCOPED.format("mine-aaaaaa", "personal", "project: shop\n", "Titlefive", "Wordfive"), "five"),
    "records/note/all-aaaaaa.md": (SCOPED.format("all-aaaaaa", "global", "project: shop\n", "Titlesix", "Wordsix"), "six"),
    "records/note/none-aaaaaa.md": (SCOPED.format("none-aaaaaa", "personal", "", "Titleseven", "Wordseven"), "seven"),
    "records/note/every-aaaaaa.md": (SCOPED.format("every-aaaaaa", "global", "", "Titleeight", "Wordeight"), "eight"),
}  # fmt: skip


@pytest.fixture
def shared(tmp_path: Path, git, caller) -> Vault:
    """A vault with a remote, synced once."""
    git(tmp_path, "init", "-q", "--bare", "remote")
    git(tmp_path, "clone", "-q", "remote", "vault")
    vault = Vault(init(caller, str(tmp_path / "vault")).root)
    assert run(vault).trouble == ""
    return vault


def run(vault: Vault, **options) -> SyncResult:
    return sync(vault, caller_at("2026-11-21T10:00:00Z", vault.root), **options)


def write(vault: Vault, path: str, text: str | bytes) -> Path:
    file = Path(vault.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def held(vault: Vault, **options) -> list[str]:
    return [one.where for one in run(vault, **options).held]


def has_left(git, tmp_path: Path, word: str) -> bool:
    """Whether the remote has a word: in a text, a name or a message of any commit."""
    told = git(tmp_path / "remote", "log", "--all", "-p", "--text", "--format=%B", "--stat=200")
    return word in told.replace("\0", "")


def test_nothing_of_a_person_leaves_each_is_named_and_after_mending_sync_goes_on(
    shared, tmp_path, git, cortex
) -> None:
    for path, (text, _) in (SECRETS | PERSONAL).items():
        write(shared, path, text)
    write(shared, "fine.md", "This may go: Wordfine\n")
    done = cortex("sync", "--json")
    named = {one["where"] for one in json.loads(done.stdout)["held"]}
    event = "events/2026/11/20261120t100000z-aaaaaaaaaa.md"  # where it lies now
    wanted = {event if path.startswith("inbox/") else path for path in SECRETS | PERSONAL}
    assert done.returncode == 1
    assert wanted <= named
    assert has_left(git, tmp_path, "Wordfine")
    for path, (_, word) in (SECRETS | PERSONAL).items():
        assert not has_left(git, tmp_path, word), path
    problems = {one.where for one in doctor(shared, caller_at("2026-11-21T10:00:00Z")).problems}
    assert wanted <= problems
    for path, (text, word) in SECRETS.items():
        plain = text.decode("utf-16") if isinstance(text, bytes) else text
        if path != f"{AWS}.md" and not path.startswith("inbox/"):
            write(shared, path, plain.replace(word, "it is in the safe"))
    Path(shared.root, f"{AWS}.md").rename(Path(shared.root, "aws.md"))
    for path in PERSONAL:
        promote(shared, caller_at("2026-11-21T10:00:00Z", shared.root), path)
    left = [one for one in held(shared) if one != event and not one.startswith("records/decision/")]
    assert [one for one in left if not one.startswith("briefings/")] == []
    assert has_left(git, tmp_path, "it is in the safe")
    assert not has_left(git, tmp_path, "Word" + "five")


def test_a_message_names_the_line_and_the_two_ways_on(shared, cortex) -> None:
    write(shared, "todo.md", f"# Todo\n\n- key {AWS}\n")
    told = cortex("sync").stdout
    assert "todo.md: is not published: line 3 looks like a secret (aws-key)\n" in told
    assert (
        "take it out, then cortex sync; if it is no secret: cortex sync --publish todo.md" in told
    )


def test_a_false_alarm_is_let_through_once_and_not_asked_about_again(shared, tmp_path, git) -> None:
    write(shared, "docs/example.md", f"The example key of their docs: {AWS}\n")
    assert held(shared) == ["docs/example.md"]
    assert held(shared, publish=("docs/example.md",)) == []
    assert has_left(git, tmp_path, AWS)
    write(shared, "docs/example.md", f"# Example\n\nThe example key of their docs: {AWS}\n")
    write(shared, "docs/second.md", f"The same key: {AWS}\n")
    assert held(shared) == []
    write(shared, "docs/example.md", f"{AWS}, and password: hunter22x\n")
    assert held(shared) == ["docs/example.md"]
    assert not has_left(git, tmp_path, "hunter22x")


def test_a_line_that_is_new_in_a_published_note_is_looked_at_too(shared, tmp_path, git) -> None:
    note = write(shared, "notes.md", "One\n")
    assert held(shared) == []
    note.write_text(f"One\n{AWS}\n")
    assert held(shared) == ["notes.md"]
    note.write_text("One\nTwo\n")
    assert held(shared) == []
    assert has_left(git, tmp_path, "+Two")
    assert not has_left(git, tmp_path, AWS)


def test_what_was_published_before_is_not_asked_about(shared, git) -> None:
    note = write(shared, "old.md", f"One {AWS}\n")
    commit_all(shared.root, "mine")
    git(shared.root, "push", "-q")
    note.write_text(f"Two {AWS}\n")
    assert held(shared) == []


def test_what_a_person_committed_is_looked_at_before_it_is_pushed(shared, tmp_path, git) -> None:
    """Also what a later commit has taken out again: a push gives away the whole history."""
    note = write(shared, "notes.md", f"One\n{AWS}\n")
    write(shared, "diary.md", "---\nscope: personal\n---\nWordone\n")
    commit_all(shared.root, "mine")
    note.write_text("One\n")
    git(shared.root, "commit", "-qam", "mended")
    done = run(shared)
    assert sorted(one.where for one in done.held) == ["diary.md", "notes.md"]
    assert done.push == "failed"
    assert "nothing was pushed" in done.trouble
    for command in done.hint.partition("then ")[2].split(" && ")[:2]:
        git(shared.root, *command.split()[1:])
    Path(shared.root, "diary.md").unlink()
    done = run(shared)
    assert (done.held, done.trouble, done.push) == ((), "", "pushed")
    assert has_left(git, tmp_path, "One")
    assert not has_left(git, tmp_path, AWS)
    assert not has_left(git, tmp_path, "Wordone")


def test_the_first_push_of_a_vault_gives_away_nothing_that_lay_in_it(tmp_path, git, caller) -> None:
    git(tmp_path, "init", "-q", "--bare", "remote")
    vault = Vault(init(caller, str(tmp_path / "vault")).root)
    write(vault, "old.md", f"One {AWS}\n")
    commit_all(vault.root, "of an earlier version")
    git(vault.root, "remote", "add", "origin", "../remote")
    done = run(vault)
    assert [one.where for one in done.held] == ["old.md"]
    assert not has_left(git, tmp_path, AWS)
    write(vault, "old.md", "One\n")
    assert "git branch before-sync && git update-ref -d HEAD && git reset && cort" in done.hint
    git(vault.root, "update-ref", "-d", "HEAD")
    git(vault.root, "reset", "-q")
    assert run(vault).push == "pushed"
    assert not has_left(git, tmp_path, AWS)


def test_commits_are_looked_at_by_path_and_text(shared, tmp_path, git) -> None:
    """One text may lie under a name that hides what it is, and a name may be the secret."""
    (Path(shared.root) / "a.png").write_text(f"{AWS}\n")
    (Path(shared.root) / "z.md").write_text(f"{AWS}\n")
    diary = write(shared, "diary.md", "---\nscope: personal\n---\nWordone\n")
    commit_all(shared.root, "one")
    diary.rename(diary.with_suffix(".txt"))
    write(shared, "same.md", "")
    write(shared, f"{GITHUB}.md", "")
    commit_all(shared.root, "two")
    assert sorted(held(shared)) == ["diary.md", f"{GITHUB}.md", "z.md"]
    named = {one.where for one in doctor(shared, caller_at("2026-11-21T10:00:00Z")).problems}
    assert {"diary.md", "z.md"} <= named
    assert not has_left(git, tmp_path, AWS)


def test_a_new_branch_goes_back_to_what_the_remote_has(shared, git) -> None:
    git(shared.root, "switch", "-qc", "feat")
    write(shared, "s.md", f"{AWS}\n")
    commit_all(shared.root, "mine")
    base = git(shared.root, "rev-parse", "HEAD~1").strip()
    assert f"git reset {base[:12]} &&" in run(shared).hint


def test_what_was_let_through_once_was_asked_about(shared) -> None:
    note = write(shared, "todo.md", f"{AWS}\n")
    assert held(shared, publish=("todo.md",)) == []
    note.unlink()
    assert held(shared) == []
    write(shared, "todo.md", "---\nscope: personal\n---\nWordone\n")
    assert held(shared) == ["todo.md"]


def test_a_known_note_that_becomes_personal_is_held(shared, tmp_path, git) -> None:
    note = write(shared, "notes.md", "One\n")
    assert held(shared) == []
    note.write_text("---\nscope: personal\n---\nWordone\n")
    assert held(shared) == ["notes.md"]
    assert not has_left(git, tmp_path, "Wordone")


def test_the_hundred_and_first_is_found_too(shared) -> None:
    rows = [f"site{n},ana,hunter{n}x9" for n in range(120)]
    file = write(shared, "list.csv", "\n".join(["site,user,password", *rows, ""]))
    assert held(shared, publish=("list.csv",)) == []
    file.write_text(file.read_text() + "last,ana,tulip9river\n")
    assert held(shared) == ["list.csv"]


def test_files_are_let_through_by_an_option_each(shared, cortex) -> None:
    for name in ("one.md", "two.md"):
        write(shared, name, f"{AWS}\n")
    assert cortex("sync", "--publish", "one.md", "--publish", "two.md").returncode == 0


def test_a_personal_vault_may_publish_what_is_personal_but_no_secret(shared, tmp_path, git) -> None:
    init(caller_at("2026-11-21T10:00:00Z"), shared.root, default=True)
    write(shared, "diary.md", "---\nscope: personal\n---\nWordone\n")
    write(shared, "todo.md", f"{AWS}\n")
    assert held(shared) == ["todo.md"]
    assert has_left(git, tmp_path, "Wordone")


def test_a_file_that_is_not_there_cannot_be_published(shared, cortex) -> None:
    done = cortex("sync", "--publish", "nope.md")
    assert done.returncode == 2
    assert "there is no file nope.md" in done.stderr


def test_people_s_notes_that_sync_does_not_take_are_not_looked_at(shared) -> None:
    write(shared, "todo.md", f"{AWS}\n")
    assert held(shared, only_records=True) == []
