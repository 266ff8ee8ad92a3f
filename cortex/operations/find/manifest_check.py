"""Which packages that records speak of a project's manifests name, now and at the time of the record.

Only manifests near the top are read, as the work tree has them; what it has not committed counts as a change of now. A package that is in none of them, but has been since the record was written, is
doubtful; so is one that a record says is not used, that no manifest named then, and that one names now.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

from cortex.core import manifest
from cortex.core.claims import Claim, Said
from cortex.core.manifest import Manifest
from cortex.core.model.problem import Problem
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git import checkout, file_history
from cortex.vault.git.file_history import Commit

_USUAL = ("pyproject.toml", "requirements.txt", "package.json", "go.mod", "Cargo.toml")
_NOW = "9999"  # later than any time
_MOST_FOLDERS, _MOST_ENTRIES, _MOST_READ, _MOST_PATHS, _MOST_PAST = 200, 400, 60, 20, 60
_SKIPPED = frozenset(
    [
        "node_modules",
        "vendor",
        "dist",
        "build",
        "target",
        "venv",
        "env",
        "site-packages",
        "third_party",
    ]
)
# Files that can name a package and are not understood: who stands there in any way is not doubted.
_OTHER_NAMES = (
    "setup.py setup.cfg pipfile environment.yml environment.yaml conda.yaml meta.yaml build.gradle build.gradle.kts pom.xml gemfile composer.json"
    " deno.json deno.jsonc bun.lock mix.exs pnpm-workspace.yaml dockerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml flake.nix"
    " pixi.toml import_map.json libs.versions.toml noxfile.py tox.ini justfile makefile build.zig.zon pubspec.yaml package.swift cmakelists.txt"
)
_OTHERS = frozenset(_OTHER_NAMES.split())


class Dependence(NamedTuple):
    """What is said of packages against what manifests say now. `suspects` still have to be looked up in the history."""

    suspects: dict[str, list[Said]]  # by the id of the claim
    created: dict[str, str]
    now: dict[str, Manifest]  # by path from the top
    paths: list[str]  # whose history counts
    problems: tuple[Problem, ...] = ()


def of(top: str, below: str, claims: Sequence[Claim], seen: Callable[..., None]) -> Dependence:
    """Compare what the claims say with the manifests of the project at `top`; `seen` is told what was read, before."""
    speaking = [claim for claim in claims if claim.packages]
    nothing = Dependence({}, {}, {}, [])
    if not speaking:
        return nothing
    named, others, folders = _found(top, below)
    seen(top, *(os.path.join(top, path) for path in named))
    now: dict[str, Manifest] = {}
    problems: list[Problem] = []
    for path in named[:_MOST_READ]:
        _read_into(top, path, now, problems, seen)
    if problems:
        return nothing._replace(problems=tuple(problems))
    names = frozenset().union(*(one.names for one in now.values()))
    suspects: dict[str, list[Said]] = {}
    for claim in speaking:
        for said in claim.packages:
            if (
                (not manifest.resembled(said.name, names))
                if said.used
                else manifest.known(said.name, names)
            ):
                suspects.setdefault(claim.id, []).append(said)
    if suspects and others:
        seen(*(os.path.join(top, path) for path in others))
        text = manifest.folded("\n".join(_text(os.path.join(top, path)) for path in others))
        suspects = {
            id_: [one for one in said if not one.used or manifest.folded(one.name) not in text]
            for id_, said in suspects.items()
        }
    suspects = {id_: said for id_, said in suspects.items() if said}
    if suspects:
        seen(*(os.path.join(top, folder) for folder in folders))
    usual = [f"{below}/{name}" if below else name for name in _USUAL]
    paths = list(dict.fromkeys([*usual, *_USUAL, *now]))[:_MOST_PATHS]
    return Dependence(suspects, {claim.id: claim.created for claim in speaking}, now, paths)


def doubtful(
    top: str, dependence: Dependence, commits: Sequence[Commit]
) -> Iterator[tuple[str, str]]:
    """The suspects that the history confirms, as ids of claims with reasons. One call of git reads what manifests said."""
    if not dependence.suspects:
        return
    watched = set(dependence.paths)
    past = [
        (commit.at, change.path, change.before)
        for commit in commits
        for change in commit.changes
        if change.path in watched
    ]
    past = [one for one in past if one[2].strip("0")]
    committed = (
        []
        if checkout.under_way(top)
        else [(_NOW, path, f"HEAD:{path}") for path in dependence.paths]
    )
    blobs = [blob for _, _, blob in (*committed, *past[:_MOST_PAST], *past[-_MOST_PAST:])]
    texts = file_history.contents(top, blobs, manifest.MOST)
    read: dict[str, Manifest] = {}

    def names_of(path: str, blob: str) -> frozenset[str]:
        if blob not in read:
            read[blob] = manifest.read(path, texts.get(blob, ""))
        return read[blob].names

    past = [
        one
        for one in committed
        if one[2] in texts and names_of(*one[1:]) != dependence.now.get(one[1], Manifest()).names
    ] + past
    for id_, said in dependence.suspects.items():
        since_then = [(path, blob) for at, path, blob in past if at >= dependence.created[id_]]
        first = dict(since_then)  # newest first, so the oldest stays: what it said at the time
        for one in said:
            folded = manifest.folded(one.name)
            if one.used:
                if any(
                    folded in manifest.folded(texts.get(blob, ""))
                    and manifest.known(one.name, names_of(path, blob))
                    for path, blob in since_then
                ):
                    yield id_, f"{one.name} is in no manifest any more"
                continue
            holding = [
                path
                for path, held in dependence.now.items()
                if manifest.known(one.name, held.names)
            ]
            then = [names_of(path, blob) for path, blob in first.items()]
            if (
                all(path in first for path in holding)
                and all(then)
                and not any(manifest.resembled(one.name, names) for names in then)
            ):
                yield id_, f"{one.name} is in {holding[0]} now"


def _found(top: str, below: str) -> tuple[list[str], list[str], list[str]]:
    """Manifests, other files that may name packages, and the folders looked into: from the top two folders deep, those of
    the directory's own folder first."""
    named: list[str] = []
    others: list[str] = []
    folders = [""]
    for folder in folders:
        depth = folder.count("/") + 1 if folder else 0
        try:
            with os.scandir(os.path.join(top, folder)) as entries:
                listed = sorted(
                    (
                        entry.name,
                        entry.is_dir(follow_symlinks=False),
                        entry.is_file(follow_symlinks=False),
                    )
                    for entry in entries
                )
        except OSError:
            continue
        for name, is_folder, is_file in listed[:_MOST_ENTRIES]:
            path = f"{folder}/{name}" if folder else name
            if is_file and manifest.kind_of(name):
                named.append(path)
            elif is_file and depth < 2 and name.casefold() in _OTHERS:
                others.append(path)
            elif (
                is_folder
                and depth < 2
                and len(folders) < _MOST_FOLDERS
                and name not in _SKIPPED
                and not name.startswith(".")
            ):
                folders.append(path)
    named.sort(key=lambda path: (not below or not path.startswith(f"{below}/"), path.count("/")))
    return named, others, folders


def _read_into(
    top: str,
    path: str,
    now: dict[str, Manifest],
    problems: list[Problem],
    seen: Callable[..., None],
) -> None:
    """Read a manifest and, once, those that it includes."""
    held = manifest.read(path, _text(os.path.join(top, path)))
    if held.problem:
        problems.append(
            Problem(
                path,
                f"{held.problem}; what records say of packages was not checked",
                f"edit {path}",
            )
        )
        return
    now[path] = held
    for more in held.more:
        inner = os.path.normpath(os.path.join(os.path.dirname(path), more)).replace(os.sep, "/")
        inside = (
            not os.path.isabs(inner)
            and not inner.startswith("..")
            and not os.path.islink(os.path.join(top, inner))
        )
        if (
            inside
            and inner not in now
            and len(now) < _MOST_READ
            and re.fullmatch(r"[\w./-]{1,200}", inner)
        ):
            seen(os.path.join(top, inner))
            now[inner] = Manifest()  # so that files that include each other end
            _read_into(top, inner, now, problems, seen)


def _text(path: str) -> str:
    return files.read_small(path, 4 * manifest.MOST).decode("utf-8", "replace")
