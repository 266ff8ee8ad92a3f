"""A watcher has new passages embedded, where there are vectors and a model on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.caller import no_progress
from cortex.index.refresh import query_index
from cortex.index.semantic import count_embedded
from cortex.operations.care.embed import embed
from tests.index.test_embedders import write_bert
from tests.watcher.conftest import until


def test_a_watcher_has_what_is_new_embedded(vault, caller, tmp_path, monkeypatch, watch) -> None:
    pytest.importorskip("numpy")
    write_bert(tmp_path / "model")
    monkeypatch.setenv("CORTEX_EMBEDDER", "folder")
    monkeypatch.setenv("CORTEX_EMBEDDER_FOLDER", str(tmp_path / "model"))
    Path(vault.root, "a.md").write_text("the cat sat")
    assert embed(vault, caller).embedded >= 1

    def counted():
        return query_index(vault, no_progress, lambda index: count_embedded(index.catalogue))

    watch()
    Path(vault.root, "b.md").write_text("a cat")
    until(lambda: (found := counted()) and found[0] == found[1] == 2)
