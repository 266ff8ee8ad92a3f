"""Every call that the write path makes to the system goes wrong once, in every way it can; then we look at the vault.

The seam is the `os` that `cortex.vault.files` sees: the one module that writes into a vault. A fault that is reported
must leave nothing behind and an ordinary retry must do; after a crash, the next run must mend what it finds.
A crash is total: from that call on nothing of the process reaches the disk, no clean-up either. EINTR is not among
the faults, as Python itself repeats an interrupted call. Power cuts, where unsynced work is lost too, are elsewhere.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cortex.core.briefing.pages import parse_page, render_page
from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import CortexError
from cortex.operations.records.capture import capture
from cortex.operations.records.restore import retry
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files
from cortex.vault.locate import Vault
from tests.conftest import SOAK

pytestmark = pytest.mark.usefixtures("stopped")
NOW = "2026-11-20T16:45:12Z"
CHANGES = (
    "write",
    "link",
    "unlink",
    "mkdir",
    "rename",
    "fchmod",
    "fsync",
)  # and an `open` that makes a file
ERRORS: dict[str, tuple[str, ...]] = {
    "open": ("EIO", "EACCES", "ENOSPC", "EMFILE"),
    "write": ("ENOSPC", "EIO", "EDQUOT", "short", "zero"),
    "read": ("EIO", "short"),
    "fsync": ("EIO", "ENOSPC"),
    "link": ("EIO", "ENOSPC", "EACCES", "EMLINK"),
    "unlink": ("EIO", "EACCES"),
    "mkdir": ("EIO", "ENOSPC", "EACCES"),
    "rename": ("EIO", "ENOSPC"),
    "close": ("EIO", "ENOSPC"),  # the descriptor is gone all the same, as on Linux
    "fchmod": ("EPERM",),
    "stat": ("EIO",),
    "fstat": ("EIO",),
    "listdir": ("EIO",),
}
CRASH, FULL, DEAD = "crash", "full from here on", "dead disk from here on"
SPACE = ("write", "link", "mkdir", "fsync")


class Crash(BaseException):
    """The process is gone."""


PRIVATE = ("cortex.vault.private",)


def _is_private() -> bool:
    """Whether a call is about a lock, a cache or the state, which stay from one attempt to the next: they are no part of the vault."""
    frame = sys._getframe(
        3
    )  # a function of `files`: `_call` and the lambda that calls it are between
    return any(
        back and back.f_globals["__name__"] in PRIVATE
        for back in (frame.f_back, frame.f_back and frame.f_back.f_back)
    )


class Disk:
    """The system as `cortex.vault.files` sees it in a vault. Numbers the calls; at number `at`, `kind` happens."""

    def __init__(self, at: int = -1, kind: str = "") -> None:
        self.at, self.kind = at, kind
        self.calls: list[str] = []  # name of each call; `open+` is one that makes a file
        self.sites: list[
            int
        ] = []  # from where each was called: a hash of the stack, while nothing is to go wrong
        self.crashed = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return (
            (lambda *words, **named: self._call(name, real, *words, **named))
            if name in ERRORS
            else real
        )

    def _call(self, name: str, real: Callable[..., Any], *words: Any, **named: Any) -> Any:
        if _is_private():
            return real(*words, **named)
        number = len(self.calls)
        makes = name == "open" and bool(
            words[1] & (os.O_CREAT | (files._O_TMPFILE or 0) & ~os.O_DIRECTORY)
        )
        self.calls.append("open+" if makes else name)
        if self.at < 0:
            self.sites.append(
                hash(tuple((frame.f_code, line) for frame, line in traceback.walk_stack(None)))
            )
        if self.kind == CRASH and number >= self.at:
            self.crashed = True
            if name == "close":
                real(*words)  # by the kernel
            raise Crash
        if number == self.at or (number > self.at >= 0 and self.kind in (FULL, DEAD)):
            return self._fail(name, real, makes, words, named)
        return real(*words, **named)

    def _fail(
        self, name: str, real: Callable[..., Any], makes: bool, words: Any, named: Any
    ) -> Any:
        if name == "close":
            real(*words)
        if self.kind == "short":
            return real(
                words[0],
                words[1][: max(1, len(words[1]) // 2)]
                if name == "write"
                else max(1, words[1] // 2),
            )
        if self.kind == "zero":
            return 0
        if self.kind == FULL and not (makes or name in SPACE):
            return None if name == "close" else real(*words, **named)
        if self.kind == DEAD and name == "close":
            return None
        code = {FULL: "ENOSPC", DEAD: "EIO"}.get(self.kind, self.kind)
        raise OSError(getattr(errno, code), os.strerror(getattr(errno, code)))


class Seen(NamedTuple):
    """How one attempt ended."""

    answer: Any
    error: BaseException | None
    disk: Disk

    @property
    def crashed(self) -> bool:
        return isinstance(self.error, Crash)

    @property
    def swept(self) -> bool:
        """Whether there was anybody left to clean up, and a disk that let them."""
        return (
            not self.crashed
            and self.disk.kind != DEAD
            and self.disk.calls[self.disk.at :][:1] != ["unlink"]
        )


def attempt(monkeypatch: pytest.MonkeyPatch, disk: Disk, act: Callable[[], Any]) -> Seen:
    with monkeypatch.context() as patch:
        patch.setattr(files, "os", disk)
        try:
            return Seen(act(), None, disk)
        except (Crash, CortexError, OSError) as error:
            return Seen(None, error.with_traceback(None), disk)


def points(disk: Disk, *, every: bool, changes_only: bool = False) -> Iterator[tuple[int, str]]:
    """(number of the call, what happens there). Without `every`, of the calls that one place in the code makes the first and
    the last fail; the kinds of error take turns over the calls; and what is lasting (a crash, a full disk, a dead one)
    begins where something is about to change, at the last call of a place a crash alone: one between two calls that change
    nothing is the one before the next change. With `changes_only` calls that only read never fail."""
    calls = disk.calls
    ends = {site: (disk.sites.index(site), number) for number, site in enumerate(disk.sites)}
    for number, name in enumerate(calls):
        changes = name in CHANGES or name == "open+"
        if changes_only and not changes and name != "close":
            continue
        if not every and number not in ends[disk.sites[number]]:
            continue
        kinds = ERRORS[name.rstrip("+")]
        errors = [kind for kind in kinds if kind not in ("short", "zero")]
        others = [kind for kind in kinds if kind in ("short", "zero")]
        first = number == ends[disk.sites[number]][0]
        lasting = (
            (CRASH, FULL, DEAD) if every or (changes and first) else (CRASH,) if changes else ()
        )
        for kind in [*(errors if every else [errors[number % len(errors)]]), *others, *lasting]:
            yield number, kind
        if name == "open+":
            yield number, "EOPNOTSUPP"  # a file system without unnamed files
    yield len(calls) - 1, CRASH


def closed_below(root: str) -> list[str]:
    """Close every descriptor that is still open in the vault, as the kernel does after a crash; answers their paths."""
    gc.collect(0)
    found = []
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{name}")
            if path == root or path.startswith(f"{root}/"):
                os.close(int(name))
                found.append(os.path.relpath(path, root))
    return found


def caller_of(start: int = 0) -> Caller:
    count = start

    def random(size: int) -> bytes:
        nonlocal count
        count += 1
        return count.to_bytes(size, "big")

    return Caller("/", NOW, random, "test", no_progress)


def vault_of(root: Path, held: dict[str, bytes]) -> Vault:
    """A vault with exactly these files."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path, data in held.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return Vault(str(root))


