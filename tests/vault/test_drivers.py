"""The merge drivers' registration: whole or absent, wherever the repository lies and whatever its attributes say."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError, Problem
from cortex.vault.git import attributes, drivers
from tests.conftest import commit_all, make_lock

BODY = "---\nid: {}\ntype: decision\ntitle: One\n---\n{}\n"
PATH = "records/decision/one.md"


@pytest.fixture
def clone(vault, git) -> Path:
    """A vault under git, with one commit."""
    root = Path(vault.root)
    git(root, "init", "-q")
    (root / "records/decision").mkdir(parents=True)
    (root / PATH).write_text(BODY.format("one", "base"))
    commit_all(root, "one")
    return root


def setting(git: Callable[..., str], root: Path, name: str) -> str:
    return git(root, "config", "--get", name).rstrip("\n")


def effective(git: Callable[..., str], root: Path, *paths: str) -> list[str]:
    return [
        line.rpartition(": ")[2]
        for line in git(root, "check-attr", "merge", "--", *paths).splitlines()
    ]


PROBES = (
    "briefings/a/main.md", "records/gotcha/x y.md", "sessions/2026/11/s.md", "events/2026/11/e.md",
    "inbox/pending/e.md", "own.md",
)  # fmt: skip
OURS = ["cortex-briefing", "cortex-record", "cortex-record", "unset", "unset", "cortex-record"]


def test_both_drivers_are_registered_once_and_git_takes_them(clone, git):
    assert drivers.config_problems(str(clone))
    assert [problem.message for problem in drivers.problems(str(clone))] == [
        "git does not know the merge driver cortex-briefing",
        "git does not know the merge driver cortex-record",
    ]
    assert drivers.register(str(clone))
    assert not drivers.config_problems(str(clone))
    assert not drivers.register(str(clone))
    program = f'"{sys.executable}" -I -S "{drivers.DRIVER_SCRIPT}"'
    assert (
        setting(git, clone, "merge.cortex-briefing.driver")
        == f"{program} briefing %O %A %B %L %P || true"
    )
    assert setting(git, clone, "merge.cortex-record.driver").startswith(
        f"{program} record %O %A %B %L %P; r=$?; "
    )
    assert effective(git, clone, *PROBES) == OURS
    assert drivers.problems(str(clone)) == []
    assert b"records/** merge=cortex-record" in (clone / ".git/info/attributes").read_bytes()


def test_outside_a_repository_there_is_nothing_to_register(vault):
    assert not drivers.config_problems(vault.root)
    assert not drivers.register(vault.root)
    assert not drivers.unregister(vault.root)
    assert drivers.problems(vault.root) == []


ODD = [
    "plain", "with blank", "it's", 'say "x"', "50% off %O", "$HOME `id` \\n", "ünïc", "a;b #c", "two\nlines",
]  # fmt: skip


@pytest.mark.parametrize("folder", ODD)
def test_the_program_may_lie_anywhere(folder, clone, tmp_path, git, monkeypatch):
    """Python and package below a folder with an odd name: git and sh must both read the command as we mean it."""
    place = tmp_path / folder
    place.mkdir()
    os.symlink(sys.executable, place / "python")
    (place / "driver.py").write_text(
        "import sys\nopen(sys.argv[3], 'w').write('merged by %s\\n' % sys.argv[1])\n"
    )
    monkeypatch.setattr(sys, "executable", str(place / "python"))
    monkeypatch.setattr(drivers, "DRIVER_SCRIPT", str(place / "driver.py"))
    assert drivers.register(str(clone))
    assert not drivers.config_problems(str(clone))
    assert drivers.problems(str(clone)) == []
    assert diverged(clone, git)("merge", "-q", "side").returncode == 0
    assert (clone / PATH).read_text() == "merged by record\n"
    (place / "python").unlink()
    assert drivers.config_problems(str(clone))
    assert [problem.message for problem in drivers.problems(str(clone))] == [
        f"merge.{name}.driver runs {place}/python, which is gone"
        for name in ("cortex-briefing", "cortex-record")
    ]


def diverged(
    root: Path, git: Callable[..., str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Two branches that changed one record's same line, and one briefing's."""
    for branch, text in (("side", "theirs"), ("main", "ours")):
        git(root, "checkout", "-q", *(("-b", branch) if branch == "side" else (branch,)))
        (root / PATH).write_text(BODY.format("one", text))
        (root / "briefings").mkdir(exist_ok=True)
        (root / "briefings/x.md").write_text(f"{text}\n")
        commit_all(root, branch)
    return lambda *words: subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_program_that_is_gone_drops_no_side_of_a_record_and_blocks_no_briefing(
    clone, git, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    (tmp_path / "gone").symlink_to("/bin/sh")
    drivers.register(str(clone))
    (tmp_path / "gone").unlink()
    run = diverged(clone, git)
    assert run("merge", "-q", "side").returncode == 1
    assert git(clone, "diff", "--name-only", "--diff-filter=U").split() == [PATH]
    text = (clone / PATH).read_text()
    assert "<<<<<<< ours\nours\n" in text
    assert ">>>>>>> theirs" in text


def test_no_path_inside_a_worktree_is_stored(clone, git, tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    git(clone, "worktree", "add", "-q", str(tree), "-b", "other")
    (tree / "env").mkdir()
    os.symlink(sys.executable, tree / "env/python")
    monkeypatch.setattr(sys, "executable", str(tree / "env/python"))
    drivers.register(str(clone))
    assert f'"{os.path.realpath(sys.executable)}" -I -S' in setting(
        git, clone, "merge.cortex-record.driver"
    )
    shutil.rmtree(tree)
    assert not drivers.config_problems(str(clone))


def test_at_no_moment_is_there_a_name_without_a_driver(clone, git, tmp_path, monkeypatch):
    """A git of our own looks at the configuration after each step of the real one."""
    log = tmp_path / "log"
    real = shutil.which("git")
    spy = tmp_path / "bin/git"
    spy.parent.mkdir()
    look = f'{real} config --file {clone}/.git/config --name-only --get-regexp "^merge" >> {log}'
    spy.write_text(f'#!/bin/sh\n{real} "$@"; r=$?\n{look}\necho --- >> {log}\nexit $r\n')
    spy.chmod(0o755)
    monkeypatch.setenv("PATH", f"{spy.parent}{os.pathsep}{os.environ['PATH']}")
    assert drivers.register(str(clone))
    for name in ("cortex-briefing", "cortex-record"):
        git(clone, "config", f"merge.{name}.name", "as an older Cortex wrote it")
    assert drivers.unregister(str(clone))
    assert drivers.register(str(clone), again=True)
    steps = [set(step.split()) for step in log.read_text().split("---\n")]
    assert {1, 2, 3, 4} <= {len(step) for step in steps}
    for step in steps:
        for name in ("cortex-briefing", "cortex-record"):
            assert f"merge.{name}.name" not in step or f"merge.{name}.driver" in step


LOOP = """
import sys
from cortex.vault.git import drivers
while True:
    drivers.register(sys.argv[1], again=True)
    drivers.unregister(sys.argv[1])
"""


def test_killed_at_any_moment_it_leaves_nothing_that_the_next_cannot_finish(clone, soak):
    chance = random.Random(20261120)
    for _ in range(100 if soak else 8):
        mark = f"CORTEX_TEST={chance.random()}"
        process = subprocess.Popen(
            ["env", mark, sys.executable, "-c", LOOP, str(clone)], stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0.1, 0.3))
        process.send_signal(signal.SIGKILL)
        process.wait()
        until_gone(mark)
        assert "name = " not in (clone / ".git/config").read_text()
        drivers.register(str(clone), again=True)
        assert not drivers.config_problems(str(clone))
        assert not drivers.read_config(str(clone / ".git")).is_removed


def until_gone(mark: str) -> None:
    """The git that the killed process had started is on its own now, and finishes. It is known by a variable of its
    environment, which it has from the moment it is forked."""
    deadline = time.monotonic() + 60
    while any(is_running(process, mark) for process in processes()):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def processes() -> Iterator[Path]:
    return Path("/proc").glob("[0-9]*")


def is_running(process: Path, mark: str) -> bool:
    """Whether it has the mark. A git in the moment of its start has no environment yet: it may be ours."""
    with suppress(OSError):  # another user's, or gone
        environment = (process / "environ").read_bytes()
        return mark.encode() in environment or (
            not environment and (process / "exe").readlink().name == "git"
        )
    return False


@pytest.fixture
def soak() -> bool:
    return os.environ.get("CORTEX_SOAK") == "1"


def test_many_may_register_at_once(clone, git):
    once = "import sys; from cortex.vault.git import drivers; drivers.register(sys.argv[1])"
    running = [
        subprocess.Popen([sys.executable, "-c", once, str(clone)], stderr=subprocess.PIPE)
        for _ in range(6)
    ]
    for process in running:
        _, complaint = process.communicate(timeout=60)
        assert process.returncode == 0, complaint.decode()
    assert not drivers.config_problems(str(clone))
    assert git(clone, "config", "--get-all", "merge.cortex-record.driver").count("\n") == 1
    assert (clone / ".git/config").read_text().count("[merge ") == 2


def test_another_gits_lock_is_waited_for_and_never_removed(clone, monkeypatch):
    lock = clone / ".git/config.lock"
    make_lock(lock)
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import os, time; time.sleep(0.4); os.unlink({str(lock)!r})"]
    )
    assert drivers.register(str(clone))
    holder.wait()
    make_lock(lock)
    monkeypatch.setattr(drivers, "_LOCK_WAIT_SECONDS", 0.2)
    with pytest.raises(CortexError, match="could not lock config file") as caught:
        drivers.unregister(str(clone))
    assert str(lock) in caught.value.hint
    assert lock.exists()


