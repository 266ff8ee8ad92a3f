"""The packages that a project says it depends on, from the text of its manifests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cortex.core.text import toml
from cortex.core.text.value import NamedTuple

MAX_CHARS = 512 * 1024  # characters of a manifest; a longer one is none that a person wrote
_SEPARATORS_RE = re.compile(r"[-_.]+")
_REQUIREMENT_NAME_RE = re.compile(r"[A-Za-z0-9](?:[\w.-]{0,100}[A-Za-z0-9])?")
_EGG_RE = re.compile(r"[#&]egg=([A-Za-z0-9][\w.-]{0,100})")
_REPOSITORY_NAME_RE = re.compile(r"([A-Za-z0-9][\w.-]{0,100}?)(?:\.git)?/?(?:@[^/@\s]{0,100})?\Z")
_GO_VERSION_SUFFIX_RE = re.compile(r"(?:/v\d{1,4}|\.v\d{1,4})\Z")
_NPM_TABLES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_CARGO_TABLES = (
    "dependencies",
    "dev-dependencies",
    "build-dependencies",
    "dev_dependencies",
    "build_dependencies",
)


class Manifest(NamedTuple):
    """Packages as their ecosystem writes them; `more` names files that a requirements file includes, relative to it."""

    packages: frozenset[str] = frozenset()
    included_files: tuple[str, ...] = ()
    problem: str = ""


class _DamagedManifest(ValueError):
    pass


def kind_of(file: str) -> str:
    """Which kind of manifest a file with this name is; empty when it is none."""
    name = file.rpartition("/")[2].casefold()
    if name in _PARSERS:
        return name
    return (
        "requirements" if name.startswith("requirements") and name.endswith((".txt", ".in")) else ""
    )


def parse(file: str, text: str) -> Manifest:
    """What the manifest with this name and text names. A damaged one names nothing and says why."""
    kind = kind_of(file) or ("requirements" if file.endswith((".txt", ".in")) else "")
    if not kind:
        return Manifest()
    if len(text) > MAX_CHARS:
        return Manifest(problem="too long for a manifest")
    if kind == "requirements":
        return _parse_requirements(text)
    try:
        return Manifest(frozenset(_PARSERS[kind](text.removeprefix("\ufeff"))))
    except RecursionError:
        return Manifest(problem="nested too deeply")
    except ValueError as error:
        return Manifest(problem=f"cannot be read: {str(error)[:100]}")


def fold_name(name: str) -> str:
    """A name as names of any ecosystem are compared with what people write."""
    return _SEPARATORS_RE.sub("-", name.casefold())


def pep503_name(name: str) -> str:
    """PEP 503: runs of `-`, `_` and `.` are one `-`."""
    return _SEPARATORS_RE.sub("-", name).lower()


def _parse_requirements(text: str) -> Manifest:
    names: set[str] = set()
    more: list[str] = []
    for raw in text.replace("\\\n", " ").splitlines():
        line = raw.strip()
        if line.startswith("#") or not line:
            continue
        for option in ("-r", "--requirement", "-e", "--editable"):
            if line.startswith(option) and line[len(option) : len(option) + 1] in (" ", "=", "\t"):
                rest = line[len(option) + 1 :].partition(" #")[0].strip()
                if option in ("-r", "--requirement"):
                    more.append(rest)
                line = "" if option in ("-r", "--requirement") else rest
                break
        if line and not line.startswith("-"):
            names.update(_parse_requirement(line))
    return Manifest(frozenset(names), tuple(more))


def _parse_requirement(text: Any) -> Iterator[str]:
    """The package of one requirement (PEP 508), or of an address that names it."""
    line = text.partition(" #")[0].strip() if isinstance(text, str) else ""
    if "://" in line and "@" not in line.partition("://")[0]:
        found = _EGG_RE.search(line)
        if not found and line.startswith(("git+", "hg+", "svn+", "bzr+")):
            found = _REPOSITORY_NAME_RE.search(line.partition("#")[0][-300:])
        if found:
            yield pep503_name(found[1])
    elif (
        not line.startswith((".", "/"))
        and (found := _REQUIREMENT_NAME_RE.match(line))
        and line[found.end() : found.end() + 1] not in ("/", ":", "\\")
    ):
        yield pep503_name(found[0])


def _get_table(value: Any, *keys: str) -> Mapping[str, Any]:
    """The table below these keys; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _parse_pyproject(text: str) -> Iterator[str]:
    top = toml.parse(text)
    project, poetry = _get_table(top, "project"), _get_table(top, "tool", "poetry")
    lists = [
        project.get("dependencies"),
        *_get_table(project, "optional-dependencies").values(),
        *_get_table(top, "dependency-groups").values(),
    ]
    lists += [
        _get_table(top, "tool", "uv").get("dev-dependencies"),
        *_get_table(top, "tool", "pdm", "dev-dependencies").values(),
    ]
    lists += [_get_table(top, "build-system").get("requires")]
    for one in lists:
        for line in _as_list(one):
            yield from _parse_requirement(line)
    tables = [_get_table(poetry, "dependencies"), _get_table(poetry, "dev-dependencies")]
    tables += [_get_table(group, "dependencies") for group in _get_table(poetry, "group").values()]
    for table in tables:
        yield from (pep503_name(name) for name in table if name.lower() != "python")


