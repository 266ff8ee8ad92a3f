"""The views calendar, changed, review, actions, meetings, graph and problems in a browser: `views.mjs` walks through
them, each walk on a vault of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.web.example_vault import build

FOLDER = Path(__file__).parent
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = pytest.mark.skipif(
    os.environ.get("CORTEX_WEB") != "1", reason="not run: make test-web does"
)
_LEAVES = 330  # around one note: more than a graph shows


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("views") / "vault"
    build(root, os.environ, _LEAVES)
    return root


@pytest.mark.parametrize("walk", ["actions", "review", "shows", "graph", "speed", "access"])
def test_a_walk_through_the_views(walk, example, tmp_path):
    vault = tmp_path / "vault"
    shutil.copytree(example, vault)
    given = {
        "PYTHON": sys.executable,
        "WORK": str(tmp_path),
        "VAULT": str(vault),
        "CHROMIUM": CHROMIUM,
    }
    ran = subprocess.run(
        ["node", "views.mjs", walk], cwd=FOLDER, env=os.environ | given, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    print(ran.stdout)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
