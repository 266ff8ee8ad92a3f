from __future__ import annotations

import os
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.item import ForeignRecord, ForeignSession
from cortex.importers.memories.codex_memory import accepts, read

MEMORY = """# Task Group: shop releases
scope: publish from a clean checkout
applies_to: cwd=/home/ann/shop; reuse_rule=check the registry first

## Task 1: Publish 2.0, success
### rollout_summary_files
- rollout_summaries/2026-06-02T08-12-24-aBcD-publish.md (cwd=/home/ann/shop)

## Reusable knowledge
- Run `make dist` first.

# Task Group: workflow

scope: everywhere
applies_to: cwd=unknown; reuse_rule=any

## User preferences
- Short answers.
"""
SUMMARY = """thread_id: 019e8763-0413-7833-84bc-ca1f00707b7c
updated_at: 2026-06-02T08:12:24+00:00
rollout_path: /home/ann/.codex/sessions/2026/06/02/rollout-x.jsonl
cwd: /home/ann/shop
git_branch: main

# Publish 2.0

It was published.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "memories"
    (root / "rollout_summaries").mkdir(parents=True)
    (root / "MEMORY.md").write_text(MEMORY)
    (root / "memory_summary.md").write_text("## User Profile\nShort answers.\n")
    (root / "raw_memories.md").write_text("# Raw\nRun `make dist` first.\n")
    (root / "rollout_summaries" / "2026-06-02T08-12-24-aBcD-publish.md").write_text(SUMMARY)
    os.utime(root / "MEMORY.md", (1_790_000_000, 1_790_000_000))
    return root


def test_each_group_is_a_record_and_each_rollout_a_session(folder) -> None:
    assert accepts(str(folder))
    shop, workflow, session = read(str(folder))
    assert isinstance(shop, ForeignRecord)
    assert isinstance(workflow, ForeignRecord)
    assert isinstance(session, ForeignSession)
    assert (shop.title, shop.project, shop.at) == ("shop releases", "/home/ann/shop", 1_790_000_000)
    assert "Run `make dist` first." in shop.body
    assert shop.topic == "codex-memory/shop-releases"
    assert session.key == "019e8763-0413-7833-84bc-ca1f00707b7c"
    assert (session.folder, session.branch, session.host) == ("/home/ann/shop", "main", "codex")
    assert session.turns[0].summary.startswith("# Publish 2.0")


def test_what_says_the_same_in_other_words_is_read_only_without_the_source_of_truth(folder) -> None:
    (folder / "MEMORY.md").unlink()
    first, *_ = read(str(folder))
    assert isinstance(first, ForeignRecord)
    assert first.body == "Run `make dist` first."


def test_a_summary_without_its_head_is_named_and_stops_nothing(folder) -> None:
    (folder / "rollout_summaries" / "broken.md").write_text("thread_id: x")
    problems = [item for item in read(str(folder)) if isinstance(item, Problem)]
    assert [one.where for one in problems] == ["rollout_summaries/broken.md"]


def test_a_folder_without_any_of_it_is_refused(tmp_path) -> None:
    assert not accepts(str(tmp_path))
    with pytest.raises(InvalidInputError, match="holds no memory of Codex"):
        list(read(str(tmp_path)))


def test_import_by_the_verb(folder, imported) -> None:
    shop, workflow = imported("codex-memory", folder)
    assert (shop.title, shop.get("project")) == ("shop releases", "shop")
    assert workflow.title == "workflow"
