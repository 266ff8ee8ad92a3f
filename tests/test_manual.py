"""The manual pages that go into the wheel."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cortex import __version__
from cortex.interfaces.cli.arguments import options_of
from cortex.interfaces.cli.help_text import GROUPS
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.operations import VERBS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "docs/dev/commands.md").read_text()
    return dict(module.manual_pages(text, __version__, "2026-11-20"))


def test_there_is_a_page_for_cortex_and_one_for_each_verb_that_people_use(pages) -> None:
    people = GROUPS["For people"]
    assert {*pages} == {"cortex.1", *(f"cortex-{name}.1" for name in people)}
    assert len(pages) == 16
    overview = pages["cortex.1"].replace("\\-", "-")
    for name in people:
        declared = declaration_of(load_verb(name))
        text = pages[f"cortex-{name}.1"].replace("\\-", "-")
        for one in (*declared.parameters, *options_of(declared)):
            assert (one.flag if one.is_option else one.metavar) in text
        assert f"cortex-{name}\\fR(1)" in overview
    for name in {*VERBS} - {*people}:
        summary = declaration_of(load_verb(name)).summary.replace("`", "")
        assert f".B cortex {name}\n{summary}\n" in overview


@pytest.mark.parametrize("reader", [
    ["man", "--warnings", "-l", "{}"],
    ["groff", "-man", "-Tutf8", "-ww", "{}"],
    ["mandoc", "-Tlint", "-Wwarning", "{}"],
], ids=lambda words: words[0])  # fmt: skip
def test_readers_of_manuals_have_no_complaint(pages, tmp_path, reader, monkeypatch) -> None:
    if not shutil.which(reader[0]):
        pytest.skip(f"not run: there is no {reader[0]} here")
    monkeypatch.setenv("MANWIDTH", "80")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("MAN_DISABLE_SECCOMP", "1")  # faketime needs calls that man's sandbox denies
    (tmp_path / "man1").mkdir()
    for name, text in pages.items():
        (tmp_path / "man1" / name).write_text(text)
    for name in pages:
        words = [word.format(f"man1/{name}") for word in reader]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), (name, done.stdout[:500])
        if reader[0] == "mandoc":
            assert done.stdout == "", name
        elif name == "cortex-search.1":
            assert "find notes by words and meaning" in done.stdout
            assert "--number" in re.sub(".\\x08", "", done.stdout)


def test_the_wheel_has_them(tmp_path) -> None:
    pytest.importorskip("build")
    words = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run([*words, str(ROOT)], capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    data = f"cortex_vault-{__version__}.data/data/share/man/man1"
    with zipfile.ZipFile(wheel) as file:
        assert f"{data}/cortex.1" in file.namelist()
        assert f"{data}/cortex-search.1" in file.namelist()
        assert b"find notes by words and meaning" in file.read(f"{data}/cortex-search.1")
