"""The merge driver as git runs it: a file, a bare interpreter, real merges."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.notes import note as notes
from cortex.interfaces import merge_driver
from cortex.operations.care.init import init
from cortex.operations.share.git import merge
from cortex.vault.git import drivers
from tests.conftest import commit_all

HEAD = b"---\nid: a-record-k3f9q2\n---\n"

DRIVER = [sys.executable, "-I", "-S", merge_driver.__file__]
CASES = Path(__file__).parent.parent / "merge_cases"
HEAVY = {
    "yaml", "frontmatter", "git", "subprocess", "hashlib", "asyncio", "argparse", "tempfile", "random", "signal", "threading", "logging", "json", "pathlib",
    "dataclasses", "inspect", "shutil", "socket", "difflib", "unicodedata", "sqlite3", "whoosh", "markdown_it",
}  # fmt: skip


@pytest.fixture
def drive(tmp_path):
    """Run the driver on three versions; `left` is what then stands in %A."""

    def run(
        base: bytes,
        ours: bytes,
        theirs: bytes,
        kind: str = "record",
        path: str = "records/n.md",
        flags: tuple[str, ...] = (),
        **env: str,
    ):
        for name, data in (("O", base), ("A", ours), ("B", theirs)):
            (tmp_path / name).write_bytes(data)
        line = [*DRIVER[:3], *flags, *DRIVER[3:], kind, "O", "A", "B", "7", path]
        done = subprocess.run(
            line, cwd=tmp_path, capture_output=True, timeout=60, check=False, env=os.environ | env
        )
        done.left = (tmp_path / "A").read_bytes()  # type: ignore[attr-defined]
        assert sorted(each.name for each in tmp_path.iterdir() if each.is_file()) == ["A", "B", "O"]
        return done

    return run


def attempt(root: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(words, cwd=root, capture_output=True, timeout=60, check=False)


def expected(name: str) -> bytes:
    return (CASES / name / "expected.md").read_bytes()


def case(name: str) -> tuple[bytes, bytes, bytes]:
    return tuple(
        (CASES / name / f"{which}.md").read_bytes() for which in ("base", "ours", "theirs")
    )  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("name", "code"),
    [("both-set-status", 0), ("same-body-line-and-tags", 1), ("task-ticked-against-task-added", 0)],
)
def test_writes_the_merged_note_into_the_file_that_git_gave(drive, name, code) -> None:
    done = drive(*case(name))
    assert done.returncode == code
    assert done.left == expected(name)
    assert done.stdout == b""
    told = (CASES / name / "decisions.txt").read_text().splitlines()[1:]
    assert done.stderr.decode().splitlines() == [f"records/n.md: {line}" for line in told]


@pytest.mark.parametrize(
    "name",
    ["both-set-status", "added-on-both-sides-then-tagged", "session-turns-on-both-sides", "task-ticked-against-task-added"],
)  # fmt: skip
def test_loads_only_what_a_merge_needs(drive, name) -> None:
    done = drive(*case(name), flags=("-X", "importtime"))
    loaded = {
        line.rpartition("|")[2].strip()
        for line in done.stderr.decode().splitlines()
        if line.startswith("import time:")
    }
    assert "cortex.core.merge.merge_record" in loaded  # or the list was read wrongly
    assert not {module for module in loaded if module.partition(".")[0] in HEAVY}
    ours = {module for module in loaded if module.startswith("cortex.")} - {
        "cortex.core",
        "cortex.core.merge",
        "cortex.core.model",
        "cortex.core.notes",
        "cortex.core.text",
        "cortex.interfaces",
        "cortex.interfaces.cli",
    }
    assert ours <= {
        "cortex.core.merge.merge_record", "cortex.core.merge.fields", "cortex.core.merge.body", "cortex.core.notes.yaml_lines",
        "cortex.core.notes.yaml_subset", "cortex.core.text.yaml_writer", "cortex.core.model.note_form", "cortex.core.model.note_status", "cortex.core.model.problem", "cortex.core.text.value", "cortex.core.text.light", "cortex.core.text.lazy_re", "cortex.interfaces.escape_terminal",
    }  # fmt: skip


def test_two_notes_are_not_merged(drive) -> None:
    base, ours, theirs = case("two-notes-one-deleted-and-one-saved-alike")
    done = drive(base, ours, theirs)
    assert (done.returncode, done.left) == (1, ours)
    assert "for one note; cortex sync parts them" in done.stderr.decode()


@pytest.mark.parametrize(
    "path",
    ["$(touch PWN).md", "-rf.md", ":(x).md", "a\x1b]0;x\x07\n.md", "`touch PWN`.md", "n\udcff.md"],
)
def test_a_path_is_only_ever_printed(drive, tmp_path, path) -> None:
    done = drive(*case("both-set-status"), path=path)
    assert done.returncode == 0
    assert not (tmp_path / "PWN").exists()
    assert b"\x1b" not in done.stderr
    assert done.stderr.count(b"\n") == 1
    if path.isprintable():
        assert done.stderr.startswith(path.encode())


def test_what_it_cannot_merge_it_leaves_to_the_fallback(drive, tmp_path) -> None:
    big = b"x\n" * (3 * 1024 * 1024)
    for base, ours, theirs in (
        (HEAD + b"a\n", HEAD + b"b\0", HEAD + b"c\n"),
        (b"a\n", b"b\n", big),
    ):
        done = drive(base, ours, theirs)
        assert (done.returncode, done.left) == (2, ours)
        assert b"not merged by its fields" in done.stderr


@pytest.mark.parametrize(
    "words",
    [[], ["record"], ["record", "O", "A", "B", "seven", "p"], ["record", "none", "A", "B", "7", "p"], ["record", "O", "A", "B", "7"]],
)  # fmt: skip
def test_a_wrong_call_never_ends_like_a_conflict(drive, tmp_path, words) -> None:
    """1 would tell git that the file holds the conflict, and `git commit -a` would drop the other side."""
    assert drive(HEAD + b"a\n", HEAD + b"b\n", HEAD + b"c\n").returncode == 1
    assert attempt(tmp_path, *DRIVER, *words).returncode == 2


def test_a_briefing_never_holds_up_a_merge(drive, tmp_path) -> None:
    big = b"x\n" * (3 * 1024 * 1024)
    done = drive(b"a\n", b"b\n", big, kind="briefing")
    assert (done.returncode, done.left) == (0, b"b\n")
    assert attempt(tmp_path, *DRIVER, "briefing").returncode == 0


def test_a_briefing_is_merged_by_the_standard_library_alone(drive) -> None:
    page = b"one side left it alone\n"
    done = drive(page, page + b"more\n", page, kind="briefing", flags=("-X", "importtime"))
    assert (done.returncode, done.left) == (0, page + b"more\n")
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "cortex.core.briefing.pages" in loaded
    assert not {module for module in loaded if module.partition(".")[0] in HEAVY}


def test_on_a_full_disk_the_file_holds_what_it_held(drive, tmp_path) -> None:
    base, ours, theirs = case("lines-added-at-the-end-on-both-sides")
    for name, data in (("O", base), ("A", ours), ("B", theirs)):
        (tmp_path / name).write_bytes(data)

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(ours) + 5, len(ours) + 5))

    # Python ignores SIGXFSZ, so that the write fails as one on a full disk does.
    done = subprocess.run(
        [*DRIVER, "record", "O", "A", "B", "7", "p"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=full,
    )
    assert done.returncode == 2
    assert (tmp_path / "A").read_bytes() == ours


# -- real git


@pytest.fixture
def repository(tmp_path, git) -> Path:
    """A code repository with a vault in a folder of it, and the driver registered as Cortex registers it."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    line = " ".join(shlex.quote(word) for word in DRIVER)
    fallback = 'r=$?; [ "$r" -le 1 ] && exit "$r"; exec git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B'
    git(root, "config", "merge.cortex-record.driver", f"{line} record %O %A %B %L %P; {fallback}")
    (root / "v").mkdir()
    (root / "v/.gitattributes").write_text("records/** text eol=lf merge=cortex-record\n")
    commit_all(root, "begin")
    return root


