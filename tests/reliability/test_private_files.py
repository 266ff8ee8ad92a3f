"""Links, pipes, devices and strangers' files in the place of each small file that Cortex or git reads around a vault.

Whatever lies there, every command answers soon, nothing of a file elsewhere gets into the vault, the output or the state, and
somebody says what is wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cortex.core.model.problem import CortexError
from cortex.interfaces.cli.main import main
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.vault import files, private
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from tests.conftest import commit_all

SECRET = "zanzibar-4711"  # also a possible project's name: nothing would redact it
SOON = 10  # seconds; git alone is given twenty
COMMANDS = (
    ("capture", "Decision: go on, because it is only a file"), ("status",), ("search", "only a file"), ("brief",), ("project", "list"),
    ("normalize",), ("heal",), ("sync", "--no-push"), ("doctor",),
)  # fmt: skip


class World(NamedTuple):
    """A code project with a vault of its own elsewhere, both under git, and a file that nobody may see."""

    project: Path
    vault: Vault
    secret: Path
    config: Path


@pytest.fixture
def world(tmp_path: Path, caller, git, homes, monkeypatch: pytest.MonkeyPatch) -> World:
    vault = Vault(init(caller, str(tmp_path / "vault")).root)
    commit_all(vault.root, "one")
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    git(project, "commit", "-q", "--allow-empty", "-m", "one")
    secret = tmp_path / "elsewhere" / "credentials"
    secret.parent.mkdir()
    secret.write_text(f"{SECRET}\n[core]\nref: refs/heads/{SECRET}\n")
    capture(vault, caller, "Gotcha: the first one")
    monkeypatch.setenv("CORTEX_VAULT", vault.root)
    monkeypatch.chdir(project)
    for words in (("search", "first"), ("brief",), ("status",)):
        assert main(words) in (0, 1)
    return World(project, vault, secret, homes / "config/cortex")


def place(shape: str, path: Path, secret: Path) -> None:
    """Put something else in the place of a file or folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if shape == "link":
        path.symlink_to(secret)
    elif shape == "link to a folder":
        path.symlink_to(secret.parent)
    elif shape == "dangling link":
        path.symlink_to(secret.with_name("nothing"))
    elif shape == "link to endless":
        path.symlink_to("/dev/zero")
    elif shape == "pipe":
        os.mkfifo(path)
    elif shape == "socket":
        here = os.open(".", os.O_RDONLY)
        try:
            os.chdir(path.parent)  # a socket's path is short
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(path.name)
        finally:
            os.fchdir(here)
            os.close(here)
    elif shape == "device":
        try:
            os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))  # /dev/zero
        except PermissionError:
            pytest.skip("not run: a device needs root")
    elif shape == "folder":
        path.mkdir()
    elif shape == "huge":
        with path.open("wb") as file:
            file.truncate(3 << 30)
    elif shape == "another user's":
        if os.geteuid() != 0:
            pytest.skip("not run: another user's file needs root")
        path.write_text(f"{SECRET}\n")
        os.chown(path, 12_345, 12_345)
        path.chmod(0o666)


@pytest.fixture
def soon() -> Iterator[Callable[[], None]]:
    """Ends a command that waits for ever."""

    def overdue(*_: object) -> None:
        raise TimeoutError("still waiting")

    before = signal.signal(signal.SIGALRM, overdue)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, SOON)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def run_all(world: World, soon, capsys, commands=COMMANDS) -> dict[str, str]:
    """What each command says; none takes long, none ends with a traceback."""
    said = {}
    for words in commands:
        soon()
        begun = time.monotonic()
        code = main(words)
        assert time.monotonic() - begun < SOON, words
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert code in (0, 1, 2), words
        out, err = capsys.readouterr()
        said[words[0]] = out + err
    return said


def leaks(world: World, said: dict[str, str], homes: Path) -> list[str]:
    """Where the secret file's text is now, but in that file."""
    found = [name for name, text in said.items() if SECRET in text]
    for top in (Path(world.vault.root), world.project, homes):
        for parent, _, names in os.walk(top):
            for name in names:
                path = Path(parent, name)
                status = path.lstat()
                if (
                    path.is_symlink()
                    or not path.is_file()
                    or status.st_uid != os.geteuid()
                    or status.st_size > 1 << 24
                ):
                    continue
                data = path.read_bytes()
                if "objects" in path.parts and len(name) == 38:
                    data = zlib.decompress(data)
                if SECRET.encode() in data or SECRET in str(path.relative_to(top)):
                    found.append(str(path))
    return found