STRANGE = {
    "a file of one's own": (".gitattributes", "records/** text\n"),
    "all binary": (".gitattributes", "* merge=binary\n"),
    "a nested file": ("records/decision/.gitattributes", "* -merge\n"),
    "one note alone": ("records/.gitattributes", "one.md merge=union\n"),
    "an event to be merged": ("events/.gitattributes", "** merge\n"),
    "a macro": (".gitattributes", "[attr]quiet merge=ours\nrecords/** quiet\nevents/** quiet\nsessions/** quiet\nbriefings/** quiet\n"),
}  # fmt: skip


PREFIXES = ["", 'q"t [x] *?', "-x", "#!", "back\\slash", "ünïc", "two\nlines", " "]


@pytest.mark.parametrize(
    ("case", "prefix"),
    [*((case, "my vault") for case in STRANGE), *(("all binary", prefix) for prefix in PREFIXES)],
)
def test_attributes_that_switch_our_drivers_off_are_spoken_over(case, prefix, tmp_path, git, vault):
    top = tmp_path / "code"
    root = top / prefix
    shutil.copytree(vault.root, root)
    git(top, "init", "-q")
    (root / "records/decision").mkdir(parents=True)
    (root / PATH).write_text(BODY.format("one", "base"))
    path, text = STRANGE[case]
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    commit_all(top, "one")
    assert attributes.overridden_paths(str(root)), "the attributes are harmless"

    def in_force() -> list[Problem]:
        found = drivers.problems(str(root))
        return [one for one in found if "a clone without Cortex" not in one.message]

    assert drivers.register(str(root))
    (top / ".git/info/attributes").unlink()
    (problem,) = in_force()
    assert (problem.where, problem.hint) == (".gitattributes", "cortex doctor --fix")
    assert drivers.register(str(root))
    assert in_force() == []
    assert effective(git, root, *PROBES[:4], PATH) == [*OURS[:4], "cortex-record"]
    assert not drivers.register(str(root))
    assert drivers.unregister(str(root))
    assert attributes.overridden_paths(str(root))