def fallback(monkeypatch: pytest.MonkeyPatch, unnamed: bool) -> None:
    if unnamed and files._O_TMPFILE is None:
        pytest.skip("not run: this system has no O_TMPFILE")
    if not unnamed:
        monkeypatch.setattr(files, "_O_TMPFILE", None)


class Findings:
    """What was wrong, and at which fault points."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.wrong: dict[str, list[str]] = {}
        self.count = 0

    def points(self, *, every: bool, changes_only: bool = False) -> Iterator[tuple[int, str]]:
        for point in points(self.disk, every=every, changes_only=changes_only):
            self.count += 1
            yield point

    def add(self, at: int, kind: str, *whats: str) -> None:
        for what in whats:
            self.wrong.setdefault(what, []).append(f"{kind} at call {at} ({self.disk.calls[at]})")

    def tell(self) -> None:
        print(
            f"\n{self.count} fault points, {len({point for points in self.wrong.values() for point in points})} wrong"
        )
        lines = [
            f"{len(points)} x {what}: {', '.join(points[:4])}"
            for what, points in self.wrong.items()
        ]
        assert not lines, f"of {self.count} fault points\n" + "\n".join(lines)


# Capture

ID = "20261120t164512z-aaaaaaaaab"  # what caller_of(0) makes first
HOME = {"cortex.toml": b"format = 1\n", "mine.md": b"a note of my own\n"}
TEXT = "Decision: publish by link, because a rename overwrites.\n" * 3
CAPTURES = {
    "into a new vault": (HOME, ""),
    "beside another event": (HOME | {"inbox/pending/20261119t000000z-aaaaaaaaaa.md": b"---\nid: x\n---\n"}, ""),
    "under an id of its own": (HOME, ID),
}  # fmt: skip


@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
@pytest.mark.parametrize(("held", "id_"), CAPTURES.values(), ids=CAPTURES.keys())
def test_a_capture_is_whole_or_was_never_there(held, id_, unnamed, ram, monkeypatch, look, homes):
    fallback(monkeypatch, unnamed)
    act = lambda vault, name=id_: capture(vault, caller_of(), TEXT, tags=("storage",), id=name)
    clean = attempt(monkeypatch, Disk(), lambda: act(vault_of(ram / "v", held)))
    whole = look(str(ram / "v")).files
    found = Findings(clean.disk)
    for at, kind in found.points(every=True):
        vault = vault_of(ram / "v", held)
        seen = attempt(monkeypatch, Disk(at, kind), lambda: act(vault))
        found.add(at, kind, *wrong_with_capture(seen, look(vault.root), held, whole))
        if (left := closed_below(vault.root)) and not seen.crashed:
            found.add(at, kind, f"left open: {left}")
        if seen.answer is None:
            # Who was told may simply capture again; who was not must name the id, which they chose.
            again = attempt(
                monkeypatch, Disk(), lambda: act(vault) if seen.swept else act(vault, ID)
            )
            now = look(vault.root).notes
            texts = [path for path, data in now.items() if TEXT.encode() in data]
            if again.error or len(texts) != 1 or now[texts[0]] != whole[texts[0]]:
                found.add(at, kind, f"the retry gives {again.error or texts}")
    found.tell()


def wrong_with_capture(
    seen: Seen, now: Any, held: dict[str, bytes], whole: dict[str, bytes]
) -> Iterator[str]:
    if any(now.files.get(path) != data for path, data in held.items()):
        yield "an older note has changed"
    if any(data != whole.get(path) for path, data in now.notes.items()):
        yield "a torn note"
    if now.temps and (seen.swept or files._O_TMPFILE is not None):
        yield f"left behind: {now.temps}"
    if seen.answer is not None:
        if now.notes != whole:
            yield "acknowledged, and not there"
    elif not seen.crashed:
        if not isinstance(seen.error, CortexError):
            yield f"raised {seen.error!r}"
        elif f"--id {ID}" not in seen.error.hint:
            yield f"the hint does not name the id: {seen.error.hint!r}"
        if seen.swept and now.notes != held:
            yield "reported as failed, and there all the same"


@pytest.mark.parametrize("place", ["inbox/pending", "events/2026/11", "inbox/failed"])
def test_a_capture_repeated_with_its_id_stays_one_under_every_fault(
    place, ram, monkeypatch, look, homes
):
    vault = vault_of(ram / "v", HOME)
    capture(vault, caller_of(), TEXT, id=ID)
    event = look(vault.root).below("inbox/pending").popitem()[1]
    held = HOME | {
        f"{place}/{ID}.md": (b"---\nstatus: failed\n---\n" if place == "inbox/failed" else b"")
        + event
    }
    clean = attempt(
        monkeypatch, Disk(), lambda: capture(vault_of(ram / "v", held), caller_of(), TEXT, id=ID)
    )
    assert clean.answer[:2] == (ID, f"{place}/{ID}.md")
    found = Findings(clean.disk)
    for at, kind in found.points(every=True):
        vault = vault_of(ram / "v", held)
        seen = attempt(
            monkeypatch, Disk(at, kind), lambda: capture(vault, caller_of(), TEXT, id=ID)
        )
        if look(vault.root).files != held:
            found.add(at, kind, f"{sorted(look(vault.root).files)}")
        if seen.answer is None and not seen.crashed and not isinstance(seen.error, CortexError):
            found.add(at, kind, f"raised {seen.error!r}")
        if (left := closed_below(vault.root)) and not seen.crashed:
            found.add(at, kind, f"left open: {left}")
    found.tell()


# Normalize

MEETING = """# Storage review

