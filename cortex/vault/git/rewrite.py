"""Rewrite a repository's history without what was erased, and drop the old objects.

New objects are a function of the old ones and of what is erased, so that every clone and every run
makes the same commits, and what holds nothing of it keeps its id.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from cortex.core.model.problem import CortexError
from cortex.core.text.value import NamedTuple
from cortex.vault.git import checkout, git_cli, objects

_PACK_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_PACK_BYTES = 32_000_000  # of new objects that are kept in memory
_TIMEOUT_SECONDS = 3600.0
_SIGNATURE_RE = re.compile(rb"(?m)^(?:gpgsig(?:-sha256)?|mergetag) [^\n]*\n(?: [^\n]*\n)*")
_TAG_SIGNATURE_RE = re.compile(rb"(?s)-----BEGIN (?:PGP|SSH) SIGN.*")
_OLD_POINTERS = (
    "FETCH_HEAD",
    "ORIG_HEAD",
    "COMMIT_EDITMSG",
    "MERGE_MSG",
    "SQUASH_MSG",
    "AUTO_MERGE",
)
_STASH = "refs/stash"

# Of a blob, its vault path and its content: the content in its place, None for no file.
FileChange = Callable[[str, str, bytes], bytes | None]


class Changes(NamedTuple):
    """What becomes of the parts of a history."""

    blobs: frozenset[str]  # the blobs that may change; of others nothing is asked
    file: FileChange
    name: Callable[[bytes], bytes]  # of an entry of a folder of the vault
    text: Callable[[bytes], bytes]  # of a message, or of who made a commit


class RewrittenRef(NamedTuple):
    """A branch, tag or other ref that names another object now."""

    name: str
    old: str
    new: str


def find_objects(root: str, wants: Callable[[bytes], bool]) -> dict[str, str]:
    """The objects of which `wants` wants the content, of a folder the names in it: id -> kind. All
    objects are read, also those that nothing names."""
    found = {}
    words = ["cat-file", "--batch", "--batch-all-objects", "--unordered"]
    with git_cli.open_pipe(root, words) as (_, output):
        while len(line := output.readline().split()) == 3:
            id_, kind, data = line[0].decode(), line[1].decode(), output.read(int(line[2]) + 1)[:-1]
            if wants(b"\n".join(_names(data, len(id_))) if kind == "tree" else data):
                found[id_] = kind
    return found


def reachable(root: str, *revisions: str) -> set[str]:
    """The ids of all objects that these commits lead to."""
    words = ["rev-list", "--objects", "--no-object-names", *revisions, "--"]
    return set(git_cli.run(root, words, timeout=_TIMEOUT_SECONDS).decode().split())


def list_stashes(root: str) -> list[tuple[str, str]]:
    """The stashes with their messages, the oldest first."""
    ran = git_cli.run_unchecked(root, ["log", "-g", "-z", "--format=%H %gs", _STASH, "--"])
    lines = [line for line in os.fsdecode(ran.stdout).split("\0") if line] if not ran.code else []
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in reversed(lines)]


def rewrite(root: str, changes: Changes) -> list[RewrittenRef]:
    """Rewrite all refs; those that changed. Index and work tree stay
    as they are: the last commit must hold nothing of it. Old objects stay until `drop_old`."""
    listed = os.fsdecode(
        git_cli.run(root, ["for-each-ref", "--format=%(objectname) %(symref) %(refname)"])
    )
    refs = [tuple(line.split(" ")) for line in listed.splitlines()]
    named = [(name, id_) for id_, symbolic, name in refs if not symbolic and name != _STASH]
    if not checkout.branch_of(root):
        named.append(("HEAD", git_cli.head_commit(root)))
    stashes = list_stashes(root)
    with _HistoryRewrite.of(root, changes) as history:
        tips = [*(id_ for _, id_ in named), *(id_ for id_, _ in stashes)]
        words = ["rev-list", "--topo-order", "--reverse", "--stdin"]
        lines = "\n".join(tips)
        # A tag may name a file or a folder, which leads to no commit.
        ran = git_cli.run(root, words, stdin=lines.encode(), timeout=_TIMEOUT_SECONDS)
        for id_ in ran.decode().split():
            history.commit(id_)
        done = [RewrittenRef(name, id_, history.any(id_)) for name, id_ in named]
        done = [one for one in done if one.new != one.old]
        stashed = [(history.any(id_), os.fsdecode(changes.text(os.fsencode(message)))) for id_, message in stashes]  # fmt: skip
    moves = "".join(f"option no-deref\nupdate {one.name} {one.new} {one.old}\n" for one in done)
    if moves:
        git_cli.run(root, ["update-ref", "--stdin"], stdin=os.fsencode(moves))
    if [id_ for id_, _ in stashed] != [id_ for id_, _ in stashes]:
        _store_stashes(root, stashed)
    return done


def drop_old(root: str) -> None:
    """Drop what no ref leads to: reflogs but that of the stashes, and all such objects."""
    stashes = list_stashes(root)
    git_cli.run(root, ["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"])
    if stashes:
        _store_stashes(root, stashes)
    repository = checkout.find_repository(root)
    for folder in {repository.git_dir, repository.common_dir} if repository else ():
        for name in _OLD_POINTERS:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
    if git_cli.has_commit(root) and not objects.list_staged(root):
        # Git's index remembers what conflicts it resolved.
        git_cli.run(root, ["read-tree", "HEAD"], timeout=120.0)
        git_cli.run_unchecked(root, ["update-index", "-q", "--refresh"], timeout=120.0)
    git_cli.run(root, ["gc", "--prune=now", "--quiet"], timeout=_TIMEOUT_SECONDS)


def _store_stashes(root: str, stashes: list[tuple[str, str]]) -> None:
    git_cli.run(root, ["update-ref", "-d", _STASH])
    for id_, message in stashes:
        git_cli.run(root, ["stash", "store", "--quiet", f"--message={message}", id_])


def _names(tree: bytes, id_chars: int) -> Iterator[bytes]:
    return (name for _, name, _ in _entries(tree, id_chars))


def _entries(tree: bytes, id_chars: int) -> Iterator[tuple[bytes, bytes, str]]:
    """Mode, name and id of what a folder holds."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        at = end + 1 + id_chars // 2
        yield mode, name, tree[end + 1 : at].hex()