@pytest.mark.parametrize("before", [
    b"",
    b"*.png binary\n",
    b"*.png binary\r\n# x\r\n",
    b"# cortex: begin elsewhere\nx -diff\n# cortex: end\n",
    b"\xff\xfe odd\n",
])  # fmt: skip
def test_what_a_person_wrote_into_info_attributes_stays_byte_for_byte(before, clone, git):
    own = clone / ".git/info/attributes"
    own.parent.mkdir(exist_ok=True)
    if before:
        own.write_bytes(before)
    (clone / ".gitattributes").write_text("* merge=binary\n")
    assert drivers.register(str(clone))
    assert before in own.read_bytes()
    assert effective(git, clone, *PROBES[:4]) == OURS[:4]
    assert drivers.unregister(str(clone))
    assert (own.read_bytes() if own.exists() else b"") == before


def test_a_link_in_the_place_of_info_attributes_is_not_written_through(clone, tmp_path):
    target = tmp_path / "precious"
    target.write_text("x\n")
    (clone / ".git/info").mkdir(exist_ok=True)
    (clone / ".git/info/attributes").symlink_to(target)
    (clone / ".gitattributes").write_text("* merge=binary\n")
    with pytest.raises(CortexError, match="is a link"):
        drivers.register(str(clone))
    assert target.read_text() == "x\n"


def test_who_takes_them_out_is_not_given_them_back_unasked(clone):
    drivers.register(str(clone))
    assert drivers.unregister(str(clone))
    assert "cortex-" not in (clone / ".git/config").read_text()
    assert not drivers.config_problems(str(clone))
    assert not drivers.register(str(clone))
    assert not drivers.unregister(str(clone))
    assert drivers.problems(str(clone)) == []
    assert drivers.register(str(clone), again=True)
    assert len(drivers.read_config(str(clone / ".git")).commands) == 2


