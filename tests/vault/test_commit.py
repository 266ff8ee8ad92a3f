"""Commits hold exactly what is ours: what a person staged, changed or hides from git stays as it is."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from cortex.core.model.problem import ConflictError, CortexError
from cortex.vault.git import changes, commit, git_locks
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.locate import Vault
from tests.conftest import commit_all, make_lock

RECORD = "---\nid: {id}\ntype: decision\ncreated: 2026-11-20T10:00:00Z\n---\n\n{body}\n"
CONFLICT = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n"


@pytest.fixture
def repository(vault, git):
    """The vault as a repository with one commit."""
    git(vault.root, "init", "-q")
    put(vault, "mine/note.md", "A note of my own.\n")
    commit_all(vault.root, "start")
    return vault


def put(vault, path: str, text: str) -> str:
    file = Path(vault.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return path


def record(vault, name: str, body: str = "Text.", folder: str = "records/decision") -> str:
    return put(vault, f"{folder}/{name}.md", RECORD.format(id=name, body=body))


def committed(vault, git) -> list[str]:
    """The paths of the last commit."""
    return git(vault.root, "show", "--format=", "--name-only", "--no-renames", "HEAD").split("\n")[
        :-1
    ]


def kept(vault, message: str = "") -> commit.CommitResult:
    return commit.commit_changes(vault.root, changes.list_changes(vault.root), message)


def commit_paths(root: str, paths: list[str], message: str) -> str:
    """Commit these paths alone; the commit's id, empty when nothing differs."""
    wanted = [one for one in changes.list_changes(root) if one.path in paths]
    return commit.commit_changes(root, wanted, message).id


def test_changes_are_ours_and_nobody_elses(repository) -> None:
    root = repository.root
    record(repository, "new-aaaaaa")
    put(repository, "mine/note.md", "Changed.\n")
    put(repository, "cortex.toml", "format = 1\n")
    put(repository, "records/decision/.new.md.cx-tmp", "half")
    put(repository, "records/decision/new.md~", "an editor's")
    put(repository, "mine/other.md", "New.\n")
    os.remove(Path(root, ".gitattributes"))
    found = changes.list_changes(root)
    assert found == [
        UncommittedChange(".gitattributes", "D"),
        UncommittedChange("cortex.toml", "M"),
        UncommittedChange("records/decision/new-aaaaaa.md", "A"),
    ]
    assert changes.list_foreign_changes(root, found) == ["mine/note.md", "mine/other.md"]
    assert not changes.list_changes(str(Path(root).parent))  # no repository there


def test_what_a_person_staged_stays_staged_and_out_of_our_commit(repository, git) -> None:
    path = record(repository, "new-aaaaaa")
    put(repository, "mine/note.md", "Staged.\n")
    put(repository, "mine/new.md", "Staged, too.\n")
    git(repository.root, "add", "mine")
    git(repository.root, "rm", "-q", "--cached", "cortex.toml")
    before = git(repository.root, "diff", "--cached", "--raw", "--", "mine", "cortex.toml")
    done = commit_paths(repository.root, [path], "cortex: 1 record")
    assert done == git(repository.root, "rev-parse", "HEAD").strip()
    assert committed(repository, git) == [path]
    assert git(repository.root, "diff", "--cached", "--raw") == before
    assert git(repository.root, "log", "-1", "--format=%s") == "cortex: 1 record\n"


def test_nothing_to_commit_is_no_commit(repository, git) -> None:
    head = git(repository.root, "rev-parse", "HEAD")
    assert commit_paths(repository.root, ["cortex.toml"], "x") == ""
    assert commit_paths(repository.root, [], "x") == ""
    assert git(repository.root, "rev-parse", "HEAD") == head


def test_the_first_commit_of_all(vault, git) -> None:
    git(vault.root, "init", "-q")
    assert commit.why_blocked(vault.root) == ""
    assert kept(vault).message == "cortex: settings"
    assert [one for one in committed(vault, git) if not one.startswith("views/")] == [
        ".gitattributes",
        "cortex.toml",
    ]


