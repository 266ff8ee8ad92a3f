"""Rewrite a repository's history without what is erased, and drop the old objects.

New commits are a function of the old ones and of what is erased, so that every clone and every run
makes the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from cortex.core.notes.erasure import Eraser
from cortex.vault.git import checkout, git_cli, objects

_BATCH_BYTES = 64_000_000  # of objects that are read at once
_TIMEOUT_SECONDS = 3600.0
_EXPORT = ("fast-export", "--all", "--no-data", "--signed-tags=strip", "--tag-of-filtered-object=rewrite", "--reencode=no", "--show-original-ids")  # fmt: skip
_ADDED = "cortex: the list of what was erased"  # the message of a commit
_PARKED = "refs/cortex/stash/"  # refs of the stashes, for a moment


def find_objects(root: str, wants: Callable[[bytes], bool]) -> dict[str, str]:
    """The objects of which `wants` wants the content, of a folder the names in it: id -> kind. All are
    read, also those to which nothing leads. Empty outside a repository."""
    found: dict[str, str] = {}
    if not checkout.is_in_repository(root):
        return found
    words = ["cat-file", "--batch-check", "--batch-all-objects", "--unordered"]
    listed = git_cli.run(root, words, timeout=_TIMEOUT_SECONDS).decode().splitlines()
    batch: list[str] = []
    size = 0
    for line in (*listed, f"  {_BATCH_BYTES}"):  # the last one is no object
        id_, _, length = line.split(" ")
        size += int(length)
        batch += [id_] if id_ else []
        if size >= _BATCH_BYTES:
            for name, (kind, data) in objects.read_objects(root, batch).items():
                entry = rb"(?s)\d+ ([^\0]+)\0.{%d}" % (len(name) // 2)
                if wants(b"\n".join(re.findall(entry, data)) if kind == "tree" else data):
                    found[name] = kind
            batch, size = [], 0
    return found


def reachable(root: str, *revisions: str) -> set[str]:
    """The ids of all objects that these commits lead to."""
    words = ["rev-list", "--objects", "--no-object-names", *revisions, "--"]
    return set(git_cli.run(root, words, timeout=_TIMEOUT_SECONDS).decode().split())


def list_refs(root: str) -> dict[str, str]:
    """The refs, and what each names."""
    listed = git_cli.run(root, ["for-each-ref", "--format=%(refname) %(objectname)"])
    return dict(line.rsplit(" ", 1) for line in os.fsdecode(listed).splitlines())


def rewrite(root: str, eraser: Eraser, found: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Rewrite all refs; old and new object of those that changed. `found` are the objects that hold
    it. Index and work tree stay as they are; old objects stay until `drop_old`."""
    _park_stashes(root)
    before = list_refs(root)
    texts = objects.read_blobs(root, [id_ for id_, kind in found.items() if kind == "blob"])
    stream = git_cli.run(root, _EXPORT, timeout=_TIMEOUT_SECONDS)
    new = b"".join(_rewritten(root, stream, eraser, texts))
    git_cli.run(root, ["fast-import", "--force", "--quiet"], stdin=new, timeout=_TIMEOUT_SECONDS)
    after = list_refs(root)
    _unpark_stashes(root)
    changed = (name for name, id_ in before.items() if after.get(name, id_) != id_)
    return {name: (before[name], after[name]) for name in changed}