SOAK = os.environ.get("CORTEX_SOAK") == "1"
SHAPES = [
    "link", "link to a folder", "dangling link", "link to endless", "pipe", "socket", "device",
    "folder", "huge", "another user's",
]  # fmt: skip


def pairs(places: list[str]) -> list[tuple[str, str]]:
    """Every place with every shape in a soak; else with a link and another one, so that each shape comes up."""
    return [
        (place, shape)
        for number, place in enumerate(places)
        for shape in (SHAPES if SOAK else ("link", SHAPES[1 + number % (len(SHAPES) - 1)]))
    ]


AROUND = [
    "project/.cortex-project", "project/.git", "project/.git/HEAD", "project/.git/config",
    "project/.git/commondir", "project/.git/packed-refs",
]  # fmt: skip
OF_VAULT = ["vault/.git", "vault/.git/HEAD", "vault/.git/config", "vault/.git/index", "vault/.git/packed-refs", "vault/.git/info/attributes", "vault/.git/refs/heads/main", "vault/cortex.toml"]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("where", "shape"), pairs(AROUND))
def test_in_the_project_nothing_waits_leaks_or_stops_a_capture(
    where, shape, world, soon, capsys, homes, tmp_path
) -> None:
    path = tmp_path / where
    place(shape, path, world.secret)
    said = run_all(world, soon, capsys)
    assert leaks(world, said, homes) == [] or shape == "another user's"
    assert len(list(Path(world.vault.root).glob("records/decision/*.md"))) == 1
    if where.endswith(".cortex-project") and shape not in ("huge", "another user's"):
        assert str(path) in said["doctor"]


# Git itself hashes what is in its index and in the work tree, however large.
LARGE = ("vault/.git/index", "vault/cortex.toml")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("where", "shape"),
    [pair for pair in pairs(OF_VAULT) if pair[1] != "huge" or pair[0] not in LARGE],
)
def test_in_the_vault_nothing_waits_or_leaks_and_doctor_says_what_is_wrong(
    where, shape, world, soon, capsys, homes, tmp_path
) -> None:
    path = tmp_path / where
    place(shape, path, world.secret)
    said = run_all(world, soon, capsys)
    assert leaks(world, said, homes) == [] or shape == "another user's"
    assert len(list(Path(world.vault.root).glob("records/decision/*.md"))) == 1 or where.endswith(
        "cortex.toml"
    )
    harmless = shape == "another user's" or (
        where.endswith(("packed-refs", "attributes"))
        and shape in ("huge", "folder", "dangling link")
    )
    harmless = harmless or (
        where.endswith("attributes") and "link" in shape
    )  # git takes its lines for patterns that match nothing
    harmless = harmless or (
        where.endswith("main") and shape == "folder"
    )  # to git an empty one is a branch without a commit
    gone = where == "vault/.git" and shape in (
        "pipe", "socket", "device", "folder", "dangling link", "huge", "link to endless", "link",
    )  # fmt: skip
    if not harmless and not gone:
        name = path.name if where != "vault/.git/refs/heads/main" else "main"
        assert name in said["doctor"] or name in said["sync"], said


