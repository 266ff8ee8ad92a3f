"""Where a host reads what a session starts with when it asks no hook: rule files, and a marked block in AGENTS.md.

Both are taken away again without a trace. What Cortex did not write it does not touch, and it writes through no link.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from cortex.core.model.problem import Conflict, CortexError, Invalid, NotFound
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.templates import template

RULES = ".claude/rules"
BRIEFING, MEMORY, AGENTS = f"{RULES}/cortex-briefing.md", f"{RULES}/cortex-memory.md", "AGENTS.md"
WAYS = ("rules", "agents", "none")
BEGIN, END = "<!-- cortex:begin -->", "<!-- cortex:end -->"
_OURS = "<!-- cortex: made by `cortex brief --into rules`, which writes it anew -->\n"
_NOTE = "<!-- cortex: made by `cortex brief --into agents`, which writes it anew; --into none takes it away{} -->"
# What was put above the block, so that it can be taken away: the line ends, or the file itself.
_ABOVE = {
    "": "",
    "1": ", and the line end above",
    "2": ", and the two line ends above",
    "file": ", and the file",
}
_LARGEST = 4 * 1024 * 1024  # bytes of an AGENTS.md; more is none


def deliver(vault: Vault, cwd: str, way: str, text: str) -> tuple[str, ...]:
    """Put the briefing `text` where `way` says; answers the files that changed, relative to the project. `Conflict` for a file in the way
    that Cortex did not write, `Invalid` for markers that do not match."""
    if way not in WAYS:
        raise Invalid(
            f"there is no way {way!r} into which a briefing goes",
            "cortex brief --into rules, agents or none",
        )
    root = root_of(vault, cwd)
    if way == "rules":
        return tuple(
            path
            for path, body in ((BRIEFING, text), (MEMORY, template("agent/memory.md")))
            if _rule(root, path, body)
        )
    held = _held(root, AGENTS)
    after = with_block(held, text)
    if after == held:
        return ()
    _put(root, AGENTS, held, after)
    return (AGENTS,)


def withdraw(vault: Vault, cwd: str) -> tuple[str, ...]:
    """Take away what `deliver` put there, and the folders that are empty then; answers what changed."""
    root = root_of(vault, cwd)
    changed = []
    for path in (BRIEFING, MEMORY):
        held = _held(root, path)
        if held is not None and held.startswith(_OURS.encode()):
            files.remove(root, path)
            changed.append(path)
    for folder in (RULES, os.path.dirname(RULES)) if changed else ():
        with suppress(OSError):  # something else is in it
            os.rmdir(os.path.join(root, folder))
    held = _held(root, AGENTS)
    after = without_block(held) if held is not None else None
    if held is not None and after is None:
        files.remove(root, AGENTS)
        changed.append(AGENTS)
    elif held is not None and after is not None and after != held:
        _put(root, AGENTS, held, after)
        changed.append(AGENTS)
    return tuple(changed)


def root_of(vault: Vault, cwd: str) -> str:
    """The folder of the project around `cwd`. `Invalid` where that is the vault itself: its notes are read by no host."""
    git = checkout.git_folder(cwd)
    root = git[0] if git else os.path.realpath(cwd)
    if root == vault.root or root.startswith(f"{vault.root}{os.sep}"):
        raise Invalid(
            f"{root} is the vault, not a project",
            "run this in the folder of the project that works with it",
        )
    return root


def with_block(held: bytes | None, text: str) -> bytes:
    """A file with the block that holds `text`: in the place of the one that it has, else at its end. Every other byte stays."""
    place = _block(held or b"")
    eol = _eol(held or b"")
    if held is None:
        above = "file"
    elif place:
        above = _above(held[place[0] : place[1]])
    else:
        above = (
            ""
            if not held or held.endswith((b"\n\n", b"\r\n\r\n"))
            else "1"
            if held.endswith(b"\n")
            else "2"
        )
    lines = [BEGIN, _NOTE.format(_ABOVE[above]), "", *_broken(text).splitlines(), "", END]
    block = eol.join(line.encode() for line in lines) + eol
    if held is None:
        return block
    if place:
        return held[: place[0]] + block + held[place[1] :]
    return held + eol * (int(above) if above else 0) + block


def without_block(held: bytes) -> bytes | None:
    """A file without its block; None when nothing is left of a file that was made for it."""
    place = _block(held)
    if place is None:
        return held
    above = _above(held[place[0] : place[1]])
    before, after = held[: place[0]], held[place[1] :]
    if above == "file":
        return before + after or None
    for _ in range(int(above or 0)):
        before = before.removesuffix(_eol(held[place[0] : place[1]]))
    return before + after


def _block(held: bytes) -> tuple[int, int] | None:
    """Where the block begins and ends, its last line end included; marks in fences are an example of one. `Invalid` for a file
    whose marks do not match, with the line."""
    if held.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in held:
        raise Invalid(f"{AGENTS} is not UTF-8", "save it as UTF-8")
    begins: list[tuple[int, int, int]] = []
    ends: list[tuple[int, int, int]] = []
    at = 0
    lines = held.splitlines(keepends=True)
    fenced = _fenced(lines)
    for number, line in enumerate(lines, start=1):
        mark = line.strip()
        if mark in (BEGIN.encode(), END.encode()) and number not in fenced:
            (begins if mark == BEGIN.encode() else ends).append((number, at, at + len(line)))
        at += len(line)
    if not begins and not ends:
        return None
    hint = f"take both marks out, {BEGIN} and {END}, or put them back around one block"
    for kind, found, other in ((BEGIN, begins, ends), (END, ends, begins)):
        if len(found) > 1:
            raise Invalid(f"{AGENTS}:{found[1][0]}: {kind} stands there a second time", hint)
        if not found:
            raise Invalid(f"{AGENTS}:{other[0][0]}: the mark there has no {kind}", hint)
    if begins[0][0] > ends[0][0]:
        raise Invalid(f"{AGENTS}:{ends[0][0]}: {END} stands before {BEGIN}", hint)
    return begins[0][1], ends[0][2]


def _fenced(lines: list[bytes]) -> set[int]:
    """The numbers of the lines within fences. A fence that nothing ends holds nothing: what was put below it must be found again."""
    found: set[int] = set()
    begun, mark = 0, b""
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        run = text[: len(text) - len(text.lstrip(text[:1]))] if text[:1] in (b"`", b"~") else b""
        if not mark and len(run) > 2 and run[:1] not in text[len(run) :]:
            begun, mark = number, run
        elif mark and run.startswith(mark) and run == text:
            found.update(range(begun, number + 1))
            mark = b""
    return found


def _above(block: bytes) -> str:
    """What was put above a block, as its second line says; nothing when it says nothing that we would have written."""
    lines = block.splitlines()
    said = lines[1].decode("utf-8", "replace") if len(lines) > 1 else ""
    return next((above for above, words in _ABOVE.items() if said == _NOTE.format(words)), "")


def _broken(text: str) -> str:
    """A text that cannot end the block or begin another."""
    return text.replace("<!--", "<!- -").replace("-->", "-- >")


def _eol(held: bytes) -> bytes:
    return b"\r\n" if b"\r\n" in held.partition(b"\n")[0] + b"\n" else b"\n"


def _rule(root: str, path: str, text: str) -> bool:
    """Write a rule file of ours, unless it says this already."""
    wanted = f"{_OURS}{text}".rstrip("\n").encode() + b"\n"
    held = _held(root, path)
    if held is not None and not held.startswith(_OURS.encode()):
        raise Conflict(
            f"{path} is there, and cortex did not write it",
            "move it away, or give the briefing another place: cortex brief --into agents",
        )
    if held == wanted:
        return False
    _put(root, path, held, wanted)
    return True


def _held(root: str, path: str) -> bytes | None:
    """The bytes of a file of the project; None when there is none. `Invalid` for a link, or anything else that is no file."""
    try:
        held = files.read(root, path, _LARGEST + 1)
    except NotFound:
        return None
    except Invalid as error:
        raise Invalid(
            f"{path}: {error.message}",
            "cortex writes through no link: put a file in its place, or name the other way",
        ) from error
    if len(held) > _LARGEST:
        raise Invalid(
            f"{path} is larger than {_LARGEST:,} bytes", "give the briefing another place"
        )
    return held


def _put(root: str, path: str, held: bytes | None, wanted: bytes) -> None:
    """Write a file of the project as a program of the project would: with the rights that the user's umask gives."""
    if held is not None:
        files.replace(root, path, wanted, held)
        return
    folders = path.split("/")[:-1]
    new = [
        "/".join(folders[: end + 1])
        for end in range(len(folders))
        if not files.exists(root, "/".join(folders[: end + 1]))
    ]
    try:
        files.publish(root, path, wanted)
    except FileExistsError:
        raise Conflict(
            f"{path} was made by somebody else just now", "run the command again"
        ) from None
    except OSError as error:
        raise CortexError(
            f"{path} cannot be written: {error.strerror}",
            "make room, or check the rights of the folder",
        ) from error
    mask = files.umask()
    for one, mode in (*((folder, 0o777) for folder in new), (path, 0o666)):
        full = os.path.join(root, one)
        if not stat.S_ISLNK(os.lstat(full).st_mode):
            os.chmod(full, mode & ~mask)
