"""Which packages that records speak of are in the project's manifests, now and when they were said.

Only manifests near the top of the work tree are read; uncommitted edits count as a change of now. A
package is doubtful when no manifest names it now and one did since the record was written; or when
the record says that it is not used, no manifest named it then, and one does now.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from cortex.core import manifest
from cortex.core.claims import PackageClaim, RecordClaims
from cortex.core.manifest import Manifest
from cortex.core.model.problem import Problem
from cortex.vault import files
from cortex.vault.git import checkout, file_history, objects
from cortex.vault.git.file_history import FileCommit

_COMMON_MANIFESTS = ("pyproject.toml", "requirements.txt", "package.json", "go.mod", "Cargo.toml")
_END_OF_TIME = "9999"  # later than any time
_MAX_FOLDERS, _MAX_ENTRIES, _MAX_MANIFESTS = 200, 400, 60
_MAX_HISTORY_PATHS, _MAX_OLD_VERSIONS = 20, 60
_SKIPPED_FOLDERS = [
    "node_modules", "vendor", "dist", "build", "target", "venv", "env", "site-packages",
    "third_party",
]  # fmt: skip
# Files that can name a package but are not parsed: a package that they mention is not doubted.
_UNPARSED_MANIFESTS = frozenset([
    "setup.py", "setup.cfg", "pipfile", "environment.yml", "environment.yaml", "conda.yaml",
    "meta.yaml", "build.gradle", "build.gradle.kts", "pom.xml", "gemfile", "composer.json",
    "deno.json", "deno.jsonc", "bun.lock", "mix.exs", "pnpm-workspace.yaml", "dockerfile",
    "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml", "flake.nix",
    "pixi.toml", "import_map.json", "libs.versions.toml", "noxfile.py", "tox.ini", "justfile",
    "makefile", "build.zig.zon", "pubspec.yaml", "package.swift", "cmakelists.txt",
])  # fmt: skip


class PackageCheck(NamedTuple):
    """What manifests say now. `suspects` still have to be confirmed by the history."""

    suspects: dict[str, list[PackageClaim]]  # by the id of the claim
    created_by_record: dict[str, str]
    manifests: dict[str, Manifest]  # by path from the top
    history_paths: list[str]  # whose history counts
    problems: tuple[Problem, ...] = ()


def compare_with_manifests(
    top: str, below: str, claims: Sequence[RecordClaims], seen: Callable[..., None]
) -> PackageCheck:
    """Compare the claims with the manifests of the project at `top`; `seen` is called with each
    path before it is read."""
    speaking = {claim.id: claim for claim in claims if claim.packages}
    if not speaking:
        return PackageCheck({}, {}, {}, [])
    named, others, folders = _list_manifests(top, below)
    seen(top, *(os.path.join(top, path) for path in named))
    now: dict[str, Manifest] = {}
    problems: list[Problem] = []
    for path in named[:_MAX_MANIFESTS]:
        _read_manifest(top, path, now, problems, seen)
    if problems:
        return PackageCheck({}, {}, {}, [], tuple(problems))
    names = frozenset().union(*(one.packages for one in now.values()))

    def is_contradicted(claim: PackageClaim) -> bool:
        if claim.is_used:
            return not manifest.has_similar_package(claim.name, names)
        return manifest.has_package(claim.name, names)

    suspects = {id_: list(filter(is_contradicted, one.packages)) for id_, one in speaking.items()}
    if any(suspects.values()):
        seen(*(os.path.join(top, path) for path in others))
        text = manifest.fold_name("\n".join(_read_text(os.path.join(top, path)) for path in others))
        for id_, found in suspects.items():
            suspects[id_] = [
                one for one in found if not one.is_used or manifest.fold_name(one.name) not in text
            ]
    suspects = {id_: found for id_, found in suspects.items() if found}
    if suspects:
        seen(*(os.path.join(top, folder) for folder in folders))
    usual = [f"{below}/{name}" if below else name for name in _COMMON_MANIFESTS]
    paths = list(dict.fromkeys([*usual, *_COMMON_MANIFESTS, *now]))[:_MAX_HISTORY_PATHS]
    return PackageCheck(suspects, {id_: one.created for id_, one in speaking.items()}, now, paths)


def confirm_with_history(
    top: str, check: PackageCheck, commits: Sequence[FileCommit]
) -> Iterator[tuple[str, str]]:
    """Pairs of claim id and reason, of the suspects that the history confirms. Calls git once."""
    if not check.suspects:
        return
    past = [
        (commit.at, change.path, change.old_blob)
        for commit in commits
        for change in commit.changes
        if change.path in check.history_paths and change.old_blob.strip("0")
    ]
    head = [(_END_OF_TIME, path, f"HEAD:{path}") for path in check.history_paths]
    head = [] if checkout.operation_in_progress(top) else head
    versions = [*head, *past[:_MAX_OLD_VERSIONS], *past[-_MAX_OLD_VERSIONS:]]
    blobs = [blob for _, _, blob in versions]
    limit = file_history.TIMEOUT_SECONDS
    found = objects.read_blobs(top, blobs, manifest.MAX_CHARS, timeout=limit)
    texts = {blob: data.decode("utf-8", "replace") for blob, data in found.items()}

    @cache
    def names_of(path: str, blob: str) -> frozenset[str]:
        return manifest.parse(path, texts.get(blob, "")).packages

    # What is not committed is a change of now.
    past = [
        one
        for one in head
        if one[2] in texts
        and names_of(*one[1:]) != check.manifests.get(one[1], Manifest()).packages
    ] + past
    for id_, suspects in check.suspects.items():
        since = [(path, blob) for at, path, blob in past if at >= check.created_by_record[id_]]
        first = dict(since)  # newest first, so the oldest stays: what it said at the time
        for one in suspects:
            if one.is_used:
                folded = manifest.fold_name(one.name)
                if any(
                    folded in manifest.fold_name(texts.get(blob, ""))
                    and manifest.has_package(one.name, names_of(path, blob))
                    for path, blob in since
                ):
                    yield id_, f"{one.name} is in no manifest any more"
                continue
            holding = [
                path
                for path, now in check.manifests.items()
                if manifest.has_package(one.name, now.packages)
            ]
            then = [names_of(path, blob) for path, blob in first.items()]
            was_used = any(manifest.has_similar_package(one.name, packages) for packages in then)
            if all(path in first for path in holding) and all(then) and not was_used:
                yield id_, f"{one.name} is in {holding[0]} now"


def _list_manifests(top: str, below: str) -> tuple[list[str], list[str], list[str]]:
    """Manifests, other files that may name packages, and the folders looked into: two folders deep
    from the top, those below `below` first."""
    named: list[str] = []
    others: list[str] = []
    folders = [""]
    for folder in folders:
        depth = folder.count("/") + 1 if folder else 0
        try:
            with os.scandir(os.path.join(top, folder)) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed[:_MAX_ENTRIES]:
            name, path = entry.name, f"{folder}/{entry.name}" if folder else entry.name
            is_file = entry.is_file(follow_symlinks=False)
            if is_file and manifest.kind_of(name):
                named.append(path)
            elif is_file and depth < 2 and name.casefold() in _UNPARSED_MANIFESTS:
                others.append(path)
            elif (
                entry.is_dir(follow_symlinks=False)
                and depth < 2
                and len(folders) < _MAX_FOLDERS
                and name not in _SKIPPED_FOLDERS
                and not name.startswith(".")
            ):
                folders.append(path)
    named.sort(key=lambda path: (not below or not path.startswith(f"{below}/"), path.count("/")))
    return named, others, folders


def _read_manifest(
    top: str, path: str, now: dict[str, Manifest], faults: list[Problem], seen: Callable[..., None]
) -> None:
    """Read a manifest and, once, those that it includes."""
    parsed = manifest.parse(path, _read_text(os.path.join(top, path)))
    if parsed.problem:
        why = f"{parsed.problem}; what records say of packages was not checked"
        faults.append(Problem(path, why, f"edit {path}"))
        return
    now[path] = parsed
    for included in parsed.included_files:
        inner = os.path.normpath(os.path.join(os.path.dirname(path), included)).replace(os.sep, "/")
        is_outside = os.path.isabs(inner) or inner.startswith("..")
        if is_outside or os.path.islink(os.path.join(top, inner)) or inner in now:
            continue
        if len(now) < _MAX_MANIFESTS and re.fullmatch(r"[\w./-]{1,200}", inner):
            seen(os.path.join(top, inner))
            now[inner] = Manifest()  # so that files that include each other end
            _read_manifest(top, inner, now, faults, seen)


def _read_text(path: str) -> str:
    return files.read_bounded(path, 4 * manifest.MAX_CHARS).decode("utf-8", "replace")