def write(root: Path, git, branch: str, name: str, data: bytes) -> None:
    file = root / "v/records" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    git(root, "add", "--", ":(literal)v/records/" + name)
    git(root, "commit", "-qm", f"{branch}: {name}")


def diverged(root: Path, git, trio: tuple[bytes, bytes, bytes], name: str = "n.md") -> None:
    base, ours, theirs = trio
    if base:
        write(root, git, "main", name, base)
    git(root, "checkout", "-qb", "side")
    write(root, git, "side", name, theirs)
    git(root, "checkout", "-q", "main")
    write(root, git, "main", name, ours)


@pytest.mark.parametrize(
    "name",
    ["both-append-to-a-list", "added-on-both-sides-then-tagged", "session-turns-on-both-sides", "same-body-line-and-tags"],
)  # fmt: skip
@pytest.mark.parametrize("way", ["merge", "rebase", "cherry-pick"])
def test_git_gives_the_expected_note_whichever_way(repository, git, name, way) -> None:
    diverged(repository, git, case(name))
    done = attempt(repository, "git", way, "side")
    file = repository / "v/records/n.md"
    assert file.read_bytes() == expected(name)
    clean = (CASES / name / "decisions.txt").read_text().startswith("clean")
    assert (done.returncode == 0) == clean
    assert (git(repository, "ls-files", "-u") == "") == clean