def _parse_package_json(text: str) -> Iterator[str]:
    import json  # noqa: PLC0415  3 ms, as above

    top = json.loads(text)
    if not isinstance(top, dict):
        raise _DamagedManifest("no object")
    for kind in _NPM_TABLES:
        for name, wanted in _get_table(top, kind).items():
            yield name
            if isinstance(wanted, str) and wanted.startswith(
                "npm:"
            ):  # an alias: the package has another name
                yield wanted[4:].rpartition("@")[0] or wanted[4:]


def _parse_go_mod(text: str) -> Iterator[str]:
    inside = ""
    for raw in text.splitlines():
        line = raw.partition("//")[0].split()
        if not line:
            continue
        if line[0] == ")":
            inside = ""
        elif line[1:2] == ["("]:
            inside = line[0]
        elif inside == "require" or line[0] == "require":
            path = (line[0] if inside else "".join(line[1:2])).strip('"')
            if path:
                yield path
                yield _GO_VERSION_SUFFIX_RE.sub("", path).rpartition("/")[2]


def _parse_cargo(text: str) -> Iterator[str]:
    top = toml.parse(text)
    tables: list[Mapping[str, Any]] = [_get_table(top, kind) for kind in _CARGO_TABLES]
    tables.append(_get_table(top, "workspace", "dependencies"))
    tables += [
        _get_table(target, kind)
        for target in _get_table(top, "target").values()
        for kind in _CARGO_TABLES
    ]
    for table in tables:
        for name, wanted in table.items():
            yield _crate_name(name)
            if renamed := _get_table(wanted).get("package"):
                yield from [_crate_name(renamed)] if isinstance(renamed, str) else ()


def _crate_name(name: str) -> str:
    """crates.io holds `-` and `_` for one."""
    return name.lower().replace("_", "-")


_PARSERS: dict[str, Any] = {
    "pyproject.toml": _parse_pyproject,
    "package.json": _parse_package_json,
    "go.mod": _parse_go_mod,
    "cargo.toml": _parse_cargo,
}


def has_package(name: str, names: Iterable[str]) -> bool:
    """Whether somebody who says `name` means one of the packages."""
    said = fold_name(name)
    return any(fold_name(one) == said for one in names)


def has_similar_package(name: str, names: Iterable[str]) -> bool:
    """Whether one of the packages has the name within its own: who uses `ioredis` may still say that they use redis."""
    said = fold_name(name)
    return any(said in fold_name(one) for one in names)
