"""Every address of the server with requests that schemathesis makes up of /openapi.json: `make test-web`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.interfaces.test_http import NOTES, serving

ST = Path(__file__).parents[2] / ".venv/web/bin/st"
LEAST_CASES = 1_500
pytestmark = pytest.mark.skipif(
    os.environ.get("CORTEX_WEB") != "1", reason="not run: make test-web does"
)


def test_no_request_that_schemathesis_makes_up_is_answered_otherwise_than_described(vault_from):
    shop = vault_from(NOTES)
    with serving(shop.root) as server:
        done = subprocess.run(
            [
                ST, "run", f"http://127.0.0.1:{server.port}/openapi.json", "-H", f"Authorization: Bearer {server.token}",
                "--max-examples", "4", "--phases", "coverage,fuzzing", "--generation-database", "none", "--seed", "1",
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    found = re.search(r"([\d,]+) generated", done.stdout)
    assert done.returncode == 0, done.stdout[-10_000:]
    assert found
    assert int(found[1].replace(",", "")) >= LEAST_CASES
