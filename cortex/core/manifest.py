"""The packages that a project says it depends on, from the text of its manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cortex.core.text import toml

MAX_CHARS = 512 * 1024  # characters of a manifest; a longer one is none that a person wrote
_SEPARATORS_RE = re.compile(r"[-_.]+")
_REQUIREMENT_NAME_RE = re.compile(r"[A-Za-z0-9](?:[\w.-]{0,100}[A-Za-z0-9])?")
_OPTION_RE = re.compile(r"(-r|--requirement|-e|--editable)[ =\t]")
_EGG_RE = re.compile(r"[#&]egg=([A-Za-z0-9][\w.-]{0,100})")
_REPOSITORY_NAME_RE = re.compile(r"([A-Za-z0-9][\w.-]{0,100}?)(?:\.git)?/?(?:@[^/@\s]{0,100})?\Z")
_GO_VERSION_SUFFIX_RE = re.compile(r"(?:/v\d{1,4}|\.v\d{1,4})\Z")
# Tables whose keys, and lists whose items, are packages: in manifests of any ecosystem.
_DEPENDENCY_KEY_RE = re.compile(
    r"(?:dev|peer|optional|build)?[-_]?dependencies|dependency-groups|requires", re.IGNORECASE
)


class Manifest(NamedTuple):
    """Packages as their ecosystem writes them. `included_files` (-r) are relative to the file."""

    packages: frozenset[str] = frozenset()
    included_files: tuple[str, ...] = ()
    problem: str = ""


def kind_of(file: str) -> str:
    """Which kind of manifest a file with this name is; empty when it is none."""
    name = file.rpartition("/")[2].casefold()
    if name in _PARSERS:
        return name
    is_list = name.startswith("requirements") and name.endswith((".txt", ".in"))
    return "requirements" if is_list else ""


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
    included: list[str] = []
    for raw in text.replace("\\\n", " ").splitlines():
        line = raw.strip()
        if line.startswith("#") or not line:
            continue
        if option := _OPTION_RE.match(line):
            line = line[option.end() :].partition(" #")[0].strip()
            if option[1] in ("-r", "--requirement"):
                included.append(line)
                continue
        if line and not line.startswith("-"):
            names.update(_parse_requirement(line))
    return Manifest(frozenset(names), tuple(included))


def _parse_requirement(text: Any) -> Iterator[str]:
    """The package of one requirement (PEP 508), or of an address that names it."""
    line = text.partition(" #")[0].strip() if isinstance(text, str) else ""
    if "://" in line and "@" not in line.partition("://")[0]:
        found = _EGG_RE.search(line)
        if not found and line.startswith(("git+", "hg+", "svn+", "bzr+")):
            found = _REPOSITORY_NAME_RE.search(line.partition("#")[0][-300:])
        if found:
            yield pep503_name(found[1])
    else:
        found = _REQUIREMENT_NAME_RE.match(line)  # a path begins with other characters
        if found and line[found.end() : found.end() + 1] not in ("/", ":", "\\"):
            yield pep503_name(found[0])


def _find_dependencies(value: Any, *, inside: bool = False) -> Iterator[tuple[str, Any]]:
    """Entries below keys such as `dependencies`: keys of tables with their values, and items of
    lists with None. The key of a list of texts names a group (`optional-dependencies`)."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            is_key = _DEPENDENCY_KEY_RE.fullmatch(key) is not None
            is_group = isinstance(inner, list) and any(
                not isinstance(one, Mapping) or "include-group" in one for one in inner
            )
            if inside and not is_group:
                yield key, inner
            if is_key or not inside or isinstance(inner, list):
                yield from _find_dependencies(inner, inside=is_key or inside)
    elif inside and isinstance(value, list):
        yield from ((one, None) for one in value if isinstance(one, str))


def _parse_pyproject(text: str) -> Iterator[str]:
    for name, wanted in _find_dependencies(toml.parse(text)):
        if wanted is None:
            yield from _parse_requirement(name)
        elif name.lower() != "python":  # which Poetry lists among them
            yield pep503_name(name)


def _parse_package_json(text: str) -> Iterator[str]:
    top = json.loads(text)
    if not isinstance(top, dict):
        raise ValueError("no object")  # noqa: TRY004  as `json.loads` raises
    for name, wanted in _find_dependencies(top):
        yield name
        if isinstance(wanted, str) and wanted.startswith("npm:"):  # an alias of another package
            yield wanted[4:].rpartition("@")[0] or wanted[4:]


def _parse_cargo(text: str) -> Iterator[str]:
    for name, wanted in _find_dependencies(toml.parse(text)):
        yield _crate_name(name)
        if isinstance(wanted, Mapping) and isinstance(wanted.get("package"), str):
            yield _crate_name(wanted["package"])


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
    """True if one of the packages has the name within its own: `ioredis` may be called redis."""
    said = fold_name(name)
    return any(said in fold_name(one) for one in names)
