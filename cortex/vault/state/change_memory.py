"""What notes were before a command changed many of them, to take that back.

One file in the state folder per command: path -> (text before, or none; digest of what was written).
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence

from cortex.core.model.caller import ProgressCallback
from cortex.core.model.problem import CortexError, NotFoundError, Problem, problem_of
from cortex.core.text.strings import blake2b_digest, shell_quote
from cortex.core.text.value import Any, TypeAlias
from cortex.vault import files, private
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale
from cortex.vault.state.json_store import JsonStore

Memory: TypeAlias = dict[str, tuple[str | None, str]]


def _parse_memory(table: dict[str, list[Any]]) -> Memory:
    return {path: (before, digest) for path, (before, digest) in table.items()}


_MEMORY = JsonStore("{}.json", _parse_memory, Memory(), most=256_000_000)


def write_changes(
    vault: Vault,
    name: str,
    changes: Sequence[tuple[str, bytes | None, bytes]],
    progress: ProgressCallback,
    again: str,
) -> list[Problem]:
    """Remember and write notes (path, bytes before, bytes after); problems of those that cannot be
    written, which the command `again` mends. The caller holds the record lock."""
    mark_briefings_stale(vault)  # a run that ends here leaves briefings to heal
    _remember(vault, name, changes)
    problems = []
    for count, (path, before, after) in enumerate(changes, start=1):
        progress("writing", count, len(changes))
        try:
            files.replace(vault.root, path, after, before)
        except (CortexError, OSError) as error:
            problems.append(problem_of(path, error, again))
    return problems


def _remember(vault: Vault, name: str, changes: Iterable[tuple[str, bytes | None, bytes]]) -> None:
    """Store what each note was before the first of the changes that are not taken back, or as it
    was changed between two of them."""
    memory = {**_MEMORY.read(vault, name)}
    for path, before, after in changes:
        text = before.decode("utf-8", "surrogateescape") if before is not None else None
        remembered = memory.get(path)
        if remembered and before is not None and remembered[1] == _digest(before):
            text = remembered[0]
        memory[path] = text, _digest(after)
    _MEMORY.write(vault, memory, name, durable=True)


def recall(vault: Vault, name: str) -> dict[tuple[str, str], bytes]:
    """What notes were before `write_changes`, by their path and the digest of what it wrote."""
    return {
        (path, digest): before.encode("utf-8", "surrogateescape")
        for path, (before, digest) in _MEMORY.read(vault, name).items()
        if before is not None
    }


def take_back(
    vault: Vault, name: str, preview: str
) -> tuple[list[tuple[str, bytes]], list[Problem]]:
    """Bring the notes back, where nobody has changed them since: the path and what it remembered of each.
    The caller holds the record lock. Raises `NotFoundError` when there is nothing to take back;
    `preview` is the command that shows what there would be."""
    mark_briefings_stale(vault)
    memory = _MEMORY.read(vault, name)
    if not memory:
        raise NotFoundError("there is nothing to take back", f"{preview} shows what it would do")
    done, problems = [], []
    for path, (before, digest) in memory.items():
        data = files.read(vault.root, path) if files.exists(vault.root, path) else None
        if data is None or _digest(data) != digest:
            if data is None or before is None or data != before.encode():
                message = "was changed since, so it stays as it is"
                problems.append(Problem(path, message, f"cortex history {path}"))
            continue
        if before is None:
            files.remove(vault.root, path)
        else:
            files.replace(vault.root, path, before.encode("utf-8", "surrogateescape"), data)
        done.append((path, data))
    _MEMORY.remove(vault, name)
    return done, problems


def _digest(data: bytes) -> str:
    return blake2b_digest(data, 16).hex()


def write_backup(vault: Vault, name: str, paths: Iterable[str]) -> str:
    """Keep files as they are; the command that puts them back. Raises `OSError`, `CortexError`."""
    import tarfile  # noqa: PLC0415  10 ms, for two verbs

    file, held = os.path.join(vault.state_folder(), f"{name}.tar"), io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for path in paths:
            tar.add(os.path.join(vault.root, path), path, recursive=False)
    private.replace(file, held.getvalue(), durable=True)
    return f"tar -xf {shell_quote(file)} -C {shell_quote(vault.root)}"