def test_a_title_without_a_command_stops_every_merge_and_is_mended(clone, git):
    drivers.register(str(clone))  # its attributes ask for the driver
    git(clone, "config", "--unset", "merge.cortex-record.driver")
    git(clone, "config", "merge.cortex-record.name", "left over")
    run = diverged(clone, git)
    assert "lacks command line" in run("merge", "side").stderr
    (problem,) = drivers.problems(str(clone))
    assert problem.message == "git does not know the merge driver cortex-record"
    assert drivers.register(str(clone))
    assert "lacks command line" not in run("merge", "side").stderr


@pytest.mark.parametrize(
    "command",
    ["touch PWN", '"/bin/sh" -I -S "/bin/sh" record %O %A %B %L %P', "bd merge %A %O %L %R"],
)
def test_a_command_that_is_not_ours_is_named_and_replaced(command, clone, git):
    drivers.register(str(clone))
    git(clone, "config", "merge.cortex-record.driver", command)
    assert drivers.config_problems(str(clone))
    (problem,) = drivers.problems(str(clone))
    assert (
        problem.message
        == "merge.cortex-record.driver runs another command than Cortex's, or that of an older Cortex"
    )
    assert drivers.register(str(clone))
    assert drivers.problems(str(clone)) == []


def test_attributes_that_no_clone_would_get_are_named(clone, git):
    drivers.register(str(clone))
    git(clone, "rm", "-q", "--cached", ".gitattributes")
    git(clone, "commit", "-qm", "without")
    (problem,) = drivers.problems(str(clone))
    assert (problem.where, problem.message) == (
        ".gitattributes",
        "is not committed, so other clones merge without Cortex",
    )


@pytest.mark.parametrize("text", [
    '[merge "cortex-record"]\n\tdriver = a b\n',
    '[merge "cortex-record"] driver = a b\n',
    '[Merge "cortex-record"]\nDRIVER=a b   # said so\n',
    '[merge "cortex-record"]\n\tdriver = "a b"  ; x\n',
    '[merge "cortex-record"]\n\tdriver = "a # \\"b\\" ; \\\\ \\t"c  \n',
    '[merge "cortex-record"]\n\tdriver = a \\\n  b\n[core]\n\tbare = false\n',
    '[merge "cortex-record"]\n\tname = x\n[core]\n\tx = y\n[merge "cortex-record"]\n\tdriver = one\n\tdriver = two\n',
    '[merge "other"]\n\tdriver = a b\n[merge "cortex-record"]\n# driver = x\n\tdriver = c\n',
])  # fmt: skip
def test_the_configuration_is_read_as_git_reads_it(text, tmp_path, git):
    (tmp_path / "config").write_text(text)
    said = git(
        tmp_path, "config", "--file", "config", "-z", "--get", "merge.cortex-record.driver"
    ).removesuffix("\0")
    assert drivers.read_config(str(tmp_path)).commands["cortex-record"] == said


def test_what_a_clone_captured_is_not_moved_because_another_emptied_its_inbox(clone, git, tmp_path):
    """git follows a folder that was renamed as a whole; the inbox that was normalized as a whole is none."""
    pending = clone / "inbox/pending"
    pending.mkdir(parents=True, exist_ok=True)
    (pending / "one.md").write_text("one\n" * 9)
    commit_all(clone, "one waits")
    git(clone, "branch", "side")
    (clone / "events/2026/11").mkdir(parents=True)
    git(clone, "mv", "inbox/pending/one.md", "events/2026/11/one.md")
    git(clone, "commit", "-qm", "normalized")
    git(clone, "checkout", "-q", "side")
    pending.mkdir(parents=True, exist_ok=True)
    (pending / "two.md").write_text("two\n")
    commit_all(clone, "two waits")
    git(clone, "checkout", "-q", "main")
    drivers.register(str(clone))
    git(clone, "merge", "-q", "--no-edit", "side")
    assert (pending / "two.md").read_text() == "two\n"
    git(clone, "config", "--get", "merge.directoryRenames")
    drivers.unregister(str(clone))
    with pytest.raises(AssertionError, match="git config --get"):
        git(clone, "config", "--get", "merge.directoryRenames")


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "is missing"), ("*.png binary\nrecords/** text\n", "lets git merge records as text")],
)
def test_attributes_by_which_a_clone_without_cortex_mixes_notes_are_named(
    clone, git, text, message
):
    drivers.register(str(clone))
    file = clone / ".gitattributes"
    file.unlink() if text is None else file.write_text(text)
    git(clone, "commit", "-qam", "by hand")
    (problem,) = drivers.problems(str(clone))
    assert problem.message == f"{message}: a clone without Cortex may mix two notes"
    file.write_text("* -merge\n")
    commit_all(clone, "by hand")
    assert drivers.problems(str(clone)) == []
