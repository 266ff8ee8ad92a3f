"""What all tests share: private cache and state folders, vaults written as text, and a `cortex` to call."""

from __future__ import annotations

import io
import itertools
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import termios
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from cortex.core.model.caller import Caller, no_progress
from cortex.interfaces.cli.main import main
from cortex.interfaces.declare import convert, declaration_of
from cortex.operations.care.init import init
from cortex.vault.git import git_locks
from cortex.vault.locate import Vault

SOAK = os.environ.get("CORTEX_SOAK") == "1"
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "soak", deadline=None, max_examples=2000, suppress_health_check=list(HealthCheck)
)
settings.load_profile("soak" if SOAK else "ci")
if not SOAK:
    # Numbers and words of the modules that a process happens to have loaded are tried too, so that a
    # test's examples depend on the tests before it.
    providers._get_local_constants = lambda: providers._local_constants
LARGE = 1_000_000 if SOAK else 50_000  # characters of a text that is built to take quadratic time

NOW = "2026-11-20T16:45:12Z"
# What the environment of the person who runs the tests must not change, by the beginning of its name.
_PERSONAL = (
    "CORTEX_", "GIT_", "XDG_", "CLAUDE", "CODEX", "CURSOR", "GEMINI", "COLUMNS", "LINES",
    "NO_COLOR", "FORCE_COLOR", "PYTHON",
)  # fmt: skip
_OF_THE_SUITE = (
    "CORTEX_SOAK",
    "CORTEX_UPTIME",
    "CORTEX_UPDATE",
    "CORTEX_GITS",
    "CORTEX_HISTORIES",
    "CORTEX_REAL_CLI_BIN",
)
# Without housekeeping a git that the tests run starts half as many processes.
_GITCONFIG = """\
[user]
	name = Test
	email = test@example.org
[init]
	defaultBranch = main
[gc]
	auto = 0
[maintenance]
	auto = false
[receive]
	autogc = false
"""
_MIN_FREE_BYTES = 2 << 30  # bytes in memory, of which the tests use a tenth at most
_homes = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    """Work in memory where there is room: without a disk's journal the suite takes two thirds of the
    CPU and half of the time. A soak works on the disk, as users do; so does `--basetemp`."""
    os.environ["TERM"] = "xterm-256color"  # whatever the terminal is in which the tests run
    os.environ["TZ"] = "UTC"  # and wherever that is
    time.tzset()
    memory = "/dev/shm"
    if SOAK or config.option.basetemp or not os.access(memory, os.W_OK):
        return
    if shutil.disk_usage(memory).free >= _MIN_FREE_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory)


@pytest.hookimpl(trylast=True)  # of what -k has left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with many costly cases (`sampled(3)`) every third is run, whatever the order; a soak runs them all."""
    left: set[str] = set()
    for (name, every), cases in (
        () if SOAK else itertools.groupby(sorted(map(_share, items)), key=lambda one: one[:2])
    ):
        nodeids = [nodeid for _, _, nodeid in cases]
        every, start = (
            min(every, len(nodeids)),
            zlib.crc32(name.encode()),
        )  # not of each test the same way
        left.update(nodeid for number, nodeid in enumerate(nodeids, start) if number % every)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
    items[:] = [item for item in items if item.nodeid not in left]


def _share(item: pytest.Item) -> tuple[str, int, str]:
    """The test function's id, n of `sampled(n)` (1 without it: all cases are run), and the case's id."""
    share = item.get_closest_marker("sampled")
    return item.nodeid.partition("[")[0], share.args[0] if share else 1, item.nodeid


def _at_home(patch: pytest.MonkeyPatch, factory: pytest.TempPathFactory) -> None:
    """Move to a new home that holds a git configuration and nothing else."""
    # A short path: of a socket below it 107 bytes are taken.
    home = factory.getbasetemp() / "h" / str(next(_homes))
    home.mkdir(parents=True)
    (home / "gitconfig").write_text(_GITCONFIG)
    patch.setenv("HOME", str(home))
    patch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))


@pytest.fixture(scope="session", autouse=True)
def _impersonal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing of the environment of the person who runs the tests, in fixtures that several tests share as well."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in os.environ:
            if variable.startswith(_PERSONAL) and variable not in _OF_THE_SUITE:
                patch.delenv(variable)
        patch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
        patch.setenv(
            "CORTEX_ENGINE", "whoosh"
        )  # which every user has; tantivy has tests of its own
        _at_home(patch, tmp_path_factory)
        yield


