"""What a capture, a save and a look at a note load, by name: the hot paths are the standard library and what they need of our own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cortex.interfaces.hook import main
from cortex.vault.locate import Vault

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


# What brings a vault up to date after git ran, what merges, and parsers of what Cortex does not write itself.
NOT_FOR_ONE_NOTE = [
    "whoosh", "tantivy", "yaml", "frontmatter", "git", "markdown_it", "asyncio", "mcp", "numpy", "dataclasses", "inspect", "socket", "ssl",
    "logging", "urllib", "pathlib", "cortex.core.merge.merge_record", "cortex.core.merge.merge_plan", "cortex.index.briefing_pages",
    "cortex.operations.upkeep.heal", "cortex.operations.upkeep.restore_lost", "cortex.operations.upkeep.normalize",
    "cortex.operations.care", "cortex.operations.share", "cortex.vault.repair", "cortex.vault.git.commit", "cortex.watcher.daemon",
]  # fmt: skip


# What a host asks for as it starts is answered without: it does not wait.
NOT_FOR_A_LIST = [
    "whoosh", "tantivy", "yaml", "frontmatter", "git", "markdown_it", "asyncio", "mcp", "pydantic", "anyio", "numpy", "dataclasses",
    "inspect", "subprocess", "socket", "ssl", "logging", "pathlib", "concurrent", "sqlite3", "ctypes", "traceback", "tomllib", "hashlib",
    "cortex.core.notes", "cortex.index", "cortex.interfaces.mcp.call", "cortex.interfaces.mcp.resources", "cortex.interfaces.schema",
    *(f"cortex.operations.{room}" for room in ("care", "distill", "find", "projects", "records", "sessions", "share", "upkeep")),
    "cortex.vault.repair", "cortex.watcher.scan_memory",
]  # fmt: skip


def loaded_by(vault: Vault, *words: str, said: str = "", code: int = 0) -> tuple[set[str], str]:
    """The modules that a real command in a real vault imports, and what it prints."""
    line = [sys.executable, "-X", "importtime", "-m", "cortex", *words, "--vault", vault.root]
    done = subprocess.run(line, input=said, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    names = (
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    )
    return set(names) - {"imported package"}, done.stdout


@pytest.fixture
def loaded(vault, homes) -> set[str]:
    """What a capture imports."""
    names, printed = loaded_by(vault, "capture", "Gotcha: imports cost")
    assert printed.endswith("\n")
    assert len(printed) == 28
    return names


def test_a_save_and_a_look_at_a_note_load_what_one_note_needs(vault, homes):
    for title in ("The first builds the index and the pages", "The second heals them"):
        loaded_by(vault, "save", title, "--type", "decision", "--project", "p")
    names, printed = loaded_by(vault, "save", "The third", "--type", "decision", "--project", "p")
    assert "cortex.operations.upkeep.normalize_now" in names  # or the list was read wrongly
    assert not among(names - bare(), NOT_FOR_ONE_NOTE)
    names, _ = loaded_by(vault, "show", printed.split()[1])
    assert "cortex.operations.find.resolve_note" in names
    assert not among(names - bare(), [*NOT_FOR_ONE_NOTE, "cortex.core.normalize.handlers"])


def test_a_run_is_asked_for_and_begun_without_what_makes_records(vault, homes):
    names, _ = loaded_by(vault, "run", "work", "run-20261120t171643z-0193ee", code=1)
    assert "cortex.operations.runs.run_one" in names  # or the list was read wrongly
    assert not among(names - bare(), [*FORBIDDEN[:10], "numpy", "cortex.operations.upkeep.normalize", "cortex.operations.upkeep.heal"])  # fmt: skip


def test_a_server_lists_its_tools_with_the_standard_library_and_no_verb(vault, homes):
    methods = ("initialize", "tools/list", "resources/list", "prompts/list", "ping")
    asked = [{"jsonrpc": "2.0", "id": 1, "method": one, "params": {}} for one in methods]
    names, told = loaded_by(vault, "mcp", said="".join(f"{json.dumps(one)}\n" for one in asked))
    assert [len(line) > 20 for line in told.splitlines()] == [True] * len(methods)
    assert "cortex.interfaces.mcp.stdio" in names  # or the list was read wrongly
    assert not among(names - bare(), NOT_FOR_A_LIST)


def test_a_capture_loads_none_of_the_heavy_modules(loaded):
    before = bare()
    assert {
        "cortex.core.redact.secrets",
        "cortex.vault.files",
    } <= loaded - before  # or the list was read wrongly
    assert not among(loaded - before, FORBIDDEN)


def test_a_capture_loads_only_what_it_needs_of_cortex(loaded):
    assert not among(loaded, NOT_OURS)


def test_a_hook_at_a_turn_s_end_loads_no_slow_part_of_the_standard_library(vault, homes, tmp_path):
    said = {
        "id": "m1",
        "role": "assistant",
        "content": [{"type": "text", "text": "Decision: oak."}],
    }
    base = {"sessionId": "s1", "cwd": vault.root, "timestamp": "2026-11-20T10:00:00.000Z"}
    lines = [
        {
            **base,
            "type": "user",
            "uuid": "u1",
            "message": {"role": "user", "content": "Which wood?"},
        },
        {**base, "type": "assistant", "uuid": "a1", "message": said},
    ]
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = {"session_id": "s1", "cwd": vault.root, "transcript_path": str(transcript)}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-I", "-S", main.__file__, "stop", "--host", "claude"],
        input=json.dumps(told), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "cortex.hosts.claude" in names  # or the list was read wrongly
    slow = [
        "collections",
        "contextlib",
        "enum",
        "functools",
        "json",
        "re",
        "typing",
        "types",
        "datetime",
    ]
    assert not among(names, slow)


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
