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
from cortex.core.redact.find_secrets import FoundSecret, find_secrets, mask_known_lines
from cortex.core.text.shell_command import cortex_command
from cortex.core.text.strings import text_digest
from cortex.vault import files
from cortex.vault.git import git_cli, objects
from cortex.vault.locate import Vault, is_own
from cortex.vault.state import store

NOT_PUBLISHED = "is not published"
MAX_BYTES = 4_000_000  # of a text that is looked through
_OPAQUE_SUFFIXES = MEDIA_SUFFIXES - {"svg", "canvas", "base", "csv", "tsv"}  # no text
_ALLOWED_FILE = "published"  # a hash a line
_MAX_ALLOWED_BYTES = 4_000_000
_MAX_LINES = 5  # that a message names
_MAX_REMEMBERED = 50_000  # texts
_OBJECT_RE = re.compile(rb"([0-9a-f]{40,64}) (.+)")

# By the hash of a file's path, text and published text what was found: it is asked for again at once.
_looked_at: dict[int, tuple[list[FoundSecret], str]] = {}


def why_held(root: str, path: str, data: bytes, before: bytes | None = None) -> Problem | None:
    """Why a file must not be published as it stands, with its lines and the two ways on; None if it
    may. `data` are its first `MAX_BYTES`; `before` is what is published of it, None if nothing is."""
    found, scope = _look_at(root, path, data, before)
    is_cut = before is None and len(data) >= MAX_BYTES and _text_of(path, data)
    if not (found or scope or is_cut):
        return None
    allowed = _read_allowed(root)
    anyway = cortex_command("sync", "--publish", path)
    if (scope or is_cut) and _path_digest(path) not in allowed:
        limit = f"only {MAX_BYTES // 1_000_000} MB of a text are looked through"
        message = f"{NOT_PUBLISHED}: {f'it says scope: {scope}' if scope else limit}"
        home = f"{cortex_command('promote', path)} moves it to your own vault; " if scope else ""
        return Problem(path, message, f"{home}{anyway} shares it all the same")
    known = allowed | (_digests(path, before) if found and before is not None else set())
    if not (new := [one for one in found if one.digest not in known]):
        return None
    message = f"{NOT_PUBLISHED}: {_describe(new)}"
    return Problem(path, message, f"take it out, then cortex sync; if it is no secret: {anyway}")


def _look_at(
    root: str, path: str, data: bytes, before: bytes | None
) -> tuple[list[FoundSecret], str]:
    """The secrets in what is new in a file, and the scope of one person that a new note says."""
    key = hash((root, path, data, before))
    if key not in _looked_at:
        text, scope = _text_of(path, data), ""
        if before is not None:
            text = mask_known_lines(text, decode_text(before), path)
        elif path.endswith(".md") and (said := scope_of_one_person(text)):
            scope = "" if is_own(Vault(root)) else said
        if len(_looked_at) >= _MAX_REMEMBERED:
            _looked_at.clear()
        _looked_at[key] = find_secrets(text, decode_text(os.fsencode(path))), scope
    return _looked_at[key]


def _text_of(path: str, data: bytes) -> str:
    """The text of a file; empty where it holds none."""
    return "" if path.rpartition(".")[2].lower() in _OPAQUE_SUFFIXES else decode_text(data)


def _digests(path: str, data: bytes) -> set[str]:
    found = find_secrets(_text_of(path, data), decode_text(os.fsencode(path)))
    return {one.digest for one in found}


def _describe(found: list[FoundSecret]) -> str:
    """`line 3 looks like a secret (aws-key)`."""
    kinds = ", ".join(dict.fromkeys(one.kind for one in found))
    lines = [str(line) for line in dict.fromkeys(one.line for one in found) if line]
    more = f" and {len(lines) - _MAX_LINES} more" if len(lines) > _MAX_LINES else ""
    where = f"line{'s' * (len(lines) > 1)} {', '.join(lines[:_MAX_LINES])}{more}"
    verb = "look" if len(lines) > 1 else "looks"
    return f"{where if lines else 'its name'} {verb} like a secret ({kinds})"


def held_files(root: str, paths: Iterable[str]) -> list[Problem]:
    """Those of the files that must not be published as they stand, as `why_held` has them."""
    found = []
    published = objects.read_committed(root, paths := [*paths])
    for path in paths:
        # What cannot be read is not committed either.
        with suppress(CortexError, OSError):
            data = files.read(root, path, MAX_BYTES)
            found.append(why_held(root, path, data, published.get(path)))
    return [problem for problem in found if problem]


def held_in_commits(root: str, theirs: str, push_remote: str) -> list[Problem]:
    """The files that a push would publish and that must not be, as `why_held` has them. `theirs` is
    the remote's commit, empty where it has none."""
    found: dict[str, Problem] = {}
    blobs = _unpublished_blobs(root, theirs, push_remote)
    for some in objects.split_batches([*blobs]):
        for blob, data in objects.read_blobs(root, some).items():
            path = blobs[blob]
            if problem := why_held(root, path, data[:MAX_BYTES]):
                before = objects.read_at_revision(root, theirs, path) if theirs else None
                problem = problem if before is None else why_held(root, path, data, before)
            if problem:
                found[path] = problem
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
    digests = {_path_digest(path)}.union(*(_digests(path, data) for data in found))
    if found:
        store.append(_allowed_path(root), "".join(f"{one}\n" for one in sorted(digests)).encode())
    return bool(found)


def _read_allowed(root: str) -> set[str]:
    with suppress(CortexError):  # without a state folder nothing was let through
        words = store.read(_allowed_path(root), _MAX_ALLOWED_BYTES)
        return set(words.decode("ascii", "replace").split())
    return set()


def _allowed_path(root: str) -> str:
    return os.path.join(Vault(root).state_folder(), _ALLOWED_FILE)


def _path_digest(path: str) -> str:
    return text_digest(f"path\0{path}")