def test_a_subfolder_vault_commits_nothing_beside_it(tmp_path, vault, git) -> None:
    git(tmp_path, "init", "-q")
    Path(tmp_path, "code.py").write_text("x = 1\n")
    Path(tmp_path, "records").mkdir()
    Path(tmp_path, "records", "x.md").write_text("Not in the vault.\n")
    path = record(vault, "new-aaaaaa")
    done = kept(vault)
    views = {f"views/{name}.base" for name in ("Actions", "Decisions", "Meetings", "Sessions")}
    assert set(done.paths) == {path, "cortex.toml", ".gitattributes", *views}
    assert all(one.startswith("vault/") for one in committed(vault, git))
    assert changes.list_foreign_changes(vault.root) == []


HOSTILE = ["-x.md", ":(exclude)a.md", "$(touch PWN).md", "a\nb.md", '"q".md', "*.md", "ü\udcff.md"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_names(repository, name) -> None:
    path = f"records/{name}"
    file = os.path.join(repository.root, path)
    with open(os.fsencode(file), "w") as out:
        out.write(RECORD.format(id="x", body="x"))
    record(repository, "beside-aaaaaa", folder="records")
    assert changes.list_changes(repository.root)[-1].path in (path, "records/beside-aaaaaa.md")
    assert commit_paths(repository.root, [path], "one")
    assert [one.path for one in changes.list_changes(repository.root)] == [
        "records/beside-aaaaaa.md"
    ]
    os.remove(os.fsencode(file))
    assert commit_paths(repository.root, [path], "gone")
    assert not Path(repository.root, "PWN").exists()


LEFT_OUT = {
    "conflict markers": ("records/x.md", RECORD.format(id="x", body=CONFLICT), "conflict markers"),
    "frontmatter that is not closed": ("records/x.md", "---\nid: x\ntitle: half", "frontmatter"),
    "frontmatter that cannot be read": ("records/x.md", "---\nid: [x\n---\n", "frontmatter"),
    "markers in an event's frontmatter": ("events/2026/11/x.md", f"---\nid: x\n{CONFLICT}---\n\nText.\n", "frontmatter"),
    "nothing": ("sessions/2026/11/x.md", "", "empty"),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_OUT)
def test_half_written_notes_are_named_and_the_rest_is_committed(repository, case) -> None:
    path, text, why = LEFT_OUT[case]
    put(repository, path, text)
    good = record(repository, "good-aaaaaa")
    done = kept(repository)
    assert done.paths == (good,)
    (problem,) = done.problems
    assert problem.where == path
    assert why in problem.message


def test_a_text_about_markers_is_no_conflict(repository) -> None:
    event = "20261120t164512z-aaaaaaaaaa"
    put(
        repository,
        f"events/2026/11/{event}.md",
        f"---\nid: {event}\n---\n\n## Raw Content\n\n{CONFLICT}",
    )
    put(
        repository,
        "records/x.md",
        f"---\nid: x\nprovenance:\n  events:\n    - {event}\n---\n\n{CONFLICT}",
    )
    assert not kept(repository).problems
    put(repository, "records/x.md", Path(repository.root, "records/x.md").read_text() + "More.\n")
    assert not kept(repository).problems
    put(
        repository, "records/x.md", Path(repository.root, "records/x.md").read_text() + CONFLICT
    )  # and a real one
    assert kept(repository).problems


def test_links_ignored_and_vanished_paths_are_named(repository) -> None:
    root = repository.root
    put(repository, ".git/info/exclude", "records/hidden.md\n")
    hidden = record(repository, "hidden", folder="records")
    os.symlink("/etc/passwd", Path(root, "records/link.md"))
    os.symlink("/etc", Path(root, "sessions"))
    good = record(repository, "good-aaaaaa", folder="records")
    wanted = [
        UncommittedChange(path, "")
        for path in (
            hidden, "records/link.md", "sessions/passwd", "records/never.md", "../x.md", good,
        )
    ]  # fmt: skip
    done = commit.commit_changes(root, wanted)
    assert done.paths == (good,)
    assert {problem.where for problem in done.problems} == {change.path for change in wanted} - {
        good
    }


def test_a_moved_record_is_never_committed_as_a_mere_deletion(repository, git) -> None:
    root = repository.root
    old = record(repository, "moved-aaaaaa")
    kept(repository)
    Path(root, "mine", "deep").mkdir()
    os.rename(Path(root, old), Path(root, "mine/deep/Moved by hand.md"))
    put(repository, "mine/other.md", RECORD.format(id="other-aaaaaa", body="Not ours."))
    new = "mine/deep/Moved by hand.md"
    assert changes.list_changes(root) == [
        UncommittedChange(new, "A", old),
        UncommittedChange(old, "D", new),
    ]
    assert commit_paths(root, [old], "one half") == ""
    assert changes.list_foreign_changes(root, changes.list_changes(root)) == ["mine/other.md"]
    assert set(kept(repository).paths) == {old, new}
    assert git(root, "status", "--short", "-uall") == "?? mine/other.md\n"


def test_a_record_that_lives_elsewhere_is_still_committed_when_it_changes(repository) -> None:
    root = repository.root
    old = record(repository, "moved-aaaaaa")
    kept(repository)
    os.rename(Path(root, old), Path(root, "mine/x.md"))
    kept(repository)
    put(repository, "mine/x.md", RECORD.format(id="moved-aaaaaa", body="Changed."))
    put(repository, "mine/note.md", "Changed, and not a record.\n")
    assert changes.list_changes(root) == [UncommittedChange("mine/x.md", "M")]
    assert changes.list_foreign_changes(root, changes.list_changes(root)) == ["mine/note.md"]
    assert kept(repository).paths == ("mine/x.md",)
    os.rename(Path(root, "mine/x.md"), Path(root, "records/back.md"))
    assert changes.list_changes(root) == [
        UncommittedChange("mine/x.md", "D", "records/back.md"),
        UncommittedChange("records/back.md", "A", "mine/x.md"),
    ]
    assert set(kept(repository).paths) == {"mine/x.md", "records/back.md"}


def test_neither_half_of_a_move_is_committed_when_one_cannot_be(repository, git) -> None:
    root = repository.root
    old = record(repository, "moved-aaaaaa")
    kept(repository)
    os.rename(Path(root, old), Path(root, "mine/x.md"))
    put(repository, "mine/x.md", RECORD.format(id="moved-aaaaaa", body=CONFLICT))
    assert kept(repository).id == ""
    assert git(root, "cat-file", "-t", f"HEAD:{old}") == "blob\n"


def test_a_deleted_record_is_a_deletion(repository) -> None:
    path = record(repository, "gone-aaaaaa")
    kept(repository)
    os.remove(Path(repository.root, path))
    assert kept(repository).paths == (path,)
    assert kept(repository).id == ""


SUMMARIES = [
    (["inbox/pending/a.md", "events/2026/11/a.md", "events/2026/11/b.md"], "cortex: 2 events"),
    (["records/decision/a.md", "mine/b.md", "events/2026/11/b.md"], "1 decision, 1 note"),
    (["sessions/2026/11/a.md", "briefings/p/main.md"], "cortex: 1 session, 1 briefing"),
    (["briefings/p/main.md", "briefings/index.md"], "cortex: refresh briefings"),
    (["cortex.toml", ".gitattributes"], "cortex: settings"),
]


@pytest.mark.parametrize(("paths", "message"), SUMMARIES)
def test_a_commit_says_what_it_holds(tmp_path, paths, message) -> None:
    for path in paths:
        put(Vault(str(tmp_path)), path, f"{path}\n")
    assert commit.format_message(str(tmp_path), paths) == message


def test_views_below_a_folder_of_their_own_are_settings_too(tmp_path) -> None:
    (tmp_path / "cortex.toml").write_text('[layout]\nfolder = "cortex"\n')
    paths = ["cortex/views/Actions.base", "cortex.toml"]
    assert commit.format_message(str(tmp_path), paths) == "cortex: settings"


def test_a_hook_that_declines_leaves_everything_as_it_was(repository, git) -> None:
    hook = Path(repository.root, ".git/hooks/pre-commit")
    hook.write_text("#!/bin/sh\necho no notes on Fridays >&2\nexit 1\n")
    hook.chmod(0o755)
    path = record(repository, "new-aaaaaa")
    put(repository, "mine/note.md", "Staged.\n")
    git(repository.root, "add", "mine/note.md")
    before = git(repository.root, "status", "--porcelain")
    with pytest.raises(CortexError, match="no notes on Fridays"):
        commit_paths(repository.root, [path], "x")
    assert git(repository.root, "status", "--porcelain") == before
    hook.write_text("#!/bin/sh\ngit diff --cached --name-only -- '*.md' > seen\n")
    assert commit_paths(repository.root, [path], "x")
    assert Path(repository.root, "seen").read_text() == f"{path}\n"


def test_a_git_that_knows_nobody_says_how_to_introduce_oneself(repository, monkeypatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.useConfigOnly")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    with pytest.raises(CortexError) as caught:
        commit_paths(repository.root, [record(repository, "new-aaaaaa")], "x")
    assert "user.name" in caught.value.hint
    assert "user.email" in caught.value.hint


UNDER_WAY = {
    "a merge": (["merge", "-q", "other"], "merge"),
    "a rebase": (["rebase", "-q", "other"], "rebase"),
    "a cherry-pick": (["cherry-pick", "other"], "cherry-pick"),
    "a revert": (["revert", "--no-edit", "HEAD~"], "revert"),
}


@pytest.mark.parametrize("case", UNDER_WAY)
def test_nothing_is_committed_while_git_is_in_the_middle_of_something(
    repository, git, case
) -> None:
    root = repository.root
    git(root, "branch", "other")
    for branch, text in (("main", "One."), ("other", "Two.")):
        git(root, "switch", "-q", branch)
        put(repository, "mine/note.md", text)
        git(root, "commit", "-qam", branch)
    git(root, "switch", "-q", "main")
    put(repository, "mine/note.md", "Three.")
    git(root, "commit", "-qam", "again")
    words, named = UNDER_WAY[case]
    with pytest.raises(AssertionError, match="CONFLICT"):
        git(root, *words)
    assert named in commit.why_blocked(root)
    with pytest.raises(ConflictError, match=named):
        commit_paths(root, [record(repository, "new-aaaaaa")], "x")
    git(root, named, "--abort")
    assert commit.why_blocked(root) == ""


def test_other_closed_gates(repository, git, tmp_path) -> None:
    assert "no git repository" in commit.why_blocked(str(tmp_path))
    git(repository.root, "bisect", "start")
    assert "bisect" in commit.why_blocked(repository.root)
    git(repository.root, "bisect", "reset")
    git(repository.root, "checkout", "-q", "--detach")
    assert "detached" in commit.why_blocked(repository.root)
    git(repository.root, "switch", "-q", "main")
    blob = git(repository.root, "rev-parse", "HEAD:cortex.toml").strip()
    stages = "".join(f"100644 {blob} {stage}\tmine/x.md\n" for stage in (1, 2, 3))
    os.system(f"cd '{repository.root}' && printf '{stages}' | git update-index --index-info")
    assert "could not merge 1 path" in commit.why_blocked(repository.root)


MEETING = "---\nid: m-aaaaaa\ntype: meeting\ntitle: Weekly, 20 November\n---\n\nText.\n"


def test_a_commit_names_the_one_meeting_with_what_came_of_it(repository) -> None:
    put(repository, "records/meeting/m-aaaaaa.md", MEETING)
    for number in range(2):
        record(repository, f"d{number}-aaaaaa")
        record(repository, f"a{number}-aaaaaa", folder="records/action")
    assert kept(repository).message == "Weekly, 20 November: 2 decisions, 2 actions"


TITLED = "---\nid: u-aaaaaa\ntype: decision\n{more}title: {title}\n---\n\nText.\n"
NAMED = [
    ("Use SQLite", "", "Use SQLite (decision)"),
    ('"#1 is SQLite"', "", "#1 is SQLite (decision)"),
    ("Give Ana a raise", "project: p\nscope: personal\n", "1 decision"),
    ("Use ghp_" + "a1B2" * 9, "", "1 decision"),
]


def test_a_commit_says_what_is_gone_and_a_move_is_none(repository, git) -> None:
    root = repository.root
    gone, moved = record(repository, "gone-aaaaaa"), record(repository, "moved-aaaaaa")
    notes = [put(repository, f"{name}.md", f"{name}\n") for name in "abc"]
    commit_all(root, "before")
    for path in (gone, *notes[:2]):
        os.remove(Path(root, path))
    assert commit.format_message(root, [gone]) == "removed 1 decision"
    new = put(repository, "records/decision/other.md", Path(root, moved).read_text())
    os.remove(Path(root, moved))
    os.rename(Path(root, "c.md"), Path(root, "d.md"))
    message = commit.format_message(root, [gone, moved, new, *notes, "d.md"])
    assert message == "1 decision, 1 note, removed 1 decision, removed 2 notes"
    assert commit.format_message(root, ["c.md", "d.md"]) == "d (note)"


@pytest.mark.parametrize(("title", "more", "message"), NAMED)
def test_a_commit_names_one_record_unless_it_is_private(repository, title, more, message) -> None:
    path = put(repository, "records/decision/u.md", TITLED.format(title=title, more=more))
    assert commit.format_message(repository.root, [path]) == message


def test_a_subject_is_short_and_survives_a_git_that_strips_comments(repository, git) -> None:
    git(repository.root, "config", "commit.cleanup", "strip")
    put(
        repository, "records/decision/u.md", TITLED.format(title='"#1 ' + "is " * 40 + '"', more="")
    )
    assert kept(repository).id
    subject = git(repository.root, "log", "-1", "--format=%s").strip()
    assert subject.startswith("#1 is is")
    assert len(subject) <= 72


def test_a_linked_worktree_is_a_place_of_its_own(repository, git, tmp_path) -> None:
    tree = tmp_path / "tree"
    git(repository.root, "worktree", "add", "-q", "-b", "side", str(tree))
    linked = type(repository)(str(tree))
    path = record(linked, "new-aaaaaa")
    assert kept(linked).paths == (path,)
    assert git(tree, "log", "-1", "--format=%s") == "new-aaaaaa (decision)\n"
    assert changes.list_changes(repository.root) == []


def test_we_wait_for_another_git_and_never_take_its_lock_away(repository, monkeypatch) -> None:
    lock = Path(repository.root, ".git/index.lock")
    make_lock(lock)
    path = record(repository, "new-aaaaaa")
    other = threading.Thread(target=lambda: (time.sleep(0.5), lock.unlink()))
    other.start()
    assert commit_paths(repository.root, [path], "x")
    other.join()
    make_lock(lock)
    monkeypatch.setattr(git_locks, "LOCK_WAIT_SECONDS", 0.2)
    with pytest.raises(ConflictError, match="another git is busy"):
        commit_paths(repository.root, [record(repository, "new-bbbbbb")], "x")
    assert lock.exists()


def test_many_commit_at_once_and_none_is_lost(repository, git) -> None:
    names = [f"{writer}-{count}-aaaaaa" for writer in "abc" for count in range(4)]
    troubles: list[BaseException] = []

    def write(writer: str) -> None:
        try:
            for name in names:
                if name.startswith(writer):
                    assert commit_paths(
                        repository.root, [record(repository, name)], f"cortex: {name}"
                    )
        except BaseException as error:
            troubles.append(error)

    def person() -> None:
        for count in range(8):
            put(repository, f"mine/{count}.md", "x\n")
            os.system(
                f"cd '{repository.root}' && git add mine/{count}.md 2>/dev/null && git commit -qm mine -- mine/{count}.md 2>/dev/null"
            )

    threads = [threading.Thread(target=write, args=(writer,)) for writer in "abc"] + [
        threading.Thread(target=person)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert troubles == []
    tracked = git(repository.root, "ls-files", "records").split()
    assert sorted(tracked) == sorted(f"records/decision/{name}.md" for name in names)
    git(repository.root, "fsck", "--strict")
    ours = [
        line
        for line in git(repository.root, "log", "--format=%s").splitlines()
        if line.startswith("cortex: ")
    ]
    assert len(ours) == len(names)
