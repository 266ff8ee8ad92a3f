"""A vault made by a stranger is searched and shown; nothing of it runs, nothing leaves it, nothing hangs."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import time
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.operations.care.doctor import doctor
from cortex.operations.find.search import search
from cortex.operations.find.show import show
from cortex.vault import files
from tests.conftest import commit_all, cpu_limit


def problems(vault, caller) -> dict[str, str]:
    return {
        problem.where.partition(":")[0]: problem.message
        for problem in doctor(vault, caller).problems
    }


def test_links_are_not_followed_and_are_named(vault, caller, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_text("zebra secret")
    Path(vault.root, "note.md").symlink_to(tmp_path / "outside/secret.md")
    Path(vault.root, "folder").symlink_to(tmp_path / "outside")
    Path(vault.root, "loop").symlink_to(vault.root)
    Path(vault.root, "dangling.md").symlink_to("nowhere")
    assert not search(vault, caller, "zebra").hits
    found = problems(vault, caller)
    assert "link" in found["note.md"]
    assert "link" in found["dangling.md"]
    for path in ("note.md", "folder/secret.md", "loop/note.md"):
        with pytest.raises((NotFoundError, InvalidInputError)):
            show(vault, caller, path)
        with pytest.raises((NotFoundError, InvalidInputError)):
            files.read(vault.root, path)
        with pytest.raises((InvalidInputError, OSError)):
            files.create(vault.root, path, b"x")
    assert (tmp_path / "outside/secret.md").read_text() == "zebra secret"


@pytest.mark.parametrize(
    "path",
    ["../x.md", "/etc/passwd", "a/../../x", "", "a//b", "./x", ".git/config", ".GIT/x", "a/.git\u200c/x", "git~1/x", "x\0y", ".git. /x"],
)  # fmt: skip
def test_no_path_leaves_the_vault_or_reaches_into_git(vault, path):
    for act in (lambda: files.read(vault.root, path), lambda: files.create(vault.root, path, b"x")):
        with pytest.raises((InvalidInputError, IsADirectoryError)):
            act()


def test_pipes_and_devices_never_block(vault, caller):
    os.mkfifo(Path(vault.root, "pipe.md"))
    os.mkfifo(Path(vault.root, "inbox/pending/20261120t164512z-aaaaaaaaaa.md"))
    started = time.monotonic()
    found = problems(vault, caller)
    assert "regular file" in found["pipe.md"]
    assert any(name.startswith("inbox/pending/") for name in found)
    search(vault, caller, "anything")
    assert time.monotonic() - started < 10


def test_a_note_of_300_megabytes_is_searched_at_its_beginning(vault, caller):
    with open(Path(vault.root, "huge.md"), "wb") as file:
        file.write(b"# Huge\n\nzebra at the start\n")
        file.seek(300 * 1024 * 1024)
        file.write(b"\ngiraffe at the end\n")
    (hit,) = search(vault, caller, "zebra").hits
    assert hit.path == "huge.md"
    assert "1 MB" in problems(vault, caller)["huge.md"]


def test_an_index_inside_the_vault_is_never_opened(vault, caller, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    for folder in ("", "index", ".cortex/index"):
        place = Path(vault.root, folder)
        place.mkdir(parents=True, exist_ok=True)
        (place / "_MAIN_1.toc").write_bytes(pickle.dumps(Bomb()))
    Path(vault.root, "cortex.toml").write_text(
        'format = 1\ncache_dir = "index"\n[index]\nfolder = "."\n'
    )
    Path(vault.root, "a.md").write_text("zebra")
    assert [hit.path for hit in search(vault, caller, "zebra").hits] == ["a.md"]
    assert "never opened" in problems(vault, caller)["index/_MAIN_1.toc"]
    assert not (tmp_path / "ran").exists()


def test_a_planted_cache_folder_is_refused(vault, caller, tmp_path):
    search(vault, caller, "x")
    cache = Path(vault.cache_folder())
    os.rename(cache, tmp_path / "moved")
    os.symlink(tmp_path / "moved", cache)
    with pytest.raises(InvalidInputError, match="not a folder of yours"):
        search(vault, caller, "x")
    os.unlink(cache)
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(InvalidInputError, match="others may write"):
        search(vault, caller, "x")


def test_a_configured_program_of_the_repository_does_not_run(vault, caller, git, tmp_path):
    """A `.git/config` comes with a tarball; a bare repository hidden among the notes comes with a clone."""
    git(vault.root, "init", "-q")
    Path(vault.root, "a.md").write_text("zebra")
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "diff.external", "core.pager"):
        git(vault.root, "config", key, str(program))
    bare = Path(vault.root, "notes")
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    subprocess.run(
        ["git", "--git-dir", str(bare), "config", "core.fsmonitor", str(program)], check=True
    )
    subprocess.run(["git", "--git-dir", str(bare), "config", "core.bare", "false"], check=True)
    subprocess.run(["git", "--git-dir", str(bare), "config", "core.worktree", "."], check=True)
    assert search(vault, caller, "zebra").hits
    doctor(vault, caller)
    assert not ran.exists()


@pytest.mark.parametrize("where", ["index", "included", ".gitignore"])
def test_a_pipe_where_git_expects_a_file_holds_nobody(vault, caller, git, where):
    git(vault.root, "init", "-q")
    Path(vault.root, "a.md").write_text("zebra")
    git(vault.root, "add", "-A")
    pipe = Path(
        vault.root,
        {"index": ".git/index", "included": ".git/pipe", ".gitignore": ".gitignore"}[where],
    )
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    if where == "included":
        with Path(vault.root, ".git/config").open("a") as config:
            config.write(f"[include]\n\tpath = {pipe}\n")
    started = time.monotonic()
    assert search(vault, caller, "zebra").hits
    assert doctor(vault, caller).problems
    assert time.monotonic() - started < 20


EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\u202eevil\u200b\x9b31m"


def test_escape_sequences_are_shown_and_not_sent(vault_from, cortex, terminal):
    vault_from(
        f'=== a\u202e.md\n---\ntitle: "zebra \\e]0;owned\\a \\u202e"\nstatus: "superseded"\ntype: "x\\e[1m"\n---\nzebra {EVIL}\n'
    )
    for words in (["search", "--all", "zebra"], ["status"], ["doctor"], ["search", "zebra", EVIL], ["show", EVIL]):  # fmt: skip
        done = cortex(*words)
        for character in "\x1b\x07\x9b\u202e\u200b":
            assert character not in done.stdout + done.stderr, words
    assert "<U+001B>" in cortex("search", "--all", "zebra").stdout
    for environment in ({}, {"NO_COLOR": "1"}):  # into a pipe a note goes as it is
        assert set("\x07\x9b\u202e\u200b").isdisjoint(
            shown := terminal("show", "a\u202e.md", **environment)
        )
        assert "<U+001B>]52" in shown
    assert json.loads(cortex("search", "--all", "zebra", "--json").stdout)["hits"]


CRAWL = {
    "brackets": "[" * 50_000, "links": "[[" * 25_000, "images": "![" * 25_000, "ticks": "`" * 50_000, "ticks apart": "` `` ``` " * 6_000,
    "comments": "<!-- " * 10_000, "percent": "%%" * 25_000, "tags": "#a/" * 17_000, "quotes": "> " * 25_000, "lists": "- " * 25_000,
    "fields": "a:: " * 12_000, "emphasis": "**a" * 17_000, "word": "a" * 300_000, "identifier": "a_B.c-" * 50_000, "markers": "<<<<<<< " * 10_000,
    "jwt": "eyJ." * 20_000, "pem": "-----BEGIN " * 10_000,
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CRAWL)
def test_text_built_to_make_a_pattern_crawl_is_read_quickly(vault, caller, cortex, name):
    Path(vault.root, "crawl.md").write_text(f"zebra\n\n{CRAWL[name]}\n")
    with cpu_limit(8):
        assert search(vault, caller, "zebra").hits
        search(vault, caller, CRAWL[name][:5000]) if any(c.isalnum() for c in CRAWL[name]) else None


@pytest.mark.parametrize(
    "toml",
    [b"\xff", b"a = [" * 5000, b"[index]\nexclude = 3", b"index = 1", b"format = 99", b"x" * 100_000, b"[index]\nexclude = ['" + b"*a" * 200 + b"']"],
)  # fmt: skip
def test_odd_settings_are_a_problem_and_stop_nothing(vault, caller, toml):
    Path(vault.root, "cortex.toml").write_bytes(toml)
    Path(vault.root, f"{'a' * 200}.md").write_text("zebra")
    assert search(vault, caller, "zebra").hits


@pytest.mark.parametrize("head", [b"---\r\n", b"---\n", b"---\r"])
def test_frontmatter_that_never_ends_is_shown_quickly(vault, caller, head):
    Path(vault.root, "open.md").write_bytes(head + b"zebra line\r\n" * 5000)
    with cpu_limit(5):
        assert search(vault, caller, "zebra").hits


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_note_in_utf_16_is_found_by_its_words_and_named(vault, caller, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    Path(vault.root, "wide.md").write_bytes(
        f"{mark}# Zebra\n\nna\u00efve giraffe\n".encode(encoding)
    )
    (hit,) = search(vault, caller, "giraffe").hits
    assert (hit.path, hit.line, "giraffe" in hit.snippet) == ("wide.md", 3, True)
    assert "UTF-16" in problems(vault, caller)["wide.md"]


def test_folders_that_are_links_are_named(vault, caller, tmp_path):
    (tmp_path / "ext").mkdir()
    Path(vault.root, "linked").symlink_to(tmp_path / "ext")
    assert "link to a folder" in problems(vault, caller)["linked"]


@pytest.mark.parametrize("name", ["\u65e5\u672c.git/l.md", "x.git/a.md", "git/a.md"])
def test_a_name_that_only_resembles_gits_is_a_name(vault, caller, name):
    Path(vault.root, name).parent.mkdir()
    Path(vault.root, name).write_text("zebra")
    assert [hit.path for hit in search(vault, caller, "zebra").hits] == [name]
    assert problems(vault, caller) == {}


def test_a_note_that_cannot_be_read_is_named(vault, caller):
    note = Path(vault.root, "locked.md")
    note.write_text("zebra")
    note.chmod(0)
    if os.access(note, os.R_OK):
        pytest.skip("not run: root reads every file")
    assert "permissions" in " ".join(problems(vault, caller).values())


def test_names_that_other_systems_cannot_hold_are_named_and_found(vault, caller):
    names = ["con.md", "a?.md", "b .md", "Note.md", "note.md", "x" * 150 + "/" + "y" * 60 + ".md", "caf\u00e9.md", "cafe\u0301.md", "tab\there.md"]  # fmt: skip
    for name in names:
        path = Path(vault.root, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("zebra")
    Path(os.fsdecode(os.fsencode(vault.root) + b"/odd-\xff.md")).write_text("zebra")
    assert len(search(vault, caller, "zebra", number=50).hits) == len(names) + 1
    found = problems(vault, caller)
    for name in ("con.md", "a?.md", "note.md", "caf\u00e9.md", "tab\there.md"):
        assert name in found or name.lower() in found, name


def test_a_read_only_vault_is_searched(vault, caller, cortex):
    Path(vault.root, "a.md").write_text("zebra")
    for folder, _, _ in list(os.walk(vault.root)):
        os.chmod(folder, 0o500)
    try:
        assert search(vault, caller, "zebra").hits
        if os.geteuid():
            with pytest.raises(CortexError, match="nothing was captured"):
                __import__("cortex.operations.capture.capture", fromlist=["capture"]).capture(
                    vault, caller, "x"
                )
    finally:
        for folder, _, _ in list(os.walk(vault.root)):
            os.chmod(folder, 0o700)


def test_no_verb_but_those_that_write_changes_a_byte(vault_from, cortex):
    vault = vault_from(
        "=== a.md\n---\ntitle: Foo: bar\n---\nzebra\r\n=== b.md\n\ufeff---\ntags: #x\n---\n=== sub/c.md\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"
    )

    def contents() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes() for path in Path(vault.root).rglob("*") if path.is_file()
        }

    before = contents()
    for words in (["init"], ["search", "zebra"], ["status"], ["doctor"], ["show", "a.md"], ["rebuild"], ["normalize"], ["search", "x", "--json"]):  # fmt: skip
        cortex(*words)
    assert contents() == before


def test_an_event_whose_name_is_two_names_to_git_does_not_stop_doctor(vault, caller, git):
    git(vault.root, "init", "-q")
    for text in ("one", "two"):
        for path in ("events/2026/a.md", "events/2026/a.md\nq.md", "q.md"):
            file = Path(vault.root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text if path != "events/2026/a.md" else "kept")
        commit_all(vault.root, text)
    assert (
        "holds a character that Windows refuses"
        in problems(vault, caller)["events/2026/a.md\nq.md"]
    )