@pytest.fixture(autouse=True)
def _private(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A home of its own, and the usual umask."""
    _at_home(monkeypatch, tmp_path_factory)
    if uptime := os.environ.get(
        "CORTEX_UPTIME"
    ):  # seconds since the boot, as far as this process asks for it
        monkeypatch.setattr(
            git_locks,
            "read_clock",
            lambda: git_locks.Clock(time.time(), time.time() - float(uptime)),
        )
    mask = os.umask(0o022)
    yield
    os.umask(mask)


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    """A caller with a stopped clock and countable chance."""
    return caller_at(NOW, str(tmp_path))


def caller_at(now: str, cwd: str = "/") -> Caller:
    count = 0

    def random(size: int) -> bytes:
        nonlocal count
        count += 1
        return count.to_bytes(size, "big")

    return Caller(cwd, now, random, "test", no_progress)


def caller_now(cwd: str = "/") -> Caller:
    """A caller with the clock and the randomness of this machine: for a vault that real processes write into."""
    return Caller(
        cwd, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.urandom, "test", no_progress
    )


@pytest.fixture
def vault(tmp_path: Path, caller: Caller) -> Vault:
    """An empty vault in no repository, and without a name of its own for its project."""
    made = Vault(init(caller, str(tmp_path / "vault"), no_git=True).root)
    Path(made.root, ".cortex-project").unlink()
    return made


@pytest.fixture
def vault_from(vault: Vault) -> Callable[[str], Vault]:
    """Write notes into the vault: `=== path` before the text of each."""

    def write(notes: str) -> Vault:
        for part in notes.lstrip("\n").removeprefix("=== ").split("\n=== "):
            path, _, text = part.partition("\n")
            file = Path(vault.root, path.strip())
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes((text if text.endswith("\n") else f"{text}\n").encode())
        return vault

    return write


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Fail if the body uses more than so many seconds of CPU. Where this machine is slower than usual just then, by the time
    that a loop of Python takes that is usually done in 10 ms, the body has as much more."""
    started = time.process_time()
    yield
    used = time.process_time() - started
    if used >= seconds:
        started = time.process_time()
        sum(len(str(number)) for number in range(60_000))
        assert used < seconds * max(1.0, (time.process_time() - started) / 0.01)


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """Copy into the folder `to` what `build` makes in one of its own: everything, or the named files and folders. It is
    built once in a process. Where git's configurations name that folder, the copies name `to`."""
    made: dict[object, Path] = {}

    def copy(build: Callable[[Path], object], to: Path, *names: str) -> None:
        if build not in made:
            folder = tmp_path_factory.mktemp("built")
            build(folder)
            made[build] = folder
        for name in names or os.listdir(made[build]):
            shutil.copytree(
                made[build] / name,
                to / name,
                symlinks=True,
                ignore=shutil.ignore_patterns("*.sample"),
            )
            for config in (to / name / "config", to / name / ".git/config"):
                if config.exists():
                    config.write_text(config.read_text().replace(str(made[build]), str(to)))

    return copy


def make_lock(path: Path) -> None:
    """A lock file that a git has made just now, by this process's clock: under faketime the file system has another one, and
    the lock would be years old."""
    path.touch()
    os.utime(path, (time.time(), time.time()))


def run_cortex(*words: str, cwd: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """`cortex WORDS` in this process: what it prints and its exit code, as from `python -m cortex` with pipes. For tests of
    what a command says and does to files; `cortex_process` is for those of the process itself."""
    streams = [
        io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="\n", write_through=True)
        for data in (stdin.encode(), b"", b"")
    ]
    before, environment = (sys.stdin, sys.stdout, sys.stderr), os.environ.copy()
    try:
        sys.stdin, sys.stdout, sys.stderr = streams
        os.environ.setdefault("COLUMNS", "80")  # argparse measures the terminal of the test run
        with chdir(cwd):
            code = main(words)
    except SystemExit as error:  # argparse
        code = int(error.code or 0)
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
    out, err = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams[1:])
    return subprocess.CompletedProcess(words, code, out, err)


