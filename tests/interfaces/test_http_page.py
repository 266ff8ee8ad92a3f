"""The files of the page: what is vendored is what it was, nothing comes from elsewhere, and it stays small."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import cortex.interfaces.http as http_package

PAGE = Path(http_package.__file__).parent / "page"
VENDOR = PAGE / "vendor"
OWN = sorted(
    path
    for path in PAGE.rglob("*")
    if path.suffix in {".js", ".css"} and VENDOR not in path.parents
)
_MAX_LINES = 2750


def test_vendored_files_are_those_whose_hashes_are_written_down():
    sums = dict(
        reversed(line.split("  ")) for line in (VENDOR / "SHA256SUMS").read_text().splitlines()
    )
    assert sums == {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in sums}
    assert {*sums, "README", "SHA256SUMS"} == {path.name for path in VENDOR.iterdir()}
    assert "Permission to use, copy, modify" in (VENDOR / "LICENSE").read_text()


@pytest.mark.parametrize("path", [*OWN, *VENDOR.glob("*.js")], ids=lambda path: path.name)
def test_a_module_imports_files_that_are_there_and_nothing_from_elsewhere(path):
    text = path.read_text()
    imported = re.findall(r"""^import [^;]*?\bfrom ?["']([^"']+)["'];""", text, re.MULTILINE)
    imported += (
        re.findall(r"""\bimport[^;]*?\bfrom"([^"]+)";""", text) if path.parent == VENDOR else []
    )
    for name in imported:
        assert name.startswith("."), name
        assert (path.parent / name).is_file(), name
    assert not re.search(r"""(?:fetch|Worker|EventSource|url)\(\s*["'`]?https?:""", text)
    assert not re.search(r"\beval\(|new Function\(", text)


def test_html_is_taken_from_the_server_s_sanitizer_alone():
    places = [
        path.name
        for path in OWN
        if re.search(r"innerHTML|outerHTML|insertAdjacentHTML", path.read_text())
    ]
    assert places == ["dom.js"]


def test_the_page_is_small():
    assert sum(len(path.read_text().splitlines()) for path in OWN) <= _MAX_LINES