@pytest.mark.parametrize("where", ["v", "v/records", "tree", "tree/v"])
def test_git_gives_it_from_a_subdirectory_and_a_linked_worktree(repository, git, where) -> None:
    diverged(repository, git, case("both-append-to-a-list"))
    if where.startswith("tree"):
        git(repository, "worktree", "add", "-q", "-b", "other", "../tree")
    place = repository / where if not where.startswith("tree") else repository.parent / where
    git(place, "merge", "-q", "--no-edit", "side")
    top = repository if not where.startswith("tree") else repository.parent / "tree"
    assert (top / "v/records/n.md").read_bytes() == expected("both-append-to-a-list")
    assert git(top, "status", "--porcelain") == ""


def test_a_file_named_like_a_command_is_merged_like_any_other(repository, git) -> None:
    name = "$(touch PWN).md"
    diverged(repository, git, case("both-append-to-a-list"), name)
    git(repository, "merge", "-q", "--no-edit", "side")
    assert (repository / "v/records" / name).read_bytes() == expected("both-append-to-a-list")
    assert not list(repository.rglob("PWN"))


def test_a_driver_that_is_gone_leaves_markers_and_not_one_side_alone(repository, git) -> None:
    command = git(repository, "config", "merge.cortex-record.driver").strip()
    git(
        repository,
        "config",
        "merge.cortex-record.driver",
        command.replace("merge_driver.py", "gone.py"),
    )
    diverged(repository, git, case("same-body-line-and-tags"))
    assert attempt(repository, "git", "merge", "side").returncode == 1
    left = (repository / "v/records/n.md").read_bytes()
    assert b"not enough" in left
    assert b"One file is enough." in left


# -- the verb


def test_the_verb_merges_files_as_the_driver_does(caller, tmp_path) -> None:
    for name in ("base", "ours", "theirs"):
        (tmp_path / name).write_bytes((CASES / f"both-set-status/{name}.md").read_bytes())
    merged = merge(caller, "base", "ours", str(tmp_path / "theirs"), explain=True)
    assert merged.text == (CASES / "both-set-status/expected.md").read_text()
    assert merged.clean
    assert merged.decisions[0].startswith('status: kept "superseded"')
    assert notes.read(merged.text.encode()).problems == ()


def test_the_verb_explains_what_it_cannot_read(caller, tmp_path) -> None:
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "big").write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    os.mkfifo(tmp_path / "pipe")
    for words, error in (
        (("a", "a", "none"), NotFoundError),
        (("a", "a", "big"), InvalidInputError),
        (("a", "a", "pipe"), InvalidInputError),
        (("a", ".", "a"), InvalidInputError),
        (("a", "a", "x\0"), NotFoundError),
    ):
        with pytest.raises(error):
            merge(caller, *words)


@pytest.mark.parametrize(
    ("id_", "clean"),
    [("id: a-record-k3f9q2\n", True), ("", False)],
    ids=["a record", "a note of one's own"],
)
def test_a_record_merges_by_field_wherever_it_was_moved_and_a_note_of_ones_own_as_git_merges_text(
    id_, clean, tmp_path, git
) -> None:
    root = tmp_path / "vault"
    init(Caller(str(tmp_path), "2026-11-20T16:45:12Z", bytes, "test", no_progress), str(root))
    git(root, "init", "-q", "-b", "main")
    drivers.register(str(root))
    note = root / "Ideas/a note.md"
    note.parent.mkdir()
    text = f"---\n{id_}tags: [a]\nupdated: 2026-11-20\n---\nbody\n"
    for branch, tag in (("", "a"), ("side", "b"), ("main", "c")):
        if branch:
            git(root, "checkout", "-q", *(["-b"] if branch == "side" else []), branch)
        note.write_text(text if tag == "a" else text.replace("[a]", f"[a, {tag}]"))
        commit_all(root, tag)
    done = attempt(root, "git", "merge", "-q", "--no-edit", "side")
    assert (done.returncode == 0) == clean
    assert ("<<<<<<<" not in note.read_text()) == clean
    assert ("tags: [a, b, c]" in note.read_text()) == clean
