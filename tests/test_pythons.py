"""What differs between one Python and another must not be seen: private modules, warnings, tables of letters."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import whoosh

from cortex.core.merge.fields import time_sort_key
from cortex.core.text import iso_time
from cortex.core.text.strings import slugify

PRIVATE = ("_blake2", "_sha2", "_sha256")
# The public modules first: they are made of the private ones. Then no private one can be imported any more.
WITHOUT_PRIVATE = f"""
import hashlib, json, random, signal, socket, subprocess, sys
sys.modules.update(dict.fromkeys({PRIVATE}))
from cortex.__main__ import console
console()
"""


def run(
    code: str, *words: str, stdin: str = "", cwd: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        env=os.environ | environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def without_private(cwd: str, *words: str, stdin: str = "") -> str:
    done = run(WITHOUT_PRIVATE, *words, stdin=stdin, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_python_without_private_modules_captures_and_finds(vault):
    without_private(vault.root, "capture", "Gotcha: the staging database drops idle connections")
    assert "drops idle connections" in without_private(vault.root, "search", "staging")


def test_a_python_without_private_modules_runs_hooks(vault):
    told = json.dumps(
        {
            "session_id": "s",
            "cwd": vault.root,
            "last_assistant_message": "Decision: keep it, because it is é",
            "more": [1, 2.5],
        }
    )
    assert without_private(vault.root, "hook", "stop", "--host", "claude", stdin=told) == ""
    assert "no problems" in without_private(vault.root, "doctor")
    assert "Keep it" in without_private(vault.root, "search", "keep")


def test_the_names_of_folders_are_the_same_without_private_modules(vault):
    asked = "from cortex.vault import user_folders; from cortex.core.text import strings; print(user_folders.vault_folder_path('cache', '/a/b'), strings.short_hash('é'))"
    blocked = f"import sys, hashlib; sys.modules.update(dict.fromkeys({PRIVATE})); {asked}"
    plain = run(asked, cwd=vault.root)
    assert (plain.returncode, plain.stderr) == (0, "")
    assert run(blocked, cwd=vault.root).stdout == plain.stdout


def test_whoosh_is_compiled_without_a_warning(tmp_path):
    """Its escapes are such as Python warns about; compiled anew, and with every warning an error."""
    done = run(
        "import warnings; warnings.simplefilter('error'); import cortex.index.engines.whoosh.whoosh_index",
        cwd=str(tmp_path),
        PYTHONPYCACHEPREFIX=str(tmp_path),
        PYTHONDONTWRITEBYTECODE="",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.rglob("porter2.*.pyc"))
    assert list(tmp_path.rglob("whoosh3.*.pyc"))


def test_a_python_that_cannot_read_whoosh_is_named_with_what_to_do(
    vault, cortex_process, tmp_path, monkeypatch
):
    """As a future Python may: it warns today that it will refuse Whoosh's escapes."""
    broken = shutil.copytree(
        Path(whoosh.__file__).parent,
        tmp_path / "broken/whoosh",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    with (broken / "fields.py").open("a") as file:
        file.write("\nrefused = (\n")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent))
    assert cortex_process("capture", "Gotcha: captured all the same").returncode == 0
    done = cortex_process("search", "captured")
    assert (done.returncode, done.stdout) == (2, "")
    first, hint = done.stderr.splitlines()
    assert first.startswith(
        f"cortex: Python {sys.version_info[0]}.{sys.version_info[1]} cannot read Whoosh 2.7.4"
    )
    assert "make clean demo PYTHON=" in hint
    monkeypatch.delenv("PYTHONPATH")
    assert "Captured all the same" in cortex_process("search", "captured").stdout


def test_a_slug_is_the_same_on_every_python():
    """Each Python has the letters of another version of Unicode. If this fails on a new one, add its letters to `text._NEW_LETTERS`."""
    slugs = [
        (one, slugify(f"a{one}b"))
        for one in map(chr, range(sys.maxunicode))
        if unicodedata.decomposition(one)
    ]
    told = "".join(f"{ord(one):x} {made}\n" for one, made in slugs if made not in ("ab", "a-b"))
    assert (
        hashlib.sha256(told.encode()).hexdigest()
        == "61e914320d5cd15626b84baf01c61df21a87cc532dc3560272c1a6ce3fce11f9"
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-06-15", 1781481600), ("20260615", 1781481600), ("2026-W25-1", 1781481600), ("2026-06-15T10", 1781517600), ("20260615T100001Z", 1781517601),
        ("2026-06-15 10:00", 1781517600), ("2026-06-15T10:00:01,5+02:00", 1781510401.5), ("2026-06-15T10:00:01.1234567Z", 1781517601.123456),
        ("2026-06-15T24:00Z", None), ("2026-06-15T10.5", None), ("2026-06-15T10:00:01.Z", None), ("2026-06-15T10:00-16:60", None),
        ("2026-06-15T10+02:00:00:01", None), ("2026-13-15", None), ("0001-01-01T00:00:00+14:00", None), ("", None),
    ],
)  # fmt: skip
def test_a_time_is_read_alike_by_every_python(text, seconds):
    """`fromisoformat` is not the same everywhere: 3.14 began to take hour 24 and to refuse a fraction of an hour, 3.15 to refuse other forms."""
    if seconds is None:
        with pytest.raises(ValueError):
            iso_time.parse_utc(text)
        assert time_sort_key(text) == (False, "", text)
    else:
        assert iso_time.parse_utc(text).timestamp() == seconds