## Decisions

- We keep one file, because backups are simple
- We drop the cache

## Action items

- [ ] @anna measures the index by 2026-12-01
- [x] Ben writes it down
"""
BROKEN = b"---\nid: [\n---\n\n## Raw Content\n\nlost? no\n"


@pytest.fixture(scope="module")
def earlier_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A vault with a record and a session, made by an earlier run."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(variable, str(tmp_path_factory.mktemp("home")))
        vault = vault_of(tmp_path_factory.mktemp("begun") / "v", HOME)
        capture(vault, caller_of(), "Decision: keep notes in git")
        capture(vault, caller_of(1), "looked around", type="pre_compact", session="s1")
        normalize(vault, caller_of())
        return {
            str(path.relative_to(vault.root)): path.read_bytes()
            for path in Path(vault.root).rglob("*.md")
        } | HOME


NORMALIZES = {
    "a new record": [("Gotcha: fsync the folder, too", {})],
    "a twin that grows a record": [("Decision: keep notes in git", {})],
    "a turn that folds into its session": [("then mended it", {"type": "stop", "session": "s1"})],
    "the first turn of a session": [("began", {"type": "stop", "session": "s2"})],
    "a meeting with four records": [(MEETING, {"type": "meeting"})],
    "a broken event before a good one": [("", {}), ("Pattern: go on", {})],
}


# With named temporary files only what is written, and how, is another: once for a new file and once for a changed one.
WAYS = [
    (name, unnamed)
    for name in NORMALIZES
    for unnamed in (True, False)
    if unnamed or SOAK or name in ("a new record", "a twin that grows a record")
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("texts", "unnamed"),
    [(NORMALIZES[name], unnamed) for name, unnamed in WAYS],
    ids=[f"{name}-{'un' * unnamed}named" for name, unnamed in WAYS],
)
def test_normalizing_comes_to_the_same_whatever_goes_wrong(
    texts, unnamed, earlier_files, ram, monkeypatch, look, homes
):
    fallback(monkeypatch, unnamed)
    vault = vault_of(ram / "v", earlier_files)
    for number, (text, options) in enumerate(texts, start=10):
        if text:
            capture(vault, caller_of(number), text, **options)
        else:
            files.create(vault.root, "inbox/pending/20261101t000000z-aaaaaaaaaa.md", BROKEN)
    held = look(vault.root).files
    vault = vault_of(
        ram / "v", held
    )  # as it will be before every attempt: a folder's order is part of what is read
    arrived = [
        path.rpartition("/")[2].removesuffix(".md")
        for path in held
        if path.startswith("inbox/pending/")
    ]
    clean = attempt(monkeypatch, Disk(), lambda: normalize(vault, caller_of()))
    done = look(vault.root).files
    assert clean.error is None
    assert not look(vault.root).below("inbox/pending")
    assert len(done) > len(earlier_files)
    found = Findings(clean.disk)
    sound: set[frozenset[tuple[str, bytes]]] = (
        set()
    )  # what a run left that the next one has already brought to its end
    # Reading is the same with and without unnamed files: the faults of reading are tried with them.
    for at, kind in found.points(every=SOAK, changes_only=not (unnamed or SOAK)):
        vault = vault_of(ram / "v", held)
        seen = attempt(monkeypatch, Disk(at, kind), lambda: normalize(vault, caller_of()))
        assert seen.disk.calls[:at] == clean.disk.calls[:at]
        if is_spare_twin(look(vault.root).notes, done):
            continue
        found.add(at, kind, *wrong_with_run(seen, look(vault.root), held, done, arrived))
        if (left := closed_below(vault.root)) and not seen.crashed:
            found.add(at, kind, f"left open: {left}")
        left_behind = frozenset(look(vault.root).files.items())
        if left_behind in sound and not SOAK:
            continue
        again = attempt(monkeypatch, Disk(), lambda: normalize(vault, caller_of()))
        now = look(vault.root)
        if again.error or now.notes != done:
            found.add(at, kind, f"the next run comes to {again.error or unlike(now.notes, done)}")
        elif now.temps and (unnamed or seen.swept):
            found.add(at, kind, f"still left behind after the next run: {now.temps}")
        elif not now.temps:
            sound.add(left_behind)
    found.tell()


def is_spare_twin(now: dict[str, bytes], done: dict[str, bytes]) -> bool:
    """A record that cannot be read cannot be known as a twin. Then a second one is made: the inbox does not wait."""
    more = sorted(now.keys() - done.keys())
    return (
        len(more) == 1
        and not done.keys() - now.keys()
        and more[0].startswith("records/decision/keep-notes-in-git-")
    )


def wrong_with_run(
    seen: Seen, now: Any, held: dict[str, bytes], done: dict[str, bytes], arrived: list[str]
) -> Iterator[str]:
    # A briefing in between may tell of some of the records only: whole it has to be.
    torn = [
        path
        for path, data in now.notes.items()
        if data not in (held.get(path), done.get(path))
        and not (path.startswith("briefings/") and is_whole(data))
    ]
    if torn:
        yield f"torn: {torn}"
    if lost := [path for path in held if path not in now.notes and "/pending/" not in path]:
        yield f"gone: {lost}"
    for event_id in arrived:
        places = now.places(event_id)
        if not places or (len(places) > 1 and seen.swept):
            yield f"the event is in {places or 'no place'}"
    if seen.swept and now.temps:
        yield f"left behind: {now.temps}"
    if seen.answer is not None:
        troubled = [
            *seen.answer.problems,
            *(
                problem
                for problem in seen.answer.failed
                if not problem.where.startswith("inbox/failed/")  # the event, or its session's note
            ),
        ]
        if now.notes != done and not troubled:
            yield f"said nothing, and came to {unlike(now.notes, done)}"
        if any(not problem.message or not problem.hint for problem in seen.answer.failed):
            yield f"a problem without a message or a hint: {seen.answer.failed}"


def is_whole(page: bytes) -> bool:
    told = parse_page(page.decode())
    return told.page is not None and render_page(told.page, told.items).encode() == page


def unlike(now: dict[str, bytes], done: dict[str, bytes]) -> str:
    missing, more = sorted(done.keys() - now.keys()), sorted(now.keys() - done.keys())
    other = sorted(path for path in now.keys() & done.keys() if now[path] != done[path])
    return f"missing {missing}, besides {more}, other {other}"


def test_retry_loses_no_event_to_any_fault(ram, monkeypatch, look, homes):
    name = "20261101t000000z-aaaaaaaaaa"
    vault = vault_of(ram / "v", HOME | {f"inbox/pending/{name}.md": BROKEN})
    normalize(vault, caller_of())
    held = look(vault.root).files
    vault = vault_of(
        ram / "v", held
    )  # without the folders that normalizing left empty, as before every attempt
    clean = attempt(monkeypatch, Disk(), lambda: retry(vault, caller_of(), name))
    done = look(vault.root).files
    assert done == HOME | {f"inbox/pending/{name}.md": BROKEN}
    found = Findings(clean.disk)
    for at, kind in found.points(every=True):
        vault = vault_of(ram / "v", held)
        seen = attempt(monkeypatch, Disk(at, kind), lambda: retry(vault, caller_of(), name))
        now = look(vault.root)
        if (
            now.temps
            or any(data not in (held.get(path), done.get(path)) for path, data in now.files.items())
            or not now.places(name)
        ):
            found.add(at, kind, f"{sorted(now.files)}")
        if (left := closed_below(vault.root)) and not seen.crashed:
            found.add(at, kind, f"left open: {left}")
        if seen.answer is None and look(vault.root).below("inbox/failed"):
            attempt(monkeypatch, Disk(), lambda: retry(vault, caller_of(), name))
        if look(vault.root).files != done:
            found.add(at, kind, f"the next retry comes to {unlike(look(vault.root).files, done)}")
    found.tell()