class Shell:
    """Runs the commands of a transcript, `cortex` among them. One that needs no shell is run in this
    process: it costs a fifth."""

    def __init__(self, folder: Path, cwd: Path) -> None:
        self.cwd = cwd
        self.tools = folder / "bin"
        self.tools.mkdir()
        (self.tools / "cortex").write_text(f'#!/bin/sh\nexec {sys.executable} -m cortex "$@"\n')
        (self.tools / "cortex").chmod(0o755)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        if re.fullmatch(r"cortex [^|<>;&$`*?~#\\\n]*", command):
            return run_cortex(*shlex.split(command)[1:], cwd=self.cwd)
        path = f"{self.tools}:{os.environ['PATH']}"
        return subprocess.run(
            ["sh", "-c", command],
            cwd=self.cwd,
            env=os.environ | {"PATH": path, "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def cortex(vault: Vault) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command, run in this process, in the vault unless `cwd` says otherwise."""

    def run(
        *words: str, stdin: str = "", cwd: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return run_cortex(*words, cwd=cwd or vault.root, stdin=stdin)

    return run


@pytest.fixture
def cortex_process(vault: Vault) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command in a process of its own, in the vault unless `cwd` says otherwise."""

    def run(
        *words: str, stdin: str = "", cwd: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "cortex", *words]
        return subprocess.run(
            line,
            cwd=cwd or vault.root,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def terminal(vault: Vault) -> Callable[..., str]:
    """The real command on a terminal of its own, with what a person types: what it writes there."""

    def run(*words: str, said: str = "", rows: int = 0, **environment: str) -> str:
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(ours, (rows, 80 * bool(rows)))
        command = [sys.executable, "-m", "cortex", *words]
        with subprocess.Popen(
            command,
            cwd=vault.root,
            env=os.environ | environment,
            stdin=theirs if said or rows else subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            os.write(ours, said.encode())
            held = b""
            with suppress(OSError):  # how a terminal ends whose other side is closed
                while piece := os.read(ours, 65536):
                    held += piece
            process.wait(60)
        os.close(ours)
        return held.decode()

    return run


def run_git(folder: str | Path, *words: str, code: int | None = 0, **environment: str) -> str:
    """Real git in a folder, and what it prints. It ends with that exit code, or with any for None; no editor opens."""
    done = subprocess.run(
        ["git", *words], cwd=folder, env=os.environ | {"GIT_EDITOR": "true"} | environment,
        capture_output=True, text=True, errors="surrogateescape", timeout=60, check=False,
    )  # fmt: skip
    assert code in (None, done.returncode), f"git {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


def commit_all(folder: str | Path, message: str = "all") -> None:
    """Commit everything in a repository, or in a folder that becomes one."""
    if not Path(folder, ".git").exists():
        run_git(folder, "init", "-q")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", message)


@pytest.fixture
def git() -> Callable[..., str]:
    """Real git in a folder: `run_git`."""
    return run_git


@pytest.fixture
def kept(vault, git, monkeypatch) -> Callable[..., str]:
    """Write notes and commit everything; answers the commit. A minute passes between commits."""
    git(vault.root, "init", "-q")
    clock = 1_790_000_000

    def keep(subject: str, **paths: str) -> str:
        nonlocal clock
        clock += 60
        for variable in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            monkeypatch.setenv(variable, f"{clock} +0200")
        for path, text in paths.items():
            file = Path(vault.root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git(vault.root, "add", "-A")
        git(vault.root, "commit", "-q", "--allow-empty", "-m", subject)
        return git(vault.root, "rev-parse", "HEAD").strip()

    return keep


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that other users may enter; pytest closes its own at any start."""
    path = Path(tempfile.mkdtemp(prefix="cortex-public-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def as_user() -> Callable[..., Any]:
    """Call a function in a process of another user (and group) and give what it returns, which must be JSON."""
    if os.geteuid() != 0:
        pytest.skip("not run: another user needs root")

    def run(user: int, function: Callable[[], Any], group: int = 0) -> Any:
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # the test process may have threads; the child uses none
            child = os.fork()
        if child == 0:
            code = 1
            try:
                os.chdir("/")
                os.setgroups([])
                os.setgid(group or user)
                os.setresuid(user, user, 0)
                _import_as_root()
                os.write(theirs, json.dumps(function()).encode())
                code = 0
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(code)
        os.close(theirs)
        with os.fdopen(ours, "rb") as file:
            said = file.read()
        assert os.waitpid(child, 0)[1] == 0
        return json.loads(said)

    return run


def _import_as_root() -> None:
    """From now on this process is root while it imports: the clone, or the interpreter, may lie in a folder that its user
    cannot enter."""
    loader = sys.modules["_frozen_importlib"]
    find_and_load = loader._find_and_load

    def find_and_load_as_root(*arguments: Any) -> Any:
        user = os.geteuid()
        os.seteuid(0)
        try:
            return find_and_load(*arguments)
        finally:
            os.seteuid(user)

    loader._find_and_load = find_and_load_as_root


@pytest.fixture
def tool() -> Callable[[str], str]:
    """The path of a program of the system; skips the test where there is none."""

    def find(name: str) -> str:
        for folder in (*os.environ.get("PATH", "").split(os.pathsep), "/usr/sbin", "/sbin"):
            if os.access(os.path.join(folder, name), os.X_OK):
                return os.path.join(folder, name)
        pytest.skip(f"not run: there is no {name} here")

    return find


@pytest.fixture
def worded() -> Callable[..., Any]:
    """`worded(verb, vault, caller, name=word)`: the verb with words in place of values, as a command line gives them."""

    def run(verb: Callable[..., Any], vault: Vault, caller: Caller, **words: object) -> Any:
        return verb(vault, caller, **convert(declaration_of(verb), words, caller.now))

    return run
