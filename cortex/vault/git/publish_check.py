"""What is published for the first time is looked at: no secret leaves, and nothing of one person's alone.

Asked of every file before it is committed, and of what commits hold before they are pushed. What a
person lets through is remembered by a hash, in their state folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from cortex.core.model.layout import is_among_briefings
from cortex.core.model.note_status import decode_text
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.relation import MEDIA_SUFFIXES
from cortex.core.notes import note as notes
from cortex.core.notes.note import scope_of_one_person
from cortex.core.redact.find_secrets import FoundSecret, find_secrets, mask_known_lines
from cortex.core.text.strings import cortex_command, option_words, text_digest
from cortex.vault import files, private
from cortex.vault.git import git_cli, objects
from cortex.vault.locate import Vault, is_own

SECRET_WORDS = "like a secret"  # noqa: S105  in what is said of one
NOT_PUBLISHED = "is not published"
MAX_BYTES = 4_000_000  # of a text that is looked through
_OPAQUE_SUFFIXES = MEDIA_SUFFIXES - {"svg", "canvas", "base", "csv", "tsv"}  # no text
_ALLOWED_FILE = "published"  # a hash a line
_MAX_ALLOWED_BYTES = 4_000_000
_TOO_LARGE = f"only {MAX_BYTES // 1_000_000} MB of a text are looked through"
_MAX_LINES = 5  # that a message names
_MAX_REMEMBERED = 50_000  # texts
_BATCH = 500  # texts that are read at once

# By the hash of a file's path, text and published text what was found: it is asked for again at once.
_looked_at: dict[int, tuple[list[FoundSecret], str]] = {}


def why_held(root: str, path: str, data: bytes, before: bytes | None = None) -> Problem | None:
    """Why a file must not be published as it stands, with its lines and the two ways on; None if it
    may. `data` are its first `MAX_BYTES`; `before` is what is published of it, None if nothing is."""
    found, waits_for = _look_at(root, path, data, before)
    if not (found or waits_for):
        return None
    allowed = _read_allowed(root)
    anyway = cortex_command("sync", *option_words("publish", path))
    if waits_for and _waiver(path, waits_for) not in allowed:
        home = f"{cortex_command('promote', path)} moves it to your own vault; "
        hint = f"{'' if waits_for == _TOO_LARGE else home}{anyway} shares it all the same"
        return Problem(path, f"{NOT_PUBLISHED}: {waits_for}", hint)
    known = allowed | (_digests(path, before) if found and before is not None else set())
    if not (new := [one for one in found if one.digest not in known]):
        return None
    mend = "take it out" if not is_among_briefings(path) else "mend the note that it tells of"
    hint = f"{mend}, then cortex sync; if it is no secret: {anyway}"
    return Problem(path, f"{NOT_PUBLISHED}: {_describe(new)}", hint)


def _look_at(
    root: str, path: str, data: bytes, before: bytes | None
) -> tuple[list[FoundSecret], str]:
    """The secrets in what is new in a file, and why else it needs a person's word; mostly nothing."""
    key = hash((root, path, data, before))
    if key not in _looked_at:
        text, old = _text_of(path, data), _text_of(path, before or b"")
        said = _scope_of(text) if path.lower().endswith((".md", ".markdown")) else ""
        is_new = said and said != _scope_of(old) and not is_own(Vault(root))
        is_cut = text and before is None and len(data) >= MAX_BYTES
        waits_for = f"it says scope: {said}" if is_new else _TOO_LARGE if is_cut else ""
        text = text if before is None else mask_known_lines(text, old, path)
        if len(_looked_at) >= _MAX_REMEMBERED:
            _looked_at.clear()
        _looked_at[key] = find_secrets(text, decode_text(os.fsencode(path))), waits_for
    return _looked_at[key]


def _scope_of(text: str) -> str:
    return (
        scope_of_one_person(notes.read(text.encode("utf-8", "replace"))) if "scope" in text else ""
    )


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
    return f"{where if lines else 'its name'} {verb} {SECRET_WORDS} ({kinds})"


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
    top, prefix = objects.toplevel(root), objects.prefix(root)
    words = ["log", "--format=", *objects.RAW, "--no-renames", "-m", "--root"]
    raw = git_cli.run(top, [*words, *unpublished(theirs, push_remote), "--"], timeout=120.0)
    known = objects.list_files(root, theirs) if theirs else {}
    found: dict[str, Problem] = {}
    pairs = {(one.path, one.new_blob) for one in objects.list_raw(raw) if one.new_blob}
    new = [one for one in sorted(pairs - known.items()) if one[0].startswith(prefix)]
    for at in range(0, len(new), _BATCH):
        some = [(os.fsdecode(path[len(prefix) :]), blob) for path, blob in new[at : at + _BATCH]]
        texts = objects.read_blobs(root, [blob for _, blob in some])
        for path, data in ((path, texts[blob][:MAX_BYTES]) for path, blob in some if blob in texts):
            if problem := why_held(root, path, data):
                before = objects.read_at_revision(root, theirs, path) if theirs else None
                problem = problem if before is None else why_held(root, path, data, before)
            if problem:
                found[path] = problem._replace(message=f"{problem.message}, in a commit")
    return [found[path] for path in sorted(found)]


def unpublished(theirs: str, push_remote: str) -> list[str]:
    """What names to git the commits that a push would publish."""
    return ["HEAD", "--not", *([theirs] if theirs else []), f"--remotes={push_remote}"]


def allow(root: str, path: str) -> bool:
    """Remember a person's word that a file may be published as it stands in the vault and in all
    commits here. False if it stands nowhere."""
    texts = [blob for pair in objects.list_blob_changes(root, path) for blob in pair if blob]
    found = [*objects.read_blobs(root, texts).values()]
    with suppress(CortexError, OSError):
        found.append(files.read(root, path, MAX_BYTES))
    waits = (_look_at(root, path, data, None)[1] for data in found)
    digests = {_waiver(path, why) for why in waits if why}
    digests = digests.union(*(_digests(path, data) for data in found))
    if found:
        private.append(_allowed_path(root), "".join(f"{one}\n" for one in sorted(digests)).encode())
    return bool(found)


def _read_allowed(root: str) -> set[str]:
    with suppress(CortexError):  # without a state folder nothing was let through
        words = private.read(_allowed_path(root), _MAX_ALLOWED_BYTES)
        return set(words.decode("ascii", "replace").split())
    return set()


def _allowed_path(root: str) -> str:
    return os.path.join(Vault(root).state_folder(), _ALLOWED_FILE)


def _waiver(path: str, why: str) -> str:
    return text_digest(f"{why}\0{path}")
