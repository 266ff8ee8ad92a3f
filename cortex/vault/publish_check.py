"""What is published for the first time is looked at: no secret leaves, and nothing of one person's alone.

Asked of every file before it is committed, and of what commits hold before they are pushed. What a
person lets through is remembered by a hash, in their state folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress

from cortex.core.model.note_status import decode_text
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.relation import MEDIA_SUFFIXES
from cortex.core.notes.scope import scope_of_one_person
from cortex.core.redact.find_secrets import FoundSecret, find_secrets
from cortex.core.text.shell_command import cortex_command
from cortex.core.text.strings import text_digest
from cortex.vault import files
from cortex.vault.git import git_cli, objects
from cortex.vault.locate import Vault, is_own
from cortex.vault.state import store

MAX_BYTES = 4_000_000  # of a text that is looked through
_OPAQUE_SUFFIXES = MEDIA_SUFFIXES - {"svg", "canvas", "base", "csv", "tsv"}  # no text
_ALLOWED_FILE = "published"  # a hash a line
_MAX_ALLOWED_BYTES = 4_000_000
_MAX_LINES = 5  # that a message names
_MAX_REMEMBERED = 50_000  # texts
_OBJECT_RE = re.compile(rb"([0-9a-f]{40,64}) (.+)")

# Hashes of names and texts in which nothing was found: what a sync commits, it pushes.
_clean: set[int] = set()


def why_held(root: str, path: str, data: bytes, published: str = "HEAD") -> Problem | None:
    """Why a file must not be published as it stands, with its lines and the two ways on; None if it
    may. `data` are its first `MAX_BYTES`; `published` is the commit that has what is published."""
    suffix = path.rpartition(".")[2].lower()
    key = hash((root, path, data))
    if key in _clean:
        return None
    text = "" if suffix in _OPAQUE_SUFFIXES else decode_text(data)
    found = find_secrets(text, decode_text(os.fsencode(path)))
    scope = scope_of_one_person(text) if suffix == "md" and not is_own(Vault(root)) else ""
    is_cut = bool(text) and len(data) >= MAX_BYTES
    if not (found or scope or is_cut):
        if len(_clean) >= _MAX_REMEMBERED:
            _clean.clear()
        _clean.add(key)
        return None
    before = objects.read_at_revision(root, published, path) if published else None
    return _explain(root, path, found, before, scope, is_cut=is_cut)


def _explain(
    root: str,
    path: str,
    found: list[FoundSecret],
    before: bytes | None,
    scope: str,
    *,
    is_cut: bool,
) -> Problem | None:
    allowed = _read_allowed(root)
    anyway = cortex_command("sync", "--publish", path)
    if scope and before is None and _path_digest(path) not in allowed:
        home = cortex_command("promote", path)
        hint = f"{home} moves it to your own vault; {anyway} shares it all the same"
        return Problem(path, f"is not published: it says scope: {scope}", hint)
    if is_cut and before is None and _path_digest(path) not in allowed:
        message = f"is not published: only {MAX_BYTES // 1_000_000} MB of a text are looked through"
        return Problem(path, message, f"{anyway}, if it holds no secret")
    known = {one.digest for one in find_secrets(decode_text(before or b""))} if found else set()
    new = [one for one in found if one.digest not in known and one.digest not in allowed]
    if not new:
        return None
    message = f"is not published: {_describe(new)}"
    return Problem(path, message, f"take it out, then cortex sync; if it is no secret: {anyway}")


def _describe(found: list[FoundSecret]) -> str:
    """`line 3 looks like a secret (aws-key)`."""
    kinds = ", ".join(dict.fromkeys(one.kind for one in found))
    lines = [str(line) for line in dict.fromkeys(one.line for one in found) if line]
    if not lines:
        return f"its name looks like a secret ({kinds})"
    more = f" and {len(lines) - _MAX_LINES} more" if len(lines) > _MAX_LINES else ""
    many = "lines" if len(lines) > 1 else "line"
    verb = "look" if len(lines) > 1 else "looks"
    return f"{many} {', '.join(lines[:_MAX_LINES])}{more} {verb} like a secret ({kinds})"


def held_files(root: str, paths: Iterable[str]) -> list[Problem]:
    """Those of the files that must not be published as they stand, as `why_held` has them."""
    found = []
    for path in paths:
        # What cannot be read is not committed either.
        with suppress(CortexError, OSError):
            found.append(why_held(root, path, files.read(root, path, MAX_BYTES)))
    return [problem for problem in found if problem]


def held_in_commits(root: str, theirs: str, push_remote: str) -> list[Problem]:
    """The files that a push would publish and that must not be, as `why_held` has them. `theirs` is
    the remote's commit, empty where it has none."""
    found: dict[str, Problem] = {}
    blobs = _unpublished_blobs(root, theirs, push_remote)
    for some in objects.split_batches([*blobs]):
        for blob, data in objects.read_blobs(root, some).items():
            if problem := why_held(root, blobs[blob], data[:MAX_BYTES], theirs):
                found[blobs[blob]] = problem
    return [found[path] for path in sorted(found)]


def _unpublished_blobs(root: str, theirs: str, push_remote: str) -> dict[str, str]:
    """The objects below the vault that commits have and the remote has not, each with a path."""
    known = [*([theirs] if theirs else []), f"--remotes={push_remote}"]
    words = ["rev-list", "--objects", "HEAD", "--not", *known]
    listed = git_cli.run(objects.toplevel(root), words, timeout=120.0)
    prefix = objects.prefix(root)
    paths: dict[str, str] = {}
    for line in listed.split(b"\n"):
        named = _OBJECT_RE.fullmatch(line)
        if named and named[2].startswith(prefix):
            paths[named[1].decode()] = os.fsdecode(named[2][len(prefix) :])
    return paths


def allow(root: str, path: str) -> bool:
    """Remember a person's word that a file may be published as it stands in the vault and in all
    commits here. False if it stands nowhere."""
    texts = [blob for pair in objects.list_blob_changes(root, path) for blob in pair if blob]
    found = [*objects.read_blobs(root, texts).values()]
    with suppress(CortexError, OSError):
        found.append(files.read(root, path, MAX_BYTES))
    digests = {_path_digest(path)}
    for data in found:
        digests |= {one.digest for one in find_secrets(decode_text(data), path)}
    if found:
        store.append(_allowed_path(root), "".join(f"{one}\n" for one in sorted(digests)).encode())
    return bool(found)


def _read_allowed(root: str) -> set[str]:
    return set(
        store.read(_allowed_path(root), _MAX_ALLOWED_BYTES).decode("ascii", "replace").split()
    )


def _allowed_path(root: str) -> str:
    return os.path.join(Vault(root).state_folder(), _ALLOWED_FILE)


def _path_digest(path: str) -> str:
    return text_digest(f"path\0{path}")
