"""The page in a real browser: `walk.mjs` walks through it as a person does, each walk on a vault of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import corpus
from tests.web.make_vault import LONG_SESSION, SESSION, make_vault

FOLDER = Path(__file__).parent
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
WORDS = "bakomir batal bebitikon belohasur bigon bocelirir bolawiput cacipobor"  # of the corpus
pytestmark = pytest.mark.skipif(
    os.environ.get("CORTEX_WEB") != "1", reason="not run: make test-web does"
)


def walk(name: str, given: dict[str, str]) -> None:
    ran = subprocess.run(
        ["node", "walk.mjs", name], cwd=FOLDER, env=os.environ | {"PYTHON": sys.executable, "CHROMIUM": CHROMIUM} | given,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    print(ran.stdout)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("page")
    given = {"VAULT": str(folder / "vault"), "WORK": str(folder / "work")}
    return make_vault(folder) | given | {"SESSION": SESSION, "LONG_SESSION": LONG_SESSION}


@pytest.mark.parametrize(
    "name", ["find", "edit", "clash", "wrong", "unsaved", "live", "keyboard", "hostile", "access", "speed"]
)  # fmt: skip
def test_a_walk_through_the_page(name, made):
    walk(name, made)


def test_of_ten_thousand_notes_what_is_typed_is_found_at_once(tmp_path):
    vault = tmp_path / "vault"
    corpus.write_vault(str(vault), 10_000)
    given = {"VAULT": str(vault), "WORK": str(tmp_path)}
    line = [sys.executable, "-m", "cortex", "rebuild", "--vault", str(vault)]
    subprocess.run(line, cwd=tmp_path, check=True, capture_output=True)
    # Half of what is typed are beginnings that no note holds. They are looked for as parts of German
    # words, since `der` is a word of the corpus, in all the terms that its identifiers make.
    walk("speed", given | {"WORDS": WORDS})
