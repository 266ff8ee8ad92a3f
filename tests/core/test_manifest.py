"""The packages that manifests name, each as its ecosystem writes them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.manifest import MAX_CHARS, has_package, has_similar_package, kind_of, parse

PYPROJECT = """
[build-system]
requires = ["hatchling>=1.27"]
[project]
name = "shop"
dependencies = ["Django[argon2]~=4.2 ; python_version > '3.8'", "zope.interface", "Foo_Bar>=1", "lib @ git+https://example.org/lib.git@v1", 7]
[project.optional-dependencies]
test = ["pytest>=8", "shop[dev]"]
[dependency-groups]
dev = ["ruff", {include-group = "test"}]
[tool.uv]
dev-dependencies = ["mypy"]
[tool.poetry.dependencies]
python = "^3.11"
httpx = {version = "^0.27", extras = ["http2"]}
[tool.poetry.group.docs.dependencies]
Sphinx = "*"
[tool.poetry.dev-dependencies]
black = "*"
"""
REQUIREMENTS = """\ufeff# -r not/this.txt
-r base.txt
--requirement=more/dev.txt   # with a remark
-c constraints.txt
--index-url https://example.org/simple
requests[security]>=2,<3 ; sys_platform == "win32"  # a remark
Zope.Interface==5 \\
    --hash=sha256:00
git+https://example.org/team/Some_Lib.git@v1#egg=some_lib&subdirectory=x
-e git+ssh://git@example.org/team/other-lib.git@main
./local/path
/abs/path
other @ https://example.org/other.zip
https://example.org/plain.whl
"""
PACKAGE = """{"name": "x", "dependencies": {"react": "^18", "@tanstack/query": "5", "old": "npm:lodash@4", "scoped": "npm:@a/b@1"},
"devDependencies": {"vite": "*"}, "peerDependencies": {"react-dom": "*"}, "optionalDependencies": {"fsevents": "*"}, "scripts": {"redis": "x"}}"""
GO = """module example.org/shop
go 1.22
require github.com/one/single v1.0.0
require (
    github.com/redis/go-redis/v9 v9.5.1
    gopkg.in/yaml.v3 v3.0.1 // indirect
    // github.com/not/this v1
)
replace github.com/a/b => ../b
exclude (
    github.com/never/this v1
)
"""
CARGO = """
[package]
name = "shop"
[dependencies]
serde = "1"
tokio_util = { version = "0.7" }
web = { package = "actix-web", version = "4" }
[dev-dependencies]
proptest = "1"
[build-dependencies.cc]
version = "1"
[target.'cfg(unix)'.dependencies]
nix = "0.28"
[workspace.dependencies]
anyhow = "1"
"""


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        (
            "pyproject.toml",
            PYPROJECT,
            "hatchling django zope-interface foo-bar lib pytest shop ruff mypy httpx sphinx black",
        ),
        ("requirements-dev.txt", REQUIREMENTS, "requests zope-interface some-lib other-lib other"),
        (
            "package.json",
            PACKAGE,
            "react @tanstack/query old lodash scoped @a/b vite react-dom fsevents",
        ),
        (
            "go.mod",
            GO,
            "github.com/one/single single github.com/redis/go-redis/v9 go-redis gopkg.in/yaml.v3 yaml",
        ),
        ("sub/Cargo.toml", CARGO, "serde tokio-util web actix-web proptest cc nix anyhow"),
        ("pyproject.toml", '[project]\ndependencies = "none"\n[tool]\npoetry = 3\n', ""),
        ("package.json", '{"dependencies": ["a"], "devDependencies": null}', "a"),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\npython = "^3.12"\na = [{version = "1"}, {version = "2"}]\n',
            "a",
        ),
        ("package.json", '\ufeff{"dependencies": {"a": {"b": 1}}}', "a"),
    ],
)
def test_names(file: str, text: str, names: str) -> None:
    found = parse(file, text)
    assert found.packages == set(names.split())
    assert not found.problem


def test_a_requirements_file_names_those_that_it_includes() -> None:
    assert parse("requirements.txt", REQUIREMENTS).included_files == ("base.txt", "more/dev.txt")
    assert parse("more/dev.txt", "black\n").packages == {"black"}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "[project"),
        ("Cargo.toml", "a = 1\na = 2"),
        ("package.json", "{"),
        ("package.json", "[]"),
        ("package.json", "[" * 200_000),
        ("package.json", '{"dependencies": ' + "{" * 10),
        ("go.mod", "x" * (MAX_CHARS + 1)),
        ("pyproject.toml", "a = " + "[" * 100_000),
    ],
)
def test_what_is_damaged_or_huge_names_nothing_and_says_why(file: str, text: str) -> None:
    found = parse(file, text)
    assert (found.packages, bool(found.problem)) == (frozenset(), True)


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("pyproject.toml", "pyproject.toml"),
        ("a/requirements.txt", "requirements"),
        ("requirements-dev.txt", "requirements"),
        ("requirements.in", "requirements"),
        ("Cargo.toml", "cargo.toml"),
        ("requirements.md", ""),
        ("my-package.json", ""),
        ("package-lock.json", ""),
    ],
)
def test_kinds(file: str, kind: str) -> None:
    assert kind_of(file) == kind


def test_names_are_compared_as_people_write_them() -> None:
    assert has_package("Foo_Bar", {"foo-bar"})
    assert not has_package("redis", {"ioredis"})
    assert has_similar_package("redis", {"ioredis"})
    assert not has_similar_package("ioredis", {"redis"})


FILES = st.sampled_from(
    ["pyproject.toml", "requirements.txt", "package.json", "go.mod", "Cargo.toml"]
)
TEXTS = st.sampled_from([PYPROJECT, REQUIREMENTS, PACKAGE, GO, CARGO])


@given(FILES, st.one_of(st.text(), TEXTS), st.integers(0, 400), st.text(max_size=10))
def test_any_text_is_read(file: str, text: str, at: int, more: str) -> None:
    assert all(parse(file, text[:at] + more + text[at:]).packages)
