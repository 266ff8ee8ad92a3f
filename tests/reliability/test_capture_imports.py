"""What a capture loads, by name: the hot path is the standard library and a dozen modules of our own."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORBIDDEN = [
    "whoosh", "tantivy", "yaml", "frontmatter", "git", "click", "typer", "rich", "asyncio", "mcp", "markdown_it", "sqlite3", "pydantic",
    "pathlib", "dataclasses", "inspect", "subprocess", "socket", "ssl", "logging", "tempfile", "urllib", "email", "http", "tomllib",
    "platformdirs", "importlib.metadata", "concurrent", "multiprocessing", "threading", "unittest", "ast", "random", "secrets",
]  # fmt: skip
# Parts of our own that read notes, YAML, git or an index: they are for those who look, not for those who capture.
NOT_OURS = [
    "cortex.index", "cortex.core.notes.note", "cortex.core.notes.frontmatter", "cortex.index.note_summary", "cortex.core.markdown.scan", "cortex.core.normalize.handlers",
    "cortex.core.extract", "cortex.core.ranking.query", "cortex.vault.git.git_cli", "cortex.vault.repair", "cortex.vault.settings",
    "cortex.operations.upkeep.normalize", "cortex.operations.find.search", "cortex.operations.care.doctor", "cortex.operations.care.status",
]  # fmt: skip


@pytest.fixture
def loaded(vault, homes) -> set[str]:
    """The modules that a real capture in a real vault imports."""
    line = [
        sys.executable, "-X", "importtime", "-m", "cortex", "capture", "Gotcha: imports cost",
        "--vault", vault.root,
    ]  # fmt: skip
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.endswith("\n")
    assert len(done.stdout) == 28
    return {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    } - {"imported package"}


def test_a_capture_loads_none_of_the_heavy_modules(loaded):
    before = bare()
    assert {
        "cortex.core.redact.secrets",
        "cortex.vault.files",
    } <= loaded - before  # or the list was read wrongly
    assert not among(loaded - before, FORBIDDEN)


def test_a_capture_loads_only_what_it_needs_of_cortex(loaded):
    assert not among(loaded, NOT_OURS)


def among(names: set[str], these: list[str]) -> set[str]:
    return {
        name for name in names if any(name == one or name.startswith(f"{one}.") for one in these)
    }


def bare() -> set[str]:
    """What this Python loads to run nothing: a virtual environment's .pth files may load anything."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", ""],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