class _HistoryRewrite:
    """New objects for old ones."""

    def __init__(
        self, root: str, changes: Changes, ask: Callable[[str], tuple[str, bytes]]
    ) -> None:
        self.root, self.changes, self.read = root, changes, ask
        self.prefix = objects.prefix(root)  # of the vault's paths
        self.is_sha256 = len(objects.empty_tree(root)) == 64
        self.new: dict[str, str] = {}  # commits and tags
        self.files: dict[tuple[str, str], str] = {}  # by id and path; empty: it goes
        self.folders: dict[tuple[str, bytes], str] = {}
        self.packed: dict[str, bytes] = {}  # new objects that wait to be written
        self.packed_bytes = 0

    @classmethod
    @contextmanager
    def of(cls, root: str, changes: Changes) -> Iterator[_HistoryRewrite]:
        with git_cli.open_pipe(root, ["cat-file", "--batch"]) as (ask, answer):

            def read(id_: str) -> tuple[str, bytes]:
                ask.write(id_.encode() + b"\n")
                ask.flush()
                line = answer.readline().split()
                if len(line) != 3:
                    message = f"git has no object {id_}, which its history names"
                    raise CortexError(message, "git fsck shows what is missing")
                return line[1].decode(), answer.read(int(line[2]) + 1)[:-1]

            made = cls(root, changes, read)
            yield made
            made.write_pack()

    def any(self, id_: str) -> str:
        """What stands for what a ref names."""
        if id_ not in self.new:
            kind, data = self.read(id_)
            if kind != "tag":
                return self.new.get(id_, id_)
            head, _, message = data.partition(b"\n")
            old = head.removeprefix(b"object ").decode()
            new = b"object %b\n%b" % (self.any(old).encode(), self.changes.text(message))
            new = _TAG_SIGNATURE_RE.sub(b"", new) if new != data else new
            self.new[id_] = self.write("tag", new) if new != data else id_
        return self.new[id_]

    def commit(self, id_: str) -> None:
        _, data = self.read(id_)
        head, blank, message = data.partition(b"\n\n")
        lines = head.split(b"\n")
        at = 0
        while lines[at].startswith((b"tree ", b"parent ")):
            word, _, old = lines[at].partition(b" ")
            name = old.decode()
            made = self.folder(name, b"") if word == b"tree" else self.new.get(name, name)
            lines[at] = word + b" " + made.encode()
            at += 1
        rest = self.changes.text(b"\n".join(lines[at:])) if at < len(lines) else b""
        new = b"\n".join([*lines[:at], rest]) + blank + self.changes.text(message)
        if new != data:
            new_head, blank, message = new.partition(b"\n\n")
            new = _SIGNATURE_RE.sub(b"", new_head + b"\n")[:-1] + blank + message
        self.new[id_] = self.write("commit", new) if new != data else id_

    def folder(self, id_: str, path: bytes) -> str:
        """What stands for a folder at a path from the top, ended with a slash."""
        key = id_, path
        if key not in self.folders:
            _, data = self.read(id_)
            is_inside = path.startswith(self.prefix)
            made: dict[bytes, tuple[bytes, str]] = {}
            for mode, name, old in _entries(data, len(id_)):
                below = path + name + (b"/" if mode == b"40000" else b"")
                new, changed_name = old, self.changes.name(name) if is_inside else name
                if mode == b"40000" and (is_inside or self.prefix.startswith(below)):
                    new = self.folder(old, below)
                elif old in self.changes.blobs and is_inside:
                    new = self.file(old, os.fsdecode(below[len(self.prefix) :]))
                while new and changed_name != name and changed_name in made:
                    changed_name = b"2-" + changed_name
                if new and not (new != old and new == self.empty()):
                    made[changed_name] = mode, new
            rows = sorted(made.items(), key=lambda one: one[0] + b"/" * (one[1][0] == b"40000"))
            entries = (
                b"%b %b\0%b" % (mode, name, bytes.fromhex(one)) for name, (mode, one) in rows
            )
            new_data = b"".join(entries)
            self.folders[key] = self.write("tree", new_data) if new_data != data else id_
        return self.folders[key]

    def empty(self) -> str:
        return self.id_of("tree", b"")

    def file(self, id_: str, path: str) -> str:
        if (id_, path) not in self.files:
            _, data = self.read(id_)
            new = self.changes.file(id_, path, data)
            made = "" if new is None else id_ if new == data else self.write("blob", new)
            self.files[id_, path] = made
        return self.files[id_, path]

    def id_of(self, kind: str, data: bytes) -> str:
        made = hashlib.sha256() if self.is_sha256 else hashlib.sha1(usedforsecurity=False)
        made.update(b"%b %d\0" % (kind.encode(), len(data)) + data)
        return made.hexdigest()

    def write(self, kind: str, data: bytes) -> str:
        """The id of a new object, which is written with others."""
        id_ = self.id_of(kind, data)
        if id_ not in self.packed:
            size, number = len(data) >> 4, _PACK_KINDS[kind] << 4 | len(data) & 15
            head = bytearray()
            while size:
                head.append(number | 128)
                number, size = size & 127, size >> 7
            self.packed[id_] = bytes([*head, number]) + zlib.compress(data, 1)
            self.packed_bytes += len(self.packed[id_])
            if self.packed_bytes > _PACK_BYTES:
                self.write_pack()
        return id_

    def write_pack(self) -> None:
        """Give git the new objects as a pack."""
        if not self.packed:
            return
        data = (
            b"PACK\0\0\0\2" + len(self.packed).to_bytes(4, "big") + b"".join(self.packed.values())
        )
        digest = hashlib.sha256 if self.is_sha256 else hashlib.sha1
        words = ["index-pack", "--stdin", "--fix-thin"]
        git_cli.run(self.root, words, stdin=data + digest(data).digest(), timeout=_TIMEOUT_SECONDS)
        self.packed.clear()
        self.packed_bytes = 0