STATE = [
    "access.log", "hooks.log", "git-seen", "sessions", "waiting", "reminded", "normalize.lock",
    "heal.lock", "sync.lock", "watch.lock",
]  # fmt: skip
CACHE = ["state.json", "stamps", "catalogue.sqlite", "briefs", "index", "index.lock", "degree"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("content", ["", "x"])
@pytest.mark.parametrize("kind", ["cache", "state"])
def test_a_folder_in_the_place_of_a_private_file_is_rebuilt_around(
    kind, content, world, capsys, caller
) -> None:
    """Of each file that there is after some commands. What is in the folder is not lost, if that is the state's."""
    top = Path({"state": world.vault.state_folder, "cache": world.vault.cache_folder}[kind]())
    for words in COMMANDS:
        main(words)
    capsys.readouterr()
    paths = sorted(path for path in top.rglob("*") if path.is_file())
    for path in paths if SOAK else paths[::3]:
        place("folder", path, world.secret)
        if content:
            (path / "kept").write_text(content)
        capture(world.vault, caller, f"Decision: {path.name}, because it is only a folder")
        said = {}
        for words in COMMANDS:
            assert main(words) == 0, (path, words, capsys.readouterr())
            said[words[0]] = capsys.readouterr().out
        assert "only a file" in said["search"]
        # What is of one session or of an older index is not looked at again.
        assert not path.is_dir() or path.parent != top, path
        kept = [one for one in top.rglob("kept") if path.name in one.parent.name]
        assert len(kept) == bool(content) or kind == "cache" or path.parent != top


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "shape"),
    pairs([*(f"state/{name}" for name in STATE), *(f"cache/{name}" for name in CACHE)]),
)
def test_in_state_and_cache_nothing_waits_or_leaks(name, shape, world, soon, capsys, homes) -> None:
    kind, _, below = name.partition("/")
    path = Path(
        {"state": world.vault.state_folder, "cache": world.vault.cache_folder}[kind](), below
    )
    is_folder = below in ("sessions", "waiting", "reminded", "briefs", "index")
    place(shape, path, world.secret)
    said = run_all(world, soon, capsys)
    assert leaks(world, said, homes) == []
    assert world.secret.read_text().startswith(SECRET)
    assert sorted(os.listdir(world.secret.parent)) == ["credentials"]
    still = path.is_symlink() or (
        path.exists() and not path.is_file() and not path.is_dir() and not path.is_socket()
    )
    if still or (path.exists() and path.lstat().st_uid != os.geteuid()):
        assert str(path) in said["doctor"] or below in " ".join(said.values()), said["doctor"]
    if not is_folder and shape == "folder":
        return
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    run_all(world, soon, capsys, COMMANDS[:4])
    assert main(("search", "only a file")) == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_in_the_place_of_the_default_vaults_name(
    shape, world, soon, capsys, homes, monkeypatch
) -> None:
    path = world.config / "default-vault"
    place(shape, path, world.secret)
    monkeypatch.delenv("CORTEX_VAULT")
    monkeypatch.chdir(homes)  # no vault is above it
    for words in (("status",), ("capture", "x")):
        soon()
        assert main(words) == 2
        out, err = capsys.readouterr()
        assert "default-vault" in err or "there is no vault" in err
        assert (
            SECRET not in out + err or shape == "link"
        )  # a person's own settings may be a link to a file of theirs
    monkeypatch.setenv("CORTEX_VAULT", world.vault.root)
    soon()
    main(("doctor",))
    said = capsys.readouterr().out
    assert "default-vault" in said or shape in ("link", "dangling link", "huge")


def test_a_persons_own_settings_may_be_a_link(world, caller, monkeypatch, homes) -> None:
    """As those who keep their settings under git make them; what is written goes to the file behind the link."""
    kept = world.secret.with_name("default-vault")
    kept.write_text(f"{world.vault.root}\n")
    path = world.config / "default-vault"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(kept)
    monkeypatch.delenv("CORTEX_VAULT")
    monkeypatch.chdir(homes)
    assert main(("status",)) == 0
    assert main(("init", str(world.secret.with_name("another")), "--default")) == 0
    assert path.is_symlink()
    assert kept.read_text() == f"{world.secret.with_name('another')}\n"


def test_a_vault_behind_a_link_is_a_vault(world, capsys, tmp_path, monkeypatch) -> None:
    link = tmp_path / "linked"
    link.symlink_to(world.vault.root)
    monkeypatch.setenv("CORTEX_VAULT", str(link))
    assert main(("capture", "Decision: through a link, because it is only a name")) == 0
    assert main(("sync", "--no-push")) == 0
    assert "committed " in capsys.readouterr().out


def test_head_as_a_link_that_is_a_refs_name_is_read_as_git_reads_it(world, git) -> None:
    head = world.project / ".git/HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    assert git(world.project, "symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert checkout.branch_of(str(world.project)) == "main"


def test_a_worktree_a_submodule_and_a_separate_git_folder_stay_what_they_are(
    world, git, tmp_path
) -> None:
    git(world.vault.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert checkout.branch_of(str(tmp_path / "side")) == "side"
    git(
        world.project,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        world.vault.root,
        "notes",
    )
    assert checkout.branch_of(str(world.project / "notes")) == "main"
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "kept.git"), "apart")
    assert checkout.branch_of(str(tmp_path / "apart")) == "main"
    for folder in ("side", "project/notes", "apart"):
        assert checkout.find_fault(str(tmp_path / folder)) == ("", "")


def test_a_git_folder_behind_a_link_is_named_with_what_does_as_well(
    world, soon, capsys, tmp_path
) -> None:
    folder = Path(world.vault.root, ".git")
    shutil.move(folder, tmp_path / "moved.git")
    folder.symlink_to(tmp_path / "moved.git")
    said = run_all(world, soon, capsys)
    assert "is a link" in said["sync"] + said["doctor"]
    hint = f"rm {folder} && echo 'gitdir: {tmp_path / 'moved.git'}' > {folder}"
    assert hint in said["doctor"]
    subprocess.run(hint, shell=True, check=True, timeout=60)
    assert main(("sync", "--no-push")) == 0
    assert "committed " in capsys.readouterr().out


