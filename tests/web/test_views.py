"""The views calendar, changed, review, actions, meetings, runs, graph and problems in a browser: `views.mjs` walks through
them, each walk on a vault of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.vault import user_settings
from tests.operations.runs import conftest as runs
from tests.web.example_vault import build

FOLDER = Path(__file__).parent
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = pytest.mark.skipif(
    os.environ.get("CORTEX_WEB") != "1", reason="not run: make test-web does"
)
settings = runs.settings
_LEAVES = 330  # around one note: more than a graph shows


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("views") / "vault"
    build(root, os.environ, _LEAVES)
    return root


@pytest.mark.parametrize("walk", ["actions", "review", "shows", "runs", "graph", "speed", "access"])
def test_a_walk_through_the_views(walk, example, settings, tmp_path):
    settings('requests = ["http"]')
    vault = tmp_path / "vault"
    shutil.copytree(example, vault)
    given = {
        "PYTHON": sys.executable,
        "WORK": str(tmp_path),
        "VAULT": str(vault),
        "CHROMIUM": CHROMIUM,
        "SETTINGS": user_settings.settings_file(),
    }
    ran = subprocess.run(
        ["node", "views.mjs", walk], cwd=FOLDER, env=os.environ | given, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    print(ran.stdout)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