def _rewritten(
    root: str, stream: bytes, eraser: Eraser, texts: dict[str, bytes]
) -> Iterator[bytes]:
    """A stream of `git fast-export` without what is erased."""
    at, commit, prefix = 0, "", objects.prefix(root)
    changed: dict[bytes, bytes] = {}
    while at < len(stream):
        end = stream.index(b"\n", at) + 1
        line, at = stream[at:end], end
        word = line.partition(b" ")[0]
        if word == b"data":
            text = eraser.erase_text(stream[at : at + int(line[5:])])
            at += int(line[5:])
            yield b"data %d\n%b" % (len(text), text)
        elif word in (b"author", b"committer", b"tagger"):
            yield eraser.erase_text(line)
        elif word == b"original-oid":
            commit = line[13:-1].decode()
        elif word in (b"M", b"D"):
            fields = line[:-1].split(b" ", 3 if word == b"M" else 1)
            path = name = fields[-1]
            if is_inside := path.lstrip(b'"').startswith(prefix):
                name = eraser.erase_name(path)
            if name != path and (own := _entry(root, commit, name)):
                fields = [b"M", *own]  # a file that has this name itself
            blob = texts.get(fields[2].decode()) if fields[0] == b"M" else None
            if fields[0] == b"D":
                changed.setdefault(name, b"D %b\n" % name)
            elif blob is None or not is_inside or fields[1] == b"120000":  # a link
                changed[name] = b"M %b %b %b\n" % (*fields[1:3], name)
            else:
                new = eraser.erase(os.fsdecode(path.strip(b'"')[len(prefix) :]), blob)
                head = b"M %b inline %b\ndata %d\n" % (fields[1], name, len(new or b""))
                changed[name] = b"D %b\n" % name if new is None else head + (new or b"") + b"\n"
        else:
            yield from sorted(changed.values(), key=lambda one: one[:1])  # D, then M
            changed = {}
            yield line


def _entry(root: str, commit: str, path: bytes) -> list[bytes]:
    """Mode and id of a file of a commit; empty where it has none of this name."""
    words = ["ls-tree", "--full-tree", commit, "--", os.fsdecode(path)]
    return [os.fsencode(word) for word in git_cli.line(root, words).split()[:3:2]]


def add_files(root: str, ref: str, commit: str, folder: str) -> str:
    """Make `ref` name a commit with the files that HEAD has below a folder of the vault: `commit`, or
    one on top of it where it lacks any. Returns its id."""
    below = [os.fsdecode(objects.prefix(root)) + folder]
    there = objects.list_files(root, commit, below).items()
    missing = dict(objects.list_files(root, "HEAD", below).items() - there)
    stream = f"reset {ref}\nfrom {commit}\n\n"
    if missing:
        who = git_cli.line(root, ["var", "GIT_COMMITTER_IDENT"])
        stream += f"commit {ref}\ncommitter {who}\ndata {len(_ADDED)}\n{_ADDED}\n"
    for path, blob in sorted(missing.items()):
        name = re.sub(r'(["\\])', r"\\\1", os.fsdecode(path)).replace("\n", "\\n")
        stream += f'M 100644 {blob} "{name}"\n'
    git_cli.run(root, ["fast-import", "--force", "--quiet"], stdin=os.fsencode(stream))
    return git_cli.find_commit(root, ref)


def drop_old(root: str) -> None:
    """Drop what no ref leads to: reflogs but that of the stashes, and all such objects."""
    _park_stashes(root)
    git_cli.run(root, ["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"])
    _unpark_stashes(root)
    for name in ("FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE"):  # fmt: skip
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(root, git_cli.line(root, ["rev-parse", "--git-path", name])))
    if git_cli.has_commit(root) and not objects.list_staged(root):
        # Git's index remembers what conflicts it resolved.
        git_cli.run(root, ["read-tree", "HEAD"], timeout=120.0)
        git_cli.run_unchecked(root, ["update-index", "-q", "--refresh"], timeout=120.0)
    git_cli.run(root, ["gc", "--prune=now", "--quiet"], timeout=_TIMEOUT_SECONDS)


def _park_stashes(root: str) -> None:
    """Make a ref of each stash, the oldest first: of git's own ref they are but the reflog."""
    ran = git_cli.run_unchecked(root, ["log", "-g", "--format=%H", "refs/stash", "--"])
    ids = [] if ran.code else ran.stdout.decode().split()
    for number, id_ in enumerate(reversed(ids)):
        git_cli.run(root, ["update-ref", f"{_PARKED}{number:04}", id_])
    if ids:
        git_cli.run(root, ["update-ref", "-d", "refs/stash"])


def _unpark_stashes(root: str) -> None:
    """Make stashes of these refs again, under the subjects of their commits."""
    for name, id_ in list_refs(root).items():
        if name.startswith(_PARKED):
            subject = git_cli.line(root, ["log", "-1", "--format=%s", id_, "--"])
            git_cli.run(root, ["stash", "store", "--quiet", f"--message={subject}", id_])
            git_cli.run(root, ["update-ref", "-d", name])