@pytest.mark.parametrize(("name", "shape"), [
    *((name, "pipe") for name in ("index", "config", "packed-refs", "refs/heads/main")),
    ("refs/heads/main", "link"),
])  # fmt: skip
def test_doctor_fix_moves_a_pipe_out_of_gits_way(name, shape, world, soon, capsys) -> None:
    place(shape, Path(world.vault.root, ".git", name), world.secret)
    soon()
    main(("doctor",))
    assert "cortex doctor --fix" in capsys.readouterr().out
    soon()
    main(("doctor", "--fix"))
    assert (
        f"moved {name}, which was no file of git's, to .git/cortex-damaged"
        in capsys.readouterr().out
    )
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert main(("sync", "--no-push")) == 0
    assert "committed " in capsys.readouterr().out


def test_doctor_names_the_command_for_a_pipe_in_the_place_of_head(world, soon, capsys) -> None:
    place("pipe", Path(world.vault.root, ".git/HEAD"), world.secret)
    soon()
    main(("doctor", "--json"))
    problems = json.loads(capsys.readouterr().out)["problems"]
    (hint,) = (one["hint"] for one in problems if one["where"] == ".git/HEAD")
    signal.setitimer(signal.ITIMER_REAL, 0)
    subprocess.run(hint, shell=True, check=True, timeout=60)
    assert main(("sync", "--no-push")) == 0
    assert "committed " in capsys.readouterr().out


def test_a_secret_in_a_project_file_is_no_name(world, capsys) -> None:
    """Of a shape that is known: such a file is a person's own, so its other words may be a name."""
    token = "ghp_" + "a1B2" * 9
    (world.project / ".cortex-project").write_text(f"{token}\n")
    assert token.lower() not in checkout.project_of(str(world.project))
    assert main(("doctor",)) == 1
    said = capsys.readouterr().out
    assert ".cortex-project" in said
    assert token not in said
    (world.project / ".cortex-project").write_text("Shop\n")
    assert checkout.project_of(str(world.project)) == "shop"


def test_a_file_that_a_stranger_put_into_a_folder_for_all_is_not_read(tmp_path, as_user) -> None:
    shared = tmp_path / "shared"
    (shared / "project").mkdir(parents=True)
    path = shared / ".cortex-project"
    path.write_text(f"{SECRET}\n")
    os.chown(path, 12_345, 12_345)
    for mode, read in (
        (0o1777, ""),
        (0o2775, SECRET),
        (0o755, SECRET),
    ):  # everybody's, a group's, the owner's own
        shared.chmod(mode)
        assert checkout.read_project_file(str(path)) == read
        assert bool(files.why_unreadable(str(path))) != bool(read)
    os.chown(path, 0, 0)
    shared.chmod(0o1777)
    assert checkout.read_project_file(str(path)) == SECRET


def test_a_private_file_is_replaced_whole_and_never_through_a_link(tmp_path) -> None:
    target = tmp_path / "target"
    target.write_text("as it was")
    (tmp_path / "file").symlink_to(target)
    private.replace(str(tmp_path / "file"), b"new", durable=True)
    assert (target.read_text(), (tmp_path / "file").read_text()) == ("as it was", "new")
    assert sorted(os.listdir(tmp_path)) == ["file", "target"]
    (tmp_path / "linked").symlink_to(tmp_path)
    with pytest.raises(CortexError, match="not a folder of yours"):
        private.ensure_folder(str(tmp_path / "linked"))
    with pytest.raises(CortexError, match="is a link"):
        (tmp_path / "log").symlink_to(target)
        private.open_private(str(tmp_path / "log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def test_two_that_replace_one_file_at_once_leave_one_of_them_whole(tmp_path, monkeypatch) -> None:
    """Two containers may have processes of one number, and share a state folder."""
    path = str(tmp_path / "file")
    full_fsync = private.files.full_fsync

    def other_replaces(fd: int) -> None:
        monkeypatch.setattr(private.files, "full_fsync", full_fsync)
        private.replace(path, b"other")
        full_fsync(fd)

    monkeypatch.setattr(private.files, "full_fsync", other_replaces)
    private.replace(path, b"one", synced=True)
    assert Path(path).read_text() == "one"
    assert os.listdir(tmp_path) == ["file"]
